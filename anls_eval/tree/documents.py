"""ANLS* of many documents: a fast path for dicts, whose texts are compared in one batch."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from anls_eval.arrow import Floats, text_array
from anls_eval.inputs.values import NOT_GIVEN, is_missing_value
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import normaliser
from anls_eval.text.measure import BLOCK_ROWS
from anls_eval.text.prepare import prepare_texts
from anls_eval.text.similarity import compare_leaves, edit_costs, reaches_threshold
from anls_eval.tree.compare import Comparison
from anls_eval.tree.credit import Credit, compared_pairs, count_credit, exact_score
from anls_eval.tree.nodes import MARKERS, SCALARS, build_tree
from anls_eval.tree.plain_lists import credit_of_leaves, credit_of_plain_lists
from anls_eval.tree.ratios import Matrix
from anls_eval.tree.single import compare_trees

MAX_SIDE = 1_000_000  # values of one side in dicts: a larger document is compared alone


_FEW_TEXTS = 200  # of one document: up to so many, comparing one by one is faster than through arrays


class Documents:
    """Pairs of trees whose texts are compared in one batch, which is 6 times as fast for documents of only dicts."""

    # Values that are reached through dicts alone have their partner under the same keys and need no search. Lists,
    # alternatives and unusual values are left to `Comparison`.

    def __init__(self, rules: Protocol) -> None:
        self.rules = rules
        self.lengths: list[int] = []
        self.full: list[int] = []
        self.partial: list[tuple[int, int, int]] = []  # document and credit, a fraction, of what `Comparison` compared
        self.predictions: list[str] = []  # texts to compare in the batch
        self.references: list[str] = []
        self.ends: list[int] = []  # where the texts of each document end
        self.searched_rows: set[int] = set()  # documents with parts that were left to `Comparison`

    @functools.cached_property
    def equal_is_full(self) -> bool:
        """Whether texts that are equal as passed need no comparison."""
        return self.rules.prediction_steps == self.rules.answer_steps and bool(reaches_threshold(0, 1, self.rules))

    def add(self, prediction: Any, reference: Any) -> None:
        """Add the next document; the paths in errors begin at the part that is wrong."""
        if type(prediction) is not dict or type(reference) is not dict:
            self.close(*self.without_dicts(prediction, reference))
            return
        start = len(self.predictions)
        length = full = values = 0
        partial: list[tuple[int, int]] = []
        rest: list[tuple[Any, Any]] = []
        dicts, seen = [(reference, prediction)], {id(reference)}  # a dict that is met again may contain itself
        for g, p in dicts:
            values += max(len(g), len(p))
            if values > MAX_SIDE:
                del self.predictions[start:], self.references[start:]
                self.close(*count_credit(compare_trees(prediction, reference, self.rules)))
                return
            if not (has_text_keys(g) and has_text_keys(p) and MARKERS.isdisjoint(g) and "$one_of" not in p):
                rest.append((g, p))
                continue
            texts = others = 0  # of the keys of both sides
            for key, child in g.items():
                other = p.get(key, NOT_GIVEN)
                if type(child) is type(other) is str:
                    texts += 1
                    if child == other and self.equal_is_full:
                        full += 1
                    else:
                        self.predictions.append(other)
                        self.references.append(child)
                    continue
                others += other is not NOT_GIVEN
                if type(child) is type(other) is dict and id(child) not in seen:
                    seen.add(id(child))
                    dicts.append((child, other))
                else:
                    rest.append((child, other))
            length += texts
            if texts + others < len(p):
                rest += [(NOT_GIVEN, child) for key, child in p.items() if key not in g]
        for g, p in rest:
            rest_length, rest_full, rest_partial = self.other(g, p)
            length, full = length + rest_length, full + rest_full
            partial += rest_partial
        self.close(length, full, partial)

    def without_dicts(self, prediction: Any, reference: Any) -> Credit:
        """Compute the credit of a document that is not a pair of dicts."""
        if type(prediction) is type(reference) is str:
            self.predictions.append(prediction)
            self.references.append(reference)
            return 1, 0, []
        if type(prediction) is type(reference) is list:
            return self.searched(reference, prediction)
        if is_text_with_options(prediction, reference, self.rules.tree == "released"):
            return self.with_options(prediction, reference)
        self.searched_rows.add(len(self.lengths))
        return count_credit(compare_trees(prediction, reference, self.rules))

    def other(self, g: Any, p: Any) -> Credit:
        """Compute the credit of a part that is not two texts."""
        if self.rules.tree == "paper":
            g, p = (NOT_GIVEN if value is None or is_missing_value(value) else value for value in (g, p))
        if g is p:
            return (0, 0, []) if g is NOT_GIVEN else (1, 1, []) if g is None else self.searched(g, p)
        if type(g) in SCALARS and type(p) in SCALARS and g == g and p == p:
            self.predictions.append(str(p))
            self.references.append(str(g))
            return 1, 0, []
        if g is NOT_GIVEN or p is NOT_GIVEN:
            if type(g) is str or type(p) is str:
                return 1, 0, []
            if type(g) in (dict, list, tuple) or type(p) in (dict, list):
                self.searched_rows.add(len(self.lengths))
            node = build_tree(p, "prediction", self.rules) if g is NOT_GIVEN else build_tree(g, "reference", self.rules)
            return node.missing[1], int(p is NOT_GIVEN and node.missing[0] > 0), []
        return self.searched(g, p)

    def with_options(self, prediction: str, options: Sequence[str]) -> Credit:
        """Compute the credit of a text beside several, of which the most similar one counts."""
        if self.equal_is_full and prediction in options:
            return 1, 1, []
        rules, prepare = self.rules, normaliser(self.rules.answer_steps)
        text = normaliser(rules.prediction_steps)(prediction)
        leaves = [compare_leaves(text, prepare(option), rules) for option in options]
        return credit_of_leaves(1, [max(leaves, key=lambda leaf: leaf[2] and 1 - leaf[0] / leaf[1])])

    def searched(self, g: Any, p: Any) -> Credit:
        """Compute the credit of a part with lists, alternatives or unusual values."""
        if is_text_with_options(p, g, False):
            return self.with_options(p, g)
        if type(g) is type(p) is list:
            credit = credit_of_plain_lists(g, p, self.rules)
            if credit is not None:
                return credit
        self.searched_rows.add(len(self.lengths))
        nodes = build_tree(g, "reference", self.rules), build_tree(p, "prediction", self.rules)
        return count_credit(compared_pairs(Comparison(self.rules, prefer_equal=False), *nodes))

    def close(self, length: int, full: int, partial: list[tuple[int, int]]) -> None:
        """Complete a document, except for its texts."""
        self.partial += [(len(self.lengths), *text) for text in partial]
        self.lengths.append(length)
        self.full.append(full)
        self.ends.append(len(self.predictions))

    def only_score(self) -> float:
        """Compute the score of the only document."""
        if len(self.predictions) > _FEW_TEXTS:
            return float(self.scores()[0])
        rules, full, partial = self.rules, self.full[0], [(kept, longest) for _, kept, longest in self.partial]
        predictions = map(normaliser(rules.prediction_steps), self.predictions)
        references = map(normaliser(rules.answer_steps), self.references)
        for prediction, reference in zip(predictions, references, strict=True):
            distance, longest, is_kept = compare_leaves(prediction, reference, rules)
            if is_kept and distance:
                partial.append((longest - distance, longest))
            else:
                full += is_kept
        return exact_score(self.lengths[0], full, partial)

    def scores(self) -> Floats:
        """Compute the scores of all documents."""
        ends = np.array([0, *self.ends], np.int64)
        owners = np.repeat(np.arange(len(self.ends)), ends[1:] - ends[:-1])
        distances, longest = compare_texts_in_blocks(self.predictions, self.references, self.rules)
        kept = reaches_threshold(distances, longest, self.rules)
        full = np.array(self.full, np.int64) + np.bincount(owners[kept & (distances == 0)], minlength=len(self.ends))
        kept &= distances > 0
        texts = np.stack([owners, longest - distances, longest], axis=1)[kept]
        partial = np.concatenate([texts, np.array(self.partial, np.int64).reshape(-1, 3)])
        return exact_scores(np.array(self.lengths, np.int64), full, partial[np.argsort(partial[:, 0], kind="stable")])


def is_text_with_options(prediction: Any, reference: Any, in_lists: bool) -> bool:
    """Return whether one side is a text and the other alternatives that are texts, which can be in a list."""
    return (
        type(prediction) is str
        and (type(reference) is tuple or (in_lists and type(reference) is list))
        and bool(reference)
        and operator.countOf(map(type, reference), str) == len(reference)
    )


def has_text_keys(tree: dict[Any, Any]) -> bool:
    """Return whether all keys of a dict are texts."""
    return operator.countOf(map(type, tree), str) == len(tree)


def compare_texts_in_blocks(
    predictions: list[str], references: list[str], rules: Protocol
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Compute distances and lengths of pairs of texts, a block at a time."""
    found = [np.zeros((2, 0), np.int64)]
    weights = {"weights": edit_costs(rules)}
    for start in range(0, len(predictions), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        left, left_sizes = _normalised(predictions[block], rules.prediction_steps)
        right, right_sizes = _normalised(references[block], rules.answer_steps)
        distances = cpdist(left, right, scorer=Levenshtein.distance, scorer_kwargs=weights, dtype=np.int64)
        found.append(np.stack([distances, np.maximum(np.maximum(left_sizes, right_sizes), 1)]))
    distances, longest = np.concatenate(found, axis=1)
    return distances, longest


def _normalised(texts: list[str], steps: tuple[str, ...]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Apply the steps to texts; return them with their lengths."""
    try:
        prepared = prepare_texts(text_array(texts), steps, "compared")
    except UnicodeEncodeError:  # lone surrogates, which Arrow cannot hold
        normalised = list(map(normaliser(steps), texts))
        return normalised, np.array(list(map(len, normalised)), np.int64)
    return prepared.compared.to_pylist(), prepared.sizes


def exact_scores(lengths: Matrix, full: Matrix, partial: Matrix) -> Floats:
    """Compute `exact_score` of many documents; rows of `partial` begin with their document's index, in order."""
    owners, kept_parts, longest = partial.T
    products, denominators = np.ones(len(lengths)), np.ones(len(lengths), np.int64)
    with np.errstate(over="ignore"):  # such documents are summed in integers of any size
        np.multiply.at(products, owners, longest)
        np.multiply.at(denominators, owners, longest)
    exact = products * lengths < 2**53  # float64 holds these exactly and rounds the quotient once, as Python does
    denominators[~exact] = 1
    kept = full * denominators
    np.add.at(kept, owners, kept_parts * (denominators[owners] // longest))
    scores = np.where(lengths, kept / np.maximum(lengths * denominators, 1), 1.0)
    one = lengths[owners] == 1
    scores[owners[one]] = 1 - (longest[one] - kept_parts[one]) / longest[one]
    for row in np.flatnonzero(~exact).tolist():
        start, end = np.searchsorted(owners, [row, row + 1])
        scores[row] = exact_score(int(lengths[row]), int(full[row]), partial[start:end, 1:].tolist())
    return scores
