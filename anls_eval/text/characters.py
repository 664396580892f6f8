"""Which characters of an answer and a prediction differ."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from anls_eval.text.visible import padded, terminal_width, visible


class Span(NamedTuple):
    """A run of characters that are equal, or that one edit operation changes."""

    operation: str  # equal, replace, insert (only in the prediction) or delete (only in the answer)
    answer: str
    prediction: str


def align_characters(answer: str, prediction: str) -> list[Span]:
    """Align two texts, as they are compared, with the fewest edits; return the spans from left to right."""
    codes = Levenshtein.opcodes(answer, prediction)
    return [
        Span(code.tag, answer[code.src_start : code.src_end], prediction[code.dest_start : code.dest_end])
        for code in codes
    ]


GAP = "∅"
"""Fills a line where only the other side has a character."""

_MARKS = {"equal": " ", "replace": "S", "insert": "I", "delete": "D"}


def aligned_lines(answer: str, prediction: str) -> tuple[str, str, str]:
    """Return answer and prediction as aligned lines, and a line of marks: S substituted, I inserted, D deleted."""
    columns = [column for span in align_characters(answer, prediction) for column in _columns(span)]
    left, right, marks = ("".join(line) for line in zip(*columns, strict=True)) if columns else ("", "", "")
    return left, right, marks.rstrip()


def _columns(span: Span) -> Iterator[tuple[str, str, str]]:
    """Yield each character of both sides with its mark, as wide as the terminal shows the wider one."""
    least = int(span.operation != "equal")  # an accent that differs has no width of its own
    for pair in itertools.zip_longest(visible(span.answer), visible(span.prediction), fillvalue=""):
        width = max(least, *map(terminal_width, pair))
        left, right = (padded(own, width) if own else GAP * width for own in pair)
        yield left, right, _MARKS[span.operation] * width
