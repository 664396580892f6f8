"""Whole submissions: two files, scored in a stream, with breakdowns and a row for each question."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import anls
from anls_eval.alignment import Alignment, RepeatedIdError, without_repeats
from anls_eval.formats import Batch, Reader, write_rows
from anls_eval.scorers import LeaderboardScorer, Scorer, exact_threshold, is_leaderboard, make_scorer
from anls_eval.statistics import Interval, confidence_interval
from anls_eval.tally import Tally

_LABELS = pa.large_list(pa.large_string())
_BY = "by "  # before the names of columns to group by, which can be any


@dataclasses.dataclass(frozen=True)
class Group:
    """The questions with one value of a column.

    Args:
        n: How many there are.
        score: Their mean score, from 0 to 1.
    """

    n: int
    score: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class SubmissionScore:
    """The score of a submission.

    Args:
        metric: What the score is called: ``anls_score`` or ``anls_star_score``.
        score: The mean over the questions, from 0 to 1.
        interval: Its confidence interval.
        n: The number of questions.
        missing: Questions without a prediction, which scored 0.
        unknown: Predictions without a question, which were left out.
        unanswered: Predictions that are None, which scored 0.
        signature: All that can change the score, in one line.
        tally: How often each score occurs.
        figures: What the protocol's leaderboard reports besides: ``accuracy``, ``f1``.
        by: For each column asked for, its groups by their value, in the order of the values. A question whose value is
            a list is in several groups, and one without a value in none.
        key_scores: For trees, the mean score of each key.
        notes: What a user must be told.
    """

    metric: str
    score: float
    interval: Interval
    n: int
    missing: int
    unknown: int
    unanswered: int
    signature: str
    tally: Tally
    figures: dict[str, float]
    by: dict[str, dict[str, Group]]
    key_scores: dict[str, Any] | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON values, the score under the name of the metric."""
        groups = {
            name: {value: dataclasses.asdict(group) for value, group in own.items()} for name, own in self.by.items()
        }
        result = {
            self.metric: self.score,
            "confidence_interval": [self.interval.low, self.interval.high],
            "confidence_level": self.interval.level,
            "n": self.n,
            **({} if self.interval.clusters is None else {"clusters": self.interval.clusters}),
            "missing": self.missing,
            "unknown": self.unknown,
            "unanswered": self.unanswered,
            **self.figures,
            "signature": self.signature,
            "by": groups,
            "notes": list(self.notes),
        }
        return result if self.key_scores is None else result | {"key_scores": self.key_scores}


