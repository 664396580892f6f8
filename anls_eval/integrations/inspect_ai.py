"""Scorers for Inspect: ANLS for answers, ANLS* for extracted JSON."""

from __future__ import annotations

import math

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer, stderr
from inspect_ai.solver import TaskState

from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.integrations.model_output import explain_output
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.types import Extract


@metric
def mean() -> Metric:
    """Return the mean score of the samples, to the last bit as the metric in `evaluate` returns it."""

    def compute(scores: list[SampleScore]) -> float:
        return math.fsum(own.score.as_float() for own in scores) / len(scores) if scores else 0.0

    return compute


@scorer(metrics=[mean(), stderr()])
def anls(protocol: str | Protocol = "standard", threshold: Threshold = None, extract: Extract = None) -> Scorer:
    """Score completions against targets, which hold the accepted answers.

    A target that is one text with a printed list, such as ``"['12', 'twelve']"``, holds the items of this list:
    Inspect converts a field with a list to such a text if a task comes from the ``eval.yaml`` of a data set on the Hub.

    Questions about the same document are not independent. If the samples' metadata names the document,
    ``Task(..., metrics=[mean(), stderr(cluster="document")])`` reports the clustered standard error.

    Args:
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each completion first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`. Defaults to the protocol's.

    Returns:
        A scorer whose explanation shows the closest answer and the number of characters that differ.

    Raises:
        ValueError: The protocol is unknown or scores trees, or the threshold is outside [0, 1].
    """
    rules = resolve_rules(protocol, threshold, of_trees=False, extract=extract)
    return _scorer(rules)


@scorer(metrics=[mean(), stderr()])
def anls_star(
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    fields: FieldsLike | str = None,
    extract: Extract = None,
) -> Scorer:
    """Score JSON in completions against targets, which hold the reference as JSON, or several as alternatives.

    A completion that is not JSON is compared as text. A reference may also be printed as Python does it.

    Args:
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's.
        fields: How the parts are compared and weighed: a `Fields`, a dict with a `Field` for each path, or the path of
            a file for `Fields.from_file`.
        extract: Steps that take the answer out of each completion first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`. Defaults to the protocol's.

    Returns:
        A scorer whose explanation shows where each point was lost.

    Raises:
        ValueError: The protocol is unknown or scores texts, or the threshold is outside [0, 1].
    """
    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    resolved = read_fields(Fields.from_file(fields) if isinstance(fields, str) else fields, rules)

    return _scorer(rules, resolved)


def _scorer(rules: Protocol, fields: Fields | None = None) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        output = state.output.completion
        found = explain_output(output, list(target), rules, fields)
        return Score(value=found.score, answer=output, explanation=str(found))

    return score
