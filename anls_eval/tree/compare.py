"""ANLS*: the comparison of two trees, each pair of nodes once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from rapidfuzz.distance import Levenshtein

from anls_eval.fields.rules import FieldRules
from anls_eval.rules.protocol import Protocol
from anls_eval.text.similarity import edit_costs, kept_similarity
from anls_eval.tree.leaves import similarities_of_leaves
from anls_eval.tree.matching import (
    MATRIX_CELLS,
    MAX_PAIRS,
    assign,
    best_way,
    match_allowed,
    match_lists,
    total_of,
    ways_to_match,
)
from anls_eval.tree.nodes import DICT, KEPT, KINDS_OF_NODES, LEAF, LIST, NONE, ONE_OF, Node
from anls_eval.tree.ratios import TIE, Matrix, Value, best_of, best_of_each, ratios_of
from anls_eval.tree.recursion import Computation, run_computation

_FEW_PAIRS = 16  # of list elements: up to this many, comparing one by one is faster than by matrices


def _bulk(node: Node) -> int:
    """Count the leaves outside the largest child: few in lists that only nest, many in lists of similar children."""
    return node.size - max([child.size for child in node.value], default=0)


class Comparison:
    """Compares two trees, each pair of nodes once, and remembers how lists and alternatives were matched."""

    # ANLS*(g, p) = s(g, p) / l(g, p), with s and l as in Peer et al., arXiv:2402.03848, equations 3 to 6, except for
    # the division of s by the number of keys and of matches, which neither the paper's examples nor the released code
    # have. Two lists are matched to maximise the sum of the ratios s / l. Matchings that tie can have different scores:
    # the one with the maximum s / l of the whole list is chosen, then the maximum s, then the minimum l, so that the
    # order of the elements does not matter.

    def __init__(self, rules: Protocol, prefer_equal: bool, unit: int = 1) -> None:
        self.rules = rules
        self.unit = unit  # the greatest weight of a leaf: sums of s that differ by a tiny part of it are equal
        self.prefer_equal = (
            prefer_equal  # among matchings of the same value, match elements that were equal before normalisation
        )
        self.ways: dict[tuple[int, int], Any] = {}  # what `way` returns, by the ids of two nodes
        # For whole blocks, by the id of g: the columns of predictions by their id, the index of each way, and the ways.
        self.blocks: dict[int, list[tuple[dict[int, int], Matrix, Sequence[Any]]]] = {}
        self.distances: dict[tuple[str, str], int] = {}
        self.similarities: dict[tuple[str, str], float] = {}  # of leaves, as `simple` needs them again and again

    # One pair of nodes.

    def distance(self, g: Node, p: Node) -> int:
        """Return the distance of two leaves, computed once for each pair of texts."""
        pair = g.value, p.value
        if pair not in self.distances:
            self.distances[pair] = Levenshtein.distance(*pair, weights=edit_costs(self.rules))
        return self.distances[pair]

    def simple(self, g: Node, p: Node) -> Value | None:
        """Return the value of a pair that does not depend on other pairs, or None if it does."""
        if g.kind == LEAF and p.kind == LEAF:
            if g.rule and g.rule.comparator:
                return g.rule.comparator.similarity(p.value, g.value) * g.size, g.size
            pair = g.value, p.value
            s = self.similarities.get(pair)
            if s is None:
                distance = 0 if g.value == p.value else self.distance(g, p)
                longest = max(len(g.value), len(p.value))
                s = self.similarities[pair] = float(kept_similarity(distance, longest, self.rules))
            return s * g.size, g.size
        if g.kind == NONE:
            return float(p.like_none) * g.size, p.size or g.size
        if g.kind == ONE_OF or g.kind == p.kind:
            return None
        return 0.0, length_of_mismatch(g, p)

    def pair(self, g: Node, p: Node) -> Computation:
        """Compute the value of a pair."""
        simple = self.simple(g, p)
        if simple:
            return simple
        if g.kind == ONE_OF:
            values = []
            for option in g.value:
                values.append(self.simple(option, p) or (yield self.pair(option, p)))
            equal = [option.identity == p.identity for option in g.value] if self.prefer_equal else None
            best = best_of(values, equal, self.unit)
            self.ways[id(g), id(p)] = best
            return values[best]
        if g.kind != LIST:
            s, length = 0.0, 0
            for key in sorted(g.value):  # a sum in another order could differ in its last bit
                child, other = g.value[key], p.value.get(key)
                value = child.missing if other is None else self.simple(child, other) or (yield self.pair(child, other))
                s, length = s + value[0], length + value[1]
            return s, length + sum(child.missing[1] for key, child in p.value.items() if key not in g.value)
        if g.rule and g.rule.key:
            return (yield self.pair_by_key(g, p))
        is_large = g.size * p.size > _FEW_PAIRS**2 and _bulk(g) * _bulk(p) > _FEW_PAIRS**2
        if is_large or len(g.value) * len(p.value) > _FEW_PAIRS:
            matrices = yield self.pairs(g.value, p.value)
            return self.match(g, p, *matrices)
        rows: list[list[Value]] = []
        for child in g.value:
            rows.append([])
            for other in p.value:
                rows[-1].append(self.simple(child, other) or (yield self.pair(child, other)))
        return self.match_few(g, p, rows)

    def pair_by_key(self, g: Node, p: Node) -> Computation:
        """Compute the value of two lists whose elements belong together by key."""
        levels = [g.value]  # the elements, then their alternatives, and so on down
        while any(node.kind == ONE_OF for node in levels[-1]):
            levels.append([own for node in levels[-1] for own in (node.value if node.kind == ONE_OF else [node])])
        s, lengths = yield self.pairs(levels[-1], p.value)
        allowed = yield self.pairs_with_equal_keys(levels[-1], p.value, cast(FieldRules, g.rule).key)
        for nodes in reversed(levels[:-1]):
            s, lengths, allowed = self.closest_options(nodes, p.value, s, lengths, allowed)
        rows, columns = np.array([node.size for node in g.value]), np.array([node.size for node in p.value])
        equal = _equal_identities(g.value, p.value) if self.prefer_equal else None
        matched = self.ways[id(g), id(p)] = match_allowed(s, lengths, rows, columns, allowed, equal, self.unit)
        return _total(g, p, [(i, j, float(s[i, j]), int(lengths[i, j])) for i, j in matched])

    def pairs_with_equal_keys(self, g: list[Node], p: list[Node], names: tuple[str, ...]) -> Computation:
        """Return which nodes may match: dicts with all key fields if these are equal, and any others."""
        rows, columns = (
            [index for index, node in enumerate(nodes) if node.kind == DICT and node.value.keys() >= set(names)]
            for nodes in (g, p)
        )
        allowed = np.ones((len(g), len(p)), dtype=bool)
        allowed[rows], allowed[:, columns] = False, False
        if not rows or not columns:
            return allowed
        are_equal = np.ones((len(rows), len(columns)), dtype=bool)
        for name in names:
            keys = [g[i].value[name] for i in rows], [p[j].value[name] for j in columns]
            s, lengths = yield self.pairs(*keys)
            are_equal &= (s == lengths) & (lengths > 0)
        allowed[np.ix_(rows, columns)] = are_equal
        return allowed

    # All pairs of two lists of nodes, as matrices of s and l.

    def pairs(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare all nodes of one list with all of another."""
        if not g or not p:
            return np.zeros((len(g), len(p))), np.zeros((len(g), len(p)), dtype=np.int64)
        if len(g) * len(p) > MAX_PAIRS:
            raise ValueError(
                f"a list of {len(g):,} and one of {len(p):,} values have more than {MAX_PAIRS:,} pairs, which is the "
                "limit: score parts of them"
            )
        ways = {LEAF: self.pairs_of_leaves, LIST: self.pairs_of_lists, DICT: self.pairs_of_dicts}
        ways[KEPT] = self.pairs_of_dicts
        kinds = {node.kind for node in g} | {node.kind for node in p}
        if len(kinds) == 1 and kinds <= ways.keys():
            return (yield ways[kinds.pop()](g, p))
        of_g = {kind: [i for i, node in enumerate(g) if node.kind == kind] for kind in KINDS_OF_NODES}
        of_p = {kind: [j for j, node in enumerate(p) if node.kind == kind] for kind in KINDS_OF_NODES}
        s = np.zeros((len(g), len(p)))
        sizes, other_sizes = np.array([node.size for node in g]), np.array([node.size for node in p])
        lengths = np.maximum.outer(sizes, other_sizes)
        for kind, compare in ways.items():
            rows, columns = of_g[kind], of_p[kind]
            if rows and columns:
                cells = np.ix_(rows, columns)
                s[cells], lengths[cells] = yield compare([g[i] for i in rows], [p[j] for j in columns])
        rows, columns = of_g[NONE], of_p[NONE]
        lengths[:, columns] = np.where(sizes[:, None], sizes[:, None], other_sizes[columns])
        if rows:
            s[rows] = np.outer(sizes[rows], [float(node.like_none) for node in p])
            lengths[rows] = np.where(other_sizes, other_sizes, sizes[rows, None])
        if of_g[ONE_OF]:
            rows = of_g[ONE_OF]
            s[rows], lengths[rows] = yield self.pairs_of_options([g[i] for i in rows], p)
        return s, lengths

    def pairs_of_leaves(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare leaves with leaves in one batch."""
        rule = g[0].rule  # the same for all of them
        if rule and rule.comparator:
            s = rule.comparator.matrix([node.value for node in g], [node.value for node in p]) * rule.weight
            return s, np.broadcast_to(np.int64(rule.weight), s.shape)
        s = similarities_of_leaves([node.value for node in g], [node.value for node in p], self.rules)
        weight = g[0].size
        return s if weight == 1 else s * weight, np.broadcast_to(np.int64(weight), s.shape)
        yield  # a computation that waits for nothing

    def pairs_of_dicts(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare dicts with dicts, key by key for all of them."""
        of_g, of_p = _by_key(g), _by_key(p)
        shared = of_g.keys() & of_p.keys()
        everywhere = {key for key in shared if len(of_g[key][0]) == len(g) and len(of_p[key][0]) == len(p)}
        # First as if only keys that are everywhere had a partner; then corrected wherever two dicts share a key.
        alone = [[child.missing for key, child in node.value.items() if key not in everywhere] for node in (*g, *p)]
        alone_s = np.array([sum(s for s, _ in values) for values in alone[: len(g)]])
        sizes = np.array([sum(length for _, length in values) for values in alone], dtype=np.int64)
        s = np.repeat(alone_s[:, None].astype(np.float64), len(p), axis=1)
        lengths = np.add.outer(sizes[: len(g)], sizes[len(g) :])
        for key in sorted(shared):
            (rows, children), (columns, others) = of_g[key], of_p[key]
            key_s, key_lengths = yield self.pairs(children, others)
            if key in everywhere:
                s += key_s
                lengths += key_lengths
                continue
            cells = _cells(rows, columns, s.shape)
            s[cells] += key_s - np.array([[child.missing[0]] for child in children])
            missing = [child.missing[1] for child in children], [other.missing[1] for other in others]
            lengths[cells] += key_lengths - np.add.outer(*missing)
        return s, lengths

    def pairs_of_lists(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare lists with lists."""
        s = np.zeros((len(g), len(p)))
        lengths = np.zeros(s.shape, dtype=np.int64)
        if g[0].rule and g[0].rule.key:
            for (i, node), (j, other) in itertools.product(enumerate(g), enumerate(p)):
                s[i, j], lengths[i, j] = yield self.pair_by_key(node, other)
            return s, lengths
        columns = [child for node in p for child in node.value]
        start = 0
        while start < len(g):  # as many lists at once as the matrix may have rows
            end = start
            rows: list[Node] = []
            while end < len(g) and (end == start or len(rows) * len(columns) < MATRIX_CELLS):
                rows += g[end].value
                end += 1
            matrices = yield self.pairs(rows, columns)
            s[start:end], lengths[start:end] = self.match_all(g[start:end], p, *matrices)
            start = end
        return s, lengths

    def pairs_of_options(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare alternatives with nodes: the closest alternative counts."""
        options = [option for node in g for option in node.value]
        all_s, all_lengths = yield self.pairs(options, p)
        return self.closest_options(g, p, all_s, all_lengths, np.ones(all_s.shape, dtype=bool))[:2]

    def closest_options(
        self, g: list[Node], p: list[Node], all_s: Matrix, all_lengths: Matrix, all_allowed: Matrix
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Choose the closest alternative that is allowed for each pair, given all; other nodes have one row."""
        columns = {id(node): j for j, node in enumerate(p)}
        chosen, end = [], 0
        for node in g:
            start, end = end, end + (len(node.value) if node.kind == ONE_OF else 1)
            if node.kind != ONE_OF:
                chosen.append(np.full(len(p), start))
                continue
            equal = _equal_identities(node.value, p) if self.prefer_equal else None
            values = all_s[start:end], all_lengths[start:end], all_allowed[start:end]
            best = best_of_each(*values, equal, self.unit)
            self.blocks.setdefault(id(node), []).append((columns, best, range(len(node.value))))
            chosen.append(start + best)
        cells = np.array(chosen), np.arange(len(p))
        return all_s[cells], all_lengths[cells], all_allowed[cells]

    # The matching of two lists, and the choice among alternatives.

    def way(self, g: Node, p: Node) -> Any:
        """Return the index of the chosen alternative, or the pairs of indexes of the matched elements."""
        by_key = g.kind == LIST and g.rule is not None and bool(g.rule.key)
        ways = range(len(g.value)) if g.kind == ONE_OF else ways_to_match(len(g.value), len(p.value))
        if len(ways) == 1 and not by_key:
            return ways[0]
        for columns, chosen, ways in self.blocks.get(id(g), []):
            if id(p) in columns:
                return ways[chosen[columns[id(p)]]]
        if (id(g), id(p)) not in self.ways:
            run_computation(self.pair(g, p))
        return self.ways[id(g), id(p)]

    def match_few(self, g: Node, p: Node, values: list[list[Value]]) -> Value:
        """Match two lists, given the values of all pairs in rows; remember the matching and return its value."""
        ways = ways_to_match(len(g.value), len(p.value))
        if not ways:
            cells = np.array(values)
            return self.match(g, p, cells[:, :, 0], cells[:, :, 1].astype(np.int64))
        identities = None
        if self.prefer_equal:
            identities = [node.identity for node in g.value], [node.identity for node in p.value]
        sizes = [node.size for node in g.value], [node.size for node in p.value]
        self.ways[id(g), id(p)], value = best_way(ways, values, *sizes, identities, self.unit)
        return value

    def match(self, g: Node, p: Node, s: Matrix, lengths: Matrix) -> Value:
        """Match two lists, given the values of all pairs in matrices; remember the matching and return its value."""
        if ways_to_match(len(g.value), len(p.value)):
            values = zip(s.tolist(), lengths.tolist(), strict=True)
            return self.match_few(g, p, [list(zip(*row, strict=True)) for row in values])
        rows, columns = np.array([node.size for node in g.value]), np.array([node.size for node in p.value])
        equal = _equal_identities(g.value, p.value) if self.prefer_equal else None
        matched = self.ways[id(g), id(p)] = match_lists(s, lengths, rows, columns, equal, unit=self.unit)
        return _total(g, p, [(i, j, float(s[i, j]), int(lengths[i, j])) for i, j in matched])

    def match_all(self, g: list[Node], p: list[Node], s: Matrix, lengths: Matrix) -> tuple[Matrix, Matrix]:
        """Match each list of g with each of p, given the values of all pairs of their elements."""
        found_s, found_lengths = np.empty((len(g), len(p))), np.empty((len(g), len(p)), dtype=np.int64)
        leaves_only = all(child.kind == LEAF for node in (*g, *p) for child in node.value)
        for (of_g, rows), (of_p, columns) in itertools.product(_by_length(g), _by_length(p)):
            ways = ways_to_match(rows.shape[1], columns.shape[1])
            if ways and len(of_g) * len(of_p) > _FEW_PAIRS:
                cells = rows[:, :, None, None], columns
                lists = [g[i] for i in of_g], [p[j] for j in of_p]
                found = self.match_same_length(*lists, s[cells], lengths[cells], ways)
                found_s[np.ix_(of_g, of_p)], found_lengths[np.ix_(of_g, of_p)] = found
                continue
            for (a, i), (b, j) in itertools.product(enumerate(of_g), enumerate(of_p)):
                cells = np.ix_(rows[a], columns[b])
                if leaves_only and not ways:  # one length; `way` finds the best way again if it is needed
                    best = assign(s[cells])
                    found_s[i, j] = math.fsum(s[cells][best].tolist())
                    found_lengths[i, j] = max(g[i].size, p[j].size)
                else:
                    found_s[i, j], found_lengths[i, j] = self.match(g[i], p[j], s[cells], lengths[cells])
        return found_s, found_lengths

    def match_same_length(
        self, g: list[Node], p: list[Node], s: Matrix, lengths: Matrix, ways: Sequence[Any]
    ) -> tuple[Matrix, Matrix]:
        """Match lists of one length on each side; the axes are lists and elements of g, then of p."""

        def sums(cells: Matrix) -> Matrix:
            return np.array([sum((cells[:, i, :, j] for i, j in way), np.zeros((len(g), len(p)))) for way in ways])

        rows, columns = [child for node in g for child in node.value], [child for node in p for child in node.value]
        without_partner = np.add.outer([child.size for child in rows], [child.size for child in columns])
        all_s, all_lengths = sums(s), sums(lengths - without_partner.reshape(s.shape))
        all_lengths += np.add.outer([node.size for node in g], [node.size for node in p])
        ratios = sums(ratios_of(s, lengths))
        equal = sums(_equal_identities(rows, columns).reshape(s.shape)) if self.prefer_equal else None
        best = best_of_each(all_s, all_lengths, ratios >= ratios.max(axis=0) - TIE, equal, self.unit)
        columns_of_p = {id(node): j for j, node in enumerate(p)}
        for node, chosen in zip(g, best, strict=True):
            self.blocks.setdefault(id(node), []).append((columns_of_p, chosen, ways))
        found = (np.take_along_axis(matrix, best[None], axis=0)[0] for matrix in (all_s, all_lengths))
        return next(found), next(found)


def length_of_mismatch(g: Node, p: Node) -> int:
    """Return the length of two nodes of different kinds."""
    return (g.size or p.size) if p.kind == NONE else max(g.size, p.size)


def _total(g: Node, p: Node, matched: list[tuple[int, int, float, int]]) -> Value:
    """Sum up the value of two lists from the indexes and values of their matched pairs."""
    return total_of(matched, [node.size for node in g.value], [node.size for node in p.value])


def _by_key(nodes: list[Node]) -> dict[str, tuple[list[int], list[Node]]]:
    """Return for each key the indexes of the dicts that have it, and their values."""
    found: dict[str, tuple[list[int], list[Node]]] = {}
    for index, node in enumerate(nodes):
        for key, child in node.value.items():
            indexes, children = found.setdefault(key, ([], []))
            indexes.append(index)
            children.append(child)
    return found


def _cells(rows: list[int], columns: list[int], shape: tuple[int, ...]) -> Any:
    """Index these rows and columns of a matrix; NumPy is faster if one of them is a slice of all."""
    if len(rows) == shape[0]:
        return slice(None), columns
    return (rows, slice(None)) if len(columns) == shape[1] else np.ix_(rows, columns)


def _by_length(nodes: list[Node]) -> list[tuple[list[int], Matrix]]:
    """Group lists by length: their indexes, and in rows the indexes of their elements among those of all lists."""
    lengths = np.array([len(node.value) for node in nodes])
    starts = np.cumsum(lengths) - lengths
    groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    return [(group.tolist(), np.add.outer(starts[group], np.arange(lengths[group[0]]))) for group in groups]


def _equal_identities(g: list[Node], p: list[Node]) -> Matrix:
    return np.equal.outer([node.identity for node in g], [node.identity for node in p])
