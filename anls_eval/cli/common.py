"""What all commands share: their options, and how files are opened and results printed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anls_eval.cli.words import in_options, whole_number
from anls_eval.errors import AnlsError, Remedy
from anls_eval.text.visible import escaped, escaped_json

if TYPE_CHECKING:
    from rich.table import Table

    from anls_eval.fields.fields import Fields
    from anls_eval.files import Reader

Protocol = Annotated[str, typer.Option("--protocol", "-p", help="A name that `anls protocols` lists.")]
Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold", "-t", help="Minimum similarity that counts, such as 0.8 or 4/5. Defaults to the protocol's."
    ),
]
Extract = Annotated[
    str | None,
    typer.Option(
        "--extract",
        metavar="STEPS",
        help="Take the answer out of each prediction first, by steps such as think,answer_tag; none switches it off. "
        "Defaults to the protocol's.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SEVERAL = "a file, a folder, or a pattern in quotes"
Predictions = Annotated[
    list[str], typer.Argument(help=f"The predictions: {SEVERAL}. Several are parts of one submission.")
]
References = Annotated[
    list[str],
    typer.Option("--references", "-r", help=f"The accepted answers: {SEVERAL}. Repeat the option for several."),
]
OptionalReferences = Annotated[
    list[str] | None,
    typer.Option(
        "--references",
        "-r",
        help=f"The accepted answers: {SEVERAL}. Repeat the option for several. Defaults to PREDICTIONS.",
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
FieldsOption = Annotated[
    str | None,
    typer.Option(
        "--fields",
        metavar="FILE",
        help="How the fields of documents are compared: a file of fields or a JSON Schema (JSON or YAML), or a "
        "pydantic model as MODULE:Model. See docs/fields.md.",
    ),
]
MatchAt = Annotated[
    str,
    typer.Option(help="Minimum score of a question, or similarity of a leaf, that is right, such as 0.8 or 4/5."),
]
Confidence = Annotated[
    str | None,
    typer.Option(
        help="For --report: the column with the confidence of each prediction, from 0 to 1; for documents also a tree."
    ),
]
OptionsFile = Annotated[
    str | None,
    typer.Option(
        "--options",
        metavar="FILE",
        help='What a benchmark knows beside the answers: a JSON object such as {"appearance": {"date": "unrepeated"}}. '
        'An option that each question has is named by its column, as in {"year": "Year"}. `anls protocols NAME` lists '
        "the options.",
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
By = Annotated[list[str] | None, typer.Option("--by", help="A column to break the score down by.")]
ClusterBy = Annotated[
    str | None, typer.Option(help="The column that names the document of each question, for intervals and tests.")
]
Seed = Annotated[
    int,
    typer.Option(
        parser=whole_number(0),
        metavar="INTEGER",
        help="Random seed of what has to be drawn.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar and the detected formats.")]


def read_fields_option(text: str | None) -> Fields | None:
    """Return the fields that --fields names; those of a schema may name more than the documents have."""
    if text is None:
        return None
    from anls_eval.fields.fields import load_fields

    return load_fields(text)


def read_options(path: str | None) -> dict[str, Any] | None:
    """Return the options of a benchmark in the file that --options names."""
    if path is None:
        return None
    from anls_eval.inputs.values import type_with_article
    from anls_eval.settings import parse_settings, read_settings

    found = parse_settings(read_settings(path, "options"), path)
    if not isinstance(found, dict):
        raise AnlsError(f"found {type_with_article(found)}; expected one JSON object.", where=path)
    return found


def scoring(
    protocol: str,
    threshold: str | None,
    extract: str | None,
    missing: str,
    unknown: str,
    parse: list[str] | None,
    fields: str | None,
    options: str | None = None,
) -> dict[str, Any]:
    """Return how questions are scored, as the functions for submissions take it."""
    asked = {"protocol": protocol, "threshold": threshold, "extract": extract, "missing": missing, "unknown": unknown}
    files = {"options": read_options(options), "fields": read_fields_option(fields)}
    return {**asked, **files, "parse": parsed(parse)}


def show_notes(notes: Iterable[Warning | str]) -> None:
    """Print notes to stderr."""
    for note in notes:
        warn(f"note: {in_options(note)}")


# Tables and the progress bar import rich (0.03 s) where they are shown; texts are printed as they are.


def say(text: str = "") -> None:
    """Print a text with control characters escaped, and tabs as spaces, since it may quote files."""
    print(escaped(text).expandtabs(), flush=True)


def warn(text: str) -> None:
    """Print a text to stderr, as `say` does."""
    print(escaped(text).expandtabs(), file=sys.stderr, flush=True)


def print_table(table: Table) -> None:
    """Print a table at its full width: numbers that are cut or folded cannot be read."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=10_000)
    console = Console(highlight=False, width=Measurement.get(wide, wide.options, table).maximum)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()), flush=True)


