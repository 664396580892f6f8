"""Processes of a cluster that die, freeze or differ: the right score, or words and an end within the stated time."""

import contextlib
import http.server
import itertools
import json
import logging
import os
import re
import shutil
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from dask.distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker
from places import ROOT

from anls_eval.cluster import workers as workers_module
from anls_eval.cluster.engine import Engine
from anls_eval.cluster.errors import ClusterError
from anls_eval.cluster.run import score_dataset
from anls_eval.cluster.watch import Watch
from anls_eval.files import open_predictions, open_references
from anls_eval.submission.score import SubmissionScore, score_submission
from anls_eval.version import __version__
from benchmarks.generate import write_dataset

ROWS, FILES = 6_000, 6
PATIENCE = 3

# What workers load: each says that it has begun a part, and goes on when it may.
HOLD = """
import os, time
from pathlib import Path
from anls_eval.cluster.parts import FilePart

def held(part, job, sides=FilePart.sides):  # Dask loads this twice
    (Path({folder!r}) / f"begun-{{os.getpid()}}").touch()
    while not (Path({folder!r}) / "go").exists():
        time.sleep(0.02)
    return sides(part, job)

FilePart.sides = held
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_dataset(folder, ROWS, FILES)
    return folder


@pytest.fixture(scope="module")
def expected(data: Path) -> SubmissionScore:
    sides = open_predictions(data / "predictions"), open_references(data / "references")
    return score_submission(*sides)


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, condition
        time.sleep(0.02)


def of_session(number: int) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(process.pid) == number:
                yield process


def split(told: list[str], lines: int) -> tuple[list[str], list[str]]:
    """Return the notes and the error, of so many lines, that a command ended with: nothing else may be told."""
    notes, error = told[:-lines], told[-lines:]
    assert all(line.startswith("note: ") for line in notes)
    return notes, error


class Run:
    """The command line in a process of its own."""

    def __init__(
        self,
        data: Path,
        *options: str,
        program: Sequence[str] = ("-m", "anls_eval"),
        folder: str = str(ROOT),
        **environment: str,
    ) -> None:
        sides = [str(data / "predictions"), "-r", str(data / "references")]
        self.process = subprocess.Popen(
            [sys.executable, *program, "score", *sides, "--json", *options],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches all processes of a terminal
        )

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait in the middle of the run."""
        wait_until(lambda: condition() or self.process.poll() is not None)
        assert self.process.poll() is None, self.wait()

    def wait(self) -> tuple[int, str, list[str]]:
        """Return the status, what was printed, and the lines of stderr; check that nothing is left running."""
        printed, told = self.process.communicate(timeout=120)
        _, left = psutil.wait_procs(list(of_session(self.process.pid)), timeout=10)
        assert not left
        return self.process.returncode, printed, told.splitlines()

    def end(self) -> None:
        """End the process if a test failed before."""
        self.process.kill()
        self.process.communicate()


