"""A ranking of systems as a file: Markdown, CSV, HTML or JSON."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anls_eval.files.write import whole_file
from anls_eval.statistics import Ranking
from anls_eval.submission.systems import ranking_as_json

COLUMNS = ("rank", "group", "system", "score", "low", "high", "questions")


def table_rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """Give one row of texts for each system, best first, under `COLUMNS`.

    Args:
        ranking: From `statistics.rank_systems`.

    Returns:
        The rows; the scores from 0 to 1 with six digits, low and high as the bounds of the interval.
    """
    return [
        (
            str(own.rank),
            str(own.rank_group),
            own.name,
            f"{own.score:.6f}",
            f"{own.interval.low:.6f}",
            f"{own.interval.high:.6f}",
            str(own.interval.n),
        )
        for own in ranking.systems
    ]


def write_leaderboard(path: Path, ranking: Ranking, skipped: Mapping[str, str], signature: str) -> None:
    """Write a ranking, in the form that the ending of the name says.

    Args:
        path: Ends in .md, .csv, .html or .json.
        ranking: From `statistics.rank_systems`.
        skipped: Files that could not be scored, with the reason.
        signature: How the scores were computed.

    Raises:
        ValueError: The ending is another one, or the file cannot be written.
    """
    text = leaderboard_form(path)(ranking, skipped, signature)
    with whole_file(path) as unfinished:
        # The name of a file need not be UTF-8.
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


def leaderboard_form(path: Path) -> Callable[[Ranking, Mapping[str, str], str], str]:
    """Give what makes the text of a file, by the ending of its name.

    Args:
        path: Ends in .md, .csv, .html or .json.

    Raises:
        ValueError: The ending is another one.
    """
    make = _FORMS.get(path.suffix.lower())
    if make is None:
        raise ValueError(f"{path}: expected a name in {', '.join(_FORMS)}")
    return make


def _markdown(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    def cell(text: str) -> str:
        return html.escape(text, quote=False).replace("|", "\\|").replace("\n", " ")

    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in table_rows(ranking)]
    lines += ["", "Among these systems, those of one group cannot be told apart from its best.", "", f"`{signature}`"]
    lines += ["", "Skipped:", "", *(f"- {cell(name)}: {cell(why)}" for name, why in skipped.items())] if skipped else []
    return "\n".join(lines) + "\n"


def _csv(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    rows = [tuple(map(_no_formula, row)) for row in table_rows(ranking)]
    writer.writerows([(*COLUMNS, "signature"), *((*row, signature) for row in rows)])
    return text.getvalue()


def _no_formula(text: str) -> str:
    """A cell that a spreadsheet shows: names of files are those of other people, and could begin a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _html(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    def cells(row: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(own)}</{tag.partition(' ')[0]}>" for own in row) + "</tr>"

    body = "\n".join(cells(row, "td") for row in table_rows(ranking))
    left_out = "".join(f"<li>{html.escape(name)}: {html.escape(why)}</li>" for name, why in skipped.items())
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>ANLS leaderboard</title>
<style>
:root {{color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif}}
body {{max-width: 60rem; margin: 2rem auto; padding: 0 1rem}}
table {{border-collapse: collapse; font-variant-numeric: tabular-nums}}
th, td {{padding: .3rem .8rem; text-align: left; border-bottom: 1px solid #8884}}
code {{overflow-wrap: anywhere}}
</style>
<h1>ANLS leaderboard</h1>
<table>
<thead>{cells(COLUMNS, 'th scope="col"')}</thead>
<tbody>
{body}
</tbody>
</table>
<p>Among these systems, those of one group cannot be told apart from its best.</p>
<p><code>{html.escape(signature)}</code></p>
{f"<h2>Skipped</h2><ul>{left_out}</ul>" if skipped else ""}
</html>
"""


def _json(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    return json.dumps(leaderboard_as_json(ranking, skipped, signature), ensure_ascii=False, indent=2) + "\n"


def leaderboard_as_json(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> dict[str, Any]:
    """Give the ranking with what was skipped as plain JSON values."""
    left_out = [{"file": name, "reason": why} for name, why in skipped.items()]
    return {**ranking_as_json(ranking), "skipped": left_out, "signature": signature}


_FORMS = {".md": _markdown, ".csv": _csv, ".html": _html, ".json": _json}
