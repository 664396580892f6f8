"""What protocols say of the same predictions, side by side: the result of `compare_protocols`."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from anls_eval.arrow import as_list
from anls_eval.inputs.columns import read_column
from anls_eval.markup import element, notebook_page, notes_html, score_bar, table_html
from anls_eval.rules.protocol import Rules
from anls_eval.text.marked import shown_text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A question or document that protocols score differently.

    Attributes:
        row: Its row in the input.
        prediction: The predicted text, or the JSON text of the predicted document.
        answers: The accepted answers, or the JSON text of the one reference.
        scores: Its score by name of protocol.
        spread: The difference between its highest and lowest score.
    """

    row: int
    prediction: str
    answers: tuple[str, ...]
    scores: dict[str, float]
    spread: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProtocolComparison:
    """The same predictions scored under several protocols.

    Attributes:
        n: Number of questions or documents.
        means: The score by name of protocol: ANLS or ANLS*, equal to the mean of `anls_scores` or `anls_star_scores` to
            the last bit, and the headline of a benchmark.
        differences: Each of them minus the ANLS under ``standard``, or minus the ANLS* of documents.
        disagreements: Those with the largest spread, largest first, then in the order of the input. A benchmark takes
            part with its score of each document alone.
        errors: Why a benchmark has no score for these documents, by name of protocol.
    """

    n: int
    means: dict[str, float]
    differences: dict[str, float]
    disagreements: tuple[Disagreement, ...]
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Return the comparison as notebooks show it: the protocols, then the disagreements."""
        protocols = [
            (element("code", name), mean, score_bar(mean), f"{self.differences[name]:+.4f}")
            for name, mean in self.means.items()
        ]
        disagreements = [
            (own.row, shown_text(str(own.prediction)), shown_text(str(own.answers)), own.spread)
            for own in self.disagreements
        ]
        tables = [table_html(("protocol", "score", "", "difference"), protocols)]
        if disagreements:
            tables.append(table_html(("row", "prediction", "answers", "spread"), disagreements))
        return notebook_page(*tables, notes_html(f"{name}: {why}" for name, why in self.errors.items()))


def check_names(names: Iterable[str]) -> None:
    """Refuse no protocols, and two of one name."""
    counts = Counter(names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice or not counts:
        found = f"{twice[0]!r} occurs more than once" if twice else "there are none"
        raise ValueError(
            f"protocols: {found}; expected protocols with different names (an alias counts as its protocol)"
        )


def has_documents(predictions: Any, references: Any) -> bool:
    """Return whether there are documents: a dict, or a list with one, on either side, but SQuAD's answers."""
    given, expected = _values(predictions, "predictions"), _values(references, "references")
    if _has_dict(given) or any(map(_has_list_with_dict, (given, expected))):
        return True
    return _has_dict(expected) and any("text" not in own for own in expected if isinstance(own, Mapping))


def _values(column: Any, name: str) -> list[Any]:
    if isinstance(column, (pa.Array, pa.ChunkedArray)) and not _has_structs(column.type):
        return []
    return as_list(read_column(column, name))


def _has_structs(type_: pa.DataType) -> bool:
    """Return whether an Arrow column can hold dicts, or lists with them; a column of texts need not be converted."""
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return bool(pa.types.is_struct(type_.value_type))
    return bool(pa.types.is_struct(type_))


# By the set of types, not value by value: most columns hold texts, or lists of texts.


def _has_dict(values: Iterable[Any]) -> bool:
    return any(issubclass(kind, Mapping) for kind in set(map(type, values)))


def _has_list_with_dict(values: list[Any]) -> bool:
    return _has_dict(itertools.chain.from_iterable(own for own in values if isinstance(own, list)))


def scores_documents(rules: Rules) -> bool:
    """Return whether these rules score documents."""
    return bool(getattr(rules, "tree", "")) or getattr(rules, "unit", "") == "document"
