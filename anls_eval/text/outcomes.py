"""What every protocol makes of every question, from one pass of distances.

Protocols share much: those with the same steps compare the same texts, and on most texts most steps do nothing. So a
distance is measured once for all protocols that compare the same two texts. What is left for each protocol is
arithmetic on the distance and the length of the closest answer.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from anls_eval.arrow import TEXT_LISTS, TEXTS, as_bools, as_ints, as_list, as_objects, number_array, text_array
from anls_eval.inputs.columns import check_same_length, each_answers, each_prediction, read_block, read_column
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import apply_steps
from anls_eval.text.prepare import PreparedTexts, equal_answers, prepare_texts
from anls_eval.text.similarity import compare_texts, edit_costs, reaches_threshold

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]

_BLOCK = 65_536  # questions measured at once: bounds the memory
_SURROGATE = re.compile("[\ud800-\udfff]")


class Measured(NamedTuple):
    """The distance and the length for one answer of each question; their ratio is what decides its score.

    No length is 0: two empty texts are 0/1 or 1/1, as the protocol has it. A prediction that scores nothing whatever
    the answers are is 1/1.
    """

    distances: _Ints
    lengths: _Ints


class Block(NamedTuple):
    """Some of the questions, as two Arrow arrays, or as two lists if they hold lone surrogates, which Arrow cannot."""

    rows: _Ints  # in the input
    texts: Any
    options: Any


class Part(NamedTuple):
    """The questions of a block on which the same protocols agree; those without a prediction are in no part."""

    rows: _Ints  # in the block
    which: list[int]  # of each protocol, the number of what was measured in the two lists
    closest: list[Measured]  # to the closest answer
    first: list[Measured]  # to the first answer; empty unless asked for


# Reading


def read_blocks(predictions: Any, answers: Any, question_ids: Sequence[Any] | None = None) -> Iterator[Block]:
    """Read two columns of the same length, some thousand questions at a time, so that the memory stays bounded.

    Args:
        predictions: n texts or None, as `anls_scores` takes them.
        answers: n lists of accepted answers, likewise.
        question_ids: n ids, to name the questions in errors.

    Returns:
        The blocks, each read when it is asked for.

    Raises:
        ValueError: No questions, columns of different length, or what is not text, with its row and id.

    Example:
        >>> [block.rows.tolist() for block in read_blocks(["a", "b"], [["a"], ["c"]])]
        [[0, 1]]
    """
    left = read_column(predictions, "predictions", TEXTS)
    right = read_column(answers, "answers", TEXT_LISTS)
    check_same_length(left, right, "answers")
    if not len(left):
        raise ValueError("nothing to score: 0 predictions and 0 answers; expected at least one question")
    if question_ids is not None and len(question_ids) != len(left):
        raise ValueError(f"{len(question_ids)} question_ids but {len(left)} predictions; expected one id for each")
    return _blocks(left, right, None if question_ids is None else list(question_ids))


def _blocks(predictions: Any, answers: Any, question_ids: Sequence[Any] | None) -> Iterator[Block]:
    for start in range(0, len(predictions), _BLOCK):
        own = slice(start, start + _BLOCK)
        try:
            texts, options = read_block(predictions[own], answers[own], start)
        except ValueError:
            if question_ids is not None:  # read once more, to name the question too
                each_prediction(as_list(predictions[own]), _named("predictions", question_ids, start))
                each_answers(as_list(answers[own]), _named("answers", question_ids, start))
            raise
        rows = np.arange(start, start + len(texts))
        if isinstance(texts, pa.Array) and isinstance(options, pa.Array):
            yield Block(rows, texts, options)
        else:
            yield from _by_surrogates(rows, as_list(texts), as_list(options))


def _named(side: str, question_ids: Sequence[Any], start: int) -> Callable[[int], str]:
    return lambda row: f"{side}[{start + row}] (question_id {question_ids[start + row]!r})"


def _by_surrogates(rows: _Ints, texts: list[str | None], options: list[list[str]]) -> Iterator[Block]:
    """The questions that Arrow can hold, and the others as lists."""
    questions = zip(texts, options, strict=True)
    odd = np.array([any(_SURROGATE.search(own or "") for own in (text, *those)) for text, those in questions])
    for is_odd in (False, True):
        wanted = np.flatnonzero(odd == is_odd)
        pair = [texts[row] for row in wanted], [options[row] for row in wanted]
        if len(wanted):
            yield Block(rows[wanted], *(pair if is_odd else read_block(*pair, 0)))


# What protocols have in common


def measure(block: Block, protocols: Sequence[Protocol], *, first: bool = False) -> list[Part]:
    """Measure a block by each protocol.

    Args:
        block: From `read_blocks`.
        protocols: Protocols of texts. One whose threshold is 0 has every distance measured that can matter.
        first: Whether to give what was measured to the first answers as well.

    Returns:
        Up to four parts. Each question with a prediction is in one of them. Where a protocol does not keep the
        similarity, its distance may be less than the true one, though never so little that it would be kept.

    Example:
        >>> from anls_eval import get_protocol
        >>> block = next(read_blocks(["Fig. 1"], [["Fig. 2", "fig 1"]]))
        >>> [part] = measure(block, [get_protocol("standard"), get_protocol("due_cased")])
        >>> [part.closest[number].distances.tolist() for number in part.which]
        [[1], [1]]
    """
    if isinstance(block.texts, list):
        rows = np.array([row for row, text in enumerate(block.texts) if text is not None], dtype=np.int64)
        rules = [_on_any_text(own) for own in protocols]
        return [_measured_one_by_one(block, rows, rules, first)] if len(rows) else []
    if first:
        return _measured_by_kind(block, protocols, first)
    settled = _settled(block, protocols)
    rows, rest = np.flatnonzero(settled), np.flatnonzero(~settled)
    others = Block(block.rows[rest], block.texts.take(number_array(rest)), block.options.take(number_array(rest)))
    parts = [part._replace(rows=rest[part.rows]) for part in _measured_by_kind(others, protocols, first)]
    if len(rows):
        equal = Measured(np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64))
        parts.append(Part(rows=rows, which=[0] * len(protocols), closest=[equal], first=[]))
    return parts


def _settled(block: Block, protocols: Sequence[Protocol]) -> _Bools:
    """The questions whose prediction is plain text and, as it is, one of the answers: every protocol finds it equal."""
    counts = _counts(block.options)
    if any(len(set(_steps(_on_plain_text(rules)))) > 1 for rules in protocols):  # capitals on one side only
        return np.zeros(len(counts), dtype=bool)
    owner, starts = np.repeat(np.arange(len(counts)), counts), np.cumsum(counts) - counts
    equal = equal_answers(block.texts, block.options.flatten(), owner)
    rows = np.flatnonzero(np.logical_or.reduceat(equal, starts))
    texts = block.texts.take(number_array(rows))
    is_plain = as_bools(pc.match_substring_regex(texts, _PLAIN)) & (as_ints(pc.binary_length(texts)) > 0)
    zero = [text.lower() for rules in protocols for text in rules.zero_predictions if not _SURROGATE.search(text)]
    is_plain &= ~as_bools(pc.is_in(pc.ascii_lower(texts), value_set=text_array(zero)))
    settled = np.zeros(len(counts), dtype=bool)
    settled[rows[is_plain]] = True
    return settled


def _measured_by_kind(block: Block, protocols: Sequence[Protocol], first: bool) -> list[Part]:
    """Questions of which all texts are plain, all are ASCII, or any are not: the plainer, the more protocols agree."""
    if not len(block.rows):
        return []
    plain = _where(block, lambda texts: pc.match_substring_regex(texts, _PLAIN))
    in_ascii = _where(block, pc.string_is_ascii)
    kinds = (
        (plain, _on_plain_text),
        (in_ascii & ~plain, _on_ascii_text),
        (~in_ascii & as_bools(block.texts.is_valid()), _on_any_text),
    )
    parts = ((np.flatnonzero(own), [simplified(rules) for rules in protocols]) for own, simplified in kinds)
    return [_measured(block, rows, rules, first) for rows, rules in parts if len(rows)]


_PLAIN = r"^([0-9A-Za-z%]|[!-\-/-~]( ?[!-~])* ?[0-9A-Za-z%])?\z"
"""ASCII that only a step that changes case can change: blanks are single and inside, no dot comes first and no
punctuation last."""


def _where(block: Block, has: Callable[[pa.LargeStringArray], pa.BooleanArray]) -> _Bools:
    """The questions whose prediction and answers all have a property."""
    each = as_bools(has(block.options.flatten()))
    counts = _counts(block.options)
    prediction_has = as_bools(has(block.texts))
    return prediction_has & np.logical_and.reduceat(each, np.cumsum(counts) - counts)


def _counts(options: pa.LargeListArray) -> _Ints:
    return as_ints(pc.list_value_length(options))


@functools.lru_cache(maxsize=1024)
def _on_any_text(protocol: Protocol) -> Protocol:
    """The same rules under one name, so that protocols that measure the same are equal."""
    return dataclasses.replace(protocol, name="any")


@functools.lru_cache(maxsize=1024)
def _on_ascii_text(protocol: Protocol) -> Protocol:
    """The simplest protocol that measures the same on ASCII, where case changes no length and composing nothing."""
    steps = [tuple(step for step in own if step not in ("nfc", "nfkc")) for own in _steps(protocol)]
    if all("upper" in own and "lower" not in own for own in steps) and not protocol.zero_predictions:
        steps = [tuple("lower" if step == "upper" else step for step in own) for own in steps]
    return dataclasses.replace(
        protocol,
        name="ascii",
        prediction_steps=steps[0],
        answer_steps=steps[1],
        prediction_length=protocol.prediction_length.removesuffix("-upper"),
        answer_length=protocol.answer_length.removesuffix("-upper"),
    )


@functools.lru_cache(maxsize=1024)
def _on_plain_text(protocol: Protocol) -> Protocol:
    """The simplest protocol that measures the same on plain text."""
    simple = _on_ascii_text(protocol)
    steps = [tuple(step for step in own if step in ("lower", "upper")) for own in _steps(simple)]
    return dataclasses.replace(
        simple,
        name="plain",
        prediction_steps=steps[0],
        answer_steps=steps[1],
        prediction_length="compared",
        answer_length="compared",
    )


@functools.lru_cache(maxsize=1024)
def _without_threshold(protocol: Protocol) -> Protocol:
    return dataclasses.replace(protocol, keep=">=", threshold=0)


def _steps(protocol: Protocol) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return protocol.prediction_steps, protocol.answer_steps


# Measuring


_Found = tuple[Measured, Measured]  # to the closest answers, and to the first


class _Pairs(NamedTuple):
    """Every prediction with each of its answers."""

    predictions: pa.LargeStringArray
    answers: pa.LargeStringArray
    owner: _Ints  # of each answer, the number of its prediction
    starts: _Ints  # of each prediction, the number of its first answer


class _Compared(NamedTuple):
    """The two columns of texts that some protocols compare, and the distances of their pairs."""

    left: PreparedTexts
    right: PreparedTexts
    distances: _Ints
    is_exact: _Bools  # elsewhere the distance is the difference of the sizes, the least that it can be


def _measured(block: Block, rows: _Ints, protocols: list[Protocol], first: bool) -> Part:
    options = block.options.take(number_array(rows))
    counts = _counts(options)
    owner, starts = np.repeat(np.arange(len(rows)), counts), np.cumsum(counts) - counts
    pairs = _Pairs(block.texts.take(number_array(rows)), options.flatten(), owner, starts)

    @functools.cache
    def prepared(side: int, steps: tuple[str, ...]) -> PreparedTexts:
        return prepare_texts(pairs[side], steps, "compared")

    groups: dict[Any, list[Protocol]] = {}
    for rules in dict.fromkeys(protocols):
        groups.setdefault((edit_costs(rules), _steps(rules)), []).append(rules)
    found: dict[Protocol, _Found] = {}
    known: dict[tuple[int, int, int], _Compared] = {}  # by weights, what was compared first
    for (weights, steps), members in groups.items():
        left, right = prepared(0, steps[0]), prepared(1, steps[1])
        lengths = {kinds: _pair_lengths(pairs, left, right, *kinds) for kinds in dict.fromkeys(map(_kinds, members))}
        greatest = functools.reduce(np.maximum, lengths.values())
        # What the laxest rules cannot keep even at the greatest length, no other can.
        laxest = min(members, key=lambda rules: (rules.exact_threshold, rules.keep == ">"))
        compared = _compare(left, right, owner, greatest, laxest, first, known.get(weights))
        known.setdefault(weights, compared)
        for rules in members:
            own = _without_threshold(rules)
            if own not in found:
                zero = _is_zero(left.compared, rules)
                found[own] = _of_questions(compared.distances, lengths[_kinds(rules)], owner, starts, zero, rules)
    return _part(rows, found, protocols, first)


def _part(rows: _Ints, found: dict[Protocol, _Found], protocols: list[Protocol], first: bool) -> Part:
    numbers = {rules: number for number, rules in enumerate(found)}
    return Part(
        rows=rows,
        which=[numbers[_without_threshold(rules)] for rules in protocols],
        closest=[closest for closest, _ in found.values()],
        first=[own for _, own in found.values()] if first else [],
    )


def _kinds(rules: Protocol) -> tuple[str, str]:
    return rules.prediction_length, rules.answer_length


def _pair_lengths(pairs: _Pairs, left: PreparedTexts, right: PreparedTexts, left_kind: str, right_kind: str) -> _Ints:
    lengths = _lengths(pairs.predictions, left, left_kind)[pairs.owner], _lengths(pairs.answers, right, right_kind)
    return np.maximum(*lengths)


def _lengths(raw: pa.LargeStringArray, texts: PreparedTexts, kind: str) -> _Ints:
    if kind == "compared":
        return texts.sizes
    return prepare_texts(texts.compared if kind == "compared-upper" else raw, (), kind).lengths


def _compare(
    left: PreparedTexts,
    right: PreparedTexts,
    owner: _Ints,
    lengths: _Ints,
    rules: Protocol,
    first: bool,
    known: _Compared | None,
) -> _Compared:
    """Measure the pairs that the rules can keep at such lengths and whose texts are not those that are known.

    An answer equal to the prediction settles its question, unless the first answer is wanted too.
    """
    left_sizes = left.sizes[owner]
    distances = np.abs(left_sizes - right.sizes)  # the least that they can be
    is_exact = equal_answers(left.compared, right.compared, owner) | (left_sizes == 0) | (right.sizes == 0)
    if known is not None:
        same = _same(left, known.left)[owner] & _same(right, known.right) & known.is_exact
        distances[same] = known.distances[same]
        is_exact |= same
    is_open = ~is_exact & np.asarray(reaches_threshold(distances, lengths, rules), dtype=bool)
    if not first:
        settled = np.zeros(len(left.sizes), dtype=bool)
        settled[owner[is_exact & (distances == 0)]] = True
        is_open &= ~settled[owner]
    open_pairs = np.flatnonzero(is_open)
    begins = np.diff(owner[open_pairs], prepend=-1) > 0  # a prediction is held once, however many answers it meets
    texts = as_objects(left.compared.take(number_array(owner[open_pairs][begins])))
    distances[open_pairs] = cpdist(
        texts[np.cumsum(begins) - 1],
        as_objects(right.compared.take(number_array(open_pairs))),
        scorer=Levenshtein.distance,
        scorer_kwargs={"weights": edit_costs(rules)},
        dtype=np.int32,
    )
    is_exact[open_pairs] = True
    return _Compared(left, right, distances, is_exact)


def _same(texts: PreparedTexts, others: PreparedTexts) -> _Bools:
    return as_bools(pc.equal(texts.compared, others.compared))


def _is_zero(compared: pa.LargeStringArray, rules: Protocol) -> _Bools:
    """Which predictions score 0 whatever the answers are."""
    if not rules.zero_predictions:
        return np.zeros(len(compared), dtype=bool)
    held = [text for text in rules.zero_predictions if not _SURROGATE.search(text)]
    return as_bools(pc.is_in(compared, value_set=text_array(held)))


def _of_questions(
    distances: _Ints, lengths: _Ints, owner: _Ints, starts: _Ints, zero: _Bools, rules: Protocol
) -> _Found:
    """Of all pairs, those of the closest and of the first answers."""
    empty = lengths == 0
    distances, lengths = distances + empty * (1 - rules.both_empty), lengths + empty
    ratios = distances / lengths
    at_least = np.flatnonzero(ratios == np.minimum.reduceat(ratios, starts)[owner])
    closest = at_least[np.diff(owner[at_least], prepend=-1) > 0]

    def of(pairs: _Ints) -> Measured:
        measured = Measured(distances[pairs], lengths[pairs])
        for own in measured:
            own[zero] = 1
        return measured

    return of(closest), of(starts)


def _measured_one_by_one(block: Block, rows: _Ints, protocols: list[Protocol], first: bool) -> Part:
    """The same in plain Python, for texts that Arrow cannot hold."""
    questions = [(block.texts[row], block.options[row]) for row in rows]
    counts = np.array([len(own) for _, own in questions])
    owner, starts = np.repeat(np.arange(len(rows)), counts), np.cumsum(counts) - counts
    found = {}
    for rules in dict.fromkeys(map(_without_threshold, protocols)):
        lefts = [apply_steps(rules.prediction_steps, text) for text, _ in questions]
        pairs = [
            compare_texts(text, left, answer, rules)
            for left, (text, own) in zip(lefts, questions, strict=True)
            for answer in own
        ]
        distances, lengths = np.array(pairs, dtype=np.int64).T
        zero = np.array([left in rules.zero_predictions for left in lefts])
        found[rules] = _of_questions(distances, lengths, owner, starts, zero, rules)
    return _part(rows, found, protocols, first)
