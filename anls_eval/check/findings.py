"""The findings of a check: what each row, its id and its answer are beside what they should be, and the sure mends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from anls_eval.check.answers import answer_faults, mended
from anls_eval.check.ids import check_ids, is_rounded
from anls_eval.check.portals import Portal
from anls_eval.check.rows import References, Rows
from anls_eval.errors import short_repr
from anls_eval.files.source import ABSENT
from anls_eval.inputs.values import is_missing_value


@dataclasses.dataclass(frozen=True)
class Mend:
    """A mend that is certain.

    Args:
        part: What of the row it changes: its ``"id"`` or its ``"answer"``; ``"row"`` leaves the row out, and ``"file"``
            is what `submission_mend.mend_submission` does in any case by writing the file in its right form.
        value: The right id as text, or the right answer.
    """

    part: str
    value: Any = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something wrong or suspicious.

    Args:
        code: The kind, of `submission_check.KINDS`.
        row: The row, from 0, or None.
        found: What is there.
        mend: The mend, if one is certain.
        severity: In place of that of the kind.
        question_id: The id, where it is that of no row.
    """

    code: str
    row: int | None
    found: str
    mend: Mend | None = None
    severity: str | None = None
    question_id: str | None = None


_BY_WRITING = Mend("file")


def find_all(rows: Rows, references: References | None) -> tuple[list[str | None], Iterable[Finding]]:
    """Give the ids of the rows as text, where they can be known, and every finding: of file, ids and answers."""
    ids, of_ids = _of_ids(rows, references)
    return ids, chain(_of_file(rows), of_ids, _of_answers(rows, references, ids), _of_confidences(rows))


# ---------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------


def _of_file(rows: Rows) -> Iterator[Finding]:
    portal = rows.portal
    if portal is None:
        if rows.answer_key == "answers":
            yield Finding("wrong-key", None, "'answers' for the predictions; expected 'prediction'", _BY_WRITING)
        return
    kinds = [] if rows.is_json_list else ["no JSON list"]
    kinds += [f"compressed with {rows.compression}"] if rows.compression else []
    if kinds:
        found = f"{rows.source.container}, {', '.join(kinds)}; expected [{portal.form}, ...]"
        yield Finding("structure", None, found, _BY_WRITING)
    if rows.has_keys:
        for key, wanted in ((rows.id_key, portal.question_id), (rows.answer_key, portal.answer)):
            if key not in (None, wanted):
                yield Finding("wrong-key", None, f"{key!r}; expected {wanted!r}", _BY_WRITING)


# ---------------------------------------------------------------------------------------------------
# The ids
# ---------------------------------------------------------------------------------------------------


def _of_ids(rows: Rows, references: References | None) -> tuple[list[str | None], list[Finding]]:
    n = len(rows.answers)
    known = None if references is None else references.ids
    if rows.ids is None and rows.portal is None and known is None:
        expected = n if references is None else len(references.answers)
        findings = [Finding("row-count", None, f"{n} predictions for {expected} references")] if n != expected else []
        return [None] * n, findings
    ids = [ABSENT] * n if rows.ids is None else rows.ids
    integers = rows.portal is not None and rows.portal.integer_ids
    check = check_ids(ids, known, integers=integers, in_cells=rows.source.in_cells)
    findings = []
    for fault in check.faults:
        if rows.is_unreadable(fault.row):
            findings.append(Finding("row-unreadable", fault.row, str(rows.faults[rows.place(fault.row)])))
            continue
        mend = Mend("id", check.texts[fault.row]) if fault.certain else None
        # The portal's script takes 7.0 as 7.
        is_equal = fault.code == "id-float" and integers and isinstance(ids[fault.row], float)
        findings.append(Finding(fault.code, fault.row, fault.found, mend, "scored" if is_equal else None))
    extra: Sequence[int] = check.extra
    if known and extra and len(check.missing) == len(set(known)):
        found = f"{check.texts[extra[0]]!r} is the first id here, {known[0]!r} the first of the references"
        findings.append(Finding("other-split", None, found))
    else:
        findings += [Finding("missing", None, "no row has this id", question_id=own) for own in check.missing]
        mend = None if check.missing else Mend("row")  # with all answered, an extra row cannot be one of them
        findings += [Finding("extra", row, "no reference has this id", mend) for row in extra]
    findings += _of_repeats(check.texts, rows.answers, known is None)
    return check.texts, findings


