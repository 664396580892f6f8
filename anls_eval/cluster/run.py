"""A data set in many files, scored by the workers of a Dask cluster, on this machine or on many.

The workers read and write the files themselves: what goes through the scheduler is names and numbers. Every part is
scored as `submission.score_submission` scores two files, and the summaries of the parts add up exactly, so that the
score is the same to the bit for any number of files and workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import glob
import hashlib
import itertools
import json
import logging
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import dask
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster, Worker, as_completed
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError, get_address_host_port
from distributed.scheduler import KilledWorker

from anls_eval.cluster.parts import (
    BucketPart,
    FilePart,
    Job,
    Part,
    ShuffledFile,
    UnpairedError,
    has_repeats,
    rows_path,
    score_part,
    shuffle_file,
    shuffled_summary,
    summary_of,
)
from anls_eval.errors import AnlsError, Explained, Remedy, check_choice, located
from anls_eval.files import FormatError, Reader
from anls_eval.files.errors import SHOWN, FilesError
from anls_eval.files.write import whole_file
from anls_eval.registry import MISSING, UNKNOWN
from anls_eval.rules.protocol import Protocol
from anls_eval.statistics import confidence_interval
from anls_eval.submission.passes import SIDES
from anls_eval.submission.score import SubmissionScore, sides_with, sum_up
from anls_eval.submission.totals import Summary
from anls_eval.types import Missing, Unknown

_BUCKET_BYTES = 32 << 20  # of the files, for each bucket: some hundred thousand rows
_CHECKED_AT_ONCE = 1 << 23  # fingerprints, 64 MB
_FOR_SCHEDULER = 10  # seconds that the scheduler at an address has to answer
_FOR_WORKERS = 30  # seconds that it has to get a worker

Paths = str | os.PathLike[str] | Sequence[str]


@dataclasses.dataclass(frozen=True)
class DatasetScore:
    """The score of a data set in parts.

    Args:
        submission: The score of all parts.
        parts: How many there are.
        resumed: How many of them an earlier run had finished.
        bad: Parts that were left out, with the reason.
        paired_by: ``"file"`` if each file of predictions went with its file of references, ``"id"`` if the rows of all
            files were brought together by their ids.
    """

    submission: SubmissionScore
    parts: int
    resumed: int
    bad: dict[str, str]
    paired_by: str

    def to_dict(self) -> dict[str, object]:
        """Give the score and how it was come by as plain JSON values."""
        own = {name: getattr(self, name) for name in ("parts", "resumed", "bad", "paired_by")}
        return {**self.submission.to_dict(), **own}


class BadPartsError(FilesError):
    """Some parts cannot be read or scored. The others are finished, and stay finished.

    Args:
        errors: The error of each of these parts.
        out: The folder of the results.
    """

    def __init__(self, errors: Mapping[str, AnlsError], out: Path) -> None:
        super().__init__(
            f"{counted(len(errors), 'part')} cannot be scored",
            errors,
            f"The others are finished in {out}.",
            [
                Remedy("resume", True, "continue once these are fixed"),
                Remedy("skip_bad", True, "leave them out"),
            ],
        )

    @property
    def bad(self) -> dict[str, str]:
        """The parts, with the reason."""
        return {part: str(error) for part, error in self.errors.items()}


class LostWorkersError(Explained, ChildProcessError):
    """The workers or the cluster failed. What they finished is kept."""


class InterruptedRunError(Explained, KeyboardInterrupt):
    """Ctrl-C. What was finished is kept."""


_RESUME = Remedy("resume", True, "continue")


def score_dataset(
    predictions: Paths,
    references: Paths | None = None,
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    client: Client | str | None = None,
    protocol: str | Protocol = "standard",
    threshold: float | str | Fraction | Decimal | None = None,
    by: Sequence[str] = (),
    missing: Missing = "error",
    unknown: Unknown = "error",
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
    resume: bool = False,
    skip_bad: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> DatasetScore:
    r"""Score a data set in many files.

    Where there are as many files of predictions as of references, the first goes with the first, and so on by their
    names. If their ids do not match one to one, or without that, the rows of all files are brought together by their
    ids, through files in `out`. Without ids, the files have to go together.

    A program that starts workers on this machine needs ``if __name__ == "__main__":`` around what it does.

    Args:
        predictions: A file, a folder of files, a pattern such as ``"runs/*.parquet"``, or a list of files. Their names
            must be good on every worker.
        references: The same; None if the files of predictions have the accepted answers, too.
        out: The folder of the results, which every worker can read and write. It gets one Parquet file for each part
            with ``question_id``, ``score`` and the columns of `by`.
        workers: How many processes are started on this machine, and ended again; by default one for each processor.
        client: Of a cluster that is there, or the address of its scheduler, in place of `workers`.
        protocol: As in `submission.score_submission`.
        threshold: The same.
        by: The same.
        missing: The same.
        unknown: The same.
        format: As in `formats.open_predictions`, of all files.
        columns: The same. The predictions are not asked for the column of ``answers`` nor the references for that of
            ``prediction``, unless they are the same files.
        seed: Of the interval.
        resume: Whether `out` holds what an earlier run finished: what has not changed is not scored again.
        skip_bad: Whether files that cannot be read or scored are left out. Where the rows were brought together by
            their ids, the other side of such a file counts as `missing` or `unknown`: only ``missing="zero"`` or
            ``unknown="ignore"`` gives a score then.
        on_progress: Called with the number of questions scored so far.

    Returns:
        The score, and how it was come by.

    Raises:
        BadPartsError: Parts that cannot be read or scored.
        ValueError: As in `submission.score_submission`; no files; `out` is not empty, or no folder that can be written;
            no scheduler at the address.
        ChildProcessError: Workers died again and again, mostly for want of memory, the cluster was lost, or the
            scheduler at the address has no workers.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "parts").mkdir()
        >>> for number, row in enumerate(["1,Lima,Lima", "2,Roma,Rome"]):
        ...     _ = (folder / "parts" / f"{number}.csv").write_text(f"id,prediction,answers\n{row}\n")
        >>> found = score_dataset(folder / "parts", out=folder / "scored", workers=1)
        >>> found.parts, found.submission.n, found.submission.score
        (2, 2, 0.875)
    """
    check_choice("missing", missing, MISSING)
    check_choice("unknown", unknown, UNKNOWN)
    if workers is not None and client is not None:
        raise ValueError(
            "expected a number of workers, which are started on this machine, or the client or the scheduler of a "
            "cluster that is there; got both"
        )
    files = part_paths(predictions), part_paths(predictions if references is None else references)
    roles = columns or {}
    of_predictions, of_references = (
        {role: name for role, name in roles.items() if references is None or role != other}
        for other in ("answers", "prediction")
    )
    job = Job(Path(out).absolute(), protocol, threshold, tuple(by), ((), ()), format, (of_predictions, of_references))
    job, has_ids = _looked_at(job, files)
    if not has_ids and len(files[0]) != len(files[1]):
        raise ValueError(
            f"{len(files[0])} files of predictions but {len(files[1])} of references, and no question_ids; "
            "expected as many, with their rows in the same order."
        )
    _prepare(job, resume)
    try:
        with contextlib.ExitStack() as stack:
            engine = _Engine(lambda: stack.enter_context(connected(workers, client)), job, on_progress)
            found = None if job.rows.exists() else _paired(engine, files, has_ids, skip_bad)
            found = found or _shuffled(engine, files, skip_bad)
    except KeyboardInterrupt:
        finished = len(list(job.work.glob("part-*.json")))
        kept = f"{counted(finished, 'part')} {_are(finished)} finished in {job.out}."
        raise InterruptedRunError(kept, remedies=[_RESUME]) from None
    _tidy(job, found.parts)
    summary = Summary(notes=dict.fromkeys(found.notes))
    for part in found.parts:
        summary.add(_finished(part, job))
    try:
        submission = sum_up(
            summary,
            job.scorer(),
            by=job.by,
            missing=missing,
            unknown=unknown,
            interval=confidence_interval(summary.scores, seed=seed),
        )
    except ValueError as error:
        if not found.bad:
            raise
        raise _blamed_on(found.bad, error) from None
    paired_by = "file" if isinstance(found.parts[0], FilePart) else "id"
    return DatasetScore(submission, len(found.parts), found.resumed, found.bad, paired_by)


def known_rows(given: Paths) -> int | None:
    """The rows of all files, if they are Parquet, which says it before they are read."""
    paths = part_paths(given)
    if not all(path.endswith(".parquet") for path in paths):
        return None
    try:
        with ThreadPoolExecutor() as threads:
            return sum(threads.map(lambda path: int(pq.read_metadata(path).num_rows), paths))
    except (OSError, pa.ArrowException):
        return None  # scoring tells what is wrong with it


def counted(n: int, noun: str) -> str:
    """A number with its noun: ``1 part``, ``2 parts``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def part_paths(given: Paths) -> list[str]:
    """Give the files of a folder, of a pattern or of a list, in the order of their names.

    Hidden files, and those whose names begin with ``_``, are not among those of a folder.

    Raises:
        ValueError: There is none.
    """
    if not isinstance(given, (str, os.PathLike)):
        paths = list(map(os.fspath, given))
    elif Path(given).is_dir():
        paths = sorted(str(path) for path in Path(given).iterdir() if path.name[0] not in "._" and path.is_file())
    elif glob.has_magic(os.fspath(given)) and not Path(given).exists():
        paths = sorted(glob.glob(os.fspath(given), recursive=True))  # noqa: PTH207 # Path.glob takes no absolute pattern
    else:
        paths = [os.fspath(given)]
    if not paths:
        raise ValueError(f"{given}: there are no files; expected a file, a folder of files, or a pattern in quotes")
    return [str(Path(path).absolute()) if Path(path).exists() else path for path in paths]


