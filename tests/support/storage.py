"""Storage that gives less than asked for, as POSIX allows, or that fails."""

import errno
import os
from typing import Any

import pytest

from anls_eval.opening import Regular

_MOST = 4096


def give_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each read of a file in this process give 4,096 bytes at most."""
    given = Regular.readinto
    monkeypatch.setattr(Regular, "readinto", lambda stream, buffer: given(stream, memoryview(buffer)[:_MOST]))


def fail_from(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each read of a file in this process fail behind its first bytes, as a bad block of a disk does."""
    given = Regular.readinto

    def readinto(stream: Regular, buffer: Any) -> int:
        left = place - stream.tell()
        if left <= 0 < len(buffer):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return given(stream, memoryview(buffer)[:left])

    def readall(stream: Regular) -> bytes:
        block, found = bytearray(_MOST), b""
        while size := readinto(stream, block):
            found += block[:size]
        return found

    monkeypatch.setattr(Regular, "readinto", readinto)
    monkeypatch.setattr(Regular, "readall", readall)
