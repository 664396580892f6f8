"""KIEval: F1 of entities and groups, and how many corrections a document needs."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.assignment import assign_rows
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, sum_counts
from anls_eval.leaderboards.document import Document, read_documents
from anls_eval.leaderboards.question import Question

_EMPTY = "<empty>"
_JOINT = "||"
_DOCUMENT_FORM = 'a document of the form {"groups": {"0": [{key: text}]}, "entities": {key: [text]}}'

_Item = dict[str, str]

_NOTHING: Counts = {"equal": 0, "predicted": 0, "wanted": 0, "edits": 0}


def _split(values: Iterable[str]) -> list[str]:
    """Return the parts of joined values, without empty ones."""
    return [part for value in values for part in value.split(_JOINT) if part != _EMPTY]


def _value_counts(own: Sequence[str], wanted: Sequence[str]) -> Counts:
    """Return equal and other values of one key; what is wrong on both sides takes one correction, not two."""
    if len(own) == len(wanted) == 1:  # the usual case first, for speed
        equal = int(own[0] == wanted[0])
    else:
        equal = (collections.Counter(own) & collections.Counter(wanted)).total()
    return {"equal": equal, "predicted": len(own), "wanted": len(wanted), "edits": max(len(own), len(wanted)) - equal}


def _entity_counts(own: dict[str, list[str]], wanted: dict[str, list[str]]) -> tuple[dict[str, Counts], bool]:
    """Return the counts of the entities outside groups by the part that they add to, and whether every key is right."""
    parts: dict[str, list[Counts]] = {"entities": [], "groups": [], "items": []}
    for key in own.keys() | wanted.keys():
        given = own.get(key, [])
        # Only under a key of the reference are joined values split.
        counts = _value_counts(_split(given), _split(wanted[key])) if key in wanted else _value_counts(given, [])
        parts[_part_of(key)].append(counts)
    are_right = all(counts["equal"] and _is_right(counts) for own_parts in parts.values() for counts in own_parts)
    return {part: sum_counts(own_parts) for part, own_parts in parts.items()}, are_right


def _part_of(key: str) -> str:
    """Return what an entity is counted with; the original tells groups apart by the end of their names."""
    return "groups" if key.endswith(".group") else "items" if key.endswith(".grouping") else "entities"


def _is_right(counts: Counts) -> bool:
    return bool(counts["equal"] == counts["predicted"] == counts["wanted"])


def _group_counts(own: list[_Item], wanted: list[_Item]) -> tuple[Counts, Counts, bool]:
    """Return the counts of the values of one group and of its items, and whether all is right."""
    pairs, matched = _paired(own, wanted)
    filled = [(_filled(own[at]), _filled(wanted[to])) for to, at in pairs]
    values = [_NOTHING, *itertools.chain.from_iterable(itertools.starmap(_pair_counts, filled))]
    left = set(range(len(own))) - {at for _, at in pairs}, set(range(len(wanted))) - {to for to, _ in pairs}
    values += [_value_counts(_split(own[at].values()), []) for at in left[0]]
    values += [_value_counts([], _split(wanted[to].values())) for to in left[1]]
    counts = sum_counts(values)
    has_errors = counts["predicted"] > counts["equal"] or counts["wanted"] > counts["equal"]
    items = {"equal": sum(one == other for one, other in filled), "predicted": len(own), "wanted": len(wanted)}
    return counts, items, bool(matched) and not has_errors


def _paired(own: list[_Item], wanted: list[_Item]) -> tuple[list[tuple[int, int]], int]:
    """Return pairs of a reference and a predicted item, and their equal values, the most there can be."""
    if not own or not wanted:
        return [], 0
    given, expected = map(_numbered, own), list(map(_numbered, wanted))
    equal = np.array([[len(item & other) for other in expected] for item in given]).T
    pairs = assign_rows(-equal)
    return pairs, sum(int(equal[pair]) for pair in pairs)


def _numbered(item: _Item) -> set[tuple[str, str, int]]:
    """Return the values of an item with their keys, and equal ones with numbers: those of two items then intersect."""
    found = {(key, value, 0) for key, value in item.items() if _JOINT not in value and value != _EMPTY}
    for key, value in item.items():
        if _JOINT in value:
            numbers = collections.Counter(_split([value]))
            found |= {(key, part, number) for part, count in numbers.items() for number in range(count)}
    return found


def _filled(item: _Item) -> _Item:
    return {key: value for key, value in item.items() if value != _EMPTY}


def _pair_counts(own: _Item, wanted: _Item) -> list[Counts]:
    """Return the counts of two items by key, in which an empty part of a joined value is a value."""
    given, expected = ({key: value.split(_JOINT) for key, value in item.items()} for item in (own, wanted))
    return [_value_counts(given.get(key, []), expected.get(key, [])) for key in given.keys() | expected.keys()]


def _counts(question: Question) -> Counts:
    reference = question.reference
    keys = question.names_option("keys")
    own_groups, own_entities = _read(question.prediction, f"prediction{question.row}", keys)
    if isinstance(reference, dict) and reference and reference.keys().isdisjoint(("groups", "entities")):
        problem = f"it has the keys {', '.join(map(repr, list(reference)[:5]))}; expected {_DOCUMENT_FORM}"
        raise AnlsError(problem, where=f"reference{question.row}")
    wanted_groups, wanted_entities = _read(reference, f"reference{question.row}", keys)
    entities, are_right = _entity_counts(own_entities, wanted_entities)
    groups = [
        _group_counts(own_groups.get(name, []), wanted_groups.get(name, []))
        for name in own_groups.keys() | wanted_groups.keys()
    ]
    all_right = are_right and all(is_right for _, _, is_right in groups)
    is_empty = not (groups or own_entities or wanted_entities)
    found = {
        "entities": entities["entities"],
        "groups": sum_counts([entities["groups"], *(values for values, _, _ in groups)]),
        "items": sum_counts([entities["items"], *(items for _, items, _ in groups)]),
        "documents": {"all": int(not is_empty), "right": int(all_right and not is_empty)},
    }
    return {(part, what): number for part, own in found.items() for what, number in own.items()}


def _read(document: Document, where: str, keys: set[str] | None) -> tuple[dict[str, list[_Item]], dict[str, list[str]]]:
    """Return the groups of a document, whose items have the same keys, and its entities."""
    groups, entities = _part(document, "groups", where), _part(document, "entities", where)
    items = {name: [_checked_item(item, where, keys) for item in own] for name, own in groups.items()}
    filled = {}
    for name, own in items.items():
        known = [key for item in own for key in item]
        own = [dict.fromkeys(known, _EMPTY) | item for item in own] if known else []
        if own:
            filled[name] = own
    found = {}
    for key, values in entities.items():
        kept = [_checked_text(value, where) for value in values if value != _EMPTY]
        if kept and (keys is None or key in keys):
            found[key] = kept
    return filled, found


def _part(document: Document, name: str, where: str) -> dict[str, list[Any]]:
    part = {} if document is None else document.get(name, {}) if isinstance(document, dict) else None
    if not isinstance(part, dict) or not all(isinstance(own, list) for own in part.values()):
        raise AnlsError(f"it is {describe_value(document)}; expected {_DOCUMENT_FORM}", where=where)
    return part


def _checked_item(item: Any, where: str, keys: set[str] | None) -> _Item:
    if not isinstance(item, dict):
        raise AnlsError(f"an item of a group is {describe_value(item)}; expected an object", where=where)
    return {key: _checked_text(value, where) for key, value in item.items() if keys is None or key in keys}


def _checked_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise AnlsError(f"a value is {describe_value(value)}; expected a text", where=where)
    return value


def _figures(counts: Counts) -> Figures:
    if not counts.get(("documents", "all")):
        raise AnlsError("every document is empty on both sides, so that there is nothing to score")
    # Invented values count only where the references have any of their kind.
    parts = [_part_counts(counts, part) for part in ("entities", "groups") if counts.get((part, "wanted"))]
    total = sum_counts(parts)
    equal = total.get("equal", 0)
    corrections = equal + total.get("edits", 0)
    return {
        "entity_f1": _f1(total),
        "aligned": equal / corrections if corrections else 0.0,
        "grouping_f1": _f1(_part_counts(counts, "items")) if counts.get(("groups", "wanted")) else None,
        "document_accuracy": counts["documents", "right"] / counts["documents", "all"],
    }


def _part_counts(counts: Counts, part: str) -> Counts:
    return {key[1]: number for key, number in counts.items() if key[0] == part}


def _f1(counts: Counts) -> float:
    equal, predicted, wanted = (counts.get(what, 0) for what in ("equal", "predicted", "wanted"))
    precision, recall = equal / predicted if predicted else 0.0, equal / wanted if wanted else 0.0
    return 2 * (precision * recall) / (precision + recall) if precision + recall else 0.0


_FORM = (
    "Items of a group are paired for the most equal values. Values joined by || are split; <empty> is no value. "
    "Invented entities are free if the references have none at all, and so are groups."
)
_benchmark: Callable[..., Benchmark] = functools.partial(
    Benchmark,
    family="KIEval",
    read=read_documents,
    count=_counts,
    figures_of=_figures,
    shared_options=("keys",),
    depends_on_ties=True,
    source="UpstageAI/KIEval @ 95914a4, KIEval/kieval.py, with the settings of run_eval.py. It fails if there is no "
    "document with a value.",
)

KIEVAL_ENTITY_F1 = _benchmark(
    name="kieval_entity_f1",
    description=f"F1 over the values of all documents, key by key. {_FORM}",
    headline="entity_f1",
    reports="micro F1 over the values of all documents",
)

KIEVAL_ALIGNED = _benchmark(
    name="kieval_aligned",
    description="The share of equal values in equal values and corrections, pooled over all documents: a wrong value "
    f"in place of another is one correction. {_FORM}",
    headline="aligned",
    reports="share of values that need no correction, over all documents",
)

KIEVAL_GROUPING_F1 = _benchmark(
    name="kieval_grouping_f1",
    description=f"F1 over the items of all groups, which must be equal as a whole. {_FORM}",
    headline="grouping_f1",
    reports="micro F1 over the items of all documents",
)

KIEVAL_DOCUMENT_ACCURACY = _benchmark(
    name="kieval_document_accuracy",
    description=f"The share of documents in which every key and every group is right. {_FORM}",
    headline="document_accuracy",
    reports="share of documents that are right",
)
