"""Parquet, Arrow and Feather files."""

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import as_bools, is_text, number_array
from anls_eval.files.errors import FormatError, check_names
from anls_eval.files.files import File
from anls_eval.files.joined import WITHOUT_END, check_arrow_file, check_arrow_stream, check_parquet, has_end
from anls_eval.files.nul import WITH_NUL, row_with_nul
from anls_eval.files.source import Block, Source, from_row
from anls_eval.files.storage import storage_fault
from anls_eval.limits import raise_limit

_ASKED = re.compile("alloc of size ([0-9]+) failed")
_ABSURD = 1 << 40  # bytes at once, which only a damaged file asks for
_HELD = 1 << 24  # bytes of small batches that are joined

IN_THIS_THREAD = pa.ipc.IpcReadOptions(use_threads=False)
"""How Arrow reads batches that can be small, for which it takes longer to start threads."""


@contextlib.contextmanager
def faults_named(path: str, kind: str) -> Iterator[None]:
    """Turn what Arrow raises for a damaged file into a FormatError that names it."""
    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        asked = _ASKED.search(str(error))
        if asked is None or int(asked[1]) < _ABSURD:
            raise_limit(error)
        damaged = f"not a readable {kind} file: {str(error).rstrip('.')}. It is truncated or damaged"
        problem = storage_fault(error) or f"{damaged}: write or download it again."
        raise FormatError(path, problem) from None


