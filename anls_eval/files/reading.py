"""Read predictions and references from any file, in batches."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anls_eval.arrow import as_list
from anls_eval.files.columns import EVERYTHING, LAYOUTS, Found, find_columns
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.source import ABSENT, Block, Source
from anls_eval.files.values import answer_lists, id_texts, present, text_or_list, with_more


@dataclasses.dataclass(frozen=True)
class Detected:
    """The detected format of a file, and its column for each role."""

    path: str
    format: str  # the most specific name in `FORMATS`: that of the layout, such as "rrc", or else the container
    container: str  # the format of the file itself, such as "json"
    compression: str | None  # "gzip", "zstd" or None
    columns: Mapping[str, str]  # by role: question_id, prediction or answers, answer_type, document
    has_predictions: bool
    has_references: bool  # a file with both can be scored on its own
    notes: tuple[str, ...]  # warnings about how it is read, to show to the user


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive rows of a file; columns are lists or Arrow arrays."""

    first_row: int  # its number, from 0, without headers and empty lines
    question_ids: Any  # as text; None if the file has none
    values: Any  # the predictions or accepted answers
    columns: Mapping[str, Any]  # those asked for, and answer_type and document where the file has them
    place: Callable[[int], str]  # names a row of the batch as the file counts it, such as "line 3" or "data[2]"

    def __len__(self) -> int:
        return len(self.values)


class Reader:
    """One side of a file: its `detected` format, the `names` of its columns, and its `rows` if it states them."""

    def __init__(self, detected: Detected, source: Source, found: Found, side: str) -> None:
        self.detected = detected
        self.rows, self.names = source.rows, source.names
        self._source, self._found, self._side = source, found, side

    @property
    def parts(self) -> tuple["Reader", ...]:
        """The reader of each file, in their order."""
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
        """Yield the rows from the start, at most `size` at a time; each batch is read when it is requested."""
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
            extra = {called: _without_gaps(block.columns[name]) for called, name in found.extra.items()}
            batch = Batch(first_row, self._ids(block, seen), self._values(block), extra, block.place)
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
        joined = []
        for text in map(": ".join, zip(*texts, strict=True)):
            seen[text] += 1  # an id that occurred before is numbered
            joined.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
        return joined

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


def whole_rows(block: Block, left_out: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a block as objects, without some columns."""
    names = [name for name in block.columns if name not in left_out]
    rows = zip(*(as_list(block.columns[name]) for name in names), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not ABSENT} for row in rows]


def _without_gaps(column: Any) -> Any:
    return [None if value is ABSENT else value for value in column] if isinstance(column, list) else column


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
    notes = []
    if not ids and source.layout == "values":
        notes.append("no question ids: rows are paired by order")
    elif not ids:
        notes.append(
            f"no id column was recognised (columns: {listed(source.names)}), so rows are paired by order. To pair by "
            "id, name the columns of both files as predictions.question_id and references.question_id."
        )
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
