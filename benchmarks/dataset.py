"""Time data sets in many files: one process that scores file by file, and Dask with one and two workers.

The data come from ``generate.py``, whose score is known: a run with another score ends with an error, whatever its
time. Each contender scores in new processes. Reported are the seconds without worker start-up, which has its own
column, the CPU seconds of all scoring processes, and the highest peak memory of one, including Python and libraries.

Run ``python benchmarks/dataset.py [--rows N] [--files N] [--workers N ...]``. The data are written to a temporary
folder, 34 MB per million rows on each side.
"""

import dataclasses
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from anls_eval.cluster.run import part_paths, score_dataset
from anls_eval.cluster.workers import local_client
from anls_eval.files import open_predictions, open_references
from anls_eval.submission.passes import Options, Pass, sides_of
from anls_eval.submission.totals import Totals
from benchmarks.generate import expected_mean, write_dataset
from benchmarks.measuring import Contender, alone, arguments, cpu_seconds, equal_to, peak_megabytes, positive, workload
from benchmarks.render import number, section_text
from benchmarks.results import Section, Workload

ONE_PROCESS = "one process, file by file"
BY_ID = ", brought together by id"


class Sizes(NamedTuple):
    """How many rows, in how many files on each side, and the numbers of workers."""

    rows: int = 20_000_000
    files: int = 40
    workers: tuple[int, ...] = (1, 2)


class Ran(NamedTuple):
    """Seconds of start and of work, the processor's seconds of all who scored, the greatest peak, and the mean."""

    start: float | None
    seconds: float
    cpu: float
    megabytes: float
    mean: float


def one_process(predictions: list[str], references: list[str]) -> Ran:
    """File by file, without Dask and without files of results."""
    begun, before = time.perf_counter(), cpu_seconds()
    totals, options = Totals(), Options()
    for own, other in zip(predictions, references, strict=True):
        readers = open_predictions(own), open_references(other)
        run = Pass(sides_of(readers, options), options, whole=False)
        for _ in run.scored(False):
            pass
        totals.add(run.totals)
    seconds = time.perf_counter() - begun
    return Ran(None, seconds, cpu_seconds() - before, peak_megabytes(), totals.scores.mean)


def dask(predictions: list[str], references: list[str], workers: int) -> Ran:
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, local_client(workers) as client:
        before = client.run(cpu_seconds)
        ready = time.perf_counter()
        found = score_dataset(predictions, references, out=Path(folder) / "out", client=client)
        done = time.perf_counter()
        cpu = sum(client.run(cpu_seconds).values()) - sum(before.values())
        megabytes = max(client.run(peak_megabytes).values())
    return Ran(ready - begun, done - ready, cpu, megabytes, found.submission.score)


def contender(name: str, mean: float, run: Callable[..., Ran], *arguments: Any) -> Contender:
    """One round, in a process that has done nothing else."""

    def timed() -> tuple[float, Ran]:
        ran = Ran(*alone(run, *arguments))
        return ran.seconds, ran

    same = equal_to(mean)
    return Contender(name, timed, 1, lambda ran: same(ran.mean))


def of_workers(workers: int) -> str:
    return f"Dask, {workers} {'worker' if workers == 1 else 'workers'}"


def dataset_workload(folder: Path, sizes: Sizes) -> Workload:
    write_dataset(folder, sizes.rows, sizes.files)
    predictions, references = (list(map(str, part_paths(folder / side))) for side in ("predictions", "references"))
    mean = expected_mean(sizes.rows)
    other_order = [*references[1:], references[0]]
    contenders = [contender(ONE_PROCESS, mean, one_process, predictions, references)]
    for workers in sizes.workers:
        contenders.append(contender(of_workers(workers), mean, dask, predictions, references, workers))
    for workers in sizes.workers:
        name = of_workers(workers) + BY_ID
        contenders.append(contender(name, mean, dask, predictions, other_order, workers))
    found = workload(f"{sizes.rows:,} rows in {sizes.files} files", 1, contenders, more=used)
    speeds = (f"{name} {number(sizes.rows / own.median)}" for name, own in found.timings.items())
    return dataclasses.replace(found, notes=(f"rows a second: {'; '.join(speeds)}.",))


def used(ran: Ran) -> dict[str, float | None]:
    return {"start": ran.start, "cpu": ran.cpu, "megabytes": ran.megabytes}


def dataset_section(sizes: Sizes) -> Section:
    with tempfile.TemporaryDirectory() as folder:
        found = dataset_workload(Path(folder), sizes)
    steps = list(itertools.pairwise(map(of_workers, sizes.workers)))
    return Section(
        "Data sets in many files",
        "Parquet files of DocVQA's answers, by one process and by `anls_eval.cluster.run.score_dataset` on this "
        "machine. Brought together by id, the files of one side have other rows than those of the other. Dask's "
        "workers also write the scores of all questions. Seconds are without the start of the workers; the score is "
        "known.",
        "s",
        (found,),
        (*steps, *((fewer + BY_ID, more + BY_ID) for fewer, more in steps)),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=positive, default=Sizes().rows)
    parser.add_argument("--files", type=positive, default=Sizes().files, help="of each side")
    parser.add_argument("--workers", type=positive, nargs="+", default=Sizes().workers)
    options = parser.parse_args()
    print(section_text(dataset_section(Sizes(options.rows, options.files, tuple(options.workers)))))


if __name__ == "__main__":
    main()
