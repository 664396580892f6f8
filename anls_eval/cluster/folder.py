"""The folder of a run: created or taken over, what its parts were made from, and tidied at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dask.distributed import Client

from anls_eval.cluster.parts import Job, Part, Piece
from anls_eval.errors import AnlsError, Remedy
from anls_eval.questions.stream import FINGERPRINTS


def results_folder(
    out: str | os.PathLike[str] | None, client: Client | str | None, stack: contextlib.ExitStack
) -> Path:
    """Return the output folder, or a temporary one: the current folder may be visible to workers on other machines."""
    if out is not None:
        return Path(out).absolute()
    where = None if client is None else Path.cwd()
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".anls-", dir=where)))


def prepare(job: Job, resume: bool) -> None:
    """Create the folder, or check that it is empty or, to resume, holds an earlier run."""
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        is_new = set(job.out.iterdir()) <= {job.work} and not any(job.out.glob("_work/*"))
        if not is_new and not (resume and job.work.exists()):
            expected = "the results of an earlier run" if resume else "a new or empty folder"
            remedies = [] if resume else [Remedy("resume", True, "continue an earlier run")]
            raise AnlsError(f"{job.out} is not empty; expected {expected}.", remedies=remedies)
        job.work.mkdir(exist_ok=True)
    except OSError as error:
        reason = "it is a file" if job.out.is_file() else error.strerror
        raise ValueError(
            f"{job.out} cannot hold the results ({reason}); expected a writable folder or the name of a new one"
        ) from None


def tidy(job: Job, parts: Sequence[Part]) -> None:
    """Remove files of parts that no longer exist, and unfinished files of workers that died."""
    names = {part.name for part in parts}
    for folder in (job.out, job.work):
        for path in (*folder.glob("part-*"), *folder.glob(".part-*")):
            if path.name.partition(".")[0] not in names:
                path.unlink()


def identity_of(job: Job, pieces: Sequence[Piece], buckets: int = 0) -> str:
    """Return a hash of the options and of the state of the files, which changes if either does."""
    scorer = job.options.scorer()
    rules = [scorer.signature(0, "error"), *scorer.option_columns.items()]
    choices = [FINGERPRINTS, rules, job.options.by, job.read_by, job.format, job.columns, buckets]
    choices += [dataclasses.astuple(job.how), job.options.parse]
    states = [(piece.rows, list(map(_state, piece.paths))) for piece in pieces]
    return hash_of([choices, job.keep_rows, job.documents, states])


def hash_of(value: Any) -> str:
    """Return a hash of plain JSON values."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _state(path: str) -> tuple[str, int, int] | tuple[str]:
    try:
        own = Path(path).stat()
    except OSError:
        return (path,)
    return path, own.st_size, own.st_mtime_ns
