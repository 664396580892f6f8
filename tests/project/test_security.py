"""The threats of docs/security.md, one test for each: who sends a file or a text must not get more than a score."""

import ast
import contextlib
import csv
import datetime
import gzip
import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import html_document
import pyarrow as pa
import pytest
from places import ROOT

from anls_eval.files import FormatError, open_predictions, open_references, write_rows
from anls_eval.report import read_system
from anls_eval.report.content import collect
from anls_eval.report.ranking import write_leaderboard
from anls_eval.report.render import render
from anls_eval.scoring import anls_score
from anls_eval.statistics import rank_systems
from anls_eval.text.visible import escaped

SOURCES = [ROOT / "anls.py", ROOT / "app.py", *sorted((ROOT / "anls_eval").rglob("*.py"))]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---------------------------------------------------------------------------------------------------
# Code
# ---------------------------------------------------------------------------------------------------

RUNS_CODE = {"eval", "exec", "compile", "__import__", "load_module"}
RUNS_CODE_OF = {"pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "subprocess"}
RUNS_A_CONSTANT = {"anls_eval/cluster/workers.py": {"subprocess"}}  # whether a process may start enough threads


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_executes_what_it_reads(path: Path) -> None:
    """No eval, exec, pickle, yaml.load or shell; `ast.literal_eval` reads literals only, of bounded length."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in RUNS_CODE, node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = ast.unparse(node.func)
            assert called not in ("yaml.load", "yaml.full_load", "yaml.unsafe_load", "os.system", "os.popen"), (
                node.lineno
            )
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [own.name for own in node.names]
            found = RUNS_CODE_OF & {name.partition(".")[0] for name in names}
            assert found <= RUNS_A_CONSTANT.get(path.relative_to(ROOT).as_posix(), set()), node.lineno


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_refused(tmp_path: Path, protocol: int) -> None:
    import pickle

    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "owned"),)

    path = write(tmp_path / "p.json", pickle.dumps(Trap(), protocol))
    with pytest.raises(FormatError, match="a Python pickle, which can run any code"):
        open_predictions(path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("answer", ["__import__('os').mkdir('owned')", "[__import__('os').mkdir('owned')]"])
def test_text_that_is_code_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    from anls_eval.leaderboards import leaderboard_score

    monkeypatch.chdir(tmp_path)
    assert leaderboard_score(answer, ["x"], protocol="mmlongbench", answer_type="Str") == 0
    assert leaderboard_score(answer, ["x"], protocol="mmlongbench", answer_type="List") == 0
    assert not (tmp_path / "owned").exists()


# ---------------------------------------------------------------------------------------------------
# Bombs
# ---------------------------------------------------------------------------------------------------

EXPAND = """
import resource, sys
from anls_eval.files import FormatError, open_predictions
try:
    for batch in open_predictions(sys.argv[1]).batches():
        pass
except FormatError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_gzip_bomb(tmp_path: Path) -> None:
    """A file of 1 MB that expands to 1 GB is refused once it expanded to a quarter of that."""
    bomb = tmp_path / "bomb.json.gz"
    megabyte = gzip.compress(b"a" * 1_000_000)
    bomb.write_bytes(gzip.compress(b'[{"id": 1, "prediction": "') + megabyte * 1000)
    command = [sys.executable, "-c", EXPAND, str(bomb)]
    message, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.search(r"its [\d,]+ bytes expand to more than 268,435,456, over 100 times as many", message)
    assert int(megabytes) < 1500


def test_zip_bomb(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/workbook.xml", "w") as part:
        for _ in range(300):
            part.write(b" " * 1_000_000)
    with pytest.raises(FormatError, match="expand to more than 268,435,456, over 100 times as many"):
        open_predictions(bomb)


def test_a_file_that_expands_well_is_no_bomb(tmp_path: Path) -> None:
    rows = "".join(f'{{"id": {number}, "prediction": "yes"}}\n' for number in range(200_000))
    path = write(tmp_path / "p.jsonl.gz", gzip.compress(rows.encode()))
    assert sum(map(len, open_predictions(path).batches())) == 200_000


def test_xml_entities_expand_to_nothing(tmp_path: Path) -> None:
    """A billion laughs in a spreadsheet, and an entity that would read a file."""
    import openpyxl

    book = openpyxl.Workbook()
    assert book.active
    book.active.append(["id", "prediction"])
    book.active.append([1, "Lima"])
    book.save(tmp_path / "whole.xlsx")
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    for kind in (f'<!ENTITY l0 "lol">{levels}', f'<!ENTITY l9 SYSTEM "file://{write(tmp_path / "secret", "hidden")}">'):
        with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(tmp_path / "p.xlsx", "w") as changed:
            for name in whole.namelist():
                content = whole.read(name)
                if name == "xl/worksheets/sheet1.xml":
                    content = f"<!DOCTYPE x [{kind}]>".encode() + content.replace(b"<v>1</v>", b"<v>&l9;</v>")
                changed.writestr(name, content)
        started = time.process_time()
        try:
            found = [value for batch in open_predictions(tmp_path / "p.xlsx").batches() for value in batch.question_ids]
        except FormatError as error:
            found = [str(error)]
        assert time.process_time() - started < 10
        assert "hidden" not in str(found)
        assert len(str(found)) < 1000


# ---------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------


def test_names_in_an_archive_are_no_paths(tmp_path: Path) -> None:
    """A spreadsheet is read in memory: nothing in it is unpacked anywhere."""
    path = tmp_path / "inside" / "p.xlsx"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
        archive.writestr("../escaped", "x")
        archive.writestr(str(tmp_path / "absolute"), "x")
    with pytest.raises(FormatError, match="not a readable spreadsheet"):
        open_predictions(path)
    assert [own.name for own in tmp_path.iterdir()] == ["inside"]


@pytest.mark.parametrize("name", ["../../escaped", "/etc/passwd", "a/../../b", "..", "x\0y"])
def test_ids_and_names_in_a_file_make_no_paths(tmp_path: Path, name: str) -> None:
    from anls_eval.report.hub import write_eval_result
    from anls_eval.submission.score import score_submission

    rows = write(tmp_path / "both.json", json.dumps([{"id": name, "prediction": name, "answers": [name]}]))
    result = score_submission(open_predictions(rows), open_references(rows), per_question=tmp_path / "rows.csv")
    assert result.score == 1
    folder = tmp_path / "model"
    path = write_eval_result(folder, result, dataset_id="owner/name", task_id=name)
    assert path.resolve().parent == (folder / ".eval_results").resolve()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.json", "model", "rows.csv"]


def test_a_symlink_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    """Whoever can put a link where a result is written must not choose which file it overwrites, or who may write."""
    target, link = write(tmp_path / "target", "precious"), tmp_path / "rows.csv"
    target.chmod(0o666)
    link.symlink_to(target)
    write_rows(link, pa.table({"question_id": ["1"]}))
    assert target.read_text() == "precious"
    assert not link.is_symlink()
    assert not link.stat().st_mode & 0o022


def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "loop"):
        with pytest.raises(FormatError, match=r"not a regular file|cannot be opened"):
            open_predictions(path)


def test_no_address_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is a path. Only `hub:` asks the network, and it is written by the user of the command line."""
    import socket

    def refuse(*_: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(tmp_path)
    for address in ("http://127.0.0.1/p.json", "https://a.b/p.json", "file:///etc/passwd", "s3://b/p", "//host/share"):
        with pytest.raises(FormatError):
            open_predictions(address)
    link = write(tmp_path / "p.json", '[{"id": 1, "prediction": "http://127.0.0.1/", "image": "http://127.0.0.1/"}]')
    assert [batch.values for batch in open_predictions(link).batches()] == [["http://127.0.0.1/"]]


# ---------------------------------------------------------------------------------------------------
# What others read: tables, terminals, browsers
# ---------------------------------------------------------------------------------------------------

FORMULAS = ['=HYPERLINK("http://a.b","x")', "@SUM(A1)", "+cmd|' /C calc'!A0", "-1+cmd|' /C calc'!A0", "\t=1", "\r=1"]
NO_FORMULAS = ["-5", "+5", "-5.2", "-5%", "5=5", "a", "", " =1", "+1 555 0100"]


def test_formulas_in_rows_are_told_and_kept(tmp_path: Path) -> None:
    """A result by question stays what was scored, so that it can be checked; the warning counts the formulas."""
    texts = [*FORMULAS, *NO_FORMULAS]
    with pytest.warns(UserWarning, match=f"{len(FORMULAS)} texts begin like a formula"):
        write_rows(tmp_path / "rows.csv", pa.table({"prediction": texts}))
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["prediction"] for row in csv.DictReader(stream)] == texts
    write_rows(tmp_path / "rows.csv", pa.table({"prediction": NO_FORMULAS}))
    write_rows(tmp_path / "rows.parquet", pa.table({"prediction": texts}))


@pytest.mark.parametrize("name", FORMULAS)
def test_names_in_a_leaderboard_are_no_formulas(tmp_path: Path, name: str) -> None:
    """Names of systems are names of files, which other people chose, and a leaderboard is made to be looked at."""
    ranking = rank_systems({name: [1.0, 0.5, 0.0], "b": [0.0, 0.0, 0.5]})
    write_leaderboard(tmp_path / "board.csv", ranking, {}, "signature")
    with (tmp_path / "board.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["system"] for row in csv.DictReader(stream)] == [f"'{name}", "b"]


SEQUENCES = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\rb",
    "a\bb",
    "\u202eabc",
    "\u2066abc",
    "\x1b]8;;http://a.b\x07x",
]


def shown(arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    from anls_eval.cli import commands as cli

    monkeypatch.setattr("sys.argv", ["anls", *arguments])
    with pytest.raises(SystemExit):
        cli.main()
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("text", SEQUENCES)
def test_a_terminal_shows_what_it_would_obey(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ids, answers, groups, names of files and columns; in results, notes and errors."""
    row = {"id": text, "prediction": text, "answers": [text], "group": text, text: text}
    both = write(tmp_path / f"{text.replace('/', '')}.json", json.dumps([row]))
    other = write(tmp_path / "other.json", json.dumps([{**row, "id": f"other {text}"}]))
    for arguments in (
        ["score", str(both), "--by", "group"],
        ["score", str(both), "--by", text],
        ["score", str(both), "--by", "group", "--json"],
        ["score", str(both), "--by", f"{text}?"],
        ["score", str(both), "-r", str(other)],
        ["check", str(both)],
        ["check", str(both), "-r", str(other)],
        ["check", str(both), "-r", str(other), "--json"],
        ["compare", str(both), str(other), "-r", str(other), "--missing", "zero", "--unknown", "ignore"],
        ["leaderboard", str(tmp_path), "-r", str(other), "--out", str(tmp_path / "x.md")],
        ["explain", f"{text}y", f"{text}x"],
        ["diagnose", str(both), "-r", str(both), "--reported", "1"],
    ):
        printed = shown(arguments, capsys, monkeypatch)
        assert printed
        assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", printed), arguments
    assert escaped(text) in shown(["score", str(both), "--by", "group"], capsys, monkeypatch)


@pytest.mark.parametrize("text", ["[bold]x[/bold]", "[/x]", "[link=http://a.b]x[/link]", "\\[x]"])
def test_brackets_are_no_markup(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"id": text, "prediction": text, "answers": [text], "group": text}
    both = write(tmp_path / "both.json", json.dumps([row]))
    assert text in shown(["score", str(both), "--by", "group"], capsys, monkeypatch)


def test_json_that_is_printed_stays_the_same_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (*SEQUENCES, "\ud800", "é👍\u2028"):
        both = write(tmp_path / "p.json", json.dumps([{"id": 1, "prediction": text, "answers": ["x" + text]}]))
        monkeypatch.setattr("sys.stderr", io.StringIO())
        printed = json.loads(shown(["check", str(both), "--json"], capsys, monkeypatch))
        assert all(text in own["found"] or repr(text)[1:-1] in own["found"] for own in printed["problems"])


HTML = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script>",
    "' onload='x",
    "{{7*7}}",
    "javascript:x",
]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("text", HTML)
def test_html_of_a_text_is_text(tmp_path: Path, text: str) -> None:
    """In a report and in a leaderboard: no element, attribute or template more than without it."""
    pages = []
    for own in (text, "harmless"):
        row = {"id": own, "prediction": f"{own} a", "answers": [own], "group": own}
        both = write(tmp_path / "both.json", json.dumps([row]))
        system = read_system(open_predictions(both), open_references(both), name=own, by=("group",))
        board = tmp_path / "board.html"
        write_leaderboard(board, rank_systems({own: [1.0, 0.5], "b": [0.0, 0.5]}), {own: own}, own)
        page = render(collect(system, date=datetime.date(2026, 1, 2)))
        pages.append(list(map(html_document.parse, (page, board.read_text(encoding="utf-8")))))
    for hostile, plain in zip(*pages, strict=True):
        tags = [[own.tag for own in elements if own.tag != "wbr"] for elements in (hostile, plain)]
        assert tags[0].count("script") == tags[1].count("script") <= 1
        assert not {"img", "iframe", "object", "form"} & set(tags[0]) - set(tags[1])
        for element in hostile:
            assert not any(name.startswith("on") for name in element.attributes), element
            assert not str(element.attributes.get("href", "")).startswith("javascript:")


