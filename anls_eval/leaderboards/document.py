"""Documents as benchmarks read them: JSON values of plain types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.question import Question
from anls_eval.tree.nodes import PLAIN_SCALARS, check_sharing, is_plain

Document = Any
"""None, a bool, number or text, or a list of documents, or a dict of documents by text."""

_MANY_VALUES = 100_000
_NESTED = (dict, list, tuple)


def read_documents(question: Question) -> None:
    """Make both sides of a question documents."""
    if not _is_document(question.prediction):
        question.prediction = _made_document(question.prediction, f"prediction{question.row}")
    if not _is_document(question.reference):
        question.reference = _made_document(question.reference, f"reference{question.row}")


def check_nested(question: Question) -> None:
    """Refuse a side that contains itself or has too many values; for benchmarks that read no documents."""
    for side, value in (("prediction", question.prediction), ("reference", question.reference)):
        if isinstance(value, _NESTED):
            check_sharing(value, f"{side}{question.row}")


def plain_document(value: Any, where: str) -> Document:
    """Return a value in the types that `json.loads` returns; refuse what JSON cannot hold, and what contains itself."""
    return value if _is_document(value) else _made_document(value, where)


def _is_document(value: Any) -> bool:
    """Return whether a value has the types of JSON already, and not so many values that it may contain itself."""
    return type(value) in PLAIN_SCALARS or is_plain(value, _MANY_VALUES, as_json=True)


def _made_document(value: Any, where: str) -> Document:
    if isinstance(value, _NESTED):
        check_sharing(value, where)
    return _made_plain(value, where)


def _made_plain(value: Any, where: str) -> Document:
    if type(value) in PLAIN_SCALARS:
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            key = next(key for key in value if not isinstance(key, str))
            raise AnlsError(f"the key {key!r} is {describe_value(key)}; expected text as in JSON", where=where)
        return {str(key): _made_plain(own, where) for key, own in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _made_plain(value.tolist(), where)
    if isinstance(value, (list, tuple)):
        return [_made_plain(own, where) for own in value]
    if isinstance(value, (str, int, float)):  # their subclasses
        return json.loads(json.dumps(value))
    raise AnlsError(f"it holds {describe_value(value)}; expected a JSON document", where=where)


def read_json(text: str) -> Document:
    """Return the document that a text holds; raise a ValueError if it is not JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
