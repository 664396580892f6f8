"""Comparators: how the leaves of one field are parsed and compared, one by one and as columns."""

from __future__ import annotations

import itertools
import numbers as number_types
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from anls_eval.errors import AnlsError, short_repr
from anls_eval.fields.booleans import parse_boolean
from anls_eval.fields.dates import DateReader, date_words
from anls_eval.fields.numbers import (
    MAX_SHORT_NUMERATOR,
    NumberReader,
    number_matches,
    number_matrix,
    number_vector,
    number_words,
    short_matches,
)
from anls_eval.inputs.values import number_text
from anls_eval.rules.steps import normaliser

Leaf: TypeAlias = str | int | float | bool
Parsed: TypeAlias = Any  # hashable; None for a value that does not parse
LeafSide: TypeAlias = Literal["prediction", "reference"]
Similarities: TypeAlias = npt.NDArray[np.float64]


class Comparator:
    """Parses and compares the leaves of one field.

    What `parse` returns is hashable, equal for values that are the same, and None for a value that does not parse. A
    prediction that does not parse is similar to nothing; a reference that does not parse is an error.
    """

    name = ""
    blank_is_none = False  # whether a blank reference counts as None, and a blank prediction beside it
    equal_is_right = True  # whether a prediction that is the same as its reference is similar to 1

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return what a leaf means, or None if it does not parse."""
        raise NotImplementedError

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return what the leaves of a column mean."""
        return [self.parse(value, side) for value in values]

    def unparsed(self, references: Sequence[Leaf]) -> list[int]:
        """Return the indexes of the references that do not parse."""
        return [index for index, parsed in enumerate(self.parse_all(references, "reference")) if parsed is None]

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return the similarity of two parsed leaves, from 0 to 1."""
        return float(prediction is not None and prediction == reference)

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return the similarities of all references (rows) with all predictions (columns)."""
        codes: dict[Parsed, int] = {}
        rows = [codes.setdefault(value, len(codes)) for value in references]
        columns = [-1 if value is None else codes.get(value, -1) for value in predictions]
        return np.equal.outer(np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)).astype(np.float64)

    def compared(self, references: Sequence[Leaf], predictions: Sequence[Leaf]) -> tuple[Similarities, list[int]]:
        """Return the similarities of two columns pair by pair, and the indexes of the references that do not parse."""
        parsed, others = self.parse_all(references, "reference"), self.parse_all(predictions, "prediction")
        if None not in parsed:
            return self.vector(parsed, others), []
        unparsed = [index for index, value in enumerate(parsed) if value is None]
        known = np.ones(len(parsed), dtype=np.bool_)
        known[unparsed] = False
        similarities = np.zeros(len(parsed))
        similarities[known] = self.vector(*(list(itertools.compress(own, known.tolist())) for own in (parsed, others)))
        return similarities, unparsed

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return the similarities of references and predictions pair by pair."""
        pairs = zip(predictions, references, strict=True)
        return np.array([self.similarity(prediction, reference) for prediction, reference in pairs], dtype=np.float64)

    def words(self, parsed: Parsed) -> str:
        """Return what a leaf means, in words for an explanation."""
        return str(parsed)


class ExactComparator(Comparator):
    """Texts that must be equal after the steps of the protocol, or after strip and collapse where case counts."""

    name = "exact"

    def __init__(self, case_sensitive: bool, prediction_steps: tuple[str, ...], answer_steps: tuple[str, ...]) -> None:
        plain = normaliser(("strip", "collapse"))
        self.equal_is_right = case_sensitive or prediction_steps == answer_steps
        self.steps: dict[str, Callable[[str], str]] = {
            "prediction": plain if case_sensitive else normaliser(prediction_steps),
            "reference": plain if case_sensitive else normaliser(answer_steps),
        }

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the normalised text of a leaf."""
        return self.steps[side](leaf_text(value))

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return the normalised texts of the leaves of a column."""
        return list(map(self.steps[side], map(leaf_text, values)))

    def unparsed(self, references: Sequence[Leaf]) -> list[int]:
        """Return nothing: every leaf has a text."""
        return []

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair that is equal, else 0."""
        return np.fromiter(map(operator.eq, references, predictions), np.float64, len(references))


