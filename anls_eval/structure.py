"""Read lists and dicts from texts, as Python, NumPy, pandas and JSON print them. Nothing is evaluated."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from anls_eval.errors import AnlsError

Parse = str | Sequence[str] | None
"""Whose texts are taken apart one by one: "predictions", "references" or columns; "none" takes none apart."""

_MAX_CHARACTERS = 1_000_000  # a longer text is one value
_MAX_DEPTH = 100

# A string as Python's repr writes it; reading it can neither fail nor warn.
_PRINTED_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4})"
_TOKEN = re.compile(
    rf"""(?P<string>'(?:[^'\\\n\r\0]|{_PRINTED_ESCAPE})*'|"(?:[^"\\\n\r\0]|{_PRINTED_ESCAPE})*")
    |(?P<number>[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<call>(?:np\.|numpy\.)?(?:array|str_|bool_?|float(?:16|32|64)|u?int(?:8|16|32|64))\()
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark>[\[\]{{}}():,=])
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_WORDS = {"None": None, "nan": None, "NaN": None, "null": None, "True": True, "False": False}
_LOOKS_SO = re.compile(r"""\s*(?:\[\s*['"\[{]|\{\s*['"]|\(\s*(?:'[^']*'|"[^"]*")\s*,)""")
SQUAD_KEYS = {"text", "answer_start"}


def parse_names(parse: Parse, columns: Iterable[str] = ()) -> frozenset[str] | None:
    """Return the names in the option `parse`, of a side or one of the columns; empty for "none", None for None."""
    if parse is None:
        return None
    given = [parse] if isinstance(parse, str) else list(parse) if isinstance(parse, Iterable) else [parse]
    names = ["references" if name == "answers" else name for name in given]
    known = ("predictions", "references", *columns)
    if names == ["none"]:
        return frozenset()
    if not names or any(name not in known for name in names):
        expected = f"expected none, or some of {', '.join(map(str, ('predictions', 'answers', *columns)))}"
        raise AnlsError(expected, option="parse", value=parse)
    return frozenset(names)


class _NoStructureError(ValueError):
    """The text is not wholly a list or a dict."""


def structure_in(text: str) -> list[Any] | dict[str, Any] | None:
    """Return the list or dict that a whole text prints; None if it is anything else, too long or too deep."""
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("[]", "{}") or len(bare) > _MAX_CHARACTERS:
        return None
    try:
        found = _decoder_of_structures.decode(bare)
    except RecursionError:
        return None
    except ValueError:
        found = _printed(bare)
    # Each level opens with a bracket: few of them are never too deep.
    is_deep = found is not None and bare.count("[") + bare.count("{") > _MAX_DEPTH and _is_too_deep(found)
    return None if is_deep else found


def looks_like_structure(text: str) -> bool:
    """Return whether a text begins as a printed list, dict, set or tuple of strings does, whole or not."""
    return _LOOKS_SO.match(text) is not None


def answers_in(text: str) -> list[Any] | None:
    """Return the accepted answers that a text prints as a list, or as SQuAD's struct; None for every other text."""
    return scalars_in(without_squad_form(structure_in(text)))


def labels_in(text: str) -> list[Any] | None:
    """Return the labels that a text prints as a list; None for every other text."""
    return scalars_in(structure_in(text))


_NESTED = frozenset({list, dict})


def scalars_in(found: Any) -> list[Any] | None:
    """Return a list of texts and numbers without its missing values; None if it is not one."""
    if not isinstance(found, list) or not _NESTED.isdisjoint(map(type, found)):
        return None
    return [item for item in found if item is not None]


def without_squad_form(value: Any) -> Any:
    """Return the texts of answers in SQuAD's form; any other value is returned unchanged."""
    if isinstance(value, dict) and value.keys() == SQUAD_KEYS:
        return value["text"]
    if (
        isinstance(value, list)
        and value
        and isinstance(value[0], dict)  # said first, for speed
        and all(isinstance(item, dict) and item.keys() >= SQUAD_KEYS for item in value)
    ):
        return [item["text"] for item in value]
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NoStructureError
    return found


def _constant_in_structure(name: str) -> None:
    if name != "NaN":
        raise _NoStructureError


_decoder_of_structures = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_constant_in_structure)


