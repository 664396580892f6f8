"""Scorers for Inspect: ANLS of answers, ANLS* of extracted JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer, stderr
from inspect_ai.solver import TaskState

from anls_eval.explanation.result import Explanation
from anls_eval.integrations.model_output import read_json, read_reference
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import explain


@metric
def mean() -> Metric:
    """The mean of the samples' scores, to the last bit as `evaluate` gives it."""

    def compute(scores: list[SampleScore]) -> float:
        return math.fsum(own.score.as_float() for own in scores) / len(scores) if scores else 0.0

    return compute


@scorer(metrics=[mean(), stderr()])
def anls(protocol: str | Protocol = "standard", threshold: float | Fraction | Decimal | None = None) -> Scorer:
    """Score the completion against the target, which holds the accepted answers.

    Questions about one document are not independent. With the document's name in the samples' metadata,
    ``Task(..., metrics=[mean(), stderr(cluster="document")])`` gives the clustered standard error.

    Args:
        protocol: A name or alias in `PROTOCOLS`, or an `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A scorer. Its explanation says which answer was closest and which characters differ.

    Raises:
        ValueError: An unknown protocol, one of trees, or a threshold outside 0 to 1.
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    return _scorer(lambda output, target: explain(output, list(target), protocol=rules))


@scorer(metrics=[mean(), stderr()])
def anls_star(protocol: str | Protocol = "anls_star", threshold: float | Fraction | Decimal | None = None) -> Scorer:
    """Score the JSON in the completion against the target, the JSON text of the reference; several are alternatives.

    A completion that is not JSON is compared as the text that it is.

    Args:
        protocol: ``anls_star``, ``anls_star_paper``, or an `Protocol` made of one of them.
        threshold: The least similarity of two leaves that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A scorer. Its explanation says where each point was lost.

    Raises:
        ValueError: An unknown protocol, one of texts, or a threshold outside 0 to 1.
    """
    rules = resolve_rules(protocol, threshold, of_trees=True)

    def compare(output: str, target: Target) -> Explanation:
        reference = read_reference(list(target))
        return explain(read_json(output), reference[0] if len(reference) == 1 else reference, protocol=rules)

    return _scorer(compare)


def _scorer(compare: Callable[[str, Target], Explanation]) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        output = state.output.completion
        found = compare(output, target)
        return Score(value=found.score, answer=output, explanation=str(found))

    return score
