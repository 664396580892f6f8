"""Whether a new system may replace an old one: is a drop of the score proven, ruled out, or neither?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from anls_eval.analysis.field_credits import paired_credits
from anls_eval.decisions.baseline import Baseline
from anls_eval.errors import AnlsError
from anls_eval.statistics.bounds import Sample
from anls_eval.statistics.ranking import holm
from anls_eval.statistics.resampling import Floats, Integers, cluster_codes, exact_sum
from anls_eval.submission.score import ScoredQuestions, no_value_note

ALPHA = 0.05

Verdict = Literal["failed", "passed", "undecided"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """A new system compared with the old one, on all questions, one group of them, or one field of documents.

    Attributes:
        column: The column of the group, or ``"field"``; empty for all questions.
        group: Its value, or the path of the field.
        n: Number of questions.
        documents: Number of documents, or None if questions were taken as independent.
        changed: Number of questions whose score differs.
        old: Mean score of the old system.
        new: Mean score of the new system.
        difference: New minus old.
        low: One-sided 95 % lower bound of the difference.
        high: One-sided 95 % upper bound.
        p_drop: Of the test that the drop is at most the allowed one, adjusted by Holm over all comparisons of a run.
        p_no_drop: Of the test that the drop is at least the allowed one; not adjusted.
        verdict: ``"failed"``, ``"passed"`` or ``"undecided"``.
        is_field: Whether the mean credit of a field was compared, in the documents that have it.
    """

    column: str
    group: str
    n: int
    documents: int | None
    changed: int
    old: float
    new: float
    difference: float
    low: float
    high: float
    p_drop: float
    p_no_drop: float
    verdict: Verdict
    is_field: bool = False

    @property
    def name(self) -> str:
        """The group as ``column=value``, the path of the field, or ``all questions``."""
        if self.is_field:
            return self.group
        return f"{self.column}={self.group}" if self.column else "all questions"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Minimum:
    """A score compared with a minimum.

    Attributes:
        minimum: The minimum.
        score: The score.
        low: Its one-sided 95 % lower bound.
        verdict: ``"failed"`` if the score is below the minimum, ``"passed"`` if its lower bound is not, or else
            ``"undecided"``.
    """

    minimum: float
    score: float
    low: float
    verdict: Verdict


@dataclasses.dataclass(frozen=True, kw_only=True)
class GateResult:
    """What a gate found.

    Attributes:
        verdict: ``"failed"`` if anything failed, ``"passed"`` if everything passed, or else ``"undecided"``.
        is_open: Whether the new system may pass: not failed and, if strict, not undecided.
        max_drop: The drop that is allowed.
        strict: Whether undecided counts as failed.
        comparisons: All questions first, then the groups. Empty if there is no baseline.
        minimum: The comparison with the minimum score, if there is one.
        signature: The signature of the new scores.
        notes: Sentences to read beside the verdict.
    """

    verdict: Verdict
    is_open: bool
    max_drop: float
    strict: bool
    comparisons: tuple[Comparison, ...]
    minimum: Minimum | None
    signature: str
    notes: tuple[str, ...]

    @property
    def checks(self) -> tuple[Comparison | Minimum, ...]:
        """The comparisons and the minimum."""
        return (*self.comparisons, *([] if self.minimum is None else [self.minimum]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return dataclasses.asdict(self)


def run_gate(
    scored: ScoredQuestions,
    baseline: Baseline | None,
    *,
    max_drop: float = 0.0,
    strict: bool = False,
    min_score: float | None = None,
    by: Sequence[str] = (),
    by_field: bool = False,
    cluster_by: str | None = None,
) -> GateResult:
    """Compare a new system with a baseline, question by question, and with a minimum score.

    The tests and bounds are those of `statistics.bounds.Sample`: where the true drop is exactly `max_drop`, each of
    *failed* and *passed* comes up in at most 5 % of runs.

    Args:
        scored: The new system, from `score_questions`, with the columns of `by` and `cluster_by`.
        baseline: The scores of the old system.
        max_drop: The drop of the mean score that is allowed, in [0, 1].
        strict: Whether undecided counts as failed.
        min_score: The minimum of the new score, in [0, 1].
        by: Columns whose groups are compared, too.
        by_field: Whether the mean credit of each field of documents is compared, too.
        cluster_by: The column with the document of each question.

    Returns:
        The verdict with all comparisons.

    Raises:
        AnlsError: The baseline has other questions or rules; an option is out of range; or there is nothing to compare.
    """
    check_gate_options(max_drop, min_score)
    new = Baseline.of(scored, by_field=by_field)
    documents = None if cluster_by is None else scored.documents(cluster_by)
    codes = None if documents is None else cluster_codes(documents, len(documents))
    blank = {name: sum(not own for own in scored.columns[name]) for name in by}
    notes = [no_value_note(count, len(scored.scores), name) for name, count in blank.items() if count]
    comparisons: tuple[Comparison, ...] = ()
    if baseline is not None:
        parts = _parts(scored, baseline.scores_for(new), codes, by)
        if by_field:
            parts += _field_parts(baseline, new, codes)
        comparisons = _compared(parts, max_drop)
        notes += baseline.notes_on(new)
        if strict and max_drop == 0:
            notes.append("with a maximum drop of 0, strict passes only an improvement that is proven")
    minimum = None if min_score is None else _minimum(scored.scores, codes, min_score)
    verdicts = {own.verdict for own in comparisons} | ({minimum.verdict} if minimum else set())
    verdict: Verdict = "failed" if "failed" in verdicts else "passed" if verdicts == {"passed"} else "undecided"
    return GateResult(
        verdict=verdict,
        is_open=verdict == "passed" or (verdict == "undecided" and not strict),
        max_drop=max_drop,
        strict=strict,
        comparisons=comparisons,
        minimum=minimum,
        signature=scored.submission.signature,
        notes=tuple(notes),
    )


def check_gate_options(max_drop: float, min_score: float | None) -> None:
    """Refuse a maximum drop or a minimum score outside [0, 1]."""
    for name, value in (("max_drop", max_drop), ("min_score", min_score)):
        if value is not None and not 0 <= value <= 1:
            raise AnlsError("expected a number from 0 to 1, such as 0.01", option=name, value=value)


class _Part(NamedTuple):
    """What is compared: scores of both systems, and the number of each question's document."""

    column: str
    group: str
    new: Floats
    old: Floats
    codes: Integers | None
    is_field: bool = False

    def sample(self) -> Sample:
        """Return the differences."""
        return Sample.of(self.new - self.old, self.codes, -1.0)


