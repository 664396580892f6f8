"""A ranking of systems as a Markdown, CSV, HTML or JSON file."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anls_eval.files.write import check_replaceable, whole_file
from anls_eval.statistics import Ranking
from anls_eval.submission.systems import ranking_as_json

_COLUMNS = ("rank", "group", "system", "score", "low", "high", "questions")
_ABOUT_GROUPS = "The group of a system is 1 plus the number of systems that are significantly better."


def write_leaderboard(path: Path, ranking: Ranking, skipped: Mapping[str, str], signature: str) -> None:
    """Write a ranking, with the files that were skipped and why, in the format of the file extension."""
    check_replaceable(path)
    text = leaderboard_format(path)(ranking, skipped, signature)
    with whole_file(path) as unfinished:
        # File names need not be UTF-8.
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


def leaderboard_format(path: Path) -> Callable[[Ranking, Mapping[str, str], str], str]:
    """Return the function that writes the format of a file extension, or raise a ValueError if there is none."""
    make = _FORMATS.get(path.suffix.lower())
    if make is None:
        raise ValueError(f"{path}: unknown file extension; expected one of {', '.join(_FORMATS)}")
    return make


def leaderboard_as_json(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> dict[str, Any]:
    """Return the ranking and the skipped files as plain JSON values."""
    left_out = [{"file": name, "reason": reason} for name, reason in skipped.items()]
    return {**ranking_as_json(ranking), "skipped": left_out, "signature": signature}


def _rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """Return one row of texts for each system, best first."""
    rows = []
    for own in ranking.systems:
        figures = (f"{figure:.6f}" for figure in (own.score, own.interval.low, own.interval.high))
        rows.append((str(own.rank), str(own.rank_group), own.name, *figures, str(own.interval.n)))
    return rows


def _markdown(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    def cell(text: str) -> str:
        return html.escape(text, quote=False).replace("|", "\\|").replace("\n", " ")

    lines = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in _rows(ranking)]
    lines += ["", _ABOUT_GROUPS, "", f"`{signature}`"]
    if skipped:
        lines += ["", "Skipped:", "", *(f"- {cell(name)}: {cell(reason)}" for name, reason in skipped.items())]
    return "\n".join(lines) + "\n"


def _csv(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    text = io.StringIO(newline="")
    rows = [tuple(map(_without_formula, row)) for row in _rows(ranking)]
    csv.writer(text).writerows([(*_COLUMNS, "signature"), *((*row, signature) for row in rows)])
    return text.getvalue()


def _without_formula(text: str) -> str:
    """Quote a cell that a spreadsheet would run as a formula: other people name the files."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _html(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    from anls_eval.report.render import render_page  # loads Jinja and all of the report, which only HTML needs

    rows = _rows(ranking)
    return render_page(
        "leaderboard.html", signature, columns=_COLUMNS, rows=rows, about_groups=_ABOUT_GROUPS, skipped=skipped
    )


def _json(ranking: Ranking, skipped: Mapping[str, str], signature: str) -> str:
    return json.dumps(leaderboard_as_json(ranking, skipped, signature), ensure_ascii=False, indent=2) + "\n"


_FORMATS = {".md": _markdown, ".csv": _csv, ".html": _html, ".json": _json}
