"""The tab that scores a submission and shows its report, and the endpoint ``score_submission``."""

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
from anls_eval.app.examples import SUBMISSIONS
from anls_eval.app.tasks import Options, inspect, report, score_as_json

QUEUE: dict[str, Any] = {"concurrency_id": "submissions", "concurrency_limit": 2}
"""Each of these tasks takes a processor for seconds."""


def score_submission(
    predictions: FileData, references: FileData | None = None, protocol: str = "standard"
) -> dict[str, Any]:
    """Score a file of predictions against a file of accepted answers by ANLS or ANLS*.

    Args:
        predictions: A file in JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow; the format is detected.
        references: A file of accepted answers in any of these formats; none if the first file contains them.
        protocol: A name from the list on the page, such as standard, rrc (DocVQA), stvqa, dude or anls_star.

    Returns:
        The mean score with its confidence interval, the number of questions, the signature and notes.

    Raises:
        gr.Error: A file that cannot be read or is over the limits, questions without a prediction, or an unknown
            protocol.
    """
    with endpoint_errors():
        given, expected = uploaded(predictions), None if references is None else uploaded(references)
        return work_on_files(score_as_json, given, expected, Options(protocol=protocol))


@shows_errors(lambda: (gr.Dropdown(choices=[], value=[]),))
def detected(predictions: str | list[str] | None, references: str | None) -> tuple[str, Any]:
    """Return HTML that says what the uploaded files are, and the columns to break a score down by."""
    paths = [predictions] if isinstance(predictions, str) else predictions or []
    if not paths:
        return "", gr.Dropdown(choices=[], value=[])
    found = work_on_files(inspect, paths, references)
    return found.shown, gr.Dropdown(choices=found.columns)


ZERO = "Score questions without a prediction 0"
IGNORE = "Ignore predictions without a question"


@shows_errors(lambda: ("", downloads()), {"missing": ZERO, "unknown": IGNORE})
def score_and_report(
    predictions: str | None,
    references: str | None,
    protocol: str,
    threshold: str | None,
    by: list[str],
    missing_is_zero: bool,
    ignore_unknown: bool,
    dataset_id: str | None,
    task_id: str | None,
    progress: gr.Progress = gr.Progress(),  # noqa: B008 - gradio looks for this default
) -> tuple[str, str, Any]:
    """Return the HTML of the score and of the report, and the files to download."""
    if predictions is None:
        raise ValueError("There is no file of predictions: upload one, or choose an example.")
    options = Options(
        protocol=protocol,
        threshold=(threshold or "").strip() or None,
        by=tuple(by or ()),
        missing="zero" if missing_is_zero else "error",
        unknown="ignore" if ignore_unknown else "error",
    )
    hub = (dataset_id or "").strip(), (task_id or "").strip()
    target = hub if any(hub) else None
    with tempfile.TemporaryDirectory() as folder:
        found = work_on_files(report, predictions, references, options, target, folder, progress=progress)
        return found.summary, found.report, downloads(found.files)


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions and the accepted answers: JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow, also "
        "compressed with gzip or zstd. The format and the columns are detected."
    )
    with gr.Row():
        predictions = gr.File(label="Predictions", height=120)
        references = gr.File(label="References, if they are in a separate file", height=120)
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
        # Not gr.Number: without a value the browser would show 0 and send it.
        threshold = gr.Textbox(label="Threshold", info="From 0 to 1. Empty: the protocol's.", max_length=20)
        zero = gr.Checkbox(label=ZERO)
        ignore = gr.Checkbox(label=IGNORE)
        with gr.Row():
            dataset_id = gr.Textbox(
                label="Dataset on the Hub", info="For .eval_results, as the Hub shows it.", placeholder="owner/name"
            )
            task_id = gr.Textbox(label="Task in that dataset", info="Such as docvqa_val.")
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
        trigger_mode="always_last",  # so that the result for fewer files cannot come last
        **QUEUE,
    )
    button.click(score_and_report, fields, outputs, show_progress_on=summary, api_visibility="private", **QUEUE)
    for event in chosen:
        event.then(score_and_report, fields, outputs, show_progress_on=summary, api_visibility="private", **QUEUE).then(
            detected, [predictions, references], [what, by], show_progress="hidden", api_visibility="private"
        )
    api(score_submission, api_name="score_submission", **QUEUE)
