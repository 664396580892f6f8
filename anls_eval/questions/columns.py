"""Store question_ids, predictions and answers as Arrow columns until they are scored."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyarrow as pa

from anls_eval.arrow import (
    BYTES,
    TEXT_LISTS,
    TEXTS,
    as_list,
    bytes_array,
    bytes_list_array,
    decode_texts,
    encode_texts,
    join_arrays,
)
from anls_eval.inputs.columns import answer_texts, each_answers, each_prediction, prediction_texts
from anls_eval.inputs.values import Where
from anls_eval.rules.protocol import Protocol
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.nodes import SCALARS, build_tree

_MAX_PLAIN = 100_000  # values of one tree

STORED = pa.schema(
    {
        "predictions": pa.struct({"question_id": BYTES, "prediction_text": BYTES}),
        "references": pa.struct({"question_id": BYTES, "answers": pa.large_list(BYTES)}),
    }
)

STORED_TREES = STORED.set(1, pa.field("references", pa.struct({"question_id": BYTES, "answers": BYTES})))


class Side(NamedTuple):
    """Checked predictions or references, as `STORED` holds them. Ids are null for all rows or for none."""

    ids: pa.Array
    values: pa.Array


def stored_ids(ids: list[str | None]) -> pa.Array:
    """Store question_ids: all of them, or None for each row."""
    return pa.nulls(len(ids), BYTES) if ids[:1] == [None] else stored_texts(ids, str)


def stored_texts(values: list[Any], where: Where, side: str = "predictions") -> pa.Array:
    """Check that predictions are texts, or references lists of texts, and store them."""
    try:
        texts = prediction_texts(values, where) if side == "predictions" else answer_texts(values, where)
        return texts.view(STORED.field(side).type.field(1).type)
    except UnicodeEncodeError:
        if side == "predictions":
            return bytes_array(encode_texts(each_prediction(values, where)))
        return bytes_list_array(encode_texts(each_answers(values, where)))


def stored_trees(trees: list[Any], side: str, where: Where, rules: Protocol) -> pa.Array:
    """Check trees and store them as JSON text, in which alternatives and key order survive Arrow."""
    texts: list[bytes] = []
    for row, tree in enumerate(trees):
        try:
            if not _is_plain_json(tree):
                build_tree(tree, side.removesuffix("s"), rules)
                tree = tree_as_json(tree, side.removesuffix("s"))
            texts.append(json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where(row)}: {error}") from None
        except RecursionError:
            raise ValueError(
                f"{where(row)}: nested too deeply to be stored as JSON; score it with anls_star_score"
            ) from None
    return bytes_array(texts)


def _is_plain_json(tree: Any) -> bool:
    """Return whether a tree is plain JSON, and not so large that it may contain itself."""
    values = [tree]
    for value in values:
        kind = type(value)
        if kind is dict and set(map(type, value)) <= {str} and "$one_of" not in value and "$literal" not in value:
            values.extend(value.values())
        elif kind is list:
            values.extend(value)
        elif kind is int:
            if abs(value) > 2**63:  # perhaps with more digits than Python writes
                return False
        elif (kind not in SCALARS or value != value) and value is not None:
            return False
        if len(values) > _MAX_PLAIN:
            return False
    return True


def is_same_tree(stored: bytes, other: bytes) -> bool:
    """Return whether stored trees are equal, in any order of their keys."""
    return stored == other or len({json.dumps(json.loads(text), sort_keys=True) for text in (stored, other)}) == 1


TEXT_TYPES = {"predictions": TEXTS, "references": TEXT_LISTS}


def stored_table(batches: list[dict[str, Side]], schema: pa.Schema) -> pa.Table:
    """Return the batches as a table of two structs; the shorter side is padded with nulls."""
    columns = []
    for side, kind in zip(schema.names, schema.types, strict=True):
        fields = map(join_arrays, zip(*(batch[side] for batch in batches), strict=True))
        columns.append(pa.StructArray.from_arrays(fields, fields=list(kind)))
    length = max(map(len, columns))
    padded = [[column, pa.nulls(length - len(column), column.type)] for column in columns]
    return pa.Table.from_arrays(list(map(join_arrays, padded)), schema=schema)


def stored_side(table: pa.Table, side: str) -> tuple[pa.Array, pa.Array]:
    """Return the ids and values of one side, without the padding."""
    column = join_arrays(table[side].chunks)
    column = column.filter(column.is_valid()) if column.null_count else column
    return column.field(0), column.field(1)


def id_list(ids: pa.Array) -> list[str]:
    """Return stored question_ids as a list."""
    return as_list(decode_texts(ids, TEXTS))
