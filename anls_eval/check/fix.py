"""Write a submission with all safe fixes applied."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from anls_eval.check.check import MAX_SHOWN, Fixes, examine
from anls_eval.check.ids import as_integer
from anls_eval.check.problem import CheckReport
from anls_eval.check.rows import Rows, read_references
from anls_eval.errors import short_repr
from anls_eval.files import FormatError
from anls_eval.files.files import How
from anls_eval.files.reading import whole_rows
from anls_eval.files.write import whole_file
from anls_eval.inputs.values import type_with_article
from anls_eval.structure import Parse


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
    most: int | None = MAX_SHOWN,
) -> CheckReport:
    """Write a submission with all safe fixes applied, and return the check of it: what is left to fix by hand."""
    path, out = os.fspath(predictions_path), Path(out_path)
    how = How(encoding, separator, filter)
    references = None
    if references_path is not None:
        references = read_references(references_path, format, columns or {}, parse, how)
    report, fixes = examine(path, references, format, columns or {}, how=how)
    if fixes is None:
        raise FormatError(path, f"cannot be fixed: {report.problems[0].found}")
    rows = fixes.rows
    if rows.faults:
        place = next(iter(rows.faults))
        raise FormatError(path, "the row cannot be read, and a fixed file would lose it. Fix it by hand first.", place)
    write = _WRITERS.get(out.suffix)
    if write is None or (rows.portal and out.suffix != ".json"):
        raise FormatError(
            str(out), f"expected a file name ending in {'.json' if rows.portal else ', '.join(_WRITERS)}."
        )
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
        write(stream, _fixed(fixes, names, integers), list(names.values()))
    roles = {"question_id": right[0]} if rows.id_key else {}
    portal = rows.portal.name if rows.portal else None
    return examine(str(out), references, portal, {**roles, "prediction": right[1]}, most)[0]


def _right_names(rows: Rows) -> tuple[str, str]:
    """Return what the columns of ids and answers should be called."""
    if rows.portal:
        return rows.portal.question_id, rows.portal.answer
    if rows.source.layout == "values":  # without column names
        return "question_id", "prediction"
    return rows.id_key or "", "prediction" if rows.answer_key == "answers" else rows.answer_key


def _fixed(fixes: Fixes, names: Mapping[str, str], integers: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows as objects, with their right keys, ids and answers."""
    rows = fixes.rows
    blocks = rows.source.read(list(names), 16_384)
    for row, fields in enumerate(chain.from_iterable(map(whole_rows, blocks))):
        if row in fixes.left_out:
            continue
        if row in rows.other_keys:
            fields[rows.answer_key] = fields.pop(rows.other_keys[row])
        if rows.answer_key in fields:
            fields[rows.answer_key] = fixes.answers.get(row, rows.answers[row])
        if rows.id_key is not None and rows.id_key in fields:
            text = fixes.ids.get(row, fields[rows.id_key])
            is_text = row in fixes.ids or rows.source.in_cells
            fields[rows.id_key] = as_integer(text) if integers and is_text else text
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
