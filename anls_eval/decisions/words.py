"""Audits, agreement and automation in sentences, and as rows of tables."""

from __future__ import annotations

from collections.abc import Iterator

from anls_eval.decisions.agreement import Agreement, AgreementReport, CorrectedRate, ThresholdAgreement
from anls_eval.decisions.audit import Audit
from anls_eval.decisions.automation import Acceptance, Automation
from anls_eval.statistics.intervals import IN_PERCENT

ABOUT_AUDIT = (
    "The systems may be wrong together: only a person can say whether a reference is. The last column is an upper "
    "bound, not a corrected score."
)

ACCEPTANCE_HEADER = ("", "threshold", "accepted", "errors", "bound", "verdict")
AGREEMENT_HEADER = ("", "accuracy", "kappa", "AC1", "sensitivity", "specificity")

_SHOWN_THRESHOLDS = 12


def automation_sentence(found: Automation) -> str:
    """Return what can be accepted in one sentence."""
    own, most = found.whole, f"{found.max_error:.4g}"
    if own.threshold is None:
        few = f"at least {own.needed:,} accepted documents without an error in one half would be needed"
        return f"not shown: there are too few documents, or too many errors, for an error of {most}; {few}."
    what = "documents" if found.by_field else "questions"
    at = f"{own.share:.1%} of the {what} can be accepted at a confidence of at least {own.threshold:.6g}"
    bound = f"with {IN_PERCENT} confidence at most {own.bound:.2%}"
    seen = f"{own.errors:,} of {own.accepted:,} accepted documents err, {bound}"
    if own.is_shown:
        return f"{at}: {seen}."
    needed = (
        "no number of documents would show it at this rate of errors"
        if own.needed is None
        else f"about {own.needed:,} accepted documents in this half would show it at this rate of errors"
    )
    return f"not shown: {at}, but {seen}, more than {most}; {needed}."


def automation_cells(found: Automation) -> list[tuple[str, ...]]:
    """Return the rows of the table under `ACCEPTANCE_HEADER`."""
    return [(name, *acceptance_cells(own)) for name, own in automation_parts(found)]


def automation_parts(found: Automation) -> list[tuple[str, Acceptance]]:
    """Return what can be accepted as a whole, and by field, with names to show."""
    return [("all", found.whole), *found.by_field.items()]


def acceptance_cells(own: Acceptance) -> tuple[str, ...]:
    """Return the cells of a row under `ACCEPTANCE_HEADER`, after its name."""
    if own.threshold is None:
        return "-", "-", "-", "-", "not shown"
    of = f"{own.errors:,} of {own.accepted:,}"
    return f"{own.threshold:.6g}", f"{own.share:.1%}", of, f"{own.bound:.2%}", "shown" if own.is_shown else "not shown"


def agreement_cells(found: AgreementReport) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table under `AGREEMENT_HEADER`."""
    for own in _shown_thresholds(found):
        best = " (best)" if own is found.best else ""
        yield f"score >= {own.threshold:.4g}{best}", *_agreement_cells(own.agreement)
    if found.judge is not None:
        yield "judge", *_agreement_cells(found.judge)


def _shown_thresholds(found: AgreementReport) -> list[ThresholdAgreement]:
    """Return all thresholds, or of many the best one and some that are spread evenly."""
    if len(found.thresholds) <= _SHOWN_THRESHOLDS:
        return list(found.thresholds)
    last = len(found.thresholds) - 1
    shown = {round(last * step / (_SHOWN_THRESHOLDS - 2)) for step in range(_SHOWN_THRESHOLDS - 1)}
    return [own for place, own in enumerate(found.thresholds) if place in shown or own is found.best]


def _agreement_cells(own: Agreement) -> tuple[str, ...]:
    measures = (own.accuracy, own.kappa, own.ac1, own.sensitivity, own.specificity)
    return tuple("-" if value is None else f"{value:.4f}" for value in measures)


def agreement_sentences(found: AgreementReport) -> list[str]:
    """Return what people, the score and the judge say of the answers."""
    best = found.best
    rated = f"{found.n:,} questions" + (f" ({found.unrated:,} more are not rated)" if found.unrated else "")
    kappa = "" if best.agreement.kappa is None else f" by kappa ({best.agreement.kappa:.3f})"
    lines = [
        f"people call {found.human_rate:.1%} of {rated} right",
        f"score >= {best.threshold:.4g} agrees best{kappa}: on {best.agreement.accuracy:.1%}",
    ]
    if found.corrected is not None:
        lines.append(corrected_sentence(found.corrected))
    return lines


def corrected_sentence(own: CorrectedRate) -> str:
    """Return the rate of a judge, as it is and corrected."""
    return (
        f"the judge calls {own.judged:.1%} of {own.n:,} questions right; corrected for its errors, {own.rate:.1%} "
        f"({own.level:.0%} interval {own.low:.1%} to {own.high:.1%})"
    )


def audit_counts(found: Audit) -> str:
    """Return how many references are suspicious, by kind."""
    counts: dict[str, int] = {}
    for own in found.suspicions:
        counts[own.kind] = counts.get(own.kind, 0) + 1
    if not counts:
        return f"nothing suspicious in {found.n:,} references"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    return f"{len(found.suspicions):,} suspicions in {found.n:,} references: {kinds}"
