"""Score a data set in many files with the workers of a Dask cluster, which read and write the files themselves."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import dask
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster, Worker, as_completed
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError, get_address_host_port
from distributed.scheduler import KilledWorker

from anls_eval.cluster.parts import (
    VALUES,
    BucketPart,
    FilePart,
    Job,
    Part,
    Piece,
    ShuffledPiece,
    UnpairedError,
    has_repeats,
    rows_path,
    score_part,
    shuffle_piece,
    totals_of,
)
from anls_eval.errors import AnlsError, Explained, Remedy, located
from anls_eval.files import FormatError, Reader
from anls_eval.files.errors import SHOWN, FilesError
from anls_eval.files.files import How
from anls_eval.files.many import Paths, are_documents, document_id, file_paths
from anls_eval.files.write import whole_file
from anls_eval.questions.stream import FINGERPRINTS
from anls_eval.submission.passes import SIDES, Options, OptionWords, check_file_counts, counted
from anls_eval.submission.score import SubmissionScore, sides_with, sum_up
from anls_eval.submission.totals import Totals

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BUCKET_BYTES = 32 << 20  # of the files, for each bucket: some hundred thousand rows
_CHECKED_AT_ONCE = 1 << 23  # fingerprints, 64 MB
_LARGE_BYTES = 32 << 20  # of a file that is divided, if its format allows
_PIECE_ROWS = 1 << 18  # at least, of the parts of such a file
_DOCUMENTS = 64  # files of one document each that are one part
_FOR_SCHEDULER = 10  # seconds that the scheduler at an address has to answer
_FOR_WORKERS = 30  # seconds that it has to get a worker


@dataclasses.dataclass(frozen=True)
class DatasetScore:
    """The score of a data set in parts."""

    submission: SubmissionScore  # of all parts
    parts: int
    resumed: int  # the number of parts that an earlier run had finished
    bad: dict[str, str]  # the parts that were left out, with the reason
    paired_by: str  # "file": each file of predictions with its file of references; "id": the rows of all files

    def to_dict(self) -> dict[str, object]:
        """Return the score and how it was obtained as plain JSON values."""
        own = {name: getattr(self, name) for name in ("parts", "resumed", "bad", "paired_by")}
        return {**self.submission.to_dict(), **own}


class BadPartsError(FilesError):
    """Some parts cannot be read or scored; the others are finished, and are kept in `out` if it was given."""

    def __init__(self, errors: Mapping[str, AnlsError], out: Path | None) -> None:
        resume = [Remedy("resume", True, "continue once these are fixed")]
        super().__init__(
            f"{counted(len(errors), 'part')} cannot be scored",
            errors,
            "" if out is None else f"The others are finished in {out}.",
            [*([] if out is None else resume), Remedy("skip_bad", True, "leave them out")],
        )

    @property
    def bad(self) -> dict[str, str]:
        """The reason for each bad part."""
        return {part: str(error) for part, error in self.errors.items()}


class LostWorkersError(Explained, ChildProcessError):
    """The workers or the cluster failed; what they finished is kept."""


class InterruptedRunError(Explained, KeyboardInterrupt):
    """The run was interrupted with Ctrl-C; what was finished is kept."""


_RESUME = Remedy("resume", True, "continue")


def score_dataset(
    predictions: Paths,
    references: Paths | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    client: Client | str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    filter: str | None = None,  # noqa: A002
    resume: bool = False,
    skip_bad: bool = False,
    on_progress: Callable[[int], None] | None = None,
    **options: Unpack[OptionWords],
) -> DatasetScore:
    r"""Score a data set in many files with the workers of a Dask cluster.

    If both sides have the same number of files, they are paired in the natural order of their names. If their numbers
    differ or the ids within a pair do not match one to one, rows are matched by id across all files, through files in
    `out`. Without ids, files can only be paired. A large Parquet file is divided at its row groups.

    A script that starts workers on this machine must call this under ``if __name__ == "__main__":``.

    Args:
        predictions: A file, a folder, a pattern or a list of files, as in `anls_eval.open_predictions`. The paths
            must be valid on every worker.
        references: The references in one of these forms; None if the prediction files have the answers, too.
        out: A folder that every worker can read and write. It gets one Parquet file for each part with ``question_id``,
            ``score`` and the columns of `by`. By default a temporary folder, on this machine or, with a `client`, in
            the current folder; it is removed at the end.
        workers: Number of processes to start on this machine for this call. Defaults to one per processor.
        client: Client of a running cluster, or the address of its scheduler, instead of `workers`.
        format: As in `anls_eval.open_predictions`, for all files.
        encoding: See `anls_eval.open_predictions`.
        separator: See `anls_eval.open_predictions`.
        filter: See `anls_eval.open_predictions`.
        columns: As in `anls_eval.open_predictions`. ``answers`` is ignored for the predictions and ``prediction`` for
            the references, unless they are the same files.
        resume: Whether to continue an earlier run in `out`: finished parts whose files have not changed are kept.
        skip_bad: Whether to leave out files that cannot be read or scored. If rows are matched by id across files,
            the counterparts of their rows count as `missing` or `unknown`, so that a score also needs
            ``missing="zero"`` or ``unknown="ignore"``.
        on_progress: Called with the number of questions scored so far.
        options: As in `score_submission`, without `cluster_by`, which needs all scores in one process.

    Returns:
        The score, as `submission`, and how it was obtained.

    Raises:
        BadPartsError: Parts cannot be read or scored.
        ValueError: As in `score_submission`; no files; `out` is not empty, or not a folder that can be written; no
            scheduler at the address.
        ChildProcessError: Workers died repeatedly, usually for lack of memory; the cluster was lost; or the scheduler
            at the address has no workers.

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
    asked = Options(**options)
    if asked.cluster_by is not None:
        raise ValueError("cluster_by needs all scores in one process; use score_submission")
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise AnlsError("expected a whole number of at least 1.", option="workers", value=workers)
    if workers is not None and client is not None:
        raise ValueError(
            "expected either workers, a number of processes to start on this machine, or client, a running "
            "cluster; got both"
        )
    if resume and out is None:
        raise ValueError("resume=True needs out, the folder of the earlier run")
    files = part_paths(predictions, format), part_paths(predictions if references is None else references, format)
    roles, how = columns or {}, How(encoding, separator, filter)
    of_predictions, of_references = (
        {role: name for role, name in roles.items() if references is None or role != other}
        for other in ("answers", "prediction")
    )
    with contextlib.ExitStack() as folder:
        job = Job(Path(), out is not None, asked, format, (of_predictions, of_references), how)
        job, has_ids = _looked_at(job, files, (predictions, references))
        check_file_counts(len(files[0]), len(files[1]), without_ids=not has_ids)
        job = dataclasses.replace(job, out=_folder(out, client, folder))
        _prepare(job, resume)
        pairs = _pairs(job, files)
        try:
            with contextlib.ExitStack() as stack:
                engine = _Engine(lambda: _connect(workers, client, stack), job, on_progress)
                found = None if job.rows.exists() or pairs is None else _paired(engine, pairs, has_ids, skip_bad)
                found = found or _shuffled(engine, files, pairs, skip_bad)
        except LostWorkersError as error:
            raise error.with_traceback(None) from None  # the frames of the engine tell the user nothing
        except KeyboardInterrupt:
            if not job.keep_rows:
                raise
            finished = len(list(job.work.glob("part-*.json")))
            kept = f"{counted(finished, 'part')} {_are(finished)} finished in {job.out}."
            raise InterruptedRunError(kept, remedies=[_RESUME]) from None
        _tidy(job, found.parts)
        totals = Totals(notes=dict.fromkeys(found.notes))
        totals.add(found.read)
        for part in found.parts:
            own = totals_of(part, job)
            if own is None:
                raise ChildProcessError(
                    f"{part.name} is gone from {job.out}. Does another run write there? Run again with resume."
                )
            totals.add(own)
    try:
        submission = sum_up(totals, asked)
    except ValueError as error:
        if not found.bad:
            raise
        raise _blamed_on(found.bad, error, job.keep_rows) from None
    paired_by = "file" if isinstance(found.parts[0], FilePart) else "id"
    return DatasetScore(submission, len(found.parts), found.resumed, found.bad, paired_by)


