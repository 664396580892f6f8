"""ANLS* of many documents with fields: the leaves of each field are parsed and compared in one batch."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from anls_eval.arrow import Floats
from anls_eval.fields.comparators import Comparator, is_blank
from anls_eval.fields.fields import Fields
from anls_eval.fields.rules import FieldRules
from anls_eval.inputs.values import NOT_GIVEN, is_missing_value
from anls_eval.rules.protocol import Protocol
from anls_eval.text.similarity import reaches_threshold
from anls_eval.tree.compare import Comparison
from anls_eval.tree.credit import ComparedPair, Credit, compared_pairs, count_credit, exact_score, pair_with_none
from anls_eval.tree.documents import MAX_SIDE, compare_texts_in_blocks, exact_scores, has_text_keys
from anls_eval.tree.nodes import MARKERS, SCALARS, build_tree
from anls_eval.tree.ratios import Matrix
from anls_eval.tree.single import compare_trees, raise_with_path

_LARGE = 10**18  # numbers beyond it may have texts that Python refuses to write
_MAX_EXACT = 2**31  # of the denominator of a credit in an array: functions return fractions of up to 2**1074


class Column:
    """The leaves of one field: those whose sides differ, those that are the same, and those of one side."""

    __slots__ = (
        "equal",
        "equal_rows",
        "invented",
        "invented_rows",
        "missing",
        "missing_rows",
        "predictions",
        "references",
        "right_rows",
        "rows",
    )

    def __init__(self) -> None:
        self.rows: list[int] = []  # the documents
        self.references: list[Any] = []
        self.predictions: list[Any] = []
        self.equal_rows: list[int] = []
        self.equal: list[Any] = []
        self.right_rows: list[int] = []  # of texts that are the same, where these are known to be right
        self.missing_rows: list[int] = []
        self.missing: list[Any] = []  # of references, without a prediction
        self.invented_rows: list[int] = []
        self.invented: list[Any] = []  # of predictions, without a reference

    def compare_equal(self) -> None:
        """Compare those that are the same, too."""
        self.rows += self.equal_rows
        self.references += self.equal
        self.predictions += self.equal
        self.equal_rows, self.equal = [], []


class FieldDocuments:
    """Pairs of trees, whose leaves under dicts are compared in one batch for each field."""

    def __init__(
        self, predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, fields: Fields, root: FieldRules
    ) -> None:
        self.predictions, self.references = predictions, references
        self.rules, self.fields, self.root = rules, fields, root
        self.equal_is_full = rules.prediction_steps == rules.answer_steps and bool(reaches_threshold(0, 1, rules))
        self.keep_right = False  # whether to keep the rows of texts that are the same and right
        self.lengths: list[int] = []
        self.full: list[int] = []
        self.partial: list[tuple[int, int, int]] = []  # document and credit, a fraction
        self.fractions: dict[int, list[tuple[int, int]]] = collections.defaultdict(list)  # parts beyond 64 bits
        self.searched_rows: set[int] = set()  # documents with more than scalars in dicts
        self.columns: dict[FieldRules, Column] = collections.defaultdict(Column)

    def add(self, prediction: Any, reference: Any) -> None:
        """Add the next document; the paths in errors begin at the part that is wrong."""
        row = len(self.lengths)
        if type(prediction) is not dict or type(reference) is not dict or self.root.ignore:
            self.searched_rows.add(row)
            self.close(*count_credit(self.whole(prediction, reference)))
            return
        columns, equal_is_full, keep_right = self.columns, self.equal_is_full, self.keep_right
        length = full = values = 0
        rest: list[tuple[Any, Any, FieldRules]] = []
        dicts = [(reference, prediction, self.root)]
        for g, p, rule in dicts:
            values += max(len(g), len(p))
            if values > MAX_SIDE:
                self.drop(row)
                self.close(*count_credit(self.whole(prediction, reference)))
                return
            if not (g or p):
                rest.append((g, p, rule))
                continue
            if not (has_text_keys(g) and has_text_keys(p) and MARKERS.isdisjoint(g) and "$one_of" not in p):
                rest.append((g, p, rule))
                continue
            alone = 0
            keys, unnamed, child_of = rule.keys, self.unnamed(rule), rule.child
            for key, child in g.items():
                own, other = keys.get(key, unnamed) or child_of(key), p.get(key, NOT_GIVEN)
                if other is NOT_GIVEN:
                    alone += 1
                if own.ignore:
                    continue
                if type(child) is type(other) is str:  # most leaves
                    length += own.weight
                    if child != other or not child:
                        column = columns[own]
                        column.rows.append(row)
                        column.references.append(child)
                        column.predictions.append(other)
                    elif own.comparator is None and equal_is_full:
                        full += own.weight
                        if keep_right:
                            columns[own].right_rows.append(row)
                    else:
                        column = columns[own]
                        column.equal_rows.append(row)
                        column.equal.append(child)
                elif type(child) in SCALARS and type(other) in SCALARS and child == child and other == other:
                    length += own.weight
                    column = columns[own]
                    column.rows.append(row)
                    column.references.append(child)
                    column.predictions.append(other)
                elif type(child) is type(other) is dict:
                    dicts.append((child, other, own))
                else:
                    rest.append((child, other, own))
            if len(g) - alone < len(p):
                only_p = [(NOT_GIVEN, child, rule.child(key)) for key, child in p.items() if key not in g]
                rest += [own for own in only_p if not own[2].ignore]
        partial: list[tuple[int, int]] = []
        for g, p, rule in rest:
            rest_length, rest_full, rest_partial = self.other(g, p, rule)
            length, full = length + rest_length, full + rest_full
            partial += rest_partial
        self.close(length, full, partial)

    def drop(self, row: int) -> None:
        """Take the leaves of a document out of the batch."""
        for column in self.columns.values():
            while column.rows and column.rows[-1] == row:
                del column.rows[-1], column.references[-1], column.predictions[-1]
            while column.equal_rows and column.equal_rows[-1] == row:
                del column.equal_rows[-1], column.equal[-1]
            while column.right_rows and column.right_rows[-1] == row:
                del column.right_rows[-1]

    def other(self, g: Any, p: Any, rule: FieldRules) -> Credit:
        """Compute the credit of a part that is not two leaves."""
        if type(g) in (dict, list, tuple) or type(p) in (dict, list):
            self.searched_rows.add(len(self.lengths))
        if self.rules.tree == "paper":
            typed = rule.comparator is not None and rule.comparator.blank_is_none
            are_none = [own is None or is_missing_value(own) or (typed and is_blank(own)) for own in (g, p)]
            g, p = (NOT_GIVEN if is_none else own for own, is_none in zip((g, p), are_none, strict=True))
        if g is p is NOT_GIVEN:
            return 0, 0, []
        if g is p is None:
            return rule.weight, rule.weight, []
        if p is NOT_GIVEN and _is_short_leaf(g):
            return self.missing(g, rule)
        if g is NOT_GIVEN and _is_short_leaf(p):
            return self.invented(p, rule)
        return count_credit(self.pairs(g, p, rule))

    def unnamed(self, rule: FieldRules) -> FieldRules | None:
        """Return the rules of the keys that are not named at a place, if they are known."""
        return rule.other_keys

    def missing(self, g: Any, rule: FieldRules) -> Credit:
        """Add a leaf of the reference that the prediction lacks; it must parse all the same."""
        column = self.columns[rule]
        column.missing_rows.append(len(self.lengths))
        column.missing.append(g)
        return rule.weight, 0, []

    def invented(self, p: Any, rule: FieldRules) -> Credit:
        """Add a leaf of the prediction that the reference lacks."""
        return rule.weight, 0, []

    def whole(self, prediction: Any, reference: Any) -> list[ComparedPair]:
        """Compare whole documents."""
        return compare_trees(prediction, reference, self.rules, fields=self.fields)

    def pairs(self, g: Any, p: Any, rule: FieldRules) -> list[ComparedPair]:
        """Compare a part with lists, alternatives or unusual values, or without a counterpart."""
        node = None if g is NOT_GIVEN else build_tree(g, "reference", self.rules, rule=rule)
        other = None if p is NOT_GIVEN else build_tree(p, "prediction", self.rules, rule=rule)
        if node and other:
            return compared_pairs(Comparison(self.rules, prefer_equal=False, unit=self.fields.unit), node, other)
        return [pair_with_none(node, other)]

    def close(self, length: int, full: int, partial: list[tuple[int, int]]) -> None:
        """Complete a document, except for the leaves in the batch."""
        row = len(self.lengths)
        for credit in partial:
            if credit[1] < _MAX_EXACT:
                self.partial.append((row, *credit))
            else:
                self.fractions[row].append(credit)
        self.lengths.append(length)
        self.full.append(full)

    def scores(self) -> Floats:
        """Compute the scores of all documents."""
        lengths, full = np.array(self.lengths, np.int64), np.array(self.full, np.int64)
        texts: list[tuple[FieldRules, Column]] = []
        for rule, column in self.columns.items():
            comparator = rule.comparator
            if comparator is None:
                column.compare_equal()
                texts.append((rule, column))
                continue
            if not comparator.equal_is_right:
                column.compare_equal()
            self.add_equal(rule, comparator, column, lengths, full)
            self.add_compared(rule, comparator, column, lengths, full)
            for index in comparator.unparsed(column.missing):
                self.add_unparsed(rule, column.missing_rows[index], column.missing[index], "", lengths, full)
        parts = np.array(self.partial, np.int64).reshape(-1, 3)
        if texts:
            parts = np.concatenate([parts, self.add_texts(texts, full)])
        parts = parts[np.argsort(parts[:, 0], kind="stable")]
        scores = exact_scores(lengths, full, parts)
        for row, fractions in self.fractions.items():
            start, end = np.searchsorted(parts[:, 0], [row, row + 1])
            own_parts = [(kept, longest) for kept, longest in parts[start:end, 1:].tolist()]
            scores[row] = exact_score(int(lengths[row]), int(full[row]), own_parts + fractions)
        return scores

    def add_texts(self, columns: list[tuple[FieldRules, Column]], full: Matrix) -> Matrix:
        """Compare texts by the protocol; add those that are right, and return the documents and credits of others."""
        owners = np.array([row for _, column in columns for row in column.rows], np.int64)
        weights = np.repeat([rule.weight for rule, _ in columns], [len(column.rows) for _, column in columns])
        predictions, references = (
            [text for own in side for text in texts_of(own)]
            for side in zip(*((column.predictions, column.references) for _, column in columns), strict=True)
        )
        distances, longest = compare_texts_in_blocks(predictions, references, self.rules)
        kept = reaches_threshold(distances, longest, self.rules)
        right = kept & (distances == 0)
        np.add.at(full, owners[right], weights[right])
        kept &= distances > 0
        return np.array([owners, (longest - distances) * weights, longest])[:, kept].T

    def add_equal(
        self, rule: FieldRules, comparator: Comparator, column: Column, lengths: Matrix, full: Matrix
    ) -> None:
        """Add leaves whose sides are the same; the reference must parse all the same."""
        np.add.at(full, column.equal_rows, rule.weight)
        for index in comparator.unparsed(column.equal):
            row, leaf = column.equal_rows[index], column.equal[index]
            full[row] -= rule.weight
            self.add_unparsed(rule, row, leaf, leaf, lengths, full)

    def add_compared(
        self, rule: FieldRules, comparator: Comparator, column: Column, lengths: Matrix, full: Matrix
    ) -> None:
        """Parse and compare leaves, and add their credits."""
        rows, references, predictions = column.rows, column.references, column.predictions
        similarities, unparsed = comparator.compared(references, predictions)
        for index in unparsed:
            self.add_unparsed(rule, rows[index], references[index], predictions[index], lengths, full)
        np.add.at(full, np.array(rows, np.int64)[similarities == 1], rule.weight)
        for index in np.flatnonzero((similarities > 0) & (similarities < 1)).tolist():
            kept, longest = float(similarities[index]).as_integer_ratio()
            self.fractions[rows[index]].append((kept * rule.weight, longest))

    def add_unparsed(
        self, rule: FieldRules, row: int, reference: Any, prediction: Any, lengths: Matrix, full: Matrix
    ) -> None:
        """Add a leaf whose reference is blank, which counts as None; refuse any other that does not parse."""
        if not (rule.comparator and rule.comparator.blank_is_none and is_blank(reference)):
            raise_with_path(row, self.predictions[row], self.references[row], self.rules, self.fields)
        if is_blank(prediction) and self.rules.tree == "paper":
            lengths[row] -= rule.weight
        elif is_blank(prediction):
            full[row] += rule.weight


def texts_of(leaves: list[Any]) -> list[str]:
    """Return leaves as texts."""
    return leaves if set(map(type, leaves)) <= {str} else list(map(str, leaves))


def _is_short_leaf(value: Any) -> bool:
    """Return whether a value is a leaf whose text is known to be short, or a text."""
    return type(value) is str or (type(value) in SCALARS and -_LARGE < value < _LARGE)
