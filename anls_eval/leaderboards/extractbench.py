"""ExtractBench: precision, recall and F1 of cells, with the rows of lists paired for the fewest unequal ones."""

from __future__ import annotations

import collections
import datetime
import functools
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz

from anls_eval.errors import AnlsError
from anls_eval.leaderboards.assignment import assign_rows
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, harmonic, plain_sum
from anls_eval.leaderboards.dates import DATES
from anls_eval.leaderboards.document import Document, plain_document, read_documents
from anls_eval.leaderboards.question import Question

_IGNORED = "_provenance"
_FUZZY = {"description": 95.0, "court": 85.0}
_MAX_CELLS = 100_000_000  # of a matrix of costs; rows beyond are left unpaired, as in the original

_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}"
    r"|\d{1,2}/\d{1,2}/(?:\d{4}|\d\d\b)"
    r"|\d{1,2}-\d{1,2}-(?:\d{4}|\d\d\b)"
    r"|[A-Za-z]+ \d{1,2},? \d{4}"
    r"|[A-Za-z]+\.? [A-Za-z]+\.? \d{1,2},? \d{4}"
    r"|\d{1,2} [A-Za-z]+ \d{4}"
)
_TODAY = datetime.datetime(2026, 1, 1)  # completes a date that lacks a part; dateutil would use the day it is run


@functools.lru_cache(maxsize=1 << 14)
def _with_iso_date(text: str) -> str:
    """Return a text that is a date as YYYY-MM-DD, and any other text unchanged."""
    if not 4 <= len(text) <= 50 or text.isdigit() or re.search(r"\d{10,}", text):
        return text
    spaced = re.sub(r"\s*,\s*", ", ", text)
    if not _DATE.search(spaced):
        return text
    try:
        date = DATES.parse(spaced, default=_TODAY, ignoretz=True)
    except (ValueError, TypeError, ArithmeticError):  # not a date
        return text
    return date.strftime("%Y-%m-%d") if 1900 <= date.year <= 2100 else text


def _with_iso_dates(value: Document) -> Document:
    if isinstance(value, str):
        return _with_iso_date(value)
    if isinstance(value, list):
        return list(map(_with_iso_dates, value))
    return {key: _with_iso_dates(own) for key, own in value.items()} if isinstance(value, dict) else value


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> str:
    return _spaced(re.sub(r"[^\w\s]", " ", text)).lower()


def _is_equal(wanted: Document, own: Document, field: str) -> bool:
    """Return whether two cells are equal: texts but for whitespace, two fields by their words, others as in Python."""
    if not isinstance(wanted, str) or not isinstance(own, str):
        return bool(wanted == own)
    least = _FUZZY.get(field)
    if least is None:
        return _spaced(wanted) == _spaced(own)
    one, other = _words(wanted), _words(own)
    return one == other or (bool(one and other) and fuzz.ratio(one, other) >= least)


def _is_normalised_equal(wanted: Document, own: Document, field: str, normalizers: Sequence[str]) -> bool:
    """Return whether a normalizer of a field makes its cells equal."""
    if "null_equals_false" in normalizers and all(side is None or side is False for side in (wanted, own)):
        return True
    if not isinstance(wanted, str) or not isinstance(own, str):
        return False
    return any(_NORMALIZERS[name](wanted, own, field) for name in normalizers if name in _NORMALIZERS)


def _without_last_mark(wanted: str, own: str, field: str) -> bool:
    one, other = (re.sub(r"[.,;:]\Z", "", side.strip()).rstrip() for side in (wanted, own))
    return bool(one and other) and _is_equal(one, other, field)


def _without_space_at_marks(wanted: str, own: str, field: str) -> bool:
    one, other = (re.sub(r" ?([,.;:]) ?", r"\1", re.sub(r"\s+", " ", side)) for side in (wanted, own))
    return _is_equal(one, other, field)


def _without_case(wanted: str, own: str, field: str) -> bool:
    return _spaced(wanted).casefold() == _spaced(own).casefold()


