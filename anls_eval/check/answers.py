"""What is wrong or suspicious in one answer, and the fixes that are certain."""

import html
import re
from collections.abc import Sequence
from typing import Any

from anls_eval.check.problem import Fault
from anls_eval.errors import short_repr
from anls_eval.extract.hints import steps_in
from anls_eval.extract.marks import THOUGHT_MARKS
from anls_eval.extract.steps import extracted
from anls_eval.files.nested import path_in_json
from anls_eval.inputs.values import is_missing_value
from anls_eval.text.formatting import is_refusal

_TAGS = (
    "a|answer|b|body|br|code|div|em|h[1-6]|hr|html|i|img|li|ol|p|pre|s|small|span|strong|sub|sup|table|tbody|td|th|"
    "thead|think|tr|u|ul"
)
_MARKUP = re.compile(
    rf"""</?(?:{_TAGS})(?:\s[^<>]*)?/?>    # HTML, and what some models put around their answer
    |{THOUGHT_MARKS}
    |<\|\w+\|>                             # tokens such as <|im_end|>
    |\\[A-Za-z]+\*?\{{|\\\(|\\\)|\\\[|\\\] # LaTeX: \boxed{{, \section*{{, \( \)
    |\*\*[^*]+\*\*|```|!\[[^\]]*\]         # Markdown: bold, code, pictures""",
    re.VERBOSE | re.IGNORECASE,
)
_PREFIX = re.compile(
    r"\W*(?:the\s+(?:final\s+|correct\s+)?answer(?:\s+to\s+(?:the|this|that|your)\s+question)?\s*(?:is\b|:)"
    r"|(?:final\s+)?answer\s*:|answer\s+is\b)\s*:?\s*",
    re.IGNORECASE,
)
# UTF-8 that was read as Windows-1252: the first bytes of é, ß, × and of “, –, €, as that shows them.
_MOJIBAKE = re.compile("[ÂÃ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â‚¬")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,30});", re.IGNORECASE)  # of HTML
# One search that nearly every answer passes, so that the single ones are made for few.
_SUSPICIOUS = re.compile(rf"^\s|\s$|[<\\`]|{THOUGHT_MARKS}|\*\*|!\[|[&ÂÃâ\ufffd]|\banswer\b", re.IGNORECASE)

LONG = 200
"""Characters from which an answer is long where there are no accepted answers to compare it with."""


def answer_faults(answer: Any, accepted: Sequence[str] | None, in_lists: bool) -> tuple[list[Fault], Any]:
    """Return what is wrong with an answer, and the answer with all fixes that are certain."""
    if not in_lists:
        if not isinstance(answer, list):
            return _faults_of_text(answer, accepted)
        if len(answer) != 1 or not isinstance(answer[0], str):
            return [("answer-list", short_repr(answer), False)], answer
        faults, right = _faults_of_text(answer[0], accepted)
        return [("answer-list", short_repr(answer), True), *faults], right
    if isinstance(answer, list):
        if not answer:
            return _faults_of_text("", accepted)[0], answer
        parts = [_faults_of_text(part, accepted) for part in answer]
        return [fault for faults, _ in parts for fault in faults], [right for _, right in parts]
    faults, right = _faults_of_text(answer, accepted)
    if isinstance(answer, str):
        faults = [("answer-text", short_repr(answer), True), *faults]
    return faults, [right]


def _faults_of_text(answer: Any, accepted: Sequence[str] | None) -> tuple[list[Fault], Any]:
    """Return the faults of what should be one text, and the right text."""
    if isinstance(answer, str):
        faults = text_faults(answer, accepted)
        return faults, fixed_text(answer) if faults else answer
    if is_missing_value(answer):
        return [("answer-null", "null", True)], ""
    if isinstance(answer, (int, float)):
        is_number = not isinstance(answer, bool)
        return [("answer-number", repr(answer), is_number)], str(answer) if is_number else answer
    return [("answer-list" if isinstance(answer, list) else "answer-object", short_repr(answer), False)], answer


