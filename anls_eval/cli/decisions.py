"""Commands that decide."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anls_eval.cli.common import (
    SEVERAL,
    AsJson,
    ClusterBy,
    Columns,
    Encoding,
    Extract,
    FieldsOption,
    Filter,
    Format,
    MatchAt,
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
    opener,
    print_json,
    print_table,
    say,
    scoring,
    show_notes,
    warn,
)
from anls_eval.cli.outputs import check_html, output_option
from anls_eval.cli.words import number, whole_number
from anls_eval.outputs import check_not_read, check_outputs

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from rich.table import Table

    from anls_eval.decisions.audit import Suspicion
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
    max_drop: Annotated[
        float,
        typer.Option(
            parser=number("0.01"), metavar="NUMBER", help="The drop of the score that is allowed, such as 0.01."
        ),
    ] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a greater drop is not ruled out, too: fail when undecided.")
    ] = False,
    min_score: Annotated[
        float | None,
        typer.Option(
            parser=number("0.8"),
            metavar="NUMBER",
            help="Fail if the score is lower; with --strict, if its lower bound is.",
        ),
    ] = None,
    by: Annotated[list[str] | None, typer.Option("--by", help="A column whose groups must hold, too.")] = None,
    by_field: Annotated[
        bool, typer.Option("--by-field", help="The mean credit of every field of documents must hold, too.")
    ] = False,
    cluster_by: ClusterBy = None,
    save_baseline: Annotated[
        Path | None, output_option("Write the scores as a baseline for later, unless the gate fails.")
    ] = None,
    markdown: Annotated[Path | None, output_option("Write the result as Markdown, for a summary.")] = None,
    junit: Annotated[Path | None, output_option("Write the result as JUnit XML.")] = None,
    power: Annotated[
        bool,
        typer.Option("--power", help="Decide nothing, but say how many questions would show a drop of --max-drop."),
    ] = False,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
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
    from anls_eval.decisions.baseline import Baseline, is_baseline, load_baseline
    from anls_eval.decisions.gate import check_gate_options, run_gate
    from anls_eval.submission.score import score_questions

    check_gate_options(max_drop, min_score)
    is_compared = baseline is not None or min_score is not None
    if not is_compared and save_baseline is None and not power:
        raise ValueError(
            "nothing to compare with: pass --baseline FILE or --min-score X; the first time, --save-baseline FILE "
            "writes the file for --baseline"
        )
    if power:
        _refuse([("save-baseline", save_baseline), ("markdown", markdown), ("junit", junit)], "--power decides nothing")
    elif not is_compared:
        nothing = "without --baseline FILE or --min-score X, nothing is compared"
        _refuse([("markdown", markdown), ("junit", junit), ("json", as_json)], nothing)
    check_outputs([save_baseline, markdown, junit], [*predictions, *references, fields, options])
    is_replaced = baseline is not None and is_baseline(baseline)  # what --save-baseline wrote, not predictions
    check_not_read([own for own in (None if is_replaced else save_baseline, markdown, junit) if own], [baseline])
    opened = opener(format_name, columns, encoding, separator, filter_name, quiet or as_json)
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields, options)
    of_references = opened("references", references)
    kept = [*(by or ()), *([] if cluster_by is None else [cluster_by])]
    new = score_questions(opened("predictions", predictions), of_references, columns=kept, **asked)
    show_notes(new.submission.notes)
    old = None
    if baseline is not None:
        old = load_baseline(
            baseline,
            lambda path: score_questions(opened("predictions", [path]), of_references, **asked),
            by_field=by_field,
        )
    if power:
        _show_power(new, old, max_drop, cluster_by, as_json)
        return
    result = None
    if is_compared:
        result = run_gate(
            new,
            old,
            max_drop=max_drop,
            strict=strict,
            min_score=min_score,
            by=by or (),
            by_field=by_field,
            cluster_by=cluster_by,
        )
        if markdown is not None:
            gate_words.write_text(markdown, gate_words.as_markdown(result))
        if junit is not None:
            gate_words.write_text(junit, gate_words.as_junit(result))
    is_open = result is None or result.is_open
    if save_baseline is not None and is_open:  # before anything is printed, to which nobody may listen
        Baseline.of(new, by_field=by_field).write(save_baseline)
    if result is not None:
        _show_gate(result, as_json)
    if save_baseline is not None and is_open and not quiet:
        warn(f"baseline written: {save_baseline}")
    if not is_open:
        raise typer.Exit(1)


def _show_gate(result: GateResult, as_json: bool) -> None:
    """Print the verdict and what was compared."""
    from anls_eval.decisions import gate_words

    if as_json:
        print_json(result.to_dict())
    else:
        _say(gate_words.verdict_line(result), _table(gate_words.HEADER, gate_words.cells(result)), result.signature)
    show_notes(result.notes)


def _refuse(outputs: Sequence[tuple[str, Path | bool | None]], reason: str) -> None:
    """Raise the error of outputs that would not be written, if any are asked for."""
    for option, asked in outputs:
        if asked:
            raise ValueError(f"--{option} would not be written: {reason}")


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


def automate(
    predictions: Predictions,
    references: References,
    confidence: Annotated[
        str,
        typer.Option(help="The column with the confidence of each prediction, from 0 to 1; for documents also a tree."),
    ],
    max_error: Annotated[
        float,
        typer.Option(
            parser=number("0.01"), metavar="NUMBER", help="The share of accepted documents that may err, such as 0.01."
        ),
    ],
    match_at: MatchAt = "1",
    cluster_by: ClusterBy = None,
    report: Annotated[
        Path | None, output_option("Write an HTML page with a plot of the share against the error.")
    ] = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsOption = None,
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
    """Show how much can be accepted by its confidence, without a person, with a bound on the errors among it."""
    from anls_eval.arrow import as_list
    from anls_eval.decisions import words
    from anls_eval.decisions.automation import (
        automate_scores,
        automate_trees,
        check_max_error,
        read_confidences,
    )
    from anls_eval.rules.protocol import read_threshold
    from anls_eval.submission.score import score_questions

    check_max_error(max_error)
    least = read_threshold(match_at, "match_at")
    check_outputs([report], [*predictions, *references, fields])
    check_html(report)
    opened = opener(format_name, columns, encoding, separator, filter_name, quiet or as_json)
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields)
    scored = score_questions(
        opened("predictions", predictions),
        opened("references", references),
        columns=[confidence, *([] if cluster_by is None else [cluster_by])],
        **asked,
    )
    show_notes(scored.submission.notes)
    of_trees = scored.protocol is not None and bool(scored.protocol.tree)
    given = read_confidences(scored.columns[confidence], of_trees)
    ids, line = scored.question_ids, scored.submission.signature
    if scored.protocol is not None and of_trees:
        if cluster_by is not None:
            raise ValueError("--cluster-by is of questions about documents; here each row is a document itself")
        trees = as_list(scored.predictions), as_list(scored.answers)
        found = automate_trees(*trees, given, scored.protocol, scored.fields, max_error, least, ids, line)
    else:
        documents = None if cluster_by is None else scored.documents(cluster_by)
        found = automate_scores(scored.scores, given, max_error, least, documents or ids, line, ids)
    if report is not None:
        from anls_eval.decisions.gate_words import write_text
        from anls_eval.report.pages import automation_page

        write_text(report, automation_page(found))
    if found.without_confidence:
        show_notes([f"{found.without_confidence:,} of {found.n:,} have no confidence and are never accepted"])
    if as_json:
        print_json(found.to_dict())
    else:
        table = _table(words.ACCEPTANCE_HEADER, words.automation_cells(found))
        _say(words.automation_sentence(found), table, found.signature)


def _say(sentence: str, table: Table, signature: str) -> None:
    """Print what was decided, the table that shows it, and the signature."""
    say(sentence)
    say()
    print_table(table)
    say(f"\n{signature}")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table whose first column names the rows."""
    from rich.text import Text

    from anls_eval.cli.column_names import shortened
    from anls_eval.cli.tables import plain_table

    table, listed = plain_table(*header), list(rows)
    names = shortened(name for name, *_ in listed)
    for name, *own in listed:
        table.add_row(Text(names[name]), *map(Text, own))
    return table


