"""Why a tree has its score: closest reference, key scores, one row for each leaf."""

from __future__ import annotations

import math
import reprlib
from typing import Any, cast

from anls_eval.explanation.result import Explanation, FieldComparison, Match, ScoreNode
from anls_eval.fields.comparators import Comparator, NumberComparator
from anls_eval.fields.field import exact_text
from anls_eval.fields.fields import Fields
from anls_eval.inputs.values import is_missing_value
from anls_eval.registry import signature, signature_of_one
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.credit import ComparedPair, count_credit, exact_score, position_of
from anls_eval.tree.nodes import DICT, KEPT, LEAF, LIST, NONE, ONE_OF, Node, is_literal_dict, path_part, plain_value
from anls_eval.tree.ratios import Value, best_of, ratio_of
from anls_eval.tree.single import compare_trees, field_rules


def explain_tree(prediction: Any, reference: Any, rules: Protocol, fields: Fields | None = None) -> Explanation:
    """Explain the score of one pair of trees."""
    tree = ExplainedTree(prediction, reference, rules, fields)
    return Explanation(
        score=tree.score,
        length=in_unit(tree.length, tree.scale),
        closest_reference=tree.closest_reference(),
        key_scores=tree.key_scores(),
        matches=tree.matches(),
        signature=signature(rules, n=1, fields=fields) if fields else signature_of_one(rules),
    )


class ExplainedTree:
    """The score of a pair of trees, and its explanation, of which callers with many documents take what they need."""

    def __init__(self, prediction: Any, reference: Any, rules: Protocol, fields: Fields | None = None) -> None:
        self.pairs = compare_trees(prediction, reference, rules, explained=True, fields=fields)
        self.scale = fields.scale if fields and field_rules(fields, rules) else 1  # of the lengths of the pairs
        credit = count_credit(self.pairs)
        self.score, self.length = exact_score(*credit), credit[0]
        self.inside: list[list[int]] = [[] for _ in self.pairs]  # by pair, the indexes of those directly inside it
        for index, pair in enumerate(self.pairs[1:], start=1):
            self.inside[pair.parent].append(index)

    def closest_reference(self) -> Any:
        """Build the reference that comes closest to the prediction, from the leaves up."""
        pairs = self.pairs
        closest: list[Any] = [None] * len(pairs)
        for index in range(len(pairs) - 1, -1, -1):
            pair, inside = pairs[index], self.inside[index]
            g, p = pair.g, pair.p
            if g is None:
                continue
            if pair.why is not None:
                in_dict = bool(index) and cast(Node, pairs[pair.parent].g).kind == DICT
                if p is None:
                    closest[index] = _without_options(g).source if in_dict else g.source
                else:
                    closest[index] = p.source if g.kind == NONE and not pair.why else g.source
            elif g.kind == ONE_OF:
                closest[index] = closest[inside[0]]
            elif g.kind in (LIST, KEPT):
                matched = sorted((number for number in inside if pairs[number].p), key=lambda own: pairs[own].at_p)
                unmatched = [number for number in inside if not pairs[number].p]
                closest[index] = [closest[number] for number in matched + unmatched if pairs[number].g]
            else:
                content = _closest_dict([(pairs[number], closest[number]) for number in inside])
                # It is a reference and must not be read as alternatives.
                is_special = "$one_of" in content or "$literal" in content
                closest[index] = {"$literal": content} if is_special else content
        return closest[0]

    def key_scores(self) -> dict[str, ScoreNode]:
        """Compute the mean of s / l over the occurrences of each key path."""
        pairs = self.pairs
        values: list[Value] = [(_credit(pair), pair.length) for pair in pairs]
        for index in range(len(pairs) - 1, -1, -1):
            if pairs[index].why is None:
                inside = [values[number] for number in self.inside[index]]
                values[index] = math.fsum(s for s, _ in inside), sum(length for _, length in inside)
        top: dict[str, ScoreNode] = {}
        below: list[dict[str, ScoreNode]] = [top] * len(pairs)  # by pair, the keys below it
        ratios: dict[int, tuple[ScoreNode, list[float]]] = {}
        for index, pair in enumerate(pairs[1:], start=1):
            below[index] = below[pair.parent]
            parent = pairs[pair.parent].g
            is_invented_none = pair.g is None and pair.p is not None and pair.p.like_none
            if parent is not None and parent.kind == DICT and not is_invented_none:
                node = below[pair.parent].setdefault(pair.at_p if pair.g is None else pair.at_g, ScoreNode())
                ratios.setdefault(id(node), (node, []))[1].append(ratio_of(values[index]))
                below[index] = node.children
        for node, of_key in ratios.values():
            node.anls_score = math.fsum(of_key) / len(of_key)
        return top

    def matches(self) -> list[Match]:
        """List one row for each compared leaf."""
        paths = [("$", "$")]
        rows: list[Match] = []
        for index, pair in enumerate(self.pairs):
            if index:
                parent = self.pairs[pair.parent]
                g_path, p_path = paths[pair.parent]
                if pair.at_g is not None:
                    g_path += _path_into(cast(Node, parent.g), pair.at_g, of_reference=True)
                if pair.at_p is not None:
                    p_path += _path_into(cast(Node, parent.p), pair.at_p, of_reference=False)
                paths.append((g_path, g_path if p_path == g_path else p_path))
            if pair.why is not None:
                rows += _rows(pair, *paths[index], self.scale)
        return rows


