"""The command line ``anls``. Each command imports what it needs when it runs, so that the help appears at once."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import gc
import glob
import io
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from anls_eval.cli import interrupts
from anls_eval.cli.words import Commands, in_options, note_in_options, whole_number
from anls_eval.errors import AnlsError, Remedy
from anls_eval.text.visible import escaped, escaped_json
from anls_eval.version import __version__

if TYPE_CHECKING:
    from anls_eval.cluster.run import DatasetScore
    from anls_eval.files import Reader

app = typer.Typer(
    name="anls",
    cls=Commands,
    help="ANLS and ANLS*: score answers and submissions by the protocol of any leaderboard.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Protocol = Annotated[str, typer.Option("--protocol", "-p", help="A name that `anls protocols` lists.")]
Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold", "-t", help="Minimum similarity that counts, such as 0.8 or 4/5. Defaults to the protocol's."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_SEVERAL = "a file, a folder, or a pattern in quotes"
Predictions = Annotated[
    list[str], typer.Argument(help=f"The predictions: {_SEVERAL}. Several are parts of one submission.")
]
References = Annotated[
    list[str],
    typer.Option("--references", "-r", help=f"The accepted answers: {_SEVERAL}. Repeat the option for several."),
]
OptionalReferences = Annotated[
    list[str] | None,
    typer.Option(
        "--references",
        "-r",
        help=f"The accepted answers: {_SEVERAL}. Repeat the option for several. Defaults to PREDICTIONS.",
    ),
]
Format = Annotated[str | None, typer.Option("--format", help="The format of all files; detected by default.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="Assign columns to roles, as ROLE=NAME: question_id, prediction, answers, answer_type, document. To set "
        "it for one side only: predictions.question_id=NAME, references.question_id=NAME.",
    ),
]
Parse = Annotated[
    list[str] | None,
    typer.Option(
        "--parse",
        help="Whose texts to take apart where they print a list or dict: predictions, answers, columns of --by, with "
        "commas between them; or none. By default, the cells of tables, and columns in which every text can be.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="The encoding of text that is not UTF-8 and has no byte order mark, such as cp1252.")
]
Separator = Annotated[
    str | None, typer.Option(help="What separates the cells of a table of text; found in its header by default.")
]
Filter = Annotated[str | None, typer.Option("--filter", help="The filter of lm-eval to read, in a log with several.")]
Missing = Annotated[str, typer.Option(help="Questions without a prediction: error, or zero to score them 0.")]
Unknown = Annotated[str, typer.Option(help="Predictions without a question: error, or ignore.")]
ClusterBy = Annotated[
    str | None, typer.Option(help="The column that names the document of each question, for intervals and tests.")
]
Seed = Annotated[
    int, typer.Option(parser=whole_number(0), metavar="INTEGER", help="Random seed for intervals and tests.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar and the detected formats.")]


def main() -> None:
    """Run the command line. Errors go to stderr, with exit status 2, or 130 after Ctrl-C."""
    gc.set_threshold(50_000, 20, 100)  # rows are millions of objects without the cycles that it looks for
    warnings.showwarning = lambda message, *_, **__: _show_notes([message])
    warnings.simplefilter("always", UserWarning)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # whatever a text or a file name holds
    try:
        app()
    except SystemExit as stop:
        if stop.code == interrupts.STATUS and stop.__context__ is not None:
            _say("; ".join(filter(None, ("interrupted", in_options(stop.__context__.__cause__)))), err)
        raise
    except ModuleNotFoundError as error:
        extra = "dask" if error.name in ("dask", "distributed") else "eval"
        _say(f"error: this needs {error.name}: pip install '.[{extra}]' in the folder of anls", err)
        raise SystemExit(2) from None
    except (ValueError, TypeError, OSError) as error:
        _say(f"error: {in_options(error)}", err)
        raise SystemExit(2) from None


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version of the metric.")] = False,
) -> None:
    if version:
        _say(f"anls {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        err.out(context.get_help(), highlight=False)
        raise typer.Exit(2)


def _show_notes(notes: Iterable[Warning | str]) -> None:
    for note in notes:
        _say(f"note: {note_in_options(note)}", err)


def _say(text: str, console: Console = out) -> None:
    """Print a text with control characters escaped, since it may quote files."""
    console.print(escaped(text), markup=False)


def _print_table(table: Table) -> None:
    """Print a table at its full width: numbers that are cut or folded cannot be read."""
    wide = Console(width=10_000)
    console = Console(highlight=False, width=Measurement.get(wide, wide.options, table).maximum)
    with console.capture() as captured:
        console.print(table)
    out.out("\n".join(line.rstrip() for line in captured.get().splitlines()), highlight=False)


def _print_json(value: Any) -> None:
    """Print JSON piece by piece: a report of a million problems is never held as one text."""
    parts = json.JSONEncoder(ensure_ascii=False, indent=2, default=_fields).iterencode(value)
    while text := "".join(itertools.islice(parts, 10_000)):
        out.file.write(escaped_json(text))  # rich would take each line apart
    out.file.write("\n")
    out.file.flush()


def _fields(result: Any) -> dict[str, Any]:
    """Return the fields of a dataclass without copying their values."""
    return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}


@app.command()
def protocols(
    name: Annotated[str | None, typer.Argument(help="Show one protocol in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the protocols, or show what one does and where it comes from."""
    from anls_eval.cli.protocols import protocol_table, protocol_text, protocols_as_json

    try:
        if as_json:
            _print_json(protocols_as_json(name))
        elif name is None:
            _print_table(protocol_table())
        else:
            _say(protocol_text(name))
    except AnlsError as error:  # of the argument NAME, which is no option here
        raise ValueError(f"{name}: {error.problem}") from None


