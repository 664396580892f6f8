"""ANLS*: equal to brute force in fractions and to the released package, whatever the order, and explained."""

import dataclasses
import datetime
import decimal
import enum
import json
import random
import re
import subprocess
import sys
import types
import warnings
from collections import Counter, OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import tree_reference
from any_trees import KEYS, PREDICTIONS, REFERENCES, trees
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from patched import set_limit
from places import DATA, EXAMPLES, PEERS

from anls_eval.explanation.result import Explanation, Match, ScoreNode
from anls_eval.leaderboards import leaderboard_figures
from anls_eval.metric import ANLS
from anls_eval.registry import get_protocol, signature
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_score, anls_star_score, anls_star_scores, explain
from anls_eval.tree import nodes
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.compare import Comparison
from anls_eval.tree.nodes import one_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* lists? of strings with"),
    pytest.mark.filterwarnings("ignore:.* (is|are) None or NaN where the reference is a document"),
]


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# Values of anls_star 1.0.1, by hand where they depend on the order; and of the formula for the paper.
CASES = read_lines(DATA / "anls_star.jsonl") + read_lines(DATA / "anls_star_ties.jsonl")


def shuffled(tree: Any, generator: random.Random) -> Any:
    """The same tree in another order of lists, alternatives and keys."""
    if isinstance(tree, dict):
        items = [(key, shuffled(child, generator)) for key, child in tree.items()]
        return dict(generator.sample(items, len(items)))
    if isinstance(tree, (list, tuple)):
        children = [shuffled(child, generator) for child in tree]
        return type(tree)(generator.sample(children, len(children)))
    return tree


@pytest.mark.parametrize("protocol", ["anls_star", "anls_star_paper"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_cases(case: dict[str, Any], protocol: str) -> None:
    score = anls_star_score(case["prediction"], case["reference"], protocol=protocol)
    assert score == pytest.approx(case["expected"][protocol], abs=1e-12)
    if "fraction" in case and protocol == "anls_star":
        assert score == float(Fraction(case["fraction"]))
    for seed in range(20):
        generator = random.Random(seed)  # noqa: S311
        pair = shuffled(case["prediction"], generator), shuffled(case["reference"], generator)
        assert anls_star_score(*pair, protocol=protocol) == score


def documents() -> st.SearchStrategy[Any]:
    """Dicts in dicts, most of whose leaves are texts, and some keys and leaves that people have, too."""
    unusual = st.sampled_from([None, "", float("nan"), 0, 1.0, True, decimal.Decimal("1.50"), np.int64(1), pd.NA])
    texts = st.sampled_from(["Total ", "totel", "tot\u00e9l", "\ud800total", " 1.5", "x y", "x  Y"])
    leaves = texts | texts | unusual | st.lists(texts, max_size=2)
    keys = st.sampled_from(["a", "b", "c", "d", "$one_ofs", 1])
    return st.recursive(
        st.dictionaries(keys, leaves, max_size=5),
        lambda below: (
            st.dictionaries(keys, leaves | below, max_size=4) | st.builds(lambda content: {"$literal": content}, below)
        ),
        max_leaves=4,
    )


DOCUMENTS = documents()


class Odd(enum.Enum):
    NOTHING = None
    NAN = float("nan")
    FIELDS = types.MappingProxyType({"a": "b"}).copy()


# What JSON text and the reading of it must not change.
UNUSUAL = [
    ({"a": "\ud83d\ude00"}, {"a": "\U0001f600"}, "anls_star", 0.0),
    ({"\ud83d\ude00": "x", "\U0001f600": "y"}, {"\U0001f600": "y"}, "anls_star", 0.5),
    ({"a": "x", "b": Odd.NOTHING}, {"a": "x"}, "anls_star_paper", 1.0),
    ({"a": "x", "b": Odd.NAN}, {"a": "x"}, "anls_star_paper", 1.0),
    ({"a": "x", "b": np.datetime64("NaT")}, {"a": "x"}, "anls_star_paper", 1.0),
    ({"$one_of": "a"}, {"$literal": {"$one_of": ("a", "b")}}, "anls_star", 1.0),
    ({"$one_of": ["a", "b"]}, {"$literal": {"$one_of": ("a", "b")}}, "anls_star", 0.0),
    ({"$one_of": ["a", "b"]}, {"$literal": {"$one_of": ["a", "b"]}}, "anls_star", 1.0),
    ({"$literal": "None"}, {"$literal": ("None",)}, "anls_star", 1.0),
    ({"$literal": {"a": "b"}}, {"$literal": Odd.FIELDS}, "anls_star", 1.0),
]
PROTOCOLS_OF_TREES = [
    *map(get_protocol, ("anls_star", "anls_star_paper")),
    dataclasses.replace(get_protocol("anls_star"), name="above", keep=">", threshold=1),
    dataclasses.replace(get_protocol("anls_star"), name="one-side", prediction_steps=("strip",)),
    dataclasses.replace(get_protocol("anls_star_paper"), name="indel", substitution_cost=2, threshold=0.25),
]


class TestEqualsBruteForce:
    @examples(2500)
    @given(reference=REFERENCES, prediction=PREDICTIONS, paper=st.booleans(), seed=st.integers(0, 2**32))
    def test_in_any_order(self, reference: Any, prediction: Any, paper: bool, seed: int) -> None:
        protocol = "anls_star_paper" if paper else "anls_star"
        score = anls_star_score(prediction, reference, protocol=protocol)
        exact = tree_reference.score(prediction, reference, paper)
        assert score == pytest.approx(float(exact), abs=1e-12)
        generator = random.Random(seed)  # noqa: S311
        pair = shuffled(prediction, generator), shuffled(reference, generator)
        assert anls_star_score(*pair, protocol=protocol) == score
        assert explain(prediction, reference, protocol=protocol).score == score

    @examples(1000)
    @given(
        reference=st.lists(REFERENCES, min_size=2, max_size=4),
        prediction=st.lists(PREDICTIONS, min_size=2, max_size=4),
    )
    @pytest.mark.long
    def test_by_matrices_too(self, reference: list[Any], prediction: list[Any]) -> None:
        one_by_one = anls_star_score(prediction, reference)
        with pytest.MonkeyPatch.context() as patch:
            for few in (0, 4, 10**9):
                set_limit(patch, "_FEW_PAIRS", few)
                assert anls_star_score(prediction, reference) == one_by_one
                assert explain(prediction, reference).score == one_by_one
            set_limit(patch, "_FEW_PAIRS", 0)
            set_limit(patch, "MATRIX_CELLS", 1)
            assert anls_star_score(prediction, reference) == one_by_one
            set_limit(patch, "ways_to_match", lambda rows, columns: [] if rows and columns else [()])
            for few in (0, 10**9):
                set_limit(patch, "_FEW_PAIRS", few)
                assert anls_star_score(prediction, reference) == one_by_one
                assert explain(prediction, reference).score == one_by_one

    NEAR = "a" * 40_000, ["a" * 39_999, "a" * 40_000 + "b"]
    SEEDS = (*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, 20)))

    def test_near_ties_of_alternatives(self) -> None:
        """Ratios that differ by less than the tolerance: what is chosen must still not depend on the order."""
        text, options = self.NEAR
        scores = set()
        for _ in range(2):
            options = options[::-1]
            scores |= {anls_star_score(text, one_of(*options)), explain(text, one_of(*options)).score}
        assert len(scores) == 1

    @pytest.mark.parametrize("seed", SEEDS)
    def test_near_ties_of_alternatives_in_lists(self, seed: int) -> None:
        generator = random.Random(seed)  # noqa: S311
        text, options = self.NEAR
        lists = [[one_of(*options), *generator.sample("bcdefgh", 4)] for _ in range(2)]
        assert anls_star_score([[text, *"bcde"]] * 2, lists) == anls_star_score(
            [[text, *"bcde"]] * 2, [[one_of(*options[::-1]), *own[1:]] for own in lists]
        )

    @pytest.mark.parametrize("seed", range(20))
    def test_alternatives_in_several_blocks(self, seed: int) -> None:
        """A reference list meets each of several prediction lists in a block of its own."""
        generator = random.Random(seed)  # noqa: S311
        words = ["pen", "pens", "ink", "inks", "cap", "caps"]

        def texts() -> list[Any]:
            return [generator.choice(words) for _ in range(5)]

        reference = [[tuple(generator.sample(words, 2)) for _ in range(5)] for _ in range(2)]
        prediction = [texts(), texts()]
        score = anls_star_score(prediction, reference)
        assert score == pytest.approx(float(tree_reference.score(prediction, reference)), abs=1e-12)
        assert explain(prediction, reference).score == score

    @pytest.mark.parametrize("seed", range(20))
    def test_long_lists_whatever_the_order(self, seed: int) -> None:
        """Too long for brute force: the score must still not depend on the order."""
        generator = random.Random(seed)  # noqa: S311
        words = ["pen", "pens", "ink", "inks", "cap", "caps", "a", "b"]

        def item() -> Any:
            keys = generator.sample("abcd", generator.randint(0, 4))
            return {key: generator.choice([generator.choice(words), [generator.choice(words)], None]) for key in keys}

        reference, prediction = [item() for _ in range(9)], [item() for _ in range(8)]
        score = anls_star_score(prediction, reference)
        for _ in range(10):
            assert anls_star_score(shuffled(prediction, generator), shuffled(reference, generator)) == score


