"""VAREX: the share of fields that are equal after normalisation, and further figures over all fields."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value, is_missing_value
from anls_eval.leaderboards.assignment import assign_rows
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum
from anls_eval.leaderboards.document import Document, plain_document, read_json
from anls_eval.leaderboards.question import Question


def _raw(value: Document) -> str:
    return "" if value is None else str(value)


def _forms(value: Document) -> tuple[str, str, str]:
    """Return the text of a value as it is, in lower case, and normalised."""
    raw = _raw(value)
    lowered = raw.lower()
    return raw, lowered, _normalised(lowered)


def _normalised(lowered: str) -> str:
    """Return a text with single spaces, without ".0" behind digits and without a comma at the end."""
    text = " ".join(lowered.split())
    if text.endswith(".0") and text[:-2].lstrip("-").replace(",", "").isdigit():
        text = text[:-2]
    return text.rstrip(",;")


_TEXTS = ("", "_ci", "_normalized")


def _compared(value: Document, wanted: Document) -> tuple[tuple[bool, ...], tuple[float, ...]]:
    """Return whether a field's text is equal in each form, and how alike it is."""
    if _raw(value) == _raw(wanted):  # then so is each form
        return (True,) * len(_TEXTS), (1.0,) * len(_TEXTS)
    texts, answers = _forms(value), _forms(wanted)
    return tuple(map(operator.eq, texts, answers)), tuple(map(_similarity, texts, answers))


def _similarity(text: str, answer: str) -> float:
    if text == answer:
        return 1.0
    if not text or not answer:
        return 0.0
    distance = Levenshtein.distance(answer, text) / max(len(answer), len(text))
    return 1.0 - distance if distance < 0.5 else 0.0


def _flat(document: Mapping[str, Document], path: str = "") -> dict[str, Document]:
    """Return the fields by path; a list is one field unless its first item is an object."""
    found: dict[str, Document] = {}
    for name, value in document.items():
        key = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            found |= _flat(value, key)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for at, item in enumerate(value):
                own = f"{key}[{at}]"
                found |= _flat(item, own) if isinstance(item, dict) else {own: item}
        else:
            found[key] = value
    return found


def _leaves(value: Document, path: str = "") -> dict[str, Document]:
    """Return the leaves of any value by path, those of lists included."""
    if isinstance(value, dict):
        named = ((f"{path}.{name}" if path else name, own) for name, own in value.items())
    elif isinstance(value, list):
        named = ((f"{path}[{at}]", own) for at, own in enumerate(value))
    else:
        return {path: value}
    found: dict[str, Document] = {}
    for key, own in named:
        found |= _leaves(own, key)
    return found


def _aligned(reference: Document, prediction: Document) -> Document:
    """Return the prediction with the items of lists of objects in the order of the reference."""
    if not isinstance(reference, dict) or not isinstance(prediction, dict):
        return prediction
    found = {}
    for key, wanted in reference.items():
        own = prediction.get(key)
        if own is not None:
            are_lists = _has_objects(wanted) and _has_objects(own)
            found[key] = _aligned_items(wanted, own) if are_lists else _aligned(wanted, own)
    return found | {key: own for key, own in prediction.items() if key not in found}


def _has_objects(value: Document) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _aligned_items(wanted: list[Document], own: list[Document]) -> list[Document]:
    """Return the predicted items in the order of those that they share most leaves with; surplus ones come last."""
    shares = _shares(wanted, own)
    partner = {row: column for row, column in assign_rows(1.0 - shares) if shares[row, column] > 0}
    paired = [_aligned(item, own[partner[row]]) if row in partner else {} for row, item in enumerate(wanted)]
    taken = set(partner.values())
    return paired + [item for column, item in enumerate(own) if column not in taken]


def _shares(wanted: list[Document], own: list[Document]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the share of each wanted item's leaves that each predicted item has."""
    leaves, others = (
        [{key: _normalised(_raw(value).lower()) for key, value in _leaves(item).items()} for item in side]
        for side in (wanted, own)
    )
    shares = np.zeros((len(wanted), len(own)))
    for row, mine in enumerate(leaves):
        for column, theirs in enumerate(others):
            if mine:
                shares[row, column] = len(mine.items() & theirs.items()) / len(mine)
    return shares


def _predicted(question: Question, reference: Document, is_order_free: bool) -> dict[str, Document]:
    """Return the predicted fields; none if the prediction is missing, cannot be read or reports an error."""
    given, where = question.prediction, f"prediction{question.row}"
    if is_missing_value(given):
        return {}
    if isinstance(given, str):
        try:
            document = read_json(given)
        except ValueError:
            return {}
    else:
        document = plain_document(given, where)
    if not isinstance(document, (dict, list, str)) and is_order_free:
        problem = f"it is {describe_value(document)}; expected an object. Leave the prediction out if there is none"
        raise AnlsError(problem, where=where)
    if not isinstance(document, dict) or "_error" in document:
        return {}
    return _flat(_aligned(reference, document) if is_order_free else document)


def _counts(question: Question) -> Counts:
    reference = plain_document(question.reference, f"reference{question.row}")
    if not isinstance(reference, dict):
        problem = f"it is {describe_value(reference)}; expected an object"
        raise AnlsError(problem, where=f"reference{question.row}")
    own = _predicted(question, reference, question.options.get("order_invariant", True))
    excluded = question.names_option("exclude") or ()
    fields = {key: value for key, value in _flat(reference).items() if key not in excluded and _is_scored(value)}
    found = [_compared(own.get(key), value) for key, value in fields.items()]
    equal = [sum(column) for column in zip(*(own_equal for own_equal, _ in found), strict=True)] or [0] * len(_TEXTS)
    alike = list(zip(*(own_alike for _, own_alike in found), strict=True)) or [()] * len(_TEXTS)
    return {
        "predictions": int(not is_missing_value(question.prediction)),
        "fields": len(fields),
        "documents": int(bool(fields)),
        "perfect": int(bool(fields) and equal[-1] == len(fields)),
        **{f"exact_match{name}": number for name, number in zip(_TEXTS, equal, strict=True)},
        **{f"anls{name}": scores for name, scores in zip(_TEXTS, alike, strict=True)},
    }


def _is_scored(value: Document) -> bool:
    return not (value is None or value in ("", []))


def _figures(counts: Counts) -> Figures:
    n = counts.get("fields", 0)
    equal, alike = ([f"{kind}{name}" for name in _TEXTS] for kind in ("exact_match", "anls"))
    if not n or not counts["predictions"]:
        return dict.fromkeys(("fields", *equal, *alike, "perfect_docs_pct"))
    return {
        "fields": n,
        **{name: counts[name] / n for name in equal},
        **{name: plain_sum(counts[name]) / n for name in alike},
        "perfect_docs_pct": counts["perfect"] / counts["documents"],
    }


VAREX = Benchmark(
    name="varex",
    family="VAREX",
    description="The share of the references' fields that are equal without case, surplus whitespace, .0 and a comma "
    "at the end, over all documents. Lists of objects are first paired by the share of equal leaves; other lists are "
    "compared as Python writes them. Empty fields of the reference are not scored, invented fields are free.",
    count=_counts,
    figures_of=_figures,
    headline="exact_match_normalized",
    reports="accuracy over the fields of all documents; and ANLS, which counts above 0.5",
    shared_options=("order_invariant", "exclude"),
    depends_on_ties=True,
    source="udibarzi/varex-bench @ a51e083, evaluation/score.py. There is no figure without a prediction or a field. "
    "It fails for a prediction that is the JSON value null, a number or a bool.",
)
