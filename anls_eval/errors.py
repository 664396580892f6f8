"""Errors that keep their message in parts, so that Python, the command line and the app each name options their way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Words = Callable[[str, object], "str | None"]
"""Names an option with its value; None where the interface does not have it."""


def python_words(option: str, value: object) -> str:
    """Return an option as Python passes it: ``missing="zero"``."""
    return f"{option}={value!r}".replace("'", '"')


@dataclasses.dataclass(frozen=True)
class Remedy:
    """An option that helps; the message says "To (purpose), pass (option)=(value)" in the words of the interface."""

    option: str
    value: object
    purpose: str


class Explained(BaseException):
    """An error whose message is made of parts, in which `problem` names no option; `str` uses the words of Python."""

    def __init__(
        self,
        problem: str,
        *,
        option: str = "",
        value: object = None,
        remedies: Sequence[Remedy] = (),
        where: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem, self.option, self.remedies, self.where = problem, option, tuple(remedies), where
        self.refused = f"{option}={short_repr(value)}" if option else ""
        if isinstance(value, (list, tuple)) and all(isinstance(own, str) for own in value):
            value = ",".join(value)
        # Any other value may not survive the way to another process.
        self.value = value if value is None or type(value) in (str, bool, int, float) else short_repr(value)

    def told(self, words: Words | None = None, verb: str = "pass") -> str:
        """Return the message with options in the words of an interface; without any, in those of Python."""
        refused = self.refused and ((words and words(self.option, self.value)) or self.refused)
        named = [(own.purpose, (words or python_words)(own.option, own.value)) for own in self.remedies]
        ways = [f"To {purpose}, {verb} {option}." for purpose, option in named if option]
        said = ": ".join(filter(None, (self.where, refused, self.problem)))
        return " ".join(filter(None, [said, *ways]))

    def __str__(self) -> str:
        return self.told()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__)


def _restored(kind: type[Explained], parts: Mapping[str, Any]) -> Explained:
    """Return an error that came from another process."""
    error = kind.__new__(kind, parts["problem"])
    error.__dict__.update(parts)
    return error


class AnlsError(Explained, ValueError):
    """The input or an option is wrong."""


def located(where: str, error: Exception) -> AnlsError:
    """Return an error with a place in front of its message."""
    if not isinstance(error, AnlsError):
        return AnlsError(str(error), where=where)
    found = AnlsError(error.problem, remedies=error.remedies, where=": ".join(filter(None, (where, error.where))))
    found.option, found.value, found.refused = error.option, error.value, error.refused
    return found


class Note(str):
    """A warning that ends with remedies; as a text, it uses the words of Python."""

    problem: str
    remedies: tuple[Remedy, ...]

    def __new__(cls, problem: str, remedies: Sequence[Remedy] = ()) -> Note:
        """Return the note as a text."""
        own = super().__new__(cls, AnlsError(f"{problem}.", remedies=remedies).told() if remedies else problem)
        own.problem, own.remedies = problem, tuple(remedies)
        return own

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the parts, for another process."""
        return self.problem, self.remedies

    def told(self, words: Words, verb: str = "pass") -> str:
        """Return the note with options in the words of an interface."""
        return AnlsError(f"{self.problem}.", remedies=self.remedies).told(words, verb) if self.remedies else str(self)


def short_repr(value: object) -> str:
    """Return a value as Python writes it, cut short for a message, or its type where Python cannot write it."""
    try:
        shown = repr(value)
    except ValueError:  # integers of thousands of digits
        return f"<{type(value).__name__} of too many digits>"
    except RecursionError:
        return f"<{type(value).__name__} nested too deeply>"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return the value of an option, or raise an AnlsError that lists the accepted ones."""
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value not in choices:
        import difflib

        close = difflib.get_close_matches(value, map(str, choices), n=1) if isinstance(value, str) else []
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise AnlsError(f"expected one of {', '.join(map(repr, choices))}.{hint}", option=name, value=value)
    return value
