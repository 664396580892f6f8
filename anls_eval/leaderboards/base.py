"""`Leaderboard`: the rules of a leaderboard that need more than two texts, and how they score questions."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from anls_eval.arrow import Floats
from anls_eval.errors import AnlsError, check_choice
from anls_eval.extract.steps import check_extract, read_extract
from anls_eval.inputs.values import is_missing_value
from anls_eval.leaderboards.question import Outcome, Pairs, Question, Rule, Similarity, as_integer, plain_list, row_text
from anls_eval.notes import padding_sentence
from anls_eval.rules.protocol import Protocol, Rules, Threshold
from anls_eval.statistics.tally import Tally
from anls_eval.text.measure import score_columns
from anls_eval.types import Extract


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leaderboard(Rules):
    """The rules of one leaderboard: each determines a score, or returns pairs of texts to compare in one batch."""

    name: str
    description: str
    rules: Mapping[str, Rule] = dataclasses.field(repr=False)  # by answer type; one under "" if there are no types
    similarity: Similarity = dataclasses.field(repr=False)
    reports: tuple[str, ...] = ("mean",)  # mean, accuracy, f1
    correct_from: float | None = None  # minimum score that counts as correct; None if the accuracy is the mean
    extract: tuple[str, ...] = ()  # steps that take the answer out of each prediction
    source: str
    aliases: tuple[str, ...] = ()
    reads_lists: bool = False

    def __post_init__(self) -> None:
        check_extract(self.extract, of_trees=False)

    @property
    def answer_types(self) -> tuple[str, ...]:
        """The answer types, one of which each question needs; empty where questions need none."""
        return tuple(filter(None, self.rules))

    def with_threshold(self, threshold: Threshold) -> Leaderboard:
        """Refuse any threshold but None."""
        if threshold is not None:
            problem = f"protocol {self.name!r} has its own and takes none"
            raise AnlsError(problem, option="threshold", value=threshold)
        return self

    def with_extract(self, extract: Extract) -> Leaderboard:
        """Return these rules with other steps that take the answer out; None keeps the steps, "none" removes them."""
        names = read_extract(extract)
        return self if names is None else dataclasses.replace(self, extract=names)

    def signature_fields(self) -> dict[str, object]:
        """Return the fields of a signature that name the rules."""
        return {"protocol": self.name, **({"extract": "+".join(self.extract)} if self.extract else {})}

    def score_one(self, prediction: Any, reference: Any, answer_type: str | None) -> tuple[float, list[str]]:
        """Return the score of one question, and the warnings about it."""
        scores, notes = self._score([Question(prediction, reference, self._checked_type(answer_type, None), None, {})])
        return scores[0], notes

    def score_all(
        self, predictions: Sequence[Any], references: Sequence[Any], answer_types: Sequence[Any] | None
    ) -> tuple[Floats, list[str]]:
        """Return the scores of n questions, and the warnings about them."""
        given = [None] * len(predictions) if answer_types is None else answer_types
        if len(given) != len(predictions):
            raise ValueError(
                f"{len(predictions)} predictions but {len(given)} answer_types; expected one for each prediction"
            )
        questions = [
            Question(prediction, reference, self._checked_type(answer_type, row), row, {})
            for row, (prediction, reference, answer_type) in enumerate(zip(predictions, references, given, strict=True))
        ]
        scores, notes = self._score(questions)
        return np.array(scores, dtype=np.float64), notes

    def figures(self, scores: Tally, answerable: Tally, answered: int) -> dict[str, float]:
        """Return the reported figures besides the mean, from what `tally_answerable` returns for all questions."""
        correct = sum(count for score, count in scores.counts.items() if score >= (self.correct_from or 0))
        found = {
            "accuracy": scores.mean if self.correct_from is None else correct / scores.n,
            "f1": _f1(answerable, answered),
        }
        return {name: value for name, value in found.items() if name in self.reports}

    @staticmethod
    def tally_answerable(
        scores: Sequence[float] | Floats, predictions: Sequence[Any], references: Sequence[Any]
    ) -> tuple[Tally, int]:
        """Return the inputs of the F1: the scores of answerable questions, and the number of answered questions."""
        points = [float(score) for score, reference in zip(scores, references, strict=True) if not _declines(reference)]
        return Tally.of(points), sum(not _declines(prediction) for prediction in predictions)

    def _checked_type(self, answer_type: Any, number: int | None) -> str:
        if not self.answer_types:
            if answer_type is not None:
                problem = f"protocol {self.name!r} has no answer types; leave it out"
                raise AnlsError(problem, option=f"answer_type{row_text(number)}", value=answer_type)
            return ""
        known = answer_type.replace(" ", "-") if isinstance(answer_type, str) else ""
        if known in self.rules:
            return known
        return str(check_choice(f"answer_type{row_text(number)}", answer_type, self.answer_types))

    def _score(self, questions: list[Question]) -> tuple[list[float], list[str]]:
        outcomes = list(map(self._outcome, questions))
        scores = _compared(outcomes, self.similarity)
        notes = (
            _unanswered_note(questions),
            _integer_note(questions),
            _line_break_note(questions),
            self._padding_note(outcomes, scores),
        )
        return scores, [note for note in notes if note]

    def _outcome(self, question: Question) -> Outcome:
        rule = self.rules[question.answer_type]
        if not is_missing_value(question.prediction):
            return rule(question)
        empty = rule(question.with_prediction(""))  # also refuses a reference that cannot be read
        return empty if question.answer_type == "not-answerable" else 0.0

    def _padding_note(self, outcomes: list[Outcome], scores: list[float]) -> str:
        """Whitespace around texts raises a similarity that is divided by raw lengths; other rules strip it."""
        pairs = [(row, own, own.without_padding()) for row, own in enumerate(outcomes) if isinstance(own, Pairs)]
        padded = [(row, bare) for row, own, bare in pairs if (own.texts, own.answers) != (bare.texts, bare.answers)]
        bare_scores = _compared([bare for _, bare in padded], self.similarity)
        gains = [scores[row] - bare for (row, _), bare in zip(padded, bare_scores, strict=True) if scores[row] > bare]
        if not gains:
            return ""
        n = len(scores)
        return padding_sentence(self.name, n, len(gains), math.fsum(scores) / n, math.fsum(gains))


def by_protocol(protocol: Protocol) -> Similarity:
    """Return the similarity of a protocol for texts; a partial function, which can be pickled."""
    return functools.partial(_similarity, protocol)


def _similarity(protocol: Protocol, texts: list[str], answers: list[str]) -> Floats:
    return score_columns(texts, [[answer] for answer in answers], protocol).scores


def _compared(outcomes: list[Outcome], similarity: Similarity) -> list[float]:
    """Return the scores, after comparing the pairs of all questions in one batch."""
    pairs = [outcome for outcome in outcomes if isinstance(outcome, Pairs)]
    texts = list(chain.from_iterable(own.texts for own in pairs))
    found = iter(similarity(texts, list(chain.from_iterable(own.answers for own in pairs))).tolist())
    return [
        outcome.combine(list(islice(found, len(outcome.texts)))) if isinstance(outcome, Pairs) else outcome
        for outcome in outcomes
    ]


def _f1(answerable: Tally, answered: int) -> float:
    points = float(answerable.total)
    if not (points and answered):
        return 0.0
    recall, precision = points / answerable.n, points / answered
    return 2 * recall * precision / (recall + precision)


def _declines(value: Any) -> bool:
    """Return whether a value is the text "Not answerable", or a list of just that."""
    value = plain_list(value)
    if isinstance(value, (list, tuple)) and len(value) == 1:
        [value] = value
    return isinstance(value, str) and value == "Not answerable"


def _unanswered_note(questions: list[Question]) -> str:
    rows = [row for row, question in enumerate(questions) if is_missing_value(question.prediction)]
    if not rows:
        return ""
    return f"predictions that are None or NaN: {_which(rows, questions)}. They score 0 as unanswered"


def _integer_note(questions: list[Question]) -> str:
    rows = [
        row
        for row, question in enumerate(questions)
        if question.answer_type == "Int" and any(isinstance(as_integer(own), str) for own in question.integer_answers())
    ]
    if not rows:
        return ""
    return (
        f"answers of type Int that are not integers: {_which(rows, questions)}. As in the original, every prediction "
        "is then wrong, or correct if the answer is empty"
    )


def _line_break_note(questions: list[Question]) -> str:
    lists = [(row, own) for row, own in enumerate(questions) if own.answer_type.lower().startswith("list")]
    rows = [row for row, question in lists if question.breaks_lines()]
    if not rows:
        return ""
    return (
        f"lists of answers with line breaks inside their strings: {_which(rows, questions)}. They were read as they "
        "are; the original fails there"
    )


_MAX_NAMED = 5


def _which(rows: list[int], questions: list[Question]) -> str:
    """Return how many of how many, and which: "2 of 9 (row 3, 7)"."""
    first = ", ".join(map(str, rows[:_MAX_NAMED]))
    more = ", ..." if len(rows) > _MAX_NAMED else ""
    return f"{len(rows)} of {len(questions)} (row {first}{more})"
