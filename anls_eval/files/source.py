"""A source of rows, read in blocks of the requested columns: what all formats have in common."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

Column = Any  # a list, or an Arrow array

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "nothing"})()
"""The value of a key that is missing from a row."""

KEY, VALUE = "key", "value"
"""The columns of a file without any: the keys and values of an object, or the items of a list."""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows.

    Args:
        columns: The requested columns, by name.
        place: Returns the place, for messages, of a row of the block, from 0.
    """

    columns: dict[str, Column]
    place: Callable[[int], str]


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """An open file whose rows can be read more than once.

    Args:
        container: The format of the file itself, such as ``"csv"``.
        names: The columns.
        rows: The number of rows, if it is known before they are read.
        read: Yields the columns with these names in blocks of at most so many rows.
        layout: The name of the layout, if the structure of the file determines it.
        in_cells: Whether values are texts of cells, in which a list is written as text.
        cuts: The rows at which the file can be divided cheaply, the last of them its end; empty if it cannot.
        within: Returns the source of the rows from one number to before another, for files with cuts.
        first_row: The number of the first row in the file.
    """

    container: str
    names: tuple[str, ...]
    rows: int | None
    read: Callable[[Sequence[str], int], Iterator[Block]]
    layout: str | None = None
    in_cells: bool = False
    cuts: tuple[int, ...] = ()
    within: "Callable[[int, int], Source] | None" = None
    first_row: int = 0


def on_lines(word: str, lines: Sequence[int]) -> Callable[[int], str]:
    """Return a function from a row to its place in a file of lines."""
    return lambda row: f"{word} {lines[row]}"


def from_row(start: int) -> Callable[[int], str]:
    """Return a function from a row to its place in a file whose rows only have numbers."""
    return lambda row: f"row {start + row} (from 0)"


def by_columns(records: Sequence[Any], names: Sequence[str]) -> dict[str, Column]:
    """Turn objects into columns."""
    return {name: [record.get(name, ABSENT) for record in records] for name in names}


def in_blocks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of at most `size` rows."""
    while block := list(islice(rows, size)):
        yield block
