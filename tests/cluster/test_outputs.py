"""What a run keeps: on a full or vanishing disk, damaged, changed or used by two runs at once."""

import concurrent.futures
import contextlib
import dataclasses
import errno
import hashlib
import io
import json
import os
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask.distributed import Client, LocalCluster
from dataset_command import DatasetCommand, finished
from full_disk import enlarge, make_read_only, make_writable, small_disk
from ordinary_user import ordinary_user

from anls_eval.cluster import lock, parts
from anls_eval.cluster import run as distributed
from anls_eval.cluster.agreement import Agreement, agreed, visit
from anls_eval.cluster.buckets import BucketSide
from anls_eval.cluster.errors import ClusterError
from anls_eval.cluster.folder import temporary_folder
from anls_eval.cluster.parts import has_repeats
from anls_eval.cluster.records import write_record
from anls_eval.cluster.run import DatasetScore, score_dataset
from anls_eval.cluster.workers import local_client
from anls_eval.files import open_predictions, open_references
from anls_eval.files.errors import OutputError
from anls_eval.submission.score import SubmissionScore, score_submission
from benchmarks.generate import write_dataset

ROWS, FILES = 24_000, 6
BECAUSE_OF_CHANGES = "scored again, because the files, the options or the code have changed since"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with local_client(2) as own:
        yield own


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions and references whose files go together."""
    folder = tmp_path_factory.mktemp("data")
    write_dataset(folder, ROWS, FILES)
    return folder


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows, which are matched by id across files."""
    folder = tmp_path_factory.mktemp("apart")
    write_dataset(folder, ROWS, FILES, apart=True)
    return folder


@pytest.fixture(scope="module")
def expected(data: Path) -> SubmissionScore:
    """What one process makes of them."""
    return in_one_process(data)


def in_one_process(data: Path, **options: Any) -> SubmissionScore:
    sides = open_predictions(data / "predictions"), open_references(data / "references")
    return score_submission(*sides, by=["model"], **options)


def scored(data: Path, out: Path, **options: Any) -> DatasetScore:
    return score_dataset(data / "predictions", data / "references", out=out, by=["model"], **options)


def rows_of(out: Path) -> list[Any]:
    return sorted(pq.read_table(out)["question_id"].to_pylist())


class TestFullDisk:
    LIMIT = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"

    @pytest.mark.parametrize(
        ("is_real", "of", "skip_bad"),
        [
            (False, "apart", True),
            *(
                pytest.param(is_real, of, skip_bad, marks=pytest.mark.long)
                for is_real in (False, True)
                for of in ("data", "apart")
                for skip_bad in (False, True)
                if (is_real, of, skip_bad) != (False, "apart", True)
            ),
        ],
    )
    def test_ends_the_run(
        self,
        is_real: bool,
        of: str,
        skip_bad: bool,
        expected: SubmissionScore,
        tmp_path: Path,
        request: pytest.FixtureRequest,
    ) -> None:
        """A worker whose files may not grow stands for a full disk, which there is where one can be mounted."""
        source: Path = request.getfixturevalue(of)
        limit = tmp_path / "limit.py"
        limit.write_text(self.LIMIT)
        disk = tmp_path / "disk"
        disk.mkdir()
        options = ["--skip-bad"] if skip_bad else []
        environment = {} if is_real else {"DASK_DISTRIBUTED__WORKER__PRELOAD": repr([str(limit)])}
        with small_disk(disk, "200k") if is_real else contextlib.nullcontext(True) as is_there:
            if not is_there:
                pytest.skip("no file system can be mounted here")
            run = DatasetCommand(source, disk / "out", *options, **environment)
            status, printed, said = run.wait()
            assert (status, printed) == (2, ""), said
            reason = "No space left on device" if is_real else "File too large"
            [told] = said.splitlines()
            assert told.startswith(f"error: {disk}/out/")
            kept = f"What is finished is in {disk}/out. To continue once this is mended, pass --resume."
            assert told.endswith(f": cannot be written: {reason}. {kept}")
            assert not run.left()
            if is_real:
                enlarge(disk, "32m")
            status, printed, said = DatasetCommand(source, disk / "out", *options, "--resume").wait()
            assert status == 0, said
            found = json.loads(printed)
            assert (found["anls_score"], found["n"], found["bad"]) == (expected.score, ROWS, {})
            assert len(rows_of(disk / "out")) == ROWS

    def test_without_a_folder_for_the_results(
        self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)

        def remove(done: int) -> None:
            for folder in tmp_path.iterdir():
                shutil.rmtree(folder, ignore_errors=True)

        with local_client(1) as own, pytest.raises(OutputError, match=r"cannot be written: No such file") as caught:
            score_dataset(data / "predictions", data / "references", client=own, on_progress=remove)
        assert str(caught.value).endswith(
            'was the temporary folder of this run. To use another folder, which is kept, pass out="FOLDER".'
        )


@pytest.mark.parametrize("is_own", [False, True])
def test_no_room_for_a_folder_of_results(
    is_own: bool, data: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `out`: for workers on other machines, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o500)
    remedy = "Name another folder for temporary files by the" if is_own else 'To use another folder, pass out="FOLDER"'
    words = f"^{tmp_path}: no folder can be created in it: Permission denied. {remedy}"
    with ordinary_user(), pytest.raises(ValueError, match=words):
        score_dataset(data / "predictions", data / "references", client=None if is_own else client)


