"""Which characters were misread as which, how often, and the points that each confusion cost."""

import collections
import dataclasses
from fractions import Fraction
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from anls_eval.analysis.losses import LossReport
from anls_eval.rules.steps import apply_steps
from anls_eval.text.visible import visible

_EXAMPLES = 5


@dataclasses.dataclass(frozen=True)
class Confusion:
    """A run of characters that was read as another.

    Attributes:
        expected: The characters in the answer; empty where the prediction inserts some.
        given: The characters in the prediction in their place; empty where it omits some.
        count: Number of times it happened, over all misread questions.
        points_lost: What it cost: the points that a question lost are split over its confusions by their edits.
        examples: The first rows in which it happened, at most 5.
    """

    expected: str
    given: str
    count: int
    points_lost: float
    examples: tuple[int, ...]

    @property
    def label(self) -> str:
        """The confusion in visible characters, such as ``rn→m``, ``∅→␠`` for an inserted space, or ``o→∅``."""
        expected, given = (visible(text, spell_out=True) or "∅" for text in (self.expected, self.given))
        return f"{expected}→{given}"


def character_confusions(report: LossReport) -> list[Confusion]:
    """Compare the texts of all ``misread`` questions character by character, as the protocol compared them.

    Adjacent edits of an optimal alignment are one confusion: "rn" read as "m" is not a replaced and a lost character
    but ``rn→m``. So are an insertion and a deletion with one equal character between them, a swap such as ``ei→ie``.
    Replacements with an equal character between them are two confusions.

    Args:
        report: From `anls_eval.analysis.losses.classify_losses`.

    Returns:
        The confusions, most frequent first, then by points lost, then by their texts. Their points add up to those of
        the class ``misread``, apart from rounding.

    Example:
        >>> from anls_eval.analysis.losses import classify_losses
        >>> predictions, answers = ["modem", "b0x", "CocaCola"], [["modern"], ["box"], ["Coca Cola"]]
        >>> for row in character_confusions(classify_losses(predictions, answers)):
        ...     print(row.label, row.count, round(row.points_lost, 4), row.examples)
        o→0 1 0.3333 (1,)
        rn→m 1 0.3333 (0,)
        ␠→∅ 1 0.1111 (2,)
    """
    rows = collections.defaultdict(list)  # the rows of each distinct pair, which is aligned once
    for row, name in enumerate(report.question_classes):
        if name == "misread":
            rows[report.predictions[row] or "", report.closest_answers[row] or ""].append(row)
    found = collections.defaultdict(list)  # by confusion, the rows and the points that they lost to it
    for (prediction, answer), own in rows.items():
        expected = apply_steps(report.protocol.answer_steps, answer)
        given = apply_steps(report.protocol.prediction_steps, prediction)
        blocks = _blocks(expected, given)
        # Exact, so that the sum does not depend on the order of the questions.
        share = Fraction(1 - float(report.scores[own[0]])) * len(own) / sum(block.edits for block in blocks)
        for start, end, given_start, given_end, edits in blocks:
            found[expected[start:end], given[given_start:given_end]].append((own, share * edits))
    confusions = []
    for texts, parts in found.items():
        examples = sorted({row for own, _ in parts for row in own[:_EXAMPLES]})[:_EXAMPLES]
        count, lost = sum(len(own) for own, _ in parts), float(sum(points for _, points in parts))
        confusions.append(Confusion(*texts, count, lost, tuple(examples)))
    # Rounded, since scores are floats: costs that differ only in their last bits are equal.
    return sorted(confusions, key=lambda own: (-own.count, -round(own.points_lost, 12), own.expected, own.given))


class _Block(NamedTuple):
    """The place of a confusion in both texts, and its number of edits."""

    start: int
    end: int
    given_start: int
    given_end: int
    edits: int


def _blocks(expected: str, given: str) -> list[_Block]:
    """Return the differences of two texts, merged as described in `character_confusions`."""
    blocks: list[_Block] = []
    for opcode in Levenshtein.opcodes(expected, given):
        if opcode.tag != "equal":
            edits = max(opcode.src_end - opcode.src_start, opcode.dest_end - opcode.dest_start)
            block = _Block(opcode.src_start, opcode.src_end, opcode.dest_start, opcode.dest_end, edits)
            if blocks and _are_one(blocks[-1], block):
                last = blocks.pop()
                block = _Block(last.start, block.end, last.given_start, block.given_end, last.edits + edits)
            blocks.append(block)
    return blocks


def _are_one(last: _Block, block: _Block) -> bool:
    between = block.start - last.end
    inserted = last.start == last.end, block.start == block.end
    deleted = last.given_start == last.given_end, block.given_start == block.given_end
    is_swap = (inserted[0] and deleted[1]) or (deleted[0] and inserted[1])
    return between == 0 or (between == 1 and is_swap)
