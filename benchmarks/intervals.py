"""Time the statistics of many questions beside scipy.stats, each in a process of its own, with its peak memory.

The scores are real: those of six models on the questions in ``tests/data/docvqa``. Each question is drawn with the
answers of two of the models at random, so that the differences have thousands of distinct values, more than two
systems have in earnest. Documents have 5 questions. The peak is that of the whole process, Python and the libraries
included. scipy runs where it ends within a minute, in batches of 100 resamples, since all at once would not fit in
memory.

Run ``python benchmarks/intervals.py [--sizes N ...]``.
"""

import argparse
import importlib.metadata
import multiprocessing
import os
import resource
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

import anls
from anls_eval.statistics import confidence_interval, paired_comparison
from benchmarks.flat import docvqa_questions, positive, print_machine

SIZES = (1_000, 10_000, 1_000_000)
SCIPY_SIZE = 10_000  # beyond, scipy takes minutes
RUNS = 6  # docvqa_questions gives each question with the answer of every model
TARGET_SIZE, TARGET_SECONDS, TARGET_MEGABYTES = 1_000_000, 5, 300

Floats = npt.NDArray[np.float64]


class Systems(NamedTuple):
    """Scores of two systems, and the document of each question."""

    a: Floats
    b: Floats
    documents: npt.NDArray[np.int64]


class Measured(NamedTuple):
    """One run of a contender: on the clock and of the processor, and the process's peak before and after."""

    seconds: float
    cpu_seconds: float
    megabytes_before: float
    megabytes: float


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
CONTENDERS: dict[str, Callable[[Systems], Any]] = {
    "interval": lambda systems: confidence_interval(systems.a),
    "interval, scipy": scipy_interval,
    "interval, by document": lambda systems: confidence_interval(systems.a, clusters=systems.documents),
    "comparison": lambda systems: paired_comparison(systems.a, systems.b),
    "permutation test, scipy": scipy_test,
    "comparison, by document": lambda systems: paired_comparison(systems.a, systems.b, clusters=systems.documents),
    ALL: everything,
    ALL_CLUSTERED: everything_clustered,
}


def real_scores() -> Floats:
    """Score the six models on 1,000 questions: shape (6, 1000)."""
    questions = docvqa_questions(RUNS * 1_000)
    return anls.anls_scores(questions.predictions, questions.answers).reshape(-1, RUNS).T


def run(name: str, scores: Floats, n: int) -> Measured:
    """Run one contender, in a process that has run nothing else."""
    generator = np.random.default_rng(0)
    rows = generator.integers(0, scores.shape[1], n)
    a, b = (scores[generator.integers(0, RUNS, n), rows] for _ in range(2))
    systems = Systems(a, b, np.arange(n) // 5)
    before, start, cpu_start = peak_megabytes(), perf_counter(), process_time()
    CONTENDERS[name](systems)
    return Measured(perf_counter() - start, process_time() - cpu_start, before, peak_megabytes())


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of questions")
    options = parser.parse_args()

    print_machine()
    print(f"scipy {importlib.metadata.version('scipy')}")
    scores = real_scores()
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes:
        for n in options.sizes:
            print(
                f"\n{n:,} questions, 10,000 resamples\n  {'':<36}{'seconds':>9}{'CPU':>8}{'MB':>6}{'of it before':>14}"
            )
            for name in CONTENDERS:
                if "scipy" in name and n > SCIPY_SIZE:
                    continue
                seconds, cpu, before, megabytes = processes.apply(run, (name, scores, n))
                print(f"  {name:<36}{seconds:>9.2f}{cpu:>8.2f}{megabytes:>6.0f}{before:>14.0f}")
                if n == TARGET_SIZE and name in (ALL, ALL_CLUSTERED):
                    met = seconds < TARGET_SECONDS and megabytes < TARGET_MEGABYTES
                    target = f"{TARGET_SECONDS} s and {TARGET_MEGABYTES} MB"
                    print(f"    target: under {target}, {'met' if met else 'missed'}")
                sys.stdout.flush()
    print(f"\nLoad average {os.getloadavg()[0]:.1f} after; by itself the run makes it 1.")


if __name__ == "__main__":
    main()
