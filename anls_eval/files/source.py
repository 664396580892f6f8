"""What the families of formats have in common: a source of rows, read in blocks of the columns that are asked for."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

Column = Any  # a list, or an Arrow array

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "nothing"})()
"""In place of a value whose key a row lacks."""

KEY, VALUE = "key", "value"
"""The columns of a file that has none: the keys and values of an object, or the items of a list."""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows.

    Args:
        columns: The columns asked for, by name.
        place: Names the place of a row of the block, counted from 0, in a message.
    """

    columns: dict[str, Column]
    place: Callable[[int], str]


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """A file that was opened and whose rows can be read, more than once.

    Args:
        container: The format of the file as such, such as ``"csv"``.
        names: Its columns.
        rows: How many rows it has, where that is known before they are read.
        read: Gives the columns of these names in blocks of at most so many rows.
        layout: The name of the layout, where the structure of the file says it.
        in_cells: Whether values are the texts of cells, in which a list is written as text.
        cuts: The rows at which the file can be divided cheaply, the last of them its end; none where it cannot.
        within: Gives the source of the rows from one number to before another, for files with cuts.
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
    """Places in a file of lines."""
    return lambda row: f"{word} {lines[row]}"


def from_row(start: int) -> Callable[[int], str]:
    """Places in a file whose rows have numbers only."""
    return lambda row: f"row {start + row} (from 0)"


def by_columns(records: Sequence[Any], names: Sequence[str]) -> dict[str, Column]:
    """Turn objects into columns."""
    return {name: [record.get(name, ABSENT) for record in records] for name in names}


def in_blocks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Lists of at most `size` rows, each read when it is asked for."""
    while block := list(islice(rows, size)):
        yield block
