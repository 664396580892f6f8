"""Ctrl-C ends a command, even where a library swallows the KeyboardInterrupt, as some do in an import."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

STATUS = 130  # of a command that Ctrl-C ended

_AGAIN = 0.1  # seconds after which an interrupt that was swallowed is raised again
_interrupted = False


def run(command: Callable[[], None]) -> None:
    """Run a command; after Ctrl-C, exit with a message and status 130, whatever became of the KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, _raise)
    is_told = False
    try:
        command()
    except BaseException as error:
        if not _interrupted:
            raise
        is_told = isinstance(error, SystemExit) and error.code == STATUS
    finally:
        if signal.getsignal(signal.SIGINT) is _raise:
            signal.signal(signal.SIGINT, _exit)
        _raise_again_every(0)
    if _interrupted:
        if not is_told:
            print("interrupted", file=sys.stderr)
        sys.exit(STATUS)


def _raise(_: int, __: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    _raise_again_every(_AGAIN)
    raise KeyboardInterrupt


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
    raise KeyboardInterrupt


def _exit(_: int, __: FrameType | None) -> None:
    """Exit at once: all work is done, and Python only cleans up."""
    os.write(2, b"interrupted\n")
    os._exit(STATUS)
