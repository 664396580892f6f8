"""How much can be accepted without a person looking at it: by confidence, with a bound on the errors among it."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anls_eval.analysis.accounting import counted_leaves
from anls_eval.arrow import as_list
from anls_eval.errors import AnlsError, short_repr
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.fields.rules import FieldRules
from anls_eval.inputs.columns import check_same_length, read_column, read_for_each, read_ids
from anls_eval.inputs.values import is_missing_text, is_missing_value
from anls_eval.registry import read_fields, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, Threshold, read_threshold
from anls_eval.scoring import anls_scores
from anls_eval.statistics.bounds import allowed_errors, binomial_upper_bound, questions_for_bound
from anls_eval.statistics.intervals import LEVEL
from anls_eval.statistics.resampling import Floats, Integers, is_nameless
from anls_eval.structure import structure_in
from anls_eval.tree.accounting import INVENTED_LEAF, MISSING_LEAF, WRONG, CountedLeaves
from anls_eval.tree.nodes import DICT, path_part
from anls_eval.types import Extract, Tree

CURVE_POINTS = 200

NEVER = -1.0  # a confidence below every threshold
_NO_CONFIDENCE = -1.0  # what DUDE writes where a system gives none

Bools = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class SharePoint:
    """What a threshold would do on all questions, without a bound.

    Attributes:
        threshold: The lowest confidence that is accepted.
        share: Share of the questions that are accepted.
        error: Share of the documents with an accepted question that err in one.
    """

    threshold: float
    share: float
    error: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Acceptance:
    """What can be accepted. The threshold was chosen on one half of the documents; all else is about the other half.

    Attributes:
        threshold: The lowest confidence that is accepted; None if there are too few documents to choose one.
        share: Share of the questions that are accepted.
        accepted: Number of documents with an accepted question.
        errors: Number of them that err in one.
        bound: Upper bound of the share of such documents that err, with 95 % confidence (Clopper and Pearson).
        is_shown: Whether the bound is at most the error that is allowed.
        needed: With how many accepted documents it would be shown at the error rate of both halves; None if with none.
        curve: Share and error by threshold on all documents, at most 200 points, by increasing share.
    """

    threshold: float | None
    share: float
    accepted: int
    errors: int
    bound: float
    is_shown: bool
    needed: int | None
    curve: tuple[SharePoint, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Automation:
    """What can be accepted without a person.

    Attributes:
        whole: Whole questions, or whole documents of trees.
        by_field: The fields of trees, by path, each for itself; empty for texts.
        max_error: The share of accepted documents that may err.
        match_at: Minimum score, or similarity of a leaf, that is right.
        n: Number of questions, or of trees.
        without_confidence: Number of them without a confidence, which are never accepted.
        signature: The line that `anls_eval.signature` returns.
    """

    whole: Acceptance
    by_field: dict[str, Acceptance]
    max_error: float
    match_at: float
    n: int
    without_confidence: int
    signature: str

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        return dataclasses.asdict(self)


def automate(
    predictions: Sequence[Tree],
    references: Sequence[Tree],
    confidences: Sequence[object],
    *,
    max_error: float,
    match_at: Threshold = 1,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
    documents: Sequence[str] | None = None,
    question_ids: Sequence[str] | None = None,
) -> Automation:
    """Find the largest share that can be accepted by a threshold on the confidence, so that at most `max_error` err.

    The documents are split in halves by a hash of their names. The threshold is chosen on one half, where it promises
    the largest share times the probability that the bound will hold; the share and the bound come from the other half,
    so that the choice does not make them too good. The bound is the one-sided one of Clopper and Pearson (The Use of
    Confidence or Fiducial Limits Illustrated in the Case of the Binomial, 1934). Its unit is the document, since
    questions about one document fail together: it errs if any of its accepted questions does. Questions of equal
    confidence are accepted together.

    A tree is one document, with the lowest confidence of its leaves, and errs if any leaf is wrong, missing or
    invented. For each field, only the leaves of this path that were predicted count.

    Args:
        predictions: n predictions: texts, or trees for a protocol of trees.
        references: n lists of accepted answers, or n trees.
        confidences: n numbers in [0, 1], or for trees also trees of the shape of the prediction; None where there is
            none, which is never accepted.
        max_error: The share of accepted documents that may err, in (0, 1).
        match_at: Minimum score of a question, or similarity of a leaf, that is right, from 0 to 1.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, as in `anls_scores`.
        fields: For trees, how their parts are compared, as in `anls_star_scores`.
        documents: The document of each question, for texts. Defaults to one for each question.
        question_ids: Names of the questions, from which the halves are made where there are no documents. Defaults to
            the numbers of the rows.

    Raises:
        ValueError: As for `anls_scores` or `field_report`; a confidence is outside [0, 1] or of another shape than its
            prediction; or an option is out of range.

    Example:
        >>> right = [row % 10 != 0 for row in range(2000)]
        >>> predictions = ["Lima" if own else "Rome" for own in right]
        >>> confidences = [0.9 if own else 0.5 for own in right]
        >>> found = automate(predictions, [["Lima"]] * 2000, confidences, max_error=0.01)
        >>> found.whole.threshold, round(found.whole.share, 2), found.whole.errors, found.whole.is_shown
        (0.9, 0.9, 0, True)
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)
    least = read_threshold(match_at, "match_at")
    given, expected = as_list(read_column(predictions, "predictions")), as_list(read_column(references, "references"))
    check_same_length(given, expected, "references")
    n = len(given)
    confidences = read_for_each(confidences, "confidences", n)
    ids = read_ids(question_ids, n)
    names = ids if documents is None else _document_names(read_for_each(documents, "documents", n))
    line = signature(rules, n=n, fields=resolved)
    if rules.tree:
        given = list(map(rules.extracted, given)) if rules.extract else given
        return automate_trees(given, expected, confidences, rules, resolved, max_error, least, ids, line)
    scores = anls_scores(given, expected, protocol=rules)
    return automate_scores(scores, confidences, max_error, least, names, line, ids)


