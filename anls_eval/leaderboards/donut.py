"""Donut: micro F1 of the fields of documents, and an accuracy from the tree edit distance."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from anls_eval.errors import AnlsError
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures
from anls_eval.leaderboards.document import Document, read_documents
from anls_eval.leaderboards.question import Question
from anls_eval.leaderboards.tree_edit import Integers, Tree, tree_distance

_LEAF = "<leaf>"
_Field = tuple[str, str]  # path and text

Texts = Callable[[list[Any]], list[str]]
"""What a list with anything but objects holds."""


def donut_fields(document: Document) -> Document:
    """Return a document normalised as by Donut: sorted keys, texts in lists, and nothing that is false in Python."""
    if not document:
        return {}
    if isinstance(document, dict):
        return sorted_fields({key: donut_fields(value) for key, value in document.items()})
    if not isinstance(document, list):
        return [str(document).strip()]
    if all(isinstance(item, dict) for item in document):
        return [item for item in map(donut_fields, document) if item]
    return texts_of(document)


def sorted_fields(fields: dict[str, Document]) -> dict[str, Document]:
    """Return the fields that are not empty, shorter keys first, each value as a list."""
    keys = sorted(fields, key=lambda key: (len(key), key))
    return {key: own if isinstance(own := fields[key], list) else [own] for key in keys if fields[key]}


def texts_of(items: list[Any]) -> list[str]:
    """Return the texts and numbers of a list as texts; all else is lost."""
    texts = (str(item).strip() for item in items if type(item) in (str, int, float))
    return [text for text in texts if text]


def field_counts(
    prediction: Document, reference: Document, texts: Texts = texts_of, *, keeps_false: bool = False
) -> Counts:
    """Return the number of equal fields of two documents, and of all others on both sides."""
    own: list[_Field] = []
    theirs: list[_Field] = []
    _collect(prediction, "", own, texts, keeps_false)
    _collect(reference, "", theirs, texts, keeps_false)
    left = collections.Counter(theirs)
    equal = 0
    for field in own:
        if left.get(field):
            left[field] -= 1
            equal += 1
    return {"equal": equal, "others": len(own) + len(theirs) - 2 * equal}


def _collect(value: Document, path: str, found: list[_Field], texts: Texts, keeps_false: bool) -> None:
    """Add the fields that a document has once it is normalised."""
    if isinstance(value, dict):
        for key, own in value.items():
            _collect(own, f"{path}.{key}" if path else key, found, texts, keeps_false)
    elif not isinstance(value, list):
        if value or keeps_false:
            found.append((path, str(value).strip()))
    elif all(isinstance(item, dict) for item in value):
        for item in value:
            _collect(item, path, found, texts, keeps_false)
    else:
        found += [(path, text) for text in texts(value)]


def tree_accuracy(prediction: Document, reference: Document) -> float:
    """Return 1 - distance / size of the reference for two normalised documents, at least 0; 0 without a size."""
    one, other = _tree(prediction), _tree(reference)
    texts, is_leaf, sizes = _read(one)
    their_texts, their_leaf, their_sizes = _read(other)
    size = int(their_sizes[:-1].sum())
    if not size:
        return 0.0
    if one == other:
        return 1.0
    leaves = cdist(texts, their_texts, scorer=Levenshtein.distance, dtype=np.int64)
    unequal = np.not_equal.outer(np.array(one.labels, dtype=object), np.array(other.labels, dtype=object))
    changes = np.where(
        is_leaf[:, None],
        np.where(their_leaf, leaves, 1 + sizes[:, None]),
        np.where(their_leaf, 1 + their_sizes, unequal),
    ).astype(np.int64)
    return max(0.0, 1 - tree_distance(one, other, sizes, their_sizes, changes) / size)


def _tree(document: Document) -> Tree:
    """Return a normalised document as a tree: keys, "<subtree>" for objects in lists, and texts marked as leaves."""
    tree = Tree([], [])

    def add(value: Document, label: str) -> int:
        start = len(tree.labels)
        if isinstance(value, dict):
            for key, own in value.items():
                add(own, key)
        elif isinstance(value, list):
            of_objects = all(isinstance(item, dict) for item in value)
            for own in value:
                add(own, "<subtree>") if of_objects else add(None, f"{_LEAF}{own}")
        tree.labels.append(label)
        tree.leftmost.append(start)
        return start

    add(document, "<root>")
    return tree


def _read(tree: Tree) -> tuple[list[str], np.ndarray[Any, np.dtype[np.bool_]], Integers]:
    """Return the text of each node without the mark, whether it has the mark, and what its removal costs."""
    texts = [label.replace(_LEAF, "") for label in tree.labels]
    is_leaf = np.array([_LEAF in label for label in tree.labels])
    return texts, is_leaf, np.where(is_leaf, np.array(list(map(len, texts)), dtype=np.int64), 1)


def _f1_counts(question: Question) -> Counts:
    return field_counts(question.prediction, question.reference)


def _f1_figures(counts: Counts) -> Figures:
    equal, others = counts.get("equal", 0), counts.get("others", 0)
    if not equal and not others:
        raise AnlsError("no document has a field on either side, so that there is no F1 to compute")
    return {"micro_f1": equal / (equal + others / 2)}


def _accuracy(question: Question) -> float:
    return tree_accuracy(donut_fields(question.prediction), donut_fields(question.reference))


def _accuracy_figures(counts: Counts) -> Figures:
    scores = counts.get("scores", ())
    return {"mean": float(np.mean(scores)) if scores else None}


_SOURCE = "clovaai/donut @ 4cfcf97, donut/util.py, JSONParseEvaluator, and test.py."

DONUT_F1 = Benchmark(
    name="donut_f1",
    family="Donut",
    read=read_documents,
    description="F1 of the multisets of fields (path of keys, text), pooled over all documents. Lists add nothing to "
    "a path, so that it does not matter in which item of a list a value is. What is false in Python (null, empty, 0, "
    "false) is no field, nor is what is not a text or number in a list that has anything but objects.",
    count=_f1_counts,
    figures_of=_f1_figures,
    headline="micro_f1",
    reports="micro F1 over the fields of all documents",
    drops_unpaired=True,
    source=f"{_SOURCE} It fails if there is no field at all; surplus documents of the longer list do not count.",
)

DONUT_TED = Benchmark(
    name="donut_ted",
    family="Donut",
    read=read_documents,
    description="Mean over the documents of 1 - tree edit distance / distance of the reference to an empty document, "
    "at least 0. Removing or inserting a text costs its length, a key or object 1; a text changes for the Levenshtein "
    "distance. The order of items in lists counts. A document with an empty reference scores 0.",
    count=_accuracy,
    figures_of=_accuracy_figures,
    headline="mean",
    averages=True,
    reports="mean of the documents",
    drops_unpaired=True,
    source=f"{_SOURCE} The mean is NumPy's, which adds in pairs.",
)
