"""Errors about files, and lists of names in messages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from anls_eval.errors import AnlsError, Remedy, Words, located


class FormatError(AnlsError):
    """A file is not what was expected: `path` and `place`, such as ``"line 3"`` or ``"data[2]"``, say where."""

    def __init__(self, path: str, problem: str, place: str = "", remedies: Sequence[Remedy] = ()) -> None:
        super().__init__(problem, remedies=remedies, where=f"{path}, {place}" if place else path)
        self.path, self.place = path, place


class NoRowsError(FormatError):
    """A file has no rows, which only matters if no other file of its side has any."""


class ChangedFileError(FormatError):
    """A file changed while it was read, which says nothing about what it holds."""


class OutputError(FormatError):
    """A file of results cannot be written, whatever is in the input."""


class FilesError(AnlsError):
    """Several files cannot be scored: a first line, the errors by file, and an ending with remedies."""

    def __init__(
        self, problem: str, errors: Mapping[str, AnlsError], ending: str = "", remedies: Sequence[Remedy] = ()
    ) -> None:
        super().__init__(ending, remedies=remedies)
        self.errors, self.first_line = dict(errors), problem

    def told(self, words: Words | None = None, verb: str = "pass") -> str:
        """Return the message with the first errors, one per line, in the words of an interface."""
        named = [
            error if str(error).startswith(path) else located(path, error)
            for path, error in list(self.errors.items())[:SHOWN]
        ]
        shown = [f"  {error.told(words, verb)}" for error in named]
        more = [f"  and {len(self.errors) - SHOWN} more"] if len(self.errors) > SHOWN else []
        return "\n".join(filter(None, [f"{self.first_line}:", *shown, *more, super().told(words, verb)]))


SHOWN = 10
"""How many files a message lists."""


def without_path(error: Exception, path: str) -> AnlsError:
    """Return the error of a file without its path, for a list that already names the file."""
    if isinstance(error, FormatError) and error.path == path:
        return AnlsError(error.problem, remedies=error.remedies, where=error.place)
    return located("", error)


def listed(names: Iterable[str]) -> str:
    """Join the first 30 names for a message."""
    names = list(names)
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    return (", ".join(name if len(name) <= 80 else name[:77] + "..." for name in names[:30]) or "none") + more


def check_names(names: Sequence[str], path: str, place: str = "") -> None:
    """Raise a FormatError if two columns have one name."""
    twice = next((name for name, times in Counter(filter(None, names)).items() if times > 1), None)
    if twice is not None:
        raise FormatError(path, f"two columns are named {twice!r}. Rename one; they are: {listed(names)}.", place)
