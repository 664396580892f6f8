"""Lists of MMESGBench: difflib decides, and is asked only where it can say yes."""

import difflib
import random
from typing import Any
from unittest import mock

from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.leaderboards import leaderboard_score

ITEMS = st.sampled_from(["", "a", "ab", "total", "totals", "tot als", "latot", "xx" * 110, "xx" * 110 + "y"])
ITEMS |= st.text("abc ", max_size=9)


def score(prediction: list[str], reference: list[str]) -> float:
    return leaderboard_score(prediction, reference, protocol="mmesgbench", answer_type="List")


def share_by_difflib(prediction: list[str], reference: list[str]) -> float:
    """The share of answers with an item, as the original counts it."""
    left, found = [item.lower().strip() for item in prediction], 0
    for answer in reference:
        ratios = [difflib.SequenceMatcher(None, answer.lower().strip(), item).ratio() for item in left]
        match = next((index for index, ratio in enumerate(ratios) if ratio > 0.8), None)
        if match is not None:
            del left[match]
            found += 1
    return found / len(reference)


@examples(300)
@given(items=st.lists(st.tuples(ITEMS, ITEMS), min_size=1, max_size=6))
def test_as_difflib_says(items: list[tuple[str, str]]) -> None:
    prediction, reference = ([own[side].strip() for own in items] for side in (0, 1))
    assert score(prediction, reference) == share_by_difflib(prediction, reference)


def test_work_of_long_lists() -> None:
    generator = random.Random(1)  # noqa: S311
    words = [" ".join(generator.choices(["alpha", "beta", "steel", "pipe", "valve", "crate"], k=6)) for _ in range(100)]
    others = [word[::-1] for word in words]
    ratios = 0

    class Counted(difflib.SequenceMatcher[str]):
        def ratio(self) -> Any:
            nonlocal ratios
            ratios += 1
            return super().ratio()

    with mock.patch.object(difflib, "SequenceMatcher", Counted):
        assert score(words, words) == 1.0
        assert ratios <= 120, "difflib compares texts that differ too much"
        ratios = 0
        assert score(others, words) == 0.0
        assert ratios == 0, "difflib compares texts that differ too much"
