"""Scores of questions in groups, which may overlap: the interval of each group, and of the mean over the groups."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from anls_eval.statistics.intervals import (
    FEW_UNITS,
    LEVEL,
    RESAMPLES,
    Comparison,
    Interval,
    compare_scores,
    confidence_interval,
    interval_of_units,
)
from anls_eval.statistics.ranking import holm
from anls_eval.statistics.resampling import Floats, Integers, Units, cluster_sums
from anls_eval.statistics.tally import Tally


def rows_of_groups(groups: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """Return the rows of each group, by name in order, given the groups of each row."""
    found: dict[str, list[int]] = {}
    for row, names in enumerate(groups):
        for name in names:
            found.setdefault(name, []).append(row)
    return dict(sorted(found.items()))


@dataclasses.dataclass(frozen=True, eq=False)
class GroupedScores:
    """k kinds of questions: each with its score, its groups and how many questions there are of it.

    Attributes:
        scores: Shape (k,), in [0, 1].
        counts: Shape (k,): the number of questions.
        groups: Length k: the names of their groups, none or several; a question counts as often as a name occurs.
        codes: Shape (k,): the number of the document, from 0 on; None if questions are independent.
    """

    scores: Floats
    counts: Integers
    groups: Sequence[Sequence[str]]
    codes: Integers | None

    @functools.cached_property
    def rows(self) -> dict[str, list[int]]:
        """The rows of each group, by name in order."""
        return rows_of_groups(self.groups)

    def n(self, name: str) -> int:
        """Return the number of questions of a group."""
        return self.tally(name).n

    def score(self, name: str) -> float:
        """Return the mean score of a group."""
        return self.tally(name).mean

    def tally(self, name: str) -> Tally:
        """Return the tally of a group."""
        rows, counts = self.rows[name], Counter[float]()
        for score, count in zip(self.scores[rows].tolist(), self.counts[rows].tolist(), strict=True):
            counts[score] += count
        return Tally(counts)

    def interval(self, name: str, seed: int) -> Interval | None:
        """Return the interval of the mean of a group; None if all its questions are about one document."""
        if self.codes is None:
            return confidence_interval(self.tally(name), seed=seed)
        rows = self.rows[name]
        documents = self.codes[rows]
        return (
            None
            if len(set(documents.tolist())) == 1
            else confidence_interval(self.scores[rows], clusters=documents, seed=seed)
        )

    def macro_interval(self, seed: int) -> Interval | None:
        """Return the interval of the mean over the groups; None if a group has no interval.

        Questions, or documents, are drawn once for all groups, since a question may be in several. The mean over the
        groups is linear in what each question adds to the mean of each of its groups, with the sizes of the groups as
        they are; its resamples are those of the mean of these contributions.
        """
        tallies = {name: self.tally(name) for name in self.rows}
        numbers = {name: number for number, name in enumerate(tallies)}
        # Sums and draws are in an order that does not depend on that of the questions and of their groups.
        rows = np.array([row for row, names in enumerate(self.groups) for _ in names])
        columns = np.array([numbers[name] for names in self.groups for name in sorted(names)])
        means = np.array([tally.mean for tally in tallies.values()])
        sizes = np.array([tally.n for tally in tallies.values()])
        parts = (self.scores[rows] - means[columns]) / sizes[columns] / len(means)
        contributions: Floats = np.bincount(rows, parts, len(self.scores)).astype(np.float64)
        if self.codes is None:
            kinds, inverse = np.unique(contributions, return_inverse=True)
            counts = np.bincount(inverse, self.counts).astype(np.int64)
            units_of_groups = sizes
        else:
            kinds, counts = np.unique(cluster_sums(contributions, self.codes)[0], return_counts=True)
            pairs = np.unique(np.stack([columns, self.codes[rows]]), axis=1)
            units_of_groups = np.bincount(pairs[0])
            if units_of_groups.min() < 2:
                return None
        mean = math.fsum(means.tolist()) / len(means)
        number = int(counts.sum())
        units = Units(mean, kinds * number, np.ones(len(kinds), dtype=np.float64), counts)
        if units.are_equal:  # in every group: then the mean of the bounds of all groups is a bound, too
            intervals = [own for name in tallies if (own := self.interval(name, seed)) is not None]
            low, high = (math.fsum(ends) / len(means) for ends in np.array([[i.low, i.high] for i in intervals]).T)
            found = dataclasses.replace(intervals[0], mean=mean, low=low, high=high)
        else:
            found = interval_of_units(units, 0.0, self.codes is not None, LEVEL, RESAMPLES, seed)
        notes = (*found.notes, *notes_on_small_groups(units_of_groups.tolist(), self.codes is not None))
        n = int(sum(count for count, names in zip(self.counts.tolist(), self.groups, strict=True) if names))
        return dataclasses.replace(found, n=n, notes=notes)


def notes_on_small_groups(units: Sequence[int], has_documents: bool) -> tuple[str, ...]:
    """Return whether the mean over groups of so many questions, or documents, can have an interval to rely on."""
    few = sum(own < FEW_UNITS for own in units)
    what = "documents" if has_documents else "questions"
    note = f"{few} of {len(units)} groups have fewer than {FEW_UNITS} {what}: the interval is not reliable"
    return (note,) if few else ()


@dataclasses.dataclass(frozen=True)
class GroupDifference:
    """Two systems compared on the questions of a group.

    Attributes:
        group: The name of the group.
        n: Number of questions.
        a: Name of the system with the better rank on all questions.
        b: Name of the other system.
        comparison: Comparison of a with b.
        p_adjusted: The p-value, adjusted by `holm` over all groups and all pairs of systems.
        has_interval: Whether the questions are about more than one document, or independent.
    """

    group: str
    n: int
    a: str
    b: str
    comparison: Comparison
    p_adjusted: float
    has_interval: bool

    @property
    def interval(self) -> Interval | None:
        """The confidence interval of the difference, not adjusted; None if all questions are about one document."""
        return self.comparison.interval if self.has_interval else None


Compare = Callable[[str, str, Integers, "Integers | None"], Comparison]
"""Compares two systems, by name, on some questions, given the documents of these."""


def compare_groups(
    scores_by_name: Mapping[str, Floats], groups: Sequence[Sequence[str]], codes: Integers | None, seed: int
) -> list[GroupDifference]:
    """Compare the scores of all pairs of systems, best first, on every group; groups in order, then pairs."""

    def compare(a: str, b: str, rows: Integers, documents: Integers | None) -> Comparison:
        return compare_scores(scores_by_name[a][rows], scores_by_name[b][rows], documents, LEVEL, RESAMPLES, seed)

    return compare_groups_by(compare, list(scores_by_name), groups, codes)


def compare_groups_by(
    compare: Compare, names: Sequence[str], groups: Sequence[Sequence[str]], codes: Integers | None
) -> list[GroupDifference]:
    """Compare all pairs of systems, best first, on every group; groups in order, then pairs."""
    rows = rows_of_groups(groups)
    found = []
    for group, (a, b) in itertools.product(rows, itertools.combinations(names, 2)):
        own = np.array(list(dict.fromkeys(rows[group])))
        documents = None if codes is None else np.unique(codes[own], return_inverse=True)[1]
        comparison = compare(a, b, own, documents)
        found.append((group, len(own), a, b, comparison, documents is None or int(documents.max()) > 0))
    adjusted = holm([comparison.p_value for *_, comparison, _ in found]).tolist()
    return [
        GroupDifference(group, n, a, b, comparison, p_adjusted, has_interval)
        for (group, n, a, b, comparison, has_interval), p_adjusted in zip(found, adjusted, strict=True)
    ]
