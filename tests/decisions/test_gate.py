"""anls gate: verdicts, baselines, files for CI, and the command line."""

import functools
import json
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from docvqa_runs import FOLDER
from junitparser import Failure, JUnitXml
from places import ROOT

from anls_eval.decisions.baseline import Baseline, load_baseline, read_baseline
from anls_eval.decisions.gate import GateResult, run_gate
from anls_eval.decisions.power import paired_power
from anls_eval.errors import AnlsError
from anls_eval.files import open_predictions, open_references
from anls_eval.statistics.bounds import Sample
from anls_eval.submission.score import ScoredQuestions, score_questions
from benchmarks.gate import Cell, draw

GOLD = FOLDER / "references.json"
OLD, NEW = FOLDER / "pred_llama_maverick.json", FOLDER / "pred_llama_nemotron.json"


@pytest.fixture
def run(run: Any) -> Any:
    """Run `anls gate` with arguments."""
    return functools.partial(run, "gate")


class Files(NamedTuple):
    old: Path
    new: Path
    gold: Path


def written(folder: Path, old: Sequence[int], new: Sequence[int], kinds: Sequence[str] = ()) -> Files:
    """Two systems that answer each question right (1) or wrong (0); two questions share a document."""
    files = Files(*(folder / f"{name}.json" for name in Files._fields))
    for path, right in zip(files, (old, new), strict=False):
        rows = [{"id": f"q{row}", "prediction": "yes" if own else "never"} for row, own in enumerate(right)]
        path.write_text(json.dumps(rows), encoding="utf-8")
    gold = [
        {"id": f"q{row}", "answers": ["yes"], "kind": kinds[row] if kinds else "any", "document": f"d{row // 2}"}
        for row in range(len(old))
    ]
    files.gold.write_text(json.dumps(gold), encoding="utf-8")
    return files


def scored(predictions: Path, gold: Path, *columns: str) -> ScoredQuestions:
    return score_questions(open_predictions(predictions), open_references(gold), columns=columns)


def gate_of(files: Files, **options: Any) -> GateResult:
    columns = [*options.get("by", ()), *filter(None, [options.get("cluster_by")])]
    return run_gate(scored(files.new, files.gold, *columns), Baseline.of(scored(files.old, files.gold)), **options)


@pytest.mark.parametrize(
    ("old", "new", "options", "verdict", "is_open"),
    [
        ([1] * 100, [1] * 95 + [0] * 5, {}, "failed", False),
        ([1] * 100, [1] * 96 + [0] * 4, {}, "undecided", True),  # the sign test of 4 losses: p = 1/16
        ([1] * 100, [1] * 96 + [0] * 4, {"strict": True}, "undecided", False),
        ([0] * 5 + [1] * 95, [1] * 100, {}, "passed", True),
        ([1] * 100, [1] * 100, {"max_drop": 0.02}, "undecided", True),  # no loss in 100: up to 3 %
        ([1] * 100, [1] * 100, {"max_drop": 0.03}, "passed", True),
        ([1] * 100, [1] * 100, {"max_drop": 0.03, "strict": True}, "passed", True),
        ([1] * 100, [1] * 95 + [0] * 5, {"cluster_by": "document"}, "undecided", True),  # 3 documents
        ([1] * 100, [1] * 100, {"max_drop": 0.05, "min_score": 0.98}, "undecided", True),
        ([1] * 100, [1] * 100, {"max_drop": 0.05, "min_score": 0.97}, "passed", True),
        ([1] * 100, [1] * 99 + [0], {"max_drop": 0.05, "min_score": 0.995}, "failed", False),
    ],
)
def test_verdicts(
    old: list[int], new: list[int], options: dict[str, Any], verdict: str, is_open: bool, tmp_path: Path
) -> None:
    found = gate_of(written(tmp_path, old, new), **options)
    assert (found.verdict, found.is_open) == (verdict, is_open)


