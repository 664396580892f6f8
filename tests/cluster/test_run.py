"""Data sets in many files on a real Dask cluster: the same score to the bit, and nothing lost when processes die."""

import asyncio
import contextlib
import dataclasses
import functools
import io
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import datasets
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask.distributed import Client, LocalCluster
from dataset_command import DatasetCommand, finished
from ordinary_user import ordinary_user
from places import DATA, ROOT
from storage import give_little
from typer.testing import CliRunner

from anls_eval.cli import commands as cli
from anls_eval.cli import common
from anls_eval.cluster import pieces, workers
from anls_eval.cluster.agreement import agreed
from anls_eval.cluster.engine import Engine
from anls_eval.cluster.errors import BadPartsError, ClusterError
from anls_eval.cluster.parts import UnpairedError
from anls_eval.cluster.run import DatasetScore, known_rows, part_paths, score_dataset
from anls_eval.cluster.watch import Watch
from anls_eval.cluster.workers import local_client
from anls_eval.errors import AnlsError
from anls_eval.files import open_predictions, open_references
from anls_eval.submission.score import SubmissionScore, score_submission
from benchmarks.generate import write_dataset

ROWS, FILES, MORE_FILES = 60_000, 6, 30
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
def expected(data: Path, tmp_path_factory: pytest.TempPathFactory) -> SubmissionScore:
    """What one process makes of the same rows in two files."""
    return in_one_process(data, tmp_path_factory.mktemp("whole"))


def in_one_process(data: Path, folder: Path, **options: Any) -> SubmissionScore:
    sides = []
    for side in ("predictions", "references"):
        pq.write_table(pq.read_table(data / side), folder / f"{side}.parquet")
        sides.append(folder / f"{side}.parquet")
    return score_submission(open_predictions(sides[0]), open_references(sides[1]), by=["model"], **options)


def scored(data: Path, out: Path, **options: Any) -> DatasetScore:
    return score_dataset(data / "predictions", data / "references", out=out, by=["model"], **options)


def documents(folder: Path, names: str) -> tuple[Path, Path]:
    """Predictions and references of one document in each file."""
    sides = folder / "predictions", folder / "references"
    for side, total in zip(sides, ("17.9", "17.99"), strict=True):
        side.mkdir()
        for name in names:
            (side / f"{name}.json").write_text(json.dumps({"total": total, "name": name}))
    return sides


def copied(data: Path, folder: Path) -> Path:
    return Path(shutil.copytree(data, folder / "data"))


def shown(out: Path) -> list[str]:
    """The results, without what is kept beside them."""
    return sorted(path.name for path in out.iterdir() if path.name != "_work")


@contextlib.contextmanager
def client_in_this_process(workers: int) -> Iterator[Client]:
    """Threads as workers, and not Dask's default."""
    options: dict[str, Any] = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with Client(n_workers=workers, set_as_default=False, **options) as own:
        yield own


