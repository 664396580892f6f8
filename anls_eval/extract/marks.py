"""Steps that find the answer in the output of a model, by the marks around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

_THOUGHT_BEGINS = re.compile(r"<think(?:ing)?>|◁think▷|\[THINK\]", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>|◁/think▷|\[/THINK\]", re.IGNORECASE)
_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)

_MARKUP = r"(?:\*\*|__|#+)?"
_COLON = rf"[^\S\n]*{_MARKUP}[^\S\n]*[:：](?(1)(?:\*\*|__)?)"  # group 1 is a bold mark before it all
_WORD_BEGINS = r"(?<![^\W_])"
_ANSWER_LINE = re.compile(rf"(\*\*|__)?{_WORD_BEGINS}answer{_COLON}", re.IGNORECASE)
_FINAL_ANSWER = re.compile(
    rf"(\*\*|__)?{_WORD_BEGINS}(?:"
    rf"final[^\S\n]+answer(?:{_COLON}|[^\S\n]+is\b(?:{_COLON})?)"
    rf"|the[^\S\n]+(?:final[^\S\n]+)?answer[^\S\n]+is\b(?:{_COLON})?)",
    re.IGNORECASE,
)

_BOX = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)
_TEXT_IN_BOX = re.compile(r"\\(?:text|mathrm)\s*\{(.*)\}", re.DOTALL)
_FENCE = "```"
_LANGUAGE = re.compile(r"[^\S\n]*[\w+#.-]*[^\S\n]*\n")
_AROUND = ("**", "__", "`")


def after_thoughts(text: str) -> str | None:
    """Return what follows the last thought: nothing while one is not closed."""
    ends = [mark.end() for mark in _THOUGHT_ENDS.finditer(text)]
    begins = [mark.start() for mark in _THOUGHT_BEGINS.finditer(text)]
    if begins and begins[-1] >= max(ends, default=0):
        return ""
    return text[ends[-1] :].strip() if ends else None


def in_answer_tag(text: str) -> str | None:
    """Return the content of the last closed answer tag, or what follows the last one if none is closed."""
    opened, closed = None, None
    for tag in _ANSWER_TAG.finditer(text):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            closed, opened = text[opened : tag.start()], None
    if closed is None and opened is not None:
        closed = text[opened:]
    return None if closed is None else closed.strip()


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
    opened = last[1]
    if opened and not line.startswith(opened) and line.endswith(opened):
        line = line.removesuffix(opened)  # **Answer: 42**
    return without_markup_around(line)


def without_markup_around(text: str) -> str:
    """Return the text without whitespace, and without bold marks or backticks around all of it."""
    text = text.strip()
    for mark in _AROUND:
        while len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            inner = text[len(mark) : -len(mark)]
            if mark in inner.strip("`"):  # two marked stretches, not one
                break
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
        depth += {"}": -1}.get(mark[0], mark[0].endswith("{"))
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
    return without_markup_around(re.sub(r"\A(?:[-*]|#+)[^\S\n]+", "", text.strip()))


STEPS_OF_TEXTS: Mapping[str, Callable[[str], str | None]] = MappingProxyType(
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
