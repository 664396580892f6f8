"""The pairs of nodes that a score is made of, and the exact sum of what they count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from anls_eval.text.similarity import reaches_threshold
from anls_eval.tree.compare import Comparison
from anls_eval.tree.nodes import DICT, LEAF, LIST, NONE, ONE_OF, Node
from anls_eval.tree.ratios import Value


class ComparedPair(NamedTuple):
    """A pair of nodes that the score is made of, or a node without partner."""

    parent: int  # the number of the step that this one is a part of
    at_g: Any  # key or index in it, None without partner
    at_p: Any
    g: Node | None
    p: Node | None
    why: str | None  # why it counts 0; empty if it counts, None if its parts count
    length: int = 0
    distance: int = 0
    longest: int = 1


BELOW_THRESHOLD, MISSING_PART, INVENTED, MISMATCH = "below threshold", "missing", "hallucinated", "type mismatch"

# What a pair consists of: the number of its step, where the part is in both, the nodes, the value without partner.
_Part = tuple[int, Any, Any, Node | None, Node | None, Value]


def compared_pairs(comparison: Comparison, reference: Node, prediction: Node) -> list[ComparedPair]:
    """Go down the pairs that were matched, each after what it is a part of."""
    steps: list[ComparedPair] = []
    stack: list[_Part] = [(-1, None, None, reference, prediction, (0, 0))]
    while stack:
        parent, at_g, at_p, g, p, missing = stack.pop()
        number = len(steps)
        parts: list[_Part] | None = None
        if p is None or g is None:
            why = "" if missing[0] else MISSING_PART if p is None else INVENTED
            steps.append(ComparedPair(parent, at_g, at_p, g, p, why, missing[1]))
        elif g.kind == LEAF and p.kind == LEAF:
            distance = 0 if g.value == p.value else comparison.distance(g, p)
            longest = max(len(g.value), len(p.value), 1)
            why = "" if reaches_threshold(distance, longest, comparison.rules) else BELOW_THRESHOLD
            steps.append(ComparedPair(parent, at_g, at_p, g, p, why, 1, distance, longest))
        elif g.kind == NONE:
            why = "" if p.like_none else MISMATCH
            steps.append(ComparedPair(parent, at_g, at_p, g, p, why, max(1, p.size)))
        elif g.kind == ONE_OF:
            option = comparison.way(g, p)
            parts = [(number, option, None, g.value[option], p, (0, 0))]
        elif g.kind == p.kind == DICT:
            parts = [
                (number, key, key if key in p.value else None, child, p.value.get(key), child.missing)
                for key, child in g.value.items()
            ]
            parts += [
                (number, None, key, None, child, (0, child.missing[1]))
                for key, child in p.value.items()
                if key not in g.value
            ]
        elif g.kind == p.kind == LIST:
            matched = comparison.way(g, p)
            parts = [(number, i, j, g.value[i], p.value[j], (0, 0)) for i, j in matched]
            rows, columns = {i for i, _ in matched}, {j for _, j in matched}
            parts += [(number, i, None, c, None, (0, c.size)) for i, c in enumerate(g.value) if i not in rows]
            parts += [(number, None, j, None, c, (0, c.size)) for j, c in enumerate(p.value) if j not in columns]
        else:
            steps.append(ComparedPair(parent, at_g, at_p, g, p, MISMATCH, max(g.size, p.size)))
        if parts is not None:
            steps.append(ComparedPair(parent, at_g, at_p, g, p, None))
            stack += reversed(parts)
    return steps


# Of some parts: their length, how many count as 1, and distance and length of each text that counts less.
Credit = tuple[int, int, list[tuple[int, int]]]


def count_credit(steps: list[ComparedPair]) -> Credit:
    """Sum up compared pairs: their length, how many count fully, and the texts that count in part."""
    counted = [step for step in steps if step.why == "" and step.length]
    partial = [(step.distance, step.longest) for step in counted if step.distance]
    return sum([step.length for step in steps]), len(counted) - len(partial), partial


def exact_score(length: int, full: int, partial: Sequence[tuple[int, int]]) -> float:
    """The score, from the exact sum of fractions: no order of the parts can change a bit."""
    if not length:
        return 1.0
    if length == len(partial) == 1:
        return 1 - partial[0][0] / partial[0][1]  # as anls_score has it, to the last bit
    denominator = math.lcm(*[longest for _, longest in partial])
    kept = sum([(longest - distance) * (denominator // longest) for distance, longest in partial])
    return (full * denominator + kept) / (denominator * length)
