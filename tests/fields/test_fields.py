"""Fields: paths, options and their inheritance, what is refused, and what a signature records."""

import functools
import json
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval import Field, Fields, get_protocol
from anls_eval.errors import AnlsError
from anls_eval.fields.comparators import NumberComparator
from anls_eval.fields.field import exact_text
from anls_eval.fields.fields import as_fields
from anls_eval.fields.paths import AnyStep, nearest_path, parse_path, path_text
from anls_eval.fields.rules import FieldRules

STAR = get_protocol("anls_star")


def rules_at(fields: dict[str, Any], *steps: str | int) -> FieldRules:
    """The rules of a place: a text is a key, a number an element."""
    rules = Fields(fields).rules(STAR)
    for step in steps:
        rules = rules.child(step) if isinstance(step, str) else rules.element()
    return rules


def name_of(rules: FieldRules) -> str:
    return "ignore" if rules.ignore else rules.comparator.name if rules.comparator else "text"


# Paths


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("$", "$"),
        ("$.a", "$.a"),
        ("$['a']", "$.a"),
        ('$["a"]', "$.a"),
        ("$.a.b[*].c", "$.a.b[*].c"),
        ("$['a'][*]['b c']", "$.a[*]['b c']"),
        ("$.line-items[*]", "$['line-items'][*]"),
        ("$.total amount", "$['total amount']"),
        ("$.*", "$.*"),
        ("$.*.a", "$.*.a"),
        ("$.*[*]", "$.*[*]"),
        ("$[*][*]", "$[*][*]"),
        ("$['*']", "$['*']"),
        ("$['it\\'s']", '$["it\'s"]'),
        ("$['a.b']", "$['a.b']"),
        ("$['0']", "$['0']"),
        ("$.0", "$['0']"),
        ("$['']", "$['']"),
        ("$.größe", "$.größe"),
        ("$['\\u00e9']", "$.é"),
    ],
)
def test_paths(text: str, normalised: str) -> None:
    assert path_text(parse_path(text)) == normalised
    assert parse_path(normalised) == parse_path(text)


@pytest.mark.parametrize(
    "text",
    ["", "a", ".a", "$a", "$.", "$..a", "$.a.", "$[a]", "$['a'", "$[*", "$.a[*]b", "$.*a", "$[]", "$.a b ", 1, None],
)
def test_what_is_no_path(text: Any) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(text)


@pytest.mark.parametrize(("text", "remedy"), [("$.items[0].sku", "$.items[*].sku"), ("$[-1]", "$[*]")])
def test_an_index_is_refused_with_the_remedy(text: str, remedy: str) -> None:
    with pytest.raises(AnlsError) as caught:
        Fields({text: Field()})
    assert repr(remedy) in str(caught.value)


@given(st.lists(st.text() | st.sampled_from(AnyStep), max_size=5))
def test_every_path_can_be_written_and_read(steps: list[str | AnyStep]) -> None:
    assert parse_path(path_text(steps)) == tuple(steps)


def test_the_nearest_path() -> None:
    assert nearest_path("$.totl", ["$.date", "$.total", "$.items[*].total"]) == "$.total"
    assert nearest_path("$.totl", []) == ""


