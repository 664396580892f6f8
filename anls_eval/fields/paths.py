"""Paths of fields: ``$.items[*].price``, parsed, written and compared."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from anls_eval.errors import AnlsError


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
