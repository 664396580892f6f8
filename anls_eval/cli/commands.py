"""The command line ``anls``. Each command imports what it needs when it runs, so that the help appears at once."""

from __future__ import annotations

import copy
import dataclasses
import gc
import glob
import io
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anls_eval.cli import interrupts
from anls_eval.cli.common import (
    SEVERAL,
    AsJson,
    By,
    ClusterBy,
    Columns,
    Confidence,
    Encoding,
    Extract,
    FieldsOption,
    Filter,
    Format,
    Missing,
    OptionalReferences,
    OptionsFile,
    Parse,
    Predictions,
    Protocol,
    Quiet,
    References,
    Seed,
    Separator,
    Threshold,
    Unknown,
    check_confidence,
    column_roles,
    fields_of,
    how_to_read,
    one_or_list,
    open_both,
    opener,
    parsed,
    print_json,
    print_table,
    progress,
    read_fields_option,
    read_options,
    say,
    scoring,
    show_notes,
    warn,
)
from anls_eval.cli.decisions import agreement, audit, automate, gate
from anls_eval.cli.fields import fields as fields_command
from anls_eval.cli.outputs import check_html, output_option
from anls_eval.cli.words import Command, Commands, forget_command, in_options, number, whole_number
from anls_eval.errors import AnlsError
from anls_eval.limits import LimitError, limit_error
from anls_eval.names import is_utf8, name_fault
from anls_eval.outputs import check_not_read, check_outputs, is_same
from anls_eval.version import __version__

if TYPE_CHECKING:
    from anls_eval.cluster.run import DatasetScore

