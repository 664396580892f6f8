"""Measure columns of texts. Whatever needs a distance reads `Measured` and measures nothing itself."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from anls_eval.arrow import Floats, as_bools, as_ints, as_list, as_objects, number_array, text_array, text_list_array
from anls_eval.inputs.columns import each_answers, each_prediction, read_block, with_stand_ins
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import STEPS
from anls_eval.text.prepare import PreparedTexts, differing_bytes, equal_answers, prepare_texts, repeated_answers
from anls_eval.text.similarity import compute_similarity, edit_costs, kept_similarity, measure_one, reaches_threshold

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

BLOCK_ROWS = 32_768  # questions measured at once: bounds the memory, and stays in the processor's cache


@functools.cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 32 MB that a block frees for the next, which saves up to a quarter of the time."""
    # glibc returns what is free at the end of its memory if it exceeds twice the largest mapping that was freed so far,
    # and each page then comes back as a page fault. This mapping is never written to, so that it takes no memory.
    np.empty(16 << 20, np.uint8)


class Measured(NamedTuple):
    """What was measured of each question, as columns: the only source for scores and explanations."""

    scores: Floats  # from 0 to 1
    closest: Ints  # the index of the closest answer; -1 without a prediction
    distances: Ints  # to the closest answer
    lengths: Ints  # that the distances are divided by; 0 if both texts are empty
    is_zero: Bools  # scores 0 whatever the answers are: no prediction, or one of the protocol's zero_predictions

    def take(self, rows: Any) -> Measured:
        """Return some of the questions, in the order of `rows`."""
        return Measured(*(column[rows] for column in self))

    @staticmethod
    def join(parts: Sequence[Measured]) -> Measured:
        """Return the questions of all parts."""
        return Measured(*map(np.concatenate, zip(*parts, strict=True)))


class Distances(NamedTuple):
    """The distance of every prediction to each of its answers."""

    distances: Ints
    is_exact: Bools  # elsewhere it is not needed, and the distance is the minimum that the sizes allow


class Limit(NamedTuple):
    """What makes a distance needless: the sizes of the two texts alone rule out that the answer counts."""

    lengths: Ints
    rules: Protocol
    closest_only: bool = False  # an answer counts only if it is closer than those of its question that are known

    def can_count(self, pairs: Ints, compared: Distances, owner: Ints) -> Bools:
        """Return which of some pairs, whose distances are the minimum that their sizes allow, can count."""
        distances, lengths = compared.distances[pairs], self.lengths[pairs]
        can_count = np.asarray(reaches_threshold(distances, lengths, self.rules), dtype=bool) & (distances < lengths)
        if self.closest_only:
            known = np.flatnonzero(compared.is_exact)
            best = np.zeros(owner[-1] + 1 if len(owner) else 0)
            np.maximum.at(
                best, owner[known], compute_similarity(compared.distances[known], self.lengths[known], self.rules)
            )
            can_count &= compute_similarity(distances, lengths, self.rules) > best[owner[pairs]]
        return can_count


def compare_pairs(
    left: PreparedTexts,
    right: PreparedTexts,
    owner: Ints,
    costs: tuple[int, int, int],
    limit: Limit | None = None,
    known: Distances | None = None,
    settle: bool = True,
) -> Distances:
    """Measure each answer against its prediction, which is in row `owner`, where the distance is needed."""
    # It is not where one text is empty or characters were only replaced, where it is `known`, where the answer before
    # is the same text, with `settle` where another answer is equal, and with a `limit` beyond it.
    left_sizes = left.sizes[owner]
    distances = np.abs(left_sizes - right.sizes)
    is_exact = (left_sizes == 0) | (right.sizes == 0)
    again = repeated_answers(right.compared, owner)
    if limit is not None:  # which may keep one of two equal texts if they are divided by different lengths
        again = again[limit.lengths[again] == limit.lengths[again - 1]]
    rows, replaced = _only_replaced(left, right, owner, costs, again)
    distances[rows], is_exact[rows] = replaced, True
    if known is not None:
        distances = np.where(known.is_exact, known.distances, distances)
        is_exact |= known.is_exact
    again = again[~is_exact[again]]
    is_open = ~is_exact
    is_open[again] = False
    if settle and costs[2]:  # where replacing is free, an answer that differs may be as close, and come first
        settled = np.zeros(len(left.sizes), dtype=bool)
        settled[owner[is_exact & (distances == 0)]] = True
        is_open &= ~settled[owner]
    pairs = np.flatnonzero(is_open)
    if limit is not None:
        pairs = pairs[limit.can_count(pairs, Distances(distances, is_exact), owner)]
    begins = np.diff(owner[pairs], prepend=-1) > 0  # a prediction is held once, however many answers it meets
    texts = as_objects(left.compared.take(number_array(owner[pairs][begins])))
    distances[pairs] = cpdist(  # which reads lists in less time than arrays
        texts[np.cumsum(begins) - 1].tolist(),
        right.compared.take(number_array(pairs)).to_pylist(),
        scorer=Levenshtein.distance,
        scorer_kwargs={"weights": costs},
        dtype=np.int32,
    )
    is_exact[pairs] = True
    begins = np.diff(again, prepend=-1) > 1
    firsts = (again[begins] - 1)[np.cumsum(begins) - 1]
    distances[again], is_exact[again] = distances[firsts], is_exact[firsts]
    return Distances(distances, is_exact)


