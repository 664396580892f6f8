"""A result is shown only beside the inputs it belongs to, and a choice stays, in whatever order the answers arrive.

Without the stamps of `anls_eval.app.results`, each test of an older answer fails.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from space_page import Opened, open_app, type_into

from anls_eval.app.results import FAILED, UPDATING, outdated
from anls_eval.scoring import anls_score

HOLD = Path(__file__).with_name("hold_answers.js")
SECONDS = 120  # after which a page is taken for broken
FRAMES = 5  # within which the page shows an answer that it has


class Answers:
    """The server's answers to a page, which can be held back and released in any order."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def hold(self) -> None:
        """Hold back all answers from now on; those that were asked for before are waited for."""
        self.wait_for_all()
        self.page.evaluate("answers.isHolding = true")

    def wait_for(self, number: int) -> None:
        """Wait until so many answers are held back."""
        self.page.wait_for_function("number => answers.held.length >= number", arg=number, timeout=SECONDS * 1_000)

    def more_or_shown(self) -> bool:
        """Wait until an answer is held back, or the result on the page is that of the inputs; return which it is."""
        self.page.wait_for_function(
            "() => answers.held.length || !document.querySelector('.outdated')", timeout=SECONDS * 1_000
        )
        return bool(self.page.evaluate("answers.held.length"))

    def release(self, number: int = 0) -> None:
        """Let the page have one of the held answers, and wait until it has dealt with it."""
        self.page.evaluate("number => answers.held[number].release()", number)
        self.page.evaluate("frames => answers.frames(frames)", FRAMES)

    def wait_for_all(self) -> None:
        """Let the page have all answers, the newest first, and wait until nothing more is asked."""
        self.page.evaluate("answers.isHolding = false")
        for _ in range(2):  # what an answer changes can ask for more
            self.page.evaluate("while (answers.held.length) answers.held.at(-1).release()")
            self.page.evaluate("frames => answers.frames(frames)", FRAMES)
            self.page.wait_for_function("() => answers.isIdle()", timeout=SECONDS * 1_000)
            self.page.evaluate("frames => answers.frames(frames)", FRAMES)


def be_held(page: Page) -> None:
    page.add_init_script(path=HOLD)


@pytest.fixture
def opened(browser: Browser, url: str) -> Iterator[Opened]:
    """The web app in a new page whose answers can be held back."""
    yield from open_app(browser, url, prepare=be_held)


@pytest.fixture
def answers(opened: Opened) -> Answers:
    return Answers(opened.page)


def choose(page: Page, label: str, option: str | re.Pattern[str]) -> None:
    page.get_by_label(label).locator("visible=true").first.click()
    page.get_by_role("option", name=option).locator("visible=true").click()


def chosen(page: Page, label: str) -> Locator:
    return page.get_by_label(label).locator("visible=true").first


def upload(opened: Opened, predictions: list[Path], references: Path) -> None:
    """Give both sides, and wait until the page knows what is in them: the choices that depend on it are there then."""
    opened.upload("Predictions", *predictions)
    opened.upload("References", references)
    expect(opened.page.locator(".detected li").locator("visible=true")).to_have_count(len(predictions) + 1)


def marks(page: Page) -> Locator:
    return page.locator(".outdated").locator("visible=true")


@pytest.mark.parametrize("tab", ["Answer", "Document"])
def test_an_answer_for_older_inputs(opened: Opened, answers: Answers, tab: str) -> None:
    page = opened.page
    opened.tab(tab)
    score = page.locator(f"#{tab.lower()}-score")

    def give(text: str) -> None:
        if tab == "Answer":
            page.get_by_label("Prediction").first.fill(text)
        else:
            type_into(page, "Prediction", json.dumps(text))

    if tab == "Document":
        type_into(page, "Reference", '"Coca Cola"')
    give("Cola")
    answers.wait_for_all()
    before = score.inner_text()
    assert before == f"{anls_score('Cola', 'Coca Cola'):.4f}"
    answers.hold()
    give("Coca Colas")
    answers.wait_for(1)
    give("Coca Cola")
    answers.release()
    expect(marks(page)).to_have_text([UPDATING])
    assert score.inner_text() == before
    result = page.locator(".block.result", has=score)
    expect(result).to_have_css("opacity", "0.4")
    answers.wait_for_all()
    expect(marks(page)).to_have_count(0)
    expect(score).to_have_text("1.0000")


