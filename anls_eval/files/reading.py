"""Read predictions and references from any file, in batches."""

import dataclasses
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from anls_eval.files.columns import EVERYTHING, LAYOUTS, Found, find_columns
from anls_eval.files.detection import open_source
from anls_eval.files.errors import FormatError
from anls_eval.files.source import ABSENT, Block, Source
from anls_eval.files.values import answer_lists, id_texts, listed_column, present, text_or_list, with_more


@dataclasses.dataclass(frozen=True)
class Detected:
    """The detected format of a file.

    Args:
        path: The file.
        format: The most specific name in `FORMATS`: that of the layout, such as ``"rrc"``, or else the container.
        container: The format of the file itself, such as ``"json"``.
        compression: ``"gzip"``, ``"zstd"`` or None.
        columns: The column of each role in the file: ``question_id``, ``prediction`` or ``answers``,
            ``answer_type``, ``document``; roles without a column are left out.
        has_predictions: Whether the file has a column of predictions.
        has_references: Whether the file has a column of accepted answers. A file with both can be scored on its own.
        notes: Warnings about how it is read, to show to the user.
    """

    path: str
    format: str
    container: str
    compression: str | None
    columns: Mapping[str, str]
    has_predictions: bool
    has_references: bool
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive rows of a file.

    Args:
        first_row: The number of the first row, from 0. Empty lines and headers do not count.
        question_ids: The ids as text, a list or an Arrow large_string array; None if the file has none.
        values: The predictions or accepted answers: a list of the values in the file, or an Arrow array of texts or
            lists of texts.
        columns: Further columns by name: those requested, and ``answer_type`` and ``document`` where the file has
            them. Lists or Arrow arrays.
    """

    first_row: int
    question_ids: Any
    values: Any
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.values)


class Reader:
    """One side of a file, opened by `open_predictions` or `open_references`.

    Attributes:
        detected: The detected format.
        rows: The number of rows, if the file states it.
        names: The columns of the file.
    """

    def __init__(self, detected: Detected, source: Source, found: Found, side: str) -> None:
        self.detected = detected
        self.rows, self.names = source.rows, source.names
        self._source, self._found, self._side = source, found, side

    def also(self, by: Iterable[str]) -> "Reader":
        """Return a reader of this file that also reads further columns."""
        found = dataclasses.replace(self._found, extra=self._found.extra | {name: name for name in by})
        return Reader(self.detected, self._source, found, self._side)

    def without_variants(self) -> "Reader":
        """Return a reader of this file without further accepted answers, as in DUDE's script."""
        found = dataclasses.replace(self._found, more_answers=None)
        return Reader(dataclasses.replace(self.detected, notes=()), self._source, found, self._side)

    def batches(self, size: int = 16_384) -> Iterator[Batch]:
        """Yield the rows from the start, at most `size` at a time; each batch is read when it is requested.

        Raises:
            FormatError: A row cannot be read (the message names its place), or there are no rows.
        """
        if size < 1:
            raise ValueError(f"size={size!r}: expected at least 1")
        found = self._found
        wanted = [*found.question_id, found.value, *found.extra.values()]
        wanted += [found.more_answers] if found.more_answers else []
        if found.value == EVERYTHING:
            wanted = list(self._source.names)
        seen: Counter[str] = Counter()
        first_row = 0
        for block in self._source.read(list(dict.fromkeys(wanted)), size):
            batch = Batch(first_row, self._ids(block, seen), self._values(block), self._extra(block))
            yield batch
            first_row += len(batch)
        if not first_row:
            raise FormatError(self.detected.path, "", "there are columns but no rows. Expected one for each question.")

    def _ids(self, block: Block, seen: Counter[str]) -> Any:
        parts = [block.columns[name] for name in self._found.question_id]
        if not parts:
            return None
        path, cells = self.detected.path, self._source.in_cells
        if len(parts) == 1:
            return id_texts(parts[0], path, block.place, cells)
        texts = [listed_column(id_texts(part, path, block.place, cells)) for part in parts]
        return [_numbered(": ".join(own), seen) for own in zip(*texts, strict=True)]

    def _values(self, block: Block) -> Any:
        found, path = self._found, self.detected.path
        if found.value == EVERYTHING:
            return _whole_rows(block, found.question_id)
        column = present(block.columns[found.value], found.value, self._side, path, block.place)
        if self._side == "prediction":
            return column if isinstance(column, list) else text_or_list(column)
        in_cells = self._source.in_cells if found.layout.in_cells is None else found.layout.in_cells
        column = answer_lists(column, in_cells)
        if found.more_answers is None:
            return column
        more = answer_lists(block.columns[found.more_answers], in_cells)
        answer_type = found.extra.get("answer_type")
        return with_more(column, more, None if answer_type is None else block.columns[answer_type])

    def _extra(self, block: Block) -> dict[str, Any]:
        return {called: _without_gaps(block.columns[name]) for called, name in self._found.extra.items()}


