"""`anls fields`: which fields of extracted documents fail."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    how_to_read,
    open_both,
    parsed,
    print_json,
    print_table,
    read_fields_option,
    say,
    show_notes,
)
from anls_eval.cli.outputs import check_html, output_option
from anls_eval.outputs import check_outputs


def fields(
    predictions: Predictions,
    references: OptionalReferences = None,
    fields_file: FieldsOption = None,
    match_at: MatchAt = "1",
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="anls_star or anls_star_paper.")] = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    report_file: Annotated[Path | None, output_option("Write a self-contained HTML report.", "--report")] = None,
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
    from anls_eval.cli.field_table import field_table, summary_text
    from anls_eval.fields.fields import Fields
    from anls_eval.registry import resolve_rules
    from anls_eval.rules.protocol import read_threshold
    from anls_eval.submission.score import read_questions

    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    resolved = read_fields_option(fields_file) or Fields({})
    least = read_threshold(match_at, "match_at")
    check_outputs([report_file], [*predictions, *(references or ()), fields_file])
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
