"""Intervals and tests: equal to scipy's where it has them, and as sure as they say in simulations."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from budget import examples
from docvqa_runs import docvqa_scores
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from anls_eval.statistics import (
    Interval,
    confidence_interval,
    minimum_detectable_difference,
    paired_comparison,
    resampling,
)
from anls_eval.statistics.tally import Tally

SCORES = st.sampled_from([0.0, 0.5, 2 / 3, 0.9, 1.0])

Floats = npt.NDArray[np.float64]


def scipy_interval(data: tuple[Floats, ...], statistic: Callable[..., Any], level: float) -> tuple[float, float]:
    """BCa of scipy, at the level that is expanded for the number of units; data is scores, or sums and sizes."""
    sizes = data[1] if len(data) > 1 else np.ones(len(data[0]))
    n = sizes.sum() ** 2 / (sizes**2).sum()
    expanded = math.sqrt(n / (n - 1)) * stats.t.ppf((1 + level) / 2, n - 1)
    found = stats.bootstrap(
        data,
        statistic,
        paired=True,
        vectorized=True,
        batch=500,
        n_resamples=20_000,
        confidence_level=2 * stats.norm.cdf(expanded) - 1,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    return float(found.low), float(found.high)


def ratio(sums: Floats, sizes: Floats, axis: int) -> Any:
    return sums.sum(axis=axis) / sizes.sum(axis=axis)


def assert_close(interval: Interval, expected: tuple[float, float]) -> None:
    """Equal but for the chance of the resamples, which moves a bound by some hundredths of the width."""
    assert (interval.low, interval.high) == pytest.approx(expected, abs=0.04 * (expected[1] - expected[0]))


def assert_share(outcomes: list[bool], expected: float) -> None:
    """As near as three standard deviations of so many outcomes."""
    near = 3 * math.sqrt(expected * (1 - expected) / len(outcomes))
    assert abs(share(outcomes) - expected) <= near


def share(outcomes: list[bool]) -> float:
    return sum(outcomes) / len(outcomes)


# Each simulation is for `make test-long`, and a small sample of it for `make test`.
TIMES = pytest.mark.parametrize("times", [400, pytest.param(1_000, marks=pytest.mark.long)])


# Beside scipy


@pytest.mark.parametrize("level", [0.68, 0.95])
@pytest.mark.parametrize(("run", "n"), [("llama_maverick", 20), ("llama_maverick", 200), ("qwen2_vl_7b", 1000)])
def test_the_interval_is_that_of_scipy(run: str, n: int, level: float) -> None:
    scores = docvqa_scores()[run][:n]
    interval = confidence_interval(scores, level=level)
    low, high = scipy_interval((scores,), np.mean, level)
    at_least = ((1 - level) / 2) ** (1 / n)
    assert_close(interval, (min(low, at_least * interval.mean), max(high, 1 - at_least * (1 - interval.mean))))
    assert interval.mean == math.fsum(scores) / n
    assert interval.standard_error == pytest.approx(stats.sem(scores))
    assert (interval.n, interval.clusters, interval.method, interval.notes) == (n, None, "BCa bootstrap", ())


@pytest.mark.parametrize("clusters", [12, 100])
def test_the_interval_of_clusters_is_that_of_their_sums_and_sizes(clusters: int) -> None:
    generator = np.random.default_rng(0)
    scores = docvqa_scores()["qwen2_vl_2b_instruct"]
    codes = np.concatenate([np.arange(clusters), generator.integers(0, clusters, len(scores) - clusters)])
    sums, sizes = (np.bincount(codes, weights).astype(np.float64) for weights in (scores, np.ones(len(codes))))
    interval = confidence_interval(scores, clusters=[f"document {code}" for code in codes])
    assert_close(interval, scipy_interval((sums, sizes), ratio, 0.95))
    assert (interval.n, interval.clusters) == (1000, clusters)


def test_clusters_of_one_question_are_no_clusters() -> None:
    scores = docvqa_scores()["llama_scout"][:300]
    interval, alone = confidence_interval(scores), confidence_interval(scores, clusters=range(300))
    assert (alone.low, alone.high, alone.mean) == (interval.low, interval.high, interval.mean)
    assert alone.standard_error == pytest.approx(interval.standard_error)


@pytest.mark.long
def test_many_distinct_values_are_pooled_without_loss() -> None:
    """As scores of trees have: more than `MAX_VALUES` distinct ones."""
    generator = np.random.default_rng(0)
    scores = generator.beta(0.6, 0.2, 3_000)
    assert len(np.unique(scores)) > resampling.MAX_VALUES
    assert_close(confidence_interval(scores), scipy_interval((scores,), np.mean, 0.95))

    sizes = generator.integers(1, 8, len(scores))
    codes = np.repeat(np.arange(len(scores)), sizes)
    interval = confidence_interval(np.repeat(scores, sizes), clusters=codes)
    assert_close(interval, scipy_interval((scores * sizes, sizes.astype(np.float64)), ratio, 0.95))

    other = generator.beta(0.6, 0.2, len(scores))
    expected = stats.permutation_test(
        (scores - other,), np.mean, permutation_type="samples", vectorized=True, batch=500, rng=generator
    ).pvalue
    assert 0.02 < expected < 0.9
    assert paired_comparison(scores, other).p_value == pytest.approx(expected, abs=0.02)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1.0]))
@examples(20)
def test_pooling_keeps_number_mean_and_variance(seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    values = np.sort(generator.standard_t(2, 2 * resampling.MAX_VALUES)) * scale
    sizes, counts = generator.uniform(1, 9, len(values)), generator.integers(1, 5, len(values))
    pooled, pooled_sizes, pooled_counts = resampling.pooled(values, sizes, counts)
    assert len(pooled) <= resampling.MAX_VALUES
    assert pooled_counts.sum() == counts.sum()
    assert pooled_counts.min() > 0
    for power in (1, 2):
        assert pooled_counts @ pooled**power == pytest.approx(counts @ values**power, abs=1e-9 * scale)
    assert pooled_counts @ pooled_sizes == pytest.approx(counts @ sizes)


def test_the_p_value_is_that_of_all_flips() -> None:
    generator = np.random.default_rng(0)
    for n in (2, 5, 10):
        a, b = (generator.choice([0.0, 0.5, 0.75, 1.0], n) for _ in range(2))
        exact = stats.permutation_test((a - b,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
        assert paired_comparison(a, b).p_value == pytest.approx(exact, abs=0.02), (a, b)


def test_whole_clusters_are_flipped() -> None:
    generator = np.random.default_rng(0)
    codes = np.repeat(np.arange(9), 4)
    a, b = (generator.choice([0.0, 0.5, 0.75, 1.0], len(codes)) for _ in range(2))
    sums = np.bincount(codes, a - b)
    exact = stats.permutation_test((sums,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    found = paired_comparison(a, b, clusters=codes)
    assert found.p_value == pytest.approx(exact, abs=0.02)
    assert found.interval.clusters == 9


@pytest.mark.parametrize("freedom", [0.3, 2, 41.5, 499, 500, 999, 1e6])
@pytest.mark.parametrize("probability", [0.84, 0.975, 0.9995])
def test_the_quantile_of_student_is_that_of_scipy(probability: float, freedom: float) -> None:
    found = resampling.student_quantile(probability, freedom)
    assert found == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-12)


# Comparisons


def test_a_comparison_of_real_runs() -> None:
    a, b = (docvqa_scores()[run] for run in ("qwen2_vl_7b_instruct", "llama_nemotron"))
    found, mirrored = paired_comparison(a, b), paired_comparison(b, a)
    assert (found.wins, found.losses, found.ties) == (91, 102, 807)
    assert found.difference == pytest.approx(0.8942174884556771 - 0.8911000935537744, abs=1e-15)
    assert_close(found.interval, scipy_interval((a - b,), np.mean, 0.95))
    assert found.interval.mean == found.difference
    assert found.p_value > 0.5
    assert (mirrored.difference, mirrored.p_value) == (-found.difference, found.p_value)
    assert (mirrored.wins, mirrored.losses, mirrored.ties) == (102, 91, 807)


def test_the_same_answers_twice() -> None:
    scores = docvqa_scores()["llama_scout"]
    found = paired_comparison(scores, scores)
    assert (found.difference, found.p_value, found.ties) == (0.0, 1.0, 1000)
    assert found.interval.high == -found.interval.low == pytest.approx(1 - 0.025**0.001)
    assert "the interval is a conservative bound that holds for any" in found.interval.notes[0]


def test_rounding_makes_no_difference() -> None:
    """0.3 - 0.1 and 0.9 - 0.7 differ in their last bits, and neither is 0.2."""
    found = paired_comparison([0.3, 0.7, 0.2], [0.1, 0.9, 0.2])
    assert found.difference == pytest.approx(0, abs=1e-16)
    assert found.p_value == 1.0


# Where a bootstrap sees nothing


@pytest.mark.parametrize(("n", "level"), [(1, 0.95), (3, 0.95), (1000, 0.95), (50, 0.9)])
def test_only_right_or_only_wrong_answers_have_the_bounds_of_clopper_and_pearson(n: int, level: float) -> None:
    for score, right in ((1.0, n), (0.0, 0)):
        interval = confidence_interval([score] * n, level=level)
        exact = stats.binomtest(right, n).proportion_ci(level, method="exact")
        assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
        assert (interval.method, interval.standard_error) == ("Markov bound", 0.0)
        assert "the interval is a conservative bound that holds for any" in interval.notes[0]


def test_equal_scores_between() -> None:
    interval = confidence_interval([0.9] * 4)
    share = 0.025**0.25
    assert (interval.low, interval.high) == pytest.approx((0.9 * share, 1 - 0.1 * share))


def test_one_cluster_is_one_unit() -> None:
    interval = confidence_interval([1.0, 0.5, 0.0, 0.5], clusters=["page"] * 4)
    assert (interval.low, interval.high) == pytest.approx((0.0125, 0.9875))
    assert interval.clusters == 1
    assert interval.notes == (
        "all clusters have the same score, so the interval is a conservative bound that holds for any distribution",
    )


@pytest.mark.parametrize(
    ("number", "notes"),
    [
        (2, ["too few clusters (2) for an interval: the bounds hold for any distribution"]),
        (4, ["too few clusters (4) for an interval: the bounds hold for any distribution"]),
        (5, ["too few clusters for a reliable interval: 5; expected at least 10"]),
        (9, ["too few clusters for a reliable interval: 9; expected at least 10"]),
        (10, []),
    ],
)
def test_few_clusters_are_noted(number: int, notes: list[str]) -> None:
    scores = docvqa_scores()["qwen2_vl_7b"][:200]
    interval = confidence_interval(scores, clusters=np.arange(200) % number)
    assert interval.clusters == number
    assert list(interval.notes) == notes
    if number < 5:
        share = 0.025 ** (1 / number)
        assert interval.low <= share * interval.mean + 1e-12
        assert interval.high >= 1 - share * (1 - interval.mean) - 1e-12


def test_one_large_document_among_many_kinds_keeps_its_weight() -> None:
    """More kinds of documents than are drawn one by one: the large one is not pooled with small ones."""
    generator = np.random.default_rng(0)
    small, large = generator.random(2_000), np.full(10_000, 0.5)
    clusters = np.concatenate([np.arange(2_000), np.full(10_000, 2_000)])
    scores = np.concatenate([small, large])
    sums, sizes = np.append(small, 5_000.0), np.append(np.ones(2_000), 10_000.0)
    draws = generator.multinomial(2_001, np.full(2_001, 1 / 2_001), 4_000)
    spread = float(np.std((draws @ sums) / (draws @ sizes)))
    units = resampling.units_of_clusters(float(scores.mean()), scores, clusters)
    assert float(np.std(resampling.bootstrap_deviations(units, 4_000, generator))) == pytest.approx(spread, rel=0.1)


def test_one_document_with_most_questions_is_noted() -> None:
    scores = np.resize([1.0, 0.5, 0.0], 100)
    clusters = np.concatenate([np.zeros(80), np.arange(20)])
    interval = confidence_interval(scores, clusters=clusters)
    assert interval.notes == (
        "too few clusters for a reliable interval: 20, as informative as 1.5 of equal size; expected at least 10",
    )
    assert interval.high - interval.low > 0.5  # hardly more than one draw


def test_a_level_beyond_what_few_questions_can_tell() -> None:
    interval = confidence_interval([0.2, 0.2, 0.8], level=0.999)
    share = 0.0005 ** (1 / 3)
    assert (interval.low, interval.high) == pytest.approx((share * 0.4, 1 - share * 0.6))


@pytest.mark.parametrize("n", [10, 30, 100])
def test_one_score_below_1_does_not_make_the_interval_jump(n: int) -> None:
    perfect, nearly = confidence_interval([1.0] * n), confidence_interval([1.0] * (n - 1) + [0.95])
    assert perfect.low == pytest.approx(0.025 ** (1 / n))
    assert nearly.low == pytest.approx(perfect.low, abs=0.005)


def test_few_differences_are_enumerated() -> None:
    """The p-value is the share of all flips of the signs, counted here one by one, in fractions."""
    generator = np.random.default_rng(0)
    for number in range(1, 11):
        differences = generator.integers(-8, 9, number) / 8
        a, b = (np.concatenate([np.maximum(own, 0), np.ones(5)]) for own in (differences, -differences))
        observed = abs(sum(map(Fraction, differences.tolist()), Fraction()))
        sums = [
            abs(sum((sign * Fraction(own) for sign, own in zip(signs, differences.tolist(), strict=True)), Fraction()))
            for signs in itertools.product((1, -1), repeat=number)
        ]
        found = paired_comparison(a, b)
        assert found.p_value == sum(bool(own >= observed) for own in sums) / len(sums)
        assert paired_comparison(a[::-1], b[::-1], seed=3).p_value == found.p_value


def test_an_interval_that_seems_to_disagree_with_the_test_says_so() -> None:
    few = paired_comparison([1.0] * 3 + [0.5] * 97, [0.9] * 3 + [0.5] * 97)
    assert few.p_value == 0.25
    assert few.interval.low > 0
    assert few.notes[-1] == (
        "the interval excludes 0 but the test finds no difference (p = 0.25; 3 of 100 questions differ): "
        "believe the test"
    )
    equal_gains = paired_comparison([1.0] * 20, [0.9] * 20)
    assert equal_gains.p_value < 0.0001
    assert "holds 0 but the test finds a difference" in equal_gains.notes[-1]
    clear = paired_comparison(*docvqa_columns())
    assert clear.notes == ()


def docvqa_columns() -> tuple[Floats, Floats]:
    return docvqa_scores()["llama_maverick"], docvqa_scores()["qwen2_vl_7b"]


# Whatever the order


@given(st.lists(st.tuples(SCORES, SCORES, st.integers(0, 5)), min_size=1, max_size=30), st.randoms())
@examples(40)
def test_order_and_names_of_clusters_do_not_matter(rows: list[tuple[float, float, int]], chance: random.Random) -> None:
    shuffled = chance.sample(rows, len(rows))
    for with_clusters in (False, True):
        results = []
        for some, name in ((rows, "{}"), (shuffled, "page {}")):
            a, b, codes = zip(*some, strict=True)
            clusters = [name.format(-code) for code in codes] if with_clusters else None
            results.append(
                (
                    confidence_interval(a, clusters=clusters, resamples=1_000),
                    paired_comparison(a, b, clusters=clusters, resamples=1_000),
                )
            )
        assert results[0] == results[1]
        interval, found = results[0]
        assert 0 <= interval.low <= interval.high <= 1
        assert -1 <= found.interval.low <= found.interval.high <= 1
        assert 0 < found.p_value <= 1


def test_a_tally_is_its_scores() -> None:
    scores = docvqa_scores()["llama_maverick"]
    assert confidence_interval(Tally.of(scores)) == confidence_interval(scores) == confidence_interval(scores.tolist())


# What can be detected


@TIMES
def test_the_minimum_detectable_difference_is_detected_in_four_of_five(times: int) -> None:
    """Two real runs, and as many questions as make their true difference the least that is detected."""
    generator = np.random.default_rng(0)
    a, b = (docvqa_scores()[run] for run in ("llama_maverick", "qwen2_vl_7b_instruct"))
    found = paired_comparison(a, b)
    least = minimum_detectable_difference(found)
    assert least is not None
    n = round(len(a) * (least / found.difference) ** 2)
    samples = generator.integers(0, len(a), (times, n))
    detected = [paired_comparison(a[rows], b[rows], resamples=1_000).p_value <= 0.05 for rows in samples]
    assert_share(detected, 0.8)


def test_the_minimum_detectable_difference_from_one_system() -> None:
    scores = docvqa_scores()["llama_nemotron"]
    interval = confidence_interval(scores)
    expected = float(special.ndtri(1 - 0.05 / 2) + special.ndtri(0.8)) * (math.sqrt(2) * interval.standard_error)
    assert minimum_detectable_difference(interval) == expected
    assert expected == pytest.approx(2.801585 * math.sqrt(2) * stats.sem(scores))
    assert minimum_detectable_difference(confidence_interval([1.0] * 10)) is None
    assert minimum_detectable_difference(paired_comparison([0.5], [0.4])) is None


# Simulations


@TIMES
@pytest.mark.parametrize(
    "run",
    ["qwen2_vl_7b", *(pytest.param(own, marks=pytest.mark.long) for own in ("llama_maverick", "qwen2_vl_2b_instruct"))],
)
def test_the_interval_holds_the_true_mean(run: str, times: int) -> None:
    generator = np.random.default_rng(7)
    population = docvqa_scores()[run]
    held = []
    for _ in range(times):
        interval = confidence_interval(generator.choice(population, 200))
        held.append(interval.low <= population.mean() <= interval.high)
    # With few errors, the bounds that hold for any distribution are at times the wider ones.
    assert_share(held, 0.96 if run == "llama_maverick" else 0.95)


def clustered_rows(generator: np.random.Generator, clusters: int) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Documents of 1 to 9 questions, each as easy for two systems as it is for two of the real runs at random."""
    runs = np.stack(list(docvqa_scores().values()))
    codes = np.repeat(np.arange(clusters), generator.integers(1, 10, clusters))
    rows = generator.integers(0, runs.shape[1], len(codes))
    a, b = (runs[generator.integers(0, len(runs), clusters)[codes], rows] for _ in range(2))
    return codes, a, b


