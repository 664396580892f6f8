"""Results as flat dicts, as wandb, MLflow and Trackio log them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any


def metrics(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Give the numbers of a result under flat names, for ``wandb.log``, ``mlflow.log_metrics`` and ``trackio.log``.

    Args:
        result: What ``compute(...)`` gives, plain or detailed, or `submission.SubmissionScore.to_dict`.
        prefix: Put before each name, with a slash: ``"val"`` makes ``val/anls_score``.

    Returns:
        Each number by its path, the parts joined by slashes. Lists, which hold a value for each question, and None are
        left out. A character that MLflow refuses in a name becomes ``_``.

    Raises:
        ValueError: Two paths become the same name.

    Example:
        >>> metrics({"anls_score": 0.9, "signature": "anls|...", "by": {"type": {"form": {"n": 3, "score": 1.0}}}})
        {'anls_score': 0.9, 'by/type/form/n': 3, 'by/type/form/score': 1.0}
    """
    named: dict[str, float] = {}
    for path, value in _leaves(result, (prefix,) if prefix else ()):
        if isinstance(value, (int, float)):
            name = "/".join(re.sub(r"[^\w .:-]", "_", part) for part in path)
            if name in named:
                raise ValueError(
                    f"two numbers have the name {name!r} once {'/'.join(path)!r} is written so; rename one"
                )
            named[name] = value
    return named


def texts(result: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Give the texts of a result, such as its signature: for ``wandb.config.update`` and ``mlflow.log_params``.

    Args:
        result: As in `metrics`.
        prefix: As in `metrics`.

    Returns:
        Each text by its path.

    Example:
        >>> texts({"anls_score": 0.9, "signature": "anls|protocol:standard"}, prefix="val")
        {'val/signature': 'anls|protocol:standard'}
    """
    leaves = _leaves(result, (prefix,) if prefix else ())
    return {"/".join(path): value for path, value in leaves if isinstance(value, str)}


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _leaves(child, (*path, str(key)))
    else:
        yield path, value
