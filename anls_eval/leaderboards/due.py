"""DUE: F1 of annotated values, its mean over documents, and GROUP-ANLS."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.assignment import assign_rows
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, harmonic, plain_sum, sum_counts
from anls_eval.leaderboards.document import Document, read_documents
from anls_eval.leaderboards.question import Question

_Annotation = tuple[str, Any, tuple[Any, ...]]
"""The key, the value, which is a text unless case counts, and its variants; a plain tuple, for speed."""

_Equal = Callable[[_Annotation, _Annotation], bool]


def _annotations(document: Document, question: Question, side: str, ignores_case: bool) -> list[_Annotation]:
    """Return the values of a document {key: [value, ...]}; a value is a text, or an object with variants."""
    found: list[_Annotation] = []
    for key, values in _entries(document, question, side):
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, str):  # the usual case first, for speed
                found.append((key, value.upper() if ignores_case else value, ()))
                continue
            own = value if isinstance(value, dict) else {"value": value}
            variants = own.get("value_variants", [])
            texts = [own.get("value"), *(variants if isinstance(variants, list) else [None])]
            # Without capitals, numbers and null are compared as Python does.
            is_read = "value" in own and isinstance(variants, list)
            if not is_read or (ignores_case and not all(isinstance(text, str) for text in texts)):
                form = "{'value': text, 'value_variants': [text]}"
                problem = f"{key!r} has {describe_value(value)}; expected a text or {form}"
                raise AnlsError(problem, where=f"{side}{question.row}")
            first, *others = [text.upper() if ignores_case else text for text in texts]
            found.append((key, first, tuple(others)))
    return found


def _entries(document: Document, question: Question, side: str) -> Iterable[tuple[str, Document]]:
    """Return the keys of a document, each with a value or a list of them."""
    if document is None:
        return ()
    if not isinstance(document, dict):
        problem = f"it is {describe_value(document)}; expected an object of lists of values"
        raise AnlsError(problem, where=f"{side}{question.row}")
    return document.items()


def _is_equal(one: _Annotation, other: _Annotation) -> bool:
    """Return whether two annotations have the same value, or one's value is a variant of the other."""
    key, value, variants = one
    other_key, other_value, other_variants = other
    return key == other_key and (value == other_value or value in other_variants or other_value in variants)


def _is_alike(one: _Annotation, other: _Annotation) -> bool:
    """Return whether two annotations are equal, but for texts that are half alike."""
    key, value, variants = one
    other_key, other_value, other_variants = other
    return key == other_key and (
        _is_close(value, other_value)
        or any(_is_close(value, own) for own in other_variants)
        or any(_is_close(other_value, own) for own in variants)
    )


def _is_close(one: str, other: str) -> bool:
    if _is_number(one) or _is_number(other):
        return one == other
    length = max(len(one), len(other))
    return not length or 1 - Levenshtein.distance(one, other) / length >= 0.5


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _hits(items: Sequence[_Annotation], others: Sequence[_Annotation], is_equal: _Equal) -> int:
    """Return how many items, in order, find an equal one that is left among the others."""
    left = list(others)
    hits = 0
    for item in items:
        for at, other in enumerate(left):
            if is_equal(item, other):
                del left[at]
                hits += 1
                break
    return hits


def _pair_counts(own: Sequence[_Annotation], wanted: Sequence[_Annotation], is_equal: _Equal) -> Counts:
    """Return the hits of precision and of recall, which may differ, and the numbers of annotations."""
    return {
        "precise": _hits(own, wanted, is_equal),
        "predicted": len(own),
        "recalled": _hits(wanted, own, is_equal),
        "wanted": len(wanted),
    }


def _f1(counts: Counts) -> float:
    predicted, wanted = counts.get("predicted", 0), counts.get("wanted", 0)
    precision = counts["precise"] / predicted if predicted else 0.0
    return harmonic(precision, counts["recalled"] / wanted if wanted else 0.0)


