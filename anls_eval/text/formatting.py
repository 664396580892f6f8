"""Compare two answers apart from their formatting: they are the same if they share a reading without it."""

import re
import unicodedata

REFUSALS = frozenset(
    {
        "cannot answer",
        "cannot be answered",
        "cannot be determined",
        "cannot determine",
        "i do not know",
        "i don't know",
        "insufficient information",
        "n/a",
        "no answer",
        "none",
        "not answerable",
        "not applicable",
        "not available",
        "not enough information",
        "not found",
        "not given",
        "not mentioned",
        "not provided",
        "not specified",
        "not stated",
        "null",
        "unable to answer",
        "unable to determine",
        "unanswerable",
        "unknown",
    }
)
"""Spellings of "not answerable", as a whole text; `is_refusal` takes them in any case, quoted or with an end mark.

"no" and "nil" are not among them: they answer questions. Nor are sentences such as "The document does not mention it",
which cannot be told from an answer like "The drink does not contain saccharin".
"""

NOT_ANSWERABLE = frozenset({"not answerable", "unanswerable"})
"""What references write where a question has no answer. "None" and "unknown" are answers: they stand in documents."""

_QUOTES_AND_ENDS = " \t\n\"'“”‘’.,;:!?*()[]"


def is_refusal(text: str) -> bool:
    """Return whether the whole text is one of `REFUSALS`."""
    return _plain(text) in REFUSALS


def is_unanswerable(answer: str) -> bool:
    """Return whether an accepted answer is empty or whitespace, or one of `NOT_ANSWERABLE`."""
    return not answer.strip() or _plain(answer) in NOT_ANSWERABLE


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("-", " ")
    return " ".join(plain.strip(_QUOTES_AND_ENDS).split())


def compare_wording(left: str, right: str) -> str:
    """Return ``"same"`` for texts that differ in formatting only, ``"contained"``, or ``"different"``."""
    # Formatting is case, compatible characters, punctuation, articles, a currency that only one text names, thousands
    # signs, decimal commas, zeros that do not change a number, "percent" for its sign, parentheses for a minus, and
    # the way a date is written. Spaces between words, a percent sign, a minus before the first number and every other
    # symbol count, and so does spelling.
    texts = _folded(left), _folded(right)
    readings = _readings(texts[0]), _readings(texts[1])
    if readings[0] & readings[1]:
        currencies = _currencies(texts[0]), _currencies(texts[1])
        return "same" if not all(currencies) or currencies[0] == currencies[1] else "different"
    if _dates(texts[0]) & _dates(texts[1]):
        return "same"
    pairs = [(f" {a} ", f" {b} ") for a in readings[0] for b in readings[1]]
    return "contained" if any(a in b or b in a for a, b in pairs) else "different"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


# Readings of words and numbers

_POINT, _MINUS = "٫", "−"  # stand for those of numbers, while all other punctuation goes

_CODES = {"usd": "$", "eur": "€", "gbp": "£", "inr": "₹", "rs": "₹"}
_CODE = re.compile(r"\b(?:us(?=\$)|(?:usd|eur|gbp|inr|rs)\b\.?(?=\s*\d)|(?<=\d)\s*(?:usd|eur|gbp|inr|rs)\b)")
_PERCENT = re.compile(r"(?<=\d)\s*(?:percent|per cent|pct\.?)(?!\w)")
_IN_PARENTHESES = re.compile(r"\s*\(\s*([^\w\s()]?\s*[\d.,']*\d\s*%?)\s*\)\s*")
_ARTICLE = re.compile(r"(?<![\w.])(?:an?|the)\s+(?=[\w\"'“‘])")  # "Vitamin A" and "A. Smith" have none
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+),\d{1,2}(?![\w,]|\.\d)")
_NUMBER = re.compile(
    r"""(?<!\w)(?<!\d\.)
    (?:[1-9]\d{0,2}(?:[,']\d{2,3})*[,']\d{3}(?!\d)(?:\.\d+)?  # in groups of three, in India of two
    |\d+(?:\.\d+)?|\.\d+)
    (?!\.?\d)(?=[^\W\d_]*(?!\w))  # letters may follow as a unit, but not the rest of a code
    """,
    re.VERBOSE,
)
_SIGN = re.compile(r"^([^\w‐-―−-]*)[‐-―−-](?=[^\w\s]?\.?\d)(?!.*-\s*$)")  # "-12-" is a page number
_INITIALS = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_])+(?!\S)")
_INSIDE_WORD = re.compile(r"(?<=[^\W\d_])['’.‐-―-](?=[^\W\d_])")  # of "U.S.", "co-operate", "men's"


