"""Field rules to start from, by what the leaves of a reference look like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from anls_eval.app.child import Progress
from anls_eval.app.trees import REFERENCE, read_tree
from anls_eval.fields.comparators import DateComparator
from anls_eval.fields.field import FIELD_DEFAULTS
from anls_eval.fields.fields import fields_in
from anls_eval.fields.load import read_fields_file
from anls_eval.fields.numbers import parse_number_text
from anls_eval.fields.paths import AnyStep, Step, path_text

_Path = tuple[Step, ...]
_IDENTIFIER = re.compile(r"(?=\S*\d)[A-Za-z0-9][\w./-]{3,}")
_DATES = DateComparator(FIELD_DEFAULTS["day_first"], FIELD_DEFAULTS["formats"])


def infer_fields(reference: Any) -> dict[str, dict[str, str]]:
    """Return options by path for the fields of a reference that look like numbers, dates, booleans or identifiers."""
    kinds: dict[_Path, set[str]] = {}
    for path, value in _leaves(reference, ()):
        if value is not None and value != "":
            kinds.setdefault(path, set()).add(_kind(value))
    alike = {path_text(path): kind for path, found in kinds.items() if len(found) == 1 for kind in found}
    return {path: {"compare": kind} for path, kind in alike.items() if kind != "text"}


def infer_rules(reference: str, report_progress: Progress) -> str:
    """Return the rules of `infer_fields` for a reference as JSON text, with a line for each path."""
    rules = infer_fields(read_tree(reference, REFERENCE).tree)
    if not rules:
        raise ValueError("the reference has no value that looks like a number, a date, a boolean or an identifier")
    fields_in(rules, REFERENCE)  # an error names a key that cannot be in a path
    lines = [f"  {json.dumps(path, ensure_ascii=False)}: {json.dumps(own)}" for path, own in rules.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def rules_in_file(path: str, report_progress: Progress) -> str:
    """Return the field rules, or the schema, in a file as JSON text."""
    content = read_fields_file(path)
    fields_in(content, "the file")
    return json.dumps(content, ensure_ascii=False, indent=2)


def _leaves(value: Any, path: _Path) -> Iterator[tuple[_Path, Any]]:
    """Yield the leaves of a reference, of all its alternatives."""
    if isinstance(value, dict) and value.keys() == {"$one_of"}:
        value = tuple(value["$one_of"])
    if isinstance(value, tuple):
        for option in value:
            yield from _leaves(option, path)
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(child, (*path, str(key)))
    elif isinstance(value, list):
        for child in value:
            yield from _leaves(child, (*path, AnyStep.ELEMENT))
    else:
        yield path, value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    text = str(value).strip()
    if re.search(r"\d", text) and not text.isdigit() and _DATES.parse(text, "reference") is not None:
        return "date"
    if text.isdigit() and (len(text) > 6 or (len(text) > 1 and text.startswith("0"))):
        return "exact"  # a code, such as 01067
    if parse_number_text(text) is not None:
        return "number"
    return "exact" if _IDENTIFIER.fullmatch(text) else "text"
