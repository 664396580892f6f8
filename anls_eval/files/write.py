"""Write a row of results for each question: completely, or not at all."""

import contextlib
import errno
import io
import itertools
import json
import os
import stat
import uuid
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import is_text, text_array
from anls_eval.files.errors import FormatError, OutputError
from anls_eval.names import check_working_folder

_LINKS = 40  # that lead to one another, as many as Linux follows
_NAME = 200  # bytes of the name of a file that are in its temporary name
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


class Written(NamedTuple):
    """The size and CRC-32 of what was written to a file."""

    size: int = 0
    checksum: int = 0

    def and_then(self, data: Any) -> "Written":
        """Return the same for what is written after it, too."""
        return Written(self.size + memoryview(data).nbytes, zlib.crc32(data, self.checksum))


class CountedFile(io.BufferedWriter):
    """A new file that is written from its start to its end; what is `written` is known without reading it."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))
        self.written = Written()

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        self.written = self.written.and_then(data)
        return super().write(data)


class _Undivided(io.RawIOBase):
    """A stream whose writes are complete even where Ctrl-C comes meanwhile: else, rows could end in their middle."""

    def __init__(self, stream: Any, thread: ThreadPoolExecutor) -> None:
        super().__init__()
        self._stream, self._thread = stream, thread

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._thread.submit(self._stream.write, bytes(data)).result()
        return len(data)


def write_rows(
    path: str | os.PathLike[str], rows: pa.Table | Iterable[pa.RecordBatch], keep_interrupted: bool = False
) -> Written:
    """Write a table, or record batches one by one, to a Parquet, CSV or JSON Lines file, by the suffix of its name.

    What Ctrl-C interrupts can be kept, under another name, if it has rows.
    """
    path = Path(path)
    compression = _COMPRESSIONS.get(path.suffix)
    write = _WRITERS.get(path.with_suffix("").suffix if compression else path.suffix)
    if write is None or (compression and write is _write_parquet):
        raise FormatError(
            str(path), "expected a name ending in .parquet, .csv or .jsonl, the last two also with .gz or .zst."
        )
    if isinstance(rows, pa.Table):
        schema, batches = rows.schema, iter(rows.to_batches())
    else:
        batches = iter(rows)
        first = next(batches, None)
        if first is None:
            raise FormatError(str(path), "there are neither rows nor columns to write. Pass an empty table.")
        schema, batches = first.schema, itertools.chain([first], batches)
    rows_written = 0

    def counted() -> _Batches:
        nonlocal rows_written
        for batch in batches:
            yield batch
            rows_written += len(batch)

    with (
        whole_file(path, is_kept=lambda: keep_interrupted and rows_written > 0) as unfinished,
        CountedFile(unfinished) as file,  # by Arrow, only a name that is UTF-8
        pa.output_stream(file, compression=compression) as stream,
        ThreadPoolExecutor(1) as thread,
    ):
        formulas = write(_Undivided(stream, thread) if keep_interrupted else stream, schema, counted())
    if formulas:  # which stay, since an altered result could not be verified
        warnings.warn(
            f"{path}: {formulas:,} texts begin like a formula (=, +, - or @) and are written unchanged; in a "
            "spreadsheet, import their columns as text",
            UserWarning,
            stacklevel=2,
        )
    return file.written


def keeps_lists(path: str | os.PathLike[str]) -> bool:
    """Return whether the format of a file to write can hold lists, unlike CSV."""
    path = Path(path)
    return (path.with_suffix("") if path.suffix in _COMPRESSIONS else path).suffix != ".csv"


def check_replaceable(path: Path) -> None:
    """Refuse a name that is none of a file to write: a folder, or a device or pipe, which a file would replace."""
    if not path.name:
        raise OutputError(str(path), "expected the name of a file to write.")
    if not path.is_absolute():
        check_working_folder()
    if _is_of_a_process(path):
        raise OutputError(str(path), "stands for what a process has open; expected the name of a file to write.")
    try:
        mode = path.stat().st_mode
    except OSError:  # nothing is there, or a broken link, which is replaced
        return
    if not stat.S_ISREG(mode):
        raise OutputError(str(path), f"is a {_kind(mode)}; expected the name of a file to write.")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))  # a file that is read-only could be replaced, too
    except OSError as error:
        raise OutputError(str(path), f"cannot be written: {error.strerror}.") from None


def _is_of_a_process(path: Path) -> bool:
    """Return whether a name is in /proc, or a link to such a one, as /dev/stdout is; the link would be replaced."""
    for _ in range(_LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if path.is_relative_to("/proc"):
            return True
        try:
            path = path.parent / path.readlink()
        except OSError:
            break
    return False


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    return "device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "pipe or socket"


@contextlib.contextmanager
def whole_file(path: Path, is_kept: Callable[[], bool] = lambda: False, is_synced: bool = True) -> Iterator[Path]:
    """Yield a temporary name to write a file under; it is renamed at the end, or removed after an error.

    It is also renamed, to a name that says partial, where it is kept after Ctrl-C. The permissions of a file that it
    replaces are kept.
    """
    short = os.fsdecode(os.fsencode(path.name)[:_NAME])  # most file systems take 255 bytes
    unfinished = path.with_name(f".{short}.{uuid.uuid4().hex}")
    try:
        yield unfinished
        if is_synced:
            _bring_to_disk(unfinished)
        _keep_permissions(path, unfinished)
        unfinished.replace(path)
    except KeyboardInterrupt:
        if not (is_kept() and unfinished.exists()):
            raise
        ending = "".join(path.suffixes[-2:] if path.suffix in _COMPRESSIONS else path.suffixes[-1:])
        partial = unfinished.replace(_free_name(path, f"{path.name.removesuffix(ending)}.partial", ending))
        raise KeyboardInterrupt(f"what was written before is kept in {partial}") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error  # Arrow's message names the unfinished file
        raise OutputError(str(path), f"cannot be written: {reason}.") from None
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or never created
            unfinished.unlink()


def _keep_permissions(path: Path, unfinished: Path) -> None:
    """Give a file those of the one that it replaces; what a link refers to, which others can make, has no say."""
    with contextlib.suppress(OSError):  # nothing is there
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            unfinished.chmod(mode & 0o777)


def _free_name(path: Path, start: str, ending: str) -> Path:
    """Return a name beside a file that nothing has yet."""
    names = itertools.chain([f"{start}{ending}"], (f"{start}-{number}{ending}" for number in itertools.count(2)))
    return next(other for other in map(path.with_name, names) if not os.path.lexists(other))


def _bring_to_disk(path: Path) -> None:
    """Wait until a file is on disk: else, after a power loss, its final name can stand for an empty file."""
    with path.open("rb+") as stream:
        try:
            os.fsync(stream.fileno())
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):  # what file systems without it say
                raise


_Batches = Iterable[pa.RecordBatch]


def _write_parquet(stream: Any, schema: pa.Schema, batches: _Batches) -> int:
    import pyarrow.parquet as pq  # with clients of remote storage

    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
    return 0


# What a spreadsheet evaluates; a signed number is only a number. OWASP, "CSV Injection".
_FORMULA = r"\A(?:[=@\t\r]|[+-](?:[^\d.,]|[\d.,]+[^\d.,%\s]))"


def _write_csv(stream: Any, schema: pa.Schema, batches: _Batches) -> int:
    """Write the rows, and return the number of texts that a spreadsheet would read as a formula."""
    from pyarrow import csv

    formulas = 0
    flat = pa.schema([(field.name, pa.string() if pa.types.is_nested(field.type) else field.type) for field in schema])
    with csv.CSVWriter(stream, flat) as writer:
        for batch in batches:
            columns = [_json_texts(column) if pa.types.is_nested(column.type) else column for column in batch.columns]
            writer.write_batch(pa.record_batch(columns, schema=flat))
            texts = [column for column in columns if is_text(column.type)]
            formulas += sum(pc.sum(pc.match_substring_regex(column, _FORMULA)).as_py() or 0 for column in texts)
    return formulas


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
