"""A real Chromium, from the system: the package `chromium` of Debian."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from space_page import Opened, open_app
from space_server import serve

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def _chromium() -> str:
    found = shutil.which("chromium")
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(command, check=True, capture_output=True)
        found = shutil.which("chromium")
    if found is None:
        raise FileNotFoundError("the browser tests need Chromium: install the package chromium of Debian or Ubuntu")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the web app, one for all tests."""
    with serve(tmp_path_factory.mktemp("app")) as address:
        yield address


@pytest.fixture
def opened(browser: Browser, url: str) -> Iterator[Opened]:
    """The web app in a new page."""
    yield from open_app(browser, url)
