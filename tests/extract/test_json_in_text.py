"""JSON in the output of a model: the last outermost object, or array of objects, that parses."""

import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.extract.json_in_text import json_in_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here it is:\n```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1} or {"a": 2}', {"a": 2}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),  # the outermost
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('{"a": 1} as in [1]', {"a": 1}),  # an array, but not of objects
        ('see [1], {x} and {"a": [2]}', {"a": [2]}),
        ('{"a": 1} {"a": 2', {"a": 1}),  # the last that parses
        ('{"a": "}"}', {"a": "}"}),
        ("{}", {}),
        ("[]", None),
        ("[1, 2]", None),
        ('{"a": ', None),
        ("Oslo", None),
        ("", None),
    ],
)
def test_json_in_text(text: str, expected: Any) -> None:
    assert json_in_text(text) == expected


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers() | st.none()),
    st.text("ab .\n`", max_size=9),
)
def test_an_object_in_prose_is_found(tree: dict[str, Any], prose: str) -> None:
    assert json_in_text(f"{prose}{json.dumps(tree)}{prose}") == tree


def test_deep_brackets_and_long_numbers_are_not_json() -> None:
    deep = "[" * 100_000
    assert json_in_text(f'{{"a": 1}} {deep}') == {"a": 1}
    assert json_in_text(f'{{"a": {"9" * 10_000}}}') is None


@pytest.mark.parametrize("piece", ["{", "[", '{"', '{"a":', "[1,", "[[1],", '[{"a":1},'])
def test_twice_the_text_takes_at_most_twice_the_work(piece: str) -> None:
    assert _tried(piece, 100_000) <= 2 * _tried(piece, 50_000) + 10


def _tried(piece: str, size: int) -> int:
    """Return how often the parser begins anew in a text of one repeated piece."""
    tried = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal tried
        tried += event == "call" and frame.f_code.co_name == "raw_decode"

    sys.setprofile(count)
    try:
        json_in_text(piece * (size // len(piece)))
    finally:
        sys.setprofile(None)
    return tried
