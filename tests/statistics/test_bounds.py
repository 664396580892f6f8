"""One-sided bounds: against exact distributions, random weights and simulated truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from anls_eval.statistics.bounds import Sample
from benchmarks.gate import ALPHA, Cell, error_of, rates


@pytest.mark.parametrize(("losses", "gains"), [(0, 0), (5, 0), (8, 1), (20, 10), (3, 2), (0, 4)])
def test_is_the_exact_sign_test(losses: int, gains: int) -> None:
    differences = np.array([-1.0] * losses + [1.0] * gains + [0.0] * 30)
    expected = stats.binom.cdf(gains, losses + gains, 0.5)
    assert Sample.of(differences, lowest=-1.0).p_below(0.0) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (95, 100), (100, 100), (3, 50), (999, 1000)])
def test_is_the_bound_of_clopper_and_pearson(right: int, n: int) -> None:
    sample = Sample.of(np.array([1.0] * right + [0.0] * (n - right)))
    low = stats.beta.ppf(0.05, right, n - right + 1) if right else 0.0
    high = stats.beta.ppf(0.95, right + 1, n - right) if right < n else 1.0
    assert (sample.lower_bound(), sample.upper_bound()) == pytest.approx((low, high), abs=1e-7)


def test_one_score_has_the_bound_of_markov() -> None:
    assert Sample.of(np.array([0.3])).lower_bound() == pytest.approx(0.05 * 0.3, abs=1e-7)


@pytest.mark.parametrize("by_document", [False, True])
def test_is_the_share_of_random_weights(by_document: bool) -> None:
    generator = np.random.default_rng(3)
    differences = generator.choice([-1.0, -0.5, -0.1, 0.0, 0.3, 1.0], size=40)
    codes = np.sort(generator.integers(0, 12, 40)) if by_document else None
    sample = Sample.of(differences, None if codes is None else np.unique(codes, return_inverse=True)[1], -1.0)
    mean = sample.mean - 0.15
    values = np.append(sample.sums - mean * sample.sizes, (-1 - mean) * sample.unseen_size)
    expected = np.mean(generator.exponential(size=(200_000, len(values))) @ values <= 0)
    assert sample.p_above(mean) == pytest.approx(expected, abs=5 * (0.25 / 200_000) ** 0.5)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(-0.9, 0.9))
def test_properties(differences: list[float], mean: float) -> None:
    sample, mirrored = (Sample.of(sign * np.array(differences), lowest=-1.0) for sign in (1, -1))
    low, high = sample.lower_bound(), sample.upper_bound()
    assert -1 <= low <= sample.mean + 1e-9
    assert sample.mean - 1e-9 <= high <= 1
    assert mirrored.lower_bound() == pytest.approx(-high, abs=1e-6)
    assert 0 <= sample.p_above(mean) <= 1
    assert sample.p_above(mean) == pytest.approx(mirrored.p_below(-mean), abs=1e-9)
    assert sample.p_above(mean) <= sample.p_above(min(mean + 0.1, 1.0)) + 1e-9


def test_the_order_of_documents_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    differences, codes = generator.uniform(-1, 1, 50), np.arange(50) % 9
    order = generator.permutation(50)
    samples = [Sample.of(differences, codes, -1.0), Sample.of(differences[order], (8 - codes)[order], -1.0)]
    assert samples[0].lower_bound() == pytest.approx(samples[1].lower_bound(), abs=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("by_document", [False, True])
@pytest.mark.parametrize("changed", [0.02, 0.2])
@pytest.mark.parametrize("n", [50, 200, 1_000])
def test_keeps_its_level(n: int, changed: float, by_document: bool) -> None:
    assert max(rates(Cell(n, changed, 0.01, by_document), 0.01, 1_000)) <= ALPHA + error_of(1_000)
