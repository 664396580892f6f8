"""Which references to look at: several systems agree against them, they contradict one another, or look damaged."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from anls_eval.arrow import as_list
from anls_eval.decisions.damage import damage_in, variants_in
from anls_eval.errors import AnlsError, located, short_repr
from anls_eval.explanation.result import Match
from anls_eval.explanation.tree import ExplainedTree
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.inputs.columns import check_same_length, each_answers, each_prediction, read_column, read_ids
from anls_eval.registry import read_fields, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.rules.steps import apply_steps
from anls_eval.scoring import anls_star_score
from anls_eval.statistics.resampling import Floats
from anls_eval.submission.systems import ScoredSystems, in_order_of
from anls_eval.text.measure import score_columns
from anls_eval.types import Extract, Tree

Kind = Literal["agreement", "other answers", "damage", "variants"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Suspicion:
    """A reference to look at.

    Attributes:
        row: The row of the question or document.
        question_id: Its id.
        path: For trees, the path of the leaf; empty for texts.
        kind: ``"agreement"`` of systems that lose points, ``"other answers"`` to the same question, ``"damage"``, or
            ``"variants"`` that differ only in case or whitespace.
        evidence: One sentence.
        accepted: The accepted answers.
        proposed: What would be accepted, too; empty if that is not known.
        given: What each system answers, by name.
        gains: The points that each system would gain if `proposed` were accepted, by name, each in [0, 1].
    """

    row: int
    question_id: str
    path: str
    kind: Kind
    evidence: str
    accepted: tuple[str, ...]
    proposed: tuple[str, ...]
    given: dict[str, str | None]
    gains: dict[str, float]

    @property
    def cost(self) -> float:
        """The points of all systems together."""
        return math.fsum(self.gains.values())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audit:
    """References to look at.

    Attributes:
        suspicions: The most costly first.
        scores: The score of each system, by name.
        bounds: Its upper bound if all that is proposed were accepted. Not a corrected score: nobody looked yet.
        agree: How many systems must agree.
        n: Number of questions or documents.
        signature: The line that `anls_eval.signature` returns.
    """

    suspicions: tuple[Suspicion, ...]
    scores: dict[str, float]
    bounds: dict[str, float]
    agree: int
    n: int
    signature: str

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        found = dataclasses.asdict(self)
        for row, own in zip(found["suspicions"], self.suspicions, strict=True):
            row["cost"] = own.cost
        return found


class _Found(NamedTuple):
    """A suspicion before its costs are known."""

    row: int
    path: str
    kind: Kind
    evidence: str
    proposed: tuple[str, ...]


def audit(
    predictions: Mapping[str, Sequence[Tree]],
    references: Sequence[Tree],
    *,
    agree: int | None = None,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
    questions: Sequence[str | None] | None = None,
    documents: Sequence[str | None] | None = None,
    question_ids: Sequence[str] | None = None,
) -> Audit:
    """Find references to look at, the most costly first.

    At least `agree` systems give the same answer, after the steps of the protocol, and lose points with it; the same
    question about the same document has other accepted answers elsewhere; or an accepted answer looks damaged: a
    printed list, UTF-8 read as Windows-1252, control characters, markup, or variants that differ only in case or
    whitespace. For trees, the leaves are compared and looked at. Systems can be wrong together: it takes a person to
    say whether the reference is.

    Args:
        predictions: n predictions of each system, by its name.
        references: n lists of accepted answers, or n trees.
        agree: How many systems must agree, at least 2. Defaults to more than half of them.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, as in `anls_scores`.
        fields: For trees, how their parts are compared, as in `anls_star_scores`.
        questions: n questions as they were asked, to find the same question twice.
        documents: The document of each question, without which the same question is not looked for.
        question_ids: n names of the questions. Defaults to the numbers of the rows.

    Raises:
        ValueError: As for `anls_scores` or `anls_star_scores`; there are no systems; or `agree` is below 2 or above
            their number.

    Example:
        >>> answers = [["ITC Limited"], ["12%"]]
        >>> found = audit({"a": ["ITC", "12%"], "b": ["itc", "12"], "c": ["ITC Ltd", "12%"]}, answers)
        >>> [(own.kind, own.proposed, own.gains) for own in found.suspicions]
        [('agreement', ('ITC',), {'a': 1.0, 'b': 1.0, 'c': 0.0})]
        >>> found.scores["a"], found.bounds["a"]
        (0.5, 1.0)
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)
    expected = as_list(read_column(references, "references"))
    if not isinstance(predictions, Mapping):
        kind = type(predictions).__name__
        raise AnlsError(f"expected a dict from the name of each system to its predictions, not a {kind}")
    if not predictions:
        raise AnlsError("there are no systems to look at", where="predictions")
    given = {name: _column(name, own, expected, rules) for name, own in predictions.items()}
    ids = read_ids(question_ids, len(expected))
    line = signature(rules, n=len(expected), fields=resolved)
    rules = rules.with_extract("none")
    least = _number_that_agrees(agree, len(given))
    if rules.tree:
        return _audit_trees(given, expected, rules, resolved, least, ids, line)
    return _audit_texts(given, expected, rules, least, questions, documents, ids, line)


