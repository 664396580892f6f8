"""Where the rows of a Parquet file end, by its footer, which is in Thrift's compact protocol.

Arrow itself ends the process where the footer of a column is damaged: pyarrow does not catch what it throws.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_ROW_GROUPS = 4  # fields: of the footer, of a row group, of a column and of its metadata
_COLUMNS = 1
_METADATA = 3
_COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 7, 9, 11


def end_of_rows(footer: bytes) -> int:
    """Return where the last row group ends, by a footer that Arrow has read; 0 if there is none."""
    try:
        row_groups = _Values(footer).struct().get(_ROW_GROUPS) or [{}]
        columns = [column[_METADATA] for column in row_groups[-1].get(_COLUMNS, []) if _METADATA in column]
        starts = [column.get(_DICTIONARY_PAGE) or column[_DATA_PAGE] for column in columns]
        ends = [start + column[_COMPRESSED_SIZE] for start, column in zip(starts, columns, strict=True)]
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
        raise pa.ArrowInvalid("its footer is damaged") from None
    return max(ends, default=0)


class _Values:
    """The values of a text in the compact protocol, read one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):  # of a field, which has no other value
            return kind == _TRUE
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._unsigned()
            return [self._byte() if head & 15 in (_TRUE, _FALSE) else self._value(head & 15) for _ in range(size)]
        if kind == _BINARY:
            size = self._unsigned()
            self._at += size
        elif kind in (_BYTE, _DOUBLE):
            self._at += 1 if kind == _BYTE else 8
        else:
            raise ValueError(f"no value of kind {kind} is in a footer")
        return None

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
