"""Whole submissions: scored, compared and diagnosed, as plain JSON values and as HTML."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from anls_eval.analysis.diagnosis import diagnose as find_causes
from anls_eval.app.child import Progress
from anls_eval.app.limits import MOST_SYSTEMS, UNPACKED, check_questions
from anls_eval.app.page import html
from anls_eval.files import Reader, open_predictions, open_references, write_rows
from anls_eval.report import System, read_system
from anls_eval.report.content import collect
from anls_eval.report.hub import eval_result, write_eval_result
from anls_eval.report.render import render
from anls_eval.submission.score import read_questions, score_submission
from anls_eval.submission.systems import ScoredSystems, ranking_as_json, score_systems, system_name
from anls_eval.types import Missing, Unknown


@dataclasses.dataclass(frozen=True)
class Options:
    """How submissions are scored.

    Args:
        protocol: A name in `PROTOCOLS` or `LEADERBOARDS`.
        threshold: The least similarity that counts; None means the protocol's.
        by: Columns to break the score down by.
        missing: ``"error"`` or ``"zero"``: what a question without a prediction is.
        unknown: ``"error"`` or ``"ignore"``: what a prediction without a question is.
    """

    protocol: str = "standard"
    threshold: str | None = None
    by: tuple[str, ...] = ()
    missing: Missing = "error"
    unknown: Unknown = "error"

    @property
    def rules(self) -> dict[str, Any]:
        """Those that every function of scoring takes."""
        own = dataclasses.asdict(self)
        del own["by"]
        return own


# ---------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------


def open_sides(predictions: str, references: str | None) -> tuple[Reader, Reader]:
    """Open a submission, whose references can be in the file of the predictions.

    Raises:
        ValueError: A file that cannot be read, is over the limits, or has no accepted answers.
    """
    given = _checked(open_predictions(predictions, max_bytes=UNPACKED))
    if references is None and not given.detected.has_references:
        raise ValueError(f"{predictions} has no accepted answers; add the file of references that has them")
    return given, _checked(open_references(references or predictions, max_bytes=UNPACKED))


def _checked(reader: Reader) -> Reader:
    """A reader of a file with not too many questions; the rows of some files must be counted."""
    check_questions(reader.rows)
    count = 0
    for batch in () if reader.rows is not None else reader.batches():
        count += len(batch)
        check_questions(count)
    return reader


class Inspected(NamedTuple):
    """What files turned out to be, as HTML, and the columns that a score can be broken down by."""

    shown: str
    columns: list[str]


def inspect(predictions: Sequence[str], references: str | None, report_progress: Progress) -> Inspected:
    """Say what files turned out to be.

    Args:
        predictions: Files of predictions.
        references: The file of references, if there is one.
        report_progress: Not used: this takes a moment.

    Raises:
        ValueError: A file that cannot be read or is over the limits.
    """
    readers = [_checked(open_predictions(path, max_bytes=UNPACKED)) for path in predictions]
    expected = [] if references is None else [_checked(open_references(references, max_bytes=UNPACKED))]
    taken = {name for reader in (*readers, *expected) for name in reader.detected.columns.values()}
    names = dict.fromkeys(name for reader in (*expected, *readers[:1]) for name in reader.names)
    files = [(Path(reader.detected.path).name, reader.rows, reader.detected) for reader in (*readers, *expected)]
    return Inspected(html("detected.html", files=files), [name for name in names if name not in taken])


# ---------------------------------------------------------------------------------------------------
# One submission
# ---------------------------------------------------------------------------------------------------


def score_plainly(
    predictions: str, references: str | None, options: Options, report_progress: Progress
) -> dict[str, Any]:
    """Score a submission.

    Args:
        predictions: The file of predictions.
        references: The file of references; None if the first has them.
        options: How it is scored.
        report_progress: Told of the progress.

    Returns:
        What `SubmissionScore.to_dict` gives.

    Raises:
        ValueError: What `score_submission` refuses; files over the limits.
    """
    sides = open_sides(predictions, references)
    return score_submission(*sides, by=options.by, **options.rules).to_dict()


class Reported(NamedTuple):
    """A submission's score in a few words, its report, and the files to download."""

    summary: str
    report: str
    files: list[str]


def report(
    predictions: str,
    references: str | None,
    options: Options,
    hub: tuple[str, str] | None,
    folder: str,
    report_progress: Progress,
) -> Reported:
    """Score a submission, and make its report and its files.

    Args:
        predictions: The file of predictions.
        references: The file of references; None if the first has them.
        options: How it is scored.
        hub: The data set and the task on the Hub, for ``.eval_results``.
        folder: Where the files are written.
        report_progress: Told of the progress.

    Raises:
        ValueError: What `score_submission` refuses; files over the limits; what is no data set of the Hub.
    """
    report_progress(0.05, "reading")
    sides = open_sides(predictions, references)
    target = Path(folder)
    rows = target / "per_question.parquet"
    report_progress(0.2, "scoring")
    name = system_name(predictions)
    system = read_system(*sides, name=name, by=options.by, per_question=rows, **options.rules)
    score = system.scored.submission
    with pq.ParquetFile(rows) as table:  # `read_table` would import pandas
        write_rows(target / "per_question.csv", table.read())
    files = [target / "per_question.csv", rows, target / "report.html"]
    if hub is not None:
        entry = eval_result(score, dataset_id=hub[0], task_id=hub[1])
        files.append(write_eval_result(target, entry))
    report_progress(0.5, "looking for causes")
    page = render(collect(system, date=datetime.datetime.now(datetime.timezone.utc).date()))
    files[2].write_text(page, encoding="utf-8", newline="\n")
    summary = html("submission.html", name=system.name, score=score)
    return Reported(summary, html("report_frame.html", page=page), list(map(str, files)))


