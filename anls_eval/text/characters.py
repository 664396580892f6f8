"""Which characters of an answer and a prediction differ."""

from __future__ import annotations

from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from anls_eval.text.visible import visible


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
    spans = [Span(tag, visible(left), visible(right)) for tag, left, right in align_characters(answer, prediction)]
    widths = [max(len(span.answer), len(span.prediction)) for span in spans]
    pairs = list(zip(spans, widths, strict=True))
    return (
        "".join(span.answer.ljust(width, GAP) for span, width in pairs),
        "".join(span.prediction.ljust(width, GAP) for span, width in pairs),
        "".join(_MARKS[span.operation] * width for span, width in pairs).rstrip(),
    )
