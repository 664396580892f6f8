"""Files that hold one document each: whether those of a folder do, and how they are read as rows."""

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anls_eval.files.columns import EVERYTHING, Found, find_columns, of_side
from anls_eval.files.detection import check_is_text
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.files import DETECTED, File, How, find_file, start_of, text_of
from anls_eval.files.json_files import open_object
from anls_eval.files.json_text import parse
from anls_eval.files.paths import Paths, is_several, paths_label
from anls_eval.files.reading import Reader, may_be_document, reader_of
from anls_eval.files.source import KEY, VALUE, Block, Source, in_blocks
from anls_eval.files.watch import State, unchanged
from anls_eval.inputs.values import type_with_article

_FILE_NAME = {"question_id": "file name"}
_JSON = re.compile(r"\.json(\.gz|\.zst|\.zip)?$", re.IGNORECASE)
_ENDINGS = re.compile(r"(\.json\.zip|\.\w+(\.gz|\.zst)?)$", re.IGNORECASE)


def are_documents(
    given: Paths,
    paths: Sequence[str],
    side: str,
    format_name: str | None,
    columns: Mapping[str, str],
    max_bytes: int | None = None,
    how: How = DETECTED,
) -> bool:
    """Return whether each file holds one document, rather than a part of one object from id to value."""
    named = of_side(columns, side)
    is_asked = named.get(side) == EVERYTHING and "question_id" not in named
    if not is_several(given, format_name) or format_name not in (None, "json") or (side in named and not is_asked):
        return False
    strays = {path: "is not a JSON file" for path in paths if not _is_json(path)}
    keys: Counter[str] = Counter()
    first: dict[str, Any] = {}
    is_certain = False  # whether two files have different values of one key, which parts of one object cannot
    documents = either = tables = 0
    for path in (path for path in paths if path not in strays):
        # A folder of tables is told by two of them: they can be large.
        if 2 * len(strays) > len(paths) or tables > documents + 1 or (tables and len(paths) - len(strays) < 2):
            return False
        look = _look(path, side, max_bytes, how, is_asked=is_asked)
        if look.stray is not None:
            strays[path] = look.stray
            tables += look.is_table
        elif look.document is not None:
            documents += 1
            either += look.may_be_row
            first = first or look.document
            is_certain = is_certain or any(first.get(key, own) != own for key, own in look.document.items())
            keys.update(look.document.keys())
    if either == documents:  # none, or all can be rows: what is compared decides
        return False
    most = max(keys.values(), default=0)
    # Of equal documents, the keys are in each file; parts with a row in common share it with one other.
    if strays and (is_certain or most > 2):
        stray, what = next(iter(strays.items()))
        rename = " or start its name with _" if isinstance(given, (str, os.PathLike)) else ""
        expected = f"expected one document, a JSON object, as in {documents} others"
        raise FormatError(stray, f"this file {what}; {expected}. Remove it{rename}.")
    return not strays and (len(paths) == 1 or most > 1)  # parts have each id once, and share no key


def _is_json(path: str) -> bool:
    """Return whether a file is JSON by its name, or by that of the file in a zip file."""
    is_named_so = _JSON.search(path) is not None
    if is_named_so or not path.lower().endswith(".zip"):
        return is_named_so
    try:
        return find_file(path, None).name.endswith(".json")
    except FormatError:  # it is told when it is read
        return True


class _Look(NamedTuple):
    """What a file of a folder holds: a document, or what it is instead; neither if it cannot be read."""

    document: dict[str, Any] | None = None
    may_be_row: bool = False  # of the document
    stray: str | None = None
    is_table: bool = False  # of the stray


def _look(path: str, side: str, max_bytes: int | None, how: How, *, is_asked: bool) -> _Look:
    """Look at one file; ``is_asked`` says that documents are what the user named."""
    try:
        file = find_file(path, max_bytes, how=how)
        text = text_of(file)
        if text.lstrip().startswith("["):
            return _Look(stray="holds a list")
        value = parse(text, path, notes=file.notes)
    except FormatError:
        return _Look()  # it is named when it is read
    if not isinstance(value, dict):
        return _Look(stray="holds null" if value is None else f"holds {type_with_article(value)}")
    table = _table_in(value, file, side)
    if table is None:
        return _Look(value)
    source, found = table
    if source.is_object and (is_asked or may_be_document(source, found)):
        return _Look(value, may_be_row=not is_asked)
    return _Look(stray=f"is a table with the columns {listed(source.names)}", is_table=True)


def _table_in(value: dict[str, Any], file: File, side: str) -> tuple[Source, Found] | None:
    """Return an object that is a table of this side; None for a document, or a part from id to value."""
    try:
        source = open_object(value, file)
        found = find_columns(source.names, side, layout=source.layout, given={}, by=(), path=file.path)
    except FormatError:
        return None
    return None if source.layout == "values" else (source, found)


def open_documents(
    states: Mapping[str, State],
    side: str,
    *,
    columns: Mapping[str, str],
    by: Sequence[str] = (),
    max_bytes: int | None = None,
    label: str | None = None,
    how: How = DETECTED,
) -> Reader:
    """Open files that hold one document each, as the rows of one side; they must still be in the states of before."""
    paths = list(states)
    notes: dict[str, None] = {}
    columns = {role: name for role, name in columns.items() if name != EVERYTHING}  # which they are anyway

    def document(path: str, notes: dict[str, None]) -> dict[str, Any]:
        with unchanged(path, states[path]):
            return _document(path, max_bytes, how, notes)

    _refuse_same_names(paths, lambda path: document(path, {}))
    of_path = {KEY: document_id, VALUE: lambda path: document(path, notes)}

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        for block in in_blocks(iter(paths), min(size, 256)):  # documents are larger than answers
            yield Block({name: list(map(of_path[name], block)) for name in wanted}, block.__getitem__)

    source = Source("json", (KEY, VALUE), len(paths), read, "values", files=tuple(paths), notes=notes)
    reader = reader_of(source, label or paths_label(paths), side, None, columns, by)
    reader.detected = dataclasses.replace(reader.detected, columns={**reader.detected.columns, **_FILE_NAME})
    return reader


def document_id(path: str) -> str:
    """Return the id of a document: the name of its file without the ending, ``a.b`` for ``folder/a.b.json.gz``."""
    return _ENDINGS.sub("", Path(path).name)


def _refuse_same_names(paths: Sequence[str], document: Callable[[str], dict[str, Any]]) -> None:
    """Raise a FormatError that names two files with one id, such as a.json and a.json.gz, and different content."""
    first: dict[str, str] = {}
    for path in paths:
        other = first.setdefault(document_id(path), path)
        if other != path and document(other) != document(path):
            raise FormatError(
                path,
                f"its id {document_id(path)!r}, the name without the ending, is also that of {other}, which has "
                "different content. Remove or rename one of them.",
            )


def _document(path: str, max_bytes: int | None, how: How, notes: dict[str, None]) -> dict[str, Any]:
    """Return the document in a file, and add what is to say of the file to the notes."""
    file = find_file(path, max_bytes, how=how)
    check_is_text(file, start_of(file))
    text = text_of(file)
    if not text.strip():
        raise FormatError(path, "the file is empty; expected one JSON object, as in the other files.")
    value = parse(text, path, notes=file.notes, if_second="Write each document to a file of its own.")
    notes |= file.notes
    if not isinstance(value, dict):
        raise FormatError(path, f"{type_with_article(value)}; expected one JSON object, as in the other files.")
    return value
