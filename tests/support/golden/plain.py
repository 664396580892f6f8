"""Any result as JSON values that depend on no module, class or wording."""

import dataclasses
import datetime
import hashlib
import json
import re
from collections.abc import Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

# Texts in fields of these names are left out: sentences for a reader, and where a file lies. Their wording may change,
# while no number may.
LEFT_OUT = frozenset(
    (
        "conclusion", "description", "file", "found", "leaderboards", "notes", "path", "reason", "remedy", "rule",
        "sentence", "source",
    )
)  # fmt: skip

# A bootstrap multiplies matrices and a test transforms by Fourier, so that the last bits depend on the processor.
_BOUNDS = frozenset(("low", "high", "interval", "confidence_interval", "p_value", "p_adjusted"))
_DIGITS = 10

# Came after the recording, of what is recorded beside them.
_NEW_FIELDS = frozenset(
    ("automation", "compared_as", "counted", "extract", "extraction", "fields", "measured", "raw_prediction", "rules")
)
# Fields that became properties of others, by the name of the field that they are computed from.
_NOW_PROPERTIES = {"ids": "question_ids", "labels": "columns"}
_NEW_FINDINGS = frozenset(("accounting", "fields", "fields_left_out"))  # the same, in what a report finds

_VERSIONS = re.compile(r"(?<=\|)(version|unicode):[^|]*")
_MOST = 1_500  # characters of a list that is recorded in full
_FIRST = 3
_BLOCK = 50


def plain(value: Any) -> Any:
    """Return a result as JSON values: floats as they are, versions masked, fields of dataclasses by name."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = {own.name for own in dataclasses.fields(value) if not own.name.startswith("_")}
        names = {_NOW_PROPERTIES.get(name, name) for name in names}
        return plain({name: getattr(value, name) for name in sorted(names - _NEW_FIELDS)})
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain({name: own for name, own in sorted(value._asdict().items()) if name not in _NEW_FINDINGS})
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            kept = {key: own for key, own in value.items() if key != "extract" or len(own)}
            fields = {_masked(key): plain(own) for key, own in kept.items() if not _is_wording(key, own)}
            return {name: _rounded(own) if name in _BOUNDS else own for name, own in fields.items()}
        return [[plain(key), plain(own)] for key, own in sorted(value.items())]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return plain(value.to_pylist())
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))
    if isinstance(value, Set):
        return sorted(map(plain, value))
    if isinstance(value, (Fraction, Decimal, datetime.date)):
        return str(value)
    return _masked(value) if isinstance(value, str) else value


def shortened(value: Any) -> Any:
    """Return plain JSON values with each long list as its first items and the hashes of all of it and of its blocks."""
    if isinstance(value, dict):
        return {key: shortened(own) for key, own in value.items()}
    if not isinstance(value, list):
        return value
    items = list(map(json.dumps, value))
    if len(items) <= _FIRST or sum(map(len, items)) <= _MOST:
        return list(map(shortened, value))
    blocks = [items[start : start + _BLOCK] for start in range(0, len(items), _BLOCK)]
    hashes = {"sha256": _hash(items)} | ({f"by {_BLOCK}": [_hash(own)[:8] for own in blocks]} if blocks[1:] else {})
    return {"items": len(items), **hashes, "first": list(map(shortened, value[:_FIRST]))}


def _is_wording(name: str, value: Any) -> bool:
    """Return whether a field holds nothing but wording."""
    texts = value if isinstance(value, (list, tuple)) else [value]
    return name in LEFT_OUT and all(isinstance(own, str) for own in texts)


def _rounded(value: Any) -> Any:
    """Return a bound, or both, without its last digits."""
    if isinstance(value, list):
        return list(map(_rounded, value))
    return round(value, _DIGITS) if isinstance(value, float) else value


def _masked(text: str) -> str:
    return _VERSIONS.sub(r"\1:*", text)


def _hash(items: list[str]) -> str:
    return hashlib.sha256("\n".join(items).encode()).hexdigest()
