"""Whether scores, and a judge, agree with people: accuracy by threshold, kappa, AC1, and the judge's corrected rate."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anls_eval.arrow import as_list
from anls_eval.errors import AnlsError, Remedy, short_repr
from anls_eval.fields.booleans import parse_boolean
from anls_eval.inputs.columns import read_column
from anls_eval.inputs.values import is_missing_text, is_missing_value
from anls_eval.statistics.intervals import LEVEL
from anls_eval.statistics.resampling import NORMAL
from anls_eval.statistics.tally import checked_scores

Bools = npt.NDArray[np.bool_]

_RIGHT = {"right", "correct", "pass", "passed", "good", "accept", "accepted", "ok"}
_SHOWN_LABELS = 5
_WRONG = {"wrong", "incorrect", "fail", "failed", "bad", "reject", "rejected", "not ok"}


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How two raters, each of whom says right or wrong, agree on n questions.

    Attributes:
        n: Number of questions.
        both_right: Questions that both call right.
        only_first: Questions that only the first calls right: here the score or the judge.
        only_second: Questions that only the second calls right: here the person.
        both_wrong: Questions that both call wrong.
    """

    n: int
    both_right: int
    only_first: int
    only_second: int
    both_wrong: int

    @classmethod
    def of(cls, first: Bools, second: Bools) -> Agreement:
        """Count the agreements of two raters, each shape (n,)."""
        both, n = int(np.count_nonzero(first & second)), len(first)
        only_first, only_second = int(np.count_nonzero(first)) - both, int(np.count_nonzero(second)) - both
        return cls(n, both, only_first, only_second, n - both - only_first - only_second)

    @property
    def accuracy(self) -> float:
        """The share of the questions on which both agree."""
        return (self.both_right + self.both_wrong) / self.n

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, at most 1; None if both raters always say the same one thing.

        Cohen, A Coefficient of Agreement for Nominal Scales, 1960.
        """
        first, second = self.both_right + self.only_first, self.both_right + self.only_second
        chance = first * second + (self.n - first) * (self.n - second)  # over n * n
        observed = (self.both_right + self.both_wrong) * self.n
        return None if chance == self.n**2 else (observed - chance) / (self.n**2 - chance)

    @property
    def ac1(self) -> float:
        """Gwet's AC1, at most 1, which stays meaningful where nearly everything is right.

        Gwet, Computing Inter-rater Reliability and Its Variance in the Presence of High Agreement, 2008.
        """
        share = (2 * self.both_right + self.only_first + self.only_second) / (2 * self.n)
        chance = 2 * share * (1 - share)
        return (self.accuracy - chance) / (1 - chance)

    @property
    def sensitivity(self) -> float | None:
        """The share of what the second calls right that the first does; None if that is nothing."""
        right = self.both_right + self.only_second
        return self.both_right / right if right else None

    @property
    def specificity(self) -> float | None:
        """The share of what the second calls wrong that the first does; None if that is nothing."""
        wrong = self.both_wrong + self.only_first
        return self.both_wrong / wrong if wrong else None

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values, with the measures."""
        names = ("accuracy", "kappa", "ac1", "sensitivity", "specificity")
        return dataclasses.asdict(self) | {name: getattr(self, name) for name in names}


@dataclasses.dataclass(frozen=True)
class ThresholdAgreement:
    """The agreement of "score >= threshold" with a person."""

    threshold: float
    agreement: Agreement


