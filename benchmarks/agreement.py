"""Simulate the interval of `anls agreement` for the corrected rate of a judge: how often it holds the truth.

Run ``python -m benchmarks.agreement [--runs N]``; the table is in docs/decisions.md. The exit status is 1 if the
interval holds the truth in less than 92 % of the runs somewhere.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np

from anls_eval.decisions.agreement import Agreement, corrected_bounds


class Cell(NamedTuple):
    """One kind of simulated run."""

    rate: float  # the true one
    sensitivity: float
    specificity: float
    judged: int  # questions that only the judge rated
    rated: int  # questions that both rated


CELLS = [
    Cell(rate, *judge, *sizes)
    for sizes in ((1_000, 100), (1_000, 200), (5_000, 500))
    for judge in ((0.9, 0.9), (0.9, 0.7))
    for rate in (0.5, 0.8, 0.95)
]


class Coverage(NamedTuple):
    """What the interval did."""

    covered: float  # share of the runs in which the interval holds the truth
    width: float  # its mean
    raw: float  # share of the runs in which the interval of the uncorrected rate holds the truth


def coverage(cell: Cell, runs: int, seed: int = 0) -> Coverage:
    """Draw both samples many times; samples without any correction, which the command refuses, are left out."""
    generator = np.random.default_rng([seed, cell.judged, cell.rated, int(100 * cell.rate)])
    covered = raw = 0
    widths: list[float] = []
    while len(widths) < runs:
        right = generator.random(cell.rated) < cell.rate
        chances = np.where(right, cell.sensitivity, 1 - cell.specificity)
        own = Agreement.of(generator.random(cell.rated) < chances, right)
        if own.sensitivity is None or own.specificity is None or own.sensitivity + own.specificity <= 1:
            continue
        chance = cell.rate * cell.sensitivity + (1 - cell.rate) * (1 - cell.specificity)
        judged = generator.binomial(cell.judged, chance) / cell.judged
        low, high = corrected_bounds(judged, cell.judged, own)
        covered += low <= cell.rate <= high
        raw += abs(judged - cell.rate) <= 1.96 * (judged * (1 - judged) / cell.judged) ** 0.5
        widths.append(high - low)
    return Coverage(covered / runs, float(np.mean(widths)), raw / runs)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4_000)
    runs: int = parser.parse_args().runs
    print("| judged | by people | sensitivity | specificity | true rate | covered | width | uncorrected |")
    print("|---|---|---|---|---|---|---|---|")
    worst = 1.0
    for cell in CELLS:
        own = coverage(cell, runs)
        worst = min(worst, own.covered)
        kind = f"{cell.judged:,} | {cell.rated:,} | {cell.sensitivity} | {cell.specificity} | {cell.rate}"
        print(f"| {kind} | {own.covered:.1%} | {own.width:.3f} | {own.raw:.1%} |", flush=True)
    return int(worst < 0.92)


if __name__ == "__main__":
    sys.exit(main())
