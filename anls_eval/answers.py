"""One prediction beside each of its accepted answers: how far it is from each, and in which characters."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from fractions import Fraction
from typing import Any

import anls
from anls_eval.characters import Span, align_characters
from anls_eval.leaderboards import get_leaderboard, noted_score
from anls_eval.scorers import exact_threshold, is_leaderboard, make_scorer


@dataclasses.dataclass(frozen=True)
class AnswerComparison:
    """A prediction beside one accepted answer.

    Args:
        answer: As it was given.
        compared_answer: After the steps of the protocol.
        compared_prediction: The same.
        distance: The edits between these two.
        length: What the distance is divided by.
        similarity: 1 - distance / length, before the threshold.
        score: What the answer counts, from 0 to 1.
        spans: Which characters differ.
        sentence: All of it in words.
    """

    answer: str
    compared_answer: str
    compared_prediction: str
    distance: int
    length: int
    similarity: float
    score: float
    spans: tuple[Span, ...]
    sentence: str


@dataclasses.dataclass(frozen=True)
class AnswersExplanation:
    """Why a prediction has its score.

    Args:
        score: From 0 to 1.
        protocol: The name of the protocol.
        closest: The number of the closest answer; None without a prediction, or if a leaderboard's rule gave the score.
        comparisons: One for each answer, in their order; empty where `closest` is None.
        rule: What the leaderboard does, in words; empty for protocols of texts.
        signature: As `anls.signature` gives it.
        notes: What a user must be told.
    """

    score: float
    protocol: str
    closest: int | None
    comparisons: tuple[AnswerComparison, ...]
    rule: str
    signature: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON values."""
        result = dataclasses.asdict(self)
        for own, plain in zip(self.comparisons, result["comparisons"], strict=True):
            plain["spans"] = [span._asdict() for span in own.spans]
        return result


def explain_answers(
    prediction: Any,
    answers: Any,
    *,
    protocol: str | anls.Protocol = "standard",
    threshold: float | str | Fraction | Decimal | None = None,
    answer_type: str | None = None,
) -> AnswersExplanation:
    """Compare a prediction with each of its answers.

    Args:
        prediction: As `anls.anls_score` takes it.
        answers: The same; for a leaderboard, as `leaderboards.leaderboard_score` takes it.
        protocol: A name or alias in `anls.PROTOCOLS`, of texts, or in `leaderboards.LEADERBOARDS`, or an
            `anls.Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.
        answer_type: For the leaderboards that need one.

    Returns:
        The score, and what it is made of.

    Raises:
        ValueError: What `anls.anls_score` or `leaderboards.leaderboard_score` refuses.

    Example:
        >>> found = explain_answers("CocaCola", ["Coca Cola", "Pepsi"])
        >>> for own in found.comparisons:
        ...     print(own.sentence)
        1 of 9 characters differs: similarity 0.8889, at least the threshold 0.5, so it counts 0.8889.
        8 of 8 characters differ: similarity 0, below the threshold 0.5, so it counts 0.
    """
    if isinstance(protocol, str) and is_leaderboard(protocol):
        return _of_leaderboard(prediction, answers, protocol, threshold, answer_type)
    if answer_type is not None:
        raise ValueError(
            f"answer_type={anls._shown(answer_type)}: protocol {protocol!r} has no answer types; leave it out"
        )
    return _of_texts(prediction, answers, anls._rules(protocol, exact_threshold(threshold), of_trees=False))


def _of_leaderboard(
    prediction: Any, answers: Any, protocol: str, threshold: Any, answer_type: str | None
) -> AnswersExplanation:
    scorer, board = make_scorer(protocol, threshold), get_leaderboard(protocol)
    score, notes = noted_score(prediction, answers, board.name, answer_type)
    return AnswersExplanation(
        score, board.name, None, (), board.description, scorer.signature(1, "error"), tuple(dict.fromkeys(notes))
    )


def _of_texts(prediction: Any, answers: Any, rules: anls.Protocol) -> AnswersExplanation:
    text, options = anls._text(prediction, "prediction", "one string"), anls._answers(answers, "answers")
    score, closest = anls._score_one(text, options, rules)
    notes = tuple(anls._notes_of_one(text, options, score, rules))
    signature = anls.signature(rules, n=1)
    if text is None:
        return AnswersExplanation(score, rules.name, None, (), "", signature, notes)
    comparisons = tuple(_compare(text, answer, rules) for answer in options)
    return AnswersExplanation(score, rules.name, closest, comparisons, "", signature, notes)


def _compare(prediction: str, answer: str, rules: anls.Protocol) -> AnswerComparison:
    left, right = anls._apply(rules.prediction_steps, prediction), anls._apply(rules.answer_steps, answer)
    distance, length = anls._compare(prediction, left, answer, rules)
    similarity = float(anls._similarity(distance, length, rules))
    score, _ = anls._score_one(prediction, [answer], rules)
    return AnswerComparison(
        answer=answer,
        compared_answer=right,
        compared_prediction=left,
        distance=distance,
        length=length,
        similarity=similarity,
        score=score,
        spans=tuple(align_characters(right, left)),
        sentence=_sentence(distance, length, similarity, score, left, rules),
    )


def _sentence(distance: int, length: int, similarity: float, score: float, text: str, rules: anls.Protocol) -> str:
    """Say it in words, with enough digits to see on which side of the threshold a similarity is."""
    if not length:
        return f"Both texts are empty, which this protocol counts {rules.both_empty}."
    is_kept = bool(anls._is_kept(distance, length, rules))
    if not distance:
        difference = "The texts are equal as this protocol compares them"
    elif rules.substitution_cost != 1:
        difference = f"The edits cost {distance}, for {length} characters"
    else:
        difference = f"{distance} of {length} characters {'differs' if distance == 1 else 'differ'}"
    limits = {float(rules.threshold), 1.0}
    is_near = any(abs(similarity - limit) < 1e-3 for limit in limits - {similarity})
    shown = f"{similarity:.{10 if is_near else 4}g}"
    word = {">=": ("below", "at least"), ">": ("not above", "above")}[rules.keep][is_kept]
    verdict = f"{word} the threshold {rules.threshold}"
    if rules.keep == ">=" and not rules.exact_threshold:
        verdict = "and there is no threshold"
    if text in rules.zero_predictions:
        end = f"but this protocol gives the prediction {' or '.join(map(repr, rules.zero_predictions))} always 0"
    else:
        end = f"so it counts {shown if score else 0}"
    return f"{difference}: similarity {shown}, {verdict}, {end}."
