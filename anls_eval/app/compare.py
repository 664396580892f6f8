"""The tab that ranks submissions and diagnoses reported numbers, and the endpoint ``compare_submissions``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.answer import protocol_choices
from anls_eval.app.controls import example_buttons, in_page_words, refusals, uploaded, work
from anls_eval.app.examples import COMPARISONS
from anls_eval.app.limits import SUBMISSION_SECONDS
from anls_eval.app.page import alert
from anls_eval.app.submission import QUEUE, detected
from anls_eval.app.tasks import Options, compare, compare_plainly, compare_two, diagnose
from anls_eval.submission.systems import system_name


def compare_submissions(
    predictions: list[FileData | str], references: FileData, protocol: str = "standard"
) -> dict[str, Any]:
    """Rank several files of predictions on the same accepted answers, with intervals and paired tests.

    Args:
        predictions: Two files or more, one for each system, or their addresses, in any format score_submission takes.
        references: The file of accepted answers.
        protocol: The way of computing ANLS, as in score_submission.

    Returns:
        The systems, best first, each with its score, confidence interval, rank and rank group: systems of one group
        cannot be told apart from its best. Each pair with its difference, interval and p-values. The signature and
        notes.

    Raises:
        gr.Error: Fewer than two files, or what score_submission refuses.
    """
    with refusals():
        if not isinstance(predictions, list):
            raise ValueError("predictions is no list; expected two files or more, one for each system")
        given, expected = [uploaded(own, number) for number, own in enumerate(predictions, 1)], uploaded(references)
        return work(
            compare_plainly,
            given,
            expected,
            Options(protocol=protocol),
            seconds=SUBMISSION_SECONDS,
            files=(*given, expected),
        )


_NO_FILES = "Two files of predictions or more and the file of references are needed: upload them, or take an example."
_Outputs = tuple[str, str, Any, Any, Any, Any]


def rank(
    predictions: list[str] | None,
    references: str | None,
    protocol: str,
    progress: gr.Progress = gr.Progress(),  # noqa: B008 - this is how gradio is asked for it
) -> Iterator[_Outputs]:
    """Rank the systems, and put the two best side by side.

    Args:
        predictions: Their files.
        references: The file of references.
        protocol: A name in `PROTOCOLS` or `LEADERBOARDS`.
        progress: Shows the progress.

    Yields:
        HTML of the ranking and of the pair, the report of the pair, and what becomes of the choices of systems.
    """
    if not predictions or references is None:
        yield _without_result(alert(_NO_FILES))
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = work(
                compare,
                predictions,
                references,
                Options(protocol=protocol),
                folder,
                seconds=SUBMISSION_SECONDS,
                files=(*predictions, references),
                progress=progress,
            )
        except ValueError as error:
            yield _without_result(alert(in_page_words(error)))
        else:
            names = found.names
            yield (
                found.ranking,
                found.pair,
                gr.File(value=found.report, visible=True),
                gr.Dropdown(choices=names, value=names[0], visible=True),
                gr.Dropdown(choices=names, value=names[1], visible=True),
                gr.Dropdown(choices=names, value=names[0]),
            )


def _without_result(message: str) -> _Outputs:
    choice = gr.Dropdown(choices=[], value=None, visible=False)
    return message, "", gr.File(value=None, visible=False), choice, choice, gr.Dropdown(choices=[], value=None)


def side_by_side(
    predictions: list[str] | None, references: str | None, protocol: str, first: str | None, second: str | None
) -> Iterator[tuple[str, Any]]:
    """Put two systems side by side.

    Args:
        predictions: The files of all systems.
        references: The file of references.
        protocol: A name in `PROTOCOLS` or `LEADERBOARDS`.
        first: The name of one system.
        second: The name of the other.

    Yields:
        HTML, and their report.
    """
    paths = {system_name(path): path for path in predictions or []}
    if references is None or first not in paths or second not in paths or first == second:
        yield alert("Choose two different systems."), gr.File(value=None, visible=False)
        return
    pair = paths[first], paths[second]
    with tempfile.TemporaryDirectory() as folder:
        try:
            shown, path = work(
                compare_two,
                pair,
                references,
                Options(protocol=protocol),
                folder,
                seconds=SUBMISSION_SECONDS,
                files=(*pair, references),
            )
        except ValueError as error:
            yield alert(in_page_words(error)), gr.File(value=None, visible=False)
        else:
            yield shown, gr.File(value=path, visible=True)


def which_number(predictions: list[str] | None, references: str | None, name: str | None, reported: str) -> str:
    """Say what gives a reported number.

    Args:
        predictions: The files of all systems.
        references: The file of references.
        name: The system that the number is of; None means the first.
        reported: The number as it was written.

    Returns:
        HTML.
    """
    paths = {system_name(path): path for path in predictions or []}
    if not paths or references is None:
        return alert("A file of predictions and the file of references are needed: upload them, or take an example.")
    path = paths.get(name or "", next(iter(paths.values())))
    try:
        return work(diagnose, path, references, reported or "", seconds=SUBMISSION_SECONDS, files=(path, references))
    except ValueError as error:
        return alert(in_page_words(error))


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions of several systems, a file each, and the accepted answers. A system has the name of "
        "its file."
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
    report = gr.File(label="Report of the two", visible=False, interactive=False)

    gr.Markdown("## Which number is right?\nA paper says 0.82 and you get 0.79: find out what was done differently.")
    with gr.Row(equal_height=True):
        reported = gr.Textbox(label="Reported number", placeholder="0.8912 or 89.12", max_length=40, min_width=300)
        system = gr.Dropdown(
            [], label="System that it is of", info="One of those above; the first if none is chosen.", min_width=300
        )
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