@contextlib.contextmanager
def local_client(workers: int | None = None, memory_limit: str | int = "auto") -> Iterator[Client]:
    """Start workers on this machine, each a process with one thread, and end them with the context.

    Args:
        workers: How many; by default one for each processor.
        memory_limit: Of each, as Dask takes it; by default a like share of the machine's memory.
    """
    # Tasks hold no data that could be spilled, and a worker that pauses for want of memory would wait for ever.
    settings: dict[str, Any] = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    # Ctrl-C reaches every process of a terminal: it is ours to answer it, and to end the workers.
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    settings["distributed.worker.preload"] = [*dask.config.get("distributed.worker.preload"), ignore]
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address="127.0.0.1:0",  # for this machine only, at a port that is free
            silence_logs=logging.CRITICAL,  # a worker that dies is replaced, and what matters of it is in our errors
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def connected(workers: int | None, cluster: Client | str | None) -> Iterator[Client]:
    """Use a cluster that is there, by its client or the address of its scheduler, or start workers on this machine.

    Raises:
        ValueError: No scheduler answers at the address.
        ChildProcessError: It has no workers.
    """
    if cluster is None:
        with local_client(workers) as client:
            yield client
    elif isinstance(cluster, str):
        with _client_at(cluster) as client:
            _wait_for_workers(client, cluster)
            yield client
    else:
        yield cluster


