"""Prepare columns of texts for comparison: in Arrow where text is ASCII, in Python where it is not."""

from __future__ import annotations

import string
import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import as_bools, as_ints, number_array, text_array, text_bytes, text_starts
from anls_eval.rules.steps import apply_steps, needed_steps


class PreparedTexts(NamedTuple):
    """A column of texts that are ready to be compared."""

    compared: pa.LargeStringArray
    sizes: npt.NDArray[np.int64]  # characters of the compared texts
    lengths: npt.NDArray[np.int64]  # characters that the distance is divided by


_WHITESPACE = "\t\n\v\f\r\x1c\x1d\x1e\x1f "  # what str.strip and str.split take as whitespace in ASCII

_IS_WHITESPACE = np.isin(np.arange(256), np.frombuffer(_WHITESPACE.encode(), np.uint8))

_END_PUNCTUATION = string.punctuation.replace("%", "") + _WHITESPACE

_ASCII_STEPS: Mapping[str, Callable[[pa.LargeStringArray], pa.LargeStringArray]] = types.MappingProxyType(
    {
        "strip": lambda texts: pc.ascii_trim(texts, characters=_WHITESPACE),
        "lower": pc.ascii_lower,
        "upper": pc.ascii_upper,
        "collapse": lambda texts: _collapsed(pc.ascii_trim(texts, characters=_WHITESPACE)),
        "nfc": lambda texts: texts,
        "nfkc": lambda texts: texts,
        "no-newlines": lambda texts: pc.replace_substring(texts, "\n", ""),
        "no-outer-dots": lambda texts: pc.ascii_trim(texts, characters="."),
        "no-final-dot": lambda texts: pc.if_else(
            pc.ends_with(texts, "."), pc.utf8_slice_codeunits(texts, 0, -1), texts
        ),
        "no-end-punctuation": lambda texts: pc.ascii_rtrim(texts, characters=_END_PUNCTUATION),
    }
)
"""Those of `STEPS` that Arrow does as Python does, on text that is ASCII; other text comes out wrong."""


def prepare_texts(texts: pa.LargeStringArray, steps: tuple[str, ...], length: str) -> PreparedTexts:
    """Apply the steps and count the lengths: in Arrow where text is ASCII, in Python where it is not."""
    compared = texts
    if steps:
        in_arrow = _is_ascii(texts) & (set(steps) <= _ASCII_STEPS.keys())
        if in_arrow.any():
            for step in needed_steps(steps):
                compared = _ASCII_STEPS[step](compared)
        sizes = np.diff(text_starts(compared))  # bytes, which are characters in ASCII
        if not in_arrow.all():
            others = [apply_steps(steps, text) for text in texts.filter(number_array(~in_arrow)).to_pylist()]
            compared = pc.replace_with_mask(compared, number_array(~in_arrow), text_array(others))
            sizes[~in_arrow] = list(map(len, others))
    else:
        sizes = as_ints(pc.utf8_length(compared))
    counted, _, upper = length.partition("-")
    lengths = sizes if counted == "compared" else as_ints(pc.utf8_length(texts))
    if upper:  # upper-casing can lengthen text that is not ASCII
        source = compared if counted == "compared" else texts
        wide = ~_is_ascii(source)
        lengths = lengths.copy()
        lengths[wide] = [len(text.upper()) for text in source.filter(number_array(wide)).to_pylist()]
    return PreparedTexts(compared, sizes, lengths)


def _collapsed(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Replace each run of whitespace in stripped texts by one space, in the bytes of all texts at once."""
    starts, single = text_starts(texts), text_bytes(texts).copy()
    others = np.flatnonzero(single < ord(" "))  # few, so that nothing is done for each blank that is a space
    single[others[_IS_WHITESPACE[single[others]]]] = ord(" ")
    blank = single == ord(" ")
    again = np.flatnonzero(blank[1:] & blank[:-1]) + 1  # no text begins or ends with a blank
    single[again] = 0xFF  # which UTF-8 never has
    moved = starts - starts[0]
    gone = np.bincount(np.searchsorted(moved, again, side="right"), minlength=len(moved))  # by text: few have any
    return pa.LargeStringArray.from_buffers(
        len(texts),
        pa.py_buffer(moved - np.cumsum(gone)),
        pa.py_buffer(single.tobytes().replace(b"\xff", b"")),
    )


def _is_ascii(texts: pa.LargeStringArray) -> npt.NDArray[np.bool_]:
    """Return which texts are ASCII; faster than Arrow's function where few are not."""
    starts, data = text_starts(texts), text_bytes(texts)
    is_ascii = np.ones(len(texts), dtype=bool)
    if data.max(initial=0) < 0x80:
        return is_ascii
    wide = np.flatnonzero(data >= 0xC0) + starts[0]  # first bytes of characters beyond ASCII
    is_ascii[np.searchsorted(starts, wide, side="right") - 1] = False
    return is_ascii


def equal_answers(
    predictions: pa.LargeStringArray, answers: pa.LargeStringArray, owner: npt.NDArray[np.int64], fold: bool = False
) -> npt.NDArray[np.bool_]:
    """Return which answers equal their prediction; with `fold`, the case of ASCII letters is ignored."""
    equal = np.zeros(len(owner), dtype=bool)
    rows, *pair = _pairs_of_one_size(predictions, answers, owner)
    equal[rows] = as_bools(pc.equal(*map(pc.ascii_lower, pair) if fold else pair))
    return equal


def differing_bytes(
    predictions: pa.LargeStringArray, answers: pa.LargeStringArray, owner: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the answers of as many bytes as their prediction, that number, and in how many of them the two differ."""
    rows, *pair = _pairs_of_one_size(predictions, answers, owner)
    starts = text_starts(pair[0]) - text_starts(pair[0])[0]
    sizes, counts = np.diff(starts), np.zeros(len(rows), np.int64)
    filled = np.flatnonzero(sizes)
    if len(filled):
        differ = np.not_equal(*map(text_bytes, pair)).view(np.uint8)
        counts[filled] = np.add.reduceat(differ, starts[filled], dtype=np.int64)
    return rows, sizes, counts


def _pairs_of_one_size(
    predictions: pa.LargeStringArray, answers: pa.LargeStringArray, owner: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], pa.LargeStringArray, pa.LargeStringArray]:
    """Return the answers of as many bytes as their prediction: their rows, and both texts of each."""
    rows = np.flatnonzero(np.diff(text_starts(predictions))[owner] == np.diff(text_starts(answers)))
    # What `take` made: Arrow's ASCII case kernels are wrong on a cast slice, whose offsets do not begin at 0.
    return rows, predictions.take(number_array(owner[rows])), answers.take(number_array(rows))
