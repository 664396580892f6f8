"""Write a submission with all safe fixes applied."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from anls_eval.check.check import MAX_SHOWN, Search, added_up, examine
from anls_eval.check.ids import as_integer
from anls_eval.check.problem import CheckReport
from anls_eval.check.rows import ROWS_AT_ONCE, Rows, read_references
from anls_eval.errors import short_repr
from anls_eval.files import FormatError
from anls_eval.files.files import How
from anls_eval.files.paths import one_path
from anls_eval.files.reading import whole_rows
from anls_eval.files.source import ABSENT
from anls_eval.files.write import whole_file
from anls_eval.inputs.values import type_with_article
from anls_eval.names import is_utf8
from anls_eval.structure import Parse
from anls_eval.types import Extract


def fix_submission(
    predictions_path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    references_path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    parse: Parse = None,
    encoding: str | None = None,
    separator: str | None = None,
    filter: str | None = None,  # noqa: A002
    extract: Extract = None,
    most: int | None = MAX_SHOWN,
    on_progress: Callable[[int], None] | None = None,
) -> CheckReport:
    """Write a submission with all safe fixes applied and with the answers that `extract` takes out, and check it."""
    on_rows = added_up(on_progress)
    path, out = one_path(predictions_path), Path(out_path)
    how = How(encoding, separator, filter)
    write = _WRITERS.get(out.suffix)
    if write is None:
        raise FormatError(str(out), f"expected a file name ending in {', '.join(_WRITERS)}.")
    references = None
    if references_path is not None:
        references = read_references(references_path, format, columns or {}, parse, how, on_rows)
    report, search = examine(path, references, format, columns or {}, how=how, extract=extract, on_rows=on_rows)
    if search is None:
        raise FormatError(path, f"cannot be fixed: {report.problems[0].found}")
    rows = search.rows
    if rows.faults:
        place = next(iter(rows.faults))
        raise FormatError(path, "the row cannot be read, and a fixed file would lose it. Fix it by hand first.", place)
    if not is_utf8(out):
        raise FormatError(str(out), "the name of the file is not UTF-8, so that it could not be read. Use another one.")
    if rows.portal and out.suffix != ".json":
        taken = f"the portal of {rows.portal.name}, whose columns {path} has, takes a JSON list"
        raise FormatError(str(out), f"expected a file name ending in .json, since {taken}.")
    right = _right_names(rows)
    renamed = dict(zip((rows.id_key, rows.answer_key), right, strict=True))
    names = {name: renamed.get(name, name) for name in rows.source.names}
    # Without a portal, a file with these names is still read as one of the Robust Reading Competition's.
    integers = rows.portal.integer_ids if rows.portal else right == ("questionId", "answer")
    with (
        whole_file(out) as unfinished,
        # A lone surrogate, which UTF-8 cannot hold, becomes JSON's escape for it.
        unfinished.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream,
    ):
        write(stream, _fixed(search, names, integers), list(names.values()))
    roles = {"question_id": right[0]} if rows.id_key else {}
    portal = rows.portal.name if rows.portal else None
    return examine(str(out), references, portal, {**roles, "prediction": right[1]}, most, on_rows=on_rows)[0]


def _right_names(rows: Rows) -> tuple[str, str]:
    """Return what the columns of ids and answers should be called."""
    if rows.portal:
        return rows.portal.question_id, rows.portal.answer
    if rows.source.layout == "values":  # without column names
        return "question_id", "prediction"
    return rows.id_key or "", "prediction" if rows.answer_key == "answers" else rows.answer_key


def _fixed(search: Search, names: Mapping[str, str], integers: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows as objects, with their right keys, ids and answers."""
    rows = search.rows
    objects = chain.from_iterable(map(whole_rows, rows.source.read(list(names), ROWS_AT_ONCE)))
    for own, fields in zip(search.checked_rows(), objects, strict=True):
        if own.is_left_out:
            continue
        if own.other_key is not None:
            fields[rows.answer_key] = fields.pop(own.other_key)
        if rows.answer_key in fields:
            fields[rows.answer_key] = own.answer
        if rows.id_key is not None and rows.id_key in fields:
            is_fixed = own.id is not ABSENT
            text = own.id if is_fixed else fields[rows.id_key]
            fields[rows.id_key] = as_integer(text) if integers and (is_fixed or rows.source.in_cells) else text
        yield {names[name]: value for name, value in fields.items()}


_Objects = Iterable[dict[str, Any]]


def _write_json(stream: TextIO, rows: _Objects, _: Sequence[str]) -> None:
    stream.write("[")
    stream.writelines(f"{',' if number else ''}\n{_dumped(row)}" for number, row in enumerate(rows))
    stream.write("\n]\n")


def _write_json_lines(stream: TextIO, rows: _Objects, _: Sequence[str]) -> None:
    stream.writelines(f"{_dumped(row)}\n" for row in rows)


def _write_csv(stream: TextIO, rows: _Objects, names: Sequence[str]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        values = [row.get(name) for name in names]
        writer.writerow([_dumped(value) if isinstance(value, (list, dict)) else value for value in values])


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_refuse)


def _refuse(value: Any) -> None:
    raise ValueError(
        f"{short_repr(value)}: {type_with_article(value)} cannot be written as JSON. Leave its column out."
    )


_WRITERS = {".json": _write_json, ".jsonl": _write_json_lines, ".csv": _write_csv}
