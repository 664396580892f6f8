"""The folder of a run: created or taken over, what its parts were made from, and tidied at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dask.distributed import Client

from anls_eval.cluster.agreement import code_checksum
from anls_eval.cluster.errors import OTHER_TMPDIR
from anls_eval.cluster.lock import NAME as LOCK
from anls_eval.cluster.lock import check_free, locked
from anls_eval.cluster.parts import PART, Job, Part, Piece
from anls_eval.cluster.records import checksum
from anls_eval.errors import AnlsError, Remedy
from anls_eval.files.dataset_folder import dataset_files, folder_and_split
from anls_eval.files.files import exists, is_folder
from anls_eval.files.paths import Paths
from anls_eval.files.watch import State, check_unchanged, file_state
from anls_eval.limits import raise_limit
from anls_eval.names import is_utf8
from anls_eval.submission.passes import SIDES

_REMOVALS, _PAUSE = 40, 0.05  # of a temporary folder, and seconds between them


def results_folder(
    out: str | os.PathLike[str] | None, client: Client | str | None, stack: contextlib.ExitStack
) -> Path:
    """Return the output folder, or a temporary one: the current folder may be visible to workers on other machines."""
    is_in_tmpdir = out is None and client is None
    if out is not None:
        folder = Path(out).absolute()
    else:
        try:
            folder = stack.enter_context(temporary_folder(".anls-", None if is_in_tmpdir else Path.cwd()))
        except OSError as error:
            raise_limit(error)
            place = Path(error.filename).parent if error.filename else "the folder for temporary files"
            raise _unusable(f"{place}: no folder can be created in it: {error.strerror}.", is_in_tmpdir) from None
    if not is_utf8(folder):
        named = folder.parent if out is None else folder
        problem = f"{named}: the name of the folder is not UTF-8, which workers need."
        raise _unusable(problem, is_in_tmpdir)
    return folder


def _unusable(problem: str, is_in_tmpdir: bool) -> ValueError:
    """Return the error of a folder that cannot be that of the results."""
    if is_in_tmpdir:  # as other folders of the run will be
        return ValueError(f"{problem} Name {OTHER_TMPDIR}.")
    return AnlsError(problem, remedies=[Remedy("out", "FOLDER", "use another folder")])


@contextlib.contextmanager
def temporary_folder(prefix: str, where: Path | None = None) -> Iterator[Path]:
    """Create a folder, and remove it at exit, also if workers that were not awaited still write to it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    try:
        yield folder
    finally:
        try:
            _remove(folder)
        except KeyboardInterrupt:  # which comes once: see `cli.interrupts`
            _remove(folder)
            raise


def _remove(folder: Path) -> None:
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)  # fails if a file is created meanwhile
        if not folder.exists():
            break
        time.sleep(_PAUSE)


def check_outside(out: str | os.PathLike[str], given: tuple[Paths, Paths | None]) -> None:
    """Refuse an output folder whose files would be among the inputs of a later run."""
    part = Path(out).absolute() / f"{PART}00000.parquet"
    for paths in given:
        for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths or ():
            folder = Path(path).absolute()
            is_inside = folder in part.parents if is_folder(folder) else part.parent in folder.parents
            if is_inside or _matches(part, folder):
                problem = f"the output folder {os.fspath(out)} is among the files of {os.fspath(path)}."
                raise AnlsError(problem, remedies=[Remedy("out", "FOLDER", "use another folder")])


def _matches(path: Path, pattern: Path) -> bool:
    """Return whether a pattern, in which ``**`` stands for any number of folders, names a file."""
    is_as_deep = len(path.parts) == len(pattern.parts) or "**" in pattern.parts
    return is_as_deep and fnmatch.fnmatch(str(path), str(pattern))


