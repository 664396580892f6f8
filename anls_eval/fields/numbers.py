"""Numbers in documents, read exactly: "1,299.00", "EUR 5", "(12)", 1e3.

A number is a pair of integers (m, d), which stands for m / 10**d. d is the smallest that will do, so that equal
numbers are equal pairs.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anls_eval.arrow import as_bools, as_floats, number_array, text_array

DecimalNumber: TypeAlias = tuple[int, int]

_MAX_NUMBER_DIGITS = 1000
_MAX_EXPONENT = 1000
_CACHED_NUMBERS = 200_000  # texts whose number is remembered
_MAX_PLACES = 18  # decimal places of a column that is compared in 64 bits
_FITS = 2**61
_SHORT_SCALE = 10_000  # of short numbers
_SHORT_LIMIT = 10**15  # of short numbers times their scale
MAX_SHORT_NUMERATOR = _FITS // _SHORT_LIMIT  # of a relative tolerance by which short numbers are compared
_SHORT = 300  # characters: no text of a number that is read by the fast path has more digits than are allowed

CURRENCY_CODES = frozenset(
    re.findall(
        "[A-Z]{3}",
        """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
    CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR
    LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK
    PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT
    TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU XBA XBB XBC XBD XCD XCG
    XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL
    ATS BEF CYP DEM EEK ESP FIM FRF GRD HRK IEP ITL LTL LUF LVL MTL NLG PTE SIT SKK
""",
    )
)
"""The codes of ISO 4217; the last line holds those that the euro replaced."""

_THREES = r"[1-9][0-9]{0,2}(?:S[0-9]{3})+"
_INDIAN = r"[1-9][0-9]?(?:S[0-9]{2})+S[0-9]{3}"
_BODY = re.compile(r"([0-9.,' _]*)(?:[eE]([+-]?[0-9]+))?")
_USUAL = re.compile(r"(-?)[$€£]?([0-9]{1,300}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,100})(?:\.([0-9]{0,300}))?(?: ?%)?")
_SHORT_INTEGER = r"\A-?[0-9]{1,11}\z"
_SHORT_DECIMAL = r"\A-?(?:[0-9]{1,11}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,2})(?:\.[0-9]{1,4})?\z"
_WORD = re.compile("[a-df-z]")  # small letters are in no number, except for an exponent
_USUAL_IN_EUROPE = re.compile(r"(-?)([0-9]{1,300}|[1-9][0-9]{0,2}(?:\.[0-9]{3}){1,100}),([0-9]{1,2})(?: ?[€%])?")


@functools.cache
def _grouped(separator: str) -> re.Pattern[str]:
    """Return the pattern of digits in groups, which is compiled when the first number with such groups is read."""
    return re.compile(f"{_THREES}|{_INDIAN}".replace("S", re.escape(separator)))


def parse_number_text(text: str, decimal: str = "auto") -> DecimalNumber | None:
    """Return the number that a text is, or None if it is none. This is the rule; `NumberReader` only makes it fast."""
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2019", "'").strip()
    taken: dict[str, str] = {}
    while True:
        around = _outermost(text)
        if around is None:
            break
        kind, mark, text = around
        if kind in taken:
            return None
        taken[kind] = mark
    number = _parse_body(text, decimal)
    if number is None:
        return None
    return (-number[0], number[1]) if taken.get("sign") in ("-", "(") else number


def _outermost(text: str) -> tuple[str, str, str] | None:
    """Return the kind of a mark at either end of a text, the mark, and the rest; None if there is none."""
    if text.startswith("(") and text.endswith(")"):
        return "sign", "(", text[1:-1].strip()
    for mark, rest in ((text[:1], text[1:]), (text[-1:], text[:-1]), (text[:3], text[3:]), (text[-3:], text[:-3])):
        if mark in ("+", "-"):
            kind = "sign"
        elif mark == "%":
            kind = "percent"
        elif mark in CURRENCY_CODES or (len(mark) == 1 and unicodedata.category(mark) == "Sc"):
            kind = "currency"
        else:
            continue
        return kind, mark, rest.strip()
    return None


def _parse_body(text: str, decimal: str) -> DecimalNumber | None:
    """Return the number in digits with a decimal mark, thousands separators and an exponent."""
    found = _BODY.fullmatch(text)
    if not found:
        return None
    digits, exponent = found[1], found[2] or "0"
    mark = decimal_mark(digits) if decimal == "auto" else decimal
    whole, _, rest = digits.partition(mark) if mark else (digits, "", "")
    if not re.fullmatch("[0-9]*", whole):
        separators = set(re.sub("[0-9]", "", whole))
        if len(separators) > 1 or not _grouped(separators.pop()).fullmatch(whole):
            return None
        whole = re.sub("[^0-9]", "", whole)
    if not re.fullmatch("[0-9]*", rest) or not 1 <= len(whole) + len(rest) <= _MAX_NUMBER_DIGITS:
        return None
    if len(exponent) > _MAX_NUMBER_DIGITS or abs(int(exponent)) > _MAX_EXPONENT:
        return None
    return shortest(int(whole + rest), len(rest) - int(exponent))


def decimal_mark(digits: str) -> str:
    """Return the decimal mark of a number whose notation is not known; empty if it has none."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        return max(".,", key=digits.rfind)
    if points == 1:
        return "."
    if commas == 1 and not _grouped(",").fullmatch(digits):
        return ","
    return ""


