"""What a model wrote, beside what the reference says: shared by the tools that score one output at a time."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from anls_eval.registry import get_protocol
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_score, anls_star_score

_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)


def read_json(output: Any) -> Any:
    r"""Read the JSON object or array that an output is, bare or in a fence of Markdown.

    Args:
        output: What a model wrote.

    Returns:
        The dict or list; the output as it is if it is something else.

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
    except (ValueError, RecursionError):  # cut off, or nested beyond all measure: scored as the text that it is
        return output


def score_output(
    output: Any,
    answers: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> float:
    """Score one output by any protocol of `PROTOCOLS`.

    Args:
        output: The predicted text; for a protocol of trees, the tree or its JSON text.
        answers: The accepted answers as `anls_score` takes them. For a protocol of trees a list holds
            alternatives, as in `evaluate`, each a tree or its JSON text; anything else is one tree.
        protocol: A name or alias, or an `Protocol`.
        threshold: The least similarity that counts, in place of the protocol's.

    Returns:
        The score, from 0 to 1.

    Raises:
        TypeError: An object that is no tree.
        ValueError: What `anls_score` or `anls_star_score` refuses.

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
    """Give the reference tree of an ``answers`` field, in which a list or tuple holds alternatives.

    Args:
        answers: Trees or their JSON texts.

    Returns:
        The tree; a tuple of them where there are alternatives.

    Example:
        >>> read_reference(['{"total": 17.99}', "17.99"])
        ({'total': 17.99}, '17.99')
    """
    if isinstance(answers, (list, tuple)):
        return tuple(map(read_json, answers))
    return read_json(answers)
