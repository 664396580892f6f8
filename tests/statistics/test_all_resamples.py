"""The distribution of the means of all resamples, against those of all or of many resamples, one by one."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from budget import examples
from docvqa_runs import docvqa_scores
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from anls_eval.statistics import confidence_interval, paired_comparison
from anls_eval.statistics.all_resamples import AllResamples, all_resamples
from anls_eval.statistics.resampling import units_of_histogram

Floats = npt.NDArray[np.float64]


def distribution(scores: npt.ArrayLike) -> AllResamples:
    values = np.asarray(scores, dtype=np.float64)
    return all_resamples(units_of_histogram(math.fsum(values) / len(values), *np.unique(values, return_counts=True)))


@pytest.mark.parametrize(
    ("right", "wrong"), [(1, 1), (1, 9), (70, 30), (4_990, 10), (3_000, 4_000), (999_999, 1), (30_000_000, 20_000_000)]
)
def test_right_and_wrong_answers_give_the_binomial_distribution(right: int, wrong: int) -> None:
    n = right + wrong
    values, counts = np.array([0.0, 1.0]), np.array([wrong, right])
    found = all_resamples(units_of_histogram(right / n, values, counts))
    expected = stats.binom(n, right / n)
    assert found.below == pytest.approx(expected.cdf(right - 1) + expected.pmf(right) / 2, abs=1e-6)
    for probability in (0.001, 0.02, 0.3, 0.6, 0.97, 0.9999):
        [deviation] = found.quantiles([probability])
        assert deviation * n + right == pytest.approx(expected.ppf(probability), abs=max(1e-6, 1e-4 * math.sqrt(n)))


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from([1.0, 1e-6]))
@examples(30)
def test_few_questions_give_the_resamples_that_there_are(seed: int, n: int, scale: float) -> None:
    scores = np.random.default_rng(seed).random(n) * scale
    every = np.array([math.fsum(drawn) / n for drawn in itertools.product(scores.tolist(), repeat=n)])
    every = np.sort(every - math.fsum(scores) / n)
    found, span = distribution(scores), float(np.ptp(scores))
    near = 1e-12 * scale
    below = np.count_nonzero(every < -near) + np.count_nonzero(np.abs(every) <= near) / 2
    assert found.below == pytest.approx(below / len(every), abs=0.01)
    probabilities = (np.array([0.1, 0.5, 0.9]) * len(every)).astype(int) + 0.5  # in the middle of a resample
    expected = every[probabilities.astype(int)]
    assert np.abs(found.quantiles((probabilities / len(every)).tolist()) - expected).max() <= 2e-3 * span


@pytest.mark.parametrize("n", [50, 1_000, pytest.param(5_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("what", ["run", "difference", "tree", "narrow", "rare"])
def test_many_questions_give_the_quantiles_of_many_resamples(n: int, what: str) -> None:
    generator = np.random.default_rng(5)
    runs = docvqa_scores()
    scores = {
        "run": generator.choice(runs["qwen2_vl_7b_instruct"], n),
        "difference": generator.choice(runs["llama_maverick"] - runs["qwen2_vl_2b_instruct"], n),
        "tree": generator.beta(0.6, 0.2, n),
        "narrow": generator.uniform(0.85, 0.95, n),
        "rare": np.where(np.arange(n) < 3, generator.random(n), 1.0),
    }[what]
    kinds, counts = np.unique(scores, return_counts=True)
    drawn = generator.multinomial(n, counts / n, 4_000) @ kinds / n - scores.mean()
    found = distribution(scores)
    probabilities = [0.02, 0.2, 0.5, 0.8, 0.98]
    error = 4 * scores.std() / math.sqrt(n) * np.sqrt([p * (1 - p) / 4_000 for p in probabilities]) / 0.05
    assert (np.abs(found.quantiles(probabilities) - np.quantile(drawn, probabilities)) <= error).all()
    assert found.below == pytest.approx((drawn < -1e-12).mean() + (np.abs(drawn) <= 1e-12).mean() / 2, abs=0.04)
    shares = np.diff(found.shares, prepend=0)
    assert shares @ found.deviations == pytest.approx(0, abs=1e-9)
    assert shares @ found.deviations**2 == pytest.approx(scores.var() / n, rel=1e-6)


def test_beyond_the_last_probability_are_the_outermost_resamples() -> None:
    found = distribution([0.25, 1.0, 1.0])
    assert found.quantiles([0.0, 1e-300, 1.0]) == pytest.approx([-0.5, -0.5, 0.25])


def test_nothing_is_drawn_unless_documents_differ_in_size() -> None:
    scores = docvqa_scores()["llama_maverick"]
    of_one_size, of_two = np.arange(1_000) // 4, np.arange(1_000) // 3
    for clusters, is_drawn in ((None, False), (of_one_size, False), (of_two, True)):
        found = [confidence_interval(scores, clusters=clusters, seed=seed) for seed in (0, 1)]
        assert (found[0] != found[1]) == is_drawn


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([0, 2, 5]))
@examples(60)
def test_the_other_direction_is_the_mirror_image(seed: int, n: int, documents: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = (generator.choice([0.0, 0.3, 0.5, 2 / 3, 0.7, 1.0], n) for _ in range(2))
    if seed % 3 == 0:
        b = a[::-1]  # means are equal
    clusters = generator.integers(0, documents, n) if documents else None
    one, other = (paired_comparison(*pair, clusters=clusters) for pair in ((a, b), (b, a)))
    assert (one.difference, one.p_value, one.wins) == (-other.difference, other.p_value, other.losses)
    assert (one.interval.mean, one.interval.low, one.interval.high) == (
        -other.interval.mean,
        -other.interval.high,
        -other.interval.low,
    )
    assert one.notes == other.notes
