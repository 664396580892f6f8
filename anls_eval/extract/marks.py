"""Steps that find the answer in the output of a model, by the marks around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

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
