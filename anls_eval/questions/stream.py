"""Pair predictions and references by question_id in a stream, keeping 8 bytes of each id to notice a repeated one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import BYTES, as_bools, as_ints, number_array, text_bytes, text_starts
from anls_eval.questions.pairing import check_same_ids, drop_repeats, first_ids, unmatched_ids

WAITING_ROWS = 262_144
"""The number of rows of a side that wait before the other side is searched; within it, any order is fine."""

JOINED_ROWS = 32_768
"""The maximum number of rows in another order that are joined at once, by copying them."""

_NO_PREDICTIONS = pa.table({"question_id": pa.nulls(0, BYTES), "value": pa.nulls(0, BYTES)})
_CHECKED_AT_ONCE = 1 << 20  # fingerprints, 8 MB

_Fingerprints = npt.NDArray[np.uint64]
_NO_FINGERPRINTS: _Fingerprints = np.zeros(0, dtype=np.uint64)

_WORD = 8  # bytes
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint64)  # masks
_LONG = 1024  # bytes of an id, from which on each is hashed by itself


_Waiting = list[pa.Table | None]  # the rows of predictions and references whose counterparts have not been read

_GROWTH = 1.5  # by how much they must have grown before counterparts are looked for again


class RepeatedIdError(Exception):
    """An id seems to occur twice on one side; the files must be read again, each side as a whole."""


class Alignment:
    """The questions of two streams of rows; afterwards `missing` and `unknown` hold the ids without the other side."""

    # Both streams are tables with the columns question_id (null where the file has no ids), value and any others, whose
    # names differ between the sides. Iterating gives tables with the columns question_id, prediction, answers,
    # is_missing and the others, in the order of the references as long as no more than `WAITING_ROWS` rows wait. An id
    # that comes twice raises RepeatedIdError, unless none does (`unique`), so that equal fingerprints mean nothing.

    def __init__(
        self,
        predictions: Iterable[pa.Table],
        references: Iterable[pa.Table],
        missing: str,
        unknown: str,
        *,
        unique: bool = False,
    ) -> None:
        self._sides = iter(predictions), iter(references)
        self._options, self._unique = (missing, unknown), unique
        self._passed: list[_Fingerprints] = []  # of questions: both sides have the same id
        self._rows = [0, 0]
        self.missing = self.unknown = pa.nulls(0, BYTES)

    def __iter__(self) -> Iterator[pa.Table]:
        waiting: _Waiting = [None, None]
        is_open, most = [True, True], WAITING_ROWS
        while any(is_open):
            lengths = [-1 if table is None else table.num_rows for table in waiting]
            side = 0 if is_open[0] and (lengths[0] <= lengths[1] or not is_open[1]) else 1
            table = next(self._sides[side], None)
            if table is None:
                is_open[side] = False
                continue
            self._rows[side] += table.num_rows
            waiting[side] = pa.concat_tables([held for held in (waiting[side], table) if held is not None])
            left, right = waiting
            if left is None or right is None or not (left.num_rows and right.num_rows):
                continue
            check_same_ids(left["question_id"].null_count, right["question_id"].null_count, in_files=True)
            in_step = min(left.num_rows, right.num_rows)
            if left["question_id"][:in_step].equals(right["question_id"][:in_step]):
                yield self._joined(left[:in_step], right[:in_step])
                waiting = [left[in_step:], right[in_step:]]
            elif max(left.num_rows, right.num_rows) > most:
                left = right = table = None  # so that `_take_pairs` can free what it has taken
                yield from self._joined_by(*_take_pairs(waiting))
                most = max(WAITING_ROWS, *(int(_GROWTH * own.num_rows) for own in waiting if own is not None))
        left = right = table = None
        self._check_repeats(waiting)
        if waiting == [None, None]:
            raise ValueError("nothing to score: predictions and references are empty")
        if any(own is not None and own.num_rows for own in waiting):
            yield from self._rest(waiting)

    def _check_repeats(self, waiting: _Waiting) -> None:
        """Raise a RepeatedIdError if an id occurs twice on one side, among the rows that have passed and those left."""
        if self._unique:
            return
        rests = [table["question_id"] for table in waiting if table is not None and table.num_rows]
        for rest in [fingerprints_of(ids) for ids in rests if not ids.null_count] or [_NO_FINGERPRINTS]:
            if _has_repeats([*self._passed, rest]):
                raise RepeatedIdError

    @property
    def fingerprints(self) -> _Fingerprints:
        """The sorted fingerprints of the questions; empty if they have no ids."""
        return np.sort(np.concatenate([_NO_FINGERPRINTS, *self._passed]))

    def _joined(self, predictions: pa.Table, references: pa.Table) -> pa.Table:
        """Join rows that are in the same order, and keep the fingerprints of their ids."""
        ids = references["question_id"]
        if not ids.null_count:
            self._passed.append(fingerprints_of(ids))
        columns = {
            "question_id": ids,
            "prediction": predictions["value"],
            "answers": references["value"],
            "is_missing": pc.xor(predictions["question_id"].is_null(), ids.is_null()),
        }
        for table in (predictions, references):
            columns |= {name: table[name] for name in table.column_names if name not in ("question_id", "value")}
        return pa.table(columns)

    def _joined_by(self, at: pa.Array, left: pa.Table, right: pa.Table) -> Iterator[pa.Table]:
        """Join each row on the right with that on the left which is `at` its place, part by part."""
        for start in range(0, right.num_rows, JOINED_ROWS):
            part = slice(start, start + JOINED_ROWS)
            yield self._joined(left.take(at[part]), right[part])

    def _rest(self, waiting: _Waiting) -> Iterator[pa.Table]:
        """Pair the rows that are left at the end: those in another order, and those without a counterpart."""
        left, right = waiting
        waiting.clear()
        if right is None:
            raise ValueError("nothing to score: references are empty")
        left = _NO_PREDICTIONS if left is None else left
        if left["question_id"].null_count or right["question_id"].null_count:
            raise ValueError(
                f"{self._rows[0]} predictions but {self._rows[1]} references, and no question_ids; "
                "expected the same number, in the same order."
            )
        self.missing, self.unknown = _ids_without(right, left), _ids_without(left, right)
        both = first_ids(self.missing), first_ids(self.unknown)
        unmatched_ids(*both, self._rows[1], *self._options, in_files=True)  # raises what is an error
        if right.num_rows:
            at = pc.index_in(right["question_id"], value_set=left["question_id"]).combine_chunks()
            left = left.combine_chunks()  # else each part would copy all chunks
            yield from self._joined_by(at, left, right)


def _take_pairs(waiting: _Waiting) -> tuple[pa.Array, pa.Table, pa.Table]:
    """Take out the rows that have their counterpart on the other side, with the places of those of the right."""
    left_ids, right_ids = (table["question_id"] for table in waiting if table is not None)
    at = pc.index_in(right_ids, value_set=left_ids)
    is_paired = np.zeros(len(left_ids), dtype=bool)
    is_paired[as_ints(at.drop_null().combine_chunks())] = True
    if np.count_nonzero(is_paired) != len(at) - at.null_count:
        raise RepeatedIdError
    places = (np.cumsum(is_paired) - 1)[as_ints(at.drop_null().combine_chunks())]
    masks = is_paired, as_bools(at.is_valid().combine_chunks())
    del left_ids, right_ids, at
    taken = []
    for side, mask in enumerate(masks):  # one after the other, so that only one is held twice
        table: Any = waiting[side]
        waiting[side] = table.filter(number_array(~mask)).combine_chunks()
        taken.append(table.filter(number_array(mask)))
    return number_array(places), taken[0].combine_chunks(), taken[1]


def fingerprints_of(ids: pa.ChunkedArray) -> _Fingerprints:
    """Hash question_ids to 64 bits, identically in every process and on every machine."""
    column = ids.combine_chunks()
    starts = text_starts(column) - text_starts(column)[0]
    sizes = np.diff(starts)
    data = np.concatenate([text_bytes(column), np.zeros(_WORD, np.uint8)])
    words = np.ndarray(len(data) - _WORD + 1, "<u8", data, strides=(1,))  # of eight bytes, from each byte on
    hashes = _mixed(sizes.astype(np.uint64))  # else "b\0" would be as "a": a bit of the size is one of the text
    rows = np.flatnonzero((sizes > 0) & (sizes <= _LONG))
    for place in range(0, int(sizes[rows].max(initial=0)), _WORD):
        rows = rows[sizes[rows] > place]
        word = words[starts[rows] + place] & _FIRST_BYTES[np.minimum(sizes[rows] - place, _WORD)]
        hashes[rows] = _mixed(hashes[rows] ^ word)
    for row in np.flatnonzero(sizes > _LONG).tolist():
        digest = hashlib.blake2b(data[starts[row] : starts[row + 1]].tobytes(), digest_size=_WORD).digest()
        hashes[row] = int.from_bytes(digest, "little")
    return hashes


def _mixed(values: _Fingerprints) -> _Fingerprints:
    """Spread each bit over all 64, as the last step of SplitMix64 does, which maps no two values to one."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _has_repeats(blocks: list[_Fingerprints]) -> bool:
    """Return whether a fingerprint occurs twice; only a share of them at a time is copied."""
    shares = 1 + sum(map(len, blocks)) // _CHECKED_AT_ONCE
    return any(
        come_twice([block[block % np.uint64(shares) == share] for block in blocks] if shares > 1 else blocks)
        for share in range(shares)
    )


def come_twice(blocks: Sequence[_Fingerprints]) -> bool:
    """Return whether one of all these fingerprints occurs twice."""
    ordered = np.concatenate(blocks)
    ordered.sort()
    return bool((ordered[1:] == ordered[:-1]).any())


def _ids_without(table: pa.Table, other: pa.Table) -> pa.Array:
    """Return the ids of a table that another does not have."""
    ids = table["question_id"]
    return ids.filter(pc.invert(pc.is_in(ids, value_set=other["question_id"]))).combine_chunks()


def without_repeats(table: pa.Table, side: str, in_file: Callable[[int], str] = lambda row: "") -> pa.Table:
    """Return all rows of one side without those that repeat an id with the same content, by `drop_repeats`."""
    ids, values = (table[name].combine_chunks() for name in ("question_id", "value"))
    if ids.null_count:
        return table
    kept, _ = drop_repeats(ids, values, side, [], in_file=in_file)
    return table.take(pc.index_in(kept, value_set=ids))
