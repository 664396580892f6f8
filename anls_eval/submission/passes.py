"""One pass over the rows of a submission, block by block: the same for whole files and for parts of a data set."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

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
from anls_eval.errors import AnlsError, Remedy, check_choice
from anls_eval.fields.fields import FieldsLike, as_fields
from anls_eval.files import Batch, Detected, FormatError, Reader
from anls_eval.files.errors import NoRowsError
from anls_eval.files.joined import WITHOUT_END
from anls_eval.files.nested import nested_remedy
from anls_eval.files.paths import check_order
from anls_eval.files.printed import Holds
from anls_eval.files.reading import VALUES, WITHOUT_ROWS, check_is_row
from anls_eval.inputs.values import is_missing_value
from anls_eval.questions.columns import id_list, stored_ids
from anls_eval.questions.pairing import UnmatchedIdsError, first_ids
from anls_eval.questions.stream import Alignment, without_repeats
from anls_eval.registry import MISSING, UNKNOWN
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.structure import Parse, parse_names
from anls_eval.submission.scorers import (
    OPTION,
    RAW,
    BenchmarkScorer,
    Scorer,
    TextScorer,
    escaped_surrogates,
    make_scorer,
    text_column,
)
from anls_eval.submission.totals import Totals
from anls_eval.types import Extract, Missing, Unknown

BY = "by "  # before the names of columns to group by, which can be any
NO_VALUE = "no value in "  # before them, in the counts of a totals

SIDES = "predictions", "references"


class Side:
    """The rows of one side, in one file or several, as `questions.stream.Alignment` reads them."""

    def __init__(self, files: Sequence[str] = (), notes: tuple[str, ...] = ()) -> None:
        self.files, self.notes = list(files), notes
        self.rows: list[int] = []  # of each file that has been read to its end

    def tables(self) -> Iterator[pa.Table]:
        """Read the rows from the start."""
        raise NotImplementedError

    def read(self) -> Totals:
        """Return what is to say of the rows that have been read."""
        return Totals()

    def in_file(self, row: int) -> str:
        """Name the file of a row that has been read, for a message; empty if there is only one file."""
        if len(self.files) == 1:
            return ""
        return f" in {self.files[int(np.searchsorted(np.cumsum(self.rows), row, side='right'))]}"


Sides = tuple[Side, Side]
"""Predictions and references."""


class OptionWords(TypedDict, total=False):
    """The fields of `Options` as keywords."""

    protocol: str | Protocol
    threshold: Threshold
    extract: Extract
    by: Sequence[str]
    missing: Missing
    unknown: Unknown
    cluster_by: str | None
    seed: int
    fields: FieldsLike
    parse: Parse
    options: Mapping[str, object] | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `score_submission`, checked."""

    protocol: str | Protocol = "standard"
    threshold: Threshold = None
    extract: Extract = None
    by: Sequence[str] = ()
    missing: Missing = "error"
    unknown: Unknown = "error"
    cluster_by: str | None = None
    seed: int = 0
    fields: FieldsLike = None
    parse: Parse = None
    options: Mapping[str, object] | None = None  # of a benchmark; those that each question has name their columns
    columns: Sequence[str] = ()  # to keep, without grouping the score by them

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", as_fields(self.fields))  # once, since a pass resolves their rules
        self.scorer()  # refuses what is wrong with the protocol, the threshold and the fields
        if isinstance(self.by, str):
            raise AnlsError(f'by is a str; expected a list of column names: by=["{self.by}"].')
        check_choice("missing", self.missing, MISSING)
        check_choice("unknown", self.unknown, UNKNOWN)
        never = [side for side in parse_names(self.parse, self.by) or () if side in SIDES and not self._kind(side)]
        if never:
            why = "reads lists from texts itself" if never == ["references"] else "compares predictions as they are"
            raise AnlsError(f"protocol {self.scorer().rules.name!r} {why}", option="parse", value=self.parse)

    def scorer(self) -> Scorer:
        """Return a scorer of the protocol."""
        return make_scorer(self.protocol, self.threshold, self.extract, self.fields, self.options)

    def opened(self, reader: Reader, side: str, all_printed: Mapping[str, bool | None] | None = None) -> Reader:
        """Return a reader of one side that reads what the rules need, with its texts taken apart as asked.

        `all_printed` tells of columns whether all of their texts, also in other files, can be.
        """
        reader = self.scorer().open_references(reader) if side == "references" else reader
        asked, known = parse_names(self.parse, self.by), all_printed or {}
        kind = self._kind(side)
        kinds = {VALUES: kind} if kind else {}
        kinds |= dict.fromkeys(self.by, "labels")
        of_options = self.scorer().option_columns.values()
        kinds |= dict.fromkeys(of_options, "documents")

        def each(name: str) -> bool | None:
            return (
                None
                if asked is None or name in of_options
                else True
                if (name or side) in asked
                else None
                if asked
                else False
            )

        steps = {VALUES: self.scorer().rules.extract} if side == "predictions" else {}
        holds = {name: Holds(own, each(name), known.get(name), steps.get(name, ())) for name, own in kinds.items()}
        return reader.holding(holds)

    def check_are_rows(self, predictions: Reader, references: Reader) -> None:
        """Refuse objects that are read as rows and may be documents, where documents are compared."""
        for reader, side, role in zip((predictions, references), SIDES, ("prediction", "answers"), strict=True):
            if self._kind(side) in ("trees", "documents"):
                check_is_row(reader.detected, role)

    def _kind(self, side: str) -> str:
        """Return what the values of a side can hold, of `anls_eval.files.printed.READERS`; empty for nothing."""
        scorer = self.scorer()
        if scorer.metric == "anls_star_score":
            return "trees"
        if isinstance(scorer, BenchmarkScorer) and scorer.rules.unit == "document":
            return "documents"
        return "texts" if side == "references" and not scorer.rules.reads_lists else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to keep besides those with a role."""
        clusters = [] if self.cluster_by is None else [self.cluster_by]
        return tuple(dict.fromkeys((*self.by, *self.columns, *clusters)))

    @property
    def read_names(self) -> tuple[str, ...]:
        """The columns to read besides those with a role: the `names`, and those of the options of each question."""
        return tuple(dict.fromkeys((*self.names, *self.scorer().option_columns.values())))


ScoredRows = tuple[pa.Table, npt.NDArray[np.float64], Any]
"""Some questions, their scores, and what `Scorer.columns` takes, if that was asked for."""

Kept = Literal["questions", "ids", "documents"]
"""What a pass keeps of each question beside its score: everything, its id and named columns, or its document if any."""


@contextlib.contextmanager
def telling_incomplete_files(totals: Totals, sides: Sequence[Side] = ()) -> Iterator[None]:
    """Name the files that are empty, or may be cut off, in an error about ids that are on one side alone."""
    try:
        yield
    except UnmatchedIdsError as error:
        notes = dict.fromkeys((*totals.notes, *(note for side in sides for note in side.read().notes)))
        raise error.with_incomplete([note for note in notes if note.endswith((WITHOUT_ROWS, WITHOUT_END))]) from None


class Pass:
    """One pass over both sides, which scores the questions block by block and adds up their `totals`."""

    def __init__(
        self, sides: Sides, options: Options, whole: bool, *, keep: Kept = "documents", measure: bool = False
    ) -> None:
        # As a `whole`, sides can drop repeated ids.
        self.scorer, self.totals = options.scorer(), Totals(notes=dict.fromkeys((*sides[0].notes, *sides[1].notes)))
        self.measures = measure and isinstance(self.scorer, TextScorer)
        self._options, self._keep, self._sides = options, keep, sides
        self.kept: list[ScoredRows] = []
        predictions, references = (
            self._whole(rows, side) if whole else rows.tables() for rows, side in zip(sides, SIDES, strict=True)
        )
        self._alignment = Alignment(predictions, references, options.missing, options.unknown, unique=whole)

    def _whole(self, rows: Side, side: str) -> Iterator[pa.Table]:
        tables = list(rows.tables())
        if tables:
            table = pa.concat_tables(tables)
            kept = without_repeats(table, side, rows.in_file)
            self.totals.counts[f"repeated {side}"] += table.num_rows - kept.num_rows
            yield kept

    @property
    def fingerprints(self) -> npt.NDArray[np.uint64]:
        """The fingerprints of the questions in order, once all are read."""
        return self._alignment.fingerprints

    def questions(self) -> Iterator[pa.Table]:
        """Yield the questions block by block."""
        with telling_incomplete_files(self.totals, self._sides):
            for questions in self._alignment:
                yield self.scorer.extracted(questions, self.totals)
        self.totals.note("missing", *first_ids(self._alignment.missing))
        self.totals.note("unknown", *first_ids(self._alignment.unknown))
        for side in self._sides:
            self.totals.add(side.read())

    def scored(self, detailed: bool, on_progress: Callable[[int], None] | None = None) -> Iterator[ScoredRows]:
        """Score block by block; if `detailed`, with what `Scorer.columns` takes."""
        documents = self._options.cluster_by
        for questions in self.questions():
            scores, found = self.scorer.score(questions, detailed or self.measures, self.totals)
            self.totals.tally(("score",), scores)
            if self.scorer.rules.extract:
                self.scorer.tally_without(questions, scores, found, self.totals)
            for name in self._options.by:
                labels = questions[BY + name].combine_chunks()
                lengths = as_ints(pc.list_value_length(labels))
                self.totals.counts[NO_VALUE + name] += int(np.count_nonzero(lengths == 0))
                for values, counts in _grouped(labels, scores):
                    self.totals.count(("by", name, *values), counts)
                self.scorer.tally_groups(name, labels, found, self.totals)
            if documents is not None:
                id_of = functools.partial(_id_of, questions["question_id"])
                documents_of(questions[BY + documents].to_pylist(), id_of, documents)
            if self._keep == "questions":
                self.kept.append((questions, scores, found))
            elif self._keep == "ids" or documents is not None:
                names = ["question_id"] if self._keep == "ids" else []
                names += [BY + name for name in self._options.names]
                self.kept.append((questions.select(names), scores, None if self.scorer.averages else found))
            if on_progress is not None:
                on_progress(self.totals.n)
            yield questions, scores, found

    def rows(
        self, detailed: bool, on_progress: Callable[[int], None] | None = None, lists: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Score block by block, and yield the rows for a file; with `lists`, groups that are lists stay lists."""
        of_lists: dict[str, bool] = {}  # decided by the first block, since a column has one type
        for questions, scores, found in self.scored(detailed, on_progress):
            details = self.scorer.columns(questions, found) if detailed else {}
            if detailed and RAW in questions.column_names:
                raw = text_column(decode_texts(questions[RAW].combine_chunks(), TEXTS))
                details = {"prediction": details["prediction"], RAW: raw, **details}
            ids = decode_texts(questions["question_id"].combine_chunks(), TEXTS)
            columns = {"question_id": text_column(ids), **details, "score": number_array(scores)}
            for name in self._options.by:
                labels = questions[BY + name].combine_chunks()
                is_several = lists and bool(np.any(as_ints(pc.list_value_length(labels)) > 1))
                of_lists.setdefault(name, is_several)
                column = BY + name if name in columns else name
                columns[column] = labels if of_lists[name] else _one_text_each(labels)
            yield pa.record_batch(columns)

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """The scores of the questions in `kept`, once all are scored."""
        return np.concatenate([scores for _, scores, _ in self.kept])

    @property
    def counted(self) -> list[str] | None:
        """What is counted of each question in `kept`, as text; None where the score is a mean."""
        return None if self.scorer.averages else [text for *_, found in self.kept for text in found.texts]

    @property
    def kept_questions(self) -> pa.Table:
        """The questions in `kept`, once all are scored."""
        return pa.concat_tables([questions for questions, *_ in self.kept]).combine_chunks()


