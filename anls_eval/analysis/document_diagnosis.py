"""Where a number reported of documents comes from: among protocols and benchmarks, and common deviations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np

from anls_eval.analysis.causes import (
    CLOSEST,
    COMMON_THRESHOLDS,
    Cause,
    Diagnosis,
    conclusion_of,
    reading_words,
    readings,
    worth_showing,
)
from anls_eval.analysis.document_protocols import (
    DocumentRules,
    Documents,
    document_rules,
    read_documents,
    score_documents,
)
from anls_eval.extract.marks import MARK_STEPS
from anls_eval.extract.steps import EXTRACT_WORDS, JSON_STEP, extracted
from anls_eval.fields.fields import Fields
from anls_eval.fields.paths import AnyStep, FieldPath, path_text
from anls_eval.inputs.values import is_missing_value
from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.table import get_scored_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.statistics.tally import Tally
from anls_eval.structure import structure_in

_MOST_HABITS = 2  # with more, something gives almost any number
_KEYS = {
    "missing ignored": "what the predictions lack is not counted",
    "unexpected ignored": "what the references lack is not counted",
}
_STEPS = ((JSON_STEP,), *((name, JSON_STEP) for name in MARK_STEPS))
_IN_ORDER = "the elements of lists are compared one by one, in their order"


class _Way(NamedTuple):
    """What can be done differently, whatever the protocol; the fields are those of `Cause`."""

    scoring: str = "similarity"
    left_out: tuple[str, ...] = ()
    lists: str = "any order"
    keys: str = "all"
    parse: bool = False
    extract: tuple[str, ...] = ()


class _Result(NamedTuple):
    """What a protocol, or one figure of a benchmark, gives in a way, from 0 to 1."""

    rules: DocumentRules
    figure: str
    way: _Way
    changed: str  # what the way changes, in words
    habits: int
    n: int
    value: float


class _Candidate(NamedTuple):
    result: _Result
    scale: int
    rounding: str
    habits: int
    value: float  # on the scale

    def read_as(self) -> tuple[float, int, str, int]:
        return self.value, self.scale, self.rounding, self.habits


def diagnose_documents(predictions: Any, references: Any, reported: float, decimals: int) -> Diagnosis:
    """Find how a score of documents, known to some decimals, may have been computed."""
    documents = read_documents(predictions, references)
    results = list(_results(documents))
    candidates = [
        _Candidate(own, scale, rounding, own.habits + habits, own.value * scale)
        for own, (scale, rounding, habits) in itertools.product(results, readings(reported))
        if own.habits + habits <= _MOST_HABITS
    ]
    shown, fits = worth_showing(candidates, _Candidate.read_as, reported, decimals)
    groups = itertools.islice(_grouped(shown), None if fits else CLOSEST)
    causes = tuple(_cause(group, reported, decimals, fits) for group in groups)
    return Diagnosis(
        reported=reported,
        decimals=decimals,
        n=len(documents[0]),
        standard=results[0].value,
        tried=len(candidates),
        fits=fits,
        causes=causes,
        conclusion=conclusion_of(causes, len(candidates), reported, decimals),
        of_documents=True,
    )


def _results(documents: Documents) -> Iterator[_Result]:
    """Yield every result, that of ANLS* first."""
    in_order = _in_kept_order(documents)
    for way, changed, habits, own in _prepared(documents):
        for rules in document_rules():
            yield from _figures(own, rules, None, way, changed, habits)
        for rules in (each for each in PROTOCOLS.values() if each.tree):
            if in_order:
                kept = [*changed, _IN_ORDER]
                yield from _figures(own, rules, in_order, way._replace(lists="kept order"), kept, habits + 1)
            if not habits:
                yield from _other_thresholds(own, rules, in_order)


def _figures(
    documents: Documents, rules: DocumentRules, fields: Fields | None, way: _Way, changed: list[str], habits: int
) -> Iterator[_Result]:
    """Yield what a protocol or a benchmark reports, if it reports anything."""
    found = score_documents(documents, rules, fields)
    n = len(documents[0])
    for place, (name, value) in enumerate(found.figures.items()):
        if value is not None and 0 <= value <= 1:
            figure = name if place else ""
            yield _Result(rules, figure, way, "; ".join(changed), habits + bool(place), n, value)
    if isinstance(rules, Protocol):
        whole = [*changed, "it is the share of the documents with a score of 1"]
        share = float(np.count_nonzero(found.scores == 1) / n)
        yield _Result(rules, "", way._replace(scoring="whole documents"), "; ".join(whole), habits + 1, n, share)


def _other_thresholds(documents: Documents, rules: Protocol, in_order: Fields | None) -> Iterator[_Result]:
    for threshold, fields in itertools.product((*COMMON_THRESHOLDS, 1), (None, in_order) if in_order else (None,)):
        limit = rules.with_threshold(threshold)
        if limit.exact_threshold == rules.exact_threshold:
            continue
        way = _Way(lists="kept order" if fields else "any order")
        if threshold == 1:
            way, words = way._replace(scoring="exact match"), "only equal leaves score"
        else:
            words = f"the threshold is {threshold} instead of the protocol's"
        changed = [words, *([_IN_ORDER] if fields else [])]
        mean = Tally.of(score_documents(documents, limit, fields).scores).mean
        yield _Result(limit, "", way, "; ".join(changed), 1 + bool(fields), len(documents[0]), mean)


def _prepared(documents: Documents) -> Iterator[tuple[_Way, list[str], int, Documents]]:
    """Yield the documents as they are, and changed in each way that changes them, with its words and habits."""
    predictions, references = documents
    n = len(predictions)
    yield _Way(), [], 0, documents
    given = [row for row, own in enumerate(predictions) if not is_missing_value(own)]
    if 0 < len(given) < n:
        words = f"the documents without a prediction, {n - len(given)} of {n}, are left out instead of scoring 0"
        left = [predictions[row] for row in given], [references[row] for row in given]
        yield _Way(left_out=("missing",)), [words], 1, left
    pruned = [_pruned(own, other) for own, other in zip(references, predictions, strict=True)]
    if pruned != references:
        yield _Way(keys="missing ignored"), [_KEYS["missing ignored"]], 1, (predictions, pruned)
    pruned = [_pruned(own, other) for own, other in zip(predictions, references, strict=True)]
    if pruned != predictions:
        yield _Way(keys="unexpected ignored"), [_KEYS["unexpected ignored"]], 1, (pruned, references)
    seen = [predictions]
    parsed = [_parsed(own) for own in predictions]
    if parsed not in seen:
        seen.append(parsed)
        yield _Way(parse=True), ["predictions that print a document are read as documents"], 1, (parsed, references)
    for names in _STEPS:
        own = [extracted(each, names) for each in predictions]
        if own not in seen:
            seen.append(own)
            changed = sum(new != old for new, old in zip(own, predictions, strict=True))
            how = ", then ".join(EXTRACT_WORDS[name] for name in names)
            words = f"extract {','.join(names)} takes the document out of {changed:,} of {n:,} predictions first: {how}"
            yield _Way(extract=names), [words], len(names), (own, references)


def _parsed(prediction: Any) -> Any:
    found = structure_in(prediction) if isinstance(prediction, str) else None
    return prediction if found is None else found


def _pruned(tree: Any, other: Any) -> Any:
    """Return a tree without the keys that the other one lacks at the same place, or anywhere in the list there."""
    if isinstance(tree, Mapping) and isinstance(other, Mapping):
        return {key: _pruned(own, other[key]) for key, own in tree.items() if key in other}
    if isinstance(tree, list) and isinstance(other, list):
        elements: dict[Any, Any] = {}
        for own in other:
            elements |= own if isinstance(own, Mapping) else {}
        return [_pruned(own, elements) if elements else own for own in tree]
    return tree


def _in_kept_order(documents: Documents) -> Fields | None:
    """Return fields that keep the order of every list; None if there is no list."""
    paths: set[FieldPath] = set()
    waiting: list[tuple[Any, FieldPath]] = [(own, ()) for side in documents for own in side]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(own, (*path, key)) for key, own in value.items() if isinstance(key, str)]
        elif isinstance(value, list):
            paths.add(path)
            waiting += [(own, (*path, AnyStep.ELEMENT)) for own in value]
    return Fields({path_text(path): {"order": "kept"} for path in paths}, from_schema=True) if paths else None


def _grouped(candidates: list[_Candidate]) -> Iterator[list[_Candidate]]:
    """Group protocols that give the same value in the same way; a habit that changes no value does not count."""
    fewest: dict[float, int] = {}
    groups: dict[tuple[object, ...], list[_Candidate]] = {}
    for own in candidates:
        if own.habits <= fewest.setdefault(own.value, own.habits):
            rules = own.result.rules
            threshold = None if rules == get_scored_rules(rules.name) else _threshold(rules)
            groups.setdefault((own.value, own.result.way, own.scale, own.rounding, threshold), []).append(own)
    yield from groups.values()


def _threshold(rules: DocumentRules) -> float | Fraction | Decimal:
    return 0.0 if isinstance(rules, Benchmark) else cast(float, rules.threshold)  # or a fraction


def _cause(group: list[_Candidate], reported: float, decimals: int, fits: bool) -> Cause:
    first, *others = group
    rules, way = first.result.rules, first.result.way
    name = f"the protocol is {rules.name}"
    if isinstance(rules, Benchmark):
        name += f", its figure {first.result.figure}" if first.result.figure else f", {rules.reports}"
    conditions = [
        name,
        *filter(None, [first.result.changed]),
        *reading_words(first.scale, first.rounding, reported, decimals),
    ]
    return Cause(
        protocol=rules.name,
        also=tuple(dict.fromkeys(own.result.rules.name for own in others if own.result.rules.name != rules.name)),
        keep=">=" if isinstance(rules, Benchmark) else rules.keep,
        threshold=_threshold(rules),
        answers="all",
        scale=first.scale,
        rounding=first.rounding,
        n=first.result.n,
        value=first.value,
        difference=first.value - reported,
        fits=fits,
        habits=first.habits,
        reason=f"It is {first.value:.{min(decimals + 2, 15)}f} if {'; '.join(conditions)}.",
        figure=first.result.figure,
        **way._asdict(),
    )
