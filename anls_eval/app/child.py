"""Run a task in a separate process with a time limit: nothing of it stays for the next user."""

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

from anls_eval.app.limits import MAX_MEMORY_BYTES, SUGGEST_COMMAND_LINE
from anls_eval.errors import AnlsError, located

Progress = Callable[[float, str], None]  # takes the share that is done, from 0 to 1, and what is being done
_Result = TypeVar("_Result")
# Each process is forked from one that has only imported this: within milliseconds, and without the app's threads.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["anls_eval.app.document_score", "anls_eval.app.infer_fields"])


def run(
    task: Callable[..., _Result], *arguments: Any, seconds: float, on_progress: Progress = lambda share, what: None
) -> _Result:
    """Run a function of a module in a separate process; an `AnlsError` says how it failed or exceeded its time."""
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
        raise AnlsError(f"the process crashed, perhaps for lack of memory. {SUGGEST_COMMAND_LINE}") from None
    finally:
        receiving.close()
        process.kill()
        process.join()
        process.close()
    raise AnlsError(f"this takes more than {seconds:g} seconds, the limit here. {SUGGEST_COMMAND_LINE}")


def _work(sending: Connection, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    try:
        result = task(*arguments, lambda share, what: sending.send(("progress", (share, what))))
    except (ValueError, TypeError, OSError) as error:
        sending.send(("refused", located("", error)))
    else:
        sending.send(("done", result))


def prepare() -> None:
    """Start the process that the others are forked from, so that the first user does not wait for it."""
    # It is a new Python, which must not find another package of the same name.
    root = str(Path(__file__).parent.parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    threading.Thread(target=run, args=(_nothing,), kwargs={"seconds": 60}, daemon=True).start()


def _nothing(report_progress: Progress) -> None: ...
