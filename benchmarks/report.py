"""Run all benchmarks and write RESULTS.md, results.json, growth.svg and the numbers in docs/speed.md.

Run ``make bench``, or ``python -m benchmarks.report [--rounds N]``; it takes at most half an hour.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import dataset, flat, growth, intervals, startup, submission, tree
from benchmarks.measuring import ROOT, ROUNDS, arguments, machine, positive
from benchmarks.plot import write_growth
from benchmarks.render import growth_text, report_text, section_text, with_numbers
from benchmarks.results import Report, Section, read_report, write_report


class Plan(NamedTuple):
    """How large the workloads are, and how often contenders run, where they are not slow."""

    rounds: int = ROUNDS
    few_rounds: int = 3  # of what starts processes
    texts: flat.Sizes = flat.Sizes()
    trees: tree.Sizes = tree.Sizes()
    submissions: submission.Sizes = submission.Sizes()
    resampled: tuple[int, ...] = intervals.SIZES
    files: dataset.Sizes = dataset.Sizes()
    growing: growth.Sizes = growth.Sizes()


def sections(plan: Plan) -> Iterator[Section]:
    """Run the benchmarks one after another."""
    yield flat.texts_section(plan.texts, plan.rounds)
    yield flat.evaluate_section(plan.texts, plan.rounds)
    yield tree.trees_section(plan.trees, plan.rounds)
    yield tree.documents_section(plan.trees, plan.few_rounds)
    yield tree.huge_section(plan.trees, plan.few_rounds)
    yield submission.submission_section(plan.submissions, plan.few_rounds)
    yield startup.startup_section(plan.few_rounds)
    yield intervals.intervals_section(plan.resampled, plan.few_rounds)
    yield dataset.dataset_section(plan.files)


def run(plan: Plan) -> Report:
    """Run everything, showing each section as soon as it is there."""
    load, start = os.getloadavg()[0], time.perf_counter()
    found = []
    for section in sections(plan):
        print(section_text(section), flush=True)
        found.append(section)
    grown = growth.growth(plan.growing, plan.few_rounds)
    print(growth_text(grown), flush=True)
    return Report(machine(load, time.perf_counter() - start), tuple(found), grown)


def write(report: Report, folder: Path, page: Path) -> None:
    """Write all from the JSON, so that nothing shows what it does not hold."""
    write_report(folder / "results.json", report)
    report = read_report(folder / "results.json")
    (folder / "RESULTS.md").write_text(report_text(report), encoding="utf-8")
    write_growth(folder / "growth.svg", report.growth)
    page.write_text(with_numbers(page.read_text(encoding="utf-8"), report), encoding="utf-8")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often contenders run that are not slow")
    rounds = parser.parse_args().rounds
    write(run(Plan(rounds, min(rounds, Plan().few_rounds))), ROOT / "benchmarks", ROOT / "docs" / "speed.md")


if __name__ == "__main__":
    main()
