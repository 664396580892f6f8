"""Protocols by name or alias, and the signature that records every choice behind a score."""

from __future__ import annotations

import dataclasses
import numbers
import re
import unicodedata
import urllib.parse
from decimal import Decimal
from fractions import Fraction

from anls_eval.errors import check_choice, short_repr
from anls_eval.rules.protocol import Protocol, parse_number
from anls_eval.rules.table import ALIASES, PROTOCOLS
from anls_eval.version import __version__


def get_protocol(protocol: str | Protocol) -> Protocol:
    """Give the protocol of a name or alias; a `Protocol` comes back as it is.

    Args:
        protocol: A name in `PROTOCOLS` or an alias of one, in small or capital letters, or a `Protocol`.

    Returns:
        The rules.

    Raises:
        ValueError: The name is not known, with the known ones listed, or is that of a leaderboard whose rule needs
            more than texts, with the place where it is.

    Example:
        >>> get_protocol("docvqa").name
        'rrc'
    """
    if isinstance(protocol, Protocol):
        return protocol
    if type(protocol).__name__ == "Protocol" and dataclasses.is_dataclass(protocol):
        # Made by another copy of these rules: anls.py, which evaluate.load fetches, has its own.
        options = [field.name for field in dataclasses.fields(Protocol) if field.init]
        return Protocol(**{option: getattr(protocol, option) for option in options})
    name = re.sub(r"[\s-]", "_", protocol.lower()) if isinstance(protocol, str) else ""
    composite = ("dude", "mmlongbench", "mmlongbench_doc", "mmesgbench", "mmesgbench_documented", "icdar2026")
    if name in (*composite, "ocrbench_v2", "ocrbench_v2_lmms"):
        raise ValueError(
            f"protocol {protocol!r} needs more than texts: use anls_eval.leaderboard_scores, which is "
            "installed with anls-eval"
        )
    if name not in PROTOCOLS and name not in ALIASES:
        check_choice("protocol", protocol, (*PROTOCOLS, *ALIASES))
    return PROTOCOLS[ALIASES.get(name, name)]


def signature(
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
    n: int | None = None,
    *,
    missing: str = "error",
) -> str:
    """Name every choice behind a score in one line, to print beside it.

    Args:
        protocol: A name, an alias or a `Protocol`.
        threshold: The threshold used in place of the protocol's.
        n: The number of questions scored.
        missing: What a question without a prediction did: ``"error"`` or ``"zero"``.

    Returns:
        Fields ``key:value`` joined by ``|``. A ``*`` behind the protocol's name says that its rules were changed.
        ``unicode`` is the version by which this Python lower-cases text.

    Raises:
        ValueError: An unknown protocol, a threshold outside 0 to 1, or an `n` that is no number of questions.

    Example:
        >>> print(signature("rrc", n=5349).split("|version")[0])
        anls|protocol:rrc|pred:strip+lower+collapse|ref:strip+lower+collapse|length:raw-upper|keep:>=0.5|empty:1|special:-|substitution:1|aggregate:mean|missing:error|n:5349
    """
    rules = resolve_rules(protocol, threshold, of_trees=None)
    if n is not None and (isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 0 <= int(n) < 2**63):
        raise ValueError(f"n={short_repr(n)}: expected the number of questions, an integer of at least 0")
    changed = rules.name in PROTOCOLS and rules != PROTOCOLS[rules.name]
    lengths = dict.fromkeys((rules.prediction_length, rules.answer_length))
    fields = {
        "protocol": rules.name + "*" * changed,
        **({"tree": rules.tree} if rules.tree else {}),
        "pred": "+".join(rules.prediction_steps) or "-",
        "ref": "+".join(rules.answer_steps) or "-",
        "length": "/".join(lengths),
        "keep": f"{rules.keep}{rules.threshold}",
        "empty": rules.both_empty,
        "special": "+".join(map(_quoted, rules.zero_predictions)) or "-",
        "substitution": rules.substitution_cost,
        "aggregate": "mean",
        "missing": check_choice("missing", missing, MISSING),
        "n": "-" if n is None else n,
        "version": __version__,
        "unicode": unicodedata.unidata_version,
    }
    return "|".join(["anls", *(f"{key}:{value}" for key, value in fields.items())])


def protocol_from_signature(text: str) -> Protocol:
    """Give the protocol that a `signature` names, so that a printed score can be computed again.

    Args:
        text: A line made by `signature`.

    Returns:
        A protocol with the rules of the signature, the threshold included.

    Raises:
        ValueError: The text is not a signature, or a field is missing.

    Example:
        >>> protocol_from_signature(signature("due", threshold=0.8)) == dataclasses.replace(
        ...     get_protocol("due"), threshold=0.8
        ... )
        True
    """
    head, *pairs = text.strip().split("|") if isinstance(text, str) else [""]
    fields = dict(pair.split(":", 1) for pair in pairs if ":" in pair)
    absent = {"protocol", "pred", "ref", "length", "keep", "empty", "special", "substitution"} - fields.keys()
    if head != "anls" or absent:
        raise ValueError(f"not a signature: {short_repr(text)} lacks {', '.join(sorted(absent)) or 'the leading anls'}")
    lists = {key: () if fields[key] == "-" else tuple(fields[key].split("+")) for key in ("pred", "ref", "special")}
    name, lengths = fields["protocol"].removesuffix("*"), fields["length"].split("/")
    keep = ">=" if fields["keep"].startswith(">=") else fields["keep"][:1]
    try:
        threshold = parse_number(fields["keep"].removeprefix(keep))
        both_empty, substitution_cost = int(fields["empty"]), int(fields["substitution"])
    except ValueError:
        raise ValueError(
            f"not a signature: {short_repr(text)} has a keep, empty or substitution field without a number"
        ) from None
    rules = Protocol(
        name=name,
        prediction_steps=lists["pred"],
        answer_steps=lists["ref"],
        prediction_length=lengths[0],
        answer_length=lengths[-1],
        keep=keep,
        threshold=threshold,
        both_empty=both_empty,
        tree=fields.get("tree", ""),
        zero_predictions=tuple(map(_unquoted, lists["special"])),
        substitution_cost=substitution_cost,
    )
    known = PROTOCOLS.get(name, rules)
    return dataclasses.replace(rules, aliases=known.aliases, leaderboards=known.leaderboards, source=known.source)


def _quoted(text: str) -> str:
    """Any text as one item of a signature, where "-" is an empty list and "''" an empty text."""
    return urllib.parse.quote(text, safe="", errors="surrogatepass").replace("-", "%2D") or "''"


def _unquoted(item: str) -> str:
    return "" if item == "''" else urllib.parse.unquote(item, errors="surrogatepass")


def resolve_rules(
    protocol: str | Protocol, threshold: float | Fraction | Decimal | None, of_trees: bool | None
) -> Protocol:
    """The protocol with its threshold; of trees, of texts or (None) of either."""
    rules = get_protocol(protocol)
    if of_trees is not None and of_trees != bool(rules.tree):
        names = ", ".join(repr(name) for name, row in PROTOCOLS.items() if bool(row.tree) == of_trees)
        kinds, function = ("texts", "anls_score") if of_trees else ("trees", "anls_star_score")
        raise ValueError(f"protocol {rules.name!r} scores {kinds}: use it with {function}, or use one of {names}")
    return rules if threshold is None else dataclasses.replace(rules, threshold=threshold)


MISSING = ("error", "zero")

UNKNOWN = ("error", "ignore")
