"""One run at a time in an output folder: a lock file names the process that holds it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import math
import os
import socket
import stat
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import psutil

from anls_eval.errors import AnlsError
from anls_eval.files.errors import OutputError
from anls_eval.opening import open_regular

NAME = "lock"
_BEAT = 15  # seconds after which a run says again that it holds the lock
_SILENT = 120  # seconds without that, after which a run on another machine has ended
_PAUSE = 0.02  # seconds between two looks at what another run does
_PROCESSES = 1 << 31  # no system has so many, or numbers them as high
_WRITTEN = 0.5  # seconds in which a lock file that was just created gets its content


_of_this_process: set[str] = set()  # the runs that have not ended


@dataclasses.dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    run: str  # unique
    host: str
    space: str  # of the numbers of processes, which a container has for itself
    process: int
    created: float  # when the process started, since numbers are used again
    started: str  # when the run started, for people

    @property
    def is_valid(self) -> bool:
        """Whether these are values that a run writes, not those of a damaged file."""
        texts = self.run, self.host, self.space, self.started
        return (
            all(isinstance(text, str) and text.isprintable() for text in texts)
            and type(self.process) is int
            and 0 < self.process < _PROCESSES
            and type(self.created) is float
            and math.isfinite(self.created)
        )

    @property
    def label(self) -> str:
        """The name of the holder in messages."""
        return f"process {self.process} on {self.host}, started {self.started}"


@contextlib.contextmanager
def locked(folder: Path, run: str) -> Iterator[None]:
    """Hold the lock of a folder; raise AnlsError if another run holds it."""
    path, ended = folder / NAME, threading.Event()
    thread = threading.Thread(target=_beat, args=(path, run, ended), daemon=True)
    _of_this_process.add(run)
    try:
        _acquire(path, _this_process(run))
        thread.start()
        yield
    finally:
        _of_this_process.remove(run)
        ended.set()
        if thread.is_alive():
            thread.join()
        content = _read(path)
        if content is not None:
            other = _holder_in_time(path, content)
            if other is None or other.run == run:  # nobody's, if something else damaged it
                with contextlib.suppress(OSError):
                    path.unlink()


def check_free(folder: Path) -> None:
    """Raise AnlsError if a run holds the lock of a folder."""
    path = folder / NAME
    content = _content(path)
    if content is not None:
        _check_ended(path, content)


def check_held(folder: Path, run: str) -> None:
    """Raise OutputError if another run has taken over the lock of a folder."""
    other = _holder(_read(folder / NAME))
    if other is not None and other.run != run:
        raise OutputError(str(folder.parent), f"another run has taken over this folder: {other.label}.")


def _this_process(run: str) -> Holder:
    own = psutil.Process()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    return Holder(run, socket.gethostname(), space(), own.pid, own.create_time(), now)


def space() -> str:
    """Return the name of the space of process numbers, which a container has for itself."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        return ""


def _acquire(path: Path, own: Holder) -> None:
    while True:
        try:
            stream = path.open("x", encoding="utf-8")
        except FileExistsError:
            _take_away(path)
            continue
        try:
            with stream:
                json.dump(dataclasses.asdict(own), stream)
        except OSError:  # such as a full disk
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return


def _take_away(path: Path) -> None:
    """Remove the lock of a run that has ended, with a note; raise AnlsError if it has not."""
    content = _content(path)
    if content is None:
        return
    _check_ended(path, content)
    # Who may remove this lock: while a claim of it stands, nobody else does, and no other lock has its content.
    claim = path.with_name(f".{NAME}.{hashlib.sha256(content.encode()).hexdigest()[:16]}")
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        _wait_for(claim)
        return
    try:
        if _read(path) != content:  # another run was faster
            return
        path.unlink()
    finally:
        with contextlib.suppress(OSError):
            claim.unlink()
    other = _holder(content)
    named = "its lock file is damaged" if other is None else other.label
    warnings.warn(f"an earlier run in {path.parent.parent} did not end by itself: {named}", UserWarning, stacklevel=2)


def _wait_for(claim: Path) -> None:
    """Wait a moment for who removes a lock; remove the claim of one that died at it."""
    time.sleep(_PAUSE)
    with contextlib.suppress(FileNotFoundError):
        if time.time() - claim.lstat().st_mtime > _SILENT:
            claim.unlink()


def _check_ended(path: Path, content: str) -> None:
    other = _holder_in_time(path, content)
    if other is not None and _is_running(path, other):
        raise AnlsError(
            f"{path.parent.parent} is in use by another run: {other.label}. Wait until it has ended, or write to "
            f"another folder. If it is certain that it no longer runs, remove {path}."
        )


def _holder_in_time(path: Path, content: str) -> Holder | None:
    """Return the holder that a lock file names, which may only be about to be written; None if it is damaged."""
    other = _holder(content)
    if other is None:
        time.sleep(_WRITTEN)
        other = _holder(_read(path))
    return other


def _is_running(path: Path, other: Holder) -> bool:
    if (other.host, other.space) == (socket.gethostname(), space()):
        if other.process == os.getpid():
            return other.run in _of_this_process
        try:
            process = psutil.Process(other.process)
            return bool(process.create_time() == other.created and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False
    probe = path.with_name(f".{NAME}.{uuid.uuid4().hex}")
    try:
        probe.touch()  # by the clock of the storage
        return probe.stat().st_mtime - path.stat().st_mtime < _SILENT
    except FileNotFoundError:
        return False
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()


def _beat(path: Path, run: str, ended: threading.Event) -> None:
    while not ended.wait(_BEAT):
        if _is_held_by(path, run):
            with contextlib.suppress(OSError):
                os.utime(path)


def _is_held_by(path: Path, run: str) -> bool:
    other = _holder(_read(path))
    return other is not None and other.run == run


def _read(path: Path) -> str | None:
    """Return the content of a lock file, or None if there is none that can be read."""
    try:
        return _content(path)
    except OutputError:
        return None


def _content(path: Path) -> str | None:
    """Return the content of a lock file, or None if nothing is there; raise OutputError for anything else."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):  # to open a FIFO would wait for whoever writes to it
            raise OutputError(str(path), "is not a regular file, so it is not the lock of a run. Remove it.")
        with open_regular(path) as stream:
            return stream.read().decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if isinstance(error, PermissionError):
            remedy = "Make the folder readable and writable, or use another one."
        else:
            remedy = "If it is certain that no run uses this folder, remove it."
        raise OutputError(str(path), f"cannot be read: {error.strerror}. {remedy}") from None


def _holder(content: str | None) -> Holder | None:
    """Return the holder that a lock file names, or None if it is damaged."""
    try:
        found = Holder(**json.loads(content or ""))
    except (ValueError, TypeError, RecursionError):
        return None
    return found if found.is_valid else None
