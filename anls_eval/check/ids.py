"""What is wrong with the ids of a submission: how tools changed them, and which ids of the references are missing."""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import number_array
from anls_eval.check.known import KnownIds, Places, joined, stored, texts_of
from anls_eval.check.problem import Fault
from anls_eval.errors import short_repr
from anls_eval.files.source import ABSENT
from anls_eval.questions.stream import fingerprints_of

_INTEGER = re.compile(r"0|[1-9][0-9]*")
_DECIMAL = re.compile(r"[0-9]+\.0+")
_EXPONENT = re.compile(r"[0-9](?:\.[0-9]+)?[eE]\+?[0-9]+")
_EXACT = 2**53  # integers from here on lose digits as floats
_MOST_DIGITS = 300  # that a float can have
_NAMED = 3  # ids in a message


class Meant(NamedTuple):
    """What the id of a row, which no reference has, may have been."""

    code: str
    ids: tuple[str, ...]  # of the references, the first of them
    is_certain: bool


class IdCheck(NamedTuple):
    """The ids of a submission as a whole."""

    reader: IdReader
    meant: dict[int, Meant]  # by row
    missing: pa.Array  # the ids of the references that no row has, in their order, as bytes
    extra: pa.Array  # ids of rows that no reference has, as bytes
    is_other_split: bool  # whether there are such rows, and none with an id of the references
    may_repeat: npt.NDArray[np.bool_]  # whether another row seems to have the id of a row


class ReadIds(NamedTuple):
    """The ids of some rows."""

    texts: list[str | None]  # as they were meant, if the row has a fault; None where that cannot be known
    faults: dict[int, Fault]  # by row; if the fix is certain, it is the text
    places: dict[str, int]  # of the texts that references have


class IdReader:
    """Reads ids, and finds what is wrong with each."""

    def __init__(self, known: KnownIds | None, integers: bool, in_cells: bool, of_numbers: bool) -> None:
        self.known = known
        self._integers, self._in_cells, self._of_numbers = integers, in_cells, of_numbers

    def read(self, ids: list[Any]) -> ReadIds:
        """Return each id as text, what is wrong with some, and the places of those texts that references have."""
        places = {} if self.known is None else self._places(ids, self.known)
        kinds, integers = set(map(type, ids)), self._integers and not self._in_cells
        if kinds == {int}:
            return ReadIds(list(map(str, ids)), {}, places)
        if kinds == {str} and not integers and places.keys() >= set(ids):
            return ReadIds(list(ids), {}, places)
        known = None if self.known is None else places
        read = [_read(own, known, integers, self._in_cells, self._of_numbers) for own in ids]
        faults = {row: fault for row, (_, fault) in enumerate(read) if fault is not None}
        return ReadIds([text for text, _ in read], faults, places)

    def _places(self, ids: Sequence[Any], known: KnownIds) -> dict[str, int]:
        """Return the places of those texts that the ids can mean and references have."""
        places = known.among([own for own in ids if isinstance(own, str)])
        others = [own for own in ids if not (isinstance(own, str) and own in places)]
        return places | known.among([text for own in others for text in _possible_texts(own)]) if others else places


def check_ids(
    blocks: Callable[[], Iterable[list[Any]]], known: KnownIds | None, integers: bool, in_cells: bool
) -> IdCheck:
    """Read all ids, in blocks, and find which are on one side only; `integers` if the portal takes no others."""
    # A faulty id that tells which one was meant counts as that one, so that no fault is reported twice.
    if integers and known is not None:
        integers = all(map(_INTEGER.fullmatch, texts_of(known.texts)))
    found = _Found(IdReader(known, integers, in_cells, of_numbers=known is not None))
    for ids in blocks():
        found.add(ids)
    if known is None and found.are_numbers:
        found = _Found(IdReader(known, integers, in_cells, of_numbers=True))
        for ids in blocks():
            found.add(ids)
    return found.result()