@app.command()
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
    answer_type: Annotated[str | None, typer.Option(help="The answer type, for leaderboards that need one.")] = None,
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
    if json_file is not None:
        from anls_eval.files.json_files import read_document

        given, expected = read_document(json_file)
        document = scoring.explain(given, expected, protocol=protocol or "anls_star", threshold=threshold)
        shown, plain = str(document), document.to_dict()
    else:
        accepted = answers[0] if answers and len(answers) == 1 else answers  # a text can write out a list
        found = explain_answers(
            prediction, accepted, protocol=protocol or "standard", threshold=threshold, answer_type=answer_type
        )
        _show_notes(found.notes)
        shown, plain = tables.answers_text(found), found.to_dict()
    if as_json:
        _print_json(plain)
    else:
        _say(shown)


@app.command()
def score(
    predictions: Predictions,
    references: OptionalReferences = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    by: Annotated[list[str] | None, typer.Option("--by", help="A column to break the score down by.")] = None,
    per_question: Annotated[
        Path | None, typer.Option(help="Write a row for each question: .parquet, .csv or .jsonl.")
    ] = None,
    cluster_by: ClusterBy = None,
    seed: Seed = 0,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None,
    confidence: Annotated[
        str | None, typer.Option(help="For --report: the column with the confidence of each prediction, from 0 to 1.")
    ] = None,
    eval_results: Annotated[
        Path | None, typer.Option(help="Write the .eval_results/*.yaml file that the Hub shows into this folder.")
    ] = None,
    dataset_id: Annotated[str | None, typer.Option(help="For --eval-results: the dataset on the Hub.")] = None,
    task_id: Annotated[str | None, typer.Option(help="For --eval-results: the task in that dataset.")] = None,
    push: Annotated[
        str | None, typer.Option(metavar="REPO", help="Upload the --eval-results file to this model on the Hub.")
    ] = None,
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
        Path | None, typer.Option("--out", help="With Dask: write the score of each question to this folder, in parts.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="With --out: keep what an earlier run finished.")] = False,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="With Dask: leave out damaged files; if rows are matched by id across files, also pass "
            "--missing zero.",
        ),
    ] = False,
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

    for path in (per_question, report):
        _check_output(path, *predictions, *(references or ()))
    _check_html(report)
    if eval_results is None and (dataset_id or task_id):
        raise ValueError("--dataset-id and --task-id need --eval-results, the folder to write to")
    if eval_results is not None and not (dataset_id and task_id):
        raise ValueError("--eval-results needs --dataset-id and --task-id, such as lmms-lab/DocVQA and docvqa_val")
    if confidence is not None and report is None:
        raise ValueError("--confidence needs --report, which shows how far the confidences can be trusted")
    if push is not None and eval_results is None:
        raise ValueError("--push needs --eval-results, the folder for the file that is uploaded")
    with_dask = workers is not None or scheduler is not None
    if workers and scheduler:
        raise ValueError("--workers starts processes and --scheduler uses a running cluster; pass only one of them")
    if not with_dask and (out_folder or resume or skip_bad):
        raise ValueError(
            "--out, --resume and --skip-bad need --workers or --scheduler, which score with Dask; in one process, "
            "--per-question FILE writes the score of each question"
        )
    if resume and out_folder is None:
        raise ValueError("--resume needs --out, the folder of the earlier run")
    if with_dask and (per_question is not None or cluster_by is not None or report is not None):
        raise ValueError(
            "--workers and --scheduler cannot be combined with --per-question, --cluster-by or --report; use --out "
            "FOLDER to get the score of each question"
        )

    how = _how(encoding, separator, filter_name)
    asked: dict[str, Any] = {"protocol": protocol, "threshold": threshold, "by": by or [], "seed": seed}
    asked |= {"missing": missing, "unknown": unknown, "parse": _parsed(parse)}
    dataset: dict[str, Any] = {}
    if not with_dask:
        sides = _open_both(predictions, references, format_name, columns, how, quiet or as_json)
        asked |= {"cluster_by": cluster_by, "per_question": per_question}
        with _progress(sides[1].rows, quiet) as advance:
            if report is None:
                result = score_submission(*sides, **asked, on_progress=advance)
            else:
                from anls_eval.report import read_system

                system = read_system(*sides, **asked, confidence=confidence, on_progress=advance)
                result = system.scored.submission
    else:
        asked |= {"format": format_name, "columns": _roles(columns), **how}
        asked |= {"out": out_folder, "resume": resume, "skip_bad": skip_bad}
        asked |= {"workers": workers, "client": scheduler}
        found = _score_dataset(predictions, references, quiet, asked)
        result = found.submission
        dataset = {**found.to_dict(), "out": None if out_folder is None else str(out_folder)}
    _show_notes(result.notes)
    if report is not None:
        from anls_eval.report import write_report

        write_report(report, system)
    if eval_results is not None and dataset_id and task_id:
        from anls_eval.report import hub

        path = hub.write_eval_result(eval_results, result, dataset_id=dataset_id, task_id=task_id)
        if push is not None:
            _say(f"uploaded: {hub.push_eval_result(path, push)}", err)
    if as_json:
        plain = dataset or result.to_dict()
        _print_json(plain | {"notes": list(map(note_in_options, result.notes))})
    else:
        from anls_eval.cli import tables

        _print_table(tables.submission_table(result))
        _say(f"\n{result.signature}")


