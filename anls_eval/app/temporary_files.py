"""The files of users: they are in one folder, where none stays for long."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

MOST_AGE = 3_600.0
"""Seconds that an upload or a download stays."""


@contextlib.contextmanager
def temporary_files() -> Iterator[Path]:
    """Have gradio keep uploads and downloads in a folder that is deleted at the end, and what is old in it before.

    Gradio must not have been imported before: it looks for its folder then. Its own ``delete_cache`` knows nothing of
    the files that come through MCP.

    Yields:
        The folder.
    """
    with tempfile.TemporaryDirectory(prefix="anls-", ignore_cleanup_errors=True) as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder
        ended = threading.Event()
        threading.Thread(target=_sweep, args=(Path(folder), ended), daemon=True).start()
        try:
            yield Path(folder)
        finally:
            ended.set()
            del os.environ["GRADIO_TEMP_DIR"]


def _sweep(folder: Path, ended: threading.Event) -> None:
    while not ended.wait(MOST_AGE / 6):
        delete_old(folder, MOST_AGE)


def delete_old(folder: Path, age: float) -> None:
    """Delete the files of a folder, and of those in it, that nobody has changed for some time.

    Args:
        folder: It need not exist.
        age: In seconds.
    """
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # somebody else was quicker
            if path.is_file() and path.stat().st_mtime < time.time() - age:
                path.unlink()
