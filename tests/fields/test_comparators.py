"""Comparators: parsed leaves, compared one by one, as matrices and pair by pair."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval import Fields, get_protocol
from anls_eval.errors import AnlsError
from anls_eval.fields.comparators import Comparator, is_blank, unparsed_reference


def comparator(compare: str | Callable[[Any, Any], float], **options: Any) -> Comparator:
    rules = Fields({"$.x": {"compare": compare, **options}}).rules(get_protocol("anls_star"))
    found = rules.child("x").comparator
    assert found is not None
    return found


def similarity(compare: Comparator, prediction: Any, reference: Any) -> float:
    parsed = compare.parse(reference, "reference")
    assert parsed is not None
    return compare.similarity(compare.parse(prediction, "prediction"), parsed)


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        *((word, True) for word in ("true", "True", "yes", "YES", "y", "Y", "on", "1", " true ", True, 1)),
        *((word, False) for word in ("false", "FALSE", "no", "n", "off", "Off", "0", False, 0)),
        *((word, None) for word in ("", "maybe", "2", "t", "ja", "truee", 2, 1.0, 0.5, "1.0")),
    ],
)
def test_booleans(value: Any, parsed: bool | None) -> None:
    assert comparator("boolean").parse(value, "reference") is parsed


@pytest.mark.parametrize(
    ("prediction", "reference", "folded", "cased"),
    [
        ("DE12", "DE12", 1, 1),
        ("de12", "DE12", 1, 0),
        ("  DE  12 ", "DE 12", 1, 1),
        ("DE13", "DE12", 0, 0),
        (12, "12", 1, 1),
        ("1", 1.0, 0, 0),
        (True, "true", 1, 1),
        ("TRUE", True, 1, 0),
        ("", "a", 0, 0),
        ("", " ", 1, 1),
    ],
)
def test_exact(prediction: Any, reference: Any, folded: float, cased: float) -> None:
    assert similarity(comparator("exact"), prediction, reference) == folded
    assert similarity(comparator("exact", case_sensitive=True), prediction, reference) == cased


def test_integers_that_python_does_not_write() -> None:
    huge = 10**5000
    assert comparator("number").parse(huge, "prediction") is None
    assert comparator("boolean").parse(huge, "prediction") is None
    assert comparator("date").parse(huge, "prediction") is None
    with pytest.raises(ValueError, match="too many digits to write; pass it as text"):
        comparator("exact").parse(huge, "prediction")


@pytest.mark.parametrize(
    "unit", ["1", "1,", "1.", "$", "(", ")", "()", "-", "%", " ", "1 ", "'", "e", "May ", "1/", "é"]
)
def test_long_texts_are_read_once(unit: str) -> None:
    for name in ("number", "date", "boolean"):
        compare = comparator(name, **({"formats": "%d.%m.%Y"} if name == "date" else {}))
        assert compare.parse(unit * 100_000, "prediction") is None


def test_exact_follows_the_steps_of_the_protocol_on_both_sides() -> None:
    protocol = dataclasses.replace(get_protocol("anls_star"), prediction_steps=("upper",), answer_steps=("strip",))
    compare = Fields({"$": {"compare": "exact"}}).rules(protocol).comparator
    assert compare is not None
    assert similarity(compare, "ab", " AB ") == 1
    assert similarity(compare, "ab ", " AB ") == 0


def test_dates_of_which_any_readings_agree() -> None:
    date = comparator("date")
    assert similarity(date, "02/01/2026", "01/02/2026") == 1
    assert similarity(date, "2026-02-01", "01/02/2026") == 1
    assert similarity(date, "01/02/2026", "2026-03-01") == 0
    assert similarity(date, "2026-05", "2026-05-01") == 0
    assert similarity(date, "May 2026", "2026-05") == 1
    assert similarity(date, "2026", "2026-05") == 0


@pytest.mark.parametrize("compare", ["number", "date", "boolean"])
def test_blank_is_none_where_values_are_parsed(compare: str) -> None:
    assert comparator(compare).blank_is_none
    assert not comparator("exact").blank_is_none
    assert comparator(compare).parse(" ", "prediction") is None


@pytest.mark.parametrize(("value", "blank"), [("", True), (" \n\u00a0", True), ("x", False), (None, False), (0, False)])
def test_blank(value: object, blank: bool) -> None:
    assert is_blank(value) is blank


def first_letters(prediction: Any, reference: Any) -> float:
    return float(str(prediction)[:1] == str(reference)[:1]) / 2


def test_functions_get_the_values_as_they_were_passed() -> None:
    seen = []

    def remember(prediction: Any, reference: Any) -> float:
        seen.append((prediction, reference))
        return 1

    compare = comparator(remember)
    assert similarity(compare, True, 1.0) == 1
    assert [[type(value) for value in pair] for pair in seen] == [[bool, float]]


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), None, "1", [1]])
def test_functions_that_return_no_similarity(value: Any) -> None:
    with pytest.raises(AnlsError) as caught:
        similarity(comparator(lambda prediction, reference: value), "p", "r")
    assert str(caught.value).startswith(
        f"$.x: the function returned {value!r} for the prediction 'p' and the reference 'r'"
    )
    assert "expected a number from 0 to 1" in str(caught.value)


def test_a_reference_that_does_not_parse_names_both_ways_out() -> None:
    for compare in ("number", "date", "boolean"):
        words = unparsed_reference("n/a", compare)
        assert words.startswith(f"'n/a' is not a {compare}.")
        assert "compare='text'" in words
        assert "compare='ignore'" in words


LEAVES = st.one_of(
    st.sampled_from(
        ["1", "1.0", "2", "1,5", "yes", "no", "true", "2026", "2026-05-14", "05/06/2026", "06/05/2026", "x", ""]
    ),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, 1.5]),
    st.booleans(),
)
COMPARATORS = [
    comparator("exact"),
    comparator("exact", case_sensitive=True),
    comparator("number"),
    comparator("number", absolute="0.5"),
    comparator("number", relative="0.5"),
    comparator("date"),
    comparator("date", day_first=True),
    comparator("boolean"),
    comparator(first_letters),
]


@pytest.mark.parametrize("compare", COMPARATORS)
@given(st.lists(LEAVES, max_size=5), st.lists(LEAVES, max_size=5))
def test_columns_are_the_pairs(compare: Comparator, references: list[Any], predictions: list[Any]) -> None:
    r = [parsed for parsed in compare.parse_all(references, "reference") if parsed is not None]
    p = compare.parse_all(predictions, "prediction")
    assert p == [compare.parse(value, "prediction") for value in predictions]
    expected = [[compare.similarity(one, other) for one in p] for other in r]
    matrix = compare.matrix(r, p)
    assert matrix.shape == (len(r), len(p))
    assert matrix.dtype == float
    assert matrix.tolist() == expected
    n = min(len(r), len(p))
    assert compare.vector(r[:n], p[:n]).tolist() == [expected[i][i] for i in range(n)]
    assert all(isinstance(compare.words(parsed), str) for parsed in r)


TEXTS_OF_NUMBERS = st.one_of(
    st.decimals(-1000, 1000, places=2).map(str),
    st.sampled_from(
        ["1,299.00", "1299", "12345678901.2345", "0.12345", "-0", "007", "1a.5", "\ud800", " ", "", "5.", ".5"]
    ),
)


COLUMNS: st.SearchStrategy[list[tuple[Any, Any]]] = st.sampled_from(
    [LEAVES, TEXTS_OF_NUMBERS, st.integers(-3, 3) | st.floats(-3, 3)]
).flatmap(lambda leaves: st.lists(st.tuples(leaves, leaves), max_size=6))


@pytest.mark.parametrize(
    "compare", [*COMPARATORS, comparator("number", relative="0.123457"), comparator("number", decimal=",")]
)
@given(COLUMNS)
def test_columns_are_compared_as_each_pair(compare: Comparator, pairs: list[tuple[Any, Any]]) -> None:
    references, predictions = ([own[side] for own in pairs] for side in (0, 1))
    found, unparsed = compare.compared(references, predictions)
    parsed = [compare.parse(own, "reference") for own in references]
    assert unparsed == [index for index, own in enumerate(parsed) if own is None] == compare.unparsed(references)
    others = [compare.parse(own, "prediction") for own in predictions]
    expected = [0.0 if r is None else compare.similarity(p, r) for p, r in zip(others, parsed, strict=True)]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("compare", "value", "words"),
    [
        (comparator("number"), "1,299.00", "1299"),
        (comparator("number"), "-.50", "-0.5"),
        (comparator("date"), "14 May 2026", "2026-05-14"),
        (comparator("date"), "01/02/2026", "2026-01-02 or 2026-02-01"),
        (comparator("date"), "2026", "2026"),
        (comparator("boolean"), "YES", "true"),
        (comparator("exact"), " DE 12", "de 12"),
        (comparator(first_letters), "x", "'x'"),
    ],
)
def test_words_for_explanations(compare: Comparator, value: Any, words: str) -> None:
    assert compare.words(compare.parse(value, "reference")) == words