@TIMES
def test_the_interval_of_clusters_holds_the_true_mean(times: int) -> None:
    generator = np.random.default_rng(7)
    mean = np.mean(list(docvqa_scores().values()))
    held, held_by_questions = [], []
    for _ in range(times):
        codes, scores, _ = clustered_rows(generator, 30)
        interval = confidence_interval(scores, clusters=codes, resamples=1_000)
        held.append(bool(interval.low <= mean <= interval.high))
        interval = confidence_interval(scores, resamples=1_000)
        held_by_questions.append(bool(interval.low <= mean <= interval.high))
    assert_share(held, 0.95)
    assert share(held_by_questions) < 0.9  # which is what the clusters are for


@TIMES
def test_the_paired_test_finds_few_differences_where_there_is_none(times: int) -> None:
    generator = np.random.default_rng(7)
    runs = np.stack(list(docvqa_scores().values()))
    found = []
    for _ in range(times):
        rows = generator.integers(0, runs.shape[1], 200)
        a, b = (runs[generator.integers(0, len(runs), 200), rows] for _ in range(2))
        found.append(paired_comparison(a, b, resamples=1_000).p_value <= 0.05)
    assert_share(found, 0.05)


@TIMES
@pytest.mark.long
def test_the_paired_test_of_clusters_finds_few_differences_where_there_is_none(times: int) -> None:
    generator = np.random.default_rng(7)
    found, held, found_by_questions = [], [], []
    for _ in range(times):
        codes, a, b = clustered_rows(generator, 30)
        comparison = paired_comparison(a, b, clusters=codes, resamples=2_000)
        found.append(comparison.p_value <= 0.05)
        held.append(comparison.interval.low <= 0 <= comparison.interval.high)
        found_by_questions.append(paired_comparison(a, b, resamples=1_000).p_value <= 0.05)
    assert_share(found, 0.05)
    assert_share(held, 0.95)
    assert share(found_by_questions) > 0.15


