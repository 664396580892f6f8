"""Open predictions or references from one file or from several: a list, a folder or a pattern."""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from anls_eval.errors import Remedy
from anls_eval.files.detection import open_source
from anls_eval.files.documents import are_documents, open_documents
from anls_eval.files.errors import FormatError, NoRowsError
from anls_eval.files.files import DETECTED, How
from anls_eval.files.paths import Paths, file_paths, notes_on_absent, paths_label
from anls_eval.files.printed import Holds
from anls_eval.files.reading import Batch, Detected, Reader, reader_of
from anls_eval.files.source import Block, Source
from anls_eval.files.watch import State, changes_told, file_state, watched


def open_predictions(
    path: Paths,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    by: Iterable[str] = (),
    max_bytes: int | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    filter: str | None = None,  # noqa: A002
) -> Reader:
    r"""Open predictions: a file, or several files that are parts of one submission.

    The format and the columns are detected; both can be given. Gzip, zstd and zip files with one file are read
    directly; text is UTF-8, or UTF-16 or UTF-32 with a byte order mark.
    Parquet, Arrow, CSV and JSON Lines are read in constant memory.

    - The prediction is the column ``prediction``, ``prediction_text``, ``pred`` or ``response``, else ``answer``, never
      ``answers``, except in DUDE's submissions. Predictions in the cells of a table stay text; elsewhere they are what
      JSON gives, trees too, with NaN as None.
    - The id is the column ``questionId``, ``question_id``, ``id`` or ``qid``; ``index`` in tables of VLMEvalKit,
      ``doc_id`` in sample logs, and ``doc_id`` with the question for MMLongBench-Doc. It is exact text: 17 and "17"
      are one id, "017" is another.

    Args:
        path: A file, a folder of ``save_to_disk`` (``folder:split``), or ``hub:name[:config][:split]``. Only ``hub:``
            uses the network. Several files are a list, a folder, or a pattern such as ``"runs/*.jsonl"``; they are
            read in the natural order of their names (``part-2`` before ``part-10``), and hidden files and names that
            begin with ``_`` are skipped. Their formats may differ, but not which roles have a column. JSON files that
            each hold one document, an object that is not a table, are read as one row each: its id is the name of
            the file without its ending. So are objects with an id where ``"*"`` is the column of the side.
        format: A name in `FORMATS`. Detected by default.
        columns: Columns of the file by role: ``question_id``, ``prediction``, ``answers``, ``answer_type``,
            ``document``. Columns that form an id only together are written ``"doc_id + question"``. ``"*"`` as the
            prediction is the whole row except its id, as one tree. Options for both sides can name the
            side: ``"predictions.question_id"``, ``"references.question_id"``.
        by: Further columns to read, for groups.
        max_bytes: Maximum size of each file after decompression, in bytes.
        encoding: The encoding of text that is not UTF-8 and has no byte order mark, by Python's name, such as
            ``"cp1252"``. Any other text is read as what it is, with a note.
        separator: What separates the cells of a table of text. By default it is found in the header.
        filter: The filter of lm-eval whose rows are read, for a sample log with several.

    Returns:
        A reader that has looked at the start of each file.

    Raises:
        FormatError: A file cannot be read, or there is none. The message says where, what was expected, and how
            to fix it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "predictions.csv")
        >>> _ = path.write_text("qid,pred\n007,Lima\n")
        >>> reader = open_predictions(path)
        >>> reader.detected.format, dict(reader.detected.columns)
        ('csv', {'question_id': 'qid', 'prediction': 'pred'})
        >>> [(batch.question_ids, batch.values) for batch in reader.batches()]
        [(['007'], ['Lima'])]
    """
    how = How(encoding, separator, filter)
    return _open(path, "prediction", format, columns or {}, by, max_bytes, how)


def open_references(
    path: Paths,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    by: Iterable[str] = (),
    max_bytes: int | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    filter: str | None = None,  # noqa: A002
) -> Reader:
    """Open references: a file, or several files that are parts of one data set.

    The arguments, the reader and the errors are those of `open_predictions`. What differs:

    - The answers are the column ``answers``, ``gold`` or ``reference``, else ``answer``.
    - In the cells of a table, and as the target of a sample log, a text that is a JSON list of strings, or a list of
      strings as Python or NumPy writes it, is that list. Every other text is one answer. The answers of
      MMLongBench-Doc always stay text, since its scorer parses them by the answer format.
    - In DUDE's files, ``answers_variants`` are accepted in addition to the ``answers``, unless the answer is a list.
    - ``"*"`` as the column of the answers is the whole row except its id, as one tree.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "references.json")
        >>> _ = path.write_text('{"data": [{"questionId": 7, "answers": ["Lima"], "docId": 3}]}')
        >>> reader = open_references(path)
        >>> reader.detected.format, reader.rows
        ('rrc', 1)
        >>> [(batch.question_ids, batch.values, batch.columns) for batch in reader.batches()]
        [(['7'], [['Lima']], {'document': [3]})]
    """
    how = How(encoding, separator, filter)
    return _open(path, "answers", format, columns or {}, by, max_bytes, how)


