"""ANLS and ANLS*: the score of DocVQA, ST-VQA and InfographicVQA in every variant, and of trees.

Made from the package anls_eval by ``make anls.py``: change it there, not here.

This one file is the whole metric. It works as ``evaluate.load("anls")``, from a folder, offline, and copied alone into
another project. It needs evaluate, datasets, rapidfuzz, scipy, numpy and pyarrow.
"""

from __future__ import annotations

import ast
import bisect
import collections
import contextlib
import dataclasses
import datetime
import enum
import errno
import functools
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import math
import numbers
import numbers as number_types
import operator
import os
import re
import reprlib
import stat
import string
import sys
import time
import types
import unicodedata
import urllib.parse
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice, repeat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar, cast

import datasets
import evaluate
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from rapidfuzz.distance import Levenshtein, Prefix
from rapidfuzz.process import cdist, cpdist

__all__ = [
    "ANLS", "PROTOCOLS", "Explanation", "Match", "Protocol", "ScoreNode", "anls_score", "anls_scores",
    "anls_star_score", "anls_star_scores", "explain", "get_protocol", "one_of", "protocol_from_signature", "signature",
]  # fmt: skip

# ---------------------------------------------------------------------------------------------------
# anls_eval/version.py
# The version of the package, which signatures carry.
# ---------------------------------------------------------------------------------------------------

__version__ = "0.1.0"


# ---------------------------------------------------------------------------------------------------
# anls_eval/errors.py
# Errors that keep their message in parts, so that Python, the command line and the app each name options their way.
# ---------------------------------------------------------------------------------------------------

Words = Callable[[str, object], "str | None"]
"""Names an option with its value; None where the interface does not have it."""


def python_words(option: str, value: object) -> str:
    """Return an option as Python passes it: ``missing="zero"``."""
    return f"{option}={value!r}".replace("'", '"')


@dataclasses.dataclass(frozen=True)
class Remedy:
    """An option that helps; the message says "To (purpose), pass (option)=(value)" in the words of the interface."""

    option: str
    value: object
    purpose: str


class Explained(BaseException):
    """An error whose message is made of parts, in which `problem` names no option; `str` uses the words of Python."""

    def __init__(
        self,
        problem: str,
        *,
        option: str = "",
        value: object = None,
        remedies: Sequence[Remedy] = (),
        where: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem, self.option, self.remedies, self.where = problem, option, tuple(remedies), where
        self.refused = f"{option}={short_repr(value)}" if option else ""
        if isinstance(value, (list, tuple)) and all(isinstance(own, str) for own in value):
            value = ",".join(value)
        # Any other value may not survive the way to another process.
        self.value = value if value is None or type(value) in (str, bool, int, float) else short_repr(value)

    def told(self, words: Words | None = None, verb: str = "pass") -> str:
        """Return the message with options in the words of an interface; without any, in those of Python."""
        refused = self.refused and ((words and words(self.option, self.value)) or self.refused)
        named = [(own.purpose, (words or python_words)(own.option, own.value)) for own in self.remedies]
        ways = [f"To {purpose}, {verb} {option}." for purpose, option in named if option]
        said = ": ".join(filter(None, (self.where, refused, self.problem)))
        return " ".join(filter(None, [said, *ways]))

    def __str__(self) -> str:
        return self.told()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__)


def _restored(kind: type[Explained], parts: Mapping[str, Any]) -> Explained:
    """Return an error that came from another process."""
    error = kind.__new__(kind, parts["problem"])
    error.__dict__.update(parts)
    return error


class AnlsError(Explained, ValueError):
    """The input or an option is wrong."""


def located(where: str, error: Exception) -> AnlsError:
    """Return an error with a place in front of its message."""
    if not isinstance(error, AnlsError):
        return AnlsError(str(error), where=where)
    found = AnlsError(error.problem, remedies=error.remedies, where=": ".join(filter(None, (where, error.where))))
    found.option, found.value, found.refused = error.option, error.value, error.refused
    return found


class Note(str):
    """A warning that ends with remedies; as a text, it uses the words of Python."""

    problem: str
    remedies: tuple[Remedy, ...]

    def __new__(cls, problem: str, remedies: Sequence[Remedy] = ()) -> Note:
        """Return the note as a text."""
        own = super().__new__(cls, AnlsError(f"{problem}.", remedies=remedies).told() if remedies else problem)
        own.problem, own.remedies = problem, tuple(remedies)
        return own

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the parts, for another process."""
        return self.problem, self.remedies

    def told(self, words: Words, verb: str = "pass") -> str:
        """Return the note with options in the words of an interface."""
        return AnlsError(f"{self.problem}.", remedies=self.remedies).told(words, verb) if self.remedies else str(self)


def short_repr(value: object) -> str:
    """Return a value as Python writes it, cut short for a message, or its type where Python cannot write it."""
    try:
        shown = repr(value)
    except ValueError:  # integers of thousands of digits
        return f"<{type(value).__name__} of too many digits>"
    except RecursionError:
        return f"<{type(value).__name__} nested too deeply>"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """Return the value of an option, or raise an AnlsError that lists the accepted ones."""
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value not in choices:
        import difflib

        close = difflib.get_close_matches(value, map(str, choices), n=1) if isinstance(value, str) else []
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise AnlsError(f"expected one of {', '.join(map(repr, choices))}.{hint}", option=name, value=value)
    return value


# ---------------------------------------------------------------------------------------------------
# anls_eval/extract/harness.py
# Steps as evaluation harnesses take them, with their quirks; in them None is no answer, which scores 0.
# ---------------------------------------------------------------------------------------------------

_EVALSCOPE_MARK = re.compile(r"ANSWER:\s*(.*)")
_INSPECT_MARK = re.compile(r"ANSWER\s*:", re.IGNORECASE)
_INSPECT_FIRST = re.compile(r"ANSWER\s*:\s*([^\n]+)", re.IGNORECASE)
_ANSWER_BEHIND = re.compile(r"\S.*|[^\S\n](?=\n*\Z)")
_BRACE = re.compile(r"[{}]")
_LMMS_BOX = re.compile(r"\\boxed\{")
_LAST_NUMBER = re.compile(r"\b(\d+(?:\.\d+)?)\Z")


def answer_after_mark(text: str) -> str | None:
    """Return what follows the last "ANSWER:" up to the end of its line, without whitespace around it; None without."""
    found = _EVALSCOPE_MARK.findall(text)
    return str(found[-1]).strip() if found else None


def evalscope_answer(text: str) -> str:
    """Return what follows the last "ANSWER:", or the whole output."""
    found = answer_after_mark(text)
    return text.strip() if found is None else found


def inspect_last_line(text: str) -> str | None:
    """Return the rest of the last line behind the first mark with nothing but whitespace before it, or None."""
    last_line = text.rfind("\n", 0, len(text.rstrip())) + 1
    earlier = len(text[:last_line].rstrip())
    for mark in _INSPECT_MARK.finditer(text):
        if mark.end() >= earlier:
            answer = _ANSWER_BEHIND.search(text, mark.end())
            if answer:
                return answer[0]
    return None


def inspect_first_mark(text: str) -> str | None:
    """Return the rest of the line behind the first mark, or None."""
    found = _INSPECT_FIRST.search(text)
    return found[1] if found else None


def lmms_reasoning_answer(text: str) -> str:
    """Return the first <answer>, else the last box, else the last number at the end of a line, else nothing."""
    _, opened, behind = text.partition("<answer>")
    tagged, closed, _ = behind.partition("</answer>")
    return (tagged if opened and closed else _last_box(text) or _last_number(text)).strip()


def _last_box(text: str) -> str:
    """Return the content of the last box whose braces are balanced."""
    if "\\boxed{" not in text:
        return ""
    end_of: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            end_of[opened.pop()] = brace.start()
    boxes = [box.end() for box in _LMMS_BOX.finditer(text) if box.end() - 1 in end_of]
    return text[boxes[-1] : end_of[boxes[-1] - 1]] if boxes else ""


def _last_number(text: str) -> str:
    for line in reversed(text.strip().split("\n")):
        number = _LAST_NUMBER.search(line.rstrip().removesuffix(".").rstrip())
        if number:
            return number[1]
    return ""


def lmms_without_thoughts(text: str) -> str:
    """Return the text without what stands between tags of thoughts, and without what stands before a closing one."""
    for kind in ("think", "thinking"):
        closed, end, rest = text.rpartition(f"</{kind}>")  # so that every tag that opens before it is closed
        text = re.sub(f"<{kind}>.*?</{kind}>", "", closed + end, flags=re.DOTALL) + rest
        if f"<{kind}>" not in text:
            text = text.rpartition(f"</{kind}>")[2]
    return text.strip()


HARNESS_STEPS: Mapping[str, Callable[[str], str | None]] = MappingProxyType(
    {
        "evalscope_answer": evalscope_answer,
        "inspect_line": inspect_last_line,
        "inspect_first": inspect_first_mark,
        "lmms_reasoning": lmms_reasoning_answer,
        "lmms_strip_think": lmms_without_thoughts,
    }
)
"""Each step by name."""


# ---------------------------------------------------------------------------------------------------
# anls_eval/extract/json_in_text.py
# Find JSON in the output of a model.
# ---------------------------------------------------------------------------------------------------

_MAX_READINGS = 50  # how often, on average, a character is read because of brackets that begin nothing that is wanted
_OF_AN_ERROR = 10  # what it costs, in characters; it also counts the lines before it, a hundred times as fast

_BEGINS = re.compile(r"[\[{]")


def json_in_text(text: str) -> object | None:
    """Return the last outermost JSON object, or array of objects, that parses; None if there is none."""
    decoder, found, start, budget = json.JSONDecoder(), None, 0, _MAX_READINGS * len(text)
    while budget >= 0 and (begin := _BEGINS.search(text, start)):
        start = begin.end()
        try:
            value, end = decoder.raw_decode(text, begin.start())
        except json.JSONDecodeError as error:
            end = len(text) if error.msg.startswith("Unterminated") else error.pos
            budget -= _OF_AN_ERROR + end - start + end // 100
            continue
        except (ValueError, RecursionError):  # an integer of thousands of digits, brackets deeper than any document
            budget -= len(text) - start
            continue
        if isinstance(value, dict) or (value and all(isinstance(item, dict) for item in value)):
            found, start = value, end
        else:
            budget -= end - start
    return found


# ---------------------------------------------------------------------------------------------------
# anls_eval/extract/marks.py
# Steps that find the answer in the output of a model, by the marks around it.
# ---------------------------------------------------------------------------------------------------

_THOUGHT_BEGINS = r"<think>|<thinking>|◁think▷|\[THINK\]"
_THOUGHT_ENDS = r"</think>|</thinking>|◁/think▷|\[/THINK\]"
THOUGHT_MARKS = f"{_THOUGHT_BEGINS}|{_THOUGHT_ENDS}"
"""A pattern for the marks around a model's thoughts, without regard to case."""

_THOUGHT = re.compile(f"({_THOUGHT_ENDS})|{_THOUGHT_BEGINS}", re.IGNORECASE)
_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)

# Two stretches of whitespace never stand side by side in a pattern: they would be tried in every division.
_SPACES = r"[^\S\n]*"
_BOLD = r"(?:\*\*|__)"
_WORD_BEGINS = r"(?<![^\W_])(?<![^\W_]_)"
_COLON = rf"{_SPACES}(?:(?:{_BOLD}|#+){_SPACES})?[:：](?:{_BOLD}(?=\s|\Z))?"
_ANSWER_LINE = re.compile(rf"{_WORD_BEGINS}answer{_COLON}", re.IGNORECASE)
_FINAL_ANSWER = re.compile(
    rf"{_WORD_BEGINS}(?:final[^\S\n]+answer(?:{_COLON}|[^\S\n]+is\b(?:{_COLON})?)"
    rf"|the[^\S\n]+(?:final[^\S\n]+)?answer[^\S\n]+is\b(?:{_COLON})?)",
    re.IGNORECASE,
)

_BOX = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)
_TEXT_IN_BOX = re.compile(r"\\(?:text|mathrm)\s*\{(.*)\}", re.DOTALL)
_FENCE = "```"
_LANGUAGE = re.compile(rf"{_SPACES}(?:[\w+#.-]+{_SPACES})?\n")
_LIST_OR_HEADING = re.compile(r"(?:[-*]|#+)[^\S\n]+")


def after_thoughts(text: str) -> str | None:
    """Return what follows the last thought: nothing while one is not closed."""
    last = None
    for last in _THOUGHT.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    if last is None:
        return None
    return text[last.end() :].strip() if last[1] else ""


def in_answer_tag(text: str) -> str | None:
    """Return the content of the last closed answer tag, or what follows the last one if none is closed."""
    opened, closed = None, None
    for tag in _ANSWER_TAG.finditer(text):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            closed, opened = slice(opened, tag.start()), None
    if closed is None and opened is not None:
        closed = slice(opened, None)
    return None if closed is None else text[closed].strip()


def after_answer_mark(text: str) -> str | None:
    """Return what follows the last "Answer:" on its line, or on the next line that is not blank."""
    return _after_last(_ANSWER_LINE, text)


def after_final_answer(text: str) -> str | None:
    """Return what follows the last "Final answer:" or "The answer is", without one final dot."""
    found = _after_last(_FINAL_ANSWER, text)
    return None if found is None else without_markup_around(found.removesuffix("."))


def _after_last(mark: re.Pattern[str], text: str) -> str | None:
    last = None
    for last in mark.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    if last is None:
        return None
    line = text[last.end() :].lstrip().partition("\n")[0].strip()
    before = text[text.rfind("\n", 0, last.start()) + 1 : last.start()]
    for bold in ("**", "__"):
        if before.count(bold) % 2 and line.count(bold) % 2:  # **Answer: 42**
            line = line.removesuffix(bold) if line.endswith(bold) else line.removeprefix(bold)
    return without_markup_around(line)


def without_markup_around(text: str) -> str:
    """Return the text without whitespace, and without bold marks or backticks around all of it."""
    text = text.strip()
    for _ in range(3):  # one of each kind can be inside another
        mark = text[:2] if text[:2] in ("**", "__") else text[: len(text) - len(text.lstrip("`"))]
        inner = text[len(mark) : -len(mark)]
        if not mark or not text.endswith(mark) or mark[:2] in inner or not inner.strip():
            break  # no mark, or two marked stretches
        text = inner.strip()
    return text


def in_box(text: str) -> str | None:
    r"""Return the content of the last ``\boxed{...}`` whose braces are balanced."""
    opened: list[int | None] = []
    last = (-1, -1)
    for mark in _BOX.finditer(text):
        if mark[0].startswith("\\boxed"):
            opened.append(mark.end())
        elif mark[0] == "{":
            opened.append(None)
        elif mark[0] == "}" and opened:
            start = opened.pop()
            if start is not None and start > last[0]:
                last = (start, mark.start())
    if last[0] < 0:
        return None
    content = text[slice(*last)].strip()
    wrapped = _TEXT_IN_BOX.fullmatch(content)
    if wrapped and _is_balanced(wrapped[1]):
        content = wrapped[1].strip()
    return re.sub(r"\\([$%&])", r"\1", content)


def _is_balanced(text: str) -> bool:
    depth = 0
    for mark in _BOX.finditer(text):
        if mark[0] == "}":
            depth -= 1
        elif mark[0] == "{" or mark[0].startswith("\\boxed"):
            depth += 1
        if depth < 0:
            return False
    return not depth


def in_fence(text: str) -> str | None:
    """Return the content of the last fence; one that is not closed runs to the end."""
    parts = text.split(_FENCE)
    if len(parts) == 1:
        return None
    content = parts[-1] if len(parts) % 2 == 0 else parts[-2]
    language = _LANGUAGE.match(content)
    return content[language.end() if language else 0 :].strip()


def without_markdown(text: str) -> str:
    """Return the text without bold marks or backticks around it, and without the mark of a list or a heading."""
    text = text.strip()
    mark = _LIST_OR_HEADING.match(text)
    return without_markup_around(text[mark.end() :] if mark else text)


MARK_STEPS: Mapping[str, Callable[[str], str | None]] = MappingProxyType(
    {
        "think": after_thoughts,
        "answer_tag": in_answer_tag,
        "answer_line": after_answer_mark,
        "final_answer": after_final_answer,
        "boxed": in_box,
        "fence": in_fence,
        "markdown": without_markdown,
    }
)
"""Each step by name: it returns what it finds, or None to leave the text unchanged."""


# ---------------------------------------------------------------------------------------------------
# anls_eval/types.py
# The types of what the public functions take, where Python can say them.
# ---------------------------------------------------------------------------------------------------

Tree: TypeAlias = object
"""A tree of dicts, lists, strings, numbers, bools, None and whatever else has a text; a tuple holds alternatives."""

Texts: TypeAlias = object
"""Texts, or lists of accepted answers: a list, NumPy array, pandas Series or Arrow column."""

Missing: TypeAlias = Literal["error", "zero"]
"""What a question without a prediction is."""

Unknown: TypeAlias = Literal["error", "ignore"]
"""What a prediction without a question is."""

Extract: TypeAlias = str | Sequence[str] | None
"""Names of steps that take the answer out, in a list or joined by commas; "none" for no steps."""


# ---------------------------------------------------------------------------------------------------
# anls_eval/extract/steps.py
# Take the answer out of predictions by named steps, before anything else is done with them.
# ---------------------------------------------------------------------------------------------------

JSON_STEP = "json"


def _or_unchanged(step: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a step that leaves a text in which it finds nothing as it is."""

    def extract(text: str) -> Any:
        found = step(text)
        return text if found is None else found

    return extract


EXTRACT_STEPS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        **{name: _or_unchanged(step) for name, step in MARK_STEPS.items()},
        **HARNESS_STEPS,
        JSON_STEP: _or_unchanged(json_in_text),
    }
)
"""The steps that take an answer out of a text, by the name that protocols, options and signatures use."""


EXTRACT_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "think": "what follows the last thought",
        "answer_tag": "what is in the last <answer> tag",
        "answer_line": 'what follows the last "Answer:" on its line',
        "final_answer": 'what follows the last "Final answer:" or "The answer is" on its line',
        "boxed": "what is in the last \\boxed{}",
        "fence": "what is in the last code fence",
        "markdown": "the text without Markdown around it",
        "evalscope_answer": 'what follows the last "ANSWER:" in capitals, as in evalscope',
        "inspect_line": 'what follows "ANSWER:" in the last line, as in inspect_evals; without it no answer',
        "inspect_first": 'what follows the first "ANSWER:", as in older inspect_evals; without it no answer',
        "lmms_reasoning": "what is in the first <answer> tag, the last box, or the last number, as in lmms-eval",
        "lmms_strip_think": "what is outside of thoughts, as in lmms-eval",
        JSON_STEP: "the last JSON object or array of objects",
    }
)
"""What each step takes out."""


def read_extract(extract: Extract) -> tuple[str, ...] | None:
    """Return the names of steps in any form; None for None, and no steps for "none"."""
    if extract is None:
        return None
    if isinstance(extract, str):
        extract = [name.strip() for name in extract.split(",")]
    if not isinstance(extract, Iterable) or isinstance(extract, (bytes, Mapping)):
        check_choice("extract", extract, ("none", *EXTRACT_STEPS))
    names = tuple(extract)
    if names in (("none",), ("",)):
        return ()
    for name in names:
        check_choice("extract", name, tuple(EXTRACT_STEPS))
    return names


def check_extract(names: tuple[str, ...], of_trees: bool) -> None:
    """Refuse steps that a protocol cannot have."""
    for name in names:
        check_choice("a step of extract", name, tuple(EXTRACT_STEPS))
    if JSON_STEP in names and not of_trees:
        problem = "json takes a document out of a text, and this protocol compares texts. Use it with anls_star"
        raise AnlsError(problem, option="extract", value=",".join(names))
    if JSON_STEP in names[:-1]:
        problem = "json returns a document, which no step can follow; expected it last"
        raise AnlsError(problem, option="extract", value=",".join(names))


def is_document(text: str, names: tuple[str, ...]) -> bool:
    """Return whether the steps take a document out of a text."""
    return JSON_STEP in names and not isinstance(extracted(text, names), str)


def extracted(prediction: Any, names: tuple[str, ...]) -> Any:
    """Return the answer in one prediction; whatever is not a text is returned as it is."""
    for name in names:
        if not isinstance(prediction, str):
            break
        prediction = EXTRACT_STEPS[name](prediction)
    return prediction


# ---------------------------------------------------------------------------------------------------
# anls_eval/markup.py
# HTML of results: how notebooks show them, and the colours and marks that reports and the app share.
# ---------------------------------------------------------------------------------------------------

# What has a colour, and that colour on a light and on a dark page.
COLOURS = {
    "page": ("#f7f7f5", "#121317"),
    "surface": ("#fff", "#1a1c21"),
    "text": ("#1b1d22", "#e7e8ec"),
    "muted": ("#5a5f6b", "#a4a9b5"),
    "line": ("#e3e3de", "#2d3038"),
    "accent": ("#2f55c4", "#8ba6ff"),
    "accent-soft": ("#a9bbee", "#4a5ea6"),
    "track": ("#ebebe6", "#282b32"),
    "zero": ("#b4b8c2", "#5c616e"),
    "code": ("#f0f0ec", "#22252b"),
    "changed": ("#fbe9b7", "#4b3b0d"),
    "changed-text": ("#553d00", "#ffe19b"),
    "lost": ("#fbdcd8", "#57221c"),
    "lost-text": ("#83180d", "#ffccc5"),
    "added": ("#d5f0dc", "#17401f"),
    "added-text": ("#0d4d22", "#c0f2ca"),
}
LIGHT, DARK = (" ".join(f"--{name}: {own[side]};" for name, own in COLOURS.items()) for side in (0, 1))
FONTS = (
    '--sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; '
    '--mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;'
)
MARKS = """\
.alignment { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .15rem .9rem; align-items: baseline; }
.alignment dt { color: var(--muted); font-size: .85rem; }
.alignment dd { font-family: var(--mono); font-size: .9rem; line-height: 1.7; overflow-wrap: anywhere; white-space: pre-wrap; }
mark, del, ins { border-radius: 3px; padding: .08em .12em; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
mark { background: var(--changed); color: var(--changed-text); text-decoration: underline dotted 2px; text-underline-offset: 3px; }
del { background: var(--lost); color: var(--lost-text); text-decoration: line-through 1.5px; }
ins { background: var(--added); color: var(--added-text); text-decoration: underline 2px; text-underline-offset: 3px; }
.tree, .tree ul { list-style: none; font: .875rem/1.7 var(--mono); }
.tree ul { border-left: 1px solid var(--line); margin-left: .35rem; padding-left: 1rem; }
.tree .label { color: var(--muted); }
.tree .label::after { content: ":"; }
.leaf { border-radius: 4px; padding: .05rem .35rem; overflow-wrap: anywhere; }
.leaf.full { background: var(--added); color: var(--added-text); }
.leaf.part { background: var(--changed); color: var(--changed-text); }
.leaf:is(.below-threshold, .type-mismatch, .different, .scores-0-by-rule) { background: var(--lost); color: var(--lost-text); }
.leaf.missing { border: 1px dashed currentColor; color: var(--lost-text); }
.leaf.hallucinated { border: 1px solid currentColor; color: var(--lost-text); }
.what { font: .8rem var(--sans); color: var(--muted); }
"""  # noqa: E501 - a rule of CSS on each line
_NOTEBOOK = """\
background: var(--surface); color: var(--text); font: 14px/1.5 var(--sans); padding: .75rem 1rem; max-width: 60rem;
border: 1px solid var(--line); border-radius: 8px; display: grid; gap: .6rem; overflow: auto;
p, dl, dd, ul, pre { margin: 0; padding: 0; }
.score { font-size: 1.6rem; line-height: 1.1; font-weight: 650; color: var(--accent); }
.muted { color: var(--muted); }
.note { border-left: 3px solid var(--accent); padding-left: .6rem; }
.leaf :is(mark, del, ins) { padding: 0 .05em; }
table { border-collapse: collapse; margin: 0; justify-self: start; font-size: .9em; color: inherit; }
:is(thead, tbody) tr { background: none; }
th, td { text-align: left; vertical-align: top; padding: .2rem .9rem .2rem 0; border: 0; border-top: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--muted); border-top: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: block; width: 8rem; height: .6rem; margin-top: .4rem; border-radius: 3px; background: var(--track); }
.bar span { display: block; height: 100%; border-radius: 3px; background: var(--accent); }
pre { background: var(--code); color: inherit; border-radius: 6px; padding: .4rem .6rem; font: .75rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
"""  # noqa: E501 - a rule of CSS on each line
_IN_DARK = ("body[data-jp-theme-light=false]", "body.vscode-dark", "html[theme=dark]", "[data-theme=dark]")
_IN_LIGHT = ("body[data-jp-theme-light=true]", "body.vscode-light", "html[theme=light]", "[data-theme=light]")


class Html(str):
    """HTML in which every text is escaped."""


# As html.escape does it; the module html has a table of all entities, which takes a while to import.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def as_html(content: object) -> Html:
    """Return HTML unchanged, and a text escaped; a character that cannot be shown becomes U+FFFD."""
    if isinstance(content, Html):
        return content
    shown = "".join(own if own.isprintable() or own in "\n\t" else "\ufffd" for own in str(content))
    return Html(shown.translate(_ESCAPES))


def element(name: str, content: object, kind: str = "") -> Html:
    """Return an element with this class."""
    start = f'{name} class="{as_html(kind)}"' if kind else name
    return Html(f"<{start}>{as_html(content)}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    """Return parts one after another."""
    return Html("".join(map(as_html, parts)))


def notebook_page(*parts: Html) -> str:
    """Return the HTML of a result for a notebook, with its style, in the colours of the notebook."""
    dark, light = (", ".join(f"{own} .anls-eval" for own in names) for names in (_IN_DARK, _IN_LIGHT))
    style = (
        f".anls-eval {{ {LIGHT} {FONTS}\n{MARKS}{_NOTEBOOK}}}\n"
        f"@media (prefers-color-scheme: dark) {{ .anls-eval {{ {DARK} }} }}\n"
        f"{light} {{ {LIGHT} }}\n{dark} {{ {DARK} }}\n"
    )
    return f'<div class="anls-eval"><style>\n{style}</style>{joined(parts)}</div>'


def headline(score: float, words: object) -> Html:
    """Return a score in large, and words beside it."""
    return joined([element("p", f"{score:.4f}", "score"), element("p", words)])


def notes_html(notes: Iterable[str]) -> Html:
    """Return warnings, one a paragraph."""
    return joined(element("p", note, "note") for note in notes)


def signature_html(signature: str) -> Html:
    """Return a signature, which may break at each part."""
    return element("pre", Html("|<wbr>".join(map(as_html, signature.split("|")))))


def score_bar(score: float) -> Html:
    """Return the bar of a score from 0 to 1."""
    return Html(f'<span class="bar"><span style="width: {100 * min(max(score, 0.0), 1.0):.1f}%"></span></span>')


def table_html(heads: Sequence[str], rows: Iterable[Sequence[object]], most: int = 100) -> Html:
    """Return a table of texts, HTML, integers and floats, the last with 4 digits; None is empty. Many rows are cut."""
    lines = list(rows)
    cells = [element("tr", joined(_cell(value) for value in row)) for row in lines[:most]]
    left_out = len(lines) - len(cells)
    more = element("p", f"{left_out:,} more are not shown.", "muted") if left_out else ""
    head = element("tr", joined(element("th", name) for name in heads))
    return joined([element("table", joined([element("thead", head), element("tbody", joined(cells))])), more])


def _cell(value: object) -> Html:
    if isinstance(value, float):
        return element("td", f"{value:.4f}", "number")
    if isinstance(value, int):
        return element("td", f"{value:,}", "number")
    return element("td", "" if value is None else value)


# ---------------------------------------------------------------------------------------------------
# anls_eval/rules/steps.py
# The steps that change a text before it is compared, and the lengths that a distance is divided by.
# ---------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------
# anls_eval/rules/protocol.py
# `Protocol`: the rules by which one leaderboard or paper computes ANLS, as data.
# ---------------------------------------------------------------------------------------------------

Threshold = float | str | Fraction | Decimal | None

_MAX_DIGITS = 1000  # of a number in an option: it is computed with and written into signatures

_NUMBER = re.compile(r"[+-]?[0-9]+(?:/[0-9]+|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?)")


def parse_number(text: str) -> Fraction:
    """Return the number in a text; refuse texts such as "1e999999999", whose digits would fill the memory."""
    if len(text) > 2 * _MAX_DIGITS + 2 or not _NUMBER.fullmatch(text):
        raise ValueError("not a number, or too many digits")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("not a number") from None


def read_threshold(threshold: object, option: str = "threshold") -> Fraction:
    """Return a threshold in any form (0.8, "0.8", "4/5", Decimal, Fraction) exactly as it is written."""
    exact, number = Fraction(-1), threshold
    with contextlib.suppress(ValueError, ArithmeticError):  # NaN and infinities, too
        if isinstance(number, str):
            number = Fraction(number) if "/" in number else Decimal(number)
        if isinstance(number, numbers.Rational) and not isinstance(number, bool):
            exact = Fraction(int(number.numerator), int(number.denominator))
        elif isinstance(number, (numbers.Real, Decimal)):  # except bool, whose text is not a number
            exact = parse_number(str(number))
    if not 0 <= exact <= 1 or exact.denominator > 10**_MAX_DIGITS:
        raise threshold_error(threshold, option)
    return exact


def threshold_error(threshold: object, option: str = "threshold") -> AnlsError:
    """Return the error for a threshold that is not a number from 0 to 1."""
    expected = f"expected a number from 0 to 1, such as 0.8 or 4/5, with at most {_MAX_DIGITS:,} digits"
    what = "counts" if option == "threshold" else "is right"
    return AnlsError(f"{expected}. It is the minimum similarity that {what}.", option=option, value=threshold)


class Rules:
    """What the rules of every kind have: a `Protocol` for texts or trees, and a `Leaderboard`."""

    name: str
    aliases: tuple[str, ...]
    source: str
    extract: tuple[str, ...]

    def extracted(self, prediction: Any) -> Any:
        """Return the answer that `extract` takes out of a prediction; whatever is not a text is returned as it is."""
        return extracted(prediction, self.extract)

    reads_lists: bool = False
    """Whether the rules read lists from texts themselves, and get such texts as they are."""

    def signature_fields(self) -> dict[str, object]:
        """Return the fields of a signature that name the rules."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return the rules as notebooks show them."""
        rows = [(name, element("code", value)) for name, value in self.signature_fields().items()]
        aliases = element("p", f"also {', '.join(self.aliases)}", "muted") if self.aliases else Html()
        return notebook_page(
            element("b", self.name), aliases, table_html(("rule", ""), rows), element("p", self.source, "muted")
        )

    @property
    def aggregate(self) -> str:
        """How the scores of questions become that of a data set."""
        return "mean"

    @property
    def answer_types(self) -> tuple[str, ...]:
        """The answer types, one of which each question needs; empty where questions need none."""
        return ()

    def checked_options(self, options: Mapping[str, object] | None) -> dict[str, Any]:
        """Return the options of a benchmark; refuse them for rules of any other kind."""
        if options:
            problem = f"protocol {self.name!r} has no options; leave them out"
            raise AnlsError(problem, option="options", value=str(options))
        return {}

    def recorded_options(self, options: Mapping[str, object] | None) -> str:
        """Return what a signature records of the options; empty without any."""
        return "+".join(self.checked_options(options))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Protocol(Rules):
    r"""The rules by which one leaderboard or paper computes ANLS, as data.

    Make your own with `dataclasses.replace` and pass it wherever a protocol name is accepted.

    Args:
        name: Letters, digits, ``_``, ``-`` and ``.``.
        prediction_steps: Names from `STEPS`, applied to the prediction in this order.
        answer_steps: Names from `STEPS`, applied to each accepted answer in this order.
        prediction_length: A name from `LENGTHS`. The distance is divided by the greater of the two lengths.
        answer_length: A name from `LENGTHS`.
        keep: ``">="`` keeps a similarity of exactly `threshold`, ``">"`` sets it to 0.
        threshold: Minimum similarity that counts, from 0 to 1: a number, or a text such as ``"4/5"``. It means the
            decimal as written (0.8 is 4/5) and is compared in integers. 0 with ``">="`` keeps every similarity.
        both_empty: The similarity of two empty strings, 1 or 0.
        zero_predictions: Predictions, after their steps, that score 0 whatever the answers are.
        substitution_cost: The cost of replacing a character; inserting and deleting cost 1. A similarity
            below 0, possible when this is over 1, counts as 0.
        extract: Names of steps from `EXTRACT_STEPS` that take the answer out of the prediction before anything else is
            done, in this order. Predictions that are not texts are left alone; ``json``, for trees, comes last.
        tree: Empty for texts. For trees (ANLS*), ``"released"`` scores as anls_star 1.0.1 does, ``"paper"`` by the
            formula. The leaves of a tree are texts that follow the rules above, with the lengths ``compared``,
            `both_empty` 1 and no `zero_predictions`.
        aliases: Other names that `get_protocol` accepts.
        leaderboards: Leaderboards and tools that compute ANLS this way.
        source: Where the rules come from, and where the original differs in special cases.

    The attribute `exact_threshold` is the threshold as a fraction.

    Raises:
        ValueError: An option has a value that is not allowed. The message lists the allowed ones.

    Example:
        >>> import dataclasses
        >>> from anls_eval import anls_score, get_protocol
        >>> composed = dataclasses.replace(
        ...     get_protocol("standard"),
        ...     name="standard_nfc",
        ...     prediction_steps=("nfc", "strip", "lower", "collapse"),
        ...     answer_steps=("nfc", "strip", "lower", "collapse"),
        ... )
        >>> anls_score("cafe\u0301", ["caf\u00e9"]), anls_score("cafe\u0301", ["caf\u00e9"], protocol=composed)
        (0.6, 1.0)
    """

    name: str
    prediction_steps: tuple[str, ...]
    answer_steps: tuple[str, ...]
    prediction_length: str = "compared"
    answer_length: str = "compared"
    keep: str = ">="
    threshold: float | str | Fraction | Decimal = 0.5
    both_empty: int = 1
    zero_predictions: tuple[str, ...] = ()
    substitution_cost: int = 1
    extract: tuple[str, ...] = ()
    tree: str = ""
    aliases: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    leaderboards: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    source: str = dataclasses.field(default="", compare=False)
    exact_threshold: Fraction = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"\w[\w.-]*", self.name):
            expected = "expected letters, digits, '_', '-' and '.', a letter or digit first"
            raise AnlsError(expected, option="name", value=self.name)
        for option in ("prediction_steps", "answer_steps", "zero_predictions", "extract"):
            value = getattr(self, option)
            items = (
                tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, np.ndarray)) else (None,)
            )
            if not all(isinstance(item, str) for item in items):
                raise AnlsError("expected a tuple of strings", option=option, value=value)
            object.__setattr__(self, option, items)
        for option in ("prediction_steps", "answer_steps"):
            for step in getattr(self, option):
                check_choice(f"a step of {option}", step, tuple(STEPS))
        check_choice("prediction_length", self.prediction_length, tuple(LENGTHS))
        check_choice("answer_length", self.answer_length, tuple(LENGTHS))
        check_choice("keep", self.keep, (">=", ">"))
        for option in ("both_empty", "substitution_cost"):
            value = getattr(self, option)
            number = -1 if isinstance(value, bool) or not isinstance(value, numbers.Integral) else int(value)
            if not 0 <= number <= 10**_MAX_DIGITS:
                raise AnlsError("expected an integer of at least 0", option=option, value=value)
            object.__setattr__(self, option, number)
        check_choice("both_empty", self.both_empty, (0, 1))
        check_choice("tree", self.tree, ("", "released", "paper"))
        check_extract(self.extract, of_trees=bool(self.tree))
        lengths = self.prediction_length, self.answer_length
        if self.tree and (lengths != ("compared", "compared") or not self.both_empty or self.zero_predictions):
            raise ValueError("a protocol for trees has the lengths 'compared', both_empty=1 and no zero_predictions")
        exact = read_threshold(self.threshold)
        written = float(exact)
        object.__setattr__(self, "exact_threshold", exact)
        object.__setattr__(self, "threshold", written if Fraction(str(written)) == exact else exact)

    def with_threshold(self, threshold: Threshold) -> Protocol:
        """Return these rules with another threshold; None keeps the threshold."""
        if threshold is None:
            return self
        return dataclasses.replace(self, threshold=threshold)

    def with_extract(self, extract: Extract) -> Protocol:
        """Return these rules with other steps that take the answer out; None keeps the steps, "none" removes them."""
        names = read_extract(extract)
        return self if names is None or names == self.extract else dataclasses.replace(self, extract=names)

    def signature_fields(self) -> dict[str, object]:
        """Return the fields of a signature that name the rules."""
        return {
            "protocol": self.name,
            **({"tree": self.tree} if self.tree else {}),
            **({"extract": "+".join(self.extract)} if self.extract else {}),
            "pred": "+".join(self.prediction_steps) or "-",
            "ref": "+".join(self.answer_steps) or "-",
            "length": "/".join(dict.fromkeys((self.prediction_length, self.answer_length))),
            "keep": f"{self.keep}{self.threshold}",
            "empty": self.both_empty,
            "special": "+".join(map(quoted_item, self.zero_predictions)) or "-",
            "substitution": self.substitution_cost,
        }


def quoted_item(text: str) -> str:
    """Return any text as one item of a list in a signature, where "-" is an empty list and "''" an empty text."""
    return urllib.parse.quote(text, safe="", errors="surrogatepass").replace("-", "%2D") or "''"


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/field.py
# `Field`: how one part of a tree is compared and weighed, as data.
# ---------------------------------------------------------------------------------------------------

class Inherited(enum.Enum):
    """The value of an option that a field does not name."""

    INHERITED = "inherited"


INHERITED: Literal[Inherited.INHERITED] = Inherited.INHERITED

Compare: TypeAlias = str | Callable[[Any, Any], float]
Exact: TypeAlias = int | float | str | Decimal | Fraction

COMPARES = ("text", "exact", "number", "date", "boolean", "ignore")

# The options that only one comparator has.
OWNED_OPTIONS = {
    "absolute": "number",
    "relative": "number",
    "decimal": "number",
    "day_first": "date",
    "formats": "date",
    "case_sensitive": "exact",
}

_DAY_DIRECTIVES = frozenset("djxc")  # directives of strptime from which a part of a date is known
_MONTH_DIRECTIVES = frozenset("mbBjxc")
_YEAR_DIRECTIVES = frozenset("yYxc")
_WEEK_DATES = frozenset("UWGV")


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Field:
    """How one part of a tree is compared and weighed. An option that is not given is inherited from the path above.

    Args:
        compare: ``"text"`` (the leaf of the protocol), ``"exact"``, ``"number"``, ``"date"``, ``"boolean"``,
            ``"ignore"``, or a function of a prediction and a reference that returns a number from 0 to 1.
        weight: What a leaf counts: a decimal greater than 0. Weights are never multiplied.
        absolute: Tolerance of numbers: right if ``abs(p - r) <= max(absolute, relative * abs(r))``, computed exactly.
        relative: The same tolerance as a share of the reference: 0.01 is 1 %.
        decimal: The decimal mark of numbers: ``"."``, ``","``, or ``"auto"``, which tells it from the text.
        day_first: Whether 01/02/2026 is the 1st of February. None accepts either reading.
        formats: Formats of dates, as `datetime.datetime.strptime` takes them, tried first.
        case_sensitive: Whether exact texts must also agree in case.
        order: ``"any"`` matches the elements of a list as well as possible, ``"kept"`` one by one. Not inherited.
        key: The field, or fields, of the elements of a list by which they belong together. Not inherited.

    Without any path, ``compare="text"``, ``weight=1``, ``absolute=0``, ``relative=0``, ``decimal="auto"``,
    ``day_first=None``, ``formats=()``, ``case_sensitive=False`` and ``order="any"`` hold.

    Raises:
        ValueError: An option has a value that is not allowed. The message lists the allowed ones.

    Example:
        >>> from anls_eval import Field
        >>> Field(compare="number", absolute="0.01", weight=2)
        Field(compare='number', weight='2', absolute='0.01')
    """

    compare: Compare | Inherited = INHERITED
    weight: Exact | Inherited = INHERITED
    absolute: Exact | Inherited = INHERITED
    relative: Exact | Inherited = INHERITED
    decimal: str | Inherited = INHERITED
    day_first: bool | Inherited | None = INHERITED
    formats: str | Iterable[str] | Inherited = INHERITED
    case_sensitive: bool | Inherited = INHERITED
    order: str | Inherited = INHERITED
    key: str | Iterable[str] | Inherited = INHERITED

    def __post_init__(self) -> None:
        for option, value in self.named().items():
            object.__setattr__(self, option, _CHECKS[option](option, value))
        if self.compare is not INHERITED:
            for option in self.named():
                check_owner(option, self.compare)
        if self.key is not INHERITED and self.order == "kept":
            problem = "elements that belong together by key have no order to keep. Take one of both options away"
            raise AnlsError(problem, option="key", value=self.key)

    def named(self) -> dict[str, Any]:
        """Return the options that this field names, in the order in which they are documented."""
        values = {option.name: getattr(self, option.name) for option in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value is not INHERITED}

    def to_dict(self) -> dict[str, object]:
        """Return the options that this field names, as JSON has them: decimals as text, functions by their name."""
        return {option: option_as_json(value) for option, value in self.named().items()}

    def __repr__(self) -> str:
        return f"Field({', '.join(f'{option}={value!r}' for option, value in self.to_dict().items())})"


FIELD_DEFAULTS: dict[str, Any] = {
    "compare": "text",
    "weight": Fraction(1),
    "absolute": Fraction(0),
    "relative": Fraction(0),
    "decimal": "auto",
    "day_first": None,
    "formats": (),
    "case_sensitive": False,
    "order": "any",
    "key": (),
}
"""What holds where no path names an option."""

LIST_OPTIONS = ("order", "key")  # of one list only: not inherited


def check_owner(option: str, compare: object) -> None:
    """Refuse an option of another comparator."""
    owner = OWNED_OPTIONS.get(option)
    if owner and compare != owner:
        given = f"not of compare={compare!r}" if isinstance(compare, str) else "not of a function"
        raise AnlsError(f"{option} is an option of compare={owner!r}, {given}. Remove one of the two")


def option_as_json(value: Any) -> Any:
    """Return the value of an option as JSON has it."""
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, tuple):
        return list(value)
    return function_name(value) if callable(value) else value


def exact_text(value: Fraction) -> str:
    """Return an exact number as a decimal without an exponent; as a fraction if it has no end."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest > 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def function_name(function: Callable[..., Any]) -> str:
    """Return a function as module:qualname; ``*`` for a lambda, and for an object that has no name."""
    name = str(getattr(function, "__qualname__", "<lambda>"))
    return "*" if name.endswith("<lambda>") else f"{function.__module__}:{name}"


def _check_compare(option: str, value: Any) -> Any:
    if callable(value):
        return value
    return check_choice(option, value, COMPARES)


def _exact(option: str, value: Any, expected: str) -> Fraction:
    """Return a number exactly as it is written."""
    with contextlib.suppress(ValueError, ArithmeticError):
        if isinstance(value, numbers.Rational) and not isinstance(value, bool):
            return Fraction(int(value.numerator), int(value.denominator))
        if isinstance(value, (numbers.Real, Decimal, str)) and not isinstance(value, bool):
            return parse_number(str(value))
    raise AnlsError(f"expected {expected}", option=option, value=value)


def _check_weight(option: str, value: Any) -> Fraction:
    expected = "a decimal greater than 0, such as 2 or 0.5"
    exact = _exact(option, value, expected)
    if exact <= 0:
        remedy = "To leave a part out, use compare='ignore'"
        raise AnlsError(f"expected {expected}. {remedy}", option=option, value=value)
    return exact


def _check_tolerance(option: str, value: Any) -> Fraction:
    expected = "a decimal of at least 0, such as 0.01"
    exact = _exact(option, value, expected)
    if exact < 0:
        raise AnlsError(f"expected {expected}", option=option, value=value)
    return exact


def _check_decimal(option: str, value: Any) -> Any:
    return check_choice(option, value, (".", ",", "auto"))


def _check_bool(option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise AnlsError("expected True or False", option=option, value=value)
    return value


def _check_day_first(option: str, value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise AnlsError("expected True, False, or None for either reading", option=option, value=value)
    return value


def _texts(option: str, value: Any, expected: str) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    items = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else (None,)
    if not items or not all(isinstance(item, str) for item in items):
        raise AnlsError(f"expected {expected}", option=option, value=value)
    return items


def _check_formats(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and not value:
        return ()
    formats = _texts(option, value, "formats of strptime, such as '%d.%m.%Y'")
    for item in formats:
        check_format(option, item)
    return formats


def check_format(option: str, text: str) -> None:
    """Refuse a format that strptime does not know, or from which no date follows."""
    directives = set(re.findall(r"%(.)", text.replace("%%", ""), re.DOTALL))
    unknown = directives - set("aAwdbBmyYHIpMSfzZjUWcxXGuV")
    if unknown:
        raise AnlsError(f"strptime does not know %{min(unknown)}", option=option, value=text)
    whole = bool(directives & _DAY_DIRECTIVES) <= bool(directives & _MONTH_DIRECTIVES) and directives & _YEAR_DIRECTIVES
    if not whole or directives & _WEEK_DATES:
        problem = "expected a format with a year, and with a month where it has a day, such as '%d.%m.%Y'"
        raise AnlsError(problem, option=option, value=text)


def format_parts(text: str) -> int:
    """Return how many parts of a date a format holds: 1 for a year, 2 for a month, 3 for a day."""
    directives = set(re.findall(r"%(.)", text.replace("%%", ""), re.DOTALL))
    return 3 if directives & _DAY_DIRECTIVES else 2 if directives & _MONTH_DIRECTIVES else 1


def _check_order(option: str, value: Any) -> Any:
    return check_choice(option, value, ("any", "kept"))


def _check_key(option: str, value: Any) -> tuple[str, ...]:
    names = _texts(option, value, "the name of a field, or a list of names")
    if len(set(names)) < len(names):
        raise AnlsError("names a field twice", option=option, value=value)
    return names


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "compare": _check_compare,
    "weight": _check_weight,
    "absolute": _check_tolerance,
    "relative": _check_tolerance,
    "decimal": _check_decimal,
    "day_first": _check_day_first,
    "formats": _check_formats,
    "case_sensitive": _check_bool,
    "order": _check_order,
    "key": _check_key,
}


def as_field(options: object, where: str) -> Field:
    """Return a field, or that with these options; the message of an error begins with its place."""
    if isinstance(options, Field):
        return options
    if type(options).__name__ == "Field" and hasattr(options, "named"):
        options = options.named()  # made by another copy of this class: anls.py has its own
    if not isinstance(options, Mapping):  # a dict, or that of OmegaConf in the configuration of a trainer
        raise AnlsError("expected a Field, or a dict of its options", where=where)
    try:
        for option in options:
            check_choice("option", option, tuple(FIELD_DEFAULTS))
        return Field(**options)
    except AnlsError as error:
        raise located(where, error) from None


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/paths.py
# Paths of fields: ``$.items[*].price``, parsed, written and compared.
# ---------------------------------------------------------------------------------------------------

class AnyStep(enum.Enum):
    """A step to any key that is not named at this place, or to any element of a list."""

    KEY = ".*"
    ELEMENT = "[*]"


Step: TypeAlias = str | AnyStep
FieldPath: TypeAlias = tuple[Step, ...]

_MAX_STEPS = 1000  # of a path: no document is deeper, and all paths that lead to one are kept

_STEP = re.compile(
    r"""(?P<any_key>\.\*(?=[.\[]|$)) | (?P<any_element>\[\*\]) | \.(?P<key>[^.\[\]'"*\s](?:[^.\[\]'"]*[^.\[\]'"\s])?)
    | \[(?P<quoted>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")\] | \[(?P<index>-?[0-9]+)\]""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}


def is_path(text: str) -> bool:
    """Return whether a key of a file looks like a path of a field."""
    return text == "$" or text.startswith(("$.", "$["))


def parse_path(text: object) -> FieldPath:
    """Return the steps of a path below ``$``; refuse what is not a path."""
    if not isinstance(text, str) or not text.startswith("$"):
        raise _path_error(text, "expected a path that begins with $")
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if not found:
            raise _path_error(text, f"cannot read {text[at : at + 40]!r}")
        if found["index"] is not None:
            whole = text[:at] + "[*]" + text[found.end() :]
            raise _path_error(text, f"a field applies to all elements of a list: write [*], as in {whole!r}")
        if found["any_key"]:
            steps.append(AnyStep.KEY)
        elif found["any_element"]:
            steps.append(AnyStep.ELEMENT)
        else:
            steps.append(found["key"] if found["key"] is not None else _unquoted(found["quoted"]))
        at = found.end()
    if len(steps) > _MAX_STEPS:
        raise AnlsError(f"a path has {len(steps):,} steps; expected at most {_MAX_STEPS:,}")
    return tuple(steps)


def _path_error(text: object, problem: str) -> AnlsError:
    return AnlsError(
        f"{problem}. A path is $, then .key, ['key'], .* (any other key) or [*] (any element of a list)",
        option="path",
        value=text,
    )


def _unquoted(quoted: str) -> str:
    def character(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        return chr(int(digits, 16)) if digits else _CONTROLS.get(found[4], found[4])

    return _ESCAPE.sub(character, quoted[1:-1])


def step_text(step: Step) -> str:
    """Return one step of a path in its one normalised form."""
    if isinstance(step, AnyStep):
        return str(step.value)
    return f".{step}" if step.isidentifier() else f"[{step!r}]"


def path_text(path: Iterable[Step]) -> str:
    """Return a path in its one normalised form."""
    return "$" + "".join(map(step_text, path))


def nearest_path(path: str, seen: Sequence[str]) -> str:
    """Return the path among those seen that is closest to another; empty if there are none."""
    import difflib

    close = difflib.get_close_matches(path, seen, n=1, cutoff=0.0)
    return close[0] if close else ""


# ---------------------------------------------------------------------------------------------------
# anls_eval/json_faults.py
# The words for texts that are not JSON, or JSON that cannot be read here, each with a remedy.
# ---------------------------------------------------------------------------------------------------

CONTROL = "Invalid control character"
"""What a text has that only a tolerant reader takes, in the words of Python's parser, to which it adds "at"."""


NUL = "a NUL character, which no text has"
"""What damage leaves in a text; a string of JSON can have it only as an escape."""

JOINED = "If files were joined, pass them as they were, from a folder; write rows on a line each, as jq -c does."
"""The remedy for a second value after the first, where a file can hold many."""


class RepeatedKeyError(ValueError):
    """An object has a key twice."""


def object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or raise a RepeatedKeyError: Python would drop all values of a key but one."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


def json_fault(
    text: str, error: ValueError | RecursionError, line: int | None = None, if_second: str = JOINED
) -> tuple[str, str]:
    """Return what is wrong with a text that Python's parser refused, with a remedy, and where; `line` is its own.

    `if_second` is the remedy where a second value follows the first.
    """
    place = "" if line is None else f"line {line}"
    if isinstance(error, json.JSONDecodeError):
        found, remedy = _fault(text, error, if_second)
        return f"not JSON: {found}. {remedy}", f"line {error.lineno if line is None else line}, column {error.colno}"
    if isinstance(error, RepeatedKeyError):
        return repeated_key(str(error)), place
    if isinstance(error, RecursionError):
        return "nested too deeply to be read here.", place
    # Python refuses to read integers of thousands of digits.
    return "an integer has too many digits to read. Write it as text, in quotes.", place


def repeated_key(key: str) -> str:
    """Return what is wrong with an object that has a key twice."""
    return f"an object has the key {key!r} twice, so one value would be lost. Remove one of them."


def _fault(text: str, error: json.JSONDecodeError, if_second: str) -> tuple[str, str]:
    """Return what is wrong with a text that is not JSON, and how to mend it."""
    found, rest = error.msg.removesuffix(" at"), text[error.pos :].lstrip()
    if found == CONTROL:
        return "a line break or other control character in a string", "Write it as an escape such as \\n."
    if not rest or found.startswith("Unterminated string"):
        return found, "Fix it there; if the text ends too early, it was truncated."
    before = text[: error.pos].rstrip()
    if found == NUL or rest.startswith("\0"):
        return NUL, "It is damaged: write or copy it again."
    if rest.startswith(("//", "/*", "#")):
        return "a comment", "JSON has none: remove all comments."
    if found == "Extra data" and rest.startswith(","):
        return "a comma after the value", "Remove it from each line, or put the values in one list: [..., ...]."
    if found == "Extra data" and rest.startswith(("{", "[")):
        return "a second value after the first", if_second
    if (before.endswith(",") and rest.startswith(("]", "}"))) or (rest.startswith(",") and _closes(rest[1:])):
        return "a comma before the closing bracket", "Remove it."
    if rest.startswith(("'", "None", "True", "False")):
        return "a value as Python prints it", "Write the file with json.dump instead of print or str."
    return found, "Fix it there."


def _closes(text: str) -> bool:
    return text.lstrip().startswith(("]", "}"))


# ---------------------------------------------------------------------------------------------------
# anls_eval/decoding.py
# Texts in bytes: UTF-8, or what a byte order mark says; the words for bytes that are neither, and for no texts.
# ---------------------------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

ZIP = b"PK\x03\x04"
"""How a zip file begins."""

_SKIPPABLE = [bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)]  # frames that pzstd writes before others

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"} | dict.fromkeys(_SKIPPABLE, "zstd")
"""How other compressed files begin."""

_ORDER_MARKS = {  # the longer ones first
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def marked_encoding(start: bytes) -> str | None:
    """Return the encoding that the byte order mark at the start names; None without one, and for UTF-8."""
    return next((name for mark, name in _ORDER_MARKS.items() if start.startswith(mark)), None)


_OTHERS = "another encoding, such as GBK, Big5, Shift-JIS, EUC-KR or Windows-1251"


def utf8_fault(data: bytes, error: UnicodeDecodeError, start: int) -> str:
    """Return what is wrong with bytes that are not UTF-8 from `start` on, its likely cause and a remedy."""
    if is_cut(error):
        guess = "It looks like the end of a file that was truncated inside a character. Download it again."
    elif not is_windows_1252(data):
        guess = f"It looks like damage, or like {_OTHERS}. Download it again, or save it as UTF-8."
    else:
        shown = data[max(0, start - 10) : start + 10].decode("cp1252", "replace")
        guess = f"In Windows-1252 and Latin-1, the text around it is {shown!r}; if that is wrong, it may be {_OTHERS}."
        guess += " Save it as UTF-8."
    return f"not UTF-8: the byte 0x{data[start]:02x} is not allowed here. {guess}"


def is_windows_1252(data: bytes) -> bool:
    """Return whether bytes can be a text in Windows-1252, which leaves five of them out."""
    return not _NOT_WINDOWS_1252.intersection(data)


_NOT_WINDOWS_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def is_cut(error: UnicodeDecodeError) -> bool:
    """Return whether bytes end inside a character."""
    return error.reason == "unexpected end of data"


_PICKLES = b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"
# By their first bytes, with the remedy.
_NOT_READ: dict[bytes | tuple[bytes, ...], str] = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls). Save it as .xlsx or CSV",
    b"%PDF": "a PDF",
    _PICKLES: "a Python pickle, which can run any code. Save it as JSON or CSV",
    b"FEA1": "a Feather file of version 1. Write it again with pyarrow.feather.write_feather",
    b"BZh": "compressed with bzip2. Unpack it, or use gzip or zstd",
    b"\xfd7zXZ": "compressed with xz. Unpack it, or use gzip or zstd",
    tuple(COMPRESSIONS): "compressed twice. Unpack it once",
    (b"\x89PNG", b"\xff\xd8\xff\xe0"): "an image",
    b"PK\x05\x06": "a zip file without files. Write it again",
    b"version https://git-lfs": "a pointer of Git LFS in place of the file. Fetch the file with `git lfs pull`",
    b"<<<<<<< ": "a text with the marks of a conflict, as git leaves them. Resolve the conflict",
    b"<": "HTML or XML, perhaps an error page instead of the file. Download it again",
}


def kind_not_read(start: bytes) -> str | None:
    """Return what a file is by its first bytes, with a remedy, if it is of a kind that is never read."""
    return next((kind for magic, kind in _NOT_READ.items() if start.startswith(magic)), None)


# ---------------------------------------------------------------------------------------------------
# anls_eval/limits.py
# What this process ran out of, in words: it is no fault of the file that was read.
# ---------------------------------------------------------------------------------------------------

_FILES = errno.EMFILE, errno.ENFILE
# What Python says where its own code in C had no memory; what Python and Arrow say of a thread, and the system of a
# library that does not fit, unless it adds a reason.
_LACKS = re.compile(
    "error return without exception set|"
    f"can't start new thread|{os.strerror(errno.EAGAIN)}|failed to map segment from shared object(?!: )"
    f"|{os.strerror(errno.ENOMEM)}"
)


class LimitError(Explained, MemoryError):
    """This process ran out of memory, threads or open files."""


def limit_error(error: BaseException) -> LimitError | None:
    """Return an error in words if this process ran out of memory, threads or open files; None for other errors."""
    if isinstance(error, LimitError):
        return error
    if isinstance(error, OSError) and error.errno in _FILES:
        return LimitError("this process has too many files open. Raise the limit (ulimit -n).")
    if isinstance(error, OSError):
        is_lack = error.errno == errno.ENOMEM
    elif isinstance(error, ValueError):  # whose words may quote a file
        is_lack = False
    else:
        is_lack = isinstance(error, MemoryError) or _LACKS.search(str(error)) is not None
    if not is_lack:
        return None
    return LimitError(
        "this process ran out of memory or threads. Give it more memory, or raise its limits (ulimit -v, ulimit -u)."
    )


def raise_limit(error: BaseException) -> None:
    """Raise a LimitError if this process ran out of memory, threads or open files."""
    found = limit_error(error)
    if found is not None:
        raise found from None


# ---------------------------------------------------------------------------------------------------
# anls_eval/opening.py
# Open a file to read it: at once, and only a regular one, whatever took its place since someone looked at it.
# ---------------------------------------------------------------------------------------------------

_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0)  # Windows has no FIFO among its files
_LEASE = 0.05  # seconds between two attempts while another process gives up its lease on a file


class NotRegularError(OSError):
    """A FIFO, a socket or a device, whose data can be read once, if it ever comes."""


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise an OSError unless there is a regular file."""
    if not os.fspath(path):  # which `Path` takes for the current folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    _check_mode(Path(path).stat().st_mode, path)


class Regular(io.FileIO):
    """A regular file, which always has data or ends; some of the kernel's only look like one."""

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer, or raise NotRegularError."""
        found: int | None = super().readinto(buffer)
        if found is None:  # no data yet
            raise _not_regular(self.name)
        return found

    def readall(self) -> bytes:
        """Read to the end, or raise NotRegularError."""
        found: bytes | None = super().readall()
        if found is None:
            raise _not_regular(self.name)
        return found


def _not_regular(name: str | int) -> NotRegularError:
    return NotRegularError(errno.EINVAL, "Not a regular file", name)


def open_regular(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a regular file, or raise an OSError: to open a FIFO waits for its writer, in Arrow deaf to any signal.

    Reads are as long as they are asked to be, also where the storage gives less at once.
    """
    check_regular(path)  # before: to open a device can change its state
    while True:
        try:
            stream = Regular(path, opener=_open)
        except BlockingIOError:  # Linux asks the holder of a lease, such as a Samba server, to give it up
            check_regular(path)
            time.sleep(_LEASE)
        else:
            break
    try:
        _check_mode(os.fstat(stream.fileno()).st_mode, path)
    except BaseException:
        stream.close()
        raise
    return io.BufferedReader(stream)


def opening_fault(error: OSError | ValueError) -> str:
    """Return why a file cannot be opened, with a remedy; raise LimitError where this process lacks something."""
    raise_limit(error)
    if isinstance(error, NotRegularError):
        return "not a regular file, which can be read twice. Save the data to a file first."
    if isinstance(error, IsADirectoryError):
        return "a folder; expected a file. Check the path."
    reason = error.strerror if isinstance(error, OSError) else error  # ValueError: a NUL in the path
    remedy = "Make it and its folders readable." if isinstance(error, PermissionError) else "Check the path."
    return f"cannot be opened: {reason}. {remedy}"


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | _WITHOUT_WAITING)


def _check_mode(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise _not_regular(os.fspath(path))


# ---------------------------------------------------------------------------------------------------
# anls_eval/settings.py
# Small files that people write to say how something is done: fields, and the options of a benchmark.
# ---------------------------------------------------------------------------------------------------

_MOST = 1 << 26  # bytes, far more than anybody writes


def read_settings(path: str | os.PathLike[str], option: str) -> str:
    """Return the text of a file that an option names: UTF-8, or UTF-16 or UTF-32 with a byte order mark."""
    name = os.fspath(path)
    if not name:
        raise AnlsError("an empty path; expected a file", option=option, value=name)
    try:
        with open_regular(name) as stream:
            data = stream.read(_MOST + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise AnlsError(opening_fault(error), where=name) from None
    if len(data) > _MOST:
        problem = f"over {_MOST:,} bytes, so it holds data rather than {option}. Check the path."
        raise AnlsError(problem, where=name)
    if data.startswith((ZIP, *COMPRESSIONS)):
        raise AnlsError("compressed. Unpack it, and pass the file in it.", where=name)
    kind = kind_not_read(data)
    if kind is not None:
        raise AnlsError(f"{kind}.", where=name)
    text = _decoded(data, name)
    if not text.strip():
        raise AnlsError("the file is empty.", where=name)
    before, nul, _ = text.partition("\0")
    if nul:
        line = before.count("\n") + 1
        raise AnlsError(f"{NUL}. It is damaged: write or copy it again.", where=f"{name}, line {line}")
    return text


def parse_settings(text: str, name: str, parse_float: Callable[[str], Any] = float) -> Any:
    """Return the value of a text of JSON with this name, in which no object has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=object_once, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        problem, place = json_fault(text, error, if_second="Remove one of them.")
        raise AnlsError(problem, where=", ".join(filter(None, (name, place)))) from None


def _decoded(data: bytes, name: str) -> str:
    encoding = marked_encoding(data[:4])
    try:
        return data.decode(encoding or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise AnlsError(f"not {encoding}: {error.reason}. Save it as UTF-8.", where=name) from None
        line = data.count(b"\n", 0, error.start) + 1
        place = f"line {line}, byte {error.start:,}"
        raise AnlsError(utf8_fault(data, error, error.start), where=f"{name}, {place}") from None


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/load.py
# Fields as people keep them: files of JSON or YAML, and pydantic models in modules.
# ---------------------------------------------------------------------------------------------------

# One of them is in every JSON Schema that says anything.
_SHAPES = ("type", "properties", "additionalProperties", "items", "prefixItems", "enum", "const", "x-anls")
_KEYWORDS = frozenset({*_SHAPES, "$schema", "$id", "$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf"})


def read_fields_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields, or the schema, in a file of JSON or YAML."""
    name = os.fspath(path)
    return parse_fields_text(read_settings(path, "fields"), name, is_yaml=name.lower().endswith((".yaml", ".yml")))


def parse_fields_text(text: str, name: str, *, is_yaml: bool = False) -> dict[str, Any]:
    """Return the fields, or the schema, in a text of JSON or YAML with this name."""
    content = _read_yaml(text, name) if is_yaml else parse_settings(text, name, parse_float=str)
    if not isinstance(content, dict):
        raise AnlsError("expected a dict: fields by their paths, or a JSON Schema", where=name)
    return content


def is_fields_dict(content: Mapping[str, Any]) -> bool:
    """Return whether a dict holds fields by their paths, not a schema; refuse what is neither."""
    others = [key for key in content if not (isinstance(key, str) and is_path(key))]
    if others and (len(others) < len(content) or not _KEYWORDS.intersection(content)):
        known = "a path of a field, such as $.total, nor do the keys together make a JSON Schema"
        raise AnlsError(f"the key {others[0]!r} is neither {known}")
    return not others


def _read_yaml(text: str, name: str) -> Any:
    try:
        import yaml
    except ImportError:
        problem = "pyyaml is missing, which reads YAML. Write the fields as JSON, or install it: pip install pyyaml"
        raise AnlsError(problem, where=name) from None
    try:
        _refuse_yaml_twice(yaml.compose(text, Loader=yaml.SafeLoader), name)
        return yaml.safe_load(text)
    except AnlsError:
        raise
    except yaml.YAMLError as error:
        mark, fault = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        name = f"{name}, line {mark.line + 1}, column {mark.column + 1}" if mark else name
        problem = f"not YAML: {fault or error}. Fix it there."
    except RecursionError:
        problem = "nested too deeply to be read here."
    except ValueError:
        problem = "a number has too many digits to read, or there is no such date. Write it as text, in quotes."
    raise AnlsError(problem, where=name)


def _refuse_yaml_twice(root: Any, name: str) -> None:
    """Refuse a key that a mapping of YAML has twice, which Python's reader would pass over."""
    nodes, seen = [root], set()
    for node in nodes:
        if node is None or id(node) in seen or isinstance(node.value, str):
            continue
        seen.add(id(node))
        if node.id == "sequence":
            nodes += node.value
            continue
        keys: dict[str, Any] = {}
        for key, value in node.value:
            if isinstance(key.value, str):
                _refuse_twice(key.value, keys, name)
                keys[key.value] = None
            nodes += [key, value]


def _refuse_twice(key: str, found: Mapping[str, Any], name: str) -> None:
    if key in found:
        raise AnlsError(repeated_key(key), where=name)


def names_a_model(text: str) -> bool:
    """Return whether a text has the form MODULE:Model."""
    module, colon, model = text.partition(":")
    return bool(colon) and all(map(str.isidentifier, [*module.split("."), *model.split(".")]))


def schema_of_model(text: str) -> Any:
    """Return the JSON Schema of the pydantic model MODULE:Model, found as ``python -m`` finds modules."""
    from pathlib import Path

    module_name, _, model_name = text.partition(":")
    try:
        here = str(Path.cwd())
    except FileNotFoundError:
        problem = "the working folder, in which modules are looked for, no longer exists. Change to one that does"
        raise AnlsError(problem, option="fields", value=text) from None
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module can raise anything, and end as a script does
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module_name}.".startswith(f"{error.name}."):
            problem = f"there is no module {error.name!r} in {here}, and none is installed"
        elif isinstance(error, SystemExit):
            problem = f"the module {module_name!r} ends Python as it is imported. Put what it runs under __main__"
        else:
            problem = f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}"
        raise AnlsError(problem, option="fields", value=text) from error
    finally:
        sys.path.remove(here)
    for name in model_name.split("."):
        if not hasattr(found, name):
            models = [key for key, value in vars(found).items() if hasattr(value, "model_json_schema")]
            known = f"; it has the models {', '.join(models)}" if models else ""
            raise AnlsError(f"{module_name!r} has no {name!r}{known}", option="fields", value=text)
        found = getattr(found, name)
    if not hasattr(found, "model_json_schema"):
        problem = f"{model_name!r} is not a model of pydantic 2: it has no model_json_schema()"
        raise AnlsError(problem, option="fields", value=text)
    try:
        return found.model_json_schema()
    except Exception as error:  # pydantic's, and those of the model's own methods
        raise AnlsError(f"its JSON Schema cannot be made: {error}", option="fields", value=text) from error


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/booleans.py
# Booleans in the words that documents have for them.
# ---------------------------------------------------------------------------------------------------

_BOOLEAN_WORDS = {"true": True, "yes": True, "y": True, "on": True, "1": True}
_BOOLEAN_WORDS |= {"false": False, "no": False, "n": False, "off": False, "0": False}


def parse_boolean(value: str | int | float) -> bool | None:
    """Return the boolean that a value is, or None if it is none."""
    if isinstance(value, str):
        return _BOOLEAN_WORDS.get(value.strip().lower())
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/dates.py
# Dates in documents, read as calendar days: "2026-05-14", "14/05/2026", "May 14, 2026".
#
# A date is an integer, YYYYMMDD, with zeros for a day, or a month and a day, that the text does not have: so dates of
# different precision differ. A text has one reading, or two where it can be read with the day or the month first.
#
# dateutil takes tens of microseconds for a text. The usual notations are read here, in the same way: first ISO 8601,
# then three numbers, then those with the name of a month. dateutil reads the rest.
# ---------------------------------------------------------------------------------------------------

DateReadings: TypeAlias = tuple[int, ...]

_CACHED_DATES = 200_000  # texts whose readings are remembered
_MAX_DATE_TEXT = 100  # characters: no date is longer

_ZONE = r"(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)"
_HOURS, _SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_ISO_TIME = (
    rf"[^0-9](?:24:00(?::00)?|{_HOURS}(?::{_SIXTY}(?::{_SIXTY}(?:[.,][0-9]+)?)?|{_SIXTY}(?:{_SIXTY}(?:[.,][0-9]+)?)?)?)"
)
_YEAR = "[1-9][0-9]{3}|[0-9]{2}"
_CLOCK = rf"(?:,?[ ]+(?:{_HOURS}|[0-9]):{_SIXTY}(?::{_SIXTY})?)?"

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "january"),
            ("feb", "february"),
            ("mar", "march"),
            ("apr", "april"),
            ("may",),
            ("jun", "june"),
            ("jul", "july"),
            ("aug", "august"),
            ("sep", "sept", "september"),
            ("oct", "october"),
            ("nov", "november"),
            ("dec", "december"),
        ),
        start=1,
    )
    for name in names
}
_MONTH = f"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_WEEKDAY = "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)"
_DAY, _FOUR = r"(?P<day>[0-9]{1,2})", "(?P<year>[1-9][0-9]{3})"


# Patterns are compiled when the first date is read: it takes as long as to score a thousand answers.


@functools.cache
def _iso() -> re.Pattern[str]:
    return re.compile(
        rf"""([0-9]{{4}})(?:-([0-9]{{2}}))?
        |(?:([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})|([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})
        |([0-9]{{4}})-W([0-9]{{2}})-([1-7])|([0-9]{{4}})W([0-9]{{2}})([1-7]))(?:{_ISO_TIME})?{_ZONE}?""",
        re.VERBOSE | re.ASCII,
    )


@functools.cache
def _numeric() -> re.Pattern[str]:
    return re.compile(rf"([1-9][0-9]{{3}}|[0-9]{{1,2}})([-/. ])([0-9]{{1,2}})\2({_YEAR}|[0-9]){_CLOCK}")


@functools.cache
def _with_month() -> list[re.Pattern[str]]:
    shapes = (
        rf"{_DAY}(?:st|nd|rd|th)?[ ]+(?:of[ ]+)?{_MONTH}\.?,?[ ]+{_FOUR}",  # 14 May 2026, 14th of May, 2026
        rf"{_DAY}(?P<sep>[-/]){_MONTH}(?P=sep)(?P<year>{_YEAR})",  # 14-May-2026, 14-May-26
        rf"{_MONTH}\.?[ ]+{_DAY}(?:st|nd|rd|th)?,?[ ]+{_FOUR}",  # May 14, 2026
        rf"{_MONTH}(?P<sep>[-/]){_DAY}(?P=sep){_FOUR}",  # May-14-2026
        rf"{_FOUR}(?P<sep>[-/ ]){_MONTH}(?P=sep){_DAY}",  # 2026-May-14
        rf"{_MONTH}(?:\.?,?[ ]+|-|/){_FOUR}",  # May 2026
        rf"{_FOUR}[ ]{_MONTH}",  # 2026 May
    )
    flags = re.IGNORECASE | re.ASCII
    return [re.compile(rf"(?:{_WEEKDAY},?[ ]+)?(?:{shape}){_CLOCK}", flags) for shape in shapes]


class DateReader:
    """Reads dates in formats of strptime and in any usual notation, and remembers texts.

    Args:
        day_first: Whether the day comes before the month where both are numbers; None takes both readings.
        formats: Formats of strptime, tried first.
    """

    def __init__(self, day_first: bool | None, formats: tuple[str, ...]) -> None:
        self.orders = (False, True) if day_first is None else (day_first,)
        self.formats = [(text, format_parts(text)) for text in formats]
        self.known: dict[str, DateReadings | None] = {}

    def parse(self, value: Any) -> DateReadings | None:
        """Return the one or two readings of a value, or None if it is no date."""
        if isinstance(value, str):
            if value not in self.known:
                if len(self.known) >= _CACHED_DATES:
                    self.known.clear()
                self.known[value] = self.parse_text(value.strip())
            return self.known[value]
        if type(value) is not int:
            return None
        if 1000 <= value <= 9999:
            return (value * 10000,)
        return _reading(value // 10000, value // 100 % 100, value % 100) if 10**7 <= value < 10**8 else None

    def parse_text(self, text: str) -> DateReadings | None:
        """Return the one or two readings of a text, or None if it is no date."""
        if len(text) > _MAX_DATE_TEXT:
            return None
        for pattern, parts in self.formats:
            try:
                day = datetime.datetime.strptime(text, pattern)
            except ValueError:
                continue
            return (day.year * 10000 + (day.month * 100 if parts > 1 else 0) + (day.day if parts > 2 else 0),)
        if not any(map(str.isdigit, text)):
            return None
        found = iso_reading(text)
        if found is None:
            found = usual_readings(text, self.orders)
        if found is None:
            found = _distinct([dateutil_reading(text, day_first) for day_first in self.orders])
        return found or None

    def parse_all(self, values: Sequence[Any]) -> list[DateReadings | None]:
        """Return the readings of the values of a column."""
        if set(map(type, values)) == {str}:
            found = {text: self.parse(text) for text in set(values)}
            return [found[text] for text in values]
        return list(map(self.parse, values))


def _reading(year: int, month: int, day: int) -> DateReadings | None:
    date = _date_number(year, month, day)
    return (date,) if date else None


def _date_number(year: int, month: int, day: int) -> int | None:
    """Return a date as an integer; None for a day that no calendar has."""
    try:
        datetime.date(year, month, day)
    except ValueError:
        return None
    return year * 10000 + month * 100 + day


def full_year(year: int) -> int:
    """Return the year of two digits: 00 to 68 are 20xx, 69 to 99 are 19xx, whatever the year is today."""
    return year + (2000 if year <= 68 else 1900)


def iso_reading(text: str) -> DateReadings | None:
    """Return the reading of a text in ISO 8601, without its time; None if it is none."""
    found = _iso().fullmatch(text)
    if not found:
        return None
    parts = [int(part) for part in found.groups() if part]
    if "W" in text[:6]:
        try:
            date = datetime.date.fromisocalendar(*parts)
        except ValueError:
            return None
        return _reading(date.year, date.month, date.day)
    year, month, day = (*parts, 0, 0)[:3]
    if len(parts) == 3:
        return _reading(year, month, day)
    return (year * 10000 + month * 100,) if year and (month == 0) == (len(parts) == 1) and month <= 12 else None


def numeric_reading(first: str, second: str, third: str, day_first: bool) -> int | None:
    """Return the date of three numbers as dateutil reads it."""
    a, b, c = int(first), int(second), int(third)
    if a > 31:
        year, month, day = (a, c, b) if day_first and c <= 12 else (a, b, c)
    elif a > 12 or (day_first and b <= 12):
        day, month, year = a, b, c
    else:
        month, day, year = a, b, c
    two_digits = len(first) < 4 and len(third) < 4
    return _date_number(full_year(year) if two_digits and year < 100 else year, month, day)


def usual_readings(text: str, orders: Sequence[bool]) -> DateReadings | None:
    """Return the readings of a date in one of the usual notations, none if no calendar has it; None for other texts."""
    if found := _numeric().fullmatch(text):
        return _distinct([numeric_reading(found[1], found[3], found[4], day_first) for day_first in orders])
    for pattern in _with_month():
        if found := pattern.fullmatch(text):
            return named_reading(found) or ()
    return None


def _distinct(readings: list[int | None]) -> DateReadings:
    return tuple(dict.fromkeys(reading for reading in readings if reading))


def named_reading(found: re.Match[str]) -> DateReadings | None:
    """Return the reading of a date with the name of a month."""
    parts = found.groupdict()
    month, year = _MONTHS[parts["month"].lower()], int(parts["year"])
    if "day" not in parts:
        return (year * 10000 + month * 100,)
    day = int(parts["day"])
    if len(parts["year"]) == 2:
        if day > 31:  # 99-Jan-01
            year, day = day, year
        year = full_year(year)
    return _reading(year, month, day)


@functools.cache
def _dateutil_parser() -> Any:
    """Return dateutil's parser, which reads years of two digits as we do."""
    try:
        from dateutil.parser import parser, parserinfo
    except ImportError:
        raise AnlsError(
            "python-dateutil is missing, which reads dates that are neither in ISO 8601 nor in another usual notation. "
            "Install it: pip install python-dateutil"
        ) from None

    def year_of(info: object, year: int, century_specified: bool = False) -> int:
        return year if century_specified or year >= 100 else full_year(year)

    return parser(type("ParserInfo", (parserinfo,), {"convertyear": year_of})())


_DEFAULTS = datetime.datetime(2000, 1, 1), datetime.datetime(2004, 3, 8)


def dateutil_reading(text: str, day_first: bool) -> int | None:
    """Return the date of a text by dateutil; None if it has none, or one of which parts would be filled in."""
    read = _dateutil_parser().parse
    try:
        one, other = (read(text, default=default, ignoretz=True, dayfirst=day_first) for default in _DEFAULTS)
    except (ValueError, OverflowError):
        return None
    if one.year != other.year or one.month != other.month:
        return None
    is_named = any(word.lower() in _MONTHS for word in re.findall("[A-Za-z]+", text))
    month = int(one.year) * 10000 + int(one.month) * 100
    if one.day != other.day:
        return month if is_named else None
    numbers = re.findall("[0-9]+", re.sub(r"[0-9]+:[0-9]+(?::[0-9.]+)?", " ", text))
    if not is_named and sum(3 if len(number) == 8 else 1 for number in numbers) < 3:
        return None
    return month + int(one.day)


def date_words(date: int) -> str:
    """Return a date in ISO 8601."""
    year, month, day = date // 10000, date // 100 % 100, date % 100
    return f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")


# ---------------------------------------------------------------------------------------------------
# anls_eval/arrow.py
# Arrow columns of texts: their types, conversions, and views of their buffers as NumPy arrays.
# ---------------------------------------------------------------------------------------------------

TEXTS = pa.large_string()

TEXT_LISTS = pa.large_list(TEXTS)

BYTES = pa.large_binary()  # UTF-8 that may hold lone surrogates, which Arrow's texts cannot

Floats = npt.NDArray[np.float64]


# Where pandas is installed, pyarrow imports it for `pa.array` of lists and NumPy arrays, `pa.scalar`, Python values
# given to compute functions, and `to_numpy`: 0.3 s and 40 MB for nothing. These functions use buffers instead, except
# for lists of texts where pandas has been imported anyway: `pa.array` takes two thirds of the time.


def text_array(texts: Sequence[str | Any]) -> pa.LargeStringArray:
    """Return texts as an Arrow array; TypeError if some are not texts, UnicodeEncodeError for lone surrogates."""
    if "pandas" in sys.modules:
        return _converted(texts, TEXTS)
    is_null = None
    try:
        data = _joined(texts)
    except TypeError:
        is_null = np.fromiter(map(operator.is_, texts, repeat(None)), bool, len(texts))
        texts = ["" if text is None else text for text in texts]
        data = _joined(texts)
    array = _split_texts(data, len(texts), is_null)
    return _bytes_array(list(map(str.encode, texts)), is_null).cast(TEXTS) if array is None else array


def text_list_array(lists: Sequence[Sequence[str | Any]]) -> pa.LargeListArray:
    """Return lists of texts as an Arrow array, with the errors of `text_array`."""
    if "pandas" in sys.modules:
        return _converted(lists, TEXT_LISTS)
    starts, texts = _list_starts(lists), None
    with contextlib.suppress(TypeError):
        texts = _split_texts(_joined(lists, _joined_lists), int(starts[-1]))
    if texts is None:
        texts = text_array(list(chain.from_iterable(lists)))
    return _in_lists(texts, starts)


def _converted(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values as pyarrow converts them, with the errors of `text_array`."""
    try:
        return pa.array(values, kind)
    except pa.ArrowInvalid as error:
        raise TypeError(str(error)) from None


def _joined(texts: Sequence[Any], join: Callable[[Any], str] = "\0".join) -> bytes:
    """Return the UTF-8 of texts with a null byte between them.

    A few at a time: ASCII is encoded by copying it, but one other character makes the text around it ten times slower.
    """
    few = 128
    return b"\0".join([join(texts[start : start + few]).encode() for start in range(0, len(texts), few)])


def _joined_lists(lists: Sequence[Sequence[Any]]) -> str:
    return "\0".join(map("\0".join, lists))


def _split_texts(data: bytes, n: int, is_null: npt.NDArray[np.bool_] | None = None) -> pa.LargeStringArray | None:
    """Return n texts from their UTF-8 with a null byte between them: None if some text holds a null byte, or n is 0."""
    # Finding the null bytes takes a tenth of the time that asking each text for its length does.
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 0)
    if len(ends) != n - 1:
        return None
    starts = np.zeros(n + 1, np.int64)
    starts[1:-1] = ends - np.arange(n - 1)
    starts[-1] = len(data) - (n - 1)
    buffers = [_validity(is_null), pa.py_buffer(starts), pa.py_buffer(data.translate(None, b"\0"))]
    return pa.Array.from_buffers(TEXTS, n, buffers)


def bytes_array(values: Sequence[bytes | None]) -> pa.LargeBinaryArray:
    """Return byte strings as an Arrow array."""
    is_null = np.fromiter(map(operator.is_, values, repeat(None)), bool, len(values))
    return _bytes_array([b"" if value is None else value for value in values], is_null)


def _bytes_array(values: Sequence[bytes], is_null: npt.NDArray[np.bool_] | None) -> pa.LargeBinaryArray:
    buffers = [_validity(is_null), pa.py_buffer(_list_starts(values)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(BYTES, len(values), buffers)


def bytes_list_array(lists: Sequence[Sequence[bytes | None]]) -> pa.LargeListArray:
    """Return lists of byte strings as an Arrow array."""
    return _in_lists(bytes_array(list(chain.from_iterable(lists))), _list_starts(lists))


def _in_lists(values: pa.Array, starts: npt.NDArray[np.int64]) -> pa.LargeListArray:
    """Return the values as lists that begin and end at these offsets."""
    buffers = [None, pa.py_buffer(starts)]
    return pa.Array.from_buffers(pa.large_list(values.type), len(starts) - 1, buffers, children=[values])


def join_arrays(arrays: Iterable[pa.Array]) -> pa.Array:
    """Return arrays of one type as one, without a copy where all but one are empty."""
    arrays = list(arrays)
    filled = [array for array in arrays if len(array)]
    return pa.concat_arrays(filled) if len(filled) > 1 else (filled or arrays)[0]


def number_array(values: npt.NDArray[Any], is_null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or booleans as an Arrow array of their type, without a copy of numbers."""
    data = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [_validity(is_null), pa.py_buffer(data)]
    )


def _list_starts(items: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the offsets at which items begin and end in what they are joined to."""
    starts = np.zeros(len(items) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=starts[1:])
    return starts


def _validity(is_null: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if is_null is None else pa.py_buffer(np.packbits(~is_null, bitorder="little"))


def as_bools(array: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """Return an Arrow array of booleans as a NumPy array; null is False."""
    if array.null_count:
        import pyarrow.compute as pc

        array = pc.and_kleene(array, array.is_valid())
    begin, end = array.offset, array.offset + len(array)
    data = np.frombuffer(array.buffers()[1] or b"", np.uint8)[begin // 8 : -(-end // 8)]
    return np.unpackbits(data, bitorder="little")[begin % 8 :][: len(array)].view(np.bool_)


def as_ints(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return an Arrow array of integers as a NumPy array; null is 0."""
    array = array.cast(pa.int64())
    values = np.frombuffer(array.buffers()[1] or b"", np.int64)[array.offset :][: len(array)]
    return np.where(as_bools(array.is_valid()), values, 0) if array.null_count else values


def as_floats(array: pa.DoubleArray) -> Floats:
    """Return an Arrow array of floats without null as a NumPy array, without a copy."""
    return np.frombuffer(array.buffers()[1] or b"", np.float64)[array.offset :][: len(array)]


def as_objects(texts: pa.Array) -> npt.NDArray[np.object_]:
    """Return an Arrow array of texts as a NumPy array of Python objects."""
    objects = np.empty(len(texts), dtype=object)
    objects[:] = texts.to_pylist()
    return objects


def text_starts(texts: pa.LargeStringArray | pa.LargeListArray) -> npt.NDArray[np.int64]:
    """Return the offsets at which the texts, or the lists, of a column begin and end, without a copy."""
    buffer = texts.buffers()[1] or bytes(8)  # an empty column may have none
    return np.frombuffer(buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]


def text_bytes(texts: pa.LargeStringArray) -> npt.NDArray[np.uint8]:
    """Return the UTF-8 bytes of all texts of a column, without a copy."""
    starts = text_starts(texts)
    return np.frombuffer(texts.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1]]


def has_no_gap(answers: pa.LargeListArray) -> bool:
    """Return whether no answer is null and no list of answers is null or empty."""
    return not (answers.null_count or answers.flatten().null_count) and bool(np.diff(text_starts(answers)).all())


def arrow_type(given: pa.DataType) -> pa.DataType | None:
    """Return the Arrow type in which texts or lists of texts are scored; None for other types."""
    if pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given):
        inner = arrow_type(given.value_type)
        return TEXT_LISTS if inner == TEXTS else None
    return TEXTS if is_text(given.value_type if pa.types.is_dictionary(given) else given) else None


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a type of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def as_array(block: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column of texts or lists of texts as one array, in the type in which it is scored."""
    wanted = block.cast(arrow_type(block.type))
    return wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted


def as_list(column: Any) -> list[Any]:
    """Return a column as a Python list."""
    return column if isinstance(column, list) else column.to_pylist()


def encode_texts(value: Any) -> Any:
    """Return texts, or lists of them, as UTF-8 that may hold lone surrogates."""
    if isinstance(value, list):
        return list(map(encode_texts, value))
    return None if value is None else value.encode("utf-8", "surrogatepass")


def decode_texts(column: pa.Array, kind: pa.DataType) -> Any:
    """Return stored bytes as an Arrow array of texts, or as a list if there are lone surrogates."""

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(text, value))
        return None if value is None else value.decode("utf-8", "surrogatepass")

    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return [text(value) for value in column.to_pylist()]


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/numbers.py
# Numbers in documents, read exactly: "1,299.00", "EUR 5", "(12)", 1e3.
#
# A number is a pair of integers (m, d), which stands for m / 10**d. d is the smallest that will do, so that equal
# numbers are equal pairs.
# ---------------------------------------------------------------------------------------------------

DecimalNumber: TypeAlias = tuple[int, int]

_MAX_NUMBER_DIGITS = 1000
_MAX_EXPONENT = 1000
_CACHED_NUMBERS = 200_000  # texts whose number is remembered
_MAX_PLACES = 18  # decimal places of a column that is compared in 64 bits
_FITS = 2**61
_SHORT_SCALE = 10_000  # of short numbers
_SHORT_LIMIT = 10**15  # of short numbers times their scale
MAX_SHORT_NUMERATOR = _FITS // _SHORT_LIMIT  # of a relative tolerance by which short numbers are compared
_SHORT = 300  # characters: no text of a number that is read by the fast path has more digits than are allowed

CURRENCY_CODES = frozenset(
    re.findall(
        "[A-Z]{3}",
        """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
    CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR
    LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK
    PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT
    TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU XBA XBB XBC XBD XCD XCG
    XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL
    ATS BEF CYP DEM EEK ESP FIM FRF GRD HRK IEP ITL LTL LUF LVL MTL NLG PTE SIT SKK
""",
    )
)
"""The codes of ISO 4217; the last line holds those that the euro replaced."""

_THREES = r"[1-9][0-9]{0,2}(?:S[0-9]{3})+"
_INDIAN = r"[1-9][0-9]?(?:S[0-9]{2})+S[0-9]{3}"
_BODY = re.compile(r"([0-9.,' _]*)(?:[eE]([+-]?[0-9]+))?")
_USUAL = re.compile(r"(-?)[$€£]?([0-9]{1,300}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,100})(?:\.([0-9]{0,300}))?(?: ?%)?")
_SHORT_INTEGER = r"\A-?[0-9]{1,11}\z"
_SHORT_DECIMAL = r"\A-?(?:[0-9]{1,11}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,2})(?:\.[0-9]{1,4})?\z"
_WORD = re.compile("[a-df-z]")  # small letters are in no number, except for an exponent
_USUAL_IN_EUROPE = re.compile(r"(-?)([0-9]{1,300}|[1-9][0-9]{0,2}(?:\.[0-9]{3}){1,100}),([0-9]{1,2})(?: ?[€%])?")


@functools.cache
def _grouped(separator: str) -> re.Pattern[str]:
    """Return the pattern of digits in groups, which is compiled when the first number with such groups is read."""
    return re.compile(f"{_THREES}|{_INDIAN}".replace("S", re.escape(separator)))


def parse_number_text(text: str, decimal: str = "auto") -> DecimalNumber | None:
    """Return the number that a text is, or None if it is none. This is the rule; `NumberReader` only makes it fast."""
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2019", "'").strip()
    taken: dict[str, str] = {}
    while True:
        around = _outermost(text)
        if around is None:
            break
        kind, mark, text = around
        if kind in taken:
            return None
        taken[kind] = mark
    number = _parse_body(text, decimal)
    if number is None:
        return None
    return (-number[0], number[1]) if taken.get("sign") in ("-", "(") else number


def _outermost(text: str) -> tuple[str, str, str] | None:
    """Return the kind of a mark at either end of a text, the mark, and the rest; None if there is none."""
    if text.startswith("(") and text.endswith(")"):
        return "sign", "(", text[1:-1].strip()
    for mark, rest in ((text[:1], text[1:]), (text[-1:], text[:-1]), (text[:3], text[3:]), (text[-3:], text[:-3])):
        if mark in ("+", "-"):
            kind = "sign"
        elif mark == "%":
            kind = "percent"
        elif mark in CURRENCY_CODES or (len(mark) == 1 and unicodedata.category(mark) == "Sc"):
            kind = "currency"
        else:
            continue
        return kind, mark, rest.strip()
    return None


def _parse_body(text: str, decimal: str) -> DecimalNumber | None:
    """Return the number in digits with a decimal mark, thousands separators and an exponent."""
    found = _BODY.fullmatch(text)
    if not found:
        return None
    digits, exponent = found[1], found[2] or "0"
    mark = decimal_mark(digits) if decimal == "auto" else decimal
    whole, _, rest = digits.partition(mark) if mark else (digits, "", "")
    if not re.fullmatch("[0-9]*", whole):
        separators = set(re.sub("[0-9]", "", whole))
        if len(separators) > 1 or not _grouped(separators.pop()).fullmatch(whole):
            return None
        whole = re.sub("[^0-9]", "", whole)
    if not re.fullmatch("[0-9]*", rest) or not 1 <= len(whole) + len(rest) <= _MAX_NUMBER_DIGITS:
        return None
    if len(exponent) > _MAX_NUMBER_DIGITS or abs(int(exponent)) > _MAX_EXPONENT:
        return None
    return shortest(int(whole + rest), len(rest) - int(exponent))


def decimal_mark(digits: str) -> str:
    """Return the decimal mark of a number whose notation is not known; empty if it has none."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        return max(".,", key=digits.rfind)
    if points == 1:
        return "."
    if commas == 1 and not _grouped(",").fullmatch(digits):
        return ","
    return ""


def shortest(m: int, d: int) -> DecimalNumber:
    """Return the pair of a number with the smallest d."""
    if d < 0:
        return m * 10**-d, 0
    while d and m % 10 == 0:
        m, d = m // 10, d - 1
    return m, d


class NumberReader:
    """Reads numbers with one convention for the decimal mark, and remembers texts."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.known: dict[str, DecimalNumber | None] = {}

    def parse(self, value: Any) -> DecimalNumber | None:
        """Return the number that a value is, or None if it is none."""
        if isinstance(value, str):
            return self.parse_text(value)
        if isinstance(value, (bool, np.bool_)):
            return None
        if type(value) is int and value.bit_length() < 3000:  # 903 digits
            return value, 0
        if type(value) is float:
            whole, _, rest = repr(value).partition(".")
            if rest.isdecimal():  # no exponent
                return (int(whole), 0) if rest == "0" else (int(whole + rest), len(rest))
        try:
            return parse_number_text(str(value), ".")
        except ValueError:  # Python refuses to write integers of thousands of digits
            return None

    def parse_text(self, text: str) -> DecimalNumber | None:
        """Return what `parse_number_text` does: plain decimals and thousands at once, others from memory."""
        if self.decimal != ",":
            whole, _, rest = text.partition(".")
            if (not rest or rest.isdigit()) and text.isascii() and len(text) < _SHORT:
                digits = whole if whole.isdigit() else _without_commas(whole)
                if digits:
                    rest = rest.rstrip("0")
                    return int(digits + rest), len(rest)
        if text not in self.known:
            if len(self.known) >= _CACHED_NUMBERS:
                self.known.clear()
            self.known[text] = self.read_text(text)
        return self.known[text]

    def read_text(self, text: str) -> DecimalNumber | None:
        """Return what `parse_number_text` does, the usual notations first."""
        found = self.decimal != "," and _USUAL.fullmatch(text)
        separator = ","
        if not found:
            found = self.decimal != "." and _USUAL_IN_EUROPE.fullmatch(text)
            separator = "."
        if not found:
            return None if _WORD.search(text) else parse_number_text(text, self.decimal)
        sign, whole, rest = found.groups("")
        rest = rest.rstrip("0")
        return int(sign + whole.replace(separator, "") + rest), len(rest)

    def parse_all(self, values: Sequence[Any]) -> list[DecimalNumber | None]:
        """Return the numbers that the values of a column are."""
        kinds = set(map(type, values))
        if kinds == {str}:
            return list(map(self.parse_text, values))
        if kinds and kinds <= {int, float}:
            return [number or self.parse(value) for number, value in zip(_short_decimals(values), values, strict=True)]
        return list(map(self.parse, values))

    def unparsed(self, values: Sequence[Any]) -> list[int]:
        """Return the indexes of the values that are no numbers."""
        rest = np.flatnonzero(~self.read_short(values).is_short).tolist()
        return [index for index in rest if self.parse(values[index]) is None]

    def read_short(self, values: Sequence[Any]) -> ShortNumbers:
        """Read those values of a column that are short numbers in the usual notation."""
        kinds = set(map(type, values))
        if kinds == {str}:
            with contextlib.suppress(UnicodeEncodeError):  # lone surrogates, which Arrow cannot hold
                return _read_short_texts(text_array(values), self.decimal)
        nothing = np.zeros(len(values), np.bool_)
        if kinds <= {int, float}:
            return ShortNumbers(*_scaled_numbers(values), nothing)
        return ShortNumbers(np.zeros(len(values), np.int64), nothing, nothing)


def _without_commas(whole: str) -> str:
    """Return the digits of an integer with commas before groups of three; empty for other texts."""
    digits = whole.replace(",", "")
    commas = len(whole) - len(digits)
    is_grouped = 0 < len(whole) - 4 * commas < 4 and whole[-4::-4] == "," * commas and whole[0] != "0"
    return digits if is_grouped and digits.isdigit() else ""


class ShortNumbers(NamedTuple):
    """The numbers of a column that have at most 15 digits, four of them behind the decimal mark."""

    scaled: npt.NDArray[np.int64]  # times 10,000; 0 for other values
    is_short: npt.NDArray[np.bool_]
    is_none: npt.NDArray[np.bool_]  # what is known to be no number


def _read_short_texts(texts: pa.LargeStringArray, decimal: str) -> ShortNumbers:
    import pyarrow.compute as pc

    pattern = _SHORT_INTEGER if decimal == "," else _SHORT_DECIMAL
    is_short = as_bools(pc.match_substring_regex(texts, pattern))
    digits = pc.replace_substring(texts.filter(number_array(is_short)), ",", "")
    scaled = np.zeros(len(texts), np.int64)
    # Exact: no two decimals of 15 digits have the same nearest float.
    scaled[is_short] = np.rint(as_floats(digits.cast(pa.float64())) * _SHORT_SCALE)
    return ShortNumbers(scaled, is_short, as_bools(pc.match_substring_regex(texts, _WORD.pattern)))


def _scaled_numbers(values: Sequence[float]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the short numbers times 10,000, and which ones they are."""
    # Of decimals of at most 15 digits, one at most is the nearest to a float, and it is the one that Python prints.
    try:
        floats = np.array(values, dtype=np.float64)
    except OverflowError:  # integers beyond any float
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(floats * _SHORT_SCALE)
        is_short = (scaled / _SHORT_SCALE == floats) & (np.abs(scaled) < _SHORT_LIMIT)
    return np.where(is_short, scaled, 0).astype(np.int64), is_short


def _short_decimals(values: Sequence[float]) -> list[DecimalNumber | None]:
    """Return the short numbers, and None for others."""
    m, is_short = _scaled_numbers(values)
    d = np.full(len(m), 4)
    for _ in range(4):
        is_longer = m % 10 == 0
        m, d = np.where(is_longer, m // 10, m), d - is_longer
    numbers = zip(m.tolist(), d.tolist(), strict=True)
    return [number if short else None for number, short in zip(numbers, is_short.tolist(), strict=True)]


def number_matches(prediction: DecimalNumber, reference: DecimalNumber, absolute: Fraction, relative: Fraction) -> bool:
    """Return whether a number is within the tolerance of a reference: |p - r| <= max(absolute, relative |r|)."""
    (p, p_places), (r, r_places) = prediction, reference
    places = max(p_places, r_places)
    r *= 10 ** (places - r_places)
    distance = abs(p * 10 ** (places - p_places) - r)
    return bool(
        distance * absolute.denominator <= absolute.numerator * 10**places
        or distance * relative.denominator <= relative.numerator * abs(r)
    )


def short_matches(
    references: npt.NDArray[np.int64], predictions: npt.NDArray[np.int64], absolute: Fraction, relative: Fraction
) -> npt.NDArray[np.bool_]:
    """Return whether each short number is within the tolerance of its reference."""
    found: npt.NDArray[np.bool_] = np.abs(references - predictions) <= _tolerances(references, 4, absolute, relative)
    return found


def number_matrix(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> npt.NDArray[np.bool_]:
    """Return whether each prediction (column) is within the tolerance of each reference (row)."""
    scaled = _scaled(references, predictions, absolute, relative)
    if scaled:
        r, p, tolerances, is_number = scaled
        found: npt.NDArray[np.bool_] = np.abs(np.subtract.outer(r, p)) <= tolerances[:, None]
        return found & is_number
    are_huge = np.array([p is not None and abs(p[0]) >= _HUGE for p in predictions], dtype=np.bool_)
    if are_huge.any() and not are_huge.all():  # few, such as "1459e81" for "1459.81": apart from the others
        apart = np.empty((len(references), len(predictions)), dtype=np.bool_)
        for columns in (np.flatnonzero(are_huge), np.flatnonzero(~are_huge)):
            part = [predictions[column] for column in columns.tolist()]
            apart[:, columns] = number_matrix(references, part, absolute, relative)
        return apart
    rows = [[p is not None and number_matches(p, r, absolute, relative) for p in predictions] for r in references]
    return np.array(rows, dtype=np.bool_).reshape(len(references), len(predictions))


def number_vector(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> npt.NDArray[np.bool_]:
    """Return whether each prediction is within the tolerance of its reference."""
    found = np.fromiter(map(operator.eq, references, predictions), np.bool_, len(references))
    if absolute or relative:
        unequal = np.flatnonzero(~found).tolist()
        pairs = [references[row] for row in unequal], [predictions[row] for row in unequal]
        found[unequal] = _within_tolerance(*pairs, absolute, relative)
    return found


def _within_tolerance(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> npt.NDArray[np.bool_]:
    scaled = _scaled(references, predictions, absolute, relative)
    if scaled:
        r, p, tolerances, is_number = scaled
        found: npt.NDArray[np.bool_] = (np.abs(r - p) <= tolerances) & is_number
        return found
    pairs = zip(predictions, references, strict=True)
    return np.array([p is not None and number_matches(p, r, absolute, relative) for p, r in pairs], dtype=np.bool_)


_HUGE = 10**12

_Scaled: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]


def _scaled(
    references: Sequence[DecimalNumber],
    predictions: Sequence[DecimalNumber | None],
    absolute: Fraction,
    relative: Fraction,
) -> _Scaled | None:
    """Return references, predictions and tolerances as integers of one scale; None if they do not fit into 64 bits."""
    values = [*references, *[(0, 0) if number is None else number for number in predictions]]
    if not values:
        return None
    try:
        ms, ds = np.array(values, dtype=np.int64).T
    except OverflowError:
        return None
    places, largest = int(ds.max()), max(1, int(ms.max()), -int(ms.min()))
    # A sum of two of these, and a product with the numerator, must not overflow.
    if places > _MAX_PLACES or largest * max(1, relative.numerator) * 10**places >= _FITS:
        return None
    scaled = ms * 10 ** (places - ds)
    r, p = scaled[: len(references)], scaled[len(references) :]
    return (
        r,
        p,
        _tolerances(r, places, absolute, relative),
        np.array([number is not None for number in predictions], dtype=np.bool_),
    )


def _tolerances(
    references: npt.NDArray[np.int64], places: int, absolute: Fraction, relative: Fraction
) -> npt.NDArray[np.int64]:
    """Return the tolerances of numbers times 10**places."""
    # Distances are integers, so that the floor of a tolerance decides as the tolerance does.
    least = np.int64(min(2 * _FITS, math.floor(absolute * 10**places)))
    found: npt.NDArray[np.int64] = np.abs(references) * relative.numerator // min(_FITS, relative.denominator)
    return np.maximum(least, found)


def number_words(number: DecimalNumber) -> str:
    """Return a number as a decimal."""
    m, d = number
    digits = str(abs(m)).rjust(d + 1, "0")
    return ("-" if m < 0 else "") + (f"{digits[:-d]}.{digits[-d:]}" if d else digits)


# ---------------------------------------------------------------------------------------------------
# anls_eval/inputs/values.py
# Single values as people pass them: texts, numbers, missing values, lists of accepted answers.
# ---------------------------------------------------------------------------------------------------

Where = Callable[[int], str]  # names a row in a message

NOT_GIVEN = object()  # where None is a value


def is_missing_value(value: object) -> bool:
    """Return whether a value is None, NaN (missing text in pandas), NaT, NA or masked; an Enum counts by its value."""
    if type(value) is str:  # the usual case first, for speed
        return False
    while isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, numbers.Number):
        return bool(value != value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def to_text(value: object, where: str, expected: str) -> str | None:
    """Return the text of one prediction or answer; None if it is missing."""
    if type(value) is str:  # the usual case first, for speed
        return value
    if isinstance(value, str):
        return str.__str__(value)  # numpy and enum subclasses of str
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    if is_missing_value(value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return to_text(value.item(), where, expected)
    if isinstance(value, (numbers.Number, np.bool_)):
        return number_text(value, where)
    raise ValueError(f"{where} is {describe_value(value)}; expected {expected}.{_remedy(value)}")


def number_text(value: object, where: str) -> str:
    """Return the text of a number."""
    try:
        return str(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        raise ValueError(f"{where} is an integer with too many digits to write; pass it as text.") from None


def describe_value(value: object) -> str:
    """Describe a value for an error message: its type, and its items, keys or text."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        kinds = sorted({type(item).__name__ for item in value})
        return f"{type_with_article(value)} of {len(value)} {'/'.join(kinds) or 'items'}"
    if isinstance(value, Mapping):
        return f"{type_with_article(value)} with the keys [{', '.join(map(short_repr, list(value)[:8]))}]"
    return f"{type_with_article(value)}, {short_repr(value)}"


# What pandas, R and SQL write for a value that is missing.
_MISSING_TEXTS = frozenset({"", "null", "none", "na", "n/a", "<na>", "nan"})


def is_missing_text(text: str) -> bool:
    """Return whether a cell says that it has no value, where no other text can mean that."""
    return text.strip().casefold() in _MISSING_TEXTS


def type_with_article(value: object) -> str:
    """Return the name of a value's type with its article: ``a dict``, ``an int``."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in tuple('aeio') else 'a'} {name}"


def _remedy(value: object) -> str:
    if isinstance(value, (list, tuple, np.ndarray)) and len(value):
        if len(value) == 1 and isinstance(value[0], str):
            return f" Pass the string itself: {value[0]!r}."
        if all(isinstance(item, numbers.Integral) for item in value):
            return " Decode the token ids to text first, for example with tokenizer.batch_decode."
    if isinstance(value, bytes):
        return " It is not UTF-8: decode it first."
    if isinstance(value, Mapping):
        key = next((key for key in value if key in _ROLES), None)
        return f" Pass its {key!r} alone." if key else " To score documents, use the protocol anls_star."
    return ""


# Keys of rows, which documents do not have.
_ROLES = ("prediction", "prediction_text", "pred", "response", "answer", "answers", "text", "value", "label")


def to_answers(value: Any, where: str) -> list[str]:
    """Return the accepted answers of one question, from any layout that datasets use."""
    expected = "a list of strings, one string, or {'text': [...]}"
    if type(value) is list and value and operator.countOf(map(type, value), str) == len(value):
        return value  # the usual case first, for speed
    if isinstance(value, Mapping) and "text" in value:  # SQuAD
        value = value["text"]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        text = to_text(value, where, expected)
        value = [] if text is None else [text]
    if not value:
        raise ValueError(f"{where} is empty; expected {expected}. Add an answer or drop the question.")
    texts = [to_text(item, f"{where}[{index}]", "a string") for index, item in enumerate(value)]
    if None in texts:
        raise ValueError(f"{where}[{texts.index(None)}] is {value[texts.index(None)]!r}; expected a string. Remove it.")
    return cast(list[str], texts)


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/comparators.py
# Comparators: how the leaves of one field are parsed and compared, one by one and as columns.
# ---------------------------------------------------------------------------------------------------

Leaf: TypeAlias = str | int | float | bool
Parsed: TypeAlias = Any  # hashable; None for a value that does not parse
LeafSide: TypeAlias = Literal["prediction", "reference"]
Similarities: TypeAlias = npt.NDArray[np.float64]


class Comparator:
    """Parses and compares the leaves of one field.

    What `parse` returns is hashable, equal for values that are the same, and None for a value that does not parse. A
    prediction that does not parse is similar to nothing; a reference that does not parse is an error.
    """

    name = ""
    blank_is_none = False  # whether a blank reference counts as None, and a blank prediction beside it
    equal_is_right = True  # whether a prediction that is the same as its reference is similar to 1

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return what a leaf means, or None if it does not parse."""
        raise NotImplementedError

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return what the leaves of a column mean."""
        return [self.parse(value, side) for value in values]

    def unparsed(self, references: Sequence[Leaf]) -> list[int]:
        """Return the indexes of the references that do not parse."""
        return [index for index, parsed in enumerate(self.parse_all(references, "reference")) if parsed is None]

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return the similarity of two parsed leaves, from 0 to 1."""
        return float(prediction is not None and prediction == reference)

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return the similarities of all references (rows) with all predictions (columns)."""
        codes: dict[Parsed, int] = {}
        rows = [codes.setdefault(value, len(codes)) for value in references]
        columns = [-1 if value is None else codes.get(value, -1) for value in predictions]
        return np.equal.outer(np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)).astype(np.float64)

    def compared(self, references: Sequence[Leaf], predictions: Sequence[Leaf]) -> tuple[Similarities, list[int]]:
        """Return the similarities of two columns pair by pair, and the indexes of the references that do not parse."""
        parsed, others = self.parse_all(references, "reference"), self.parse_all(predictions, "prediction")
        if None not in parsed:
            return self.vector(parsed, others), []
        unparsed = [index for index, value in enumerate(parsed) if value is None]
        known = np.ones(len(parsed), dtype=np.bool_)
        known[unparsed] = False
        similarities = np.zeros(len(parsed))
        similarities[known] = self.vector(*(list(itertools.compress(own, known.tolist())) for own in (parsed, others)))
        return similarities, unparsed

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return the similarities of references and predictions pair by pair."""
        pairs = zip(predictions, references, strict=True)
        return np.array([self.similarity(prediction, reference) for prediction, reference in pairs], dtype=np.float64)

    def words(self, parsed: Parsed) -> str:
        """Return what a leaf means, in words for an explanation."""
        return str(parsed)


class ExactComparator(Comparator):
    """Texts that must be equal after the steps of the protocol, or after strip and collapse where case counts."""

    name = "exact"

    def __init__(self, case_sensitive: bool, prediction_steps: tuple[str, ...], answer_steps: tuple[str, ...]) -> None:
        plain = normaliser(("strip", "collapse"))
        self.equal_is_right = case_sensitive or prediction_steps == answer_steps
        self.steps: dict[str, Callable[[str], str]] = {
            "prediction": plain if case_sensitive else normaliser(prediction_steps),
            "reference": plain if case_sensitive else normaliser(answer_steps),
        }

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the normalised text of a leaf."""
        return self.steps[side](leaf_text(value))

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return the normalised texts of the leaves of a column."""
        return list(map(self.steps[side], map(leaf_text, values)))

    def unparsed(self, references: Sequence[Leaf]) -> list[int]:
        """Return nothing: every leaf has a text."""
        return []

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair that is equal, else 0."""
        return np.fromiter(map(operator.eq, references, predictions), np.float64, len(references))


class NumberComparator(Comparator):
    """Numbers, exact: right if abs(p - r) <= max(absolute, relative * abs(r))."""

    name = "number"
    blank_is_none = True

    def __init__(self, absolute: Fraction, relative: Fraction, decimal: str) -> None:
        self.absolute, self.relative = absolute, relative
        self.reader = NumberReader(decimal)

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the number that a leaf is, exactly."""
        return self.reader.parse(value)

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return the numbers that the leaves of a column are."""
        return self.reader.parse_all(values)

    def unparsed(self, references: Sequence[Leaf]) -> list[int]:
        """Return the indexes of the references that are no numbers."""
        return self.reader.unparsed(references)

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return 1 for numbers within the tolerance, else 0."""
        if prediction is None or prediction == reference:
            return float(prediction is not None)
        if not self.absolute and not self.relative:
            return 0.0
        return float(number_matches(prediction, reference, self.absolute, self.relative))

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair within the tolerance, else 0."""
        if not self.absolute and not self.relative:
            return super().matrix(references, predictions)
        return number_matrix(references, predictions, self.absolute, self.relative).astype(np.float64)

    def compared(self, references: Sequence[Leaf], predictions: Sequence[Leaf]) -> tuple[Similarities, list[int]]:
        """Return 1 for each pair within the tolerance, else 0, and the indexes of references that are no numbers."""
        if self.relative.numerator > MAX_SHORT_NUMERATOR:
            return super().compared(references, predictions)
        r, p = self.reader.read_short(references), self.reader.read_short(predictions)
        similarities = (r.is_short & p.is_short).astype(np.float64)
        similarities *= short_matches(r.scaled, p.scaled, self.absolute, self.relative)
        rest = np.flatnonzero(~(r.is_short & (p.is_short | p.is_none))).tolist()
        sides = ([own[row] for row in rest] for own in (references, predictions))
        similarities[rest], unparsed = super().compared(*sides)
        return similarities, [rest[index] for index in unparsed]

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair within the tolerance, else 0, pair by pair."""
        return number_vector(references, predictions, self.absolute, self.relative).astype(np.float64)

    def words(self, parsed: Parsed) -> str:
        """Return a number as a decimal."""
        return number_words(parsed)


class DateComparator(Comparator):
    """Calendar days, months and years; two texts are equal if any of their readings agree."""

    name = "date"
    blank_is_none = True

    def __init__(self, day_first: bool | None, formats: tuple[str, ...]) -> None:
        self.reader = DateReader(day_first, formats)

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the one or two readings of a date."""
        return self.reader.parse(value)

    def parse_all(self, values: Sequence[Leaf], side: LeafSide) -> list[Parsed]:
        """Return the readings of the dates of a column."""
        return self.reader.parse_all(values)

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return 1 if any readings agree, else 0."""
        return float(prediction is not None and (prediction[0] in reference or prediction[-1] in reference))

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair whose readings agree, else 0."""
        first, last = _readings(references)
        other_first, other_last = _readings(predictions)
        found = np.equal.outer(first, other_first) | np.equal.outer(first, other_last)
        found |= np.equal.outer(last, other_first)
        found |= np.equal.outer(last, other_last)
        return np.asarray(found, dtype=np.float64)

    def vector(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return 1 for each pair whose readings agree, else 0, pair by pair."""
        first, last = _readings(references)
        other_first, other_last = _readings(predictions)
        found = (first == other_first) | (first == other_last) | (last == other_first) | (last == other_last)
        return np.asarray(found, dtype=np.float64)

    def words(self, parsed: Parsed) -> str:
        """Return the readings of a date in ISO 8601."""
        return " or ".join(map(date_words, parsed))


def _readings(dates: Sequence[Parsed]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first and the last reading of each date; no date is -1, which no reference has."""
    none = (-1,)
    return (
        np.array([(date or none)[0] for date in dates], dtype=np.int64),
        np.array([(date or none)[-1] for date in dates], dtype=np.int64),
    )


class BooleanComparator(Comparator):
    """True or false in any of the usual words."""

    name = "boolean"
    blank_is_none = True

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the boolean that a leaf is."""
        return parse_boolean(value)

    def words(self, parsed: Parsed) -> str:
        """Return a boolean as JSON writes it."""
        return "true" if parsed else "false"


class FunctionComparator(Comparator):
    """A function of the prediction and the reference, as they were passed."""

    name = "function"
    equal_is_right = False

    def __init__(self, function: Callable[[Any, Any], float], path: str) -> None:
        self.function, self.path = function, path

    def parse(self, value: Leaf, side: LeafSide) -> Parsed:
        """Return the leaf with its type, so that 1 and true differ."""
        return type(value), value

    def similarity(self, prediction: Parsed, reference: Parsed) -> float:
        """Return what the function says; refuse all but a number from 0 to 1."""
        value = self.function(prediction[1], reference[1])
        if isinstance(value, (number_types.Real, np.bool_)) and 0 <= value <= 1:
            return float(value)
        raise AnlsError(
            f"the function returned {short_repr(value)} for the prediction {short_repr(prediction[1])} and the "
            f"reference {short_repr(reference[1])}; expected a number from 0 to 1",
            where=self.path,
        )

    def matrix(self, references: Sequence[Parsed], predictions: Sequence[Parsed]) -> Similarities:
        """Return what the function says of each pair; it is asked once for equal pairs."""
        rows, columns = dict.fromkeys(references), dict.fromkeys(predictions)
        known = {(column, row): self.similarity(column, row) for row in rows for column in columns}
        values = [[known[column, row] for column in predictions] for row in references]
        return np.array(values, dtype=np.float64).reshape(len(references), len(predictions))

    def words(self, parsed: Parsed) -> str:
        """Return the leaf as Python writes it."""
        return short_repr(parsed[1])


def leaf_text(value: Leaf) -> str:
    """Return the text of a leaf; true and false as JSON writes them."""
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else number_text(value, "a value")


def is_blank(value: object) -> bool:
    """Return whether a value is a text without any character but whitespace."""
    return isinstance(value, str) and not value.strip()


def unparsed_reference(value: object, comparator: str) -> str:
    """Return what is wrong with a reference that does not parse, and both ways out; the place goes in front of it."""
    return (
        f"{short_repr(value)} is not a {comparator}. Compare the field in another way, such as compare='text', or "
        "leave it out with compare='ignore'"
    )


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/rules.py
# `FieldRules`: fields resolved for one protocol, as a tree that is walked along with documents.
# ---------------------------------------------------------------------------------------------------

class FieldRules:
    """The rules of one place in a tree, and of the places below it.

    The rules of keys and elements below are ready: walking costs one look-up a step.
    """

    __slots__ = ("comparator", "elements", "ignore", "is_plain", "keep_order", "key", "keys", "other_keys", "weight")

    def __init__(
        self, weight: int, comparator: Comparator | None, ignore: bool, key: tuple[str, ...], keep_order: bool
    ) -> None:
        self.weight = weight  # of a leaf here, as an integer: times `Fields.scale`
        self.comparator = comparator  # None: the leaf of the protocol
        self.ignore = ignore
        self.key = key  # of a list here: the fields by which its elements belong together
        self.keep_order = keep_order  # of a list here
        self.keys: dict[str, FieldRules] = {}  # rules of the keys that are named at this place
        self.other_keys = self  # and of all other keys
        self.elements = self
        self.is_plain = True  # whether no path here or below changes anything

    def child(self, key: str) -> FieldRules:
        """Return the rules of a key of a dict here."""
        return self.keys.get(key, self.other_keys)

    def element(self) -> FieldRules:
        """Return the rules of the elements of a list here."""
        return self.elements


def resolve_fields(fields: Mapping[FieldPath, Field], protocol: Protocol, scale: int) -> FieldRules:
    """Return the rules of the whole tree under a protocol."""
    places = all_places(fields)
    comparators: dict[tuple[Any, ...], Comparator | None] = {}
    found: dict[FieldPath, FieldRules] = {}
    for place, options in resolved_options(fields, places).items():
        rules = found[place] = _rules_of(options, path_text(place), protocol, scale, comparators)
        below = {**options, **{option: FIELD_DEFAULTS[option] for option in LIST_OPTIONS}}
        # Where no path goes on, the same rules hold at every depth.
        rules.other_keys = rules.elements = _rules_of(below, path_text(place), protocol, scale, comparators)
        rules.is_plain, rules.elements.is_plain = options == FIELD_DEFAULTS, below == FIELD_DEFAULTS
        if place:
            _attach(found[place[:-1]], place[-1], rules)
    for place in reversed(found):
        if place and not found[place].is_plain:
            found[place[:-1]].is_plain = False
    return found[()]


def _attach(parent: FieldRules, step: Step, rules: FieldRules) -> None:
    if step is AnyStep.KEY:
        parent.other_keys = rules
    elif step is AnyStep.ELEMENT:
        parent.elements = rules
    else:
        parent.keys[str(step)] = rules


def all_places(fields: Mapping[FieldPath, Field]) -> list[FieldPath]:
    """Return the paths of all fields and those that lead to them, shorter ones first."""
    places: dict[FieldPath, None] = {(): None}
    for path in fields:
        while path not in places:
            places[path] = None
            path = path[:-1]
    return sorted(places, key=len)


def resolved_options(fields: Mapping[FieldPath, Field], places: list[FieldPath]) -> dict[FieldPath, dict[str, Any]]:
    """Return all options of each place: its own, those of the path above, and the defaults."""
    found: dict[FieldPath, dict[str, Any]] = {}
    for place in places:
        above = found[place[:-1]] if place else FIELD_DEFAULTS
        options = {**above, **{option: FIELD_DEFAULTS[option] for option in LIST_OPTIONS}}
        if place in fields:
            options |= fields[place].named()
        if place and above["compare"] == "ignore":
            options["compare"] = "ignore"
        found[place] = options
    return found


def _rules_of(
    options: dict[str, Any],
    path: str,
    protocol: Protocol,
    scale: int,
    comparators: dict[tuple[Any, ...], Comparator | None],
) -> FieldRules:
    compare = options["compare"]
    makers: dict[Any, tuple[Callable[..., Comparator], tuple[Any, ...]]] = {
        "exact": (ExactComparator, (options["case_sensitive"], protocol.prediction_steps, protocol.answer_steps)),
        "number": (NumberComparator, (options["absolute"], options["relative"], options["decimal"])),
        "date": (DateComparator, (options["day_first"], options["formats"])),
        "boolean": (BooleanComparator, ()),
    }
    comparator: Comparator | None = None
    if callable(compare):
        comparator = FunctionComparator(compare, path)
    elif compare not in ("text", "ignore"):
        make, arguments = makers[compare]
        known = make, *arguments
        if known not in comparators:
            comparators[known] = make(*arguments)
        comparator = comparators[known]
    return FieldRules(
        int(options["weight"] * scale), comparator, compare == "ignore", options["key"], options["order"] == "kept"
    )


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/schema.py
# JSON Schema (2020-12, as pydantic writes it) read as fields: types become comparators, ``x-anls`` holds options.
# ---------------------------------------------------------------------------------------------------

_MAX_PATHS = 100_000  # definitions that use one another several times multiply

_OPTIONS_KEYWORD = "x-anls"

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_FORMS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("properties", "patternProperties"), (Mapping, "a schema for each name")),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), (list, "a list of schemas")),
    **dict.fromkeys(("additionalProperties", "additionalItems"), ((Mapping, bool), "a schema")),
    "items": ((Mapping, bool, list), "a schema"),
}
"""What the keywords hold that are read here."""

_OWN = ("type", "properties", "items")
_SAYING = frozenset({*_OWN, "additionalProperties", "prefixItems", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"})


class _Place(NamedTuple):
    """A schema of one place in a document."""

    schema: Any
    path: FieldPath
    references: tuple[str, ...]  # the $refs that led here
    is_given: bool  # whether an x-anls above says how to compare


def fields_of_schema(root: object) -> dict[str, Field]:
    """Return the fields that a JSON Schema describes, by their paths; warn of parts that have no one type."""
    if not isinstance(root, Mapping):
        remedy = ". Pass its model_json_schema()" if hasattr(root, "model_json_schema") else ""
        raise AnlsError(f"expected a JSON Schema as a dict{remedy}", option="schema", value=root)
    found: dict[str, Field] = {}
    places = [_Place(root, (), (), False)]
    while places:
        if len(found) >= _MAX_PATHS:
            raise AnlsError(f"the schema describes more than {_MAX_PATHS:,} paths, which is the limit")
        place = _resolved(places.pop(), root)
        schema = place.schema
        if not isinstance(schema, Mapping):  # true, false: anything or nothing
            found.setdefault(path_text(place.path), Field())
            continue
        options = dict(_options_of(schema, place.path))
        if "compare" not in options and not place.is_given:
            options |= _compare_of(place, root)
        if options or place.path:
            found[path_text(place.path)] = as_field(options, path_text(place.path))
        is_given = place.is_given or "compare" in options
        below = _below(place, root)
        places += [_Place(part, (*place.path, step), place.references, is_given) for step, part in reversed(below)]
    return found


def _options_of(schema: Mapping[str, Any], path: FieldPath) -> Mapping[str, Any]:
    options = schema.get(_OPTIONS_KEYWORD, {})
    if not isinstance(options, Mapping):
        raise AnlsError(
            f"{_OPTIONS_KEYWORD} is {short_repr(options)}; expected options of a field", where=path_text(path)
        )
    return options


def _resolved(place: _Place, root: Mapping[str, Any]) -> _Place:
    """Return a place with the schema that its $ref, allOf, or the one type beside null leads to."""
    schema, references = place.schema, place.references
    while isinstance(schema, Mapping):
        _check_keywords(schema, place.path)
        if "$ref" in schema:
            name = schema["$ref"]
            if name in references:
                way = " -> ".join((*references[references.index(name) :], name))
                raise AnlsError(
                    f"the schema refers to itself: {way}. Describe the depth that the documents have, or write the "
                    "fields as paths",
                    where=path_text(place.path),
                )
            references = (*references, name)
            rest: Any = {key: value for key, value in schema.items() if key != "$ref"}
            schema = _merged(_target(name, root, place.path), rest)
        elif schema.get("allOf"):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                inner = _resolved(place._replace(schema=part, references=references), root)
                rest, references = _merged(inner.schema, rest), inner.references
            schema = rest
        else:
            ways = _alternatives_of(schema)
            if len(ways) != 1:
                break
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            schema = _merged(ways[0], rest)
    return place._replace(schema=schema, references=references)


def _merged(schema: Any, beside: Mapping[str, Any]) -> Any:
    """Return a schema with the keywords that stand beside the reference to it, where both hold."""
    if not isinstance(schema, Mapping):
        return beside or schema
    names, others = schema.get("properties", {}), beside.get("properties", {})
    shared = {name: _both(own, others[name]) for name, own in names.items() if name in others}
    merged = {**schema, **beside}
    if names and others:
        merged["properties"] = {**names, **others, **shared}
    if isinstance(schema.get("items"), Mapping) and isinstance(beside.get("items"), Mapping):
        merged["items"] = _both(schema["items"], beside["items"])
    return merged


def _both(schema: Any, beside: Any) -> Any:
    """Return a schema for what two schemas describe, of which the one beside the other is preferred."""
    return beside if schema == beside else {"allOf": [beside, schema]}


def _check_keywords(schema: Mapping[str, Any], path: FieldPath) -> None:
    """Refuse what is no JSON Schema, or is one inside something else, from which nothing would be read."""
    for keyword, (form, expected) in _FORMS.items():
        if keyword in schema and not isinstance(schema[keyword], form):
            problem = f"{keyword} is {short_repr(schema[keyword])}; expected {expected}"
            raise AnlsError(problem, where=path_text(path))
    for name in schema.get("properties", ()):
        if not isinstance(name, str):
            problem = f"properties has the name {name!r}; expected a text. In YAML, write no, on, yes, numbers and "
            raise AnlsError(f"{problem}dates in quotes", where=path_text(path))
    given = schema.get("type", [])
    for name in [given] if isinstance(given, str) or not isinstance(given, list) else given:
        if name not in _TYPES:
            problem = f"type is {short_repr(name)}; expected one of {', '.join(_TYPES)}"
            raise AnlsError(f"{problem}. If a schema is inside, pass that alone", where=path_text(path))


def _target(name: object, root: Mapping[str, Any], path: FieldPath) -> Any:
    """Return the schema that a $ref names."""
    found: Any = root
    if isinstance(name, str) and (name == "#" or name.startswith("#/")):
        for part in name.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and part in found:
                found = found[part]
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            else:
                break
        else:
            return found
    raise AnlsError(
        f"the schema has no {short_repr(name)}; expected a reference within it, such as '#/$defs/Invoice'",
        where=path_text(path),
    )


def _alternatives_of(schema: Mapping[str, Any]) -> list[Any]:
    """Return the alternatives of anyOf or oneOf but null, and those that only restrict what the schema says itself."""
    ways = schema.get("anyOf", schema.get("oneOf", []))
    if any(keyword in schema for keyword in _OWN):
        ways = [way for way in ways if not isinstance(way, Mapping) or any(key in way for key in _SAYING)]
    return [way for way in ways if not (isinstance(way, Mapping) and way.get("type") == "null")]


def _types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types of a schema but null."""
    types = schema.get("type", [])
    found = [types] if isinstance(types, str) else list(types)
    if not found:
        found = ["object"] if "properties" in schema else ["array"] if "items" in schema else []
    return [name for name in found if name != "null"]


def _compare_of(place: _Place, root: Mapping[str, Any]) -> dict[str, str]:
    """Return the comparator for the type of a schema; nothing for containers and plain texts."""
    kinds = _kinds_of(place, root)
    if len(kinds) > 1 and kinds <= {"number", "text"}:
        return {"compare": "number"}  # pydantic's Decimal is a number or a text
    is_one_of_several = len(_alternatives_of(place.schema)) > 1
    if len(kinds) > 1 or (is_one_of_several and kinds & {"object", "array"}):
        _warn(place.path, f"has several types ({', '.join(sorted(kinds))})")
        return {}
    typed = kinds - {"text", "object", "array"}
    return {"compare": typed.pop()} if typed else {}


def _kinds_of(place: _Place, root: Mapping[str, Any]) -> set[str]:
    """Return how values of a schema compare: the comparators of its types, or object and array."""
    place = _resolved(place, root)
    schema = place.schema
    if not isinstance(schema, Mapping):
        return set()
    if "enum" in schema or "const" in schema:
        return {"exact"}
    if ways := _alternatives_of(schema):
        return {kind for way in ways for kind in _kinds_of(place._replace(schema=way), root)}
    kinds = {"number": "number", "integer": "number", "boolean": "boolean", "object": "object", "array": "array"}
    text = "date" if schema.get("format") in ("date", "date-time") else "text"
    return {kinds.get(name, text) for name in _types_of(schema)}


def _below(place: _Place, root: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the schemas of keys and elements below a place, with the steps to them."""
    schema = place.schema
    if len(_alternatives_of(schema)) > 1:
        return []
    found: list[tuple[Any, Any]] = list(schema.get("properties", {}).items())
    if isinstance(schema.get("additionalProperties"), Mapping):
        found.append((AnyStep.KEY, schema["additionalProperties"]))
    if schema.get("patternProperties"):
        _warn(place.path, "has patternProperties, whose keys no path names")
    items, first = schema.get("items"), schema.get("prefixItems", [])
    if isinstance(items, list):  # before 2020-12
        items, first = schema.get("additionalItems"), items
    parts = [*first, *([items] if isinstance(items, Mapping) else [])]
    if not parts:
        return found
    kinds = [_kinds_of(place._replace(schema=part), root) for part in parts]
    is_one_kind = all(part == parts[0] for part in parts[1:]) or (
        all(kind == kinds[0] for kind in kinds) and not kinds[0] & {"object", "array"}
    )
    if is_one_kind:
        found.append((AnyStep.ELEMENT, parts[0]))
    else:
        _warn(place.path, "has prefixItems that differ")
    return found


def _warn(path: FieldPath, what: str) -> None:
    message = (
        f"the schema of {path_text(path)} {what}: it is compared as text. To say how, write {_OPTIONS_KEYWORD} there"
    )
    warnings.warn(message, UserWarning, stacklevel=5)


# ---------------------------------------------------------------------------------------------------
# anls_eval/fields/fields.py
# `Fields`: the fields of a tree by their paths.
# ---------------------------------------------------------------------------------------------------

_MAX_WEIGHT = 10**12  # as an integer: the sum of millions of them still fits into 64 bits


class Fields(Mapping[str, Field]):
    """How the parts of trees are compared and weighed, by their paths. It cannot be changed.

    A path is ``$``, then ``.key``, ``['key']``, ``.*`` (any key that is not named at this place) or ``[*]`` (any
    element of a list). Options are inherited by the paths below, except for `order` and `key` of a list; a longer path
    changes only the options that it names. ``compare="ignore"`` wins over every path below it.

    Args:
        fields: A `Field`, or a dict of its options, for each path.
        from_schema: Whether the paths come from a schema, which may name more than the documents have.

    The attribute `scale` is the integer by which all weights become integers, and `unit` the greatest of these.

    Raises:
        ValueError: A path or an option is wrong, a path is given twice, or a key field is ignored.

    Example:
        >>> from anls_eval import Field, Fields
        >>> Fields({"$.total": Field(compare="number"), "$['items'][*].sku": {"compare": "exact", "weight": 2}})
        Fields({'$.total': {'compare': 'number'}, '$.items[*].sku': {'compare': 'exact', 'weight': '2'}})
    """

    def __init__(self, fields: Mapping[str, Field | Mapping[str, object]], *, from_schema: bool = False) -> None:
        self._by_path = _parsed(fields)
        self._by_text = {path_text(path): field for path, field in self._by_path.items()}
        self.from_schema = from_schema
        weights = [field.named().get("weight", FIELD_DEFAULTS["weight"]) for field in self._by_path.values()]
        self.scale = math.lcm(1, *[weight.denominator for weight in weights])
        self.unit = int(max([FIELD_DEFAULTS["weight"], *weights]) * self.scale)
        if self.unit > _MAX_WEIGHT:
            problem = "the weights differ too much, or have too many digits, to be added exactly"
            raise AnlsError(problem)
        _check(self._by_path)
        self._rules: dict[Protocol, FieldRules] = {}

    @classmethod
    def from_json_schema(cls, schema: Mapping[str, object]) -> Fields:
        """Return the fields that a JSON Schema describes (2020-12, as pydantic's ``model_json_schema()`` writes it).

        Numbers and integers are compared as numbers, dates and times as dates, booleans as booleans, enum and const as
        exact texts, other texts as text. The keyword ``x-anls`` holds options of a `Field`.

        Args:
            schema: The schema, as a dict.

        Returns:
            The fields, with a path for each part of the schema.

        Raises:
            ValueError: A reference is circular or leads nowhere, or an option is wrong.

        Example:
            >>> from anls_eval import Fields
            >>> Fields.from_json_schema({"type": "object", "properties": {"total": {"type": "number"}}})
            Fields({'$.total': {'compare': 'number'}})
        """
        return cls(fields_of_schema(schema), from_schema=True)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Fields:
        """Return the fields in a file of JSON or YAML: a dict whose keys are all paths, or else a JSON Schema.

        Args:
            path: The file. YAML is told by its ending, .yaml or .yml.

        Returns:
            The fields.

        Raises:
            ValueError: The file cannot be read, or what it holds is wrong.
        """
        return fields_in(read_fields_file(path), str(path))

    def rules(self, protocol: Protocol) -> FieldRules:
        """Return the rules of the root of a tree under a protocol."""
        if protocol not in self._rules:
            self._rules[protocol] = resolve_fields(self._by_path, protocol, self.scale)
        return self._rules[protocol]

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Return the options of each path as JSON has them: decimals as text, functions by their name."""
        return {path: field.to_dict() for path, field in self._by_text.items()}

    def fingerprint(self) -> str:
        """Return what a signature records: the first 12 digits of the SHA-256 of the canonical JSON."""
        import hashlib

        text = json.dumps(self._canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def _canonical(self) -> dict[str, dict[str, object]]:
        """Return the options that differ from what holds without them, by path."""
        found = {}
        inherited = resolved_options({path: Field() for path in self._by_path}, all_places(self._by_path))
        given = resolved_options(self._by_path, all_places(self._by_path))
        for path, field in self._by_path.items():
            above = given[path[:-1]] if path else inherited[()]
            found[path_text(path)] = {
                option: option_as_json(value)
                for option, value in field.named().items()
                if value != (above[option] if option not in ("order", "key") else FIELD_DEFAULTS[option])
            }
        return found

    def __getitem__(self, path: str) -> Field:
        return self._by_text[path_text(parse_path(path))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_text)

    def __len__(self) -> int:
        return len(self._by_text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._by_text.items()))

    def __repr__(self) -> str:
        return f"Fields({self.to_dict()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_fields, (self._by_text, self.from_schema)


def _made_fields(fields: Mapping[str, Field], from_schema: bool) -> Fields:
    """Return fields that come from another process."""
    return Fields(fields, from_schema=from_schema)


def fields_in(content: Mapping[str, Any], name: str) -> Fields:
    """Return the fields that a dict with this name holds by their paths, or describes as a JSON Schema."""
    try:
        found = Fields(content) if is_fields_dict(content) else Fields.from_json_schema(content)
        if content and not found:
            raise AnlsError("it describes no field, so that nothing would be compared otherwise")
        return found
    except AnlsError as error:
        raise located(name, error) from None


def load_fields(text: str) -> Fields:
    """Return the fields that a command line names: a file, or a pydantic model as MODULE:Model."""
    from pathlib import Path

    if names_a_model(text) and not Path(text).exists():
        return Fields.from_json_schema(schema_of_model(text))
    return Fields.from_file(text)


FieldsLike: TypeAlias = Fields | Mapping[str, Field | Mapping[str, object]] | None
"""What is taken for fields: a `Fields`, or a dict with a `Field`, or a dict of its options, for each path."""


def as_fields(fields: FieldsLike) -> Fields | None:
    """Return fields from what is taken for them: a `Fields`, a dict of paths, or None."""
    if fields is None or isinstance(fields, Fields):
        return fields
    if isinstance(fields, Mapping):
        return Fields(fields, from_schema=getattr(fields, "from_schema", False))
    raise AnlsError("expected a Fields, or a dict with a Field for each path", option="fields", value=fields)


def _parsed(fields: Mapping[str, Field | Mapping[str, object]]) -> dict[FieldPath, Field]:
    """Return the fields by their parsed paths."""
    if not isinstance(fields, Mapping):
        raise AnlsError("expected a dict with a Field for each path", option="fields", value=fields)
    found: dict[FieldPath, Field] = {}
    for text, field in fields.items():
        path = parse_path(text)
        if path in found:
            raise AnlsError("the path is given twice; keep one", option="path", value=text)
        found[path] = as_field(field, text)
    return found


def _check(fields: Mapping[FieldPath, Field]) -> None:
    """Refuse options that nothing here or below has a use for, and keys that are ignored."""
    places = all_places(fields)
    options = resolved_options(fields, places)
    compared = {place: {options[place]["compare"]} for place in places}
    for place in reversed(places):
        if place:
            compared[place[:-1]] |= compared[place]
    for path, field in fields.items():
        is_unused = options[path]["compare"] == "ignore"  # by a path above, which wins
        for option in () if is_unused else field.named():
            if OWNED_OPTIONS.get(option, "") not in ("", *compared[path]):
                try:
                    check_owner(option, options[path]["compare"])
                except AnlsError as error:
                    raise located(path_text(path), error) from None
        for key in options[path]["key"]:
            if _compare_at(options, (*path, AnyStep.ELEMENT, key)) == "ignore":
                problem = f"the key field {key!r} is ignored: elements cannot be matched by it"
                raise AnlsError(problem, option="key", value=list(options[path]["key"]), where=path_text(path))


def _compare_at(options: Mapping[FieldPath, Mapping[str, Any]], path: FieldPath) -> Any:
    """Return how a place is compared, which need not have a path."""
    place: FieldPath = ()
    for step in path:
        ways: list[Step] = [step, AnyStep.KEY] if isinstance(step, str) else [step]
        found = [(*place, way) for way in ways if (*place, way) in options]
        if not found:
            break
        place = found[0]
    return options[place]["compare"]


# ---------------------------------------------------------------------------------------------------
# anls_eval/rules/table.py
# The protocols for texts and trees: one row for each.
# ---------------------------------------------------------------------------------------------------

def _row(name: str, steps: str, answer_steps: str | None = None, length: str = "compared", **rules: Any) -> Protocol:
    """Return a protocol whose two sides have the same steps and length unless given otherwise."""
    both = {"prediction_length": length, "answer_length": length}
    return Protocol(
        name=name,
        prediction_steps=tuple(steps.split()),
        answer_steps=tuple((steps if answer_steps is None else answer_steps).split()),
        **(both | rules),
    )


PROTOCOLS: Mapping[str, Protocol] = types.MappingProxyType({row.name: row for row in (
    _row(
        "standard", "strip lower collapse",
        source="The definition in the task descriptions, on normalised text; also the leaves of anls_star.",
    ),
    _row(
        "paper", "strip lower collapse", keep=">",
        source="Biten et al., ICCV 2019, equation 1, as printed: a distance ratio of exactly 0.5 gives 0.",
    ),
    _row(
        "rrc", "strip lower collapse", length="raw-upper",
        aliases=(
            "docvqa", "infographicvqa", "lmms_eval", "vlmevalkit", "unitxt", "evalscope", "qwen_vl", "internvl",
        ),
        leaderboards=("DocVQA", "InfographicVQA", "lmms-eval", "VLMEvalKit", "unitxt", "EvalScope"),
        source="The script at https://rrc.cvc.uab.es/?ch=17&com=downloads. It divides by the length of the raw "
        "strings, so whitespace around a wrong answer raises its score. VLMEvalKit reports 0 to 100. The alias "
        "evalscope is the formula alone: the protocol evalscope_docvqa first takes the answer out, as EvalScope does.",
    ),
    _row(
        "pypi_anls", "strip lower collapse", length="compared-upper", keep=">",
        leaderboards=("ChartQAPro (text answers)",), source="PyPI anls 0.0.2.",
    ),
    _row(
        "stvqa", "strip lower", aliases=("m4c", "mmf"), leaderboards=("ST-VQA in mmf", "M4C", "LLaVA"),
        source="mmf, STVQAANLSEvaluator. The original fails on two empty strings; here they give 1.",
    ),
    _row(
        "mpdocvqa", "strip lower", both_empty=0, zero_predictions=("none",),
        leaderboards=("MP-DocVQA", "lmms-eval multidocvqa"),
        source='The evaluator of MP-DocVQA: an empty prediction and "none" score 0, even if they are accepted answers.',
    ),
    _row(
        "pix2struct", "lower", keep=">", leaderboards=("Pix2Struct",),
        source="google-research/pix2struct, metrics.py. The original reports 0 to 100, so its last digit differs, and "
        "fails on two empty strings; here they give 1.",
    ),
    _row(
        "paligemma", "lower", keep=">", aliases=("big_vision",), leaderboards=("PaliGemma",),
        source="google-research/big_vision, the DocVQA evaluator.",
    ),
    _row(
        "molmo", "lower", length="raw", keep=">", leaderboards=("Molmo",),
        source="allenai/molmo. The original fails on two empty strings; here they give 1.",
    ),
    _row(
        "inspect_evals", "lower", length="raw", keep=">", leaderboards=("inspect_evals docvqa",),
        source="UKGovernmentBEIS/inspect_evals, docvqa.",
    ),
    _row(
        "idefics", "strip no-outer-dots lower", answer_steps="lower", keep=">", both_empty=0,
        leaderboards=("Idefics2", "Idefics3", "SmolVLM"),
        source="huggingface/smollm, DocVQAMetrics: an empty prediction scores 0.",
    ),
    _row(
        "florence2", "lower no-final-dot", keep=">", both_empty=0, leaderboards=("Florence-2 fine-tuning",),
        source="andimarafioti/florence2-finetuning, metrics.py: an empty prediction scores 0.",
    ),
    _row(
        "due", "upper", keep=">", leaderboards=("DUE benchmark", "DocOwl 1.5", "UReader"),
        source="The evaluator of the DUE benchmark, case-insensitive.",
    ),
    _row(
        "due_cased", "", keep=">", leaderboards=("DUE benchmark",),
        source="The evaluator of the DUE benchmark, case-sensitive.",
    ),
    _row(
        "mmpretrain", "strip lower collapse", prediction_length="raw-upper", answer_length="compared-upper",
        leaderboards=("mmpretrain",), source="open-mmlab/mmpretrain, anls.py.",
    ),
    _row(
        "mistral_evals", "strip lower collapse no-end-punctuation", threshold=0.0,
        leaderboards=("mistral-evals",), source="mistralai/mistral-evals, eval/metrics.py: no threshold.",
    ),
    _row(
        "longdocurl", "", length="raw-upper", keep=">", leaderboards=("LongDocURL", "anls_compute of MMLongBench-Doc"),
        source="mayubo2333/MMLongBench-Doc, eval/eval_score.py, anls_compute.",
    ),
    _row(
        "vlmevalkit_slidevqa", "lower", length="compared-upper", keep=">",
        leaderboards=("VLMEvalKit SlideVQA", "VLMEvalKit DUDE"), source="open-compass/VLMEvalKit, SlideVQA and DUDE.",
    ),
    _row(
        "lmms_slidevqa", "lower", answer_steps="no-newlines lower", keep=">", both_empty=0,
        leaderboards=("lmms-eval slidevqa",), source="EvolvingLMMs-Lab/lmms-eval, tasks/slidevqa/utils.py.",
    ),
    _row(
        "lmms_dude", "strip lower collapse", both_empty=0, leaderboards=("lmms-eval dude",),
        source="EvolvingLMMs-Lab/lmms-eval, tasks/dude/utils.py: an answer without any text never scores.",
    ),
    _row(
        "unthresholded", "", threshold=0.0,
        source="The mean similarity of the raw texts, as from torchmetrics' EditDistance.",
    ),
    _row(
        "anls_star", "strip lower collapse", tree="released", leaderboards=("ANLS* (anls_star on PyPI)",),
        source="anls_star 1.0.1, but if lists match in several ways, the score does not depend on their order.",
    ),
    _row(
        "anls_star_paper", "strip lower collapse", tree="paper",
        source="Peer et al., arXiv:2402.03848, equations 3 to 6: dict entries that are None are ignored, None matches "
        "only None, and a missing key counts its size.",
    ),
)})  # fmt: skip
"""Every protocol by its name. `get_protocol` also accepts the aliases."""

PROTOCOLS_BY_NAME_OR_ALIAS = {**PROTOCOLS, **{alias: row for row in PROTOCOLS.values() for alias in row.aliases}}


def name_key(name: object) -> str:
    """Return a name as the tables spell it: lower case with underscores; "" for what is not a text."""
    return re.sub(r"[\s-]", "_", name.lower()) if isinstance(name, str) else ""


# ---------------------------------------------------------------------------------------------------
# anls_eval/registry.py
# Protocols by name or alias, and signatures, which record every choice behind a score.
# ---------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from anls_eval.leaderboards.base import Leaderboard
    from anls_eval.leaderboards.benchmark import Benchmark

MISSING = ("error", "zero")

UNKNOWN = ("error", "ignore")

# Names and aliases. They stand here because leaderboards are imported when one is used, and are not part of anls.py.
LEADERBOARD_NAMES = (
    "dude", "mmlongbench", "mmlongbench_doc", "mmesgbench", "mmesgbench_documented", "ocrbench_v2", "ocrbench_v2_lmms",
    "icdar2026",
)  # fmt: skip
BENCHMARK_NAMES = (
    "donut_f1", "donut_ted", "cc_ocr_kie_f1", "cc_ocr_kie_acc", "lmms_cc_ocr_kie_f1", "lmms_cc_ocr_kie_acc",
    "cc_ocr_v2_kie", "cc_ocr_v2_kie_official", "cc_ocr_v2_qa", "cc_ocr_v2_qa_official", "chartqa_lmms",
    "chartqa_vlmevalkit", "chartqa_evalscope", "chartqapro", "chartqapro_vlmevalkit", "chartqapro_lmms",
    "longdocurl_full", "longdocurl_vlmevalkit", "evalscope_docvqa", "inspect_evals_docvqa",
    "inspect_evals_docvqa_first", "lmms_docvqa_reasoning", "idp_kie", "idp_vqa", "idp_vqa_pages", "idp_docvqa",
    "due_f1", "due_f1_cased", "due_mean_f1", "due_group_anls", "vrdu", "kieval_entity_f1", "kieval_aligned",
    "kieval_grouping_f1", "kieval_document_accuracy", "varex", "extractbench_value",
)  # fmt: skip


def get_protocol(protocol: str | Protocol) -> Protocol:
    """Return the protocol for texts or trees with this name or alias; a `Protocol` is returned unchanged.

    Args:
        protocol: A name in `PROTOCOLS` or an alias, in lower or upper case, or a `Protocol`.

    Raises:
        ValueError: The name is unknown, or it is that of a leaderboard, which needs more than texts; the message says
            what to use instead.

    Example:
        >>> get_protocol("docvqa").name
        'rrc'
    """
    if type(protocol) is str and protocol in PROTOCOLS_BY_NAME_OR_ALIAS:  # the usual case first, for speed
        return PROTOCOLS_BY_NAME_OR_ALIAS[protocol]
    if isinstance(protocol, Protocol):
        return protocol
    if type(protocol).__name__ == "Protocol" and dataclasses.is_dataclass(protocol):
        # Made by another copy of these rules: anls.py, which evaluate.load fetches, has its own class.
        options = [field.name for field in dataclasses.fields(Protocol) if field.init]
        return Protocol(**{option: getattr(protocol, option) for option in options})
    key = name_key(protocol)
    if key in LEADERBOARD_NAMES or key in BENCHMARK_NAMES:
        function = "leaderboard_scores" if key in LEADERBOARD_NAMES else "leaderboard_figures"
        raise ValueError(
            f"protocol {protocol!r} needs more than texts: score it with anls_eval.{function}, or files "
            f"with `anls score -p {key}`. Where anls_eval is not installed: 'pip install .' in a clone of the metric's "
            "repository"
        )
    if key not in PROTOCOLS_BY_NAME_OR_ALIAS:
        check_choice("protocol", protocol, tuple(PROTOCOLS_BY_NAME_OR_ALIAS))
    return PROTOCOLS_BY_NAME_OR_ALIAS[key]


def resolve_rules(
    protocol: str | Protocol, threshold: Threshold, of_trees: bool | None, extract: Extract = None
) -> Protocol:
    """Return a protocol for texts (False), trees (True) or either (None), with this threshold and these steps."""
    rules = get_protocol(protocol)
    if of_trees is not None and of_trees != bool(rules.tree):
        names = ", ".join(repr(name) for name, row in PROTOCOLS.items() if bool(row.tree) == of_trees)
        kinds, function = ("texts", "anls_score") if of_trees else ("trees", "anls_star_score")
        raise ValueError(f"protocol {rules.name!r} scores {kinds}: use it with {function}, or use one of {names}")
    if threshold is None and extract is None:
        return rules
    if type(protocol) is str and type(threshold) in _CACHED_TYPES and type(extract) in _CACHED_TYPES:
        return _changed_rules(protocol, threshold, extract)
    return rules.with_threshold(threshold).with_extract(extract)


_CACHED_TYPES = frozenset({types.NoneType, str, int, float, Fraction, Decimal})


@functools.lru_cache(maxsize=64, typed=True)  # typed: 0.1 and Fraction(0.1) are equal, but not as they are written
def _changed_rules(protocol: str, threshold: Threshold, extract: str | None) -> Protocol:
    """Return a protocol with another threshold or other steps of extraction, which takes long to make."""
    return get_protocol(protocol).with_threshold(threshold).with_extract(extract)


def find_board_name(protocol: object) -> str | None:
    """Return the name of a leaderboard or benchmark as the registry spells it; None for any other protocol."""
    key = name_key(protocol)
    return key if key in LEADERBOARD_NAMES or key in BENCHMARK_NAMES else None


def get_rules(
    protocol: Any, threshold: Threshold = None, extract: Extract = None
) -> Protocol | Leaderboard | Benchmark:
    """Return the rules for a name or an alias, or rules of any kind, with this threshold and these steps."""
    if isinstance(protocol, Rules):
        return cast("Protocol | Leaderboard | Benchmark", protocol).with_threshold(threshold).with_extract(extract)
    key = name_key(protocol)
    if find_board_name(protocol):
        # Imported here to keep the start light. Beside anls.py it may be missing: get_protocol then says where it is.
        with contextlib.suppress(ModuleNotFoundError):
            from anls_eval.leaderboards.table import BOARDS_BY_NAME_OR_ALIAS

            return BOARDS_BY_NAME_OR_ALIAS[key].with_threshold(threshold).with_extract(extract)
    elif isinstance(protocol, str) and key not in PROTOCOLS_BY_NAME_OR_ALIAS:
        check_choice("protocol", protocol, (*PROTOCOLS_BY_NAME_OR_ALIAS, *LEADERBOARD_NAMES, *BENCHMARK_NAMES))
    return get_protocol(protocol).with_threshold(threshold).with_extract(extract)


def read_fields(fields: FieldsLike, rules: Protocol | Leaderboard | Benchmark) -> Fields | None:
    """Return what is taken for fields, for rules that score trees."""
    found = as_fields(fields)
    if found is not None and not getattr(rules, "tree", ""):
        names = ", ".join(repr(name) for name, row in PROTOCOLS.items() if row.tree)
        problem = f"fields are parts of trees, which protocol {rules.name!r} does not score. Use one of {names}"
        raise AnlsError(problem)
    return found


def signature(
    protocol: str | Protocol | Leaderboard | Benchmark = "standard",
    threshold: Threshold = None,
    n: int | None = None,
    *,
    missing: Missing = "error",
    fields: FieldsLike = None,
    parse: Sequence[str] = (),
    extract: Extract = None,
    options: Mapping[str, object] | None = None,
) -> str:
    """Return the signature: one line that records every choice behind a score, to print beside it.

    Args:
        protocol: A name or alias of a protocol, leaderboards included, or a `Protocol`.
        threshold: Minimum similarity that counts. Defaults to the protocol's.
        n: The number of questions scored.
        missing: How questions without a prediction were treated: ``"error"`` or ``"zero"``.
        fields: How the parts of trees were compared. They are recorded by the first 12 digits of the SHA-256 of their
            canonical JSON, unless none changes anything.
        parse: The sides and columns of which texts that print lists and dicts were taken apart.
        extract: The steps that took the answer out of each prediction. Defaults to the protocol's.
        options: The options of a benchmark, as in `leaderboard_figures`. Their names are recorded, and those that hold
            for all questions by the first 12 digits of the SHA-256 of their canonical JSON.

    Returns:
        Fields ``key:value`` joined by ``|``. A ``*`` after the name of the protocol says that its rules were changed.
        ``unicode`` is the Unicode version by which this Python lower-cases text.

    Raises:
        ValueError: The protocol is unknown, the threshold is outside [0, 1], or `n` is not a number of questions.

    Example:
        >>> print(signature("rrc", n=5349).split("|version")[0])
        anls|protocol:rrc|pred:strip+lower+collapse|ref:strip+lower+collapse|length:raw-upper|keep:>=0.5|empty:1|special:-|substitution:1|aggregate:mean|missing:error|n:5349
    """
    rules = get_rules(protocol, threshold, extract)
    if n is not None and (isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 0 <= int(n) < 2**63):
        raise AnlsError("expected the number of questions, an integer of at least 0", option="n", value=n)
    found = read_fields(fields, rules)
    recorded = rules.signature_fields()
    if found is not None and isinstance(rules, Protocol) and not found.rules(rules).is_plain:
        recorded["fields"] = found.fingerprint()
    of_benchmark = rules.recorded_options(options)
    recorded |= {
        **({"options": of_benchmark} if of_benchmark else {}),
        "aggregate": rules.aggregate,
        **({"parse": "+".join(map(quoted_item, parse))} if parse else {}),
        "missing": check_choice("missing", missing, MISSING),
        "n": "-" if n is None else n,
        "version": __version__,
    }
    if isinstance(rules, Protocol):
        recorded["unicode"] = unicodedata.unidata_version
    if rules != PROTOCOLS.get(rules.name, rules):
        recorded["protocol"] = f"{rules.name}*"
    return "|".join(["anls", *(f"{key}:{value}" for key, value in recorded.items())])


@functools.lru_cache(maxsize=64)
def signature_of_one(rules: Protocol) -> str:
    """Return the signature of the score of one question, which every explanation of one holds."""
    return signature(rules, n=1)


def protocol_from_signature(text: str) -> Protocol:
    """Return the protocol recorded in a `signature`, threshold included, to compute a printed score again.

    Args:
        text: A line made by `signature` for a protocol for texts or trees.

    Raises:
        ValueError: The text is not a signature, or a field is missing.

    Example:
        >>> protocol_from_signature(signature("due", threshold=0.8)).threshold
        0.8
    """
    head, *pairs = text.strip().split("|") if isinstance(text, str) else [""]
    fields = dict(pair.split(":", 1) for pair in pairs if ":" in pair)
    absent = {"protocol", "pred", "ref", "length", "keep", "empty", "special", "substitution"} - fields.keys()
    if head != "anls" or absent:
        raise ValueError(f"not a signature: {short_repr(text)} lacks {', '.join(sorted(absent)) or 'the leading anls'}")
    lists = {key: () if fields[key] == "-" else tuple(fields[key].split("+")) for key in ("pred", "ref", "special")}
    name, lengths = fields["protocol"].removesuffix("*"), fields["length"].split("/")
    keep = ">=" if fields["keep"].startswith(">=") else fields["keep"][:1]
    try:
        threshold = parse_number(fields["keep"].removeprefix(keep))
        both_empty, substitution_cost = int(fields["empty"]), int(fields["substitution"])
    except ValueError:
        raise ValueError(
            f"not a signature: {short_repr(text)} has a keep, empty or substitution field without a number"
        ) from None
    rules = Protocol(
        name=name,
        prediction_steps=lists["pred"],
        answer_steps=lists["ref"],
        prediction_length=lengths[0],
        answer_length=lengths[-1],
        keep=keep,
        threshold=threshold,
        both_empty=both_empty,
        extract=tuple(fields["extract"].split("+")) if "extract" in fields else (),
        tree=fields.get("tree", ""),
        zero_predictions=tuple(
            "" if item == "''" else urllib.parse.unquote(item, errors="surrogatepass") for item in lists["special"]
        ),
        substitution_cost=substitution_cost,
    )
    known = PROTOCOLS.get(name, rules)
    return dataclasses.replace(rules, aliases=known.aliases, leaderboards=known.leaderboards, source=known.source)


# ---------------------------------------------------------------------------------------------------
# anls_eval/inputs/columns.py
# Columns as people pass them: lists, NumPy arrays, pandas Series, Arrow columns.
# ---------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------
# anls_eval/text/prepare.py
# Prepare columns of texts for comparison: in Arrow where text is ASCII, in Python where it is not.
# ---------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------
# anls_eval/text/similarity.py
# The similarity of one prediction and one answer: the formula, the threshold, the distance.
# ---------------------------------------------------------------------------------------------------

Numbers = Any  # an int or an int64 array: the formulas below are the same for both


def compute_similarity(distance: Numbers, length: Numbers, rules: Protocol) -> Any:
    """Return 1 - distance / length; a length of 0 means two empty strings."""
    if length.all() if isinstance(length, np.ndarray) else length:
        return 1 - distance / length
    empty = length == 0
    return 1 - distance / (length + empty) - empty * (1 - rules.both_empty)


def reaches_threshold(distance: Numbers, length: Numbers, rules: Protocol) -> Any:
    """Return whether the similarity reaches the threshold, compared in integers."""
    numerator, denominator = rules.exact_threshold.as_integer_ratio()
    if not isinstance(length, np.ndarray):
        length = length or 1
    else:
        length = np.maximum(length, 1)
        if denominator * int(length.max(initial=1)) >= 2**62:
            distance, length = distance.astype(object), length.astype(object)  # thresholds of very many digits
    have, need = (length - distance) * denominator, numerator * length
    return have > need if rules.keep == ">" else have >= need


def max_kept_distance(length: int, rules: Protocol) -> int:
    """Return the maximum distance that is kept for texts of this length: a search may give up beyond it."""
    exact = rules.exact_threshold
    return length * (exact.denominator - exact.numerator) // exact.denominator


def kept_similarity(distance: Numbers, length: Numbers, rules: Protocol) -> Any:
    """Return the similarity where the protocol keeps it, and 0 elsewhere."""
    return (
        compute_similarity(distance, length, rules) * reaches_threshold(distance, length, rules) + 0.0
    )  # + 0.0: never -0.0


def edit_costs(rules: Protocol) -> tuple[int, int, int]:
    """Return the costs of inserting, deleting and replacing; replacing never costs more than the other two."""
    return 1, 1, min(rules.substitution_cost, 2)


def measure_one(prediction: str | None, answers: Sequence[str], rules: Protocol) -> tuple[float, int, int, int]:
    """Return the score of one question, the index of its closest answer (-1: no prediction), distance and length."""
    if prediction is None:
        return 0.0, -1, 0, 0
    # As `compare_texts` and `compute_similarity`, whose calls would take a third of the time.
    prepare, costs = normaliser(rules.answer_steps), edit_costs(rules)
    left = normaliser(rules.prediction_steps)(prediction)
    left_length, right_text = len(LENGTHS[rules.prediction_length](prediction, left)), LENGTHS[rules.answer_length]
    best_similarity, best, best_distance, best_length = -math.inf, -1, 0, 0
    for index, answer in enumerate(answers):
        right = prepare(answer)
        distance = Levenshtein.distance(left, right, weights=costs)
        length = len(right_text(answer, right))
        length = left_length if length < left_length else length
        similarity = 1 - distance / length if length else float(rules.both_empty)
        if similarity > best_similarity:
            best_similarity, best, best_distance, best_length = similarity, index, distance, length
    is_kept = left not in rules.zero_predictions and reaches_threshold(best_distance, best_length, rules)
    return best_similarity if is_kept else 0.0, best, best_distance, best_length


def compare_leaves(left: str, right: str, rules: Protocol) -> tuple[int, int, bool]:
    """Return the distance of two leaves of trees after their steps, the length to divide by, and whether it counts."""
    longest = len(left) if len(left) > len(right) else len(right) or 1
    distance = 0 if left == right else Levenshtein.distance(left, right, weights=edit_costs(rules))
    return distance, longest, reaches_threshold(distance, longest, rules)


def compare_texts(prediction: str, left: str, answer: str, rules: Protocol) -> tuple[int, int]:
    """Return the distance of a prediction, raw and after its steps, to an answer, and the length to divide it by."""
    right = apply_steps(rules.answer_steps, answer)
    sides = LENGTHS[rules.prediction_length](prediction, left), LENGTHS[rules.answer_length](answer, right)
    return Levenshtein.distance(left, right, weights=edit_costs(rules)), max(map(len, sides))


# ---------------------------------------------------------------------------------------------------
# anls_eval/text/measure.py
# Measure columns of texts. Whatever needs a distance reads `Measured` and measures nothing itself.
# ---------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/ratios.py
# The value of a pair of nodes (a sum of similarities and a length), and the canonical choice among several.
# ---------------------------------------------------------------------------------------------------

Value = tuple[float, int]  # of a pair of nodes: the sum s of the similarities, and the length l, both with weights

TIE = 1e-9  # sums of ratios that differ by less are equal

NOISE = 1e-12  # what rounding can add to such a sum

Matrix = npt.NDArray[Any]


def ratio_of(value: Value) -> float:
    """Return s / l, or 1 where l is 0."""
    return value[0] / value[1] if value[1] else 1.0


def best_of(values: list[Value], preference: list[int] | None = None, unit: int = 1) -> int:
    """Return the index of the maximum ratio; of ties, by maximum s, then minimum l, then maximum preference."""
    if len(values) == 1:
        return 0
    ratios = list(map(ratio_of, values))
    top = max(ratios) - TIE
    tied = [index for index, ratio in enumerate(ratios) if ratio >= top]
    top_s = max(values[index][0] for index in tied) - TIE * unit
    tied = [index for index in tied if values[index][0] >= top_s]
    best = min(tied, key=lambda index: (values[index][1], -values[index][0]))
    if preference:
        best = max((index for index in tied if values[index] == values[best]), key=lambda index: preference[index])
    return best


def best_of_each(
    s: Matrix, lengths: Matrix, allowed: Matrix | bool, preference: Matrix | None, unit: int = 1
) -> Matrix:
    """Apply `best_of` along the first axis, to the allowed values."""
    ratios = np.where(allowed, ratios_of(s, lengths), -1)
    tied = ratios >= ratios.max(axis=0) - TIE
    tied &= s >= np.where(tied, s, -1).max(axis=0) - TIE * unit
    tied &= lengths == np.where(tied, lengths, np.iinfo(np.int64).max).min(axis=0)
    value = np.where(tied, s, -1)
    if preference is not None:
        value = np.where(value >= value.max(axis=0) - NOISE * unit, preference, -1)
    return cast(Matrix, value.argmax(axis=0))


def ratios_of(s: Matrix, lengths: Matrix) -> Matrix:
    """Return s / l of every cell, or 1 where l is 0."""
    return np.divide(s, lengths, out=np.ones(s.shape), where=lengths > 0)


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/matching.py
# The best matching of two lists by the canonical rule.
# ---------------------------------------------------------------------------------------------------

Way = tuple[tuple[int, int], ...]  # pairs of indexes

_FEW_WAYS = 24  # up to this many, trying each way to match two lists is faster than an assignment

MATRIX_CELLS = 4_000_000  # approximate size of one matrix

MAX_PAIRS = 50_000_000  # of values of two lists: more would take over 2 GB and minutes to match


@functools.lru_cache(maxsize=64)
def ways_to_match(rows: int, columns: int) -> Sequence[Way]:
    """List every way to match so many rows and columns, as pairs of indexes; empty if there are too many."""
    if rows > columns:
        return [tuple(sorted((i, j) for j, i in way)) for way in ways_to_match(columns, rows)]
    if rows and (columns > _FEW_WAYS or math.perm(columns, rows) > _FEW_WAYS):
        return []
    return [tuple(enumerate(way)) for way in itertools.permutations(range(columns), rows)]


def best_way(
    ways: Sequence[Way],
    values: list[list[Value]],
    rows: Sequence[int],
    columns: Sequence[int],
    identities: Sequence[Sequence[int]] | None = None,
    unit: int = 1,
) -> tuple[Way, Value]:
    """Return the best of several ways to match by the canonical rule, and its value, given the values of all pairs."""
    # `rows` and `columns` hold sizes. Pairs whose `identities` are the same are preferred among ways that tie.
    if len(ways) > 1:
        ratios = [list(map(ratio_of, row)) for row in values]
        sums = [math.fsum([ratios[i][j] for i, j in way]) for way in ways]
        top = max(sums) - TIE
        ways = [way for way, ratio in zip(ways, sums, strict=True) if ratio >= top]
    totals = [total_of([(i, j, *values[i][j]) for i, j in way], rows, columns) for way in ways]
    equal = None
    if identities is not None:
        equal = [sum(identities[0][i] == identities[1][j] for i, j in way) for way in ways]
    best = best_of(totals, equal, unit)
    return ways[best], totals[best]


def total_of(matched: list[tuple[int, int, float, int]], rows: Sequence[int], columns: Sequence[int]) -> Value:
    """Return the value of two lists, given the sizes of their elements, and their matched pairs with their values."""
    length = sum([pair_length - rows[i] - columns[j] for i, j, _, pair_length in matched])
    return math.fsum([s for _, _, s, _ in matched]), length + sum(rows) + sum(columns)


def match_lists(
    s: Matrix,
    lengths: Matrix,
    rows: Matrix,
    columns: Matrix,
    equal: Matrix | None = None,
    rest: Value = (0, 0),
    unit: int = 1,
) -> list[tuple[int, int]]:
    """Match rows and columns by the canonical rule; return the pairs of indexes in the order of the rows."""
    # `s` and `lengths` hold the values of all pairs. `rows` and `columns` hold the sizes that unmatched ones add to the
    # length, and `rest` is what else adds to it in any case. Pairs that are `equal` are preferred among matchings that
    # tie in all else.
    uniform = len({*rows.tolist(), *columns.tolist()}) == 1 and lengths.min() == lengths.max()
    if uniform and equal is None:  # all matchings have one length, so the greatest s is the greatest sum of ratios
        return list(zip(*(side.tolist() for side in assign(s)), strict=True))
    ratios = ratios_of(s, lengths)
    if 1 in s.shape:
        all_lengths = lengths - np.add.outer(rows, columns) + rows.sum() + columns.sum() + rest[1]
        allowed = ratios.ravel() >= ratios.max() - TIE
        preferred = None if equal is None else equal.ravel()
        best = int(best_of_each(s.ravel(), all_lengths.ravel(), allowed, preferred, unit))
        return [divmod(best, s.shape[1])]

    # A square, in which unmatched rows or columns are paired with nothing.
    n = max(s.shape)
    if n * n > MATRIX_CELLS:
        i, j = _needed_lines(s, lengths, rows, columns, equal)
        if len(i) < len(rows) or len(j) < len(columns):
            cells = np.ix_(i, j)
            dropped = int(rows.sum() - rows[i].sum() + columns.sum() - columns[j].sum())
            kept_equal = None if equal is None else equal[cells]
            new_rest = rest[0], rest[1] + dropped
            matched = match_lists(s[cells], lengths[cells], rows[i], columns[j], kept_equal, new_rest, unit)
            return [(i[a], j[b]) for a, b in matched]
    if n * n > MAX_PAIRS:
        raise ValueError(
            f"a list of {len(rows):,} and one of {len(columns):,} different values need a table of more than "
            f"{MAX_PAIRS:,} cells, which is the limit: score parts of them"
        )
    square_s, square_ratios = np.zeros((2, n, n))
    square_lengths = np.zeros((n, n), dtype=np.int64)
    square_lengths[: len(rows)] = rows[:, None]
    square_lengths[:, : len(columns)] += columns if len(rows) < n else 0
    square_lengths[: len(rows)] = np.where(np.arange(n) < len(columns), 0, rows[:, None])
    inside = np.s_[: len(rows), : len(columns)]
    square_s[inside], square_ratios[inside], square_lengths[inside] = s, ratios, lengths

    preferred = None
    if equal is not None:
        preferred = np.zeros((n, n))
        preferred[inside] = equal
    square = square_s, square_ratios, square_lengths
    order = _best_order(*square, np.ones((n, n), dtype=bool), preferred, rest, uniform, unit)
    return [(i, j) for i, j in enumerate(order.tolist()) if i < len(rows) and j < len(columns)]


def match_allowed(
    s: Matrix, lengths: Matrix, rows: Matrix, columns: Matrix, allowed: Matrix, equal: Matrix | None, unit: int
) -> list[tuple[int, int]]:
    """Match rows and columns of which only some pairs are allowed, by the canonical rule over all partial matchings."""
    ratios = ratios_of(s, lengths)
    # Two that only have each other, and gain by it, belong together.
    alone = allowed & (allowed.sum(axis=1) == 1)[:, None] & (allowed.sum(axis=0) == 1) & (ratios > 0)
    fixed: list[tuple[int, int]] = [(int(i), int(j)) for i, j in np.argwhere(alone)]
    open_pairs = allowed & ~alone
    i, j = np.flatnonzero(open_pairs.any(axis=1)), np.flatnonzero(open_pairs.any(axis=0))
    if not len(i):
        return fixed
    left_out = int(rows.sum() - rows[i].sum() + columns.sum() - columns[j].sum())
    rest = float(s[alone].sum()), left_out + int((lengths - np.add.outer(rows, columns))[alone].sum())

    # A square in which each row and each column also has a partner of its own that stands for none.
    n = len(i) + len(j)
    if n * n > MAX_PAIRS:
        raise ValueError(
            f"{len(i):,} and {len(j):,} elements without a key of their own need a table of more than {MAX_PAIRS:,} "
            "cells, which is the limit: score parts of them"
        )
    square_s, square_ratios, preferred = np.zeros((3, n, n))
    square_lengths = np.zeros((n, n), dtype=np.int64)
    may = np.zeros((n, n), dtype=bool)
    cells, inside = np.ix_(i, j), np.s_[: len(i), : len(j)]
    square_s[inside], square_ratios[inside], square_lengths[inside] = s[cells], ratios[cells], lengths[cells]
    may[inside], may[len(i) :, len(j) :] = open_pairs[cells], True
    own_rows, own_columns = np.arange(len(i)), np.arange(len(j))
    square_lengths[own_rows, len(j) + own_rows], may[own_rows, len(j) + own_rows] = rows[i], True
    square_lengths[len(i) + own_columns, own_columns], may[len(i) + own_columns, own_columns] = columns[j], True
    if equal is not None:
        preferred[inside] = equal[cells]
    order = _best_order(square_s, square_ratios, square_lengths, may, preferred, rest, False, unit)
    matched = [(int(i[a]), int(j[b])) for a, b in enumerate(order.tolist()) if a < len(i) and b < len(j)]
    return sorted(fixed + matched)


def _best_order(
    s: Matrix,
    ratios: Matrix,
    lengths: Matrix,
    allowed: Matrix,
    preferred: Matrix | None,
    rest: Value,
    uniform: bool,
    unit: int,
) -> npt.NDArray[np.int64]:
    """Return the column of each row of a square, by the canonical rule."""
    n = len(s)
    order = _assign(ratios, allowed)
    allowed = _optimal(ratios, order, allowed, NOISE if uniform else TIE)
    if not uniform and np.count_nonzero(allowed) > n:
        # Dinkelbach's iteration for the maximum of s / l: maximise s - ratio * l until the ratio stops growing.
        all_rows = np.arange(n)
        ratio, grown = -1.0, _total_ratio(s[all_rows, order], lengths[all_rows, order], rest)
        while grown > ratio + 1e-12:
            ratio = grown
            objective = s - ratio * lengths
            order = _assign(objective, allowed)
            grown = _total_ratio(s[all_rows, order], lengths[all_rows, order], rest)
        allowed = _optimal(objective, order, allowed, TIE * unit, unit)
        objective = s if ratio > 0 else -lengths.astype(np.float64)
        order = _assign(objective, allowed)
        allowed = _optimal(objective, order, allowed, NOISE * unit, unit)
    return order if preferred is None else _assign(preferred, allowed)


def _needed_lines(
    s: Matrix, lengths: Matrix, rows: Matrix, columns: Matrix, equal: Matrix | None
) -> tuple[list[int], list[int]]:
    """Return the rows and columns that can be needed: of identical ones, no more than there are partners."""
    cells = [s, lengths] if equal is None else [s, lengths, equal]
    kept = []
    for axis, sizes in enumerate((rows, columns)):
        lines = np.column_stack([sizes, *(matrix.T if axis else matrix for matrix in cells)])
        indexes: dict[bytes, list[int]] = {}
        for index, line in enumerate(lines):
            identical = indexes.setdefault(line.tobytes(), [])
            if len(identical) < s.shape[1 - axis]:
                identical.append(index)
        kept.append(sorted(itertools.chain.from_iterable(indexes.values())))
    return kept[0], kept[1]


def _total_ratio(s: Matrix, lengths: Matrix, rest: Value) -> float:
    return ratio_of((math.fsum([*s.tolist(), rest[0]]), int(lengths.sum()) + rest[1]))


def assign(weights: Matrix) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return rows and the columns assigned to them, with the maximum sum of weights."""
    from scipy.optimize import linear_sum_assignment  # takes 0.3 s, and only matching long lists needs it

    rows, columns = linear_sum_assignment(weights, maximize=True)
    return rows, columns


def _assign(weights: Matrix, allowed: Matrix) -> npt.NDArray[np.int64]:
    """Return the column assigned to each row, with the maximum sum of allowed weights."""
    return assign(np.where(allowed, weights, -np.inf))[1]


def _optimal(weights: Matrix, order: npt.NDArray[np.int64], allowed: Matrix, tolerance: float, unit: int = 1) -> Matrix:
    """Find the pairs of all optimal assignments, given one: those whose reduced cost is 0 within the tolerance."""
    # The dual prices that make the given assignment tight are the shortest paths in its residual graph, found by the
    # Bellman-Ford iteration, which ends soon if few rows compete.
    costs = np.where(allowed, -weights, np.inf)[:, order]
    costs -= np.diagonal(costs)[:, None].copy()  # of giving a row the column of another instead of its own
    prices = np.zeros(len(order))
    for _ in range(len(order)):
        lower = np.minimum(prices, (prices[:, None] + costs).min(axis=0))
        if (prices - lower).max() < NOISE * unit / 10:
            break
        prices = lower
    tight = np.empty(costs.shape, dtype=bool)
    tight[:, order] = costs + prices[:, None] - prices <= tolerance
    return tight


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/leaves.py
# The similarities of many leaves, each beside each.
# ---------------------------------------------------------------------------------------------------

_CACHED_CELLS = 15_000  # of temporary matrices: small enough for memory that the process already has


def similarities_of_leaves(g: Sequence[str], p: Sequence[str], rules: Protocol) -> Matrix:
    """Return the similarity of each text of g to each of p, after their steps; each different text is compared once."""
    rows, columns = _numbered(g), _numbered(p)
    texts, others = list(rows), list(columns)
    s = np.empty((len(rows), len(columns)))
    sizes, other_sizes = np.array(list(map(len, texts))), np.array(list(map(len, others)))
    block, few = (max(1, cells // len(columns)) for cells in (MATRIX_CELLS, _CACHED_CELLS))
    for start in range(0, len(rows), block):
        distances = cdist(
            texts[start : start + block],
            others,
            scorer=Levenshtein.distance,
            scorer_kwargs={"weights": edit_costs(rules)},
            score_cutoff=max_kept_distance(max(map(len, (*texts, *others))), rules),
            dtype=np.int32,
        )
        for at in range(0, len(distances), few):
            part = distances[at : at + few].astype(np.int64)
            longest = np.maximum.outer(sizes[start + at : start + at + len(part)], other_sizes)
            s[start + at : start + at + len(part)] = kept_similarity(part, longest, rules)
    if len(rows) < len(g) or len(columns) < len(p):
        s = s[np.ix_([rows[text] for text in g], [columns[text] for text in p])]
    return s


def _numbered(values: Iterable[str]) -> dict[str, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/nodes.py
# Trees prepared for comparison: nodes with their kinds and sizes, alternatives, paths, and invalid values.
# ---------------------------------------------------------------------------------------------------

KINDS_OF_NODES = range(6)

NONE, LEAF, LIST, DICT, ONE_OF, KEPT = KINDS_OF_NODES  # KEPT: a list whose order counts, as a dict of indexes

KINDS: dict[type, int] = {
    types.NoneType: NONE,
    str: LEAF,
    int: LEAF,
    float: LEAF,
    bool: LEAF,
    list: LIST,
    dict: DICT,
    tuple: ONE_OF,
}

# Keys that were probably meant as "$one_of", and are ordinary ones.
LIKE_ONE_OF = frozenset({"$oneof", "$oneOf", "$OneOf", "$one-of", "$one of", "$one_Of", "$One_Of", "$ONE_OF"})

MARKERS = LIKE_ONE_OF | {"$one_of", "$literal"}  # keys of references that mean something, or seem to

SCALARS = frozenset({str, int, float, bool})

PLAIN_SCALARS = SCALARS | {types.NoneType}
_TEXT = frozenset({str})
_FEW_VALUES = 10_000
_MAX_VALUES = 10_000_000  # of one tree: no document has more, and lists that share elements reach it soon


class Node:
    """A node of a tree."""

    __slots__ = ("identity", "kind", "like_none", "missing", "positions", "rule", "size", "source", "value")

    def __init__(self, kind: int, value: Any, size: int, missing: Value, like_none: bool, source: Any) -> None:
        self.kind = kind
        self.value = value  # a normalised text, a list of nodes, or a dict of nodes by key
        self.size = size  # number of leaves, or with fields the sum of their weights: l_t in the paper
        self.missing = missing  # its value if the other side does not have the key
        self.like_none = like_none  # whether it matches None as a prediction
        self.source = source  # the object as passed
        self.identity = -1  # the same number for equal objects, if `identities` was passed
        self.rule: FieldRules | None = None  # how it is compared and weighed, with fields
        self.positions: list[int] | None = None  # where its children were, if they were put in canonical order


def one_of(*alternatives: Tree) -> tuple[Tree, ...]:
    """Return a reference that accepts any of the alternatives; the closest one counts. A tuple does the same.

    Args:
        *alternatives: At least one tree.

    Returns:
        The alternatives as a tuple.

    Raises:
        ValueError: If no alternative is given.

    Example:
        >>> from anls_eval import anls_star_score
        >>> anls_star_score({"total": "EUR 17.99"}, {"total": one_of("17.99", "EUR 17.99")})
        1.0
    """
    if not alternatives:
        raise ValueError("one_of() got no alternatives; expected at least one")
    return alternatives


class _Inner(NamedTuple):
    """The keys of a container, and the range of its children among all objects of the tree."""

    kind: int
    keys: list[str]
    start: int
    end: int


def build_tree(
    root: Any, side: str, rules: Protocol, identities: dict[Any, int] | None = None, rule: FieldRules | None = None
) -> Node:
    """Build the nodes of a tree without recursion; with `identities`, equal objects of both trees get one number."""
    # A reference without lists and alternatives leaves `identities` empty: what is equal is asked for only to match.
    released = rules.tree == "released"
    normalise = normaliser(rules.answer_steps if side == "reference" else rules.prediction_steps)
    prepare = normalise if rule is None else str  # with fields, only texts are normalised, once all rules are known
    objects = [root]
    nodes: list[Any] = []
    inner: dict[int, _Inner] = {}
    seen: set[int] | None = set()
    places = None if rule is None else [rule]  # of the objects
    for number, given in enumerate(objects):
        if type(given) is str:  # the usual case first, for speed
            nodes.append(Node(LEAF, prepare(given), 1, (0.0, 1), released and not given, given))
            continue
        value, kind = given, KINDS.get(type(given), -1)
        if kind < NONE or (kind == LEAF and value != value):  # NaN
            value = _convert(given, side, inner, number)
            kind = KINDS[type(value)]
        if kind == LEAF:
            try:
                text = str(value)
            except ValueError:  # Python refuses to convert integers of thousands of digits
                text = number_text(value, f"{side} {_path(inner, number)}")
            nodes.append(Node(LEAF, prepare(text), 1, (0.0, 1), released and value == "", given))
            continue
        if kind == DICT and side == "reference" and ("$one_of" in value or "$literal" in value):
            value = _alternatives(value, inner, number)
            kind = KINDS[type(value)]
        if kind == NONE:
            nodes.append(Node(NONE, None, 1, (float(released), 1), True, given))
            continue
        keys, children = _children(value, kind, side, inner, number, rules)
        if seen is not None and children:
            if id(given) in seen:  # used twice, which is fine, or part of itself
                check_sharing(root, side)
                seen = None
            else:
                seen.add(id(given))
        if places is not None:
            keys, children, below = _with_rules(keys, children, kind, places[number], rules)
            places += below
        inner[number] = _Inner(kind, keys, len(objects), len(objects) + len(children))
        objects.extend(children)
        nodes.append(None)
        _check_count(len(objects), side)
    if places is not None:
        _apply_to_leaves(nodes, places, inner, side, released, normalise)
    for number, (kind, keys, start, end) in reversed(inner.items()):
        nodes[number] = _container(kind, keys, nodes[start:end], objects[number], released)
        if places is not None:
            _apply_to_container(nodes[number], places[number], released)
    if identities is not None and (identities or rule or any(own.kind in (LIST, ONE_OF) for own in inner.values())):
        _identify(nodes, inner, identities)
        if places is not None:
            _put_in_order(nodes, inner)
    return cast(Node, nodes[0])


def _container(kind: int, keys: list[str], children: list[Node], source: Any, released: bool) -> Node:
    if kind == ONE_OF:
        size = max(child.size for child in children)
        missing = children[best_of([child.missing for child in children])].missing if released else (0.0, size)
        return Node(kind, children, size, missing, False, source)
    size = sum([child.size for child in children])
    value = dict(zip(keys, children, strict=True)) if kind == DICT else children
    return Node(kind, value, size, (0.0, max(1, size) if released else size), released and not children, source)


def _identify(nodes: list[Node], inner: dict[int, _Inner], identities: dict[Any, int]) -> None:
    for number in range(len(nodes) - 1, -1, -1):
        node = nodes[number]
        if number in inner:
            _, keys, start, end = inner[number]
            content: Any = tuple(keys), tuple(child.identity for child in nodes[start:end])
        else:
            leaf = plain_value(node.source)
            content = type(leaf), leaf
        node.identity = identities.setdefault((node.kind, content), len(identities))


# Nodes with fields.


def _with_rules(
    keys: list[str], children: Sequence[Any], kind: int, rule: FieldRules, rules: Protocol
) -> tuple[list[str], Sequence[Any], list[FieldRules]]:
    """Return the keys and children that are not ignored, with their rules."""
    if kind != DICT:
        below = rule if kind == ONE_OF else rule.element()
        children = [] if below.ignore else children
        return keys, children, [below] * len(children)
    kept = [(key, child, rule.child(key)) for key, child in zip(keys, children, strict=True)]
    kept = [(key, child, own) for key, child, own in kept if not own.ignore]
    if rules.tree == "paper":  # leaves out keys whose value counts as None
        kept = [(key, child, own) for key, child, own in kept if not (_may_be_none(own) and is_blank(child))]
    return [key for key, _, _ in kept], [child for _, child, _ in kept], [own for _, _, own in kept]


def _may_be_none(rule: FieldRules) -> bool:
    """Return whether a blank text here counts as None."""
    return rule.comparator is not None and rule.comparator.blank_is_none


def _apply_to_leaves(
    nodes: list[Any],
    places: list[FieldRules],
    inner: dict[int, _Inner],
    side: str,
    released: bool,
    normalise: Callable[[str], str],
) -> None:
    """Weigh and parse the leaves; refuse a reference that does not parse."""
    for number, node in enumerate(nodes):
        if node is None:
            continue
        rule = node.rule = places[number]
        comparator = rule.comparator
        node.size, node.missing = rule.weight, (node.missing[0] * rule.weight, rule.weight)
        if node.kind == NONE:
            continue
        if comparator is None:
            node.value = normalise(node.value)
            continue
        value = plain_value(node.source)
        if comparator.blank_is_none and is_blank(value):
            node.like_none = True
            if side == "reference":
                node.kind, node.value, node.missing = NONE, None, (float(released) * rule.weight, rule.weight)
                continue
        node.value = comparator.parse(value, "reference" if side == "reference" else "prediction")
        if node.value is None and side == "reference":
            problem = unparsed_reference(node.source, comparator.name)
            raise AnlsError(problem, where=f"{side} {_path(inner, number)}")


def _apply_to_container(node: Node, rule: FieldRules, released: bool) -> None:
    """Weigh a container, and index a list whose order counts."""
    node.rule = rule
    if node.kind != ONE_OF:
        node.missing = (0.0, (node.size or rule.weight) if released else node.size)
    if node.kind == LIST and rule.keep_order:
        node.kind, node.value = KEPT, dict(enumerate(node.value))
        for child in node.value.values():
            child.missing = 0.0, child.size  # as an element without a partner


def _put_in_order(nodes: list[Node], inner: dict[int, _Inner]) -> None:
    """Put elements and alternatives in an order that does not depend on how they were passed."""
    heights = [0] * len(nodes)
    levels: dict[int, list[int]] = {}
    for number in range(len(nodes) - 1, -1, -1):
        if number in inner:
            heights[number] = 1 + max(heights[inner[number].start : inner[number].end], default=0)
        levels.setdefault(heights[number], []).append(number)
    ranks = [0] * len(nodes)
    count = 0
    for _, level in sorted(levels.items()):
        contents = {number: _canonical(nodes[number], inner.get(number), ranks) for number in level}
        order = {content: count + rank for rank, content in enumerate(sorted(set(contents.values())))}
        count += len(order)
        for number, content in contents.items():
            ranks[number] = order[content]
    for number, (_, _, start, end) in inner.items():
        node = nodes[number]
        if node.kind in (LIST, ONE_OF):
            node.positions = sorted(range(end - start), key=ranks[start:end].__getitem__)
            node.value = [node.value[position] for position in node.positions]


def _canonical(node: Node, inside: _Inner | None, ranks: list[int]) -> tuple[Any, ...]:
    """Return the content of a node, to sort by: a leaf by type and text, a container by the ranks of its children."""
    if inside is None:
        leaf = plain_value(node.source)
        return -1, type(leaf).__name__, str(leaf)
    children = ranks[inside.start : inside.end]
    if node.kind == DICT:
        return node.kind, *sorted(zip(inside.keys, children, strict=True))
    return node.kind, *(children if node.kind == KEPT else sorted(children))


def is_literal_dict(value: Any) -> bool:
    """Return whether a value is ``{"$literal": {...}}``."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("$literal"), dict)


def _alternatives(value: dict[Any, Any], inner: dict[int, _Inner], number: int) -> Any:
    """Decode ``{"$one_of": [...]}`` to a tuple, and ``{"$literal": {...}}`` to its content."""
    if is_literal_dict(value):
        return value["$literal"]
    if "$one_of" not in value:
        return value
    if len(value) > 1 or not isinstance(value["$one_of"], (list, tuple)):
        found = f"{_path(inner, number)} is {describe_value(value)}"
        remedy = "Wrap a dict that really has this key in {'$literal': {...}}."
        raise ValueError(
            f"reference {found}; expected '$one_of' as the only key, with a list of alternatives. {remedy}"
        )
    return tuple(value["$one_of"])


def _children(
    value: Any, kind: int, side: str, inner: dict[int, _Inner], number: int, rules: Protocol
) -> tuple[list[str], Sequence[Any]]:
    """Return the keys, as texts, and the values of a dict, or the elements of a list or tuple."""
    if kind == LIST:
        return [], value
    if kind == ONE_OF:
        if side == "prediction" or not value:
            fault = (
                "is a tuple; expected a list: only references have alternatives"
                if value
                else "has an empty list of alternatives; expected at least one"
            )
            raise ValueError(f"{side} {_path(inner, number)} {fault}")
        return [], value
    if not set(map(type, value)) <= {str}:
        texts = {key_text(key): child for key, child in value.items()}
        if len(texts) < len(value):
            twice = next(text for text, count in collections.Counter(map(key_text, value)).items() if count > 1)
            raise ValueError(f"{side} {_path(inner, number)} has the key {twice!r} twice, as text; keep one")
        value = texts
    if rules.tree == "paper":
        value = {key: child for key, child in value.items() if child is not None and not is_missing_value(child)}
    return list(value), list(value.values())


def key_text(key: Any) -> str:
    """Return a key as JSON would write it; an Enum by its value."""
    while isinstance(key, enum.Enum):
        key = key.value
    return json.dumps(key) if key is None or isinstance(key, bool) else number_text(key, "a key")


def plain_value(value: Any) -> Any:
    """Convert a value that is known to be part of a tree to one of the types in `KINDS`."""
    return value if type(value) in KINDS and value == value else _convert(value, "value", {}, 0)


def _convert(value: Any, side: str, inner: dict[int, _Inner], number: int) -> Any:
    """Convert a value of any supported type to one of the types in `KINDS`."""
    given = value
    while isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, np.datetime64):
        finer_than_python = isinstance(value.item(), int)
        value = value.astype("datetime64[us]").item() if finer_than_python else value.item()
    elif isinstance(value, (np.bool_, np.integer)):
        value = value.item()
    if is_missing_value(value):
        return None
    if type(value) in KINDS:
        return value
    if isinstance(value, np.floating):
        return str(value)  # written as 0.1, in single precision, too
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) > 4300:  # as for integers: 1e99999999 would fill the memory
            where = f"{side} {_path(inner, number)}"
            raise ValueError(f"{where} is {short_repr(value)}, which has too many digits; pass it as text.")
        return format(value, "f")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    for kind in KINDS:
        if isinstance(value, kind) and not hasattr(value, "_asdict"):  # not a named tuple
            return kind(value)
    raise TypeError(
        f"{side} {_path(inner, number)} is {describe_value(given)}; "
        f"expected a dict, list, string, number, bool or None. {_conversion(value)}"
    )


def _conversion(value: Any) -> str:
    if isinstance(value, bytes):
        return 'Decode it with .decode("utf-8").'
    if isinstance(value, (set, frozenset)):
        return "Convert it to a sorted list."
    for method in ("model_dump", "_asdict", "tolist"):
        if hasattr(value, method):
            return f"Call its {method}()."
    if dataclasses.is_dataclass(value):
        return "Convert it with dataclasses.asdict."
    return "Convert it with dict." if isinstance(value, Mapping) else "Convert it to one of these."


def _path(inner: dict[int, _Inner], number: int) -> str:
    """Return the JSON path of an object of a tree that is being built."""
    parts: list[str] = []
    parents, starts = list(inner), [container.start for container in inner.values()]
    while number:
        parent = parents[bisect.bisect(starts, number) - 1]
        container, index = inner[parent], number - inner[parent].start
        parts.append(path_part(container.keys[index] if container.keys else index, container.kind))
        number = parent
    return "$" + "".join(reversed(parts))


def path_part(key: str | int, kind: int) -> str:
    """Return the part of a JSON path that leads to a child of a container."""
    if isinstance(key, int):
        return f"['$one_of'][{key}]" if kind == ONE_OF else f"[{key}]"
    return f".{key}" if key.isidentifier() else f"[{key!r}]"


def check_sharing(root: Any, side: str) -> None:
    """Raise a ValueError if a tree contains itself, or has too many values when each counts as often as it is used."""
    if is_plain(root, _FEW_VALUES):
        return
    counts: dict[int, int] = {}  # of the values in each object, itself included, once they are known
    open_ids: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        value, is_left = stack.pop()
        while isinstance(value, enum.Enum):
            value = value.value
        if not isinstance(value, (list, tuple, dict)) or (not is_left and id(value) in counts):
            continue
        children = value.values() if isinstance(value, dict) else value
        if is_left:
            open_ids.discard(id(value))
            counts[id(value)] = 1 + sum([counts.get(id(child), 1) for child in children])
        elif id(value) in open_ids:
            raise ValueError(f"{side} contains itself: a {type(value).__name__} is among its own descendants")
        else:
            open_ids.add(id(value))
            stack.append((value, True))
            stack.extend((child, False) for child in children)
    _check_count(counts.get(id(root), 1), side)


def is_plain(root: Any, most: int, *, as_json: bool = False) -> bool:
    """Return whether a tree has plain types alone, and few values when each counts as often as it is used."""
    open_values, left = [root], most
    for value in open_values:
        kind = type(value)
        if kind is dict and (not as_json or _TEXT.issuperset(map(type, value))):
            children: Collection[Any] = value.values()
        elif kind is list or (kind is tuple and not as_json):
            children = value
        else:
            return False
        left -= len(children)
        if left < 0:
            return False
        if not PLAIN_SCALARS.issuperset(map(type, children)):
            open_values += [child for child in children if type(child) not in PLAIN_SCALARS]
    return True


def _check_count(count: int, side: str) -> None:
    if count > _MAX_VALUES:
        raise ValueError(f"{side} has more than {_MAX_VALUES:,} values, which is the limit")


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/recursion.py
# Recursion without a depth limit: computations that wait for others, run on an explicit stack.
# ---------------------------------------------------------------------------------------------------

Computation = Generator[Any, Any, Any]  # a computation that yields the computations it waits for


def run_computation(computation: Computation) -> Any:
    """Run a computation and all those it waits for; no tree is too deep for it."""
    stack, result = [computation], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value
    return result


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/compare.py
# ANLS*: the comparison of two trees, each pair of nodes once.
# ---------------------------------------------------------------------------------------------------

_FEW_PAIRS = 16  # of list elements: up to this many, comparing one by one is faster than by matrices


def _bulk(node: Node) -> int:
    """Count the leaves outside the largest child: few in lists that only nest, many in lists of similar children."""
    return node.size - max([child.size for child in node.value], default=0)


class Comparison:
    """Compares two trees, each pair of nodes once, and remembers how lists and alternatives were matched."""

    # ANLS*(g, p) = s(g, p) / l(g, p), with s and l as in Peer et al., arXiv:2402.03848, equations 3 to 6, except for
    # the division of s by the number of keys and of matches, which neither the paper's examples nor the released code
    # have. Two lists are matched to maximise the sum of the ratios s / l. Matchings that tie can have different scores:
    # the one with the maximum s / l of the whole list is chosen, then the maximum s, then the minimum l, so that the
    # order of the elements does not matter.

    def __init__(self, rules: Protocol, prefer_equal: bool, unit: int = 1) -> None:
        self.rules = rules
        self.unit = unit  # the greatest weight of a leaf: sums of s that differ by a tiny part of it are equal
        self.prefer_equal = (
            prefer_equal  # among matchings of the same value, match elements that were equal before normalisation
        )
        self.ways: dict[tuple[int, int], Any] = {}  # what `way` returns, by the ids of two nodes
        # For whole blocks, by the id of g: the columns of predictions by their id, the index of each way, and the ways.
        self.blocks: dict[int, list[tuple[dict[int, int], Matrix, Sequence[Any]]]] = {}
        self.distances: dict[tuple[str, str], int] = {}
        self.similarities: dict[tuple[str, str], float] = {}  # of leaves, as `simple` needs them again and again

    # One pair of nodes.

    def distance(self, g: Node, p: Node) -> int:
        """Return the distance of two leaves, computed once for each pair of texts."""
        pair = g.value, p.value
        if pair not in self.distances:
            self.distances[pair] = Levenshtein.distance(*pair, weights=edit_costs(self.rules))
        return self.distances[pair]

    def simple(self, g: Node, p: Node) -> Value | None:
        """Return the value of a pair that does not depend on other pairs, or None if it does."""
        if g.kind == LEAF and p.kind == LEAF:
            if g.rule and g.rule.comparator:
                return g.rule.comparator.similarity(p.value, g.value) * g.size, g.size
            pair = g.value, p.value
            s = self.similarities.get(pair)
            if s is None:
                distance = 0 if g.value == p.value else self.distance(g, p)
                longest = max(len(g.value), len(p.value))
                s = self.similarities[pair] = float(kept_similarity(distance, longest, self.rules))
            return s * g.size, g.size
        if g.kind == NONE:
            return float(p.like_none) * g.size, p.size or g.size
        if g.kind == ONE_OF or g.kind == p.kind:
            return None
        return 0.0, length_of_mismatch(g, p)

    def pair(self, g: Node, p: Node) -> Computation:
        """Compute the value of a pair."""
        simple = self.simple(g, p)
        if simple:
            return simple
        if g.kind == ONE_OF:
            values = []
            for option in g.value:
                values.append(self.simple(option, p) or (yield self.pair(option, p)))
            equal = [option.identity == p.identity for option in g.value] if self.prefer_equal else None
            best = best_of(values, equal, self.unit)
            self.ways[id(g), id(p)] = best
            return values[best]
        if g.kind != LIST:
            s, length = 0.0, 0
            for key in sorted(g.value):  # a sum in another order could differ in its last bit
                child, other = g.value[key], p.value.get(key)
                value = child.missing if other is None else self.simple(child, other) or (yield self.pair(child, other))
                s, length = s + value[0], length + value[1]
            return s, length + sum(child.missing[1] for key, child in p.value.items() if key not in g.value)
        if g.rule and g.rule.key:
            return (yield self.pair_by_key(g, p))
        is_large = g.size * p.size > _FEW_PAIRS**2 and _bulk(g) * _bulk(p) > _FEW_PAIRS**2
        if is_large or len(g.value) * len(p.value) > _FEW_PAIRS:
            matrices = yield self.pairs(g.value, p.value)
            return self.match(g, p, *matrices)
        rows: list[list[Value]] = []
        for child in g.value:
            rows.append([])
            for other in p.value:
                rows[-1].append(self.simple(child, other) or (yield self.pair(child, other)))
        return self.match_few(g, p, rows)

    def pair_by_key(self, g: Node, p: Node) -> Computation:
        """Compute the value of two lists whose elements belong together by key."""
        levels = [g.value]  # the elements, then their alternatives, and so on down
        while any(node.kind == ONE_OF for node in levels[-1]):
            levels.append([own for node in levels[-1] for own in (node.value if node.kind == ONE_OF else [node])])
        s, lengths = yield self.pairs(levels[-1], p.value)
        allowed = yield self.pairs_with_equal_keys(levels[-1], p.value, cast(FieldRules, g.rule).key)
        for nodes in reversed(levels[:-1]):
            s, lengths, allowed = self.closest_options(nodes, p.value, s, lengths, allowed)
        rows, columns = np.array([node.size for node in g.value]), np.array([node.size for node in p.value])
        equal = _equal_identities(g.value, p.value) if self.prefer_equal else None
        matched = self.ways[id(g), id(p)] = match_allowed(s, lengths, rows, columns, allowed, equal, self.unit)
        return _total(g, p, [(i, j, float(s[i, j]), int(lengths[i, j])) for i, j in matched])

    def pairs_with_equal_keys(self, g: list[Node], p: list[Node], names: tuple[str, ...]) -> Computation:
        """Return which nodes may match: dicts with all key fields if these are equal, and any others."""
        rows, columns = (
            [index for index, node in enumerate(nodes) if node.kind == DICT and node.value.keys() >= set(names)]
            for nodes in (g, p)
        )
        allowed = np.ones((len(g), len(p)), dtype=bool)
        allowed[rows], allowed[:, columns] = False, False
        if not rows or not columns:
            return allowed
        are_equal = np.ones((len(rows), len(columns)), dtype=bool)
        for name in names:
            keys = [g[i].value[name] for i in rows], [p[j].value[name] for j in columns]
            s, lengths = yield self.pairs(*keys)
            are_equal &= (s == lengths) & (lengths > 0)
        allowed[np.ix_(rows, columns)] = are_equal
        return allowed

    # All pairs of two lists of nodes, as matrices of s and l.

    def pairs(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare all nodes of one list with all of another."""
        if not g or not p:
            return np.zeros((len(g), len(p))), np.zeros((len(g), len(p)), dtype=np.int64)
        if len(g) * len(p) > MAX_PAIRS:
            raise ValueError(
                f"a list of {len(g):,} and one of {len(p):,} values have more than {MAX_PAIRS:,} pairs, which is the "
                "limit: score parts of them"
            )
        ways = {LEAF: self.pairs_of_leaves, LIST: self.pairs_of_lists, DICT: self.pairs_of_dicts}
        ways[KEPT] = self.pairs_of_dicts
        kinds = {node.kind for node in g} | {node.kind for node in p}
        if len(kinds) == 1 and kinds <= ways.keys():
            return (yield ways[kinds.pop()](g, p))
        of_g = {kind: [i for i, node in enumerate(g) if node.kind == kind] for kind in KINDS_OF_NODES}
        of_p = {kind: [j for j, node in enumerate(p) if node.kind == kind] for kind in KINDS_OF_NODES}
        s = np.zeros((len(g), len(p)))
        sizes, other_sizes = np.array([node.size for node in g]), np.array([node.size for node in p])
        lengths = np.maximum.outer(sizes, other_sizes)
        for kind, compare in ways.items():
            rows, columns = of_g[kind], of_p[kind]
            if rows and columns:
                cells = np.ix_(rows, columns)
                s[cells], lengths[cells] = yield compare([g[i] for i in rows], [p[j] for j in columns])
        rows, columns = of_g[NONE], of_p[NONE]
        lengths[:, columns] = np.where(sizes[:, None], sizes[:, None], other_sizes[columns])
        if rows:
            s[rows] = np.outer(sizes[rows], [float(node.like_none) for node in p])
            lengths[rows] = np.where(other_sizes, other_sizes, sizes[rows, None])
        if of_g[ONE_OF]:
            rows = of_g[ONE_OF]
            s[rows], lengths[rows] = yield self.pairs_of_options([g[i] for i in rows], p)
        return s, lengths

    def pairs_of_leaves(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare leaves with leaves in one batch."""
        rule = g[0].rule  # the same for all of them
        if rule and rule.comparator:
            s = rule.comparator.matrix([node.value for node in g], [node.value for node in p]) * rule.weight
            return s, np.broadcast_to(np.int64(rule.weight), s.shape)
        s = similarities_of_leaves([node.value for node in g], [node.value for node in p], self.rules)
        weight = g[0].size
        return s if weight == 1 else s * weight, np.broadcast_to(np.int64(weight), s.shape)
        yield  # a computation that waits for nothing

    def pairs_of_dicts(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare dicts with dicts, key by key for all of them."""
        of_g, of_p = _by_key(g), _by_key(p)
        shared = of_g.keys() & of_p.keys()
        everywhere = {key for key in shared if len(of_g[key][0]) == len(g) and len(of_p[key][0]) == len(p)}
        # First as if only keys that are everywhere had a partner; then corrected wherever two dicts share a key.
        alone = [[child.missing for key, child in node.value.items() if key not in everywhere] for node in (*g, *p)]
        alone_s = np.array([sum(s for s, _ in values) for values in alone[: len(g)]])
        sizes = np.array([sum(length for _, length in values) for values in alone], dtype=np.int64)
        s = np.repeat(alone_s[:, None].astype(np.float64), len(p), axis=1)
        lengths = np.add.outer(sizes[: len(g)], sizes[len(g) :])
        for key in sorted(shared):
            (rows, children), (columns, others) = of_g[key], of_p[key]
            key_s, key_lengths = yield self.pairs(children, others)
            if key in everywhere:
                s += key_s
                lengths += key_lengths
                continue
            cells = _cells(rows, columns, s.shape)
            s[cells] += key_s - np.array([[child.missing[0]] for child in children])
            missing = [child.missing[1] for child in children], [other.missing[1] for other in others]
            lengths[cells] += key_lengths - np.add.outer(*missing)
        return s, lengths

    def pairs_of_lists(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare lists with lists."""
        s = np.zeros((len(g), len(p)))
        lengths = np.zeros(s.shape, dtype=np.int64)
        if g[0].rule and g[0].rule.key:
            for (i, node), (j, other) in itertools.product(enumerate(g), enumerate(p)):
                s[i, j], lengths[i, j] = yield self.pair_by_key(node, other)
            return s, lengths
        columns = [child for node in p for child in node.value]
        start = 0
        while start < len(g):  # as many lists at once as the matrix may have rows
            end = start
            rows: list[Node] = []
            while end < len(g) and (end == start or len(rows) * len(columns) < MATRIX_CELLS):
                rows += g[end].value
                end += 1
            matrices = yield self.pairs(rows, columns)
            s[start:end], lengths[start:end] = self.match_all(g[start:end], p, *matrices)
            start = end
        return s, lengths

    def pairs_of_options(self, g: list[Node], p: list[Node]) -> Computation:
        """Compare alternatives with nodes: the closest alternative counts."""
        options = [option for node in g for option in node.value]
        all_s, all_lengths = yield self.pairs(options, p)
        return self.closest_options(g, p, all_s, all_lengths, np.ones(all_s.shape, dtype=bool))[:2]

    def closest_options(
        self, g: list[Node], p: list[Node], all_s: Matrix, all_lengths: Matrix, all_allowed: Matrix
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Choose the closest alternative that is allowed for each pair, given all; other nodes have one row."""
        columns = {id(node): j for j, node in enumerate(p)}
        chosen, end = [], 0
        for node in g:
            start, end = end, end + (len(node.value) if node.kind == ONE_OF else 1)
            if node.kind != ONE_OF:
                chosen.append(np.full(len(p), start))
                continue
            equal = _equal_identities(node.value, p) if self.prefer_equal else None
            values = all_s[start:end], all_lengths[start:end], all_allowed[start:end]
            best = best_of_each(*values, equal, self.unit)
            self.blocks.setdefault(id(node), []).append((columns, best, range(len(node.value))))
            chosen.append(start + best)
        cells = np.array(chosen), np.arange(len(p))
        return all_s[cells], all_lengths[cells], all_allowed[cells]

    # The matching of two lists, and the choice among alternatives.

    def way(self, g: Node, p: Node) -> Any:
        """Return the index of the chosen alternative, or the pairs of indexes of the matched elements."""
        by_key = g.kind == LIST and g.rule is not None and bool(g.rule.key)
        ways = range(len(g.value)) if g.kind == ONE_OF else ways_to_match(len(g.value), len(p.value))
        if len(ways) == 1 and not by_key:
            return ways[0]
        for columns, chosen, ways in self.blocks.get(id(g), []):
            if id(p) in columns:
                return ways[chosen[columns[id(p)]]]
        if (id(g), id(p)) not in self.ways:
            run_computation(self.pair(g, p))
        return self.ways[id(g), id(p)]

    def match_few(self, g: Node, p: Node, values: list[list[Value]]) -> Value:
        """Match two lists, given the values of all pairs in rows; remember the matching and return its value."""
        ways = ways_to_match(len(g.value), len(p.value))
        if not ways:
            cells = np.array(values)
            return self.match(g, p, cells[:, :, 0], cells[:, :, 1].astype(np.int64))
        identities = None
        if self.prefer_equal:
            identities = [node.identity for node in g.value], [node.identity for node in p.value]
        sizes = [node.size for node in g.value], [node.size for node in p.value]
        self.ways[id(g), id(p)], value = best_way(ways, values, *sizes, identities, self.unit)
        return value

    def match(self, g: Node, p: Node, s: Matrix, lengths: Matrix) -> Value:
        """Match two lists, given the values of all pairs in matrices; remember the matching and return its value."""
        if ways_to_match(len(g.value), len(p.value)):
            values = zip(s.tolist(), lengths.tolist(), strict=True)
            return self.match_few(g, p, [list(zip(*row, strict=True)) for row in values])
        rows, columns = np.array([node.size for node in g.value]), np.array([node.size for node in p.value])
        equal = _equal_identities(g.value, p.value) if self.prefer_equal else None
        matched = self.ways[id(g), id(p)] = match_lists(s, lengths, rows, columns, equal, unit=self.unit)
        return _total(g, p, [(i, j, float(s[i, j]), int(lengths[i, j])) for i, j in matched])

    def match_all(self, g: list[Node], p: list[Node], s: Matrix, lengths: Matrix) -> tuple[Matrix, Matrix]:
        """Match each list of g with each of p, given the values of all pairs of their elements."""
        found_s, found_lengths = np.empty((len(g), len(p))), np.empty((len(g), len(p)), dtype=np.int64)
        leaves_only = all(child.kind == LEAF for node in (*g, *p) for child in node.value)
        for (of_g, rows), (of_p, columns) in itertools.product(_by_length(g), _by_length(p)):
            ways = ways_to_match(rows.shape[1], columns.shape[1])
            if ways and len(of_g) * len(of_p) > _FEW_PAIRS:
                cells = rows[:, :, None, None], columns
                lists = [g[i] for i in of_g], [p[j] for j in of_p]
                found = self.match_same_length(*lists, s[cells], lengths[cells], ways)
                found_s[np.ix_(of_g, of_p)], found_lengths[np.ix_(of_g, of_p)] = found
                continue
            for (a, i), (b, j) in itertools.product(enumerate(of_g), enumerate(of_p)):
                cells = np.ix_(rows[a], columns[b])
                if leaves_only and not ways:  # one length; `way` finds the best way again if it is needed
                    best = assign(s[cells])
                    found_s[i, j] = math.fsum(s[cells][best].tolist())
                    found_lengths[i, j] = max(g[i].size, p[j].size)
                else:
                    found_s[i, j], found_lengths[i, j] = self.match(g[i], p[j], s[cells], lengths[cells])
        return found_s, found_lengths

    def match_same_length(
        self, g: list[Node], p: list[Node], s: Matrix, lengths: Matrix, ways: Sequence[Any]
    ) -> tuple[Matrix, Matrix]:
        """Match lists of one length on each side; the axes are lists and elements of g, then of p."""

        def sums(cells: Matrix) -> Matrix:
            return np.array([sum((cells[:, i, :, j] for i, j in way), np.zeros((len(g), len(p)))) for way in ways])

        rows, columns = [child for node in g for child in node.value], [child for node in p for child in node.value]
        without_partner = np.add.outer([child.size for child in rows], [child.size for child in columns])
        all_s, all_lengths = sums(s), sums(lengths - without_partner.reshape(s.shape))
        all_lengths += np.add.outer([node.size for node in g], [node.size for node in p])
        ratios = sums(ratios_of(s, lengths))
        equal = sums(_equal_identities(rows, columns).reshape(s.shape)) if self.prefer_equal else None
        best = best_of_each(all_s, all_lengths, ratios >= ratios.max(axis=0) - TIE, equal, self.unit)
        columns_of_p = {id(node): j for j, node in enumerate(p)}
        for node, chosen in zip(g, best, strict=True):
            self.blocks.setdefault(id(node), []).append((columns_of_p, chosen, ways))
        found = (np.take_along_axis(matrix, best[None], axis=0)[0] for matrix in (all_s, all_lengths))
        return next(found), next(found)


def length_of_mismatch(g: Node, p: Node) -> int:
    """Return the length of two nodes of different kinds."""
    return (g.size or p.size) if p.kind == NONE else max(g.size, p.size)


def _total(g: Node, p: Node, matched: list[tuple[int, int, float, int]]) -> Value:
    """Sum up the value of two lists from the indexes and values of their matched pairs."""
    return total_of(matched, [node.size for node in g.value], [node.size for node in p.value])


def _by_key(nodes: list[Node]) -> dict[str, tuple[list[int], list[Node]]]:
    """Return for each key the indexes of the dicts that have it, and their values."""
    found: dict[str, tuple[list[int], list[Node]]] = {}
    for index, node in enumerate(nodes):
        for key, child in node.value.items():
            indexes, children = found.setdefault(key, ([], []))
            indexes.append(index)
            children.append(child)
    return found


def _cells(rows: list[int], columns: list[int], shape: tuple[int, ...]) -> Any:
    """Index these rows and columns of a matrix; NumPy is faster if one of them is a slice of all."""
    if len(rows) == shape[0]:
        return slice(None), columns
    return (rows, slice(None)) if len(columns) == shape[1] else np.ix_(rows, columns)


def _by_length(nodes: list[Node]) -> list[tuple[list[int], Matrix]]:
    """Group lists by length: their indexes, and in rows the indexes of their elements among those of all lists."""
    lengths = np.array([len(node.value) for node in nodes])
    starts = np.cumsum(lengths) - lengths
    groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    return [(group.tolist(), np.add.outer(starts[group], np.arange(lengths[group[0]]))) for group in groups]


def _equal_identities(g: list[Node], p: list[Node]) -> Matrix:
    return np.equal.outer([node.identity for node in g], [node.identity for node in p])


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/credit.py
# The pairs of nodes that make up a score, and the exact sum of their credits.
# ---------------------------------------------------------------------------------------------------

class ComparedPair(NamedTuple):
    """A pair of nodes of reference (g) and prediction (p), or a node without a partner."""

    parent: int  # the index of the pair that contains this one
    at_g: Any  # key or index in the parent; None without a partner
    at_p: Any
    g: Node | None
    p: Node | None
    why: str | None  # why it scores 0; empty if it counts, None if the pairs inside it count
    length: int = 0
    distance: int = 0
    longest: int = 1


BELOW_THRESHOLD, MISSING_PART, INVENTED, MISMATCH = "below threshold", "missing", "hallucinated", "type mismatch"
DIFFERENT = "different"  # of leaves with a comparator of their own

# A pair to be compared: parent, position on both sides, the nodes, and its value if one node is missing.
_OpenPair = tuple[int, Any, Any, Node | None, Node | None, Value]


def compared_pairs(comparison: Comparison, reference: Node, prediction: Node) -> list[ComparedPair]:
    """List the matched pairs from the root down, each after the one that contains it."""
    pairs: list[ComparedPair] = []
    stack: list[_OpenPair] = [(-1, None, None, reference, prediction, (0, 0))]
    while stack:
        parent, at_g, at_p, g, p, missing = stack.pop()
        index = len(pairs)
        inside: list[_OpenPair] | None = None
        if p is None or g is None:
            why = "" if missing[0] else MISSING_PART if p is None else INVENTED
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, missing[1]))
        elif g.kind == LEAF and p.kind == LEAF and g.rule and g.rule.comparator:
            similarity = g.rule.comparator.similarity(p.value, g.value)
            kept, longest = similarity.as_integer_ratio()
            why = "" if similarity else DIFFERENT
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, g.size, longest - kept, longest))
        elif g.kind == LEAF and p.kind == LEAF:
            distance = 0 if g.value == p.value else comparison.distance(g, p)
            longest = max(len(g.value), len(p.value), 1)
            why = "" if reaches_threshold(distance, longest, comparison.rules) else BELOW_THRESHOLD
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, g.size, distance, longest))
        elif g.kind == NONE:
            why = "" if p.like_none else MISMATCH
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, why, p.size or g.size))
        elif g.kind == ONE_OF:
            option = comparison.way(g, p)
            inside = [(index, position_of(g, option), None, g.value[option], p, (0, 0))]
        elif g.kind == p.kind and g.kind != LIST:
            inside = [
                (index, key, key if key in p.value else None, child, p.value.get(key), child.missing)
                for key, child in g.value.items()
            ]
            inside += [
                (index, None, key, None, child, (0, child.missing[1]))
                for key, child in p.value.items()
                if key not in g.value
            ]
        elif g.kind == p.kind == LIST:
            matched = comparison.way(g, p)
            rows, columns = {i for i, _ in matched}, {j for _, j in matched}
            only_g = [(i, child) for i, child in enumerate(g.value) if i not in rows]
            only_p = [(j, child) for j, child in enumerate(p.value) if j not in columns]
            if g.positions is not None:  # back to the order as passed
                matched = sorted(matched, key=lambda own: position_of(g, own[0]))
                only_g.sort(key=lambda own: position_of(g, own[0]))
                only_p.sort(key=lambda own: position_of(p, own[0]))
            inside = [(index, position_of(g, i), position_of(p, j), g.value[i], p.value[j], (0, 0)) for i, j in matched]
            inside += [(index, position_of(g, i), None, child, None, (0, child.size)) for i, child in only_g]
            inside += [(index, None, position_of(p, j), None, child, (0, child.size)) for j, child in only_p]
        else:
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, MISMATCH, length_of_mismatch(g, p)))
        if inside is not None:
            pairs.append(ComparedPair(parent, at_g, at_p, g, p, None))
            stack += reversed(inside)
    return pairs


def pair_with_none(g: Node | None, p: Node | None) -> ComparedPair:
    """Return the pair of a dict's value with a key that the other dict does not have."""
    s, length = g.missing if g else (0.0, p.missing[1] if p else 0)
    why = "" if s else MISSING_PART if g else INVENTED
    return ComparedPair(-1, None, None, g, p, why, length)


def position_of(node: Node, index: int) -> int:
    """Return where a child stood in the list as passed."""
    return node.positions[index] if node.positions else index


# The length of some pairs, that of those that count fully, and the credit of each that counts in part: a fraction.
Credit = tuple[int, int, list[tuple[int, int]]]


def count_credit(pairs: list[ComparedPair]) -> Credit:
    """Sum up compared pairs."""
    counted = [pair for pair in pairs if pair.why == "" and pair.length]
    partial = [((pair.longest - pair.distance) * pair.length, pair.longest) for pair in counted if pair.distance]
    full = sum([pair.length for pair in counted if not pair.distance])
    return sum([pair.length for pair in pairs]), full, partial


def exact_score(length: int, full: int, partial: Sequence[tuple[int, int]]) -> float:
    """Compute a score from the exact sum of its fractions, so that their order cannot change a bit."""
    if not length:
        return 1.0
    if length == len(partial) == 1:
        kept, longest = partial[0]
        return 1 - (longest - kept) / longest  # as anls_score has it, to the last bit
    denominator = math.lcm(*[longest for _, longest in partial])
    kept = sum([credit * (denominator // longest) for credit, longest in partial])
    return (full * denominator + kept) / (denominator * length)


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/plain_lists.py
# Lists of texts, or of dicts of texts such as the items of an invoice, matched without nodes.
# ---------------------------------------------------------------------------------------------------

ComparedLeaf = tuple[int, int, bool]  # two leaves, compared: distance, length, and whether it counts

Row = dict[str, str]  # a dict of texts, after their steps


def credit_of_plain_lists(g: list[Any], p: list[Any], rules: Protocol) -> Credit | None:
    """Return the credit of two lists of texts, or of dicts of texts; None for any other lists."""
    # The values and the matching are those of `Comparison`, to the last bit.
    if not g or not p or len(g) * len(p) > MATRIX_CELLS:
        return None
    if _are_scalars(g) and _are_scalars(p):
        return _credit_of_texts(g, p, rules)
    return _credit_of_dicts(g, p, rules) if _are_plain_dicts(g) and _are_plain_dicts(p) else None


def _are_scalars(values: Collection[Any]) -> bool:
    """Return whether all values are leaves with a text; NaN is not."""
    kinds = set(map(type, values))
    return kinds <= SCALARS and (float not in kinds or all(value == value for value in values))


def _are_plain_dicts(elements: list[Any]) -> bool:
    """Return whether all elements are dicts of leaves with a text."""
    return operator.countOf(map(type, elements), dict) == len(elements) and all(
        operator.countOf(map(type, own), str) == len(own) and _are_scalars(own.values()) and MARKERS.isdisjoint(own)
        for own in elements
    )


def _credit_of_texts(g: list[Any], p: list[Any], rules: Protocol) -> Credit:
    """Return the credit of two lists of texts."""
    texts = list(map(normaliser(rules.answer_steps), map(str, g)))
    others = list(map(normaliser(rules.prediction_steps), map(str, p)))
    ways, length = ways_to_match(len(texts), len(others)), max(len(texts), len(others))
    if ways:  # at most 24 pairs, which take less one by one than as a matrix
        # All matchings have one length, so that the maximum sum is the best by the rule of `best_way`.
        leaves = [[compare_leaves(text, other, rules) for other in others] for text in texts]
        s = [[1 - distance / longest if is_kept else 0.0 for distance, longest, is_kept in row] for row in leaves]
        best = max(ways, key=lambda way: math.fsum([s[i][j] for i, j in way]))
        return credit_of_leaves(length, [leaves[i][j] for i, j in best])
    similarities = similarities_of_leaves(texts, others, rules)
    sizes = np.ones(len(texts), np.int64), np.ones(len(others), np.int64)
    matched = match_lists(similarities, np.broadcast_to(np.int64(1), similarities.shape), *sizes)
    return credit_of_leaves(length, _compared([(texts[i], others[j]) for i, j in matched], {}, rules))


def _credit_of_dicts(g: list[dict[str, Any]], p: list[dict[str, Any]], rules: Protocol) -> Credit:
    """Return the credit of two lists of dicts of texts."""
    rows, columns = _as_rows(g, rules.answer_steps), _as_rows(p, rules.prediction_steps)
    sizes, other_sizes = list(map(len, rows)), list(map(len, columns))
    keys, known = sorted(set().union(*rows)), dict[tuple[str, str], ComparedLeaf]()
    ways: Sequence[Any] = ways_to_match(len(rows), len(columns))
    if len(ways) == 1:
        matched = ways[0]
    elif ways:
        matched, _ = best_way(ways, _values_of_few(rows, columns, keys, known, rules), sizes, other_sizes)
    else:
        matched = match_lists(*_values(rows, columns, keys, rules), np.array(sizes), np.array(other_sizes))
    pairs = [(text, columns[j][key]) for i, j in matched for key, text in rows[i].items() if key in columns[j]]
    return credit_of_leaves(sum(sizes) + sum(other_sizes) - len(pairs), _compared(pairs, known, rules))


def _as_rows(elements: list[dict[str, Any]], steps: tuple[str, ...]) -> list[Row]:
    normalise = normaliser(steps)
    return [{key: normalise(str(value)) for key, value in own.items()} for own in elements]


def _compared(
    pairs: list[tuple[str, str]], known: dict[tuple[str, str], ComparedLeaf], rules: Protocol
) -> list[ComparedLeaf]:
    """Compare the leaves that are not known, each once."""
    known |= {pair: compare_leaves(*pair, rules) for pair in dict.fromkeys(pairs) if pair not in known}
    return list(map(known.__getitem__, pairs))


def credit_of_leaves(length: int, leaves: list[ComparedLeaf]) -> Credit:
    """Return the credit of a part of this length whose matched leaves were compared."""
    kept = [(longest - distance, longest) for distance, longest, is_kept in leaves if is_kept]
    partial = [credit for credit in kept if credit[0] < credit[1]]
    return length, len(kept) - len(partial), partial


def _values_of_few(
    rows: list[Row], columns: list[Row], keys: list[str], known: dict[tuple[str, str], ComparedLeaf], rules: Protocol
) -> list[list[Value]]:
    """Compute the values of all pairs of rows, leaf by leaf; add the leaves to those that are known."""
    values: list[list[Value]] = []
    for row in rows:
        values.append([])
        for column in columns:
            s, length = 0.0, len(row) + len(column)
            for key in keys:
                if key in row and key in column:
                    pair = row[key], column[key]
                    leaf = known.get(pair)
                    if leaf is None:
                        leaf = known[pair] = compare_leaves(*pair, rules)
                    s += 1 - leaf[0] / leaf[1] if leaf[2] else 0.0
                    length -= 1
            values[-1].append((s, length))
    return values


def _values(rows: list[Row], columns: list[Row], keys: list[str], rules: Protocol) -> tuple[Matrix, Matrix]:
    """Compute the values of all pairs of rows, key by key."""
    if all(own.keys() == rows[0].keys() for own in (*rows, *columns)):  # the usual case, without more matrices
        of_keys = (
            similarities_of_leaves([own[key] for own in rows], [own[key] for own in columns], rules) for key in keys
        )
        s = functools.reduce(np.add, of_keys)
        return s, np.broadcast_to(np.int64(len(keys)), s.shape)
    lengths = np.add.outer(list(map(len, rows)), list(map(len, columns)))
    s = np.zeros(lengths.shape)
    for key in keys:
        of_g, of_p = [i for i, row in enumerate(rows) if key in row], [j for j, row in enumerate(columns) if key in row]
        if of_g and of_p:
            cells = np.ix_(of_g, of_p)
            s[cells] += similarities_of_leaves([rows[i][key] for i in of_g], [columns[j][key] for j in of_p], rules)
            lengths[cells] -= 1
    return s, lengths


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/single.py
# The comparison of one pair of trees.
# ---------------------------------------------------------------------------------------------------

def field_rules(fields: Fields | None, rules: Protocol) -> FieldRules | None:
    """Return the rules of the root, or None if no field changes anything."""
    root = None if fields is None else fields.rules(rules)
    return None if root is None or root.is_plain else root


def is_list_of_options(prediction: Any, reference: Any, rules: Protocol) -> bool:
    """Return whether a reference is a list of texts beside a text: the released code's mode for ST-VQA data."""
    return (
        rules.tree == "released"
        and isinstance(reference, list)
        and bool(reference)
        and all(map(_is_text, (prediction, *reference)))
    )


def _is_text(value: Any) -> bool:
    """Return whether a value is written as text in JSON, such as a Decimal."""
    if type(value) is str:  # the usual case first, for speed
        return True
    try:
        return isinstance(plain_value(value), str)
    except TypeError:  # not part of a tree: refused elsewhere, with its path
        return False


def compare_trees(
    prediction: Any, reference: Any, rules: Protocol, explained: bool = False, fields: Fields | None = None
) -> list[ComparedPair]:
    """Compare two trees and return the pairs that make up the score."""
    root = field_rules(fields, rules)
    return compare_with_rules(prediction, reference, rules, root, fields.unit if fields and root else 1, explained)


def compare_with_rules(
    prediction: Any, reference: Any, rules: Protocol, root: FieldRules | None, unit: int, explained: bool
) -> list[ComparedPair]:
    """Compare two trees, given the rules of fields at the root."""
    if root and root.ignore:
        prediction, reference = {}, {}
    identities: dict[Any, int] | None = {} if explained else None
    options = is_list_of_options(prediction, reference, rules)
    g = build_tree(tuple(reference) if options else reference, "reference", rules, identities, root)
    g.source = reference
    p = build_tree(prediction, "prediction", rules, identities, root)
    return compared_pairs(Comparison(rules, prefer_equal=explained, unit=unit), g, p)


def raise_with_path(row: int, prediction: Any, reference: Any, rules: Protocol, fields: Fields | None) -> None:
    """Raise the error of a document with its row and the path from the root."""
    try:
        compare_trees(prediction, reference, rules, fields=fields)
    except AnlsError as error:
        raise located(f"row {row}", error) from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"row {row}: {error}") from None


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/documents.py
# ANLS* of many documents: a fast path for dicts, whose texts are compared in one batch.
# ---------------------------------------------------------------------------------------------------

MAX_SIDE = 1_000_000  # values of one side in dicts: a larger document is compared alone


_FEW_TEXTS = 200  # of one document: up to so many, comparing one by one is faster than through arrays


class Documents:
    """Pairs of trees whose texts are compared in one batch, which is 6 times as fast for documents of only dicts."""

    # Values that are reached through dicts alone have their partner under the same keys and need no search. Lists,
    # alternatives and unusual values are left to `Comparison`.

    def __init__(self, rules: Protocol) -> None:
        self.rules = rules
        self.lengths: list[int] = []
        self.full: list[int] = []
        self.partial: list[tuple[int, int, int]] = []  # document and credit, a fraction, of what `Comparison` compared
        self.predictions: list[str] = []  # texts to compare in the batch
        self.references: list[str] = []
        self.ends: list[int] = []  # where the texts of each document end
        self.searched_rows: set[int] = set()  # documents with parts that were left to `Comparison`

    @functools.cached_property
    def equal_is_full(self) -> bool:
        """Whether texts that are equal as passed need no comparison."""
        return self.rules.prediction_steps == self.rules.answer_steps and bool(reaches_threshold(0, 1, self.rules))

    def add(self, prediction: Any, reference: Any) -> None:
        """Add the next document; the paths in errors begin at the part that is wrong."""
        if type(prediction) is not dict or type(reference) is not dict:
            self.close(*self.without_dicts(prediction, reference))
            return
        start = len(self.predictions)
        length = full = values = 0
        partial: list[tuple[int, int]] = []
        rest: list[tuple[Any, Any]] = []
        dicts, seen = [(reference, prediction)], {id(reference)}  # a dict that is met again may contain itself
        for g, p in dicts:
            values += max(len(g), len(p))
            if values > MAX_SIDE:
                del self.predictions[start:], self.references[start:]
                self.close(*count_credit(compare_trees(prediction, reference, self.rules)))
                return
            if not (has_text_keys(g) and has_text_keys(p) and MARKERS.isdisjoint(g) and "$one_of" not in p):
                rest.append((g, p))
                continue
            texts = others = 0  # of the keys of both sides
            for key, child in g.items():
                other = p.get(key, NOT_GIVEN)
                if type(child) is type(other) is str:
                    texts += 1
                    if child == other and self.equal_is_full:
                        full += 1
                    else:
                        self.predictions.append(other)
                        self.references.append(child)
                    continue
                others += other is not NOT_GIVEN
                if type(child) is type(other) is dict and id(child) not in seen:
                    seen.add(id(child))
                    dicts.append((child, other))
                else:
                    rest.append((child, other))
            length += texts
            if texts + others < len(p):
                rest += [(NOT_GIVEN, child) for key, child in p.items() if key not in g]
        for g, p in rest:
            rest_length, rest_full, rest_partial = self.other(g, p)
            length, full = length + rest_length, full + rest_full
            partial += rest_partial
        self.close(length, full, partial)

    def without_dicts(self, prediction: Any, reference: Any) -> Credit:
        """Compute the credit of a document that is not a pair of dicts."""
        if type(prediction) is type(reference) is str:
            self.predictions.append(prediction)
            self.references.append(reference)
            return 1, 0, []
        if type(prediction) is type(reference) is list:
            return self.searched(reference, prediction)
        if is_text_with_options(prediction, reference, self.rules.tree == "released"):
            return self.with_options(prediction, reference)
        self.searched_rows.add(len(self.lengths))
        return count_credit(compare_trees(prediction, reference, self.rules))

    def other(self, g: Any, p: Any) -> Credit:
        """Compute the credit of a part that is not two texts."""
        if self.rules.tree == "paper":
            g, p = (NOT_GIVEN if value is None or is_missing_value(value) else value for value in (g, p))
        if g is p:
            return (0, 0, []) if g is NOT_GIVEN else (1, 1, []) if g is None else self.searched(g, p)
        if type(g) in SCALARS and type(p) in SCALARS and g == g and p == p:
            self.predictions.append(str(p))
            self.references.append(str(g))
            return 1, 0, []
        if g is NOT_GIVEN or p is NOT_GIVEN:
            if type(g) is str or type(p) is str:
                return 1, 0, []
            if type(g) in (dict, list, tuple) or type(p) in (dict, list):
                self.searched_rows.add(len(self.lengths))
            node = build_tree(p, "prediction", self.rules) if g is NOT_GIVEN else build_tree(g, "reference", self.rules)
            return node.missing[1], int(p is NOT_GIVEN and node.missing[0] > 0), []
        return self.searched(g, p)

    def with_options(self, prediction: str, options: Sequence[str]) -> Credit:
        """Compute the credit of a text beside several, of which the most similar one counts."""
        if self.equal_is_full and prediction in options:
            return 1, 1, []
        rules, prepare = self.rules, normaliser(self.rules.answer_steps)
        text = normaliser(rules.prediction_steps)(prediction)
        leaves = [compare_leaves(text, prepare(option), rules) for option in options]
        return credit_of_leaves(1, [max(leaves, key=lambda leaf: leaf[2] and 1 - leaf[0] / leaf[1])])

    def searched(self, g: Any, p: Any) -> Credit:
        """Compute the credit of a part with lists, alternatives or unusual values."""
        if is_text_with_options(p, g, False):
            return self.with_options(p, g)
        if type(g) is type(p) is list:
            credit = credit_of_plain_lists(g, p, self.rules)
            if credit is not None:
                return credit
        self.searched_rows.add(len(self.lengths))
        nodes = build_tree(g, "reference", self.rules), build_tree(p, "prediction", self.rules)
        return count_credit(compared_pairs(Comparison(self.rules, prefer_equal=False), *nodes))

    def close(self, length: int, full: int, partial: list[tuple[int, int]]) -> None:
        """Complete a document, except for its texts."""
        self.partial += [(len(self.lengths), *text) for text in partial]
        self.lengths.append(length)
        self.full.append(full)
        self.ends.append(len(self.predictions))

    def only_score(self) -> float:
        """Compute the score of the only document."""
        if len(self.predictions) > _FEW_TEXTS:
            return float(self.scores()[0])
        rules, full, partial = self.rules, self.full[0], [(kept, longest) for _, kept, longest in self.partial]
        predictions = map(normaliser(rules.prediction_steps), self.predictions)
        references = map(normaliser(rules.answer_steps), self.references)
        for prediction, reference in zip(predictions, references, strict=True):
            distance, longest, is_kept = compare_leaves(prediction, reference, rules)
            if is_kept and distance:
                partial.append((longest - distance, longest))
            else:
                full += is_kept
        return exact_score(self.lengths[0], full, partial)

    def scores(self) -> Floats:
        """Compute the scores of all documents."""
        ends = np.array([0, *self.ends], np.int64)
        owners = np.repeat(np.arange(len(self.ends)), ends[1:] - ends[:-1])
        distances, longest = compare_texts_in_blocks(self.predictions, self.references, self.rules)
        kept = reaches_threshold(distances, longest, self.rules)
        full = np.array(self.full, np.int64) + np.bincount(owners[kept & (distances == 0)], minlength=len(self.ends))
        kept &= distances > 0
        texts = np.stack([owners, longest - distances, longest], axis=1)[kept]
        partial = np.concatenate([texts, np.array(self.partial, np.int64).reshape(-1, 3)])
        return exact_scores(np.array(self.lengths, np.int64), full, partial[np.argsort(partial[:, 0], kind="stable")])


def is_text_with_options(prediction: Any, reference: Any, in_lists: bool) -> bool:
    """Return whether one side is a text and the other alternatives that are texts, which can be in a list."""
    return (
        type(prediction) is str
        and (type(reference) is tuple or (in_lists and type(reference) is list))
        and bool(reference)
        and operator.countOf(map(type, reference), str) == len(reference)
    )


def has_text_keys(tree: dict[Any, Any]) -> bool:
    """Return whether all keys of a dict are texts."""
    return operator.countOf(map(type, tree), str) == len(tree)


def compare_texts_in_blocks(
    predictions: list[str], references: list[str], rules: Protocol
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Compute distances and lengths of pairs of texts, a block at a time."""
    found = [np.zeros((2, 0), np.int64)]
    weights = {"weights": edit_costs(rules)}
    for start in range(0, len(predictions), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        left, left_sizes = _normalised(predictions[block], rules.prediction_steps)
        right, right_sizes = _normalised(references[block], rules.answer_steps)
        distances = cpdist(left, right, scorer=Levenshtein.distance, scorer_kwargs=weights, dtype=np.int64)
        found.append(np.stack([distances, np.maximum(np.maximum(left_sizes, right_sizes), 1)]))
    distances, longest = np.concatenate(found, axis=1)
    return distances, longest


def _normalised(texts: list[str], steps: tuple[str, ...]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Apply the steps to texts; return them with their lengths."""
    try:
        prepared = prepare_texts(text_array(texts), steps, "compared")
    except UnicodeEncodeError:  # lone surrogates, which Arrow cannot hold
        normalised = list(map(normaliser(steps), texts))
        return normalised, np.array(list(map(len, normalised)), np.int64)
    return prepared.compared.to_pylist(), prepared.sizes


def exact_scores(lengths: Matrix, full: Matrix, partial: Matrix) -> Floats:
    """Compute `exact_score` of many documents; rows of `partial` begin with their document's index, in order."""
    owners, kept_parts, longest = partial.T
    products, denominators = np.ones(len(lengths)), np.ones(len(lengths), np.int64)
    with np.errstate(over="ignore"):  # such documents are summed in integers of any size
        np.multiply.at(products, owners, longest)
        np.multiply.at(denominators, owners, longest)
    exact = products * lengths < 2**53  # float64 holds these exactly and rounds the quotient once, as Python does
    denominators[~exact] = 1
    kept = full * denominators
    np.add.at(kept, owners, kept_parts * (denominators[owners] // longest))
    scores = np.where(lengths, kept / np.maximum(lengths * denominators, 1), 1.0)
    one = lengths[owners] == 1
    scores[owners[one]] = 1 - (longest[one] - kept_parts[one]) / longest[one]
    for row in np.flatnonzero(~exact).tolist():
        start, end = np.searchsorted(owners, [row, row + 1])
        scores[row] = exact_score(int(lengths[row]), int(full[row]), partial[start:end, 1:].tolist())
    return scores


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/field_documents.py
# ANLS* of many documents with fields: the leaves of each field are parsed and compared in one batch.
# ---------------------------------------------------------------------------------------------------

_LARGE = 10**18  # numbers beyond it may have texts that Python refuses to write
_MAX_EXACT = 2**31  # of the denominator of a credit in an array: functions return fractions of up to 2**1074


class Column:
    """The leaves of one field: those whose sides differ, those that are the same, and those of one side."""

    __slots__ = (
        "equal",
        "equal_rows",
        "invented",
        "invented_rows",
        "missing",
        "missing_rows",
        "predictions",
        "references",
        "right_rows",
        "rows",
    )

    def __init__(self) -> None:
        self.rows: list[int] = []  # the documents
        self.references: list[Any] = []
        self.predictions: list[Any] = []
        self.equal_rows: list[int] = []
        self.equal: list[Any] = []
        self.right_rows: list[int] = []  # of texts that are the same, where these are known to be right
        self.missing_rows: list[int] = []
        self.missing: list[Any] = []  # of references, without a prediction
        self.invented_rows: list[int] = []
        self.invented: list[Any] = []  # of predictions, without a reference

    def compare_equal(self) -> None:
        """Compare those that are the same, too."""
        self.rows += self.equal_rows
        self.references += self.equal
        self.predictions += self.equal
        self.equal_rows, self.equal = [], []


class FieldDocuments:
    """Pairs of trees, whose leaves under dicts are compared in one batch for each field."""

    def __init__(
        self, predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, fields: Fields, root: FieldRules
    ) -> None:
        self.predictions, self.references = predictions, references
        self.rules, self.fields, self.root = rules, fields, root
        self.equal_is_full = rules.prediction_steps == rules.answer_steps and bool(reaches_threshold(0, 1, rules))
        self.keep_right = False  # whether to keep the rows of texts that are the same and right
        self.lengths: list[int] = []
        self.full: list[int] = []
        self.partial: list[tuple[int, int, int]] = []  # document and credit, a fraction
        self.fractions: dict[int, list[tuple[int, int]]] = collections.defaultdict(list)  # parts beyond 64 bits
        self.searched_rows: set[int] = set()  # documents with more than scalars in dicts
        self.columns: dict[FieldRules, Column] = collections.defaultdict(Column)

    def add(self, prediction: Any, reference: Any) -> None:
        """Add the next document; the paths in errors begin at the part that is wrong."""
        row = len(self.lengths)
        if type(prediction) is not dict or type(reference) is not dict or self.root.ignore:
            self.searched_rows.add(row)
            self.close(*count_credit(self.whole(prediction, reference)))
            return
        columns, equal_is_full, keep_right = self.columns, self.equal_is_full, self.keep_right
        length = full = values = 0
        rest: list[tuple[Any, Any, FieldRules]] = []
        dicts = [(reference, prediction, self.root)]
        for g, p, rule in dicts:
            values += max(len(g), len(p))
            if values > MAX_SIDE:
                self.drop(row)
                self.close(*count_credit(self.whole(prediction, reference)))
                return
            if not (g or p):
                rest.append((g, p, rule))
                continue
            if not (has_text_keys(g) and has_text_keys(p) and MARKERS.isdisjoint(g) and "$one_of" not in p):
                rest.append((g, p, rule))
                continue
            alone = 0
            keys, unnamed, child_of = rule.keys, self.unnamed(rule), rule.child
            for key, child in g.items():
                own, other = keys.get(key, unnamed) or child_of(key), p.get(key, NOT_GIVEN)
                if other is NOT_GIVEN:
                    alone += 1
                if own.ignore:
                    continue
                if type(child) is type(other) is str:  # most leaves
                    length += own.weight
                    if child != other or not child:
                        column = columns[own]
                        column.rows.append(row)
                        column.references.append(child)
                        column.predictions.append(other)
                    elif own.comparator is None and equal_is_full:
                        full += own.weight
                        if keep_right:
                            columns[own].right_rows.append(row)
                    else:
                        column = columns[own]
                        column.equal_rows.append(row)
                        column.equal.append(child)
                elif type(child) in SCALARS and type(other) in SCALARS and child == child and other == other:
                    length += own.weight
                    column = columns[own]
                    column.rows.append(row)
                    column.references.append(child)
                    column.predictions.append(other)
                elif type(child) is type(other) is dict:
                    dicts.append((child, other, own))
                else:
                    rest.append((child, other, own))
            if len(g) - alone < len(p):
                only_p = [(NOT_GIVEN, child, rule.child(key)) for key, child in p.items() if key not in g]
                rest += [own for own in only_p if not own[2].ignore]
        partial: list[tuple[int, int]] = []
        for g, p, rule in rest:
            rest_length, rest_full, rest_partial = self.other(g, p, rule)
            length, full = length + rest_length, full + rest_full
            partial += rest_partial
        self.close(length, full, partial)

    def drop(self, row: int) -> None:
        """Take the leaves of a document out of the batch."""
        for column in self.columns.values():
            while column.rows and column.rows[-1] == row:
                del column.rows[-1], column.references[-1], column.predictions[-1]
            while column.equal_rows and column.equal_rows[-1] == row:
                del column.equal_rows[-1], column.equal[-1]
            while column.right_rows and column.right_rows[-1] == row:
                del column.right_rows[-1]

    def other(self, g: Any, p: Any, rule: FieldRules) -> Credit:
        """Compute the credit of a part that is not two leaves."""
        if type(g) in (dict, list, tuple) or type(p) in (dict, list):
            self.searched_rows.add(len(self.lengths))
        if self.rules.tree == "paper":
            typed = rule.comparator is not None and rule.comparator.blank_is_none
            are_none = [own is None or is_missing_value(own) or (typed and is_blank(own)) for own in (g, p)]
            g, p = (NOT_GIVEN if is_none else own for own, is_none in zip((g, p), are_none, strict=True))
        if g is p is NOT_GIVEN:
            return 0, 0, []
        if g is p is None:
            return rule.weight, rule.weight, []
        if p is NOT_GIVEN and _is_short_leaf(g):
            return self.missing(g, rule)
        if g is NOT_GIVEN and _is_short_leaf(p):
            return self.invented(p, rule)
        return count_credit(self.pairs(g, p, rule))

    def unnamed(self, rule: FieldRules) -> FieldRules | None:
        """Return the rules of the keys that are not named at a place, if they are known."""
        return rule.other_keys

    def missing(self, g: Any, rule: FieldRules) -> Credit:
        """Add a leaf of the reference that the prediction lacks; it must parse all the same."""
        column = self.columns[rule]
        column.missing_rows.append(len(self.lengths))
        column.missing.append(g)
        return rule.weight, 0, []

    def invented(self, p: Any, rule: FieldRules) -> Credit:
        """Add a leaf of the prediction that the reference lacks."""
        return rule.weight, 0, []

    def whole(self, prediction: Any, reference: Any) -> list[ComparedPair]:
        """Compare whole documents."""
        return compare_trees(prediction, reference, self.rules, fields=self.fields)

    def pairs(self, g: Any, p: Any, rule: FieldRules) -> list[ComparedPair]:
        """Compare a part with lists, alternatives or unusual values, or without a counterpart."""
        node = None if g is NOT_GIVEN else build_tree(g, "reference", self.rules, rule=rule)
        other = None if p is NOT_GIVEN else build_tree(p, "prediction", self.rules, rule=rule)
        if node and other:
            return compared_pairs(Comparison(self.rules, prefer_equal=False, unit=self.fields.unit), node, other)
        return [pair_with_none(node, other)]

    def close(self, length: int, full: int, partial: list[tuple[int, int]]) -> None:
        """Complete a document, except for the leaves in the batch."""
        row = len(self.lengths)
        for credit in partial:
            if credit[1] < _MAX_EXACT:
                self.partial.append((row, *credit))
            else:
                self.fractions[row].append(credit)
        self.lengths.append(length)
        self.full.append(full)

    def scores(self) -> Floats:
        """Compute the scores of all documents."""
        lengths, full = np.array(self.lengths, np.int64), np.array(self.full, np.int64)
        texts: list[tuple[FieldRules, Column]] = []
        for rule, column in self.columns.items():
            comparator = rule.comparator
            if comparator is None:
                column.compare_equal()
                texts.append((rule, column))
                continue
            if not comparator.equal_is_right:
                column.compare_equal()
            self.add_equal(rule, comparator, column, lengths, full)
            self.add_compared(rule, comparator, column, lengths, full)
            for index in comparator.unparsed(column.missing):
                self.add_unparsed(rule, column.missing_rows[index], column.missing[index], "", lengths, full)
        parts = np.array(self.partial, np.int64).reshape(-1, 3)
        if texts:
            parts = np.concatenate([parts, self.add_texts(texts, full)])
        parts = parts[np.argsort(parts[:, 0], kind="stable")]
        scores = exact_scores(lengths, full, parts)
        for row, fractions in self.fractions.items():
            start, end = np.searchsorted(parts[:, 0], [row, row + 1])
            own_parts = [(kept, longest) for kept, longest in parts[start:end, 1:].tolist()]
            scores[row] = exact_score(int(lengths[row]), int(full[row]), own_parts + fractions)
        return scores

    def add_texts(self, columns: list[tuple[FieldRules, Column]], full: Matrix) -> Matrix:
        """Compare texts by the protocol; add those that are right, and return the documents and credits of others."""
        owners = np.array([row for _, column in columns for row in column.rows], np.int64)
        weights = np.repeat([rule.weight for rule, _ in columns], [len(column.rows) for _, column in columns])
        predictions, references = (
            [text for own in side for text in texts_of(own)]
            for side in zip(*((column.predictions, column.references) for _, column in columns), strict=True)
        )
        distances, longest = compare_texts_in_blocks(predictions, references, self.rules)
        kept = reaches_threshold(distances, longest, self.rules)
        right = kept & (distances == 0)
        np.add.at(full, owners[right], weights[right])
        kept &= distances > 0
        return np.array([owners, (longest - distances) * weights, longest])[:, kept].T

    def add_equal(
        self, rule: FieldRules, comparator: Comparator, column: Column, lengths: Matrix, full: Matrix
    ) -> None:
        """Add leaves whose sides are the same; the reference must parse all the same."""
        np.add.at(full, column.equal_rows, rule.weight)
        for index in comparator.unparsed(column.equal):
            row, leaf = column.equal_rows[index], column.equal[index]
            full[row] -= rule.weight
            self.add_unparsed(rule, row, leaf, leaf, lengths, full)

    def add_compared(
        self, rule: FieldRules, comparator: Comparator, column: Column, lengths: Matrix, full: Matrix
    ) -> None:
        """Parse and compare leaves, and add their credits."""
        rows, references, predictions = column.rows, column.references, column.predictions
        similarities, unparsed = comparator.compared(references, predictions)
        for index in unparsed:
            self.add_unparsed(rule, rows[index], references[index], predictions[index], lengths, full)
        np.add.at(full, np.array(rows, np.int64)[similarities == 1], rule.weight)
        for index in np.flatnonzero((similarities > 0) & (similarities < 1)).tolist():
            kept, longest = float(similarities[index]).as_integer_ratio()
            self.fractions[rows[index]].append((kept * rule.weight, longest))

    def add_unparsed(
        self, rule: FieldRules, row: int, reference: Any, prediction: Any, lengths: Matrix, full: Matrix
    ) -> None:
        """Add a leaf whose reference is blank, which counts as None; refuse any other that does not parse."""
        if not (rule.comparator and rule.comparator.blank_is_none and is_blank(reference)):
            raise_with_path(row, self.predictions[row], self.references[row], self.rules, self.fields)
        if is_blank(prediction) and self.rules.tree == "paper":
            lengths[row] -= rule.weight
        elif is_blank(prediction):
            full[row] += rule.weight


def texts_of(leaves: list[Any]) -> list[str]:
    """Return leaves as texts."""
    return leaves if set(map(type, leaves)) <= {str} else list(map(str, leaves))


def _is_short_leaf(value: Any) -> bool:
    """Return whether a value is a leaf whose text is known to be short, or a text."""
    return type(value) is str or (type(value) in SCALARS and -_LARGE < value < _LARGE)


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/scores.py
# The scores of pairs of trees: of one, and of many.
# ---------------------------------------------------------------------------------------------------

def score_tree(
    prediction: Any, reference: Any, rules: Protocol, fields: Fields | None = None
) -> tuple[float, Collection[int]]:
    """Score one pair of trees, and return row 0 if it has more than scalars in dicts."""
    if field_rules(fields, rules) is not None:
        return exact_score(*count_credit(compare_trees(prediction, reference, rules, fields=fields))), (0,)
    if type(prediction) is type(reference) is str:  # a single leaf, which scores as a question with one answer
        return measure_one(prediction, [reference], rules)[0], ()
    documents = Documents(rules)
    try:
        documents.add(prediction, reference)
    except (TypeError, ValueError):
        compare_trees(prediction, reference, rules)  # raises the error with the path from the root
        raise
    return documents.only_score(), documents.searched_rows


def score_trees(
    predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, fields: Fields | None = None
) -> tuple[Floats, list[int]]:
    """Score many pairs of trees, and return the rows of those with more than scalars in dicts, too."""
    root = field_rules(fields, rules)
    documents: Documents | FieldDocuments = Documents(rules)
    if fields is not None and root is not None:
        documents = FieldDocuments(predictions, references, rules, fields, root)
    add_documents(documents, predictions, references, rules, fields)
    return documents.scores(), sorted(documents.searched_rows)


def add_documents(
    documents: Documents | FieldDocuments,
    predictions: Sequence[Any],
    references: Sequence[Any],
    rules: Protocol,
    fields: Fields | None,
) -> None:
    """Add pairs of trees to a batch; an error names the row and the path from the root."""
    for row, pair in enumerate(zip(predictions, references, strict=True)):
        try:
            documents.add(*pair)
        except (TypeError, ValueError):
            raise_with_path(row, *pair, rules, fields)
            raise


# ---------------------------------------------------------------------------------------------------
# anls_eval/text/visible.py
# Make characters visible that cannot be seen or that a terminal obeys.
# ---------------------------------------------------------------------------------------------------

# What a terminal obeys instead of showing it: escape sequences, cursor moves, the direction of writing. Also lone
# surrogates, which cannot be written to it. Tabs and line ends are harmless.
_TERMINAL_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, spell_out: bool = False) -> str:
    """Replace invisible characters by pictures or U+FFFD; `spell_out` also spaces, and others by code points."""

    def sign(character: str) -> str:
        code = ord(character)
        if code < 0x20 or (spell_out and code == 0x20):
            return chr(0x2400 + code)  # the block of control pictures: ␀ to ␠
        if character.isprintable():
            return character
        return f"<U+{code:04X}>" if spell_out else "\ufffd"

    return "".join(map(sign, text))


def one_line(text: str) -> str:
    """Collapse whitespace, and escape what cannot be printed."""
    return "".join(own if own.isprintable() else _escape(own) for own in " ".join(text.split()))


def terminal_width(text: str) -> int:
    """Return the number of columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(own) in "WF") - bool(unicodedata.combining(own)) for own in text)


def padded(text: str, width: int) -> str:
    """Return a text with spaces up to this number of columns of a terminal."""
    return text + " " * (width - terminal_width(text))


def escaped(text: str) -> str:
    """Escape the control characters of a text, which may come from a file, before it is printed."""
    return _TERMINAL_CONTROLS.sub(lambda found: _escape(found[0]), text)


def escaped_json(text: str) -> str:
    """Escape the control characters of JSON text, which stays the same JSON."""
    return _TERMINAL_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


# ---------------------------------------------------------------------------------------------------
# anls_eval/text/characters.py
# Which characters of an answer and a prediction differ.
# ---------------------------------------------------------------------------------------------------

class Span(NamedTuple):
    """A run of characters that are equal, or that one edit operation changes."""

    operation: str  # equal, replace, insert (only in the prediction) or delete (only in the answer)
    answer: str
    prediction: str


def align_characters(answer: str, prediction: str) -> list[Span]:
    """Align two texts, as they are compared, with the fewest edits; return the spans from left to right."""
    codes = Levenshtein.opcodes(answer, prediction)
    return [
        Span(code.tag, answer[code.src_start : code.src_end], prediction[code.dest_start : code.dest_end])
        for code in codes
    ]


GAP = "∅"
"""Fills a line where only the other side has a character."""

_MARKS = {"equal": " ", "replace": "S", "insert": "I", "delete": "D"}


def aligned_lines(answer: str, prediction: str) -> tuple[str, str, str]:
    """Return answer and prediction as aligned lines, and a line of marks: S substituted, I inserted, D deleted."""
    columns = [column for span in align_characters(answer, prediction) for column in _columns(span)]
    left, right, marks = ("".join(line) for line in zip(*columns, strict=True)) if columns else ("", "", "")
    return left, right, marks.rstrip()


def _columns(span: Span) -> Iterator[tuple[str, str, str]]:
    """Yield each character of both sides with its mark, as wide as the terminal shows the wider one."""
    least = int(span.operation != "equal")  # an accent that differs has no width of its own
    for pair in itertools.zip_longest(visible(span.answer), visible(span.prediction), fillvalue=""):
        width = max(least, *map(terminal_width, pair))
        left, right = (padded(own, width) if own else GAP * width for own in pair)
        yield left, right, _MARKS[span.operation] * width


# ---------------------------------------------------------------------------------------------------
# anls_eval/text/marked.py
# Aligned texts as HTML: characters that differ are marked, and whitespace that differs can be seen.
# ---------------------------------------------------------------------------------------------------

MAX_SHOWN_CHARACTERS = 400

_COMMON_SYMBOLS = str.maketrans("␠␉␊", "␣⇥↵")  # for common whitespace, symbols found in more fonts
_ELEMENTS = {"replace": "mark", "insert": "ins", "delete": "del"}


def shown_text(text: str, most: int = MAX_SHOWN_CHARACTERS) -> str:
    """Truncate a long text and make all of its characters visible."""
    return visible(text[:most]).translate(_COMMON_SYMBOLS) + "…" * (len(text) > most)


def marked_side(spans: Iterable[Span], side: str, most: int = MAX_SHOWN_CHARACTERS) -> Html:
    """Return the ``answer`` or the ``prediction`` of aligned texts, with marks that do not depend on colour."""
    found: list[Html] = []
    left = most
    for span in spans:
        text = span.answer if side == "answer" else span.prediction
        if not text:
            continue
        seen = shown_text(text[: max(left, 0)])
        if span.operation == "equal":
            found.append(as_html(seen))
        else:
            found.append(element(_ELEMENTS[span.operation], seen.replace(" ", "␣")))
        left -= len(text)
        if left < 0:
            return joined([*found, "…"])
    return joined(found) if found else element("i", "empty")


def alignment_html(spans: Sequence[Span]) -> Html:
    """Return answer and prediction, one below the other."""
    sides = ("answer", "prediction")
    rows = "".join(f'<dt>{side}</dt><dd dir="auto">{marked_side(spans, side)}</dd>\n' for side in sides)
    return Html(f'<dl class="alignment">\n{rows}</dl>')


# ---------------------------------------------------------------------------------------------------
# anls_eval/explanation/leaves.py
# The states of the leaves of a tree, and the tree of a reference as HTML.
# ---------------------------------------------------------------------------------------------------

LEAF_SIGNS = {
    "full": "\u2713",
    "part": "\u2248",
    "below threshold": "\u2717",
    "different": "\u2717",
    "type mismatch": "\u2717",
    "scores 0 by rule": "\u2717",
    "missing": "\u2212",
    "hallucinated": "+",
    "": "",
}
"""The possible states of a leaf and their signs; the empty state is not counted."""

_PATH_STEP = r"""\.\w+|\['\$one_of'\]\[\d+\]|\['\$literal'\]|\[(?:\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
_MAX_LEAVES = 200
_EMPTY = element("i", "empty")
_MAX_LEAF_CHARACTERS = 200  # of one side of a leaf


@dataclasses.dataclass(frozen=True)
class LeafRow:
    """A leaf as a tree shows it."""

    path: str
    state: str  # a key of `LEAF_SIGNS`
    reference: str | None
    prediction: str | None
    has_edits: bool  # whether the characters that differ are marked
    words: str  # what stands beside it


def path_tokens(path: str) -> list[str]:
    """Return the steps of a JSON path; an alternative, and what is meant literally, are one step."""
    return re.findall(_PATH_STEP, path)


def leaf_state(reason: str, has_full_credit: bool) -> str:
    """Return the state of a leaf that was compared, given why it scores 0."""
    return reason or ("full" if has_full_credit else "part")


def leaf_tree_html(leaves: Sequence[LeafRow]) -> Html:
    """Return leaves in the order of a tree as nested lists."""
    # Without recursion: a tree may be deeper than Python's stack.
    parts, opened = ['<ul class="tree">'], list[str]()
    for leaf in leaves[:_MAX_LEAVES]:
        *above, label = path_tokens(leaf.path) or [""]
        shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(opened, above, strict=False))))
        parts.append("</ul></li>" * (len(opened) - shared))
        parts += [f"<li>{element('span', _label(token), 'label')}<ul>" for token in above[shared:]]
        parts.append(element("li", joined([*_labelled(label), _leaf_html(leaf)])))
        opened = above
    parts.append("</ul></li>" * len(opened) + "</ul>")
    left_out = len(leaves) - _MAX_LEAVES
    if left_out > 0:
        parts.append(element("p", f"{left_out:,} more leaves are not shown.", "muted"))
    return Html("".join(parts))


def _labelled(token: str) -> Iterator[object]:
    if token:
        yield element("span", _label(token), "label")
        yield " "


def _label(token: str) -> str:
    """Return a step of a path as people write it."""
    if token.startswith("['$one_of']"):
        return f"alternative {token.rpartition('[')[2][:-1]}"
    return shown_text(token[1:] if token.startswith(".") else token[1:-1].strip("'\""), 80)


def _leaf_html(leaf: LeafRow) -> Html:
    texts = [text for text in (leaf.reference, leaf.prediction) if text is not None]
    sides = [as_html(shown_text(text, _MAX_LEAF_CHARACTERS)) or _EMPTY for text in dict.fromkeys(texts)]
    if leaf.has_edits and len(texts) == 2:
        spans = align_characters(*texts)
        sides = [marked_side(spans, side, _MAX_LEAF_CHARACTERS) for side in ("answer", "prediction")]
    shown = Html(" → ".join(element("bdi", side) for side in sides)) if sides else as_html("null")
    kind = f"leaf {leaf.state.replace(' ', '-')}"
    signed = element("span", joined([LEAF_SIGNS[leaf.state], " ", shown]), kind)
    return joined([signed, " ", element("span", leaf.words, "what")])


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/as_json.py
# Trees as JSON can hold them.
# ---------------------------------------------------------------------------------------------------

def tree_as_json(value: Any, side: str = "reference") -> Any:
    """Return a tree as plain JSON values; in a reference, alternatives become ``{"$one_of": [...]}``."""
    return run_computation(_as_json(value, side == "reference"))


def _as_json(value: Any, is_reference: bool) -> Computation:
    value = plain_value(value)
    if isinstance(value, dict):
        is_literal = is_reference and is_literal_dict(value)
        content = value["$literal"] if is_literal else value
        with_options = is_reference and not is_literal and "$one_of" in content  # which stands alone
        plain: dict[str, Any] = {}
        for key, child in content.items():
            child = list(child) if with_options else child
            plain[key_text(key)] = yield _as_json(child, is_reference)
        return {"$literal": plain} if is_literal or (is_reference and is_literal_dict(plain)) else plain
    if isinstance(value, (list, tuple)):
        items = []
        for child in value:
            items.append((yield _as_json(child, is_reference)))
        return {"$one_of": items} if isinstance(value, tuple) else items
    return str(value) if isinstance(value, float) and math.isinf(value) else value


# ---------------------------------------------------------------------------------------------------
# anls_eval/explanation/result.py
# `Explanation`: why a score is what it is, with one row for each compared leaf.
# ---------------------------------------------------------------------------------------------------

_Node = TypeVar("_Node")


class KeyMean(TypedDict):
    """The mean score of a dict key, in how many documents it was compared, and the keys below it."""

    anls_score: float
    documents: int
    children: dict[str, KeyMean]


@dataclasses.dataclass(frozen=True)
class FieldComparison:
    """How one leaf was compared by its field.

    Attributes:
        comparator: ``text``, ``exact``, ``number``, ``date``, ``boolean`` or ``function``.
        reference: What the reference text means, such as ``1299`` for "1,299.00"; None for texts.
        prediction: What the prediction text means; None for texts, or if it does not parse.
        tolerance: The tolerance of numbers, such as ``0.01 or 1 %``; None if they must be equal.
    """

    comparator: str
    reference: str | None
    prediction: str | None
    tolerance: str | None


@dataclasses.dataclass(frozen=True)
class Match:
    """One compared leaf: a reference text and the prediction text it was compared with, or one without the other.

    Attributes:
        reference_path: JSON path in the reference; None without a counterpart there.
        prediction_path: JSON path in the prediction; None without a counterpart there.
        reference: The reference text as passed, or None.
        prediction: The prediction text as passed, or None.
        distance: Number of edits between the two normalised texts; None if they were not compared.
        length: Number of characters by which the distance is divided; None if they were not compared.
        similarity: 1 - distance / length, before the threshold; None if they were not compared.
        reason: Why the leaf scores 0: ``below threshold``, ``missing``, ``hallucinated``, ``type mismatch``,
            ``different`` by the comparator of its field, or ``scores 0 by rule``. Empty if it counts.
        weight: Its contribution to the length.
        credit: Its contribution to the sum of similarities.
        compared_as: With fields, how it was compared; None without.
    """

    reference_path: str | None
    prediction_path: str | None
    reference: str | None
    prediction: str | None
    distance: int | None
    length: int | None
    similarity: float | None
    reason: str
    weight: int | float
    credit: float
    compared_as: FieldComparison | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the match as plain JSON values; with fields, with how it was compared."""
        row = dataclasses.asdict(self)
        if self.compared_as is None:
            del row["compared_as"]
        return row


@dataclasses.dataclass
class ScoreNode:
    """The score of a key: the mean of s / l over its occurrences, and the scores of its child keys."""

    anls_score: float | None = None
    children: dict[str, ScoreNode] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why a score is what it is. The credits of the matches sum to score x length.

    Attributes:
        score: From 0 to 1.
        length: The sum of the weights.
        closest_reference: The reference closest to the prediction: alternatives chosen, list elements in the order of
            the prediction and unmatched ones last, keys that only the prediction has with None. It consists of the
            objects that were passed.
        key_scores: The score of each dict key; empty for texts.
        matches: One row for each leaf, in the order of the reference.
        signature: The line that `anls_eval.signature` returns.
        raw_prediction: The text out of which `extract` took the prediction; None if it is the prediction.
    """

    score: float
    length: int | float
    closest_reference: Tree
    key_scores: dict[str, ScoreNode]
    matches: list[Match]
    signature: str
    raw_prediction: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the explanation as plain JSON values; remaining alternatives become ``{"$one_of": [...]}``."""
        return {
            "score": self.score,
            "length": self.length,
            "closest_reference": tree_as_json(self.closest_reference),
            "key_scores": key_scores_as_json([self.key_scores], with_counts=False),
            "matches": [match.to_dict() for match in self.matches],
            "signature": self.signature,
            **({} if self.raw_prediction is None else {"raw_prediction": self.raw_prediction}),
        }

    def __str__(self) -> str:
        """Return a table of the matches for a terminal, the largest loss first."""
        total = math.fsum(match.credit for match in self.matches)
        rows: list[tuple[str, ...]] = [("credit", "reference", "", "prediction", "", "why it is not full")]
        rows += [
            (f"{match.credit:.4g}/{match.weight}", *_shown_sides(match), _reason_shown(match))
            for match in sorted(self.matches, key=_gain)
        ]
        widths = [max(map(terminal_width, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(padded, row, widths)).rstrip() for row in rows]
        raw = [] if self.raw_prediction is None else [f"taken out of: {one_line(self.raw_prediction)}"]
        return "\n".join([f"score {self.score:.6g} = {total:.6g} of {self.length}", *raw, *lines, self.signature])

    def _repr_html_(self) -> str:
        """Return the explanation as notebooks show it: the tree of the reference with the characters that differ."""
        total = math.fsum(match.credit for match in self.matches)
        raw = [] if self.raw_prediction is None else [f"taken out of: {shown_text(self.raw_prediction)}"]
        return notebook_page(
            headline(self.score, f"{total:.6g} of {self.length}"),
            notes_html(raw),
            _matches_html(self.matches),
            signature_html(self.signature),
        )


def _matches_html(matches: Sequence[Match]) -> Html:
    """Return the leaves of the reference as a tree, and those that only the prediction has below it."""
    own = [_leaf_row(match) for match in matches if match.reference_path is not None]
    invented = [_leaf_row(match) for match in matches if match.reference_path is None]
    parts = [leaf_tree_html(own)] if own else []
    if invented:
        parts += [element("p", "Only in the prediction:"), leaf_tree_html(invented)]
    return joined(parts)


def _leaf_row(match: Match) -> LeafRow:
    is_full = match.credit == match.weight
    credit = "" if is_full or match.reason else f"{match.credit:.4g} of {match.weight}"
    return LeafRow(
        path=match.reference_path or match.prediction_path or "$",
        state=leaf_state(match.reason, is_full),
        reference=match.reference,
        prediction=match.prediction,
        has_edits=bool(match.distance),
        words=", ".join(filter(None, (credit, _reason_shown(match)))),
    )


def _reason_shown(match: Match) -> str:
    edits = f"{match.distance} of {match.length} characters differ" if match.distance else ""
    return ": ".join(filter(None, (match.reason, edits, comparison_shown(match))))


def comparison_shown(match: Match) -> str:
    """Return what a field made of both sides, in words."""
    found = match.compared_as
    if found is None or found.comparator == "text" or match.similarity is None:
        return ""
    if found.prediction is None:
        return f"the prediction is not a {found.comparator}"
    tolerance = f", tolerance {found.tolerance}" if found.tolerance else ""
    sides = found.reference if found.reference == found.prediction else f"{found.reference} and {found.prediction}"
    return f"{found.comparator} {sides}{tolerance}"


def _shown_sides(match: Match) -> Iterator[str]:
    """Yield path and text of both sides; long texts are cut around the first difference."""
    texts = one_line(str(match.reference)), one_line(str(match.prediction))
    start = Prefix.similarity(*map(str.lower, texts)) - 10 if match.distance else 0
    start = max(0, min(start, max(map(len, texts)) - 40))
    for path, text in zip((match.reference_path, match.prediction_path), texts, strict=True):
        if path is None:
            yield from "--"
            continue
        yield path if len(path) <= 60 else path[:28] + "..." + path[-29:]
        shown = "..." + text[start + 3 :] if start else text
        yield shown if len(shown) <= 40 else shown[:37] + "..."


def lost_matches(matches: Iterable[Match]) -> list[Match]:
    """Return the matches without full credit, the largest loss first."""
    return sorted((match for match in matches if match.credit < match.weight), key=_gain)


def _gain(match: Match) -> float:
    return match.credit - match.weight


def walk_keys(
    nodes: dict[str, _Node], children: Callable[[_Node], dict[str, _Node]]
) -> Iterator[tuple[tuple[str, ...], _Node]]:
    """Yield every key path with its node in document order, each before the paths below it."""
    stack: list[tuple[tuple[str, ...], _Node]] = [((key,), node) for key, node in reversed(nodes.items())]
    while stack:
        path, node = stack.pop()
        yield path, node
        stack += [((*path, key), child) for key, child in reversed(children(node).items())]


def key_scores_as_json(documents: Sequence[Mapping[str, ScoreNode]], with_counts: bool) -> Any:
    """Return the mean score of each key over the documents that have it, and if wanted their number."""
    return run_computation(_key_scores_as_json(documents, with_counts))


def _key_scores_as_json(documents: Sequence[Mapping[str, ScoreNode]], with_counts: bool) -> Computation:
    means: dict[str, Any] = {}
    for key in dict.fromkeys(itertools.chain.from_iterable(documents)):
        nodes = [document[key] for document in documents if key in document]
        means[key] = {
            "anls_score": math.fsum(cast(float, node.anls_score) for node in nodes) / len(nodes),
            **({"documents": len(nodes)} if with_counts else {}),
            "children": (yield _key_scores_as_json([node.children for node in nodes], with_counts)),
        }
    return means


# ---------------------------------------------------------------------------------------------------
# anls_eval/extract/hints.py
# Which steps would take an answer out of predictions that score 0.
# ---------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------
# anls_eval/tree/coverage.py
# Which fields the references have: paths that match nothing, and elements without their key.
# ---------------------------------------------------------------------------------------------------

_SEARCHED = 1_000  # references in which the nearest path is looked for


class Unmatched(NamedTuple):
    """Fields that match nothing in some references."""

    fields: list[str]  # their paths
    seen: list[str]  # paths of the first references, of which the nearest is named


def unmatched_fields(references: Sequence[Any], fields: Fields, rules: Protocol, paths: Iterable[str]) -> Unmatched:
    """Return which of some fields match nothing in any of the references."""
    missing = {id(_rules_along(parse_path(path), fields, rules)[-1]): path for path in paths}
    for reference in references if missing else ():
        for _, rule in _places(reference, fields.rules(rules)):
            missing.pop(id(rule), None)
            if not missing:
                return Unmatched([], [])
    seen: set[FieldPath] = set()
    for reference in references[:_SEARCHED] if missing else ():
        seen.update(path for path, _ in _places(reference, fields.rules(rules)))
    return Unmatched(list(missing.values()), sorted(map(path_text, seen)))


def unmatched_sentences(unmatched: Unmatched) -> list[str]:
    """Return a warning for each field that matches nothing in any reference, with the nearest path there."""
    return [
        f"the field {path} matches nothing in any reference"
        + (f"; the nearest path there is {nearest_path(path, unmatched.seen)}" if unmatched.seen else "")
        for path in unmatched.fields
    ]


def rows_without_key(references: Sequence[Any], fields: Fields, rules: Protocol) -> dict[str, list[int]]:
    """Return, for each list with a key, the rows of references with an element that lacks it."""
    found: dict[str, list[int]] = {}
    for path in map(parse_path, fields):
        along = _rules_along(path, fields, rules)
        names = along[-1].key
        for row, reference in enumerate(references if names else ()):
            lists = [value for value in _values_at(reference, along) if isinstance(value, list)]
            if any(not _is_keyed(element, names) for value in lists for element in value):
                found.setdefault(path_text(path), []).append(row)
    return found


def _rules_along(path: FieldPath, fields: Fields, rules: Protocol) -> list[FieldRules]:
    """Return the rules from the root to a path."""
    along = [fields.rules(rules)]
    for step in path:
        if step is AnyStep.KEY:
            along.append(along[-1].other_keys)
        else:
            along.append(along[-1].elements if step is AnyStep.ELEMENT else along[-1].keys[str(step)])
    return along


def _places(tree: Any, root: FieldRules) -> Iterator[tuple[FieldPath, FieldRules]]:
    """Yield the path and rules of every place of a tree."""
    open_values: list[tuple[Any, FieldPath, FieldRules]] = [(tree, (), root)]
    while open_values:
        value, path, rule = open_values.pop()
        yield path, rule
        for plain in _accepted_values(value):
            if isinstance(plain, dict):
                keys = [(key_text(key), child) for key, child in plain.items()]
                open_values += [(child, (*path, key), rule.child(key)) for key, child in keys]
            elif isinstance(plain, list):
                open_values += [(child, (*path, AnyStep.ELEMENT), rule.element()) for child in plain]


def _values_at(tree: Any, along: list[FieldRules]) -> list[Any]:
    """Return the values of a tree at a path, which the rules along it stand for."""
    values = _accepted_values(tree)
    for above, rule in itertools.pairwise(along):
        below: list[Any] = []
        for value in values:
            if isinstance(value, dict):
                below += [child for key, child in value.items() if above.child(key_text(key)) is rule]
            elif isinstance(value, list) and above.element() is rule:
                below += value
        values = [plain for value in below for plain in _accepted_values(value)]
    return values


def _accepted_values(value: Any) -> list[Any]:
    """Return the alternatives of a reference, or the one that it is."""
    found, plain = [value], []
    for own in found:  # grows while it is read
        if isinstance(own, dict) and isinstance(own.get("$one_of"), (list, tuple)):
            found += own["$one_of"]
        elif isinstance(own, tuple) and not hasattr(own, "_asdict"):
            found += own
        else:
            plain.append(own["$literal"] if is_literal_dict(own) else own)
    return plain


def _is_keyed(element: Any, names: tuple[str, ...]) -> bool:
    """Return whether an element, or one of its alternatives, has all key fields."""
    return any(isinstance(own, dict) and all(name in own for name in names) for own in _accepted_values(element))


# ---------------------------------------------------------------------------------------------------
# anls_eval/notes.py
# Warnings to show to the user beside a score: sentences made from counts and the names of the first questions.
# ---------------------------------------------------------------------------------------------------

Noted = tuple[int, str]  # how many questions a warning is about, and the names of the first

_MOST_NAMED = 5
SENTENCES = {  # {about one question|about several}, with their names at ()
    "options": "references {is a list of strings with a string as prediction|are lists of strings with strings as "
    "predictions}(): {it was|they were} read as alternatives, as in ST-VQA data. Write alternatives as a tuple",
    "unparsed": "predictions {is a string|are strings} containing JSON() and {was|were} compared as plain text",
    "unanswered": "predictions {is|are} None or NaN() and {scores|score} 0 as unanswered",
    "unanswered document": "predictions {is|are} None or NaN where the reference is a document() and {counts|count} as "
    "unanswered",
    "alternatives predicted": "predictions {has|have} the key '$one_of'(), which was compared as an ordinary key: only "
    "references have alternatives. Pass the {answer itself|answers themselves}",
    "alternatives misspelt": "references {has|have} a key like '$one_of'(), which was compared as an ordinary key. For "
    "alternatives, write '$one_of'",
}
_READ_JSON = [Remedy("extract", "json", "read it")]
_ONE_OF, _LITERAL = frozenset({"$one_of"}), frozenset({"$literal"})


def noted(count: int, names: Sequence[str], kind: str = "question_id") -> Noted:
    """Name the first of some questions."""
    return count, f"{kind} {', '.join(names[:_MOST_NAMED])}{', ...' if count > _MOST_NAMED else ''}"


def named_row(name: str, path: str) -> str:
    """Return the name of a row, with a path in its tree if there is one."""
    return f"{name} at {path}" if path else name


def noted_rows(rows: Mapping[int, str], question_ids: Sequence[str] | None) -> Noted:
    """Name the first of some rows, with their paths, by their question_ids or else by their numbers."""
    name = str if question_ids is None else lambda row: repr(question_ids[row])
    names = [named_row(name(row), path) for row, path in islice(rows.items(), _MOST_NAMED)]
    return noted(len(rows), names, "row" if question_ids is None else "question_id")


def sentences(n: int, found: Mapping[str, Noted]) -> list[str]:
    """Return the warnings about n questions."""
    notes = []
    for what in SENTENCES:
        count, names = found.get(what, (0, ""))
        if count:
            is_named = n > 1 or what.startswith("alternatives")  # whose names say where in the tree
            chosen = _sentence_about(what, count == 1)
            note = f"{count} of {n} {chosen.replace('()', f' ({names})' if is_named else '')}"
            notes.append(Note(note, _READ_JSON) if what == "unparsed" else note)
    return notes


@functools.cache
def _sentence_about(what: str, is_one: bool) -> str:
    """Return a sentence about one question, or about several."""
    return re.sub(r"{(.*?)\|(.*?)}", r"\1" if is_one else r"\2", SENTENCES[what])


_PRINTED_VALUES = {"predictions": "predictions", "references": "answers"}


def printed_sentences(
    name: str, n: int, *, taken: int = 0, left: int = 0, unread: int = 0, shown: str = ""
) -> list[str]:
    """Return the notes on n values of a side or a column, some of which are texts that print lists or dicts."""
    what = _PRINTED_VALUES.get(name, f"values of {name}")
    notes: list[str] = []
    if taken:
        are = "is a printed list or dict and was" if taken == 1 else "are printed lists or dicts and were"
        apart = f"{taken:,} of {n:,} {what} {are} taken apart"
        notes.append(Note(apart, [Remedy("parse", "none", "compare texts as they are")]))
    if left:
        are = "is a printed list or dict and was" if left == 1 else "are printed lists or dicts and were"
        as_text = f"{left:,} of {n:,} {what} {are} compared as text, such as {shown}"
        asked = "answers" if name == "references" else name
        notes.append(Note(as_text, [Remedy("parse", asked, "take them apart one by one")]))
    if unread:
        begin = "begins" if unread == 1 else "begin"
        such = "" if left else f", such as {shown}"
        notes.append(f"{unread:,} of {n:,} {what} {begin} like a printed list or dict but cannot be read as one{such}")
    return notes


def text_notes(scored: Scored, rules: Protocol, question_ids: Sequence[str] | None = None) -> list[str]:
    """Return the warnings about questions on texts."""
    n, gains = len(scored.scores), scored.padding_gains
    mean = math.fsum(scored.scores.tolist()) / n if gains else 0.0
    unanswered = noted_rows(dict.fromkeys(scored.unanswered, ""), question_ids)
    return text_sentences(n, unanswered, len(gains), mean, math.fsum(gains), rules)


def text_notes_of_one(text: str | None, options: list[str], score: float, rules: Protocol) -> list[str]:
    """Return the warnings about a single question on texts."""
    gains = padding_gain_of_one(text, options, score, rules)
    if text is not None and not gains and reaches_threshold(0, 1, rules):  # the usual case
        return []
    return text_notes(Scored(np.array([score]), [0] if text is None else [], gains, [], None), rules)


def text_sentences(n: int, unanswered: Noted, padded: int, mean: float, gain: float, rules: Protocol) -> list[str]:
    """Return the warnings about n questions on texts, of which whitespace raised some, and their sum by this gain."""
    notes = sentences(n, {"unanswered": unanswered}) if unanswered[0] else []
    if not reaches_threshold(0, 1, rules):
        notes.append(
            f"protocol {rules.name!r} keeps only similarities above the threshold {rules.threshold}, which none can "
            "exceed: every score is 0"
        )
    if padded:
        notes.append(f"{padding_sentence(rules.name, n, padded, mean, gain)}, or use the protocol 'standard'")
    return notes


def marked_rows(texts: Any, scores: Floats) -> tuple[int, dict[int, tuple[str, ...]]]:
    """Return the number of predictions that score 0, and the steps that would change them, by row."""
    zeros = np.flatnonzero(scores == 0)
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        import pyarrow.compute as pc

        given = texts.take(number_array(zeros))
        is_marked = as_bools(pc.match_substring_regex(given, MAY_HAVE_MARKS))
        n, zeros = len(given) - given.null_count, zeros[is_marked]
        found = dict(zip(zeros.tolist(), given.filter(number_array(is_marked)).to_pylist(), strict=True))
    else:
        found = {row: texts[row] for row in zeros.tolist() if isinstance(texts[row], str)}
        n = len(found)
    steps_of = {text: steps_in(text) for text in set(found.values())}
    return n, {row: steps_of[text] for row, text in found.items() if steps_of[text]}


def padding_sentence(protocol: str, n: int, padded: int, mean: float, gain: float) -> str:
    """Return the warning that whitespace raised the sum of n scores by this gain."""
    return (
        f"protocol {protocol!r} divides by raw lengths, and extra whitespace raised the score of {padded} of {n} "
        f"questions: the mean is {mean:.6f} with it and {mean - gain / n:.6f} without. Strip it"
    )


def tree_notes(
    predictions: Sequence[Any],
    references: Sequence[Any],
    rules: Protocol,
    question_ids: Sequence[str] | None = None,
    searched: Iterable[int] | None = None,
    fields: Fields | None = None,
) -> list[str]:
    """Return the warnings about pairs of trees that have been scored, of which these were `searched`; default all."""
    found = tree_rows_to_note(predictions, references, rules, searched)
    if not found and not fields:
        return []
    named = {what: noted_rows(rows, question_ids) for what, rows in found.items()}
    notes = sentences(len(predictions), named) if named else []
    return notes + (field_notes(references, rules, fields, question_ids) if fields else [])


def field_notes(
    references: Sequence[Any], rules: Protocol, fields: Fields, question_ids: Sequence[str] | None = None
) -> list[str]:
    """Return the warnings about fields that the references do not have."""
    paths = () if fields.from_schema else fields  # a schema may name more than the documents have
    notes = unmatched_sentences(unmatched_fields(references, fields, rules, paths))
    for path, rows in rows_without_key(references, fields, rules).items():
        found = noted_rows(dict.fromkeys(rows, ""), question_ids)
        notes.append(without_key_sentence(len(references), found, path, fields))
    return notes


def without_key_sentence(n: int, found: Noted, path: str, fields: Fields) -> str:
    """Return the warning that some of n references have elements of a list without its key."""
    count, names = found
    where = f" ({names})" if n > 1 else ""
    have = f"{count} of {n} references{where} {'has' if count == 1 else 'have'}"
    key = ", ".join(fields[path].named()["key"])
    return f"{have} elements of {path} without the key {key}: they match only elements that lack it, too"


def tree_rows_to_note(
    predictions: Sequence[Any], references: Sequence[Any], rules: Protocol, searched: Iterable[int] | None = None
) -> dict[str, dict[int, str]]:
    """Return the rows of pairs of trees by what there is to warn about, with the path to it where that helps."""
    found: dict[str, dict[int, str]] = {}
    for row in range(len(predictions)) if searched is None else searched:
        mistake, path = _alternatives_without_effect(predictions[row], references[row])
        if path:
            found.setdefault(mistake, {})[row] = path
    for row, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
        if isinstance(prediction, (dict, list)) or type(prediction) is type(reference) is str:
            continue
        if is_missing_value(prediction):
            what = "unanswered document" if _is_document(reference) else None
        elif is_list_of_options(prediction, reference, rules):
            what = "options"
        else:
            is_document = isinstance(reference, (dict, list, tuple)) and isinstance(prediction, str)
            what = "unparsed" if is_document and json_in_text(prediction) is not None else None
        if what:
            found.setdefault(what, {})[row] = ""
    return found


def _alternatives_without_effect(prediction: Any, reference: Any) -> tuple[str, str]:
    """Return what is wrong with keys that mean alternatives, and the path to the first such key; empty if nothing."""
    predicted, misspelt = _has_key(prediction, _ONE_OF), _has_key(reference, LIKE_ONE_OF)
    if not (predicted or misspelt) or _has_key(reference, _LITERAL):  # which says that such a key is meant
        return "", ""
    if predicted:
        return "alternatives predicted", _path_to(prediction, _ONE_OF)
    path = _path_to(reference, LIKE_ONE_OF)
    return "alternatives misspelt", "" if path == _path_to(prediction, LIKE_ONE_OF) else path


def _has_key(tree: Any, keys: frozenset[str]) -> bool:
    """Return whether a dict in a tree has one of these keys."""
    found = [tree]
    for value in found:
        kind = type(value)
        if kind is str:  # the usual case first, for speed
            continue
        if kind is dict:
            if not keys.isdisjoint(value):
                return True
            found += value.values()
        elif kind is list or kind is tuple:
            found += value
    return False


def _path_to(tree: Any, keys: frozenset[str]) -> str:
    """Return the JSON path to the first of these keys in a tree; empty if there is none."""
    found = [("$", tree)]
    for path, value in found:
        kind = KINDS.get(type(value), NONE)
        items = value.items() if kind == DICT else enumerate(value) if kind in (LIST, ONE_OF) else ()
        for key, child in items:
            part = path + path_part(key if kind != DICT else str(key), kind)
            if key in keys:
                return part
            found.append((part, child))
    return ""


def _is_document(reference: Any) -> bool:
    """Return whether a reference, or each of its alternatives, is a dict or list that is not empty."""
    found = [reference]
    seen = set()  # alternatives can be nested deeply, and share what they contain
    for value in found:
        options = value.get("$one_of") if isinstance(value, dict) else value
        if isinstance(options, tuple) or (options is not value and isinstance(options, list)):
            found += () if id(options) in seen else options
            seen.add(id(options))
        elif not (isinstance(value, (dict, list)) and value):
            return False
    return True


# ---------------------------------------------------------------------------------------------------
# anls_eval/explanation/text.py
# Why a text has its score.
# ---------------------------------------------------------------------------------------------------

def explain_text(prediction: Any, answers: Any, rules: Protocol) -> tuple[Explanation, list[str]]:
    """Explain the score of one prediction; also return the warnings about it."""
    text, options = to_text(prediction, "prediction", "one string"), to_answers(answers, "answers")
    score, closest, *measured = measure_one(text, options, rules)
    best = max(closest, 0)  # without a prediction no answer is the closest
    distance, length, similarity, reason = None, None, None, MISSING_PART
    if text is not None:
        distance, length = measured
        similarity = float(compute_similarity(distance, length, rules))
        by_rule = apply_steps(rules.prediction_steps, text) in rules.zero_predictions
        reason = "" if score else "scores 0 by rule" if by_rule else BELOW_THRESHOLD
    match = Match(
        reference_path=f"$[{best}]",
        prediction_path=None if text is None else "$",
        reference=options[best],
        prediction=text,
        distance=distance,
        length=length,
        similarity=similarity,
        reason=reason,
        weight=1,
        credit=score,
    )
    explanation = Explanation(score, 1, None if text is None else options[best], {}, [match], signature_of_one(rules))
    return explanation, text_notes_of_one(text, options, score, rules)


# ---------------------------------------------------------------------------------------------------
# anls_eval/explanation/tree.py
# Why a tree has its score: closest reference, key scores, one row for each leaf.
# ---------------------------------------------------------------------------------------------------

def explain_tree(prediction: Any, reference: Any, rules: Protocol, fields: Fields | None = None) -> Explanation:
    """Explain the score of one pair of trees."""
    tree = ExplainedTree(prediction, reference, rules, fields)
    return Explanation(
        score=tree.score,
        length=in_unit(tree.length, tree.scale),
        closest_reference=tree.closest_reference(),
        key_scores=tree.key_scores(),
        matches=tree.matches(),
        signature=signature(rules, n=1, fields=fields) if fields else signature_of_one(rules),
    )


class ExplainedTree:
    """The score of a pair of trees, and its explanation, of which callers with many documents take what they need."""

    def __init__(self, prediction: Any, reference: Any, rules: Protocol, fields: Fields | None = None) -> None:
        self.pairs = compare_trees(prediction, reference, rules, explained=True, fields=fields)
        self.scale = fields.scale if fields and field_rules(fields, rules) else 1  # of the lengths of the pairs
        credit = count_credit(self.pairs)
        self.score, self.length = exact_score(*credit), credit[0]
        self.inside: list[list[int]] = [[] for _ in self.pairs]  # by pair, the indexes of those directly inside it
        for index, pair in enumerate(self.pairs[1:], start=1):
            self.inside[pair.parent].append(index)

    def closest_reference(self) -> Any:
        """Build the reference that comes closest to the prediction, from the leaves up."""
        pairs = self.pairs
        closest: list[Any] = [None] * len(pairs)
        for index in range(len(pairs) - 1, -1, -1):
            pair, inside = pairs[index], self.inside[index]
            g, p = pair.g, pair.p
            if g is None:
                continue
            if pair.why is not None:
                in_dict = bool(index) and cast(Node, pairs[pair.parent].g).kind == DICT
                if p is None:
                    closest[index] = _without_options(g).source if in_dict else g.source
                else:
                    closest[index] = p.source if g.kind == NONE and not pair.why else g.source
            elif g.kind == ONE_OF:
                closest[index] = closest[inside[0]]
            elif g.kind in (LIST, KEPT):
                matched = sorted((number for number in inside if pairs[number].p), key=lambda own: pairs[own].at_p)
                unmatched = [number for number in inside if not pairs[number].p]
                closest[index] = [closest[number] for number in matched + unmatched if pairs[number].g]
            else:
                content = _closest_dict([(pairs[number], closest[number]) for number in inside])
                # It is a reference and must not be read as alternatives.
                is_special = "$one_of" in content or "$literal" in content
                closest[index] = {"$literal": content} if is_special else content
        return closest[0]

    def key_scores(self) -> dict[str, ScoreNode]:
        """Compute the mean of s / l over the occurrences of each key path."""
        pairs = self.pairs
        values: list[Value] = [(_credit(pair), pair.length) for pair in pairs]
        for index in range(len(pairs) - 1, -1, -1):
            if pairs[index].why is None:
                inside = [values[number] for number in self.inside[index]]
                values[index] = math.fsum(s for s, _ in inside), sum(length for _, length in inside)
        top: dict[str, ScoreNode] = {}
        below: list[dict[str, ScoreNode]] = [top] * len(pairs)  # by pair, the keys below it
        ratios: dict[int, tuple[ScoreNode, list[float]]] = {}
        for index, pair in enumerate(pairs[1:], start=1):
            below[index] = below[pair.parent]
            parent = pairs[pair.parent].g
            is_invented_none = pair.g is None and pair.p is not None and pair.p.like_none
            if parent is not None and parent.kind == DICT and not is_invented_none:
                node = below[pair.parent].setdefault(pair.at_p if pair.g is None else pair.at_g, ScoreNode())
                ratios.setdefault(id(node), (node, []))[1].append(ratio_of(values[index]))
                below[index] = node.children
        for node, of_key in ratios.values():
            node.anls_score = math.fsum(of_key) / len(of_key)
        return top

    def matches(self) -> list[Match]:
        """List one row for each compared leaf."""
        paths = [("$", "$")]
        rows: list[Match] = []
        for index, pair in enumerate(self.pairs):
            if index:
                parent = self.pairs[pair.parent]
                g_path, p_path = paths[pair.parent]
                if pair.at_g is not None:
                    g_path += _path_into(cast(Node, parent.g), pair.at_g, of_reference=True)
                if pair.at_p is not None:
                    p_path += _path_into(cast(Node, parent.p), pair.at_p, of_reference=False)
                paths.append((g_path, g_path if p_path == g_path else p_path))
            if pair.why is not None:
                rows += _rows(pair, *paths[index], self.scale)
        return rows


def _closest_dict(items: list[tuple[ComparedPair, Any]]) -> dict[Any, Any]:
    """Build a closest dict; keys of only one side are in it unless they are None-like."""
    content: dict[Any, Any] = {}
    for pair, value in items:
        is_empty = not value if isinstance(value, (str, list, dict)) else is_missing_value(value)
        if pair.g is None and pair.p is not None and not pair.p.like_none:
            content[pair.at_p] = None
        elif pair.g is not None and not (pair.p is None and is_empty):
            content[pair.at_g] = value
    return content


def _without_options(node: Node) -> Node:
    """Return the alternative with which a missing key is scored."""
    while node.kind == ONE_OF:
        node = node.value[best_of([option.missing for option in node.value])]
    return node


def _credit(pair: ComparedPair) -> float:
    return 0.0 if pair.why or not pair.length else (1 - pair.distance / pair.longest) * pair.length


def in_unit(length: int, scale: int) -> int | float:
    """Return a sum of weights as the fields have them, given what they were multiplied by."""
    return length // scale if length % scale == 0 else length / scale


def _rows(pair: ComparedPair, g_path: str, p_path: str, scale: int) -> list[Match]:
    """Return the row of a pair, or one for each leaf of a node without a partner."""
    credit = _credit(pair) / scale
    if pair.g and pair.p:
        is_compared = pair.g.kind == pair.p.kind == LEAF
        has_edits = is_compared and not (pair.g.rule and pair.g.rule.comparator)
        return [
            Match(
                reference_path=g_path,
                prediction_path=p_path,
                reference=_given_text(pair.g),
                prediction=_given_text(pair.p),
                distance=pair.distance if has_edits else None,
                length=pair.longest if has_edits else None,
                similarity=1 - pair.distance / pair.longest if is_compared else None,
                reason=cast(str, pair.why),
                weight=in_unit(pair.length, scale),
                credit=credit,
                compared_as=_comparison(pair.g, pair.p),
            )
        ]
    node, path = (pair.g, g_path) if pair.g else (cast(Node, pair.p), p_path)
    leaves = _leaves(node, path, pair.length, of_reference=pair.p is None)
    if pair.why == "" or not leaves or sum([leaf.size for _, leaf in leaves]) != pair.length:
        leaves = [(path, node)]
    return [
        Match(
            reference_path=path if pair.g else None,
            prediction_path=None if pair.g else path,
            reference=_given_text(leaf) if pair.g else None,
            prediction=None if pair.g else _given_text(leaf),
            distance=None,
            length=None,
            similarity=None,
            reason=cast(str, pair.why),
            weight=in_unit(pair.length if len(leaves) == 1 else leaf.size, scale),
            credit=credit,
            compared_as=_comparison(leaf if pair.g else None, None if pair.g else leaf),
        )
        for path, leaf in leaves
    ]


def _comparison(g: Node | None, p: Node | None) -> FieldComparison | None:
    """Return how two leaves were compared, with fields."""
    rule = g.rule if g else p.rule if p else None
    if rule is None:
        return None
    comparator = rule.comparator
    if comparator is None:
        return FieldComparison(comparator="text", reference=None, prediction=None, tolerance=None)
    parsed = [None if node is None or node.kind != LEAF or node.value is None else node.value for node in (g, p)]
    reference, prediction = (None if value is None else comparator.words(value) for value in parsed)
    return FieldComparison(comparator.name, reference, prediction, _tolerance_words(comparator))


def _tolerance_words(comparator: Comparator) -> str | None:
    """Return the tolerance of numbers in words."""
    if not isinstance(comparator, NumberComparator) or not (comparator.absolute or comparator.relative):
        return None
    absolute = exact_text(comparator.absolute) if comparator.absolute else ""
    relative = f"{exact_text(comparator.relative * 100)} %" if comparator.relative else ""
    return " or ".join(filter(None, (absolute, relative)))


def _leaves(node: Node, path: str, size: int, of_reference: bool) -> list[tuple[str, Node]]:
    """List the leaves of a node without a partner; of alternatives, take the one with the size that was counted."""
    leaves = []
    stack = [(node, path, size)]
    while stack:
        node, path, size = stack.pop()
        if node.kind == ONE_OF:
            sizes = [option.size for option in node.value]
            chosen = sizes.index(size) if size in sizes else sizes.index(max(sizes))
            into = _path_into(node, position_of(node, chosen), of_reference)
            stack.append((node.value[chosen], path + into, sizes[chosen]))
        elif node.kind <= LEAF:
            leaves.append((path, node))
        else:
            children = list(node.value.items() if node.kind != LIST else enumerate(node.value))
            if node.positions is not None:
                children = sorted(((node.positions[index], child) for index, child in children), key=lambda own: own[0])
            stack += [(child, path + _path_into(node, key, of_reference), child.size) for key, child in children[::-1]]
    return leaves


def _path_into(node: Node, key: str | int, of_reference: bool) -> str:
    """Return the path from a node to its child, as the node was written."""
    if node.kind == ONE_OF and isinstance(node.source, list):
        return path_part(key, LIST)
    is_literal = of_reference and node.kind == DICT and is_literal_dict(node.source)
    return (path_part("$literal", DICT) if is_literal else "") + path_part(key, node.kind)


def _given_text(node: Node) -> str | None:
    if node.kind == NONE:
        return node.source if isinstance(node.source, str) else None  # with fields, a blank text counts as None
    if node.kind == LEAF:
        return str(plain_value(node.source))
    return reprlib.repr(node.source)


# ---------------------------------------------------------------------------------------------------
# anls_eval/scoring.py
# The public functions that score texts and trees.
# ---------------------------------------------------------------------------------------------------

def anls_score(
    prediction: object,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
) -> float:
    """Compute ANLS for one question: the similarity of a prediction to the closest accepted answer.

    Args:
        prediction: The predicted text. A number or bool is converted with `str`. None and NaN count as unanswered and
            score 0, with a warning.
        answers: The accepted answers: a list or tuple of strings, one string, or SQuAD's ``{"text": [...]}``.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.

    Returns:
        The similarity to the closest answer, from 0 to 1; 0 if it does not reach the threshold.

    Raises:
        ValueError: The prediction or an answer is not text, there is no answer, the protocol is unknown or scores
            trees, or the threshold is outside [0, 1].

    Example:
        >>> anls_score("CocaCola", ["Coca Cola", "Coca Cola Company"])
        0.8888888888888888
        >>> anls_score("ab", ["ac"]), anls_score("ab", ["ac"], protocol="paper")
        (0.5, 0.0)

    Source: Biten et al., "Scene Text Visual Question Answering", ICCV 2019, section 3; https://arxiv.org/abs/1905.13648.
    """
    rules = resolve_rules(protocol, threshold, of_trees=False, extract=extract)
    text = to_text(prediction, "prediction", "one string")
    if rules.extract:
        text = extracted(text, rules.extract)
    options = to_answers(answers, "answers")
    score = measure_one(text, options, rules)[0]
    for note in text_notes_of_one(text, options, score, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def anls_scores(
    predictions: Texts,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
) -> Floats:
    """Compute ANLS for each of n questions in one batch; the ANLS of a dataset is the mean.

    Scores depend neither on the order of the questions nor on how they are split over calls.

    Args:
        predictions: n predicted texts: a list, NumPy array, pandas Series or Arrow column (fastest) of what
            `anls_score` takes.
        answers: n lists of accepted answers, in the same kinds of columns; ``list<string>`` in Arrow.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: As for `anls_score`, with the row of the question, or the columns differ in length.

    Example:
        >>> anls_scores(["Denver Broncos", "12/15/89"], [["Denver Broncos"], ["12/15/88"]])
        array([1.   , 0.875])
    """
    rules = resolve_rules(protocol, threshold, of_trees=False, extract=extract)
    return score_texts(predictions, answers, rules).scores


def score_texts(predictions: Texts, answers: Texts, rules: Protocol, *, detailed: bool = False) -> Scored:
    """Score a column of texts for a public function, whose caller gets the warnings."""
    left, right = read_column(predictions, "predictions", TEXTS), read_column(answers, "answers", TEXT_LISTS)
    check_same_length(left, right, "answers")
    if rules.extract:
        left = extracted_texts(left, rules.extract)
    scored = score_columns(left, right, rules, detailed=detailed)
    for note in text_notes(scored, rules):
        warnings.warn(note, UserWarning, stacklevel=3)
    return scored


def anls_star_score(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> float:
    """Compute ANLS* for one tree, such as JSON extracted from a document.

    Dicts are compared key by key, lists by their best matching in any order, leaves as texts. All leaves have equal
    weight; missing and hallucinated leaves lower the score. The order of list elements, alternatives and dict keys does
    not change a single bit of it.

    Args:
        prediction: A tree of dicts, lists, strings, numbers, bools and None. Decimal, date, time, Enum and NumPy
            scalars are converted to the text a person would write; NaN counts as None. Keys are converted to texts as
            well: None and bools as in JSON, an Enum by its value.
        reference: The correct tree, with the same types. A tuple, `one_of` or ``{"$one_of": [...]}`` holds
            alternatives, of which the closest counts; ``{"$literal": {...}}`` is a dict that really has such a key.
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's, 0.5.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        The sum of the similarities of the leaves divided by their number, from 0 to 1.

    Raises:
        TypeError: An object cannot be part of a tree; the message names its path and how to convert it.
        ValueError: The prediction has a tuple, the reference has a tuple without alternatives, one of them contains
            itself, the protocol is unknown or scores texts, or the threshold is outside [0, 1].

    Example:
        >>> anls_star_score({"total": "17.9", "items": ["pen", "ink"]}, {"total": "17.99", "items": ["ink", "pen"]})
        0.9333333333333333

    Source: Peer et al., "ANLS* - A Universal Document Processing Metric for Generative Large Language Models",
    https://arxiv.org/abs/2402.03848, equations 3 to 6.
    """
    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    resolved = read_fields(fields, rules)
    if rules.extract:
        prediction = extracted(prediction, rules.extract)
    score, searched = score_tree(prediction, reference, rules, resolved)
    for note in tree_notes([prediction], [reference], rules, searched=searched, fields=resolved):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def anls_star_scores(
    predictions: Sequence[Tree],
    references: Sequence[Tree],
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Floats:
    """Compute ANLS* for each of n trees in one batch; the ANLS* of a dataset is the mean.

    Args:
        predictions: n trees: a list or column of what `anls_star_score` takes.
        references: n correct trees, of what `anls_star_score` takes.
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's, 0.5.
        extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        TypeError: As for `anls_star_score`, with the row of the tree.
        ValueError: As for `anls_star_score`, with the row of the tree, or both sides differ in length.

    Example:
        >>> anls_star_scores([{"a": "x"}, ["y"]], [{"a": "x", "b": "z"}, ["y"]])
        array([0.5, 1. ])
    """
    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    given, expected = as_list(read_column(predictions, "predictions")), as_list(read_column(references, "references"))
    check_same_length(given, expected, "references")
    resolved = read_fields(fields, rules)
    if rules.extract:
        given = [extracted(own, rules.extract) for own in given]
    scores, searched = score_trees(given, expected, rules, resolved)
    for note in tree_notes(given, expected, rules, searched=searched, fields=resolved):
        warnings.warn(note, UserWarning, stacklevel=2)
    return scores


def explain(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Explanation:
    """Score a tree or a text and explain the score.

    Args:
        prediction: A tree as for `anls_star_score`, or with a protocol for texts a text as for `anls_score`.
        reference: A tree as for `anls_star_score`, or with a protocol for texts the accepted answers.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        The score with the closest reference, the key scores and one row for each leaf. ``str()`` gives a table.

    Raises:
        TypeError: As for `anls_star_score`.
        ValueError: As for `anls_star_score`, or with a protocol for texts as for `anls_score`.

    Example:
        >>> print(explain({"date": "2024-01-03"}, {"date": "2024-01-02", "total": "17.99"}))  # doctest: +ELLIPSIS
        score 0.45 = 0.9 of 2
        credit  reference              prediction              why it is not full
        0/1     $.total    17.99       -           -           missing
        0.9/1   $.date     2024-01-02  $.date      2024-01-03  1 of 10 characters differ
        anls|protocol:anls_star|tree:released|pred:strip+lower+collapse|...
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)
    given = prediction if rules.tree else to_text(prediction, "prediction", "one string")
    prediction = extracted(given, rules.extract)
    if rules.tree:
        explanation = explain_tree(prediction, reference, rules, resolved)
        notes = tree_notes([prediction], [reference], rules, fields=resolved)
    else:
        explanation, notes = explain_text(prediction, reference, rules)
    if isinstance(given, str) and prediction != given:
        explanation = dataclasses.replace(explanation, raw_prediction=str(given))
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return explanation


# ---------------------------------------------------------------------------------------------------
# anls_eval/citation.py
# The papers of ANLS and ANLS*, as BibTeX.
# ---------------------------------------------------------------------------------------------------

CITATION = r"""@inproceedings{biten2019stvqa,
  title = {Scene Text Visual Question Answering},
  author = {Biten, Ali Furkan and Tito, Rub\`en and Mafla, Andr\'es and Gomez, Lluis and Rusi\~nol, Mar\c{c}al and
            Valveny, Ernest and Jawahar, C. V. and Karatzas, Dimosthenis},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year = {2019},
  url = {https://arxiv.org/abs/1905.13648}
}
@article{peer2024anls,
  title = {ANLS* -- A Universal Document Processing Metric for Generative Large Language Models},
  author = {Peer, David and Sch{\"o}pf, Philemon and Nebendahl, Volckmar and Rietzler, Alexander and Stabinger,
            Sebastian},
  journal = {arXiv preprint arXiv:2402.03848},
  year = {2024},
  url = {https://arxiv.org/abs/2402.03848}
}
"""


# ---------------------------------------------------------------------------------------------------
# anls_eval/questions/columns.py
# Store question_ids, predictions and answers as Arrow columns until they are scored.
# ---------------------------------------------------------------------------------------------------

_MAX_PLAIN = 100_000  # values of one tree

STORED = pa.schema(
    {
        "predictions": pa.struct({"question_id": BYTES, "prediction_text": BYTES}),
        "references": pa.struct({"question_id": BYTES, "answers": pa.large_list(BYTES)}),
    }
)

STORED_TREES = STORED.set(1, pa.field("references", pa.struct({"question_id": BYTES, "answers": BYTES})))


class Side(NamedTuple):
    """Checked predictions or references, as `STORED` holds them. Ids are null for all rows or for none."""

    ids: pa.Array
    values: pa.Array


def stored_ids(ids: list[str | None]) -> pa.Array:
    """Store question_ids: all of them, or None for each row."""
    return pa.nulls(len(ids), BYTES) if ids[:1] == [None] else stored_texts(ids, str)


def stored_texts(values: list[Any], where: Where, side: str = "predictions") -> pa.Array:
    """Check that predictions are texts, or references lists of texts, and store them."""
    try:
        texts = prediction_texts(values, where) if side == "predictions" else answer_texts(values, where)
        return texts.view(STORED.field(side).type.field(1).type)
    except UnicodeEncodeError:
        if side == "predictions":
            return bytes_array(encode_texts(each_prediction(values, where)))
        return bytes_list_array(encode_texts(each_answers(values, where)))


def stored_trees(trees: list[Any], side: str, where: Where, rules: Protocol) -> pa.Array:
    """Check trees and store them as JSON text, in which alternatives and key order survive Arrow."""
    texts: list[bytes] = []
    for row, tree in enumerate(trees):
        try:
            if not _is_plain_json(tree):
                build_tree(tree, side.removesuffix("s"), rules)
                tree = tree_as_json(tree, side.removesuffix("s"))
            texts.append(json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where(row)}: {error}") from None
        except RecursionError:
            raise ValueError(
                f"{where(row)}: nested too deeply to be stored as JSON; score it with anls_star_score"
            ) from None
    return bytes_array(texts)


def _is_plain_json(tree: Any) -> bool:
    """Return whether a tree is plain JSON, and not so large that it may contain itself."""
    values = [tree]
    for value in values:
        kind = type(value)
        if kind is dict and set(map(type, value)) <= {str} and "$one_of" not in value and "$literal" not in value:
            values.extend(value.values())
        elif kind is list:
            values.extend(value)
        elif kind is int:
            if abs(value) > 2**63:  # perhaps with more digits than Python writes
                return False
        elif (kind not in SCALARS or value != value) and value is not None:
            return False
        if len(values) > _MAX_PLAIN:
            return False
    return True


def is_same_tree(stored: bytes, other: bytes) -> bool:
    """Return whether stored trees are equal, in any order of their keys."""
    return stored == other or len({json.dumps(json.loads(text), sort_keys=True) for text in (stored, other)}) == 1


TEXT_TYPES = {"predictions": TEXTS, "references": TEXT_LISTS}


def stored_table(batches: list[dict[str, Side]], schema: pa.Schema) -> pa.Table:
    """Return the batches as a table of two structs; the shorter side is padded with nulls."""
    columns = []
    for side, kind in zip(schema.names, schema.types, strict=True):
        fields = map(join_arrays, zip(*(batch[side] for batch in batches), strict=True))
        columns.append(pa.StructArray.from_arrays(fields, fields=list(kind)))
    length = max(map(len, columns))
    padded = [[column, pa.nulls(length - len(column), column.type)] for column in columns]
    return pa.Table.from_arrays(list(map(join_arrays, padded)), schema=schema)


def stored_side(table: pa.Table, side: str) -> tuple[pa.Array, pa.Array]:
    """Return the ids and values of one side, without the padding."""
    column = join_arrays(table[side].chunks)
    column = column.filter(column.is_valid()) if column.null_count else column
    return column.field(0), column.field(1)


def id_list(ids: pa.Array) -> list[str]:
    """Return stored question_ids as a list."""
    return as_list(decode_texts(ids, TEXTS))


# ---------------------------------------------------------------------------------------------------
# anls_eval/questions/pairing.py
# Pair predictions and references by question_id.
# ---------------------------------------------------------------------------------------------------

_SHOWN = 5  # ids in a message


class Aligned(NamedTuple):
    """The questions in the order of the references, with a null for each missing prediction."""

    question_ids: list[str] | None
    texts: pa.Array
    answers: pa.Array
    missing: list[int]  # the rows of those nulls
    unknown: int
    notes: list[str]


def align_questions(
    table: pa.Table, missing: str, unknown: str, same: Callable[[Any, Any], bool] = operator.eq
) -> Aligned:
    """Pair predictions and references by question_id, or by position where there are no ids."""
    prediction_ids, texts = stored_side(table, "predictions")
    reference_ids, answers = stored_side(table, "references")
    if not len(texts) and not len(answers):
        raise ValueError("nothing to score: predictions and references are empty")
    if prediction_ids.null_count == len(texts) and reference_ids.null_count == len(answers):
        return Aligned(None, texts, answers, [], 0, [])
    if prediction_ids.null_count or reference_ids.null_count:
        raise ValueError("some rows have a question_id and others have none; expected all with one or all without")

    notes: list[str] = []
    prediction_ids, texts = drop_repeats(prediction_ids, texts, "predictions", notes, same)
    if prediction_ids.equals(reference_ids):  # then the references do not repeat either
        return Aligned(reference_ids, texts, answers, [], 0, notes)
    reference_ids, answers = drop_repeats(reference_ids, answers, "references", notes, same)
    positions = pc.index_in(reference_ids, value_set=prediction_ids)
    missing_rows = np.flatnonzero(as_bools(positions.is_null()))
    unknown_ids = prediction_ids[:0]
    if len(prediction_ids) > len(reference_ids) - len(missing_rows):
        unknown_ids = prediction_ids.filter(pc.invert(pc.is_in(prediction_ids, value_set=reference_ids)))
    missing_ids = reference_ids.take(number_array(missing_rows))
    notes += unmatched_ids(first_ids(missing_ids), first_ids(unknown_ids), len(answers), missing, unknown)
    if not len(answers):
        raise ValueError("nothing to score: references are empty")
    return Aligned(reference_ids, texts.take(positions), answers, missing_rows.tolist(), len(unknown_ids), notes)


def check_same_ids(predictions_without: object, references_without: object, in_files: bool = False) -> None:
    """Raise an AnlsError if rows of only one side are without question_ids."""
    if bool(predictions_without) != bool(references_without):
        without, other = ("predictions", "references") if predictions_without else ("references", "predictions")
        remedy = Remedy("columns", {f"{without}.question_id": "NAME"}, f"name the id column of the {without}")
        raise AnlsError(
            f"{other} have question_ids and {without} have none; either both need question_ids or neither does.",
            remedies=[remedy] if in_files else [],
        )


class UnmatchedIdsError(AnlsError):
    """Ids of one side are not on the other."""

    def with_incomplete(self, files: Sequence[str]) -> UnmatchedIdsError:
        """Return this error with notes on files that are empty or may be cut off, which may be the reason."""
        more = [f"{len(files) - _SHOWN:,} more are empty or incomplete"] if len(files) > _SHOWN else []
        told = [*files[:_SHOWN], *more]
        return UnmatchedIdsError(self.problem + "".join(f" {note}." for note in told), remedies=self.remedies)


FirstIds = tuple[int, list[str]]  # the number of some ids, and the first of them, which messages show


def first_ids(ids: pa.Array) -> FirstIds:
    """Count ids, and return the first of them."""
    return len(ids), id_list(ids[:_SHOWN])


def unmatched_ids(
    missing_ids: FirstIds, unknown_ids: FirstIds, n: int, missing: str, unknown: str, in_files: bool = False
) -> list[str]:
    """Return the notes on missing and unknown ids of n questions, or raise the error where they are not allowed."""
    if (missing_ids[0] and missing == "error") or (unknown_ids[0] and unknown == "error"):
        found = " and ".join(
            [
                *_named_ids(missing_ids, "question has no prediction", "questions have no prediction"),
                *_named_ids(unknown_ids, "prediction has no reference", "predictions have no reference"),
            ]
        )
        way = _written_otherwise(missing_ids[1], unknown_ids[1])
        advice = f"{way}. Write the ids of both sides alike, as text."
        if n and unknown_ids[0] and missing_ids[0] == n:  # counting all of them as 0 would help nobody
            problem = f"{found}. There is no id in common: "
            if way:
                raise UnmatchedIdsError(f"{problem}they {advice}")
            raise UnmatchedIdsError(
                f"{problem}are they from different splits?", remedies=[NAME_IDS] if in_files else []
            )
        remedies = [COUNT_AS_ZERO] if missing_ids[0] else []
        remedies += [IGNORE_UNKNOWN] if unknown_ids[0] else []
        problem = f"{found}. They {advice}" if way else f"{found}. Expected the same ids on both sides."
        raise UnmatchedIdsError(problem, remedies=remedies)
    return [
        *_named_ids(missing_ids, "question has no prediction and scores 0", "questions have no prediction and score 0"),
        *_named_ids(
            unknown_ids, "prediction has no reference and is left out", "predictions have no reference and are left out"
        ),
    ]


def _written_otherwise(missing: list[str], unknown: list[str]) -> str:
    """Return in which way the first ids of both sides differ, if it is one way and none of them differs otherwise."""
    if not missing or not unknown:
        return ""
    wanted, given = set(missing), set(unknown)
    ways: dict[str, Callable[[str], str]] = {
        "differ in whitespace": str.strip,
        "differ in a final .0, which pandas writes where an id was missing": lambda id_: id_.removesuffix(".0"),
        "differ in leading zeros": lambda id_: id_[:-1].lstrip("0") + id_[-1:],
        "differ in upper and lower case": str.casefold,
        "look alike, but are composed of other characters (Unicode NFC or NFD)": functools.partial(
            unicodedata.normalize, "NFC"
        ),
    }
    for way, plain in ways.items():
        if set(map(plain, wanted)) == set(map(plain, given)):
            return way
    for one, other, side in ((missing, unknown, "predictions"), (unknown, missing, "references")):
        start = other[0].removesuffix(one[0])
        if start and not start[-1].isdigit() and {f"{start}{id_}" for id_ in one} == set(other):
            return f"begin with {start!r} in the {side} alone"
    return ""


COUNT_AS_ZERO = Remedy("missing", "zero", "count missing predictions as 0")
IGNORE_UNKNOWN = Remedy("unknown", "ignore", "ignore predictions with unknown ids")
NAME_IDS = Remedy(
    "columns",
    {"predictions.question_id": "NAME", "references.question_id": "NAME"},
    "pair by other columns",
)


def _named_ids(ids: FirstIds, one: str, several: str) -> list[str]:
    """Return the sentence ``2 questions have no prediction: question_ids '3', '7'``, or none if there are no ids."""
    count, first = ids
    names = ", ".join([repr(id_) if len(id_) <= 60 else reprlib.repr(id_) for id_ in first])
    if count <= 1:
        return [f"1 {one}: question_id {names}"] * count
    return [f"{count} {several}: question_ids {names}{f' and {count - len(first)} more' if count > len(first) else ''}"]


def drop_repeats(
    ids: pa.Array,
    values: pa.Array,
    side: str,
    notes: list[str],
    same: Callable[[Any, Any], bool] = operator.eq,
    in_file: Callable[[int], str] = lambda row: "",
) -> tuple[pa.Array, pa.Array]:
    """Drop rows that repeat an id with the same content, as samplers that pad the last batch do."""
    if len(pc.unique(ids)) == len(ids):
        return ids, values
    first_of: dict[bytes, int] = {}
    contents = values.to_pylist()
    for row, id_ in enumerate(ids.to_pylist()):
        first = first_of.setdefault(id_, row)
        if not same(contents[first], contents[row]):
            kind = TEXT_TYPES["references" if pa.types.is_large_list(values.type) else "predictions"]
            given, again = (as_list(decode_texts(values[at : at + 1], kind))[0] for at in (first, row))
            raise ValueError(
                f"duplicate question_id {id_list(ids[row : row + 1])[0]!r} in {side} with different content: "
                f"{given!r}{in_file(first)} and {again!r}{in_file(row)}; expected each question_id once. Remove one of "
                "them."
            )
    kept = number_array(np.array(list(first_of.values())))
    notes.append(repeated_note(len(ids) - len(kept), side))
    return ids.take(kept), values.take(kept)


def repeated_note(count: int, side: str) -> str:
    """Return the note on rows of a side that were left out because they repeat others."""
    rows = "row" if count == 1 else "rows"
    return f"{count:,} repeated {rows} in the {side} (same question_id, same content): left out"


# ---------------------------------------------------------------------------------------------------
# anls_eval/structure.py
# Read lists and dicts from texts, as Python, NumPy, pandas and JSON print them. Nothing is evaluated.
# ---------------------------------------------------------------------------------------------------

Parse = str | Sequence[str] | None
"""Whose texts are taken apart one by one: "predictions", "references" or columns; "none" takes none apart."""

_MAX_CHARACTERS = 1_000_000  # a longer text is one value
_MAX_DEPTH = 100

# A string as Python's repr writes it; reading it can neither fail nor warn.
_PRINTED_ESCAPE = r"\\(?:[\\'\"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4})"
_TOKEN = re.compile(
    rf"""(?P<string>'(?:[^'\\\n\r\0]|{_PRINTED_ESCAPE})*'|"(?:[^"\\\n\r\0]|{_PRINTED_ESCAPE})*")
    |(?P<number>[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<call>(?:np\.|numpy\.)?(?:array|str_|bool_?|float(?:16|32|64)|u?int(?:8|16|32|64))\()
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark>[\[\]{{}}():,=])
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_WORDS = {"None": None, "nan": None, "NaN": None, "null": None, "True": True, "False": False}
_LOOKS_SO = re.compile(r"""\s*(?:\[\s*['"\[{]|\{\s*['"]|\(\s*(?:'[^']*'|"[^"]*")\s*,)""")
SQUAD_KEYS = {"text", "answer_start"}


def parse_names(parse: Parse, columns: Iterable[str] = ()) -> frozenset[str] | None:
    """Return the names in the option `parse`, of a side or one of the columns; empty for "none", None for None."""
    if parse is None:
        return None
    given = [parse] if isinstance(parse, str) else list(parse) if isinstance(parse, Iterable) else [parse]
    names = ["references" if name == "answers" else name for name in given]
    known = ("predictions", "references", *columns)
    if names == ["none"]:
        return frozenset()
    if not names or any(name not in known for name in names):
        expected = f"expected none, or some of {', '.join(map(str, ('predictions', 'answers', *columns)))}"
        raise AnlsError(expected, option="parse", value=parse)
    return frozenset(names)


class _NoStructureError(ValueError):
    """The text is not wholly a list or a dict."""


def structure_in(text: str) -> list[Any] | dict[str, Any] | None:
    """Return the list or dict that a whole text prints; None if it is anything else, too long or too deep."""
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("[]", "{}") or len(bare) > _MAX_CHARACTERS:
        return None
    try:
        found = _decoder_of_structures.decode(bare)
    except RecursionError:
        return None
    except ValueError:
        found = _printed(bare)
    # Each level opens with a bracket: few of them are never too deep.
    is_deep = found is not None and bare.count("[") + bare.count("{") > _MAX_DEPTH and _is_too_deep(found)
    return None if is_deep else found


def looks_like_structure(text: str) -> bool:
    """Return whether a text begins as a printed list, dict, set or tuple of strings does, whole or not."""
    return _LOOKS_SO.match(text) is not None


def answers_in(text: str) -> list[Any] | None:
    """Return the accepted answers that a text prints as a list, or as SQuAD's struct; None for every other text."""
    return scalars_in(without_squad_form(structure_in(text)))


def labels_in(text: str) -> list[Any] | None:
    """Return the labels that a text prints as a list; None for every other text."""
    return scalars_in(structure_in(text))


_NESTED = frozenset({list, dict})


def scalars_in(found: Any) -> list[Any] | None:
    """Return a list of texts and numbers without its missing values; None if it is not one."""
    if not isinstance(found, list) or not _NESTED.isdisjoint(map(type, found)):
        return None
    return [item for item in found if item is not None]


def without_squad_form(value: Any) -> Any:
    """Return the texts of answers in SQuAD's form; any other value is returned unchanged."""
    if isinstance(value, dict) and value.keys() == SQUAD_KEYS:
        return value["text"]
    if (
        isinstance(value, list)
        and value
        and isinstance(value[0], dict)  # said first, for speed
        and all(isinstance(item, dict) and item.keys() >= SQUAD_KEYS for item in value)
    ):
        return [item["text"] for item in value]
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NoStructureError
    return found


def _constant_in_structure(name: str) -> None:
    if name != "NaN":
        raise _NoStructureError


_decoder_of_structures = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_constant_in_structure)


def _is_too_deep(found: Any) -> bool:
    level = [found]
    for _ in range(_MAX_DEPTH):
        level = [
            value
            for own in level
            for value in (own.values() if isinstance(own, dict) else own)
            if isinstance(value, (list, dict))
        ]
        if not level:
            return False
    return True


def _printed(text: str) -> list[Any] | dict[str, Any] | None:
    """Return what Python, NumPy or pandas printed, or None."""
    # A lone surrogate, which Python's parser cannot encode, is the same written as an escape.
    printed = _Printed(text.encode("utf-8", "backslashreplace").decode())
    try:
        found = printed.value(0)
        return found if printed.at == len(printed.text) and isinstance(found, (list, dict)) else None
    except (ValueError, SyntaxError):  # ValueError: also a number of too many digits
        return None


class _Printed:
    """A text that is read from its start; `at` is where the next token begins."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def value(self, depth: int) -> Any:
        """Read a value."""
        if depth > _MAX_DEPTH:
            raise _NoStructureError
        kind, part = self._take()
        if kind == "string":
            return ast.literal_eval(part) if "\\" in part else part[1:-1]
        if kind == "number":
            return int(part) if part.lstrip("+-").isdigit() else float(part)
        if kind == "word" and part in _WORDS:
            return _WORDS[part]
        if kind == "call":
            return self._called(depth)
        if part == "[":
            return self._items("]", depth)
        if part == "{":
            return self._dict(depth)
        raise _NoStructureError

    def _next(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.at)

    def _take(self) -> tuple[str, str]:
        """Read a token and the whitespace behind it."""
        found = self._next()
        if found is None or found.lastgroup is None:
            raise _NoStructureError
        self.at = _SPACE.match(self.text, found.end()).end()  # type: ignore[union-attr] # which matches everywhere
        return found.lastgroup, found[0]

    def _is_next(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _skip(self, mark: str) -> bool:
        """Read this mark if it comes next."""
        if not self._is_next(mark):
            return False
        self._take()
        return True

    def _items(self, end: str, depth: int) -> list[Any]:
        """Read values up to `end`, which have commas between them, or whitespace as NumPy prints them."""
        found: list[Any] = []
        while not self._skip(end):
            found.append(self.value(depth + 1))
            has_gap = self.text[self.at - 1].isspace()
            if not (self._skip(",") or has_gap or self._is_next(end)):
                raise _NoStructureError
        return found

    def _dict(self, depth: int) -> dict[str, Any]:
        pairs = []
        while not self._skip("}"):
            kind, part = self._take()
            if kind not in ("string", "number") or not self._skip(":"):
                raise _NoStructureError
            pairs.append((str(ast.literal_eval(part)), self.value(depth + 1)))
            if not (self._skip(",") or self._is_next("}")):
                raise _NoStructureError
        return _without_repeats(pairs)

    def _called(self, depth: int) -> Any:
        """Read the rest of ``array([...], dtype=...)`` or of a NumPy scalar."""
        found = self.value(depth + 1)
        while self._skip(","):
            if self._is_next(")"):
                break
            self._option()
        if not self._skip(")"):
            raise _NoStructureError
        return found

    def _option(self) -> None:
        """Read ``dtype=object``, ``dtype='<U5'`` or ``shape=(0,)``, which say nothing about the values."""
        if self._take()[0] != "word" or not self._skip("="):
            raise _NoStructureError
        if self._skip("("):
            self._items(")", _MAX_DEPTH - 1)
        elif self._take()[0] not in ("string", "word"):
            raise _NoStructureError


# ---------------------------------------------------------------------------------------------------
# anls_eval/questions/printed.py
# Take apart the answers and trees of aligned questions that are texts which print lists or dicts.
# ---------------------------------------------------------------------------------------------------

def taken_apart(aligned: Aligned, rules: Protocol, parse: Parse) -> tuple[Aligned, list[str], list[str]]:
    """Return the questions with the sides in `parse` taken apart, the sides of which some was, and the notes."""
    names = parse_names(parse)
    if not rules.tree and "predictions" in (names or ()):
        raise AnlsError(f"protocol {rules.name!r} compares predictions as they are", option="parse", value=parse)
    taken, notes = [], []
    for side in ("predictions", "references") if rules.tree else ("references",):
        column = aligned.texts if side == "predictions" else aligned.answers
        steps = rules.extract if side == "predictions" and names is None else ()
        read = _PrintedRows(column, side, rules, steps)
        if read.found and side in (names or ()):
            column = read.replaced()
            aligned = aligned._replace(texts=column) if side == "predictions" else aligned._replace(answers=column)
            taken.append(side)
            notes += printed_sentences(side, len(column), taken=len(read.found))
        elif read.found and names is None:
            notes += printed_sentences(side, len(column), left=len(read.found), shown=read.shown)
    return aligned, taken, notes


class _PrintedRows:
    """The rows of a stored column that print a list or a dict: what is `found` in them, by row, and the first text.

    Those of which the steps of an extraction will make a document are left out.
    """

    def __init__(self, column: pa.Array, side: str, rules: Protocol, steps: tuple[str, ...]) -> None:
        self._column, self._side, self._rules = column, side, rules
        self.found: dict[int, Any] = {}
        self.shown = ""
        read: Callable[[str], Any] = structure_in if rules.tree else answers_in
        for row in self._candidates():
            text = json.loads(column[row].as_py()) if rules.tree else _text_of(column[row : row + 1])
            structure = read(text)
            if structure is not None and not is_document(text, steps):
                self.found[row] = structure
                self.shown = self.shown or short_repr(text)

    def _candidates(self) -> list[int]:
        """Return the rows of a single text that begins with a bracket."""
        if self._rules.tree:
            return list(map(int, np.flatnonzero(_begins(self._column, b'"[', b'"{'))))
        begin = np.flatnonzero(_begins(self._column.flatten(), b"[", b"{"))
        if not len(begin):
            return []
        lengths = as_ints(pc.list_value_length(self._column))
        rows = np.repeat(np.arange(len(lengths)), lengths)[begin]
        return list(map(int, rows[lengths[rows] == 1]))

    def replaced(self) -> pa.Array:
        """Return the column with what was found."""

        def where(at: int) -> str:
            return f"{self._side}[{rows[at]}]"

        rows, values = list(self.found), list(self.found.values())
        if self._rules.tree:
            new = stored_trees(values, self._side, where, self._rules)
        else:
            new = stored_texts(values, where, self._side)
        positions = np.arange(len(self._column))
        positions[rows] = len(self._column) + np.arange(len(rows))
        return pa.concat_arrays([self._column, new]).take(number_array(positions))


def _begins(values: pa.Array, *starts: bytes) -> Any:
    """Return which values begin with one of these bytes."""
    one, other = (pc.starts_with(values, start) for start in starts)
    return as_bools(pc.or_(one, other))


def _text_of(row: pa.Array) -> str:
    text: str = as_list(decode_texts(row.flatten(), TEXTS))[0]
    return text


# ---------------------------------------------------------------------------------------------------
# anls_eval/questions/rows.py
# Read rows of predictions and references, with or without a question_id, into stored columns.
# ---------------------------------------------------------------------------------------------------

def read_batch(predictions: Any, references: Any, rules: Protocol) -> dict[str, Side]:
    """Read and check a batch; without ids, both sides must have the same length."""
    given = {"predictions": predictions, "references": references}
    rows = {side: [] if own is None else as_list(read_column(own, side)) for side, own in given.items()}
    read = _read_trees(rows) if rules.tree else {side: _read_rows(own, side) for side, own in rows.items()}
    (prediction_ids, texts), (reference_ids, answers) = read.values()
    if texts and answers:
        check_same_ids(prediction_ids[0] is None, reference_ids[0] is None)
    if None in prediction_ids[:1] + reference_ids[:1]:
        check_same_length(texts, answers, "references")

    def stored(side: str, ids: list[str | None], values: list[Any]) -> pa.Array:
        def where(row: int) -> str:
            return f"{side}[{row}]" + ("" if ids[row] is None else f" (question_id {ids[row]!r}): {_KEYS[side]!r}")

        if rules.tree:
            return stored_trees(values, side, where, rules)
        return stored_texts(values, where, side)

    values = {side: stored(side, ids, own) for side, (ids, own) in read.items()}
    own_ids = stored_ids(prediction_ids)
    other_ids = own_ids if reference_ids == prediction_ids else stored_ids(reference_ids)  # mostly the same
    return {
        "predictions": Side(own_ids, values["predictions"]),
        "references": Side(other_ids, values["references"]),
    }


_KEYS = {"predictions": "prediction_text", "references": "answers"}  # of the values in rows


def _read_trees(rows: dict[str, list[Any]]) -> dict[str, tuple[list[str | None], list[Any]]]:
    """Return the ids and trees of both sides; a dict with a question_id is a row, other dicts are trees."""
    # Dicts without ids are rows only if all on both sides have just the key of a row.
    are_rows = all(isinstance(row, Mapping) and set(row) == {_KEYS[side]} for side in rows for row in rows[side])
    read: dict[str, tuple[list[str | None], list[Any]]] = {}
    for side, own in rows.items():
        if not (are_rows or any(map(is_row, own))):
            read[side] = [None] * len(own), own
            continue
        ids, values = _read_rows(own, side, is_tree=True)
        if side == "references":  # a list of answers in a row holds alternatives, while a bare list is one tree
            values = [tuple(value) if isinstance(value, list) else value for value in values]
        read[side] = ids, values
    return read


def is_row(value: Any) -> bool:
    """Return whether a value is a row with a question_id."""
    return isinstance(value, Mapping) and "question_id" in value


def _read_rows(rows: list[Any], side: str, is_tree: bool = False) -> tuple[list[str | None], list[Any]]:
    """Split rows into question_ids and values; bare values have no ids."""
    key = _KEYS[side]
    try:
        ids, values = [row["question_id"] for row in rows], [row[key] for row in rows]
    except (KeyError, TypeError, IndexError):
        ids, values = _read_unusual_rows(rows, side, key, is_tree)
    if operator.countOf(map(type, ids), str) < len(ids):
        ids = [None if id_ is _NO_ID else _id_text(id_, f"{side}[{row}]") for row, id_ in enumerate(ids)]
    return ids, values


_NO_ID = object()


def _read_unusual_rows(rows: list[Any], side: str, key: str, is_tree: bool) -> tuple[list[Any], list[Any]]:
    """Read bare values or rows without ids; raise a ValueError for a row that is neither."""
    if not any(issubclass(kind, Mapping) for kind in set(map(type, rows))):
        return [_NO_ID] * len(rows), rows

    def is_wrapped(row: Any) -> bool:  # in contrast to answers in SQuAD's form
        return isinstance(row, Mapping) and (key in row or not (side == "references" and "text" in row))

    wrapped = list(map(is_wrapped, rows))
    if not any(wrapped):
        return [_NO_ID] * len(rows), rows
    expected = f"{{'question_id': ..., {key!r}: ...}}"
    with_id = [in_row and "question_id" in row for row, in_row in zip(rows, wrapped, strict=True)]
    kinds = list(zip(wrapped, with_id, strict=True))
    for number, row in enumerate(rows):
        if kinds[number] != kinds[0]:
            where = f"{side}[{number}] is {describe_value(row)}, unlike {side}[0]"
            raise ValueError(f"{where}; expected all rows in one form, {expected}.")
    for number, row in enumerate(rows):
        if key not in row or (not with_id[number] and len(row) > 1):
            remedy = "Rename its keys."
            if is_tree and with_id[number]:
                row_of_tree = f'{{"question_id": 1, "{key}": {{...}}}}'
                remedy += f" A tree that has its own question_id goes in a row: {row_of_tree}."
            raise ValueError(f"{side}[{number}] is {describe_value(row)}; expected {expected}. {remedy}")
    return [row.get("question_id", _NO_ID) for row in rows], [row[key] for row in rows]


def _id_text(value: object, where: str) -> str:
    """Return an id as text: 17 and "17" are one id, "017" is another."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return number_text(int(value), f"the question_id of {where}")
    raise ValueError(f"{where} has the question_id {short_repr(value)}; expected a string or an integer.")


# ---------------------------------------------------------------------------------------------------
# anls_eval/metric.py
# The metric of the `evaluate` library.
# ---------------------------------------------------------------------------------------------------

_DESCRIPTION = """\
ANLS (Average Normalized Levenshtein Similarity) is the score of DocVQA, ST-VQA and InfographicVQA. For each question
it is the similarity 1 - edit distance / length of the prediction and the closest accepted answer, or 0 if that is below
0.5; the score is the mean over all questions. It forgives OCR slips but not wrong answers. Each leaderboard computes it
a little differently: the second argument of evaluate.load names the protocol, such as "rrc".
"""

_INPUTS = """
Args:
    predictions: A list of {"question_id": ..., "prediction_text": ...}, or of plain strings.
    references: A list of {"question_id": ..., "answers": [...]}, or of plain lists of accepted answers. With
        question_ids both sides are aligned by id, in any order; without, by position.
    threshold, extract, detailed, missing, unknown: See help(metric.compute).

Examples:
    >>> predictions = [{"question_id": "10285", "prediction_text": "Denver Broncos"},
    ...                {"question_id": "18601", "prediction_text": "12/15/89"}]
    >>> references = [{"question_id": "10285", "answers": ["Denver Broncos", "Denver R. Broncos"]},
    ...               {"question_id": "18601", "answers": ["12/15/88"]}]
    >>> metric.compute(predictions=predictions, references=references)
    {'anls_score': 0.9375}
"""


class ANLS(evaluate.Metric):
    """ANLS and ANLS* for `evaluate`: ``evaluate.load("anls")``, or with a protocol ``evaluate.load("anls", "rrc")``.

    If `compute` raises, everything added with `add` and `add_batch` stays, so that it can be completed and scored
    again; `reset` discards it.

    Args:
        config_name: A name or alias in `PROTOCOLS`, or a `Protocol`. Defaults to ``standard``.
        **options: The options of `evaluate.Metric`.

    Raises:
        TypeError: If `evaluate.Metric` does not have one of the options.
        ValueError: If the protocol is unknown.

    Example:
        >>> metric = ANLS("rrc")
        >>> metric.compute(predictions=["Denver Bronco"], references=[["Denver Broncos", "Broncos"]])
        {'anls_score': 0.9285714285714286}

    Source: Biten et al., "Scene Text Visual Question Answering", ICCV 2019, https://arxiv.org/abs/1905.13648, and
    Peer et al., "ANLS*", https://arxiv.org/abs/2402.03848.
    """

    writer: Any  # these three belong to evaluate.Metric, for several processes
    filelock: Any
    rendez_vous_lock: Any

    def __init__(self, config_name: str | Protocol | None = None, **options: Any) -> None:
        unknown = options.keys() - inspect.signature(evaluate.Metric.__init__).parameters.keys()
        if unknown:
            raise TypeError(
                f"unknown options {sorted(unknown)}: the protocol is the second argument of evaluate.load, such as "
                '"rrc", and options such as threshold belong to compute'
            )
        self._board = find_board_name(config_name)
        if self._board is not None and importlib.util.find_spec("anls_eval") is not None:
            self.protocol = PROTOCOLS["anls_star"]  # its trees hold the questions or documents
        else:
            self.protocol = get_protocol("standard" if config_name in (None, "default") else config_name)
        self._schema = STORED_TREES if self.protocol.tree else STORED
        self._tables: list[pa.Table] = []  # the rows that were added
        self._pending: list[dict[str, Side]] = []  # batches not yet joined to a table
        self._pending_rows = dict.fromkeys(STORED.names, 0)
        self._with_ids: bool | None = None  # whether the added rows have question_ids
        super().__init__(config_name=(self._board or self.protocol.name) if config_name else None, **options)
        self._experiment, self._round = self.experiment_id, 0

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                predictions={"question_id": text, "prediction_text": text},
                references={"question_id": text, "answers": text if self.protocol.tree else datasets.Sequence(text)},
            ),
            reference_urls=[
                "https://arxiv.org/abs/1905.13648",
                "https://arxiv.org/abs/2402.03848",
                "https://rrc.cvc.uab.es/?ch=17&com=tasks",
            ],
        )

    def __len__(self) -> int:
        """Return the number of rows added and not yet scored, of the longer side."""
        joined: int = sum(table.num_rows for table in self._tables)
        return joined + max(self._pending_rows.values())

    def add(
        self,
        *,
        prediction: Any = NOT_GIVEN,
        reference: Any = NOT_GIVEN,
        predictions: Any = NOT_GIVEN,
        references: Any = NOT_GIVEN,
    ) -> None:
        """Add one prediction and its reference, or with a question_id only one of them.

        Args:
            prediction: ``{"question_id": ..., "prediction_text": ...}``, or a plain string. For trees, a dict without
                a question_id is the tree itself.
            reference: ``{"question_id": ..., "answers": [...]}``, or plain accepted answers. For trees, a dict without
                a question_id is the tree itself.
            predictions: Another name of `prediction`, which `evaluate.combine` uses.
            references: Another name of `reference`, which `evaluate.combine` uses.

        Raises:
            ValueError: If the input cannot be scored; nothing is added.
        """
        prediction = predictions if prediction is NOT_GIVEN else prediction
        reference = references if reference is NOT_GIVEN else reference
        # None is a prediction that was not given, or a tree; beside a row with a question_id it means nothing.
        reference_alone = prediction is NOT_GIVEN or (prediction is None and is_row(reference))
        no_answers = reference is None and (is_row(prediction) or not self.protocol.tree)
        prediction_alone = reference is NOT_GIVEN or no_answers
        if reference_alone and prediction_alone:
            raise ValueError("add got neither prediction nor reference")
        given = None if reference_alone else [prediction], None if prediction_alone else [reference]
        self._take(read_batch(*given, self.protocol))

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add predictions and references; with question_ids, one side may be shorter or absent.

        Args:
            predictions: A list of what `add` takes as `prediction`, or a column of texts.
            references: A list of what `add` takes as `reference`, or a column of lists of texts.

        Raises:
            ValueError: If the input cannot be scored, with the row; nothing is added.
        """
        if predictions is None and references is None:
            raise ValueError("add_batch got neither predictions nor references")
        self._take(read_batch(predictions, references, self.protocol))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        threshold: Threshold = None,
        extract: Extract = None,
        detailed: bool = False,
        missing: Missing = "error",
        unknown: Unknown = "error",
        parse: Parse = None,
        protocol: None = None,
        answer_types: Any = None,
        options: Mapping[str, object] | None = None,
        fields: FieldsLike = None,
    ) -> dict[str, Any] | None:
        """Score all predictions that were added before and those passed here.

        Args:
            predictions: A list of what `add` takes as `prediction`, or a column of texts.
            references: A list of what `add` takes as `reference`, or a column of lists of texts.
            threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
            extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list
                of names; ``"none"`` for none. Defaults to the protocol's.
            detailed: Whether to return more, in the order of the references: ``scores``, ``question_ids`` and
                ``closest_references``; the counts ``n``, ``missing`` and ``unknown``; for texts ``unanswered``
                (predictions that are None) and ``padded`` (questions whose score extra whitespace raised, which
                happens in protocols that divide by raw lengths) with ``padding_gain``, its effect on the mean; for
                trees ``key_scores``; the ``signature``; and with `extract`, as ``extraction``, its ``steps``, how many
                predictions it ``changed``, and the ``score_without`` it.
            missing: How to treat a question without a prediction: ``"error"``, or ``"zero"`` to score it 0.
            unknown: How to treat a prediction without a question: ``"error"``, or ``"ignore"``.
            parse: Whose texts are taken apart where they print a list or a dict, as Python, NumPy and pandas do:
                ``"answers"``, for trees also ``"predictions"``, or a list of both. By default none is, and a warning
                counts those that could be; ``"none"`` without the warning.
            protocol: Refused: the protocol is chosen when the metric is loaded.
            answer_types: The answer type of each question, in the order of the references, for a leaderboard that
                needs them.
            options: What a benchmark knows beside the answers, as in `anls_eval.leaderboard_figures`.
            fields: For trees, how their parts are compared and weighed: an `anls_eval.Fields`, or a dict with a dict of
                options for each path.

        Returns:
            ``{"anls_score": x}``, or ``{"anls_star_score": x}`` for trees, with x from 0 to 1; for a leaderboard or
            benchmark, which need the package `anls_eval`, ``score`` and the figures that it reports. With several
            processes, None in all but the first.

        Raises:
            ValueError: If there is nothing to score, ids repeat with different content or do not match, or the input
                cannot be scored.

        Example:
            >>> metric = ANLS("anls_star")
            >>> metric.compute(predictions=[{"total": "17.9"}], references=[{"total": "17.99", "date": "2024"}])
            {'anls_star_score': 0.4}
        """
        if protocol is not None:
            raise TypeError(
                "the protocol is chosen when the metric is loaded, as the second argument of evaluate.load: "
                f"{json.dumps(str(protocol))}"
            )
        if self._board is not None and threshold is not None:
            raise AnlsError(f"protocol {self._board!r} has its own and takes none", option="threshold", value=threshold)
        if self._board is None and (answer_types is not None or options is not None):
            raise ValueError(f"protocol {self.protocol.name!r} has no answer_types and no options; leave them out")
        rules = resolve_rules(self.protocol, threshold, of_trees=None, extract=None if self._board else extract)
        check_choice("missing", missing, MISSING)
        check_choice("unknown", unknown, UNKNOWN)
        resolved = read_fields(fields, rules if self._board is None else get_rules(self._board))
        self._join_pending()
        before, added = len(self), (list(self._tables), self._with_ids)
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
            self._join_pending()
        after = len(self)
        try:
            table, with_ids = self._gather(), self._with_ids
        except ValueError:
            self._tables, self._with_ids = added
            raise
        self._with_ids = None
        if self.process_id > 0:
            return None
        try:
            aligned = align_questions(table, missing, unknown, is_same_tree if rules.tree else operator.eq)
            n = len(aligned.answers)
            notes: list[str] = []
            result: dict[str, Any]
            taken: list[str] = []
            if self._board is not None:
                result, notes = _board_result(aligned, self._board, answer_types, options, extract)
                details = {"question_ids": None if aligned.question_ids is None else id_list(aligned.question_ids)}
            else:
                aligned, taken, printed = taken_apart(aligned, rules, parse)
                if rules.tree:
                    scores, details, found = _scored_trees(aligned, rules, detailed, resolved)
                else:
                    scores, details, found = _scored_texts(aligned, rules, detailed)
                notes = printed + found
                result = {"anls_star_score" if rules.tree else "anls_score": math.fsum(scores) / n}
            if detailed:
                result |= {"n": n, "missing": len(aligned.missing), "unknown": aligned.unknown, **details}
                result["signature"] = signature(
                    self._board or rules, n=n, missing=missing, parse=taken, extract=extract, fields=resolved
                )
            for note in aligned.notes + notes:
                warnings.warn(note, UserWarning, stacklevel=2)
        except BaseException:
            self._tables = [table[:before], table[after:]]
            self._with_ids = with_ids if len(self) else None
            raise
        return result

    def reset(self) -> None:
        """Discard everything that was added and not yet scored."""
        self._tables, self._pending, self._pending_rows = [], [], dict.fromkeys(STORED.names, 0)
        self._with_ids = None

    def _take(self, batch: dict[str, Side]) -> None:
        filled = [side.ids for side in batch.values() if len(side.ids)]
        if filled:
            with_ids = not filled[0].null_count
            if self._with_ids not in (None, with_ids):
                now, before = ("with", "without") if with_ids else ("without", "with")
                raise ValueError(
                    f"rows {now} question_id after rows {before}; expected all with one or all without. "
                    "Nothing was added; reset() discards what was added before."
                )
            self._with_ids = with_ids
        self._pending.append(batch)
        self._pending_rows = {name: count + len(batch[name].ids) for name, count in self._pending_rows.items()}
        if len(self._pending) >= _PENDING_BATCHES:
            self._join_pending()

    def _join_pending(self) -> None:
        if self._pending:
            self._tables.append(stored_table(self._pending, self._schema))
            self._pending, self._pending_rows = [], dict.fromkeys(STORED.names, 0)

    def _gather(self) -> pa.Table:
        """Take out all added rows; in the first of several processes, those of all."""
        tables = self._exchange() if self.num_process > 1 else self._tables
        self._tables = []
        return pa.concat_tables([self._schema.empty_table(), *(table.replace_schema_metadata() for table in tables)])

    def _exchange(self) -> list[pa.Table]:
        """Write the rows of this process to a file; in the first process, read and delete the files of all."""
        self.selected_feature_format = datasets.Features.from_arrow_schema(self._schema)
        try:
            self._init_writer()
            for table in self._tables:
                self.writer.write_table(table, max(1, table.num_rows))
            self._finalize()
            tables = list(map(_read_table, self.file_paths)) if self.process_id == 0 else []
        except (ValueError, OSError) as error:  # pa.ArrowInvalid, for an incomplete file, is a ValueError
            for lock in (self.filelock, self.rendez_vous_lock):
                if lock is not None:
                    lock.release()
            self.writer = self.cache_file_name = self.filelock = self.rendez_vous_lock = None
            raise ValueError(
                f"process {self.process_id} of {self.num_process} timed out waiting for the other processes: "
                f"{str(error).rstrip('.')}. One of them has ended or is late: see its output. They wait for "
                f"timeout={self.timeout} seconds, an option of evaluate.load. What was added here stays, and so does "
                f"what the others wrote to {self.data_dir}."
            ) from None
        if self.process_id == 0:
            self.data = None  # unmaps the files
            for lock, path in zip(self.filelocks, self.file_paths, strict=True):
                os.remove(path)
                lock.release()
            for lock in (*self.filelocks, self.rendez_vous_lock):  # which no process needs any more
                os.remove(lock.lock_file)
        self.cache_file_name = self.filelock = self.selected_feature_format = None
        self._round += 1  # a process that is ahead must not overwrite what another has yet to read
        self._module_info.experiment_id = f"{self._experiment}-{self._round}"
        return tables


_PENDING_BATCHES = 1_000  # those of a single row take much more memory than the row


def _read_table(path: str) -> pa.Table:
    with pa.OSFile(path) as file:
        return pa.ipc.open_stream(file).read_all()


_Scored = tuple[list[float], dict[str, Any], list[str]]  # the scores, what `detailed` adds, the warnings


def _scored_texts(aligned: Aligned, rules: Protocol, detailed: bool) -> _Scored:
    texts = decode_texts(aligned.texts, TEXT_TYPES["predictions"])
    answers = decode_texts(aligned.answers, TEXT_TYPES["references"])
    given = texts
    if rules.extract:
        texts = extracted_texts(given, rules.extract)
    scored = score_columns(texts, answers, rules, detailed)
    absent = set(aligned.missing)
    scored = scored._replace(unanswered=[row for row in scored.unanswered if row not in absent])
    scores = scored.scores.tolist()
    zeros, marked = marked_rows(texts, scored.scores)
    is_named = aligned.question_ids is not None and (detailed or scored.unanswered or marked)
    ids = id_list(aligned.question_ids) if is_named else None
    details = {
        "unanswered": len(scored.unanswered),
        "padded": len(scored.padding_gains),
        "padding_gain": math.fsum(scored.padding_gains) / len(scores),
        "scores": scores,
        "question_ids": ids,
        "closest_references": scored.closest,
    }
    if rules.extract and detailed:
        changed = map(operator.ne, as_list(given), texts)
        details["extraction"] = _extraction(rules, changed, score_columns(given, answers, rules).scores.tolist())
    notes = extract_note(zeros, *noted_rows(dict.fromkeys(marked, ""), ids), count_steps(marked), rules.extract)
    return scores, details, [*text_notes(scored, rules, ids), *notes]


def _board_result(
    aligned: Aligned, board: str, answer_types: Any, options: Mapping[str, object] | None, extract: Extract
) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of a leaderboard or benchmark, which are computed by the package alone, and the warnings."""
    from anls_eval.leaderboards.scoring import figures_of

    sides = [[json.loads(text or b"null") for text in side.to_pylist()] for side in (aligned.texts, aligned.answers)]
    references = [own["$one_of"] if isinstance(own, dict) and own.keys() == {"$one_of"} else own for own in sides[1]]
    words: dict[str, Any] = {"protocol": board, "answer_types": answer_types, "options": options, "extract": extract}
    figures, notes = figures_of(sides[0], references, missing=aligned.missing, **words)
    return dict(figures), notes


def _scored_trees(aligned: Aligned, rules: Protocol, detailed: bool, fields: Fields | None) -> _Scored:
    absent = set(aligned.missing)
    stored = zip(aligned.texts.to_pylist(), aligned.answers.to_pylist(), strict=True)
    try:
        pairs = [(json.loads(text or b"null"), json.loads(answers)) for text, answers in stored]
    except RecursionError:
        raise ValueError("a tree is nested too deeply to be read as JSON; score it with anls_star_score") from None
    rows = [row for row in range(len(pairs)) if row not in absent]
    given, references = [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
    predictions = [extracted(own, rules.extract) for own in given] if rules.extract else given
    ids = None if aligned.question_ids is None else id_list(aligned.question_ids)
    own_ids = ids and [ids[row] for row in rows]
    scores, closest, keys = [0.0] * len(pairs), [None] * len(pairs), []
    if not detailed:
        found, searched = score_trees(predictions, references, rules, fields)
        for row, score in zip(rows, found.tolist(), strict=True):
            scores[row] = score
        return scores, {}, tree_notes(predictions, references, rules, own_ids, searched, fields)
    for row, prediction, reference in zip(rows, predictions, references, strict=True):
        try:
            tree = ExplainedTree(prediction, reference, rules, fields)
        except AnlsError as error:  # a reference that its field cannot read
            raise located(f"row {row}" if ids is None else f"question_id {ids[row]!r}", error) from None
        scores[row], closest[row] = tree.score, tree_as_json(tree.closest_reference())
        keys.append(tree.key_scores())
    details: dict[str, Any] = {"scores": scores, "question_ids": ids, "closest_references": closest}
    details["key_scores"] = key_scores_as_json(keys, with_counts=True)
    if rules.extract:
        changed = map(operator.ne, given, predictions)
        without = score_trees(given, references, rules, fields)[0].tolist()
        details["extraction"] = _extraction(rules, changed, [*without, *[0.0] * len(absent)])
    return scores, details, tree_notes(predictions, references, rules, own_ids, fields=fields)


def _extraction(rules: Protocol, changed: Iterable[bool], scores_without: list[float]) -> dict[str, Any]:
    """Return what the steps that take the answer out changed."""
    score_without = math.fsum(scores_without) / len(scores_without)
    return {"steps": list(rules.extract), "changed": sum(changed), "score_without": score_without}
