"""Files of every format give the same references and predictions, or an error that says where and what to do."""

import csv
import gzip
import io
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DATA, EXAMPLES, ROOT
from storage import fail_from

from anls_eval.files import FORMATS, FormatError, Reader, open_predictions, open_references, write_rows
from anls_eval.files.errors import NoRowsError, OutputError
from anls_eval.files.write import CountedFile, whole_file
from anls_eval.scoring import anls_scores, anls_star_scores

DOCVQA = EXAMPLES / "docvqa"


def listed(column: Any) -> Any:
    return column.to_pylist() if isinstance(column, pa.Array) else column


def contents(reader: Reader, size: int = 16_384) -> tuple[list[str] | None, list[Any]]:
    """The ids and values of a whole file."""
    batches = list(reader.batches(size))
    assert [batch.first_row for batch in batches] == list(range(0, sum(map(len, batches)), size))
    values = [value for batch in batches for value in listed(batch.values)]
    if batches[0].question_ids is None:
        return None, values
    return [id_ for batch in batches for id_ in listed(batch.question_ids)], values


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# ---------------------------------------------------------------------------------------------------
# One source in every format
# ---------------------------------------------------------------------------------------------------

IDS = ["10285", "18601", "007", "79697302777874380000000000000000000001", "é-1"]
PREDICTIONS = ["Denver Broncos", "12/15/89", "", '=1+1, "quoted"\nand more\ttabbed', "[café]"]
ANSWERS = [["Denver Broncos", "Denver R. Broncos"], ["12/15/88"], [""], ["it's", 'a "b"'], ["naïve", "\\d"]]
ROWS = [
    {"questionId": id_, "answer": prediction, "answers": answers}
    for id_, prediction, answers in zip(IDS, PREDICTIONS, ANSWERS, strict=True)
]
TABLE = pa.Table.from_pylist(ROWS)


def csv_text(delimiter: str, answers: Callable[[list[str]], str] = json.dumps, end: str = "\n") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(["questionId", "answer", "answers"])
    writer.writerows([row["questionId"], row["answer"], answers(row["answers"])] for row in ROWS)  # type: ignore[arg-type]
    return text.getvalue()


def json_lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def arrow_bytes(new: Callable[..., Any]) -> bytes:
    sink = io.BytesIO()
    with new(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


def parquet_bytes(**options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, **options)
    return sink.getvalue()


def feather_bytes() -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(TABLE, sink)
    return sink.getvalue()


def xlsx_bytes(rows: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            cell = book.active.cell(number, column, value)
            if isinstance(value, str):
                cell.data_type = "s"  # openpyxl makes a formula of "=1+1"
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


SPREADSHEET = [["questionId", "answer", "answers"]] + [
    [row["questionId"], row["answer"], json.dumps(row["answers"])] for row in ROWS
]

BOTH_SIDES: dict[str, bytes] = {
    "json": json.dumps(ROWS).encode(),
    "json, indented, with a byte order mark": b"\xef\xbb\xbf" + json.dumps(ROWS, indent=2, ensure_ascii=False).encode(),
    "json, around it an object": json.dumps({"dataset_name": "x", "dataset_split": "val", "data": ROWS}).encode(),
    "json, by another name": json.dumps({"version": 2, "annotations": ROWS}).encode(),
    "json, of columns": json.dumps(TABLE.to_pydict()).encode(),
    "jsonl": json_lines(ROWS).encode(),
    "jsonl, with CRLF, blank lines and no last line end": "\r\n \r\n".join(map(json.dumps, ROWS)).encode(),
    "csv": csv_text(",").encode(),
    "csv, with a byte order mark and CRLF": b"\xef\xbb\xbf" + csv_text(",", end="\r\n").encode(),
    "csv, lists as Python writes them": csv_text(",", repr).encode(),
    "tsv": csv_text("\t").encode(),
    "xlsx": xlsx_bytes(SPREADSHEET),
    "parquet": parquet_bytes(),
    "parquet, small row groups": parquet_bytes(row_group_size=2, use_dictionary=False, compression="zstd"),
    "arrow": arrow_bytes(pa.ipc.new_file),
    "arrow, a stream": arrow_bytes(pa.ipc.new_stream),
    "arrow, by feather": feather_bytes(),
}


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
@pytest.mark.parametrize("size", [2, 16_384])
@pytest.mark.parametrize("kind", BOTH_SIDES)
def test_round_trip(tmp_path: Path, kind: str, size: int, compression: str | None) -> None:
    content = BOTH_SIDES[kind]
    compressed = pa.compress(content, codec=compression, asbytes=True) if compression else content
    path = write(tmp_path / "nothing_in_the_name", compressed)
    predictions, references = open_predictions(path), open_references(path)
    assert contents(predictions, size) == (IDS, PREDICTIONS)
    assert contents(references, size) == (IDS, ANSWERS)
    for reader in predictions, references:
        assert reader.detected.container == kind.split(",")[0]
        assert reader.detected.format == "rrc"
        assert reader.detected.compression == compression
        assert reader.detected.has_predictions
        assert reader.detected.has_references
        assert reader.rows in (None, len(ROWS))
    assert predictions.detected.columns == {"question_id": "questionId", "prediction": "answer"}
    assert references.detected.columns == {"question_id": "questionId", "answers": "answers"}


@pytest.mark.parametrize("number", [0, 15])
def test_zstd_of_several_frames(tmp_path: Path, number: int) -> None:
    """As pzstd writes them, with the size of each in a frame before it that holds no data."""
    size = bytes([0x50 + number]) + b"\x2a\x4d\x18\x04\0\0\0size"
    lines = json_lines(ROWS).splitlines(keepends=True)
    frames = [size + pa.compress(line.encode(), codec="zstd", asbytes=True) for line in lines]
    reader = open_predictions(write(tmp_path / "rows.jsonl.zst", b"".join(frames)))
    assert (reader.detected.compression, contents(reader)) == ("zstd", (IDS, PREDICTIONS))
    with pytest.raises(FormatError, match=r"truncated|damaged|end"):
        contents(open_predictions(write(tmp_path / "rows.jsonl.zst", b"".join(frames)[:-3])))


def test_round_trip_without_ids(tmp_path: Path) -> None:
    for name, content in {
        "predictions.json": json.dumps(PREDICTIONS),
        "p.jsonl": json_lines(PREDICTIONS),
        "p.csv": "prediction\nx\ny\n",
    }.items():
        ids, values = contents(open_predictions(write(tmp_path / name, content)), 2)
        assert ids is None
        [note] = open_predictions(tmp_path / name).detected.notes
        is_table = name == "p.csv"
        assert note.startswith(
            "no id column was recognised (columns: prediction), so rows" if is_table else "no question ids"
        )
        assert values == (["x", "y"] if name == "p.csv" else PREDICTIONS)
    for name, content in {"answers.json": json.dumps(ANSWERS), "a.jsonl": json_lines(ANSWERS)}.items():
        assert contents(open_references(write(tmp_path / name, content)), 2) == (None, ANSWERS)


def test_round_trip_of_an_object_from_id_to_value(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", json.dumps(dict(zip(IDS, PREDICTIONS, strict=True))))
    assert contents(open_predictions(path), 2) == (IDS, PREDICTIONS)
    path = write(tmp_path / "r.json", json.dumps(dict(zip(IDS, ANSWERS, strict=True)), indent=1))
    assert contents(open_references(path), 2) == (IDS, ANSWERS)
    assert not open_references(path).detected.has_predictions


def test_round_trip_of_squad(tmp_path: Path) -> None:
    questions = [
        {"id": id_, "question": "?", "answers": [{"text": text, "answer_start": 3} for text in answers]}
        for id_, answers in zip(IDS, ANSWERS, strict=True)
    ]
    paragraphs = [{"context": "...", "qas": questions[:2]}, {"context": "...", "qas": questions[2:]}]
    document = {
        "version": "1.1",
        "data": [{"title": "T", "paragraphs": paragraphs[:1]}, {"paragraphs": paragraphs[1:]}],
    }
    reader = open_references(write(tmp_path / "squad.json", json.dumps(document)))
    assert contents(reader, 2) == (IDS, ANSWERS)
    assert reader.detected.format == "squad"
    assert next(reader.batches()).columns == {"document": ["T", "T", None, None, None]}


def test_squad_without_an_answer_accepts_the_empty_one(tmp_path: Path) -> None:
    questions = [{"id": "q", "is_impossible": True, "answers": []}]
    path = write(tmp_path / "squad.json", json.dumps({"data": [{"paragraphs": [{"qas": questions}]}]}))
    assert contents(open_references(path)) == (["q"], [[""]])


@pytest.mark.parametrize("container", ["jsonl", "parquet"])
def test_rows_of_squad_as_datasets_have_them(tmp_path: Path, container: str) -> None:
    rows = [
        {"id": id_, "answers": {"text": answers, "answer_start": [0] * len(answers)}}
        for id_, answers in zip(IDS, ANSWERS, strict=True)
    ]
    path = tmp_path / "rows"
    if container == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        write(path, json_lines(rows))
    assert contents(open_references(path)) == (IDS, ANSWERS)


@pytest.mark.parametrize("log", ["lm_eval", "lmms_eval", "lmms_eval of old"])
def test_round_trip_of_sample_logs(tmp_path: Path, log: str) -> None:
    # Written as the two loggers/evaluation_tracker.py do: target is str(answers), and lmms-eval leaves doc out.
    samples = []
    for number, row in enumerate(ROWS):
        target = row["answers"] if log == "lmms_eval of old" else str(row["answers"])
        sample = {"doc_id": number, "target": target, "filtered_resps": [row["answer"]], "resps": [[row["answer"]]]}
        if log == "lmms_eval":
            sample |= {"input": "What?", "anls": 1.0}
        else:
            sample |= {"doc": {"questionId": row["questionId"], "question": "What?", "docId": 7}, "arguments": {}}
        samples.append(sample)
    if log == "lmms_eval of old":
        path = write(tmp_path / "docvqa_val.json", json.dumps({"args": {}, "model_configs": {}, "logs": samples}))
    else:
        path = write(tmp_path / "samples_docvqa_val.jsonl", json_lines(samples))
    ids = ["0", "1", "2", "3", "4"] if log == "lmms_eval" else IDS
    assert contents(open_predictions(path)) == (ids, PREDICTIONS)
    assert contents(open_references(path)) == (ids, ANSWERS)
    assert open_references(path).detected.format == log.replace("lmms_eval of old", "lm_eval")
    assert open_references(path).detected.has_predictions


@pytest.mark.parametrize("container", ["xlsx", "tsv", "json"])
def test_round_trip_of_vlmevalkit(tmp_path: Path, container: str) -> None:
    header = ["index", "question", "answer", "category", "prediction"]
    cells = [[n, "What?", str(row["answers"]), "x", row["answer"]] for n, row in enumerate(ROWS)]
    path = tmp_path / f"Model_DocVQA_VAL.{container}"
    if container == "xlsx":
        write(path, xlsx_bytes([header, *cells]))
    elif container == "json":
        write(path, json.dumps([dict(zip(header, row, strict=True)) for row in cells], indent=4))
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([header, *cells])
    assert contents(open_predictions(path)) == (["0", "1", "2", "3", "4"], PREDICTIONS)
    assert contents(open_references(path)) == (["0", "1", "2", "3", "4"], ANSWERS)
    assert open_references(path, by=["category"]).detected.format == "vlmevalkit"
    assert listed(next(open_references(path, by=["category"]).batches()).columns["category"]) == ["x"] * 5


_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_SHARD = "data-00001-of-00002.arrow"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (_SHARD, _POINTER, "/one/data-00001-of-00002.arrow: a pointer of Git LFS"),
        (_SHARD, b"", "/one/data-00001-of-00002.arrow: not a readable Arrow file: .* truncated or damaged"),
        (_SHARD, -9, "/one/data-00001-of-00002.arrow: not a readable Arrow file: .* truncated or damaged"),
        (_SHARD, None, "/one: a damaged dataset: No such file or directory: .*data-00001-of-00002.arrow. Save or copy"),
        ("state.json", -9, "/one/state.json, line .*: not JSON: .* The dataset is damaged: save or copy it again"),
        ("state.json", b"", "/one/state.json, line 1, .*: not JSON: .* The dataset is damaged: save or copy it again"),
        ("state.json", None, "/one: a damaged dataset: .* Save or copy it again"),
        ("dataset_info.json", _POINTER, "/one/dataset_info.json: a pointer of Git LFS"),
    ],
)
def test_a_dataset_with_a_damaged_file(name: str, content: bytes | int | None, told: str, tmp_path: Path) -> None:
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "one", num_shards=2)
    own = tmp_path / "one" / name
    if content is None:
        own.unlink()
    else:
        own.write_bytes(own.read_bytes()[:content] if isinstance(content, int) else content)
    with pytest.raises(FormatError, match=told):
        contents(open_predictions(tmp_path / "one"))


