"""ICDAR 2026 DocVQA."""

from __future__ import annotations

import dataclasses
import datetime
import re
import string

from anls_eval.leaderboards.base import Leaderboard, by_protocol
from anls_eval.leaderboards.dates import DATES
from anls_eval.leaderboards.question import Outcome, Pairs, Question, parse_literal
from anls_eval.rules.table import PROTOCOLS

# dateutil completes a date from today's. Two dates are the same only if they are so on any day: on these two.
_ANY_DAYS = datetime.datetime(2026, 1, 1), datetime.datetime(2024, 12, 31)


def _icdar(question: Question) -> Outcome:
    """Return 1 if equal as number with unit, version or date, or, if no answer is a number, for a similarity of 0.9."""
    text = question.prediction_text().rpartition("FINAL ANSWER:")[2].strip()
    answers = _icdar_answers(question)
    if any(_is_same_value(text, answer) for answer in answers):
        return 1.0
    if any(_quantity(answer) for answer in answers):
        return 0.0
    cleaned = _without_articles(text)
    return Pairs([cleaned] * len(answers), list(map(_without_articles, answers)), _is_any_kept)


def _is_any_kept(similarities: list[float]) -> float:
    return float(any(similarities))


def _icdar_answers(question: Question) -> list[str]:
    """Return the accepted answers; a single text may write a list."""
    reference = question.reference
    if isinstance(reference, str):
        try:
            parsed = parse_literal(reference)
        except ValueError:
            parsed = None
        if isinstance(parsed, list):
            reference = list(map(str, parsed))
    return question.with_reference(reference).accepted_answers()


def _is_same_value(text: str, answer: str) -> bool:
    left, right = _quantity(text), _quantity(answer)
    if left and right and left[0] == right[0]:
        return left[1] == right[1]
    text, answer = text.strip(), answer.strip()
    if any(re.fullmatch(r"\d+\.\d+\.\d+", side) for side in (text, answer)):
        return text == answer
    return min(len(text), len(answer)) >= 6 and _is_same_date(text, answer)


def _quantity(text: str) -> tuple[float, str] | None:
    """Return the number at the start of a text, and the rest of the line as its unit."""
    text = text.lower().strip()
    number = re.match(r"(-?\d+(?:\.\d+)?)\s*", text)
    if not number or "\n" in text[number.end() :]:
        return None
    return float(number[1]), text[number.end() :]


def _is_same_date(text: str, answer: str) -> bool:
    try:
        return all(
            DATES.parse(text, default=day, ignoretz=True).date()
            == DATES.parse(answer, default=day, ignoretz=True).date()
            for day in _ANY_DAYS
        )
    except (ValueError, TypeError, ArithmeticError):  # not a date
        return False


_SPACE_FOR_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


def _without_articles(text: str) -> str:
    return " ".join(re.sub(r"\b(an?|the)\b", " ", text.lower().translate(_SPACE_FOR_PUNCTUATION)).split())


ICDAR2026 = Leaderboard(
    name="icdar2026",
    description="Right or wrong. The text after the last FINAL ANSWER: is compared: it must be equal as number with "
    "unit, as version or as date; if no answer begins with a number, a similarity of at least 0.9 without case, "
    "punctuation and articles is enough.",
    rules={"": _icdar},
    similarity=by_protocol(dataclasses.replace(PROTOCOLS["due_cased"], name="icdar2026", keep=">=", threshold=0.9)),
    reports=("mean", "accuracy"),
    source="Sahilsonii/ICDAR-2026-DocVQA, DocVQA2026_official/eval_utils.py. The original gives 0 to an output "
    "without FINAL ANSWER:; here the whole prediction is then the answer. It completes a date from today's; here "
    "dates are equal only if they are equal on any day.",
)
