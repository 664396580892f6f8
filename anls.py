"""ANLS, the score of DocVQA, ST-VQA and InfographicVQA, in every variant that leaderboards compute.

This one file is the whole metric. It works as ``evaluate.load("anls")``, as ``import anls`` and copied
into another project. It reads from top to bottom: protocols, text similarity, ANLS, the evaluate metric.

ANLS is the mean over the questions of the similarity between the prediction and the closest accepted
answer, where similarity = 1 - distance / length, and 0 if that is below the threshold (Biten et al.,
"Scene Text Visual Question Answering", ICCV 2019, equation 1). What differs between leaderboards, and
changes the number, is a `Protocol`: plain data that one function reads.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import math
import numbers
import os
import re
import string
import types
import unicodedata
import urllib.parse
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, cast

import datasets
import evaluate
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from datasets.utils.filelock import FileLock
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

__version__ = "0.1.0"

__all__ = [
    "ANLS",
    "PROTOCOLS",
    "Protocol",
    "anls_score",
    "anls_scores",
    "get_protocol",
    "protocol_from_signature",
    "signature",
]

# ---------------------------------------------------------------------------------------------------
# Protocols
# ---------------------------------------------------------------------------------------------------


def _without_end_punctuation(text: str) -> str:
    end = len(text)
    while end and text[end - 1] != "%" and (text[end - 1] in string.punctuation or text[end - 1].isspace()):
        end -= 1
    return text[:end]


STEPS: Mapping[str, Callable[[str], str]] = types.MappingProxyType(
    {
        "strip": str.strip,
        "lower": str.lower,
        "upper": str.upper,
        "collapse": lambda text: " ".join(text.split()),
        "nfc": lambda text: unicodedata.normalize("NFC", text),
        "nfkc": lambda text: unicodedata.normalize("NFKC", text),
        "no-newlines": lambda text: text.replace("\n", ""),
        "no-outer-dots": lambda text: text.strip("."),
        "no-final-dot": lambda text: text.removesuffix("."),
        "no-end-punctuation": _without_end_punctuation,
    }
)
"""What can be done to a text before it is compared, by the name that a protocol and a signature use."""

LENGTHS: Mapping[str, Callable[[str, str], str]] = types.MappingProxyType(
    {
        "compared": lambda raw, compared: compared,
        "compared-upper": lambda raw, compared: compared.upper(),
        "raw": lambda raw, compared: raw,
        "raw-upper": lambda raw, compared: raw.upper(),
    }
)
"""The string whose characters are counted for the length that a distance is divided by."""


def _exact_threshold(threshold: object) -> Fraction:
    """The threshold as the decimal that the user wrote, or a ValueError that shows it."""
    if isinstance(threshold, (numbers.Real, Decimal)) and not isinstance(threshold, bool):
        try:
            exact = Fraction(str(threshold))
        except ValueError:  # NaN and infinities
            exact = Fraction(-1)
        if 0 <= exact <= 1:
            return exact
    raise ValueError(f"threshold={threshold!r}: expected a number from 0 to 1, the least similarity that counts")


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices or isinstance(value, bool):
        close = difflib.get_close_matches(str(value), map(str, choices), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}.{hint}")
    return value


@dataclasses.dataclass(frozen=True, kw_only=True)
class Protocol:
    r"""The rules by which one leaderboard or paper computes ANLS, as data.

    Make your own with `dataclasses.replace` and pass it wherever a protocol name is taken.

    Args:
        name: Letters, digits, ``_``, ``-`` and ``.``.
        prediction_steps: Names from `STEPS`, applied to the prediction in this order.
        answer_steps: The same for each accepted answer.
        prediction_length: A name from `LENGTHS`. The distance is divided by the greater of the two lengths.
        answer_length: The same for the answer.
        keep: ``">="`` keeps a similarity of exactly `threshold`, ``">"`` makes it 0.
        threshold: The least similarity that counts, from 0 to 1. It means the decimal that is written
            (0.8 is 4/5) and is compared in integers. 0 with ``">="`` keeps every similarity.
        both_empty: The similarity of two empty strings, 1 or 0.
        zero_predictions: Predictions, after their steps, that score 0 whatever the answers are.
        substitution_cost: The cost of replacing a character; inserting and deleting cost 1. A similarity
            below 0, possible when this is over 1, counts as 0.
        aliases: Other names that `get_protocol` takes.
        leaderboards: Who computes ANLS so.
        source: Where the rules come from, and what the original does differently in special cases.

    The attribute `exact_threshold` is the threshold as a fraction.

    Raises:
        ValueError: An option that is not one of those above. The message lists them.

    Example:
        >>> import dataclasses
        >>> composed = dataclasses.replace(
        ...     get_protocol("standard"),
        ...     name="standard_nfc",
        ...     prediction_steps=("nfc", "strip", "lower", "collapse"),
        ...     answer_steps=("nfc", "strip", "lower", "collapse"),
        ... )
        >>> anls_score("cafe\u0301", ["caf\u00e9"]), anls_score("cafe\u0301", ["caf\u00e9"], protocol=composed)
        (0.6, 1.0)
    """

    name: str
    prediction_steps: tuple[str, ...]
    answer_steps: tuple[str, ...]
    prediction_length: str = "compared"
    answer_length: str = "compared"
    keep: str = ">="
    threshold: float | Fraction | Decimal = 0.5
    both_empty: int = 1
    zero_predictions: tuple[str, ...] = ()
    substitution_cost: int = 1
    aliases: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    leaderboards: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    source: str = dataclasses.field(default="", compare=False)
    exact_threshold: Fraction = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[\w.-]+", self.name):
            raise ValueError(f"name={self.name!r}: expected letters, digits, '_', '-' and '.'")
        for option in ("prediction_steps", "answer_steps", "zero_predictions"):
            value = getattr(self, option)
            if isinstance(value, str) or not all(isinstance(item, str) for item in value):
                raise ValueError(f"{option}={value!r}: expected a tuple of strings")
            object.__setattr__(self, option, tuple(value))
        for option in ("prediction_steps", "answer_steps"):
            for step in getattr(self, option):
                _check_choice(f"a step of {option}", step, tuple(STEPS))
        _check_choice("prediction_length", self.prediction_length, tuple(LENGTHS))
        _check_choice("answer_length", self.answer_length, tuple(LENGTHS))
        _check_choice("keep", self.keep, (">=", ">"))
        _check_choice("both_empty", self.both_empty, (0, 1))
        cost = self.substitution_cost
        if isinstance(cost, bool) or not isinstance(cost, numbers.Integral) or cost < 0:
            raise ValueError(f"substitution_cost={cost!r}: expected an integer of at least 0")
        object.__setattr__(self, "exact_threshold", _exact_threshold(self.threshold))


def _row(name: str, steps: str, answer_steps: str | None = None, length: str = "compared", **rules: Any) -> Protocol:
    """A protocol whose two sides have the same steps and length unless said otherwise."""
    both = {"prediction_length": length, "answer_length": length}
    return Protocol(
        name=name,
        prediction_steps=tuple(steps.split()),
        answer_steps=tuple((steps if answer_steps is None else answer_steps).split()),
        **(both | rules),
    )


PROTOCOLS: Mapping[str, Protocol] = types.MappingProxyType({row.name: row for row in (
    _row(
        "standard", "strip lower collapse",
        source="The definition of the task descriptions, on normalised text; also the leaf of anls_star.",
    ),
    _row(
        "paper", "strip lower collapse", keep=">",
        source="Biten et al., ICCV 2019, equation 1, as printed: a distance ratio of exactly 0.5 gives 0.",
    ),
    _row(
        "rrc", "strip lower collapse", length="raw-upper",
        aliases=(
            "docvqa", "infographicvqa", "lmms_eval", "vlmevalkit", "unitxt", "evalscope", "qwen_vl", "internvl",
        ),
        leaderboards=("DocVQA", "InfographicVQA", "lmms-eval", "VLMEvalKit", "unitxt", "EvalScope"),
        source="The script offered at https://rrc.cvc.uab.es/?ch=17&com=downloads. It divides by the untouched "
        "strings, so blanks around a wrong answer raise its score. VLMEvalKit reports 0 to 100.",
    ),
    _row(
        "pypi_anls", "strip lower collapse", length="compared-upper", keep=">",
        leaderboards=("ChartQAPro (text answers)",), source="PyPI anls 0.0.2.",
    ),
    _row(
        "stvqa", "strip lower", aliases=("m4c", "mmf"), leaderboards=("ST-VQA in mmf", "M4C", "LLaVA"),
        source="mmf, STVQAANLSEvaluator. The original fails on two empty strings; here they give 1.",
    ),
    _row(
        "mpdocvqa", "strip lower", both_empty=0, zero_predictions=("none",),
        leaderboards=("MP-DocVQA", "lmms-eval multidocvqa"),
        source='The evaluator of MP-DocVQA: an empty prediction and "none" score 0, even if they are an answer.',
    ),
    _row(
        "pix2struct", "lower", keep=">", leaderboards=("Pix2Struct",),
        source="google-research/pix2struct, metrics.py. The original reports 0 to 100, so that its last digit "
        "differs, and fails on two empty strings; here they give 1.",
    ),
    _row(
        "paligemma", "lower", keep=">", aliases=("big_vision",), leaderboards=("PaliGemma",),
        source="google-research/big_vision, the DocVQA evaluator.",
    ),
    _row(
        "molmo", "lower", length="raw", keep=">", leaderboards=("Molmo",),
        source="allenai/molmo. The original fails on two empty strings; here they give 1.",
    ),
    _row(
        "inspect_evals", "lower", length="raw", keep=">", leaderboards=("inspect_evals docvqa",),
        source="UKGovernmentBEIS/inspect_evals, docvqa.",
    ),
    _row(
        "idefics", "strip no-outer-dots lower", answer_steps="lower", keep=">", both_empty=0,
        leaderboards=("Idefics2", "Idefics3", "SmolVLM"),
        source="huggingface/smollm, DocVQAMetrics: an empty prediction scores 0.",
    ),
    _row(
        "florence2", "lower no-final-dot", keep=">", both_empty=0, leaderboards=("Florence-2 fine-tuning",),
        source="andimarafioti/florence2-finetuning, metrics.py: an empty prediction scores 0.",
    ),
    _row(
        "due", "upper", keep=">", leaderboards=("DUE benchmark", "DocOwl 1.5", "UReader"),
        source="The evaluator of the DUE benchmark, ignoring case.",
    ),
    _row(
        "due_cased", "", keep=">", leaderboards=("DUE benchmark",),
        source="The evaluator of the DUE benchmark, with case.",
    ),
    _row(
        "mmpretrain", "strip lower collapse", prediction_length="raw-upper", answer_length="compared-upper",
        leaderboards=("mmpretrain",), source="open-mmlab/mmpretrain, anls.py.",
    ),
    _row(
        "mistral_evals", "strip lower collapse no-end-punctuation", threshold=0.0,
        leaderboards=("mistral-evals",), source="mistralai/mistral-evals, eval/metrics.py: no threshold.",
    ),
    _row(
        "longdocurl", "", length="raw-upper", keep=">", leaderboards=("LongDocURL", "anls_compute of MMLongBench-Doc"),
        source="mayubo2333/MMLongBench-Doc, eval/eval_score.py, anls_compute.",
    ),
    _row(
        "vlmevalkit_slidevqa", "lower", length="compared-upper", keep=">",
        leaderboards=("VLMEvalKit SlideVQA", "VLMEvalKit DUDE"), source="open-compass/VLMEvalKit, SlideVQA and DUDE.",
    ),
    _row(
        "lmms_slidevqa", "lower", answer_steps="no-newlines lower", keep=">", both_empty=0,
        leaderboards=("lmms-eval slidevqa",), source="EvolvingLMMs-Lab/lmms-eval, tasks/slidevqa/utils.py.",
    ),
    _row(
        "lmms_dude", "strip lower collapse", both_empty=0, leaderboards=("lmms-eval dude",),
        source="EvolvingLMMs-Lab/lmms-eval, tasks/dude/utils.py: a blank answer never scores.",
    ),
    _row(
        "unthresholded", "", threshold=0.0,
        source="The mean similarity of the text as it is, as torchmetrics' EditDistance would give it.",
    ),
)})  # fmt: skip
"""Every protocol by its name. `get_protocol` also takes the aliases."""

_ALIASES = {alias: name for name, protocol in PROTOCOLS.items() for alias in protocol.aliases}


def get_protocol(protocol: str | Protocol) -> Protocol:
    """Give the protocol of a name or alias; a `Protocol` comes back as it is.

    Args:
        protocol: A name in `PROTOCOLS`, an alias of one, or a `Protocol`.

    Returns:
        The rules.

    Raises:
        ValueError: The name is not known. The message lists the known ones.

    Example:
        >>> get_protocol("docvqa").name
        'rrc'
    """
    if isinstance(protocol, Protocol):
        return protocol
    if type(protocol).__name__ == "Protocol" and dataclasses.is_dataclass(protocol):
        # Made by another copy of this file: evaluate.load and `import anls` are two modules.
        options = [field.name for field in dataclasses.fields(Protocol) if field.init]
        return Protocol(**{option: getattr(protocol, option) for option in options})
    name = _ALIASES.get(protocol, protocol) if isinstance(protocol, str) else protocol
    _check_choice("protocol", name, tuple(PROTOCOLS))
    return PROTOCOLS[name]


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
        ValueError: An unknown protocol, or a threshold outside 0 to 1.

    Example:
        >>> print(signature("rrc", n=5349).split("|version")[0])
        anls|protocol:rrc|pred:strip+lower+collapse|ref:strip+lower+collapse|length:raw-upper|keep:>=0.5|empty:1|special:-|substitution:1|aggregate:mean|missing:error|n:5349
    """
    rules = _rules(protocol, threshold)
    changed = rules.name in PROTOCOLS and rules != PROTOCOLS[rules.name]
    lengths = dict.fromkeys((rules.prediction_length, rules.answer_length))
    fields = {
        "protocol": rules.name + "*" * changed,
        "pred": "+".join(rules.prediction_steps) or "-",
        "ref": "+".join(rules.answer_steps) or "-",
        "length": "/".join(lengths),
        "keep": f"{rules.keep}{rules.threshold}",
        "empty": rules.both_empty,
        "special": "+".join(map(_quoted, rules.zero_predictions)) or "-",
        "substitution": rules.substitution_cost,
        "aggregate": "mean",
        "missing": _check_choice("missing", missing, _MISSING),
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
    head, *pairs = text.strip().split("|")
    fields = dict(pair.split(":", 1) for pair in pairs if ":" in pair)
    absent = {"protocol", "pred", "ref", "length", "keep", "empty", "special", "substitution"} - fields.keys()
    if head != "anls" or absent:
        raise ValueError(f"not a signature: {text!r} lacks {', '.join(sorted(absent)) or 'the leading anls'}")
    lists = {key: () if fields[key] == "-" else tuple(fields[key].split("+")) for key in ("pred", "ref", "special")}
    name, lengths = fields["protocol"].removesuffix("*"), fields["length"].split("/")
    keep = ">=" if fields["keep"].startswith(">=") else fields["keep"][:1]
    try:
        threshold = Fraction(fields["keep"].removeprefix(keep))
        both_empty, substitution_cost = int(fields["empty"]), int(fields["substitution"])
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f"not a signature: {text!r} has a keep, empty or substitution field without a number"
        ) from None
    rules = Protocol(
        name=name,
        prediction_steps=lists["pred"],
        answer_steps=lists["ref"],
        prediction_length=lengths[0],
        answer_length=lengths[-1],
        keep=keep,
        threshold=threshold if Fraction(str(float(threshold))) != threshold else float(threshold),
        both_empty=both_empty,
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


def _rules(protocol: str | Protocol, threshold: float | Fraction | Decimal | None) -> Protocol:
    rules = get_protocol(protocol)
    return rules if threshold is None else dataclasses.replace(rules, threshold=threshold)


_MISSING = ("error", "zero")
_UNKNOWN = ("error", "ignore")

# ---------------------------------------------------------------------------------------------------
# Text similarity: one pair, and a batch of pairs held in Arrow
# ---------------------------------------------------------------------------------------------------

_TEXTS = pa.large_string()
_TEXT_LISTS = pa.large_list(_TEXTS)
_Ints = Any  # an int or an int64 array: the formulas below are the same for both
_Floats = npt.NDArray[np.float64]


def _similarity(distance: _Ints, length: _Ints, rules: Protocol) -> Any:
    """1 - distance / length; a length of 0 means two empty strings."""
    empty = length == 0
    return 1 - distance / (length + empty) - empty * (1 - rules.both_empty)


def _is_kept(distance: _Ints, length: _Ints, rules: Protocol) -> Any:
    """Whether the similarity reaches the threshold, compared in integers."""
    exact = rules.exact_threshold
    length = length + (length == 0)
    if isinstance(length, np.ndarray) and length.size and exact.denominator * int(length.max()) >= 2**62:
        distance, length = distance.astype(object), length.astype(object)  # thresholds of very many digits
    have, need = (length - distance) * exact.denominator, exact.numerator * length
    return have > need if rules.keep == ">" else have >= need


def _kept_similarity(distance: _Ints, length: _Ints, rules: Protocol) -> Any:
    return _similarity(distance, length, rules) * _is_kept(distance, length, rules) + 0.0  # + 0.0: never -0.0


def _apply(steps: Iterable[str], text: str) -> str:
    for step in steps:
        text = STEPS[step](text)
    return text


def _score_one(prediction: str | None, answers: Sequence[str], rules: Protocol) -> tuple[float, int]:
    """The score of one question and the index of its closest answer (-1 if there is no prediction)."""
    if prediction is None:
        return 0.0, -1
    left = _apply(rules.prediction_steps, prediction)
    left_length = len(LENGTHS[rules.prediction_length](prediction, left))
    best_score, best_similarity, best = 0.0, -math.inf, -1
    for index, answer in enumerate(answers):
        right = _apply(rules.answer_steps, answer)
        length = max(left_length, len(LENGTHS[rules.answer_length](answer, right)))
        distance = Levenshtein.distance(left, right, weights=(1, 1, rules.substitution_cost))
        similarity = _similarity(distance, length, rules)
        if similarity > best_similarity:
            best_similarity, best = similarity, index
            best_score = similarity if _is_kept(distance, length, rules) else 0.0
    return (0.0 if left in rules.zero_predictions else best_score), best


class _Texts(NamedTuple):
    """A column of texts made ready for comparison."""

    compared: pa.LargeStringArray
    sizes: npt.NDArray[np.int64]  # characters of the compared texts
    lengths: npt.NDArray[np.int64]  # characters that the distance is divided by


_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f "  # what str.strip and str.split take as blanks in ASCII

_ASCII_STEPS: Mapping[str, Callable[[pa.LargeStringArray], pa.LargeStringArray]] = types.MappingProxyType(
    {
        "strip": lambda texts: pc.ascii_trim(texts, characters=_BLANKS),
        "lower": pc.ascii_lower,
        "upper": pc.ascii_upper,
        "collapse": lambda texts: _collapsed(pc.ascii_trim(texts, characters=_BLANKS)),
        "nfc": lambda texts: texts,
        "nfkc": lambda texts: texts,
        "no-newlines": lambda texts: pc.replace_substring(texts, "\n", ""),
    }
)
"""Those of `STEPS` that Arrow does as Python does, on text that is ASCII; other text comes out wrong."""


def _prepare(texts: pa.LargeStringArray, steps: tuple[str, ...], length: str) -> _Texts:
    """Apply the steps and count the lengths: in Arrow where text is ASCII, in Python where it is not."""
    compared = texts
    if steps:
        in_arrow = _bools(pc.string_is_ascii(texts)) & (set(steps) <= _ASCII_STEPS.keys())
        if in_arrow.any():
            for step in steps if "collapse" not in steps else [step for step in steps if step != "strip"]:
                compared = _ASCII_STEPS[step](compared)
        if not in_arrow.all():
            others = [_apply(steps, text) for text in texts.filter(pa.array(~in_arrow)).to_pylist()]
            compared = pc.replace_with_mask(compared, pa.array(~in_arrow), pa.array(others, _TEXTS))
    sizes = _ints(pc.utf8_length(compared))
    counted, _, upper = length.partition("-")
    lengths = sizes if counted == "compared" else _ints(pc.utf8_length(texts))
    if upper:  # upper-casing can lengthen text that is not ASCII
        source = compared if counted == "compared" else texts
        wide = ~_bools(pc.string_is_ascii(source))
        lengths = lengths.copy()
        lengths[wide] = [len(text.upper()) for text in source.filter(pa.array(wide)).to_pylist()]
    return _Texts(compared, sizes, lengths)


_IS_BLANK = np.isin(np.arange(256), np.frombuffer(_BLANKS.encode(), np.uint8))


def _collapsed(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Put one blank for each run of blanks in stripped texts, in the bytes of all texts at once."""
    starts = _starts(texts)
    given = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1]]
    blanks = np.flatnonzero(given <= ord(" "))
    blanks = blanks[_IS_BLANK[given[blanks]]]
    again = blanks[1:][np.diff(blanks) == 1]
    single = given.copy()
    single[blanks] = ord(" ")
    if len(again):
        single = np.delete(single, again)
    moved = starts - starts[0]
    return pa.LargeStringArray.from_buffers(
        len(texts), pa.py_buffer(moved - np.searchsorted(again, moved)), pa.py_buffer(single)
    )


def _bools(array: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    return np.array(array.to_numpy(zero_copy_only=False), dtype=bool)


def _ints(array: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.int64)


def _starts(texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    return np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]


def _equal(
    predictions: pa.LargeStringArray, answers: pa.LargeStringArray, owner: npt.NDArray[np.int64], fold: bool = False
) -> npt.NDArray[np.bool_]:
    """Which answers equal their prediction, with `fold` whatever the case of ASCII letters."""
    equal = np.zeros(len(owner), dtype=bool)
    same_size = np.flatnonzero(np.diff(_starts(predictions))[owner] == np.diff(_starts(answers)))
    # Only on what `take` made: Arrow's ASCII case kernels are wrong on a cast slice, whose offsets do not begin at 0.
    pair = [predictions.take(pa.array(owner[same_size])), answers.take(pa.array(same_size))]
    equal[same_size] = _bools(pc.fill_null(pc.equal(*map(pc.ascii_lower, pair) if fold else pair), False))
    return equal


def _score_texts(
    predictions: pa.LargeStringArray, answers: pa.LargeListArray, rules: Protocol, closest: bool
) -> tuple[_Floats, npt.NDArray[np.int64]]:
    """Score a batch of questions; the closest answers (-1: none) are looked for only if asked for.

    Few pairs need a distance. A question is settled by an answer equal to its prediction, and a pair is out if
    the difference of the two lengths, the least that their distance can be, already puts it under the threshold.
    """
    scores = np.zeros(len(predictions))
    best = np.full(len(predictions), -1, dtype=np.int64)
    perfect = _kept_similarity(0, 1, rules)
    flat, owner = answers.flatten(), _ints(pc.list_parent_indices(answers))
    first_answer = np.searchsorted(owner, np.arange(len(predictions))) if closest else owner
    is_open = _bools(predictions.is_valid())
    steps = rules.prediction_steps
    if steps == rules.answer_steps and rules.both_empty and not rules.zero_predictions and not closest:
        # Equal raw texts stay equal; texts that differ in ASCII case only become equal where a step drops case
        # (composing before that can keep them apart: there is a composed h with a line below, but no such H).
        drops_case = bool({"lower", "upper"} & set(steps)) and not {"nfc", "nfkc"} & set(steps)
        equal = _equal(predictions, flat, owner, drops_case)
        scores[owner[equal]] = perfect
        is_open[owner[equal]] = False

    # Keep only the questions that are still open, and number them anew.
    rows, of_open = np.flatnonzero(is_open), is_open[owner]
    offsets = np.flatnonzero(of_open)
    owner = (np.cumsum(is_open) - 1)[owner[of_open]]
    left = _prepare(predictions.filter(pa.array(is_open)), rules.prediction_steps, rules.prediction_length)
    right = _prepare(flat.filter(pa.array(of_open)), rules.answer_steps, rules.answer_length)
    lengths = np.maximum(left.lengths[owner], right.lengths)
    open_scores = np.zeros(len(rows))

    if closest:
        pairs = np.arange(len(owner))
    else:
        equal = _equal(left.compared, right.compared, owner)
        equal &= (right.sizes > 0) | bool(rules.both_empty)
        open_scores[owner[equal]] = perfect
        settled = np.zeros(len(rows), dtype=bool)
        settled[owner[equal]] = True
        least_distance = np.abs(left.sizes[owner] - right.sizes)
        pairs = np.flatnonzero(~settled[owner] & (_kept_similarity(least_distance, lengths, rules) > 0))

    distances = cpdist(
        left.compared.take(pa.array(owner[pairs])).to_numpy(zero_copy_only=False),
        right.compared.take(pa.array(pairs)).to_numpy(zero_copy_only=False),
        scorer=Levenshtein.distance,
        scorer_kwargs={"weights": (1, 1, rules.substitution_cost)},
        dtype=np.int32,
    ).astype(np.int64)
    np.maximum.at(open_scores, owner[pairs], _kept_similarity(distances, lengths[pairs], rules).astype(np.float64))
    if rules.zero_predictions:
        zero = pc.is_in(left.compared, value_set=pa.array(rules.zero_predictions, _TEXTS))
        open_scores[_bools(zero)] = 0.0
    scores[rows] = open_scores

    if closest and len(rows):
        similarities = _similarity(distances, lengths, rules)
        starts = np.searchsorted(owner, np.arange(len(rows)))
        at_best = np.flatnonzero(similarities == np.maximum.reduceat(similarities, starts)[owner])
        first = at_best[np.unique(owner[at_best], return_index=True)[1]]
        best[rows] = offsets[first] - first_answer[rows]
    return scores, best


# ---------------------------------------------------------------------------------------------------
# Input: what people pass as predictions and answers
# ---------------------------------------------------------------------------------------------------

_Where = Callable[[int], str]  # names a row in a message


def _is_missing(value: object) -> bool:
    """None, NaN (the missing text of pandas) or pandas' NA."""
    if isinstance(value, numbers.Number):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _text(value: object, where: str, expected: str) -> str | None:
    """The text of one prediction or answer; None if it is missing."""
    if isinstance(value, str):
        return str.__str__(value)  # numpy and enum subclasses of str
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    if _is_missing(value):
        return None
    if isinstance(value, (numbers.Number, np.bool_)):
        return str(value)
    raise ValueError(f"{where} is {_describe(value)}; expected {expected}.{_remedy(value)}")


def _describe(value: object) -> str:
    if isinstance(value, (list, tuple, np.ndarray)):
        kinds = sorted({type(item).__name__ for item in value})
        return f"a {type(value).__name__} of {len(value)} {'/'.join(kinds) or 'items'}"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with the keys {list(value)[:8]}"
    shown = repr(value)
    return f"a {type(value).__name__}, {shown if len(shown) <= 80 else shown[:77] + '...'}"


def _remedy(value: object) -> str:
    if isinstance(value, (list, tuple, np.ndarray)) and len(value):
        if len(value) == 1 and isinstance(value[0], str):
            return f" Pass the string itself: {value[0]!r}."
        if all(isinstance(item, numbers.Integral) for item in value):
            return " Decode the token ids to text first, for example with tokenizer.batch_decode."
    if isinstance(value, bytes):
        return " It is not UTF-8: decode it first."
    return ""


def _prediction_texts(values: list[Any], where: _Where) -> pa.LargeStringArray:
    """The texts, null where there is none; raises UnicodeEncodeError for a lone surrogate, which Arrow cannot hold."""
    try:
        return pa.array(values, _TEXTS)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # not all are texts: look at each
        return pa.array(_each_prediction(values, where), _TEXTS)


def _answer_texts(values: list[Any], where: _Where) -> pa.LargeListArray:
    """The lists of answers, none of them empty; raises UnicodeEncodeError as above."""
    if set(map(type, values)) <= {list, tuple}:  # Arrow would take a bare string as a list of characters
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError):
            answers = pa.array(values, _TEXT_LISTS)
            if _has_no_gap(answers):
                return answers
    return pa.array(_each_answers(values, where), _TEXT_LISTS)


def _each_prediction(values: list[Any], where: _Where) -> list[str | None]:
    return [_text(value, where(row), "one string for each question") for row, value in enumerate(values)]


def _each_answers(values: list[Any], where: _Where) -> list[list[str]]:
    return [_answers(value, where(row)) for row, value in enumerate(values)]


def _has_no_gap(answers: pa.LargeListArray) -> bool:
    counts = pc.fill_null(pc.list_value_length(answers), 0)
    return not answers.flatten().null_count and pc.min(counts).as_py() != 0


def _answers(value: Any, where: str) -> list[str]:
    """The accepted answers of one question, from any of the layouts that datasets have."""
    expected = "a list of strings, one string, or {'text': [...]}"
    if isinstance(value, Mapping) and "text" in value:  # SQuAD
        value = value["text"]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        text = _text(value, where, expected)
        value = [] if text is None else [text]
    if not value:
        raise ValueError(f"{where} holds no answer; expected {expected}. Add one or leave the question out.")
    texts = [_text(item, f"{where}[{index}]", "a string") for index, item in enumerate(value)]
    if None in texts:
        raise ValueError(f"{where}[{texts.index(None)}] is {value[texts.index(None)]!r}; expected a string. Remove it.")
    return cast(list[str], texts)


def _column(values: Any, name: str) -> list[Any] | pa.Array | pa.ChunkedArray:
    """A column as a list, or as it is if it is an Arrow column of texts or of lists of texts."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values if _arrow_type(values.type) else values.to_pylist()
    if isinstance(values, list):
        return values
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ValueError(f"{name} is {_describe(values)}; expected a list or column with one item for each question.")
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _arrow_type(given: pa.DataType) -> pa.DataType | None:
    """The Arrow type that texts or lists of texts are scored as; None if it is something else."""
    if pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given):
        inner = _arrow_type(given.value_type)
        return _TEXT_LISTS if inner == _TEXTS else None
    inner = given.value_type if pa.types.is_dictionary(given) else given
    is_text = pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    return _TEXTS if is_text else None


def _arrow_block(block: pa.Array | pa.ChunkedArray) -> pa.Array:
    wanted = block.cast(_arrow_type(block.type))
    return wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted


# ---------------------------------------------------------------------------------------------------
# ANLS
# ---------------------------------------------------------------------------------------------------

_BLOCK = 16_384  # questions scored at once: bounds the memory, and stays in the processor's cache


class _Scored(NamedTuple):
    scores: _Floats
    closest: list[str | None]  # empty unless asked for
    unanswered: list[int]  # rows whose prediction is None
    padded: int  # questions whose score was raised by blanks around a text
    padding_gain: float  # by how much, summed over the questions


def _score(predictions: Any, answers: Any, rules: Protocol, closest: bool = False) -> _Scored:
    """Score two columns of the same length, a block at a time."""
    scores = np.zeros(len(predictions))
    nearest: list[str | None] = []
    unanswered: list[int] = []
    gains: list[float] = []
    for start in range(0, len(predictions), _BLOCK):
        rows = slice(start, start + _BLOCK)
        texts, options = _block(predictions[rows], answers[rows], start)
        scores[rows], best = _score_block(texts, options, rules, closest)
        gains += _padding_gains(texts, options, scores[rows], rules)
        unanswered += (
            [start + row for row, text in enumerate(_listed(texts)) if text is None] if _has_none(texts) else []
        )
        if closest:
            nearest += [None if i < 0 else own[i] for i, own in zip(best.tolist(), _listed(options), strict=True)]
    return _Scored(scores, nearest, unanswered, len(gains), math.fsum(gains))


def _block(predictions: Any, answers: Any, start: int) -> tuple[Any, Any]:
    """A block as two Arrow arrays, or as two lists if some text holds a lone surrogate, which Arrow cannot."""

    def row_of(side: str) -> _Where:
        return lambda row: f"{side}[{start + row}]"

    if not isinstance(predictions, list):
        predictions = _arrow_block(predictions)
    if not isinstance(answers, list):
        answers = _arrow_block(answers)
        answers = answers if _has_no_gap(answers) else answers.to_pylist()  # to be refused with the row's number
    try:
        return (
            _prediction_texts(predictions, row_of("predictions")) if isinstance(predictions, list) else predictions,
            _answer_texts(answers, row_of("answers")) if isinstance(answers, list) else answers,
        )
    except UnicodeEncodeError:
        listed = _listed(predictions), _listed(answers)
        return _each_prediction(listed[0], row_of("predictions")), _each_answers(listed[1], row_of("answers"))


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else column.to_pylist()


def _has_none(texts: Any) -> bool:
    return None in texts if isinstance(texts, list) else bool(texts.null_count)


def _score_block(texts: Any, options: Any, rules: Protocol, closest: bool) -> tuple[_Floats, npt.NDArray[np.int64]]:
    if isinstance(texts, pa.Array) and isinstance(options, pa.Array):
        return _score_texts(texts, options, rules, closest)
    each = [_score_one(text, own, rules) for text, own in zip(_listed(texts), _listed(options), strict=True)]
    return np.array([score for score, _ in each]), np.array([best for _, best in each])


def _padding_gains(texts: Any, options: Any, scores: _Floats, rules: Protocol) -> list[float]:
    """How far blanks around prediction or answers raised each score, for protocols that divide by raw lengths."""
    if not (rules.prediction_length.startswith("raw") or rules.answer_length.startswith("raw")):
        return []
    partial = np.flatnonzero((scores > 0) & (scores < 1))  # blanks cannot raise 0 to 0 or anything above 1
    if isinstance(texts, pa.Array):
        texts, options = texts.take(pa.array(partial)), options.take(pa.array(partial))
        pairs = list(zip(texts.to_pylist(), options.to_pylist(), partial.tolist(), strict=True))
    else:
        pairs = [(texts[row], options[row], row) for row in partial.tolist()]
    stripped = [(text.strip(), [answer.strip() for answer in own]) for text, own, _ in pairs]
    padded = [index for index, (text, own, _) in enumerate(pairs) if (text, list(own)) != stripped[index]]
    if not padded:
        return []
    bare = _block([stripped[index][0] for index in padded], [stripped[index][1] for index in padded], 0)
    rise = scores[[pairs[index][2] for index in padded]] - _score_block(*bare, rules, False)[0]
    return [float(gain) for gain in rise if gain > 0]


def _notes(scored: _Scored, rules: Protocol, names: Sequence[str] | None = None) -> list[str]:
    """What the user must be told about a score: unanswered questions, and padding that raised it."""
    notes = []
    n = len(scored.scores)
    if not _is_kept(0, 1, rules):
        notes.append(
            f"protocol {rules.name!r} keeps only a similarity above the threshold {rules.threshold}, "
            "and there is none: every score is 0"
        )
    if scored.unanswered:
        first = [str(row) if names is None else repr(names[row]) for row in scored.unanswered[:5]]
        more = ", ..." if len(scored.unanswered) > 5 else ""
        kind = "row" if names is None else "question_id"
        notes.append(
            f"{len(scored.unanswered)} of {n} predictions are None or NaN ({kind} {', '.join(first)}{more}): "
            "taken as no answer given, which scores 0"
        )
    if scored.padded:
        mean = math.fsum(scored.scores.tolist()) / n
        notes.append(
            f"protocol {rules.name!r} divides by raw lengths, and blanks around the texts raised the score of "
            f"{scored.padded} of {n} questions: the mean is {mean:.6f} with them and "
            f"{mean - scored.padding_gain / n:.6f} without. Strip the texts, or use the protocol 'standard'"
        )
    return notes


def anls_score(
    prediction: Any,
    answers: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> float:
    """Score one prediction against its accepted answers.

    Args:
        prediction: The predicted text. A number or bool is taken as its `str`; None and NaN are no answer, which
            scores 0 with a warning.
        answers: The accepted answers: a list or tuple of strings, one string, or the SQuAD form ``{"text": [...]}``.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        The similarity to the closest answer, from 0 to 1; 0 if the protocol does not keep it.

    Raises:
        ValueError: Something that is not text, no answer at all, an unknown protocol or a threshold outside 0 to 1.

    Example:
        >>> anls_score("CocaCola", ["Coca Cola", "Coca Cola Company"])
        0.8888888888888888
        >>> anls_score("ab", ["ac"]), anls_score("ab", ["ac"], protocol="paper")
        (0.5, 0.0)

    Source: Biten et al., "Scene Text Visual Question Answering", ICCV 2019, section 3; https://arxiv.org/abs/1905.13648.
    """
    rules = _rules(protocol, threshold)
    text = _text(prediction, "prediction", "one string")
    options = _answers(answers, "answers")
    score, _ = _score_one(text, options, rules)
    gains = _padding_gains([text], [options], np.array([score]), rules)
    scored = _Scored(np.array([score]), [], [0] if text is None else [], len(gains), math.fsum(gains))
    for note in _notes(scored, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def anls_scores(
    predictions: Any,
    answers: Any,
    *,
    protocol: str | Protocol = "standard",
    threshold: float | Fraction | Decimal | None = None,
) -> _Floats:
    """Score n predictions, each against its own accepted answers, as fast as the machine allows.

    The result does not depend on the order or on how the questions are split into calls. ANLS is its mean.

    Args:
        predictions: n texts as a list, NumPy array, pandas Series or Arrow column (fastest). Each is taken as
            `anls_score` takes one.
        answers: n lists of accepted answers, likewise; ``list<string>`` in Arrow.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: What `anls_score` refuses, with the row; columns of different length.

    Example:
        >>> anls_scores(["Denver Broncos", "12/15/89"], [["Denver Broncos"], ["12/15/88"]])
        array([1.   , 0.875])

    Source: as `anls_score`.
    """
    rules = _rules(protocol, threshold)
    left, right = _column(predictions, "predictions"), _column(answers, "answers")
    _check_lengths(left, right, "answers")
    scored = _score(left, right, rules)
    for note in _notes(scored, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return scored.scores


def _check_lengths(predictions: Sequence[Any], answers: Sequence[Any], name: str) -> None:
    n = len(predictions)
    if n == len(answers):
        return
    hint = ""
    if n and len(answers) and all(isinstance(own, (list, tuple)) and len(own) == n for own in answers):
        hint = f" {name} seem to be one list for each set of references: turn them with list(zip(*{name}))."
    raise ValueError(
        f"{n} predictions but {len(answers)} {name}; expected one list of accepted answers for each prediction.{hint}"
    )


# ---------------------------------------------------------------------------------------------------
# The evaluate metric
# ---------------------------------------------------------------------------------------------------

_DESCRIPTION = """\
ANLS (Average Normalized Levenshtein Similarity) is the score of DocVQA, ST-VQA and InfographicVQA. For each question
it is the similarity 1 - edit distance / length between the prediction and the closest accepted answer, or 0 where that
is below 0.5; over the questions it is averaged. It forgives slips of character recognition, not wrong answers. Each
leaderboard computes it a little differently: the configuration name picks the protocol, evaluate.load("anls", "rrc").
"""

_INPUTS = """
Args:
    predictions: a list of {"question_id": ..., "prediction_text": ...}, or of plain strings.
    references: a list of {"question_id": ..., "answers": [...]}, or of plain lists of accepted answers. With
        question_ids both are aligned by id, whatever their order; without, by position.
    threshold: the least similarity that counts, from 0 to 1, in place of the protocol's.
    detailed: whether to add the score and closest answer of each question, the counts and the signature.
    missing: what a question without a prediction is: "error", or "zero" to score it 0.
    unknown: what a prediction without a question is: "error", or "ignore" to leave it out.

Returns:
    anls_score: the mean over the questions, from 0 to 1.

Examples:
    >>> metric = evaluate.load("anls")
    >>> predictions = [{"question_id": "10285", "prediction_text": "Denver Broncos"},
    ...                {"question_id": "18601", "prediction_text": "12/15/89"}]
    >>> references = [{"question_id": "10285", "answers": ["Denver Broncos", "Denver R. Broncos"]},
    ...               {"question_id": "18601", "answers": ["12/15/88"]}]
    >>> metric.compute(predictions=predictions, references=references)
    {'anls_score': 0.9375}
"""

_CITATION = """\
@inproceedings{biten2019scene,
  title = {Scene Text Visual Question Answering},
  author = {Biten, Ali Furkan and Tito, Ruben and Mafla, Andres and Gomez, Lluis and Rusinol, Marcal and
            Valveny, Ernest and Jawahar, C. V. and Karatzas, Dimosthenis},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision},
  year = {2019},
  url = {https://arxiv.org/abs/1905.13648}
}
@article{peer2024anls,
  title = {ANLS* -- A Universal Document Processing Metric for Generative Large Language Models},
  author = {Peer, David and Sch{\\"o}pf, Philemon and Nebendahl, Volckmar and Rietzler, Alexander and
            Stabinger, Sebastian},
  journal = {arXiv preprint arXiv:2402.03848},
  year = {2024},
  url = {https://arxiv.org/abs/2402.03848}
}
"""


_BYTES = pa.large_binary()  # UTF-8 that may hold lone surrogates, which Arrow's texts cannot
_STORED = pa.schema(
    {
        "predictions": pa.struct({"question_id": _BYTES, "prediction_text": _BYTES}),
        "references": pa.struct({"question_id": _BYTES, "answers": pa.large_list(_BYTES)}),
    }
)


class _Side(NamedTuple):
    """Checked predictions or references, as `_STORED` holds them. Ids are null for all rows or for none."""

    ids: pa.Array
    values: pa.Array


def _read_batch(predictions: Any, references: Any) -> dict[str, _Side]:
    """Check a batch. Without ids, both sides have the same length."""
    prediction_ids, texts = _read_rows(predictions, "predictions", "prediction_text")
    reference_ids, answers = _read_rows(references, "references", "answers")
    without_ids = None in prediction_ids[:1] or None in reference_ids[:1]
    if without_ids and texts and answers and (None in prediction_ids[:1]) != (None in reference_ids[:1]):
        bare, other = ("predictions", "references") if None in prediction_ids[:1] else ("references", "predictions")
        raise ValueError(
            f"{other} have question_ids and {bare} have none; expected both with question_ids or both without."
        )
    if without_ids:
        _check_lengths(texts, answers, "references")
    prediction_name = _row_name("predictions", "prediction_text", prediction_ids)
    reference_name = _row_name("references", "answers", reference_ids)
    return {
        "predictions": _Side(_stored_ids(prediction_ids), _stored_texts(texts, prediction_name)),
        "references": _Side(_stored_ids(reference_ids), _stored_answers(answers, reference_name)),
    }


def _stored_ids(ids: list[str | None]) -> pa.Array:
    return _stored_texts(ids, str)


def _stored_texts(values: list[Any], where: _Where) -> pa.Array:
    try:
        return _prediction_texts(values, where).cast(_BYTES)
    except UnicodeEncodeError:
        return pa.array(_encoded(_each_prediction(values, where)), _BYTES)


def _stored_answers(values: list[Any], where: _Where) -> pa.Array:
    try:
        return _answer_texts(values, where).cast(pa.large_list(_BYTES))
    except UnicodeEncodeError:
        return pa.array(_encoded(_each_answers(values, where)), pa.large_list(_BYTES))


def _encoded(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_encoded, value))
    return None if value is None else value.encode("utf-8", "surrogatepass")


def _row_name(side: str, key: str, ids: list[str | None]) -> _Where:
    def name(row: int) -> str:
        return f"{side}[{row}]" if ids[row] is None else f"{side}[{row}] (question_id {ids[row]!r}): {key!r}"

    return name


def _read_rows(rows: Any, side: str, key: str) -> tuple[list[str | None], list[Any]]:
    """Split rows into question_ids and values; bare values have no ids."""
    if rows is None:
        return [], []
    column = _column(rows, side)
    listed = column if isinstance(column, list) else column.to_pylist()
    try:
        ids, values = [row["question_id"] for row in listed], [row[key] for row in listed]
    except (KeyError, TypeError, IndexError):
        ids, values = _read_unusual_rows(listed, side, key)
    if not set(map(type, ids)) <= {str}:
        ids = [None if id_ is _NO_ID else _id_text(id_, f"{side}[{row}]") for row, id_ in enumerate(ids)]
    return ids, values


_NO_ID = object()


def _read_unusual_rows(rows: list[Any], side: str, key: str) -> tuple[list[Any], list[Any]]:
    """Bare values, or rows without ids, or the error that says which row is neither."""
    # A mapping is a row, but for the SQuAD form of answers.
    wrapped = [isinstance(row, Mapping) and (side == "predictions" or key in row or "text" not in row) for row in rows]
    if not any(wrapped):
        return [_NO_ID] * len(rows), rows
    expected = f"{{'question_id': ..., {key!r}: ...}}"
    with_id = [is_wrapped and "question_id" in row for row, is_wrapped in zip(rows, wrapped, strict=True)]
    kinds = list(zip(wrapped, with_id, strict=True))
    for number, row in enumerate(rows):
        if kinds[number] != kinds[0]:
            where = f"{side}[{number}] is {_describe(row)}, unlike {side}[0]"
            raise ValueError(f"{where}; expected all rows to be alike, {expected}.")
    for number, row in enumerate(rows):
        if key not in row or (not with_id[number] and len(row) > 1):
            raise ValueError(f"{side}[{number}] is {_describe(row)}; expected {expected}. Rename its keys.")
    return [row.get("question_id", _NO_ID) for row in rows], [row[key] for row in rows]


def _id_text(value: object, where: str) -> str:
    """An id as text: 17 and "17" are one id, "017" is another."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise ValueError(f"{where} has the question_id {value!r}; expected a string or an integer.")


_TEXT_TYPES = {"predictions": _TEXTS, "references": _TEXT_LISTS}


def _stored_table(batches: list[dict[str, _Side]], schema: pa.Schema) -> pa.Table:
    """The batches as a table of two structs; the shorter side is padded with nulls."""
    columns = []
    for side, kind in zip(schema.names, schema.types, strict=True):
        fields = [pa.concat_arrays(parts) for parts in zip(*(batch[side] for batch in batches), strict=True)]
        columns.append(pa.StructArray.from_arrays(fields, fields=list(kind)))
    length = max(map(len, columns))
    padded = [pa.concat_arrays([column, pa.nulls(length - len(column), column.type)]) for column in columns]
    return pa.Table.from_arrays(padded, schema=schema)


def _stored_side(table: pa.Table, side: str) -> tuple[pa.Array, pa.Array]:
    chunks = [chunk for chunk in table[side].chunks if len(chunk)]
    column = pa.concat_arrays(chunks) if chunks else pa.array([], table[side].type)
    column = column.filter(column.is_valid()) if column.null_count else column
    return column.field(0), column.field(1)


def _decoded(column: pa.Array, kind: pa.DataType) -> Any:
    """Stored bytes as an Arrow array of texts, or as a list if there are lone surrogates."""

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(text, value))
        return None if value is None else value.decode("utf-8", "surrogatepass")

    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return [text(value) for value in column.to_pylist()]


class _Aligned(NamedTuple):
    """The questions in the order of the references, with a null for each prediction that did not come."""

    question_ids: list[str] | None
    texts: pa.Array
    answers: pa.Array
    missing: list[int]  # the rows of those nulls
    unknown: int
    notes: list[str]


def _align(table: pa.Table, missing: str, unknown: str) -> _Aligned:
    prediction_ids, texts = _stored_side(table, "predictions")
    reference_ids, answers = _stored_side(table, "references")
    if not len(texts) and not len(answers):
        raise ValueError("nothing to score: predictions and references are empty")
    if prediction_ids.null_count == len(texts) and reference_ids.null_count == len(answers):
        return _Aligned(None, texts, answers, [], 0, [])
    if prediction_ids.null_count or reference_ids.null_count:
        raise ValueError("some rows have a question_id and others have none; expected all with one or all without")

    notes: list[str] = []
    prediction_ids, texts = _without_repeats(prediction_ids, texts, "predictions", notes)
    if prediction_ids.equals(reference_ids):  # then the references do not repeat either
        return _Aligned(reference_ids, texts, answers, [], 0, notes)
    reference_ids, answers = _without_repeats(reference_ids, answers, "references", notes)
    positions = pc.index_in(reference_ids, value_set=prediction_ids)
    lacking = np.flatnonzero(_bools(positions.is_null()))
    surplus = prediction_ids[:0]
    if len(prediction_ids) > len(reference_ids) - len(lacking):
        surplus = prediction_ids.filter(pc.invert(pc.is_in(prediction_ids, value_set=reference_ids)))
    without_prediction = _count_ids(reference_ids.take(pa.array(lacking)), "without a prediction (missing: {})")
    without_question = _count_ids(surplus, "in the predictions without a reference (unknown: {})")
    if (len(lacking) and missing == "error") or (len(surplus) and unknown == "error"):
        found = " and ".join(filter(None, (without_prediction, without_question)))
        apart = len(texts) and len(answers) and len(lacking) == len(answers)
        raise ValueError(
            f"{found}.{' There is no id in common: are they of another split?' if apart else ''} Expected the same "
            'ids on both sides. To score all the same, pass missing="zero" to score questions without a prediction 0, '
            'and unknown="ignore" to leave predictions without a question out.'
        )
    if not len(answers):
        raise ValueError("nothing to score: references are empty")
    notes += [f"{without_prediction}: scored 0"] if len(lacking) else []
    notes += [f"{without_question}: left out"] if len(surplus) else []
    return _Aligned(reference_ids, texts.take(positions), answers, lacking.tolist(), len(surplus), notes)


def _id_list(ids: pa.Array) -> list[str]:
    return _listed(_decoded(ids, _TEXTS))


def _count_ids(ids: pa.Array, what: str) -> str:
    shown = ", ".join(_id_list(ids[:5])) + (", ..." if len(ids) > 5 else "")
    return f"{len(ids)} question_id{'s' * (len(ids) != 1)} {what.format(shown)}" if len(ids) else ""


def _without_repeats(ids: pa.Array, values: pa.Array, side: str, notes: list[str]) -> tuple[pa.Array, pa.Array]:
    """Drop rows that repeat an id with the same content, as samplers that pad the last batch do."""
    if len(pc.unique(ids)) == len(ids):
        return ids, values
    first_of: dict[bytes, int] = {}
    contents = values.to_pylist()
    for row, id_ in enumerate(ids.to_pylist()):
        first = first_of.setdefault(id_, row)
        if contents[first] != contents[row]:
            given, again = (_listed(_decoded(values.take([at]), _TEXT_TYPES[side]))[0] for at in (first, row))
            raise ValueError(
                f"duplicate question_id {_id_list(ids[row : row + 1])[0]!r} in {side} with different content: "
                f"{given!r} and {again!r}; expected each question_id once. Remove one of them."
            )
    kept = pa.array(list(first_of.values()))
    notes.append(f"{len(ids) - len(kept)} repeated rows of {side} (same question_id, same content): left out")
    return ids.take(kept), values.take(kept)


class ANLS(evaluate.Metric):
    """ANLS for `evaluate`: ``evaluate.load("anls")``, or with a protocol ``evaluate.load("anls", "rrc")``.

    What is added is kept in Arrow as it was given, and aligned and scored at `compute`. A `compute` that fails
    leaves what was added by `add` and `add_batch` in place, so that it can be completed and scored again.

    Args:
        config_name: A name or alias in `PROTOCOLS`, or a `Protocol`; none means ``standard``.
        **options: Those of `evaluate.Metric`.

    Example:
        >>> metric = ANLS("rrc")
        >>> metric.compute(predictions=["Denver Bronco"], references=[["Denver Broncos", "Broncos"]])
        {'anls_score': 0.9285714285714286}
    """

    buf_writer: Any

    def __init__(self, config_name: str | Protocol | None = None, **options: Any) -> None:
        self.protocol = get_protocol("standard" if config_name in (None, "default") else config_name)
        self._pending: list[dict[str, _Side]] = []  # batches that are not yet written
        self._pending_rows = dict.fromkeys(_STORED.names, 0)
        self._kept: pa.Table | None = None  # rows of a `compute` that failed
        super().__init__(config_name=self.protocol.name if config_name else None, **options)

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {
                    "predictions": {"question_id": text, "prediction_text": text},
                    "references": {"question_id": text, "answers": datasets.Sequence(text)},
                }
            ),
            reference_urls=[
                "https://arxiv.org/abs/1905.13648",
                "https://arxiv.org/abs/2402.03848",
                "https://rrc.cvc.uab.es/?ch=17&com=tasks",
            ],
        )

    def __len__(self) -> int:
        """The number of rows added and not yet scored, of the side that has more."""
        return self._rows_stored() + max(self._pending_rows.values())

    def _rows_stored(self) -> int:
        kept = 0 if self._kept is None else self._kept.num_rows
        return kept if self.writer is None else kept + len(self.writer)

    def add(
        self, *, prediction: Any = None, reference: Any = None, predictions: Any = None, references: Any = None
    ) -> None:
        """Add one prediction and its reference, or with a question_id one of the two.

        Args:
            prediction: ``{"question_id": ..., "prediction_text": ...}`` or a plain string.
            reference: ``{"question_id": ..., "answers": [...]}`` or plain accepted answers.
            predictions: The name by which `evaluate.combine` passes the prediction.
            references: The name by which `evaluate.combine` passes the reference.

        Raises:
            ValueError: Input that cannot be scored; nothing is added.
        """
        prediction = predictions if prediction is None else prediction
        reference = references if reference is None else reference
        alone = prediction is None and isinstance(reference, Mapping) and "question_id" in reference
        self._take(_read_batch(None if alone else [prediction], None if reference is None else [reference]))

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add predictions and references; with question_ids, one side may be longer or absent.

        Args:
            predictions: A list of what `add` takes as prediction, or a column of texts.
            references: A list of what `add` takes as reference.

        Raises:
            ValueError: Input that cannot be scored, with its row; nothing is added.
        """
        if predictions is None and references is None:
            raise ValueError("add_batch got neither predictions nor references")
        self._take(_read_batch(predictions, references))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        threshold: float | Fraction | Decimal | None = None,
        detailed: bool = False,
        missing: str = "error",
        unknown: str = "error",
    ) -> dict[str, Any] | None:
        """Score everything that was added, and what is given here.

        Args:
            predictions: As in `add_batch`.
            references: As in `add_batch`.
            threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.
            detailed: Whether to add to the result, in the order of the references: ``scores``, ``question_ids``
                and ``closest_references``; the counts ``n``, ``missing``, ``unknown``, ``unanswered`` (predictions
                that are None) and ``padded`` (questions whose score was raised by blanks around a text, which
                happens in protocols that divide by raw lengths) with ``padding_gain``, by how much that raised the
                mean; and the ``signature``.
            missing: A question without a prediction is an ``"error"``, or scores ``"zero"``.
            unknown: A prediction without a question is an ``"error"``, or is left out by ``"ignore"``.

        Returns:
            ``{"anls_score": x}`` with x from 0 to 1; None in a process that is not the first of several.

        Raises:
            ValueError: Nothing to score, ids that repeat or do not match, or input that cannot be scored.
        """
        rules = _rules(self.protocol, threshold)
        _check_choice("missing", missing, _MISSING)
        _check_choice("unknown", unknown, _UNKNOWN)
        self._write_pending()
        before = self._rows_stored()
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
            self._write_pending()
        after = self._rows_stored()
        table = self._gather()
        if self.process_id > 0:
            return None
        try:
            aligned = _align(table, missing, unknown)
        except ValueError:
            self._kept = pa.concat_tables([table[:before], table[after:]])
            raise
        result, notes = _result(aligned, rules, detailed, missing)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return result

    def _take(self, batch: dict[str, _Side]) -> None:
        self._pending.append(batch)
        self._pending_rows = {name: count + len(batch[name].ids) for name, count in self._pending_rows.items()}
        if max(self._pending_rows.values()) >= _PENDING_ROWS:
            self._write_pending()

    def _write_pending(self) -> None:
        if self._pending:
            self._open_writer()
            table = _stored_table(self._pending, _STORED)
            self._pending, self._pending_rows = [], dict.fromkeys(_STORED.names, 0)
            self.writer.write_table(table, max(1, table.num_rows))

    def _open_writer(self) -> None:
        if self.writer is None:
            self.selected_feature_format = datasets.Features.from_arrow_schema(_STORED)
            self._init_writer()

    def _gather(self) -> pa.Table:
        """Take out all that was added, by every process, and remove the files that held it."""
        tables = [_STORED.empty_table() if self._kept is None else self._kept]
        if self.num_process > 1 and self._kept is None:
            self._open_writer()  # to write nothing, too: the other processes wait for this one's file
        self._kept = None
        if self.writer is not None:
            self._finalize()
            if self.keep_in_memory:
                tables.append(pa.ipc.open_stream(self.buf_writer.getvalue()).read_all())
            elif self.process_id == 0:
                tables += map(_read_table, self.file_paths)
                self.data = None  # unmaps the files
                for lock, path in reversed(list(zip(self.filelocks, self.file_paths, strict=True))):
                    os.remove(path)
                    lock.release()
                    if self.num_process == 1:
                        os.remove(lock.lock_file)
            self.data = self.buf_writer = self.cache_file_name = self.filelock = self.selected_feature_format = None
        return pa.concat_tables([table.replace_schema_metadata() for table in tables])

    def _create_cache_file(self, timeout: float = 1) -> tuple[str, FileLock]:
        """A file of its own for a metric that is not shared: runs on one cache folder never meet."""
        if self.num_process > 1:
            return cast(tuple[str, FileLock], super()._create_cache_file(timeout))
        path = os.path.join(self.data_dir, f"{self.experiment_id}-{uuid.uuid4().hex}.arrow")
        lock = FileLock(f"{path}.lock")
        lock.acquire()
        return path, lock


_PENDING_ROWS = 10_000


def _read_table(path: str) -> pa.Table:
    with pa.OSFile(path) as file:
        return pa.ipc.open_stream(file).read_all()


def _result(aligned: _Aligned, rules: Protocol, detailed: bool, missing: str) -> tuple[dict[str, Any], list[str]]:
    texts = _decoded(aligned.texts, _TEXT_TYPES["predictions"])
    scored = _score(texts, _decoded(aligned.answers, _TEXT_TYPES["references"]), rules, closest=detailed)
    absent = set(aligned.missing)
    scored = scored._replace(unanswered=[row for row in scored.unanswered if row not in absent])
    scores = scored.scores.tolist()
    n = len(scores)
    result: dict[str, Any] = {"anls_score": math.fsum(scores) / n}
    if detailed:
        result |= {
            "n": n,
            "missing": len(absent),
            "unknown": aligned.unknown,
            "unanswered": len(scored.unanswered),
            "padded": scored.padded,
            "padding_gain": scored.padding_gain / n,
            "scores": scores,
            "question_ids": None if aligned.question_ids is None else _id_list(aligned.question_ids),
            "closest_references": scored.closest,
            "signature": signature(rules, n=n, missing=missing),
        }
    named = (scored.unanswered or scored.padded) and aligned.question_ids is not None
    return result, aligned.notes + _notes(scored, rules, _id_list(aligned.question_ids) if named else None)