# Options of one field


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (2, Fraction(2)),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("2.50"), Fraction(5, 2)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_weights_and_tolerances_mean_the_decimal_as_written(given: Any, exact: Fraction) -> None:
    field = Field(compare="number", weight=given, absolute=given, relative=given)
    assert (field.weight, field.absolute, field.relative) == (exact, exact, exact)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight": 0}, "weight=0: expected a decimal greater than 0"),
        ({"weight": -1}, "weight=-1: expected a decimal greater than 0"),
        ({"weight": "heavy"}, "weight='heavy'"),
        ({"weight": True}, "weight=True"),
        ({"weight": float("nan")}, "weight=nan"),
        ({"weight": float("inf")}, "weight=inf"),
        ({"weight": "1e99999"}, "weight='1e99999'"),
        ({"weight": None}, "weight=None"),
        ({"compare": "numbre"}, "Did you mean 'number'?"),
        ({"compare": None}, "compare=None"),
        ({"compare": "number", "absolute": -1}, "absolute=-1: expected a decimal of at least 0"),
        ({"compare": "number", "relative": "1%"}, "relative='1%'"),
        ({"compare": "number", "decimal": ";"}, "decimal=';': expected one of '.', ',', 'auto'"),
        ({"compare": "date", "day_first": "yes"}, "day_first='yes': expected True, False, or None"),
        ({"compare": "date", "formats": "%d.%m.%Q"}, "strptime does not know %Q"),
        ({"compare": "date", "formats": ["%d.%m."]}, "expected a format with a year"),
        ({"compare": "date", "formats": ["%d %Y"]}, "with a month where it has a day"),
        ({"compare": "date", "formats": 5}, "formats=5"),
        ({"compare": "exact", "case_sensitive": 1}, "case_sensitive=1: expected True or False"),
        ({"order": "sorted"}, "order='sorted': expected one of 'any', 'kept'"),
        ({"key": []}, "key=[]"),
        ({"key": ["a", "a"]}, "names a field twice"),
        ({"key": "a", "order": "kept"}, "have no order to keep"),
        ({"compare": "exact", "absolute": 1}, "absolute is an option of compare='number', not of compare='exact'"),
        ({"compare": "text", "case_sensitive": True}, "is an option of compare='exact'"),
        ({"compare": "number", "day_first": True}, "is an option of compare='date'"),
        ({"compare": "ignore", "formats": ["%Y"]}, "is an option of compare='date'"),
        ({"compare": max, "absolute": 1}, "not of a function"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AnlsError) as alone:
        Field(**options)
    assert words in str(alone.value)
    with pytest.raises(AnlsError) as caught:
        Fields({"$.total": options})
    assert str(caught.value).startswith("$.total: ")
    assert words in str(caught.value)


def test_an_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(AnlsError, match=r"\$\.total: option='wieght'.*Did you mean 'weight'"):
        Fields({"$.total": {"wieght": 2}})


def test_fields_show_what_they_name() -> None:
    assert repr(Field()) == "Field()"
    assert repr(Field(weight="0.50", day_first=None)) == "Field(weight='0.5', day_first=None)"
    assert Field(key="sku").key == ("sku",)
    assert Field(compare="date", formats="%d.%m.%Y").formats == ("%d.%m.%Y",)


@given(st.fractions(min_value=0, max_denominator=10**6))
def test_exact_numbers_as_text(value: Fraction) -> None:
    assert Fraction(exact_text(value)) == value
    assert "e" not in exact_text(value).lower()


# Fields


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"$.a": {}, "$['a']": {}}, "the path is given twice"),
        ({"$.items": {"key": "sku"}, "$.items[*].sku": {"compare": "ignore"}}, "the key field 'sku' is ignored"),
        ({"$.items": {"key": ["n", "sku"]}, "$.items[*].*": {"compare": "ignore"}}, "the key field 'n' is ignored"),
        ({"$.items": {"key": "sku"}, "$": {"compare": "ignore"}}, "the key field 'sku' is ignored"),
        ({"$.a": {"absolute": 1}}, "is an option of compare='number'"),
        ({"$.a": {"compare": "date"}, "$.a.b": {"decimal": ","}}, "$.a.b: decimal is an option"),
        ({"$.a": {"weight": "1e-9"}, "$.b": {"weight": 10**6}}, "the weights differ too much"),
        ({"$.a": 5}, "$.a: expected a Field, or a dict of its options"),
        ([("$.a", {})], "expected a dict with a Field for each path"),
    ],
)
def test_fields_that_are_refused(fields: Any, words: str) -> None:
    with pytest.raises(AnlsError) as caught:
        Fields(fields)
    assert words in str(caught.value)


def test_options_may_wait_for_a_comparator_below() -> None:
    fields = {"$": {"decimal": ","}, "$.total": {"compare": "number"}}
    comparator = rules_at(fields, "total").comparator
    assert isinstance(comparator, NumberComparator)
    assert comparator.reader.decimal == ","
    assert Fields({"$.a": {"compare": "ignore"}, "$.a.b": {"absolute": 1}}).rules(STAR).child("a").ignore


