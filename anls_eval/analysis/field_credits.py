"""How right each field of each document is, to compare systems field by field."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from anls_eval.analysis.accounting import counted_leaves
from anls_eval.arrow import Floats
from anls_eval.fields.fields import Fields
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.accounting import INVENTED_LEAF, MISSING_LEAF, RIGHT, WRONG, Numbers


class Credits(NamedTuple):
    """The mean credit of a field in each document that has a leaf there, on either side.

    A leaf that was compared counts its similarity, a missing or invented one 0, without weights.
    """

    rows: Numbers  # shape (d,): the documents, ascending
    means: Floats  # shape (d,), from 0 to 1


def field_credits(
    given: Sequence[Any],
    expected: Sequence[Any],
    rules: Protocol,
    fields: Fields | None,
    question_ids: Sequence[str] | None = None,
) -> dict[str, Credits]:
    """Return the credits of each path, in the order of the paths."""
    leaves = counted_leaves(given, expected, rules, fields or Fields({}), Fraction(1), question_ids)
    outcomes = leaves.outcomes
    is_compared = (outcomes == RIGHT) | (outcomes == WRONG)
    counts = is_compared | (outcomes == MISSING_LEAF) | (outcomes == INVENTED_LEAF)
    rows, places = leaves.rows[counts], leaves.places[counts]
    kept = np.where(is_compared[counts], 1 - leaves.lost[counts] / leaves.weights[places], 0.0).clip(0, 1)
    order = np.lexsort((kept, rows, places))  # the sum of a document does not depend on the order of its leaves
    rows, places, kept = rows[order], places[order], kept[order]
    starts = np.flatnonzero(np.diff(places, prepend=-1) | np.diff(rows, prepend=-1)) if len(rows) else rows
    counted = np.diff(starts, append=len(rows))
    means = np.add.reduceat(kept, starts) / counted if len(rows) else kept
    ends = np.searchsorted(places[starts], np.arange(len(leaves.paths) + 1)).tolist()
    rows = rows[starts]
    found = {path: Credits(rows[a:b], means[a:b]) for path, a, b in zip(leaves.paths, ends, ends[1:], strict=False)}
    return {path: own for path, own in sorted(found.items()) if len(own.rows)}


def paired_credits(old: Credits | None, new: Credits | None) -> tuple[Numbers, Floats, Floats]:
    """Return the documents in which a field occurs for either system, and the credits of both there.

    Where only one system has a leaf, which it invented, the other lost nothing: its credit is 1.
    """
    sides = [own for own in (old, new) if own is not None]
    rows = np.unique(np.concatenate([own.rows for own in sides]))
    found = []
    for own in (old, new):
        values = np.ones(len(rows))
        if own is not None:
            values[np.searchsorted(rows, own.rows)] = own.means
        found.append(values)
    return rows, found[0], found[1]
