"""Read a file: decompressed, within a limit, and decoded as UTF-8 or as its byte order mark says."""

import codecs
import contextlib
import dataclasses
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from anls_eval.decoding import COMPRESSIONS, ZIP, is_cut, is_windows_1252, marked_encoding, utf8_fault
from anls_eval.errors import AnlsError, Remedy
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.joined import check_zip
from anls_eval.files.storage import storage_fault
from anls_eval.limits import raise_limit
from anls_eval.names import check_working_folder, is_utf8, name_fault
from anls_eval.opening import NotRegularError, open_regular, opening_fault

_BUFFER = 1 << 20
_PLAUSIBLE = 1 << 28  # bytes that any compressed file may expand to
_DENSEST = 100  # times its size that a larger one may expand to; answers and ids expand 3 to 30 times


@dataclasses.dataclass(frozen=True)
class How:
    """What the user says of how files are to be read, where it is not detected."""

    encoding: str | None = None  # of the files that are neither UTF-8 nor have a byte order mark
    separator: str | None = None  # between the cells of a table of text
    filter: str | None = None  # of lm-eval, whose rows are read from a sample log with several

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError, TypeError):
                expected = "expected the name of a text encoding in Python, such as cp1252, latin-1 or utf-16"
                raise AnlsError(expected, option="encoding", value=self.encoding) from None
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '\r\n"'):
            expected = 'expected one character, such as ";" or a tab'
            raise AnlsError(expected, option="separator", value=self.separator)


DETECTED = How()
"""Everything is detected."""


@dataclasses.dataclass(frozen=True)
class File:
    """A regular file that is decompressed while it is read."""

    path: str
    compression: str | None  # "gzip", "zstd", "zip" or None
    max_bytes: int | None  # after decompression
    # If given, collects the rows that cannot be read by their place; they are read as rows without values.
    faults: dict[str, FormatError] | None = None
    how: How = DETECTED
    member: str = ""  # the name of the file in a zip file
    encoding: str | None = None  # of its text, unless a byte order mark says another; None for UTF-8
    notes: dict[str, None] = dataclasses.field(default_factory=dict)  # collects what was read otherwise than asked

    @property
    def name(self) -> str:
        """The name of the file in lower case, without the suffix of its compression."""
        name = Path(self.member or self.path).name.lower()
        return name.removesuffix(".gz").removesuffix(".zst") if self.compression else name

    def open(self) -> BinaryIO:
        """Open the decompressed bytes."""
        return cast(BinaryIO, io.BufferedReader(_Decompressed(self), _BUFFER))

    def open_seekable(self) -> BinaryIO:
        """Open the file for random access; a compressed file is read into memory."""
        if self.compression:
            with self.open() as stream:
                return io.BytesIO(stream.read())
        stream = _Plain(opened(self.path).detach())
        try:
            self.check_size(os.fstat(stream.fileno()).st_size)
        except FormatError:
            stream.close()
            raise
        return stream

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


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a folder; False where the system refuses the path."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_hidden(path: str | os.PathLike[str]) -> bool:
    """Return whether a path leads into a folder that this user may not enter, so that something may be there."""
    try:
        Path(path).stat()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return False


