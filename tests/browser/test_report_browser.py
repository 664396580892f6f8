"""The report in a real browser: it asks for nothing, shows every figure, and searches and sorts."""

import datetime
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docvqa_runs
import pytest
from browser_checks import LEAST_CONTRAST
from places import DATA, ROOT
from playwright.sync_api import Browser, Page
from report_systems import docvqa, of_pairs, of_rows

from anls_eval.report import write_report

SHOTS = ROOT / "build" / "report"
DATE = datetime.date(2026, 3, 7)
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "</script><script>window.pwned = 1</script>",
    "'\"><svg onload='window.pwned = 1'>",
    "<a href='https://example.com'>x</a><link rel=stylesheet href='https://example.com/x.css'>",
]
ALL_FIGURES = [
    "figure-wins",
    "figure-shares",
    "figure-histogram",
    "figure-losses",
    "figure-breakdown-1",
    "figure-confusions",
    "figure-threshold",
    "figure-protocols",
    "figure-reliability",
    "figure-risk",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four reports: of one system, of two, of trees and of hostile texts."""
    folder = tmp_path_factory.mktemp("reports")
    gold = json.loads((docvqa_runs.FOLDER / "references.json").read_text(encoding="utf-8"))["data"]
    references: list[dict[str, Any]] = [
        {
            "id": row["questionId"],
            "answers": row["answers"],
            "length": "short" if len(row["answers"][0]) < 9 else "long",
        }
        for row in gold
    ]
    texts = docvqa_runs.predictions("qwen2_vl_7b_instruct")
    predictions: list[dict[str, Any]] = [
        {"id": row["id"], "prediction": text, "sure": round((number % 97) / 96, 3)}
        for number, (row, text) in enumerate(zip(references, texts, strict=True))
    ]
    one = of_rows(folder, predictions, references, by=("length",), confidence="sure", name="qwen2_vl_7b_instruct")
    write_report(folder / "one.html", one, date=DATE)
    write_report(folder / "two.html", one, docvqa("llama_nemotron"), date=DATE)
    lines = (DATA / "documents" / "invoices.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [(row["pred"], row["gold"]) for row in map(json.loads, lines)]
    trees = of_pairs(folder, pairs, protocol="anls_star", name="invoices")
    write_report(folder / "trees.html", trees, date=DATE)
    hostile = of_rows(
        folder,
        [{"id": text, "prediction": text} for text in HOSTILE],
        [{"id": text, "answers": [f"{text}!", "x"], HOSTILE[0]: HOSTILE[1]} for text in HOSTILE],
        by=(HOSTILE[0],),
        name=HOSTILE[2],
    )
    write_report(folder / "hostile.html", hostile, hostile, date=DATE)
    return folder


class Opened:
    """A report in a page of its own, with what the page said and asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        self.refused: list[tuple[str, str | None]] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("requestfailed", lambda request: self.refused.append((request.url, request.failure)))
        page.goto(path.as_uri())

    def shown_rows(self) -> list[str]:
        rows = self.page.locator("#question-table tbody tr:visible")
        return rows.locator("th").all_inner_texts()


@pytest.fixture
def pages(browser: Browser) -> Iterator[list[Page]]:
    pages: list[Page] = []
    yield pages
    for page in pages:
        page.context.close()


def open_report(browser: Browser, pages: list[Page], path: Path, **options: Any) -> Opened:
    page = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options)).new_page()
    pages.append(page)
    return Opened(page, path)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one", [figure for figure in ALL_FIGURES if figure != "figure-wins"]),
        ("two", ALL_FIGURES),
        ("trees", ["figure-shares", "figure-histogram", "figure-keys"]),
        ("hostile", ["figure-shares", "figure-losses", "figure-threshold", "figure-protocols"]),
    ],
)
def test_opens_offline_with_every_figure(
    browser: Browser, pages: list[Page], folder: Path, name: str, expected: list[str]
) -> None:
    path = folder / f"{name}.html"
    opened = open_report(browser, pages, path, offline=True)
    for figure in expected:
        box = opened.page.locator(f"#{figure}").bounding_box()
        assert box is not None, figure
        assert box["width"] > 200, figure
        assert box["height"] > 20, figure
    assert opened.said == []
    assert opened.asked == [path.as_uri()]
    assert opened.page.evaluate("performance.getEntriesByType('resource').length") == 0


