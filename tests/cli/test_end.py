"""How the process ends: with the status of its command, whatever threads of libraries still do."""

import subprocess
import sys

import pytest
from places import ROOT

# A thread of pyarrow reads a Python file, and needs Python again only as that ends.
PROGRAM = """
import atexit, io, sys, threading, time
import pyarrow as pa
from anls_eval.__main__ import {entry}
from anls_eval.cli import commands

class SlowFile(io.BytesIO):
    def read(self, size=-1):
        if size != len(b"ARROW1") and threading.current_thread() is not opener:
            is_read.set()
            time.sleep(1)
        return super().read(size)

written = io.BytesIO()
pa.ipc.new_file(written, pa.schema([])).close()
is_read = threading.Event()
opener = threading.Thread(target=pa.ipc.open_file, args=[SlowFile(written.getvalue())], daemon=True)
opener.start()
assert is_read.wait(60)
usual = commands.main
commands.main = lambda: (atexit.register(print, "at exit"), usual())
sys.argv = ["anls", *sys.argv[1:]]
{entry}()
"""
COMMANDS = {("--version",): 0, ("score", "nothing.csv", "-r", "nothing.csv"): 2}


def end(entry: str, arguments: tuple[str, ...]) -> tuple[int, str]:
    program = PROGRAM.format(entry=entry)
    asked = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(("arguments", "status"), COMMANDS.items())
def test_a_thread_of_a_library_changes_no_status(arguments: tuple[str, ...], status: int) -> None:
    """What is registered to run at exit still runs."""
    done, output = end("command", arguments)
    assert (done, output.splitlines()[-1]) == (status, "at exit")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="since Python 3.14, such threads wait for ever")
def test_without_that_python_aborts() -> None:
    """So that the test above is about something."""
    assert end("main", ("--version",))[0] not in (0, 2)
