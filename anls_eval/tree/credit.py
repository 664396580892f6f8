"""The pairs of nodes that make up a score, and the exact sum of their credits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from anls_eval.text.similarity import reaches_threshold
from anls_eval.tree.compare import Comparison, length_of_mismatch
from anls_eval.tree.nodes import LEAF, LIST, NONE, ONE_OF, Node
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
DIFFERENT = "different"  # of leaves with a comparator of their own

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
        elif g.kind == LEAF and p.kind == LEAF and g.rule and g.rule.comparator:
            similarity = g.rule.comparator.similarity(p.value, g.value)
            kept, longest = similarity.as_integer_ratio()
            why = "" if similarity else DIFFERENT
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, g.size, longest - kept, longest))
        elif g.kind == LEAF and p.kind == LEAF:
            distance = 0 if g.value == p.value else comparison.distance(g, p)
            longest = max(len(g.value), len(p.value), 1)
            why = "" if reaches_threshold(distance, longest, comparison.rules) else BELOW_THRESHOLD
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, g.size, distance, longest))
        elif g.kind == NONE:
            why = "" if p.like_none else MISMATCH
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, p.size or g.size))
        elif g.kind == ONE_OF:
            option = comparison.way(g, p)
            inside = [(index, position_of(g, option), None, g.value[option], p, (0, 0))]
        elif g.kind == p.kind and g.kind != LIST:
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
            rows, columns = {i for i, _ in matched}, {j for _, j in matched}
            only_g = [(i, child) for i, child in enumerate(g.value) if i not in rows]
            only_p = [(j, child) for j, child in enumerate(p.value) if j not in columns]
            if g.positions is not None:  # back to the order as passed
                matched = sorted(matched, key=lambda own: position_of(g, own[0]))
                only_g.sort(key=lambda own: position_of(g, own[0]))
                only_p.sort(key=lambda own: position_of(p, own[0]))
            inside = [(index, position_of(g, i), position_of(p, j), g.value[i], p.value[j], (0, 0)) for i, j in matched]
            inside += [(index, position_of(g, i), None, child, None, (0, child.size)) for i, child in only_g]
            inside += [(index, None, position_of(p, j), None, child, (0, child.size)) for j, child in only_p]
        else:
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, MISMATCH, length_of_mismatch(g, p)))
        if inside is not None:
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, None))
            stack += reversed(inside)
    return pairs


def pair_with_none(g: Node | None, p: Node | None) -> ComparedPair:
    """Return the pair of a dict's value with a key that the other dict does not have."""
    s, length = g.missing if g else (0.0, p.missing[1] if p else 0)
    why = "" if s else MISSING_PART if g else INVENTED
    return ComparedPair(-1, None, None, g, p, why, length)


def position_of(node: Node, index: int) -> int:
    """Return where a child stood in the list as passed."""
    return node.positions[index] if node.positions else index


# The length of some pairs, that of those that count fully, and the credit of each that counts in part: a fraction.
Credit = tuple[int, int, list[tuple[int, int]]]


def count_credit(pairs: list[ComparedPair]) -> Credit:
    """Sum up compared pairs."""
    counted = [pair for pair in pairs if pair.why == "" and pair.length]
    partial = [((pair.longest - pair.distance) * pair.length, pair.longest) for pair in counted if pair.distance]
    full = sum([pair.length for pair in counted if not pair.distance])
    return sum([pair.length for pair in pairs]), full, partial


def exact_score(length: int, full: int, partial: Sequence[tuple[int, int]]) -> float:
    """Compute a score from the exact sum of its fractions, so that their order cannot change a bit."""
    if not length:
        return 1.0
    if length == len(partial) == 1:
        kept, longest = partial[0]
        return 1 - (longest - kept) / longest  # as anls_score has it, to the last bit
    denominator = math.lcm(*[longest for _, longest in partial])
    kept = sum([credit * (denominator // longest) for credit, longest in partial])
    return (full * denominator + kept) / (denominator * length)
