"""Which fields the references have: paths that match nothing, and elements without their key."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from anls_eval.fields.fields import Fields
from anls_eval.fields.paths import AnyStep, FieldPath, nearest_path, parse_path, path_text
from anls_eval.fields.rules import FieldRules
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.nodes import is_literal_dict, key_text

_SEARCHED = 1_000  # references in which the nearest path is looked for


class Unmatched(NamedTuple):
    """Fields that match nothing in some references."""

    fields: list[str]  # their paths
    seen: list[str]  # paths of the first references, of which the nearest is named


def unmatched_fields(references: Sequence[Any], fields: Fields, rules: Protocol, paths: Iterable[str]) -> Unmatched:
    """Return which of some fields match nothing in any of the references."""
    missing = {id(_rules_along(parse_path(path), fields, rules)[-1]): path for path in paths}
    for reference in references if missing else ():
        for _, rule in _places(reference, fields.rules(rules)):
            missing.pop(id(rule), None)
            if not missing:
                return Unmatched([], [])
    seen: set[FieldPath] = set()
    for reference in references[:_SEARCHED] if missing else ():
        seen.update(path for path, _ in _places(reference, fields.rules(rules)))
    return Unmatched(list(missing.values()), sorted(map(path_text, seen)))


def unmatched_sentences(unmatched: Unmatched) -> list[str]:
    """Return a warning for each field that matches nothing in any reference, with the nearest path there."""
    return [
        f"the field {path} matches nothing in any reference"
        + (f"; the nearest path there is {nearest_path(path, unmatched.seen)}" if unmatched.seen else "")
        for path in unmatched.fields
    ]


def rows_without_key(references: Sequence[Any], fields: Fields, rules: Protocol) -> dict[str, list[int]]:
    """Return, for each list with a key, the rows of references with an element that lacks it."""
    found: dict[str, list[int]] = {}
    for path in map(parse_path, fields):
        along = _rules_along(path, fields, rules)
        names = along[-1].key
        for row, reference in enumerate(references if names else ()):
            lists = [value for value in _values_at(reference, along) if isinstance(value, list)]
            if any(not _is_keyed(element, names) for value in lists for element in value):
                found.setdefault(path_text(path), []).append(row)
    return found


def _rules_along(path: FieldPath, fields: Fields, rules: Protocol) -> list[FieldRules]:
    """Return the rules from the root to a path."""
    along = [fields.rules(rules)]
    for step in path:
        if step is AnyStep.KEY:
            along.append(along[-1].other_keys)
        else:
            along.append(along[-1].elements if step is AnyStep.ELEMENT else along[-1].keys[str(step)])
    return along


def _places(tree: Any, root: FieldRules) -> Iterator[tuple[FieldPath, FieldRules]]:
    """Yield the path and rules of every place of a tree."""
    open_values: list[tuple[Any, FieldPath, FieldRules]] = [(tree, (), root)]
    while open_values:
        value, path, rule = open_values.pop()
        yield path, rule
        for plain in _accepted_values(value):
            if isinstance(plain, dict):
                keys = [(key_text(key), child) for key, child in plain.items()]
                open_values += [(child, (*path, key), rule.child(key)) for key, child in keys]
            elif isinstance(plain, list):
                open_values += [(child, (*path, AnyStep.ELEMENT), rule.element()) for child in plain]


def _values_at(tree: Any, along: list[FieldRules]) -> list[Any]:
    """Return the values of a tree at a path, which the rules along it stand for."""
    values = _accepted_values(tree)
    for above, rule in itertools.pairwise(along):
        below: list[Any] = []
        for value in values:
            if isinstance(value, dict):
                below += [child for key, child in value.items() if above.child(key_text(key)) is rule]
            elif isinstance(value, list) and above.element() is rule:
                below += value
        values = [plain for value in below for plain in _accepted_values(value)]
    return values


def _accepted_values(value: Any) -> list[Any]:
    """Return the alternatives of a reference, or the one that it is."""
    found, plain = [value], []
    for own in found:  # grows while it is read
        if isinstance(own, dict) and isinstance(own.get("$one_of"), (list, tuple)):
            found += own["$one_of"]
        elif isinstance(own, tuple) and not hasattr(own, "_asdict"):
            found += own
        else:
            plain.append(own["$literal"] if is_literal_dict(own) else own)
    return plain


def _is_keyed(element: Any, names: tuple[str, ...]) -> bool:
    """Return whether an element, or one of its alternatives, has all key fields."""
    return any(isinstance(own, dict) and all(name in own for name in names) for own in _accepted_values(element))