def _closest_dict(items: list[tuple[ComparedPair, Any]]) -> dict[Any, Any]:
    """Build a closest dict; keys of only one side are in it unless they are None-like."""
    content: dict[Any, Any] = {}
    for pair, value in items:
        is_empty = not value if isinstance(value, (str, list, dict)) else is_missing_value(value)
        if pair.g is None and pair.p is not None and not pair.p.like_none:
            content[pair.at_p] = None
        elif pair.g is not None and not (pair.p is None and is_empty):
            content[pair.at_g] = value
    return content


def _without_options(node: Node) -> Node:
    """Return the alternative with which a missing key is scored."""
    while node.kind == ONE_OF:
        node = node.value[best_of([option.missing for option in node.value])]
    return node


def _credit(pair: ComparedPair) -> float:
    return 0.0 if pair.why or not pair.length else (1 - pair.distance / pair.longest) * pair.length


def in_unit(length: int, scale: int) -> int | float:
    """Return a sum of weights as the fields have them, given what they were multiplied by."""
    return length // scale if length % scale == 0 else length / scale


def _rows(pair: ComparedPair, g_path: str, p_path: str, scale: int) -> list[Match]:
    """Return the row of a pair, or one for each leaf of a node without a partner."""
    credit = _credit(pair) / scale
    if pair.g and pair.p:
        is_compared = pair.g.kind == pair.p.kind == LEAF
        has_edits = is_compared and not (pair.g.rule and pair.g.rule.comparator)
        return [
            Match(
                reference_path=g_path,
                prediction_path=p_path,
                reference=_given_text(pair.g),
                prediction=_given_text(pair.p),
                distance=pair.distance if has_edits else None,
                length=pair.longest if has_edits else None,
                similarity=1 - pair.distance / pair.longest if is_compared else None,
                reason=cast(str, pair.why),
                weight=in_unit(pair.length, scale),
                credit=credit,
                compared_as=_comparison(pair.g, pair.p),
            )
        ]
    node, path = (pair.g, g_path) if pair.g else (cast(Node, pair.p), p_path)
    leaves = _leaves(node, path, pair.length, of_reference=pair.p is None)
    if pair.why == "" or not leaves or sum([leaf.size for _, leaf in leaves]) != pair.length:
        leaves = [(path, node)]
    return [
        Match(
            reference_path=path if pair.g else None,
            prediction_path=None if pair.g else path,
            reference=_given_text(leaf) if pair.g else None,
            prediction=None if pair.g else _given_text(leaf),
            distance=None,
            length=None,
            similarity=None,
            reason=cast(str, pair.why),
            weight=in_unit(pair.length if len(leaves) == 1 else leaf.size, scale),
            credit=credit,
            compared_as=_comparison(leaf if pair.g else None, None if pair.g else leaf),
        )
        for path, leaf in leaves
    ]


def _comparison(g: Node | None, p: Node | None) -> FieldComparison | None:
    """Return how two leaves were compared, with fields."""
    rule = g.rule if g else p.rule if p else None
    if rule is None:
        return None
    comparator = rule.comparator
    if comparator is None:
        return FieldComparison(comparator="text", reference=None, prediction=None, tolerance=None)
    parsed = [None if node is None or node.kind != LEAF or node.value is None else node.value for node in (g, p)]
    reference, prediction = (None if value is None else comparator.words(value) for value in parsed)
    return FieldComparison(comparator.name, reference, prediction, _tolerance_words(comparator))


def _tolerance_words(comparator: Comparator) -> str | None:
    """Return the tolerance of numbers in words."""
    if not isinstance(comparator, NumberComparator) or not (comparator.absolute or comparator.relative):
        return None
    absolute = exact_text(comparator.absolute) if comparator.absolute else ""
    relative = f"{exact_text(comparator.relative * 100)} %" if comparator.relative else ""
    return " or ".join(filter(None, (absolute, relative)))


def _leaves(node: Node, path: str, size: int, of_reference: bool) -> list[tuple[str, Node]]:
    """List the leaves of a node without a partner; of alternatives, take the one with the size that was counted."""
    leaves = []
    stack = [(node, path, size)]
    while stack:
        node, path, size = stack.pop()
        if node.kind == ONE_OF:
            sizes = [option.size for option in node.value]
            chosen = sizes.index(size) if size in sizes else sizes.index(max(sizes))
            into = _path_into(node, position_of(node, chosen), of_reference)
            stack.append((node.value[chosen], path + into, sizes[chosen]))
        elif node.kind <= LEAF:
            leaves.append((path, node))
        else:
            children = list(node.value.items() if node.kind != LIST else enumerate(node.value))
            if node.positions is not None:
                children = sorted(((node.positions[index], child) for index, child in children), key=lambda own: own[0])
            stack += [(child, path + _path_into(node, key, of_reference), child.size) for key, child in children[::-1]]
    return leaves


def _path_into(node: Node, key: str | int, of_reference: bool) -> str:
    """Return the path from a node to its child, as the node was written."""
    if node.kind == ONE_OF and isinstance(node.source, list):
        return path_part(key, LIST)
    is_literal = of_reference and node.kind == DICT and is_literal_dict(node.source)
    return (path_part("$literal", DICT) if is_literal else "") + path_part(key, node.kind)


def _given_text(node: Node) -> str | None:
    if node.kind == NONE:
        return node.source if isinstance(node.source, str) else None  # with fields, a blank text counts as None
    if node.kind == LEAF:
        return str(plain_value(node.source))
    return reprlib.repr(node.source)
