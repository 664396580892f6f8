"""The scores of many pairs of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anls_eval.arrow import Floats
from anls_eval.fields.fields import Fields
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.documents import Documents
from anls_eval.tree.field_documents import FieldDocuments
from anls_eval.tree.single import field_rules, raise_with_path


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