def test_a_worker_that_dies_once_its_results_are_there(
    data: Path, expected: SubmissionScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are here, although Dask says of them that they are lost."""
    died = False
    until = Watch.until

    def until_it_dies(watch: Watch, is_done: Callable[[], bool]) -> None:
        nonlocal died
        until(watch, is_done)
        if is_done.__name__ == "has_ready" and not died:
            died = True
            own.cluster.scale(0)
            while not any(state.status == "lost" for state in own.futures.values()):
                time.sleep(0.01)
            own.cluster.scale(1)

    monkeypatch.setattr(Watch, "until", until_it_dies)
    with client_in_this_process(1) as own:
        assert scored(data, tmp_path / "out", client=own).submission == expected
    assert died


def one_is_unpaired(number: int, job: Any) -> None:
    """The first fails once the other runs, which then takes longer."""
    if number == 0:
        while not (job / "started").exists():
            time.sleep(0.01)
        raise UnpairedError("0")
    (job / "started").touch()
    time.sleep(0.5)
    (job / "ended").touch()


class TestTheSameScore:
    def test_files_that_go_together(
        self, data: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        done: list[int] = []
        found = scored(data, tmp_path / "out", client=client, on_progress=done.append)
        assert found == DatasetScore(expected, FILES, 0, {}, "file")
        assert (done == sorted(done), done[-1]) == (True, ROWS)
        rows = pq.read_table(tmp_path / "out")
        assert rows.column_names == ["question_id", "score", "model"]
        assert rows["question_id"].to_pylist() == [f"q{row:012d}" for row in range(ROWS)]

    def test_files_that_do_not(self, expected: SubmissionScore, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path / "data", ROWS, FILES, apart=True)
        found = scored(tmp_path / "data", tmp_path / "out", client=client)
        assert found == DatasetScore(expected, FILES, 0, {}, "id")
        assert sorted(pq.read_table(tmp_path / "out")["question_id"].to_pylist()) == [
            f"q{row:012d}" for row in range(ROWS)
        ]
        assert not list((tmp_path / "out" / "_work" / "rows").glob("*.arrow"))

    def test_one_worker_and_other_names(
        self, data: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        """The first file of predictions belongs to the last of references: noticed, and put right."""
        moved = copied(data, tmp_path)
        for number in range(FILES):
            path = moved / "predictions" / f"part-{number:05d}.parquet"
            path.rename(path.with_name(f"{FILES - number}.parquet"))
        assert scored(moved, tmp_path / "out", client=client).submission == expected

    def test_no_part_is_still_written_when_the_rows_are_brought_together(self, tmp_path: Path) -> None:
        with client_in_this_process(2) as own:
            job: Any = tmp_path
            with agreed(tmp_path, {}) as agreement, pytest.raises(UnpairedError):
                Engine(lambda: (Watch(own, 30, ""), agreement), job).each(one_is_unpaired, [0, 1])
            assert (tmp_path / "ended").exists()

    def test_a_client_that_is_not_the_default(self, data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
        with client_in_this_process(1) as own:
            assert scored(data, tmp_path / "out", client=own).submission == expected

    @pytest.mark.parametrize("protocol", ["anls_star", "anls_star_paper"])
    @pytest.mark.parametrize("lines", [1, 5])
    def test_trees(self, protocol: str, lines: int, client: Client, tmp_path: Path) -> None:
        source = DATA / "documents" / "invoices.jsonl"
        columns = {"prediction": "pred", "answers": "gold"}
        rows = source.read_text(encoding="utf-8").splitlines(keepends=True)
        for start in range(0, len(rows), lines):
            (tmp_path / f"{start:02d}.jsonl").write_text("".join(rows[start : start + lines]), encoding="utf-8")
        found = score_dataset(
            str(tmp_path / "*.jsonl"), out=tmp_path / "out", client=client, protocol=protocol, columns=columns
        )
        assert found.submission == score_submission(
            open_predictions(source, columns={"prediction": "pred"}),
            open_references(source, columns={"answers": "gold"}),
            protocol=protocol,
        )


class TestIds:
    def test_missing_and_unknown(self, data: Path, client: Client, tmp_path: Path) -> None:
        short = copied(data, tmp_path)
        predictions, references = (short / side / "part-00002.parquet" for side in ("predictions", "references"))
        pq.write_table(pq.read_table(predictions)[:-7], predictions)
        pq.write_table(pq.read_table(references)[3:], references)
        options = {"missing": "zero", "unknown": "ignore"}
        whole = in_one_process(short, tmp_path, **options)
        assert (whole.missing, whole.unknown) == (7, 3)
        with pytest.raises(ValueError, match=r"^7 questions have no prediction.* and 3 predictions have no"):
            scored(short, tmp_path / "out", client=client)
        found = scored(short, tmp_path / "out", client=client, resume=True, **options)
        assert found.resumed == FILES
        assert without_names(found.submission) == without_names(whole)

    def test_repeats_in_different_files(self, data: Path, client: Client, tmp_path: Path) -> None:
        twice = copied(data, tmp_path)
        for side in ("predictions", "references"):
            one, other = (pq.read_table(twice / side / f"part-0000{number}.parquet") for number in (1, 4))
            pq.write_table(pa.concat_tables([other, one[:5]]), twice / side / "part-00004.parquet")
        found = scored(twice, tmp_path / "out", client=client).submission
        assert found == in_one_process(twice, tmp_path)
        assert found.notes[:2] == tuple(
            f"5 repeated rows in the {side} (same question_id, same content): left out"
            for side in ("predictions", "references")
        )
        path = twice / "predictions" / "part-00004.parquet"
        changed = pq.read_table(path).to_pylist()
        changed[-1]["prediction"] = "another"
        pq.write_table(pa.Table.from_pylist(changed), path)
        with (
            pytest.warns(UserWarning, match=BECAUSE_OF_CHANGES),
            pytest.raises(ValueError, match=r"duplicate question_id 'q0\d+' in predictions with different content"),
        ):
            scored(twice, tmp_path / "out", client=client, resume=True, skip_bad=True)

    def test_what_was_kept_of_them_is_damaged(self, data: Path, client: Client, tmp_path: Path) -> None:
        scored(data, tmp_path / "out", client=client)
        kept = sorted((tmp_path / "out" / "_work").glob("*.npy"))[0]
        kept.write_bytes(kept.read_bytes()[:-16])
        (kept.parent / "without_repeats").unlink()  # as of a run that was broken off before it looked
        with pytest.warns(UserWarning, match="^1 part .* is scored again, because _work/part-00000.npy is damaged$"):
            scored(data, tmp_path / "out", client=client, resume=True)

    def test_without_ids(self, client: Client, tmp_path: Path) -> None:
        for side, column in (("predictions", "prediction"), ("references", "answers")):
            (tmp_path / side).mkdir()
            for number in range(3):
                text = "".join(json.dumps({column: f"{number} {row}"}) + "\n" for row in range(4))
                (tmp_path / side / f"{side}-{number}.jsonl").write_text(text, encoding="utf-8")
        sides = tmp_path / "predictions", tmp_path / "references"
        found = score_dataset(*sides, out=tmp_path / "out", client=client).submission
        assert (found.n, found.score, len(found.notes)) == (12, 1.0, 3)
        (sides[1] / "references-2.jsonl").unlink()
        with pytest.raises(ValueError, match="There are 3 prediction files but 2 reference files, and no question_ids"):
            score_dataset(*sides, out=tmp_path / "other", client=client)

    def test_without_a_folder_for_the_results(
        self, data: Path, expected: SubmissionScore, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = score_dataset(data / "predictions", data / "references", client=client, by=["model"])
        assert found == DatasetScore(expected, FILES, 0, {}, "file")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        "groups",
        [
            (1_000, 700),
            (60_000, 1_000),
            pytest.param((1_000, 1_000), marks=pytest.mark.long),
            pytest.param((7_000, 900), marks=pytest.mark.long),
        ],
    )
    def test_one_large_file_is_divided(
        self,
        groups: tuple[int, int],
        data: Path,
        expected: SubmissionScore,
        client: Client,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(pieces, "_LARGE_BYTES", 1)
        monkeypatch.setattr(pieces, "_PIECE_ROWS", 10_000)
        paths = [tmp_path / f"{side}.parquet" for side in ("predictions", "references")]
        for path, size in zip(paths, groups, strict=True):
            pq.write_table(pq.read_table(data / path.stem), path, row_group_size=size)
        found = score_dataset(*paths, out=tmp_path / "out", client=client, by=["model"])
        parts = {60_000: 1, 7_000: 4}.get(groups[0], 6)
        assert found.submission == expected
        assert (found.parts, found.paired_by) == (parts, "file")
        table = pq.read_table(paths[1])
        pq.write_table(table.take(list(reversed(range(len(table))))), paths[1], row_group_size=groups[1])
        again = score_dataset(*paths, client=client, by=["model"])
        assert again.submission == expected
        assert again.paired_by == ("file" if parts == 1 else "id")

    @pytest.mark.parametrize("paired_by", ["file", "id"])
    def test_a_divided_file_is_left_out_as_a_whole(
        self, paired_by: str, data: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One of its pieces is damaged; the others are scored before that is known."""
        monkeypatch.setattr(pieces, "_LARGE_BYTES", 1)
        monkeypatch.setattr(pieces, "_PIECE_ROWS", 1_000)
        folder = copied(data, tmp_path)
        for path in folder.glob("*/*"):
            pq.write_table(pq.read_table(path), path, row_group_size=1_000)
        damaged, second, *others = sorted((folder / "references").iterdir())
        if paired_by == "id":
            last = others.pop()
            pq.write_table(pa.concat_tables(map(pq.read_table, (second, last))), second)
            last.unlink()
        column = pq.read_metadata(damaged).row_group(9).column(1)
        with damaged.open("r+b") as stream:
            stream.seek(column.dictionary_page_offset or column.data_page_offset)
            stream.write(b"\xff" * 8)
        sides = folder / "predictions", folder / "references"
        asked: dict[str, Any] = {"client": client, "skip_bad": True, "unknown": "ignore", "out": tmp_path / "out"}
        found, again = (score_dataset(*sides, **asked, resume=is_resumed) for is_resumed in (False, True))
        intact = score_submission(open_predictions(sides[0]), open_references([second, *others]), unknown="ignore")
        assert (found.submission.score, found.submission.n) == (intact.score, intact.n)
        assert (list(found.bad), found.paired_by) == ([str(damaged)], paired_by)
        files = {"file": 6, "id": 11}[paired_by]
        assert f"1 of {files} files cannot be read or scored and is left out: {damaged}" in found.submission.notes
        assert dataclasses.replace(again, resumed=0) == found
        assert again.resumed == again.parts

    def test_references_at_fault_are_blamed(self, client: Client, tmp_path: Path) -> None:
        """Also for what they hold, not only for damage."""
        rows: dict[str, tuple[str, list[Any]]] = {
            "predictions": ("prediction", ["a", "a", "a"]),
            "references": ("answers", [["a"], ["a"], []]),
        }
        for side, (name, values) in rows.items():
            (tmp_path / side).mkdir()
            lines = [json.dumps({"question_id": number, name: value}) for number, value in enumerate(values)]
            (tmp_path / side / "0.jsonl").write_text(lines[0], encoding="utf-8")
            (tmp_path / side / "1.jsonl").write_text("\n".join(lines[1:]), encoding="utf-8")
        found = score_dataset(tmp_path / "predictions", tmp_path / "references", client=client, skip_bad=True)
        [(path, reason)] = found.bad.items()
        assert path == str(tmp_path / "references" / "1.jsonl")
        assert reason.startswith(f"{path}, line 2 (question_id '2'): the reference is empty")
        with pytest.raises(BadPartsError) as caught:
            score_dataset(tmp_path / "predictions", tmp_path / "references", client=client)
        assert (
            str(caught.value).splitlines()[1].startswith(f"  {path}, line 2 (question_id '2'): the reference is empty")
        )

    def test_storage_that_gives_less_than_asked_for(
        self, data: Path, expected: SubmissionScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rows that are matched by id are read back from such storage, too."""
        folder = copied(data, tmp_path)
        side = folder / "references"
        first, second, *_ = sorted(side.iterdir())
        pq.write_table(pa.concat_tables(map(pq.read_table, (first, second))), first)
        second.unlink()
        give_little(monkeypatch)
        with client_in_this_process(2) as client:
            found = scored(folder, tmp_path / "out", client=client)
        assert (found.submission, found.paired_by) == (expected, "id")

    def test_notes_name_rows_without_ids_as_one_process_does(self, client: Client, tmp_path: Path) -> None:
        columns: dict[str, tuple[str, list[str | None]]] = {
            "predictions": ("prediction", ["a", None, "c"]),
            "references": ("answers", ["a", "b", "c"]),
        }
        for side, (name, rows) in columns.items():
            (tmp_path / side).mkdir()
            for number in range(3):
                text = "".join(json.dumps({name: row}) + "\n" for row in rows)
                (tmp_path / side / f"{number}.jsonl").write_text(text, encoding="utf-8")
        sides = tmp_path / "predictions", tmp_path / "references"
        found = score_dataset(*sides, client=client).submission
        assert found == score_submission(*sides)
        assert "3 of 9 predictions are None or NaN (row 1, 4, 7) and score 0 as unanswered" in found.notes

    @pytest.mark.parametrize("plain", [None, "c", "f"], ids=["in all files", "not in the first", "not in the last"])
    @pytest.mark.parametrize("apart", [False, True])
    def test_printed_lists_are_taken_apart_as_in_one_file(
        self, plain: str | None, apart: bool, client: Client, tmp_path: Path
    ) -> None:
        """Where each answer is one: of all files, not of those that a task reads."""
        names = "abcdef"
        given = {name: {"id": name, "prediction": "Lima", "model": f"['{name}', 'x']"} for name in names}
        wanted = {name: {"id": name, "answers": "Lima" if name == plain else "['Rome', 'Lima']"} for name in names}
        sides = tmp_path / "predictions", tmp_path / "references"
        for side, rows, order in zip(sides, (given, wanted), (names, names[::-1] if apart else names), strict=True):
            side.mkdir()
            for number in range(3):
                own = [rows[name] for name in order[2 * number : 2 * number + 2]]
                pq.write_table(pa.Table.from_pylist(own), side / f"{number}.parquet", row_group_size=1)
        one = in_one_process(tmp_path, tmp_path)
        assert one.score == (1 if plain is None else 1 / 6)
        assert set(one.by["model"]) == {*names, "x"}
        assert score_submission(*sides, by=["model"]) == one
        found = score_dataset(*sides, by=["model"], client=client)
        assert without_names(found.submission) == without_names(one)

    @pytest.mark.parametrize("cells", [0, 2], ids=["first", "last"])
    @pytest.mark.parametrize("plain", [None, "b", "c"], ids=["in all files", "not in the first", "not in the last"])
    def test_printed_lists_in_files_of_two_formats(
        self, plain: str | None, cells: int, client: Client, tmp_path: Path
    ) -> None:
        """Cells of CSV are taken apart each, and do not decide for the other files."""
        sides = tmp_path / "predictions", tmp_path / "references"
        for side in sides:
            side.mkdir()
        others = iter("bc")
        for number in range(3):
            is_table = number == cells
            name = "a" if is_table else next(others)
            answers = "Lima" if name == plain else "['Rome', 'Lima']"
            prediction = {"id": name, "prediction": "Lima", "model": f"['{name}', 'x']"}
            for side, row in zip(sides, (prediction, {"id": name, "answers": answers}), strict=True):
                table = ",".join(row) + "\n" + ",".join(f'"{value}"' for value in row.values()) + "\n"
                path = side / f"{number}.{'csv' if is_table else 'jsonl'}"
                path.write_text(table if is_table else json.dumps(row), encoding="utf-8")
        one = score_submission(*sides, by=["model"])
        assert one.score == (1 if plain is None else 2 / 3)
        found = score_dataset(*sides, by=["model"], client=client)
        assert without_names(found.submission) == without_names(one)

    def test_printed_lists_in_the_rows_of_one_file(
        self, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pieces, "_PIECE_ROWS", 2)
        rows = [{"id": name, "prediction": "Lima", "answers": "['Rome', 'Lima']"} for name in "abcdef"]
        rows[5]["answers"] = "Lima"
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet", row_group_size=2)
        found = score_dataset(tmp_path / "rows.parquet", client=client)
        path = tmp_path / "rows.parquet"
        assert (found.parts, found.submission) == (3, score_submission(path, path))
        assert found.submission.score == 1 / 6

    def test_one_large_file_without_ids(self, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pieces, "_LARGE_BYTES", 1)
        monkeypatch.setattr(pieces, "_PIECE_ROWS", 2)
        texts = [str(number) for number in range(10)]
        pq.write_table(pa.table({"prediction": texts}), tmp_path / "p.parquet", row_group_size=2)
        pq.write_table(pa.table({"answers": [*texts[:9], "x"]}), tmp_path / "r.parquet", row_group_size=3)
        found = score_dataset(tmp_path / "p.parquet", tmp_path / "r.parquet", client=client)
        assert (found.parts, found.submission.n, found.submission.score) == (3, 10, 0.9)

    def test_documents(self, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pieces, "_DOCUMENTS", 2)
        sides = documents(tmp_path, "abcde")
        for paired_by in ("file", "id"):
            one = score_submission(
                open_predictions(sides[0]), open_references(sides[1]), protocol="anls_star", missing="zero"
            )
            found = score_dataset(*sides, client=client, protocol="anls_star", missing="zero")
            assert (found.submission, found.paired_by) == (one, paired_by)
            (sides[0] / "b.json").unlink(missing_ok=True)

    @pytest.mark.parametrize("paired_by", ["file", "id"])
    @pytest.mark.parametrize("names", ["bi", "ai", "ia"])
    def test_documents_that_are_damaged(
        self, names: str, paired_by: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each is left out alone, not with those that a task reads beside it."""
        monkeypatch.setattr(pieces, "_DOCUMENTS", 4)
        sides = documents(tmp_path, "abcdefghij")
        damaged = [side / f"{name}.json" for side, name in zip(sides, names, strict=True)]
        for path in damaged:
            path.write_text('{"total": ')
        if paired_by == "id":
            (sides[1] / "k.json").write_text('{"total": "1"}')
        asked: dict[str, Any] = {"client": client, "protocol": "anls_star", "missing": "zero", "unknown": "ignore"}
        with pytest.raises(BadPartsError, match=rf"{damaged[0]}, line 1(?s:.*) skip_bad=True\.$"):
            score_dataset(*sides, **asked)
        found = score_dataset(*sides, **asked, skip_bad=True, out=tmp_path / "out")
        assert found.paired_by == paired_by
        in_order = damaged if paired_by == "id" else sorted(damaged, key=lambda path: path.name)
        assert list(found.bad) == list(map(str, in_order))
        assert found.submission.notes[0].startswith(f"2 of {21 if paired_by == 'id' else 10} files cannot be read")
        again = score_dataset(*sides, **asked, skip_bad=True, out=tmp_path / "out", resume=True)
        assert again == dataclasses.replace(found, resumed=found.parts)
        for path in damaged:
            path.unlink()
        for path in damaged if paired_by == "file" else []:
            (sides[path.parent == sides[0]] / path.name).unlink(missing_ok=True)
        del asked["client"]
        assert found.submission.score == score_submission(*sides, **asked).score

    def test_nothing_is_left(self, client: Client, tmp_path: Path) -> None:
        for number in range(2):
            (tmp_path / f"{number}.jsonl").write_text('{"prediction": ["a"], "answers": ["a"]}\n')
        with pytest.raises(BadPartsError, match=r"^2 parts cannot be scored(?s:.*)\nNothing would be left to score\.$"):
            score_dataset(tmp_path, client=client, skip_bad=True)

    @pytest.mark.parametrize("skip_bad", [False, True])
    @pytest.mark.parametrize("names", [("0", "1", "2"), ("a", "b", "c")], ids=["paired", "matched by id"])
    def test_nothing_is_left_but_an_empty_part(
        self, names: tuple[str, ...], skip_bad: bool, client: Client, tmp_path: Path
    ) -> None:
        """Spark writes parts without rows, which are none to be scored."""
        for side, value in ("predictions", ["a"]), ("references", ["a"]):
            folder = tmp_path / side
            folder.mkdir()
            for number, name in enumerate(names if side == "predictions" else ("0", "1", "2")):
                row = {"id": number, side.removesuffix("s") if side == "predictions" else "answers": value}
                (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n" if number < 2 else "")
        words = r"^2 parts cannot be scored(?s:.*)expected one string(?s:.*)\nNothing would be left to score\.$"
        with pytest.raises(BadPartsError, match=words):
            score_dataset(tmp_path / "predictions", tmp_path / "references", client=client, skip_bad=skip_bad)

    @pytest.mark.parametrize("apart", [False, True])
    def test_an_id_that_comes_twice(self, apart: bool, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path / "data", 6_000, 3, apart=apart)
        first, second = (tmp_path / "data" / "predictions" / f"part-0000{number}.parquet" for number in (0, 1))
        table = pq.read_table(second)
        row = pq.read_table(first).slice(0, 1)
        pq.write_table(pa.concat_tables([table, row]), second)
        found = scored(tmp_path / "data", tmp_path / "out", client=client)
        assert found.submission.n == 6_000
        assert any(note.startswith("1 repeated row in the predictions") for note in found.submission.notes)
        at = row.column_names.index("prediction")
        pq.write_table(pa.concat_tables([table, row.set_column(at, "prediction", pa.array(["other"]))]), second)
        with pytest.raises(ValueError, match=r"duplicate question_id 'q\d+' in predictions") as caught:
            scored(tmp_path / "data", tmp_path / "again", client=client)
        assert f"in {first} and 'other' in {second}" in str(caught.value)

    def test_files_of_other_lengths_without_ids(self, client: Client, tmp_path: Path) -> None:
        for side, texts in (("predictions", ["a", "b"]), ("references", ["a"])):
            (tmp_path / side).mkdir()
            column = "prediction" if side == "predictions" else "answers"
            for number in (1, 2):
                own = texts if number == 2 else ["a"]
                pq.write_table(pa.table({column: own}), tmp_path / side / f"part-{number}.parquet")
        with pytest.raises(
            BadPartsError, match=r"part-2.parquet has 2 rows but .*part-2.parquet has 1 row, and"
        ) as caught:
            score_dataset(tmp_path / "predictions", tmp_path / "references", client=client)
        assert str(caught.value).endswith("\nTo leave them out, pass skip_bad=True.")

    def test_the_same_roles_in_all_files(self, client: Client, tmp_path: Path) -> None:
        for number, header in enumerate(("id,prediction,answers\n1,a,a", "prediction,answers\na,a")):
            (tmp_path / f"{number}.csv").write_text(header + "\n")
        with pytest.raises(BadPartsError, match=r"1.csv: no column for question_id, which is 'id' in .*0.csv"):
            score_dataset(tmp_path, client=client)


def without_names(score: SubmissionScore) -> SubmissionScore:
    """Which ids are the first that a note names is by the order of the parts."""
    return dataclasses.replace(score, notes=tuple(note.partition(": question_id")[0] for note in score.notes))


class TestBlankAnswers:
    """Answers can be blank in a question and in a whole part, but not in all."""

    @staticmethod
    def written(folder: Path, answers: list[list[str]], apart: bool) -> tuple[Path, Path]:
        sides = folder / "predictions", folder / "references"
        for side in sides:
            side.mkdir()
        ids = [[f"{number}{row}" for row in range(len(own))] for number, own in enumerate(answers)]
        for number, (own, names) in enumerate(zip(answers, ids[::-1] if apart else ids, strict=True)):
            given = [{"id": name, "prediction": ""} for name in names]
            wanted = [{"id": name, "answers": text} for name, text in zip(ids[number], own, strict=True)]
            for side, rows in zip(sides, (given, wanted), strict=True):
                (side / f"{number}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return sides

    @pytest.mark.parametrize("apart", [False, True])
    def test_in_all_parts(self, apart: bool, client: Client, tmp_path: Path) -> None:
        sides = self.written(tmp_path, [["", " "], ["", ""]], apart)
        for score in (score_submission, functools.partial(score_dataset, client=client, out=tmp_path / "out")):
            with pytest.raises(ValueError, match="the column 'answers' is blank in every row"):
                score(*sides)

    @pytest.mark.parametrize("apart", [False, True])
    def test_in_one_part(self, apart: bool, client: Client, tmp_path: Path) -> None:
        sides = self.written(tmp_path, [["", " "], ["", "Lima"]], apart)
        found = score_dataset(*sides, client=client)
        assert found.submission == score_submission(*sides)
        assert (found.submission.score, found.paired_by) == (0.75, "id" if apart else "file")


class TestBadParts:
    @pytest.fixture
    def damaged(self, data: Path, tmp_path: Path) -> Path:
        """A data set of which one file is cut off."""
        folder = copied(data, tmp_path)
        path = folder / "predictions" / "part-00003.parquet"
        path.write_bytes(path.read_bytes()[:-100])
        return folder

    def test_are_listed_and_the_others_kept(
        self, data: Path, damaged: Path, expected: SubmissionScore, client: Client, tmp_path: Path
    ) -> None:
        with pytest.raises(BadPartsError, match=r"^1 part cannot be scored:\n.*part-00003.parquet: not a readable Par"):
            scored(damaged, tmp_path / "out", client=client)
        shutil.copy(data / "predictions" / "part-00003.parquet", damaged / "predictions")
        found = scored(damaged, tmp_path / "out", client=client, resume=True)
        assert found == DatasetScore(expected, FILES, FILES - 1, {}, "file")

    @pytest.mark.parametrize("skip_bad", [False, True])
    @pytest.mark.parametrize("side", ["predictions", "references"])
    def test_all_of_a_side(self, side: str, skip_bad: bool, damaged: Path, client: Client, tmp_path: Path) -> None:
        for path in (damaged / side).iterdir():
            path.write_bytes(path.read_bytes()[:100])
        told = rf"^{FILES} parts cannot be scored:\n(?s:.*)part-00001.parquet: not (?s:.*)\nNothing would be left to"
        with pytest.raises(BadPartsError, match=told):
            scored(damaged, tmp_path / "out", client=client, skip_bad=skip_bad)

    def test_can_be_left_out(self, damaged: Path, client: Client, tmp_path: Path) -> None:
        found = scored(damaged, tmp_path / "out", client=client, skip_bad=True)
        path = damaged / "predictions" / "part-00003.parquet"
        assert (list(found.bad), found.parts) == ([str(path)], FILES - 1)
        assert found.submission.notes[0].startswith(f"1 of {FILES} files cannot be read or scored and is left out: ")
        path.unlink()
        (damaged / "references" / path.name).unlink()
        whole = in_one_process(damaged, tmp_path)
        assert dataclasses.replace(found.submission, notes=()) == dataclasses.replace(whole, notes=())

    @pytest.mark.parametrize("damaged", ["predictions", "references"])
    @pytest.mark.parametrize("of_a_split", [False, True])
    def test_a_shard_is_told_with_its_dataset(
        self, damaged: str, of_a_split: bool, client: Client, tmp_path: Path
    ) -> None:
        for part in range(3):
            for side, column in (("predictions", "prediction"), ("references", "answers")):
                texts = {"id": [f"{part}-{row}" for row in range(100)], column: [f"answer {row}" for row in range(100)]}
                own = datasets.Dataset.from_dict(texts)
                path = tmp_path / side / str(part)
                (datasets.DatasetDict(val=own) if of_a_split else own).save_to_disk(path)
        folders = tmp_path / "predictions", tmp_path / "references"
        split = ":val" if of_a_split else ""
        sides = tuple([f"{folder / str(part)}{split}" for part in range(3)] for folder in folders)
        (shard,) = (tmp_path / damaged / "1").rglob("*.arrow")
        shard.write_bytes(shard.read_bytes()[:-900])
        faulty = f"{tmp_path / damaged / '1'}{split}"
        with pytest.raises(BadPartsError, match=rf"scored:\n  ({faulty}: )?{shard}: not a readable Arrow") as caught:
            score_dataset(*sides, client=client)
        assert list(caught.value.bad) == [faulty]
        found = score_dataset(*sides, client=client, skip_bad=True)
        assert (list(found.bad), found.submission.score) == ([faulty], 1)

    def test_a_pipe(self, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path / "data", 600, 3)
        os.mkfifo(tmp_path / "data" / "predictions" / "part-00009.parquet")
        for checksums in (False, True):
            with pytest.raises(BadPartsError, match=r"part-00009.parquet: not a regular file, which can be read twice"):
                scored(tmp_path / "data", tmp_path / f"out {checksums}", client=client, checksums=checksums)

    def test_whose_other_side_is_elsewhere(self, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path / "data", 6_000, 3, apart=True)
        path = tmp_path / "data" / "predictions" / "part-00001.parquet"
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(BadPartsError, match=r"part-00001.parquet: not a readable"):
            scored(tmp_path / "data", tmp_path / "out", client=client)
        told = rf"^3000 questions .*\n1 file is left out.*{path}. To continue once they are fixed, .*missing"
        with pytest.raises(ValueError, match=told):
            scored(tmp_path / "data", tmp_path / "out", client=client, resume=True, skip_bad=True)
        found = scored(tmp_path / "data", tmp_path / "out", client=client, resume=True, skip_bad=True, missing="zero")
        assert (found.submission.n, found.submission.missing, list(found.bad)) == (6_000, 3_000, [str(path)])

    def test_all_of_one_side(self, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path / "data", 6_000, 3, apart=True)
        paths = sorted((tmp_path / "data" / "predictions").iterdir())
        for path in paths:
            table = pq.read_table(path)
            at = table.column_names.index("prediction")
            pq.write_table(table.set_column(at, "prediction", pa.array([["a", "b"]] * len(table))), path)
        with pytest.raises(BadPartsError, match=r"part-0000") as caught:
            scored(tmp_path / "data", tmp_path / "out", client=client, skip_bad=True, missing="zero")
        assert list(caught.value.bad) == list(map(str, paths))


class TestOptions:
    def test_a_folder_with_something_in_it(self, data: Path, client: Client, tmp_path: Path) -> None:
        (tmp_path / "other.txt").touch()
        with pytest.raises(ValueError, match=r"expected a new or empty folder\. Use another .*, or empty this one\.$"):
            scored(data, tmp_path, client=client)
        with pytest.raises(ValueError, match=r"is not empty; expected an earlier run .* or empty this one\.$"):
            scored(data, tmp_path, client=client, resume=True)
        assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]

    def test_a_folder_with_an_earlier_run_in_it(self, data: Path, client: Client, tmp_path: Path) -> None:
        scored(data, tmp_path, client=client)
        with pytest.raises(ValueError, match=r"or empty this one\. To continue an earlier run, pass resume=True\.$"):
            scored(data, tmp_path, client=client)

    def test_other_options_are_scored_again(self, data: Path, client: Client, tmp_path: Path) -> None:
        standard = scored(data, tmp_path, client=client)
        with pytest.warns(UserWarning, match=f"{FILES} parts that an earlier run finished are scored again"):
            paper = scored(data, tmp_path, client=client, resume=True, protocol="paper")
        assert paper.resumed == 0
        assert paper.submission.score < standard.submission.score

    def test_parts_of_other_code_are_scored_again(
        self, data: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = scored(data, tmp_path, client=client)
        monkeypatch.setattr("anls_eval.cluster.folder.code_checksum", lambda: "other")
        with pytest.warns(UserWarning, match=f"{FILES} parts that an earlier run finished are scored again"):
            again = scored(data, tmp_path, client=client, resume=True)
        assert (again.resumed, again.submission.score) == (0, first.submission.score)

    @pytest.mark.parametrize("apart", [False, True])
    def test_no_worker_is_asked_where_all_is_finished(self, apart: bool, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path / "data", 6_000, 3, apart=apart)
        first = scored(tmp_path / "data", tmp_path / "out", client=client)
        again = scored(tmp_path / "data", tmp_path / "out", client="tcp://127.0.0.1:1", resume=True)
        assert again == dataclasses.replace(first, resumed=3)

    @pytest.mark.parametrize(
        ("given", "out"), [("parts", "parts/scored"), ("parts/**/*.parquet", "parts/scored"), ("*/*.parquet", "scored")]
    )
    def test_a_folder_among_the_inputs(self, given: str, out: str, data: Path, client: Client, tmp_path: Path) -> None:
        shutil.copytree(data / "predictions", tmp_path / "parts")
        with pytest.raises(AnlsError, match=r"scored is among the files of .*\. To use another folder, pass out="):
            score_dataset(tmp_path / given, data / "references", out=tmp_path / out, client=client)
        assert not (tmp_path / out).exists()

    def test_a_folder_beside_the_inputs(self, client: Client, tmp_path: Path) -> None:
        write_dataset(tmp_path, 600, 3)
        both = f"{tmp_path}/predictions/*.parquet", f"{tmp_path}/references/*.parquet"
        assert score_dataset(*both, out=tmp_path / "predictions" / "scored", client=client).parts == 3

    def test_a_folder_that_cannot_be_one(self, data: Path, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        for out in (tmp_path / "file", tmp_path / "file" / "out", Path("/proc/out")):
            with pytest.raises(ValueError, match=rf"^{out} cannot hold the results \(.*expected a writable folder"):
                scored(data, out)
        (tmp_path / "_work").touch()
        (tmp_path / "file").unlink()
        with pytest.raises(
            ValueError, match=rf"^{tmp_path} cannot hold the results \({tmp_path}/_work is not a folder\)"
        ):
            scored(data, tmp_path)

    @pytest.mark.parametrize(
        ("address", "message"),
        [
            ("localhost", "'localhost' is not the address of a Dask scheduler; expected .*tcp://HOST:8786"),
            ("http://localhost", "'http://localhost' is not the address"),
            ("http://localhost:8786", "'http://localhost:8786' is not the address"),
            ("tcp://127.0.0.1:1", r"no Dask scheduler responds at tcp://127.0.0.1:1 \(.*; expected .*tcp://HOST:8786"),
        ],
    )
    def test_an_address_without_a_scheduler(
        self, address: str, message: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(workers, "_FOR_SCHEDULER", 1)  # nothing will ever answer
        with pytest.raises(ValueError, match=message):
            scored(data, tmp_path / "out", client=address)
        with pytest.raises(ValueError, match=message):  # and not that the folder is not empty
            scored(data, tmp_path / "out", client=address)

    def test_what_is_no_client_and_no_folder(self, data: Path) -> None:
        sides = data / "predictions", data / "references"
        with pytest.raises(TypeError, match=r"^client is 5; expected a Client of dask.distributed or the address of"):
            score_dataset(*sides, client=5)
        with pytest.raises(AnlsError, match=r"^out='': expected the name of a folder\.$"):
            score_dataset(*sides, out="")

    @pytest.mark.parametrize("client", [None, "tcp://127.0.0.1:1"])
    def test_a_working_folder_that_no_longer_exists(
        self, client: str | None, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        for out in (None, tmp_path / "out", "out"):
            with pytest.raises(ValueError, match=r"^the working folder no longer exists\."):
                score_dataset(data / "predictions", data / "references", out=out, client=client)

    def test_a_working_folder_that_may_not_be_entered(
        self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As after a change of the user: it is still that of this process, but no other one can start there."""
        (tmp_path / "closed" / "inside").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "closed" / "inside")
        (tmp_path / "closed").chmod(0)
        told = rf"{tmp_path}/closed/inside, which cannot be entered: Permission denied\. Change to another folder\.$"
        try:
            with ordinary_user(), pytest.raises(ClusterError, match=told):
                score_dataset(data / "predictions", data / "references", workers=1)
        finally:
            (tmp_path / "closed").chmod(0o700)

    def test_a_scheduler_without_workers(self, data: Path, tmp_path: Path) -> None:
        with (
            LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
            pytest.warns(UserWarning, match="no workers: waiting 1 s for one"),
            pytest.raises(
                ChildProcessError,
                match=rf"(?s)^no workers for 1 s at {cluster.scheduler_address}: start some with `dask.*patience=10\.",
            ),
        ):
            scored(data, tmp_path / "out", client=cluster.scheduler_address, patience=1)

    def test_workers_of_this_machine_that_do_not_stay(self, data: Path, tmp_path: Path) -> None:
        (tmp_path / "ending.py").write_text("import os\nos._exit(1)\n")
        options = {"n_workers": 0, "preload": [str(tmp_path / "ending.py")], "dashboard_address": "127.0.0.1:0"}
        with (
            LocalCluster(**options, silence_logs=logging.CRITICAL + 1) as cluster,
            Client(cluster) as own,
        ):
            cluster.scale(1)
            with (
                pytest.warns(UserWarning, match="no workers: waiting 1 s for one"),
                pytest.raises(ChildProcessError, match=r"^no workers for 1 s\. Workers that die .* lack memory"),
            ):
                scored(data, tmp_path / "out", client=own, patience=1)

    def test_a_cluster_of_this_machine_without_workers(self, data: Path, tmp_path: Path) -> None:
        with (
            LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as own,
            pytest.warns(UserWarning, match="no workers: waiting 1 s for one"),
            pytest.raises(
                ChildProcessError, match=r"^no workers for 1 s: start some with the scale method of its cluster\."
            ),
        ):
            scored(data, tmp_path / "out", client=own, patience=1)

    def test_a_client_that_is_asynchronous(self, data: Path, client: Client) -> None:
        async def score() -> None:
            async with Client(client.scheduler.address, asynchronous=True) as own:
                score_dataset(data / "predictions", data / "references", client=own)

        # In a thread, since the browser of other tests leaves an event loop running in this one.
        with (
            ThreadPoolExecutor(1) as thread,
            pytest.raises(ValueError, match=r"^client is asynchronous; expected one that waits for results"),
        ):
            thread.submit(asyncio.run, score()).result()

    def test_folders_whose_names_are_not_utf8(
        self, data: Path, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused = r"\udcff: the name of the folder is not UTF-8, which workers need\."
        sides = data / "predictions", data / "references"
        with pytest.raises(ValueError, match=rf'{refused} To use another folder, pass out="FOLDER"\.$'):
            score_dataset(*sides, client=client, out=tmp_path / "out\udcff")
        folder = tmp_path / "made\udcff"
        folder.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        with pytest.raises(ValueError, match=rf"{refused} Name another folder .* TMPDIR\.$"):
            score_dataset(*sides, workers=1)
        with pytest.raises(ChildProcessError, match=r"the name of the folder .*\udcff is not UTF-8\. Name .* TMPDIR\."):
            score_dataset(*sides, workers=1, out=tmp_path / "out")
        monkeypatch.chdir(folder)
        with pytest.raises(ValueError, match=rf'{refused} To use another folder, pass out="FOLDER"\.$'):
            score_dataset(*sides, client=client)

    @pytest.mark.parametrize("workers", [0, -1, True, 1.5])
    def test_no_workers(self, workers: Any, data: Path) -> None:
        with pytest.raises(ValueError, match=rf"^workers={workers}: expected a whole number of at least 1\.$"):
            score_dataset(data / "predictions", data / "references", workers=workers)

    def test_workers_and_a_cluster(self, data: Path, client: Client, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="got both"):
            scored(data, tmp_path / "out", client=client, workers=2)

    def test_known_rows(self, data: Path, tmp_path: Path) -> None:
        assert known_rows(data / "references") == ROWS
        (tmp_path / "a.parquet").write_bytes(b"PAR1")
        assert known_rows(tmp_path) is None
        assert known_rows([str(tmp_path / "a.csv")]) is None

    @pytest.mark.parametrize(
        ("option", "message"),
        [({"protocol": "x"}, "protocol"), ({"missing": "x"}, "missing"), ({"threshold": "2"}, "threshold")],
    )
    def test_are_refused_before_anything_is_done(
        self, option: dict[str, Any], message: str, data: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError, match=message):
            scored(data, tmp_path / "out", **option)
        assert not (tmp_path / "out").exists()

    def test_paths(self, data: Path, tmp_path: Path) -> None:
        names = [str(data / "predictions" / f"part-0000{number}.parquet") for number in range(FILES)]
        assert part_paths(data / "predictions") == part_paths(f"{data}/predictions/*.parquet") == names
        assert part_paths(names[:2]) == names[:2]
        with pytest.raises(ValueError, match=r"no files\. Expected a folder"):
            part_paths(tmp_path)
        with pytest.raises(ValueError, match=r"no files\. Expected a folder"):
            part_paths(f"{tmp_path}/*.parquet")


# ---------------------------------------------------------------------------------------------------
# Processes that die
# ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def longer(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in many files, so that there is a middle of the run."""
    folder = tmp_path_factory.mktemp("longer")
    write_dataset(folder, ROWS, MORE_FILES)
    return folder


@pytest.mark.long
def test_a_worker_that_is_killed(longer: Path, expected: SubmissionScore, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(done: int) -> None:
        if 0 < done < ROWS and not killed:
            killed.append(own.run(os.getpid).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)

    with local_client(2) as own:
        found = scored(longer, tmp_path / "out", client=own, on_progress=kill)
    assert killed
    assert found.submission == expected
    assert shown(tmp_path / "out") == [f"part-{number:05d}.parquet" for number in range(MORE_FILES)]


@pytest.mark.long
@pytest.mark.parametrize("more", ["", ", out='out'"])
def test_a_script_without_a_guard(more: str, data: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    sides = str(data / "predictions"), str(data / "references")
    script.write_text(f"import anls_eval\nanls_eval.score_dataset(*{sides}, workers=1{more})\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path)
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert (done.returncode, done.stderr.count("Traceback"), len(frames)) == (1, 1, 2)
    assert str(script) in frames[0]
    message = "Each worker imports the script that called score_dataset: put the call under if __name__ =="
    assert message in done.stderr


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("", "each imports the script that called score_dataset, and .*<stdin> is not a file. Save the script to a"),
        (
            "import threading\nthreading.stack_size(1 << 46)\ndel __file__\n",
            r"this process ran out of memory or threads. Give it .* Fewer workers need less\. To continue",
        ),
    ],
)
def test_a_process_that_cannot_start_workers(before: str, message: str, data: Path, tmp_path: Path) -> None:
    sides = str(data / "predictions"), str(data / "references")
    script = f"{before}import anls_eval\nanls_eval.score_dataset(*{sides}, workers=1, out='out')\n"
    done = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert re.search(message, done.stderr)


@pytest.mark.long
def test_no_memory(data: Path, tmp_path: Path) -> None:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_client(1, memory_limit="120MB") as own,
        pytest.raises(
            ChildProcessError,
            match=r"(?s)part-0000\d\.parquet: workers died.*Give each worker more memory.*To continue, pass resume",
        ),
    ):
        scored(data, tmp_path / "out", client=own)


def test_a_cluster_that_is_there(data: Path, expected: SubmissionScore, client: Client, tmp_path: Path) -> None:
    sides = str(data / "predictions" / "*.parquet"), "-r", str(data / "references")
    asked = ["score", *sides, "--by", "model", "--out", str(tmp_path / "out"), "--json", "--quiet"]
    run = CliRunner().invoke(cli.app, [*asked, "--scheduler", client.scheduler.address])
    assert json.loads(run.stdout) == as_json(expected, tmp_path / "out")
    assert client.scheduler_info()["workers"], "it was left running"


def test_the_reasons_that_the_command_prints(client: Client, tmp_path: Path) -> None:
    """They name the options of the command."""
    for side, name in ("p", "prediction"), ("r", "answer"):
        (tmp_path / side).mkdir()
        for part in range(2):
            (tmp_path / side / f"{part}.csv").write_text(f"question_id,{name}\n{part},a\n", encoding="utf-8")
    path = tmp_path / "p" / "1.csv"
    path.write_bytes(path.read_bytes() + "9,é\n".encode("cp1252"))
    asked = ["score", str(tmp_path / "p"), "-r", str(tmp_path / "r"), "--skip-bad", "--json", "--quiet"]
    run = CliRunner().invoke(cli.app, [*asked, "--missing", "zero", "--scheduler", client.scheduler.address])
    [(bad, reason)] = json.loads(run.stdout)["bad"].items()
    assert bad == str(path)
    assert reason.startswith(f"{path}, line 3, byte 29: not UTF-8")
    assert reason.endswith("To read it in Windows-1252, pass --encoding cp1252.")


def as_json(expected: SubmissionScore, out: Path) -> Any:
    """What the command prints of a new run."""
    own = {"parts": FILES, "resumed": 0, "bad": {}, "paired_by": "file", "out": str(out)}
    return json.loads(json.dumps({**expected.to_dict(), **own}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x", "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "pass only one of them"),
        (["--out", "x"], "--out, --resume and --skip-bad need --workers or --scheduler"),
        (["--skip-bad"], "--out, --resume and --skip-bad need --workers or --scheduler"),
        (["--workers", "2", "--resume"], "--resume needs --out, the folder of the earlier run"),
        (
            ["--workers", "2", "--cluster-by", "model"],
            "cannot be combined with --per-question, --cluster-by or --report",
        ),
    ],
)
def test_options_of_the_command(options: list[str], message: str, data: Path) -> None:
    run = CliRunner().invoke(cli.app, ["score", str(data), *options])
    assert message in str(run.exception)


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    for rows in (12_345, None):
        with common.progress(rows, quiet=False) as advance:
            advance(0)
            advance(1_234)
    assert "1,234/12,345" in shown.getvalue()
    assert "1,234 " in shown.getvalue()
    assert " 0 rows/s" not in shown.getvalue()


class Run(DatasetCommand):
    """The command line in a process of its own, and all processes that it starts."""

    def check_nothing_is_left(self) -> None:
        assert len(self.others) > 2, "workers were seen"
        psutil.wait_procs(self.others)


def test_the_command(data: Path, expected: SubmissionScore, tmp_path: Path) -> None:
    run = Run(data, tmp_path / "out")
    status, printed, said = run.wait()
    assert (status, json.loads(printed)) == (0, as_json(expected, tmp_path / "out"))
    assert said == f"Scores by question are in {tmp_path / 'out'} ({FILES} parts, paired file by file).\n"
    run.check_nothing_is_left()


@pytest.mark.long
def test_the_command_with_a_damaged_file(data: Path, tmp_path: Path) -> None:
    damaged = copied(data, tmp_path)
    (damaged / "references" / "part-00000.parquet").write_bytes(b"PAR1")
    run = Run(damaged, tmp_path / "other")
    status, printed, said = run.wait()
    assert (status, printed) == (1, "")
    assert "1 part cannot be scored" in said
    run.check_nothing_is_left()


# What the workers load, so that a run cannot end before it is broken off: no part begins once another is finished.
HOLD_FURTHER_PARTS = """
import time
from anls_eval.cluster.parts import FilePart

def held(part, job, sides=FilePart.sides):  # Dask loads this twice
    while any(job.work.glob("part-*.json")):
        time.sleep(0.1)
    return sides(part, job)

FilePart.sides = held
"""


INTERRUPT_FROM_THE_FIRST_WORKER = """
import os, signal, sys
from pathlib import Path

if any("spawn_main" in argument for argument in sys.orig_argv) and not Path({done!r}).exists():
    Path({done!r}).touch()
    os.killpg(0, {way:d})
"""
# The status of a run that a signal ends, and its words.
ENDINGS = {
    signal.SIGINT: (130, "interrupted"),
    signal.SIGTERM: (143, "interrupted by SIGTERM"),
    signal.SIGHUP: (129, "interrupted by SIGHUP"),
    signal.SIGUSR1: (128 + signal.SIGUSR1, "interrupted by SIGUSR1"),
    signal.SIGXCPU: (128 + signal.SIGXCPU, "interrupted by SIGXCPU"),
}


OTHER_ENDINGS = [pytest.param(way, marks=pytest.mark.long) for way in ENDINGS if way != signal.SIGINT]


@pytest.mark.parametrize("way", [signal.SIGINT, *OTHER_ENDINGS])
def test_a_signal_while_the_workers_start(way: signal.Signals, data: Path, tmp_path: Path) -> None:
    """Neither the workers, which get it too, nor Dask print a traceback."""
    code = INTERRUPT_FROM_THE_FIRST_WORKER.format(done=str(tmp_path / "done"), way=way)
    (tmp_path / "sitecustomize.py").write_text(code, encoding="utf-8")
    run = Run(data, tmp_path / "out", PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    status, printed, said = run.wait()
    kept = f"0 parts are finished in {run.out}. To continue, pass --resume."
    assert (status, printed, said) == (ENDINGS[way][0], "", f"{ENDINGS[way][1]}; {kept}\n")
    assert (tmp_path / "done").exists()
    psutil.wait_procs(run.others)  # of which some ended before they were seen


HURRIED = """
from distributed import core
own = core.warn_on_duration
core.warn_on_duration = lambda duration, message: own("0s", message)
"""


def test_a_busy_machine_is_no_reason_for_words_of_dask(data: Path, tmp_path: Path) -> None:
    """Dask warns, and does not log, where its folders take longer than a second."""
    (tmp_path / "sitecustomize.py").write_text(HURRIED, encoding="utf-8")
    run = Run(data, tmp_path / "out", PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    status, _, said = run.wait()
    assert (status, said) == (0, f"Scores by question are in {run.out} (6 parts, paired file by file).\n")
    psutil.wait_procs(run.others)


@pytest.mark.parametrize("way", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long), *OTHER_ENDINGS])
def test_a_run_that_is_broken_off(
    way: signal.Signals, longer: Path, expected: SubmissionScore, client: Client, tmp_path: Path
) -> None:
    hold = tmp_path / "hold.py"
    hold.write_text(HOLD_FURTHER_PARTS, encoding="utf-8")
    run = Run(longer, tmp_path / "out", DASK_DISTRIBUTED__WORKER__PRELOAD=repr([str(hold)]))
    run.wait_until(lambda: finished(run.out))
    if way == signal.SIGKILL:
        run.process.kill()
    else:
        run.interrupt(way)
    status, printed, said = run.wait()
    expected_status, words = ENDINGS.get(way, (-way, ""))
    assert (status, printed) == (expected_status, "")
    assert "Traceback" not in said
    run.check_nothing_is_left()
    done = finished(run.out)
    assert 0 < done < MORE_FILES
    if words:
        parts = "1 part is" if done == 1 else f"{done} parts are"
        assert said == f"{words}; {parts} finished in {run.out}. To continue, pass --resume.\n"
    noted = pytest.warns(UserWarning, match=rf"an earlier run in {run.out} did not end by itself: process \d+ on")
    with noted if way == signal.SIGKILL else contextlib.nullcontext():
        found = scored(longer, run.out, client=client, resume=True)
    assert (found.submission, found.resumed) == (expected, done)
    assert shown(run.out) == [f"part-{number:05d}.parquet" for number in range(MORE_FILES)]


@pytest.mark.parametrize("way", [signal.SIGINT, *OTHER_ENDINGS])
def test_a_run_without_a_folder_that_is_broken_off(way: signal.Signals, longer: Path, tmp_path: Path) -> None:
    """A signal to the process alone: no temporary file stays, but for the locks that Dask keeps."""
    hold = tmp_path / "hold.py"
    hold.write_text(HOLD_FURTHER_PARTS, encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary), "DASK_DISTRIBUTED__WORKER__PRELOAD": repr([str(hold)])}
    sides = [str(longer / "predictions"), "-r", str(longer / "references")]
    command = [sys.executable, "-m", "anls_eval", "score", *sides, "--workers", "2", "--quiet"]
    piped = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, stdout=piped, stderr=piped, text=True, start_new_session=True
    ) as run:
        while not list(temporary.glob(".anls-*/_work/part-*.json")):
            assert run.poll() is None
            time.sleep(0.02)
        run.send_signal(way)
        printed, said = run.communicate()
    status, words = ENDINGS[way]
    assert (run.returncode, printed, said) == (status, "", f"{words}\n")
    assert {path.name for path in temporary.iterdir()} <= {"dask-scratch-space"}
    assert {path.suffix for path in temporary.glob("*/*")} <= {".lock", ".dirlock"}
