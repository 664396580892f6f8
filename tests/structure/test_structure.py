"""Lists and dicts in texts, as Python, NumPy, pandas and JSON print them."""

import json
import math
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.errors import AnlsError
from anls_eval.structure import answers_in, labels_in, looks_like_structure, parse_names, structure_in

SQUAD = "{'text': array(['a', 'b'], dtype=object), 'answer_start': array([3, 4])}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        (" ['a',\n 'b',] ", ["a", "b"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),  # NumPy, where Python would read one string
        ("""["it's", 'a "b"']""", ["it's", 'a "b"']),
        (repr(["\\", "\n", "\x00", "é", "\U0001f600", "'\""]), ["\\", "\n", "\x00", "é", "\U0001f600", "'\""]),
        ("['\ud800']", ["\ud800"]),
        ("[]", []),
        ("[1, 2]", [1, 2]),
        ("[1. 2.5 -3e2]", [1.0, 2.5, -300.0]),
        ("['a', 1]", ["a", 1]),
        ("['a', ['b']]", ["a", ["b"]]),
        ("[None, nan, True]", [None, None, True]),
        ("[np.str_('a'), np.float64(0.5)]", ["a", 0.5]),
        ("array(['a', 'b'], dtype='<U1')", None),  # not wholly a list
        (SQUAD, {"text": ["a", "b"], "answer_start": [3, 4]}),
        ("[array([], dtype=float64), array([1], shape=(1,))]", [[], [1]]),
        ("{'a': {'b': [1]}, 2: None}", {"a": {"b": [1]}, "2": None}),
        ('{"a": NaN}', {"a": None}),
        ("[a]", None),
        ("['a'", None),
        ("['a' ... 'b']", None),
        ("['a''b']", None),
        ("['a'] or ['b']", None),
        ("[f'{1}']", None),
        ("[__import__('os')]", None),
        (r"['\d']", None),  # no repr
        ("[01 'a']", None),
        ("{'a': 1, 'a': 2}", None),  # of which one would be lost
        ('{"a": 1, "a": 2}', None),
        ("{'a'}", None),
        ("[Infinity]", None),
        ("[" * 100_000 + "]" * 100_000, None),
        ("[" * 200 + "'a'" + "]" * 200, None),
        ("[" + "9" * 5000 + " 'a']", None),
        ("['" + "a" * 1_000_000 + "']", None),
        ("('a', 'b')", None),
        ("12", None),
        ("", None),
    ],
)
def test_structure(text: str, expected: Any) -> None:
    assert structure_in(text) == expected


@pytest.mark.parametrize(
    ("text", "answers", "labels"),
    [
        ("['a', None, nan]", ["a"], ["a"]),
        ("[1]", [1], [1]),
        (SQUAD, ["a", "b"], None),
        ("[{'text': 'a', 'answer_start': 3}]", ["a"], None),
        ("['a', ['b']]", None, None),
        ('{"total": 3}', None, None),
        ("Oslo", None, None),
    ],
)
def test_answers_and_labels(text: str, answers: Any, labels: Any) -> None:
    assert (answers_in(text), labels_in(text)) == (answers, labels)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[("['a', ...", True), ('{"a": ', True), ("[{", True), ("{'a', 'b'}", True), ("('a', 'b')", True)],
        *[("('a',)", True), ("[unclear] word", False), ("[1", False), ("Oslo", False), ("('a') b", False)],
        ("(1, 2)", False),
    ],
)
def test_looks_like_structure(text: str, expected: bool) -> None:
    assert looks_like_structure(text) == expected


_TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(_TREES, max_size=4) | st.dictionaries(st.text(), _TREES, max_size=4))
def test_what_is_printed_comes_back(tree: Any) -> None:
    assert structure_in(json.dumps(tree)) == tree
    assert structure_in(repr(tree)) == tree


@given(st.text(alphabet="[]{}()'\"\\,:xuUfb \n0.eaNnoe=", max_size=40))
def test_no_text_fails(text: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        found = structure_in(f"[{text}]"), structure_in(f"{{{text}}}")
    assert not caught
    assert all(own is None or isinstance(own, (list, dict)) for own in found)


@pytest.mark.parametrize(
    ("parse", "expected"),
    [(None, None), ("none", set()), ("answers", {"references"}), (["predictions", "pages"], {"predictions", "pages"})],
)
def test_option(parse: Any, expected: Any) -> None:
    assert parse_names(parse, ["pages"]) == expected


@pytest.mark.parametrize("parse", ["", "pages", ["none", "answers"], [], 3, math.nan])
def test_wrong_option(parse: Any) -> None:
    with pytest.raises(AnlsError, match=r"parse=.*expected none, or some of predictions, answers"):
        parse_names(parse)
