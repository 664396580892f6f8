"""Find every problem of a submission before a portal does, with its row, its id and its remedy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from anls_eval.check.answers import answer_faults
from anls_eval.check.ids import check_ids, is_rounded
from anls_eval.check.problem import KINDS, SEVERITIES, CheckReport, Problem, severities
from anls_eval.check.rows import References, Rows, read_references, read_rows
from anls_eval.errors import AnlsError, Remedy, short_repr
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.extract.steps import check_extract, extracted, read_extract
from anls_eval.files import FormatError
from anls_eval.files.files import DETECTED, How
from anls_eval.files.json_text import CONTROL_CHARACTERS
from anls_eval.files.source import ABSENT
from anls_eval.structure import Parse
from anls_eval.types import Extract

_ROWS_AT_ONCE = 16_384  # between two calls of on_progress

MAX_SHOWN = 20
"""How many problems of one code a report holds by default; all are counted."""


def check_submission(
    predictions_path: str | os.PathLike[str],
    references_path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    parse: Parse = None,
    encoding: str | None = None,
    separator: str | None = None,
    filter: str | None = None,  # noqa: A002
    extract: Extract = None,
    most: int | None = MAX_SHOWN,
    on_progress: Callable[[int], None] | None = None,
) -> CheckReport:
    r"""Find every problem of a submission: in its file, its ids and its answers.

    The rules are those of the portal that `format` names, ``rrc`` or ``dude``; without a name, those of the detected
    layout if the file is JSON or JSON Lines. Any other file has no portal.

    Args:
        predictions_path: The submission, as for `open_predictions`, but one file.
        references_path: The references. Without them, missing and extra ids, refusals and answers that are much longer
            than the accepted ones are not looked for.
        format: A name in `anls_eval.files.FORMATS`. Detected by default.
        columns: Columns of both files by role, as for `open_predictions`.
        parse: As in `score_submission`, for the accepted answers.
        encoding: See `open_predictions`.
        separator: See `open_predictions`.
        filter: See `open_predictions`.
        extract: Steps that take the answer out of each text, by name, as for `anls_scores`. What they change is a
            problem that `fix_submission` fixes, and what they take out is checked.
        most: Maximum number of problems of one code in the report; None for all.
        on_progress: Called with the number of rows whose answers have been checked so far, after the files are read.

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
    how = How(encoding, separator, filter)
    references = None
    if references_path is not None:
        references = read_references(references_path, format, columns or {}, parse, how)
    path = os.fspath(predictions_path)
    return examine(path, references, format, columns or {}, most, how, extract, on_progress)[0]


@dataclass(frozen=True)
class Fixes:
    """The fixes that are certain: right ids and answers by row, and the rows to leave out."""

    rows: Rows
    ids: dict[int, str | None] = field(default_factory=dict)
    answers: dict[int, Any] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)


def examine(
    path: str,
    references: References | None,
    format_name: str | None,
    columns: Mapping[str, str],
    most: int | None = MAX_SHOWN,
    how: How = DETECTED,
    extract: Extract = None,
    on_progress: Callable[[int], None] | None = None,
) -> tuple[CheckReport, Fixes | None]:
    """Check as `check_submission`, and return the fixes too, unless the file cannot be read."""
    steps = read_extract(extract) or ()
    check_extract(steps, of_trees=True)
    try:
        rows = read_rows(path, format_name, columns, how)
    except FormatError as error:
        remedy = KINDS["unreadable"].remedy
        problem = Problem("unreadable", "refused", None, error.place, None, str(error), remedy, certain=False)
        return CheckReport(path, "", None, 0, {"unreadable": 1}, {}, 1, (problem,)), None
    if references is not None and references.ids is None and rows.ids is not None:
        raise AnlsError(
            f"{path} has question ids and the references have none, so that nothing can be compared.",
            remedies=[Remedy("columns", {"question_id": "NAME"}, "name their column")],
        )
    search = _Search(rows, references, steps, on_progress or (lambda row: None))
    counts: Counter[str] = Counter()
    fixable: Counter[str] = Counter()
    refused = 0
    shown: dict[str, list[Problem]] = {}
    for problem in search.problems():
        counts[problem.code] += 1
        fixable[problem.code] += problem.certain
        refused += problem.severity == "refused"
        first = shown.setdefault(problem.code, [])
        if most is None or len(first) < most:
            first.append(search.placed(problem))
    codes = list(KINDS)
    order = sorted(shown, key=lambda code: (SEVERITIES.index(shown[code][0].severity), codes.index(code)))
    report = CheckReport(
        path=path,
        format=rows.format,
        portal=rows.portal.name if rows.portal else None,
        n=len(rows.answers),
        counts={code: counts[code] for code in order},
        mendable={code: fixable[code] for code in order if fixable[code]},
        refused=refused,
        problems=tuple(problem for code in order for problem in shown[code]),
    )
    return report, search.fixes


