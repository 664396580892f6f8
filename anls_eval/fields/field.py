"""`Field`: how one part of a tree is compared and weighed, as data."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from anls_eval.errors import AnlsError, check_choice, located
from anls_eval.rules.protocol import parse_number


class Inherited(enum.Enum):
    """The value of an option that a field does not name."""

    INHERITED = "inherited"


INHERITED: Literal[Inherited.INHERITED] = Inherited.INHERITED

Compare: TypeAlias = str | Callable[[Any, Any], float]
Exact: TypeAlias = int | float | str | Decimal | Fraction

COMPARES = ("text", "exact", "number", "date", "boolean", "ignore")

# The options that only one comparator has.
OWNED_OPTIONS = {
    "absolute": "number",
    "relative": "number",
    "decimal": "number",
    "day_first": "date",
    "formats": "date",
    "case_sensitive": "exact",
}

_DAY_DIRECTIVES = frozenset("djxc")  # directives of strptime from which a part of a date is known
_MONTH_DIRECTIVES = frozenset("mbBjxc")
_YEAR_DIRECTIVES = frozenset("yYxc")
_WEEK_DATES = frozenset("UWGV")


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Field:
    """How one part of a tree is compared and weighed. An option that is not given is inherited from the path above.

    Args:
        compare: ``"text"`` (the leaf of the protocol), ``"exact"``, ``"number"``, ``"date"``, ``"boolean"``,
            ``"ignore"``, or a function of a prediction and a reference that returns a number from 0 to 1.
        weight: What a leaf counts: a decimal greater than 0. Weights are never multiplied.
        absolute: Tolerance of numbers: right if ``abs(p - r) <= max(absolute, relative * abs(r))``, computed exactly.
        relative: The same tolerance as a share of the reference: 0.01 is 1 %.
        decimal: The decimal mark of numbers: ``"."``, ``","``, or ``"auto"``, which tells it from the text.
        day_first: Whether 01/02/2026 is the 1st of February. None accepts either reading.
        formats: Formats of dates, as `datetime.datetime.strptime` takes them, tried first.
        case_sensitive: Whether exact texts must also agree in case.
        order: ``"any"`` matches the elements of a list as well as possible, ``"kept"`` one by one. Not inherited.
        key: The field, or fields, of the elements of a list by which they belong together. Not inherited.

    Without any path, ``compare="text"``, ``weight=1``, ``absolute=0``, ``relative=0``, ``decimal="auto"``,
    ``day_first=None``, ``formats=()``, ``case_sensitive=False`` and ``order="any"`` hold.

    Raises:
        ValueError: An option has a value that is not allowed. The message lists the allowed ones.

    Example:
        >>> from anls_eval import Field
        >>> Field(compare="number", absolute="0.01", weight=2)
        Field(compare='number', weight='2', absolute='0.01')
    """

    compare: Compare | Inherited = INHERITED
    weight: Exact | Inherited = INHERITED
    absolute: Exact | Inherited = INHERITED
    relative: Exact | Inherited = INHERITED
    decimal: str | Inherited = INHERITED
    day_first: bool | Inherited | None = INHERITED
    formats: str | Iterable[str] | Inherited = INHERITED
    case_sensitive: bool | Inherited = INHERITED
    order: str | Inherited = INHERITED
    key: str | Iterable[str] | Inherited = INHERITED

    def __post_init__(self) -> None:
        for option, value in self.named().items():
            object.__setattr__(self, option, _CHECKS[option](option, value))
        if self.compare is not INHERITED:
            for option in self.named():
                check_owner(option, self.compare)
        if self.key is not INHERITED and self.order == "kept":
            problem = "elements that belong together by key have no order to keep. Take one of both options away"
            raise AnlsError(problem, option="key", value=self.key)

    def named(self) -> dict[str, Any]:
        """Return the options that this field names, in the order in which they are documented."""
        values = {option.name: getattr(self, option.name) for option in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value is not INHERITED}

    def to_dict(self) -> dict[str, object]:
        """Return the options that this field names, as JSON has them: decimals as text, functions by their name."""
        return {option: option_as_json(value) for option, value in self.named().items()}

    def __repr__(self) -> str:
        return f"Field({', '.join(f'{option}={value!r}' for option, value in self.to_dict().items())})"


FIELD_DEFAULTS: dict[str, Any] = {
    "compare": "text",
    "weight": Fraction(1),
    "absolute": Fraction(0),
    "relative": Fraction(0),
    "decimal": "auto",
    "day_first": None,
    "formats": (),
    "case_sensitive": False,
    "order": "any",
    "key": (),
}
"""What holds where no path names an option."""

LIST_OPTIONS = ("order", "key")  # of one list only: not inherited


def check_owner(option: str, compare: object) -> None:
    """Refuse an option of another comparator."""
    owner = OWNED_OPTIONS.get(option)
    if owner and compare != owner:
        given = f"not of compare={compare!r}" if isinstance(compare, str) else "not of a function"
        raise AnlsError(f"{option} is an option of compare={owner!r}, {given}. Remove one of the two")


def option_as_json(value: Any) -> Any:
    """Return the value of an option as JSON has it."""
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, tuple):
        return list(value)
    return function_name(value) if callable(value) else value


def exact_text(value: Fraction) -> str:
    """Return an exact number as a decimal without an exponent; as a fraction if it has no end."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest > 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def function_name(function: Callable[..., Any]) -> str:
    """Return a function as module:qualname; ``*`` for a lambda, and for an object that has no name."""
    name = str(getattr(function, "__qualname__", "<lambda>"))
    return "*" if name.endswith("<lambda>") else f"{function.__module__}:{name}"


