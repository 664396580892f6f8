"""What this process ran out of, in words: it is no fault of the file that was read."""

from __future__ import annotations

import errno
import os
import re

from anls_eval.errors import Explained

_FILES = errno.EMFILE, errno.ENFILE
# What Python says where its own code in C had no memory; what Python and Arrow say of a thread, and the system of a
# library that does not fit, unless it adds a reason.
_LACKS = re.compile(
    "error return without exception set|"
    f"can't start new thread|{os.strerror(errno.EAGAIN)}|failed to map segment from shared object(?!: )"
    f"|{os.strerror(errno.ENOMEM)}"
)


class LimitError(Explained, MemoryError):
    """This process ran out of memory, threads or open files."""


def limit_error(error: BaseException) -> LimitError | None:
    """Return an error in words if this process ran out of memory, threads or open files; None for other errors."""
    if isinstance(error, LimitError):
        return error
    if isinstance(error, OSError) and error.errno in _FILES:
        return LimitError("this process has too many files open. Raise the limit (ulimit -n).")
    if isinstance(error, OSError):
        is_lack = error.errno == errno.ENOMEM
    elif isinstance(error, ValueError):  # whose words may quote a file
        is_lack = False
    else:
        is_lack = isinstance(error, MemoryError) or _LACKS.search(str(error)) is not None
    if not is_lack:
        return None
    return LimitError(
        "this process ran out of memory or threads. Give it more memory, or raise its limits (ulimit -v, ulimit -u)."
    )


def raise_limit(error: BaseException) -> None:
    """Raise a LimitError if this process ran out of memory, threads or open files."""
    found = limit_error(error)
    if found is not None:
        raise found from None
