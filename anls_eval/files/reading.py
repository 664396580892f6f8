"""Read predictions and references from any file, in batches."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from anls_eval.arrow import as_list
from anls_eval.files.columns import EVERYTHING, LAYOUTS, Found, find_columns
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.source import ABSENT, Block, Source
from anls_eval.files.values import answer_lists, id_texts, present, text_or_list, with_more


@dataclasses.dataclass(frozen=True)
class Detected:
    """The detected format of a file.

    Args:
        path: The file.
        format: The most specific name in `FORMATS`: that of the layout, such as ``"rrc"``, or else the container.
        container: The format of the file itself, such as ``"json"``.
        compression: ``"gzip"``, ``"zstd"`` or None.
        columns: The column of each role in the file: ``question_id``, ``prediction`` or ``answers``,
            ``answer_type``, ``document``; roles without a column are left out.
        has_predictions: Whether the file has a column of predictions.
        has_references: Whether the file has a column of accepted answers. A file with both can be scored on its own.
        notes: Warnings about how it is read, to show to the user.
    """

    path: str
    format: str
    container: str
    compression: str | None
    columns: Mapping[str, str]
    has_predictions: bool
    has_references: bool
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive rows of a file.

    Args:
        first_row: The number of the first row, from 0. Empty lines and headers do not count.
        question_ids: The ids as text, a list or an Arrow large_string array; None if the file has none.
        values: The predictions or accepted answers: a list of the values in the file, or an Arrow array of texts or
            lists of texts.
        columns: Further columns by name: those requested, and ``answer_type`` and ``document`` where the file has
            them. Lists or Arrow arrays.
    """

    first_row: int
    question_ids: Any
    values: Any
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.values)


class Reader:
    """One side of a file, opened by `open_predictions` or `open_references`.

    Attributes:
        detected: The detected format.
        rows: The number of rows, if the file states it.
        names: The columns of the file.
    """

    def __init__(self, detected: Detected, source: Source, found: Found, side: str) -> None:
        self.detected = detected
        self.rows, self.names = source.rows, source.names
        self._source, self._found, self._side = source, found, side

    @property
    def parts(self) -> tuple["Reader", ...]:
        """The readers of the single files, in their order."""
        return (self,)

    def also(self, by: Iterable[str]) -> "Reader":
        """Return a reader of this file that also reads further columns."""
        found = dataclasses.replace(self._found, extra=self._found.extra | {name: name for name in by})
        return Reader(self.detected, self._source, found, self._side)

    def within(self, start: int, stop: int) -> "Reader":
        """Return a reader of the rows from `start` to before `stop`, of a source that has `Source.cuts`."""
        if self._source.within is None:
            raise ValueError(f"{self.detected.path}: rows of {self._source.container} cannot be read by themselves")
        return Reader(self.detected, self._source.within(start, stop), self._found, self._side)

    @property
    def cuts(self) -> tuple[int, ...]:
        """The rows at which the file can be divided cheaply: the ends of the row groups of Parquet."""
        return self._source.cuts

    def without_variants(self) -> "Reader":
        """Return a reader of this file without further accepted answers, as in DUDE's script."""
        found = dataclasses.replace(self._found, more_answers=None)
        return Reader(dataclasses.replace(self.detected, notes=()), self._source, found, self._side)

    def batches(self, size: int = 16_384) -> Iterator[Batch]:
        """Yield the rows from the start, at most `size` at a time; each batch is read when it is requested.

        Raises:
            FormatError: A row cannot be read (the message names its place), or there are no rows.
        """
        if size < 1:
            raise ValueError(f"size={size!r}: expected at least 1")
        found = self._found
        wanted = [*found.question_id, found.value, *found.extra.values()]
        wanted += [found.more_answers] if found.more_answers else []
        if found.value == EVERYTHING:
            wanted = list(self._source.names)
        seen: Counter[str] = Counter()
        first_row = self._source.first_row
        for block in self._source.read(list(dict.fromkeys(wanted)), size):
            batch = Batch(first_row, self._ids(block, seen), self._values(block), self._extra(block))
            yield batch
            first_row += len(batch)
        if first_row == self._source.first_row:
            raise FormatError(self.detected.path, "there are columns but no rows. Expected one for each question.")

    def _ids(self, block: Block, seen: Counter[str]) -> Any:
        parts = [block.columns[name] for name in self._found.question_id]
        if not parts:
            return None
        path, cells = self.detected.path, self._source.in_cells
        if len(parts) == 1:
            return id_texts(parts[0], path, block.place, cells)
        texts = [as_list(id_texts(part, path, block.place, cells)) for part in parts]
        return [_numbered(": ".join(row), seen) for row in zip(*texts, strict=True)]

    def _values(self, block: Block) -> Any:
        found, path = self._found, self.detected.path
        if found.value == EVERYTHING:
            return whole_rows(block, found.question_id)
        column = present(block.columns[found.value], found.value, self._side, path, block.place)
        if self._side == "prediction":
            return column if isinstance(column, list) else text_or_list(column)
        in_cells = self._source.in_cells if found.layout.in_cells is None else found.layout.in_cells
        column = answer_lists(column, in_cells)
        if found.more_answers is None:
            return column
        more = answer_lists(block.columns[found.more_answers], in_cells)
        answer_type = found.extra.get("answer_type")
        return with_more(column, more, None if answer_type is None else block.columns[answer_type])

    def _extra(self, block: Block) -> dict[str, Any]:
        return {called: _without_gaps(block.columns[name]) for called, name in self._found.extra.items()}


def _numbered(text: str, seen: Counter[str]) -> str:
    """Return an id made of several columns, numbered if it occurred before."""
    seen[text] += 1
    return text if seen[text] == 1 else f"{text} ({seen[text]})"


def whole_rows(block: Block, left_out: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a block as objects, without some columns."""
    names = [name for name in block.columns if name not in left_out]
    rows = zip(*(as_list(block.columns[name]) for name in names), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not ABSENT} for row in rows]


def _without_gaps(column: Any) -> Any:
    return [None if value is ABSENT else value for value in column] if isinstance(column, list) else column


def _without_ids(source: Source) -> str:
    if source.layout == "values":
        return "no question ids: rows are paired by order"
    return (
        f"no id column was recognised (columns: {listed(source.names)}), so rows are paired by order. To pair by id, "
        "name the columns of both files as predictions.question_id and references.question_id."
    )


def reader_of(
    source: Source,
    path: str,
    side: str,
    format_name: str | None,
    columns: Mapping[str, str],
    by: Sequence[str],
    compression: str | None = None,
) -> Reader:
    """Find the columns of a source and return its reader of one side, ``"prediction"`` or ``"answers"``."""
    layout = format_name if format_name in LAYOUTS else source.layout
    found = find_columns(source.names, side, layout=layout, given=columns, by=by, path=path)
    ids = {"question_id": " + ".join(found.question_id)} if found.question_id else {}
    roles = {role: name for role, name in found.extra.items() if role not in by}
    notes = [] if ids else [_without_ids(source)]
    if found.more_answers:
        notes.append(
            f"{found.more_answers} are accepted in addition to {found.value}, unless the answer is a list. DUDE's "
            f"published script accepts only {found.value}; to do the same, name that column."
        )
    detected = Detected(
        path=path,
        format=found.layout.name if found.layout.name in LAYOUTS else source.container,
        container=source.container,
        compression=compression,
        columns={**ids, side: found.value, **roles},
        has_predictions=side == "prediction" or found.has_other_side,
        has_references=side == "answers" or found.has_other_side,
        notes=tuple(notes),
    )
    return Reader(detected, source, found, side)
