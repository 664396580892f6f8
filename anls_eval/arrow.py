"""Arrow columns and NumPy arrays: the types that texts are held in, and what reads their buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

TEXTS = pa.large_string()

TEXT_LISTS = pa.large_list(TEXTS)

Floats = npt.NDArray[np.float64]


def as_bools(array: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """Return an Arrow array of booleans as a NumPy array."""
    return np.array(array.to_numpy(zero_copy_only=False), dtype=bool)


def as_ints(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return an Arrow array of numbers as a NumPy array of int64."""
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.int64)


def text_starts(texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    """Return the offsets at which the texts of a column begin and end, without a copy."""
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


def text_bytes(texts: pa.LargeStringArray) -> npt.NDArray[np.uint8]:
    """Return the UTF-8 bytes of all texts of a column, without a copy."""
    starts = text_starts(texts)
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1]]


def has_no_gap(answers: pa.LargeListArray) -> bool:
    """Return whether no answer is null and no list of answers is null or empty."""
    counts = pc.fill_null(pc.list_value_length(answers), 0)
    return not answers.flatten().null_count and pc.min(counts).as_py() != 0


def arrow_type(given: pa.DataType) -> pa.DataType | None:
    """The Arrow type that texts or lists of texts are scored as; None if it is something else."""
    if pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given):
        inner = arrow_type(given.value_type)
        return TEXT_LISTS if inner == TEXTS else None
    inner = given.value_type if pa.types.is_dictionary(given) else given
    is_text = pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    return TEXTS if is_text else None


def as_array(block: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column of texts or lists of texts as one array of the type that is scored."""
    wanted = block.cast(arrow_type(block.type))
    return wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted


def as_list(column: Any) -> list[Any]:
    """Return a column as a Python list."""
    return column if isinstance(column, list) else column.to_pylist()


BYTES = pa.large_binary()  # UTF-8 that may hold lone surrogates, which Arrow's texts cannot


def encode_texts(value: Any) -> Any:
    """Return texts, or lists of them, as UTF-8 that may hold lone surrogates."""
    if isinstance(value, list):
        return list(map(encode_texts, value))
    return None if value is None else value.encode("utf-8", "surrogatepass")


def decode_texts(column: pa.Array, kind: pa.DataType) -> Any:
    """Stored bytes as an Arrow array of texts, or as a list if there are lone surrogates."""

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(text, value))
        return None if value is None else value.decode("utf-8", "surrogatepass")

    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return [text(value) for value in column.to_pylist()]