# ---------------------------------------------------------------------------------------------------
# Several submissions
# ---------------------------------------------------------------------------------------------------


def compare_plainly(
    predictions: Sequence[str], references: str, options: Options, report_progress: Progress
) -> dict[str, Any]:
    """Rank systems.

    Args:
        predictions: Their files.
        references: The file of references.
        options: How they are scored.
        report_progress: Told of the progress.

    Returns:
        What `ranking_as_json` gives, with the signature and the notes.

    Raises:
        ValueError: What `score_systems` refuses; files over the limits.
    """
    found = _systems(predictions, references, options, report_progress)
    return {**ranking_as_json(found.rank()), "signature": found.signature, "notes": found.notes}


class Compared(NamedTuple):
    """A ranking and a pair of systems side by side, as HTML, the names of all, best first, and the pair's report."""

    ranking: str
    pair: str
    names: list[str]
    report: str


def compare(
    predictions: Sequence[str],
    references: str,
    options: Options,
    folder: str,
    report_progress: Progress,
) -> Compared:
    """Rank systems, and put the two best side by side.

    Args:
        predictions: Their files.
        references: The file of references.
        options: How they are scored.
        folder: Where the report of the two is written.
        report_progress: Told of the progress.

    Raises:
        ValueError: What `score_systems` refuses; files over the limits.
    """
    found = _systems(predictions, references, options, report_progress)
    report_progress(0.4, "testing each pair")
    ranking = found.rank()
    names = [own.name for own in ranking.systems]
    report_progress(0.9, "looking at the two best")
    shown = html("ranking.html", ranking=ranking, notes=found.notes, signature=found.signature)
    pair, path = _pair(found, names[0], names[1], folder)
    return Compared(shown, pair, names, path)


def compare_two(
    predictions: tuple[str, str], references: str, options: Options, folder: str, report_progress: Progress
) -> tuple[str, str]:
    """Put two systems side by side.

    Args:
        predictions: Their files.
        references: The file of references.
        options: How they are scored.
        folder: Where their report is written.
        report_progress: Told of the progress.

    Returns:
        HTML, and the path of the report.

    Raises:
        ValueError: What `score_systems` refuses; files over the limits.
    """
    found = _systems(predictions, references, options, report_progress)
    one, other = map(system_name, predictions)
    return _pair(found, one, other, folder)


def _systems(predictions: Sequence[str], references: str, options: Options, report_progress: Progress) -> ScoredSystems:
    if not 2 <= len(predictions) <= MOST_SYSTEMS:
        raise ValueError(f"there are {len(predictions)} submissions; expected 2 to {MOST_SYSTEMS} of them")

    def open_system(path: str) -> Reader:
        report_progress(0.4 * list(predictions).index(path) / len(predictions), f"scoring {system_name(path)}")
        return _checked(open_predictions(path, max_bytes=UNPACKED))

    expected = _checked(open_references(references, max_bytes=UNPACKED))
    return score_systems(predictions, expected, open_system=open_system, measure=True, **options.rules)


def _pair(found: ScoredSystems, one: str, other: str, folder: str) -> tuple[str, str]:
    systems = [System(name=name, scored=found.systems[name]) for name in (one, other)]
    content = collect(*systems, date=datetime.datetime.now(datetime.timezone.utc).date())
    path = Path(folder) / "report.html"
    path.write_text(render(content), encoding="utf-8", newline="\n")
    return html("pair.html", versus=content.versus, of_trees=content.trees is not None), str(path)


# ---------------------------------------------------------------------------------------------------
# A reported number
# ---------------------------------------------------------------------------------------------------


def diagnose(predictions: str, references: str, reported: str, report_progress: Progress) -> str:
    """Say which protocol, threshold, scale or habit gives a reported number.

    Args:
        predictions: The file of predictions.
        references: The file of references.
        reported: The number as it was written.
        report_progress: Not used: this takes a moment.

    Returns:
        HTML.

    Raises:
        ValueError: What `diagnosis.diagnose` refuses; files over the limits.
    """
    questions = read_questions(*open_sides(predictions, references))
    found = find_causes(questions.predictions, questions.answers, reported, question_ids=questions.question_ids)
    return html("diagnosis.html", found=found, name=system_name(predictions), notes=questions.notes)
