"""Aligned texts as HTML."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.explanation.answers import explain_answers
from anls_eval.text.characters import align_characters
from anls_eval.text.marked import alignment_html, marked_side, shown_text


def text_of(found: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", found))


@given(st.text(max_size=600), st.text(max_size=600))
def test_sides_are_what_was_compared(prediction: str, answer: str) -> None:
    [comparison] = explain_answers(prediction, [answer]).comparisons
    for side, whole in (("answer", comparison.compared_answer), ("prediction", comparison.compared_prediction)):
        found = text_of(marked_side(comparison.spans, side))
        assert found.replace("␣", " ") == (shown_text(whole).replace("␣", " ") if whole else "empty")


@pytest.mark.parametrize(
    ("answer", "prediction", "expected"),
    [
        (
            "a <b> c",
            "a <b>",
            '<dl class="alignment">\n<dt>answer</dt><dd dir="auto">a &lt;b&gt;<del>␣c</del></dd>\n'
            '<dt>prediction</dt><dd dir="auto">a &lt;b&gt;</dd>\n</dl>',
        ),
        (
            "12",
            "13",
            '<dl class="alignment">\n<dt>answer</dt><dd dir="auto">1<mark>2</mark></dd>\n'
            '<dt>prediction</dt><dd dir="auto">1<mark>3</mark></dd>\n</dl>',
        ),
        (
            "",
            "x",
            '<dl class="alignment">\n<dt>answer</dt><dd dir="auto"><i>empty</i></dd>\n'
            '<dt>prediction</dt><dd dir="auto"><ins>x</ins></dd>\n</dl>',
        ),
    ],
)
def test_alignment(answer: str, prediction: str, expected: str) -> None:
    assert alignment_html(align_characters(answer, prediction)) == expected


def test_long_texts_are_truncated_and_whitespace_is_visible() -> None:
    assert (shown_text("a" * 10, 4), shown_text("one\ttwo")) == ("aaaa…", "one⇥two")
