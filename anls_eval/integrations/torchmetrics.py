"""ANLS, ANLS* and the normalized Levenshtein similarity for torchmetrics, in batches and on several devices."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat

from anls_eval.arrow import Floats
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.registry import get_protocol, read_fields, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.scoring import anls_scores, anls_star_scores
from anls_eval.statistics.tally import UNIT, exact_units

# Sums are integers, so that batches and processes do not change the last bit of the value.
_WORD = 32  # bits: a word of the sum overflows after 2**31 batches
_WORDS = 36  # one before the binary point and 35 after it: all bits that a float64 can have
_ONE = 1 << (_WORD * (_WORDS - 1))


def _words(scores: Floats) -> torch.Tensor:
    """Return the exact sum of scores as words of a fixed-point number, int64 of shape (_WORDS,)."""
    whole = exact_units(scores) * _ONE // UNIT  # without a remainder: a score is a multiple of 2**-1074
    words = [whole >> (_WORD * place) for place in reversed(range(_WORDS))]
    return torch.tensor([words[0], *(word % 2**_WORD for word in words[1:])])


def _total(words: torch.Tensor) -> float:
    """Return the sum as the nearest float64, as `math.fsum` does."""
    whole = sum(word << (_WORD * (_WORDS - 1 - place)) for place, word in enumerate(words.tolist()))
    return float(whole / _ONE)


class _Scores(Metric):
    """Scores from 0 to 1: their exact sum and number, or all of them."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0

    total: torch.Tensor
    n: torch.Tensor
    scores: list[torch.Tensor]

    def __init__(self, rules: Protocol, keep_each: bool = False, fields: Fields | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rules, self.fields = rules, fields
        self._keeps_each = keep_each
        if keep_each:
            self.add_state("scores", default=[], dist_reduce_fx="cat")
            self.set_dtype(torch.float64)  # of the empty tensor sent by a process without data
        else:
            self.add_state("total", default=torch.zeros(_WORDS, dtype=torch.int64), dist_reduce_fx="sum")
            self.add_state("n", default=torch.tensor(0), dist_reduce_fx="sum")
        # After the first batch, MetricCollection merges metrics whose states are nearly equal: the states of different
        # rules must always differ.
        digest = hashlib.sha256(signature(rules, fields=fields).encode()).digest()
        self.add_state("rules_id", default=torch.tensor(list(digest)), dist_reduce_fx="max")

    def _add(self, scores: Floats) -> None:
        if self._keeps_each:
            self.scores.append(torch.from_numpy(scores).to(self.device))
        else:
            self.total += _words(scores).to(self.total.device)
            self.n += len(scores)

    def _sum_over(self, divisor: int) -> torch.Tensor:
        return torch.tensor(_total(self.total) / divisor, dtype=torch.float64, device=self.total.device)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one value, several values, or that of `compute`; return a Matplotlib figure and axis."""
        return self._plot(val, ax)


class _MeanScore(_Scores):
    plot_upper_bound = 1.0

    @property
    def signature(self) -> str:
        """The signature: one line that records every choice."""
        return signature(self.rules, n=int(self.n), fields=self.fields)

    def compute(self) -> torch.Tensor:
        """Return the mean score, a float64 from 0 to 1, or raise a ValueError if there is nothing to score."""
        if not self.n:
            raise ValueError(f"{type(self).__name__} has nothing to score; call update(preds, target) before compute()")
        return self._sum_over(int(self.n))


class ANLS(_MeanScore):
    """ANLS: the mean similarity of predictions to their closest accepted answers.

    `update` takes ``preds``, n texts, and ``target``, n lists of accepted answers, in any form accepted by
    `anls_scores`. `compute` returns a float64 tensor from 0 to 1.

    Args:
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        **kwargs: Passed to `torchmetrics.Metric`.

    Raises:
        ValueError: The protocol is unknown or scores trees, or the threshold is outside [0, 1].

    Example:
        >>> metric = ANLS()
        >>> metric.update(["Denver Broncos", "12/15/89"], [["Denver Broncos"], ["12/15/88"]])
        >>> metric.compute()
        tensor(0.9375, dtype=torch.float64)
    """

    def __init__(
        self,
        protocol: str | Protocol = "standard",
        threshold: Threshold = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(resolve_rules(protocol, threshold, of_trees=False), **kwargs)

    def update(self, preds: Any, target: Any) -> None:
        """Add n predictions and their accepted answers, or raise the errors of `anls_scores` and add nothing."""
        self._add(anls_scores(preds, target, protocol=self.rules))


class ANLSStar(_MeanScore):
    """ANLS*: the mean score of n trees, such as extracted JSON.

    `update` takes ``preds``, n trees, and ``target``, n reference trees, as for `anls_star_scores`. `compute` returns a
    float64 tensor from 0 to 1.

    Args:
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's.
        fields: How the parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.
        **kwargs: Passed to `torchmetrics.Metric`.

    Raises:
        ValueError: The protocol is unknown or scores texts, or the threshold is outside [0, 1].

    Example:
        >>> metric = ANLSStar()
        >>> metric([{"total": "17.9", "items": ["pen", "ink"]}], [{"total": "17.99", "items": ["ink", "pen"]}])
        tensor(0.9333, dtype=torch.float64)
    """

    def __init__(
        self,
        protocol: str | Protocol = "anls_star",
        threshold: Threshold = None,
        fields: FieldsLike = None,
        **kwargs: Any,
    ) -> None:
        rules = resolve_rules(protocol, threshold, of_trees=True)
        super().__init__(rules, fields=read_fields(fields, rules), **kwargs)

    def update(self, preds: Sequence[Any], target: Sequence[Any]) -> None:
        """Add n trees and their references, or raise the errors of `anls_star_scores` and add nothing."""
        self._add(anls_star_scores(preds, target, protocol=self.rules, fields=self.fields))


_REDUCTIONS = ("mean", "sum", "none", None)


class NormalizedLevenshteinSimilarity(_Scores):
    """The similarity ``1 - distance / length`` of pairs of unmodified texts, without a threshold.

    `update` takes ``preds`` and ``target``, each one text or n texts. `compute` returns float64 values from 0 to 1. Two
    empty texts have similarity 1. If a `substitution_cost` above 1 makes the distance exceed the length, it is 0.

    Args:
        substitution_cost: Cost of replacing a character; insertions and deletions cost 1.
        reduction: ``"mean"`` or ``"sum"`` over the pairs; ``"none"`` or None for one value per pair, shape (n,), which
            torchmetrics turns into a scalar for a single pair. Without pairs, mean and sum are 0.
        **kwargs: Passed to `torchmetrics.Metric`.

    Raises:
        ValueError: The reduction is unknown, or the cost is not a non-negative integer.

    Example:
        >>> metric = NormalizedLevenshteinSimilarity(reduction=None)
        >>> metric(["rain", "lnaguaeg"], ["shine", "language"])
        tensor([0.4000, 0.5000], dtype=torch.float64)

    Source: Z. Yuan, "Implementing ANLS", 2024: a class of this name based on torchmetrics' EditDistance.
    """

    def __init__(self, substitution_cost: int = 1, reduction: str | None = "mean", **kwargs: Any) -> None:
        if reduction not in _REDUCTIONS:
            raise ValueError(f"reduction={reduction!r}: expected one of {', '.join(map(repr, _REDUCTIONS))}")
        rules = dataclasses.replace(get_protocol("unthresholded"), substitution_cost=substitution_cost)
        super().__init__(rules, keep_each=reduction in ("none", None), **kwargs)
        self.reduction = reduction

    def update(self, preds: str | Sequence[str], target: str | Sequence[str]) -> None:
        """Add pairs of texts, or raise a ValueError and add nothing."""
        left, right = ([own] if isinstance(own, str) else list(own) for own in (preds, target))
        if len(left) != len(right):
            raise ValueError(f"preds has {len(left)} texts, but target has {len(right)}; expected pairs")
        self._add(anls_scores(left, [[text] for text in right], protocol=self.rules))

    def compute(self) -> torch.Tensor:
        """Return the similarity, reduced according to `reduction`."""
        if self._keeps_each:
            if isinstance(self.scores, list) and not self.scores:
                return torch.zeros(0, dtype=torch.float64, device=self.device)
            return dim_zero_cat(self.scores)
        return self._sum_over(max(1, int(self.n)) if self.reduction == "mean" else 1)


def anls(
    preds: Any,
    target: Any,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> torch.Tensor:
    """Return the value of `ANLS` for one batch of n texts and n lists of accepted answers.

    Example:
        >>> anls(["ab", "12 %"], [["ac"], ["12%"]], protocol="paper")
        tensor(0.3750, dtype=torch.float64)
    """
    metric = ANLS(protocol, threshold)
    metric.update(preds, target)
    return metric.compute()


def anls_star(
    preds: Sequence[Any],
    target: Sequence[Any],
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    fields: FieldsLike = None,
) -> torch.Tensor:
    """Return the value of `ANLSStar` for one batch of n trees and n reference trees.

    Example:
        >>> anls_star([{"a": "x"}, ["y"]], [{"a": "x", "b": "z"}, ["y"]])
        tensor(0.7500, dtype=torch.float64)
    """
    metric = ANLSStar(protocol, threshold, fields)
    metric.update(preds, target)
    return metric.compute()


def normalized_levenshtein_similarity(
    preds: str | Sequence[str],
    target: str | Sequence[str],
    substitution_cost: int = 1,
    reduction: str | None = "mean",
) -> torch.Tensor:
    """Return the value of `NormalizedLevenshteinSimilarity` for one batch of texts.

    Example:
        >>> normalized_levenshtein_similarity("rain", "shine")
        tensor(0.4000, dtype=torch.float64)
    """
    metric = NormalizedLevenshteinSimilarity(substitution_cost, reduction)
    metric.update(preds, target)
    return metric.compute()