def _by_digits(wanted: str, own: str, field: str) -> bool:
    one, other = (re.sub(r"\D", "", side) for side in (wanted, own))
    if len(one) >= 10 and len(other) >= 10:
        return one[-10:] == other[-10:]
    return bool(one) and one == other


def _by_readings(wanted: str, own: str, field: str) -> bool:
    return not _readings(wanted).isdisjoint(_readings(own))


def _readings(text: str) -> set[str]:
    """Return the dates that a text may mean: a year that is split, or of two digits in either century, behind a day."""
    texts = [text]
    split = re.search(r"\b(19|20)\s+(\d{2})\b", text)
    if split and re.search(r"\d", text[: split.start()]):
        texts.append(re.sub(r"\b(19|20)\s+(\d{2})\b", r"\1\2", text))
    rewritten = texts[1:]
    for own in texts:
        short = re.match(r"^(.*[ ,/-])(\d{2})\s*$", own)
        if short and re.search(r"\d", short[1]):
            rewritten += [f"{short[1]}{century}{short[2]}" for century in ("19", "20")]
    dates = (_with_iso_date(own) for own in rewritten)
    return {_with_iso_date(text), *(date for date in dates if re.match(r"^\d{4}-\d{2}-\d{2}$", date))}


_NORMALIZERS = {
    "optional_terminal_punctuation": _without_last_mark,
    "punctuation_spacing": _without_space_at_marks,
    "case_insensitive": _without_case,
    "phone_digits": _by_digits,
    "lenient_date": _by_readings,
}


class _Scorer:
    """Counts right cells, and the cells of both sides."""

    def __init__(self, alternatives: Mapping[str, list[Document]], normalizers: Mapping[str, Sequence[str]]) -> None:
        self.alternatives, self.normalizers = alternatives, normalizers
        self.right = self.wanted = self.predicted = 0

    def score(self, reference: dict[str, Document], prediction: dict[str, Document], schemas: Document) -> None:
        """Count the cells of two documents."""
        for field in sorted((reference.keys() | prediction.keys()) - {_IGNORED}):
            wanted, own, schema = reference.get(field), prediction.get(field), _inner(schemas, field)
            if isinstance(wanted, list) or _inner(schema, "type") == "array":
                self._rows(field, wanted, own, schema)
            else:
                self.wanted += 1
                self.predicted += 1
                self.right += self._is_right(field, wanted, own, field)

    def _is_right(self, path: str, wanted: Document, own: Document, field: str) -> bool:
        """Return whether a cell equals the reference or an alternative."""
        normalizers = self.normalizers.get(path, ())
        return any(
            _is_equal(value, own, field) or (normalizers and _is_normalised_equal(value, own, field, normalizers))
            for value in (wanted, *self.alternatives.get(path, ()))
        )

    def _rows(self, path: str, reference: Document, prediction: Document, schema: Document) -> None:
        """Count the cells of the rows of a list."""
        wanted, own = (side if isinstance(side, list) else [] for side in (reference, prediction))
        columns = _columns(schema, wanted)
        if not columns:
            return
        inner = [field for field in columns if any(_has_rows(_inner(row, field)) for row in wanted)]
        cells = [field for field in columns if field not in inner]
        self.wanted += len(wanted) * len(cells)
        self.predicted += len(own) * len(cells)
        partner = self._partners(path, wanted, own, cells or columns, has_inner=bool(inner))
        item_schemas = _inner(_inner(schema, "items"), "properties")
        for at, row in enumerate(wanted):
            if at not in partner:
                for field in inner:
                    self.wanted += _size(_inner(row, field), _inner(item_schemas, field))
                continue
            other = own[partner[at]]
            for field in cells:
                self.right += self._is_right(f"{path}[{at}].{field}", _inner(row, field), _inner(other, field), field)
            for field in inner:
                inner_path, inner_schema = f"{path}[{at}].{field}", _inner(item_schemas, field)
                self._rows(inner_path, _inner(row, field), _inner(other, field), inner_schema)
        for at in set(range(len(own))) - set(partner.values()):
            self.predicted += sum(_size(_inner(own[at], field), _inner(item_schemas, field)) for field in inner)

    def _partners(
        self, path: str, wanted: list[Document], own: list[Document], fields: list[str], has_inner: bool
    ) -> dict[int, int]:
        """Return the predicted row of each row of the reference that has one."""
        if not wanted or not own:
            return {}
        paths = [f"{path}[{at}].{field}" for at in range(len(wanted)) for field in fields]
        if any(self.normalizers.get(own_path) for own_path in paths) or self._has_other_values(path, wanted, fields):
            costs = self._costs(path, wanted, own, fields)
        elif has_inner or not _FUZZY.keys().isdisjoint(fields):
            costs = _costs(wanted, own, fields)
        else:
            return _peeled(wanted, own, fields)
        return {column: row for row, column in assign_rows(costs)}

    def _has_other_values(self, path: str, wanted: list[Document], fields: list[str]) -> bool:
        return any(
            value != _inner(row, field)
            for at, row in enumerate(wanted)
            for field in fields
            for value in self.alternatives.get(f"{path}[{at}].{field}", ())
        )

    def _costs(
        self, path: str, wanted: list[Document], own: list[Document], fields: list[str]
    ) -> npt.NDArray[np.int16]:
        """Return how many cells of each pair of rows are wrong, alternatives and normalizers included."""
        costs = np.zeros((len(own), len(wanted)), dtype=np.int16)
        for at, row in enumerate(wanted):
            for to, other in enumerate(own):
                costs[to, at] = sum(
                    not self._is_right(f"{path}[{at}].{field}", _inner(row, field), _inner(other, field), field)
                    for field in fields
                )
        return costs