def _client_at(address: str) -> Client:
    expected = "expected the address that `dask scheduler` prints, such as tcp://HOST:8786"
    try:
        where = get_address_host_port(address)
    except ValueError:
        raise ValueError(f"{address!r} is not the address of a Dask scheduler; {expected}") from None
    try:
        # Dask itself would try again for as long where nothing listens.
        socket.create_connection(where, timeout=_FOR_SCHEDULER).close()
        return Client(address, timeout=_FOR_SCHEDULER)
    except OSError as error:
        raise ValueError(f"no Dask scheduler answers at {address} ({error}); {expected}") from None


def _wait_for_workers(client: Client, address: str) -> None:
    if client.ncores():
        return
    warnings.warn(f"{address} has no workers: waiting {_FOR_WORKERS} s for one", UserWarning, stacklevel=2)
    try:
        client.wait_for_workers(1, timeout=_FOR_WORKERS)
    except asyncio.TimeoutError:  # another one before Python 3.11
        raise ChildProcessError(f"no workers at {address}: start some with `dask worker {address}`") from None


# ---------------------------------------------------------------------------------------------------
# The files
# ---------------------------------------------------------------------------------------------------

_Files = tuple[list[str], list[str]]


def _looked_at(job: Job, files: _Files) -> tuple[Job, bool]:
    """The job with the columns that each side is asked for, and whether the files have question_ids."""
    job.scorer()  # refuses the options before anything is read
    readers = (_first_readable(job, SIDES[0], files[0]), _first_readable(job, SIDES[1], files[1]))
    sides_with(*readers, job.scorer(), job.by)  # refuses columns that neither has
    of_references = tuple(name for name in job.by if name in readers[1].names)
    of_predictions = tuple(name for name in job.by if name not in of_references)
    has_ids = all("question_id" in reader.detected.columns for reader in readers)
    return dataclasses.replace(job, read_by=(of_predictions, of_references)), has_ids


