"""Rows of many files brought together by their question_ids, through files that hold them bucket by bucket.

A bucket is what the hash of an id leaves when it is divided by the number of buckets: the two sides of a question are
in the same one, and so is an id that comes twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from anls_eval.arrow import number_array
from anls_eval.files import FormatError, Reader
from anls_eval.files.write import whole_file
from anls_eval.questions.stream import fingerprints_of
from anls_eval.submission.passes import stored_rows
from anls_eval.submission.scorers import Scorer

_HELD = 128 << 20  # bytes of rows that are put in order at once

_Cut = list[pa.RecordBatch]


def write_buckets(path: Path, reader: Reader, side: str, scorer: Scorer, names: tuple[str, ...], buckets: int) -> None:
    """Write the rows of a file in the order of their buckets, to an Arrow file with one batch for each of them.

    A file that is too long to be put in order at once has the batches of all buckets several times over.

    Args:
        path: The file to write.
        reader: Of the rows.
        side: ``"predictions"`` or ``"references"``.
        scorer: Of the protocol.
        names: Columns to keep.
        buckets: How many there are.

    Raises:
        ValueError: A row cannot be read, or the rows have no ids.
    """
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with whole_file(path) as unfinished:
        cuts = (_cut(rows, buckets, reader) for rows in _held(stored_rows(reader, side, scorer, names)))
        first = next(cuts)
        with pa.ipc.new_file(str(unfinished), first[0].schema, options=options) as writer:
            for cut in (first, *cuts):
                for batch in cut:
                    writer.write_batch(batch)


def _held(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """As many rows as fit in memory."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.nbytes
        if size >= _HELD:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _cut(rows: pa.Table, buckets: int, reader: Reader) -> _Cut:
    """The rows of each bucket."""
    if rows["question_id"].null_count:
        raise FormatError(reader.detected.path, "", "no question_ids. Expected them in every file, or in none.")
    own = (fingerprints_of(rows["question_id"]) % np.uint64(buckets)).astype(np.min_scalar_type(buckets))
    order = number_array(np.argsort(own, kind="stable"))  # 16 bits and fewer are sorted by their digits, in no time
    [batch] = rows.combine_chunks().take(order).combine_chunks().to_batches()
    ends = np.cumsum(np.bincount(own, minlength=buckets))
    return [batch.slice(start, end - start) for start, end in zip([0, *ends.tolist()], ends.tolist(), strict=False)]


def bucket_rows(paths: Sequence[Path], bucket: int, buckets: int) -> Iterator[pa.Table]:
    """Give the rows of one bucket from all files of a side, as one table.

    Args:
        paths: What `write_buckets` wrote.
        bucket: The number of the bucket.
        buckets: How many there are.
    """
    batches = []
    for path in paths:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            batches += [reader.get_batch(number) for number in range(bucket, reader.num_record_batches, buckets)]
    yield pa.Table.from_batches(batches).combine_chunks()
