"""The tasks of a run on workers: sent, awaited, and what becomes of those that fail."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from dask.distributed import Client, Worker, as_completed
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from anls_eval.cluster.errors import RESUME, LostWorkersError, are
from anls_eval.cluster.parts import Job, Part, UnpairedError, score_part, totals_of
from anls_eval.submission.passes import counted

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


class Engine:
    """Runs the tasks of one job on workers, which are started with the first task, if there is one."""

    def __init__(self, start: Callable[[], Client], job: Job, on_progress: Callable[[int], None] | None = None) -> None:
        self._start, self.job, self._on_progress = start, job, on_progress
        self.scored = 0

    @functools.cached_property
    def client(self) -> Client:
        """The client of the workers."""
        return self._start()

    def score(self, parts: Sequence[Part]) -> tuple[int, dict[Part, Exception]]:
        """Score the unfinished parts; return the number of parts finished before, and the errors of bad parts."""
        finished = {part: own.n for part in parts if (own := totals_of(part, self.job)) is not None}
        self.scored = 0
        self._advance(sum(finished.values()))
        unfinished = [part for part in parts if part not in finished]
        outdated = sum(part.record(self.job).exists() for part in unfinished)
        if outdated:
            note = (
                f"{counted(outdated, 'part')} that an earlier run finished {are(outdated)} scored again, because the "
                "files or the options have changed since"
            )
            warnings.warn(note, UserWarning, stacklevel=2)
        errors = self.each(score_part, unfinished, self._advance)
        return len(finished), errors

    def each(
        self,
        function: Callable[[_Item, Job], _Value],
        items: Sequence[_Item],
        on_value: Callable[[_Value], object] = lambda value: None,
    ) -> dict[_Item, Exception]:
        """Call a function with each item, in any order; return the items that failed with their errors."""
        if not items:
            return {}
        futures = dict(zip(self.client.map(function, items, job=self.job, pure=False), items, strict=True))
        errors: dict[_Item, Exception] = {}
        try:
            for future in as_completed(futures, loop=self.client.loop):
                error = future.exception()
                if error is None:
                    on_value(future.result())
                elif isinstance(error, (ValueError, TypeError)):
                    errors[futures[future]] = error
                else:
                    raise error
        except (KilledWorker, MemoryError) as error:
            problem = f"workers died repeatedly, or ran out of memory: {error}. Give each worker more memory, or split"
            raise self._lost(f"{problem} the files.") from None
        except (FutureCancelledError, CommClosedError) as error:
            raise self._lost(f"the cluster was lost: {error}.") from None
        except UnpairedError:
            self.client.cancel(list(futures))
            while any(self.client.run(_is_busy, {future.key for future in futures}).values()):
                time.sleep(0.05)  # a task that runs cannot be stopped, and must not write into what comes next
            raise
        finally:
            self.client.cancel(list(futures))  # those of an interrupted run
        return {item: errors[item] for item in items if item in errors}

    def _lost(self, problem: str) -> LostWorkersError:
        if not self.job.keep_rows:
            return LostWorkersError(problem)
        return LostWorkersError(f"{problem} What is finished is in {self.job.out}.", remedies=[RESUME])

    def _advance(self, n: int) -> None:
        self.scored += n
        if self._on_progress is not None:
            self._on_progress(self.scored)


def _is_busy(keys: set[str], dask_worker: Worker) -> bool:
    """Return whether a worker still runs one of these tasks, which may have been cancelled."""
    return any(task.key in keys for task in dask_worker.state.executing)