def _first_readable(job: Job, side: str, paths: Sequence[str]) -> Reader:
    errors = []
    for path in paths:
        try:
            return job.open(side, path)
        except FormatError as error:
            errors.append(error)
    raise errors[0]


def _prepare(job: Job, resume: bool) -> None:
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        is_new = set(job.out.iterdir()) <= {job.work} and not any(job.out.glob("_work/*"))
        if not is_new and not (resume and job.work.exists()):
            expected = "the results of an earlier run" if resume else "a new folder"
            remedies = [] if resume else [Remedy("resume", True, "continue an earlier run")]
            raise AnlsError(f"{job.out} has other files; expected {expected}.", remedies=remedies)
        job.work.mkdir(exist_ok=True)
    except OSError as error:
        reason = "it is a file" if job.out.is_file() else error.strerror
        raise ValueError(
            f"{job.out} cannot be the folder of the results ({reason}); expected a folder in which you can "
            "write, or the name of a new one"
        ) from None


def _finished(part: Part, job: Job) -> Summary:
    own = summary_of(part, job)
    if own is None:
        raise ChildProcessError(
            f"{part.name} is gone from {job.out}. Does another run write there? Run again with resume."
        )
    return own


def _tidy(job: Job, parts: Sequence[Part]) -> None:
    """Remove what earlier runs left that is no part any more, and the unfinished files of workers that died."""
    names = {part.name for part in parts}
    for folder in (job.out, job.work):
        for path in (*folder.glob("part-*"), *folder.glob(".part-*")):
            if path.name.partition(".")[0] not in names:
                path.unlink()


def _identity(job: Job, paths: Sequence[str], buckets: int = 0) -> str:
    """What tells whether the same was scored before: the options, and which files these are."""
    options = [job.scorer().signature(0, "error"), job.by, job.read_by, job.format, job.columns, buckets]
    return hashlib.sha256(json.dumps([options, list(map(_state, paths))]).encode()).hexdigest()


def _state(path: str) -> tuple[str, int, int] | tuple[str]:
    try:
        own = Path(path).stat()
    except OSError:
        return (path,)
    return path, own.st_size, own.st_mtime_ns


# ---------------------------------------------------------------------------------------------------
# The work
# ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Found:
    """Parts that are finished, and what is to be said of the others."""

    parts: Sequence[Part]
    resumed: int
    bad: dict[str, str]
    notes: tuple[str, ...]


def _paired(engine: _Engine, files: _Files, has_ids: bool, skip_bad: bool) -> _Found | None:
    """Score each file of predictions with its file of references; None if their ids do not match one to one."""
    if len(files[0]) != len(files[1]):
        return None
    pairs = list(zip(*files, strict=True))
    parts = [
        FilePart(number, *pair, _identity(engine.job, pair), not has_ids or len(pairs) == 1)
        for number, pair in enumerate(pairs)
    ]
    try:
        resumed, errors = engine.score(parts)
    except UnpairedError:
        return None
    bad = _left_out(errors, engine.job, skip_bad and len(errors) < len(parts))
    good = [part for part in parts if part not in errors]
    if has_ids and len(good) > 1 and _have_repeats(engine, good):
        return None
    return _Found(good, resumed, bad, _bad_notes(bad, len(parts)))


