"""Short lists of texts, matched without nodes and matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import normaliser
from anls_eval.text.similarity import compare_leaves
from anls_eval.tree.credit import Credit
from anls_eval.tree.matching import ways_to_match


def credit_of_short_lists(g: list[Any], p: list[Any], rules: Protocol) -> Credit | None:
    """Return the credit of two lists of texts that can be matched in few ways; None for any other lists."""
    if operator.countOf(map(type, g), str) < len(g) or operator.countOf(map(type, p), str) < len(p):
        return None
    ways = ways_to_match(len(g), len(p))
    if not ways:
        return None
    # Every text has the length 1. So all matchings have one length, and the maximum sum of similarities is the best by
    # the rule of `Comparison`.
    texts, others = map(normaliser(rules.answer_steps), g), list(map(normaliser(rules.prediction_steps), p))
    rows = [[compare_leaves(text, other, rules) for other in others] for text in texts]
    similarities = [[1 - distance / longest if is_kept else 0.0 for distance, longest, is_kept in row] for row in rows]
    best = max(ways, key=lambda way: math.fsum([similarities[i][j] for i, j in way])) if len(ways) > 1 else ways[0]
    kept = [rows[i][j] for i, j in best if rows[i][j][2]]
    partial = [(longest - distance, longest) for distance, longest, _ in kept if distance]
    return max(len(g), len(p)), len(kept) - len(partial), partial
