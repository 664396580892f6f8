"""One call gives what a batch of one gives: the same bits, the same warnings, the same error, whatever is passed."""

from __future__ import annotations

import datetime
import decimal
import enum
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from any_texts import ANY_TEXT
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from patched import through_arrays

from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores, anls_star_score, anls_star_scores

TEXTS = sorted(name for name, rules in PROTOCOLS.items() if not rules.tree)


class Colour(enum.Enum):
    RED = "red"
    NONE = None


FEW = st.sampled_from(["red", "reds", "Red  ", "blue", "blues", "", "17.99", "17.9", "\ud800d"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | FEW | ANY_TEXT
UNUSUAL = st.sampled_from(
    [
        *[np.float32(0.1), np.float64("nan"), np.int64(3), np.bool_(True), np.str_("red"), np.datetime64("NaT")],
        *[np.array("red"), np.array(["red"]), np.array([1, 2]), Colour.RED, Colour.NONE, decimal.Decimal("1.50")],
        *[decimal.Decimal("1e99999"), datetime.date(2024, 1, 2), b"red", b"\xff", {"red"}, object, (), 1j],
    ]
)
TOO_LONG = st.builds(pow, st.just(10), st.just(5000))  # to be written: not drawn from a list, which is written
LEAVES = FEW | FEW | PLAIN | UNUSUAL | TOO_LONG
KEYS = st.sampled_from([*"abcd", *"abcd", "", "$one_of", "$oneOf", "$literal", 1, None, Colour.RED])


def containers(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    found: st.SearchStrategy[Any] = st.dictionaries(KEYS, below, max_size=4) | st.lists(below, max_size=5)
    found |= st.lists(FEW, max_size=7) | st.lists(st.dictionaries(st.sampled_from("abc"), FEW, max_size=3), max_size=6)
    return found | st.lists(below, max_size=3).map(tuple)


TREES = st.recursive(LEAVES, containers, max_leaves=12)
ANSWERS = st.lists(FEW | ANY_TEXT, min_size=1, max_size=4) | st.lists(LEAVES, max_size=3) | LEAVES | TREES
THRESHOLDS = st.none() | st.sampled_from([0, 1, 0.8, "4/5", True, "x", 2, float("nan"), [0.5]])


def outcome(call: Callable[[], Any], *, of_batch: bool = False) -> tuple[object, ...]:
    """What a call returns or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result: object = float(call()).hex()
        except (TypeError, ValueError) as error:
            # A batch names the row, and asks for columns where one call asks for values.
            row = r"^row 0: |(?<=s)\[0\]| for each question" if of_batch else "^$"
            result = type(error).__name__, re.sub(row, "", str(error))
    return str(result).replace("predictions", "prediction"), [str(own.message) for own in found]


@pytest.mark.parametrize("name", [None, *TEXTS])
@examples(60)
@given(prediction=TREES, answers=ANSWERS, threshold=THRESHOLDS)
def test_texts(name: str | None, prediction: Any, answers: Any, threshold: Any) -> None:
    options: dict[str, Any] = {"threshold": threshold} | ({} if name is None else {"protocol": name})
    one = outcome(lambda: anls_score(prediction, answers, **options))
    assert one == outcome(lambda: anls_scores([prediction], [answers], **options)[0], of_batch=True)
    with through_arrays():
        assert one == outcome(lambda: anls_scores([prediction], [answers], **options)[0], of_batch=True)


@pytest.mark.parametrize("name", ["anls_star", "anls_star_paper"])
@examples(1_000)
@given(prediction=TREES, reference=TREES, threshold=THRESHOLDS)
def test_trees(name: str, prediction: Any, reference: Any, threshold: Any) -> None:
    one = outcome(lambda: anls_star_score(prediction, reference, protocol=name, threshold=threshold))
    batch = outcome(
        lambda: anls_star_scores([prediction], [reference], protocol=name, threshold=threshold)[0], of_batch=True
    )
    assert one == batch


@pytest.mark.parametrize("name", ["anls_star", "anls_star_paper"])
@examples(500)
@given(tree=TREES, data=st.data())
def test_trees_that_are_alike(name: str, tree: Any, data: st.DataObject) -> None:
    """Two random trees seldom have lists of dicts in the same place: these do."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(child) for key, child in value.items()}
        if isinstance(value, (list, tuple)):
            return data.draw(st.permutations(list(map(changed, value))))
        return data.draw(st.just(value) | FEW)

    prediction = changed(tree)
    one = outcome(lambda: anls_star_score(prediction, tree, protocol=name))
    assert one == outcome(lambda: anls_star_scores([prediction], [tree], protocol=name)[0], of_batch=True)


def test_the_same_threshold_of_another_type_is_another_option() -> None:
    assert anls_score("ab", ["ac"], threshold=1) == 0
    with pytest.raises(ValueError, match="threshold=True"):
        anls_score("ab", ["ac"], threshold=True)
