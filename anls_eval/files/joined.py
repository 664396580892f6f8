"""Notice files that were joined end to end, of which a reader would see only one and lose the rows of the others."""

import os
import struct
import zipfile
from typing import BinaryIO

import numpy as np

from anls_eval.files.errors import FormatError
from anls_eval.files.thrift import end_of_rows

_READ_AT_ONCE = 1 << 20
_BLOCK = np.dtype([("offset", "<i8"), ("metadata", "<i4"), ("", "<i4"), ("body", "<i8")])  # in the footer of Arrow
_DICTIONARIES, _BATCHES = 2, 3  # fields of that footer
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_END_OF_ZIP, _SIZE_OF_END = b"PK\x05\x06", 22


WITHOUT_END = "is an Arrow stream without the mark of its end: rows are missing if its writer was interrupted"
"""The note on a file that can be whole, and one that is cut off."""


def joined_error(path: str, found: str) -> FormatError:
    """Return the error of a file of which not everything would be read."""
    remedy = "Write the rows of all of them into one file, or take the files as they were before, from one folder."
    return FormatError(path, f"{found}: several files were joined, or the file is damaged. {remedy}")


def check_zip(archive: zipfile.ZipFile, stream: BinaryIO, path: str) -> None:
    """Raise a FormatError if there is something before or after the only archive that Python finds in a file."""
    first = min((part.header_offset for part in archive.infolist()), default=0)
    if first < 0:
        raise joined_error(path, "the list of what a zip archive holds begins before the archive")
    if first:
        raise joined_error(path, f"{first:,} bytes before the last zip archive in it would not be read")
    stream.seek(-_SIZE_OF_END - len(archive.comment), os.SEEK_END)
    if stream.read(len(_END_OF_ZIP)) != _END_OF_ZIP:
        raise joined_error(path, "what is after the zip archive in it would not be read")


def check_parquet(stream: BinaryIO, path: str) -> None:
    """Raise a FormatError if Parquet files were joined."""
    footer = _footer(stream, 8)
    start = stream.seek(0, os.SEEK_END) - 8 - len(footer)
    _refuse_before(stream, start - end_of_rows(footer), b"PAR1PAR1", path)


def check_arrow_file(stream: BinaryIO, path: str) -> None:
    """Raise a FormatError if Arrow IPC files, such as Feather, were joined."""
    footer = _footer(stream, 10)
    start = stream.seek(0, os.SEEK_END) - 10 - len(footer)
    _refuse_before(stream, start - _end_of_batches(footer), b"ARROW1ARROW1", path)


def check_arrow_stream(stream: BinaryIO, path: str) -> None:
    """Raise a FormatError if anything follows the end of an Arrow IPC stream."""
    end = stream.tell()
    if stream.read(1):
        raise joined_error(path, f"the Arrow stream in it ends after {end:,} bytes, and what follows would not be read")


def has_end(stream: BinaryIO) -> bool:
    """Return whether an Arrow IPC stream has the mark of its end; older streams, which begin otherwise, have another.

    The format allows to leave it out, but only a writer that is interrupted does.
    """
    stream.seek(0)
    if stream.read(4) != _END_OF_STREAM[:4]:
        return True
    stream.seek(-len(_END_OF_STREAM), os.SEEK_END)
    return stream.read() == _END_OF_STREAM


def _footer(stream: BinaryIO, size_of_ending: int) -> bytes:
    """Return the footer of a file that ends with the footer, its length in four bytes, and a mark."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(size - size_of_ending)
    (length,) = struct.unpack("<i", stream.read(4))
    stream.seek(max(0, size - size_of_ending - length))
    return stream.read(max(0, length))


def _refuse_before(stream: BinaryIO, gap: int, border: bytes, path: str) -> None:
    """Raise a FormatError if the border of two joined files is in the first bytes.

    Offsets in the last footer count from the start of its own file. So the `gap` between the end of its data and the
    footer is at least as long as all files before it; in a file of its own it is a few bytes, or an index.
    """
    stream.seek(0)
    left, held = gap + len(border) // 2, b""
    while left > 0 and (block := stream.read(min(left, _READ_AT_ONCE))):
        if border in held + block:
            raise joined_error(path, "only the last of the files in it would be read")
        left, held = left - len(block), block[1 - len(border) :]


def _end_of_batches(footer: bytes) -> int:
    """Return where the footer of an Arrow IPC file, a flatbuffer, says that its batches end."""
    ends = [0]
    (root,) = struct.unpack_from("<I", footer)
    fields = root - struct.unpack_from("<i", footer, root)[0]
    (size_of_fields,) = struct.unpack_from("<H", footer, fields)
    for field in (_DICTIONARIES, _BATCHES):
        at = 4 + 2 * field
        offset = struct.unpack_from("<H", footer, fields + at)[0] if at < size_of_fields else 0
        if offset:
            vector = root + offset + struct.unpack_from("<I", footer, root + offset)[0]
            blocks = np.frombuffer(footer, _BLOCK, struct.unpack_from("<I", footer, vector)[0], vector + 4)
            ends += (blocks["offset"] + blocks["metadata"] + blocks["body"]).tolist()
    return max(ends)
