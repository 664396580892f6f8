"""The web app as a user has it in a browser."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

expect.set_options(timeout=60_000)


@dataclasses.dataclass
class Opened:
    """The app in a page of its own, with what the page said and asked for."""

    page: Page
    said: list[str]
    asked: list[str]

    def tab(self, name: str) -> None:
        """Open a tab; on a phone it may be in the menu."""
        tab = self.page.get_by_role("tab", name=name, exact=True)
        if not tab.is_visible():
            self.page.locator(".overflow-menu > button").click()
            tab = self.page.locator(".overflow-dropdown button", has_text=name)
        tab.click()

    def upload(self, label: str, *files: Path) -> None:
        """Give files to the field of a label in the tab that is open."""
        block = self.page.locator(".block:visible", has=self.page.get_by_text(re.compile(f"^\\s*{label}")))
        block.locator("input[type=file]").set_input_files(files)


def open_app(
    browser: Browser, url: str, query: str = "", prepare: Callable[[Page], None] = lambda page: None, **options: object
) -> Iterator[Opened]:
    """Open the app in a page of its own, and check what it said and asked for afterwards."""
    given = {"viewport": {"width": 1280, "height": 900}} | options
    page = browser.new_context(**given).new_page()  # type: ignore[arg-type]
    own = Opened(page, [], [])
    page.on("console", lambda message: own.said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: own.said.append(str(error)))
    page.on("dialog", lambda dialog: own.said.append(dialog.message))
    page.on("request", lambda request: own.asked.append(request.url))
    prepare(page)
    page.goto(url + query)
    expect(page.locator("#answer-score")).to_be_attached(timeout=30_000)
    yield own
    assert page.evaluate("window.pwned") is None
    # Gradio's client says so at each upload.
    assert [text for text in own.said if text != "Method not implemented."] == []
    assert [address for address in own.asked if not address.startswith((url, "data:", "blob:"))] == []
    page.context.close()


def type_into(page: Page, label: str, text: str) -> None:
    """Put a text in place of what is in an editor."""
    editor = page.locator(".block", has=page.get_by_text(label, exact=True)).locator(".cm-content").first
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
