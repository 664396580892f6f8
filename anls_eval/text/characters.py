"""Which characters of an answer and a prediction differ, for people to see."""

from __future__ import annotations

from typing import NamedTuple

from rapidfuzz.distance import Levenshtein


class Span(NamedTuple):
    """A run of characters that are equal, or that one edit operation changes.

    Args:
        operation: ``equal``, ``replace``, ``insert`` (only in the prediction) or ``delete`` (only in the answer).
        answer: The characters of the answer.
        prediction: The characters of the prediction.
    """

    operation: str
    answer: str
    prediction: str


def align_characters(answer: str, prediction: str) -> list[Span]:
    """Align two texts, as they are compared, by the fewest edits.

    Args:
        answer: The answer after the steps of its protocol.
        prediction: The prediction, likewise.

    Returns:
        The spans from left to right; their answers join to the answer, their predictions to the prediction.

    Example:
        >>> for span in align_characters("coca cola", "coka-cola!"):
        ...     print(*map(repr, span))
        'equal' 'co' 'co'
        'replace' 'c' 'k'
        'equal' 'a' 'a'
        'replace' ' ' '-'
        'equal' 'cola' 'cola'
        'insert' '' '!'
    """
    codes = Levenshtein.opcodes(answer, prediction)
    return [
        Span(code.tag, answer[code.src_start : code.src_end], prediction[code.dest_start : code.dest_end])
        for code in codes
    ]


GAP = "∅"
"""Stands in a line where the other side has a character."""

_MARKS = {"equal": " ", "replace": "S", "insert": "I", "delete": "D"}


def aligned_lines(answer: str, prediction: str) -> tuple[str, str, str]:
    r"""Write two texts under each other, with a line of marks: S substituted, I inserted, D deleted.

    Args:
        answer: The answer after the steps of its protocol.
        prediction: The prediction, likewise.

    Returns:
        The line of the answer, the line of the prediction and the line of the marks.

    Example:
        >>> print("\n".join(aligned_lines("coca cola", "coka-cola!")))
        coca cola∅
        coka-cola!
          S S    I
    """
    spans = [Span(tag, visible(own), visible(other)) for tag, own, other in align_characters(answer, prediction)]
    widths = [max(len(span.answer), len(span.prediction)) for span in spans]
    pairs = list(zip(spans, widths, strict=True))
    return (
        "".join(span.answer.ljust(width, GAP) for span, width in pairs),
        "".join(span.prediction.ljust(width, GAP) for span, width in pairs),
        "".join(_MARKS[span.operation] * width for span, width in pairs).rstrip(),
    )


def visible(text: str) -> str:
    r"""Give a sign for each character that has none: a picture for control characters, and \ufffd for others.

    Args:
        text: Any text.

    Returns:
        As many characters, all of which can be seen or are blanks.

    Example:
        >>> visible("a\tb")
        'a␉b'
    """
    return "".join(
        chr(0x2400 + ord(own)) if ord(own) < 0x20 else own if own.isprintable() or own == " " else "\ufffd"
        for own in text
    )