class _Unpunctuated(dict[int, str]):
    """A table for `str.translate`: drops currency signs, spaces out symbols, and replaces punctuation by spaces."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Sc":
            self[code] = ""
        elif character in "%‰" or (category[0] == "S" and category != "Sk" and character != _MINUS):
            self[code] = f" {character} "
        else:
            self[code] = " " if category == "Sk" or (category[0] == "P" and character != _POINT) else character
        return self[code]


_UNPUNCTUATED = _Unpunctuated()


def _readings(text: str) -> set[str]:
    """Return the text as plain words and numbers, with and without a decimal comma and in-word punctuation."""
    text = _PERCENT.sub("%", text)
    negative = _IN_PARENTHESES.fullmatch(text)  # as accountants write a number below 0
    given = {text, f"-{negative[1]}"} if negative else {text}
    texts = given | {
        _DECIMAL_COMMA.sub(lambda number: number[0].replace(".", "").replace(",", "."), own) for own in given
    }
    plain = {_SIGN.sub(rf"\1{_MINUS}", _CODE.sub(" ", _ARTICLE.sub("", each))) for each in texts}
    numbered = {_NUMBER.sub(_plain_number, each) for each in plain}
    return {_words(each) for each in numbered | {_INSIDE_WORD.sub("", each) for each in numbered}} - {""}


def _words(text: str) -> str:
    words = " ".join(text.translate(_UNPUNCTUATED).split())
    return _INITIALS.sub(lambda initials: initials[0].replace(" ", ""), words)


def _with_point(number: re.Match[str]) -> str:
    return number[0].replace(".", "").replace(",", ".")


def _plain_number(number: re.Match[str]) -> str:
    whole, _, decimals = number[0].replace(",", "").replace("'", "").partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{_POINT if decimals else ''}{decimals} "


def _currencies(text: str) -> set[str]:
    signs = {character for character in text if unicodedata.category(character) == "Sc"}
    return signs | {_CODES[word] for code in _CODE.findall(text) if (word := code.strip(" .")) in _CODES}


# Dates

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = {written: number for number, name in enumerate(_MONTH_NAMES, start=1) for written in (name, name[:3])}
_MONTHS["sept"] = 9
_OF_NUMBERS = re.compile(r"\s*(\d{1,2}|\d{4})\s*([/.-])\s*(\d{1,2})\s*\2\s*(\d{1,2}|\d{4})\s*\.?\s*")
_WITH_NAME = re.compile(r"(?:[^\W_]|[\s.,'’/-])*")
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_FILLERS = {"of", "the", "st", "nd", "rd", "th"}

_Date = tuple[int, int, int]  # year, month, day; 0 where the text has none


def _dates(text: str) -> set[_Date]:
    """Return every date that the whole text can be read as: 01/02/20 is one of two days in one of two centuries."""
    numbers = _OF_NUMBERS.fullmatch(text)
    if numbers:
        first, _, second, third = numbers.groups()
        orders = [(first, second, third)] if len(first) == 4 else [(third, first, second), (third, second, first)]
        return {date for year, month, day in orders for date in _valid(year, int(month), day)}
    if not _WITH_NAME.fullmatch(text):
        return set()
    words = [part for part in _PARTS.findall(text) if part not in _FILLERS]
    months = [_MONTHS[word] for word in words if word in _MONTHS]
    digits = [word for word in words if word.isdecimal()]
    if len(months) != 1 or len(digits) + 1 != len(words) or not 1 <= len(digits) <= 2:
        return set()
    one, other = [*digits, ""][:2]  # with one number only, a day without a year or a year without a day
    return {date for year, day in ((one, other), (other, one)) for date in _valid(year, months[0], day)}


def _valid(year: str, month: int, day: str) -> list[_Date]:
    """Return these dates, in both centuries if the year has two digits; none if they are not valid."""
    if len(year) not in (0, 2, 4) or not 1 <= month <= 12 or len(day) > 2 or (day and not 1 <= int(day) <= 31):
        return []
    years = [1900 + int(year), 2000 + int(year)] if len(year) == 2 else [int(year or 0)]
    return [(each, month, int(day or 0)) for each in years]
