"""The evaluate metric on trees: any JSON, with alternatives, through Arrow."""

import datetime
import decimal
import json
import math
import warnings
from typing import Any

import pytest
from any_trees import PREDICTIONS, REFERENCES
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from anls_eval.metric import ANLS
from anls_eval.scoring import anls_star_score, anls_star_scores
from anls_eval.tree.nodes import one_of


@pytest.fixture
def metric(metric_class: Any) -> Any:
    return metric_class("anls_star")


class TestInputs:
    @pytest.mark.parametrize(
        ("prediction", "answers", "score"),
        [
            ({"a": "x"}, {"a": "x"}, 1.0),
            ("x", "x", 1.0),
            (5, "5", 1.0),
            (None, None, 1.0),
            (None, [None, "x"], 1.0),
            ({"a": None}, {"a": float("nan")}, 1.0),
            ({"a": "y"}, [{"a": "x"}, {"a": "y"}], 1.0),
            ({"a": "y"}, {"a": ("x", "y")}, 1.0),
            ({"a": "y"}, {"a": one_of("x", "y")}, 1.0),
            ({"a": "y"}, {"a": {"$one_of": ["x", "y"]}}, 1.0),
            ({"a": "y"}, {"a": {"$one_of": ("x", "y")}}, 1.0),
            ({"a": "y"}, one_of({"a": "x"}, {"a": "y"}), 1.0),
            (["x", "y"], [["y", "x"]], 1.0),
            (["x", "y"], ["x", "y"], 0.0),
            ({"$one_of": ["x"]}, {"$literal": {"$one_of": ["x"]}}, 1.0),
            ({1: "x"}, {"1": "x"}, 1.0),
            ({"a": [{"b": [["x"], 5]}]}, {"a": [{"b": [["x"], "5"]}]}, 1.0),
            ("\ud800", "\ud800", 1.0),
            ([10**40], [[str(10**40)]], 1.0),
        ],
    )
    def test_by_id(self, metric: Any, prediction: Any, answers: Any, score: float) -> None:
        row = {"question_id": 1, "prediction_text": prediction}
        reference = {"question_id": "1", "answers": answers}
        assert metric.compute(predictions=[row], references=[reference]) == {"anls_star_score": score}
        metric.add(prediction=row, reference=reference)
        assert metric.compute() == {"anls_star_score": score}

    def test_bare_references_are_the_trees_themselves(self, metric: Any) -> None:
        predictions = [{"a": "x"}, ["x", "y"], "b", None, {"question": "q", "answer": 5}]
        references = [{"a": ("x", "y")}, ["y", "x"], one_of("a", "b"), None, {"question": "q", "answer": 5}]
        assert metric.compute(predictions=predictions, references=references) == {"anls_star_score": 1.0}

    @pytest.mark.parametrize(
        ("prediction", "reference", "score"),
        [
            ({"answers": ["x", "y"]}, {"answers": ["y", "x"]}, 1.0),
            ({"prediction_text": "x"}, {"prediction_text": "x"}, 1.0),
            ({"prediction_text": "x"}, {"prediction_text": "x", "b": "y"}, 0.5),
            ({"prediction_text": "x"}, {"answers": ["y", "x"]}, 1.0),
            ({"prediction_text": {"question_id": 1}}, {"answers": {"question_id": 1}}, 1.0),
        ],
    )
    def test_without_ids_rows_are_known_by_both_sides(
        self, metric: Any, prediction: Any, reference: Any, score: float
    ) -> None:
        assert metric.compute(predictions=[prediction], references=[reference]) == {"anls_star_score": score}

    def test_none_is_a_tree(self, metric: Any) -> None:
        for prediction, reference in list[Any]([(None, None), (None, {"a": "x"}), ({"a": "x"}, None)]):
            metric.add(prediction=prediction, reference=reference)
        with pytest.warns(UserWarning, match=r"1 of 3 predictions is None or NaN where the reference.* \(row 1\)"):
            assert metric.compute(detailed=True)["scores"] == [1.0, 0.0, 0.0]
        metric.add(prediction={"question_id": 1, "prediction_text": None})
        metric.add(reference={"question_id": 1, "answers": None})
        assert metric.compute() == {"anls_star_score": 1.0}

    @pytest.mark.parametrize("options", [[decimal.Decimal("5.0"), "x"], [datetime.date(2031, 5, 4), "5.0"], [5.0, "x"]])
    def test_a_list_of_what_is_written_as_text(self, metric: Any, options: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = anls_star_score("5.0", options)
            assert metric.compute(predictions=["5.0"], references=[options]) == {"anls_star_score": expected}

    def test_a_list_of_strings_for_a_text(self, metric: Any) -> None:
        with pytest.warns(UserWarning, match="1 of 1 references is a list of strings with") as caught:
            assert metric.compute(predictions=["b"], references=[["a", "b"]]) == {"anls_star_score": 1.0}
        assert caught[0].filename == __file__

    @examples(100)
    @given(pairs=st.lists(st.tuples(REFERENCES, PREDICTIONS), min_size=1, max_size=4), paper=st.booleans())
    def test_any_trees_score_as_the_function_scores_them(self, pairs: list[tuple[Any, Any]], paper: bool) -> None:
        protocol = "anls_star_paper" if paper else "anls_star"
        references, predictions = [g for g, _ in pairs], [p for _, p in pairs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = anls_star_scores(predictions, references, protocol=protocol)
            found = ANLS(protocol).compute(predictions=predictions, references=references, detailed=True)
        assert found is not None
        assert found["scores"] == expected.tolist()
        assert found["anls_star_score"] == math.fsum(expected) / len(pairs)
        assert json.loads(json.dumps(found, allow_nan=False)) == found


class TestDetailed:
    def test_documents(self, metric: Any) -> None:
        found = metric.compute(
            predictions=[
                {"question_id": "b", "prediction_text": {"total": "5", "items": [{"name": "ink"}, {"name": "pen"}]}},
                {"question_id": "a", "prediction_text": {"total": "17,99"}},
            ],
            references=[
                {"question_id": "a", "answers": [{"total": "17.99"}, {"total": "EUR 17.99"}]},
                {"question_id": "b", "answers": {"total": ("4", "6"), "items": [{"name": "pen"}, {"name": "ink"}]}},
            ],
            detailed=True,
        )
        assert found == {
            "anls_star_score": (0.8 + 2 / 3) / 2,
            "n": 2,
            "missing": 0,
            "unknown": 0,
            "scores": [0.8, 2 / 3],
            "question_ids": ["a", "b"],
            "closest_references": [{"total": "17.99"}, {"total": "4", "items": [{"name": "ink"}, {"name": "pen"}]}],
            "key_scores": {
                "total": {"anls_score": 0.4, "documents": 2, "children": {}},
                "items": {
                    "anls_score": 1.0,
                    "documents": 1,
                    "children": {"name": {"anls_score": 1.0, "documents": 1, "children": {}}},
                },
            },
            "signature": found["signature"],
        }
        assert "|protocol:anls_star|tree:released|" in found["signature"]

    def test_missing_scores_zero_even_where_none_is_right(self, metric: Any) -> None:
        with pytest.warns(UserWarning, match="1 question has no prediction and scores 0: question_id '2'"):
            found = metric.compute(
                predictions=[{"question_id": 1, "prediction_text": {"a": 1}}],
                references=[{"question_id": 1, "answers": {"a": 1}}, {"question_id": 2, "answers": None}],
                missing="zero",
                detailed=True,
            )
        assert found["scores"] == [1.0, 0.0]
        assert found["closest_references"] == [{"a": 1}, None]

    def test_real_invoices(self, metric: Any) -> None:
        rows = [json.loads(line) for line in (DATA / "documents" / "invoices.jsonl").read_text().splitlines()]
        found = metric.compute(
            predictions=[{"question_id": row["id"], "prediction_text": row["pred"]} for row in reversed(rows)],
            references=[{"question_id": row["id"], "answers": row["gold"]} for row in rows],
            detailed=True,
        )
        assert found["scores"] == pytest.approx([row["anls_star"] for row in rows], abs=1e-6)
        assert found["key_scores"]["line_items"]["children"]["description"]["anls_score"] > 0.5


ID = {"question_id": "d7"}


class TestBadInput:
    @pytest.mark.parametrize(
        ("predictions", "references", "error", "message"),
        [
            ([{"a": ("x",)}], [{}], ValueError, r"predictions\[0\]: prediction \$\.a is a tuple"),
            ([{"a": {1, 2}}], [{}], TypeError, r"predictions\[0\]: prediction \$\.a is a set.*sorted list"),
            ([{}], [{"a": object()}], TypeError, r"references\[0\]: reference \$\.a is an object"),
            (
                None,
                [{**ID, "answers": []}],
                ValueError,
                r"question_id 'd7'\): 'answers': reference \$ has an empty list of alternatives",
            ),
            ([{}, {}], [{}], ValueError, "2 predictions but 1 reference"),
            ([{**ID, "prediction_text": {}}, {"b": 1}], None, ValueError, r"predictions\[1\] is a dict.*unlike"),
            (
                [{**ID, "prediction": "x"}],
                [{**ID, "answer": "x"}],
                ValueError,
                r"predictions\[0\] is a dict with the keys \['question_id', 'prediction'\]; "
                r"expected \{'question_id': ..., 'prediction_text': ...\}. Rename its keys",
            ),
            (
                [{"question_id": "x", "total": 1}],
                [{"question_id": "x", "total": 1}],
                ValueError,
                r'A tree that has its own question_id goes in a row: \{"question_id": 1, "prediction_text": ',
            ),
        ],
    )
    def test_is_named(
        self, metric: Any, predictions: Any, references: Any, error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            metric.add_batch(predictions=predictions, references=references)
        assert len(metric) == 0

    def test_too_deep_for_json(self, metric: Any) -> None:
        deep: Any = "x"
        for _ in range(5_000):
            deep = [deep]
        with pytest.raises(ValueError, match=r"predictions\[0\]: nested too deeply.*anls_star_score"):
            metric.compute(predictions=[deep], references=[deep])

    def test_repeated_id_with_the_same_tree(self, metric: Any) -> None:
        trees: list[Any] = [{"a": "x", "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": "x"}]
        for side, key in (("prediction", "prediction_text"), ("reference", "answers")):
            metric.add(**{side: {"question_id": 1, key: trees[0]}})
            metric.add(**{side: {"question_id": 1, key: trees[1]}})
        with pytest.warns(UserWarning, match="1 repeated row in the (predictions|references)"):
            assert metric.compute() == {"anls_star_score": 1.0}

    @pytest.mark.parametrize(("one", "other"), [(True, 1), (1, "1"), (["x", "y"], ["y", "x"])])
    def test_repeated_id_with_a_tree_that_is_like_it(self, metric: Any, one: Any, other: Any) -> None:
        rows = [{"question_id": 1, "prediction_text": {"a": tree}} for tree in (one, other)]
        with pytest.raises(ValueError, match="duplicate question_id '1' in predictions"):
            metric.compute(predictions=rows, references=[{"question_id": 1, "answers": {"a": one}}])

    def test_repeated_id(self, metric: Any) -> None:
        rows = [{"question_id": 1, "prediction_text": {"a": text}} for text in ("x", "y")]
        with pytest.raises(ValueError, match="duplicate question_id '1' in predictions"):
            metric.compute(predictions=rows, references=[{"question_id": 1, "answers": {"a": "x"}}])
