"""LongDocURL in full: by answer type, as its own code and VLMEvalKit compute it."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, harmonic, plain_sum
from anls_eval.leaderboards.document import read_documents
from anls_eval.leaderboards.expression import evaluate_expression
from anls_eval.leaderboards.mmlongbench import is_near, must_be_equal, read_number, without_parentheses
from anls_eval.leaderboards.question import Question, parse_literal, text_between

_NOTHING = "Fail to extract"
_UNKNOWN = "Not answerable"

# Each is taken off in turn as a set of letters, so that "massacres" becomes "m".
_OFFICIAL_UNITS = ("kg", "mm", "m", "meters", "acres", "minutes", "mile", "miles", "million", "thousand", "billion")
_UNITS = ("kg", "mm", "meters", "minutes", "miles", "mile", "acres", "million", "thousand", "billion", "m")


def _without_units_officially(text: str) -> str:
    for unit in _OFFICIAL_UNITS:
        if text.endswith(unit):
            text = text.rstrip(unit).strip()
    return text


def _without_unit(text: str) -> str:
    unit = next(filter(text.endswith, _UNITS), "")
    return text.removesuffix(unit).strip() if unit else text


class _Rules:
    """What differs between the two: how units are taken off, and how text is read as a value."""

    def __init__(
        self, without_units: Callable[[str], str], evaluate: Callable[[str], Any], is_official: bool = False
    ) -> None:
        self.without_units, self.evaluate, self.is_official = without_units, evaluate, is_official

    def clean(self, value: Any) -> str:
        """Return a value as text in lower case without commas, units, parentheses, quotes and signs."""
        text = self.without_units(str(value).lower().strip().replace(",", ""))
        text = re.sub(r"\A['\"]|['\"]\Z", "", without_parentheses(text).strip()).strip()
        for sign in "$£":
            text = text.lstrip(sign).strip()
        return text.rstrip("%").strip()

    def extracted(self, prediction: Any) -> Any:
        """Return the answer that a model's output holds between tags; any other prediction unchanged."""
        if not isinstance(prediction, str) or "<concise_answer>" not in prediction:
            return prediction
        answer = text_between(prediction, "<concise_answer>", "</concise_answer>")
        if answer is None or text_between(prediction, "<answer_format>", "</answer_format>") is None:
            return _NOTHING
        try:
            value = self.evaluate(answer)
        except ValueError:
            return answer
        return list(value) if isinstance(value, set) else value

    def score(self, prediction: Any, answer: Any, answer_type: str, where: str) -> float:
        """Return the score of one answer."""
        if isinstance(prediction, str) and prediction == _NOTHING:
            return 0.0
        if answer_type == "Integer":
            own = _integer(self.clean(prediction))
            return float(_integer(self.clean(answer)) == ("" if isinstance(own, str) else own))
        if answer_type == "Float":
            predicted, wanted = _float(self.clean(prediction)), _float(self.clean(answer))
            return float(predicted is not None and wanted is not None and is_near(predicted, wanted))
        if answer_type in ("String", "None"):
            text, cleaned = self.clean(prediction), self.clean(answer)
            return float(text == cleaned) if must_be_equal(cleaned) else _similarity(text, cleaned)
        return self._list_score(self._items(prediction), self._items(answer), where)

    def _items(self, value: Any) -> list[Any]:
        if isinstance(value, str) and (value if self.is_official else value.strip()).startswith("["):
            with contextlib.suppress(ValueError):
                value = self.evaluate(value)
        return value if isinstance(value, list) else [value]

    def _list_score(self, predictions: list[Any], answers: list[Any], where: str) -> float:
        if not predictions and not self.is_official:
            return 0.0
        if not predictions or not answers:
            side = "reference" if predictions else "prediction"
            raise AnlsError("it is an empty list; expected at least one item", where=f"{side}{where}")
        wanted = [self.clean(item) for item in _joined(answers, f"reference{where}")]
        texts = [self.clean(item) for item in _joined(predictions, f"prediction{where}")]
        if read_number(wanted[0]) is not None or must_be_equal(wanted[0]):
            return float("-".join(wanted) == "-".join(texts))
        best = [max(_similarity(text, answer) for text in texts) for answer in wanted]
        return float(plain_sum(best) / len(wanted) * min(1.0, len(wanted) / len(texts)) ** 0.5)


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _float(text: str) -> float | None:
    """Return the number in a cleaned text, in which a second percent sign may be left."""
    found = read_number(text)
    return read_number(text.rstrip("%").strip()) if found is None else found


