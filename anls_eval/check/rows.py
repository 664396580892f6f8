"""Read the rows of a submission, valid or not, and its references; and what portals accept."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from anls_eval.arrow import as_list
from anls_eval.check.known import Accepted, KnownIds, joined, stored
from anls_eval.files import FormatError, open_references
from anls_eval.files.columns import EVERYTHING, LAYOUTS, Found, NoColumnError
from anls_eval.files.files import DETECTED, How, find_file, is_folder, lines_of
from anls_eval.files.many import open_watched
from anls_eval.files.nested import with_nested
from anls_eval.files.paths import is_several
from anls_eval.files.printed import Holds, Printed
from anls_eval.files.reading import VALUES, columns_of
from anls_eval.files.source import ABSENT, Source
from anls_eval.files.source import Block as SourceBlock
from anls_eval.files.watch import file_state
from anls_eval.structure import Parse, answers_in, parse_names

ROWS_AT_ONCE = 16_384
"""The number of rows of a file that are read at the same time."""

_ANSWER_KEYS = ("answer", "prediction", "prediction_text", "pred", "response", "answers")


@dataclasses.dataclass(frozen=True)
class Portal:
    """The form that a portal takes."""

    name: str  # of its layout
    answer: str  # the key of the prediction
    form: str  # a row, for messages
    question_id: str = "questionId"  # the key of the id
    integer_ids: bool = False  # whether ids are compared as integers; otherwise as text
    lists: bool = False  # whether the prediction is a list of texts
    confidence: str | None = None  # the key of the confidences, which may be absent


PORTALS = {
    # The Robust Reading Competition's script for DocVQA, as shunk031/ANLS (6472e1d) keeps its checks.
    "rrc": Portal("rrc", "answer", '{"questionId": 49153, "answer": "0.28"}', integer_ids=True),
    # Jordy-VL/DUDEeval (8bd6dea), evaluate_submission.py.
    "dude": Portal(
        "dude",
        "answers",
        '{"questionId": "7afe_489a", "answers": ["Yes"], "answers_confidence": [0.9]}',
        lists=True,
        confidence="answers_confidence",
    ),
}
"""The portals by layout. Both take a JSON list with one row for each question of the references, and no other."""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows as the file has them, valid or not."""

    first_row: int  # its number in the file
    ids: list[Any] | None
    answers: list[Any]  # of rows without one in the usual column, that of another
    other_keys: dict[int, str]  # the columns of those answers, by row in the block
    confidences: list[Any] | None  # where the portal takes some and the file has them
    place: Callable[[int], str]  # names a row of the block as its format counts it


@dataclasses.dataclass(eq=False)
class Rows:
    """The rows of a submission, valid or not, which are read again for each pass over them."""

    source: Source
    compression: str | None
    is_json_list: bool
    portal: Portal | None  # whose rules apply
    format: str  # the most specific name
    id_keys: tuple[str, ...]  # the columns of the ids
    answer_key: str  # the column of the answers
    confidence_key: str | None  # the column of the confidences, where the portal takes some and the file has it
    faults: dict[str, FormatError]  # rows that cannot be read, by their place, once all have been read
    n: int = 0  # their number, once all have been read
    _others: tuple[str, ...] = ()  # columns that may hold answers too
    _instead: tuple[str, ...] = ()  # those that hold some in place of the usual one, once all rows have been read

    @property
    def id_key(self) -> str | None:
        """The column of the ids, if it is one."""
        return self.id_keys[0] if len(self.id_keys) == 1 else None

    def ids(self) -> Iterator[list[Any]]:
        """Read all rows and yield the ids of each block, ABSENT without any; afterwards, `blocks` can be read."""
        beside = dict.fromkeys(self._others, False)
        self.n = 0
        for block in self._read():
            values = as_list(block.columns[self.answer_key])
            for name in self._others:
                both = zip(values, as_list(block.columns[name]), strict=True)
                beside[name] |= any(one is not ABSENT and other is not ABSENT for one, other in both)
            ids = self._ids(block)
            yield [ABSENT] * len(values) if ids is None else ids
            self.n += len(values)
        # A key that some row has beside its answer is something else, such as the accepted answers.
        self._instead = tuple(name for name, too in beside.items() if not too)

    def blocks(self) -> Iterator[Block]:
        """Read all rows block by block."""
        first_row = 0
        for block in self._read():
            answers = as_list(block.columns[self.answer_key])
            if self.portal and self.portal.lists and self.source.in_cells:
                answers = [_as_list_of_texts(value) for value in answers]
            other_keys = {}
            for name in self._instead:
                for row, value in enumerate(as_list(block.columns[name])):
                    if value is not ABSENT:
                        other_keys[row], answers[row] = name, value
            confidences = None if self.confidence_key is None else as_list(block.columns[self.confidence_key])
            yield Block(first_row, self._ids(block), answers, other_keys, confidences, block.place)
            first_row += len(answers)

    def _read(self) -> Iterator[SourceBlock]:
        confidence = [] if self.confidence_key is None else [self.confidence_key]
        wanted = dict.fromkeys((*self.id_keys, self.answer_key, *self._others, *confidence))
        return self.source.read(list(wanted), ROWS_AT_ONCE)

    def _ids(self, block: SourceBlock) -> list[Any] | None:
        parts = [as_list(block.columns[name]) for name in self.id_keys]
        if len(parts) > 1:
            return [": ".join(map(str, row)) for row in zip(*parts, strict=True)]
        return parts[0] if parts else None


