"""Score a data set in many files with the workers of a Dask cluster, which read and write the files themselves."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client

from anls_eval.cluster.engine import Engine
from anls_eval.cluster.errors import RESUME, BadPartsError, InterruptedRunError, LostWorkersError, are
from anls_eval.cluster.folder import hash_of, identity_of, prepare, results_folder, tidy
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
    shuffle_piece,
    totals_of,
)
from anls_eval.cluster.pieces import Files, Pair, paired_pieces, pieces_of
from anls_eval.cluster.workers import connect
from anls_eval.errors import AnlsError, Remedy, located
from anls_eval.files import FormatError, Reader
from anls_eval.files.errors import SHOWN
from anls_eval.files.files import How
from anls_eval.files.many import Paths, are_documents, file_paths
from anls_eval.files.write import whole_file
from anls_eval.submission.passes import SIDES, Options, OptionWords, check_file_counts, counted
from anls_eval.submission.score import SubmissionScore, sides_with, sum_up, with_option_columns
from anls_eval.submission.totals import Totals

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BUCKET_BYTES = 32 << 20  # of the files, for each bucket: some hundred thousand rows
_CHECKED_AT_ONCE = 1 << 23  # fingerprints, 64 MB


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
        job = dataclasses.replace(job, out=results_folder(out, client, folder))
        prepare(job, resume)
        pairs = paired_pieces(job, files)
        try:
            with contextlib.ExitStack() as stack:
                engine = Engine(lambda: connect(workers, client, stack), job, on_progress)
                found = None if job.rows.exists() or pairs is None else _paired(engine, pairs, has_ids, skip_bad)
                found = found or _shuffled(engine, files, pairs, skip_bad)
        except LostWorkersError as error:
            raise error.with_traceback(None) from None  # the frames of the engine tell the user nothing
        except KeyboardInterrupt:
            if not job.keep_rows:
                raise
            finished = len(list(job.work.glob("part-*.json")))
            kept = f"{counted(finished, 'part')} {are(finished)} finished in {job.out}."
            raise InterruptedRunError(kept, remedies=[RESUME]) from None
        tidy(job, found.parts)
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
        submission = sum_up(totals, job.options)
    except ValueError as error:
        if not found.bad:
            raise
        raise _blamed_on(found.bad, error, job.keep_rows) from None
    paired_by = "file" if isinstance(found.parts[0], FilePart) else "id"
    return DatasetScore(submission, len(found.parts), found.resumed, found.bad, paired_by)


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
    """List the files as `files.many.file_paths` does, by names that are valid in every process on this machine."""
    paths = file_paths(given, format_name)
    return [str(Path(path).absolute()) if Path(path).exists() else path for path in paths]


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
    return dataclasses.replace(job, read_by=(by_predictions, by_references), first=first), has_ids


def _first_readable(job: Job, side: str, paths: Sequence[str]) -> Reader:
    errors = []
    for path in paths:
        try:
            return job.open(side, Piece((path,)))
        except FormatError as error:
            errors.append(error)
    raise errors[0]


class _Found(NamedTuple):
    """The finished parts, and what is known about the others."""

    parts: Sequence[Part]
    resumed: int
    bad: dict[str, str]
    notes: Sequence[str]
    read: Totals = Totals()  # what reading the files counted, where the parts did not


def _paired(engine: Engine, pairs: Sequence[Pair], has_ids: bool, skip_bad: bool) -> _Found | None:
    """Score each piece of predictions with its piece of references; None if their ids do not match one to one."""
    parts = [
        FilePart(number, identity_of(engine.job, pair), *pair, alone=not has_ids or len(pairs) == 1)
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


def _have_repeats(engine: Engine, parts: Sequence[Part]) -> bool:
    """Return whether an id seems to be in two parts, checked in shares of all fingerprints that fit in memory."""
    identity = hash_of([part.identity for part in parts])
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


def _shuffled(engine: Engine, files: Files, pairs: Sequence[Pair] | None, skip_bad: bool) -> _Found:
    """Match the rows of all files by id, and score them."""
    job = engine.job
    if not job.rows.exists():
        for path in job.work.glob("part-*"):  # of files that were paired by mistake
            path.unlink()
        job.rows.mkdir()
    if pairs is None:
        pieces = [pieces_of(job, side, paths) for side, paths in zip(SIDES, files, strict=True)]
    else:
        pieces = [[pair[number] for pair in pairs] for number in range(len(SIDES))]
    size = sum(Path(path).stat().st_size for path in {*files[0], *files[1]} if Path(path).exists())
    buckets = max(len(pieces[0]), len(pieces[1]), 1 + size // _BUCKET_BYTES)
    all_files = [
        ShuffledPiece(side, number, piece, buckets, identity_of(job, [piece], buckets))
        for side, own in zip(SIDES, pieces, strict=True)
        for number, piece in enumerate(own)
    ]
    errors = engine.each(shuffle_piece, [file for file in all_files if not totals_of(file, job)])
    for file in errors:
        rows_path(job, file.side, file.number).unlink(missing_ok=True)  # of an earlier run, before it was damaged
    good = [file for file in all_files if file not in errors]
    bad = _left_out(errors, job, skip_bad and {file.side for file in good} == set(SIDES))
    identity = hash_of([file.identity for file in good])
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
