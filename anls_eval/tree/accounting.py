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
from anls_eval.tree.field_documents import Column, FieldDocuments, texts_of
from anls_eval.tree.nodes import DICT, LEAF, LIST, NONE, ONE_OF, Node, build_tree, path_part
from anls_eval.tree.single import compare_with_rules, raise_with_path

OUTCOMES = ("right", "wrong", "missing", "invented", "absent", "empty")
RIGHT, WRONG, MISSING_LEAF, INVENTED_LEAF, ABSENT, EMPTY = range(6)  # EMPTY: a container without children

FAILURES = (WRONG, MISSING_LEAF, INVENTED_LEAF)

Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class FailedLeaves(NamedTuple):
    """Both sides of the leaves of one path that fail, in their order."""

    references: list[Any]  # an empty text where it is invented
    predictions: list[Any]  # an empty text where it is missing


class CountedLeaves(NamedTuple):
    """All leaves of pairs of documents, in columns: there may be millions."""

    paths: list[str]
    weights: Floats  # of a leaf at each path
    rows: Numbers  # the document of each leaf
    places: Numbers  # the number of its path
    outcomes: Numbers
    lost: Floats  # points, with weights
    failed: list[FailedLeaves]  # of each path
    searched: list[int]  # the documents with more than scalars in dicts


