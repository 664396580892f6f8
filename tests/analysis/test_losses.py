"""Why points were lost: each question in one class, and no point lost from sight."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import docvqa_runs
import numpy as np
import pyarrow as pa
import pytest
from any_texts import CUSTOM, QUESTION
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from reference import TEXT_PROTOCOLS

from anls_eval.analysis.losses import LOSS_CLASSES, LossReport, classify_losses
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_scores

CLASSES = [
    ("Denver  broncos", ["Denver Broncos"], "exact"),
    ("None", ["none"], "exact"),
    ("", ["12", ""], "exact"),
    ("", ["12"], "no_answer"),
    (" \n", ["12"], "no_answer"),
    ("Unknown", ["12"], "refused"),
    ("Not answerable.", ["Tennessee"], "refused"),
    ("unanswerable", ["not answerable"], "formatting"),
    ("not answerable", [""], "formatting"),
    ("$1,234.00", ["1234"], "formatting"),
    ("the cat", ["cat"], "formatting"),
    ("12/31/2020", ["2020-12-31"], "formatting"),
    ("Jan 3, 2020", ["3 January 2020"], "formatting"),
    ("81.", ["81"], "formatting"),
    ("Denver", ["Denver Broncos"], "partial_or_verbose"),
    ("The page number is 12.", ["12"], "partial_or_verbose"),
    ("It is not answerable from this page.", ["not answerable"], "partial_or_verbose"),
    ("not stable", ["stable"], "partial_or_verbose"),
    ("12", ["not answerable"], "false_answer"),
    ("12", [""], "false_answer"),
    ("12/15/89", ["12/15/88"], "misread"),
    ("1.5", ["15"], "misread"),
    ("CocaCola", ["Coca Cola"], "misread"),
    ("ab", ["ac"], "misread"),  # exactly at the threshold
    ("abc", ["axy"], "wrong"),
    ("Richard L. Gelb", ["chairman of Bristol-Myers"], "wrong"),
    ("Bingol", ["chairman", "Bingo!"], "misread"),  # the closest answer counts
]


@pytest.mark.parametrize(("prediction", "answers", "expected"), CLASSES)
def test_class(prediction: str, answers: list[str], expected: str) -> None:
    report = classify_losses([prediction], [answers])
    assert report.question_classes == [expected]
    assert [row.name for row in report.classes if row.count] == [expected]


def test_none_is_no_answer_and_warns_as_scores_do() -> None:
    with pytest.warns(UserWarning, match=r"1 of 2 predictions is None or NaN \(row 1\)"):
        report = classify_losses(["12", None], [["12"], [""]])
    assert report.question_classes == ["exact", "no_answer"]
    assert report.closest_answers == ["12", None]


@pytest.mark.parametrize(
    ("prediction", "answers", "options", "expected"),
    [
        ("ab", ["ac"], {"protocol": "paper"}, "wrong"),
        ("abcde", ["abcdx"], {"threshold": 0.9}, "wrong"),
        ("abcde", ["abcdx"], {"threshold": 0.8}, "misread"),
        ("axyz", ["abcd"], {"protocol": "unthresholded"}, "misread"),
        ("wxyz", ["abcd"], {"protocol": "unthresholded"}, "wrong"),
        ("Cat", ["cat"], {"protocol": "due_cased"}, "formatting"),
        ("None", ["none"], {"protocol": "mpdocvqa"}, "no_answer"),
        ("", [""], {"protocol": "mpdocvqa"}, "no_answer"),
    ],
)
def test_class_by_protocol(prediction: str, answers: list[str], options: dict[str, Any], expected: str) -> None:
    assert classify_losses([prediction], [answers], **options).question_classes == [expected]


def test_empty() -> None:
    report = classify_losses([], [])
    assert [row.name for row in report.classes] == list(LOSS_CLASSES)
    assert report.points_lost == sum(row.count for row in report.classes) == 0


@pytest.mark.parametrize(
    ("predictions", "answers", "options", "message"),
    [
        (["a"], [["a"], ["b"]], {}, "1 prediction but answers for 2 questions"),
        (["a", ["b"]], [["a"], ["b"]], {}, r"predictions\[1\] is a list of 1 str"),
        (["a"], [[]], {}, r"answers\[0\] is empty"),
        (["a"], [["a"]], {"protocol": "anls_star"}, "scores trees"),
        (["a"], [["a"]], {"protocol": "rcc"}, "Did you mean 'rrc'"),
        (["a"], [["a"]], {"threshold": 2}, "threshold=2"),
    ],
)
def test_errors_are_those_of_anls_scores(predictions: Any, answers: Any, options: dict[str, Any], message: str) -> None:
    for function in (anls_scores, classify_losses):
        with pytest.raises(ValueError, match=message):
            function(predictions, answers, **options)


def test_columns_of_any_kind() -> None:
    predictions, answers = ["Bingol", "12", "7"], [["Bingo!"], ["page 12"], ["8"]]
    expected = ["misread", "partial_or_verbose", "wrong"]
    for columns in (
        (pa.array(predictions), pa.array(answers)),
        (pa.chunked_array([predictions[:1], predictions[1:]]), answers),
        (np.array(predictions), answers),
        (["Bingol", 12, 7], [{"text": ["Bingo!"]}, "page 12", 8]),
    ):
        report = classify_losses(*columns)
        assert report.question_classes == expected
        assert report.predictions == predictions


def assert_complete(report: LossReport, scores: Any) -> None:
    """Every question is in one class, and the points of the classes are exactly those that the scores lack."""
    assert report.scores.tolist() == scores.tolist()
    assert {row.name: row.count for row in report.classes} == {
        name: Counter(report.question_classes)[name] for name in LOSS_CLASSES
    }
    lost = dict.fromkeys(LOSS_CLASSES, Fraction(0))
    for name, score in zip(report.question_classes, scores.tolist(), strict=True):
        lost[name] += 1 - Fraction(score)
        assert (name == "exact") == (score == 1)
        assert name != "misread" or 0 < score < 1
        assert name != "wrong" or score == 0
    assert {row.name: row.points_lost for row in report.classes} == {name: float(sum_) for name, sum_ in lost.items()}
    assert report.points_lost == float(len(scores) - sum(map(Fraction, scores.tolist())))


# Counted once, after samples of every class were read: they are what a change of the rules changes.
COUNTS = {
    "llama_maverick": (861, 0, 3, 32, 46, 0, 30, 28),
    "llama_nemotron": (838, 0, 0, 24, 52, 0, 29, 57),
    "llama_scout": (279, 0, 2, 86, 523, 0, 27, 83),
    "qwen2_vl_2b_instruct": (595, 0, 5, 25, 186, 0, 39, 150),
    "qwen2_vl_7b": (187, 395, 0, 30, 279, 0, 8, 101),
    "qwen2_vl_7b_instruct": (823, 20, 1, 40, 40, 0, 30, 46),
}


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths")
@pytest.mark.parametrize("run", docvqa_runs.RUNS)
def test_real_submissions(run: str) -> None:
    predictions, answers = docvqa_runs.predictions(run), docvqa_runs.answers()
    assert tuple(row.count for row in classify_losses(predictions, answers).classes) == COUNTS[run]
    for protocol in ("standard", "paper", "rrc", "unthresholded", "idefics", "mpdocvqa"):
        report = classify_losses(predictions, answers, protocol=protocol)
        assert_complete(report, anls_scores(predictions, answers, protocol=protocol))


@pytest.mark.filterwarnings("ignore::UserWarning")
@examples(300)
@given(questions=st.lists(QUESTION, max_size=6), rules=st.sampled_from(sorted(TEXT_PROTOCOLS)) | CUSTOM)
def test_each_question_is_in_one_class(questions: list[tuple[str | None, list[str]]], rules: str | Protocol) -> None:
    columns = [prediction for prediction, _ in questions], [own for _, own in questions]
    report = classify_losses(*columns, protocol=rules)
    assert_complete(report, anls_scores(*columns, protocol=rules))
    for name, closest, (prediction, own) in zip(
        report.question_classes, report.closest_answers, questions, strict=True
    ):
        assert closest is None if prediction is None else closest in own
        alone = classify_losses([prediction], [own], protocol=rules)
        assert alone.question_classes == [name]
    backwards = classify_losses(columns[0][::-1], columns[1][::-1], protocol=rules)
    assert backwards.classes == report.classes
    assert math.fsum(row.points_lost for row in report.classes) == pytest.approx(report.points_lost)
