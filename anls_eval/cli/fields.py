"""`anls fields`: which fields of extracted documents fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anls_eval.cli.common import (
    AsJson,
    Columns,
    Confidence,
    Encoding,
    Extract,
    FieldsOption,
    Filter,
    Format,
    MatchAt,
    Missing,
    OptionalReferences,
    Parse,
    Predictions,
    Quiet,
    Seed,
    Separator,
    Threshold,
    Unknown,
    check_confidence,
    check_html,
    check_output,
    how_to_read,
    open_both,
    parsed,
    print_json,
    print_table,
    read_fields_option,
    say,
    show_notes,
)

if TYPE_CHECKING:
    from rich.table import Table

    from anls_eval.analysis.accounting import FieldCounts, FieldReport, LeafFailure

_SHOWN_CONFUSIONS = 2
_SHOWN_CHARACTERS = 24  # of each side of a confusion


def fields(
    predictions: Predictions,
    references: OptionalReferences = None,
    fields_file: FieldsOption = None,
    match_at: MatchAt = "1",
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="anls_star or anls_star_paper.")] = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    report_file: Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML report.")] = None,
    confidence: Confidence = None,
    seed: Seed = 0,
    missing: Missing = "error",
    unknown: Unknown = "error",
    format_name: Format = None,
    columns: Columns = None,
    parse: Parse = None,
    encoding: Encoding = None,
    separator: Separator = None,
    filter_name: Filter = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show which fields of documents are right, wrong, missing or invented, those that lose most points first."""
    from anls_eval.analysis.accounting import account_for_leaves
    from anls_eval.fields.fields import Fields
    from anls_eval.registry import resolve_rules
    from anls_eval.rules.protocol import read_threshold
    from anls_eval.submission.score import read_questions

    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    resolved = read_fields_option(fields_file) or Fields({})
    least = read_threshold(match_at, "match_at")
    check_output(report_file, *predictions, *(references or ()))
    check_html(report_file)
    check_confidence(confidence, report_file)
    asked: dict[str, Any] = {"protocol": rules, "missing": missing, "unknown": unknown, "parse": parsed(parse)}
    how = how_to_read(encoding, separator, filter_name)
    sides = open_both(predictions, references, format_name, columns, how, quiet or as_json)
    questions = read_questions(*sides, **asked)
    given, expected, ids = questions.predictions, questions.answers, questions.question_ids
    report, notes = account_for_leaves(given, expected, rules, resolved, least, ids, seed=seed)
    show_notes([*questions.notes, *notes])
    if report_file is not None:
        from anls_eval.report import read_system, write_report

        asked |= {"fields": resolved, "match_at": least, "seed": seed}
        write_report(report_file, read_system(*sides, **asked, confidence=confidence))
    if as_json:
        print_json({**report.to_dict(), "question_ids": ids})
    else:
        print_table(field_table(report))
        say()
        say(summary_text(report))
        say(f"\n{report.signature}")


def field_table(report: FieldReport) -> Table:
    """Return a table of the fields, the most lost points first, with their most frequent confusions."""
    from rich.text import Text

    from anls_eval.cli.column_names import shortened
    from anls_eval.cli.tables import plain_table

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
    from anls_eval.text.visible import escaped

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
