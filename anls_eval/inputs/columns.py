"""Columns as people pass them: lists, NumPy arrays, pandas Series, Arrow columns."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, cast

import numpy as np
import pyarrow as pa

from anls_eval.arrow import arrow_type, as_array, as_list, has_no_gap, text_array, text_list_array
from anls_eval.extract.steps import extracted
from anls_eval.inputs.values import Where, describe_value, to_answers, to_text
from anls_eval.rules.protocol import Protocol


def prediction_texts(values: list[Any], where: Where) -> pa.LargeStringArray:
    """Return the texts, null where there is none; UnicodeEncodeError for lone surrogates, which Arrow cannot hold."""
    try:
        return text_array(values)
    except TypeError:  # not all are texts: look at each
        return text_array(each_prediction(values, where))


def answer_texts(values: list[Any], where: Where) -> pa.LargeListArray:
    """Return the lists of answers, none of them empty; UnicodeEncodeError as for `prediction_texts`."""
    # A bare string would be taken as a list of characters.
    if operator.countOf(map(type, values), list) == len(values) or set(map(type, values)) <= {list, tuple}:
        with contextlib.suppress(TypeError):
            answers = text_list_array(values)
            if has_no_gap(answers):
                return answers
    return text_list_array(each_answers(values, where))


def each_prediction(values: list[Any], where: Where) -> list[str | None]:
    """Return the text of each prediction, read one by one."""
    return [to_text(value, where(row), "one string for each question") for row, value in enumerate(values)]


def each_answers(values: list[Any], where: Where) -> list[list[str]]:
    """Return the accepted answers of each question, read one by one."""
    return [to_answers(value, where(row)) for row, value in enumerate(values)]


def extracted_texts(predictions: Any, extract: tuple[str, ...]) -> list[str | None]:
    """Return the answers that steps take out of a column of predictions."""
    texts = each_prediction(as_list(predictions), lambda row: f"predictions[{row}]")
    return [extracted(text, extract) for text in texts]


def read_column(values: Any, name: str, wanted: pa.DataType | None = None) -> list[Any] | pa.Array | pa.ChunkedArray:
    """Return a column as a list; an Arrow column of the wanted type is returned unchanged."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values if wanted is not None and arrow_type(values.type) == wanted else values.to_pylist()
    if isinstance(values, list):
        return values
    if hasattr(values, "to_arrow"):  # a column or DataFrame of polars
        return read_column(values.to_arrow(), name, wanted)
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        return cast(list[Any], values.to_pylist())
    if hasattr(values, "columns") and hasattr(values, "to_dict"):  # a DataFrame of pandas, which iterates over names
        return cast(list[Any], values.to_dict("records"))
    has_items = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set))
    if not has_items or (isinstance(values, np.ndarray) and not values.ndim):
        raise ValueError(
            f"{name} is {describe_value(values)}; expected a list or column with one item for each question."
        )
    if getattr(values, "dtype", None) in (np.float16, np.float32):
        return list(np.asarray(values))  # NumPy writes 0.1 where tolist gives 0.10000000149011612
    return list(values.tolist() if hasattr(values, "tolist") else values)


def read_block(predictions: Any, answers: Any, start: int) -> tuple[Any, Any, dict[int, int]]:
    """Return a block as two Arrow arrays, and the stand-ins in them for lone surrogates, which Arrow cannot hold."""
    # Stand-ins are private-use characters that are not in the block. No step changes either kind, so all scores equal
    # those of the original texts.

    def row_of(side: str) -> Where:
        return lambda row: f"{side}[{start + row}]"

    predictions = predictions if isinstance(predictions, list) else as_array(predictions)
    if not isinstance(answers, list):
        answers = as_array(answers)
        answers = answers if has_no_gap(answers) else answers.to_pylist()  # to be refused with the row's number
    try:
        return (
            prediction_texts(predictions, row_of("predictions")) if isinstance(predictions, list) else predictions,
            answer_texts(answers, row_of("answers")) if isinstance(answers, list) else answers,
            {},
        )
    except UnicodeEncodeError:
        texts = each_prediction(as_list(predictions), row_of("predictions"))
        options = each_answers(as_list(answers), row_of("answers"))
    stand_ins = _stand_ins(set(map(ord, set().union(*filter(None, texts), *itertools.chain.from_iterable(options)))))
    return (
        text_array([text and text.translate(stand_ins) for text in texts]),
        text_list_array([[text.translate(stand_ins) for text in texts_of_row] for texts_of_row in options]),
        stand_ins,
    )


_SURROGATES = range(0xD800, 0xE000)
_PRIVATE_USE = range(0xF0000, 0x10FFFE)


def _stand_ins(characters: set[int]) -> dict[int, int]:
    """Map each lone surrogate among the characters to a private-use character that is not among them."""
    surrogates = sorted(characters.intersection(_SURROGATES))
    free = [code for code in itertools.islice(_PRIVATE_USE, len(characters) + 1) if code not in characters]
    return dict(zip(surrogates, free, strict=False))


def with_stand_ins(rules: Protocol, stand_ins: Mapping[int, int]) -> Protocol:
    """Return the rules for texts of a block with stand-ins: a text of the rules that has one means another text."""
    if not stand_ins or not rules.zero_predictions:
        return rules
    used = set(map(chr, stand_ins.values()))
    zero = tuple(text.translate(stand_ins) for text in rules.zero_predictions if used.isdisjoint(text))
    return dataclasses.replace(rules, zero_predictions=zero)


def read_for_each(values: Any, name: str, n: int) -> list[Any]:
    """Return a column that has one value for each of n predictions."""
    found = as_list(read_column(values, name))
    if len(found) != n:
        raise ValueError(f"{n} prediction{'s' * (n != 1)} but {len(found)} {name}; expected one for each")
    return found


def read_ids(question_ids: Any, n: int) -> list[str]:
    """Return the names of n questions, by default the numbers of their rows."""
    return list(map(str, range(n) if question_ids is None else read_for_each(question_ids, "question_ids", n)))


def check_same_length(predictions: Sequence[Any], answers: Sequence[Any], name: str) -> None:
    """Raise a ValueError unless both sides have the same number of rows."""
    n = len(predictions)
    if n == len(answers):
        return
    hint = ""
    if n and len(answers) and all(isinstance(row, (list, tuple)) and len(row) == n for row in answers):
        hint = f" {name} seem to hold one list per set of references: transpose them with list(zip(*{name}))."
    plural = "s" * (len(answers) != 1)
    others = (
        f"{len(answers)} reference{plural}" if name == "references" else f"{name} for {len(answers)} question{plural}"
    )
    raise ValueError(
        f"{n} prediction{'s' * (n != 1)} but {others}; expected one list of accepted answers for each prediction.{hint}"
    )