def _open(
    given: Paths,
    side: str,
    format_name: str | None,
    columns: Mapping[str, str],
    by: Iterable[str],
    max_bytes: int | None,
    how: How,
) -> Reader:
    by = (by,) if isinstance(by, str) else tuple(by)
    paths = file_paths(given, format_name)
    states = {path: file_state(path) for path in paths}
    label = given if isinstance(given, (str, os.PathLike)) and len(paths) > 1 else paths_label(paths)
    if are_documents(given, paths, side, format_name, columns, max_bytes, how):
        return open_documents(
            states, side, columns=columns, by=by, max_bytes=max_bytes, label=os.fspath(label), how=how
        )

    def opened(path: str) -> Reader:
        is_held = len(paths) == 1
        source, compression = open_watched(path, states[path], format_name, max_bytes, how=how, is_held=is_held)
        return reader_of(source, path, side, format_name, columns, by, compression)

    parts = [opened(paths[0])] if len(paths) == 1 else list(_opened_parts(paths, opened))
    first, absent = parts[0], notes_on_absent(given, paths, format_name)
    first.detected = dataclasses.replace(first.detected, notes=(*first.detected.notes, *absent))
    return first if len(parts) == 1 else PartsReader(os.fspath(label), parts)


def open_watched(
    path: str,
    state: State,
    format_name: str | None,
    max_bytes: int | None,
    faults: dict[str, FormatError] | None = None,
    how: How = DETECTED,
    *,
    is_held: bool = True,
) -> tuple[Source, str | None]:
    """Open a source, as `open_source` does, that tells if its file changes; rows of JSON are held, or read again."""
    if state is None:
        return open_source(path, format_name, max_bytes, faults, how)
    with changes_told(path, state):
        source, compression = open_source(path, format_name, max_bytes, faults, how)
    if not is_held and source.container == "json":
        source = _reopened(source, path, format_name, max_bytes, how)
    return watched(source, path, state), compression


def _opened_parts(paths: Sequence[str], opened: Callable[[str], Reader]) -> Iterator[Reader]:
    """Open each file; one without rows or columns, such as Spark's empty parts, is read as the others are."""
    readers: dict[str, Reader] = {}
    empty: dict[str, NoRowsError] = {}
    for path in paths:
        try:
            readers[path] = opened(path)
        except NoRowsError as error:
            empty[path] = error
    if not readers:
        raise empty[paths[0]]
    like = next(iter(readers.values()))
    yield from (readers.get(path) or like.without_rows(path) for path in paths)


def _reopened(source: Source, path: str, format_name: str | None, max_bytes: int | None, how: How) -> Source:
    """Return the source without its rows in memory; the file is opened again for each reading."""

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        return open_source(path, format_name, max_bytes, how=how)[0].read(wanted, size)

    return dataclasses.replace(source, read=read)


class PartsReader(Reader):
    """One side of several files, in the order in which they are read."""

    def __init__(self, label: str, parts: Sequence[Reader]) -> None:
        first = parts[0].detected
        for part in parts[1:]:
            check_roles(first, part.detected)
        found = [part.detected for part in parts]
        rows = [part.rows for part in parts]
        self._parts = tuple(parts)
        all_printed: dict[str, bool] = {}
        for part in parts:
            part.beside(self._parts, all_printed)
        self.names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        self.rows = None if None in rows else sum(filter(None, rows))
        self.detected = Detected(
            path=label,
            format=_joined(part.format for part in found),
            container=_joined(part.container for part in found),
            compression=_joined(part.compression for part in found) or None,
            columns=first.columns,
            has_predictions=all(part.has_predictions for part in found),
            has_references=all(part.has_references for part in found),
            notes=tuple(dict.fromkeys(note for part in found for note in part.notes)),
            may_be_document=all(part.may_be_document for part in found),
        )

    @property
    def parts(self) -> tuple[Reader, ...]:
        """The reader of each file, in their order."""
        return self._parts

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files that are read."""
        return tuple(path for part in self._parts for path in part.files)

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings about each file, each once."""
        return tuple(dict.fromkeys(note for part in self._parts for note in part.notes))

    def also(self, by: Iterable[str]) -> Reader:
        """Return a reader that also reads further columns, which every file must have."""
        by = tuple(by)
        for part, name in itertools.product(self._parts, by):
            if name not in part.names:
                other = next(reader.detected.path for reader in self._parts if name in reader.names)
                raise FormatError(
                    part.detected.path, f"no column {name!r}, which {other} has. Expected it in every file."
                )
        return PartsReader(self.detected.path, [part.also(by) for part in self._parts])

    def holding(self, holds: Mapping[str, Holds]) -> Reader:
        """Return a reader of values and further columns that can hold lists and dicts."""
        return PartsReader(self.detected.path, [part.holding(holds) for part in self._parts])

    def without_variants(self) -> Reader:
        """Return a reader without further accepted answers, as in DUDE's script."""
        return PartsReader(self.detected.path, [part.without_variants() for part in self._parts])

    def batches(self, size: int = 16_384) -> Iterator[Batch]:
        """Yield the rows file by file; `Batch.first_row` counts from the start of each file."""
        empty = []
        for part in self._parts:
            try:
                yield from part.batches(size)
            except NoRowsError as error:
                empty.append(error)
        if len(empty) == len(self._parts):
            raise NoRowsError(self.detected.path, f"none of its {len(empty)} files has a row.")


def check_roles(first: Detected, other: Detected) -> None:
    """Raise FormatError if two files of one side do not have columns for the same roles."""
    for one, with_it in ((other, first), (first, other)):
        absent = [role for role in with_it.columns if role not in one.columns]
        if absent:
            raise FormatError(
                one.path,
                f"no column for {absent[0]}, which is {with_it.columns[absent[0]]!r} in {with_it.path}. Expected the "
                "same roles in every file.",
                remedies=[Remedy("columns", {absent[0]: "NAME"}, "name its column")],
            )


def _joined(names: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(name for name in names if name))
