"""ANLS while a model trains: ``compute_metrics`` for `transformers.Trainer` and `Seq2SeqTrainer`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_scores

_IGNORED = -100  # the label that the loss leaves out, and the padding of what a Trainer gathers


def make_compute_metrics(
    tokenizer: Any,
    *,
    answers: Sequence[Any] | None = None,
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> Callable[[Any], dict[str, float]]:
    """Make the ``compute_metrics`` of a Trainer, which decodes and scores a whole evaluation.

    A `Seq2SeqTrainer` with ``predict_with_generate=True`` gives the ids that it needs. A `Trainer` gives logits: pass
    ``preprocess_logits_for_metrics=`` `greedy_ids` or `greedy_next_ids`, which also saves memory.

    Args:
        tokenizer: What decodes ids: a tokenizer, or a processor that has one.
        answers: The accepted answers of each example of the evaluation set, in its order. None takes the labels, which
            hold one answer each.
        protocol: A name or alias in `PROTOCOLS`, or an `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A function of an `EvalPrediction` that gives ``{"anls_score": mean}``: what ``metric_for_best_model`` names.

    Raises:
        ValueError: An unknown protocol, one of trees, or a threshold outside 0 to 1; from the function, predictions
            that are not ids.
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)

    def compute_metrics(evaluated: Any) -> dict[str, float]:
        predictions = _decoded(tokenizer, evaluated.predictions)
        expected = _decoded(tokenizer, evaluated.label_ids) if answers is None else answers
        scores = anls_scores(predictions, expected, protocol=rules).tolist()
        return {"anls_score": math.fsum(scores) / len(scores)}

    return compute_metrics


def greedy_ids(logits: Any, labels: Any) -> Any:
    """Take the likeliest token where there is a label: of an encoder-decoder, for ``preprocess_logits_for_metrics``.

    Each token is predicted after the right ones, not after the model's own: the score is above that of generated text.

    Args:
        logits: A tensor of shape (n, length, vocabulary), or a tuple that begins with it.
        labels: Ids of shape (n, length).

    Returns:
        Ids of shape (n, length), -100 where the label is.
    """
    return _first(logits).argmax(-1).masked_fill(labels == _IGNORED, _IGNORED)


def greedy_next_ids(logits: Any, labels: Any) -> Any:
    """Do the same for a decoder-only model, whose logits at one position are for the label at the next.

    Args:
        logits: As in `greedy_ids`.
        labels: As in `greedy_ids`.

    Returns:
        As in `greedy_ids`.
    """
    return greedy_ids(_first(logits).roll(1, 1), labels)


def _first(logits: Any) -> Any:
    return logits[0] if isinstance(logits, tuple) else logits


def _decoded(tokenizer: Any, ids: Any) -> list[str]:
    array: npt.NDArray[Any] = np.asarray(ids[0] if isinstance(ids, tuple) else ids)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"got {array.dtype} of shape {array.shape}; expected token ids of shape (n, length). "
            "Set predict_with_generate=True, or pass preprocess_logits_for_metrics=greedy_ids"
        )
    kept = [row[row != _IGNORED].tolist() for row in array]  # not every tokenizer has a padding token to put there
    texts: list[str] = tokenizer.batch_decode(kept, skip_special_tokens=True)
    return texts
