"""`field_report`: which fields of extracted documents are right, wrong, missing or invented."""

from __future__ import annotations

import dataclasses
import heapq
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from anls_eval.arrow import Floats, as_list
from anls_eval.errors import AnlsError, located
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.markup import Html, element, joined, notebook_page, score_bar, signature_html, table_html
from anls_eval.notes import tree_notes
from anls_eval.registry import read_fields, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, Threshold, read_threshold
from anls_eval.statistics.intervals import Interval, check_options, interval_of_ratio, interval_words
from anls_eval.text.characters import align_characters
from anls_eval.text.marked import marked_side, shown_text
from anls_eval.tree.accounting import ABSENT, EMPTY, OUTCOMES, WRONG, Accounts, FailedLeaves, Numbers
from anls_eval.tree.nodes import plain_value
from anls_eval.tree.scores import add_documents
from anls_eval.tree.single import compare_trees
from anls_eval.types import Extract, Tree

_MAX_SHOWN = 5  # failures of a field, and documents of a failure

_MakeInterval = Callable[[Floats, Floats], Interval | None]  # of the sum of parts / the sum of wholes, by document


@dataclasses.dataclass(frozen=True)
class LeafCounts:
    """Leaves by outcome.

    Attributes:
        right: Leaves of the reference whose prediction is similar enough.
        wrong: Leaves of the reference whose prediction is not.
        missing: Leaves of the reference beside nothing.
        invented: Leaves of the prediction beside nothing.
        absent: None and empty texts beside nothing; they are in no ratio.
    """

    right: int
    wrong: int
    missing: int
    invented: int
    absent: int

    @property
    def precision(self) -> float | None:
        """Right / (right + wrong + invented); None for 0 / 0."""
        return ratio(self.right, self.right + self.wrong + self.invented)

    @property
    def recall(self) -> float | None:
        """Right / (right + wrong + missing); None for 0 / 0."""
        return ratio(self.right, self.right + self.wrong + self.missing)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall; None for 0 / 0."""
        return ratio(2 * self.right, 2 * (self.right + self.wrong) + self.missing + self.invented)


@dataclasses.dataclass(frozen=True)
class LeafFailure:
    """A leaf that is wrong, missing or invented, with others of its field whose sides are the same.

    Attributes:
        outcome: ``"wrong"``, ``"missing"`` or ``"invented"``.
        reference: The text of the reference; None for an invented leaf.
        prediction: The text of the prediction; None for a missing leaf.
        count: How many leaves of the field have these two texts.
        lost: The points that they lost together, with weights.
        rows: The first documents with one of them, at most 5.
    """

    outcome: str
    reference: str | None
    prediction: str | None
    count: int
    lost: float
    rows: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class FieldCounts(LeafCounts):
    """What became of the leaves of one field.

    Attributes:
        path: The path, with ``[*]`` for the elements of lists.
        empty: Containers without children.
        lost: Lost points, with weights.
        documents: Documents with a leaf of the reference here.
        fabrication_rate: Documents with an invented leaf here, of those without a leaf of the reference here; None if
            there are none of these.
        interval: The interval of `f1`, by resampling documents; None where `f1` is.
        confusions: The most frequent pairs of texts of wrong leaves, at most 5.
        worst: The failures that lost most, at most 5.
    """

    path: str
    empty: int
    lost: float
    documents: int
    fabrication_rate: float | None
    interval: Interval | None
    confusions: tuple[LeafFailure, ...]
    worst: tuple[LeafFailure, ...]


@dataclasses.dataclass(frozen=True)
class MacroMean:
    """The mean of a ratio over the documents that have it.

    Attributes:
        mean: From 0 to 1; None if no document has it.
        documents: How many documents have it.
        interval: By resampling documents.
    """

    mean: float | None
    documents: int
    interval: Interval | None


@dataclasses.dataclass(frozen=True)
class FieldReport:
    """Accounting of the leaves of n documents.

    Attributes:
        n: Number of documents.
        micro: The counts of all leaves.
        intervals: Intervals of the micro precision, recall and f1, and of the share of perfect documents, by name; None
            where there is no ratio.
        macro: The means over documents of precision, recall and f1, by name.
        perfect: Documents without a wrong, missing or invented leaf.
        by_field: A row for each path, the most lost points first.
        lost: Lost points, with weights: the sum over the fields.
        match_at: Minimum similarity of a leaf that is right.
        signature: The line that `anls_eval.signature` returns.
        fields: How the parts of the trees were compared and weighed.
    """

    n: int
    micro: LeafCounts
    intervals: dict[str, Interval | None]
    macro: dict[str, MacroMean]
    perfect: int
    by_field: list[FieldCounts]
    lost: float
    match_at: float
    signature: str
    fields: Fields

    def _repr_html_(self) -> str:
        """Return the report as notebooks show it: the totals, then the fields that lost most."""
        counts, intervals = self.micro, self.intervals
        totals = [
            (name, getattr(counts, name), "" if own is None else interval_words(own))
            for name, own in ((name, intervals[name]) for name in ("precision", "recall", "f1"))
        ]
        perfect = f"{self.perfect:,} of {self.n:,} documents are perfect; {self.lost:.6g} points were lost."
        heads = ("field", "right", "wrong", "missing", "invented", "f1", "", "lost", "most frequent confusion")
        rows = [
            (
                element("code", shown_text(row.path)),
                *(row.right, row.wrong, row.missing, row.invented, row.f1),
                "" if row.f1 is None else score_bar(row.f1),
                f"{row.lost:.6g}",
                _confusion_html(row.confusions),
            )
            for row in self.by_field
        ]
        return notebook_page(
            element("p", perfect),
            table_html(("all leaves", "", "interval"), totals),
            table_html(heads, rows),
            signature_html(self.signature),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain JSON values, with the ratios."""
        found = dataclasses.asdict(dataclasses.replace(self, fields=Fields({})))
        found["fields"] = self.fields.to_dict()
        found["micro"] |= _ratios_of(self.micro)
        for row, counts in zip(found["by_field"], self.by_field, strict=True):
            row |= _ratios_of(counts)
        return found