def _score_dataset(
    predictions: list[str], references: list[str] | None, quiet: bool, asked: dict[str, Any]
) -> DatasetScore:
    """Score files with Dask; exit with status 1 if some of them are bad."""
    from anls_eval.cluster.run import BadPartsError, known_rows, score_dataset
    from anls_eval.submission.passes import counted

    given = _one_or_list(predictions), _one_or_list(references) if references else None
    rows = known_rows(given[1] or given[0]) if err.is_terminal and not quiet else None
    with _progress(rows, quiet) as advance:
        try:
            found = score_dataset(*given, on_progress=advance, **asked)
        except BadPartsError as error:
            _say(f"error: {in_options(error)}", err)
            raise typer.Exit(1) from None
    if not quiet:
        parts = counted(found.parts, "part")
        how = {"file": "paired file by file", "id": "paired by id across files"}[found.paired_by]
        resumed = f"{found.resumed:,} finished before, " if found.resumed else ""
        summary = f"{parts}, {resumed}{how}"
        _say(summary if asked["out"] is None else f"Scores by question are in {asked['out']} ({summary}).", err)
    return found


@app.command()
def compare(
    systems: Annotated[list[str], typer.Argument(help=f"The predictions of at least two systems, each {_SEVERAL}.")],
    references: References,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    cluster_by: ClusterBy = None,
    seed: Seed = 0,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report of two systems side by side.")] = None,
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
    from anls_eval.submission.systems import ranking_as_json, score_systems

    if len(systems) < 2:
        raise ValueError("expected at least two systems; to score one, use `anls score`")
    _check_output(report, *systems, *references)
    _check_html(report)
    if report is not None and len(systems) > 2:
        raise ValueError(f"--report compares two systems, but {len(systems)} were given; pick two")
    how = _how(encoding, separator, filter_name)
    asked: dict[str, Any] = {"protocol": protocol, "threshold": threshold, "cluster_by": cluster_by}
    asked |= {"missing": missing, "unknown": unknown, "parse": _parsed(parse)}
    found = score_systems(
        systems,
        _open("references", references, format_name, columns, how, quiet or as_json),
        open_system=lambda path: _open("predictions", [path], format_name, columns, how, quiet or as_json),
        measure=report is not None,
        **asked,
    )
    ranking = found.rank(seed)
    if report is not None:
        from anls_eval.report import System, write_report

        pair = [
            System(name=name, scored=own, clusters=found.clusters, seed=seed) for name, own in found.systems.items()
        ]
        write_report(report, *pair)
    _show_notes(found.notes)
    if as_json:
        _print_json({**ranking_as_json(ranking), "signature": found.signature})
    else:
        _print_table(tables.ranking_table(ranking))
        out.print()
        _print_table(tables.comparison_table(ranking))
        _say(f"\n{found.signature}")


@app.command()
def leaderboard(
    systems: Annotated[
        list[str],
        typer.Argument(help=f"A folder with one file or folder per system; or several systems, each {_SEVERAL}."),
    ],
    references: References,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write the leaderboard: .md, .csv, .html or .json.")
    ] = None,
    protocol: Protocol = "standard",
    threshold: Threshold = None,
    cluster_by: ClusterBy = None,
    seed: Seed = 0,
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
    _check_output(out_file, *paths, *references)
    if out_file is not None:
        leaderboard_format(out_file)
    how = _how(encoding, separator, filter_name)
    asked: dict[str, Any] = {"protocol": protocol, "threshold": threshold, "cluster_by": cluster_by}
    asked |= {"missing": missing, "unknown": unknown, "parse": _parsed(parse)}
    found = score_systems(
        paths,
        _open("references", references, format_name, columns, how, quiet=True),
        open_system=lambda path: _open("predictions", [path], format_name, columns, how, quiet=True),
        skip=True,
        **asked,
    )
    ranking = found.rank(seed)
    skipped = {path: in_options(error) for path, error in found.skipped.items()}
    if out_file is not None:
        write_leaderboard(out_file, ranking, skipped, found.signature)
    if as_json:
        _print_json(leaderboard_as_json(ranking, skipped, found.signature))
    else:
        _print_table(tables.ranking_table(ranking))
        _say(f"\n{found.signature}")
    if not quiet:
        _show_notes(found.notes)
    for path, why in skipped.items():
        _say(f"skipped: {path}: {why}", err)


def _systems_in(folder: str, references: list[str]) -> list[str]:
    """List the files and folders in a folder, except hidden ones and the references."""
    if glob.has_magic(folder) and not Path(folder).exists():
        raise ValueError(
            "A quoted pattern is one system. Remove the quotes to rank each file: "
            f"anls leaderboard {folder} -r {' -r '.join(references)}."
        )
    if not Path(folder).is_dir():
        raise ValueError(f"{folder} is not a folder; expected one with a prediction file for each system")
    found = [path for path in sorted(Path(folder).iterdir()) if path.name[0] not in "._"]
    paths = [path for path in found if not any(_is_same(path, own) for own in references)]
    if not paths:
        raise ValueError(f"{folder} contains no prediction files")
    return list(map(str, paths))


def _is_same(path: Path, other: str) -> bool:
    """Return whether two names refer to the same file; a broken link refers to none."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


def _check_output(path: Path | None, *inputs: str | None) -> None:
    """Refuse, before any work is done, to overwrite an input file or to write to a folder that does not exist."""
    from anls_eval.files.many import file_paths

    if path is None:
        return
    read: list[str] = []
    for own in filter(None, inputs):
        with contextlib.suppress(ValueError):  # what cannot be read is reported where it is opened
            read += file_paths(own)
    if any(_is_same(path, own) for own in read):
        raise ValueError(f"{path} is one of the input files; write to another name")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist; create it first")


def _check_html(path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--report {path}: expected a file name ending in .html")


@app.command()
def diagnose(
    predictions: Predictions,
    references: References,
    reported: Annotated[
        str, typer.Option("--reported", help="The reported score as written, from 0 to 1 or 0 to 100.")
    ],
    parse: Parse = None,
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
    from anls_eval.submission.score import read_questions

    how = _how(encoding, separator, filter_name)
    sides = _open_both(predictions, references, format_name, columns, how, quiet or as_json)
    questions = read_questions(*sides, parse=_parsed(parse))
    _show_notes(questions.notes)
    found = find_causes(questions.predictions, questions.answers, reported, question_ids=questions.question_ids)
    if as_json:
        _print_json(tables.diagnosis_as_json(found))
    else:
        _say(tables.diagnosis_text(found))


@app.command()
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
        Path | None, typer.Option(help="Write the submission with all safe fixes applied: .json, .jsonl or .csv.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object with every problem, not only the first of each kind."),
    ] = False,
) -> None:
    """Find what a portal would refuse and what costs points; exit status 1 if the submission would be refused."""
    from anls_eval.check.check import MAX_SHOWN, check_submission
    from anls_eval.check.fix import fix_submission
    from anls_eval.check.rows import read_rows
    from anls_eval.cli import tables
    from anls_eval.files import FormatError
    from anls_eval.files.files import How

    _check_output(fix, predictions, references)
    asked: dict[str, Any] = {"format": format_name, "columns": _roles(columns), "most": None if as_json else MAX_SHOWN}
    asked |= {"parse": _parsed(parse), **_how(encoding, separator, filter_name)}
    report = left = check_submission(predictions, references, **asked)
    shown = _fields(report)
    if not report.is_readable:
        try:
            # For the error itself, which the report quotes.
            read_rows(predictions, format_name, asked["columns"], How(**_how(encoding, separator, filter_name)))
        except FormatError as error:
            if not as_json:
                raise
            shown["problems"] = [dataclasses.replace(report.problems[0], found=in_options(error))]
    if not as_json:
        _say(tables.check_text(report))
    if fix is not None and report.is_readable:
        left = fix_submission(predictions, fix, references, **asked)
        shown["mended"] = left
        if not as_json:
            _say(f"\n{tables.fixed_text(report, left)}")
    if as_json:
        _print_json(shown)
    if left.refused:
        raise typer.Exit(1 if report.is_readable else 2)


def _open_both(
    predictions: list[str],
    references: list[str] | None,
    format_name: str | None,
    columns: list[str] | None,
    how: dict[str, str | None],
    quiet: bool,
) -> tuple[Reader, Reader]:
    """Open both sides of a submission; without references, the prediction files contain them."""
    from anls_eval.files.errors import listed
    from anls_eval.files.source import KEY, VALUE

    of_predictions = _open("predictions", predictions, format_name, columns, how, quiet, alone=not references)
    if not references and not of_predictions.detected.has_references:
        names = of_predictions.names
        named = "" if set(names) <= {KEY, VALUE} else f" The columns are: {listed(names)}."
        raise AnlsError(
            f"{of_predictions.detected.path} has no accepted answers; name the file that has them with -r.{named}",
            remedies=[Remedy("columns", {"answers": "NAME"}, "name the column that has them")] if named else [],
        )
    paths = references or predictions
    return of_predictions, _open("references", paths, format_name, columns, how, quiet, alone=not references)


def _open(
    side: str,
    paths: list[str],
    format_name: str | None,
    columns: list[str] | None,
    how: dict[str, Any],
    quiet: bool,
    alone: bool = False,
) -> Reader:
    """Open one side and show how it is read; files that come `alone` have the column of the other side, too."""
    from anls_eval.files import open_predictions, open_references

    open_side, other = (open_predictions, "answers") if side == "predictions" else (open_references, "prediction")
    roles = {role: name for role, name in _roles(columns).items() if alone or role != other}
    reader = open_side(_one_or_list(paths), format=format_name, columns=roles, **how)
    if not quiet:
        own = reader.detected
        read_as = ", ".join(f"{role}={name}" for role, name in own.columns.items())
        compression = f", {own.compression}" if own.compression else ""
        files = f" ({len(reader.parts)} files)" if len(reader.parts) > 1 else ""
        _say(f"{own.path}{files}: {own.format}{compression}; {read_as}", err)
    return reader


def _how(encoding: str | None, separator: str | None, filter_name: str | None) -> dict[str, str | None]:
    """Return how the files are to be read, as the openers take it."""
    tab = separator in ("\\t", "tab")  # which is hard to type
    return {"encoding": encoding, "separator": "\t" if tab else separator, "filter": filter_name}


def _parsed(parse: list[str] | None) -> list[str] | None:
    """Return the names in --parse."""
    return None if parse is None else [name.strip() for own in parse for name in own.split(",")]


def _one_or_list(paths: list[str]) -> str | list[str]:
    """Return a single path by itself, so that messages name it as the user did."""
    return paths[0] if len(paths) == 1 else paths


def _roles(columns: list[str] | None) -> dict[str, str]:
    """Return the column names in --columns by role."""
    from anls_eval.files.columns import ROLES

    roles = {}
    for text in columns or []:
        role, _, name = text.partition("=")
        if not name:
            raise ValueError(f"--columns {text}: expected ROLE=NAME, as in --columns prediction=output")
        if role.removeprefix("predictions.").removeprefix("references.") not in ROLES:
            close = [name] if name in ROLES else difflib.get_close_matches(role, ROLES, n=1)
            meant = f" Did you mean {close[0]}={role if close[0] == name else name}?" if close else ""
            expected = f"Expected ROLE=NAME with one of {', '.join(ROLES)}."
            raise ValueError(f"--columns {text}: {role!r} is not a role. {expected}{meant}")
        roles[role] = name
    return roles


@contextlib.contextmanager
def _progress(rows: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if quiet or not err.is_terminal:
        yield lambda done: None
        return
    shown = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
    of_all = "" if rows is None else f"/{rows:,}"
    with Progress(*shown, console=err, transient=True) as progress:
        task = progress.add_task(f"0{of_all}", total=rows, speed="")

        def advance(done: int) -> None:
            own = progress.tasks[0]
            speed = f"{done / own.elapsed:,.0f} rows/s" if done and own.elapsed else ""
            progress.update(task, description=f"{done:,}{of_all}", completed=done, speed=speed)

        yield advance