def agreement(
    predictions: Annotated[str, typer.Argument(help=f"The predictions with their labels: {SEVERAL}.")],
    references: References,
    human: Annotated[str, typer.Option(help="The column with the labels of people: right or wrong.")],
    judge: Annotated[str | None, typer.Option(help="The column with the labels of a judge, such as a model.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label that means right. By default true, yes, 1, right, correct and pass.")
    ] = None,
    out_file: Annotated[
        Path | None, output_option("Write the disagreements: .csv, .jsonl or .parquet.", "--out")
    ] = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsOption = None,
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
    """Compare the score, and a judge, with the labels of people, and correct the rate of the judge for its errors."""
    from anls_eval.decisions import words
    from anls_eval.decisions.agreement import agreement as find_agreement
    from anls_eval.submission.score import score_questions

    check_outputs([out_file], [predictions, *references, fields])
    opened = opener(format_name, columns, encoding, separator, filter_name, quiet or as_json)
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields)
    scored = score_questions(
        opened("predictions", [predictions]),
        opened("references", references),
        columns=[human, *([] if judge is None else [judge])],
        **asked,
    )
    show_notes(scored.submission.notes)
    labels = {name: list(map(", ".join, scored.columns[name])) for name in (human, judge) if name is not None}
    found = find_agreement(
        scored.scores, labels[human], judge=None if judge is None else labels[judge], positive=positive
    )
    show_notes(found.notes)
    rows = _disagreements(scored, found.disagreements, labels[human], None if judge is None else labels[judge])
    if out_file is not None:
        _write_dicts(out_file, rows)
    if as_json:
        print_json({**found.to_dict(), "disagreements": rows, "signature": scored.submission.signature})
        return
    for sentence in words.agreement_sentences(found):
        say(sentence)
    say()
    print_table(_table(words.AGREEMENT_HEADER, words.agreement_cells(found)))
    if rows:
        say()
        shown = [
            [f"{own:.4f}" if isinstance(own, float) else str(own) for own in row.values()] for row in rows[:_SHOWN]
        ]
        print_table(_shown_rows(list(rows[0]), shown))
        _say_left_out(len(rows) - len(shown))
    say(f"\n{scored.submission.signature}")