class Cluster:
    """A scheduler and workers as somebody else starts them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "hold.py").write_text(HOLD.format(folder=str(folder)), encoding="utf-8")
        self.held = {"DASK_DISTRIBUTED__WORKER__PRELOAD": repr([str(folder / "hold.py")])}
        self.processes: list[psutil.Popen] = []
        self.runs: list[Run] = []
        self.addresses: list[str] = []  # of the workers
        contact = folder / "scheduler.json"
        self.scheduler = self.start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(contact))
        wait_until(lambda: contact.exists() and contact.read_text())
        self.address = json.loads(contact.read_text())["address"]

    def start(self, *arguments: str, before: Sequence[str] = (), **environment: str) -> psutil.Popen:
        command = [*before, sys.executable, "-m", "dask", *arguments]
        with (self.folder / "log.txt").open("a") as log:
            process = psutil.Popen(command, cwd=self.folder, stdout=log, stderr=log, env={**os.environ, **environment})
        self.processes.append(process)
        return process

    def worker(self, *options: str, before: Sequence[str] = (), **environment: str) -> psutil.Popen:
        """Start a worker and wait until the scheduler knows it; without a nanny, its process is the one returned."""
        nanny = [] if "--nanny" in options else ["--no-nanny"]
        environment = self.held | environment
        common = ("--nthreads", "1", "--no-dashboard")
        with Client(self.address, set_as_default=False) as client:
            process = self.start("worker", self.address, *common, *nanny, *options, before=before, **environment)
            client.wait_for_workers(len(self.addresses) + 1, timeout=120)
            self.addresses += set(client.ncores()) - set(self.addresses)
        return process

    def begun(self) -> set[int]:
        """The workers that have begun a part."""
        return {int(path.name.partition("-")[2]) for path in self.folder.glob("begun-*")}

    def go(self) -> None:
        """Let the workers go on."""
        (self.folder / "go").touch()

    def run(self, data: Path, out: Path, *options: str) -> Run:
        """Start a run on this cluster."""
        asked = ["--scheduler", self.address, "--out", str(out), "--patience", str(PATIENCE), "--quiet"]
        self.runs.append(Run(data, *asked, *options))
        return self.runs[-1]

    def end(self) -> None:
        for run in self.runs:
            run.end()
        for process in self.processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                for own in [process, *process.children(recursive=True)]:
                    own.kill()
        psutil.wait_procs(self.processes)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    own = Cluster(tmp_path / "cluster")
    yield own
    own.end()


def test_all_workers_are_killed(cluster: Cluster, data: Path, tmp_path: Path) -> None:
    workers = [cluster.worker() for _ in range(2)]
    run = cluster.run(data, tmp_path / "out")
    run.wait_until(lambda: len(cluster.begun()) == 2)
    for worker in workers:
        worker.kill()
    status, printed, told = run.wait()
    notes, error = split(told, 2)
    assert (status, printed) == (2, "")
    assert f"note: there are no workers: waiting {PATIENCE} s for one" in notes
    kept = f"0 parts are finished in {tmp_path / 'out'}."
    assert error == [
        f"error: no workers for {PATIENCE} s at {cluster.address}: start some with `dask worker {cluster.address}`.",
        f"{kept} To wait longer, pass --patience {10 * PATIENCE}. To continue, pass --resume.",
    ]


@pytest.mark.long
@pytest.mark.parametrize("nanny", [False, True])
def test_a_frozen_worker(nanny: bool, cluster: Cluster, data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
    for _ in range(2):
        cluster.worker(*(["--nanny"] if nanny else []))
    run = cluster.run(data, tmp_path / "out")
    run.wait_until(lambda: len(cluster.begun()) == 2)
    os.kill(min(cluster.begun()), signal.SIGSTOP)
    cluster.go()
    check_replaced(run, expected)


@pytest.mark.long
def test_a_frozen_worker_on_this_machine(
    cluster: Cluster, data: Path, expected: SubmissionScore, tmp_path: Path
) -> None:
    run = Run(data, "--workers", "2", "--patience", str(PATIENCE), "--quiet", **cluster.held)
    run.wait_until(lambda: len(cluster.begun()) == 2)
    os.kill(min(cluster.begun()), signal.SIGSTOP)
    cluster.go()
    check_replaced(run, expected)


def check_replaced(run: Run, expected: SubmissionScore) -> None:
    """Another worker did the work of the silent one, and a note said so before."""
    status, printed, told = run.wait()
    assert status == 0, told
    assert json.loads(printed)[expected.metric] == expected.score
    notes, _ = split(told, 1)
    first, second = (f"note: no sign of life for {times * PATIENCE} s from tcp://" for times in (1, 4))
    assert any(
        note.startswith(first) and note.endswith(f"after {4 * PATIENCE} s, others do the work") for note in notes
    )
    assert any(note.startswith(second) and note.endswith(": others do the work") for note in notes)


@pytest.mark.parametrize(("error", "is_ended"), [(MemoryError("to send"), True), (ValueError("another"), False)])
def test_a_worker_without_memory_for_its_messages(error: Exception, is_ended: bool) -> None:
    """Dask only logs that; what the worker could not send would be awaited for ever."""

    def log() -> int:
        logging.getLogger("distributed.protocol.core").critical("Failed to Serialize", exc_info=error)
        return os.getpid()

    with workers_module.local_client(1) as client:
        task = client.submit(log)
        if is_ended:
            with pytest.raises(KilledWorker):
                task.result()
        else:
            assert task.result() != os.getpid()


@pytest.mark.long
def test_a_frozen_scheduler(cluster: Cluster, data: Path, tmp_path: Path) -> None:
    cluster.worker()
    run = cluster.run(data, tmp_path / "out")
    run.wait_until(cluster.begun)
    cluster.scheduler.suspend()
    status, printed, told = run.wait()
    notes, error = split(told, 2)
    assert (status, printed) == (2, "")
    assert f"note: the scheduler has not answered for {PATIENCE} s; after {4 * PATIENCE} s, the run ends" in notes
    assert error == [
        f"error: the scheduler has not answered for {4 * PATIENCE} s.",
        f"0 parts are finished in {tmp_path / 'out'}. To continue, pass --resume.",
    ]


def test_a_scheduler_that_is_killed_before_workers_are_asked(cluster: Cluster) -> None:
    """Dask tries for a while to connect again, which nobody waits for."""
    cluster.worker()
    with Client(cluster.address) as client:
        watch = Watch(client, 30, "")
        watch.until_workers()
        cluster.scheduler.kill()
        while client.status != "connecting":
            time.sleep(0.01)
        with pytest.raises(ClusterError, match="the connection to the scheduler was lost"):
            watch.on_workers(os.getpid)
        with pytest.raises(ClusterError, match="the connection to the scheduler was lost"):
            watch.until(lambda: False)
        assert client.status == "connecting"


def test_a_client_that_was_closed_with_its_cluster(data: Path) -> None:
    """Its event loop is closed, too."""
    with Client(n_workers=1, processes=False, dashboard_address="127.0.0.1:0", set_as_default=False) as client:
        pass
    with pytest.raises(ValueError, match=r"^client is closed; expected one that is connected to its cluster$"):
        score_dataset(data / "predictions", data / "references", client=client)


def test_a_client_that_begins_to_close() -> None:
    """Dask refuses to ask anything from then on, in words of its own."""
    with Client(n_workers=1, processes=False, dashboard_address="127.0.0.1:0", set_as_default=False) as client:
        watch = Watch(client, 30, "")
        watch.until_workers()
        client.sync(client.rpc.close)
        for ask in (lambda: watch.on_workers(os.getpid), lambda: watch.until(lambda: False)):
            with pytest.raises(ClusterError, match="the connection to the scheduler was lost"):
                ask()


def test_a_killed_scheduler(cluster: Cluster, data: Path, tmp_path: Path) -> None:
    cluster.worker()
    run = cluster.run(data, tmp_path / "out")
    run.wait_until(cluster.begun)
    cluster.scheduler.kill()
    status, printed, told = run.wait()
    assert (status, printed) == (2, "")
    assert split(told, 2)[1] == [
        "error: the connection to the scheduler was lost.",
        f"0 parts are finished in {tmp_path / 'out'}. To continue, pass --resume.",
    ]


@pytest.mark.long
def test_a_long_part_is_told(cluster: Cluster, data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
    cluster.worker()
    run = cluster.run(data, tmp_path / "out")
    assert run.process.stderr
    while run.process.stderr.readline() != f"note: nothing has been finished for {PATIENCE} s; 1 worker responds\n":
        assert run.process.poll() is None
    cluster.go()
    status, printed, _ = run.wait()
    assert (status, json.loads(printed)[expected.metric]) == (0, expected.score)


def code_in(folder: Path, **changes: str) -> str:
    """Copy the package into a folder and change what is in some of its modules; return the folder."""
    shutil.copytree(ROOT / "anls_eval", folder / "anls_eval", ignore=shutil.ignore_patterns("__pycache__"))
    for name, code in changes.items():
        with (folder / "anls_eval" / f"{name}.py").open("a") as module:
            module.write(code)
    return str(folder)


# What Python loads first: a machine without the package.
WITHOUT = """
import sys