class FileSide(Side):
    """The rows of one side in files, with the columns in `names` that the reader reads."""

    def __init__(
        self, reader: Reader, side: str, scorer: Scorer, names: Sequence[str], may_be_empty: bool = False
    ) -> None:
        super().__init__([part.detected.path for part in reader.parts], reader.detected.notes)
        self._parts, self._side, self._names, self._may_be_empty = reader.parts, side, names, may_be_empty
        self.other: FileSide | None = None
        self._tables = [functools.partial(stored_rows, part, side, scorer, names) for part in reader.parts]

    def tables(self) -> Iterator[pa.Table]:
        """Read the rows from the start; without ids, check that paired files have the same number of rows."""
        self.rows.clear()
        for part, tables in zip(self._parts, self._tables, strict=True):
            n = 0
            try:
                for table in tables():
                    n += table.num_rows
                    yield table
            except NoRowsError:
                if len(self._parts) == 1 and not self._may_be_empty:
                    raise
            except ValueError:  # of the first row without an answer
                if self._side == "references" and all(map(_has_no_answers, self._parts)):
                    raise blank_error(self._parts[0].detected) from None
                raise
            self.rows.append(n)
            if "question_id" not in part.detected.columns and self.other is not None:
                _check_lengths(self, self.other)
        if not any(self.rows):
            if not self._may_be_empty:
                raise NoRowsError(self.files[0], f"neither this file nor the other {len(self.files) - 1} have a row.")
            yield self._no_rows()
        elif not self._may_be_empty and all(part.is_blank for part in self._parts):
            raise blank_error(self._parts[0].detected)

    def _no_rows(self) -> pa.Table:
        names = [BY + name for name in self._names if name in self._parts[0].names]
        columns = {"question_id": BYTES, "value": BYTES} | dict.fromkeys(names, pa.large_list(pa.large_string()))
        return pa.table({name: pa.nulls(0, kind) for name, kind in columns.items()})

    def read(self) -> Totals:
        """Return the notes on the files that have been read, and the counts of printed lists and dicts."""
        totals = Totals()
        for part in self._parts:
            totals.add(read_totals(part, self._side))
        return totals


