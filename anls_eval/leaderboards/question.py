"""A question of a leaderboard, what its rule finds, and how both sides are read."""

from __future__ import annotations

import ast
import dataclasses
import numbers
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from anls_eval.arrow import Floats
from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value, to_answers, to_text
from anls_eval.rules.steps import STEPS


@dataclasses.dataclass(slots=True, eq=False)
class Question:
    """One prediction and its reference, as the user passed them."""

    prediction: Any
    reference: Any
    answer_type: str
    number: int | None  # its row in a batch; None for a single question
    options: Mapping[str, Any]  # what a benchmark knows beside the answer

    @property
    def row(self) -> str:
        """Return what follows "prediction" or "reference" in a message."""
        return row_text(self.number)

    def with_prediction(self, prediction: Any) -> Question:
        """Return the question with another prediction."""
        return Question(prediction, self.reference, self.answer_type, self.number, self.options)

    def with_reference(self, reference: Any) -> Question:
        """Return the question with another reference."""
        return Question(self.prediction, reference, self.answer_type, self.number, self.options)

    def prediction_text(self) -> str:
        """Return the prediction as one text."""
        text = self.prediction
        # The usual case first, for speed.
        return text if type(text) is str else to_text(text, f"prediction{self.row}", "one string") or ""

    def accepted_answers(self) -> list[str]:
        """Return the accepted answers as texts."""
        return to_answers(self.reference, f"reference{self.row}")

    def names_option(self, name: str) -> set[str] | None:
        """Return an option that is a list of names; None if it is not given."""
        names = plain_list(self.options.get(name))
        if names is None:
            return None
        if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(own, str) for own in names):
            raise AnlsError("expected a list of names", option=f"options[{name!r}]", value=names)
        return set(names)

    def integer_answers(self) -> list[Any]:
        """Return the accepted answers of an integer question; a number stays a number, so that 5.0 is 5."""
        answers = self.accepted_answers()
        return [self.reference] if isinstance(self.reference, numbers.Real) else answers

    def reference_items(self) -> list[Any]:
        """Return the items of the reference; refuse a text that cannot be read as a list."""
        where = f"reference{self.row}"

        def refuse(text: str, reason: str) -> list[Any]:
            found = _list_with_line_breaks(text)
            if found is not None:
                return found
            raise ValueError(
                f"{where} is {describe_value(text)}, which cannot be read as a list ({reason}); "
                "expected a list, or its text such as \"['White', '10%']\". Correct the text."
            )

        return read_items(self.reference, where, refuse)

    def breaks_lines(self) -> bool:
        """Return whether the reference is the text of a list that can be read only with line breaks in its strings."""
        text = self.reference
        if not isinstance(text, str) or not text.startswith("[") or not ("\n" in text or "\r" in text):
            return False
        try:
            parse_literal(text)
        except ValueError:
            return _list_with_line_breaks(text) is not None
        return False

    def prediction_items(self) -> list[Any]:
        """Return the items of the prediction; a text that cannot be read as a list is one item."""
        return read_items(self.prediction, f"prediction{self.row}", lambda text, _: [text])


class Pairs(NamedTuple):
    """Texts to compare, each with the answer at the same position, and how the similarities become the score."""

    texts: list[str]
    answers: list[str]
    combine: Callable[[list[float]], float]

    def without_padding(self) -> Pairs:
        """Return the same pairs without extra whitespace."""
        collapse = STEPS["collapse"]
        return self._replace(texts=list(map(collapse, self.texts)), answers=list(map(collapse, self.answers)))


Outcome = float | Pairs
Rule = Callable[[Question], Outcome]
Similarity = Callable[[list[str], list[str]], Floats]


def row_text(number: int | None) -> str:
    """Return what follows the name of a side in a message: "s[3]" in a batch, else ""."""
    return "" if number is None else f"s[{number}]"


def plain_list(value: Any) -> Any:
    """Return a NumPy array as a list, and anything else unchanged."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def text_between(text: str, opening: str, closing: str) -> str | None:
    """Return what stands between the first opening mark and the next closing one; None if there are none."""
    _, opened, rest = text.partition(opening)
    inside, closed, _ = rest.partition(closing)
    return inside if opened and closed else None


_MAX_LITERAL = 100_000  # characters; a longer text is never parsed


def parse_literal(text: str) -> Any:
    """Return the value of a Python literal. The text may come from anyone, so it is never executed."""
    if len(text) > _MAX_LITERAL:
        raise ValueError(f"it has {len(text)} characters, over the limit of {_MAX_LITERAL}")
    with warnings.catch_warnings():  # about invalid escapes in the text
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(text)
            repr(value)  # fails where an integer has too many digits to be written
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(str(error) or type(error).__name__) from None
    return value


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


def _list_with_line_breaks(text: str) -> list[Any] | None:
    """Return the items of a list with line breaks inside its strings, which Python does not read; else None."""
    escaped = _QUOTED.sub(lambda string: string[0].replace("\r", "\\r").replace("\n", "\\n"), text)
    try:
        found = parse_literal(escaped)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def read_items(value: Any, where: str, unreadable: Callable[[str, str], list[Any]]) -> list[Any]:
    """Return the items of a list or of its text; what `unreadable` returns for a list that cannot be parsed."""
    value = plain_list(value)
    if isinstance(value, (list, tuple)):
        try:
            repr(value)  # its items are read as texts
        except (RecursionError, ValueError):
            raise ValueError(
                f"{where} is a list that is nested too deeply, or holds an integer with too many digits, to be read "
                "as texts; expected a list of texts."
            ) from None
        return list(value)
    text = to_text(value, where, "a list or one string")
    if text is None:
        raise ValueError(f"{where} is {value!r}; expected a list or one string. Write [] for an empty list.")
    if not text.startswith("["):
        return [text]
    try:
        parsed = parse_literal(text)
    except ValueError as error:
        return unreadable(text, str(error))
    return parsed if isinstance(parsed, list) else [parsed]


def item_texts(items: list[Any], where: str) -> list[str]:
    """Return the items of a list as texts; refuse None."""
    texts = [to_text(item, f"{where}[{index}]", "a string") for index, item in enumerate(items)]
    if None in texts:
        raise ValueError(f"{where}[{texts.index(None)}] is {items[texts.index(None)]!r}; expected a string. Remove it.")
    return [text for text in texts if text is not None]


def as_integer(answer: Any) -> Any:
    """Return an answer as an integer, or unchanged if it is not one."""
    try:
        return int(answer)
    except (ValueError, OverflowError):
        return answer
