"""Lists of texts, or of dicts of texts such as the items of an invoice, matched without nodes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import normaliser
from anls_eval.text.similarity import compare_leaves
from anls_eval.tree.credit import Credit
from anls_eval.tree.leaves import similarities_of_leaves
from anls_eval.tree.matching import MATRIX_CELLS, best_way, match_lists, ways_to_match
from anls_eval.tree.nodes import MARKERS, SCALARS
from anls_eval.tree.ratios import Matrix, Value

ComparedLeaf = tuple[int, int, bool]  # two leaves, compared: distance, length, and whether it counts

Row = dict[str, str]  # a dict of texts, after their steps


def credit_of_plain_lists(g: list[Any], p: list[Any], rules: Protocol) -> Credit | None:
    """Return the credit of two lists of texts, or of dicts of texts; None for any other lists."""
    # The values and the matching are those of `Comparison`, to the last bit.
    if not g or not p or len(g) * len(p) > MATRIX_CELLS:
        return None
    if _are_scalars(g) and _are_scalars(p):
        return _credit_of_texts(g, p, rules)
    return _credit_of_dicts(g, p, rules) if _are_plain_dicts(g) and _are_plain_dicts(p) else None


def _are_scalars(values: Collection[Any]) -> bool:
    """Return whether all values are leaves with a text; NaN is not."""
    kinds = set(map(type, values))
    return kinds <= SCALARS and (float not in kinds or all(value == value for value in values))


def _are_plain_dicts(elements: list[Any]) -> bool:
    """Return whether all elements are dicts of leaves with a text."""
    return operator.countOf(map(type, elements), dict) == len(elements) and all(
        operator.countOf(map(type, own), str) == len(own) and _are_scalars(own.values()) and MARKERS.isdisjoint(own)
        for own in elements
    )


def _credit_of_texts(g: list[Any], p: list[Any], rules: Protocol) -> Credit:
    """Return the credit of two lists of texts."""
    texts = list(map(normaliser(rules.answer_steps), map(str, g)))
    others = list(map(normaliser(rules.prediction_steps), map(str, p)))
    ways, length = ways_to_match(len(texts), len(others)), max(len(texts), len(others))
    if ways:  # at most 24 pairs, which take less one by one than as a matrix
        # All matchings have one length, so that the maximum sum is the best by the rule of `best_way`.
        leaves = [[compare_leaves(text, other, rules) for other in others] for text in texts]
        s = [[1 - distance / longest if is_kept else 0.0 for distance, longest, is_kept in row] for row in leaves]
        best = max(ways, key=lambda way: math.fsum([s[i][j] for i, j in way]))
        return credit_of_leaves(length, [leaves[i][j] for i, j in best])
    similarities = similarities_of_leaves(texts, others, rules)
    sizes = np.ones(len(texts), np.int64), np.ones(len(others), np.int64)
    matched = match_lists(similarities, np.broadcast_to(np.int64(1), similarities.shape), *sizes)
    return credit_of_leaves(length, _compared([(texts[i], others[j]) for i, j in matched], {}, rules))


def _credit_of_dicts(g: list[dict[str, Any]], p: list[dict[str, Any]], rules: Protocol) -> Credit:
    """Return the credit of two lists of dicts of texts."""
    rows, columns = _as_rows(g, rules.answer_steps), _as_rows(p, rules.prediction_steps)
    sizes, other_sizes = list(map(len, rows)), list(map(len, columns))
    keys, known = sorted(set().union(*rows)), dict[tuple[str, str], ComparedLeaf]()
    ways: Sequence[Any] = ways_to_match(len(rows), len(columns))
    if len(ways) == 1:
        matched = ways[0]
    elif ways:
        matched, _ = best_way(ways, _values_of_few(rows, columns, keys, known, rules), sizes, other_sizes)
    else:
        matched = match_lists(*_values(rows, columns, keys, rules), np.array(sizes), np.array(other_sizes))
    pairs = [(text, columns[j][key]) for i, j in matched for key, text in rows[i].items() if key in columns[j]]
    return credit_of_leaves(sum(sizes) + sum(other_sizes) - len(pairs), _compared(pairs, known, rules))


def _as_rows(elements: list[dict[str, Any]], steps: tuple[str, ...]) -> list[Row]:
    normalise = normaliser(steps)
    return [{key: normalise(str(value)) for key, value in own.items()} for own in elements]


def _compared(
    pairs: list[tuple[str, str]], known: dict[tuple[str, str], ComparedLeaf], rules: Protocol
) -> list[ComparedLeaf]:
    """Compare the leaves that are not known, each once."""
    known |= {pair: compare_leaves(*pair, rules) for pair in dict.fromkeys(pairs) if pair not in known}
    return list(map(known.__getitem__, pairs))


def credit_of_leaves(length: int, leaves: list[ComparedLeaf]) -> Credit:
    """Return the credit of a part of this length whose matched leaves were compared."""
    kept = [(longest - distance, longest) for distance, longest, is_kept in leaves if is_kept]
    partial = [credit for credit in kept if credit[0] < credit[1]]
    return length, len(kept) - len(partial), partial


def _values_of_few(
    rows: list[Row], columns: list[Row], keys: list[str], known: dict[tuple[str, str], ComparedLeaf], rules: Protocol
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
    if all(own.keys() == rows[0].keys() for own in (*rows, *columns)):  # the usual case, without more matrices
        of_keys = (
            similarities_of_leaves([own[key] for own in rows], [own[key] for own in columns], rules) for key in keys
        )
        s = functools.reduce(np.add, of_keys)
        return s, np.broadcast_to(np.int64(len(keys)), s.shape)
    lengths = np.add.outer(list(map(len, rows)), list(map(len, columns)))
    s = np.zeros(lengths.shape)
    for key in keys:
        of_g, of_p = [i for i, row in enumerate(rows) if key in row], [j for j, row in enumerate(columns) if key in row]
        if of_g and of_p:
            cells = np.ix_(of_g, of_p)
            s[cells] += similarities_of_leaves([rows[i][key] for i in of_g], [columns[j][key] for j in of_p], rules)
            lengths[cells] -= 1
    return s, lengths
