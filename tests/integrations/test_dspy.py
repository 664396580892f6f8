"""DSPy: the example's program, evaluated and optimised with the dummy model."""

import json
import math
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from dspy.teleprompt import BootstrapFewShot
from dspy.utils import DummyLM

from anls_eval.integrations.dspy import make_metric
from anls_eval.scoring import anls_score, anls_scores
from examples import dspy_program as example

ROWS = [json.loads(line) for line in example.QUESTIONS.read_text(encoding="utf-8").splitlines()]


def test_example() -> None:
    scores = anls_scores(example.GIVEN, [row["answers"] for row in ROWS]).tolist()
    assert example.evaluate() == round(100 * math.fsum(scores) / 6, 2)


def test_each_score() -> None:
    metric = make_metric(protocol="paper")
    for row, given in zip(ROWS, example.GIVEN, strict=True):
        expected = anls_score(given, row["answers"], protocol="paper")
        assert metric(dspy.Example(**row), dspy.Prediction(answer=given)) == expected
        assert metric(dspy.Example(**row), dspy.Prediction(answer=given), trace=[]) == expected


def test_optimizer_keeps_what_reaches_its_threshold() -> None:
    examples = [dspy.Example(question="a?", answers=["abcd"]), dspy.Example(question="b?", answers=["abcd"])]
    replies = {"a?": {"answer": "abcx"}, "b?": {"answer": "abcd"}}
    with dspy.context(lm=DummyLM(replies)):
        compiled = BootstrapFewShot(metric=make_metric(), metric_threshold=0.8, max_labeled_demos=0).compile(
            dspy.Predict("question -> answer"), trainset=[own.with_inputs("question") for own in examples]
        )
    assert [demo.question for demo in compiled.demos] == ["b?"]


@pytest.mark.parametrize("owner", [dict, SimpleNamespace])
def test_other_frameworks(owner: Any) -> None:
    metric = make_metric(answers_field="items", prediction_field="response", threshold=0.8)
    assert metric(owner(items=["abcd"]), owner(response="abcx")) == 0.0
    assert metric(owner(items=["abcde"]), owner(response="abcdx")) == 0.8


def test_trees() -> None:
    metric = make_metric(protocol="anls_star")
    reference = {"total": "17.99"}
    assert metric({"answers": reference}, {"answer": '{"total": "17.9"}'}) == 0.8
    assert metric({"answers": reference}, {"answer": {"total": "17.9"}}) == 0.8


def test_fields_and_extract() -> None:
    metric = make_metric(protocol="anls_star", fields={"$.total": {"compare": "number"}}, extract="think")
    example, output = dspy.Example(answers='{"total": 17.9}'), '<think>{}</think>{"total": "17.90"}'
    assert metric(example, dspy.Prediction(answer=output)) == 1.0
    assert make_metric(extract="answer_tag")({"answers": ["Rome"]}, {"answer": "So <answer>Rome</answer>"}) == 1.0


@pytest.mark.parametrize(
    ("example", "prediction", "message"),
    [
        ({"label": "a"}, {"answer": "a"}, r"the example has no field 'answers'; .* make_metric\(answers_field="),
        ({"answers": "a"}, dspy.Prediction(text="a"), r"the prediction has no field 'answer'; .*prediction_field="),
    ],
)
def test_absent_fields(example: Any, prediction: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_metric()(example, prediction)