def _folder(out: str | os.PathLike[str] | None, client: Client | str | None, stack: contextlib.ExitStack) -> Path:
    """Return the output folder, or a temporary one: the current folder may be visible to workers on other machines."""
    if out is not None:
        return Path(out).absolute()
    where = None if client is None else Path.cwd()
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".anls-", dir=where)))


def known_rows(given: Paths) -> int | None:
    """Return the number of rows in Parquet files from their metadata; None for other formats."""
    paths = part_paths(given)
    if not all(path.endswith(".parquet") for path in paths):
        return None
    try:
        with ThreadPoolExecutor() as threads:
            return sum(threads.map(lambda path: int(pq.read_metadata(path).num_rows), paths))
    except (OSError, pa.ArrowException):
        return None  # scoring tells what is wrong with it


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def part_paths(given: Paths, format_name: str | None = None) -> list[str]:
    """List the files as `files.many.file_paths` does, by names that are valid in every process on this machine."""
    paths = file_paths(given, format_name)
    return [str(Path(path).absolute()) if Path(path).exists() else path for path in paths]


@contextlib.contextmanager
def local_client(workers: int | None = None, memory_limit: str | int = "auto") -> Iterator[Client]:
    """Start workers on this machine, by default one per processor, with one thread each; end them at exit."""
    # Tasks hold no data that could be spilled, and a worker that pauses for lack of memory would wait forever.
    settings: dict[str, Any] = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker that imports the script again
        sys.exit(1)  # in silence: the first process says why
    with (
        dask.config.set(settings),
        # In a thread, where Ctrl-C does not break off the start or the end, which would leave processes behind.
        ThreadPoolExecutor(1, initializer=_leave_interrupts_to_the_main_thread) as thread,
    ):
        starting = thread.submit(_start_workers, workers, memory_limit)
        try:
            yield starting.result()
        finally:
            if starting.exception() is None:
                thread.submit(_end_workers, starting.result()).result()


