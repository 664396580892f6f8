"""ANLS in plain Python, to be read rather than to be fast: what anls.py must equal to the last bit."""

import string
import unicodedata
from fractions import Fraction

from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS

TEXT_PROTOCOLS = {name: protocol for name, protocol in PROTOCOLS.items() if not protocol.tree}


def distance(left: str, right: str, substitution_cost: int) -> int:
    """The least cost of turning one text into the other (Wagner and Fischer 1974)."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        above, row = row, [i]
        for j, b in enumerate(right, start=1):
            replaced = above[j - 1] + (0 if a == b else substitution_cost)
            row.append(min(above[j] + 1, row[j - 1] + 1, replaced))
    return row[-1]


def normalise(text: str, steps: tuple[str, ...]) -> str:
    for step in steps:
        if step == "strip":
            text = text.strip()
        elif step == "lower":
            text = text.lower()
        elif step == "upper":
            text = text.upper()
        elif step == "collapse":
            text = " ".join(text.split())
        elif step in ("nfc", "nfkc"):
            text = unicodedata.normalize("NFC" if step == "nfc" else "NFKC", text)
        elif step == "no-newlines":
            text = "".join(character for character in text if character != "\n")
        elif step == "no-outer-dots":
            while text.startswith("."):
                text = text[1:]
            while text.endswith("."):
                text = text[:-1]
        elif step == "no-final-dot":
            text = text[:-1] if text.endswith(".") else text
        elif step == "no-end-punctuation":
            while text and text[-1] != "%" and (text[-1] in string.punctuation or text[-1].isspace()):
                text = text[:-1]
        else:
            raise AssertionError(step)
    return text


def counted(raw: str, compared: str, length: str) -> int:
    return len({"compared": compared, "compared-upper": compared.upper(), "raw": raw, "raw-upper": raw.upper()}[length])


def pair_score(prediction: str, answer: str, rules: Protocol) -> float:
    left, right = normalise(prediction, rules.prediction_steps), normalise(answer, rules.answer_steps)
    length = max(
        counted(prediction, left, rules.prediction_length),
        counted(answer, right, rules.answer_length),
    )
    if left in rules.zero_predictions:
        return 0.0
    if length == 0:
        similarity, exact = float(rules.both_empty), Fraction(rules.both_empty)
    else:
        edits = distance(left, right, rules.substitution_cost)
        similarity, exact = 1 - edits / length, 1 - Fraction(edits, length)
    threshold = Fraction(str(rules.threshold))
    kept = exact > threshold if rules.keep == ">" else exact >= threshold
    return similarity if kept else 0.0


def score(prediction: str | None, answers: list[str], rules: Protocol) -> float:
    if prediction is None:
        return 0.0
    return max(pair_score(prediction, answer, rules) for answer in answers)
