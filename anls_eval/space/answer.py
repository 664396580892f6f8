"""The page that scores one answer, and the same as the API endpoint ``score_answer``."""

import dataclasses
import html
import threading
import warnings
from typing import TypedDict

import gradio as gr
from gradio.events import api

import anls

_CSS = """
.score {font-size: 4rem; font-weight: 600; line-height: 1.2}
.note {border-left: 4px solid var(--color-accent); padding-left: var(--spacing-lg)}
dt {color: var(--body-text-color-subdued); margin-top: var(--spacing-xl)}
dd {margin: 0; overflow-wrap: anywhere; white-space: pre-wrap}
"""

# Python keeps one list of warnings for all threads, and gradio runs every call in a thread of its own.
_warnings_lock = threading.Lock()


class ScoredAnswer(TypedDict):
    """What `score_answer` finds."""

    score: float
    closest_answer: str
    similarity: float  # to the closest answer, before the threshold
    why: str
    signature: str
    notes: list[str]


def score_answer(
    prediction: str, answers: str | list[str], protocol: str = "standard", threshold: float | None = None
) -> ScoredAnswer:
    """Score one prediction against its accepted answers, and say why it gets this score.

    Args:
        prediction: The predicted text.
        answers: The accepted answers, one a line or as a list. Blank lines are skipped.
        protocol: A name or alias in `anls.PROTOCOLS`.
        threshold: The least similarity that counts, from 0 to 1; none means the protocol's.

    Returns:
        The score, the closest answer and its similarity, the reason, the signature, and notes about the input.

    Raises:
        gr.Error: No answer, an unknown protocol, a threshold outside 0 to 1, or something that is not text.

    Example:
        >>> score_answer("Denver Bronco", ["Denver Broncos", "Broncos"])["why"]
        '7.14% of the characters differ: similarity 0.9286, at least the threshold 0.5, so it counts 0.9286.'
    """
    if isinstance(answers, str):
        answers = [line.removesuffix("\r") for line in answers.split("\n") if line.strip()]
    if not isinstance(answers, list) or not answers:
        raise gr.Error("There is no accepted answer: enter at least one, one a line.", print_exception=False)
    try:
        rules = anls.get_protocol(protocol)
        if rules.tree:
            raise gr.Error(f"The protocol {rules.name!r} scores trees; choose one of texts.", print_exception=False)
        if threshold is not None and threshold != rules.threshold:  # the page always sends one
            rules = dataclasses.replace(rules, threshold=threshold)
        with _warnings_lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            score = anls.anls_score(prediction, answers, protocol=rules)
            notes = [str(warning.message) for warning in caught]
            reached = dataclasses.replace(rules, zero_predictions=())
            any_similarity = dataclasses.replace(reached, threshold=0, keep=">=")
            similarities = [anls.anls_score(prediction, [own], protocol=any_similarity) for own in answers]
            similarity = max(similarities)
            closest = answers[similarities.index(similarity)]
            is_kept = anls.anls_score(prediction, [closest], protocol=reached) > 0
    except ValueError as error:
        raise gr.Error(str(error), print_exception=False) from None
    return {
        "score": score,
        "closest_answer": str(closest),
        "similarity": similarity,
        "why": _why(score, similarity, is_kept, rules),
        "signature": anls.signature(rules, n=1),
        "notes": notes,
    }


def _why(score: float, similarity: float, is_kept: bool, rules: anls.Protocol) -> str:
    if similarity == 1:
        difference = "The texts are equal as this protocol compares them"
    elif similarity > 0:
        difference = f"{100 * (1 - similarity):.3g}% of the characters differ"
    else:
        difference = "The texts have nothing in common"
    # Four digits can hide on which side of the threshold a similarity is.
    shown = f"{similarity:.4g}" if round(similarity, 4) != round(rules.threshold, 4) else str(similarity)
    if rules.threshold == 0 and rules.keep == ">=":
        verdict = "and there is no threshold"
    else:
        word = {">=": ("below", "at least"), ">": ("not above", "above")}[rules.keep][is_kept]
        verdict = f"{word} the threshold {rules.threshold}"
    if is_kept and score == 0:
        end = f"but this protocol gives the prediction {' or '.join(map(repr, rules.zero_predictions))} always 0"
    else:
        end = f"so it counts {shown if is_kept else 0}"
    return f"{difference}: similarity {shown}, {verdict}, {end}."


def card(prediction: str, answers: str, protocol: str, threshold: float | None) -> str:
    """Show what `score_answer` finds, or what is wrong with the input.

    Args:
        prediction: The predicted text.
        answers: The accepted answers, one a line.
        protocol: A name in `anls.PROTOCOLS`.
        threshold: The least similarity that counts; none means the protocol's.

    Returns:
        HTML in which all text is escaped. It is escaped here and not by a template of `gr.HTML`, which would
        run ``${...}`` in the text as JavaScript.
    """
    try:
        found = score_answer(prediction, answers, protocol, threshold)
    except gr.Error as error:
        return f'<p role="alert" class="note">{html.escape(error.message)}</p>'
    notes = "".join(f'<p class="note">Note: {html.escape(note)}.</p>' for note in found["notes"])
    return (
        f'<div role="status"><div class="score">{found["score"]:.4f}</div><p>{html.escape(found["why"])}</p>{notes}'
        f"<dl><dt>Closest accepted answer</dt><dd>{html.escape(found['closest_answer'])}</dd>"
        f"<dt>Signature</dt><dd><code>{html.escape(found['signature'])}</code></dd></dl></div>"
    )


def build() -> None:
    """Add the page to the `gr.Blocks` that is open."""
    with gr.Row():
        with gr.Column():
            prediction = gr.Textbox("Denver Bronco", label="Prediction")
            answers = gr.Textbox("Denver Broncos\nBroncos", label="Accepted answers, one a line", lines=4)
            protocol = gr.Dropdown(
                [
                    (": ".join(filter(None, [name, ", ".join(row.leaderboards)])), name)
                    for name, row in anls.PROTOCOLS.items()
                    if not row.tree
                ],
                value="standard",
                label="Protocol",
                info="Each with the leaderboards that compute ANLS so.",
            )
            threshold = gr.Number(
                _threshold("standard"),  # without a value the browser would show 0 and send it
                label="Threshold",
                info="The least similarity that counts. Empty means the protocol's.",
                step=0.05,
            )
            button = gr.Button("Score", variant="primary")
        inputs = [prediction, answers, protocol, threshold]
        with gr.Column():
            result = gr.HTML(card(*(field.value for field in inputs)), css_template=_CSS, js_on_load=None)
    gr.on(
        [button.click, prediction.submit, answers.submit, threshold.submit],
        card,
        inputs,
        result,
        api_name="card",
        api_visibility="undocumented",
    )
    protocol.input(_threshold, protocol, threshold, api_visibility="private").then(
        card, inputs, result, api_visibility="private"
    )
    api(score_answer, api_name="score_answer")


def _threshold(protocol: str) -> float:
    return float(anls.get_protocol(protocol).threshold)
