"""What must hold for every input, and one input run under it."""

import contextlib
import linecache
import random
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from places import ROOT

SECONDS = 2.0
"""The most processor time that one input may take."""
BYTES = 1_000_000_000
"""The most memory that one input may add to the process."""

Target = Callable[[random.Random, Path], str]
"""Draws an input, runs it with a folder to write to, checks what comes out, and says in a word what that was."""


class OvertimeError(BaseException):
    """An input took too long. Not an Exception, so that nothing takes it for a refusal."""


def refusal(error: BaseException) -> str:
    """Give the message of an error of our own kind, or raise the error as the fault that it is.

    Ours is a ValueError or TypeError that the project's code raised on purpose: the last frame is one of ours, stands
    on a ``raise``, and says something.
    """
    kind = type(error)
    is_public = kind.__module__.startswith("anls_eval.") and not kind.__name__.startswith("_")
    is_known = is_public or kind.__name__ in ("ValueError", "TypeError", "BadParameter")
    *_, last = traceback.extract_tb(error.__traceback__)
    on_purpose = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise ")
    ours = ROOT in Path(last.filename).parents and "site-packages" not in last.filename
    if is_known and on_purpose and ours and str(error).strip():
        return str(error)
    raise error


@contextlib.contextmanager
def refusals() -> Iterator[list[str]]:
    """Catch an error of our own kind and put its message into the list that is given."""
    messages: list[str] = []
    try:
        yield messages
    except (ValueError, TypeError) as error:
        messages.append(refusal(error))


def run_one(target: Target, name: str, seed: int, number: int, folder: Path) -> str:
    """Run one input; raises whatever is wrong."""
    generator = random.Random(f"{name}:{seed}:{number}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with _time_limit():
        outcome = target(generator, folder)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if grown > BYTES:
        raise MemoryError(f"{grown:,} bytes for one input")
    return outcome


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise OvertimeError(f"more than {SECONDS} s of processor time")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
