"""`Protocol`: the rules by which one leaderboard or paper computes ANLS, as data."""

from __future__ import annotations

import contextlib
import dataclasses
import numbers
import re
import urllib.parse
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from anls_eval.errors import AnlsError, check_choice
from anls_eval.extract.steps import check_extract, extracted, read_extract
from anls_eval.markup import Html, element, notebook_page, table_html
from anls_eval.rules.steps import LENGTHS, STEPS
from anls_eval.types import Extract

Threshold = float | str | Fraction | Decimal | None

_MAX_DIGITS = 1000  # of a number in an option: it is computed with and written into signatures

_NUMBER = re.compile(r"[+-]?[0-9]+(?:/[0-9]+|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?)")


def parse_number(text: str) -> Fraction:
    """Return the number in a text; refuse texts such as "1e999999999", whose digits would fill the memory."""
    if len(text) > 2 * _MAX_DIGITS + 2 or not _NUMBER.fullmatch(text):
        raise ValueError("not a number, or too many digits")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("not a number") from None


def read_threshold(threshold: object, option: str = "threshold") -> Fraction:
    """Return a threshold in any form (0.8, "0.8", "4/5", Decimal, Fraction) exactly as it is written."""
    exact, number = Fraction(-1), threshold
    with contextlib.suppress(ValueError, ArithmeticError):  # NaN and infinities, too
        if isinstance(number, str):
            number = Fraction(number) if "/" in number else Decimal(number)
        if isinstance(number, numbers.Rational) and not isinstance(number, bool):
            exact = Fraction(int(number.numerator), int(number.denominator))
        elif isinstance(number, (numbers.Real, Decimal)):  # except bool, whose text is not a number
            exact = parse_number(str(number))
    if not 0 <= exact <= 1 or exact.denominator > 10**_MAX_DIGITS:
        raise threshold_error(threshold, option)
    return exact


def threshold_error(threshold: object, option: str = "threshold") -> AnlsError:
    """Return the error for a threshold that is not a number from 0 to 1."""
    expected = f"expected a number from 0 to 1, such as 0.8 or 4/5, with at most {_MAX_DIGITS:,} digits"
    what = "counts" if option == "threshold" else "is right"
    return AnlsError(f"{expected}. It is the minimum similarity that {what}.", option=option, value=threshold)