def _only_replaced(
    left: PreparedTexts, right: PreparedTexts, owner: Ints, costs: tuple[int, int, int], again: Ints
) -> tuple[Ints, Ints]:
    """Return the pairs of texts of one size whose distance is the number of characters that differ, and it."""
    found = differing_bytes(left.compared, right.compared, owner, again)
    is_known = found.counts == 0
    if costs == (1, 1, 1):
        # A deletion needs an insertion, so that two replaced characters are never more. Two bytes may be one character.
        in_ascii = left.sizes[owner[found.rows]] + right.sizes[found.rows] == 2 * found.sizes
        is_known = found.counts <= np.where(in_ascii, 2, 1)
        # Three of which the other text has none take an edit each; for more, the distance takes less time than looking.
        three = found.apart(3)
        is_known[three[in_ascii[three]]] = True
    return found.rows[is_known], found.counts[is_known]


def closest_pairs(compared: Distances, lengths: Ints, owner: Ints, starts: Ints, rules: Protocol) -> Ints:
    """Return the pair of each question's closest answer, the first of equals; `starts` are its first pairs."""
    similarities = compute_similarity(compared.distances, lengths, rules)
    similarities[~compared.is_exact] = -np.inf
    at_best = np.flatnonzero(similarities == np.maximum.reduceat(similarities, starts)[owner])
    return at_best[np.diff(owner[at_best], prepend=-1) > 0]


def measured_at(
    pairs: Ints, compared: Distances, lengths: Ints, starts: Ints, is_zero: Bools, rules: Protocol
) -> Measured:
    """Return what was measured of one pair of each question."""
    distances, divisors = compared.distances[pairs], lengths[pairs]
    scores = np.asarray(kept_similarity(distances, divisors, rules), dtype=np.float64)
    scores[is_zero] = 0.0
    return Measured(scores, pairs - starts, distances, divisors, is_zero)


def is_zero_prediction(compared: pa.LargeStringArray, rules: Protocol) -> Bools:
    """Return which predictions, after their steps, score 0 whatever the answers are."""
    if not rules.zero_predictions:
        return np.zeros(len(compared), dtype=bool)
    import pyarrow.compute as pc

    held = [text for text in rules.zero_predictions if not re.search("[\ud800-\udfff]", text)]
    return as_bools(pc.is_in(compared, value_set=text_array(held)))


class _Pairs(NamedTuple):
    """Every prediction beside each of its answers, as they are compared."""

    left: PreparedTexts
    right: PreparedTexts
    owner: Ints  # of each answer, the row of its prediction
    lengths: Ints
    is_zero: Bools  # of each prediction


def _prepare_pairs(
    texts: pa.LargeStringArray, answers: pa.LargeStringArray, owner: Ints, is_open: Bools, rules: Protocol
) -> _Pairs:
    """Keep only the open questions, and prepare their texts."""
    if not is_open.all():
        of_open = is_open[owner]
        owner = (np.cumsum(is_open) - 1)[owner[of_open]]
        texts, answers = texts.filter(number_array(is_open)), answers.filter(number_array(of_open))
    left = prepare_texts(texts, rules.prediction_steps, rules.prediction_length)
    right = prepare_texts(answers, rules.answer_steps, rules.answer_length)
    lengths = np.maximum(left.lengths[owner], right.lengths)
    return _Pairs(left, right, owner, lengths, is_zero_prediction(left.compared, rules))