def score_submission(
    predictions: Reader,
    references: Reader,
    *,
    protocol: str | anls.Protocol = "standard",
    threshold: float | str | Fraction | Decimal | None = None,
    by: Sequence[str] = (),
    missing: str = "error",
    unknown: str = "error",
    cluster_by: str | None = None,
    seed: int = 0,
    per_question: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SubmissionScore:
    r"""Score a submission, reading both files batch by batch.

    Files with the same ids in the same order need memory for a few thousand rows and 8 bytes for each id; rows in
    another order wait in memory for their other side. The score does not depend on the order.

    Args:
        predictions: From `formats.open_predictions`.
        references: From `formats.open_references`.
        protocol: A name or alias in `anls.PROTOCOLS` or `leaderboards.LEADERBOARDS`, or an `anls.Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.
        by: Columns of the references, or else of the predictions, to group the questions by.
        missing: A question without a prediction is an ``"error"``, or scores ``"zero"``.
        unknown: A prediction without a question is an ``"error"``, or is left out by ``"ignore"``.
        cluster_by: A column with the document of each question. Questions of one document are not independent: the
            interval is then that of resampled documents, and the scores are held in memory.
        seed: Of the interval.
        per_question: A file to write with one row for each question: .parquet, .csv or .jsonl.
        on_progress: Called with the number of questions scored so far.

    Returns:
        The score with all that belongs to it.

    Raises:
        ValueError: Files that cannot be read, rows that cannot be scored, ids that do not match or come twice with
            different content, an unknown protocol or a column that neither file has. Nothing is written then.

    Example:
        >>> import pathlib, tempfile
        >>> from anls_eval.formats import open_predictions, open_references
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "predictions.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
        >>> _ = (folder / "references.csv").write_text("id,answer,page\n2,Rome,7\n1,Lima,7\n")
        >>> found = score_submission(
        ...     open_predictions(folder / "predictions.csv"), open_references(folder / "references.csv"), by=["page"]
        ... )
        >>> found.score, found.by
        (0.875, {'page': {'7': Group(n=2, score=0.875)}})
    """
    anls._check_choice("missing", missing, anls._MISSING)
    anls._check_choice("unknown", unknown, anls._UNKNOWN)
    options = _Options(tuple(by), cluster_by, seed, (), missing, unknown)
    sides = _sides(predictions, references, protocol, options.names)

    def score(whole: bool) -> SubmissionScore:
        run = _Run(sides, make_scorer(protocol, threshold), options, whole)
        blocks = run.rows(per_question is not None, on_progress or (lambda done: None))
        if per_question is None:
            for _ in blocks:
                pass
        else:
            write_rows(per_question, blocks)
        return run.result(missing)

    return _in_a_stream_or_whole(score)


@dataclasses.dataclass(frozen=True)
class Questions:
    """The questions of a submission, in memory.

    Args:
        question_ids: Their ids, or their row numbers where the files have none.
        predictions: Their predictions; None where there is none.
        answers: Their accepted answers.
        notes: What a user must be told.
    """

    question_ids: list[str]
    predictions: Any
    answers: Any
    notes: tuple[str, ...]


def read_questions(predictions: Reader, references: Reader) -> Questions:
    """Read the questions of a submission of texts, and align them by id.

    A question without a prediction has None, a prediction without a question is left out, and a note says so.

    Args:
        predictions: From `formats.open_predictions`.
        references: From `formats.open_references`.

    Raises:
        ValueError: Files that cannot be read, rows that are no texts, or ids that come twice with different content.
    """

    def read(whole: bool) -> Questions:
        run = _Run(
            (predictions, references), make_scorer("standard"), _Options(missing="zero", unknown="ignore"), whole
        )
        table = pa.concat_tables(run.questions()).combine_chunks()
        return Questions(_id_texts(table), *run.scorer.read(table), run.notes)

    return _in_a_stream_or_whole(read)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ScoredQuestions:
    """A submission with the score of each question, in memory.

    Args:
        submission: The score of the submission.
        protocol: Its rules, with the threshold that was used; None for a leaderboard.
        question_ids: Their ids, or their row numbers where the files have none.
        predictions: Their predictions; None where there is none.
        answers: Their accepted answers, or their references as trees.
        is_missing: Of shape (n,), whether there is no prediction.
        scores: Of shape (n,), from 0 to 1.
        columns: For each column asked for, the values of each question, as texts: mostly one, none where it is null.
    """

    submission: SubmissionScore
    protocol: anls.Protocol | None
    question_ids: list[str]
    predictions: Any
    answers: Any
    is_missing: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float64]
    columns: dict[str, list[list[str]]]


def score_questions(
    predictions: Reader,
    references: Reader,
    *,
    protocol: str | anls.Protocol = "standard",
    threshold: float | str | Fraction | Decimal | None = None,
    by: Sequence[str] = (),
    cluster_by: str | None = None,
    seed: int = 0,
    columns: Sequence[str] = (),
    missing: str = "error",
    unknown: str = "error",
    on_progress: Callable[[int], None] | None = None,
) -> ScoredQuestions:
    r"""Score a submission as `score_submission` does, and keep every question in memory.

    Args:
        predictions: From `formats.open_predictions`.
        references: From `formats.open_references`.
        protocol: As in `score_submission`.
        threshold: The same.
        by: The same.
        cluster_by: The same.
        seed: The same.
        columns: Further columns to give by question, which the score is not grouped by.
        missing: As in `score_submission`.
        unknown: The same.
        on_progress: The same.

    Returns:
        The score with its questions.

    Raises:
        ValueError: As in `score_submission`.

    Example:
        >>> import pathlib, tempfile
        >>> from anls_eval.formats import open_predictions, open_references
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "predictions.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
        >>> _ = (folder / "references.csv").write_text("id,answer,page\n2,Rome,7\n1,Lima,8\n")
        >>> found = score_questions(
        ...     open_predictions(folder / "predictions.csv"),
        ...     open_references(folder / "references.csv"),
        ...     columns=["page"],
        ... )
        >>> found.question_ids, found.scores.tolist(), found.columns
        (['2', '1'], [0.75, 1.0], {'page': [['7'], ['8']]})
    """
    anls._check_choice("missing", missing, anls._MISSING)
    anls._check_choice("unknown", unknown, anls._UNKNOWN)
    options = _Options(tuple(by), cluster_by, seed, tuple(columns), missing, unknown)
    sides = _sides(predictions, references, protocol, options.names)

    def score(whole: bool) -> ScoredQuestions:
        run = _Run(sides, make_scorer(protocol, threshold), options, whole)
        blocks = list(run.scored(False, on_progress or (lambda done: None)))
        table = pa.concat_tables([questions for questions, _, _ in blocks]).combine_chunks()
        given, expected = run.scorer.read(table)
        of_leaderboard = isinstance(run.scorer, LeaderboardScorer)
        return ScoredQuestions(
            submission=run.result(missing),
            protocol=None if of_leaderboard else anls._rules(protocol, exact_threshold(threshold), of_trees=None),
            question_ids=_id_texts(table),
            predictions=given,
            answers=expected,
            is_missing=anls._bools(table["is_missing"].combine_chunks()),
            scores=np.concatenate([scores for _, scores, _ in blocks]),
            columns={name: table[_BY + name].to_pylist() for name in options.names},
        )

    return _in_a_stream_or_whole(score)


