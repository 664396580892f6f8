"""Which fields of documents differ between systems, with paired intervals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from anls_eval.analysis.field_credits import Credits, field_credits, paired_credits
from anls_eval.arrow import as_list
from anls_eval.rules.protocol import Protocol
from anls_eval.statistics.groups import GroupDifference
from anls_eval.statistics.intervals import LEVEL, RESAMPLES, compare_scores
from anls_eval.statistics.ranking import Ranking, holm
from anls_eval.statistics.resampling import Integers, cluster_codes
from anls_eval.submission.score import QuestionScores, ScoredQuestions
from anls_eval.submission.systems import ScoredSystems, in_order_of

if TYPE_CHECKING:
    from typing import TypeGuard

    from anls_eval.leaderboards.base import Leaderboard
    from anls_eval.leaderboards.benchmark import Benchmark


def has_fields(rules: Protocol | Leaderboard | Benchmark) -> TypeGuard[Protocol]:
    """Return whether answers are documents whose fields have scores."""
    return isinstance(rules, Protocol) and bool(rules.tree)


def field_differences(found: ScoredSystems, ranking: Ranking, seed: int = 0) -> list[GroupDifference]:
    """Compare the mean credit of each field between all pairs of systems, the largest differences of a pair first.

    Fields in which no document of a pair differs are left out, but count as tests. For texts there are none.
    """
    rules = found.questions.rules
    if not has_fields(rules):
        return []
    names = [own.name for own in ranking.systems]
    scored_by = rules.with_extract("none")  # answers have been taken out
    of_system = {name: _credits(found.systems[name], found.questions, scored_by) for name in names}
    codes = None if found.clusters is None else cluster_codes(found.clusters, len(found.clusters))
    return compare_fields(of_system, names, codes, seed)


def _credits(own: ScoredQuestions, first: QuestionScores, rules: Protocol) -> dict[str, Credits]:
    ordered = in_order_of(own, first)
    trees = as_list(ordered.predictions), as_list(ordered.answers)
    return field_credits(*trees, rules, ordered.fields, ordered.question_ids)


def compare_fields(
    of_system: dict[str, dict[str, Credits]], names: Sequence[str], codes: Integers | None, seed: int
) -> list[GroupDifference]:
    """Compare all pairs of systems, best first, on every field."""
    paths = sorted(set().union(*of_system.values()))
    tests = list(itertools.product(itertools.combinations(names, 2), paths))
    p_values = np.ones(len(tests))
    changed = {}
    for number, ((a, b), path) in enumerate(tests):
        sides = of_system[b].get(path), of_system[a].get(path)
        if sides == (None, None):
            continue
        rows, theirs, ours = paired_credits(*sides)
        if np.array_equal(ours, theirs):
            continue
        documents = None if codes is None else np.unique(codes[rows], return_inverse=True)[1]
        comparison = compare_scores(ours, theirs, documents, LEVEL, RESAMPLES, seed)
        p_values[number] = comparison.p_value
        changed[number] = (path, len(rows), a, b, comparison, documents is None or int(documents.max()) > 0)
    adjusted = holm(p_values).tolist() if len(tests) else []
    differences = [
        GroupDifference(path, n, a, b, comparison, adjusted[number], has_interval)
        for number, (path, n, a, b, comparison, has_interval) in changed.items()
    ]
    place = {name: number for number, name in enumerate(names)}
    return sorted(
        differences, key=lambda own: (place[own.a], place[own.b], -abs(own.comparison.difference * own.n), own.group)
    )