def _document_names(given: list[Any]) -> list[str]:
    """Return the names of documents; questions without one are not one document."""
    for row, own in enumerate(given):
        if is_nameless(own):
            raise AnlsError(
                f"there is no document in row {row}; expected that of each question. To make a question without one a "
                "document by itself, use its question_id as the name",
                where="documents",
            )
    return list(map(str, given))


def automate_scores(
    scores: Floats,
    confidences: Sequence[Any],
    max_error: float,
    least: Fraction,
    documents: Sequence[str],
    line: str,
    question_ids: Sequence[str],
) -> Automation:
    """Return what can be accepted of questions with these scores."""
    check_max_error(max_error)
    known = confidences_of_questions(confidences, question_ids)
    return _automation(known, halves_of_questions(known, scores, least, documents), max_error, least, line)


def automate_trees(
    given: Sequence[Any],
    expected: Sequence[Any],
    confidences: Sequence[Any],
    rules: Protocol,
    fields: Fields | None,
    max_error: float,
    least: Fraction,
    question_ids: Sequence[str],
    line: str,
) -> Automation:
    """Return what can be accepted of trees, and of each of their fields."""
    check_max_error(max_error)
    fields = fields or Fields({})
    known = confidences_of_trees(given, confidences, question_ids, fields.rules(rules))
    leaves = counted_leaves(given, expected, rules, fields, least, question_ids)
    return _automation(known, halves_of_trees(known, leaves, question_ids), max_error, least, line)


def _automation(known: Confidences, halves: AllHalves, max_error: float, least: Fraction, line: str) -> Automation:
    return Automation(
        whole=halves.whole.accept(max_error),
        by_field={path: own.accept(max_error) for path, own in halves.by_field.items()},
        max_error=max_error,
        match_at=float(least),
        n=len(known.whole),
        without_confidence=int(np.count_nonzero(known.whole == NEVER)),
        signature=line,
    )


class Confidences(NamedTuple):
    """The confidences of questions or trees."""

    whole: Floats  # shape (n,), the lowest of each tree; NEVER where there is none
    by_path: dict[str, dict[int, float]]  # of trees, for each field the lowest in each tree that predicts it, by row


class AllHalves(NamedTuple):
    """Questions or trees, and the fields of trees by path, each split in halves."""

    whole: Halves
    by_field: dict[str, Halves]


def confidences_of_questions(values: Sequence[Any], question_ids: Sequence[str]) -> Confidences:
    """Return the confidences of questions, each of which is a number or None."""
    numbers = [_number(own, question_id) for own, question_id in zip(values, question_ids, strict=True)]
    return Confidences(np.array(numbers, dtype=np.float64), {})


def confidences_of_trees(
    given: Sequence[Any], values: Sequence[Any], question_ids: Sequence[str], root: FieldRules
) -> Confidences:
    """Return the confidences of trees, each of which is a number, a tree or None, without fields that are ignored."""
    by_path: dict[str, dict[int, float]] = {}
    whole = np.full(len(given), NEVER)
    for row, (prediction, own) in enumerate(zip(given, values, strict=True)):
        leaves = list(_leaf_confidences(prediction, own, question_ids[row], root))
        for path, confidence in leaves:
            rows = by_path.setdefault(path, {})
            rows[row] = min(rows.get(row, 1.0), confidence)
        whole[row] = min((confidence for _, confidence in leaves), default=_number_or_never(own, question_ids[row]))
    return Confidences(whole, dict(sorted(by_path.items())))


