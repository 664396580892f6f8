"""CC-OCR V2: key information extraction and questions, as its own code and evalscope compute them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value, is_missing_value, to_text
from anls_eval.leaderboards.benchmark import Benchmark, Counted, Counts, Figures, mean_figure
from anls_eval.leaderboards.cc_ocr import nearly_f1
from anls_eval.leaderboards.document import Document, check_nested, plain_document, read_json
from anls_eval.leaderboards.donut import field_counts
from anls_eval.leaderboards.question import Question, parse_literal, text_between

_UNREADABLE = object()
_CHINESE = re.compile("[\u4e00-\u9fff]")

_CLEANED = {0x3000: " ", 0xFFE5: "¥", ord("℃"): "°C", ord("、"): ",", ord("’"): "'"}
_CLEANED |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | dict.fromkeys(map(ord, "-－—–"), "")


def _cleaned(text: str) -> str:
    """Return a text in half-width forms, without whitespace, hyphens and dots at its end."""
    return "".join(_unfenced(text.translate(_CLEANED).rstrip("。.")).split())


def _unfenced(text: str) -> str:
    """Return what stands in the first closed fence of a text, json fences first; else the text."""
    inside = text_between(text, "```json" if "```json" in text else "```", "```")
    return text if inside is None else inside.strip()


def _all_cleaned(value: Document) -> Document:
    """evalscope: every text of a document."""
    if isinstance(value, str):
        return _cleaned(value)
    if isinstance(value, list):
        return list(map(_all_cleaned, value))
    return {key: _all_cleaned(own) for key, own in value.items()} if isinstance(value, dict) else value


def _values_cleaned(value: Document) -> Document:
    """CC-OCR V2: the texts of a document but those in lists of lists."""
    if isinstance(value, str):
        return _cleaned(value)
    if isinstance(value, list):
        return [own if isinstance(own, list) else _values_cleaned(own) for own in value]
    return {key: _values_cleaned(own) for key, own in value.items()} if isinstance(value, dict) else value


def _read(value: Any, where: str) -> Document:
    """Return the document that a text holds, fenced or not, or `_UNREADABLE`."""
    if not isinstance(value, str):
        return _UNREADABLE if is_missing_value(value) else plain_document(value, where)
    try:
        return read_json(_unfenced(value.strip()))
    except ValueError:
        return _UNREADABLE


def _both(question: Question) -> tuple[Document, Document]:
    prediction = _read(question.prediction, f"prediction{question.row}")
    return prediction, _read(question.reference, f"reference{question.row}")


def _evalscope_f1(question: Question) -> float:
    prediction, reference = _both(question)
    if reference is _UNREADABLE or reference is None:
        return 0.0
    sides = {} if prediction is _UNREADABLE or prediction is None else prediction, reference
    found = field_counts(*map(_all_cleaned, sides), keeps_false=True)
    return nearly_f1(found["equal"], found["others"])


def _official_counts(question: Question) -> Counts:
    prediction, reference = _both(question)
    read = {"predictions": int(prediction is not _UNREADABLE), "references": int(reference is not _UNREADABLE)}
    if reference is _UNREADABLE:
        return read
    sides = {} if prediction is _UNREADABLE else prediction, reference
    return {**read, **field_counts(*map(_values_cleaned, sides), keeps_false=True)}


def _official_figures(counts: Counts) -> Figures:
    if not counts.get("predictions") or not counts.get("references"):
        return {"micro_f1": None}
    return {"micro_f1": nearly_f1(counts["equal"], counts["others"])}


def _qa_score(question: Question, score: Callable[[str, str, bool, bool], float], is_official: bool) -> Counted:
    text = _without_outer_fence(question.prediction_text())
    answers = _answers(question)
    if is_official and answers == "":
        return {"scores": ()}
    if not text:
        return 0.0
    is_list = isinstance(answers, list)
    if is_official and is_list:
        _check_answers(answers, question)
    texts = list(map(str, answers)) if is_list else [answers]
    is_chinese = any(map(_CHINESE.search, texts))
    line = _one_line(text, is_chinese)
    return max([score(line, _one_line(own, is_chinese), is_chinese, is_list) for own in texts])


def _without_outer_fence(text: str) -> str:
    text = text.strip()
    if len(text) < 6 or not (text.startswith("```") and text.endswith("```")):
        return text
    return re.sub(r"\Ajson", "", text[3:-3], flags=re.IGNORECASE).strip()


def _answers(question: Question) -> Any:
    """Return the list that the reference holds, as JSON or as Python writes it; else its text."""
    text = question.reference
    if isinstance(text, (list, tuple)):
        return list(text) or "[]"
    if type(text) is not str:  # the usual case is left as it is, for speed
        text = to_text(text, f"reference{question.row}", "one string") or ""
    text = text.strip()
    if not text.startswith("["):
        return text
    for parse in (json.loads, parse_literal):
        try:
            found = parse(text)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, list) and found else text
    return text


def _check_answers(answers: list[Any], question: Question) -> None:
    for answer in answers:
        if not isinstance(answer, (str, int, float)):
            problem = f"an answer is {describe_value(answer)}; expected a text or number"
            raise AnlsError(f"{problem}. `cc_ocr_v2_qa` takes it as its text", where=f"reference{question.row}")


def _official_score(text: str, answer: str, is_chinese: bool, is_list: bool) -> float:
    if is_chinese and not is_list and not _is_short(answer, is_chinese):
        return 0.0
    return _evalscope_score(text, answer, is_chinese, is_list)


def _evalscope_score(text: str, answer: str, is_chinese: bool, is_list: bool) -> float:
    is_short = _is_short(answer, is_chinese)
    if is_short and answer in text:
        return 1.0
    if is_short and (is_list or not is_chinese):
        return 0.0
    similarity = Levenshtein.normalized_similarity(text, answer)
    return similarity if similarity >= 0.5 else 0.0


def _one_line(text: str, is_chinese: bool) -> str:
    text = text.lower().strip().replace("\n", " ")
    return text.replace(" ", "") if is_chinese else text


def _is_short(answer: str, is_chinese: bool) -> bool:
    return answer.count(",") < 3 if is_chinese else len(answer.split()) < 5


_benchmark = functools.partial(Benchmark, family="CC-OCR")
_EVALSCOPE = "modelscope/evalscope @ fde259d, evalscope/benchmarks/cc_ocr_v2/utils.py, a port of CC-OCR V2's code."
_OFFICIAL = "eioss/CC-OCR-V2 @ 8611458,"

CC_OCR_V2_KIE = _benchmark(
    name="cc_ocr_v2_kie",
    description="Mean of the documents' F1, as `cc_ocr_kie_f1`, with texts in half-width forms and without whitespace, "
    "hyphens and dots at the end. A prediction that is not JSON counts as an empty document; such a reference gives 0.",
    count=_evalscope_f1,
    figures_of=mean_figure,
    headline="mean",
    averages=True,
    reports="mean of the documents' F1",
    source=f"{_EVALSCOPE} That code computes one F1 over all documents instead: `cc_ocr_v2_kie_official`.",
)

CC_OCR_V2_KIE_OFFICIAL = _benchmark(
    name="cc_ocr_v2_kie_official",
    description="As `cc_ocr_v2_kie`, but one F1 over the fields of all documents. A reference that is not JSON is left "
    "out; texts in lists of lists are left as they are. There is no figure if no prediction or no reference is JSON.",
    count=_official_counts,
    figures_of=_official_figures,
    headline="micro_f1",
    reports="micro F1 over the fields of all documents",
    source=f"{_OFFICIAL} src/evaluate_kie.py and kie_evaluator.py.",
)

CC_OCR_V2_QA = _benchmark(
    name="cc_ocr_v2_qa",
    averages=True,
    unit="question",
    read=check_nested,
    description="An answer of fewer than 5 words, or in Chinese of fewer than 4 parts between commas: 1 if the "
    "prediction contains it. A longer one, and a short one in Chinese that is the only answer: the similarity from 0.5 "
    "on. The best of the answers.",
    count=functools.partial(_qa_score, score=_evalscope_score, is_official=False),
    figures_of=mean_figure,
    headline="mean",
    reports="mean of the questions",
    source=_EVALSCOPE,
)

CC_OCR_V2_QA_OFFICIAL = _benchmark(
    name="cc_ocr_v2_qa_official",
    unit="question",
    read=check_nested,
    description="As `cc_ocr_v2_qa`, but a long Chinese answer that is the only one always gives 0, a bug that the "
    "published numbers contain. A question with an empty answer is left out.",
    count=functools.partial(_qa_score, score=_official_score, is_official=True),
    figures_of=mean_figure,
    headline="mean",
    reports="mean of the questions",
    source=f"{_OFFICIAL} src/evaluate_vqa.py. It fails if a list of answers holds null, an object or a list.",
)