def _measure_block(texts: pa.LargeStringArray, options: pa.LargeListArray, rules: Protocol) -> Measured:
    """Measure all questions of a block."""
    import pyarrow.compute as pc

    n, is_given = len(texts), as_bools(texts.is_valid())
    owner = as_ints(pc.list_parent_indices(options))
    left, right, owner, lengths, is_zero = _prepare_pairs(texts, options.flatten(), owner, is_given, rules)
    compared, starts = compare_pairs(left, right, owner, edit_costs(rules)), np.flatnonzero(np.diff(owner, prepend=-1))
    closest = closest_pairs(compared, lengths, owner, starts, rules)
    distances, divisors = np.zeros((2, n), dtype=np.int64)
    measured = Measured(np.zeros(n), np.full(n, -1), distances, divisors, np.ones(n, dtype=bool))
    for column, found in zip(measured, measured_at(closest, compared, lengths, starts, is_zero, rules), strict=True):
        column[is_given] = found
    return measured


_SAMPLED = 256  # questions


def _has_equal_answers(texts: pa.LargeStringArray, answers: pa.LargeStringArray, owner: Ints, drops_case: bool) -> bool:
    """Return whether so many predictions of a block seem to equal an answer that finding them all takes less time."""
    if len(texts) < 16 * _SAMPLED:
        return True
    of_sample = owner[: np.searchsorted(owner, _SAMPLED)]
    equal = equal_answers(texts, answers[: len(of_sample)], of_sample, drops_case)
    return 4 * int(np.count_nonzero(equal)) >= _SAMPLED


def _score_block(texts: pa.LargeStringArray, options: pa.LargeListArray, rules: Protocol) -> Floats:
    """Score a block; most predictions equal an answer before any step is applied, and are not measured."""
    import pyarrow.compute as pc

    scores = np.zeros(len(texts))
    flat, owner = options.flatten(), as_ints(pc.list_parent_indices(options))
    is_open = as_bools(texts.is_valid())
    steps = rules.prediction_steps
    if steps == rules.answer_steps and rules.both_empty and not rules.zero_predictions:
        # Equal raw texts stay equal; texts that differ in ASCII case only become equal where a step drops case
        # (composing before that can keep them apart: there is a composed h with a line below, but no such H).
        drops_case = bool({"lower", "upper"} & set(steps)) and not {"nfc", "nfkc"} & set(steps)
        if _has_equal_answers(texts, flat, owner, drops_case):
            equal = owner[equal_answers(texts, flat, owner, drops_case)]
            scores[equal] = kept_similarity(0, 1, rules)
            is_open[equal] = False
    left, right, owner, lengths, is_zero = _prepare_pairs(texts, flat, owner, is_open, rules)
    distances, is_exact = compare_pairs(left, right, owner, edit_costs(rules), Limit(lengths, rules, closest_only=True))
    # Not through `closest_pairs`: the maximum over the few pairs that were measured takes less than finding them.
    pairs, open_scores = np.flatnonzero(is_exact), np.zeros(len(is_zero))
    np.maximum.at(open_scores, owner[pairs], kept_similarity(distances[pairs], lengths[pairs], rules))
    open_scores[is_zero] = 0.0
    scores[is_open] = open_scores
    return scores


class Block(NamedTuple):
    """A few thousand questions as Arrow columns."""

    start: int  # the row of the first
    texts: pa.LargeStringArray
    options: pa.LargeListArray
    stand_ins: dict[int, int]  # for lone surrogates: see `read_block`

    def rules(self, rules: Protocol) -> Protocol:
        """Return the rules with stand-ins for lone surrogates."""
        return with_stand_ins(rules, self.stand_ins)


def read_blocks(
    predictions: Any, answers: Any, question_ids: Sequence[Any] | None = None, block_rows: int | None = None
) -> Iterator[Block]:
    """Read two columns of equal length block by block; `question_ids` name the questions in errors."""
    keep_freed_memory()
    size = block_rows or BLOCK_ROWS
    for start in range(0, len(predictions), size):
        rows = slice(start, start + size)
        try:
            yield Block(start, *read_block(predictions[rows], answers[rows], start))
        except ValueError:
            if question_ids is not None:  # read once more, to name the question too
                each_prediction(as_list(predictions[rows]), _named("predictions", question_ids, start))
                each_answers(as_list(answers[rows]), _named("answers", question_ids, start))
            raise


def _named(side: str, question_ids: Sequence[Any], start: int) -> Callable[[int], str]:
    return lambda row: f"{side}[{start + row}] (question_id {question_ids[start + row]!r})"


class Scored(NamedTuple):
    """A column of questions, scored, with what text_notes says about them."""

    scores: Floats
    unanswered: list[int]  # rows whose prediction is None
    padding_gains: list[float]  # by how much extra whitespace raised the score of each question where it did
    closest: list[str | None]  # the closest answers; empty unless detailed
    measured: Measured | None  # None unless detailed


FEW_QUESTIONS = 50  # in lists: up to so many, one by one is faster than through arrays


