"""Read a file: decompressed, within a limit, and decoded as UTF-8."""

import contextlib
import dataclasses
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from anls_eval.files.errors import FormatError

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BUFFER = 1 << 20
_PLAUSIBLE = 1 << 28  # bytes that any compressed file may expand to
_DENSEST = 100  # times its size that a larger one may expand to; answers and ids expand 3 to 30 times


@dataclasses.dataclass(frozen=True)
class File:
    """A regular file that is decompressed while it is read."""

    path: str
    compression: str | None  # "gzip", "zstd" or None
    max_bytes: int | None  # after decompression
    # If given, collects the rows that cannot be read by their place; they are read as rows without values.
    faults: dict[str, FormatError] | None = None

    @property
    def name(self) -> str:
        """The name of the file in lower case, without the suffix of its compression."""
        name = Path(self.path).name.lower()
        return name.removesuffix(".gz").removesuffix(".zst") if self.compression else name

    def open(self) -> BinaryIO:
        """Open the decompressed bytes."""
        return cast(BinaryIO, io.BufferedReader(_Decompressed(self), _BUFFER))

    def open_seekable(self) -> BinaryIO:
        """Open the file for random access; a compressed file is read into memory."""
        if self.compression:
            with self.open() as stream:
                return io.BytesIO(stream.read())
        self.check_size(Path(self.path).stat().st_size)
        return Path(self.path).open("rb")

    def refuse_row(self, place: str, error: FormatError) -> None:
        """Raise the error of a row, or add it to `faults`."""
        if self.faults is None:
            raise error
        self.faults[place] = error

    def check_size(self, size: int) -> None:
        """Raise a FormatError if this many bytes exceed the limit."""
        if self.max_bytes is not None and size > self.max_bytes:
            raise FormatError(
                self.path, f"over the limit of {self.max_bytes:,} bytes after decompression. Split the file."
            )

    def check_expansion(self, size: int) -> None:
        """Raise a FormatError if a compressed file expands to so many bytes that it must be a bomb."""
        self.check_size(size)
        if size > _PLAUSIBLE and size > _DENSEST * (packed := Path(self.path).stat().st_size):
            raise FormatError(
                self.path,
                f"its {packed:,} bytes expand to more than {_PLAUSIBLE:,}, over {_DENSEST} times as many, as in files "
                "made to exhaust memory. If the file is genuine, decompress it first.",
            )


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a file or folder; False where the system refuses the path, such as a too long one."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def find_file(path: str, max_bytes: int | None, faults: dict[str, FormatError] | None = None) -> File:
    """Return the file at a path, whose first bytes tell its compression."""
    if exists(path) and not Path(path).is_file():
        raise FormatError(path, "not a regular file, which can be read twice. Save the data to a file first.")
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise FormatError(path, f"cannot be opened: {reason}. Check the path.") from None
    compression = next((name for magic, name in _COMPRESSIONS.items() if start.startswith(magic)), None)
    return File(path, compression, max_bytes, faults)


class _Decompressed(io.RawIOBase):
    """The decompressed bytes of a file; every read error is a FormatError."""

    def __init__(self, file: File) -> None:
        self._file, self._size = file, 0
        self._stream = pa.input_stream(file.path, compression=file.compression)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (OSError, pa.ArrowException) as error:
            raise FormatError(
                self._file.path,
                f"cannot be read further: {error}. The file is truncated or damaged: download or compress it again.",
                f"after {self._size:,} bytes",
            ) from None
        self._size += len(data)
        if self._file.compression:
            self._file.check_expansion(self._size)
        else:
            self._file.check_size(self._size)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        with contextlib.suppress(OSError, pa.ArrowException):  # the end of a damaged stream
            self._stream.close()
        super().close()


_BOM = b"\xef\xbb\xbf"


def text_of(file: File) -> str:
    """Return the whole text of a file, without a byte order mark."""
    with file.open() as stream:
        data = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "".join(line for _, line in lines_of(file))  # raises the error, with its line


def lines_of(file: File) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, from 1, and its line end."""
    offset = 0
    with file.open() as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                start = error.start + len(_BOM) * (number == 1 and line.startswith(_BOM))
                is_cut = error.reason == "unexpected end of data"
                raise _encoding_error(file, line, start, number, is_cut, offset) from None
            offset += len(line)


def _encoding_error(file: File, data: bytes, start: int, line: int, is_cut: bool, offset: int) -> FormatError:
    """Return the error for a line, at `offset` in the file, that is not UTF-8 from `start` on, with a likely cause."""
    around = data[max(0, start - 10) : start + 10]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        guess, remedy = "the byte order mark of UTF-16", 'Save it as UTF-8, in Python with .decode("utf-16")'
    elif is_cut:
        guess, remedy = "the end of a file that was truncated inside a character", "Download it again"
    else:
        shown = around.decode("cp1252", "replace")
        guess = f"Windows-1252 or Latin-1, in which the text around it is {shown!r}"
        remedy = 'Save it as UTF-8, in Python with .decode("cp1252")'
    return FormatError(
        file.path,
        f"not UTF-8: the byte 0x{data[start]:02x} is not allowed here. It looks like {guess}. {remedy}.",
        f"line {line}, byte {offset + start:,}",
    )
