"""Work in a process of its own: it can be ended when it takes too long, and nothing of it stays for the next user."""

from __future__ import annotations

import multiprocessing
import os
import resource
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from anls_eval.app.limits import ELSEWHERE
from anls_eval.errors import AnlsError, located

Progress = Callable[[float, str], None]
"""Takes the share that is done, from 0 to 1, and what is being done."""

MOST_MEMORY = 6 << 30

_Result = TypeVar("_Result")
# Each process is forked from one that has only imported this: within milliseconds, and without the app's threads.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["anls_eval.app.tree_view", "anls_eval.app.tasks"])


def run(
    task: Callable[..., _Result], *arguments: Any, seconds: float, on_progress: Progress = lambda share, what: None
) -> _Result:
    """Do some work in a process of its own.

    Args:
        task: A function of a module, called with the arguments and, behind them, its `Progress`.
        arguments: What it is given, and can be pickled.
        seconds: How long it may take.
        on_progress: Told of the progress.

    Returns:
        What the task gives.

    Raises:
        AnlsError: The task raised a ValueError, TypeError or OSError, took too long, or broke down.
    """
    receiving, sending = _processes.Pipe(duplex=False)
    process = _processes.Process(target=_work, args=(sending, task, arguments), daemon=True)
    process.start()
    sending.close()
    end = time.monotonic() + seconds
    try:
        while receiving.poll(max(0, end - time.monotonic())):
            kind, value = receiving.recv()
            if kind == "done":
                return value  # type: ignore[no-any-return]
            if kind == "refused":
                raise value
            on_progress(*value)
    except EOFError:
        raise AnlsError(f"this stopped, perhaps because it ran out of memory. {ELSEWHERE}") from None
    finally:
        receiving.close()
        process.kill()
        process.join()
        process.close()
    raise AnlsError(f"this takes more than {seconds:g} seconds, the limit here. {ELSEWHERE}")


def _work(sending: Connection, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    try:
        result = task(*arguments, lambda share, what: sending.send(("progress", (share, what))))
    except (ValueError, TypeError, OSError) as error:
        sending.send(("refused", located("", error)))
    else:
        sending.send(("done", result))


def prepare() -> None:
    """Begin to start the process that the others are forked from, so that the first user need not wait for it.

    It is a new Python, and is told where this package is: it must not find others of these names before.
    """
    root = str(Path(__file__).parent.parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    threading.Thread(target=run, args=(_nothing,), kwargs={"seconds": 60}, daemon=True).start()


def _nothing(report_progress: Progress) -> None:
    pass
