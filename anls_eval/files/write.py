"""Write results by question: completely, or not at all."""

import contextlib
import json
import os
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from anls_eval.arrow import is_text, text_array
from anls_eval.files.errors import FormatError

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def write_rows(path: str | os.PathLike[str], rows: pa.Table | Iterable[pa.RecordBatch]) -> None:
    """Write rows to a Parquet, CSV or JSON Lines file, by the suffix of its name.

    The file is written under a temporary name in the same folder and then renamed, so that an error leaves nothing
    behind and an existing file unchanged. After Ctrl-C, the unfinished file is kept with ``.partial`` in its name, such
    as ``scores.partial.csv``. In CSV, lists and dicts are JSON text, null is an empty field and the empty text is
    ``""``. Text is written unchanged, even where a spreadsheet would read a formula (``=1+1``), since an altered result
    could not be verified. A warning says how many such texts there are.

    Args:
        path: Ends in ``.parquet``, ``.csv`` or ``.jsonl``; the last two can be followed by ``.gz`` or ``.zst``.
        rows: A table, or record batches of one schema, written one by one.

    Raises:
        FormatError: The suffix is not supported, there is no batch, or the file cannot be written.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "scores.csv")
        >>> write_rows(path, pa.table({"question_id": ["7"], "score": [0.875]}))
        >>> print(path.read_text(), end="")
        "question_id","score"
        "7",0.875
    """
    path = Path(path)
    compression = _COMPRESSIONS.get(path.suffix)
    write = _WRITERS.get(path.with_suffix("").suffix if compression else path.suffix)
    if write is None or (compression and write is _write_parquet):
        raise FormatError(
            str(path), "expected a name ending in .parquet, .csv or .jsonl, the last two also with .gz or .zst."
        )
    schema, batches = _opened(rows, str(path))
    with (
        whole_file(path, keep_interrupted=True) as unfinished,
        pa.output_stream(str(unfinished), compression=compression) as stream,
    ):
        formulas = write(stream, schema, batches)
    if formulas:
        warnings.warn(
            f"{path}: {formulas:,} texts begin like a formula (=, +, - or @) and are written unchanged; in a "
            "spreadsheet, import their columns as text",
            UserWarning,
            stacklevel=2,
        )


@contextlib.contextmanager
def whole_file(path: Path, keep_interrupted: bool = False) -> Iterator[Path]:
    """Yield a temporary name to write a file under; it is renamed at the end, or removed after an error.

    With `keep_interrupted`, what was written before Ctrl-C is kept with ``.partial`` in its name.
    """
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        yield unfinished
        unfinished.replace(path)
    except KeyboardInterrupt:
        if not (keep_interrupted and unfinished.exists()):
            raise
        ending = "".join(path.suffixes[-2:] if path.suffix in _COMPRESSIONS else path.suffixes[-1:])
        partial = unfinished.replace(path.with_name(f"{path.name.removesuffix(ending)}.partial{ending}"))
        raise KeyboardInterrupt(f"what was written before is kept in {partial}") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error  # Arrow's message names the unfinished file
        raise FormatError(str(path), f"cannot be written: {reason}.") from None
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or never created
            unfinished.unlink()


_Batches = Iterable[pa.RecordBatch]


def _opened(rows: Any, path: str) -> tuple[pa.Schema, _Batches]:
    if isinstance(rows, pa.Table):
        return rows.schema, rows.to_batches()
    batches = iter(rows)
    first = next(batches, None)
    if first is None:
        raise FormatError(path, "there are neither rows nor columns to write. Pass an empty table.")
    return first.schema, chain([first], batches)


def _write_parquet(stream: Any, schema: pa.Schema, batches: _Batches) -> int:
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
    return 0


# What a spreadsheet evaluates; a signed number is only a number. OWASP, "CSV Injection".
_FORMULA = r"\A(?:[=@\t\r]|[+-](?:[^\d.,]|[\d.,]+[^\d.,%\s]))"


def _write_csv(stream: Any, schema: pa.Schema, batches: _Batches) -> int:
    """Write the rows, and return the number of texts that a spreadsheet would read as a formula."""
    formulas = 0
    flat = pa.schema([(field.name, pa.string() if pa.types.is_nested(field.type) else field.type) for field in schema])
    with csv.CSVWriter(stream, flat) as writer:
        for batch in batches:
            columns = [_json_texts(column) if pa.types.is_nested(column.type) else column for column in batch.columns]
            writer.write_batch(pa.record_batch(columns, schema=flat))
            formulas += sum(map(_count_formulas, columns))
    return formulas


def _count_formulas(column: pa.Array) -> int:
    found = pc.sum(pc.match_substring_regex(column, _FORMULA)).as_py() if is_text(column.type) else 0
    return int(found or 0)


def _json_texts(column: pa.Array) -> pa.Array:
    values = column.to_pylist()
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return text_array(texts).cast(pa.string())


def _write_json_lines(stream: Any, _: pa.Schema, batches: _Batches) -> int:
    for batch in batches:
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in batch.to_pylist())
        stream.write("".join(lines).encode("utf-8"))
    return 0


_WRITERS: dict[str, Callable[[Any, pa.Schema, _Batches], int]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
}
