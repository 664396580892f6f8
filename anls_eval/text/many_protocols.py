"""Measure a block of questions under many protocols; a distance is measured once for all that compare equal texts."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.arrow import as_bools, as_ints, number_array, text_array
from anls_eval.rules.protocol import Protocol
from anls_eval.text.measure import (
    Block,
    Bools,
    Distances,
    Ints,
    Limit,
    Measured,
    closest_pairs,
    compare_pairs,
    is_zero_prediction,
    measured_at,
)
from anls_eval.text.prepare import PreparedTexts, equal_answers, prepare_texts
from anls_eval.text.similarity import edit_costs, kept_similarity

Rows = tuple[Ints, pa.LargeStringArray, pa.LargeListArray]  # of a block: their numbers, predictions and answers


class Part(NamedTuple):
    """Questions of a block that all have a prediction, measured under each protocol."""

    rows: Ints  # in the block
    closest: list[Measured]  # of each protocol
    first: list[Measured]  # the same for the first answer of each question; empty where only scores are wanted


def measure_by_protocols(block: Block, protocols: Sequence[Protocol], *, scores_only: bool = False) -> list[Part]:
    """Measure a block under each protocol; `scores_only` skips distances that change no score."""
    protocols = list(map(block.rules, protocols))
    rows: Rows = np.arange(len(block.texts)), block.texts, block.options
    parts = []
    if scores_only:
        settled = _settled(block, protocols)
        parts.append(_equal_part(np.flatnonzero(settled), protocols))
        rows = _taken(rows, ~settled)
    # Questions whose texts are all plain, all ASCII, or any others: the plainer, the more protocols agree.
    plain = _where(rows, lambda texts: pc.match_substring_regex(texts, PLAIN))
    in_ascii = _where(rows, pc.string_is_ascii)
    kinds = (
        (plain, _on_plain_text),
        (in_ascii & ~plain, _on_ascii_text),
        (~in_ascii & as_bools(rows[1].is_valid()), _on_any_text),
    )
    parts += [
        _measure_part(_taken(rows, is_kind), list(map(simplified, protocols)), scores_only)
        for is_kind, simplified in kinds
        if is_kind.any()
    ]
    return [part for part in parts if len(part.rows)]


PLAIN = r"^([0-9A-Za-z%]|[!-\-/-~]( ?[!-~])* ?[0-9A-Za-z%])?\z"
"""ASCII that only a step that changes case can change: spaces are single and inside, no dot comes first and no
punctuation last."""


def _taken(rows: Rows, mask: Bools) -> Rows:
    places = np.flatnonzero(mask)
    numbers, texts, options = rows
    return numbers[places], texts.take(number_array(places)), options.take(number_array(places))


def _where(rows: Rows, has: Callable[[pa.LargeStringArray], pa.BooleanArray]) -> Bools:
    """Return the questions whose prediction and answers all have a property."""
    _, texts, options = rows
    if not len(texts):
        return np.zeros(0, dtype=bool)
    each, counts = as_bools(has(options.flatten())), _counts(options)
    return as_bools(has(texts)) & np.logical_and.reduceat(each, np.cumsum(counts) - counts)


def _counts(options: pa.LargeListArray) -> Ints:
    return as_ints(pc.list_value_length(options))


# Equal texts


def _settled(block: Block, protocols: Sequence[Protocol]) -> Bools:
    """Return the questions whose prediction is plain text and equals an answer as it is, under every protocol."""
    counts = _counts(block.options)
    settled = np.zeros(len(counts), dtype=bool)
    if any(len(set(_steps(_on_plain_text(rules)))) > 1 for rules in protocols):  # capitals on one side only
        return settled
    owner, starts = np.repeat(np.arange(len(counts)), counts), np.cumsum(counts) - counts
    rows = np.flatnonzero(np.logical_or.reduceat(equal_answers(block.texts, block.options.flatten(), owner), starts))
    texts = block.texts.take(number_array(rows))
    is_plain = as_bools(pc.match_substring_regex(texts, PLAIN)) & (as_ints(pc.binary_length(texts)) > 0)
    zero = {text.lower() for rules in protocols for text in rules.zero_predictions if text.isascii()}
    is_plain &= ~as_bools(pc.is_in(pc.ascii_lower(texts), value_set=text_array(sorted(zero))))
    settled[rows[is_plain]] = True
    return settled


def _equal_part(rows: Ints, protocols: Sequence[Protocol]) -> Part:
    """Return the scores of questions whose prediction equals an answer; only the scores are right."""
    zeros = np.zeros(len(rows), dtype=np.int64)
    by_score = {
        score: Measured(np.full(len(rows), score), zeros, zeros, zeros + 1, zeros > 0)
        for score in {float(kept_similarity(0, 1, rules)) for rules in protocols}
    }
    return Part(rows, [by_score[float(kept_similarity(0, 1, rules))] for rules in protocols], [])


# What protocols have in common


@functools.lru_cache(maxsize=1024)
def _on_any_text(protocol: Protocol) -> Protocol:
    """Return the same rules under one name, so that protocols that measure the same are equal."""
    return dataclasses.replace(protocol, name="any")


@functools.lru_cache(maxsize=1024)
def _on_ascii_text(protocol: Protocol) -> Protocol:
    """Return the simplest protocol that measures the same on ASCII, where case never changes a length."""
    steps = [tuple(step for step in own if step not in ("nfc", "nfkc")) for own in _steps(protocol)]
    if all("upper" in own and "lower" not in own for own in steps) and not protocol.zero_predictions:
        steps = [tuple("lower" if step == "upper" else step for step in own) for own in steps]
    return _simplified(protocol, "ascii", steps, [kind.removesuffix("-upper") for kind in _length_kinds(protocol)])


@functools.lru_cache(maxsize=1024)
def _on_plain_text(protocol: Protocol) -> Protocol:
    """Return the simplest protocol that measures the same on plain text."""
    simple = _on_ascii_text(protocol)
    steps = [tuple(step for step in own if step in ("lower", "upper")) for own in _steps(simple)]
    return _simplified(simple, "plain", steps, ["compared", "compared"])


def _simplified(protocol: Protocol, name: str, steps: list[tuple[str, ...]], kinds: list[str]) -> Protocol:
    return dataclasses.replace(
        protocol,
        name=name,
        prediction_steps=steps[0],
        answer_steps=steps[1],
        prediction_length=kinds[0],
        answer_length=kinds[1],
    )


def _steps(protocol: Protocol) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return protocol.prediction_steps, protocol.answer_steps


# Measuring


def _measure_part(rows: Rows, protocols: list[Protocol], scores_only: bool) -> Part:
    numbers, texts, options = rows
    answers, counts = options.flatten(), _counts(options)
    owner, starts = np.repeat(np.arange(len(counts)), counts), np.cumsum(counts) - counts
    closest: dict[Protocol, Measured] = {}
    first: dict[Protocol, Measured] = {}

    @functools.cache
    def prepared(side: int, steps: tuple[str, ...]) -> PreparedTexts:
        return prepare_texts((texts, answers)[side], steps, "compared")

    def lengths_of(side: int, steps: tuple[str, ...], kind: str) -> Ints:
        ready = prepared(side, steps)
        if kind == "compared":
            return ready.sizes
        source = ready.compared if kind == "compared-upper" else (texts, answers)[side]
        return prepare_texts(source, (), kind).lengths

    groups: dict[Any, list[Protocol]] = {}
    for rules in dict.fromkeys(protocols):
        groups.setdefault((edit_costs(rules), *_steps(rules)), []).append(rules)
    known: dict[tuple[int, int, int], tuple[PreparedTexts, PreparedTexts, Distances]] = {}  # by costs, the first
    for (costs, *steps), members in groups.items():
        left, right = map(prepared, (0, 1), steps)
        lengths = {
            kinds: np.maximum(lengths_of(0, steps[0], kinds[0])[owner], lengths_of(1, steps[1], kinds[1]))
            for kinds in dict.fromkeys(map(_length_kinds, members))
        }
        compared = compare_pairs(
            left,
            right,
            owner,
            costs,
            limit=_laxest(members, lengths.values()) if scores_only else None,
            known=_on_equal_texts(known[costs], left, right, owner) if costs in known else None,
            settle=scores_only,
        )
        known.setdefault(costs, (left, right, compared))
        chosen: dict[Any, Ints] = {}
        for rules in members:
            own, is_zero = lengths[_length_kinds(rules)], is_zero_prediction(left.compared, rules)
            key = _length_kinds(rules), rules.both_empty  # what the closest answer depends on
            if key not in chosen:
                chosen[key] = closest_pairs(compared, own, owner, starts, rules)
            closest[rules] = measured_at(chosen[key], compared, own, starts, is_zero, rules)
            if not scores_only:
                first[rules] = measured_at(starts, compared, own, starts, is_zero, rules)
    return Part(
        numbers, [closest[rules] for rules in protocols], [] if scores_only else [first[rules] for rules in protocols]
    )


def _length_kinds(rules: Protocol) -> tuple[str, str]:
    return rules.prediction_length, rules.answer_length


def _laxest(protocols: list[Protocol], lengths: Iterable[Ints]) -> Limit:
    """Return the laxest rules and the maximum lengths: what they cannot keep, no other protocol can."""
    laxest = min(protocols, key=lambda rules: (rules.exact_threshold, rules.keep == ">"))
    return Limit(functools.reduce(np.maximum, lengths), laxest)


def _on_equal_texts(
    known: tuple[PreparedTexts, PreparedTexts, Distances], left: PreparedTexts, right: PreparedTexts, owner: Ints
) -> Distances:
    """Return the known distances of the pairs that have the same two texts here."""
    other_left, other_right, (distances, is_exact) = known
    same_left = as_bools(pc.equal(left.compared, other_left.compared))
    same_right = as_bools(pc.equal(right.compared, other_right.compared))
    return Distances(distances, same_left[owner] & same_right & is_exact)
