"""Values in messages, and the check of an option that is one of a few words."""

from __future__ import annotations

import difflib
from typing import Any


def short_repr(value: object) -> str:
    """A value as Python writes it, for a message: cut short, and its type where Python refuses to write it."""
    try:
        shown = repr(value)
    except ValueError:  # integers of thousands of digits
        return f"<{type(value).__name__} of too many digits>"
    except RecursionError:
        return f"<{type(value).__name__} nested too deeply>"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return the value of an option, or raise a ValueError that lists the accepted ones."""
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value not in choices:
        close = difflib.get_close_matches(value, map(str, choices), n=1) if isinstance(value, str) else []
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{name}={short_repr(value)}: expected one of {', '.join(map(repr, choices))}.{hint}")
    return value
