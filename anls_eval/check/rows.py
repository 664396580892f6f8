"""Read the rows of a submission, valid or not, and its references; and what portals accept."""

from __future__ import annotations

import bisect
import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anls_eval.arrow import as_list
from anls_eval.files import FormatError, open_references
from anls_eval.files.columns import EVERYTHING, LAYOUTS, Found, NoColumnError
from anls_eval.files.detection import open_source
from anls_eval.files.files import DETECTED, How, find_file, lines_of
from anls_eval.files.many import is_several
from anls_eval.files.nested import with_nested
from anls_eval.files.printed import Holds, Printed
from anls_eval.files.reading import VALUES, columns_of
from anls_eval.files.source import ABSENT, Source
from anls_eval.structure import Parse, answers_in, parse_names

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
class Rows:
    """The rows of a submission as the file has them, valid or not."""

    source: Source
    compression: str | None
    is_json_list: bool
    portal: Portal | None  # whose rules apply
    format: str  # the most specific name
    id_key: str | None  # the column of the ids
    answer_key: str  # the column of the answers
    ids: list[Any] | None
    answers: list[Any]  # of rows without one in the usual column, that of another
    other_keys: dict[int, str]  # the columns of those answers, by row
    confidences: list[Any] | None  # where the portal takes some and the file has them
    faults: dict[str, FormatError]  # rows that cannot be read, by their place
    _starts: list[int]
    _places: list[Callable[[int], str]]

    def is_unreadable(self, row: int) -> bool:
        """Return whether a row has neither id nor answer because it cannot be read."""
        return bool(self.faults) and self.answers[row] is ABSENT and self.place(row) in self.faults

    def place(self, row: int) -> str:
        """Return the place of a row as its format counts it."""
        block = bisect.bisect_right(self._starts, row) - 1
        return self._places[block](row - self._starts[block])


@dataclasses.dataclass(frozen=True, eq=False)
class References:
    """What the submission is compared with."""

    ids: list[str] | None
    answers: list[Any]  # tuples of the accepted ones; None for a tree, which ANLS* scores; ABSENT where none is known
    without_answers: str  # why there are no answers, as in test splits; empty where there are some
    printed: Printed  # what was done with texts that print lists
    notes: tuple[str, ...]  # what was read otherwise than is usual or was asked for


def read_references(
    path: str | os.PathLike[str],
    format_name: str | None,
    columns: Mapping[str, str],
    parse: Parse = None,
    how: How = DETECTED,
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
    ids: list[str] = []
    answers: list[Any] = []
    printed = Printed()
    for batch in reader.batches():
        ids += [] if batch.question_ids is None else as_list(batch.question_ids)
        answers += map(_accepted, as_list(batch.values))
    for part in reader.parts:
        printed.add(part.printed[VALUES])
    if not without_answers and (all(part.is_blank for part in reader.parts) or not any(own != () for own in answers)):
        without_answers = (
            f"the column {reader.detected.columns['answers']!r} of {os.fspath(path)} is blank in every row"
        )
    if without_answers:
        answers = [ABSENT] * len(answers)
    known = ids if "question_id" in reader.detected.columns else None
    return References(known, answers, without_answers, printed, reader.notes)


def _accepted(reference: Any) -> tuple[str, ...] | None:
    parts = reference if isinstance(reference, list) else [reference]
    if set(map(type, parts)) == {str}:
        return tuple(parts)
    if any(isinstance(part, (dict, list)) for part in parts):
        return None
    return tuple([str(part) for part in parts if part is not None])


def read_rows(path: str, format_name: str | None, columns: Mapping[str, str], how: How = DETECTED) -> Rows:
    """Read all rows of a submission without checking them; rows that cannot be read have no values."""
    if is_several(path, format_name):
        what = "a folder" if Path(path).is_dir() else "a pattern"
        raise FormatError(path, f"this is {what}; expected one file. Check each file on its own.")
    faults: dict[str, FormatError] = {}
    opened, compression = open_source(path, format_name, None, faults, how)
    source = with_nested(opened, columns.values(), path)
    layout = source.layout or (format_name if format_name in LAYOUTS else None)
    given = {role: name for role, name in columns.items() if role != "answers"}
    found = _columns(source, layout, given, path)
    portal = PORTALS.get(format_name or (found.layout.name if source.container in ("json", "jsonl") else ""))
    if portal:
        keys = {"question_id": portal.question_id, "prediction": portal.answer}
        usual = {role: key for role, key in keys.items() if key in source.names}
        found = _columns(source, layout, {**usual, **given}, path)
    others = [name for name in _ANSWER_KEYS if name in source.names and name != found.value]
    confidence = [portal.confidence] if portal and portal.confidence in source.names else []
    ids: list[Any] = []
    answers: list[Any] = []
    beside = dict.fromkeys(others, False)
    instead: dict[str, dict[int, Any]] = {name: {} for name in others}
    confidences: list[Any] = []
    starts, places = [], []
    wanted = dict.fromkeys((*found.question_id, found.value, *others, *confidence))
    for block in source.read(list(wanted), 16_384):
        values = as_list(block.columns[found.value])
        for name in others:
            given_too = [(row, value) for row, value in enumerate(as_list(block.columns[name])) if value is not ABSENT]
            beside[name] = beside[name] or any(values[row] is not ABSENT for row, _ in given_too)
            instead[name] |= {len(answers) + row: value for row, value in given_too if not beside[name]}
        parts = [as_list(block.columns[name]) for name in found.question_id]
        ids += parts[0] if len(parts) == 1 else [": ".join(map(str, row)) for row in zip(*parts, strict=True)]
        starts.append(len(answers))
        places.append(block.place)
        if portal and portal.lists and source.in_cells:
            values = [_list_or_text(value) for value in values]
            values = [[value] if isinstance(value, str) else value for value in values]
        answers += values
        confidences += [value for name in confidence for value in as_list(block.columns[name])]
    # A key that some row has beside its answer is something else, such as the accepted answers.
    other_keys = {row: name for name in others if not beside[name] for row in instead[name]}
    for row, name in other_keys.items():
        answers[row] = instead[name][row]
    return Rows(
        source=source,
        compression=compression,
        is_json_list=source.container == "json" and _is_list(path, how),
        portal=portal,
        format=found.layout.name if found.layout.name in LAYOUTS else source.container,
        id_key=found.question_id[0] if len(found.question_id) == 1 else None,
        answer_key=found.value,
        ids=ids if found.question_id else None,
        answers=answers,
        other_keys=other_keys,
        confidences=confidences if confidence else None,
        faults=faults,
        _starts=starts,
        _places=places,
    )


def _list_or_text(value: Any) -> Any:
    found = answers_in(value) if isinstance(value, str) else None
    return value if found is None else found


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
