"""Rewards for verl: `compute_score` for one solution, `compute_scores` for a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.integrations.model_output import score_outputs
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.types import Extract


def compute_score(
    data_source: object,
    solution_str: str,
    ground_truth: object,
    extra_info: object = None,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike | str = None,
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
) -> float:
    """Score one solution, for the reward managers that call a function for each.

    No solution raises an error: JSON that is cut off is scored as text.

    Args:
        data_source: Not used.
        solution_str: The text of the model.
        ground_truth: The accepted answers: a list of strings or one string; for a tree protocol, JSON text or a list of
            JSON texts.
        extra_info: Not used.
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`. A tree protocol reads the solution as JSON.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of the solution first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`. Defaults to the protocol's.
        fields: For trees, how their parts are compared and weighed: a `Fields`, a dict with a `Field` for each path, or
            the path of a file for `Fields.from_file`.
        reward_router_address: Not used; verl passes it beside a reward model.
        reward_model_tokenizer: Not used; verl passes it beside a reward model.

    Returns:
        The reward, from 0 to 1.

    Raises:
        ValueError: The protocol or a step of `extract` is unknown, the threshold is outside [0, 1], or an answer is no
            text.

    Example:
        >>> compute_score("docvqa", "<think>12?</think> 12 %", ["12%"], extract="think")
        0.75
    """
    return _scores([solution_str], [ground_truth], protocol, threshold, extract, fields)[0]


def compute_scores(
    data_sources: Sequence[object],
    solution_strs: Sequence[str],
    ground_truths: Sequence[object],
    extra_infos: Sequence[object] | None = None,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike | str = None,
) -> list[float]:
    """Score n solutions at once, for the reward manager ``batch``; the arguments are as for `compute_score`.

    Example:
        >>> truths = ['{"total": 9}', '{"total": 12}']
        >>> options = {"protocol": "anls_star", "fields": {"$.total": {"compare": "number"}}}
        >>> compute_scores(["a", "a"], ['{"total": "9.00"}', '{"total": "13'], truths, **options)
        [1.0, 0.0]
    """
    return _scores(solution_strs, ground_truths, protocol, threshold, extract, fields)


def _scores(
    solutions: Sequence[str],
    truths: Sequence[object],
    protocol: str | Protocol,
    threshold: Threshold,
    extract: Extract,
    fields: FieldsLike | str,
) -> list[float]:
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = _read_file(fields) if isinstance(fields, str) else fields
    return score_outputs(solutions, truths, rules, read_fields(resolved, rules))


_read_file = functools.cache(Fields.from_file)  # once a worker, not once a solution
