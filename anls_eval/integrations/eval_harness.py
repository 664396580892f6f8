"""``process_results`` and its aggregation for the task YAML files of lm-evaluation-harness and lmms-eval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anls_eval.fields.fields import FieldsLike
from anls_eval.integrations.model_output import score_output
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.types import Extract


def make_process_results(
    *,
    answers: str = "answers",
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Callable[[Mapping[str, Any], Sequence[str]], dict[str, float]]:
    """Make a ``process_results`` for another field, protocol or threshold.

    Args:
        answers: Field of a document with its accepted answers: a list of strings or one string; for a tree protocol,
            a list of trees or of JSON texts, or one of these.
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`. A tree protocol reads the output as JSON.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each output first, by name: ``"think,answer_tag"`` or a list of names
            in `EXTRACT_STEPS`. Defaults to the protocol's.
        fields: For trees, how their parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A function of a document and of a list with its one output that returns ``{"anls": score}``.

    Raises:
        ValueError: The protocol or a step of `extract` is unknown, or the threshold is outside [0, 1];
            from the function, the field is missing.

    Example:
        >>> process = make_process_results(answers="labels", protocol="paper")
        >>> process({"labels": ["12%"]}, ["12 %"])
        {'anls': 0.75}
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)

    def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
        if answers not in doc:
            raise ValueError(
                f"the document has no field {answers!r}, only {', '.join(map(repr, doc))}; pass the name of the field "
                "with the accepted answers: make_process_results(answers=...)"
            )
        return {"anls": score_output(results[0], doc[answers], rules, resolved)}

    return process_results


process_results = make_process_results()
"""The ``process_results`` for the field ``answers`` and the protocol ``standard``."""


def mean(scores: Sequence[float]) -> float:
    """Return the mean of at least one score, to the last bit as the metric in `evaluate` returns it.

    lm-evaluation-harness reports a standard error only for its ``aggregation: mean``, whose last bit may differ.

    Example:
        >>> mean([1.0, 0.875])
        0.9375
    """
    return math.fsum(scores) / len(scores)
