"""The options of a command that name files to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def output_option(description: str, *names: str) -> Any:
    """Return an option that names a file to write; nobody needs to be able to read one that is replaced."""
    return typer.Option(*names, help=description, readable=False)


def check_html(path: Path | None) -> None:
    """Refuse a report whose name does not end in .html."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--report {path}: expected a file name ending in .html")
