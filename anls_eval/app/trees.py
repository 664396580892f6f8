"""Documents as people paste them: JSON, Python and printed values, and JSON inside the output of a model."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, NamedTuple

from anls_eval.app.limits import MAX_JSON_CHARACTERS, SUGGEST_COMMAND_LINE, check_tree
from anls_eval.errors import Note, Remedy
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.files import FormatError
from anls_eval.files.json_text import parse
from anls_eval.structure import structure_in


class ReadTree(NamedTuple):
    """A tree, with the notes on how it was read."""

    tree: Any
    notes: tuple[str, ...] = ()
    is_taken_out: bool = False  # of a text around it


def read_tree(text: Any, name: str, take_out: bool = True) -> ReadTree:
    """Read a tree from a text, or take a tree as it is; unless `take_out` is false, JSON may have text around it."""
    if not isinstance(text, str):
        check_tree(text, name)
        return ReadTree(text)
    if not text.strip():
        raise ValueError(f"{name} is empty; expected JSON, or null for nothing")
    if len(text) > MAX_JSON_CHARACTERS:
        found = f"{name} has {len(text):,} characters; expected at most {MAX_JSON_CHARACTERS:,} here"
        raise ValueError(f"{found}. {SUGGEST_COMMAND_LINE}")
    read = _read(text, name, take_out)
    check_tree(read.tree, name)
    return read


def _read(text: str, name: str, take_out: bool) -> ReadTree:
    """Read JSON, else a Python literal, in which a tuple holds alternatives, else what NumPy or pandas print."""
    try:
        tolerated: dict[str, None] = {}
        return ReadTree(parse(text, name, notes=tolerated), tuple(f"{name}: {note}" for note in tolerated))
    except FormatError as error:
        refused = error
    if re.match(r"line \d+, column \d+", refused.place) is None:  # it is JSON, but repeats a key or nests too deeply
        raise refused
    try:
        return ReadTree(ast.literal_eval(text.strip()), (f"{name} was read as a Python literal, not as JSON",))
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        python_error = error
    printed = structure_in(text)
    if printed is not None:
        return ReadTree(printed, (f"{name} was read as Python, NumPy or pandas print it",))
    if take_out and text.strip()[0] not in "{[":  # what begins so was meant to be JSON throughout
        found = json_in_text(text)
        if found is not None:
            said = f"{name} has text around its JSON, which was left out"
            is_prediction = name == PREDICTION
            remedies = [Remedy("extract", "none", "refuse such text")] if is_prediction else []
            return ReadTree(found, (Note(said, remedies),), is_prediction)
    raise _syntax_error(text, name, refused, python_error)


PREDICTION, REFERENCE = "the prediction", "the reference"


def _syntax_error(text: str, name: str, json_error: FormatError, python_error: BaseException) -> FormatError:
    """Return the error of JSON, unless Python gets further in the text."""
    place = re.match(r"line (\d+), column (\d+)", json_error.place)
    if isinstance(python_error, SyntaxError) and place is not None and "'" in text:
        at = python_error.lineno or 0, python_error.offset or 0
        if at > (int(place[1]), int(place[2])):
            where = f"line {at[0]}, column {at[1]}"
            return FormatError(name, f"not a Python literal: {python_error.msg}. Fix it there.", where)
    return json_error


def has_alternatives(tree: Any) -> bool:
    """Return whether a reference has alternatives anywhere."""
    level = [tree]
    for value in level:
        if isinstance(value, tuple) or (isinstance(value, dict) and "$one_of" in value):
            return True
        level += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return False


def as_json_text(tree: Any) -> str:
    """Return a tree as JSON for an editor."""
    return json.dumps(tree, ensure_ascii=False, indent=2)
