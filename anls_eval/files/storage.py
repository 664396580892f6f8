"""Storage that fails as a file is read, which is no fault of the file."""

import errno
import os

from anls_eval.opening import open_regular

_BLOCK = 1 << 20


def storage_fault(error: BaseException, path: str | os.PathLike[str] | None = None) -> str | None:
    """Return how the storage of a file failed as it was read, with a remedy; None where the file itself is at fault.

    Some libraries take such an error for damage: with a path, the file is read once more to find out.
    """
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: a damaged file names a place
        remedy = "The disk or the network that holds the file failed. Try again once it works, or use a copy."
        return f"cannot be read further: {error.strerror}. {remedy}"
    if path is not None:
        try:
            with open_regular(path) as stream:
                while stream.read(_BLOCK):
                    pass
        except OSError as failure:
            return storage_fault(failure)
    return None
