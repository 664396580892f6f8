"""What is wrong with the ids of a submission: how tools changed them, and which ids of the references are missing."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from anls_eval.check.problem import Fault
from anls_eval.errors import short_repr
from anls_eval.files.source import ABSENT

_INTEGER = re.compile(r"0|[1-9][0-9]*")
_DECIMAL = re.compile(r"[0-9]+\.0+")
_EXPONENT = re.compile(r"[0-9](?:\.[0-9]+)?[eE]\+?[0-9]+")
_EXACT = 2**53  # integers from here on lose digits as floats
_MOST_DIGITS = 300  # that a float can have


class IdCheck(NamedTuple):
    """The ids of a submission."""

    texts: list[str | None]  # of each row, fixed where the row has a fault; None where it cannot be known
    faults: list[tuple[int, Fault]]  # by row; if the fix is certain, `texts` has the id that was meant
    missing: list[str]  # ids of the references that no row has, in their order
    extra: list[int]  # rows whose id no reference has


def check_ids(ids: Sequence[Any], references: Collection[str] | None, *, integers: bool, in_cells: bool) -> IdCheck:
    """Find what is wrong with each id, and which ids are on one side only; `integers` if the portal takes no others."""
    # A faulty id that tells which one was meant counts as that one, so that no fault is reported twice.
    known = None if references is None else dict.fromkeys(references)
    if integers and known is not None:
        integers = all(map(_INTEGER.fullmatch, known))
    faults: list[tuple[int, Fault]] = []
    if set(map(type, ids)) == {int}:
        texts: list[str | None] = list(map(str, ids))
    else:
        of_numbers = known is not None or _are_numbers(ids)
        read = [_read(own, known, integers and not in_cells, in_cells, of_numbers) for own in ids]
        texts = [text for text, _ in read]
        faults = [(row, fault) for row, (_, fault) in enumerate(read) if fault is not None]
    if known is None:
        return IdCheck(texts, faults, [], [])
    given = set(texts)
    missing = [own for own in known if own not in given]
    extra = [row for row, text in enumerate(texts) if text is not None and text not in known]
    keys: list[tuple[str, Callable[[str], object], Callable[[str], bool]]] = [
        ("id-zeros", lambda text: text.lstrip("0"), _has_digits),
        ("id-digits", lambda text: float(int(text)), _is_long),
    ]
    for code, key, applies in keys:
        found = _meant(texts, missing, extra, key, applies)
        faults += [
            (row, (code, f"{ids[row]!r} for {' or '.join(map(repr, own[:3]))}", certain))
            for row, (own, certain) in found.items()
        ]
        for row, (own, certain) in found.items():
            texts[row] = own[0] if certain else None
        explained = {own for group, _ in found.values() for own in group}
        missing = [own for own in missing if own not in explained]
        extra = [row for row in extra if row not in found]
    return IdCheck(texts, sorted(faults, key=lambda fault: fault[0]), missing, extra)


def _are_numbers(ids: Sequence[Any]) -> bool:
    """Return whether all ids are numbers, so that "3.0" is a float; elsewhere it can be the number of a section."""
    texts = [own.strip() for own in ids if isinstance(own, str)]
    decimals = [text for text in texts if "." in text and _DECIMAL.fullmatch(text)]
    integers = sum(1 for text in texts if _INTEGER.fullmatch(text)) if decimals else 0
    numbers = sum(isinstance(own, (int, float)) for own in ids)
    return bool(decimals) and len(decimals) + integers + numbers == len(ids)


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
    if number is None or number != number.to_integral_value() or number.adjusted() > _MOST_DIGITS:
        return None, ("id-digits", written, False)
    text = str(int(number))
    if number >= _EXACT and known is not None:
        return text, None  # compared below with the ids that are the same as floats
    if number >= _EXACT or "e" in written.lower():
        return text if known is not None and text in known else None, ("id-digits", written, False)
    return text, None if in_cells else ("id-float", written, known is None or text in known)


def _meant(
    texts: Sequence[str | None],
    missing: Sequence[str],
    extra: Sequence[int],
    key: Callable[[str], Any],
    applies: Callable[[str], bool],
) -> dict[int, tuple[list[str], bool]]:
    """Return the missing ids whose key equals that of a row with an unknown id, and whether the match is unique."""
    by_key = defaultdict(list)
    for own in missing:
        if applies(own):
            by_key[key(own)].append(own)
    rows = [(row, key(text)) for row in extra if (text := texts[row]) is not None and applies(text)]
    wanted = Counter(own for _, own in rows)
    return {row: (by_key[own], len(by_key[own]) == wanted[own] == 1) for row, own in rows if own in by_key}


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
