"""Checks of submissions: each problem with its row, id and remedy; nothing else reported; safe fixes."""

import contextlib
import copy
import csv
import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from docvqa_runs import FOLDER, RUNS
from hypothesis import given
from hypothesis import strategies as st
from places import DATA, EXAMPLES
from typer.testing import CliRunner

from anls_eval.check.check import MAX_SHOWN, check_submission
from anls_eval.check.fix import fix_submission
from anls_eval.check.problem import KINDS, CheckReport
from anls_eval.cli.commands import app
from anls_eval.files import FormatError, open_predictions, open_references
from anls_eval.scoring import anls_score
from anls_eval.submission.score import score_submission

GOLD = FOLDER / "references.json"
RUN = FOLDER / "pred_qwen2_vl_7b_instruct.json"
REPORTS = {
    report["id"]: report
    for report in map(json.loads, (DATA / "reports.jsonl").read_text(encoding="utf-8").splitlines())
}

Rows = list[Any]


def submitted() -> Rows:
    """A real submission without its few suspicious answers, which take the first accepted one."""
    answers = {row["questionId"]: row["answers"] for row in json.loads(GOLD.read_text(encoding="utf-8"))["data"]}
    suspicious = {problem.question_id for problem in check_submission(RUN, GOLD).problems}
    rows: Rows = json.loads(RUN.read_text(encoding="utf-8"))
    for row in rows:
        if str(row["questionId"]) in suspicious or not row["answer"]:
            row["answer"] = answers[row["questionId"]][0]
    return rows


CLEAN = submitted()


@pytest.fixture
def rows() -> Rows:
    return copy.deepcopy(CLEAN)


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def codes(report: CheckReport) -> list[tuple[str, str, str, str | None, bool]]:
    return [(own.code, own.severity, own.place, own.question_id, own.certain) for own in report.problems]


def scored(predictions: Path) -> float:
    return score_submission(open_predictions(predictions), open_references(GOLD)).score


# ---------------------------------------------------------------------------------------------------
# Each problem, planted in a real submission
# ---------------------------------------------------------------------------------------------------


def with_id(value: Any) -> Callable[[Rows], None]:
    def plant(rows: Rows) -> None:
        rows[7]["questionId"] = value

    return plant


def with_answer(value: Any) -> Callable[[Rows], None]:
    def plant(rows: Rows) -> None:
        rows[7]["answer"] = value

    return plant


def without(key: str) -> Callable[[Rows], None]:
    def plant(rows: Rows) -> None:
        del rows[7][key]

    return plant


def renamed(old: str, new: str) -> Callable[[Rows], None]:
    def plant(rows: Rows) -> None:
        rows[7][new] = rows[7].pop(old)

    return plant


def appended(row: Any) -> Callable[[Rows], None]:
    return lambda rows: rows.append(row)


def removed(rows: Rows) -> None:
    del rows[7]


# Row 7 is question 24426, whose only accepted answer is "THE ROBERT A. WELCH FOUNDATION".
ID, ANSWER = 24426, "THE ROBERT A. WELCH FOUNDATION"
MISSING = ("missing", "refused", "", str(ID), False)

