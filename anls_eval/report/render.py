"""The report as one HTML file that opens anywhere, and asks for nothing else."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from anls_eval.explanation.answers import AnswerComparison
from anls_eval.files.write import whole_file
from anls_eval.report import figures
from anls_eval.report.content import Report, collect
from anls_eval.report.system import System
from anls_eval.text.characters import visible

_MOST_SHOWN = 400  # characters of a text; of one in the table of questions, fewer
_TEMPLATES = resources.files("anls_eval.report") / "templates"

LOSSES = {
    "exact": "Nothing was lost.",
    "no_answer": "No answer was given.",
    "refused": "The prediction says that there is no answer, and there is one.",
    "formatting": "Right to a person: only case, punctuation, signs or the way of writing a date differ.",
    "partial_or_verbose": "The words of the answer stand in the prediction, or those of the prediction in the answer.",
    "false_answer": "There is no answer, and the prediction gives one.",
    "misread": "Another text, close enough to score.",
    "wrong": "Another text, which scores 0.",
}
"""What each class of `losses.LOSS_CLASSES` means, for readers."""


_COMMON_SIGNS = str.maketrans("␠␉␊", "␣⇥↵")  # of what is common: these are in more fonts than control pictures


def write_report(
    path: str | os.PathLike[str],
    system: System,
    other: System | None = None,
    *,
    date: datetime.date | None = None,
) -> None:
    r"""Write the report of a system, or of two that are compared, as one HTML file.

    The file is written under another name in the same folder and then renamed, so that a file that was there before
    stays as it was until the new one is whole.

    Args:
        path: The file.
        system: From `systems.read_system`.
        other: A system to compare it with, scored by the same protocol on the same questions.
        date: The date to print; by default today's.

    Raises:
        ValueError: The two systems were scored by different protocols, or on different questions; or the file cannot
            be written.

    Example:
        >>> import tempfile
        >>> from anls_eval.files import open_predictions, open_references
        >>> from anls_eval.report import read_system
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "ours.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
        >>> _ = (folder / "references.csv").write_text("id,answer\n1,Lima\n2,Rome\n")
        >>> system = read_system(open_predictions(folder / "ours.csv"), open_references(folder / "references.csv"))
        >>> write_report(folder / "report.html", system)
        >>> "0.8750" in (folder / "report.html").read_text()
        True
    """
    path = Path(path)
    html = render_report(system, other, date=date)
    with whole_file(path) as unfinished:
        unfinished.write_text(html, encoding="utf-8", newline="\n")


def render_report(
    system: System,
    other: System | None = None,
    *,
    date: datetime.date | None = None,
) -> str:
    """Give the report as HTML.

    Args:
        system: As in `write_report`.
        other: The same.
        date: The same.

    Returns:
        The whole document.

    Raises:
        ValueError: As in `write_report`.
    """
    return render(collect(system, other, date=date or datetime.date.today()))


def render(report: Report) -> str:
    """Give the HTML of what `content.collect` found.

    Every text is escaped by the template. The style and the script are the only ones that the browser accepts, by
    their hashes, and nothing is fetched from anywhere.
    """
    style, script = (_TEMPLATES.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    template = environment().get_template("report.html")
    return template.render(
        report=report,
        figures=figures,
        losses=LOSSES,
        policy=policy,
        style=Markup(style),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - the same
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def environment() -> jinja2.Environment:
    """The templates of the report, with the filters that they use."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("anls_eval.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": lambda value: f"{value:,}",
        "p_value": lambda value: "< 0.001" if value < 0.001 else f"= {value:.3f}",
        "percent": _percent,
        "runs": runs,
        "score": lambda value: f"{value:.4f}",
        "sentence": lambda text: text[:1].upper() + text[1:] + "." * (not text.endswith(".")),
        "shown": shown,
        "signed": lambda value: f"{value:+.4f}".replace("-", "\u2212"),
    }
    return environment


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u202f%"


def shown(text: str, most: int = _MOST_SHOWN) -> str:
    r"""Cut a text that is too long, and make all its characters visible.

    Example:
        >>> shown("a" * 10, 4), shown("one\ttwo")
        ('aaaa…', 'one⇥two')
    """
    return visible(text[:most]).translate(_COMMON_SIGNS) + "…" * (len(text) > most)


def runs(comparison: AnswerComparison, side: str) -> list[tuple[str, str]]:
    """Give the characters of one side in runs that are equal or that one edit changes.

    Args:
        comparison: Of a prediction with an answer.
        side: ``"answer"`` or ``"prediction"``.

    Returns:
        The operation and the characters of each run, in which changed blanks are made visible; cut if too long.
    """
    found, left = [], _MOST_SHOWN
    for span in comparison.spans:
        text = getattr(span, side)
        if text:
            changed = span.operation != "equal"
            seen = shown(text[: max(left, 0)])
            found.append((span.operation, seen.replace(" ", "␣") if changed else seen))
            left -= len(text)
        if left < 0:
            return [*found, ("equal", "…")]
    return found