def score_columns(predictions: Any, answers: Any, rules: Protocol, detailed: bool = False) -> Scored:
    """Score two columns of equal length; `detailed` measures every question, in about three times the time."""
    if not detailed and isinstance(predictions, list) and isinstance(answers, list) and len(answers) <= FEW_QUESTIONS:
        return _score_one_by_one(predictions, answers, rules)
    scores = np.zeros(len(predictions))
    unanswered: list[int] = []
    gains: list[float] = []
    closest: list[str | None] = []
    parts: list[Measured] = []
    for block in read_blocks(predictions, answers):
        rows, own = slice(block.start, block.start + BLOCK_ROWS), block.rules(rules)
        if detailed:
            parts.append(_measure_block(block.texts, block.options, own))
            scores[rows] = parts[-1].scores
            back = {stand_in: surrogate for surrogate, stand_in in block.stand_ins.items()}
            found = closest_answers(block.options, parts[-1])
            closest += [text and text.translate(back) for text in found] if back else found
        else:
            scores[rows] = _score_block(block.texts, block.options, own)
        gains += padding_gains(block.texts, block.options, scores[rows], own)
        if block.texts.null_count:
            unanswered += (block.start + np.flatnonzero(~as_bools(block.texts.is_valid()))).tolist()
    if detailed and not parts:
        parts = [_measure_block(text_array([]), text_list_array([]), rules)]
    return Scored(scores, unanswered, gains, closest, Measured.join(parts) if detailed else None)


def _score_one_by_one(predictions: list[Any], answers: list[Any], rules: Protocol) -> Scored:
    texts = each_prediction(predictions, "predictions[{}]".format)
    options = each_answers(answers, "answers[{}]".format)
    scores = [measure_one(text, own, rules)[0] for text, own in zip(texts, options, strict=True)]
    gains = map(padding_gain_of_one, texts, options, scores, itertools.repeat(rules))
    unanswered = [row for row, text in enumerate(texts) if text is None]
    return Scored(np.array(scores, np.float64), unanswered, list(itertools.chain.from_iterable(gains)), [], None)


def closest_answers(options: Any, measured: Measured) -> list[str | None]:
    """Return the text of each closest answer; None without a prediction."""
    if isinstance(options, list):
        return [None if place < 0 else own[place] for place, own in zip(measured.closest, options, strict=True)]
    import pyarrow.compute as pc

    counts = as_ints(pc.list_value_length(options))
    places = np.cumsum(counts) - counts + measured.closest
    return cast(list[str | None], options.flatten().take(number_array(places, measured.closest < 0)).to_pylist())


def padding_gains(
    texts: pa.LargeStringArray, options: pa.LargeListArray, scores: Floats, rules: Protocol
) -> list[float]:
    """Return how far extra whitespace raised each score, in protocols that divide by raw lengths."""
    if not _divides_by_raw_lengths(rules):
        return []
    partial = np.flatnonzero((scores > 0) & (scores < 1))  # whitespace cannot raise 0 to 0 or anything above 1
    given, accepted = texts.take(number_array(partial)).to_pylist(), options.take(number_array(partial)).to_pylist()
    strip = _strip_step(rules)
    stripped = [(strip(text), list(map(strip, own))) for text, own in zip(given, accepted, strict=True)]
    padded = [index for index, pair in enumerate(stripped) if pair != (given[index], accepted[index])]
    if not padded:
        return []
    bare = text_array([stripped[index][0] for index in padded])
    bare_answers = text_list_array([stripped[index][1] for index in padded])
    rise = scores[partial[padded]] - _score_block(bare, bare_answers, rules)
    return [float(gain) for gain in rise if gain > 0]


def padding_gain_of_one(prediction: str | None, answers: list[str], score: float, rules: Protocol) -> list[float]:
    """Return how far extra whitespace raised one score; empty if it did not."""
    if prediction is None or not 0 < score < 1 or not _divides_by_raw_lengths(rules):
        return []
    strip = _strip_step(rules)
    bare, bare_answers = strip(prediction), list(map(strip, answers))
    if bare == prediction and bare_answers == answers:
        return []
    gain = score - measure_one(bare, bare_answers, rules)[0]
    return [gain] if gain > 0 else []


_RAW_LENGTHS = frozenset({"raw", "raw-upper"})


def _divides_by_raw_lengths(rules: Protocol) -> bool:
    """Return whether whitespace that is not compared counts in the lengths."""
    return rules.prediction_length in _RAW_LENGTHS or rules.answer_length in _RAW_LENGTHS


def _strip_step(rules: Protocol) -> Callable[[str], str]:
    """Return the step that removes whitespace that the protocol does not compare."""
    return STEPS["collapse" if "collapse" in rules.prediction_steps else "strip"]