RELEASED = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
from anls_star import anls_score
warnings.simplefilter("ignore")

def decoded(tree):
    if isinstance(tree, dict):
        if list(tree) == ["$one_of"]:
            return tuple(map(decoded, tree["$one_of"]))
        return {key: decoded(child) for key, child in tree.items()}
    return list(map(decoded, tree)) if isinstance(tree, list) else tree

for line in sys.stdin:
    reference, prediction = json.loads(line)
    print(json.dumps(anls_score(decoded(reference), prediction)))
"""


@pytest.fixture(scope="module")
def released() -> Any:
    """Scores of the released package, run in a process of its own."""
    assert (PEERS / "anls_star").exists(), "the other implementations are not installed: run `make peers`"

    def scores(pairs: list[tuple[Any, Any]]) -> list[float]:
        lines = "\n".join(json.dumps([tree_as_json(reference), prediction]) for reference, prediction in pairs)
        command = [sys.executable, "-c", RELEASED, str(PEERS)]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return scores


class TestAgainstTheReleasedPackage:
    def test_equal_or_a_tie_that_it_lost(self, released: Any) -> None:
        generator = random.Random(20240207)  # noqa: S311

        def tree(depth: int, with_options: bool) -> Any:
            kind = generator.random()
            if depth == 0 or kind < 0.3:
                return generator.choice(["x", "y", "totel", "total", "A", "a", "", "12", None, 12, True])
            children = [tree(depth - 1, with_options) for _ in range(generator.randint(0, 3))]
            if kind < 0.6:
                return dict(zip(generator.sample("abc", len(children)), children, strict=True))
            return tuple(children) if with_options and children and kind < 0.7 else children

        pairs = [(tree(3, with_options=True), tree(3, with_options=False)) for _ in range(3000)]
        # It fails on an empty list of options.
        pairs = [(g, p) for g, p in pairs if not (g == [] and isinstance(p, str))]
        theirs = released(pairs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = [anls_star_score(prediction, reference) for reference, prediction in pairs]
        ties = [index for index in range(len(pairs)) if abs(ours[index] - theirs[index]) > 1e-12]
        assert len(ties) < len(pairs) * 0.03
        for index in ties:
            reference, prediction = pairs[index]
            assert ours[index] > theirs[index]
            assert ours[index] == pytest.approx(float(tree_reference.score(prediction, reference)), abs=1e-12)

    def test_real_documents(self, released: Any) -> None:
        invoices = read_lines(DATA / "documents" / "invoices.jsonl")
        pairs = [(row["gold"], row["pred"]) for row in invoices]
        pairs += [
            (row, damaged(row, seed)) for seed, row in enumerate(read_lines(EXAMPLES / "sroie" / "sroie_keys.jsonl"))
        ]
        ours = anls_star_scores([p for _, p in pairs], [g for g, _ in pairs])
        assert ours.tolist() == pytest.approx(released(pairs), abs=1e-12)
        assert ours[: len(invoices)].tolist() == pytest.approx([row["anls_star"] for row in invoices], abs=1e-6)
        assert 0.5 < ours[len(invoices) :].mean() < 0.99


def damaged(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """A document as an extractor may return it: slips of characters, lost and invented keys."""
    generator = random.Random(seed)  # noqa: S311
    found = {}
    for key, text in document.items():
        fate = generator.random()
        if fate < 0.1:
            continue
        position = generator.randrange(len(text) + 1)
        found["sum" if fate < 0.15 else key] = text if fate < 0.6 else text[:position] + "~" + text[position + 1 :]
    return found


class TestProperties:
    @examples(300)
    @given(reference=REFERENCES, prediction=PREDICTIONS)
    def test_range(self, reference: Any, prediction: Any) -> None:
        assert 0 <= anls_star_score(prediction, reference) <= 1

    @examples(300)
    @given(tree=PREDICTIONS, paper=st.booleans())
    def test_identity(self, tree: Any, paper: bool) -> None:
        assert anls_star_score(tree, tree, protocol="anls_star_paper" if paper else "anls_star") == 1.0

    @examples(300)
    @given(reference=REFERENCES, prediction=PREDICTIONS)
    def test_wrapping_changes_nothing(self, reference: Any, prediction: Any) -> None:
        if isinstance(reference, list) and isinstance(prediction, str):
            return  # the mode for lists of strings is of the top level only
        wrapped = anls_star_score({"k": prediction}, {"k": reference})
        # A pair of length 0 is perfect alone, and nothing in a dict.
        assert wrapped == anls_star_score(prediction, reference)
        assert anls_star_score(prediction, one_of(reference)) == wrapped

    @examples(300)
    @given(tree=st.dictionaries(KEYS, PREDICTIONS, min_size=1, max_size=3), text=st.sampled_from(["zzzz", "q"]))
    def test_from_perfect_every_change_costs(self, tree: dict[str, Any], text: str) -> None:
        assert anls_star_score({**tree, "new": text}, tree) < 1
        for key, child in tree.items():
            without = {other: value for other, value in tree.items() if other != key}
            if child is not None:
                assert anls_star_score(without, tree) < 1
            if isinstance(child, str):
                assert anls_star_score({**tree, key: child + "zzzz"}, tree) < 1

    @examples(500)
    @given(
        pairs=st.lists(st.tuples(REFERENCES | DOCUMENTS, PREDICTIONS | DOCUMENTS), min_size=1, max_size=5),
        protocol=st.sampled_from(PROTOCOLS_OF_TREES),
    )
    def test_whatever_the_batch(self, pairs: list[tuple[Any, Any]], protocol: Protocol) -> None:
        """Many documents are compared in one batch, by other code than one alone: the bits are the same."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = anls_star_scores([p for _, p in pairs], [g for g, _ in pairs], protocol=protocol)
            assert scores.tolist() == [anls_star_score(p, g, protocol=protocol) for g, p in pairs]

    @pytest.mark.parametrize(("prediction", "reference", "protocol", "expected"), UNUSUAL)
    def test_alone_in_a_batch_and_through_evaluate(
        self, prediction: Any, reference: Any, protocol: str, expected: float
    ) -> None:
        metric = ANLS(protocol)
        rows = [{"question_id": 1, "prediction_text": prediction}], [{"question_id": 1, "answers": reference}]
        scores = [
            anls_star_score(prediction, reference, protocol=protocol),
            anls_star_scores([prediction], [reference], protocol=protocol)[0],
            metric.compute(predictions=rows[0], references=rows[1])["anls_star_score"],  # type: ignore[index]
        ]
        assert scores == [expected] * 3

    def test_a_batch_of_none(self) -> None:
        assert anls_star_scores([], []).tolist() == []
        with pytest.warns(UserWarning, match="1 question has no prediction and scores 0"):
            found = ANLS("anls_star").compute(
                predictions=[], references=[{"question_id": 1, "answers": [{"a": "b"}]}], missing="zero"
            )
        assert found == {"anls_star_score": 0.0}

    def test_a_batch_of_large_documents(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond some size a document is compared alone: the bits are the same, and nothing of it is counted twice."""
        small = {"a": {"b": "total", "c": "x"}, "d": "y"}, {"a": {"b": "totel", "c": "x"}, "d": "z"}
        large = ({str(number): "tote" for number in range(9)} | {"a": {"b": "x"}, "e": {}} for _ in range(2))
        pairs = [small, (next(large), next(large) | {"0": "totel"}), small]
        expected = [anls_star_score(*pair) for pair in pairs]
        for most in (1, 5, 11, 12, 10**6):
            set_limit(monkeypatch, "MAX_SIDE", most)
            assert anls_star_scores(*zip(*pairs, strict=True)).tolist() == expected

    def test_a_batch_of_fractions_beyond_float64(self) -> None:
        """Sums of fractions whose common denominator float64 cannot hold are taken in integers of any size."""
        texts = ["x" * length for length in (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)]
        reference = {str(number): text for number, text in enumerate(texts)}
        prediction = {key: text[:-1] + "y" for key, text in reference.items()}
        exact = sum(Fraction(len(text) - 1, len(text)) for text in texts) / len(texts)
        street = (
            {str(number): "Main Street 12a" for number in range(300)},
            dict.fromkeys(map(str, range(300)), "b" * 15),
        )
        assert anls_star_scores([street[0]], [street[1]]).tolist() == [0.0]
        nearly = dict.fromkeys(street[0], "Main Street 12b")
        assert anls_star_scores([street[0]], [nearly]).tolist() == [14 / 15]
        for n in (1, 12, 13):
            first = {key: reference[key] for key in list(reference)[:n]}
            scores = anls_star_scores([prediction, prediction], [reference, first])
            assert scores.tolist() == [float(exact), anls_star_score(prediction, first)]

    @pytest.mark.parametrize("side", ["prediction", "reference"])
    def test_a_batch_with_a_dict_that_holds_itself(self, side: str) -> None:
        circle: dict[str, Any] = {"a": {"b": "x"}}
        circle["a"]["c"] = circle
        with pytest.raises(ValueError, match=r"^row 1: reference contains itself"):
            anls_star_scores([{}, circle], [{}, circle])
        pair = {"prediction": {"a": {}}, "reference": {"a": {}}} | {side: circle}
        with pytest.raises(ValueError, match=f"^row 0: {side} contains itself"):
            anls_star_scores([pair["prediction"]], [pair["reference"]])

    def test_a_batch_of_deep_dicts(self) -> None:
        def nested(text: str) -> Any:
            tree: Any = text
            for _ in range(20_000):
                tree = {"a": tree, "b": "x"}
            return tree

        assert anls_star_scores([nested("ab")], [nested("ac")]).tolist() == [20_000.5 / 20_001]

    @given(
        prediction=st.text("abc ", max_size=6), answers=st.lists(st.text("abc ", max_size=6), min_size=1, max_size=3)
    )
    def test_of_texts_is_anls(self, prediction: str, answers: list[str]) -> None:
        assert anls_star_score(prediction, one_of(*answers)) == anls_score(prediction, answers)

    @given(
        prediction=st.text("aAé ", max_size=5),
        options=st.lists(st.text("aAé ", max_size=5) | st.text(), min_size=1, max_size=5),
        threshold=st.sampled_from([0, "1/3", 0.5, "2/3", 1]),
        keep=st.sampled_from([">", ">="]),
        paper=st.booleans(),
    )
    def test_of_a_text_with_alternatives(
        self, prediction: str, options: list[str], threshold: Any, keep: Any, paper: bool
    ) -> None:
        """Compared without nodes, with the bits of the explanation, which has them."""
        rules = get_protocol("anls_star_paper" if paper else "anls_star")
        rules = dataclasses.replace(rules, name="own", threshold=threshold, keep=keep)
        for own, reference in ((prediction, tuple(options)), ({"a": prediction}, {"a": tuple(options)})):
            score = explain(own, reference, protocol=rules).score
            assert anls_star_scores([own], [reference], protocol=rules)[0].hex() == score.hex()
        if not paper:
            assert anls_star_score(prediction, options, protocol=rules).hex() == score.hex()


class Side(enum.Enum):
    LEFT = "left"
    TWO = 2


class Point(namedtuple("Point", "x y")):
    __slots__ = ()


@dataclasses.dataclass
class Total:
    amount: str = "5"


class Dumped:
    def model_dump(self) -> dict[str, str]:
        return {}


class TestLeaves:
    @pytest.mark.parametrize(
        ("leaf", "text"),
        [
            (5, "5"),
            (1.5, "1.5"),
            (True, "true"),
            (False, "FALSE"),
            (decimal.Decimal("10.50"), "10.50"),
            (decimal.Decimal("1E+2"), "100"),
            (datetime.date(2031, 5, 4), "2031-05-04"),
            (datetime.datetime(2031, 5, 4, 6, 7), "2031-05-04T06:07:00"),
            (datetime.time(6, 7), "06:07:00"),
            (Side.LEFT, "left"),
            (Side.TWO, "2"),
            (np.int64(5), "5"),
            (np.float32(0.1), "0.1"),
            (np.bool_(True), "True"),
            (np.str_("text"), "text"),
            (np.datetime64("2031-05-04"), "2031-05-04"),
            (np.datetime64("2031-05-04T06:07:08", "ns"), "2031-05-04T06:07:08"),
        ],
    )
    def test_is_compared_as_the_text_a_person_would_write(self, leaf: Any, text: str) -> None:
        for prediction, reference in ((leaf, text), (text, leaf), ([{"k": leaf}], [{"k": text}])):
            assert anls_star_score(prediction, reference) == 1.0

    def test_decimal_of_a_report(self) -> None:
        """Report R62."""
        pair = {"sum": decimal.Decimal("90.50")}, {"sum": decimal.Decimal("10.50")}
        assert anls_star_score(*pair) == 0.8
        assert anls_star_score({"date": "2031-05-14"}, {"date": datetime.date(2031, 5, 4)}) == 0.9

    @pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, decimal.Decimal("NaN")])
    def test_missing_is_none(self, missing: Any) -> None:
        assert anls_star_score(missing, None) == 1.0
        assert anls_star_score({"a": "x", "b": missing}, {"a": "x", "b": None}) == 1.0
        assert anls_star_score({"a": "x"}, {"a": "x", "b": missing}) == 1.0
        assert anls_star_score(missing, "nan") == 0.0

    def test_int_keys_are_texts(self) -> None:
        assert anls_star_score({1: "a"}, {"1": "a"}) == 1.0
        for twice in ({1: "a", "1": "b"}, {float("nan"): "a", float("nan"): "b"}):
            with pytest.raises(ValueError, match=r"reference \$\.a has the key '(1|nan)' twice"):
                anls_star_score({}, {"a": twice})

    @pytest.mark.parametrize(("key", "text"), [(None, "null"), (True, "true"), (Side.LEFT, "left"), (Side.TWO, "2")])
    def test_keys_are_written_as_json_has_them(self, key: Any, text: str) -> None:
        assert anls_star_score({key: "a"}, {text: "a"}) == 1.0
        with pytest.raises(ValueError, match=f"has the key '{text}' twice, as text"):
            anls_star_score({key: "a", text: "b"}, {})
        found = explain({}, {"in": {key: "a"}})
        assert found.matches[0].reference_path in (f"$.in.{text}", f"$.in['{text}']")
        assert found.to_dict()["closest_reference"] == {"in": {text: "a"}}

    def test_a_text_without_hash(self) -> None:
        class Unhashable(str):
            __slots__ = ()
            __hash__ = None  # type: ignore[assignment]

        assert explain(["b", Unhashable("a")], [Unhashable("a"), "B"]).closest_reference == ["B", "a"]

    def test_subclasses_of_containers(self) -> None:
        assert anls_star_score(OrderedDict(a="x"), {"a": "x"}) == 1.0


class TestAlternatives:
    def test_in_every_writing(self) -> None:
        for options in (("x", ["y", "z"]), one_of("x", ["y", "z"]), {"$one_of": ["x", ["y", "z"]]}):
            assert anls_star_score({"a": ["z", "y"]}, {"a": options}) == 1.0
            assert anls_star_score({"a": "x"}, {"a": options}) == 1.0

    def test_a_key_that_is_really_called_so(self) -> None:
        assert anls_star_score({"$one_of": ["x"]}, {"$literal": {"$one_of": ["x"]}}) == 1.0
        with pytest.warns(UserWarning, match="only references have alternatives"):
            assert anls_star_score({"$one_of": ["x"]}, {"$one_of": ["x"]}) == 0.0
        assert anls_star_score({"$literal": "x"}, {"$literal": "x"}) == 1.0

    def test_a_list_of_strings_for_a_text(self) -> None:
        with pytest.warns(UserWarning, match="read as alternatives") as caught:
            assert anls_star_score("b", ["a", "b"]) == 1.0
        assert caught[0].filename == __file__
        with pytest.warns(UserWarning, match="^2 of 3 references are lists of strings"):
            assert anls_star_scores(["b", "b", "b"], [["b"], "b", ["c", "b"]]).tolist() == [1.0, 1.0, 1.0]

    def test_what_is_written_as_text_is_a_string_there_too(self) -> None:
        """As it is in the metric, which keeps trees as JSON."""
        for options in ([decimal.Decimal("5.0"), "x"], [Side.LEFT, "5.0"], [datetime.date(2031, 5, 4), "5.0"]):
            for prediction in ("5.0", decimal.Decimal("5.0")):
                with pytest.warns(UserWarning, match="read as alternatives"):
                    assert anls_star_score(prediction, options) == 1.0
        assert anls_star_score("5", [5, "x"]) == 0.0

    def test_a_literal_stays_one_in_the_closest_reference(self) -> None:
        for content in ({"$one_of": ["x", "y"]}, {"$literal": {"b": "x"}}):
            reference = {"a": {"$literal": content}, "c": [one_of("p", {"$literal": content})]}
            resolved = {"a": {"$literal": content}, "c": [{"$literal": content}]}
            for prediction in ({"a": content, "c": [content]}, {"c": [content]}):
                assert explain(prediction, reference).to_dict()["closest_reference"] == resolved
        with pytest.warns(UserWarning, match="only references have alternatives"):
            invented = explain({"a": "x", "$one_of": ["x"]}, {"a": "x"}).closest_reference
        assert invented == {"$literal": {"a": "x", "$one_of": None}}

    def test_paths_show_how_alternatives_are_written(self) -> None:
        literal = {"$literal": {"$one_of": ["x"]}}
        pairs = [
            ({"a": {"$one_of": ["x"]}}, {"a": literal}, "$.a['$literal']['$one_of'][0]"),
            ({}, {"a": literal}, "$.a['$literal']['$one_of'][0]"),
            ({"a": "x"}, {"a": one_of("q", "x")}, "$.a['$one_of'][1]"),
        ]
        for prediction, reference, path in pairs:
            assert explain(prediction, reference).matches[0].reference_path == path
        invented = explain({"a": {"$literal": {"b": "x"}}}, {}).matches[0]
        assert invented.prediction_path == "$.a['$literal'].b"

    def test_a_prediction_that_is_still_json_text(self) -> None:
        with pytest.warns(UserWarning, match=r"1 of 1 predictions is a string containing JSON.*extract=.json."):
            assert anls_star_score('{"a": "x"}', {"a": "x"}) == 0.0
        fenced = '```json\n{"a": "x"}\n```'
        with pytest.warns(UserWarning, match=r"1 of 2 predictions is a string containing JSON \(row 1\)"):
            anls_star_scores(["x", fenced], ["x", {"a": "x"}])

    def test_a_document_that_was_not_given(self) -> None:
        references: list[Any] = [
            {"a": "x"},
            None,
            one_of(None, {"a": "x"}),
            one_of(["x"], {"a": "x"}),
            {"$one_of": [["x"]]},
            [],
        ]
        with pytest.warns(UserWarning, match=r"3 of 6 predictions are None or NaN where.* \(row 0, 3, 4\)"):
            assert anls_star_scores([None] * 6, references).tolist() == [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]

    @pytest.mark.parametrize(
        ("prediction", "reference", "path"),
        [
            ({"a": {"$one_of": ["x"]}}, {"a": "x"}, "$.a['$one_of']"),
            ({"a": {"$one_of": ["x"]}}, {"a": {"b": "x"}}, "$.a['$one_of']"),
            ([{"$one_of": ["x"]}], ["x"], "$[0]['$one_of']"),
            ({"a": "x"}, {"a": {"$oneof": ["x"]}}, "$.a['$oneof']"),
            ({"a": {"b": "x"}}, {"a": {"$one-of": [{"b": "x"}]}}, "$.a['$one-of']"),
            ({"b": "x"}, {"a": {"$oneOf": ["x"]}}, "$.a['$oneOf']"),
            (["x"], ({"c": {"$oneof": ["x"]}}, "y"), "$['$one_of'][0].c['$oneof']"),
        ],
    )
    def test_alternatives_without_effect(self, prediction: Any, reference: Any, path: str) -> None:
        what = "predictions has the key" if path.endswith("['$one_of']") else "references has a key like"
        with pytest.warns(UserWarning, match=re.escape(f"1 of 1 {what} '$one_of' (row 0 at {path})")):
            score = anls_star_score(prediction, reference)
        with pytest.warns(UserWarning, match=re.escape(f"1 of 2 {what} '$one_of' (row 1 at {path})")):
            assert anls_star_scores(["x", prediction], ["x", reference]).tolist() == [1.0, score]
        predictions = [{"question_id": "7", "prediction_text": prediction}]
        references = [{"question_id": "7", "answers": reference}]
        for detailed in (False, True):
            with pytest.warns(UserWarning, match=re.escape(f"{what} '$one_of' (question_id '7' at {path})")):
                found = ANLS("anls_star").compute(predictions=predictions, references=references, detailed=detailed)
            assert found is not None
            assert found["anls_star_score"] == score

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        ("prediction", "reference"),
        [
            ({"a": {"$one_of": ["x"]}}, {"a": {"$literal": {"$one_of": ["x"]}}}),
            ({"a": {"$oneof": ["x"]}}, {"a": {"$oneof": ["y"]}}),
            ({"a": {"$oneof": ["x"]}}, {"a": "x"}),
            ({"a": "x"}, {"a": {"$one_of": ["x", "y"]}}),
        ],
    )
    def test_keys_that_mean_what_they_say(self, prediction: Any, reference: Any) -> None:
        anls_star_score(prediction, reference)
        anls_star_scores([prediction], [reference])

    @pytest.mark.filterwarnings("error")
    def test_only_for_the_released_protocol_at_the_top(self) -> None:
        assert anls_star_score("b", ["a", "b"], protocol="anls_star_paper") == 0.0
        assert anls_star_score({"q": "b"}, {"q": ["a", "b"]}) == 0.0
        assert anls_star_score("x", []) == 0.0


REFUSED: list[tuple[Any, str]] = [
    ({"a": [0, {1, 2}]}, r"\$\.a\[1\] is a set, .*Convert it to a sorted list"),
    ({"a b": Total()}, r"\$\['a b'\] is a Total, .*dataclasses\.asdict"),
    ([Dumped()], r"\$\[0\] is a Dumped, .*model_dump\(\)"),
    ({"a": types.MappingProxyType({"b": 1})}, r"\$\.a is a mappingproxy.*Convert it with dict"),
    ({"a": Point(1, 2)}, r"\$\.a is a Point of 2 int.*_asdict\(\)"),
    ([np.array([1, 2])], r"\$\[0\] is a ndarray of 2.*tolist\(\)"),
    ({"a": b"x"}, r"\$\.a is a bytes, b'x'.*decode"),
    ({"x": object()}, r"\$\.x is an object, <object object at .*; expected a dict, list, string"),
]


class TestRefused:
    @pytest.mark.parametrize(("tree", "message"), REFUSED)
    def test_names_the_path_and_how_to_convert(self, tree: Any, message: str) -> None:
        """Report R68: never a score of a text with a memory address."""
        with pytest.raises(TypeError, match=f"^reference {message}"):
            anls_star_score({}, tree)
        with pytest.raises(TypeError, match=f"^prediction {message}"):
            anls_star_score(tree, {})
        with pytest.raises(TypeError, match=f"^row 1: prediction {message}"):
            anls_star_scores([{}, tree], [{}, {}])

    def test_a_tuple_in_a_prediction(self) -> None:
        with pytest.raises(ValueError, match=r"prediction \$\.a\[1\] is a tuple; expected a list"):
            anls_star_score({"a": [0, ("x", "y")]}, {})

    def test_no_alternative(self) -> None:
        for empty in list[Any]([(), {"$one_of": []}]):
            with pytest.raises(ValueError, match=r"reference \$\.a has an empty list of alternatives"):
                anls_star_score({}, {"a": empty})
        with pytest.raises(ValueError, match="alternatives"):
            one_of()

    def test_alternatives_that_are_no_list(self) -> None:
        for wrong in ({"$one_of": "x"}, {"$one_of": ["x"], "other": 1}):
            with pytest.raises(
                ValueError, match=r"reference \$\.a is a dict with the keys.*expected '\$one_of' as the only key"
            ):
                anls_star_score({}, {"a": wrong})

    def test_protocols_of_texts_and_of_trees(self) -> None:
        with pytest.raises(ValueError, match="'rrc' scores texts: use it with anls_score, or use one of 'anls_star'"):
            anls_star_score({}, {}, protocol="rrc")
        with pytest.raises(ValueError, match="'anls_star' scores trees: use it with anls_star_score"):
            anls_score("a", ["a"], protocol="anls_star")

    @pytest.mark.parametrize("options", [{"prediction_length": "raw"}, {"both_empty": 0}, {"zero_predictions": ("x",)}])
    def test_rules_that_trees_do_not_have(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="a protocol for trees"):
            dataclasses.replace(get_protocol("anls_star"), **options)

    def test_lengths(self) -> None:
        with pytest.raises(ValueError, match="1 prediction but 2 references"):
            anls_star_scores([{}], [{}, {}])


class TestOptions:
    def test_threshold(self) -> None:
        pair = {"a": "abcde", "b": "x"}, {"a": "abcdx", "b": "x"}
        assert anls_star_score(*pair) == 0.9
        assert anls_star_score(*pair, threshold=0.8) == 0.9
        assert anls_star_score(*pair, threshold=0.81) == 0.5
        assert anls_star_score("axyz", "abcd", threshold=0) == 0.25
        with pytest.raises(ValueError, match="threshold=2"):
            anls_star_score(*pair, threshold=2)

    def test_own_protocol(self) -> None:
        composed = dataclasses.replace(
            get_protocol("anls_star"), name="composed", prediction_steps=("nfc",), answer_steps=("nfc",)
        )
        assert anls_star_score(["cafe\u0301"], ["caf\xe9"], protocol=composed) == 1.0
        assert anls_star_score(["ABC"], ["abc"], protocol=composed) == 0.0
        steps = ("collapse", "no-outer-dots", "strip")
        dotless = dataclasses.replace(get_protocol("anls_star"), prediction_steps=steps, answer_steps=steps)
        assert anls_star_score([". a  b ."], ["a b"], protocol=dotless) == 1.0
        strict = dataclasses.replace(get_protocol("anls_star"), keep=">")
        assert anls_star_score(["ab"], ["ac"], protocol=strict) == 0.0
        indel = dataclasses.replace(get_protocol("anls_star"), substitution_cost=2)
        assert anls_star_score({"a": "abcd"}, {"a": "abxd"}, protocol=indel) == 0.5


class TestShapes:
    @pytest.mark.parametrize(
        "wrap", [lambda t: [t], lambda t: {"k": t}, lambda t: [t, "z"], lambda t: {"k": t, "l": "z"}]
    )
    def test_ten_thousand_deep(self, wrap: Any) -> None:
        prediction, reference = "helo", "hello"
        for _ in range(10_000):
            prediction, reference = wrap(prediction), wrap(reference)
        leaves = 1 + 10_000 * (len(wrap("z")) - 1)
        assert anls_star_score(prediction, reference) == pytest.approx((leaves - 0.2) / leaves, abs=1e-12)
        explanation = explain(prediction, reference)
        assert explanation.score == anls_star_score(prediction, reference)
        assert len(explanation.matches) == leaves
        assert max(map(len, str(explanation).splitlines())) < 300

    def test_ten_thousand_deep_without_partner(self) -> None:
        reference: Any = "hello"
        for _ in range(10_000):
            reference = {"k": reference, "l": "z"}
        last = explain({}, reference).matches[0]
        assert (last.reference_path, last.reason) == ("$" + ".k" * 10_000, "missing")

    def test_ten_thousand_deep_is_refused_with_its_path(self) -> None:
        tree: Any = object()
        for _ in range(10_000):
            tree = [[], {}, tree, []]
        with pytest.raises(TypeError, match=r"^reference \$" + r"\[2\]" * 10_000 + " is an object"):
            anls_star_score([], tree)

    def test_ten_thousand_alternatives_deep(self) -> None:
        reference: Any = "hello"
        for _ in range(10_000):
            reference = (reference, "q")
        assert anls_star_score("helo", reference) == 0.8

    def test_wide(self) -> None:
        words = [f"word {index}" for index in range(2_000)]
        assert anls_star_score(words[::-1], words) == 1.0
        assert anls_star_score({word: word for word in words}, {word: word for word in reversed(words)}) == 1.0

    def test_long_texts(self) -> None:
        assert anls_star_score(["a" * 50_000], ["a" * 49_999 + "b"]) == 1 - 1 / 50_000

    def test_lists_of_3_000(self) -> None:
        generator = random.Random(0)  # noqa: S311
        rows = [{"text": f"{number} {generator.random()}", "n": number} for number in range(3000)]
        assert anls_star_score(generator.sample(rows, 3000), rows) == 1.0

    def test_lists_of_more_pairs_than_fit_are_refused(self) -> None:
        with pytest.raises(ValueError, match="a list of 8,000 and one of 8,000 values have more than 50,000,000 pairs"):
            anls_star_score(["x"] * 8000, ["y"] * 8000)

    def test_part_of_itself(self) -> None:
        cycle: dict[str, Any] = {"a": []}
        cycle["a"].append(cycle)
        through_enum: list[Any] = []
        through_enum.append(enum.Enum("Held", {"VALUE": through_enum}).VALUE)  # type: ignore[attr-defined]
        for pair in list[Any]([(cycle, {}), ({}, cycle), (through_enum, []), ([], through_enum)]):
            with pytest.raises(ValueError, match="contains itself"):
                anls_star_score(*pair)

    def test_used_twice_is_no_cycle(self) -> None:
        shared = [{"a": "x"}]
        assert anls_star_score([shared, shared, [shared]], [[{"a": "x"}], [shared], shared]) == 1.0

    @pytest.mark.parametrize("wrap", [lambda own: {"a": own, "b": own}, lambda own: [own, own], lambda own: (own, own)])
    def test_what_is_shared_at_every_level_is_refused_at_once(self, wrap: Any) -> None:
        shared: Any = "x"
        for _ in range(40):
            shared = wrap(shared)
        calls = (
            lambda: anls_star_score("x", shared),
            lambda: anls_star_scores([{"b": "x"}], [{"b": shared}]),
            lambda: explain("x", shared),
            lambda: leaderboard_figures(["x"], [shared], protocol="donut_f1"),
        )
        for call in calls:
            with (
                mock.patch.object(nodes, "Node", side_effect=AssertionError("nodes are made of what is too large")),
                pytest.raises(ValueError, match=r"reference.* has more than 10,000,000 values, which is the limit"),
            ):
                call()

    def test_deep_alternatives_without_a_prediction(self) -> None:
        """What the note on documents without a prediction looks at."""
        deep: Any = {"a": "x"}
        for _ in range(3000):
            deep = (deep,)
        with pytest.warns(UserWarning, match=r"1 of 1 "):
            assert anls_star_score(None, deep) == 0.0

    @pytest.mark.parametrize(
        ("prediction", "reference", "score"),
        [
            (["17.9"] * 25_000, ["17.99", [1, 2.5]], 0.8 / 25_001),
            (["b", ["c", "d"]], [*"ab" * 12_500, ["c", "d"]], 3 / 25_002),
        ],
    )
    def test_a_long_list_beside_a_short_one(self, prediction: Any, reference: Any, score: float) -> None:
        """Of values that are alike only so many are looked at as can be matched; a square of all has 6e8 cells."""
        assert anls_star_score(prediction, reference) == score
        assert explain(prediction, reference).score == score

    def test_a_long_list_of_values_that_differ(self, monkeypatch: pytest.MonkeyPatch) -> None:
        set_limit(monkeypatch, "MAX_PAIRS", 50_000)
        with pytest.raises(ValueError, match=r"a list of 2 and one of 2,\d+ different values need a table of more"):
            anls_star_score(["x" + "a" * n for n in range(5000)], ["a" * 5000, ["a", "b"]])

    @pytest.mark.parametrize("name", ["anls_star", "anls_star_paper"])
    def test_looking_at_enough_of_each_changes_no_score(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        generator = random.Random(3)  # noqa: S311
        values = ["a", "ab", "abc", "x y", "tote", ["a"], ["a", "b"], [], {"k": "a"}, {"k": "b", "m": "a"}]
        pairs = [tuple(generator.choices(values, k=generator.randrange(2, 14)) for _ in range(2)) for _ in range(150)]
        set_limit(monkeypatch, "_FEW_WAYS", 0)
        scores = [anls_star_score(*pair, protocol=name) for pair in pairs]
        set_limit(monkeypatch, "MATRIX_CELLS", 1)
        assert [anls_star_score(*pair, protocol=name) for pair in pairs] == scores
        assert [explain(*pair, protocol=name).score for pair in pairs] == scores

    def test_too_many_pairs_or_digits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ValueError, match=r"prediction \$\[0\] is an integer with too many digits"):
            anls_star_score([10**5000], [])
        with pytest.raises(ValueError, match=r"a key is an integer with too many digits"):
            anls_star_score({10**5000: "a"}, {"a": "a"})
        for number in (Decimal("1e99999999"), Decimal("-1e-99999999")):
            with pytest.raises(ValueError, match=r"reference \$.a is Decimal\(.*\), which has too many digits"):
                anls_star_score({"a": "1"}, {"a": number})
        assert anls_star_score(Decimal("1e4000"), "1" + "0" * 4000) == 1.0
        set_limit(monkeypatch, "MAX_PAIRS", 100)
        set_limit(monkeypatch, "MATRIX_CELLS", 100)
        with pytest.raises(ValueError, match="a list of 11 and one of 10 values have more than 100 pairs"):
            anls_star_score(list("abcdefghij"), list("abcdefghijk"))

    def test_missing_values_do_not_stay_in_the_closest_reference(self) -> None:
        for missing in (None, float("nan"), pd.NA):
            assert explain({}, {"a": missing}).closest_reference == {}

    def test_too_many_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        set_limit(monkeypatch, "_MAX_VALUES", 100)
        with pytest.raises(ValueError, match="prediction has more than 100 values"):
            anls_star_score(["x"] * 200, [])


class TestReadmeOfThePackage:
    """The examples in the README of anls_star, to the digit; in its last example the code gives 0.625 for b."""

    def test_score(self) -> None:
        assert anls_star_score("Hello Wrld", "Hello World") == 0.9090909090909091

    def test_closest(self) -> None:
        found = explain(
            {"a": "hello!", "b": ["a", "test", "this", "be"]},
            {"a": ("hello", "world"), "b": ["this", "is", "a", "test"]},
        )
        assert found.score == pytest.approx(0.766, abs=1e-3)
        assert found.closest_reference == {"a": "hello", "b": ["a", "test", "this", "is"]}

    def test_key_scores(self) -> None:
        reference = {
            "a": "Hello",
            "b": [{"l1": "aa", "l2": "b"}, {"l1": "c", "l2": "d"}],
            "c": "Test",
            "second_order": {
                "name": "Fluffy",
                "age": "3",
                "items": [{"id": "1", "value": "12.3"}, {"id": "2", "value": "13.4"}],
            },
        }
        prediction = {
            "a": "Helloo",
            "b": [{"l1": "a", "l2": "q"}, {"l1": "c", "l2": "d"}],
            "second_order": {
                "name": "Fluffy",
                "age": "31",
                "items": [{"id": "1", "value": "12.1"}, {"id": "3", "value": "13.4"}],
            },
        }
        assert explain(prediction, reference).key_scores == {
            "a": ScoreNode(0.8333333333333334),
            "b": ScoreNode(0.625, {"l1": ScoreNode(0.75), "l2": ScoreNode(0.5)}),
            "c": ScoreNode(0.0),
            "second_order": ScoreNode(
                0.7083333333333334,
                {
                    "age": ScoreNode(0.5),
                    "items": ScoreNode(0.6875, {"id": ScoreNode(0.5), "value": ScoreNode(0.875)}),
                    "name": ScoreNode(1.0),
                },
            ),
        }


class TestReports:
    @pytest.mark.parametrize(
        "report",
        [
            row
            for row in read_lines(DATA / "reports.jsonl")
            if row["input"].get("call") == "anls_star" and "anls_star" in row["expected"]
        ],
        ids=lambda row: row["id"],
    )
    def test_value(self, report: dict[str, Any]) -> None:
        scores = anls_star_scores(report["input"]["predictions"], report["input"]["references"])
        assert scores.mean() == pytest.approx(report["expected"]["anls_star"], abs=1e-6)


INVOICE = {
    "vendor": "ACME GmbH",
    "total": one_of("17.99", "EUR 17.99"),
    "items": [{"name": "pen", "price": 1.5}, {"name": "stapler", "price": 12.99}, {"name": "ink", "price": 3.5}],
    "note": None,
}
FOUND = {
    "vendor": "ACME Gmbh.",
    "total": "EUR 17,99",
    "items": [{"name": "staplr", "price": 12.99}, {"name": "pen", "colour": ["red", "blue"]}],
    "date": {"year": 2024},
}
TABLE = """\
score 0.470503 = 5.64603 of 12
credit    reference                         prediction                        why it is not full
0/1       $.items[0].price       1.5        -                     -           missing
0/1       -                      -          $.items[1].colour[0]  red         hallucinated
0/1       -                      -          $.items[1].colour[1]  blue        hallucinated
0/1       $.items[2].name        ink        -                     -           missing
0/1       $.items[2].price       3.5        -                     -           missing
0/1       -                      -          $.date.year           2024        hallucinated
0.8571/1  $.items[1].name        stapler    $.items[0].name       staplr      1 of 7 characters differ
0.8889/1  $.total['$one_of'][1]  EUR 17.99  $.total               EUR 17,99   1 of 9 characters differ
0.9/1     $.vendor               ACME GmbH  $.vendor              ACME Gmbh.  1 of 10 characters differ
1/1       $.items[0].name        pen        $.items[1].name       pen
1/1       $.items[1].price       12.99      $.items[0].price      12.99
1/1       $.note                 None       -                     -
"""


class TestExplanation:
    def test_table(self) -> None:
        assert str(explain(FOUND, INVOICE)) == TABLE + signature("anls_star", n=1)

    def test_parts(self) -> None:
        found = explain(FOUND, INVOICE)
        rows = {
            (row.reference_path, row.prediction_path): (row.reason, row.weight, row.credit) for row in found.matches
        }
        assert rows == {
            ("$.vendor", "$.vendor"): ("", 1, 0.9),
            ("$.total['$one_of'][1]", "$.total"): ("", 1, 1 - 1 / 9),
            ("$.items[1].name", "$.items[0].name"): ("", 1, 1 - 1 / 7),
            ("$.items[1].price", "$.items[0].price"): ("", 1, 1.0),
            ("$.items[0].name", "$.items[1].name"): ("", 1, 1.0),
            ("$.items[0].price", None): ("missing", 1, 0.0),
            (None, "$.items[1].colour[0]"): ("hallucinated", 1, 0.0),
            (None, "$.items[1].colour[1]"): ("hallucinated", 1, 0.0),
            ("$.items[2].name", None): ("missing", 1, 0.0),
            ("$.items[2].price", None): ("missing", 1, 0.0),
            ("$.note", None): ("", 1, 1.0),
            (None, "$.date.year"): ("hallucinated", 1, 0.0),
        }
        assert found.length == 12
        assert found.closest_reference == {
            "vendor": "ACME GmbH",
            "total": "EUR 17.99",
            "items": [
                {"name": "stapler", "price": 12.99},
                {"name": "pen", "price": 1.5, "colour": None},
                {"name": "ink", "price": 3.5},
            ],
            "date": None,
        }

    @examples(500)
    @given(reference=REFERENCES, prediction=PREDICTIONS, paper=st.booleans())
    def test_adds_up(self, reference: Any, prediction: Any, paper: bool) -> None:
        found = explain(prediction, reference, protocol="anls_star_paper" if paper else "anls_star")
        assert sum(row.weight for row in found.matches) == found.length
        assert sum(row.credit for row in found.matches) == pytest.approx(found.score * found.length, abs=1e-12)
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
        assert str(found).splitlines()[-1] == found.signature
        for row in found.matches:
            assert (row.credit > 0) <= (row.reason == "")
            assert (row.reason == "hallucinated") == (row.reference_path is None)

    @examples(300)
    @given(reference=trees(with_options=True, filled=True), prediction=trees(with_options=False, filled=True))
    def test_closest_reference_is_as_close(self, reference: Any, prediction: Any) -> None:
        """Where nothing is None or empty; None that matched an empty list is that list in it, of another size."""
        closest = explain(prediction, reference).closest_reference
        assert anls_star_score(prediction, closest) >= anls_star_score(prediction, reference) - 1e-12

    def test_texts_are_shown_as_they_were_given(self) -> None:
        row = explain({"at": "2024-03-01T12:00"}, {"at": datetime.datetime(2024, 3, 1, 12)}).matches[0]
        assert (row.reference, row.prediction) == ("2024-03-01T12:00:00", "2024-03-01T12:00")

    def test_what_a_terminal_would_obey_is_written_out(self) -> None:
        shown = str(explain(["\x1b[31m\ud800 x"], ["\x1b[31m\x00 x"]))
        assert "\\x1b[31m\\ud800 x" in shown
        assert shown.isascii()

    def test_long_texts_are_shown_around_the_first_difference(self) -> None:
        text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore"
        shown = str(explain({"a": text.upper().replace("ADIP", "ODIP"), "b": text}, {"a": text})).splitlines()[2:4]
        assert [line.split("  ")[-1] for line in shown] == ["hallucinated", "1 of 99 characters differ"]
        assert "Lorem ipsum dolor sit amet, consectet...  hall" in shown[0]
        assert "...ctetur adipiscing elit, sed do eiu...  $.a" in shown[1]
        assert "...CTETUR ODIPISCING ELIT, SED DO EIU...  1 of" in shown[1]

    def test_long_paths_are_shown_without_their_middle(self) -> None:
        tree: Any = "x"
        for number in range(30):
            tree = {f"key{number}": tree}
        found = explain(tree, tree)
        assert f"  {found.matches[0].reference_path}"[2:30] + "..." in str(found)
        assert len(str(found).splitlines()[2]) < 150
        assert len(found.matches[0].reference_path or "") > 150

    def test_wide_characters_are_aligned(self) -> None:
        rows = str(explain({"a": "東京都", "b": "cafe\u0301"}, {"a": "東京", "b": "cafe"})).splitlines()
        assert rows[1:4] == [
            "credit    reference        prediction          why it is not full",
            "0.6667/1  $.a        東京  $.a         東京都  1 of 3 characters differ",
            "0.8/1     $.b        cafe  $.b         cafe\u0301    1 of 5 characters differ",
        ]

    def test_none_is_told_from_what_is_not_there(self) -> None:
        rows = str(explain({"a": None}, {"a": "x", "b": None})).splitlines()
        assert [line.split() for line in rows[2:4]] == [
            ["0/1", "$.a", "x", "$.a", "None", "type", "mismatch"],
            ["1/1", "$.b", "None", "-", "-"],
        ]

    def test_infinity_is_plain_json(self) -> None:
        json.dumps(explain(1.0, float("inf")).to_dict(), allow_nan=False)

    def test_path_in_a_list_of_options(self) -> None:
        assert explain("b", ["a", "b"]).matches[0].reference_path == "$[1]"

    def test_padding_of_a_text_is_told(self) -> None:
        with pytest.warns(UserWarning, match="extra whitespace raised") as caught:
            shown = str(explain("ab" + " " * 10, ["xy"], protocol="rrc"))
        assert caught[0].filename == __file__
        assert "2 of 12 characters differ" in shown

    def test_equal_objects_are_matched(self) -> None:
        found = explain(["A", "a", {"k": "B"}, {"k": "b"}], [{"k": "b"}, {"k": "B"}, "a", "A"])
        assert found.closest_reference == ["A", "a", {"k": "B"}, {"k": "b"}]
        assert explain("a", one_of("A", "a")).closest_reference == "a"
        many = [f"X{i}" for i in range(6)] + [f"x{i}" for i in range(6)]
        assert explain(many, many[::-1]).closest_reference == many
        options = [one_of(text.upper(), text) for text in many]
        assert explain(many, options).closest_reference == many

    def test_closest_reference_is_of_the_objects_given(self) -> None:
        price, part = decimal.Decimal("12.50"), {"deep": ["x"]}
        closest: Any = explain({"price": "12.5", "part": "y"}, {"price": price, "part": part}).closest_reference
        assert closest["price"] is price
        assert closest["part"] is part

    def test_of_texts(self) -> None:
        found = explain("CocaCola", ["Pepsi", "Coca Cola"], protocol="rrc")
        assert found == Explanation(
            score=1 - 1 / 9,
            length=1,
            closest_reference="Coca Cola",
            key_scores={},
            matches=[Match("$[1]", "$", "Coca Cola", "CocaCola", 1, 9, 1 - 1 / 9, "", 1, 1 - 1 / 9)],
            signature=signature("rrc", n=1),
        )

    @pytest.mark.filterwarnings("ignore:1 of 1 predictions is None")
    @pytest.mark.parametrize(
        ("prediction", "answers", "protocol", "reason", "similarity"),
        [
            ("xyz", ["abc"], "standard", "below threshold", 0.0),
            ("ab", ["ac"], "paper", "below threshold", 0.5),
            (None, ["abc"], "standard", "missing", None),
            ("None", ["none"], "mpdocvqa", "scores 0 by rule", 1.0),
        ],
    )
    def test_why_a_text_scores_zero(
        self, prediction: Any, answers: list[str], protocol: str, reason: str, similarity: float | None
    ) -> None:
        found = explain(prediction, answers, protocol=protocol)
        assert (found.score, found.matches[0].reason, found.matches[0].similarity) == (0.0, reason, similarity)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Any:
    """How often each way of comparing is called."""
    counts: Counter[str] = Counter()

    def counted(name: str) -> Any:
        original = getattr(Comparison, name)

        def count(*arguments: Any) -> Any:
            counts[name] += 1
            return original(*arguments)

        return count

    for name in ("match_few", "match_same_length", "pairs_of_leaves", "pairs_of_dicts", "pairs_of_lists"):
        monkeypatch.setattr(Comparison, name, counted(name))
    return counts


class TestWork:
    def test_every_pair_of_nodes_is_compared_once(self, calls: Any) -> None:
        """14 nested lists around one word take the released package 22 s, for it compares each level twice."""
        prediction: Any = "helo"
        reference: Any = "hello"
        for _ in range(14):
            prediction, reference = [prediction, "z"], [reference, "z"]
        anls_star_score(prediction, reference)
        assert calls == {"match_few": 14}

    def test_what_matches_in_one_way_is_not_compared(self, calls: Any) -> None:
        assert anls_star_score([[["helo"]]], [[["hello"]]]) == 0.8
        assert not calls

    def test_lists_in_lists_are_compared_level_by_level(self, calls: Any) -> None:
        """In pairs, eight levels of two would be 4 ** 8 matchings."""

        def nested(depth: int, word: str) -> Any:
            return [nested(depth - 1, word + letter) for letter in "xy"] if depth else word

        assert anls_star_score(nested(8, "w"), nested(8, "w")) == 1.0
        assert calls["pairs_of_leaves"] == 1
        assert sum(calls.values()) < 50

    def test_dicts_without_a_key_in_common_are_not_compared(self, calls: Any) -> None:
        def dicts(name: str, with_shared: int) -> Any:
            shared = [{"shared": "x"}] * with_shared
            return [{f"{name}{index}": "x"} | (shared[index] if index < with_shared else {}) for index in range(50)]

        # Two pairs have the shared key and 1 of 3 leaves right; 48 pairs have none, and one key more.
        assert anls_star_score(dicts("p", 2), dicts("g", 3)) == 2 / (2 * 3 + 48 * 2 + 1)
        assert calls == {}, "plain dicts are compared as nodes"
        assert explain(dicts("p", 2), dicts("g", 3)).length == 2 * 3 + 48 * 2 + 1
        assert calls == {"pairs_of_dicts": 1, "pairs_of_leaves": 1}