app = typer.Typer(
    name="anls",
    cls=Commands,
    help="ANLS and ANLS*: score answers and submissions by the protocol of any leaderboard.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run the command line. Errors go to stderr, with exit status 2, or 128 + its number after a signal."""
    gc.set_threshold(200_000, 20, 100)  # modules and rows are millions of objects without the cycles that it looks for
    warnings.showwarning = lambda message, *_, **__: show_notes([message])
    warnings.simplefilter("always", UserWarning)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # whatever a text or a file name holds
    try:
        _check_arguments(sys.argv[1:])
        _app_with(sys.argv[1:2])()
    except SystemExit as stop:
        if stop.code == interrupts.STATUS and stop.__context__ is not None:
            warn("; ".join(filter(None, (interrupts.words(), in_options(stop.__context__.__cause__)))))
        raise
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        extra = "dask" if name in ("dask", "distributed", "psutil") else "eval"
        warn(f"error: this needs {name}: pip install '.[{extra}]' in the folder of anls")
        raise SystemExit(2) from None
    except Exception as error:
        told = limit_error(error) or error
        if not isinstance(told, (ValueError, TypeError, OSError, LimitError)):
            raise
        warn(f"error: {in_options(told)}")
        raise SystemExit(2) from (told if isinstance(told, LimitError) else None)
    finally:
        forget_command()


def _check_arguments(arguments: list[str]) -> None:
    """Refuse what is UTF-8 where the environment says that it is ASCII: its bytes would be taken for characters."""
    if sys.getfilesystemencoding() != "utf-8" and not all(map(is_utf8, arguments)):
        raise ValueError(f"an argument is {name_fault()}")


def _app_with(first: list[str]) -> typer.Typer:
    """Return the app with only the command that the first argument names: Typer builds the options of all it has."""
    named = [own for own in app.registered_commands if own.callback and [own.name or own.callback.__name__] == first]
    if not named:  # the help and errors list all
        return app
    alone = copy.copy(app)
    alone.registered_commands = named
    return alone


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version of the metric.")] = False,
) -> None:
    if version:
        say(f"anls {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        warn(context.get_help())
        raise typer.Exit(2)


@app.command(cls=Command)
def protocols(
    name: Annotated[str | None, typer.Argument(help="Show one protocol in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the protocols, or show what one does and where it comes from."""
    from anls_eval.cli.protocols import protocol_table, protocol_text, protocols_as_json

    try:
        if as_json:
            print_json(protocols_as_json(name))
        elif name is None:
            print_table(protocol_table())
        else:
            say(protocol_text(name))
    except AnlsError as error:  # of the argument NAME, which is no option here
        raise ValueError(f"{name}: {error.problem}") from None


@app.command(cls=Command)
def explain(
    prediction: Annotated[str | None, typer.Argument(help="The predicted text.")] = None,
    answers: Annotated[list[str] | None, typer.Argument(help="The accepted answers.")] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(help='A JSON object {"prediction": ..., "reference": ...} instead of PREDICTION and ANSWERS.'),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            "-p",
            help="A name that `anls protocols` lists. Defaults to standard, or anls_star for a file.",
        ),
    ] = None,
    threshold: Threshold = None,
    extract: Extract = None,
    answer_type: Annotated[str | None, typer.Option(help="The answer type, for leaderboards that need one.")] = None,
    options: Annotated[
        str | None,
        typer.Option(
            "--options",
            metavar="FILE",
            help='What a benchmark knows beside the answers: a JSON object such as {"year": ["NO"]}.',
        ),
    ] = None,
    fields: FieldsOption = None,
    as_json: AsJson = False,
) -> None:
    """Score one answer, or the document in a file, and explain the score."""
    from anls_eval import scoring
    from anls_eval.cli import tables
    from anls_eval.explanation.answers import explain_answers
    from anls_eval.registry import get_rules

    if (json_file is None) == (prediction is None) or (prediction is not None and not answers):
        raise ValueError("expected a PREDICTION with at least one ANSWER, or --json-file FILE")
    if json_file is None and getattr(get_rules(protocol or "standard"), "tree", False):
        raise ValueError(f"--protocol {protocol} scores documents: pass --json-file FILE.")
    if json_file is None and fields is not None:
        raise ValueError("--fields is of documents: pass --json-file FILE.")
    if json_file is not None:
        from anls_eval.files.json_files import read_document

        given, expected, notes = read_document(json_file)
        show_notes(notes)
        document = scoring.explain(
            given,
            expected,
            protocol=protocol or "anls_star",
            threshold=threshold,
            extract=extract,
            fields=read_fields_option(fields),
        )
        shown, plain = str(document), document.to_dict()
    else:
        accepted = answers[0] if answers and len(answers) == 1 else answers  # a text can write out a list
        found = explain_answers(
            prediction,
            accepted,
            protocol=protocol or "standard",
            threshold=threshold,
            extract=extract,
            answer_type=answer_type,
            options=read_options(options),
        )
        show_notes(found.notes)
        shown, plain = tables.answers_text(found), found.to_dict()
    if as_json:
        print_json(plain)
    else:
        say(shown)


@app.command(cls=Command)
def score(
    predictions: Predictions,
    references: OptionalReferences = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    by: By = None,
    per_question: Annotated[
        Path | None, output_option("Write a row for each question: .parquet, .csv or .jsonl.")
    ] = None,
    cluster_by: ClusterBy = None,
    seed: Seed = 0,
    report: Annotated[Path | None, output_option("Write a self-contained HTML report.")] = None,
    confidence: Confidence = None,
    eval_results: Annotated[
        Path | None, output_option("Write the .eval_results/*.yaml file that the Hub shows into this folder.")
    ] = None,
    dataset_id: Annotated[str | None, typer.Option(help="For --eval-results: the dataset on the Hub.")] = None,
    task_id: Annotated[str | None, typer.Option(help="For --eval-results: the task in that dataset.")] = None,
    dataset_revision: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="For --eval-results: the commit of the dataset.")
    ] = None,
    source_url: Annotated[
        str | None, typer.Option(metavar="URL", help="For --eval-results: where the predictions or logs can be seen.")
    ] = None,
    scale: Annotated[
        int,
        typer.Option(parser=whole_number(1), metavar="1|100", help="For --eval-results: 100 writes percentages."),
    ] = 1,
    push: Annotated[
        str | None,
        typer.Option(
            metavar="REPO",
            help="Upload the --eval-results file to this model on the Hub; without the right to, open a pull request.",
        ),
    ] = None,
    fields: FieldsOption = None,
    options: OptionsFile = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
    parse: Parse = None,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=whole_number(1), metavar="INTEGER", help="Score with Dask, in this many processes on this machine."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Score on the Dask cluster with this scheduler, such as tcp://HOST:8786."),
    ] = None,
    out_folder: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="With Dask: write the score of each question there, in parts."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="With --out: keep what an earlier run finished.")] = False,
    checksums: Annotated[
        bool,
        typer.Option(
            "--checksums",
            help="With --out, in the first run and with --resume: tell changed files by their content, not by size "
            "and time.",
        ),
    ] = False,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="With Dask: leave out damaged files; if rows are matched by id across files, also pass "
            "--missing zero.",
        ),
    ] = False,
    patience: Annotated[
        float | None,
        typer.Option(
            parser=number("30"),
            metavar="SECONDS",
            help="With Dask: seconds without a worker after which the run ends, 30 by default. After as many without "
            "a sign of life from a worker or the scheduler, a note says so; after 4 times as many, other workers do "
            "its work, or the run ends.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="With Dask: show its log.")] = False,
    format_name: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    separator: Separator = None,
    filter_name: Filter = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score a submission: JSON, JSON Lines, CSV, Parquet and more, detected from their content."""
    from anls_eval.submission.score import score_submission

    read = [*predictions, *(references or ()), fields, options]
    check_outputs([per_question, report], read)
    check_html(report)
    if eval_results is None and (dataset_id or task_id or dataset_revision or source_url or scale != 1):
        raise ValueError(
            "--dataset-id, --task-id, --dataset-revision, --source-url and --scale need --eval-results, the folder to "
            "write to"
        )
    if eval_results is not None and not (dataset_id and task_id):
        raise ValueError("--eval-results needs --dataset-id and --task-id, such as lmms-lab/DocVQA and docvqa_val")
    if eval_results is not None and dataset_id and task_id:
        from anls_eval.report import hub

        check_not_read([hub.eval_result_path(eval_results, dataset_id, task_id)], read)
    check_confidence(confidence, report)
    if push is not None and eval_results is None:
        raise ValueError("--push needs --eval-results, the folder for the file that is uploaded")
    with_dask = workers is not None or scheduler is not None
    if workers and scheduler:
        raise ValueError("--workers starts processes and --scheduler uses a running cluster; pass only one of them")
    if not with_dask and (patience is not None or verbose):
        raise ValueError("--patience and --verbose need --workers or --scheduler, which score with Dask")
    if not with_dask and (out_folder is not None or resume or skip_bad):
        raise ValueError(
            "--out, --resume and --skip-bad need --workers or --scheduler, which score with Dask; in one process, "
            "--per-question FILE writes the score of each question"
        )
    if resume and out_folder is None:
        raise ValueError("--resume needs --out, the folder of the earlier run")
    if checksums and out_folder is None:
        raise ValueError("--checksums needs --out, since they are for a later run with --resume")
    if with_dask and (per_question is not None or cluster_by is not None or report is not None):
        raise ValueError(
            "--workers and --scheduler cannot be combined with --per-question, --cluster-by or --report; use --out "
            "FOLDER to get the score of each question"
        )

    how = how_to_read(encoding, separator, filter_name)
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields, options)
    asked |= {"by": by or [], "seed": seed}
    dataset: dict[str, Any] = {}
    if not with_dask:
        sides = open_both(predictions, references, format_name, columns, how, quiet or as_json)
        asked |= {"cluster_by": cluster_by, "per_question": per_question}
        with progress(sides[1].rows, quiet) as advance:
            if report is None:
                result = score_submission(*sides, **asked, on_progress=advance)
            else:
                from anls_eval.report import read_system

                system = read_system(*sides, **asked, confidence=confidence, on_progress=advance)
                result = system.scored.submission
    else:
        asked |= {"format": format_name, "columns": column_roles(columns), **how}
        asked |= {"out": out_folder, "resume": resume, "checksums": checksums, "skip_bad": skip_bad}
        asked |= {"workers": workers, "client": scheduler, "verbose": verbose}
        asked |= {} if patience is None else {"patience": patience}
        found = _score_dataset(predictions, references, quiet, asked)
        result = found.submission
        bad = {path: in_options(reason) for path, reason in found.bad.items()}
        dataset = {**found.to_dict(), "bad": bad, "out": out_folder}
    show_notes(result.notes)
    if report is not None:
        from anls_eval.report import write_report

        write_report(report, system)
    if eval_results is not None and dataset_id and task_id:
        path = hub.write_eval_result(
            eval_results,
            result,
            dataset_id=dataset_id,
            task_id=task_id,
            dataset_revision=dataset_revision,
            source_url=source_url,
            scale=scale,
        )
        if push is not None:
            warn(f"uploaded: {hub.push_eval_result(path, push)}")
    if as_json:
        plain = dataset or result.to_dict()
        print_json(plain | {"notes": list(map(in_options, result.notes))})
    else:
        from anls_eval.cli import tables

        print_table(tables.submission_table(result))
        say(f"\n{result.signature}")


def _score_dataset(
    predictions: list[str], references: list[str] | None, quiet: bool, asked: dict[str, Any]
) -> DatasetScore:
    """Score files with Dask; exit with status 1 if some of them are bad."""
    from anls_eval.cluster.errors import BadPartsError
    from anls_eval.cluster.run import known_rows, score_dataset
    from anls_eval.submission.passes import counted

    given = one_or_list(predictions), one_or_list(references) if references else None
    rows = known_rows(given[1] or given[0]) if sys.stderr.isatty() and not quiet else None
    with progress(rows, quiet) as advance:
        try:
            found = score_dataset(*given, on_progress=advance, **asked)
        except BadPartsError as error:
            warn(f"error: {in_options(error)}")
            raise typer.Exit(1) from None
    if not quiet:
        parts = counted(found.parts, "part")
        how = {"file": "paired file by file", "id": "paired by id across files"}[found.paired_by]
        resumed = f"{found.resumed:,} finished before, " if found.resumed else ""
        summary = f"{parts}, {resumed}{how}"
        warn(summary if asked["out"] is None else f"Scores by question are in {asked['out']} ({summary}).")
    return found


@app.command(cls=Command)
def compare(
    systems: Annotated[list[str], typer.Argument(help=f"The predictions of at least two systems, each {SEVERAL}.")],
    references: References,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    by: By = None,
    cluster_by: ClusterBy = None,
    seed: Seed = 0,
    report: Annotated[Path | None, output_option("Write an HTML report of two systems side by side.")] = None,
    fields: FieldsOption = None,
    options: OptionsFile = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
    parse: Parse = None,
    format_name: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    separator: Separator = None,
    filter_name: Filter = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Rank systems with intervals and paired tests, and group those that cannot be told apart."""
    from anls_eval.cli import tables
    from anls_eval.registry import get_rules
    from anls_eval.submission.field_changes import field_differences, has_fields
    from anls_eval.submission.systems import differences_as_json, ranking_as_json, score_systems

    if len(systems) < 2:
        raise ValueError("expected at least two systems; to score one, use `anls score`")
    check_outputs([report], [*systems, *references, fields, options])
    check_html(report)
    if report is not None and len(systems) > 2:
        raise ValueError(f"--report compares two systems, but {len(systems)} were given; pick two")
    opened = opener(format_name, columns, encoding, separator, filter_name, quiet or as_json)
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields, options)
    found = score_systems(
        systems,
        opened("references", references),
        open_system=lambda path: opened("predictions", [path]),
        keep=report is not None or has_fields(get_rules(protocol)),
        measure=report is not None,
        by=by or [],
        cluster_by=cluster_by,
        **asked,
    )
    ranking = found.rank(seed)
    by_group = {column: found.group_differences(column, ranking, seed) for column in by or []}
    by_field = field_differences(found, ranking, seed)
    if report is not None:
        from anls_eval.report import System, write_report

        pair = [
            System(name=name, scored=own, clusters=found.clusters, seed=seed) for name, own in found.systems.items()
        ]
        write_report(report, *pair)
    show_notes([*found.notes, *ranking.notes, *ranking.pair_notes])
    if as_json:
        groups: dict[str, Any] = {"by": differences_as_json(by_group)} if by else {}
        groups |= {"by_field": differences_as_json({"": by_field})[""]} if by_field else {}
        print_json({**ranking_as_json(ranking), **groups, "signature": found.signature})
    else:
        for sentence in tables.verdicts(ranking, by_group):
            say(sentence)
        say()
        print_table(tables.ranking_table(ranking))
        say()
        print_table(tables.comparison_table(ranking))
        for column, differences in by_group.items():
            say()
            print_table(tables.differences_table(f"by {column}", "questions", differences))
        if by_field:
            say()
            print_table(tables.differences_table("changed fields", "documents", by_field))
        say(f"\n{found.signature}")


@app.command(cls=Command)
def leaderboard(
    systems: Annotated[
        list[str],
        typer.Argument(help=f"A folder with one file or folder per system; or several systems, each {SEVERAL}."),
    ],
    references: References,
    out_file: Annotated[
        Path | None, output_option("Write the leaderboard: .md, .csv, .html or .json.", "--out")
    ] = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    cluster_by: ClusterBy = None,
    seed: Seed = 0,
    fields: FieldsOption = None,
    options: OptionsFile = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
    parse: Parse = None,
    format_name: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    separator: Separator = None,
    filter_name: Filter = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Rank all systems in a folder; those that cannot be scored are listed with the reason."""
    from anls_eval.cli import tables
    from anls_eval.report.ranking import leaderboard_as_json, leaderboard_format, write_leaderboard
    from anls_eval.submission.systems import score_systems

    paths = _systems_in(systems[0], references) if len(systems) == 1 else systems
    check_outputs([out_file], [*paths, *references, fields, options])
    if out_file is not None:
        leaderboard_format(out_file)
        if len(systems) == 1 and is_same(out_file.parent, systems[0]) and out_file.name[0] not in "._":
            raise ValueError(f"{out_file} would be one of the systems the next time; write to another folder")
    opened = opener(format_name, columns, encoding, separator, filter_name, quiet=True)
    asked = scoring(protocol, threshold, extract, missing, unknown, parse, fields, options)
    found = score_systems(
        paths,
        opened("references", references),
        open_system=lambda path: opened("predictions", [path]),
        skip=True,
        keep=False,
        cluster_by=cluster_by,
        **asked,
    )
    ranking = found.rank(seed)
    skipped = {path: in_options(error) for path, error in found.skipped.items()}
    if out_file is not None:
        write_leaderboard(out_file, ranking, skipped, found.signature)
    if as_json:
        print_json(leaderboard_as_json(ranking, skipped, found.signature))
    else:
        print_table(tables.ranking_table(ranking))
        say(f"\n{found.signature}")
    if not quiet:
        show_notes([*found.notes, *ranking.notes])
    for path, why in skipped.items():
        warn(f"skipped: {path}: {why}")


def _systems_in(folder: str, references: list[str]) -> list[str]:
    """List the files and folders in a folder, except hidden ones and the references."""
    from anls_eval.files.files import exists, is_folder, is_hidden
    from anls_eval.files.paths import names_in

    if glob.has_magic(folder) and not exists(folder):
        raise ValueError(
            "A quoted pattern is one system. Remove the quotes to rank each file: "
            f"anls leaderboard {folder} -r {' -r '.join(references)}."
        )
    if not is_folder(folder) and not is_hidden(folder):
        raise ValueError(f"{folder} is not a folder; expected one with a prediction file for each system")
    found = [path for path in sorted(map(Path, names_in(folder))) if path.name[0] not in "._"]
    paths = [path for path in found if not any(is_same(path, own) for own in references)]
    if not paths:
        raise ValueError(f"{folder} contains no prediction files")
    return list(map(str, paths))


@app.command(cls=Command)
def diagnose(
    predictions: Predictions,
    references: References,
    reported: Annotated[
        str, typer.Option("--reported", help="The reported score as written, from 0 to 1 or 0 to 100.")
    ],
    parse: Parse = None,
    extract: Extract = None,
    format_name: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    separator: Separator = None,
    filter_name: Filter = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find which protocol, threshold, scale or scoring habit explains a reported score."""
    from anls_eval.analysis.diagnosis import diagnose as find_causes
    from anls_eval.cli import tables
    from anls_eval.submission.score import fitting_protocol, read_questions

    how = how_to_read(encoding, separator, filter_name)
    sides = open_both(predictions, references, format_name, columns, how, quiet or as_json)
    questions = read_questions(*sides, protocol=fitting_protocol(*sides), parse=parsed(parse), extract=extract)
    show_notes(questions.notes)
    found = find_causes(questions.predictions, questions.answers, reported, question_ids=questions.question_ids)
    if as_json:
        print_json(tables.diagnosis_as_json(found))
    else:
        say(tables.diagnosis_text(found))


@app.command(cls=Command)
def check(
    predictions: Annotated[str, typer.Argument(help="The file with the predictions.")],
    references: Annotated[
        str | None,
        typer.Option("--references", "-r", help="The accepted answers; with them, more can be found."),
    ] = None,
    parse: Parse = None,
    format_name: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    separator: Separator = None,
    filter_name: Filter = None,
    fix: Annotated[
        Path | None,
        output_option("Write the submission with all safe fixes applied: .json (as portals expect), .jsonl or .csv."),
    ] = None,
    extract: Extract = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object with every problem, not only the first of each kind."),
    ] = False,
) -> None:
    """Find what a portal would refuse and what costs points; exit status 1 if the submission would be refused."""
    from anls_eval.check.check import MAX_SHOWN, check_submission
    from anls_eval.check.fix import fix_submission
    from anls_eval.check.rows import open_rows
    from anls_eval.cli import tables
    from anls_eval.files import FormatError
    from anls_eval.files.files import How

    check_outputs([fix], [predictions, references])
    how = how_to_read(encoding, separator, filter_name)
    asked: dict[str, Any] = {
        "format": format_name,
        "columns": column_roles(columns),
        "extract": extract,
        "most": None if as_json else MAX_SHOWN,
    }
    asked |= {"parse": parsed(parse), **how}
    with progress(None, quiet=False) as advance:
        report = left = check_submission(predictions, references, **asked, on_progress=advance)
    shown = fields_of(report)
    if not report.is_readable:
        try:
            rows = open_rows(predictions, format_name, asked["columns"], How(**how))
            for _ in rows.ids():  # for the error itself, which the report quotes
                pass
        except FormatError as error:
            told = in_options(error)
        else:  # what it was is over
            told = report.problems[0].found
        warn(f"error: {told}")
        if not as_json:
            raise typer.Exit(2)
        shown["problems"] = [dataclasses.replace(report.problems[0], found=told)]
    try:  # to write before anything is printed, to which nobody may listen
        if fix is not None and report.is_readable:
            with progress(None, quiet=False) as advance:
                left = shown["mended"] = fix_submission(predictions, fix, references, **asked, on_progress=advance)
    finally:
        if not as_json:
            say(tables.check_text(report))
    if as_json:
        print_json(shown)
    elif "mended" in shown:
        say(f"\n{tables.fixed_text(report, left)}")
    if left.refused:
        raise typer.Exit(1 if report.is_readable else 2)


for _decision in (gate, audit, agreement, automate):
    app.command(cls=Command)(_decision)
app.command("fields", cls=Command)(fields_command)
