"""Which steps would take an answer out of predictions that score 0."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping

from anls_eval.errors import Note, Remedy
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.extract.marks import MARK_STEPS, THOUGHT_MARKS
from anls_eval.extract.steps import extracted

# Python's \s and its "i" without case are more than RE2's: the other whitespace, and two letters, are named.
_THOUGHTS = THOUGHT_MARKS.lower().replace("i", r"[i\x{130}\x{131}]")
MAY_HAVE_MARKS = rf"(?i){_THOUGHTS}|answer|\\boxed|\x60|\*\*|__|^[\s\pZ\x0b\x1c-\x1f\x85]*[-*#]"
"""A pattern for RE2 that every text matches in which a step finds something."""

_MIN_SHARE = 20  # one in so many of the predictions that score 0 must have marks


def steps_in(text: str) -> tuple[str, ...]:
    """Return the steps that change a text, each applied to what the one before took out; none if that is JSON."""
    names = []
    text = text.strip()
    for name, step in MARK_STEPS.items():
        found = step(text)
        if found is not None and found != text:
            names.append(name)
            text = found
    is_json = text.startswith("{") and json_in_text(text) is not None  # no text step takes the answer out of that
    return () if is_json else tuple(names)


STEPS_TO_TRY: tuple[tuple[str, ...], ...] = (
    *((name,) for name in MARK_STEPS),
    *itertools.permutations(MARK_STEPS, 2),
)
"""Each step, and each chain of two."""


def changed_by_steps(text: str) -> dict[tuple[str, ...], str]:
    """Return what each of `STEPS_TO_TRY` takes out of a text, for those that change it."""
    text = text.strip()
    alone = {name: extracted(text, (name,)) for name in MARK_STEPS}
    if all(found == text for found in alone.values()):
        return {}
    found = {}
    for names in STEPS_TO_TRY:
        first, *then = names
        if alone[first] != text:
            found[names] = extracted(alone[first], tuple(then))
        elif then:
            found[names] = alone[then[0]]
    return {names: own for names, own in found.items() if own != text}


def extract_note(zeros: int, marked: int, names: str, counts: Mapping[str, int], before: tuple[str, ...]) -> list[str]:
    """Return the note on predictions that score 0 and have marks, if enough have, given how many each step changes."""
    if not marked or marked * _MIN_SHARE < zeros:
        return []
    often = [name for name, count in counts.items() if count * _MIN_SHARE >= zeros]
    wanted = often or [max(counts, key=lambda name: counts[name])]
    steps = ",".join([*before, *(name for name in MARK_STEPS if name in wanted)])
    has = "has" if marked == 1 else "have"
    said = f"{marked:,} of the {zeros:,} predictions that score 0 {has} marks around an answer ({names})"
    if zeros == 1:
        said = f"the one prediction that scores 0 has marks around an answer ({names})"
    return [Note(said, [Remedy("extract", steps, "take it out")])]


def count_steps(found: Mapping[int, tuple[str, ...]]) -> Counter[str]:
    """Return how many of some rows each step changes."""
    return Counter(name for names in found.values() for name in names)
