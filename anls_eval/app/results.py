"""Results that belong to the inputs beside them, in whatever order the answers of the server arrive.

A run sends its fields with a stamp: the fields as JSON text. The browser shows an answer only if its stamp is that of
the fields on the page, so a late one changes nothing, and marks a result while the fields are not those it belongs to.
Text fields start as "", which a user leaves when clearing them: null would be another stamp.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gradio as gr

Handler = Callable[..., tuple[Any, ...]]
UPDATING = "Updating\u2026"
FAILED = "The server could not answer. Try again."

_SHOW = "(answer, ...fields) => answer?.of === JSON.stringify(fields) ? ['', ...answer.shown, answer] : "


def outdated(button: str) -> str:
    """Return the words for a result that is updated by this button."""
    return f"These results are for earlier inputs. Select \u201c{button}\u201d to update them."


def shown(value: str = "") -> gr.HTML:
    """Add an output of HTML."""
    return gr.HTML(value, apply_default_css=False, js_on_load=None, elem_classes="result")


class Area:
    """Outputs that show the answer for the values of these fields; the column around them has the class ``area``.

    While the fields have other values, the outputs are marked as outdated, with these words.
    """

    def __init__(self, fields: Sequence[Any], outputs: Sequence[Any], outdated: str, has_result: bool = False) -> None:
        self.fields, self.outputs = list(fields), list(outputs)
        self.status = gr.HTML(apply_default_css=False, js_on_load=None, elem_classes="status")
        self.arrived = gr.JSON(visible=False)
        answer = gr.JSON({"of": "", "shown": []} if has_result else None, visible=False)
        self.targets = [self.status, *self.outputs, answer]
        changes, inputs = [field.change for field in self.fields], [answer, *self.fields]
        mark = f"answer ? {json.dumps([_status(outdated)])} : []"
        self.changed = gr.on(changes, None, inputs, self.targets, js=_SHOW + mark)

    def run(self, handler: Handler, events: Iterable[Callable[..., Any]], *others: Area, **options: Any) -> None:
        """Answer these events by a handler, which takes the fields and returns a value for each output.

        If it returns values for other areas, too, their fields are the first of this one's.
        """
        areas = [*others, self]
        stamps = [f"JSON.stringify(given.slice({len(areas)}, {len(areas) + len(area.fields)}))" for area in areas]
        stamp = f"(...given) => [{', '.join(stamps)}, ...given.slice({len(areas)})]"
        arrived = [area.arrived for area in areas]
        for event in events:
            run = event(
                _answering(handler, areas),
                [*arrived, *self.fields],
                arrived,
                js=stamp,
                trigger_mode="always_last",  # so that the newest inputs are always asked for
                api_visibility="private",
                postprocess=False,  # gradio adds the addresses of files to a plain answer, not to one made into JSON
                **options,
            )
            for area in areas:
                run.success(None, [area.arrived, *area.fields], area.targets, js=f"{_SHOW}[]")
            failed = json.dumps([_status(FAILED)] * len(areas))
            run.failure(None, None, [area.status for area in areas], js=f"() => {failed}")


def fill(
    handler: Handler, event: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any], **options: Any
) -> None:
    """Put what a handler of these inputs returns into outputs, unless they or the inputs have changed meanwhile."""
    fields, arrived = [*inputs, *outputs], gr.JSON(visible=False)
    stamp = "(...given) => [JSON.stringify(given.slice(1)), ...given.slice(1)]"

    def answer(of: str, *given: Any) -> dict[str, Any]:
        return {"of": of, "shown": list(handler(*given[: len(inputs)]))}

    run = event(
        answer,
        [arrived, *fields],
        arrived,
        js=stamp,
        trigger_mode="once",
        api_visibility="private",
        **options,
    )
    show = "(answer, ...fields) => answer?.of === JSON.stringify(fields) ? answer.shown : []"
    run.success(None, [arrived, *fields], list(outputs), js=show)


def _status(text: str) -> str:
    return f'<p role="status" class="outdated">{text}</p>'


def _answering(handler: Handler, areas: Sequence[Area]) -> Callable[..., Any]:
    """Return a handler of stamps and fields, which returns the answer of each area."""

    def answer(*given: Any) -> Any:
        stamps, values = given[: len(areas)], iter(handler(*given[len(areas) :]))
        answers = [
            {"of": stamp, "shown": [_as_update(output, next(values)) for output in area.outputs]}
            for stamp, area in zip(stamps, areas, strict=True)
        ]
        return answers if len(areas) > 1 else answers[0]

    return answer


def _as_update(output: Any, value: Any) -> Any:
    """Return the value of an output as the browser takes it."""
    if isinstance(output, gr.Dropdown):
        return gr.update(choices=[[choice, choice] for choice in value])
    return gr.update(value=as_sent(output, value), visible=bool(value)) if isinstance(output, gr.File) else value


def as_sent(component: Any, value: Any) -> Any:
    """Return the value of a component as the browser has it, which differs for files."""
    if not isinstance(component, gr.File):
        return value
    files = component.postprocess(value) if value else None
    return files and files.model_dump()
