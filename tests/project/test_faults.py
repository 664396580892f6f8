"""Processes that are killed, interrupted or out of room: what was there stays, and nothing half is taken for whole.

Each test stops real processes. How often is bounded here; docs/reliability.md has the figures of longer runs.
"""

import contextlib
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ordinary_user import without_privileges
from places import ROOT

from anls_eval.files import open_predictions

QUESTIONS = 40_000
KILLS = int(os.environ.get("KILLS", "2"))


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A submission that takes some seconds with a row for each question."""
    folder = tmp_path_factory.mktemp("sides")
    rows = [(number, f"answer {number * 7919 % 100_003} of some length") for number in range(QUESTIONS)]
    for name, field in ("predictions", "prediction"), ("references", "answers"):
        lines = (json.dumps({"question_id": id_, field: text}) for id_, text in rows)
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return str(folder / "predictions.jsonl"), str(folder / "references.jsonl")


WRITER = """
import sys, pyarrow as pa
from anls_eval.files import write_rows
batch = pa.record_batch({"question_id": [str(n) for n in range(1000)], "score": [0.5] * 1000})
print("ready", flush=True)
while True:
    write_rows(sys.argv[1], (batch for _ in range(30)))
    print("whole", flush=True)
"""


NAMES = ["rows.csv", *(pytest.param(name, marks=pytest.mark.long) for name in ("rows.parquet", "rows.jsonl.gz"))]


@pytest.mark.parametrize("kills", [KILLS, pytest.param(10, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_killed_while_writing(tmp_path: Path, name: str, kills: int) -> None:
    """SIGKILL at random moments: under the name of the file there is always a whole one."""
    generator = random.Random(name)  # noqa: S311
    path = tmp_path / name
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            for _ in range(2):  # ready, and one whole file
                process.stdout.readline()
            time.sleep(generator.uniform(0, 0.3))
            process.kill()
        assert sum(map(len, open_predictions(path, columns={"prediction": "score"}).batches())) == 30_000


# It says when it has opened the files, or scored some blocks of questions, after which it stands still.
PROGRAM = """
import contextlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests in the background
from anls_eval.__main__ import main
from anls_eval.cli import commands

blocks = int(sys.argv.pop(1))

@contextlib.contextmanager
def stop_after_some(rows, quiet):
    done = []
    def advance(n):
        done.append(n)
        if len(done) == blocks + 1:
            print("here", flush=True)
            sys.stdin.read()
    advance(0)
    yield advance

