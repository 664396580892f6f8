"""A part of a data set is scored to one file and its totals, whole or not at all, so that a run can be continued."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anls_eval.arrow import TEXTS
from anls_eval.cluster.buckets import BucketSide, write_buckets
from anls_eval.cluster.lock import check_held
from anls_eval.cluster.records import DamagedRecordError, read_record, unreadable, write_record
from anls_eval.files import Detected, Reader, open_predictions, open_references, write_rows
from anls_eval.files.documents import open_documents
from anls_eval.files.errors import FormatError, NoRowsError, OutputError
from anls_eval.files.files import DETECTED, How
from anls_eval.files.many import check_roles
from anls_eval.files.watch import State, file_state
from anls_eval.files.write import Written, whole_file
from anls_eval.opening import check_regular
from anls_eval.questions.stream import come_twice
from anls_eval.submission.passes import BY, SIDES, Options, Pass, Sides, read_totals, sides_of
from anls_eval.submission.score import in_a_stream_or_whole
from anls_eval.submission.totals import Totals

VALUES = "prediction", "answers"
"""The role of the values of each side."""

PART = "part-"
"""How the names of the files of all parts begin."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What all tasks have in common; pairs are for the predictions and the references."""

    out: Path  # the folder of the work and of the results, which every worker can read and write
    keep_rows: bool  # whether the rows of the parts are results
    options: Options
    format: str | None  # of all files; None to detect it
    columns: tuple[Mapping[str, str], Mapping[str, str]]  # by role
    how: How = DETECTED
    by_content: bool = False  # whether a changed file is recognised by its checksum, not by its time
    run: str = ""  # the name of the run, which is in the lock of the folder
    documents: tuple[bool, bool] = (False, False)  # whether the files hold one document each
    read_by: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # the columns to group by and of options
    # Whether all texts of a column print a list or a dict; None if only all files together tell.
    all_printed: tuple[Mapping[str, bool | None], Mapping[str, bool | None]] = ({}, {})
    first: tuple[Detected, Detected] | None = None  # of each side, the first file, whose roles the others must have

    @property
    def work(self) -> Path:
        """The folder of everything that is not a result."""
        return self.out / "_work"  # tools that read a folder of Parquet files leave such names out

    @property
    def rows(self) -> Path:
        """The folder of the rows that are matched by id across files; absent if files are paired."""
        return self.work / "rows"

    def open(self, side: str, piece: Piece) -> Reader:
        """Open a piece of one side."""
        number = SIDES.index(side)
        try:
            reader = self._opened(number, piece)
        except FormatError:
            piece.check_unchanged()  # which would be the reason
            raise
        piece.check_unchanged()  # from here on, the reader watches
        if self.first is not None:
            check_roles(self.first[number], reader.detected)
        if piece.rows is not None:
            reader = reader.within(*piece.rows)
        return self.options.opened(reader, side, self.all_printed[number])

    def _opened(self, number: int, piece: Piece) -> Reader:
        """Open the files of a piece of one side."""
        if not self.documents[number]:
            return self._open_file(number, piece.paths[0])
        columns, by = self.columns[number], self.read_by[number]
        states = piece.states or map(file_state, piece.paths)
        of_paths = dict(zip(piece.paths, states, strict=True))
        return open_documents(of_paths, VALUES[number], columns=columns, by=by, how=self.how)

    def _open_file(self, number: int, path: str) -> Reader:
        """Open a file of one side; an empty one has the columns of the first."""
        opener = (open_predictions, open_references)[number]
        columns, by, how = self.columns[number], self.read_by[number], dataclasses.asdict(self.how)
        try:
            return opener(path, format=self.format, columns=columns, by=by, **how)
        except NoRowsError:
            if self.first is None:
                raise
            return self._open_file(number, self.first[number].path).without_rows(path)


@dataclasses.dataclass(frozen=True)
class Piece:
    """What one task reads of one side: a file, some rows of a Parquet file, or files of one document each."""

    paths: tuple[str, ...]
    rows: tuple[int, int] | None = None
    states: tuple[State, ...] = ()  # of the files when the run began; none before that

    @property
    def label(self) -> str:
        """The name of the piece in messages."""
        if self.rows is not None:
            return f"{self.paths[0]}, rows {self.rows[0]} to {self.rows[1] - 1}"
        return self.paths[0] + (f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else "")

    @property
    def documents(self) -> list[Piece]:
        """Its files of one document each, as pieces of their own."""
        return [Piece((path,), states=(state,)) for path, state in zip(self.paths, self.states, strict=True)]

    def check_unchanged(self) -> None:
        """Raise a FormatError if a file is another than when the run began, even if it is put back later."""
        for path, state in zip(self.paths, self.states, strict=False):
            now = state and file_state(path)
            if now == state:
                continue
            if now is None:
                problem = "removed after the run began, or not seen here. Put it back, and run again."
            else:
                problem = (
                    "changed or replaced after the run began, or another one is seen here. Run again once nothing "
                    "writes to it."
                )
            raise FormatError(path, problem)


