"""Pair predictions and references by question_id."""

from __future__ import annotations

import functools
import operator
import reprlib
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import as_bools, as_list, decode_texts, number_array
from anls_eval.errors import AnlsError, Remedy
from anls_eval.questions.columns import TEXT_TYPES, id_list, stored_side

_SHOWN = 5  # ids in a message


class Aligned(NamedTuple):
    """The questions in the order of the references, with a null for each missing prediction."""

    question_ids: list[str] | None
    texts: pa.Array
    answers: pa.Array
    missing: list[int]  # the rows of those nulls
    unknown: int
    notes: list[str]


def align_questions(
    table: pa.Table, missing: str, unknown: str, same: Callable[[Any, Any], bool] = operator.eq
) -> Aligned:
    """Pair predictions and references by question_id, or by position where there are no ids."""
    prediction_ids, texts = stored_side(table, "predictions")
    reference_ids, answers = stored_side(table, "references")
    if not len(texts) and not len(answers):
        raise ValueError("nothing to score: predictions and references are empty")
    if prediction_ids.null_count == len(texts) and reference_ids.null_count == len(answers):
        return Aligned(None, texts, answers, [], 0, [])
    if prediction_ids.null_count or reference_ids.null_count:
        raise ValueError("some rows have a question_id and others have none; expected all with one or all without")

    notes: list[str] = []
    prediction_ids, texts = drop_repeats(prediction_ids, texts, "predictions", notes, same)
    if prediction_ids.equals(reference_ids):  # then the references do not repeat either
        return Aligned(reference_ids, texts, answers, [], 0, notes)
    reference_ids, answers = drop_repeats(reference_ids, answers, "references", notes, same)
    positions = pc.index_in(reference_ids, value_set=prediction_ids)
    missing_rows = np.flatnonzero(as_bools(positions.is_null()))
    unknown_ids = prediction_ids[:0]
    if len(prediction_ids) > len(reference_ids) - len(missing_rows):
        unknown_ids = prediction_ids.filter(pc.invert(pc.is_in(prediction_ids, value_set=reference_ids)))
    missing_ids = reference_ids.take(number_array(missing_rows))
    notes += unmatched_ids(first_ids(missing_ids), first_ids(unknown_ids), len(answers), missing, unknown)
    if not len(answers):
        raise ValueError("nothing to score: references are empty")
    return Aligned(reference_ids, texts.take(positions), answers, missing_rows.tolist(), len(unknown_ids), notes)


def check_same_ids(predictions_without: object, references_without: object, in_files: bool = False) -> None:
    """Raise an AnlsError if rows of only one side are without question_ids."""
    if bool(predictions_without) != bool(references_without):
        without, other = ("predictions", "references") if predictions_without else ("references", "predictions")
        remedy = Remedy("columns", {f"{without}.question_id": "NAME"}, f"name the id column of the {without}")
        raise AnlsError(
            f"{other} have question_ids and {without} have none; either both need question_ids or neither does.",
            remedies=[remedy] if in_files else [],
        )


class UnmatchedIdsError(AnlsError):
    """Ids of one side are not on the other."""

    def with_incomplete(self, files: Sequence[str]) -> UnmatchedIdsError:
        """Return this error with notes on files that are empty or may be cut off, which may be the reason."""
        more = [f"{len(files) - _SHOWN:,} more are empty or incomplete"] if len(files) > _SHOWN else []
        told = [*files[:_SHOWN], *more]
        return UnmatchedIdsError(self.problem + "".join(f" {note}." for note in told), remedies=self.remedies)


FirstIds = tuple[int, list[str]]  # the number of some ids, and the first of them, which messages show


def first_ids(ids: pa.Array) -> FirstIds:
    """Count ids, and return the first of them."""
    return len(ids), id_list(ids[:_SHOWN])