def test_a_folder_that_loses_what_is_finished(data: Path, client: Client, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def lose(done: int) -> None:
        shutil.rmtree(out / "_work", ignore_errors=True)

    words = rf'{out}/_work is no longer there, and without it nothing .* To start again .*, pass out="FOLDER"\.$'
    with pytest.raises(OutputError, match=words):
        scored(data, out, client=client, on_progress=lose)


def test_a_folder_that_vanishes(data: Path, expected: SubmissionScore, client: Client, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"

    def vanish(done: int) -> None:
        if out.exists():
            out.rename(elsewhere)

    words = (
        rf"^{out}/.*: cannot be written: No such file or directory\. {out} is no longer there\. "
        r"To continue once it is back, pass resume=True\.$"
    )
    with pytest.raises(OutputError, match=words):
        scored(data, out, client=client, on_progress=vanish)
    elsewhere.rename(out)
    with pytest.warns(UserWarning, match="an earlier run in .* did not end by itself"):
        assert scored(data, out, client=client, resume=True).submission == expected


HOLD = """
import time
from anls_eval.cluster.parts import FilePart

def held(part, job, sides=FilePart.sides):  # Dask loads this twice
    while any(job.work.glob("part-*.json")) and not (job.out.parent / "go on").exists():
        time.sleep(0.1)
    return sides(part, job)

FilePart.sides = held
"""


def started_and_held(data: Path, folder: Path, out: Path) -> DatasetCommand:
    """A run whose workers wait, once a part is finished, for a file `go on` beside its output folder."""
    hold = folder / "hold.py"
    hold.write_text(HOLD, encoding="utf-8")
    run = DatasetCommand(data, out, DASK_DISTRIBUTED__WORKER__PRELOAD=repr([str(hold)]))
    run.wait_until(lambda: finished(out))
    return run


@pytest.fixture
def made_read_only(data: Path, tmp_path: Path) -> Iterator[DatasetCommand]:
    """A run that is held, and whose output folder can no longer be written to."""
    out = tmp_path / "out"
    out.mkdir()
    with small_disk(out, "32m") as is_there:
        if not is_there:
            pytest.skip("no file system can be mounted here")
        run = started_and_held(data, tmp_path, out)
        make_read_only(out)
        yield run


@pytest.mark.long
def test_a_folder_that_becomes_read_only(
    made_read_only: DatasetCommand, data: Path, expected: SubmissionScore, tmp_path: Path
) -> None:
    out = made_read_only.out
    (tmp_path / "go on").touch()
    status, printed, said = made_read_only.wait()
    assert (status, printed) == (2, ""), said
    [told] = said.splitlines()
    assert told.startswith(f"error: {out}/")
    kept = f"What is finished is in {out}. To continue once this is mended, pass --resume."
    assert told.endswith(f": cannot be written: Read-only file system. {kept}")
    assert not made_read_only.left()
    status, printed, said = DatasetCommand(data, out, "--resume").wait()
    assert (status, printed) == (2, "")
    assert said.startswith(f"error: {out}/_work cannot hold the results (Read-only file system); expected a writable")
    make_writable(out)
    status, printed, said = DatasetCommand(data, out, "--resume").wait()
    assert (status, json.loads(printed)["anls_score"]) == (0, expected.score), said
    assert "did not end by itself" in said


@pytest.mark.long
def test_ctrl_c_after_a_folder_became_read_only(made_read_only: DatasetCommand) -> None:
    made_read_only.interrupt()
    status, printed, said = made_read_only.wait()
    assert (status, printed) == (130, ""), said
    assert f"finished in {made_read_only.out}. To continue, pass --resume." in said
    assert not made_read_only.left()


def test_a_mark_that_cannot_be_removed_hides_no_error(tmp_path: Path) -> None:
    def end(mark: Path) -> None:
        make_a_folder(mark)
        raise RuntimeError("why the run ends")

    with pytest.raises(RuntimeError, match="why the run ends"), agreed(tmp_path, {}) as agreement:
        end(agreement.mark)


def test_a_file_that_cannot_be_removed(data: Path, client: Client, tmp_path: Path) -> None:
    """As a folder under the name of a file that the end of a run removes."""
    other = tmp_path / "part-99999.parquet"

    def put(done: int) -> None:
        other.mkdir(exist_ok=True)

    with pytest.raises(OutputError) as caught:
        scored(data, tmp_path, client=client, on_progress=put)
    kept = f"What is finished is in {tmp_path}. To continue once this is mended, pass resume=True."
    assert str(caught.value) == f"{other}: cannot be read, written or removed: Is a directory. {kept}"
    other.rmdir()
    assert scored(data, tmp_path, client=client, resume=True).resumed == FILES


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def alter(path: Path) -> None:
    """Change one byte in the middle, and a digit if it can be one, so that JSON stays JSON."""
    content = bytearray(path.read_bytes())
    digits = [at for at, byte in enumerate(content) if chr(byte) in "12345678"]
    at = digits[len(digits) // 2]
    content[at] += 1
    path.write_bytes(content)


def make_binary(path: Path) -> None:
    path.write_bytes(b"\xff\x00\xfe")


def make_other_json(path: Path) -> None:
    path.write_bytes(b"[1, 2]")


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_a_fifo(path: Path) -> None:
    """Who opens it waits for somebody who writes to it."""
    path.unlink()
    os.mkfifo(path)


def make_a_socket(path: Path) -> None:
    path.unlink()
    os.mknod(path, stat.S_IFSOCK)


def make_a_link_to_a_device(path: Path) -> None:
    """It can be read without end."""
    path.unlink()
    path.symlink_to("/dev/zero")


no_files = [make_a_fifo, make_a_socket, make_a_link_to_a_device]


Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def whole_run(data: Path, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    scored(data, out, client=client)
    return out


class TestFinishedParts:
    @pytest.fixture
    def out(self, whole_run: Path, tmp_path: Path) -> Path:
        """The results of a run that has ended."""
        return Path(shutil.copytree(whole_run, tmp_path / "out"))

    @pytest.mark.parametrize(
        ("name", "damage", "fault"),
        [
            ("part-00003.parquet", Path.unlink, "part-00003.parquet is missing"),
            ("part-00003.parquet", cut, "part-00003.parquet is damaged"),
            ("part-00003.parquet", alter, "part-00003.parquet is damaged"),
            ("part-00003.parquet", empty, "part-00003.parquet is damaged"),
            ("_work/part-00003.npy", Path.unlink, "_work/part-00003.npy is missing"),
            ("_work/part-00003.npy", alter, "_work/part-00003.npy is damaged"),
            *(
                ("_work/part-00003.json", damage, "_work/part-00003.json is damaged")
                for damage in (cut, empty, alter, make_binary, make_other_json, *no_files)
            ),
            ("part-00003.parquet", make_a_fifo, "part-00003.parquet is damaged"),
            ("_work/part-00003.npy", make_a_fifo, "_work/part-00003.npy is damaged"),
        ],
    )
    def test_are_checked_and_made_again(
        self,
        name: str,
        damage: Damage,
        fault: str,
        data: Path,
        expected: SubmissionScore,
        client: Client,
        out: Path,
    ) -> None:
        whole = rows_of(out)
        damage(out / name)
        note = f"^1 part that an earlier run finished is scored again, because {fault}$"
        with pytest.warns(UserWarning, match=note):
            found = scored(data, out, client=client, resume=True)
        assert found == DatasetScore(expected, FILES, FILES - 1, {}, "file")
        assert rows_of(out) == whole

    @pytest.mark.parametrize("name", ["part-00003.parquet", "_work/part-00003.npy", "_work/part-00003.json"])
    def test_a_file_that_may_not_be_read(self, name: str, data: Path, client: Client, out: Path) -> None:
        """It is no damage, and stays as it is when the file is written again, which keeps who may read it."""
        (out / name).chmod(0)
        fault = rf"{name} cannot be read \(Permission denied\)"
        noted = pytest.warns(UserWarning, match=f"^1 part .* is scored again, because {fault}$")
        with ordinary_user(), noted, pytest.raises(OutputError, match=f"^{out}: {fault}, though it was written"):
            scored(data, out, client=client, resume=True)

    def test_the_record_of_another_part(
        self, data: Path, apart: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        """As a restored backup, or a program that keeps two folders the same, can leave it."""
        for name, folder in ("pairs", data), ("rows", apart):
            out = tmp_path / name
            scored(folder, out, client=client)
            shutil.copy(out / "_work" / "part-00003.json", out / "_work" / "part-00001.json")
            with pytest.warns(UserWarning, match=r"^1 part .* again, because _work/part-00001\.json is damaged$"):
                found = scored(folder, out, client=client, resume=True)
            assert (found.submission, found.resumed) == (expected, found.parts - 1)

    def test_all_of_them(self, data: Path, expected: SubmissionScore, client: Client, out: Path) -> None:
        for path in out.glob("*.parquet"):
            path.unlink()
        with pytest.warns(UserWarning, match=f"^{FILES} parts .* are scored again, because part-00000"):
            assert scored(data, out, client=client, resume=True) == DatasetScore(expected, FILES, 0, {}, "file")

    @pytest.mark.parametrize("name", ["part-00003.parquet", "_work/part-00003.npy", "_work/part-00003.json"])
    def test_a_folder_in_place_of_a_file(self, name: str, data: Path, client: Client, out: Path) -> None:
        """It may hold anything, so it is not removed."""
        make_a_folder(out / name)
        noted = pytest.warns(UserWarning, match=f"^1 part .* is scored again, because {name} is damaged$")
        message = rf"^{out}/{name}: cannot be written: Is a directory\. What is finished is in {out}\. To continue"
        with noted, pytest.raises(OutputError, match=message):
            scored(data, out, client=client, resume=True)

    @pytest.mark.parametrize("damage", [Path.unlink, cut, empty, make_binary, *no_files])
    def test_what_is_known_about_repeats(
        self, damage: Damage, data: Path, expected: SubmissionScore, client: Client, out: Path
    ) -> None:
        damage(out / "_work" / "without_repeats")
        found = scored(data, out, client=client, resume=True)
        assert found == DatasetScore(expected, FILES, FILES, {}, "file")

    def test_by_other_names_of_the_same_files(
        self, data: Path, expected: SubmissionScore, client: Client, out: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "link").symlink_to(data)
        for folder in (tmp_path / "link", data / "references" / ".."):
            assert scored(folder, out, client=client, resume=True) == DatasetScore(expected, FILES, FILES, {}, "file")

    def test_a_fifo_in_place_of_the_folder_of_rows(
        self, data: Path, expected: SubmissionScore, client: Client, out: Path
    ) -> None:
        os.mkfifo(out / "_work" / "rows")
        assert scored(data, out, client=client, resume=True) == DatasetScore(expected, FILES, FILES, {}, "file")

    def test_without_their_records(self, data: Path, client: Client, out: Path) -> None:
        """A run cannot be continued then, and nobody is told that it can."""
        shutil.rmtree(out / "_work")
        ending = r"\. Use another folder, or empty this one\.$"
        with pytest.raises(ValueError, match=rf"^{out} is not empty; expected a new or empty folder{ending}"):
            scored(data, out, client=client)
        with pytest.raises(ValueError, match=rf"^{out} is not empty; expected an earlier run with .* _work{ending}"):
            scored(data, out, client=client, resume=True)
        (out / "_work").touch()
        with pytest.raises(ValueError, match=rf"^{out} is not empty; expected an earlier run with .* _work{ending}"):
            scored(data, out, client=client, resume=True)

    @pytest.mark.parametrize("damage", [cut, empty, alter, make_a_fifo])
    def test_of_rows_matched_by_id(
        self, damage: Damage, apart: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        scored(apart, tmp_path, client=client)
        damage(tmp_path / "_work" / "rows" / "predictions-00001.json")
        damage(tmp_path / "part-00002.parquet")
        with pytest.warns(UserWarning, match="that an earlier run finished") as noted:
            found = scored(apart, tmp_path, client=client, resume=True)
        assert [str(note.message) for note in noted] == [
            "1 file that an earlier run finished is read again, because _work/rows/predictions-00001.json is damaged",
            "1 part that an earlier run finished is scored again, because part-00002.parquet is damaged",
        ]
        assert found == DatasetScore(expected, FILES, FILES - 1, {}, "id")

    @pytest.mark.parametrize("damage", [Path.unlink, cut, empty, alter, make_a_fifo])
    def test_the_rows_of_a_run_that_was_broken_off(
        self, damage: Damage, apart: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        def break_off(done: int) -> None:
            raise RuntimeError("before the first part")

        with pytest.raises(RuntimeError, match="before the first part"):
            scored(apart, tmp_path, client=client, on_progress=break_off)
        damage(tmp_path / "_work" / "rows" / "references-00002.arrow")
        with pytest.warns(UserWarning, match="^1 file .* read again, because _work/rows/references-00002.arrow is"):
            assert scored(apart, tmp_path, client=client, resume=True) == DatasetScore(expected, FILES, 0, {}, "id")

    def test_a_result_that_is_lost_before_the_end(self, data: Path, client: Client, tmp_path: Path) -> None:
        """No score is told that the folder does not hold."""

        def lose(done: int) -> None:
            (tmp_path / "part-00000.parquet").unlink(missing_ok=True)

        with pytest.raises(OutputError, match=rf"^{tmp_path}: part-00000.parquet is missing, though it was written"):
            scored(data, tmp_path, client=client, on_progress=lose)

    def test_what_is_no_file_is_not_read_back(self, tmp_path: Path) -> None:
        job: Any = SimpleNamespace(work=tmp_path)
        message = r"cannot be read back: Not a regular file\.$"
        os.mkfifo(tmp_path / "part-00000.npy")
        with pytest.raises(OutputError, match=rf"^{tmp_path}/part-00000.npy: {message}"):
            has_repeats(["part-00000"], (0, 1 << 64), job)
        os.mkfifo(tmp_path / "rows.arrow")
        with pytest.raises(OutputError, match=rf"^{tmp_path}/rows.arrow: {message}"):
            list(BucketSide([tmp_path / "rows.arrow"], 0, 1).tables())

    @pytest.mark.parametrize(
        "name", ["part-00002.parquet", "_work/part-00002.npy", "_work/rows/predictions-00002.arrow"]
    )
    def test_a_file_that_is_damaged_before_it_is_recorded(
        self, name: str, data: Path, apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the record says is what was written, not what is there afterwards."""
        damaged, given = tmp_path / name, apart if "rows" in name else data

        def damaged_then_recorded(path: Path, *others: Any) -> None:
            if path.stem == damaged.stem:
                content = bytearray(damaged.read_bytes())
                content[content.index(b"qwen2") if path.parent.name == "rows" else 0] ^= 1
                damaged.write_bytes(content)
            write_record(path, *others)

        with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as here:
            with monkeypatch.context() as patched:
                patched.setattr(parts, "write_record", damaged_then_recorded)
                with pytest.raises(OutputError, match=rf"{name}(: cannot be read back: it)? is damaged"):
                    scored(given, tmp_path, client=here)
            with pytest.warns(UserWarning, match=f"again, because {name} is damaged"):
                found = scored(given, tmp_path, client=here, resume=True)
        assert found.submission == in_one_process(given)

    def test_the_record_of_rows_that_is_lost_before_they_are_scored(
        self, apart: Path, client: Client, tmp_path: Path
    ) -> None:
        """Their file does not become one without rows, or without notes."""

        def lose(done: int) -> None:
            (tmp_path / "_work" / "rows" / "predictions-00000.json").unlink(missing_ok=True)

        with pytest.raises(OutputError, match=rf"^{tmp_path}: _work/rows/predictions-00000.json is missing, though it"):
            scored(apart, tmp_path, client=client, on_progress=lose, missing="zero")

    def test_rows_that_are_lost_before_they_are_scored(self, apart: Path, client: Client, tmp_path: Path) -> None:
        """Their questions do not become missing ones."""

        def lose(done: int) -> None:
            (tmp_path / "_work" / "rows" / "predictions-00000.arrow").unlink(missing_ok=True)

        with pytest.raises(OutputError, match=r"predictions-00000.arrow: cannot be read back: .*No such file"):
            scored(apart, tmp_path, client=client, on_progress=lose, missing="zero")


class TestPartsWithoutRows:
    """As Spark, Dask and datasets write them."""

    @pytest.fixture(params=["data", "apart"])
    def source(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        folder: Path = shutil.copytree(request.getfixturevalue(request.param), tmp_path / "data")
        for side in ("predictions", "references"):
            schema = pq.read_schema(folder / side / "part-00000.parquet")
            pq.write_table(schema.empty_table(), folder / side / "part-00000a.parquet")
            (folder / side / "part-10.jsonl").touch()
        return folder

    def test_are_parts_like_any_other(
        self, source: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        found = scored(source, tmp_path / "out", client=client)
        notes = [note for note in found.submission.notes if note.endswith("is empty: read as a part without rows")]
        assert len(notes) == 2
        assert dataclasses.replace(found.submission, notes=()) == dataclasses.replace(expected, notes=())
        assert (found.parts, found.bad) == (FILES + 2, {})
        assert len(list((tmp_path / "out").glob("*.parquet"))) == FILES + 2
        assert len(rows_of(tmp_path / "out")) == ROWS
        again = scored(source, tmp_path / "out", client=client, resume=True)
        assert again == dataclasses.replace(found, resumed=FILES + 2)

    def test_on_one_side(self, data: Path, expected: SubmissionScore, client: Client, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(data, tmp_path / "data"))
        first, second = (folder / "predictions" / f"part-0000{number}.parquet" for number in (0, 1))
        table = pq.read_table(first)
        pq.write_table(pa.concat_tables([pq.read_table(second), table]), second)
        pq.write_table(table[:0], first)
        assert scored(folder, tmp_path / "out", client=client) == DatasetScore(expected, FILES, 0, {}, "id")

    def test_without_ids(self, client: Client, tmp_path: Path) -> None:
        for side, column in (("predictions", "prediction"), ("references", "answers")):
            for number, texts in enumerate([["a", "b"], [], ["c"]]):
                path = tmp_path / side / f"{number}.jsonl"
                path.parent.mkdir(exist_ok=True)
                path.write_text("".join(json.dumps({column: text}) + "\n" for text in texts))
        sides = tmp_path / "predictions", tmp_path / "references"
        found = score_dataset(*sides, client=client)
        assert (found.parts, found.submission.n, found.submission.score) == (3, 3, 1.0)
        (sides[1] / "1.jsonl").write_text('{"answers": "d"}\n')
        with pytest.raises(ValueError, match=r"references/1.jsonl has 1 row but .*predictions/1.jsonl has 0 rows, and"):
            score_dataset(*sides, client=client)

    @pytest.mark.parametrize("count", [1, 3])
    def test_an_error_if_no_part_has_a_row(self, count: int, client: Client, tmp_path: Path) -> None:
        for number in range(count):
            pq.write_table(pa.table({"id": pa.nulls(0), "prediction": pa.nulls(0)}), tmp_path / f"{number}.parquet")
        pq.write_table(pa.table({"id": ["1"], "answers": ["a"]}), tmp_path / "_references.parquet")
        for references in (tmp_path / "_references.parquet", None):
            columns = {} if references else {"answers": "prediction"}
            with pytest.raises(ValueError, match=r"/0.parquet.*: .*no rows"):
                score_dataset(tmp_path, references, client=client, columns=columns, missing="zero")


class TestFilesThatChange:
    @pytest.fixture
    def changing(self, data: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(data, tmp_path / "data"))

    def change(self, path: Path) -> None:
        table = pq.read_table(path)
        answers = pa.array(["?"] * len(table))
        pq.write_table(table.set_column(table.column_names.index("prediction"), "prediction", answers), path)

    def test_while_they_are_scored(self, changing: Path, client: Client, tmp_path: Path) -> None:
        path = changing / "predictions" / "part-00002.parquet"
        state = path.stat()

        def change(done: int) -> None:
            if done == ROWS and path.stat().st_mtime_ns == state.st_mtime_ns:
                self.change(path)

        with pytest.raises(ValueError, match=rf"^{path}: changed while it was read\. Run again"):
            scored(changing, tmp_path / "out", client=client, on_progress=change)
        with pytest.warns(UserWarning, match=f"^1 part .* {BECAUSE_OF_CHANGES}"):
            found = scored(changing, tmp_path / "out", client=client, resume=True)
        assert found == DatasetScore(in_one_process(changing), FILES, FILES - 1, {}, "file")

    @pytest.mark.parametrize("is_removed", [False, True])
    @pytest.mark.parametrize("number", [0, 2])
    @pytest.mark.parametrize("is_own", [False, True])
    def test_before_they_are_read(
        self,
        is_own: bool,
        number: int,
        is_removed: bool,
        changing: Path,
        client: Client,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Also one of the files that every worker must see as this process does: no worker is blamed for it."""
        path = changing / "predictions" / f"part-0000{number}.parquet"

        @contextlib.contextmanager
        def then_changed(*given: Any) -> Iterator[Agreement]:
            with agreed(*given) as agreement:
                if is_removed:
                    path.unlink()
                else:
                    self.change(path)
                yield agreement

        monkeypatch.setattr(distributed, "agreed", then_changed)
        found = scored(changing, tmp_path / "out", skip_bad=True, **{"workers": 1} if is_own else {"client": client})
        assert list(found.bad) == [str(path)]
        happened = "removed" if is_removed else "changed or replaced"
        assert f"{happened} after the run began" in found.bad[str(path)]
        path.unlink(missing_ok=True)
        (changing / "references" / path.name).unlink()
        assert dataclasses.replace(found.submission, notes=()) == in_one_process(changing)

    @pytest.mark.filterwarnings("ignore:there are no workers")  # which take a while to start on a busy machine
    @pytest.mark.parametrize(
        ("sides", "checksums"), [("data", False), pytest.param("apart", True, marks=pytest.mark.long)]
    )
    def test_before_they_are_read_and_back_after_it(
        self, sides: str, checksums: bool, client: Client, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        """What was read of another file is not kept as that of the one which is there before and after."""
        changing = Path(shutil.copytree(request.getfixturevalue(sides), tmp_path / "data"))
        path, kept = changing / "predictions" / "part-00002.parquet", tmp_path / "kept"
        with (
            LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
            concurrent.futures.ThreadPoolExecutor() as thread,
        ):
            options = {"client": cluster.scheduler_address, "checksums": checksums, "patience": 600}
            others = len(cluster.scheduler.clients)
            run = thread.submit(scored, changing, tmp_path / "out", **options)
            while len(cluster.scheduler.clients) == others:  # the files were seen before
                time.sleep(0.01)
            shutil.copy2(path, kept)
            self.change(path)
            cluster.scale(1)
            error = run.exception()
        assert f"{path}: changed or replaced after the run began" in str(error)
        kept.replace(path)
        found = scored(changing, tmp_path / "out", client=client, resume=True, checksums=checksums)
        assert found.submission == in_one_process(changing)

    def test_to_the_same_size_at_the_same_time(self, changing: Path, client: Client, tmp_path: Path) -> None:
        """Known only by --checksums, which also knows a copy of the same content."""
        path = changing / "predictions" / "part-00002.parquet"
        pq.write_table(pq.read_table(path), path, compression="none")
        with_times = scored(changing, tmp_path / "0", client=client)
        with_checksums = scored(changing, tmp_path / "1", client=client, checksums=True)
        assert with_times == with_checksums
        content, times = path.read_bytes(), path.stat()
        path.write_bytes(content.replace(b"qwen2", b"qwen3"))  # in the names of models, by which scores are grouped
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert scored(changing, tmp_path / "0", client=client, resume=True).resumed == FILES
        with pytest.warns(UserWarning, match=f"^1 part .* {BECAUSE_OF_CHANGES}"):
            found = scored(changing, tmp_path / "1", client=client, resume=True, checksums=True)
        assert found.submission == in_one_process(changing) != with_checksums.submission
        os.utime(path)
        again = scored(changing, tmp_path / "1", client=client, resume=True, checksums=True)
        assert again == dataclasses.replace(found, resumed=FILES)

    def test_to_another_number_of_files(self, changing: Path, client: Client, tmp_path: Path) -> None:
        """So that they are matched by id, and no longer file by file."""
        options = {"client": client, "out": tmp_path / "out"}
        found = scored(changing, **options)
        first = changing / "predictions" / "part-00000.parquet"
        shutil.copy(first, first.with_name("part-00099.parquet"))
        with pytest.warns(UserWarning, match=f"^{FILES} parts .* {BECAUSE_OF_CHANGES}"):
            again = scored(changing, **options, resume=True)
        assert (again.paired_by, again.resumed, again.submission.score) == ("id", 0, found.submission.score)

    def test_checksums_are_for_a_later_run(self, data: Path) -> None:
        with pytest.raises(ValueError, match="checksums=True needs out"):
            score_dataset(data / "predictions", data / "references", checksums=True)


@pytest.mark.parametrize(
    ("mode", "told"), [(0o500, "cannot write to {}: Permission denied. "), (0, "does not see {}/seen-")]
)
def test_workers_of_a_user_without_the_rights(mode: int, told: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with agreed(tmp_path / "out", {}) as agreement:
        (tmp_path / "out").chmod(mode)
        try:
            with ordinary_user(), pytest.raises(ClusterError) as caught:
                visit(agreement)
        finally:
            (tmp_path / "out").chmod(0o700)
    assert str(caught.value).startswith(told.format(tmp_path / "out"))
    assert "Run the workers as the user who starts the run; or let their user read the files" in str(caught.value)


class TestDatasetsOnDiskThatChange:
    """Their files count as one that is read."""

    @pytest.fixture
    def sides(self, tmp_path: Path) -> tuple[str, str]:
        """Predictions in parts and references in a split of a dataset."""
        rows = range(200)
        for part in (rows[:100], rows[100:]):
            self.save(tmp_path / "predictions" / str(part.start), part)
        answers = datasets.Dataset.from_dict(
            {"id": list(map(str, rows)), "answers": [[f"answer {row}"] for row in rows]}
        )
        datasets.DatasetDict(val=answers, test=answers).save_to_disk(tmp_path / "references")
        return str(tmp_path / "predictions"), f"{tmp_path}/references:val"

    def save(self, path: Path, rows: range, answer: str = "answer") -> None:
        texts = {"id": list(map(str, rows)), "prediction": [f"{answer} {row}" for row in rows]}
        datasets.Dataset.from_dict(texts).save_to_disk(path)

    @pytest.mark.parametrize("checksums", [False, True])
    def test_before_a_run_that_is_resumed(
        self, checksums: bool, sides: tuple[str, str], client: Client, tmp_path: Path
    ) -> None:
        options = {"client": client, "out": tmp_path / "out", "checksums": checksums}
        assert score_dataset(*sides, **options).submission.score == 1
        assert score_dataset(*sides, **options, resume=True).resumed == 2
        for path in (tmp_path / "references" / "val").iterdir():
            os.utime(path)
        with contextlib.nullcontext() if checksums else pytest.warns(UserWarning, match=BECAUSE_OF_CHANGES):
            assert score_dataset(*sides, **options, resume=True).resumed == (2 if checksums else 0)
        self.save(tmp_path / "new", range(100, 200), "rewsna")
        for shard in (tmp_path / "new").iterdir():
            shutil.copyfile(shard, tmp_path / "predictions" / "100" / shard.name)
        with pytest.warns(UserWarning, match=BECAUSE_OF_CHANGES):
            found = score_dataset(*sides, **options, resume=True)
        assert found.submission.score == 0.5

    def test_before_they_are_read(
        self, sides: tuple[str, str], client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        @contextlib.contextmanager
        def then_saved_again(*given: Any) -> Iterator[Agreement]:
            with agreed(*given) as agreement:
                self.save(tmp_path / "new", range(100, 200), "rewsna")
                shutil.copytree(tmp_path / "new", tmp_path / "predictions" / "100", dirs_exist_ok=True)
                yield agreement

        monkeypatch.setattr(distributed, "agreed", then_saved_again)
        with pytest.raises(ValueError, match=rf"{tmp_path}/predictions/100: changed or replaced after the run began"):
            score_dataset(*sides, client=client)

    def test_without_rows(self, sides: tuple[str, str], client: Client, tmp_path: Path) -> None:
        self.save(tmp_path / "predictions" / "200", range(0))
        found = score_dataset(*sides, client=client)
        assert found.submission.score == 1
        assert any(note.startswith(f"{tmp_path}/predictions/200 ") for note in found.submission.notes)

    def test_a_split_by_a_relative_path(
        self, sides: tuple[str, str], client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Workers need not have the same working folder, nor a run that is resumed."""
        monkeypatch.chdir(tmp_path)
        options = {"client": client, "out": tmp_path / "out"}
        assert score_dataset("predictions", "references:val", **options).submission.score == 1
        assert score_dataset(*sides, **options, resume=True).resumed == 2


class TestTwoRunsInOneFolder:
    def test_the_second_is_refused(self, data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
        out = tmp_path / "out"
        first = started_and_held(data, tmp_path, out)
        for options in ([], ["--resume"], ["--resume", "--protocol", "paper"]):
            status, printed, said = DatasetCommand(data, out, *options).wait()
            assert (status, printed) == (2, "")
            [told] = said.splitlines()
            holder = f"process {first.process.pid} on {socket.gethostname()}, started 20"
            assert told.startswith(f"error: {out} is in use by another run: {holder}")
            assert told.endswith(f"If it is certain that it no longer runs, remove {out}/_work/lock.")
        (tmp_path / "go on").touch()
        status, printed, said = first.wait()
        assert (status, json.loads(printed)["anls_score"]) == (0, expected.score), said
        assert not (out / "_work" / "lock").exists()

    def of_elsewhere(self, **changes: Any) -> str:
        own = psutil.Process()
        own = own.parent() or own  # which runs
        holder = lock.Holder("x", socket.gethostname(), lock.space(), own.pid, own.create_time(), "yesterday")
        return json.dumps(dataclasses.asdict(dataclasses.replace(holder, **changes)))

    @pytest.mark.parametrize(
        ("changes", "age", "is_refused"),
        [
            ({}, 0, True),
            ({}, 1000, True),  # the process is there
            ({"created": 1.0}, 0, False),  # another process had its number before
            ({"process": 2**22 + 1}, 0, False),
            ({"host": "elsewhere"}, 60, True),
            ({"host": "elsewhere"}, 600, False),
            ({"space": "pid:[1]"}, 60, True),
            ({"space": "pid:[1]"}, 600, False),
        ],
    )
    def test_a_run_that_has_ended_is_told_and_its_lock_taken_over(
        self, changes: dict[str, Any], age: int, is_refused: bool, tmp_path: Path
    ) -> None:
        work = tmp_path / "out" / "_work"
        work.mkdir(parents=True)
        path = work / "lock"
        path.write_text(self.of_elsewhere(**changes))
        os.utime(path, (time.time() - age, time.time() - age))
        if is_refused:
            with pytest.raises(ValueError, match=r"out is in use by another run: process \d+ on .*, started yester"):
                lock.check_free(work)
            with pytest.raises(ValueError, match="is in use by another run"), lock.locked(work, "mine"):
                pass
            assert [path.name for path in work.iterdir()] == ["lock"]
            return
        lock.check_free(work)
        note = r"out did not end by itself: process \d+ on .*, started yesterday$"
        with pytest.warns(UserWarning, match=note), lock.locked(work, "mine"):
            assert json.loads(path.read_text())["run"] == "mine"
        assert list(work.iterdir()) == []

    @pytest.mark.parametrize("damage", [empty, make_binary, make_other_json])
    def test_a_damaged_lock(self, damage: Damage, tmp_path: Path) -> None:
        path = tmp_path / "lock"
        path.touch()
        damage(path)
        note = "did not end by itself: its lock file is damaged"
        with pytest.warns(UserWarning, match=note), lock.locked(tmp_path, "mine"):
            assert json.loads(path.read_text())["run"] == "mine"

    @pytest.mark.parametrize("damage", [empty, make_binary, make_other_json])
    def test_a_lock_that_is_damaged_while_it_is_held(self, damage: Damage, tmp_path: Path) -> None:
        """The run that held it ends by itself."""
        with lock.locked(tmp_path, "mine"):
            damage(tmp_path / "lock")
        with lock.locked(tmp_path, "another"):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_a_lock_that_another_run_is_about_to_write(self, tmp_path: Path) -> None:
        path = tmp_path / "lock"
        content = self.of_elsewhere()
        writer = threading.Timer(0.1, path.write_text, [content])
        with lock.locked(tmp_path, "mine"):
            empty(path)
            writer.start()
        writer.join()
        assert path.read_text() == content

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("process", value) for value in ("-1", "0", "1.5", "1e400", "true", "null", '"1"', f"1{'0' * 30}")),
            *(("created", value) for value in ("1e400", "NaN", "null", '"1"')),
            *((name, value) for name in ("run", "host", "space", "started") for value in ("1", "[]", '"\\u001b[2J"')),
            ("more", "1"),
            ("host", "[" * 100_000),
        ],
    )
    def test_a_lock_with_odd_values(
        self, field: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lock, "_WRITTEN", 0)
        path = tmp_path / "lock"
        fields = json.loads(self.of_elsewhere()) | {field: "HERE"}
        path.write_text(json.dumps(fields).replace('"HERE"', value))
        lock.check_free(tmp_path)
        lock.check_held(tmp_path, "mine")
        note = "did not end by itself: its lock file is damaged$"
        with pytest.warns(UserWarning, match=note), lock.locked(tmp_path, "mine"):
            assert json.loads(path.read_text())["run"] == "mine"

    @pytest.mark.long
    def test_a_damaged_lock_of_a_run_that_goes_on(
        self, data: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        """It is taken over; the first run ends in words."""
        out = tmp_path / "out"
        first = started_and_held(data, tmp_path, out)
        empty(out / "_work" / "lock")

        ends: list[tuple[int, str, str]] = []

        def go_on(done: int) -> None:
            if not ends:
                (tmp_path / "go on").touch()
                ends.append(first.wait())

        with pytest.warns(UserWarning, match="did not end by itself: its lock file is damaged"):
            found = scored(data, out, client=client, resume=True, on_progress=go_on)
        [(status, printed, said)] = ends
        assert (status, printed) == (2, "")
        assert f"error: {out}: another run has taken over this folder: process {os.getpid()} on " in said
        assert found.submission == expected

    @pytest.mark.parametrize(
        "make",
        [Path.mkdir, lambda path: path.symlink_to("nowhere"), lambda path: path.symlink_to(path), os.mkfifo],
        ids=["a folder", "a link to nothing", "a link to itself", "a FIFO"],
    )
    def test_a_lock_that_is_not_a_file(self, make: Callable[[Path], None], data: Path, tmp_path: Path) -> None:
        path = tmp_path / "_work" / "lock"
        path.parent.mkdir()
        make(path)
        message = rf"^{path}: is not a regular file, so it is not the lock of a run\. Remove it\.$"
        for resume in (False, True):
            with pytest.raises(OutputError, match=message):
                scored(data, tmp_path, resume=resume)
        with pytest.raises(OutputError, match=message), lock.locked(path.parent, "mine"):  # put there after the look
            pass
        lock.check_held(path.parent, "mine")
        assert os.path.lexists(path)

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (errno.EACCES, r"Permission denied\. Make the folder readable and writable, or use another one\."),
            (errno.EIO, r"Input/output error\. If it is certain that no run uses this folder, remove it\."),
        ],
    )
    def test_a_lock_that_cannot_be_read(
        self, number: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "lock").write_text(self.of_elsewhere(created=1.0))

        def refuse(path: Path) -> io.FileIO:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(lock, "open_regular", refuse)  # root may read every file
        message = rf"^{tmp_path}/lock: cannot be read: {words}$"
        with pytest.raises(OutputError, match=message):
            lock.check_free(tmp_path)
        with pytest.raises(OutputError, match=message), lock.locked(tmp_path, "mine"):
            pass
        assert (tmp_path / "lock").exists()

    def test_the_claim_of_a_lock_is_a_link_to_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is removed once it is old, as that of a run which died over it."""
        monkeypatch.setattr(lock, "_SILENT", 0)
        content = self.of_elsewhere(created=1.0)
        (tmp_path / "lock").write_text(content)
        (tmp_path / f".lock.{hashlib.sha256(content.encode()).hexdigest()[:16]}").symlink_to("nowhere")
        with pytest.warns(UserWarning, match="did not end by itself"), lock.locked(tmp_path, "mine"):
            assert [path.name for path in tmp_path.iterdir()] == ["lock"]

    @pytest.mark.filterwarnings("ignore:an earlier run")
    def test_only_one_of_many_gets_it(self, tmp_path: Path) -> None:
        for attempt in range(30):
            work = tmp_path / str(attempt) / "_work"
            work.mkdir(parents=True)
            (work / "lock").write_text(self.of_elsewhere(created=1.0))
            start, tried = threading.Barrier(8), threading.Barrier(8)
            won: list[str] = []

            def run(name: str, work: Path = work, start: Any = start, tried: Any = tried, won: Any = won) -> None:
                start.wait()
                with contextlib.suppress(ValueError), lock.locked(work, name):
                    won.append(name)
                    tried.wait()
                    return
                tried.wait()

            threads = [threading.Thread(target=run, args=(str(number),)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(won) == 1
            assert list(work.iterdir()) == []

    def test_a_run_whose_lock_is_taken_over(self, data: Path, client: Client, tmp_path: Path) -> None:
        """As of a machine that stood still for minutes."""

        def take_over(done: int) -> None:
            (tmp_path / "_work" / "lock").write_text(self.of_elsewhere(run="other"))

        with pytest.raises(OutputError, match=rf"^{tmp_path}: another run has taken over this folder: process"):
            scored(data, tmp_path, client=client, on_progress=take_over)
        assert "other" in (tmp_path / "_work" / "lock").read_text()

    def test_a_folder_that_another_program_writes_to(self, data: Path, client: Client, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").touch()
        with pytest.raises(ValueError, match="is not empty; expected a new or empty folder"):
            scored(data, tmp_path, client=client)
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.long
def test_one_small_file_is_divided_at_its_row_groups(client: Client, tmp_path: Path) -> None:
    """So that the second worker does not idle: 600,000 rows in 120 groups, of which the references have 7 MB."""
    write_dataset(tmp_path, 600_000, 1)
    for side in ("predictions", "references"):
        path = tmp_path / side / "part-00000.parquet"
        pq.write_table(pq.read_table(path), path, row_group_size=5_000)
        assert path.stat().st_size < 20e6
    found = scored(tmp_path, tmp_path / "out", client=client)
    assert (found.parts, found.paired_by, found.submission.n) == (2, "file", 600_000)
    assert found.submission == in_one_process(tmp_path)


def test_numbers_in_names_that_do_not_agree(client: Client, tmp_path: Path) -> None:
    for side, column, first in (("predictions", "prediction", 1), ("references", "answers", 2)):
        (tmp_path / side).mkdir()
        for number in range(first, first + 3):
            (tmp_path / side / f"{number}.jsonl").write_text(json.dumps({column: "a"}))
    with pytest.raises(ValueError, match=r"predictions/1.jsonl would be paired with .*references/2.jsonl: without"):
        score_dataset(tmp_path / "predictions", tmp_path / "references", client=client)


def test_an_interrupt_while_a_temporary_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = shutil.rmtree

    def interrupt(folder: Path, **options: Any) -> None:
        monkeypatch.setattr(shutil, "rmtree", removed)
        raise KeyboardInterrupt

    stack = contextlib.ExitStack()
    (stack.enter_context(temporary_folder("x-", tmp_path)) / "part").touch()
    monkeypatch.setattr(shutil, "rmtree", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stack.close()
    assert not list(tmp_path.iterdir())


def test_a_temporary_folder_to_which_a_worker_still_writes(tmp_path: Path) -> None:
    """As after Ctrl-C, on a cluster that somebody else started: a task that runs cannot be stopped."""
    created = threading.Semaphore(0)

    def write(folder: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            for number in range(20_000):
                (folder / str(number)).touch()
                created.release()
                time.sleep(0.0002)

    with concurrent.futures.ThreadPoolExecutor(1) as worker:
        with temporary_folder("x-", tmp_path) as folder:
            written = worker.submit(write, folder)
            created.acquire()
        assert not list(tmp_path.iterdir())
        written.result()