def _inner(value: Document, key: str) -> Document:
    """Return what an object has under a key; None for anything else."""
    return value.get(key) if isinstance(value, dict) else None


def _has_rows(value: Document) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _columns(schema: Document, rows: list[Document]) -> list[str]:
    """Return the columns of a list: those of its schema, else the keys of its rows."""
    known = _inner(_inner(schema, "items"), "properties")
    return list(known) if known else sorted({key for row in rows if isinstance(row, dict) for key in row})


def _size(value: Document, schema: Document) -> int:
    """Return how many cells a value has that nothing is compared with."""
    if not isinstance(value, list) or not any(isinstance(row, dict) for row in value):
        return 1
    schemas = _inner(_inner(schema, "items"), "properties")
    fields = _columns(schema, value)
    return sum(_size(_inner(row, field), _inner(schemas, field)) for row in value for field in fields)


def _costs(wanted: list[Document], own: list[Document], fields: list[str]) -> npt.NDArray[np.int16]:
    """Return how many cells of each pair of rows are unequal, of shape (predictions, references)."""
    costs = np.zeros((len(own), len(wanted)), dtype=np.int16)
    for field in fields:
        sides = [_inner(row, field) for row in own], [_inner(row, field) for row in wanted]
        if field in _FUZZY:
            costs += np.array([[not _is_equal(one, other, field) for one in sides[1]] for other in sides[0]])
        else:
            numbers: dict[Hashable, int] = {}
            ids = [[numbers.setdefault(_key(value), len(numbers)) for value in side] for side in sides]
            costs += np.not_equal.outer(*map(np.array, ids))
    return costs


def _key(value: Document) -> Hashable:
    """Return a key that is the same for two cells if they are equal."""
    return ("text", _spaced(value)) if isinstance(value, str) else _exact_key(value)


def _exact_key(value: Document) -> Hashable:
    if isinstance(value, list):
        return "list", tuple(map(_exact_key, value))
    if isinstance(value, dict):
        return "object", frozenset((key, _exact_key(own)) for key, own in value.items())
    return "value", value


