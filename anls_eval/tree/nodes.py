"""Trees prepared for comparison: nodes with their kinds and sizes, alternatives, paths, and invalid values."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import datetime
import enum
import json
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, cast

import numpy as np

from anls_eval.errors import AnlsError, short_repr
from anls_eval.fields.comparators import is_blank, unparsed_reference
from anls_eval.fields.rules import FieldRules
from anls_eval.inputs.values import describe_value, is_missing_value, number_text
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import normaliser
from anls_eval.tree.ratios import Value, best_of
from anls_eval.types import Tree

KINDS_OF_NODES = range(6)

NONE, LEAF, LIST, DICT, ONE_OF, KEPT = KINDS_OF_NODES  # KEPT: a list whose order counts, as a dict of indexes

KINDS: dict[type, int] = {
    types.NoneType: NONE,
    str: LEAF,
    int: LEAF,
    float: LEAF,
    bool: LEAF,
    list: LIST,
    dict: DICT,
    tuple: ONE_OF,
}

# Keys that were probably meant as "$one_of", and are ordinary ones.
LIKE_ONE_OF = frozenset({"$oneof", "$oneOf", "$OneOf", "$one-of", "$one of", "$one_Of", "$One_Of", "$ONE_OF"})

MARKERS = LIKE_ONE_OF | {"$one_of", "$literal"}  # keys of references that mean something, or seem to

SCALARS = frozenset({str, int, float, bool})

PLAIN_SCALARS = SCALARS | {types.NoneType}
_TEXT = frozenset({str})
_FEW_VALUES = 10_000
_MAX_VALUES = 10_000_000  # of one tree: no document has more, and lists that share elements reach it soon


class Node:
    """A node of a tree."""

    __slots__ = ("identity", "kind", "like_none", "missing", "positions", "rule", "size", "source", "value")

    def __init__(self, kind: int, value: Any, size: int, missing: Value, like_none: bool, source: Any) -> None:
        self.kind = kind
        self.value = value  # a normalised text, a list of nodes, or a dict of nodes by key
        self.size = size  # number of leaves, or with fields the sum of their weights: l_t in the paper
        self.missing = missing  # its value if the other side does not have the key
        self.like_none = like_none  # whether it matches None as a prediction
        self.source = source  # the object as passed
        self.identity = -1  # the same number for equal objects, if `identities` was passed
        self.rule: FieldRules | None = None  # how it is compared and weighed, with fields
        self.positions: list[int] | None = None  # where its children were, if they were put in canonical order


def one_of(*alternatives: Tree) -> tuple[Tree, ...]:
    """Return a reference that accepts any of the alternatives; the closest one counts. A tuple does the same.

    Args:
        *alternatives: At least one tree.

    Returns:
        The alternatives as a tuple.

    Raises:
        ValueError: If no alternative is given.

    Example:
        >>> from anls_eval import anls_star_score
        >>> anls_star_score({"total": "EUR 17.99"}, {"total": one_of("17.99", "EUR 17.99")})
        1.0
    """
    if not alternatives:
        raise ValueError("one_of() got no alternatives; expected at least one")
    return alternatives


class _Inner(NamedTuple):
    """The keys of a container, and the range of its children among all objects of the tree."""

    kind: int
    keys: list[str]
    start: int
    end: int


def build_tree(
    root: Any, side: str, rules: Protocol, identities: dict[Any, int] | None = None, rule: FieldRules | None = None
) -> Node:
    """Build the nodes of a tree without recursion; with `identities`, equal objects of both trees get one number."""
    # A reference without lists and alternatives leaves `identities` empty: what is equal is asked for only to match.
    released = rules.tree == "released"
    normalise = normaliser(rules.answer_steps if side == "reference" else rules.prediction_steps)
    prepare = normalise if rule is None else str  # with fields, only texts are normalised, once all rules are known
    objects = [root]
    nodes: list[Any] = []
    inner: dict[int, _Inner] = {}
    seen: set[int] | None = set()
    places = None if rule is None else [rule]  # of the objects
    for number, given in enumerate(objects):
        if type(given) is str:  # the usual case first, for speed
            nodes.append(Node(LEAF, prepare(given), 1, (0.0, 1), released and not given, given))
            continue
        value, kind = given, KINDS.get(type(given), -1)
        if kind < NONE or (kind == LEAF and value != value):  # NaN
            value = _convert(given, side, inner, number)
            kind = KINDS[type(value)]
        if kind == LEAF:
            try:
                text = str(value)
            except ValueError:  # Python refuses to convert integers of thousands of digits
                text = number_text(value, f"{side} {_path(inner, number)}")
            nodes.append(Node(LEAF, prepare(text), 1, (0.0, 1), released and value == "", given))
            continue
        if kind == DICT and side == "reference" and ("$one_of" in value or "$literal" in value):
            value = _alternatives(value, inner, number)
            kind = KINDS[type(value)]
        if kind == NONE:
            nodes.append(Node(NONE, None, 1, (float(released), 1), True, given))
            continue
        keys, children = _children(value, kind, side, inner, number, rules)
        if seen is not None and children:
            if id(given) in seen:  # used twice, which is fine, or part of itself
                check_sharing(root, side)
                seen = None
            else:
                seen.add(id(given))
        if places is not None:
            keys, children, below = _with_rules(keys, children, kind, places[number], rules)
            places += below
        inner[number] = _Inner(kind, keys, len(objects), len(objects) + len(children))
        objects.extend(children)
        nodes.append(None)
        _check_count(len(objects), side)
    if places is not None:
        _apply_to_leaves(nodes, places, inner, side, released, normalise)
    for number, (kind, keys, start, end) in reversed(inner.items()):
        nodes[number] = _container(kind, keys, nodes[start:end], objects[number], released)
        if places is not None:
            _apply_to_container(nodes[number], places[number], released)
    if identities is not None and (identities or rule or any(own.kind in (LIST, ONE_OF) for own in inner.values())):
        _identify(nodes, inner, identities)
        if places is not None:
            _put_in_order(nodes, inner)
    return cast(Node, nodes[0])


def _container(kind: int, keys: list[str], children: list[Node], source: Any, released: bool) -> Node:
    if kind == ONE_OF:
        size = max(child.size for child in children)
        missing = children[best_of([child.missing for child in children])].missing if released else (0.0, size)
        return Node(kind, children, size, missing, False, source)
    size = sum([child.size for child in children])
    value = dict(zip(keys, children, strict=True)) if kind == DICT else children
    return Node(kind, value, size, (0.0, max(1, size) if released else size), released and not children, source)


def _identify(nodes: list[Node], inner: dict[int, _Inner], identities: dict[Any, int]) -> None:
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        if number in inner:
            _, keys, start, end = inner[number]
            content: Any = tuple(keys), tuple(child.identity for child in nodes[start:end])
        else:
            leaf = plain_value(node.source)
            content = type(leaf), leaf
        node.identity = identities.setdefault((node.kind, content), len(identities))


# Nodes with fields.


def _with_rules(
    keys: list[str], children: Sequence[Any], kind: int, rule: FieldRules, rules: Protocol
) -> tuple[list[str], Sequence[Any], list[FieldRules]]:
    """Return the keys and children that are not ignored, with their rules."""
    if kind != DICT:
        below = rule if kind == ONE_OF else rule.element()
        children = [] if below.ignore else children
        return keys, children, [below] * len(children)
    kept = [(key, child, rule.child(key)) for key, child in zip(keys, children, strict=True)]
    kept = [(key, child, own) for key, child, own in kept if not own.ignore]
    if rules.tree == "paper":  # leaves out keys whose value counts as None
        kept = [(key, child, own) for key, child, own in kept if not (_may_be_none(own) and is_blank(child))]
    return [key for key, _, _ in kept], [child for _, child, _ in kept], [own for _, _, own in kept]


def _may_be_none(rule: FieldRules) -> bool:
    """Return whether a blank text here counts as None."""
    return rule.comparator is not None and rule.comparator.blank_is_none


def _apply_to_leaves(
    nodes: list[Any],
    places: list[FieldRules],
    inner: dict[int, _Inner],
    side: str,
    released: bool,
    normalise: Callable[[str], str],
) -> None:
    """Weigh and parse the leaves; refuse a reference that does not parse."""
    for number, node in enumerate(nodes):
        if node is None:
            continue
        rule = node.rule = places[number]
        comparator = rule.comparator
        node.size, node.missing = rule.weight, (node.missing[0] * rule.weight, rule.weight)
        if node.kind == NONE:
            continue
        if comparator is None:
            node.value = normalise(node.value)
            continue
        value = plain_value(node.source)
        if comparator.blank_is_none and is_blank(value):
            node.like_none = True
            if side == "reference":
                node.kind, node.value, node.missing = NONE, None, (float(released) * rule.weight, rule.weight)
                continue
        node.value = comparator.parse(value, "reference" if side == "reference" else "prediction")
        if node.value is None and side == "reference":
            problem = unparsed_reference(node.source, comparator.name)
            raise AnlsError(problem, where=f"{side} {_path(inner, number)}")


def _apply_to_container(node: Node, rule: FieldRules, released: bool) -> None:
    """Weigh a container, and index a list whose order counts."""
    node.rule = rule
    if node.kind != ONE_OF:
        node.missing = (0.0, (node.size or rule.weight) if released else node.size)
    if node.kind == LIST and rule.keep_order:
        node.kind, node.value = KEPT, dict(enumerate(node.value))
        for child in node.value.values():
            child.missing = 0.0, child.size  # as an element without a partner


def _put_in_order(nodes: list[Node], inner: dict[int, _Inner]) -> None:
    """Put elements and alternatives in an order that does not depend on how they were passed."""
    heights = [0] * len(nodes)
    levels: dict[int, list[int]] = {}
    for number in range(len(nodes) - 1, -1, -1):
        if number in inner:
            heights[number] = 1 + max(heights[inner[number].start : inner[number].end], default=0)
        levels.setdefault(heights[number], []).append(number)
    ranks = [0] * len(nodes)
    count = 0
    for _, level in sorted(levels.items()):
        contents = {number: _canonical(nodes[number], inner.get(number), ranks) for number in level}
        order = {content: count + rank for rank, content in enumerate(sorted(set(contents.values())))}
        count += len(order)
        for number, content in contents.items():
            ranks[number] = order[content]
    for number, (_, _, start, end) in inner.items():
        node = nodes[number]
        if node.kind in (LIST, ONE_OF):
            node.positions = sorted(range(end - start), key=ranks[start:end].__getitem__)
            node.value = [node.value[position] for position in node.positions]


def _canonical(node: Node, inside: _Inner | None, ranks: list[int]) -> tuple[Any, ...]:
    """Return the content of a node, to sort by: a leaf by type and text, a container by the ranks of its children."""
    if inside is None:
        leaf = plain_value(node.source)
        return -1, type(leaf).__name__, str(leaf)
    children = ranks[inside.start : inside.end]
    if node.kind == DICT:
        return node.kind, *sorted(zip(inside.keys, children, strict=True))
    return node.kind, *(children if node.kind == KEPT else sorted(children))


def is_literal_dict(value: Any) -> bool:
    """Return whether a value is ``{"$literal": {...}}``."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("$literal"), dict)


