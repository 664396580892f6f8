"""DocVQA from whole outputs: how evalscope, inspect_evals and lmms-eval take the answer out before they score it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import is_missing_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, mean_figure, plain_sum
from anls_eval.leaderboards.chartqa import answer_after_mark
from anls_eval.leaderboards.question import Question, plain_list, text_between
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.text.similarity import measure_one

_Extract = Callable[[str], str | None]


def evalscope_answer(text: str) -> str:
    """Return what follows the last "ANSWER:", or the whole output."""
    found = answer_after_mark(text)
    return text.strip() if found is None else found


def inspect_last_line(text: str) -> str | None:
    """Return the rest of the last line behind the first mark with nothing but whitespace before it, or None."""
    end = len(text.rstrip())
    start_of_line = text.rfind("\n", 0, end) + 1
    for mark in re.finditer(r"ANSWER\s*:", text, re.IGNORECASE):
        if not text[mark.end() : start_of_line].strip():
            behind = text[mark.end() :]
            answer = re.search(r"\S.*|[^\S\n](?=\n*\Z)", behind)
            if answer:
                return answer[0]
    return None


def inspect_first_mark(text: str) -> str | None:
    """Return the rest of the line behind the first mark, or None."""
    found = re.search(r"ANSWER\s*:\s*([^\n]+)", text, re.IGNORECASE)
    return found[1] if found else None


def lmms_reasoning_answer(text: str) -> str:
    """Return the first <answer>, else the last box, else the last number at the end of a line, else nothing."""
    tagged = text_between(text, "<answer>", "</answer>")
    return (_last_box(text) or _last_number(text) if tagged is None else tagged).strip()


def _last_box(text: str) -> str:
    """Return the content of the last box whose braces are balanced."""
    end_of: dict[int, int] = {}
    opened: list[int] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            end_of[opened.pop()] = brace.start()
    boxes = [box.end() for box in re.finditer(r"\\boxed\{", text) if box.end() - 1 in end_of]
    return text[boxes[-1] : end_of[boxes[-1] - 1]] if boxes else ""


def _last_number(text: str) -> str:
    for line in reversed(text.strip().split("\n")):
        number = re.search(r"\b(\d+(?:\.\d+)?)\Z", line.rstrip().removesuffix(".").rstrip())
        if number:
            return number[1]
    return ""


def _score(extract: _Extract, rules: Protocol, prediction: object, answers: list[str]) -> float:
    text = extract("" if is_missing_value(prediction) else str(prediction))
    return 0.0 if text is None or not answers else float(measure_one(text, answers, rules)[0])


def _accepted(question: Question) -> list[str]:
    is_empty = isinstance(plain_list(question.reference), (list, tuple)) and not len(question.reference)
    return [] if is_empty else question.accepted_answers()


def _counts(question: Question, extract: _Extract, rules: Protocol) -> Counts:
    question.prediction_text()  # refuses what is no text
    return {"scores": (_score(extract, rules, question.prediction, _accepted(question)),)}


def _lmms_counts(question: Question) -> Counts:
    """lmms-eval: a list of outputs gives their mean."""
    outputs = plain_list(question.prediction)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    answers = _accepted(question)
    if not answers:
        raise AnlsError("it is an empty list; expected at least one answer", where=f"reference{question.row}")
    scores = [_score(lmms_reasoning_answer, PROTOCOLS["rrc"], output, answers) for output in outputs]
    return {"scores": (plain_sum(scores) / (len(scores) or 1),)}


_benchmark = functools.partial(
    Benchmark,
    family="DocVQA from whole outputs",
    unit="question",
    figures_of=mean_figure,
    headline="mean",
    averages=True,
    reports="mean of the questions",
)

EVALSCOPE_DOCVQA = _benchmark(
    name="evalscope_docvqa",
    description='`rrc` of what follows the last "ANSWER:" up to the end of its line; without it, of the whole.',
    count=functools.partial(_counts, extract=evalscope_answer, rules=PROTOCOLS["rrc"]),
    source="modelscope/evalscope @ fde259d, evalscope/benchmarks/docvqa/docvqa_adapter.py. A question without answers "
    "gives 0.",
)

INSPECT_EVALS_DOCVQA = _benchmark(
    name="inspect_evals_docvqa",
    description='`inspect_evals` of what follows "ANSWER:", in any case, in the last line of the output; 0 if there '
    "is no such mark, or text behind its line.",
    count=functools.partial(_counts, extract=inspect_last_line, rules=PROTOCOLS["inspect_evals"]),
    source="inspect_evals 0.28.0, docvqa.py, with inspect_ai from 0.3.160 on. The same task with an older inspect_ai "
    "gives `inspect_evals_docvqa_first`.",
)

INSPECT_EVALS_DOCVQA_FIRST = _benchmark(
    name="inspect_evals_docvqa_first",
    description='`inspect_evals` of the rest of the line behind the first "ANSWER:", in any case; 0 without it.',
    count=functools.partial(_counts, extract=inspect_first_mark, rules=PROTOCOLS["inspect_evals"]),
    source="inspect_evals 0.28.0, docvqa.py, with inspect_ai before 0.3.160.",
)

LMMS_DOCVQA_REASONING = _benchmark(
    name="lmms_docvqa_reasoning",
    description="`rrc` of the first <answer>, else of the last box, else of the last number that ends a line, else of "
    "an empty text. A list of outputs gives the mean of their scores.",
    count=_lmms_counts,
    source="EvolvingLMMs-Lab/lmms-eval @ 75571cf, lmms_eval/tasks/docvqa/reasoning/utils.py. It fails for a question "
    "without answers.",
)
