"""The tab that scores a document by ANLS*, and the endpoint ``score_document``."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr
from gradio.events import api

from anls_eval.app import child
from anls_eval.app.controls import endpoint_errors, example_buttons, link, shows_errors
from anls_eval.app.document_score import Scored, score
from anls_eval.app.examples import DOCUMENTS
from anls_eval.app.infer_fields import infer_rules, rules_in_file
from anls_eval.app.limits import DOCUMENT_SECONDS, check_tree
from anls_eval.app.more_options import EXTRACT_INFO, options_box, options_js
from anls_eval.app.options import options_in
from anls_eval.app.page import html
from anls_eval.app.protocols import OF_DOCUMENTS, choices, option_names
from anls_eval.app.results import UPDATING, Area, fill, shown
from anls_eval.app.submission import as_rules
from anls_eval.app.words import LABELS

_HELP = """Both sides are JSON or a Python literal. Lists match in any order. If the reference accepts several values,
write `{"$one_of": ["2025-01-15", "15 January 2025"]}`, or a tuple in Python. In an editor, Esc and then Tab moves to
the next field."""
_FIELDS_HELP = """Without rules, all values are compared as texts. Rules name a field by its path and say how it is
compared: `text`, `exact`, `number`, `date`, `boolean` or `ignore`, with `weight`, `absolute`, `relative`, `key` and
more, such as `{"$.total": {"compare": "number", "absolute": "0.01"}, "$.items[*].sku": {"compare": "exact"}}`. A JSON
Schema works, too."""


def score_document(
    prediction: str | dict[str, Any] | list[Any],
    reference: str | dict[str, Any] | list[Any],
    protocol: str = "anls_star",
    extract: str | None = None,
    fields: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Score JSON that was extracted from a document against its reference by ANLS*, and show where credit was lost.

    Args:
        prediction: The extracted tree of objects, lists and texts, or its JSON text, also with other text around it.
        reference: The correct tree, or its JSON text; {"$one_of": [...]} holds alternatives, of which the closest
            counts.
        protocol: anls_star, anls_star_paper for the formula as printed, or a benchmark's own score of documents, such
            as donut_f1.
        extract: Steps that take the document out of the prediction first, such as think,json, or none to refuse text
            around it.
        fields: How the fields are compared: options by path, such as {"$.total": {"compare": "number"}}, or a JSON
            Schema. Without it, all values are compared as texts.
        options: What a benchmark knows beside the documents, such as {"appearance": {"date": "unrepeated"}} of vrdu.

    Returns:
        The score from 0 to 1, a row for each leaf with its paths, credit and the reason if it is not full, the score of
        each key, the closest reference, the signature of the score, and notes about the input. For a benchmark, its
        figures instead of rows.

    Raises:
        gr.Error: Text that is not JSON, a document over the limits, wrong fields, or an unknown protocol.

    Example:
        >>> found = score_document({"total": "17.9"}, '{"total": "17.99", "date": "2024"}')
        >>> found["score"]
        0.4
    """
    with endpoint_errors():
        return _scored(prediction, reference, protocol, extract, as_rules(fields), options_in(options)).plain


def _scored(
    prediction: Any, reference: Any, protocol: str, extract: str | None, fields: Any, options: dict[str, Any] | None
) -> Scored:
    for side, name in (prediction, "the prediction"), (reference, "the reference"), (fields, "the field rules"):
        check_tree(side, name)  # a deep one cannot be sent to another process
    return child.run(score, prediction, reference, protocol, extract, fields, options, seconds=DOCUMENT_SECONDS)