LOOKS = list(itertools.product(["one", "two", "trees"], ["light", "dark"], [1280, 390]))
SOME_LOOKS = [("one", "light", 390), ("two", "dark", 1280), ("trees", "dark", 390)]


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [look if look in SOME_LOOKS else pytest.param(*look, marks=pytest.mark.long) for look in LOOKS],
)
def test_can_be_read_in_both_schemes_and_on_a_phone(
    browser: Browser, pages: list[Page], folder: Path, name: str, scheme: str, width: int
) -> None:
    opened = open_report(
        browser, pages, folder / f"{name}.html", color_scheme=scheme, viewport={"width": width, "height": 844}
    )
    contrast, text = opened.page.evaluate(LEAST_CONTRAST, ".page")
    assert contrast >= 4.5, text
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    too_small = opened.page.evaluate(
        """() => Array.from(document.querySelectorAll(".chart text"), (text) => text.getBoundingClientRect())
            .filter((box) => box.width && box.height < 10).length"""
    )
    assert too_small == 0
    SHOTS.mkdir(parents=True, exist_ok=True)
    opened.page.screenshot(path=SHOTS / f"{name}-{scheme}-{width}.png", full_page=True)
    assert opened.said == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("audit", ["second", "--out"]),
        ("leaderboard", ["second", "--out"]),
        ("automate", ["--confidence", "confidence", "--max-error", "0.2", "--report"]),
    ],
)
def test_a_page_without_parts_uses_its_width(
    browser: Browser,
    pages: list[Page],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Any,
    name: str,
    arguments: list[str],
) -> None:
    """The pages of other commands have the style of reports, but nothing beside the text."""
    monkeypatch.chdir(tmp_path)
    for system, wrong in ("first", 0), ("second", 2):
        texts = (f"answer {row}" if row % 7 > wrong else "other" for row in range(300))
        rows = ({"id": row, "prediction": text, "confidence": row % 7 / 7} for row, text in enumerate(texts))
        Path(system).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    gold = ({"id": row, "answers": [f"answer {row}"]} for row in range(300))
    Path("gold").write_text("".join(f"{json.dumps(row)}\n" for row in gold))
    ran = run(name, "first", "-r", "gold", *arguments, "page.html")
    assert ran.status == 0, ran.err
    for width, scheme, least in (1400, "light", 800), (390, "dark", 350):
        viewport = {"width": width, "height": 844}
        opened = open_report(browser, pages, tmp_path / "page.html", color_scheme=scheme, viewport=viewport)
        widths = opened.page.evaluate("Array.from(document.querySelectorAll('main > *'), (own) => own.offsetWidth)")
        assert min(widths) >= least
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        contrast, text = opened.page.evaluate(LEAST_CONTRAST, ".page")
        assert contrast >= 4.5, text
        assert opened.said == []


def test_search_filters_the_questions(browser: Browser, pages: list[Page], folder: Path) -> None:
    opened = open_report(browser, pages, folder / "one.html")
    page = opened.page
    assert len(opened.shown_rows()) == 1_000
    page.get_by_label("Search").fill("SAN  diego")
    found = opened.shown_rows()
    texts = page.locator("#question-table tbody tr:visible").all_inner_texts()
    assert 0 < len(found) < 20
    assert all("san" in text.lower() and "diego" in text.lower() for text in texts)
    assert page.locator("#question-count").inner_text() == f"{len(found)} of 1,000 shown"
    page.get_by_label("Search").fill("")
    page.get_by_label("Class").select_option("misread")
    assert len(opened.shown_rows()) == 30
    page.get_by_label("Search").fill("no such text")
    assert opened.shown_rows() == []


