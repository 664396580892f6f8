"""Escapes for characters that control a terminal: other people choose file names and the contents of files."""

import re

# Escape sequences, cursor movements and writing direction; lone surrogates, which cannot be printed. Tabs and line
# ends are harmless.
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""Escape control characters before printing.

    Example:
        >>> print(escaped("paid\x1b[2K\rdue"))
        paid\x1b[2K\rdue
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escaped_json(text: str) -> str:
    r"""Escape control characters in JSON, which remains the same JSON value.

    Example:
        >>> print(escaped_json('["\x9b2K"]'))
        ["\u009b2K"]
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
