"""One-sided bounds: against exact distributions, random weights and simulated truth."""

import numpy as np
import pytest
from budget import examples
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from anls_eval.statistics.bounds import _STEP, Sample
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


@pytest.mark.parametrize("n", [1, 10, 1_000, 9_000, 30_000, 1_000_000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9])
def test_is_the_binomial_test_for_any_number_of_questions(n: int, share: float) -> None:
    """Also where the scores are not 0 and 1 but any two, and far from the mean."""
    right = round(n * share)
    scores = np.where(np.arange(n) < right, 1.0, 0.0)
    deviation = (max(share * (1 - share), 1 / n) / n) ** 0.5
    for off in (-40, -6, -2, -0.5, 0.5, 2, 6, 40):
        mean = right / n + off * deviation
        if 0 < mean < 1:
            above, below = stats.binom.sf(right - 1, n, mean), stats.binom.cdf(right, n, mean)
            for scale in 1.0, 0.07:
                sample = Sample(scores * scale, np.full(n, scale), 0.0)
                assert (sample.p_above(mean), sample.p_below(mean)) == pytest.approx((above, below), abs=1e-8)


@pytest.mark.parametrize("n", [8_000, 10_000, 80_000])
def test_bounds_of_many_small_differences(n: int) -> None:
    """They are those of a normal distribution by then."""
    differences = np.where(np.random.default_rng(n).random(n) < 0.5, -1 / 14, 0.0)
    sample = Sample.of(differences, None, -1.0)
    error = 1.6449 * differences.std() / n**0.5
    assert sample.lower_bound() == pytest.approx(sample.mean - error, rel=0.01)
    assert sample.upper_bound() == pytest.approx(sample.mean + error, rel=0.01)
    assert sample.p_below(0.0) == 0.0
    assert sample.p_above(-0.5) == 0.0


@given(st.integers(0, 10_000), st.sampled_from([20, 1_000, 40_000]), st.booleans())
@example(832, 1_000, False)  # of three scores that are not 0, which need the smallest steps
@examples(100)
def test_the_steps_are_fine_enough(seed: int, n: int, by_document: bool) -> None:
    """For scores and documents of very different sizes, of which one can count more than all others."""
    generator = np.random.default_rng(seed)
    scores = np.where(generator.random(n) < generator.choice([0.01, 0.5, 1]), generator.beta(0.5, 2, n), 0)
    codes = (n * generator.pareto(1.1, n) / 50).astype(int) % max(n // 3, 1)
    documents = np.unique(codes, return_inverse=True)[1] if by_document else None
    sample = Sample.of(scores * generator.choice([-1, 1], n), documents, -1.0)
    for off in (-3, -1.6, 0, 1.6, 3):
        mean = float(np.clip(sample.mean + off * sample.deviation / len(sample.sums) ** 0.5, -0.99, 0.99))
        found = []
        for step in _STEP, _STEP / 3:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("anls_eval.statistics.bounds._STEP", step)
                found.append(sample.p_above(mean))
        assert found[0] == pytest.approx(found[1], abs=1e-9)


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