def print_json(value: Any) -> None:
    """Print JSON piece by piece: a report of a million problems is never held as one text."""
    parts = json.JSONEncoder(ensure_ascii=False, indent=2, default=fields_of).iterencode(value)
    while text := "".join(itertools.islice(parts, 10_000)):
        sys.stdout.write(escaped_json(text))
    print(flush=True)


def fields_of(result: Any) -> dict[str, Any]:
    """Return the fields of a dataclass without copying their values."""
    return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}


def check_confidence(confidence: str | None, report: Path | None) -> None:
    """Refuse confidences without a report, which is all that shows them."""
    if confidence is not None and report is None:
        raise ValueError(
            "--confidence needs --report, which shows how far the confidences can be trusted and what can be accepted"
        )


def open_both(
    predictions: list[str],
    references: list[str] | None,
    format_name: str | None,
    columns: list[str] | None,
    how: dict[str, str | None],
    quiet: bool,
) -> tuple[Reader, Reader]:
    """Open both sides of a submission; without references, the prediction files contain them."""
    from anls_eval.files.columns import ROLES
    from anls_eval.files.errors import listed
    from anls_eval.files.files import exists
    from anls_eval.files.source import KEY, VALUE

    for path in predictions:
        role, _, name = path.partition("=")
        if name and role.rpartition(".")[2] in ROLES and not exists(path):
            remedies = [Remedy("columns", {role: name}, "name a column")]
            raise AnlsError(f"{path} is not a file. Each column needs an option of its own.", remedies=remedies)
    of_predictions = open_side("predictions", predictions, format_name, columns, how, quiet, alone=not references)
    if not references and not of_predictions.detected.has_references:
        names = of_predictions.names
        named = "" if set(names) <= {KEY, VALUE} else f" The columns are: {listed(names)}."
        raise AnlsError(
            f"{of_predictions.detected.path} has no accepted answers; name the file that has them with -r.{named}",
            remedies=[Remedy("columns", {"answers": "NAME"}, "name the column that has them")] if named else [],
        )
    paths = references or predictions
    return of_predictions, open_side("references", paths, format_name, columns, how, quiet, alone=not references)


def open_side(
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

    open_files, other = (open_predictions, "answers") if side == "predictions" else (open_references, "prediction")
    roles = {role: name for role, name in column_roles(columns).items() if alone or role != other}
    reader = open_files(one_or_list(paths), format=format_name, columns=roles, **how)
    if not quiet:
        own = reader.detected
        read_as = ", ".join(f"{role}={name}" for role, name in own.columns.items())
        compression = f", {own.compression}" if own.compression else ""
        files = f" ({len(reader.parts)} files)" if len(reader.parts) > 1 else ""
        warn(f"{own.path}{files}: {own.format}{compression}; {read_as}")
    return reader


def opener(
    format_name: str | None,
    columns: list[str] | None,
    encoding: str | None,
    separator: str | None,
    filter_name: str | None,
    quiet: bool,
) -> Callable[[str, list[str]], Reader]:
    """Return a function that opens a side, given its name and paths, in the way that the options say."""
    how = how_to_read(encoding, separator, filter_name)
    return functools.partial(open_side, format_name=format_name, columns=columns, how=how, quiet=quiet)


def how_to_read(encoding: str | None, separator: str | None, filter_name: str | None) -> dict[str, str | None]:
    """Return how the files are to be read, as the openers take it."""
    tab = separator in ("\\t", "tab")  # which is hard to type
    return {"encoding": encoding, "separator": "\t" if tab else separator, "filter": filter_name}


def parsed(parse: list[str] | None) -> list[str] | None:
    """Return the names in --parse."""
    return None if parse is None else [name.strip() for own in parse for name in own.split(",")]


def one_or_list(paths: list[str]) -> str | list[str]:
    """Return a single path by itself, so that messages name it as the user did."""
    return paths[0] if len(paths) == 1 else paths


def column_roles(columns: list[str] | None) -> dict[str, str]:
    """Return the column names in --columns by role."""
    from anls_eval.files.columns import read_roles

    return read_roles(columns or ())


@contextlib.contextmanager
def progress(rows: int | None, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    shown = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
    of_all = "" if rows is None else f"/{rows:,}"
    with Progress(*shown, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"0{of_all}", total=rows, speed="")

        def advance(done: int) -> None:
            own = progress.tasks[0]
            speed = f"{done / own.elapsed:,.0f} rows/s" if done and own.elapsed else ""
            progress.update(task, description=f"{done:,}{of_all}", completed=done, speed=speed)

        yield advance
