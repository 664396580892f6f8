"""A gate's result in sentences, as rows of a table, as Markdown and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from anls_eval.decisions.gate import Comparison, GateResult, Minimum
from anls_eval.files.write import check_replaceable, whole_file
from anls_eval.statistics.intervals import IN_PERCENT
from anls_eval.text.visible import one_line

HEADER = ("", "questions", "changed", "old", "new", "difference", f"{IN_PERCENT} bounds", "verdict")


def verdict_line(result: GateResult) -> str:
    """Return the verdict in one line."""
    checks = result.checks
    named = [own for own in checks if own.verdict == result.verdict]
    more = f" {len(named) - 1} more {result.verdict}." if len(named) > 1 and result.verdict != "passed" else ""
    head: str = result.verdict
    if result.verdict == "undecided":
        head += " (fails: --strict)" if result.strict else " (passes; fails with --strict)"
    return f"{head}: {sentence_of(named[0], result.max_drop)}{more}"


def sentence_of(check: Comparison | Minimum, max_drop: float) -> str:
    """Return one sentence on a comparison."""
    if isinstance(check, Minimum):
        below = "below" if check.verdict == "failed" else "not below"
        found = f"the score is {check.score:.4f}, {below} the minimum of {check.minimum:g}"
        return f"{found}; with {IN_PERCENT} confidence it is at least {check.low:.4f}."
    found = f"{check.name}: {_change(check)}" if check.column else _change(check)
    least, most = -check.high, -check.low
    if check.verdict == "failed":
        return f"{found}; with {IN_PERCENT} confidence, a drop of at least {least:.4f}, more than {max_drop:g}."
    if check.verdict == "passed":
        worst = (
            f"a drop of at most {most:.4f}, less than {max_drop:g}" if most > 0 else f"a rise of at least {-most:.4f}"
        )
        return f"{found}; with {IN_PERCENT} confidence, {worst}."
    return f"{found}; a drop of more than {max_drop:g} is neither proven nor ruled out: it is at most {most:.4f}."


def _change(check: Comparison) -> str:
    if check.difference == 0:
        change = "the score is unchanged"
    else:
        direction = "dropped" if check.difference < 0 else "rose"
        change = f"the score {direction} by {abs(check.difference):.4f}"
    what = "documents" if check.is_field else "questions"
    return f"{change} ({check.changed:,} of {check.n:,} {what} changed)"


def cells(result: GateResult) -> list[tuple[str, ...]]:
    """Return the rows of the table under `HEADER`."""
    rows: list[tuple[str, ...]] = [
        (
            own.name,
            f"{own.n:,}" if own.documents is None else f"{own.n:,} in {own.documents:,} documents",
            f"{own.changed:,}",
            f"{own.old:.4f}",
            f"{own.new:.4f}",
            f"{own.difference:+.4f}",
            f"{own.low:+.4f} to {own.high:+.4f}",
            own.verdict,
        )
        for own in result.comparisons
    ]
    if (least := result.minimum) is not None:
        rows.append(
            (
                f"at least {least.minimum:g}",
                "",
                "",
                "",
                f"{least.score:.4f}",
                f"{least.score - least.minimum:+.4f}",
                f"{least.low - least.minimum:+.4f} or more",
                least.verdict,
            )
        )
    return rows


def as_text(result: GateResult) -> str:
    """Return the verdict and one sentence for every check, for the report of a test."""
    checks = result.checks
    lines = [f"- {own.verdict}: {one_line(sentence_of(own, result.max_drop))}" for own in checks]
    return "\n".join([one_line(verdict_line(result)), *lines, *result.notes, result.signature])


def as_markdown(result: GateResult) -> str:
    """Return the verdict and the table in Markdown, for the summary of a CI run."""
    rows = [HEADER, ("---",) * len(HEADER), *cells(result)]
    table = "\n".join(f"| {' | '.join(map(_markdown_cell, row))} |" for row in rows)
    head, _, sentence = verdict_line(result).partition(": ")
    notes = "".join(f"- {one_line(note)}\n" for note in result.notes)
    return f"**anls gate: {head}**: {_markdown_cell(sentence)}\n\n{table}\n\n{notes}`{result.signature}`\n"


def _markdown_cell(text: str) -> str:
    return one_line(text).translate({ord(sign): f"\\{sign}" for sign in "\\|*_`<[]"})


def as_junit(result: GateResult) -> bytes:
    """Return JUnit XML with one test case for each comparison; undecided is a failure only if strict."""
    checks = result.checks
    failing = {"failed", "undecided"} if result.strict else {"failed"}
    failures = sum(own.verdict in failing for own in checks)
    suites = ElementTree.Element("testsuites")
    counts = {"name": "anls gate", "tests": str(len(checks)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suite = ElementTree.SubElement(suites, "testsuite", counts)
    for own in checks:
        name = f"at least {own.minimum:g}" if isinstance(own, Minimum) else own.name
        case = ElementTree.SubElement(suite, "testcase", classname="anls.gate", name=one_line(name), time="0")
        sentence = f"{own.verdict}: {one_line(sentence_of(own, result.max_drop))}"
        if own.verdict in failing:
            ElementTree.SubElement(case, "failure", message=sentence, type=own.verdict)
        ElementTree.SubElement(case, "system-out").text = sentence
    ElementTree.indent(suites)
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file completely, or not at all."""
    check_replaceable(path)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(text.encode() if isinstance(text, str) else text)
