"""One pass over the rows of a submission, block by block: the same for whole files and for parts of a data set."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import (
    BYTES,
    TEXTS,
    as_bools,
    as_ints,
    as_list,
    decode_texts,
    number_array,
    text_array,
    text_list_array,
)
from anls_eval.files import Batch, Reader
from anls_eval.inputs.values import is_missing_value
from anls_eval.questions.columns import id_list, stored_ids
from anls_eval.questions.stream import Alignment, without_repeats
from anls_eval.submission.scorers import Scorer, escaped_surrogates, text_column
from anls_eval.submission.totals import Summary
from anls_eval.types import Missing, Unknown

BY = "by "  # before the names of columns to group by, which can be any
NO_VALUE = "no value in "  # before them, in the counts of a summary

SIDES = "predictions", "references"

Rows = Callable[[], Iterator[pa.Table]]
"""Gives the rows of a side as `alignment.Alignment` takes them, from the start."""


class Sides(NamedTuple):
    """What is to be scored.

    Args:
        predictions: The rows of the predictions.
        references: Those of the references.
        notes: What a user must be told about the files.
    """

    predictions: Rows
    references: Rows
    notes: tuple[str, ...]


class Options(NamedTuple):
    """What is asked of a pass.

    Args:
        by: Columns to group by.
        cluster_by: The column with the document of each question.
        columns: Further columns to keep.
        missing: ``"error"`` or ``"zero"``.
        unknown: ``"error"`` or ``"ignore"``.
        keep: Whether the questions stay in memory with their scores.
    """

    by: tuple[str, ...] = ()
    cluster_by: str | None = None
    columns: tuple[str, ...] = ()
    missing: Missing = "error"
    unknown: Unknown = "error"
    keep: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read beside the usual ones."""
        clusters = [] if self.cluster_by is None else [self.cluster_by]
        return tuple(dict.fromkeys((*self.by, *self.columns, *clusters)))


