"""The report as one self-contained HTML file."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from anls_eval.analysis.losses import LOSS_CLASSES
from anls_eval.decisions.words import ACCEPTANCE_HEADER, acceptance_cells
from anls_eval.files.write import check_replaceable, whole_file
from anls_eval.markup import DARK, FONTS, LIGHT, MARKS
from anls_eval.report import figures
from anls_eval.report.content import MAX_ERRORS, Report, collect
from anls_eval.report.system import System
from anls_eval.text.marked import alignment_html, shown_text

_TEMPLATES = resources.files("anls_eval.report") / "templates"


def write_report(
    path: str | os.PathLike[str], system: System, other: System | None = None, *, date: datetime.date | None = None
) -> None:
    r"""Write a self-contained HTML report of one system, or a comparison of two.

    Args:
        path: The file to write. An existing file stays intact until the new one is complete.
        system: From `read_system`.
        other: A system to compare with, scored under the same protocol on the same questions.
        date: Date to print. Defaults to today.

    Raises:
        ValueError: The two systems were scored under different protocols or on different questions, or the file cannot
            be written.

    Example:
        >>> import tempfile
        >>> from anls_eval import open_predictions, open_references
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
    check_replaceable(path)
    html = render_report(system, other, date=date)
    with whole_file(path) as unfinished:
        unfinished.write_text(html, encoding="utf-8", newline="\n")


def render_report(system: System, other: System | None = None, *, date: datetime.date | None = None) -> str:
    """Return the report of `write_report` as HTML."""
    return render(collect(system, other, date=date or datetime.date.today()))


def render(report: Report) -> str:
    """Return the HTML of a report: all texts are escaped, only its own style and script run, and nothing is fetched."""
    style, script = page_style(), _TEMPLATES.joinpath("script.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            figures=figures,
            acceptance_header=ACCEPTANCE_HEADER,
            whole_acceptances=_whole_acceptances(report),
            field_acceptances=_field_acceptances(report),
            max_errors=[f"{most:.0%}" for most in MAX_ERRORS],
            losses=LOSS_CLASSES,
            policy=policy,
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
        )
    )


def _whole_acceptances(report: Report) -> list[tuple[str, ...]]:
    """Return a row for each share of errors."""
    if report.automation is None:
        return []
    rows = zip(MAX_ERRORS, report.automation.whole, strict=True)
    return [(f"{most:.0%}", *acceptance_cells(own)) for most, own in rows]


def _field_acceptances(report: Report) -> list[tuple[str, ...]]:
    """Return a row for each field: its share at each share of errors."""
    fields = () if report.automation is None else report.automation.by_field
    return [(path, *(f"{own.share:.1%}" if own.is_shown else "-" for own in found)) for path, found in fields]


def render_page(template: str, signature: str, **content: object) -> str:
    """Return a page that extends page.html: one without the parts and the script of a report."""
    style = Markup(page_style())  # noqa: S704 - our own file
    return environment().get_template(template).render(style=style, signature=signature, **content)


def page_style() -> str:
    """Return the style sheet of reports: the colours and marks that notebooks have too, and the file's."""
    own = _TEMPLATES.joinpath("style.css").read_text(encoding="utf-8")
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}"
    return f":root {{ color-scheme: light dark; {LIGHT} {FONTS} }}\n{dark}\n{own}{MARKS}"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def environment() -> jinja2.Environment:
    """Return the environment of the report's templates, with their filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("anls_eval.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "alignment": lambda spans: Markup(alignment_html(spans)),  # noqa: S704 - which escapes the texts
        "count": lambda value: f"{value:,}",
        "p_value": lambda value: "< 0.001" if value < 0.001 else f"= {value:.3f}",
        "percent": lambda share: f"{100 * share:.1f}\u202f%",
        "score": lambda value: f"{value:.4f}",
        "sentence": lambda text: text[:1].upper() + text[1:] + "." * (not text.endswith(".")),
        "shown": shown_text,
        "signed": lambda value: f"{value:+.4f}".replace("-", "\u2212"),
    }
    return environment
