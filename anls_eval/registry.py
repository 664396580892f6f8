"""Protocols by name or alias, and signatures, which record every choice behind a score."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import numbers
import types
import unicodedata
import urllib.parse
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from anls_eval.errors import AnlsError, check_choice, short_repr
from anls_eval.fields.fields import Fields, FieldsLike, as_fields
from anls_eval.rules.protocol import Protocol, Rules, Threshold, parse_number, quoted_item
from anls_eval.rules.table import PROTOCOLS, PROTOCOLS_BY_NAME_OR_ALIAS, name_key
from anls_eval.types import Extract, Missing
from anls_eval.version import __version__

if TYPE_CHECKING:
    from anls_eval.leaderboards.base import Leaderboard
    from anls_eval.leaderboards.benchmark import Benchmark

MISSING = ("error", "zero")

UNKNOWN = ("error", "ignore")

# Names and aliases. They stand here because leaderboards are imported when one is used, and are not part of anls.py.
LEADERBOARD_NAMES = (
    "dude", "mmlongbench", "mmlongbench_doc", "mmesgbench", "mmesgbench_documented", "ocrbench_v2", "ocrbench_v2_lmms",
    "icdar2026",
)  # fmt: skip
BENCHMARK_NAMES = (
    "donut_f1", "donut_ted", "cc_ocr_kie_f1", "cc_ocr_kie_acc", "lmms_cc_ocr_kie_f1", "lmms_cc_ocr_kie_acc",
    "cc_ocr_v2_kie", "cc_ocr_v2_kie_official", "cc_ocr_v2_qa", "cc_ocr_v2_qa_official", "chartqa_lmms",
    "chartqa_vlmevalkit", "chartqa_evalscope", "chartqapro", "chartqapro_vlmevalkit", "chartqapro_lmms",
    "longdocurl_full", "longdocurl_vlmevalkit", "evalscope_docvqa", "inspect_evals_docvqa",
    "inspect_evals_docvqa_first", "lmms_docvqa_reasoning", "idp_kie", "idp_vqa", "idp_vqa_pages", "idp_docvqa",
    "due_f1", "due_f1_cased", "due_mean_f1", "due_group_anls", "vrdu", "kieval_entity_f1", "kieval_aligned",
    "kieval_grouping_f1", "kieval_document_accuracy", "varex", "extractbench_value",
)  # fmt: skip


def get_protocol(protocol: str | Protocol) -> Protocol:
    """Return the protocol for texts or trees with this name or alias; a `Protocol` is returned unchanged.

    Args:
        protocol: A name in `PROTOCOLS` or an alias, in lower or upper case, or a `Protocol`.

    Raises:
        ValueError: The name is unknown, or it is that of a leaderboard, which needs more than texts; the message says
            what to use instead.

    Example:
        >>> get_protocol("docvqa").name
        'rrc'
    """
    if type(protocol) is str and protocol in PROTOCOLS_BY_NAME_OR_ALIAS:  # the usual case first, for speed
        return PROTOCOLS_BY_NAME_OR_ALIAS[protocol]
    if isinstance(protocol, Protocol):
        return protocol
    if type(protocol).__name__ == "Protocol" and dataclasses.is_dataclass(protocol):
        # Made by another copy of these rules: anls.py, which evaluate.load fetches, has its own class.
        options = [field.name for field in dataclasses.fields(Protocol) if field.init]
        return Protocol(**{option: getattr(protocol, option) for option in options})
    key = name_key(protocol)
    if key in LEADERBOARD_NAMES or key in BENCHMARK_NAMES:
        function = "leaderboard_scores" if key in LEADERBOARD_NAMES else "leaderboard_figures"
        raise ValueError(
            f"protocol {protocol!r} needs more than texts: score it with anls_eval.{function}, or files "
            f"with `anls score -p {key}`. Where anls_eval is not installed: 'pip install .' in a clone of the metric's "
            "repository"
        )
    if key not in PROTOCOLS_BY_NAME_OR_ALIAS:
        check_choice("protocol", protocol, tuple(PROTOCOLS_BY_NAME_OR_ALIAS))
    return PROTOCOLS_BY_NAME_OR_ALIAS[key]


def resolve_rules(
    protocol: str | Protocol, threshold: Threshold, of_trees: bool | None, extract: Extract = None
) -> Protocol:
    """Return a protocol for texts (False), trees (True) or either (None), with this threshold and these steps."""
    rules = get_protocol(protocol)
    if of_trees is not None and of_trees != bool(rules.tree):
        names = ", ".join(repr(name) for name, row in PROTOCOLS.items() if bool(row.tree) == of_trees)
        kinds, function = ("texts", "anls_score") if of_trees else ("trees", "anls_star_score")
        raise ValueError(f"protocol {rules.name!r} scores {kinds}: use it with {function}, or use one of {names}")
    if threshold is None and extract is None:
        return rules
    if type(protocol) is str and type(threshold) in _CACHED_TYPES and type(extract) in _CACHED_TYPES:
        return _changed_rules(protocol, threshold, extract)
    return rules.with_threshold(threshold).with_extract(extract)


_CACHED_TYPES = frozenset({types.NoneType, str, int, float, Fraction, Decimal})


@functools.lru_cache(maxsize=64, typed=True)  # typed: 0.1 and Fraction(0.1) are equal, but not as they are written
def _changed_rules(protocol: str, threshold: Threshold, extract: str | None) -> Protocol:
    """Return a protocol with another threshold or other steps of extraction, which takes long to make."""
    return get_protocol(protocol).with_threshold(threshold).with_extract(extract)


def find_board_name(protocol: object) -> str | None:
    """Return the name of a leaderboard or benchmark as the registry spells it; None for any other protocol."""
    key = name_key(protocol)
    return key if key in LEADERBOARD_NAMES or key in BENCHMARK_NAMES else None


def get_rules(
    protocol: Any, threshold: Threshold = None, extract: Extract = None
) -> Protocol | Leaderboard | Benchmark:
    """Return the rules for a name or an alias, or rules of any kind, with this threshold and these steps."""
    if isinstance(protocol, Rules):
        return cast("Protocol | Leaderboard | Benchmark", protocol).with_threshold(threshold).with_extract(extract)
    key = name_key(protocol)
    if find_board_name(protocol):
        # Imported here to keep the start light. Beside anls.py it may be missing: get_protocol then says where it is.
        with contextlib.suppress(ModuleNotFoundError):
            from anls_eval.leaderboards.table import BOARDS_BY_NAME_OR_ALIAS

            return BOARDS_BY_NAME_OR_ALIAS[key].with_threshold(threshold).with_extract(extract)
    elif isinstance(protocol, str) and key not in PROTOCOLS_BY_NAME_OR_ALIAS:
        check_choice("protocol", protocol, (*PROTOCOLS_BY_NAME_OR_ALIAS, *LEADERBOARD_NAMES, *BENCHMARK_NAMES))
    return get_protocol(protocol).with_threshold(threshold).with_extract(extract)


def read_fields(fields: FieldsLike, rules: Protocol | Leaderboard | Benchmark) -> Fields | None:
    """Return what is taken for fields, for rules that score trees."""
    found = as_fields(fields)
    if found is not None and not getattr(rules, "tree", ""):
        names = ", ".join(repr(name) for name, row in PROTOCOLS.items() if row.tree)
        problem = f"fields are parts of trees, which protocol {rules.name!r} does not score. Use one of {names}"
        raise AnlsError(problem)
    return found


def signature(
    protocol: str | Protocol | Leaderboard | Benchmark = "standard",
    threshold: Threshold = None,
    n: int | None = None,
    *,
    missing: Missing = "error",
    fields: FieldsLike = None,
    parse: Sequence[str] = (),
    extract: Extract = None,
    options: Mapping[str, object] | None = None,
) -> str:
    """Return the signature: one line that records every choice behind a score, to print beside it.

    Args:
        protocol: A name or alias of a protocol, leaderboards included, or a `Protocol`.
        threshold: Minimum similarity that counts. Defaults to the protocol's.
        n: The number of questions scored.
        missing: How questions without a prediction were treated: ``"error"`` or ``"zero"``.
        fields: How the parts of trees were compared. They are recorded by the first 12 digits of the SHA-256 of their
            canonical JSON, unless none changes anything.
        parse: The sides and columns of which texts that print lists and dicts were taken apart.
        extract: The steps that took the answer out of each prediction. Defaults to the protocol's.
        options: The options of a benchmark, as in `leaderboard_figures`. Their names are recorded, and those that hold
            for all questions by the first 12 digits of the SHA-256 of their canonical JSON.

    Returns:
        Fields ``key:value`` joined by ``|``. A ``*`` after the name of the protocol says that its rules were changed.
        ``unicode`` is the Unicode version by which this Python lower-cases text.

    Raises:
        ValueError: The protocol is unknown, the threshold is outside [0, 1], or `n` is not a number of questions.

    Example:
        >>> print(signature("rrc", n=5349).split("|version")[0])
        anls|protocol:rrc|pred:strip+lower+collapse|ref:strip+lower+collapse|length:raw-upper|keep:>=0.5|empty:1|special:-|substitution:1|aggregate:mean|missing:error|n:5349
    """
    rules = get_rules(protocol, threshold, extract)
    if n is not None and (isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 0 <= int(n) < 2**63):
        raise AnlsError("expected the number of questions, an integer of at least 0", option="n", value=n)
    found = read_fields(fields, rules)
    recorded = rules.signature_fields()
    if found is not None and isinstance(rules, Protocol) and not found.rules(rules).is_plain:
        recorded["fields"] = found.fingerprint()
    of_benchmark = rules.recorded_options(options)
    recorded |= {
        **({"options": of_benchmark} if of_benchmark else {}),
        "aggregate": rules.aggregate,
        **({"parse": "+".join(map(quoted_item, parse))} if parse else {}),
        "missing": check_choice("missing", missing, MISSING),
        "n": "-" if n is None else n,
        "version": __version__,
    }
    if isinstance(rules, Protocol):
        recorded["unicode"] = unicodedata.unidata_version
    if rules != PROTOCOLS.get(rules.name, rules):
        recorded["protocol"] = f"{rules.name}*"
    return "|".join(["anls", *(f"{key}:{value}" for key, value in recorded.items())])


@functools.lru_cache(maxsize=64)
def signature_of_one(rules: Protocol) -> str:
    """Return the signature of the score of one question, which every explanation of one holds."""
    return signature(rules, n=1)


def protocol_from_signature(text: str) -> Protocol:
    """Return the protocol recorded in a `signature`, threshold included, to compute a printed score again.

    Args:
        text: A line made by `signature` for a protocol for texts or trees.

    Raises:
        ValueError: The text is not a signature, or a field is missing.

    Example:
        >>> protocol_from_signature(signature("due", threshold=0.8)).threshold
        0.8
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
        extract=tuple(fields["extract"].split("+")) if "extract" in fields else (),
        tree=fields.get("tree", ""),
        zero_predictions=tuple(
            "" if item == "''" else urllib.parse.unquote(item, errors="surrogatepass") for item in lists["special"]
        ),
        substitution_cost=substitution_cost,
    )
    known = PROTOCOLS.get(name, rules)
    return dataclasses.replace(rules, aliases=known.aliases, leaderboards=known.leaderboards, source=known.source)
