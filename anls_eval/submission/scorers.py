"""How questions are stored and scored: as texts, as trees, or by the rules of a leaderboard."""

from __future__ import annotations

import collections
import json
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anls_eval.analysis.losses import question_classes
from anls_eval.arrow import (
    TEXT_LISTS,
    TEXTS,
    as_array,
    as_bools,
    as_list,
    decode_texts,
    has_no_gap,
    number_array,
    text_array,
)
from anls_eval.errors import AnlsError, Remedy, located
from anls_eval.explanation.result import KeyMean, walk_keys
from anls_eval.explanation.tree import ExplainedTree
from anls_eval.extract.hints import count_steps, extract_note
from anls_eval.extract.marks import MARK_STEPS
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.files import Reader
from anls_eval.inputs.columns import read_column
from anls_eval.notes import (
    SENTENCES,
    Noted,
    marked_rows,
    named_row,
    noted,
    sentences,
    text_sentences,
    tree_rows_to_note,
    without_key_sentence,
)
from anls_eval.questions.columns import STORED, TEXT_TYPES, id_list, stored_texts, stored_trees
from anls_eval.registry import get_rules, read_fields, signature
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.rules.table import PROTOCOLS
from anls_eval.statistics import Interval, confidence_interval
from anls_eval.submission.counted import CountTable, Units, counted_interval
from anls_eval.submission.totals import FIRST, Totals
from anls_eval.text.measure import Measured, closest_answers, score_columns
from anls_eval.text.similarity import compute_similarity
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.coverage import Unmatched, rows_without_key, unmatched_fields, unmatched_sentences
from anls_eval.types import Extract, Missing

if TYPE_CHECKING:
    # These only their own questions need.
    from anls_eval.leaderboards.base import Leaderboard
    from anls_eval.leaderboards.benchmark import Benchmark

_Floats = npt.NDArray[np.float64]
_Where = Callable[[int], str]

RAW = "raw_prediction"
"""The column of the predictions out of which something else was taken."""

_MARKED_BY = "marked by "  # before the name of a step, in the counts of a totals

OPTION = "option "
"""Before the names of the columns with what the options of each question hold, as JSON."""

WITHOUT_EXTRACTION = ("without extraction",)
"""Where a totals has the scores of the raw predictions."""


