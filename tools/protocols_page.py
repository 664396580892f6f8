"""Write docs/protocols.md, the protocols in words, from the tables of the package.

Run ``python tools/protocols_page.py``; with ``--check`` it fails if the committed file differs from what it writes.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from anls_eval.analysis.protocol_facts import protocol_facts
from anls_eval.leaderboards import LEADERBOARDS, Leaderboard
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words

TARGET = Path(__file__).resolve().parent.parent / "docs" / "protocols.md"

INTRODUCTION = """# Protocols

This file is written by `python tools/protocols_page.py` from `anls_eval/rules/table.py` and `anls_eval/leaderboards`:
change it there.

A protocol says how one leaderboard or paper computes ANLS. Its name means the exact numbers of that code. The score of
a question is the similarity `1 - distance / length` of the prediction to the closest answer, where the distance is
Levenshtein's, or 0 if that similarity does not count. ANLS is the mean over the questions, from 0 to 1. The
differences are listed here. `signature(NAME)` gives them in one line."""

TREES = r"ANLS\* scores trees of dicts, lists and alternatives. Their leaves are texts that follow these rules."

BOARDS = """These need more than texts: an answer type, a list or a date. Score them with
`anls_eval.leaderboard_score(prediction, reference, protocol=NAME, answer_type=TYPE)`."""


def page() -> str:
    """Return the text of docs/protocols.md."""
    texts = [protocol_section(rules) for rules in PROTOCOLS.values() if not rules.tree]
    trees = [protocol_section(rules) for rules in PROTOCOLS.values() if rules.tree]
    boards = [leaderboard_section(board) for board in LEADERBOARDS.values()]
    parts = [INTRODUCTION, protocol_facts(), "## Texts", *texts, "## Trees", TREES, *trees]
    return "\n\n".join([*parts, "## Leaderboards", BOARDS, *boards]) + "\n"


def protocol_section(rules: Protocol) -> str:
    """Return a protocol: its aliases, users and source, and its rules."""
    facts = [
        fact("Also", [f"`{name}`" for name in rules.aliases]),
        fact("Used by", rules.leaderboards),
        fact("Source", [rules.source]),
    ]
    return section(rules.name, facts, [f"- {words[0].upper()}{words[1:]}." for words in in_words(rules).values()])


def leaderboard_section(board: Leaderboard) -> str:
    """Return a leaderboard: its aliases, answer types, figures and source, and its rules."""
    facts = [
        fact("Also", [f"`{name}`" for name in board.aliases]),
        fact("Answer types", board.answer_types),
        fact("Reports", board.reports),
        fact("Source", [board.source]),
    ]
    return section(board.name, facts, [board.description])


def section(name: str, facts: Sequence[str], text: Sequence[str]) -> str:
    """Return a section of the page."""
    return "\n".join([f"### `{name}`", "", "  \n".join(filter(None, facts)), "", *text])


def fact(what: str, values: Sequence[str]) -> str:
    """Return a line such as "Also: `m4c`, `mmf`"; "" without values."""
    return f"{what}: {', '.join(values)}" if values else ""


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(page(), encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != page():
        sys.exit("docs/protocols.md differs from the protocols: run python tools/protocols_page.py")
