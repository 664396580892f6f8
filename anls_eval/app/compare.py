"""The tab that ranks submissions and diagnoses reported numbers, and the endpoint ``compare_submissions``."""

from __future__ import annotations

import tempfile
from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.answer import protocol_choices
from anls_eval.app.controls import (
    downloads,
    endpoint_errors,
    example_buttons,
    shows_errors,
    uploaded,
    work_on_files,
)
from anls_eval.app.examples import COMPARISONS
from anls_eval.app.submission import QUEUE, detected
from anls_eval.app.tasks import Options, compare, compare_as_json, compare_two, diagnose
from anls_eval.submission.systems import system_name


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


def _without_result() -> tuple[Any, ...]:
    choice = gr.Dropdown(choices=[], value=None, visible=False)
    return "", downloads(), choice, choice, gr.Dropdown(choices=[], value=None)


@shows_errors(_without_result)
def rank(
    predictions: list[str] | None,
    references: str | None,
    protocol: str,
    progress: gr.Progress = gr.Progress(),  # noqa: B008 - gradio looks for this default
) -> tuple[Any, ...]:
    """Return the HTML of the ranking and of the best pair, the pair's report, and the choices of systems."""
    if not predictions or references is None:
        raise ValueError(
            "At least two files of predictions and the file of references are needed: upload them, or choose an "
            "example."
        )
    options = Options(protocol=protocol)
    with tempfile.TemporaryDirectory() as folder:
        found = work_on_files(compare, predictions, references, options, folder, progress=progress)
        return (
            found.ranking,
            found.pair,
            downloads([found.report]),
            gr.Dropdown(choices=found.names, value=found.names[0], visible=True),
            gr.Dropdown(choices=found.names, value=found.names[1], visible=True),
            gr.Dropdown(choices=found.names, value=found.names[0]),
        )


@shows_errors(lambda: (downloads(),))
def side_by_side(
    predictions: list[str] | None, references: str | None, protocol: str, first: str | None, second: str | None
) -> tuple[str, Any]:
    """Return the HTML of two systems side by side, and their report."""
    paths = {system_name(path): path for path in predictions or []}
    if references is None or first not in paths or second not in paths or first == second:
        raise ValueError("Choose two different systems.")
    pair = paths[first], paths[second]
    with tempfile.TemporaryDirectory() as folder:
        shown, report = work_on_files(compare_two, pair, references, Options(protocol=protocol), folder)
        return shown, downloads([report])


@shows_errors()
def which_number(predictions: list[str] | None, references: str | None, name: str | None, reported: str) -> str:
    """Return HTML that says what gives a reported number, for the system with this name or the first."""
    paths = {system_name(path): path for path in predictions or []}
    if not paths or references is None:
        raise ValueError(
            "A file of predictions and the file of references are needed: upload them, or choose an example."
        )
    return work_on_files(diagnose, paths.get(name or "", next(iter(paths.values()))), references, reported or "")


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions of several systems, one file per system, and the accepted answers. A system is named "
        "after its file."
    )
    with gr.Row():
        predictions = gr.File(label="Predictions of each system", file_count="multiple", height=150)
        references = gr.File(label="References", height=150)
    what = gr.HTML(apply_default_css=False, js_on_load=None)
    protocol = gr.Dropdown(
        protocol_choices() + protocol_choices(of_trees=True, boards=False), value="standard", label="Protocol"
    )
    button = gr.Button("Compare", variant="primary")
    files = [predictions, references]
    chosen = example_buttons(COMPARISONS, [*files, protocol])
    ranking = gr.HTML(apply_default_css=False, js_on_load=None)
    with gr.Row():
        first = gr.Dropdown([], label="First system", visible=False, min_width=300)
        second = gr.Dropdown([], label="Second system", visible=False, min_width=300)
    pair = gr.HTML(apply_default_css=False, js_on_load=None)
    report = gr.File(label="Report on the two", visible=False, interactive=False)

    gr.Markdown("## Which number is right?\nA paper reports 0.82 and you get 0.79: find out what was done differently.")
    with gr.Row(equal_height=True):
        reported = gr.Textbox(label="Reported number", placeholder="0.8912 or 89.12", max_length=40, min_width=300)
        system = gr.Dropdown([], label="System", info="One of those above; by default the first.", min_width=300)
    find = gr.Button("Find out")
    diagnosis = gr.HTML(apply_default_css=False, js_on_load=None)

    gr.on(
        [event for upload in files for event in (upload.upload, upload.clear)],
        lambda *paths: detected(*paths)[0],
        files,
        what,
        show_progress="hidden",
        api_visibility="private",
        trigger_mode="always_last",  # as in the tab of one submission
        **QUEUE,
    )
    predictions.change(_names, predictions, system, show_progress="hidden", api_visibility="private")
    outputs = [ranking, pair, report, first, second, system]
    for event in (button.click, *(one.then for one in chosen)):
        event(rank, [*files, protocol], outputs, show_progress_on=ranking, api_visibility="private", **QUEUE)
    gr.on(
        [first.input, second.input],
        side_by_side,
        [*files, protocol, first, second],
        [pair, report],
        api_visibility="private",
        **QUEUE,
    )
    gr.on(
        [find.click, reported.submit],
        which_number,
        [*files, system, reported],
        diagnosis,
        api_visibility="private",
        **QUEUE,
    )
    api(compare_submissions, api_name="compare_submissions", **QUEUE)


def _names(predictions: list[str] | None) -> Any:
    names = list(dict.fromkeys(map(system_name, predictions or [])))
    return gr.Dropdown(choices=names, value=names[0] if names else None)
