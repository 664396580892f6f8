"""JSON text, parsed strictly: each key once, and every fault with its place."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

from anls_eval.files.errors import FormatError


class _RepeatedKeyError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _RepeatedKeyError(repeated)
    return found


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def parse(text: str, path: str, line: int | None = None) -> Any:
    """The value of a JSON text. NaN, pandas' missing value, is None.

    Args:
        text: The whole file, or one line of it.
        path: The file, for messages.
        line: The number of the line, or None for a whole file.

    Raises:
        FormatError: The text is not JSON, repeats a key in an object, or is nested too deeply.
    """
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        number = error.lineno if line is None else line
        at_end = not text[error.pos :].strip() or error.msg.startswith("Unterminated string")
        remedy = "Mend it there; if the text ends too early, it was cut off." if at_end else "Mend it there."
        problem = f"not JSON: {error.msg.removesuffix(' at')}. {remedy}"
        raise FormatError(path, f"line {number}, column {error.colno}", problem) from None
    except _RepeatedKeyError as error:
        raise FormatError(
            path,
            "" if line is None else f"line {line}",
            f"an object has the key {str(error)!r} twice, so that one value would be lost. Remove one of them.",
        ) from None
    except RecursionError:
        raise FormatError(
            path,
            "" if line is None else f"line {line}",
            "nested more deeply than JSON can be read here. Score such a tree with anls.anls_star_score.",
        ) from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise FormatError(
            path,
            "" if line is None else f"line {line}",
            "an integer has too many digits to be read. Write it as text, in quotes.",
        ) from None


def parse_lines(lines: Sequence[str]) -> list[Any] | None:
    """The values of lines of one JSON value each, parsed together, which is far faster than one by one.

    Returns:
        The values; None if some line has a fault, which `parse` finds.
    """
    mark = uuid.uuid4().hex  # in no line: what stands between two marks is one line, and one value
    try:
        parsed = _decoder.decode("[" + f',"{mark}",'.join(lines) + "]")
    except (ValueError, RecursionError):
        return None
    values, marks = parsed[::2], parsed[1::2]
    return values if len(values) == len(lines) and marks.count(mark) == len(marks) else None
