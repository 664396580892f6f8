"""Standard streams that are closed, full or no longer read: results are never lost in silence, notes are dropped."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import Any

_STATUS = 141  # of a command whose output is no longer read, as of one that SIGPIPE ended

_FLAGS = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)  # so that writing to an output in place of a closed one fails


def guard() -> None:
    """Let no other file take the place of a closed stream, and say what happens where an output cannot be written."""
    for number, stream in enumerate((sys.__stdin__, sys.__stdout__, sys.__stderr__)):
        if stream is None and os.open(os.devnull, _FLAGS[number]) == number:  # the lowest number that is free
            os.set_inheritable(number, True)  # else workers would have none
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(sys.stdout, 1, _Results)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(sys.stderr, 2, _Notes)


class _Stream(io.RawIOBase):
    """A standard stream without a buffer."""

    def __init__(self, raw: Any) -> None:
        super().__init__()
        self._raw = raw

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def writable(self) -> bool:
        return True

    def _write(self, data: Any) -> int:
        """Write some of the data, also where another program that has the stream made it one that does not wait."""
        while (written := self._raw.write(data)) is None:
            select.select([], [self._raw], [])
        return int(written)


class _Notes(_Stream):
    """The standard error: what cannot be written is dropped."""

    def write(self, data: Any) -> int:
        try:
            return self._write(data)
        except OSError:
            return len(data)


class _Results(_Stream):
    """The standard output: where it cannot be written, the command ends, and Python drops the rest at its end."""

    _is_lost = False

    def write(self, data: Any) -> int:
        if self._is_lost:
            return len(data)
        try:
            return self._write(data)
        except BrokenPipeError:
            self._is_lost = True
            raise SystemExit(_STATUS) from None
        except OSError as error:
            self._is_lost = True
            if error.errno == errno.EBADF:
                reason = "it is closed. Direct it to a file, a pipe or a terminal"
            else:
                reason = f"{error.strerror}. What it holds is incomplete: make room, or direct it to another file"
            raise OSError(f"the standard output cannot be written to: {reason}.") from None


def _text(stream: Any, number: int, kind: type[_Stream]) -> io.TextIOWrapper:
    """Return a stream of texts in place of a standard one."""
    if stream is None:
        raw, encoding, errors = io.FileIO(number, "w", closefd=False), "utf-8", "backslashreplace"
    else:
        raw, encoding, errors = getattr(stream.buffer, "raw", stream.buffer), stream.encoding, stream.errors
    return io.TextIOWrapper(io.BufferedWriter(kind(raw)), encoding, errors, line_buffering=raw.isatty())
