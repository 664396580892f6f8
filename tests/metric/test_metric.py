"""The evaluate metric: inputs as datasets hold them, in any batching, aligned by id."""

import json
import math
import os
import pickle
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import datasets
import dill
import evaluate
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from places import EXAMPLES

from anls_eval.metric import ANLS
from anls_eval.registry import get_protocol, protocol_from_signature
from anls_eval.scoring import anls_scores

# The example of the metric card that evaluate-metric/anls has: (1 + 7/8 + 1) / 3. The card prints 1.0.
CARD_PREDICTIONS: list[dict[str, Any]] = [
    {"question_id": "10285", "prediction_text": "Denver Broncos"},
    {"question_id": "18601", "prediction_text": "12/15/89"},
    {"question_id": "16734", "prediction_text": "Dear dr. Lobo"},
]
CARD_REFERENCES: list[dict[str, Any]] = [
    {"answers": ["Denver Broncos", "Denver R. Broncos"], "question_id": "10285"},
    {"answers": ["12/15/88"], "question_id": "18601"},
    {"answers": ["Dear Dr. Lobo", "Dr. Lobo"], "question_id": "16734"},
]
CARD_SCORE = 23 / 24


def predictions_of(texts: dict[Any, Any]) -> list[dict[str, Any]]:
    return [{"question_id": id_, "prediction_text": text} for id_, text in texts.items()]


def references_of(answers: dict[Any, Any]) -> list[dict[str, Any]]:
    return [{"question_id": id_, "answers": own} for id_, own in answers.items()]


@pytest.fixture
def metric(metric_class: Any) -> Any:
    return metric_class()


class TestLoad:
    def test_default_result_is_one_number(self, metric_path: str) -> None:
        result = evaluate.load(metric_path).compute(predictions=CARD_PREDICTIONS, references=CARD_REFERENCES)
        assert result == {"anls_score": CARD_SCORE}
        assert type(result["anls_score"]) is float

    def test_protocol_by_name(self, metric_path: str) -> None:
        rrc = evaluate.load(metric_path, "docvqa")
        with pytest.warns(UserWarning, match="divides by raw lengths"):
            result = rrc.compute(predictions=["cat "], references=[["car"]], detailed=True)
        assert result["anls_score"] == 0.75
        assert protocol_from_signature(result["signature"]) == get_protocol("rrc")

    def test_protocol_object(self, metric_path: str) -> None:
        mine = evaluate.load(metric_path, get_protocol("due_cased"))
        assert mine.compute(predictions=["ABCD"], references=[["abcd"]]) == {"anls_score": 0.0}

    def test_unknown_protocol(self, metric_path: str) -> None:
        with pytest.raises(ValueError, match="Did you mean 'standard'"):
            evaluate.load(metric_path, "standart")

    @pytest.mark.parametrize("option", [{"protocol": "rrc"}, {"threshold": 0.9}])
    def test_option_of_something_else(self, metric_path: str, option: dict[str, Any]) -> None:
        with pytest.raises(TypeError, match=rf"unknown options \['{next(iter(option))}'\]: the protocol is the second"):
            evaluate.load(metric_path, **option)

    def test_describes_itself(self, metric: Any) -> None:
        assert metric.name == "anls"
        assert "Average Normalized Levenshtein Similarity" in metric.description
        assert "biten2019stvqa" in metric.citation
        assert "peer2024anls" in metric.citation
        assert "https://arxiv.org/abs/1905.13648" in metric.reference_urls
        assert set(metric.features) == {"predictions", "references"}
        assert "question_id" in repr(metric)
        assert "prediction_text" in metric.compute.__doc__


