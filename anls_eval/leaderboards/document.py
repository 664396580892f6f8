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


def both_documents(question: Question) -> tuple[Document, Document]:
    """Return the prediction and the reference as documents."""
    prediction = plain_document(question.prediction, f"prediction{question.row}")
    return prediction, plain_document(question.reference, f"reference{question.row}")


def plain_document(value: Any, where: str) -> Document:
    """Return a value in the types that `json.loads` returns; refuse what JSON cannot hold, and what contains itself."""
    if type(value) in PLAIN_SCALARS or is_plain(value, _MANY_VALUES, as_json=True):
        return value
    if isinstance(value, (dict, list, tuple)):
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
