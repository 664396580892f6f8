"""The names in one column of a table on a terminal: of files, systems or groups, and as long as these are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile

from rich.cells import cell_len

from anls_eval.cli.control_characters import escaped

_WIDEST = 80  # cells of a terminal
_BEFORE = 16  # characters that are shown before the first that tells names apart
_UNIT = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[nr])|.", re.DOTALL)  # an escape that is written out is never cut


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Give each name of a column as one line, a long one without its middle, and different lines to different names.

    Where long names would look the same, they lose what they begin with in common; if that does not help, they stay
    long.

    Args:
        names: The names. Nothing in them is markup.

    Returns:
        The lines by name.

    Example:
        >>> for line in shortened([f"{'runs/' * 30}model-{own}/{'predictions' * 9}" for own in "ab"]).values():
        ...     print(line)
        …runs/runs/model-a/predictionsprediction…ctionspredictionspredictionspredictions
        …runs/runs/model-b/predictionsprediction…ctionspredictionspredictionspredictions
    """
    units = {name: _UNIT.findall(escaped(name).replace("\n", "\\n")) for name in names}
    whole = {name: "".join(own) for name, own in units.items()}
    lines = {name: _without_middle(own, _WIDEST) for name, own in units.items()}
    for group in _alike(lines):
        start = max(_in_common([units[name] for name in group]) - _BEFORE, 0)
        for name in group:
            if lines[name] != whole[name]:
                lines[name] = f"…{_without_middle(units[name][start:], _WIDEST - 1)}"
    return lines | {name: whole[name] for group in _alike(lines) for name in group}


def _alike(lines: dict[str, str]) -> list[list[str]]:
    """The names that have one line with others."""
    groups: dict[str, list[str]] = {}
    for name, line in lines.items():
        groups.setdefault(line, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _in_common(lines: Iterable[Sequence[str]]) -> int:
    """How many units all lines begin with."""
    return sum(1 for _ in takewhile(lambda own: len(set(own)) == 1, zip(*lines, strict=False)))


def _without_middle(units: Sequence[str], widest: int) -> str:
    """Both ends of a line, as many cells as there may be; what takes none, such as an accent, counts as one."""
    widths = [max(cell_len(own), 1) for own in units]
    if sum(widths) <= widest:
        return "".join(units)
    head = _fitting(widths, widest // 2)
    tail = _fitting(widths[::-1], widest - widest // 2 - 1)
    return f"{''.join(units[:head])}…{''.join(units[len(units) - tail :])}"


def _fitting(widths: Sequence[int], cells: int) -> int:
    """How many of the first fit."""
    return sum(end <= cells for end in accumulate(widths))