_Result = TypeVar("_Result")


def _in_a_stream_or_whole(read: Callable[[bool], _Result]) -> _Result:
    """Read the files in a stream, or where an id seems to come twice, once more as a whole."""
    try:
        return read(False)
    except RepeatedIdError:
        return read(True)


def _id_texts(table: pa.Table) -> list[str]:
    """The ids, or else the numbers of the rows."""
    ids = anls._decoded(table["question_id"].combine_chunks(), anls._TEXTS)
    return [str(row) if own is None else own for row, own in enumerate(anls._listed(ids))]


def _sides(
    predictions: Reader, references: Reader, protocol: str | anls.Protocol, by: Sequence[str]
) -> tuple[Reader, Reader]:
    """Both readers, so that each column of `by` is read from one of them, and answers as a leaderboard reads them."""
    if isinstance(protocol, str) and is_leaderboard(protocol):
        references = references.without_variants()
    of_references = [name for name in by if name in references.names]
    of_predictions = [name for name in by if name not in references.names and name in predictions.names]
    absent = [name for name in by if name not in of_references + of_predictions]
    if absent:
        paths = f"{references.detected.path} nor {predictions.detected.path}"
        names = ", ".join(dict.fromkeys((*references.names, *predictions.names)))
        raise ValueError(f"neither {paths} has the column {absent[0]!r}; expected one of {names}")
    return predictions.also(of_predictions), references.also(of_references)


