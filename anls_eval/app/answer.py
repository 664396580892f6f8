"""The tab that scores one answer, and the endpoint ``score_answer``."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr
from gradio.events import api

from anls_eval.app.answer_view import explain, view
from anls_eval.app.controls import endpoint_errors, example_buttons, link, shows_errors
from anls_eval.app.examples import ANSWERS
from anls_eval.app.page import html
from anls_eval.app.results import UPDATING, Area, shown
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
    extract: str | None = None,
) -> dict[str, Any]:
    """Score one prediction against its accepted answers by ANLS, and explain the score.

    Args:
        prediction: The predicted text.
        answers: The accepted answers, one per line or as a list. Empty lines are skipped.
        protocol: A name from the list on the page, such as standard, rrc (DocVQA), stvqa, dude or mmlongbench.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        answer_type: For the protocols that need one, such as dude and mmlongbench.
        extract: Steps that take the answer out of the prediction first, such as think,answer_tag, or none for no
            steps. Defaults to the protocol's.

    Returns:
        The score from 0 to 1, the index of the closest answer, for each answer its distance, length, similarity and
        the reason in words, the signature of the score, and notes about the input.

    Raises:
        gr.Error: No answer, an unknown protocol, a threshold outside 0 to 1, or a value that is not text.

    Example:
        >>> score_answer("Denver Bronco", ["Denver Broncos", "Broncos"])["comparisons"][0]["sentence"]
        '1 of 14 characters differs: similarity 0.9286, at least the threshold 0.5, so it scores 0.9286.'
    """
    with endpoint_errors():
        listed = _lines(answers) if isinstance(answers, str) else answers
        if not isinstance(listed, list):
            raise ValueError(f"answers is {type(answers).__name__}; expected text with one answer per line, or a list")
        return explain(prediction, listed, protocol, threshold, answer_type, extract).to_dict()


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


@shows_errors(outputs=2)
def card(
    prediction: str,
    answers: str,
    protocol: str,
    threshold: float | None,
    answer_type: str | None,
    extract: str | None = None,
) -> tuple[Any, ...]:
    """Return the HTML of the score, and of the thresholds and protocols; options that do not apply are ignored."""
    rules = get_rules(protocol)
    applicable_type = answer_type if rules.answer_types else None
    applicable_threshold = threshold if isinstance(rules, Protocol) else None
    steps = (extract or "").strip() or None
    shown = view(prediction or "", _lines(answers or ""), protocol, applicable_threshold, applicable_type, steps)
    address = link(
        "answer",
        prediction=prediction,
        answers=answers,
        protocol=protocol,
        threshold=threshold,
        answer_type=applicable_type,
        extract=steps,
    )
    return html("answer.html", found=shown.found, link=address), html("answer_protocols.html", shown=shown)


_RULES = {
    name: (float(rules.threshold) if isinstance(rules, Protocol) else None, rules.answer_types)
    for name, rules in {**PROTOCOLS, **LEADERBOARDS}.items()
}
"""The threshold of each protocol, None if it takes none, and its answer types."""

EXTRACT_INFO = "Steps that take the answer out of a longer text first. Empty: the protocol's."

_ANSWER_TYPES = list(dict.fromkeys(name for _, types in _RULES.values() for name in types))

# Nothing here asks the server, whose answer could come after another choice of the user.
_THRESHOLD_JS = f"(protocol) => [({json.dumps(_RULES)})[protocol][0]]"
_ANSWER_TYPE_JS = f"""(protocol, chosen) => {{
    const types = ({json.dumps(_RULES)})[protocol][1];
    const value = types.includes(chosen) ? chosen : types[0] ?? null;
    return [{{ __type__: "update", choices: types.map((name) => [name, name]), value, visible: types.length > 0 }}];
}}"""
_LINK_JS = f"""() => {{
    const rules = {json.dumps(_RULES)}, given = new URLSearchParams(location.search);
    if (!given.has("answers")) return [];
    const name = given.get("protocol"), protocol = Object.hasOwn(rules, name) ? name : "standard";
    const threshold = protocol === name ? parseFloat(given.get("threshold")) : NaN;
    return [
        given.get("prediction") ?? "", given.get("answers"), protocol,
        isNaN(threshold) ? rules[protocol][0] : threshold, given.get("answer_type"),
        given.get("extract") ?? "",
    ];
}}"""


def build(page: gr.Blocks) -> None:
    """Add the tab to the page that is open."""
    start = next(iter(ANSWERS.values()))
    first, more = card(*start, None)
    with gr.Column(elem_classes="area"):
        with gr.Row(equal_height=False):
            with gr.Column(scale=2, min_width=300):
                prediction = gr.Textbox(start[0], label="Prediction", lines=1, max_lines=6)
                answers = gr.Textbox(start[1], label="Accepted answers, one per line", lines=3, max_lines=12)
                protocol = gr.Dropdown(
                    protocol_choices(), value=start[2], label="Protocol", info="With the leaderboards that use it."
                )
                threshold = gr.Number(
                    start[3],  # without a value the browser would show 0 and send it
                    label="Threshold",
                    info="Minimum similarity that counts. Empty: the protocol's.",
                    minimum=0,
                    maximum=1,
                    step=0.05,
                )
                answer_type = gr.Dropdown(
                    _ANSWER_TYPES,
                    value=None,
                    label="Answer type",
                    info="This protocol scores each type by its own rule.",
                    visible=False,
                )
                extract = gr.Textbox(label="Extract", info=EXTRACT_INFO, placeholder="think,answer_tag", max_length=200)
                fields: list[Any] = [prediction, answers, protocol, threshold, answer_type, extract]
                example_buttons(ANSWERS, fields[:4])
            with gr.Column(scale=3, min_width=300):
                result = shown(first)
        below = shown(more)
        protocol.change(None, [protocol, answer_type], answer_type, js=_ANSWER_TYPE_JS)
        protocol.input(None, protocol, threshold, js=_THRESHOLD_JS)
        page.load(None, None, fields, js=_LINK_JS)
        area = Area(fields, [result, below], UPDATING, has_result=True)
    area.run(card, [area.changed.success], show_progress="hidden", concurrency_limit=8)
    api(score_answer, api_name="score_answer", concurrency_limit=8)


def protocol_choices(of_trees: bool = False, boards: bool = True) -> list[tuple[str, str]]:
    """Return the protocols with their leaderboards, as choices of a `gr.Dropdown`."""
    choices = [
        (": ".join(filter(None, [name, ", ".join(rules.leaderboards)])), name)
        for name, rules in PROTOCOLS.items()
        if bool(rules.tree) == of_trees
    ]
    return choices + [
        (f"{name}: {board.source.partition(',')[0]}", name) for name, board in LEADERBOARDS.items() if boards
    ]
