"""The tab that scores a document by ANLS*, and the endpoint ``score_document``."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr
from gradio.events import api

from anls_eval.app import child
from anls_eval.app.answer import protocol_choices
from anls_eval.app.controls import endpoint_errors, example_buttons, link, shows_errors
from anls_eval.app.examples import DOCUMENTS
from anls_eval.app.limits import DOCUMENT_SECONDS, check_tree
from anls_eval.app.page import html
from anls_eval.app.results import UPDATING, Area, shown
from anls_eval.app.tree_view import score

_HELP = """Both sides are JSON or a Python literal. Lists match in any order. If the reference accepts several values,
write `{"$one_of": ["2025-01-15", "15 January 2025"]}`, or a tuple in Python. In an editor, Esc and then Tab moves to
the next field."""


def score_document(
    prediction: str | dict[str, Any] | list[Any],
    reference: str | dict[str, Any] | list[Any],
    protocol: str = "anls_star",
) -> dict[str, Any]:
    """Score JSON that was extracted from a document against its reference by ANLS*, and show where credit was lost.

    Args:
        prediction: The extracted tree of objects, lists and texts, or its JSON text.
        reference: The correct tree, or its JSON text; {"$one_of": [...]} holds alternatives, of which the closest
            counts.
        protocol: anls_star, or anls_star_paper for the formula as printed.

    Returns:
        The score from 0 to 1, a row for each leaf with its paths, credit and the reason if it is not full, the score of
        each key, the closest reference, the signature of the score, and notes about the input.

    Raises:
        gr.Error: Text that is not JSON, a document over the limits, or an unknown protocol.

    Example:
        >>> found = score_document({"total": "17.9"}, '{"total": "17.99", "date": "2024"}')
        >>> found["score"]
        0.4
    """
    with endpoint_errors():
        return _scored(prediction, reference, protocol)[0]


def _scored(prediction: Any, reference: Any, protocol: str) -> tuple[dict[str, Any], str, str]:
    for side, name in (prediction, "the prediction"), (reference, "the reference"):
        check_tree(side, name)  # a deep one cannot be sent to another process
    return child.run(score, prediction, reference, protocol, seconds=DOCUMENT_SECONDS)


@shows_errors(outputs=2)
def card(prediction: str, reference: str, protocol: str) -> tuple[Any, ...]:
    """Return the HTML of the score, and the closest reference."""
    _, shown_score, closest = _scored(prediction or "", reference or "", protocol)
    address = link("document", prediction=prediction, reference=reference, protocol=protocol)
    return shown_score + html("link.html", link=address), closest


_QUEUE: dict[str, Any] = {"concurrency_limit": 2, "concurrency_id": "documents"}
_PROTOCOLS = protocol_choices(of_trees=True, boards=False)

_LINK_JS = f"""() => {{
    const given = new URLSearchParams(location.search), name = given.get("protocol");
    if (!given.has("reference")) return [];
    const protocol = {json.dumps([name for _, name in _PROTOCOLS])}.includes(name) ? name : undefined;
    return [given.get("prediction") ?? "", given.get("reference"), protocol];
}}"""


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    start = next(iter(DOCUMENTS.values()))
    gr.Markdown(_HELP)
    with gr.Row():
        reference = gr.Code(start[1], label="Reference", language="json", lines=14, max_lines=28, wrap_lines=True)
        prediction = gr.Code(start[0], label="Prediction", language="json", lines=14, max_lines=28, wrap_lines=True)
    with gr.Row():
        protocol = gr.Dropdown(
            _PROTOCOLS,
            value=start[2],
            label="Protocol",
            info="anls_star follows the released code, anls_star_paper the printed formula.",
        )
        with gr.Column():
            fields: list[Any] = [prediction, reference, protocol]
            example_buttons(DOCUMENTS, fields)
    with gr.Column(elem_classes="area"):
        result = shown()
        closest = gr.Code(
            label="Closest reference: alternatives chosen, lists in the order of the prediction",
            language="json",
            interactive=False,
            buttons=["copy"],
            max_lines=20,
            wrap_lines=True,
            elem_classes="result",
        )
        page.load(None, None, fields, js=_LINK_JS)
        area = Area(fields, [result, closest], UPDATING)
    area.run(card, [page.load, area.changed.success], show_progress="hidden", **_QUEUE)
    api(score_document, api_name="score_document", **_QUEUE)
