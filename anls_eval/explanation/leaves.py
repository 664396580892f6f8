"""The states of the leaves of a tree, and the tree of a reference as HTML."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

from anls_eval.markup import Html, as_html, element, joined
from anls_eval.text.characters import align_characters
from anls_eval.text.marked import marked_side, shown_text

LEAF_SIGNS = {
    "full": "\u2713",
    "part": "\u2248",
    "below threshold": "\u2717",
    "different": "\u2717",
    "type mismatch": "\u2717",
    "scores 0 by rule": "\u2717",
    "missing": "\u2212",
    "hallucinated": "+",
    "": "",
}
"""The possible states of a leaf and their signs; the empty state is not counted."""

_PATH_STEP = r"""\.\w+|\['\$one_of'\]\[\d+\]|\['\$literal'\]|\[(?:\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
_MAX_LEAVES = 200
_EMPTY = element("i", "empty")
_MAX_LEAF_CHARACTERS = 200  # of one side of a leaf


@dataclasses.dataclass(frozen=True)
class LeafRow:
    """A leaf as a tree shows it."""

    path: str
    state: str  # a key of `LEAF_SIGNS`
    reference: str | None
    prediction: str | None
    has_edits: bool  # whether the characters that differ are marked
    words: str  # what stands beside it


def path_tokens(path: str) -> list[str]:
    """Return the steps of a JSON path; an alternative, and what is meant literally, are one step."""
    return re.findall(_PATH_STEP, path)


def leaf_state(reason: str, has_full_credit: bool) -> str:
    """Return the state of a leaf that was compared, given why it scores 0."""
    return reason or ("full" if has_full_credit else "part")


def leaf_tree_html(leaves: Sequence[LeafRow]) -> Html:
    """Return leaves in the order of a tree as nested lists."""
    # Without recursion: a tree may be deeper than Python's stack.
    parts, opened = ['<ul class="tree">'], list[str]()
    for leaf in leaves[:_MAX_LEAVES]:
        *above, label = path_tokens(leaf.path) or [""]
        shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(opened, above, strict=False))))
        parts.append("</ul></li>" * (len(opened) - shared))
        parts += [f"<li>{element('span', _label(token), 'label')}<ul>" for token in above[shared:]]
        parts.append(element("li", joined([*_labelled(label), _leaf_html(leaf)])))
        opened = above
    parts.append("</ul></li>" * len(opened) + "</ul>")
    left_out = len(leaves) - _MAX_LEAVES
    if left_out > 0:
        parts.append(element("p", f"{left_out:,} more leaves are not shown.", "muted"))
    return Html("".join(parts))


def _labelled(token: str) -> Iterator[object]:
    if token:
        yield element("span", _label(token), "label")
        yield " "


def _label(token: str) -> str:
    """Return a step of a path as people write it."""
    if token.startswith("['$one_of']"):
        return f"alternative {token.rpartition('[')[2][:-1]}"
    return shown_text(token[1:] if token.startswith(".") else token[1:-1].strip("'\""), 80)


def _leaf_html(leaf: LeafRow) -> Html:
    texts = [text for text in (leaf.reference, leaf.prediction) if text is not None]
    sides = [as_html(shown_text(text, _MAX_LEAF_CHARACTERS)) or _EMPTY for text in dict.fromkeys(texts)]
    if leaf.has_edits and len(texts) == 2:
        spans = align_characters(*texts)
        sides = [marked_side(spans, side, _MAX_LEAF_CHARACTERS) for side in ("answer", "prediction")]
    shown = Html(" → ".join(element("bdi", side) for side in sides)) if sides else as_html("null")
    kind = f"leaf {leaf.state.replace(' ', '-')}"
    signed = element("span", joined([LEAF_SIGNS[leaf.state], " ", shown]), kind)
    return joined([signed, " ", element("span", leaf.words, "what")])
