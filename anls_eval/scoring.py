"""The public functions that score texts and trees."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

from anls_eval.arrow import TEXT_LISTS, TEXTS, Floats, as_list
from anls_eval.explanation.result import Explanation
from anls_eval.explanation.text import explain_text
from anls_eval.explanation.tree import explain_tree
from anls_eval.extract.steps import extracted
from anls_eval.fields.fields import FieldsLike
from anls_eval.inputs.columns import check_same_length, extracted_texts, read_column
from anls_eval.inputs.values import to_answers, to_text
from anls_eval.notes import text_notes, text_notes_of_one, tree_notes
from anls_eval.registry import read_fields, resolve_rules
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.text.measure import Scored, score_columns
from anls_eval.text.similarity import measure_one
from anls_eval.tree.scores import score_tree, score_trees
from anls_eval.types import Extract, Texts, Tree


def anls_score(
    prediction: object,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
) -> float:
    """Compute ANLS for one question: the similarity of a prediction to the closest accepted answer.

    Args:
        prediction: The predicted text. A number or bool is converted with `str`. None and NaN count as unanswered and
            score 0, with a warning.
        answers: The accepted answers: a list or tuple of strings, one string, or SQuAD's ``{"text": [...]}``.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.

    Returns:
        The similarity to the closest answer, from 0 to 1; 0 if it does not reach the threshold.

    Raises:
        ValueError: The prediction or an answer is not text, there is no answer, the protocol is unknown or scores
            trees, or the threshold is outside [0, 1].

    Example:
        >>> anls_score("CocaCola", ["Coca Cola", "Coca Cola Company"])
        0.8888888888888888
        >>> anls_score("ab", ["ac"]), anls_score("ab", ["ac"], protocol="paper")
        (0.5, 0.0)

    Source: Biten et al., "Scene Text Visual Question Answering", ICCV 2019, section 3; https://arxiv.org/abs/1905.13648.
    """
    rules = resolve_rules(protocol, threshold, of_trees=False, extract=extract)
    text = to_text(prediction, "prediction", "one string")
    if rules.extract:
        text = extracted(text, rules.extract)
    options = to_answers(answers, "answers")
    score = measure_one(text, options, rules)[0]
    for note in text_notes_of_one(text, options, score, rules):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def anls_scores(
    predictions: Texts,
    answers: Texts,
    *,
    protocol: str | Protocol = "standard",
    threshold: Threshold = None,
    extract: Extract = None,
) -> Floats:
    """Compute ANLS for each of n questions in one batch; the ANLS of a dataset is the mean.

    Scores depend neither on the order of the questions nor on how they are split over calls.

    Args:
        predictions: n predicted texts: a list, NumPy array, pandas Series or Arrow column (fastest) of what
            `anls_score` takes.
        answers: n lists of accepted answers, in the same kinds of columns; ``list<string>`` in Arrow.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: As for `anls_score`, with the row of the question, or the columns differ in length.

    Example:
        >>> anls_scores(["Denver Broncos", "12/15/89"], [["Denver Broncos"], ["12/15/88"]])
        array([1.   , 0.875])
    """
    rules = resolve_rules(protocol, threshold, of_trees=False, extract=extract)
    return score_texts(predictions, answers, rules).scores


def score_texts(predictions: Texts, answers: Texts, rules: Protocol, *, detailed: bool = False) -> Scored:
    """Score a column of texts for a public function, whose caller gets the warnings."""
    left, right = read_column(predictions, "predictions", TEXTS), read_column(answers, "answers", TEXT_LISTS)
    check_same_length(left, right, "answers")
    if rules.extract:
        left = extracted_texts(left, rules.extract)
    scored = score_columns(left, right, rules, detailed=detailed)
    for note in text_notes(scored, rules):
        warnings.warn(note, UserWarning, stacklevel=3)
    return scored


def anls_star_score(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> float:
    """Compute ANLS* for one tree, such as JSON extracted from a document.

    Dicts are compared key by key, lists by their best matching in any order, leaves as texts. All leaves have equal
    weight; missing and hallucinated leaves lower the score. The order of list elements, alternatives and dict keys does
    not change a single bit of it.

    Args:
        prediction: A tree of dicts, lists, strings, numbers, bools and None. Decimal, date, time, Enum and NumPy
            scalars are converted to the text a person would write; NaN counts as None. Keys are converted to texts as
            well: None and bools as in JSON, an Enum by its value.
        reference: The correct tree, with the same types. A tuple, `one_of` or ``{"$one_of": [...]}`` holds
            alternatives, of which the closest counts; ``{"$literal": {...}}`` is a dict that really has such a key.
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's, 0.5.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        The sum of the similarities of the leaves divided by their number, from 0 to 1.

    Raises:
        TypeError: An object cannot be part of a tree; the message names its path and how to convert it.
        ValueError: The prediction has a tuple, the reference has a tuple without alternatives, one of them contains
            itself, the protocol is unknown or scores texts, or the threshold is outside [0, 1].

    Example:
        >>> anls_star_score({"total": "17.9", "items": ["pen", "ink"]}, {"total": "17.99", "items": ["ink", "pen"]})
        0.9333333333333333

    Source: Peer et al., "ANLS* - A Universal Document Processing Metric for Generative Large Language Models",
    https://arxiv.org/abs/2402.03848, equations 3 to 6.
    """
    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    resolved = read_fields(fields, rules)
    if rules.extract:
        prediction = extracted(prediction, rules.extract)
    score, searched = score_tree(prediction, reference, rules, resolved)
    for note in tree_notes([prediction], [reference], rules, searched=searched, fields=resolved):
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def anls_star_scores(
    predictions: Sequence[Tree],
    references: Sequence[Tree],
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Floats:
    """Compute ANLS* for each of n trees in one batch; the ANLS* of a dataset is the mean.

    Args:
        predictions: n trees: a list or column of what `anls_star_score` takes.
        references: n correct trees, of what `anls_star_score` takes.
        protocol: ``anls_star``, ``anls_star_paper``, or a `Protocol` derived from one of them.
        threshold: Minimum similarity of two leaves that counts, from 0 to 1. Defaults to the protocol's, 0.5.
        extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        TypeError: As for `anls_star_score`, with the row of the tree.
        ValueError: As for `anls_star_score`, with the row of the tree, or both sides differ in length.

    Example:
        >>> anls_star_scores([{"a": "x"}, ["y"]], [{"a": "x", "b": "z"}, ["y"]])
        array([0.5, 1. ])
    """
    rules = resolve_rules(protocol, threshold, of_trees=True, extract=extract)
    given, expected = as_list(read_column(predictions, "predictions")), as_list(read_column(references, "references"))
    check_same_length(given, expected, "references")
    resolved = read_fields(fields, rules)
    if rules.extract:
        given = [extracted(own, rules.extract) for own in given]
    scores, searched = score_trees(given, expected, rules, resolved)
    for note in tree_notes(given, expected, rules, searched=searched, fields=resolved):
        warnings.warn(note, UserWarning, stacklevel=2)
    return scores


def explain(
    prediction: Tree,
    reference: Tree,
    *,
    protocol: str | Protocol = "anls_star",
    threshold: Threshold = None,
    extract: Extract = None,
    fields: FieldsLike = None,
) -> Explanation:
    """Score a tree or a text and explain the score.

    Args:
        prediction: A tree as for `anls_star_score`, or with a protocol for texts a text as for `anls_score`.
        reference: A tree as for `anls_star_score`, or with a protocol for texts the accepted answers.
        protocol: A name or alias in `PROTOCOLS`, or a `Protocol`.
        threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
        extract: Steps that take the answer out of the prediction first, by name: ``"think,answer_tag"`` or a list of
            names in `EXTRACT_STEPS`; ``"none"`` for none. Defaults to the protocol's.
        fields: How the parts of the trees are compared and weighed: a `Fields`, or a dict with a `Field` for each path.

    Returns:
        The score with the closest reference, the key scores and one row for each leaf. ``str()`` gives a table.

    Raises:
        TypeError: As for `anls_star_score`.
        ValueError: As for `anls_star_score`, or with a protocol for texts as for `anls_score`.

    Example:
        >>> print(explain({"date": "2024-01-03"}, {"date": "2024-01-02", "total": "17.99"}))  # doctest: +ELLIPSIS
        score 0.45 = 0.9 of 2
        credit  reference              prediction              why it is not full
        0/1     $.total    17.99       -           -           missing
        0.9/1   $.date     2024-01-02  $.date      2024-01-03  1 of 10 characters differ
        anls|protocol:anls_star|tree:released|pred:strip+lower+collapse|...
    """
    rules = resolve_rules(protocol, threshold, of_trees=None, extract=extract)
    resolved = read_fields(fields, rules)
    given = prediction if rules.tree else to_text(prediction, "prediction", "one string")
    prediction = extracted(given, rules.extract)
    if rules.tree:
        explanation = explain_tree(prediction, reference, rules, resolved)
        notes = tree_notes([prediction], [reference], rules, fields=resolved)
    else:
        explanation, notes = explain_text(prediction, reference, rules)
    if isinstance(given, str) and prediction != given:
        explanation = dataclasses.replace(explanation, raw_prediction=str(given))
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return explanation
