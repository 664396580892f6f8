"""Workers: started on this machine, or those of a running cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import errno
import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import dask.config
import psutil
from dask.distributed import Client, LocalCluster
from dask.system import CPU_COUNT
from distributed.comm import CommClosedError, get_address_host_port
from distributed.core import rpc
from distributed.security import Security
from distributed.utils import offload

from anls_eval.cluster.errors import LIMITS, MISCONFIGURED, OTHER_TMPDIR, ClusterError, misconfigured
from anls_eval.cluster.folder import temporary_folder
from anls_eval.cluster.watch import Watch
from anls_eval.limits import raise_limit
from anls_eval.names import check_working_folder, is_utf8
from anls_eval.submission.passes import counted

_HOST = "127.0.0.1"  # of workers that are started, for this machine only
_FOR_SCHEDULER = 10  # seconds that the scheduler at an address has to answer
_FILES, _FILES_OF_WORKER = 32, 10  # that this process has open, and more for each worker, with some to spare
_THREADS, _THREADS_OF_WORKER = 4, 9  # that a run starts, processes among them, and more for each worker; none to spare
_FOR_THREADS = 15  # seconds that threads of this process have to do nothing
_FOR_START = 120  # seconds that workers on this machine have to start
_ATTEMPTS = 3  # to start workers
_PAUSE = 0.02  # seconds
_TO_END = 1  # second that workers have to end by themselves, which a frozen one does not
_SILENT = logging.CRITICAL + 1
_OTHER_TEMPORARY_DIRECTORY = (
    "another folder as temporary-directory in Dask's configuration (DASK_TEMPORARY_DIRECTORY in the environment)"
)
_SPAWNED = 'mp_context=multiprocessing.get_context("spawn")'
# In the environment of processes that start: the folder of this start, and that they take Python's own modules, not
# files of the same names in the working folder.
_STARTING, _SAFE_PATH, _WARNINGS = "ANLS_EVAL_STARTING", "PYTHONSAFEPATH", "PYTHONWARNINGS"


@contextlib.contextmanager
def local_client(
    workers: int | None = None, memory_limit: str | int = "auto", verbose: bool = False
) -> Iterator[Client]:
    """Start workers on this machine, by default one per processor, with one thread each; end them at exit."""
    # Tasks hold no data that could be spilled, and a worker that pauses for lack of memory would wait forever.
    settings = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    _check_start(CPU_COUNT if workers is None else workers)
    preload = dask.config.get("distributed.worker.preload") or []
    options = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "memory_limit": memory_limit,
        "dashboard_address": f"{_HOST}:0",  # for this machine only, at a port that is free
        # A worker that dies is replaced, and what matters is in our errors.
        "silence_logs": logging.WARNING if verbose else logging.CRITICAL,
        "config": settings,
        "preload": [*([preload] if isinstance(preload, str) else preload), "anls_eval.cluster.preload"],
    }
    is_wanted = threading.Event()
    is_wanted.set()
    with (
        _start_folder() as folder,
        # In a thread, where Ctrl-C does not break off the start or the end, which would leave processes behind.
        ThreadPoolExecutor(1, initializer=_leave_interrupts_to_the_main_thread) as thread,
    ):
        options["local_directory"] = folder  # so that nothing is left of workers that are killed
        starting = thread.submit(_start_workers, options, folder, is_wanted)
        try:
            yield _started(starting)
        finally:
            is_wanted.clear()
            _await_or_kill(starting, folder)  # a start that Ctrl-C broke off fails once its processes are gone
            if starting.exception() is None:
                _await_or_kill(thread.submit(_end_workers, starting.result()), folder, _TO_END)
            else:
                while _kill_workers(folder):  # Dask forgets those that had started before another one did not
                    time.sleep(_PAUSE)


def end_unguarded() -> None:
    """End this process if it is a worker that imports the script again; the process that starts it says why."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        _unguarded(os.environ[_STARTING]).touch()
        sys.exit(1)


# Only trying tells how many threads may start: the system counts those of all processes of a user or of a container.
# This is done in a process of its own, where small stacks concern nobody else.
_TRY_THREADS = """
import _thread, os, sys
_thread.stack_size(1 << 16)
held = _thread.allocate_lock()
held.acquire()
try:
    for _ in range(int(sys.argv[1])):
        _thread.start_new_thread(held.acquire, ())
except RuntimeError:
    os._exit(75)
os._exit(0)
"""


