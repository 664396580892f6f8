"""JSON documents: a list of rows, an object around one, SQuAD's nesting, and objects that map ids to values."""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from anls_eval.errors import short_repr
from anls_eval.files.columns import IDS, names_of_role
from anls_eval.files.errors import FormatError, NoRowsError, check_names, listed
from anls_eval.files.files import File, find_file, text_of
from anls_eval.files.json_text import KEYS_OF_LOGS, OneFilter, parse, rows_of, unfolded
from anls_eval.files.source import KEY, VALUE, Block, Source, by_columns, from_row
from anls_eval.inputs.values import type_with_article

_FOLDED_IDS = {name.casefold() for name in IDS}


def open_json(file: File) -> Source:
    """Open a file that holds one JSON value."""
    document = parse(text_of(file), file.path, notes=file.notes)
    if isinstance(document, dict):
        return open_object(document, file)
    if isinstance(document, list):
        return _open_list(document, "", file)
    raise FormatError(
        file.path, f"the JSON value {short_repr(document)} has no rows. Expected a list of rows or an object."
    )


def open_object(document: dict[str, Any], file: File) -> Source:
    """Return a source of the rows of an object."""
    path = file.path
    if isinstance(document.get("results"), dict) and not _OF_RESULTS.isdisjoint(document):
        raise FormatError(
            path,
            "the results of lm-eval or lmms-eval, which hold averages and no answers. Expected the samples file, which "
            "they write with --log_samples: samples_*.jsonl, or *_samples_*.jsonl of lmms-eval.",
        )
    if document.keys() == {"columns", "index", "data"}:
        return _open_split(document, file)
    of_roles = _by_roles(document, file)
    if of_roles is not None:
        return of_roles
    lists = [key for key, value in document.items() if is_list_of_rows(value)]
    if len(lists) == 1 or ("data" in lists):
        key = lists[0] if len(lists) == 1 else "data"
        rows = document[key]
        others = [name for name in lists if name != key]
        if others:
            file.notes[f"only the list {key!r} is read, not {listed(others)}"] = None
        return _open_squad(rows, path) if "paragraphs" in rows[0] else _open_list(rows, key, file)
    if isinstance(document.get("data"), list):
        return _open_list(document["data"], "data", file)
    if not set(IDS).isdisjoint(document):  # either columns, or the keys of one row
        if not any(isinstance(value, (list, dict)) for key, value in document.items() if key in IDS):
            return _open_row(document, file)
        lengths = {len(value) if isinstance(value, list) else -1 for value in document.values()}
        if len(lengths) == 1 and max(lengths) > 0:
            names = tuple(document)
            return _source(
                names, lengths.pop(), lambda wanted, rows: {name: document[name][rows] for name in wanted}, from_row(0)
            )
        raise FormatError(
            path,
            f"an object with the keys {listed(document)}: neither a row nor columns of equal length. Write a list "
            'of rows, in pandas with to_json(orient="records").',
        )
    if not document:
        raise NoRowsError(path, "the object is empty. Expected rows.")
    keys, values = list(document), list(document.values())

    def columns(wanted: Sequence[str], rows: slice) -> dict[str, Any]:
        return {name: keys[rows] if name == KEY else values[rows] for name in wanted}

    return _source((KEY, VALUE), len(keys), columns, lambda row: f"key {short_repr(keys[row])}", layout="values")


_OF_RESULTS = {"configs", "config", "versions", "n-shot", "group_subtasks", "config_general"}


def _by_roles(document: dict[str, Any], file: File) -> Source | None:
    """Return a source of an object whose keys, or the keys of its values, name both sides; None for any other."""
    predictions, answers = names_of_role("prediction"), names_of_role("answers")

    def has_both(keys: Iterable[str]) -> bool:
        names = {key.casefold() for key in keys}
        return not (names.isdisjoint(predictions) or names.isdisjoint(answers))

    values = list(document.values())
    if has_both(document):
        named = {key: value for key, value in document.items() if key.casefold() in predictions | answers}
        if all(isinstance(value, list) for value in named.values()):
            return _of_columns(_equally_long(document, named, file))
        if all(isinstance(value, dict) for value in named.values()):  # as pandas' to_json writes columns
            return _of_columns(_by_index(document, file))
        return _open_row(document, file)
    if values and all(isinstance(value, dict) for value in values):
        is_table = not {key.casefold() for key in document}.isdisjoint(predictions | answers | _FOLDED_IDS | {"answer"})
        if is_table and len(document) > 1 and all(value.keys() == values[0].keys() for value in values):
            return _of_columns(_by_index(document, file))
        if all(has_both(value) for value in values):
            return _of_rows([{"question_id": key, **value} for key, value in document.items()], from_row(0))
    return None


def _equally_long(document: dict[str, Any], named: dict[str, list[Any]], file: File) -> dict[str, list[Any]]:
    """Return the lists of an object that are as long as those of the predictions and answers."""
    lengths = {key: len(value) for key, value in named.items()}
    if len(set(lengths.values())) > 1:
        found = " and ".join(f"{length:,} in {key!r}" for key, length in lengths.items())
        raise FormatError(file.path, f"lists of different lengths: {found}. Expected an item for each question.")
    n = next(iter(lengths.values()))
    if not n:
        raise NoRowsError(file.path, "the lists are empty. Expected an item for each question.")
    return {key: value for key, value in document.items() if isinstance(value, list) and len(value) == n}


