"""Ctrl-C ends a command, even where a library swallows the KeyboardInterrupt, as some do in an import."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

STATUS = 130  # of a command that Ctrl-C ended

_AGAIN = 0.1  # seconds after which an interrupt that was swallowed is raised again
_is_interrupted = _is_over = False


def run(command: Callable[[], None]) -> None:
    """Run a command; after Ctrl-C, exit with a message and status 130, whatever became of the KeyboardInterrupt."""
    global _is_over
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, _raise)
        sys.unraisablehook = _show_unless_interrupted
    is_told = False
    try:
        command()
        _is_over = True
    except BaseException as error:
        _is_over = True  # before the error and all that its frames hold are deleted, which takes a while
        if not _is_interrupted:
            raise
        is_told = isinstance(error, SystemExit) and error.code == STATUS
    _raise_again_every(0)
    if _is_interrupted:
        if not is_told:
            print("interrupted", file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(STATUS)  # sys.exit ends Python by the signal where the KeyboardInterrupt came through eval or exec


def _raise(_: int, __: FrameType | None) -> None:
    global _is_interrupted
    if _is_over:  # Python only cleans up
        os.write(2, b"interrupted\n")
        os._exit(STATUS)
    _is_interrupted = True
    _raise_again_every(_AGAIN)
    raise KeyboardInterrupt


def _show_unless_interrupted(unraisable: sys.UnraisableHookArgs) -> None:
    """Show an error that Python swallows, but for a KeyboardInterrupt, which is raised again."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _raise_again_every(seconds: float) -> None:
    if sys.platform != "win32":
        if seconds:
            signal.signal(signal.SIGALRM, _raise_again)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _raise_again(_: int, __: FrameType | None) -> None:
    """Raise, unless the KeyboardInterrupt is still on its way and something cleans up."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return
        error = error.__context__
    if not _is_over:
        raise KeyboardInterrupt
