"""Lists of texts, or of dicts of texts such as the items of an invoice, matched without nodes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import normaliser
from anls_eval.text.similarity import compare_leaves
from anls_eval.tree.credit import Credit
from anls_eval.tree.leaves import similarities_of_leaves
from anls_eval.tree.matching import MATRIX_CELLS, Way, best_way, match_lists, ways_to_match
from anls_eval.tree.nodes import MARKERS, SCALARS
from anls_eval.tree.ratios import Matrix, Value

Leaf = tuple[int, int, bool]  # two leaves, compared: distance, length, and whether it counts

Row = dict[str, str]  # an element of a list: its texts by key, after their steps; a text of its own has the key ""


def credit_of_plain_lists(g: list[Any], p: list[Any], rules: Protocol) -> Credit | None:
    """Return the credit of two lists of texts, or of dicts of texts; None for any other lists."""
    # The values and the matching are those of `Comparison`, to the last bit.
    if not g or not p or (type(g[0]) is dict) != (type(p[0]) is dict) or len(g) * len(p) > MATRIX_CELLS:
        return None
    if not (_are_plain(g) and _are_plain(p)):
        return None
    ways = ways_to_match(len(g), len(p))
    if ways and type(g[0]) is not dict:
        return _credit_of_few_texts(g, p, ways, rules)
    rows, columns = _as_rows(g, rules.answer_steps), _as_rows(p, rules.prediction_steps)
    sizes, other_sizes = list(map(len, rows)), list(map(len, columns))
    keys, known = sorted(set().union(*rows)), dict[tuple[str, str], Leaf]()
    if len(ways) == 1:
        matched: Any = ways[0]
    elif ways:  # there are at most 24 pairs: leaf by leaf takes less than by matrices, up to about 30 pairs
        matched, _ = best_way(ways, _values_of_few(rows, columns, keys, rules, known), sizes, other_sizes)
    else:
        matched = match_lists(*_values(rows, columns, keys, rules), np.array(sizes), np.array(other_sizes))
    pairs = [(text, columns[j][key]) for i, j in matched for key, text in rows[i].items() if key in columns[j]]
    leaves = [known.get(pair) or compare_leaves(*pair, rules) for pair in pairs]
    return _credit(sum(sizes) + sum(other_sizes) - len(leaves), leaves)


def _credit_of_few_texts(g: list[Any], p: list[Any], ways: Sequence[Way], rules: Protocol) -> Credit:
    """Return the credit of two lists of texts, whose matchings all have one length: the maximum sum is the best."""
    texts = map(normaliser(rules.answer_steps), map(str, g))
    others = list(map(normaliser(rules.prediction_steps), map(str, p)))
    leaves = [[compare_leaves(text, other, rules) for other in others] for text in texts]
    s = [[1 - distance / longest if is_kept else 0.0 for distance, longest, is_kept in row] for row in leaves]
    best = max(ways, key=lambda way: math.fsum([s[i][j] for i, j in way]))
    return _credit(max(len(g), len(p)), [leaves[i][j] for i, j in best])


def _credit(length: int, leaves: list[Leaf]) -> Credit:
    """Return the credit of a list of this length whose matched leaves were compared."""
    kept = [(longest - distance, longest) for distance, longest, is_kept in leaves if is_kept]
    partial = [credit for credit in kept if credit[0] < credit[1]]
    return length, len(kept) - len(partial), partial


def _are_plain(elements: list[Any]) -> bool:
    """Return whether the elements of a list are all texts, or all dicts of texts, or else numbers and booleans."""
    if type(elements[0]) is not dict:
        return _are_scalars(elements)
    return operator.countOf(map(type, elements), dict) == len(elements) and all(
        operator.countOf(map(type, own), str) == len(own) and _are_scalars(own.values()) and MARKERS.isdisjoint(own)
        for own in elements
    )


def _are_scalars(values: Any) -> bool:
    """Return whether all values are leaves with a text; NaN is not."""
    kinds = set(map(type, values))
    return kinds <= SCALARS and (float not in kinds or all(value == value for value in values))


def _as_rows(elements: list[Any], steps: tuple[str, ...]) -> list[Row]:
    """Return the elements of a list as rows."""
    normalise = normaliser(steps)
    if type(elements[0]) is dict:
        return [{key: normalise(str(value)) for key, value in own.items()} for own in elements]
    return [{"": normalise(str(value))} for value in elements]


def _values_of_few(
    rows: list[Row], columns: list[Row], keys: list[str], rules: Protocol, known: dict[tuple[str, str], Leaf]
) -> list[list[Value]]:
    """Compute the values of all pairs of rows, leaf by leaf; add the leaves to those that are known."""
    values: list[list[Value]] = []
    for row in rows:
        values.append([])
        for column in columns:
            s, length = 0.0, len(row) + len(column)
            for key in keys:
                if key in row and key in column:
                    pair = row[key], column[key]
                    leaf = known.get(pair)
                    if leaf is None:
                        leaf = known[pair] = compare_leaves(*pair, rules)
                    s += 1 - leaf[0] / leaf[1] if leaf[2] else 0.0
                    length -= 1
            values[-1].append((s, length))
    return values


def _values(rows: list[Row], columns: list[Row], keys: list[str], rules: Protocol) -> tuple[Matrix, Matrix]:
    """Compute the values of all pairs of rows, key by key."""
    s: Matrix | None = None
    lengths = np.add.outer(list(map(len, rows)), list(map(len, columns)))
    for key in keys:
        of_g, of_p = [i for i, row in enumerate(rows) if key in row], [j for j, row in enumerate(columns) if key in row]
        if not of_g or not of_p:
            continue
        found = similarities_of_leaves([rows[i][key] for i in of_g], [columns[j][key] for j in of_p], rules)
        if found.shape == lengths.shape:
            s = found if s is None else np.add(s, found, out=s)
            lengths -= 1
            continue
        s = np.zeros(lengths.shape) if s is None else s
        s[np.ix_(of_g, of_p)] += found
        lengths[np.ix_(of_g, of_p)] -= 1
    return np.zeros(lengths.shape) if s is None else s, lengths