class TestInputs:
    @pytest.mark.parametrize(
        ("predictions", "references", "score"),
        [
            (["Lima"], [["Lima"]], 1.0),
            (["Lima"], ["Lima"], 1.0),
            (["L"], ["Lima"], 0.0),
            (["Lima"], [("Lima", "Quito")], 1.0),
            (["Lima"], [{"text": ["Lima", "City of Lima"], "answer_start": [4, 0]}], 1.0),
            (["text"], [{"text": ["Lima"], "answer_start": [4]}], 0.0),
            ([{"question_id": 1, "prediction_text": "Lima"}], [{"question_id": 1, "answers": "Lima"}], 1.0),
            ([{"question_id": 1, "prediction_text": "Lima"}], [{"question_id": "1", "answers": ["Lima"]}], 1.0),
            (
                [{"question_id": 1, "prediction_text": "Lima", "confidence": 0.5}],
                [{"question_id": 1, "answers": {"text": ["Lima"], "answer_start": [0]}, "question": "Where?"}],
                1.0,
            ),
            ([{"question_id": np.int64(1), "prediction_text": 5}], [{"question_id": 1, "answers": [5, "five"]}], 1.0),
            ([{"prediction_text": "Lima"}], [{"answers": ["Lima"]}], 1.0),
            ([True, 2.5], [["True"], 2.5], 1.0),
            (np.array(["Lima"]), np.array([["Lima"]]), 1.0),
            (pd.Series(["Lima"]), pd.Series([["Lima"]]), 1.0),
            (pa.array(["Lima"]), pa.array([["Lima"]]), 1.0),
            (pa.chunked_array([["Lima"]]), [["Lima"]], 1.0),
            (
                pd.DataFrame({"question_id": [1, 2], "prediction_text": ["Lima", "Rome"]}),
                pd.DataFrame({"question_id": [2, 1], "answers": [["Rome"], ["Lima"]]}),
                1.0,
            ),
            (
                pa.table({"question_id": [1], "prediction_text": ["Lima"]}),
                pa.table({"question_id": ["1"], "answers": [["Lima"]]}),
                1.0,
            ),
            (["\ud800a"], [["\ud800a", "\ud800b"]], 1.0),
            (["\ud800a"], [["\ud800b"]], 0.5),
            ([{"question_id": "\ud800", "prediction_text": "a"}], [{"question_id": "\ud800", "answers": ["a"]}], 1.0),
            ([""], [[""]], 1.0),
        ],
    )
    def test_are_understood(self, metric: Any, predictions: Any, references: Any, score: float) -> None:
        assert metric.compute(predictions=predictions, references=references) == {"anls_score": score}
        metric.add_batch(predictions=predictions, references=references)
        assert metric.compute() == {"anls_score": score}
        for prediction, reference in zip(rows_of(predictions), rows_of(references), strict=True):
            metric.add(prediction=prediction, reference=reference)
        assert metric.compute() == {"anls_score": score}

    def test_of_a_dataset(self, metric: Any) -> None:
        dataset = datasets.Dataset.from_dict({"prediction": ["a", "b"], "answers": [["a"], ["x", "b"]]})
        result = metric.compute(predictions=dataset["prediction"], references=dataset["answers"])
        assert result == {"anls_score": 1.0}

    @pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
    def test_no_prediction_scores_zero_and_is_named(self, metric: Any, missing: Any) -> None:
        """Reports R15 and R21: never the text "nan"."""
        with pytest.warns(UserWarning, match=r"1 of 2 predictions is None or NaN \(row 1\)"):
            result = metric.compute(predictions=["Oslo", missing], references=[["Oslo"], ["nan"]], detailed=True)
        assert result["scores"] == [1.0, 0.0]
        assert result["unanswered"] == 1
        assert result["closest_references"] == ["Oslo", None]
        with pytest.warns(UserWarning, match=r"1 of 2 predictions is None or NaN \(question_id '8'\)") as caught:
            metric.compute(
                predictions=predictions_of({7: "Oslo", 8: missing}),
                references=references_of({7: "Oslo", 8: "None"}),
            )
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_none_added_alone(self, metric: Any) -> None:
        metric.add(prediction=None, reference=["x"])
        with pytest.warns(UserWarning, match="1 of 1 predictions is None"):
            assert metric.compute() == {"anls_score": 0.0}


def rows_of(column: Any) -> list[Any]:
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.to_dict("records") if isinstance(column, pd.DataFrame) else column)


