"""Aligned texts as HTML: characters that differ are marked, and whitespace that differs can be seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from anls_eval.markup import Html, as_html, element, joined
from anls_eval.text.characters import Span
from anls_eval.text.visible import visible

MAX_SHOWN_CHARACTERS = 400

_COMMON_SYMBOLS = str.maketrans("␠␉␊", "␣⇥↵")  # for common whitespace, symbols found in more fonts
_ELEMENTS = {"replace": "mark", "insert": "ins", "delete": "del"}


def shown_text(text: str, most: int = MAX_SHOWN_CHARACTERS) -> str:
    """Truncate a long text and make all of its characters visible."""
    return visible(text[:most]).translate(_COMMON_SYMBOLS) + "…" * (len(text) > most)


def marked_side(spans: Iterable[Span], side: str, most: int = MAX_SHOWN_CHARACTERS) -> Html:
    """Return the ``answer`` or the ``prediction`` of aligned texts, with marks that do not depend on colour."""
    found: list[Html] = []
    left = most
    for span in spans:
        text = span.answer if side == "answer" else span.prediction
        if not text:
            continue
        seen = shown_text(text[: max(left, 0)])
        if span.operation == "equal":
            found.append(as_html(seen))
        else:
            found.append(element(_ELEMENTS[span.operation], seen.replace(" ", "␣")))
        left -= len(text)
        if left < 0:
            return joined([*found, "…"])
    return joined(found) if found else element("i", "empty")


def alignment_html(spans: Sequence[Span]) -> Html:
    """Return answer and prediction, one below the other."""
    sides = ("answer", "prediction")
    rows = "".join(f'<dt>{side}</dt><dd dir="auto">{marked_side(spans, side)}</dd>\n' for side in sides)
    return Html(f'<dl class="alignment">\n{rows}</dl>')
