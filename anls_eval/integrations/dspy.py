"""ANLS as a metric of DSPy, and of other frameworks that call ``metric(example, prediction, trace=None)``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from anls_eval.integrations.model_output import score_output
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol


def make_metric(
    *,
    answers_field: str = "answers",
    prediction_field: str = "answer",
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> Callable[..., float]:
    """Make a metric for ``dspy.Evaluate`` and the optimizers.

    The metric gives the score while an optimizer traces, too. Say there what counts as a success, as in
    ``BootstrapFewShot(metric=..., metric_threshold=0.9)``: without it every score above 0 does.

    Args:
        answers_field: The field of the example that holds the accepted answers.
        prediction_field: The output field of the program.
        protocol: A name or alias in `PROTOCOLS`, or an `Protocol`. One of trees takes a field that holds a
            tree or its JSON text.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A function ``metric(example, prediction, trace=None)`` of two mappings or objects with these fields, which gives
        a float from 0 to 1.

    Raises:
        ValueError: An unknown protocol or a threshold outside 0 to 1; from the metric, a field that is absent.

    Example:
        >>> metric = make_metric()
        >>> metric({"answers": ["Coca Cola"]}, {"answer": "CocaCola"})
        0.8888888888888888
    """
    rules = resolve_rules(protocol, threshold, of_trees=None)

    def metric(example: Any, prediction: Any, trace: Any = None) -> float:
        expected = _field(example, answers_field, "the example", "answers_field")
        given = _field(prediction, prediction_field, "the prediction", "prediction_field")
        return score_output(given, expected, protocol=rules)

    return metric


def _field(owner: Any, name: str, side: str, option: str) -> Any:
    with contextlib.suppress(KeyError, TypeError):  # before attributes, which for "items" would be a method
        return owner[name]
    if not hasattr(owner, name):
        raise ValueError(f"{side} has no field {name!r}; name the right one: make_metric({option}=...)")
    return getattr(owner, name)
