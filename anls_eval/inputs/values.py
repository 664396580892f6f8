"""Single values as people pass them: texts, numbers, missing values, lists of accepted answers."""

from __future__ import annotations

import contextlib
import enum
import numbers
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, cast

import numpy as np

from anls_eval.errors import short_repr

Where = Callable[[int], str]  # names a row in a message

NOT_GIVEN = object()  # where None is a value


def is_missing_value(value: object) -> bool:
    """Return whether a value is None, NaN (missing text in pandas), NaT, NA or masked; an Enum counts by its value."""
    if type(value) is str:  # the usual case first, for speed
        return False
    while isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, numbers.Number):
        return bool(value != value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def to_text(value: object, where: str, expected: str) -> str | None:
    """Return the text of one prediction or answer; None if it is missing."""
    if type(value) is str:  # the usual case first, for speed
        return value
    if isinstance(value, str):
        return str.__str__(value)  # numpy and enum subclasses of str
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    if is_missing_value(value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return to_text(value.item(), where, expected)
    if isinstance(value, (numbers.Number, np.bool_)):
        return number_text(value, where)
    raise ValueError(f"{where} is {describe_value(value)}; expected {expected}.{_remedy(value)}")


def number_text(value: object, where: str) -> str:
    """Return the text of a number."""
    try:
        return str(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        raise ValueError(f"{where} is an integer with too many digits to write; pass it as text.") from None


def describe_value(value: object) -> str:
    """Describe a value for an error message: its type, and its items, keys or text."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        kinds = sorted({type(item).__name__ for item in value})
        return f"{type_with_article(value)} of {len(value)} {'/'.join(kinds) or 'items'}"
    if isinstance(value, Mapping):
        return f"{type_with_article(value)} with the keys [{', '.join(map(short_repr, list(value)[:8]))}]"
    return f"{type_with_article(value)}, {short_repr(value)}"


# What pandas, R and SQL write for a value that is missing.
_MISSING_TEXTS = frozenset({"", "null", "none", "na", "n/a", "<na>", "nan"})


def is_missing_text(text: str) -> bool:
    """Return whether a cell says that it has no value, where no other text can mean that."""
    return text.strip().casefold() in _MISSING_TEXTS


def type_with_article(value: object) -> str:
    """Return the name of a value's type with its article: ``a dict``, ``an int``."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in tuple('aeio') else 'a'} {name}"


def _remedy(value: object) -> str:
    if isinstance(value, (list, tuple, np.ndarray)) and len(value):
        if len(value) == 1 and isinstance(value[0], str):
            return f" Pass the string itself: {value[0]!r}."
        if all(isinstance(item, numbers.Integral) for item in value):
            return " Decode the token ids to text first, for example with tokenizer.batch_decode."
    if isinstance(value, bytes):
        return " It is not UTF-8: decode it first."
    if isinstance(value, Mapping):
        key = next((key for key in value if key in _ROLES), None)
        return f" Pass its {key!r} alone." if key else " To score documents, use the protocol anls_star."
    return ""


# Keys of rows, which documents do not have.
_ROLES = ("prediction", "prediction_text", "pred", "response", "answer", "answers", "text", "value", "label")


def to_answers(value: Any, where: str) -> list[str]:
    """Return the accepted answers of one question, from any layout that datasets use."""
    expected = "a list of strings, one string, or {'text': [...]}"
    if type(value) is list and value and operator.countOf(map(type, value), str) == len(value):
        return value  # the usual case first, for speed
    if isinstance(value, Mapping) and "text" in value:  # SQuAD
        value = value["text"]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        text = to_text(value, where, expected)
        value = [] if text is None else [text]
    if not value:
        raise ValueError(f"{where} is empty; expected {expected}. Add an answer or drop the question.")
    texts = [to_text(item, f"{where}[{index}]", "a string") for index, item in enumerate(value)]
    if None in texts:
        raise ValueError(f"{where}[{texts.index(None)}] is {value[texts.index(None)]!r}; expected a string. Remove it.")
    return cast(list[str], texts)
