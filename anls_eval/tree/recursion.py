"""Recursion without a depth limit: computations that wait for others, run on an explicit stack."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

Computation = Generator[Any, Any, Any]  # a computation that yields the computations it waits for


def run_computation(computation: Computation) -> Any:
    """Run a computation and all those it waits for; no tree is too deep for it."""
    stack, result = [computation], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value
    return result
