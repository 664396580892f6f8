"""How questions are stored and scored: as texts, as trees, or as a leaderboard does."""

from __future__ import annotations

import abc
import collections
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

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
from anls_eval.errors import check_choice, short_repr
from anls_eval.explanation.result import ScoreNode
from anls_eval.explanation.tree import ExplainedTree
from anls_eval.inputs.columns import read_column
from anls_eval.leaderboards.rules import LEADERBOARDS, answerable_scores, get_leaderboard, noted_scores, summarised
from anls_eval.notes import TREE_NOTES, text_notes_on, tree_notes_on, tree_rows_to_note
from anls_eval.questions.columns import STORED, TEXT_TYPES, id_list, stored_answers, stored_texts, stored_trees
from anls_eval.registry import get_protocol, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, read_threshold, threshold_error
from anls_eval.rules.table import PROTOCOLS
from anls_eval.submission.totals import Summary
from anls_eval.text.closest import ClosestPairs, closest_pairs, measure
from anls_eval.text.measure import Scored, score_columns
from anls_eval.text.similarity import compute_similarity
from anls_eval.tree.as_json import tree_as_json
from anls_eval.version import __version__

_Floats = npt.NDArray[np.float64]
_Where = Callable[[int], str]


class Scorer(abc.ABC):
    """Scores questions block by block. What its user must be told is kept in a `Summary`.

    Attributes:
        metric: What the score is called in results.
    """

    metric = "anls_score"

    @abc.abstractmethod
    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Check the predictions or answers of some rows, and make them a column.

        Args:
            values: A list or an Arrow array.
            side: ``"predictions"`` or ``"references"``.
            where: Names a row in a message.
            with_ids: Whether the rows have question_ids.

        Raises:
            ValueError: Something cannot be scored. The message names its row.
        """

    @abc.abstractmethod
    def read(self, questions: pa.Table) -> tuple[Any, Any]:
        """Give the predictions and answers of questions that `alignment.Alignment` gave, as the metric takes them."""

    @abc.abstractmethod
    def score(self, questions: pa.Table, detailed: bool, summary: Summary) -> tuple[_Floats, dict[str, pa.Array]]:
        """Score questions that `alignment.Alignment` gave, with columns of what else there is to say, if asked for.

        Args:
            questions: The questions.
            detailed: Whether there are columns.
            summary: Of the questions before these. What a user must be told is added to it; the scores are not.

        Returns:
            The scores, and the columns by name.
        """

    @abc.abstractmethod
    def notes(self, summary: Summary) -> list[str]:
        """What the user must be told about the score."""

    @abc.abstractmethod
    def signature(self, n: int, missing: str) -> str:
        """The line that says how the score was computed."""

    def figures(self, summary: Summary) -> dict[str, float]:
        """What is reported besides the mean."""
        return {}

    def key_scores(self, summary: Summary) -> dict[str, Any] | None:
        """The mean score of each key, for trees."""
        return None


def make_scorer(protocol: str | Protocol, threshold: float | str | Fraction | Decimal | None = None) -> Scorer:
    """Give the scorer of a protocol.

    Args:
        protocol: A name or alias in `PROTOCOLS` or `leaderboards.LEADERBOARDS`, or an `Protocol`.
        threshold: The least similarity that counts, in place of the protocol's.

    Raises:
        ValueError: An unknown protocol, a threshold outside 0 to 1, or one for a leaderboard, which has its own.
    """
    if isinstance(protocol, str) and is_leaderboard(protocol):
        if threshold is not None:
            raise ValueError(f"threshold={short_repr(threshold)}: protocol {protocol!r} has its own and takes none")
        return LeaderboardScorer(protocol)
    try:
        rules = resolve_rules(protocol, exact_threshold(threshold), of_trees=None)
    except ValueError:
        if isinstance(protocol, str) and not is_protocol(protocol):  # name those of leaderboards, too
            check_choice("protocol", protocol, PROTOCOL_NAMES)
        raise
    return TreeScorer(rules) if rules.tree else TextScorer(rules)


def is_protocol(protocol: str) -> bool:
    """Whether a name or alias is that of a protocol in `PROTOCOLS`."""
    try:
        get_protocol(protocol)
    except ValueError:
        return False
    return True


def is_leaderboard(protocol: str) -> bool:
    """Whether a name or alias is that of a composite protocol."""
    try:
        get_leaderboard(protocol)
    except ValueError:
        return False
    return True


def exact_threshold(threshold: float | str | Fraction | Decimal | None) -> float | Fraction | Decimal | None:
    """Read a threshold given as text, as the decimal or fraction that it writes; anything else comes back as it is."""
    if not isinstance(threshold, str):
        return threshold
    with contextlib.suppress(ValueError, ArithmeticError):
        return read_threshold(Fraction(threshold) if "/" in threshold else Decimal(threshold))
    raise threshold_error(threshold)


class TextScorer(Scorer):
    """Scores texts by a protocol of `PROTOCOLS`."""

    def __init__(self, rules: Protocol) -> None:
        self.rules = rules

    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Texts, or lists of them."""
        wanted = TEXT_TYPES[side]
        column = read_column(values, side, wanted)
        if not isinstance(column, list) and (side == "predictions" or has_no_gap(as_array(column))):
            return as_array(column).cast(STORED.field(side).type.field(1).type)
        store = stored_texts if side == "predictions" else stored_answers
        return store(as_list(column), where)

    def read(self, questions: pa.Table) -> tuple[Any, Any]:
        """Arrow arrays, or lists where a text holds a lone surrogate."""
        texts = decode_texts(questions["prediction"].combine_chunks(), TEXTS)
        return texts, decode_texts(questions["answers"].combine_chunks(), TEXT_LISTS)

    def score(self, questions: pa.Table, detailed: bool, summary: Summary) -> tuple[_Floats, dict[str, pa.Array]]:
        """Score texts; the details are the closest answer, how far it is, and the class of loss."""
        texts, options = self.read(questions)
        if not detailed:
            scored = score_columns(texts, options, self.rules)
            _note_texts(summary, scored, questions)
            return scored.scores, {}
        pairs = closest_pairs(texts, options, self.rules)
        _note_texts(summary, pairs.scored, questions)
        return pairs.scores, self._details(pairs)

    def _details(self, pairs: ClosestPairs) -> dict[str, pa.Array]:
        n = len(pairs.scores)
        answered = np.array([row for row, text in enumerate(pairs.predictions) if text is not None], dtype=np.int64)
        measured = np.zeros(n, dtype=bool)
        measured[answered] = True
        distances, lengths = np.zeros((2, n), dtype=np.int64)
        distances[answered], lengths[answered] = measure(pairs, self.rules, answered)
        similarities = np.asarray(compute_similarity(distances, lengths, self.rules), dtype=np.float64)
        return {
            "prediction": text_column(pairs.predictions),
            "closest_reference": text_column(pairs.answers),
            "distance": number_array(distances, ~measured),
            "length": number_array(lengths, ~measured),
            "similarity": number_array(similarities, ~measured),
            "loss": text_array(question_classes(pairs, self.rules)).cast(pa.string()),
        }

    def notes(self, summary: Summary) -> list[str]:
        """Predictions that are None, and padding that raised the score."""
        first = f"question_id {', '.join(summary.first.get('unanswered', []))}"
        gain = float(summary.at("padding gain").total)
        counts, n = summary.counts, summary.n
        return text_notes_on(n, summary.scores.mean, counts["unanswered"], first, counts["padded"], gain, self.rules)

    def signature(self, n: int, missing: str) -> str:
        """As `signature` gives it."""
        return signature(self.rules, n=n, missing=missing)


