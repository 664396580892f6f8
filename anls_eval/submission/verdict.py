"""What two systems mean for a decision: the sentence a person would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anls_eval.statistics import Comparison
from anls_eval.statistics.groups import GroupDifference

_ALPHA = 0.05


def verdict(
    names: tuple[str, str],
    comparison: Comparison,
    by: Mapping[str, Sequence[GroupDifference]] | None = None,
    p_adjusted: float | None = None,
) -> str:
    """Return which of two systems is better, by how much and where above all, or that it is not proven.

    The comparisons, also those by group, are of the first with the second. The p-value is left to where the sentence is
    shown: beside it or in a table.
    """
    gain, own = comparison.difference, comparison.interval
    if gain == 0:
        return f"{names[0]} and {names[1]} have the same score."
    better, worse = names if gain > 0 else names[::-1]
    low, high = (own.low, own.high) if gain > 0 else (-own.high, -own.low)
    amount = f"{abs(gain):.3f} ({low:.3f} to {high:.3f})"
    if (comparison.p_value if p_adjusted is None else p_adjusted) > _ALPHA:
        return f"{better} scores {amount} higher than {worse}, but that it is better is not proven."
    proven = [
        (abs(group.comparison.difference), column, group.group)
        for column, groups in (by or {}).items()
        for group in groups
        if group.p_adjusted <= _ALPHA and group.comparison.difference * gain > 0
    ]
    _, column, value = max(proven, key=lambda found: found[0], default=(0.0, "", ""))
    where = f", above all where {column} is {value}" if proven else ""
    return f"{better} is better than {worse} by {amount}{where}."