def _has_no_answers(part: Reader) -> bool:
    """Return whether no row of a file has an answer: each is missing, blank or an empty list."""
    return all(
        value is None or value == [] or (isinstance(value, str) and not value.strip())
        for batch in part.batches()
        for value in as_list(batch.values)
    )


def blank_error(first: Detected) -> FormatError:
    """Return the error of references whose answers are all blank, by what the first file is like."""
    return FormatError(
        first.path,
        f"the column {first.columns['answers']!r} is blank in every row: there are no answers to score against.",
        remedies=[Remedy("columns", {"answers": "NAME"}, "name the column that has them")],
    )


PRINTED = "printed "
"""Before what was done with texts that print lists and dicts, in the counts of a totals."""

ANSWERED = "answered files"
"""The number of reference files in which an answer is not blank, in the counts of a totals."""


def read_totals(reader: Reader, side: str) -> Totals:
    """Return the notes on a file that has been read, and its counts of printed lists and dicts and of answers."""
    totals = Totals(notes=dict.fromkeys(reader.notes))
    if side == "references":
        totals.counts[ANSWERED] += not reader.is_blank
    for name, own in reader.printed.items():
        where = f"{BY}{name}" if name else side
        shown = [own.shown] if own.shown else []
        for what in ("values", "taken", "left", "unread"):
            totals.note(f"{PRINTED}{what} {where}", getattr(own, what), shown)
    return totals


