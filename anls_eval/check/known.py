"""The ids and accepted answers of the references, as bytes: a fifth of what Python's objects take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import (
    BYTES,
    as_bools,
    bytes_array,
    bytes_list_array,
    encode_texts,
    number_array,
    text_array,
    text_bytes,
    text_list_array,
    text_starts,
)
from anls_eval.files.source import ABSENT
from anls_eval.questions.stream import fingerprints_of

_AT_ONCE = 16_384  # texts that are Python objects at the same time

Places = npt.NDArray[np.int64]


def stored(texts: Any) -> pa.Array:
    """Return a list or an Arrow array of texts as bytes, which may hold lone surrogates."""
    try:
        return (texts if isinstance(texts, pa.Array) else text_array(texts)).cast(BYTES)
    except UnicodeEncodeError:
        return bytes_array(encode_texts(texts))


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Return stored texts as one array."""
    return pa.concat_arrays([*parts, pa.nulls(0, BYTES)])


def texts_of(array: pa.Array) -> Iterator[str]:
    """Yield stored texts one by one."""
    for start in range(0, len(array), _AT_ONCE):
        yield from _decoded(array[start : start + _AT_ONCE])


class KnownIds:
    """The ids of the references, in which others are searched by fingerprints and compared exactly."""

    def __init__(self, ids: pa.Array) -> None:
        self.texts = ids
        blocks = [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]
        hashes = np.concatenate([fingerprints_of(pa.chunked_array([block])) for block in blocks])
        self._order = np.argsort(hashes, kind="stable").astype(np.int32 if len(ids) < 2**31 else np.int64)
        self._hashes = hashes[self._order]

    def __len__(self) -> int:
        return len(self.texts)

    def among(self, texts: Sequence[str]) -> dict[str, int]:
        """Return those of the texts that are ids of the references, with the place of the first that is equal."""
        places = self._places(stored(list(texts)))
        return {text: place for text, place in zip(texts, places.tolist(), strict=True) if place >= 0}

    def _places(self, asked: pa.Array) -> Places:
        hashes = fingerprints_of(pa.chunked_array([asked], BYTES))
        at = np.searchsorted(self._hashes, hashes)
        places = np.full(len(asked), -1, np.int64)
        left = np.arange(len(asked))
        while len(left):  # more than once only where different texts have one fingerprint
            left = left[at[left] < len(self)]
            left = left[self._hashes[at[left]] == hashes[left]]
            found = self._order[at[left]]
            equal = as_bools(pc.equal(self.texts.take(number_array(found)), asked.take(number_array(left))))
            places[left[equal]] = found[equal]
            left = left[~equal]
            at[left] += 1
        return places

    @property
    def firsts(self) -> Places:
        """For each id, the place of the first that is equal."""
        firsts = np.arange(len(self))
        again = self._order[1:][self._hashes[1:] == self._hashes[:-1]]
        if len(again):
            firsts[again] = self._places(self.texts.take(number_array(again)))
        return firsts

    @cached_property
    def lasts(self) -> Places:
        """For each first of equal ids, the place of the last."""
        lasts = np.arange(len(self))
        lasts[self.firsts] = np.arange(len(self))
        return lasts


class Accepted:
    """The accepted answers of each reference: tuples of texts, or None for a tree, which ANLS* scores."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._starts: list[int] = [0]

    def add(self, answers: Sequence[tuple[str, ...] | None]) -> None:
        """Add those of some references."""
        lists = [(None,) if own is None else own for own in answers]
        try:
            part = text_list_array(lists).cast(pa.large_list(BYTES))
        except UnicodeEncodeError:
            part = bytes_list_array(encode_texts(list(map(list, lists))))
        self._parts.append(part)
        self._starts.append(self._starts[-1] + len(part))

    def at(self, places: Places) -> list[Any]:
        """Return those at some places, and ABSENT for each negative place."""
        found = [ABSENT] * len(places)
        parts = np.searchsorted(self._starts, places, "right") - 1
        for part in np.unique(parts[places >= 0]).tolist():
            rows = np.flatnonzero(parts == part)
            lists = _as_tuples(self._parts[part].take(number_array(places[rows] - self._starts[part])))
            for row, own in zip(rows.tolist(), lists, strict=True):
                found[row] = None if own == (None,) else own
        return found


def _as_tuples(lists: pa.Array) -> list[tuple[str | None, ...]]:
    parts = lists.flatten()
    texts: list[str | None] = [*_decoded(parts)]
    for part in np.flatnonzero(as_bools(parts.is_null())).tolist():
        texts[part] = None
    limits = text_starts(lists)
    return [tuple(texts[start:end]) for start, end in pairwise((limits - limits[0]).tolist())]


def _decoded(stored: pa.Array) -> list[str]:
    """Return stored texts as a list, in a third of the time that Arrow takes; null is empty."""
    data, starts = text_bytes(stored).tobytes(), text_starts(stored)
    limits = pairwise((starts - starts[0]).tolist())
    return [data[start:end].decode("utf-8", "surrogatepass") for start, end in limits]