class Scorer:
    """Scores questions block by block; stores them as JSON text unless a subclass stores them otherwise."""

    metric = "anls_score"
    averages = True  # the score is the mean of the scores of the questions
    fields: Fields | None = None  # of trees
    option_columns: Mapping[str, str] = types.MappingProxyType({})  # of the options that each question has

    def __init__(self, rules: Protocol | Leaderboard | Benchmark) -> None:
        self.rules = rules

    @property
    def protocol(self) -> Protocol | None:
        """The rules for texts or trees after their extraction; None for a leaderboard."""
        return self.rules.with_extract("none") if isinstance(self.rules, Protocol) else None

    def open_references(self, references: Reader) -> Reader:
        """Return a reader of the accepted answers that the rules read."""
        return references

    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Check the predictions or references of some rows, and return them as a column; `where` names a row."""
        listed = as_list(read_column(values, side))
        return stored_trees(listed, side, where, self.protocol or PROTOCOLS["anls_star"])

    def read(self, questions: pa.Table) -> tuple[Any, Any]:
        """Return the predictions and references of a block as the scoring functions accept them."""
        given = self.read_predictions(questions["prediction"])
        return given, [json.loads(text) for text in questions["answers"].to_pylist()]

    def extracted(self, questions: pa.Table, totals: Totals) -> pa.Table:
        """Take the answer out of each prediction of a block; those that this changes stay in the column `RAW`."""
        if not self.rules.extract:
            return questions
        stored = questions["prediction"].combine_chunks()
        given = self.read_predictions(stored)
        found = list(map(self.rules.extracted, given))
        is_same = np.array([one is other or one == other for one, other in zip(given, found, strict=True)], dtype=bool)
        totals.counts["extracted"] += int(np.count_nonzero(~is_same))
        column = self.stored(found, "predictions", str, with_ids=False)
        place = questions.column_names.index("prediction")
        rows = number_array(np.arange(len(is_same)), is_same)
        return questions.set_column(place, "prediction", column).append_column(RAW, stored.take(rows))

    def tally_without(self, questions: pa.Table, scores: _Floats, found: Any, totals: Totals) -> None:
        """Count the scores of a block without its extraction."""
        rows, again, _ = self._without(questions)
        without = scores.copy()
        without[rows] = again
        totals.tally(WITHOUT_EXTRACTION, without)

    def mean_without(self, totals: Totals) -> float:
        """Return the score of a submission without its extraction."""
        return totals.at(*WITHOUT_EXTRACTION).mean

    def _without(self, questions: pa.Table) -> tuple[list[int], _Floats, Any]:
        """Return the rows that the extraction changed, with their scores without it, and what `score` found."""
        rows = np.flatnonzero(as_bools(questions[RAW].combine_chunks().is_valid()))
        if not len(rows):
            return [], np.zeros(0), None
        changed = questions.take(number_array(rows))
        place = changed.column_names.index("prediction")
        return rows.tolist(), *self.score(changed.set_column(place, "prediction", changed[RAW]), False, Totals())

    def tally_groups(self, name: str, labels: pa.Array, found: Any, totals: Totals) -> None:
        """Count by groups what `score` found beside the scores."""

    def read_predictions(self, stored: pa.Array) -> list[Any]:
        """Return stored predictions as the scoring functions accept them."""
        return [json.loads(text or b"null") for text in stored.to_pylist()]

    def score(self, questions: pa.Table, detailed: bool, totals: Totals) -> tuple[_Floats, Any]:
        """Return the scores of a block and, if `detailed`, what `columns` takes; add notes to the totals."""
        raise NotImplementedError

    def note_marks(self, questions: pa.Table, texts: Any, scores: _Floats, totals: Totals) -> None:
        """Count the predictions that score 0, and those of them that have marks around an answer."""
        zeros, marked = marked_rows(texts, scores)
        totals.counts["zeros"] += zeros
        for name, count in count_steps(marked).items():
            totals.counts[_MARKED_BY + name] += count
        _note_rows(totals, "marked", dict.fromkeys(marked, ""), questions)

    def marks_note(self, totals: Totals) -> list[str]:
        """Return the note on the predictions that `note_marks` counted."""
        counts = {name: totals.counts[_MARKED_BY + name] for name in MARK_STEPS if totals.counts[_MARKED_BY + name]}
        marked, names = _noted(totals, "marked")
        return extract_note(totals.counts["zeros"], marked, names, counts, self.rules.extract)

    def columns(self, questions: pa.Table, found: Any) -> dict[str, pa.Array]:
        """Return columns that explain the scores of a block."""
        columns: dict[str, pa.Array] = found
        return columns

    def notes(self, totals: Totals) -> list[str]:
        """Return the warnings to show to the user."""
        return []

    def signature(self, n: int, missing: Missing, parse: Sequence[str] = ()) -> str:
        """Return the signature of the score."""
        return signature(self.rules, n=n, missing=missing, parse=parse, fields=self.fields)

    def mean(self, totals: Totals) -> float:
        """Return the score of a submission."""
        return totals.scores.mean

    def interval(self, totals: Totals, seed: int) -> Interval:
        """Return the confidence interval of the score, from questions that are independent."""
        return confidence_interval(totals.scores, seed=seed)

    def figures(self, totals: Totals) -> dict[str, float]:
        """Return what is reported besides the score."""
        return {}

    def key_scores(self, totals: Totals) -> dict[str, KeyMean] | None:
        """Return the mean score of each key, for trees."""
        return None


def make_scorer(
    protocol: str | Protocol,
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
    options: Mapping[str, object] | None = None,
) -> Scorer:
    """Return the scorer of a protocol of any kind."""
    rules = get_rules(protocol, threshold, extract)
    resolved = read_fields(fields, rules)
    known = rules.checked_options(options)
    if isinstance(rules, Protocol):
        return TreeScorer(rules, resolved) if rules.tree else TextScorer(rules)
    return LeaderboardScorer(rules) if hasattr(rules, "score_all") else BenchmarkScorer(rules, known)


class TextScorer(Scorer):
    """Scores texts."""

    rules: Protocol

    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Return texts, or lists of texts, as a column."""
        wanted = TEXT_TYPES[side]
        column = read_column(values, side, wanted)
        if not isinstance(column, list) and (side == "predictions" or has_no_gap(as_array(column))):
            return as_array(column).cast(STORED.field(side).type.field(1).type)
        return stored_texts(as_list(column), where, side)

    def read_predictions(self, stored: pa.Array) -> list[Any]:
        """Return stored predictions as texts."""
        return as_list(decode_texts(stored, TEXTS))

    def read(self, questions: pa.Table) -> tuple[Any, Any]:
        """Return Arrow arrays, or lists if a text contains a lone surrogate."""
        texts = decode_texts(questions["prediction"].combine_chunks(), TEXTS)
        return texts, decode_texts(questions["answers"].combine_chunks(), TEXT_LISTS)

    def score(self, questions: pa.Table, detailed: bool, totals: Totals) -> tuple[_Floats, Measured | None]:
        """Score texts; the details are `Measured`."""
        texts, answers = self.read(questions)
        scored = score_columns(texts, answers, self.rules, detailed)
        self.note_marks(questions, texts, scored.scores, totals)
        _note_rows(totals, "unanswered", dict.fromkeys(scored.unanswered, ""), questions)
        if scored.padding_gains:
            totals.counts["padded"] += len(scored.padding_gains)
            totals.count(("padding gain",), collections.Counter(scored.padding_gains))
        return scored.scores, scored.measured

    def columns(self, questions: pa.Table, found: Measured) -> dict[str, pa.Array]:
        """Return the closest answer, its distance, and the class of loss."""
        texts, options = self.read(questions)
        closest, nowhere = closest_answers(options, found), found.closest < 0
        similarities = np.asarray(compute_similarity(found.distances, found.lengths, self.rules), dtype=np.float64)
        return {
            "prediction": text_column(texts),
            "closest_reference": text_column(closest),
            "distance": number_array(found.distances, nowhere),
            "length": number_array(found.lengths, nowhere),
            "similarity": number_array(similarities, nowhere),
            "loss": text_array(question_classes(as_list(texts), closest, found.scores, self.rules)).cast(pa.string()),
        }

    def notes(self, totals: Totals) -> list[str]:
        """Warn about predictions that are None, and about whitespace that raised the score."""
        unanswered = _noted(totals, "unanswered")
        padded, gain = totals.counts["padded"], float(totals.at("padding gain").total)
        said = text_sentences(totals.n, unanswered, padded, totals.scores.mean, gain, self.rules)
        return [*said, *self.marks_note(totals)]