class Without:
    def find_spec(self, name, *_):
        if name == "anls_eval":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": "__version__ = '0.0.7'\n"}, f"has anls_eval 0.0.7, but the run was started by {__version__}."),
        ({"notes": "# another line\n"}, f"though its version is {__version__}, too."),
        (None, "has no anls_eval."),
    ],
    ids=["another version", "other code", "no package"],
)
def test_a_worker_with_other_code(
    changes: dict[str, str] | None, told: str, cluster: Cluster, data: Path, tmp_path: Path
) -> None:
    cluster.worker()
    other = tmp_path / "other"
    other.mkdir()
    if changes is None:
        (other / "sitecustomize.py").write_text(WITHOUT, encoding="utf-8")
        path = os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")])
    else:
        path = code_in(other, **changes)
    cluster.worker(PYTHONPATH=path, DASK_DISTRIBUTED__WORKER__PRELOAD="[]")
    status, printed, lines = cluster.run(data, tmp_path / "out", "--skip-bad").wait()
    first, second, _ = split(lines, 3)[1]
    assert (status, printed, first) == (2, "", "error: not all workers can take part:")
    assert second.startswith(f"  worker {cluster.addresses[1]} has ")
    assert told in second


@pytest.mark.long
def test_a_scheduler_without_the_package(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT, encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
        cluster = Cluster(tmp_path)
    try:
        cluster.worker()
        status, printed, told = cluster.run(data, tmp_path / "out").wait()
    finally:
        cluster.end()
    assert (status, printed) == (2, "")
    assert split(told, 2)[1][0].startswith("error: the scheduler has no anls_eval. Install the same version")


@pytest.mark.long
def test_a_worker_that_joins_later_with_other_code(cluster: Cluster, data: Path, tmp_path: Path) -> None:
    cluster.worker()
    run = cluster.run(data, tmp_path / "out")
    run.wait_until(cluster.begun)
    cluster.worker(PYTHONPATH=code_in(tmp_path / "other", notes="# another line\n"))
    status, printed, told = run.wait()
    assert (status, printed) == (2, "")
    first, second = split(told, 2)[1]
    assert first.startswith(f"error: worker {cluster.addresses[1]} has other code in {tmp_path / 'other'}")
    assert second == f"0 parts are finished in {tmp_path / 'out'}. To continue, pass --resume."


@pytest.mark.long
def test_a_worker_that_joins_later_without_the_package(
    cluster: Cluster, data: Path, expected: SubmissionScore, tmp_path: Path
) -> None:
    """It ends as it reads its first task, which another worker does."""
    cluster.worker()
    run = cluster.run(data, tmp_path / "out")
    run.wait_until(cluster.begun)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text(WITHOUT, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "other"), os.environ.get("PYTHONPATH", "")])
    late = cluster.start("worker", cluster.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", PYTHONPATH=path)
    run.wait_until(lambda: late.poll() is not None)
    assert "No module named 'anls_eval'" in (cluster.folder / "log.txt").read_text()
    cluster.go()
    status, printed, _ = run.wait()
    assert (status, json.loads(printed)[expected.metric]) == (0, expected.score)


@pytest.mark.long
@pytest.mark.parametrize("shared", ["out", "data"])
def test_a_worker_that_does_not_see_a_shared_folder(shared: str, cluster: Cluster, data: Path, tmp_path: Path) -> None:
    """Its own mount table shows it an empty folder there, as another machine would."""
    places = {"out": tmp_path / "out", "data": shutil.copytree(data, tmp_path / "data")}
    places["out"].mkdir()
    (tmp_path / "empty").mkdir()
    without = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'mount --bind {tmp_path / "empty"} {places[shared]} && exec "$@"',
        "sh",
    ]
    if subprocess.run([*without, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no file system can be mounted here")
    cluster.worker()
    cluster.worker(before=without)
    status, printed, told = cluster.run(places["data"], places["out"], "--skip-bad").wait()
    first, second, third = split(told, 3)[1]
    assert (status, printed, first) == (2, "", "error: not all workers can take part:")
    assert second.startswith(f"  worker {cluster.addresses[1]} does not see {places[shared]}/")
    assert second.endswith("Every worker must see the files and the folder of the results under the same path.")
    assert third == f"0 parts are finished in {places['out']}. To continue, pass --resume."
    assert not list((places["out"] / "_work").iterdir())


@contextlib.contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[str]:
    """Answer at the address that this yields."""
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def http_server() -> contextlib.AbstractContextManager[str]:
    return serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler))


