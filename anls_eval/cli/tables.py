"""Tables and texts that the command line prints."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anls_eval.cli.column_names import shortened
from anls_eval.explanation.result import walk_keys
from anls_eval.text.characters import aligned_lines
from anls_eval.text.visible import one_line

if TYPE_CHECKING:  # what the other commands show is not imported
    from rich.table import Table

    from anls_eval.analysis.causes import Diagnosis
    from anls_eval.check.problem import CheckReport
    from anls_eval.explanation.answers import AnswersExplanation
    from anls_eval.statistics import Ranking
    from anls_eval.statistics.groups import GroupDifference
    from anls_eval.submission.score import Group, SubmissionScore


_METRIC_NAMES = {"anls_score": "ANLS", "anls_star_score": "ANLS*", "score": "score"}


def plain_table(*columns: str) -> Table:
    """Return an empty table with these columns."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(columns))
    for number, name in enumerate(columns):
        table.add_column(name, no_wrap=not number, overflow="fold")
    return table


def answers_text(found: AnswersExplanation) -> str:
    """Return the score and the alignment with each answer, the closest one marked."""
    lines = [f"score {found.score:.6g}"]
    if found.raw_prediction is not None:
        lines += ["", f"taken out of: {one_line(found.raw_prediction)}"]
    if found.rule:
        lines += ["", textwrap.fill(f"{found.protocol}: {found.rule}", 100)]
    for number, own in enumerate(found.comparisons):
        mark = " (closest)" if number == found.closest and len(found.comparisons) > 1 else ""
        answer, prediction, marks = aligned_lines(own.compared_answer, own.compared_prediction)
        lines += ["", f"{own.answer}{mark}", f"  {own.sentence}"]
        if own.distance:
            lines += [f"    answer      {answer}", f"    prediction  {prediction}", f"                {marks}"]
    return "\n".join([*lines, "", found.signature])


def submission_table(result: SubmissionScore) -> Table:
    """Return a table of the score, the counts and the breakdowns."""
    from rich.text import Text

    table = plain_table("", "")
    table.add_row(_METRIC_NAMES[result.metric], f"{result.score:.6f}")
    interval = result.interval
    clusters = "" if interval.clusters is None else f", {interval.clusters:,} clusters"
    table.add_row(f"{interval.level:.0%} interval", f"{interval.low:.6f} to {interval.high:.6f}{clusters}")
    if result.extraction is not None:
        table.add_row("without extraction", f"{result.extraction.score_without:.6f}")
        table.add_row("changed by extraction", f"{result.extraction.changed:,}")
    for name, figure in result.figures.items():
        table.add_row(name, f"{figure:.6f}")
    table.add_row("questions", f"{result.n:,}")
    for name in ("missing", "unknown", "unanswered"):
        if getattr(result, name):
            table.add_row(name, f"{getattr(result, name):,}")
    columns = shortened(result.by)
    sections = [
        (columns[column], [(value, group.score, _bounds(group, result), group.n) for value, group in groups.items()])
        for column, groups in result.by.items()
    ]
    if result.key_scores:
        nodes: dict[str, Any] = dict(result.key_scores)
        keys = walk_keys(nodes, lambda node: node["children"])
        sections.append(("key", [(".".join(path), own["anls_score"], "", own["documents"]) for path, own in keys]))
    for column, rows in sections:
        table.add_row("", "")
        table.add_row(Text(f"by {column}"), "")
        names = shortened(name for name, *_ in rows)
        for name, score, bounds, n in rows:
            table.add_row(Text(f"  {names[name]}"), f"{score:.6f}{bounds}  of {n:,}")
    for column, macro in result.macro.items():
        table.add_row("", "")
        bounds = "" if macro.interval is None else _bounds(macro, result)
        table.add_row(Text(f"mean over the groups of {columns[column]}"), f"{macro.score:.6f}{bounds}")
        for note in () if macro.interval is None else macro.interval.notes:
            table.add_row("", note)
    return table


def _bounds(group: Group, result: SubmissionScore) -> str:
    if group.interval is not None:
        return f"  ({group.interval.low:.6f} to {group.interval.high:.6f})"
    return "" if result.interval.clusters is None else "  (one document)"


_SHOWN_CAUSES = 10


def diagnosis_text(found: Diagnosis) -> str:
    """Return the conclusion and the possible causes, simplest first."""
    lines = [found.conclusion, ""]
    for number, cause in enumerate(found.causes[:_SHOWN_CAUSES], start=1):
        lines.append(f"{number}. {cause.reason}")
        if cause.also:
            lines.append(f"   The same score: {', '.join(cause.also)}.")
    if len(found.causes) > _SHOWN_CAUSES:
        lines.append(f"and {len(found.causes) - _SHOWN_CAUSES} more; --json lists all")
    what, plain = ("documents", "anls_star") if found.of_documents else ("questions", "standard")
    return "\n".join(
        [*lines, "", f"{found.n:,} {what}; {found.tried:,} ways tried; {plain} gives {found.standard:.6f}."]
    )


