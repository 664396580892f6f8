"""The steps of harnesses, on what the original code takes out."""

import json

import pytest
from places import DATA

from anls_eval.extract.steps import extracted

# Recorded by running the originals: see tests/leaderboards/test_benchmarks.py.
STEPS = {
    "evalscope_docvqa": "evalscope_answer",
    "inspect_evals_docvqa": "inspect_line",
    "inspect_evals_docvqa_first": "inspect_first",
    "lmms_docvqa_reasoning": "lmms_reasoning",
    "lmms_strip_think": "lmms_strip_think",
}
ROWS = [json.loads(line) for line in (DATA / "typed_more.jsonl").read_text(encoding="utf-8").split("\n") if line]
CASES = [row for row in ROWS if row.get("kind") == "extraction"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_as_recorded(case: dict[str, object]) -> None:
    expected = case["expected"]
    assert isinstance(expected, dict)
    assert {name: extracted(case["prediction"], (STEPS[name],)) for name in expected} == expected


def test_there_are_cases() -> None:
    assert len(CASES) == 59


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<think>b<think>c</think>d", "ad"),
        ("<think>a</think>b<think>c", "b<think>c"),
        ("a<think>b<think>c", "a<think>b<think>c"),
        ("a</thinking>b", "b"),
    ],
)
def test_thoughts_of_lmms_eval(text: str, expected: str) -> None:
    assert extracted(text, ("lmms_strip_think",)) == expected
