"""Set-up shared by all tests: caches in a folder of their own, and no network."""

import http.server
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

# Before evaluate is imported: it reads these once.
_HOME = tempfile.TemporaryDirectory(prefix="anls-tests-")
os.environ.update(HF_HOME=_HOME.name, HF_HUB_OFFLINE="1", HF_UPDATE_DOWNLOAD_COUNTS="FALSE")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# No test depends on how fast the machine is.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def metric_path() -> str:
    """The file that `evaluate.load` is given."""
    return str(ROOT / "anls.py")


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
