"""Find JSON in the output of a model."""

from __future__ import annotations

import json
import re

MAX_FAILURES = 1_000  # brackets that begin no JSON; each costs as much time as the text is long

_BEGINS = re.compile(r"[\[{]")


def json_in_text(text: str) -> object | None:
    """Return the last outermost JSON object, or array of objects, that parses; None if there is none."""
    decoder, found, start, failures = json.JSONDecoder(), None, 0, 0
    while failures < MAX_FAILURES and (begin := _BEGINS.search(text, start)):
        start = begin.end()
        try:
            value, end = decoder.raw_decode(text, begin.start())
        except RecursionError:  # deeper than any document: each bracket inside would be as deep
            return None
        except ValueError:
            failures += 1
            continue
        if isinstance(value, dict) or (value and all(isinstance(item, dict) for item in value)):
            found, start = value, end
    return found
