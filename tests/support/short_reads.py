"""Storage that gives less than asked for, as POSIX allows."""

import pytest

from anls_eval.opening import Regular

_MOST = 4096


def give_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each read of a file in this process give 4,096 bytes at most."""
    given = Regular.readinto
    monkeypatch.setattr(Regular, "readinto", lambda stream, buffer: given(stream, memoryview(buffer)[:_MOST]))
