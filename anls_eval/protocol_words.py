"""The protocols in words, and the document that holds them all.

``python -m anls_eval.protocol_words`` writes docs/protocols.md.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

from anls_eval.leaderboards.rules import LEADERBOARDS, Leaderboard
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "protocols.md"

STEP_WORDS = {
    "strip": "without blanks around them",
    "lower": "in small letters",
    "upper": "in capitals",
    "collapse": "with one blank for each run of blanks",
    "nfc": "composed to NFC",
    "nfkc": "composed to NFKC",
    "no-newlines": "without line feeds",
    "no-outer-dots": "without dots first and last",
    "no-final-dot": "without one dot at the end",
    "no-end-punctuation": "without punctuation at the end, but for %",
}
"""What a step of a protocol makes of texts."""

_LENGTH_WORDS = {
    "compared": "compared {}",
    "compared-upper": "compared {} in capitals",
    "raw": "untouched {}",
    "raw-upper": "untouched {} in capitals",
}


def in_words(rules: Protocol) -> dict[str, str]:
    """Say what a protocol does, rule by rule.

    Args:
        rules: A protocol.

    Returns:
        A sentence without capital and full stop for each of ``texts`` (or ``prediction`` and ``answers``, where they
        are treated differently), ``length``, ``keep`` and ``empty``, and where the protocol has them ``special`` and
        ``substitution``.

    Example:
        >>> from anls_eval import get_protocol
        >>> in_words(get_protocol("paper"))["keep"]
        'a similarity counts only above 0.5, and exactly 0.5 gives 0'
    """
    words = {
        **_sides_in_words(rules),
        "length": f"the distance is divided by the greater length of {_lengths_in_words(rules)}",
        "keep": _keep_in_words(rules),
        "empty": f"two empty texts give {rules.both_empty}",
    }
    if rules.zero_predictions:
        words["special"] = f"a prediction gives 0 if it is {' or '.join(map(repr, rules.zero_predictions))}"
    if rules.substitution_cost != 1:
        words["substitution"] = f"replacing a character costs {rules.substitution_cost}"
    return words


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
    return words + ", so that surplus blanks raise the score of a wrong answer (padding)" * padded


def _keep_in_words(rules: Protocol) -> str:
    if rules.keep == ">":
        return f"a similarity counts only above {rules.threshold}, and exactly {rules.threshold} gives 0"
    return f"a similarity counts from {rules.threshold} on" if rules.exact_threshold else "every similarity counts"


# The document


def document() -> str:
    """Give the text of docs/protocols.md, made from the registry.

    Example:
        >>> document().splitlines()[0]
        '# Protocols'
    """
    texts = [rules for rules in PROTOCOLS.values() if not rules.tree]
    trees = [rules for rules in PROTOCOLS.values() if rules.tree]
    parts = [_INTRODUCTION, facts(), "## Texts", *map(_section, texts), "## Trees", _TREES, *map(_section, trees)]
    boards = ["## Leaderboards", _LEADERBOARDS, *map(_leaderboard_section, LEADERBOARDS.values())]
    return "\n\n".join([*parts, *boards]) + "\n"


_INTRODUCTION = """# Protocols

This file is made from `anls_eval/rules/table.py` by `python -m anls_eval.protocol_words`: change it there.

A protocol says how one leaderboard or paper computes ANLS. Its name means the exact numbers of that code. The score of
a question is the similarity `1 - distance / length` of the prediction to the closest answer, where the distance is
Levenshtein's, or 0 if that similarity does not count. ANLS is the mean over the questions, from 0 to 1. What else
differs is listed here. `signature(NAME)` gives the same in one line."""

_TREES = r"ANLS\* scores trees of dicts, lists and alternatives. Its leaves are texts, to which these rules apply."


_LEADERBOARDS = """These need more than texts: an answer type, a list or a date. `anls_eval.leaderboard_score` has them:
`leaderboard_score(prediction, reference, protocol=NAME, answer_type=TYPE)`."""


def facts() -> str:
    """What to know before comparing two numbers; those in it are computed here."""
    few, more, many = (f"{_score_of_wrong_answers('rrc', blanks):.2f}" for blanks in (0, 10, 100))
    stripped = f"{_score_of_wrong_answers('standard', 100):.2f}"
    texts = [rules for rules in PROTOCOLS.values() if not rules.tree]
    strict = ", ".join(f"`{rules.name}`" for rules in texts if not anls_score("ab", ["ac"], protocol=rules))
    least, greatest = BOUNDARY_SHIFTS
    composed = anls_score("cafe\u0301", ["caf\u00e9"])
    return f"""## Three facts to know before comparing two numbers

**Padding.** A protocol that divides by the length of untouched texts pays for blanks. Three wrong answers of two
letters score {few} under `rrc`; with 10 blanks behind each {more}; with 100 {many}. Under `standard` they score
{stripped} with any number of blanks.

**The boundary.** A similarity of exactly 0.5, as that of "ab" and "ac", is 0 in these protocols, and counts in the
others: {strict}.
On six real runs of 1,000 answers to DocVQA that alone moves the mean by {least} to {greatest}.

**Unicode.** No protocol composes characters: "café" with a combining accent has a similarity of {composed} to "café"
without. The steps `nfc` and `nfkc` of one's own protocol change that."""


BOUNDARY_SHIFTS = 0.0020, 0.0060
"""The least and greatest difference of `standard` and `paper` on the runs in tests/data/docvqa."""


def _score_of_wrong_answers(protocol: str, blanks: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that padding raises the score is the point
        predictions = [text + " " * blanks for text in ("aa", "bb", "cc")]
        return float(anls_scores(predictions, [["xx"], ["yy"], ["zz"]], protocol=protocol).mean())


def _section(rules: Protocol) -> str:
    """One protocol: what it is called, who uses it, where it comes from, what it does."""
    facts = [
        _fact("Also", [f"`{name}`" for name in rules.aliases]),
        _fact("Used by", rules.leaderboards),
        _fact("Source", [rules.source]),
    ]
    return _entry(rules.name, facts, [f"- {words[0].upper()}{words[1:]}." for words in in_words(rules).values()])


def _leaderboard_section(board: Leaderboard) -> str:
    facts = [
        _fact("Also", [f"`{name}`" for name in board.aliases]),
        _fact("Answer types", board.answer_types),
        _fact("Reports", board.reports),
        _fact("Source", [board.source]),
    ]
    return _entry(board.name, facts, [board.description])


def _entry(name: str, facts: Sequence[str], text: Sequence[str]) -> str:
    return "\n".join([f"### `{name}`", "", "  \n".join(filter(None, facts)), "", *text])


def _fact(what: str, values: Sequence[str]) -> str:
    return f"{what}: {', '.join(values)}" if values else ""


def main() -> None:
    """Write docs/protocols.md."""
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
