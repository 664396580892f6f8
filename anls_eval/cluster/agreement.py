"""All workers must run the same code and see the same files as the process that starts a run: checked, not assumed."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from distributed.comm import CommClosedError

from anls_eval.cluster.errors import ClusterError
from anls_eval.cluster.watch import Watch
from anls_eval.files.dataset_folder import folder_and_split
from anls_eval.files.errors import SHOWN
from anls_eval.files.watch import State, file_state
from anls_eval.files.write import whole_file
from anls_eval.version import __version__

_INSTALL = "Install the same version of anls_eval everywhere, and restart the scheduler and the workers."
_SHARE = "Every worker must see the files and the folder of the results under the same path."
_RIGHTS = (
    "Run the workers as the user who starts the run; or let their user read the files, name a folder of the results "
    "where both may write, and start the run with umask 0."
)

_DIED = CommClosedError, ConnectionError, TimeoutError  # a worker that died while it was asked


class Agreement(NamedTuple):
    """What every worker must find as the process did that started the run."""

    version: str
    code: str  # a checksum
    mark: Path  # a file in the folder of the run
    secret: str  # in its name and its text
    files: tuple[tuple[str, int], ...]  # some of the input, with their sizes


class UnseenFileError(ClusterError):
    """A worker sees a file of the input with another size, or not at all."""


@functools.cache
def code_checksum() -> str:
    """Return a checksum of the code of this package, as it was when this process first asked."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def agreed(folder: Path, files: Mapping[str, State]) -> Iterator[Agreement]:
    """Write the mark of a run into its folder; remove it, and those that workers wrote beside it, at exit.

    Workers must see the first of the files in each folder as they were when the run began.
    """
    states = reversed(list(files.items()))
    first_of_folders = {Path(path).parent: (path, state[0]) for path, state in states if state is not None}
    secret = uuid.uuid4().hex
    mark = folder / f"seen-{secret}"
    try:
        with whole_file(mark, is_synced=False) as unfinished:
            unfinished.write_text(secret, encoding="utf-8")
        yield Agreement(__version__, code_checksum(), mark, secret, tuple(first_of_folders.values()))
    finally:
        with contextlib.suppress(OSError):  # what is left is removed at the end of a later run
            for path in folder.glob(f"{mark.name}*"):
                path.unlink(missing_ok=True)


def check_code(expected: Agreement) -> None:
    """Raise a ClusterError that says which other code this process has."""
    if __version__ != expected.version:
        raise ClusterError(f"has anls_eval {__version__}, but the run was started by {expected.version}. {_INSTALL}")
    if code_checksum() != expected.code:
        where = Path(__file__).parents[1]
        raise ClusterError(f"has other code in {where}, though its version is {__version__}, too. {_INSTALL}")


@functools.cache
def check_agreement(expected: Agreement) -> None:
    """Raise a ClusterError that says what this process has or sees otherwise; one that agrees is not asked again."""
    check_code(expected)
    _check_seen(str(expected.mark), len(expected.secret), ClusterError)
    for path, size in expected.files:
        _check_seen(path, size, UnseenFileError)


def _check_seen(path: str, size: int, kind: type[ClusterError]) -> None:
    state = file_state(path)
    if state is None or state[0] != size:
        found, remedy = _absence(path) if state is None else (f"has {state[0]} bytes", _SHARE)
        raise kind(f"does not see {path} as it is here, with {size} bytes ({found} there). {remedy}")


def _remedy(error: OSError) -> str:
    return _RIGHTS if isinstance(error, PermissionError) else _SHARE


def _absence(path: str) -> tuple[str, str]:
    """Return why nothing is seen at a path, and the remedy."""
    try:
        Path(folder_and_split(path)[0]).stat()
    except OSError as error:
        return error.strerror or str(error), _remedy(error)
    return "no dataset", _SHARE


def without_changed(expected: Agreement) -> Agreement:
    """Return what workers must still find, without input that was changed or removed, of which its own task tells."""
    states = ((path, size, file_state(path)) for path, size in expected.files)
    return expected._replace(files=tuple((path, size) for path, size, now in states if now and now[0] == size))


def check_cluster(watch: Watch, expected: Agreement) -> Agreement:
    """Ask the scheduler, which reads the tasks, and every worker, and check that files that workers write are seen.

    Returns what they agree on, without input that changed meanwhile.
    """
    error = watch.on_scheduler(check_code, expected)
    if error is not None and not isinstance(error, _DIED):
        raise ClusterError(f"the scheduler {_problem(error)}")
    answers = watch.on_workers(visit, expected)
    if any(isinstance(answer, UnseenFileError) for answer in answers.values()):
        left = without_changed(expected)
        if left != expected:
            return check_cluster(watch, left)
    problems = {
        worker: _problem(answer)
        for worker, answer in answers.items()
        if isinstance(answer, BaseException) and not isinstance(answer, _DIED)
    }
    for worker, name in answers.items():
        if isinstance(name, str) and not expected.mark.with_name(name).exists():
            problems[worker] = f"writes to another {expected.mark.parent} than this process. {_SHARE}"
    if problems:
        raise ClusterError(_told(problems))
    return expected


def visit(expected: Agreement) -> str:
    """Check a worker, in it, and return the name of a file that it has written."""
    check_agreement(expected)
    path = expected.mark.with_name(f"{expected.mark.name}-{uuid.uuid4().hex}")
    try:
        path.touch()
    except OSError as error:
        raise ClusterError(f"cannot write to {path.parent}: {error.strerror}. {_remedy(error)}") from None
    return path.name


def _problem(error: BaseException) -> str:
    if isinstance(error, ClusterError):
        return error.problem
    if "No module named 'anls_eval'" in str(error):  # an error that Dask passes on as a text
        return f"has no anls_eval. {_INSTALL}"
    return f"has another version of anls_eval, or not all that it needs ({error}). {_INSTALL}"


def _told(problems: Mapping[str, str]) -> str:
    shown = [f"  worker {worker} {problem}" for worker, problem in itertools.islice(problems.items(), SHOWN)]
    more = [f"  and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    return "\n".join(["not all workers can take part:", *shown, *more])
