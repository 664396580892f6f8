"""HTML pages of audits and automation."""

from __future__ import annotations

from markupsafe import Markup

from anls_eval.decisions.audit import Audit
from anls_eval.decisions.automation import Automation
from anls_eval.decisions.words import ABOUT_AUDIT, ACCEPTANCE_HEADER, automation_cells, automation_sentence
from anls_eval.report.figures import share_curve
from anls_eval.report.render import environment, page_style

MAX_SUSPICIONS = 1_000  # on a page
_MAX_CURVES = 50


def audit_page(audit: Audit) -> str:
    """Return a page with the evidence of each suspicion side by side."""
    shown = audit.suspicions[:MAX_SUSPICIONS]
    template = environment().get_template("audit.html")
    left_out = len(audit.suspicions) - len(shown)
    return template.render(audit=audit, suspicions=shown, left_out=left_out, about=ABOUT_AUDIT)


def automation_page(automation: Automation) -> str:
    """Return a page with the table of what can be accepted, and plots of share against error."""
    parts = [("whole", automation.whole), *automation.by_field.items()]
    curves = [(name, share_curve(own.curve, automation.max_error)) for name, own in parts[:_MAX_CURVES] if own.curve]
    return (
        environment()
        .get_template("automation.html")
        .render(
            automation=automation,
            sentence=automation_sentence(automation),
            header=ACCEPTANCE_HEADER,
            rows=automation_cells(automation),
            curves=curves,
            style=Markup(page_style()),  # noqa: S704 - our own file
        )
    )