class TestIds:
    def test_align_whatever_the_order(self, metric: Any) -> None:
        result = metric.compute(
            predictions=predictions_of({1: "a", 2: "bb", "03": "ccc", 3: "cccc"}),
            references=references_of({3: ["cccc"], "2": ["bx"], "03": ["ccx"], "1": ["x", "a"]}),
            detailed=True,
        )
        assert result["question_ids"] == ["3", "2", "03", "1"]
        assert result["scores"] == [1.0, 0.5, 1 - 1 / 3, 1.0]
        assert result["closest_references"] == ["cccc", "bx", "ccx", "a"]

    def test_are_text(self, metric: Any) -> None:
        """Report R36: ids are never read as numbers."""
        first, second = 79697302777874380000000000000000000001, 79697302777874380000000000000000000002
        result = metric.compute(
            predictions=predictions_of({first: "red", second: "blue"}),
            references=references_of({str(second): "blue", str(first): "red"}),
        )
        assert result == {"anls_score": 1.0}
        with pytest.raises(ValueError, match=r"question_id '01827492' and .* question_id '1827492'\."):
            metric.compute(predictions=predictions_of({"1827492": "a"}), references=references_of({"01827492": ["a"]}))

    def test_missing_and_unknown(self, metric: Any) -> None:
        """Report R34: all that is wrong is said at once, with the ids and the way out."""
        given_ = {
            "predictions": predictions_of({1: "Lima", 9: "x"}),
            "references": references_of({1: ["Lima"], 2: ["Rome"], 3: ["Oslo"]}),
        }
        with pytest.raises(ValueError, match=r"^2 questions have no prediction: question_ids '2', '3'") as caught:
            metric.compute(**given_)
        for part in ("1 prediction has no reference: question_id '9'.", 'missing="zero"', 'unknown="ignore"'):
            assert part in str(caught.value)
        with pytest.raises(ValueError, match="question_id '9'"):
            metric.compute(**given_, missing="zero")
        with pytest.raises(ValueError, match="question_ids '2', '3'"):
            metric.compute(**given_, unknown="ignore")
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            result = metric.compute(**given_, missing="zero", unknown="ignore", detailed=True)
        assert result["anls_score"] == 1 / 3
        assert (result["n"], result["missing"], result["unknown"], result["unanswered"]) == (3, 2, 1, 0)
        assert "|missing:zero|n:3|" in result["signature"]
        assert [str(note.message) for note in notes] == [
            "2 questions have no prediction and score 0: question_ids '2', '3'",
            "1 prediction has no reference and is left out: question_id '9'",
        ]

    def test_of_another_split(self, metric: Any) -> None:
        """Report R40."""
        with pytest.raises(ValueError, match=r"There is no id in common: are they from different splits\?$"):
            metric.compute(
                predictions=predictions_of({90: "a", 91: "b"}), references=references_of({11: ["a"], 12: ["b"]})
            )

    @pytest.mark.parametrize(
        ("given", "wanted", "way"),
        [
            (["1.0", "2.0"], ["2", "1"], "differ in a final .0, which pandas writes"),
            (["1", "2"], ["0001", "0002"], "differ in leading zeros"),
            (["000", "001"], ["0", "1"], "differ in leading zeros"),
            ([" a ", " b"], ["a", "b"], "differ in whitespace"),
            (["A1", "B2"], ["a1", "b2"], "differ in upper and lower case"),
            (["caf\u00e9"], ["cafe\u0301"], "look alike, but are composed of other characters"),
            (["val_1", "val_2"], ["1", "2"], "begin with 'val_' in the predictions alone"),
            (["1", "2"], ["q:1", "q:2"], "begin with 'q:' in the references alone"),
        ],
    )
    def test_ids_that_are_written_otherwise(self, metric: Any, given: list[str], wanted: list[str], way: str) -> None:
        rows = [{"question_id": id_, "prediction_text": "a"} for id_ in given]
        answers = [{"question_id": id_, "answers": ["a"]} for id_ in wanted]
        with pytest.raises(ValueError, match=rf"no id in common: they {re.escape(way)}.* Write the ids of both sides"):
            metric.compute(predictions=rows, references=answers)

    @pytest.mark.parametrize(
        ("given", "wanted"), [(["11", "12"], ["1", "2"]), (["1.0", "3.0"], ["1", "2"]), (["a_1", "b_2"], ["1", "2"])]
    )
    def test_other_ids_are_of_another_split(self, metric: Any, given: list[str], wanted: list[str]) -> None:
        rows = [{"question_id": id_, "prediction_text": "a"} for id_ in given]
        answers = [{"question_id": id_, "answers": ["a"]} for id_ in wanted]
        with pytest.raises(ValueError, match="are they from different splits"):
            metric.compute(predictions=rows, references=answers)

    def test_many_are_not_all_listed(self, metric: Any) -> None:
        with pytest.raises(ValueError, match=r"^99 questions .* question_ids '1', '2', '3', '4', '5' and 94 more\. "):
            metric.compute(
                predictions=predictions_of({0: "a"}), references=references_of(dict.fromkeys(range(100), "a"))
            )

    def test_repeated_with_the_same_content(self, metric: Any) -> None:
        """Distributed samplers fill their last batch with rows from the start."""
        with pytest.warns(UserWarning, match="repeated row") as caught:
            result = metric.compute(
                predictions=predictions_of({1: "a", 2: "b"}) + predictions_of({"1": "a"}),
                references=references_of({1: ["a"], 2: ["x"]}) + references_of({2: ["x"], 1: ["a"]}),
                detailed=True,
            )
        assert result["scores"] == [1.0, 0.0]
        assert [str(note.message).split(" in ")[0] for note in caught] == ["1 repeated row", "2 repeated rows"]

    @pytest.mark.parametrize(
        ("predictions", "references", "message"),
        [
            (
                [(1, "Lima"), (1, "Rome")],
                [(1, ["Lima"])],
                "duplicate question_id '1' in predictions.*'Lima' and 'Rome'",
            ),
            ([(1, "a")], [(1, ["a"]), ("1", ["b"])], r"duplicate question_id '1' in references.*\['a'\] and \['b'\]"),
            ([(1, None), (1, "a")], [(1, ["a"])], "duplicate question_id '1' in predictions.*None and 'a'"),
        ],
    )
    def test_repeated_with_other_content(
        self, metric: Any, predictions: list[Any], references: list[Any], message: str
    ) -> None:
        """Report R38."""
        with pytest.raises(ValueError, match=message):
            metric.compute(
                predictions=[{"question_id": id_, "prediction_text": text} for id_, text in predictions],
                references=[{"question_id": id_, "answers": own} for id_, own in references],
            )


