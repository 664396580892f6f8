"""The tab that scores one answer, and the same as the endpoint ``score_answer``."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.events import api

from anls_eval.app.answer_view import explain, view
from anls_eval.app.controls import example_buttons, in_page_words, link, refusals
from anls_eval.app.examples import ANSWERS
from anls_eval.app.page import alert, html
from anls_eval.leaderboards import LEADERBOARDS
from anls_eval.registry import get_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS


def score_answer(
    prediction: str,
    answers: str | list[str],
    protocol: str = "standard",
    threshold: float | None = None,
    answer_type: str | None = None,
) -> dict[str, Any]:
    """Score one prediction against its accepted answers by ANLS, and say why it gets this score.

    Args:
        prediction: The predicted text.
        answers: The accepted answers, one a line or as a list. Blank lines are skipped.
        protocol: A name of the list on the page, such as standard, rrc (DocVQA), stvqa, dude or mmlongbench.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        answer_type: For the protocols that need one, such as dude and mmlongbench.

    Returns:
        The score from 0 to 1, the number of the closest answer, for each answer its distance, length, similarity and
        the reason in words, the signature of the score, and notes about the input.

    Raises:
        gr.Error: No answer, an unknown protocol, a threshold outside 0 to 1, or something that is not text.

    Example:
        >>> score_answer("Denver Bronco", ["Denver Broncos", "Broncos"])["comparisons"][0]["sentence"]
        '1 of 14 characters differs: similarity 0.9286, at least the threshold 0.5, so it counts 0.9286.'
    """
    with refusals():
        listed = _lines(answers) if isinstance(answers, str) else answers
        if not isinstance(listed, list):
            raise ValueError(f"answers is a {type(answers).__name__}; expected a text with one a line, or a list")
        return explain(prediction, listed, protocol, threshold, answer_type).to_dict()


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


def card(
    prediction: str, answers: str, protocol: str, threshold: float | None, answer_type: str | None
) -> tuple[str, str]:
    """Show what `score_answer` finds, or what is wrong with the input.

    Args:
        prediction: The predicted text.
        answers: The accepted answers, one a line.
        protocol: As in `score_answer`.
        threshold: As in `score_answer`. Ignored for leaderboards, which have their own.
        answer_type: Ignored for protocols without answer types.

    Returns:
        HTML of the score, and of the thresholds and protocols.
    """
    try:
        rules = get_rules(protocol)
        typed = answer_type if rules.answer_types else None
        limit = threshold if isinstance(rules, Protocol) else None
        shown = view(prediction or "", _lines(answers or ""), protocol, limit, typed)
    except ValueError as error:
        return alert(in_page_words(error)), ""
    own_link = link("answer", prediction=prediction, answers=answers, protocol=protocol, threshold=threshold)
    return html("answer.html", found=shown.found, link=own_link), html("answer_protocols.html", shown=shown)


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    start = next(iter(ANSWERS.values()))
    with gr.Row(equal_height=False):
        with gr.Column(scale=2, min_width=300):
            prediction = gr.Textbox(start[0], label="Prediction", lines=1, max_lines=6)
            answers = gr.Textbox(start[1], label="Accepted answers, one a line", lines=3, max_lines=12)
            protocol = gr.Dropdown(
                protocol_choices(),
                value=start[2],
                label="Protocol",
                info="Each with the leaderboards that compute ANLS so.",
            )
            threshold = gr.Number(
                start[3],  # without a value the browser would show 0 and send it
                label="Threshold",
                info="Minimum similarity that counts. Leave empty for the protocol's.",
                minimum=0,
                maximum=1,
                step=0.05,
            )
            answer_type = gr.Dropdown(
                [], label="Answer type", info="This protocol scores each type by its own rule.", visible=False
            )
            fields: list[Any] = [prediction, answers, protocol, threshold, answer_type]
            example_buttons(ANSWERS, fields[:4])
        with gr.Column(scale=3, min_width=300):
            first, more = card(*start, None)
            result = gr.HTML(first, apply_default_css=False, js_on_load=None)
    below = gr.HTML(more, apply_default_css=False, js_on_load=None)
    # Not `input`, which text that is pasted does not set off.
    gr.on(
        [field.change for field in fields],
        card,
        fields,
        [result, below],
        show_progress="hidden",
        trigger_mode="always_last",
        concurrency_limit=8,
        api_visibility="private",
    )
    protocol.input(_threshold, protocol, threshold, show_progress="hidden", api_visibility="private")
    protocol.change(_answer_type, protocol, answer_type, show_progress="hidden", api_visibility="private")
    page.load(_from_link, None, fields[:4], show_progress="hidden", api_visibility="private")
    api(score_answer, api_name="score_answer", concurrency_limit=8)


def protocol_choices(of_trees: bool = False, boards: bool = True) -> list[tuple[str, str]]:
    """The protocols with their leaderboards, for a `gr.Dropdown`."""
    found = [
        (": ".join(filter(None, [name, ", ".join(row.leaderboards)])), name)
        for name, row in PROTOCOLS.items()
        if bool(row.tree) == of_trees
    ]
    return found + [
        (f"{name}: {board.source.partition(',')[0]}", name) for name, board in LEADERBOARDS.items() if boards
    ]


def _threshold(protocol: str) -> float | None:
    """Return the threshold of a protocol; None for a leaderboard."""
    rules = get_rules(protocol)
    return float(rules.threshold) if isinstance(rules, Protocol) else None


def _answer_type(protocol: str) -> Any:
    types = get_rules(protocol).answer_types
    return gr.Dropdown(choices=list(types), value=types[0] if types else None, visible=bool(types))


def _from_link(request: gr.Request) -> list[Any]:
    """The example that a link carries; without one, what is there stays."""
    given = request.query_params
    if "answers" not in given:
        return [gr.skip()] * 4
    protocol = given.get("protocol", "standard")
    try:
        own = _threshold(protocol)
        threshold = float(given["threshold"]) if given.get("threshold") else own
    except ValueError:
        protocol, threshold = "standard", _threshold("standard")
    return [given.get("prediction", ""), given["answers"], protocol, threshold]
