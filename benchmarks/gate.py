"""Simulate `anls gate` where the truth is known: how often it is wrong, and how often it finds a drop.

Two systems answer n questions. A share of the answers changes: it gets better or worse by 1, 0.6 or 0.3 of a point.
With documents, of 1 to 9 questions, the answers change together: half of the questions of every document that is
touched, all for the better or all for the worse. The share of losses makes the mean drop exactly what the cell says.

- Level: the drop is exactly ``--max-drop``. The gate must not fail, and with ``--strict`` not pass, in more than 5 % of
  runs.
- Power: ``--max-drop 0`` and a real drop. How often does the gate fail?

Run ``python -m benchmarks.gate [--runs N]``; the tables are in docs/ci.md. The exit status is 1 if a rate is too high.
"""

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anls_eval.statistics import paired_comparison
from anls_eval.statistics.bounds import Sample
from anls_eval.statistics.resampling import Floats, Integers

ALPHA = 0.05
SIZES = (50, 200, 1_000, 5_000)
CHANGED = (0.02, 0.05, 0.2)
DROPS = (0.01, 0.02, 0.05)
_AMOUNTS, _SHARES = (1.0, 0.6, 0.3), (0.6, 0.2, 0.2)
_MEAN_AMOUNT = float(np.dot(_AMOUNTS, _SHARES))


class Cell(NamedTuple):
    """One kind of simulated run."""

    n: int
    changed: float  # share of the answers
    drop: float  # real mean drop
    by_document: bool


class Rates(NamedTuple):
    """How often the gate failed and, with --strict, passed."""

    failed: float
    passed: float


def is_possible(cell: Cell) -> bool:
    """Return whether so few changed answers can make such a drop."""
    return cell.drop <= cell.changed * _MEAN_AMOUNT


def draw(cell: Cell, generator: np.random.Generator) -> tuple[Floats, Integers | None]:
    """Return the differences of n questions, and their documents if there are any."""
    losses = (1 + cell.drop / (cell.changed * _MEAN_AMOUNT)) / 2
    amounts = generator.choice(_AMOUNTS, size=cell.n, p=_SHARES)
    if not cell.by_document:
        is_changed = generator.random(cell.n) < cell.changed
        return np.where(generator.random(cell.n) < losses, -amounts, amounts) * is_changed, None
    sizes = generator.integers(1, 10, cell.n)
    documents = np.repeat(np.arange(cell.n), sizes)[: cell.n]
    is_touched, is_worse = generator.random(cell.n) < 2 * cell.changed, generator.random(cell.n) < losses
    is_changed = is_touched[documents] & (generator.random(cell.n) < 0.5)
    return np.where(is_worse[documents], -amounts, amounts) * is_changed, documents


def rates(cell: Cell, max_drop: float, runs: int, seed: int = 0) -> Rates:
    """Run the gate's tests on many simulated runs."""
    generator = np.random.default_rng([seed, cell.n, int(cell.changed * 1000), int(cell.drop * 1000), cell.by_document])
    failed = passed = 0
    for _ in range(runs):
        sample = Sample.of(*draw(cell, generator), -1.0)
        failed += sample.p_below(-max_drop) <= ALPHA
        passed += sample.p_above(-max_drop) <= ALPHA
    return Rates(failed / runs, passed / runs)


def error_of(runs: int) -> float:
    """Return how far above 5 % a rate may be by chance: three standard errors."""
    return 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)


def level_table(runs: int) -> str:
    """Return the rates at a drop of exactly --max-drop, as a table in Markdown."""
    lines = [
        "| questions | changed | documents | drop = `--max-drop` | failed | passed with `--strict` |",
        "|---|---|---|---|---|---|",
    ]
    for by_document in (False, True):
        for n in SIZES:
            for changed in CHANGED:
                for drop in (0.0, 0.01):
                    cell = Cell(n, changed, drop, by_document)
                    found = rates(cell, drop, runs)
                    _check(cell, *found, runs)
                    lines.append(
                        f"| {n:,} | {changed:.0%} | {'1 to 9 questions' if by_document else '-'} | {drop:g} | "
                        f"{found.failed:.1%} | {found.passed:.1%} |"
                    )
    return "\n".join(lines)


