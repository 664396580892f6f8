"""OCRBench v2, and lmms-eval's version of it."""

from __future__ import annotations

from anls_eval.leaderboards.base import Leaderboard, by_protocol
from anls_eval.leaderboards.question import Outcome, Pairs, Question
from anls_eval.rules.table import PROTOCOLS


def _ocrbench(question: Question) -> Outcome:
    """Look for answers of fewer than five words in the prediction; compare longer ones with it."""
    text = _one_line(question.prediction_text())
    answers = list(map(_one_line, question.accepted_answers()))
    long = [answer for answer in answers if len(answer.split()) >= 5]
    if any(answer in text for answer in answers if answer not in long):
        return 1.0
    return Pairs([text] * len(long), long, max) if long else 0.0


def _ocrbench_lmms(question: Question) -> Outcome:
    """Score lists as `_ocrbench` does. A single string is compared only if it is short; a long one gives 0."""
    if not isinstance(question.reference, str):
        return _ocrbench(question)
    text, answer = _one_line(question.prediction_text()), _one_line(question.reference)
    if len(answer.split()) >= 5:
        return 0.0
    return 1.0 if answer in text else Pairs([text], [answer], max)


def _one_line(text: str) -> str:
    return text.lower().strip().replace("\n", " ")


OCRBENCH_V2 = Leaderboard(
    name="ocrbench_v2",
    description="An answer of fewer than five words: 1 if the prediction contains it, else 0. A longer answer: the "
    "similarity as in `stvqa`, which counts from 0.5. The best of all answers.",
    rules={"": _ocrbench},
    similarity=by_protocol(PROTOCOLS["stvqa"]),
    source="Yuliang-Liu/MultimodalOCR, OCRBench_v2/eval_scripts/vqa_metric.py, vqa_evaluation.",
)

OCRBENCH_V2_LMMS = Leaderboard(
    name="ocrbench_v2_lmms",
    description="As `ocrbench_v2` for a list of answers. For a single string, the similarity counts only if the string "
    "is short and the prediction does not contain it; a string of five or more words gives 0.",
    rules={"": _ocrbench_lmms},
    similarity=by_protocol(PROTOCOLS["stvqa"]),
    source="EvolvingLMMs-Lab/lmms-eval, tasks/ocrbench_v2/vqa_metric.py, vqa_evaluation.",
)
