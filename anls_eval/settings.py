"""Small files that people write to say how something is done: fields, and the options of a benchmark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from anls_eval.decoding import COMPRESSIONS, ZIP, kind_not_read, marked_encoding, utf8_fault
from anls_eval.errors import AnlsError
from anls_eval.json_faults import NUL, json_fault, object_once
from anls_eval.opening import open_regular, opening_fault

_MOST = 1 << 26  # bytes, far more than anybody writes


def read_settings(path: str | os.PathLike[str], option: str) -> str:
    """Return the text of a file that an option names: UTF-8, or UTF-16 or UTF-32 with a byte order mark."""
    name = os.fspath(path)
    if not name:
        raise AnlsError("an empty path; expected a file", option=option, value=name)
    try:
        with open_regular(name) as stream:
            data = stream.read(_MOST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise AnlsError(opening_fault(error), where=name) from None
    if len(data) > _MOST:
        problem = f"over {_MOST:,} bytes, so it holds data rather than {option}. Check the path."
        raise AnlsError(problem, where=name)
    if data.startswith((ZIP, *COMPRESSIONS)):
        raise AnlsError("compressed. Unpack it, and pass the file in it.", where=name)
    kind = kind_not_read(data)
    if kind is not None:
        raise AnlsError(f"{kind}.", where=name)
    text = _decoded(data, name)
    if not text.strip():
        raise AnlsError("the file is empty.", where=name)
    before, nul, _ = text.partition("\0")
    if nul:
        line = before.count("\n") + 1
        raise AnlsError(f"{NUL}. It is damaged: write or copy it again.", where=f"{name}, line {line}")
    return text


def parse_settings(text: str, name: str, parse_float: Callable[[str], Any] = float) -> Any:
    """Return the value of a text of JSON with this name, in which no object has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=object_once, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        problem, place = json_fault(text, error, if_second="Remove one of them.")
        raise AnlsError(problem, where=", ".join(filter(None, (name, place)))) from None


def _decoded(data: bytes, name: str) -> str:
    encoding = marked_encoding(data[:4])
    try:
        return data.decode(encoding or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise AnlsError(f"not {encoding}: {error.reason}. Save it as UTF-8.", where=name) from None
        line = data.count(b"\n", 0, error.start) + 1
        place = f"line {line}, byte {error.start:,}"
        raise AnlsError(utf8_fault(data, error, error.start), where=f"{name}, {place}") from None