def _leave_interrupts_to_the_main_thread() -> None:
    """Block Ctrl-C in this thread and all that it starts: Ctrl-C reaches every process of a terminal."""
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # else Python unblocks Ctrl-C again where it starts the first process
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_workers(workers: int | None, memory_limit: str | int) -> Client:
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address="127.0.0.1:0",  # for this machine only, at a port that is free
            silence_logs=logging.CRITICAL,  # a worker that dies is replaced, and what matters is in our errors
        )
    except RuntimeError:
        raise LostWorkersError(
            "The workers could not start. Each worker imports the script that called score_dataset: put the call "
            'under if __name__ == "__main__":.'
        ) from None
    return Client(cluster)


def _end_workers(client: Client) -> None:
    with client.cluster, client:
        pass


def _connect(workers: int | None, cluster: Client | str | None, stack: contextlib.ExitStack) -> Client:
    """Use a running cluster, by its client or the address of its scheduler, or start workers on this machine."""
    if not isinstance(cluster, str):
        return stack.enter_context(local_client(workers)) if cluster is None else cluster
    client = stack.enter_context(_client_at(cluster))
    _wait_for_workers(client, cluster)
    return client


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
        raise ValueError(f"no Dask scheduler responds at {address} ({error}); {expected}") from None


def _wait_for_workers(client: Client, address: str) -> None:
    if client.ncores():
        return
    warnings.warn(f"{address} has no workers: waiting {_FOR_WORKERS} s for one", UserWarning, stacklevel=2)
    try:
        client.wait_for_workers(1, timeout=_FOR_WORKERS)
    except asyncio.TimeoutError:  # another one before Python 3.11
        raise ChildProcessError(f"no workers at {address}: start some with `dask worker {address}`") from None


_Files = tuple[list[str], list[str]]
_Pair = tuple[Piece, Piece]


