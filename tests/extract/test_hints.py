"""The quick filter for marks, which is another library's, lets every text through in which a step finds something."""

import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from any_texts import ANY_TEXT
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.extract.hints import MAY_HAVE_MARKS, changed_by_steps, steps_in
from anls_eval.notes import marked_rows

CHARACTERS = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
WHITESPACE = re.findall(r"\s", CHARACTERS)
WORDS = ("think", "thinking", "answer", "final", "the", "is")
LETTERS = "".join(sorted(set("".join(WORDS))))
ALIKE = "".join(re.findall(f"[{LETTERS}]", CHARACTERS, re.IGNORECASE))
LIKE = {letter: re.findall(letter, ALIKE, re.IGNORECASE) for letter in LETTERS}


def may_have_marks(texts: list[str]) -> list[bool]:
    found: list[bool] = pc.match_substring_regex(pa.array(texts), MAY_HAVE_MARKS).to_pylist()
    return found


@pytest.mark.parametrize("mark", ["- a", "* a", "# a", "## a"])
def test_every_whitespace_before_a_mark(mark: str) -> None:
    texts = [white + mark for white in WHITESPACE] + ["".join(WHITESPACE) + mark]
    assert all(map(steps_in, texts))
    assert all(may_have_marks(texts))


@pytest.mark.parametrize(
    ("before", "word", "after"), [("<", "think", "> a"), ("<", "answer", ">a"), ("", "answer", ": a")]
)
def test_every_letter_that_is_one_of_a_mark_without_case(before: str, word: str, after: str) -> None:
    texts = [
        before + word[:at] + letter + word[at + 1 :] + after for at in range(len(word)) for letter in LIKE[word[at]]
    ]
    assert len(texts) > 2 * len(word)
    assert all(map(steps_in, texts))
    assert all(may_have_marks(texts))


ANY_CASE = st.sampled_from(WORDS).flatmap(lambda word: st.tuples(*(st.sampled_from(LIKE[own]) for own in word)))
PIECES = [*"<>/[]:`*-#}a", "</", "**", "__", "```", "\\boxed{", "\u25c1", "\u25b7", "\uff1a"]
PARTS = ANY_CASE.map("".join) | st.sampled_from(PIECES) | st.sampled_from(WHITESPACE)
TEXTS = st.lists(PARTS | ANY_TEXT, max_size=10).map("".join)
ITEMS = st.tuples(st.text(WHITESPACE, max_size=3), st.sampled_from("-*#"), st.sampled_from(WHITESPACE), TEXTS)


@given(st.lists(TEXTS | ITEMS.map("".join), min_size=1, max_size=20))
def test_no_text_is_dropped_that_a_step_changes(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]  # Arrow holds no lone surrogates
    for text, passes in zip(texts, may_have_marks(texts), strict=True):
        assert passes or not (steps_in(text) or changed_by_steps(text)), ascii(text)


def test_predictions_in_a_column_are_marked_as_those_in_a_list() -> None:
    texts = ["\u3000- Oslo", "\x85# Rome", "x", None, "**a**"]
    found = marked_rows(texts, np.zeros(len(texts)))
    assert found == (4, {0: ("markdown",), 1: ("markdown",), 4: ("markdown",)})
    assert marked_rows(pa.array(texts), np.zeros(len(texts))) == found