def _alternatives(value: dict[Any, Any], inner: dict[int, _Inner], number: int) -> Any:
    """Decode ``{"$one_of": [...]}`` to a tuple, and ``{"$literal": {...}}`` to its content."""
    if is_literal_dict(value):
        return value["$literal"]
    if "$one_of" not in value:
        return value
    if len(value) > 1 or not isinstance(value["$one_of"], (list, tuple)):
        found = f"{_path(inner, number)} is {describe_value(value)}"
        remedy = "Wrap a dict that really has this key in {'$literal': {...}}."
        raise ValueError(
            f"reference {found}; expected '$one_of' as the only key, with a list of alternatives. {remedy}"
        )
    return tuple(value["$one_of"])


def _children(
    value: Any, kind: int, side: str, inner: dict[int, _Inner], number: int, rules: Protocol
) -> tuple[list[str], Sequence[Any]]:
    """Return the keys, as texts, and the values of a dict, or the elements of a list or tuple."""
    if kind == LIST:
        return [], value
    if kind == ONE_OF:
        if side == "prediction" or not value:
            fault = (
                "is a tuple; expected a list: only references have alternatives"
                if value
                else "has an empty list of alternatives; expected at least one"
            )
            raise ValueError(f"{side} {_path(inner, number)} {fault}")
        return [], value
    if not set(map(type, value)) <= {str}:
        texts = {key_text(key): child for key, child in value.items()}
        if len(texts) < len(value):
            twice = next(text for text, count in collections.Counter(map(key_text, value)).items() if count > 1)
            raise ValueError(f"{side} {_path(inner, number)} has the key {twice!r} twice, as text; keep one")
        value = texts
    if rules.tree == "paper":
        value = {key: child for key, child in value.items() if child is not None and not is_missing_value(child)}
    return list(value), list(value.values())