class _Options(NamedTuple):
    by: tuple[str, ...] = ()
    cluster_by: str | None = None
    seed: int = 0
    columns: tuple[str, ...] = ()
    missing: str = "error"
    unknown: str = "error"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read beside the usual ones."""
        clusters = [] if self.cluster_by is None else [self.cluster_by]
        return tuple(dict.fromkeys((*self.by, *self.columns, *clusters)))


class _Run:
    """One pass over both files."""

    def __init__(
        self,
        sides: tuple[Reader, Reader],
        scorer: Scorer,
        options: _Options,
        whole: bool,
    ) -> None:
        self.scorer, self._options = scorer, options
        self._clustered: list[tuple[npt.NDArray[np.float64], list[str]]] = []
        self._detected = dict.fromkeys(note for reader in sides for note in reader.detected.notes)
        self._repeats: list[str] = []
        streams = []
        for reader, side in zip(sides, ("predictions", "references"), strict=True):
            rows = self._rows(reader, side)
            streams.append(self._whole(rows, side) if whole else rows)
        self._alignment = Alignment(streams[0], streams[1], options.missing, options.unknown)
        self._tally = Tally()
        self._groups: dict[str, dict[str, Tally]] = {name: {} for name in options.by}

    def _rows(self, reader: Reader, side: str) -> Iterator[pa.Table]:
        for batch in reader.batches():
            ids = batch.question_ids
            columns = {
                "question_id": pa.nulls(len(batch), anls._BYTES) if ids is None else _stored_ids(ids),
                "value": self.scorer.stored(batch.values, side, _place(reader, batch, side), ids is not None),
            }
            columns |= {
                _BY + name: _labels(batch.columns[name]) for name in self._options.names if name in batch.columns
            }
            if side == "references" and "answer_type" in batch.columns:
                columns["answer_type"] = _labels(batch.columns["answer_type"])
            yield pa.table(columns)

    def _whole(self, rows: Iterable[pa.Table], side: str) -> Iterator[pa.Table]:
        tables = list(rows)
        if tables:
            yield without_repeats(pa.concat_tables(tables), side, self._repeats)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user must be told about the rows, after all of them."""
        return (*self._detected, *self._repeats, *self._alignment.notes)

    def questions(self) -> Iterator[pa.Table]:
        """The questions, block by block."""
        return iter(self._alignment)

    def scored(
        self, detailed: bool, on_progress: Callable[[int], None]
    ) -> Iterator[tuple[pa.Table, npt.NDArray[np.float64], dict[str, pa.Array]]]:
        """Score block by block; the details are columns of what else there is to say, if asked for."""
        for questions in self._alignment:
            scores, details = self.scorer.score(questions, detailed)
            self._tally += Tally.of(scores)
            for name, groups in self._groups.items():
                for value, tally in _grouped(questions[_BY + name].combine_chunks(), scores):
                    groups[value] = groups.get(value, Tally()) + tally
            if self._options.cluster_by is not None:
                self._clustered.append((scores, _one_label(questions, self._options.cluster_by)))
            on_progress(self._tally.n)
            yield questions, scores, details

    def rows(self, detailed: bool, on_progress: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Score block by block, and give the rows for a file."""
        for questions, scores, details in self.scored(detailed, on_progress):
            if detailed:
                ids = anls._decoded(questions["question_id"].combine_chunks(), anls._TEXTS)
                columns = {"question_id": ids, **details, "score": pa.array(scores)}
                for name in self._options.by:
                    columns[_BY + name if name in columns else name] = _shown_labels(questions[_BY + name])
                yield pa.record_batch(columns)

    def result(self, missing: str) -> SubmissionScore:
        """Sum up, after all blocks."""
        n, score, interval = self._tally.n, self._tally.mean, self._interval()
        return SubmissionScore(
            metric=self.scorer.metric,
            score=score,
            interval=interval,
            n=n,
            missing=self._alignment.missing,
            unknown=self._alignment.unknown,
            unanswered=self.scorer.unanswered,
            signature=self.scorer.signature(n, missing),
            tally=self._tally,
            figures=self.scorer.figures(),
            by={
                name: {value: Group(own.n, own.mean) for value, own in sorted(groups.items())}
                for name, groups in self._groups.items()
            },
            key_scores=self.scorer.key_scores(),
            notes=(*self.notes, *self.scorer.notes(n, score), *interval.notes),
        )

    def _interval(self) -> Interval:
        if self._options.cluster_by is None:
            return confidence_interval(self._tally, seed=self._options.seed)
        scores = np.concatenate([scores for scores, _ in self._clustered])
        labels = [label for _, own in self._clustered for label in own]
        return confidence_interval(scores, clusters=labels, seed=self._options.seed)


def _place(reader: Reader, batch: Batch, side: str) -> Callable[[int], str]:
    def place(row: int) -> str:
        own = "" if batch.question_ids is None else f" (question_id {str(batch.question_ids[row])!r})"
        return f"{reader.detected.path}, row {batch.first_row + row}{own}: the {side.removesuffix('s')}"

    return place


def _stored_ids(ids: Any) -> pa.Array:
    return ids.cast(anls._BYTES) if isinstance(ids, pa.Array) else anls._stored_ids(ids)


def _labels(column: Any) -> pa.Array:
    """The values of a column as lists of texts, most of them of one."""
    if isinstance(column, pa.Array) and not pa.types.is_nested(column.type):
        with contextlib.suppress(pa.ArrowException):  # durations, bytes and others, of which Python makes texts
            texts = column.cast(pa.large_string())
            ends = np.cumsum(np.concatenate([[0], anls._bools(texts.is_valid())]))
            return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), texts.drop_null())
    values = anls._listed(column)
    return pa.array([list(map(_text, own)) if isinstance(own, list) else _label(own) for own in values], _LABELS)


def _label(value: Any) -> list[str]:
    return [] if anls._is_missing(value) else [_text(value)]


def _text(value: Any) -> str:
    """The text of a value; a lone surrogate, which Arrow and UTF-8 cannot hold, as its escape."""
    return str(value).encode("utf-8", "backslashreplace").decode()


def _one_label(questions: pa.Table, name: str) -> list[str]:
    labels = questions[_BY + name].to_pylist()
    for row, own in enumerate(labels):
        if not own or len(own) > 1:
            [id_] = anls._id_list(questions["question_id"][row : row + 1].combine_chunks())
            found = "several values" if own else "no value"
            raise ValueError(f"question_id {id_!r} has {found} in {name!r}; expected the document that it is about")
    return [own[0] for own in labels]


def _shown_labels(labels: pa.ChunkedArray) -> pa.Array:
    shown = [None if not own else own[0] if len(own) == 1 else json.dumps(own) for own in labels.to_pylist()]
    return pa.array(shown, pa.large_string())


def _grouped(labels: pa.Array, scores: Any) -> Iterator[tuple[str, Tally]]:
    """The scores of the questions that have each label."""
    owners = pc.list_parent_indices(labels)
    table = pa.table({"label": labels.flatten(), "score": pa.array(scores).take(owners)})
    counted = table.group_by(["label", "score"]).aggregate([([], "count_all")])
    for label, score, count in zip(*(counted[name].to_pylist() for name in counted.column_names), strict=True):
        yield label, Tally(Counter({score: count}))
