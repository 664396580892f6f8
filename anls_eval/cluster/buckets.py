"""Match rows of many files by question_id: each file is written in buckets, which are read back one at a time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from anls_eval.arrow import number_array
from anls_eval.cluster.records import unreadable
from anls_eval.files import FormatError, Reader
from anls_eval.files.arrow_files import IN_THIS_THREAD
from anls_eval.files.write import CountedFile, Written, whole_file
from anls_eval.opening import open_regular
from anls_eval.questions.stream import fingerprints_of
from anls_eval.submission.passes import Side, stored_rows
from anls_eval.submission.scorers import Scorer

_HELD = 128 << 20  # bytes of rows that are put in order at once

_FILE = b"file"  # in the metadata of the schema: the file that the rows are from


def write_buckets(path: Path, reader: Reader, side: str, scorer: Scorer, names: Sequence[str], buckets: int) -> Written:
    """Write the rows of a file to an Arrow file, bucket by bucket, with one batch per bucket."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with whole_file(path, is_synced=False) as unfinished:
        cuts = (_cut(rows, buckets, reader) for rows in _held(stored_rows(reader, side, scorer, names)))
        first = next(cuts)
        schema = first[0].schema.with_metadata({_FILE: os.fsencode(reader.detected.path)})
        with CountedFile(unfinished) as file, pa.ipc.new_file(file, schema, options=options) as writer:
            for cut in itertools.chain([first], cuts):
                for batch in cut:
                    writer.write_batch(batch)
    return file.written


def _held(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Join tables until they have about `_HELD` bytes."""
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


def _cut(rows: pa.Table, buckets: int, reader: Reader) -> list[pa.RecordBatch]:
    """Return the rows of each bucket."""
    if rows["question_id"].null_count:
        raise FormatError(reader.detected.path, "no question_ids. Expected them in every file or in none.")
    # Both sides of a question fall into the same bucket, and so do repeats of an id.
    own = (fingerprints_of(rows["question_id"]) % np.uint64(buckets)).astype(np.min_scalar_type(buckets))
    order = number_array(np.argsort(own, kind="stable"))  # 16 bits and fewer are sorted by their digits, in no time
    [batch] = rows.combine_chunks().take(order).combine_chunks().to_batches()
    ends = np.cumsum(np.bincount(own, minlength=buckets))
    return [batch.slice(start, end - start) for start, end in zip([0, *ends.tolist()], ends.tolist(), strict=False)]


class BucketSide(Side):
    """The rows of one side in one bucket, from the files that `write_buckets` wrote."""

    def __init__(self, paths: Sequence[Path], bucket: int, buckets: int) -> None:
        super().__init__()
        self._paths, self._bucket, self._buckets = paths, bucket, buckets

    def tables(self) -> Iterator[pa.Table]:
        """Read the rows as one table."""
        batches: list[pa.RecordBatch] = []
        self.files.clear()
        self.rows.clear()
        for path in self._paths:
            try:
                with open_regular(path) as file, pa.ipc.open_file(file, options=IN_THIS_THREAD) as reader:
                    # A file too large to be ordered at once has the batches of all buckets several times over.
                    numbers = range(self._bucket, reader.num_record_batches, self._buckets)
                    own = [reader.get_batch(number) for number in numbers]
                    self.files.append(os.fsdecode(reader.schema.metadata[_FILE]))
                    self.rows.append(sum(map(len, own)))
            except (OSError, pa.ArrowException) as error:
                raise unreadable(path, error) from None
            batches += own
        yield pa.Table.from_batches(batches).combine_chunks()
