"""The public functions that score questions as a leaderboard does."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from anls_eval.arrow import TEXT_LISTS, TEXTS, Floats, as_list
from anls_eval.errors import AnlsError
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.leaderboards.base import Leaderboard
from anls_eval.leaderboards.benchmark import Benchmark, Figures, sum_counts
from anls_eval.leaderboards.table import get_leaderboard, get_scored_rules
from anls_eval.notes import text_notes, tree_notes
from anls_eval.rules.protocol import Protocol, Rules
from anls_eval.statistics.tally import Tally
from anls_eval.text.measure import score_columns
from anls_eval.tree.scores import score_trees
from anls_eval.types import Extract, Texts, Tree


def leaderboard_score(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol,
    answer_type: str | None = None,
    options: Mapping[str, object] | None = None,
    extract: Extract = None,
) -> float:
    """Score one prediction as a leaderboard or benchmark does.

    Args:
        prediction: The predicted text, list or document, as the benchmark takes it. A number is read as its `str`
            where a text is expected; None and NaN are no answer, which scores 0 with a warning, and is correct if
            ``dude`` has no answer.
        reference: The answer, a list of accepted answers, or the correct document; for a list type, the one list or
            its Python text.
        protocol: A name or alias in `LEADERBOARDS`, `BENCHMARKS` or `PROTOCOLS`, or a `Protocol`.
        answer_type: One of the protocol's `answer_types`; None for a protocol without answer types.
        options: What the benchmark knows beside the answer, by name: ``year`` of ``chartqapro``, ``match`` and
            ``appearance`` of ``vrdu``, ``schema`` of ``extractbench_value``.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names; ``"none"`` for none. Defaults to the protocol's.

    Returns:
        The headline of the benchmark for this one question or document, from 0 to 1; NaN where it reports none.

    Raises:
        ValueError: The protocol, answer type or an option is unknown, the prediction has the wrong type, the reference
            cannot be read for its answer type, or the original code fails (the message says why).

    Example:
        >>> leaderboard_score("America", "North America", protocol="mmlongbench", answer_type="Str")
        0.5384615384615384
        >>> leaderboard_score("['10 %', 'white']", "['White', '10%']", protocol="mmlongbench", answer_type="List")
        1.0
        >>> leaderboard_score({"total": "17.9"}, {"total": "17.99"}, protocol="donut_ted")
        0.8333333333333334

    Source: the code named in `LEADERBOARDS` and `BENCHMARKS`.
    """
    rules = get_scored_rules(protocol).with_extract(extract)
    prediction = rules.extracted(prediction)
    if isinstance(rules, Benchmark):
        score, notes = rules.score_one(prediction, reference, answer_type, options)
    elif isinstance(rules, Leaderboard):
        _refuse_options(rules.name, options)
        score, notes = rules.score_one(prediction, reference, answer_type)
    else:
        types = None if answer_type is None else [answer_type]
        scores, notes = _plain_scores([prediction], [reference], rules, types, options)
        score = float(scores[0])
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def leaderboard_figures(
    predictions: Texts,
    references: Texts,
    *,
    protocol: str | Protocol,
    answer_types: Texts = None,
    options: Mapping[str, object] | None = None,
    extract: Extract = None,
) -> dict[str, float | None]:
    """Compute what a leaderboard or benchmark reports of n questions or documents.

    Args:
        predictions: n predictions, each as in `leaderboard_score`.
        references: n references, each as in `leaderboard_score`. Benchmarks that ignore what is left over of the
            longer side, as Donut and DUE do, take sides of unequal length.
        protocol: A name or alias in `LEADERBOARDS`, `BENCHMARKS` or `PROTOCOLS`, or a `Protocol`.
        answer_types: n answer types; None for a protocol without answer types.
        options: As in `leaderboard_score`, but a list of n values for an option that each question has (``year`` of
            ``chartqapro``, ``subset`` of ``lmms_cc_ocr_kie_f1``).
        extract: As in `leaderboard_score`.

    Returns:
        The figures by name, from 0 to 1; ``score`` is the headline. None where the original reports none, or NaN. The
        figures of a benchmark with lists of rows or groups can depend on how `scipy.optimize.linear_sum_assignment`
        chooses between equally good assignments; its `depends_on_ties` says so.

    Raises:
        ValueError: As in `leaderboard_score`, with the row in the message; the columns differ in length; or there is
            nothing to compute the figures of.

    Example:
        >>> predictions = [{"total": "17.99", "date": "2024-01-03"}, {"total": "5.00"}]
        >>> references = [{"total": "17.99", "date": "2024-01-02"}, {"total": "5.00"}]
        >>> leaderboard_figures(predictions, references, protocol="donut_f1")
        {'score': 0.6666666666666666, 'micro_f1': 0.6666666666666666}

    Source: the code named in `LEADERBOARDS` and `BENCHMARKS`.
    """
    words: dict[str, Any] = {"answer_types": answer_types, "options": options, "extract": extract}
    figures, notes = figures_of(predictions, references, protocol=protocol, **words)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return figures


def figures_of(
    predictions: Any,
    references: Any,
    *,
    protocol: str | Protocol,
    answer_types: Any,
    options: Mapping[str, object] | None,
    extract: Extract,
    missing: Collection[int] = (),
) -> tuple[Figures, list[str]]:
    """Return the figures of questions or documents, of which some are `missing` a prediction, and the warnings."""
    rules = get_scored_rules(protocol).with_extract(extract)
    predictions = _extracted(predictions, rules)
    sides = read_column(predictions, "predictions"), read_column(references, "references")
    types = None if answer_types is None else as_list(read_column(answer_types, "answer_types"))
    if isinstance(rules, Benchmark):
        given, expected = map(as_list, sides)
        return rules.figures(sum_counts(rules.count_all(given, expected, types, options, missing))), []
    figures: Figures
    if isinstance(rules, Leaderboard):
        _refuse_options(rules.name, options)
        check_same_length(*sides, "references")
        scores, notes = rules.score_all(*sides, types)
        scores[list(missing)] = 0.0
        tally = Tally.of(scores)
        figures = {"score": tally.mean, "mean": tally.mean}
        figures |= rules.figures(tally, *rules.tally_answerable(scores, *sides))
    else:
        scores, notes = _plain_scores(predictions, references, rules, types, options)
        mean = Tally.of(scores).mean
        figures = {"score": mean, "mean": mean}
    return figures, notes


def _extracted(predictions: Any, rules: Rules) -> Any:
    """Return a column with the answers that are taken out of it, or the column if nothing is."""
    if not rules.extract:
        return predictions
    return list(map(rules.extracted, as_list(read_column(predictions, "predictions"))))


def _plain_scores(
    predictions: Any, references: Any, rules: Protocol, types: list[Any] | None, options: Mapping[str, object] | None
) -> tuple[Floats, list[str]]:
    """Return the scores of texts or trees, and the warnings about them."""
    _refuse_options(rules.name, options)
    if types is not None:
        problem = f"protocol {rules.name!r} has no answer types; leave it out"
        raise AnlsError(problem, option="answer_type", value=types[0] if types else None)
    wanted = (None, None) if rules.tree else (TEXTS, TEXT_LISTS)
    left, right = read_column(predictions, "predictions", wanted[0]), read_column(references, "references", wanted[1])
    check_same_length(left, right, "references")
    if rules.tree:
        trees = as_list(left), as_list(right)
        scores, searched = score_trees(*trees, rules)
        return scores, tree_notes(*trees, rules, searched=searched)
    scored = score_columns(left, right, rules)
    return scored.scores, text_notes(scored, rules)


def _refuse_options(name: str, options: Mapping[str, object] | None) -> None:
    if options:
        raise AnlsError(f"protocol {name!r} has no options; leave them out", option="options", value=dict(options))


def leaderboard_scores(
    predictions: Texts, references: Texts, *, protocol: str, answer_types: Texts = None, extract: Extract = None
) -> Floats:
    """Score n predictions as a leaderboard does, in one batch.

    Args:
        predictions: n predictions, each as in `leaderboard_score`.
        references: n references, each as in `leaderboard_score`.
        protocol: A name or alias in `LEADERBOARDS`.
        answer_types: n answer types; None for a leaderboard without answer types.
        extract: As in `leaderboard_score`.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: As in `leaderboard_score`, with the row in the message; or the columns differ in length.

    Example:
        >>> leaderboard_scores(["5", "0.1 %"], ["6", "0.1"], protocol="mmlongbench", answer_types=["Int", "Float"])
        array([0., 1.])

    Source: the code named in `LEADERBOARDS`.
    """
    board = get_leaderboard(protocol).with_extract(extract)
    predictions = _extracted(predictions, board)
    sides = read_column(predictions, "predictions"), read_column(references, "references")
    check_same_length(*sides, "references")
    given = None if answer_types is None else read_column(answer_types, "answer_types")
    scores, notes = board.score_all(*sides, given)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return scores


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeaderboardSummary:
    """The figures of a submission; None for those that the leaderboard does not report."""

    protocol: str
    n: int
    mean: float
    accuracy: float | None = None
    f1: float | None = None


def leaderboard_summary(
    scores: Sequence[float] | Floats, predictions: Any, references: Any, *, protocol: str
) -> LeaderboardSummary:
    """Return the mean, accuracy and F1 of scores; None is an answer, and without answerable questions the F1 is 0."""
    board = get_leaderboard(protocol)
    values = [float(score) for score in scores]
    sides = read_column(predictions, "predictions"), read_column(references, "references")
    lengths = len(values), *map(len, sides)
    if len(set(lengths)) > 1 or not values:
        raise ValueError(
            "{} scores, {} predictions and {} references; expected one of each for each question, at least one".format(
                *lengths
            )
        )
    tally = Tally.of(values)
    figures = board.figures(tally, *board.tally_answerable(values, *sides))
    return LeaderboardSummary(protocol=board.name, n=tally.n, mean=tally.mean, **figures)
