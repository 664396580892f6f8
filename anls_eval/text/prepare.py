"""Prepare columns of texts for comparison: in Arrow where text is ASCII, in Python where it is not."""

from __future__ import annotations

import functools
import itertools
import string
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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


@functools.cache
def _ascii_steps() -> Mapping[str, Callable[[pa.LargeStringArray], pa.LargeStringArray]]:
    """Return those of `STEPS` that Arrow does as Python does, on text that is ASCII; other text comes out wrong."""
    import pyarrow.compute as pc

    return types.MappingProxyType(
        {
            "strip": lambda texts: pc.ascii_trim(texts, characters=_WHITESPACE),
            # Arrow's case kernels are wrong where offsets do not begin at 0, as in a slice that was cast.
            "lower": lambda texts: pc.ascii_lower(_with_bytes(texts, text_starts(texts), text_bytes(texts))),
            "upper": lambda texts: pc.ascii_upper(_with_bytes(texts, text_starts(texts), text_bytes(texts))),
            "collapse": lambda texts: _collapsed(texts),
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


def prepare_texts(texts: pa.LargeStringArray, steps: tuple[str, ...], length: str) -> PreparedTexts:
    """Apply the steps and count the lengths: in Arrow where text is ASCII, in Python where it is not."""
    import pyarrow.compute as pc

    compared = texts
    if steps:
        in_arrow = _is_ascii(texts) & (set(steps) <= _ascii_steps().keys())
        if in_arrow.any():
            for step in needed_steps(steps):
                compared = _ascii_steps()[step](compared)
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


def _with_bytes(texts: pa.LargeStringArray, starts: npt.NDArray[np.int64], data: Any) -> pa.LargeStringArray:
    """Return as many texts that begin at these places in other bytes."""
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(starts - starts[0]), pa.py_buffer(data))


def _collapsed(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Strip texts and replace each run of whitespace by one space, in the bytes of all texts at once."""
    starts, single = text_starts(texts), text_bytes(texts)
    has_others = single.min(initial=ord(" ")) < ord(" ")
    if has_others:
        others = np.flatnonzero(single < ord(" "))  # few, so that nothing is done for each blank that is a space
        single = single.copy()
        single[others[_IS_WHITESPACE[single[others]]]] = ord(" ")
    blank = np.zeros(len(single) + 1, dtype=bool)  # behind the last byte, and before the first, there is none
    np.equal(single, ord(" "), out=blank[:-1])
    moved = starts - starts[0]
    gone = _surplus_blanks(blank, moved)
    if not len(gone):
        return _with_bytes(texts, moved, single)
    single = single if has_others else single.copy()
    single[gone] = 0xFF  # which UTF-8 never has
    of_texts = np.bincount(np.searchsorted(moved, gone, side="right"), minlength=len(moved))
    return _with_bytes(texts, moved - np.cumsum(of_texts), single.tobytes().replace(b"\xff", b""))


def _surplus_blanks(blank: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return which blanks follow another, or are at the start or the end of a text; those of two texts may touch."""
    again = np.flatnonzero(blank[1:] & blank[:-1]) + 1
    leading = starts[np.flatnonzero(blank[starts[:-1]])]
    trailing = starts[np.flatnonzero(blank[starts[1:] - 1]) + 1] - 1
    # At the end of a text, the first of several blanks goes as well.
    several = blank[trailing - 1]
    seconds = again[np.diff(again, prepend=-1) > 1]
    trailing[several] = seconds[np.searchsorted(seconds, trailing[several], side="right") - 1] - 1
    firsts = np.concatenate([leading[~blank[leading - 1]], trailing])
    firsts.sort()
    return np.concatenate([again, firsts[np.diff(firsts, prepend=-1) > 0]])  # np.unique imports numpy.ma


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
    import pyarrow.compute as pc

    equal = np.zeros(len(owner), dtype=bool)
    rows, *pair = _pairs_of_one_size(predictions, answers, owner)
    equal[rows] = as_bools(pc.equal(*map(pc.ascii_lower, pair) if fold else pair))
    return equal


def repeated_answers(answers: pa.LargeStringArray, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of the answers that equal the one before, of the same prediction."""
    import pyarrow.compute as pc

    equal = as_bools(pc.equal(answers[1:], answers[:-1]))
    return np.flatnonzero(equal & (owner[1:] == owner[:-1])) + 1


class Differing(NamedTuple):
    """Pairs of a prediction and an answer that have as many bytes, and in how many of them they differ."""

    rows: npt.NDArray[np.int64]  # of the answers
    sizes: npt.NDArray[np.int64]  # in bytes
    counts: npt.NDArray[np.int64]  # of bytes that differ
    sides: tuple[pa.LargeStringArray, pa.LargeStringArray]  # the predictions and the answers

    def apart(self, count: int) -> npt.NDArray[np.int64]:
        """Return the pairs that differ in so many bytes of which none is also among those of the other side."""
        pairs = np.flatnonzero(self.counts == count)
        texts = [text_bytes(side.take(number_array(pairs))) for side in self.sides]
        places = np.flatnonzero(np.not_equal(*texts)).reshape(-1, count).T
        left, right = (data[places] for data in texts)
        shared = np.zeros(len(pairs), dtype=bool)
        for one, other in itertools.permutations(range(count), 2):
            shared |= left[one] == right[other]
        return pairs[~shared]


def differing_bytes(
    predictions: pa.LargeStringArray,
    answers: pa.LargeStringArray,
    owner: npt.NDArray[np.int64],
    skipped: npt.NDArray[np.int64],
) -> Differing:
    """Compare the answers of as many bytes as their prediction with it, byte by byte, but for those in some rows."""
    rows, *pair = _pairs_of_one_size(predictions, answers, owner, skipped)
    starts = text_starts(pair[0]) - text_starts(pair[0])[0]
    differ = np.not_equal(*map(text_bytes, pair))
    return Differing(rows, np.diff(starts), _counts_within(differ, starts), (pair[0], pair[1]))


def _counts_within(marks: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the marks from each start to the next, as bits of words; `np.add.reduceat` takes twice the time."""
    words = np.zeros(len(marks) // 64 + 1, "<u8")  # one more than are full, in which the last text ends
    words.view(np.uint8)[: -(-len(marks) // 8)] = np.packbits(marks, bitorder="little")
    until = np.cumsum(np.bitwise_count(words), dtype=np.int64)  # the marks to the end of each word
    own = starts >> 6
    behind = np.bitwise_count(words[own] >> (starts & 63).view(np.uint64))
    counts: npt.NDArray[np.int64] = np.diff(until[own] - behind)
    return counts


def _pairs_of_one_size(
    predictions: pa.LargeStringArray,
    answers: pa.LargeStringArray,
    owner: npt.NDArray[np.int64],
    skipped: npt.NDArray[np.int64] | None = None,
) -> tuple[npt.NDArray[np.int64], pa.LargeStringArray, pa.LargeStringArray]:
    """Return the answers of as many bytes as their prediction: their rows, and both texts of each."""
    is_one_size = np.diff(text_starts(predictions))[owner] == np.diff(text_starts(answers))
    if skipped is not None:
        is_one_size[skipped] = False
    rows = np.flatnonzero(is_one_size)
    # What `take` and `filter` made: Arrow's ASCII case kernels are wrong on a cast slice, whose offsets do not begin
    # at 0. `filter` copies neighbours at once.
    return rows, predictions.take(number_array(owner[rows])), answers.filter(number_array(is_one_size))
