"""ANLS* with fields: equal to an exhaustive search in fractions, whatever the order, and explained."""

import functools
import json
import math
import random
import re
from fractions import Fraction
from typing import Any

import fields_reference
import pytest
import tree_reference
from budget import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from anls_eval.explanation.result import FieldComparison, Match
from anls_eval.fields.field import Field
from anls_eval.fields.fields import Fields
from anls_eval.registry import get_protocol, signature
from anls_eval.scoring import anls_star_score, anls_star_scores, explain

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* lists? of strings with"),
    pytest.mark.filterwarnings("ignore:.* (is|are) None or NaN where the reference is a document"),
    pytest.mark.filterwarnings("ignore:the field .* matches nothing"),
    pytest.mark.filterwarnings("ignore:.* elements of .* without the key"),
]

CASES = [json.loads(line) for line in (DATA / "fields.jsonl").read_text(encoding="utf-8").splitlines()]
OPTIONS_OF = {
    "number": {"absolute", "relative", "decimal"},
    "date": {"day_first", "formats"},
    "exact": {"case_sensitive"},
}


def leaf_similarity(options: dict[str, Any], g: Any, p: Any) -> Fraction:
    compare = options.get("compare", "text")
    if compare == "text":
        return tree_reference.leaves(g, p)
    own = {name: options[name] for name in options if name == "compare" or name in OPTIONS_OF.get(compare, ())}
    comparator = comparator_of(json.dumps(own))
    return Fraction(comparator.similarity(comparator.parse(p, "prediction"), comparator.parse(g, "reference")))


@functools.cache
def comparator_of(options: str) -> Any:
    return Fields({"$": json.loads(options)}).rules(get_protocol("anls_star")).comparator


def exhaustive(prediction: Any, reference: Any, fields: dict[str, Any]) -> float:
    return float(fields_reference.score(prediction, as_python(reference), fields, leaf_similarity))


def as_python(tree: Any) -> Any:
    """Alternatives as tuples."""
    if isinstance(tree, dict):
        if "$one_of" in tree:
            return tuple(map(as_python, tree["$one_of"]))
        return {key: as_python(child) for key, child in tree.items()}
    return [as_python(child) for child in tree] if isinstance(tree, list) else tree


def shuffled(tree: Any, generator: random.Random, kept: bool) -> Any:
    """The same tree in another order of keys and alternatives, and of lists unless their order counts."""
    if isinstance(tree, dict):
        items = [(key, shuffled(child, generator, kept)) for key, child in tree.items()]
        return dict(generator.sample(items, len(items)))
    if isinstance(tree, (list, tuple)):
        children = [shuffled(child, generator, kept) for child in tree]
        in_order = kept and isinstance(tree, list)
        return children if in_order else type(tree)(generator.sample(children, len(children)))
    return tree


