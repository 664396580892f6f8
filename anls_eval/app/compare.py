"""The tab that ranks submissions and diagnoses reported numbers, and the endpoint ``compare_submissions``."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.controls import endpoint_errors, example_buttons, new_folder, shows_errors, uploaded, work_on_files
from anls_eval.app.examples import COMPARISONS
from anls_eval.app.limits import MAX_SYSTEMS
from anls_eval.app.more_options import MoreOptions, more_options
from anls_eval.app.options import Options, names_in, options_in, roles_in
from anls_eval.app.protocols import OF_FILES, choices
from anls_eval.app.results import UPDATING, Area, outdated, shown
from anls_eval.app.submission import QUEUE, as_rules, columns_to_break_down_by, detected
from anls_eval.app.tasks import compare, compare_as_json, compare_two, diagnose
from anls_eval.app.words import LABELS
from anls_eval.errors import AnlsError
from anls_eval.types import Missing, Unknown


def compare_submissions(
    predictions: list[FileData | str],
    references: FileData,
    protocol: str = "standard",
    extract: str | None = None,
    threshold: float | None = None,
    by: str | list[str] | None = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
    columns: str | dict[str, str] | None = None,
    parse: str | list[str] | None = None,
    fields: dict[str, Any] | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    filter: str | None = None,  # noqa: A002 - as in open_predictions
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Rank several files of predictions on the same accepted answers, with intervals and paired tests.

    Args:
        predictions: At least two files, one per system, or their addresses, in any format score_submission takes.
        references: The file of accepted answers.
        protocol: The variant of ANLS, as in score_submission.
        extract: As in score_submission.
        threshold: As in score_submission.
        by: Columns whose groups are compared, too, as a list or with commas between them.
        missing: As in score_submission.
        unknown: As in score_submission.
        columns: As in score_submission.
        parse: As in score_submission.
        fields: As in score_submission.
        encoding: As in score_submission.
        separator: As in score_submission.
        filter: As in score_submission.
        options: As in score_submission.

    Returns:
        The systems, best first, each with its score, confidence interval, rank and rank group: systems of one group
        cannot be told apart from its best. Each pair with its difference, interval and p-values, and by column each
        pair on each group. The signature and notes.

    Raises:
        gr.Error: Fewer than two files, or any error of score_submission.
    """
    with endpoint_errors():
        if not isinstance(predictions, list):
            raise ValueError("predictions is not a list; expected at least two files, one per system")
        given = [uploaded(file, number) for number, file in enumerate(predictions, start=1)]
        asked = Options(
            protocol=protocol,
            threshold=threshold,
            extract=extract,
            by=names_in(by) or (),
            missing=missing,
            unknown=unknown,
            parse=names_in(parse),
            fields=as_rules(fields),
            columns=roles_in(columns),
            encoding=encoding,
            separator=separator,
            filter=filter,
            options=options_in(options),
        )
        return work_on_files(compare_as_json, given, uploaded(references), asked)


FILES_NEEDED = "Upload at least two files of predictions and the file of references, or choose an example."


@shows_errors(outputs=3)
def rank(
    predictions: list[str] | None,
    references: str | None,
    protocol: str,
    by: list[str],
    *more: Any,
) -> tuple[Any, ...]:
    """Return the HTML of the ranking and of two systems, and the report on the two; the last values say which."""
    *more_values, first, second, max_drop = more
    if not predictions or references is None:
        raise ValueError(FILES_NEEDED)
    options, pair = more_options(protocol, by, *more_values), (first, second, _drop(max_drop))
    return work_on_files(compare, predictions, references, options, pair, new_folder())


@shows_errors(outputs=2)
def side_by_side(
    predictions: list[str] | None,
    references: str | None,
    protocol: str,
    by: list[str],
    *more: Any,
) -> tuple[Any, ...]:
    """Return the HTML of two systems, given by their numbers from 1, 0 for the best, and the report on the two."""
    *more_values, first, second, max_drop = more
    if predictions is None or references is None or max(first, second, 2) > len(predictions):
        raise ValueError(FILES_NEEDED)
    if first == second > 0:
        raise ValueError("Choose two different systems.")
    options, pair = more_options(protocol, by, *more_values), (first, second, _drop(max_drop))
    return work_on_files(compare_two, predictions, references, options, pair, new_folder())


