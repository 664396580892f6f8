"""A prediction beside each of its accepted answers: how far it is from each, and in which characters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from anls_eval.errors import AnlsError
from anls_eval.extract.steps import extracted
from anls_eval.inputs.values import to_answers, to_text
from anls_eval.markup import Html, element, headline, joined, notebook_page, notes_html, signature_html
from anls_eval.notes import text_notes_of_one
from anls_eval.registry import get_rules, resolve_rules, signature, signature_of_one
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.rules.steps import apply_steps
from anls_eval.text.characters import Span, align_characters
from anls_eval.text.marked import alignment_html, shown_text
from anls_eval.text.similarity import compare_texts, compute_similarity, reaches_threshold
from anls_eval.types import Extract, Texts

_MAX_ANSWERS = 20  # that a notebook shows


@dataclasses.dataclass(frozen=True)
class AnswerComparison:
    """A prediction beside one accepted answer.

    Attributes:
        answer: The answer as given.
        compared_answer: The answer after the steps of the protocol.
        compared_prediction: The prediction after the steps of the protocol.
        distance: Edit distance between these two.
        length: The length by which the distance is divided.
        similarity: 1 - distance / length, before the threshold.
        score: The score for this answer, from 0 to 1.
        spans: The characters that differ.
        sentence: All of this in words.
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

    Attributes:
        score: From 0 to 1.
        protocol: Name of the protocol.
        closest: Index of the closest answer; None without a prediction, or if a leaderboard's rule gave the score.
        comparisons: One for each answer, in order; empty if `closest` is None.
        rule: The rules of the leaderboard in words; empty for protocols for texts.
        signature: The signature of the score.
        notes: Warnings to show to the user.
        raw_prediction: The text out of which `extract` took the prediction; None if it is the prediction.
    """

    score: float
    protocol: str
    closest: int | None
    comparisons: tuple[AnswerComparison, ...]
    rule: str
    signature: str
    notes: tuple[str, ...] = ()
    raw_prediction: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return this as plain JSON values."""
        result = dataclasses.asdict(self)
        for own, plain in zip(self.comparisons, result["comparisons"], strict=True):
            plain["spans"] = [span._asdict() for span in own.spans]
        if self.raw_prediction is None:
            del result["raw_prediction"]
        return result

    def _repr_html_(self) -> str:
        """Return the explanation as notebooks show it: the prediction aligned with each answer."""
        is_one = len(self.comparisons) == 1
        shown = [
            _comparison_html(own, index == self.closest and not is_one)
            for index, own in enumerate(self.comparisons[:_MAX_ANSWERS])
        ]
        left_out = len(self.comparisons) - len(shown)
        raw = [] if self.raw_prediction is None else [f"taken out of: {shown_text(self.raw_prediction)}"]
        return notebook_page(
            headline(self.score, f"{self.protocol}: {self.rule}" if self.rule else self.protocol),
            notes_html([*raw, *self.notes]),
            *shown,
            element("p", f"{left_out:,} more answers are not shown.", "muted") if left_out else Html(),
            signature_html(self.signature),
        )


def _comparison_html(own: AnswerComparison, is_closest: bool) -> Html:
    title = joined([element("b", shown_text(own.answer)), " (closest)" if is_closest else ""])
    return element("div", joined([element("p", title), alignment_html(own.spans), element("p", own.sentence, "muted")]))


def explain_answers(
    prediction: object,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    answer_type: str | None = None,
    options: Mapping[str, object] | None = None,
) -> AnswersExplanation:
    """Compare a prediction with each of its answers.

    Args:
        prediction: The predicted text, as for `anls_score`.
        answers: The accepted answers, as for `anls_score`; for a leaderboard, as for `leaderboard_score`.
        protocol: A name or alias of a protocol for texts or of a leaderboard, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of the prediction first. Defaults to the protocol's.
        answer_type: The answer type, for leaderboards that need one.
        options: What a benchmark knows beside the answers, as in `leaderboard_score`.

    Raises:
        ValueError: As for `anls_score` or `leaderboard_score`.

    Example:
        >>> found = explain_answers("CocaCola", ["Coca Cola", "Pepsi"])
        >>> for own in found.comparisons:
        ...     print(own.sentence)
        1 of 9 characters differs: similarity 0.8889, at least the threshold 0.5, so it scores 0.8889.
        8 of 8 characters differ: similarity 0, below the threshold 0.5, so it scores 0.
    """
    rules = get_rules(protocol, threshold, extract)
    raw = prediction if rules.extract and isinstance(prediction, str) else None
    prediction = extracted(prediction, rules.extract)
    raw = None if raw == prediction else raw
    known = rules.checked_options(options)
    if not isinstance(rules, Protocol):
        others = {"options": known} if known else {}  # which leaderboards do not have
        score, found = rules.score_one(prediction, answers, answer_type, **others)
        line = signature(rules, n=1, options=known)
        return AnswersExplanation(score, rules.name, None, (), rules.description, line, tuple(found), raw)
    if answer_type is not None:
        problem = f"protocol {protocol!r} has no answer types; leave it out"
        raise AnlsError(problem, option="answer_type", value=answer_type)
    rules = resolve_rules(rules, None, of_trees=False)
    text, accepted = to_text(prediction, "prediction", "one string"), to_answers(answers, "answers")
    comparisons: tuple[AnswerComparison, ...] = ()
    closest, score = None, 0.0
    if text is not None:
        left = apply_steps(rules.prediction_steps, text)
        comparisons = tuple(
            compare_answer(text, answer, *compare_texts(text, left, answer, rules), rules) for answer in accepted
        )
        closest = max(range(len(accepted)), key=lambda index: comparisons[index].similarity)
        score = comparisons[closest].score
    notes = tuple(text_notes_of_one(text, accepted, score, rules))
    return AnswersExplanation(score, rules.name, closest, comparisons, "", signature_of_one(rules), notes, raw)


def compare_answer(prediction: str, answer: str, distance: int, length: int, rules: Protocol) -> AnswerComparison:
    """Describe a prediction beside one answer, given their distance."""
    left, right = apply_steps(rules.prediction_steps, prediction), apply_steps(rules.answer_steps, answer)
    similarity = float(compute_similarity(distance, length, rules))
    is_kept = left not in rules.zero_predictions and reaches_threshold(distance, length, rules)
    score = similarity if is_kept else 0.0
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


def _sentence(distance: int, length: int, similarity: float, score: float, text: str, rules: Protocol) -> str:
    """Return the comparison in words, with enough digits to show on which side of the threshold a similarity is."""
    if not length:
        return f"Both texts are empty, which this protocol counts as {rules.both_empty}."
    is_kept = bool(reaches_threshold(distance, length, rules))
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
        end = f"but the prediction {' or '.join(map(repr, rules.zero_predictions))} always scores 0 under this protocol"
    else:
        end = f"so it scores {shown if score else 0}"
    return f"{difference}: similarity {shown}, {verdict}, {end}."