def halves_of_questions(known: Confidences, scores: Floats, least: Fraction, documents: Sequence[str]) -> AllHalves:
    """Split questions with these scores, which err below the least one."""
    return AllHalves(Halves.of(known.whole, scores < float(least), documents), {})


def halves_of_trees(known: Confidences, leaves: CountedLeaves, question_ids: Sequence[str]) -> AllHalves:
    """Split trees, which err if any leaf does, and their fields, of which only predicted leaves count."""
    errs = np.zeros(len(known.whole), dtype=bool)
    errs[leaves.rows[np.isin(leaves.outcomes, (WRONG, MISSING_LEAF, INVENTED_LEAF))]] = True
    is_wrong = np.isin(leaves.outcomes, (WRONG, INVENTED_LEAF))
    numbers = {path: number for number, path in enumerate(leaves.paths)}
    by_field = {}
    for path, lowest in known.by_path.items():
        rows = np.array(list(lowest), np.int64)
        own_errs = np.isin(rows, leaves.rows[is_wrong & (leaves.places == numbers.get(path, -1))])
        names = [question_ids[row] for row in lowest]
        by_field[path] = Halves.of(np.array(list(lowest.values())), own_errs, names)
    return AllHalves(Halves.of(known.whole, errs, question_ids), by_field)


def read_confidences(column: Sequence[Sequence[str] | None], of_trees: bool) -> list[Any]:
    """Return the confidences in a column; of several of one question the first counts, as in DUDE."""
    return [read_confidence(values[: None if of_trees else 1]) if values else None for values in column]


def read_confidence(values: Sequence[str]) -> Any:
    """Return the confidence in a column: a number or tree as it was printed, or None."""
    found = [_read_value(text) for text in values]
    return None if not found else found[0] if len(found) == 1 else found


def _read_value(text: str) -> Any:
    if is_missing_text(text):
        return None
    try:
        value = float(text)
    except ValueError:
        found = structure_in(text)
        return text if found is None else found
    return value


def check_max_error(max_error: float) -> None:
    """Refuse a share of errors that is not between 0 and 1."""
    if not isinstance(max_error, numbers.Real) or not 0 < max_error < 1:
        raise AnlsError("expected a number between 0 and 1, such as 0.01", option="max_error", value=max_error)


def _number(value: Any, question_id: str, path: str = "") -> float:
    """Return a confidence, or `NEVER` where there is none."""
    if is_missing_value(value):
        return NEVER
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if is_number and value == _NO_CONFIDENCE:
        return NEVER
    if not (is_number and 0 <= value <= 1):
        where = f" at {path}" if path else ""
        raise AnlsError(
            f"the confidence of question_id {question_id!r}{where} is {short_repr(value)}; expected a number from 0 to "
            "1, or None (in a file, null or an empty cell) if there is none"
        )
    return float(value)


def _number_or_never(value: Any, question_id: str) -> float:
    return NEVER if _kind(value) else _number(value, question_id)


def _leaf_confidences(
    prediction: Any, confidence: Any, question_id: str, root: FieldRules
) -> Iterator[tuple[str, float]]:
    """Yield the path and confidence of each leaf of a prediction that counts; a number is that of all leaves below."""
    stack = [(prediction, confidence, "$", "$", root)]
    while stack:
        value, own, path, where, rules = stack.pop()
        if rules.ignore:
            continue
        kind = _kind(own)
        if not kind:
            sure = _number(own, question_id, where)
        elif kind != _kind(value) or (kind == "list" and len(own) != len(value)):
            raise _other_shape(question_id, where)
        if not _kind(value):
            if not is_missing_value(value) and value != "":
                yield path, sure
            continue
        below = []
        for key in value if _kind(value) == "dict" else range(len(value)):
            step, at = ("[*]", f"[{key}]") if _kind(value) == "list" else (path_part(key, DICT),) * 2
            if kind == "dict" and key not in own and not is_missing_value(value[key]):
                raise _other_shape(question_id, where + at)
            inner = own.get(key) if kind == "dict" else own[key] if kind else own
            place = rules.child(str(key)) if _kind(value) == "dict" else rules.element()
            below.append((value[key], inner, path + step, where + at, place))
        stack += reversed(below)


def _kind(value: Any) -> str:
    """Return whether a value is a dict or a list; empty for a leaf."""
    return "dict" if isinstance(value, Mapping) else "list" if isinstance(value, (list, tuple)) else ""


