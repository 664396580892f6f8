"""Every option that a message of the command line names is there, and helps."""

import ast
import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from places import ROOT

from anls_eval.cli import commands

REFERENCES = [{"id": 1, "answers": ["Oslo"]}, {"id": 2, "answers": ["Rome"]}]
PREDICTIONS = [{"id": 1, "prediction": "Oslo"}, {"id": 2, "prediction": "Rom"}]
CHARTS = [{**row, "answer_type": "Factoid", "mine": ["NO"]} for row in REFERENCES]
ENTITIES = [{"id": 1, "prediction": [["date", "5 May"]], "answers": [["date", ["5 May"]]]}]
LOG = [
    {"doc_id": 1, "target": "['Oslo']", "filtered_resps": [own], "filter": name}
    for name, own in (("none", "It is Oslo"), ("get-answer", "Oslo"))
]


class Case(NamedTuple):
    files: dict[str, Any]  # the content of p and r, rows or bytes
    option: str  # that the message names
    name: str = ""  # of the column, where the message says NAME
    arguments: str = "score p -r r"


CASES = [
    Case({"p": PREDICTIONS[:1], "r": REFERENCES}, "missing"),
    Case({"p": PREDICTIONS, "r": REFERENCES[:1]}, "unknown"),
    Case({"p": [{"id": 1, "mine": "Oslo"}], "r": REFERENCES[:1]}, "columns", "mine"),
    Case({"p": [{"id": 1, "prediction": "Oslo", "mine": ["Oslo"]}]}, "columns", "mine", "score p"),
    Case({"p": PREDICTIONS[:1], "r": [{"id": 1, "mine": "Oslo"}]}, "columns", "mine"),
    Case({"p": PREDICTIONS[:1], "r": [{"id": 1, "answers": "", "mine": "Oslo"}]}, "columns", "mine"),
    Case({"p": PREDICTIONS[:1], "r": [{"nr": 1, "answers": "Oslo"}]}, "columns", "nr"),
    Case({"p": "id,prediction\n1,Zürich\n".encode("cp1252"), "r": REFERENCES[:1]}, "encoding"),
    Case({"p": LOG}, "filter", "", "score p"),
    Case({"p": PREDICTIONS, "r": [REFERENCES[0], {"id": 2, "answers": "['Rome']"}]}, "parse"),
    Case({"p": [{"id": 1, "prediction": "<answer>Oslo</answer>"}], "r": REFERENCES[:1]}, "extract"),
    Case({"p": PREDICTIONS, "r": [{"id": n, "answers": f"['{n}']"} for n in (1, 2)]}, "parse"),
    Case({"p": PREDICTIONS, "r": CHARTS}, "options", "mine", "score p -r r -p chartqapro"),
    Case({"p": ENTITIES}, "options", "date", "score p -p vrdu"),
    Case({"p": PREDICTIONS, "r": CHARTS}, "options", "mine", "gate p -r r -p chartqapro --min-score 0"),
]


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["anls", *arguments])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
        commands.main()
    return int(stop.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case.option}" for number, case in enumerate(CASES)])
def test_the_remedy_helps(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in case.files.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    status, said = run(case.arguments.split(), monkeypatch, capsys)
    [line] = [own for own in said.splitlines() if f"--{case.option} " in own]
    remedy = re.search(rf"pass (--{case.option} .*?)\.(?: |$)", line)
    assert remedy
    option, _, content = remedy[1].replace("NAME", case.name).partition(" FILE.json, a file with ")
    if content:
        Path("FILE.json").write_text(content, encoding="utf-8")
        option += " FILE.json"
    assert status == (0 if line.startswith("note:") else 2)
    again, left = run([*case.arguments.split(), *shlex.split(option)], monkeypatch, capsys)
    assert (again, line in left) == (0, False), left


IN_LATIN = '{"prediction": {"a": "Zürich"}, "reference": {"a": "Zürich"}}'.encode("cp1252")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("explain --json-file latin", r"error: latin, line 1, byte 23: not UTF-8: .*\. Save it as UTF-8\."),
        ("score p -r r --options latin", r"error: latin, line 1, byte 23: not UTF-8: .*\. Save it as UTF-8\."),
        (
            "score p -r r --fields latin -p anls_star",
            r"error: latin, line 1, byte 23: not UTF-8: .* Save it as UTF-8\.",
        ),
        (
            "audit p -r r -p chartqapro",
            r"error: p: .* needs 'year' of each question, a column that neither r nor p has\.",
        ),
    ],
)
def test_a_remedy_that_the_command_does_not_have_is_not_told(
    arguments: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin").write_bytes(IN_LATIN)
    Path("p").write_text(json.dumps(PREDICTIONS))
    Path("r").write_text(json.dumps(CHARTS))
    status, found = run(arguments.split(), monkeypatch, capsys)
    assert status == 2
    assert re.fullmatch(said, found.splitlines()[-1]), found


def test_every_option_of_a_remedy_is_tried() -> None:
    named = {
        call.args[0].value
        for path in (ROOT / "anls_eval").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Remedy"
        if isinstance(call.args[0], ast.Constant)
    }
    elsewhere = {"resume", "skip_bad", "out", "patience", "positive"}  # in tests/cluster and tests/decisions
    assert named - elsewhere == {case.option for case in CASES}