class TestBatches:
    """Predictions and references are two sets until compute; how they come in pieces does not matter."""

    @examples(60)
    @given(n=st.integers(1, 12), by_id=st.booleans(), in_memory=st.booleans(), seed=st.integers(0, 2**32))
    def test_any_batching(self, n: int, by_id: bool, in_memory: bool, seed: int) -> None:
        generator = random.Random(seed)  # noqa: S311
        texts = [f"text {i % 4}" for i in range(n)]
        answers = [[f"text {i % 3}", "other"] for i in range(n)]
        rows: list[tuple[str, Any]] = [("pair", pair) for pair in zip(texts, answers, strict=True)]
        if by_id:
            rows = [("predictions", row) for row in predictions_of(dict(enumerate(texts)))]
            rows += [("references", row) for row in references_of(dict(enumerate(answers)))]
            generator.shuffle(rows)
        metric = ANLS(keep_in_memory=in_memory)
        while rows:
            count = generator.randint(0, len(rows))
            batch, rows = rows[:count], rows[count:]
            if by_id:
                sides: dict[str, list[Any]] = {
                    side: [row for its, row in batch if its == side] for side in ("predictions", "references")
                }
                metric.add_batch(predictions=sides["predictions"], references=sides["references"] or None)
            elif generator.random() < 0.5:
                metric.add_batch(predictions=[p for _, (p, _) in batch], references=[own for _, (_, own) in batch])
            else:
                for _, (prediction, own) in batch:
                    metric.add(prediction=prediction, reference=own)
        assert metric.compute() == {"anls_score": math.fsum(anls_scores(texts, answers)) / n}

    def test_add_in_thousands(self, metric: Any) -> None:
        for i in range(2_500):
            metric.add(prediction=str(i), reference=[str(i if i % 5 else -1)])
        assert len(metric) == 2_500
        expected = math.fsum(
            anls_scores([str(i) for i in range(2_500)], [[str(i if i % 5 else -1)] for i in range(2_500)])
        )
        assert metric.compute() == {"anls_score": expected / 2_500}
        assert len(metric) == 0

    def test_add_one_side(self, metric: Any) -> None:
        for row in CARD_PREDICTIONS:
            metric.add(prediction=row)
        for row in reversed(CARD_REFERENCES):
            metric.add(reference=row)
        assert metric.compute() == {"anls_score": CARD_SCORE}

    @pytest.mark.parametrize("protocol", ["standard", "anls_star"])
    def test_add_nothing(self, metric_path: str, protocol: str) -> None:
        """None is a tree, and is not what is taken for an argument that was forgotten."""
        metric = evaluate.load(metric_path, protocol)
        with pytest.raises(ValueError, match="add got neither prediction nor reference"):
            metric.add()
        with pytest.raises(ValueError, match=r"neither prediction nor reference|0 predictions but 1 reference"):
            metric.add(reference=None)
        with pytest.raises(ValueError, match="1 prediction but 0 references"):
            metric.add(prediction="a")
        with pytest.raises(ValueError, match="0 predictions but 1 reference"):
            metric.add(reference=["a"])

    def test_added_and_given(self, metric: Any) -> None:
        metric.add_batch(predictions=CARD_PREDICTIONS[:1], references=CARD_REFERENCES[:1])
        metric.add(prediction=CARD_PREDICTIONS[1], reference=CARD_REFERENCES[1])
        result = metric.compute(predictions=CARD_PREDICTIONS[2:], references=CARD_REFERENCES[2:])
        assert result == {"anls_score": CARD_SCORE}

    def test_two_instances_interleaved(self, metric_path: str) -> None:
        """Report R44."""
        for options in ({"keep_in_memory": True}, {}, {"experiment_id": "same"}):
            first, second = evaluate.load(metric_path, **options), evaluate.load(metric_path, **options)
            first.add(prediction="x", reference=["x"])
            second.add(prediction="y", reference=["z"])
            first.add_batch(predictions=["p"], references=[["q"]])
            second.add_batch(predictions=["y"], references=[["z"]])
            assert first.compute() == {"anls_score": 0.5}
            assert second.compute() == {"anls_score": 0.0}

    def test_used_again(self, metric: Any) -> None:
        for expected in (1.0, 0.0, 1.0):
            assert metric.compute(predictions=["a"], references=[["a" if expected else "b"]]) == {
                "anls_score": expected
            }

    def test_one_process_writes_no_file(self, metric_path: str, tmp_path: Path) -> None:
        metric = evaluate.load(metric_path, cache_dir=str(tmp_path))
        metric.add_batch(predictions=["a"] * 20_000, references=[["a"]] * 20_000)
        metric.compute()
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class TestAFailedCompute:
    def test_keeps_what_was_added(self, metric: Any) -> None:
        metric.add_batch(predictions=CARD_PREDICTIONS[:2])
        metric.add_batch(references=CARD_REFERENCES)
        for _ in range(2):
            with pytest.raises(ValueError, match="no prediction: question_id '16734'"):
                metric.compute()
            assert len(metric) == 3
        metric.add(prediction=CARD_PREDICTIONS[2])
        assert metric.compute() == {"anls_score": CARD_SCORE}
        with pytest.raises(ValueError, match="nothing to score"):
            metric.compute()

    def test_forgets_what_it_was_given(self, metric: Any) -> None:
        metric.add_batch(predictions=CARD_PREDICTIONS[:1], references=CARD_REFERENCES[:1])
        with pytest.raises(ValueError, match="no reference: question_ids '18601'"):
            metric.compute(predictions=CARD_PREDICTIONS[1:])
        result = metric.compute(predictions=CARD_PREDICTIONS[1:], references=CARD_REFERENCES[1:])
        assert result == {"anls_score": CARD_SCORE}

    @pytest.mark.parametrize("option", [{"threshold": 2}, {"missing": "skip"}, {"unknown": "zero"}])
    def test_by_an_option_loses_nothing(self, metric: Any, option: dict[str, Any]) -> None:
        metric.add_batch(predictions=CARD_PREDICTIONS, references=CARD_REFERENCES)
        with pytest.raises(ValueError, match=next(iter(option))):
            metric.compute(**option)
        assert metric.compute() == {"anls_score": CARD_SCORE}

    @pytest.mark.parametrize("misspelt", ["treshold", "detail", "misssing", "prediction"])
    def test_by_a_misspelt_option(self, metric: Any, misspelt: str) -> None:
        with pytest.raises(TypeError, match=misspelt):
            metric.compute(predictions=["a"], references=[["a"]], **{misspelt: 1})
        with pytest.raises(TypeError, match="refs"):
            metric.add_batch(predictions=["a"], references=[["a"]], refs=[])
        with pytest.raises(TypeError, match="refs"):
            metric.add(prediction="a", reference=["a"], refs=[])

    def test_by_a_bad_batch_adds_nothing(self, metric: Any) -> None:
        metric.add_batch(predictions=["a"], references=[["a"]])
        with pytest.raises(ValueError, match=r"predictions\[1\]"):
            metric.add_batch(predictions=["b", ["b"]], references=[["b"], ["b"]])
        with pytest.raises(ValueError, match=r"references\[0\]"):
            metric.add(prediction="b", reference=[])
        assert metric.compute() == {"anls_score": 1.0}


