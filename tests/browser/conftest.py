"""One real Chromium for all tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    """Two systems and references, of six questions in two groups."""
    gold = [{"id": row, "answer": f"answer {row}", "kind": "even" if row % 2 else "odd"} for row in range(6)]
    rows: dict[str, list[dict[str, Any]]] = {
        "first": [{"id": row, "prediction": f"answer {row}"} for row in range(6)],
        "second": [{"id": row, "prediction": f"answer {row}" if row else "else"} for row in range(6)],
        "gold": gold,
    }
    paths = []
    for name, own in rows.items():
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(f"{json.dumps(row)}\n" for row in own))
    return paths
