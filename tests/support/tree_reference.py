"""ANLS* in exact fractions, over every assignment of every list: to be read, not to be fast.

What anls.py computes must be the float of this, and no order of lists, alternatives or keys may change a bit of it.
"""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import reference

NORMALISED = ("strip", "lower", "collapse")


def score(prediction: Any, given: Any, paper: bool = False) -> Fraction:
    are_options = isinstance(given, list) and given and all(isinstance(option, str) for option in given)
    if not paper and isinstance(prediction, str) and are_options:
        given = tuple(given)
    if paper:
        prediction, given = without_none(prediction), without_none(given)
    return ratio(*value(given, prediction, paper))


def without_none(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: without_none(child) for key, child in tree.items() if child is not None}
    if isinstance(tree, (list, tuple)):
        return type(tree)(without_none(child) for child in tree)
    return tree


def ratio(s: Fraction, length: int) -> Fraction:
    return s / length if length else Fraction(1)


def size(tree: Any) -> int:
    if isinstance(tree, tuple):
        return max(size(child) for child in tree)
    if isinstance(tree, dict):
        return sum(size(child) for child in tree.values())
    if isinstance(tree, list):
        return sum(size(child) for child in tree)
    return 1


def value(g: Any, p: Any, paper: bool) -> tuple[Fraction, int]:
    """The sum s of similarities and the length l of a pair."""
    if isinstance(g, tuple):
        return max((value(option, p, paper) for option in g), key=lambda own: (ratio(*own), own[0], -own[1]))
    if g is None:
        matches = p is None if paper else p is None or p == "" or p == [] or p == {}
        return Fraction(bool(matches)), max(1, size(p))
    if isinstance(g, dict) and isinstance(p, dict):
        return dicts(g, p, paper)
    if isinstance(g, list) and isinstance(p, list):
        return max(assignments(g, p, paper), key=lambda own: (*own[:3], -own[3]))[2:]
    if isinstance(g, (dict, list)) or isinstance(p, (dict, list)) or p is None:
        return Fraction(0), max(size(g), size(p))
    return leaves(g, p), 1


def leaves(g: Any, p: Any) -> Fraction:
    left, right = reference.normalise(str(g), NORMALISED), reference.normalise(str(p), NORMALISED)
    similarity = 1 - Fraction(reference.distance(left, right, 1), max(len(left), len(right), 1))
    return similarity if similarity >= Fraction(1, 2) else Fraction(0)


def dicts(g: dict[str, Any], p: dict[str, Any], paper: bool) -> tuple[Fraction, int]:
    parts = [value(child, p[key], paper) for key, child in g.items() if key in p]
    if paper:
        parts += [(Fraction(0), size(child)) for key, child in g.items() if key not in p]
        parts += [(Fraction(0), size(child)) for key, child in p.items() if key not in g]
    else:
        parts += [value(child, None, paper) for key, child in g.items() if key not in p]
        parts += [(Fraction(0), max(1, size(child))) for key, child in p.items() if key not in g]
    return sum((s for s, _ in parts), Fraction(0)), sum(length for _, length in parts)


def assignments(g: list[Any], p: list[Any], paper: bool) -> Iterator[tuple[Fraction, Fraction, Fraction, int]]:
    """Of every assignment: the sum of the ratios, s / l of the lists, s and l."""
    pairs = {(i, j): value(g[i], p[j], paper) for i in range(len(g)) for j in range(len(p))}
    count = min(len(g), len(p))
    for rows in itertools.combinations(range(len(g)), count):
        for columns in itertools.permutations(range(len(p)), count):
            matched = [pairs[pair] for pair in zip(rows, columns, strict=True)]
            s = sum((own for own, _ in matched), Fraction(0))
            length = sum(own for _, own in matched)
            length += sum(size(child) for i, child in enumerate(g) if i not in rows)
            length += sum(size(child) for j, child in enumerate(p) if j not in columns)
            yield sum((ratio(*own) for own in matched), Fraction(0)), ratio(s, length), s, length