def _other_shape(question_id: str, where: str) -> AnlsError:
    return AnlsError(
        f"the confidence of question_id {question_id!r} has another shape than its prediction at {where}; expected a "
        "number for each leaf, or one for the document"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Half:
    """Some documents, prepared for the counts at any threshold."""

    confidences: Floats  # of the questions, sorted
    highest: Floats  # the highest confidence of each document, sorted
    failing: Floats  # the highest confidence of an error in each document that has one, sorted

    @classmethod
    def of(cls, confidences: Floats, errs: Bools, codes: Integers) -> _Half:
        """Prepare questions, whose documents are numbered."""
        number = int(codes.max()) + 1 if len(codes) else 0
        highest, failing = np.full(number, NEVER), np.full(number, NEVER)
        np.maximum.at(highest, codes, confidences)
        np.maximum.at(failing, codes[errs], confidences[errs])
        return cls(np.sort(confidences), np.sort(highest), np.sort(failing))

    def counts(self, thresholds: Floats) -> tuple[Floats, Integers, Integers]:
        """Return the share of the questions, the documents and the erring documents at each threshold."""
        questions, documents, errors = (
            len(own) - np.searchsorted(own, thresholds) for own in (self.confidences, self.highest, self.failing)
        )
        return questions / max(len(self.confidences), 1), documents, errors


@dataclasses.dataclass(frozen=True, eq=False)
class Halves:
    """Questions with their confidences and errors, split in halves by document."""

    whole: _Half
    first: _Half
    second: _Half

    @classmethod
    def of(cls, confidences: Floats, errs: Bools, documents: Sequence[str]) -> Halves:
        """Split questions by a hash of the names of their documents."""
        names, codes = np.unique(np.array(list(map(str, documents)), dtype=object), return_inverse=True)
        digests = [hashlib.sha256(name.encode(errors="surrogatepass")).digest() for name in names]
        is_second = np.array([digest[0] & 1 for digest in digests], bool)
        second = is_second[codes] if len(codes) else np.zeros(0, dtype=bool)
        parts = (_half(confidences, errs, codes, own) for own in (~second, second))
        return cls(_Half.of(confidences, errs, codes), *parts)

    def accept(self, max_error: float) -> Acceptance:
        """Choose the threshold on one half, and count on the other."""
        threshold = _chosen(self.first, len(self.second.highest), max_error)
        curve = _curve(self.whole)
        if threshold is None:
            needed = questions_for_bound(0.0, max_error, LEVEL)
            return Acceptance(
                threshold=None, share=0.0, accepted=0, errors=0, bound=1.0, is_shown=False, needed=needed, curve=curve
            )
        at = np.array([threshold])
        [share], [accepted], [errors] = (own.tolist() for own in self.second.counts(at))
        bound = float(binomial_upper_bound(errors, accepted, LEVEL))
        _, [all_accepted], [all_errors] = (own.tolist() for own in self.whole.counts(at))
        return Acceptance(
            threshold=threshold,
            share=share,
            accepted=accepted,
            errors=errors,
            bound=bound,
            is_shown=bound <= max_error,
            needed=questions_for_bound(all_errors / all_accepted, max_error, LEVEL),
            curve=curve,
        )


def _half(confidences: Floats, errs: Bools, codes: Integers, own: Bools) -> _Half:
    renumbered = np.unique(codes[own], return_inverse=True)[1]
    return _Half.of(confidences[own], errs[own], renumbered)


def _chosen(first: _Half, others: int, max_error: float) -> float | None:
    """Return the threshold with the largest share times the probability that the other half shows it; None if 0."""
    from scipy.special import bdtr

    thresholds = np.unique(first.confidences[first.confidences >= 0])
    if not len(thresholds):
        return None
    shares, accepted, errors = first.counts(thresholds)
    expected = np.round(accepted * (others / len(first.highest))).astype(np.int64)
    allowed = allowed_errors(expected, max_error, LEVEL)
    # With k errors among n, the rate is taken as that of Jeffreys' prior.
    passes = np.where(allowed >= 0, bdtr(np.maximum(allowed, 0), expected, (errors + 0.5) / (accepted + 1)), 0.0)
    best = int(np.argmax(shares * passes))
    return float(thresholds[best]) if passes[best] > 0 else None


def _curve(whole: _Half) -> tuple[SharePoint, ...]:
    thresholds = np.unique(whole.confidences[whole.confidences >= 0])[::-1]
    if not len(thresholds):
        return ()
    shown = np.unique(np.linspace(0, len(thresholds) - 1, min(CURVE_POINTS, len(thresholds))).round().astype(int))
    shares, accepted, errors = whole.counts(thresholds[shown])
    rates = errors / accepted
    found = zip(thresholds[shown].tolist(), shares.tolist(), rates.tolist(), strict=True)
    return tuple(SharePoint(*point) for point in found if not math.isnan(point[2]))
