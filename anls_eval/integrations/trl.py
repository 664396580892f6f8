"""Rewards for the trainers of TRL, such as `GRPOTrainer`: ANLS of answers, ANLS* of extracted JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anls_eval.fields.fields import FieldsLike
from anls_eval.integrations.model_output import score_outputs
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.types import Extract


def make_reward(
    *,
    answers: str = "answers",
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Callable[..., list[float | None]]:
    """Make a reward function for ``reward_funcs``, which scores the completions of a step in one batch.

    No completion raises an error: JSON that is cut off is scored as text.

    Args:
        answers: Column of the data set with the accepted answers: a list of strings or one string; for a tree protocol,
            JSON text or a list of JSON texts. Data sets fill the keys that a dict lacks with None, so that dicts are
            better stored as JSON text.
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`. A tree protocol reads the completion as JSON.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's. 0 rewards every step
            towards the answer.
        extract: Steps that take the answer out of each completion first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`. Defaults to the protocol's.
        fields: For trees, how their parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A function ``reward(completions, **columns)`` named ``anls`` or ``anls_star`` in the logs. It takes n texts, or
        n lists of messages, of which the last one counts, and returns n rewards from 0 to 1; None where the column has
        None, which TRL skips.

    Raises:
        ValueError: The protocol or a step of `extract` is unknown, or the threshold is outside [0, 1]; from the
            function, the data set has no such column, or an answer is no text.

    Example:
        >>> reward = make_reward(extract="think,answer_tag")
        >>> completions = ["<think>12 or 13?</think><answer>12 %</answer>", "I do not know"]
        >>> reward(completions=completions, answers=[["12%"], ["Rome"]])
        [0.75, 0.0]
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)

    def reward(*, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        if answers not in columns:
            raise ValueError(
                f"the data set has no column {answers!r}; pass the name of the column with the accepted answers, "
                "make_reward(answers=...), and set remove_unused_columns=False in the configuration of the trainer"
            )
        expected = columns[answers]
        rows = [row for row, own in enumerate(expected) if own is not None]
        outputs = [_text(completions[row]) for row in rows]
        found = iter(score_outputs(outputs, [expected[row] for row in rows], rules, resolved))
        return [None if own is None else next(found) for own in expected]

    reward.__name__ = "anls_star" if rules.tree else "anls"
    return reward


def _text(completion: Any) -> str:
    """Return the text of a completion: a text, or messages, of which the model's last one counts."""
    if isinstance(completion, str):
        return completion
    own = [message for message in completion if message.get("role", "assistant") == "assistant"]  # and not of a tool
    content = own[-1].get("content") if own else None
    if isinstance(content, (list, tuple)):  # parts, some of them pictures
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content or ""
