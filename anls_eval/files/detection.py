"""Detect a format by the first bytes; the file name decides only between formats that both fit, such as CSV and TSV."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from anls_eval.decoding import kind_not_read
from anls_eval.files.arrow_files import open_arrow, open_parquet
from anls_eval.files.columns import LAYOUTS
from anls_eval.files.dataset_folder import folder_and_split
from anls_eval.files.dataset_reading import open_dataset, open_hub
from anls_eval.files.errors import FormatError, NoRowsError
from anls_eval.files.files import (
    DETECTED,
    File,
    How,
    damage_told,
    encoding_of,
    find_file,
    is_folder,
    lines_of,
    start_of,
)
from anls_eval.files.json_files import open_json
from anls_eval.files.json_lines import open_json_lines
from anls_eval.files.source import Block, Source
from anls_eval.files.spreadsheets import open_xlsx
from anls_eval.files.tables import open_csv

_FILES: dict[str, Callable[[File], Source]] = {
    "json": open_json,
    "jsonl": open_json_lines,
    "csv": lambda file: open_csv(file, ",", ";\t|"),
    "tsv": lambda file: open_csv(file, "\t", ";,|"),
    "xlsx": open_xlsx,
    "parquet": open_parquet,
    "arrow": open_arrow,
}

FORMATS = {
    "json": "a list of rows, an object around one, an object from id to value, or a list of values without ids",
    "jsonl": "JSON Lines: a row, or a value without id, on each line",
    "csv": "a table separated by commas, semicolons or another character, whose first line names the columns",
    "tsv": "a table separated by tabs, whose first line names the columns",
    "xlsx": "the first sheet of a spreadsheet, whose first row names the columns",
    "parquet": "Parquet",
    "arrow": "Arrow IPC file or stream, Feather",
    "dataset": "a folder written by datasets' save_to_disk; FOLDER:SPLIT is one of several splits",
    "hub": "a dataset of the Hugging Face Hub: hub:NAME, hub:NAME:SPLIT or hub:NAME:CONFIG:SPLIT",
    **LAYOUTS,
}
"""Every format by name, with a description. Each can also be compressed with gzip or zstd."""

_LINES = (".jsonl", ".ndjson")
_NEVER_EMPTY = (".parquet", ".arrow", ".feather", ".xlsx", ".gz", ".zst", ".zip")


def open_source(
    path: str,
    format_name: str | None,
    max_bytes: int | None,
    faults: dict[str, FormatError] | None = None,
    how: How = DETECTED,
) -> tuple[Source, str | None]:
    """Open a file or dataset, and return it with its compression; `faults` collects unreadable rows by place."""
    if format_name is not None and format_name not in FORMATS:
        raise FormatError(path, f"unknown format {format_name!r}. Expected one of {', '.join(FORMATS)}.")
    if path.startswith("hub:"):
        return open_hub(path), None
    if format_name == "dataset" or is_folder(folder_and_split(path)[0]):
        return open_dataset(path), None
    file = find_file(path, max_bytes, faults, how)
    with damage_told(file):
        container = format_name if format_name in _FILES else _container(file)
        source = _FILES[container](file)

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        with damage_told(file):
            yield from source.read(wanted, size)

    return dataclasses.replace(source, read=read, notes=file.notes), file.compression


def check_is_text(file: File, start: bytes) -> None:
    """Refuse a file that begins as one of a kind that is not read, or as no text."""
    kind = kind_not_read(start)
    if kind is None and b"\0" in start and encoding_of(file, start) is None:
        place = f"line {start[: start.index(0)].count(10) + 1}"
        kind = f"neither text (it has a NUL in {place}) nor a known binary format"
    if kind is not None:
        raise FormatError(file.path, f"{kind}. It begins with {start[:8]!r}; supported: {', '.join(FORMATS)}.")


def _container(file: File) -> str:
    start = start_of(file)
    if not start and file.name.endswith(_NEVER_EMPTY):
        raise FormatError(file.path, "the file is empty, which a file of this kind never is. Write or copy it again.")
    if not start.strip():
        raise NoRowsError(file.path, "the file is empty.")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if start.startswith(b"PK\x03\x04"):
        return "xlsx"
    check_is_text(file, start)
    filled = filter(None, (line.strip() for _, line in lines_of(file)))
    first, second = [*islice(filled, 2), "", ""][:2]
    if not first:  # but a byte order mark
        raise NoRowsError(file.path, "the file is empty.")
    if first.startswith(("{", "[")):
        # Objects on two lines are rows, even where the first is malformed; in a list, a comma ends the second.
        if not second:
            return "jsonl" if file.name.endswith(_LINES) else "json"
        are_rows = first[0] == second[0] == "{" and (file.name.endswith(_LINES) or not second.endswith((",", "]}")))
        return "jsonl" if are_rows or _is_complete(first) else "json"
    if file.name.endswith((".json", *_LINES)):
        return "jsonl" if second else "json"
    if file.name.endswith((".tsv", ".tab")):
        return "tsv"
    return "tsv" if "\t" in first and not file.name.endswith(".csv") else "csv"


def _is_complete(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
