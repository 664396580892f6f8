"""Names of files and arguments: as text, which Python decodes as the environment says, and in the working folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from anls_eval.errors import AnlsError


def is_utf8(name: str | os.PathLike[str]) -> bool:
    """Return whether a name can be written as text, as Arrow and Dask do."""
    try:
        os.fspath(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def name_fault() -> str:
    """Return why a name cannot be written as text, with a remedy: Python decodes it as the environment says."""
    encoding = sys.getfilesystemencoding()
    if encoding == "utf-8":
        return "not UTF-8. Rename it."
    return f"not {encoding.upper()}, the encoding that the environment names. Set LC_ALL=C.UTF-8."


def check_working_folder() -> None:
    """Raise AnlsError if the working folder was deleted, in which no relative name stands for anything."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise AnlsError("the working folder no longer exists. Change to one that does.") from None
