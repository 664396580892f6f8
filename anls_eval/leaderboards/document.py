"""Documents as benchmarks read them: JSON values of plain types."""

from __future__ import annotations

import json
import types
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.question import Question
from anls_eval.tree.nodes import check_sharing

Document = Any
"""None, a bool, number or text, or a list of documents, or a dict of documents by text."""


_SCALARS = frozenset((types.NoneType, str, int, float, bool))
_TEXT = frozenset((str,))


_MANY_VALUES = 100_000


def both_documents(question: Question) -> tuple[Document, Document]:
    """Return the prediction and the reference as documents."""
    prediction = plain_document(question.prediction, f"prediction{question.row}")
    return prediction, plain_document(question.reference, f"reference{question.row}")


def plain_document(value: Any, where: str) -> Document:
    """Return a value in the types that `json.loads` returns; refuse what JSON cannot hold, and what contains itself."""
    if type(value) in _SCALARS or _is_plain(value):
        return value
    if isinstance(value, (dict, list, tuple)):
        check_sharing(value, where)
    return _made_plain(value, where)


def _is_plain(root: Any) -> bool:
    """Return whether a value has plain types alone, and not many of them when each counts as often as it is used."""
    open_values, left = [root], _MANY_VALUES
    for value in open_values:
        if type(value) is dict and _TEXT.issuperset(map(type, value)):
            children: Collection[Any] = value.values()
        elif type(value) is list:
            children = value
        else:
            return False
        left -= len(children)
        if left < 0:
            return False
        if not _SCALARS.issuperset(map(type, children)):
            open_values += [child for child in children if type(child) not in _SCALARS]
    return True


def _made_plain(value: Any, where: str) -> Document:
    if type(value) in _SCALARS:
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
