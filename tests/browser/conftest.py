"""One real Chromium for all tests."""

from collections.abc import Iterator

import pytest
from chromium import find_chromium
from playwright.sync_api import Browser, sync_playwright
from space_page import Opened, open_app

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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(playwright), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, url: str) -> Iterator[Opened]:
    """The web app in a new page."""
    yield from open_app(browser, url)