def _looked_at(job: Job, files: _Files, given: tuple[Paths, Paths | None]) -> tuple[Job, bool]:
    """Return the job with what the first file of each side is like, and whether both sides have question_ids."""
    predictions, references = given[0], given[0] if given[1] is None else given[1]
    of_documents = [
        are_documents(own, paths, value, job.format, columns, how=job.how)
        for own, paths, value, columns in zip((predictions, references), files, VALUES, job.columns, strict=True)
    ]
    job = dataclasses.replace(job, documents=(of_documents[0], of_documents[1]))
    readers = (_first_readable(job, SIDES[0], files[0]), _first_readable(job, SIDES[1], files[1]))
    sides_with(*readers, job.options)  # refuses columns that neither has
    by_references = tuple(name for name in job.options.by if name in readers[1].names)
    by_predictions = tuple(name for name in job.options.by if name not in by_references)
    has_ids = all("question_id" in reader.detected.columns for reader in readers)
    first = readers[0].detected, readers[1].detected
    return dataclasses.replace(job, read_by=(by_predictions, by_references), first=first), has_ids


def _first_readable(job: Job, side: str, paths: Sequence[str]) -> Reader:
    errors = []
    for path in paths:
        try:
            return job.open(side, Piece((path,)))
        except FormatError as error:
            errors.append(error)
    raise errors[0]


def _prepare(job: Job, resume: bool) -> None:
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        is_new = set(job.out.iterdir()) <= {job.work} and not any(job.out.glob("_work/*"))
        if not is_new and not (resume and job.work.exists()):
            expected = "the results of an earlier run" if resume else "a new or empty folder"
            remedies = [] if resume else [Remedy("resume", True, "continue an earlier run")]
            raise AnlsError(f"{job.out} is not empty; expected {expected}.", remedies=remedies)
        job.work.mkdir(exist_ok=True)
    except OSError as error:
        reason = "it is a file" if job.out.is_file() else error.strerror
        raise ValueError(
            f"{job.out} cannot hold the results ({reason}); expected a writable folder or the name of a new one"
        ) from None


def _tidy(job: Job, parts: Sequence[Part]) -> None:
    """Remove files of parts that no longer exist, and unfinished files of workers that died."""
    names = {part.name for part in parts}
    for folder in (job.out, job.work):
        for path in (*folder.glob("part-*"), *folder.glob(".part-*")):
            if path.name.partition(".")[0] not in names:
                path.unlink()


def _identity(job: Job, pieces: Sequence[Piece], buckets: int = 0) -> str:
    """Return a hash of the options and of the state of the files, which changes if either does."""
    rules = job.options.scorer().signature(0, "error")
    choices = [FINGERPRINTS, rules, job.options.by, job.read_by, job.format, job.columns, buckets]
    choices += [dataclasses.astuple(job.how), job.options.parse]
    states = [(piece.rows, list(map(_state, piece.paths))) for piece in pieces]
    return _hash([choices, job.keep_rows, job.documents, states])


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _state(path: str) -> tuple[str, int, int] | tuple[str]:
    try:
        own = Path(path).stat()
    except OSError:
        return (path,)
    return path, own.st_size, own.st_mtime_ns


class _Found(NamedTuple):
    """The finished parts, and what is known about the others."""

    parts: Sequence[Part]
    resumed: int
    bad: dict[str, str]
    notes: Sequence[str]
    read: Totals = Totals()  # what reading the files counted, where the parts did not


def _pairs(job: Job, files: _Files) -> list[_Pair] | None:
    """Pair files in their order, large ones in pieces; None if their numbers differ."""
    if any(job.documents):
        predictions, references = (_pieces(job, side, paths) for side, paths in zip(SIDES, files, strict=True))
        return list(zip(predictions, references, strict=True)) if len(predictions) == len(references) else None
    if len(files[0]) != len(files[1]):
        return None
    return [pair for paths in zip(*files, strict=True) for pair in _divided(job, paths)]