@dataclasses.dataclass(frozen=True)
class CorrectedRate:
    """The share of right answers by a judge, corrected for the errors that the judge makes.

    Attributes:
        rate: The corrected share, in [0, 1].
        low: Lower bound of its interval.
        high: Upper bound.
        level: Confidence level.
        judged: The share that the judge calls right.
        n: Number of questions that only the judge rated, which the share is about; all, if there is none such.
        calibration: The judge's agreement with the person, on the questions that both rated.
    """

    rate: float
    low: float
    high: float
    level: float
    judged: float
    n: int
    calibration: Agreement


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgreementReport:
    """How scores, and a judge, agree with a person.

    Attributes:
        n: Number of questions that the person rated.
        unrated: Number of questions that the person did not rate.
        human_rate: The share that the person calls right.
        thresholds: The agreement at each score that occurs, ascending, and at 0, where everything is right.
        best: The one of them with the highest kappa, among equals with the highest accuracy, then the lowest. Accuracy
            alone would favour 0 where nearly everything is right.
        judge: The agreement of the judge with the person, on the questions that both rated; None without a judge.
        corrected: The judge's corrected rate; None without a judge, or if the person calls everything right, or wrong.
        disagreements: The rows of the questions on which the score at the best threshold, or the judge, disagrees with
            the person.
        notes: Sentences to read beside the numbers.
    """

    n: int
    unrated: int
    human_rate: float
    thresholds: tuple[ThresholdAgreement, ...]
    best: ThresholdAgreement
    judge: Agreement | None
    corrected: CorrectedRate | None
    disagreements: tuple[int, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values, with the measures."""
        found = dataclasses.asdict(self)
        found["thresholds"] = [_at(own) for own in self.thresholds]
        found["best"] = _at(self.best)
        found["judge"] = None if self.judge is None else self.judge.to_dict()
        if self.corrected is not None:
            found["corrected"]["calibration"] = self.corrected.calibration.to_dict()
        return found


def _at(own: ThresholdAgreement) -> dict[str, object]:
    return {"threshold": own.threshold, **own.agreement.to_dict()}


def agreement(
    scores: npt.ArrayLike,
    human: Sequence[object],
    *,
    judge: Sequence[object] | None = None,
    positive: str | None = None,
) -> AgreementReport:
    """Compare scores, and the verdicts of a judge, with what people say of the same answers.

    At each threshold, an answer counts as right if its score reaches it. For a judge, such as a language model, the
    share of answers that it calls right is corrected for its errors, which are known from the questions that people
    rated, too: Rogan and Gladen, Estimating Prevalence from the Results of a Screening Test, 1978, with the interval of
    Lee et al., How to Correctly Report LLM-as-a-Judge Evaluations, 2025 (arXiv 2511.21140). The corrected rate is about
    the questions that only the judge rated, since the interval takes them as independent of the others. If there is
    none such, it is the rate of the people, with an interval that is wider than it need be.

    Args:
        scores: Shape (n,), in [0, 1].
        human: n labels of people; None or an empty text for a question that nobody rated.
        judge: n labels of a judge; None or an empty text likewise.
        positive: The label that means right. By default true, yes, 1, right, correct, pass and the like do, and their
            opposites mean wrong.

    Returns:
        The agreement at each threshold, that of the judge, the corrected rate and the rows of the disagreements.

    Raises:
        ValueError: The scores are no numbers in [0, 1]; the lengths differ; nobody rated any question; a column has
            more than two labels, or labels that need `positive`; or the judge is no better than chance (sensitivity +
            specificity <= 1), so that nothing can be corrected.

    Example:
        >>> found = agreement([1.0, 0.9, 0.4, 0.0, 0.7], ["right", "right", "wrong", "wrong", "wrong"])
        >>> found.best.threshold, found.best.agreement.accuracy, found.best.agreement.kappa
        (0.9, 1.0, 1.0)
    """
    checked = checked_scores(scores, "scores")
    of_human = read_labels(human, "human", positive)
    of_judge = None if judge is None else read_labels(judge, "judge", positive)
    for name, own in (("human", of_human), ("judge", of_judge)):
        if own is not None and len(own) != len(checked):
            raise AnlsError(f"{len(checked)} scores but {len(own)} labels; expected one for each", where=name)
    rated = np.array([own is not None for own in of_human])
    if not rated.any():
        raise AnlsError("no question has a label; expected some that people rated", where="human")
    right = np.array([own is True for own in of_human])
    thresholds = tuple(
        ThresholdAgreement(threshold, Agreement.of(checked[rated] >= threshold, right[rated]))
        for threshold in np.unique(np.append(checked[rated], 0.0)).tolist()
    )
    best = max(thresholds, key=_quality)
    disagrees = rated & ((checked >= best.threshold) != right)
    notes: list[str] = []
    judged = corrected = None
    if of_judge is not None:
        by_judge, says_right = (
            np.array([test(own) for own in of_judge]) for test in (_is_label, lambda own: own is True)
        )
        if not (rated & by_judge).any():
            raise AnlsError("no question has both a human label and one of the judge", where="judge")
        judged = Agreement.of(says_right[rated & by_judge], right[rated & by_judge])
        disagrees |= rated & by_judge & (says_right != right)
        is_new = by_judge & ~rated
        if not is_new.any():
            notes.append("people rated every question that the judge did: their own rate needs no correction")
        corrected = _corrected(judged, says_right[is_new if is_new.any() else by_judge], notes)
    return AgreementReport(
        n=int(np.count_nonzero(rated)),
        unrated=int(np.count_nonzero(~rated)),
        human_rate=float(np.mean(right[rated])),
        thresholds=thresholds,
        best=best,
        judge=judged,
        corrected=corrected,
        disagreements=tuple(np.flatnonzero(disagrees).tolist()),
        notes=tuple(notes),
    )


def _quality(own: ThresholdAgreement) -> tuple[float, float, float]:
    """Rank by kappa, since to call everything right is accurate where nearly everything is."""
    kappa = own.agreement.kappa
    return (1.0 if kappa is None else kappa, own.agreement.accuracy, -own.threshold)


def _is_label(own: bool | None) -> bool:
    return own is not None


def _corrected(calibration: Agreement, judged: Bools, notes: list[str]) -> CorrectedRate | None:
    """Return the corrected rate of what only the judge rated."""
    sensitivity, specificity = calibration.sensitivity, calibration.specificity
    if sensitivity is None or specificity is None:
        one = "right" if specificity is None else "wrong"
        notes.append(f"people call every answer {one}: the rate of the judge cannot be corrected without both kinds")
        return None
    if sensitivity + specificity <= 1:
        raise AnlsError(
            f"the judge is no better than chance: its sensitivity of {sensitivity:.3f} and specificity of "
            f"{specificity:.3f} add up to at most 1, so that its rate cannot be corrected",
            where="judge",
        )
    rate = float(np.mean(judged))
    low, high = corrected_bounds(rate, len(judged), calibration)
    found = _clipped((rate + specificity - 1) / (sensitivity + specificity - 1))
    return CorrectedRate(found, low, high, LEVEL, rate, len(judged), calibration)


def corrected_bounds(rate: float, n: int, calibration: Agreement, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the corrected rate, from the rate of a judge on n questions that nobody else rated.

    Equation 5 of arXiv 2511.21140: the delta method after adding z² / 2 successes and failures to the rate, and one
    of each to sensitivity and specificity. Where these then add up to at most 1, everything is possible.
    """
    z = NORMAL.inv_cdf((1 + level) / 2)
    right = calibration.both_right + calibration.only_second + 2
    wrong = calibration.both_wrong + calibration.only_first + 2
    sensitivity, specificity = (calibration.both_right + 1) / right, (calibration.both_wrong + 1) / wrong
    judged, number = (n * rate + z * z / 2) / (n + z * z), n + z * z
    better = sensitivity + specificity - 1
    if better <= 0:
        return 0.0, 1.0
    middle = (judged + specificity - 1) / better
    of_right = sensitivity * (1 - sensitivity) / right
    of_wrong = specificity * (1 - specificity) / wrong
    shift = 2 * z * z * (middle * of_right - (1 - middle) * of_wrong)
    spread = judged * (1 - judged) / number + (1 - middle) ** 2 * of_wrong + middle**2 * of_right
    error = z * math.sqrt(spread) / better
    return _clipped(middle + shift - error), _clipped(middle + shift + error)


def _clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def read_labels(labels: Sequence[object], name: str, positive: str | None) -> list[bool | None]:
    """Return whether each label means right, None where there is none; refuse more than two labels."""
    values = ["" if is_missing_value(own) else str(own).strip() for own in as_list(read_column(labels, name))]
    texts = [None if is_missing_text(own) else own for own in values]
    counts = collections.Counter(own for own in texts if own is not None)
    shown = ", ".join(short_repr(text) for text, _ in counts.most_common(_SHOWN_LABELS))
    meanings = {text: _meaning(text, positive) for text in counts}
    is_known = positive is None and None not in meanings.values()
    if not is_known and len({text.lower() for text in counts}) > 2:
        more = "" if len(counts) <= _SHOWN_LABELS else f" and {len(counts) - _SHOWN_LABELS} more"
        raise AnlsError(f"{len(counts)} different labels: {shown}{more}; expected two", where=name)
    if positive is None and not is_known:
        says = [Remedy("positive", counts.most_common(1)[0][0], "say which one means right, such as the first")]
        raise AnlsError(f"the labels are {shown}, and it is not known which means right.", where=name, remedies=says)
    if positive is not None and len(counts) > 1 and not any(meanings.values()):
        raise AnlsError(f"not a label of {name}, which has {shown}", option="positive", value=positive)
    return [None if own is None else meanings[own] for own in texts]


def _meaning(text: str, positive: str | None) -> bool | None:
    """Return whether a label means right, None if that is unknown."""
    if positive is not None:
        return text.lower() == positive.strip().lower()
    plain = text.lower()
    if plain in _RIGHT or plain in _WRONG:
        return plain in _RIGHT
    return {1.0: True, 0.0: False}.get(_number(plain), parse_boolean(plain))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