@dataclasses.dataclass(frozen=True, eq=False)
class References:
    """What the submission is compared with."""

    n: int
    known: KnownIds | None  # their ids, if they have any
    accepted: Accepted | None  # None where no answers are known
    without_answers: str  # why there are no answers, as in test splits; empty where there are some
    printed: Printed  # what was done with texts that print lists
    notes: tuple[str, ...]  # what was read otherwise than is usual or was asked for


def read_references(
    path: str | os.PathLike[str],
    format_name: str | None,
    columns: Mapping[str, str],
    parse: Parse = None,
    how: How = DETECTED,
    on_rows: Callable[[int], None] = lambda rows: None,
) -> References:
    """Read the references of a submission."""
    asked = parse_names(parse)
    each = None if asked is None or (asked and "references" not in asked) else bool(asked)
    given = {role: name for role, name in columns.items() if role != "prediction"}
    without_answers = ""
    try:
        reader = open_references(path, format=format_name, columns=given, **dataclasses.asdict(how))
    except NoColumnError:
        if "answers" in given:
            raise
        without_answers = f"{os.fspath(path)} has no column of accepted answers"
        whole_row = {**given, "answers": EVERYTHING}
        reader = open_references(path, format=format_name, columns=whole_row, **dataclasses.asdict(how))
    reader = reader.holding({VALUES: Holds("texts", each)})
    ids: list[pa.Array] = []
    accepted, printed, n, has_answers = Accepted(), Printed(), 0, False
    for batch in reader.batches(ROWS_AT_ONCE):
        if batch.question_ids is not None:
            ids.append(stored(batch.question_ids))
        found = [_accepted(answers) for answers in as_list(batch.values)]
        accepted.add(found)
        has_answers = has_answers or any(own != () for own in found)
        n += len(batch)
        on_rows(len(batch))
    for part in reader.parts:
        printed.add(part.printed[VALUES])
    if not without_answers and (all(part.is_blank for part in reader.parts) or not has_answers):
        without_answers = (
            f"the column {reader.detected.columns['answers']!r} of {os.fspath(path)} is blank in every row"
        )
    known = KnownIds(joined(ids)) if "question_id" in reader.detected.columns else None
    return References(n, known, None if without_answers else accepted, without_answers, printed, reader.notes)


def _accepted(reference: Any) -> tuple[str, ...] | None:
    parts = reference if isinstance(reference, list) else [reference]
    if set(map(type, parts)) == {str}:
        return tuple(parts)
    if any(isinstance(part, (dict, list)) for part in parts):
        return None
    return tuple([str(part) for part in parts if part is not None])


def open_rows(path: str, format_name: str | None, columns: Mapping[str, str], how: How = DETECTED) -> Rows:
    """Open a submission without checking its rows; those that cannot be read have no values."""
    if is_several(path, format_name):
        what = "a folder" if is_folder(path) else "a pattern"
        raise FormatError(path, f"this is {what}; expected one file. Check each file on its own.")
    faults: dict[str, FormatError] = {}
    opened, compression = open_watched(path, file_state(path), format_name, None, faults, how)
    source = with_nested(opened, columns.values(), path)
    layout = source.layout or (format_name if format_name in LAYOUTS else None)
    given = {role: name for role, name in columns.items() if role != "answers"}
    found = _columns(source, layout, given, path)
    portal = PORTALS.get(format_name or (found.layout.name if source.container in ("json", "jsonl") else ""))
    if portal:
        keys = {"question_id": portal.question_id, "prediction": portal.answer}
        usual = {role: key for role, key in keys.items() if key in source.names}
        found = _columns(source, layout, {**usual, **given}, path)
    return Rows(
        source=source,
        compression=compression,
        is_json_list=source.container == "json" and _is_list(path, how),
        portal=portal,
        format=found.layout.name if found.layout.name in LAYOUTS else source.container,
        id_keys=tuple(found.question_id),
        answer_key=found.value,
        confidence_key=portal.confidence if portal and portal.confidence in source.names else None,
        faults=faults,
        _others=tuple(name for name in _ANSWER_KEYS if name in source.names and name != found.value),
    )


def _as_list_of_texts(cell: Any) -> Any:
    """Return the list of texts that a cell prints or is, or else the value."""
    found = answers_in(cell) if isinstance(cell, str) else None
    value = cell if found is None else found
    return [value] if isinstance(value, str) else value


def _columns(source: Source, layout: str | None, given: Mapping[str, str], path: str) -> Found:
    """Return the columns, with ``answers`` for the predictions if the file has no other name for them."""
    try:
        return columns_of(source, "prediction", layout, given, path)
    except FormatError:
        if "prediction" in given or not {"answers"} == {*_ANSWER_KEYS} & {*source.names}:
            raise
        given = {**given, "prediction": "answers"}
        return columns_of(source, "prediction", layout, given, path)


def _is_list(path: str, how: How) -> bool:
    first = next((line for _, line in lines_of(find_file(path, None, how=how)) if not line.isspace()), "")
    return first.lstrip().startswith("[")
