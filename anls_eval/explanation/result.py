"""`Explanation`: why a score is what it is, with one row for each compared leaf, and how it is printed."""

from __future__ import annotations

import dataclasses
import math
import unicodedata
from collections.abc import Iterator
from typing import Any

from rapidfuzz.distance import Prefix

from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.recursion import Computation, run_computation
from anls_eval.types import Tree


@dataclasses.dataclass(frozen=True)
class Match:
    """One leaf of a score: a reference text with the prediction text it was compared with, or one without the other.

    Args:
        reference_path: JSON path in the reference; None if nothing there corresponds.
        prediction_path: JSON path in the prediction; None if nothing there corresponds.
        reference: The reference text as it was given; None if there is none.
        prediction: The prediction text as it was given; None if there is none.
        distance: Edits between the two normalised texts; None if they were not compared.
        length: The characters that the distance is divided by; None if they were not compared.
        similarity: 1 - distance / length, before the threshold; None if they were not compared.
        reason: Empty if it counts; else ``below threshold``, ``missing``, ``hallucinated`` or ``type mismatch``.
        weight: What it adds to the length.
        credit: What it adds to the sum of similarities.
    """

    reference_path: str | None
    prediction_path: str | None
    reference: str | None
    prediction: str | None
    distance: int | None
    length: int | None
    similarity: float | None
    reason: str
    weight: int
    credit: float


@dataclasses.dataclass
class ScoreNode:
    """The score of a key: the mean of s / l over its occurrences, and the scores of the keys below it."""

    anls_score: float | None = None
    children: dict[str, ScoreNode] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a score is what it is. The credits of the matches sum to score x length.

    Args:
        score: From 0 to 1.
        length: The sum of the weights.
        closest_reference: The reference that comes closest to the prediction: alternatives chosen, lists in the order
            of the prediction with what is left over behind, keys that the prediction invented with None. It is made
            of the objects that were given.
        key_scores: The score of each key of dicts, by its path of keys.
        matches: One row for each leaf, in the order of the reference.
        signature: As `signature` gives it.
    """

    score: float
    length: int
    closest_reference: Tree
    key_scores: dict[str, ScoreNode]
    matches: list[Match]
    signature: str

    def to_dict(self) -> dict[str, object]:
        """Give all of it as plain JSON values; alternatives left in the reference as ``{"$one_of": [...]}``."""
        return {
            "score": self.score,
            "length": self.length,
            "closest_reference": tree_as_json(self.closest_reference),
            "key_scores": _plain_key_scores(self.key_scores),
            "matches": [dataclasses.asdict(match) for match in self.matches],
            "signature": self.signature,
        }

    def __str__(self) -> str:
        """A table of the matches, most lost first, to read in a terminal."""
        sum_ = math.fsum(match.credit for match in self.matches)
        lost = sorted(self.matches, key=lambda match: match.credit - match.weight)
        rows: list[tuple[str, ...]] = [("credit", "reference", "", "prediction", "", "why it is not full")]
        rows += [(f"{match.credit:.4g}/{match.weight}", *_shown_sides(match), _reason_shown(match)) for match in lost]
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        padded = [
            [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)] for row in rows
        ]
        lines = ["  ".join(row).rstrip() for row in padded]
        return "\n".join([f"score {self.score:.6g} = {sum_:.6g} of {self.length}", *lines, self.signature])


def _reason_shown(match: Match) -> str:
    edits = f"{match.distance} of {match.length} characters differ" if match.distance else ""
    return ": ".join(filter(None, (match.reason, edits)))


def _shown_sides(match: Match) -> Iterator[str]:
    """The path and text of both sides; of long texts, what is around the first difference."""
    texts = _line(str(match.reference)), _line(str(match.prediction))
    start = Prefix.similarity(*map(str.lower, texts)) - 10 if match.distance else 0
    start = max(0, min(start, max(map(len, texts)) - 40))
    for path, text in zip((match.reference_path, match.prediction_path), texts, strict=True):
        if path is None:
            yield from "--"
            continue
        yield path if len(path) <= 60 else path[:28] + "..." + path[-29:]
        shown = "..." + text[start + 3 :] if start else text
        yield shown if len(shown) <= 40 else shown[:37] + "..."


def _line(text: str) -> str:
    line = " ".join(text.split())
    return "".join(own if own.isprintable() else own.encode("unicode_escape").decode() for own in line)


def _width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    return sum(1 + (unicodedata.east_asian_width(own) in "WF") - bool(unicodedata.combining(own)) for own in text)


def _plain_key_scores(nodes: dict[str, ScoreNode]) -> Any:
    return run_computation(_plain_key_scores_steps(nodes))


def _plain_key_scores_steps(nodes: dict[str, ScoreNode]) -> Computation:
    plain = {}
    for key, node in nodes.items():
        plain[key] = {"anls_score": node.anls_score, "children": (yield _plain_key_scores_steps(node.children))}
    return plain
