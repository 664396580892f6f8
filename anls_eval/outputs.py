"""The files that are to be written, looked at before any work is done."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Sequence
from pathlib import Path


def check_outputs(outputs: Sequence[str | os.PathLike[str] | None], inputs: Sequence[str | None]) -> None:
    """Refuse outputs that are no names of files, lose an input or one another, or are in a folder that is not there."""
    from anls_eval.files.errors import OutputError
    from anls_eval.files.write import check_replaceable

    written = [Path(path) for path in outputs if path is not None]
    check_not_read(written, inputs)
    for path in written:
        try:
            is_there = stat.S_ISDIR(path.parent.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_there = False
        except OSError as error:
            raise OutputError(str(path), f"cannot be written: {error.strerror}.") from None
        if not is_there:
            raise ValueError(f"{path}: the folder {path.parent} does not exist; create it first")
        check_replaceable(path)
    for path, other in itertools.combinations(written, 2):
        if os.path.realpath(path) == os.path.realpath(other) or is_same(path, str(other)):
            raise ValueError(f"{other} would be written twice; write each output to a file of its own")


def check_not_read(outputs: Sequence[Path], inputs: Sequence[str | None]) -> None:
    """Refuse outputs that are inputs."""
    from anls_eval.files.paths import file_paths

    if not outputs:
        return
    read: list[str] = []
    for own in filter(None, inputs):
        with contextlib.suppress(ValueError):  # what cannot be read is reported where it is opened
            read += file_paths(own)
    for path in outputs:
        if any(is_same(path, own) for own in read):
            raise ValueError(f"{path} is one of the input files; write to another name")


def is_same(path: Path, other: str) -> bool:
    """Return whether two names refer to the same file; a broken link refers to none."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False