def _peeled(wanted: list[Document], own: list[Document], fields: list[str]) -> dict[int, int]:
    """Pair equal rows first, in order, and assign the others: the number of right cells is the same, and it is fast."""
    alike: dict[Hashable, collections.deque[int]] = collections.defaultdict(collections.deque)
    for at, row in enumerate(own):
        alike[_row_key(row, fields)].append(at)
    partner = {}
    for at, row in enumerate(wanted):
        if found := alike.get(_row_key(row, fields)):
            partner[at] = found.popleft()
    left = [at for at in range(len(wanted)) if at not in partner]
    others = sorted(set(range(len(own))) - set(partner.values()))
    if 0 < len(left) * len(others) <= _MAX_CELLS:
        costs = _costs([wanted[at] for at in left], [own[at] for at in others], fields)
        partner |= {left[column]: others[row] for row, column in assign_rows(costs)}
    return partner


def _row_key(row: Document, fields: list[str]) -> Hashable:
    return tuple(_key(_inner(row, field)) for field in fields)


def _counts(question: Question) -> Counts:
    prediction, reference = _unwrapped(question.prediction), _unwrapped(question.reference)
    options = {name: _option(question, name) for name in ("alternatives", "normalizers", "schema")}
    if not isinstance(prediction, dict) or not isinstance(reference, dict):
        return {"precision": (), "recall": (), "f1": ()}
    alternatives = {
        path: [_with_iso_dates(value) for value in values if value is not None]
        for path, values in _lists(options["alternatives"], "alternatives")
    }
    scorer = _Scorer(alternatives, dict(_lists(options["normalizers"], "normalizers")))
    schemas = _inner(options["schema"], "properties")
    scorer.score(_with_iso_dates(reference), _with_iso_dates(prediction), schemas)
    if not scorer.wanted and not scorer.predicted:
        return {"precision": (), "recall": (), "f1": ()}
    precision = scorer.right / scorer.predicted if scorer.predicted else 0.0
    recall = scorer.right / scorer.wanted if scorer.wanted else 0.0
    return {"precision": (precision,), "recall": (recall,), "f1": (harmonic(precision, recall),)}


def _unwrapped(value: Document) -> Document:
    return value["value"] if isinstance(value, dict) and value.keys() == {"value"} else value


def _option(question: Question, name: str) -> Document:
    option = f"options[{name!r}]{question.row[1:]}"
    value = plain_document(question.options.get(name) or {}, option)
    if not isinstance(value, dict):
        raise AnlsError("expected an object", option=option, value=value)
    return value


def _lists(values: dict[str, Document], name: str) -> Iterator[tuple[str, list[Document]]]:
    for path, own in values.items():
        if not isinstance(own, list):
            raise AnlsError(f"expected a list for {path!r}", option=f"options[{name!r}]", value=own)
        yield path, own


def _figures(counts: Counts) -> Figures:
    names = ("precision", "recall", "f1")
    return {name: plain_sum(own) / len(own) if (own := counts.get(name, ())) else None for name in names}


EXTRACTBENCH_VALUE = Benchmark(
    name="extractbench_value",
    family="ExtractBench",
    read=read_documents,
    description="Precision, recall and F1 of the cells of a document: its keys, and the columns of the rows of its "
    "lists, which are paired for the fewest unequal cells; rows inside rows alike. Texts are equal but for whitespace, "
    "dates in any common form, other values as in Python, objects and lists of texts as a whole. The fields "
    "description and court are compared by their words, from a ratio of 95 and 85 on.",
    count=_counts,
    figures_of=_figures,
    headline="f1",
    reports="mean of the documents' F1",
    question_options=("alternatives", "normalizers", "schema"),
    no_prediction={},  # null would be left out of the mean
    depends_on_ties=True,
    source="run-llama/ExtractBench @ 0aa76ce, src/extract_bench/evaluation/metrics/extract/unified_evidence_metric.py, "
    "of one document: the leaderboard's mean was not run. Years of two digits are those from 1976 to 2075.",
)
