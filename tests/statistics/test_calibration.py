"""Calibration: beside its definitions, written down as plainly as they can be, and on DUDE's own submission."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.statistics import Calibration, ReliabilityPoint, calibration
from anls_eval.statistics.calibration import CURVE_POINTS

UNIT = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
ROWS = st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=6)

# Scores and confidences of DUDE's imperfect demonstration submission (Jordy-VL/DUDEeval @8bd6dea), by question. The
# scores are those of its script evaluate_submission.py, run with --score_calibration. Its ECE comes from the Hub's
# metric jordyvl/ece, which takes a bin's upper edge for its confidence, and was not run.
DUDE_SCORES = [0, 0, 1, 1, 1, 0.8269230769230769, 0.6666666666666667, 0.9318181818181819, 1, 1, 1]
DUDE_CONFIDENCES = [0.8, 0.4, 0.99, 0.6, 0.89, 0.4, 0.75, 0.95, 0.3, 0.3, 0.7]


def plain_aurc(scores: list[Fraction], confidences: list[float]) -> Fraction:
    """The mean over all orders that the confidences allow of the mean risk of the k surest."""
    areas = []
    for order in itertools.permutations(range(len(scores))):
        if all(confidences[a] >= confidences[b] for a, b in itertools.pairwise(order)):
            losses = [1 - scores[row] for row in order]
            risks = [sum(losses[:k], Fraction(0)) / k for k in range(1, len(losses) + 1)]
            areas.append(sum(risks, Fraction(0)) / len(risks))
    return sum(areas, Fraction(0)) / len(areas)


@given(ROWS)
def test_areas_are_the_mean_over_all_orders(rows: list[tuple[float, float]]) -> None:
    scores, confidences = map(list, zip(*rows, strict=True))
    found = calibration(scores, confidences)
    exact = [Fraction(score) for score in scores]
    aurc = plain_aurc(exact, confidences)
    assert found.aurc == pytest.approx(float(aurc), abs=1e-12)
    assert found.e_aurc == pytest.approx(float(aurc - plain_aurc(exact, scores)), abs=1e-12)
    assert found.brier == pytest.approx(sum((c - s) ** 2 for s, c in rows) / len(rows))
    assert found.risk_coverage[-1].coverage == 1.0
    assert found.risk_coverage[-1].risk == pytest.approx(1 - math.fsum(scores) / len(scores))


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=50), st.integers(1, 12), st.randoms())
def test_the_order_does_not_matter(rows: list[tuple[float, float]], bins: int, chance: random.Random) -> None:
    found = calibration(*zip(*rows, strict=True), bins=bins)
    assert calibration(*zip(*chance.sample(rows, len(rows)), strict=True), bins=bins) == found
    assert sum(point.count for point in found.reliability) == found.n == len(rows)
    assert len(found.reliability) <= bins
    confidences = [point.confidence for point in found.reliability]
    assert confidences == sorted(set(confidences))
    assert 0 <= found.e_aurc <= found.aurc <= 1
    # The error of a bin is at most the mean error of its questions.
    assert found.ece <= math.fsum(abs(score - confidence) for score, confidence in rows) / len(rows) + 1e-12


def test_bins_hold_equally_many_questions() -> None:
    generator = np.random.default_rng(0)
    confidences, scores = generator.random((2, 1_003))
    found = calibration(scores, confidences, bins=100)
    assert {point.count for point in found.reliability} == {10, 11}
    order = np.argsort(confidences)
    start = 0
    errors = []
    for point in found.reliability:
        rows = order[start : start + point.count]
        start += point.count
        assert (point.confidence, point.score) == pytest.approx((confidences[rows].mean(), scores[rows].mean()))
        errors.append(point.count * abs(confidences[rows].mean() - scores[rows].mean()))
    assert (start, len(errors)) == (1_003, 100)
    assert found.ece == pytest.approx(sum(errors) / 1_003)


@pytest.mark.parametrize(("n", "bins"), [(4, 2), (100, 10), (400, 20), (9_999, 99), (40_000, 100)])
def test_fewer_questions_have_fewer_bins(n: int, bins: int) -> None:
    confidences, scores = np.random.default_rng(0).random((2, n))
    assert len(calibration(scores, confidences).reliability) == bins


@pytest.mark.parametrize("n", [100, 1_000])
def test_the_error_of_calibrated_confidences_is_the_one_to_expect(n: int) -> None:
    generator = np.random.default_rng(0)
    errors, expected = [], []
    for _ in range(300):
        confidences = generator.random(n)
        found = calibration(generator.random(n) < confidences, confidences)
        errors.append(found.ece)
        expected.append(found.ece_if_calibrated)
    assert float(np.mean(errors)) == pytest.approx(float(np.mean(expected)), rel=0.05)


def test_questions_of_one_confidence_stay_together() -> None:
    scores = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    found = calibration(scores, [0.75] * 6 + [0.25, 0.5], bins=4)
    assert found.reliability == (ReliabilityPoint(0.375, 1.0, 2), ReliabilityPoint(0.75, 0.5, 6))
    assert found.ece == pytest.approx((2 * 0.625 + 6 * 0.25) / 8)


@pytest.mark.parametrize(
    ("scores", "confidences", "expected"),
    [
        ([1.0, 1.0, 0.0], [1.0, 1.0, 0.0], (0.0, 0.0, 1 / 9, 0.0)),
        ([1.0, 0.0], [0.0, 1.0], (0.0, 1.0, 0.75, 0.5)),  # one bin, of which both means are 0.5
        ([0.25], [1.0], (0.75, 0.5625, 0.75, 0.0)),
        ([0.5, 0.5], [0.5, 0.5], (0.0, 0.0, 0.5, 0.0)),
    ],
)
def test_known_values(scores: list[float], confidences: list[float], expected: tuple[float, ...]) -> None:
    found = calibration(scores, confidences)
    assert (found.ece, found.brier, found.aurc, found.e_aurc) == pytest.approx(expected)


def test_dude() -> None:
    """As DUDE counts, right from 0.5 on, and with as many bins as it makes of 11 questions: 10."""
    right = np.array(DUDE_SCORES) >= 0.5
    found = calibration(right, DUDE_CONFIDENCES, bins=100)
    # By hand: 0.3 comes twice, 0.4 twice, and of 11 questions in 10 bins two share one: 0.7 and 0.75.
    assert [point.count for point in found.reliability] == [2, 2, 1, 2, 1, 1, 1, 1]
    assert found.ece == pytest.approx((2 * 0.7 + 2 * 0.1 + 0.4 + 2 * 0.275 + 0.8 + 0.11 + 0.05 + 0.01) / 11)


def test_the_curve_of_many_questions_is_short() -> None:
    generator = np.random.default_rng(0)
    scores, confidences = generator.random((2, 10_000))
    curve = calibration(scores, confidences).risk_coverage
    assert len(curve) == CURVE_POINTS
    surest = np.argsort(-confidences)
    for point in curve:
        answered = round(point.coverage * 10_000)
        assert point.risk == pytest.approx(1 - scores[surest[:answered]].mean())
    assert len(calibration(scores[:7], confidences[:7]).risk_coverage) == 7


def test_confidences_that_mean_what_they_say() -> None:
    generator = np.random.default_rng(0)
    confidences = generator.random(100_000)
    found = calibration(generator.random(100_000) < confidences, confidences)
    assert isinstance(found, Calibration)
    assert found.ece < 0.02
    assert found.brier == pytest.approx(1 / 6, abs=0.005)


@pytest.mark.parametrize(
    ("scores", "confidences", "options", "message"),
    [
        ([], [], {}, "scores: nothing to score"),
        ([1.0, 0.5], [0.9, None], {}, "confidences: nan in row 1"),
        ([1.0, 0.5], [0.9, 1.1], {}, r"confidences: 1\.1 in row 1; expected numbers in \[0, 1\]"),
        ([1.0, 0.5], [-1, -1], {}, r"confidences: -1\.0 in row 0, and 1 more rows"),
        ([1.0, 0.5], [90, 80], {}, r"confidences: 90\.0 in row 0"),
        ([2.0], [1.0], {}, r"scores: 2\.0 in row 0"),
        ([1.0], [1.0, 0.5], {}, "scores has length 1, but confidences has length 2"),
        ([1.0], [[1.0]], {}, r"confidences: an array of shape \(1, 1\)"),
        ([1.0], [1.0], {"bins": 0}, "bins=0: expected at least 1"),
    ],
)
def test_bad_input(scores: Any, confidences: Any, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibration(scores, confidences, **options)