def audit_systems(
    found: ScoredSystems, agree: int | None, question: str | None = None, document: str | None = None
) -> Audit:
    """Look at the references of scored systems; the same question is found by the columns of question and document."""
    first = next(iter(found.systems.values()))
    rules = first.protocol
    if rules is None:
        name = getattr(first.rules, "name", "")
        raise AnlsError(f"protocol {name!r} has rules of its own; expected one of texts or trees", option="protocol")
    given = {name: as_list(in_order_of(own, found.questions).predictions) for name, own in found.systems.items()}
    least = _number_that_agrees(agree, len(given))
    expected, ids, line = as_list(first.answers), found.question_ids, found.signature
    if rules.tree:
        return _audit_trees(given, expected, rules, first.fields, least, ids, line)
    questions, documents = (
        None if name is None else [_first(own) for own in first.columns[name]] for name in (question, document)
    )
    return _audit_texts(given, expected, rules, least, questions, documents, ids, line)


def _first(values: Sequence[str]) -> str | None:
    return values[0] if values else None


def _column(name: str, own: Sequence[Tree], expected: Sequence[Tree], rules: Protocol) -> list[Any]:
    try:
        listed = as_list(read_column(own, "predictions"))
        check_same_length(listed, expected, "references")
    except ValueError as error:
        raise located(name, error) from None
    return list(map(rules.extracted, listed)) if rules.extract else listed