class NumberComparator(Comparator):
    """Numbers, exact: right if abs(p - r) <= max(absolute, relative * abs(r))."""

    name = "number"
    blank_is_none = True

    def __init__(self, absolute: Fraction, relative: Fraction, decimal: str) -> None:
        self.absolute, self.relative = absolute, relative
        self.reader = NumberReader(decimal)

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the number that a leaf is, exactly."""
        return self.reader.parse(value)

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return the numbers that the leaves of a column are."""
        return self.reader.parse_all(values)

    def unparsed(self, references: Sequence[Leaf]) -> list[int]:
        """Return the indexes of the references that are no numbers."""
        return self.reader.unparsed(references)

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return 1 for numbers within the tolerance, else 0."""
        if prediction is None or prediction == reference:
            return float(prediction is not None)
        if not self.absolute and not self.relative:
            return 0.0
        return float(number_matches(prediction, reference, self.absolute, self.relative))

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair within the tolerance, else 0."""
        if not self.absolute and not self.relative:
            return super().matrix(references, predictions)
        return number_matrix(references, predictions, self.absolute, self.relative).astype(np.float64)

    def compared(self, references: Sequence[Leaf], predictions: Sequence[Leaf]) -> tuple[Similarities, list[int]]:
        """Return 1 for each pair within the tolerance, else 0, and the indexes of references that are no numbers."""
        if self.relative.numerator > MAX_SHORT_NUMERATOR:
            return super().compared(references, predictions)
        r, p = self.reader.read_short(references), self.reader.read_short(predictions)
        similarities = (r.is_short & p.is_short).astype(np.float64)
        similarities *= short_matches(r.scaled, p.scaled, self.absolute, self.relative)
        rest = np.flatnonzero(~(r.is_short & (p.is_short | p.is_none))).tolist()
        sides = ([own[row] for row in rest] for own in (references, predictions))
        similarities[rest], unparsed = super().compared(*sides)
        return similarities, [rest[index] for index in unparsed]

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair within the tolerance, else 0, pair by pair."""
        return number_vector(references, predictions, self.absolute, self.relative).astype(np.float64)

    def words(self, parsed: Parsed) -> str:
        """Return a number as a decimal."""
        return number_words(parsed)


class DateComparator(Comparator):
    """Calendar days, months and years; two texts are equal if any of their readings agree."""

    name = "date"
    blank_is_none = True

    def __init__(self, day_first: bool | None, formats: tuple[str, ...]) -> None:
        self.reader = DateReader(day_first, formats)

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the one or two readings of a date."""
        return self.reader.parse(value)

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return the readings of the dates of a column."""
        return self.reader.parse_all(values)

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return 1 if any readings agree, else 0."""
        return float(prediction is not None and (prediction[0] in reference or prediction[-1] in reference))

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair whose readings agree, else 0."""
        first, last = _readings(references)
        other_first, other_last = _readings(predictions)
        found = np.equal.outer(first, other_first) | np.equal.outer(first, other_last)
        found |= np.equal.outer(last, other_first)
        found |= np.equal.outer(last, other_last)
        return np.asarray(found, dtype=np.float64)

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair whose readings agree, else 0, pair by pair."""
        first, last = _readings(references)
        other_first, other_last = _readings(predictions)
        found = (first == other_first) | (first == other_last) | (last == other_first) | (last == other_last)
        return np.asarray(found, dtype=np.float64)

    def words(self, parsed: Parsed) -> str:
        """Return the readings of a date in ISO 8601."""
        return " or ".join(map(date_words, parsed))


def _readings(dates: Sequence[Parsed]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first and the last reading of each date; no date is -1, which no reference has."""
    none = (-1,)
    return (
        np.array([(date or none)[0] for date in dates], dtype=np.int64),
        np.array([(date or none)[-1] for date in dates], dtype=np.int64),
    )


class BooleanComparator(Comparator):
    """True or false in any of the usual words."""

    name = "boolean"
    blank_is_none = True

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the boolean that a leaf is."""
        return parse_boolean(value)

    def words(self, parsed: Parsed) -> str:
        """Return a boolean as JSON writes it."""
        return "true" if parsed else "false"


class FunctionComparator(Comparator):
    """A function of the prediction and the reference, as they were passed."""

    name = "function"
    equal_is_right = False

    def __init__(self, function: Callable[[Any, Any], float], path: str) -> None:
        self.function, self.path = function, path

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the leaf with its type, so that 1 and true differ."""
        return type(value), value

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return what the function says; refuse all but a number from 0 to 1."""
        value = self.function(prediction[1], reference[1])
        if isinstance(value, (number_types.Real, np.bool_)) and 0 <= value <= 1:
            return float(value)
        raise AnlsError(
            f"the function returned {short_repr(value)} for the prediction {short_repr(prediction[1])} and the "
            f"reference {short_repr(reference[1])}; expected a number from 0 to 1",
            where=self.path,
        )

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return what the function says of each pair; it is asked once for equal pairs."""
        rows, columns = dict.fromkeys(references), dict.fromkeys(predictions)
        known = {(column, row): self.similarity(column, row) for row in rows for column in columns}
        values = [[known[column, row] for column in predictions] for row in references]
        return np.array(values, dtype=np.float64).reshape(len(references), len(predictions))

    def words(self, parsed: Parsed) -> str:
        """Return the leaf as Python writes it."""
        return short_repr(parsed[1])


def leaf_text(value: Leaf) -> str:
    """Return the text of a leaf; true and false as JSON writes them."""
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else number_text(value, "a value")


def is_blank(value: object) -> bool:
    """Return whether a value is a text without any character but whitespace."""
    return isinstance(value, str) and not value.strip()


def unparsed_reference(value: object, comparator: str) -> str:
    """Return what is wrong with a reference that does not parse, and both ways out; the place goes in front of it."""
    return (
        f"{short_repr(value)} is not a {comparator}. Compare the field in another way, such as compare='text', or "
        "leave it out with compare='ignore'"
    )
