"""Booleans in the words that documents have for them."""

from __future__ import annotations

_WORDS = {"true": True, "yes": True, "y": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "n": False, "off": False, "0": False}


def parse_boolean(value: str | int | float) -> bool | None:
    """Return the boolean that a value is, or None if it is none."""
    return _WORDS.get(str(value).strip().lower())
