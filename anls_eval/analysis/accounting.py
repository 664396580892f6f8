"""`field_report`: which fields of extracted documents are right, wrong, missing or invented."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import Floats, as_ints, as_list, bytes_array, encode_texts, number_array, text_array
from anls_eval.errors import AnlsError, located
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.markup import Html, element, joined, notebook_page, score_bar, signature_html, table_html
from anls_eval.notes import tree_notes
from anls_eval.registry import read_fields, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, Threshold, read_threshold
from anls_eval.statistics.intervals import (
    LEVEL,
    RESAMPLES,
    Interval,
    check_options,
    interval_of_ratio,
    interval_over_documents,
    interval_words,
)
from anls_eval.text.characters import align_characters
from anls_eval.text.marked import marked_side, shown_text
from anls_eval.tree.accounting import (
    ABSENT,
    EMPTY,
    INVENTED_LEAF,
    MISSING_LEAF,
    OUTCOMES,
    WRONG,
    Accounts,
    CountedLeaves,
    FailedLeaves,
    Numbers,
)
from anls_eval.tree.nodes import plain_value
from anls_eval.tree.scores import add_documents
from anls_eval.tree.single import compare_trees
from anls_eval.types import Extract, Tree

_MAX_SHOWN = 5  # failures of a field, and documents of a failure

_MakeInterval = Callable[[Numbers, Numbers], Interval | None]  # of the sum of parts / the sum of wholes, by document


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
    level: float = LEVEL,
    resamples: int = RESAMPLES,
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
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[FieldReport, list[str]]:
    """Return the report of pairs of trees, and the warnings; both name documents by their ids if there are any."""
    leaves = counted_leaves(given, expected, rules, resolved, least, question_ids)
    notes = tree_notes(given, expected, rules, question_ids, leaves.searched, resolved)
    return report_of_leaves(leaves, len(given), rules, resolved, least, level, resamples, seed), notes


def report_of_leaves(
    leaves: CountedLeaves,
    n: int,
    rules: Protocol,
    resolved: Fields,
    least: Fraction,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> FieldReport:
    """Return the report of the leaves of n pairs of trees."""
    by_document = _table(leaves.rows, leaves.outcomes, n)
    right, wrong, missing, invented = by_document[:ABSENT]
    ratios = {
        "precision": (right, right + wrong + invented),
        "recall": (right, right + wrong + missing),
        "f1": (2 * right, 2 * (right + wrong) + missing + invented),
    }
    perfect = (wrong + missing + invented == 0).astype(np.int64)
    interval = functools.partial(interval_of_ratio, level=level, resamples=resamples, seed=seed)
    intervals = {name: interval(*parts) for name, parts in ratios.items()}
    intervals["perfect"] = interval(perfect, np.ones(n, np.int64))
    by_field = _by_field(leaves, n, interval)
    return FieldReport(
        n=n,
        micro=LeafCounts(*by_document.sum(axis=1).tolist()[:EMPTY]),
        intervals=intervals,
        macro={name: _macro_mean(*parts, level, resamples, seed) for name, parts in ratios.items()},
        perfect=int(perfect.sum()),
        by_field=by_field,
        lost=math.fsum(row.lost for row in by_field),
        match_at=float(least),
        signature=signature(rules, n=n, fields=resolved),
        fields=resolved,
    )


def counted_leaves(
    given: Sequence[Any],
    expected: Sequence[Any],
    rules: Protocol,
    resolved: Fields,
    least: Fraction,
    question_ids: Sequence[str] | None,
) -> CountedLeaves:
    """Count the leaves of pairs of trees; errors name the document by its id, if there are any."""
    accounts = Accounts(given, expected, rules, resolved, least)
    try:
        add_documents(accounts, given, expected, rules, resolved)
        return accounts.counted()
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
    """Count each outcome, a row, in each of a number of groups, a column."""
    counts = np.bincount(outcomes * number + groups, minlength=number * len(OUTCOMES))
    return counts.reshape(len(OUTCOMES), number)


def _macro_mean(parts: Numbers, wholes: Numbers, level: float, resamples: int, seed: int) -> MacroMean:
    """Return the mean over documents of parts / wholes where it exists."""
    exists = wholes > 0
    if not exists.any():
        return MacroMean(None, 0, None)
    ratios = parts[exists] / wholes[exists]
    mean = math.fsum(ratios.tolist()) / len(ratios)
    return MacroMean(mean, len(ratios), interval_over_documents(mean, ratios, level, resamples, seed))


class _Failures:
    """The failed leaves of a field, those with the same outcome and the same two texts together as one kind."""

    def __init__(self, rows: Numbers, outcomes: Numbers, lost: Floats, failed: FailedLeaves) -> None:
        self.sides = _text_column(failed.references), _text_column(failed.predictions)
        numbers, other_numbers = as_ints(self.sides[0].dictionary_encode().indices), np.zeros(len(rows), np.int64)
        again = np.flatnonzero(np.bincount(numbers)[numbers] > 1)  # a text that comes once needs no other
        other_numbers[again] = as_ints(self.sides[1].take(number_array(again)).dictionary_encode().indices)
        codes = (outcomes * len(outcomes) + numbers) * len(outcomes) + other_numbers
        self.order = np.argsort(codes)  # the leaves, kind by kind
        self.starts = np.flatnonzero(np.diff(codes[self.order], prepend=-1))
        self.counts = np.diff(self.starts, append=len(codes))
        self.first = self.order[self.starts]  # a leaf of each kind
        self.rows, self.outcomes = rows, outcomes[self.first]
        self.lost = lost[self.first] * self.counts
        lost = lost[self.order]
        differ = np.flatnonzero(lost != np.repeat(lost[self.starts], self.counts))  # 1 and "1" may lose differently
        for kind in np.unique(np.searchsorted(self.starts, differ, side="right") - 1).tolist():
            self.lost[kind] = math.fsum(lost[self._leaves(kind)].tolist())

    def _leaves(self, kind: int) -> slice:
        return slice(int(self.starts[kind]), int(self.starts[kind] + self.counts[kind]))

    def confusions(self) -> tuple[LeafFailure, ...]:
        """Return the most frequent kinds of wrong leaves."""
        return self._first(np.flatnonzero(self.outcomes == WRONG), -self.counts, -self.lost)

    def worst(self) -> tuple[LeafFailure, ...]:
        """Return the kinds that lost most."""
        return self._first(np.arange(len(self.counts)), -self.lost, -self.counts)

    def _first(self, kinds: Numbers, *ranks: Any) -> tuple[LeafFailure, ...]:
        """Return the first kinds by two ranks, among equals by their texts."""
        before: list[int] = []
        for rank in ranks:  # thousands share one: texts are compared only for those that may be among the first
            if len(before) + len(kinds) > _MAX_SHOWN:
                last = np.partition(rank[kinds], _MAX_SHOWN - len(before) - 1)[_MAX_SHOWN - len(before) - 1]
                before += kinds[rank[kinds] < last].tolist()
                kinds = kinds[rank[kinds] == last]
        level = self._first_by_text(kinds, _MAX_SHOWN - len(before))
        chosen = [(*(rank[kind] for rank in ranks), *self._texts(kind), kind) for kind in (*before, *level)]
        return tuple(self._failure(kind) for *_, kind in sorted(chosen))

    def _first_by_text(self, kinds: Numbers, number: int) -> list[int]:
        """Return the first kinds by their texts."""
        if len(kinds) <= number:
            return list(kinds.tolist())
        sides = (side.take(number_array(self.first[kinds])) for side in self.sides)
        table = pa.table([*sides, number_array(kinds)], ["reference", "prediction", "kind"])
        order = [(name, "ascending") for name in table.column_names]
        return list(pc.take(table["kind"], pc.select_k_unstable(table, number, order)).to_pylist())

    def _texts(self, kind: int) -> tuple[str, str]:
        texts = (side[self.first[kind]].as_py() for side in self.sides)
        one, other = (own if isinstance(own, str) else own.decode("utf-8", "surrogatepass") for own in texts)
        return one, other

    def _failure(self, kind: int) -> LeafFailure:
        reference, prediction = self._texts(kind)
        outcome, leaves = int(self.outcomes[kind]), self.order[self._leaves(kind)]
        return LeafFailure(
            outcome=OUTCOMES[outcome],
            reference=None if outcome == INVENTED_LEAF else reference,
            prediction=None if outcome == MISSING_LEAF else prediction,
            count=len(leaves),
            lost=float(self.lost[kind]),
            rows=tuple(np.unique(self.rows[leaves])[:_MAX_SHOWN].tolist()),
        )


def _text_column(values: list[Any]) -> pa.Array:
    """Return leaves as texts; as UTF-8 if there are lone surrogates."""
    if not all(own is None or isinstance(own, str) for own in values):
        values = [str(plain_value(own)) for own in values]
    try:
        return text_array(values)
    except UnicodeEncodeError:
        return bytes_array(encode_texts(values))


def _by_field(leaves: CountedLeaves, n: int, interval: _MakeInterval) -> list[FieldCounts]:
    """Return the rows of the fields, the most lost points first."""
    found = []
    if (leaves.places[1:] < leaves.places[:-1]).any():  # some were counted one by one
        order = np.argsort(leaves.places, kind="stable")
        leaves = leaves._replace(
            rows=leaves.rows[order],
            places=leaves.places[order],
            outcomes=leaves.outcomes[order],
            lost=leaves.lost[order],
        )
    ends = np.searchsorted(leaves.places, np.arange(len(leaves.paths) + 1)).tolist()
    for path, start, end, failed in zip(leaves.paths, ends, ends[1:], leaves.failed, strict=False):
        rows, outcomes, lost = leaves.rows[start:end], leaves.outcomes[start:end], leaves.lost[start:end]
        table = _table(rows, outcomes, n)
        right, wrong, missing, invented = table[:ABSENT]
        has_reference = right + wrong + missing > 0
        without = n - int(np.count_nonzero(has_reference))
        failing = (outcomes >= WRONG) & (outcomes <= INVENTED_LEAF)
        failures = _Failures(rows[failing], outcomes[failing], lost[failing], failed)
        found.append(
            FieldCounts(
                **dict(zip(OUTCOMES, table.sum(axis=1).tolist(), strict=True)),
                path=path,
                lost=math.fsum(lost[lost != 0].tolist()),
                documents=n - without,
                fabrication_rate=ratio(int(np.count_nonzero(~has_reference & (invented > 0))), without),
                interval=interval(2 * right, 2 * (right + wrong) + missing + invented),
                confusions=failures.confusions(),
                worst=failures.worst(),
            )
        )
    return sorted(found, key=lambda row: (-row.lost, row.path))
