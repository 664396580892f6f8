"""Time the statistics of many questions against scipy.stats, each in a separate process, with its peak memory.

The scores are real: those of six models on the questions in ``examples/docvqa``. Each question takes the answers of
two random models, so that the differences have thousands of distinct values, more than those of two real systems.
Documents have 5 questions. The peak is that of the whole process, including Python and libraries. scipy runs if it ends
within a minute, in batches of 100 resamples, since all of them would not fit in memory.

Run ``python benchmarks/intervals.py [--sizes N ...]``.
"""

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from anls_eval.scoring import anls_scores
from anls_eval.statistics import confidence_interval, paired_comparison
from benchmarks.measuring import Contender, alone, arguments, cpu_seconds, peak_megabytes, positive, workload
from benchmarks.questions import docvqa_questions
from benchmarks.render import section_text
from benchmarks.results import Section, Target, Workload, at_most

SIZES = (1_000, 10_000, 1_000_000)
SCIPY_SIZE = 10_000  # beyond, scipy takes minutes
ROUNDS = 3
OURS, SCIPY = "ours", "scipy"
RUNS = 6  # docvqa_questions gives each question with the answer of every model
TARGET_SIZE, TARGET_SECONDS, TARGET_MEGABYTES = 1_000_000, 5, 300

Floats = npt.NDArray[np.float64]


class Systems(NamedTuple):
    """Scores of two systems, and the document of each question."""

    a: Floats
    b: Floats
    documents: npt.NDArray[np.int64]


def scipy_interval(systems: Systems) -> None:
    stats.bootstrap((systems.a,), np.mean, n_resamples=10_000, batch=100, method="BCa", rng=np.random.default_rng(0))


def scipy_test(systems: Systems) -> None:
    differences = systems.a - systems.b
    stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, batch=100, rng=np.random.default_rng(0)
    )


def everything(systems: Systems) -> None:
    for scores in (systems.a, systems.b):
        confidence_interval(scores)
    paired_comparison(systems.a, systems.b)


def everything_clustered(systems: Systems) -> None:
    for scores in (systems.a, systems.b):
        confidence_interval(scores, clusters=systems.documents)
    paired_comparison(systems.a, systems.b, clusters=systems.documents)


ALL, ALL_CLUSTERED = "two intervals, a comparison", "the same, by document"
TASKS: dict[str, dict[str, Callable[[Systems], Any]]] = {
    "interval": {OURS: lambda systems: confidence_interval(systems.a), SCIPY: scipy_interval},
    "comparison": {OURS: lambda systems: paired_comparison(systems.a, systems.b), SCIPY: scipy_test},
    ALL: {OURS: everything},
    ALL_CLUSTERED: {OURS: everything_clustered},
}


@functools.cache
def real_scores() -> list[list[float]]:
    """Score the six models on 1,000 questions."""
    scores: list[list[float]] = anls_scores(*docvqa_questions(RUNS * 1_000)).reshape(-1, RUNS).T.tolist()
    return scores


def run(task: str, name: str, n: int, of_systems: list[list[float]]) -> tuple[float, float, float]:
    """Run one contender, in a process that has run nothing else: seconds, the processor's, and the peak in MB."""
    scores, generator = np.array(of_systems), np.random.default_rng(0)
    rows = generator.integers(0, scores.shape[1], n)
    a, b = (scores[generator.integers(0, RUNS, n), rows] for _ in range(2))
    systems = Systems(a, b, np.arange(n) // 5)
    start, cpu_start = perf_counter(), cpu_seconds()
    TASKS[task][name](systems)
    return perf_counter() - start, cpu_seconds() - cpu_start, peak_megabytes()


def contender(task: str, name: str, n: int, rounds: int) -> Contender:
    def timed() -> tuple[float, dict[str, float | None]]:
        seconds, cpu, megabytes = alone(run, task, name, n, real_scores())
        return seconds, {"cpu": cpu, "megabytes": megabytes}

    return Contender(name, timed, rounds)


def task_workload(task: str, n: int, rounds: int) -> Workload:
    names = [name for name in TASKS[task] if name == OURS or n <= SCIPY_SIZE]
    contenders = [contender(task, name, n, rounds) for name in names]
    return workload(f"{n:,} questions, {task}", 1, contenders, more=lambda used: used)


def intervals_section(sizes: tuple[int, ...] = SIZES, rounds: int = ROUNDS) -> Section:
    found = {(n, task): task_workload(task, n, rounds) for n in sizes for task in TASKS}
    targets: list[Target] = []
    for task in (ALL, ALL_CLUSTERED):
        if own := found.get((TARGET_SIZE, task)):
            timing = own.timings[OURS]
            targets.append(at_most(own.name, timing.median, "s", TARGET_SECONDS))
            targets.append(at_most(own.name, timing.megabytes or 0.0, "MB", TARGET_MEGABYTES))
    return Section(
        "Intervals and tests",
        "Confidence intervals and paired comparisons with 10,000 resamples, beside `scipy.stats.bootstrap` (BCa) and "
        "`permutation_test`, each run in a process of its own. Documents have 5 questions.",
        "s",
        tuple(found.values()),
        ((SCIPY, OURS),),
        tuple(targets),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of questions")
    parser.add_argument("--rounds", type=positive, default=ROUNDS)
    options = parser.parse_args()
    print(section_text(intervals_section(tuple(options.sizes), options.rounds)))


if __name__ == "__main__":
    main()
