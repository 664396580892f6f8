"""Ctrl-C, SIGTERM and others end a command, even where a library swallows the KeyboardInterrupt, as in an import."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

STATUS = 130  # with which Typer ends a command after a KeyboardInterrupt, whatever signal it stands for

# What becomes of each signal as Python starts; else it is ignored, as in the background or by nohup, and stays so.
_OTHERS = "SIGTERM", "SIGHUP", "SIGXCPU", "SIGUSR1", "SIGUSR2"  # by which schedulers tell of limits of time, too
_USUAL = {"SIGINT": signal.default_int_handler} | dict.fromkeys(_OTHERS, signal.SIG_DFL)
_AGAIN = 0.1  # seconds after which an interrupt that was swallowed is raised again
_TO_CLEAN_UP = 10  # seconds after the first signal, in which others are taken for the same: some press Ctrl-C twice
_received = 0  # the number of the first signal
_received_at = 0.0
_is_over = False


def run(command: Callable[[], None]) -> None:
    """Run a command; after a signal, exit with a message and its status, whatever became of the KeyboardInterrupt.

    What is registered to run at exit still runs, and can be interrupted. Then Python handles no signals, and one
    would kill it without a word, although all is written: for these last milliseconds, they are ignored.
    """
    global _is_over
    for name, usual in _USUAL.items():
        number = getattr(signal, name, None)  # Windows has few of them
        if number is not None and signal.getsignal(number) is usual:
            signal.signal(number, _raise)
            atexit.register(signal.signal, number, signal.SIG_IGN)  # after all else that runs at exit
    sys.unraisablehook = _show_unless_interrupted
    is_told = False
    try:
        command()
        _is_over = True
    except BaseException as error:
        _is_over = True  # before the error and all that its frames hold are deleted, which takes a while
        if not _received:
            raise
        is_told = isinstance(error, SystemExit) and error.code == STATUS
    _raise_again_every(0)
    if _received:
        if not is_told:
            print(words(), file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, SystemExit):
                stream.flush()
        # sys.exit ends Python by SIGINT where the KeyboardInterrupt came through eval or exec.
        os._exit(128 + _received)


def words() -> str:
    """Return what ended the command."""
    return f"interrupted by {signal.Signals(_received).name}" if _received not in (0, signal.SIGINT) else "interrupted"


def _raise(number: int, _: FrameType | None) -> None:
    global _received, _received_at
    if not _received:
        _received, _received_at = number, time.monotonic()
    elif number != signal.SIGINT or time.monotonic() < _received_at + _TO_CLEAN_UP:
        return  # `timeout` sends one to the process and to its group; a cleanup that hangs can be broken off by Ctrl-C
    if _is_over:  # Python only cleans up
        with contextlib.suppress(OSError):
            os.write(2, f"{words()}\n".encode())
        os._exit(128 + _received)
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
