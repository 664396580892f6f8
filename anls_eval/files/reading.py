"""Read predictions and references from any file, in batches."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anls_eval.arrow import as_list
from anls_eval.errors import Note, Remedy
from anls_eval.files.columns import EVERYTHING, LAYOUTS, Found, NoColumnError, find_columns
from anls_eval.files.errors import FormatError, NoRowsError, listed
from anls_eval.files.nested import check_keys, first_values, json_note, nested_remedy, with_nested
from anls_eval.files.printed import Holds, Printed, all_of, are_all_printed
from anls_eval.files.source import ABSENT, KEY, VALUE, Block, Source
from anls_eval.files.values import (
    answer_lists,
    due_answers,
    due_predictions,
    id_texts,
    present,
    text_or_list,
    with_more,
)

_LOOKED_AT = 64  # first predictions

WITHOUT_ROWS = "is empty: read as a part without rows"

VALUES = ""
"""The key of the predictions or answers among the columns that can hold lists and dicts."""


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
    may_be_document: bool = False  # whether it is an object that is read as one row, but may be a document


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

    printed: dict[str, Printed]
    """What the last reading took apart: in the values, under "", and in further columns by name."""

    def __init__(
        self, detected: Detected, source: Source, found: Found, side: str, holds: Mapping[str, Holds] | None = None
    ) -> None:
        self.detected = detected
        self.rows, self.names = source.rows, source.names
        self._source, self._found, self._side = source, found, side
        self.is_blank = False  # whether all answers of the last reading were blank texts
        self._holds = {VALUES: Holds("texts")} if holds is None and side == "answers" else dict(holds or {})
        self.printed = {}
        self._own_notes: list[Note] = []  # on the values of the last reading
        self._side_parts: Sequence[Reader] = (self,)
        self._all_printed: dict[str, bool] = {}  # for all of these parts, by column

    @property
    def parts(self) -> tuple["Reader", ...]:
        """The reader of each file, in their order."""
        return (self,)

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files that are read."""
        return self._source.files or (self.detected.path,)

    def beside(self, parts: "Sequence[Reader]", all_printed: dict[str, bool]) -> None:
        """Make this the reader of one of several files, which together decide what is taken apart."""
        self._side_parts, self._all_printed = parts, all_printed

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about what was read otherwise than is usual or was asked for, complete once the rows are read."""
        return (*source_notes(self._source, self._side), *self._own_notes)

    def also(self, by: Iterable[str]) -> "Reader":
        """Return a reader of this file that also reads further columns."""
        found = dataclasses.replace(self._found, extra=self._found.extra | {name: name for name in by})
        return Reader(self.detected, self._source, found, self._side, self._holds)

    def holding(self, holds: Mapping[str, Holds]) -> "Reader":
        """Return a reader of this file whose values, under "", and further columns can hold lists and dicts."""
        return Reader(self.detected, self._source, self._found, self._side, holds)

    def within(self, start: int, stop: int) -> "Reader":
        """Return a reader of the rows from `start` to before `stop`, of a source that has `Source.cuts`."""
        if self._source.within is None:
            raise ValueError(f"{self.detected.path}: rows of {self._source.container} cannot be read by themselves")
        return Reader(self.detected, self._source.within(start, stop), self._found, self._side, self._holds)

    def without_rows(self, path: str) -> "Reader":
        """Return a reader of another file, which is empty, as if it had the columns of this one."""
        source = Source(self._source.container, self.names, 0, lambda wanted, size: iter(()))
        detected = dataclasses.replace(self.detected, path=path, notes=(f"{path} {WITHOUT_ROWS}",))
        return Reader(detected, source, self._found, self._side, self._holds)

    @property
    def cuts(self) -> tuple[int, ...]:
        """The rows at which the file can be divided cheaply: the ends of the row groups of Parquet."""
        return self._source.cuts

    def without_variants(self) -> "Reader":
        """Return a reader of this file without further accepted answers, as in DUDE's script."""
        found = dataclasses.replace(self._found, more_answers=None)
        return Reader(dataclasses.replace(self.detected, notes=()), self._source, found, self._side, self._holds)

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
        self.printed = {name: Printed() for name in self._holds}
        self.is_blank = self._side == "answers"
        each: dict[str, bool] = {}
        for block in self._source.read(list(dict.fromkeys(wanted)), size):
            each = each or {name: self._takes_each(name, block, size) for name in self._holds}
            if first_row == self._source.first_row:
                self._own_notes = self._noted(block)
            extra = {called: _without_gaps(block.columns[name]) for called, name in found.extra.items()}
            for name in each.keys() & extra.keys():
                extra[name] = self.printed[name].take_apart(extra[name], self._holds[name].kind, each[name])
            batch = Batch(first_row, self._ids(block, seen), self._values(block, each.get(VALUES)), extra, block.place)
            self.is_blank = self.is_blank and _are_blank(batch.values)
            yield batch
            first_row += len(batch)
        if first_row == self._source.first_row:
            raise NoRowsError(self.detected.path, "there are columns but no rows. Expected one for each question.")

    def _noted(self, first: Block) -> list[Note]:
        """Return the notes on the values of the first block."""
        if self._side != "prediction" or VALUES in self._holds or self._found.value == EVERYTHING:
            return []
        return json_note(self._found.value, as_list(first.columns[self._found.value][:_LOOKED_AT]))

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

    def _takes_each(self, name: str, first: Block, size: int) -> bool:
        """Return whether each text of a column is taken apart that can be: in cells, or where all of them can be."""
        decided = self._without_looking(name)
        if decided is not None:
            return decided
        if are_all_printed(first.columns[self._column(name)], self._holds[name].kind) is False:
            self._all_printed[name] = False
        if name not in self._all_printed:
            parts = (part.all_printed(name, size) for part in self._side_parts)
            self._all_printed[name] = all_of(parts) is True
        return self._all_printed[name]

    def _column(self, name: str) -> str:
        return self._found.value if name == VALUES else self._found.extra.get(name, EVERYTHING)

    def _without_looking(self, name: str) -> bool | None:
        """Return whether the texts of a column are taken apart; None if that depends on all of its values."""
        own = self._holds[name]
        if own.each is not None:
            return own.each
        of_layout = self._found.layout.in_cells if name == VALUES and self._side == "answers" else None
        if self._source.in_cells if of_layout is None else of_layout:
            return True
        return False if self._column(name) == EVERYTHING else own.all_can_be

    def all_printed(self, name: str, size: int = 16_384) -> bool | None:
        """Return whether every text of a column can be taken apart; None if nothing in this file bears on that."""
        if self._without_looking(name) is not None:
            return None
        column, kind = self._column(name), self._holds[name].kind
        return all_of(are_all_printed(block.columns[column], kind) for block in self._source.read([column], size))

    def first_look(self) -> dict[str, bool | None]:
        """Return for each column of which all values decide False if already its first rows do, else None.

        That also stands for a column of which this file decides by itself, as files of cells do: others may not.
        """
        of_files = {name for name, own in self._holds.items() if own.each is None and self._column(name) != EVERYTHING}
        names = {name: self._column(name) for name in of_files if self._without_looking(name) is None}
        first = next(self._source.read([*names.values()], _LOOKED_AT), None) if names else None
        if first is None:
            return dict.fromkeys(of_files)
        found = {name: are_all_printed(first.columns[own], self._holds[name].kind) for name, own in names.items()}
        return {name: False if found.get(name) is False else None for name in of_files}

    def _values(self, block: Block, each: bool | None) -> Any:
        found, path = self._found, self.detected.path
        if found.value == EVERYTHING:
            return whole_rows(block, found.question_id)
        column = present(block.columns[found.value], found.value, self._side, path, block.place)
        is_prediction = self._side == "prediction"
        if found.layout.name == "due":
            return due_predictions(column) if is_prediction else due_answers(column)
        if is_prediction:
            column = column if isinstance(column, list) else text_or_list(column)
        else:
            column = answer_lists(column)
        if each is not None:
            kind, extract = self._holds[VALUES].kind, self._holds[VALUES].extract
            # A tree that is a list is one document: with ids, a list of answers holds alternatives.
            wrap = kind == "trees" and not is_prediction and bool(found.question_id)
            column = self.printed[VALUES].take_apart(column, kind, each, wrap, extract)
        if found.more_answers is None or is_prediction:
            return column
        more = answer_lists(block.columns[found.more_answers])
        if each:
            more = Printed().take_apart(more, "texts", each)
        answer_type = found.extra.get("answer_type")
        return with_more(column, more, None if answer_type is None else block.columns[answer_type])


