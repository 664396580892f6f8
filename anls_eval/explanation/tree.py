"""Why a tree has its score: closest reference, key scores, one row for each leaf."""

from __future__ import annotations

import math
import reprlib
from typing import Any, cast

from anls_eval.explanation.result import Explanation, Match, ScoreNode
from anls_eval.inputs.values import is_missing_value
from anls_eval.registry import signature
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.credit import ComparedPair, count_credit, exact_score
from anls_eval.tree.documents import compare_trees
from anls_eval.tree.nodes import DICT, LEAF, LIST, NONE, ONE_OF, Node, is_literal_dict, path_step, plain_value
from anls_eval.tree.ratios import Value, best_of, ratio_of


def explain_tree(prediction: Any, reference: Any, rules: Protocol) -> Explanation:
    """Explain the score of one pair of trees."""
    found = ExplainedTree(prediction, reference, rules)
    return Explanation(
        score=found.score,
        length=found.length,
        closest_reference=found.closest_reference(),
        key_scores=found.key_scores(),
        matches=matches_of(found.steps),
        signature=signature(rules, n=1),
    )


class ExplainedTree:
    """A pair of trees, and what there is to say of it: in many documents, only what is asked for."""

    def __init__(self, prediction: Any, reference: Any, rules: Protocol) -> None:
        self.steps = compare_trees(prediction, reference, rules, explained=True)
        credit = count_credit(self.steps)
        self.score, self.length = exact_score(*credit), credit[0]
        self.parts: list[list[int]] = [[] for _ in self.steps]  # of each step, the numbers of its parts
        for number, step in enumerate(self.steps[1:], start=1):
            self.parts[step.parent].append(number)

    def closest_reference(self) -> Any:
        """Return the reference that comes closest to the prediction."""
        return closest_reference_of(self.steps, self.parts)

    def key_scores(self) -> dict[str, ScoreNode]:
        """Return the score of each key."""
        return key_scores_of(self.steps, self.parts)


def closest_reference_of(steps: list[ComparedPair], parts: list[list[int]]) -> Any:
    """Build the closest reference from the compared pairs."""
    closest: list[Any] = [None] * len(steps)
    for number in range(len(steps) - 1, -1, -1):
        step, own = steps[number], parts[number]
        g, p = step.g, step.p
        if g is None:
            continue
        if step.why is not None:
            in_dict = bool(number) and steps[step.parent].g.kind == DICT  # type: ignore[union-attr]
            if p is None:
                closest[number] = _without_options(g).source if in_dict else g.source
            else:
                closest[number] = p.source if g.kind == NONE and not step.why else g.source
        elif g.kind == ONE_OF:
            closest[number] = closest[own[0]]
        elif g.kind == LIST:
            pairs = sorted((part for part in own if steps[part].p), key=lambda part: steps[part].at_p)
            left_over = [part for part in own if not steps[part].p]
            closest[number] = [closest[part] for part in pairs + left_over if steps[part].g]
        else:
            found = _closest_dict(steps, own, closest)
            # As a reference, which it is, it must not be read as alternatives.
            closest[number] = {"$literal": found} if "$one_of" in found or "$literal" in found else found
    return closest[0]


def _closest_dict(steps: list[ComparedPair], parts: list[int], closest: list[Any]) -> dict[Any, Any]:
    """Keys that one side lacks stand in it only if they are not None or like it."""
    found: dict[Any, Any] = {}
    for part in parts:
        step, value = steps[part], closest[part]
        is_empty = is_missing_value(value) or (isinstance(value, (str, list, dict)) and not value)
        if step.g is None and step.p is not None and not step.p.like_none:
            found[step.at_p] = None
        elif step.g is not None and not (step.p is None and is_empty):
            found[step.at_g] = value
    return found


def _without_options(node: Node) -> Node:
    """The alternative that a missing key is compared by."""
    while node.kind == ONE_OF:
        node = node.value[best_of([option.missing for option in node.value])]
    return node


def _credit(step: ComparedPair) -> float:
    return 0.0 if step.why or not step.length else 1 - step.distance / step.longest


