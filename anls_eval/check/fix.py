"""A submission written again with the mends that are certain."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from anls_eval.check.check import MOST_SHOWN, CheckReport, examine
from anls_eval.check.findings import Finding
from anls_eval.check.ids import as_integer
from anls_eval.check.rows import Rows, read_references
from anls_eval.errors import short_repr
from anls_eval.files import FormatError
from anls_eval.files.source import ABSENT
from anls_eval.files.values import listed_column
from anls_eval.files.write import whole_file


def mend_submission(
    predictions_path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    references_path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    most: int | None = MOST_SHOWN,
) -> CheckReport:
    r"""Write a submission in the form that its portal takes, with every mend that is certain and no other.

    Ids get their right type and lose blanks and ".0"; answers lose the blanks around them, become text and are decoded
    rightly; rows that repeat the id and the answer of another are left out, and so are rows of unknown questions once
    all questions are answered. An answer is never guessed, and none is cut out of a sentence. All else in a row stays.

    Args:
        predictions_path: The submission, as for `submission_check.check_submission`.
        out_path: The file to write, in ``.json``, the form for the portals, or without a portal also in ``.jsonl`` or
            ``.csv``. It is written whole or not at all.
        references_path: The references, with which more is certain.
        format: A name in `formats.FORMATS`; None detects it.
        columns: Columns by role, of both files.
        most: As in `submission_check.check_submission`.

    Returns:
        The check of what was written: what is left to mend by hand.

    Raises:
        FormatError: A file or a row cannot be read, or the file cannot be written.
        ValueError: The predictions have ids and the references have none.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> path = folder / "submission.json"
        >>> _ = path.write_text('[{"questionId": "7", "answer": ["Lima "]}, {"questionId": 8, "answer": "Answer: 3"}]')
        >>> mend_submission(path, folder / "mended.json").counts
        {'answer-prefix': 1}
        >>> (folder / "mended.json").read_text()
        '[\n{"questionId": 7, "answer": "Lima"},\n{"questionId": 8, "answer": "Answer: 3"}\n]\n'
    """
    path, out = os.fspath(predictions_path), Path(out_path)
    references = None if references_path is None else read_references(references_path, format, columns or {})
    report, rows, mends = examine(path, references, format, columns or {})
    if rows is None:
        raise FormatError(path, "", f"cannot be mended: {report.problems[0].found}")
    if rows.faults:
        place = next(iter(rows.faults))
        raise FormatError(
            path, place, "the row cannot be read, and a mended file would lose it. Mend it by hand first."
        )
    write = _WRITERS.get(out.suffix)
    if write is None or (rows.portal and out.suffix != ".json"):
        raise FormatError(str(out), "", f"expected a name in {'.json' if rows.portal else ', '.join(_WRITERS)}.")
    names = _Names.of(rows)
    with whole_file(out) as unfinished, unfinished.open("wb") as stream:
        for text in write(_mended(rows, mends, names), [names.new(name) for name in rows.source.names]):
            # JSON's escape for a lone surrogate, which UTF-8 cannot hold.
            stream.write(text.encode("utf-8", "backslashreplace"))
    roles = {"question_id": names.right[0]} if rows.id_key else {}
    portal = rows.portal.name if rows.portal else None
    return examine(str(out), references, portal, {**roles, "prediction": names.right[1]}, most)[0]


@dataclasses.dataclass(frozen=True)
class _Names:
    """How the columns of the id and of the answer are called, and are to be called."""

    old: tuple[str | None, str]
    right: tuple[str, str]

    @classmethod
    def of(cls, rows: Rows) -> _Names:
        if rows.portal:
            return cls((rows.id_key, rows.answer_key), (rows.portal.question_id, rows.portal.answer))
        if rows.source.layout == "values":  # without names of its own
            return cls((rows.id_key, rows.answer_key), ("question_id", "prediction"))
        answer = "prediction" if rows.answer_key == "answers" else rows.answer_key
        return cls((rows.id_key, rows.answer_key), (rows.id_key or "", answer))

    def new(self, name: str) -> str:
        return dict(zip(self.old, self.right, strict=True)).get(name, name)


def _mended(rows: Rows, mends: Iterable[Finding], names: _Names) -> Iterator[dict[str, Any]]:
    """The rows as objects, with their right keys, ids and answers."""
    by_part: dict[str, dict[int, Any]] = {part: {} for part in ("id", "answer", "row", "file")}
    for own in mends:
        if own.mend is not None and own.row is not None:
            by_part[own.mend.part][own.row] = own.mend.value
    # Without a portal, a file with these names is still read as one of the Robust Reading Competition's.
    integers = rows.portal.integer_ids if rows.portal else names.right == ("questionId", "answer")
    for row, fields in enumerate(_objects(rows)):
        if row in by_part["row"]:
            continue
        if row in rows.other_keys:
            fields[rows.answer_key] = fields.pop(rows.other_keys[row])
        if rows.answer_key in fields:
            fields[rows.answer_key] = by_part["answer"].get(row, rows.answers[row])
        if rows.id_key is not None and rows.id_key in fields:
            text = by_part["id"].get(row, fields[rows.id_key])
            is_text = row in by_part["id"] or rows.source.in_cells
            fields[rows.id_key] = as_integer(text) if integers and is_text else text
        yield {names.new(name): value for name, value in fields.items()}


def _objects(rows: Rows) -> Iterator[dict[str, Any]]:
    """Each row with all its columns."""
    names = list(rows.source.names)
    for block in rows.source.read(names, 16_384):
        for values in zip(*(listed_column(block.columns[name]) for name in names), strict=True):
            yield {name: value for name, value in zip(names, values, strict=True) if value is not ABSENT}


_Objects = Iterable[dict[str, Any]]


def _json(rows: _Objects, _: Sequence[str]) -> Iterator[str]:
    yield "["
    for number, row in enumerate(rows):
        yield f"{',' if number else ''}\n{_dumped(row)}"
    yield "\n]\n"


def _json_lines(rows: _Objects, _: Sequence[str]) -> Iterator[str]:
    return (f"{_dumped(row)}\n" for row in rows)


def _csv(rows: _Objects, names: Sequence[str]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for cells in chain([names], ([_cell(row.get(name)) for name in names] for row in rows)):
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _cell(value: Any) -> Any:
    return _dumped(value) if isinstance(value, (list, dict)) else value


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_refuse)


def _refuse(value: Any) -> None:
    raise ValueError(f"{short_repr(value)}: a {type(value).__name__} cannot be written as JSON. Leave its column out.")


_WRITERS: dict[str, Callable[[_Objects, Sequence[str]], Iterator[str]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".csv": _csv,
}
