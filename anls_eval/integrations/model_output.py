"""Model outputs scored as text or as JSON, alone or in batches: shared by several integrations."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from anls_eval.explanation.result import Explanation
from anls_eval.extract.steps import extracted
from anls_eval.fields.fields import Fields
from anls_eval.inputs.columns import extracted_texts
from anls_eval.registry import signature
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_score, anls_star_score, explain
from anls_eval.structure import scalars_in, structure_in
from anls_eval.text.measure import score_columns
from anls_eval.tree.scores import score_trees

_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)


def read_json(output: Any) -> Any:
    """Read an output that is a JSON object or array, bare or in a Markdown code fence; return any other unchanged."""
    if not isinstance(output, str):
        return output
    fenced = _FENCE.match(output.strip())
    text = fenced[1] if fenced else output
    if text.lstrip()[:1] not in ("{", "["):
        return output
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # truncated or nested too deeply: scored as text
        return output


def read_output(output: Any, rules: Protocol) -> Any:
    """Return the text or tree in a model's output: extracted as the rules say and, for trees, read as JSON."""
    found = extracted(output, rules.extract)
    return read_json(found) if rules.tree else found


def score_output(output: Any, answers: Any, rules: Protocol, fields: Fields | None = None) -> float:
    """Score one output; a protocol for trees takes trees or their JSON texts, and a list of alternatives."""
    given, plain = read_output(output, rules), rules.with_extract("none")
    if rules.tree:
        return anls_star_score(given, read_reference(answers), protocol=plain, fields=fields)
    return anls_score(given, read_answers(answers), protocol=plain)


def explain_output(output: Any, answers: Any, rules: Protocol, fields: Fields | None = None) -> Explanation:
    """Explain the score of `score_output`; a list of one reference tree is this tree."""
    if not rules.tree:
        return explain(output, read_answers(answers), protocol=rules)
    given, reference = read_output(output, rules), read_reference(answers)
    tree = reference[0] if isinstance(reference, tuple) and len(reference) == 1 else reference
    found = explain(given, tree, protocol=rules.with_extract("none"), fields=fields)
    if not rules.extract:
        return found
    raw = output if isinstance(output, str) and output != given else None
    return dataclasses.replace(found, signature=signature(rules, n=1, fields=fields), raw_prediction=raw)


def score_outputs(
    outputs: Sequence[Any], answers: Sequence[Any], rules: Protocol, fields: Fields | None = None
) -> list[float]:
    """Score n outputs in one batch, without warnings: in training there would be some in every step."""
    if rules.tree:
        trees = [read_output(own, rules) for own in outputs]
        scores = score_trees(trees, list(map(read_reference, answers)), rules, fields)[0]
    else:
        texts = extracted_texts(outputs, rules.extract) if rules.extract else list(outputs)
        scores = score_columns(texts, list(map(read_answers, answers)), rules).scores
    return list(map(float, scores))


def read_answers(answers: Any) -> Any:
    """Return accepted answers; one text that prints a list with a text in it, such as "['a', 'b']", is that list.

    Datasets arrive in harnesses like this from CSV files, and from fields that a harness converts to text.
    """
    if isinstance(answers, (list, tuple)) and len(answers) == 1:
        [answers] = answers
    printed = scalars_in(structure_in(answers)) if isinstance(answers, str) else None
    return printed if printed and any(isinstance(item, str) for item in printed) else answers


def read_reference(answers: Any) -> Any:
    """Return the reference tree of an ``answers`` field, with the items of a list or tuple as alternatives."""
    if isinstance(answers, (list, tuple, np.ndarray)):
        return tuple(map(_read_reference, answers))
    return _read_reference(answers)


def _read_reference(answer: Any) -> Any:
    """Read a tree as `read_json` does, or as Python prints it."""
    found = read_json(answer)
    printed = structure_in(found) if isinstance(found, str) else None
    return found if printed is None else printed
