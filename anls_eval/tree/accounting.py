"""Which leaves of documents are right, wrong, missing or invented, by field."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from anls_eval.arrow import Floats
from anls_eval.fields.comparators import Comparator, is_blank
from anls_eval.fields.fields import Fields
from anls_eval.fields.rules import FieldRules
from anls_eval.inputs.values import NOT_GIVEN
from anls_eval.rules.protocol import Protocol
from anls_eval.text.similarity import kept_similarity
from anls_eval.tree.compare import Comparison
from anls_eval.tree.credit import ComparedPair, Credit, compared_pairs, pair_with_none
from anls_eval.tree.documents import compare_texts_in_blocks
from anls_eval.tree.field_documents import Column, FieldDocuments
from anls_eval.tree.nodes import DICT, LEAF, LIST, NONE, ONE_OF, Node, build_tree, path_part
from anls_eval.tree.single import compare_with_rules, raise_with_path

OUTCOMES = ("right", "wrong", "missing", "invented", "absent", "empty")
RIGHT, WRONG, MISSING_LEAF, INVENTED_LEAF, ABSENT, EMPTY = range(6)  # EMPTY: a container without children

FAILURES = (WRONG, MISSING_LEAF, INVENTED_LEAF)

Numbers = npt.NDArray[np.int64]


class FailedLeaves:
    """Leaves that are wrong, missing or invented, in columns: there may be millions."""

    def __init__(self) -> None:
        self.rows: list[int] = []  # the documents
        self.places: list[int] = []  # the numbers of the paths
        self.outcomes: list[int] = []
        self.lost: list[float] = []  # points, with weights
        self.references: list[Any] = []  # None where it is invented
        self.predictions: list[Any] = []  # None where it is missing


class LoneLeaf(NamedTuple):
    """A leaf that stands beside nothing."""

    place: FieldRules
    outcome: int
    weight: float
    value: Any


class Place(FieldRules):
    """The rules of one path of the documents; keys and elements below have places of their own."""

    __slots__ = ("below", "path", "rules")

    def __init__(self, rules: FieldRules, path: str) -> None:
        super().__init__(rules.weight, rules.comparator, rules.ignore, rules.key, rules.keep_order)
        self.rules, self.path = rules, path
        self.is_plain = rules.is_plain
        self.below: Place | None = None

    def child(self, key: str) -> FieldRules:
        """Return the place of a key."""
        if key not in self.keys:
            self.keys[key] = Place(self.rules.child(key), self.path + path_part(key, DICT))
        return self.keys[key]

    def element(self) -> FieldRules:
        """Return the place of the elements of a list."""
        if self.below is None:
            self.below = Place(self.rules.element(), f"{self.path}[*]")
        return self.below


class Accounts(FieldDocuments):
    """Pairs of documents, of which each leaf has an outcome."""

    def __init__(
        self, predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, fields: Fields, match_at: Fraction
    ) -> None:
        super().__init__(predictions, references, rules, fields, Place(fields.rules(rules), "$"))
        self.match_at = match_at
        self.texts_are_equal = self.equal_is_full
        self.equal_is_full = False  # equal texts are leaves to count
        self.places: dict[FieldRules, int] = {}
        self.found: list[tuple[int, int, int, float]] = []  # document, place, outcome and what it loses
        self.failed = FailedLeaves()

    def note(self, place: FieldRules, outcome: int, lost: float, g: Any = None, p: Any = None) -> None:
        """Count a leaf of the document that is being added."""
        row, number = len(self.lengths), self.places.setdefault(place, len(self.places))
        self.found.append((row, number, outcome, lost))
        if outcome in FAILURES:
            failed = self.failed
            failed.rows.append(row)
            failed.places.append(number)
            failed.outcomes.append(outcome)
            failed.lost.append(lost / self.fields.scale)
            failed.references.append(g)
            failed.predictions.append(p)

    def whole(self, prediction: Any, reference: Any) -> list[ComparedPair]:
        """Compare whole documents, and count their leaves."""
        unit = self.fields.unit
        pairs = compare_with_rules(prediction, reference, self.rules, self.root, unit, explained=True)
        self.count(pairs)
        return pairs

    def other(self, g: Any, p: Any, rule: FieldRules) -> Credit:
        """Count a part that is not two leaves."""
        if g is p is None and self.rules.tree == "released":
            self.note(rule, ABSENT, 0)
        return super().other(g, p, rule)

    def pairs(self, g: Any, p: Any, rule: FieldRules) -> list[ComparedPair]:
        """Compare a part, and count its leaves."""
        identities: dict[Any, int] = {}
        node = None if g is NOT_GIVEN else build_tree(g, "reference", self.rules, identities, rule)
        other = None if p is NOT_GIVEN else build_tree(p, "prediction", self.rules, identities, rule)
        if node and other:
            comparison = Comparison(self.rules, prefer_equal=True, unit=self.fields.unit)
            pairs = compared_pairs(comparison, node, other)
        else:
            pairs = [pair_with_none(node, other)]
        self.count(pairs)
        return pairs

    def count(self, pairs: list[ComparedPair]) -> None:
        """Count the leaves of compared pairs."""
        for pair in pairs:
            g, p = pair.g, pair.p
            if pair.why is None:
                if g and p and g.kind != ONE_OF and not g.value and not p.value:
                    self.note(rules_of(g), EMPTY, 0)
                continue
            is_compared = g is not None and p is not None and not is_nothing(g) and not is_nothing(p)
            credit = 0.0 if pair.why or not pair.length else (1 - pair.distance / pair.longest) * pair.length
            if g and p and is_compared and g.kind == p.kind == LEAF:
                is_right = Fraction(pair.longest - pair.distance, pair.longest) >= self.match_at
                self.note(rules_of(g), RIGHT if is_right else WRONG, pair.length - credit, g.source, p.source)
            else:
                self.count_sides(pair, pair.length - credit)

    def count_sides(self, pair: ComparedPair, lost: float) -> None:
        """Count the leaves of two nodes that were not compared, each beside nothing."""
        g = [] if pair.g is None else list(leaves_of(pair.g, pair.length, MISSING_LEAF))
        p = [] if pair.p is None else list(leaves_of(pair.p, pair.length, INVENTED_LEAF))
        if g and p:  # None beside something is no leaf, and None beside None is absent once
            real_g, real_p = ([own for own in side if own.outcome != ABSENT] for side in (g, p))
            g, p = (real_g, real_p) if real_g or real_p else (g, [])
        lost_by_g, lost_by_p = ([own.weight if lost else 0 for own in side] for side in (g, p))
        if lost and sum(lost_by_g) == lost:
            lost_by_p = [0] * len(p)
        elif lost and sum(lost_by_p) == lost:
            lost_by_g = [0] * len(g)
        elif lost:  # a container without leaves
            losses: list[float] = [lost, *[0] * (len(g) + len(p) - 1)]
            lost_by_g, lost_by_p = losses[: len(g)], losses[len(g) :]
        for leaf, part in zip(g + p, lost_by_g + lost_by_p, strict=True):
            sides = (None, leaf.value) if leaf.outcome == INVENTED_LEAF else (leaf.value, None)
            self.note(leaf.place, leaf.outcome, part, *sides)

    def outcomes(self) -> tuple[list[str], Numbers, Numbers, Numbers, Floats]:
        """Return the paths, and for each leaf its document, path, outcome and lost points."""
        parts = [np.array(self.found, np.float64).reshape(-1, 4)]
        for place, column in self.columns.items():
            number = self.places.setdefault(place, len(self.places))
            comparator = place.comparator
            if self.texts_are_equal if comparator is None else comparator.equal_is_right:
                parts.append(self.equal_outcomes(place, number, column))
            else:
                column.rows += column.equal_rows
                column.references += column.equal
                column.predictions += column.equal
            if column.rows:
                parts.append(self.compared_outcomes(place, number, column))
        rows, places, outcomes, lost = np.concatenate(parts).T
        paths = [place.path for place in self.places if isinstance(place, Place)]
        return paths, *(own.astype(np.int64) for own in (rows, places, outcomes)), lost / self.fields.scale

    def equal_outcomes(self, place: FieldRules, number: int, column: Column) -> Floats:
        """Return the outcomes of leaves whose sides are the same."""
        outcomes = np.full(len(column.equal), RIGHT)
        if place.comparator:
            for index in place.comparator.unparsed(column.equal):
                self.check_blank(place.comparator, column.equal_rows[index], column.equal[index])
                outcomes[index] = ABSENT
        outcomes[[index for index, text in enumerate(column.equal) if not text]] = ABSENT
        return np.column_stack([column.equal_rows, np.full(len(outcomes), number), outcomes, np.zeros(len(outcomes))])

    def compared_outcomes(self, place: FieldRules, number: int, column: Column) -> Floats:
        """Compare leaves and return their outcomes."""
        g_is_none, p_is_none = (nothing_at(place, side) for side in (column.references, column.predictions))
        if place.comparator:
            similarities = kept = self.typed_similarities(place.comparator, column, g_is_none)
            is_right = similarities >= float(self.match_at)
        else:
            texts = list(map(str, column.predictions)), list(map(str, column.references))
            distances, longest = compare_texts_in_blocks(*texts, self.rules)
            kept = kept_similarity(distances, longest, self.rules)
            is_right = (longest - distances) * self.match_at.denominator >= self.match_at.numerator * longest
        outcomes = np.where(is_right, RIGHT, WRONG)
        outcomes[g_is_none], outcomes[p_is_none], outcomes[g_is_none & p_is_none] = INVENTED_LEAF, MISSING_LEAF, ABSENT
        kept = np.where(g_is_none & p_is_none & (self.rules.tree == "released"), 1, kept)
        lost = (1 - kept) * place.weight
        failing = np.flatnonzero(np.isin(outcomes, FAILURES))
        indexes, failed = failing.tolist(), self.failed
        failed.rows += [column.rows[index] for index in indexes]
        failed.places += [number] * len(indexes)
        failed.outcomes += outcomes[failing].tolist()
        failed.lost += (lost[failing] / self.fields.scale).tolist()
        failed.references += _without(column.references, indexes, g_is_none)
        failed.predictions += _without(column.predictions, indexes, p_is_none)
        return np.column_stack([column.rows, np.full(len(kept), number), outcomes, lost])

    def typed_similarities(self, comparator: Comparator, column: Column, g_is_none: npt.NDArray[np.bool_]) -> Floats:
        """Parse and compare leaves; those whose reference is blank are similar to nothing."""
        parsed = comparator.parse_all(column.references, "reference")
        known = np.array([value is not None for value in parsed])
        for index in np.flatnonzero(~known).tolist():
            self.check_blank(comparator, column.rows[index], column.references[index])
        predictions = list(itertools.compress(column.predictions, known))
        similarities = np.zeros(len(parsed))
        similarities[known] = comparator.vector(
            list(itertools.compress(parsed, known)), comparator.parse_all(predictions, "prediction")
        )
        return similarities

    def check_blank(self, comparator: Comparator, row: int, reference: Any) -> None:
        """Refuse a reference that does not parse and is not blank."""
        if not (comparator.blank_is_none and is_blank(reference)):
            raise_with_path(row, self.predictions[row], self.references[row], self.rules, self.fields)


def _without(values: list[Any], indexes: list[int], nothing: npt.NDArray[np.bool_]) -> list[Any]:
    """Return some values, None where they are nothing."""
    return [
        None if is_none else values[index] for index, is_none in zip(indexes, nothing[indexes].tolist(), strict=True)
    ]


def rules_of(node: Node | None) -> FieldRules:
    """Return the place of a node."""
    return cast(FieldRules, cast(Node, node).rule)


def is_nothing_at(place: FieldRules, value: Any) -> bool:
    """Return whether a leaf is empty, or blank where a blank text counts as None."""
    return value == "" or (place.comparator is not None and place.comparator.blank_is_none and is_blank(value))


def nothing_at(place: FieldRules, values: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Return whether each leaf is empty, as `is_nothing_at` does."""
    if place.comparator is None or not place.comparator.blank_is_none:
        return np.array([own == "" for own in values])
    return np.array([type(own) is str and not own.strip() for own in values])


def is_nothing(node: Node) -> bool:
    """Return whether a node is None or an empty text, which are no leaves here."""
    return node.kind == NONE or (node.kind == LEAF and is_nothing_at(rules_of(node), node.source))


def leaves_of(node: Node, size: int, outcome: int) -> Iterator[LoneLeaf]:
    """Yield the leaves of a node that stands beside nothing."""
    stack = [(node, size)]
    while stack:
        node, size = stack.pop()
        if node.kind == ONE_OF:  # the alternative with the size that was counted
            sizes = [option.size for option in node.value]
            chosen = sizes.index(size) if size in sizes else sizes.index(max(sizes))
            stack.append((node.value[chosen], sizes[chosen]))
        elif node.kind <= LEAF:
            yield LoneLeaf(rules_of(node), ABSENT if is_nothing(node) else outcome, node.size, node.source)
        elif not node.value:
            yield LoneLeaf(rules_of(node), EMPTY, 0, None)
        else:
            children = node.value if node.kind == LIST else node.value.values()
            stack += [(child, child.size) for child in reversed(list(children))]
