"""What the app says helps is in the app and helps: each remedy is read from the message and applied."""

import ast
import html
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from places import ROOT

from anls_eval.app import compare, submission
from anls_eval.app.answer import card as answer_card
from anls_eval.app.document import card as document_card
from anls_eval.app.words import LABELS, SWITCHES

_CALLERS = {"cli", "cluster", "check", "integrations"}  # rooms that the app does not use
_REMEDY = re.compile(rf"use ((?:{'|'.join(LABELS.values())})? ?\u201c[^\u201d]*\u201d)")
_DEFAULTS: dict[str, Any] = {
    "Threshold": "", "Extract": "", "Parse": "", SWITCHES["missing"]: False, SWITCHES["unknown"]: False,
    "Columns": "", "Encoding": "", "Separator": "", "Filter": "",
    "Field rules for documents, or a JSON Schema (JSON or YAML)": None, "Options": "",
}  # fmt: skip


def options_with_remedies() -> set[str]:
    """The options that remedies name anywhere in what the app uses."""
    found = set()
    for path in (ROOT / "anls_eval").rglob("*.py"):
        if path.relative_to(ROOT / "anls_eval").parts[0] not in _CALLERS:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") == "Remedy"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    found.add(ast.literal_eval(node.args[0]))
    return found - {"positive"}  # of `anls agreement`, which the app does not offer


def test_each_option_of_a_remedy_has_a_control_in_every_tab_that_takes_files(url: str) -> None:
    assert options_with_remedies() <= {*LABELS, *SWITCHES}
    components = httpx.get(f"{url}config").json()["components"]
    labels = [own["props"].get("label") for own in components if own["props"].get("label")]
    controls = list(_DEFAULTS)
    found = [at for at in range(len(labels)) if labels[at : at + len(controls)] == controls]
    assert len(found) == 2  # in Submission and in Compare
    for option in options_with_remedies():
        assert {**LABELS, **SWITCHES}[option] in controls or option == "answer_type"


def applied(message: str, names: dict[str, str]) -> dict[str, Any]:
    """The values of the controls that a message tells the user to use, with these names in place of NAME."""
    values: dict[str, Any] = {}
    for found in _REMEDY.findall(html.unescape(message)):
        label, _, value = found.rstrip("\u201d").rpartition("\u201c")
        for role, name in names.items():
            value = value.replace(f"{role}=NAME", f"{role}={name}")
            if f'"{role}"' in value:  # of options, which are JSON
                value = value.replace("NAME", name)
        if label.strip():
            values[label.strip()] = value
        else:
            values[value] = True
    return values


def rows(*given: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(own)}\n" for own in given)