class _Part(NamedTuple):
    """Some leaves, in columns."""

    rows: Numbers
    places: Numbers
    outcomes: Numbers
    lost: Floats  # in units of `Fields.scale`

    @classmethod
    def of(cls, rows: Sequence[int], place: int, outcomes: Numbers, lost: Floats | float) -> _Part:
        """Return leaves of one path."""
        n = len(rows)
        return cls(np.array(rows, np.int64), np.full(n, place), outcomes, np.broadcast_to(np.float64(lost), n))


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
        self.keep_right = True
        self.places: dict[FieldRules, int] = {}
        # Leaves that are counted one by one, in columns.
        self.rows: list[int] = []
        self.numbers: list[int] = []  # of the places
        self.outcomes: list[int] = []
        self.lost: list[float] = []
        self.failed: list[FailedLeaves] = []  # of each place

    def unnamed(self, rule: FieldRules) -> FieldRules | None:
        """Return nothing: every key has a place."""
        return None

    def number_of(self, place: FieldRules) -> int:
        """Return the number of a path."""
        number = self.places.setdefault(place, len(self.places))
        if number == len(self.failed):
            self.failed.append(FailedLeaves([], []))
        return number

    def note(self, place: FieldRules, outcome: int, lost: float, g: Any = "", p: Any = "") -> None:
        """Count a leaf of the document that is being added."""
        number = self.number_of(place)
        self.rows.append(len(self.lengths))
        self.numbers.append(number)
        self.outcomes.append(outcome)
        self.lost.append(lost)
        if outcome in FAILURES:
            self.failed[number].references.append(g)
            self.failed[number].predictions.append(p)

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

    def invented(self, p: Any, rule: FieldRules) -> Credit:
        """Count a leaf of the prediction that the reference lacks."""
        column = self.columns[rule]
        column.invented_rows.append(len(self.lengths))
        column.invented.append(p)
        return super().invented(p, rule)

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
            credit = 0.0 if pair.why or not pair.length else (1 - pair.distance / pair.longest) * pair.length
            if g and p and g.kind == p.kind == LEAF and not is_nothing(g) and not is_nothing(p):
                kept = pair.longest - pair.distance
                is_right = kept * self.match_at.denominator >= self.match_at.numerator * pair.longest
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
            sides = ("", leaf.value) if leaf.outcome == INVENTED_LEAF else (leaf.value, "")
            self.note(leaf.place, leaf.outcome, part, *sides)

    def counted(self) -> CountedLeaves:
        """Compare the leaves in the columns, and return all leaves."""
        rows, places, outcomes = (np.array(own, np.int64) for own in (self.rows, self.numbers, self.outcomes))
        parts = [_Part(rows, places, outcomes, np.array(self.lost, np.float64))]
        for place, column in self.columns.items():
            comparator = place.comparator
            if comparator is None or not comparator.equal_is_right:
                column.compare_equal()
            if column.right_rows:
                n = len(column.right_rows)
                parts.append(_Part.of(column.right_rows, self.number_of(place), np.full(n, RIGHT), 0.0))
            if column.equal:
                parts.append(self.equal_leaves(place, column))
            if column.rows:
                parts.append(self.compared_leaves(place, column))
            if column.missing:
                parts.append(self.missing_leaves(place, column))
            if column.invented:
                parts.append(self.invented_leaves(place, column))
        rows, places, outcomes, lost = (np.concatenate(own) for own in zip(*parts, strict=True))
        known = [place for place in self.places if isinstance(place, Place)]
        return CountedLeaves(
            paths=[place.path for place in known],
            weights=np.array([place.weight for place in known], np.float64) / self.fields.scale,
            rows=rows,
            places=places,
            outcomes=outcomes,
            lost=lost / self.fields.scale,
            failed=self.failed,
            searched=sorted(self.searched_rows),
        )

    def equal_leaves(self, place: FieldRules, column: Column) -> _Part:
        """Count leaves whose sides are the same."""
        outcomes = np.full(len(column.equal), RIGHT)
        for index in place.comparator.unparsed(column.equal) if place.comparator else ():
            self.check_blank(place.comparator, column.equal_rows[index], column.equal[index])
            outcomes[index] = ABSENT
        return _Part.of(column.equal_rows, self.number_of(place), outcomes, 0.0)

    def compared_leaves(self, place: FieldRules, column: Column) -> _Part:
        """Compare leaves with leaves, and count them."""
        if place.comparator:
            similarities, g_is_none, p_is_none = self.typed_similarities(place.comparator, column)
            kept, is_right = similarities, similarities >= float(self.match_at)
        else:
            g_is_none, p_is_none = _are_empty(column.references), _are_empty(column.predictions)
            texts = texts_of(column.predictions), texts_of(column.references)
            distances, longest = compare_texts_in_blocks(*texts, self.rules)
            kept = kept_similarity(distances, longest, self.rules)
            is_right = (longest - distances) * self.match_at.denominator >= self.match_at.numerator * longest
        outcomes = np.where(is_right, RIGHT, WRONG)
        is_absent = g_is_none & p_is_none
        outcomes[g_is_none], outcomes[p_is_none], outcomes[is_absent] = INVENTED_LEAF, MISSING_LEAF, ABSENT
        if place.comparator or self.rules.tree == "released":
            kept = np.where(is_absent, 1, kept)
        number = self.keep_failed(place, outcomes, column.references, column.predictions)
        return _Part.of(column.rows, number, outcomes, (1 - kept) * place.weight)

    def typed_similarities(self, comparator: Comparator, column: Column) -> tuple[Floats, Bools, Bools]:
        """Parse and compare leaves; return which references and predictions count as None, too."""
        similarities, unparsed = comparator.compared(column.references, column.predictions)
        if not comparator.blank_is_none:
            return similarities, _are_empty(column.references), _are_empty(column.predictions)
        g_is_none, p_is_none = np.zeros((2, len(similarities)), dtype=bool)
        for index in unparsed:
            self.check_blank(comparator, column.rows[index], column.references[index])
        g_is_none[unparsed] = True
        is_unlike = similarities == 0
        others = list(itertools.compress(column.predictions, is_unlike.tolist()))
        if set(map(type, others)) <= {str}:
            others = list(map(str.strip, others))
        else:
            others = [own.strip() if type(own) is str else own for own in others]
        p_is_none[is_unlike] = _are_empty(others)
        return similarities, g_is_none, p_is_none

    def missing_leaves(self, place: FieldRules, column: Column) -> _Part:
        """Count leaves that only references have."""
        outcomes = np.where(_are_empty(column.missing), ABSENT, MISSING_LEAF)
        lost = np.full(len(outcomes), float(place.weight))
        for index in place.comparator.unparsed(column.missing) if place.comparator else ():
            self.check_blank(place.comparator, column.missing_rows[index], column.missing[index])
            outcomes[index], lost[index] = ABSENT, 0.0
        number = self.keep_failed(place, outcomes, column.missing, [""] * len(outcomes))
        return _Part.of(column.missing_rows, number, outcomes, lost)

    def invented_leaves(self, place: FieldRules, column: Column) -> _Part:
        """Count leaves that only predictions have."""
        outcomes = np.where([is_nothing_at(place, own) for own in column.invented], ABSENT, INVENTED_LEAF)
        number = self.keep_failed(place, outcomes, [""] * len(outcomes), column.invented)
        return _Part.of(column.invented_rows, number, outcomes, place.weight)

    def keep_failed(self, place: FieldRules, outcomes: Numbers, references: list[Any], predictions: list[Any]) -> int:
        """Keep both sides of the leaves that fail, and return the number of their path."""
        number = self.number_of(place)
        is_failing = (outcomes >= WRONG) & (outcomes <= INVENTED_LEAF)
        selectors, without = is_failing.tolist(), (INVENTED_LEAF, MISSING_LEAF)
        for values, outcome, kept in zip((references, predictions), without, self.failed[number], strict=True):
            failed = list(itertools.compress(values, selectors))
            for index in np.flatnonzero(outcomes[is_failing] == outcome).tolist():
                failed[index] = ""
            kept += failed
        return number

    def check_blank(self, comparator: Comparator | None, row: int, reference: Any) -> None:
        """Refuse a reference that does not parse and is not blank."""
        if not (comparator and comparator.blank_is_none and is_blank(reference)):
            raise_with_path(row, self.predictions[row], self.references[row], self.rules, self.fields)


def _are_empty(values: list[Any]) -> Bools:
    """Return which leaves are empty texts."""
    return np.array([own == "" for own in values]) if "" in values else np.zeros(len(values), dtype=bool)


def rules_of(node: Node | None) -> FieldRules:
    """Return the place of a node."""
    return cast(FieldRules, cast(Node, node).rule)


def is_nothing_at(place: FieldRules, value: Any) -> bool:
    """Return whether a leaf is empty, or blank where a blank text counts as None."""
    return value == "" or (place.comparator is not None and place.comparator.blank_is_none and is_blank(value))


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
