"""Standard streams that are closed, full or no longer read, as a shell, cron and systemd hand them over."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import ROOT

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
CLOSED_WORDS = (
    "error: the standard output cannot be written to: it is closed. Direct it to a file, a pipe or a terminal.\n"
)
FULL_WORDS = (
    "error: the standard output cannot be written to: No space left on device. What it holds is incomplete: make room, "
    "or direct it to another file.\n"
)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A submission, and how to score it."""
    folder = tmp_path_factory.mktemp("sides")
    for name, field in ("predictions", "prediction"), ("other", "prediction"), ("references", "answers"):
        (folder / f"{name}.csv").write_text(f"question_id,{field}\n1,{name}\n2,Rome\n", encoding="utf-8")
    return [str(folder / "predictions.csv"), "-r", str(folder / "references.csv")]


def anls(*arguments: str, shell: str) -> subprocess.CompletedProcess[str]:
    """Run a command with what a shell does to its streams."""
    command = ["sh", "-c", f'"$@" {shell}', "sh", sys.executable, "-m", "anls_eval", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


COMMANDS = {
    "--help": ["--help"],
    "--version": ["--version"],
    "table": ["protocols"],
    "json": ["protocols", "--json"],
    "text": ["explain", "a", "b"],
    "score": ["score"],
    "compare": ["compare"],
    "leaderboard": ["leaderboard"],
    "check": ["check"],
}


def asked(name: str, sides: list[str]) -> list[str]:
    both = [sides[0].replace("predictions", "other"), *sides]
    of_files = {"score": sides, "compare": both, "leaderboard": both, "check": sides}
    return [*COMMANDS[name], *of_files.get(name, [])]


OTHERS = [pytest.param(name, marks=pytest.mark.long) for name in ("compare", "leaderboard", "check")]


@pytest.mark.parametrize("name", ["--help", "--version", "table", "json", "text", "score", *OTHERS])
@pytest.mark.parametrize(
    ("shell", "words"), [(">&-", CLOSED_WORDS), pytest.param(f">{FULL}", FULL_WORDS, marks=needs_full)]
)
def test_results_that_cannot_be_written(name: str, shell: str, words: str, sides: list[str]) -> None:
    done = anls(*asked(name, sides), shell=shell)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(words)
    assert done.stderr.count("error") == 1
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("name", ["score", *OTHERS])
@pytest.mark.parametrize("shell", ["2>&-", "<&- 2>&-", pytest.param(f"2>{FULL}", marks=needs_full)])
def test_notes_that_cannot_be_written(name: str, shell: str, sides: list[str]) -> None:
    """They are dropped, and never printed among the results."""
    usual, done = anls(*asked(name, sides), shell=""), anls(*asked(name, sides), shell=shell)
    assert usual.stderr or name == "check"
    assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout)


@pytest.mark.parametrize("shell", ["2>&-", pytest.param(f"2>{FULL}", marks=needs_full)])
def test_errors_that_cannot_be_written(shell: str) -> None:
    done = anls("score", "nothing.csv", shell=shell)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.long
@pytest.mark.parametrize("shell", ["2>&-", pytest.param(f"2>{FULL}", marks=needs_full)])
def test_workers_without_a_standard_error(shell: str, sides: list[str]) -> None:
    usual, done = anls("score", *sides, shell=""), anls("score", *sides, "--workers", "1", shell=shell)
    assert (done.returncode, done.stdout) == (0, usual.stdout)


def test_no_file_takes_the_place_of_a_closed_stream(sides: list[str], tmp_path: Path) -> None:
    """Else what a library writes to the standard error would be in the file that was opened next."""
    code = (
        "import os\nfrom anls_eval.__main__ import main\nfrom anls_eval.cli import commands\n"
        f"commands.main = lambda: print(open({sides[0]!r}).fileno(), *map(os.get_inheritable, range(3)))\nmain()"
    )
    command = ["sh", "-c", '"$@" <&- 2>&-', "sh", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    number, *are_inherited = done.stdout.split()
    assert int(number) > 2
    assert are_inherited == ["True"] * 3


@pytest.mark.parametrize("name", ["--help", "table", "json", "check"])
def test_results_that_nobody_reads(name: str, sides: list[str]) -> None:
    """The status of SIGPIPE, without a word: 1 would be the verdict of `anls gate`."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "anls_eval", *asked(name, sides)]
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("options", [["gate", "--min-score", "0", "--save-baseline"], ["check", "--fix"]])
def test_files_are_written_where_nobody_reads(options: list[str], sides: list[str], tmp_path: Path) -> None:
    command, *others = options
    reading, writing = os.pipe()
    os.close(reading)
    asked = [sys.executable, "-m", "anls_eval", command, *sides, *others, str(tmp_path / "written.json")]
    done = subprocess.run(asked, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 141, done.stderr
    assert (tmp_path / "written.json").exists()


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="the size of a pipe cannot be set here")
def test_a_stream_that_does_not_wait(tmp_path: Path) -> None:
    """As Node and ssh leave one that they share: what is written faster than it is read is not lost."""
    for name, column, text in ("p", "prediction", " r "), ("r", "answer", "r"):  # of which the blanks are found
        rows = "".join(f"{row},{text}\n" for row in range(2000))
        (tmp_path / f"{name}.csv").write_text(f"id,{column}\n{rows}", encoding="utf-8")
    asked = [sys.executable, "-m", "anls_eval", "check", f"{tmp_path}/p.csv", "-r", f"{tmp_path}/r.csv", "--json"]
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    with subprocess.Popen(asked, cwd=ROOT, stdout=write, stderr=subprocess.DEVNULL) as process:
        os.close(write)
        parts = []
        while part := os.read(read, 4096):
            parts.append(part)
            time.sleep(0.001)
        os.close(read)
    assert (process.returncode, len(json.loads(b"".join(parts))["problems"])) == (0, 2000)
