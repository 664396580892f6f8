"""The tasks of a run on workers: sent, awaited, and what becomes of those that fail."""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dask.distributed import Worker, as_completed, get_worker
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from anls_eval.cluster.agreement import Agreement, UnseenFileError, check_agreement, without_changed
from anls_eval.cluster.errors import CANCELLED, LOST, ClusterError, are
from anls_eval.cluster.parts import CHANGED, Job, Part, UnpairedError, kept_of, score_part
from anls_eval.cluster.watch import Watch
from anls_eval.files.errors import SHOWN, OutputError
from anls_eval.limits import limit_error
from anls_eval.submission.passes import counted

_NO_SCHEDULER = "scheduler-connection-lost"  # for which Dask cancels tasks

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")
_Part = TypeVar("_Part", bound=Part)


class Engine:
    """Runs the tasks of one job on workers, which are started with the first task, if there is one."""

    def __init__(
        self,
        start: Callable[[], tuple[Watch, Agreement]],
        job: Job,
        on_progress: Callable[[int], None] | None = None,
    ) -> None:
        self._start, self.job, self._on_progress = start, job, on_progress
        self.scored = 0

    @functools.cached_property
    def _started(self) -> tuple[Watch, Agreement]:
        return self._start()

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self._started[0].workers)

    def score(self, parts: Sequence[_Part]) -> tuple[set[_Part], dict[_Part, Exception]]:
        """Score the unfinished parts; return those that were finished before, and the errors of bad ones."""
        finished: dict[_Part, int] = {}
        faults: list[str] = []
        for part in parts:
            kept = kept_of(part, self.job)
            if kept.totals is not None:
                finished[part] = kept.totals.n
            elif kept.fault:
                faults.append(kept.fault)
        self._advance(sum(finished.values()))
        warn_of_faults("part", "scored", faults)
        errors = self.each(score_part, [part for part in parts if part not in finished], self._advance)
        return set(finished), errors

    def each(
        self,
        function: Callable[[_Item, Job], _Value],
        items: Sequence[_Item],
        on_value: Callable[[_Value], object] = lambda value: None,
    ) -> dict[_Item, Exception]:
        """Call a function with each item, in any order; return the items that failed with their errors."""
        if not items:
            return {}
        watch, agreement = self._started
        client = watch.client
        own = {"function": function, "job": self.job, "pure": False}
        tasks = client.map(_task, items, agreement=agreement, **own)
        futures = {task: (item, agreement) for task, item in zip(tasks, items, strict=True)}
        errors: dict[_Item, Exception] = {}
        completed = as_completed(tasks, loop=client.loop, with_results=True, raise_errors=False)
        try:
            while not completed.is_empty():
                watch.until(completed.has_ready)
                future, result = next(completed)
                watch.progress()
                (item, asked), error = futures[future], _error_of(result)
                if error is None:
                    on_value(result)
                elif isinstance(error, (ValueError, TypeError)) and not isinstance(error, OutputError):
                    errors[item] = error
                elif isinstance(error, UnseenFileError) and (left := without_changed(asked)) != asked:
                    again = client.submit(_task, item, agreement=left, **own)
                    futures[again] = item, left
                    completed.add(again)
                else:
                    raise error
        except (KilledWorker, MemoryError) as error:
            labels = {task.key: getattr(item, "label", "") for task, (item, _) in futures.items()}
            where = labels.get(getattr(error, "task", None), "")
            raise ClusterError(
                "workers died repeatedly, or ran out of memory. Give each worker more memory, or split the files; "
                "workers that join during the run need anls_eval, too.",
                where=where,
            ) from None
        except (FutureCancelledError, CommClosedError) as error:
            is_lost = getattr(error, "reason", _NO_SCHEDULER) == _NO_SCHEDULER
            raise ClusterError(LOST if is_lost else CANCELLED) from None
        except ImportError as error:  # of what only some tasks load
            raise ClusterError(f"a worker lacks a module: {error}. Install anls_eval[eval,dask] on it.") from None
        except UnpairedError:
            client.cancel(list(futures))
            keys = {future.key for future in futures}
            while any(answer is True for answer in watch.on_workers(_is_busy, keys).values()):
                time.sleep(0.05)  # a task that runs cannot be stopped, and must not write into what comes next
            raise
        finally:
            with contextlib.suppress(ClosedClientError):
                client.cancel(list(futures))  # those of an interrupted run
        return {item: errors[item] for item in items if item in errors}

    def _advance(self, n: int) -> None:
        self.scored += n
        if self._on_progress is not None:
            self._on_progress(self.scored)


def _task(item: _Item, function: Callable[[_Item, Job], _Value], job: Job, agreement: Agreement) -> _Value:
    """Do a task in a worker, which may have joined after all workers were asked."""
    try:
        check_agreement(agreement)
    except ClusterError as error:
        raise type(error)(f"worker {get_worker().address} {error.problem}") from None
    try:
        return function(item, job)
    except Exception as error:
        limit = limit_error(error)
        if limit is None:
            raise
    # Here, where no error is being handled that would have to be brought to the client as well.
    raise ClusterError(limit.problem, where=f"worker {get_worker().address}")


def _error_of(result: Any) -> BaseException | None:
    """Return the error that is the result of a future, perhaps with its type and traceback.

    The status of the future may be another one by now: it is "lost" if the worker that held the result has died.
    """
    error = result[1] if isinstance(result, tuple) else result
    return error if isinstance(error, BaseException) else None


def warn_of_faults(noun: str, done: str, faults: Sequence[str]) -> None:
    """Say which tasks that an earlier run finished are done again, and why."""
    damaged = [fault for fault in faults if fault != CHANGED]
    named = ", ".join(damaged[:SHOWN]) + (", ..." if len(damaged) > SHOWN else "")
    for count, reason in ((len(faults) - len(damaged), CHANGED), (len(damaged), named)):
        if count:
            note = f"{counted(count, noun)} that an earlier run finished {are(count)} {done} again, because {reason}"
            warnings.warn(note, UserWarning, stacklevel=2)


def _is_busy(keys: set[str], dask_worker: Worker) -> bool:
    """Return whether a worker still runs one of these tasks, which may have been cancelled."""
    return any(task.key in keys for task in dask_worker.state.executing)