INHERITED: dict[str, Any] = {
    "$": {"weight": 3},
    "$.a": {"compare": "exact", "weight": "0.5"},
    "$.a.b": {"compare": "number", "absolute": 1},
    "$.a.b.c": {"relative": "0.1"},
    "$.a.t": {"compare": "text", "weight": 1},
    "$.l": {"order": "kept", "compare": "date", "day_first": True},
    "$.l[*]": {"day_first": None},
    "$.k": {"key": ["x", "y"]},
    "$.i": {"compare": "ignore"},
    "$.i.x": {"compare": "exact", "weight": 2},
    "$.m.*": {"compare": "boolean"},
    "$.m.named": {},
    "$.m.deep.x": {"compare": "number"},
}


@pytest.mark.parametrize(
    ("steps", "compare", "weight"),
    [
        ((), "text", 6),
        (("other", 0, "deeper"), "text", 6),
        (("a",), "exact", 1),
        (("a", "zzz", 0), "exact", 1),
        (("a", "b"), "number", 1),
        (("a", "b", "c"), "number", 1),
        (("a", "t"), "text", 2),
        (("l",), "date", 6),
        (("l", 0), "date", 6),
        (("i",), "ignore", 6),
        (("i", "x"), "ignore", 4),
        (("i", "y", 0), "ignore", 6),
        (("m", "any"), "boolean", 6),
        (("m", "any", "below"), "boolean", 6),
        (("m", "named"), "text", 6),
        (("m", "deep"), "text", 6),
        (("m", "deep", "x"), "number", 6),
    ],
)
def test_inheritance_is_by_option(steps: tuple[str | int, ...], compare: str, weight: int) -> None:
    rules = rules_at(INHERITED, *steps)
    assert (name_of(rules), rules.weight) == (compare, weight)


def test_tolerances_are_inherited_one_by_one() -> None:
    comparator = rules_at(INHERITED, "a", "b", "c").comparator
    assert isinstance(comparator, NumberComparator)
    assert (comparator.absolute, comparator.relative) == (Fraction(1), Fraction(1, 10))


def test_an_option_can_go_back_to_its_default() -> None:
    day_first, either = rules_at(INHERITED, "l").comparator, rules_at(INHERITED, "l", 0).comparator
    assert day_first is not None
    assert either is not None
    assert day_first.parse("01/02/2026", "reference") == (20260201,)
    assert either.parse("01/02/2026", "reference") == (20260102, 20260201)


def test_order_and_key_are_of_one_list_only() -> None:
    assert rules_at(INHERITED, "l").keep_order
    assert not rules_at(INHERITED, "l", 0).keep_order
    assert not rules_at(INHERITED, "l", 0, 0).keep_order
    assert rules_at(INHERITED, "k").key == ("x", "y")
    assert rules_at(INHERITED, "k", 0).key == ()
    assert rules_at({"$": {"order": "kept"}}, 0).is_plain


@pytest.mark.parametrize(
    ("fields", "steps", "is_plain"),
    [
        ({}, (), True),
        ({"$.a": {}}, (), True),
        ({"$.a": {"compare": "text", "weight": 1, "order": "any"}}, ("a",), True),
        ({"$.a.b[*]": {"compare": "exact"}}, (), False),
        ({"$.a.b[*]": {"compare": "exact"}}, ("a", "b"), False),
        ({"$.a.b[*]": {"compare": "exact"}}, ("c",), True),
        ({"$.a.b[*]": {"compare": "exact"}}, ("a", "c", 0), True),
        ({"$.a": {"weight": 2}}, ("a", "b"), False),
        ({"$.*": {"key": "x"}}, ("a",), False),
        ({"$.a": {"compare": "ignore"}}, ("a", "b"), False),
    ],
)
def test_places_that_no_field_changes_are_plain(fields: dict[str, Any], steps: tuple[str, ...], is_plain: bool) -> None:
    assert rules_at(fields, *steps).is_plain is is_plain


