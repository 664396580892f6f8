"""The pairs of nodes that make up a score, and the exact sum of their credits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from anls_eval.text.similarity import reaches_threshold
from anls_eval.tree.compare import Comparison
from anls_eval.tree.nodes import DICT, LEAF, LIST, NONE, ONE_OF, Node
from anls_eval.tree.ratios import Value


class ComparedPair(NamedTuple):
    """A pair of nodes of reference (g) and prediction (p), or a node without a partner."""

    parent: int  # the index of the pair that contains this one
    at_g: Any  # key or index in the parent; None without a partner
    at_p: Any
    g: Node | None
    p: Node | None
    why: str | None  # why it scores 0; empty if it counts, None if the pairs inside it count
    length: int = 0
    distance: int = 0
    longest: int = 1


BELOW_THRESHOLD, MISSING_PART, INVENTED, MISMATCH = "below threshold", "missing", "hallucinated", "type mismatch"

# A pair to be compared: parent, position on both sides, the nodes, and its value if one node is missing.
_OpenPair = tuple[int, Any, Any, Node | None, Node | None, Value]


def compared_pairs(comparison: Comparison, reference: Node, prediction: Node) -> list[ComparedPair]:
    """List the matched pairs from the root down, each after the one that contains it."""
    pairs: list[ComparedPair] = []
    stack: list[_OpenPair] = [(-1, None, None, reference, prediction, (0, 0))]
    while stack:
        parent, at_g, at_p, g, p, missing = stack.pop()
        index = len(pairs)
        inside: list[_OpenPair] | None = None
        if p is None or g is None:
            why = "" if missing[0] else MISSING_PART if p is None else INVENTED
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, missing[1]))
        elif g.kind == LEAF and p.kind == LEAF:
            distance = 0 if g.value == p.value else comparison.distance(g, p)
            longest = max(len(g.value), len(p.value), 1)
            why = "" if reaches_threshold(distance, longest, comparison.rules) else BELOW_THRESHOLD
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, 1, distance, longest))
        elif g.kind == NONE:
            why = "" if p.like_none else MISMATCH
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, max(1, p.size)))
        elif g.kind == ONE_OF:
            option = comparison.way(g, p)
            inside = [(index, option, None, g.value[option], p, (0, 0))]
        elif g.kind == p.kind == DICT:
            inside = [
                (index, key, key if key in p.value else None, child, p.value.get(key), child.missing)
                for key, child in g.value.items()
            ]
            inside += [
                (index, None, key, None, child, (0, child.missing[1]))
                for key, child in p.value.items()
                if key not in g.value
            ]
        elif g.kind == p.kind == LIST:
            matched = comparison.way(g, p)
            inside = [(index, i, j, g.value[i], p.value[j], (0, 0)) for i, j in matched]
            rows, columns = {i for i, _ in matched}, {j for _, j in matched}
            inside += [(index, i, None, c, None, (0, c.size)) for i, c in enumerate(g.value) if i not in rows]
            inside += [(index, None, j, None, c, (0, c.size)) for j, c in enumerate(p.value) if j not in columns]
        else:
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, MISMATCH, max(g.size, p.size)))
        if inside is not None:
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, None))
            stack += reversed(inside)
    return pairs


# The length of some pairs, how many count fully, and distance and length of each text that counts in part.
Credit = tuple[int, int, list[tuple[int, int]]]


def count_credit(pairs: list[ComparedPair]) -> Credit:
    """Sum up compared pairs."""
    counted = [pair for pair in pairs if pair.why == "" and pair.length]
    partial = [(pair.distance, pair.longest) for pair in counted if pair.distance]
    return sum([pair.length for pair in pairs]), len(counted) - len(partial), partial


def exact_score(length: int, full: int, partial: Sequence[tuple[int, int]]) -> float:
    """Compute a score from the exact sum of its fractions, so that their order cannot change a bit."""
    if not length:
        return 1.0
    if length == len(partial) == 1:
        return 1 - partial[0][0] / partial[0][1]  # as anls_score has it, to the last bit
    denominator = math.lcm(*[longest for _, longest in partial])
    kept = sum([(longest - distance) * (denominator // longest) for distance, longest in partial])
    return (full * denominator + kept) / (denominator * length)
