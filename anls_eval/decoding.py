"""Texts in bytes: UTF-8, or what a byte order mark says; the words for bytes that are neither; compressed ones."""

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