_DOCUMENT_SIZES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "1 to 9": lambda generator, n: generator.integers(1, 10, n),
    "lognormal": lambda generator, n: np.ceil(generator.lognormal(1, 1, n)),
    "Pareto (1.5)": lambda generator, n: np.ceil(2 * generator.pareto(1.5, n) + 0.1),
    "1, or 30 for one in ten": lambda generator, n: np.where(generator.random(n) < 0.1, 30, 1),
}


def sizes_table(runs: int) -> str:
    """Return the rates where whole documents get better or worse, for documents of very different sizes."""
    lines = [
        "| sizes of documents | documents | changed | losses | failed | passed with `--strict` |",
        "|---|---|---|---|---|---|",
    ]
    for name, draw_sizes in _DOCUMENT_SIZES.items():
        for n in (30, 200):
            for changed, losses in ((0.05, 1.0), (0.2, 0.8)):
                generator = np.random.default_rng([n, int(changed * 100)])
                drop, failed, passed = changed * (2 * losses - 1), 0, 0
                for _ in range(runs):
                    sizes = draw_sizes(generator, n).astype(np.float64)
                    signs = np.where(generator.random(n) < losses, -1.0, 1.0) * (generator.random(n) < changed)
                    sample = Sample(signs * sizes, sizes, -1.0)
                    failed += sample.p_below(-drop) <= ALPHA
                    passed += sample.p_above(-drop) <= ALPHA
                _check(f"{name}, {n}, {changed}", failed / runs, passed / runs, runs)
                lines.append(
                    f"| {name} | {n} | {changed:.0%} | {losses:.0%} | {failed / runs:.1%} | {passed / runs:.1%} |"
                )
    return "\n".join(lines)


def _check(cell: object, failed: float, passed: float, runs: int) -> None:
    if max(failed, passed) > ALPHA + error_of(runs):
        sys.exit(f"{cell}: {failed:.3f} failed, {passed:.3f} passed; more than {ALPHA:.0%} and the simulation's error")


def power_table(runs: int) -> str:
    """Return how often the gate fails at a real drop with --max-drop 0, as a table in Markdown."""
    heads = " | ".join(f"drop of {drop:g}" for drop in DROPS)
    lines = [f"| questions | changed | documents | {heads} |", "|---|---|---|" + "---|" * len(DROPS)]
    for by_document in (False, True):
        for n in SIZES:
            for changed in CHANGED:
                cells = [Cell(n, changed, drop, by_document) for drop in DROPS]
                found = [f"{rates(cell, 0.0, runs).failed:.0%}" if is_possible(cell) else "-" for cell in cells]
                lines.append(
                    f"| {n:,} | {changed:.0%} | {'1 to 9 questions' if by_document else '-'} | {' | '.join(found)} |"
                )
    return "\n".join(lines)


def others_table(runs: int) -> str:
    """Return how often other methods pass at a drop of exactly --max-drop, as a table in Markdown."""
    cell = Cell(50, 0.02, 0.01, False)
    generator = np.random.default_rng(0)
    ours = bootstrap = flips = 0
    for _ in range(runs):
        differences, _ = draw(cell, generator)
        ours += Sample.of(differences, lowest=-1.0).p_above(-cell.drop) <= ALPHA
        tie = np.zeros_like(differences)
        better, worse = np.maximum(differences, tie), np.maximum(-differences, tie)
        found = paired_comparison(better, worse, level=1 - 2 * ALPHA, resamples=2_000)
        bootstrap += found.interval.low > -cell.drop
        shifted = differences + cell.drop
        flipped = generator.choice([-1, 1], size=(2_000, cell.n)) @ shifted
        flips += np.mean(flipped >= shifted.sum()) <= ALPHA
    lines = ["| method | passed |", "|---|---|"]
    named = {"`anls gate`": ours, "bootstrap (BCa)": bootstrap, "signs flipped": flips}
    return "\n".join([*lines, *(f"| {name} | {passed / runs:.1%} |" for name, passed in named.items())])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated runs for each cell")
    options = parser.parse_args()
    tables = (others_table, level_table, sizes_table, power_table)
    print(*(table(options.runs) for table in tables), sep="\n\n")


if __name__ == "__main__":
    main()
