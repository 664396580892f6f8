"""Limits and functions of the package replaced for a test, in every module that holds them."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest


def set_limit(patch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Set a name of the package wherever it was imported to."""
    holders = [own for module, own in sys.modules.items() if module.startswith("anls_eval.") and name in vars(own)]
    assert holders, f"nothing in the package is named {name}"
    for module in holders:
        patch.setattr(module, name, value)


@contextlib.contextmanager
def through_arrays() -> Iterator[None]:
    """Score few questions as many are: through arrays, not one by one."""
    with pytest.MonkeyPatch.context() as patch:
        set_limit(patch, "FEW_QUESTIONS", -1)
        yield