def _can_start_threads(number: int) -> bool:
    """Return whether so many more threads may run at once."""
    command = [sys.executable, "-I", "-S", "-c", _TRY_THREADS, str(number - 1)]  # the process is one of them
    try:
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode != 75  # noqa: S603
    except BlockingIOError:  # not even a process
        return False


def _check_start(workers: int) -> None:
    """Refuse to start workers that could not load the script or Dask's configuration, or would be left hanging."""
    try:
        dask.config.collect()  # as they do
    except MISCONFIGURED as error:
        raise misconfigured(error) from None
    if multiprocessing.current_process().daemon:
        raise ClusterError(
            "the workers could not start: this process is itself one of a multiprocessing.Pool or the like, which may "
            f"start no others. Use concurrent.futures.ProcessPoolExecutor, with {_SPAWNED}, in place of the pool."
        )
    _check_folder_of_work()
    _check_loopback()
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is not None and not Path(script).exists():
        raise ClusterError(
            f"the workers could not start: each imports the script that called score_dataset, and {script} is not a "
            "file. Save the script to a file."
        )
    if sys.platform != "win32":
        import resource

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES + _FILES_OF_WORKER * workers
        if files != resource.RLIM_INFINITY and files < wanted:
            raise ClusterError(
                f"the workers could not start: this process may open {files} files, and {counted(workers, 'worker')} "
                f"need {wanted}. Raise the limit (ulimit -n), or start fewer workers."
            )
        threads = _THREADS + _THREADS_OF_WORKER * workers
        if not _can_start_threads(threads):
            raise ClusterError(
                f"the workers could not start: {counted(workers, 'worker')} need {threads} processes and threads, and "
                "fewer may be started. Raise the limit (ulimit -u or -v, or that of the container), or start fewer "
                "workers."
            )


def _check_folder_of_work() -> None:
    """Refuse to start workers in a folder to which they cannot change, as where this user came from another one."""
    folder = os.getcwd()  # noqa: PTH109 # as they name it
    try:
        os.stat(os.path.join(folder, "."))  # noqa: PTH116, PTH118 # `Path` would leave the dot out
    except OSError as error:
        problem = f"they start in the working folder, {folder}, which cannot be entered: {error.strerror}"
        raise ClusterError(f"the workers could not start: {problem}. Change to another folder.") from None


def _check_loopback() -> None:
    """Refuse to start workers that could not be reached, for which Dask would wait a minute."""
    try:
        with socket.create_server((_HOST, 0)) as server:
            socket.create_connection(server.getsockname(), _FOR_SCHEDULER).close()
    except OSError as error:
        problem = f"they are reached at {_HOST}, and this process cannot connect to it ({error.strerror or error})"
        raise ClusterError(f"the workers could not start: {problem}.") from None


def _started(starting: Future[Client]) -> Client:
    """Return the client of workers that start, or raise a ClusterError if one of them stands still."""
    if not concurrent.futures.wait([starting], timeout=_FOR_START).done:
        raise ClusterError(
            f"the workers could not start within {_FOR_START} s. If this machine is busy, start fewer workers, also if "
            f"{LIMITS} are low."
        )
    return starting.result()


def _leave_interrupts_to_the_main_thread() -> None:
    """Block Ctrl-C and others in this thread and all that it starts: every process of a terminal or a job gets them."""
    if sys.platform != "win32":
        # These would end the process that comes next.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU})
        resource_tracker.ensure_running()  # else Python unblocks Ctrl-C again where it starts the first process
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGXCPU})  # each worker has a limit of its own


@contextlib.contextmanager
def _start_folder() -> Iterator[str]:
    """Create a folder whose name, in the environment, tells the processes of this start from any others."""
    with contextlib.ExitStack() as stack:
        try:
            name = str(stack.enter_context(temporary_folder("anls-start-")))
        except OSError as error:
            if error.filename is None:  # of all folders that Python tries
                raise ClusterError(f"the workers could not start: {error.strerror}. Name {OTHER_TMPDIR}.") from None
            raise _not_started(error) from None
        if not is_utf8(name):
            problem = f"the name of the folder {Path(name).parent} is not UTF-8"
            raise ClusterError(f"the workers could not start: {problem}. Name {OTHER_TMPDIR}.")
        own = {_STARTING: name}
        if _WARNINGS not in os.environ:
            # Python's resource tracker removes what workers leave that are killed as they start, and says so.
            own[_WARNINGS] = f"ignore:{_ADVICE},ignore:resource_tracker"
        if _SAFE_PATH not in os.environ:
            own[_SAFE_PATH] = "1"
        os.environ |= own
        try:
            yield name
        finally:
            for variable in own:
                os.environ.pop(variable, None)