class _Found:
    """What is kept of the ids that have been read: a hash of each, and those that no reference has."""

    def __init__(self, reader: IdReader) -> None:
        self._reader = reader
        self._n, self._only_numbers, self._has_decimals = 0, True, False
        self._hashes: list[npt.NDArray[np.uint64]] = []
        self._is_unknown: list[npt.NDArray[np.bool_]] = []
        self._extra: list[pa.Array] = []
        self._extra_rows: list[npt.NDArray[np.int64]] = []
        self._is_given = np.zeros(0 if reader.known is None else len(reader.known), bool)

    def add(self, ids: list[Any]) -> None:
        """Add the ids of the next rows."""
        if self._reader.known is None:
            self._look_for_numbers(ids)
        texts, _, places = self._reader.read(ids)
        self._hashes.append(fingerprints_of(pa.chunked_array([stored([text or "" for text in texts])])))
        self._is_unknown.append(np.fromiter(map(operator.is_, texts, repeat(None)), bool, len(texts)))
        if self._reader.known is not None:
            self._is_given[[places[text] for text in texts if text is not None and text in places]] = True
            extra = [row for row, text in enumerate(texts) if text is not None and text not in places]
            if extra:
                self._extra_rows.append(np.array(extra, np.int64) + self._n)
                self._extra.append(stored([texts[row] for row in extra]))
        self._n += len(ids)

    def _look_for_numbers(self, ids: list[Any]) -> None:
        self._only_numbers = self._only_numbers and all(map(_is_number, ids))
        if self._only_numbers:
            self._has_decimals |= any(isinstance(own, str) and "." in own for own in ids)

    @property
    def are_numbers(self) -> bool:
        """Whether all ids are numbers, so that "3.0" is a float; elsewhere it can be the number of a section."""
        return self._only_numbers and self._has_decimals

    def result(self) -> IdCheck:
        """Return what was found."""
        may_repeat = _come_again(np.concatenate([np.zeros(0, np.uint64), *self._hashes]))
        self._hashes.clear()
        may_repeat &= ~np.concatenate([np.zeros(0, bool), *self._is_unknown])
        known = self._reader.known
        if known is None:
            return IdCheck(self._reader, {}, joined([]), joined([]), False, may_repeat)
        is_first = known.firsts == np.arange(len(known))
        missing = known.texts.filter(number_array(is_first & ~self._is_given))
        rows, extra = np.concatenate([np.zeros(0, np.int64), *self._extra_rows]), joined(self._extra)
        meant: dict[int, Meant] = {}
        keys: list[tuple[str, _Key, _Applies]] = [
            ("id-zeros", lambda text: text.lstrip("0"), _has_digits),
            ("id-digits", lambda text: float(int(text)), _is_long),
            ("id-composition", lambda text: unicodedata.normalize("NFC", text), lambda text: not text.isascii()),
        ]
        for code, key, applies in keys if len(extra) and len(missing) else []:
            found, explained = _meant(code, rows, extra, missing, key, applies)
            meant |= found
            missing = missing.filter(pc.invert(pc.is_in(missing, value_set=stored(explained))))
            is_left = ~np.isin(rows, list(found))
            rows, extra = rows[is_left], extra.filter(number_array(is_left))
        is_other_split = bool(len(extra)) and len(missing) == is_first.sum()
        return IdCheck(self._reader, meant, missing, extra, is_other_split, may_repeat)


def _is_number(value: Any) -> bool:
    """Return whether an id is a number, or a text that writes an integer, perhaps as pandas writes a float."""
    if isinstance(value, str):
        text = value.strip()
        return bool(_INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text))
    return isinstance(value, (int, float))


