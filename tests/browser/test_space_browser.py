"""The web app in a real browser: each tab does its main job on real data, for every user, and asks nobody else."""

import json
import re
from pathlib import Path
from typing import Any
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
QUESTIONS = 60  # of each run: a report on a thousand takes seconds
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "</script><script>window.pwned = 1</script>",
    "'\"><svg onload='window.pwned = 1'>",
    "${window.pwned = 1}{{window.pwned = 1}}",
    "javascript:window.pwned=1",
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The first questions of real runs, whose references say how long the answers are."""
    folder = tmp_path_factory.mktemp("runs")
    content = json.loads((docvqa_runs.FOLDER / "references.json").read_text(encoding="utf-8"))
    gold = content["data"][:QUESTIONS]
    for row in gold:
        row["length"] = "short" if len(row["answers"][0]) < 9 else "long"
    asked = {row["questionId"] for row in gold}
    found: dict[str, Any] = {"gold": {**content, "data": gold}}
    for name in ("qwen2_vl_7b_instruct", "llama_scout"):
        rows = json.loads((docvqa_runs.FOLDER / f"pred_{name}.json").read_text(encoding="utf-8"))
        found[name] = [row for row in rows if row["questionId"] in asked]
    paths = {}
    for name, rows in found.items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(rows), encoding="utf-8")
    return paths


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
    prediction, reference, *_ = DOCUMENTS["An invoice"]
    expected = anls_star_score(json.loads(prediction), json.loads(reference))
    page.get_by_role("button", name="An invoice", exact=True).click()
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
    expect(page.locator(".note").locator("visible=true")).to_contain_text("read as a Python literal")


@pytest.mark.long
def test_fields_of_a_document(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    opened.tab("Document")
    type_into(page, "Reference", '{"total": 1299, "date": "2026-05-14", "number": "INV-0012"}')
    type_into(page, "Prediction", '```json\n{"total": "1,299.00", "date": "May 14, 2026", "number": "INV-0013"}\n```')
    row = page.locator("#document-fields tbody tr", has_text="$.date")
    expect(row).to_contain_text("text")
    expect(page.locator(".note").locator("visible=true").last).to_contain_text("text around its JSON")
    page.get_by_role("button", name="Fields: compare").click()
    page.get_by_role("button", name="Infer from the reference").click()
    expect(row).to_contain_text("date")
    expect(page.locator("#document-score")).to_have_text("0.6667")
    expect(page.locator("#document-fields tbody tr").first).to_contain_text("exact")
    expect(page.locator("#document-fields tbody tr").first).to_contain_text("inv-0012 and inv-0013")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(row).to_contain_text("text")
    rules = tmp_path / "rules.yaml"
    rules.write_text("$.number: {compare: ignore}\n$.total: {compare: number}\n$.date: {compare: date}\n")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(rules)
    expect(page.locator("#document-score")).to_have_text("1.0000")
    page.get_by_role("button", name="Clear", exact=True).click()
    page.get_by_label("Protocol").locator("visible=true").first.click()
    page.get_by_role("option", name=re.compile("^donut_f1:")).click()
    expect(page.locator("#document-score")).to_have_text("0.0000")
    expect(page.locator("#document-protocols .own")).to_contain_text("donut_f1")


def test_options_of_benchmarks(opened: Opened, browser: Browser, url: str) -> None:
    page = opened.page
    options = page.get_by_label("Options").locator("visible=true").first
    page.get_by_label("Prediction").first.fill("2019")
    page.get_by_label("Accepted answers").fill("2020")
    expect(options).to_have_count(0)
    page.get_by_label("Protocol").locator("visible=true").first.click()
    page.get_by_role("option", name=re.compile("chartqapro:")).click()
    expect(options).to_have_value('{"year": ["NO"]}')
    expect(page.locator("#answer-score")).to_have_text("1.0000")
    options.fill('{"year": ["YES"]}')
    expect(page.locator("#answer-score")).to_have_text("0.0000")
    options.fill("")
    expect(page.get_by_role("alert")).to_contain_text('use Options \u201c{"year": ["NO"]}\u201d')
    options.fill('{"year": ["YES"]}')
    expect(page.locator("#answer-score")).to_have_text("0.0000")
    query = page.get_by_role("link", name="Link to this example").first.get_attribute("href") or ""
    for again in open_app(browser, url, query):
        own = again.page.get_by_label("Options").locator("visible=true").first
        expect(own).to_have_value('{"year": ["YES"]}')
        expect(again.page.locator("#answer-score")).to_have_text("0.0000")
        again.page.get_by_label("Protocol").locator("visible=true").first.click()
        again.page.get_by_role("option", name=re.compile("^standard")).click()
        expect(again.page.locator("#answer-score")).to_have_text("0.5000")
        expect(own).to_have_count(0)
    opened.tab("Document")
    page.get_by_label("Protocol").locator("visible=true").first.click()
    page.get_by_role("option", name=re.compile("vrdu:")).click()
    expect(options).to_have_value(re.compile("appearance"))
    type_into(page, "Reference", '[["date", ["05/03/22"]]]')
    type_into(page, "Prediction", '[["date", "5/3/2022"]]')
    expect(page.locator("#document-score")).to_have_text("1.0000")
    expect(page.locator("#document-protocols .own")).to_contain_text("vrdu")


def test_submission(opened: Opened, runs: dict[str, Path], tmp_path: Path) -> None:
    opened.tab("Submission")
    page = opened.page
    run, gold = runs["qwen2_vl_7b_instruct"], runs["gold"]
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("There is no file of predictions")
    part = tmp_path / "half.json"
    part.write_text(json.dumps(json.loads(run.read_text(encoding="utf-8"))[: QUESTIONS // 2]))
    opened.upload("Predictions", part)
    opened.upload("References", gold)
    expect(page.locator(".detected li")).to_have_count(2)
    expect(page.locator(".detected")).to_contain_text(f"{QUESTIONS // 2} rows")
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Score questions without a prediction 0", timeout=60_000)
    page.get_by_role("button", name="More options").locator("visible=true").click()
    page.get_by_label("Score questions without a prediction 0").locator("visible=true").check()
    page.get_by_role("button", name="Score", exact=True).click()
    expected = score_submission(open_predictions(part), open_references(gold), missing="zero")
    expect(page.locator("#submission-score")).to_have_text(f"{expected.score:.4f}", timeout=60_000)
    report = page.frame_locator("iframe.report")
    expect(report.locator("#headline-score")).to_have_text(f"{expected.score:.4f}")
    report.get_by_label("Search").fill("san diego")
    expect(report.locator("#question-count")).to_contain_text(f"of {QUESTIONS} shown")
    downloads = page.locator(".block:visible", has=page.get_by_text("Downloads"))
    expect(downloads.get_by_role("button", name="Remove this file")).to_have_count(0)
    with page.expect_download() as download:
        downloads.locator("a[href$='/report.html']").click()
    path = tmp_path / "report.html"
    download.value.save_as(path)
    again = page.context.new_page()
    again.goto(path.as_uri())
    expect(again.locator("#headline-score")).to_have_text(f"{expected.score:.4f}")
    again.close()


@pytest.mark.long
def test_fields_of_a_submission(opened: Opened, tmp_path: Path) -> None:
    """Columns are named, and fields compared as the rules say, without which half of the points are lost."""
    page = opened.page
    opened.tab("Submission")
    given, rules = tmp_path / "documents.jsonl", tmp_path / "rules.yaml"
    given.write_text('{"id": 1, "said": {"total": "1,299.00"}, "gold": {"total": 1299}}\n')
    rules.write_text("$.total: {compare: number}\n")
    opened.upload("Predictions", given)
    expect(page.get_by_role("alert")).to_contain_text("use Columns \u201cprediction=NAME\u201d")
    page.get_by_role("button", name="More options").locator("visible=true").click()
    page.get_by_role("textbox", name=re.compile("^Columns")).locator("visible=true").fill("prediction=said")
    expect(page.locator(".detected li")).to_have_count(1)
    page.get_by_label("Protocol").locator("visible=true").first.click()
    page.get_by_role("option", name=re.compile("^anls_star:")).locator("visible=true").click()
    opened.upload("Field rules", rules)
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.locator("#submission-score")).to_have_text("1.0000")
    expect(page.locator("#submission-fields tbody tr")).to_have_count(1)
    expect(page.locator("#submission-fields tbody tr")).to_contain_text("$.total")


def upload_both(opened: Opened, runs: dict[str, Path]) -> None:
    """Give two systems to the tab Compare."""
    opened.tab("Compare")
    opened.upload("Predictions", runs["llama_scout"], runs["qwen2_vl_7b_instruct"])
    opened.upload("References", runs["gold"])
    expect(opened.page.locator(".detected li")).to_have_count(3)  # then the columns are known


def test_compare(opened: Opened, runs: dict[str, Path]) -> None:
    upload_both(opened, runs)
    page = opened.page
    page.get_by_label("Break down by").locator("visible=true").click()
    page.get_by_role("option", name="length").locator("visible=true").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    rows = page.locator("#ranking-table tbody tr")
    expect(rows).to_have_count(2, timeout=60_000)
    run = open_predictions(runs["qwen2_vl_7b_instruct"])
    expected = score_submission(run, open_references(runs["gold"]), by=["length"])
    expect(rows.first).to_contain_text(f"{expected.score:.4f}")
    expect(page.locator(".breakdown tbody tr")).to_have_count(2)
    expect(page.locator(".breakdown tbody tr").first).to_contain_text(f"{expected.by['length']['long'].score:.4f}")
    expect(page.locator("#pair-heading")).to_contain_text("qwen2_vl_7b_instruct and llama_scout")
    expect(page.locator("#gate-verdict")).to_have_text(
        "\u2713 Yes: a drop of more than 0.01 is ruled out on all questions and in every group."
    )


@pytest.mark.long
def test_another_pair_and_where_a_number_comes_from(opened: Opened, runs: dict[str, Path]) -> None:
    upload_both(opened, runs)
    page = opened.page
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#pair-heading")).to_contain_text("qwen2_vl_7b_instruct and llama_scout")
    page.get_by_role("combobox", name="First system").click()
    page.get_by_role("option", name="llama_scout").click()
    expect(page.get_by_role("option")).to_have_count(0)
    expect(page.get_by_role("alert")).to_contain_text("Choose two different systems")
    page.get_by_role("combobox", name="Second system").click()
    page.get_by_role("option", name="qwen2_vl_7b_instruct").click()
    expect(page.locator("#pair-heading")).to_contain_text("llama_scout and qwen2_vl_7b_instruct")
    expect(page.locator("#gate-verdict")).to_contain_text("\u2717 No: a drop of more than 0.01 is proven.")
    page.get_by_label("System", exact=True).click()
    page.get_by_role("option", name="qwen2_vl_7b_instruct").click()
    run, gold = open_predictions(runs["qwen2_vl_7b_instruct"]), open_references(runs["gold"])
    reported = f"{score_submission(run, gold).score:.4f}"
    page.get_by_label("Reported number").fill(reported)
    page.get_by_role("button", name="Find out").click()
    questions = read_questions(run, gold)
    found = diagnose(questions.predictions, questions.answers, reported)
    expect(page.locator("#diagnosis-conclusion")).to_have_text(found.conclusion, timeout=60_000)
    assert found.fits


@pytest.mark.long
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


@pytest.mark.parametrize(
    ("scheme", "tabs"),
    [
        ("dark", ["Answer", "Document"]),
        *(pytest.param(scheme, TABS, marks=pytest.mark.long) for scheme in ("light", "dark")),
    ],
    ids=["dark, without files", "light", "dark"],
)
def test_can_be_read_in_both_schemes_and_on_a_phone(
    browser: Browser, url: str, systems: list[Path], scheme: str, tabs: list[str]
) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    for opened in open_app(browser, url, color_scheme=scheme):
        page = opened.page
        for name in tabs:
            opened.tab(name)
            if name == "Document":
                page.get_by_role("button", name="An invoice by fields").click()
                expect(page.locator("#document-fields")).to_contain_text("number")
                page.get_by_role("button", name="Fields: compare").click()
            if name == "Submission":
                page.get_by_role("button", name="DUDE's demonstration").click()
                expect(page.locator("#submission-score")).to_be_visible(timeout=60_000)
                page.get_by_role("button", name="More options").locator("visible=true").click()
                page.locator("iframe.report").scroll_into_view_if_needed()  # it is drawn when it is seen
            if name == "Compare":
                opened.upload("Predictions", *systems[:2])
                opened.upload("References", systems[2])
                expect(page.locator(".detected li").locator("visible=true")).to_have_count(3)
                page.get_by_label("Break down by").locator("visible=true").click()
                page.get_by_role("option", name="kind").locator("visible=true").click()
                page.get_by_role("button", name="Compare", exact=True).click()
                expect(page.locator("#pair-heading")).to_be_visible(timeout=60_000)
            for width in (375, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                page.evaluate("document.getAnimations().forEach((own) => own.finish())")
                assert page.evaluate("document.documentElement.scrollWidth") == width, name
                contrast, text = page.evaluate(LEAST_CONTRAST, "body")
                page.screenshot(path=SHOTS / f"{name.lower()}-{scheme}-{width}.png", full_page=True)
                assert contrast >= 4.5, (name, width, text)
