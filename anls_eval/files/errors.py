"""The error of a file that cannot be read as what it should be."""

from collections import Counter
from collections.abc import Iterable


class FormatError(ValueError):
    """A file is not what was expected. The message says where, what came, what was expected and how to mend it.

    Args:
        path: The file.
        place: Where in it, such as ``"line 3, column 7"`` or ``"data[2]"``; empty if that is the file as a whole.
        problem: What is wrong, and the remedy.

    Example:
        >>> print(FormatError("answers.csv", "line 3", "2 fields where the header has 3. Quote fields with commas."))
        answers.csv, line 3: 2 fields where the header has 3. Quote fields with commas.
    """

    def __init__(self, path: str, place: str, problem: str) -> None:
        super().__init__(f"{path}, {place}: {problem}" if place else f"{path}: {problem}")
        self.path = path
        self.place = place
        self.problem = problem

    def __reduce__(self) -> tuple[type["FormatError"], tuple[str, str, str]]:
        return FormatError, (self.path, self.place, self.problem)  # so that it can come from another process


def shown(value: object) -> str:
    """A value as a message shows it, however long it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or very deep nesting
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def listed(names: Iterable[str]) -> str:
    """Names as a message lists them: the first 30."""
    names = list(names)
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    return (", ".join(name if len(name) <= 80 else name[:77] + "..." for name in names[:30]) or "none") + more


def repeated(names: Iterable[str]) -> str | None:
    """The first name that comes twice."""
    return next((name for name, times in Counter(names).items() if times > 1), None)