def key_text(key: Any) -> str:
    """Return a key as JSON would write it; an Enum by its value."""
    while isinstance(key, enum.Enum):
        key = key.value
    return json.dumps(key) if key is None or isinstance(key, bool) else number_text(key, "a key")


def plain_value(value: Any) -> Any:
    """Convert a value that is known to be part of a tree to one of the types in `KINDS`."""
    return value if type(value) in KINDS and value == value else _convert(value, "value", {}, 0)


def _convert(value: Any, side: str, inner: dict[int, _Inner], number: int) -> Any:
    """Convert a value of any supported type to one of the types in `KINDS`."""
    given = value
    while isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, np.datetime64):
        finer_than_python = isinstance(value.item(), int)
        value = value.astype("datetime64[us]").item() if finer_than_python else value.item()
    elif isinstance(value, (np.bool_, np.integer)):
        value = value.item()
    if is_missing_value(value):
        return None
    if type(value) in KINDS:
        return value
    if isinstance(value, np.floating):
        return str(value)  # written as 0.1, in single precision, too
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) > 4300:  # as for integers: 1e99999999 would fill the memory
            where = f"{side} {_path(inner, number)}"
            raise ValueError(f"{where} is {short_repr(value)}, which has too many digits; pass it as text.")
        return format(value, "f")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    for kind in KINDS:
        if isinstance(value, kind) and not hasattr(value, "_asdict"):  # not a named tuple
            return kind(value)
    raise TypeError(
        f"{side} {_path(inner, number)} is {describe_value(given)}; "
        f"expected a dict, list, string, number, bool or None. {_conversion(value)}"
    )


