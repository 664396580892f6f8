"""The paired test: the share of all flips of the signs of the differences that are as extreme, computed and not drawn.

If two systems are equally good, each difference is as likely to have either sign. The sum of the differences is then a
sum of independent signs, each times a known size, and its distribution follows from its characteristic function, the
product of the cosines (Feller, An Introduction to Probability Theory and Its Applications, volume 2, 1971, chapter XV).
The inversion is exact on a grid, so that sizes are rounded to one. Rounding and flipping can be done in either order:
the test of the rounded differences keeps its level, and sums that are equal stay equal.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np

from anls_eval.statistics.resampling import EQUAL_WITHIN, Floats, Integers, exact_sum

MIN_P_VALUE = 1e-12  # smaller ones would be rounding errors
_MOST_ENUMERATED = 20  # differences: all flips of their signs are enumerated
_LARGEST = 10  # differences: their flips are enumerated always, since one document can outweigh all others
_PLACES = 1 << 16  # of the grid, up to `_MANY` differences; it grows with the sum of their rounding errors
_MANY = 1_000
_DEVIATIONS = 9  # a sum of flips is further off with a probability of at most 2 exp(-9² / 2) (Hoeffding, 1963)
_NEGLIGIBLE = -40.0  # the logarithm of a characteristic function that changes no digit
_HALF = 0.5 + 1e-6  # sizes that are equal but for rounding errors come to the same place, also halfway between two
# Highly composite numbers: of 1 / 720720, all fractions with denominators up to 16 are multiples.
_GRIDS = (720720, 55440, 27720, 10080, 5040, 2520, 1260, 840, 720, 360, 240, 180, 120, 60, 48, 36, 24, 12, 6, 4, 2, 1)


def sign_flip_p_value(sums: Floats) -> float:
    """Return the two-sided p-value, in (0, 1], given the difference of each question or document."""
    observed = abs(exact_sum(sums)) - EQUAL_WITHIN * len(sums)
    differing = sums[np.abs(sums) > EQUAL_WITHIN]
    if len(differing) <= _MOST_ENUMERATED:
        return _share_as_extreme(np.sort(np.abs(differing)), observed)
    sizes, kinds = np.unique(np.abs(differing), return_inverse=True)
    steps = _on_grid(sizes, np.bincount(kinds))
    sum_of_steps = abs(int((steps[kinds] * np.sign(differing).astype(np.int64)).sum()))
    if not sum_of_steps:
        return 1.0
    largest, rest = _largest_and_rest(steps, np.bincount(kinds))
    # With the signs of the largest given, the others must reach what is missing.
    missing = sum_of_steps - _all_flips(largest.astype(np.float64)).astype(np.int64)
    p_value = 2 * float(_probabilities_of_at_least(missing, *rest).mean())
    return min(max(p_value, MIN_P_VALUE), 1.0)


def _all_flips(sizes: Floats) -> Floats:
    """Return the sums of sizes with all flips of their signs."""
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _share_as_extreme(sizes: Floats, observed: float) -> float:
    """Return the share of all flips that are as extreme; half of them are counted, as the other half mirrors these."""
    flipped = np.zeros(1) if not len(sizes) else _all_flips(sizes[1:]) + sizes[0]
    return int(np.count_nonzero(np.abs(flipped) >= observed)) / len(flipped)


def grids(largest: float) -> Iterator[float]:
    """Yield numbers of steps from 0 to 1, the finest first; finer ones if the largest size is not near 1."""
    scale = 2.0 ** max(0, -math.frexp(largest)[1])
    yield from (scale * grid for grid in _GRIDS)
    yield from (scale * 2.0**-power for power in itertools.count(1))


def _on_grid(sizes: Floats, counts: Integers) -> Integers:
    """Return the sizes in steps of the finest grid that has few enough places for the sums."""
    most = _PLACES * max(1.0, math.sqrt(counts.sum() / _MANY))
    for grid in grids(float(sizes.max())):
        steps = np.floor(sizes * grid + _HALF).astype(np.int64)
        steps //= np.gcd.reduce(steps)
        if _reach(*_largest_and_rest(steps, counts)[1]) <= most:
            return steps
    raise AssertionError  # the grids go on


def _largest_and_rest(steps: Integers, counts: Integers) -> tuple[Integers, tuple[Integers, Integers]]:
    """Take the largest steps, of which each counts as often as its count, from the others."""
    before = np.cumsum(counts[::-1])[::-1] - counts  # how many are larger; steps increase
    taken = np.clip(_LARGEST - before, 0, counts)
    left = counts - taken
    return np.repeat(steps, taken), (steps[left > 0], left[left > 0])


def _reach(steps: Integers, counts: Integers) -> float:
    """Return a bound of the sums of flips, in steps, that none exceeds or hardly any."""
    sizes = steps.astype(np.float64)
    return min(_DEVIATIONS * math.sqrt(counts @ sizes**2), float(counts @ sizes)) + 1


def _probabilities_of_at_least(sums: Integers, steps: Integers, counts: Integers) -> Floats:
    """Return the probability of each sum, or a higher one, of steps with random signs."""
    places = 1 << max(1, math.ceil(math.log2(_reach(steps, counts))))
    total = int(steps @ counts)
    # Place j stands for the sum 2 (j - places / 2) + (1 if the total is odd): all sums are odd, or all are even.
    spectrum = _characteristic(steps, counts, places)
    spectrum[1::2] *= -1
    if total % 2:
        spectrum = spectrum * np.exp(1j * math.pi / places * np.arange(len(spectrum)))
    above: Floats = np.append(np.cumsum(np.fft.irfft(spectrum, places)[::-1])[::-1], 0.0)
    found: Floats = above[np.clip((sums - total % 2) // 2 + places // 2, 0, places)]
    return found


def _characteristic(steps: Integers, counts: Integers, places: int) -> Floats:
    """Return the characteristic function of the sum, a product of cosines, at 0 to places / 2 times pi / places."""
    steps, kinds = np.unique(steps, return_inverse=True)  # different sizes can have come to the same place
    counts = np.bincount(kinds, counts).astype(np.int64)
    order = np.argsort(-counts, kind="stable")  # powers of cosines first: most products are soon too small to matter
    steps, counts = steps[order], counts[order]
    logarithms, at = _logarithms_of_cosines(places), np.arange(places // 2 + 1)
    logs, is_negative = np.zeros(len(at)), np.zeros(len(at), dtype=bool)
    start, width = 0, 1
    while start < len(steps):
        own, times = steps[start : start + width], counts[start : start + width]
        angles = np.multiply.outer(own, at)
        logs += times @ logarithms[angles & (places - 1)]
        of_odd = angles[times % 2 == 1]
        is_negative ^= np.bitwise_xor.reduce((of_odd + places // 2) & places, axis=0) != 0
        kept = logs > _NEGLIGIBLE
        at, logs, is_negative = at[kept], logs[kept], is_negative[kept]
        start, width = start + width, 2 * width
    found = np.zeros(places // 2 + 1)
    found[at] = np.where(is_negative, -1, 1) * np.exp(logs)
    return found


@functools.lru_cache(maxsize=4)
def _logarithms_of_cosines(places: int) -> Floats:
    """Return log |cos(pi m / places)| for all m below places."""
    halves = np.arange(places // 2) * (math.pi / 2 / places)
    first = np.log1p(-2 * np.sin(halves) ** 2)  # as 1 - cos 2x is 2 sin² x, it is exact for small angles, too
    return np.concatenate([first, [-np.inf], first[:0:-1]])
