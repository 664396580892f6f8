"""ChartQA's relaxed accuracy, as lmms-eval, VLMEvalKit and evalscope compute it."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from anls_eval.errors import AnlsError
from anls_eval.extract.harness import answer_after_mark
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum
from anls_eval.leaderboards.document import check_nested
from anls_eval.leaderboards.expression import evaluate_expression
from anls_eval.leaderboards.question import Question


def _number(text: str) -> float | None:
    """Return the number in a text; with a percent sign, a hundredth of it."""
    try:
        return float(text.rstrip("%")) / 100 if text[-1:] == "%" else float(text)
    except ValueError:
        return None


def _relaxed_score(text: str, answer: str) -> float:
    """Return 1 for numbers that differ by at most 5 % of the answer, or texts that differ only in case; else 0."""
    wanted = _number(answer)
    if wanted:
        predicted = _number(text)
        if predicted is not None:
            return 1.0 if abs(predicted - wanted) / abs(wanted) <= 0.05 else 0.0
    return 1.0 if text.lower() == answer.lower() else 0.0


def _lmms(question: Question) -> float:
    text, answer = question.prediction, question.reference
    if not (isinstance(text, str) and isinstance(answer, str)):
        raise _not_text(question)
    return _relaxed_score(text, answer)


def _not_text(question: Question) -> AnlsError:
    """Return the error for the first side that is not text."""
    is_text = isinstance(question.prediction, str)
    side, value = ("reference", question.reference) if is_text else ("prediction", question.prediction)
    return AnlsError(f"it is {describe_value(value)}; expected one string", where=f"{side}{question.row}")


def _vlmevalkit(question: Question) -> float:
    """VLMEvalKit: an answer that is written as a list stands for any of its items."""
    text, answer = str(question.prediction).strip(), question.reference
    answers = _alternatives(answer if isinstance(answer, list) else str(answer))
    if not answers:
        raise AnlsError("it is an empty list; expected at least one answer", where=f"reference{question.row}")
    return float(any(_relaxed_score(text, own) for own in answers))


def _alternatives(answer: list[Any] | str) -> list[str]:
    """Return the items of a list or of its text; any other text is the one answer."""
    items: Any = answer
    if isinstance(answer, str):
        items = None
        if "[" in answer:
            with contextlib.suppress(ValueError):
                items = evaluate_expression(answer)
    return list(map(str, items)) if isinstance(items, list) else [str(answer)]


def _evalscope(question: Question) -> float:
    text, answer = question.prediction, question.reference
    if not (isinstance(text, str) and isinstance(answer, str)):
        raise _not_text(question)
    return _relaxed_score(answer_after_mark(text) or "", answer)


def accuracy_figure(counts: Counts) -> Figures:
    """Return the share of correct answers."""
    scores = counts.get("scores", ())
    if not scores:
        raise AnlsError("there is no question, so that there is no accuracy to compute")
    return {"accuracy": plain_sum(scores) / len(scores)}


_RELAXED = (
    "1 for a number within 5 % of the answer, or for a text that is equal without case. A number is what Python's "
    "float reads; with a percent sign at its end it is divided by 100, so that 57 % is not 57. If the answer is 0, the "
    "texts must be equal."
)
_benchmark = functools.partial(
    Benchmark,
    family="ChartQA",
    unit="question",
    read=check_nested,
    figures_of=accuracy_figure,
    headline="accuracy",
    averages=True,
    no_prediction="",
    reports="relaxed accuracy: mean of the questions",
)

CHARTQA_LMMS = _benchmark(
    name="chartqa_lmms",
    description=f"{_RELAXED} Whitespace counts in texts.",
    count=_lmms,
    source="EvolvingLMMs-Lab/lmms-eval @ 75571cf, lmms_eval/tasks/chartqa/utils.py. It fails for a prediction that is "
    "not text.",
)

CHARTQA_VLMEVALKIT = _benchmark(
    name="chartqa_vlmevalkit",
    description=f"{_RELAXED} The prediction is stripped. An answer written as a list stands for any of its items.",
    count=_vlmevalkit,
    source="open-compass/VLMEvalKit @ e8e78f0, vlmeval/dataset/utils/vqa_eval.py and image_vqa.py. It fails for an "
    "empty list as answer.",
)

CHARTQA_EVALSCOPE = _benchmark(
    name="chartqa_evalscope",
    description=f'{_RELAXED} The prediction is what follows the last "ANSWER:" of the output, and empty without it.',
    count=_evalscope,
    source="modelscope/evalscope @ fde259d, evalscope/benchmarks/chartqa/utils.py and chartqa_adapter.py.",
)
