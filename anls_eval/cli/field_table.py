"""What `anls fields` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anls_eval.cli.column_names import shortened
from anls_eval.cli.tables import plain_table
from anls_eval.text.visible import escaped

if TYPE_CHECKING:
    from rich.table import Table

    from anls_eval.analysis.accounting import FieldCounts, FieldReport, LeafFailure

_SHOWN_CONFUSIONS = 2
_SHOWN_CHARACTERS = 24  # of each side of a confusion


def field_table(report: FieldReport) -> Table:
    """Return a table of the fields, the most lost points first, with their most frequent confusions."""
    from rich.text import Text

    table = plain_table(
        "field", "lost points", "right", "wrong", "missing", "invented", "F1", "fabricated", "most frequent confusions"
    )
    rows = [row for row in report.by_field if row.right + row.wrong + row.missing + row.invented]
    names = shortened(row.path for row in rows)
    for row in rows:
        counts = [f"{own:,}" for own in (row.right, row.wrong, row.missing, row.invented)]
        rates = [_share(row.f1), _share(row.fabrication_rate)]
        table.add_row(Text(names[row.path]), f"{row.lost:.4g}", *counts, *rates, Text(_confusions_text(row)))
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _confusions_text(row: FieldCounts) -> str:
    return "; ".join(map(_confusion_text, row.confusions[:_SHOWN_CONFUSIONS]))


def _confusion_text(confusion: LeafFailure) -> str:
    expected, given = (_cut(escaped(text or "")) for text in (confusion.reference, confusion.prediction))
    times = f" ({confusion.count:,} times)" if confusion.count > 1 else ""
    return f"{expected} read as {given}{times}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def summary_text(report: FieldReport) -> str:
    """Return the sums over all fields in words."""
    lines = [
        _ratios_text("all leaves", report.micro.precision, report.micro.recall, report.micro.f1),
        _ratios_text("mean over documents", *(report.macro[name].mean for name in ("precision", "recall", "f1"))),
        f"{report.perfect:,} of {report.n:,} documents have no wrong, missing or invented leaf",
    ]
    for name, key in (("F1 of all leaves", "f1"), ("perfect documents", "perfect")):
        interval = report.intervals[key]
        if interval is not None:
            lines.append(f"{interval.level:.0%} interval of {name}: {interval.low:.1%} to {interval.high:.1%}")
    return "\n".join(lines)


def _ratios_text(what: str, precision: float | None, recall: float | None, f1: float | None) -> str:
    return f"{what:<19}  precision {_share(precision)}  recall {_share(recall)}  F1 {_share(f1)}"