def _come_again(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return whether each hash occurs at another place too."""
    order = np.argsort(hashes)
    is_same = hashes[order[1:]] == hashes[order[:-1]]
    again = np.zeros(len(hashes), bool)
    again[order[1:][is_same]] = again[order[:-1][is_same]] = True
    return again


def _read(
    value: Any, known: Collection[str] | None, integers: bool, in_cells: bool, of_numbers: bool
) -> tuple[str | None, Fault | None]:
    """Return the id of one row as text, and what is wrong with it."""
    if value is None or value is ABSENT or value == "":
        return None, ("id-absent", "no id", False)
    if isinstance(value, float):
        return _read_number(Decimal(value) if math.isfinite(value) else None, repr(value), known, in_cells)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None, ("id-type", short_repr(value), False)
    if isinstance(value, int):
        return str(value), None
    if known is not None and value in known:
        return value, ("id-text", repr(value), True) if integers else None
    text = value.strip()
    if not text:
        return None, ("id-absent", repr(value), False)
    if (of_numbers and _DECIMAL.fullmatch(text)) or (
        _EXPONENT.fullmatch(text) and (known is not None or "." in text or "+" in text)
    ):
        return _read_number(Decimal(text), repr(value), known, False)
    if text != value:
        return text, ("id-blanks", repr(value), known is None or text in known)
    if not integers or (known is not None and _has_digits(text) and not _INTEGER.fullmatch(text)):
        return text, None  # leading zeros are compared below
    return text, ("id-text", repr(value), True) if _INTEGER.fullmatch(text) else ("id-type", repr(value), False)


def _read_number(
    number: Decimal | None, written: str, known: Collection[str] | None, in_cells: bool
) -> tuple[str | None, Fault | None]:
    """Return the integer that was written as a float: exact up to 2^53 unless an exponent cut digits."""
    text = _integer_text(number)
    if number is None or text is None:
        return None, ("id-digits", written, False)
    if number >= _EXACT and known is not None:
        return text, None  # compared below with the ids that are the same as floats
    if number >= _EXACT or "e" in written.lower():
        return text if known is not None and text in known else None, ("id-digits", written, False)
    return text, None if in_cells else ("id-float", written, known is None or text in known)


def _integer_text(number: Decimal | None) -> str | None:
    """Return a number as an integer, unless it is none or too long for a float."""
    if number is None or number != number.to_integral_value() or number.adjusted() > _MOST_DIGITS:
        return None
    return str(int(number))


def _possible_texts(value: Any) -> Iterator[str]:
    """Yield the texts as which `_read` may return an id, besides itself."""
    if isinstance(value, str):
        text = value.strip()
        yield text
        is_number = _DECIMAL.fullmatch(text) or _EXPONENT.fullmatch(text)
        number = _integer_text(Decimal(text)) if is_number else None
        yield from () if number is None else (number,)
    elif isinstance(value, float):
        number = _integer_text(Decimal(value)) if math.isfinite(value) else None
        yield from () if number is None else (number,)
    elif isinstance(value, int):
        yield str(value)


_Key = Callable[[str], Any]
_Applies = Callable[[str], bool]


def _meant(
    code: str, rows: Places, extra: pa.Array, missing: pa.Array, key: _Key, applies: _Applies
) -> tuple[dict[int, Meant], list[str]]:
    """Return what rows with unknown ids may have meant: missing ids with an equal key; and all those ids."""
    # Most keys are on one side only; by their hashes, these are left out before Python's objects hold them.
    hashes = [_key_hashes(texts, key, applies) for texts in (extra, missing)]
    is_shared = [np.isin(hashes[0], hashes[1]), np.isin(hashes[1], hashes[0])]
    by_key: dict[Any, list[str]] = defaultdict(list)
    for own in texts_of(missing.filter(number_array(is_shared[1]))):
        if applies(own):
            by_key[key(own)].append(own)
    texts = texts_of(extra.filter(number_array(is_shared[0])))
    wanted = [(row, key(text)) for row, text in zip(rows[is_shared[0]].tolist(), texts, strict=True) if applies(text)]
    wanted = [(row, own) for row, own in wanted if own in by_key]
    times = Counter(own for _, own in wanted)
    found = {row: Meant(code, tuple(by_key[own][:_NAMED]), len(by_key[own]) == times[own] == 1) for row, own in wanted}
    return found, [id_ for own in times for id_ in by_key[own]]


def _key_hashes(texts: pa.Array, key: _Key, applies: _Applies) -> Places:
    return np.fromiter((hash(key(text)) if applies(text) else 0 for text in texts_of(texts)), np.int64, len(texts))


def _has_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _is_long(text: str) -> bool:
    """Return whether a number is so long that a float can have lost digits, and not too long for a float."""
    return _has_digits(text) and 16 <= len(text) <= _MOST_DIGITS


def is_rounded(text: str) -> bool:
    """Return whether an integer may have been rounded to a float: it is long, and a float holds it exactly."""
    return _is_long(text) and int(text) >= _EXACT and int(float(text)) == int(text)


def as_integer(value: Any) -> Any:
    """Return the integer that a text writes without leading zeros or a cell holds as a float; else the value."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    is_integer = isinstance(value, str) and _INTEGER.fullmatch(value) and len(value) <= _MOST_DIGITS
    return int(value) if is_integer else value
