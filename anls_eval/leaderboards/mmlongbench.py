"""MMLongBench-Doc."""

from __future__ import annotations

import math
import re
from typing import Any

from anls_eval.leaderboards.base import Leaderboard, by_protocol
from anls_eval.leaderboards.question import Outcome, Pairs, Question, as_integer
from anls_eval.rules.table import PROTOCOLS


def clean_text(value: Any) -> str:
    """Return the text in lower case without parentheses, one quote at each end, leading "$" and trailing "%"."""
    text = without_parentheses(str(value).lower().strip()).strip()
    text = re.sub(r"\A['\"]|['\"]\Z", "", text).strip()
    return text.lstrip("$").rstrip("%").strip()


def without_parentheses(text: str) -> str:
    """Drop each "(" up to the next ")", with the whitespace before it."""
    kept, start = [], 0
    while (opening := text.find("(", start)) >= 0 and (closing := text.find(")", opening)) >= 0:
        kept.append(text[start:opening].rstrip())
        start = closing + 1
    return "".join([*kept, text[start:]])


_EXACT = re.compile(
    r"\d+([-\s]\d+)?"  # numbers, telephone numbers, YYYY-MM
    r"|\d{4}[-\s]\d\d[-\s]\d\d"
    r"|[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}"
)


def must_be_equal(answer: str) -> bool:
    """Return whether a cleaned answer is an address, file name, page, time, number or date."""
    parts = "https://", "a.m.", "p.m."
    return (
        any(part in answer for part in parts)
        or answer.startswith("page")
        or answer.endswith((".py", "ipynb"))
        or bool(_EXACT.fullmatch(answer))
    )


def score_int(question: Question) -> float:
    """Return 1 for equal integers; as in the original, every prediction equals an answer that is empty."""
    wholes = [as_integer(answer) for answer in question.integer_answers()]
    try:
        predicted = int(float(question.prediction_text()))
    except (ValueError, OverflowError):
        return float("" in wholes)
    return float(predicted in wholes or "" in wholes)


def score_float(question: Question) -> float:
    """Return 1 within 1 % of the answer, a hundredth of it or a hundred times it, or if equal when rounded."""
    answers = question.accepted_answers()
    wanted = [read_number(clean_text(answer)) for answer in answers]
    if None in wanted:
        raise ValueError(
            f"reference{question.row} is {answers[wanted.index(None)]!r}; expected a number such as '1234.5' or '12%' "
            "for the answer type Float. Write it like this, or use another answer type."
        )
    predicted = read_number(clean_text(question.prediction_text()))
    return float(predicted is not None and any(is_near(predicted, number) for number in wanted if number is not None))


def read_number(text: str) -> float | None:
    """Return the number that a text holds; None if it is not one."""
    try:
        return float(text)
    except ValueError:
        return None


def is_near(predicted: float, answer: float) -> bool:
    """Return whether a number is within 1 % of the answer, a hundredth or a hundred times it, or equal when rounded."""
    for wanted in (answer / 100, answer, answer * 100):
        digits = max(2, min(_decimals(predicted), _decimals(wanted)))
        near = math.isclose(predicted, wanted, rel_tol=0.01)
        if near or round(predicted, digits) == round(wanted, digits):
            return True
    return False


def _decimals(number: float) -> int:
    _, point, decimals = str(number).rpartition(".")
    return len(decimals) if point else 3


def _mmlongbench_text(question: Question) -> Outcome:
    """Require equality where `must_be_equal` says so, else compare cleaned texts by `longdocurl`."""
    text = clean_text(question.prediction_text())
    answers = [clean_text(answer) for answer in question.accepted_answers()]
    free = [answer for answer in answers if not must_be_equal(answer)]
    if text in answers or not free:
        return float(text in answers)
    return Pairs([text] * len(free), free, max)


def _mmlongbench_list(question: Question) -> Outcome:
    """Return the minimum similarity of sorted lists of equal length, or equality if the first answer requires it."""
    answers = sorted(map(clean_text, question.reference_items()))
    texts = sorted(map(clean_text, question.prediction_items()))
    if len(answers) != len(texts) or not answers:
        return float(not answers and not texts)
    if read_number(answers[0]) is not None or must_be_equal(answers[0]):
        return float("-".join(answers) == "-".join(texts))
    return Pairs(texts, answers, min)


MMLONGBENCH = Leaderboard(
    name="mmlongbench",
    description="Texts are cleaned: lower case, without parentheses, outer quotes, leading $ or trailing %. Int: "
    "equal. Float: within 1 % of the answer, a hundredth of it or a hundred times it, or equal when rounded. Str and "
    "None: equal if the answer is a web address, file name, page, number, date, time or e-mail address; otherwise "
    "`longdocurl`. List: 0 unless both lists have the same length, then the minimum similarity of the sorted items; "
    "they must be equal if the first must be.",
    rules={
        "Str": _mmlongbench_text,
        "Int": score_int,
        "Float": score_float,
        "List": _mmlongbench_list,
        "None": _mmlongbench_text,
    },
    similarity=by_protocol(PROTOCOLS["longdocurl"]),
    reports=("mean", "accuracy", "f1"),
    reads_lists=True,
    source="mayubo2333/MMLongBench-Doc, eval/eval_score.py. The original fails on two empty lists, which score 1 here, "
    "and on a predicted list that cannot be parsed, which is one text here.",
    aliases=("mmlongbench_doc",),
)
