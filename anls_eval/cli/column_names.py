"""Shorten the long names of files, systems and groups to fit a column on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile

from anls_eval.text.visible import escaped

_MAX_WIDTH = 80  # terminal cells
_CONTEXT = 16  # characters shown before the first that differs
_UNIT = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[nr])|.", re.DOTALL)  # escapes are never cut


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Return each name as one line of at most 80 cells, longer only where different names would look alike."""
    units = {name: _UNIT.findall(escaped(name).replace("\n", "\\n")) for name in names}
    whole = {name: "".join(own) for name, own in units.items()}
    lines = {name: _without_middle(own, _MAX_WIDTH) for name, own in units.items()}
    for group in _alike(lines):
        positions = zip(*(units[name] for name in group), strict=False)
        in_common = sum(1 for _ in takewhile(lambda position: len(set(position)) == 1, positions))
        start = max(in_common - _CONTEXT, 0)
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


def _without_middle(units: Sequence[str], width: int) -> str:
    """Cut the middle out of a line that is too wide; zero-width characters such as accents count as one cell."""
    from rich.cells import cell_len

    widths = [max(cell_len(own), 1) for own in units]
    if sum(widths) <= width:
        return "".join(units)
    head = _fitting(widths, width // 2)
    tail = _fitting(widths[::-1], width - width // 2 - 1)
    return f"{''.join(units[:head])}…{''.join(units[len(units) - tail :])}"


def _fitting(widths: Sequence[int], cells: int) -> int:
    """Return how many of the first units fit."""
    return sum(end <= cells for end in accumulate(widths))