def test_a_dataset_without_a_folder_for_temporary_files(tmp_path: Path) -> None:
    """As in a container of which nothing may be written."""
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "one")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        f"from anls_eval.files import open_predictions; open_predictions({str(tmp_path / 'one')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    words = (
        "needs a writable folder for temporary files, and there is none. Name one by the environment variable TMPDIR."
    )
    assert done.stderr.splitlines()[-1].endswith(f"/one: the library datasets {words}")


def test_round_trip_of_datasets(tmp_path: Path) -> None:
    dataset = datasets.Dataset.from_list(ROWS)
    dataset.save_to_disk(tmp_path / "one")
    datasets.DatasetDict(val=dataset, test=dataset.select([4, 3])).save_to_disk(tmp_path / "two")
    for path in tmp_path / "one", f"{tmp_path}/two:val":
        assert contents(open_predictions(path), 2) == (IDS, PREDICTIONS)
        assert contents(open_references(path), 2) == (IDS, ANSWERS)
    reader = open_references(f"{tmp_path}/two:test")
    assert contents(reader) == ([IDS[4], IDS[3]], [ANSWERS[4], ANSWERS[3]])
    assert (reader.rows, reader.detected.container) == (2, "dataset")
    with pytest.raises(FormatError, match=r"several splits: val, test\. Write .*two:val"):
        open_references(tmp_path / "two")
    with pytest.raises(FormatError, match="no split 'train': val, test"):
        open_references(f"{tmp_path}/two:train")
    with pytest.raises(FormatError, match="no splits, so there is no 'val'"):
        open_references(f"{tmp_path}/one:val")
    with pytest.raises(FormatError, match="not a dataset on disk"):
        open_references(tmp_path, format="dataset")
    (tmp_path / "one" / "state.json").unlink()
    os.mkfifo(tmp_path / "one" / "state.json")
    with pytest.raises(FormatError, match=r"/one: state.json is not a regular file\. Save the dataset again\."):
        open_references(tmp_path / "one")


def test_round_trip_of_the_hub(tmp_path: Path) -> None:
    # A folder is loaded as a repository of the Hub is, without a network.
    for split, rows in {"validation": ROWS, "test": ROWS[:2]}.items():
        write(tmp_path / f"{split}.jsonl", json_lines(rows))
    for path in f"hub:{tmp_path}:validation", f"hub:{tmp_path}:default:validation":
        assert contents(open_predictions(path), 2) == (IDS, PREDICTIONS)
        assert contents(open_references(path), 2) == (IDS, ANSWERS)
    with pytest.raises(FormatError, match="several splits: "):
        open_predictions(f"hub:{tmp_path}")
    with pytest.raises(FormatError, match="expected hub:name"):
        open_predictions("hub:a:b:c:d")
    with pytest.raises(FormatError, match="cannot be loaded"):
        open_predictions("hub:no/such-dataset")


# ---------------------------------------------------------------------------------------------------
# Real files
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(DOCVQA.glob("pred_*.json")), ids=lambda path: path.stem)
def test_docvqa_submissions(path: Path) -> None:
    ids, predictions = contents(open_predictions(path))
    gold_ids, answers = contents(open_references(DOCVQA / "references.json"))
    assert ids is not None
    assert gold_ids is not None
    by_id = dict(zip(ids, predictions, strict=True))
    scores = json.loads((DOCVQA / "reference_scores.json").read_text())
    expected = next(row for row in scores if row["model"] in path.stem)
    with pytest.warns(UserWarning, match="extra whitespace raised the score"):
        score = anls_scores([by_id[id_] for id_ in gold_ids], answers, protocol="rrc").mean()
    assert score == pytest.approx(expected["rrc"], abs=1e-6)