def _missing(questions: pa.Table) -> npt.NDArray[np.bool_]:
    return as_bools(questions["is_missing"].combine_chunks())


def _note_rows(totals: Totals, what: str, paths: Mapping[int, str], questions: pa.Table) -> None:
    """Count these rows of a block that are not missing, and keep the ids of the first ones, with a path in the tree."""
    missing = _missing(questions)
    rows = [row for row in paths if not missing[row]]
    if not rows:
        return
    ids = _ids_at(rows[:FIRST], questions)
    if None in ids:
        totals.note_rows(what, len(rows), [(totals.n + row, paths[row]) for row in rows[:FIRST]])
    else:
        names = map(named_row, map(repr, ids), map(paths.__getitem__, rows))
        totals.note(what, len(rows), list(names))


def _ids_at(rows: list[int], questions: pa.Table) -> Sequence[str | None]:
    """Return the ids of rows of a block; None where the files have no ids."""
    return id_list(questions["question_id"].take(number_array(np.array(rows))).combine_chunks())


def _named_row(row: int, questions: pa.Table, totals: Totals) -> str:
    """Name a row of a block by its id, or else by its number."""
    own = _ids_at([row], questions)[0]
    return str(totals.n + row) if own is None else repr(own)


def _noted(totals: Totals, what: str) -> Noted:
    """Return how many questions a warning is about, and name the first of them."""
    count, ids = totals.noted(what)
    rows = totals.rows.get(what)
    return noted(count, [named_row(str(row), path) for row, path in rows], "row") if rows else noted(count, ids)


