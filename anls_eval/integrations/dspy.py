"""ANLS as a metric for DSPy and other frameworks that call ``metric(example, prediction, trace=None)``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from anls_eval.fields.fields import FieldsLike
from anls_eval.integrations.model_output import score_output
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.types import Extract


def make_metric(
    *,
    answers_field: str = "answers",
    prediction_field: str = "answer",
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Callable[..., float]:
    """Make a metric for ``dspy.Evaluate`` and the optimizers.

    The metric returns the score during optimization as well. Set the score that counts as a success there, as in
    ``BootstrapFewShot(metric=..., metric_threshold=0.9)``; otherwise every score above 0 does.

    Args:
        answers_field: Field of the example with the accepted answers.
        prediction_field: Output field of the program.
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`. For a tree protocol, the fields hold trees or JSON.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each output first, by name: ``"think,answer_tag"`` or a list of names
            in `EXTRACT_STEPS`. Defaults to the protocol's.
        fields: For trees, how their parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A function ``metric(example, prediction, trace=None)`` that takes mappings or objects with these fields and
        returns a float from 0 to 1.

    Raises:
        ValueError: The protocol or a step of `extract` is unknown, or the threshold is outside [0, 1];
            from the metric, a field is missing.

    Example:
        >>> metric = make_metric()
        >>> metric({"answers": ["Coca Cola"]}, {"answer": "CocaCola"})
        0.8888888888888888
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)

    def metric(example: Any, prediction: Any, trace: Any = None) -> float:
        expected = _field(example, answers_field, "the example", "answers_field")
        given = _field(prediction, prediction_field, "the prediction", "prediction_field")
        return score_output(given, expected, rules, resolved)

    return metric


def _field(owner: Any, name: str, side: str, option: str) -> Any:
    with contextlib.suppress(KeyError, TypeError):  # before attributes: "items" would be a method
        return owner[name]
    if not hasattr(owner, name):
        raise ValueError(f"{side} has no field {name!r}; pass its name: make_metric({option}=...)")
    return getattr(owner, name)
