"""The content of a report: every number and text in it, bounded, and nothing about how it looks."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections import defaultdict
from typing import Any, NamedTuple, cast

import numpy as np

from anls_eval.analysis.accounting import FieldCounts, FieldReport, LeafFailure, counted_leaves, report_of_leaves
from anls_eval.analysis.causes import COMMON_THRESHOLDS
from anls_eval.analysis.confusions import Confusion, character_confusions
from anls_eval.analysis.diagnosis import compare_rules
from anls_eval.analysis.losses import LossClass, LossReport, loss_report
from anls_eval.analysis.side_by_side import Disagreement, ProtocolComparison
from anls_eval.analysis.thresholds import ThresholdSweep, sweep_measured
from anls_eval.arrow import Floats, as_list
from anls_eval.decisions.automation import (
    NEVER,
    Acceptance,
    confidences_of_questions,
    confidences_of_trees,
    halves_of_questions,
    halves_of_trees,
)
from anls_eval.decisions.automation import Confidences as KnownConfidences
from anls_eval.explanation.answers import AnswerComparison, compare_answer
from anls_eval.explanation.result import Match, lost_matches, walk_keys
from anls_eval.explanation.tree import explain_tree
from anls_eval.fields.fields import Fields
from anls_eval.report.system import System
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.statistics import (
    Calibration,
    Comparison,
    Interval,
    ReliabilityPoint,
    calibration,
    confidence_interval,
    minimum_detectable_difference,
    paired_comparison,
)
from anls_eval.statistics.groups import GroupDifference
from anls_eval.statistics.resampling import cluster_codes
from anls_eval.submission.score import Group, ScoredQuestions, SubmissionScore
from anls_eval.submission.systems import count_systems, differences_by_group, in_order_of
from anls_eval.submission.verdict import verdict
from anls_eval.text.measure import Measured, closest_answers, score_columns
from anls_eval.tree.accounting import CountedLeaves

BINS = 20  # of the scores between 0 and 1
MOST_GROUPS = 30
MOST_CONFUSIONS = 15
MOST_WORST = 20
MOST_DISAGREEMENTS = 5
MOST_DIFFERENCES = 8
MOST_DOCUMENTS = 10
MOST_LEAVES = 12
MOST_KEYS = 60
MOST_ROWS = 2_000
MAX_ERRORS = (0.01, 0.02, 0.05, 0.1)  # shares of accepted documents that may err
MOST_FOR_BENCHMARKS = 5_000  # documents: the edit distance of 1,000 receipts as trees takes 2 s
_FIRST, _SECOND = "first", "second"  # two systems, which can have the same name
_DIAGRAM_BINS = 15  # fewer than for the calibration error: bins of a handful of questions show noise


class Distribution(NamedTuple):
    """The numbers of questions by score."""

    zero: int  # scores of exactly 0
    between: int  # scores between 0 and 1
    one: int  # scores of exactly 1
    bins: tuple[int, ...]  # those between, in `BINS` bins of equal width


class GroupScore(NamedTuple):
    """The questions with one value of a column, and the interval of their mean score, if there is one."""

    value: str
    n: int
    score: float
    interval: Interval | None


class Breakdown(NamedTuple):
    """The score by the values of a column."""

    column: str
    groups: tuple[GroupScore, ...]  # the groups, at most `MOST_GROUPS`, the largest if there are more
    left_out: int  # how many groups are left out
    macro: GroupScore | None  # the mean over all groups, if there are any


class Answer(NamedTuple):
    """A prediction with its score and the expected answer."""

    score: float  # from 0 to 1
    loss: str | None  # the class of loss, if the protocol is of texts
    prediction: str | None  # the text, or JSON; None without a prediction
    expected: str  # the closest accepted answer, or the reference as JSON
    comparison: AnswerComparison | None = None  # of the two, if both are texts


class Question(NamedTuple):
    """A question with its answer, and that of another system if two are compared."""

    question_id: str
    answer: Answer
    other: Answer | None = None


class ProtocolMean(NamedTuple):
    """The score of the same predictions under another protocol, and its difference from the reported score."""

    name: str
    mean: float
    difference: float
    is_own: bool


class DisputedQuestion(NamedTuple):
    """A question on which protocols disagree: the scores, highest first, with the protocols that give them."""

    question_id: str
    prediction: str
    answers: tuple[str, ...]
    scores: tuple[tuple[float, tuple[str, ...]], ...]


class Protocols(NamedTuple):
    """The score of the same predictions under every protocol for their kind, and where they disagree."""

    means: tuple[ProtocolMean, ...]  # highest mean first
    disputed: tuple[DisputedQuestion, ...]  # where they disagree most; of texts, those that ignore case
    errors: tuple[tuple[str, str], ...]  # the protocols that have no score here, and why
    without_benchmarks: bool  # because there are many documents


class TextFindings(NamedTuple):
    """The findings for protocols for texts."""

    losses: tuple[LossClass, ...]  # the classes of loss that have questions
    points_lost: float  # the points that all questions lost
    # the most frequent confusions of characters, each with the ids of its examples
    confusions: tuple[tuple[Confusion, tuple[str, ...]], ...]
    confusions_left_out: int  # how many are left out
    sweep: ThresholdSweep  # the mean as a function of the threshold
    at_thresholds: tuple[tuple[float, float], ...]  # the mean at common thresholds
    worst: tuple[Question, ...]  # the questions that lost most; among equals, those closest to an answer first


class KeyScore(NamedTuple):
    """The mean score of a key over the documents in which it was compared."""

    path: str
    score: float
    documents: int


class Document(NamedTuple):
    """A document with its leaves that lost credit, the largest loss first."""

    question_id: str
    score: float  # from 0 to 1
    is_missing: bool  # whether there is no prediction
    lost: tuple[Match, ...]  # the leaves that did not get full credit, at most `MOST_LEAVES`
    left_out: int  # how many of these are left out
    leaves: int  # the number of all leaves


class FieldFinding(NamedTuple):
    """What became of the leaves of one field, and the failures that lost most, each with ids of its documents."""

    counts: FieldCounts
    worst: tuple[tuple[LeafFailure, tuple[str, ...]], ...]


class TreeFindings(NamedTuple):
    """The findings for protocols for trees: fields, keys, and the documents with the lowest scores below 1."""

    accounting: FieldReport
    fields: tuple[FieldFinding, ...]  # the most lost points first, at most `MOST_KEYS`
    fields_left_out: int

    keys: tuple[KeyScore, ...]
    keys_left_out: int
    worst: tuple[Document, ...]  # lowest score first; those without a prediction last, at most `MOST_DOCUMENTS`


class Confidences(NamedTuple):
    """Whether confidences match scores."""

    calibration: Calibration  # of the questions that have a confidence
    diagram: tuple[ReliabilityPoint, ...]  # the bins of the reliability diagram
    without: int  # questions without a confidence


class AutomationFinding(NamedTuple):
    """What can be accepted without a person, at each of `MAX_ERRORS`."""

    whole: tuple[Acceptance, ...]  # of questions, or documents of trees
    by_field: tuple[tuple[str, tuple[Acceptance, ...]], ...]  # of trees, by path, at most `MOST_KEYS`
    fields_left_out: int
    match_at: float  # minimum score of a question, or similarity of a leaf, that is right


class GroupDifferences(NamedTuple):
    """The differences between two systems on the groups of a column."""

    column: str
    groups: tuple[GroupDifference, ...]  # at most `MOST_GROUPS`, the largest if there are more
    left_out: int  # how many groups are left out


class Versus(NamedTuple):
    """Two systems on the same questions."""

    names: tuple[str, str]  # of the reported system and the other
    verdict: str  # which is better, by how much and where, in a sentence
    intervals: tuple[Interval, Interval]  # the scores of both, with their intervals
    comparison: Comparison  # of the first with the other
    is_significant: bool  # whether the p-value is at most 1 minus the level of the intervals
    detectable: float | None  # the minimum difference that these questions would detect between two such systems
    by: tuple[GroupDifferences, ...]  # for each column asked for
    losses: tuple[tuple[LossClass, LossClass], ...]  # the classes of loss of both, for texts
    better: tuple[Question, ...]  # questions on which the first gained most
    worse: tuple[Question, ...]  # questions on which the other gained most


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """The whole content of a report."""

    name: str
    date: datetime.date  # when it was made
    submission: SubmissionScore  # the score with what belongs to it
    detectable: float | None  # the minimum difference that these questions would detect between this system and another
    distribution: Distribution  # of the scores
    breakdowns: tuple[Breakdown, ...]  # one for each column asked for
    texts: TextFindings | None  # for protocols of texts
    trees: TreeFindings | None  # for protocols of trees
    protocols: Protocols | None  # None for a leaderboard
    confidences: Confidences | None  # if the predictions carry confidences
    automation: AutomationFinding | None  # the same
    versus: Versus | None  # if two systems are compared
    rows: tuple[Question, ...]  # the questions, lowest score first, at most `MOST_ROWS`
    rows_left_out: int  # how many are left out


def collect(system: System, other: System | None = None, *, date: datetime.date) -> Report:
    """Return the content of the report of a system, compared with another one on the same questions if there is one."""
    scored = system.scored
    ours = _Side(system, _texts(scored))
    theirs = None
    if other is not None:
        other = _aligned(other, system)
        theirs = _Side(other, _texts(other.scored))
    rows = np.argsort(scored.scores, kind="stable")[:MOST_ROWS].tolist()
    leaves = _leaves(system)
    known = _known_confidences(system)
    return Report(
        name=system.name,
        date=date,
        submission=scored.submission,
        detectable=minimum_detectable_difference(scored.submission.interval),
        distribution=_distribution(scored.scores),
        breakdowns=tuple(_breakdown(scored.submission, column) for column in scored.submission.by),
        texts=None if ours.texts is None else _text_findings(ours, ours.texts),
        trees=None if leaves is None else _tree_findings(system, leaves),
        protocols=_protocols(scored),
        confidences=None if known is None else _confidences(scored.scores, known.whole),
        automation=None if known is None else _automation(system, known, leaves),
        versus=None if theirs is None else _versus(ours, theirs),
        rows=tuple(_question(row, ours, theirs) for row in rows),
        rows_left_out=len(scored.scores) - len(rows),
    )


class _Texts(NamedTuple):
    """The texts of a system as they were measured, and its losses."""

    measured: Measured
    losses: LossReport


class _Side(NamedTuple):
    """A system, with its texts if its protocol is for texts."""

    system: System
    texts: _Texts | None


def _texts(scored: ScoredQuestions) -> _Texts | None:
    if scored.protocol is None or scored.protocol.tree:
        return None
    measured = scored.measured
    if measured is None:
        measured = score_columns(scored.predictions, scored.answers, scored.protocol, detailed=True).measured
        assert measured is not None  # noqa: S101 - it is detailed
    closest = closest_answers(scored.answers, measured)
    return _Texts(measured, loss_report(as_list(scored.predictions), closest, scored.scores, scored.protocol))


def _distribution(scores: Floats) -> Distribution:
    between = scores[(scores > 0) & (scores < 1)]
    bins = np.bincount((between * BINS).astype(np.int64), minlength=BINS)
    zero, one = (int(np.count_nonzero(scores == own)) for own in (0, 1))
    return Distribution(zero, len(between), one, tuple(bins.tolist()))


def _breakdown(submission: SubmissionScore, column: str) -> Breakdown:
    groups = submission.by[column]
    largest = sorted(groups, key=lambda value: (-groups[value].n, value))[:MOST_GROUPS]
    shown = tuple(_group(value, groups[value]) for value in sorted(largest))
    macro = None if column not in submission.macro else _group("mean over the groups", submission.macro[column])
    return Breakdown(column, shown, len(groups) - len(largest), macro)


def _group(value: str, group: Group) -> GroupScore:
    return GroupScore(value, group.n, group.score, group.interval)


def _known_confidences(system: System) -> KnownConfidences | None:
    """Return the confidences, if there are any."""
    scored = system.scored
    if system.confidences is None:
        return None
    if scored.submission.key_scores is None:
        known = confidences_of_questions(system.confidences, scored.question_ids)
    else:
        rules = (scored.fields or Fields({})).rules(cast("Protocol", scored.protocol))
        known = confidences_of_trees(as_list(scored.predictions), system.confidences, scored.question_ids, rules)
    return known if (known.whole != NEVER).any() else None


def _confidences(scores: Floats, known: Floats) -> Confidences:
    has = known != NEVER
    scores, confidences = scores[has], known[has]
    diagram = calibration(scores, confidences, bins=_DIAGRAM_BINS).reliability
    return Confidences(calibration(scores, confidences), diagram, int(np.count_nonzero(~has)))


def _automation(system: System, known: KnownConfidences, leaves: CountedLeaves | None) -> AutomationFinding:
    scored = system.scored
    if leaves is None:
        documents = scored.question_ids if system.clusters is None else system.clusters
        halves = halves_of_questions(known, scored.scores, system.match_at, documents)
    else:
        halves = halves_of_trees(known, leaves, scored.question_ids)
    fields = [(path, tuple(map(own.accept, MAX_ERRORS))) for path, own in list(halves.by_field.items())[:MOST_KEYS]]
    left_out = max(0, len(halves.by_field) - MOST_KEYS)
    return AutomationFinding(
        tuple(map(halves.whole.accept, MAX_ERRORS)), tuple(fields), left_out, float(system.match_at)
    )


def _question(row: int, ours: _Side, theirs: _Side | None, compared: bool = False) -> Question:
    other = None if theirs is None else _answer(row, theirs, compared)
    return Question(ours.system.scored.question_ids[row], _answer(row, ours, compared), other)


def _answer(row: int, side: _Side, compared: bool) -> Answer:
    """Return an answer; if asked for, compare it with the closest accepted one character by character."""
    scored, texts = side.system.scored, side.texts
    score = float(scored.scores[row])
    if texts is None:
        prediction = None if scored.is_missing[row] else _as_text(scored.predictions[row])
        return Answer(score, None, prediction, _as_text(scored.answers[row]))
    prediction, closest = texts.losses.predictions[row], texts.losses.closest_answers[row]
    expected = as_list(scored.answers[row : row + 1])[0][0] if closest is None else closest
    comparison = None
    if compared and prediction is not None:
        distance, length = int(texts.measured.distances[row]), int(texts.measured.lengths[row])
        comparison = compare_answer(prediction, expected, distance, length, texts.losses.protocol)
    return Answer(score, texts.losses.question_classes[row], prediction, expected, comparison)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_findings(side: _Side, texts: _Texts) -> TextFindings:
    losses, ids = texts.losses, side.system.scored.question_ids
    confusions = character_confusions(losses)
    sweep = sweep_measured(texts.measured, losses.protocol)
    return TextFindings(
        losses=tuple(own for own in losses.classes if own.count),
        points_lost=losses.points_lost,
        confusions=tuple((own, tuple(ids[row] for row in own.examples)) for own in confusions[:MOST_CONFUSIONS]),
        confusions_left_out=max(0, len(confusions) - MOST_CONFUSIONS),
        sweep=sweep,
        at_thresholds=tuple((own, sweep.mean(own)) for own in COMMON_THRESHOLDS),
        worst=tuple(_question(row, side, None, True) for row in _worst(texts.measured)),
    )


def _protocols(scored: ScoredQuestions) -> Protocols | None:
    own = scored.protocol
    if own is None:
        return None
    found = _side_by_side_of_documents(scored, own) if own.tree else _side_by_side_of_texts(scored, own)
    means, score = found.means, scored.submission.score
    is_own = scored.fields is None
    return Protocols(
        means=tuple(
            ProtocolMean(name, means[name], means[name] - score, is_own and name == _named(own).name)
            for name in sorted(means, key=lambda name: (-means[name], name))
        ),
        disputed=tuple(_disputed(question, scored.question_ids) for question in found.disagreements),
        errors=tuple(found.errors.items()),
        without_benchmarks=bool(own.tree) and len(scored.scores) > MOST_FOR_BENCHMARKS,
    )


def _named(own: Protocol) -> Protocol:
    """Return rules with a name that is not that of the protocol from which they were changed."""
    return own if PROTOCOLS.get(own.name) == own else dataclasses.replace(own, name=f"{own.name}-changed")


def _side_by_side_of_texts(scored: ScoredQuestions, own: Protocol) -> ProtocolComparison:
    rules = list(dict.fromkeys([*(each for each in PROTOCOLS.values() if not each.tree), _named(own)]))
    # Case-sensitive protocols disagree with the others wherever the case differs, which would hide everything else.
    caseless = [protocol for protocol in rules if {"lower", "upper"} & set(protocol.prediction_steps)]
    return compare_rules(scored.predictions, scored.answers, rules, caseless, MOST_DISAGREEMENTS)


def _side_by_side_of_documents(scored: ScoredQuestions, own: Protocol) -> ProtocolComparison:
    from anls_eval.analysis.document_protocols import compare_documents, document_rules  # which import all benchmarks

    is_large = len(scored.scores) > MOST_FOR_BENCHMARKS
    rules = [each for each in document_rules() if not is_large or isinstance(each, Protocol)]
    rules = list(dict.fromkeys([*rules, _named(own)]))
    return compare_documents(scored.predictions, scored.answers, rules, MOST_DISAGREEMENTS)


def _disputed(question: Disagreement, question_ids: list[str]) -> DisputedQuestion:
    names = defaultdict(list)
    for name, score in question.scores.items():
        names[score].append(name)
    scores = tuple((score, tuple(names[score])) for score in sorted(names, reverse=True))
    return DisputedQuestion(question_ids[question.row], question.prediction, question.answers, scores)


def _worst(measured: Measured) -> list[int]:
    """Return the questions that lost most; among equals, those closest to an answer first, then in their order."""
    scores, closest, distances, lengths, _ = measured
    lost = np.flatnonzero(scores < 1)
    similarities = np.where(closest < 0, 0, 1 - distances / np.maximum(lengths, 1))
    order = np.lexsort((lost, -similarities[lost], scores[lost]))
    worst: list[int] = lost[order][:MOST_WORST].tolist()
    return worst


def _leaves(system: System) -> CountedLeaves | None:
    """Count the leaves of trees."""
    scored = system.scored
    if scored.protocol is None or scored.submission.key_scores is None:
        return None
    fields = scored.fields or Fields({})
    return counted_leaves(
        scored.predictions, scored.answers, scored.protocol, fields, system.match_at, scored.question_ids
    )


def _tree_findings(system: System, leaves: CountedLeaves) -> TreeFindings:
    scored = system.scored
    nodes: dict[str, Any] = dict(scored.submission.key_scores or {})
    keys = [
        KeyScore(".".join(path), node["anls_score"], node["documents"])
        for path, node in walk_keys(nodes, lambda node: node["children"])
    ]
    by_score = np.lexsort((scored.scores, scored.is_missing))  # what has no prediction has nothing to show
    rows = [row for row in by_score.tolist() if scored.scores[row] < 1]
    assert scored.protocol is not None  # noqa: S101 - leaderboards have no keys
    fields_of = scored.fields or Fields({})
    accounting = report_of_leaves(
        leaves, len(scored.scores), scored.protocol, fields_of, system.match_at, seed=system.seed
    )
    fields = [row for row in accounting.by_field if row.right + row.wrong + row.missing + row.invented]
    return TreeFindings(
        accounting=accounting,
        fields=tuple(_field(row, scored.question_ids) for row in fields[:MOST_KEYS]),
        fields_left_out=max(0, len(fields) - MOST_KEYS),
        keys=tuple(keys[:MOST_KEYS]),
        keys_left_out=max(0, len(keys) - MOST_KEYS),
        worst=tuple(_document(scored, row) for row in rows[:MOST_DOCUMENTS]),
    )


def _field(counts: FieldCounts, question_ids: list[str]) -> FieldFinding:
    return FieldFinding(
        counts, tuple((own, tuple(question_ids[row] for row in own.rows)) for own in counts.worst if own.lost)
    )


def _document(scored: ScoredQuestions, row: int) -> Document:
    question_id, score = scored.question_ids[row], float(scored.scores[row])
    if scored.is_missing[row] or scored.protocol is None:
        return Document(question_id, score, True, (), 0, 0)
    matches = explain_tree(scored.predictions[row], scored.answers[row], scored.protocol, scored.fields).matches
    lost = lost_matches(matches)
    shown = tuple(lost[:MOST_LEAVES])
    return Document(question_id, score, False, shown, len(lost) - len(shown), len(matches))


def _aligned(other: System, system: System) -> System:
    """Return the other system with its questions in the order of the first."""
    ids, scored = system.scored.question_ids, other.scored
    if scored.protocol != system.scored.protocol or _rules(scored) != _rules(system.scored):
        raise ValueError(
            f"{system.name} and {other.name} were scored under different rules; expected one protocol for both:\n"
            f"{system.scored.submission.signature}\n{scored.submission.signature}"
        )
    places = {question_id: row for row, question_id in enumerate(scored.question_ids)}
    alone = [question_id for question_id in ids if question_id not in places]
    if alone or len(places) != len(ids):
        alone = alone or sorted(places.keys() - set(ids))
        raise ValueError(
            f"{system.name} has {len(ids)} questions and {other.name} has {len(places)}, and question_id {alone[0]!r} "
            "is in only one of them; expected both scored on the same references"
        )
    return dataclasses.replace(other, scored=in_order_of(scored, system.scored))


def _rules(scored: ScoredQuestions) -> str:
    """Return the rules in the signature, which are all that is known of those of a leaderboard."""
    return scored.submission.signature.partition("|aggregate")[0]


def _versus(ours: _Side, theirs: _Side) -> Versus:
    own, other = ours.system.scored, theirs.system.scored
    clusters, seed = ours.system.clusters, ours.system.seed
    codes = None if clusters is None else cluster_codes(clusters, len(clusters))
    counted = count_systems({_FIRST: own, _SECOND: other}, codes)
    if counted is None:
        comparison = paired_comparison(own.scores, other.scores, clusters=clusters, seed=seed)
        interval = confidence_interval(other.scores, clusters=clusters, seed=seed)
    else:
        comparison, interval = counted.compare(_FIRST, _SECOND, seed), counted.interval(_SECOND, seed)
    better, worse = (
        [row for row in np.argsort(-gains, kind="stable").tolist()[:MOST_DIFFERENCES] if gains[row] > 0]
        for gains in (own.scores - other.scores, other.scores - own.scores)
    )
    losses: list[tuple[LossClass, LossClass]] = []
    if ours.texts is not None and theirs.texts is not None:
        both = zip(ours.texts.losses.classes, theirs.texts.losses.classes, strict=True)
        losses = [pair for pair in both if pair[0].count or pair[1].count]
    names = ours.system.name, theirs.system.name
    by = {
        column: differences_by_group(
            {_FIRST: own.scores, _SECOND: other.scores}, own.columns[column], codes, seed, counted
        )
        for column in own.submission.by
    }
    return Versus(
        names=names,
        verdict=verdict(names, comparison, by),
        intervals=(own.submission.interval, interval),
        comparison=comparison,
        is_significant=comparison.p_value <= 1 - comparison.interval.level,
        detectable=minimum_detectable_difference(comparison),
        by=tuple(_largest(column, differences) for column, differences in by.items()),
        losses=tuple(losses),
        better=tuple(_question(row, ours, theirs, True) for row in better),
        worse=tuple(_question(row, ours, theirs, True) for row in worse),
    )


def _largest(column: str, found: list[GroupDifference]) -> GroupDifferences:
    largest = sorted(found, key=lambda own: (-own.n, own.group))[:MOST_GROUPS]
    return GroupDifferences(column, tuple(own for own in found if own in largest), len(found) - len(largest))
