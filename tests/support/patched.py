"""Limits and functions of the package replaced for a test, in every module that holds them."""

import sys
from typing import Any

import pytest


def set_limit(patch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Set a name of the package wherever it was imported to."""
    holders = [own for module, own in sys.modules.items() if module.startswith("anls_eval.") and name in vars(own)]
    assert holders, f"nothing in the package is named {name}"
    for module in holders:
        patch.setattr(module, name, value)
