"""Steps as evaluation harnesses take them, with their quirks; in them None is no answer, which scores 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

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
