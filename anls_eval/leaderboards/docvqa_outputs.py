"""DocVQA from whole outputs: how evalscope, inspect_evals and lmms-eval take the answer out before they score it."""

from __future__ import annotations

import functools

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import is_missing_value
from anls_eval.leaderboards.benchmark import Benchmark, mean_figure, plain_sum
from anls_eval.leaderboards.document import check_nested
from anls_eval.leaderboards.question import Question, plain_list
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.text.similarity import measure_one


def _similarity(rules: Protocol, prediction: object, answers: list[str]) -> float:
    if prediction is None or not answers:  # without the mark of an answer, or without answers
        return 0.0
    return float(measure_one(str(prediction), answers, rules)[0])


def _accepted(question: Question) -> list[str]:
    answers = plain_list(question.reference)
    return [] if isinstance(answers, (list, tuple)) and not answers else question.accepted_answers()


def _score(question: Question, rules: Protocol) -> float:
    question.prediction_text()  # refuses what is no text
    prediction = None if is_missing_value(question.prediction) else question.prediction
    return _similarity(rules, prediction, _accepted(question))


def _lmms_score(question: Question) -> float:
    """lmms-eval: a list of outputs gives their mean."""
    outputs = plain_list(question.prediction)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    answers = _accepted(question)
    if outputs and not answers:
        raise AnlsError("it is an empty list; expected at least one answer", where=f"reference{question.row}")
    given = [None if is_missing_value(output) else output for output in outputs]
    scores = [_similarity(PROTOCOLS["rrc"], output, answers) for output in given]
    return plain_sum(scores) / (len(scores) or 1)


_benchmark = functools.partial(
    Benchmark,
    family="DocVQA from whole outputs",
    unit="question",
    read=check_nested,
    figures_of=mean_figure,
    headline="mean",
    averages=True,
    reports="mean of the questions",
)

EVALSCOPE_DOCVQA = _benchmark(
    name="evalscope_docvqa",
    description='`rrc` of what follows the last "ANSWER:" up to the end of its line; without it, of the whole.',
    extract=("evalscope_answer",),
    count=functools.partial(_score, rules=PROTOCOLS["rrc"]),
    source="modelscope/evalscope @ fde259d, evalscope/benchmarks/docvqa/docvqa_adapter.py. A question without answers "
    "gives 0.",
)

INSPECT_EVALS_DOCVQA = _benchmark(
    name="inspect_evals_docvqa",
    description='`inspect_evals` of what follows "ANSWER:", in any case, in the last line of the output; 0 if there '
    "is no such mark, or text behind its line.",
    extract=("inspect_line",),
    count=functools.partial(_score, rules=PROTOCOLS["inspect_evals"]),
    source="inspect_evals 0.28.0, docvqa.py, with inspect_ai from 0.3.160 on. The same task with an older inspect_ai "
    "gives `inspect_evals_docvqa_first`.",
)

INSPECT_EVALS_DOCVQA_FIRST = _benchmark(
    name="inspect_evals_docvqa_first",
    description='`inspect_evals` of the rest of the line behind the first "ANSWER:", in any case; 0 without it.',
    extract=("inspect_first",),
    count=functools.partial(_score, rules=PROTOCOLS["inspect_evals"]),
    source="inspect_evals 0.28.0, docvqa.py, with inspect_ai before 0.3.160.",
)

LMMS_DOCVQA_REASONING = _benchmark(
    name="lmms_docvqa_reasoning",
    description="`rrc` of the first <answer>, else of the last box, else of the last number that ends a line, else of "
    "an empty text. A list of outputs gives the mean of their scores.",
    extract=("lmms_reasoning",),
    has_repeats=True,
    count=_lmms_score,
    source="EvolvingLMMs-Lab/lmms-eval @ 75571cf, lmms_eval/tasks/docvqa/reasoning/utils.py. It fails for a question "
    "without answers.",
)
