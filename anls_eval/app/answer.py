"""The tab that scores one answer, and the endpoint ``score_answer``."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import gradio as gr
from gradio.events import api

from anls_eval.app.answer_view import explain, read_answers, view
from anls_eval.app.controls import endpoint_errors, example_buttons, link, shows_errors
from anls_eval.app.examples import ANSWERS
from anls_eval.app.more_options import EXTRACT_INFO, options_box, options_js
from anls_eval.app.options import options_in
from anls_eval.app.page import html
from anls_eval.app.protocols import OF_TEXTS, choices, option_names
from anls_eval.app.results import UPDATING, Area, shown
from anls_eval.app.words import LABELS, in_page_words
from anls_eval.registry import get_rules
from anls_eval.rules.protocol import Protocol


def score_answer(
    prediction: str,
    answers: str | list[str],
    protocol: str = "standard",
    threshold: float | None = None,
    answer_type: str | None = None,
    extract: str | None = None,
    parse: str | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Score one prediction against its accepted answers by ANLS, and explain the score.

    Args:
        prediction: The predicted text.
        answers: The accepted answers, one per line or as a list. Empty lines are skipped, and a single line that
            prints a list is taken apart.
        protocol: A name from the list on the page, such as standard, rrc (DocVQA), stvqa, dude or chartqa_lmms.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        answer_type: For the protocols that need one, such as dude and mmlongbench.
        extract: Steps that take the answer out of the prediction first, such as think,answer_tag, or none for no
            steps. Defaults to the protocol's.
        parse: none to compare a line that prints a list as it is.
        options: What a benchmark knows beside the answers, such as {"year": ["NO"]} of chartqapro.

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
        notes: tuple[str, ...] = ()
        if isinstance(answers, str):
            answers, notes = read_answers(answers, protocol, parse)
        if not isinstance(answers, list):
            raise ValueError(f"answers is {type(answers).__name__}; expected text with one answer per line, or a list")
        found = explain(prediction, answers, protocol, threshold, answer_type, extract, options_in(options))
        return dataclasses.replace(found, notes=(*notes, *found.notes)).to_dict()


@shows_errors(outputs=2)
def card(
    prediction: str,
    answers: str,
    protocol: str,
    threshold: float | None,
    answer_type: str | None,
    extract: str | None = None,
    parse: str | None = None,
    options: str | None = None,
) -> tuple[Any, ...]:
    """Return the HTML of the score, and of the thresholds and protocols; options that do not apply are ignored."""
    rules = get_rules(protocol)
    applicable_type = answer_type if _answer_types(rules) else None
    applicable_threshold = threshold if isinstance(rules, Protocol) else None
    applicable_options = options_in(options) if option_names(OF_TEXTS.get(rules.name, rules)) else None
    steps = (extract or "").strip() or None
    listed, notes = read_answers(answers or "", protocol, parse or None)
    shown = view(prediction or "", listed, protocol, applicable_threshold, applicable_type, steps, applicable_options)
    address = link(
        "answer",
        prediction=prediction,
        answers=answers,
        protocol=protocol,
        threshold=threshold,
        answer_type=applicable_type,
        extract=steps,
        parse=parse or None,
        options=(applicable_options and options) or None,
    )
    notes = tuple(map(in_page_words, (*notes, *shown.found.notes, *shown.hints)))
    return html("answer.html", found=shown.found, notes=notes, link=address), html("answer_protocols.html", shown=shown)


def _answer_types(rules: Any) -> tuple[str, ...]:
    return getattr(rules, "answer_types", ())


_RULES = {
    name: (float(rules.threshold) if isinstance(rules, Protocol) else None, _answer_types(rules))
    for name, rules in OF_TEXTS.items()
}
"""The threshold of each protocol, None if it takes none, and its answer types."""

_OPTIONS_JS = options_js(OF_TEXTS)

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
        given.get("extract") ?? "", given.get("parse") === "none" ? "none" : "", given.get("options") ?? "",
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
                    choices(OF_TEXTS), value=start[2], label="Protocol", info="With the leaderboards that use it."
                )
                threshold = gr.Number(
                    start[3],  # without a value the browser would show 0 and send it
                    label=LABELS["threshold"],
                    info="Minimum similarity that counts. Empty: the protocol's.",
                    minimum=0,
                    maximum=1,
                    step=0.05,
                )
                answer_type = gr.Dropdown(
                    _ANSWER_TYPES,
                    value=None,
                    label=LABELS["answer_type"],
                    info="This protocol scores each type by its own rule.",
                    visible=False,
                )
                options = options_box("Those of this one answer.", visible=False)
                with gr.Row():
                    extract = gr.Textbox(
                        "", label=LABELS["extract"], info=EXTRACT_INFO, placeholder="think,answer_tag", max_length=200
                    )
                    parse = gr.Dropdown(
                        [("take a printed list apart", ""), ("none", "none")],
                        value="",
                        label=LABELS["parse"],
                        info="What a line such as ['a', 'b'] means.",
                    )
                fields: list[Any] = [prediction, answers, protocol, threshold, answer_type, extract, parse, options]
                example_buttons(ANSWERS, fields[:4])
            with gr.Column(scale=3, min_width=300):
                result = shown(first)
        below = shown(more)
        protocol.change(None, [protocol, answer_type], answer_type, js=_ANSWER_TYPE_JS)
        protocol.change(None, [protocol, options], options, js=_OPTIONS_JS)
        protocol.input(None, protocol, threshold, js=_THRESHOLD_JS)
        page.load(None, None, fields, js=_LINK_JS)
        area = Area(fields, [result, below], UPDATING, has_result=True)
    area.run(card, [area.changed.success], show_progress="hidden", concurrency_limit=8)
    api(score_answer, api_name="score_answer", concurrency_limit=8)
