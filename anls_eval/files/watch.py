"""Notice what changes while it is read: its rows would be neither those of before nor those of after."""

import contextlib
import dataclasses
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from anls_eval.files.dataset_folder import dataset_files
from anls_eval.files.errors import ChangedFileError, FormatError
from anls_eval.files.source import Block, Source
from anls_eval.files.storage import storage_fault
from anls_eval.limits import raise_limit
from anls_eval.opening import NotRegularError, opening_fault

State = tuple[int, int] | None
"""The size of a file and the time of its last change in nanoseconds; None if there is no such file.

Of a dataset on disk, the size of its files together, and a checksum of the names, sizes and times of all.
"""


def file_state(path: str) -> State:
    """Return the state of a file or of a dataset on disk."""
    try:
        own = Path(path).stat()
    except OSError:
        return _dataset_state(path)  # of a split
    except ValueError:  # a NUL in the path
        return None
    return _dataset_state(path) if stat.S_ISDIR(own.st_mode) else (own.st_size, own.st_mtime_ns)


def _dataset_state(path: str) -> State:
    try:
        files = {str(own): own.stat() for own in dataset_files(path)}
    except OSError:  # one is being replaced
        return None
    states = [(name, own.st_size, own.st_mtime_ns) for name, own in files.items()]
    return (sum(own.st_size for own in files.values()), zlib.crc32(repr(states).encode())) if files else None


@contextlib.contextmanager
def changes_told(path: str, state: State) -> Iterator[None]:
    """Tell that a file is not in this state any more, where that is why it cannot be read."""
    try:
        yield
    except OSError as error:
        raise_limit(error)
        check_unchanged(path, state)
        if isinstance(error, NotRegularError):
            raise FormatError(path, opening_fault(error)) from None
        raise FormatError(path, storage_fault(error) or f"cannot be read further: {error.strerror or error}.") from None
    except Exception:  # also one that no other content of the file would raise
        check_unchanged(path, state)
        raise


@contextlib.contextmanager
def unchanged(path: str, state: State) -> Iterator[None]:
    """Raise a ChangedFileError unless a file is in this state from the beginning of a reading to its end."""
    check_unchanged(path, state)  # now, for the old file may be put back before the end
    with changes_told(path, state):
        yield
    check_unchanged(path, state)


def watched(source: Source, path: str, state: State) -> Source:
    """Return a source of a file that must still be in this state each time it has been read."""

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        with unchanged(path, state):
            yield from source.read(wanted, size)

    divided: Callable[[int, int], Source] | None = None
    if source.within is not None:
        within = source.within

        def divided(start: int, stop: int) -> Source:
            return watched(within(start, stop), path, state)

    return dataclasses.replace(source, read=read, within=divided)


def check_unchanged(path: str, state: State) -> None:
    """Raise a ChangedFileError if a file is not in this state any more."""
    now = file_state(path)
    if now is None and state is not None:
        raise ChangedFileError(path, "removed while it was read. Put it back, and run again.")
    if now != state:
        raise ChangedFileError(path, "changed while it was read. Run again once nothing writes to it.")
