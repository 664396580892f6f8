"""The files of users: all in one folder, where none stays for long."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

MAX_AGE_SECONDS = 3_600.0


@contextlib.contextmanager
def temporary_files() -> Iterator[Path]:
    """Have gradio keep uploads and downloads in a folder whose old files are deleted, and at the end all."""
    # Gradio reads the folder's place when it is imported. Its `delete_cache` does not know files that come through MCP.
    with tempfile.TemporaryDirectory(prefix="anls-", ignore_cleanup_errors=True) as folder:
        os.environ["GRADIO_TEMP_DIR"] = folder
        ended = threading.Event()
        threading.Thread(target=_delete_repeatedly, args=(Path(folder), ended), daemon=True).start()
        try:
            yield Path(folder)
        finally:
            ended.set()
            del os.environ["GRADIO_TEMP_DIR"]


def _delete_repeatedly(folder: Path, ended: threading.Event) -> None:
    while not ended.wait(MAX_AGE_SECONDS / 6):
        delete_old(folder, MAX_AGE_SECONDS)


def delete_old(folder: Path, age: float) -> None:
    """Delete all files in a folder and below that have not changed for so many seconds; it need not exist."""
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # deleted meanwhile by someone else
            if path.is_file() and path.stat().st_mtime < time.time() - age:
                path.unlink()
