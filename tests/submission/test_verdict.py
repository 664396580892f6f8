"""The sentence that a comparison comes to."""

import numpy as np
import pytest

from anls_eval.statistics import paired_comparison
from anls_eval.statistics.groups import compare_groups
from anls_eval.submission.verdict import verdict

NAMES = ("new", "old")
FEW = [1.0] * 95 + [0.0] * 5


def test_equal_scores() -> None:
    assert verdict(NAMES, paired_comparison(FEW, FEW)) == "new and old have the same score."


@pytest.mark.parametrize("flipped", [False, True])
def test_a_difference_that_is_proven(flipped: bool) -> None:
    good, bad = np.ones(100), np.repeat([1.0, 0.5], 50)
    pair = (bad, good) if flipped else (good, bad)
    found = paired_comparison(*pair)
    low, high = sorted(map(abs, (found.interval.low, found.interval.high)))
    better, worse = NAMES[::-1] if flipped else NAMES
    assert verdict(NAMES, found) == f"{better} is better than {worse} by 0.250 ({low:.3f} to {high:.3f})."
    assert "not proven" in verdict(NAMES, found, p_adjusted=0.2)


def test_a_difference_that_is_not_proven() -> None:
    said = verdict(NAMES, paired_comparison([1.0] * 100, [1.0] * 97 + [0.0] * 3))
    assert said.startswith("new scores 0.030 (")
    assert said.endswith(") higher than old, but that it is better is not proven.")


def test_the_group_with_the_largest_proven_difference_is_named() -> None:
    new, old = np.ones(200), np.concatenate([np.full(100, 0.9), np.full(60, 0.2), np.ones(40)])
    groups = [["text"]] * 100 + [["table"]] * 60 + [["figure"]] * 40
    by = {"kind": compare_groups({"new": new, "old": old}, groups, None, 0)}
    assert verdict(NAMES, paired_comparison(new, old), by).endswith(", above all where kind is table.")
    assert "above all" not in verdict(NAMES, paired_comparison(new, old), {"kind": by["kind"][:1]})