def unmatched_ids(
    missing_ids: FirstIds, unknown_ids: FirstIds, n: int, missing: str, unknown: str, in_files: bool = False
) -> list[str]:
    """Return the notes on missing and unknown ids of n questions, or raise the error where they are not allowed."""
    if (missing_ids[0] and missing == "error") or (unknown_ids[0] and unknown == "error"):
        found = " and ".join(
            [
                *_named_ids(missing_ids, "question has no prediction", "questions have no prediction"),
                *_named_ids(unknown_ids, "prediction has no reference", "predictions have no reference"),
            ]
        )
        way = _written_otherwise(missing_ids[1], unknown_ids[1])
        advice = f"{way}. Write the ids of both sides alike, as text."
        if n and unknown_ids[0] and missing_ids[0] == n:  # counting all of them as 0 would help nobody
            problem = f"{found}. There is no id in common: "
            if way:
                raise UnmatchedIdsError(f"{problem}they {advice}")
            raise UnmatchedIdsError(
                f"{problem}are they from different splits?", remedies=[NAME_IDS] if in_files else []
            )
        remedies = [COUNT_AS_ZERO] if missing_ids[0] else []
        remedies += [IGNORE_UNKNOWN] if unknown_ids[0] else []
        problem = f"{found}. They {advice}" if way else f"{found}. Expected the same ids on both sides."
        raise UnmatchedIdsError(problem, remedies=remedies)
    return [
        *_named_ids(missing_ids, "question has no prediction and scores 0", "questions have no prediction and score 0"),
        *_named_ids(
            unknown_ids, "prediction has no reference and is left out", "predictions have no reference and are left out"
        ),
    ]


def _written_otherwise(missing: list[str], unknown: list[str]) -> str:
    """Return in which way the first ids of both sides differ, if it is one way and none of them differs otherwise."""
    if not missing or not unknown:
        return ""
    wanted, given = set(missing), set(unknown)
    ways: dict[str, Callable[[str], str]] = {
        "differ in whitespace": str.strip,
        "differ in a final .0, which pandas writes where an id was missing": lambda id_: id_.removesuffix(".0"),
        "differ in leading zeros": lambda id_: id_[:-1].lstrip("0") + id_[-1:],
        "differ in upper and lower case": str.casefold,
        "look alike, but are composed of other characters (Unicode NFC or NFD)": functools.partial(
            unicodedata.normalize, "NFC"
        ),
    }
    for way, plain in ways.items():
        if set(map(plain, wanted)) == set(map(plain, given)):
            return way
    for one, other, side in ((missing, unknown, "predictions"), (unknown, missing, "references")):
        start = other[0].removesuffix(one[0])
        if start and not start[-1].isdigit() and {f"{start}{id_}" for id_ in one} == set(other):
            return f"begin with {start!r} in the {side} alone"
    return ""


COUNT_AS_ZERO = Remedy("missing", "zero", "count missing predictions as 0")
IGNORE_UNKNOWN = Remedy("unknown", "ignore", "ignore predictions with unknown ids")
NAME_IDS = Remedy(
    "columns",
    {"predictions.question_id": "NAME", "references.question_id": "NAME"},
    "pair by other columns",
)


def _named_ids(ids: FirstIds, one: str, several: str) -> list[str]:
    """Return the sentence ``2 questions have no prediction: question_ids '3', '7'``, or none if there are no ids."""
    count, first = ids
    names = ", ".join([repr(id_) if len(id_) <= 60 else reprlib.repr(id_) for id_ in first])
    if count <= 1:
        return [f"1 {one}: question_id {names}"] * count
    return [f"{count} {several}: question_ids {names}{f' and {count - len(first)} more' if count > len(first) else ''}"]


def drop_repeats(
    ids: pa.Array,
    values: pa.Array,
    side: str,
    notes: list[str],
    same: Callable[[Any, Any], bool] = operator.eq,
    in_file: Callable[[int], str] = lambda row: "",
) -> tuple[pa.Array, pa.Array]:
    """Drop rows that repeat an id with the same content, as samplers that pad the last batch do."""
    if len(pc.unique(ids)) == len(ids):
        return ids, values
    first_of: dict[bytes, int] = {}
    contents = values.to_pylist()
    for row, id_ in enumerate(ids.to_pylist()):
        first = first_of.setdefault(id_, row)
        if not same(contents[first], contents[row]):
            kind = TEXT_TYPES["references" if pa.types.is_large_list(values.type) else "predictions"]
            given, again = (as_list(decode_texts(values[at : at + 1], kind))[0] for at in (first, row))
            raise ValueError(
                f"duplicate question_id {id_list(ids[row : row + 1])[0]!r} in {side} with different content: "
                f"{given!r}{in_file(first)} and {again!r}{in_file(row)}; expected each question_id once. Remove one of "
                "them."
            )
    kept = number_array(np.array(list(first_of.values())))
    notes.append(repeated_note(len(ids) - len(kept), side))
    return ids.take(kept), values.take(kept)


def repeated_note(count: int, side: str) -> str:
    """Return the note on rows of a side that were left out because they repeat others."""
    rows = "row" if count == 1 else "rows"
    return f"{count:,} repeated {rows} in the {side} (same question_id, same content): left out"
