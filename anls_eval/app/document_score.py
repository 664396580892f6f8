"""One document: its score with the reasons, by field, and under every protocol. `child.run` runs `score`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from anls_eval.analysis.document_protocols import compare_documents
from anls_eval.app.child import Progress
from anls_eval.app.field_table import field_rows, why_lost
from anls_eval.app.page import html
from anls_eval.app.protocols import OF_DOCUMENTS, Rules, of_one
from anls_eval.app.tasks import FIELD_RULES
from anls_eval.app.tree_view import view
from anls_eval.app.trees import PREDICTION, REFERENCE, as_json_text, has_alternatives, read_tree
from anls_eval.app.words import in_page_words
from anls_eval.errors import check_choice
from anls_eval.explanation.leaves import LEAF_SIGNS
from anls_eval.explanation.tree import explain_tree
from anls_eval.extract.steps import extracted
from anls_eval.fields.fields import Fields, fields_in
from anls_eval.fields.load import parse_fields_text
from anls_eval.leaderboards import Benchmark, leaderboard_figures
from anls_eval.notes import tree_notes
from anls_eval.registry import get_rules, read_fields, signature
from anls_eval.rules.protocol import Protocol

_MAX_VALUES_BY_PROTOCOLS = 1_000  # of both sides: edit distances of trees take long


class Scored(NamedTuple):
    """A scored document."""

    plain: dict[str, Any]  # as plain JSON values
    shown: str  # HTML of the score and its reasons
    closest: str  # JSON text of the closest reference; empty for a benchmark
    protocols: str  # HTML of the score under every protocol


def score(
    prediction: Any,
    reference: Any,
    protocol: str,
    extract: str | None,
    fields: str | Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
    report_progress: Progress,
) -> Scored:
    """Score a document, as JSON text or as values, by a protocol of documents."""
    name = get_rules(protocol).name
    if name not in OF_DOCUMENTS:
        check_choice("protocol", protocol, tuple(OF_DOCUMENTS))
    rules: Rules = OF_DOCUMENTS[name].with_extract(extract)
    rules.checked_options(options)
    rule_fields = read_fields(read_field_rules(fields), rules)
    raw = prediction
    if rules.extract and isinstance(prediction, str):
        prediction = extracted(prediction, rules.extract)
    given = read_tree(prediction, PREDICTION, take_out=extract != "none")
    if given.is_taken_out and "json" not in rules.extract:
        rules = rules.with_extract([*rules.extract, "json"])
    expected = read_tree(reference, REFERENCE)
    notes = [*given.notes, *expected.notes]
    by_protocols = _by_protocols(given.tree, expected.tree, rules, options)
    if isinstance(rules, Benchmark):
        scored = _by_benchmark(given.tree, expected.tree, rules, options, notes)
    else:
        assert isinstance(rules, Protocol)  # noqa: S101 - no leaderboard scores documents
        was_taken_out = isinstance(raw, str) and (given.is_taken_out or raw != prediction)
        scored = _by_tree(given.tree, expected.tree, rules, rule_fields, notes, raw if was_taken_out else None)
    return scored._replace(protocols=by_protocols)


def read_field_rules(fields: str | Mapping[str, Any] | None) -> Fields | None:
    """Return the field rules in a JSON text or a dict; None if there are none."""
    if isinstance(fields, str):
        fields = parse_fields_text(fields, FIELD_RULES) if fields.strip() else None
    return None if fields is None else fields_in(fields, FIELD_RULES)


def _by_tree(
    given: Any, expected: Any, rules: Protocol, fields: Fields | None, notes: list[str], raw: str | None
) -> Scored:
    found = dataclasses.replace(explain_tree(given, expected, rules, fields), raw_prediction=raw)
    notes = [*notes, *tree_notes([given], [expected], rules, fields=fields)]
    rows, left_out = field_rows(given, expected, found.matches, rules, fields)
    plain = {**found.to_dict(), "notes": notes}
    shown = html(
        "document.html",
        found=view(given, expected, found),
        rows=rows,
        rows_left_out=left_out,
        fields=fields,
        why_lost=why_lost,
        notes=list(map(in_page_words, notes)),
        signs=LEAF_SIGNS,
    )
    return Scored(plain, shown, as_json_text(plain["closest_reference"]), "")


def _by_benchmark(
    given: Any, expected: Any, rules: Benchmark, options: Mapping[str, Any] | None, notes: list[str]
) -> Scored:
    if has_alternatives(expected):
        notes = [*notes, f"{rules.name} knows no alternatives: what stands for them was compared as it is written"]
    known = of_one(rules, options)
    figures = leaderboard_figures([given], [expected], protocol=rules.name, extract="none", options=known)
    own = figures.pop("score")
    if own is None:
        raise ValueError(f"protocol {rules.name!r} reports no figure for this document alone")
    line = signature(rules, n=1, options=options)
    plain = {"score": own, "figures": figures, "signature": line, "notes": notes}
    shown = html(
        "document_figures.html",
        score=own,
        reported=figures,
        rules=rules,
        notes=list(map(in_page_words, notes)),
        signature=line,
    )
    return Scored(plain, shown, "", "")


def _by_protocols(given: Any, expected: Any, chosen: Rules, options: Mapping[str, Any] | None) -> str:
    """Return the HTML of the score of a document under every protocol that can score it."""
    count = _count(given) + _count(expected)
    if count > _MAX_VALUES_BY_PROTOCOLS:
        return html("document_protocols.html", found=None, most=_MAX_VALUES_BY_PROTOCOLS)
    alternatives = has_alternatives(expected)  # which benchmarks do not know
    rules = [name for name, own in OF_DOCUMENTS.items() if isinstance(own, Protocol) or not alternatives]
    found = compare_documents([given], [expected], rules, 0, {chosen.name: of_one(chosen, options)})
    names = sorted(found.means, key=lambda name: (name != chosen.name, -found.means[name], name))
    left_out = [name for name in OF_DOCUMENTS if name not in rules]
    return html(
        "document_protocols.html", found=found, names=names, chosen=chosen.name, rules=OF_DOCUMENTS, left_out=left_out
    )


def _count(tree: Any) -> int:
    """Return the number of values in a tree."""
    level = [tree]
    for value in level:
        level += value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return len(level)