def text_faults(text: str, accepted: Sequence[str] | None) -> list[Fault]:
    """Return what is suspicious in a text, each code at most once; accepted tags, prefixes and refusals pass."""
    if accepted is not None and text in accepted:
        return []
    inside = path_in_json(text)
    if inside is not None:
        return [("answer-json", f"{short_repr(text)}, with the text at {inside!r}", False)]
    faults: list[Fault] = []
    if not text.strip():
        empty_is_right = accepted is not None and any(not option.strip() or is_refusal(option) for option in accepted)
        return [] if empty_is_right else [("answer-empty", short_repr(text), False)]
    if _SUSPICIOUS.search(text):
        whole = "\n".join(accepted or ()).lower()
        if text != text.strip():
            faults.append(("answer-blanks", short_repr(text), True))
        repaired = _decoded_again(text)
        if repaired is not None and text.strip().lower() not in whole:
            faults.append(("answer-mojibake", f"{short_repr(text)} for {short_repr(repaired)}", True))
        if "\ufffd" in text and "\ufffd" not in whole:
            faults.append(("answer-undecoded", short_repr(text), False))
        decoded = without_entities(text)
        if decoded != text and text.strip().lower() not in whole:
            faults.append(("answer-entities", f"{short_repr(text)} for {short_repr(decoded)}", False))
        extract = None  # said once, and looked for only where there is a fault to say it with
        for code, pattern in (("answer-markup", _MARKUP.search(text)), ("answer-prefix", _PREFIX.match(text))):
            part = "" if pattern is None else pattern[0].strip()
            if part and part.lower() not in whole:
                extract = _extract_in_words(text) if extract is None else ""
                faults.append((code, f"{part!r}{extract}", False))
    if accepted is None:
        buried = len(text) >= LONG
    else:
        if is_refusal(text) and not any(is_refusal(option) or not option.strip() for option in accepted):
            faults.append(("answer-refusal", short_repr(text), False))
        buried = _is_buried(text, accepted)
    if buried and not {"answer-markup", "answer-prefix"} & {code for code, _, _ in faults}:
        found = f"{len(text):,} characters: {short_repr(text)}{_extract_in_words(text)}"
        faults.append(("answer-long", found, False))
    return faults


def _extract_in_words(text: str) -> str:
    """Name the steps that would take the answer out of a text; empty without any."""
    names = steps_in(text)
    return f"; extract {','.join(names)} takes out {short_repr(extracted(text, names))}" if names else ""


def without_entities(text: str) -> str:
    """Return the text with entities of HTML, such as &amp;, as the characters that they stand for."""
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


def fixed_text(text: str) -> str:
    """Return the text without whitespace around it, decoded correctly where it certainly was not."""
    repaired = _decoded_again(text)
    return (text if repaired is None else repaired).strip()


def _decoded_again(text: str) -> str | None:
    """Return the text that was meant, if this is UTF-8 that was wholly read as Windows-1252."""
    if not _MOJIBAKE.search(text):
        return None
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            pass
    return None


def _is_buried(text: str, accepted: Sequence[str]) -> bool:
    """Return whether an answer is so long that it scores 0, and contains an accepted one or is long by itself."""
    # The distance is at least the difference of the lengths: with more than twice the characters of every accepted
    # answer, no similarity reaches 0.5.
    longest = max(map(len, accepted), default=0)
    if not longest or len(text) <= 2 * longest:
        return False
    plain = " ".join(text.lower().split())
    answers = [" ".join(option.lower().split()) for option in accepted]
    if len(plain) <= 2 * max(map(len, answers)):
        return False
    return len(plain) >= LONG or any(option and _contains(plain, option) for option in answers)


def _contains(text: str, part: str) -> bool:
    """Return whether a text contains another as whole words."""
    at = text.find(part)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(part) : at + len(part) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = text.find(part, at + 1)
    return False