def closed_port() -> contextlib.AbstractContextManager[str]:
    """A tunnel with nothing at its other end."""
    return serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler))


@contextlib.contextmanager
def silent_port() -> Iterator[str]:
    """A program that is stopped: the system takes connections for it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (http_server, ""),
        (closed_port, r"\(what answers there closes the connection\)"),
        pytest.param(silent_port, r"\(.*2 s.*\)", marks=pytest.mark.long),
    ],
)
def test_an_address_of_another_server(
    server: Callable[[], contextlib.AbstractContextManager[str]],
    reason: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers_module, "_FOR_SCHEDULER", 2)
    with server() as address:
        message = f"^no Dask scheduler responds at {address} {reason}.*; expected .*tcp://HOST:8786"
        with pytest.raises(ValueError, match=message):
            score_dataset(data / "predictions", data / "references", out=tmp_path / "out", client=address)


def test_ctrl_c_while_a_server_does_not_answer(data: Path, tmp_path: Path) -> None:
    patient = tmp_path / "patient.py"
    patient.write_text(
        "from anls_eval.__main__ import main\nfrom anls_eval.cluster import workers\n"
        "workers._FOR_SCHEDULER = 3600\nmain()\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        run = Run(data, "--scheduler", f"tcp://127.0.0.1:{server.getsockname()[1]}", program=[str(patient)])
        server.settimeout(120)
        connection, _ = server.accept()
        with connection:
            os.killpg(run.process.pid, signal.SIGINT)
            assert run.wait() == (130, "", ["interrupted"])


def greeting(said: bytes) -> contextlib.AbstractContextManager[str]:
    """A program that speaks first."""

    class Greet(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(said)
            self.request.recv(1 << 16)  # what Dask says, so that its connection is not reset

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greet)
    server.daemon_threads = True  # one whose connection stays open is not awaited
    return serving(server)


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        bytes(8),
        bytes(64),
        b"\xff" * 64,
        bytes(range(100, 164)),
        struct.pack("<QQQ", 16, 1, 1 << 62),  # one frame of 4 EB
        struct.pack("<QQ", 8, 0),  # no frames
        struct.pack("<QQQB", 17, 1, 1, 5),  # a message that is a number
    ],
    ids=[
        "SSH",
        "HTTP",
        "8 zeros",
        "64 zeros",
        "64 bytes 255",
        "bytes of any kind",
        "a frame of 4 EB",
        "no frames",
        "a number",
    ],
)
def test_an_address_of_a_program_that_speaks_first(said: bytes, data: Path, tmp_path: Path) -> None:
    message = r"^no Dask scheduler responds at tcp://.* \(another program answers there\); expected .*tcp://HOST:8786$"
    with greeting(said) as address, pytest.raises(ValueError, match=message):
        score_dataset(data / "predictions", data / "references", out=tmp_path / "out", client=address)


def close_client(client: Client) -> None:
    client.close()


def close_cluster(client: Client) -> None:
    client.cluster.close()


def restart_from_elsewhere(client: Client) -> None:
    with Client(client.cluster.scheduler_address, set_as_default=False) as other:
        other.restart(wait_for_workers=False)


@pytest.mark.parametrize("fault", [close_client, close_cluster, restart_from_elsewhere])
def test_tasks_that_are_cancelled(fault: Callable[[Client], None], data: Path, tmp_path: Path) -> None:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as own,
        Client(own, set_as_default=False) as client,
        pytest.raises(
            ChildProcessError, match=r"^(the tasks were cancelled: |the connection to the scheduler was lost)"
        ),
    ):
        score_dataset(
            data / "predictions",
            data / "references",
            out=tmp_path / "out",
            client=client,
            on_progress=lambda n: fault(client) if n else None,
        )


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_client_that_is_closed_between_tasks(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dataset(tmp_path / "data", ROWS, FILES, apart=True)
    each, calls = Engine.each, itertools.count(1)

    def closed_before(engine: Engine, *given: Any) -> Any:
        if next(calls) == number:
            client.close()
        return each(engine, *given)

    monkeypatch.setattr(Engine, "each", closed_before)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as own,
        Client(own, set_as_default=False) as client,
        pytest.raises(
            ChildProcessError, match=r"(tasks were cancelled: |was lost)(?s:.*)To continue, pass resume=True\.$"
        ),
    ):
        score_dataset(
            tmp_path / "data" / "predictions", tmp_path / "data" / "references", out=tmp_path / "out", client=client
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "^tls://127.0.0.1:1 is an address with TLS, but there are no certificates. Set distributed.comm.tls.ca-"),
        (
            {"ca-file": "none", "client.cert": "none"},
            r"^a certificate cannot be loaded \(.*No such file.*\). Check",
        ),
    ],
)
def test_an_address_with_tls_and_no_certificates(
    settings: dict[str, str], message: str, data: Path, tmp_path: Path
) -> None:
    with (
        dask.config.set({f"distributed.comm.tls.{key}": value for key, value in settings.items()}),
        pytest.raises(ValueError, match=message),
    ):
        score_dataset(data / "predictions", data / "references", out=tmp_path / "out", client="tls://127.0.0.1:1")


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("COMM__TIMEOUTS__CONNECT", "x", "KeyError: 'Invalid time unit: x. Valid units"),  # as the workers start
        ("CLIENT__HEARTBEAT", "x", "KeyError: 'Invalid time unit: x. Valid units"),  # as the client does
        ("WORKER__PRELOAD", "unknown", "ModuleNotFoundError: No module named 'unknown'"),
        ("COMM", "null", "AttributeError: 'NoneType'"),  # in a worker
        ("COMM__OFFLOAD", "x", "ValueError: Could not interpret 'x' as a byte unit"),  # as Dask is imported
    ],
)
def test_a_configuration_that_dask_cannot_use(variable: str, value: str, reason: str, data: Path) -> None:
    run = Run(data, "--workers", "1", "--quiet", **{f"DASK_DISTRIBUTED__{variable}": value})
    status, printed, told = run.wait()
    assert (status, printed, len(told)) == (2, "", 1)
    assert told[0].startswith(f"error: Dask cannot run with its configuration ({reason}")
    assert told[0].endswith("). Check the files in ~/.config/dask and the environment variables that begin with DASK_.")


def test_an_address_and_a_configuration_that_dask_cannot_use(cluster: Cluster, data: Path) -> None:
    with (
        dask.config.set({"distributed.client.heartbeat": "x"}),
        pytest.raises(ChildProcessError, match=r"^Dask cannot run with its configuration \(KeyError: .*unit: x"),
    ):
        score_dataset(data / "predictions", data / "references", client=cluster.address)


@pytest.mark.long
def test_an_address_of_a_worker(cluster: Cluster, data: Path, tmp_path: Path) -> None:
    cluster.worker()
    [address] = cluster.addresses
    with pytest.raises(ValueError, match=f"^{address} is a worker of Dask, not its scheduler; expected .*tcp://HOST"):
        score_dataset(data / "predictions", data / "references", out=tmp_path / "out", client=address)


@pytest.mark.long
def test_the_log_of_dask(cluster: Cluster, data: Path, tmp_path: Path) -> None:
    cluster.worker()
    run = cluster.run(data, tmp_path / "out", "--verbose")
    run.wait_until(cluster.begun)
    cluster.scheduler.kill()
    status, _, told = run.wait()
    assert status == 2
    assert any("distributed.client - ERROR" in line for line in told)


# ---------------------------------------------------------------------------------------------------
# Workers on this machine that do not start
# ---------------------------------------------------------------------------------------------------

# What Python loads first: {how} is done as a worker starts, {times} times.
AS_IT_STARTS = """
import os, signal, sys
from pathlib import Path

