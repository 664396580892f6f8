"""Figures that are no mean, such as a micro F1: questions by what a benchmark counts of them, and resampled."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from anls_eval.statistics import Comparison, Interval
from anls_eval.statistics.groups import notes_on_small_groups, rows_of_groups
from anls_eval.statistics.intervals import FEW_UNITS, LEVEL
from anls_eval.statistics.ranking import ALPHA
from anls_eval.submission.exchanges import MOST_CHANGES, Change, Key, sums_of_exchanges

if TYPE_CHECKING:
    from anls_eval.leaderboards.benchmark import Benchmark

Integers = npt.NDArray[np.int64]

_DRAWS = 1_000  # each adds up a corpus again
_SLACK = 1e-12  # the effect of another order of summing on a difference

_Item = TypeVar("_Item", bound=Any)


class CountTable:
    """The distinct counts of questions, so that those of many questions are added up at once."""

    def __init__(self, rules: Benchmark, texts: Iterable[str]) -> None:
        """Read counts from texts, as `Benchmark.read_counts` does."""
        self.rules = rules
        self.numbers = {text: number for number, text in enumerate(sorted(set(texts)))}
        self._kinds = list(map(rules.read_counts, self.numbers))
        keys = list(dict.fromkeys(itertools.chain.from_iterable(self._kinds)))
        self._of_scores = [key for key in keys if any(isinstance(own.get(key), tuple) for own in self._kinds)]
        self._of_numbers = [key for key in keys if key not in self._of_scores]
        counts = [[own.get(key, 0) for key in self._of_numbers] for own in self._kinds]
        self._table = np.array(counts, dtype=np.int64).reshape(len(self._kinds), len(self._of_numbers))

    def rows(self, texts: Iterable[str]) -> list[int]:
        """Return the row of the counts of each question."""
        return [self.numbers[text] for text in texts]

    def headline(self, rows: Sequence[int], times: npt.ArrayLike) -> float:
        """Return the headline of the questions in some rows, each of which occurs so often."""
        number: Integers = np.bincount(rows, times, len(self.numbers)).astype(np.int64)
        return self._headline((number @ self._table).tolist(), enumerate(number.tolist()) if self._of_scores else ())

    def _headline(self, numbers: Iterable[int], times: Iterable[tuple[int, int]]) -> float:
        """Return the headline of sums of numbers, and of the scores of rows, each of which occurs so often."""
        sums: dict[Any, Any] = dict(zip(self._of_numbers, numbers, strict=True))
        drawn = [(self._kinds[row], number) for row, number in times if number]
        for key in self._of_scores:
            sums[key] = tuple(itertools.chain.from_iterable(own.get(key, ()) * number for own, number in drawn))
        return self.rules.headline_of(sums)

    def sums(self, rows: Sequence[int], times: Iterable[int] = itertools.repeat(1)) -> Counter[Key]:
        """Return the sums of numbers, and how often each row with scores occurs, on which the headline depends."""
        found: Counter[Key] = Counter()
        for row, number in zip(rows, times, strict=False):
            for key, own in enumerate(self._table[row].tolist()):
                found["number", key] += own * number
            if any(self._kinds[row].get(key) for key in self._of_scores):
                found["row", row] += number
        return found

    def headline_of_sums(self, sums: Mapping[Key, int], change: Mapping[Key, int]) -> float:
        """Return the headline of `sums` and a change to them."""
        changed = {**sums, **{key: sums.get(key, 0) + by for key, by in change.items()}}
        numbers = (changed.get(("number", key), 0) for key in range(len(self._of_numbers)))
        return self._headline(numbers, sorted((row, times) for (what, row), times in changed.items() if what == "row"))

    @functools.cached_property
    def alone(self) -> npt.NDArray[np.float64]:
        """The headline of each row alone."""
        return np.array([self.headline([row], [1]) for row in range(len(self.numbers))])


class Units(Generic[_Item]):
    """What is drawn in a resample: questions of some distinct kinds, the `items`, or whole documents of them."""

    def __init__(self, items: Sequence[_Item], counts: Sequence[int], codes: Sequence[int] | None = None) -> None:
        """Take the kind of each question and its number, or with documents in `codes`, one question each."""
        self.n, self.has_clusters = sum(counts), codes is not None
        units: Counter[tuple[_Item, ...]] = Counter()
        if codes is None:
            for item, count in zip(items, counts, strict=True):
                units[item,] += count
        else:
            documents: dict[int, list[_Item]] = {}
            for item, code in zip(items, codes, strict=True):
                documents.setdefault(code, []).append(item)
            units.update(tuple(sorted(own)) for own in documents.values())
        ordered = sorted(units)  # so that resamples do not depend on the order of the questions
        self.items = sorted(set(itertools.chain.from_iterable(ordered)))
        places = {item: place for place, item in enumerate(self.items)}
        self._item_of = np.array([places[item] for own in ordered for item in own], dtype=np.int64)
        self._unit_of = np.repeat(np.arange(len(ordered)), list(map(len, ordered)))
        self._counts: Integers = np.array([units[own] for own in ordered], dtype=np.int64)

    @property
    def number(self) -> int:
        """The number of questions, or of documents."""
        return int(self._counts.sum())

    @property
    def times(self) -> Integers:
        """How often each item occurs."""
        return self._of_items(self._counts)

    def draws(self, seed: int) -> Iterator[Integers]:
        """Yield how often each item occurs in each resample."""
        random = np.random.default_rng(seed)
        for _ in range(_DRAWS):
            yield self._of_items(random.multinomial(self.number, self._counts / self.number))

    def kinds(self) -> Iterator[tuple[list[int], int]]:
        """Yield the places in `items` of each kind of unit, and the number of these units."""
        places = np.split(self._item_of, np.flatnonzero(np.diff(self._unit_of)) + 1)
        yield from zip((own.tolist() for own in places), self._counts.tolist(), strict=True)

    def order(self) -> list[tuple[_Item, int]]:
        """Return what tells units from others."""
        return [(self.items[place], number) for places, number in self.kinds() for place in places]

    def flips(self, number: int, seed: int) -> Iterator[tuple[Integers, Integers]]:
        """Yield how often each item is left and exchanged, if each unit is exchanged with a probability of one half."""
        random = np.random.default_rng(seed)
        for _ in range(number):
            exchanged = random.binomial(self._counts, 0.5)
            yield self._of_items(self._counts - exchanged), self._of_items(exchanged)

    def _of_items(self, of_units: Integers) -> Integers:
        return np.bincount(self._item_of, of_units[self._unit_of], len(self.items)).astype(np.int64)


def _interval(value: float, resampled: Iterable[float], units: Units[Any], lowest: float) -> Interval:
    """Return the interval between quantiles of resamples: the percentile bootstrap (Efron, 1979)."""
    tail = (1 - LEVEL) / 2
    scores = np.array(list(resampled))
    low, high = np.quantile(scores, [tail, 1 - tail]).tolist()
    few = f"the interval rests on {units.number} documents, too few to trust it"
    return Interval(
        mean=value,
        low=max(low, lowest),
        high=min(high, 1.0),
        level=LEVEL,
        n=units.n,
        clusters=units.number if units.has_clusters else None,
        standard_error=float(scores.std(ddof=1)),
        method="percentile bootstrap",
        notes=(few,) if units.number < FEW_UNITS else (),
    )


def counted_interval(table: CountTable, units: Units[int], seed: int) -> Interval:
    """Return the interval of the headline of questions, whose kinds are rows of the table."""
    scores = (table.headline(units.items, draw) for draw in units.draws(seed))
    return _interval(table.headline(units.items, units.times), scores, units, 0.0)


def compare_counted(
    table: CountTable, a: Sequence[int], b: Sequence[int], codes: Sequence[int] | None, seed: int, tests: int
) -> Comparison:
    """Compare the headlines of two systems, given the rows of their counts of the same questions.

    The p-value comes from a permutation test as in `paired_comparison`: if the systems are equally good, their answers
    to a question, or to all of a document, can be exchanged. All exchanges are counted by what they add up to, or if
    these are too many sums, exchanges are drawn. That of b with a is the mirror image, also where something is drawn.
    """
    units, others = (Units(list(zip(*both, strict=True)), [1] * len(a), codes) for both in ((a, b), (b, a)))
    if units.order() <= others.order():
        return _compare_counted(table, units, seed, tests)
    return _compare_counted(table, others, seed, tests).mirrored


def _compare_counted(table: CountTable, units: Units[tuple[int, int]], seed: int, tests: int) -> Comparison:
    """Compare the headlines of two systems, given the rows of both for each question."""
    of_a, of_b = ([item[side] for item in units.items] for side in (0, 1))

    def difference(times: Integers) -> float:
        return table.headline(of_a, times) - table.headline(of_b, times)

    observed = difference(units.times)
    least = abs(observed) - _SLACK
    p_value = _p_value_of_all(table, units, of_a, of_b, least)
    gains = np.repeat(table.alone[of_a] - table.alone[of_b], units.times)
    return Comparison(
        difference=observed,
        p_value=_p_value_drawn(table, units, of_a, of_b, least, tests, seed) if p_value is None else p_value,
        wins=int(np.count_nonzero(gains > 0)),
        losses=int(np.count_nonzero(gains < 0)),
        ties=int(np.count_nonzero(gains == 0)),
        _make_interval=lambda: _interval(observed, map(difference, units.draws(seed)), units, -1.0),
    )


def _p_value_of_all(
    table: CountTable, units: Units[tuple[int, int]], of_a: list[int], of_b: list[int], least: float
) -> float | None:
    """Return the share of all exchanges whose difference is at least so large; None if they have too many sums."""
    changes: Counter[Change] = Counter()
    for places, number in units.kinds():
        unlike = [place for place in places if of_a[place] != of_b[place]]
        change = table.sums([of_b[place] for place in unlike])
        change.subtract(table.sums([of_a[place] for place in unlike]))
        if own := frozenset((key, by) for key, by in change.items() if by):
            changes[own] += number
        if len(changes) > MOST_CHANGES:
            return None
    sums = sums_of_exchanges(changes)
    if sums is None:
        return None
    first, second = (table.sums(own, units.times.tolist()) for own in (of_a, of_b))
    extreme = 0
    for added, ways in sums.items():
        taken = {key: -by for key, by in added}
        difference = table.headline_of_sums(first, dict(added)) - table.headline_of_sums(second, taken)
        extreme += ways * (abs(difference) >= least)
    return extreme / (1 << changes.total())


def _p_value_drawn(
    table: CountTable,
    units: Units[tuple[int, int]],
    of_a: list[int],
    of_b: list[int],
    least: float,
    tests: int,
    seed: int,
) -> float:
    """Return the share of drawn exchanges whose difference is at least so large.

    They are enough for a p-value that is adjusted for so many `tests` to be significant. The observed difference counts
    as one of them, so that the p-value is never 0 (Phipson and Smyth, Permutation P-values Should Never Be Zero, 2010).
    """
    flips = max(_DRAWS, math.ceil(2 * tests / ALPHA))
    extreme = 1
    for left, moved in units.flips(flips, seed):
        times = [*left, *moved]
        extreme += abs(table.headline([*of_a, *of_b], times) - table.headline([*of_b, *of_a], times)) >= least
    return extreme / (flips + 1)


@dataclasses.dataclass(frozen=True, eq=False)
class GroupedCounts:
    """k kinds of questions by groups, as `GroupedScores`, with their rows in a table of counts in place of scores."""

    table: CountTable
    kinds: Sequence[int]
    counts: Integers
    groups: Sequence[Sequence[str]]
    codes: Integers | None

    @functools.cached_property
    def rows(self) -> dict[str, list[int]]:
        """The rows of each group, by name in order."""
        return rows_of_groups(self.groups)

    def n(self, name: str) -> int:
        """Return the number of questions of a group."""
        return int(self.counts[self.rows[name]].sum())

    def score(self, name: str) -> float:
        """Return the headline of a group."""
        rows = self.rows[name]
        return self.table.headline([self.kinds[row] for row in rows], self.counts[rows])

    def interval(self, name: str, seed: int) -> Interval | None:
        """Return the interval of the headline of a group; None if all its questions are about one document."""
        rows = self.rows[name]
        codes = None if self.codes is None else self.codes[rows].tolist()
        units = Units([self.kinds[row] for row in rows], self.counts[rows].tolist(), codes)
        return None if units.has_clusters and units.number == 1 else counted_interval(self.table, units, seed)

    def macro_interval(self, seed: int) -> Interval | None:
        """Return the interval of the mean over the groups; None if a group has no interval."""
        codes = None if self.codes is None else self.codes.tolist()
        if codes is not None and any(len({codes[row] for row in rows}) == 1 for rows in self.rows.values()):
            return None
        items = [(kind, tuple(sorted(names))) for kind, names in zip(self.kinds, self.groups, strict=True)]
        units = Units(items, self.counts.tolist(), codes)
        rows = rows_of_groups([names for _, names in units.items])
        kinds = {name: [units.items[row][0] for row in own] for name, own in rows.items()}

        def mean(times: Integers) -> float:
            return math.fsum(self.table.headline(kinds[name], times[own]) for name, own in rows.items()) / len(rows)

        found = _interval(mean(units.times), map(mean, units.draws(seed)), units, 0.0)
        sizes = [
            int(self.counts[own].sum()) if codes is None else len({codes[row] for row in own})
            for own in self.rows.values()
        ]
        return dataclasses.replace(found, notes=(*found.notes, *notes_on_small_groups(sizes, codes is not None)))


def grouped_counts(
    rules: Benchmark, rows: Iterable[tuple[Sequence[str], str, int]], codes: Integers | None = None
) -> GroupedCounts:
    """Return questions by groups, given the groups, the text of the counts and the number of each kind."""
    found = list(rows)
    table = CountTable(rules, (text for _, text, _ in found))
    counts = np.array([count for *_, count in found], dtype=np.int64)
    return GroupedCounts(table, table.rows(text for _, text, _ in found), counts, [own for own, *_ in found], codes)


class CountedSystems:
    """The same questions answered by several systems, by what is counted of each."""

    def __init__(self, rules: Benchmark, texts: Mapping[str, Sequence[str]], codes: Sequence[int] | None) -> None:
        """Take the texts of the counts of each system, and the documents of the questions."""
        self._table = CountTable(rules, itertools.chain.from_iterable(texts.values()))
        self._rows = {name: self._table.rows(own) for name, own in texts.items()}
        self._codes = codes

    def interval(self, name: str, seed: int) -> Interval:
        """Return the interval of the headline of a system."""
        rows = self._rows[name]
        return counted_interval(self._table, Units(rows, [1] * len(rows), self._codes), seed)

    def compare(self, a: str, b: str, seed: int, tests: int = 1) -> Comparison:
        """Compare two systems on all questions."""
        return compare_counted(self._table, self._rows[a], self._rows[b], self._codes, seed, tests)

    def compare_on(self, a: str, b: str, rows: Integers, codes: Integers | None, seed: int, tests: int) -> Comparison:
        """Compare two systems on some questions, with the documents of these."""
        first, second = ([own[row] for row in rows.tolist()] for own in (self._rows[a], self._rows[b]))
        return compare_counted(self._table, first, second, None if codes is None else codes.tolist(), seed, tests)
