"""Set-up shared by all tests: caches in a folder of their own, and no network."""

import os
import tempfile
from pathlib import Path

# Before evaluate is imported: it reads these once.
_HOME = tempfile.TemporaryDirectory(prefix="anls-tests-")
os.environ.update(HF_HOME=_HOME.name, HF_HUB_OFFLINE="1", HF_UPDATE_DOWNLOAD_COUNTS="FALSE")

import pytest  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def metric_path() -> str:
    """The file that `evaluate.load` is given."""
    return str(ROOT / "anls.py")
