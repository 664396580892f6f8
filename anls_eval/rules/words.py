"""The rules of a protocol in words."""

from __future__ import annotations

from anls_eval.extract.steps import EXTRACT_WORDS
from anls_eval.rules.protocol import Protocol

STEP_WORDS = {
    "strip": "without surrounding whitespace",
    "lower": "in lower case",
    "upper": "in upper case",
    "collapse": "with each run of whitespace as one space",
    "nfc": "composed to NFC",
    "nfkc": "composed to NFKC",
    "no-newlines": "without line feeds",
    "no-outer-dots": "without leading and trailing dots",
    "no-final-dot": "with one trailing dot removed",
    "no-end-punctuation": "without punctuation at the end except %",
}
"""How each step of a protocol changes a text."""

_LENGTH_WORDS = {
    "compared": "compared {}",
    "compared-upper": "compared {} in upper case",
    "raw": "raw {}",
    "raw-upper": "raw {} in upper case",
}


def in_words(rules: Protocol) -> dict[str, str]:
    """Return each rule of a protocol in words, without a capital and a full stop, by the aspect that it is about.

    Example:
        >>> from anls_eval import get_protocol
        >>> in_words(get_protocol("paper"))["keep"]
        'a similarity counts only above 0.5; exactly 0.5 gives 0'
    """
    words = {
        **({"extract": _extract_in_words(rules.extract)} if rules.extract else {}),
        **_sides_in_words(rules),
        "length": f"the distance is divided by the greater length of {_lengths_in_words(rules)}",
        "keep": _keep_in_words(rules),
        "empty": f"two empty texts score {rules.both_empty}",
    }
    if rules.zero_predictions:
        words["special"] = f"a prediction scores 0 if it is {' or '.join(map(repr, rules.zero_predictions))}"
    if rules.substitution_cost != 1:
        words["substitution"] = f"replacing a character costs {rules.substitution_cost}"
    return words


def _extract_in_words(names: tuple[str, ...]) -> str:
    return f"the answer is first taken out of the prediction: {', then '.join(EXTRACT_WORDS[name] for name in names)}"


def _sides_in_words(rules: Protocol) -> dict[str, str]:
    if rules.prediction_steps == rules.answer_steps:
        return {"texts": f"texts are compared {_steps_in_words(rules.answer_steps)}"}
    return {
        "prediction": f"predictions are compared {_steps_in_words(rules.prediction_steps)}",
        "answers": f"answers are compared {_steps_in_words(rules.answer_steps)}",
    }


def _steps_in_words(steps: tuple[str, ...]) -> str:
    return ", ".join(STEP_WORDS[step] for step in steps) or "as they are"


def _lengths_in_words(rules: Protocol) -> str:
    kinds = rules.prediction_length, rules.answer_length
    if kinds[0] == kinds[1]:
        words = f"the {_LENGTH_WORDS[kinds[0]].format('texts')}"
    else:
        words = f"the {_LENGTH_WORDS[kinds[0]].format('prediction')} and the {_LENGTH_WORDS[kinds[1]].format('answer')}"
    padded = any(kind.startswith("raw") for kind in kinds)
    return words + ", so extra whitespace raises the score of a wrong answer (padding)" * padded


def _keep_in_words(rules: Protocol) -> str:
    if rules.keep == ">":
        return f"a similarity counts only above {rules.threshold}; exactly {rules.threshold} gives 0"
    return f"a similarity counts from {rules.threshold}" if rules.exact_threshold else "every similarity counts"
