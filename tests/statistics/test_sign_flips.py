"""The paired test: its p-values against all flips, counted exactly in ways that do not share its code."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from budget import examples
from docvqa_runs import docvqa_scores
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from anls_eval.statistics.sign_flips import MIN_P_VALUE, sign_flip_p_value

Floats = npt.NDArray[np.float64]


def share_of_all_flips(whole: npt.ArrayLike) -> float:
    """The share of all flips of integers whose sum is at least as extreme, by adding them one by one."""
    integers = np.asarray(whole, dtype=np.int64)
    total = int(np.abs(integers).sum())
    shares = np.zeros(2 * total + 1)  # of the sums from -total to total
    shares[total] = 1
    for size in np.abs(integers).tolist():
        shares = (np.roll(shares, size) + np.roll(shares, -size)) / 2
    sums = np.arange(-total, total + 1)
    return float(shares[np.abs(sums) >= abs(int(integers.sum()))].sum())


@pytest.mark.parametrize(("wins", "losses"), [(15, 8), (30, 10), (300, 260), (2_000, 2_000), (60_000, 59_000)])
def test_right_and_wrong_answers_give_the_sign_test(wins: int, losses: int) -> None:
    differences = np.repeat([1.0, 0.0, -1.0], [wins, 100, losses])
    expected = stats.binomtest(wins, wins + losses).pvalue
    assert sign_flip_p_value(differences) == pytest.approx(expected, rel=1e-9)


def test_tiny_p_values() -> None:
    for wins, losses in ((32, 0), (60, 10), (545, 355)):
        expected = stats.binomtest(wins, wins + losses).pvalue
        assert 1e-12 < expected < 1e-9
        assert sign_flip_p_value(np.repeat([1.0, -1.0], [wins, losses])) == pytest.approx(expected, rel=1e-3)
    assert sign_flip_p_value(np.ones(5_000)) == MIN_P_VALUE


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 8, 9, 16, 60]), st.integers(21, 60))
@examples(30)
def test_fractions_are_exact(seed: int, denominator: int, number: int) -> None:
    generator = np.random.default_rng(seed)
    whole = generator.integers(-denominator // 2, denominator + 1, number)
    expected = share_of_all_flips(whole)
    assert sign_flip_p_value(whole / denominator) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@given(st.integers(0, 2**32 - 1), st.integers(21, 200))
@examples(20)
def test_sizes_off_the_grid_are_almost_exact(seed: int, number: int) -> None:
    """Fractions of 17 * 19 * 23, of which few are on any grid."""
    generator = np.random.default_rng(seed)
    whole = generator.integers(-5_000, 7_430, number)
    expected = share_of_all_flips(whole)
    assert sign_flip_p_value(whole / 7_429) == pytest.approx(expected, rel=0.02, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(21, 80), st.sampled_from([0.8, 1.2, 2.0]))
@examples(20)
def test_sums_of_documents_with_heavy_tails(seed: int, documents: int, tail: float) -> None:
    """One document can hold most questions; sums are multiples of 1/4."""
    generator = np.random.default_rng(seed)
    sizes = np.minimum(np.ceil(4 * (1 + generator.pareto(tail, documents))), 20_000).astype(np.int64)
    whole = sizes * generator.choice([-1, 1, 1], documents)
    expected = share_of_all_flips(whole)
    assert sign_flip_p_value(whole / 4) == pytest.approx(expected, rel=0.02, abs=1e-12)


def test_real_runs_agree_with_random_flips() -> None:
    a, b = (docvqa_scores()[run] for run in ("llama_maverick", "qwen2_vl_7b_instruct"))
    differences = a - b
    own = differences[differences != 0]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (100_000, len(own)))
    as_extreme = np.abs(signs @ own) >= abs(own.sum()) - 1e-9
    p_value = sign_flip_p_value(differences)
    assert p_value == pytest.approx(as_extreme.mean(), abs=4 * math.sqrt(p_value / len(as_extreme)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
@examples(30)
def test_order_direction_and_scale_do_not_matter(seed: int, number: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = (generator.choice([0.0, 0.3, 0.5, 2 / 3, 0.7, 0.9, 1.0], number) for _ in range(2))
    p_value = sign_flip_p_value(a - b)
    assert 0 < p_value <= 1
    assert sign_flip_p_value(b - a) == p_value
    assert sign_flip_p_value(generator.permutation(a - b)) == p_value
    assert sign_flip_p_value(np.concatenate([a - b, np.zeros(50)])) == p_value
    assert sign_flip_p_value((a - b) / 1024) == pytest.approx(p_value, rel=0.02)


def test_equal_sums_stay_equal_in_spite_of_rounding() -> None:
    """0.3 - 0.1, 0.9 - 0.7 and 0.2 differ in their last bits: the sum is 0, and every flip is as extreme."""
    differences = np.array([0.3 - 0.1, 0.7 - 0.9, 0.2, -0.2] * 10)
    assert len(np.unique(np.abs(differences))) == 3
    assert sign_flip_p_value(differences) == 1.0
    one_more = np.append(differences, 0.9 - 0.7)
    assert sign_flip_p_value(one_more) == pytest.approx(1.0, abs=1e-12)  # of an odd number, no sum is smaller


@pytest.mark.parametrize("number", [0, 1, 20, 21, 500])
def test_equal_systems(number: int) -> None:
    assert sign_flip_p_value(np.zeros(number)) == 1.0
    assert sign_flip_p_value(np.resize([1e-14, -1e-14], number)) == 1.0


def test_differences_that_are_all_tiny_or_all_large() -> None:
    signs = np.repeat([1, -1], [40, 20])
    expected = stats.binomtest(20, 60).pvalue
    for size in (1e-9, 1e-5, 0.123, 7.0, 1e6):
        assert sign_flip_p_value(signs * size) == pytest.approx(expected, rel=1e-6)


def test_a_million_questions() -> None:
    generator = np.random.default_rng(0)
    differences = np.where(generator.random(1_000_000) < 0.3, generator.uniform(-1, 1.003, 1_000_000), 0)
    z = abs(differences.sum()) / math.sqrt((differences**2).sum())
    assert sign_flip_p_value(differences) == pytest.approx(2 * stats.norm.sf(z), rel=0.01)