def _is_too_deep(found: Any) -> bool:
    level = [found]
    for _ in range(_MAX_DEPTH):
        level = [
            value
            for own in level
            for value in (own.values() if isinstance(own, dict) else own)
            if isinstance(value, (list, dict))
        ]
        if not level:
            return False
    return True


def _printed(text: str) -> list[Any] | dict[str, Any] | None:
    """Return what Python, NumPy or pandas printed, or None."""
    # A lone surrogate, which Python's parser cannot encode, is the same written as an escape.
    printed = _Printed(text.encode("utf-8", "backslashreplace").decode())
    try:
        found = printed.value(0)
        return found if printed.at == len(printed.text) and isinstance(found, (list, dict)) else None
    except (ValueError, SyntaxError):  # ValueError: also a number of too many digits
        return None


class _Printed:
    """A text that is read from its start; `at` is where the next token begins."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def value(self, depth: int) -> Any:
        """Read a value."""
        if depth > _MAX_DEPTH:
            raise _NoStructureError
        kind, part = self._take()
        if kind == "string":
            return ast.literal_eval(part) if "\\" in part else part[1:-1]
        if kind == "number":
            return int(part) if part.lstrip("+-").isdigit() else float(part)
        if kind == "word" and part in _WORDS:
            return _WORDS[part]
        if kind == "call":
            return self._called(depth)
        if part == "[":
            return self._items("]", depth)
        if part == "{":
            return self._dict(depth)
        raise _NoStructureError

    def _next(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.at)

    def _take(self) -> tuple[str, str]:
        """Read a token and the whitespace behind it."""
        found = self._next()
        if found is None or found.lastgroup is None:
            raise _NoStructureError
        self.at = _SPACE.match(self.text, found.end()).end()  # type: ignore[union-attr] # which matches everywhere
        return found.lastgroup, found[0]

    def _is_next(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _skip(self, mark: str) -> bool:
        """Read this mark if it comes next."""
        if not self._is_next(mark):
            return False
        self._take()
        return True

    def _items(self, end: str, depth: int) -> list[Any]:
        """Read values up to `end`, which have commas between them, or whitespace as NumPy prints them."""
        found: list[Any] = []
        while not self._skip(end):
            found.append(self.value(depth + 1))
            has_gap = self.text[self.at - 1].isspace()
            if not (self._skip(",") or has_gap or self._is_next(end)):
                raise _NoStructureError
        return found

    def _dict(self, depth: int) -> dict[str, Any]:
        pairs = []
        while not self._skip("}"):
            kind, part = self._take()
            if kind not in ("string", "number") or not self._skip(":"):
                raise _NoStructureError
            pairs.append((str(ast.literal_eval(part)), self.value(depth + 1)))
            if not (self._skip(",") or self._is_next("}")):
                raise _NoStructureError
        return _without_repeats(pairs)

    def _called(self, depth: int) -> Any:
        """Read the rest of ``array([...], dtype=...)`` or of a NumPy scalar."""
        found = self.value(depth + 1)
        while self._skip(","):
            if self._is_next(")"):
                break
            self._option()
        if not self._skip(")"):
            raise _NoStructureError
        return found

    def _option(self) -> None:
        """Read ``dtype=object``, ``dtype='<U5'`` or ``shape=(0,)``, which say nothing about the values."""
        if self._take()[0] != "word" or not self._skip("="):
            raise _NoStructureError
        if self._skip("("):
            self._items(")", _MAX_DEPTH - 1)
        elif self._take()[0] not in ("string", "word"):
            raise _NoStructureError