def _numbered(text: str, seen: Counter[str]) -> str:
    """Return an id made of several columns, numbered if it occurred before."""
    seen[text] += 1
    return text if seen[text] == 1 else f"{text} ({seen[text]})"


def _whole_rows(block: Block, ids: Iterable[str]) -> list[dict[str, Any]]:
    names = [name for name in block.columns if name not in ids]
    rows = zip(*(listed_column(block.columns[name]) for name in names), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not ABSENT} for row in rows]


def _without_gaps(column: Any) -> Any:
    return [None if value is ABSENT else value for value in column] if isinstance(column, list) else column


def open_predictions(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    by: Iterable[str] = (),
    max_bytes: int | None = None,
) -> Reader:
    r"""Open the predictions in a file.

    The format and the columns are detected; both can be given. Gzip and zstd are read directly; text is UTF-8, with or
    without a byte order mark. Parquet, Arrow, CSV and JSON Lines are read in constant memory.

    - The prediction is the column ``prediction``, ``prediction_text``, ``pred`` or ``response``, else ``answer``, never
      ``answers``, except in DUDE's submissions. Predictions in the cells of a table stay text; elsewhere they are what
      JSON gives, trees too, with NaN as None.
    - The id is the column ``questionId``, ``question_id``, ``id`` or ``qid``; ``index`` in tables of VLMEvalKit,
      ``doc_id`` in sample logs, and ``doc_id`` with the question for MMLongBench-Doc. It is exact text: 17 and "17"
      are one id, "017" is another.

    Args:
        path: A file, a folder of ``save_to_disk`` (``folder:split``), or ``hub:name[:config][:split]``. Only ``hub:``
            uses the network.
        format: A name in `FORMATS`. Detected by default.
        columns: Columns of the file by role: ``question_id``, ``prediction``, ``answers``, ``answer_type``,
            ``document``. Columns that form an id only together are written ``"doc_id + question"``. ``"*"`` as the
            prediction is the whole row except its id, as one tree. Options for both sides can name the side:
            ``"predictions.question_id"``, ``"references.question_id"``.
        by: Further columns to read, for groups.
        max_bytes: Maximum number of bytes after decompression.

    Returns:
        A reader that has looked at the start of the file.

    Raises:
        FormatError: The file cannot be read. The message says where, what was expected, and how to fix it.

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
    return _open(os.fspath(path), "prediction", format, columns or {}, by, max_bytes)


def open_references(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    by: Iterable[str] = (),
    max_bytes: int | None = None,
) -> Reader:
    """Open the references in a file.

    As `open_predictions`, with these differences:

    - The answers are the column ``answers``, ``gold`` or ``reference``, else ``answer``.
    - In the cells of a table, and as the target of a sample log, a text that is a JSON list of strings, or a list of
      strings as Python or NumPy writes it, is that list. Every other text is one answer. The answers of
      MMLongBench-Doc always stay text, since its scorer parses them by the answer format.
    - In DUDE's files, ``answers_variants`` are accepted in addition to the ``answers``, unless the answer is a list.

    Args:
        path: As for `open_predictions`.
        format: A name in `FORMATS`. Detected by default.
        columns: Columns of the file by role. ``"*"`` as the answers is the whole row except its id, as one tree.
        by: Further columns to read, for groups.
        max_bytes: Maximum number of bytes after decompression.

    Returns:
        A reader that has looked at the start of the file.

    Raises:
        FormatError: The file cannot be read. The message says where, what was expected, and how to fix it.

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
    return _open(os.fspath(path), "answers", format, columns or {}, by, max_bytes)


def _open(
    path: str,
    side: str,
    format_name: str | None,
    columns: Mapping[str, str],
    by: Iterable[str],
    max_bytes: int | None,
) -> Reader:
    by = (by,) if isinstance(by, str) else tuple(by)
    source, compression = open_source(path, format_name, max_bytes)
    layout = format_name if format_name in LAYOUTS else source.layout
    found = find_columns(source.names, side, layout=layout, given=columns, by=by, path=path)
    ids = {"question_id": " + ".join(found.question_id)} if found.question_id else {}
    roles = {role: name for role, name in found.extra.items() if role not in by}
    notes = [] if ids else ["no column of question ids: rows are paired by order"]
    if found.more_answers:
        notes.append(
            f"{found.more_answers} are accepted in addition to {found.value}, unless the answer is a list. DUDE's "
            f"published script accepts only {found.value}; to do the same, name that column."
        )
    detected = Detected(
        path=path,
        format=found.layout.name if found.layout.name in LAYOUTS else source.container,
        container=source.container,
        compression=compression,
        columns={**ids, side: found.value, **roles},
        has_predictions=side == "prediction" or found.has_other_side,
        has_references=side == "answers" or found.has_other_side,
        notes=tuple(notes),
    )
    return Reader(detected, source, found, side)
