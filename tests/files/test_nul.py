"""NUL characters in texts of Arrow and Parquet."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from contents import contents
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.files import open_predictions, open_references
from anls_eval.files.nul import WITH_NUL, row_with_nul

TEXTS = st.none() | st.text("ab\0", max_size=3)
VALUES = {
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.string_view(): TEXTS,
    pa.dictionary(pa.int32(), pa.string()): TEXTS,
    pa.list_(pa.string()): st.none() | st.lists(TEXTS, max_size=3),
    pa.struct({"text": pa.string(), "number": pa.int64()}): st.fixed_dictionaries(
        {"text": TEXTS, "number": st.integers(0, 9)}
    ),
    pa.int64(): st.none() | st.integers(0, 9),
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_the_first_row(kind: pa.DataType, data: st.DataObject) -> None:
    values: list[Any] = data.draw(st.lists(VALUES[kind], max_size=6))
    start = data.draw(st.integers(0, len(values)))
    column = pa.array(values, kind)[start:]
    assert row_with_nul(column) == next((row for row, own in enumerate(values[start:]) if "\\x00" in repr(own)), None)


def save(path: Path, kind: str, answers: list[Any]) -> Path:
    """Write a file; return the one in which the texts are."""
    table = pa.table(
        {"id": list(map(str, range(len(answers)))), "answers": answers, "prediction": ["a"] * len(answers)}
    )
    if kind == "dataset":
        datasets.Dataset(table).save_to_disk(path)
        return path / "data-00000-of-00001.arrow"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=10)
    else:
        pa.feather.write_feather(table, path, compression="uncompressed", chunksize=10)
    return path


@pytest.mark.parametrize("is_list", [True, False])
@pytest.mark.parametrize("kind", ["parquet", "feather", "dataset"])
def test_in_a_file(kind: str, is_list: bool, tmp_path: Path) -> None:
    """They are kept as they are, and only a column that is read has a note."""
    answers = [f"answer {row}" for row in range(40)]
    answers[27] = "answ\0\0 27"
    written: list[Any] = [[own] for own in answers] if is_list else list(answers)
    path = save(tmp_path / "given", kind, written)
    reader = open_references(tmp_path / "given")
    assert contents(reader) == [(str(row), own) for row, own in enumerate(written)]
    assert list(reader.notes) == [f"references: {path}: the column 'answers' {WITH_NUL}, as in row 27 (from 0)"]
    predictions = open_predictions(tmp_path / "given")
    assert len(contents(predictions)) == 40
    assert list(predictions.notes) == []


def test_in_some_rows_of_parquet(tmp_path: Path) -> None:
    """Their numbers are those in the file."""
    path = save(tmp_path / "given", "parquet", ["a\0"] * 40)
    reader = open_references(tmp_path / "given").within(20, 30)
    contents(reader)
    assert list(reader.notes) == [f"references: {path}: the column 'answers' {WITH_NUL}, as in row 20 (from 0)"]
