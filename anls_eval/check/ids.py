"""What is wrong with the ids of a submission: the forms that tools give them, and ids of the references they miss."""

import dataclasses
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import Any

from anls_eval.errors import short_repr
from anls_eval.files.source import ABSENT

_INTEGER = re.compile(r"0|[1-9][0-9]*")
_DECIMAL = re.compile(r"[0-9]+\.0+")
_EXPONENT = re.compile(r"[0-9](?:\.[0-9]+)?[eE]\+?[0-9]+")
_EXACT = 2**53  # integers from here on lose digits as floats
_MOST_DIGITS = 300  # that a float can have


@dataclasses.dataclass(frozen=True)
class IdFault:
    """Something wrong with the id of one row.

    Args:
        row: The row, from 0.
        code: As in `submission_check.PROBLEMS`.
        found: What it is, for a message.
        certain: Whether the id of the row in `IdCheck.texts` is certainly the one that was meant.
    """

    row: int
    code: str
    found: str
    certain: bool


@dataclasses.dataclass(frozen=True)
class IdCheck:
    """The ids of a submission.

    Args:
        texts: The id of each row as text, mended where the row has a fault; None where it cannot be known.
        faults: What is wrong, by row.
        missing: Ids of the references that no row has, in their order.
        extra: Rows whose id no reference has.
    """

    texts: list[str | None]
    faults: list[IdFault]
    missing: list[str]
    extra: list[int]


def check_ids(ids: Sequence[Any], references: Collection[str] | None, *, integers: bool, in_cells: bool) -> IdCheck:
    """Find what is wrong with each id, and what the two sides lack.

    An id with a fault that tells which one was meant stands for that one, so that no fault is reported twice.

    Args:
        ids: The ids as the file has them.
        references: The ids of the references, as text; None if they are not known.
        integers: Whether the portal takes integers only.
        in_cells: Whether they come from the cells of a table, which have no types.

    Returns:
        The ids as text, with what is wrong.

    Example:
        >>> found = check_ids([7, "8.0", " 9", 12], ["7", "8", "9", "10"], integers=False, in_cells=False)
        >>> found.texts, found.missing, found.extra
        (['7', '8', '9', '12'], ['10'], [3])
        >>> [(fault.row, fault.code, fault.certain) for fault in found.faults]
        [(1, 'id-float', True), (2, 'id-blanks', True)]
    """
    known = None if references is None else dict.fromkeys(references)
    if integers and known is not None:
        integers = all(map(_INTEGER.fullmatch, known))
    faults: list[IdFault] = []
    if set(map(type, ids)) == {int}:
        texts: list[str | None] = list(map(str, ids))
    else:
        read = _one_by_one(ids, known, integers, in_cells)
        texts = [text for text, _ in read]
        faults = [IdFault(row, *fault) for row, (_, fault) in enumerate(read) if fault is not None]
    if known is None:
        return IdCheck(texts, faults, [], [])
    given = set(texts)
    missing = [own for own in known if own not in given]
    extra = [row for row, text in enumerate(texts) if text is not None and text not in known]
    for code, key, applies in (("id-zeros", _without_zeros, _has_digits), ("id-digits", _as_float, _is_long)):
        found = _meant(texts, missing, extra, key, applies)
        faults += [
            IdFault(row, code, f"{ids[row]!r} for {' or '.join(map(repr, own[:3]))}", certain)
            for row, (own, certain) in found.items()
        ]
        for row, (own, certain) in found.items():
            texts[row] = own[0] if certain else None
        explained = {own for group, _ in found.values() for own in group}
        missing = [own for own in missing if own not in explained]
        extra = [row for row in extra if row not in found]
    return IdCheck(texts, sorted(faults, key=lambda fault: fault.row), missing, extra)


_Fault = tuple[str, str, bool]  # the code, what was found, and whether the mend is certain


def _one_by_one(
    ids: Sequence[Any], known: Collection[str] | None, integers: bool, in_cells: bool
) -> list[tuple[str | None, _Fault | None]]:
    if known is None:
        # "3.0" is a number that became a float only among numbers; elsewhere it can be the number of a section.
        has_decimals = any(isinstance(own, str) and "." in own and _DECIMAL.fullmatch(own.strip()) for own in ids)
        of_numbers = has_decimals and all(map(_is_number, ids))
    else:
        of_numbers = True
    return [_read(own, known, integers and not in_cells, in_cells, of_numbers) for own in ids]


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_DECIMAL.fullmatch(value.strip()) or _INTEGER.fullmatch(value.strip()))
    return isinstance(value, (int, float))


def _read(
    value: Any, known: Collection[str] | None, integers: bool, in_cells: bool, of_numbers: bool
) -> tuple[str | None, _Fault | None]:
    """The id of one row as text, and what is wrong with it."""
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
) -> tuple[str | None, _Fault | None]:
    """The integer that was written as a float, exact up to 2^53 unless digits were cut with an exponent."""
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
    """For rows whose id no reference has: the missing ids that have the same key, and whether that is the only way."""
    by_key = defaultdict(list)
    for own in missing:
        if applies(own):
            by_key[key(own)].append(own)
    rows = [(row, key(text)) for row in extra if (text := texts[row]) is not None and applies(text)]
    wanted = Counter(own for _, own in rows)
    return {row: (by_key[own], len(by_key[own]) == wanted[own] == 1) for row, own in rows if own in by_key}


def _without_zeros(text: str) -> str:
    return text.lstrip("0")


def _has_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _as_float(text: str) -> float:
    return float(int(text))


def _is_long(text: str) -> bool:
    """Whether digits can have been lost, in a number that is a float still."""
    return _has_digits(text) and 16 <= len(text) <= _MOST_DIGITS


def is_rounded(text: str) -> bool:
    """Whether this is an integer that a float can hold but is too long to have come through one whole."""
    return _is_long(text) and int(text) >= _EXACT and int(float(text)) == int(text)


def as_integer(value: Any) -> Any:
    """The integer that a text writes without leading zeros, or that a cell holds as a float; else the value."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    is_integer = isinstance(value, str) and _INTEGER.fullmatch(value) and len(value) <= _MOST_DIGITS
    return int(value) if is_integer else value
