"""ANLS* with fields in exact fractions, over every matching of every list: to be read, not to be fast.

Two leaves are compared by `anls_eval.fields`; everything else is here again.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import tree_reference

Value = tuple[Fraction, Fraction]  # sum of similarities and length, both with weights
Leaves = Callable[[dict[str, Any], Any, Any], Fraction]  # the similarity of reference and prediction by some options

TYPED = ("number", "date", "boolean")
HERE_ONLY = ("order", "key")
STEP = re.compile(r"\.(\*|\w+)|\[(\*)\]|\['([^']*)'\]")


class Place:
    """The options at a path: its own, and those that it inherits."""

    def __init__(self, fields: dict[str, dict[str, Any]], path: tuple[str, ...] = (), above: Any = None) -> None:
        self.fields, self.path = fields, path
        own = next((options for text, options in fields.items() if steps(text) == path), {})
        self.options = {key: option for key, option in (above or {}).items() if key not in HERE_ONLY} | own
        self.compare = self.options.get("compare", "text")
        self.weight = Fraction(str(self.options.get("weight", 1)))

    def __truediv__(self, key: str | int) -> "Place":
        """The place of a dict's key or of a list's elements."""
        step = "[*]" if isinstance(key, int) else f".{key}"
        here = {steps(text)[len(self.path)] for text in self.fields if self._is_above(steps(text))}
        return Place(self.fields, (*self.path, step if step in here or step == "[*]" else ".*"), self.options)

    def _is_above(self, path: tuple[str, ...]) -> bool:
        return len(path) > len(self.path) and path[: len(self.path)] == self.path


def steps(path: str) -> tuple[str, ...]:
    return tuple("[*]" if element else f".{name or quoted}" for name, element, quoted in STEP.findall(path))


def score(prediction: Any, reference: Any, fields: dict[str, dict[str, Any]], leaves: Leaves) -> Fraction:
    place = Place(fields)
    are_options = isinstance(reference, list) and reference and all(isinstance(own, str) for own in reference)
    if isinstance(prediction, str) and are_options:
        reference = tuple(reference)
    if place.compare == "ignore":
        return Fraction(1)
    reference, prediction = without_ignored(reference, place), without_ignored(prediction, place)
    return tree_reference.ratio(*value(reference, prediction, place, leaves))  # type: ignore[arg-type]


def without_ignored(tree: Any, place: Place) -> Any:
    if isinstance(tree, tuple):
        return tuple(without_ignored(child, place) for child in tree)
    if isinstance(tree, dict):
        kept = {key: child for key, child in tree.items() if (place / key).compare != "ignore"}
        return {key: without_ignored(child, place / key) for key, child in kept.items()}
    if isinstance(tree, list):
        return [] if (place / 0).compare == "ignore" else [without_ignored(child, place / 0) for child in tree]
    return tree


def is_blank(leaf: Any, place: Place) -> bool:
    return place.compare in TYPED and isinstance(leaf, str) and not leaf.strip()


def size(tree: Any, place: Place) -> Fraction:
    if isinstance(tree, tuple):
        return max(size(child, place) for child in tree)
    if isinstance(tree, dict):
        return sum((size(child, place / key) for key, child in tree.items()), Fraction(0))
    if isinstance(tree, list):
        return sum((size(child, place / 0) for child in tree), Fraction(0))
    return place.weight


def value(g: Any, p: Any, place: Place, leaves: Leaves) -> Value:
    if isinstance(g, tuple):
        return best(value(option, p, place, leaves) for option in g)
    if g is None or is_blank(g, place):
        matches = p is None or p == "" or p == [] or p == {} or is_blank(p, place)
        return matches * place.weight, size(p, place) or place.weight
    if isinstance(g, dict) and isinstance(p, dict):
        return total(
            value(g[key], p.get(key), place / key, leaves)
            if key in g
            else (Fraction(0), size(p[key], place / key) or (place / key).weight)
            for key in {*g, *p}
        )
    if isinstance(g, list) and isinstance(p, list):
        return max(matchings(g, p, place, leaves), key=lambda own: (*own[:3], -own[3]))[2:]
    if p is None:
        return Fraction(0), size(g, place) or place.weight
    if isinstance(g, (dict, list)) or isinstance(p, (dict, list)):
        return Fraction(0), max(size(g, place), size(p, place))
    return leaves(place.options, g, p) * place.weight, place.weight


def best(values: Iterator[Value]) -> Value:
    return max(values, key=lambda own: (tree_reference.ratio(*own), own[0], -own[1]))  # type: ignore[arg-type]


def total(values: Iterator[Value]) -> Value:
    parts = list(values)
    return sum((s for s, _ in parts), Fraction(0)), sum((length for _, length in parts), Fraction(0))


def matchings(
    g: list[Any], p: list[Any], place: Place, leaves: Leaves
) -> Iterator[tuple[Fraction, Fraction, Fraction, Fraction]]:
    """Of every matching: the sum of the ratios, s / l of the lists, s and l."""
    names = place.options.get("key", ())
    names = (names,) if isinstance(names, str) else names
    pairs: dict[tuple[int, int], Value] = {}
    for (i, left), (j, right) in itertools.product(enumerate(g), enumerate(p)):
        options = [option for option in alternatives(left) if may_match(option, right, names, place / 0, leaves)]
        if options:
            pairs[i, j] = best(value(option, right, place / 0, leaves) for option in options)
    counts = range(min(len(g), len(p)) + 1) if names else [min(len(g), len(p))]
    for count in counts:
        for rows in itertools.combinations(range(len(g)), count):
            for columns in itertools.permutations(range(len(p)), count):
                matched = list(zip(rows, columns, strict=True))
                is_kept = place.options.get("order") != "kept" or all(i == j for i, j in matched)
                if not is_kept or not all(pair in pairs for pair in matched):
                    continue
                s, length = total(pairs[pair] for pair in matched)
                length += sum(size(child, place / 0) for i, child in enumerate(g) if i not in rows)
                length += sum(size(child, place / 0) for j, child in enumerate(p) if j not in columns)
                ratios = sum((tree_reference.ratio(*pairs[pair]) for pair in matched), Fraction(0))  # type: ignore[arg-type]
                yield ratios, tree_reference.ratio(s, length), s, length  # type: ignore[arg-type]


def alternatives(element: Any) -> list[Any]:
    if isinstance(element, tuple):
        return [inner for option in element for inner in alternatives(option)]
    return [element]


def may_match(g: Any, p: Any, names: tuple[str, ...], place: Place, leaves: Leaves) -> bool:
    with_key = [isinstance(own, dict) and all(name in own for name in names) for own in (g, p)]
    if not all(with_key) or not names:
        return not any(with_key) or not names
    parts = [value(g[name], p[name], place / name, leaves) for name in names]
    return all(s == length > 0 for s, length in parts)
