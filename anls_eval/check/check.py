"""Find every problem of a submission before a portal does, with its row, its id and its remedy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from anls_eval.check.answers import answer_faults
from anls_eval.check.ids import IdCheck, check_ids, is_rounded
from anls_eval.check.known import texts_of
from anls_eval.check.problem import KINDS, SEVERITIES, CheckReport, Fault, Problem, severities
from anls_eval.check.rows import Block, References, Rows, open_rows, read_references
from anls_eval.errors import AnlsError, Remedy, short_repr
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.extract.steps import check_extract, extracted, read_extract
from anls_eval.files import FormatError
from anls_eval.files.errors import ChangedFileError
from anls_eval.files.files import DETECTED, How
from anls_eval.files.json_text import CONTROL_CHARACTERS
from anls_eval.files.paths import one_path
from anls_eval.files.source import ABSENT
from anls_eval.structure import Parse
from anls_eval.types import Extract

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
        on_progress: Called with the number of rows that have been read so far: the references once, the predictions
            twice.

    Returns:
        The problems. That the predictions cannot be read is one of them.

    Raises:
        FormatError: The references cannot be read, or a file changed while it was read.
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
    on_rows = added_up(on_progress)
    references = None
    if references_path is not None:
        references = read_references(references_path, format, columns or {}, parse, how, on_rows)
    path = one_path(predictions_path)
    return examine(path, references, format, columns or {}, most, how, extract, on_rows)[0]


def added_up(on_progress: Callable[[int], None] | None) -> Callable[[int], None]:
    """Return a function to call with each further number of rows that has been read."""
    total = 0

    def add(rows: int) -> None:
        nonlocal total
        total += rows
        if on_progress is not None:
            on_progress(total)

    return add


class CheckedRow(NamedTuple):
    """A row with its problems, each with its part of the search, and as it should be."""

    problems: list[tuple[int, Problem]]
    id: Any  # ABSENT if it stays as it is
    answer: Any
    other_key: str | None  # the column of the answer, if it is not that of the others
    is_left_out: bool


def examine(
    path: str,
    references: References | None,
    format_name: str | None,
    columns: Mapping[str, str],
    most: int | None = MAX_SHOWN,
    how: How = DETECTED,
    extract: Extract = None,
    on_rows: Callable[[int], None] = lambda rows: None,
) -> tuple[CheckReport, Search | None]:
    """Check as `check_submission`, and return the search too, which knows the fixes, unless the file is unreadable."""
    steps = read_extract(extract) or ()
    check_extract(steps, of_trees=True)
    try:
        rows = open_rows(path, format_name, columns, how)
        ids = _read_ids(rows, references, on_rows)
    except ChangedFileError:
        raise
    except FormatError as error:
        remedy = KINDS["unreadable"].remedy
        problem = Problem("unreadable", "refused", None, error.place, None, str(error), remedy, certain=False)
        return CheckReport(path, "", None, 0, {"unreadable": 1}, {}, 1, (problem,)), None
    if references is not None and references.known is None and rows.id_keys:
        raise AnlsError(
            f"{path} has question ids and the references have none, so that nothing can be compared.",
            remedies=[Remedy("columns", {"question_id": "NAME"}, "name their column")],
        )
    search = Search(rows, references, ids, steps, on_rows)
    counts: Counter[str] = Counter()
    fixable: Counter[str] = Counter()
    refused = 0
    shown: dict[tuple[str, int], list[Problem]] = {}
    for part, problem in search.problems():
        counts[problem.code] += 1
        fixable[problem.code] += problem.certain
        refused += problem.severity == "refused"
        first = shown.setdefault((problem.code, part), [])
        if most is None or len(first) < most:
            first.append(problem)
    of_codes: dict[str, list[Problem]] = {}
    for code, part in sorted(shown):
        of_codes[code] = [*of_codes.get(code, []), *shown[code, part]][:most]
    codes = list(KINDS)
    order = sorted(of_codes, key=lambda code: (SEVERITIES.index(of_codes[code][0].severity), codes.index(code)))
    report = CheckReport(
        path=path,
        format=rows.format,
        portal=rows.portal.name if rows.portal else None,
        n=rows.n,
        counts={code: counts[code] for code in order},
        mendable={code: fixable[code] for code in order if fixable[code]},
        refused=refused,
        problems=tuple(problem for code in order for problem in of_codes[code]),
    )
    return report, search


def _read_ids(rows: Rows, references: References | None, on_rows: Callable[[int], None]) -> IdCheck | None:
    """Read the ids of all rows; None if neither side has any and none are expected."""

    def blocks() -> Iterator[list[Any]]:
        for ids in rows.ids():
            on_rows(len(ids))
            yield ids

    known = None if references is None else references.known
    if not rows.id_keys and rows.portal is None and known is None:
        for _ in blocks():
            pass
        return None
    integers = rows.portal is not None and rows.portal.integer_ids
    return check_ids(blocks, known, integers=integers, in_cells=rows.source.in_cells)


# The parts of a search: of one code, problems are shown in this order, and then by row.
_FILE, _IDS, _PAIRS, _ANSWERS = range(4)


class Search:
    """The search for the problems of one submission, and for the fixes that are certain."""

    def __init__(
        self,
        rows: Rows,
        references: References | None,
        ids: IdCheck | None,
        extract: tuple[str, ...],
        on_rows: Callable[[int], None],
    ) -> None:
        self.rows, self.references = rows, references
        self._ids, self._extract, self._on_rows = ids, extract, on_rows
        self._severities = severities(rows.portal is not None, references is not None)
        self._known = None if references is None else references.known
        self._takes_integers = rows.portal is not None and rows.portal.integer_ids
        self._lists_extra = self._known is not None and ids is not None and not ids.is_other_split
        self._all_answered = ids is not None and not len(ids.missing)  # so that no extra row can be one of them

    def problems(self) -> Iterator[tuple[int, Problem]]:
        """Yield every problem of the file, the ids, the answers and the confidences, each with its part."""
        yield from ((_FILE, problem) for problem in self._of_file())
        yield from ((_PAIRS, problem) for problem in self._of_sides())
        for row in self.checked_rows():
            yield from row.problems

    def checked_rows(self) -> Iterator[CheckedRow]:
        """Read and check each row."""
        firsts: _Firsts = {}
        for block in self.rows.blocks():
            n = len(block.answers)
            ids = _Ids([None] * n, [-1] * n, {}) if self._ids is None else self._ids_of(block, self._ids)
            of_ids = self._of_ids(block, ids, firsts)
            for at, accepted in enumerate(self._accepted(block, ids)):
                yield self._checked(block, at, ids.texts[at], of_ids.get(at, []), accepted)
            self._on_rows(n)

    def _problem(self, code: str, found: str, certain: bool = False, question_id: str | None = None) -> Problem:
        """Return a problem of the file as a whole."""
        return Problem(code, self._severities[code], None, "", question_id, found, KINDS[code].remedy, certain)

    def _of_file(self) -> Iterator[Problem]:
        rows, portal = self.rows, self.rows.portal
        yield from self._of_reading()
        yield from self._of_printed()
        if portal is not None and portal.confidence is not None and rows.confidence_key is None:
            yield self._problem("confidence", f"no row has {portal.confidence!r}")
        if not rows.n:
            yield self._problem("no-rows", "the file has columns but no rows")
        if portal is None:
            if rows.answer_key == "answers":
                found = "'answers' for the predictions; expected 'prediction'"
                yield self._problem("wrong-key", found, certain=True)
            return
        faults = [] if rows.is_json_list else ["not a JSON list"]
        faults += [f"compressed with {rows.compression}"] if rows.compression else []
        if faults:
            found = f"{rows.source.container}, {', '.join(faults)}; expected [{portal.form}, ...]"
            yield self._problem("structure", found, certain=True)
        if rows.source.container in ("json", "jsonl") and rows.source.layout is None:  # each row has its own keys
            for key, wanted in ((rows.id_key, portal.question_id), (rows.answer_key, portal.answer)):
                if key not in (None, wanted):
                    yield self._problem("wrong-key", f"{key!r}; expected {wanted!r}", certain=True)

    def _of_reading(self) -> Iterator[Problem]:
        for note in self.rows.source.notes:
            code = "escapes" if note == CONTROL_CHARACTERS else "read-otherwise"
            yield self._problem(code, note, certain=code == "escapes")
        for note in () if self.references is None else self.references.notes:
            yield self._problem("read-otherwise", note)

    def _of_printed(self) -> Iterator[Problem]:
        if self.references is None:
            return
        if self.references.without_answers:
            yield self._problem("no-answers", self.references.without_answers)
        printed = self.references.printed
        for code, count in (("answers-printed", printed.left), ("answers-unread", printed.unread)):
            if count:
                found = f"{count:,} of {printed.values:,} accepted answers, such as {printed.shown}"
                yield self._problem(code, found)

    def _of_sides(self) -> Iterator[Problem]:
        """Yield what is wrong with the ids of both sides as a whole."""
        ids, known, n = self._ids, self._known, self.rows.n
        if ids is None:
            expected = n if self.references is None else self.references.n
            if n != expected:
                yield self._problem("row-count", f"{n} predictions for {expected} references")
        elif known is not None and ids.is_other_split:
            first, expected_first = next(texts_of(ids.extra)), next(texts_of(known.texts))
            found = f"{first!r} is the first id here, {expected_first!r} the first of the references"
            yield self._problem("other-split", found)
        else:
            for id_ in texts_of(ids.missing):
                yield self._problem("missing", "no row has this id", question_id=id_)

    def _ids_of(self, block: Block, ids: IdCheck) -> _Ids:
        given = [ABSENT] * len(block.answers) if block.ids is None else block.ids
        texts, faults, places = ids.reader.read(given)
        # The portal's script takes 7.0 as 7.
        equal = {at for at in faults if self._takes_integers and isinstance(given[at], float)}
        found = {
            at: [(_IDS, fault, "scored" if at in equal and fault[0] == "id-float" else "")]
            for at, fault in faults.items()
        }
        numbered = enumerate(range(block.first_row, block.first_row + len(texts)))
        meant = {at: ids.meant[row] for at, row in numbered if row in ids.meant}
        if meant and self._known is not None:
            places |= self._known.among([own.ids[0] for own in meant.values() if own.is_certain])
        for at, own in meant.items():
            texts[at] = own.ids[0] if own.is_certain else None
            fault = own.code, f"{given[at]!r} for {' or '.join(map(repr, own.ids))}", own.is_certain
            found.setdefault(at, []).append((_IDS, fault, ""))
        return _Ids(texts, [-1 if text is None else places.get(text, -1) for text in texts], found)

    def _of_ids(self, block: Block, ids: _Ids, firsts: _Firsts) -> dict[int, list[_Found]]:
        """Return what is wrong with the ids of a block, by row."""
        found = {at: [*own] for at, own in ids.faults.items()}
        extra = [at for at, place in enumerate(ids.places) if place < 0] if self._lists_extra else []
        for at in extra:
            if ids.texts[at] is not None:
                fault = "extra", "no reference has this id", self._all_answered
                found.setdefault(at, []).append((_PAIRS, fault, ""))
        if self._ids is not None:
            may_repeat = self._ids.may_repeat[block.first_row :][: len(ids.texts)]
            for at in np.flatnonzero(may_repeat).tolist():
                text = ids.texts[at]
                again = None if text is None else self._repeat(text, block.answers[at], block.place(at), firsts)
                if again is not None:
                    found.setdefault(at, []).append((_PAIRS, again, ""))
        return found

    def _accepted(self, block: Block, ids: _Ids) -> Sequence[Any]:
        """Return the accepted answers of each row, as `Accepted` holds them, and ABSENT where they are unknown."""
        references, n = self.references, len(ids.texts)
        if references is None or references.accepted is None:
            return [ABSENT] * n
        if self._known is None:
            in_order = np.arange(block.first_row, block.first_row + n)
            return references.accepted.at(in_order) if references.n == self.rows.n else [ABSENT] * n
        places = np.array(ids.places, np.int64)
        return references.accepted.at(np.where(places < 0, -1, self._known.lasts[places]))

    def _checked(self, block: Block, at: int, text: str | None, of_id: list[_Found], accepted: Any) -> CheckedRow:
        answer, other_key = block.answers[at], block.other_keys.get(at)
        right, found = answer, of_id
        unread = self.rows.faults.get(block.place(at)) if answer is ABSENT and self.rows.faults else None
        if unread is not None:
            found = [(_IDS, ("row-unreadable", str(unread), False), "") if own[0] == _IDS else own for own in of_id]
        else:
            faults, right = self._of_answer(answer, accepted, other_key)
            if faults:
                found = [*of_id, *((_ANSWERS, fault, "") for fault in faults)]
            if block.confidences is not None and not _are_confidences(block.confidences[at]):
                found = [*found, (_ANSWERS, ("confidence", short_repr(block.confidences[at]), False), "")]
        if not found:
            return CheckedRow([], ABSENT, right, other_key, False)
        problems = [(part, self._problem_in(block, at, text, *fault, severity)) for part, fault, severity in found]
        certain = {part for part, problem in problems if problem.certain}
        return CheckedRow(problems, text if _IDS in certain else ABSENT, right, other_key, _PAIRS in certain)

    def _problem_in(
        self, block: Block, at: int, text: str | None, code: str, found: str, certain: bool, severity: str
    ) -> Problem:
        severity, row = severity or self._severities[code], block.first_row + at
        return Problem(code, severity, row, block.place(at), text, found, KINDS[code].remedy, certain)

    def _repeat(self, text: str, answer: Any, place: str, firsts: _Firsts) -> Fault | None:
        """Return what is wrong with a row if its id has come before."""
        if text not in firsts:
            firsts[text] = place, answer
            return None
        other_place, other = firsts[text]
        if type(answer) is type(other) and answer == other:
            return ("id-repeated", f"identical to the row at {other_place}", True)
        if self._known is None and is_rounded(text):
            return ("id-digits", f"{text}, also at {other_place}, looks like an id that a float rounded", False)
        return ("id-conflict", f"{short_repr(answer)}, but {short_repr(other)} at {other_place}", False)

    def _of_answer(self, answer: Any, accepted: Any, other_key: str | None) -> tuple[list[Fault], Any]:
        """Return what is wrong with an answer, and the answer with all fixes that are certain."""
        rows = self.rows
        if answer is ABSENT:
            return [("answer-absent", f"no {rows.answer_key!r}", False)], answer
        found: list[Fault] = []
        if other_key is not None:
            found.append(("wrong-key", f"{other_key!r} in place of {rows.answer_key!r}", True))
        taken = self._taken_out(answer) if self._extract else answer
        if taken is not answer and taken != answer:
            shown = f"{short_repr(answer)}; {','.join(self._extract)} takes out {short_repr(taken)}"
            found.append(("answer-extract", shown, True))
            answer = taken
        if accepted is None and rows.portal is None:  # of a tree, the prediction can be anything
            document = json_in_text(taken) if isinstance(taken, str) else None
            if document is not None and not taken.lstrip().startswith(("{", "[")):
                shown = f"a text with JSON in it; extract json takes out {short_repr(document)}"
                found.append(("answer-markup", shown, False))
            return found, answer
        in_lists = rows.portal is not None and rows.portal.lists
        faults, right = answer_faults(taken, None if accepted is ABSENT else accepted, in_lists)
        if not faults:
            return found, answer
        is_mended = any(certain for _, _, certain in faults)
        return [*found, *faults], right if is_mended else answer

    def _taken_out(self, answer: Any) -> Any:
        """Return what the steps take out of an answer, or out of each of a list."""
        if isinstance(answer, list):
            return [extracted(part, self._extract) for part in answer]
        return extracted(answer, self._extract)


def _are_confidences(value: Any) -> bool:
    """Return whether a value is a number from 0 to 1, or a list of them."""
    numbers = value if isinstance(value, list) and value else [value]
    return all(isinstance(number, (int, float)) and 0 <= number <= 1 for number in numbers)


_Found = tuple[int, Fault, str]  # a part of the search, and a fault with its severity, if it is not the usual one


class _Ids(NamedTuple):
    """The ids of a block."""

    texts: list[str | None]  # as they were meant; None where it cannot be known
    places: list[int]  # of the first reference with the id; negative without one
    faults: dict[int, list[_Found]]  # by row; the fix of those that are certain is the text


_Firsts = dict[str, tuple[str, Any]]  # the place and answer of the first row with an id, of those that may come again
