"""Make characters visible that cannot be seen or that a terminal obeys."""

from __future__ import annotations

import re
import unicodedata

# What a terminal obeys instead of showing it: escape sequences, cursor moves, the direction of writing. Also lone
# surrogates, which cannot be written to it. Tabs and line ends are harmless.
_TERMINAL_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, spell_out: bool = False) -> str:
    """Replace invisible characters by pictures or U+FFFD; `spell_out` also spaces, and others by code points."""

    def sign(character: str) -> str:
        code = ord(character)
        if code < 0x20 or (spell_out and code == 0x20):
            return chr(0x2400 + code)  # the block of control pictures: ␀ to ␠
        if character.isprintable():
            return character
        return f"<U+{code:04X}>" if spell_out else "\ufffd"

    return "".join(map(sign, text))


def one_line(text: str) -> str:
    """Collapse whitespace, and escape what cannot be printed."""
    return "".join(own if own.isprintable() else _escape(own) for own in " ".join(text.split()))


def terminal_width(text: str) -> int:
    """Return the number of columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(own) in "WF") - bool(unicodedata.combining(own)) for own in text)


def padded(text: str, width: int) -> str:
    """Return a text with spaces up to this number of columns of a terminal."""
    return text + " " * (width - terminal_width(text))


def escaped(text: str) -> str:
    """Escape the control characters of a text, which may come from a file, before it is printed."""
    return _TERMINAL_CONTROLS.sub(lambda found: _escape(found[0]), text)


def escaped_json(text: str) -> str:
    """Escape the control characters of JSON text, which stays the same JSON."""
    return _TERMINAL_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