class Pass:
    """One pass over both sides.

    Args:
        sides: What is to be scored.
        scorer: Of the protocol.
        options: What is asked.
        whole: Whether each side is read as a whole, so that ids that come twice can be left out.

    Attributes:
        summary: Of the questions that have been scored.
        kept: These questions and their scores, block by block, where that was asked for.
    """

    def __init__(self, sides: Sides, scorer: Scorer, options: Options, whole: bool) -> None:
        self.scorer, self.summary = scorer, Summary(notes=dict.fromkeys(sides.notes))
        self._options = options
        self.kept: list[tuple[pa.Table, npt.NDArray[np.float64]]] = []
        self._clustered: list[tuple[npt.NDArray[np.float64], list[str]]] = []
        predictions, references = (
            self._whole(rows(), side) if whole else rows() for rows, side in zip(sides[:2], SIDES, strict=True)
        )
        self._alignment = Alignment(predictions, references, options.missing, options.unknown)

    def _whole(self, rows: Iterable[pa.Table], side: str) -> Iterator[pa.Table]:
        tables = list(rows)
        if tables:
            table = pa.concat_tables(tables)
            kept = without_repeats(table, side)
            self.summary.counts[f"repeated {side}"] += table.num_rows - kept.num_rows
            yield kept

    @property
    def fingerprints(self) -> npt.NDArray[np.uint64]:
        """Afterwards, those of the questions, in order."""
        return self._alignment.fingerprints

    def questions(self) -> Iterator[pa.Table]:
        """The questions, block by block."""
        yield from self._alignment
        self.summary.note_ids("missing", self._alignment.lacking)
        self.summary.note_ids("unknown", self._alignment.surplus)

    def scored(
        self, detailed: bool, on_progress: Callable[[int], None]
    ) -> Iterator[tuple[pa.Table, npt.NDArray[np.float64], dict[str, pa.Array]]]:
        """Score block by block; the details are columns of what else there is to say, if asked for."""
        n = 0
        for questions in self.questions():
            scores, details = self.scorer.score(questions, detailed, self.summary)
            self.summary.tally(("score",), scores)
            for name in self._options.by:
                labels = questions[BY + name].combine_chunks()
                lengths = as_ints(pc.list_value_length(labels))
                self.summary.counts[NO_VALUE + name] += int(np.count_nonzero(lengths == 0))
                for value, counts in _grouped(labels, scores):
                    self.summary.count(("by", name, value), counts)
            if self._options.cluster_by is not None:
                self._clustered.append((scores, _one_label(questions, self._options.cluster_by)))
            if self._options.keep:
                self.kept.append((questions, scores))
            n += len(scores)
            on_progress(n)
            yield questions, scores, details

    def rows(self, detailed: bool, on_progress: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Score block by block, and give the rows for a file."""
        for questions, scores, details in self.scored(detailed, on_progress):
            ids = decode_texts(questions["question_id"].combine_chunks(), TEXTS)
            columns = {"question_id": text_column(ids), **details, "score": number_array(scores)}
            for name in self._options.by:
                columns[BY + name if name in columns else name] = _shown_labels(questions[BY + name])
            yield pa.record_batch(columns)

    def clusters(self) -> tuple[npt.NDArray[np.float64], list[str]]:
        """Afterwards, the scores and the document of each, where clusters were asked for."""
        scores = np.concatenate([scores for scores, _ in self._clustered])
        return scores, [label for _, own in self._clustered for label in own]


def sides_of(readers: tuple[Reader, Reader], scorer: Scorer, names: tuple[str, ...]) -> Sides:
    """The rows of two files, checked and stored as the scorer takes them.

    Args:
        readers: Of the predictions and the references.
        scorer: Of the protocol.
        names: Columns to keep, of which each reader reads those that its file is asked for.
    """
    predictions, references = (
        functools.partial(stored_rows, reader, side, scorer, names) for reader, side in zip(readers, SIDES, strict=True)
    )
    return Sides(predictions, references, tuple(note for reader in readers for note in reader.detected.notes))


def stored_rows(reader: Reader, side: str, scorer: Scorer, names: tuple[str, ...]) -> Iterator[pa.Table]:
    """The rows of one file, as in `sides_of`.

    Raises:
        ValueError: A row cannot be read or scored. The message names it.
    """
    for batch in reader.batches():
        ids = batch.question_ids
        columns = {
            "question_id": pa.nulls(len(batch), BYTES) if ids is None else _stored_ids(ids),
            "value": scorer.stored(batch.values, side, _place(reader, batch, side), ids is not None),
        }
        columns |= {BY + name: _labels(batch.columns[name]) for name in names if name in batch.columns}
        if side == "references" and "answer_type" in batch.columns:
            columns["answer_type"] = _labels(batch.columns["answer_type"])
        yield pa.table(columns)


def _place(reader: Reader, batch: Batch, side: str) -> Callable[[int], str]:
    def place(row: int) -> str:
        own = "" if batch.question_ids is None else f" (question_id {str(batch.question_ids[row])!r})"
        return f"{reader.detected.path}, row {batch.first_row + row}{own}: the {side.removesuffix('s')}"

    return place


def _stored_ids(ids: Any) -> pa.Array:
    return ids.cast(BYTES) if isinstance(ids, pa.Array) else stored_ids(ids)


def _labels(column: Any) -> pa.Array:
    """The values of a column as lists of texts, most of them of one."""
    if isinstance(column, pa.Array) and not pa.types.is_nested(column.type):
        with contextlib.suppress(pa.ArrowException):  # durations, bytes and others, of which Python makes texts
            texts = column.cast(pa.large_string())
            ends = np.cumsum(np.concatenate([[0], as_bools(texts.is_valid())]))
            return pa.LargeListArray.from_arrays(number_array(ends), texts.drop_null())
    values = as_list(column)
    return text_list_array([list(map(_text, own)) if isinstance(own, list) else _label(own) for own in values])


def _label(value: Any) -> list[str]:
    return [] if is_missing_value(value) else [_text(value)]


def _text(value: Any) -> str:
    return escaped_surrogates(str(value))


def _one_label(questions: pa.Table, name: str) -> list[str]:
    labels = questions[BY + name].to_pylist()
    for row, own in enumerate(labels):
        if not own or len(own) > 1:
            [id_] = id_list(questions["question_id"][row : row + 1].combine_chunks())
            found = "several values" if own else "no value"
            raise ValueError(f"question_id {id_!r} has {found} in {name!r}; expected the document that it is about")
    return [own[0] for own in labels]


def _shown_labels(labels: pa.ChunkedArray) -> pa.Array:
    shown = [None if not own else own[0] if len(own) == 1 else json.dumps(own) for own in labels.to_pylist()]
    return text_array(shown)


def _grouped(labels: pa.Array, scores: Any) -> Iterator[tuple[str, dict[float, int]]]:
    """The number of questions by label and score."""
    names = labels.flatten().dictionary_encode()
    # Complex numbers are sorted by label, then by score. Arrow's group_by would import pyarrow.dataset and pandas.
    pairs = as_ints(names.indices) + 1j * scores[as_ints(pc.list_parent_indices(labels))]
    found, counts = np.unique(pairs, return_counts=True)
    known = names.dictionary.to_pylist()
    for pair, count in zip(found.tolist(), counts.tolist(), strict=True):
        yield known[int(pair.real)], {pair.imag: count}