def _number_that_agrees(agree: int | None, systems: int) -> int:
    if agree is None:
        return max(2, systems // 2 + 1)
    if not 2 <= agree <= max(systems, 2):
        expected = f"from 2 to {systems}, the number of systems" if systems > 2 else "2, for two systems"
        raise AnlsError(f"expected a number {expected}", option="agree", value=agree)
    return agree


# Texts


def _audit_texts(
    given: Mapping[str, list[Any]],
    expected: list[Any],
    rules: Protocol,
    least: int,
    questions: Sequence[str | None] | None,
    documents: Sequence[str | None] | None,
    ids: list[str],
    line: str,
) -> Audit:
    given = {name: each_prediction(own, lambda row: f"predictions[{row}]") for name, own in given.items()}
    accepted = list(map(tuple, each_answers(expected, lambda row: f"answers[{row}]")))
    scores = {name: _scores(own, accepted, rules) for name, own in given.items()}
    found = [*_agreements(given, scores, rules, least), *_damages(accepted)]
    if questions is not None and documents is not None:
        found += _other_answers(accepted, questions, documents, rules)
    gains = {name: _gains(own, scores[name], found, accepted, rules) for name, own in given.items()}
    suspicions = [
        Suspicion(
            row=own.row,
            question_id=ids[own.row],
            path="",
            kind=own.kind,
            evidence=own.evidence,
            accepted=accepted[own.row],
            proposed=own.proposed,
            given={name: column[own.row] for name, column in given.items()},
            gains={name: gains[name][number] for name in given},
        )
        for number, own in enumerate(found)
    ]
    proposed: dict[int, tuple[str, ...]] = {}
    for one in found:
        proposed[one.row] = (*proposed.get(one.row, ()), *one.proposed)
    wider = [[*own, *proposed.get(row, ())] for row, own in enumerate(accepted)]
    return Audit(
        suspicions=_ranked(suspicions),
        scores={name: _mean(own) for name, own in scores.items()},
        bounds={name: _mean(np.maximum(scores[name], _scores(own, wider, rules))) for name, own in given.items()},
        agree=least,
        n=len(expected),
        signature=line,
    )


def _scores(column: list[Any], answers: list[Any], rules: Protocol) -> Floats:
    """Score texts without the warnings of `anls_scores`, which would come once for each system."""
    return score_columns(column, answers, rules, detailed=False).scores


def _mean(scores: Floats) -> float:
    return math.fsum(scores.tolist()) / max(len(scores), 1)


def _agreements(
    given: Mapping[str, list[str | None]], scores: Mapping[str, Floats], rules: Protocol, least: int
) -> Iterator[_Found]:
    """Yield the questions on which systems give the same answer and lose points."""
    lost = np.array(list(scores.values())) < 1
    for row in np.flatnonzero(lost.sum(axis=0) >= least).tolist():
        answers = {
            name: text
            for number, (name, own) in enumerate(given.items())
            if lost[number, row] and (text := own[row]) is not None
        }
        for names in _groups({name: apply_steps(rules.prediction_steps, own) for name, own in answers.items()}, least):
            evidence = _agree(names, answers[names[0]], len(given))
            yield _Found(row, "", "agreement", evidence, (answers[names[0]],))


def _groups(answers: Mapping[str, str], least: int) -> list[list[str]]:
    """Return the systems that agree, in groups, without those that answer nothing."""
    groups: dict[str, list[str]] = {}
    for name, answer in answers.items():
        if answer.strip():
            groups.setdefault(answer, []).append(name)
    return [names for names in groups.values() if len(names) >= least]


def _agree(names: list[str], answer: str, systems: int) -> str:
    return f"{len(names)} of {systems} systems say {short_repr(answer)}: {', '.join(names)}"


def _damages(accepted: Sequence[Sequence[str]]) -> Iterator[_Found]:
    for row, answers in enumerate(accepted):
        for text in dict.fromkeys(answers):
            for own in damage_in(text):
                meant = tuple(one for one in own.meant if one.strip() and one not in answers)
                yield _Found(row, "", "damage", f"{short_repr(text)} {own.evidence}", meant)
        variants = variants_in(answers)
        if variants:
            shown = ", ".join(map(short_repr, variants))
            yield _Found(row, "", "variants", f"{shown}: only case or whitespace differs from another answer", ())


def _other_answers(
    accepted: Sequence[Sequence[str]],
    questions: Sequence[str | None],
    documents: Sequence[str | None],
    rules: Protocol,
) -> Iterator[_Found]:
    """Yield the questions that are asked twice of one document with other accepted answers."""
    same: dict[tuple[str, str], list[int]] = {}
    for row, (question, document) in enumerate(zip(questions, documents, strict=True)):
        if question and document and question.strip():
            same.setdefault((" ".join(question.casefold().split()), document), []).append(row)
    for (_, document), rows in same.items():
        sets = [{apply_steps(rules.answer_steps, text) for text in accepted[row]} for row in rows]
        for row, own in zip(rows, sets, strict=True):
            others = [text for other in rows for text in accepted[other]]
            new = {apply_steps(rules.answer_steps, text): text for text in others}
            proposed = tuple(text for plain, text in new.items() if plain not in own)
            if proposed:
                shown = ", ".join(map(short_repr, proposed))
                evidence = f"the same question about {short_repr(document)} has the answers {shown} elsewhere"
                yield _Found(row, "", "other answers", evidence, proposed)


def _gains(
    column: list[Any],
    scores: Floats,
    found: Sequence[_Found],
    accepted: Sequence[tuple[str, ...]],
    rules: Protocol,
) -> list[float]:
    """Return what a system would gain from each suspicion, each by itself."""
    answers = [[*accepted[own.row], *own.proposed] for own in found]
    if not answers:
        return []
    wider = _scores([column[own.row] for own in found], answers, rules)
    gains: list[float] = np.maximum(wider - scores[[own.row for own in found]], 0).tolist()
    return gains


def _ranked(suspicions: Sequence[Suspicion]) -> tuple[Suspicion, ...]:
    """Return suspicions, the most costly first; variants, which cost nothing, come last."""
    return tuple(sorted(suspicions, key=lambda own: (-own.cost, own.kind == "variants", own.row, own.path)))


# Trees


class _Leaf(NamedTuple):
    """A leaf of a reference beside what one system has there."""

    match: Match
    length: float  # of the document

    @property
    def lost(self) -> float:
        """The lost share of the document's score."""
        return (self.match.weight - self.match.credit) / self.length if self.length else 0.0


def _audit_trees(
    given: Mapping[str, list[Any]],
    expected: list[Any],
    rules: Protocol,
    fields: Fields | None,
    least: int,
    ids: list[str],
    line: str,
) -> Audit:
    scores: dict[str, list[float]] = {name: [] for name in given}
    gained: dict[str, list[float]] = {name: [] for name in given}
    suspicions: list[Suspicion] = []
    for row, reference in enumerate(expected):
        leaves: dict[str, dict[str, _Leaf]] = {}  # by path, then by system
        for name, column in given.items():
            try:
                tree = ExplainedTree(column[row], reference, rules, fields)
            except AnlsError as error:
                raise located(f"question_id {ids[row]!r}", error) from None
            scores[name].append(tree.score)
            length = tree.length / tree.scale
            for match in tree.matches():
                if match.reference_path is not None:
                    leaves.setdefault(match.reference_path, {})[name] = _Leaf(match, length)
        gain = dict.fromkeys(given, 0.0)
        for path, by_system in leaves.items():
            for own in _leaf_suspicions(row, ids[row], path, by_system, given, rules, least):
                suspicions.append(own)
                for name, points in own.gains.items():
                    gain[name] += points
        for name in given:
            gained[name].append(min(scores[name][-1] + gain[name], 1.0))
    return Audit(
        suspicions=_ranked(suspicions),
        scores={name: math.fsum(own) / max(len(own), 1) for name, own in scores.items()},
        bounds={name: math.fsum(own) / max(len(own), 1) for name, own in gained.items()},
        agree=least,
        n=len(expected),
        signature=line,
    )


def _leaf_suspicions(
    row: int,
    question_id: str,
    path: str,
    by_system: Mapping[str, _Leaf],
    given: Mapping[str, list[Any]],
    rules: Protocol,
    least: int,
) -> Iterator[Suspicion]:
    """Yield what is suspicious about one leaf of a reference."""
    reference = next(iter(by_system.values())).match.reference or ""
    found: list[tuple[_Found, str | None]] = [  # with what typed leaves are compared as
        (_Found(row, path, "damage", f"{short_repr(reference)} {own.evidence}", own.meant), None)
        for own in damage_in(reference)
    ]
    losing = {
        name: own.match
        for name, own in by_system.items()
        if own.match.prediction is not None and own.match.credit < own.match.weight
    }
    read = {name: _read_leaf(own, rules) for name, own in losing.items()}
    for names in _groups(read, least):
        answer = losing[names[0]].prediction or ""
        evidence = _agree(names, answer, len(given))
        found.append((_Found(row, path, "agreement", evidence, (answer,)), read[names[0]]))
    for own, compared_as in found:
        yield Suspicion(
            row=row,
            question_id=question_id,
            path=path,
            kind=own.kind,
            evidence=own.evidence,
            accepted=(reference,),
            proposed=own.proposed,
            given={name: leaf.match.prediction for name, leaf in by_system.items()},
            gains={
                name: _leaf_gain(by_system[name], own.proposed, compared_as, rules) if name in by_system else 0.0
                for name in given
            },
        )


def _read_leaf(match: Match, rules: Protocol) -> str:
    """Return what a predicted leaf is compared as."""
    compared = match.compared_as
    if compared is not None and compared.prediction is not None:
        return compared.prediction
    return apply_steps(rules.prediction_steps, match.prediction or "")


def _leaf_gain(leaf: _Leaf, proposed: Sequence[str], compared_as: str | None, rules: Protocol) -> float:
    """Return the share of the document's score that a leaf would gain if one of the proposed texts were accepted."""
    match = leaf.match
    if match.prediction is None or not leaf.length:
        return 0.0
    if match.compared_as is not None and match.compared_as.comparator != "text":
        similarity = float(_read_leaf(match, rules) == compared_as or match.prediction in proposed)
    else:
        similarity = max((anls_star_score(match.prediction, own, protocol=rules) for own in proposed), default=0.0)
    return max(similarity * match.weight - match.credit, 0.0) / leaf.length
