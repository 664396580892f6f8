"""What is wrong with a submission, before a portal says so: every problem with its row, its id and its remedy."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from anls_eval.check.findings import Finding, find_all
from anls_eval.check.rows import References, Rows, read_references, read_rows
from anls_eval.files import FormatError

MOST_SHOWN = 20
"""How many problems of one code a report holds if nothing else is asked for; all are counted."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of problem.

    Args:
        at_portal: Its severity where a portal takes the submission.
        without_portal: Its severity where `submission.score_submission` does.
        remedy: What to do.
    """

    at_portal: str
    without_portal: str
    remedy: str


def _refused(remedy: str, without_portal: str = "refused") -> Kind:
    return Kind("refused", without_portal, remedy)


def _scored(remedy: str) -> Kind:
    return Kind("scored", "scored", remedy)


KINDS = {
    "unreadable": _refused("Mend the file as the message says."),
    "structure": _refused("Write a JSON list of rows, not compressed."),
    "row-unreadable": _refused("Mend the row as the message says."),
    "wrong-key": _refused("Rename the key."),
    "id-absent": _refused("Give each row the id of its question."),
    "id-type": _refused("Write the id as the references do; DocVQA's are integers."),
    "id-text": _refused('Write the id as an integer, without quotes: this portal takes 7 and "7" for two ids.'),
    "id-blanks": _refused("Remove the blanks around the id."),
    "id-float": _refused("Write the id as an integer or as text; pandas keeps it whole when read with dtype=str."),
    "id-digits": _refused("The id went through a float and lost digits. Take it from the questions again, as text."),
    "id-zeros": _refused("The id differs from that of the references in leading zeros. Write it as they do, as text."),
    "id-repeated": _refused("Remove the row: it repeats an earlier one.", "note"),
    "id-conflict": _refused("Keep one row of each id: these have different answers."),
    "missing": _refused('Answer each question of the references; write "" where there is no answer.'),
    "extra": _refused("Remove the row: the references have no such question."),
    "other-split": _refused("Check that both files are of the same split: no id of one is in the other."),
    "row-count": _refused("Without ids, answers go by their order: give one for each reference."),
    "answer-absent": _refused('Give each row an answer; write "" where there is none.'),
    "answer-null": _refused('Write "" where there is no answer.', "scored"),
    "answer-list": _refused("Give one text, not a list."),
    "answer-object": _refused("Give a text; objects are for ANLS*."),
    "answer-number": _refused("Write the answer as text, in quotes.", "note"),
    "answer-text": _scored(
        'Write a list, such as ["Yes"]: where the answer is a list, a text is taken letter by letter.'
    ),
    "answer-empty": _scored("Answer the question: an empty answer scores 0 where there is an answer."),
    "answer-blanks": _scored("Remove the blanks around the answer: rrc and others count them in its length."),
    "answer-markup": _scored("Take the answer out of the markup, which counts as wrong characters."),
    "answer-prefix": _scored("Give the answer alone: the words before it count as wrong characters."),
    "answer-long": _scored("Give the answer alone: with more than twice the characters, it scores 0 at 0.5."),
    "answer-refusal": _scored("Answer the question: its accepted answers are others."),
    "answer-mojibake": _scored("Read the text as UTF-8; it was read as Windows-1252."),
    "confidence": Kind("note", "note", "Give each row one confidence from 0 to 1. ANLS itself does not need it."),
}
"""Each kind of problem by its code."""

_UNSURE = {"answer-empty", "answer-long"}  # only notes where the accepted answers are not known
_SEVERITIES = ("refused", "scored", "note")


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something wrong or suspicious in a submission.

    Args:
        code: The kind of problem, of `KINDS`.
        severity: ``"refused"``: the portal refuses the submission or stops at this row; without a portal,
            `submission.score_submission` does. ``"scored"``: it is scored, but may cost points. ``"note"``: good to
            know.
        row: The number of the row, from 0; None if the problem is in no row.
        place: The same as the format has it, such as ``"line 3"`` or ``"data[2]"``.
        question_id: The id as text, where it is known.
        found: What is there.
        remedy: What to do.
        certain: Whether `submission_mend.mend_submission` mends it.
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

    Args:
        path: The file of the predictions.
        format: What it turned out to be; empty if it cannot be read.
        portal: The name of the portal whose rules were applied, of `portals.PORTALS`, or None.
        n: The number of rows.
        counts: The number of problems of each code, the severest first.
        mendable: The number of those whose mend is certain.
        refused: The number of problems for which the submission is refused.
        problems: The first problems of each code, in the same order, up to as many as were asked for.
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
        """Give it as plain JSON values."""
        return dataclasses.asdict(self)


def check_submission(
    predictions_path: str | os.PathLike[str],
    references_path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    most: int | None = MOST_SHOWN,
) -> CheckReport:
    r"""Find every problem of a submission: of its file, its ids and its answers.

    The rules are those of the portal that `format` names, ``rrc`` or ``dude``; without a name, those of the detected
    layout if the file is JSON or JSON Lines. Any other file has no portal.

    Args:
        predictions_path: The submission, in any of `formats.FORMATS`.
        references_path: The references. Without them, nothing is said about missing and extra ids, refusals and
            answers that are long beside the accepted ones.
        format: A name in `formats.FORMATS`; None detects it.
        columns: Columns by role, as for `formats.open_predictions`, of both files.
        most: How many problems of one code the report is to hold; None for all.

    Returns:
        The problems. That the predictions cannot be read is one of them.

    Raises:
        FormatError: The references cannot be read.
        ValueError: The predictions have ids and the references have none.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "submission.json")
        >>> _ = path.write_text('[{"questionId": 7, "answer": ["Lima"]}, {"questionId": "8", "answer": " Oslo"}]')
        >>> report = check_submission(path)
        >>> report.portal, report.refused, report.counts
        ('rrc', 2, {'id-text': 1, 'answer-list': 1, 'answer-blanks': 1})
        >>> for problem in report.problems:
        ...     print(problem.place, problem.question_id, problem.code, problem.found, problem.certain)
        [1] 8 id-text '8' True
        [0] 7 answer-list ['Lima'] True
        [1] 8 answer-blanks ' Oslo' True
    """
    references = None if references_path is None else read_references(references_path, format, columns or {})
    return examine(os.fspath(predictions_path), references, format, columns or {}, most)[0]


def examine(
    path: str,
    references: References | None,
    format_name: str | None,
    columns: Mapping[str, str],
    most: int | None = MOST_SHOWN,
) -> tuple[CheckReport, Rows | None, list[Finding]]:
    """As `check_submission`, with the rows, unless the file cannot be read, and the findings that have a mend."""
    try:
        rows = read_rows(path, format_name, columns)
    except FormatError as error:
        kind = KINDS["unreadable"]
        problem = Problem("unreadable", "refused", None, error.place, None, str(error), kind.remedy, certain=False)
        return CheckReport(path, "", None, 0, {"unreadable": 1}, {}, 1, (problem,)), None, []
    if references is not None and references.ids is None and rows.ids is not None:
        raise ValueError(
            f"{path} has question ids and the references have none, so that nothing can be compared; name their column "
            "with columns={'question_id': NAME}"
        )
    ids, found = find_all(rows, references)
    sure = references is not None
    counts: Counter[str] = Counter()
    mendable: Counter[str] = Counter()
    refused = 0
    shown: dict[str, list[Problem]] = {}
    mends = []
    for own in found:
        severity = _severity(own, rows.portal is not None, sure)
        counts[own.code] += 1
        refused += severity == "refused"
        if own.mend is not None:
            mendable[own.code] += 1
            mends.append(own)
        first = shown.setdefault(own.code, [])
        if most is None or len(first) < most:
            place, question_id = ("", own.question_id) if own.row is None else (rows.place(own.row), ids[own.row])
            remedy, certain = KINDS[own.code].remedy, own.mend is not None
            first.append(Problem(own.code, severity, own.row, place, question_id, own.found, remedy, certain))
    order = sorted(shown, key=lambda code: (_SEVERITIES.index(shown[code][0].severity), list(KINDS).index(code)))
    report = CheckReport(
        path=path,
        format=rows.format,
        portal=rows.portal.name if rows.portal else None,
        n=len(rows.answers),
        counts={code: counts[code] for code in order},
        mendable={code: mendable[code] for code in order if mendable[code]},
        refused=refused,
        problems=tuple(problem for code in order for problem in shown[code]),
    )
    return report, rows, mends


def _severity(finding: Finding, has_portal: bool, has_references: bool) -> str:
    if finding.severity is not None:
        return finding.severity
    if finding.code in _UNSURE and not has_references:
        return "note"
    kind = KINDS[finding.code]
    return kind.at_portal if has_portal else kind.without_portal
