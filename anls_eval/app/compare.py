"""The tab that ranks submissions and diagnoses reported numbers, and the endpoint ``compare_submissions``."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.answer import protocol_choices
from anls_eval.app.controls import endpoint_errors, example_buttons, new_folder, shows_errors, uploaded, work_on_files
from anls_eval.app.examples import COMPARISONS
from anls_eval.app.limits import MAX_SYSTEMS
from anls_eval.app.results import UPDATING, Area, outdated, shown
from anls_eval.app.submission import QUEUE, detected
from anls_eval.app.tasks import Options, compare, compare_as_json, compare_two, diagnose


def compare_submissions(
    predictions: list[FileData | str], references: FileData, protocol: str = "standard"
) -> dict[str, Any]:
    """Rank several files of predictions on the same accepted answers, with intervals and paired tests.

    Args:
        predictions: At least two files, one per system, or their addresses, in any format score_submission takes.
        references: The file of accepted answers.
        protocol: The variant of ANLS, as in score_submission.

    Returns:
        The systems, best first, each with its score, confidence interval, rank and rank group: systems of one group
        cannot be told apart from its best. Each pair with its difference, interval and p-values. The signature and
        notes.

    Raises:
        gr.Error: Fewer than two files, or any error of score_submission.
    """
    with endpoint_errors():
        if not isinstance(predictions, list):
            raise ValueError("predictions is not a list; expected at least two files, one per system")
        given = [uploaded(file, number) for number, file in enumerate(predictions, start=1)]
        return work_on_files(compare_as_json, given, uploaded(references), Options(protocol=protocol))


FILES_NEEDED = "Upload at least two files of predictions and the file of references, or choose an example."


@shows_errors(outputs=3)
def rank(
    predictions: list[str] | None, references: str | None, protocol: str, first: int, second: int
) -> tuple[Any, ...]:
    """Return the HTML of the ranking and of two systems, and the report on the two."""
    if not predictions or references is None:
        raise ValueError(FILES_NEEDED)
    options, pair = Options(protocol=protocol), (first, second)
    return work_on_files(compare, predictions, references, options, pair, new_folder())


@shows_errors(outputs=2)
def side_by_side(
    predictions: list[str] | None, references: str | None, protocol: str, first: int, second: int
) -> tuple[Any, ...]:
    """Return the HTML of two systems, given by their numbers from 1, 0 for the best, and the report on the two."""
    if predictions is None or references is None or max(first, second, 2) > len(predictions):
        raise ValueError(FILES_NEEDED)
    if first == second > 0:
        raise ValueError("Choose two different systems.")
    options, pair = Options(protocol=protocol), (first, second)
    return work_on_files(compare_two, predictions, references, options, pair, new_folder())


@shows_errors(outputs=1)
def which_number(predictions: list[str] | None, references: str | None, system: int, reported: str) -> tuple[Any, ...]:
    """Return HTML that says what gives a reported number of the system with this number, from 1."""
    if not predictions or references is None:
        raise ValueError("Upload a file of predictions and the file of references, or choose an example.")
    return (work_on_files(diagnose, predictions[system - 1], references, reported or ""),)


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
    with gr.Column(elem_classes="area"):
        uploads = Area(files, [shown()], UPDATING)
    protocol = gr.Dropdown(
        protocol_choices() + protocol_choices(of_trees=True, boards=False), value="standard", label="Protocol"
    )
    button = gr.Button("Compare", variant="primary")
    examples = example_buttons(COMPARISONS, [*files, protocol])
    with gr.Column(elem_classes="area"):
        ranking = shown()
        ranked = Area([*files, protocol], [ranking], outdated("Compare"))
    with gr.Row():
        first, second = _choice_of_system("First system", 0), _choice_of_system("Second system", 0)
    with gr.Column(elem_classes="area"):
        report = gr.File(label="Report on the two", file_count="multiple", visible=False, interactive=False)
        pair = Area([*files, protocol, first, second], [shown(), report], outdated("Compare"))

    gr.Markdown("## Which number is right?\nA paper reports 0.82 and you get 0.79: find out what was done differently.")
    with gr.Row(equal_height=True):
        reported = gr.Textbox(label="Reported number", placeholder="0.8912 or 89.12", max_length=40, min_width=300)
        system = _choice_of_system("System", 1, "One of those above; by default the first.")
    find = gr.Button("Find out")
    with gr.Column(elem_classes="area"):
        diagnosis = shown()
        diagnosed = Area([*files, system, reported], [diagnosis], outdated("Find out"))

    predictions.change(None, predictions, [first, second, system], js=_SYSTEMS_JS)
    uploads.run(lambda *paths: detected(*paths)[:1], [uploads.changed.success], show_progress="hidden", **QUEUE)
    asked = [button.click, *(example.success for example in examples)]
    pair.run(rank, asked, ranked, show_progress_on=ranking, **QUEUE)
    pair.run(side_by_side, [first.input, second.input], **QUEUE)
    diagnosed.run(which_number, [find.click, reported.submit], show_progress_on=diagnosis, **QUEUE)
    api(compare_submissions, api_name="compare_submissions", **QUEUE)
