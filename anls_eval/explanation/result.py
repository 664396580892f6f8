"""`Explanation`: why a score is what it is, with one row for each compared leaf."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, cast

from rapidfuzz.distance import Prefix

from anls_eval.explanation.leaves import LeafRow, leaf_state, leaf_tree_html
from anls_eval.markup import Html, element, headline, joined, notebook_page, notes_html, signature_html
from anls_eval.text.marked import shown_text
from anls_eval.text.visible import one_line, padded, terminal_width
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.recursion import Computation, run_computation
from anls_eval.types import Tree

_Node = TypeVar("_Node")


class KeyMean(TypedDict):
    """The mean score of a dict key, in how many documents it was compared, and the keys below it."""

    anls_score: float
    documents: int
    children: dict[str, KeyMean]


@dataclasses.dataclass(frozen=True)
class FieldComparison:
    """How one leaf was compared by its field.

    Attributes:
        comparator: ``text``, ``exact``, ``number``, ``date``, ``boolean`` or ``function``.
        reference: What the reference text means, such as ``1299`` for "1,299.00"; None for texts.
        prediction: What the prediction text means; None for texts, or if it does not parse.
        tolerance: The tolerance of numbers, such as ``0.01 or 1 %``; None if they must be equal.
    """

    comparator: str
    reference: str | None
    prediction: str | None
    tolerance: str | None


@dataclasses.dataclass(frozen=True)
class Match:
    """One compared leaf: a reference text and the prediction text it was compared with, or one without the other.

    Attributes:
        reference_path: JSON path in the reference; None without a counterpart there.
        prediction_path: JSON path in the prediction; None without a counterpart there.
        reference: The reference text as passed, or None.
        prediction: The prediction text as passed, or None.
        distance: Number of edits between the two normalised texts; None if they were not compared.
        length: Number of characters by which the distance is divided; None if they were not compared.
        similarity: 1 - distance / length, before the threshold; None if they were not compared.
        reason: Why the leaf scores 0: ``below threshold``, ``missing``, ``hallucinated``, ``type mismatch``,
            ``different`` by the comparator of its field, or ``scores 0 by rule``. Empty if it counts.
        weight: Its contribution to the length.
        credit: Its contribution to the sum of similarities.
        compared_as: With fields, how it was compared; None without.
    """

    reference_path: str | None
    prediction_path: str | None
    reference: str | None
    prediction: str | None
    distance: int | None
    length: int | None
    similarity: float | None
    reason: str
    weight: int | float
    credit: float
    compared_as: FieldComparison | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the match as plain JSON values; with fields, with how it was compared."""
        row = dataclasses.asdict(self)
        if self.compared_as is None:
            del row["compared_as"]
        return row


