"""Parse JSON: repeated keys are refused, and errors say where. Flatten the rows of sample logs."""

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anls_eval.errors import Remedy
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.files import File
from anls_eval.json_faults import CONTROL, JOINED, NUL, json_fault, object_once


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


_decoder = json.JSONDecoder(object_pairs_hook=object_once, parse_constant=_constant)
_tolerant_decoder = json.JSONDecoder(object_pairs_hook=object_once, parse_constant=_constant, strict=False)

CONTROL_CHARACTERS = (
    "line breaks or other control characters in strings, where JSON wants escapes such as \\n, were read as they are"
)
"""The note on a file that a strict reader of JSON refuses."""


def parse(
    text: str, path: str, line: int | None = None, notes: dict[str, None] | None = None, if_second: str = JOINED
) -> Any:
    """Parse the JSON text of a file or of one line; NaN, which pandas writes for a missing value, becomes None.

    Control characters in strings are refused, unless there are `notes`, which then say that they were read.
    `if_second` is the remedy where a second value follows the first.
    """
    try:
        return _decoded(text, notes)
    except (ValueError, RecursionError) as error:
        problem, place = json_fault(text, error, line, if_second)
        if isinstance(error, RecursionError):
            problem += " Score such a tree with anls_eval.anls_star_score."
        raise FormatError(path, problem, place) from None


def _decoded(text: str, notes: dict[str, None] | None) -> Any:
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        if "\0" in text:
            raise json.JSONDecodeError(NUL, text, text.index("\0")) from None
        if notes is None or not error.msg.startswith(CONTROL):
            raise
    found = _tolerant_decoder.decode(text)
    notes[CONTROL_CHARACTERS] = None
    return found


def parse_lines(lines: Sequence[str]) -> list[Any] | None:
    """Parse lines together, which is far faster than one by one; return None if `parse` would refuse one of them."""
    mark = uuid.uuid4().hex  # in no line: what is between two marks is one line, and one value
    try:
        parsed = _decoder.decode("[" + f',"{mark}",'.join(lines) + "]")
    except (ValueError, RecursionError):
        return None
    values, marks = parsed[::2], parsed[1::2]
    return values if len(values) == len(lines) and marks.count(mark) == len(marks) else None


KEYS_OF_LOGS = frozenset({"annotations", "filtered_resps"})
"""An object without any of these keys is one row, passes every filter, and needs no unfolding."""


def rows_of(record: Any) -> list[Any]:
    """Return the rows in a JSON value: one for each annotation of a document of DUE, else the value itself."""
    # due-benchmark/baselines: a line of document.jsonl holds a document's name and its annotations, each with an id, a
    # key and values, which can have variants.
    annotations = record.get("annotations") if isinstance(record, dict) and "name" in record else None
    if not isinstance(annotations, list) or not all(isinstance(own, dict) and "values" in own for own in annotations):
        return [record]
    name = str(record["name"])
    common = {key: value for key, value in record.items() if key != "annotations"} | {"document": name}
    return [
        {
            **common,
            "question_id": f"{name}: {own.get('id', own.get('key', number))}",
            "key": own.get("key"),
            "due_values": own["values"],
        }
        for number, own in enumerate(annotations)
    ]


class OneFilter:
    """Lets the rows of one filter of lm-eval pass, the one that was asked for, and every row of any other file."""

    def __init__(self, file: File, every: Callable[[], Iterable[Any]]) -> None:
        # `every` reads all rows once more, for an error that lists the filters.
        self._file, self._every = file, every
        self._asked = file.how.filter
        self._first: Any = None
        self._is_logged = self._passed = False

    def passes(self, record: Any) -> bool:
        """Return whether a row is read."""
        if not isinstance(record, dict) or "filter" not in record or "filtered_resps" not in record:
            return True
        own, self._is_logged = record["filter"], True
        if self._asked is not None:
            self._passed = self._passed or own == self._asked
            return bool(own == self._asked)
        self._first = own if self._first is None else self._first
        if own != self._first:
            raise self._error("the log has a row for each of several filters")
        return True

    def finish(self) -> None:
        """Raise a FormatError if no row had the filter that was asked for."""
        if self._is_logged and self._asked is not None and not self._passed:
            raise self._error(f"no row has the filter {self._asked!r}")

    def _error(self, problem: str) -> FormatError:
        names = dict.fromkeys(str(own["filter"]) for own in self._every() if isinstance(own, dict) and "filter" in own)
        remedies = [Remedy("filter", next(reversed(names)), "read the rows of one")]
        return FormatError(self._file.path, f"{problem}: {listed(names)}.", remedies=remedies)


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
