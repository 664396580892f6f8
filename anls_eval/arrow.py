"""Arrow columns of texts: their types, conversions, and views of their buffers as NumPy arrays."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TEXTS = pa.large_string()

TEXT_LISTS = pa.large_list(TEXTS)

BYTES = pa.large_binary()  # UTF-8 that may hold lone surrogates, which Arrow's texts cannot

Floats = npt.NDArray[np.float64]


# Where pandas is installed, pyarrow imports it for `pa.array` of lists and NumPy arrays, `pa.scalar`, Python values
# given to compute functions, and `to_numpy`: 0.3 s and 40 MB for nothing. These functions use buffers instead, except
# for lists of texts where pandas has been imported anyway: `pa.array` takes two thirds of the time.


def text_array(texts: Sequence[str | Any]) -> pa.LargeStringArray:
    """Return texts as an Arrow array; TypeError if some are not texts, UnicodeEncodeError for lone surrogates."""
    if "pandas" in sys.modules:
        return _converted(texts, TEXTS)
    is_null = None
    try:
        data = _joined(texts)
    except TypeError:
        is_null = np.fromiter(map(operator.is_, texts, repeat(None)), bool, len(texts))
        texts = ["" if text is None else text for text in texts]
        data = _joined(texts)
    array = _split_texts(data, len(texts), is_null)
    return _bytes_array(list(map(str.encode, texts)), is_null).cast(TEXTS) if array is None else array


def text_list_array(lists: Sequence[Sequence[str | Any]]) -> pa.LargeListArray:
    """Return lists of texts as an Arrow array, with the errors of `text_array`."""
    if "pandas" in sys.modules:
        return _converted(lists, TEXT_LISTS)
    starts, texts = _list_starts(lists), None
    with contextlib.suppress(TypeError):
        texts = _split_texts(_joined(lists, _joined_lists), int(starts[-1]))
    if texts is None:
        texts = text_array(list(chain.from_iterable(lists)))
    return _in_lists(texts, starts)


def _converted(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values as pyarrow converts them, with the errors of `text_array`."""
    try:
        return pa.array(values, kind)
    except pa.ArrowInvalid as error:
        raise TypeError(str(error)) from None


def _joined(texts: Sequence[Any], join: Callable[[Any], str] = "\0".join) -> bytes:
    """Return the UTF-8 of texts with a null byte between them.

    A few at a time: ASCII is encoded by copying it, but one other character makes the text around it ten times slower.
    """
    few = 128
    return b"\0".join([join(texts[start : start + few]).encode() for start in range(0, len(texts), few)])


def _joined_lists(lists: Sequence[Sequence[Any]]) -> str:
    return "\0".join(map("\0".join, lists))


def _split_texts(data: bytes, n: int, is_null: npt.NDArray[np.bool_] | None = None) -> pa.LargeStringArray | None:
    """Return n texts from their UTF-8 with a null byte between them: None if some text holds a null byte, or n is 0."""
    # Finding the null bytes takes a tenth of the time that asking each text for its length does.
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 0)
    if len(ends) != n - 1:
        return None
    starts = np.zeros(n + 1, np.int64)
    starts[1:-1] = ends - np.arange(n - 1)
    starts[-1] = len(data) - (n - 1)
    buffers = [_validity(is_null), pa.py_buffer(starts), pa.py_buffer(data.translate(None, b"\0"))]
    return pa.Array.from_buffers(TEXTS, n, buffers)


def bytes_array(values: Sequence[bytes | None]) -> pa.LargeBinaryArray:
    """Return byte strings as an Arrow array."""
    is_null = np.fromiter(map(operator.is_, values, repeat(None)), bool, len(values))
    return _bytes_array([b"" if value is None else value for value in values], is_null)


