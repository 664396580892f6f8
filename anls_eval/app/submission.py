"""The tab that scores a submission and shows its report, and the endpoint ``score_submission``."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.answer import EXTRACT_INFO, protocol_choices
from anls_eval.app.controls import endpoint_errors, example_buttons, new_folder, shows_errors, uploaded, work_on_files
from anls_eval.app.examples import SUBMISSIONS
from anls_eval.app.results import UPDATING, Area, outdated, shown
from anls_eval.app.tasks import Options, inspect, report, score_as_json

QUEUE: dict[str, Any] = {"concurrency_id": "submissions", "concurrency_limit": 2}
"""Each of these tasks takes a processor for seconds."""


def score_submission(
    predictions: FileData,
    references: FileData | None = None,
    protocol: str = "standard",
    extract: str | None = None,
) -> dict[str, Any]:
    """Score a file of predictions against a file of accepted answers by ANLS or ANLS*.

    Args:
        predictions: A file in JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow; the format is detected.
        references: A file of accepted answers in any of these formats; none if the first file contains them.
        protocol: A name from the list on the page, such as standard, rrc (DocVQA), stvqa, dude or anls_star.
        extract: Steps that take the answer out of each prediction first, such as think,answer_tag, or none for no
            steps. Defaults to the protocol's.

    Returns:
        The mean score with its confidence interval, the number of questions, the signature and notes.

    Raises:
        gr.Error: A file that cannot be read or is over the limits, questions without a prediction, or an unknown
            protocol.
    """
    with endpoint_errors():
        given, expected = uploaded(predictions), None if references is None else uploaded(references)
        return work_on_files(score_as_json, given, expected, Options(protocol=protocol, extract=extract))


@shows_errors(outputs=2)
def detected(predictions: str | list[str] | None, references: str | None) -> tuple[Any, ...]:
    """Return HTML that says what the uploaded files are, and the columns to break a score down by."""
    paths = [predictions] if isinstance(predictions, str) else predictions
    return work_on_files(inspect, paths, references) if paths else ("", [])


ZERO = "Score questions without a prediction 0"
IGNORE = "Ignore predictions without a question"


@shows_errors(3, {"missing": ZERO, "unknown": IGNORE})
def score_and_report(
    predictions: str | None,
    references: str | None,
    protocol: str,
    threshold: str | None,
    extract: str | None,
    by: list[str],
    missing_is_zero: bool,
    ignore_unknown: bool,
    dataset_id: str | None,
    task_id: str | None,
) -> tuple[Any, ...]:
    """Return the HTML of the score and of the report, and the files to download."""
    if predictions is None:
        raise ValueError("There is no file of predictions: upload one, or choose an example.")
    options = Options(
        protocol=protocol,
        threshold=(threshold or "").strip() or None,
        extract=(extract or "").strip() or None,
        by=tuple(by or ()),
        missing="zero" if missing_is_zero else "error",
        unknown="ignore" if ignore_unknown else "error",
    )
    hub = (dataset_id or "").strip(), (task_id or "").strip()
    target = hub if any(hub) else None
    return work_on_files(report, predictions, references, options, target, new_folder())


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions and the accepted answers: JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow, also "
        "compressed with gzip or zstd. The format and the columns are detected."
    )
    with gr.Row():
        predictions = gr.File(label="Predictions", height=120)
        references = gr.File(label="References, if they are in a separate file", height=120)
    with gr.Column(elem_classes="area") as place:
        what = shown()
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
        extract = gr.Textbox(label="Extract", info=EXTRACT_INFO, placeholder="think,answer_tag", max_length=200)
        zero = gr.Checkbox(label=ZERO)
        ignore = gr.Checkbox(label=IGNORE)
        with gr.Row():
            dataset_id = gr.Textbox(
                label="Dataset on the Hub", info="For .eval_results, as the Hub shows it.", placeholder="owner/name"
            )
            task_id = gr.Textbox(label="Task in that dataset", info="Such as docvqa_val.")
    button = gr.Button("Score", variant="primary")
    examples = example_buttons(SUBMISSIONS, [predictions, references, protocol, by])
    with gr.Column(elem_classes="area"):
        summary = shown()
        files = gr.File(
            label="Downloads", file_count="multiple", visible=False, interactive=False, elem_classes="result"
        )
        report_frame = shown()
        fields = [predictions, references, protocol, threshold, extract, by, zero, ignore, dataset_id, task_id]
        area = Area(fields, [summary, report_frame, files], outdated("Score"))
    asked = [button.click, *(example.success for example in examples)]
    area.run(score_and_report, asked, show_progress_on=summary, **QUEUE)
    with place:
        uploads = Area([predictions, references], [what, by], UPDATING)
    predictions.clear(None, None, by, js="() => [[]]")
    uploads.run(detected, [uploads.changed.success], show_progress="hidden", **QUEUE)
    api(score_submission, api_name="score_submission", **QUEUE)