def _have_repeats(engine: _Engine, parts: Sequence[Part]) -> bool:
    """Whether an id seems to be in two parts, in shares of all fingerprints that fit in memory."""
    identity = hashlib.sha256(json.dumps([part.identity for part in parts]).encode()).hexdigest()
    checked = engine.job.work / "without_repeats"
    if checked.exists() and checked.read_text() == identity:  # by an earlier run
        return False
    workers = max(1, len(engine.client.ncores()))
    shares = workers * (1 + engine.scored // (workers * _CHECKED_AT_ONCE))  # as many for each
    bounds = [(number << 64) // shares for number in range(shares + 1)]
    found: list[bool] = []
    errors = engine.each(
        functools.partial(has_repeats, [part.name for part in parts]), list(itertools.pairwise(bounds)), found.append
    )
    for error in errors.values():
        out = engine.job.out
        raise ValueError(f"{out}: what was kept of the ids cannot be read ({error}). Remove the folder and run again.")
    if not any(found):
        with whole_file(checked) as path:
            path.write_text(identity)
    return any(found)


def _shuffled(engine: _Engine, files: _Files, skip_bad: bool) -> _Found:
    """Bring the rows of all files together by their ids, and score them."""
    job = engine.job
    if not job.rows.exists():
        for path in job.work.glob("part-*"):  # of files that were thought to go together
            path.unlink()
        job.rows.mkdir()
    size = sum(Path(path).stat().st_size for path in {*files[0], *files[1]} if Path(path).exists())
    buckets = max(len(files[0]), len(files[1]), 1 + size // _BUCKET_BYTES)
    all_files = [
        ShuffledFile(side, number, path, buckets, _identity(job, [path], buckets))
        for side, paths in zip(SIDES, files, strict=True)
        for number, path in enumerate(paths)
    ]
    errors = engine.each(shuffle_file, [file for file in all_files if not shuffled_summary(file, job)])
    for file in errors:
        rows_path(job, file.side, file.number).unlink(missing_ok=True)  # of an earlier run, before it was damaged
    good = [file for file in all_files if file not in errors]
    bad = _left_out(errors, job, skip_bad and {file.side for file in good} == set(SIDES))
    identity = hashlib.sha256(json.dumps([file.identity for file in good]).encode()).hexdigest()
    counts = len(files[0]), len(files[1])
    parts = [BucketPart(number, buckets, counts, identity) for number in range(buckets)]
    if not all(summary_of(part, job) for part in parts):  # the rows of an earlier run may be gone
        gone = [file for file in good if not rows_path(job, file.side, file.number).exists()]
        _left_out(engine.each(shuffle_file, gone), job, skip_bad=False)
    resumed, unscored = engine.score(parts)
    if unscored:
        raise next(iter(unscored.values()))  # an error of the ids, not of a part
    notes = dict.fromkeys(note for file in good for note in (shuffled_summary(file, job) or Summary()).notes)
    for path in job.rows.iterdir():
        if path.suffix != ".json":
            path.unlink()
    return _Found(parts, resumed, bad, (*notes, *_bad_notes(bad, len(all_files))))


def _left_out(errors: Mapping[Any, Exception], job: Job, skip_bad: bool) -> dict[str, str]:
    if errors and not skip_bad:
        raise BadPartsError({item.label: located("", error) for item, error in errors.items()}, job.out)
    return {item.label: str(error) for item, error in errors.items()}


def _bad_notes(bad: Mapping[str, str], n: int) -> tuple[str, ...]:
    if not bad:
        return ()
    are = _are(len(bad))
    return (f"{len(bad)} of {counted(n, 'file')} cannot be read or scored and {are} left out: {_first_of(bad)}",)


def _first_of(bad: Mapping[str, str]) -> str:
    return ", ".join(itertools.islice(bad, SHOWN)) + (", ..." if len(bad) > SHOWN else "")


def _blamed_on(bad: Mapping[str, str], error: ValueError) -> AnlsError:
    """Return the error of ids on one side only, which may have been in files that are left out."""
    found = located("", error)
    are = f"{counted(len(bad), 'file')} {_are(len(bad))}"
    problem = f"{found.problem}\n{are} left out, and which ids were in them is not known: {_first_of(bad)}."
    return AnlsError(problem, remedies=[Remedy("resume", True, "continue once they are fixed"), *found.remedies])


_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


class _Engine:
    """Has the workers do the tasks of one job, and waits for them.

    Args:
        start: Gives the client; it is called with the first task, as there may be none.
        job: Of the tasks.
        on_progress: Called with the number of questions scored so far.
    """

    def __init__(self, start: Callable[[], Client], job: Job, on_progress: Callable[[int], None] | None = None) -> None:
        self._start, self.job, self._on_progress = start, job, on_progress
        self.scored = 0

    @functools.cached_property
    def client(self) -> Client:
        """Of the workers."""
        return self._start()

    def score(self, parts: Sequence[Part]) -> tuple[int, dict[Part, Exception]]:
        """Score the parts that are not finished; gives how many were, and the errors of bad parts."""
        finished = {part: own.n for part in parts if (own := summary_of(part, self.job)) is not None}
        self.scored = 0
        self._advance(sum(finished.values()))
        unfinished = [part for part in parts if part not in finished]
        outdated = sum((self.job.work / f"{part.name}.json").exists() for part in unfinished)
        if outdated:
            note = (
                f"{counted(outdated, 'part')} that an earlier run finished {_are(outdated)} scored again, because the "
                "files or the options have changed since"
            )
            warnings.warn(note, UserWarning, stacklevel=2)
        errors = self.each(score_part, unfinished, self._advance)
        return len(finished), errors

    def each(
        self,
        function: Callable[[_Item, Job], _Value],
        items: Sequence[_Item],
        on_value: Callable[[_Value], object] = lambda value: None,
    ) -> dict[_Item, Exception]:
        """Call a function with each item, in any order; gives the items that are at fault, with their errors.

        Raises:
            ChildProcessError: The workers or the cluster are at fault.
        """
        if not items:
            return {}
        futures = dict(zip(self.client.map(function, items, job=self.job, pure=False), items, strict=True))
        errors: dict[_Item, Exception] = {}
        try:
            for future in as_completed(futures, loop=self.client.loop):
                error = future.exception()
                if error is None:
                    on_value(future.result())
                elif isinstance(error, (ValueError, TypeError)):
                    errors[futures[future]] = error
                else:
                    raise error
        except (KilledWorker, MemoryError) as error:
            raise LostWorkersError(
                f"workers died repeatedly, or ran out of memory: {error}. Give each worker more memory, or split the "
                f"files. What is finished is in {self.job.out}.",
                remedies=[_RESUME],
            ) from None
        except (FutureCancelledError, CommClosedError) as error:
            raise LostWorkersError(
                f"the cluster was lost: {error}. What is finished is in {self.job.out}.", remedies=[_RESUME]
            ) from None
        except UnpairedError:
            self.client.cancel(list(futures))
            while any(self.client.run(_is_busy, {future.key for future in futures}).values()):
                time.sleep(0.05)  # a task that runs cannot be stopped, and must not write into what comes next
            raise
        finally:
            self.client.cancel(list(futures))  # those of a run that was broken off
        return {item: errors[item] for item in items if item in errors}

    def _advance(self, n: int) -> None:
        self.scored += n
        if self._on_progress is not None:
            self._on_progress(self.scored)


def _is_busy(keys: set[str], dask_worker: Worker) -> bool:
    """Whether a worker runs one of these tasks, which may have been cancelled."""
    return any(task.key in keys for task in dask_worker.state.executing)
