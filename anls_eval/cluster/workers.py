"""Workers: started on this machine, or those of a running cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import signal
import socket
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from typing import Any

import dask
from dask.distributed import Client, LocalCluster
from distributed.comm import get_address_host_port

from anls_eval.cluster.errors import LostWorkersError

_FOR_SCHEDULER = 10  # seconds that the scheduler at an address has to answer
_FOR_WORKERS = 30  # seconds that it has to get a worker


@contextlib.contextmanager
def local_client(workers: int | None = None, memory_limit: str | int = "auto") -> Iterator[Client]:
    """Start workers on this machine, by default one per processor, with one thread each; end them at exit."""
    # Tasks hold no data that could be spilled, and a worker that pauses for lack of memory would wait forever.
    settings: dict[str, Any] = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker that imports the script again
        sys.exit(1)  # in silence: the first process says why
    with (
        dask.config.set(settings),
        # In a thread, where Ctrl-C does not break off the start or the end, which would leave processes behind.
        ThreadPoolExecutor(1, initializer=_leave_interrupts_to_the_main_thread) as thread,
    ):
        starting = thread.submit(_start_workers, workers, memory_limit)
        try:
            yield starting.result()
        finally:
            if starting.exception() is None:
                thread.submit(_end_workers, starting.result()).result()


def _leave_interrupts_to_the_main_thread() -> None:
    """Block Ctrl-C in this thread and all that it starts: Ctrl-C reaches every process of a terminal."""
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # else Python unblocks Ctrl-C again where it starts the first process
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_workers(workers: int | None, memory_limit: str | int) -> Client:
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address="127.0.0.1:0",  # for this machine only, at a port that is free
            silence_logs=logging.CRITICAL,  # a worker that dies is replaced, and what matters is in our errors
        )
    except RuntimeError:
        raise LostWorkersError(
            "The workers could not start. Each worker imports the script that called score_dataset: put the call "
            'under if __name__ == "__main__":.'
        ) from None
    return Client(cluster)


def _end_workers(client: Client) -> None:
    with client.cluster, client:
        pass


def connect(workers: int | None, cluster: Client | str | None, stack: contextlib.ExitStack) -> Client:
    """Use a running cluster, by its client or the address of its scheduler, or start workers on this machine."""
    if not isinstance(cluster, str):
        return stack.enter_context(local_client(workers)) if cluster is None else cluster
    client = stack.enter_context(_client_at(cluster))
    _wait_for_workers(client, cluster)
    return client


def _client_at(address: str) -> Client:
    expected = "expected the address that `dask scheduler` prints, such as tcp://HOST:8786"
    try:
        where = get_address_host_port(address)
    except ValueError:
        raise ValueError(f"{address!r} is not the address of a Dask scheduler; {expected}") from None
    try:
        # Dask itself would try again for as long where nothing listens.
        socket.create_connection(where, timeout=_FOR_SCHEDULER).close()
        return Client(address, timeout=_FOR_SCHEDULER)
    except OSError as error:
        raise ValueError(f"no Dask scheduler responds at {address} ({error}); {expected}") from None


def _wait_for_workers(client: Client, address: str) -> None:
    if client.ncores():
        return
    warnings.warn(f"{address} has no workers: waiting {_FOR_WORKERS} s for one", UserWarning, stacklevel=2)
    try:
        client.wait_for_workers(1, timeout=_FOR_WORKERS)
    except asyncio.TimeoutError:  # another one before Python 3.11
        raise ChildProcessError(f"no workers at {address}: start some with `dask worker {address}`") from None
