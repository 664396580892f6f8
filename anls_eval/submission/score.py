"""Whole submissions, scored in a stream, with breakdowns and a row for each question."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.analysis.side_by_side import has_documents
from anls_eval.arrow import BYTES, TEXTS, as_bools, as_list, decode_texts, number_array
from anls_eval.explanation.result import KeyMean, walk_keys
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.files import Reader, open_predictions, open_references, write_rows
from anls_eval.files.paths import Paths
from anls_eval.files.printed import Holds
from anls_eval.files.reading import VALUES
from anls_eval.files.source import KEY, VALUE
from anls_eval.files.write import keeps_lists
from anls_eval.markup import element, headline, notebook_page, notes_html, score_bar, signature_html, table_html
from anls_eval.notes import printed_sentences
from anls_eval.outputs import check_outputs
from anls_eval.questions.pairing import repeated_note, unmatched_ids
from anls_eval.questions.stream import RepeatedIdError
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.statistics import Interval, confidence_interval
from anls_eval.statistics.groups import GroupedScores
from anls_eval.statistics.intervals import interval_words
from anls_eval.statistics.resampling import cluster_codes
from anls_eval.statistics.tally import Tally
from anls_eval.structure import Parse, parse_names
from anls_eval.submission.counted import CountedSystems, GroupedCounts, grouped_counts
from anls_eval.submission.passes import (
    BY,
    NO_VALUE,
    PRINTED,
    SIDES,
    Kept,
    Options,
    OptionWords,
    Pass,
    documents_of,
    sides_of,
    telling_incomplete_files,
)
from anls_eval.submission.scorers import BenchmarkScorer, Scorer
from anls_eval.submission.totals import Path, Totals
from anls_eval.text.measure import Measured
from anls_eval.types import Extract, Missing, Unknown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from anls_eval.leaderboards.base import Leaderboard
    from anls_eval.leaderboards.benchmark import Benchmark

_EXCEPTIONS = ("missing", "unknown", "unanswered")
_MAX_SHOWN_GROUPS = 50  # in a notebook, whose groups get their intervals when they are shown
_LISTS_AT_ONCE = 32_768
MAX_INTERVALS = 500  # groups of a column; beyond, intervals would take longer than the score


def _no_interval() -> None:
    return None


@dataclasses.dataclass(frozen=True)
class Group:
    """The questions with one value of a column, or of all its values.

    Args:
        n: The number of questions.
        score: Their mean, from 0 to 1; of all values, the mean over the groups.
    """

    n: int
    score: float
    _make_interval: Callable[[], Interval | None] = dataclasses.field(default=_no_interval, repr=False, compare=False)

    @functools.cached_property
    def interval(self) -> Interval | None:
        """The confidence interval, computed on first access.

        None if all questions are about one document, or the column has more than 500 groups.
        """
        return self._make_interval()

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        bounds = None if self.interval is None else [self.interval.low, self.interval.high]
        return {"n": self.n, "score": self.score, "interval": bounds}


@dataclasses.dataclass(frozen=True)
class Extraction:
    """What the steps that take the answer out changed."""

    steps: tuple[str, ...]
    changed: int  # the number of predictions
    score_without: float  # the score of the predictions as they are, from 0 to 1

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        return dataclasses.asdict(self) | {"steps": list(self.steps)}

    def __str__(self) -> str:
        changed = "1 prediction" if self.changed == 1 else f"{self.changed:,} predictions"
        return f"extract {','.join(self.steps)} changed {changed}; without it the score is {self.score_without:.6f}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SubmissionScore:
    """The score of a submission.

    Args:
        metric: The name of the score: ``anls_score`` or ``anls_star_score``.
        score: The mean over the questions, from 0 to 1.
        interval: The confidence interval of the score.
        n: The number of questions.
        missing: The number of questions without a prediction, which scored 0.
        unknown: The number of predictions without a question, which were ignored.
        unanswered: The number of predictions that are None, which scored 0.
        signature: One line that records every choice behind the score.
        tally: How often each score occurs.
        figures: What the protocol's leaderboard reports besides: ``accuracy``, ``f1``.
        by: For each column asked for, its groups by their value, in the order of the values. A question whose value is
            a list is in several groups, and one without a value in none.
        macro: For each column with groups, the mean over its groups of their scores.
        key_scores: For trees, the mean score of each key.
        notes: Warnings to show to the user. One says so if the figures of the benchmark depend on how its solver
            chooses between equally good assignments.
        extraction: What the steps of `extract` changed; None without any.
        fields: For trees, the fields by which they were compared.
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
    macro: dict[str, Group]
    key_scores: dict[str, KeyMean] | None
    notes: tuple[str, ...]
    extraction: Extraction | None = None
    fields: Fields | None = None

    @property
    def group_notes(self) -> list[str]:
        """Warnings about the intervals of `macro`, which are computed on first access."""
        return [
            f"mean over the groups of {name!r}: {note}"
            for name, own in self.macro.items()
            if own.interval is not None
            for note in own.interval.notes
        ]

    def _repr_html_(self) -> str:
        """Return the score as notebooks show it: the counts, the groups and the keys."""
        counts = [("questions", self.n), *((name, getattr(self, name)) for name in _EXCEPTIONS if getattr(self, name))]
        words = f"{self.metric}, {self.interval.level:.0%} interval {interval_words(self.interval)}"
        tables = [table_html(("", ""), [*counts, *self.figures.items()])]
        for column, groups in self.by.items():
            shown = list(groups.items())[:_MAX_SHOWN_GROUPS]
            rows = [
                (value, own.n, own.score, score_bar(own.score), own.interval and interval_words(own.interval))
                for value, own in shown
            ]
            tables.append(table_html((column, "questions", "score", "", "interval"), rows))
            if len(groups) > len(shown):
                tables.append(element("p", f"{len(groups) - len(shown):,} more groups are not shown.", "muted"))
        if self.key_scores:
            keys = [
                (element("code", ".".join(path)), own["documents"], own["anls_score"], score_bar(own["anls_score"]))
                for path, own in walk_keys(self.key_scores, lambda node: node["children"])
            ]
            tables.append(table_html(("key", "documents", "score", ""), keys))
        extraction = [] if self.extraction is None else [str(self.extraction)]
        notes = notes_html([*extraction, *self.notes])
        return notebook_page(headline(self.score, words), notes, *tables, signature_html(self.signature))

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values, with the score under the name of the metric."""
        groups = {name: {value: group.to_dict() for value, group in own.items()} for name, own in self.by.items()}
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
            **({} if self.extraction is None else {"extraction": self.extraction.to_dict()}),
            "signature": self.signature,
            "by": groups,
            **({"macro": {name: group.to_dict() for name, group in self.macro.items()}} if self.macro else {}),
            "notes": [*self.notes, *self.group_notes],
        }
        if self.fields is not None:
            result["fields"] = self.fields.to_dict()
        return result if self.key_scores is None else result | {"key_scores": self.key_scores}


def score_submission(
    predictions: Reader | Paths,
    references: Reader | Paths,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    by: Sequence[str] = (),
    missing: Missing = "error",
    unknown: Unknown = "error",
    cluster_by: str | None = None,
    seed: int = 0,
    fields: FieldsLike = None,
    parse: Parse = None,
    options: Mapping[str, object] | None = None,
    per_question: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SubmissionScore:
    r"""Score a submission, reading both sides batch by batch.

    Sides with the same ids in the same order need memory for a few thousand rows and 8 bytes for each id; rows in
    another order wait in memory for their other side. The score does not depend on the order.

    Args:
        predictions: From `open_predictions`, or what it takes: a path, a pattern or a list of them.
        references: From `open_references`, or what it takes.
        protocol: A protocol, or its name or alias.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list of
            names; ``"none"`` for none. Defaults to the protocol's.
        by: Columns of the references, or else of the predictions, to group the questions by.
        missing: ``"error"``, or ``"zero"`` to score questions without a prediction 0.
        unknown: ``"error"``, or ``"ignore"`` to leave out predictions without a question.
        cluster_by: A column with the document of each question. Questions about one document are not independent:
            the interval then comes from resampled documents, and the scores are held in memory.
        seed: Random seed for the interval, where resamples are drawn.
        fields: For trees, how their parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.
        parse: Whose texts are taken apart where they print a list or a dict: ``"predictions"``, ``"answers"`` and
            columns of `by`, or ``"none"``. Without it, texts in the cells of tables are taken apart, and a column of
            any other file if each of its values can be. Predictions are only taken apart for trees.
        options: What a benchmark knows beside the answers, by name, as in `leaderboard_figures`. One that each question
            has, such as ``year`` of ``chartqapro``, is the name of its column; by default, a column with the name of
            the option is read if there is one.
        per_question: A file to write with one row for each question: .parquet, .csv or .jsonl.
        on_progress: Called with the number of questions scored so far.

    Returns:
        The score with its interval, groups and warnings.

    Raises:
        ValueError: Files cannot be read, rows cannot be scored, ids do not match or repeat with different content, the
            protocol or an option is unknown, an option is missing, or neither side has a column. Nothing is written
            then.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "predictions.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
        >>> _ = (folder / "references.csv").write_text("id,answer,page\n2,Rome,7\n1,Lima,7\n")
        >>> found = score_submission(folder / "predictions.csv", folder / "references.csv", by=["page"])
        >>> found.score, found.by
        (0.875, {'page': {'7': Group(n=2, score=0.875)}})
    """
    asked = Options(
        protocol=protocol,
        threshold=threshold,
        extract=extract,
        by=by,
        missing=missing,
        unknown=unknown,
        cluster_by=cluster_by,
        seed=seed,
        fields=fields,
        parse=parse,
        options=options,
    )
    predictions = predictions if isinstance(predictions, Reader) else open_predictions(predictions)
    references = references if isinstance(references, Reader) else open_references(references)
    return _scored(predictions, references, asked, per_question, on_progress)[0]


def _scored(
    predictions: Reader,
    references: Reader,
    options: Options,
    per_question: str | os.PathLike[str] | None,
    on_progress: Callable[[int], None] | None,
    *,
    keep: Kept = "documents",
    measure: bool = False,
) -> tuple[SubmissionScore, Pass]:
    """Score every question, and write a row for each if a file is given."""
    check_outputs([per_question], [*predictions.files, *references.files])
    options = with_option_columns(predictions, references, options)
    readers = sides_with(predictions, references, options)

    def score(whole: bool) -> tuple[SubmissionScore, Pass]:
        run = Pass(sides_of(readers, options), options, whole, keep=keep, measure=measure)
        if per_question is not None:
            rows = run.rows(True, on_progress, lists=keeps_lists(per_question))
            write_rows(per_question, rows, keep_interrupted=True)
        else:
            for _ in run.scored(False, on_progress):
                pass
        if options.cluster_by is None:
            return sum_up(run.totals, options), run
        documents = [document for [document] in run.kept_questions[BY + options.cluster_by].to_pylist()]
        codes = cluster_codes(documents, len(documents))
        groups = {name: run.kept_questions[BY + name].to_pylist() for name in options.by}
        interval, grouped = _by_document(run, options, documents, codes, groups)
        return sum_up(run.totals, options, interval, grouped), run

    return in_a_stream_or_whole(score)


def _by_document(
    run: Pass, options: Options, documents: list[str], codes: Any, groups: dict[str, list[list[str]]]
) -> tuple[Interval, Mapping[str, Grouped]]:
    """Return the interval of the score and the scores by group, of questions that are not independent."""
    ones = np.ones(len(documents), dtype=np.int64)
    if run.counted is None:
        interval = confidence_interval(run.scores, clusters=documents, seed=options.seed)
        return interval, {name: GroupedScores(run.scores, ones, own, codes) for name, own in groups.items()}
    rules, counted = cast("Benchmark", run.scorer.rules), run.counted
    interval = CountedSystems(rules, {"": counted}, codes.tolist()).interval("", options.seed)
    of_groups = {
        name: grouped_counts(rules, zip(own, counted, ones.tolist(), strict=True), codes)
        for name, own in groups.items()
    }
    return interval, of_groups


class Questions(NamedTuple):
    """The questions of a submission, in memory."""

    question_ids: list[str]  # or the row numbers if the files have none
    predictions: Any  # None where there is none
    answers: Any
    notes: tuple[str, ...]  # warnings to show to the user


def read_questions(
    predictions: Reader,
    references: Reader,
    *,
    protocol: str | Protocol = "standard",
    missing: Missing = "zero",
    unknown: Unknown = "ignore",
    parse: Parse = None,
    extract: Extract = None,
) -> Questions:
    """Read a submission and align it by id, with notes about missing and unknown ids."""
    options = Options(protocol=protocol, missing=missing, unknown=unknown, parse=parse, extract=extract)
    options.check_are_rows(predictions, references)

    def read(whole: bool) -> Questions:
        opened = options.opened(predictions, SIDES[0]), options.opened(references, SIDES[1])
        run = Pass(sides_of(opened, options), options, whole)
        table = pa.concat_tables(run.questions()).combine_chunks()
        notes = (*run.totals.notes, *_notes(run.totals, table.num_rows, options))
        ids = as_list(decode_texts(_ids(table["question_id"]), TEXTS))
        return Questions(ids, *run.scorer.read(table), notes)

    return in_a_stream_or_whole(read)


def fitting_protocol(predictions: Reader, references: Reader) -> str:
    """Return a protocol that reads both sides as they are: ANLS* if their first rows hold documents."""
    trees = {VALUES: Holds("trees")}
    first = [next(reader.holding(trees).batches(_FIRST_ROWS)).values for reader in (predictions, references)]
    return "anls_star" if has_documents(*first) else "standard"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class QuestionScores:
    """A submission with the id and score of each question in memory, and neither predictions nor answers."""

    submission: SubmissionScore
    ids: pa.Array  # as bytes; the row numbers if the files have none
    scores: npt.NDArray[np.float64]  # of shape (n,), from 0 to 1
    labels: pa.Table  # the values of each question in the named columns
    counted: list[str] | None  # what a benchmark counts of each question; None where the score is a mean
    rules: Protocol | Leaderboard | Benchmark  # those of the protocol, with its extraction

    @functools.cached_property
    def question_ids(self) -> list[str]:
        """The ids as texts."""
        return as_list(decode_texts(self.ids, TEXTS))

    @functools.cached_property
    def columns(self) -> dict[str, list[list[str]]]:
        """The values of each question, as texts: mostly one, none where it is null."""
        return {name: _shared_lists(self.labels[name]) for name in self.labels.column_names}

    def documents(self, column: str) -> list[str]:
        """Return the document of each question in a column, or raise a ValueError for one with none or with several."""
        return documents_of(self.columns[column], lambda row: self.question_ids[row], column)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ScoredQuestions(QuestionScores):
    """A submission with the score of each question, in memory."""

    protocol: Protocol | None  # with the threshold that was used; None for a leaderboard
    predictions: Any  # None where there is none
    answers: Any  # the accepted answers, or the references as trees
    is_missing: npt.NDArray[np.bool_]  # of shape (n,), whether there is no prediction
    measured: Measured | None  # the closest answer and the distance of each text, if asked for

    @property
    def fields(self) -> Fields | None:
        """The fields by which trees were compared."""
        return self.submission.fields


def score_ids(
    predictions: Reader, references: Reader, *, columns: Sequence[str] = (), **options: Unpack[OptionWords]
) -> QuestionScores:
    """Score a submission as `score_submission` does, and keep the id and score of each question with its `columns`."""
    asked = Options(columns=columns, **options)
    submission, run = _scored(predictions, references, asked, None, None, keep="ids")
    return QuestionScores(submission=submission, **_of_questions(run, asked))


def _shared_lists(column: pa.ChunkedArray) -> list[list[str]]:
    """Return a column of lists, of which any can be null, with one list for each distinct value of a group."""
    known: dict[tuple[str, ...], list[str]] = {}
    parts = (column.slice(start, _LISTS_AT_ONCE).to_pylist() for start in range(0, len(column), _LISTS_AT_ONCE))
    return [own and known.setdefault(tuple(own), own) for part in parts for own in part]


def _of_questions(run: Pass, options: Options) -> dict[str, Any]:
    """Return what is kept of each question, by the name of its attribute."""
    table = run.kept_questions
    labels = pa.table({name: table[BY + name] for name in options.names})
    rules = run.scorer.rules
    ids = _ids(table["question_id"])
    return {"ids": ids, "scores": run.scores, "labels": labels, "counted": run.counted, "rules": rules}


def score_questions(
    predictions: Reader,
    references: Reader,
    *,
    columns: Sequence[str] = (),
    measure: bool = False,
    per_question: str | os.PathLike[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
    **options: Unpack[OptionWords],
) -> ScoredQuestions:
    """Score a submission as `score_submission` does, and keep every question with its `columns` in memory."""
    asked = Options(columns=columns, **options)
    submission, run = _scored(
        predictions, references, asked, per_question, on_progress, keep="questions", measure=measure
    )
    table = run.kept_questions
    given, expected = run.scorer.read(table)
    return ScoredQuestions(
        submission=submission,
        protocol=run.scorer.protocol,
        predictions=given,
        answers=expected,
        is_missing=as_bools(table["is_missing"].combine_chunks()),
        measured=Measured.join([found for *_, found in run.kept]) if run.measures else None,
        **_of_questions(run, asked),
    )


_FIRST_ROWS = 64  # that are looked at to tell documents from texts

_Result = TypeVar("_Result")
_Key = TypeVar("_Key")


def in_a_stream_or_whole(read: Callable[[bool], _Result]) -> _Result:
    """Read the files in a stream, and once more as a whole if an id seems to repeat."""
    try:
        return read(False)
    except RepeatedIdError:
        return read(True)


def with_option_columns(predictions: Reader, references: Reader, options: Options) -> Options:
    """Return options in which those of a benchmark that each question has name their columns."""
    scorer = options.scorer()
    if not isinstance(scorer, BenchmarkScorer):
        return options
    where = f"neither {references.detected.path} nor {predictions.detected.path} has"
    found = scorer.with_columns((*references.names, *predictions.names), where)
    return dataclasses.replace(options, options=found)


def sides_with(predictions: Reader, references: Reader, options: Options) -> tuple[Reader, Reader]:
    """Return readers of both sides, each of which reads the columns of the options that it has."""
    options.check_are_rows(predictions, references)
    references = options.opened(references, SIDES[1])
    predictions = options.opened(predictions, SIDES[0])
    of_references = [name for name in options.read_names if name in references.names]
    of_predictions = [name for name in options.read_names if name not in references.names and name in predictions.names]
    absent = [name for name in options.read_names if name not in of_references + of_predictions]
    if absent:
        paths = f"{references.detected.path} nor {predictions.detected.path}"
        if {*references.names, *predictions.names} <= {KEY, VALUE}:  # names that the user never wrote
            raise ValueError(f"neither {paths} has columns to group by")
        names = ", ".join(dict.fromkeys((*references.names, *predictions.names)))
        raise ValueError(f"neither {paths} has the column {absent[0]!r}; expected one of {names}")
    return predictions.also(of_predictions), _noted(references.also(of_references), options)


def _noted(references: Reader, options: Options) -> Reader:
    """Add a note if a single document seems to have been read as a table of its keys."""
    own = references.detected
    if options.scorer().metric != "anls_star_score" or own.container != "json" or own.columns.get("question_id") != KEY:
        return references
    values = next(references.batches()).values
    if not all(isinstance(value, (dict, list)) for value in values):
        note = (
            f"{own.path} was read as a table of {len(values):,} rows, one per key. To score it as one document, pass "
            "the folders of both files."
        )
        references.detected = dataclasses.replace(own, notes=(*own.notes, note))
    return references


Grouped = GroupedScores | GroupedCounts


def sum_up(
    totals: Totals,
    options: Options,
    interval: Interval | None = None,
    grouped: Mapping[str, Grouped] | None = None,
) -> SubmissionScore:
    """Return the score of a submission from its totals, or raise ValueError if its ids do not match.

    With documents, the interval and the scores by group come from the questions; totals do not know their documents.
    """
    scorer, notes = options.scorer(), _notes(totals, totals.n, options)
    interval = interval or scorer.interval(totals, options.seed)
    grouped = grouped or {name: _grouped(totals, name, scorer) for name in options.by}
    groups = {name: _groups(own, options.seed) for name, own in grouped.items()}
    return SubmissionScore(
        metric=scorer.metric,
        score=scorer.mean(totals),
        interval=interval,
        n=totals.n,
        missing=totals.counts["missing"],
        unknown=totals.counts["unknown"],
        unanswered=totals.counts["unanswered"] + totals.counts["unanswered document"],
        signature=scorer.signature(totals.n, options.missing, _taken_apart(totals, options)),
        tally=totals.scores,
        figures=scorer.figures(totals),
        by=groups,
        macro={name: _macro(own, groups[name], options.seed) for name, own in grouped.items() if groups[name]},
        key_scores=scorer.key_scores(totals),
        extraction=_extraction(totals, scorer),
        notes=(*totals.notes, *notes, *scorer.notes(totals), *interval.notes),
        fields=scorer.fields,
    )


def _grouped(totals: Totals, name: str, scorer: Scorer) -> Grouped:
    """Return the questions by the values of a column."""
    if isinstance(scorer, BenchmarkScorer) and not scorer.averages:
        return grouped_counts(scorer.rules, _rows_by(totals.counted, name))
    rows = list(_rows_by({path: tally.counts for path, tally in totals.tallies.items()}, name))
    groups, scores, counts = zip(*rows, strict=True) if rows else ((), (), ())
    return GroupedScores(np.array(scores, dtype=np.float64), np.array(counts, dtype=np.int64), groups, None)


def _rows_by(counts: Mapping[Path, Counter[_Key]], name: str) -> Iterator[tuple[Path, _Key, int]]:
    """Yield the groups of a column, what was counted of their questions, and how often."""
    for (kind, *path), own in counts.items():
        if kind == "by" and path[0] == name:
            for key, count in own.items():
                yield tuple(path[1:]), key, count


def _groups(grouped: Grouped, seed: int) -> dict[str, Group]:
    has_intervals = len(grouped.rows) <= MAX_INTERVALS
    groups = {}
    for value in grouped.rows:
        interval = functools.partial(grouped.interval, value, seed) if has_intervals else _no_interval
        groups[value] = Group(grouped.n(value), grouped.score(value), interval)
    return groups


def _macro(grouped: Grouped, groups: Mapping[str, Group], seed: int) -> Group:
    score = math.fsum(group.score for group in groups.values()) / len(groups)
    questions = sum(count for count, own in zip(grouped.counts.tolist(), grouped.groups, strict=True) if own)
    return Group(questions, score, functools.partial(grouped.macro_interval, seed))


def _extraction(totals: Totals, scorer: Scorer) -> Extraction | None:
    if not scorer.rules.extract:
        return None
    return Extraction(scorer.rules.extract, totals.counts["extracted"], scorer.mean_without(totals))


def _notes(totals: Totals, n: int, options: Options) -> list[str]:
    """Return the warnings about the ids and groups of n questions."""
    repeated = [repeated_note(count, side) for side in SIDES if (count := totals.counts[f"repeated {side}"])]
    without_value = [no_value_note(count, n, name) for name in options.by if (count := totals.counts[NO_VALUE + name])]
    printed = [note for name in _names_of(options) for note in _printed_notes(totals, name, options)]
    unmatched = totals.noted("missing"), totals.noted("unknown")
    with telling_incomplete_files(totals):
        ids = unmatched_ids(*unmatched, n, options.missing, options.unknown, in_files=True)
    return [*printed, *repeated, *ids, *without_value]


def no_value_note(count: int, n: int, name: str) -> str:
    """Return the note on questions that are in no group of a column."""
    return f"{count} of {n} questions have no value in {name!r} and are in none of its groups"


def _names_of(options: Options) -> list[str]:
    """Return the sides and columns in which texts are taken apart, as totals name them."""
    return [*SIDES, *(BY + name for name in options.by)]


def _taken_apart(totals: Totals, options: Options) -> list[str]:
    """Return the sides and columns of which texts were taken apart."""
    return [name.removeprefix(BY) for name in _names_of(options) if totals.counts[f"{PRINTED}taken {name}"]]


def _printed_notes(totals: Totals, name: str, options: Options) -> list[str]:
    """Return the notes on the texts of a side or of a column that print lists and dicts."""
    counts = {what: totals.counts[f"{PRINTED}{what} {name}"] for what in ("taken", "left", "unread")}
    n, shown = totals.noted(f"{PRINTED}values {name}")
    if parse_names(options.parse, options.by) == frozenset():  # the user knows
        counts["left"] = 0
    return printed_sentences(name.removeprefix(BY), n, **counts, shown="".join(shown[:1]))


def _ids(column: pa.ChunkedArray) -> pa.Array:
    """Return the ids as bytes, or the row numbers if there are none."""
    ids = column.combine_chunks()
    if not ids.null_count:
        return ids
    return pc.coalesce(ids, number_array(np.arange(len(ids))).cast(TEXTS).cast(BYTES))
