"""What the command line shows, as rich tables and text."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anls_eval.cli.column_names import shortened
from anls_eval.leaderboards.rules import LEADERBOARDS, Leaderboard, get_leaderboard
from anls_eval.registry import get_protocol, signature
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.submission.scorers import PROTOCOL_NAMES, is_leaderboard
from anls_eval.text.characters import aligned_lines

if TYPE_CHECKING:  # what the other commands show is not imported
    from anls_eval.analysis.diagnosis import Diagnosis
    from anls_eval.check.check import CheckReport
    from anls_eval.explanation.answers import AnswersExplanation
    from anls_eval.statistics.intervals import Ranking
    from anls_eval.submission.score import SubmissionScore


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(columns))
    for number, name in enumerate(columns):
        table.add_column(name, no_wrap=not number, overflow="fold")
    return table


# Protocols


def protocol_table() -> Table:
    """All protocols, one in a line."""
    table = _table("protocol", "also", "scores", "keeps", "used by")
    for name, rules in PROTOCOLS.items():
        scores = "trees" if rules.tree else "texts"
        everything = rules.keep == ">=" and not rules.exact_threshold
        keeps = "all" if everything else f"{rules.keep} {rules.threshold}"
        table.add_row(name, ", ".join(rules.aliases), scores, keeps, ", ".join(rules.leaderboards))
    for name, board in LEADERBOARDS.items():
        scores = "by type" if board.answer_types else "texts"
        table.add_row(name, ", ".join(board.aliases), scores, "", board.source.partition(",")[0])
    return table


def protocol_text(name: str) -> str:
    """All of one protocol."""
    from anls_eval.protocol_words import in_words

    rules = get_protocol_or_leaderboard(name)
    lines = [rules.name]
    if rules.aliases:
        lines.append(f"also: {', '.join(rules.aliases)}")
    if isinstance(rules, Leaderboard):
        lines += ["", rules.description]
        if rules.answer_types:
            lines.append(f"answer types: {', '.join(rules.answer_types)}")
    else:
        if rules.leaderboards:
            lines.append(f"used by: {', '.join(rules.leaderboards)}")
        lines += ["", *(f"- {words}" for words in in_words(rules).values())]
    lines += ["", f"source: {rules.source}"]
    if isinstance(rules, Protocol):
        lines += ["", signature(rules)]
    return "\n".join(lines)


def protocols_as_json(name: str | None) -> Any:
    """One protocol, or all by their names, as plain JSON values."""
    if name is not None:
        return _plain(get_protocol_or_leaderboard(name))
    return {own: _plain(get_protocol_or_leaderboard(own)) for own in PROTOCOL_NAMES}


def get_protocol_or_leaderboard(name: str) -> Protocol | Leaderboard:
    """The rules of a name, of either kind."""
    return get_leaderboard(name) if is_leaderboard(name) else get_protocol(name)


def _plain(rules: Protocol | Leaderboard) -> dict[str, Any]:
    if isinstance(rules, Leaderboard):
        return {
            "name": rules.name,
            "aliases": list(rules.aliases),
            "description": rules.description,
            "answer_types": list(rules.answer_types),
            "reports": list(rules.reports),
            "source": rules.source,
        }
    plain = dataclasses.asdict(rules)
    plain["threshold"] = float(rules.threshold)
    del plain["exact_threshold"]
    return {**plain, "signature": signature(rules)}


# One answer


def answers_text(found: AnswersExplanation) -> str:
    """The score, and each answer with its alignment, the closest marked."""
    lines = [f"score {found.score:.6g}"]
    if found.rule:
        lines += ["", textwrap.fill(f"{found.protocol}: {found.rule}", 100)]
    for number, own in enumerate(found.comparisons):
        mark = " (the closest)" if number == found.closest and len(found.comparisons) > 1 else ""
        answer, prediction, marks = aligned_lines(own.compared_answer, own.compared_prediction)
        lines += ["", f"{own.answer}{mark}", f"  {own.sentence}"]
        if own.distance:
            lines += [f"    answer      {answer}", f"    prediction  {prediction}", f"                {marks}"]
    return "\n".join([*lines, "", found.signature])


# Submissions


def submission_table(result: SubmissionScore) -> Table:
    """The score, what it is of, and its breakdowns."""
    table = _table("", "")
    table.add_row("ANLS*" if result.metric == "anls_star_score" else "ANLS", f"{result.score:.6f}")
    interval = result.interval
    clusters = "" if interval.clusters is None else f", {interval.clusters:,} clusters"
    table.add_row(f"{interval.level:.0%} interval", f"{interval.low:.6f} to {interval.high:.6f}{clusters}")
    for name, figure in result.figures.items():
        table.add_row(name, f"{figure:.6f}")
    table.add_row("questions", f"{result.n:,}")
    for name in ("missing", "unknown", "unanswered"):
        if getattr(result, name):
            table.add_row(name, f"{getattr(result, name):,}")
    columns = shortened(result.by)
    for column, groups in result.by.items():
        table.add_row("", "")
        table.add_row(Text(f"by {columns[column]}"), "")
        names = shortened(groups)
        for value, group in groups.items():
            table.add_row(Text(f"  {names[value]}"), f"{group.score:.6f}  of {group.n:,}")
    if result.key_scores:
        table.add_row("", "")
        table.add_row("by key", "")
        rows = _key_rows(result.key_scores)
        names = shortened(path for path, _ in rows)
        for path, node in rows:
            table.add_row(Text(f"  {names[path]}"), f"{node['anls_score']:.6f}  of {node['documents']:,}")
    return table


def _key_rows(nodes: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    rows = []
    stack = [(key, node) for key, node in reversed(nodes.items())]
    while stack:
        path, node = stack.pop()
        rows.append((path, node))
        stack += [(f"{path}.{key}", child) for key, child in reversed(node["children"].items())]
    return rows


# Diagnosis

_SHOWN_CAUSES = 10


def diagnosis_text(found: Diagnosis) -> str:
    """The conclusion, and the causes from the simplest on."""
    lines = [found.conclusion, ""]
    for number, cause in enumerate(found.causes[:_SHOWN_CAUSES], start=1):
        lines.append(f"{number}. {cause.reason}")
        if cause.also:
            lines.append(f"   The same by {', '.join(cause.also)}.")
    if len(found.causes) > _SHOWN_CAUSES:
        lines.append(f"and {len(found.causes) - _SHOWN_CAUSES} more, which --json gives")
    return "\n".join(
        [*lines, "", f"{found.n} questions, {found.tried:,} ways tried, standard gives {found.standard:.6f}."]
    )


def diagnosis_as_json(found: Diagnosis) -> dict[str, Any]:
    """The same as plain JSON values."""
    plain = dataclasses.asdict(found)
    for cause in plain["causes"]:
        cause["threshold"] = float(cause["threshold"])
    return plain


# Several systems


def ranking_table(ranking: Ranking) -> Table:
    """The systems, best first."""
    table = _table("rank", "group", "system", "score", "95% interval")
    names = shortened(own.name for own in ranking.systems)
    for own in ranking.systems:
        interval = f"{own.interval.low:.4f} to {own.interval.high:.4f}"
        table.add_row(str(own.rank), str(own.rank_group), Text(names[own.name]), f"{own.score:.6f}", interval)
    return table


def comparison_table(ranking: Ranking) -> Table:
    """Each pair of systems, side by side."""
    table = _table("", "difference", "95% interval", "p", "p, Holm", "wins", "losses", "ties")
    names = shortened(own.name for own in ranking.systems)
    for pair in ranking.comparisons:
        own = pair.comparison
        table.add_row(
            Text(f"{names[pair.a]} - {names[pair.b]}"),
            f"{own.difference:.4f}",
            f"{own.interval.low:.4f} to {own.interval.high:.4f}",
            f"{own.p_value:.4f}",
            f"{pair.p_adjusted:.4f}",
            *map(str, (own.wins, own.losses, own.ties)),
        )
    return table


# Check

_FEW = 5  # problems of one code that are printed


def check_text(report: CheckReport) -> str:
    """The problems by their code, the severest first, with the first rows of each, and the verdict."""
    if not report.is_readable:
        return report.problems[0].found
    rules = f"by the rules of the portal {report.portal}" if report.portal else "without the rules of a portal"
    lines = [f"{report.path}: {report.format}, {report.n:,} rows, checked {rules}"]
    for code, count in report.counts.items():
        own = [problem for problem in report.problems if problem.code == code]
        mendable = report.mendable.get(code, 0)
        by_fix = "" if not mendable else ", --fix mends it" if mendable == count else f", --fix mends {mendable:,}"
        lines += ["", f"{own[0].severity}: {code}, {count:,}{by_fix}. {own[0].remedy}"]
        for problem in own[:_FEW]:
            where = (problem.place, None if problem.question_id is None else f"question_id {problem.question_id}")
            lines.append(f"  {': '.join([', '.join(filter(None, where)), problem.found]).removeprefix(': ')}")
        if count > _FEW:
            lines.append(f"  and {count - _FEW:,} more")
    return "\n".join([*lines, "", _verdict(report)])


def mended_text(before: CheckReport, after: CheckReport) -> str:
    """What was mended, and what is left."""
    left = ", ".join(f"{code} {count:,}" for code, count in after.counts.items())
    mended = f"{after.path}: written with {sum(before.mendable.values()):,} mends"
    return f"{mended}. {_verdict(after)}{f' Left: {left}.' if left else ''}"


def _verdict(report: CheckReport) -> str:
    judge = "The portal" if report.portal else "`anls score`"
    if report.refused:
        return f"{judge} would refuse it."
    return f"{judge} would take it." if report.counts else "Nothing is wrong with it."
