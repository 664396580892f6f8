"""Take apart the answers and trees of aligned questions that are texts which print lists or dicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import TEXTS, as_bools, as_ints, as_list, decode_texts, number_array
from anls_eval.errors import AnlsError, short_repr
from anls_eval.extract.steps import is_document
from anls_eval.notes import printed_sentences
from anls_eval.questions.columns import stored_texts, stored_trees
from anls_eval.questions.pairing import Aligned
from anls_eval.rules.protocol import Protocol
from anls_eval.structure import Parse, answers_in, parse_names, structure_in


def taken_apart(aligned: Aligned, rules: Protocol, parse: Parse) -> tuple[Aligned, list[str], list[str]]:
    """Return the questions with the sides in `parse` taken apart, the sides of which some was, and the notes."""
    names = parse_names(parse)
    if not rules.tree and "predictions" in (names or ()):
        raise AnlsError(f"protocol {rules.name!r} compares predictions as they are", option="parse", value=parse)
    taken, notes = [], []
    for side in ("predictions", "references") if rules.tree else ("references",):
        column = aligned.texts if side == "predictions" else aligned.answers
        steps = rules.extract if side == "predictions" and names is None else ()
        read = _PrintedRows(column, side, rules, steps)
        if read.found and side in (names or ()):
            column = read.replaced()
            aligned = aligned._replace(texts=column) if side == "predictions" else aligned._replace(answers=column)
            taken.append(side)
            notes += printed_sentences(side, len(column), taken=len(read.found))
        elif read.found and names is None:
            notes += printed_sentences(side, len(column), left=len(read.found), shown=read.shown)
    return aligned, taken, notes


class _PrintedRows:
    """The rows of a stored column that print a list or a dict: what is `found` in them, by row, and the first text.

    Those of which the steps of an extraction will make a document are left out.
    """

    def __init__(self, column: pa.Array, side: str, rules: Protocol, steps: tuple[str, ...]) -> None:
        self._column, self._side, self._rules = column, side, rules
        self.found: dict[int, Any] = {}
        self.shown = ""
        read: Callable[[str], Any] = structure_in if rules.tree else answers_in
        for row in self._candidates():
            text = json.loads(column[row].as_py()) if rules.tree else _text_of(column[row : row + 1])
            structure = read(text)
            if structure is not None and not is_document(text, steps):
                self.found[row] = structure
                self.shown = self.shown or short_repr(text)

    def _candidates(self) -> list[int]:
        """Return the rows of a single text that begins with a bracket."""
        if self._rules.tree:
            return list(map(int, np.flatnonzero(_begins(self._column, b'"[', b'"{'))))
        begin = np.flatnonzero(_begins(self._column.flatten(), b"[", b"{"))
        if not len(begin):
            return []
        lengths = as_ints(pc.list_value_length(self._column))
        rows = np.repeat(np.arange(len(lengths)), lengths)[begin]
        return list(map(int, rows[lengths[rows] == 1]))

    def replaced(self) -> pa.Array:
        """Return the column with what was found."""

        def where(at: int) -> str:
            return f"{self._side}[{rows[at]}]"

        rows, values = list(self.found), list(self.found.values())
        if self._rules.tree:
            new = stored_trees(values, self._side, where, self._rules)
        else:
            new = stored_texts(values, where, self._side)
        positions = np.arange(len(self._column))
        positions[rows] = len(self._column) + np.arange(len(rows))
        return pa.concat_arrays([self._column, new]).take(number_array(positions))


def _begins(values: pa.Array, *starts: bytes) -> Any:
    """Return which values begin with one of these bytes."""
    one, other = (pc.starts_with(values, start) for start in starts)
    return as_bools(pc.or_(one, other))


def _text_of(row: pa.Array) -> str:
    text: str = as_list(decode_texts(row.flatten(), TEXTS))[0]
    return text
