"""Set-up shared by all tests: caches in a folder of their own, no network, and no process that is left running."""

import contextlib
import http.server
import os
import re
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before evaluate and Dask are imported: they read these once.
_HOME = tempfile.TemporaryDirectory(prefix="anls-tests-")
os.environ.update(HF_HOME=_HOME.name, HF_HUB_OFFLINE="1", HF_UPDATE_DOWNLOAD_COUNTS="FALSE")
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")  # what a test needs to know is in its errors

import psutil  # noqa: E402
import pytest  # noqa: E402
from budget import register_profiles  # noqa: E402
from chromium import NO_CHROMIUM  # noqa: E402

register_profiles()
# What a shell runs in the background ignores Ctrl-C, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by nohup
    signal.signal(signal.SIGHUP, lambda *_: None)  # which what a test starts does not inherit
ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    from schedule import FilesTogether

    config.option.loadscopereorder = False  # the app, which takes longest, is among the first
    return FilesTogether(config, log)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three processes for two processors: for a third of the time, tests wait for the processes that they start."""
    return 3 * (psutil.cpu_count(logical=config.option.numprocesses == "logical") or 1) // 2


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line that the browser tests did not run."""
    reporter: Any = config.pluginmanager.getplugin("terminalreporter")
    if reporter and any(NO_CHROMIUM in str(report.longrepr) for report in reporter.stats.get("skipped", ())):
        reporter.write_line(f"SKIPPED: {NO_CHROMIUM}")


@pytest.fixture(scope="session", autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Every test ends what it starts; Python's own helpers for new processes end with Python."""
    yield
    left = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            command = " ".join(process.cmdline())
            if process.ppid() != os.getpid() or not re.search(
                r"multiprocessing\.(resource_tracker|forkserver)", command
            ):
                left.append(command or process.name())
    assert left == []


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app."""
    from space_server import serve

    with serve(tmp_path_factory.mktemp("app")) as address:
        yield address


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command line within this process, given its arguments."""
    from in_process import run_command

    return lambda *arguments: run_command(capsys, monkeypatch, arguments)


@pytest.fixture(scope="session")
def metric_path() -> str:
    """The file that `evaluate.load` is given."""
    return str(ROOT / "anls.py")


@pytest.fixture(scope="session")
def metric_class(metric_path: str) -> Any:
    """The class whose instances `evaluate.load` gives, which looks for imports in all of the file each time."""
    import evaluate

    return type(evaluate.load(metric_path))


class _Hub(http.server.SimpleHTTPRequestHandler):
    """The Hub's addresses for the files of the Space evaluate-metric/anls, and 404 for all else."""

    prefix = "/spaces/evaluate-metric/anls/resolve/main/"

    def translate_path(self, path: str) -> str:
        return str(ROOT / path.removeprefix(self.prefix)) if path.startswith(self.prefix) else str(ROOT / "nothing")

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Keep the test output quiet."""


@pytest.fixture(scope="session")
def hub_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a fresh process whose Hub is a server on this machine, with an empty cache."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTHON"))}
        yield {
            **environment,
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HOME": str(tmp_path_factory.mktemp("hub")),
            "HF_UPDATE_DOWNLOAD_COUNTS": "FALSE",
        }
        server.shutdown()
        thread.join()


collect_ignore = ["project/typed_script.py"]  # a user's script, which test_types.py type-checks and runs
