"""The steps that change a text before it is compared, and the lengths that a distance is divided by."""

from __future__ import annotations

import functools
import string
import types
import unicodedata
from collections.abc import Callable, Iterable, Mapping


def _without_end_punctuation(text: str) -> str:
    end = len(text)
    while end and text[end - 1] != "%" and (text[end - 1] in string.punctuation or text[end - 1].isspace()):
        end -= 1
    return text[:end]


STEPS: Mapping[str, Callable[[str], str]] = types.MappingProxyType(
    {
        "strip": str.strip,
        "lower": str.lower,
        "upper": str.upper,
        "collapse": lambda text: " ".join(text.split()),
        "nfc": lambda text: unicodedata.normalize("NFC", text),
        "nfkc": lambda text: unicodedata.normalize("NFKC", text),
        "no-newlines": lambda text: text.replace("\n", ""),
        "no-outer-dots": lambda text: text.strip("."),
        "no-final-dot": lambda text: text.removesuffix("."),
        "no-end-punctuation": _without_end_punctuation,
    }
)
"""The steps that change a text before it is compared, by the name that protocols and signatures use."""

LENGTHS: Mapping[str, Callable[[str, str], str]] = types.MappingProxyType(
    {
        "compared": lambda raw, compared: compared,
        "compared-upper": lambda raw, compared: compared.upper(),
        "raw": lambda raw, compared: raw,
        "raw-upper": lambda raw, compared: raw.upper(),
    }
)
"""The string whose length the distance is divided by, from the raw and the compared text."""


def apply_steps(steps: Iterable[str], text: str) -> str:
    """Return a text after these steps."""
    for step in steps:
        text = STEPS[step](text)
    return text


def needed_steps(steps: tuple[str, ...]) -> list[str]:
    """Return the steps without each strip that a later collapse makes redundant."""
    after = [
        [later for later in steps[number + 1 :] if later not in ("lower", "upper")] for number in range(len(steps))
    ]
    return [step for step, rest in zip(steps, after, strict=True) if step != "strip" or rest[:1] != ["collapse"]]


@functools.lru_cache(maxsize=64)
def normaliser(steps: tuple[str, ...]) -> Callable[[str], str]:
    """Return the steps as one function."""
    functions = [STEPS[step] for step in needed_steps(steps)]
    return functools.reduce(_one_after_another, functions) if functions else str


def _one_after_another(first: Callable[[str], str], second: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: second(first(text))
