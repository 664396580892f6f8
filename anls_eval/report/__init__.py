"""Self-contained HTML reports of one submission, or of two compared."""

from anls_eval.report.render import render_report, write_report
from anls_eval.report.system import System, read_system

__all__ = ["System", "read_system", "render_report", "write_report"]
