"""Ctrl-C, SIGTERM and others: a message and a status from the first line of our code on, never a run that goes on."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from places import ROOT

from benchmarks.generate import write_dataset

TRIES = int(os.environ.get("TRIES", "20"))
LATEST = 3.0  # seconds

# A command in place of ours; {body} is what it does.
PROGRAM = """
import atexit, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests in the background
from anls_eval.__main__ import main
from anls_eval.cli import commands

def ctrl_c():
    os.kill(os.getpid(), signal.{name})

def command():
{body}

commands.main = command
main()
"""
SWALLOWED = """
    try:
        ctrl_c()
    except KeyboardInterrupt:
        pass
    while True:
        signal.pause()
"""
SWALLOWED_IN_A_FINALISER = """
    class Kept:
        def __del__(self):
            ctrl_c()
    Kept()
    while True:
        signal.pause()
"""
TURNED_INTO_ANOTHER = """
    try:
        ctrl_c()
    except KeyboardInterrupt:
        raise ImportError("a C extension failed to import") from None
"""
SWALLOWED_AT_THE_END = """
    try:
        ctrl_c()
    except KeyboardInterrupt:
        pass
"""
IN_AN_EXEC = """
    exec("ctrl_c()", globals())
"""
CLEANED_UP = """
    try:
        ctrl_c()
    finally:
        for _ in range(3):
            signal.pause()  # until it is about to be raised again
        print("cleaned up")
"""
AFTER_ALL_IS_DONE = """
    print("done", flush=True)
    atexit.register(ctrl_c)
"""

WHILE_PYTHON_ENDS = """
    import sys

    class Last:
        def __del__(self, kill=os.kill, number=signal.{name}, own=os.getpid(), write=os.write):
            kill(own, number)
            write(1, b"last\\n")

    print("done", flush=True)
    sys.last = Last()  # which lives as long as this module
"""

# Ctrl-C while the first module after Python's own is imported.
AT_THE_FIRST_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from anls_eval.__main__ import main

class Interrupt:
    def find_spec(self, name, *_):
        os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""


SENT_TWICE = """
    try:
        ctrl_c()
    finally:
        ctrl_c()
        print("cleaned up")
"""
SENT_WHILE_A_CLEANUP_HANGS = """
    from anls_eval.cli import interrupts
    interrupts._TO_CLEAN_UP = 0
    try:
        ctrl_c()
    finally:
        ctrl_c()
        while True:
            signal.pause()
