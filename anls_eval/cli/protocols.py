"""The output of ``anls protocols``."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

from rich.table import Table
from rich.text import Text

from anls_eval.cli.tables import plain_table
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS, Benchmark, Leaderboard
from anls_eval.registry import get_rules, signature
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words


def protocol_table() -> Table:
    """Return all protocols, one in a line, by family; the common ones come first."""
    table = plain_table("protocol", "also", "scores", "keeps", "used by, or what it reports")
    for title, of_trees in (("Texts", False), ("Trees", True)):
        _start_family(table, title)
        for name, rules in PROTOCOLS.items():
            if bool(rules.tree) == of_trees:
                everything = rules.keep == ">=" and not rules.exact_threshold
                keeps = "all" if everything else f"{rules.keep} {rules.threshold}"
                kind = "trees" if of_trees else "texts"
                table.add_row(name, ", ".join(rules.aliases), kind, keeps, ", ".join(rules.leaderboards))
    _start_family(table, "Leaderboards of questions")
    for name, board in LEADERBOARDS.items():
        scores = "by type" if board.answer_types else "texts"
        table.add_row(name, ", ".join(board.aliases), scores, "", re.split("[,;]", board.source)[0])
    for family, group in itertools.groupby(BENCHMARKS.values(), lambda own: own.family):
        _start_family(table, family)
        for own in group:
            table.add_row(own.name, ", ".join(own.aliases), f"{own.unit}s", "", own.reports)
    return table


def _start_family(table: Table, title: str) -> None:
    if table.row_count:
        table.add_row("")
    table.add_row(Text(title, style="bold"))


def protocol_text(name: str) -> str:
    """Return the full description of one protocol."""
    rules = get_rules(name)
    lines = [rules.name]
    if rules.aliases:
        lines.append(f"also: {', '.join(rules.aliases)}")
    if isinstance(rules, Protocol):
        users = [f"used by: {', '.join(rules.leaderboards)}"] if rules.leaderboards else []
        lines += [*users, "", *(f"- {words}" for words in in_words(rules).values())]
        return "\n".join([*lines, "", f"source: {rules.source}", "", signature(rules)])
    types = [f"answer types: {', '.join(rules.answer_types)}"] if rules.answer_types else []
    reports = [f"reports: {rules.reports}"] if isinstance(rules, Benchmark) else []
    options = [f"options: {', '.join(rules.options)}"] if isinstance(rules, Benchmark) and rules.options else []
    ties = [f"ties: {rules.ties}"] if isinstance(rules, Benchmark) and rules.ties else []
    return "\n".join([*lines, "", rules.description, *types, *options, *reports, *ties, "", f"source: {rules.source}"])


def protocols_as_json(name: str | None) -> Any:
    """Return one protocol, or all of them by name, as plain JSON values."""
    if name is not None:
        return _plain(get_rules(name))
    return {own: _plain(get_rules(own)) for own in (*PROTOCOLS, *LEADERBOARDS, *BENCHMARKS)}


def _plain(rules: Protocol | Leaderboard | Benchmark) -> dict[str, Any]:
    if isinstance(rules, Protocol):
        plain = dataclasses.asdict(rules) | {"threshold": float(rules.threshold), "signature": signature(rules)}
        del plain["exact_threshold"]
        return plain
    names = ["name", "aliases", "description", "answer_types", "reports", "source"]
    if isinstance(rules, Benchmark):
        names += ["family", "headline", "unit", "options", "depends_on_ties"]
    return {name: getattr(rules, name) for name in names}