def _document_counts(question: Question, ignores_case: bool = True) -> Counts:
    own = _annotations(question.prediction, question, "prediction", ignores_case)
    return _pair_counts(own, _annotations(question.reference, question, "reference", ignores_case), _is_equal)


def _document_f1(question: Question) -> float:
    return _f1(_document_counts(question))


def _group_counts(question: Question) -> Counts:
    """Pair the groups of both sides, and count their annotations as if each pair was a document."""
    own = _groups(question.prediction, question, "prediction")
    wanted = _groups(question.reference, question, "reference")
    n = max(len(own), len(wanted))
    if not n:
        return {}
    own, wanted = ([*groups, *([[]] * (n - len(groups)))] for groups in (own, wanted))
    pairs = [[_pair_counts(one, other, _is_alike) for other in wanted] for one in own]
    costs = np.array([[1 - _f1(counts) for counts in row] for row in pairs])
    return sum_counts(pairs[row][column] for row, column in assign_rows(costs))


def _groups(document: Document, question: Question, side: str) -> list[list[_Annotation]]:
    groups = []
    for key, values in _entries(document, question, side):
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, dict) or "children" not in value:
                problem = f"{key!r} has {describe_value(value)}; expected a group: {{'children': {{key: [value]}}}}"
                raise AnlsError(problem, where=f"{side}{question.row}")
            groups.append(_annotations(value["children"], question, side, ignores_case=True))
    return groups


def _f1_figures(counts: Counts) -> Figures:
    return {"micro_f1": _f1(counts)}


def _mean_figures(counts: Counts) -> Figures:
    scores = counts.get("scores", ())
    return {"mean": plain_sum(scores) / len(scores) if scores else 0.0}


_benchmark = functools.partial(Benchmark, family="DUE", drops_unpaired=True, read=read_documents)
_SOURCE = "due-benchmark/evaluator @ 75c0f55, due_evaluator/scorers/"
_VALUES = (
    "Annotations are equal if their keys are, and their values are or one's value is a variant of the other. Each "
    "predicted annotation, in order, takes the first equal one of the reference that is left, and for recall the other "
    "way round, so that the two may count different numbers of hits."
)
_F1 = "F1 pooled over all documents; 0 without a hit."

DUE_F1 = _benchmark(
    name="due_f1",
    description=f"{_F1} {_VALUES} Values are compared in capitals, keys are not.",
    count=_document_counts,
    figures_of=_f1_figures,
    headline="micro_f1",
    reports="micro F1 over the annotations of all documents",
    source=f"{_SOURCE}fscorer.py, ignoring case, as DUE runs it.",
)

DUE_F1_CASED = _benchmark(
    name="due_f1_cased",
    description=f"{_F1} {_VALUES} Case counts.",
    count=functools.partial(_document_counts, ignores_case=False),
    figures_of=_f1_figures,
    headline="micro_f1",
    reports="micro F1 over the annotations of all documents",
    source=f"{_SOURCE}fscorer.py.",
)

DUE_MEAN_F1 = _benchmark(
    name="due_mean_f1",
    description=f"Mean over the documents of their F1; a document that is empty on both sides counts 0. {_VALUES}",
    count=_document_f1,
    figures_of=_mean_figures,
    headline="mean",
    averages=True,
    reports="mean of the documents' F1",
    source=f"{_SOURCE}mean_fscorer.py, ignoring case, as DUE runs it.",
)

DUE_GROUP_ANLS = _benchmark(
    name="due_group_anls",
    description="Each value is a group of annotations. The groups of both sides are paired for the highest sum of F1, "
    "surplus ones with nothing; then the F1 pooled over all pairs of all documents. Values are alike from a similarity "
    "of 0.5 on, numbers if they are the same text, variants included. The name of the group's key does not count.",
    count=_group_counts,
    figures_of=_f1_figures,
    headline="micro_f1",
    reports="micro F1 over the annotations of all pairs of groups",
    depends_on_ties=True,
    source=f"{_SOURCE}group_anls.py, ignoring case, as DUE runs it. It fails for a value that is no group.",
)