def opened(path: str) -> io.BufferedReader:
    """Open a regular file; every error is a FormatError."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, FileNotFoundError) and not Path(path).is_absolute():
            check_working_folder()
        raise FormatError(path, opening_fault(error)) from None


def find_file(
    path: str, max_bytes: int | None, faults: dict[str, FormatError] | None = None, how: How = DETECTED
) -> File:
    """Return the file at a path, whose first bytes tell its compression."""
    if not is_utf8(path):
        named = "the file" if not is_utf8(Path(path).name) else "a folder that it is in"
        raise FormatError(path, f"the name of {named} is {name_fault()}")
    with opened(path) as stream:
        start = stream.read(4)
    compression = next((name for magic, name in COMPRESSIONS.items() if start.startswith(magic)), None)
    member = _member(path) if start == ZIP else ""
    file = File(path, "zip" if member else compression, max_bytes, faults, how, member)
    return file if how.encoding is None or _is_utf8_name(how.encoding) else _in_its_encoding(file, how.encoding)


@contextlib.contextmanager
def damage_told(file: File) -> Iterator[None]:
    """Tell that a compressed file is damaged, by its checksums at the end, where that is why it cannot be read."""
    try:
        yield
    except FormatError:
        if file.compression:
            with file.open() as stream:
                while stream.read(_BUFFER):
                    pass
        raise


def _in_its_encoding(file: File, named: str) -> File:
    """Return a file that is read in the named encoding, unless its bytes show that it is in another one."""
    name = codecs.lookup(named).name
    with file.open() as stream:
        mark = marked_encoding(cast(io.BufferedReader, stream).peek(4)[:4])
        if mark is None and not _is_utf8(stream, unless_ascii=not name.startswith(("utf-16", "utf-32"))):
            return dataclasses.replace(file, encoding=named)
    if mark is None or not name.startswith(mark):
        shown = f"the byte order mark is that of {mark.upper()}" if mark else "the text is UTF-8"
        file.notes[f"{shown}, so it was not read as {named}"] = None
    return file


def _is_utf8(stream: BinaryIO, *, unless_ascii: bool) -> bool:
    """Return whether bytes are UTF-8, as text in other encodings hardly ever is; ASCII can be of several encodings."""
    decoder, is_ascii = codecs.getincrementaldecoder("utf-8")(), True
    try:
        while block := stream.read(_BUFFER):
            if b"\0" in block:  # of UTF-16 without a mark, or no text
                return False
            is_ascii = is_ascii and block.isascii()
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return not (is_ascii and unless_ascii)


def _is_utf8_name(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


PART_OF_XLSX = "[Content_Types].xml"
"""What tells a spreadsheet from other zip files."""

_SPREADSHEETS = {".xlsx", ".xlsm"}


def _member(path: str) -> str:
    """Return the name of the only data file in a zip file; empty for a spreadsheet, which is a zip file of its own."""
    if Path(path).suffix.lower() in _SPREADSHEETS:
        return ""
    try:
        with opened(path) as stream, zipfile.ZipFile(stream) as archive:
            parts = archive.infolist()
            check_zip(archive, stream, path)
    except FormatError:
        raise
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise_limit(error)
        reason = str(error) or type(error).__name__
        is_damaged = isinstance(error, zipfile.BadZipFile)
        remedy = "It is truncated or damaged: write or download it again." if is_damaged else "Write it again."
        problem = f"not a readable zip file or spreadsheet: {reason}. {remedy}"
        raise FormatError(path, storage_fault(error, path) or problem) from None
    names = [part.filename for part in parts if not part.is_dir()]
    if PART_OF_XLSX in names:
        return ""
    data = [name for name in names if not name.startswith("__MACOSX/") and not Path(name).name.startswith(".")]
    if not data:
        raise FormatError(path, "the zip file holds no file. Expected one data file in it.")
    if len(data) > 1:
        raise FormatError(
            path, f"the zip file holds several files: {listed(data)}. Unpack it and pass one of them, or the folder."
        )
    return data[0]


_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, lzma.LZMAError)


class _Plain(io.BufferedReader):
    """A file that makes no room for more bytes than it has: a damaged one says that it has far more."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return super().read()
        return super().read(min(size, max(0, os.fstat(self.fileno()).st_size - self.tell())))


class _Decompressed(io.RawIOBase):
    """The decompressed bytes of a file; every read error is a FormatError."""

    def __init__(self, file: File) -> None:
        self._file, self._size = file, 0
        self._archive: zipfile.ZipFile | None = None
        self._stream: Any
        self._stored = stored = opened(file.path)
        try:
            if file.member:
                self._archive = zipfile.ZipFile(stored)
                self._stream = self._archive.open(file.member)
            else:
                self._stream = pa.input_stream(stored, file.compression) if file.compression else stored
        except (OSError, ValueError, pa.ArrowException, *_ZIP_FAULTS) as error:
            stored.close()
            raise self._fault(error) from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except NotRegularError:
            raise
        except (OSError, ValueError, pa.ArrowException, *_ZIP_FAULTS) as error:
            raise self._fault(error) from None
        self._size += len(data)
        if self._file.compression:
            self._file.check_expansion(self._size)
        else:
            self._file.check_size(self._size)
        buffer[: len(data)] = data
        return len(data)

    def _fault(self, error: Exception) -> FormatError:
        raise_limit(error)
        reason = str(error) or type(error).__name__
        damaged = "The file is truncated or damaged: download or compress it again."
        if isinstance(error, (RuntimeError, NotImplementedError)):  # a password, or a compression
            damaged = "Unpack it, and pass the file in it."
        problem = storage_fault(error) or f"cannot be read further: {reason}. {damaged}"
        return FormatError(self._file.path, problem, f"after {self._size:,} bytes")

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError, pa.ArrowException, *_ZIP_FAULTS):  # the end of a damaged stream
            self._stream.close()
            if self._archive is not None:
                self._archive.close()
        self._stored.close()
        super().close()


