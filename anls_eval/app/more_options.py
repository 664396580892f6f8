"""The controls under "More options" of the tabs that take files, and the options that their values are."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from anls_eval.app.options import Options, names_in, options_in, roles_in
from anls_eval.app.protocols import Rules, example_options, option_names
from anls_eval.app.words import IGNORE, LABELS, ZERO
from anls_eval.files.columns import ROLES

EXTRACT_INFO = "Steps that take the answer out of a longer text first. Empty: the protocol's."


class HowToRead:
    """The controls that say how files are read."""

    def __init__(self) -> None:
        self.columns = gr.Textbox(
            "",
            label=LABELS["columns"],
            info=f"Which column is what, as role=name with commas between them. Roles: {', '.join(ROLES)}.",
            placeholder="predictions.question_id=qid, answers=gold",
            max_length=2_000,
        )
        with gr.Row():
            self.encoding = gr.Textbox(
                "", label=LABELS["encoding"], info="Of text that is not UTF-8.", placeholder="cp1252", max_length=40
            )
            self.separator = gr.Textbox(
                "",
                label=LABELS["separator"],
                info="Between the cells of a table of text. Empty: found in its header.",
                placeholder=";",
                max_length=5,
            )
            self.filter = gr.Textbox(
                "", label=LABELS["filter"], info="Of an lm-eval log that has several.", max_length=200
            )
        self.controls: list[Any] = [self.columns, self.encoding, self.separator, self.filter]


def options_js(offered: Mapping[str, Rules]) -> str:
    """Return what the browser does when another protocol is chosen: options to start from, where some are needed.

    Nothing here asks the server, whose answer could come after another choice of the user.
    """
    known = {name: [list(option_names(rules)), example_options(rules)] for name, rules in offered.items()}
    return f"""(protocol, given) => {{
        const [names, example] = ({json.dumps(known)})[protocol] ?? [[], ""];
        let keys = [];
        try {{ keys = Object.keys(JSON.parse(given || "{{}}")); }} catch {{ keys = names; }}
        const value = keys.length && keys.every((key) => names.includes(key)) ? given : example;
        return [{{ __type__: "update", value, visible: names.length > 0 }}];
    }}"""


def how_to_read(columns: str | None, encoding: str | None, separator: str | None, filter_name: str | None) -> Options:
    """Return options from the values of `HowToRead.controls`."""
    tab = (separator or "").strip() in ("\\t", "tab")
    return Options(
        columns=roles_in(columns),
        encoding=(encoding or "").strip() or None,
        separator="\t" if tab else (separator or "").strip(" ") or None,
        filter=(filter_name or "").strip() or None,
    )


class MoreOptions:
    """The controls that say how files are scored, and those of `HowToRead`."""

    def __init__(self) -> None:
        with gr.Row():
            # Not gr.Number: without a value the browser would show 0 and send it.
            threshold = gr.Textbox(
                "", label=LABELS["threshold"], info="From 0 to 1. Empty: the protocol's.", max_length=20
            )
            extract = gr.Textbox(
                "", label=LABELS["extract"], info=EXTRACT_INFO, placeholder="think,answer_tag", max_length=200
            )
            parse = gr.Textbox(
                "",
                label=LABELS["parse"],
                info="Whose texts to take apart where they print a list or a dict: predictions, answers, columns to "
                "break down by; or none. Empty: cells of tables, and columns in which all can be.",
                max_length=500,
            )
        zero = gr.Checkbox(label=ZERO)
        ignore = gr.Checkbox(label=IGNORE)
        self.reading = HowToRead().controls
        fields = gr.File(label="Field rules for documents, or a JSON Schema (JSON or YAML)", height=140)
        options = options_box(
            'Of each question, the column that has it: {"year": "Year"}; a column of the same name is found.'
        )
        self.controls: list[Any] = [threshold, extract, parse, zero, ignore, *self.reading, fields, options]


def options_box(info: str, *, visible: bool = True) -> gr.Textbox:
    """Add the control of the options of a benchmark."""
    return gr.Textbox(
        "",
        label=LABELS["options"],
        info=f"What a benchmark knows beside the answers, as JSON. {info}",
        placeholder='{"appearance": {"date": "unrepeated"}}',
        lines=1,
        max_lines=8,
        max_length=20_000,
        visible=visible,
    )


def more_options(
    protocol: str,
    by: Sequence[str] | None,
    threshold: str | None,
    extract: str | None,
    parse: str | None,
    missing_is_zero: bool,
    ignore_unknown: bool,
    *others: str | None,
) -> Options:
    """Return options from a protocol, columns to break down by, and the values of `MoreOptions.controls`."""
    *reading, fields, options = others
    return dataclasses.replace(
        how_to_read(*reading),
        protocol=protocol,
        by=tuple(by or ()),
        threshold=(threshold or "").strip() or None,
        extract=(extract or "").strip() or None,
        parse=names_in(parse),
        missing="zero" if missing_is_zero else "error",
        unknown="ignore" if ignore_unknown else "error",
        fields=fields,
        options=options_in(options),
    )
