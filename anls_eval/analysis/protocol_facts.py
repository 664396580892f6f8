"""Facts about the protocols that change scores, with numbers computed here."""

from __future__ import annotations

import warnings

from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores

BOUNDARY_SHIFTS = 0.0020, 0.0060
"""The smallest and largest difference between `standard` and `paper` on the runs in examples/docvqa."""


def protocol_facts() -> str:
    """Return what to know before comparing two scores, as Markdown."""
    few, more, many = (f"{_score_of_wrong_answers('rrc', spaces):.2f}" for spaces in (0, 10, 100))
    stripped = f"{_score_of_wrong_answers('standard', 100):.2f}"
    texts = [rules for rules in PROTOCOLS.values() if not rules.tree]
    strict = ", ".join(f"`{rules.name}`" for rules in texts if not anls_score("ab", ["ac"], protocol=rules))
    smallest, largest = BOUNDARY_SHIFTS
    composed = anls_score("cafe\u0301", ["caf\u00e9"])
    return f"""## Three facts to know before comparing two numbers

**Padding.** A protocol that divides by the length of raw texts rewards whitespace. Three wrong two-letter answers
score {few} under `rrc`; with 10 spaces after each, {more}; with 100, {many}. Under `standard` they score {stripped}
with any number of spaces.

**The boundary.** A similarity of exactly 0.5, such as that of "ab" and "ac", scores 0 in these protocols and counts in
the others: {strict}.
On the six real runs in `examples/docvqa`, of 1,000 answers each, this alone changed the mean by {smallest} to
{largest}.

**Unicode.** No protocol composes characters: "café" with a combining accent has a similarity of {composed} to "café"
without. A custom protocol can, with the step `nfc` or `nfkc`."""


def _score_of_wrong_answers(protocol: str, spaces: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # padding that raises the score is the point
        predictions = [text + " " * spaces for text in ("aa", "bb", "cc")]
        return float(anls_scores(predictions, [["xx"], ["yy"], ["zz"]], protocol=protocol).mean())
