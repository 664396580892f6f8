"""The tab that scores a submission and shows its report, and the endpoint ``score_submission``."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio import FileData
from gradio.events import api

from anls_eval.app.controls import endpoint_errors, example_buttons, new_folder, shows_errors, uploaded, work_on_files
from anls_eval.app.examples import SUBMISSIONS
from anls_eval.app.limits import check_tree
from anls_eval.app.more_options import MoreOptions, how_to_read, more_options
from anls_eval.app.options import Options, names_in, options_in, roles_in
from anls_eval.app.protocols import OF_FILES, choices
from anls_eval.app.results import UPDATING, Area, outdated, shown
from anls_eval.app.tasks import inspect, report, score_as_json
from anls_eval.app.words import LABELS
from anls_eval.types import Missing, Unknown

QUEUE: dict[str, Any] = {"concurrency_id": "submissions", "concurrency_limit": 2}
"""Each of these tasks takes a processor for seconds."""


def score_submission(
    predictions: FileData,
    references: FileData | None = None,
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
    """Score a file of predictions against a file of accepted answers by ANLS, ANLS* or a benchmark's own score.

    Args:
        predictions: A file in JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow; the format is detected.
        references: A file of accepted answers in any of these formats; none if the first file contains them.
        protocol: A name from the list on the page, such as standard, rrc (DocVQA), stvqa, dude, anls_star or donut_f1.
        extract: Steps that take the answer out of each prediction first, such as think,answer_tag, or none for no
            steps. Defaults to the protocol's.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        by: Columns to break the score down by, as a list or with commas between them.
        missing: What to do with questions without a prediction: error, or zero to score them 0.
        unknown: What to do with predictions without a question: error, or ignore.
        columns: The columns of the files by role, if they are not recognised: {"prediction": "output"}, with
            "predictions.question_id" or "references.question_id" for one side only.
        parse: Whose texts to take apart where they print a list or a dict: predictions, answers, columns of by; or
            none.
        fields: For documents, how their fields are compared: options by path, such as
            {"$.total": {"compare": "number"}}, or a JSON Schema.
        encoding: The encoding of text that is not UTF-8 and has no byte order mark, such as cp1252.
        separator: What separates the cells of a table of text. Found in its header by default.
        filter: The filter of an lm-eval log that has several.
        options: What a benchmark knows beside the answers: {"appearance": {"date": "unrepeated"}} of vrdu. What each
            question has is the name of its column: {"year": "Year"} of chartqapro.

    Returns:
        The mean score with its confidence interval, the number of questions, the groups, the signature and notes.

    Raises:
        gr.Error: A file that cannot be read or is over the limits, questions without a prediction, or an unknown
            protocol. The message names the argument that helps.
    """
    with endpoint_errors():
        given, expected = uploaded(predictions), None if references is None else uploaded(references)
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
        return work_on_files(score_as_json, given, expected, asked)


def as_rules(fields: Any) -> dict[str, Any] | None:
    """Return the field rules that an endpoint received, which must not be the path of a file here."""
    if fields is None or isinstance(fields, dict):
        check_tree(fields, "fields")  # a deep one cannot be sent to another process
        return fields
    raise ValueError(f"fields is {type(fields).__name__}; expected options by path, or a JSON Schema, as an object")


@shows_errors(outputs=2)
def detected(predictions: str | list[str] | None, references: str | None, *reading: str | None) -> tuple[Any, ...]:
    """Return HTML that says what the uploaded files are, and the columns to break a score down by."""
    paths = [predictions] if isinstance(predictions, str) else predictions
    return work_on_files(inspect, paths, references, how_to_read(*reading)) if paths else ("", [])


@shows_errors(outputs=3)
def score_and_report(
    predictions: str | None,
    references: str | None,
    protocol: str,
    by: list[str],
    confidence: str | None,
    dataset_id: str | None,
    task_id: str | None,
    *more: Any,
) -> tuple[Any, ...]:
    """Return the HTML of the score and of the report, and the files to download."""
    if predictions is None:
        raise ValueError("There is no file of predictions: upload one, or choose an example.")
    hub = (dataset_id or "").strip(), (task_id or "").strip()
    target = hub if any(hub) else None
    options, column = more_options(protocol, by, *more), (confidence or "").strip() or None
    return work_on_files(report, predictions, references, options, column, target, new_folder())


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    gr.Markdown(
        "Upload the predictions and the accepted answers: JSON, JSON Lines, CSV, TSV, Excel, Parquet or Arrow, also "
        "compressed with gzip or zstd. The format and the columns are detected."
    )
    with gr.Row():
        predictions = gr.File(label="Predictions", height=140)
        references = gr.File(label="References, if they are in a separate file", height=140)
    with gr.Column(elem_classes="area") as place:
        what = shown()
    with gr.Row(equal_height=False):
        protocol = gr.Dropdown(choices(OF_FILES), value="standard", label="Protocol", min_width=300)
        by = columns_to_break_down_by()
    with gr.Accordion("More options", open=False):
        more = MoreOptions()
        confidence = gr.Textbox(
            "",
            label=LABELS["confidence"],
            info="From 0 to 1; for documents also a tree. The report shows what can be accepted without a person.",
            max_length=200,
        )
        with gr.Row():
            dataset_id = gr.Textbox(
                "", label="Dataset on the Hub", info="For .eval_results, as the Hub shows it.", placeholder="owner/name"
            )
            task_id = gr.Textbox("", label="Task in that dataset", info="Such as docvqa_val.")
    button = gr.Button("Score", variant="primary")
    examples = example_buttons(SUBMISSIONS, [predictions, references, protocol, by])
    with gr.Column(elem_classes="area"):
        summary = shown()
        files = gr.File(
            label="Downloads", file_count="multiple", visible=False, interactive=False, elem_classes="result"
        )
        report_frame = shown()
        fields = [predictions, references, protocol, by, confidence, dataset_id, task_id, *more.controls]
        area = Area(fields, [summary, report_frame, files], outdated("Score"))
    asked = [button.click, *(example.success for example in examples)]
    area.run(score_and_report, asked, show_progress_on=summary, **QUEUE)
    with place:
        uploads = Area([predictions, references, *more.reading], [what, by], UPDATING)
    predictions.clear(None, None, by, js="() => [[]]")
    uploads.run(detected, [uploads.changed.success], show_progress="hidden", **QUEUE)
    api(score_submission, api_name="score_submission", **QUEUE)


def columns_to_break_down_by() -> gr.Dropdown:
    """Add a choice of columns, which is filled once the files are read."""
    return gr.Dropdown(
        [],
        multiselect=True,
        allow_custom_value=True,
        label="Break down by",
        info="Columns of the files.",
        min_width=300,
    )