def _parts(scored: ScoredQuestions, old: Floats, codes: Integers | None, by: Sequence[str]) -> list[_Part]:
    """Return all questions and every group."""
    rows_of = [("", "", np.arange(len(old))), *_groups(scored, by)]
    return [
        _Part(column, group, scored.scores[rows], old[rows], _renumbered(codes, rows))
        for column, group, rows in rows_of
    ]


def _field_parts(baseline: Baseline, new: Baseline, codes: Integers | None) -> list[_Part]:
    """Return every field."""
    old_credits, new_credits = baseline.credits_for(new), new.credits_for(new)
    found = []
    for path in sorted({**old_credits, **new_credits}):
        rows, old, own = paired_credits(old_credits.get(path), new_credits.get(path))
        found.append(_Part("field", path, own, old, _renumbered(codes, rows), is_field=True))
    return found


def _compared(parts: Sequence[_Part], max_drop: float) -> tuple[Comparison, ...]:
    """Compare the systems on every part."""
    samples = [part.sample() for part in parts]
    p_drops = holm([sample.p_below(-max_drop) for sample in samples]).tolist()
    found = zip(parts, samples, p_drops, strict=True)
    return tuple(_comparison(part, sample, p_drop, max_drop) for part, sample, p_drop in found)


def _groups(scored: ScoredQuestions, by: Sequence[str]) -> Iterator[tuple[str, str, npt.NDArray[np.int64]]]:
    """Yield each column, each of its values and the rows that have it."""
    for column in by:
        rows: dict[str, list[int]] = {}
        for row, values in enumerate(scored.columns[column]):
            for value in dict.fromkeys(values):
                rows.setdefault(value, []).append(row)
        for value in sorted(rows):
            yield column, value, np.array(rows[value])


def _renumbered(codes: Integers | None, rows: Integers) -> Integers | None:
    """Return the clusters of some questions, numbered from 0 on."""
    return None if codes is None else np.unique(codes[rows], return_inverse=True)[1]


def _comparison(part: _Part, sample: Sample, p_drop: float, max_drop: float) -> Comparison:
    p_no_drop = sample.p_above(-max_drop)
    return Comparison(
        column=part.column,
        group=part.group,
        n=len(part.new),
        documents=None if part.codes is None else len(sample.sums),
        changed=int(np.count_nonzero(part.new != part.old)),
        old=exact_sum(part.old) / len(part.old),
        new=exact_sum(part.new) / len(part.new),
        difference=exact_sum(part.new, -part.old) / len(part.new),
        low=sample.lower_bound(1 - ALPHA),
        high=sample.upper_bound(1 - ALPHA),
        p_drop=p_drop,
        p_no_drop=p_no_drop,
        verdict="failed" if p_drop <= ALPHA else "passed" if p_no_drop <= ALPHA else "undecided",
        is_field=part.is_field,
    )


def _minimum(scores: Floats, codes: Integers | None, minimum: float) -> Minimum:
    sample = Sample.of(scores, codes)
    score, low = exact_sum(scores) / len(scores), sample.lower_bound(1 - ALPHA)
    verdict: Verdict = "failed" if score < minimum else "passed" if low >= minimum else "undecided"
    return Minimum(minimum=minimum, score=score, low=low, verdict=verdict)
