"""Documents under every protocol that scores them, side by side."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from anls_eval.analysis.side_by_side import Disagreement, ProtocolComparison, check_names, scores_documents
from anls_eval.arrow import Floats, as_list
from anls_eval.errors import AnlsError
from anls_eval.fields.fields import Fields
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.leaderboards.base import Leaderboard
from anls_eval.leaderboards.benchmark import Benchmark, Figures, sum_counts
from anls_eval.leaderboards.benchmarks import BENCHMARKS
from anls_eval.leaderboards.table import get_scored_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.statistics.tally import Tally
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.scores import score_trees

DocumentRules = Protocol | Benchmark
Documents = tuple[list[Any], list[Any]]

_ANLS_STAR = PROTOCOLS["anls_star"]


@dataclasses.dataclass(frozen=True)
class DocumentScores:
    """What one protocol gives for some documents; without figures, `error` says why it gives none."""

    rules: DocumentRules
    figures: Figures = dataclasses.field(default_factory=dict)  # those that it reports; the first is the score
    scores: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))  # of each document alone
    error: str = ""

    @property
    def score(self) -> float | None:
        """The figure that is the score; None if there is none."""
        return next(iter(self.figures.values()), None)


def read_documents(predictions: Any, references: Any) -> Documents:
    """Return both sides, of at least one document, as lists."""
    given, expected = as_list(read_column(predictions, "predictions")), as_list(read_column(references, "references"))
    check_same_length(given, expected, "references")
    if not given:
        raise ValueError("nothing to score: 0 predictions and 0 references; expected at least one document")
    return given, expected


def document_text(document: Any, side: str) -> str:
    """Return a document as JSON text."""
    return json.dumps(tree_as_json(document, side), ensure_ascii=False)


def document_rules(protocols: Iterable[str | DocumentRules] | None = None) -> list[DocumentRules]:
    """Return protocols that score documents without further options, all by default."""
    if protocols is None:
        trees = [own for own in PROTOCOLS.values() if own.tree]
        return [*trees, *(own for own in BENCHMARKS.values() if own.unit == "document" and not own.required_options)]
    found: list[DocumentRules] = []
    for rules in map(get_scored_rules, protocols):
        if isinstance(rules, Leaderboard) or not scores_documents(rules):
            names = ", ".join(repr(own.name) for own in document_rules())
            problem = f"protocol {rules.name!r} does not score documents. Use some of {names}"
            raise AnlsError(problem)
        found.append(rules)
    return found


def score_documents(
    documents: Documents,
    rules: DocumentRules,
    fields: Fields | None = None,
    options: Mapping[str, object] | None = None,
) -> DocumentScores:
    """Score documents under a protocol; an error of a benchmark, which cannot score every document, is kept."""
    if isinstance(rules, Protocol):
        scores, _ = score_trees(*documents, rules, fields)
        return DocumentScores(rules, {"mean": Tally.of(scores).mean}, scores)
    try:
        counts = list(rules.count_all(*documents, None, options))
        score, *figures = rules.figures(sum_counts(counts)).items()
    except AnlsError as error:
        return DocumentScores(rules, error=str(error))
    if score[1] is None:
        return DocumentScores(rules, error=f"it reports no {rules.headline} for these documents")
    figures.sort(key=lambda own: own[0] != rules.headline)
    return DocumentScores(rules, dict(figures), np.array([rules.headline_of(own) for own in counts]))


def compare_documents(
    predictions: Any,
    references: Any,
    protocols: Iterable[str | DocumentRules] | None,
    most: int,
    options: Mapping[str, Mapping[str, object]] | None = None,
) -> ProtocolComparison:
    """Compare protocols for documents, with their options by name; ANLS* is what they differ from."""
    documents, rules = read_documents(predictions, references), document_rules(protocols)
    check_names(own.name for own in rules)
    found = [score_documents(documents, own, options=(options or {}).get(own.name)) for own in rules]
    means = {own.rules.name: own.score for own in found if own.score is not None}
    star = means.get(_ANLS_STAR.name) if _ANLS_STAR in rules else score_documents(documents, _ANLS_STAR).score
    scores = {own.rules.name: own.scores for own in found if own.score is not None and len(own.scores)}
    columns = list(scores.values()) or [np.zeros(len(documents[0]))]
    spread = np.maximum.reduce(columns) - np.minimum.reduce(columns)
    rows = [row for row in np.argsort(-spread, kind="stable")[:most].tolist() if spread[row]]
    return ProtocolComparison(
        n=len(documents[0]),
        means=means,
        differences={name: mean - (star or 0.0) for name, mean in means.items()},
        disagreements=tuple(
            Disagreement(
                row=row,
                prediction=document_text(documents[0][row], "prediction"),
                answers=(document_text(documents[1][row], "reference"),),
                scores={name: float(own[row]) for name, own in scores.items()},
                spread=float(spread[row]),
            )
            for row in rows
        ),
        errors={own.rules.name: own.error for own in found if own.error},
    )