_SHOWN = 20  # rows in a terminal
_SHOWN_CHARACTERS = 40  # of a cell


def _shown_rows(header: list[str], rows: list[list[str]]) -> Table:
    from rich.text import Text

    from anls_eval.cli.tables import plain_table
    from anls_eval.text.visible import one_line

    table = plain_table(*header)
    for row in rows:
        cut = [own if len(own) <= _SHOWN_CHARACTERS else f"{own[: _SHOWN_CHARACTERS - 3]}..." for own in row]
        table.add_row(*(Text(one_line(own)) for own in cut))
    return table


def _say_left_out(number: int) -> None:
    if number > 0:
        say(f"and {number:,} more; --out FILE writes all")


def _disagreements(
    scored: ScoredQuestions, rows: Sequence[int], human: list[str], judge: list[str] | None
) -> list[dict[str, Any]]:
    """Return the questions on which people disagree with the score or the judge."""
    from anls_eval.arrow import as_list

    predictions, answers = as_list(scored.predictions), as_list(scored.answers)
    return [
        {
            "question_id": scored.question_ids[row],
            "prediction": _as_text(predictions[row]),
            "answers": _as_text(answers[row]),
            "score": float(scored.scores[row]),
            "human": human[row],
            **({} if judge is None else {"judge": judge[row]}),
        }
        for row in rows
    ]