def test_a_result_is_that_of_inputs_that_come_back(opened: Opened, answers: Answers) -> None:
    page = opened.page
    page.get_by_label("Prediction").first.fill("Cola")
    answers.hold()
    page.get_by_label("Prediction").first.fill("Coca Cola")
    expect(marks(page)).to_have_text([UPDATING])
    page.get_by_label("Prediction").first.fill("Cola")
    expect(marks(page)).to_have_count(0)  # without an answer: the result belongs to these inputs
    answers.wait_for_all()
    expect(page.locator("#answer-score")).to_have_text(f"{anls_score('Cola', ['Coca Cola']):.4f}")


@pytest.mark.long
def test_an_older_answer_of_the_submission_tab(opened: Opened, answers: Answers, systems: list[Path]) -> None:
    page = opened.page
    opened.tab("Submission")
    upload(opened, systems[1:2], systems[2])
    answers.hold()
    page.get_by_role("button", name="Score", exact=True).click()
    answers.wait_for(1)
    page.get_by_role("button", name="DUDE's demonstration").click()
    page.wait_for_function("() => answers.held.some((own) => JSON.stringify(own.asked).includes('imperfect')"
                           " && own.asked.length > 10)")  # fmt: skip
    newer = page.evaluate("answers.held.findIndex((own) => own.asked.length > 10"
                          " && JSON.stringify(own.asked).includes('imperfect'))")  # fmt: skip
    answers.release(newer)
    name = page.locator(".lead bdi").locator("visible=true")
    expect(name).to_have_text("DUDE_demo_submission_imperfect")
    answers.release()
    assert name.inner_text() == "DUDE_demo_submission_imperfect"
    answers.wait_for_all()
    assert name.inner_text() == "DUDE_demo_submission_imperfect"
    expect(marks(page)).to_have_count(0)


@pytest.mark.long
def test_an_older_answer_of_the_compare_tab(opened: Opened, answers: Answers, systems: list[Path]) -> None:
    """The ranking is shown, which is still right; the pair is not, which is another one by now."""
    page = opened.page
    opened.tab("Compare")
    upload(opened, systems[:2], systems[2])
    answers.wait_for_all()
    choose(page, "Second system", "first")
    answers.hold()
    page.get_by_role("button", name="Compare", exact=True).click()
    answers.wait_for(1)
    choose(page, "First system", "second")
    answers.wait_for(2)
    answers.release(1)
    heading = page.locator("#pair-heading")
    expect(heading).to_have_text("second and first")
    answers.release(0)
    expect(page.locator("#ranking-table")).to_be_visible()
    assert heading.inner_text() == "second and first"
    answers.wait_for_all()
    expect(chosen(page, "First system")).to_have_value("second")
    assert heading.inner_text() == "second and first"
    expect(marks(page)).to_have_count(0)


def test_a_late_answer_does_not_undo_a_choice_of_answer_type(opened: Opened, answers: Answers) -> None:
    page = opened.page
    page.get_by_label("Prediction").first.fill("['10 %', 'white']")
    page.get_by_label("Accepted answers").fill("['White', '10%']")
    answers.hold()
    choose(page, "Protocol", re.compile("mmlongbench:"))
    answers.wait_for(1)
    choose(page, "Answer type", "List")
    while answers.more_or_shown():
        answers.release()
        is_marked, score = page.evaluate(
            "() => [!!document.querySelector('.outdated'), document.querySelector('#answer-score').textContent]"
        )
        assert is_marked or score == "1.0000"
        assert chosen(page, "Answer type").input_value() == "List"
    answers.wait_for_all()
    assert page.locator("#answer-score").inner_text() == "1.0000"
    assert chosen(page, "Answer type").input_value() == "List"


def test_a_late_answer_does_not_undo_a_threshold(opened: Opened, answers: Answers) -> None:
    page = opened.page
    answers.hold()
    choose(page, "Protocol", re.compile("^rrc:"))
    answers.wait_for(1)
    threshold = page.get_by_role("spinbutton", name="Threshold")
    threshold.fill("0.95")
    answers.release()
    expect(marks(page)).to_have_text([UPDATING])
    answers.wait_for_all()
    expect(threshold).to_have_value("0.95")
    expect(page.locator("#answer-threshold")).to_contain_text("at 0.95")


