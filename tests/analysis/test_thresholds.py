"""The threshold sweep equals scoring again with each threshold, to the last bit."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import docvqa_runs
import pytest
from any_texts import CUSTOM, QUESTION
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from reference import TEXT_PROTOCOLS

from anls_eval.analysis.thresholds import ThresholdSweep, threshold_sweep
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_scores


def assert_equals_scoring(sweep: ThresholdSweep, predictions: Any, answers: Any, thresholds: list[Any]) -> None:
    for threshold in thresholds:
        scores = anls_scores(predictions, answers, protocol=sweep.protocol, threshold=threshold).tolist()
        assert sweep.mean(threshold) == math.fsum(scores) / len(scores), threshold


def around(sweep: ThresholdSweep) -> list[Fraction]:
    """Every threshold at which the mean changes, and values between them."""
    steps = [Fraction(0), *sweep.thresholds, Fraction(1)]
    return sorted({*steps, *((a + b) / 2 for a, b in itertools.pairwise(steps))})


@pytest.mark.filterwarnings("ignore::UserWarning")
@examples(400)
@given(
    questions=st.lists(QUESTION, min_size=1, max_size=6),
    rules=st.sampled_from(sorted(TEXT_PROTOCOLS)) | CUSTOM,
    threshold=st.floats(0, 1) | st.decimals(0, 1, places=3) | st.fractions(0, 1, max_denominator=50),
)
def test_on_any_text(
    questions: list[tuple[str | None, list[str]]], rules: str | Protocol, threshold: float | Decimal | Fraction
) -> None:
    columns = [prediction for prediction, _ in questions], [own for _, own in questions]
    sweep = threshold_sweep(*columns, protocol=rules)
    assert_equals_scoring(sweep, *columns, [threshold, *around(sweep)])
    assert list(sweep.thresholds) == sorted(set(sweep.thresholds))
    assert len(sweep.means) == len(sweep.thresholds) + 1
    assert all(0 <= each <= 1 for each in sweep.thresholds)


@pytest.mark.filterwarnings("ignore::UserWarning")  # blanks that raise the score; thresholds that none can pass
@pytest.mark.parametrize("protocol", ["standard", "paper", "rrc", "mistral_evals"])
@pytest.mark.parametrize("run", docvqa_runs.RUNS)
def test_real_submissions(run: str, protocol: str) -> None:
    columns = docvqa_runs.predictions(run), docvqa_runs.answers()
    sweep = threshold_sweep(*columns, protocol=protocol)
    assert sweep.n == 1000
    assert len(sweep.thresholds) > 50
    assert_equals_scoring(sweep, *columns, [0, 0.3, 0.5, Fraction(1, 3), 0.75, 0.8, 0.9, 1])
    assert list(sweep.means) == sorted(sweep.means, reverse=True)


def test_exactly_at_a_step() -> None:
    """A similarity of 4/5 is kept at 0.8 by ">=" and not by ">", and 1 is never below a threshold."""
    columns = ["abcde", "x"], [["abcdX"], ["x"]]
    kept, dropped = threshold_sweep(*columns), threshold_sweep(*columns, protocol="paper")
    assert (kept.thresholds, kept.means) == ((Fraction(4, 5),), (0.9, 0.5))
    assert (dropped.thresholds, dropped.means) == ((Fraction(4, 5), Fraction(1)), (0.9, 0.5, 0.0))
    for threshold in (0.8, Decimal("0.8"), Fraction(4, 5)):
        assert (kept.mean(threshold), dropped.mean(threshold)) == (0.9, 0.5)
    assert [kept.mean(threshold) for threshold in (0, 0.79, 0.81, 1)] == [0.9, 0.9, 0.5, 0.5]
    assert [dropped.mean(threshold) for threshold in (0, 0.79, 0.81, 1)] == [0.9, 0.9, 0.5, 0.0]


def test_nothing_changes_where_all_is_right_or_wrong() -> None:
    sweep = threshold_sweep(["a", "b"], [["a"], ["x"]])
    assert (sweep.thresholds, sweep.means) == ((), (0.5,))


def test_the_threshold_of_the_protocol_plays_no_part() -> None:
    columns = ["abcd", "ab"], [["abcx"], ["ax"]]
    assert threshold_sweep(*columns, protocol="paper").means == threshold_sweep(*columns, protocol="due").means
    assert threshold_sweep(*columns).mean(0.5) == 0.625


def test_none_warns_as_scores_do() -> None:
    with pytest.warns(UserWarning, match=r"1 of 2 predictions is None"):
        sweep = threshold_sweep(["a", None], [["a"], [""]])
    assert sweep.mean(0) == 0.5


@pytest.mark.parametrize(
    ("predictions", "answers", "options", "message"),
    [
        ([], [], {}, "expected at least one question"),
        (["a"], [["a"], ["b"]], {}, "1 prediction but answers for 2 questions"),
        (["a"], [[]], {}, r"answers\[0\] is empty"),
        (["a"], [["a"]], {"protocol": "anls_star"}, "scores trees"),
    ],
)
def test_errors(predictions: Any, answers: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        threshold_sweep(predictions, answers, **options)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, "half", None, True])
def test_threshold_out_of_range(threshold: Any) -> None:
    with pytest.raises(ValueError, match=r"expected a number from 0 to 1"):
        threshold_sweep(["a"], [["a"]]).mean(threshold)
