"""The tab that scores a submission and shows its report, and the endpoint ``score_submission``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.answer import protocol_choices
from anls_eval.app.controls import example_buttons, in_page_words, refusals, uploaded, work
from anls_eval.app.examples import SUBMISSIONS
from anls_eval.app.limits import SUBMISSION_SECONDS
from anls_eval.app.page import alert
from anls_eval.app.tasks import Options, Reported, inspect, report, score_plainly

QUEUE: dict[str, Any] = {"concurrency_id": "submissions", "concurrency_limit": 2}
"""Each of these takes a processor for seconds."""


def score_submission(
    predictions: FileData, references: FileData | None = None, protocol: str = "standard"
) -> dict[str, Any]:
    """Score a file of predictions against a file of accepted answers by ANLS or ANLS*.

    Args:
        predictions: A file in JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow; the format is detected.
        references: The same; none if the first file has the accepted answers too.
        protocol: A name of the list on the page, such as standard, rrc (DocVQA), stvqa, dude or anls_star.

    Returns:
        The mean score with its confidence interval, the number of questions, and the signature and notes.

    Raises:
        gr.Error: A file that cannot be read or is over the limits, questions without a prediction, or an unknown
            protocol.
    """
    with refusals():
        given, expected = uploaded(predictions), None if references is None else uploaded(references)
        return work(
            score_plainly,
            given,
            expected,
            Options(protocol=protocol),
            seconds=SUBMISSION_SECONDS,
            files=(given, expected),
        )


def detected(predictions: str | list[str] | None, references: str | None) -> tuple[str, Any]:
    """Say what the uploaded files are.

    Args:
        predictions: One file, or several.
        references: The file of references.

    Returns:
        HTML, and the columns that a score can be broken down by.
    """
    paths = [predictions] if isinstance(predictions, str) else predictions or []
    if not paths:
        return "", gr.Dropdown(choices=[], value=[])
    try:
        found = work(inspect, paths, references, seconds=SUBMISSION_SECONDS, files=(*paths, references))
    except ValueError as error:
        return alert(in_page_words(error)), gr.Dropdown(choices=[], value=[])
    return found.shown, gr.Dropdown(choices=found.columns)


def score_and_report(
    predictions: str | None,
    references: str | None,
    protocol: str,
    threshold: str | None,
    by: list[str],
    zero: bool,
    ignore: bool,
    dataset_id: str | None,
    task_id: str | None,
    progress: gr.Progress = gr.Progress(),  # noqa: B008 - this is how gradio is asked for it
) -> Iterator[tuple[str, str, Any]]:
    """Score the submission and show its report.

    Args:
        predictions: The file of predictions.
        references: The file of references; None if the first has them.
        protocol: A name in `PROTOCOLS` or `LEADERBOARDS`.
        threshold: The least similarity that counts; nothing means the protocol's.
        by: Columns to break the score down by.
        zero: Whether a question without a prediction is 0.
        ignore: Whether a prediction without a question is left out.
        dataset_id: The data set on the Hub, for ``.eval_results``.
        task_id: The task in it.
        progress: Shows the progress.

    Yields:
        HTML of the score, HTML of the report, and the files to download. They are gone after that: gradio has copies.
    """
    if predictions is None:
        yield alert("There is no file of predictions: upload one, or take an example."), "", _downloads([])
        return
    options = Options(
        protocol=protocol,
        threshold=(threshold or "").strip() or None,
        by=tuple(by or ()),
        missing="zero" if zero else "error",
        unknown="ignore" if ignore else "error",
    )
    hub = (dataset_id or "").strip(), (task_id or "").strip()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found: Reported = work(
                report,
                predictions,
                references,
                options,
                hub if any(hub) else None,
                folder,
                seconds=SUBMISSION_SECONDS,
                files=(predictions, references),
                progress=progress,
            )
        except ValueError as error:
            yield alert(in_page_words(error, {"missing": ZERO, "unknown": IGNORE})), "", _downloads([])
        else:
            yield found.summary, found.report, _downloads(found.files)


def _downloads(files: list[str]) -> Any:
    return gr.File(value=files or None, visible=bool(files))


ZERO = "Count a question without a prediction as 0"
IGNORE = "Leave out a prediction without a question"


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions and the accepted answers: JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow, also "
        "with gzip or zstd. The format and the columns are detected."
    )
    with gr.Row():
        predictions = gr.File(label="Predictions", height=120)
        references = gr.File(label="References, if they are in a file of their own", height=120)
    what = gr.HTML(apply_default_css=False, js_on_load=None)
    with gr.Row(equal_height=False):
        protocol = gr.Dropdown(
            protocol_choices() + protocol_choices(of_trees=True, boards=False),
            value="standard",
            label="Protocol",
            min_width=300,
        )
        by = gr.Dropdown(
            [],
            multiselect=True,
            allow_custom_value=True,
            label="Break down by",
            info="Columns of the files.",
            min_width=300,
        )
    with gr.Accordion("More options", open=False):
        # No gr.Number: without a value the browser would show 0 and send it.
        threshold = gr.Textbox(label="Threshold", info="From 0 to 1. Empty means the protocol's.", max_length=20)
        zero = gr.Checkbox(label=ZERO)
        ignore = gr.Checkbox(label=IGNORE)
        with gr.Row():
            dataset_id = gr.Textbox(
                label="Data set on the Hub", info="For .eval_results, as the Hub shows it.", placeholder="owner/name"
            )
            task_id = gr.Textbox(label="Task in that data set", info="As in docvqa_val.")
    button = gr.Button("Score", variant="primary")
    chosen = example_buttons(SUBMISSIONS, [predictions, references, protocol, by])
    summary = gr.HTML(apply_default_css=False, js_on_load=None)
    files = gr.File(label="Downloads", file_count="multiple", visible=False, interactive=False)
    shown = gr.HTML(apply_default_css=False, js_on_load=None)
    fields = [predictions, references, protocol, threshold, by, zero, ignore, dataset_id, task_id]
    outputs = [summary, shown, files]
    gr.on(
        [event for upload in (predictions, references) for event in (upload.upload, upload.clear)],
        detected,
        [predictions, references],
        [what, by],
        show_progress="hidden",
        api_visibility="private",
        trigger_mode="always_last",  # what was found in fewer files must not come last
        **QUEUE,
    )
    button.click(score_and_report, fields, outputs, show_progress_on=summary, api_visibility="private", **QUEUE)
    for event in chosen:
        event.then(score_and_report, fields, outputs, show_progress_on=summary, api_visibility="private", **QUEUE).then(
            detected, [predictions, references], [what, by], show_progress="hidden", api_visibility="private"
        )
    api(score_submission, api_name="score_submission", **QUEUE)
