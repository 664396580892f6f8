"""Score columns of texts: the batch engine."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from anls_eval.arrow import Floats, as_bools, as_ints, as_list, as_objects, number_array, text_array
from anls_eval.inputs.columns import read_block
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import STEPS
from anls_eval.text.prepare import equal_answers, prepare_texts
from anls_eval.text.similarity import compute_similarity, edit_costs, kept_similarity, score_one


def _score_texts(
    predictions: pa.LargeStringArray, answers: pa.LargeListArray, rules: Protocol, closest: bool
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Score a batch of questions; the closest answers (-1: none) are looked for only if asked for.

    Few pairs need a distance. A question is settled by an answer equal to its prediction, and a pair is out if
    the difference of the two lengths, the least that their distance can be, already puts it under the threshold.
    """
    scores = np.zeros(len(predictions))
    best = np.full(len(predictions), -1, dtype=np.int64)
    perfect = kept_similarity(0, 1, rules)
    flat, owner = answers.flatten(), as_ints(pc.list_parent_indices(answers))
    first_answer = np.searchsorted(owner, np.arange(len(predictions))) if closest else owner
    is_open = as_bools(predictions.is_valid())
    steps = rules.prediction_steps
    if steps == rules.answer_steps and rules.both_empty and not rules.zero_predictions and not closest:
        # Equal raw texts stay equal; texts that differ in ASCII case only become equal where a step drops case
        # (composing before that can keep them apart: there is a composed h with a line below, but no such H).
        drops_case = bool({"lower", "upper"} & set(steps)) and not {"nfc", "nfkc"} & set(steps)
        equal = equal_answers(predictions, flat, owner, drops_case)
        scores[owner[equal]] = perfect
        is_open[owner[equal]] = False

    # Keep only the questions that are still open, and number them anew.
    rows, of_open = np.flatnonzero(is_open), is_open[owner]
    offsets = np.flatnonzero(of_open)
    owner = (np.cumsum(is_open) - 1)[owner[of_open]]
    left = prepare_texts(predictions.filter(number_array(is_open)), rules.prediction_steps, rules.prediction_length)
    right = prepare_texts(flat.filter(number_array(of_open)), rules.answer_steps, rules.answer_length)
    lengths = np.maximum(left.lengths[owner], right.lengths)
    open_scores = np.zeros(len(rows))

    if closest:
        pairs = np.arange(len(owner))
    else:
        equal = equal_answers(left.compared, right.compared, owner)
        equal &= (right.sizes > 0) | bool(rules.both_empty)
        open_scores[owner[equal]] = perfect
        settled = np.zeros(len(rows), dtype=bool)
        settled[owner[equal]] = True
        least_distance = np.abs(left.sizes[owner] - right.sizes)
        pairs = np.flatnonzero(~settled[owner] & (kept_similarity(least_distance, lengths, rules) > 0))

    begins = np.diff(owner[pairs], prepend=-1) > 0  # a prediction is held once, however many answers it meets
    texts = as_objects(left.compared.take(number_array(owner[pairs][begins])))
    distances = cpdist(
        texts[np.cumsum(begins) - 1],
        as_objects(right.compared.take(number_array(pairs))),
        scorer=Levenshtein.distance,
        scorer_kwargs={"weights": edit_costs(rules)},
        dtype=np.int32,
    ).astype(np.int64)
    np.maximum.at(open_scores, owner[pairs], kept_similarity(distances, lengths[pairs], rules).astype(np.float64))
    if rules.zero_predictions:
        held = [text for text in rules.zero_predictions if not re.search("[\ud800-\udfff]", text)]
        zero = pc.is_in(left.compared, value_set=text_array(held))
        open_scores[as_bools(zero)] = 0.0
    scores[rows] = open_scores

    if closest and len(rows):
        similarities = compute_similarity(distances, lengths, rules)
        starts = np.searchsorted(owner, np.arange(len(rows)))
        at_best = np.flatnonzero(similarities == np.maximum.reduceat(similarities, starts)[owner])
        first = at_best[np.unique(owner[at_best], return_index=True)[1]]
        best[rows] = offsets[first] - first_answer[rows]
    return scores, best


BLOCK_ROWS = 16_384  # questions scored at once: bounds the memory, and stays in the processor's cache


class Scored(NamedTuple):
    """The scores of a column of questions."""

    scores: Floats
    closest: list[str | None]  # empty unless asked for
    unanswered: list[int]  # rows whose prediction is None
    padding_gains: list[float]  # by how much surplus blanks raised the score of each question where they did


def score_columns(predictions: Any, answers: Any, rules: Protocol, closest: bool = False) -> Scored:
    """Score two columns of the same length, a block at a time."""
    scores = np.zeros(len(predictions))
    nearest: list[str | None] = []
    unanswered: list[int] = []
    gains: list[float] = []
    for start in range(0, len(predictions), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        texts, options = read_block(predictions[rows], answers[rows], start)
        scores[rows], best = _score_block(texts, options, rules, closest)
        gains += padding_gains(texts, options, scores[rows], rules)
        unanswered += (
            [start + row for row, text in enumerate(as_list(texts)) if text is None] if _has_none(texts) else []
        )
        if closest:
            nearest += [None if i < 0 else own[i] for i, own in zip(best.tolist(), as_list(options), strict=True)]
    return Scored(scores, nearest, unanswered, gains)


def _has_none(texts: Any) -> bool:
    return None in texts if isinstance(texts, list) else bool(texts.null_count)


def _score_block(texts: Any, options: Any, rules: Protocol, closest: bool) -> tuple[Floats, npt.NDArray[np.int64]]:
    if isinstance(texts, pa.Array) and isinstance(options, pa.Array):
        return _score_texts(texts, options, rules, closest)
    each = [score_one(text, own, rules) for text, own in zip(as_list(texts), as_list(options), strict=True)]
    return np.array([score for score, _ in each]), np.array([best for _, best in each])


def padding_gains(texts: Any, options: Any, scores: Floats, rules: Protocol) -> list[float]:
    """How far surplus blanks raised each score, in protocols that divide by raw lengths: around texts, or in runs."""
    if not (rules.prediction_length.startswith("raw") or rules.answer_length.startswith("raw")):
        return []
    partial = np.flatnonzero((scores > 0) & (scores < 1))  # blanks cannot raise 0 to 0 or anything above 1
    if isinstance(texts, pa.Array):
        texts, options = texts.take(number_array(partial)), options.take(number_array(partial))
        pairs = list(zip(texts.to_pylist(), options.to_pylist(), partial.tolist(), strict=True))
    else:
        pairs = [(texts[row], options[row], row) for row in partial.tolist()]
    strip = STEPS["collapse" if "collapse" in rules.prediction_steps else "strip"]
    stripped = [(strip(text), list(map(strip, own))) for text, own, _ in pairs]
    padded = [index for index, (text, own, _) in enumerate(pairs) if (text, list(own)) != stripped[index]]
    if not padded:
        return []
    bare = read_block([stripped[index][0] for index in padded], [stripped[index][1] for index in padded], 0)
    rise = scores[[pairs[index][2] for index in padded]] - _score_block(*bare, rules, False)[0]
    return [float(gain) for gain in rise if gain > 0]