def _check_lengths(own: FileSide, other: FileSide) -> None:
    """Refuse a file whose counterpart has a different number of rows, once both have been read."""
    at = len(own.rows) - 1
    if len(other.rows) > at and own.rows[at] != other.rows[at]:
        order = ": files without ids are paired by the natural order of their names" if len(own.files) > 1 else ""
        raise ValueError(
            f"{own.files[at]} has {counted(own.rows[at], 'row')} but {other.files[at]} has "
            f"{counted(other.rows[at], 'row')}, and there are no question_ids; expected the same "
            f"number of rows in both, in the same order{order}."
        )


def sides_of(readers: tuple[Reader, Reader], options: Options, may_be_empty: bool = False) -> Sides:
    """Return both sides of a submission, or of a part of one, which may be empty."""
    scorer = options.scorer()
    predictions, references = (
        FileSide(reader, side, scorer, options.names, may_be_empty) for reader, side in zip(readers, SIDES, strict=True)
    )
    if all("question_id" not in reader.detected.columns for reader in readers):
        check_pairs(predictions.files, references.files)
    predictions.other, references.other = references, predictions
    return predictions, references


def check_pairs(predictions: Sequence[str], references: Sequence[str]) -> None:
    """Refuse files without ids that cannot be paired: their number, or the numbers in their names, differ."""
    of_predictions, of_references = len(predictions), len(references)
    if of_predictions != of_references:
        raise ValueError(
            f"There {'is' if of_predictions == 1 else 'are'} {counted(of_predictions, 'prediction file')} but "
            f"{counted(of_references, 'reference file')}, and no question_ids. Expected the same number of files, with "
            "the same rows in the same order."
        )
    check_order(predictions, references)


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: ``1 part``, ``2 parts``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def stored_rows(reader: Reader, side: str, scorer: Scorer, names: Sequence[str]) -> Iterator[pa.Table]:
    """Read the rows of one file, checked and in the form that the scorer stores; an error names its row."""
    for batch in reader.batches():
        given = batch.question_ids
        ids = pa.nulls(len(batch)) if given is None else given
        columns = {
            "question_id": ids.cast(BYTES) if isinstance(ids, pa.Array) else stored_ids(ids),
            "value": _stored(reader, batch, side, scorer),
        }
        columns |= {BY + name: _labels(batch.columns[name]) for name in names if name in batch.columns}
        own = scorer.option_columns.items()
        columns |= {OPTION + option: _as_json(batch.columns[name]) for option, name in own if name in batch.columns}
        if side == "references" and "answer_type" in batch.columns:
            columns["answer_type"] = _labels(batch.columns["answer_type"], keep_blank=True)
        yield pa.table(columns)