def text_column(values: Sequence[str | None] | pa.Array) -> pa.Array:
    """Return texts as an Arrow column, with lone surrogates escaped."""
    if isinstance(values, pa.Array):
        return values
    try:
        return text_array(values)
    except UnicodeEncodeError:
        return text_array([None if own is None else escaped_surrogates(own) for own in values])


def escaped_surrogates(text: str) -> str:
    """Return a text with lone surrogates escaped, since Arrow and UTF-8 cannot hold them."""
    return text.encode("utf-8", "backslashreplace").decode()


# Before the path of a field, in the counts of a totals.
_HAS, _LACKS, _WITHOUT_KEY = "field in ", "field not in ", "without the key of "


class TreeScorer(Scorer):
    """Scores trees by ANLS*."""

    metric = "anls_star_score"
    rules: Protocol

    def __init__(self, rules: Protocol, fields: Fields | None = None) -> None:
        super().__init__(rules)
        self.fields = fields

    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Return trees as JSON text; with question_ids, a list of answers holds alternatives."""
        listed = as_list(read_column(values, side))
        if side == "references" and with_ids:
            listed = [tuple(value) if isinstance(value, list) else value for value in listed]
        return super().stored(listed, side, where, with_ids)

    def score(self, questions: pa.Table, detailed: bool, totals: Totals) -> tuple[_Floats, dict[str, pa.Array]]:
        """Score trees; the details are the closest references."""
        trees = self.read(questions)
        pairs = list(zip(*trees, strict=True))
        for what, rows in tree_rows_to_note(*trees, self.rules).items():
            _note_rows(totals, what, rows, questions)
        if self.fields:
            self._note_fields(trees[1], self.fields, questions, totals)
        scores = np.zeros(len(pairs))
        closest: list[str | None] = [None] * len(pairs)
        for row in np.flatnonzero(~_missing(questions)).tolist():
            try:
                found = ExplainedTree(*pairs[row], self.rules, self.fields)
            except AnlsError as error:  # a reference that its field cannot read
                raise located(f"question {_named_row(row, questions, totals)}", error) from None
            scores[row] = found.score
            for path, node in walk_keys(found.key_scores(), lambda node: node.children):
                totals.count(("key", *path), {float(node.anls_score or 0.0): 1})
            if detailed:
                closest[row] = _json(tree_as_json(found.closest_reference()))
        if not detailed:
            return scores, {}
        return scores, {
            "prediction": text_column(decode_texts(questions["prediction"].combine_chunks(), TEXTS)),
            "closest_reference": text_column(closest),
        }

    def notes(self, totals: Totals) -> list[str]:
        """Warn about references read as alternatives, predictions that are JSON text, and fields that none has."""
        notes = sentences(totals.n, {what: _noted(totals, what) for what in SENTENCES})
        if self.fields is None:
            return notes
        fields = self.fields
        unmatched = [path for path in fields if totals.counts[_LACKS + path] and not totals.counts[_HAS + path]]
        notes += unmatched_sentences(Unmatched(unmatched, list(totals.paths)))
        for path in fields:
            if totals.counts[_WITHOUT_KEY + path]:
                found = _noted(totals, _WITHOUT_KEY + path)
                notes.append(without_key_sentence(totals.n, found, path, fields))
        return notes

    def _note_fields(self, references: list[Any], fields: Fields, questions: pa.Table, totals: Totals) -> None:
        """Count the fields that the references of a block have and lack, and the references without a key."""
        open_paths = [] if fields.from_schema else [path for path in fields if not totals.counts[_HAS + path]]
        unmatched = unmatched_fields(references, fields, self.rules, open_paths)
        for path in open_paths:
            totals.counts[(_LACKS if path in unmatched.fields else _HAS) + path] += 1
        totals.note_paths(unmatched.seen)
        for path, rows in rows_without_key(references, fields, self.rules).items():
            _note_rows(totals, _WITHOUT_KEY + path, dict.fromkeys(rows, ""), questions)

    def key_scores(self, totals: Totals) -> dict[str, KeyMean]:
        """Return for each key its mean ``anls_score``, the number of ``documents`` with it, and its ``children``."""
        nodes: dict[tuple[str, ...], dict[str, Any]] = {(): {"children": {}}}
        for (kind, *path), tally in totals.tallies.items():
            if kind == "key":  # a key comes after the one that it is below
                node = {"anls_score": tally.mean, "documents": tally.n, "children": {}}
                nodes[tuple(path)] = nodes[tuple(path[:-1])]["children"][path[-1]] = node
        keys: dict[str, KeyMean] = nodes[()]["children"]
        return keys


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _answer_types(questions: pa.Table, rules: Leaderboard | Benchmark) -> list[str | None] | None:
    """Return the answer type of each question; None if the rules have none."""
    if not rules.answer_types:
        return None
    labels = questions["answer_type"].to_pylist() if "answer_type" in questions.column_names else [[]]
    if not labels[0]:
        raise AnlsError(
            f"protocol {rules.name!r} needs the answer type of each question, one of {', '.join(rules.answer_types)}.",
            remedies=[Remedy("columns", {"answer_type": "NAME"}, "name its column")],
        )
    return [own[0] if own else None for own in labels]


class LeaderboardScorer(Scorer):
    """Scores questions by the rules of a leaderboard, with their answer types from a column."""

    rules: Leaderboard

    def open_references(self, references: Reader) -> Reader:
        """Return a reader without variants of the answers, which leaderboard scripts ignore."""
        return references.without_variants()

    def score(self, questions: pa.Table, detailed: bool, totals: Totals) -> tuple[_Floats, dict[str, pa.Array]]:
        """Score questions; the details are the predictions and references."""
        predictions, references = self.read(questions)
        scores, notes = self.rules.score_all(predictions, references, _answer_types(questions, self.rules))
        totals.notes |= dict.fromkeys(notes)
        scores[_missing(questions)] = 0.0
        answerable, answered = self.rules.tally_answerable(scores, predictions, references)
        totals.count(("answerable",), answerable.counts)
        totals.counts["answered"] += answered
        details = {"prediction": predictions, "answers": references} if detailed else {}
        return scores, {name: text_column(list(map(_json, values))) for name, values in details.items()}

    def figures(self, totals: Totals) -> dict[str, float]:
        """Return the accuracy and F1 if the leaderboard reports them."""
        return self.rules.figures(totals.scores, totals.at("answerable"), totals.counts["answered"])


class Counts(NamedTuple):
    """What a benchmark counts of each question of a block, as text, and columns that show the questions."""

    texts: list[str]
    columns: dict[str, pa.Array]


_ALL = ("score",)


def _column_name(option: str, value: object) -> str:
    if not isinstance(value, str):
        problem = "expected the name of the column that has it for each question"
        raise AnlsError(problem, option=f"options[{option!r}]", value=value)
    return value


def _option_values(questions: pa.Table, option: str) -> list[Any]:
    """Return what an option holds for each question of a block, None where it is missing."""
    return [None if text is None else json.loads(text) for text in questions[OPTION + option].to_pylist()]


class BenchmarkScorer(Scorer):
    """Counts what a benchmark counts; its figures are computed from the sums."""

    metric = "score"
    rules: Benchmark

    def __init__(self, rules: Benchmark, options: Mapping[str, object]) -> None:
        super().__init__(rules)
        self.averages, self._options = rules.averages, options
        self.option_columns = {
            name: _column_name(name, value)
            for name, value in options.items()
            if name in rules.question_options and not isinstance(value, Mapping)
        }
        shared = [name for name in rules.required_options if name in rules.shared_options]
        if shared and not options.keys() & shared:
            problem = f"protocol {rules.name!r} needs the option {' or '.join(map(repr, shared))}."
            example = {shared[-1]: {"NAME": "unrepeated"}}
            raise AnlsError(problem, remedies=[Remedy("options", example, "give it for each name")])

    def with_columns(self, names: Sequence[str], where: str) -> dict[str, object]:
        """Return the options, those that each question has with their columns: by default those of the same name."""
        found = dict(self._options)
        for option in self.rules.question_options:
            same = [name for name in names if name.casefold() == option]
            if option not in found and same:
                found[option] = option if option in same else same[0]
            elif option not in found and option in self.rules.required_options:
                problem = f"protocol {self.rules.name!r} needs {option!r} of each question, a column that {where}."
                raise AnlsError(problem, remedies=[Remedy("options", {option: "NAME"}, "name its column")])
        return found

    def signature(self, n: int, missing: Missing, parse: Sequence[str] = ()) -> str:
        """Return the signature of the score, with the options."""
        return signature(self.rules, n=n, missing=missing, parse=parse, options=self._options)

    def notes(self, totals: Totals) -> list[str]:
        """Name the columns that the options of questions are read from, and warn where ties change the figures."""
        read = [f"option {option!r} is read from the column {name!r}" for option, name in self.option_columns.items()]
        return [*read, *([f"{self.rules.name}: {self.rules.ties}"] if self.rules.ties else [])]

    def open_references(self, references: Reader) -> Reader:
        """Return a reader without variants of the answers, which the scripts of benchmarks ignore."""
        return references.without_variants()

    def score(self, questions: pa.Table, detailed: bool, totals: Totals) -> tuple[_Floats, Counts]:
        """Return the headline of each question or document alone, 0 where it has none; the details are both sides."""
        predictions, references = self.read(questions)
        options = {**self._options, **{name: _option_values(questions, name) for name in self.option_columns}}
        types_of = _answer_types(questions, self.rules)
        counts: list[Mapping[Any, Any]] = []
        try:
            missing = set(np.flatnonzero(_missing(questions)).tolist())
            for own in self.rules.count_all(predictions, references, types_of, options, missing):
                counts.append(self.rules.as_counts(own))
        except ValueError as error:  # of the question after those that are counted
            raise located(f"question {_named_row(len(counts), questions, totals)}", error) from None
        texts = [_json(list(own.items())) for own in counts]
        totals.count_texts(_ALL, texts)
        scores = np.array(list(map(self.rules.headline_of, counts)), dtype=np.float64)
        details = {"prediction": predictions, "answers": references} if detailed else {}
        return scores, Counts(texts, {name: text_column(list(map(_json, own))) for name, own in details.items()})

    def columns(self, questions: pa.Table, found: Counts) -> dict[str, pa.Array]:
        """Return the prediction and the reference of each question."""
        return found.columns

    def tally_without(self, questions: pa.Table, scores: _Floats, found: Counts, totals: Totals) -> None:
        """Count what is counted of a block without its extraction."""
        rows, _, again = self._without(questions)
        texts = found.texts.copy()
        for row, text in zip(rows, again.texts if rows else (), strict=True):
            texts[row] = text
        totals.count_texts(WITHOUT_EXTRACTION, texts)

    def mean_without(self, totals: Totals) -> float:
        """Return the headline without the extraction."""
        return self.rules.figures_of_counted(totals.counted.get(WITHOUT_EXTRACTION, {}))["score"] or 0.0

    def tally_groups(self, name: str, labels: pa.Array, found: Counts, totals: Totals) -> None:
        """Count what is counted of the questions of each group."""
        if not self.averages:
            for own, text in zip(labels.to_pylist(), found.texts, strict=True):
                totals.count_texts(("by", name, *own), [text])

    def mean(self, totals: Totals) -> float:
        """Return the headline; it is an error if the benchmark reports none."""
        score = self._figures(totals)["score"]
        if score is None:
            raise ValueError(f"protocol {self.rules.name!r} reports no figure for these {self.rules.unit}s")
        return score

    def interval(self, totals: Totals, seed: int) -> Interval:
        """Return the interval of a mean as always, and that of any other headline from resampled documents."""
        if self.averages:
            return super().interval(totals, seed)
        counted = totals.counted[_ALL]
        table = CountTable(self.rules, counted)
        return counted_interval(table, Units(table.rows(counted), list(counted.values())), seed)

    def figures(self, totals: Totals) -> dict[str, float]:
        """Return the figures of the benchmark, but those that it does not report."""
        return {name: own for name, own in self._figures(totals).items() if own is not None and name != "score"}

    def _figures(self, totals: Totals) -> dict[str, float | None]:
        return self.rules.figures_of_counted(totals.counted.get(_ALL, {}))