class _Search:
    """The search for the problems of one submission, which collects the fixes that are certain."""

    def __init__(
        self,
        rows: Rows,
        references: References | None,
        extract: tuple[str, ...],
        on_progress: Callable[[int], None],
    ) -> None:
        self.rows, self.references, self.fixes = rows, references, Fixes(rows)
        self._extract, self._on_progress = extract, on_progress
        self._severities = severities(rows.portal is not None, references is not None)
        self._known = None if references is None else references.ids
        self._ids: Sequence[str | None] = [None] * len(rows.answers)

    def problems(self) -> Iterable[Problem]:
        """Return every problem of the file, the ids, the answers and the confidences."""
        of_ids = self._of_ids()  # first: they tell which reference a row has
        return chain(self._of_file(), of_ids, self._of_answers(), self._of_confidences())

    def placed(self, problem: Problem) -> Problem:
        """Return a problem with the place and id of its row, if it is in one."""
        row = problem.row
        return problem if row is None else replace(problem, place=self.rows.place(row), question_id=self._ids[row])

    def _problem(
        self,
        code: str,
        row: int | None,
        found: str,
        certain: bool = False,
        severity: str = "",
        question_id: str | None = None,
    ) -> Problem:
        severity = severity or self._severities[code]
        return Problem(code, severity, row, "", question_id, found, KINDS[code].remedy, certain)

    def _of_file(self) -> Iterator[Problem]:
        rows, portal = self.rows, self.rows.portal
        yield from self._of_reading()
        yield from self._of_printed()
        if not rows.answers:
            yield self._problem("no-rows", None, "the file has columns but no rows")
        if portal is None:
            if rows.answer_key == "answers":
                found = "'answers' for the predictions; expected 'prediction'"
                yield self._problem("wrong-key", None, found, certain=True)
            return
        faults = [] if rows.is_json_list else ["not a JSON list"]
        faults += [f"compressed with {rows.compression}"] if rows.compression else []
        if faults:
            found = f"{rows.source.container}, {', '.join(faults)}; expected [{portal.form}, ...]"
            yield self._problem("structure", None, found, certain=True)
        if rows.source.container in ("json", "jsonl") and rows.source.layout is None:  # each row has its own keys
            for key, wanted in ((rows.id_key, portal.question_id), (rows.answer_key, portal.answer)):
                if key not in (None, wanted):
                    yield self._problem("wrong-key", None, f"{key!r}; expected {wanted!r}", certain=True)

    def _of_reading(self) -> Iterator[Problem]:
        for note in self.rows.source.notes:
            code = "escapes" if note == CONTROL_CHARACTERS else "read-otherwise"
            yield self._problem(code, None, note, certain=code == "escapes")
        for note in () if self.references is None else self.references.notes:
            yield self._problem("read-otherwise", None, note)

    def _of_printed(self) -> Iterator[Problem]:
        if self.references is None:
            return
        if self.references.without_answers:
            yield self._problem("no-answers", None, self.references.without_answers)
        printed = self.references.printed
        for code, count in (("answers-printed", printed.left), ("answers-unread", printed.unread)):
            if count:
                found = f"{count:,} of {printed.values:,} accepted answers, such as {printed.shown}"
                yield self._problem(code, None, found)

    def _of_ids(self) -> list[Problem]:
        rows, known = self.rows, self._known
        n = len(rows.answers)
        if rows.ids is None and rows.portal is None and known is None:
            expected = n if self.references is None else len(self.references.answers)
            found = f"{n} predictions for {expected} references"
            return [] if n == expected else [self._problem("row-count", None, found)]
        ids = [ABSENT] * n if rows.ids is None else rows.ids
        integers = rows.portal is not None and rows.portal.integer_ids
        check = check_ids(ids, known, integers=integers, in_cells=rows.source.in_cells)
        self._ids = check.texts
        problems = []
        for row, (code, found, certain) in check.faults:
            if rows.is_unreadable(row):
                problems.append(self._problem("row-unreadable", row, str(rows.faults[rows.place(row)])))
                continue
            if certain:
                self.fixes.ids[row] = check.texts[row]
            # The portal's script takes 7.0 as 7.
            is_equal = code == "id-float" and integers and isinstance(ids[row], float)
            problems.append(self._problem(code, row, found, certain, "scored" if is_equal else ""))
        extra = check.extra
        if known and extra and len(check.missing) == len(set(known)):
            found = f"{check.texts[extra[0]]!r} is the first id here, {known[0]!r} the first of the references"
            problems.append(self._problem("other-split", None, found))
        else:
            problems += [self._problem("missing", None, "no row has this id", question_id=id_) for id_ in check.missing]
            all_answered = not check.missing  # so that no extra row can be one of them
            self.fixes.left_out.update(extra if all_answered else ())
            problems += [self._problem("extra", row, "no reference has this id", all_answered) for row in extra]
        return [*problems, *self._of_repeats(check.texts)]

    def _of_repeats(self, texts: Sequence[str | None]) -> Iterator[Problem]:
        if len(set(texts)) == len(texts):
            return
        first: dict[str, int] = {}
        for row, text in enumerate(texts):
            if text is None or first.setdefault(text, row) == row:
                continue
            answer, other, place = self.rows.answers[row], self.rows.answers[first[text]], self.rows.place(first[text])
            if type(answer) is type(other) and answer == other:
                self.fixes.left_out.add(row)
                yield self._problem("id-repeated", row, f"identical to the row at {place}", certain=True)
            elif self._known is None and is_rounded(text):
                found = f"{text}, also at {place}, looks like an id that a float rounded"
                yield self._problem("id-digits", row, found)
            else:
                found = f"{short_repr(answer)}, but {short_repr(other)} at {place}"
                yield self._problem("id-conflict", row, found)

    def _of_answers(self) -> Iterator[Problem]:
        rows, in_lists = self.rows, self.rows.portal is not None and self.rows.portal.lists
        for row, (answer, accepted) in enumerate(zip(rows.answers, self._accepted(), strict=True)):
            if row % _ROWS_AT_ONCE == 0:
                self._on_progress(row)
            if answer is ABSENT:
                if not rows.is_unreadable(row):
                    yield self._problem("answer-absent", row, f"no {rows.answer_key!r}")
                continue
            if row in rows.other_keys:
                found = f"{rows.other_keys[row]!r} in place of {rows.answer_key!r}"
                yield self._problem("wrong-key", row, found, certain=True)
            taken = self._taken_out(answer) if self._extract else answer
            if taken is not answer and taken != answer:
                self.fixes.answers[row] = taken
                found = f"{short_repr(answer)}; {','.join(self._extract)} takes out {short_repr(taken)}"
                yield self._problem("answer-extract", row, found, certain=True)
            if accepted is None and rows.portal is None:  # of a tree, the prediction can be anything
                document = json_in_text(taken) if isinstance(taken, str) else None
                if document is not None and not taken.lstrip().startswith(("{", "[")):
                    found = f"a text with JSON in it; extract json takes out {short_repr(document)}"
                    yield self._problem("answer-markup", row, found)
                continue
            answer = taken
            faults, right = answer_faults(answer, None if accepted is ABSENT else accepted, in_lists)
            for code, found, certain in faults:
                if certain:
                    self.fixes.answers[row] = right
                yield self._problem(code, row, found, certain)
        self._on_progress(len(rows.answers))

    def _taken_out(self, answer: Any) -> Any:
        """Return what the steps take out of an answer, or out of each of a list."""
        if isinstance(answer, list):
            return [extracted(part, self._extract) for part in answer]
        return extracted(answer, self._extract)

    def _accepted(self) -> Sequence[Any]:
        """Return the accepted answers of each row, as `References` holds them, and ABSENT where they are unknown."""
        unknown = [ABSENT] * len(self._ids)
        if self.references is None:
            return unknown
        answers = self.references.answers
        if self._known is None:
            return answers if len(answers) == len(unknown) else unknown
        known = dict(zip(self._known, answers, strict=True))
        return [ABSENT if id_ is None else known.get(id_, ABSENT) for id_ in self._ids]

    def _of_confidences(self) -> Iterator[Problem]:
        rows = self.rows
        if rows.portal is None or rows.portal.confidence is None:
            return
        if rows.confidences is None:
            yield self._problem("confidence", None, f"no row has {rows.portal.confidence!r}")
            return
        for row, value in enumerate(rows.confidences):
            numbers = value if isinstance(value, list) and value else [value]
            is_right = all(isinstance(number, (int, float)) and 0 <= number <= 1 for number in numbers)
            if not is_right and not rows.is_unreadable(row):
                yield self._problem("confidence", row, short_repr(value))
