"""Scores of questions in groups, which may overlap: the interval of each group, and of the mean over the groups."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from anls_eval.statistics.intervals import FEW_UNITS, Interval, confidence_interval, interval_of_units
from anls_eval.statistics.resampling import Floats, Integers, Units
from anls_eval.statistics.tally import Tally

LEVEL = 0.95
RESAMPLES = 10_000


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
        found: dict[str, list[int]] = {}
        for row, names in enumerate(self.groups):
            for name in names:
                found.setdefault(name, []).append(row)
        return dict(sorted(found.items()))

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
        rows = np.array([row for row, names in enumerate(self.groups) for _ in names])
        columns = np.array([numbers[name] for names in self.groups for name in names])
        means = np.array([tally.mean for tally in tallies.values()])
        sizes = np.array([tally.n for tally in tallies.values()])
        parts = (self.scores[rows] - means[columns]) / sizes[columns] / len(means)
        contributions: Floats = np.bincount(rows, parts, len(self.scores)).astype(np.float64)
        if self.codes is None:
            sums, counts = contributions, self.counts
            units_of_groups = sizes
        else:
            sums = np.bincount(self.codes, contributions).astype(np.float64)
            counts = np.ones(len(sums), dtype=np.int64)
            pairs = np.unique(np.stack([columns, self.codes[rows]]), axis=1)
            units_of_groups = np.bincount(pairs[0])
            if units_of_groups.min() < 2:
                return None
        mean = math.fsum(means.tolist()) / len(means)
        number = int(counts.sum())
        units = Units(mean, sums * number, np.ones(len(sums), dtype=np.float64), counts)
        if units.are_equal:  # in every group: then the mean of the bounds of all groups is a bound, too
            intervals = [own for name in tallies if (own := self.interval(name, seed)) is not None]
            low, high = (math.fsum(ends) / len(means) for ends in np.array([[i.low, i.high] for i in intervals]).T)
            found = dataclasses.replace(intervals[0], mean=mean, low=low, high=high)
        else:
            found = interval_of_units(units, 0.0, self.codes is not None, LEVEL, RESAMPLES, seed)
        notes = list(found.notes)
        few = sum(int(own) < FEW_UNITS for own in units_of_groups)
        if few:
            what = "questions" if self.codes is None else "documents"
            notes.append(
                f"{few} of {len(means)} groups have fewer than {FEW_UNITS} {what}: the interval is not reliable"
            )
        n = int(sum(count for count, names in zip(self.counts.tolist(), self.groups, strict=True) if names))
        return dataclasses.replace(found, n=n, notes=tuple(notes))
