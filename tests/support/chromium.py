"""The Chromium of the browser tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

NO_CHROMIUM = (
    "the browser tests need Chromium: install the package chromium of your system, or run "
    "`.venv/bin/python -m playwright install chromium`"
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium(playwright: Playwright) -> str:
    """A Chromium on the path, or Playwright's; without one the test is skipped, or fails where CI is set."""
    for path in (*map(shutil.which, _NAMES), playwright.chromium.executable_path):
        if path is not None and Path(path).exists():
            return path
    if os.environ.get("CI"):
        pytest.fail(NO_CHROMIUM)
    pytest.skip(NO_CHROMIUM)
