"""Warnings to show to the user beside a score: sentences made from counts and the names of the first questions."""

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

Noted = tuple[int, str]  # how many questions a warning is about, and the names of the first

_NAMED = 5
SENTENCES = {  # each about one question, and about several
    "options": (
        "references is a list of strings with a string as prediction{}: it was read as alternatives, as in ST-VQA "
        "data. Write alternatives as a tuple",
        "references are lists of strings with strings as predictions{}: they were read as alternatives, as in ST-VQA "
        "data. Write alternatives as a tuple",
    ),
    "unparsed": (
        "predictions is a string containing JSON{} and was compared as plain text. Parse it with json.loads first",
        "predictions are strings containing JSON{} and were compared as plain text. Parse them with json.loads first",
    ),
    "unanswered": (
        "predictions is None or NaN{} and scores 0 as unanswered",
        "predictions are None or NaN{} and score 0 as unanswered",
    ),
    "unanswered document": (
        "predictions is None or NaN where the reference is a document{} and counts as unanswered",
        "predictions are None or NaN where the reference is a document{} and count as unanswered",
    ),
}


def noted(count: int, names: Sequence[str], kind: str = "question_id") -> Noted:
    """Name the first of some questions."""
    return count, f"{kind} {', '.join(names[:_NAMED])}{', ...' if count > _NAMED else ''}"


def noted_rows(rows: Sequence[int], question_ids: Sequence[str] | None) -> Noted:
    """Name the first of some rows by their question_ids, or by their numbers if there are none."""
    if question_ids is None:
        return noted(len(rows), list(map(str, rows[:_NAMED])), "row")
    return noted(len(rows), [repr(question_ids[row]) for row in rows[:_NAMED]])


def sentences(n: int, found: Mapping[str, Noted]) -> list[str]:
    """Return the warnings about n questions."""
    notes = []
    for what, (one, several) in SENTENCES.items():
        count, names = found.get(what, (0, ""))
        if count:
            sentence = one if count == 1 else several
            notes.append(f"{count} of {n} {sentence.format(f' ({names})' if n > 1 else '')}")
    return notes


def text_notes(scored: Scored, rules: Protocol, question_ids: Sequence[str] | None = None) -> list[str]:
    """Return the warnings about questions on texts."""
    n, gains = len(scored.scores), scored.padding_gains
    mean = math.fsum(scored.scores.tolist()) / n if gains else 0.0
    unanswered = noted_rows(scored.unanswered, question_ids) if scored.unanswered else (0, "")
    return text_sentences(n, unanswered, len(gains), mean, math.fsum(gains), rules)


def text_notes_of_one(text: str | None, options: list[str], score: float, rules: Protocol) -> list[str]:
    """Return the warnings about a single question on texts."""
    gains = padding_gain_of_one(text, options, score, rules)
    return text_notes(Scored(np.array([score]), [0] if text is None else [], gains, [], None), rules)


def text_sentences(n: int, unanswered: Noted, padded: int, mean: float, gain: float, rules: Protocol) -> list[str]:
    """Return the warnings about n questions on texts, of which whitespace raised some, and their sum by this gain."""
    notes = sentences(n, {"unanswered": unanswered}) if unanswered[0] else []
    if not reaches_threshold(0, 1, rules):
        notes.append(
            f"protocol {rules.name!r} keeps only similarities above the threshold {rules.threshold}, which none can "
            "exceed: every score is 0"
        )
    if padded:
        notes.append(f"{padding_sentence(rules.name, n, padded, mean, gain)}, or use the protocol 'standard'")
    return notes


def padding_sentence(protocol: str, n: int, padded: int, mean: float, gain: float) -> str:
    """Return the warning that whitespace raised the sum of n scores by this gain."""
    return (
        f"protocol {protocol!r} divides by raw lengths, and extra whitespace raised the score of {padded} of {n} "
        f"questions: the mean is {mean:.6f} with it and {mean - gain / n:.6f} without. Strip it"
    )


def tree_notes(
    predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, question_ids: Sequence[str] | None = None
) -> list[str]:
    """Return the warnings about pairs of trees."""
    found = tree_rows_to_note(predictions, references, rules)
    return sentences(len(predictions), {what: noted_rows(rows, question_ids) for what, rows in found.items()})


def tree_rows_to_note(predictions: Sequence[Any], references: Sequence[Any], rules: Protocol) -> dict[str, list[int]]:
    """Return the rows of pairs of trees by what there is to warn about."""
    found: dict[str, list[int]] = {}
    for row, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
        if isinstance(prediction, (dict, list)):
            continue
        if is_missing_value(prediction):
            what = "unanswered document" if _is_document(reference) else None
        elif is_list_of_options(prediction, reference, rules):
            what = "options"
        else:
            is_json = isinstance(prediction, str) and prediction.lstrip().startswith(("{", "[", "```"))
            what = "unparsed" if is_json and isinstance(reference, (dict, list, tuple)) else None
        if what:
            found.setdefault(what, []).append(row)
    return found


def _is_document(reference: Any) -> bool:
    """Return whether a reference, or each of its alternatives, is a dict or list that is not empty."""
    found = [reference]
    seen = set()  # alternatives can be nested deeply, and share what they contain
    for value in found:
        options = value.get("$one_of") if isinstance(value, dict) else value
        if isinstance(options, tuple) or (options is not value and isinstance(options, list)):
            found += () if id(options) in seen else options
            seen.add(id(options))
        elif not (isinstance(value, (dict, list)) and value):
            return False
    return True