def diagnosis_as_json(found: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis as plain JSON values."""
    plain = dataclasses.asdict(found)
    for cause in plain["causes"]:
        cause["threshold"] = float(cause["threshold"])
    return plain


def verdicts(ranking: Ranking, by: Mapping[str, Sequence[GroupDifference]]) -> list[str]:
    """Return what the best system means beside the next one, in a sentence."""
    from anls_eval.submission.verdict import verdict

    if not ranking.comparisons:
        return []
    pair = ranking.comparisons[0]
    own = {
        column: [group for group in groups if (group.a, group.b) == (pair.a, pair.b)] for column, groups in by.items()
    }
    names = shortened((pair.a, pair.b))
    return [verdict((names[pair.a], names[pair.b]), pair.comparison, own, pair.p_adjusted)]


def ranking_table(ranking: Ranking) -> Table:
    """Return a table of the systems, best first."""
    from rich.text import Text

    from anls_eval.statistics.intervals import IN_PERCENT

    table = plain_table("rank", "group", "system", "score", f"{IN_PERCENT} interval")
    names = shortened(own.name for own in ranking.systems)
    for own in ranking.systems:
        interval = f"{own.interval.low:.4f} to {own.interval.high:.4f}"
        table.add_row(str(own.rank), str(own.rank_group), Text(names[own.name]), f"{own.score:.6f}", interval)
    return table


def comparison_table(ranking: Ranking) -> Table:
    """Return a table of the pairs of systems."""
    from rich.text import Text

    from anls_eval.statistics.intervals import IN_PERCENT, p_value_words

    table = plain_table("", "difference", f"{IN_PERCENT} interval", "p", "p (Holm)", "wins", "losses", "ties")
    names = shortened(own.name for own in ranking.systems)
    for pair in ranking.comparisons:
        own = pair.comparison
        table.add_row(
            Text(f"{names[pair.a]} - {names[pair.b]}"),
            f"{own.difference:.4f}",
            f"{own.interval.low:.4f} to {own.interval.high:.4f}",
            p_value_words(own.p_value),
            p_value_words(pair.p_adjusted),
            *map(str, (own.wins, own.losses, own.ties)),
        )
    return table


def differences_table(title: str, what: str, differences: Sequence[GroupDifference]) -> Table:
    """Return a table of the differences between systems by group."""
    from rich.text import Text

    from anls_eval.statistics.intervals import IN_PERCENT, p_value_words

    [heading] = shortened([title]).values()
    table = plain_table(heading, "", what, "difference", f"{IN_PERCENT} interval", "p", "p (Holm)")
    groups = shortened(own.group for own in differences)
    names = shortened(name for own in differences for name in (own.a, own.b))
    for own in differences:
        table.add_row(
            Text(groups[own.group]),
            Text(f"{names[own.a]} - {names[own.b]}"),
            f"{own.n:,}",
            f"{own.comparison.difference:.4f}",
            "one document" if own.interval is None else f"{own.interval.low:.4f} to {own.interval.high:.4f}",
            p_value_words(own.comparison.p_value),
            p_value_words(own.p_adjusted),
        )
    return table


_FEW = 5  # problems of one code that are printed
_LABELS = {"scored": "costs points"}


def check_text(report: CheckReport) -> str:
    """Return the problems by code, most severe first, with the first rows of each, and the verdict."""
    rules = f"against the rules of the portal {report.portal}" if report.portal else "without portal rules"
    lines = [f"{report.path}: {report.format}, {report.n:,} rows, checked {rules}"]
    for code, count in report.counts.items():
        own = [problem for problem in report.problems if problem.code == code]
        fixable = report.mendable.get(code, 0)
        by_fix = "" if not fixable else ", fixed by --fix" if fixable == count else f", {fixable:,} fixed by --fix"
        lines += ["", f"{_LABELS.get(own[0].severity, own[0].severity)}: {code}, {count:,}{by_fix}. {own[0].remedy}"]
        for problem in own[:_FEW]:
            where = (problem.place, None if problem.question_id is None else f"question_id {problem.question_id}")
            lines.append(f"  {': '.join([', '.join(filter(None, where)), problem.found]).removeprefix(': ')}")
        if count > _FEW:
            lines.append(f"  and {count - _FEW:,} more")
    return "\n".join([*lines, "", _verdict(report)])


def fixed_text(before: CheckReport, after: CheckReport) -> str:
    """Return what was fixed and what remains."""
    left = ", ".join(f"{code} {count:,}" for code, count in after.counts.items())
    fixes = sum(before.mendable.values())
    written = f"{after.path}: written with {fixes:,} {'fix' if fixes == 1 else 'fixes'}"
    return f"{written}. {_verdict(after)}{f' Remaining: {left}.' if left else ''}"


def _verdict(report: CheckReport) -> str:
    judge = "The portal" if report.portal else "`anls score`"
    if report.refused:
        return f"{judge} would reject this file."
    return f"{judge} would accept this file." if report.counts else "No problems found."
