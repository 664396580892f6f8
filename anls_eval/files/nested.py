"""Columns inside columns: ``response.body.choices.0.message.content`` is the text in an object of an API.

A text on the way is read as JSON: ``prediction.answer`` is the text in what a model writes as an object.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anls_eval.arrow import as_list
from anls_eval.errors import Note, Remedy, short_repr
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.files.columns import IDS
from anls_eval.files.errors import FormatError
from anls_eval.files.source import KEY, VALUE, Block, Source

# The keys that hold the text in what models return, the most telling first: OpenAI's chats and messages; its
# responses, Anthropic, Gemini and vLLM; pipelines of transformers; ShareGPT.
_TEXT_KEYS = ("content", "text", "generated_text", "answer", "prediction", "value")
_PARTS = frozenset({"role", "type", "from"})  # of a list whose items follow one another: the last is the answer
_MAX_DEPTH = 16


def with_nested(source: Source, wanted: Iterable[str], path: str, whole: Source | None = None) -> Source:
    """Return a source that also has the wanted names that lead into one of its columns; other names are ignored.

    A name that leads nowhere in any row of the source, or of the whole that it is a part of, is an error.
    """
    heads = {name: _head(name, source.names) for name in wanted if name not in source.names}
    inside = {name: head for name, head in heads.items() if head is not None}
    if not inside:
        return source

    def read(names: Sequence[str], size: int) -> Iterator[Block]:
        unseen = {name for name in names if name in inside}
        stored = list(dict.fromkeys(inside.get(name, name) for name in names))
        for block in source.read(stored, size):
            columns = dict(block.columns)
            for name in inside.keys() & set(names):
                columns[name] = _values_at(block, name, inside[name])
                if name in unseen and any(value is not None for value in columns[name]):
                    unseen.remove(name)
            yield Block({name: columns[name] for name in names}, block.place)
        for name in sorted(unseen):
            _check_somewhere(whole or source, name, inside[name], path)

    divided: Callable[[int, int], Source] | None = None
    if source.within is not None:
        within = source.within

        def divided(start: int, stop: int) -> Source:
            return with_nested(within(start, stop), inside, path, whole or source)

    return dataclasses.replace(source, names=(*source.names, *inside), read=read, within=divided)


def _check_somewhere(source: Source, name: str, head: str, path: str) -> None:
    """Raise a FormatError if a name leads nowhere in any row."""
    first = None
    for block in source.read([head], 16_384):
        first = first or short_repr(as_list(block.columns[head])[0])
        if any(value is not None for value in _values_at(block, name, head)):
            return
    if first is not None:
        raise FormatError(path, f"no row has a value at {name!r}. In the first, {head} is {first}.")


def check_keys(source: Source, role: str, path: str) -> None:
    """Refuse objects under numbers that are not their own ids, which are numbers too: pandas writes its index so."""
    for block in source.read([KEY, VALUE], 16_384):
        for row, (key, value) in enumerate(
            zip(as_list(block.columns[KEY]), as_list(block.columns[VALUE]), strict=True)
        ):
            name = next((name for name in IDS if name in value), None) if isinstance(value, Mapping) else None
            if name is None or not str(key).isdecimal():
                continue
            own = str(value[name])
            if own.isdecimal() and own != key:
                problem = f"its {name} is {own!r}, so the key may be the number of the row, as pandas writes it."
                remedies = [
                    Remedy("columns", {role: f"{VALUE}.{name}"}, f"pair by {name}"),
                    Remedy("columns", {role: KEY}, "pair by the key"),
                ]
                raise FormatError(path, problem, block.place(row), remedies)


def nested_remedy(role: str, columns: Iterable[tuple[str, Iterable[Any]]]) -> list[Remedy]:
    """Return the remedy that names the text inside the first column that has one, if any has."""
    for name, values in columns:
        for value in values:
            inside = _path_to_text(value) if isinstance(value, (Mapping, list)) else None
            if inside:
                return [Remedy("columns", {role: f"{name}.{inside}"}, f"take the text inside {name}")]
    return []


def json_note(name: str, texts: Iterable[Any]) -> list[Note]:
    """Return the note on predictions most of which are JSON objects with a text inside, by the first of them."""
    given = [text for text in texts if isinstance(text, str) and text.strip()]
    [(path, count)] = Counter(filter(None, map(path_in_json, given))).most_common(1) or [("", 0)]
    if 2 * count <= len(given):
        return []
    problem = "predictions: texts that are JSON objects are compared as they are written"
    return [Note(problem, [Remedy("columns", {"prediction": f"{name}.{path}"}, "take the text inside them")])]


def path_in_json(text: str) -> str | None:
    """Return the path to the answer in a text that holds a JSON object; None without one."""
    return _path_to_text(json_in_text(text)) if "{" in text else None


def first_values(source: Source, names: Sequence[str], rows: int = 20) -> list[tuple[str, list[Any]]]:
    """Return the values of the first rows in some columns."""
    block = next(source.read(names, rows), None) if names else None
    return [] if block is None else [(name, as_list(block.columns[name][:rows])) for name in names]


def _head(name: str, names: Sequence[str]) -> str | None:
    return next((own for own in names if own and name.startswith(f"{own}.")), None)


def _values_at(block: Block, name: str, head: str) -> list[Any]:
    steps = name[len(head) + 1 :].split(".")
    return [_value_at(value, steps) for value in as_list(block.columns[head])]


def _value_at(value: Any, steps: Sequence[str]) -> Any:
    """Return what is inside a value; None where it has nothing there, as after a request that failed."""
    for step in steps:
        if isinstance(value, str):
            value = json_in_text(value)
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.removeprefix("-").isdecimal():
            at = int(step)
            value = value[at] if -len(value) <= at < len(value) else None
        else:
            return None
    return value


def _path_to_text(value: Any) -> str | None:
    """Return the path to the text of an answer in an object or list of objects, if one of the usual keys has it."""
    found = [path for path in _paths(value, ()) if path[-1] in _TEXT_KEYS]
    best = min(found, key=lambda path: (_TEXT_KEYS.index(path[-1]), len(path)), default=None)
    return None if best is None else ".".join(best)


def _paths(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths to texts, and to lists of texts; of several items of a list, to those of one."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, own in value.items():
            if isinstance(key, str) and "." not in key:
                yield from _paths(own, (*path, key))
    elif isinstance(value, list) and value and all(isinstance(own, (Mapping, list)) for own in value):
        last = value[-1]
        takes_last = len(value) > 1 and isinstance(last, Mapping) and not _PARTS.isdisjoint(last)
        yield from _paths(last if takes_last else value[0], (*path, "-1" if takes_last else "0"))
    elif path and (isinstance(value, str) or (isinstance(value, list) and set(map(type, value)) == {str})):
        yield path