folder = Path({folder!r})
if any("spawn_main" in argument for argument in sys.orig_argv) and len(list(folder.glob("start-*"))) < {times}:
    (folder / f"start-{{os.getpid()}}").touch()
    {how}
"""


def starting(data: Path, tmp_path: Path, how: str, times: int = 1000) -> Run:
    """Start a run whose workers do something as they start."""
    (tmp_path / "site").mkdir()
    code = AS_IT_STARTS.format(folder=str(tmp_path), how=how, times=times)
    (tmp_path / "site" / "sitecustomize.py").write_text(code, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    return Run(data, "--workers", "2", "--quiet", PYTHONPATH=path)


def test_a_worker_that_dies_while_it_starts(data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
    status, printed, told = starting(data, tmp_path, "os.kill(os.getpid(), signal.SIGKILL)", times=1).wait()
    assert (status, split(told, 1)[0]) == (0, [])
    assert json.loads(printed)[expected.metric] == expected.score


@pytest.mark.long
def test_workers_that_always_die_while_they_start(data: Path, tmp_path: Path) -> None:
    status, printed, told = starting(data, tmp_path, "os.kill(os.getpid(), signal.SIGKILL)").wait()
    assert (status, printed) == (2, "")
    assert told == [
        "error: the workers could not start (Nanny failed to start worker process), though it was tried 3 times. Their "
        "processes die as they start, usually for lack of memory, or because the limits of memory (ulimit -v), threads "
        "(ulimit -u) or open files (ulimit -n) are low: start fewer workers."
    ]


@pytest.mark.long
def test_a_worker_that_freezes_as_it_starts(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here with 5 s in place of 120."""
    (tmp_path / "sitecustomize.py").write_text(
        AS_IT_STARTS.format(folder=str(tmp_path), how="os.kill(os.getpid(), signal.SIGSTOP)", times=1), encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(workers_module, "_FOR_START", 5)
    with pytest.raises(ChildProcessError, match=r"^the workers could not start within 5 s\. If this machine is busy"):
        score_dataset(data / "predictions", data / "references", workers=2)
    [start] = tmp_path.glob("start-*")
    assert not psutil.pid_exists(int(start.name.partition("-")[2]))


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (
            ["--net", "sh", "-c", 'exec "$@"'],
            "error: the workers could not start: they are reached at 127.0.0.1, and this process cannot connect to it "
            "(Network is unreachable).",
        ),
        (
            ["--mount", "sh", "-c", 'mount -o ro -t tmpfs none /dev/shm && exec "$@"'],
            "error: the workers could not start: Read-only file system. On Linux, they need a writable /dev/shm.",
        ),
        (
            ["--mount", "sh", "-c", 'umount -l /proc && exec "$@"'],
            "error: Dask cannot look up this process. On Linux, /proc must be mounted.",
        ),
    ],
    ids=["network", "semaphores", "processes"],
)
def test_what_the_system_lacks(before: list[str], message: str, data: Path) -> None:
    without = ["unshare", *before, "sh"]
    if subprocess.run([*without, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no namespace can be made here")
    sides = [str(data / "predictions"), "-r", str(data / "references")]
    command = [*without, sys.executable, "-m", "anls_eval", "score", *sides, "--workers", "2", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{message}\n")


def test_no_folder_for_temporary_files(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container of which nothing but the folder of the results may be written."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    words = r"could not start: No usable temporary directory found in \[\]\. Name another folder for .* TMPDIR\."
    with pytest.raises(ChildProcessError, match=words):
        score_dataset(data / "predictions", data / "references", workers=1, out=tmp_path / "out")


def test_in_a_pool(data: Path, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        "import multiprocessing\nfrom anls_eval import score_dataset\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        f"        pool.apply(score_dataset, [{str(data / 'predictions')!r}, {str(data / 'references')!r}])\n"
    )
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (
        "the workers could not start: this process is itself one of a multiprocessing.Pool or the like" in done.stderr
    )


FORKED = """
import multiprocessing
from dask.distributed import Client
from anls_eval import score_dataset
from anls_eval.cluster import workers

def score(**how):
    print(score_dataset({predictions!r}, {references!r}, **how).submission.score, flush=True)

def score_forked(**how):
    workers._FOR_THREADS = 1
    score(**how)

if __name__ == "__main__":
    {before}
    process = multiprocessing.get_context({method!r}).Process(target=score_forked, kwargs={how})
    process.start()
    process.join()
    print(process.exitcode)
"""
FROM_A_FORK = "Dask's threads do not run in this process, as in one that was forked from another that had used Dask"


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
@pytest.mark.parametrize(
    ("before", "how", "method", "is_refused"),
    [
        ("score(workers=1)", "{'workers': 1}", "fork", True),
        ("score(workers=1)", "{'workers': 1}", "spawn", False),
        ("pass", "{'workers': 1}", "fork", False),
        pytest.param(
            "client = Client(n_workers=1, dashboard_address='127.0.0.1:0')", "{'client': client}", "fork", True
        ),
    ],
    ids=["after a run", "as advised", "before any", "with the client of the other"],
)
def test_in_a_process_that_was_forked(
    before: str, how: str, method: str, is_refused: bool, data: Path, expected: SubmissionScore, tmp_path: Path
) -> None:
    """Where Dask's threads do not exist, a run would wait for them for ever."""
    script = tmp_path / "forked.py"
    sides = {"predictions": str(data / "predictions"), "references": str(data / "references")}
    script.write_text(FORKED.format(before=before, how=how, method=method, **sides))
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    *scores, status = done.stdout.split()
    assert int(status) == is_refused
    assert (FROM_A_FORK in done.stderr) == is_refused
    assert set(map(float, scores)) <= {expected.score}
    assert len(scores) == (before == "score(workers=1)") + (not is_refused)


ONLY_ONCE = """
import os
from anls_eval import score_dataset

os.mkdir({folder!r})
if __name__ == "__main__":
    score_dataset({predictions!r}, {references!r}, workers=1)
"""
# It ends at once, or once a part is scored.
ENDED_EARLY = """
import threading
from anls_eval import score_dataset

begun = threading.Event()

def hold(n):
    begun.set()
    threading.main_thread().join()

def score():
    score_dataset({predictions!r}, {references!r}, workers=1, on_progress=hold)

if __name__ == "__main__":
    threading.Thread(target=score).start()
    {last}
"""
IMPORTED_ONCE_MORE = (
    "If a traceback shows that the script fails, each worker imports it once more: put what it does under "
    'if __name__ == "__main__":.'
)
TOO_EARLY = (
    "the script ended while one of its threads scored, and Python starts no threads after that. Wait for the thread at "
    "the end of the script (its join method)."
)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (ONLY_ONCE, IMPORTED_ONCE_MORE),
        (ENDED_EARLY.replace("{last}", "pass"), TOO_EARLY),
        (ENDED_EARLY.replace("{last}", "begun.wait()"), TOO_EARLY),
    ],
    ids=["done twice", "ended at once", "ended early"],
)
def test_scripts_that_cannot_work(script: str, told: str, data: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        script.format(
            folder=str(tmp_path / "made"), predictions=str(data / "predictions"), references=str(data / "references")
        )
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stderr.rstrip().endswith(told)


@pytest.mark.filterwarnings("ignore:there are no workers")  # which a worker that starts slowly leads to
def test_an_adaptive_cluster(data: Path, expected: SubmissionScore) -> None:
    """It has no worker before there is a task."""
    with (
        LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address="127.0.0.1:0") as own,
        Client(own, set_as_default=False) as client,
    ):
        own.adapt(minimum=0, maximum=1)
        assert score_dataset(data / "predictions", data / "references", client=client).submission == expected


def test_few_open_files(data: Path, tmp_path: Path) -> None:
    limited = tmp_path / "limited.py"
    limited.write_text(
        "import resource, runpy\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))\n"
        "if __name__ == '__main__':\n"
        "    runpy.run_module('anls_eval', run_name='__main__')\n"
    )
    run = Run(data, "--workers", "2", "--quiet", program=[str(limited)])
    status, printed, told = run.wait()
    assert (status, printed) == (2, "")
    limit = (
        "this process may open 32 files, and 2 workers need 52. Raise the limit (ulimit -n), or start fewer workers."
    )
    assert told == [f"error: the workers could not start: {limit}"]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs another user, without threads")
def test_few_threads(data: Path, tmp_path: Path) -> None:
    """A user who may read everything, as the superuser may, but to whom the limit of threads applies."""
    rights = [f"--{kind}=-all,+dac_read_search" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
    user = ["setpriv", "--reuid=64987", "--regid=65534", "--clear-groups", *rights]
    limited = ["bash", "-c", 'ulimit -u 20; exec "$@"', "bash"]
    sides = [str(data / "predictions"), "-r", str(data / "references")]
    run = subprocess.run(
        [*user, *limited, sys.executable, "-m", "anls_eval", "score", *sides, "--quiet", "--workers", "2"],
        cwd=ROOT,
        env={**os.environ, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = (
        "error: the workers could not start: 2 workers need 22 processes and threads, and fewer may be started. Raise "
        "the limit (ulimit -u or -v, or that of the container), or start fewer workers.\n"
    )
    assert (run.returncode, run.stdout, run.stderr) == (2, "", told)


# What workers load: they may open no more files as they score a part.
NO_FILES = """
import resource
from anls_eval.cluster.parts import FilePart

def without(part, job, sides=FilePart.sides):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return sides(part, job)

FilePart.sides = without
"""


@pytest.mark.long
def test_a_worker_that_runs_out_of_open_files(data: Path, tmp_path: Path) -> None:
    """It blames no file, which --skip-bad would leave out."""
    (tmp_path / "no_files.py").write_text(NO_FILES, encoding="utf-8")
    preload = {"DASK_DISTRIBUTED__WORKER__PRELOAD": repr([str(tmp_path / "no_files.py")])}
    asked = ["--workers", "1", "--skip-bad", "--quiet", "--out", str(tmp_path / "out")]
    status, printed, told = Run(data, *asked, **preload).wait()
    assert (status, printed) == (2, "")
    assert re.fullmatch(
        r"error: worker tcp://\S+: this process has too many files open\. Raise the limit \(ulimit -n\)\.", told[-2]
    )
    assert told[-1] == f"0 parts are finished in {tmp_path / 'out'}. To continue, pass --resume."


# The second run begins when the first has scored a part, and goes on when that has ended.
TWO_RUNS = """
import logging, sys, threading
import dask
from anls_eval import score_dataset

sides = sys.argv[1:]
start, begun, waiting, ended, last = (threading.Event() for _ in range(5))

def first(n):
    if n:
        begun.set()
        waiting.wait()

def second(n):
    if n:
        waiting.set()
        ended.wait()

def run(on_progress, after, ending):
    after.wait()
    score_dataset(*sides, workers=1, on_progress=on_progress)
    ending.set()

def state():
    return logging.getLogger("distributed").level, dask.config.get("distributed.worker.memory.pause")

if __name__ == "__main__":
    before = state()
    start.set()
    asked = (first, start, ended), (second, begun, last)
    threads = [threading.Thread(target=run, args=own) for own in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state() == before, state()
"""


@pytest.mark.long
def test_the_log_of_dask_in_two_threads(data: Path, tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(TWO_RUNS, encoding="utf-8")
    sides = str(data / "predictions"), str(data / "references")
    done = subprocess.run([sys.executable, script, *sides], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.long
def test_no_room_for_temporary_files(data: Path, tmp_path: Path) -> None:
    """A file system with room for the first folders only."""
    command = [shutil.which("mount") or "mount", *["-t", "tmpfs", "-o", "size=64k,nr_inodes=4", "none"], str(tmp_path)]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        status, printed, told = Run(data, "--workers", "2", "--quiet", TMPDIR=str(tmp_path)).wait()
    finally:
        subprocess.run([shutil.which("umount") or "umount", str(tmp_path)], check=True)
    assert (status, printed) == (2, "")
    [line] = told
    assert line.startswith(f"error: the workers could not start: No space left on device: {tmp_path}/")
    assert line.endswith("name another folder for temporary files by the environment variable TMPDIR.")


@pytest.mark.parametrize(("name", "at_fault"), [("file", "file/dask-scratch-space"), ("file/missing", "file/missing")])
def test_a_folder_of_dask_that_cannot_be_written_to(name: str, at_fault: str, data: Path, tmp_path: Path) -> None:
    """Which TMPDIR does not change."""
    (tmp_path / "file").touch()
    folders = {"DASK_TEMPORARY_DIRECTORY": str(tmp_path / name), "TMPDIR": str(tmp_path)}
    status, printed, told = Run(data, "--workers", "1", "--quiet", **folders).wait()
    assert (status, printed) == (2, "")
    assert told == [
        f"error: the workers could not start: Not a directory: {tmp_path}/{at_fault}. Make room there, or "
        "name another folder as temporary-directory in Dask's configuration (DASK_TEMPORARY_DIRECTORY in the "
        "environment)."
    ]


@pytest.mark.parametrize("kind", ["client", "worker", "scheduler"])
def test_what_is_preloaded_is_not_there(kind: str, data: Path, tmp_path: Path) -> None:
    """Nothing is left of the processes that had started before."""
    settings = {f"DASK_DISTRIBUTED__{kind.upper()}__PRELOAD": "no_such_module", "TMPDIR": str(tmp_path)}
    status, printed, told = Run(data, "--workers", "1", "--quiet", **settings).wait()
    assert (status, printed) == (2, "")
    assert told[-1].startswith("error: Dask cannot run with its configuration (ModuleNotFoundError: No module named")
    assert [path.name for path in tmp_path.iterdir() if path.name != "dask-scratch-space"] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no PYTHONSAFEPATH")
def test_a_file_named_like_a_module_of_python(data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
    """In the working folder, which processes that Python starts would search first."""
    (tmp_path / "here").mkdir()
    for name in ("types", "signal", "struct", "socket", "select"):
        (tmp_path / "here" / f"{name}.py").write_text("x = 1\n")
    script = tmp_path / "anls"  # as pip installs it
    script.write_text('from anls_eval.__main__ import main\nif __name__ == "__main__":\n    main()\n')
    run = Run(
        data, "--workers", "1", "--quiet", program=[str(script)], folder=str(tmp_path / "here"), PYTHONPATH=str(ROOT)
    )
    status, printed, told = run.wait()
    assert status == 0, told
    assert all(line.startswith("note: ") for line in told)
    assert json.loads(printed)[expected.metric] == expected.score


def test_ctrl_c_while_workers_start(data: Path, tmp_path: Path) -> None:
    """They hang as they start, so that this can only end if they are killed."""
    run = starting(data, tmp_path, "import time; time.sleep(1000)")
    run.wait_until(lambda: list(tmp_path.glob("start-*")))
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait() == (130, "", ["interrupted"])
    for path in tmp_path.glob("start-*"):
        assert not psutil.pid_exists(int(path.name.partition("-")[2]))
