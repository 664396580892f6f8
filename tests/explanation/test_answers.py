"""One prediction beside its answers: distances, similarities and the sentence that says why."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import TEXT_PROTOCOLS

from anls_eval.explanation.answers import explain_answers
from anls_eval.leaderboards import LEADERBOARDS
from anls_eval.registry import get_protocol


@given(st.text(), st.lists(st.text(), min_size=1, max_size=4), st.sampled_from(sorted(TEXT_PROTOCOLS)))
def test_agrees_with_the_score(prediction: str, answers: list[str], protocol: str) -> None:
    found = explain_answers(prediction, answers, protocol=protocol)
    scores = [own.score for own in found.comparisons]
    assert found.closest is not None
    assert found.score == max(scores) == scores[found.closest]
    for own, answer in zip(found.comparisons, answers, strict=True):
        assert own.answer == answer
        assert own.score in (own.similarity, 0.0)
        assert "".join(span.prediction for span in own.spans) == own.compared_prediction
        assert "".join(span.answer for span in own.spans) == own.compared_answer
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("prediction", "answer", "options", "sentence"),
    [
        (
            "Coca Cola",
            "coca cola",
            {},
            "The texts are equal as this protocol compares them: similarity 1, at least the threshold 0.5, "
            "so it scores 1.",
        ),
        ("ab", "ac", {}, "1 of 2 characters differs: similarity 0.5, at least the threshold 0.5, so it scores 0.5."),
        (
            "ab",
            "ac",
            {"protocol": "paper"},
            "1 of 2 characters differs: similarity 0.5, not above the threshold 0.5, so it scores 0.",
        ),
        (
            "ab   ",
            "ac",
            {"protocol": "rrc"},
            "1 of 5 characters differs: similarity 0.8, at least the threshold 0.5, so it scores 0.8.",
        ),
        ("", "", {}, "Both texts are empty, which this protocol counts as 1."),
        ("", "", {"protocol": "lmms_dude"}, "Both texts are empty, which this protocol counts as 0."),
        (
            "None",
            "none",
            {"protocol": "mpdocvqa"},
            "The texts are equal as this protocol compares them: similarity 1, at least the threshold 0.5, "
            "but the prediction 'none' always scores 0 under this protocol.",
        ),
        (
            "abc",
            "xyz",
            {"protocol": "unthresholded"},
            "3 of 3 characters differ: similarity 0, and there is no threshold, so it scores 0.",
        ),
        (
            "x" * 49_999 + "y" * 50_001,
            "x" * 100_000,
            {},
            "50001 of 100000 characters differ: similarity 0.49999, below the threshold 0.5, so it scores 0.",
        ),
        (
            "9" * 4 + "0",
            "9" * 5,
            {"threshold": "0.8"},
            "1 of 5 characters differs: similarity 0.8, at least the threshold 0.8, so it scores 0.8.",
        ),
    ],
)  # fmt: skip
def test_sentences(prediction: str, answer: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        [own] = explain_answers(prediction, [answer], **options).comparisons
    assert own.sentence == sentence


def test_a_substitution_that_costs_2() -> None:
    rules = dataclasses.replace(get_protocol("unthresholded"), name="own", substitution_cost=2)
    [own] = explain_answers("ab", ["ac"], protocol=rules).comparisons
    assert own.sentence.startswith("The edits cost 2, for 2 characters: similarity 0")


def test_notes_and_no_prediction() -> None:
    found = explain_answers(None, ["a"])
    assert (found.score, found.closest, found.comparisons) == (0.0, None, ())
    assert "None or NaN" in found.notes[0]
    assert "extra whitespace" in explain_answers("ab   ", ["ac"], protocol="rrc").notes[0]


class TestLeaderboards:
    def test_the_rule_is_said(self) -> None:
        found = explain_answers("['b', 'A']", "['a', 'b']", protocol="MMLongBench-Doc", answer_type="List")
        assert (found.score, found.protocol, found.closest, found.comparisons) == (1.0, "mmlongbench", None, ())
        assert found.rule == LEADERBOARDS["mmlongbench"].description

    def test_answer_types(self) -> None:
        with pytest.raises(ValueError, match="'extractive', 'abstractive'"):
            explain_answers("a", ["a"], protocol="dude")
        with pytest.raises(ValueError, match="has no answer types"):
            explain_answers("a", ["a"], answer_type="Str")


@pytest.mark.parametrize("threshold", ["x", "1.5", "nan", "-1", 2, float("nan")])
def test_thresholds(threshold: Any) -> None:
    with pytest.raises(ValueError, match="threshold="):
        explain_answers("a", ["a"], threshold=threshold)


def test_trees_are_for_explain() -> None:
    with pytest.raises(ValueError, match="scores trees"):
        explain_answers("a", ["a"], protocol="anls_star")


def test_threads_do_not_mix_their_notes() -> None:
    def notes(row: int) -> int:
        return len(explain_answers(" x ab", ["xcb  "], protocol=("rrc", "due")[row % 2]).notes)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(notes, range(200))) == [1, 0] * 100