def _stored(reader: Reader, batch: Batch, side: str, scorer: Scorer) -> Any:
    """Check the values of a batch and store them; an error says where an object has a text inside."""
    try:
        return scorer.stored(batch.values, side, _place(reader, batch, side), batch.question_ids is not None)
    except ValueError as error:
        role = "prediction" if side == "predictions" else "answers"
        remedies = nested_remedy(role, [(reader.detected.columns[role], as_list(batch.values))])
        if isinstance(error, AnlsError) or not remedies or reader.detected.columns[role] not in reader.names:
            raise
        raise AnlsError(str(error), remedies=remedies) from None


def _as_json(column: Any) -> pa.Array:
    """Return the values of a column as JSON texts, null where they are missing."""
    values = [None if is_missing_value(value) else json.dumps(value, default=str) for value in as_list(column)]
    return text_array(values)


def _place(reader: Reader, batch: Batch, side: str) -> Callable[[int], str]:
    def place(row: int) -> str:
        own = "" if batch.question_ids is None else f" (question_id {str(batch.question_ids[row])!r})"
        return f"{reader.detected.path}, {batch.place(row)}{own}: the {side.removesuffix('s')}"

    return place


def _labels(column: Any, *, keep_blank: bool = False) -> pa.Array:
    """Return the values of a column as lists of texts, mostly of one text each; a blank one counts only if asked."""
    if isinstance(column, pa.Array) and not pa.types.is_nested(column.type):
        with contextlib.suppress(pa.ArrowException):  # durations, bytes and others, of which Python makes texts
            texts = column.cast(pa.large_string())
            is_taken = as_bools(texts.is_valid()).copy()
            texts = texts.drop_null()
            if not keep_blank:
                is_filled = as_ints(pc.binary_length(pc.utf8_trim_whitespace(texts))) > 0
                is_taken[is_taken] = is_filled
                texts = texts.take(number_array(np.flatnonzero(is_filled)))
            ends = np.cumsum(np.concatenate([[0], is_taken]))
            return pa.LargeListArray.from_arrays(number_array(ends), texts)
    values = as_list(column)
    lists = [own if isinstance(own, list) else [] if is_missing_value(own) else [own] for own in values]
    found = ([str(value) for value in own] for own in lists)
    return text_list_array([[escaped_surrogates(text) for text in own if keep_blank or text.strip()] for own in found])


def _id_of(ids: pa.ChunkedArray, row: int) -> str:
    return id_list(ids[row : row + 1].combine_chunks())[0]


def documents_of(values: Sequence[Sequence[str] | None], id_of: Callable[[int], str], name: str) -> list[str]:
    """Return the document of each question in a column, or raise a ValueError for one with none or with several."""
    for row, own in enumerate(values):
        if not own or len(own) != 1:
            found = "several values" if own else "no value"
            problem = f"has {found} in {name!r}; expected the document that it is about"
            raise ValueError(f"question_id {id_of(row)!r} {problem}")
    return [document for [document] in values]  # type: ignore[misc] # none is None


def _one_text_each(labels: pa.Array) -> pa.Array:
    """Return each label as a text, several as a JSON list."""
    return text_array([None if not own else own[0] if len(own) == 1 else json.dumps(own) for own in labels.to_pylist()])


def _grouped(labels: pa.Array, scores: Any) -> Iterator[tuple[tuple[str, ...], dict[float, int]]]:
    """Count the questions by labels, mostly one, and score."""
    names = labels.flatten().dictionary_encode()
    parents, lengths = as_ints(pc.list_parent_indices(labels)), as_ints(pc.list_value_length(labels))
    # Complex numbers are sorted by label, then by score. Arrow's group_by would import pyarrow.dataset and pandas.
    pairs = as_ints(names.indices) + 1j * scores[parents]
    several = np.flatnonzero(lengths > 1)
    found, counts = np.unique(pairs[lengths[parents] == 1] if len(several) else pairs, return_counts=True)
    known = names.dictionary.to_pylist()
    for pair, count in zip(found.tolist(), counts.tolist(), strict=True):
        yield (known[int(pair.real)],), {pair.imag: count}
    if len(several):
        values = labels.to_pylist()
        for row in several.tolist():
            yield tuple(values[row]), {float(scores[row]): 1}
