"""Parse JSON strictly: repeated keys are refused, and errors say where. Flatten the rows of sample logs."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

from anls_eval.files.errors import FormatError, repeated


class _RepeatedKeyError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError(repeated(key for key, _ in pairs))
    return found


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def parse(text: str, path: str, line: int | None = None) -> Any:
    """Parse the JSON text of a file or of one line; NaN, which pandas writes for a missing value, becomes None."""
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        number = error.lineno if line is None else line
        at_end = not text[error.pos :].strip() or error.msg.startswith("Unterminated string")
        remedy = "Fix it there; if the text ends too early, it was truncated." if at_end else "Fix it there."
        problem = f"not JSON: {error.msg.removesuffix(' at')}. {remedy}"
        raise FormatError(path, problem, f"line {number}, column {error.colno}") from None
    except _RepeatedKeyError as error:
        problem = f"an object has the key {str(error)!r} twice, so one value would be lost. Remove one of them."
    except RecursionError:
        problem = "nested too deeply to be read here. Score such a tree with anls_eval.anls_star_score."
    except ValueError:  # Python refuses to read integers of thousands of digits
        problem = "an integer has too many digits to read. Write it as text, in quotes."
    raise FormatError(path, problem, "" if line is None else f"line {line}")


def parse_lines(lines: Sequence[str]) -> list[Any] | None:
    """Parse lines together, which is far faster than one by one; return None if `parse` would refuse one of them."""
    mark = uuid.uuid4().hex  # in no line: what is between two marks is one line, and one value
    try:
        parsed = _decoder.decode("[" + f',"{mark}",'.join(lines) + "]")
    except (ValueError, RecursionError):
        return None
    values, marks = parsed[::2], parsed[1::2]
    return values if len(values) == len(lines) and marks.count(mark) == len(marks) else None


def unfolded(record: dict[str, Any]) -> dict[str, Any]:
    """Return a sample with the columns of its dataset row and its only response; leave other objects unchanged."""
    # EleutherAI/lm-evaluation-harness and EvolvingLMMs-Lab/lmms-eval, loggers/evaluation_tracker.py: a line holds
    # doc_id (the number of the row in the dataset), target (str of the answers, a list as Python writes it),
    # filtered_resps (the scored responses) and, in lm-eval and early lmms-eval, the row itself as doc.
    if "filtered_resps" not in record or "target" not in record:
        return record
    doc = record.get("doc")
    response = record["filtered_resps"]
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return {**(doc if isinstance(doc, dict) else {}), **record, "filtered_resps": response}