# Bad input


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([[]], {}, "scores: nothing to score: there are no questions"),
        ([Tally()], {}, "nothing to score"),
        ([[0.5, math.nan, 2]], {}, r"scores: nan in row 1, and 1 more rows; expected numbers in \[0, 1\]"),
        ([[1, None]], {}, "nan in row 1"),
        ([[1.5]], {}, "1.5 in row 0"),
        ([Tally.of([1.5])], {}, r"1\.5 in row 0"),
        ([["a"]], {}, "scores: not numbers; expected one number in"),
        ([[[1.0]]], {}, r"an array of shape \(1, 1\)"),
        ([0.5], {}, r"an array of shape \(\)"),
        ([[0.5]], {"level": 1.0}, r"level=1\.0: expected a number between 0 and 1"),
        ([[0.5]], {"level": 1 - 1e-16}, r"level=0\.9999999999999999: expected a number between 0 and 1"),
        ([[0.5]], {"level": 95}, "level=95: expected"),
        ([[0.5]], {"resamples": 999}, "resamples=999: expected at least 1,000"),
        ([[0.5, 1]], {"clusters": ["a"]}, "clusters: 1 names for 2 scores"),
        ([[0.5, 1]], {"clusters": [["a"], ["b"]]}, r"clusters: an array of shape \(2, 1\)"),
        ([[0.5, 1]], {"clusters": ["a", None]}, "clusters: no name in row 1; expected"),
        ([[0.5, 1]], {"clusters": [math.nan, 1.0]}, "clusters: no name in row 0"),
        ([[0.5, 1]], {"clusters": np.array(["NaT", "2026-01-01"], "M8[D]")}, "clusters: no name in row 0"),
        ([[0.5, 1]], {"clusters": pd.Series(["a", pd.NA])}, "clusters: no name in row 1"),
        ([[0.5, 1, 1]], {"clusters": pd.array(["a", pd.NA, "b"])}, "clusters: no name in row 1"),
        ([[0.5, 1]], {"clusters": ["a", " "]}, "clusters: no name in row 1"),
        ([Tally.of([0.5])], {"clusters": ["a"]}, "clusters need the score of each question"),
    ],
)
def test_bad_input_to_an_interval(arguments: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confidence_interval(*arguments, **options)


def test_bad_input_to_the_others() -> None:
    with pytest.raises(ValueError, match="scores_a has length 2, but scores_b has length 1; expected"):
        paired_comparison([1, 1], [1])
    with pytest.raises(ValueError, match=r"scores_b: -1\.0 in row 0"):
        paired_comparison([1], [-1])
    with pytest.raises(ValueError, match="clusters: 1 names for 2 scores"):
        paired_comparison([1, 1], [1, 0], clusters=["a"])
    with pytest.raises(ValueError, match="seed=-1: expected an integer of at least 0"):
        confidence_interval([1.0, 0.5], seed=-1)
    with pytest.raises(ValueError, match="level=2:"):
        paired_comparison([1], [1], level=2)
