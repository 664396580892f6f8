"""How many questions show a drop, and how small a drop these questions show."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from anls_eval.decisions.baseline import Baseline
from anls_eval.decisions.gate import ALPHA
from anls_eval.errors import AnlsError
from anls_eval.statistics.bounds import Sample
from anls_eval.statistics.resampling import NORMAL, Floats, Integers, cluster_codes
from anls_eval.submission.score import ScoredQuestions

POWER = 0.8
CHANGED = (0.02, 0.05, 0.1, 0.2)


@dataclasses.dataclass(frozen=True)
class Power:
    """What a share of changed answers lets a gate see.

    Attributes:
        changed: Share of the questions whose score differs.
        smallest_drop: The smallest drop that as many questions as these show in 4 of 5 runs.
        questions: How many questions show a drop of the asked size in 4 of 5 runs.
    """

    changed: float
    smallest_drop: float
    questions: int


def power_of(new: ScoredQuestions, old: Baseline | None, drop: float, cluster_by: str | None) -> list[Power]:
    """Return the power of these questions: one row for two systems, one for each assumed share of changes for one."""
    if not drop:
        raise AnlsError("expected the drop to be shown, above 0, such as 0.01", option="max_drop", value=drop)
    documents = None if cluster_by is None else new.documents(cluster_by)
    codes = None if documents is None else cluster_codes(documents, len(documents))
    if old is None:
        return assumed_power(new.scores, codes, drop)
    return [paired_power(new.scores - old.scores_for(Baseline.of(new)), codes, drop)]


def paired_power(differences: Floats, codes: Integers | None, drop: float) -> Power:
    """Return the power to see a drop, from the differences between two systems, each shape (n,)."""
    sample = Sample.of(differences, codes, -1.0)
    changed = np.count_nonzero(differences) / len(differences)
    return _power(changed, sample.deviation, len(differences), len(sample.sums), sample.unseen_size, drop)


def assumed_power(scores: Floats, codes: Integers | None, drop: float) -> list[Power]:
    """Return the power for several shares of changed answers, from the scores of one system.

    An answer changes into one with the score of another question, drawn from those with a different score; all scores
    being equal, it changes by a whole point. Changes within a document are taken as independent.
    """
    values, counts = np.unique(scores, return_counts=True)
    shares = counts / len(scores)
    pairs = np.outer(shares, shares)
    differing = 1 - float(pairs.trace())
    squares = float((pairs * np.subtract.outer(values, values) ** 2).sum()) / differing if len(values) > 1 else 1.0
    sample = Sample.of(scores, codes)
    return [
        # A document of k questions has k times the variance of a question, and k² in the squared mean size.
        _power(
            changed,
            math.sqrt(changed * squares / float(sample.sizes.mean())),
            len(scores),
            len(sample.sums),
            sample.unseen_size,
            drop,
        )
        for changed in CHANGED
    ]


def _power(changed: float, deviation: float, questions: int, units: int, unseen_size: float, drop: float) -> Power:
    """Return the power of `units` questions or documents with this standard deviation.

    The bound is about z(95 %) standard errors and the share of the unseen unit away from the difference; the difference
    is z(80 %) standard errors nearer in 1 of 5 runs. Solved for the drop, and for the number of units.
    """
    spread = (NORMAL.inv_cdf(1 - ALPHA) + NORMAL.inv_cdf(POWER)) * deviation
    unseen = unseen_size * units / questions
    root = (spread + math.sqrt(spread**2 + 4 * drop * unseen)) / (2 * drop)
    return Power(
        changed=changed,
        smallest_drop=min(spread / math.sqrt(units) + unseen / units, 1.0),
        questions=math.ceil(root**2 * questions / units),
    )