@dataclasses.dataclass
class ScoreNode:
    """The score of a key: the mean of s / l over its occurrences, and the scores of its child keys."""

    anls_score: float | None = None
    children: dict[str, ScoreNode] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a score is what it is. The credits of the matches sum to score x length.

    Attributes:
        score: From 0 to 1.
        length: The sum of the weights.
        closest_reference: The reference closest to the prediction: alternatives chosen, list elements in the order of
            the prediction and unmatched ones last, keys that only the prediction has with None. It consists of the
            objects that were passed.
        key_scores: The score of each dict key; empty for texts.
        matches: One row for each leaf, in the order of the reference.
        signature: The line that `anls_eval.signature` returns.
        raw_prediction: The text out of which `extract` took the prediction; None if it is the prediction.
    """

    score: float
    length: int | float
    closest_reference: Tree
    key_scores: dict[str, ScoreNode]
    matches: list[Match]
    signature: str
    raw_prediction: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the explanation as plain JSON values; remaining alternatives become ``{"$one_of": [...]}``."""
        return {
            "score": self.score,
            "length": self.length,
            "closest_reference": tree_as_json(self.closest_reference),
            "key_scores": key_scores_as_json([self.key_scores], with_counts=False),
            "matches": [match.to_dict() for match in self.matches],
            "signature": self.signature,
            **({} if self.raw_prediction is None else {"raw_prediction": self.raw_prediction}),
        }

    def __str__(self) -> str:
        """Return a table of the matches for a terminal, the largest loss first."""
        total = math.fsum(match.credit for match in self.matches)
        rows: list[tuple[str, ...]] = [("credit", "reference", "", "prediction", "", "why it is not full")]
        rows += [
            (f"{match.credit:.4g}/{match.weight}", *_shown_sides(match), _reason_shown(match))
            for match in sorted(self.matches, key=_gain)
        ]
        widths = [max(map(terminal_width, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(padded, row, widths)).rstrip() for row in rows]
        raw = [] if self.raw_prediction is None else [f"taken out of: {one_line(self.raw_prediction)}"]
        return "\n".join([f"score {self.score:.6g} = {total:.6g} of {self.length}", *raw, *lines, self.signature])

    def _repr_html_(self) -> str:
        """Return the explanation as notebooks show it: the tree of the reference with the characters that differ."""
        total = math.fsum(match.credit for match in self.matches)
        raw = [] if self.raw_prediction is None else [f"taken out of: {shown_text(self.raw_prediction)}"]
        return notebook_page(
            headline(self.score, f"{total:.6g} of {self.length}"),
            notes_html(raw),
            _matches_html(self.matches),
            signature_html(self.signature),
        )


def _matches_html(matches: Sequence[Match]) -> Html:
    """Return the leaves of the reference as a tree, and those that only the prediction has below it."""
    own = [_leaf_row(match) for match in matches if match.reference_path is not None]
    invented = [_leaf_row(match) for match in matches if match.reference_path is None]
    parts = [leaf_tree_html(own)] if own else []
    if invented:
        parts += [element("p", "Only in the prediction:"), leaf_tree_html(invented)]
    return joined(parts)


def _leaf_row(match: Match) -> LeafRow:
    is_full = match.credit == match.weight
    credit = "" if is_full or match.reason else f"{match.credit:.4g} of {match.weight}"
    return LeafRow(
        path=match.reference_path or match.prediction_path or "$",
        state=leaf_state(match.reason, is_full),
        reference=match.reference,
        prediction=match.prediction,
        has_edits=bool(match.distance),
        words=", ".join(filter(None, (credit, _reason_shown(match)))),
    )


def _reason_shown(match: Match) -> str:
    edits = f"{match.distance} of {match.length} characters differ" if match.distance else ""
    return ": ".join(filter(None, (match.reason, edits, comparison_shown(match))))


def comparison_shown(match: Match) -> str:
    """Return what a field made of both sides, in words."""
    found = match.compared_as
    if found is None or found.comparator == "text" or match.similarity is None:
        return ""
    if found.prediction is None:
        return f"the prediction is not a {found.comparator}"
    tolerance = f", tolerance {found.tolerance}" if found.tolerance else ""
    sides = found.reference if found.reference == found.prediction else f"{found.reference} and {found.prediction}"
    return f"{found.comparator} {sides}{tolerance}"


def _shown_sides(match: Match) -> Iterator[str]:
    """Yield path and text of both sides; long texts are cut around the first difference."""
    texts = one_line(str(match.reference)), one_line(str(match.prediction))
    start = Prefix.similarity(*map(str.lower, texts)) - 10 if match.distance else 0
    start = max(0, min(start, max(map(len, texts)) - 40))
    for path, text in zip((match.reference_path, match.prediction_path), texts, strict=True):
        if path is None:
            yield from "--"
            continue
        yield path if len(path) <= 60 else path[:28] + "..." + path[-29:]
        shown = "..." + text[start + 3 :] if start else text
        yield shown if len(shown) <= 40 else shown[:37] + "..."


def lost_matches(matches: Iterable[Match]) -> list[Match]:
    """Return the matches without full credit, the largest loss first."""
    return sorted((match for match in matches if match.credit < match.weight), key=_gain)


def _gain(match: Match) -> float:
    return match.credit - match.weight


def walk_keys(
    nodes: dict[str, _Node], children: Callable[[_Node], dict[str, _Node]]
) -> Iterator[tuple[tuple[str, ...], _Node]]:
    """Yield every key path with its node in document order, each before the paths below it."""
    stack: list[tuple[tuple[str, ...], _Node]] = [((key,), node) for key, node in reversed(nodes.items())]
    while stack:
        path, node = stack.pop()
        yield path, node
        stack += [((*path, key), child) for key, child in reversed(children(node).items())]


def key_scores_as_json(documents: Sequence[Mapping[str, ScoreNode]], with_counts: bool) -> Any:
    """Return the mean score of each key over the documents that have it, and if wanted their number."""
    return run_computation(_key_scores_as_json(documents, with_counts))


def _key_scores_as_json(documents: Sequence[Mapping[str, ScoreNode]], with_counts: bool) -> Computation:
    means: dict[str, Any] = {}
    for key in dict.fromkeys(itertools.chain.from_iterable(documents)):
        nodes = [document[key] for document in documents if key in document]
        means[key] = {
            "anls_score": math.fsum(cast(float, node.anls_score) for node in nodes) / len(nodes),
            **({"documents": len(nodes)} if with_counts else {}),
            "children": (yield _key_scores_as_json([node.children for node in nodes], with_counts)),
        }
    return means
