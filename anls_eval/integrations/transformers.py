"""ANLS during training: ``compute_metrics`` for `transformers.Trainer` and `Seq2SeqTrainer`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.fields.fields import FieldsLike
from anls_eval.integrations.model_output import read_output, read_reference
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.scoring import anls_scores, anls_star_scores
from anls_eval.types import Extract

_IGNORED = -100  # the label that the loss ignores, and the padding of gathered batches


def make_compute_metrics(
    tokenizer: Any,
    *,
    answers: Sequence[Any] | None = None,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Callable[[Any], dict[str, float]]:
    """Make a ``compute_metrics`` for a Trainer, which decodes and scores a whole evaluation set.

    It needs token ids. A `Seq2SeqTrainer` with ``predict_with_generate=True`` returns them; a `Trainer` returns logits:
    pass `greedy_ids` or `greedy_next_ids` as its ``preprocess_logits_for_metrics``, which also saves memory.

    Args:
        tokenizer: The tokenizer that decodes the ids, or a processor that has one.
        answers: The accepted answers of each example, in the order of the evaluation set; for a tree protocol, trees or
            JSON texts. Defaults to the decoded labels, one answer each.
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`. A tree protocol reads predictions and labels as JSON.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`. Defaults to the protocol's.
        fields: For trees, how their parts are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A function of an `EvalPrediction` that returns ``{"anls_score": mean}``, or ``{"anls_star_score": mean}`` for
        trees, for ``metric_for_best_model``.

    Raises:
        ValueError: The protocol or a step of `extract` is unknown, or the threshold is outside [0, 1]; from the
            function, predictions are not token ids, or their number is not that of `answers`.
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)
    name = "anls_star_score" if rules.tree else "anls_score"
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)

    def compute_metrics(evaluated: Any) -> dict[str, float]:
        predictions = _decoded(tokenizer, evaluated.predictions)
        expected = _decoded(tokenizer, evaluated.label_ids) if answers is None else answers
        if rules.tree:
            trees, references = [read_output(text, rules) for text in predictions], list(map(read_reference, expected))
            scores = anls_star_scores(trees, references, protocol=rules.with_extract("none"), fields=resolved)
        else:
            scores = anls_scores(predictions, expected, protocol=rules)
        return {name: math.fsum(scores.tolist()) / len(scores)}

    return compute_metrics


def greedy_ids(logits: Any, labels: Any) -> Any:
    """Return the most likely tokens of an encoder-decoder model, for ``preprocess_logits_for_metrics``.

    Each token is predicted from the correct previous tokens, so that scores are higher than for generated text.

    Args:
        logits: Tensor of shape (n, length, vocabulary), or a tuple that starts with it.
        labels: Token ids of shape (n, length).

    Returns:
        Token ids of shape (n, length); -100 where the label is -100.
    """
    return _first(logits).argmax(-1).masked_fill(labels == _IGNORED, _IGNORED)


def greedy_next_ids(logits: Any, labels: Any) -> Any:
    """Return the most likely tokens of a decoder-only model, whose logits predict the label at the next position."""
    return greedy_ids(_first(logits).roll(1, 1), labels)


def _first(logits: Any) -> Any:
    return logits[0] if isinstance(logits, tuple) else logits


def _decoded(tokenizer: Any, ids: Any) -> list[str]:
    array: npt.NDArray[Any] = np.asarray(ids[0] if isinstance(ids, tuple) else ids)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"predictions are {array.dtype} of shape {array.shape}; expected token ids of shape (n, length). "
            "Set predict_with_generate=True, or pass preprocess_logits_for_metrics=greedy_ids"
        )
    kept = [row[row != _IGNORED].tolist() for row in array]  # not every tokenizer has a padding token
    texts: list[str] = tokenizer.batch_decode(kept, skip_special_tokens=True)
    return texts