def _similarity(text: str, answer: str) -> float:
    """Return the similarity of `longdocurl`, which counts above 0.5."""
    length = max(len(text.upper()), len(answer.upper()))
    similarity = 1.0 - Levenshtein.distance(text, answer) / length if length else 1.0
    return similarity if similarity > 0.5 else 0.0


def _joined(items: list[Any], where: str) -> list[Any]:
    """Return items, of which objects become their values joined by "-" if the first is one."""
    if not isinstance(items[0], dict):
        return items
    for item in items:
        if not isinstance(item, dict):
            raise AnlsError(f"its first item is an object, another {describe_value(item)}; expected alike", where=where)
    return ["-".join(map(str, item.values())) for item in items]


def _counts(question: Question, rules: _Rules) -> Counts:
    prediction, answer = rules.extracted(question.prediction), question.reference
    score = rules.score(prediction, answer, question.answer_type, question.row)
    is_answerable = not (isinstance(answer, str) and answer == _UNKNOWN)
    is_answered = not (isinstance(prediction, str) and prediction == _UNKNOWN)
    return {"scores": (score,), "answerable": (score,) if is_answerable else (), "answered": int(is_answered)}


def _accuracy(counts: Counts) -> Figures:
    scores = counts.get("scores", ())
    return {"accuracy": plain_sum(scores) / len(scores) if scores else 0.0}


def _accuracy_and_f1(counts: Counts) -> Figures:
    points, answered = counts.get("answerable", ()), counts.get("answered", 0)
    total = plain_sum(points)
    return {**_accuracy(counts), "f1": harmonic(total / answered, total / len(points)) if points and answered else 0.0}


_TYPES = ("Integer", "Float", "String", "None", "List")
_RULES = (
    "Integer: equal. Float: within 1 % of the answer, a hundredth of it or a hundred times it, or equal when rounded. "
    "String and None: equal if the answer is a web address, file name, page, number, date, time or e-mail address; "
    "otherwise `longdocurl`. List, and any other type: the mean of the best similarities to the answers, times the "
    "root of answers / predictions if there are more predictions; all equal in order if the first answer is a number "
    "or must be equal."
)
_benchmark = functools.partial(
    Benchmark,
    family="LongDocURL",
    unit="question",
    read=read_documents,
    reads_lists=True,
    headline="accuracy",
    averages=True,
    answer_types=_TYPES,
    other_types=True,
)

LONGDOCURL_FULL = _benchmark(
    name="longdocurl_full",
    description=f"{_RULES} Units at the end are taken off as sets of letters (`room` becomes `roo`) in turn, "
    "a bug that the published numbers contain. A whole output with <concise_answer> tags is taken apart; the answer "
    "is evaluated as a Python expression, so that 2019-2020 becomes -1.",
    count=functools.partial(_counts, rules=_Rules(_without_units_officially, evaluate_expression, is_official=True)),
    figures_of=_accuracy_and_f1,
    reports="generalized accuracy: mean of the questions; and its F1",
    source="dengc2023/LongDocURL @ 3807c0e, utils/utils_score_v3.py and eval/api_models/eval_api_models.py. "
    "Expressions are evaluated without names and calls, and with limits. It fails for an empty list.",
)

LONGDOCURL_VLMEVALKIT = _benchmark(
    name="longdocurl_vlmevalkit",
    description=f"{_RULES} One unit at the end is taken off as a word. A whole output with <concise_answer> tags is "
    "taken apart; the answer is read as a Python literal. An empty predicted list gives 0.",
    count=functools.partial(_counts, rules=_Rules(_without_unit, parse_literal)),
    figures_of=_accuracy,
    reports="generalized accuracy: mean of the questions",
    source="open-compass/VLMEvalKit @ e8e78f0, vlmeval/dataset/utils/longdocurl.py. It fails for an empty list of "
    "answers, which its evaluation then counts as 0.",
)