"""
ENDINGS = {
    "SIGINT": (130, "interrupted"),
    "SIGTERM": (143, "interrupted by SIGTERM"),
    "SIGHUP": (129, "interrupted by SIGHUP"),
    "SIGXCPU": (128 + signal.SIGXCPU, "interrupted by SIGXCPU"),
    "SIGUSR1": (128 + signal.SIGUSR1, "interrupted by SIGUSR1"),
    "SIGUSR2": (128 + signal.SIGUSR2, "interrupted by SIGUSR2"),
}


def ended(body: str, name: str) -> tuple[int, str, str]:
    """The status of a command that sends itself a signal, what it printed, and its last words."""
    command = [sys.executable, "-c", PROGRAM.format(body=body, name=name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ("    ctrl_c()", ""),
        (SWALLOWED, ""),
        (SWALLOWED_IN_A_FINALISER, ""),
        (TURNED_INTO_ANOTHER, ""),
        (SWALLOWED_AT_THE_END, ""),
        (IN_AN_EXEC, ""),
        (CLEANED_UP, "cleaned up\n"),
        (AFTER_ALL_IS_DONE, "done\n"),
    ],
    ids=[
        "raised",
        "swallowed",
        "in a finaliser",
        "turned into another",
        "at the end",
        "in an exec",
        "cleaned up",
        "after the end",
    ],
)
def test_whatever_becomes_of_the_exception(body: str, printed: str, name: str) -> None:
    status, words = ENDINGS[name]
    assert ended(body, name) == (status, printed, words)


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("status", [0, 2])
def test_one_while_python_ends_changes_nothing(status: int, name: str) -> None:
    """All is written then, and Python handles no signal any more."""
    body = WHILE_PYTHON_ENDS.replace("{name}", name) + f"    raise SystemExit({status})\n"
    command = [sys.executable, "-c", PROGRAM.format(body=body, name=name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "done\nlast\n", "")


@pytest.mark.parametrize("name", ENDINGS)
def test_one_that_is_sent_twice(name: str) -> None:
    """By an impatient user, or by `timeout`, to the process and to its group: it does not break off a cleanup."""
    status, words = ENDINGS[name]
    assert ended(SENT_TWICE, name) == (status, "cleaned up\n", words)


def test_a_cleanup_that_hangs_can_be_broken_off() -> None:
    status, words = ENDINGS["SIGINT"]
    assert ended(SENT_WHILE_A_CLEANUP_HANGS, "SIGINT") == (status, "", words)


def test_a_limit_of_processor_time() -> None:
    limited = "    import resource\n    resource.setrlimit(resource.RLIMIT_CPU, (1, 60))\n    while True:\n        pass"
    assert ended(limited, "SIGXCPU") == (ENDINGS["SIGXCPU"][0], "", "interrupted by SIGXCPU")


def test_before_anything_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", AT_THE_FIRST_IMPORT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("name", ENDINGS)
def test_one_that_is_ignored_stays_so(name: str) -> None:
    """In the background, or by nohup."""
    program = f"import signal; signal.signal(signal.{name}, signal.SIG_IGN)"
    program += PROGRAM.format(body="    ctrl_c()", name=name).replace("signal.default_int_handler", "signal.SIG_IGN")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def interrupts_reach_children() -> Iterator[None]:
    """A shell may have started the tests in the background, where Ctrl-C is ignored, also by what they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [("--per-question", "{out}/rows.csv"), ("--workers", "2", "--out", "{out}")], ids=["file", "workers"]
)
@pytest.mark.usefixtures("interrupts_reach_children")
def test_at_any_moment(options: tuple[str, ...], tmp_path: Path) -> None:
    """TRIES times; what is over before a signal is no try, and what comes before our first line ends Python."""
    write_dataset(tmp_path / "data", 1_000_000, 20)
    sides = [str(tmp_path / "data" / "predictions"), "-r", str(tmp_path / "data" / "references")]
    moments = random.Random(TRIES)  # noqa: S311
    tries = 0
    while tries < TRIES:
        name = moments.choice(list(ENDINGS))
        status, words = ENDINGS[name]
        out = tmp_path / str(time.monotonic_ns())
        out.mkdir()
        command = [sys.executable, "-m", "anls_eval", "score", *sides, *(own.format(out=out) for own in options)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as run:
            time.sleep(moments.uniform(0, LATEST))
            is_over = run.poll() is not None
            with contextlib.suppress(ProcessLookupError):  # it ends between two of them
                for _ in range(0 if is_over else 1 if name != "SIGINT" else moments.choice([1, 3])):
                    os.killpg(run.pid, signal.Signals[name])
                    time.sleep(moments.uniform(0, 0.3))
            _, told = run.communicate()
        tries += not is_over
        what = f"try {tries}, {name}, status {run.returncode}: {told}"
        if is_over:
            assert run.returncode == 0, what
        elif "KeyboardInterrupt" in told or not told:  # Python still starts, or has all but ended
            assert run.returncode in (1, -signal.Signals[name]), what
            assert "in main" not in told, what
        else:
            assert run.returncode == status, what
            assert told.splitlines()[-1].startswith(words), what
            assert "Traceback" not in told, what
        assert not list(out.glob(".*")), what
        _, left = psutil.wait_procs(list(of_session(run.pid)), timeout=60)
        assert not left, what


def of_session(number: int) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(process.pid) == number:
                yield process
