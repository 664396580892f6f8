"""The IDP leaderboard (docext): similarity of fields and answers without any threshold or normalisation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum
from anls_eval.leaderboards.document import Document, both_documents
from anls_eval.leaderboards.question import Question


def _similarity(text: str, answer: str) -> float:
    length = max(len(text), len(answer))
    return 1 - Levenshtein.distance(text, answer) / length if length else 1.0


def _fields(document: Document, where: str) -> list[tuple[Any, Any]]:
    """Return the labels and values of an object, or of a list of pairs of them."""
    if isinstance(document, dict):
        return list(document.items())
    if isinstance(document, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in document):
        return [(label, value) for label, value in document]
    problem = f"it is {describe_value(document)}; expected an object, or a list of [label, value]"
    raise AnlsError(problem, where=where)


def _kie_counts(question: Question) -> Counts:
    prediction, reference = both_documents(question)
    given = [] if prediction is None else _fields(prediction, f"prediction{question.row}")
    first: dict[str, Any] = {}
    for label, value in given:
        first.setdefault(str(label), value)
    wanted = _fields(reference, f"reference{question.row}")
    return {"scores": tuple(_similarity(str(first.get(str(label), "")), str(value)) for label, value in wanted)}


def _vqa_score(prediction: Document, reference: Document) -> float:
    return _similarity(_answer_text(prediction), _answer_text(reference))


def _pages_score(prediction: Document, reference: Document) -> float:
    sides = (_answer_text(side).replace("Page ", "").strip() for side in (prediction, reference))
    return _similarity(*sides)


def _docvqa_score(prediction: Document, reference: Document) -> float:
    answers, text = reference if isinstance(reference, list) else [reference], _answer_text(prediction)
    return max([_similarity(text, str(answer)) for answer in answers], default=0.0)


def _answer_text(value: Document) -> str:
    return "" if value is None else str(value)


def _vqa_counts(question: Question, score: Callable[[Document, Document], float]) -> Counts:
    return {"scores": (score(*both_documents(question)),)}


def _figures(counts: Counts) -> Figures:
    scores = counts.get("scores", ())
    if not scores:
        raise AnlsError("the references have no field or question, so that there is no mean to compute")
    return {"mean": plain_sum(scores) / len(scores)}


_benchmark = functools.partial(Benchmark, family="IDP leaderboard", figures_of=_figures, headline="mean")
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
    count=functools.partial(_vqa_counts, score=_vqa_score),
    reports="mean of the questions",
    source=f"{_SOURCE}vqa.py.",
)

IDP_VQA_PAGES = _benchmark(
    name="idp_vqa_pages",
    averages=True,
    unit="question",
    description=f'As `idp_vqa`, after "Page " is removed wherever it stands and both sides are stripped. {_PLAIN}',
    count=functools.partial(_vqa_counts, score=_pages_score),
    reports="mean of the questions",
    source=f"{_SOURCE}vqa.py with strip_page.",
)

IDP_DOCVQA = _benchmark(
    name="idp_docvqa",
    averages=True,
    unit="question",
    description=f"{_PLAIN} The best of a list of answers; 0 without any.",
    count=functools.partial(_vqa_counts, score=_docvqa_score),
    reports="mean of the questions",
    source=f"{_SOURCE}vqa.py, for several possible answers.",
)
