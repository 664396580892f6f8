"""The web app in a real browser: each tab does its main job on real data, for every user, and asks nobody else."""

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import docvqa_runs
import pytest
from browser_checks import LEAST_CONTRAST
from places import ROOT
from playwright.sync_api import Browser, expect
from space_page import Opened, open_app, type_into

from anls_eval.analysis.diagnosis import diagnose
from anls_eval.app.examples import DOCUMENTS
from anls_eval.files import open_predictions, open_references
from anls_eval.scoring import anls_score, anls_star_score
from anls_eval.submission.score import read_questions, score_submission

SHOTS = ROOT / "build" / "space"
TABS = ["Answer", "Document", "Submission", "Compare", "About"]
GOLD = docvqa_runs.FOLDER / "references.json"
RUN = docvqa_runs.FOLDER / "pred_qwen2_vl_7b_instruct.json"
OTHER = docvqa_runs.FOLDER / "pred_llama_nemotron.json"
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "</script><script>window.pwned = 1</script>",
    "'\"><svg onload='window.pwned = 1'>",
    "${window.pwned = 1}{{window.pwned = 1}}",
    "javascript:window.pwned=1",
]


def test_typing_updates_the_score(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Prediction").first.fill("Denver Bronco")
    page.get_by_label("Accepted answers").fill("Denver Broncos\nBroncos")
    score = page.locator("#answer-score")
    expect(score).to_have_text("0.9286")
    expect(page.locator(".lead").first).to_have_text(
        "1 of 14 characters differs: similarity 0.9286, at least the threshold 0.5, so it scores 0.9286."
    )
    page.get_by_label("Prediction").first.press_sequentially("s")
    expect(score).to_have_text("1.0000")
    page.get_by_label("Prediction").first.fill("Denver Br")
    page.get_by_label("Threshold").first.fill("0.65")
    expect(score).to_have_text("0.0000")
    expect(page.locator("#answer-threshold")).to_contain_text("0.0000 at 0.65")
    page.get_by_label("Threshold").first.fill("")
    expect(score).to_have_text(f"{anls_score('Denver Br', ['Denver Broncos']):.4f}")
    page.get_by_label("Accepted answers").fill("")
    expect(page.get_by_role("alert")).to_contain_text("there is no accepted answer")


def test_a_protocol_with_answer_types(opened: Opened) -> None:
    page = opened.page
    expect(page.get_by_label("Answer type")).to_be_hidden()
    page.get_by_label("Prediction").first.fill("['10 %', 'white']")
    page.get_by_label("Accepted answers").fill("['White', '10%']")
    page.get_by_label("Protocol").first.click()
    page.get_by_role("option", name=re.compile("^mmlongbench:")).click()
    page.get_by_label("Answer type").click()
    page.get_by_role("option", name="List", exact=True).click()
    expect(page.locator("#answer-score")).to_have_text("1.0000")


def test_examples_and_links_open_what_they_say(opened: Opened, browser: Browser, url: str) -> None:
    page = opened.page
    page.get_by_role("button", name="The boundary").click()
    expect(page.locator("#answer-score")).to_have_text("0.5000")
    expect(page.locator("#answer-protocols")).to_contain_text("exactly 0.5 gives 0")
    link = page.get_by_role("link", name="Link to this example").first
    expect(link).to_have_attribute("href", re.compile("prediction=ab"))
    query = link.get_attribute("href") or ""
    for again in open_app(browser, url, query):
        expect(again.page.locator("#answer-score")).to_have_text("0.5000")
        expect(again.page.get_by_label("Prediction").first).to_have_value("ab")
    document = urlencode({"tab": "document", "prediction": '{"a": "ab"}', "reference": '{"a": "ac"}'})
    for again in open_app(browser, url, f"?{document}"):
        expect(again.page.locator("#document-score")).to_be_visible()
        expect(again.page.locator("#document-score")).to_have_text("0.5000")
    wrong = urlencode({"prediction": "ab", "answers": "ac", "protocol": "<b>", "threshold": "x"})
    for again in open_app(browser, url, f"?{wrong}"):
        expect(again.page.locator("#answer-score")).to_have_text("0.5000")


def test_document(opened: Opened) -> None:
    opened.tab("Document")
    page = opened.page
    prediction, reference, _ = DOCUMENTS["An invoice"]
    expected = anls_star_score(json.loads(prediction), json.loads(reference))
    page.get_by_role("button", name="An invoice").click()
    expect(page.locator("#document-score")).to_have_text(f"{expected:.4f}")
    expect(page.locator(".tree .missing")).to_have_text(['− "USD"'])
    expect(page.locator(".tree .hallucinated")).to_have_text(['+ "CIF"'])
    partner = page.get_by_role("link", name="matched with item [1]").first
    partner.click()
    expect(page.locator(":target")).to_contain_text("OCEAN FREIGHT")
    type_into(page, "Reference", '{"brand": {"$one_of": ["Coca Cola", "Pepsi"]}}')
    type_into(page, "Prediction", '{"brand": "CocaCola"}')
    expect(page.locator("#document-score")).to_have_text("0.8889")
    expect(page.locator(".block", has_text="Closest reference").locator(".cm-content").last).to_contain_text(
        '"brand": "Coca Cola"'
    )
    type_into(page, "Prediction", '{"brand":\n "CocaCola" 1}')
    expect(page.get_by_role("alert")).to_contain_text("the prediction, line 2, column 13: not JSON")
    type_into(page, "Prediction", "{'brand': 'Pepsi'}")
    expect(page.locator("#document-score")).to_have_text("1.0000")


def test_submission(opened: Opened, tmp_path: Path) -> None:
    opened.tab("Submission")
    page = opened.page
    opened.upload("Predictions", RUN)
    opened.upload("References", GOLD)
    expect(page.locator(".detected li")).to_have_count(2)
    expect(page.locator(".detected")).to_contain_text("1,000 rows")
    page.get_by_role("button", name="Score", exact=True).click()
    expected = score_submission(open_predictions(RUN), open_references(GOLD))
    expect(page.locator("#submission-score")).to_have_text(f"{expected.score:.4f}", timeout=60_000)
    report = page.frame_locator("iframe.report")
    expect(report.locator("#headline-score")).to_have_text(f"{expected.score:.4f}")
    report.get_by_label("Search").fill("san diego")
    expect(report.locator("#question-count")).to_contain_text("of 1,000 shown")
    with page.expect_download() as download:
        page.locator(".block:visible", has=page.get_by_text("Downloads")).locator("a[href$='/report.html']").click()
    path = tmp_path / "report.html"
    download.value.save_as(path)
    again = page.context.new_page()
    again.goto(path.as_uri())
    expect(again.locator("#headline-score")).to_have_text(f"{expected.score:.4f}")
    again.close()


def test_submissions_that_cannot_be_scored(opened: Opened, tmp_path: Path) -> None:
    opened.tab("Submission")
    page = opened.page
    rows = json.loads(RUN.read_text(encoding="utf-8"))
    part = tmp_path / "half.json"
    part.write_text(json.dumps(rows[:500]))
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("There is no file of predictions")
    opened.upload("Predictions", part)
    opened.upload("References", GOLD)
    expect(page.locator(".detected li")).to_have_count(2)
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Score questions without a prediction 0", timeout=60_000)
    page.get_by_role("button", name="More options").click()
    page.get_by_label("Score questions without a prediction 0").check()
    page.get_by_role("button", name="Score", exact=True).click()
    expected = score_submission(open_predictions(part), open_references(GOLD), missing="zero")
    expect(page.locator("#submission-score")).to_have_text(f"{expected.score:.4f}", timeout=60_000)


def test_compare(opened: Opened) -> None:
    opened.tab("Compare")
    page = opened.page
    opened.upload("Predictions", OTHER, RUN)
    opened.upload("References", GOLD)
    page.get_by_role("button", name="Compare", exact=True).click()
    rows = page.locator("#ranking-table tbody tr")
    expect(rows).to_have_count(2, timeout=60_000)
    expected = score_submission(open_predictions(RUN), open_references(GOLD))
    expect(rows.first).to_contain_text(f"{expected.score:.4f}")
    expect(page.locator("#pair-heading")).to_contain_text("pred_qwen2_vl_7b_instruct and pred_llama_nemotron")
    page.get_by_label("First system").click()
    page.get_by_role("option", name="pred_llama_nemotron").click()
    expect(page.get_by_role("option")).to_have_count(0)
    expect(page.get_by_role("alert")).to_contain_text("Choose two different systems")
    page.get_by_label("Second system").click()
    page.get_by_role("option", name="pred_qwen2_vl_7b_instruct").click()
    expect(page.locator("#pair-heading")).to_contain_text("pred_llama_nemotron and pred_qwen2_vl_7b_instruct")
    page.get_by_label("System", exact=True).click()
    page.get_by_role("option", name="pred_qwen2_vl_7b_instruct").click()
    page.get_by_label("Reported number").fill("0.8942")
    page.get_by_role("button", name="Find out").click()
    questions = read_questions(open_predictions(RUN), open_references(GOLD))
    found = diagnose(questions.predictions, questions.answers, "0.8942")
    expect(page.locator("#diagnosis-conclusion")).to_have_text(found.conclusion, timeout=60_000)
    assert found.fits


def test_hostile_texts_stay_texts(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    for text in HOSTILE:
        page.get_by_label("Prediction").first.fill(text)
        page.get_by_label("Accepted answers").fill(f"{text}!\n{text}")
        expect(page.locator(".card h3").first).to_have_text(f"{text}!")
        expect(page.locator("#answer-score")).to_have_text("1.0000")
    opened.tab("Document")
    tree = json.dumps({text: text for text in HOSTILE})
    type_into(page, "Reference", tree)
    type_into(page, "Prediction", tree)
    expect(page.locator("#document-score")).to_have_text("1.0000")
    expect(page.locator(".tree .label").first).to_have_text(HOSTILE[0])
    type_into(page, "Prediction", HOSTILE[1])
    expect(page.get_by_role("alert")).to_contain_text("not JSON")
    opened.tab("Submission")
    name = tmp_path / "<img src=x onerror='window.pwned = 1'>.json"
    name.write_text(json.dumps([{"id": text, "prediction": text, "answers": [f"{text}?"]} for text in HOSTILE]))
    opened.upload("Predictions", name)
    expect(page.locator(".detected li")).to_have_count(1)
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.locator("#submission-score")).to_be_visible(timeout=60_000)
    report = page.frame_locator("iframe.report")
    expect(report.locator("#question-table tbody tr")).to_have_count(len(HOSTILE))
    frame = next(frame for frame in page.frames if frame.url == "about:srcdoc")
    assert frame.evaluate("window.pwned") is None
    assert page.locator(".found img, .found script, .found svg:not([class])").count() == 0


def test_keyboard_alone(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("tab", name="Answer", exact=True).focus()
    page.keyboard.press("Tab")
    names = []
    for _ in range(40):
        names.append(
            page.evaluate(
                "(document.activeElement.ariaLabel || document.activeElement.labels?.[0]?.innerText"
                " || document.activeElement.innerText || '').split('\\n')[0].trim()"
            )
        )
        page.keyboard.press("Tab")
    wanted = ["Prediction", "Accepted answers, one per line", "Protocol", "Threshold", "CocaCola"]
    order = [next(place for place, name in enumerate(names) if name.startswith(label)) for label in wanted]
    assert order == sorted(order)
    page.get_by_role("button", name="The boundary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answer-score")).to_have_text("0.5000")


def test_everything_has_a_name(opened: Opened) -> None:
    """For screen readers: no field, button or link without one."""
    page = opened.page
    for name in TABS:
        opened.tab(name)
        page.wait_for_timeout(300)
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("input, textarea, button, select, a[href], iframe, svg[role=img]")]
              .filter((own) => own.checkVisibility() && own.type !== "file" && !own.closest(".unseen"))
              .filter((own) => !(own.ariaLabel || own.title || own.innerText?.trim() || own.labels?.length
                || own.getAttribute("aria-labelledby") || own.querySelector("title, [aria-label]")))
              .map((own) => own.outerHTML.slice(0, 200))"""
        )
        assert unnamed == [], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_can_be_read_in_both_schemes_and_on_a_phone(browser: Browser, url: str, scheme: str, width: int) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    for opened in open_app(browser, url, viewport={"width": width, "height": 900}, color_scheme=scheme):
        page = opened.page
        for name in TABS:
            opened.tab(name)
            if name == "Submission":
                page.get_by_role("button", name="DUDE's demonstration").click()
                expect(page.locator("#submission-score")).to_be_visible(timeout=60_000)
                page.locator("iframe.report").scroll_into_view_if_needed()  # it is drawn when it is seen
            if name == "Compare":
                page.get_by_role("button", name="The two best").click()
                expect(page.locator("#pair-heading")).to_be_visible(timeout=60_000)
            page.wait_for_timeout(500)
            assert page.evaluate("document.documentElement.scrollWidth") == width, name
            contrast, text = page.evaluate(LEAST_CONTRAST, "body")
            page.screenshot(path=SHOTS / f"{name.lower()}-{scheme}-{width}.png", full_page=True)
            assert contrast >= 4.5, (name, text)
