"""CC-OCR's key information extraction: Donut's scores of repaired texts, as VLMEvalKit and lmms-eval compute them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from anls_eval.errors import AnlsError, short_repr
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum
from anls_eval.leaderboards.document import Document, plain_document, read_json
from anls_eval.leaderboards.donut import Texts, field_counts, sorted_fields, texts_of, tree_accuracy
from anls_eval.leaderboards.question import Question, parse_literal

_NO_SUBSET = ""

_HALF_WIDTH = {0x3000: " ", ord("、"): ","} | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_BETWEEN_CHINESE = re.compile(
    r"(?<=[\u4e00-\u9fff])\s(?=[\u4e00-\u9fffa-zA-Z0-9])|(?<=[a-zA-Z0-9])\s(?=[\u4e00-\u9fff])"
)
_AROUND_MARK = re.compile(r"(?<![0-9])\s?([!,.:;?])\s?")
_DIGIT_BESIDE_LETTER = re.compile(r"(?<=[0-9])(?=[a-zA-Z])|(?<=[a-zA-Z])(?=[0-9])")
_SPACES = re.compile(r"\s+")


def kept_fields(document: Document, texts: Texts = texts_of) -> Document:
    """Return a document normalised as by Donut, but with null, 0, false and "" as fields."""
    if isinstance(document, dict):
        return sorted_fields({key: kept_fields(value, texts) for key, value in document.items()})
    if not isinstance(document, list):
        return [str(document).strip()]
    if all(isinstance(item, dict) for item in document):
        return [item for item in (kept_fields(item, texts) for item in document) if item]
    return texts(document)


def _texts_and_bools(items: list[Any]) -> list[str]:
    texts = (str(item).strip() for item in items if isinstance(item, (str, int, float)))
    return [text for text in texts if text]


def _spaced(text: str) -> str:
    """Return a text in half-width forms, with whitespace as CC-OCR puts it."""
    # Runs of whitespace first: they end as one space anyway, and each pattern then takes linear time.
    text = _SPACES.sub(" ", text.translate(_HALF_WIDTH))
    text = _AROUND_MARK.sub(r"\1 ", _BETWEEN_CHINESE.sub("", text))
    return _SPACES.sub(" ", _DIGIT_BESIDE_LETTER.sub(" ", text))


def _all_spaced(value: Document) -> Document:
    """lmms-eval: every text of a document."""
    if isinstance(value, str):
        return _spaced(value)
    if isinstance(value, list):
        return list(map(_all_spaced, value))
    return {key: _all_spaced(own) for key, own in value.items()} if isinstance(value, dict) else value


def _values_spaced(value: Document) -> Document:
    """VLMEvalKit: the texts of a document except those in lists, and the lists in lists."""
    if isinstance(value, str):
        return _spaced(value)
    if isinstance(value, list):
        return [_values_spaced(own) if isinstance(own, dict) else own for own in value]
    return {key: _values_spaced(own) for key, own in value.items()} if isinstance(value, dict) else value


def _predicted(question: Question, takes_open_fence: bool) -> Document:
    """Return the document that the model's text holds; an empty one if it cannot be read."""
    text = question.prediction
    if not isinstance(text, str):
        return {} if text is None else plain_document(text, f"prediction{question.row}")
    _, fence, inside = text.partition("```json")
    if fence:
        text, closing, _ = inside.partition("```")
        if not closing and not takes_open_fence:
            return {}
    try:
        found = read_json(text.strip().replace("\n", ""))
    except ValueError:
        return {}
    return {} if found is None else found


def _reference_vlmevalkit(question: Question) -> Document:
    """Return the reference: JSON, else what json_repair makes of it, else a Python literal; scalars in JSON as text."""
    text, where = question.reference, f"reference{question.row}"
    if not isinstance(text, str):
        return plain_document(text, where)
    unread = None
    try:
        found = read_json(text)
    except ValueError as error:
        found, unread = _repaired(text, where), error
    if not isinstance(found, (dict, list)):
        try:
            found = parse_literal(text)
        except ValueError as error:
            unread = error
    if isinstance(found, (dict, list)):
        return plain_document(found, where)
    if unread is not None:
        problem = f"{short_repr(text)} is neither a JSON document nor the Python text of one ({unread})"
        raise AnlsError(problem, where=where)
    return text


def _repaired(text: str, where: str) -> Document:
    try:
        from json_repair import repair_json
    except ModuleNotFoundError:
        raise AnlsError(
            f"{short_repr(text)} is not JSON; VLMEvalKit repairs it with json_repair: install that package with "
            "'pip install json_repair', or correct the reference",
            where=where,
        ) from None
    return repair_json(text, return_objects=True)


def _reference_lmms(question: Question) -> Document:
    """Return the reference, or the first of a list of texts; an empty document if it is not JSON."""
    text = question.reference
    if isinstance(text, (list, tuple)) and text and isinstance(text[0], str):
        text = text[0]
    if not isinstance(text, str):
        return plain_document(text or {}, f"reference{question.row}")
    try:
        return read_json(text)
    except ValueError:
        return {}


def _vlmevalkit(question: Question) -> tuple[Document, Document]:
    sides = _predicted(question, takes_open_fence=False), _reference_vlmevalkit(question)
    prediction, reference = map(_values_spaced, sides)
    return prediction, reference