def _of_repeats(texts: Sequence[str | None], answers: Sequence[Any], can_be_rounded: bool) -> Iterator[Finding]:
    if len(set(texts)) == len(texts):
        return
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text is None or first.setdefault(text, row) == row:
            continue
        own, other = answers[row], answers[first[text]]
        if type(own) is type(other) and own == other:
            yield Finding("id-repeated", row, f"the same as row {first[text]}", Mend("row"))
        elif can_be_rounded and is_rounded(text):
            yield Finding(
                "id-digits", row, f"{text}, which row {first[text]} has too, is what a float makes of its like"
            )
        else:
            yield Finding("id-conflict", row, f"{short_repr(own)}, but {short_repr(other)} in row {first[text]}")


# ---------------------------------------------------------------------------------------------------
# The answers
# ---------------------------------------------------------------------------------------------------


def _of_answers(rows: Rows, references: References | None, ids: Sequence[str | None]) -> Iterator[Finding]:
    for row, (answer, accepted) in enumerate(zip(rows.answers, _by_row(references, ids), strict=True)):
        if answer is ABSENT:
            if not rows.is_unreadable(row):
                yield Finding("answer-absent", row, f"no {rows.answer_key!r}")
            continue
        if row in rows.other_keys:
            found = f"{rows.other_keys[row]!r} in place of {rows.answer_key!r}"
            yield Finding("wrong-key", row, found, _BY_WRITING)
        if accepted is None and rows.portal is None:
            continue  # of a tree, the prediction can be anything
        faults, right = _of_answer(answer, None if accepted is ABSENT else accepted, rows.portal)
        for code, found, certain in faults:
            yield Finding(code, row, found, Mend("answer", right) if certain else None)


def _by_row(references: References | None, ids: Sequence[str | None]) -> Sequence[Any]:
    """What `References.answers` holds for each row, and ABSENT where that is not known."""
    if references is None:
        return [ABSENT] * len(ids)
    if references.ids is not None:
        known = dict(zip(references.ids, references.answers, strict=True))
        return [ABSENT if own is None else known.get(own, ABSENT) for own in ids]
    return references.answers if len(references.answers) == len(ids) else [ABSENT] * len(ids)


_Faults = list[tuple[str, str, bool]]  # the code, what was found, and whether the mend is certain


def _of_answer(answer: Any, accepted: Sequence[str] | None, portal: Portal | None) -> tuple[_Faults, Any]:
    """What is wrong with an answer, and the answer with all mends that are certain."""
    if portal is None or not portal.lists:
        if isinstance(answer, list):
            if len(answer) != 1 or not isinstance(answer[0], str):
                return [("answer-list", short_repr(answer), False)], answer
            faults, right = _of_text(answer[0], accepted)
            return [("answer-list", short_repr(answer), True), *faults], right
        return _of_text(answer, accepted)
    if isinstance(answer, list):
        if not answer:
            return _of_text("", accepted)[0], answer
        parts = [_of_text(own, accepted) for own in answer]
        return [fault for faults, _ in parts for fault in faults], [right for _, right in parts]
    faults, right = _of_text(answer, accepted)
    if isinstance(answer, str):
        faults = [("answer-text", short_repr(answer), True), *faults]
    return faults, [right]


def _of_text(answer: Any, accepted: Sequence[str] | None) -> tuple[_Faults, Any]:
    """The same for what should be one text."""
    if isinstance(answer, str):
        faults = answer_faults(answer, accepted)
        if not faults:
            return [], answer
        return [(own.code, own.found, own.certain) for own in faults], mended(answer)
    if is_missing_value(answer):
        return [("answer-null", "null", True)], ""
    if isinstance(answer, (int, float)):
        is_number = not isinstance(answer, bool)
        return [("answer-number", repr(answer), is_number)], str(answer) if is_number else answer
    return [("answer-list" if isinstance(answer, list) else "answer-object", short_repr(answer), False)], answer


# ---------------------------------------------------------------------------------------------------
# The confidences
# ---------------------------------------------------------------------------------------------------


def _of_confidences(rows: Rows) -> Iterator[Finding]:
    if rows.portal is None or rows.portal.confidence is None:
        return
    if rows.confidences is None:
        yield Finding("confidence", None, f"no row has {rows.portal.confidence!r}")
        return
    for row, value in enumerate(rows.confidences):
        numbers = value if isinstance(value, list) and value else [value]
        if not all(isinstance(own, (int, float)) and 0 <= own <= 1 for own in numbers) and not rows.is_unreadable(row):
            yield Finding("confidence", row, short_repr(value))
