"""Datasets on disk, as a folder of files."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pytest
from contents import contents
from ordinary_user import ordinary_user

from anls_eval.files import FormatError, open_predictions
from anls_eval.files.dataset_folder import dataset_files
from anls_eval.files.errors import NoRowsError
from anls_eval.files.joined import WITHOUT_END
from anls_eval.files.reading import WITHOUT_ROWS
from anls_eval.submission.score import score_submission

ROWS = 4000


def save(path: Path, answer: str = "answer", rows: int = ROWS) -> Path:
    texts = {"id": list(map(str, range(rows))), "prediction": [f"{answer} {row}" for row in range(rows)]}
    datasets.Dataset.from_dict(texts).save_to_disk(path, num_shards=4)
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(tmp_path / "saved")


def copy_shards(saved: Path) -> None:
    for path in save(saved.with_name("other"), "ANSWER").glob("*.arrow"):
        shutil.copyfile(path, saved / path.name)


def move_shards(saved: Path) -> None:
    for path in save(saved.with_name("other"), "ANSWER").glob("*.arrow"):
        path.replace(saved / path.name)


def cut_off(saved: Path) -> None:
    os.truncate(saved / "data-00003-of-00004.arrow", 1000)


def save_again(saved: Path) -> None:
    save(saved.with_name("other"), rows=ROWS // 2)
    shutil.copytree(saved.with_name("other"), saved, dirs_exist_ok=True)


def remove_a_shard(saved: Path) -> None:
    (saved / "data-00003-of-00004.arrow").unlink()


CHANGES = copy_shards, move_shards, cut_off, save_again, remove_a_shard


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["before", "while", "between"])
def test_that_changes(change: Callable[[Path], None], when: str, saved: Path) -> None:
    """Also in a file that is cut off, which ends a process that has mapped it to memory."""
    reader = open_predictions(saved)
    if when == "between":
        assert len(contents(reader)) == ROWS
    batches = reader.batches(10)
    if when == "while":
        next(batches)
    change(saved)
    with pytest.raises(FormatError, match=rf"^{saved}: changed while it was read\. Run again once nothing writes"):
        list(batches)


def test_that_is_removed(saved: Path) -> None:
    batches = open_predictions(saved).batches(10)
    next(batches)
    shutil.rmtree(saved)
    with pytest.raises(FormatError, match=rf"^{saved}: removed while it was read\. Put it back"):
        list(batches)


def test_what_is_no_change(saved: Path, tmp_path: Path) -> None:
    """Another split, and the files that are beside those of a dataset once it was used."""
    both = datasets.DatasetDict(val=datasets.load_from_disk(saved), test=datasets.load_from_disk(saved))
    both.save_to_disk(tmp_path / "both")
    batches = open_predictions(f"{tmp_path}/both:val").batches(10)
    next(batches)
    used = datasets.load_from_disk(tmp_path / "both" / "val").map(lambda row: {"prediction": row["id"]})
    assert {Path(own["filename"]).name[:6] for own in used.cache_files} == {"cache-"}
    shutil.rmtree(tmp_path / "both" / "test")
    assert sum(map(len, batches)) == ROWS - 10
    names = ["data-00000-of-00001.arrow", "dataset_info.json", "state.json"]
    assert [path.name for path in dataset_files(f"{tmp_path}/both:val")] == names


def test_a_folder_of_them(tmp_path: Path) -> None:
    for number in (2, 10, 1):
        texts = {"id": [f"q{number}"], "prediction": [f"answer {number}"]}
        datasets.Dataset.from_dict(texts).save_to_disk(tmp_path / "runs" / f"part-{number}")
    expected = [(f"q{number}", f"answer {number}") for number in (1, 2, 10)]
    for given in (tmp_path / "runs", tmp_path / "runs" / "*"):
        assert contents(open_predictions(given)) == expected


def test_a_split_in_a_folder_that_looks_like_a_pattern(saved: Path, tmp_path: Path) -> None:
    datasets.DatasetDict(val=datasets.load_from_disk(saved)).save_to_disk(tmp_path / "runs [1]")
    for path in (f"{tmp_path}/runs [1]:val", [f"{tmp_path}/runs [1]:val"], f"{tmp_path}/runs [1]"):
        assert len(contents(open_predictions(path))) == ROWS


def test_without_rows(tmp_path: Path) -> None:
    """It is saved without a file, which the library that saves it cannot open."""
    filled = datasets.Dataset.from_dict({"id": ["1"], "prediction": ["a"]})
    empty = filled.select([])
    for name, part in (("runs/1", filled), ("runs/2", empty), ("empty", empty)):
        part.save_to_disk(tmp_path / name)
    datasets.DatasetDict(val=filled, test=empty).save_to_disk(tmp_path / "splits")
    datasets.DatasetDict(val=empty).save_to_disk(tmp_path / "split")
    for name in ("runs/2", "empty", "splits/test", "split/val"):
        state = tmp_path / name / "state.json"
        state.write_text(json.dumps(json.loads(state.read_text()) | {"_data_files": []}))
        for shard in state.parent.glob("*.arrow"):  # of older versions
            shard.unlink()
    reader = open_predictions(tmp_path / "runs")
    assert contents(reader) == contents(open_predictions(f"{tmp_path}/splits:val")) == [("1", "a")]
    assert reader.detected.notes == (f"{tmp_path}/runs/2 {WITHOUT_ROWS}",)
    for name in ("empty", "splits:test", "split", "split:val"):
        with pytest.raises(NoRowsError, match=rf"^{tmp_path}/{name}: the dataset has no rows\."):
            open_predictions(f"{tmp_path}/{name}")
    for name, told in (("splits", "it has several splits: test, val"), ("splits:x", "it has no split 'x': test, val")):
        with pytest.raises(FormatError, match=rf"^{tmp_path}/{name}: {told}"):
            open_predictions(f"{tmp_path}/{name}")


@pytest.mark.parametrize("inside", ["a.jsonl", None])
def test_another_folder_among_them(inside: str | None, saved: Path) -> None:
    """A pattern is advised that reads the files in it, if there are any."""
    other = saved.with_name("other")
    other.mkdir()
    if inside is not None:
        (other / inside).write_text('{"id": 1, "prediction": "a"}')
    advised = r", or name the files by a pattern, such as '.*/\*\*/\*\.jsonl', .*" if inside else r"\."
    with pytest.raises(FormatError, match=rf"^{other}: a folder among .* Expected files only: move it{advised}$"):
        open_predictions(saved.parent)


def test_one_of_several_that_was_not_saved_to_its_end(tmp_path: Path) -> None:
    """Its shards come first."""
    for number in (1, 2):
        save(tmp_path / str(number))
    for own in (tmp_path / "2").iterdir():
        if own.suffix == ".json" or "00003-of" in own.name:
            own.unlink()
    with pytest.raises(FormatError, match=rf"^{tmp_path}/2: a dataset that was not saved to its end: .* Save it again"):
        open_predictions(tmp_path)


def test_shards_of_which_others_are_absent_also_with_dask(saved: Path, tmp_path: Path) -> None:
    """As where saving or downloading was broken off, in one process and with Dask."""
    from anls_eval.cluster.run import score_dataset

    for side, column in (("predictions", "prediction"), ("references", "answers")):
        own = datasets.Dataset.from_dict({"id": list(map(str, range(40))), column: ["a"] * 40})
        own.save_to_disk(tmp_path / side, num_shards=12)
        for path in (tmp_path / side).iterdir():
            if path.suffix == ".json" or path.name > "data-00009":
                path.unlink()
    told = f"{tmp_path}/predictions/data-*-of-00012.arrow: 9 of 12 files are read, and the others are not among them: "
    sides = tmp_path / "predictions", tmp_path / "references"
    found = score_submission(*map(str, sides))
    assert [note for note in found.notes if "12 files" in note] == [
        f"{told.replace('predictions', side)}their rows are missing" for side in ("predictions", "references")
    ]
    assert score_dataset(*sides, workers=1).submission == found
    (first, *_) = named = sorted(sides[0].iterdir())
    for given in (first, named, saved):  # what is named, and a dataset that is whole
        assert open_predictions(given).detected.notes == ()
    assert len(open_predictions(f"{sides[0]}/data-0000[0-3]-*").detected.notes) == 1


@pytest.mark.parametrize("mode", [0, 0o600], ids=oct)
def test_one_that_may_not_be_read(mode: int, saved: Path) -> None:
    """It is not told as a folder to be moved, without which its rows would be missing."""
    saved.chmod(mode)
    try:
        for given in (saved.parent, saved.parent / "*"):
            with ordinary_user(), pytest.raises(FormatError, match=rf"^{saved}: the folder cannot be read: Permission"):
                open_predictions(given)
    finally:
        saved.chmod(0o700)


@pytest.mark.parametrize("name", ["nothing", "nothing:val"])
def test_that_is_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf"^{tmp_path}/{name}: not a dataset on disk: "):
        open_predictions(tmp_path / name, format="dataset")


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("is_of_dataset", [True, False])
def test_without_the_mark_of_its_end(is_of_dataset: bool, is_ended: bool, tmp_path: Path) -> None:
    """As a writer leaves it that is killed, in a place where a batch ends."""
    if is_of_dataset:
        datasets.Dataset.from_dict({"id": ["1", "2"], "prediction": ["a", "b"]}).save_to_disk(tmp_path / "given")
        (path,) = (tmp_path / "given").glob("*.arrow")
    else:
        path = tmp_path / "given"
        table = pa.table({"id": ["1", "2"], "prediction": ["a", "b"]})
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    if not is_ended:
        os.truncate(path, path.stat().st_size - 8)
    reader = open_predictions(tmp_path / "given")
    assert contents(reader) == [("1", "a"), ("2", "b")]
    assert list(reader.notes) == ([] if is_ended else [f"predictions: {path} {WITHOUT_END}"])


def test_of_which_a_file_is_damaged(saved: Path) -> None:
    """Where the library that opens the dataset does not look."""
    path = saved / "data-00002-of-00004.arrow"
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 16] = b"\xff" * 16
    path.write_bytes(content)
    with pytest.raises(FormatError, match=rf"^{path}: not a readable Arrow file: .* It is truncated or damaged"):
        contents(open_predictions(saved))