@dataclasses.dataclass(frozen=True)
class Look:
    """A look at all texts of some columns of a piece."""

    side: str
    piece: Piece
    columns: tuple[str, ...]

    @property
    def label(self) -> str:
        """The name of the piece in messages."""
        return self.piece.label


def all_printed(look: Look, job: Job) -> tuple[str, dict[str, bool | None]]:
    """Return the side of a piece, and for each column whether all of its texts print a list; None if it has none."""
    reader = job.open(look.side, look.piece)
    return look.side, {name: reader.all_printed(name) for name in look.columns}


class UnpairedError(Exception):
    """A file of predictions and its file of references do not have the same ids."""


@dataclasses.dataclass(frozen=True)
class Part:
    """One scoring task: its number and a hash of its inputs; if the hash changes, the part is scored again."""

    number: int
    identity: str

    @property
    def name(self) -> str:
        """The name of its files in the output folder."""
        return f"{PART}{self.number:05d}"

    @property
    def label(self) -> str:
        """The name of the part in messages."""
        return self.name

    def record(self, job: Job) -> Path:
        """Return the path of the totals, which are written last: with them, the part is finished."""
        return job.work / f"{self.name}.json"

    def sides(self, job: Job) -> Sides:
        """Open both sides."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class FilePart(Part):
    """A piece of predictions with its piece of references; `alone` if no other part can have a missing id."""

    predictions: Piece
    references: Piece
    alone: bool
    is_only: bool = False  # whether there is no other part

    @property
    def label(self) -> str:
        """The name of the part in messages: its prediction file."""
        return self.predictions.label

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files."""
        return self.predictions.paths + self.references.paths

    def sides(self, job: Job) -> Sides:
        """Open both files."""
        readers = job.open(SIDES[0], self.predictions), job.open(SIDES[1], self.references)
        return sides_of(readers, job.options, may_be_empty=not self.is_only)


@dataclasses.dataclass(frozen=True)
class BucketPart(Part):
    """The rows of all files whose ids fall into one of `buckets`; `pieces` are the numbers of those of each side."""

    buckets: int
    pieces: tuple[tuple[int, ...], tuple[int, ...]]  # without those that are empty or left out

    def sides(self, job: Job) -> Sides:
        """Open the rows of the bucket in all files."""
        predictions, references = (
            BucketSide([rows_path(job, side, number) for number in numbers], self.number, self.buckets)
            for side, numbers in zip(SIDES, self.pieces, strict=True)
        )
        return predictions, references