def prepare(job: Job, resume: bool, stack: contextlib.ExitStack) -> None:
    """Create and lock the folder, or check that it is empty or, to resume, holds an earlier run."""
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        check_free(job.work)
        _check_contents(job, resume)
        job.work.mkdir(exist_ok=True)
        stack.enter_context(locked(job.work, job.run))
        _check_contents(job, resume)  # a run may have ended in the meantime
    except OSError as error:
        others = [path for path in (job.out, job.work) if exists(path) and not is_folder(path)]
        where = job.work if job.work in Path(error.filename or job.out).parents else job.out
        reason = f"{others[0]} is not a folder" if others else error.strerror
        raise ValueError(
            f"{where} cannot hold the results ({reason}); expected a writable folder or the name of a new one"
        ) from None


def _check_contents(job: Job, resume: bool) -> None:
    is_new = set(job.out.iterdir()) <= {job.work} and {path.name for path in job.out.glob("_work/*")} <= {LOCK}
    can_continue = job.work.is_dir()
    if not is_new and not (resume and can_continue):
        expected = f"an earlier run with its folder {job.work.name}" if resume else "a new or empty folder"
        problem = f"{job.out} is not empty; expected {expected}. Use another folder, or empty this one."
        raise AnlsError(problem, remedies=[Remedy("resume", True, "continue an earlier run")] if can_continue else [])


def remove_unfinished(job: Job) -> None:
    """Remove what workers that were ended have left unfinished; only where none of them can still write."""
    for path in _unfinished(job):
        with contextlib.suppress(OSError):  # as much as can be
            path.unlink()


def _unfinished(job: Job) -> list[Path]:
    starts = (PART, *(f"{side}-" for side in SIDES))
    return [path for folder in (job.out, job.work, job.rows) for start in starts for path in folder.glob(f".{start}*")]


def tidy(job: Job, parts: Sequence[Part]) -> None:
    """Remove files of parts that no longer exist, and what processes that died left: unfinished files and marks."""
    for pattern in ("seen-*", ".seen-*", ".without_repeats.*"):
        for path in job.work.glob(pattern):
            path.unlink(missing_ok=True)
    names = {part.name for part in parts}
    parts_there = [path for folder in (job.out, job.work) for path in folder.glob(f"{PART}*")]
    for path in (*_unfinished(job), *(own for own in parts_there if own.name.partition(".")[0] not in names)):
        path.unlink()


class Seen(NamedTuple):
    """A file when the run began: its state, and by what a later run recognises it, that state or its checksum."""

    state: State
    content: State


def files_seen(paths: Iterable[str], by_content: bool) -> dict[str, Seen]:
    """Look at each file."""
    states = {path: file_state(path) for path in paths}
    return {path: Seen(own, _content_state(path, own) if by_content else own) for path, own in states.items()}


def _content_state(path: str, state: State) -> State:
    if state is None:
        return state
    try:
        found = state[0], checksum(*(dataset_files(path) or [Path(path)]))
    except OSError:  # such as of a pipe
        return state
    check_unchanged(path, state)
    return found


def identity_of(job: Job, seen: Mapping[str, Seen], pieces: Sequence[Piece], buckets: int = 0) -> str:
    """Return a hash of the files, the options and the code, which changes if any of them does."""
    scorer = job.options.scorer()
    rules = [scorer.signature(0, "error"), *scorer.option_columns.items()]
    choices: list[Any] = [code_checksum(), rules, job.options.by, job.read_by, job.format, job.columns, buckets]
    choices += [dataclasses.astuple(job.how), job.options.parse, [sorted(own.items()) for own in job.all_printed]]
    read = [(piece.rows, [(_place(path), seen[path].content) for path in piece.paths]) for piece in pieces]
    return hash_of([choices, job.keep_rows, job.documents, job.by_content, read])


def _place(path: str) -> str:
    """Return the name of a file or dataset that is the same from every folder and through every link."""
    folder, split = folder_and_split(path)
    place = os.path.realpath(folder) if exists(folder) else folder
    return place if split is None else f"{place}:{split}"


def hash_of(value: Any) -> str:
    """Return a hash of plain JSON values."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