def test_rrc_fixtures() -> None:
    folder = DATA / "formats"
    assert contents(open_predictions(folder / "evaluate_json_submission.json")) == (
        ["1", "2", "3", "4", "5"],
        ["The Coca", "CocaCola", "Coca cola", "Coca", "Cat"],
    )
    reader = open_references(folder / "evaluate_json_gold_label.json", by=["data_split"])
    assert contents(reader) == (["1", "2", "3", "4", "5"], [["Coca Cola", "Coca Cola Company"]] * 5)
    assert next(reader.batches()).columns == {"data_split": ["train"] * 5, "document": ["bar"] * 5}
    assert contents(open_predictions(folder / "validate_data_submission.json")) == (["1", "2"], ["foo", "bar"])
    assert contents(open_references(folder / "validate_data_gold_label.json")) == (["1", "2"], [["baz"]] * 2)


def test_dude() -> None:
    folder = DATA / "formats"
    reader = open_references(folder / "DUDE_demo_gt.json")
    batch = next(reader.batches())
    assert reader.detected.format == "dude"
    assert batch.values[7] == [
        "National Archives and Records Administration",
        "The National Archives and Records Administration",
    ]
    assert batch.values[8:] == [[""], [""], ["AF0055", "AF1044"]]
    assert batch.columns["answer_type"][8] == "not answerable"
    assert batch.columns["document"][0] == "7afe94621751eb3584a4a9962bb7b1f0"
    assert "answers_variants" in reader.detected.notes[0]
    official = open_references(folder / "DUDE_demo_gt.json", columns={"answers": "answers"})
    assert next(official.batches()).values[7] == ["National Archives and Records Administration"]
    assert not official.detected.notes

    predictions = open_predictions(folder / "DUDE_demo_submission_imperfect.json")
    ids, values = contents(predictions)
    assert ids == batch.question_ids
    assert values[-1] == ["AF0055", "AF1044"]
    assert predictions.detected.columns == {"question_id": "questionId", "prediction": "answers"}
    assert not predictions.detected.has_references


def test_variants_are_no_items_of_a_list(tmp_path: Path) -> None:
    rows = [
        {"questionId": "a", "answers": ["x", "y"], "answers_variants": ["z"], "answer_type": "list/extractive"},
        {"questionId": "b", "answers": ["x"], "answers_variants": ["z"], "answer_type": "extractive"},
    ]
    write(tmp_path / "dude.json", json.dumps({"data": rows}))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "dude.parquet")
    for name in "dude.json", "dude.parquet":
        assert contents(open_references(tmp_path / name)) == (["a", "b"], [["x", "y"], ["x", "z"]])


def test_dude_submission_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "s.json", '[{"questionId": "a", "answers": ["x"]}]')
    with pytest.raises(FormatError, match="no column holds the predictions"):
        open_predictions(path)
    assert contents(open_predictions(path, format="dude")) == (["a"], [["x"]])
    assert contents(open_references(path, format="dude")) == (["a"], [["x"]])


def test_mmlongbench(tmp_path: Path) -> None:
    path = DATA / "formats" / "mmlongbench_v2_samples.json.gz"
    reader = open_references(path)
    ids, answers = contents(reader)
    assert reader.detected.format == "mmlongbench"
    assert reader.detected.columns["question_id"] == "doc_id + question"
    assert ids is not None
    assert len(set(ids)) == len(ids) == reader.rows == 1071
    assert "['White', '10%']" in answers  # its scorer parses them
    kinds = next(reader.batches()).columns["answer_type"]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "Int": 302,
        "Str": 256,
        "None": 208,
        "Float": 159,
        "List": 146,
    }
    # A results file is the samples with the model's response and what was extracted from it.
    samples = json.loads(gzip.decompress(path.read_bytes()))[:3]
    results = [{**row, "response": "So ...", "extracted_res": "...", "pred": "8", "score": 0} for row in samples]
    both = write(tmp_path / "res_model.json", json.dumps(results[::-1]))
    assert contents(open_predictions(both)) == (ids[2::-1], ["8"] * 3)
    assert contents(open_references(both)) == (ids[2::-1], answers[2::-1])
    assert open_references(both, format="mmesgbench").detected.format == "mmesgbench"
    with pytest.raises(FormatError, match="accepted answers in 'answer': is this the other file"):
        open_predictions(path)


def test_the_same_question_twice_in_mmlongbench_stays_two(tmp_path: Path) -> None:
    # As in version 1: one question of one document, with two answers.
    row = {"doc_id": "d", "question": "q", "answer_format": "Str"}
    path = write(tmp_path / "s.json", json.dumps([{**row, "answer": "46%"}, {**row, "answer": "Not answerable"}]))
    assert contents(open_references(path), 1) == (["d: q", "d: q (2)"], ["46%", "Not answerable"])


def test_ocrbench_with_its_mixed_column() -> None:
    reader = open_references(
        DATA / "formats" / "OCRBench.json.gz", by=["type"], columns={"question_id": "dataset_name + id"}
    )
    ids, answers = contents(reader)
    assert ids is not None
    assert ids[0] == "IIIT5K: 2843"
    assert len(set(ids)) == 1000
    assert sum(isinstance(answer, list) for answer in answers) == 149
    assert answers[0] == "CENTRE"
    assert anls_scores(["Centre"] * 1000, answers)[0] == 1.0


def test_documents_as_trees() -> None:
    reader = open_references(EXAMPLES / "sroie" / "sroie_keys.jsonl", columns={"answers": "*"})
    ids, trees = contents(reader, 100)
    assert ids is not None
    assert (len(ids), ids[1]) == (100, "001")
    assert trees[1].keys() == {"company", "date", "address", "total"}
    path = DATA / "documents" / "invoices.jsonl"
    predictions, references = contents(open_predictions(path)), contents(open_references(path))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    scores = anls_star_scores(predictions[1], references[1])
    assert scores.tolist() == pytest.approx([row["anls_star"] for row in rows], abs=1e-6)


def test_alternatives_in_json_stay_as_they_are(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"total": {"$one_of": ["1", "EUR 1"]}, "items": [], "note": None}
    path = write(tmp_path / "t.jsonl", json_lines([{"id": 1, "gold": tree, "pred": tree}] * 2))
    assert contents(open_predictions(path)) == contents(open_references(path)) == (["1", "1"], [tree, tree])


# ---------------------------------------------------------------------------------------------------
# Which column is what
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "side", "columns"),
    [
        ("qid,response", "prediction", {"question_id": "qid", "prediction": "response"}),
        ("ID,Prediction", "prediction", {"question_id": "ID", "prediction": "Prediction"}),
        ("question_id,QUESTION_ID,pred", "prediction", {"question_id": "question_id", "prediction": "pred"}),
        ("id,answer,prediction", "prediction", {"question_id": "id", "prediction": "prediction"}),
        ("id,answer,prediction", "answers", {"question_id": "id", "answers": "answer"}),
        ("id,answer,answers", "prediction", {"question_id": "id", "prediction": "answer"}),
        ("id,answer,answers", "answers", {"question_id": "id", "answers": "answers"}),
        ("prediction", "prediction", {"prediction": "prediction"}),
        ("id, Prediction", "prediction", {"question_id": "id", "prediction": " Prediction"}),
        ("index,prediction", "prediction", {"question_id": "index", "prediction": "prediction"}),
        ("id,gold,answer_type,docid", "answers", {"question_id": "id", "answers": "gold", "answer_type": "answer_type",
                                                  "document": "docid"}),
        ("index,question,answer", "answers", {"question_id": "index", "answers": "answer"}),
    ],
)  # fmt: skip
def test_columns_are_found(tmp_path: Path, header: str, side: str, columns: dict[str, str]) -> None:
    path = write(tmp_path / "t.csv", header + "\n")
    open_side = open_predictions if side == "prediction" else open_references
    assert open_side(path).detected.columns == columns


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("id,answers", "no column holds the predictions. .* in 'answers': is this the other file"),
        ("id,pred,response", "2 columns could hold the predictions: pred, response"),
        ("id,qid,pred", "2 columns could hold the question ids: id, qid"),
        ("ID,Id,pred", "2 columns could hold the question ids: ID, Id"),
        ("id,text", 'the columns are: id, text. To name the right one, pass columns={"prediction": "NAME"}'),
    ],
)
def test_columns_that_do_not_fit(tmp_path: Path, header: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        open_predictions(write(tmp_path / "t.csv", header + "\n"))


def test_columns_of_one_side(tmp_path: Path) -> None:
    """What is said of both files at once can be meant for one of them."""
    predictions, references = tmp_path / "predictions.csv", tmp_path / "references.csv"
    predictions.write_text("key,id,out\nk,1,x\n")
    references.write_text("id,answers\nk,y\n")
    names = {"predictions.question_id": "key", "predictions.prediction": "out", "references.answers": "answers"}
    assert contents(open_predictions(predictions, columns=names)) == (["k"], ["x"])
    assert contents(open_references(references, columns=names)) == (["k"], ["y"])
    both = names | {"question_id": "id"}
    assert contents(open_predictions(predictions, columns=both)) == (["k"], ["x"])
    with pytest.raises(FormatError, match=r"columns names 'answer'.*Did you mean 'answers'"):
        open_references(references, columns={"references.answer": "answers"})


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "qid,Key,out,gold,Language\n1,k,x,y,en\n")
    names = {"question_id": "key", "prediction": "out", "answers": "gold"}
    reader = open_predictions(path, columns=names, by=["language"])
    batch = next(reader.batches())
    assert (batch.question_ids, batch.values, dict(batch.columns)) == (["k"], ["x"], {"language": ["en"]})
    assert reader.detected.has_references
    assert contents(open_references(path, columns=names)) == (["k"], ["y"])
    with pytest.raises(FormatError, match=r"no column 'nothing', named as prediction\. .*: qid, Key, out, gold"):
        open_predictions(path, columns={"prediction": "nothing"})
    with pytest.raises(FormatError, match="expected the roles question_id, prediction, answers"):
        open_predictions(path, columns={"predictions": "out"})
    assert open_predictions(path, columns={**names, "document": "nothing"}, by="Language").detected.format == "csv"
    with pytest.raises(FormatError, match="no column 'nothing', named as document"):
        open_references(path, columns={**names, "document": "nothing"})
    with pytest.raises(FormatError, match="no column 'nothing', named as by"):
        open_references(path, by=["nothing"])