def is_kept(fields: dict[str, Any]) -> bool:
    return any(options.get("order") == "kept" for options in fields.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_cases(case: dict[str, Any]) -> None:
    prediction, reference, fields = case["prediction"], case["reference"], case["fields"]
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"].rpartition(" ")[2]):
            anls_star_score(prediction, reference, fields=fields)
        return
    score = anls_star_score(prediction, reference, fields=fields)
    assert score == pytest.approx(case["value"], abs=1e-12)
    assert score == exhaustive(prediction, reference, fields)
    for seed in range(5):
        generator = random.Random(seed)  # noqa: S311
        pair = [shuffled(as_python(tree), generator, is_kept(fields)) for tree in (prediction, reference)]
        assert anls_star_score(*pair, fields=fields) == score


def test_many_documents_are_scored_like_each() -> None:
    by_fields: dict[str, list[dict[str, Any]]] = {}
    for case in CASES:
        if "value" in case:
            by_fields.setdefault(json.dumps(case["fields"]), []).append(case)
    for text, cases in by_fields.items():
        predictions, references = ([case[side] for case in cases] for side in ("prediction", "reference"))
        scores = anls_star_scores(predictions, references, fields=json.loads(text))
        each = [
            anls_star_score(prediction, reference, fields=json.loads(text))
            for prediction, reference in zip(predictions, references, strict=True)
        ]
        assert scores.tolist() == each


# Random documents: of few texts and keys, so that they meet.

LEAVES = st.sampled_from(
    ["x", "xy", "total", "totel", "A", "a", "", " ", "12", 12, "12.0", "1,200", 1200, 12.5, None, True]
)
NUMBERS = st.sampled_from([12, "12", "12.0", "12.4", "EUR 13", 13, "", " ", None, 12.5])
DATES = st.sampled_from(["2026-05-06", "05/06/2026", "06/05/2026", "6 May 2026", "2026-05", "", None])
KEYS = "abcn"


def trees(with_options: bool, parsed: bool) -> st.SearchStrategy[Any]:
    """Documents; n holds numbers, d dates, k the key of elements. References parse."""
    numbers = NUMBERS if parsed else NUMBERS | st.sampled_from(["n/a", ["12"], {"a": 12}])
    dates = DATES if parsed else DATES | st.just("soon")

    def option(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return of | st.lists(of, min_size=1, max_size=2).map(tuple) if with_options else of

    item = st.fixed_dictionaries(
        {}, optional={"k": option(st.sampled_from("pqr")), "n": option(numbers), "a": option(LEAVES)}
    )
    lists = st.lists(option(item | LEAVES) if with_options else item | LEAVES, max_size=3)
    deeper = st.recursive(
        LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner)
    )
    optional = {"n": option(numbers), "d": option(dates), "l": option(lists), "a": option(deeper), "b": deeper}
    return st.fixed_dictionaries({}, optional=optional)


Options = dict[str, Any]


def choices(*options: Options) -> st.SearchStrategy[Options]:
    return st.sampled_from(options)


def merged(*parts: st.SearchStrategy[Options]) -> st.SearchStrategy[Options]:
    return st.tuples(*parts).map(lambda found: functools.reduce(dict.__or__, found))


WEIGHTS = choices({}, {}, {"weight": 2}, {"weight": "0.25"}, {"weight": "3.5"})
NUMBER = merged(choices({"compare": "number"}), choices({}, {"absolute": "0.5"}, {"relative": 0.05}), WEIGHTS)
TEXT = merged(
    choices({}, {"compare": "exact"}, {"compare": "exact", "case_sensitive": True}, {"compare": "ignore"}), WEIGHTS
)
FIELDS: st.SearchStrategy[dict[str, Options]] = st.fixed_dictionaries(
    {"$.n": NUMBER, "$.l[*].n": NUMBER, "$.d": merged(choices({"compare": "date"}), WEIGHTS)},
    optional={
        "$": WEIGHTS,
        "$.l": merged(choices({}, {"order": "kept"}, {"key": "k"}, {"key": ["k", "n"]}), WEIGHTS),
        "$.a": merged(TEXT, choices({}, {"order": "kept"})),
        "$.*": TEXT,
        "$.l[*].k": WEIGHTS,
        "$.a.a": TEXT,
        "$.a[*]": TEXT,
        "$.l[*]": WEIGHTS,
    },
)
REFERENCES, PREDICTIONS = trees(True, parsed=True), trees(False, parsed=False)


class TestAgainstTheExhaustiveSearch:
    @given(PREDICTIONS, REFERENCES, FIELDS, st.randoms(use_true_random=False))
    @examples(600)
    def test_equal_in_any_order(
        self, prediction: Any, reference: Any, fields: dict[str, Any], generator: random.Random
    ) -> None:
        expected = exhaustive(prediction, reference, fields)
        assert anls_star_score(prediction, reference, fields=fields) == expected
        kept = is_kept(fields)
        pair = shuffled(prediction, generator, kept), shuffled(reference, generator, kept)
        assert anls_star_score(*pair, fields=fields) == expected
        assert anls_star_scores([prediction, pair[0]], [reference, pair[1]], fields=fields).tolist() == [expected] * 2
        assert 0 <= expected <= 1


class TestProperties:
    @given(trees(False, parsed=True), FIELDS)
    @settings(max_examples=60, deadline=None)
    def test_a_document_that_is_its_reference_scores_1(self, document: Any, fields: dict[str, Options]) -> None:
        assert anls_star_score(document, document, fields=fields) == 1

    @given(
        st.dictionaries(st.sampled_from("abc"), LEAVES, min_size=1),
        st.dictionaries(st.sampled_from("abc"), LEAVES, min_size=1),
        st.sampled_from(["1", "2.5", "0.1"]),
    )
    @settings(max_examples=60, deadline=None)
    def test_more_weight_on_a_leaf_that_scores_0_never_raises_the_score(
        self, prediction: Any, reference: Any, more: str
    ) -> None:
        before = explain(prediction, reference, fields={"$.a": {"weight": 1}})
        paths = ("$.a", "$['a']")
        zero = [match for match in before.matches if (match.reference_path or match.prediction_path) in paths]
        if zero and not zero[0].credit:
            after = anls_star_score(prediction, reference, fields={"$.a": {"weight": Fraction(more) + 1}})
            assert after <= before.score

    @given(PREDICTIONS, REFERENCES, st.sampled_from(["n", "l", "a"]))
    @settings(max_examples=60, deadline=None)
    def test_ignoring_is_removing_from_both_sides(self, prediction: Any, reference: Any, key: str) -> None:
        fields = {"$.n": {"compare": "number"}, "$.d": {"compare": "date"}}
        without = [{own: child for own, child in tree.items() if own != key} for tree in (prediction, reference)]
        ignored = anls_star_score(prediction, reference, fields=fields | {f"$.{key}": {"compare": "ignore"}})
        assert ignored == anls_star_score(*without, fields=fields)

    @given(PREDICTIONS, REFERENCES)
    @settings(max_examples=60, deadline=None)
    def test_without_a_field_that_changes_anything_the_score_is_that_of_the_protocol(
        self, prediction: Any, reference: Any
    ) -> None:
        score = anls_star_score(prediction, reference)
        nothing: list[dict[str, Options]] = [{}, {"$.a": {}}, {"$": {"weight": 1, "compare": "text"}}]
        for fields in nothing:
            assert anls_star_score(prediction, reference, fields=fields) == score
        assert explain(prediction, reference, fields={}).to_dict() == explain(prediction, reference).to_dict()

    @given(PREDICTIONS, REFERENCES, FIELDS, st.randoms(use_true_random=False))
    @settings(max_examples=100, deadline=None)
    def test_the_explanation_adds_up_and_does_not_depend_on_order(
        self, prediction: Any, reference: Any, fields: dict[str, Options], generator: random.Random
    ) -> None:
        found = explain(prediction, reference, fields=fields)
        assert math.fsum(match.credit for match in found.matches) == pytest.approx(found.score * found.length) or (
            not found.length
        )
        assert math.fsum(match.weight for match in found.matches) == pytest.approx(found.length)
        kept = is_kept(fields)
        other = explain(shuffled(prediction, generator, kept), shuffled(reference, generator, kept), fields=fields)
        assert sorted(map(without_indexes, other.matches)) == sorted(map(without_indexes, found.matches))


def without_indexes(match: Match) -> str:
    """A row with [*] in place of indexes and without the text of containers, to compare and sort by."""
    row = match.to_dict()
    shown = {key: None if str(value).startswith(("[", "{", "(")) else value for key, value in row.items()}
    return re.sub(r"\[\d+\]", "[*]", json.dumps(shown | {"compared_as": row["compared_as"]}))


NUMBERS_ONLY = {"$.x": {"compare": "number"}}


class TestErrors:
    @pytest.mark.parametrize(
        ("prediction", "reference", "place"),
        [
            ({"x": 1}, {"x": "n/a"}, "reference $.x: 'n/a' is not a number"),
            ({}, {"x": "n/a"}, "reference $.x: 'n/a' is not a number"),
            ({"x": 1}, {"x": (1, "n/a")}, "reference $.x['$one_of'][1]: 'n/a' is not a number"),
            ({"x": 1}, {"x": {"y": ["2", True]}}, "reference $.x.y[1]: True is not a number"),
            ([], {"x": "n/a"}, "reference $.x: 'n/a' is not a number"),
        ],
    )
    def test_a_reference_that_does_not_parse(self, prediction: Any, reference: Any, place: str) -> None:
        message = f"^{re.escape(place)}. .*compare='text'.*compare='ignore'"
        for run in (anls_star_score, explain):
            with pytest.raises(ValueError, match=message):
                run(prediction, reference, fields=NUMBERS_ONLY)
        with pytest.raises(ValueError, match=message.replace("^", "^row 1: ")):
            anls_star_scores([{"x": 1}, prediction], [{"x": 1}, reference], fields=NUMBERS_ONLY)

    @pytest.mark.parametrize("fields", [{}, {"$.x": Field(compare="number")}, Fields({})])
    def test_a_protocol_of_texts(self, fields: Any) -> None:
        with pytest.raises(ValueError, match=r"fields are parts of trees, which protocol 'rrc' does not score"):
            explain("a", ["a"], protocol="rrc", fields=fields)
        for protocol in ("rrc", "dude"):
            with pytest.raises(ValueError, match=r"fields are parts of trees.* Use one of 'anls_star'"):
                signature(protocol, fields=fields)

    def test_what_is_no_fields(self) -> None:
        with pytest.raises(ValueError, match="expected a Fields, or a dict with a Field for each path"):
            anls_star_score({}, {}, fields=[("$.x", "number")])  # type: ignore[arg-type]

    @pytest.mark.filterwarnings("default")
    def test_a_path_that_matches_nothing(self) -> None:
        with pytest.warns(UserWarning, match=r"the field \$\.l\[\*\]\.pirce matches nothing .* is \$\.l\[\*\]\.price"):
            anls_star_score({}, {"l": [{"price": 1}]}, fields={"$.l[*].pirce": {"compare": "number"}})

    @pytest.mark.filterwarnings("default")
    def test_references_without_the_key(self) -> None:
        references = [{"l": [{"k": 1}]}, {"l": [{"k": 1}, {"v": 1}]}, {"l": ({"v": 1}, [{"v": 1}])}, {}]
        with pytest.warns(
            UserWarning, match=r"^2 of 4 references \(row 1, 2\) have elements of \$\.l without the key k"
        ):
            anls_star_scores([{}] * 4, references, fields={"$.l": {"key": "k"}})


class TestScore:
    """What the cases do not show."""

    @pytest.mark.parametrize(
        ("fields", "prediction", "reference", "score"),
        [
            # A function is called with the leaves as passed.
            ({"$.x": Field(compare=lambda p, r: 0.25 if (p, r) == (1, "2") else 0)}, {"x": 1}, {"x": "2"}, 0.25),
            ({"$.x": Field(compare=lambda p, r: 0, weight=3)}, {"x": "a", "y": "b"}, {"x": "a", "y": "b"}, 0.25),
            # An alternative that would match better, but has another key, is not taken.
            (
                {"$": {"key": "k"}},
                [{"k": "a", "v": "x", "w": "y"}],
                [({"k": "a", "v": "q", "w": "r"}, {"k": "b", "v": "x", "w": "y"})],
                1 / 3,
            ),
            ({"$": {"key": "k"}}, [{"k": "b"}], [({"k": "a"}, {"k": "b"})], 1),
            # Elements without the key may stay alone where a pair would only cost.
            ({"$": {"key": "k"}}, [{}], [{"b": []}], 1),
            ({"$": {"compare": "ignore"}}, "anything", {"x": ["y"]}, 1),
            ({"$[*]": {"compare": "ignore"}}, ["a"], ["b", "c"], 1),
            ({"$": {"order": "kept"}}, ["a"], ["b", "a"], 0),
            ({"$": {"order": "kept"}}, ["b", "a", []], ["b"], 0.5),
            ({"$.x": {"compare": "number", "weight": "0.1"}}, {"x": "7"}, {"x": 7, "y": "a"}, 1 / 11),
        ],
    )
    def test_table(self, fields: Any, prediction: Any, reference: Any, score: float) -> None:
        assert anls_star_score(prediction, reference, fields=fields) == pytest.approx(score, abs=1e-15)
        assert anls_star_scores([prediction] * 2, [reference] * 2, fields=fields).tolist() == [pytest.approx(score)] * 2

    def test_the_paper_leaves_out_blank_numbers(self) -> None:
        pairs = [({"x": ""}, {"x": " "}, 1), ({"x": "3"}, {"x": " "}, 0), ({"x": " "}, {"x": 3}, 0), ({}, {"x": ""}, 1)]
        for prediction, reference, score in pairs:
            for run in (anls_star_score, lambda p, r, **own: anls_star_scores([p], [r], **own)[0]):
                assert run(prediction, reference, fields=NUMBERS_ONLY, protocol="anls_star_paper") == score

    def test_weights_are_summed_exactly(self) -> None:
        fields = {f"$.k{number}": {"weight": "0.1"} for number in range(10)} | {"$.z": {"weight": 1}}
        document = {f"k{number}": "a" for number in range(10)} | {"z": "b"}
        assert anls_star_score(document | {"z": "c"}, document, fields=fields) == 0.5

    def test_a_large_list_in_any_order(self) -> None:
        generator = random.Random(0)  # noqa: S311
        items = [{"sku": str(n % 7), "qty": n % 5, "price": f"{n % 11}.50"} for n in range(60)]
        others = [item | {"price": item["price"] if n % 3 else "1"} for n, item in enumerate(items)][:50]
        for fields in ({"$": {"key": "sku"}}, {"$[*].sku": {"weight": 5}}, {"$": {"key": ["sku", "qty"]}}):
            typed: Any = fields | {"$[*].price": {"compare": "number"}}
            scores = {
                anls_star_score(generator.sample(others, 50), generator.sample(items, 60), fields=typed)
                for _ in range(4)
            }
            assert len(scores) == 1

    def test_10000_levels(self) -> None:
        deep: Any = "a"
        for _ in range(10_000):
            deep = [deep]
        assert anls_star_score(deep, deep, fields={"$[*]": {"weight": 2}}) == 1
        assert explain(deep, deep, fields={"$[*]": {"weight": 2}}).score == 1

    def test_the_signature(self) -> None:
        fields = Fields({"$.x": {"compare": "number"}})
        assert f"|fields:{fields.fingerprint()}|" in explain({}, {}, fields=fields).signature
        assert "fields" not in signature("anls_star", fields={})


FIELDS_OF_AN_INVOICE: dict[str, Options] = {
    "$.total": {"compare": "number", "absolute": "0.01", "relative": "0.05", "weight": 2},
    "$.date": {"compare": "date"},
    "$.note": {"compare": "ignore"},
    "$.items": {"key": "sku"},
    "$.items[*].price": {"compare": "number", "weight": "0.5"},
}
REFERENCE = {
    "total": "1,299.00",
    "date": "2026-05-14",
    "vendor": "ACME",
    "note": "x",
    "items": [{"sku": "A", "price": 5}, {"sku": "B", "price": 7}],
}
PREDICTION = {
    "total": 1300,
    "date": "May 14, 2026",
    "vendor": "ACMF",
    "items": [{"sku": "B", "price": "n/a"}, {"sku": "C", "price": 7}],
}
EXPLAINED = """\
score 0.558824 = 4.75 of 8.5
credit  reference                     prediction                      why it is not full
0/1     $.items[0].sku    A           -                 -             missing
0/1     -                 -           $.items[1].sku    C             hallucinated
0/0.5   $.items[1].price  7           $.items[0].price  n/a           different: the prediction is not a number
0/0.5   $.items[0].price  5           -                 -             missing
0/0.5   -                 -           $.items[1].price  7             hallucinated
0.75/1  $.vendor          ACME        $.vendor          ACMF          1 of 4 characters differ
2/2     $.total           1,299.00    $.total           1300          number 1299 and 1300, tolerance 0.01 or 5 %
1/1     $.date            2026-05-14  $.date            May 14, 2026  date 2026-05-14
1/1     $.items[1].sku    B           $.items[0].sku    B"""


def test_an_explanation() -> None:
    found = explain(PREDICTION, REFERENCE, fields=FIELDS_OF_AN_INVOICE)
    assert str(found).rpartition("\n")[0] == EXPLAINED
    total = next(match for match in found.matches if match.reference_path == "$.total")
    assert total.compared_as == FieldComparison("number", "1299", "1300", "0.01 or 5 %")
    assert total.to_dict()["compared_as"] == {
        "comparator": "number", "reference": "1299", "prediction": "1300", "tolerance": "0.01 or 5 %"
    }  # fmt: skip
    closest: Any = found.closest_reference
    assert closest["items"] == [{"sku": "B", "price": 7}, {"sku": "A", "price": 5}]
    assert "note" not in closest


def test_one_huge_number_in_a_column_changes_no_other() -> None:
    fields = {"$[*].n": Field(compare="number", absolute="0.5")}
    items = [{"n": number, "t": str(number)} for number in range(20)]
    others = [{"n": f"{number}.25", "t": str(number)} for number in range(20)]
    assert anls_star_score(others, items, fields=fields) == 1
    others[3]["n"] = "3e81"
    assert anls_star_score(others, items, fields=fields) == 39 / 40
