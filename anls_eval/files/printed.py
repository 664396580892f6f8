"""Take apart texts that print a list or a dict: one rule for every format, role and column of groups."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import is_text
from anls_eval.errors import short_repr
from anls_eval.extract.steps import is_document
from anls_eval.files.source import ABSENT, Column
from anls_eval.inputs.values import is_missing_value
from anls_eval.structure import answers_in, labels_in, looks_like_structure, structure_in

READERS: dict[str, Callable[[str], Any]] = {
    "texts": answers_in,
    "trees": structure_in,
    "documents": structure_in,
    "labels": labels_in,
}
"""What a column holds, and how it is read from a text: accepted answers, trees of which a list of answers holds
alternatives, documents without alternatives, or the labels of groups."""

_SPACE = r"[\t-\r\x1c-\x1f\x{85}\pZ]*"  # what `str.lstrip` takes for whitespace, which is less to RE2
_BRACKET = rf"""\A{_SPACE}(?:[\[{{]|\({_SPACE}['"])"""


@dataclasses.dataclass(frozen=True)
class Holds:
    """What a column can hold, and whether its texts are taken apart."""

    kind: str  # a key of `READERS`
    each: bool | None = None  # True: each text that can be; False: none; None: each in cells, and where all can be
    all_can_be: bool | None = None  # of all files of a side; None if that is not known yet
    extract: tuple[str, ...] = ()  # the steps by which an answer is taken out of the texts later


@dataclasses.dataclass
class Printed:
    """The texts of one column that print a list or a dict, or seem to."""

    values: int = 0  # all of the column that are not missing
    taken: int = 0  # taken apart
    left: int = 0  # compared as text although they could be taken apart
    unread: int = 0  # begin as a list, dict, set or tuple does, but cannot be read
    shown: str = ""  # the first of `left`, or of `unread` if there is none

    def add(self, other: "Printed") -> None:
        """Add the counts of another file."""
        self.shown = self.shown if self.left or not other.left else other.shown
        self.shown = self.shown or other.shown
        for name in ("values", "taken", "left", "unread"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def take_apart(
        self, column: Column, kind: str, each: bool, wrap: bool = False, extract: tuple[str, ...] = ()
    ) -> Column:
        """Return a column with its texts taken apart if `each`, and count them; `wrap` puts a list into a list.

        Texts of which `extract` will make a document are not counted otherwise.
        """
        if isinstance(column, pa.Array):
            self.values += len(column) - column.null_count
            if not is_text(column.type):
                return column
            if not pc.any(pc.match_substring_regex(column.cast(pa.large_string()), _BRACKET)).as_py():
                return column
            self.values -= len(column) - column.null_count
            column = column.to_pylist()
        if set(map(type, column)) <= {list, dict}:
            self.values += len(column)
            return column
        read, found = READERS[kind], list(column)
        for row, value in enumerate(column):
            if not isinstance(value, str):
                self.values += not is_missing_value(value)
                continue
            self.values += 1
            if value.lstrip()[:1] not in ("[", "{", "("):
                continue
            structure = read(value)
            if structure is not None and each:
                self.taken += 1
                found[row] = [structure] if wrap and isinstance(structure, list) else structure
            elif is_document(value, extract):
                continue
            elif structure is not None:
                self.shown = self.shown if self.left else short_repr(value)
                self.left += 1
            elif (looks_like_structure(value) or _may_be_answers(value, kind)) and structure_in(value) is None:
                self.shown = self.shown or short_repr(value)
                self.unread += 1
        return found


def _may_be_answers(text: str, kind: str) -> bool:
    """Return whether brackets hold the whole text of accepted answers, which DuckDB prints without quotes."""
    return kind == "texts" and text.lstrip().startswith("[") and text.rstrip().endswith("]")


def all_of(found: Iterable[bool | None]) -> bool | None:
    """Return whether all are true, without looking further than the first that is false; None if none is known."""
    seen = None
    for own in found:
        if own is False:
            return False
        seen = seen or own
    return seen


def are_all_printed(column: Column, kind: str) -> bool | None:
    """Return whether every value that is not missing is a text that can be taken apart; None if all are missing."""
    if isinstance(column, pa.Array):
        if not is_text(column.type) and not pa.types.is_null(column.type):
            return False
        column = column.to_pylist()
    read, seen = READERS[kind], None
    for value in column:
        if value is ABSENT or is_missing_value(value):
            continue
        if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{") or read(value) is None:
            return False
        seen = True
    return seen