commands.progress = stop_after_some
main()
"""


def in_the_middle(
    arguments: list[str], happen: Callable[[subprocess.Popen[str]], object], blocks: int = 2
) -> tuple[int, list[str]]:
    """Run a command with something that happens after some blocks of questions; its status and what it told."""
    piped = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM, str(blocks), *arguments]
    with subprocess.Popen(command, stdin=piped, stdout=piped, stderr=piped, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "here\n"
        happen(process)
        _, told = process.communicate()
    return process.returncode, told.splitlines()


def interrupt(arguments: list[str]) -> list[str]:
    """Run a command and interrupt it in the middle; what it told."""
    status, told = in_the_middle(arguments, lambda process: process.send_signal(signal.SIGINT))
    assert status == 130, told
    return told


@pytest.mark.parametrize("name", NAMES)
def test_interrupted(tmp_path: Path, sides: tuple[str, str], name: str) -> None:
    """Ctrl-C: words, status 130, and what was scored under a name that says partial; the file that was there stays."""
    (tmp_path / name).write_text("what was there")
    told = interrupt(["score", sides[0], "-r", sides[1], "--per-question", str(tmp_path / name)])
    partial = tmp_path / name.replace("rows.", "rows.partial.")
    assert told[-1] == f"interrupted; what was written before is kept in {partial}"
    assert 0 < sum(map(len, open_predictions(partial).batches())) < QUESTIONS
    assert (tmp_path / name).read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, partial.name])


def test_interrupted_without_a_file(sides: tuple[str, str]) -> None:
    assert interrupt(["score", sides[0], "-r", sides[1]])[-1] == "interrupted"


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_vanishes(tmp_path: Path, sides: tuple[str, str], name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    asked = ["score", sides[0], "-r", sides[1], "--per-question", str(folder / name)]
    status, told = in_the_middle(asked, lambda process: shutil.rmtree(folder))
    assert (status, told[-1]) == (2, f"error: {folder / name}: cannot be written: No such file or directory.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("score", "-r {references}"),
        ("score", "-r {references} --per-question {folder}/rows.csv"),
        ("check", ""),
        ("check", "--fix {folder}/rows.csv"),
        ("check", "--json"),
    ],
)
@pytest.mark.parametrize("what", ["changed", "removed"])
def test_input_that_changes_meanwhile(
    tmp_path: Path, sides: tuple[str, str], what: str, command: str, options: str
) -> None:
    """As of a model that still answers: the score of some of its answers is never told."""
    path = Path(shutil.copy(sides[0], tmp_path / "predictions.jsonl"))

    def change(process: subprocess.Popen[str]) -> None:
        if what == "removed":
            path.unlink()
        else:
            with path.open("a", encoding="utf-8") as stream:
                stream.write('\n{"question_id": "x", "prediction": "one more"}')

    asked = options.format(references=sides[1], folder=tmp_path).split()
    status, told = in_the_middle([command, str(path), *asked], change)
    remedy = "Put it back, and run again." if what == "removed" else "Run again once nothing writes to it."
    assert (status, told[-1]) == (2, f"error: {path}: {what} while it was read. {remedy}")
    assert [own.name for own in tmp_path.iterdir()] == ([path.name] if what == "changed" else [])


@pytest.mark.parametrize("side", ["predictions", "references"])
def test_input_that_becomes_a_fifo(tmp_path: Path, sides: tuple[str, str], side: str) -> None:
    """Between the look at it and its reading, which would wait for who writes to it, and let no signal end that."""
    paths = [Path(shutil.copy(path, tmp_path)) for path in sides]
    path = next(own for own in paths if own.stem == side)

    def replace(process: subprocess.Popen[str]) -> None:
        path.unlink()
        os.mkfifo(path)

    status, told = in_the_middle(["score", str(paths[0]), "-r", str(paths[1])], replace, blocks=0)
    words = f"error: {path}: changed while it was read. Run again once nothing writes to it."
    assert (status, told[-1]) == (2, words)


def test_memory_that_runs_out_meanwhile(tmp_path: Path, sides: tuple[str, str]) -> None:
    def take(process: subprocess.Popen[str]) -> None:
        resource.prlimit(process.pid, resource.RLIMIT_AS, (1, 1))

    rows = tmp_path / "rows.parquet"
    rows.write_text("what was there")
    status, told = in_the_middle(["score", sides[0], "-r", sides[1], "--per-question", str(rows)], take)
    assert status == 2
    words = r"error: (this process ran out of memory or threads\. |\S*: cannot be written: .*not enough memory)"
    assert re.match(words, told[-1])
    assert not any("Traceback" in line for line in told)
    assert rows.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [rows]


def test_a_folder_that_loses_a_file_meanwhile(tmp_path: Path, sides: tuple[str, str]) -> None:
    lines = Path(sides[0]).read_text(encoding="utf-8").splitlines(keepends=True)
    for number in range(4):
        part = lines[number * QUESTIONS // 4 : (number + 1) * QUESTIONS // 4]
        (tmp_path / f"part-{number}.jsonl").write_text("".join(part), encoding="utf-8")
    lost = tmp_path / "part-3.jsonl"
    status, told = in_the_middle(["score", str(tmp_path), "-r", sides[1]], lambda process: lost.unlink())
    words = f"error: {lost}: removed while it was read. Put it back, and run again."
    assert (status, told[-1]) == (2, words)


EACH = """
import contextlib, io, json, os, resource, sys
from anls_eval.cli.commands import main

def run(arguments):
    sys.argv = ["anls", "score", *arguments]
    with contextlib.redirect_stderr(io.StringIO()) as told, contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as stop:
            return stop.code, told.getvalue()

usual, folder, options, well, before = json.loads(sys.argv[1])
for option, name, *more in options:
    status, words = run([*usual, option, os.path.join(well, name), *more])  # imports all that is needed
    assert not status, words
