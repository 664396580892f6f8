"""All exchanges of answers between two systems, by what they add up to.

A headline depends on sums of counts alone, and many exchanges have the same. So the sums are grown document by
document, each with the number of exchanges that lead to it.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Mapping

_MOST_SUMS = 1 << 16  # whose headlines are computed: those of any 16 documents
_MOST_STEPS = 1 << 24  # additions on the way to them
MOST_CHANGES = 512  # so many different ones have more sums

Key = tuple[str, int]
Change = frozenset[tuple[Key, int]]
"""What the exchange of a document adds to the sums of a system, by key, without zeros."""


def sums_of_exchanges(changes: Mapping[Change, int]) -> dict[Change, int] | None:
    """Return in how many exchanges the changes have each sum, given how many documents make each; None if too many."""
    keys = sorted({key for change in changes for key, _ in change})
    sums: Mapping[tuple[int, ...], int] = {(0,) * len(keys): 1}
    steps = 0
    for change, number in changes.items():
        steps += len(sums) * (number + 1) * len(keys)
        if steps > _MOST_STEPS:
            return None
        by = dict(change)
        grown: Counter[tuple[int, ...]] = Counter()
        for moved in range(number + 1):
            shift, ways = [moved * by.get(key, 0) for key in keys], math.comb(number, moved)
            for before, times in sums.items():
                grown[tuple(map(operator.add, before, shift))] += times * ways
            if len(grown) > _MOST_SUMS:
                return None
        sums = grown
    return {frozenset((key, by) for key, by in zip(keys, own, strict=True) if by): ways for own, ways in sums.items()}
