"""Accepted answers that look damaged: printed lists, mojibake, control characters, markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anls_eval.check.answers import fixed_text, text_faults, without_entities
from anls_eval.extract.hints import steps_in
from anls_eval.extract.steps import extracted
from anls_eval.structure import answers_in, looks_like_structure

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")  # U+FFFD stands where one was lost
_TAGS = re.compile(r"<[^<>]+>|\*\*|```")


class Damage(NamedTuple):
    """What looks damaged in an accepted answer."""

    evidence: str
    meant: tuple[str, ...]  # what was probably meant; nothing where that is not known


def damage_in(text: str) -> Iterator[Damage]:
    """Yield what looks damaged in one accepted answer."""
    printed = answers_in(text)
    if printed is not None:
        yield Damage("prints a list", tuple(map(str, printed)))
    elif looks_like_structure(text):
        yield Damage("begins like a printed list or dict", ())
    codes = {code for code, _, _ in text_faults(text, None)}
    if "answer-mojibake" in codes:
        yield Damage("is UTF-8 that was read as Windows-1252", (fixed_text(text),))
    elif _CONTROLS.search(text):
        yield Damage("has control characters", (_CONTROLS.sub("", text),))
    if "answer-entities" in codes:
        yield Damage("has entities of HTML", (without_entities(text),))
    if "answer-markup" in codes:
        steps = steps_in(text)
        yield Damage("has markup", (extracted(text, steps) if steps else _TAGS.sub("", text).strip(),))


def variants_in(answers: Sequence[str]) -> list[str]:
    """Return the answers that differ from an earlier one only in case or whitespace."""
    seen: set[str] = set()
    found = []
    for text in answers:
        plain = " ".join(text.casefold().split())
        if plain in seen:
            found.append(text)
        seen.add(plain)
    return found
