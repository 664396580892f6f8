"""The unit of work of a data set in parts: one part is scored to one file and its summary, whole or not at all.

A part is a file of predictions with its file of references, or what `shuffle` brought together. Scoring it again gives
the same, and a part that is finished is not scored again: so a worker or a whole run can be lost at any time.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anls_eval.cluster.buckets import bucket_rows, write_buckets
from anls_eval.files import Reader, open_predictions, open_references, write_rows
from anls_eval.files.write import whole_file
from anls_eval.questions.stream import come_twice
from anls_eval.rules.protocol import Protocol
from anls_eval.submission.passes import SIDES, Options, Pass, Sides, sides_of
from anls_eval.submission.score import in_a_stream_or_whole
from anls_eval.submission.scorers import Scorer, make_scorer
from anls_eval.submission.totals import Summary


@dataclasses.dataclass(frozen=True)
class Job:
    """What all parts have in common.

    Args:
        out: The folder of the results, which every worker can read and write.
        protocol: As in `submission.score_submission`.
        threshold: The same.
        by: The same.
        read_by: The columns of `by` that are read from the predictions, and those from the references.
        format: As in `formats.open_predictions`, of all files.
        columns: The columns by role of the predictions, and of the references.
    """

    out: Path
    protocol: str | Protocol
    threshold: float | str | Fraction | Decimal | None
    by: tuple[str, ...]
    read_by: tuple[tuple[str, ...], tuple[str, ...]]
    format: str | None
    columns: tuple[Mapping[str, str], Mapping[str, str]]

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
        return make_scorer(self.protocol, self.threshold)

    def open(self, side: str, path: str) -> Reader:
        """Open a file of one side."""
        number = SIDES.index(side)
        opener = (open_predictions, open_references)[number]
        reader = opener(path, format=self.format, columns=self.columns[number], by=self.read_by[number])
        return self.scorer().open_references(reader) if side == "references" else reader


class UnpairedError(Exception):
    """A file of predictions and its file of references do not have the same ids."""


@dataclasses.dataclass(frozen=True)
class FilePart:
    """A file of predictions and its file of references.

    Args:
        number: Of the part.
        predictions: The file.
        references: The file, which can be the same.
        identity: Of what goes into the part: where it is another one, the part is scored again.
        alone: Whether this is all there is, so that an id without its other side has none anywhere.
    """

    number: int
    predictions: str
    references: str
    identity: str
    alone: bool

    @property
    def name(self) -> str:
        """Its number."""
        return f"part-{self.number:05d}"

    @property
    def label(self) -> str:
        """The file of predictions."""
        return self.predictions

    def sides(self, job: Job, scorer: Scorer) -> Sides:
        """Both files."""
        readers = job.open(SIDES[0], self.predictions), job.open(SIDES[1], self.references)
        return sides_of(readers, scorer, job.by)

    def check(self, summary: Summary) -> None:
        """Raise `UnpairedError` if an id has no other side, which may be in another file."""
        if not self.alone and (summary.counts["missing"] or summary.counts["unknown"]):
            raise UnpairedError(self.label)


@dataclasses.dataclass(frozen=True)
class BucketPart:
    """The rows of all files whose ids fall into one bucket.

    Args:
        number: Of the bucket.
        buckets: How many there are.
        files: How many files of predictions and of references there are.
        identity: As in `FilePart`.
    """

    number: int
    buckets: int
    files: tuple[int, int]
    identity: str

    @property
    def name(self) -> str:
        """Its number."""
        return f"part-{self.number:05d}"

    @property
    def label(self) -> str:
        """The same."""
        return self.name

    def sides(self, job: Job, scorer: Scorer) -> Sides:
        """The rows of the bucket in all files that could be read."""
        rows = []
        for side, files in zip(SIDES, self.files, strict=True):
            paths = [rows_path(job, side, number) for number in range(files)]
            present = [path for path in paths if path.exists()]
            rows.append(functools.partial(bucket_rows, present, self.number, self.buckets))
        return Sides(rows[0], rows[1], ())

    def check(self, summary: Summary) -> None:
        """Nothing: all rows of an id are here."""


Part = FilePart | BucketPart


@dataclasses.dataclass(frozen=True)
class ShuffledFile:
    """A file whose rows are to be put into buckets.

    Args:
        side: ``"predictions"`` or ``"references"``.
        number: Of the file on its side.
        path: The file.
        buckets: How many buckets there are.
        identity: As in `FilePart`.
    """

    side: str
    number: int
    path: str
    buckets: int
    identity: str

    @property
    def label(self) -> str:
        """The file."""
        return self.path


def rows_path(job: Job, side: str, number: int) -> Path:
    """Where the rows of one file are, in buckets."""
    return job.rows / f"{side}-{number:05d}.arrow"


def score_part(part: Part, job: Job) -> int:
    """Score a part, unless it is finished.

    ``<name>.parquet`` has the columns ``question_id``, ``score`` and those of `Job.by`; a part without questions has no
    such file. The summary is written last: with it, the part is finished.

    Returns:
        The number of its questions.

    Raises:
        ValueError: It cannot be read or scored.
        UnpairedError: It cannot be scored without the other parts.
    """
    done = summary_of(part, job)
    if done is not None:
        return done.n
    scorer = job.scorer()
    sides = part.sides(job, scorer)
    options = Options(job.by, missing="zero", unknown="ignore")  # what is an error is known when all parts are

    def score(whole: bool) -> Pass:
        run = Pass(sides, scorer, options, whole)
        blocks = run.rows(False, lambda done: None)
        first = next(blocks, None)
        if first is not None:
            write_rows(job.out / f"{part.name}.parquet", chain([first], blocks))
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


def shuffle_file(file: ShuffledFile, job: Job) -> None:
    """Put the rows of a file into buckets by their ids, unless that is done.

    Raises:
        ValueError: A row cannot be read.
    """
    path = rows_path(job, file.side, file.number)
    if not (path.exists() and shuffled_summary(file, job)):
        reader = job.open(file.side, file.path)
        write_buckets(path, reader, file.side, job.scorer(), job.by, file.buckets)
        _finish(path.with_suffix(".json"), file.identity, Summary(notes=dict.fromkeys(reader.detected.notes)))


def shuffled_summary(file: ShuffledFile, job: Job) -> Summary | None:
    """The notes of a file whose rows were put into buckets, which are removed when these are scored."""
    return _finished(rows_path(job, file.side, file.number).with_suffix(".json"), file.identity)


def has_repeats(names: Sequence[str], share: tuple[int, int], job: Job) -> bool:
    """Whether a question_id seems to be in two parts.

    Args:
        names: Of the parts.
        share: The least fingerprint that is looked at, and the one after the last.
        job: Of the parts.
    """
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