def shortest(m: int, d: int) -> DecimalNumber:
    """Return the pair of a number with the smallest d."""
    if d < 0:
        return m * 10**-d, 0
    while d and m % 10 == 0:
        m, d = m // 10, d - 1
    return m, d


class NumberReader:
    """Reads numbers with one convention for the decimal mark, and remembers texts."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.known: dict[str, DecimalNumber | None] = {}

    def parse(self, value: Any) -> DecimalNumber | None:
        """Return the number that a value is, or None if it is none."""
        if isinstance(value, str):
            return self.parse_text(value)
        if isinstance(value, (bool, np.bool_)):
            return None
        if type(value) is int and value.bit_length() < 3000:  # 903 digits
            return value, 0
        if type(value) is float:
            whole, _, rest = repr(value).partition(".")
            if rest.isdecimal():  # no exponent
                return (int(whole), 0) if rest == "0" else (int(whole + rest), len(rest))
        try:
            return parse_number_text(str(value), ".")
        except ValueError:  # Python refuses to write integers of thousands of digits
            return None

    def parse_text(self, text: str) -> DecimalNumber | None:
        """Return what `parse_number_text` does: plain decimals and thousands at once, others from memory."""
        if self.decimal != ",":
            whole, _, rest = text.partition(".")
            if (not rest or rest.isdigit()) and text.isascii() and len(text) < _SHORT:
                digits = whole if whole.isdigit() else _without_commas(whole)
                if digits:
                    rest = rest.rstrip("0")
                    return int(digits + rest), len(rest)
        if text not in self.known:
            if len(self.known) >= _CACHED_NUMBERS:
                self.known.clear()
            self.known[text] = self.read_text(text)
        return self.known[text]

    def read_text(self, text: str) -> DecimalNumber | None:
        """Return what `parse_number_text` does, the usual notations first."""
        found = self.decimal != "," and _USUAL.fullmatch(text)
        separator = ","
        if not found:
            found = self.decimal != "." and _USUAL_IN_EUROPE.fullmatch(text)
            separator = "."
        if not found:
            return None if _WORD.search(text) else parse_number_text(text, self.decimal)
        sign, whole, rest = found.groups("")
        rest = rest.rstrip("0")
        return int(sign + whole.replace(separator, "") + rest), len(rest)

    def parse_all(self, values: Sequence[Any]) -> list[DecimalNumber | None]:
        """Return the numbers that the values of a column are."""
        kinds = set(map(type, values))
        if kinds == {str}:
            return list(map(self.parse_text, values))
        if kinds and kinds <= {int, float}:
            return [number or self.parse(value) for number, value in zip(_short_decimals(values), values, strict=True)]
        return list(map(self.parse, values))

    def unparsed(self, values: Sequence[Any]) -> list[int]:
        """Return the indexes of the values that are no numbers."""
        rest = np.flatnonzero(~self.read_short(values).is_short).tolist()
        return [index for index in rest if self.parse(values[index]) is None]

    def read_short(self, values: Sequence[Any]) -> ShortNumbers:
        """Read those values of a column that are short numbers in the usual notation."""
        kinds = set(map(type, values))
        if kinds == {str}:
            with contextlib.suppress(UnicodeEncodeError):  # lone surrogates, which Arrow cannot hold
                return _read_short_texts(text_array(values), self.decimal)
        nothing = np.zeros(len(values), np.bool_)
        if kinds <= {int, float}:
            return ShortNumbers(*_scaled_numbers(values), nothing)
        return ShortNumbers(np.zeros(len(values), np.int64), nothing, nothing)


def _without_commas(whole: str) -> str:
    """Return the digits of an integer with commas before groups of three; empty for other texts."""
    digits = whole.replace(",", "")
    commas = len(whole) - len(digits)
    is_grouped = 0 < len(whole) - 4 * commas < 4 and whole[-4::-4] == "," * commas and whole[0] != "0"
    return digits if is_grouped and digits.isdigit() else ""


class ShortNumbers(NamedTuple):
    """The numbers of a column that have at most 15 digits, four of them behind the decimal mark."""

    scaled: npt.NDArray[np.int64]  # times 10,000; 0 for other values
    is_short: npt.NDArray[np.bool_]
    is_none: npt.NDArray[np.bool_]  # what is known to be no number


def _read_short_texts(texts: pa.LargeStringArray, decimal: str) -> ShortNumbers:
    import pyarrow.compute as pc

    pattern = _SHORT_INTEGER if decimal == "," else _SHORT_DECIMAL
    is_short = as_bools(pc.match_substring_regex(texts, pattern))
    digits = pc.replace_substring(texts.filter(number_array(is_short)), ",", "")
    scaled = np.zeros(len(texts), np.int64)
    # Exact: no two decimals of 15 digits have the same nearest float.
    scaled[is_short] = np.rint(as_floats(digits.cast(pa.float64())) * _SHORT_SCALE)
    return ShortNumbers(scaled, is_short, as_bools(pc.match_substring_regex(texts, _WORD.pattern)))


def _scaled_numbers(values: Sequence[float]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the short numbers times 10,000, and which ones they are."""
    # Of decimals of at most 15 digits, one at most is the nearest to a float, and it is the one that Python prints.
    try:
        floats = np.array(values, dtype=np.float64)
    except OverflowError:  # integers beyond any float
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(floats * _SHORT_SCALE)
        is_short = (scaled / _SHORT_SCALE == floats) & (np.abs(scaled) < _SHORT_LIMIT)
    return np.where(is_short, scaled, 0).astype(np.int64), is_short


