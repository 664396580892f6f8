"""Results as flat dicts for wandb, MLflow and Trackio."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any


def metrics(result: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers of a result by flat name, for ``wandb.log``, ``mlflow.log_metrics`` and ``trackio.log``.

    Args:
        result: From ``compute(...)``, plain or detailed, or from ``score_submission(...).to_dict()``.
        prefix: Prefix of each name: ``"val"`` gives ``val/anls_score``.

    Returns:
        The numbers by path, with ``/`` between keys and ``_`` for characters that MLflow rejects. Lists, which hold
        one value per question, and None are skipped.

    Raises:
        ValueError: Two numbers would have the same name.

    Example:
        >>> metrics({"anls_score": 0.9, "signature": "anls|...", "by": {"type": {"form": {"n": 3, "score": 1.0}}}})
        {'anls_score': 0.9, 'by/type/form/n': 3, 'by/type/form/score': 1.0}
    """
    named: dict[str, float] = {}
    for path, value in _leaves(result, (prefix,) if prefix else ()):
        if isinstance(value, (int, float)):
            name = "/".join(re.sub(r"[^\w .:-]", "_", part) for part in path)
            if name in named:
                raise ValueError(f"two numbers would be named {name!r}, one of them {'/'.join(path)!r}; rename one")
            named[name] = value
    return named


def texts(result: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the texts of a result of `metrics` by path, for ``wandb.config.update`` and ``mlflow.log_params``.

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
