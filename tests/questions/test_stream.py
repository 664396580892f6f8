"""Streams of predictions and references, brought together by id in any order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.files import open_predictions, open_references
from anls_eval.metric import ANLS
from anls_eval.questions import stream as alignment
from anls_eval.questions.stream import Alignment, RepeatedIdError, without_repeats
from anls_eval.submission.score import score_submission

IDS = st.lists(st.integers(0, 30).map(str), unique=True)


def rows(ids: list[str | None], values: list[Any]) -> pa.Table:
    column = pa.array([None if own is None else own.encode() for own in ids], pa.large_binary())
    return pa.table({"question_id": column, "value": values})


def stream(table: pa.Table, size: int) -> Iterator[pa.Table]:
    return (table[start : start + size] for start in range(0, table.num_rows, size))


def align(predictions: list[str], references: list[str], size: int = 7, **options: Any) -> list[dict[str, Any]]:
    """The questions, where the prediction for an id is the id, and its answer the id with a dot."""
    aligned = Alignment(
        stream(rows([*predictions], predictions), size),
        stream(rows([*references], [f"{own}." for own in references]), size),
        **{"missing": "error", "unknown": "error"} | options,
    )
    return [row for table in aligned for row in table.to_pylist()]


@pytest.fixture(params=[3, 262_144])
def waiting_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(alignment, "WAITING_ROWS", request.param)
    return int(request.param)


def test_rows_in_another_order_are_joined_part_by_part() -> None:
    ids = list(map(str, range(70_000)))
    sides = rows([*ids[::-1]], ids[::-1]), rows([*ids], ids)
    parts = [table.num_rows for table in Alignment([sides[0]], [sides[1]], "error", "error")]
    assert parts == [32_768, 32_768, 4_464], "all rows are copied at once"


def test_rows_in_another_order_are_held_little_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "WAITING_ROWS", 2_000)
    monkeypatch.setattr(alignment, "JOINED_ROWS", 500)
    n, order = 40_000, np.random.default_rng(0)
    sides = [rows([str(own) for own in order.permutation(n)], ["x" * 60] * n) for _ in range(2)]
    left, right = (stream(side, 500) for side in sides)
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        joined = sum(table.num_rows for table in Alignment(left, right, "error", "error"))
    finally:
        pa.set_memory_pool(usual)
    assert joined == n
    assert pool.max_memory() <= 0.65 * sum(side.nbytes for side in sides), "rows that wait are copied together"


@given(IDS, IDS, st.integers(1, 40), st.sampled_from([3, 262_144]))
def test_any_order_and_any_batches(predictions: list[str], references: list[str], size: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "WAITING_ROWS", most)
        patch.setattr(alignment, "JOINED_ROWS", most)
        if not references:
            with pytest.raises(ValueError, match="nothing to score"):
                align(predictions, references, size, missing="zero", unknown="ignore")
            return
        found = align(predictions, references, size, missing="zero", unknown="ignore")
    assert sorted(row["question_id"].decode() for row in found) == sorted(references)
    for row in found:
        own = row["question_id"].decode()
        assert row["answers"] == f"{own}."
        assert row["prediction"] == (own if own in predictions else None)
        assert row["is_missing"] == (own not in predictions)
    if most > 40:
        assert [row["question_id"].decode() for row in found] == references


def test_the_errors_are_those_of_the_metric() -> None:
    metric = ANLS()
    for predictions, references in ((["1", "9"], ["1", "2", "3"]), (["8", "9"], ["1"]), ([], ["1"]), (["1"], [])):
        given_rows = [{"question_id": own, "prediction_text": own} for own in predictions]
        expected_rows = [{"question_id": own, "answers": [own]} for own in references]
        with pytest.raises(ValueError, match=r"\w") as expected:
            metric.compute(predictions=given_rows, references=expected_rows)
        with pytest.raises(ValueError, match=r"\w") as found:
            align(predictions, references)
        if references:
            assert str(found.value).startswith(str(expected.value))  # columns are named in files only
        assert "nothing to score" in str(found.value) or references


def test_counts(waiting_rows: int) -> None:
    aligned = Alignment(
        stream(rows(["5", "1", "9"], ["a", "b", "c"]), 1), stream(rows(["1", "2"], ["x", "y"]), 1), "zero", "ignore"
    )
    assert sum(table.num_rows for table in aligned) == 2
    assert (aligned.missing.to_pylist(), sorted(aligned.unknown.to_pylist())) == ([b"2"], [b"5", b"9"])
    assert len(aligned.fingerprints) == 2


class TestWithoutIds:
    def test_by_position(self, waiting_rows: int) -> None:
        values = [str(number) for number in range(20)]
        none: list[str | None] = [None] * 20
        aligned = Alignment(stream(rows(none, values), 3), stream(rows(none, values), 5), "error", "error")
        found = [row for table in aligned for row in table.to_pylist()]
        assert [row["prediction"] for row in found] == [row["answers"] for row in found] == values
        assert not any(row["is_missing"] for row in found)

    def test_lengths_differ(self) -> None:
        aligned = Alignment([rows([None] * 3, ["a"] * 3)], [rows([None] * 2, ["a"] * 2)], "zero", "ignore")
        with pytest.raises(ValueError, match="3 predictions but 2 references"):
            list(aligned)

    def test_one_side_only(self) -> None:
        aligned = Alignment([rows(["1"], ["a"])], [rows([None], ["a"])], "error", "error")
        with pytest.raises(ValueError, match="predictions have question_ids and references have none"):
            list(aligned)


class TestRepeats:
    @pytest.mark.parametrize("again", [0, 1])
    def test_are_noticed(self, waiting_rows: int, again: int) -> None:
        ids = ["1", "2", "3", "4", "5", "6", "7"]
        repeated = [*ids, "2"]
        sides = (ids, repeated) if again else (repeated, ids)
        with pytest.raises(RepeatedIdError):
            align(*sides, size=2, missing="zero", unknown="ignore")

    @given(
        st.lists(st.integers(0, 12).map(str), min_size=1, max_size=12),
        st.lists(st.integers(0, 12).map(str), min_size=1, max_size=12),
        st.integers(1, 13),
        st.sampled_from([1, 3, 262_144]),
        st.sampled_from([1, 1 << 22]),
    )
    def test_are_noticed_on_either_side_only(
        self, predictions: list[str], references: list[str], size: int, most: int, at_once: int
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(alignment, "WAITING_ROWS", most)
            patch.setattr(alignment, "_CHECKED_AT_ONCE", at_once)
            if any(len(set(ids)) < len(ids) for ids in (predictions, references)):
                with pytest.raises(RepeatedIdError):
                    align(predictions, references, size, missing="zero", unknown="ignore")
            else:
                assert len(align(predictions, references, size, missing="zero", unknown="ignore")) == len(references)

    def test_are_dropped_or_refused(self) -> None:
        table = rows(["1", "2", "1"], ["a", "b", "a"]).append_column("label", pa.array(["x", "y", "z"]))
        assert without_repeats(table, "predictions")["label"].to_pylist() == ["x", "y"]
        table = pa.table({"question_id": table["question_id"], "value": pa.array([b"a", b"b", b"c"])})
        with pytest.raises(ValueError, match="duplicate question_id '1'"):
            without_repeats(table, "predictions")


def test_ids_that_end_in_zero_bytes_have_fingerprints_of_their_own() -> None:
    ids = [text + b"\0" * zeros for text in (b"", b"a", b"b", b"c", b"12345678", b"x" * 1024) for zeros in range(9)]
    found = alignment.fingerprints_of(pa.chunked_array([pa.array(ids, pa.large_binary())]))
    assert len(set(found.tolist())) == len(ids)


def test_equal_fingerprints_of_different_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "fingerprints_of", lambda ids: np.zeros(len(ids), np.uint64))
    path = tmp_path / "questions.csv"
    path.write_text("question_id,prediction,answers\n1,a,a\n2,b,b\n3,c,d\n")
    found = score_submission(open_predictions(path), open_references(path))
    assert (found.n, found.score) == (3, 2 / 3)