def test_columns_are_sorted_with_the_keyboard(browser: Browser, pages: list[Page], folder: Path) -> None:
    opened = open_report(browser, pages, folder / "two.html")
    page = opened.page
    page.get_by_role("button", name="score", exact=True).focus()
    page.keyboard.press("Enter")
    scores = page.locator("#question-table tbody td:nth-child(2)").all_inner_texts()
    assert scores == sorted(scores)
    page.keyboard.press("Enter")
    assert page.locator("#question-table tbody td:nth-child(2)").all_inner_texts() == sorted(scores, reverse=True)
    assert page.locator("#question-table th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="question", exact=True).click()
    ids = [int(text) for text in opened.shown_rows()]
    assert ids == sorted(ids)
    assert page.locator("#question-table th[aria-sort]").count() == 1


def test_links_lead_to_their_sections(browser: Browser, pages: list[Page], folder: Path) -> None:
    opened = open_report(browser, pages, folder / "two.html", reduced_motion="reduce")
    links = opened.page.locator("nav a")
    assert links.count() == 12
    for number in range(links.count()):
        links.nth(number).click()
        target = opened.page.locator(":target")
        assert target.count() == 1
    page_url = re.sub("#.*", "", opened.page.url)
    assert page_url == (folder / "two.html").as_uri()


def test_works_without_javascript(browser: Browser, pages: list[Page], folder: Path) -> None:
    opened = open_report(browser, pages, folder / "two.html", java_script_enabled=False)
    assert len(opened.shown_rows()) == 1_000
    assert not opened.page.locator("#question-tools").is_visible()
    assert opened.page.locator("#figure-threshold").is_visible()


def test_prints_without_what_paper_cannot_do(browser: Browser, pages: list[Page], folder: Path) -> None:
    opened = open_report(
        browser, pages, folder / "two.html", color_scheme="dark", viewport={"width": 720, "height": 1000}
    )
    opened.page.emulate_media(media="print", color_scheme="dark")
    assert not opened.page.locator("nav").is_visible()
    assert not opened.page.locator("#question-table").is_visible()
    assert opened.page.get_by_text("The table is available in the file but not in print.").is_visible()
    contrast, text = opened.page.evaluate(LEAST_CONTRAST, ".page")
    assert contrast >= 4.5, text
    opened.page.screenshot(path=SHOTS / "two-print.png", full_page=True)
    sheets = opened.page.pdf(path=SHOTS / "two.pdf", format="A4")
    assert sheets.startswith(b"%PDF")
    assert 5 < len(re.findall(rb"/Type\s*/Page\b", sheets)) < 30


def test_hostile_text_stays_text(browser: Browser, pages: list[Page], folder: Path) -> None:
    opened = open_report(browser, pages, folder / "hostile.html")
    page = opened.page
    page.get_by_label("Search").fill("<script>")
    page.get_by_role("button", name="prediction", exact=True).click()
    assert page.evaluate("window.pwned") is None
    assert page.locator("script").count() == 1
    assert page.locator("img, main link, main a").count() == 0
    assert set(opened.shown_rows()) == {HOSTILE[0], HOSTILE[2]}
    assert HOSTILE[2] in page.locator("h1").inner_text()
    assert opened.said == []
    assert opened.asked == [(folder / "hostile.html").as_uri()]


def test_policy_refuses_what_is_not_ours(browser: Browser, pages: list[Page], folder: Path) -> None:
    path = folder / "changed.html"
    document = (folder / "trees.html").read_text(encoding="utf-8")
    path.write_text(
        document.replace("</main>", "<script>window.pwned = 1</script><img src='https://example.com/x'></main>"),
        encoding="utf-8",
    )
    opened = open_report(browser, pages, path)
    assert opened.page.evaluate("window.pwned") is None
    assert opened.refused == [("https://example.com/x", "csp")]
    assert len([text for text in opened.said if "Content Security Policy" in text]) == 2
