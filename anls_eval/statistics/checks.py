"""Scores by question, checked as they come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt


def checked_scores(scores: npt.ArrayLike | Sequence[float], name: str) -> npt.NDArray[np.float64]:
    """Give numbers in [0, 1] as an array.

    Args:
        scores: Of shape (n,), one number for each question.
        name: What they are, for messages.

    Returns:
        The same numbers.

    Raises:
        ValueError: There are none; they are no numbers, of another shape, or not in [0, 1].
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: not numbers; expected one in [0, 1] for each question") from None
    if values.ndim != 1:
        raise ValueError(f"{name}: an array of shape {values.shape}; expected shape (n,), one number for each question")
    if not len(values):
        raise ValueError(f"{name}: nothing to score: there is no question")
    check_range(values, name)
    return values


def check_range(values: npt.NDArray[np.float64], name: str) -> None:
    """Refuse numbers outside [0, 1].

    Args:
        values: Of shape (n,).
        name: What they are, for messages.

    Raises:
        ValueError: A number is outside, or missing: NaN.
    """
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))  # NaN is neither
    if len(wrong):
        raise ValueError(
            f"{name}: {float(values[wrong[0]])!r} in row {wrong[0]}, and {len(wrong) - 1} more that are not in [0, 1]"
        )


def check_lengths(arrays: Mapping[str, npt.NDArray[np.float64]]) -> None:
    """Refuse arrays of different lengths.

    Args:
        arrays: By what they are, for messages.

    Raises:
        ValueError: One has another length than the first.
    """
    (first, expected), *others = ((name, len(values)) for name, values in arrays.items())
    for name, length in others:
        if length != expected:
            raise ValueError(
                f"{first}: {expected} but {name}: {length}; expected one number for each question, in the same order"
            )
