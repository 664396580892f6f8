"""HTML pages of audits and automation."""

from __future__ import annotations

from anls_eval.decisions.audit import Audit
from anls_eval.decisions.automation import Automation
from anls_eval.decisions.words import (
    ABOUT_AUDIT,
    ACCEPTANCE_HEADER,
    automation_cells,
    automation_parts,
    automation_sentence,
)
from anls_eval.report.figures import share_curve
from anls_eval.report.render import render_page

MAX_SUSPICIONS = 1_000  # on a page
_MAX_CURVES = 50


def audit_page(audit: Audit) -> str:
    """Return a page with the evidence of each suspicion side by side."""
    shown = audit.suspicions[:MAX_SUSPICIONS]
    left_out = len(audit.suspicions) - len(shown)
    return render_page(
        "audit.html", audit.signature, audit=audit, suspicions=shown, left_out=left_out, about=ABOUT_AUDIT
    )


def automation_page(automation: Automation) -> str:
    """Return a page with the table of what can be accepted, and plots of share against error."""
    parts = automation_parts(automation)[:_MAX_CURVES]
    curves = [(name, share_curve(own.curve, automation.max_error)) for name, own in parts if own.curve]
    return render_page(
        "automation.html",
        automation.signature,
        automation=automation,
        sentence=automation_sentence(automation),
        header=ACCEPTANCE_HEADER,
        rows=automation_cells(automation),
        curves=curves,
    )
