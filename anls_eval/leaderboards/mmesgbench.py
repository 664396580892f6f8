"""MMESGBench, whose code is derived from that of MMLongBench-Doc."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from anls_eval.arrow import Floats
from anls_eval.leaderboards.base import Leaderboard
from anls_eval.leaderboards.mmlongbench import clean_text, must_be_equal, score_float, score_int
from anls_eval.leaderboards.question import Outcome, Pairs, Question, parse_literal, read_items

_ALIKE = 0.8  # a greater ratio of difflib makes two items of lists the same


def _joined(text: str) -> str:
    """Return the cleaned text; the text of a list of strings becomes the strings, joined by spaces."""
    if text.startswith("[") and text.endswith("]"):
        try:
            items = parse_literal(text)
        except ValueError:
            items = None
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            text = " ".join(items)
    return clean_text(text)


def _mmesgbench_text(question: Question, compare: Callable[[str, list[str]], Outcome]) -> Outcome:
    """Return 1 if the prediction contains an answer; otherwise compare it with the answers that need not be equal."""
    text = _joined(question.prediction_text())
    answers = [_joined(answer) for answer in question.accepted_answers()]
    if any(answer in text for answer in answers):
        return 1.0
    return compare(text, [answer for answer in answers if not must_be_equal(answer)])


def _against_characters(text: str, answers: list[str]) -> float:
    """Return the best Indel ratio to a single character of the answers, if it is at least 0.5."""
    # A text of n characters that contains the character is n - 1 deletions away from it, of n + 1 characters in total.
    shared = bool(text) and not set(text).isdisjoint(chain.from_iterable(answers))
    return 1 - (len(text) - 1) / (len(text) + 1) if shared and len(text) <= 3 else 0.0


def _against_answers(text: str, answers: list[str]) -> Outcome:
    return Pairs([text] * len(answers), answers, max) if answers else 0.0


def _indel_similarity(texts: list[str], answers: list[str]) -> Floats:
    """Return 1 - d / (sum of both lengths), where d counts insertions and deletions; 0 below 0.5."""
    lengths = np.array([len(text) + len(answer) for text, answer in zip(texts, answers, strict=True)], dtype=np.int64)
    distances = cpdist(texts, answers, scorer=Indel.distance, dtype=np.int32).astype(np.int64)
    return np.where(2 * distances <= lengths, 1 - distances / np.maximum(lengths, 1), 0.0)


def _mmesgbench_none(question: Question) -> float:
    """Return 1 for equal cleaned texts."""
    text = _joined(question.prediction_text())
    return float(any(_joined(answer) == text for answer in question.accepted_answers()))


def _mmesgbench_list(question: Question) -> float:
    """Return the share of answers matched to an item of the prediction; 0 for lists of unequal length."""
    answers = list(map(clean_text, question.reference_items()))
    where = f"prediction{question.row}"
    texts = list(map(clean_text, read_items(question.prediction, where, lambda text, _: _repaired(text))))
    if len(answers) != len(texts) or not answers:
        return 0.0
    matcher = functools.cache(lambda text: difflib.SequenceMatcher(None, "", text))
    found = 0
    for answer in answers:
        match = next((index for index, text in enumerate(texts) if _is_alike(answer, text, matcher)), None)
        if match is not None:
            del texts[match]
            found += 1
    return found / len(answers)


def _repaired(text: str) -> list[Any]:
    """Return a list after mending its end and apostrophes; [None], which the original makes a text, if that fails."""
    text = text.strip()
    text = text if text.endswith("]") else f"{text}]"
    try:
        parsed = parse_literal(re.sub(r"(?<=\w)'(?=\w)", r"\\'", text))
    except ValueError:
        return [None]
    return parsed if isinstance(parsed, list) else [parsed]


def _is_alike(answer: str, text: str, matcher: Callable[[str], difflib.SequenceMatcher[str]]) -> bool:
    """Return whether difflib's ratio, which no distance can replace, is above 0.8."""
    # It matches no more characters than the longest common subsequence has: where these are too few, no more is asked.
    length = len(answer) + len(text)
    if length and 2.0 * ((length - Indel.distance(answer, text)) // 2) / length <= _ALIKE:
        return False
    found = matcher(text)  # what it knows of this text takes longest to find out, and stays
    found.set_seq1(answer)
    return found.ratio() > _ALIKE


def _mmesgbench(name: str, description: str, source: str, compare: Callable[[str, list[str]], Outcome]) -> Leaderboard:
    """Return the rules, which differ in how texts are compared."""
    return Leaderboard(
        name=name,
        description=description,
        rules={
            "Str": functools.partial(_mmesgbench_text, compare=compare),
            "Int": score_int,
            "Float": score_float,
            "None": _mmesgbench_none,
            "List": _mmesgbench_list,
        },
        similarity=_indel_similarity,
        reports=("mean", "accuracy", "f1"),
        reads_lists=True,
        correct_from=0.5,
        source=source,
    )


MMESGBENCH = _mmesgbench(
    "mmesgbench",
    "Int and Float as in `mmlongbench`. Str: 1 if the prediction contains the answer; otherwise 0 if the answer is one "
    "that must be equal, else the Indel ratio to each single character of the answer, a bug that the published numbers "
    "contain. None: equal. List: 0 unless both lists have the same length, then the share of answers matched to an "
    "item with a difflib ratio above 0.8.",
    "Zhanglei1103/MMESGBench, src/eval/eval_score.py. The original prints the mean as its accuracy; the accuracy here "
    "is the share of scores of at least 0.5. A predicted list that cannot be parsed counts as the item "
    '"none"; the original does the same, or fails.',
    _against_characters,
)

MMESGBENCH_DOCUMENTED = _mmesgbench(
    "mmesgbench_documented",
    "As `mmesgbench`, but with the Indel ratio to the whole answer, which counts from 0.5.",
    "MMESGBench as documented; its code, and so its published numbers, follow `mmesgbench`.",
    _against_answers,
)