@pytest.mark.parametrize("cluster_by", [None, "document"])
def test_means_are_those_of_a_score_in_any_order(cluster_by: str | None, tmp_path: Path) -> None:
    """To the last bit: each is a sum that is rounded once."""
    generator = random.Random(0)  # noqa: S311
    texts = ["".join(generator.choices("abc", k=generator.randrange(1, 40))) for _ in range(999)]
    files, rows = Files(*(tmp_path / f"{name}.json" for name in Files._fields)), list(range(999))
    written_texts = [[text[cut:] + "x" * cut for text in texts] for cut in (1, 2)]
    found = set()
    for _ in range(5):
        generator.shuffle(rows)
        for path, own in zip(files, written_texts, strict=False):
            path.write_text(json.dumps([{"id": f"q{row}", "prediction": own[row]} for row in rows]), encoding="utf-8")
        gold = [{"id": f"q{row}", "answers": [texts[row]], "document": f"d{row // 7}"} for row in rows]
        files.gold.write_text(json.dumps(gold), encoding="utf-8")
        [whole] = gate_of(files, cluster_by=cluster_by).comparisons
        found.add((whole.old, whole.new, whole.difference))
    old, new = (scored(path, files.gold) for path in (files.old, files.new))
    difference = math.fsum([*new.scores, *(-old.scores)]) / 999
    assert found == {(old.submission.score, new.submission.score, difference)}


def test_a_group_fails_where_the_whole_does_not(tmp_path: Path) -> None:
    kinds = ["table"] * 20 + ["text"] * 180
    old, new = [1] * 20 + [0] * 20 + [1] * 160, [0] * 10 + [1] * 30 + [1] * 160
    found = gate_of(written(tmp_path, old, new, kinds), by=["kind"])
    assert {own.name: own.verdict for own in found.comparisons} == {
        "all questions": "passed", "kind=table": "failed", "kind=text": "passed"
    }  # fmt: skip
    assert found.verdict == "failed"


def test_holm_is_over_all_groups(tmp_path: Path) -> None:
    kinds = ["a"] * 50 + ["b"] * 50
    files = written(tmp_path, [1] * 100, [0] * 5 + [1] * 95, kinds)
    whole, a, b = gate_of(files, by=["kind"]).comparisons
    assert (a.p_drop, whole.p_drop, b.p_drop) == pytest.approx((3 / 32, 3 / 32, 1))
    assert {whole.verdict, a.verdict} == {"undecided"}
    assert gate_of(files).verdict == "failed"