def key_scores_of(steps: list[ComparedPair], parts: list[list[int]]) -> dict[str, ScoreNode]:
    """The mean of s / l over the occurrences of each path of keys."""
    values: list[Value] = [(_credit(step), step.length) for step in steps]
    for number in range(len(steps) - 1, -1, -1):
        if steps[number].why is None:
            own = [values[part] for part in parts[number]]
            values[number] = math.fsum(s for s, _ in own), sum(length for _, length in own)
    top: dict[str, ScoreNode] = {}
    below: list[dict[str, ScoreNode]] = [top] * len(steps)  # of each step, the keys below it
    ratios: dict[int, tuple[ScoreNode, list[float]]] = {}
    for number, step in enumerate(steps[1:], start=1):
        below[number] = below[step.parent]
        holder = steps[step.parent].g
        invented_none = step.g is None and step.p is not None and step.p.like_none
        if holder is not None and holder.kind == DICT and not invented_none:
            key = step.at_p if step.g is None else step.at_g
            node = below[step.parent].setdefault(key, ScoreNode())
            ratios.setdefault(id(node), (node, []))[1].append(ratio_of(values[number]))
            below[number] = node.children
    for node, own_ratios in ratios.values():
        node.anls_score = math.fsum(own_ratios) / len(own_ratios)
    return top


def matches_of(steps: list[ComparedPair]) -> list[Match]:
    """Return one row for each compared leaf."""
    paths = [("$", "$")]
    rows: list[Match] = []
    for number, step in enumerate(steps):
        if number:
            holder = steps[step.parent]
            g_path, p_path = paths[step.parent]
            if step.at_g is not None:
                g_path += _path_into(cast(Node, holder.g), step.at_g, of_reference=True)
            if step.at_p is not None:
                p_path += _path_into(cast(Node, holder.p), step.at_p, of_reference=False)
            paths.append((g_path, g_path if p_path == g_path else p_path))
        if step.why is not None:
            rows += _rows(step, *paths[number])
    return rows


def _rows(step: ComparedPair, g_path: str, p_path: str) -> list[Match]:
    """The rows of a step: one, or one for each leaf of a part without partner."""
    if step.g and step.p:
        is_compared = step.g.kind == step.p.kind == LEAF
        return [
            Match(
                reference_path=g_path,
                prediction_path=p_path,
                reference=_given_text(step.g),
                prediction=_given_text(step.p),
                distance=step.distance if is_compared else None,
                length=step.longest if is_compared else None,
                similarity=1 - step.distance / step.longest if is_compared else None,
                reason=cast(str, step.why),
                weight=step.length,
                credit=_credit(step),
            )
        ]
    node, path = (step.g, g_path) if step.g else (cast(Node, step.p), p_path)
    leaves = _leaves(node, path, step.length, of_reference=step.p is None)
    if step.why == "" or not leaves or len(leaves) != step.length:
        leaves = [(path, node)]
    rest = None, None, None, cast(str, step.why), step.length // len(leaves), _credit(step)
    if step.g:
        return [Match(path, None, _given_text(leaf), None, *rest) for path, leaf in leaves]
    return [Match(None, path, None, _given_text(leaf), *rest) for path, leaf in leaves]


def _leaves(node: Node, path: str, size: int, of_reference: bool) -> list[tuple[str, Node]]:
    """The leaves of a part without partner, by the alternatives that its size is of."""
    found = []
    stack = [(node, path, size)]
    while stack:
        node, path, size = stack.pop()
        if node.kind == ONE_OF:
            sizes = [option.size for option in node.value]
            chosen = sizes.index(size) if size in sizes else sizes.index(max(sizes))
            stack.append((node.value[chosen], path + _path_into(node, chosen, of_reference), sizes[chosen]))
        elif node.kind <= LEAF:
            found.append((path, node))
        else:
            children = list(node.value.items() if node.kind == DICT else enumerate(node.value))
            stack += [(child, path + _path_into(node, key, of_reference), child.size) for key, child in children[::-1]]
    return found


def _path_into(node: Node, key: str | int, of_reference: bool) -> str:
    """The path from a node to its child, by what the node was written as."""
    if node.kind == ONE_OF and isinstance(node.source, list):
        return path_step(key, LIST)
    is_literal = of_reference and node.kind == DICT and is_literal_dict(node.source)
    return (path_step("$literal", DICT) if is_literal else "") + path_step(key, node.kind)


def _given_text(node: Node) -> str | None:
    if node.kind == NONE:
        return None
    if node.kind == LEAF:
        return str(plain_value(node.source))
    return reprlib.repr(node.source)
