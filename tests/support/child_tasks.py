"""Work for the app's separate process, which imports this module to do it, and nothing that takes long to load."""

import sys
import time

from anls_eval.app import limits
from anls_eval.app.child import Progress


def endless(report_progress: Progress) -> None:
    time.sleep(10_000)


def broken(report_progress: Progress) -> None:
    sys.exit(3)


def greedy(report_progress: Progress) -> int:
    return len(bytearray(limits.MAX_MEMORY_BYTES))


def steps(report_progress: Progress) -> str:
    for step in range(3):
        report_progress(step / 3, f"step {step}")
    return "done"
