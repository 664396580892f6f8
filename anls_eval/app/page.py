"""The look of all tabs, and HTML from templates that escape every text."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

import jinja2

from anls_eval.report import figures
from anls_eval.report.render import environment, page_style


def html(name: str, /, **values: Any) -> str:
    """Render a template of this package, with all texts escaped."""
    # Not by a template of gr.HTML, which would run `${...}` in a text as JavaScript.
    return _templates().get_template(name).render(figures=figures, **values)


def alert(message: str) -> str:
    """Return the HTML of an error message."""
    return html("alert.html", message=message)


@functools.cache
def _templates() -> jinja2.Environment:
    loaders = [jinja2.PackageLoader("anls_eval.app"), jinja2.PackageLoader("anls_eval.report")]
    return environment().overlay(loader=jinja2.ChoiceLoader(loaders))


def style() -> str:
    """Return the style sheet: the report's, for everything in ``.found``, and the app's."""
    # The report follows the browser's colour scheme; the app, where users can choose, has a class for the dark one.
    app = (resources.files("anls_eval.app") / "templates" / "style.css").read_text(encoding="utf-8")
    report = re.sub(r"@media \(prefers-color-scheme: dark\) \{\s*:root (\{[^}]*\})\s*\}", r".dark & \1", page_style())
    report = re.sub(r"^:root", "&", report)
    return f".found {{\n{report}}}\n{app}"
