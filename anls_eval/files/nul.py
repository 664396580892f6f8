"""Notice NUL characters in texts of Arrow and Parquet, which have no checksum unless the writer was asked for one."""

from typing import Any

import numpy as np
import pyarrow as pa

WITH_NUL = "holds NUL characters, which damage leaves"
"""The note on texts that are read as they are, for nothing tells whether they were meant."""


def row_with_nul(column: pa.Array) -> int | None:
    """Return the first row that has a text with a NUL."""
    if not _may_have_nul(column):
        return None
    return next((row for row, value in enumerate(column.to_pylist()) if _has_nul(value)), None)


def _may_have_nul(column: pa.Array) -> bool:
    """Return whether there is a NUL in the bytes of the texts; what is no value can have bytes, too."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _may_have_nul(column.dictionary)
    if pa.types.is_struct(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        own = column.flatten()
        return any(map(_may_have_nul, own if isinstance(own, list) else [own]))
    if pa.types.is_string_view(kind):
        return _may_have_nul(column.cast(pa.large_string()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _, offsets, texts = column.buffers()
        if not len(column) or texts is None:
            return False
        own = np.frombuffer(offsets, np.int32 if pa.types.is_string(kind) else np.int64)[column.offset :]
        return not np.frombuffer(texts, np.uint8)[own[0] : own[len(column)]].all()
    return False


def _has_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_nul, value.values()))
    return any(map(_has_nul, value)) if isinstance(value, list) else isinstance(value, str) and "\0" in value
