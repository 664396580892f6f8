"""What all tabs have in common: the look, and HTML from templates that escape every text."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

import jinja2

from anls_eval.report import figures
from anls_eval.report.render import environment

_REPORT = resources.files("anls_eval.report") / "templates"
_SPACE = resources.files("anls_eval.app") / "templates"


def html(name: str, /, **values: Any) -> str:
    """Give the HTML of a template in this folder.

    The template can use the figures, filters and macros of the report. All text is escaped here and not by a template
    of `gr.HTML`, which would run ``${...}`` in a text as JavaScript.

    Args:
        name: Of the template.
        values: What it shows.
    """
    return _templates().get_template(name).render(figures=figures, **values)


def alert(message: str) -> str:
    """Say what is wrong with the input.

    Example:
        >>> alert("<b>")
        '<div class="found"><p role="alert" class="note wrong">&lt;b&gt;</p></div>'
    """
    return html("alert.html", message=message)


@functools.cache
def _templates() -> jinja2.Environment:
    loaders = [jinja2.PackageLoader("anls_eval.app"), jinja2.PackageLoader("anls_eval.report")]
    return environment().overlay(loader=jinja2.ChoiceLoader(loaders))


def style() -> str:
    """Give the style sheet: that of the report, for what stands in ``.found``, and that of the app.

    The report follows the scheme of the browser. The app has a class for the dark one, since its users can choose.
    """
    report = (_REPORT / "style.css").read_text(encoding="utf-8")
    report = re.sub(r"@media \(prefers-color-scheme: dark\) \{\s*:root (\{[^}]*\})\s*\}", r".dark & \1", report)
    report = re.sub(r"^:root", "&", report)
    return f".found {{\n{report}}}\n" + (_SPACE / "style.css").read_text(encoding="utf-8")