PLANTED: dict[str, tuple[Callable[[Rows], None], list[tuple[str, str, str | None, bool]]]] = {
    "id as text": (with_id("24426"), [("id-text", "refused", "24426", True)]),
    "blanks around the id": (with_id(" 24426\n"), [("id-blanks", "refused", "24426", True)]),
    "float id": (with_id(24426.0), [("id-float", "scored", "24426", True)]),
    "float id as text": (with_id("24426.0"), [("id-float", "refused", "24426", True)]),
    "id with an exponent": (with_id("2.4426e4"), [("id-digits", "refused", "24426", False)]),
    "id with an exponent, digits lost": (with_id("2.44E+04"), [("id-digits", "refused", None, False)]),
    "leading zeros": (with_id("0024426"), [("id-zeros", "refused", "24426", True)]),
    "id null": (with_id(None), [("id-absent", "refused", None, False)]),
    "id empty": (with_id(" "), [("id-absent", "refused", None, False)]),
    "id absent": (without("questionId"), [("id-absent", "refused", None, False)]),
    "id is a list": (with_id([24426]), [("id-type", "refused", None, False)]),
    "id is a bool": (with_id(True), [("id-type", "refused", None, False)]),
    "id is a word": (with_id("q7"), [("id-type", "refused", "q7", False), ("extra", "refused", "q7", False)]),
    "another id": (with_id(5), [("extra", "refused", "5", False)]),
    "answer null": (with_answer(None), [("answer-null", "refused", str(ID), True)]),
    "answer absent": (without("answer"), [("answer-absent", "refused", str(ID), False)]),
    "answers in place of answer": (renamed("answer", "answers"), [("wrong-key", "refused", str(ID), True)]),
    "prediction in place of answer": (renamed("answer", "prediction"), [("wrong-key", "refused", str(ID), True)]),
    "list of one text": (with_answer([ANSWER]), [("answer-list", "refused", str(ID), True)]),
    "list of texts": (with_answer([ANSWER, "x"]), [("answer-list", "refused", str(ID), False)]),
    "empty list": (with_answer([]), [("answer-list", "refused", str(ID), False)]),
    "object": (with_answer({"text": ANSWER}), [("answer-object", "refused", str(ID), False)]),
    "integer": (with_answer(12), [("answer-number", "refused", str(ID), True)]),
    "float": (with_answer(0.5), [("answer-number", "refused", str(ID), True)]),
    "bool": (with_answer(True), [("answer-number", "refused", str(ID), False)]),
    "empty": (with_answer(""), [("answer-empty", "scored", str(ID), False)]),
    "blank": (with_answer(" \n"), [("answer-empty", "scored", str(ID), False)]),
    "blanks around": (with_answer(f"{ANSWER}{' ' * 100}"), [("answer-blanks", "scored", str(ID), True)]),
    "bold": (with_answer(f"**{ANSWER}**"), [("answer-markup", "scored", str(ID), False)]),
    "code": (with_answer(f"```\n{ANSWER}\n```"), [("answer-markup", "scored", str(ID), False)]),
    "HTML": (with_answer(f"<b>{ANSWER}</b>"), [("answer-markup", "scored", str(ID), False)]),
    "HTML with attributes": (with_answer(f'<p class="x">{ANSWER}'), [("answer-markup", "scored", str(ID), False)]),
    "LaTeX": (with_answer(f"\\boxed{{{ANSWER}}}"), [("answer-markup", "scored", str(ID), False)]),
    **{
        mark: (with_answer(f"Hm.{mark} {ANSWER}"), [("answer-markup", "scored", str(ID), False)])
        for mark in ("<think>", "</think>", "</thinking>", "◁think▷", "◁/think▷", "[THINK]", "[/think]")
    },
    "token": (with_answer(f"{ANSWER}<|im_end|>"), [("answer-markup", "scored", str(ID), False)]),
    "the answer is": (with_answer(f"The answer is {ANSWER}"), [("answer-prefix", "scored", str(ID), False)]),
    "answer colon": (with_answer(f"Answer: {ANSWER}"), [("answer-prefix", "scored", str(ID), False)]),
    "final answer": (with_answer(f"final answer: {ANSWER}"), [("answer-prefix", "scored", str(ID), False)]),
    "explanation": (
        with_answer(f"{ANSWER}, as the letterhead at the top of the page says."),
        [("answer-long", "scored", str(ID), False)],
    ),
    "ramble": (with_answer("It is not easy to say. " * 20 + "no"), [("answer-long", "scored", str(ID), False)]),
    "refusal": (with_answer("Not answerable."), [("answer-refusal", "scored", str(ID), False)]),
    "mojibake": (with_answer("FundaciÃ³n Welch"), [("answer-mojibake", "scored", str(ID), True)]),
    "entities": (with_answer("AT&amp;T"), [("answer-entities", "scored", str(ID), False)]),
    "characters that were lost": (
        with_answer("Fundaci\ufffdn Welch"),
        [("answer-undecoded", "scored", str(ID), False)],
    ),
    "mojibake of a quote": (with_answer("Welchâ€™s"), [("answer-mojibake", "scored", str(ID), True)]),
}
LOSES_THE_QUESTION = {
    *("id with an exponent, digits lost", "id null", "id empty", "id absent", "id is a list", "id is a bool"),
    *("id is a word", "another id"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name: str, rows: Rows, tmp_path: Path) -> None:
    plant, expected = PLANTED[name]
    plant(rows)
    report = check_submission(written(tmp_path / "run.json", rows), GOLD)
    found = [(code, severity, "[7]", own, certain) for code, severity, own, certain in expected]
    if name in LOSES_THE_QUESTION:
        found.append(MISSING)
    assert sorted(codes(report), key=str) == sorted(found, key=str)
    assert {own.row for own in report.problems} <= {7, None}
    assert report.refused == sum(severity == "refused" for _, severity, *_ in found)


def test_clean(rows: Rows, tmp_path: Path) -> None:
    report = check_submission(written(tmp_path / "run.json", rows), GOLD)
    assert report == CheckReport(str(tmp_path / "run.json"), "rrc", "rrc", 1000, {}, {}, 0, ())


def test_every_kind_has_a_remedy_and_known_severities() -> None:
    assert all(kind.remedy for kind in KINDS.values())
    assert {kind.at_portal for kind in KINDS.values()} == {"refused", "scored", "note"}


@pytest.mark.parametrize(
    ("answer", "certain", "row"),
    [(None, True, ("id-repeated", "[1000]")), ("other", False, ("id-conflict", "[1000]"))],
)
def test_repeated_ids(answer: str | None, certain: bool, row: tuple[str, str], rows: Rows, tmp_path: Path) -> None:
    rows.append(dict(rows[7]))
    if answer is not None:
        rows[-1]["answer"] = answer
    (problem,) = check_submission(written(tmp_path / "run.json", rows), GOLD).problems
    assert (problem.code, problem.place, problem.question_id, problem.certain) == (*row, str(ID), certain)
    assert "at [7]" in problem.found


def test_missing_row(rows: Rows, tmp_path: Path) -> None:
    removed(rows)
    assert codes(check_submission(written(tmp_path / "run.json", rows), GOLD)) == [MISSING]


def test_extra_row_is_certain_once_all_are_answered(rows: Rows, tmp_path: Path) -> None:
    rows.append({"questionId": 1, "answer": "x"})
    path = written(tmp_path / "run.json", rows)
    assert codes(check_submission(path, GOLD)) == [("extra", "refused", "[1000]", "1", True)]
    assert fix_submission(path, tmp_path / "out.json", GOLD).counts == {}


def test_one_bad_row_hides_no_other(rows: Rows, tmp_path: Path) -> None:
    rows[3] = "oops"
    rows[900]["answer"] = [ANSWER]
    path = written(tmp_path / "run.json", rows)
    report = check_submission(path, GOLD)
    assert report.counts == {"row-unreadable": 1, "missing": 1, "answer-list": 1}
    assert "[3]: 'oops' among objects" in report.problems[0].found
    with pytest.raises(FormatError, match=r"\[3\]: the row cannot be read, and a fixed file would lose it"):
        fix_submission(path, tmp_path / "out.json", GOLD)
    assert not (tmp_path / "out.json").exists()


def test_what_an_accepted_answer_holds_is_no_fault(tmp_path: Path) -> None:
    answers = ["<b>bold</b>", "Answer: 5", "Unknown", "", "Ã©", "**", "x" * 30]
    rows = [{"questionId": row, "answer": own.upper()} for row, own in enumerate(answers)]
    gold = {"data": [{"questionId": row, "answers": [own]} for row, own in enumerate(answers)]}
    assert check_submission(written(tmp_path / "a.json", rows), written(tmp_path / "g.json", gold)).counts == {}


@pytest.mark.parametrize(
    "answer",
    [
        *("CAFÉ”", "Ä°C", "São Paulo", "Ã la carte", "naïve — “x”", "C:\\temp", "answers", "The answering machine"),
        *("a < b", "5 * 3 ** 2", "$5 [sic]", "<unknown>", "e.g. <3", "A: 5"),
    ],
)
def test_usual_texts_are_no_fault(answer: str, tmp_path: Path) -> None:
    path = written(tmp_path / "run.json", [{"questionId": 1, "answer": answer}])
    assert check_submission(path).counts == {}


def test_counts_are_exact_and_rows_are_bounded(rows: Rows, tmp_path: Path) -> None:
    for row in rows:
        row["answer"] = f" {row['answer']}"
    report = check_submission(written(tmp_path / "run.json", rows), GOLD)
    assert report.counts == report.mendable == {"answer-blanks": 1000}
    assert [own.row for own in report.problems] == list(range(MAX_SHOWN))


# ---------------------------------------------------------------------------------------------------
# The real submissions
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", RUNS)
def test_what_is_reported_of_real_runs_is_true(run: str) -> None:
    path = FOLDER / f"pred_{run}.json"
    report = check_submission(path, GOLD)
    assert (report.portal, report.n, report.refused) == ("rrc", 1000, 0)
    given = {str(row["questionId"]): row["answer"] for row in json.loads(path.read_text(encoding="utf-8"))}
    gold = {str(row["questionId"]): row["answers"] for row in json.loads(GOLD.read_text(encoding="utf-8"))["data"]}
    for problem in report.problems:
        assert problem.question_id is not None
        answer, accepted = given[problem.question_id], gold[problem.question_id]
        assert problem.severity == "scored"
        if problem.code in ("answer-empty", "answer-long", "answer-refusal"):
            assert anls_score(answer, accepted) == 0
        if problem.code == "answer-empty":
            assert answer == ""
        if problem.code == "answer-blanks":
            assert answer != answer.strip()
        if problem.code == "answer-prefix":
            assert answer.startswith("Answer:")
        if problem.code == "answer-markup":
            assert any(mark in answer for mark in ("**", "```", "![Picture 1]", "\\(", "\\section*{"))


def test_what_is_reported_of_real_runs() -> None:
    found = {run: check_submission(FOLDER / f"pred_{run}.json", GOLD).counts for run in RUNS}
    empty = {
        run: sum(not row["answer"] for row in json.loads((FOLDER / f"pred_{run}.json").read_text(encoding="utf-8")))
        for run in RUNS
    }
    assert {run: own.get("answer-empty", 0) for run, own in found.items()} == empty
    assert found["llama_scout"]["answer-long"] == 497  # it answers in sentences
    assert found["qwen2_vl_7b"]["answer-prefix"] == 182
    assert found["llama_maverick"] == {"answer-long": 24, "answer-refusal": 3}


@pytest.mark.parametrize("name", ["perfect", "imperfect"])
def test_dude_demonstration(name: str) -> None:
    folder = EXAMPLES / "dude"
    report = check_submission(folder / f"DUDE_demo_submission_{name}.json", folder / "DUDE_demo_gt.json")
    assert (report.portal, report.n, report.counts) == ("dude", 11, {})


@pytest.mark.parametrize("name", ["validate_data", "evaluate_json"])
def test_rrc_fixtures(name: str) -> None:
    folder = DATA / "formats"
    report = check_submission(folder / f"{name}_submission.json", folder / f"{name}_gold_label.json")
    assert (report.portal, report.counts) == ("rrc", {})


# ---------------------------------------------------------------------------------------------------
# The structure of the file
# ---------------------------------------------------------------------------------------------------


def as_lines(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def as_table(path: Path, rows: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["questionId", "answer"])
        writer.writeheader()
        writer.writerows(rows)


STRUCTURES: dict[str, Callable[[Path, Rows], Any]] = {
    "object": lambda path, rows: written(path, {"data": rows}),
    "ids.json": lambda path, rows: written(path, {row["questionId"]: row["answer"] for row in rows}),
    "run.jsonl": as_lines,
    "run.csv": as_table,
    "run.json.gz": lambda path, rows: path.write_bytes(gzip.compress(json.dumps(rows).encode())),
    "run.parquet": lambda path, rows: pq.write_table(pa.Table.from_pylist(rows), path),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_structure(name: str, rows: Rows, tmp_path: Path) -> None:
    STRUCTURES[name](tmp_path / name, rows)
    report = check_submission(tmp_path / name, GOLD, format="rrc")
    assert (report.counts.pop("structure"), report.refused > 0) == (1, True)
    assert set(report.counts) <= {"id-text"}
    fixed = fix_submission(tmp_path / name, tmp_path / "out.json", GOLD, format="rrc")
    assert fixed.counts == {}
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == rows


def test_keys_of_the_whole_file(rows: Rows, tmp_path: Path) -> None:
    other = [{"question_id": row["questionId"], "prediction": row["answer"], "page": 3} for row in rows]
    path = written(tmp_path / "run.json", other)
    assert check_submission(path, GOLD).portal is None
    report = check_submission(path, GOLD, format="rrc")
    assert [own.found for own in report.problems] == [
        "'question_id'; expected 'questionId'",
        "'prediction'; expected 'answer'",
    ]
    assert fix_submission(path, tmp_path / "out.json", GOLD, format="rrc").counts == {}
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == [{**row, "page": 3} for row in rows]


def test_answers_in_place_of_answer_in_the_whole_file(rows: Rows, tmp_path: Path) -> None:
    path = written(tmp_path / "run.json", [{"questionId": r["questionId"], "answers": [r["answer"]]} for r in rows])
    assert check_submission(path, GOLD).counts == {"wrong-key": 1, "answer-list": 1000}
    assert fix_submission(path, tmp_path / "out.json", GOLD).counts == {}
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == rows


def test_accepted_answers_beside_the_predictions_are_not_taken_for_them(rows: Rows, tmp_path: Path) -> None:
    for row in rows:
        row["answers"] = ["gold"]
    del rows[7]["answer"]
    report = check_submission(written(tmp_path / "run.json", rows), GOLD)
    assert codes(report) == [("answer-absent", "refused", "[7]", str(ID), False)]


def test_spreadsheet(rows: Rows, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["questionId", "answer"])
    for row in rows:
        book.active.append([float(row["questionId"]), row["answer"]])
    book.save(tmp_path / "run.xlsx")
    assert check_submission(tmp_path / "run.xlsx", GOLD).counts == {}
    assert fix_submission(tmp_path / "run.xlsx", tmp_path / "out.json", GOLD, format="rrc").counts == {}
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == rows


def test_what_json_cannot_hold(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "pred": [" x"], "page": [b"x"]}), tmp_path / "run.parquet")
    with pytest.raises(ValueError, match="b'x': a bytes cannot be written as JSON"):
        fix_submission(tmp_path / "run.parquet", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_dude(tmp_path: Path) -> None:
    folder = EXAMPLES / "dude"
    rows = json.loads((folder / "DUDE_demo_submission_perfect.json").read_text(encoding="utf-8"))
    rows[0]["answers"] = "Yes"
    rows[1]["answers"] = [2]
    rows[2]["answers_confidence"] = [7]
    rows[3]["answers"][0] += " "
    rows[4]["answer"] = rows[4].pop("answers")
    path = written(tmp_path / "run.json", rows)
    report = check_submission(path, folder / "DUDE_demo_gt.json")
    assert [(own.code, own.severity, own.row, own.certain) for own in report.problems] == [
        ("wrong-key", "refused", 4, True),
        ("answer-number", "refused", 1, True),
        ("answer-text", "scored", 0, True),
        ("answer-blanks", "scored", 3, True),
        ("confidence", "note", 2, False),
    ]
    left = fix_submission(path, tmp_path / "out.json", folder / "DUDE_demo_gt.json")
    assert left.counts == {"confidence": 1}
    fixed = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    perfect = json.loads((folder / "DUDE_demo_submission_perfect.json").read_text(encoding="utf-8"))
    assert [row["answers"] for row in fixed] == [row["answers"] for row in perfect]


def test_dude_from_a_table(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text('question_id,answers\na,Yes\nb,"[""x"", ""y""]"\n', encoding="utf-8")
    report = check_submission(tmp_path / "run.csv", format="dude")
    assert report.counts == {"structure": 1, "confidence": 1}
    fix_submission(tmp_path / "run.csv", tmp_path / "out.json", format="dude")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == [
        {"questionId": "a", "answers": ["Yes"]},
        {"questionId": "b", "answers": ["x", "y"]},
    ]


# ---------------------------------------------------------------------------------------------------
# Without a portal
# ---------------------------------------------------------------------------------------------------


def test_table_has_no_portal(rows: Rows, tmp_path: Path) -> None:
    as_table(tmp_path / "run.csv", rows)
    report = check_submission(tmp_path / "run.csv", GOLD)
    assert (report.portal, report.counts) == (None, {})


def test_table_is_mended_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text('id,pred,n\n7.0," Lima",1\n8.0,"a, b",2\n7,Lima,1\n', encoding="utf-8")
    (tmp_path / "gold.jsonl").write_text('{"id": 7, "answers": ["Lima"]}\n{"id": 8, "answers": ["a, b"]}\n')
    report = check_submission(tmp_path / "run.csv", tmp_path / "gold.jsonl")
    assert report.counts == {"id-float": 2, "id-conflict": 1, "answer-blanks": 1}
    left = fix_submission(tmp_path / "run.csv", tmp_path / "out.csv", tmp_path / "gold.jsonl")
    assert left.counts == {"id-repeated": 1}
    assert (tmp_path / "out.csv").read_text() == 'id,pred,n\n7,Lima,1\n8,"a, b",2\n7,Lima,1\n'


def test_leading_zeros(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("id,pred\n1827492,x\n12,y\n", encoding="utf-8")
    (tmp_path / "gold.csv").write_text("id,answer\n01827492,x\n012,y\n0012,z\n", encoding="utf-8")
    report = check_submission(tmp_path / "run.csv", tmp_path / "gold.csv")
    assert [(own.code, own.row, own.found, own.certain) for own in report.problems] == [
        ("id-zeros", 0, "'1827492' for '01827492'", True),
        ("id-zeros", 1, "'12' for '012' or '0012'", False),
    ]
    fix_submission(tmp_path / "run.csv", tmp_path / "out.csv", tmp_path / "gold.csv")
    assert (tmp_path / "out.csv").read_text() == "id,pred\n01827492,x\n12,y\n"


def test_composed_and_decomposed_ids(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("id,pred\ncaf\u00e9,x\nna\u00efve,y\n", encoding="utf-8")
    (tmp_path / "gold.csv").write_text("id,answer\ncafe\u0301,x\nna\u00efve,y\n", encoding="utf-8")
    report = check_submission(tmp_path / "run.csv", tmp_path / "gold.csv")
    assert [(own.code, own.row, own.question_id, own.certain) for own in report.problems] == [
        ("id-composition", 0, "cafe\u0301", True)
    ]
    fix_submission(tmp_path / "run.csv", tmp_path / "out.csv", tmp_path / "gold.csv")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "id,pred\ncafe\u0301,x\nna\u00efve,y\n"


def test_a_fixed_file_that_could_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("id,pred\n7, x \n", encoding="utf-8")
    out = tmp_path / os.fsdecode(b"out\xff.csv")
    with pytest.raises(FormatError, match="the name of the file is not UTF-8, so that it could not be read"):
        fix_submission(tmp_path / "run.csv", out)
    assert [path.name for path in tmp_path.iterdir()] == ["run.csv"]


def test_section_numbers_are_no_floats(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("id,pred\n1.0,x\n1.1,y\na,z\n", encoding="utf-8")
    assert check_submission(tmp_path / "run.csv").counts == {}


def test_no_ids(tmp_path: Path) -> None:
    written(tmp_path / "run.json", ["x", " y"])
    written(tmp_path / "gold.json", [["x"], ["y"], ["z"]])
    assert check_submission(tmp_path / "run.json", tmp_path / "gold.json").counts == {
        "row-count": 1,
        "answer-blanks": 1,
    }


def test_ids_on_one_side_only(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("answers\nx\n", encoding="utf-8")
    (tmp_path / "run.csv").write_text("id,pred\n7,x\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has question ids and the references have none"):
        check_submission(tmp_path / "run.csv", tmp_path / "gold.csv")
    (tmp_path / "bare.csv").write_text("pred\nx\n", encoding="utf-8")
    report = check_submission(tmp_path / "bare.csv", tmp_path / "run.csv", columns={"answers": "pred"})
    assert report.counts == {"id-absent": 1, "missing": 1}


def test_named_columns_of_both_files(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("key,truth,id\n7,x,1\n", encoding="utf-8")
    (tmp_path / "run.csv").write_text("key,output,id\n7, x,2\n", encoding="utf-8")
    columns = {"question_id": "key", "prediction": "output", "answers": "truth"}
    sides = tmp_path / "run.csv", tmp_path / "gold.csv"
    assert check_submission(*sides, columns=columns).counts == {"answer-blanks": 1}
    assert fix_submission(sides[0], tmp_path / "out.csv", sides[1], columns=columns).counts == {}
    assert (tmp_path / "out.csv").read_text() == "key,output,id\n7,x,2\n"


def test_trees_are_for_anls_star(tmp_path: Path) -> None:
    written(tmp_path / "run.jsonl", {"id": 1, "prediction": {"total": " 3"}})
    written(tmp_path / "gold.jsonl", {"id": 1, "answers": {"total": "3"}})
    assert check_submission(tmp_path / "run.jsonl", tmp_path / "gold.jsonl").counts == {}
    assert check_submission(tmp_path / "run.jsonl").counts == {"answer-object": 1}


# ---------------------------------------------------------------------------------------------------
# Reports of other people
# ---------------------------------------------------------------------------------------------------


def reported(report_id: str, tmp_path: Path) -> tuple[Path, Path]:
    given = REPORTS[report_id]["input"]
    return written(tmp_path / "run.json", given["submission"]), written(tmp_path / "gold.json", given["gold"])


def test_r34_missing_and_unknown_ids_are_named(tmp_path: Path) -> None:
    report = check_submission(*reported("R34", tmp_path))
    assert [(own.code, own.question_id) for own in report.problems] == [
        ("missing", "2"),
        ("missing", "3"),
        ("extra", "9"),
    ]


def test_r36_long_ids_stay_whole_and_rounded_ones_are_noticed(tmp_path: Path) -> None:
    run, gold = reported("R36", tmp_path)
    assert check_submission(run, gold).counts == {}
    rows = json.loads(run.read_text(encoding="utf-8"))
    for row in rows:
        row["questionId"] = int(float(row["questionId"]))
    written(run, rows)
    assert check_submission(run, gold).counts == {"id-digits": 2}
    assert check_submission(run).counts == {"id-digits": 1}
    for row in rows:
        row["questionId"] = float(row["questionId"])
    assert check_submission(written(run, rows), gold).counts == {"id-digits": 2}
    written(gold, {"data": json.loads(gold.read_text(encoding="utf-8"))["data"][:1]})
    assert codes(check_submission(written(run, rows[:1]), gold))[0][-1]  # one of each: that one was meant
    assert fix_submission(run, tmp_path / "out.json", gold).counts == {}


def test_r38_the_entries_of_a_repeated_id_are_named(tmp_path: Path) -> None:
    (problem,) = check_submission(*reported("R38", tmp_path)).problems
    assert (problem.code, problem.row, problem.question_id) == ("id-conflict", 1, "1")
    assert problem.found == "'Rome', but 'Lima' at [0]"


def test_r40_another_split(tmp_path: Path) -> None:
    (problem,) = check_submission(*reported("R40", tmp_path)).problems
    assert problem.code == "other-split"
    assert "'90'" in problem.found
    assert "'11'" in problem.found
    assert "no id" in problem.remedy
    assert "split" in problem.remedy


# ---------------------------------------------------------------------------------------------------
# Files that cannot be read
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "place", "remedy"),
    [
        (b'[{"questionId": 1, "answer": "x"},\n{"quest', "line 2, column 2", "Fix it there"),
        (b'[{"questionId": 1, "answer": "caf\xe9"}]', "line 1, byte 33", "Save it as UTF-8"),
        (b'[{"questionId": 1, "text": "x"}]', "", "Expected one column of prediction"),
        (b"[]", "", "Expected rows"),
        (b"", "", "the file is empty"),
        (b"%PDF-1.4", "", "a PDF"),
    ],
)
def test_unreadable(content: bytes, place: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(content)
    report = check_submission(tmp_path / "run.json", GOLD)
    (problem,) = report.problems
    assert (problem.code, problem.place, report.is_readable) == ("unreadable", place, False)
    assert remedy in problem.found


def test_bad_lines(tmp_path: Path) -> None:
    lines = ['{"questionId": 1, "answer": "x"}', '{"questionId": 2, "ans', "[]", '{"questionId": 4, "answer": ["y"]}']
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    report = check_submission(tmp_path / "run.jsonl")
    assert [(own.code, own.place, own.row) for own in report.problems] == [
        ("structure", "", None),
        ("row-unreadable", "line 2", 1),
        ("row-unreadable", "line 3", 2),
        ("answer-list", "line 4", 3),
    ]
    (tmp_path / "run.csv").write_text("id,pred\n1,x\n2,x,y\n3, z\n")
    report = check_submission(tmp_path / "run.csv")
    assert [(own.code, own.place) for own in report.problems] == [
        ("row-unreadable", "line 3"),
        ("answer-blanks", "line 4"),
    ]


def test_control_characters_in_json(rows: Rows, tmp_path: Path) -> None:
    """Portals refuse them; a fixed file has escapes."""
    rows[0]["answer"] = "two\nlines"
    (tmp_path / "p.json").write_text(json.dumps(rows).replace("two\\nlines", "two\nlines"), encoding="utf-8")
    report = check_submission(tmp_path / "p.json", format="rrc")
    assert report.mendable["escapes"] == report.counts["escapes"] == 1
    assert (report.problems[0].severity, report.n) == ("refused", len(rows))
    assert "escapes" not in fix_submission(tmp_path / "p.json", tmp_path / "fixed.json", format="rrc").counts
    assert json.loads((tmp_path / "fixed.json").read_text(encoding="utf-8")) == rows


def test_encodings_that_a_file_shows_itself(rows: Rows, tmp_path: Path) -> None:
    rows[0]["answer"] = "Málaga"
    (tmp_path / "p.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    report = check_submission(tmp_path / "p.json", tmp_path / "p.json", encoding="cp1252")
    found = [own.found for own in report.problems if own.code == "read-otherwise"]
    assert found == [f"{side}the text is UTF-8, so it was not read as cp1252" for side in ("", "references: ")]


def test_unreadable_references(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be opened"):
        check_submission(RUN, tmp_path / "gold.json")


# ---------------------------------------------------------------------------------------------------
# Mends
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, (_, found) in PLANTED.items() if all(own[-1] for own in found)])
def test_what_is_certain_is_mended(name: str, rows: Rows, tmp_path: Path) -> None:
    PLANTED[name][0](rows)
    path = written(tmp_path / "run.json", rows)
    left = fix_submission(path, tmp_path / "out.json", GOLD)
    assert left.refused == 0
    assert not left.mendable
    fixed = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [row["questionId"] for row in fixed] == [row["questionId"] for row in CLEAN]
    assert [own["answer"] for own in fixed[:7] + fixed[8:]] == [own["answer"] for own in CLEAN[:7] + CLEAN[8:]]


@pytest.mark.parametrize("run", RUNS)
def test_mended_runs_score_no_lower(run: str, tmp_path: Path) -> None:
    path = FOLDER / f"pred_{run}.json"
    left = fix_submission(path, tmp_path / "out.json", GOLD)
    before = check_submission(path, GOLD).counts
    before.pop("answer-blanks", None)
    assert left.counts == before
    assert scored(tmp_path / "out.json") >= scored(path)


def test_mended_in_place_and_only_into_the_form_of_the_portal(rows: Rows, tmp_path: Path) -> None:
    rows[7]["answer"] = [ANSWER]
    path = written(tmp_path / "run.json", rows)
    with pytest.raises(
        FormatError, match=r"out.csv: expected a file name ending in \.json, since the portal of rrc, whose"
    ):
        fix_submission(path, tmp_path / "out.csv", GOLD)
    with pytest.raises(FormatError, match=r"out.txt: expected a file name ending in \.json, \.jsonl, \.csv\."):
        fix_submission(tmp_path / "before it is opened", tmp_path / "out.txt", GOLD)
    assert fix_submission(path, path, GOLD).counts == {}
    assert [own.name for own in tmp_path.iterdir()] == ["run.json"]


def test_a_lone_surrogate_is_written_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('[{"questionId": "1", "answer": "\\ud800 é"}]', encoding="utf-8")
    assert fix_submission(path, tmp_path / "out.json").counts == {}
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == [{"questionId": 1, "answer": "\ud800 é"}]


# ---------------------------------------------------------------------------------------------------
# What the portal says of any submission
# ---------------------------------------------------------------------------------------------------

ids = st.one_of(
    st.integers(1, 4),
    st.integers(1, 4).map(str),
    st.integers(1, 4).map(float),
    st.sampled_from([None, "x", " 1", "2.0"]),
)
answers_of_rows = st.one_of(
    st.sampled_from(["Lima", " Lima ", "", "no", "**Lima**"]),
    st.sampled_from([None, 3, 0.5, True, ["Lima"], ["a", "b"], [], {"a": 1}]),
)
rows_of_any_kind = st.fixed_dictionaries({"questionId": ids, "answer": answers_of_rows})


@st.composite
def submissions(draw: st.DrawFn) -> Rows:
    """The three questions in any order, most of them untouched."""
    rows: Rows = [{"questionId": number, "answer": "Lima"} for number in draw(st.permutations([1, 2, 3]))]
    for row in draw(st.lists(st.sampled_from(rows), max_size=2)):
        row.update(
            draw(rows_of_any_kind if draw(st.booleans()) else st.fixed_dictionaries({"answer": answers_of_rows}))
        )
    return rows + draw(st.lists(rows_of_any_kind, max_size=1))


QUESTIONS = [{"questionId": number, "answers": ["Lima"]} for number in (1, 2, 3)]


def is_taken(rows: list[dict[str, Any]]) -> bool:
    """What the script of the Robust Reading Competition does: it takes the rows, or stops."""
    given, expected = [row["questionId"] for row in rows], [1, 2, 3]
    try:
        if sorted(given) != expected:
            return False
        by_id = {int(row["questionId"]): row for row in rows}
        for own in expected:
            by_id[own]["answer"].strip()
    except (TypeError, ValueError, KeyError, AttributeError):
        return False
    return True


@given(rows=submissions())
@examples(300)
def test_refused_is_what_the_portal_refuses(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("portal")
    gold = written(folder / "gold.json", {"data": QUESTIONS})
    path = written(folder / "run.json", rows)
    assert (check_submission(path, gold).refused == 0) == is_taken(rows)


def is_taken_by_dude(rows: list[dict[str, Any]]) -> bool:
    """What DUDE's script does, whose ids are compared as text, for questions whose answer is no list."""
    if sorted(str(row["questionId"]) for row in rows) != ["1", "2", "3"]:
        return False
    try:
        for row in rows:
            (row["answers"][0] if row["answers"] and isinstance(row["answers"], list) else row["answers"] or "").strip()
            len(row["answers"])
    except (TypeError, AttributeError):
        return False
    return True


@given(rows=submissions())
@examples(300)
def test_refused_is_what_dude_refuses(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("dude")
    gold = written(folder / "gold.json", {"data": [{**row, "answers_variants": []} for row in QUESTIONS]})
    rows = [{"questionId": row["questionId"], "answers": row["answer"]} for row in rows]
    path = written(folder / "run.json", rows)
    assert (check_submission(path, gold, format="dude").refused == 0) == is_taken_by_dude(rows)


def points(rows: Rows) -> float:
    return math.fsum(anls_score(row["answer"], ["Lima"]) for row in rows)


@given(rows=submissions())
@examples(100)
def test_fixes_are_complete_and_lose_no_points(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("fixes")
    gold = written(folder / "gold.json", {"data": QUESTIONS})
    path, out = written(folder / "run.json", rows), folder / "out.json"
    before, after = check_submission(path, gold), fix_submission(path, out, gold)
    assert after.refused <= before.refused
    again = fix_submission(out, folder / "again.json", gold)
    if not after.mendable:
        assert (folder / "again.json").read_bytes() == out.read_bytes()
        assert again.counts == after.counts
    if is_taken(rows):
        fixed = json.loads(out.read_text(encoding="utf-8"))
        assert is_taken(fixed)
        assert points(fixed) >= points(rows)


# ---------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path) -> None:
    run = written(
        tmp_path / "run.json", [{"questionId": "1", "answer": "Lima"}, {"questionId": 2, "answer": "The answer is 3"}]
    )
    gold = written(tmp_path / "gold.json", {"data": [{"questionId": n, "answers": ["Lima", "3"]} for n in (1, 2)]})
    result = CliRunner().invoke(app, ["check", str(run), "-r", str(gold)])
    assert result.exit_code == 1
    assert result.stdout == (
        f"{run}: rrc, 2 rows, checked against the rules of the portal rrc\n"
        "\n"
        "refused: id-text, 1, fixed by --fix. Write the id as an integer, without quotes: to this portal, 7 and "
        '"7" are different ids.\n'
        "  [0], question_id 1: '1'\n"
        "\n"
        "costs points: answer-prefix, 1. Give only the answer: the words before it count as wrong characters. Where "
        "steps are named, extract takes the answer out, when scoring and in a fixed file.\n"
        "  [1], question_id 2: 'The answer is'; extract final_answer takes out '3'\n"
        "\n"
        "The portal would reject this file.\n"
    )
    fixed = CliRunner().invoke(app, ["check", str(run), "-r", str(gold), "--fix", str(tmp_path / "out.json")])
    assert fixed.exit_code == 0
    assert fixed.stdout.endswith(
        f"{tmp_path / 'out.json'}: written with 1 fix. The portal would accept this file. Remaining: answer-prefix 1.\n"
    )


def test_command_as_json(tmp_path: Path) -> None:
    run = written(tmp_path / "run.json", [{"questionId": 1, "answer": ["Lima"]}])
    result = CliRunner().invoke(app, ["check", str(run), "--json", "--fix", str(tmp_path / "out.json")])
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["refused"], shown["mended"]["refused"]) == (0, 1, 0)
    assert shown["problems"] == [
        {
            "code": "answer-list",
            "severity": "refused",
            "row": 0,
            "place": "[0]",
            "question_id": "1",
            "found": "['Lima']",
            "remedy": "Give one text, not a list.",
            "certain": True,
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([str(RUN), "-r", str(GOLD)], 0, "The portal would accept this file."),
        ([str(GOLD.parent / "nothing.json")], 2, "cannot be opened"),
        ([str(RUN), "-r", str(GOLD), "--columns", "prediction"], 2, "expected ROLE=NAME"),
        ([str(RUN), "-r", "nothing.json"], 2, "cannot be opened"),
        ([str(RUN.parent)], 2, f"error: {RUN.parent}: this is a folder; expected one file. Check each file on its"),
        ([f"{RUN.parent}/*.json"], 2, "this is a pattern; expected one file"),
        ([str(RUN), "--format", "docvqa"], 2, "unknown format 'docvqa'"),
    ],
)
def test_exit_status(arguments: list[str], status: int, said: str) -> None:
    command = [sys.executable, "-m", "anls_eval", "check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_errors_are_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("number,words\n1,Lima\n")
    command = [sys.executable, "-m", "anls_eval", "check", str(tmp_path / "run.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path / 'run.csv'}: no column holds the predictions")
    assert done.stderr.endswith("To name the right one, pass --columns prediction=NAME.\n")
    told = done.stderr
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, told)
    assert json.loads(done.stdout)["problems"][0]["found"].endswith("pass --columns prediction=NAME.")
    report = check_submission(tmp_path / "run.csv")
    assert report.problems[0].found.endswith('pass columns={"prediction": "NAME"}.')
    assert json.loads(json.dumps(report.to_dict()))["counts"] == {"unreadable": 1}


def test_progress(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("id,prediction\n" + "".join(f"{row},x\n" for row in range(40_000)))
    done: list[int] = []
    check_submission(path, on_progress=done.append)
    assert done == [16_384, 32_768, 40_000, 56_384, 72_768, 80_000]  # the ids, then all


def test_no_rows(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("id,prediction\n")
    report = check_submission(tmp_path / "run.csv")
    assert (report.refused, report.counts) == (1, {"no-rows": 1})
    assert (report.problems[0].found, report.problems[0].remedy) == (
        "the file has columns but no rows",
        "Write one row for each question.",
    )


KEYS = ["questionId", "id", "answer", "answers", "prediction", "data"]
garbage = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["1", "1.0", "1e400"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=12,
)


@given(rows=st.lists(garbage, max_size=5), format_name=st.sampled_from([None, "rrc", "dude", "json"]))
@examples(300)
def test_anything_is_checked(rows: Rows, format_name: str | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("anything")
    path = folder / "run.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    gold = written(folder / "gold.json", {"data": QUESTIONS})
    reports = [check_submission(path, format=format_name), check_submission(path, gold, format=format_name)]
    assert reports[0].is_readable == reports[1].is_readable
    with contextlib.suppress(ValueError):  # in words; anything else is a fault
        left = fix_submission(path, folder / "out.json", gold, format=format_name)
        assert left.is_readable
        if left.portal == reports[1].portal:  # a file that had no portal may have one when its keys are right
            assert left.refused <= reports[1].refused


@pytest.mark.parametrize("blank", [[], None, ""])
def test_a_test_split_whose_answers_are_blank(blank: object, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('[{"questionId": 1, "answer": "x"}]')
    (tmp_path / "test.json").write_text(json.dumps([{"questionId": 1, "answers": blank}]))
    report = check_submission(tmp_path / "run.json", tmp_path / "test.json")
    assert [own.code for own in report.problems] == ["no-answers"]