def _divided(job: Job, paths: tuple[str, str]) -> list[_Pair]:
    """Pair two files piece by piece, divided at the row groups of the one with the larger ones."""
    cuts = [_cuts(job, side, path) for side, path in zip(SIDES, paths, strict=True)]
    if not all(cuts) or cuts[0][-1] != cuts[1][-1]:
        return [(Piece((paths[0],)), Piece((paths[1],)))]
    rows = _stretches(min(cuts, key=len))
    return [(Piece((paths[0],), own), Piece((paths[1],), own)) for own in rows]


def _pieces(job: Job, side: str, paths: Sequence[str]) -> list[Piece]:
    """Divide the files of one side into pieces: large files by rows, documents into groups of files."""
    if job.documents[SIDES.index(side)]:
        ordered = sorted(paths, key=document_id)
        return [Piece(tuple(ordered[start : start + _DOCUMENTS])) for start in range(0, len(paths), _DOCUMENTS)]
    return [Piece((path,), own) for path in paths for own in _stretches(_cuts(job, side, path))]


def _cuts(job: Job, side: str, path: str) -> tuple[int, ...]:
    """Return the rows at which a large file can be divided; empty if it cannot be divided or read."""
    try:
        return job.open(side, Piece((path,))).cuts if Path(path).stat().st_size >= _LARGE_BYTES else ()
    except (OSError, ValueError):
        return ()


def _stretches(cuts: Sequence[int]) -> list[tuple[int, int] | None]:
    """Return the range of rows of each piece of a file with these cuts; None stands for the whole file."""
    bounds = [0]
    for cut in cuts:
        if cut - bounds[-1] >= _PIECE_ROWS:
            bounds.append(cut)
    if len(bounds) <= 2:
        return [None]
    bounds[-1] = cuts[-1]
    return list(itertools.pairwise(bounds))


