"""The kinds of problem of a submission, a single problem, and the report of all."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """One kind of problem: how severe it is at a portal and without one, and what to do."""

    at_portal: str
    without_portal: str
    remedy: str


def _refused(remedy: str, without_portal: str = "refused") -> Kind:
    return Kind("refused", without_portal, remedy)


def _scored(remedy: str) -> Kind:
    return Kind("scored", "scored", remedy)


KINDS = {
    "unreadable": _refused("Fix the file as the message says."),
    "no-rows": _refused("Write one row for each question."),
    "structure": _refused("Write an uncompressed JSON list of rows."),
    "escapes": _refused("Write control characters in strings as escapes, such as \\n. A fixed file has them.", "note"),
    "read-otherwise": Kind("note", "note", "If this is not what you mean, change the file or the option."),
    "row-unreadable": _refused("Fix the row as the message says."),
    "wrong-key": _refused("Rename the key."),
    "id-absent": _refused("Give each row the id of its question."),
    "id-type": _refused("Write the id as the references do; DocVQA's are integers."),
    "id-text": _refused('Write the id as an integer, without quotes: to this portal, 7 and "7" are different ids.'),
    "id-blanks": _refused("Strip the whitespace around the id."),
    "id-float": _refused("Write the id as an integer or as text; pandas keeps it intact when read with dtype=str."),
    "id-digits": _refused("The id passed through a float and lost digits. Copy it from the questions again, as text."),
    "id-composition": _refused(
        "The id looks like one of the references, but is composed of other characters (Unicode NFC or NFD). Write it "
        "as they do."
    ),
    "id-zeros": _refused("The id differs from the references' id in leading zeros. Write it as they do, as text."),
    "id-repeated": _refused("Remove the row: it repeats an earlier one.", "note"),
    "id-conflict": _refused("Keep one row for each id: these have different answers."),
    "missing": _refused('Answer each question of the references; write "" where there is no answer.'),
    "extra": _refused("Remove the row: the references have no such question."),
    "other-split": _refused("Check that both files are from the same split: they have no id in common."),
    "row-count": _refused("Without ids, answers are paired by order: give one for each reference."),
    "answer-absent": _refused('Give each row an answer; write "" where there is none.'),
    "answer-null": _refused('Write "" where there is no answer.', "scored"),
    "answer-list": _refused("Give one text, not a list."),
    "answer-object": _refused(
        "Give a text, or name the one inside the object as the column: the error of scoring has its name. Objects are "
        "for ANLS*."
    ),
    "answer-number": _refused("Write the answer as text, in quotes.", "note"),
    "answer-text": _scored(
        'Write a list, such as ["Yes"]: otherwise the scorer reads the text letter by letter when it expects a list.'
    ),
    "answer-empty": _scored("Answer the question: an empty answer scores 0 if the question has one."),
    "answer-blanks": _scored("Strip the whitespace around the answer: rrc and others count it in the length."),
    "answer-markup": _scored(
        "Remove the markup around the answer: it counts as wrong characters. Where steps are named, extract takes the "
        "answer out, when scoring and in a fixed file."
    ),
    "answer-json": _scored(
        "Give only the text inside the JSON object, or name it as the column, such as prediction.answer."
    ),
    "answer-prefix": _scored(
        "Give only the answer: the words before it count as wrong characters. Where steps are named, extract takes the "
        "answer out, when scoring and in a fixed file."
    ),
    "answer-extract": _scored("Write only the answer that the steps of extract take out of the text."),
    "answer-long": _scored("Give only the answer: one that is more than twice as long scores 0 at threshold 0.5."),
    "answer-refusal": _scored("Answer the question: none of its accepted answers is a refusal."),
    "answer-mojibake": _scored("Read the text as UTF-8; it was read as Windows-1252."),
    "answer-entities": _scored("Decode the entities of HTML: they count as wrong characters."),
    "answer-undecoded": _scored("Write the text again with its encoding: U+FFFD stands for a character that was lost."),
    "no-answers": Kind(
        "note", "note", "Only ids and form were checked: a test split has no answers. Elsewhere, name their column."
    ),
    "answers-printed": _scored(
        "Write the accepted answers as lists, or have them taken apart with the option parse: answers."
    ),
    "answers-unread": _scored("The accepted answers begin like a printed list and cannot be read as one. Write lists."),
    "confidence": Kind("note", "note", "Give each row one confidence from 0 to 1. ANLS itself does not need it."),
}
"""Each kind of problem by its code."""

SEVERITIES = ("refused", "scored", "note")

_UNSURE = {"answer-empty", "answer-long"}  # only notes where the accepted answers are not known

Fault = tuple[str, str, bool]
"""What is wrong with one value: the code of the kind, what was found, and whether the fix is certain."""


def severities(has_portal: bool, has_references: bool) -> dict[str, str]:
    """Return the severity of each kind, given what is known of the submission."""
    found = {code: kind.at_portal if has_portal else kind.without_portal for code, kind in KINDS.items()}
    return found if has_references else found | dict.fromkeys(_UNSURE, "note")


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something wrong or suspicious in a submission.

    Attributes:
        code: Kind of the problem, such as "id-repeated".
        severity: "refused" if the submission is not scored with it, "scored" if it may cost points, or "note".
        row: Number of the row, from 0; None if the problem is in no row.
        place: The row as the format counts it, such as "line 3" or "data[2]".
        question_id: Id of the row's question; None if it has none.
        found: What is there.
        remedy: What to do.
        certain: Whether `fix_submission` fixes it.
    """

    code: str
    severity: str
    row: int | None
    place: str
    question_id: str | None
    found: str
    remedy: str
    certain: bool


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """What `check_submission` found.

    Attributes:
        path: The submission.
        format: Its detected format; empty if the file cannot be read.
        portal: Name of the portal whose rules were applied; None if there is none.
        n: Number of rows.
        counts: Number of problems by code, the most severe first.
        mendable: Number of those that `fix_submission` fixes, by code.
        refused: Number of problems for which the submission is refused.
        problems: The first problems of each code.
    """

    path: str
    format: str
    portal: str | None
    n: int
    counts: dict[str, int]
    mendable: dict[str, int]
    refused: int
    problems: tuple[Problem, ...]

    @property
    def is_readable(self) -> bool:
        """Whether the file could be read."""
        return "unreadable" not in self.counts

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return dataclasses.asdict(self)
