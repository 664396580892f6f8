"""Where a reported number comes from: the result of `diagnose`, and when a value gives the number."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeVar

from anls_eval.errors import AnlsError
from anls_eval.markup import element, notebook_page, table_html
from anls_eval.text.marked import shown_text

COMMON_THRESHOLDS = (0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Thresholds that are tried beside a protocol's own."""

MOST_HABITS = 3  # with more, something gives almost any number
CLOSEST = 5  # causes to return if none fits
_SLACK = 1e-12  # the effect of another order of summing, or of a scale of 100, on the last digits


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cause:
    """One way to arrive at the reported number, or near it.

    Attributes:
        protocol: Name of the protocol.
        figure: Which figure of a benchmark it is; empty for the one that is the score, and for ANLS and ANLS*.
        also: Other protocols that give the same value in this way.
        keep: ``">="`` or ``">"``.
        threshold: Minimum similarity that counts; 1 for exact match, 0 for benchmarks, which have their own rules.
        scoring: ``"similarity"``, ``"kept as 1"`` (a similarity that counts is taken as 1), ``"exact match"``, or
            ``"whole documents"`` (the share of documents with a score of 1).
        answers: ``"all"``, or ``"first"`` if only the first answer of each question was compared.
        lists: ``"any order"``, or ``"kept order"`` if the elements of lists were compared one by one.
        keys: ``"all"``, ``"missing ignored"`` if what the prediction lacks was not counted, or ``"unexpected ignored"``
            if what the reference lacks was not counted.
        left_out: The questions left out of the mean: ``"missing"`` are those without a prediction, ``"not answerable"``
            those whose answers are all in `NOT_ANSWERABLE`.
        parse: Whether predictions that are texts were read as the documents that they print.
        extract: Steps that take the answer out of each prediction first.
        scale: 1, or 100 if the number is a percentage.
        rounding: ``"rounded"`` or ``"cut off"``, to the decimals of the reported number.
        n: Number of questions or documents in the mean.
        value: The resulting number, on that scale and not rounded.
        difference: `value` minus the reported number.
        fits: Whether `value` gives the reported number to all its decimals.
        habits: Number of deviations from the plain protocol.
        reason: What would have to be true, in words.
    """

    protocol: str
    also: tuple[str, ...]
    keep: str
    threshold: float | Fraction | Decimal
    scoring: str
    answers: str
    left_out: tuple[str, ...]
    extract: tuple[str, ...]
    scale: int
    rounding: str
    n: int
    value: float
    difference: float
    fits: bool
    habits: int
    reason: str
    figure: str = ""
    lists: str = "any order"
    keys: str = "all"
    parse: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Where a reported number comes from.

    Attributes:
        reported: The number.
        decimals: Number of decimals that are known.
        n: Number of questions or documents.
        standard: From 0 to 1, the ANLS of the same predictions under ``standard``, or of documents the ANLS* under
            ``anls_star``.
        tried: Number of ways that were tried.
        fits: Whether one of them gives the reported number.
        causes: All that fit, simplest first; if none does, the closest few with at most one deviation, closest first.
        conclusion: The result in words.
        of_documents: Whether the predictions are documents.
    """

    reported: float
    decimals: int
    n: int
    standard: float
    tried: int
    fits: bool
    causes: tuple[Cause, ...]
    conclusion: str
    of_documents: bool = False

    def _repr_html_(self) -> str:
        """Return the diagnosis as notebooks show it: the conclusion, then the causes."""
        rows = [(shown_text(own.reason), own.value, f"{own.difference:+.4g}", own.n) for own in self.causes]
        conclusion = element("p", shown_text(self.conclusion, 2_000))
        return notebook_page(conclusion, table_html(("reason", "value", "difference", "n"), rows))


_Candidate = TypeVar("_Candidate")


def read_reported(reported: object, decimals: int | None) -> tuple[float, int]:
    """Return the reported number, and to how many decimals it is known."""
    given = isinstance(reported, (str, Decimal, numbers.Real)) and not isinstance(reported, bool)
    try:
        number = Decimal(str(reported).strip()) if given else Decimal("nan")
    except (InvalidOperation, ValueError):  # ValueError: an integer of thousands of digits
        number = Decimal("nan")
    if not (number.is_finite() and 0 <= number <= 100):
        expected = "expected a number from 0 to 1, or from 0 to 100 for a percentage, such as 0.764 or '76.40'"
        raise AnlsError(expected, option="reported", value=reported)
    if decimals is None:
        known = max(0, -int(number.as_tuple().exponent))
        return float(number), min(known, 17)  # a float64 has no more
    if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 17:
        expected = "expected an integer from 0 to 17, or None to count those of reported"
        raise AnlsError(expected, option="decimals", value=decimals)
    return float(number), decimals


def worth_showing(
    candidates: Sequence[_Candidate],
    read_as: Callable[[_Candidate], tuple[float, int, str, int]],
    reported: float,
    decimals: int,
) -> tuple[list[_Candidate], bool]:
    """Return those that give the number, simplest first, or else those near it, closest first; and which it is.

    `read_as` returns the value, scale, rounding and habits of a candidate.
    """
    known = [(own, *read_as(own)) for own in candidates]
    fitting = [
        (habits, own)
        for own, value, scale, rounding, habits in known
        if _gives(value, scale, rounding, reported, decimals)
    ]
    if fitting:
        return [own for _, own in sorted(fitting, key=lambda pair: pair[0])], True
    near = [
        (abs(value - reported), habits, own)
        for own, value, _, rounding, habits in known
        if habits <= 1 and rounding == "rounded"
    ]
    return [own for *_, own in sorted(near, key=lambda found: found[:2])], False


def _gives(value: float, scale: int, rounding: str, reported: float, decimals: int) -> bool:
    """Return whether a value, rounded or cut off, is the reported number to its decimals."""
    difference, unit, slack = value - reported, 10.0**-decimals, _SLACK * scale
    is_rounded = abs(difference) <= unit / 2 + slack
    if rounding == "rounded":
        return is_rounded
    return not is_rounded and 0 <= difference < unit


def readings(reported: float) -> list[tuple[int, str, int]]:
    """Return how the number may have been written: its scale, its rounding, and how many habits that takes."""
    return [
        (scale, rounding, (scale == 100 and reported <= 1) + (rounding == "cut off"))
        for scale in ((1, 100) if reported <= 1 else (100,))
        for rounding in ("rounded", "cut off")
    ]


def reading_words(scale: int, rounding: str, reported: float, decimals: int) -> list[str]:
    """Return what is unusual about how the number was written, in words."""
    words = ["it is reported on a scale of 0 to 100"] if scale == 100 and reported <= 1 else []
    return [*words, *([f"it is truncated, not rounded, to {decimals} decimals"] if rounding == "cut off" else [])]


def conclusion_of(causes: tuple[Cause, ...], tried: int, reported: float, decimals: int) -> str:
    """Return the result of a diagnosis in words."""
    number, simplest = f"{reported:.{decimals}f}", causes[0].reason.removeprefix("It is ")
    if causes[0].fits:
        if len(causes) == 1:
            return f"1 of {tried:,} ways to score these predictions gives {number}. {causes[0].reason}"
        return f"{len(causes):,} of {tried:,} ways to score these predictions give {number}. The simplest is {simplest}"
    return (
        f"None of {tried:,} ways to score these predictions gives {number}. It may come from other predictions, other "
        f"references or another split. The closest is {simplest}"
    )