def test_a_saved_baseline_is_its_predictions(run: Any, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    assert run(OLD, "-r", GOLD, "--save-baseline", baseline, "-q") == (0, "", "")
    from_file, from_predictions = (run(NEW, "-r", GOLD, "--baseline", own, "-q") for own in (baseline, OLD))
    assert from_file == from_predictions
    assert from_file.status == 1
    assert from_file.out.startswith("failed: the score dropped by 0.0317 (186 of 1,000 questions changed); ")
    assert run(OLD, "-r", GOLD, "--baseline", baseline, "--max-drop", 0.01, "--strict", "-q").status == 0


def test_files_for_ci(run: Any, tmp_path: Path) -> None:
    kinds = ["a|b <&>\x00"] * 50 + ["text"] * 50
    files = written(tmp_path, [1] * 100, [0] * 9 + [1] * 91, kinds)
    markdown, junit = tmp_path / "gate.md", tmp_path / "gate.xml"
    asked = [files.new, "-r", files.gold, "--baseline", files.old, "--by", "kind", "--markdown", markdown, "-q"]
    assert run(*asked, "--junit", junit).status == 1
    table = [line for line in markdown.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {9}
    assert [line.rsplit("| ", 1)[1] for line in table[2:]] == ["failed |", "failed |", "undecided |"]
    [suite] = JUnitXml.fromfile(str(junit))
    assert (suite.tests, suite.failures, suite.errors) == (3, 2, 0)
    cases = list(suite)
    assert [case.name for case in cases] == ["all questions", "kind=a|b <&>\\x00", "kind=text"]
    assert [[type(own) for own in case.result] for case in cases] == [[Failure], [Failure], []]
    assert cases[0].result[0].message.startswith("failed: the score dropped by 0.0900")
    assert run(*asked, "--junit", junit, "--strict").status == 1
    [suite] = JUnitXml.fromfile(str(junit))
    assert suite.failures == 3


def test_json(run: Any) -> None:
    found = json.loads(run(NEW, "-r", GOLD, "--baseline", OLD, "--min-score", 0.5, "--json").out)
    assert (found["verdict"], found["is_open"], found["minimum"]["verdict"]) == ("failed", False, "passed")
    [own] = found["comparisons"]
    assert (own["n"], own["changed"], own["documents"]) == (1000, 186, None)
    assert own["difference"] == pytest.approx(own["new"] - own["old"])
    assert own["low"] < own["difference"] < own["high"] < 0


def test_a_failed_gate_saves_no_baseline(run: Any, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    assert run(OLD, "-r", GOLD, "--save-baseline", baseline, "-q").status == 0
    before = baseline.read_bytes()
    assert run(NEW, "-r", GOLD, "--baseline", baseline, "--save-baseline", baseline, "-q").status == 1
    assert baseline.read_bytes() == before
    asked = [NEW, "-r", GOLD, "--baseline", baseline, "--max-drop", 0.05, "--save-baseline", baseline]
    found = run(*asked)
    assert (found.status, found.err.splitlines()[-1]) == (0, f"baseline written: {baseline}")
    assert baseline.read_bytes() != before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing to compare with: pass --baseline FILE or --min-score X"),
        (
            ["--baseline", "none.json"],
            r"none\.json: the baseline does not exist\. Write it with .*--save-baseline none",
        ),
        (["--baseline", OLD, "--max-drop", 5], "--max-drop 5.0: expected a number from 0 to 1"),
        (["--min-score", 90], "--min-score 90.0: expected a number from 0 to 1"),
        (["--baseline", OLD, "--power"], "--max-drop 0.0: expected the drop to be shown, above 0"),
        (["--baseline", OLD, "--by", "kind"], "has the column 'kind'"),
        (["--baseline", OLD, "--junit", GOLD], "is one of the input files"),
        (["--baseline", OLD, "--markdown", OLD], "is one of the input files"),
        (["--baseline", OLD, "--save-baseline", OLD], "is one of the input files"),
        (["--baseline", OLD, "--markdown", "x", "--junit", "./x"], "x would be written twice"),
        (["--save-baseline", "x", "--markdown", "y"], "--markdown would not be written: without --baseline FILE or"),
        (["--save-baseline", "x", "--junit", "y"], "--junit would not be written: without --baseline FILE or"),
        (["--save-baseline", "x", "--json"], "--json would not be written: without --baseline FILE or"),
        (["--power", "--save-baseline", "x"], "--save-baseline would not be written: --power decides nothing"),
        (["--baseline", OLD, "--power", "--junit", "x"], "--junit would not be written: --power decides nothing"),
        (["--save-baseline", ""], "expected the name of a file to write"),
    ],
)
def test_refused(options: list[Any], message: str, run: Any) -> None:
    found = run(NEW, "-r", GOLD, "-q", *options)
    assert (found.status, found.out) == (2, "")
    assert re.search(message, found.err)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own["questions"].pop(), r"other questions: 1 only in the references \(q9\)"),
        (lambda own: own["questions"].append(["q10", "0", 1]), r"other questions: 1 only in the baseline \(q10\)"),
        (lambda own: own["questions"][3].__setitem__(1, "0"), r"accepted answers of 1 questions differ .*\(q3\)"),
        (lambda own: own["questions"][3].__setitem__(2, 2), r"scores outside \[0, 1\]"),
        (lambda own: own["questions"][3].pop(), "damaged"),
        (lambda own: own.pop("signature"), "damaged"),
        (lambda own: own.__setitem__("anls_baseline", 9), "format 9; expected 1"),
        (
            lambda own: own.__setitem__("signature", own["signature"].replace("keep:>=0.5", "keep:>=0.8")),
            r"other rules: keep >=0\.8, now >=0\.5",
        ),
    ],
)
def test_a_baseline_that_cannot_be_compared(change: Any, message: str, run: Any, tmp_path: Path) -> None:
    files = written(tmp_path, [1] * 10, [1] * 10)
    baseline = tmp_path / "baseline.json"
    assert run(files.old, "-r", files.gold, "--save-baseline", baseline, "-q").status == 0
    content = json.loads(baseline.read_text(encoding="utf-8"))
    change(content)
    baseline.write_text(json.dumps(content), encoding="utf-8")
    found = run(files.new, "-r", files.gold, "--baseline", baseline, "-q")
    assert (found.status, found.out) == (2, "")
    assert re.search(message, found.err)


def test_another_version_is_a_note(run: Any, tmp_path: Path) -> None:
    files = written(tmp_path, [1] * 10, [1] * 10)
    baseline = tmp_path / "baseline.json"
    run(files.old, "-r", files.gold, "--save-baseline", baseline, "-q")
    text = re.sub(r"version:[^|]*", "version:0.0.1", baseline.read_text(encoding="utf-8"))
    baseline.write_text(text, encoding="utf-8")
    found = run(files.new, "-r", files.gold, "--baseline", baseline, "-q")
    assert found.status == 0
    assert "note: the baseline was computed with anls 0.0.1, the new scores with" in found.err