exec(before)
print(json.dumps([run([*usual, option, os.path.join(folder, name), *more]) for option, name, *more in options]))
"""
OUTPUTS = [
    ("--per-question", "rows.csv"),
    ("--per-question", "rows.parquet"),
    ("--per-question", "rows.jsonl.zst"),
    ("--report", "report.html"),
    ("--eval-results", "hub", "--dataset-id", "a/b", "--task-id", "c"),
]


def run_each(usual: list[str], folder: Path, before: str) -> list[str]:
    """Write every kind of file into a folder, after `before`, in one process: each must fail, and this is how."""
    with tempfile.TemporaryDirectory() as well:
        command = [sys.executable, "-c", EACH, json.dumps([usual, str(folder), OUTPUTS, well, before])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told = []
    for status, words in json.loads(done.stdout):
        assert status == 2, words
        assert "Traceback" not in words
        told.append(words.splitlines()[-1])
        assert told[-1].startswith("error: ")
    return told


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Callable[[], None]]:
    """Mount a small file system; gives what fills it."""
    command = [shutil.which("mount") or "mount", *["-t", "tmpfs", "-o", "size=128k", "none"], str(folder)]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no file system can be mounted here")

    def fill() -> None:
        with (folder / ".filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    try:
        yield fill
    finally:
        subprocess.run([shutil.which("umount") or "umount", str(folder)], check=True)


@pytest.mark.parametrize("is_real", [False, pytest.param(True, marks=pytest.mark.long)])
def test_no_room(tmp_path: Path, is_real: bool) -> None:
    """A file that may not grow stands for a full disk, which there is where one can be mounted."""
    both = tmp_path / "both.jsonl"
    rows = [{"id": number, "prediction": f"{number * 7919 % 10_007}", "answers": ["x"]} for number in range(3000)]
    both.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    folder = tmp_path / "full"
    folder.mkdir()
    with full_disk(folder) if is_real else contextlib.nullcontext(lambda: None) as fill:
        (folder / "hub" / ".eval_results").mkdir(parents=True)
        paths = [folder / name for _, name, *_ in OUTPUTS[:4]] + [folder / "hub" / ".eval_results" / "b-c.yaml"]
        for path in paths:
            path.write_text("what was there")
        fill()
        before = "" if is_real else "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
        told = run_each([str(both)], folder, before)
        for path, words in zip(paths, told, strict=True):
            assert words.startswith(f"error: {path}: cannot be written: ")
            assert ("No space left on device" in words) == is_real
            assert path.read_text() == "what was there"
        left = {path for path in folder.rglob("*") if path.is_file()}
        assert left - {folder / ".filler"} == set(paths)  # nothing half


def test_read_only_folder() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "locked").mkdir(mode=0o555)
        (folder / "both.csv").write_text("id,prediction,answers\n1,Lima,Lima\n", encoding="utf-8")
        before = "if os.geteuid() == 0: os.seteuid(65534)"  # root may write anywhere
        told = run_each([str(folder / "both.csv")], folder / "locked", before)
        for (_, name, *_), words in zip(OUTPUTS, told, strict=True):
            assert f"{folder / 'locked' / name}" in words
            assert "Permission denied" in words
        assert list((folder / "locked").iterdir()) == []


RANK = """
import os, sys, evaluate
path, rank, cache, moment = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
metric = evaluate.load(path, num_process=2, process_id=rank, experiment_id="pair", cache_dir=cache, timeout=10_000)
metric.add_batch(predictions=["a", "b"], references=[["a"], ["c"]])  # waits for the other process
if moment == "before":
    metric.timeout = 1
if rank == 1 and moment == "before":
    os._exit(1)
if rank == 1 and moment == "while writing":
    metric._finalize = lambda: os._exit(1)
try:
    metric.compute(predictions=["x"], references=[["x"]])
except ValueError as error:
    print(error)
    print(len(metric))