def _note_texts(summary: Summary, scored: Scored, questions: pa.Table) -> None:
    missing = as_bools(questions["is_missing"].combine_chunks())
    _note_rows(summary, "unanswered", [row for row in scored.unanswered if not missing[row]], questions)
    if scored.padding_gains:
        summary.counts["padded"] += len(scored.padding_gains)
        summary.count(("padding gain",), collections.Counter(scored.padding_gains))


def _note_rows(summary: Summary, what: str, rows: list[int], questions: pa.Table) -> None:
    """Count these rows of a block, and keep the ids of the first."""
    if rows:
        ids = id_list(questions["question_id"].take(number_array(np.array(rows[:5]))).combine_chunks())
        names = [str(summary.n + row) if own is None else repr(own) for own, row in zip(ids, rows, strict=False)]
        summary.note(what, len(rows), names)


def text_column(values: Sequence[str | None] | pa.Array) -> pa.Array:
    """Give texts as Arrow can hold them: a lone surrogate as its escape."""
    if isinstance(values, pa.Array):
        return values
    try:
        return text_array(values)
    except UnicodeEncodeError:
        return text_array([None if own is None else escaped_surrogates(own) for own in values])


def escaped_surrogates(text: str) -> str:
    """Give a text with lone surrogates, which Arrow and UTF-8 cannot hold, as their escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


class TreeScorer(Scorer):
    """Scores trees by ANLS*."""

    metric = "anls_star_score"

    def __init__(self, rules: Protocol) -> None:
        self.rules = rules

    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Trees as JSON text; with question_ids, a list of answers holds alternatives."""
        listed = as_list(read_column(values, side))
        if side == "references" and with_ids:
            listed = [tuple(value) if isinstance(value, list) else value for value in listed]
        return stored_trees(listed, side.removesuffix("s"), where, self.rules)

    def read(self, questions: pa.Table) -> tuple[list[Any], list[Any]]:
        """Trees, with alternatives as ``{"$one_of": [...]}``."""
        return _from_json(questions)

    def score(self, questions: pa.Table, detailed: bool, summary: Summary) -> tuple[_Floats, dict[str, pa.Array]]:
        """Score trees; the details are the closest references."""
        missing = as_bools(questions["is_missing"].combine_chunks())
        trees = self.read(questions)
        pairs = list(zip(*trees, strict=True))
        for what, rows in tree_rows_to_note(*trees, self.rules).items():
            _note_rows(summary, what, [row for row in rows if not missing[row]], questions)
        scores = np.zeros(len(pairs))
        closest: list[str | None] = [None] * len(pairs)
        for row in np.flatnonzero(~missing).tolist():
            found = ExplainedTree(*pairs[row], self.rules)
            scores[row] = found.score
            _tally_keys(summary, found.key_scores())
            if detailed:
                closest[row] = _json(tree_as_json(found.closest_reference()))
        if not detailed:
            return scores, {}
        return scores, {
            "prediction": text_column(decode_texts(questions["prediction"].combine_chunks(), TEXTS)),
            "closest_reference": text_column(closest),
        }

    def notes(self, summary: Summary) -> list[str]:
        """References taken as alternatives, and predictions that are JSON text."""
        noted = {
            what: (summary.counts[what], f"question_id {', '.join(summary.first.get(what, []))}") for what in TREE_NOTES
        }
        return tree_notes_on(summary.n, noted)

    def signature(self, n: int, missing: str) -> str:
        """As `signature` gives it."""
        return signature(self.rules, n=n, missing=missing)

    def key_scores(self, summary: Summary) -> dict[str, Any]:
        """For each key its mean ``anls_score``, in how many ``documents`` it was compared, and its ``children``."""
        nodes: dict[tuple[str, ...], dict[str, Any]] = {(): {"children": {}}}
        for (kind, *path), tally in summary.tallies.items():
            if kind == "key":  # a key comes after the one that it is below
                node = {"anls_score": tally.mean, "documents": tally.n, "children": {}}
                nodes[tuple(path)] = nodes[tuple(path[:-1])]["children"][path[-1]] = node
        keys: dict[str, Any] = nodes[()]["children"]
        return keys