def test_trees(tmp_path: Path) -> None:
    rows = [{"id": "1", "answers": [{"total": "5", "lines": ["a", "b"]}]}]
    gold, predictions = tmp_path / "gold.json", tmp_path / "new.json"
    gold.write_text(json.dumps(rows), encoding="utf-8")
    predictions.write_text(json.dumps([{"id": "1", "prediction": {"total": "5"}}]), encoding="utf-8")
    own = score_questions(open_predictions(predictions), open_references(gold), protocol="anls_star")
    Baseline.of(own).write(tmp_path / "baseline.json")
    again = load_baseline(str(tmp_path / "baseline.json"), lambda path: own)
    assert again.scores_for(Baseline.of(own)).tolist() == own.scores.tolist()


def written_documents(folder: Path) -> tuple[Path, Path, Path]:
    """Forty documents: the new system loses every total but one in five, and invents a note in two documents."""
    gold: list[dict[str, Any]] = [{"total": "100", "lines": ["abcd", "efgh"]} for _ in range(40)]
    old: list[dict[str, Any]] = [{"total": "100", "lines": ["abcd", "efgx"]} for _ in range(40)]
    new: list[dict[str, Any]] = [
        {"total": "100" if row % 5 == 0 else "7", "lines": ["abcd", "efgh"]} for row in range(40)
    ]
    for row in (0, 1):
        new[row]["note"] = "paid"
    paths = tuple(folder / f"{name}.json" for name in ("old", "new", "gold"))
    for path, key, rows in zip(paths, ("prediction", "prediction", "answers"), (old, new, gold), strict=True):
        content = [{"id": f"d{row}", key: [own] if key == "answers" else own} for row, own in enumerate(rows)]
        path.write_text(json.dumps(content), encoding="utf-8")
    return paths[0], paths[1], paths[2]


