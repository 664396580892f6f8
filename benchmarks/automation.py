"""Simulate `anls automate` where the truth is known: how often it claims too much.

Documents of 1 to 5 questions share a chance to be read well; a question's confidence knows its chance of being right
more or less well. A claim is false if the threshold that was shown accepts documents of which more than ``--max-error``
err, in a population of 400,000 questions. That must happen in at most 5 % of runs.

Run ``python -m benchmarks.automation [--runs N]``; the table is in docs/decisions.md. The exit status is 1 if a rate is
too high.
"""

import argparse
import functools
import math
import sys
from typing import NamedTuple

import numpy as np

from anls_eval.decisions.automation import Bools, Halves
from anls_eval.statistics.resampling import Floats, Integers

_POPULATION = 400_000


class Cell(NamedTuple):
    """One kind of simulated run."""

    questions: int
    by_document: bool
    noise: float  # of the confidence, in log odds
    max_error: float


CELLS = [
    Cell(questions, by_document, noise, max_error)
    for questions in (500, 2_000, 10_000)
    for by_document in (False, True)
    for noise, max_error in ((0.5, 0.01), (0.5, 0.05), (2.0, 0.05))
]


def draw(n: int, cell: Cell, generator: np.random.Generator) -> tuple[Floats, Bools, Integers]:
    """Return confidences, errors and documents of about n questions."""
    sizes = generator.integers(1, 6, n) if cell.by_document else np.ones(n, dtype=np.int64)
    documents: Integers = np.repeat(np.arange(n), sizes)[:n].astype(np.int64)
    odds = generator.normal(3, 1.5, n)[documents] + generator.normal(0, 1, n)
    errs = generator.random(n) > 1 / (1 + np.exp(-odds))
    confidences = 1 / (1 + np.exp(-(odds + generator.normal(0, cell.noise, n))))
    return np.round(confidences, 3), errs, documents


@functools.cache
def _truth(cell: Cell) -> tuple[Floats, Floats]:
    """Return the thresholds from 0 to 1, and the share of accepted documents that err at each, in the population."""
    confidences, errs, documents = draw(_POPULATION, cell, np.random.default_rng(1))
    number = int(documents[-1]) + 1
    highest, failing = np.full(number, -1.0), np.full(number, -1.0)
    np.maximum.at(highest, documents, confidences)
    np.maximum.at(failing, documents[errs], confidences[errs])
    thresholds = np.round(np.arange(1001) / 1000, 3)
    accepted, errors = (number - np.searchsorted(np.sort(own), thresholds) for own in (highest, failing))
    return thresholds, errors / np.maximum(accepted, 1)


class Rates(NamedTuple):
    """What happened in the runs."""

    shown: float  # share of runs with a claim
    failed: float  # share of runs with a false one
    share: float  # mean share of questions that is accepted, of the runs with a claim


def rates(cell: Cell, runs: int, seed: int = 0) -> Rates:
    """Run the automation on many simulated runs."""
    generator = np.random.default_rng([seed, *map(int, (cell.questions, cell.by_document, 10 * cell.noise))])
    thresholds, errors = _truth(cell._replace(questions=0, max_error=0.0))
    shown, failed, shares = 0, 0, []
    for _ in range(runs):
        confidences, errs, documents = draw(cell.questions, cell, generator)
        found = Halves.of(confidences, errs, [str(own) for own in documents]).accept(cell.max_error)
        if found.is_shown and found.threshold is not None:
            shown += 1
            shares.append(found.share)
            failed += float(errors[np.searchsorted(thresholds, found.threshold - 1e-9)]) > cell.max_error
    return Rates(shown / runs, failed / runs, float(np.mean(shares)) if shares else 0.0)


def failed_promises(cell: Cell, runs: int) -> float:
    """Return the share of runs with a false claim."""
    return rates(cell, runs).failed


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    runs: int = parser.parse_args().runs
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    print("| questions | documents | noise | max. error | shown | accepted | false |\n|---|---|---|---|---|---|---|")
    worst = 0.0
    for cell in CELLS:
        own = rates(cell, runs)
        worst = max(worst, own.failed)
        of = "1 to 5 questions" if cell.by_document else "-"
        numbers = f"{own.shown:.0%} | {own.share:.0%} | {own.failed:.1%}"
        print(f"| {cell.questions:,} | {of} | {cell.noise:g} | {cell.max_error:g} | {numbers} |", flush=True)
    return int(worst > limit)


if __name__ == "__main__":
    sys.exit(main())
