"""The comparison of one pair of trees."""

from __future__ import annotations

from typing import Any

from anls_eval.errors import AnlsError, located
from anls_eval.fields.fields import Fields
from anls_eval.fields.rules import FieldRules
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.compare import Comparison
from anls_eval.tree.credit import ComparedPair, compared_pairs
from anls_eval.tree.nodes import build_tree, plain_value


def field_rules(fields: Fields | None, rules: Protocol) -> FieldRules | None:
    """Return the rules of the root, or None if no field changes anything."""
    root = None if fields is None else fields.rules(rules)
    return None if root is None or root.is_plain else root


def is_list_of_options(prediction: Any, reference: Any, rules: Protocol) -> bool:
    """Return whether a reference is a list of texts beside a text: the released code's mode for ST-VQA data."""
    return (
        rules.tree == "released"
        and isinstance(reference, list)
        and bool(reference)
        and all(map(_is_text, (prediction, *reference)))
    )


def _is_text(value: Any) -> bool:
    """Return whether a value is written as text in JSON, such as a Decimal."""
    if type(value) is str:  # the usual case first, for speed
        return True
    try:
        return isinstance(plain_value(value), str)
    except TypeError:  # not part of a tree: refused elsewhere, with its path
        return False


def compare_trees(
    prediction: Any, reference: Any, rules: Protocol, explained: bool = False, fields: Fields | None = None
) -> list[ComparedPair]:
    """Compare two trees and return the pairs that make up the score."""
    root = field_rules(fields, rules)
    return compare_with_rules(prediction, reference, rules, root, fields.unit if fields and root else 1, explained)


def compare_with_rules(
    prediction: Any, reference: Any, rules: Protocol, root: FieldRules | None, unit: int, explained: bool
) -> list[ComparedPair]:
    """Compare two trees, given the rules of fields at the root."""
    if root and root.ignore:
        prediction, reference = {}, {}
    identities: dict[Any, int] | None = {} if explained else None
    options = is_list_of_options(prediction, reference, rules)
    g = build_tree(tuple(reference) if options else reference, "reference", rules, identities, root)
    g.source = reference
    p = build_tree(prediction, "prediction", rules, identities, root)
    return compared_pairs(Comparison(rules, prefer_equal=explained, unit=unit), g, p)


def raise_with_path(row: int, prediction: Any, reference: Any, rules: Protocol, fields: Fields | None) -> None:
    """Raise the error of a document with its row and the path from the root."""
    try:
        compare_trees(prediction, reference, rules, fields=fields)
    except AnlsError as error:
        raise located(f"row {row}", error) from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"row {row}: {error}") from None
