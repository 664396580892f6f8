"""Open a file to read it: at once, and only a regular one, whatever took its place since someone looked at it."""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from pathlib import Path
from typing import Any

from anls_eval.limits import raise_limit

_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0)  # Windows has no FIFO among its files
_LEASE = 0.05  # seconds between two attempts while another process gives up its lease on a file


class NotRegularError(OSError):
    """A FIFO, a socket or a device, whose data can be read once, if it ever comes."""


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise an OSError unless there is a regular file."""
    if not os.fspath(path):  # which `Path` takes for the current folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    _check_mode(Path(path).stat().st_mode, path)


class Regular(io.FileIO):
    """A regular file, which always has data or ends; some of the kernel's only look like one."""

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer, or raise NotRegularError."""
        found: int | None = super().readinto(buffer)
        if found is None:  # no data yet
            raise _not_regular(self.name)
        return found

    def readall(self) -> bytes:
        """Read to the end, or raise NotRegularError."""
        found: bytes | None = super().readall()
        if found is None:
            raise _not_regular(self.name)
        return found


def _not_regular(name: str | int) -> NotRegularError:
    return NotRegularError(errno.EINVAL, "Not a regular file", name)


def open_regular(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a regular file, or raise an OSError: to open a FIFO waits for its writer, in Arrow deaf to any signal.

    Reads are as long as they are asked to be, also where the storage gives less at once.
    """
    check_regular(path)  # before: to open a device can change its state
    while True:
        try:
            stream = Regular(path, opener=_open)
        except BlockingIOError:  # Linux asks the holder of a lease, such as a Samba server, to give it up
            check_regular(path)
            time.sleep(_LEASE)
        else:
            break
    try:
        _check_mode(os.fstat(stream.fileno()).st_mode, path)
    except BaseException:
        stream.close()
        raise
    return io.BufferedReader(stream)


def opening_fault(error: OSError | ValueError) -> str:
    """Return why a file cannot be opened, with a remedy; raise LimitError where this process lacks something."""
    raise_limit(error)
    if isinstance(error, NotRegularError):
        return "not a regular file, which can be read twice. Save the data to a file first."
    if isinstance(error, IsADirectoryError):
        return "a folder; expected a file. Check the path."
    reason = error.strerror if isinstance(error, OSError) else error  # ValueError: a NUL in the path
    remedy = "Make it and its folders readable." if isinstance(error, PermissionError) else "Check the path."
    return f"cannot be opened: {reason}. {remedy}"


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | _WITHOUT_WAITING)


def _check_mode(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise _not_regular(os.fspath(path))
