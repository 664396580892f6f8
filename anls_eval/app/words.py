"""Errors and notes in the words of the page, whose controls are labelled as the options are called."""

from __future__ import annotations

import json
from collections.abc import Mapping

from anls_eval.errors import AnlsError, Note

ZERO = "Score questions without a prediction 0"
IGNORE = "Ignore predictions without a question"
LABELS = {
    "protocol": "Protocol",
    "threshold": "Threshold",
    "answer_type": "Answer type",
    "options": "Options",
    "extract": "Extract",
    "parse": "Parse",
    "columns": "Columns",
    "encoding": "Encoding",
    "separator": "Separator",
    "filter": "Filter",
    "confidence": "Column of confidences",
    "max_drop": "Allowed drop",
    "dataset_id": "Dataset on the Hub",
}
"""The label of the control of each option that takes a value."""

SWITCHES = {"missing": ZERO, "unknown": IGNORE}
"""The label of the checkbox of each option that the page can only switch on."""


def page_words(option: str, value: object) -> str | None:
    """Return an option and its value as the page shows them; None if it has no control for it."""
    if option in SWITCHES:
        return f"\u201c{SWITCHES[option]}\u201d"
    if option not in LABELS:
        return None
    if option == "options":
        value = json.dumps(value) if isinstance(value, Mapping) else value
    shown = ", ".join(f"{role}={name}" for role, name in value.items()) if isinstance(value, Mapping) else value
    return f"{LABELS[option]} \u201c{shown}\u201d"


def in_page_words(message: Exception | str) -> str:
    """Return the message of an error or a note in the words of the page."""
    return message.told(page_words, verb="use") if isinstance(message, (AnlsError, Note)) else str(message)
