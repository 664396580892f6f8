"""A document and its reference as trees with the credit of each leaf."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import Any

from anls_eval.explanation.leaves import leaf_state, path_tokens
from anls_eval.explanation.result import Explanation, Match, lost_matches, walk_keys
from anls_eval.tree.nodes import DICT, LIST, ONE_OF, is_literal_dict, key_text, path_part

MAX_ROWS = 200


@dataclasses.dataclass(frozen=True)
class ShownNode:
    """A part of a tree as the page shows it."""

    label: str  # its key, or the number of the item; empty at the top
    text: str  # a leaf as JSON; of a container its brackets, such as ``[ ]``
    children: tuple[ShownNode, ...] = ()
    state: str = ""  # a key of `LEAF_SIGNS`
    credit: float | None = None  # what it adds to the score; None where no credit belongs to it
    anchor: str = ""  # its id in the page, if an item of the other tree is its partner
    partner: str = ""  # the id of the partner
    partner_label: str = ""  # the number of the partner


@dataclasses.dataclass(frozen=True)
class DocumentView:
    """What the page shows of a scored document."""

    score: float
    credit: float  # the sum of the credits
    length: float  # the sum of the weights
    reference: ShownNode
    prediction: ShownNode
    keys: tuple[tuple[str, float], ...]  # path and score of each key
    lost: tuple[Match, ...]  # leaves without full credit, the largest loss first
    left_out: int  # how many more of them there are
    signature: str
    raw_prediction: str | None  # the text out of which the prediction was taken

    @property
    def missing(self) -> list[str]:
        """The paths that are only in the reference."""
        return [match.reference_path or "" for match in self.lost if match.reason == "missing"]

    @property
    def hallucinated(self) -> list[str]:
        """The paths that are only in the prediction."""
        return [match.prediction_path or "" for match in self.lost if match.reason == "hallucinated"]


def view(prediction: Any, reference: Any, found: Explanation) -> DocumentView:
    """Collect what the page shows of a document, from its trees and the explanation of their score."""
    partners: dict[str, dict[str, str]] = {"r": {}, "p": {}}
    for expected, taken in _item_pairs(found.matches):
        partners["r"][expected], partners["p"][taken] = taken, expected
    rows = {
        "r": {match.reference_path: match for match in found.matches if match.reference_path},
        "p": {match.prediction_path: match for match in found.matches if match.prediction_path},
    }
    lost = lost_matches(found.matches)
    return DocumentView(
        score=found.score,
        credit=found.score * found.length,
        length=found.length,
        reference=_node(reference, "", "$", "r", rows["r"], partners["r"]),
        prediction=_node(prediction, "", "$", "p", rows["p"], partners["p"]),
        keys=tuple(
            (".".join(path), float(node.anls_score or 0.0))
            for path, node in walk_keys(found.key_scores, lambda node: node.children)
        ),
        lost=tuple(lost[:MAX_ROWS]),
        left_out=max(0, len(lost) - MAX_ROWS),
        signature=found.signature,
        raw_prediction=found.raw_prediction,
    )


def _item_pairs(matches: Iterable[Match]) -> Iterator[tuple[str, str]]:
    """Yield both paths of each pair of matched list items, as far as both go, except for alternatives and literals."""
    for match in matches:
        if match.reference_path and match.prediction_path:
            given, expected, taken = path_tokens(match.prediction_path), "$", "$"
            for token in path_tokens(match.reference_path):
                expected += token
                if token.startswith(("['$one_of']", "['$literal']")) or not given:
                    continue
                taken += given.pop(0)
                if token[1].isdigit():
                    yield expected, taken


def _node(value: Any, label: str, path: str, side: str, rows: dict[str, Match], partners: dict[str, str]) -> ShownNode:
    """Build a part with everything below it; `check_tree` has made sure that this is not deep."""
    children = tuple(_node(child, key, at, side, rows, partners) for key, child, at in _parts(value, path, side))
    row = rows.get(path)
    partner = partners.get(path, "")
    other = "p" if side == "r" else "r"
    return ShownNode(
        label=label,
        text=_shown(value, side),
        children=children,
        state=_state(row),
        credit=None if row is None else row.credit,
        anchor=_anchor(side, path) if partner else "",
        partner=_anchor(other, partner) if partner else "",
        partner_label=path_tokens(partner)[-1] if partner else "",
    )


def _parts(value: Any, path: str, side: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the label, value and path of each part of a container."""
    if side == "r" and is_literal_dict(value):
        value, path = value["$literal"], f"{path}['$literal']"
    elif side == "r" and isinstance(value, dict) and "$one_of" in value:
        value = tuple(value["$one_of"])
    if isinstance(value, dict):
        for key, child in value.items():
            name = key_text(key)
            yield name, child, path + path_part(name, DICT)
    elif isinstance(value, (list, tuple)):
        kind = ONE_OF if isinstance(value, tuple) else LIST
        for number, child in enumerate(value):
            yield str(number), child, path + path_part(number, kind)


def _shown(value: Any, side: str) -> str:
    if isinstance(value, tuple) or (side == "r" and isinstance(value, dict) and "$one_of" in value):
        return "one of"
    if isinstance(value, (dict, list)):
        return "{ }" if isinstance(value, dict) else "[ ]"
    return json.dumps(value, ensure_ascii=False)


def _state(row: Match | None) -> str:
    return "" if row is None else leaf_state(row.reason, row.credit == row.weight)


def _anchor(side: str, path: str) -> str:
    """Return an id for a path, which may hold any character, unlike an id."""
    return f"{side}{path.encode().hex()}"
