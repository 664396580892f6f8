"""Errors in the words of the command line: ``--missing zero`` for ``missing="zero"``."""

from __future__ import annotations

import shlex

from anls_eval.errors import Explained


def in_options(error: BaseException | None) -> str:
    """Return the message of an error with options as the command line takes them.

    Example:
        >>> from anls_eval.rules.protocol import threshold_error
        >>> in_options(threshold_error("7/5"))[:52]
        '--threshold 7/5: expected a number from 0 to 1, such'
    """
    return error.told(_words) if isinstance(error, Explained) else str(error or "")


def _words(option: str, value: object) -> str | None:
    if not option.isidentifier():
        return None
    flag = "--" + option.replace("_", "-")
    if value is None or value is True:
        return flag
    texts = [f"{role}={name}" for role, name in value.items()] if isinstance(value, dict) else [str(value)]
    return " ".join(f"{flag} {_quoted(text)}" for text in texts)


def _quoted(text: str) -> str:
    return shlex.quote(text) if len(text) < 80 else f"{shlex.quote(text[:76])}..."
