"""`anls fields`, and `--fields` of the other commands, on folders of documents with a pydantic model beside them."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import Ran
from places import ROOT

MODEL = """
from datetime import date
from pydantic import BaseModel

class Item(BaseModel):
    sku: str
    price: float

class Invoice(BaseModel):
    number: str
    issued: date
    total: float
    items: list[Item]
"""


Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.py").write_text(MODEL)
    for side in ("out", "gold"):
        (tmp_path / side).mkdir()
    for number in range(4):
        reference: dict[str, Any] = {"number": f"INV-{number}", "issued": "2026-05-14", "total": 1299 + number}
        reference["items"] = [{"sku": "a", "price": 10.5}, {"sku": "b", "price": 3}]
        prediction = {**reference, "issued": "May 14, 2026", "total": f"1,{299 + number}.00"}
        prediction["items"] = [{"sku": "b", "price": "3.00"}, {"sku": "a", "price": 10.5 if number else 10.6}]
        if number == 2:
            prediction["total"] = 130
            del prediction["issued"]
        if number == 3:
            prediction["note"] = "paid"
        for side, content in (("out", prediction), ("gold", reference)):
            (tmp_path / side / f"{number}.json").write_text(json.dumps(content))
    yield tmp_path
    sys.modules.pop("schema", None)


def test_a_model_where_the_working_folder_was_deleted(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    found = run("fields", folder / "out", "-r", folder / "gold", "--fields", "schema:Invoice")
    assert found.status == 2
    assert found.err.endswith("modules are looked for, no longer exists. Change to one that does\n")


def test_one_command_shows_the_failing_fields(run: Run, folder: Path) -> None:
    found = run("fields", "out/", "-r", "gold/", "--fields", "schema:Invoice")
    assert found.status == 0, found.err
    table = [line.split() for line in found.out.split("\n\n")[0].splitlines()[1:]]
    assert [row[:6] for row in table] == [
        ["$.issued", "1", "3", "0", "1", "0"],
        ["$.items[*].price", "1", "7", "1", "0", "0"],
        ["$.note", "1", "0", "0", "0", "1"],
        ["$.total", "1", "3", "1", "0", "0"],
        ["$.items[*].sku", "0", "8", "0", "0", "0"],
        ["$.number", "0", "4", "0", "0", "0"],
    ]
    assert "1301 read as 130" in found.out
    assert "1 of 4 documents have no wrong, missing or invented leaf" in found.out
    assert "|fields:" in found.out
    page = (ROOT / "docs" / "fields.md").read_text(encoding="utf-8")
    shown = page.split("```text\nfield ")[1].split("```")[0].splitlines()
    assert found.out.splitlines()[: len(shown)] == [f"field {shown[0]}", *shown[1:]]


def test_json_holds_the_report_the_fields_and_the_ids(run: Run, folder: Path) -> None:
    found = json.loads(run("fields", "out/", "-r", "gold/", "--fields", "schema:Invoice", "--json").out)
    assert found["fields"]["$.issued"] == {"compare": "date"}
    assert found["question_ids"] == ["0", "1", "2", "3"]
    assert found["perfect"] == 1
    rows = {row["path"]: row for row in found["by_field"]}
    wrong = {"outcome": "wrong", "reference": "10.5", "prediction": "10.6", "count": 1, "lost": 1.0, "rows": [0]}
    assert rows["$.items[*].price"]["confusions"] == rows["$.items[*].price"]["worst"] == [wrong]
    missing = {"outcome": "missing", "reference": "2026-05-14", "prediction": None, "count": 1, "lost": 1.0}
    assert rows["$.issued"]["worst"] == [{**missing, "rows": [2]}]
    assert rows["$.issued"]["confusions"] == []
    assert rows["$.note"]["fabrication_rate"] == 0.25


def test_extract_reads_json_out_of_answers(run: Run, folder: Path) -> None:
    rows = [json.loads((folder / "out" / f"{number}.json").read_text()) for number in range(4)]
    lines = [
        json.dumps({"id": str(n), "prediction": f"Here:\n```json\n{json.dumps(own)}\n```"})
        for n, own in enumerate(rows)
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    options = ["-r", "gold/", "--fields", "schema:Invoice", "--json"]
    found, plain = (
        json.loads(run("fields", *own, *options).out) for own in (["answers.jsonl", "--extract", "json"], ["out/"])
    )
    assert "|extract:json|" in found.pop("signature")
    assert plain.pop("signature")
    assert found == plain


def test_match_at_makes_similar_texts_right(run: Run, folder: Path) -> None:
    shown = run("fields", "out/", "-r", "gold/", "--match-at", "0.7", "--json").out
    rows = {row["path"]: row for row in json.loads(shown)["by_field"]}
    assert (rows["$.items[*].price"]["right"], rows["$.items[*].price"]["wrong"]) == (4, 4)


def test_report_shows_the_failures_side_by_side(run: Run, folder: Path) -> None:
    options = ["-r", "gold/", "--fields", "schema:Invoice", "--report", "report.html", "--match-at", "0.9"]
    found = run("fields", "out/", *options)
    assert found.status == 0, found.err
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert html.count('id="figure-fields"') == 1
    assert "<bdi>1301</bdi></td><td><bdi>130</bdi></td><td>wrong</td>" in html
    refused = run("fields", "out/", *options, "--report", "report.txt")
    assert (refused.status, "--report report.txt: expected a file name ending in .html" in refused.err) == (
        2,
        True,
    )


@pytest.mark.parametrize("command", ["score", "compare", "leaderboard"])
def test_other_commands_take_fields(run: Run, folder: Path, command: str) -> None:
    systems = {"score": ["out/"], "compare": ["out/", "gold/"], "leaderboard": ["out/", "gold/"]}[command]
    options = ["-r", "gold/", "-p", "anls_star", "--fields", "schema:Invoice", "--json"]
    found = json.loads(run(command, *systems, *options).out)
    assert "|fields:" in found["signature"]
    score = found["anls_star_score"] if command == "score" else found["systems"][-1]["score"]
    assert score == pytest.approx(((5 / 6) + 1 + (4 / 6) + (6 / 7)) / 4, abs=0.03)


def test_explain_takes_fields(run: Run, folder: Path) -> None:
    pair = {"prediction": {"total": "1,299.00"}, "reference": {"total": 1299}}
    (folder / "pair.json").write_text(json.dumps(pair))
    shown = run("explain", "--json-file", "pair.json", "--fields", "schema:Invoice").out
    assert shown.startswith("score 1 ")
    assert "number 1299" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "out/", "-r", "gold/"], "fields are parts of trees, which protocol 'standard' does not score"),
        (["score", "out/", "-r", "gold/", "-p", "dude"], "which protocol 'dude' does not score"),
        (["explain", "a", "b"], "--fields is of documents: pass --json-file FILE."),
    ],
)
def test_fields_of_what_has_none_are_refused(run: Run, folder: Path, arguments: list[str], message: str) -> None:
    found = run(*arguments, "--fields", "schema:Invoice")
    assert found.status == 2
    assert found.err.splitlines()[-1].startswith("error: ")
    assert message in found.err


def test_a_reference_that_does_not_parse_is_named_by_its_document(run: Run, folder: Path) -> None:
    document = json.loads((folder / "gold" / "1.json").read_text())
    (folder / "gold" / "1.json").write_text(json.dumps({**document, "total": "five"}))
    for arguments in (["fields"], ["score", "-p", "anls_star"]):
        found = run(*arguments, "out/", "-r", "gold/", "--fields", "schema:Invoice")
        assert found.status == 2
        assert "'1': reference $.total" in found.err
        assert "'five'" in found.err


def test_fields_that_match_nothing_are_noted(run: Run, folder: Path) -> None:
    (folder / "fields.json").write_text(json.dumps({"$.totl": {"compare": "number"}, "$.items": {"key": "id"}}))
    for arguments in (["fields"], ["score", "-p", "anls_star"]):
        found = run(*arguments, "out/", "-r", "gold/", "--fields", "fields.json")
        assert "note: the field $.totl matches nothing in any reference; the nearest path there is $.total" in (
            found.err
        )
        assert "note: 4 of 4 references (question_id '0', '1', '2', '3') have elements of $.items without the key" in (
            found.err
        )