def encoding_of(file: File, start: bytes) -> str | None:
    """Return the encoding that the byte order mark at the start names, else that of the file; None for UTF-8."""
    return marked_encoding(start) or file.encoding


def text_of(file: File) -> str:
    """Return the whole text of a file, without a byte order mark."""
    with file.open() as stream:
        data = stream.read()
    encoding = encoding_of(file, data[:4])
    try:
        return data.decode(encoding or "utf-8").lstrip("\ufeff")
    except UnicodeError as error:
        if encoding is not None:
            raise _wrong_encoding(file, encoding, error) from None
        return "".join(line for _, line in lines_of(file))  # raises the error, with its line


def _wrong_encoding(file: File, encoding: str, error: UnicodeError) -> FormatError:
    reason: object = error.reason if isinstance(error, UnicodeDecodeError) else error
    remedy, place = "Save it as UTF-8.", ""
    if file.encoding == encoding:  # else the file itself says so, which no name changes
        remedy = "Name the encoding that the file was written in, or save it as UTF-8."
    if isinstance(error, UnicodeDecodeError) and error.reason == _UNDEFINED:  # of a character set with a byte for each
        place = f"line {_line_of_fault(file, encoding)}"
        reason = f"the byte 0x{error.object[error.start]:02x} stands for no character"
    return FormatError(file.path, f"not {encoding}: {reason}. {remedy}", place)


_UNDEFINED = "character maps to <undefined>"


def _line_of_fault(file: File, encoding: str) -> int:
    """Return the line of the first byte that stands for no character."""
    line = 1
    with file.open() as stream:
        while block := stream.read(_BUFFER):
            try:
                line += block.decode(encoding).count("\n")
            except UnicodeDecodeError as error:
                return line + block[: error.start].decode(encoding).count("\n")
    return line


def start_of(file: File) -> bytes:
    """Return the first bytes, which tell what a file is."""
    with file.open() as stream:
        return stream.read(_LOOKED_AT)


def lines_of(file: File, *, with_marks: bool = False) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, from 1, and its line end.

    A byte order mark before a line, as where files were joined, is left out, unless it may be part of a text.
    """
    offset = 0
    with file.open() as stream:
        start = cast(io.BufferedReader, stream).peek(_LOOKED_AT)[:_LOOKED_AT]
        encoding = encoding_of(file, start)
        if encoding is not None:
            for number, text in _decoded_lines(file, stream, encoding):
                yield number, text if with_marks else text.lstrip(_MARK)
            return
        # The line ends of old Macs, which some spreadsheets still write.
        lines = _lines_by_return(stream) if b"\r" in start and b"\n" not in start else stream
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                place = f"line {number}, byte {offset + error.start:,}"
                raise _encoding_error(file, line, error, error.start, place) from None
            yield number, text if with_marks else text.lstrip(_MARK)
            offset += len(line)


_MARK = "\ufeff"
_LOOKED_AT = 4096  # bytes, whose line ends are those of the file


def _decoded_lines(file: File, stream: BinaryIO, encoding: str) -> Iterator[tuple[int, str]]:
    lines = io.TextIOWrapper(stream, encoding, newline="")
    try:
        yield from enumerate(lines, 1)
    except UnicodeError as error:
        raise _wrong_encoding(file, encoding, error) from None


def _lines_by_return(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines that end with a carriage return alone."""
    held = b""
    while block := stream.read(_BUFFER):
        *lines, held = (held + block).split(b"\r")
        for line in lines:
            yield line + b"\r"
    if held:
        yield held


def _encoding_error(file: File, data: bytes, error: UnicodeDecodeError, start: int, place: str) -> FormatError:
    """Return the error for a line that is not UTF-8 from `start` on."""
    is_readable = not is_cut(error) and is_windows_1252(data)
    remedies = [Remedy("encoding", "cp1252", "read it in Windows-1252")] if is_readable else []
    return FormatError(file.path, utf8_fault(data, error, start), place, remedies)
