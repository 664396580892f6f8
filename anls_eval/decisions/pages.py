"""HTML pages of audits and automation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from anls_eval.arrow import number_array, text_list_array
from anls_eval.decisions.audit import Audit
from anls_eval.decisions.automation import Automation
from anls_eval.decisions.words import ABOUT_AUDIT, AUTOMATION_HEADER, automation_cells, automation_sentence
from anls_eval.report.figures import share_curve
from anls_eval.report.render import environment
from anls_eval.submission.scorers import text_column

MAX_SUSPICIONS = 1_000  # on a page
_MAX_CURVES = 50


def record_batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return rows with the same keys, whose values are texts, lists of texts or numbers, as a batch to write."""
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if any(isinstance(own, list) for own in values):
            columns[name] = text_list_array(values)
        elif any(isinstance(own, float) for own in values):
            columns[name] = number_array(np.array(values))
        else:
            columns[name] = text_column(values)
    return pa.record_batch(columns)


def audit_page(audit: Audit) -> str:
    """Return a page with the evidence of each suspicion side by side."""
    shown = audit.suspicions[:MAX_SUSPICIONS]
    template = environment().get_template("audit.html")
    left_out = len(audit.suspicions) - len(shown)
    return template.render(audit=audit, suspicions=shown, left_out=left_out, about=ABOUT_AUDIT)


def automation_page(automation: Automation) -> str:
    """Return a page with the table of what can be accepted, and plots of share against error."""
    parts = [("whole", automation.whole), *automation.by_field.items()]
    curves = [
        (name, share_curve([(point.share, point.error) for point in own.curve], automation.max_error))
        for name, own in parts[:_MAX_CURVES]
        if own.curve
    ]
    style = (resources.files("anls_eval.report") / "templates" / "style.css").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("automation.html")
        .render(
            automation=automation,
            sentence=automation_sentence(automation),
            header=AUTOMATION_HEADER,
            rows=automation_cells(automation),
            curves=curves,
            style=Markup(style),  # noqa: S704 - our own file
        )
    )
