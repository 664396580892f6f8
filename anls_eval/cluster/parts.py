"""The unit of work of a data set in parts: one part is scored to one file and its summary, whole or not at all.

A part is a file of predictions with its file of references, or the rows of all files in one bucket. Scoring it again
gives the same, and a part that is finished is not scored again: so a worker or a whole run can be lost at any time.
"""

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
from anls_eval.submission.scorers import Scorer
from anls_eval.submission.totals import Summary

VALUES = "prediction", "answers"
"""The role of the values of each side."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What all tasks have in common; pairs are of the predictions and the references.

    Args:
        out: The folder of the work and of the results, which every worker can read and write.
        keep_rows: Whether the rows of the parts are results.
        options: How they are scored.
        format: The format of all files; None to detect it.
        columns: The columns by role.
        documents: Whether the files hold one document each.
        read_by: The columns to group by that are read from each side.
        first: What the first file of each side turned out to be, whose roles the others must have.
    """

    out: Path
    keep_rows: bool
    options: Options
    format: str | None
    columns: tuple[Mapping[str, str], Mapping[str, str]]
    documents: tuple[bool, bool] = (False, False)
    read_by: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    first: tuple[Detected, Detected] | None = None

    @property
    def work(self) -> Path:
        """The folder of what is not a result."""
        return self.out / "_work"  # tools that read a folder of Parquet files leave such names out

    @property
    def rows(self) -> Path:
        """The folder of the rows that were brought together by their ids, if they were."""
        return self.work / "rows"

    def scorer(self) -> Scorer:
        """The scorer of the protocol."""
        return self.options.scorer()

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
        return self.scorer().open_references(reader) if side == "references" else reader


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

    def sides(self, job: Job, scorer: Scorer) -> Sides:
        """Open both sides."""
        raise NotImplementedError

    def check(self, summary: Summary) -> None:
        """Raise `UnpairedError` if an id has no other side, which may be in another part."""


@dataclasses.dataclass(frozen=True)
class FilePart(Part):
    """A piece of predictions with its piece of references; `alone` if no other part can hold an id that is missing."""

    predictions: Piece
    references: Piece
    alone: bool

    @property
    def label(self) -> str:
        """What messages call it: the file of predictions."""
        return self.predictions.label

    def sides(self, job: Job, scorer: Scorer) -> Sides:
        """Open both files."""
        readers = job.open(SIDES[0], self.predictions), job.open(SIDES[1], self.references)
        return sides_of(readers, scorer, job.options.by)

    def check(self, summary: Summary) -> None:
        """Raise `UnpairedError` if an id has no other side, which may be in another part."""
        if not self.alone and (summary.counts["missing"] or summary.counts["unknown"]):
            raise UnpairedError(self.label)


@dataclasses.dataclass(frozen=True)
class BucketPart(Part):
    """The rows of all files whose ids fall into one of `buckets`; `pieces` are the numbers of pieces on both sides."""

    buckets: int
    pieces: tuple[int, int]

    def sides(self, job: Job, scorer: Scorer) -> Sides:
        """The rows of the bucket in all files that could be read."""
        predictions, references = (self._side(job, *own) for own in zip(SIDES, self.pieces, strict=True))
        return predictions, references

    def _side(self, job: Job, side: str, pieces: int) -> BucketSide:
        paths = [rows_path(job, side, number) for number in range(pieces)]
        return BucketSide([path for path in paths if path.exists()], self.number, self.buckets)


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
    """Score a part, unless it is finished, and return the number of its questions.

    ``<name>.parquet`` has the columns ``question_id``, ``score`` and those of `by`; a part without questions has no
    such file. The summary is written last: with it, the part is finished.
    """
    done = summary_of(part, job)
    if done is not None:
        return done.n
    scorer = job.scorer()
    sides = part.sides(job, scorer)
    options = dataclasses.replace(
        job.options, missing="zero", unknown="ignore"
    )  # what is an error is known when all parts are

    def score(whole: bool) -> Pass:
        run = Pass(sides, scorer, options, whole)
        blocks = run.rows(False, lambda done: None)
        first = next(blocks, None) if job.keep_rows else None
        if first is not None:
            write_rows(job.out / f"{part.name}.parquet", chain([first], blocks))
        for _ in blocks:
            pass
        return run

    run = in_a_stream_or_whole(score)
    part.check(run.summary)
    with whole_file(job.work / f"{part.name}.npy") as path, path.open("wb") as stream:
        np.save(stream, run.fingerprints)
    _finish(job.work / f"{part.name}.json", part.identity, run.summary)
    return run.summary.n


def summary_of(part: Part, job: Job) -> Summary | None:
    """The summary of a part that is finished."""
    return _finished(job.work / f"{part.name}.json", part.identity)


def shuffle_piece(file: ShuffledPiece, job: Job) -> None:
    """Put the rows of a piece into buckets by their ids, unless that is done."""
    path = rows_path(job, file.side, file.number)
    if not (path.exists() and shuffled_summary(file, job)):
        reader = job.open(file.side, file.piece)
        write_buckets(path, reader, file.side, job.scorer(), job.options.by, file.buckets)
        _finish(path.with_suffix(".json"), file.identity, Summary(notes=dict.fromkeys(reader.detected.notes)))


def shuffled_summary(file: ShuffledPiece, job: Job) -> Summary | None:
    """The notes of a piece whose rows were put into buckets, which are removed when these are scored."""
    return _finished(rows_path(job, file.side, file.number).with_suffix(".json"), file.identity)


def has_repeats(names: Sequence[str], share: tuple[int, int], job: Job) -> bool:
    """Whether a question_id seems to be in two of these parts, by the fingerprints from `share[0]` to `share[1]`."""
    least, end = share
    found = []
    for name in names:
        own = np.load(job.work / f"{name}.npy", mmap_mode="r")
        found.append(own[_below(own, least) : _below(own, end)])
    return come_twice(found)


def _below(ordered: npt.NDArray[np.uint64], bound: int) -> int:
    """How many are less than the bound, which can be 2**64."""
    return int(np.searchsorted(ordered, np.uint64(bound - 1), side="right")) if bound else 0


def _finish(path: Path, identity: str, summary: Summary) -> None:
    with whole_file(path) as unfinished:
        unfinished.write_text(json.dumps({"identity": identity, "summary": summary.to_json()}), encoding="utf-8")


def _finished(path: Path, identity: str) -> Summary | None:
    try:
        own = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Summary.from_json(own["summary"]) if own["identity"] == identity else None