def test_format_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", "id\tpred\n1\tx\n")
    assert contents(open_predictions(path, format="tsv")) == (["1"], ["x"])
    with pytest.raises(FormatError, match=r"unknown format 'jsonlines'\. Expected one of json, jsonl, csv"):
        open_predictions(path, format="jsonlines")
    with pytest.raises(FormatError, match="not a readable Parquet file"):
        open_predictions(path, format="parquet")
    assert {"rrc", "dude", "squad", "csv", "parquet", "hub", "vlmevalkit", "lm_eval", "lmms_eval"} <= FORMATS.keys()


def test_a_key_that_is_absent(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", '{"id": 1, "pred": "x"}\n\n{"id": 2}\n')
    with pytest.raises(FormatError, match=r"line 3: 'pred', which holds the prediction in other rows, is missing"):
        contents(open_predictions(path))
    path = write(tmp_path / "p.json", '{"data": [{"id": 1, "pred": "x"}, {"pred": "x"}]}')
    with pytest.raises(FormatError, match=r"data\[1\]: the row has no question id"):
        contents(open_predictions(path))
    rows = [{"id": 1, "gold": "x", "kind": "a"}, {"id": 2, "gold": "x"}]
    reader = open_references(write(tmp_path / "r.json", json.dumps(rows)), by=["kind"])
    assert next(reader.batches()).columns == {"kind": ["a", None]}


# ---------------------------------------------------------------------------------------------------
# Ids and answers
# ---------------------------------------------------------------------------------------------------


def test_r36_long_ids_are_exact(tmp_path: Path) -> None:
    report = next(row for line in (DATA / "reports.jsonl").read_text(encoding="utf-8").splitlines()
                  if (row := json.loads(line))["id"] == "R36")["input"]  # fmt: skip
    gold = contents(open_references(write(tmp_path / "gold.json", json.dumps(report["gold"]))))
    submission = contents(open_predictions(write(tmp_path / "s.json", json.dumps(report["submission"]))))
    expected = ["79697302777874380000000000000000000001", "79697302777874380000000000000000000002"]
    assert gold == (expected, [["red"], ["blue"]])
    assert submission == (expected, ["red", "blue"])


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.string(), pa.string_view(), pa.large_string(),
                                  pa.dictionary(pa.int32(), pa.string())])  # fmt: skip
