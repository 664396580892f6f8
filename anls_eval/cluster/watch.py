"""Watch the scheduler and the workers of a run, so that it never waits for any of them without a word or for ever."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from dask.distributed import Client, LocalCluster
from distributed.client import ClosedClientError, FutureCancelledError

from anls_eval.cluster.errors import LIMITS, LOST, ClusterError
from anls_eval.errors import Remedy
from anls_eval.files.errors import listed
from anls_eval.submission.passes import counted

_LOOKS = 10  # in the time of the patience, at least
_LONGEST = 3.0  # seconds between two looks: with a long patience, a worker that comes is used soon
_MISSED = 3  # looks without a worker before that is told: one that dies is often replaced at once
_SILENT = 4  # times the patience: how long a worker or the scheduler may be silent
_PAUSE = 0.02  # seconds between two looks at what is awaited

_Value = TypeVar("_Value")


class Watch:
    """Waits for the work of a cluster while it looks at its scheduler and workers, several times per patience.

    Time is counted in looks, so that a process that was suspended itself takes nobody for silent.
    """

    def __init__(self, client: Client, patience: float, start_more: str) -> None:
        self.client, self._patience, self._start_more = client, patience, start_more
        self.workers: Sequence[str] = ()
        self._looks = max(_LOOKS, math.ceil(patience / _LONGEST))
        self._every = patience / self._looks
        self._next = time.monotonic()
        self._unanswered = self._without_workers = self._without_progress = 0
        self._is_standstill_told = False
        self._last_seen: dict[str, tuple[object, int]] = {}  # of each worker, and the looks since it changed

    def until(self, is_done: Callable[[], bool]) -> None:
        """Wait until something is done; raise a ClusterError if it cannot come to its end."""
        while not is_done():
            if self.client.status == "connecting":  # again, for which Dask takes its time
                raise ClusterError(LOST)
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + self._every
                self._look()
            time.sleep(_PAUSE)

    def until_workers(self) -> None:
        """Wait for a worker; adaptive clusters start one only once there is a task."""
        self._look()
        self._next = time.monotonic() + self._every
        if not self.workers:
            task = self.client.submit(int, pure=False)
            self.until(lambda: bool(self.workers))
            task.release()

    def progress(self) -> None:
        """Take note that a task is finished."""
        self._without_progress = self._unanswered = 0
        self._is_standstill_told = False

    def on_workers(self, function: Callable[..., _Value], *arguments: object) -> dict[str, _Value | BaseException]:
        """Call a function in every worker; return what it returned or raised, by address."""
        found: dict[str, _Value | BaseException] = self._in_a_thread(
            lambda: self.client.run(function, *arguments, on_error="return")
        )
        return found

    def on_scheduler(self, function: Callable[..., object], *arguments: object) -> BaseException | None:
        """Call a function in the scheduler; return what it raised."""

        def call() -> BaseException | None:
            try:
                self.client.run_on_scheduler(function, *arguments)
            except Exception as error:
                return error
            return None

        return self._in_a_thread(call)

    def _in_a_thread(self, call: Callable[[], _Value]) -> _Value:
        """Call what waits for other processes, while this one looks at them."""
        returned: list[_Value] = []

        def keep() -> None:
            with contextlib.suppress(OSError, FutureCancelledError, ClosedClientError, RuntimeError):
                returned.append(call())

        thread = threading.Thread(target=keep, daemon=True)  # which a frozen process would hold for ever
        thread.start()
        self.until(lambda: not thread.is_alive())
        if not returned:
            raise ClusterError(LOST)
        return returned[0]

    def _look(self) -> None:
        if self.client.status in ("closing", "closed"):  # by itself, once it could not connect again
            raise ClusterError(LOST)
        try:
            answer = self.client.sync(self.client.scheduler.identity, callback_timeout=max(self._every, 0.1))
        except (OSError, asyncio.TimeoutError):  # another one before Python 3.11
            self._count_unanswered()
            return
        except RuntimeError:  # which Dask raises while the client closes
            raise ClusterError(LOST) from None
        self._unanswered = 0
        self._without_progress += 1
        workers = answer["workers"]
        self._count_without_workers(not workers)
        silent = self._silent(workers)
        if self._without_progress >= self._looks and workers and not silent and not self._is_standstill_told:
            self._is_standstill_told = True
            are_at_work = f"{counted(len(workers), 'worker')} respond{'s' if len(workers) == 1 else ''}"
            self._tell(f"nothing has been finished for {self._seconds()}; {are_at_work}")
        gone = [worker for worker, looks in silent.items() if looks >= _SILENT * self._looks]
        self.workers = [worker for worker in workers if worker not in gone]
        if gone:
            self._replace(gone)

    def _count_unanswered(self) -> None:
        self._unanswered += 1
        self._last_seen.clear()
        if self._unanswered == self._looks:
            self._tell(
                f"the scheduler has not answered for {self._seconds()}; after {self._seconds(_SILENT)}, the run ends"
            )
        if self._unanswered >= _SILENT * self._looks:
            raise ClusterError(f"the scheduler has not answered for {self._seconds(_SILENT)}.")

    def _count_without_workers(self, is_without: bool) -> None:
        self._without_workers = self._without_workers + 1 if is_without else 0
        if self._without_workers == _MISSED:
            self._tell(f"there are no workers: waiting {self._seconds()} for one")
        if self._without_workers <= self._looks:
            return
        own = self.client.cluster
        if isinstance(own, LocalCluster) and own.worker_spec:  # those that it should have
            raise ClusterError(
                f"no workers for {self._seconds()}. Workers that die as soon as they have started usually lack memory, "
                f"or {LIMITS} are low. Start fewer workers."
            )
        wait_longer = Remedy("patience", math.ceil(10 * self._patience), "wait longer")
        raise ClusterError(f"no workers for {self._seconds()}{self._start_more}.", remedies=[wait_longer])

    def _silent(self, workers: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Return the workers that have been silent for the patience, with the looks since they were last seen."""
        before, self._last_seen = self._last_seen, {}
        for address, worker in workers.items():
            seen, looks = before.get(address, (None, 0))
            self._last_seen[address] = worker["last_seen"], looks + 1 if seen == worker["last_seen"] else 0
        silent = {address: looks for address, (_, looks) in self._last_seen.items() if looks >= self._looks}
        new = [address for address, looks in silent.items() if looks == self._looks]
        if new:
            self._tell(
                f"no sign of life for {self._seconds()} from {listed(new)}; after {self._seconds(_SILENT)}, others do "
                "the work"
            )
        return silent

    def _replace(self, workers: Sequence[str]) -> None:
        """Have workers killed, or at least given up by the scheduler, which then gives their tasks to others."""
        self._tell(f"no sign of life for {self._seconds(_SILENT)} from {listed(workers)}: others do the work")
        for worker in workers:
            self._last_seen.pop(worker, None)
        self.client.loop.add_callback(
            self.client.scheduler.restart_workers,
            workers=list(workers),
            timeout=max(self._patience, 1),
            wait_for_workers=False,
            on_error="return",
            stimulus_id=f"anls-silent-{time.time()}",
        )

    def _seconds(self, times: int = 1) -> str:
        return f"{times * self._patience:g} s"

    def _tell(self, note: str) -> None:
        warnings.warn(note, UserWarning, stacklevel=2)
