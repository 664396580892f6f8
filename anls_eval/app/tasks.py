"""Whole submissions: scored, compared and diagnosed, as plain JSON values and as HTML.

Each task is run by `child.run` and takes a `Progress` last.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from anls_eval.analysis.diagnosis import diagnose as find_causes
from anls_eval.app.child import Progress
from anls_eval.app.limits import MAX_SYSTEMS, MAX_UNPACKED_BYTES, check_questions
from anls_eval.app.page import alert, html, note_in_page_words
from anls_eval.files import Reader, open_predictions, open_references, write_rows
from anls_eval.report import System, read_system
from anls_eval.report.content import collect
from anls_eval.report.hub import write_eval_result
from anls_eval.report.render import render
from anls_eval.submission.score import fitting_protocol, read_questions, score_submission
from anls_eval.submission.systems import ScoredSystems, ranking_as_json, score_systems, system_name
from anls_eval.types import Missing, Unknown


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of `score_submission`."""

    protocol: str = "standard"
    threshold: str | None = None
    extract: str | None = None
    by: tuple[str, ...] = ()
    missing: Missing = "error"
    unknown: Unknown = "error"

    @property
    def rules(self) -> dict[str, Any]:
        """The options that every scoring function takes."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "by"}


def _open(path: str, is_references: bool = False) -> Reader:
    """Open a file within the limits; some formats do not know their number of rows."""
    reader = (open_references if is_references else open_predictions)(path, max_bytes=MAX_UNPACKED_BYTES)
    check_questions(reader.rows)
    count = 0
    for batch in () if reader.rows is not None else reader.batches():
        count += len(batch)
        check_questions(count)
    return reader


def open_sides(predictions: str, references: str | None) -> tuple[Reader, Reader]:
    """Open a submission, whose references may be in the file of predictions."""
    given = _open(predictions)
    if references is None and not given.detected.has_references:
        raise ValueError(f"{predictions} has no accepted answers; add the file of references that has them")
    return given, _open(references or predictions, is_references=True)


def inspect(predictions: Sequence[str], references: str | None, report_progress: Progress) -> tuple[str, list[str]]:
    """Return the detected formats as HTML, and the columns to break a score down by."""
    given = list(map(_open, predictions))
    expected = [] if references is None else [_open(references, is_references=True)]
    taken = {name for reader in (*given, *expected) for name in reader.detected.columns.values()}
    names = dict.fromkeys(name for reader in (*expected, *given[:1]) for name in reader.names)
    files = [(Path(reader.detected.path).name, reader.rows, reader.detected) for reader in (*given, *expected)]
    return html("detected.html", files=files), [name for name in names if name not in taken]


def score_as_json(
    predictions: str, references: str | None, options: Options, report_progress: Progress
) -> dict[str, Any]:
    """Score a submission, as `SubmissionScore.to_dict` gives it."""
    return score_submission(*open_sides(predictions, references), by=options.by, **options.rules).to_dict()


def report(
    predictions: str,
    references: str | None,
    options: Options,
    hub: tuple[str, str] | None,
    folder: str,
    report_progress: Progress,
) -> tuple[str, str, list[str]]:
    """Return the HTML of a score and of its report, and the files to download; `hub` is a dataset and a task."""
    report_progress(0.05, "reading")
    sides, name, target = open_sides(predictions, references), system_name(predictions), Path(folder)
    rows = target / "per_question.parquet"
    report_progress(0.2, "scoring")
    system = read_system(*sides, name=name, by=options.by, per_question=rows, **options.rules)
    score = system.scored.submission
    with pq.ParquetFile(rows) as table:  # `read_table` would import pandas
        write_rows(target / "per_question.csv", table.read())
    files = [target / "per_question.csv", rows, target / "report.html"]
    if hub is not None:
        files.append(write_eval_result(target, score, dataset_id=hub[0], task_id=hub[1]))
    report_progress(0.5, "looking for causes")
    page = render(collect(system, date=_today()))
    files[2].write_text(page, encoding="utf-8", newline="\n")
    summary = html("submission.html", name=system.name, score=score, notes=list(map(note_in_page_words, score.notes)))
    return summary, html("report_frame.html", page=page), list(map(str, files))


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def compare_as_json(
    predictions: Sequence[str], references: str, options: Options, report_progress: Progress
) -> dict[str, Any]:
    """Rank systems, as `ranking_as_json` gives it, with the signature and the notes."""
    found = _systems(predictions, references, options, report_progress)
    ranking = found.rank()
    notes = [*found.notes, *ranking.notes]
    return {**ranking_as_json(ranking), "signature": found.signature, "notes": notes}


def compare(
    predictions: Sequence[str],
    references: str,
    options: Options,
    pair: tuple[int, int],
    folder: str,
    report_progress: Progress,
) -> tuple[str, str, list[str]]:
    """Return the HTML of a ranking, and what `compare_two` returns."""
    found = _systems(predictions, references, options, report_progress)
    report_progress(0.4, "testing each pair")
    ranked = found.rank()
    notes = [*found.notes, *ranked.notes]
    ranking = html("ranking.html", ranking=ranked, notes=notes, signature=found.signature)
    report_progress(0.9, "comparing two systems")
    return ranking, *_pair(found, _names(found, pair), folder)


def compare_two(
    predictions: Sequence[str],
    references: str,
    options: Options,
    pair: tuple[int, int],
    folder: str,
    report_progress: Progress,
) -> tuple[str, list[str]]:
    """Return the HTML of two systems, given by their numbers from 1, 0 for the best, and write their report."""
    if 0 not in pair:
        predictions, pair = [predictions[number - 1] for number in dict.fromkeys(pair)], (1, 2)
    found = _systems(predictions, references, options, report_progress)
    return _pair(found, _names(found, pair), folder)


def _names(found: ScoredSystems, pair: tuple[int, int]) -> list[str]:
    """Return the names of two systems; 0 stands for the best as the first one and for the second best as the second."""
    names = list(found.systems)
    best = sorted(names, key=lambda name: (-found.systems[name].submission.score, name))
    return [names[number - 1] if number else best[place] for place, number in enumerate(pair)]


def _systems(predictions: Sequence[str], references: str, options: Options, report_progress: Progress) -> ScoredSystems:
    if not 2 <= len(predictions) <= MAX_SYSTEMS:
        found = f"there {'is 1 submission' if len(predictions) == 1 else f'are {len(predictions)} submissions'}"
        raise ValueError(f"{found}; expected 2 to {MAX_SYSTEMS}")

    def open_system(path: str) -> Reader:
        report_progress(0.4 * list(predictions).index(path) / len(predictions), f"scoring {system_name(path)}")
        return _open(path)

    expected = _open(references, is_references=True)
    return score_systems(predictions, expected, open_system=open_system, measure=True, **options.rules)


def _pair(found: ScoredSystems, names: Sequence[str], folder: str) -> tuple[str, list[str]]:
    if names[0] == names[1]:
        return alert("Choose two different systems."), []
    systems = [System(name=name, scored=found.systems[name]) for name in names]
    content = collect(*systems, date=_today())
    path = Path(folder) / "report.html"
    path.write_text(render(content), encoding="utf-8", newline="\n")
    return html("pair.html", versus=content.versus, of_trees=content.trees is not None), [str(path)]


def diagnose(predictions: str, references: str, reported: str, report_progress: Progress) -> str:
    """Return HTML that says which protocol, threshold, scale or scoring habit explains a reported score."""
    sides = open_sides(predictions, references)
    questions = read_questions(*sides, protocol=fitting_protocol(*sides))
    found = find_causes(questions.predictions, questions.answers, reported, question_ids=questions.question_ids)
    return html("diagnosis.html", found=found, name=system_name(predictions), notes=questions.notes)