def _as_text(value: Any) -> str | None:
    from anls_eval.tree.as_json import tree_as_json

    return value if value is None or isinstance(value, str) else json.dumps(tree_as_json(value), ensure_ascii=False)


def _write_dicts(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows with the same keys; without rows, an empty file."""
    from anls_eval.decisions.gate_words import write_text
    from anls_eval.files import write_rows

    if rows:
        write_rows(path, [_record_batch(rows)])
    else:
        write_text(path, "")


def _record_batch(rows: list[dict[str, Any]]) -> RecordBatch:
    """Return rows with the same keys, whose values are texts, lists of texts or numbers, as a batch to write."""
    import numpy as np
    import pyarrow as pa

    from anls_eval.arrow import number_array, text_list_array
    from anls_eval.submission.scorers import text_column

    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if any(isinstance(own, list) for own in values):
            columns[name] = text_list_array(values)
        elif any(isinstance(own, float) for own in values):
            columns[name] = number_array(np.array(values))
        else:
            columns[name] = text_column(values)
    return pa.record_batch(columns)


def audit(
    systems: Annotated[list[str], typer.Argument(help=f"The predictions of several systems, each {SEVERAL}.")],
    references: References,
    agree: Annotated[
        int | None,
        typer.Option(
            parser=whole_number(2),
            metavar="INTEGER",
            help="How many systems must give the same answer. Defaults to more than half of them, at least 2.",
        ),
    ] = None,
    out_file: Annotated[
        Path | None, output_option("Write all of it: .html with the evidence, .csv, .jsonl or .parquet.", "--out")
    ] = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsOption = None,
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
    """List the references to look at: systems agree against them, they contradict one another, or look damaged."""
    from anls_eval.decisions import words
    from anls_eval.decisions.audit import audit_systems
    from anls_eval.submission.systems import score_systems

    check_outputs([out_file], [*systems, *references, fields])
    opened = opener(format_name, columns, encoding, separator, filter_name, quiet or as_json)
    of_references = opened("references", references)
    document = of_references.detected.columns.get("document")
    kept = [_QUESTION, document] if document is not None and _QUESTION in of_references.names else []
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields)
    found = score_systems(
        systems,
        of_references,
        open_system=lambda path: opened("predictions", [path]),
        columns=kept,
        **asked,
    )
    result = audit_systems(found, agree, *kept)
    show_notes(found.notes)
    if out_file is not None and out_file.suffix.lower() in (".html", ".htm"):
        from anls_eval.decisions.gate_words import write_text
        from anls_eval.report.pages import audit_page

        write_text(out_file, audit_page(result))
    elif out_file is not None:
        _write_dicts(out_file, [_flat(own) for own in result.suspicions])
    if as_json:
        print_json(result.to_dict())
        return
    costly = [own for own in result.suspicions if own.kind != "variants"]
    say(words.audit_counts(result))
    say()
    if costly:
        rows = [
            [own.question_id, own.path, own.kind, f"{own.cost:.4f}", " | ".join(own.accepted), " | ".join(own.proposed)]
            for own in costly[:_SHOWN]
        ]
        print_table(_shown_rows(["question", "path", "why", "points", "accepted", "to consider"], rows))
        _say_left_out(len(costly) - len(rows))
        say()
    bounds = ([name, f"{own:.6f}", f"{result.bounds[name]:.6f}"] for name, own in result.scores.items())
    print_table(_table(("", "score", "at most, if all were accepted"), bounds))
    say(f"\n{words.ABOUT_AUDIT}\n\n{result.signature}")


_QUESTION = "question"  # the column with what was asked


def _flat(own: Suspicion) -> dict[str, Any]:
    """Return a suspicion as one row."""
    row: dict[str, Any] = {"question_id": own.question_id, "path": own.path, "kind": own.kind, "points": own.cost}
    row |= {"evidence": own.evidence, "accepted": list(own.accepted), "proposed": list(own.proposed)}
    for name, text in own.given.items():
        row |= {f"{name}: answer": text, f"{name}: points": own.gains[name]}
    return row