def _are_blank(values: Any) -> bool:
    """Return whether every value is a text without characters but whitespace, or missing."""
    if not isinstance(values, list):
        values = values.to_pylist() if len(values) and _are_blank([values[0].as_py()]) else [values]
    return all(value is None or (isinstance(value, str) and not value.strip()) for value in values)


def whole_rows(block: Block, left_out: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of a block as objects, without some columns."""
    names = [name for name in block.columns if name not in left_out]
    rows = zip(*(as_list(block.columns[name]) for name in names), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not ABSENT} for row in rows]


def _without_gaps(column: Any) -> Any:
    return [None if value is ABSENT else value for value in column] if isinstance(column, list) else column


def source_notes(source: Source, side: str) -> tuple[str, ...]:
    """Return the notes of a source, which name its side, ``"prediction"`` or ``"answers"``."""
    return tuple(f"{'predictions' if side == 'prediction' else 'references'}: {note}" for note in source.notes)


def columns_of(
    source: Source, side: str, layout: str | None, given: Mapping[str, str], path: str, by: Iterable[str] = ()
) -> Found:
    """Find the columns of one side; the error for a file without any says what was not read of it.

    It also names the text inside an object, if there is one.
    """
    try:
        found = find_columns(source.names, side, layout=layout, given=given, by=by, path=path)
    except NoColumnError as error:
        # Of references, only what Label Studio exports: other objects, such as read words, are there in test splits.
        known = [name for name in source.names if side == "prediction" or name == "annotations"]
        inside = nested_remedy(side, first_values(source, known))
        raise error.explained(inside, source.notes) from None
    if found.question_id == (KEY,) and found.value.startswith(f"{VALUE}."):
        role = "predictions.question_id" if side == "prediction" else "references.question_id"
        if given.keys().isdisjoint(("question_id", role)):
            check_keys(source, role, path)
    return found


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
    source = with_nested(source, columns.values(), path)
    found = columns_of(source, side, layout, columns, path, by)
    ids = {"question_id": " + ".join(found.question_id)} if found.question_id else {}
    roles = {role: name for role, name in found.extra.items() if role not in by}
    notes = [*source_notes(source, side)]
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
        may_be_document=may_be_document(source, found),
    )
    return Reader(detected, source, found, side)


def may_be_document(source: Source, found: Found) -> bool:
    """Return whether an object that can be read as one row may be a document instead."""
    if not (source.is_object and found.may_be_field):
        return False
    [value] = next(source.read([found.value], 1)).columns[found.value]
    return not isinstance(value, (list, dict))


def check_is_row(detected: Detected, side: str) -> None:
    """Refuse an object that may be a document, where documents are compared."""
    if detected.may_be_document:
        value = detected.columns[side]
        raise FormatError(
            detected.path,
            f"a JSON object with the field {value!r}, which may be a row of this value or a whole document.",
            remedies=[
                Remedy("columns", {side: EVERYTHING}, "compare the document"),
                Remedy("columns", {side: value}, "compare this value alone"),
            ],
        )
