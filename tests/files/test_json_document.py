"""One document in a JSON file."""

from pathlib import Path

import pytest

from anls_eval.files import FormatError
from anls_eval.files.json_files import read_document


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1, column 1"),
        ('{"prediction": {"a": 1},\n "reference": {"a" 1}}', "line 2, column 20"),
        ('{"prediction": 1}', "the keys prediction; expected an object"),
        ('{"prediction": 1, "reference": 2, "gold": 3}', "the keys prediction, reference, gold"),
        ("[1, 2]", "a list"),
        ('{"prediction": 1, "prediction": 2, "reference": 2}', "'prediction' twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_malformed(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=problem):
        read_document(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be opened"):
        read_document(tmp_path / "nothing.json")