def _check_compare(option: str, value: Any) -> Any:
    if callable(value):
        return value
    return check_choice(option, value, COMPARES)


def _exact(option: str, value: Any, expected: str) -> Fraction:
    """Return a number exactly as it is written."""
    with contextlib.suppress(ValueError, ArithmeticError):
        if isinstance(value, numbers.Rational) and not isinstance(value, bool):
            return Fraction(int(value.numerator), int(value.denominator))
        if isinstance(value, (numbers.Real, Decimal, str)) and not isinstance(value, bool):
            return parse_number(str(value))
    raise AnlsError(f"expected {expected}", option=option, value=value)


def _check_weight(option: str, value: Any) -> Fraction:
    expected = "a decimal greater than 0, such as 2 or 0.5"
    exact = _exact(option, value, expected)
    if exact <= 0:
        remedy = "To leave a part out, use compare='ignore'"
        raise AnlsError(f"expected {expected}. {remedy}", option=option, value=value)
    return exact


def _check_tolerance(option: str, value: Any) -> Fraction:
    expected = "a decimal of at least 0, such as 0.01"
    exact = _exact(option, value, expected)
    if exact < 0:
        raise AnlsError(f"expected {expected}", option=option, value=value)
    return exact


def _check_decimal(option: str, value: Any) -> Any:
    return check_choice(option, value, (".", ",", "auto"))


def _check_bool(option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise AnlsError("expected True or False", option=option, value=value)
    return value


def _check_day_first(option: str, value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise AnlsError("expected True, False, or None for either reading", option=option, value=value)
    return value


def _texts(option: str, value: Any, expected: str) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    items = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else (None,)
    if not items or not all(isinstance(item, str) for item in items):
        raise AnlsError(f"expected {expected}", option=option, value=value)
    return items


def _check_formats(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and not value:
        return ()
    formats = _texts(option, value, "formats of strptime, such as '%d.%m.%Y'")
    for item in formats:
        check_format(option, item)
    return formats


def check_format(option: str, text: str) -> None:
    """Refuse a format that strptime does not know, or from which no date follows."""
    directives = set(re.findall(r"%(.)", text.replace("%%", ""), re.DOTALL))
    unknown = directives - set("aAwdbBmyYHIpMSfzZjUWcxXGuV")
    if unknown:
        raise AnlsError(f"strptime does not know %{min(unknown)}", option=option, value=text)
    whole = bool(directives & _DAY_DIRECTIVES) <= bool(directives & _MONTH_DIRECTIVES) and directives & _YEAR_DIRECTIVES
    if not whole or directives & _WEEK_DATES:
        problem = "expected a format with a year, and with a month where it has a day, such as '%d.%m.%Y'"
        raise AnlsError(problem, option=option, value=text)


def format_parts(text: str) -> int:
    """Return how many parts of a date a format holds: 1 for a year, 2 for a month, 3 for a day."""
    directives = set(re.findall(r"%(.)", text.replace("%%", ""), re.DOTALL))
    return 3 if directives & _DAY_DIRECTIVES else 2 if directives & _MONTH_DIRECTIVES else 1


def _check_order(option: str, value: Any) -> Any:
    return check_choice(option, value, ("any", "kept"))


def _check_key(option: str, value: Any) -> tuple[str, ...]:
    names = _texts(option, value, "the name of a field, or a list of names")
    if len(set(names)) < len(names):
        raise AnlsError("names a field twice", option=option, value=value)
    return names


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "compare": _check_compare,
    "weight": _check_weight,
    "absolute": _check_tolerance,
    "relative": _check_tolerance,
    "decimal": _check_decimal,
    "day_first": _check_day_first,
    "formats": _check_formats,
    "case_sensitive": _check_bool,
    "order": _check_order,
    "key": _check_key,
}


def as_field(options: object, where: str) -> Field:
    """Return a field, or that with these options; the message of an error begins with its place."""
    if isinstance(options, Field):
        return options
    if type(options).__name__ == "Field" and hasattr(options, "named"):
        options = options.named()  # made by another copy of this class: anls.py has its own
    if not isinstance(options, Mapping):  # a dict, or that of OmegaConf in the configuration of a trainer
        raise AnlsError("expected a Field, or a dict of its options", where=where)
    try:
        for option in options:
            check_choice("option", option, tuple(FIELD_DEFAULTS))
        return Field(**options)
    except AnlsError as error:
        raise located(where, error) from None
