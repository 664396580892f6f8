"""Commands that decide."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anls_eval.cli.common import (
    AsJson,
    ClusterBy,
    Columns,
    Encoding,
    FieldsOption,
    Filter,
    Format,
    Missing,
    OptionsFile,
    Parse,
    Predictions,
    Protocol,
    Quiet,
    References,
    Separator,
    Threshold,
    Unknown,
    check_output,
    err,
    how_to_read,
    open_side,
    out,
    parsed,
    print_json,
    print_table,
    read_fields_option,
    read_options,
    say,
    show_notes,
)

if TYPE_CHECKING:
    from rich.table import Table

    from anls_eval.decisions.baseline import Baseline
    from anls_eval.decisions.gate import GateResult
    from anls_eval.submission.score import ScoredQuestions


def gate(
    predictions: Predictions,
    references: References,
    baseline: Annotated[
        str | None,
        typer.Option(help="What to compare with: predictions of the old system, or what --save-baseline wrote."),
    ] = None,
    max_drop: Annotated[float, typer.Option(help="The drop of the score that is allowed, such as 0.01.")] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a greater drop is not ruled out, too: fail when undecided.")
    ] = False,
    min_score: Annotated[
        float | None, typer.Option(help="Fail if the score is lower; with --strict, if its lower bound is.")
    ] = None,
    by: Annotated[list[str] | None, typer.Option("--by", help="A column whose groups must hold, too.")] = None,
    cluster_by: ClusterBy = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Write the scores as a baseline for later, unless the gate fails.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the result as Markdown, for a summary.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the result as JUnit XML.")] = None,
    power: Annotated[
        bool,
        typer.Option("--power", help="Decide nothing, but say how many questions would show a drop of --max-drop."),
    ] = False,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    fields: FieldsOption = None,
    options: OptionsFile = None,
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
    """Decide whether a new system may replace an old one; exit status 1 if a drop is proven."""
    from anls_eval.decisions import gate_words
    from anls_eval.decisions.baseline import Baseline, load_baseline
    from anls_eval.decisions.gate import check_gate_options, run_gate
    from anls_eval.submission.score import score_questions

    check_gate_options(max_drop, min_score)
    if baseline is None and min_score is None and save_baseline is None and not power:
        raise ValueError(
            "nothing to compare with: pass --baseline FILE or --min-score X; the first time, --save-baseline FILE "
            "writes the file for --baseline"
        )
    for path in (save_baseline, markdown, junit):
        check_output(path, *predictions, *references)
    how = how_to_read(encoding, separator, filter_name)
    read: dict[str, Any] = {"format_name": format_name, "columns": columns, "how": how, "quiet": quiet or as_json}
    asked: dict[str, Any] = {"protocol": protocol, "threshold": threshold, "missing": missing, "unknown": unknown}
    asked |= {"fields": read_fields_option(fields), "options": read_options(options)}
    asked["parse"] = parsed(parse)
    of_references = open_side("references", references, **read)
    kept = [*(by or ()), *([] if cluster_by is None else [cluster_by])]
    new = score_questions(open_side("predictions", predictions, **read), of_references, columns=kept, **asked)
    show_notes(new.submission.notes)
    old = None
    if baseline is not None:
        old = load_baseline(
            baseline, lambda path: score_questions(open_side("predictions", [path], **read), of_references, **asked)
        )
    if power:
        _show_power(new, old, max_drop, cluster_by, as_json)
        return
    if old is None and min_score is None:
        is_open = True
    else:
        result = run_gate(
            new, old, max_drop=max_drop, strict=strict, min_score=min_score, by=by or (), cluster_by=cluster_by
        )
        is_open = result.is_open
        if markdown is not None:
            gate_words.write_text(markdown, gate_words.as_markdown(result))
        if junit is not None:
            gate_words.write_text(junit, gate_words.as_junit(result))
        if as_json:
            print_json(result.to_dict())
        else:
            say(gate_words.verdict_line(result))
            out.print()
            print_table(_gate_table(result))
            say(f"\n{result.signature}")
        show_notes(result.notes)
    if save_baseline is not None and is_open:
        Baseline.of(new).write(save_baseline)
        if not quiet:
            say(f"baseline written: {save_baseline}", err)
    if not is_open:
        raise typer.Exit(1)


def _gate_table(result: GateResult) -> Table:
    from rich.text import Text

    from anls_eval.cli.column_names import shortened
    from anls_eval.cli.tables import plain_table
    from anls_eval.decisions.gate_words import HEADER, cells

    table = plain_table(*HEADER)
    rows = cells(result)
    names = shortened(name for name, *_ in rows)
    for name, *own in rows:
        table.add_row(Text(names[name]), *own)
    return table


def _show_power(
    new: ScoredQuestions, old: Baseline | None, max_drop: float, cluster_by: str | None, as_json: bool
) -> None:
    """Print how many questions show a drop, from two systems, or for several shares of changed answers from one."""
    from anls_eval.cli.tables import plain_table
    from anls_eval.decisions.power import power_of

    found = power_of(new, old, max_drop, cluster_by)
    if as_json:
        print_json([dataclasses.asdict(own) for own in found])
        return
    if old is not None:
        [own] = found
        say(
            f"{own.questions:,} questions would show a drop of {max_drop:g} in 4 of 5 runs; these {len(new.scores):,} "
            f"show one of {own.smallest_drop:.4f} ({own.changed:.1%} changed)."
        )
        return
    table = plain_table("changed", f"smallest drop shown by {len(new.scores):,}", f"questions for {max_drop:g}")
    for own in found:
        table.add_row(f"{own.changed:.0%}", f"{own.smallest_drop:.4f}", f"{own.questions:,}")
    say("Found in 4 of 5 runs, by the share of questions whose score changes:")
    print_table(table)
