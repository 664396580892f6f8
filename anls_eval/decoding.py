"""Texts in bytes: UTF-8, or what a byte order mark says; the words for bytes that are neither, and for no texts."""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

ZIP = b"PK\x03\x04"
"""How a zip file begins."""

_SKIPPABLE = [bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)]  # frames that pzstd writes before others

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"} | dict.fromkeys(_SKIPPABLE, "zstd")
"""How other compressed files begin."""

_ORDER_MARKS = {  # the longer ones first
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def marked_encoding(start: bytes) -> str | None:
    """Return the encoding that the byte order mark at the start names; None without one, and for UTF-8."""
    return next((name for mark, name in _ORDER_MARKS.items() if start.startswith(mark)), None)


_OTHERS = "another encoding, such as GBK, Big5, Shift-JIS, EUC-KR or Windows-1251"


def utf8_fault(data: bytes, error: UnicodeDecodeError, start: int) -> str:
    """Return what is wrong with bytes that are not UTF-8 from `start` on, its likely cause and a remedy."""
    if is_cut(error):
        guess = "It looks like the end of a file that was truncated inside a character. Download it again."
    elif not is_windows_1252(data):
        guess = f"It looks like damage, or like {_OTHERS}. Download it again, or save it as UTF-8."
    else:
        shown = data[max(0, start - 10) : start + 10].decode("cp1252", "replace")
        guess = f"In Windows-1252 and Latin-1, the text around it is {shown!r}; if that is wrong, it may be {_OTHERS}."
        guess += " Save it as UTF-8."
    return f"not UTF-8: the byte 0x{data[start]:02x} is not allowed here. {guess}"


def is_windows_1252(data: bytes) -> bool:
    """Return whether bytes can be a text in Windows-1252, which leaves five of them out."""
    return not _NOT_WINDOWS_1252.intersection(data)


_NOT_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def is_cut(error: UnicodeDecodeError) -> bool:
    """Return whether bytes end inside a character."""
    return error.reason == "unexpected end of data"


_PICKLES = b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"
# By their first bytes, with the remedy.
_NOT_READ: dict[bytes | tuple[bytes, ...], str] = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls). Save it as .xlsx or CSV",
    b"%PDF": "a PDF",
    _PICKLES: "a Python pickle, which can run any code. Save it as JSON or CSV",
    b"FEA1": "a Feather file of version 1. Write it again with pyarrow.feather.write_feather",
    b"BZh": "compressed with bzip2. Unpack it, or use gzip or zstd",
    b"\xfd7zXZ": "compressed with xz. Unpack it, or use gzip or zstd",
    tuple(COMPRESSIONS): "compressed twice. Unpack it once",
    (b"\x89PNG", b"\xff\xd8\xff\xe0"): "an image",
    b"PK\x05\x06": "a zip file without files. Write it again",
    b"version https://git-lfs": "a pointer of Git LFS in place of the file. Fetch the file with `git lfs pull`",
    b"<<<<<<< ": "a text with the marks of a conflict, as git leaves them. Resolve the conflict",
    b"<": "HTML or XML, perhaps an error page instead of the file. Download it again",
}


def kind_not_read(start: bytes) -> str | None:
    """Return what a file is by its first bytes, with a remedy, if it is of a kind that is never read."""
    return next((kind for magic, kind in _NOT_READ.items() if start.startswith(magic)), None)