def test_rules_that_are_inferred_late_do_not_replace_typed_ones(opened: Opened, answers: Answers) -> None:
    page = opened.page
    opened.tab("Document")
    page.get_by_role("button", name="Fields: compare").click()
    rules = page.locator(".block", has=page.get_by_text("Field rules", exact=True)).locator(".cm-content").first
    answers.hold()
    page.get_by_role("button", name="Infer from the reference").click()
    answers.wait_for(1)
    type_into(page, "Field rules", '{"$.currency": {"compare": "ignore"}}')
    answers.release()
    answers.wait_for_all()
    expect(rules).to_have_text('{"$.currency": {"compare": "ignore"}}')
    page.get_by_role("button", name="Infer from the reference").click()
    expect(rules).to_contain_text('"$.gross_total": {"compare": "number"}')


def test_a_link_does_not_undo_what_is_typed_or_the_choice_of_a_tab(browser: Browser, url: str) -> None:
    query = "?" + urlencode({"tab": "document", "prediction": '"from"', "reference": '"a link"'})

    def prepare(page: Page) -> None:
        be_held(page)
        page.add_init_script("answers.isHolding = true")

    for opened in open_app(browser, url, query, prepare):
        page, answers = opened.page, Answers(opened.page)
        answers.wait_for(1)
        opened.tab("Document")
        type_into(page, "Prediction", '"a link"')
        opened.tab("Answer")
        page.get_by_label("Prediction").first.fill("typed")
        answers.release()
        expect(page.get_by_role("tab", name="Answer")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_label("Prediction").first).to_have_value("typed")
        answers.wait_for_all()
        opened.tab("Document")
        expect(page.locator("#document-score")).to_have_text("1.0000")
        expect(page.locator(".cm-content").nth(1)).to_have_text('"a link"')


@pytest.mark.parametrize(
    ("tab", "examples"),
    [
        ("Answer", ["Cat", "The boundary"]),
        pytest.param("Document", ["From the metric card", "Python, with a tuple"], marks=pytest.mark.long),
    ],
)
def test_the_last_example_stays(opened: Opened, answers: Answers, tab: str, examples: list[str]) -> None:
    page = opened.page
    opened.tab(tab)
    shown = page.get_by_role("tabpanel").locator("visible=true").first
    page.get_by_role("button", name=examples[1], exact=True).click()
    answers.wait_for_all()
    expected = shown.inner_text()
    page.get_by_role("button", name=examples[0], exact=True).click()
    answers.hold()
    for example in examples:
        page.get_by_role("button", name=example, exact=True).click()
    answers.wait_for_all()
    expect(shown).to_have_text(expected, use_inner_text=True)


@pytest.mark.parametrize(
    ("tab", "result"),
    [("Submission", "#submission-score"), ("Compare", "#ranking-table")],
)
@pytest.mark.long
def test_a_result_for_other_settings_is_marked(
    opened: Opened, answers: Answers, systems: list[Path], tab: str, result: str
) -> None:
    page = opened.page
    button = "Score" if tab == "Submission" else "Compare"
    opened.tab(tab)
    upload(opened, systems[: 1 if tab == "Submission" else 2], systems[2])
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator(result)).to_be_visible()
    answers.wait_for_all()
    mark = page.get_by_text(outdated(button)).locator("visible=true").first
    expect(mark).to_have_count(0)
    choose(page, "Protocol", re.compile("^stvqa:"))
    expect(mark).to_be_visible()
    choose(page, "Protocol", "standard")
    expect(mark).to_have_count(0)
    choose(page, "Protocol", re.compile("^stvqa:"))
    expect(mark).to_be_visible()
    page.get_by_role("button", name=button, exact=True).click()
    expect(mark).to_have_count(0)
    expect(page.locator(result)).to_be_visible()
    if tab == "Compare":
        expect(page.locator(".signature").locator("visible=true").first).to_contain_text("protocol:stvqa")


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
