"""A document beside its reference: read from JSON or Python, scored, and as trees whose leaves show their credit."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from anls_eval.app.child import Progress
from anls_eval.app.limits import ELSEWHERE, MOST_JSON, check_tree
from anls_eval.app.page import html
from anls_eval.explanation.result import Explanation, Match, ScoreNode
from anls_eval.explanation.tree import explain_tree
from anls_eval.files import FormatError
from anls_eval.files.json_text import parse
from anls_eval.notes import tree_notes
from anls_eval.registry import resolve_rules
from anls_eval.tree.nodes import DICT, LIST, ONE_OF, is_literal_dict, key_text, path_step

_MOST_ROWS = 200

# ---------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------


def read_tree(text: str, name: str) -> Any:
    """Read a tree from JSON, or from a Python literal, in which a tuple holds alternatives.

    Args:
        text: What a user typed.
        name: What to call it.

    Raises:
        ValueError: It is neither; the message has the line and column.

    Example:
        >>> read_tree('{"total": 17.9}', "the prediction"), read_tree("{'total': ('17.9', None)}", "the reference")
        ({'total': 17.9}, {'total': ('17.9', None)})
    """
    if not text.strip():
        raise ValueError(f"{name} is empty; expected JSON, or null for nothing")
    if len(text) > MOST_JSON:
        raise ValueError(f"{name} has {len(text):,} characters; expected at most {MOST_JSON:,} here. {ELSEWHERE}")
    try:
        tree = parse(text, name)
    except FormatError as error:
        tree = _python_literal(text, name, error)
    check_tree(tree, name)
    return tree


def _python_literal(text: str, name: str, json_error: FormatError) -> Any:
    """The value of a Python literal, or the error of JSON, unless the fault of Python comes later in the text."""
    place = re.match(r"line (\d+), column (\d+)", json_error.place)
    if place is None:  # it is JSON, but has a key twice, or is nested too deeply
        raise json_error
    try:
        return ast.literal_eval(text.strip())
    except SyntaxError as error:
        if (error.lineno or 0, error.offset or 0) > (int(place[1]), int(place[2])) and "'" in text:
            where = f"line {error.lineno}, column {error.offset}"
            raise FormatError(name, where, f"not a Python literal: {error.msg}. Mend it there.") from None
    except (ValueError, TypeError, MemoryError, RecursionError):
        pass
    raise json_error from None


# ---------------------------------------------------------------------------------------------------
# Scoring
# ---------------------------------------------------------------------------------------------------


class ScoredDocument(NamedTuple):
    """A document's score, as plain JSON values and as HTML, and its closest reference as JSON."""

    plain: dict[str, Any]
    shown: str
    closest: str


def score(prediction: Any, reference: Any, protocol: str, report_progress: Progress) -> ScoredDocument:
    """Score a document and explain the score.

    Args:
        prediction: A tree, or its text.
        reference: The same.
        protocol: A name in `PROTOCOLS` that scores trees.
        report_progress: Not used: this takes a moment.

    Raises:
        ValueError: A text that cannot be read, a document over the limits, or what `explain` refuses.
        TypeError: What `explain` refuses.
    """
    rules = resolve_rules(protocol, None, of_trees=True)
    given, expected = _tree(prediction, "the prediction"), _tree(reference, "the reference")
    found = explain_tree(given, expected, rules)
    notes = tree_notes([given], [expected], rules)
    plain = {**found.to_dict(), "notes": notes}
    closest = json.dumps(plain["closest_reference"], ensure_ascii=False, indent=2)
    return ScoredDocument(
        plain, html("document.html", found=view(given, expected, found), notes=notes, signs=STATES), closest
    )


