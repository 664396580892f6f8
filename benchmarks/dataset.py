"""Time data sets in many files: one process that scores file by file, and Dask with one worker and with two.

The data are those of ``generate.py``, whose score is known: a run that gives another one ends with an error; a time
never does. Each contender scores in processes that have scored nothing before. Shown are the seconds without the start
of the workers, which has a column of its own, the processor's seconds of all who score, and the greatest peak of a
process that scores, Python and the libraries included.

Run ``python benchmarks/dataset.py FOLDER [--workers N ...]``; FOLDER as ``generate.py`` wrote it, or with ``--rows N``
for a new one.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

import anls
from anls_eval.distributed import local_client, part_paths, score_dataset
from anls_eval.formats import open_predictions, open_references
from anls_eval.scorers import make_scorer
from anls_eval.scoring import Options, Pass, sides_of
from anls_eval.summary import Summary
from anls_eval.tally import Tally
from benchmarks.flat import positive, print_machine
from benchmarks.generate import repetition, write_dataset

Used = tuple[float, float]  # the processor's seconds, and the peak in megabytes


class Measured(NamedTuple):
    """One run: seconds of start and of work, and what each process that scored used."""

    start: float
    seconds: float
    used: list[Used]
    mean: float


def used() -> Used:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime, own.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def one_process(predictions: list[str], references: list[str]) -> Measured:
    """File by file, without Dask and without files of results."""
    begun, (before, _) = time.perf_counter(), used()
    summary, scorer = Summary(), make_scorer("standard")
    for own, other in zip(predictions, references, strict=True):
        readers = open_predictions(own), open_references(other)
        run = Pass(sides_of(readers, scorer, ()), scorer, Options(), whole=False)
        for _ in run.scored(False, lambda done: None):
            pass
        summary.add(run.summary)
    seconds, (cpu, peak) = time.perf_counter() - begun, used()
    return Measured(0.0, seconds, [(cpu - before, peak)], summary.scores.mean)


def dask(predictions: list[str], references: list[str], workers: int) -> Measured:
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, local_client(workers) as client:
        before = client.run(used)
        ready = time.perf_counter()
        found = score_dataset(predictions, references, out=Path(folder) / "out", client=client)
        done = time.perf_counter()
        after = client.run(used)
        each = [(after[name][0] - before[name][0], after[name][1]) for name in before]
    return Measured(ready - begun, done - ready, each, found.submission.score)


def expected_mean(rows: int) -> float:
    """The mean of the rows that repeat, so many times over."""
    predictions, answers, _ = repetition()
    whole, rest = divmod(rows, len(predictions))
    scores = anls.anls_scores(predictions, answers)
    counts = Tally.of(scores).counts
    return (Tally(Counter({score: count * whole for score, count in counts.items()})) + Tally.of(scores[:rest])).mean


def show(name: str, rows: int, run: Measured, mean: float) -> None:
    if run.mean != mean:
        sys.exit(f"{name}: {run.mean!r}, expected {mean!r}")
    cpu, peak = sum(own for own, _ in run.used), max(own for _, own in run.used)
    load = os.getloadavg()[0]
    print(
        f"  {name:<42}{run.start:>7.1f}{run.seconds:>9.1f}{rows / run.seconds:>12,.0f}{cpu:>9.1f}"
        f"{peak:>7.0f}{load:>7.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=positive, help="write so many into FOLDER first")
    parser.add_argument("--workers", type=positive, nargs="+", default=(1, 2))
    options = parser.parse_args()
    if options.rows:
        write_dataset(options.folder, options.rows, 40)
    predictions, references = (part_paths(options.folder / side) for side in ("predictions", "references"))
    rows = sum(pq.read_metadata(path).num_rows for path in predictions)
    mean = expected_mean(rows)
    other_order = [*references[1:], references[0]]

    print_machine()
    print(f"\n{rows:,} rows in {len(predictions)} files")
    print(f"  {'':<42}{'start':>7}{'seconds':>9}{'rows/s':>12}{'CPU':>9}{'MB':>7}{'load':>7}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes:
        show("one process, file by file", rows, processes.apply(one_process, (predictions, references)), mean)
    for workers in options.workers:
        show(f"Dask, {workers} workers", rows, dask(predictions, references, workers), mean)
    for workers in options.workers:
        name = f"Dask, {workers} workers, brought together by id"
        show(name, rows, dask(predictions, other_order, workers), mean)


if __name__ == "__main__":
    main()
