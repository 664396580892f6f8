"""Tasks of lm-evaluation-harness and lmms-eval: functions that a task's YAML file names.

Both call ``process_results(doc, results)`` for each document and an aggregation over all of its values::

    process_results: !function anls_eval.integrations.eval_harness.process_results
    metric_list:
      - metric: anls
        aggregation: !function anls_eval.integrations.eval_harness.mean
        higher_is_better: true
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from anls_eval.integrations.model_output import score_output
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol


def make_process_results(
    *,
    answers: str = "answers",
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> Callable[[Mapping[str, Any], Sequence[str]], dict[str, float]]:
    """Make a ``process_results`` for a task whose documents or rules are not the usual ones.

    Args:
        answers: The field of a document that holds its accepted answers: a list of strings, one string, or for
            trees what `model_output.score_output` takes.
        protocol: A name or alias in `PROTOCOLS`, or an `Protocol`. One of trees reads the output as JSON.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A function of a document and of the list with its one output, which gives ``{"anls": score}``.

    Raises:
        ValueError: An unknown protocol or a threshold outside 0 to 1; from the function, a document without the field.

    Example:
        >>> process = make_process_results(answers="labels", protocol="paper")
        >>> process({"labels": ["12%"]}, ["12 %"])
        {'anls': 0.75}
    """
    rules = resolve_rules(protocol, threshold, of_trees=None)

    def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
        if answers not in doc:
            raise ValueError(
                f"the document has no field {answers!r}, only {', '.join(map(repr, doc))}; name the one with the "
                "accepted answers: make_process_results(answers=...)"
            )
        return {"anls": score_output(results[0], doc[answers], protocol=rules)}

    return process_results


process_results = make_process_results()
"""Scores by ``standard`` against the document's ``answers``."""


def mean(scores: Sequence[float]) -> float:
    """Average the scores of all documents, to the last bit as `evaluate` does.

    lm-evaluation-harness gives a standard error only for its own ``aggregation: mean``, whose last bit may differ.

    Args:
        scores: n scores, n at least 1.

    Returns:
        Their mean.

    Example:
        >>> mean([1.0, 0.875])
        0.9375
    """
    return math.fsum(scores) / len(scores)