def _unguarded(folder: str) -> Path:
    """Return the path of a file that a worker leaves that calls this again, as it imports the script."""
    return Path(folder) / "unguarded"


def _start_workers(options: Mapping[str, Any], folder: str, is_wanted: threading.Event) -> Client:
    """Start the workers; try again if one of them dies."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with contextlib.ExitStack() as stack:
                client = Client(stack.enter_context(LocalCluster(**options)))
                stack.pop_all()  # it stays
                return client
        except (OSError, RuntimeError, AssertionError, ImportError, *MISCONFIGURED) as error:
            if _unguarded(folder).exists():
                raise ClusterError(
                    "The workers could not start. Each worker imports the script that called score_dataset: put the "
                    'call under if __name__ == "__main__":.'
                ) from None
            check_working_folder()  # in which they start
            causes = _causes(error)
            raise_limit(causes[-1])
            for cause in causes:
                if isinstance(cause, (*MISCONFIGURED, ImportError)):  # the last, of a module that workers preload
                    raise misconfigured(cause) from None
            if attempt == _ATTEMPTS or isinstance(causes[-1], OSError) or not is_wanted.is_set():
                raise _not_started(causes[-1]) from None
    raise AssertionError


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the first cause last."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    return causes


def _uses_tmpdir(path: str) -> bool:
    """Return whether TMPDIR led to this path: for its own files, Dask prefers a folder of its configuration."""
    folder = dask.config.get("temporary-directory", None)
    if not folder:
        return True
    own, at_fault = Path(folder).absolute(), Path(path).absolute()
    return not (at_fault.is_relative_to(own) or own.is_relative_to(at_fault))  # it may be missing itself


def _not_started(error: BaseException) -> ClusterError:
    """Return the error of workers that did not start, from its first cause."""
    if isinstance(error, OSError) and error.filename:
        other = OTHER_TMPDIR if _uses_tmpdir(error.filename) else _OTHER_TEMPORARY_DIRECTORY
        # Without room, one of several processes that make a folder at once can be told that it exists.
        reason = "cannot be made" if isinstance(error, FileExistsError) else error.strerror
        problem = f"{reason}: {error.filename}. Make room there, or name {other}."
        return ClusterError(f"the workers could not start: {problem}")
    if isinstance(error, OSError) and error.errno == errno.EAGAIN:
        return ClusterError(f"the workers could not start: {error.strerror}. Raise {LIMITS}, or start fewer workers.")
    if isinstance(error, OSError) and error.errno is not None:
        return ClusterError(f"the workers could not start: {error.strerror}. On Linux, they need a writable /dev/shm.")
    reason = str(error) or type(error).__name__
    problem = (
        f"the workers could not start ({reason}), though it was tried {_ATTEMPTS} times. Their processes die as they "
        f"start, usually for lack of memory, or because {LIMITS} are low: start fewer workers."
    )
    if "anls_eval.cli" not in sys.modules and hasattr(sys.modules["__main__"], "__file__"):  # a script of the user
        problem += (
            " If a traceback shows that the script fails, each worker imports it once more: put what it does under "
            'if __name__ == "__main__":.'
        )
    return ClusterError(problem)


def _await_or_kill(step: Future[Any], folder: str, seconds: float = 0) -> None:
    """Wait for a start or an end; after some time, kill the workers that it waits for."""
    kill_at = time.monotonic() + seconds
    while not step.done():
        time.sleep(_PAUSE)
        if time.monotonic() > kill_at:
            _kill_workers(folder)


def _kill_workers(folder: str) -> bool:
    """Kill the workers of one start; return whether there were any."""
    found = False
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            is_worker = "multiprocessing.spawn" in " ".join(process.cmdline())  # and not Python's resource tracker
            if is_worker and process.environ().get(_STARTING) == folder:
                process.kill()
                found = True
    return found


def _end_workers(client: Client) -> None:
    with client.cluster, client:
        pass


def connect(
    workers: int | None, cluster: Client | str | None, patience: float, verbose: bool, stack: contextlib.ExitStack
) -> Watch:
    """Use a running cluster, by its client or the address of its scheduler, or start workers on this machine."""
    stack.enter_context(dask_log(verbose))
    start_more = ""
    if cluster is None:
        client = stack.enter_context(local_client(workers, verbose=verbose))
    elif isinstance(cluster, str):
        client = stack.enter_context(_client_at(cluster))
        start_more = f" at {cluster}: start some with `dask worker {cluster}`"
    else:
        client = cluster
        if client.cluster is not None:
            start_more = ": start some with the scale method of its cluster"
    _check_threads(client)
    watch = Watch(client, patience, start_more)
    watch.until_workers()
    return watch


def _check_threads(client: Client) -> None:
    """Refuse a process that was forked after Dask had started threads, which would be waited for without an end."""
    if client.status != "running":  # which the watch tells
        return
    try:
        with contextlib.suppress(RuntimeError):  # it was closed meanwhile
            client.sync(offload, int, callback_timeout=_FOR_THREADS)
    except (TimeoutError, asyncio.TimeoutError):  # another one before Python 3.11
        raise ClusterError(
            "Dask's threads do not run in this process, as in one that was forked from another that had used Dask. "
            f'Start it by multiprocessing.get_context("spawn").Process, or by ProcessPoolExecutor with {_SPAWNED}.'
        ) from None


def _client_at(address: str) -> Client:
    expected = "expected the address that `dask scheduler` prints, such as tcp://HOST:8786"
    try:
        get_address_host_port(address)
    except ValueError:
        raise ValueError(f"{address!r} is not the address of a Dask scheduler; {expected}") from None
    connection = _connection_arguments(address)
    try:
        kind = _kind_of_server(address, connection).result()
        if kind == "Scheduler":
            return Client(address, timeout=_FOR_SCHEDULER)
    except CommClosedError:
        reason = "what answers there closes the connection"
    except (OSError, RuntimeError, asyncio.TimeoutError) as error:  # the last is an OSError since Python 3.11
        reason = str(error) or f"no answer within {_FOR_SCHEDULER} s"
    except KeyError as error:  # of a timeout that is no time
        raise misconfigured(error) from None
    except Exception:  # such as a MemoryError: Dask takes the first bytes of any program for sizes
        reason = "another program answers there"
    else:
        raise ValueError(f"{address} is a {kind.lower()} of Dask, not its scheduler; {expected}")
    raise ValueError(f"no Dask scheduler responds at {address} ({reason}); {expected}")


def _connection_arguments(address: str) -> Mapping[str, Any]:
    """Return what Dask's configuration says of connections, with the certificates that an address with TLS needs."""
    keys = "distributed.comm.tls.ca-file, distributed.comm.tls.client.cert and distributed.comm.tls.client.key"
    try:
        arguments: Mapping[str, Any] = Security().get_connection_args("client")
    except OSError as error:
        raise ValueError(f"a certificate cannot be loaded ({error}). Check {keys} in Dask's configuration.") from None
    if address.startswith("tls://") and arguments["ssl_context"] is None:
        raise ValueError(
            f"{address} is an address with TLS, but there are no certificates. Set {keys} in Dask's configuration."
        )
    return arguments


