"""What ends a run of a data set: bad parts, lost workers, Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from anls_eval.errors import AnlsError, Explained, Note, Remedy, located
from anls_eval.files.errors import FilesError
from anls_eval.submission.passes import counted

LOST = "the connection to the scheduler was lost."
CANCELLED = "the tasks were cancelled: the client or the cluster was closed, or the cluster was restarted."

LIMITS = "the limits of memory (ulimit -v), threads (ulimit -u) or open files (ulimit -n)"
OTHER_TMPDIR = "another folder for temporary files by the environment variable TMPDIR"

MISCONFIGURED = (ValueError, TypeError, KeyError, AttributeError)
"""What Dask raises, somewhere, for a value of its configuration that it cannot use: it checks none of them."""

RESUME = Remedy("resume", True, "continue")


class BadPartsError(FilesError):
    """Some parts cannot be read or scored; the others are finished, and are kept in `out` if it was given."""

    def __init__(self, errors: Mapping[str, AnlsError], out: Path | None, are_all: bool = False) -> None:
        remedies = [] if out is None else [Remedy("resume", True, "continue once these are fixed")]
        if are_all:
            ending = "Nothing would be left to score."
        else:
            ending = "" if out is None else f"The others are finished in {out}."
            remedies.append(Remedy("skip_bad", True, "leave them out"))
        super().__init__(f"{counted(len(errors), 'part')} cannot be scored", errors, ending, remedies)

    @property
    def bad(self) -> dict[str, str]:
        """The reason for each bad part."""
        return {part: str(error) for part, error in self.errors.items()}


class ClusterError(Explained, ChildProcessError):
    """The workers or the cluster failed, or cannot do this run; what they finished is kept."""


def misconfigured(error: BaseException) -> ClusterError:
    """Return the error of a value in Dask's configuration that Dask cannot use."""
    reason = f"{type(error).__name__}: {error}"
    where = "the files in ~/.config/dask and the environment variables that begin with DASK_"
    return ClusterError(f"Dask cannot run with its configuration ({reason}). Check {where}.")


class InterruptedRunError(Explained, KeyboardInterrupt):
    """The run was interrupted with Ctrl-C; what was finished is kept."""


def as_note(error: Exception) -> str:
    """Return the message of an error, which keeps its remedies."""
    if not isinstance(error, AnlsError) or not error.remedies:
        return str(error)
    own = located("", error)
    remedies, own.remedies = own.remedies, ()
    return Note(str(own).removesuffix("."), remedies)


def are(n: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if n == 1 else "are"