# ---------------------------------------------------------------------------------------------------
# Cost
# ---------------------------------------------------------------------------------------------------

NESTED_QUANTIFIER = re.compile(r"\([^()]*[+*]\)[+*]|\([^()]*\|[^()]*\)[+*][+*]")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_regular_expressions_take_linear_time(path: Path) -> None:
    """No quantifier of a group that itself ends in one, such as ``(a+)+``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not (node.value.isprintable() and NESTED_QUANTIFIER.search(node.value)), (node.lineno, node.value)


LONG = 100_000
SHAPES = [
    "[" * LONG, "['" * LONG, "[" + "' ' " * LONG, "(" * LONG, "()" * LONG, "$" * LONG, "%" * LONG, " " * LONG,
    "." * LONG, "[" + "'a'," * LONG, "[" + "\\" * LONG + "]", "['" + "\\x" * LONG + "']", "<" * LONG, "<b" * LONG,
    "&" * LONG, "1" * LONG, "1," * LONG, "-" * LONG, "1/" * LONG, "a@" * LONG, "http://" * LONG, "page " * LONG,
    "\\boxed{" * LONG, "Answer: " * LONG, "**" * LONG, "Ã©" * LONG, "0" * LONG + "x", "\n" * LONG, "a.b." * LONG,
    "é" * LONG,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", SHAPES, ids=lambda text: repr(text[:8]))
def test_long_texts_of_every_shape_end_soon(tmp_path: Path, text: str) -> None:
    """Each pattern and parser that sees text of others, on 100,000 of what would make it go back and forth."""
    from anls_eval.check.check import check_submission
    from anls_eval.leaderboards import LEADERBOARDS, leaderboard_score

    both = write(tmp_path / "both.csv", f'id,prediction,answers\n1,"{text.replace(chr(34), "")}",x\n')
    started = time.process_time()
    for name, board in LEADERBOARDS.items():
        for answer_type in board.answer_types or (None,):
            answer = "['x', 'y']" if "ist" in str(answer_type) else "3"
            with contextlib.suppress(ValueError):
                leaderboard_score(text, answer, protocol=name, answer_type=answer_type)
    assert check_submission(both).n == 1
    assert [batch.values for batch in open_references(both, columns={"answers": "prediction"}).batches()]
    anls_score(text, ["x"], protocol="mistral_evals")
    assert time.process_time() - started < 20