def _tally_keys(summary: Summary, nodes: Mapping[str, ScoreNode]) -> None:
    """Add the key scores of one document."""
    stack: list[tuple[tuple[str, ...], Mapping[str, ScoreNode]]] = [(("key",), nodes)]
    while stack:
        above, given = stack.pop()
        for key, node in given.items():
            summary.count((*above, key), {float(node.anls_score or 0.0): 1})
            stack.append(((*above, key), node.children))


def _from_json(questions: pa.Table) -> tuple[list[Any], list[Any]]:
    """Predictions, with None where there is none, and references."""
    given = [json.loads(text or b"null") for text in questions["prediction"].to_pylist()]
    return given, [json.loads(text) for text in questions["answers"].to_pylist()]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class LeaderboardScorer(Scorer):
    """Scores as a composite protocol does; its answer types are a column of the questions."""

    def __init__(self, protocol: str) -> None:
        self.board = get_leaderboard(protocol)

    def stored(self, values: Any, side: str, where: _Where, with_ids: bool) -> pa.Array:
        """Texts and lists as JSON text."""
        listed = as_list(read_column(values, side))
        return stored_trees(listed, side.removesuffix("s"), where, PROTOCOLS["anls_star"])

    def read(self, questions: pa.Table) -> tuple[list[Any], list[Any]]:
        """Texts and lists."""
        return _from_json(questions)

    def score(self, questions: pa.Table, detailed: bool, summary: Summary) -> tuple[_Floats, dict[str, pa.Array]]:
        """Score questions; the details are the predictions and references."""
        missing = as_bools(questions["is_missing"].combine_chunks())
        predictions, references = self.read(questions)
        types = None
        if self.board.answer_types:
            labels = questions["answer_type"].to_pylist() if "answer_type" in questions.column_names else [[]]
            if not labels[0]:
                raise ValueError(
                    f"protocol {self.board.name!r} needs the answer type of each question, one of "
                    f"{', '.join(self.board.answer_types)}; name its column with columns={{'answer_type': NAME}}"
                )
            types = [own[0] if own else None for own in labels]
        scores, notes = noted_scores(predictions, references, self.board.name, types)
        summary.notes |= dict.fromkeys(notes)
        scores[missing] = 0.0
        answerable, answered = answerable_scores(scores, predictions, references)
        summary.count(("answerable",), answerable.counts)
        summary.counts["answered"] += answered
        texts = {"prediction": predictions, "answers": references}
        details = {name: text_column(list(map(_json, values))) for name, values in texts.items()}
        return scores, details if detailed else {}

    def notes(self, summary: Summary) -> list[str]:
        """What `leaderboard_scores` warns of, which is among the notes of the summary."""
        return []

    def signature(self, n: int, missing: str) -> str:
        """The name of the leaderboard in the form of `signature`."""
        return f"anls|protocol:{self.board.name}|aggregate:mean|missing:{missing}|n:{n}|version:{__version__}"

    def figures(self, summary: Summary) -> dict[str, float]:
        """The accuracy and F1 that the leaderboard reports."""
        found = summarised(summary.scores, summary.at("answerable"), summary.counts["answered"], self.board)
        return {name: value for name in ("accuracy", "f1") if (value := getattr(found, name)) is not None}


PROTOCOL_NAMES = (*PROTOCOLS, *LEADERBOARDS)
"""Every protocol that a submission can be scored by."""
