"""Columns of texts made ready: each step in Arrow gives what it gives in Python."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anls_eval.rules.steps import STEPS, apply_steps
from anls_eval.text.prepare import differing_bytes, prepare_texts, repeated_answers

BLANKS = st.text("aB \n\t\x1f\0é.", max_size=6)


def column(texts: list[str], cut: bool) -> pa.LargeStringArray:
    """The texts as a column, or as what a cast leaves of a longer one, whose offsets do not begin at 0."""
    return pa.array(["A ", *texts])[1:].cast(pa.large_string()) if cut else pa.array(texts, pa.large_string())


class TestSteps:
    @pytest.mark.parametrize("steps", [("strip", "lower", "collapse"), ("collapse", "upper"), *zip(STEPS)])
    @given(st.lists(BLANKS, min_size=1, max_size=6), st.booleans())
    def test_are_those_of_python(self, steps: tuple[str, ...], texts: list[str], cut: bool) -> None:
        found = prepare_texts(column(texts, cut), steps, "compared")
        expected = [apply_steps(steps, text) for text in texts]
        assert found.compared.to_pylist() == expected
        assert found.sizes.tolist() == list(map(len, expected))


class TestDifferingBytes:
    @given(st.lists(st.tuples(st.text("ab", max_size=9), st.text("abé", max_size=9), st.booleans())))
    @example([("a" * 63, "b" * 63, False), ("", "", False), ("ab" * 65, "ba" * 65, False), ("a", "b", False)])
    @example([("a" * 64, "b" * 64, False), ("", "", False)])
    def test_are_counted(self, pairs: list[tuple[str, str, bool]]) -> None:
        lefts, rights = [left for left, _, _ in pairs], [right for _, right, _ in pairs]
        skipped = np.array([own for _, _, own in pairs], bool)
        sides = column(lefts, cut=False), column(rights, cut=False)
        found = differing_bytes(*sides, np.arange(len(pairs)), np.flatnonzero(skipped))
        encoded = [(one.encode(), other.encode()) for one, other, _ in pairs]
        rows = [row for row, (one, other) in enumerate(encoded) if len(one) == len(other) and not skipped[row]]
        assert found.rows.tolist() == rows
        assert found.counts.tolist() == [sum(map(int.__ne__, *encoded[row])) for row in rows]

    def test_apart(self) -> None:
        answers = ["abcdef", "xbydez", "abxdyz", "cbaxef"]
        none = np.zeros(0, np.int64)
        found = differing_bytes(column(["abcdef"] * 4, cut=False), column(answers, cut=False), np.arange(4), none)
        assert (found.counts.tolist(), found.apart(3).tolist()) == ([0, 3, 3, 3], [1, 2])


def test_repeated_answers() -> None:
    answers = column(["a", "a", "a", "b", "a", "a", "", "", "ab"], cut=True)
    owner = np.array([0, 0, 1, 1, 1, 1, 2, 2, 2])
    assert repeated_answers(answers, owner).tolist() == [1, 5, 7]
    assert repeated_answers(answers[:0], owner[:0]).tolist() == []


def test_texts_are_not_copied_where_no_blank_goes() -> None:
    texts = column(["a b", "", "c d e"], cut=False)
    found = prepare_texts(texts, ("collapse",), "compared").compared
    assert found.buffers()[2].address == texts.buffers()[2].address
    assert found.to_pylist() == texts.to_pylist()