def _short_decimals(values: Sequence[float]) -> list[DecimalNumber | None]:
    """Return the short numbers, and None for others."""
    m, is_short = _scaled_numbers(values)
    d = np.full(len(m), 4)
    for _ in range(4):
        is_longer = m % 10 == 0
        m, d = np.where(is_longer, m // 10, m), d - is_longer
    numbers = zip(m.tolist(), d.tolist(), strict=True)
    return [number if short else None for number, short in zip(numbers, is_short.tolist(), strict=True)]


def number_matches(prediction: DecimalNumber, reference: DecimalNumber, absolute: Fraction, relative: Fraction) -> bool:
    """Return whether a number is within the tolerance of a reference: |p - r| <= max(absolute, relative |r|)."""
    (p, p_places), (r, r_places) = prediction, reference
    places = max(p_places, r_places)
    r *= 10 ** (places - r_places)
    distance = abs(p * 10 ** (places - p_places) - r)
    return bool(
        distance * absolute.denominator <= absolute.numerator * 10**places
        or distance * relative.denominator <= relative.numerator * abs(r)
    )


def short_matches(
    references: npt.NDArray[np.int64], predictions: npt.NDArray[np.int64], absolute: Fraction, relative: Fraction
) -> npt.NDArray[np.bool_]:
    """Return whether each short number is within the tolerance of its reference."""
    found: npt.NDArray[np.bool_] = np.abs(references - predictions) <= _tolerances(references, 4, absolute, relative)
    return found


def number_matrix(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> npt.NDArray[np.bool_]:
    """Return whether each prediction (column) is within the tolerance of each reference (row)."""
    scaled = _scaled(references, predictions, absolute, relative)
    if scaled:
        r, p, tolerances, is_number = scaled
        found: npt.NDArray[np.bool_] = np.abs(np.subtract.outer(r, p)) <= tolerances[:, None]
        return found & is_number
    are_huge = np.array([p is not None and abs(p[0]) >= _HUGE for p in predictions], dtype=np.bool_)
    if are_huge.any() and not are_huge.all():  # few, such as "1459e81" for "1459.81": apart from the others
        apart = np.empty((len(references), len(predictions)), dtype=np.bool_)
        for columns in (np.flatnonzero(are_huge), np.flatnonzero(~are_huge)):
            part = [predictions[column] for column in columns.tolist()]
            apart[:, columns] = number_matrix(references, part, absolute, relative)
        return apart
    rows = [[p is not None and number_matches(p, r, absolute, relative) for p in predictions] for r in references]
    return np.array(rows, dtype=np.bool_).reshape(len(references), len(predictions))


def number_vector(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> npt.NDArray[np.bool_]:
    """Return whether each prediction is within the tolerance of its reference."""
    found = np.fromiter(map(operator.eq, references, predictions), np.bool_, len(references))
    if absolute or relative:
        unequal = np.flatnonzero(~found).tolist()
        pairs = [references[row] for row in unequal], [predictions[row] for row in unequal]
        found[unequal] = _within_tolerance(*pairs, absolute, relative)
    return found


def _within_tolerance(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> npt.NDArray[np.bool_]:
    scaled = _scaled(references, predictions, absolute, relative)
    if scaled:
        r, p, tolerances, is_number = scaled
        found: npt.NDArray[np.bool_] = (np.abs(r - p) <= tolerances) & is_number
        return found
    pairs = zip(predictions, references, strict=True)
    return np.array([p is not None and number_matches(p, r, absolute, relative) for p, r in pairs], dtype=np.bool_)


_HUGE = 10**12

_Scaled: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]


def _scaled(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> _Scaled | None:
    """Return references, predictions and tolerances as integers of one scale; None if they do not fit into 64 bits."""
    values = [*references, *[(0, 0) if number is None else number for number in predictions]]
    if not values:
        return None
    try:
        ms, ds = np.array(values, dtype=np.int64).T
    except OverflowError:
        return None
    places, largest = int(ds.max()), max(1, int(ms.max()), -int(ms.min()))
    # A sum of two of these, and a product with the numerator, must not overflow.
    if places > _MAX_PLACES or largest * max(1, relative.numerator) * 10**places >= _FITS:
        return None
    scaled = ms * 10 ** (places - ds)
    r, p = scaled[: len(references)], scaled[len(references) :]
    return (
        r,
        p,
        _tolerances(r, places, absolute, relative),
        np.array([number is not None for number in predictions], dtype=np.bool_),
    )


def _tolerances(
    references: npt.NDArray[np.int64], places: int, absolute: Fraction, relative: Fraction
) -> npt.NDArray[np.int64]:
    """Return the tolerances of numbers times 10**places."""
    # Distances are integers, so that the floor of a tolerance decides as the tolerance does.
    least = np.int64(min(2 * _FITS, math.floor(absolute * 10**places)))
    found: npt.NDArray[np.int64] = np.abs(references) * relative.numerator // min(_FITS, relative.denominator)
    return np.maximum(least, found)


def number_words(number: DecimalNumber) -> str:
    """Return a number as a decimal."""
    m, d = number
    digits = str(abs(m)).rjust(d + 1, "0")
    return ("-" if m < 0 else "") + (f"{digits[:-d]}.{digits[-d:]}" if d else digits)
