"""What became of each field of one document: a row for each path, with what was compared and why credit was lost."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from anls_eval.analysis.accounting import FieldCounts, account_for_leaves
from anls_eval.explanation.result import Match, comparison_shown
from anls_eval.fields.fields import Fields
from anls_eval.rules.protocol import Protocol

_MOST = 100
_TOKEN = re.compile(r"""\.\w+|\[(?:\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]""")
_HIDDEN = ("['$one_of']", "['$literal']")


@dataclasses.dataclass(frozen=True)
class FieldRow:
    """One field of a document.

    Attributes:
        path: Its path, with ``[*]`` for the elements of lists.
        compared_as: How its leaves were compared.
        weight: The sum of the weights of its leaves.
        credit: The sum of their credits.
        counts: How many are right, wrong, missing and invented, with precision and recall; None for containers.
        why: Why the leaf that lost most did; empty if none did.
    """

    path: str
    compared_as: str
    weight: float
    credit: float
    counts: FieldCounts | None
    why: str


def field_rows(
    prediction: Any, reference: Any, matches: Sequence[Match], rules: Protocol, fields: Fields | None
) -> tuple[list[FieldRow], int]:
    """Return the fields of a document, the most lost credit first, and how many more there are."""
    report, _ = account_for_leaves([prediction], [reference], rules, fields or Fields({}), Fraction(1), None)
    counts = {own.path: own for own in report.by_field}
    by_path: dict[str, list[Match]] = {}
    for match in matches:
        by_path.setdefault(field_path(match.reference_path or match.prediction_path or "$"), []).append(match)
    rows = [_row(path, own, counts.get(path)) for path, own in by_path.items()]
    rows.sort(key=lambda row: row.credit - row.weight)
    return rows[:_MOST], max(0, len(rows) - _MOST)


def _row(path: str, matches: Sequence[Match], counts: FieldCounts | None) -> FieldRow:
    worst = min(matches, key=lambda own: own.credit - own.weight)
    return FieldRow(
        path=path,
        compared_as=next((own.compared_as.comparator for own in matches if own.compared_as), "text"),
        weight=sum(own.weight for own in matches),
        credit=sum(own.credit for own in matches),
        counts=counts,
        why=why_lost(worst) if worst.credit < worst.weight else "",
    )


def field_path(path: str) -> str:
    """Return the path of the field of a leaf: elements of lists are ``[*]``, and alternatives add no step."""
    found, tokens = "$", iter(_TOKEN.findall(path))
    for token in tokens:
        if token in _HIDDEN:
            if token == _HIDDEN[0]:
                next(tokens, None)  # the number of the alternative
            continue
        found += "[*]" if token[1].isdigit() else token
    return found


def why_lost(match: Match) -> str:
    """Return in words why a leaf did not get full credit."""
    words = match.reason or "partly correct"
    if match.distance:
        words += f", {match.distance} of {match.length} characters"
    return ": ".join(filter(None, (words, comparison_shown(match))))
