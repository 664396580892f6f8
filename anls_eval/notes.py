"""Warnings to show to the user beside a score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anls_eval.inputs.values import is_missing_value
from anls_eval.rules.protocol import Protocol
from anls_eval.text.measure import Scored, padding_gain_of_one
from anls_eval.text.similarity import reaches_threshold
from anls_eval.tree.documents import is_list_of_options


def text_notes(scored: Scored, rules: Protocol, names: Sequence[str] | None = None) -> list[str]:
    """What the user must be told about a score: unanswered questions, and padding that raised it."""
    n = len(scored.scores)
    first = [str(row) if names is None else repr(names[row]) for row in scored.unanswered[:5]]
    kind = "row" if names is None else "question_id"
    gains = scored.padding_gains
    mean = math.fsum(scored.scores.tolist()) / n if gains else 0.0
    shown = f"{kind} {', '.join(first)}"
    return text_notes_on(n, mean, len(scored.unanswered), shown, len(gains), math.fsum(gains), rules)


def text_notes_on(
    n: int, mean: float, unanswered: int, first: str, padded: int, padding_gain: float, rules: Protocol
) -> list[str]:
    """The same from counts; `first` names the first five questions that were not answered."""
    notes = []
    if not reaches_threshold(0, 1, rules):
        notes.append(
            f"protocol {rules.name!r} keeps only a similarity above the threshold {rules.threshold}, "
            "and there is none: every score is 0"
        )
    if unanswered:
        more = ", ..." if unanswered > 5 else ""
        notes.append(
            f"{unanswered} of {n} predictions are None or NaN ({first}{more}): taken as no answer given, which scores 0"
        )
    if padded:
        notes.append(
            f"protocol {rules.name!r} divides by raw lengths, and surplus blanks raised the score of "
            f"{padded} of {n} questions: the mean is {mean:.6f} with them and "
            f"{mean - padding_gain / n:.6f} without. Take them out, or use the protocol 'standard'"
        )
    return notes


def text_notes_of_one(text: str | None, options: list[str], score: float, rules: Protocol) -> list[str]:
    """Return the warnings about a single score."""
    gains = padding_gain_of_one(text, options, score, rules)
    scored = Scored(np.array([score]), [0] if text is None else [], gains, [], None)
    return text_notes(scored, rules)


TREE_NOTES = {
    "options": "references are a list of strings for a text: taken as alternatives, as in ST-VQA data. Write "
    "alternatives as a tuple",
    "unparsed": "predictions are a text that looks like JSON, compared as a text: parse it with json.loads first",
    "unanswered": "predictions are None or NaN where the reference is a document: taken as no answer given",
}


def tree_notes(
    predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, names: Sequence[str] | None = None
) -> list[str]:
    """What the user must be told: lists taken as alternatives, and predictions that were not parsed or not given."""
    noted = tree_rows_to_note(predictions, references, rules)
    kind = "row" if names is None else "question_id"
    first = {
        what: f"{kind} {', '.join(str(row) if names is None else repr(names[row]) for row in rows[:5])}"
        for what, rows in noted.items()
    }
    return tree_notes_on(len(predictions), {what: (len(rows), first[what]) for what, rows in noted.items()})


def tree_rows_to_note(predictions: Sequence[Any], references: Sequence[Any], rules: Protocol) -> dict[str, list[int]]:
    """The rows of each of `TREE_NOTES`."""
    noted: dict[str, list[int]] = {what: [] for what in TREE_NOTES}
    for row, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
        if isinstance(prediction, (dict, list)):
            continue
        if is_missing_value(prediction):
            what = "unanswered" if _is_document(reference) else None
        elif is_list_of_options(prediction, reference, rules):
            what = "options"
        else:
            is_json = isinstance(prediction, str) and prediction.lstrip().startswith(("{", "[", "```"))
            what = "unparsed" if is_json and isinstance(reference, (dict, list, tuple)) else None
        if what:
            noted[what].append(row)
    return noted


def _is_document(reference: Any) -> bool:
    """Whether a reference is a dict or list with something in it, as all alternatives are."""
    found = [reference]
    seen = set()  # alternatives can be nested deeply, and share what they hold
    for own in found:
        options = own.get("$one_of") if isinstance(own, dict) else own
        if isinstance(options, tuple) or (options is not own and isinstance(options, list)):
            found += () if id(options) in seen else options
            seen.add(id(options))
        elif not (isinstance(own, (dict, list)) and own):
            return False
    return True


def tree_notes_on(n: int, noted: Mapping[str, tuple[int, str]]) -> list[str]:
    """The same from counts, each with the names of the first five."""
    return [
        f"{count} of {n} {TREE_NOTES[what]}" + (f" ({first}{', ...' if count > 5 else ''})" if n > 1 else "")
        for what, (count, first) in noted.items()
        if count
    ]