@dataclasses.dataclass(frozen=True)
class ShuffledPiece:
    """A piece whose rows are put into buckets, identified by its side and its number on that side."""

    side: str
    number: int
    piece: Piece
    buckets: int
    identity: str

    @property
    def label(self) -> str:
        """The name of the piece in messages."""
        return self.piece.label

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files."""
        return self.piece.paths

    def record(self, job: Job) -> Path:
        """Return the path of totals with the notes, which are written last; the rows are removed once scored."""
        return rows_path(job, self.side, self.number).with_suffix(".json")


def rows_path(job: Job, side: str, number: int) -> Path:
    """Return the path of the rows of one piece, in buckets."""
    return job.rows / f"{side}-{number:05d}.arrow"


def score_part(part: Part, job: Job) -> int:
    """Score a part, unless it is finished, and return the number of its questions."""
    done = totals_of(part, job)
    if done is not None:
        return done.n
    check_held(job.work, job.run)
    sides = part.sides(job)
    # Which ids are missing or unknown is known when all parts are scored.
    options = dataclasses.replace(job.options, missing="zero", unknown="ignore")
    results, fingerprints = job.out / f"{part.name}.parquet", job.work / f"{part.name}.npy"
    files: dict[Path, Written] = {}

    def score(whole: bool) -> Pass:
        run = Pass(sides, options, whole)
        blocks = run.rows(False)
        if job.keep_rows:
            first = next(blocks, None)
            files[results] = write_rows(results, chain([_no_rows(job) if first is None else first], blocks))
        for _ in blocks:
            pass
        return run

    run = in_a_stream_or_whole(score)
    is_unpaired = run.totals.counts["missing"] or run.totals.counts["unknown"]
    if isinstance(part, FilePart) and not part.alone and is_unpaired:  # the other side may be in another part
        raise UnpairedError(part.label)
    held = io.BytesIO()  # to a file itself, NumPy does not say why it cannot write
    np.save(held, run.fingerprints)
    with whole_file(fingerprints, is_synced=False) as path:  # it is checked before it is read
        path.write_bytes(held.getbuffer())
    files[fingerprints] = Written().and_then(held.getbuffer())
    _finish(part, job, run.totals, files)
    return run.totals.n


def _no_rows(job: Job) -> pa.RecordBatch:
    """Return the columns of the results of a part without questions."""
    columns = {"question_id": TEXTS, "score": pa.float64()}
    columns |= {BY + name if name in columns else name: TEXTS for name in job.options.by}
    return pa.record_batch({name: pa.nulls(0, kind) for name, kind in columns.items()})


def _finish(task: Part | ShuffledPiece, job: Job, totals: Totals, files: Mapping[Path, Written]) -> None:
    check_held(job.work, job.run)
    write_record(task.record(job), task.identity, totals.to_json(), job.out, files)


class Kept(NamedTuple):
    """What an earlier run left of a task: its totals, or why they do not count, or nothing at all."""

    totals: Totals | None
    fault: str = ""


CHANGED = "the files, the options or the code have changed since"


def kept_of(task: Part | ShuffledPiece, job: Job) -> Kept:
    """Return what is left of a part or shuffled piece; it is finished if there are totals."""
    path = task.record(job)
    try:
        record = read_record(path)
    except DamagedRecordError as error:
        return Kept(None, f"{path.relative_to(job.out)} {error.fault}")
    if record is None:
        return Kept(None)
    if record.identity != task.identity:
        return Kept(None, CHANGED)
    fault = record.fault(job.out) if isinstance(task, Part) else ""  # shuffled rows are removed once scored
    return Kept(None, fault) if fault else Kept(Totals.from_json(record.totals))


def totals_of(task: Part | ShuffledPiece, job: Job) -> Totals | None:
    """Return the totals of a part or shuffled piece, or None if it is not finished."""
    return kept_of(task, job).totals


def has_rows(task: Part | ShuffledPiece, job: Job) -> bool:
    """Return whether a part or shuffled piece, which is finished, has any rows."""
    record = read_record(task.record(job))
    if record is None:
        raise OutputError(str(task.record(job)), "is missing, though it was written.")
    return bool(record.files if isinstance(task, ShuffledPiece) else Totals.from_json(record.totals).n)


def lost_rows(file: ShuffledPiece, job: Job) -> str:
    """Return what is wrong with the rows of a shuffled piece, which is finished; empty if they are there and whole."""
    record = read_record(file.record(job))
    return "" if record is None else record.fault(job.out)


def check_rows(file: ShuffledPiece, job: Job) -> None:
    """Raise OutputError unless the rows of a shuffled piece, from which parts were scored, are what was written."""
    fault = lost_rows(file, job)
    if fault:
        raise lost_error(fault, job)


def lost_error(fault: str, job: Job) -> OutputError:
    """Return the error of something in the output folder that this run needs, and that is not as it was written."""
    return OutputError(str(job.out), f"{fault}, though it was written.")


def shuffle_piece(file: ShuffledPiece, job: Job) -> None:
    """Put the rows of a piece into buckets by their ids, unless that is done."""
    if totals_of(file, job) is not None and not lost_rows(file, job):
        return
    check_held(job.work, job.run)
    path = rows_path(job, file.side, file.number)
    reader = job.open(file.side, file.piece)
    files: dict[Path, Written] = {}
    with contextlib.suppress(NoRowsError):
        files[path] = write_buckets(path, reader, file.side, job.options.scorer(), job.options.by, file.buckets)
    totals = Totals(notes=dict.fromkeys(reader.detected.notes))
    totals.add(read_totals(reader, file.side))
    _finish(file, job, totals, files)


def has_repeats(names: Sequence[str], share: tuple[int, int], job: Job) -> bool:
    """Return whether two parts seem to share a question_id with a fingerprint from `share[0]` up to `share[1]`."""
    every = [_fingerprints(job.work / f"{name}.npy") for name in names]
    return come_twice([own[_below(own, share[0]) : _below(own, share[1])] for own in every])


def _fingerprints(path: Path) -> npt.NDArray[np.uint64]:
    try:
        check_regular(path)  # else it would wait
        found: npt.NDArray[np.uint64] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise unreadable(path, error) from None
    return found


def _below(ordered: npt.NDArray[np.uint64], bound: int) -> int:
    """Return how many fingerprints are below the bound, which can be 2**64."""
    return int(np.searchsorted(ordered, np.uint64(bound - 1), side="right")) if bound else 0