def _confusion_html(confusions: Sequence[LeafFailure]) -> Html:
    """Return the first confusion with the characters that differ, and how often it occurs."""
    if not confusions:
        return Html()
    spans = align_characters(confusions[0].reference or "", confusions[0].prediction or "")
    sides = [element("bdi", marked_side(spans, side, 80)) for side in ("answer", "prediction")]
    return joined([sides[0], " → ", sides[1], f" ({confusions[0].count:,})"])


def ratio(part: float, whole: float) -> float | None:
    """Return a ratio; None for 0 / 0."""
    return part / whole if whole else None


def _ratios_of(counts: LeafCounts) -> dict[str, float | None]:
    return {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}


def field_report(
    predictions: Sequence[Tree],
    references: Sequence[Tree],
    *,
    fields: FieldsLike = None,
    match_at: Threshold = 1,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> FieldReport:
    """Count which leaves of n documents are right, wrong, missing or invented, by field.

    Documents are aligned as `anls_star_scores` does. None and empty texts are no leaves. Where the types differ, such
    as a text beside a dict, every leaf of the reference is missing and every leaf of the prediction invented. Counts
    are without weights, lost points with weights.

    Args:
        predictions: n trees: a list or column of what `anls_star_score` takes.
        references: n correct trees, of what `anls_star_score` takes.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.
        match_at: Minimum similarity of a leaf that is right, from 0 to 1.
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts in the alignment. Defaults to the protocol's, 0.5.
        extract: Steps that take the tree out of each prediction that is a text first, by name, such as ``"json"``.
        level: Confidence level of the intervals.
        resamples: Number of resamples of the documents.
        seed: Seed of the resamples.

    Returns:
        The counts and ratios of each field, of all leaves, and by document.

    Raises:
        TypeError: As for `anls_star_scores`.
        ValueError: As for `anls_star_scores`, or an option is out of range.

    Example:
        >>> predictions, references = [{"total": "9.0", "date": "2026-01-02"}], [{"total": 9, "vendor": "ACME"}]
        >>> report = field_report(predictions, references, fields={"$.total": {"compare": "number"}})
        >>> [(row.path, row.right, row.missing, row.invented) for row in report.by_field]
        [('$.date', 0, 0, 1), ('$.vendor', 0, 1, 0), ('$.total', 1, 0, 0)]
        >>> report.micro.precision, report.perfect
        (0.5, 0)
    """
    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    check_options(level, resamples, seed)
    resolved = read_fields(fields, rules) or Fields({})
    least = read_threshold(match_at, "match_at")
    given, expected = as_list(read_column(predictions, "predictions")), as_list(read_column(references, "references"))
    check_same_length(given, expected, "references")
    given = list(map(rules.extracted, given)) if rules.extract else given
    report, notes = account_for_leaves(given, expected, rules, resolved, least, None, level, resamples, seed)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return report


def account_for_leaves(
    given: Sequence[Any],
    expected: Sequence[Any],
    rules: Protocol,
    resolved: Fields,
    least: Fraction,
    question_ids: Sequence[str] | None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[FieldReport, list[str]]:
    """Return the report of pairs of trees, and the warnings; both name documents by their ids if there are any."""
    accounts, leaves = counted_leaves(given, expected, rules, resolved, least, question_ids)
    paths, rows, places, outcomes, lost = leaves
    notes = tree_notes(given, expected, rules, question_ids, sorted(accounts.searched_rows), resolved)
    n = len(given)
    by_document = _table(rows, outcomes, n)
    right, wrong, missing, invented = by_document[:, :ABSENT].T.astype(np.float64)
    ratios = {
        "precision": (right, right + wrong + invented),
        "recall": (right, right + wrong + missing),
        "f1": (2 * right, 2 * (right + wrong) + missing + invented),
    }
    perfect = (wrong + missing + invented == 0).astype(np.float64)

    def interval(parts: Floats, wholes: Floats) -> Interval | None:
        return interval_of_ratio(parts, wholes, level, resamples, seed)

    intervals = {name: interval(*parts) for name, parts in ratios.items()}
    intervals["perfect"] = interval(perfect, np.ones(n))
    failures = _Failures(accounts.failed)
    by_field = _by_field(paths, rows, places, outcomes, lost, n, interval, failures)
    report = FieldReport(
        n=n,
        micro=LeafCounts(*by_document.sum(axis=0).tolist()[:EMPTY]),
        intervals=intervals,
        macro={name: _macro_mean(*parts, interval) for name, parts in ratios.items()},
        perfect=int(perfect.sum()),
        by_field=by_field,
        lost=math.fsum(row.lost for row in by_field),
        match_at=float(least),
        signature=signature(rules, n=n, fields=resolved),
        fields=resolved,
    )
    return report, notes


def counted_leaves(
    given: Sequence[Any],
    expected: Sequence[Any],
    rules: Protocol,
    resolved: Fields,
    least: Fraction,
    question_ids: Sequence[str] | None,
) -> tuple[Accounts, tuple[list[str], Numbers, Numbers, Numbers, Floats]]:
    """Count the leaves of pairs of trees: the accounts, and what `Accounts.outcomes` returns."""
    accounts = Accounts(given, expected, rules, resolved, least)
    try:
        add_documents(accounts, given, expected, rules, resolved)
        return accounts, accounts.outcomes()
    except AnlsError:
        _raise_with_id(given, expected, rules, resolved, question_ids)
        raise


def _raise_with_id(
    given: Sequence[Any],
    expected: Sequence[Any],
    rules: Protocol,
    fields: Fields,
    question_ids: Sequence[str] | None,
) -> None:
    """Raise the error of the first document that cannot be compared, with its id."""
    for question_id, prediction, reference in zip(question_ids or (), given, expected, strict=False):
        try:
            compare_trees(prediction, reference, rules, fields=fields)
        except AnlsError as error:
            raise located(f"question_id {question_id!r}", error) from None


def _table(groups: Numbers, outcomes: Numbers, number: int) -> Numbers:
    """Count the outcomes of each of a number of groups."""
    counts = np.bincount(groups * len(OUTCOMES) + outcomes, minlength=number * len(OUTCOMES))
    return counts.reshape(number, len(OUTCOMES))


def _macro_mean(parts: Floats, wholes: Floats, interval: _MakeInterval) -> MacroMean:
    """Return the mean over documents of parts / wholes where it exists."""
    exists = wholes > 0
    if not exists.any():
        return MacroMean(None, 0, None)
    ratios = parts[exists] / wholes[exists]
    return MacroMean(math.fsum(ratios.tolist()) / len(ratios), len(ratios), interval(ratios, np.ones(len(ratios))))


class _Failures:
    """Failed leaves, those of one field with the same outcome and the same two texts together as one kind."""

    def __init__(self, failed: FailedLeaves) -> None:
        numbers: dict[tuple[int, int, str | None, str | None], int] = {}
        codes = [
            numbers.setdefault(
                (
                    place,
                    outcome,
                    reference if type(reference) is str else _leaf_text(reference),
                    prediction if type(prediction) is str else _leaf_text(prediction),
                ),
                len(numbers),
            )
            for place, outcome, reference, prediction in zip(
                failed.places, failed.outcomes, failed.references, failed.predictions, strict=True
            )
        ]
        self.keys = list(numbers)
        self.places = np.array([key[0] for key in self.keys], np.int64)
        self.are_wrong = np.array([key[1] == WRONG for key in self.keys], bool)
        self.counts = np.bincount(codes, minlength=len(self.keys)) if codes else np.zeros(0, np.int64)
        order = np.argsort(np.array(codes, np.int64), kind="stable")
        self.rows = np.array(failed.rows, np.int64)[order]
        lost = np.array(failed.lost, np.float64)[order]
        self.starts = np.cumsum(self.counts) - self.counts
        self.lost = lost[self.starts]
        for kind in np.flatnonzero(self.counts > 1).tolist():
            self.lost[kind] = math.fsum(lost[self._leaves(kind)].tolist())

    def _leaves(self, kind: int) -> slice:
        return slice(int(self.starts[kind]), int(self.starts[kind] + self.counts[kind]))

    def confusions(self, place: int) -> tuple[LeafFailure, ...]:
        """Return the most frequent kinds of wrong leaves of a field."""
        return self._first(np.flatnonzero((self.places == place) & self.are_wrong), -self.counts, -self.lost)

    def worst(self, place: int) -> tuple[LeafFailure, ...]:
        """Return the kinds of a field that lost most."""
        return self._first(np.flatnonzero(self.places == place), -self.lost, -self.counts)

    def _first(self, kinds: Numbers, first: Any, then: Any) -> tuple[LeafFailure, ...]:
        """Return the first kinds by two ranks, among equals by their texts."""
        # Thousands share a rank: texts are compared only for those that may be among the first.
        order = kinds[np.lexsort((then[kinds], first[kinds]))]
        last = order[:_MAX_SHOWN][-1:]
        near = (first[order] < first[last]) | ((first[order] == first[last]) & (then[order] <= then[last]))
        ranked = heapq.nsmallest(
            _MAX_SHOWN,
            order[near].tolist(),
            key=lambda kind: (first[kind], then[kind], *(text or "" for text in self.keys[kind][2:])),
        )
        return tuple(map(self._failure, ranked))

    def _failure(self, kind: int) -> LeafFailure:
        _, outcome, reference, prediction = self.keys[kind]
        rows = tuple(np.unique(self.rows[self._leaves(kind)])[:_MAX_SHOWN].tolist())
        count, lost = int(self.counts[kind]), float(self.lost[kind])
        return LeafFailure(OUTCOMES[outcome], reference, prediction, count, lost, rows)


def _leaf_text(value: object) -> str | None:
    return None if value is None else str(plain_value(value))


def _by_field(
    paths: list[str],
    rows: Numbers,
    places: Numbers,
    outcomes: Numbers,
    lost: Floats,
    n: int,
    interval: _MakeInterval,
    failures: _Failures,
) -> list[FieldCounts]:
    """Return the rows of the fields, the most lost points first."""
    found = []
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(len(paths) + 1))
    for number, path in enumerate(paths):
        own = order[ends[number] : ends[number + 1]]
        table = _table(rows[own], outcomes[own], n)
        counts = dict(zip(OUTCOMES, table.sum(axis=0).tolist(), strict=True))
        right, wrong, missing, invented = table[:, :ABSENT].T.astype(np.float64)
        has_reference = right + wrong + missing > 0
        without = n - int(np.count_nonzero(has_reference))
        found.append(
            FieldCounts(
                **counts,
                path=path,
                lost=math.fsum(lost[own].tolist()),
                documents=n - without,
                fabrication_rate=ratio(int(np.count_nonzero(~has_reference & (invented > 0))), without),
                interval=interval(2 * right, 2 * (right + wrong) + missing + invented),
                confusions=failures.confusions(number),
                worst=failures.worst(number),
            )
        )
    return sorted(found, key=lambda row: (-row.lost, row.path))