ID = {"question_id": "q7"}
BAD_BATCHES: list[tuple[Any, Any, str]] = [
    (["a", "b"], [["a"]], "2 predictions but 1 reference"),
    (
        ["a", "b", "c"],
        [["a", "b", "c"], ["a", "b", "c"]],
        r"3 predictions but 2 references.*list\(zip\(\*references\)\)",
    ),
    (["a"], None, "1 prediction but 0 references"),
    (None, [["a"]], "0 predictions but 1 reference"),
    (None, None, "neither predictions nor references"),
    ([["Lima"]], [["Lima"]], r"predictions\[0\] is a list of 1 str.*Pass the string itself"),
    ([[5, 6]], [["Lima"]], r"predictions\[0\] is a list of 2 int.*Decode the token ids"),
    ([{**ID, "prediction_text": ["a"]}], None, r"predictions\[0\] \(question_id 'q7'\): 'prediction_text' is a list"),
    (None, [{**ID, "answers": []}], r"references\[0\] \(question_id 'q7'\): 'answers' is empty"),
    (None, [{**ID, "answers": ["a", None]}], r"references\[0\] \(question_id 'q7'\): 'answers'\[1\] is None"),
    ([{"question_id": "1"}], [["a"]], r"predictions\[0\] is a dict with the keys \['question_id'\].*'prediction_text'"),
    ([{"id": 1, "prediction_text": "a"}], [["a"]], r"predictions\[0\].*\['id', 'prediction_text'\].*Rename"),
    ([{"questionId": 1, "answer": "a"}], [["a"]], r"predictions\[0\].*\['questionId', 'answer'\].*'question_id'"),
    (["a"], [{"questionId": 1, "answers": ["a"]}], r"references\[0\].*\['questionId', 'answers'\].*'question_id'"),
    ([{**ID, "prediction_text": "a"}, "b"], None, r"predictions\[1\] is a str, 'b', unlike predictions\[0\]"),
    (["b", {**ID, "prediction_text": "a"}], [["a"], ["b"]], r"predictions\[1\].*unlike predictions\[0\]"),
    ([{**ID, "prediction_text": "a"}], [["a"]], "predictions have question_ids and references have none"),
    (["a"], [{**ID, "answers": ["a"]}], "references have question_ids and predictions have none"),
    (
        [{"question_id": 17.0, "prediction_text": "a"}],
        None,
        r"predictions\[0\] has the question_id 17.0; expected a str",
    ),
    ([{"question_id": None, "prediction_text": "a"}], None, r"predictions\[0\] has the question_id None"),
    ([{"question_id": True, "prediction_text": "a"}], None, r"predictions\[0\] has the question_id True"),
    ("Lima", [["Lima"]], "predictions is a str, 'Lima'; expected a list"),
    ({"a": 1}, [["Lima"]], "predictions is a dict"),
]


