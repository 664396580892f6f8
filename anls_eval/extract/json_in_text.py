"""Find JSON in the output of a model."""

from __future__ import annotations

import json
import re

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
