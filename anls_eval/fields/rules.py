"""`FieldRules`: fields resolved for one protocol, as a tree that is walked along with documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anls_eval.fields.comparators import (
    BooleanComparator,
    Comparator,
    DateComparator,
    ExactComparator,
    FunctionComparator,
    NumberComparator,
)
from anls_eval.fields.field import FIELD_DEFAULTS, LIST_OPTIONS, Field
from anls_eval.fields.paths import AnyStep, FieldPath, Step, path_text
from anls_eval.rules.protocol import Protocol


class FieldRules:
    """The rules of one place in a tree, and of the places below it.

    The rules of keys and elements below are ready: walking costs one look-up a step.
    """

    __slots__ = ("comparator", "elements", "ignore", "is_plain", "keep_order", "key", "keys", "other_keys", "weight")

    def __init__(
        self, weight: int, comparator: Comparator | None, ignore: bool, key: tuple[str, ...], keep_order: bool
    ) -> None:
        self.weight = weight  # of a leaf here, as an integer: times `Fields.scale`
        self.comparator = comparator  # None: the leaf of the protocol
        self.ignore = ignore
        self.key = key  # of a list here: the fields by which its elements belong together
        self.keep_order = keep_order  # of a list here
        self.keys: dict[str, FieldRules] = {}  # rules of the keys that are named at this place
        self.other_keys = self  # and of all other keys
        self.elements = self
        self.is_plain = True  # whether no path here or below changes anything

    def child(self, key: str) -> FieldRules:
        """Return the rules of a key of a dict here."""
        return self.keys.get(key, self.other_keys)

    def element(self) -> FieldRules:
        """Return the rules of the elements of a list here."""
        return self.elements


def resolve_fields(fields: Mapping[FieldPath, Field], protocol: Protocol, scale: int) -> FieldRules:
    """Return the rules of the whole tree under a protocol."""
    places = all_places(fields)
    comparators: dict[tuple[Any, ...], Comparator | None] = {}
    found: dict[FieldPath, FieldRules] = {}
    for place, options in resolved_options(fields, places).items():
        rules = found[place] = _rules_of(options, path_text(place), protocol, scale, comparators)
        below = {**options, **{option: FIELD_DEFAULTS[option] for option in LIST_OPTIONS}}
        # Where no path goes on, the same rules hold at every depth.
        rules.other_keys = rules.elements = _rules_of(below, path_text(place), protocol, scale, comparators)
        rules.is_plain, rules.elements.is_plain = options == FIELD_DEFAULTS, below == FIELD_DEFAULTS
        if place:
            _attach(found[place[:-1]], place[-1], rules)
    for place in reversed(found):
        if place and not found[place].is_plain:
            found[place[:-1]].is_plain = False
    return found[()]


def _attach(parent: FieldRules, step: Step, rules: FieldRules) -> None:
    if step is AnyStep.KEY:
        parent.other_keys = rules
    elif step is AnyStep.ELEMENT:
        parent.elements = rules
    else:
        parent.keys[str(step)] = rules


def all_places(fields: Mapping[FieldPath, Field]) -> list[FieldPath]:
    """Return the paths of all fields and those that lead to them, shorter ones first."""
    places: dict[FieldPath, None] = {(): None}
    for path in fields:
        while path not in places:
            places[path] = None
            path = path[:-1]
    return sorted(places, key=len)


def resolved_options(fields: Mapping[FieldPath, Field], places: list[FieldPath]) -> dict[FieldPath, dict[str, Any]]:
    """Return all options of each place: its own, those of the path above, and the defaults."""
    found: dict[FieldPath, dict[str, Any]] = {}
    for place in places:
        above = found[place[:-1]] if place else FIELD_DEFAULTS
        options = {**above, **{option: FIELD_DEFAULTS[option] for option in LIST_OPTIONS}}
        if place in fields:
            options |= fields[place].named()
        if place and above["compare"] == "ignore":
            options["compare"] = "ignore"
        found[place] = options
    return found


def _rules_of(
    options: dict[str, Any],
    path: str,
    protocol: Protocol,
    scale: int,
    comparators: dict[tuple[Any, ...], Comparator | None],
) -> FieldRules:
    compare = options["compare"]
    makers: dict[Any, tuple[Callable[..., Comparator], tuple[Any, ...]]] = {
        "exact": (ExactComparator, (options["case_sensitive"], protocol.prediction_steps, protocol.answer_steps)),
        "number": (NumberComparator, (options["absolute"], options["relative"], options["decimal"])),
        "date": (DateComparator, (options["day_first"], options["formats"])),
        "boolean": (BooleanComparator, ()),
    }
    comparator: Comparator | None = None
    if callable(compare):
        comparator = FunctionComparator(compare, path)
    elif compare not in ("text", "ignore"):
        make, arguments = makers[compare]
        known = make, *arguments
        if known not in comparators:
            comparators[known] = make(*arguments)
        comparator = comparators[known]
    return FieldRules(
        int(options["weight"] * scale), comparator, compare == "ignore", options["key"], options["order"] == "kept"
    )