alone = evaluate.load(path)
alone.add_batch(predictions=["a", "b"], references=[["a"], ["c"]])
print(alone.compute()["anls_score"])
"""


@pytest.mark.parametrize("moment", [pytest.param("before", marks=pytest.mark.long), "while writing"])
def test_a_process_of_several_dies(tmp_path: Path, metric_path: str, moment: str) -> None:
    """The other one says so after its timeout, and keeps what was added to it."""
    command = [sys.executable, "-W", "ignore", "-c", RANK, metric_path]
    with subprocess.Popen([*command, "1", str(tmp_path), moment]) as other:
        done = subprocess.run([*command, "0", str(tmp_path), moment], capture_output=True, text=True, check=True)
        assert other.wait() == 1
    message, rows, score = done.stdout.splitlines()
    assert message.startswith("process 0 of 2 timed out waiting for the other processes: ")
    assert "One of them has ended or is late" in message
    assert f"timeout={1 if moment == 'before' else 10_000} seconds" in message
    assert (rows, score) == ("2", "0.5")


def in_folder(folder: Path, command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, **how)


WRITTEN = {
    "score": ("--per-question rows.csv", "--report report.html"),
    "check": ("--fix rows.csv",),
    "gate": tuple(
        f"--min-score 0 {output}" for output in ("--save-baseline a.json", "--markdown a.md", "--junit a.xml")
    ),
    "agreement": ("--human human --out rows.csv",),
    "audit": ("q.jsonl --out rows.csv",),
    "leaderboard": ("q.jsonl --out board.md",),
}


@pytest.mark.parametrize(("command", "options"), [(name, own) for name, every in WRITTEN.items() for own in every])
@pytest.mark.parametrize("mode", [0o640, 0o444, 0], ids=oct)
def test_an_output_with_permissions_of_its_own(tmp_path: Path, command: str, options: str, mode: int) -> None:
    """They are kept where it may be written; where it may not, it is not replaced."""
    for name, field in ("p", "prediction"), ("q", "prediction"), ("r", "answers"):
        rows = (f'{{"question_id": {number}, "{field}": "Lima", "human": "{number < 5}"}}\n' for number in range(9))
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    *_, output = options.split()
    (tmp_path / output).touch()
    (tmp_path / output).chmod(mode)
    before = (tmp_path / output).stat()
    asked = [sys.executable, "-m", "anls_eval", command, "p.jsonl", "-r", "r.jsonl", *options.split()]
    done = in_folder(tmp_path, asked, preexec_fn=without_privileges)
    after = (tmp_path / output).stat()
    assert after.st_mode == before.st_mode
    if mode & 0o200:
        assert (done.returncode, os.path.samestat(before, after)) == (0, False), done.stderr
    else:
        assert (done.returncode, after) == (2, before)
        assert done.stderr.splitlines()[-1] == f"error: {output}: cannot be written: Permission denied."


@pytest.mark.parametrize(
    "asked",
    [
        "score p.jsonl -r {references}",
        "score {predictions} -r {references} --per-question rows.csv",
        "score {predictions} -r {references} --eval-results model --dataset-id a/b --task-id c",
        "check {predictions} --fix rows.jsonl",
        "gate {predictions} -r {references} --min-score 0 --markdown gate.md",
    ],
)
def test_a_working_folder_that_was_deleted(tmp_path: Path, sides: tuple[str, str], asked: str) -> None:
    command = [sys.executable, "-m", "anls_eval", *asked.format(predictions=sides[0], references=sides[1]).split()]
    done = in_folder(tmp_path, ["/bin/sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *command])
    words = "error: the working folder no longer exists. Change to one that does."
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, words)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            "score p.jsonl -r r.jsonl --per-question {hidden}/x.csv",
            "{hidden}/x.csv: cannot be written: Permission denied.",
        ),
        ("score p.jsonl -r r.jsonl --report {hidden}/x.html", "{hidden}/x.html: cannot be written: Permission denied."),
        ("check p.jsonl --fix {hidden}/x.jsonl", "{hidden}/x.jsonl: cannot be written: Permission denied."),
        (
            "gate p.jsonl -r r.jsonl --min-score 0 --save-baseline {hidden}/x.json",
            "{hidden}/x.json: cannot be written: Permission denied.",
        ),
        (
            "gate p.jsonl -r r.jsonl --baseline {hidden}/p.jsonl",
            "{hidden}/p.jsonl: cannot be opened: Permission denied. Make it and its folders readable.",
        ),
        (
            "score {hidden}/p.jsonl -r r.jsonl",
            "{hidden}/p.jsonl: cannot be opened: Permission denied. Make it and its folders readable.",
        ),
        (
            "leaderboard {hidden} -r r.jsonl",
            "{hidden}: the folder cannot be read: Permission denied. Make it readable, or pass paths without it.",
        ),
    ],
)
def test_below_a_folder_that_may_not_be_entered(tmp_path: Path, asked: str, words: str) -> None:
    """What is there is not known; it is not told as missing."""
    hidden = tmp_path / "closed" / "inside"
    hidden.mkdir(parents=True)
    for folder, (name, field) in itertools.product(
        (tmp_path, hidden), (("p.jsonl", "prediction"), ("r.jsonl", "answers"))
    ):
        (folder / name).write_text(f'{{"question_id": 1, "{field}": "a"}}\n')
    hidden.parent.chmod(0)
    try:
        command = [sys.executable, "-m", "anls_eval", *asked.format(hidden="closed/inside").split()]
        done = in_folder(tmp_path, command, preexec_fn=without_privileges)
    finally:
        hidden.parent.chmod(0o700)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"error: {words.format(hidden='closed/inside')}")
