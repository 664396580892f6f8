"""ChartQAPro, as its own code, VLMEvalKit and lmms-eval compute it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from anls_eval.errors import AnlsError, Remedy
from anls_eval.inputs.values import describe_value, is_missing_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum
from anls_eval.leaderboards.document import check_nested
from anls_eval.leaderboards.question import Question, parse_literal, plain_list
from anls_eval.rules.table import PROTOCOLS
from anls_eval.text.similarity import measure_one

_PYPI_ANLS = PROTOCOLS["pypi_anls"]
_BARE_WORD = re.compile(r"(?<!['\w])(\w[^,]*?)(?!['\w])")
_BEFORE_LISTS = frozenset("[(#\\\ufeff")  # what the text of a list can start with: comments and parentheses, too

TYPES = ("Factoid", "Multi Choice", "Conversational", "Fact Checking", "Hypothetical")


class _Parts(NamedTuple):
    """What is compared: two texts, a flag for each item (YES: a year, which must be equal), and the flag beyond."""

    prediction: str
    answer: str
    flags: list[Any]
    other_flag: str | None = None


def _trimmed(text: str) -> str:
    return text.strip(".").strip("\n")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise AnlsError(f"it is {describe_value(value)}; expected one string", where=where)
    return value


def _last_answer(question: Question) -> Any:
    """Return the last of the answers: those before it belong to earlier turns of a conversation."""
    answers, where = plain_list(question.reference), f"reference{question.row}"
    if isinstance(answers, (list, tuple)) and not answers:
        raise AnlsError("it is an empty list; expected at least one answer", where=where)
    return answers[-1] if isinstance(answers, (list, tuple)) else answers


def _official(question: Question, prediction: str) -> _Parts:
    flags = plain_list(question.options.get("year"))
    if not isinstance(flags, (list, tuple)):
        problem = 'expected the year flags of the question, such as ["NO"]: the column Year of ChartQAPro'
        remedies = [] if question.row else [Remedy("options", {"year": ["NO"]}, "give them")]
        named = f"options['year']{question.row[1:]}"
        raise AnlsError(f"{problem}." if remedies else problem, option=named, value=flags, remedies=remedies)
    flags = list(flags[-1:] if question.answer_type == "Conversational" else flags)
    return _Parts(_trimmed(prediction), _trimmed(_text(_last_answer(question), f"reference{question.row}")), flags)


def _chartqapro(question: Question) -> _Parts:
    return _official(question, _text(question.prediction, f"prediction{question.row}"))


def _vlmevalkit(question: Question) -> _Parts:
    return _official(question, str(question.prediction))


def _lmms(question: Question) -> _Parts:
    # What is false in Python is no answer, 0 too.
    prediction = plain_list(question.prediction) or ""
    given = "" if is_missing_value(prediction) else _text(prediction, f"prediction{question.row}")
    text = _trimmed(given.strip())
    flags = plain_list(question.options.get("year")) or []
    flags = list(flags) if isinstance(flags, (list, tuple)) else [flags]
    if question.answer_type == "Conversational":
        flags = flags[-1:]
    if question.answer_type in ("Fact Checking", "Multi Choice"):
        flags = ["YES"]
        return _Parts(text, _trimmed(str(_last_answer(question)).strip()), flags, "YES")
    return _Parts(text, _trimmed(str(_last_answer(question)).strip()), flags, "NO")


def _counts(question: Question, parts_of: Callable[[Question], _Parts]) -> Counts:
    score = _score(parts_of(question), question.row)
    return {("type", question.answer_type): (score,), "scores": (score,)}


def _score(parts: _Parts, row: str) -> float:
    """Return the mean over the longer of two lists, item by item."""
    answers = _items(_with_quotes(parts.answer)) or [parts.answer]
    texts = _items(parts.prediction) or [parts.prediction]
    flags = parts.flags * len(answers) if len(parts.flags) < len(answers) else parts.flags
    pairs = list(zip(texts, answers, strict=False))
    scores = [_item_score(text, answer, _flag(flags, at, parts, row)) for at, (text, answer) in enumerate(pairs)]
    return plain_sum(scores) / max(len(texts), len(answers))


def _flag(flags: list[Any], at: int, parts: _Parts, row: str) -> bool:
    """Return whether an item must be equal."""
    if at < len(flags):
        flag = flags[at]
    elif parts.other_flag is None:
        raise AnlsError("expected at least one flag, YES or NO", option=f"options['year']{row[1:]}", value=parts.flags)
    else:
        flag = parts.other_flag
    return isinstance(flag, str) and flag.upper() == "YES"


def _with_quotes(text: str) -> str:
    """Return the text of a list after putting quotes around each bare word, if it can then be read."""
    bare = text.strip()
    if not (len(bare) >= 2 and bare.startswith("[") and bare.endswith("]")) or "\n" in bare:
        return text
    try:
        return str(parse_literal(f"[{_BARE_WORD.sub(_quoted, bare[1:-1])}]"))
    except ValueError:
        return text


def _quoted(word: re.Match[str]) -> str:
    return f"'{word[1]}'"


def _items(text: str) -> list[str]:
    """Return the items of a Python list as texts; [] for any other text."""
    if text.lstrip()[:1] not in _BEFORE_LISTS:  # the usual case, which takes far longer to parse
        return []
    try:
        found = parse_literal(text)
    except ValueError:
        return []
    return [str(item).strip(" '") for item in found] if isinstance(found, list) else []


def _item_score(text: str, answer: str, must_be_equal: bool) -> float:
    if must_be_equal:
        return float(answer.strip().lower() == text.strip().lower())
    text, answer = (side.strip().strip("%").strip() for side in (text, answer))
    predicted, wanted = _number(text), _number(answer)
    if predicted is None or wanted is None:
        return float(measure_one(text.lower(), [answer.lower()], _PYPI_ANLS)[0])
    if wanted == 0:
        return float(predicted == 0)
    return float(abs(predicted - wanted) / abs(wanted) <= 0.05)


def _number(text: str) -> float | None:
    try:
        return float(text.strip().strip("%"))
    except ValueError:
        return None


def _figures(counts: Counts) -> Figures:
    if not counts.get("scores"):
        raise AnlsError("there is no question, so that there is no mean to compute")
    by_type = {key[1]: _mean(scores) for key, scores in counts.items() if key != "scores"}
    return {**by_type, "Overall": _mean(counts["scores"])}


def _mean(scores: tuple[float, ...]) -> float:
    return plain_sum(scores) / len(scores)


_DESCRIPTION = (
    "Of several answers the last counts. A list is compared item by item, missing and surplus items give 0, and the "
    "mean is over the longer list. An item with the year flag YES must be equal without case. Otherwise a number must "
    "be within 5 % of the answer, and texts give `pypi_anls`. A dot at the end is dropped; each bare word of a list of "
    "answers gets its own quotes, so that [United States] is read as UnitedStates, a bug that published numbers "
    "contain."
)
_benchmark = functools.partial(
    Benchmark,
    family="ChartQA",
    unit="question",
    read=check_nested,
    reads_lists=True,
    figures_of=_figures,
    headline="Overall",
    averages=True,
    no_prediction="",
    reports="mean of the questions; and by question type",
    answer_types=TYPES,
    other_types=True,
    question_options=("year",),
)

CHARTQAPRO = _benchmark(
    name="chartqapro",
    required_options=("year",),
    description=f"{_DESCRIPTION} Fact checking and multiple choice are scored like the others: the code computes that "
    "they must be equal, but does not use it.",
    count=functools.partial(_counts, parts_of=_chartqapro),
    source="vis-nlp/ChartQAPro @ 4b422c6, evaluate_predictions.py. It fails for a prediction that is not text.",
)

CHARTQAPRO_VLMEVALKIT = _benchmark(
    name="chartqapro_vlmevalkit",
    required_options=("year",),
    description=f"{_DESCRIPTION} As `chartqapro`, with any prediction taken as its text: null is None.",
    count=functools.partial(_counts, parts_of=_vlmevalkit),
    source="open-compass/VLMEvalKit @ e8e78f0, vlmeval/dataset/utils/chartqapro.py.",
)

CHARTQAPRO_LMMS = _benchmark(
    name="chartqapro_lmms",
    description=f"{_DESCRIPTION} Every item of fact checking and multiple choice must be equal. A missing flag is NO.",
    count=functools.partial(_counts, parts_of=_lmms),
    source="EvolvingLMMs-Lab/lmms-eval @ 75571cf, lmms_eval/tasks/chartqapro/utils.py.",
)
