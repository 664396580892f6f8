"""Warnings to show to the user beside a score: sentences made from counts and the names of the first questions."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from anls_eval.arrow import Floats, as_bools, number_array
from anls_eval.errors import Note, Remedy
from anls_eval.extract.hints import MAY_HAVE_MARKS, steps_in
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.fields.fields import Fields
from anls_eval.inputs.values import is_missing_value
from anls_eval.rules.protocol import Protocol
from anls_eval.text.measure import Scored, padding_gain_of_one
from anls_eval.text.similarity import reaches_threshold
from anls_eval.tree.coverage import rows_without_key, unmatched_fields, unmatched_sentences
from anls_eval.tree.nodes import DICT, KINDS, LIKE_ONE_OF, LIST, NONE, ONE_OF, path_part
from anls_eval.tree.single import is_list_of_options

Noted = tuple[int, str]  # how many questions a warning is about, and the names of the first

_MOST_NAMED = 5
SENTENCES = {  # {about one question|about several}, with their names at ()
    "options": "references {is a list of strings with a string as prediction|are lists of strings with strings as "
    "predictions}(): {it was|they were} read as alternatives, as in ST-VQA data. Write alternatives as a tuple",
    "unparsed": "predictions {is a string|are strings} containing JSON() and {was|were} compared as plain text",
    "unanswered": "predictions {is|are} None or NaN() and {scores|score} 0 as unanswered",
    "unanswered document": "predictions {is|are} None or NaN where the reference is a document() and {counts|count} as "
    "unanswered",
    "alternatives predicted": "predictions {has|have} the key '$one_of'(), which was compared as an ordinary key: only "
    "references have alternatives. Pass the {answer itself|answers themselves}",
    "alternatives misspelt": "references {has|have} a key like '$one_of'(), which was compared as an ordinary key. For "
    "alternatives, write '$one_of'",
}
_READ_JSON = [Remedy("extract", "json", "read it")]
_ONE_OF, _LITERAL = frozenset({"$one_of"}), frozenset({"$literal"})


def noted(count: int, names: Sequence[str], kind: str = "question_id") -> Noted:
    """Name the first of some questions."""
    return count, f"{kind} {', '.join(names[:_MOST_NAMED])}{', ...' if count > _MOST_NAMED else ''}"


def named_row(name: str, path: str) -> str:
    """Return the name of a row, with a path in its tree if there is one."""
    return f"{name} at {path}" if path else name


def noted_rows(rows: Mapping[int, str], question_ids: Sequence[str] | None) -> Noted:
    """Name the first of some rows, with their paths, by their question_ids or else by their numbers."""
    name = str if question_ids is None else lambda row: repr(question_ids[row])
    names = [named_row(name(row), path) for row, path in islice(rows.items(), _MOST_NAMED)]
    return noted(len(rows), names, "row" if question_ids is None else "question_id")


def sentences(n: int, found: Mapping[str, Noted]) -> list[str]:
    """Return the warnings about n questions."""
    notes = []
    for what in SENTENCES:
        count, names = found.get(what, (0, ""))
        if count:
            is_named = n > 1 or what.startswith("alternatives")  # whose names say where in the tree
            chosen = _sentence_about(what, count == 1)
            note = f"{count} of {n} {chosen.replace('()', f' ({names})' if is_named else '')}"
            notes.append(Note(note, _READ_JSON) if what == "unparsed" else note)
    return notes


@functools.cache
def _sentence_about(what: str, is_one: bool) -> str:
    """Return a sentence about one question, or about several."""
    return re.sub(r"{(.*?)\|(.*?)}", r"\1" if is_one else r"\2", SENTENCES[what])


_PRINTED_VALUES = {"predictions": "predictions", "references": "answers"}


def printed_sentences(
    name: str, n: int, *, taken: int = 0, left: int = 0, unread: int = 0, shown: str = ""
) -> list[str]:
    """Return the notes on n values of a side or a column, some of which are texts that print lists or dicts."""
    what = _PRINTED_VALUES.get(name, f"values of {name}")
    notes: list[str] = []
    if taken:
        are = "is a printed list or dict and was" if taken == 1 else "are printed lists or dicts and were"
        apart = f"{taken:,} of {n:,} {what} {are} taken apart"
        notes.append(Note(apart, [Remedy("parse", "none", "compare texts as they are")]))
    if left:
        are = "is a printed list or dict and was" if left == 1 else "are printed lists or dicts and were"
        as_text = f"{left:,} of {n:,} {what} {are} compared as text, such as {shown}"
        asked = "answers" if name == "references" else name
        notes.append(Note(as_text, [Remedy("parse", asked, "take them apart one by one")]))
    if unread:
        begin = "begins" if unread == 1 else "begin"
        such = "" if left else f", such as {shown}"
        notes.append(f"{unread:,} of {n:,} {what} {begin} like a printed list or dict but cannot be read as one{such}")
    return notes


def text_notes(scored: Scored, rules: Protocol, question_ids: Sequence[str] | None = None) -> list[str]:
    """Return the warnings about questions on texts."""
    n, gains = len(scored.scores), scored.padding_gains
    mean = math.fsum(scored.scores.tolist()) / n if gains else 0.0
    unanswered = noted_rows(dict.fromkeys(scored.unanswered, ""), question_ids)
    return text_sentences(n, unanswered, len(gains), mean, math.fsum(gains), rules)


def text_notes_of_one(text: str | None, options: list[str], score: float, rules: Protocol) -> list[str]:
    """Return the warnings about a single question on texts."""
    gains = padding_gain_of_one(text, options, score, rules)
    if text is not None and not gains and reaches_threshold(0, 1, rules):  # the usual case
        return []
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


def marked_rows(texts: Any, scores: Floats) -> tuple[int, dict[int, tuple[str, ...]]]:
    """Return the number of predictions that score 0, and the steps that would change them, by row."""
    zeros = np.flatnonzero(scores == 0)
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        import pyarrow.compute as pc

        given = texts.take(number_array(zeros))
        is_marked = as_bools(pc.match_substring_regex(given, MAY_HAVE_MARKS))
        n, zeros = len(given) - given.null_count, zeros[is_marked]
        found = dict(zip(zeros.tolist(), given.filter(number_array(is_marked)).to_pylist(), strict=True))
    else:
        found = {row: texts[row] for row in zeros.tolist() if isinstance(texts[row], str)}
        n = len(found)
    steps_of = {text: steps_in(text) for text in set(found.values())}
    return n, {row: steps_of[text] for row, text in found.items() if steps_of[text]}


def padding_sentence(protocol: str, n: int, padded: int, mean: float, gain: float) -> str:
    """Return the warning that whitespace raised the sum of n scores by this gain."""
    return (
        f"protocol {protocol!r} divides by raw lengths, and extra whitespace raised the score of {padded} of {n} "
        f"questions: the mean is {mean:.6f} with it and {mean - gain / n:.6f} without. Strip it"
    )


def tree_notes(
    predictions: Sequence[Any],
    references: Sequence[Any],
    rules: Protocol,
    question_ids: Sequence[str] | None = None,
    searched: Iterable[int] | None = None,
    fields: Fields | None = None,
) -> list[str]:
    """Return the warnings about pairs of trees that have been scored, of which these were `searched`; default all."""
    found = tree_rows_to_note(predictions, references, rules, searched)
    if not found and not fields:
        return []
    named = {what: noted_rows(rows, question_ids) for what, rows in found.items()}
    notes = sentences(len(predictions), named) if named else []
    return notes + (field_notes(references, rules, fields, question_ids) if fields else [])


def field_notes(
    references: Sequence[Any], rules: Protocol, fields: Fields, question_ids: Sequence[str] | None = None
) -> list[str]:
    """Return the warnings about fields that the references do not have."""
    paths = () if fields.from_schema else fields  # a schema may name more than the documents have
    notes = unmatched_sentences(unmatched_fields(references, fields, rules, paths))
    for path, rows in rows_without_key(references, fields, rules).items():
        found = noted_rows(dict.fromkeys(rows, ""), question_ids)
        notes.append(without_key_sentence(len(references), found, path, fields))
    return notes


def without_key_sentence(n: int, found: Noted, path: str, fields: Fields) -> str:
    """Return the warning that some of n references have elements of a list without its key."""
    count, names = found
    where = f" ({names})" if n > 1 else ""
    have = f"{count} of {n} references{where} {'has' if count == 1 else 'have'}"
    key = ", ".join(fields[path].named()["key"])
    return f"{have} elements of {path} without the key {key}: they match only elements that lack it, too"


def tree_rows_to_note(
    predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, searched: Iterable[int] | None = None
) -> dict[str, dict[int, str]]:
    """Return the rows of pairs of trees by what there is to warn about, with the path to it where that helps."""
    found: dict[str, dict[int, str]] = {}
    for row in range(len(predictions)) if searched is None else searched:
        mistake, path = _alternatives_without_effect(predictions[row], references[row])
        if path:
            found.setdefault(mistake, {})[row] = path
    for row, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
        if isinstance(prediction, (dict, list)) or type(prediction) is type(reference) is str:
            continue
        if is_missing_value(prediction):
            what = "unanswered document" if _is_document(reference) else None
        elif is_list_of_options(prediction, reference, rules):
            what = "options"
        else:
            is_document = isinstance(reference, (dict, list, tuple)) and isinstance(prediction, str)
            what = "unparsed" if is_document and json_in_text(prediction) is not None else None
        if what:
            found.setdefault(what, {})[row] = ""
    return found


def _alternatives_without_effect(prediction: Any, reference: Any) -> tuple[str, str]:
    """Return what is wrong with keys that mean alternatives, and the path to the first such key; empty if nothing."""
    predicted, misspelt = _has_key(prediction, _ONE_OF), _has_key(reference, LIKE_ONE_OF)
    if not (predicted or misspelt) or _has_key(reference, _LITERAL):  # which says that such a key is meant
        return "", ""
    if predicted:
        return "alternatives predicted", _path_to(prediction, _ONE_OF)
    path = _path_to(reference, LIKE_ONE_OF)
    return "alternatives misspelt", "" if path == _path_to(prediction, LIKE_ONE_OF) else path


def _has_key(tree: Any, keys: frozenset[str]) -> bool:
    """Return whether a dict in a tree has one of these keys."""
    found = [tree]
    for value in found:
        kind = type(value)
        if kind is str:  # the usual case first, for speed
            continue
        if kind is dict:
            if not keys.isdisjoint(value):
                return True
            found += value.values()
        elif kind is list or kind is tuple:
            found += value
    return False


def _path_to(tree: Any, keys: frozenset[str]) -> str:
    """Return the JSON path to the first of these keys in a tree; empty if there is none."""
    found = [("$", tree)]
    for path, value in found:
        kind = KINDS.get(type(value), NONE)
        items = value.items() if kind == DICT else enumerate(value) if kind in (LIST, ONE_OF) else ()
        for key, child in items:
            part = path + path_part(key if kind != DICT else str(key), kind)
            if key in keys:
                return part
            found.append((part, child))
    return ""


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
