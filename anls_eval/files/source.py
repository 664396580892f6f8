"""A source of rows, read in blocks of the requested columns: the interface of all formats."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

Column = Any  # a list, or an Arrow array

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "nothing"})()
"""The value of a key that is missing from a row."""

KEY, VALUE = "key", "value"
"""The columns of a file that names none: the keys and values of an object, or the items of a list."""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows."""

    columns: dict[str, Column]  # the requested columns, by name
    place: Callable[[int], str]  # names a row of the block, counted from 0, in a message


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """An open file whose rows can be read more than once."""

    container: str  # the format of the file itself, such as "csv"
    names: tuple[str, ...]  # of the columns
    rows: int | None  # their number, if it is known before they are read
    read: Callable[[Sequence[str], int], Iterator[Block]]  # the columns with these names, at most so many rows at once
    layout: str | None = None  # if the structure of the file determines it
    is_object: bool = False  # whether it is one JSON object that is read as one row
    in_cells: bool = False  # whether values are texts of cells, in which a list is written as text
    cuts: tuple[int, ...] = ()  # the rows at which the file can be divided cheaply, the last of them its end
    within: "Callable[[int, int], Source] | None" = None  # for files with cuts: the rows from one to before another
    first_row: int = 0  # its number in the file
    files: tuple[str, ...] = ()  # of several that are read as one
    # What was read otherwise than is usual or was asked for, complete once the rows are read.
    notes: dict[str, None] = dataclasses.field(default_factory=dict)


def on_lines(word: str, lines: Sequence[int]) -> Callable[[int], str]:
    """Return a function that names the line of a row."""
    return lambda row: f"{word} {lines[row]}"


def from_row(start: int) -> Callable[[int], str]:
    """Return a function that names a row of a file without lines by its number."""
    return lambda row: f"row {start + row} (from 0)"


def by_columns(records: Sequence[Any], names: Sequence[str]) -> dict[str, Column]:
    """Turn objects into columns."""
    return {name: [record.get(name, ABSENT) for record in records] for name in names}


def in_blocks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of at most `size` rows."""
    while block := list(islice(rows, size)):
        yield block
