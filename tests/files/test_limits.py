"""A process that runs out of memory, threads or open files says so, and calls no file damaged."""

import gzip
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from places import ROOT

from anls_eval.limits import limit_error

OPEN_FILES = "this process has too many files open. Raise the limit (ulimit -n)."
MEMORY = "this process ran out of memory or threads. Give it more memory, or raise its limits (ulimit -v, ulimit -u)."
ROWS = [{"id": str(number), "prediction": "Lima", "answers": "Lima"} for number in range(1000)]

# Each file is read once before, so that all modules are there.
READ = """
import json, resource, sys
from anls_eval.files import open_predictions

for path in sys.argv[1:]:
    rows = sum(map(len, open_predictions(path).batches()))
    assert rows == 1000, rows
    opened = open_predictions(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    for read in (lambda: open_predictions(path), lambda: list(opened.batches())):
        try:
            read()
        except MemoryError as error:
            print(error)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
"""


def paths_of(folder: Path) -> list[Path]:
    """The same rows in every format."""
    table = pa.Table.from_pylist(ROWS)
    lines = "\n".join(map(json.dumps, ROWS))
    pq.write_table(table, folder / "rows.parquet")
    pyarrow.feather.write_feather(table, folder / "rows.feather")
    (folder / "rows.jsonl").write_text(lines)
    (folder / "rows.json").write_text(json.dumps(ROWS))
    (folder / "rows.csv").write_text("id,prediction,answers\n" + "".join(f"{n},Lima,Lima\n" for n in range(1000)))
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    with zipfile.ZipFile(folder / "rows.zip", "w") as archive:
        archive.writestr("rows.jsonl", lines)
    book = openpyxl.Workbook()
    for row in [list(ROWS[0]), *(list(own.values()) for own in ROWS)]:
        book.active.append(row)
    book.save(folder / "rows.xlsx")
    return sorted(folder.iterdir())


def test_too_many_open_files(tmp_path: Path) -> None:
    """As each is opened, and as one that was opened is read."""
    paths = paths_of(tmp_path)
    done = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert set(told) == {OPEN_FILES}
    assert len(told) >= 2 * len(paths) - 2  # JSON and spreadsheets are read as they are opened


AT_EXIT = """
import atexit, contextlib, os, resource, sys
from anls_eval import __main__

sys.argv = ["anls", "score", sys.argv[1], "--json", "--quiet"]
with contextlib.suppress(SystemExit):
    __main__.main()  # all modules are there now
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
atexit.register(os.abort)
__main__.main()
"""


def test_nothing_runs_at_exit_that_could_lack_it_too(tmp_path: Path) -> None:
    """As threads of libraries do that crash without memory: the status would be another one."""
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[0]))
    asked = [sys.executable, "-c", AT_EXIT, str(tmp_path / "rows.jsonl")]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"error: {OPEN_FILES}")


def command(path: Path, limit: int, value: int, *options: str, python: Sequence[str] = ()) -> tuple[int, str, str]:
    """Score a file under a limit."""

    def limited() -> None:
        resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))

    asked = ["score", str(path), "--json", "--quiet", *options]
    done = subprocess.run(
        [sys.executable, *python, "-m", "anls_eval", *asked],
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(pa.__version__.startswith("19."), reason="pyarrow 19 ends the process without threads")
def test_no_threads(tmp_path: Path) -> None:
    """Here the stack of a thread would be larger than all memory: a limit of threads does not concern the superuser."""
    paths_of(tmp_path)
    status, printed, told = command(tmp_path / "rows.parquet", resource.RLIMIT_STACK, 1 << 46)
    assert (status, printed, told.splitlines()[-1]) == (2, "", f"error: {MEMORY}")


@pytest.mark.long
@pytest.mark.parametrize("megabytes", range(300, 700, 50))
def test_little_memory(tmp_path: Path, megabytes: int) -> None:
    """It is enough or not, as libraries have it: the right score, or words, unless a library ends the process."""
    paths_of(tmp_path)
    status, printed, told = command(tmp_path / "rows.parquet", resource.RLIMIT_AS, megabytes << 20)
    assert "Traceback" not in told
    assert "damaged" not in told
    if status == 0:
        assert json.loads(printed)["anls_score"] == 1
    elif status > 0:
        assert (status, printed, told.splitlines()[-1]) == (2, "", f"error: {MEMORY}")


@pytest.mark.long
@pytest.mark.parametrize("megabytes", range(250, 750, 50))
def test_little_memory_for_documents(tmp_path: Path, megabytes: int) -> None:
    """Long lists need scipy, whose OpenBLAS tried for ever to get memory that the documents had taken."""
    invoice = {"items": [{"name": f"item {number}", "price": str(number)} for number in range(12)]}
    rows = [{"question_id": number, "prediction": invoice, "reference": invoice} for number in range(3000)]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    limit = resource.RLIMIT_AS, megabytes << 20
    status, printed, told = command(path, *limit, "-p", "anls_star")
    if status == 0:
        assert json.loads(printed)["anls_star_score"] == 1
    else:
        assert (status, printed, told.splitlines()[-1]) == (2, "", f"error: {MEMORY}")


@pytest.mark.parametrize(("megabytes", "loaded"), [(-1, "nothing\n"), (100, "no memory\n"), (2000, "scipy.linalg\n")])
def test_openblas_is_loaded_early_only_under_a_limit(megabytes: int, loaded: str) -> None:
    program = """
import resource, sys
from anls_eval.openblas import load_openblas
if int(sys.argv[1]) > 0:
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    load_openblas()
except MemoryError:
    print("no memory")
else:
    print("scipy.linalg" if "scipy.linalg" in sys.modules else "nothing")
"""
    asked = [sys.executable, "-c", program, str(megabytes)]
    assert subprocess.run(asked, capture_output=True, text=True, check=True, cwd=ROOT).stdout == loaded


def test_the_command_loads_openblas_before_it_reads(tmp_path: Path) -> None:
    """One file is missing, so that nothing else would need it."""
    missing = tmp_path / "no such file"
    for limit, loaded in ((resource.RLIM_INFINITY, False), (2000 << 20, True)):
        status, _, told = command(missing, resource.RLIMIT_AS, limit, python=("-X", "importtime"))
        assert status == 2
        assert ("scipy.linalg" in told) == loaded


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (pa.lib.ArrowMemoryError("malloc of size 120000 failed"), MEMORY),
        (OSError(12, os.strerror(12)), MEMORY),
        (ImportError("libarrow.so: failed to map segment from shared object"), MEMORY),
        (ImportError("libarrow.so: failed to map segment from shared object: Operation not permitted"), None),
        (BlockingIOError(11, "write could not complete without blocking"), None),
        (ValueError(f"a file that says {os.strerror(11)}"), None),
        (SystemError("error return without exception set"), MEMORY),
        (RuntimeError("another"), None),
    ],
)
def test_which_errors_are_of_a_limit(error: Exception, told: str | None) -> None:
    found = limit_error(error)
    assert (None if found is None else str(found)) == told