def _bytes_array(values: Sequence[bytes], is_null: npt.NDArray[np.bool_] | None) -> pa.LargeBinaryArray:
    buffers = [_validity(is_null), pa.py_buffer(_list_starts(values)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(BYTES, len(values), buffers)


def bytes_list_array(lists: Sequence[Sequence[bytes | None]]) -> pa.LargeListArray:
    """Return lists of byte strings as an Arrow array."""
    return _in_lists(bytes_array(list(chain.from_iterable(lists))), _list_starts(lists))


def _in_lists(values: pa.Array, starts: npt.NDArray[np.int64]) -> pa.LargeListArray:
    """Return the values as lists that begin and end at these offsets."""
    buffers = [None, pa.py_buffer(starts)]
    return pa.Array.from_buffers(pa.large_list(values.type), len(starts) - 1, buffers, children=[values])


def join_arrays(arrays: Iterable[pa.Array]) -> pa.Array:
    """Return arrays of one type as one, without a copy where all but one are empty."""
    arrays = list(arrays)
    filled = [array for array in arrays if len(array)]
    return pa.concat_arrays(filled) if len(filled) > 1 else (filled or arrays)[0]


def number_array(values: npt.NDArray[Any], is_null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or booleans as an Arrow array of their type, without a copy of numbers."""
    data = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [_validity(is_null), pa.py_buffer(data)]
    )


def _list_starts(items: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the offsets at which items begin and end in what they are joined to."""
    starts = np.zeros(len(items) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=starts[1:])
    return starts


def _validity(is_null: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))


def as_bools(array: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """Return an Arrow array of booleans as a NumPy array; null is False."""
    if array.null_count:
        import pyarrow.compute as pc

        array = pc.and_kleene(array, array.is_valid())
    begin, end = array.offset, array.offset + len(array)
    data = np.frombuffer(array.buffers()[1] or b"", np.uint8)[begin // 8 : -(-end // 8)]
    return np.unpackbits(data, bitorder="little")[begin % 8 :][: len(array)].view(np.bool_)


def as_ints(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return an Arrow array of integers as a NumPy array; null is 0."""
    array = array.cast(pa.int64())
    values = np.frombuffer(array.buffers()[1] or b"", np.int64)[array.offset :][: len(array)]
    return np.where(as_bools(array.is_valid()), values, 0) if array.null_count else values


def as_floats(array: pa.DoubleArray) -> Floats:
    """Return an Arrow array of floats without null as a NumPy array, without a copy."""
    return np.frombuffer(array.buffers()[1] or b"", np.float64)[array.offset :][: len(array)]


def as_objects(texts: pa.Array) -> npt.NDArray[np.object_]:
    """Return an Arrow array of texts as a NumPy array of Python objects."""
    objects = np.empty(len(texts), dtype=object)
    objects[:] = texts.to_pylist()
    return objects


def text_starts(texts: pa.LargeStringArray | pa.LargeListArray) -> npt.NDArray[np.int64]:
    """Return the offsets at which the texts, or the lists, of a column begin and end, without a copy."""
    buffer = texts.buffers()[1] or bytes(8)  # an empty column may have none
    return np.frombuffer(buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]


def text_bytes(texts: pa.LargeStringArray) -> npt.NDArray[np.uint8]:
    """Return the UTF-8 bytes of all texts of a column, without a copy."""
    starts = text_starts(texts)
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1]]


def has_no_gap(answers: pa.LargeListArray) -> bool:
    """Return whether no answer is null and no list of answers is null or empty."""
    return not (answers.null_count or answers.flatten().null_count) and bool(np.diff(text_starts(answers)).all())


def arrow_type(given: pa.DataType) -> pa.DataType | None:
    """Return the Arrow type in which texts or lists of texts are scored; None for other types."""
    if pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given):
        inner = arrow_type(given.value_type)
        return TEXT_LISTS if inner == TEXTS else None
    return TEXTS if is_text(given.value_type if pa.types.is_dictionary(given) else given) else None


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a type of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def as_array(block: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column of texts or lists of texts as one array, in the type in which it is scored."""
    wanted = block.cast(arrow_type(block.type))
    return wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted


def as_list(column: Any) -> list[Any]:
    """Return a column as a Python list."""
    return column if isinstance(column, list) else column.to_pylist()


def encode_texts(value: Any) -> Any:
    """Return texts, or lists of them, as UTF-8 that may hold lone surrogates."""
    if isinstance(value, list):
        return list(map(encode_texts, value))
    return None if value is None else value.encode("utf-8", "surrogatepass")


def decode_texts(column: pa.Array, kind: pa.DataType) -> Any:
    """Return stored bytes as an Arrow array of texts, or as a list if there are lone surrogates."""

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(text, value))
        return None if value is None else value.decode("utf-8", "surrogatepass")

    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return [text(value) for value in column.to_pylist()]
