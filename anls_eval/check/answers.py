"""What is suspicious in the text of one answer, and the mends that are certain."""

import dataclasses
import re
from collections.abc import Sequence

from anls_eval.errors import short_repr
from anls_eval.text.formatting import is_refusal

_TAGS = (
    "a|answer|b|body|br|code|div|em|h[1-6]|hr|html|i|img|li|ol|p|pre|s|small|span|strong|sub|sup|table|tbody|td|th|"
    "thead|think|tr|u|ul"
)
_MARKUP = re.compile(
    rf"""</?(?:{_TAGS})(?:\s[^<>]*)?/?>    # HTML, and what some models put around their answer
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
# One search that nearly every answer passes, so that the single ones are made for few.
_SUSPICIOUS = re.compile(r"^\s|\s$|[<\\`]|\*\*|!\[|[ÂÃâ]|\banswer\b", re.IGNORECASE)

LONG = 200
"""Characters from which an answer is long where there are no accepted answers to compare with."""


@dataclasses.dataclass(frozen=True)
class AnswerFault:
    """Something suspicious in one answer.

    Args:
        code: As in `submission_check.PROBLEMS`.
        found: What it is, for a message.
        certain: Whether `mended` mends it.
    """

    code: str
    found: str
    certain: bool = False


def answer_faults(text: str, accepted: Sequence[str] | None) -> list[AnswerFault]:
    r"""Find what is suspicious in an answer.

    What an accepted answer holds, too, is none of it: its tags, its prefix, its refusal.

    Args:
        text: The prediction.
        accepted: The accepted answers; None if they are not known.

    Returns:
        The faults, each code at most once.

    Example:
        >>> for fault in answer_faults(" The answer is **Lima**", ["Lima"]):
        ...     print(fault.code, fault.found, fault.certain)
        answer-blanks ' The answer is **Lima**' True
        answer-markup '**Lima**' False
        answer-prefix 'The answer is' False
    """
    if accepted is not None and text in accepted:
        return []
    faults = []
    if not text.strip():
        empty_is_right = accepted is not None and any(not own.strip() or is_refusal(own) for own in accepted)
        return [] if empty_is_right else [AnswerFault("answer-empty", short_repr(text))]
    if _SUSPICIOUS.search(text):
        whole = "\n".join(accepted or ()).lower()
        if text != text.strip():
            faults.append(AnswerFault("answer-blanks", short_repr(text), certain=True))
        repaired = _decoded_again(text)
        if repaired is not None and text.strip().lower() not in whole:
            faults.append(
                AnswerFault("answer-mojibake", f"{short_repr(text)} for {short_repr(repaired)}", certain=True)
            )
        for code, pattern in (("answer-markup", _MARKUP.search(text)), ("answer-prefix", _PREFIX.match(text))):
            part = "" if pattern is None else pattern[0].strip()
            if part and part.lower() not in whole:
                faults.append(AnswerFault(code, repr(part)))
    if accepted is None:
        buried = len(text) >= LONG
    else:
        if is_refusal(text) and not any(is_refusal(own) or not own.strip() for own in accepted):
            faults.append(AnswerFault("answer-refusal", short_repr(text)))
        buried = _is_buried(text, accepted)
    if buried and not {"answer-markup", "answer-prefix"} & {fault.code for fault in faults}:
        faults.append(AnswerFault("answer-long", f"{len(text):,} characters: {short_repr(text)}"))
    return faults


def mended(text: str) -> str:
    """The text without the blanks around it, and decoded rightly where it certainly was not.

    Example:
        >>> mended(" cafÃ© "), mended("Ã la carte")
        ('café', 'Ã la carte')
    """
    repaired = _decoded_again(text)
    return (text if repaired is None else repaired).strip()


def _decoded_again(text: str) -> str | None:
    """The text that was meant, if this is UTF-8 that was taken for Windows-1252 from its start to its end."""
    if not _MOJIBAKE.search(text):
        return None
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            pass
    return None


def _is_buried(text: str, accepted: Sequence[str]) -> bool:
    """Whether the answer is so long that it scores 0, and an accepted one stands in it, or it is long by itself.

    The distance is at least the difference of the lengths: with more than twice the characters of every accepted
    answer, no similarity reaches 0.5.
    """
    longest = max(map(len, accepted), default=0)
    if not longest or len(text) <= 2 * longest:
        return False
    plain = " ".join(text.lower().split())
    answers = [" ".join(own.lower().split()) for own in accepted]
    if len(plain) <= 2 * max(map(len, answers)):
        return False
    return len(plain) >= LONG or any(own and _stands_in(own, plain) for own in answers)


def _stands_in(part: str, text: str) -> bool:
    """Whether a text has another in it as whole words."""
    at = text.find(part)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(part) : at + len(part) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = text.find(part, at + 1)
    return False
