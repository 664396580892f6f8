"""``python -m anls_eval`` is the command line."""

import atexit
import contextlib
import os
import sys


def command() -> None:
    """Run the command line as a process of its own, and end that.

    After all else that runs at exit, the process ends at once. Python would take itself apart first, and abort where
    a thread of pyarrow still lets go of a file: https://github.com/python/cpython/issues/87135.
    """
    status: int | None = None

    def end() -> None:
        if status is not None:
            _end(status)

    atexit.register(end)
    try:
        main()
        status = 0
    except SystemExit as stop:
        if isinstance(stop.code, int):
            status = stop.code
        raise


def main() -> None:
    """Run the command line, or say what it needs."""
    # Nothing here is faster with more, and each takes memory.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not os.environ.get("SOURCE_DATE_EPOCH", "0").isdecimal():
        del os.environ["SOURCE_DATE_EPOCH"]  # SciPy loads a module that fails at it
    try:
        from anls_eval.cli import interrupts, streams

        streams.guard()
        interrupts.run(_command_line)
    except KeyboardInterrupt:  # before `interrupts` takes care of it
        if sys.stderr is not None:  # else it would go to stdout
            print("interrupted", file=sys.stderr)
        os._exit(130)


def _command_line() -> None:
    from anls_eval.limits import limit_error
    from anls_eval.openblas import load_openblas

    try:
        load_openblas()
        from anls_eval.cli import commands
    except ModuleNotFoundError as error:
        remedy = "pip install '.[eval]' in the folder of anls"
        print(f"error: the command line needs {error.name}: {remedy}", file=sys.stderr)
        sys.exit(2)
    except (ImportError, MemoryError) as error:
        told = limit_error(error)
        if told is None:
            raise
        print(f"error: {told}", file=sys.stderr)
        _end(2)
    try:
        commands.main()
    except SystemExit as stop:
        if isinstance(stop.__cause__, MemoryError):
            _end(2)
        raise


def _end(status: int) -> None:
    """End a process that lacks something: libraries that clean up as Python ends need it, too, and can crash."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    command()
