"""The scores of pairs of trees: of one, and of many."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from anls_eval.arrow import Floats
from anls_eval.fields.fields import Fields
from anls_eval.rules.protocol import Protocol
from anls_eval.text.similarity import measure_one
from anls_eval.tree.credit import count_credit, exact_score
from anls_eval.tree.documents import Documents
from anls_eval.tree.field_documents import FieldDocuments
from anls_eval.tree.single import compare_trees, field_rules, raise_with_path


def score_tree(
    prediction: Any, reference: Any, rules: Protocol, fields: Fields | None = None
) -> tuple[float, Collection[int]]:
    """Score one pair of trees, and return row 0 if it has more than scalars in dicts."""
    if field_rules(fields, rules) is not None:
        return exact_score(*count_credit(compare_trees(prediction, reference, rules, fields=fields))), (0,)
    if type(prediction) is type(reference) is str:  # a single leaf, which scores as a question with one answer
        return measure_one(prediction, [reference], rules)[0], ()
    documents = Documents(rules)
    try:
        documents.add(prediction, reference)
    except (TypeError, ValueError):
        compare_trees(prediction, reference, rules)  # raises the error with the path from the root
        raise
    return documents.only_score(), documents.searched_rows


def score_trees(
    predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, fields: Fields | None = None
) -> tuple[Floats, list[int]]:
    """Score many pairs of trees, and return the rows of those with more than scalars in dicts, too."""
    root = field_rules(fields, rules)
    documents: Documents | FieldDocuments = Documents(rules)
    if fields is not None and root is not None:
        documents = FieldDocuments(predictions, references, rules, fields, root)
    add_documents(documents, predictions, references, rules, fields)
    return documents.scores(), sorted(documents.searched_rows)


def add_documents(
    documents: Documents | FieldDocuments,
    predictions: Sequence[Any],
    references: Sequence[Any],
    rules: Protocol,
    fields: Fields | None,
) -> None:
    """Add pairs of trees to a batch; an error names the row and the path from the root."""
    for row, pair in enumerate(zip(predictions, references, strict=True)):
        try:
            documents.add(*pair)
        except (TypeError, ValueError):
            raise_with_path(row, *pair, rules, fields)
            raise
