"""Long names of files, systems and groups, shortened to fit a column on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile

from rich.cells import cell_len

from anls_eval.text.visible import escaped

_MAX_WIDTH = 80  # terminal cells
_CONTEXT = 16  # characters shown before the first that differs
_UNIT = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[nr])|.", re.DOTALL)  # escapes are never cut


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Return each name of a column as one line, so that different names have different lines.

    Long names lose their middle. Names that would then look alike lose their common beginning instead, or stay long
    if that does not help.

    Example:
        >>> for line in shortened([f"{'runs/' * 30}model-{own}/{'predictions' * 9}" for own in "ab"]).values():
        ...     print(line)
        …runs/runs/model-a/predictionsprediction…ctionspredictionspredictionspredictions
        …runs/runs/model-b/predictionsprediction…ctionspredictionspredictionspredictions
    """
    units = {name: _UNIT.findall(escaped(name).replace("\n", "\\n")) for name in names}
    whole = {name: "".join(own) for name, own in units.items()}
    lines = {name: _without_middle(own, _MAX_WIDTH) for name, own in units.items()}
    for group in _alike(lines):
        start = max(_in_common([units[name] for name in group]) - _CONTEXT, 0)
        for name in group:
            if lines[name] != whole[name]:
                lines[name] = f"…{_without_middle(units[name][start:], _MAX_WIDTH - 1)}"
    return lines | {name: whole[name] for group in _alike(lines) for name in group}


def _alike(lines: dict[str, str]) -> list[list[str]]:
    """Return groups of names that have the same line."""
    groups: dict[str, list[str]] = {}
    for name, line in lines.items():
        groups.setdefault(line, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _in_common(lines: Iterable[Sequence[str]]) -> int:
    """Return the number of units with which all lines begin."""
    return sum(1 for _ in takewhile(lambda own: len(set(own)) == 1, zip(*lines, strict=False)))


def _without_middle(units: Sequence[str], width: int) -> str:
    """Return both ends of a line, up to a number of cells; zero-width characters such as accents count as one."""
    widths = [max(cell_len(own), 1) for own in units]
    if sum(widths) <= width:
        return "".join(units)
    head = _fitting(widths, width // 2)
    tail = _fitting(widths[::-1], width - width // 2 - 1)
    return f"{''.join(units[:head])}…{''.join(units[len(units) - tail :])}"


def _fitting(widths: Sequence[int], cells: int) -> int:
    """Return how many of the first units fit."""
    return sum(end <= cells for end in accumulate(widths))
