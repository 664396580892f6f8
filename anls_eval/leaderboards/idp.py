"""The IDP leaderboard (docext): similarity of fields and answers without any threshold or normalisation."""

from __future__ import annotations

import functools
from typing import Any

from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum
from anls_eval.leaderboards.document import Document, read_documents
from anls_eval.leaderboards.question import Question


def _fields(document: Document, where: str) -> list[tuple[Any, Any]]:
    """Return the labels and values of an object, or of a list of pairs of them."""
    if isinstance(document, dict):
        return list(document.items())
    if isinstance(document, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in document):
        return [(label, value) for label, value in document]
    problem = f"it is {describe_value(document)}; expected an object, or a list of [label, value]"
    raise AnlsError(problem, where=where)


_similarity = Levenshtein.normalized_similarity  # 1 - distance / longer length; 1 for two empty texts


def _kie_counts(question: Question) -> Counts:
    prediction = question.prediction
    given = [] if prediction is None else _fields(prediction, f"prediction{question.row}")
    first: dict[str, Any] = {}
    for label, value in given:
        first.setdefault(str(label), value)
    wanted = _fields(question.reference, f"reference{question.row}")
    return {"scores": tuple(_similarity(str(first.get(str(label), "")), str(value)) for label, value in wanted)}


def _vqa_score(question: Question) -> float:
    return _similarity(_answer_text(question.prediction), _answer_text(question.reference))


def _pages_score(question: Question) -> float:
    return _similarity(_without_page(question.prediction), _without_page(question.reference))


def _docvqa_score(question: Question) -> float:
    text, answers, best = _answer_text(question.prediction), question.reference, 0.0
    for answer in answers if isinstance(answers, list) else [answers]:
        best = max(best, _similarity(text, str(answer)))
    return best


def _answer_text(value: Document) -> str:
    return "" if value is None else str(value)


def _without_page(value: Document) -> str:
    return _answer_text(value).replace("Page ", "").strip()


def _figures(counts: Counts) -> Figures:
    scores = counts.get("scores", ())
    if not scores:
        raise AnlsError("the references have no field or question, so that there is no mean to compute")
    return {"mean": plain_sum(scores) / len(scores)}


_benchmark = functools.partial(
    Benchmark, family="IDP leaderboard", read=read_documents, figures_of=_figures, headline="mean"
)
_SOURCE = "NanoNets/docext @ 0edc8f5, docext/benchmark/metrics/"
_PLAIN = "Similarity 1 - distance / longer length of the texts as they are: case and whitespace count, no threshold."

IDP_KIE = _benchmark(
    name="idp_kie",
    description=f"{_PLAIN} Mean over all fields of all references. The first predicted field with the same label is "
    "compared, or an empty text; invented fields are free. Lists are compared as Python writes them.",
    count=_kie_counts,
    reports="mean of all fields of all documents",
    source=f"{_SOURCE}kie.py. It fails if there is no field.",
)

IDP_VQA = _benchmark(
    name="idp_vqa",
    averages=True,
    unit="question",
    description=f"{_PLAIN} One answer; a list is compared as Python writes it.",
    count=_vqa_score,
    reports="mean of the questions",
    source=f"{_SOURCE}vqa.py.",
)

IDP_VQA_PAGES = _benchmark(
    name="idp_vqa_pages",
    averages=True,
    unit="question",
    description=f'As `idp_vqa`, after "Page " is removed wherever it stands and both sides are stripped. {_PLAIN}',
    count=_pages_score,
    reports="mean of the questions",
    source=f"{_SOURCE}vqa.py with strip_page.",
)

IDP_DOCVQA = _benchmark(
    name="idp_docvqa",
    averages=True,
    unit="question",
    description=f"{_PLAIN} The best of a list of answers; 0 without any.",
    count=_docvqa_score,
    reports="mean of the questions",
    source=f"{_SOURCE}vqa.py, for several possible answers.",
)
