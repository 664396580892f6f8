"""What a worker on this machine loads as it starts: it ends where Dask itself runs out of memory."""

import logging
import os

from anls_eval.openblas import load_openblas

_STATUS = 71  # any but 0: the worker is replaced


class _EndWithoutMemory(logging.Handler):
    """Ends the process at a MemoryError that Dask only logs: a run would wait for ever for what could not be sent."""

    def emit(self, record: logging.LogRecord) -> None:
        """End the process before the traceback is printed."""
        if record.exc_info and isinstance(record.exc_info[1], MemoryError):
            os._exit(_STATUS)


for _name in ("distributed", "asyncio", "tornado"):
    logging.getLogger(_name).handlers.insert(0, _EndWithoutMemory())

try:
    load_openblas()
except MemoryError:
    os._exit(_STATUS)