def test_long_paths() -> None:
    rules = rules_at({"$" + ".a[*]" * 500: {"compare": "exact"}})
    for _ in range(500):
        assert name_of(rules) == "text"
        rules = rules.child("a").element()
    assert name_of(rules) == "exact"
    assert rules.child("a") is rules.child("a").element().child("b")
    with pytest.raises(AnlsError, match="a path has 1,001 steps; expected at most 1,000"):
        parse_path("$" + ".a" * 1001)


def test_weights_become_integers_of_one_scale() -> None:
    fields = Fields({"$.a": {"weight": "0.25"}, "$.b": {"weight": Fraction(1, 3)}})
    root = fields.rules(STAR)
    assert (fields.scale, fields.unit) == (12, 12)
    assert [root.child(key).weight for key in "abc"] == [3, 4, 12]


def test_fields_are_a_mapping_that_hashes_and_pickles() -> None:
    fields = Fields({"$['a']": Field(compare="exact"), "$.b": {"weight": "2.0"}})
    assert list(fields) == ["$.a", "$.b"]
    assert fields["$.a"] == fields["$['a']"] == Field(compare="exact")
    assert fields == Fields(fields) == Fields(fields.to_dict()) == pickle.loads(pickle.dumps(fields))  # noqa: S301 - ours
    assert hash(fields) == hash(Fields(fields))
    assert fields != Fields({}) != {}
    assert eval(repr(fields), {"Fields": Fields}) == fields  # noqa: S307 - ours
    assert fields.rules(STAR) is fields.rules(STAR)
    assert not hasattr(fields, "__setitem__")
    assert json.loads(json.dumps(fields.to_dict())) == {"$.a": {"compare": "exact"}, "$.b": {"weight": "2"}}


def test_what_is_taken_for_fields() -> None:
    path: Any = "fields.json"
    assert as_fields(None) is None
    fields = Fields({"$.a": Field(weight=2)})
    assert as_fields(fields) is fields
    assert as_fields({"$.a": {"weight": 2}}) == fields
    with pytest.raises(AnlsError, match="expected a Fields"):
        as_fields(path)


def test_fingerprints_tell_fields_that_score_differently() -> None:
    def fingerprint(fields: dict[str, Any]) -> str:
        return Fields(fields).fingerprint()

    assert fingerprint({}) == "44136fa355b3"  # the SHA-256 of {}
    assert fingerprint({"$.a": {"weight": 2}}) == fingerprint({"$['a']": {"weight": "2.0", "compare": "text"}})
    assert fingerprint({"$.a": {}, "$.b": {}}) == fingerprint({"$.b": {}, "$.a": {}})
    assert fingerprint({"$.a": {"compare": max}}) == fingerprint({"$.a": {"compare": max}})
    different: list[dict[str, Any]] = [
        {"$.a": {}},
        {"$.a": {"weight": 2}},
        {"$.a": {"compare": "exact"}},
        {"$.a": {"compare": max}},
        {"$.a": {"compare": min}},
        {"$.a": {"compare": lambda prediction, reference: 1.0}},
        {"$": {"weight": 2}},
        {"$": {"weight": 2}, "$.a": {}},
        {"$": {"weight": 2}, "$.a": {"weight": 1}},  # 1 is the default, but not what holds here without it
    ]
    assert len({fingerprint(fields) for fields in different}) == len(different)


def test_functions_are_recorded_by_name() -> None:
    assert Fields({"$.a": {"compare": exact_text}}).to_dict() == {
        "$.a": {"compare": "anls_eval.fields.field:exact_text"}
    }
    assert Fields({"$.a": {"compare": lambda p, r: 1}}).to_dict() == {"$.a": {"compare": "*"}}
    assert Fields({"$.a": {"compare": functools.partial(max, 1)}}).to_dict() == {"$.a": {"compare": "*"}}

    def inner(prediction: Any, reference: Any) -> float:
        return 1.0

    name = f"{__name__}:test_functions_are_recorded_by_name.<locals>.inner"
    assert Fields({"$.a": {"compare": inner}}).to_dict() == {"$.a": {"compare": name}}
