"""Running totals of scored questions: small, and exact in whatever order they are added."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy.typing as npt

from anls_eval.errors import Note, Remedy
from anls_eval.statistics.tally import Tally

FIRST = 5
"""The most questions that a message names."""

_MOST_PATHS = 1_000

Path = tuple[str, ...]

Row = tuple[int, str]
"""The number of a row without a question_id among all that were counted, and a path in its tree, or an empty one."""


@dataclasses.dataclass
class Totals:
    """Tallies, counts and notes of scored questions, which add up to the same in any order."""

    # Scores at ("score",), groups at ("by", column, *values), keys of trees at ("key", *path), and others of a scorer.
    tallies: dict[Path, Tally] = dataclasses.field(default_factory=dict)
    counts: Counter[str] = dataclasses.field(default_factory=Counter)  # how often each thing to warn of came up
    first: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # the first questions in which it did
    rows: dict[str, list[Row]] = dataclasses.field(default_factory=dict)  # the same where questions have no ids
    notes: dict[str, None] = dataclasses.field(default_factory=dict)  # warnings that came up while scoring, each once
    # Questions by the text of what a benchmark counts of them, at the same paths as their scores.
    counted: dict[Path, Counter[str]] = dataclasses.field(default_factory=dict)
    paths: dict[str, None] = dataclasses.field(default_factory=dict)  # of references that lack a field, at most 1,000

    @property
    def scores(self) -> Tally:
        """The tally of all scores."""
        return self.at("score")

    @property
    def n(self) -> int:
        """The number of questions."""
        return self.scores.n

    def at(self, *path: str) -> Tally:
        """Return the tally at a path, which is empty if nothing was counted there."""
        return self.tallies.get(path, Tally())

    def tally(self, path: Path, scores: npt.ArrayLike) -> None:
        """Count scores of shape (n,) at a path."""
        self.count(path, Tally.of(scores).counts)

    def count(self, path: Path, counts: Mapping[float, int]) -> None:
        """Add the number of questions by score at a path."""
        self.tallies.setdefault(path, Tally()).counts.update(counts)

    def count_texts(self, path: Path, texts: Iterable[str] | Mapping[str, int]) -> None:
        """Add questions by the text of what a benchmark counts of them."""
        self.counted.setdefault(path, Counter()).update(texts)

    def note(self, what: str, number: int, names: Iterable[str]) -> None:
        """Count something to warn about, and keep the names of the first questions."""
        self.counts[what] += number
        own = self.first.setdefault(what, [])
        own += list(names)[: FIRST - len(own)]

    def note_rows(self, what: str, number: int, rows: Iterable[Row]) -> None:
        """Count something to warn about, and keep the first rows, which have no question_id."""
        self.counts[what] += number
        own = self.rows.setdefault(what, [])
        own += itertools.islice(rows, FIRST - len(own))

    def note_paths(self, paths: Iterable[str]) -> None:
        """Keep paths of references, of which a warning names the nearest to a field that they lack."""
        self.paths |= dict.fromkeys(itertools.islice(paths, max(0, _MOST_PATHS - len(self.paths))))

    def noted(self, what: str) -> tuple[int, list[str]]:
        """Return what `note` counted, and the first names."""
        return self.counts[what], self.first.get(what, [])

    def add(self, other: Totals) -> None:
        """Add the totals of further questions, whose rows come after all that were counted before."""
        before = self.n
        for path, tally in other.tallies.items():
            self.count(path, tally.counts)
        for what, number in other.counts.items():
            self.note(what, number, other.first.get(what, []))
        for what, rows in other.rows.items():
            self.note_rows(what, 0, [(before + row, path) for row, path in rows])
        self.notes |= other.notes
        for path, texts in other.counted.items():
            self.count_texts(path, texts)
        self.note_paths(other.paths)

    def to_json(self) -> str:
        """Return JSON text, in which every number is exact."""
        return json.dumps(
            {
                "tallies": [[path, list(tally.counts.items())] for path, tally in self.tallies.items()],
                "counts": self.counts,
                "first": self.first,
                "rows": self.rows,
                "notes": [_note_parts(note) for note in self.notes],
                "counted": [[path, own] for path, own in self.counted.items()],
                "paths": list(self.paths),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Totals:
        """Read what `to_json` wrote."""
        own = json.loads(text)
        return cls(
            tallies={tuple(path): Tally(Counter(dict(counts))) for path, counts in own["tallies"]},
            counts=Counter(own["counts"]),
            first=own["first"],
            rows={what: [(row, path) for row, path in rows] for what, rows in own["rows"].items()},
            notes=dict.fromkeys(_note_of(*parts) for parts in own["notes"]),
            counted={tuple(path): Counter(counts) for path, counts in own["counted"]},
            paths=dict.fromkeys(own["paths"]),
        )


def _note_parts(note: str) -> tuple[str, list[Any]]:
    """Return the parts of a note, so that it can be told in the words of an interface."""
    return (note.problem, list(map(dataclasses.astuple, note.remedies))) if isinstance(note, Note) else (note, [])


def _note_of(problem: str, remedies: list[Any]) -> str:
    return Note(problem, [Remedy(*parts) for parts in remedies]) if remedies else problem