@shows_errors(outputs=3)
def card(
    prediction: str,
    reference: str,
    protocol: str,
    extract: str | None = None,
    fields: str | None = None,
    options: str | None = None,
) -> tuple[Any, ...]:
    """Return the HTML of the score, the closest reference, and the HTML of the score under every protocol."""
    steps = (extract or "").strip() or None
    applicable_options = options_in(options) if option_names(OF_DOCUMENTS[protocol]) else None
    found = _scored(prediction or "", reference or "", protocol, steps, fields or "", applicable_options)
    given = {"extract": steps, "fields": (fields or "").strip() or None, "options": applicable_options and options}
    address = link("document", prediction=prediction, reference=reference, protocol=protocol, **given)
    return found.shown + html("link.html", link=address), found.closest, found.protocols


@shows_errors(outputs=2)
def inferred(reference: str) -> tuple[Any, ...]:
    """Return HTML that says what went wrong, and field rules to start from, by what a reference looks like."""
    return "", child.run(infer_rules, reference or "", seconds=DOCUMENT_SECONDS)


@shows_errors(outputs=2)
def chosen(path: str | None) -> tuple[Any, ...]:
    """Return HTML that says what went wrong, and the field rules in a file as JSON text."""
    return ("", "") if path is None else ("", child.run(rules_in_file, path, seconds=DOCUMENT_SECONDS))


_QUEUE: dict[str, Any] = {"concurrency_limit": 2, "concurrency_id": "documents"}

_LINK_JS = f"""() => {{
    const given = new URLSearchParams(location.search), name = given.get("protocol");
    if (!given.has("reference")) return [];
    const protocol = {json.dumps(list(OF_DOCUMENTS))}.includes(name) ? name : undefined;
    return [
        given.get("prediction") ?? "", given.get("reference"), protocol, given.get("extract") ?? "",
        given.get("fields") ?? "", given.get("options") ?? "",
    ];
}}"""


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    start = next(iter(DOCUMENTS.values()))
    gr.Markdown(_HELP)
    editor: dict[str, Any] = {"language": "json", "max_lines": 28, "wrap_lines": True}
    with gr.Row():
        reference = gr.Code(start[1], label="Reference", lines=14, **editor)
        prediction = gr.Code(start[0], label="Prediction", lines=14, **editor)
    with gr.Row(equal_height=False):
        protocol = gr.Dropdown(
            choices(OF_DOCUMENTS),
            value=start[2],
            label="Protocol",
            info="anls_star follows the released code; the others are what benchmarks report.",
            min_width=300,
        )
        extract = gr.Textbox(
            "", label=LABELS["extract"], info=EXTRACT_INFO, placeholder="think,json", max_length=200, min_width=300
        )
    options = options_box("Those of this one document.", visible=False)
    protocol.change(None, [protocol, options], options, js=options_js(OF_DOCUMENTS))
    with gr.Accordion("Fields: compare numbers, dates and identifiers as such", open=False):
        gr.Markdown(_FIELDS_HELP)
        rules = gr.Code(start[4], label="Field rules", lines=6, **editor)
        with gr.Row():
            infer = gr.Button("Infer from the reference", size="sm")
            file = gr.UploadButton("Choose a file", size="sm", file_types=[".json", ".yaml", ".yml"])
            clear = gr.Button("Clear", size="sm")
        problem = shown()
    fields: list[Any] = [prediction, reference, protocol, extract, rules, options]
    example_buttons(DOCUMENTS, fields[:5])
    with gr.Column(elem_classes="area"):
        result = shown()
        closest = gr.Code(
            label="Closest reference",
            language="json",
            interactive=False,
            buttons=["copy"],
            max_lines=20,
            wrap_lines=True,
            elem_classes="result",
        )
        protocols = shown()
        page.load(None, None, fields, js=_LINK_JS)
        area = Area(fields, [result, closest, protocols], UPDATING)
    area.run(card, [page.load, area.changed.success], show_progress="hidden", **_QUEUE)
    fill(inferred, infer.click, [reference], [problem, rules], **_QUEUE)
    fill(chosen, file.upload, [file], [problem, rules], **_QUEUE)
    clear.click(None, None, [problem, rules], js="() => ['', '']")
    api(score_document, api_name="score_document", **_QUEUE)
