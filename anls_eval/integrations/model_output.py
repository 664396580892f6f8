"""Model outputs scored one at a time, as text or as JSON: shared by several integrations."""

from __future__ import annotations

import json
import re
from typing import Any

from anls_eval.fields.fields import Fields
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_score, anls_star_score

_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)


def read_json(output: Any) -> Any:
    """Read an output that is a JSON object or array, bare or in a Markdown code fence; return any other unchanged."""
    if not isinstance(output, str):
        return output
    fenced = _FENCE.match(output.strip())
    text = fenced[1] if fenced else output
    if text.lstrip()[:1] not in ("{", "["):
        return output
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # truncated or nested too deeply: scored as text
        return output


def score_output(output: Any, answers: Any, rules: Protocol, fields: Fields | None = None) -> float:
    """Score one output; a protocol for trees takes trees or their JSON texts, and a list of alternatives."""
    if rules.tree:
        return anls_star_score(read_json(output), read_reference(answers), protocol=rules, fields=fields)
    return anls_score(output, answers, protocol=rules)


def read_reference(answers: Any) -> Any:
    """Return the reference tree of an ``answers`` field, with the items of a list or tuple as alternatives."""
    if isinstance(answers, (list, tuple)):
        return tuple(map(read_json, answers))
    return read_json(answers)
