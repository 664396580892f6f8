"""OpenBLAS, which NumPy and SciPy load: it tries for ever to get memory that a limit of the address space denies."""

import mmap

_BYTES = 256 << 20  # NumPy and scipy.linalg take 220 MB


def load_openblas() -> None:
    """Load what would be loaded later, before data fills a limited address space.

    Raises:
        MemoryError: There is not enough for it now.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    try:
        mmap.mmap(-1, _BYTES).close()
    except OSError as error:
        raise MemoryError from error
    import scipy.linalg  # noqa: F401