def _lmms(question: Question) -> tuple[Document, Document]:
    sides = _predicted(question, takes_open_fence=True), _reference_lmms(question)
    prediction, reference = map(_all_spaced, sides)
    return prediction, reference


def nearly_f1(equal: int, others: int) -> float:
    """Return the F1 with 1e-6 in its denominator: below 1 for equal documents, 0 for empty ones."""
    return equal / (equal + others / 2 + 1e-6)


def _f1_counts(question: Question) -> Counts:
    return field_counts(*_vlmevalkit(question), keeps_false=True)


def _f1_figures(counts: Counts) -> Figures:
    return {"micro_f1": nearly_f1(counts.get("equal", 0), counts.get("others", 0))}


def _accuracy(question: Question) -> float:
    return tree_accuracy(*map(kept_fields, _vlmevalkit(question)))


def _nearly_mean(scores: tuple[float, ...]) -> float:
    return plain_sum(scores) / (len(scores) + 1e-6)


def _accuracy_figures(counts: Counts) -> Figures:
    return {"mean": _nearly_mean(counts.get("scores", ()))}


def _subset(question: Question) -> str:
    subset = question.options.get("subset", _NO_SUBSET)
    if not isinstance(subset, str):
        raise AnlsError(
            "expected the name of the question's subset", option=f"options['subset']{question.row[1:]}", value=subset
        )
    return subset


def _lmms_f1_counts(question: Question) -> Counts:
    found = field_counts(*_lmms(question), _texts_and_bools, keeps_false=True)
    return {(_subset(question), what): number for what, number in found.items()}


def _lmms_accuracy_counts(question: Question) -> Counts:
    sides = (kept_fields(own, _texts_and_bools) for own in _lmms(question))
    return {(_subset(question), "scores"): (tree_accuracy(*sides),)}


def _subsets_figures(counts: Counts, score: Callable[[Counts], float]) -> Figures:
    """Return the mean of the subsets, in the order in which they came, with 1e-9 in its denominator."""
    subsets: dict[str, dict[str, Any]] = {}
    for (subset, what), value in counts.items():
        subsets.setdefault(subset, {})[what] = value
    scores = {subset: score(own) for subset, own in subsets.items()}
    named = {subset: own for subset, own in scores.items() if subset != _NO_SUBSET}
    return {"mean": plain_sum(scores.values()) / (len(scores) + 1e-9), **named}


def _lmms_f1_figures(counts: Counts) -> Figures:
    return _subsets_figures(counts, lambda own: nearly_f1(own["equal"], own["others"]))


def _lmms_accuracy_figures(counts: Counts) -> Figures:
    return _subsets_figures(counts, lambda own: _nearly_mean(own["scores"]))


_benchmark = functools.partial(Benchmark, family="CC-OCR")
_VLMEVALKIT = "open-compass/VLMEvalKit @ e8e78f0, vlmeval/dataset/utils/ccocr_evaluator/kie_evaluator.py."
_LMMS = "EvolvingLMMs-Lab/lmms-eval @ 75571cf, lmms_eval/tasks/cc_ocr/evaluators/kie_metric.py."
_READS = (
    "The prediction is JSON, in a json fence or not, and an empty document if it cannot be read. Full-width forms, and "
    "whitespace around punctuation, Chinese characters and digits are made alike."
)

CC_OCR_KIE_F1 = _benchmark(
    name="cc_ocr_kie_f1",
    description=f"As `donut_f1`, with null, 0, false and empty texts as fields, and with 1e-6 in the denominator. "
    f"{_READS} Texts that stand in a list are left as they are.",
    count=_f1_counts,
    figures_of=_f1_figures,
    headline="micro_f1",
    reports="micro F1 over the fields of all documents",
    source=f"{_VLMEVALKIT} A reference that is not JSON is repaired with json_repair, which must then be installed.",
)

CC_OCR_KIE_ACC = _benchmark(
    name="cc_ocr_kie_acc",
    description=f"As `donut_ted`, with the changes of `cc_ocr_kie_f1`; the sum of the documents is divided by their "
    f"number + 1e-6. {_READS}",
    count=_accuracy,
    figures_of=_accuracy_figures,
    headline="mean",
    reports="mean of the documents",
    source=f"{_VLMEVALKIT} A reference that is not JSON is repaired with json_repair, which must then be installed.",
)

LMMS_CC_OCR_KIE_F1 = _benchmark(
    name="lmms_cc_ocr_kie_f1",
    description=f"As `cc_ocr_kie_f1`, with the texts in lists made alike too, and with true and false kept in lists. "
    f"{_READS} The score is the mean of the subsets, divided by their number + 1e-9.",
    count=_lmms_f1_counts,
    figures_of=_lmms_f1_figures,
    headline="mean",
    reports="mean of the subsets' micro F1",
    question_options=("subset",),
    source=f"{_LMMS} A reference that is not JSON counts as empty.",
)

LMMS_CC_OCR_KIE_ACC = _benchmark(
    name="lmms_cc_ocr_kie_acc",
    description=f"As `cc_ocr_kie_acc`, with the changes of `lmms_cc_ocr_kie_f1`. {_READS}",
    count=_lmms_accuracy_counts,
    figures_of=_lmms_accuracy_figures,
    headline="mean",
    reports="mean of the subsets' means of documents",
    question_options=("subset",),
    source=f"{_LMMS} A reference that is not JSON counts as empty.",
)