def _conversion(value: Any) -> str:
    if isinstance(value, bytes):
        return 'Decode it with .decode("utf-8").'
    if isinstance(value, (set, frozenset)):
        return "Convert it to a sorted list."
    for method in ("model_dump", "_asdict", "tolist"):
        if hasattr(value, method):
            return f"Call its {method}()."
    if dataclasses.is_dataclass(value):
        return "Convert it with dataclasses.asdict."
    return "Convert it with dict." if isinstance(value, Mapping) else "Convert it to one of these."


def _path(inner: dict[int, _Inner], number: int) -> str:
    """Return the JSON path of an object of a tree that is being built."""
    parts: list[str] = []
    parents, starts = list(inner), [container.start for container in inner.values()]
    while number:
        parent = parents[bisect.bisect(starts, number) - 1]
        container, index = inner[parent], number - inner[parent].start
        parts.append(path_part(container.keys[index] if container.keys else index, container.kind))
        number = parent
    return "$" + "".join(reversed(parts))


def path_part(key: str | int, kind: int) -> str:
    """Return the part of a JSON path that leads to a child of a container."""
    if isinstance(key, int):
        return f"['$one_of'][{key}]" if kind == ONE_OF else f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{key!r}]"


def check_sharing(root: Any, side: str) -> None:
    """Raise a ValueError if a tree contains itself, or has too many values when each counts as often as it is used."""
    if is_plain(root, _FEW_VALUES):
        return
    counts: dict[int, int] = {}  # of the values in each object, itself included, once they are known
    open_ids: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        value, is_left = stack.pop()
        while isinstance(value, enum.Enum):
            value = value.value
        if not isinstance(value, (list, tuple, dict)) or (not is_left and id(value) in counts):
            continue
        children = value.values() if isinstance(value, dict) else value
        if is_left:
            open_ids.discard(id(value))
            counts[id(value)] = 1 + sum([counts.get(id(child), 1) for child in children])
        elif id(value) in open_ids:
            raise ValueError(f"{side} contains itself: a {type(value).__name__} is among its own descendants")
        else:
            open_ids.add(id(value))
            stack.append((value, True))
            stack.extend((child, False) for child in children)
    _check_count(counts.get(id(root), 1), side)


def is_plain(root: Any, most: int, *, as_json: bool = False) -> bool:
    """Return whether a tree has plain types alone, and few values when each counts as often as it is used."""
    open_values, left = [root], most
    for value in open_values:
        kind = type(value)
        if kind is dict and (not as_json or _TEXT.issuperset(map(type, value))):
            children: Collection[Any] = value.values()
        elif kind is list or (kind is tuple and not as_json):
            children = value
        else:
            return False
        left -= len(children)
        if left < 0:
            return False
        if not PLAIN_SCALARS.issuperset(map(type, children)):
            open_values += [child for child in children if type(child) not in PLAIN_SCALARS]
    return True


def _check_count(count: int, side: str) -> None:
    if count > _MAX_VALUES:
        raise ValueError(f"{side} has more than {_MAX_VALUES:,} values, which is the limit")