def test_by_field_compares_the_mean_credit_of_each_path(run: Any, tmp_path: Path) -> None:
    old, new, gold = written_documents(tmp_path)
    asked = [new, "-r", gold, "-p", "anls_star", "--by-field", "--max-drop", 0.5, "-q"]
    found = json.loads(run(*asked, "--baseline", old, "--json").out)
    rows = {own["group"]: own for own in found["comparisons"]}
    assert list(rows) == ["", "$.lines[*]", "$.note", "$.total"]
    assert [own["verdict"] for own in rows.values()] == ["passed", "passed", "undecided", "failed"]
    assert found["verdict"] == "failed"
    shown = {path: (own["old"], own["new"], own["n"], own["changed"]) for path, own in rows.items() if path}
    assert shown == {
        "$.lines[*]": (pytest.approx((1 + 0.75) / 2), 1, 40, 40),
        "$.note": (1, 0, 2, 2),  # only the new system has a leaf there
        "$.total": (1, pytest.approx(8 / 40), 40, 32),
    }
    exact = Sample.of(np.array([-1.0] * 32 + [0.0] * 8), None, -1.0)
    assert rows["$.total"]["p_drop"] == pytest.approx(4 * exact.p_below(-0.5))  # Holm over four comparisons
    assert run(*asked, "--baseline", old).out.startswith(
        "failed: $.total: the score dropped by 0.8000 (32 of 40 documents changed)"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_baseline_that_was_saved_again(indent: int | None, encoding: str, run: Any, tmp_path: Path) -> None:
    """By an editor, or by a program that formats JSON."""
    assert run(NEW, "-r", GOLD, "--min-score", 0, "--save-baseline", tmp_path / "own", "-q").status == 0
    expected = run(NEW, "-r", GOLD, "--baseline", tmp_path / "own", "-q")
    content = json.loads((tmp_path / "own").read_bytes())
    (tmp_path / "own").write_text(f"\n{json.dumps(content, indent=indent)}", encoding=encoding)
    assert run(NEW, "-r", GOLD, "--baseline", tmp_path / "own", "-q") == expected
    assert expected.status == 0


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_baseline_that_was_compressed(codec: str, run: Any, tmp_path: Path) -> None:
    assert run(NEW, "-r", GOLD, "--min-score", 0, "--save-baseline", tmp_path / "own", "-q").status == 0
    expected = run(NEW, "-r", GOLD, "--baseline", tmp_path / "own", "-q")
    packed = pa.compress((tmp_path / "own").read_bytes(), codec, asbytes=True)
    (tmp_path / "packed").write_bytes(packed)
    assert run(NEW, "-r", GOLD, "--baseline", tmp_path / "packed", "-q") == expected
    (tmp_path / "packed").write_bytes(packed[:-9])
    told = run(NEW, "-r", GOLD, "--baseline", tmp_path / "packed", "-q")
    assert (told.status, "packed, after 0 bytes: cannot be read further" in told.err) == (2, True)


def test_a_baseline_that_is_no_file(run: Any, tmp_path: Path) -> None:
    """Nobody waits for who writes to a FIFO."""
    os.mkfifo(tmp_path / "fifo")
    told = f"{tmp_path}/fifo: not a regular file, which can be read twice. Save the data to a file first."
    assert run(NEW, "-r", GOLD, "--baseline", tmp_path / "fifo", "-q") == (2, "", f"error: {told}\n")
    with pytest.raises(AnlsError, match=rf"^{told}$"):
        read_baseline(str(tmp_path / "fifo"))


def test_a_baseline_with_fields_is_its_predictions(run: Any, tmp_path: Path) -> None:
    old, new, gold = written_documents(tmp_path)
    baseline = tmp_path / "baseline.json"
    asked = ["-r", gold, "-p", "anls_star", "-q"]
    assert run(old, *asked, "--by-field", "--save-baseline", baseline).status == 0
    found = [run(new, *asked, "--by-field", "--baseline", own) for own in (baseline, old)]
    assert found[0] == found[1]
    content = json.loads(baseline.read_text(encoding="utf-8"))
    content["fields"]["$.total"]["nobody"] = 1
    baseline.write_text(json.dumps(content), encoding="utf-8")
    assert "the baseline is damaged" in run(new, *asked, "--by-field", "--baseline", baseline).err
    assert run(old, *asked, "--save-baseline", baseline).status == 0
    refused = run(new, *asked, "--by-field", "--baseline", baseline)
    assert (refused.status, "the baseline was saved without its fields" in refused.err) == (2, True)


def test_texts_have_no_fields(run: Any) -> None:
    found = run(NEW, "-r", GOLD, "--baseline", OLD, "--by-field", "-q")
    assert (found.status, found.out) == (2, "")
    assert "only documents have fields, which protocol 'standard' does not score" in found.err


def test_extract_is_part_of_the_rules(run: Any, tmp_path: Path) -> None:
    files = written(tmp_path, [1] * 10, [1] * 10)
    rows = [{"id": f"q{row}", "prediction": "<answer>yes</answer>"} for row in range(10)]
    files.new.write_text(json.dumps(rows), encoding="utf-8")
    baseline = tmp_path / "baseline.json"
    asked = ["-r", files.gold, "-q", "--extract", "answer_tag"]
    assert run(files.old, *asked, "--save-baseline", baseline).status == 0
    same = run(files.new, *asked, "--baseline", baseline, "--max-drop", 0.3, "--strict")
    assert (same.status, "the score is unchanged (0 of 10 questions changed)" in same.out) == (0, True)
    other = run(files.new, *asked[:-2], "--baseline", baseline)
    assert (other.status, "extract answer_tag, now -" in other.err) == (2, True)


@pytest.mark.parametrize("by_document", [False, True])
def test_power_is_what_happens(by_document: bool) -> None:
    generator = np.random.default_rng(5)
    needed = paired_power(*draw(Cell(50_000, 0.1, 0.02, by_document), generator), 0.02).questions
    cell = Cell(needed, 0.1, 0.02, by_document)
    failed = [Sample.of(*draw(cell, generator), -1.0).p_below(0.0) <= 0.05 for _ in range(200)]
    assert np.mean(failed) == pytest.approx(0.8, abs=4 * (0.8 * 0.2 / 200) ** 0.5)


def test_fixture(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["anls_eval.integrations.pytest"]\n', encoding="utf-8")
    call = f"anls_gate({str(NEW)!r}, {str(GOLD)!r}, baseline={str(OLD)!r}, max_drop={{}})"
    lines = [f"def test_{name}(anls_gate):\n    {call.format(drop)}\n" for name, drop in (("worse", 0), ("near", 0.02))]
    (tmp_path / "test_system.py").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout
    assert "failed: the score dropped by 0.0317" in done.stdout
    assert str(ROOT / "anls_eval") not in done.stdout  # no traceback into the gate
