"""Pair predictions and references by question_id in a stream, keeping 8 bytes of each id to notice a repeated one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import BYTES, as_ints, number_array, text_bytes, text_starts
from anls_eval.questions.pairing import check_same_ids, drop_repeats, first_ids, unmatched_ids

WAITING_ROWS = 262_144
"""The number of rows of a side that wait before the other side is searched; within it, any order is fine."""

JOINED_ROWS = 32_768
"""The maximum number of rows in another order that are joined at once, by copying them."""

_NO_PREDICTIONS = pa.table({"question_id": pa.nulls(0, BYTES), "value": pa.nulls(0, BYTES)})
_CHECKED_AT_ONCE = 1 << 20  # fingerprints, 8 MB

_Fingerprints = npt.NDArray[np.uint64]
_NO_FINGERPRINTS: _Fingerprints = np.zeros(0, dtype=np.uint64)

FINGERPRINTS = 2
"""The version of `fingerprints_of`: those of another version are not compared with these."""

_WORD = 8  # bytes
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint64)  # masks
_LONG = 1024  # bytes of an id, from which on each is hashed by itself


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
        waiting: list[pa.Table | None] = [None, None]
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
                left, right = left.combine_chunks(), right.combine_chunks()  # else each take copies all chunks
                waiting = [left, right]
                at = pc.index_in(right["question_id"], value_set=left["question_id"])
                is_left = np.ones(left.num_rows, dtype=bool)
                is_left[as_ints(at.drop_null().combine_chunks())] = False
                if np.count_nonzero(~is_left) != len(at) - at.null_count:
                    raise RepeatedIdError
                yield from self._joined_by(at, pc.indices_nonzero(at.is_valid()), left, right)
                left, right = left.filter(number_array(is_left)), right.filter(at.is_null())
                waiting, most = [left, right], max(WAITING_ROWS, 2 * left.num_rows, 2 * right.num_rows)
        if not self._unique:
            rests = [table["question_id"] for table in waiting if table is not None and table.num_rows]
            for rest in [fingerprints_of(ids) for ids in rests if not ids.null_count] or [_NO_FINGERPRINTS]:
                if _has_repeats([*self._passed, rest]):  # on one side, among the rows that have passed and those left
                    raise RepeatedIdError
        if waiting == [None, None]:
            raise ValueError("nothing to score: predictions and references are empty")
        if any(table is not None and table.num_rows for table in waiting):
            yield from self._rest(*waiting)

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

    def _joined_by(self, at: pa.ChunkedArray, rows: pa.Array, left: pa.Table, right: pa.Table) -> Iterator[pa.Table]:
        """Join some rows on the right with those on the left, which are `at` these places, part by part."""
        for start in range(0, len(rows), JOINED_ROWS):
            part = rows[start : start + JOINED_ROWS]
            yield self._joined(left.take(at.take(part)), right.take(part))

    def _rest(self, left: pa.Table | None, right: pa.Table | None) -> Iterator[pa.Table]:
        """Pair the rows that are left at the end: those in another order, and those without a counterpart."""
        if right is None:
            raise ValueError("nothing to score: references are empty")
        left = _NO_PREDICTIONS if left is None else left
        if left["question_id"].null_count or right["question_id"].null_count:
            raise ValueError(
                f"{self._rows[0]} predictions but {self._rows[1]} references, and no question_ids; "
                "expected the same number, in the same order."
            )
        left, right = left.combine_chunks(), right.combine_chunks()
        self.missing = _without(right, left)["question_id"].combine_chunks()
        self.unknown = _without(left, right)["question_id"].combine_chunks()
        both = first_ids(self.missing), first_ids(self.unknown)
        unmatched_ids(*both, self._rows[1], *self._options, in_files=True)  # raises what is an error
        if right.num_rows:
            at = pc.index_in(right["question_id"], value_set=left["question_id"])
            yield from self._joined_by(at, number_array(np.arange(len(at))), left, right)


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


def _without(table: pa.Table, other: pa.Table) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["question_id"], value_set=other["question_id"])))


def without_repeats(table: pa.Table, side: str, in_file: Callable[[int], str] = lambda row: "") -> pa.Table:
    """Return all rows of one side without those that repeat an id with the same content, by `drop_repeats`."""
    ids, values = (table[name].combine_chunks() for name in ("question_id", "value"))
    if ids.null_count:
        return table
    kept, _ = drop_repeats(ids, values, side, [], in_file=in_file)
    return table.take(pc.index_in(kept, value_set=ids))
