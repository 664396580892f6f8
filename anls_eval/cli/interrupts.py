"""Ctrl-C ends the command line, even where a library swallows the KeyboardInterrupt, as some do in an import."""

import os
import signal
import sys
from types import FrameType

_AGAIN = 0.1  # seconds after which an interrupt that was swallowed is raised again

STATUS = 130  # of a command that Ctrl-C ends
was_interrupted = False


def begin() -> None:
    """Raise KeyboardInterrupt at Ctrl-C, and again until it ends the run. An ignored Ctrl-C stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and sys.platform != "win32":
        signal.signal(signal.SIGALRM, _raise_again)
        signal.signal(signal.SIGINT, _raise)


def end() -> None:
    """Exit at once at Ctrl-C: all work is done, and Python only cleans up."""
    if signal.getsignal(signal.SIGINT) is _raise and sys.platform != "win32":
        signal.signal(signal.SIGINT, _exit)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _raise(_: int, __: FrameType | None) -> None:
    global was_interrupted
    was_interrupted = True
    signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
    raise KeyboardInterrupt


def _raise_again(_: int, __: FrameType | None) -> None:
    """Raise unless the KeyboardInterrupt is on its way and something cleans up."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return
        error = error.__context__
    raise KeyboardInterrupt


def _exit(_: int, __: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(STATUS)
