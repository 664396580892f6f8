"""The types of what the public functions take, where Python can say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

Tree: TypeAlias = object
"""A tree of dicts, lists, strings, numbers, bools, None and whatever else has a text; a tuple holds alternatives."""

Texts: TypeAlias = object
"""Texts, or lists of accepted answers: a list, NumPy array, pandas Series or Arrow column."""

Missing: TypeAlias = Literal["error", "zero"]
"""What a question without a prediction is."""

Unknown: TypeAlias = Literal["error", "ignore"]
"""What a prediction without a question is."""

Extract: TypeAlias = str | Sequence[str] | None
"""Names of steps that take the answer out, in a list or joined by commas; "none" for no steps."""
