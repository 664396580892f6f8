"""Tallies of scores add up exactly, whatever the order."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.statistics.tally import Tally

SCORES = st.lists(st.floats(0, 1), min_size=1)


@given(SCORES, st.randoms())
def test_the_mean_does_not_depend_on_order_or_parts(scores: list[float], chance: random.Random) -> None:
    mean = math.fsum(scores) / len(scores)
    assert Tally.of(scores).mean == mean
    shuffled = chance.sample(scores, len(scores))
    tally = Tally()
    while shuffled:
        size = chance.randint(1, len(shuffled))
        tally, shuffled = Tally.of(shuffled[:size]) + tally, shuffled[size:]
    assert (tally.mean, tally.n) == (mean, len(scores))
    assert tally == Tally.of(scores)


def test_the_least_and_the_greatest() -> None:
    smallest = math.ulp(0.0)
    assert Tally.of([smallest] * 3).total == 3 * Tally.of([smallest]).total > 0
    assert Tally.of(np.ones(10)).mean == 1.0
    assert Tally.of([0.1] * 10).mean == 0.1


def test_nothing() -> None:
    assert Tally().n == 0
    with pytest.raises(ValueError, match="there are no questions"):
        _ = Tally().mean
