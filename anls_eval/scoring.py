"""The public functions that score texts and trees."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from anls_eval.arrow import TEXT_LISTS, TEXTS, Floats, as_list
from anls_eval.explanation.result import Explanation
from anls_eval.explanation.text import explain_text
from anls_eval.explanation.tree import explain_tree
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.inputs.values import to_answers, to_text
from anls_eval.notes import text_notes, text_notes_of_one, tree_notes
from anls_eval.registry import resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.text.measure import score_columns
from anls_eval.text.similarity import measure_one
from anls_eval.tree.documents import score_tree, score_trees
from anls_eval.types import Texts, Tree


def anls_score(
    prediction: object,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> float:
    """Score one prediction against its accepted answers.

    Args:
        prediction: The predicted text. A number or bool is taken as its `str`; None and NaN are no answer, which
            scores 0 with a warning.
        answers: The accepted answers: a list or tuple of strings, one string, or the SQuAD form ``{"text": [...]}``.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        The similarity to the closest answer, from 0 to 1; 0 if the protocol does not keep it.

    Raises:
        ValueError: Something that is not text, no answer at all, an unknown protocol or a threshold outside 0 to 1.

    Example:
        >>> anls_score("CocaCola", ["Coca Cola", "Coca Cola Company"])
        0.8888888888888888
        >>> anls_score("ab", ["ac"]), anls_score("ab", ["ac"], protocol="paper")
        (0.5, 0.0)

    Source: Biten et al., "Scene Text Visual Question Answering", ICCV 2019, section 3; https://arxiv.org/abs/1905.13648.
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    text = to_text(prediction, "prediction", "one string")
    options = to_answers(answers, "answers")
    score, *_ = measure_one(text, options, rules)
    for note in text_notes_of_one(text, options, score, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def anls_scores(
    predictions: Texts,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
) -> Floats:
    """Score n predictions, each against its own accepted answers, as fast as the machine allows.

    The result does not depend on the order or on how the questions are split into calls. ANLS is its mean.

    Args:
        predictions: n texts as a list, NumPy array, pandas Series or Arrow column (fastest). Each is taken as
            `anls_score` takes one.
        answers: n lists of accepted answers, likewise; ``list<string>`` in Arrow.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: What `anls_score` refuses, with the row; columns of different length.

    Example:
        >>> anls_scores(["Denver Broncos", "12/15/89"], [["Denver Broncos"], ["12/15/88"]])
        array([1.   , 0.875])

    Source: as `anls_score`.
    """
    rules = resolve_rules(protocol, threshold, of_trees=False)
    left, right = read_column(predictions, "predictions", TEXTS), read_column(answers, "answers", TEXT_LISTS)
    check_same_length(left, right, "answers")
    scored = score_columns(left, right, rules)
    for note in text_notes(scored, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return scored.scores


def anls_star_score(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
) -> float:
    """Score one tree, such as extracted JSON, against its reference.

    Dicts are compared key by key, lists by their best matching whatever the order, leaves as texts. All leaves weigh
    the same; what is missing or invented counts against the score. The order of list elements, of alternatives and of
    dict keys does not change a bit of it.

    Args:
        prediction: A tree of dicts, lists, strings, numbers, bools and None. Decimal, date, time, Enum and NumPy
            scalars are taken as the text a person would write; NaN as None. Keys are texts too: None and bools as JSON
            writes them, an Enum by its value.
        reference: The same; a tuple, `one_of` or ``{"$one_of": [...]}`` holds alternatives, of which the closest
            counts. ``{"$literal": {...}}`` is a dict that really has such a key.
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` made of one of them.
        threshold: The least similarity of two leaves that counts, from 0 to 1, in place of the protocol's 0.5.

    Returns:
        s / l, from 0 to 1.

    Raises:
        TypeError: An object that is no such tree, with its path and the way to convert it.
        ValueError: A tuple in the prediction, no alternative, an object that holds itself, a protocol of texts, or a
            threshold outside 0 to 1.

    Example:
        >>> anls_star_score({"total": "17.9", "items": ["pen", "ink"]}, {"total": "17.99", "items": ["ink", "pen"]})
        0.9333333333333333

    Source: Peer et al., "ANLS* - A Universal Document Processing Metric for Generative Large Language Models",
    https://arxiv.org/abs/2402.03848, equations 3 to 6.
    """
    rules = resolve_rules(protocol, threshold, of_trees=True)
    for note in tree_notes([prediction], [reference], rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score_tree(prediction, reference, rules)


def anls_star_scores(
    predictions: Sequence[Tree],
    references: Sequence[Tree],
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
) -> Floats:
    """Score n trees, each against its own reference.

    Args:
        predictions: n trees, each as `anls_star_score` takes one.
        references: n references, likewise.
        protocol: As in `anls_star_score`.
        threshold: As in `anls_star_score`.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        TypeError: What `anls_star_score` refuses, with the row.
        ValueError: The same; also sequences of different length.

    Example:
        >>> anls_star_scores([{"a": "x"}, ["y"]], [{"a": "x", "b": "z"}, ["y"]])
        array([0.5, 1. ])
    """
    rules = resolve_rules(protocol, threshold, of_trees=True)
    given, expected = as_list(read_column(predictions, "predictions")), as_list(read_column(references, "references"))
    check_same_length(given, expected, "references")
    for note in tree_notes(given, expected, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score_trees(given, expected, rules)


def explain(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
) -> Explanation:
    """Score a tree or a text and say why the score is what it is.

    Args:
        prediction: What `anls_star_score` takes; with a protocol of texts, what `anls_score` takes.
        reference: The same; with a protocol of texts, the accepted answers.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.

    Returns:
        The score with the closest reference, the key scores and one row for each leaf. ``str`` of it is a table.

    Raises:
        TypeError: What `anls_star_score` refuses.
        ValueError: What `anls_star_score` and `anls_score` refuse.

    Example:
        >>> print(explain({"date": "2024-01-03"}, {"date": "2024-01-02", "total": "17.99"}))  # doctest: +ELLIPSIS
        score 0.45 = 0.9 of 2
        credit  reference              prediction              why it is not full
        0/1     $.total    17.99       -           -           missing
        0.9/1   $.date     2024-01-02  $.date      2024-01-03  1 of 10 characters differ
        anls|protocol:anls_star|tree:released|pred:strip+lower+collapse|...
    """
    rules = resolve_rules(protocol, threshold, of_trees=None)
    if not rules.tree:
        explanation, notes = explain_text(prediction, reference, rules)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return explanation
    for note in tree_notes([prediction], [reference], rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return explain_tree(prediction, reference, rules)