_LM_EVAL: list[dict[str, Any]] = [
    {"doc_id": 1, "doc": {}, "target": "Oslo", "filter": name, "filtered_resps": ["Oslo"], "resps": [["Oslo"]]}
    for name in ("none", "strict")
]
FILES: dict[str, tuple[str | bytes, str | bytes | None, str, list[str], dict[str, str]]] = {
    # Predictions, references, protocol, columns to break down by, and the names that the user would fill in.
    "missing": (rows({"id": 1, "prediction": "a"}), rows({"id": 1, "answer": "a"}, {"id": 2, "answer": "b"}),
                "standard", [], {}),
    "unknown": (rows({"id": 1, "prediction": "a"}, {"id": 2, "prediction": "b"}), rows({"id": 1, "answer": "a"}),
                "standard", [], {}),
    "no id in common": (
        rows({"id": 1, "key": "x", "prediction": "a"}), rows({"id": 9, "key": "x", "answer": "a"}), "standard", [],
        {"predictions.question_id": "key", "references.question_id": "key"},
    ),
    "ids of one side": (
        rows({"nr": 1, "prediction": "a"}), rows({"id": 1, "answer": "a"}), "standard", [],
        {"predictions.question_id": "nr"},
    ),
    "no prediction": (rows({"id": 1, "said": "a"}), rows({"id": 1, "answer": "a"}), "standard", [],
                      {"prediction": "said"}),
    "no answers": (rows({"id": 1, "prediction": "a", "truth": "a"}), None, "standard", [], {"answers": "truth"}),
    "no answers in references": (
        rows({"id": 1, "prediction": "a"}), rows({"id": 1, "truth": "a"}), "standard", [], {"answers": "truth"},
    ),
    "blank answers": (
        rows({"id": 1, "prediction": "a"}), rows({"id": 1, "answer": "", "truth": "a"}), "standard", [],
        {"answers": "truth"},
    ),
    "no answer type": (
        rows({"id": 1, "prediction": "5"}), rows({"id": 1, "answer": "5", "kind": "Int"}), "mmlongbench", [],
        {"answer_type": "kind"},
    ),
    "options": (
        rows({"id": 1, "prediction": "5"}), rows({"id": 1, "answer": "5", "answer_type": "Factoid", "flags": ["NO"]}),
        "chartqapro", [], {"year": "flags"},
    ),
    "options for all": (
        rows({"id": 1, "prediction": [["date", "5 May"]], "answers": [["date", ["5 May"]]]}), None, "vrdu", [],
        {"appearance": "date"},
    ),
    "encoding": ("id,prediction\n1,Málaga\n".encode("cp1252"), rows({"id": "1", "answer": "Málaga"}), "standard", [],
                 {}),
    "filter": (rows(*_LM_EVAL), None, "standard", [], {}),
    "extract": (
        rows({"id": 1, "prediction": "<answer>Oslo</answer>"}), rows({"id": 1, "answer": "Oslo"}), "standard", [], {},
    ),
    "JSON in text": (
        rows({"id": 1, "prediction": '```json\n{"a": "b"}\n```'}), rows({"id": 1, "answer": {"a": "b"}}),
        "anls_star", [], {},
    ),
    "parse none": ("id,prediction\n1,a\n", "id,answer\n1,\"['a', 'b']\"\n", "standard", [], {}),
    "parse answers": (
        rows({"id": 1, "prediction": "a"}, {"id": 2, "prediction": "b"}),
        rows({"id": 1, "answer": "['a', 'c']"}, {"id": 2, "answer": "b"}), "standard", [], {},
    ),
    "parse a column": (
        rows({"id": 1, "prediction": "a"}, {"id": 2, "prediction": "b"}),
        rows({"id": 1, "answer": "a", "kind": "['x', 'y']"}, {"id": 2, "answer": "b", "kind": "x"}), "standard",
        ["kind"], {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_a_remedy_of_the_submission_tab_helps(case: str, tmp_path: Path) -> None:
    given, expected, protocol, by, names = FILES[case]
    paths: list[str | None] = []
    for name, content in (("predictions", given), ("references", expected)):
        if content is None:
            paths.append(None)
            continue
        raw = content if isinstance(content, bytes) else content.encode()
        path = tmp_path / f"{name}.{'csv' if raw.startswith(b'id,') else 'jsonl'}"
        path.write_bytes(raw)
        paths.append(str(path))

    def scored(**values: Any) -> str:
        more = [*(_DEFAULTS | values).values()]
        shown: str = submission.score_and_report(*paths, protocol, by, "", "", "", *more)[0]
        return shown

    before = scored()
    values = applied(before, names)
    assert values, before
    assert set(values) <= set(_DEFAULTS)
    after = scored(**values)
    assert "submission-score" in after, after
    assert 'role="alert"' not in after
    assert set(applied(after, names)) - set(values) <= {"Parse"}
    if 'role="alert"' not in before:
        assert after != before


def test_what_helps_in_submission_helps_where_files_are_detected_and_compared(tmp_path: Path) -> None:
    for name, said in (("a", "x"), ("b", "y")):
        (tmp_path / f"{name}.jsonl").write_text(rows({"id": 1, "said": said}))
    (tmp_path / "gold.jsonl").write_text(rows({"id": 1, "answer": "x"}))
    files, gold = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], str(tmp_path / "gold.jsonl")
    names = {"prediction": "said"}
    shown = submission.detected(files, gold, "", "", "", "")[0]
    [columns] = applied(shown, names).values()
    assert columns == "prediction=said"
    assert "a.jsonl" in submission.detected(files, gold, columns, "", "", "")[0]
    more = [*(_DEFAULTS | {"Columns": columns}).values()]
    assert "ranking-table" in compare.rank(files, gold, "standard", [], *more, 0, 0, "0.01")[0]
    assert "diagnosis" in compare.which_number(files, gold, 1, "1.0", *more)[0]


def test_remedies_of_the_answer_tab() -> None:
    listed = answer_card("b", "['a', 'b']", "standard", None, None)[0]
    assert "1.0000" in listed
    assert applied(listed, {}) == {"Parse": "none"}
    assert "1.0000" not in answer_card("b", "['a', 'b']", "standard", None, None, "", "none")[0]
    marked = answer_card("<answer>Oslo</answer>", "Oslo", "standard", None, None)[0]
    assert applied(marked, {}) == {"Extract": "answer_tag"}
    assert "1.0000" in answer_card("<answer>Oslo</answer>", "Oslo", "standard", None, None, "answer_tag")[0]


def test_remedies_of_the_document_tab() -> None:
    fenced = 'Here:\n```json\n{"a": 1}\n```'
    shown = document_card(fenced, '{"a": 1}', "anls_star")[0]
    assert "1.0000" in shown
    assert "extract:json" in shown.replace("<wbr>", "")
    assert applied(shown, {}) == {"Extract": "none"}
    assert "not JSON" in document_card(fenced, '{"a": 1}', "anls_star", "none")[0]