def test_ids_of_arrow_types(tmp_path: Path, kind: pa.DataType) -> None:
    given = [1, 17] if pa.types.is_integer(kind) else ["1", "17"]
    table = pa.table({"id": pa.array(given, kind), "pred": ["x", "y"]})
    with pa.OSFile(str(tmp_path / "t"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert contents(open_predictions(tmp_path / "t")) == (["1", "17"], ["x", "y"])


@pytest.mark.parametrize("index", [pa.uint32(), pa.int8()], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_dictionaries_of_arrow_types(tmp_path: Path, kind: pa.DataType, index: pa.DataType) -> None:
    """Categories of pandas, and of polars, which writes views."""
    words = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], index), pa.array(["Oslo", "May"]).cast(kind))
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], index), pa.array(["1", "7", "9"]).cast(kind))
    lists = pa.ListArray.from_arrays([0, 1, 2, 3], words)
    table = pa.table(
        {"id": ids, "prediction": words, "answers": lists, "object": pa.StructArray.from_arrays([words], ["text"])}
    )
    for name, opened in ("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream):
        with opened(str(tmp_path / name), table.schema) as writer:
            writer.write_table(table)
        texts = ["May", None, "Oslo"]
        assert contents(open_predictions(tmp_path / name)) == (["1", "7", "9"], texts)
        assert contents(open_predictions(tmp_path / name, columns={"prediction": "object.text"}))[1] == texts
        assert contents(open_references(tmp_path / name))[1] == [["May"], [None], ["Oslo"]]


@pytest.mark.parametrize(
    ("id_", "problem"),
    [
        ("7.9e37", "question id 7.9e[+]37 is a floating-point number"),
        ("10285.0", "question id 10285.0 is a floating-point number"),
        ("true", "question id is True; expected text or an integer"),
        ("null", "the row has no question id"),
        ('""', "the row has no question id"),
        ("[1]", r"question id is \[1\]; expected text"),
    ],
)
def test_ids_that_are_none(tmp_path: Path, id_: str, problem: str) -> None:
    path = write(tmp_path / "p.json", f'[{{"id": 1, "pred": "x"}}, {{"id": {id_}, "pred": "y"}}]')
    with pytest.raises(FormatError, match=rf"p\.json, \[1\]: the .*{problem.removeprefix('the ')}"):
        contents(open_predictions(path))


def test_ids_of_parquet_that_are_none(tmp_path: Path) -> None:
    for ids, problem in [([1.0, 2.0], "row 0 .* floating-point"), (["1", None], "row 1 .* no question id")]:
        pq.write_table(pa.table({"id": ids, "pred": ["x", "y"]}), tmp_path / "t")
        with pytest.raises(FormatError, match=problem):
            contents(open_predictions(tmp_path / "t"))


def test_numbers_in_spreadsheets(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", xlsx_bytes([["id", "pred"], [10285, 0.28], [None, None], ["007", 12], [3, None]]))
    assert contents(open_predictions(path)) == (["10285", "007", "3"], [0.28, 12, ""])
    path = write(tmp_path / "t.xlsx", xlsx_bytes([["id", "pred"], [79697302777874380000000000000000000001, "x"]]))
    with pytest.raises(FormatError, match=r"row 2: the question id .* can lose digits"):
        contents(open_predictions(path))


# ---------------------------------------------------------------------------------------------------
# Files that are not what they should be
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"\xef\xbb\xbf\r\n", "the file is empty"),
        (b"\xff\xfe", "the file is empty"),
        (b"[]", "the list is empty"),
        (b"{}", "the object is empty"),
        (b'{"data": []}', "data: the list is empty"),
        (b"\xff\xfe" + '[{"id": 1}]'.encode("utf-16-le") + b"\0", r"not utf-16: truncated data\. Save it as UTF-8\.$"),
        (b"id,pred\n1,caf\xe9\n", r"line 2, byte 13: not UTF-8: the byte 0xe9 .* Latin-1, .*'1,café.*cp1252"),
        (b"[" + b" " * 4096 + b'{"id": 1, "pred": "a\nb\0c"}]', "line 2, column 2: .* a NUL character, .* damaged"),
        (b'{"id": 1, "pred": "a\0\0\0\0, "pred": "x"}\n', "neither text"),
        (b'{"id": 1, "pred": "a"}\n' * 999 + b'{"id": 1, "pr\0\0d": "a"}', "line 1000, column 14: .* a NUL character"),
        (b'{"id": 1, "pred": "a"}\n' * 999 + b'\0\0d": "a"}', "line 1000, column 1: .* a NUL character"),
        (b'[{"id": 1,\n "pred": "caf\xe9"}]', "line 2, byte 24: not UTF-8: the byte 0xe9"),
        (b'{"id":1,"pred":"x"}\n{"id":2,"pred":"\xc3', "line 2, byte 36: not UTF-8: .*truncated inside a character"),
        (b'[{"id": 1, "pred": "x"},\n {"id": 2, "pr', "line 2, column 12: not JSON: Unterminated string.*truncated"),
        (b'[{"id": 1, "pred": "x"},\n', "line 2, column 1: not JSON: Expecting value.*truncated"),
        (b'{"id": 1, "pred": "x"}\n{"id": 2, "pred"\n', "line 2, column 17: not JSON: Expecting ':' delimiter"),
        (b'{"id": 1, "pred" "x"}\n{"id": 2, "pred": "x"}\n', "line 1, column 18: not JSON: Expecting ':'"),
        (b'[\n // mine\n {"id": 1, "pred": "x"}]', "line 2, column 2: not JSON: a comment. JSON has none"),
        (b'[{"id": 1, "pred": "x"},\n# mine\n {"id": 2, "pred": "x"}]', "line 2, column 1: not JSON: a comment"),
        (b'[{"id": 1, "pred": "x"},\n]', "not JSON: a comma before the closing bracket. Remove it"),
        (b'[{"id": 1, "pred": "x",}\n]', "not JSON: a comma before the closing bracket. Remove it"),
        (b"[{'id': 1, 'pred': 'x'}]", "line 1, column 3: not JSON: a value as Python prints it. .*json.dump"),
        (b'[{"id": 1, "pred": None}]', "line 1, column 20: not JSON: a value as Python prints it"),
        (b'{"id": 1, "pred": "x"},\n{"id": 2, "pred": "x"}\n', "a comma after the value. Remove it from each line"),
        (b'{\n"id": 1,\n"pred": "x"\n}\n{\n"id": 2\n}', "line 5, column 1: not JSON: a second value .*jq -c"),
        (b'[{"id": 1, "pred": "x", "pred": "y"}]', "the key 'pred' twice"),
        (b'{"columns": ["id", "pred"], "index": [0], "data": [[1]]}', r"data\[0\]: \[1\]; expected .* each of the 2"),
        (b'{"columns": ["id", "id"], "index": [0], "data": [[1, 2]]}', "columns: two columns are named 'id'"),
        (b'{"columns": ["id", "pred"], "index": [], "data": []}', "data: the list is empty"),
        (b'{"columns": 1, "index": 2, "data": 3}', "columns and data are not lists"),
        (b'{"17": "x", "17": "y"}', "the key '17' twice, so one value would be lost"),
        (b'{"id": 1, "pred": "x"}\n{"id": 2, "id": 3, "pred": "x"}\n', "line 2: an object has the key 'id' twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'[{"id": ' + b"1" * 5000 + b', "pred": "x"}]', "too many digits to read. Write it as text"),
        (b'[{"id": 1, "pred": "x"}, "y"]', r"\[1\]: 'y' among objects"),
        (b'{"id": 1, "pred": "x"}\n"y"\n', "line 2: 'y', unlike the first line"),
        (b'"x"', "no column holds the predictions"),
        (b'{"id": [1, 2], "pred": ["x"]}', "neither a row nor columns of equal length. .*orient"),
        (b'{"id": {"0": 1}, "pred": {"1": "x"}}', "neither a row nor columns of equal length. .*orient"),
        (b'{"data": [{"paragraphs": [{"qas": 3}]}]}', r"data\[0\]\.paragraphs\[0\]: .*a list 'qas'"),
        (b'{"data": [{"paragraphs": []}]}', "no paragraph has a question"),
        (b"id,pred\n1,x\n2\n", r"line 3: 1 fields where the header has 2: \['2'\]. Quote"),
        (b"id,pred\n", "there are columns but no rows"),
        (b"id,pred\n1,x,y\n", r"line 2: 3 fields where the header has 2: .* \(in R: row\.names = FALSE\)"),
        (b"id,pred\n1,x\n2,x,y\n", "line 3: 3 fields where the header has 2: .* If the file ends here"),
        (b'id,pred\n1,"x\n\n2,y\n', "line 2: not a row of a table: the file ends within a quoted .* truncated"),
        (b'id,pred\n1,"x" y\n', "line 2: not a row of a table: .*double the quotes inside"),
        (b"id,pred\n1,x\ry\n2,y\n", "line 2: not a row of a table: a carriage return .* in a field without quotes"),
        (b"id,pred,pred\n1,x,y\n", "line 1: two columns are named 'pred'"),
        (b"id,pred\n,x\n", "line 2: the row has no question id"),
        (b"PAR1 and then nothing", "not a readable Parquet file"),
        (b"ARROW1\0\0", "not a readable Arrow file"),
        (b"PK\x03\x04 and then nothing", "not a readable zip file or spreadsheet: .*truncated or damaged: write or"),
        (b"\x80\x04\x95", "a Python pickle, .*; supported: json, jsonl"),
        (b"\xd0\xcf\x11\xe0", "an old Excel file"),
        (b"FEA1", "Feather file of version 1"),
        (b"%PDF-1.7", "a PDF"),
        (b"\x7fELF\0\0", r"neither text \(it has a NUL in line 1\) nor a known binary format"),
        (b"id,pred\n1,x\0y\n", r"neither text \(it has a NUL in line 2\) nor a known binary format"),
        (b"id,pred\n" + b"1,x\n" * 2000 + bytes(9), "line 2002: a NUL character, which no text has. Write"),
        (b"<!DOCTYPE html>", "HTML or XML"),
        (b"PK\x05\x06" + bytes(18), "a zip file without files. Write it again"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "a pointer of Git LFS in place of the file. Fetch the file with `git lfs pull`",
        ),
        (b"<<<<<<< HEAD\n[]\n=======\n", "with the marks of a conflict, as git leaves them"),
        (b"BZh91AY", "compressed with bzip2"),
        (gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "compressed twice"),
        (
            gzip.compress(b"id,pred\n" * 1000, mtime=0)[:-20],
            "after .* bytes: cannot be read further: .*truncated or damaged",
        ),
        (b"\x1f\x8b\x08", "cannot be read further"),
        (b"\x28\xb5\x2f\xfd\xff", "cannot be read further"),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else "",
)  # fmt: skip
def test_malformed(tmp_path: Path, content: bytes, problem: str) -> None:
    path = write(tmp_path / "file", content)
    with pytest.raises(FormatError, match=problem) as caught:
        contents(open_predictions(path))
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("kind", [*BOTH_SIDES, "gzip", "zstd", "zip"])
def test_storage_that_fails(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no fault of the file, which would be the same when downloaded again."""
    content = BOTH_SIDES.get(kind, BOTH_SIDES["jsonl"])
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "file", "w") as archive:
            archive.writestr("rows.jsonl", content)
    else:
        is_packed = kind in ("gzip", "zstd")
        write(tmp_path / "file", pa.compress(content, codec=kind, asbytes=True) if is_packed else content)
    size = (tmp_path / "file").stat().st_size
    words = "cannot be read further: Input/output error. The disk or the network that holds the file failed. Try again"
    for place in 0, 1, size // 4, size // 2, size - 30, size - 1:
        with monkeypatch.context() as patched:
            fail_from(place, patched)
            with pytest.raises(FormatError) as caught:
                contents(open_predictions(tmp_path / "file"))
        assert re.sub(r", after \d+ bytes", "", str(caught.value)).startswith(f"{tmp_path}/file: {words}")


def test_the_error_survives_pickling() -> None:
    error = FormatError("p.csv", "wrong. Mend it.", "line 2")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.path, again.place) == ("p.csv, line 2: wrong. Mend it.", "p.csv", "line 2")


@pytest.mark.parametrize(
    ("name", "content", "container"),
    [
        ("t.tsv", "pred\nx\n", "tsv"),
        ("t.TSV.gz", "pred\nx\n", "tsv"),
        ("t.csv", "pred\nx\n", "csv"),
        ("t", "pred\tid\nx\t1\n", "tsv"),
        ("t.jsonl", '{"pred": "x"}\n', "jsonl"),
        ("t.json", '{"id": 1, "pred": "x"}\n', "json"),
        ("t.txt", '{"id": 1, "pred": "x"}\n{"id": 2, "pred": "x"}', "jsonl"),
        ("t.jsonl", '[\n{"id": 1, "pred": "x"}\n]', "json"),
    ],
)
def test_the_name_decides_only_what_the_content_leaves_open(
    tmp_path: Path, name: str, content: str, container: str
) -> None:
    data = gzip.compress(content.encode(), mtime=0) if name.endswith(".gz") else content
    reader = open_predictions(write(tmp_path / name, data))
    assert reader.detected.container == container
    assert set(contents(reader)[1]) == {"x"}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nothing.json", "cannot be opened: No such file"),
        ("nul\0in.json", "cannot be opened: embedded null"),
        ("/dev/null", "not a regular file"),
        ("n\udcff.csv", "the name of the file is not UTF-8. Rename it"),
        ("n\udcff/a.csv", "the name of a folder that it is in is not UTF-8. Rename it"),
        ("nothing:train", "cannot be opened"),
    ],
)
def test_no_file(path: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        open_predictions(path)


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl.gz", "x.feather", "x.zip"])
def test_an_empty_file_that_cannot_be_one(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the file is empty, which a file of this kind never is") as caught:
        open_predictions(write(tmp_path / name, b""))
    assert not isinstance(caught.value, NoRowsError)


def test_a_zip_file_that_is_no_spreadsheet(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
    with pytest.raises(FormatError, match="not a readable spreadsheet"):
        open_predictions(tmp_path / "z")


@pytest.mark.parametrize("separator", ["\t", ","])
def test_rows_that_a_stray_quote_joins(separator: str, tmp_path: Path) -> None:
    rows = ["id,prediction,answers", "1,Oslo,Oslo", '2,"Rome,Lima', "3,x,Paris", "4,y,Bern", '5,z",z"', "6,May,May"]
    path = write(tmp_path / "t.tsv", "\n".join(rows).replace(",", separator).encode())
    reader = open_predictions(path, separator=separator)
    assert sum(map(len, reader.batches())) == 3
    [note] = reader.notes
    assert note.startswith("predictions: line 6 ends a row of several lines, each with as many fields as the header. ")


def test_cells_of_several_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", b'id,prediction\n1,"Oslo\nNorway"\n\n2,"a, b\nc, d"\n')
    reader = open_predictions(path)
    assert [batch.values for batch in reader.batches()] == [["Oslo\nNorway", "a, b\nc, d"]]
    assert reader.notes == ()


def test_a_zip_file_that_lost_bytes_in_its_middle(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("p.jsonl", '{"prediction": "a"}\n' * 9)
    content = (tmp_path / "z").read_bytes()
    (tmp_path / "z").write_bytes(content[:50] + content[62:])
    with pytest.raises(FormatError, match="the list of what a zip archive holds begins before the archive: several"):
        open_predictions(tmp_path / "z")


def test_a_zip_file_within_a_compressed_one(tmp_path: Path) -> None:
    import gzip
    import zipfile

    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("p.jsonl", '{"prediction": "a"}')
    path = write(tmp_path / "p.jsonl.gz", gzip.compress((tmp_path / "z").read_bytes()))
    with pytest.raises(FormatError, match=r"a zip file that is no \.xlsx\. Unpack it, or save"):
        open_predictions(path)


def test_dates_in_spreadsheets(tmp_path: Path) -> None:
    import datetime

    cells: list[list[Any]] = [
        ["id", "pred", "when"],
        [1, "x", datetime.date(1988, 12, 15)],
        [2, datetime.date(1988, 12, 15), None],
    ]
    path = write(tmp_path / "t.xlsx", xlsx_bytes(cells))
    with pytest.raises(
        FormatError, match=r"row 3, column pred: the cell holds the date or time 1988-12-15.* as text and type"
    ):
        contents(open_predictions(path))


def test_spreadsheets_of_wrong_dimensions(tmp_path: Path) -> None:
    import zipfile

    with (
        zipfile.ZipFile(io.BytesIO(xlsx_bytes(SPREADSHEET))) as right,
        zipfile.ZipFile(tmp_path / "t.xlsx", "w") as wrong,
    ):
        for name in right.namelist():
            wrong.writestr(name, right.read(name).replace(b'<dimension ref="A1:C6"', b'<dimension ref="A1:A1"'))
    assert contents(open_predictions(tmp_path / "t.xlsx")) == (IDS, PREDICTIONS)


def test_missing_values_of_pandas(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", '{"id": 1, "pred": NaN}\n{"id": 2, "pred": {"a": [NaN]}}\n')
    assert contents(open_predictions(path)) == (["1", "2"], [None, {"a": [None]}])


def test_more_bytes_than_allowed(tmp_path: Path) -> None:
    bomb = write(tmp_path / "bomb", gzip.compress(b'[{"id": 1, "pred": "' + b" " * 10_000_000, mtime=0))
    with pytest.raises(FormatError, match="over the limit of 1,000,000 bytes after decompression"):
        open_predictions(bomb, max_bytes=1_000_000)
    for kind, content in BOTH_SIDES.items():
        path = write(tmp_path / "file", content)
        with pytest.raises(FormatError, match="over the limit of 50 bytes"):
            contents(open_predictions(path, max_bytes=50))
        assert contents(open_predictions(path, max_bytes=1_000_000)) == (IDS, PREDICTIONS), kind
    pq.write_table(pa.table({"id": range(300_000), "pred": ["same"] * 300_000}), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").stat().st_size < 2_000_000
    with pytest.raises(FormatError, match="over the limit of 2,000,000 bytes"):
        contents(open_predictions(tmp_path / "p.parquet", max_bytes=2_000_000))


def test_very_many_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(200_000)]
    for last, problem in ("d", "no column holds the predictions"), ("c7", "two columns are named 'c7'"):
        with pytest.raises(FormatError, match=problem):
            open_predictions(write(tmp_path / "wide.csv", ",".join([*names, last]) + "\n"))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.string_view(), pa.large_string(), pa.binary(), pa.binary_view()], ids=str
)
def test_a_short_file_that_says_one_long_text_very_often(tmp_path: Path, kind: pa.DataType) -> None:
    words = pa.array(["x" * 100_000]).cast(pa.binary() if "binary" in str(kind) else pa.string()).cast(kind)
    again = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), words)
    table = pa.table({"id": range(10_000), "pred": again, "gold": pa.ListArray.from_arrays(range(10_001), again)})
    if "view" not in str(kind):  # Parquet has none
        pq.write_table(table, tmp_path / "parquet", compression="zstd", dictionary_pagesize_limit=2**20)
    with pa.OSFile(str(tmp_path / "arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name in {"parquet", "arrow"} & {own.name for own in tmp_path.iterdir()}:
        for open_side in open_predictions, open_references:
            with pytest.raises(FormatError, match="over the limit of 10,000,000 bytes"):
                contents(open_side(tmp_path / name, max_bytes=10_000_000))


@pytest.mark.parametrize("nest", [lambda views: views, lambda views: pa.ListArray.from_arrays(range(5_001), views)])
def test_views_of_one_long_text(tmp_path: Path, nest: Any) -> None:
    text = b"x" * 100_000
    view = len(text).to_bytes(4, "little") + text[:4] + bytes(8)
    views = pa.Array.from_buffers(pa.string_view(), 5_000, [None, pa.py_buffer(view * 5_000), pa.py_buffer(text)])
    table = pa.table({"id": range(5_000), "pred": views, "gold": nest(views)})
    path = tmp_path / "arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for open_side in open_predictions, open_references:
        with pytest.raises(FormatError, match="over the limit of 10,000,000 bytes"):
            contents(open_side(path, max_bytes=10_000_000))


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_an_arrow_stream_with_a_batch_for_each_row(tmp_path: Path, kind: pa.DataType) -> None:
    """Small batches are read as one, since each costs as much as thousands of rows."""
    texts = [None, *(f"text {row}" for row in range(9))]
    rows = [pa.record_batch({"id": [row], "pred": pa.array([text], kind)}) for row, text in enumerate(texts)]
    rest = pa.Table.from_batches(rows[3:]).combine_chunks().to_batches()
    with pa.ipc.new_stream(tmp_path / "rows", rows[0].schema) as stream:
        for batch in *rows[:3], rows[0].slice(1), *rest:
            stream.write_batch(batch)
    for size, sizes in (1, [1] * 10), (2, [2, 1, 2, 2, 2, 1]), (4, [3, 4, 3]), (10, [10]):
        batches = list(open_predictions(tmp_path / "rows").batches(size))
        read = [len(batch) for batch in batches]
        assert read == sizes or kind == pa.string_view()  # which older versions of Arrow cannot join
        assert [batch.first_row for batch in batches] == [sum(read[:number]) for number in range(len(read))]
        assert [text for batch in batches for text in listed(batch.values)] == texts


def test_small_batches_of_long_texts_are_not_held(tmp_path: Path) -> None:
    row = pa.record_batch({"id": [1], "pred": ["x" * 10_000_000]})
    with pa.ipc.new_stream(tmp_path / "rows", row.schema) as stream:
        for _ in range(5):
            stream.write_batch(row)
    assert [len(batch) for batch in open_predictions(tmp_path / "rows").batches(10)] == [2, 2, 1]


@pytest.mark.parametrize(
    "column",
    [
        pa.RunEndEncodedArray.from_arrays([10**9], ["x"]),
        pa.StructArray.from_arrays([pa.RunEndEncodedArray.from_arrays([10**9], ["x"])], ["text"]),
        pa.ListViewArray.from_arrays([0] * 9, [1] * 9, ["x"]),
        pa.UnionArray.from_dense(pa.array([0] * 9, pa.int8()), pa.array([0] * 9, pa.int32()), [pa.array(["x"])]),
    ],
    ids=lambda column: str(column.type),
)
def test_types_that_say_anything_very_often(tmp_path: Path, column: pa.Array) -> None:
    path = tmp_path / "arrow"
    ids = pa.RunEndEncodedArray.from_arrays([len(column)], [1]) if len(column) > 9 else pa.array(range(9))
    batch = pa.record_batch({"id": ids, "pred": column})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(FormatError, match=r"the column '(id|pred)' is of the Arrow type .*\. Cast it to texts, lists"):
        contents(open_predictions(path))


MUTATED = {kind: content for kind, content in BOTH_SIDES.items() if "," not in kind or "stream" in kind} | {
    "gzip": gzip.compress(BOTH_SIDES["jsonl"], mtime=0),
    "zstd": pa.compress(BOTH_SIDES["csv"], codec="zstd", asbytes=True),
    "dude": (DATA / "formats" / "DUDE_demo_submission_perfect.json").read_bytes(),
    "submission": (DATA / "formats" / "evaluate_json_submission.json").read_bytes(),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "parquet", "arrow", "xlsx", "gzip", "zstd"])
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, kind: str) -> None:
    content = MUTATED[kind]
    for end in range(0, len(content) - 1, 1 + len(content) // 500):
        path = write(tmp_path / "cut", content[:end])
        with pytest.raises(FormatError, match=r"cut[:,] "):
            contents(open_predictions(path))


@pytest.mark.parametrize("kind", MUTATED)
@given(data=st.data())
@settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files_are_read_or_refused(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    content = bytearray(MUTATED[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        piece = data.draw(
            st.sampled_from([b"", b"\0", b'"', b"\n", b"{", b"[", b"\xff", b",", b"\\ud800", b"1e5", b"NaN"])
        )
        content[at : at + data.draw(st.sampled_from([0, 1, 5, len(content)]))] = piece
    path = write(tmp_path / "mutated", bytes(content))
    for open_side in open_predictions, open_references:
        try:
            contents(open_side(path, max_bytes=10_000_000), 2)
        except FormatError as error:
            assert str(error).startswith(str(path))  # noqa: PT017


# ---------------------------------------------------------------------------------------------------
# Constant memory
# ---------------------------------------------------------------------------------------------------


def test_rows_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    # The faults at the end come after the batches before them, so these were given without reading on.
    good = [{"id": number, "pred": "x" * 100} for number in range(50_000)]
    lines = write(tmp_path / "p.jsonl", json_lines(good) + "{")
    table = write(tmp_path / "p.csv", "id,pred\n" + "".join(f"{row['id']},{row['pred']}\n" for row in good) + "1\n")
    for path in lines, table:
        batches = open_predictions(path).batches(1000)
        assert [batch.first_row for batch, _ in zip(batches, range(49), strict=False)] == list(range(0, 49_000, 1000))
        with pytest.raises(FormatError, match=r"line 5000[12]"):
            list(batches)


@pytest.mark.parametrize("suffix", [".gz", ".zip"])
@pytest.mark.parametrize("at", [1, 20_000])
@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.json"])
def test_a_compressed_file_that_is_damaged_inside(name: str, at: int, suffix: str, tmp_path: Path) -> None:
    """Its rows are malformed before its checksum is read."""
    if name == "p.csv":
        text = "id,pred\n" + "".join(f"{row},answer {row}\n" for row in range(30_000))
        whole, damaged = f"{at},answer {at}\n".encode(), f"{at},answer {at},".encode()
    else:
        lines = [json.dumps({"id": row, "pred": f"answer {row}"}) for row in range(30_000)]
        text = "\n".join(lines) if name == "p.jsonl" else f"[{','.join(lines)}]"
        whole, damaged = f'"answer {at}"'.encode(), f'"answer {at}]'.encode()
    if suffix == ".gz":
        content = gzip.compress(text.encode(), 0, mtime=0)
    else:
        with zipfile.ZipFile(held := io.BytesIO(), "w") as archive:
            archive.writestr(name, text)
        content = held.getvalue()
    assert content.count(whole) == 1
    path = write(tmp_path / f"{name}{suffix}", content.replace(whole, damaged))
    with pytest.raises(FormatError, match=r"cannot be read further: .*truncated or damaged: download or compress it"):
        contents(open_predictions(path))


@pytest.mark.parametrize("name", ["p.csv.zip", "p.xlsx"])
def test_a_zip_archive_that_is_cut_off(name: str, tmp_path: Path) -> None:
    if name == "p.xlsx":
        sheet = openpyxl.Workbook()
        for row in (("id", "pred"), (1, "a"), (2, "b")):
            sheet.active.append(row)
        sheet.save(tmp_path / name)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("p.csv", "id,pred\n1,a\n2,b\n")
    os.truncate(tmp_path / name, (tmp_path / name).stat().st_size - 30)
    with pytest.raises(FormatError, match=r"It is truncated or damaged: write or download it again\.$"):
        contents(open_predictions(tmp_path / name))


def test_row_groups_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    table = pa.table({"id": range(4000), "pred": [f"{number} is the answer" for number in range(4000)]})
    pq.write_table(table, tmp_path / "p", row_group_size=1000, compression="none", use_dictionary=False)
    metadata = pq.ParquetFile(tmp_path / "p").metadata
    content = bytearray((tmp_path / "p").read_bytes())
    last = metadata.row_group(3).column(1)
    content[last.data_page_offset : last.data_page_offset + last.total_compressed_size] = (
        b"\xff" * last.total_compressed_size
    )
    batches = open_predictions(write(tmp_path / "damaged", bytes(content))).batches(1000)
    assert [next(batches).first_row for _ in range(3)] == [0, 1000, 2000]
    with pytest.raises(FormatError, match="not a readable Parquet file"):
        next(batches)


def test_arrow_stays_arrow(tmp_path: Path) -> None:
    path = write(tmp_path / "p", parquet_bytes())
    for open_side, kind in {open_predictions: pa.string(), open_references: pa.list_(pa.string())}.items():
        batch = next(open_side(path).batches())
        assert batch.question_ids.type == pa.large_string()
        assert batch.values.type == kind
    trees = pa.table({"id": ["a"], "pred": [{"total": "1", "items": [{"name": "pen"}]}]})
    pq.write_table(trees, path)
    assert contents(open_predictions(path)) == (["a"], [{"total": "1", "items": [{"name": "pen"}]}])


def test_categories_of_pandas(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([17, 3]).dictionary_encode(), "pred": pa.array(["x", None]).dictionary_encode()})
    pq.write_table(table, tmp_path / "p")
    with pa.OSFile(str(tmp_path / "a"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name in "p", "a":
        assert contents(open_predictions(tmp_path / name)) == (["17", "3"], ["x", None])
        assert next(open_predictions(tmp_path / name).batches()).values.type == pa.string()


def test_a_batch_has_rows(tmp_path: Path) -> None:
    reader = open_predictions(write(tmp_path / "p.json", BOTH_SIDES["json"]))
    with pytest.raises(ValueError, match="size=0: expected at least 1"):
        next(reader.batches(0))
    assert contents(reader) == contents(reader)


# ---------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------

RESULTS = pa.table(
    {
        "question_id": IDS,
        "prediction": [*PREDICTIONS[:4], None],
        "answers": ANSWERS,
        "score": [1.0, 0.875, 0.1 + 0.2, 1 / 3, 0.0],
    }
)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("has_dictionary", [True, False])
def test_checksums_of_parquet(version: str, has_dictionary: bool, tmp_path: Path) -> None:
    """A file can have one for each page: damage to a text is no other text, then."""
    path = tmp_path / "rows.parquet"
    table = pa.table({"question_id": ["1", "2"], "prediction": ["Lima", "Amarillo"]})
    options: dict[str, Any] = {"data_page_version": version, "use_dictionary": has_dictionary}
    pq.write_table(table, path, compression="none", write_statistics=False, write_page_checksum=True, **options)
    stored = path.read_bytes()
    assert stored.count(b"Amarillo") == 1
    path.write_bytes(stored.replace(b"Amarillo", b"Amarilla"))
    with pytest.raises(FormatError, match=r"CRC checksum verification failed.* It is truncated or damaged"):
        list(open_predictions(path).batches())


def test_a_damaged_arrow_file_gets_no_more_room_than_it_has_bytes(tmp_path: Path) -> None:
    table = pa.table({"id": ["1", "2"], "prediction": ["a", "b"]})
    with pa.ipc.new_stream(tmp_path / "p.arrow", table.schema) as stream:
        stream.write_table(table)
    whole = (tmp_path / "p.arrow").read_bytes()
    _, batch = pa.ipc.MessageReader.open_stream(whole)
    size = batch.body.size
    assert whole.count(size.to_bytes(8, "little")) >= 1
    damaged = whole.replace(size.to_bytes(8, "little"), (1 << 39).to_bytes(8, "little"))
    (tmp_path / "p.arrow").write_bytes(damaged)
    with pytest.raises(FormatError, match=r"not a readable Arrow file: .*truncated or damaged"):
        contents(open_predictions(tmp_path / "p.arrow"))


@pytest.mark.parametrize("name", ["r\udcff.parquet", "r\udcff.csv", "r\udcff.jsonl.gz"])
@pytest.mark.filterwarnings("ignore:.*1 texts begin like a formula")
def test_names_that_are_not_utf8_can_be_written(tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / name, RESULTS)
    (tmp_path / name).rename(tmp_path / name.replace("\udcff", ""))
    assert contents(open_references(tmp_path / name.replace("\udcff", ""))) == (IDS, ANSWERS)


@pytest.mark.parametrize(
    "name", ["r.parquet", "r.csv", "r.jsonl", "r.csv.gz", "r.jsonl.gz", "r.csv.zst", "r.jsonl.zst"]
)
@pytest.mark.filterwarnings("ignore:.*1 texts begin like a formula")
def test_what_is_written_can_be_read(tmp_path: Path, name: str) -> None:
    write_rows(tmp_path / name, RESULTS)
    write_rows(tmp_path / f"again_{name}", iter(RESULTS.to_batches(2)))
    for path in tmp_path / name, tmp_path / f"again_{name}":
        missing = "" if "csv" in name else None
        predictions = open_predictions(path, by=["score"])
        assert contents(predictions) == (IDS, [*PREDICTIONS[:4], missing])
        assert contents(open_references(path)) == (IDS, ANSWERS)
        scores = [float(score) for score in listed(next(predictions.batches()).columns["score"])]
        assert scores == RESULTS["score"].to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, f"again_{name}"])


def test_no_rows_are_still_columns(tmp_path: Path) -> None:
    for name in "r.parquet", "r.csv":
        write_rows(tmp_path / name, RESULTS.slice(0, 0))
        assert open_predictions(tmp_path / name).detected.columns["question_id"] == "question_id"
    with pytest.raises(FormatError, match="neither rows nor columns to write"):
        write_rows(tmp_path / "r.csv", iter(()))


def failing() -> Iterator[pa.RecordBatch]:
    yield from RESULTS.to_batches()
    raise RuntimeError("while scoring")


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.jsonl"])
def test_an_error_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, "what was there")
    with pytest.raises(RuntimeError, match="while scoring"):
        write_rows(tmp_path / name, failing())
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "what was there"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.json", "rows.jsonl"])
def test_several_byte_order_marks(tmp_path: Path, name: str, encoding: str) -> None:
    """Of tools that each add one."""
    texts = {
        "rows.csv": csv_text(","),
        "rows.tsv": csv_text("\t"),
        "rows.json": json.dumps(ROWS),
        "rows.jsonl": json_lines(ROWS),
    }
    (tmp_path / name).write_bytes(("\ufeff\ufeff" + texts[name]).encode(encoding))
    assert contents(open_predictions(tmp_path / name)) == (IDS, PREDICTIONS)


def interrupted(rows: int) -> Iterator[pa.RecordBatch]:
    yield RESULTS.to_batches()[0].slice(0, rows)
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.jsonl", "r.csv.gz"])
@pytest.mark.parametrize(("rows", "is_wanted"), [(0, True), (2, True), (2, False)])
def test_what_is_kept_of_an_interrupted_file(tmp_path: Path, name: str, rows: int, is_wanted: bool) -> None:
    """Rows, if they are wanted; never an empty file that is said to hold what was written."""
    write(tmp_path / name, "what was there")
    partial = tmp_path / name.replace("r.", "r.partial.")
    words = f"what was written before is kept in {partial}" if rows and is_wanted else ""
    with pytest.raises(KeyboardInterrupt, match=f"^{words}$"):
        write_rows(tmp_path / name, interrupted(rows), keep_interrupted=is_wanted)
    assert (tmp_path / name).read_text() == "what was there"
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / name, *([partial] if words else [])])
    if words:
        assert sum(map(len, open_predictions(partial).batches())) == rows


@pytest.mark.parametrize("name", ["r.txt", "r", "r.parquet.gz", "r.gz"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=r"expected a name ending in \.parquet, \.csv or \.jsonl"):
        write_rows(tmp_path / name, RESULTS)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_rows(tmp_path / "no" / "r.csv", RESULTS)
    write(tmp_path / "file", "")
    with pytest.raises(OutputError, match="cannot be written"):
        write_rows(tmp_path / "file" / "r.csv", RESULTS)


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.jsonl.gz"])
def test_a_folder_that_is_removed_meanwhile(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    def removing() -> Iterator[pa.RecordBatch]:
        yield from RESULTS.to_batches()
        shutil.rmtree(folder)
        yield from RESULTS.to_batches()

    with pytest.raises(OutputError, match=rf"^{folder / name}: cannot be written: No such file or directory\.$"):
        write_rows(folder / name, removing())
    assert not folder.exists()


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.csv.zst", "r.jsonl", "r.jsonl.gz", "r.jsonl.zst"])
def test_rows_that_are_kept_are_whole(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Ctrl-C comes as some of them are written."""
    texts = [random.Random(number).randbytes(300).hex() for number in range(3000)]  # noqa: S311
    batches = pa.table({"id": range(3000), "pred": texts}).to_batches(1000)
    written = 0

    def write(file: CountedFile, data: Any, write: Any = CountedFile.write) -> int:
        nonlocal written
        if written < 700_000 <= written + len(data):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # in which Python would handle it
        written += len(data)
        return int(write(file, data))

    monkeypatch.setattr(CountedFile, "write", write)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match="is kept in"):
            write_rows(tmp_path / name, batches, keep_interrupted=True)
    finally:
        signal.signal(signal.SIGINT, before)
    ids, values = contents(open_predictions(tmp_path / name.replace("r.", "r.partial.")))
    assert len(values) in (1000, 2000, 3000)
    assert (ids, values) == (list(map(str, range(len(values)))), texts[: len(values)])


def test_a_file_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power loss can leave an empty file under the final name."""
    sizes = []

    def fsync(number: int, fsync: Callable[[int], None] = os.fsync) -> None:
        fsync(number)
        sizes.append(os.fstat(number).st_size)
        assert len(list(tmp_path.glob("[!.]*"))) < len(sizes)

    monkeypatch.setattr("os.fsync", fsync)
    with whole_file(tmp_path / "a") as unfinished:
        unfinished.write_text("whole")
    write_rows(tmp_path / "rows.csv", pa.table({"a": ["b"]}))
    assert sizes == [len("whole"), (tmp_path / "rows.csv").stat().st_size]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "rows.csv"]


def test_a_missing_answer_is_an_empty_text(tmp_path: Path) -> None:
    """As `check_submission` says: a portal refuses null."""
    path = write(tmp_path / "run.jsonl", '{"id": 1, "prediction": "a"}\n{"id": 2}\n')
    with pytest.raises(FormatError, match=r'line 2: .* is missing\. Write "" where no answer was given\.$'):
        contents(open_predictions(path))
