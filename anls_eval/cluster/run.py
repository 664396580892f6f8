"""Score a data set in many files with the workers of a Dask cluster, which read and write the files themselves."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client
from distributed.client import ClosedClientError

from anls_eval.arrow import as_list
from anls_eval.cluster.agreement import Agreement, agreed, check_cluster
from anls_eval.cluster.engine import Engine, warn_of_faults
from anls_eval.cluster.errors import CANCELLED, RESUME, BadPartsError, ClusterError, InterruptedRunError, are, as_note
from anls_eval.cluster.folder import (
    Seen,
    check_outside,
    files_seen,
    hash_of,
    identity_of,
    prepare,
    remove_unfinished,
    results_folder,
    tidy,
)
from anls_eval.cluster.lock import check_held
from anls_eval.cluster.parts import (
    CHANGED,
    PART,
    VALUES,
    BucketPart,
    FilePart,
    Job,
    Kept,
    Look,
    Part,
    Piece,
    ShuffledPiece,
    UnpairedError,
    all_printed,
    check_rows,
    has_repeats,
    has_rows,
    kept_of,
    lost_error,
    lost_rows,
    rows_path,
    shuffle_piece,
    totals_of,
)
from anls_eval.cluster.pieces import Files, Pair, paired_pieces, pieces_of
from anls_eval.cluster.records import MISSING
from anls_eval.cluster.watch import Watch
from anls_eval.cluster.workers import connect, end_unguarded
from anls_eval.errors import AnlsError, Remedy, located
from anls_eval.files import FormatError, Reader
from anls_eval.files.columns import NoColumnError
from anls_eval.files.dataset_folder import folder_and_split, is_about
from anls_eval.files.documents import are_documents
from anls_eval.files.errors import SHOWN, NoRowsError, OutputError
from anls_eval.files.files import How, exists
from anls_eval.files.paths import Paths, file_paths, notes_on_absent, paths_label
from anls_eval.files.printed import all_of
from anls_eval.files.watch import State, check_unchanged, file_state
from anls_eval.files.write import whole_file
from anls_eval.limits import limit_error
from anls_eval.names import check_working_folder
from anls_eval.opening import open_regular
from anls_eval.submission.passes import ANSWERED, SIDES, Options, OptionWords, blank_error, check_pairs, counted
from anls_eval.submission.score import SubmissionScore, sides_with, sum_up, with_option_columns
from anls_eval.submission.totals import FIRST, Totals

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BUCKET_BYTES = 32 << 20  # of the files, for each bucket: some hundred thousand rows
_CHECKED_AT_ONCE = 1 << 23  # fingerprints, 64 MB

_Item = TypeVar("_Item", FilePart, ShuffledPiece)


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
    checksums: bool = False,
    skip_bad: bool = False,
    patience: float = 30,
    verbose: bool = False,
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
        checksums: Whether to recognise changed files by their content instead of their size and time of change; the
            earlier run must have done the same.
        skip_bad: Whether to leave out files that cannot be read or scored. If rows are matched by id across files,
            the counterparts of their rows count as `missing` or `unknown`, so that a score also needs
            ``missing="zero"`` or ``unknown="ignore"``.
        patience: Seconds to wait for a worker of the cluster. After so many without any worker, the run ends. A note
            tells when nothing was finished, or a worker or the scheduler was silent, for so long; after four times as
            many, the tasks of a silent worker are given to others, and the run ends if the scheduler is silent.
        verbose: Whether to show the log of Dask.
        on_progress: Called with the number of questions scored so far.
        options: As in `score_submission`, without `cluster_by`, which needs all scores in one process.

    Returns:
        The score, as `submission`, and how it was obtained.

    Raises:
        BadPartsError: Parts cannot be read or scored.
        ValueError: As in `score_submission`; no files; `out` is not empty, or not a folder that can be written; no
            scheduler at the address; another run writes to `out`; a file changed while it was read; a file in `out`
            cannot be written.
        ChildProcessError: Workers cannot start, died repeatedly, usually for lack of memory, or have other code or see
            other files than this process; or the cluster was lost or has no workers.

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
    if isinstance(patience, bool) or not isinstance(patience, (int, float)) or not 1 <= patience < math.inf:
        raise AnlsError("expected a number of seconds, at least 1.", option="patience", value=patience)
    if workers is not None and client is not None:
        raise ValueError(
            "expected either workers, a number of processes to start on this machine, or client, a running "
            "cluster; got both"
        )
    if not isinstance(client, (Client, str, type(None))):
        raise TypeError(f"client is {client!r}; expected a Client of dask.distributed or the address of a scheduler")
    if isinstance(client, Client) and client.asynchronous:
        raise ValueError("client is asynchronous; expected one that waits for results, as Dask's clients do by default")
    if isinstance(client, Client) and client.status == "closed":
        raise ValueError("client is closed; expected one that is connected to its cluster")
    if out is not None and not os.fspath(out):
        raise AnlsError("expected the name of a folder.", option="out", value=out)
    if resume and out is None:
        raise ValueError("resume=True needs out, the folder of the earlier run")
    if checksums and out is None:
        raise ValueError("checksums=True needs out, since they are for a later run with resume=True")
    if client is None:
        end_unguarded()  # before it meets the lock of the process that started it
    check_working_folder()  # in which workers start
    files = part_paths(predictions, format), part_paths(predictions if references is None else references, format)
    absent = [
        note
        for given, paths in zip((predictions, references), files, strict=True)
        if given is not None
        for note in notes_on_absent(given, paths, format)
    ]
    roles, how = columns or {}, How(encoding, separator, filter)
    of_predictions, of_references = (
        {role: name for role, name in roles.items() if references is None or role != other}
        for other in ("answers", "prediction")
    )
    with _limits_in_words(out is not None), contextlib.ExitStack() as folder:
        job = Job(Path(), out is not None, asked, format, (of_predictions, of_references), how, checksums, uuid4().hex)
        job, has_ids = _looked_at(job, files, (predictions, references))
        if not has_ids:
            check_pairs(*files)
        if out is not None:
            check_outside(out, (predictions, references))
        job = dataclasses.replace(job, out=results_folder(out, client, folder))
        prepare(job, resume, folder)
        paths = dict.fromkeys([*files[0], *files[1]])
        seen = files_seen(paths, checksums)
        pairs = paired_pieces(job, files)

        def start() -> tuple[Watch, Agreement]:
            watch = connect(workers, client, patience, verbose, stack)
            agreement = stack.enter_context(agreed(job.work, {path: own.state for path, own in seen.items()}))
            return watch, agreement if client is None else check_cluster(watch, agreement)

        try:
            with _end_of_script_in_words(), contextlib.ExitStack() as stack:
                engine = Engine(start, job, on_progress)
                engine.job = _with_all_printed(engine, files)
                found = None
                if pairs is not None and not job.rows.is_dir():
                    found = _paired(engine, pairs, seen, has_ids, skip_bad)
                found = found or _shuffled(engine, files, pairs, seen, skip_bad)
            check_held(job.work, job.run)
            for path, state in found.states.items():
                if file_state(path) is not None:  # one that was removed was read to its end
                    check_unchanged(path, state)
            tidy(job, found.parts)
            totals = Totals(notes=dict.fromkeys([*absent, *found.notes]))
            totals.add(found.read)
            for part in found.parts:
                totals.add(_written(part, job))
        except (OutputError, ClusterError, ClosedClientError, OSError, KeyboardInterrupt) as error:
            if client is None:  # whose workers have ended: SIGTERM, sent to a group, reaches them too
                remove_unfinished(job)
            told = _with_what_is_kept(error, job)
            if told is None:
                raise
            raise told from None  # without the frames of the engine, which tell the user nothing
    if not totals.n:
        raise _without_rows(files[0])
    try:
        if not totals.counts[ANSWERED] and job.first is not None:
            raise blank_error(job.first[1])
        if totals.counts["missing"] == totals.n and totals.counts["unknown"]:  # no id is in common
            totals.first["unknown"], totals.first["missing"] = (
                _first_ids(job, side, paths) for side, paths in zip(SIDES, files, strict=True)
            )
        submission = sum_up(totals, job.options)
    except ValueError as error:
        if not found.bad:
            raise
        raise _blamed_on(found.bad, error, job.keep_rows) from None
    paired_by = "file" if isinstance(found.parts[0], FilePart) else "id"
    return DatasetScore(submission, len(found.parts), found.resumed, found.bad, paired_by)


@contextlib.contextmanager
def _limits_in_words(is_kept: bool) -> Iterator[None]:
    """Say in words that this process ran out of memory, threads or open files."""
    try:
        yield
    except Exception as error:
        limit = limit_error(error)
        if limit is None:
            raise
        raise ClusterError(f"{limit.problem} Fewer workers need less.", remedies=[RESUME] if is_kept else []) from None


@contextlib.contextmanager
def _end_of_script_in_words() -> Iterator[None]:
    """Say in words that the script ended during a run of another of its threads, where Python starts no more work."""
    try:
        yield
    except RuntimeError:
        if threading.main_thread().is_alive():
            raise
        problem = "the script ended while one of its threads scored, and Python starts no threads after that."
        raise ClusterError(f"{problem} Wait for the thread at the end of the script (its join method).") from None


def _with_what_is_kept(error: BaseException, job: Job) -> BaseException | None:
    """Return the error of a run with what is finished, and which file of the output folder is at fault; or None."""
    match error:
        case OutputError():
            return _unwritable(error, job)
        case ClusterError():
            kept, resume = (f"\n{_kept(job)}", [RESUME]) if job.keep_rows else ("", [])
            return ClusterError(error.problem + kept, remedies=[*error.remedies, *resume], where=error.where)
        case ClosedClientError():
            return _with_what_is_kept(ClusterError(CANCELLED), job)
        case OSError(filename=str(name)) if job.out in Path(name).parents:  # here, or in a worker
            return _unwritable(OutputError(name, f"cannot be read, written or removed: {error.strerror}."), job)
        case KeyboardInterrupt() if job.keep_rows:
            return InterruptedRunError(_kept(job), remedies=[RESUME])
    return None


def _kept(job: Job) -> str:
    finished = len(list(job.work.glob(f"{PART}*.json")))
    return f"{counted(finished, 'part')} {are(finished)} finished in {job.out}."


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


def part_paths(given: Paths, format_name: str | None = None) -> list[str]:
    """List the files as `files.paths.file_paths` does, by names that are valid in every process on this machine."""
    paths = file_paths(given, format_name)
    return [str(Path(path).absolute()) if exists(folder_and_split(path)[0]) else path for path in paths]


def _looked_at(job: Job, files: Files, given: tuple[Paths, Paths | None]) -> tuple[Job, bool]:
    """Return the job with what the first file of each side is like, and whether both sides have question_ids."""
    predictions, references = given[0], given[0] if given[1] is None else given[1]
    of_documents = [
        are_documents(own, paths, value, job.format, columns, how=job.how)
        for own, paths, value, columns in zip((predictions, references), files, VALUES, job.columns, strict=True)
    ]
    job = dataclasses.replace(job, documents=(of_documents[0], of_documents[1]))
    readers = (_first_readable(job, SIDES[0], files[0]), _first_readable(job, SIDES[1], files[1]))
    job = dataclasses.replace(job, options=with_option_columns(*readers, job.options))
    sides_with(*readers, job.options)  # refuses columns that neither has
    by_references = tuple(name for name in job.options.read_names if name in readers[1].names)
    by_predictions = tuple(name for name in job.options.read_names if name not in by_references)
    has_ids = all("question_id" in reader.detected.columns for reader in readers)
    first = readers[0].detected, readers[1].detected
    job = dataclasses.replace(job, read_by=(by_predictions, by_references), first=first)
    looked = [
        {} if all(map(_is_of_cells, paths)) else job.options.opened(reader.also(by), side).first_look()
        for reader, by, paths, side in zip(readers, job.read_by, files, SIDES, strict=True)
    ]
    return dataclasses.replace(job, all_printed=(looked[0], looked[1])), has_ids


def _is_of_cells(path: str) -> bool:
    """Return whether the name of a file is that of a table whose cells are taken apart each by itself."""
    return path.removesuffix(".gz").removesuffix(".zst").endswith((".csv", ".tsv", ".xlsx"))


def _with_all_printed(engine: Engine, files: Files) -> Job:
    """Return the job with whether all texts of the undecided columns print a list or a dict, in all files together."""
    job = engine.job
    undecided = [tuple(name for name, known in own.items() if known is None) for own in job.all_printed]
    looks = [
        Look(side, piece, names)
        for side, paths, names in zip(SIDES, files, undecided, strict=True)
        for piece in (pieces_of(job, side, paths) if names else ())
    ]
    found: list[tuple[str, dict[str, bool | None]]] = []
    engine.each(all_printed, looks, found.append)  # of those that cannot be read, scoring tells why
    decided = [
        {**known, **{name: all_of(own[name] for of_side, own in found if of_side == side) is True for name in names}}
        for side, known, names in zip(SIDES, job.all_printed, undecided, strict=True)
    ]
    return dataclasses.replace(job, all_printed=(decided[0], decided[1]))


def _first_readable(job: Job, side: str, paths: Sequence[str]) -> Reader:
    errors: dict[str, FormatError] = {}
    for path in paths:
        try:
            reader = job.open(side, Piece((path,)))
            if job.documents[SIDES.index(side)]:  # of which nothing is read as they are opened
                next(reader.batches())
        except FormatError as error:
            errors[path] = error
        else:
            return reader
    if len(errors) > 1 and not any(isinstance(error, (NoColumnError, NoRowsError)) for error in errors.values()):
        raise BadPartsError(errors, None, are_all=True)
    raise next(iter(errors.values()))


def _first_ids(job: Job, side: str, paths: Sequence[str]) -> list[str]:
    """Return the first ids of a side as its files have them, since those that were matched come back in no order."""
    for path in paths:
        with contextlib.suppress(FormatError):  # such as a part without rows
            return as_list(next(job.open(side, Piece((path,))).batches(FIRST)).question_ids)
    return []


class _Found(NamedTuple):
    """The finished parts, and what is known about the others."""

    parts: Sequence[Part]
    resumed: int
    bad: dict[str, str]
    notes: Sequence[str]
    pieces: Sequence[Piece]  # whose rows were scored
    read: Totals = Totals()  # what reading the files counted, where the parts did not

    @property
    def states(self) -> dict[str, State]:
        """The files whose rows were scored, and how each was when the run began."""
        return {path: state for piece in self.pieces for path, state in zip(piece.paths, piece.states, strict=True)}


def _paired(
    engine: Engine, pairs: Sequence[Pair], seen: Mapping[str, Seen], has_ids: bool, skip_bad: bool
) -> _Found | None:
    """Score each piece of predictions with its piece of references; None if their ids do not match one to one."""
    is_only = len(pairs) == 1
    parts: list[FilePart] = []
    for number, pair in enumerate(pairs):
        predictions, references = (_watched(piece, seen) for piece in pair)
        identity, alone = identity_of(engine.job, seen, pair), not has_ids or is_only
        parts.append(FilePart(number, identity, predictions, references, alone, is_only))
    try:
        finished, errors = engine.score(parts)
        several = [part for part in parts if part in errors and len(part.predictions.paths) > 1]
        if skip_bad and several:  # of which the damaged ones are left out alone
            apart = _each_document(several, len(parts), engine.job, seen)
            finished_apart, errors_apart = engine.score(apart)
            parts = [*(part for part in parts if part not in several), *apart]
            finished, errors = finished | finished_apart, {**errors, **errors_apart}
    except UnpairedError:
        return None
    good = _of_intact_files(parts, errors)
    has_rows_left = bool(errors) and any(has_rows(part, engine.job) for part in good)
    may_be_one_left = has_rows_left or (bool(several) and not skip_bad)
    bad = _left_out(parts, errors, engine.job, skip_bad, may_be_one_left)
    if has_ids and len(good) > 1 and _have_repeats(engine, good):
        return None
    notes = _bad_notes(bad, len({path for part in parts for path in part.predictions.paths}))
    resumed = len(finished.intersection(good))
    return _Found(good, resumed, bad, notes, [piece for part in good for piece in (part.predictions, part.references)])


def _each_document(several: Sequence[FilePart], first: int, job: Job, seen: Mapping[str, Seen]) -> list[FilePart]:
    """Return parts of one document each, numbered from `first`, in place of parts of several."""
    pairs: list[Pair] = []
    for part in several:
        if len(part.predictions.paths) != len(part.references.paths):
            raise UnpairedError(part.label)
        pairs += zip(part.predictions.documents, part.references.documents, strict=True)
    return [
        FilePart(number, identity_of(job, seen, pair), *pair, alone=False) for number, pair in enumerate(pairs, first)
    ]


def _watched(piece: Piece, seen: Mapping[str, Seen]) -> Piece:
    """Return a piece whose files must be as they were when the run began."""
    return dataclasses.replace(piece, states=tuple(seen[path].state for path in piece.paths))


def _have_repeats(engine: Engine, parts: Sequence[Part]) -> bool:
    """Return whether an id seems to be in two parts, checked in shares of all fingerprints that fit in memory."""
    identity = hash_of([part.identity for part in parts])
    checked = engine.job.work / "without_repeats"
    with contextlib.suppress(OSError), open_regular(checked) as stream:  # unless it is missing or damaged
        if stream.read() == identity.encode():  # by an earlier run
            return False
    workers = max(1, engine.workers)
    shares = workers * (1 + engine.scored // (workers * _CHECKED_AT_ONCE))  # as many for each
    bounds = [(number << 64) // shares for number in range(shares + 1)]
    found: list[bool] = []
    errors = engine.each(
        functools.partial(has_repeats, [part.name for part in parts]), list(itertools.pairwise(bounds)), found.append
    )
    if errors:
        raise next(iter(errors.values()))
    if not any(found):
        with whole_file(checked) as path:
            path.write_text(identity)
    return any(found)


def _shuffled(
    engine: Engine, files: Files, pairs: Sequence[Pair] | None, seen: Mapping[str, Seen], skip_bad: bool
) -> _Found:
    """Match the rows of all files by id, and score them."""
    job = engine.job
    engine.scored = 0  # what was scored of files that were paired by mistake is scored again
    if not job.rows.is_dir():
        job.rows.unlink(missing_ok=True)
        if pairs is None:  # else what was finished before was looked at as the files were paired
            warn_of_faults("part", "scored", [CHANGED for _ in job.work.glob(f"{PART}*.json")])
        for path in job.work.glob(f"{PART}*"):  # of files that were paired by mistake
            path.unlink()
        job.rows.mkdir()
    if pairs is None:
        pieces = [pieces_of(job, side, paths) for side, paths in zip(SIDES, files, strict=True)]
    else:
        pieces = [[pair[number] for pair in pairs] for number in range(len(SIDES))]
    size = sum(own.state[0] for own in seen.values() if own.state is not None)
    buckets = max(len(pieces[0]), len(pieces[1]), 1 + size // _BUCKET_BYTES)
    all_files = [
        ShuffledPiece(side, number, _watched(piece, seen), buckets, identity_of(job, seen, [piece], buckets))
        for side, own in zip(SIDES, pieces, strict=True)
        for number, piece in enumerate(own)
    ]
    before, errors = _shuffle(engine, all_files)
    several = [file for file in all_files if file in errors and len(file.piece.paths) > 1]
    if skip_bad and several:  # of which the damaged ones are left out alone
        documents = [(file, piece) for file in several for piece in file.piece.documents]
        apart = [
            dataclasses.replace(file, number=number, piece=piece, identity=identity_of(job, seen, [piece], buckets))
            for number, (file, piece) in enumerate(documents, len(all_files))
        ]
        all_files = [*(file for file in all_files if file not in several), *apart]
        before_apart, errors_apart = _shuffle(engine, apart)
        before, errors = {**before, **before_apart}, {**errors, **errors_apart}
    good = _of_intact_files(all_files, errors)
    with_rows = [file for file in good if has_rows(file, job)]
    may_be_one_left = {file.side for file in with_rows} == set(SIDES) or (bool(several) and not skip_bad)
    bad = _left_out(all_files, errors, job, skip_bad, may_be_one_left)
    identity = hash_of([file.identity for file in good])
    numbers = [tuple(file.number for file in with_rows if file.side == side) for side in SIDES]
    for own, paths in zip(numbers, files, strict=True):
        if not own:
            raise _without_rows(paths)
    of_sides = numbers[0], numbers[1]
    parts = [BucketPart(number, identity, buckets, of_sides) for number in range(buckets)]
    faults = {file: lost_rows(file, job) for file in with_rows if before[file].totals is not None}
    damaged = [fault for fault in faults.values() if fault and not fault.endswith(MISSING)]
    warn_of_faults("file", "read", damaged)
    for part in parts if damaged else ():  # which may have been scored from the damaged rows
        part.record(job).unlink(missing_ok=True)
    is_new = any(totals_of(part, job) is None for part in parts)
    if is_new:
        gone = [fault for fault in faults.values() if fault.endswith(MISSING)]
        warn_of_faults("file", "read", gone if len(gone) < len(faults) else [])  # a run that has ended leaves none
        lost = [file for file, fault in faults.items() if fault]
        _left_out(lost, engine.each(shuffle_piece, lost), job, skip_bad=False, may_be_one_left=True)
    finished, unscored = engine.score(parts)
    if unscored:
        raise next(iter(unscored.values()))  # an error of the ids, not of a part
    if is_new:
        engine.each(check_rows, with_rows)
    read = Totals()
    for file in good:
        read.add(_written(file, job))
    for path in job.rows.iterdir():
        if path.suffix != ".json":
            path.unlink()
    notes = [*read.notes, *_bad_notes(bad, len({path for file in all_files for path in file.paths}))]
    return _Found(parts, len(finished), bad, notes, [file.piece for file in good], read)


def _shuffle(
    engine: Engine, files: Sequence[ShuffledPiece]
) -> tuple[dict[ShuffledPiece, Kept], dict[ShuffledPiece, Exception]]:
    """Put the rows of files into buckets; return what an earlier run left of each, and the errors of bad ones."""
    before = {file: kept_of(file, engine.job) for file in files}
    warn_of_faults("file", "read", [kept.fault for kept in before.values() if kept.fault not in ("", CHANGED)])
    errors = engine.each(shuffle_piece, [file for file, kept in before.items() if kept.totals is None])
    for file in errors:
        rows_path(engine.job, file.side, file.number).unlink(missing_ok=True)  # from before it was damaged
    return before, errors


def _written(task: Part | ShuffledPiece, job: Job) -> Totals:
    """Return the totals of a task that this run or an earlier one finished; raise OutputError if they are lost."""
    kept = kept_of(task, job)
    if kept.totals is None:
        fault = kept.fault or f"{task.record(job).relative_to(job.out)} is missing"
        raise lost_error(fault, job)
    return kept.totals


def _without_rows(paths: Sequence[str]) -> NoRowsError:
    return NoRowsError(paths_label(paths), "there are no rows. Expected one for each question.")


def _unwritable(error: OutputError, job: Job) -> OutputError:
    """Return the error of a file in the output folder, with what becomes of the run."""
    if job.keep_rows and not job.out.exists():
        kept, remedy = f"{job.out} is no longer there.", Remedy("resume", True, "continue once it is back")
    elif job.keep_rows and not job.work.exists():
        kept = f"{job.work} is no longer there, and without it nothing can be continued."
        remedy = Remedy("out", "FOLDER", "start again in another folder")
    elif job.keep_rows:
        kept, remedy = f"What is finished is in {job.out}.", Remedy("resume", True, "continue once this is mended")
    else:
        kept = f"{job.out} was the temporary folder of this run."
        remedy = Remedy("out", "FOLDER", "use another folder, which is kept")
    return OutputError(error.path, f"{error.problem} {kept}", remedies=[remedy])


def _left_out(
    items: Sequence[_Item], errors: Mapping[_Item, Exception], job: Job, skip_bad: bool, may_be_one_left: bool
) -> dict[str, str]:
    """Return the reason for each of these items that is left out, or raise them."""
    bad = [item for item in items if item in errors]
    if bad and not (skip_bad and may_be_one_left):
        told: dict[str, AnlsError] = {}
        for item in bad:
            path = _at_fault(item, errors[item])
            told[item.label if path == item.paths[0] or path in told else path] = located("", errors[item])
        raise BadPartsError(told, job.out if job.keep_rows else None, not may_be_one_left)
    return {_at_fault(item, errors[item]): as_note(errors[item]) for item in bad}


def _of_intact_files(items: Sequence[_Item], errors: Mapping[_Item, Exception]) -> list[_Item]:
    """Return the items without errors that share no file with one that has: a file is left out as a whole."""
    bad = {path for item in items if item in errors for path in item.paths}
    return [item for item in items if bad.isdisjoint(item.paths)]


def _at_fault(item: FilePart | ShuffledPiece, error: Exception) -> str:
    """Return the file or dataset on disk that an error of an item is about, or else the first of its files."""
    return next((path for path in item.paths if is_about(error, path)), item.paths[0])


def _bad_notes(bad: Mapping[str, str], n: int) -> list[str]:
    left_out = f"cannot be read or scored and {are(len(bad))} left out"
    return [f"{len(bad)} of {counted(n, 'file')} {left_out}: {_first_of(bad)}"] if bad else []


def _first_of(bad: Mapping[str, str]) -> str:
    return ", ".join(itertools.islice(bad, SHOWN)) + (", ..." if len(bad) > SHOWN else "")


def _blamed_on(bad: Mapping[str, str], error: ValueError, keep_rows: bool) -> AnlsError:
    """Return the error of unmatched ids, with the files that were left out and may have held them."""
    found = located("", error)
    resume = [Remedy("resume", True, "continue once they are fixed")] if keep_rows else []
    files = f"{counted(len(bad), 'file')} {are(len(bad))} left out"
    problem = f"{found.problem}\n{files}, and which ids were in them is not known: {_first_of(bad)}."
    return AnlsError(problem, remedies=[*resume, *found.remedies])