def open_parquet(file: File, start: int = 0, stop: int | None = None) -> Source:
    """Open a Parquet file, or its rows from `start` to before `stop`; row groups are read when needed."""
    import pyarrow.parquet as pq  # with clients of remote storage

    with faults_named(file.path, "Parquet"), file.open_seekable() as stream:
        metadata = pq.ParquetFile(stream).metadata
        names = tuple(metadata.schema.to_arrow_schema().names)
        check_names(names, file.path)
        row_groups = list(map(metadata.row_group, range(metadata.num_row_groups)))
        leaves = [metadata.schema.column(number) for number in range(len(metadata.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        if stop is None:  # else the whole file was opened before its rows
            check_parquet(stream, file.path)
    file.check_size(sum(group.total_byte_size for group in row_groups))
    cuts = tuple(itertools.accumulate(group.num_rows for group in row_groups))
    end = metadata.num_rows if stop is None else stop
    starts = (0, *cuts[:-1])
    groups = [number for number in range(len(cuts)) if starts[number] < end and cuts[number] > start]
    first = starts[groups[0]] if groups else 0

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        if not groups:  # which older versions of pyarrow cannot read
            return
        with faults_named(file.path, "Parquet"), file.open_seekable() as stream:
            # Reading ahead would hold whole row groups in memory. With a limit, texts stay a dictionary until it is
            # known how long they are when expanded.
            parquet = pq.ParquetFile(
                stream,
                pre_buffer=False,
                read_dictionary=None if file.max_bytes is None else texts,
                page_checksum_verification=True,
            )
            batches = parquet.iter_batches(size, row_groups=groups, columns=list(wanted))
            yield from blocks(
                plain(_within(batches, first, start, end), wanted, size, file, start), wanted, size, start
            )

    return Source(
        "parquet",
        names,
        end - start,
        read,
        cuts=() if file.compression else cuts,
        within=functools.partial(open_parquet, file),
        first_row=start,
        notes=file.notes,
    )


def _within(batches: Iterator[pa.RecordBatch], first: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows from `start` to before `end` of batches that begin with row `first`."""
    for batch in batches:
        rows = batch.slice(max(start - first, 0), max(end - max(start, first), 0))
        if len(rows):
            yield rows
        first += len(batch)


def open_arrow(file: File) -> Source:
    """Open an Arrow IPC file or stream; Feather and the cache files of datasets are such files."""
    with faults_named(file.path, "Arrow"), file.open_seekable() as stream:
        reader = _ipc_reader(stream)
        names = tuple(reader.schema.names)
        check_names(names, file.path)
        if _is_random(reader):
            check_arrow_file(stream, file.path)

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        with faults_named(file.path, "Arrow"):
            yield from blocks(ipc_batches(file, wanted, size), wanted, size)

    return Source("arrow", names, None, read)


def ipc_batches(file: File, wanted: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
    """Yield the plain batches of an Arrow IPC file or stream."""
    with faults_named(file.path, "Arrow"), file.open_seekable() as stream:
        reader = _ipc_reader(stream)
        is_random = _is_random(reader)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_random else reader
        yield from plain(batches, wanted, size, file)
        if not is_random:
            check_arrow_stream(stream, file.path)
            if not has_end(stream):
                file.notes[f"{file.path} {WITHOUT_END}"] = None


def _is_random(reader: Any) -> bool:
    """Return whether this reads an IPC file, which has a footer, rather than a stream."""
    return isinstance(reader, pa.ipc.RecordBatchFileReader)


def _ipc_reader(stream: Any) -> Any:
    is_file = stream.read(6) == b"ARROW1"
    stream.seek(0)
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(stream, options=IN_THIS_THREAD)


def blocks(batches: Iterator[pa.RecordBatch], wanted: Sequence[str], size: int, first: int = 0) -> Iterator[Block]:
    """Yield blocks of up to `size` rows, of which the `first` has this number."""
    for rows in _gathered(batches, size):
        yield Block(dict(zip(wanted, rows.columns, strict=True)), from_row(first))
        first += len(rows)


def plain(batches: Any, wanted: Sequence[str], size: int, file: File, first: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield what is wanted of the batches without dictionaries, up to `size` rows at a time."""
    read, noted = 0, set[str]()
    for batch in batches:
        batch = batch.select(list(wanted))
        _check_types(batch.schema, file.path)
        batch.validate(full=True)  # so that only UTF-8 gets further
        read += sum(map(_size, batch.columns))
        file.check_size(read)
        for name in (own for own in wanted if own not in noted):
            row = row_with_nul(batch.column(name))
            if row is not None:
                noted.add(name)
                file.notes[f"{file.path}: the column {name!r} {WITH_NUL}, as in {from_row(first)(row)}"] = None
        first += len(batch)
        for start in range(0, len(batch), size):
            columns = batch.slice(start, size).columns
            yield pa.RecordBatch.from_arrays(list(map(_decoded, columns)), list(wanted))


def _gathered(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Join batches up to `size` rows: some programs write each row as one, which would cost as much as thousands."""
    held: list[pa.RecordBatch] = []
    rows = read = 0
    for batch in batches:
        if rows + len(batch) > size:
            yield from _joined(held)
            held, rows, read = [], 0, 0
        held.append(batch)
        rows, read = rows + len(batch), read + sum(map(_size, batch.columns))
        if rows == size or read > _HELD:
            yield from _joined(held)
            held, rows, read = [], 0, 0
    if held:
        yield from _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the rows of batches as one, or as several where Arrow cannot join them."""
    if len(batches) > 1:
        with contextlib.suppress(pa.ArrowNotImplementedError):  # for some types, up to pyarrow 19
            batches = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batches


def _check_types(schema: pa.Schema, path: str) -> None:
    """Raise a FormatError for types that can repeat a value without limit; dictionaries are counted by `_size`."""
    for field in schema:
        kinds = [field.type]
        for kind in kinds:
            kinds += [kind.field(number).type for number in range(kind.num_fields)]
            if any(is_sharing(kind) for is_sharing in _SHARING):
                problem = f"the column {field.name!r} is of the Arrow type {kind}. Cast it to texts, lists or numbers."
                raise FormatError(path, problem)


_SHARING = pa.types.is_run_end_encoded, pa.types.is_list_view, pa.types.is_large_list_view, pa.types.is_union


def _size(column: pa.Array) -> int:
    """Return the size of a column in bytes once expanded: a short file can repeat one long text a million times."""
    kind = column.type
    size: int
    if pa.types.is_dictionary(kind) and _holds_texts(kind.value_type):
        size = pc.sum(pc.take(_lengths(column.dictionary), column.indices)).as_py() or 0
    elif _is_view(kind):
        size = pc.sum(_lengths(column)).as_py() or 0
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        size = 8 * len(column) + _size(column.flatten())
    elif pa.types.is_fixed_size_list(kind):
        size = _size(column.flatten())
    elif pa.types.is_map(kind):
        size = _size(column.keys) + _size(column.items)
    elif pa.types.is_struct(kind):
        size = sum(map(_size, column.flatten()))
    else:
        size = column.nbytes
    return size


def _holds_texts(kind: pa.DataType) -> bool:
    return is_text(kind) or bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or _is_view(kind))


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _lengths(texts: pa.Array) -> pa.Array:
    """Return the length of each text in bytes."""
    if not _is_view(texts.type) or not len(texts):
        return pc.binary_length(texts) if len(texts) else pa.nulls(0, pa.int32())
    views = np.frombuffer(texts.buffers()[1], np.int32)[::4]  # a view begins with the length
    return number_array(views[texts.offset : texts.offset + len(texts)], as_bools(texts.is_null()))


def _decoded(column: pa.Array) -> pa.Array:
    """Return a column of plain types; dictionaries of views, which polars writes, cannot be decoded as they are."""
    column = column.cast(_with_dictionaries(column.type, _without_views))
    return column.cast(_with_dictionaries(column.type, lambda kind: kind.value_type))


def _without_views(kind: pa.DictionaryType) -> pa.DataType:
    others = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return pa.dictionary(kind.index_type, others.get(kind.value_type, kind.value_type), kind.ordered)


def _with_dictionaries(kind: pa.DataType, change: Callable[[Any], pa.DataType]) -> pa.DataType:
    """Return a type in which those of dictionaries are changed, and texts that are marked as JSON are texts."""
    if pa.types.is_dictionary(kind):
        return change(kind)
    if getattr(kind, "extension_name", "") == "arrow.json":  # the logical type of Parquet, which DuckDB writes
        return kind.storage_type
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_dictionaries(kind.value_type, change)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_dictionaries(field.type, change)) for field in kind])
    return kind
