"""Scorers for Inspect: ANLS for answers, ANLS* for extracted JSON."""

from __future__ import annotations

import math
from collections.abc import Callable

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer, stderr
from inspect_ai.solver import TaskState

from anls_eval.explanation.result import Explanation
from anls_eval.fields.fields import FieldsLike
from anls_eval.integrations.model_output import read_json, read_reference
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.scoring import explain


@metric
def mean() -> Metric:
    """Return the mean score of the samples, to the last bit as the metric in `evaluate` returns it."""

    def compute(scores: list[SampleScore]) -> float:
        return math.fsum(own.score.as_float() for own in scores) / len(scores) if scores else 0.0

    return compute


@scorer(metrics=[mean(), stderr()])
def anls(protocol: str | Protocol = "standard", threshold: Threshold = None) -> Scorer:
    """Score completions against targets, which hold the accepted answers.

    Questions about the same document are not independent. If the samples' metadata names the document,
    ``Task(..., metrics=[mean(), stderr(cluster="document")])`` reports the clustered standard error.

    Args:
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.

    Returns:
        A scorer whose explanation shows the closest answer and the number of characters that differ.

    Raises:
        ValueError: The protocol is unknown or scores trees, or the threshold is outside [0, 1].
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    return _scorer(lambda output, target: explain(output, list(target), protocol=rules))


@scorer(metrics=[mean(), stderr()])
def anls_star(protocol: str | Protocol = "anls_star", threshold: Threshold = None, fields: FieldsLike = None) -> Scorer:
    """Score JSON in completions against targets, which hold the reference as JSON, or several as alternatives.

    A completion that is not JSON is compared as text.

    Args:
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's.
        fields: How the parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A scorer whose explanation shows where each point was lost.

    Raises:
        ValueError: The protocol is unknown or scores texts, or the threshold is outside [0, 1].
    """
    rules = resolve_rules(protocol, threshold, of_trees=True)
    resolved = read_fields(fields, rules)

    def compare(output: str, target: Target) -> Explanation:
        reference = read_reference(list(target))
        tree = reference[0] if len(reference) == 1 else reference
        return explain(read_json(output), tree, protocol=rules, fields=resolved)

    return _scorer(compare)


def _scorer(compare: Callable[[str, Target], Explanation]) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        output = state.output.completion
        found = compare(output, target)
        return Score(value=found.score, answer=output, explanation=str(found))

    return score