class TestBadInput:
    @pytest.mark.parametrize(("predictions", "references", "message"), BAD_BATCHES)
    def test_what_where_and_how_to_mend(self, metric: Any, predictions: Any, references: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            metric.add_batch(predictions=predictions, references=references)
        assert len(metric) == 0

    def test_nothing_at_all(self, metric: Any) -> None:
        """Report R17."""
        for call in (
            metric.compute,
            lambda: metric.compute(predictions=[], references=[]),
            lambda: (metric.add_batch(predictions=[], references=[]), metric.compute()),
        ):
            with pytest.raises(ValueError, match="nothing to score: predictions and references are empty"):
                call()

    def test_no_references(self, metric: Any) -> None:
        metric.add_batch(predictions=CARD_PREDICTIONS)
        with pytest.raises(ValueError, match="nothing to score: references are empty"):
            metric.compute(unknown="ignore")

    def test_ids_in_some_batches_only(self, metric: Any) -> None:
        metric.add_batch(predictions=["a"], references=[["a"]])
        with pytest.raises(ValueError, match=r"rows with question_id after rows without.*reset\(\)"):
            metric.add_batch(predictions=CARD_PREDICTIONS, references=CARD_REFERENCES)
        assert metric.compute() == {"anls_score": 1.0}
        metric.add(prediction=CARD_PREDICTIONS[0], reference=CARD_REFERENCES[0])
        with pytest.raises(ValueError, match="rows without question_id after rows with"):
            metric.add(prediction="a", reference=["a"])
        assert metric.compute() == {"anls_score": 1.0}

    def test_ids_after_a_failed_compute_without(self, metric: Any) -> None:
        with pytest.raises(ValueError, match="unknown"):
            metric.compute(predictions=CARD_PREDICTIONS, references=CARD_REFERENCES[:1])
        assert metric.compute(predictions=["a"], references=[["a"]]) == {"anls_score": 1.0}

    def test_a_warning_turned_into_an_error_loses_nothing(self, metric: Any) -> None:
        metric.add_batch(predictions=["a", None], references=[["a"], ["b"]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="None"):
                metric.compute()
        assert len(metric) == 2
        with pytest.warns(UserWarning, match="None"):
            assert metric.compute() == {"anls_score": 0.5}

    def test_reset_of_many_rows(self, metric: Any) -> None:
        metric.add_batch(predictions=["a"] * 20_000, references=[["b"]] * 20_000)
        metric.add(prediction="a", reference=["b"])
        metric.reset()
        assert len(metric) == 0
        assert metric.compute(predictions=["a"], references=[["a"]]) == {"anls_score": 1.0}

    def test_reset(self, metric: Any) -> None:
        metric.reset()
        metric.add_batch(predictions=CARD_PREDICTIONS[:1] + CARD_PREDICTIONS, references=CARD_REFERENCES)
        metric.add(prediction={"question_id": "10285", "prediction_text": "other"})
        with pytest.raises(ValueError, match="duplicate question_id '10285'"):
            metric.compute()
        metric.reset()
        assert len(metric) == 0
        assert metric.compute(predictions=["a"], references=[["a"]]) == {"anls_score": 1.0}


class TestDetailed:
    def test_is_plain_json(self, metric: Any) -> None:
        """Reports R11 and R52."""
        with pytest.warns(UserWarning, match="None"):
            result = metric.compute(
                predictions=["yes", "no", "42", None],
                references=[["yes"], ["no"], ["24", "43"], ["x"]],
                detailed=True,
            )
        assert json.loads(json.dumps(result, allow_nan=False)) == result
        assert result == {
            "anls_score": 0.625,
            "n": 4,
            "missing": 0,
            "unknown": 0,
            "unanswered": 1,
            "padded": 0,
            "padding_gain": 0.0,
            "scores": [1.0, 1.0, 0.5, 0.0],
            "question_ids": None,
            "closest_references": ["yes", "no", "43", None],
            "signature": result["signature"],
        }

    def test_closest_is_said_even_where_the_score_is_zero(self, metric: Any) -> None:
        result = metric.compute(predictions=["abcdef"], references=[["xyz", "abxyzw", "q"]], detailed=True)
        assert (result["scores"], result["closest_references"]) == ([0.0], ["abxyzw"])

    def test_padding(self, metric_path: str) -> None:
        metric = evaluate.load(metric_path, "rrc")
        with pytest.warns(UserWarning, match="2 of 4 questions") as caught:
            result = metric.compute(
                predictions=["ab        ", "cat ", "right ", "wrong"],
                references=[["xy"], ["car"], ["right"], ["right"]],
                detailed=True,
            )
        assert len(caught) == 1
        assert result["padded"] == 2
        assert result["padding_gain"] == pytest.approx((0.8 + 0.75 - 2 / 3) / 4, abs=1e-15)

    def test_threshold(self, metric: Any) -> None:
        result = metric.compute(predictions=["abcd"], references=[["abcx"]], threshold=0.9, detailed=True)
        assert result["anls_score"] == 0.0
        assert "keep:>=0.9|" in result["signature"]


class TestTogetherWithEvaluate:
    def test_combine(self, metric_path: str) -> None:
        both = evaluate.combine({"lenient": evaluate.load(metric_path), "strict": evaluate.load(metric_path, "paper")})
        assert both.compute(predictions=["ab"], references=[["ac"]]) == {
            "lenient_anls_score": 0.5,
            "strict_anls_score": 0.0,
        }
        both.add(prediction="ab", reference=["ac"])
        both.add_batch(predictions=["ab"], references=[["ab"]])
        assert both.compute() == {"lenient_anls_score": 0.75, "strict_anls_score": 0.5}

    def test_save(self, metric: Any, tmp_path: Path) -> None:
        result = metric.compute(predictions=["a"], references=[["a"]], detailed=True)
        path = evaluate.save(tmp_path / "result.json", **result)
        assert json.loads(Path(path).read_text(encoding="utf-8"))["anls_score"] == 1.0

    @pytest.mark.parametrize("pickler", [pickle, dill, cloudpickle], ids=lambda module: module.__name__)
    def test_pickle(self, metric: Any, pickler: Any) -> None:
        again = pickler.loads(pickler.dumps(metric))
        metric.add(prediction="a", reference=["a"])
        assert again.compute(predictions=["ab"], references=[["ac"]]) == {"anls_score": 0.5}
        assert metric.compute() == {"anls_score": 1.0}

    @pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=lambda module: module.__name__)
    def test_pickle_with_rows(self, metric: Any, pickler: Any) -> None:
        metric.add_batch(predictions=["a", "b"] * 6_000, references=[["a"]] * 12_000)
        metric.add(prediction="b", reference=["b"])
        again = pickler.loads(pickler.dumps(metric))
        assert len(again) == 12_001
        assert again.compute() == metric.compute() == {"anls_score": 6_001 / 12_001}


WORKER = """
import sys, json, evaluate
path, process, cache = sys.argv[1], int(sys.argv[2]), sys.argv[3]
metric = evaluate.load(path, num_process=2, process_id=process, experiment_id="pair", cache_dir=cache)
shard = json.load(sys.stdin)
results = []
for number in range(3):  # without a pause: a process that is ahead must not disturb the other
    if shard["predictions"] or shard["references"]:
        metric.add_batch(**shard)
    results.append(metric.compute(detailed=True))
    metric.add(prediction="a" if process else "b", reference=["a"])
    results.append(metric.compute())
assert results == results[:2] * 3, results
assert results[1] == (None if process else {"anls_score": 0.5}), results
print(json.dumps(results[0]))
"""


class TestProcesses:
    def run_pair(self, metric_path: str, cache: Path, shards: list[dict[str, Any]]) -> list[Any]:
        command = [sys.executable, "-W", "ignore", "-c", WORKER, metric_path]
        workers = [
            subprocess.Popen(
                [*command, str(process), str(cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ,
            )
            for process in range(2)
        ]
        for worker, shard in zip(workers, shards, strict=True):
            assert worker.stdin
            worker.stdin.write(json.dumps(shard))
            worker.stdin.close()
        results = [worker.stdout.read() for worker in workers if worker.stdout]
        for worker in workers:
            assert worker.wait() == 0
            assert worker.stdout
            worker.stdout.close()
        return [json.loads(result) for result in results]

    def test_two_share_the_work(self, metric_path: str, tmp_path: Path) -> None:
        """The rows of one question may be in different processes, and padding rows in both."""
        shards = [
            {"predictions": CARD_PREDICTIONS[:2], "references": CARD_REFERENCES[1:]},
            {"predictions": [*CARD_PREDICTIONS[2:], CARD_PREDICTIONS[0]], "references": CARD_REFERENCES[:1]},
        ]
        main, other = self.run_pair(metric_path, tmp_path, shards)
        assert other is None
        assert main["anls_score"] == CARD_SCORE
        assert main["n"] == 3
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

    @pytest.mark.long
    @pytest.mark.parametrize("empty", [0, 1])
    def test_one_may_have_nothing(self, metric_path: str, tmp_path: Path, empty: int) -> None:
        shards = [{"predictions": CARD_PREDICTIONS, "references": CARD_REFERENCES}]
        shards.insert(empty, {"predictions": [], "references": []})
        main, other = self.run_pair(metric_path, tmp_path, shards)
        assert (main["anls_score"], other) == (CARD_SCORE, None)

    @pytest.mark.long
    def test_four_on_one_cache(self, metric_path: str) -> None:
        """Report R42: runs that know nothing of each other share a home folder."""
        script = (
            "import sys, evaluate; k = int(sys.argv[2]); metric = evaluate.load(sys.argv[1]);"
            "rows = [str(i) for i in range(200)];"
            "metric.add_batch(predictions=rows, references=[[r if int(r) < 50 * k else '-'] for r in rows]);"
            "print(metric.compute()['anls_score'])"
        )
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", script, metric_path, str(k)], stdout=subprocess.PIPE, text=True, env=os.environ
            )
            for k in range(1, 5)
        ]
        assert [float(worker.communicate()[0]) for worker in workers] == [0.25, 0.5, 0.75, 1.0]


def submission(model: str) -> Callable[[Any], Any]:
    gold = json.loads((EXAMPLES / "docvqa" / "references.json").read_text(encoding="utf-8"))["data"]
    answers = json.loads((EXAMPLES / "docvqa" / f"pred_{model}.json").read_text(encoding="utf-8"))
    predictions = [{"question_id": row["questionId"], "prediction_text": row["answer"]} for row in answers]
    references = [{"question_id": row["questionId"], "answers": row["answers"]} for row in gold]
    return lambda metric: metric.compute(predictions=predictions, references=references)["anls_score"]


# Computed by a separate script from the real answers of six model runs; rounded to six digits.
REFERENCE_SCORES = json.loads((EXAMPLES / "docvqa" / "reference_scores.json").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths", "ignore:.* have marks around an answer")
@pytest.mark.parametrize("protocol", ["standard", "paper", "rrc"])
@pytest.mark.parametrize("expected", REFERENCE_SCORES, ids=lambda row: row["model"])
def test_real_docvqa_submissions(metric_class: Any, expected: dict[str, Any], protocol: str) -> None:
    score = submission(expected["model"])
    assert round(score(metric_class(protocol)), 6) == expected[protocol]


def test_the_protocol_is_no_option_of_compute(metric: Any) -> None:
    message = r'^the protocol is chosen when the metric is loaded, as the second argument of evaluate.load: "rrc"$'
    with pytest.raises(TypeError, match=message):
        metric.compute(predictions=["a"], references=["a"], protocol="rrc")


class TestBenchmarks:
    def test_documents(self) -> None:
        metric = ANLS("donut_f1")
        metric.add_batch(predictions=[{"a": "x", "b": ["1", "2"]}], references=[{"a": "x", "b": ["1"]}])
        assert metric.compute(predictions=[{}], references=[{"c": "y"}]) == {"score": 4 / 6, "micro_f1": 4 / 6}

    def test_ids_types_and_options(self) -> None:
        predictions = [{"question_id": "2", "prediction_text": "b"}, {"question_id": "1", "prediction_text": "12"}]
        references = [{"question_id": "1", "answers": ["12"]}, {"question_id": "2", "answers": ["a", "b"]}]
        types, options = ["Factoid", "Conversational"], {"year": [["NO"], ["NO", "YES"]]}
        found = ANLS("chartqapro").compute(
            predictions=predictions, references=references, answer_types=types, options=options, detailed=True
        )
        assert found is not None
        assert (found["Overall"], found["n"], found["question_ids"]) == (1.0, 2, ["1", "2"])
        assert "|protocol:chartqapro|aggregate:Overall|" in found["signature"]

    def test_refusals(self) -> None:
        sides: Any = {"predictions": ["a"], "references": [["a"]]}
        with pytest.raises(ValueError, match="has its own and takes none"):
            ANLS("donut_f1").compute(**sides, threshold=0.5)
        with pytest.raises(ValueError, match="has no answer_types and no options"):
            ANLS("rrc").compute(**sides, options={"year": ["NO"]})
