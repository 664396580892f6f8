"""Scores in groups: intervals of groups and of the mean over them, against resamples of all questions at once."""

import numpy as np
import numpy.typing as npt
import pytest

from anls_eval.statistics import confidence_interval, paired_comparison
from anls_eval.statistics.groups import GroupedScores, compare_groups
from anls_eval.statistics.ranking import holm


def of_questions(
    scores: npt.ArrayLike, groups: list[list[str]], documents: npt.NDArray[np.int64] | None = None
) -> GroupedScores:
    values = np.asarray(scores, dtype=np.float64)
    return GroupedScores(values, np.ones(len(values), dtype=np.int64), groups, documents)


def drawn(n: int, seed: int = 0) -> tuple[npt.NDArray[np.float64], list[list[str]]]:
    generator = np.random.default_rng(seed)
    groups = [["a"] * (row % 2) + ["b"] * (row % 3 == 0) + ["c"] * (row % 5 == 0) for row in range(n)]
    return generator.choice([0.0, 0.75, 1.0], size=n), groups


@pytest.mark.parametrize("by_document", [False, True])
def test_macro_interval_is_that_of_joint_resamples(by_document: bool) -> None:
    scores, groups = drawn(300)
    documents = np.arange(300) // 4
    found = of_questions(scores, groups, documents if by_document else None).macro_interval(0)
    members = np.array([[name in own for name in "abc"] for own in groups], dtype=np.float64)
    units = documents if by_document else np.arange(300)
    sums = np.stack([np.bincount(units, column) for column in (members * scores[:, None]).T])
    sizes = np.stack([np.bincount(units, column) for column in members.T])
    counts = np.random.default_rng(1).multinomial(sums.shape[1], [1 / sums.shape[1]] * sums.shape[1], size=20_000)
    means = np.mean((sums @ counts.T) / (sizes @ counts.T), axis=0)
    expected = np.quantile(means, [0.025, 0.975])
    width = expected[1] - expected[0]
    assert found is not None
    assert [found.low, found.high] == pytest.approx(expected.tolist(), abs=0.06 * width)
    assert found.mean == pytest.approx(np.mean(sums.sum(1) / sizes.sum(1)))


def test_rows_with_counts_are_questions() -> None:
    scores, groups = drawn(200)
    kinds = sorted({(tuple(own), score) for own, score in zip(groups, scores.tolist(), strict=True)})
    numbers = [sum(key == (tuple(g), s) for g, s in zip(groups, scores.tolist(), strict=True)) for key in kinds]
    whole = of_questions(scores, groups)
    short = GroupedScores(np.array([score for _, score in kinds]), np.array(numbers), [own for own, _ in kinds], None)
    assert short.interval("a", 0) == whole.interval("a", 0)
    macro = short.macro_interval(0)
    assert macro is not None
    assert macro == whole.macro_interval(0)
    assert macro.n == sum(map(bool, groups))


@pytest.mark.parametrize("by_document", [False, True])
def test_macro_interval_does_not_depend_on_any_order(by_document: bool) -> None:
    scores, groups = drawn(300)
    documents = np.arange(300) // 4 if by_document else None
    order = np.random.default_rng(2).permutation(300)
    shuffled = [groups[row][::-1] for row in order]
    renamed = None if documents is None else 74 - documents[order]
    other = of_questions(scores[order], shuffled, renamed)
    assert of_questions(scores, groups, documents).macro_interval(5) == other.macro_interval(5)


def test_group_interval_is_confidence_interval() -> None:
    scores, groups = drawn(120)
    documents = np.arange(120) // 7
    rows = [row for row, own in enumerate(groups) if "b" in own]
    assert of_questions(scores, groups).interval("b", 3) == confidence_interval(scores[rows], seed=3)
    expected = confidence_interval(scores[rows], clusters=documents[rows], seed=3)
    assert of_questions(scores, groups, documents).interval("b", 3) == expected


def test_groups_that_cannot_have_an_interval() -> None:
    groups = [["a"], ["a"], ["b"], ["b"]]
    own = of_questions([0.0, 1.0, 0.5, 1.0], groups, np.array([0, 1, 2, 2]))
    assert own.interval("a", 0) is not None
    assert own.interval("b", 0) is None
    assert own.macro_interval(0) is None


def test_equal_scores_in_all_groups() -> None:
    groups = [["a"]] * 50 + [["b"]] * 50
    own = of_questions([1.0] * 50 + [0.5] * 50, groups)
    found = own.macro_interval(0)
    ends = [(interval.low, interval.high) for name in "ab" if (interval := own.interval(name, 0)) is not None]
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((0.75, *np.mean(ends, axis=0)))


def test_small_groups_are_noted() -> None:
    scores, groups = drawn(100)
    found = of_questions(scores, [*groups[:-1], ["rare"]]).macro_interval(0)
    assert found is not None
    assert found.notes == ("1 of 4 groups have fewer than 10 questions: the interval is not reliable",)


def test_differences_by_group_are_paired_comparisons() -> None:
    scores, groups = drawn(300)
    documents = np.arange(300) // 4
    systems = {"good": np.maximum(scores, 0.75), "bad": scores, "same": scores}
    for codes in (None, documents):
        found = compare_groups(systems, groups, codes, 1)
        pairs = [("good", "bad"), ("good", "same"), ("bad", "same")]
        assert [(own.group, own.a, own.b) for own in found] == [(name, *pair) for name in "abc" for pair in pairs]
        for own in found:
            rows = [row for row, names in enumerate(groups) if own.group in names]
            clusters = None if codes is None else codes[rows]
            expected = paired_comparison(systems[own.a][rows], systems[own.b][rows], clusters=clusters, seed=1)
            assert (own.n, own.comparison) == (len(rows), expected)
            assert own.interval == expected.interval
        assert [own.p_adjusted for own in found] == holm([own.comparison.p_value for own in found]).tolist()
        assert {own.b for own in found if own.p_adjusted > 0.05} == {"same"}


def test_differences_in_one_document_have_no_interval() -> None:
    systems = {"a": np.array([1.0, 1.0, 0.5, 1.0]), "b": np.array([0.0, 1.0, 0.5, 0.0])}
    x, y = compare_groups(systems, [["x"], ["x"], ["y"], ["y"]], np.array([0, 0, 1, 2]), 0)
    assert (x.interval, x.comparison.p_value) == (None, 1.0)
    assert y.interval is not None
