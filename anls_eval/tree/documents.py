"""ANLS* of many documents, whose texts are compared in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from anls_eval.arrow import Floats, as_objects, text_array
from anls_eval.inputs.values import NOT_GIVEN, is_missing_value
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import normaliser
from anls_eval.text.measure import BLOCK_ROWS
from anls_eval.text.prepare import prepare_texts
from anls_eval.text.similarity import edit_costs, reaches_threshold
from anls_eval.tree.compare import Comparison
from anls_eval.tree.credit import ComparedPair, Credit, compared_pairs, count_credit, exact_score
from anls_eval.tree.nodes import build_tree, plain_value
from anls_eval.tree.ratios import Matrix

SCALARS = frozenset({str, int, float, bool})

_MAX_SIDE = 1_000_000  # values of one side in dicts: more of them may be a dict that holds itself


class _Documents:
    """Pairs of trees whose texts are compared in one batch.

    What only dicts lead to has its partner under the same keys and needs no search: so it is in most documents. Lists,
    alternatives and whatever is unusual are compared as `Comparison` does it.
    """

    def __init__(self, rules: Protocol) -> None:
        self.rules = rules
        self.equal_is_full = rules.prediction_steps == rules.answer_steps and bool(reaches_threshold(0, 1, rules))
        self.lengths: list[int] = []
        self.full: list[int] = []
        self.partial: list[tuple[int, int, int]] = []  # document, distance and length of texts compared in a search
        self.predictions: list[str] = []  # texts that differ from those of the references
        self.references: list[str] = []
        self.ends: list[int] = []  # of each document, in these

    def add(self, prediction: Any, reference: Any) -> None:
        """Take the next document.

        Raises:
            TypeError: A part that is of no tree; its path begins there.
            ValueError: The same.
        """
        if type(prediction) is not dict or type(reference) is not dict:
            self.close(*count_credit(compare_trees(prediction, reference, self.rules)))
            return
        start = len(self.predictions)
        length = full = values = 0
        partial: list[tuple[int, int]] = []
        rest: list[tuple[Any, Any]] = []
        dicts = [(reference, prediction)]
        for g, p in dicts:
            values += max(len(g), len(p))
            if values > _MAX_SIDE:
                del self.predictions[start:], self.references[start:]
                self.close(*count_credit(compare_trees(prediction, reference, self.rules)))
                return
            if not (set(map(type, g)) | set(map(type, p)) <= {str} and "$one_of" not in g and "$literal" not in g):
                rest.append((g, p))
                continue
            shared = 0
            for key, child in g.items():
                other = p.get(key, NOT_GIVEN)
                shared += other is not NOT_GIVEN
                if type(child) is type(other) is str:
                    length += 1
                    if child == other and self.equal_is_full:
                        full += 1
                    else:
                        self.predictions.append(other)
                        self.references.append(child)
                elif type(child) is type(other) is dict:
                    dicts.append((child, other))
                else:
                    rest.append((child, other))
            if shared < len(p):
                rest += [(NOT_GIVEN, child) for key, child in p.items() if key not in g]
        for g, p in rest:
            own = self.other(g, p)
            length, full = length + own[0], full + own[1]
            partial += own[2]
        self.close(length, full, partial)

    def other(self, g: Any, p: Any) -> Credit:
        """What a part counts that is not two texts."""
        if self.rules.tree == "paper":
            g, p = (NOT_GIVEN if value is None or is_missing_value(value) else value for value in (g, p))
        if g is p:
            return (0, 0, []) if g is NOT_GIVEN else (1, 1, []) if g is None else self.searched(g, p)
        if type(g) in SCALARS and type(p) in SCALARS and g == g and p == p:
            self.predictions.append(str(p))
            self.references.append(str(g))
            return 1, 0, []
        if g is NOT_GIVEN or p is NOT_GIVEN:
            node = build_tree(p, "prediction", self.rules) if g is NOT_GIVEN else build_tree(g, "reference", self.rules)
            return node.missing[1], int(p is NOT_GIVEN and node.missing[0] > 0), []
        return self.searched(g, p)

    def searched(self, g: Any, p: Any) -> Credit:
        nodes = build_tree(g, "reference", self.rules), build_tree(p, "prediction", self.rules)
        return count_credit(compared_pairs(Comparison(self.rules, prefer_equal=False), *nodes))

    def close(self, length: int, full: int, partial: list[tuple[int, int]]) -> None:
        """The document is complete, but for its texts."""
        self.partial += [(len(self.lengths), *own) for own in partial]
        self.lengths.append(length)
        self.full.append(full)
        self.ends.append(len(self.predictions))

    def scores(self) -> Floats:
        """The scores of all documents."""
        ends = np.array([0, *self.ends], np.int64)
        owners = np.repeat(np.arange(len(self.ends)), ends[1:] - ends[:-1])
        distances, longest = self.compared()
        kept = reaches_threshold(distances, longest, self.rules)
        full = np.array(self.full, np.int64) + np.bincount(owners[kept & (distances == 0)], minlength=len(self.ends))
        kept &= distances > 0
        texts = np.stack([owners, distances, longest], axis=1)[kept]
        partial = np.concatenate([texts, np.array(self.partial, np.int64).reshape(-1, 3)])
        return _exact_scores(np.array(self.lengths, np.int64), full, partial[np.argsort(partial[:, 0], kind="stable")])

    def compared(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Distances and lengths of all texts that differ, a block at a time."""
        found = [np.zeros((2, 0), np.int64)]
        weights = {"weights": edit_costs(self.rules)}
        for start in range(0, len(self.predictions), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            left, left_sizes = _normalised(self.predictions[block], self.rules.prediction_steps)
            right, right_sizes = _normalised(self.references[block], self.rules.answer_steps)
            distances = cpdist(left, right, scorer=Levenshtein.distance, scorer_kwargs=weights, dtype=np.int64)
            found.append(np.stack([distances, np.maximum(np.maximum(left_sizes, right_sizes), 1)]))
        distances, longest = np.concatenate(found, axis=1)
        return distances, longest


def _normalised(texts: list[str], steps: tuple[str, ...]) -> tuple[Any, npt.NDArray[np.int64]]:
    """Texts after the steps, and their lengths."""
    try:
        prepared = prepare_texts(text_array(texts), steps, "compared")
    except UnicodeEncodeError:  # Arrow has no lone surrogates
        done = list(map(normaliser(steps), texts))
        return done, np.array(list(map(len, done)), np.int64)
    return as_objects(prepared.compared), prepared.sizes


def _exact_scores(lengths: Matrix, full: Matrix, partial: Matrix) -> Floats:
    """`exact_score` of many documents. The rows of `partial` begin with the number of their document, in order."""
    owners, distances, longest = partial.T
    products, denominators = np.ones(len(lengths)), np.ones(len(lengths), np.int64)
    with np.errstate(over="ignore"):  # those are summed in integers of any size
        np.multiply.at(products, owners, longest)
        np.multiply.at(denominators, owners, longest)
    exact = products * lengths < 2**53  # what float64 holds exactly, it divides with one rounding, as Python does
    denominators[~exact] = 1
    kept = full * denominators
    np.add.at(kept, owners, (longest - distances) * (denominators[owners] // longest))
    scores = np.where(lengths, kept / np.maximum(lengths * denominators, 1), 1.0)
    one = lengths[owners] == 1
    scores[owners[one]] = 1 - distances[one] / longest[one]
    for row in np.flatnonzero(~exact).tolist():
        start, end = np.searchsorted(owners, [row, row + 1])
        scores[row] = exact_score(int(lengths[row]), int(full[row]), partial[start:end, 1:].tolist())
    return scores


def score_trees(predictions: Sequence[Any], references: Sequence[Any], rules: Protocol) -> Floats:
    """Score many pairs of trees."""
    documents = _Documents(rules)
    for row, pair in enumerate(zip(predictions, references, strict=True)):
        try:
            documents.add(*pair)
        except (TypeError, ValueError):
            try:
                compare_trees(*pair, rules)  # raises, too, and knows the path from the root
            except (TypeError, ValueError) as error:
                raise type(error)(f"row {row}: {error}") from None
            raise
    return documents.scores()


def is_list_of_options(prediction: Any, reference: Any, rules: Protocol) -> bool:
    """The released code's mode for ST-VQA data, at the top level only."""
    return (
        rules.tree == "released"
        and isinstance(reference, list)
        and bool(reference)
        and all(map(_is_text, (prediction, *reference)))
    )


def _is_text(value: Any) -> bool:
    """Whether JSON would hold it as a text, as it holds a Decimal."""
    try:
        return isinstance(plain_value(value), str)
    except TypeError:  # that it is part of no tree is said elsewhere, with its path
        return False


def compare_trees(prediction: Any, reference: Any, rules: Protocol, explained: bool = False) -> list[ComparedPair]:
    """Compare two trees and return the pairs that the score is made of."""
    identities: dict[Any, int] | None = {} if explained else None
    options = is_list_of_options(prediction, reference, rules)
    g = build_tree(tuple(reference) if options else reference, "reference", rules, identities)
    g.source = reference
    p = build_tree(prediction, "prediction", rules, identities)
    return compared_pairs(Comparison(rules, prefer_equal=explained), g, p)


def score_tree(prediction: Any, reference: Any, rules: Protocol) -> float:
    """Score one pair of trees."""
    return exact_score(*count_credit(compare_trees(prediction, reference, rules)))