def _paired(engine: _Engine, pairs: Sequence[_Pair], has_ids: bool, skip_bad: bool) -> _Found | None:
    """Score each piece of predictions with its piece of references; None if their ids do not match one to one."""
    parts = [
        FilePart(number, _identity(engine.job, pair), *pair, alone=not has_ids or len(pairs) == 1)
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
    """Return whether an id seems to be in two parts, checked in shares of all fingerprints that fit in memory."""
    identity = _hash([part.identity for part in parts])
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
        raise ValueError(f"{out}: the stored ids cannot be read ({error}). Remove the folder and run again.")
    if not any(found):
        with whole_file(checked) as path:
            path.write_text(identity)
    return any(found)


def _shuffled(engine: _Engine, files: _Files, pairs: Sequence[_Pair] | None, skip_bad: bool) -> _Found:
    """Match the rows of all files by id, and score them."""
    job = engine.job
    if not job.rows.exists():
        for path in job.work.glob("part-*"):  # of files that were paired by mistake
            path.unlink()
        job.rows.mkdir()
    if pairs is None:
        pieces = [_pieces(job, side, paths) for side, paths in zip(SIDES, files, strict=True)]
    else:
        pieces = [[pair[number] for pair in pairs] for number in range(len(SIDES))]
    size = sum(Path(path).stat().st_size for path in {*files[0], *files[1]} if Path(path).exists())
    buckets = max(len(pieces[0]), len(pieces[1]), 1 + size // _BUCKET_BYTES)
    all_files = [
        ShuffledPiece(side, number, piece, buckets, _identity(job, [piece], buckets))
        for side, own in zip(SIDES, pieces, strict=True)
        for number, piece in enumerate(own)
    ]
    errors = engine.each(shuffle_piece, [file for file in all_files if not totals_of(file, job)])
    for file in errors:
        rows_path(job, file.side, file.number).unlink(missing_ok=True)  # of an earlier run, before it was damaged
    good = [file for file in all_files if file not in errors]
    bad = _left_out(errors, job, skip_bad and {file.side for file in good} == set(SIDES))
    identity = _hash([file.identity for file in good])
    counts = len(pieces[0]), len(pieces[1])
    parts = [BucketPart(number, identity, buckets, counts) for number in range(buckets)]
    if not all(totals_of(part, job) for part in parts):  # the rows of an earlier run may be gone
        gone = [file for file in good if not rows_path(job, file.side, file.number).exists()]
        _left_out(engine.each(shuffle_piece, gone), job, skip_bad=False)
    resumed, unscored = engine.score(parts)
    if unscored:
        raise next(iter(unscored.values()))  # an error of the ids, not of a part
    read = Totals()
    for file in good:
        read.add(totals_of(file, job) or Totals())
    for path in job.rows.iterdir():
        if path.suffix != ".json":
            path.unlink()
    return _Found(parts, resumed, bad, [*read.notes, *_bad_notes(bad, len(all_files))], read)


def _left_out(errors: Mapping[Any, Exception], job: Job, skip_bad: bool) -> dict[str, str]:
    """Return the reason for each item that is left out, or raise them."""
    if errors and not skip_bad:
        raise BadPartsError(
            {item.label: located("", error) for item, error in errors.items()}, job.out if job.keep_rows else None
        )
    return {item.label: str(error) for item, error in errors.items()}


def _bad_notes(bad: Mapping[str, str], n: int) -> list[str]:
    are = f"cannot be read or scored and {_are(len(bad))} left out"
    return [f"{len(bad)} of {counted(n, 'file')} {are}: {_first_of(bad)}"] if bad else []


def _first_of(bad: Mapping[str, str]) -> str:
    return ", ".join(itertools.islice(bad, SHOWN)) + (", ..." if len(bad) > SHOWN else "")


def _blamed_on(bad: Mapping[str, str], error: ValueError, keep_rows: bool) -> AnlsError:
    """Return the error of unmatched ids, with the files that were left out and may have held them."""
    found = located("", error)
    are = f"{counted(len(bad), 'file')} {_are(len(bad))}"
    resume = [Remedy("resume", True, "continue once they are fixed")] if keep_rows else []
    problem = f"{found.problem}\n{are} left out, and which ids were in them is not known: {_first_of(bad)}."
    return AnlsError(problem, remedies=[*resume, *found.remedies])


_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


class _Engine:
    """Runs the tasks of one job on workers, which are started with the first task, if there is one."""

    def __init__(self, start: Callable[[], Client], job: Job, on_progress: Callable[[int], None] | None = None) -> None:
        self._start, self.job, self._on_progress = start, job, on_progress
        self.scored = 0

    @functools.cached_property
    def client(self) -> Client:
        """The client of the workers."""
        return self._start()

    def score(self, parts: Sequence[Part]) -> tuple[int, dict[Part, Exception]]:
        """Score the unfinished parts; return the number of parts finished before, and the errors of bad parts."""
        finished = {part: own.n for part in parts if (own := totals_of(part, self.job)) is not None}
        self.scored = 0
        self._advance(sum(finished.values()))
        unfinished = [part for part in parts if part not in finished]
        outdated = sum(part.record(self.job).exists() for part in unfinished)
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
        """Call a function with each item, in any order; return the items that failed with their errors."""
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
            problem = f"workers died repeatedly, or ran out of memory: {error}. Give each worker more memory, or split"
            raise self._lost(f"{problem} the files.") from None
        except (FutureCancelledError, CommClosedError) as error:
            raise self._lost(f"the cluster was lost: {error}.") from None
        except UnpairedError:
            self.client.cancel(list(futures))
            while any(self.client.run(_is_busy, {future.key for future in futures}).values()):
                time.sleep(0.05)  # a task that runs cannot be stopped, and must not write into what comes next
            raise
        finally:
            self.client.cancel(list(futures))  # those of an interrupted run
        return {item: errors[item] for item in items if item in errors}

    def _lost(self, problem: str) -> LostWorkersError:
        if not self.job.keep_rows:
            return LostWorkersError(problem)
        return LostWorkersError(f"{problem} What is finished is in {self.job.out}.", remedies=[_RESUME])

    def _advance(self, n: int) -> None:
        self.scored += n
        if self._on_progress is not None:
            self._on_progress(self.scored)


def _is_busy(keys: set[str], dask_worker: Worker) -> bool:
    """Return whether a worker still runs one of these tasks, which may have been cancelled."""
    return any(task.key in keys for task in dask_worker.state.executing)