def _kind_of_server(address: str, connection: Mapping[str, Any]) -> Future[str]:
    """Ask a server of Dask what it is, in a thread: there, no event loop runs, and Ctrl-C does not wait for it."""
    kind: Future[str] = Future()

    def ask() -> None:
        try:
            kind.set_result(str(asyncio.run(_identity(address, connection))["type"]))
        except BaseException as error:
            kind.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return kind


async def _identity(address: str, connection: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a server of Dask says it is; any other server does not answer, or not in Dask's protocol."""
    async with rpc(address, timeout=_FOR_SCHEDULER, connection_args=connection) as server:
        answer: Mapping[str, Any] = await asyncio.wait_for(server.identity(), _FOR_SCHEDULER)
    return answer


class _Silence:
    """Hides Dask's log while any run of this process asks for it: runs in several threads share its loggers."""

    def __init__(self) -> None:
        self._lock, self._runs = threading.Lock(), 0
        self._levels: dict[logging.Logger, int] = {}

    def __enter__(self) -> None:
        with self._lock:
            self._runs += 1
            if self._runs == 1:
                names = (name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGGERS)
                self._levels = {logger: logger.level for logger in map(logging.getLogger, names)}
                for logger in self._levels:
                    logger.setLevel(_SILENT)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._runs -= 1
            if not self._runs:
                for logger, level in self._levels.items():
                    logger.setLevel(level)


_LOGGERS = "distributed", "tornado"
_silence = _Silence()
# Dask's advice on a machine that is busy, which it does not log but warns of, in workers, too.
_ADVICE = "Creating scratch directories is taking"
warnings.filterwarnings("ignore", _ADVICE, UserWarning)


def dask_log(verbose: bool) -> contextlib.AbstractContextManager[None]:
    """Keep Dask's log off the screen, unless it is asked for: what users need to know is in our errors."""
    return contextlib.nullcontext() if verbose else _silence
