"""Whole submissions: scored, compared and diagnosed, as plain JSON values and as HTML.

Each task is run by `child.run` and takes a `Progress` last.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from anls_eval.analysis.diagnosis import diagnose as find_causes
from anls_eval.app.child import Progress
from anls_eval.app.limits import MAX_GROUPS, MAX_SYSTEMS, MAX_UNPACKED_BYTES, check_questions
from anls_eval.app.options import Options
from anls_eval.app.page import alert, html
from anls_eval.app.protocols import has_means
from anls_eval.app.words import in_page_words
from anls_eval.decisions.baseline import Baseline
from anls_eval.decisions.gate import run_gate
from anls_eval.decisions.gate_words import sentence_of
from anls_eval.errors import AnlsError, Remedy
from anls_eval.fields.fields import Fields, fields_in
from anls_eval.files import Reader, open_predictions, open_references, write_rows
from anls_eval.registry import get_rules
from anls_eval.report import System, read_system
from anls_eval.report.content import collect
from anls_eval.report.hub import write_eval_result
from anls_eval.report.render import render
from anls_eval.statistics import Ranking
from anls_eval.submission.score import fitting_protocol, read_questions, score_submission
from anls_eval.submission.systems import (
    ScoredSystems,
    differences_as_json,
    ranking_as_json,
    score_systems,
    system_name,
)

FIELD_RULES = "the field rules"


def _open(path: str, options: Options, side: str = "predictions", alone: bool = False) -> Reader:
    """Open a file within the limits; a file that comes `alone` has the columns of the other side, too."""
    open_file, other = (open_references, "prediction") if side == "references" else (open_predictions, "answers")
    roles = {role: name for role, name in options.columns.items() if alone or role != other}
    reader = open_file(path, max_bytes=MAX_UNPACKED_BYTES, columns=roles, **options.reading)
    check_questions(reader.rows)
    count = 0
    for batch in () if reader.rows is not None else reader.batches():  # some formats do not know their number of rows
        count += len(batch)
        check_questions(count)
    return reader


def open_sides(predictions: str, references: str | None, options: Options) -> tuple[Reader, Reader]:
    """Open a submission, whose references may be in the file of predictions."""
    alone = references is None
    given = _open(predictions, options, alone=alone)
    if alone and not given.detected.has_references:
        raise AnlsError(
            f"{predictions} has no accepted answers; add the file of references that has them.",
            remedies=[Remedy("columns", {"answers": "NAME"}, "name the column that has them")],
        )
    return given, _open(references or predictions, options, "references", alone)


def _scoring(options: Options) -> dict[str, Any]:
    """Return the options of `score_submission`."""
    names = ("protocol", "threshold", "extract", "by", "missing", "unknown", "parse", "options")
    return {**{name: getattr(options, name) for name in names}, "fields": read_rules(options.fields)}


def read_rules(fields: str | Mapping[str, Any] | None) -> Fields | None:
    """Return the field rules in a file, or in a dict."""
    if isinstance(fields, str):
        return Fields.from_file(fields)
    return None if fields is None else fields_in(fields, FIELD_RULES)


def inspect(
    predictions: Sequence[str], references: str | None, options: Options, report_progress: Progress
) -> tuple[str, list[str]]:
    """Return the detected formats as HTML, and the columns to break a score down by."""
    given = [_open(path, options, alone=references is None) for path in predictions]
    expected = [] if references is None else [_open(references, options, "references")]
    taken = {name for reader in (*given, *expected) for name in reader.detected.columns.values()}
    names = dict.fromkeys(name for reader in (*expected, *given[:1]) for name in reader.names)
    files = [(Path(reader.detected.path).name, reader.rows, reader.detected) for reader in (*given, *expected)]
    return html("detected.html", files=files, in_page_words=in_page_words), [own for own in names if own not in taken]


def score_as_json(
    predictions: str, references: str | None, options: Options, report_progress: Progress
) -> dict[str, Any]:
    """Score a submission, as `SubmissionScore.to_dict` gives it."""
    return score_submission(*open_sides(predictions, references, options), **_scoring(options)).to_dict()


def report(
    predictions: str,
    references: str | None,
    options: Options,
    confidence: str | None,
    hub: tuple[str, str] | None,
    folder: str,
    report_progress: Progress,
) -> tuple[str, str, list[str]]:
    """Return the HTML of a score and of its report, and the files to download; `hub` is a dataset and a task.

    `confidence` is a column of confidences, which the report shows.
    """
    report_progress(0.05, "reading")
    sides, name, target = open_sides(predictions, references, options), system_name(predictions), Path(folder)
    rows = target / "per_question.parquet"
    report_progress(0.2, "scoring")
    system = read_system(*sides, name=name, confidence=confidence, per_question=rows, **_scoring(options))
    score = system.scored.submission
    with pq.ParquetFile(rows) as table:  # `read_table` would import pandas
        write_rows(target / "per_question.csv", table.read())
    files = [target / "per_question.csv", rows, target / "report.html"]
    if hub is not None:
        files.append(write_eval_result(target, score, dataset_id=hub[0], task_id=hub[1]))
    report_progress(0.5, "looking for causes")
    content = collect(system, date=_today())
    page = render(content)
    files[2].write_text(page, encoding="utf-8", newline="\n")
    notes = list(map(in_page_words, score.notes))
    summary = html("submission.html", name=name, score=score, trees=content.trees, notes=notes)
    return summary, html("report_frame.html", page=page), list(map(str, files))


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def compare_as_json(
    predictions: Sequence[str], references: str, options: Options, report_progress: Progress
) -> dict[str, Any]:
    """Rank systems, as `ranking_as_json` gives it, with the differences by group, the signature and the notes."""
    found = _systems(predictions, references, options, report_progress)
    ranking = found.rank()
    differences = {name: found.group_differences(name, ranking) for name in options.by}
    groups = {"by": differences_as_json(differences)} if differences else {}
    notes = list(dict.fromkeys([*found.notes, *ranking.notes]))
    return {**ranking_as_json(ranking), **groups, "signature": found.signature, "notes": notes}


Pair = tuple[int, int, float]
"""The numbers of two systems from 1, 0 for the best, and the drop from the second to the first that is allowed."""


def compare(
    predictions: Sequence[str],
    references: str,
    options: Options,
    pair: Pair,
    folder: str,
    report_progress: Progress,
) -> tuple[str, str, list[str]]:
    """Return the HTML of a ranking, and what `compare_two` returns."""
    found = _systems(predictions, references, options, report_progress)
    report_progress(0.4, "testing each pair")
    ranking = found.rank()
    shown = html(
        "ranking.html",
        ranking=ranking,
        breakdowns=[_breakdown(found, ranking, column) for column in options.by],
        notes=list(dict.fromkeys(map(in_page_words, [*found.notes, *ranking.notes]))),
        signature=found.signature,
    )
    report_progress(0.9, "comparing two systems")
    return shown, *_pair(found, options, pair, folder)


def compare_two(
    predictions: Sequence[str],
    references: str,
    options: Options,
    pair: Pair,
    folder: str,
    report_progress: Progress,
) -> tuple[str, list[str]]:
    """Return the HTML of two systems, and write their report."""
    first, second, drop = pair
    if first and second:
        predictions, pair = [predictions[number - 1] for number in dict.fromkeys((first, second))], (1, 2, drop)
    return _pair(_systems(predictions, references, options, report_progress), options, pair, folder)


def _names(found: ScoredSystems, numbers: Sequence[int]) -> list[str]:
    """Return the names of two systems; 0 stands for the best as the first one and for the second best as the second."""
    names = list(found.systems)
    return [names[number - 1] if number else found.best_first[place] for place, number in enumerate(numbers)]


def _systems(predictions: Sequence[str], references: str, options: Options, report_progress: Progress) -> ScoredSystems:
    if not 2 <= len(predictions) <= MAX_SYSTEMS:
        found = f"there {'is 1 submission' if len(predictions) == 1 else f'are {len(predictions)} submissions'}"
        raise ValueError(f"{found}; expected 2 to {MAX_SYSTEMS}")

    def open_system(path: str) -> Reader:
        report_progress(0.4 * list(predictions).index(path) / len(predictions), f"scoring {system_name(path)}")
        return _open(path, options)

    expected = _open(references, options, "references")
    return score_systems(predictions, expected, open_system=open_system, measure=True, **_scoring(options))


def _breakdown(found: ScoredSystems, ranking: Ranking, column: str) -> dict[str, Any]:
    """Return the scores of all systems, best first, by the values of a column."""
    groups = [found.systems[own.name].submission.by[column] for own in ranking.systems]
    largest = sorted(groups[0], key=lambda value: (-groups[0][value].n, value))[:MAX_GROUPS]
    rows = [(value, groups[0][value].n, [own[value].score for own in groups]) for value in sorted(largest)]
    return {"column": column, "rows": rows, "left_out": len(groups[0]) - len(rows)}


def _pair(found: ScoredSystems, options: Options, pair: Pair, folder: str) -> tuple[str, list[str]]:
    *numbers, max_drop = pair
    names = _names(found, numbers)
    if names[0] == names[1]:
        return alert("Choose two different systems."), []
    systems = [System(name=name, scored=found.systems[name]) for name in names]
    content = collect(*systems, date=_today())
    new, old = (found.systems[name] for name in names)
    gate = None
    if has_means(get_rules(options.protocol)):  # a gate compares the scores of the questions one by one
        gate = run_gate(new, Baseline.of(old), max_drop=max_drop, by=options.by)
    path = Path(folder) / "report.html"
    path.write_text(render(content), encoding="utf-8", newline="\n")
    verdicts = [(own, sentence_of(own, max_drop)) for own in (gate.comparisons if gate else ())]
    shown = html("pair.html", versus=content.versus, of_trees=content.trees is not None, gate=gate, verdicts=verdicts)
    return shown, [str(path)]


def diagnose(predictions: str, references: str, options: Options, reported: str, report_progress: Progress) -> str:
    """Return HTML that says which protocol, threshold, scale or scoring habit explains a reported score."""
    sides = open_sides(predictions, references, options)
    asked: dict[str, Any] = {"protocol": fitting_protocol(*sides), "parse": options.parse, "extract": options.extract}
    questions = read_questions(*sides, **asked)
    found = find_causes(questions.predictions, questions.answers, reported, question_ids=questions.question_ids)
    notes = list(map(in_page_words, questions.notes))
    return html("diagnosis.html", found=found, name=system_name(predictions), notes=notes)