class Rules:
    """What the rules of every kind have: a `Protocol` for texts or trees, and a `Leaderboard`."""

    name: str
    aliases: tuple[str, ...]
    source: str
    extract: tuple[str, ...]

    def extracted(self, prediction: Any) -> Any:
        """Return the answer that `extract` takes out of a prediction; whatever is not a text is returned as it is."""
        return extracted(prediction, self.extract)

    reads_lists: bool = False
    """Whether the rules read lists from texts themselves, and get such texts as they are."""

    def signature_fields(self) -> dict[str, object]:
        """Return the fields of a signature that name the rules."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return the rules as notebooks show them."""
        rows = [(name, element("code", value)) for name, value in self.signature_fields().items()]
        aliases = element("p", f"also {', '.join(self.aliases)}", "muted") if self.aliases else Html()
        return notebook_page(
            element("b", self.name), aliases, table_html(("rule", ""), rows), element("p", self.source, "muted")
        )

    @property
    def aggregate(self) -> str:
        """How the scores of questions become that of a data set."""
        return "mean"

    @property
    def answer_types(self) -> tuple[str, ...]:
        """The answer types, one of which each question needs; empty where questions need none."""
        return ()

    def checked_options(self, options: Mapping[str, object] | None) -> dict[str, Any]:
        """Return the options of a benchmark; refuse them for rules of any other kind."""
        if options:
            problem = f"protocol {self.name!r} has no options; leave them out"
            raise AnlsError(problem, option="options", value=str(options))
        return {}

    def recorded_options(self, options: Mapping[str, object] | None) -> str:
        """Return what a signature records of the options; empty without any."""
        return "+".join(self.checked_options(options))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Protocol(Rules):
    r"""The rules by which one leaderboard or paper computes ANLS, as data.

    Make your own with `dataclasses.replace` and pass it wherever a protocol name is accepted.

    Args:
        name: Letters, digits, ``_``, ``-`` and ``.``.
        prediction_steps: Names from `STEPS`, applied to the prediction in this order.
        answer_steps: Names from `STEPS`, applied to each accepted answer in this order.
        prediction_length: A name from `LENGTHS`. The distance is divided by the greater of the two lengths.
        answer_length: A name from `LENGTHS`.
        keep: ``">="`` keeps a similarity of exactly `threshold`, ``">"`` sets it to 0.
        threshold: Minimum similarity that counts, from 0 to 1: a number, or a text such as ``"4/5"``. It means the
            decimal as written (0.8 is 4/5) and is compared in integers. 0 with ``">="`` keeps every similarity.
        both_empty: The similarity of two empty strings, 1 or 0.
        zero_predictions: Predictions, after their steps, that score 0 whatever the answers are.
        substitution_cost: The cost of replacing a character; inserting and deleting cost 1. A similarity
            below 0, possible when this is over 1, counts as 0.
        extract: Names of steps from `EXTRACT_STEPS` that take the answer out of the prediction before anything else is
            done, in this order. Predictions that are not texts are left alone; ``json``, for trees, comes last.
        tree: Empty for texts. For trees (ANLS*), ``"released"`` scores as anls_star 1.0.1 does, ``"paper"`` by the
            formula. The leaves of a tree are texts that follow the rules above, with the lengths ``compared``,
            `both_empty` 1 and no `zero_predictions`.
        aliases: Other names that `get_protocol` accepts.
        leaderboards: Leaderboards and tools that compute ANLS this way.
        source: Where the rules come from, and where the original differs in special cases.

    The attribute `exact_threshold` is the threshold as a fraction.

    Raises:
        ValueError: An option has a value that is not allowed. The message lists the allowed ones.

    Example:
        >>> import dataclasses
        >>> from anls_eval import anls_score, get_protocol
        >>> composed = dataclasses.replace(
        ...     get_protocol("standard"),
        ...     name="standard_nfc",
        ...     prediction_steps=("nfc", "strip", "lower", "collapse"),
        ...     answer_steps=("nfc", "strip", "lower", "collapse"),
        ... )
        >>> anls_score("cafe\u0301", ["caf\u00e9"]), anls_score("cafe\u0301", ["caf\u00e9"], protocol=composed)
        (0.6, 1.0)
    """

    name: str
    prediction_steps: tuple[str, ...]
    answer_steps: tuple[str, ...]
    prediction_length: str = "compared"
    answer_length: str = "compared"
    keep: str = ">="
    threshold: float | str | Fraction | Decimal = 0.5
    both_empty: int = 1
    zero_predictions: tuple[str, ...] = ()
    substitution_cost: int = 1
    extract: tuple[str, ...] = ()
    tree: str = ""
    aliases: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    leaderboards: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    source: str = dataclasses.field(default="", compare=False)
    exact_threshold: Fraction = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"\w[\w.-]*", self.name):
            expected = "expected letters, digits, '_', '-' and '.', a letter or digit first"
            raise AnlsError(expected, option="name", value=self.name)
        for option in ("prediction_steps", "answer_steps", "zero_predictions", "extract"):
            value = getattr(self, option)
            items = (
                tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, np.ndarray)) else (None,)
            )
            if not all(isinstance(item, str) for item in items):
                raise AnlsError("expected a tuple of strings", option=option, value=value)
            object.__setattr__(self, option, items)
        for option in ("prediction_steps", "answer_steps"):
            for step in getattr(self, option):
                check_choice(f"a step of {option}", step, tuple(STEPS))
        check_choice("prediction_length", self.prediction_length, tuple(LENGTHS))
        check_choice("answer_length", self.answer_length, tuple(LENGTHS))
        check_choice("keep", self.keep, (">=", ">"))
        for option in ("both_empty", "substitution_cost"):
            value = getattr(self, option)
            number = -1 if isinstance(value, bool) or not isinstance(value, numbers.Integral) else int(value)
            if not 0 <= number <= 10**_MAX_DIGITS:
                raise AnlsError("expected an integer of at least 0", option=option, value=value)
            object.__setattr__(self, option, number)
        check_choice("both_empty", self.both_empty, (0, 1))
        check_choice("tree", self.tree, ("", "released", "paper"))
        check_extract(self.extract, of_trees=bool(self.tree))
        lengths = self.prediction_length, self.answer_length
        if self.tree and (lengths != ("compared", "compared") or not self.both_empty or self.zero_predictions):
            raise ValueError("a protocol for trees has the lengths 'compared', both_empty=1 and no zero_predictions")
        exact = read_threshold(self.threshold)
        written = float(exact)
        object.__setattr__(self, "exact_threshold", exact)
        object.__setattr__(self, "threshold", written if Fraction(str(written)) == exact else exact)

    def with_threshold(self, threshold: Threshold) -> Protocol:
        """Return these rules with another threshold; None keeps the threshold."""
        if threshold is None:
            return self
        return dataclasses.replace(self, threshold=threshold)

    def with_extract(self, extract: Extract) -> Protocol:
        """Return these rules with other steps that take the answer out; None keeps the steps, "none" removes them."""
        names = read_extract(extract)
        return self if names is None or names == self.extract else dataclasses.replace(self, extract=names)

    def signature_fields(self) -> dict[str, object]:
        """Return the fields of a signature that name the rules."""
        return {
            "protocol": self.name,
            **({"tree": self.tree} if self.tree else {}),
            **({"extract": "+".join(self.extract)} if self.extract else {}),
            "pred": "+".join(self.prediction_steps) or "-",
            "ref": "+".join(self.answer_steps) or "-",
            "length": "/".join(dict.fromkeys((self.prediction_length, self.answer_length))),
            "keep": f"{self.keep}{self.threshold}",
            "empty": self.both_empty,
            "special": "+".join(map(quoted_item, self.zero_predictions)) or "-",
            "substitution": self.substitution_cost,
        }


def quoted_item(text: str) -> str:
    """Return any text as one item of a list in a signature, where "-" is an empty list and "''" an empty text."""
    return urllib.parse.quote(text, safe="", errors="surrogatepass").replace("-", "%2D") or "''"