def _by_index(document: dict[str, Any], file: File) -> dict[str, list[Any]]:
    """Return the columns of a table that is written column by column, each an object from index to value."""
    columns = {key: value for key, value in document.items() if isinstance(value, dict)}
    first, index = next(iter(columns.items()))
    other = next((key for key, value in columns.items() if value.keys() != index.keys()), None)
    if other is not None or not index:
        problem = f"{other!r} has another index than {first!r}" if index else f"{first!r} has no rows"
        raise FormatError(file.path, f'{problem}. Write a list of rows, in pandas with to_json(orient="records").')
    return {key: [value[at] for at in index] for key, value in columns.items()}


def _of_columns(columns: dict[str, list[Any]]) -> Source:
    count = len(next(iter(columns.values())))
    return _source(
        tuple(columns), count, lambda wanted, rows: {name: columns[name][rows] for name in wanted}, from_row(0)
    )


def _open_split(document: dict[str, Any], file: File) -> Source:
    """Return a source of a table as pandas writes it with ``orient="split"``."""
    names, rows = document["columns"], document["data"]
    if not isinstance(names, list) or not isinstance(rows, list):
        raise FormatError(file.path, "columns and data are not lists, as pandas writes them. Expected rows.")
    if not rows:
        raise NoRowsError(file.path, "the list is empty. Expected rows.", "data")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            problem = f"{short_repr(row)}; expected a list with a value for each of the {len(names)} columns."
            raise FormatError(file.path, problem, f"data[{number}]")
    names = list(map(str, names))
    check_names(names, file.path, "columns")
    return _of_rows([dict(zip(names, row, strict=True)) for row in rows], lambda row: f"data[{row}]")


def is_list_of_rows(value: Any) -> bool:
    """Return whether this is a list of rows inside an object, rather than a tree or the answers to one question."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return False
    return not {*IDS, "paragraphs", "filtered_resps", "answer_format"}.isdisjoint(value[0])


def _open_row(row: dict[str, Any], file: File) -> Source:
    """Return a source of one row, which is a whole file."""
    return dataclasses.replace(_open_list([row], "", file), is_object=True)


def _open_list(rows: list[Any], key: str, file: File) -> Source:
    if not rows:
        raise NoRowsError(file.path, "the list is empty. Expected rows.", key)

    def place(row: int) -> str:
        return f"{key}[{row}]"

    if not any(isinstance(row, dict) for row in rows):
        return _source((VALUE,), len(rows), lambda _, part: {VALUE: rows[part]}, place, layout="values")
    if set(map(type, rows)) == {dict} and KEYS_OF_LOGS.isdisjoint(itertools.chain.from_iterable(rows)):
        return _of_rows(rows, place)
    one_filter = OneFilter(file, lambda: rows)
    numbered = [
        (number, row) for number, value in enumerate(rows) for row in rows_of(value) if one_filter.passes(value)
    ]
    one_filter.finish()
    for number, row in numbered:
        if not isinstance(row, dict):
            problem = f"{short_repr(row)} among objects. Expected only objects, or none."
            file.refuse_row(place(number), FormatError(file.path, problem, place(number)))
    found = [unfolded(row) if isinstance(row, dict) else {} for _, row in numbered]
    return _of_rows(found, lambda row: place(numbered[row][0]))


def _open_squad(articles: list[Any], path: str) -> Source:
    """Return a source of the questions in the paragraphs of SQuAD's articles."""
    rows = []
    for a, article in enumerate(articles):
        for p, paragraph in enumerate(_part(article, "paragraphs", path, f"data[{a}]")):
            where = f"data[{a}].paragraphs[{p}]"
            for q, question in enumerate(_part(paragraph, "qas", path, where)):
                if not isinstance(question, dict):
                    raise FormatError(path, f"{short_repr(question)}; expected an object.", f"{where}.qas[{q}]")
                row = {**question, "document": article.get("title")}
                if question.get("is_impossible") and not question.get("answers"):
                    row["answers"] = [""]  # SQuAD 2.0 scores no answer as the empty answer
                rows.append(row)
    if not rows:
        raise FormatError(path, "no paragraph has a question. Expected paragraphs with qas.", "data")
    return _of_rows(rows, from_row(0), layout="squad")


def _part(value: Any, key: str, path: str, place: str) -> list[Any]:
    if not isinstance(value, dict) or not isinstance(value.get(key), list):
        raise FormatError(path, f"{short_repr(value)}; expected an object with a list {key!r}, as in SQuAD.", place)
    found: list[Any] = value[key]
    return found


def _of_rows(rows: list[Any], place: Callable[[int], str], layout: str | None = None) -> Source:
    names = tuple(dict.fromkeys(itertools.chain.from_iterable(rows)))
    return _source(names, len(rows), lambda wanted, part: by_columns(rows[part], wanted), place, layout)


def _source(
    names: tuple[str, ...],
    count: int,
    columns: Callable[[Sequence[str], slice], dict[str, Any]],
    place: Callable[[int], str],
    layout: str | None = None,
) -> Source:
    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        for start in range(0, count, size):
            yield Block(columns(wanted, slice(start, start + size)), _from(start, place))

    return Source("json", names, count, read, layout)


def _from(start: int, place: Callable[[int], str]) -> Callable[[int], str]:
    return lambda row: place(start + row)


def read_document(path: str | os.PathLike[str]) -> tuple[Any, Any, tuple[str, ...]]:
    """Read ``{"prediction": ..., "reference": ...}``, both trees or texts, from a JSON file; return notes with them."""
    name = os.fspath(path)
    file = find_file(name, None)
    document = parse(text_of(file), name, notes=file.notes)
    if not isinstance(document, dict) or document.keys() != {"prediction", "reference"}:
        found = f"the keys {', '.join(document)}" if isinstance(document, dict) else type_with_article(document)
        raise FormatError(name, f'found {found}; expected an object {{"prediction": ..., "reference": ...}}.')
    return document["prediction"], document["reference"], tuple(f"{name}: {note}" for note in file.notes)
