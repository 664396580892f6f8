"""The words for texts that are not JSON, or JSON that cannot be read here, each with a remedy."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

CONTROL = "Invalid control character"
"""What a text has that only a tolerant reader takes, in the words of Python's parser, to which it adds "at"."""


NUL = "a NUL character, which no text has"
"""What damage leaves in a text; a string of JSON can have it only as an escape."""

JOINED = "If files were joined, pass them as they were, from a folder; write rows on a line each, as jq -c does."
"""The remedy for a second value after the first, where a file can hold many."""


class RepeatedKeyError(ValueError):
    """An object has a key twice."""


def object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or raise a RepeatedKeyError: Python would drop all values of a key but one."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


def json_fault(
    text: str, error: ValueError | RecursionError, line: int | None = None, if_second: str = JOINED
) -> tuple[str, str]:
    """Return what is wrong with a text that Python's parser refused, with a remedy, and where; `line` is its own.

    `if_second` is the remedy where a second value follows the first.
    """
    place = "" if line is None else f"line {line}"
    if isinstance(error, json.JSONDecodeError):
        found, remedy = _fault(text, error, if_second)
        return f"not JSON: {found}. {remedy}", f"line {error.lineno if line is None else line}, column {error.colno}"
    if isinstance(error, RepeatedKeyError):
        return repeated_key(str(error)), place
    if isinstance(error, RecursionError):
        return "nested too deeply to be read here.", place
    # Python refuses to read integers of thousands of digits.
    return "an integer has too many digits to read. Write it as text, in quotes.", place


def repeated_key(key: str) -> str:
    """Return what is wrong with an object that has a key twice."""
    return f"an object has the key {key!r} twice, so one value would be lost. Remove one of them."


def _fault(text: str, error: json.JSONDecodeError, if_second: str) -> tuple[str, str]:
    """Return what is wrong with a text that is not JSON, and how to mend it."""
    found, rest = error.msg.removesuffix(" at"), text[error.pos :].lstrip()
    if found == CONTROL:
        return "a line break or other control character in a string", "Write it as an escape such as \\n."
    if not rest or found.startswith("Unterminated string"):
        return found, "Fix it there; if the text ends too early, it was truncated."
    before = text[: error.pos].rstrip()
    if found == NUL or rest.startswith("\0"):
        return NUL, "It is damaged: write or copy it again."
    if rest.startswith(("//", "/*", "#")):
        return "a comment", "JSON has none: remove all comments."
    if found == "Extra data" and rest.startswith(","):
        return "a comma after the value", "Remove it from each line, or put the values in one list: [..., ...]."
    if found == "Extra data" and rest.startswith(("{", "[")):
        return "a second value after the first", if_second
    if (before.endswith(",") and rest.startswith(("]", "}"))) or (rest.startswith(",") and _closes(rest[1:])):
        return "a comma before the closing bracket", "Remove it."
    if rest.startswith(("'", "None", "True", "False")):
        return "a value as Python prints it", "Write the file with json.dump instead of print or str."
    return found, "Fix it there."


def _closes(text: str) -> bool:
    return text.lstrip().startswith(("]", "}"))
