"""The alignment of two texts, character by character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from anls_eval.text.characters import align_characters, aligned_lines


@given(st.text(), st.text())
def test_spans_join_to_both_texts_with_the_fewest_edits(answer: str, prediction: str) -> None:
    spans = align_characters(answer, prediction)
    assert "".join(span.answer for span in spans) == answer
    assert "".join(span.prediction for span in spans) == prediction
    edits = sum(max(len(span.answer), len(span.prediction)) for span in spans if span.operation != "equal")
    assert edits == Levenshtein.distance(answer, prediction)
    assert all((span.answer == span.prediction) == (span.operation == "equal") for span in spans)


@pytest.mark.parametrize(
    ("answer", "prediction", "lines"),
    [
        ("coca cola", "cocacola", ["coca cola", "coca∅cola", "    D"]),
        ("dr. lobo", "dr lobo jr", ["dr. lobo∅∅∅", "dr∅ lobo jr", "  D     III"]),
        ("a\tb", "a\nb", ["a␉b", "a␊b", " S"]),
        ("", "x", ["∅", "x", "I"]),
        ("same", "same", ["same", "same", ""]),
        ("東京タワー", "東京塔", ["東京タワー", "東京塔∅∅∅∅", "    SSDDDD"]),
        ("東A", "aA", ["東A", "a A", "SS"]),
        ("cafe\u0301", "cafe", ["cafe\u0301 ", "cafe∅", "    D"]),
        ("", "", ["", "", ""]),
        ("\x80", "\x81", ["\ufffd", "\ufffd", "S"]),
    ],
)
def test_lines(answer: str, prediction: str, lines: list[str]) -> None:
    assert list(aligned_lines(answer, prediction)) == lines