def _drop(text: str | None) -> float:
    """Return the allowed drop of the score."""
    try:
        return float((text or "").strip() or 0)
    except ValueError:
        raise AnlsError("expected a number from 0 to 1, such as 0.01", option="max_drop", value=text) from None


@shows_errors(outputs=1)
def which_number(
    predictions: list[str] | None, references: str | None, system: int, reported: str, *more: Any
) -> tuple[Any, ...]:
    """Return HTML that says what gives a reported number of the system with this number, from 1."""
    if not predictions or references is None:
        raise ValueError("Upload a file of predictions and the file of references, or choose an example.")
    options = more_options("standard", (), *more)
    return (work_on_files(diagnose, predictions[system - 1], references, options, reported or ""),)


_SYSTEMS_JS = f"""(files) => {{
    const names = (files ?? []).slice(0, {MAX_SYSTEMS}).map((file) =>
        file.path.split("/").pop().replace(/\\.(gz|zst)$/, "").replace(/(?<=.)\\.[^.]*$/, ""));
    const systems = names.map((name, index) => [name, index + 1]);
    const update = (choices) => (
        {{ __type__: "update", choices, value: choices[0]?.[1] ?? 1, visible: names.length > 1 }});
    return [update([["The best", 0], ...systems]), update([["The second best", 0], ...systems]), update(systems)];
}}"""


def _choice_of_system(label: str, value: int, info: str | None = None) -> gr.Dropdown:
    """Add a choice of a file by its number from 1; the browser names the choices after the files."""
    choices = [(str(number), number) for number in range(value, MAX_SYSTEMS + 1)]
    return gr.Dropdown(choices, value=value, label=label, info=info, visible=False, min_width=300)


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions of several systems, one file per system, and the accepted answers. A system is named "
        "after its file."
    )
    with gr.Row():
        predictions = gr.File(label="Predictions of each system", file_count="multiple", height=150)
        references = gr.File(label="References", height=150)
    files = [predictions, references]
    with gr.Column(elem_classes="area") as place:
        what = shown()
    with gr.Row(equal_height=False):
        protocol = gr.Dropdown(choices(OF_FILES), value="standard", label="Protocol", min_width=300)
        by = columns_to_break_down_by()
    with gr.Accordion("More options", open=False):
        more = MoreOptions()
    with place:
        uploads = Area([*files, *more.reading], [what, by], UPDATING)
    button = gr.Button("Compare", variant="primary")
    examples = example_buttons(COMPARISONS, [*files, protocol, by])
    with gr.Column(elem_classes="area"):
        ranking = shown()
        ranked = Area([*files, protocol, by, *more.controls], [ranking], outdated("Compare"))
    with gr.Row():
        first, second = _choice_of_system("First system", 0), _choice_of_system("Second system", 0)
        max_drop = gr.Textbox(
            "0.01",
            label=LABELS["max_drop"],
            info="How much lower than the second system the first may score.",
            max_length=20,
            min_width=300,
        )
    with gr.Column(elem_classes="area"):
        report = gr.File(label="Report on the two", file_count="multiple", visible=False, interactive=False)
        fields = [*files, protocol, by, *more.controls, first, second, max_drop]
        pair = Area(fields, [shown(), report], outdated("Compare"))

    gr.Markdown("## Which number is right?\nA paper reports 0.82 and you get 0.79: find out what was done differently.")
    with gr.Row(equal_height=True):
        reported = gr.Textbox("", label="Reported number", placeholder="0.8912 or 89.12", max_length=40, min_width=300)
        system = _choice_of_system("System", 1, "One of those above; by default the first.")
    find = gr.Button("Find out")
    with gr.Column(elem_classes="area"):
        diagnosis = shown()
        diagnosed = Area([*files, system, reported, *more.controls], [diagnosis], outdated("Find out"))

    predictions.change(None, predictions, [first, second, system], js=_SYSTEMS_JS)
    predictions.clear(None, None, by, js="() => [[]]")
    uploads.run(detected, [uploads.changed.success], show_progress="hidden", **QUEUE)
    asked = [button.click, *(example.success for example in examples)]
    pair.run(rank, asked, ranked, show_progress_on=ranking, **QUEUE)
    pair.run(side_by_side, [first.input, second.input, max_drop.submit], **QUEUE)
    diagnosed.run(which_number, [find.click, reported.submit], show_progress_on=diagnosis, **QUEUE)
    api(compare_submissions, api_name="compare_submissions", **QUEUE)
