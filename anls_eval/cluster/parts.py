"""One part of a data set is scored to one file and its totals, whole or not at all, so that a run can continue."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anls_eval.cluster.buckets import BucketSide, write_buckets
from anls_eval.files import Detected, Reader, open_predictions, open_references, write_rows
from anls_eval.files.many import check_roles, open_documents
from anls_eval.files.write import whole_file
from anls_eval.questions.stream import come_twice
from anls_eval.submission.passes import SIDES, Options, Pass, Sides, sides_of
from anls_eval.submission.score import in_a_stream_or_whole
from anls_eval.submission.totals import Totals

VALUES = "prediction", "answers"
"""The role of the values of each side."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What all tasks have in common; pairs are of the predictions and the references."""

    out: Path  # the folder of the work and of the results, which every worker can read and write
    keep_rows: bool  # whether the rows of the parts are results
    options: Options
    format: str | None  # of all files; None to detect it
    columns: tuple[Mapping[str, str], Mapping[str, str]]  # by role
    documents: tuple[bool, bool] = (False, False)  # whether the files hold one document each
    read_by: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # the columns to group by
    first: tuple[Detected, Detected] | None = None  # of each side, the first file, whose roles the others must have

    @property
    def work(self) -> Path:
        """The folder of what is not a result."""
        return self.out / "_work"  # tools that read a folder of Parquet files leave such names out

    @property
    def rows(self) -> Path:
        """The folder of the rows that were matched by id across files, if they were."""
        return self.work / "rows"

    def open(self, side: str, piece: Piece) -> Reader:
        """Open a piece of one side."""
        number = SIDES.index(side)
        columns, by = self.columns[number], self.read_by[number]
        if self.documents[number]:
            reader = open_documents(piece.paths, VALUES[number], columns=columns, by=by)
        else:
            opener = (open_predictions, open_references)[number]
            reader = opener(piece.paths[0], format=self.format, columns=columns, by=by)
        if self.first is not None:
            check_roles(self.first[number], reader.detected)
        if piece.rows is not None:
            reader = reader.within(*piece.rows)
        return self.options.scorer().open_references(reader) if side == "references" else reader


@dataclasses.dataclass(frozen=True)
class Piece:
    """What one task reads of one side: a file, some rows of a Parquet file, or files of one document each."""

    paths: tuple[str, ...]
    rows: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        """What messages call it."""
        if self.rows is not None:
            return f"{self.paths[0]}, rows {self.rows[0]} to {self.rows[1] - 1}"
        return self.paths[0] + (f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else "")


class UnpairedError(Exception):
    """A file of predictions and its file of references do not have the same ids."""


@dataclasses.dataclass(frozen=True)
class Part:
    """One task of scoring: its number, and a hash of what goes into it. If that changes, the part is scored again."""

    number: int
    identity: str

    @property
    def name(self) -> str:
        """The name of its files in the folder of the results."""
        return f"part-{self.number:05d}"

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.name

    def sides(self, job: Job) -> Sides:
        """Open both sides."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class FilePart(Part):
    """A piece of predictions with its piece of references; `alone` if no other part can have a missing id."""

    predictions: Piece
    references: Piece
    alone: bool

    @property
    def label(self) -> str:
        """What messages call it: the file of predictions."""
        return self.predictions.label

    def sides(self, job: Job) -> Sides:
        """Open both files."""
        return sides_of((job.open(SIDES[0], self.predictions), job.open(SIDES[1], self.references)), job.options)


@dataclasses.dataclass(frozen=True)
class BucketPart(Part):
    """The rows of all files whose ids fall into one of `buckets`; `pieces` are the numbers of pieces on both sides."""

    buckets: int
    pieces: tuple[int, int]

    def sides(self, job: Job) -> Sides:
        """The rows of the bucket in all files that could be read."""
        paths = (
            [path for number in range(pieces) if (path := rows_path(job, side, number)).exists()]
            for side, pieces in zip(SIDES, self.pieces, strict=True)
        )
        predictions, references = (BucketSide(own, self.number, self.buckets) for own in paths)
        return predictions, references


@dataclasses.dataclass(frozen=True)
class ShuffledPiece:
    """A piece, by its side and its number on that side, whose rows are put into buckets."""

    side: str
    number: int
    piece: Piece
    buckets: int
    identity: str

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.piece.label


def rows_path(job: Job, side: str, number: int) -> Path:
    """Where the rows of one piece are, in buckets."""
    return job.rows / f"{side}-{number:05d}.arrow"


def score_part(part: Part, job: Job) -> int:
    """Score a part, unless it is finished, and return the number of its questions."""
    done = totals_of(part, job)
    if done is not None:
        return done.n
    sides = part.sides(job)
    # Which ids are missing or unknown is known when all parts are scored.
    options = dataclasses.replace(job.options, missing="zero", unknown="ignore")

    def score(whole: bool) -> Pass:
        run = Pass(sides, options, whole)
        blocks = run.rows(False)
        first = next(blocks, None) if job.keep_rows else None
        if first is not None:
            write_rows(job.out / f"{part.name}.parquet", chain([first], blocks))
        for _ in blocks:
            pass
        return run

    run = in_a_stream_or_whole(score)
    is_unpaired = run.totals.counts["missing"] or run.totals.counts["unknown"]
    if isinstance(part, FilePart) and not part.alone and is_unpaired:  # the other side may be in another part
        raise UnpairedError(part.label)
    with whole_file(job.work / f"{part.name}.npy") as path, path.open("wb") as stream:
        np.save(stream, run.fingerprints)
    _finish(job.work / f"{part.name}.json", part.identity, run.totals)
    return run.totals.n


def totals_of(part: Part, job: Job) -> Totals | None:
    """The totals of a part that is finished."""
    return _finished(job.work / f"{part.name}.json", part.identity)


def shuffle_piece(file: ShuffledPiece, job: Job) -> None:
    """Put the rows of a piece into buckets by their ids, unless that is done."""
    path = rows_path(job, file.side, file.number)
    if not (path.exists() and shuffled_totals(file, job)):
        reader = job.open(file.side, file.piece)
        write_buckets(path, reader, file.side, job.options.scorer(), job.options.by, file.buckets)
        _finish(path.with_suffix(".json"), file.identity, Totals(notes=dict.fromkeys(reader.detected.notes)))


def shuffled_totals(file: ShuffledPiece, job: Job) -> Totals | None:
    """The notes of a piece whose rows were put into buckets, which are removed when these are scored."""
    return _finished(rows_path(job, file.side, file.number).with_suffix(".json"), file.identity)


def has_repeats(names: Sequence[str], share: tuple[int, int], job: Job) -> bool:
    """Whether a question_id seems to be in two of these parts, by the fingerprints from `share[0]` to `share[1]`."""
    every = [np.load(job.work / f"{name}.npy", mmap_mode="r") for name in names]
    return come_twice([own[_below(own, share[0]) : _below(own, share[1])] for own in every])


def _below(ordered: npt.NDArray[np.uint64], bound: int) -> int:
    """How many are less than the bound, which can be 2**64."""
    return int(np.searchsorted(ordered, np.uint64(bound - 1), side="right")) if bound else 0


def _finish(path: Path, identity: str, totals: Totals) -> None:
    with whole_file(path) as unfinished:
        unfinished.write_text(json.dumps({"identity": identity, "totals": totals.to_json()}), encoding="utf-8")


def _finished(path: Path, identity: str) -> Totals | None:
    try:
        own = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Totals.from_json(own["totals"]) if own["identity"] == identity else None
