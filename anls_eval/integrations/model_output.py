"""Model outputs scored one at a time, as text or as JSON: shared by several integrations."""

from __future__ import annotations

import json
import re
from typing import Any

from anls_eval.registry import get_protocol
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.scoring import anls_score, anls_star_score

_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)


def read_json(output: Any) -> Any:
    r"""Read an output that is a JSON object or array, bare or in a Markdown code fence.

    Args:
        output: The output of a model.

    Returns:
        The dict or list; any other output unchanged.

    Example:
        >>> read_json('```json\n{"total": 17.99}\n```'), read_json("Paris")
        ({'total': 17.99}, 'Paris')
    """
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


def score_output(
    output: Any,
    answers: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> float:
    """Score one output under any protocol.

    Args:
        output: The predicted text; for a tree protocol, a tree or its JSON text.
        answers: The accepted answers, as for `anls_score`. For a tree protocol, a list holds alternatives, each a tree
            or its JSON text; anything else is one tree.
        protocol: Name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.

    Returns:
        The score, from 0 to 1.

    Raises:
        TypeError: A value cannot be part of a tree.
        ValueError: As for `anls_score` or `anls_star_score`.

    Example:
        >>> score_output("CocaCola", ["Coca Cola", "Pepsi"])
        0.8888888888888888
        >>> score_output('{"total": "17.9"}', {"total": "17.99"}, protocol="anls_star")
        0.8
    """
    if get_protocol(protocol).tree:
        tree, reference = read_json(output), read_reference(answers)
        return anls_star_score(tree, reference, protocol=protocol, threshold=threshold)
    return anls_score(output, answers, protocol=protocol, threshold=threshold)


def read_reference(answers: Any) -> Any:
    """Return the reference tree of an ``answers`` field, with the items of a list or tuple as alternatives.

    Example:
        >>> read_reference(['{"total": 17.99}', "17.99"])
        ({'total': 17.99}, '17.99')
    """
    if isinstance(answers, (list, tuple)):
        return tuple(map(read_json, answers))
    return read_json(answers)
