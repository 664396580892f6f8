"""Booleans in the words that documents have for them."""

from __future__ import annotations

_BOOLEAN_WORDS = {"true": True, "yes": True, "y": True, "on": True, "1": True}
_BOOLEAN_WORDS |= {"false": False, "no": False, "n": False, "off": False, "0": False}


def parse_boolean(value: str | int | float) -> bool | None:
    """Return the boolean that a value is, or None if it is none."""
    if isinstance(value, str):
        return _BOOLEAN_WORDS.get(value.strip().lower())
    return bool(value) if isinstance(value, int) and value in (0, 1) else None
