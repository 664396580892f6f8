"""Characters that a terminal obeys, written out: anyone may have put them into a file or its name."""

import re

# What a terminal obeys in place of showing it: escape sequences, moves of the cursor, the direction of writing. With
# lone surrogates, which it cannot be given. Tabs and line ends are harmless.
_OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""Give a text from a file or a file name with what a terminal would obey written out.

    Example:
        >>> print(escaped("paid\x1b[2K\rdue"))
        paid\x1b[2K\rdue
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escaped_json(text: str) -> str:
    r"""Do the same to the text of JSON, which stays the same JSON.

    Example:
        >>> print(escaped_json('["\x9b2K"]'))
        ["\u009b2K"]
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
