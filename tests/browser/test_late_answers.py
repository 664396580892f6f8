"""A result is shown only beside the inputs it belongs to, and a choice stays, in whatever order the server answers."""

import itertools
import json
import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect
from space_page import Opened, open_app, type_into

from anls_eval.app.examples import SUBMISSIONS
from anls_eval.app.results import FAILED, UPDATING, outdated
from anls_eval.files import open_predictions, open_references
from anls_eval.scoring import anls_score
from anls_eval.submission.score import score_submission


class Gate:
    """Holds back the questions of a page to the server, which are then asked in the order that a test wants."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.is_closed = False
        self.held: list[Route] = []
        self.under_way: set[Request] = set()
        page.route(re.compile("/queue/join"), self._take)
        page.on("request", lambda request: self.under_way.add(request) if "/queue/" in request.url else None)
        page.on("requestfinished", lambda request: self.under_way.discard(request))
        page.on("requestfailed", lambda request: self.under_way.discard(request))

    def _take(self, route: Route) -> None:
        if self.is_closed:
            self.held.append(route)
        else:
            route.continue_()

    def ask(self, act: Callable[[], None]) -> None:
        """Do something on the page that asks the server, and wait until it does."""
        with self.page.expect_request(re.compile("/queue/join")):
            act()

    def wait_for(self, condition: Callable[[], bool]) -> list[Route]:
        """Wait until a condition is met, but at least for two frames, and return what is held back."""
        end = time.monotonic() + 300  # only so that a broken page ends the test
        for frame in itertools.count():
            self.page.evaluate("new Promise(requestAnimationFrame)")
            if frame and condition():
                return list(self.held)
            assert time.monotonic() < end, sorted(request.url for request in self.under_way)
        raise AssertionError

    def close(self) -> None:
        self.is_closed = True

    def release(self, route: Route, body: str | None = None) -> None:
        """Ask one question, perhaps another one, and wait until all that were asked are answered."""
        self.held.remove(route)
        route.continue_(post_data=body)
        self.wait_for(lambda: self.under_way <= {held.request for held in self.held})

    def open(self) -> None:
        """Ask everything, the newest question first, and wait until all is answered."""
        self.is_closed = False
        while self.held:
            self.held.pop().continue_()
        self.wait_for(lambda: not self.under_way)


@pytest.fixture
def gate(opened: Opened) -> Gate:
    return Gate(opened.page)


def choose(page: Page, label: str, option: str | re.Pattern[str]) -> None:
    page.get_by_label(label).locator("visible=true").first.click()
    page.get_by_role("option", name=option).locator("visible=true").click()


def chosen(page: Page, label: str) -> Locator:
    return page.get_by_label(label).locator("visible=true").first


@pytest.mark.parametrize("tab", ["Answer", "Document"])
def test_an_answer_for_older_inputs(opened: Opened, gate: Gate, tab: str) -> None:
    """The question for new inputs is replaced by an older one, as if the older answer came last."""
    page = opened.page
    opened.tab(tab)
    gate.open()
    score = page.locator(f"#{tab.lower()}-score")

    def give(text: str) -> None:
        if tab == "Answer":
            page.get_by_label("Prediction").first.fill(text)
        else:
            type_into(page, "Prediction", json.dumps(text))

    if tab == "Document":
        type_into(page, "Reference", '"Coca Cola"')
        gate.open()
    gate.close()
    give("Coca Cola!")
    [older] = gate.wait_for(lambda: len(gate.held) == 1)
    gate.open()
    give("Cat")
    gate.open()
    expect(score).to_have_text("0.0000")
    gate.close()
    give("Coca Cola")
    [newer] = gate.wait_for(lambda: len(gate.held) == 1)
    body = json.loads(newer.request.post_data or "") | {"data": json.loads(older.request.post_data or "")["data"]}
    gate.release(newer, json.dumps(body))
    expect(score).to_have_text("0.0000")
    expect(page.get_by_role("status").filter(has_text=UPDATING).locator("visible=true")).to_have_count(1)


def test_an_older_answer_of_the_submission_tab(opened: Opened, gate: Gate) -> None:
    page = opened.page
    opened.tab("Submission")
    page.get_by_role("button", name="DUDE's demonstration").click()
    name = page.locator(".lead bdi").locator("visible=true")
    expect(name).to_have_text("DUDE_demo_submission_imperfect")
    gate.open()
    gate.close()
    page.get_by_role("button", name="Score", exact=True).click()
    [older] = gate.wait_for(lambda: len(gate.held) == 1)
    gate.is_closed = False
    page.get_by_role("button", name="Llama 4 Scout").click()
    expect(name).to_have_text("pred_llama_scout")
    path, gold, *_ = SUBMISSIONS["Llama 4 Scout"]
    expected = f"{score_submission(open_predictions(path), open_references(gold)).score:.4f}"
    gate.release(older)
    expect(name).to_have_text("pred_llama_scout")
    expect(page.locator("#submission-score")).to_have_text(expected)
    expect(page.locator(".outdated")).to_have_count(0)


def test_an_older_answer_of_the_compare_tab(opened: Opened, gate: Gate) -> None:
    page = opened.page
    opened.tab("Compare")
    choose(page, "Protocol", re.compile("^rrc:"))
    page.get_by_role("button", name="The two best").click()
    signature = page.locator(".signature").locator("visible=true").first
    expect(signature).to_contain_text("protocol:standard")
    gate.open()
    choose(page, "Protocol", re.compile("^rrc:"))
    gate.close()
    page.get_by_role("button", name="Compare", exact=True).click()
    [older] = gate.wait_for(lambda: len(gate.held) == 1)
    gate.is_closed = False
    page.get_by_role("button", name="The two best").click()
    gate.wait_for(lambda: gate.under_way <= {older.request})
    gate.release(older)
    expect(chosen(page, "Protocol")).to_have_value(re.compile("^standard"))
    expect(signature).to_contain_text("protocol:standard")
    expect(page.locator(".outdated")).to_have_count(0)


def test_a_late_answer_does_not_undo_a_choice_of_answer_type(opened: Opened, gate: Gate) -> None:
    page = opened.page
    page.get_by_label("Prediction").first.fill("['10 %', 'white']")
    page.get_by_label("Accepted answers").fill("['White', '10%']")
    gate.open()
    gate.close()
    choose(page, "Protocol", re.compile("^mmlongbench:"))
    while not page.get_by_label("Answer type").is_visible():  # small questions overtake large ones
        gate.wait_for(lambda: len(gate.held) > 0)
        gate.release(min(gate.held, key=lambda route: len(str(route.request.post_data))))
    choose(page, "Answer type", "List")
    gate.open()
    expect(chosen(page, "Answer type")).to_have_value("List")
    expect(page.locator("#answer-score")).to_have_text("1.0000")


def test_a_late_answer_does_not_undo_a_threshold(opened: Opened, gate: Gate) -> None:
    gate.close()
    choose(opened.page, "Protocol", re.compile("^rrc:"))
    threshold = opened.page.get_by_role("spinbutton", name="Threshold")
    threshold.fill("0.95")
    gate.open()
    expect(threshold).to_have_value("0.95")
    expect(opened.page.locator("#answer-threshold")).to_contain_text("at 0.95")


@pytest.mark.parametrize(
    ("tab", "examples"),
    [
        ("Answer", ["Cat", "The boundary"]),
        ("Document", ["From the metric card", "Python, with a tuple"]),
        ("Submission", ["DUDE's demonstration", "Llama 4 Scout"]),
        ("Compare", ["The six runs", "The two best"]),
    ],
)
def test_the_last_example_stays(opened: Opened, gate: Gate, tab: str, examples: list[str]) -> None:
    page = opened.page
    opened.tab(tab)
    gate.open()
    shown = page.get_by_role("tabpanel").locator("visible=true").first
    page.get_by_role("button", name=examples[1], exact=True).click()
    gate.open()
    expected = shown.inner_text()
    page.get_by_role("button", name=examples[0], exact=True).click()
    gate.open()
    gate.close()
    for example in examples:
        page.get_by_role("button", name=example, exact=True).click()
    gate.open()  # the newest question first
    expect(shown).to_have_text(expected, use_inner_text=True)


def test_a_result_is_marked_until_it_is_that_of_the_inputs(opened: Opened, gate: Gate) -> None:
    page = opened.page
    page.get_by_label("Prediction").first.fill("Cola")
    gate.open()
    mark = page.get_by_role("status").filter(has_text=UPDATING)
    expect(mark).to_have_count(0)
    gate.close()
    page.get_by_label("Prediction").first.fill("Coca Cola")
    expect(mark).to_be_visible()
    expect(page.locator("#answer-score")).to_have_text(f"{anls_score('Cola', ['Coca Cola']):.4f}")
    result = page.locator(".block.result", has=page.locator("#answer-score"))
    expect(result).to_have_css("opacity", "0.4")
    page.get_by_label("Prediction").first.fill("Cola")
    expect(mark).to_have_count(0)  # without an answer: the result belongs to these inputs
    page.get_by_label("Prediction").first.fill("Coca Cola")
    gate.open()
    expect(mark).to_have_count(0)
    expect(page.locator("#answer-score")).to_have_text("1.0000")


@pytest.mark.parametrize(
    ("tab", "example", "button", "result"),
    [
        ("Submission", "DUDE's demonstration", "Score", "#submission-score"),
        ("Compare", "The two best", "Compare", "#ranking-table"),
    ],
)
def test_a_result_for_other_settings_is_marked(
    opened: Opened, gate: Gate, tab: str, example: str, button: str, result: str
) -> None:
    page = opened.page
    opened.tab(tab)
    page.get_by_role("button", name=example).click()
    expect(page.locator(result)).to_be_visible()
    gate.open()
    mark = page.get_by_text(outdated(button)).locator("visible=true").first
    expect(mark).to_have_count(0)
    protocol = chosen(page, "Protocol").input_value()
    choose(page, "Protocol", re.compile("^stvqa:"))
    expect(mark).to_be_visible()
    choose(page, "Protocol", protocol)
    expect(mark).to_have_count(0)
    choose(page, "Protocol", re.compile("^stvqa:"))
    expect(mark).to_be_visible()
    page.get_by_role("button", name=button, exact=True).click()
    expect(mark).to_have_count(0)
    gate.open()
    assert page.locator(".signature").locator("visible=true").count() == 0 or "stvqa" in (
        page.locator(".signature").locator("visible=true").first.inner_text()
    )


def test_a_server_that_cannot_answer(browser: Browser, url: str) -> None:
    for opened in open_app(browser, url):
        page = opened.page
        page.route(re.compile("/queue/join"), lambda route: route.fulfill(status=503, json={"detail": "full"}))
        page.get_by_label("Prediction").first.fill("Coca Cola")
        expect(page.get_by_text(FAILED)).to_be_visible()
        page.unroute(re.compile("/queue/join"))
        page.get_by_label("Prediction").first.fill("Coca Cola Company")
        expect(page.locator("#answer-score")).to_have_text("1.0000")
        expect(page.get_by_text(FAILED)).to_have_count(0)
        opened.said.clear()  # the browser tells of the refused question
