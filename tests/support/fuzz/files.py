"""The real files that the fuzzer damages, in every container and layout."""

import functools
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from places import DATA, EXAMPLES
from pyarrow import csv, feather

ROWS = 12  # of a file: enough for batches, groups and ties, and few enough for many inputs a second


@functools.cache
def pairs() -> dict[str, tuple[bytes, bytes]]:
    """By format, the predictions and the references of a submission that can be scored."""
    gold = json.loads((EXAMPLES / "docvqa" / "references.json").read_text(encoding="utf-8"))["data"][:ROWS]
    run = json.loads((EXAMPLES / "docvqa" / "pred_qwen2_vl_7b.json").read_text(encoding="utf-8"))
    run = [{**row, "confidence": 0.5} for row in run if row["questionId"] in {row["questionId"] for row in gold}]
    found = {"rrc": (_json(run), _json({"dataset_name": "docvqa", "data": gold})), "jsonl": (_lines(run), _lines(gold))}
    for kind in _TABLES:
        found[kind] = WRITERS[kind](run), WRITERS[kind](gold)
    found["values"] = (
        _json({row["questionId"]: row["answer"] for row in run}),
        _json({row["questionId"]: row["answers"] for row in gold}),
    )
    found["squad"] = (
        _json({str(row["questionId"]): row["answer"] for row in run}),
        _json({"data": [{"title": "t", "paragraphs": [{"context": "", "qas": [_squad(row) for row in gold]}]}]}),
    )
    samples = [
        {"doc_id": n, "doc": g, "target": str(g["answers"]), "filtered_resps": [p["answer"]], "resps": [[p["answer"]]]}
        for n, (g, p) in enumerate(zip(gold, run, strict=True))
    ]
    found["lm_eval"] = _lines(samples), _lines(samples)
    table = [
        {"index": n, "question": "q", "answer": str(g["answers"]), "prediction": p["answer"]}
        for n, (g, p) in enumerate(zip(gold, run, strict=True))
    ]
    found["vlmevalkit"] = WRITERS["xlsx"](table), WRITERS["tsv"](table)
    for own in "perfect", "imperfect":
        submission, gold_file = (
            EXAMPLES / "dude" / f"DUDE_demo_submission_{own}.json",
            EXAMPLES / "dude/DUDE_demo_gt.json",
        )
        found[f"dude {own}"] = submission.read_bytes(), gold_file.read_bytes()
    rrc = "formats", "evaluate_json_submission.json", "evaluate_json_gold_label.json"
    found["fixtures"] = _file(*rrc[:2]), _file(rrc[0], rrc[2])
    long = [json.loads(line) for line in _file("mmlongbench", "samples.jsonl").splitlines()][:ROWS]
    found["mmlongbench"] = _json(long), _json(long)
    ocr = json.loads(gzip.decompress(_file("formats", "OCRBench.json.gz")))[:ROWS]
    found["ocrbench"] = _json(ocr), _json(ocr)
    invoices = [json.loads(line) for line in _file("documents", "invoices.jsonl").splitlines()][:6]
    trees = (
        [{"id": n, "prediction": row["pred"]} for n, row in enumerate(invoices)],
        [{"id": n, "answers": row["gold"]} for n, row in enumerate(invoices)],
    )
    found["trees"] = _lines(trees[0]), _lines(trees[1])
    found["gzip"] = gzip.compress(found["rrc"][0]), gzip.compress(found["jsonl"][1])
    found["utf-16"] = found["rrc"][0].decode().encode("utf-16"), found["csv"][1].decode().encode("utf-32")
    found["zip"] = _zipped("a.json", found["rrc"][0]), _zipped("b.csv", found["csv"][1])
    predictions, references = (side.replace(b"\n", b"\r") for side in found["csv"])
    found["returns"] = predictions, references
    printed = [{**row, "answers": str(row["answers"])} for row in gold]
    found["printed"] = found["rrc"][0], _lines(printed)
    both = {"prediction": [row["answer"] for row in run], "references": [row["answers"] for row in gold]}
    found["two lists"] = _json(both), _json(both)
    by_index = {name: dict(enumerate(own)) for name, own in both.items()}
    found["pandas"] = _json(by_index), _json(by_index)
    by_id = {g["questionId"]: {"pred": p["answer"], "gold": g["answers"]} for g, p in zip(gold, run, strict=True)}
    found["by id"] = _json(by_id), _json(by_id)
    logged = [{**row, "filter": name} for name in ("none", "get-answer") for row in samples]
    found["filters"] = _lines(logged), _lines(logged)
    found["due"] = (
        _lines([_due(p["questionId"], [p["answer"]]) for p in run]),
        _lines([_due(g["questionId"], g["answers"]) for g in gold]),
    )
    found["zstd"] = tuple(pa.compress(side, codec="zstd", asbytes=True) for side in found["csv"])
    return found


def _zipped(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        archive.writestr(f"__MACOSX/._{name}", b"")
    return stream.getvalue()


def _due(name: object, answers: list[str]) -> dict[str, Any]:
    values = [{"value": answers[0], "value_variants": answers}]
    return {"name": str(name), "annotations": [{"id": "0", "key": "q", "values": values}]}


@functools.cache
def large() -> tuple[bytes, ...]:
    """Whole real files, of up to 100 kB."""
    paths = sorted((EXAMPLES / "docvqa").glob("*.json")) + sorted((DATA / "formats").glob("*.json*"))
    return tuple(path.read_bytes()[:100_000] for path in paths)


def _file(folder: str, name: str) -> bytes:
    return (DATA / folder / name).read_bytes()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def _lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _squad(row: dict[str, Any]) -> dict[str, Any]:
    answers = [{"text": own, "answer_start": 0} for own in row["answers"]]
    return {"id": str(row["questionId"]), "question": "q", "answers": answers}


def _text_cells(rows: list[Any]) -> list[dict[str, str]]:
    return [{key: own if isinstance(own, str) else json.dumps(own) for key, own in row.items()} for row in rows]


def _csv(rows: list[Any], delimiter: str) -> bytes:
    sink = io.BytesIO()
    csv.write_csv(pa.Table.from_pylist(_text_cells(rows)), sink, csv.WriteOptions(delimiter=delimiter))
    return sink.getvalue()


def _xlsx(rows: list[Any]) -> bytes:
    book, sink = openpyxl.Workbook(), io.BytesIO()
    assert book.active
    cells = _text_cells(rows)
    for row in [list(cells[0]), *(list(own.values()) for own in cells)]:
        book.active.append(row)
    for row in book.active.iter_rows():
        for cell in row:
            cell.data_type = "s" if cell.data_type == "f" else cell.data_type  # the text "=1+1" is no formula
    book.save(sink)
    return sink.getvalue()


def _parquet(rows: list[Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def _arrow(rows: list[Any], new: Any) -> bytes:
    sink, table = io.BytesIO(), pa.Table.from_pylist(rows)
    with new(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _feather(rows: list[Any]) -> bytes:
    sink = io.BytesIO()
    feather.write_feather(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


WRITERS: dict[str, Callable[[list[Any]], bytes]] = {
    "csv": lambda rows: _csv(rows, ","),
    "tsv": lambda rows: _csv(rows, "\t"),
    "xlsx": _xlsx,
    "parquet": _parquet,
    "arrow": lambda rows: _arrow(rows, pa.ipc.new_file),
    "stream": lambda rows: _arrow(rows, pa.ipc.new_stream),
    "feather": _feather,
    "json": _json,
    "jsonl": _lines,
}
"""By format, what writes rows."""
_TABLES = "csv", "tsv", "xlsx", "parquet", "arrow", "stream", "feather"