def _tree(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return read_tree(value, name)
    check_tree(value, name)
    return value


# ---------------------------------------------------------------------------------------------------
# Trees
# ---------------------------------------------------------------------------------------------------

STATES = {
    "full": "\u2713",
    "part": "\u2248",
    "below threshold": "\u2717",
    "type mismatch": "\u2717",
    "missing": "\u2212",
    "hallucinated": "+",
    "": "",
}
"""What can be with a leaf, and the sign for it. None: it is not counted."""


@dataclasses.dataclass(frozen=True)
class Node:
    """A part of a tree, to be shown.

    Args:
        label: Its key, or the number of the item; empty at the top.
        text: Of a leaf, as JSON; of a container its brackets, such as ``[ ]``.
        children: The parts of a container.
        state: A key of `STATES`.
        credit: What it adds to the score; None where no credit belongs to it.
        anchor: Its id in the page, if an item of the other tree is its partner.
        partner: The id of the partner.
        partner_label: The number of the partner.
    """

    label: str
    text: str
    children: tuple[Node, ...] = ()
    state: str = ""
    credit: float | None = None
    anchor: str = ""
    partner: str = ""
    partner_label: str = ""


@dataclasses.dataclass(frozen=True)
class DocumentView:
    """What the page shows of a scored document.

    Args:
        score: From 0 to 1.
        credit: The sum of the credits.
        length: The sum of the weights.
        reference: The tree of the reference.
        prediction: The tree of the prediction.
        keys: The path and the score of each key.
        lost: The leaves that did not get full credit, most lost first.
        left_out: How many of them are not given.
        signature: As `signature` gives it.
    """

    score: float
    credit: float
    length: int
    reference: Node
    prediction: Node
    keys: tuple[tuple[str, float], ...]
    lost: tuple[Match, ...]
    left_out: int
    signature: str

    @property
    def missing(self) -> list[str]:
        """The paths of the reference that the prediction lacks."""
        return [own.reference_path or "" for own in self.lost if own.reason == "missing"]

    @property
    def hallucinated(self) -> list[str]:
        """The paths of the prediction that the reference lacks."""
        return [own.prediction_path or "" for own in self.lost if own.reason == "hallucinated"]


def view(prediction: Any, reference: Any, found: Explanation) -> DocumentView:
    """Give what the page shows of a scored document.

    Args:
        prediction: The tree that was scored.
        reference: The same.
        found: From `explain`.

    Example:
        >>> from anls_eval import explain
        >>> given, expected = {"total": "17.9"}, {"total": "17.99", "date": "2024"}
        >>> shown = view(given, expected, explain(given, expected))
        >>> [(node.label, node.text, node.state, node.credit) for node in shown.reference.children]
        [('total', '"17.99"', 'part', 0.8), ('date', '"2024"', 'missing', 0.0)]
    """
    partners = {"r": {}, "p": {}}  # type: dict[str, dict[str, str]]
    for own, other in _item_pairs(found.matches):
        partners["r"][own], partners["p"][other] = other, own
    rows = {
        "r": {own.reference_path: own for own in found.matches if own.reference_path},
        "p": {own.prediction_path: own for own in found.matches if own.prediction_path},
    }
    lost = sorted((own for own in found.matches if own.credit < own.weight), key=lambda own: own.credit - own.weight)
    return DocumentView(
        score=found.score,
        credit=found.score * found.length,
        length=found.length,
        reference=_node(reference, "", "$", "r", rows["r"], partners["r"]),
        prediction=_node(prediction, "", "$", "p", rows["p"], partners["p"]),
        keys=tuple(_keys(found.key_scores)),
        lost=tuple(lost[:_MOST_ROWS]),
        left_out=max(0, len(lost) - _MOST_ROWS),
        signature=found.signature,
    )


_TOKEN = re.compile(r"""\.\w+|\['\$one_of'\]\[\d+\]|\['\$literal'\]|\[(?:\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]""")


def _item_pairs(matches: Iterable[Match]) -> Iterator[tuple[str, str]]:
    """The paths of list items that were matched: as far as both paths go, alternatives and literals aside."""
    for own in matches:
        if own.reference_path and own.prediction_path:
            given, expected, taken = _TOKEN.findall(own.prediction_path), "$", "$"
            for token in _TOKEN.findall(own.reference_path):
                expected += token
                if token.startswith(("['$one_of']", "['$literal']")) or not given:
                    continue
                taken += given.pop(0)
                if token[1].isdigit():
                    yield expected, taken


def _node(value: Any, label: str, path: str, side: str, rows: dict[str, Match], partners: dict[str, str]) -> Node:
    """A part with all below it; `check_tree` has made sure that this is not deep."""
    children = tuple(_node(own, key, at, side, rows, partners) for key, own, at in _parts(value, path, side))
    row = rows.get(path)
    partner = partners.get(path, "")
    other = "p" if side == "r" else "r"
    return Node(
        label=label,
        text=_shown(value, side),
        children=children,
        state=_state(row),
        credit=None if row is None else row.credit,
        anchor=_anchor(side, path) if partner else "",
        partner=_anchor(other, partner) if partner else "",
        partner_label=_TOKEN.findall(partner)[-1] if partner else "",
    )


def _parts(value: Any, path: str, side: str) -> Iterator[tuple[str, Any, str]]:
    """The label, value and path of each part of a container."""
    if side == "r" and is_literal_dict(value):
        value, path = value["$literal"], f"{path}['$literal']"
    elif side == "r" and isinstance(value, dict) and "$one_of" in value:
        value = tuple(value["$one_of"])
    if isinstance(value, dict):
        for key, own in value.items():
            name = key_text(key)
            yield name, own, path + path_step(name, DICT)
    elif isinstance(value, (list, tuple)):
        kind = ONE_OF if isinstance(value, tuple) else LIST
        for number, own in enumerate(value):
            yield str(number), own, path + path_step(number, kind)


def _shown(value: Any, side: str) -> str:
    if isinstance(value, tuple) or (side == "r" and isinstance(value, dict) and "$one_of" in value):
        return "one of"
    if isinstance(value, (dict, list)):
        return "{ }" if isinstance(value, dict) else "[ ]"
    return json.dumps(value, ensure_ascii=False)


def _state(row: Match | None) -> str:
    if row is None:
        return ""
    return row.reason or ("full" if row.credit == row.weight else "part")


def _anchor(side: str, path: str) -> str:
    """An id for a path: it may hold any character but a blank."""
    return f"{side}{path.encode().hex()}"


def _keys(nodes: dict[str, ScoreNode]) -> Iterator[tuple[str, float]]:
    stack = list(reversed(nodes.items()))
    while stack:
        path, node = stack.pop()
        yield path, float(node.anls_score or 0.0)
        stack += [(f"{path}.{key}", child) for key, child in reversed(node.children.items())]
