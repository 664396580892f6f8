"""The command line, run as a user runs it."""

import contextlib
import csv
import datetime
import gzip
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from docvqa_runs import FOLDER, RUNS, some
from fuzz.files import WRITERS
from huggingface_hub import EvalResultEntry, parse_eval_result_entries
from in_process import Ran
from places import DATA, EXAMPLES, ROOT

from anls_eval.check.check import check_submission
from anls_eval.cli import common
from anls_eval.files import Reader, write_rows
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS
from anls_eval.registry import get_protocol, protocol_from_signature, signature
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import explain
from anls_eval.version import __version__

GOLD = FOLDER / "references.json"
RUN = FOLDER / "pred_qwen2_vl_7b.json"
SOME_RUNS = RUNS[:3]  # of six, whose ranking takes seconds
DUDE = (
    *sorted((EXAMPLES / "dude").glob("*submission*.json")),
    "-r",
    EXAMPLES / "dude" / "DUDE_demo_gt.json",
    "-p",
    "dude",
)


def refused(ran: Ran) -> str:
    """What a command that failed says: in words, on stderr, and nothing else."""
    assert (ran.status, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    return ran.err


class TestAsAProgram:
    def anls(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "anls_eval", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)

    def test_score(self) -> None:
        found = self.anls("score", RUN, "-r", GOLD, "--json")
        assert found.returncode == 0
        assert found.stderr.endswith("To take it out, pass --extract answer_line.\n")
        assert json.loads(found.stdout)["anls_score"] == pytest.approx(0.259553, abs=1e-6)

    def test_an_error(self) -> None:
        found = self.anls("score", "nothing.json", "-r", GOLD)
        assert (found.returncode, found.stdout) == (2, "")
        assert found.stderr.startswith("error: nothing.json: cannot be opened")

    def test_the_help_imports_no_metric(self) -> None:
        script = (
            "import sys; sys.argv = ['anls', '--help']\n"
            "from anls_eval.cli import commands\n"
            "try: commands.main()\n"
            "except SystemExit: pass\n"
            "sys.exit(sum(name in sys.modules for name in ('evaluate', 'datasets', 'pyarrow', 'numpy', 'rapidfuzz')))"
        )
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert found.returncode == 0
        for command in ("protocols", "explain", "score", "diagnose"):
            assert command in found.stdout

    def test_without_what_it_needs(self, tmp_path: Path) -> None:
        (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(name='typer')")
        script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from anls_eval.__main__ import main; main()"
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert found.returncode == 2
        assert found.stderr == "error: the command line needs typer: pip install '.[eval]' in the folder of anls\n"

    @pytest.mark.parametrize(
        ("module", "extra", "arguments"),
        [("dask", "dask", ("--workers", "2", "--out", "scored")), ("jinja2", "eval", ("--report", "report.html"))],
    )
    def test_without_an_extra(self, module: str, extra: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
        command = ["anls", "score", str(RUN), "-r", str(GOLD), *arguments[:-1], str(tmp_path / arguments[-1])]
        script = (
            f"import sys; sys.modules[{module!r}] = None; sys.argv = {command}\n"
            "from anls_eval.cli import commands; commands.main()"
        )
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (found.returncode, found.stdout) == (2, "")
        remedy = f"pip install '.[{extra}]' in the folder of anls"
        assert found.stderr.splitlines()[-1] == f"error: this needs {module}: {remedy}"
        assert list(tmp_path.iterdir()) == []


COMMANDS = "protocols, explain, score, compare, leaderboard, diagnose, check, gate, audit, agreement, automate, fields"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "a.csv", "--workers", "two"], r"--workers two: expected a whole number of at least 1\."),
        (["gate", "a", "-r", "b", "--max-drop", "2%"], r"--max-drop 2%: expected a number, such as 0\.01\."),
        (["gate", "a", "-r", "b", "--min-score", "0,9"], r"--min-score 0,9: expected a number, such as 0\.8\."),
        (["automate", "a", "-r", "b", "--max-error", "5%"], r"--max-error 5%: expected a number, such as 0\.01\."),
        (["score", "a.csv", "--patience", "5s"], r"--patience 5s: expected a number, such as 30\."),
        (
            [
                "score",
                str(FOLDER / f"pred_{RUNS[0]}.json"),
                "-r",
                str(FOLDER / "references.json"),
                "-q",
                "--parse",
                "foo",
            ],
            "--parse foo: expected none, or some of predictions, answers",
        ),
        (["score", "a.csv", "--workers", "0"], r"--workers 0: expected a whole number of at least 1\."),
        (["compare", "a", "b", "-r", "c", "--seed", "1.5"], r"--seed 1\.5: expected a whole number of at least 0\."),
        (["score", "a.csv", "--nope"], r"no such option:? '?--nope'?\. `.* score --help` lists what it takes\."),
        (["--nope"], r"no such option:? '?--nope'?\. `.* --help` lists what it takes\."),
        (["score"], r"PREDICTIONS is missing\. The predictions: a file, a folder, .*"),
        (["compare", "a", "b"], r"--references is missing\. The accepted answers: a file, a folder, .*"),
        (["protocols", "a", "b"], r"got unexpected extra .*\(b\)\. `.* protocols --help` lists what it takes\."),
        (["explain", "--json-file"], r"option '--json-file' requires an argument\."),
        (["score", "a.csv", "--json=1"], r"option '--json' does not take a value\."),
        (["nothing"], rf"no such command 'nothing'\. Expected one of {COMMANDS}\."),
        (["scor"], rf"no such command 'scor'\. Did you mean 'score'\? Expected one of {COMMANDS}\."),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, run: Any) -> None:
    """One form for all: a line in our words, without the usage box."""
    assert re.fullmatch(f"error: {message}\n", refused(run(*arguments)))


def test_without_a_command(run: Any) -> None:
    found = refused(run())
    assert found.startswith("Usage: ")
    assert all(name in found for name in COMMANDS.split(", "))


def test_version(run: Any) -> None:
    assert run("--version") == (0, f"anls {__version__}\n", "")


class TestProtocols:
    def test_list(self, run: Any) -> None:
        found = run("protocols").out
        assert all(name in found for name in (*PROTOCOLS, *LEADERBOARDS, *BENCHMARKS, "infographicvqa"))
        assert "MMESGBench as documented\n" in found
        assert "MMLongBench-Doc" in found
        families = [line for line in found.splitlines() if line in {"Texts", "Trees", "Donut", "CC-OCR", "KIEval"}]
        assert families == ["Texts", "Trees", "Donut", "CC-OCR", "KIEval"]

    @pytest.mark.parametrize("name", [*PROTOCOLS, *LEADERBOARDS, *BENCHMARKS])
    def test_each(self, name: str, run: Any) -> None:
        own = LEADERBOARDS.get(name) or BENCHMARKS.get(name) or get_protocol(name)
        assert own.source in run("protocols", name).out
        assert json.loads(run("protocols", name, "--json").out)["name"] == name

    def test_json(self, run: Any) -> None:
        found = json.loads(run("protocols", "--json").out)
        assert list(found) == [*PROTOCOLS, *LEADERBOARDS, *BENCHMARKS]
        assert protocol_from_signature(found["due"]["signature"]) == get_protocol("due")

    def test_unknown(self, run: Any) -> None:
        message = refused(run("protocols", "rcc"))
        assert message.startswith("error: rcc: expected one of ")
        assert "Did you mean 'rrc'?" in message


class TestExplain:
    def test_answers(self, run: Any) -> None:
        found = run("explain", "CocaCola", "Coca Cola", "Pepsi")
        assert found.out == (
            "score 0.888889\n"
            "\n"
            "Coca Cola (closest)\n"
            "  1 of 9 characters differs: similarity 0.8889, at least the threshold 0.5, so it scores 0.8889.\n"
            "    answer      coca cola\n"
            "    prediction  coca∅cola\n"
            "                    D\n"
            "\n"
            "Pepsi\n"
            "  8 of 8 characters differ: similarity 0, below the threshold 0.5, so it scores 0.\n"
            "    answer      ∅∅∅pepsi\n"
            "    prediction  cocacola\n"
            "                IIISSSSS\n"
            "\n"
            f"{signature(n=1)}\n"
        )

    def test_json(self, run: Any) -> None:
        found = json.loads(run("explain", "ab", "ac", "-p", "paper", "--threshold", "0.4", "--json").out)
        assert (found["score"], found["comparisons"][0]["distance"]) == (0.5, 1)

    def test_markup_is_text(self, run: Any) -> None:
        found = run("explain", "[red]x[/red]", "[bold]", "[link=a]b[/link]")
        assert "\n[bold]" in found.out
        assert "\n[link=a]b[/link]" in found.out

    def test_tabs_are_spaces(self, run: Any) -> None:
        assert refused(run("score", "a\tb.csv")).startswith("error: a        b.csv: cannot be opened")

    def test_names_of_emoji_are_text(self, run: Any) -> None:
        found = run("explain", ":dog: a", ":dog: b").out
        assert "\n    answer      :dog: b\n    prediction  :dog: a\n                      S\n" in found

    def test_a_leaderboard(self, run: Any) -> None:
        found = run("explain", "['b', 'a']", "['a', 'b']", "-p", "mmlongbench", "--answer-type", "List")
        assert found.out.startswith("score 1\n\nmmlongbench: Texts are cleaned")
        assert "--answer-type" in refused(run("explain", "a", "a", "-p", "mmlongbench"))

    def test_a_document(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "document.json"
        prediction, reference = {"date": "2024-01-03"}, {"date": {"$one_of": ["2024-01-02", "x"]}, "total": 17.99}
        path.write_text(json.dumps({"prediction": prediction, "reference": reference}))
        explanation = explain(prediction, reference)
        assert run("explain", "--json-file", path).out == f"{explanation}\n"
        assert json.loads(run("explain", "--json-file", path, "--json").out) == explanation.to_dict()
        paper = run("explain", "--json-file", path, "-p", "anls_star_paper", "-t", "0.95")
        assert paper.out.startswith("score 0 = 0 of 2")

    @pytest.mark.parametrize("arguments", [[], ["a"], ["a", "b", "--json-file", "c.json"]])
    def test_what_is_expected(self, arguments: list[str], run: Any) -> None:
        assert "expected a PREDICTION with at least one ANSWER, or --json-file FILE" in refused(
            run("explain", *arguments)
        )

    def test_documents_are_in_a_file(self, run: Any) -> None:
        message = refused(run("explain", "Lima", "Rome", "-p", "anls_star"))
        assert message == "error: --protocol anls_star scores documents: pass --json-file FILE.\n"

    def test_notes_are_on_stderr(self, run: Any) -> None:
        found = run("explain", "ab   ", "ac", "-p", "rrc")
        assert "note: protocol 'rrc' divides by raw lengths" in found.err


class TestScore:
    def test_table(self, run: Any) -> None:
        found = run("score", RUN, "-r", GOLD, "-p", "rrc")
        assert found.out.splitlines()[0].split() == ["ANLS", "0.269135"]
        assert found.out.endswith(f"\n\n{signature('rrc', n=1000)}\n")
        assert f"{RUN}: rrc; question_id=questionId, prediction=answer\n" in found.err
        assert "extra whitespace raised the score of" in found.err

    def test_quiet(self, run: Any) -> None:
        assert run("score", RUN, "-r", GOLD, "--quiet", "--extract", "answer_line").err == ""

    def test_json(self, run: Any) -> None:
        found = run("score", RUN, "-r", GOLD, "--json", "--threshold", "0.8")
        assert found.err.count("note: ") == 1  # which names steps of --extract
        result = json.loads(found.out)
        assert {"anls_score", "n", "missing", "signature", "by"} <= result.keys()
        assert result["signature"] == signature(threshold=0.8, n=1000)

    def test_groups_and_rows(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "rows.csv"
        folder = EXAMPLES / "dude"
        arguments = [folder / "DUDE_demo_submission_imperfect.json", "-r", folder / "DUDE_demo_gt.json", "-p", "dude"]
        found = run("score", *arguments, "--by", "answer_type", "--by", "data_split", "--per-question", path)
        assert "by answer_type" in found.out
        assert "by data_split" in found.out
        with path.open(encoding="utf-8", newline="") as stream:
            assert len(list(csv.DictReader(stream))) == 11

    def test_trees(self, run: Any) -> None:
        path = DATA / "documents" / "invoices.jsonl"
        arguments = ["score", path, "--columns", "prediction=pred", "--columns", "answers=gold", "-p", "anls_star"]
        found = run(*arguments)
        assert found.out.splitlines()[0].split() == ["ANLS*", "0.724090"]
        assert "  supplier.name " in found.out
        assert json.loads(run(*arguments, "--json").out)["key_scores"]["supplier"]["children"]["name"]["documents"] == 9

    def test_ids_that_do_not_match(self, run: Any, tmp_path: Path) -> None:
        rows = json.loads(RUN.read_text(encoding="utf-8"))
        path = tmp_path / "submission.json"
        path.write_text(json.dumps([*rows[:-1], {"questionId": 999999999, "answer": "x"}]))
        message = refused(run("score", path, "-r", GOLD, "--per-question", tmp_path / "rows.parquet"))
        assert f"has no prediction: question_id '{rows[-1]['questionId']}'" in message
        assert "has no reference: question_id '999999999'" in message
        assert "pass --missing zero" in message
        assert "pass --unknown ignore" in message
        assert not (tmp_path / "rows.parquet").exists()
        found = json.loads(run("score", path, "-r", GOLD, "--missing", "zero", "--unknown", "ignore", "--json").out)
        assert (found["missing"], found["unknown"], found["n"]) == (1, 1, 1000)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-p", "rcc"], "Did you mean 'rrc'?"),
            (["-t", "2"], "--threshold 2: expected a number from 0 to 1"),
            (["-t", "7/5"], "--threshold 7/5: expected a number from 0 to 1"),
            (["-t", "1/0"], "--threshold 1/0: expected"),
            (["--seed", "-1"], "--seed -1: expected a whole number of at least 0"),
            (["--by", "page"], "has the column 'page'"),
            (["--columns", "prediction"], "expected ROLE=NAME"),
            (["--columns", "prediction=text"], "'text'"),
            (
                ["--columns", "predictions=answer"],
                "'predictions' is not a role. Expected ROLE=NAME with one of question_id",
            ),
            (["--columns", "predictions=answer"], "document. Did you mean prediction=answer?"),
            (
                ["--columns", "pred=prediction"],
                "--columns pred=prediction: 'pred' is not a role. Expected ROLE=NAME with",
            ),
            (["--columns", "pred=prediction"], "document. Did you mean prediction=pred?"),
            (["--missing", "skip"], "--missing skip: expected one of 'error', 'zero'"),
            (["--format", "xml"], "unknown format 'xml'"),
            (["--per-question", "rows.txt"], "expected a name ending in .parquet, .csv or .jsonl"),
            (["-p", "dude"], "name its column, pass --columns answer_type=NAME"),
        ],
    )
    def test_wrong_options(self, arguments: list[str], message: str, run: Any) -> None:
        assert message in refused(run("score", RUN, "-r", GOLD, *arguments))

    def test_a_file_without_references(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "predictions.csv"
        path.write_text("id,prediction\n1,a\n")
        assert f"{path} has no accepted answers; name the file that has them with -r" in refused(run("score", path))

    def test_one_file_with_both(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "both.csv"
        path.write_text('id,prediction,answers\n1,a,"[""a"", ""b""]"\n2,b,c\n')
        assert json.loads(run("score", path, "--json").out)["anls_score"] == 0.5


@pytest.mark.parametrize("run_name", some("llama_maverick", "qwen2_vl_7b"))
def test_one_score_in_every_format(run_name: str, run: Any, tmp_path: Path) -> None:
    """The same answers as RRC JSON, JSON Lines, CSV, TSV, Parquet and compressed, in any combination."""
    predictions = json.loads((FOLDER / f"pred_{run_name}.json").read_text(encoding="utf-8"))
    gold = json.loads(GOLD.read_text(encoding="utf-8"))["data"]
    sides = {
        "predictions": [{"question_id": row["questionId"], "prediction": row["answer"]} for row in predictions],
        "references": [{"question_id": row["questionId"], "answers": row["answers"]} for row in gold],
    }
    for side, rows in sides.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{side}.jsonl").write_text(lines, encoding="utf-8")
        (tmp_path / f"{side}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{side}.parquet")
        for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            cells = [
                {key: json.dumps(own) if isinstance(own, list) else own for key, own in row.items()} for row in rows
            ]
            writer.writerows(cells)
            (tmp_path / f"{side}.{suffix}").write_text(text.getvalue(), encoding="utf-8", newline="")
    expected = json.loads(run("score", FOLDER / f"pred_{run_name}.json", "-r", GOLD, "--json").out)
    suffixes = ["jsonl", "csv", "parquet", "tsv", "jsonl.gz"]
    for own, other in zip(suffixes, suffixes[1:] + suffixes[:1], strict=True):
        found = run("score", tmp_path / f"predictions.{own}", "-r", tmp_path / f"references.{other}", "--json")
        result = json.loads(found.out)
        if other in ("csv", "tsv"):  # whose lists are texts that were taken apart, which is recorded
            assert "|parse:references|" in result["signature"]
            assert result["notes"][0].startswith("1,000 of 1,000 answers are printed")
            result |= {"signature": expected["signature"], "notes": expected["notes"]}
        assert result == expected


class TestIntervals:
    def test_of_one_system(self, run: Any) -> None:
        found = json.loads(run("score", RUN, "-r", GOLD, "--json").out)
        low, high = found["confidence_interval"]
        assert low < found["anls_score"] < high
        assert found["confidence_level"] == 0.95
        assert "clusters" not in found

    def test_by_document(self, run: Any, tmp_path: Path) -> None:
        predictions = [{"id": own, "prediction": "a" * (own // 20) + "b" * (9 - own // 20)} for own in range(200)]
        references = [
            {"id": own, "answers": ["aaaaaaaaa"], "page": own // 20, "document": own // 21} for own in range(200)
        ]
        for name, rows in (("p", predictions), ("r", references)):
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments = ["score", tmp_path / "p.jsonl", "-r", tmp_path / "r.jsonl", "--json"]
        alone, by_page = (json.loads(run(*arguments, *more).out) for more in ([], ["--cluster-by", "page"]))
        assert by_page["clusters"] == 10
        widths = [own["confidence_interval"][1] - own["confidence_interval"][0] for own in (alone, by_page)]
        assert widths[1] > 2 * widths[0]
        assert "10 clusters" in run(*arguments[:-1], "--cluster-by", "page").out
        for column, is_drawn in (("page", False), ("document", True)):  # all pages are of one size
            seeds = [json.loads(run(*arguments, "--cluster-by", column, "--seed", seed).out) for seed in ("0", "7")]
            assert (seeds[0]["confidence_interval"] != seeds[1]["confidence_interval"]) is is_drawn

    @pytest.mark.parametrize(
        ("ending", "page", "found"),
        [
            ("jsonl", None, "no value"),
            ("parquet", None, "no value"),
            ("csv", "", "no value"),
            ("parquet", " ", "no value"),
            ("jsonl", ["7", "8"], "several values"),
        ],
    )
    def test_a_question_without_one_document(
        self, ending: str, page: Any, found: str, run: Any, tmp_path: Path
    ) -> None:
        """Questions without one are not one document, which would hide what there is to prove."""
        row = {"prediction": "a", "answers": "a", "confidence": 0.5}
        both, other = tmp_path / f"both.{ending}", tmp_path / f"other.{ending}"
        both.write_bytes(WRITERS[ending]([{"id": 1, "page": "7", **row}, {"id": 2, "page": page, **row}]))
        shutil.copy(both, other)
        words = f"question_id '2' has {found} in 'page'; expected the document that it is about"
        for command in (
            ("score", both),
            ("score", both, "--report", tmp_path / "report.html"),
            ("compare", both, other, "-r", both),
            ("leaderboard", both, other, "-r", both),
            ("gate", both, "-r", both, "--baseline", other),
            ("gate", both, "-r", both, "--power", "--max-drop", "0.1"),
            ("automate", both, "-r", both, "--confidence", "confidence", "--max-error", "0.1"),
        ):
            assert words in refused(run(*command, "--cluster-by", "page", "-q"))

    @pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
    def test_questions_without_a_group(self, ending: str, run: Any, tmp_path: Path) -> None:
        kinds = ["a", "a", " ", "" if ending == "csv" else None, ""]
        rows = [{"id": row, "prediction": "x", "answers": ["x"], "kind": own} for row, own in enumerate(kinds)]
        both = tmp_path / f"both.{ending}"
        both.write_bytes(WRITERS[ending](rows))
        note = "note: 3 of 5 questions have no value in 'kind' and are in none of its groups"
        scored = run("score", both, "--by", "kind", "--json")
        assert [*json.loads(scored.out)["by"]["kind"]] == ["a"]
        assert note in scored.err
        gated = run("gate", both, "-r", both, "--baseline", both, "--by", "kind", "--json")
        assert [own["group"] for own in json.loads(gated.out)["comparisons"]] == ["", "a"]
        assert note in gated.err


class TestCompare:
    @pytest.mark.long  # tests/statistics/test_ranking.py has the same systems
    def test_real_systems(self, run: Any) -> None:
        """The group is 1 plus the number of systems that are significantly better."""
        found = json.loads(run("compare", *FOLDER.glob("pred_*.json"), "-r", GOLD, "--json").out)
        assert [(own["name"], own["rank"], own["rank_group"]) for own in found["systems"]] == [
            ("pred_llama_maverick", 1, 1),
            ("pred_qwen2_vl_7b_instruct", 2, 2),
            ("pred_llama_nemotron", 3, 2),
            ("pred_qwen2_vl_2b_instruct", 4, 4),
            ("pred_llama_scout", 5, 5),
            ("pred_qwen2_vl_7b", 6, 6),
        ]
        for own in found["systems"]:
            assert own["interval"][0] < own["score"] < own["interval"][1]
        pair = found["comparisons"][0]
        assert (pair["a"], pair["b"]) == ("pred_llama_maverick", "pred_qwen2_vl_7b_instruct")
        assert (pair["wins"], pair["losses"], pair["ties"]) == (124, 77, 799)
        assert pair["difference"] == pytest.approx(0.922824 - 0.894217, abs=1e-6)
        assert pair["p_value"] <= pair["p_adjusted"]

    def test_which_to_believe_if_interval_and_test_seem_to_disagree(self, run: Any, tmp_path: Path) -> None:
        """In text, in JSON and in reports."""
        for name, wrong in (("all", 0), ("most", 3)):
            rows = [{"id": row, "prediction": "lima" if row >= wrong else "x"} for row in range(100)]
            (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        gold = tmp_path / "gold.jsonl"
        gold.write_text("\n".join(json.dumps({"id": row, "answer": "lima"}) for row in range(100)))
        systems, page = (tmp_path / "all.jsonl", tmp_path / "most.jsonl"), tmp_path / "report.html"
        said = "the interval excludes 0 but the test finds no difference (p = 0.25; 3 of 100 questions differ): "
        said += "believe the test"
        text = run("compare", *systems, "-r", gold, "--report", page)
        assert f"all - most: {said}" in " ".join(text.err.split())
        assert said[1:] in html.unescape(page.read_text())
        for command in ("compare", "leaderboard"):
            [pair] = json.loads(run(command, *systems, "-r", gold, "--json").out)["comparisons"]
            assert pair["notes"] == [said]
            assert pair["interval"][0] > 0

    def test_table(self, run: Any) -> None:
        found = run("compare", *sorted(FOLDER.glob("pred_qwen2*.json")), "-r", GOLD).out
        said, *lines = [line.split() for line in found.splitlines()]
        assert " ".join(said).startswith("pred_qwen2_vl_7b_instruct is better than pred_qwen2_vl_2b_instruct by 0.2")
        assert lines[2][:4] == ["1", "1", "pred_qwen2_vl_7b_instruct", "0.894217"]
        assert ["307", "53", "640"] in [line[-3:] for line in lines]

    def test_by_group(self, run: Any) -> None:
        found = json.loads(run("compare", *DUDE, "--by", "answer_type", "--json").out)
        assert [own["group"] for own in found["by"]["answer_type"]] == sorted(
            own["group"] for own in found["by"]["answer_type"]
        )
        assert sum(own["n"] for own in found["by"]["answer_type"]) == 11
        weighted = sum(own["n"] * own["difference"] for own in found["by"]["answer_type"]) / 11
        assert weighted == pytest.approx(found["comparisons"][0]["difference"])
        lines = run("compare", *DUDE, "--by", "answer_type", "--cluster-by", "docId").out.splitlines()
        heading = next(row for row, line in enumerate(lines) if line.startswith("by answer_type"))
        assert [re.split("  +", line)[0] for line in lines[heading + 1 : -2]] == [
            own["group"] for own in found["by"]["answer_type"]
        ]
        assert "one document" in "".join(lines)

    def test_long_names(self, run: Any, tmp_path: Path) -> None:
        """A table leaves out the middle of a name, and JSON nothing."""
        names = ["a" * 120 + "-first", "a" * 120 + "-second"]
        for name, own in zip(names, sorted(FOLDER.glob("pred_*.json")), strict=False):
            (tmp_path / f"{name}.json").write_bytes(own.read_bytes())
        arguments = ["compare", *(tmp_path / f"{name}.json" for name in names), "-r", GOLD]
        shown = run(*arguments).out
        assert "aaa…aaa" in shown
        assert all(ending in shown for ending in ("-first ", "-second "))
        assert max(map(len, shown.splitlines()[:-1])) < 250
        assert sorted(own["name"] for own in json.loads(run(*arguments, "--json").out)["systems"]) == names

    def test_long_names_stay_different(self, run: Any, tmp_path: Path) -> None:
        """Also where only their middle tells them apart."""
        folders = [tmp_path / f"{'a' * 60}-model-{own}-{'a' * 60}" for own in "xy"]
        for folder, predictions in zip(folders, sorted(FOLDER.glob("pred_*.json")), strict=False):
            folder.mkdir()
            (folder / "predictions.json").write_bytes(predictions.read_bytes())
        paths = [folder / "predictions.json" for folder in folders]
        _, ranked, compared = run("compare", *paths, "-r", GOLD, "-q").out.split("\n\n")[:3]
        for own in "xy":
            assert [table.count(f"-model-{own}-") for table in (ranked, compared)] == [1, 1]
        for folder, path in zip(folders, paths, strict=True):
            path.rename(tmp_path / f"{folder.name}.json")
            folder.rmdir()
        board = run("leaderboard", tmp_path, "-r", GOLD, "-q").out
        assert [board.count(f"-model-{own}-") for own in "xy"] == [1, 1]

    def test_systems_in_any_order_of_questions(self, run: Any, tmp_path: Path) -> None:
        rows = [{"id": own, "prediction": str(own % 7)} for own in range(50)]
        (tmp_path / "r.jsonl").write_text(
            "".join(json.dumps({"id": own, "answers": ["3"]}) + "\n" for own in range(50))
        )
        for name, own in (("a", rows), ("b", rows[::-1])):
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
        found = json.loads(
            run("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-r", tmp_path / "r.jsonl", "--json").out
        )
        assert (found["comparisons"][0]["ties"], found["systems"][1]["rank"]) == (50, 1)

    def test_refused(self, run: Any, tmp_path: Path) -> None:
        assert "at least two systems" in refused(run("compare", RUN, "-r", GOLD))
        assert f"{str(RUN)!r} is given twice" in refused(run("compare", RUN, RUN, "-r", GOLD))
        (tmp_path / "cut.json").write_text('[{"questionId": 1')
        message = refused(run("compare", RUN, tmp_path / "cut.json", "-r", GOLD, "-q"))
        assert message.startswith("error: cut: ")
        assert "line 1" in message


class TestLeaderboard:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "runs"
        folder.mkdir()
        for name in ("references", "reference_scores", *(f"pred_{run}" for run in SOME_RUNS)):
            (folder / f"{name}.json").write_bytes((FOLDER / f"{name}.json").read_bytes())
        (folder / "cut.json").write_text('[{"questionId": 1, "answer": "<b>|')
        (folder / "other|split.csv").write_text("id,prediction\n1,a\n")
        (folder / ".hidden").write_text("x")
        return folder

    @pytest.mark.parametrize("suffix", ["md", "csv", "html", "json"])
    def test_files(self, suffix: str, folder: Path, run: Any, tmp_path: Path) -> None:
        path = tmp_path / f"leaderboard.{suffix}"
        found = run("leaderboard", folder, "-r", folder / "references.json", "--out", path)
        assert found.status == 0
        skipped = [line for line in found.err.splitlines() if line.startswith("skipped: ")]
        assert [line.split(": ")[1].rpartition("/")[2] for line in skipped] == [
            "cut.json", "other|split.csv", "reference_scores.json",
        ]  # fmt: skip
        text = path.read_text(encoding="utf-8")
        for name in SOME_RUNS:
            assert f"pred_{name}" in text
        assert signature(n=1000) in text.replace("&gt;", ">")
        if suffix == "json":
            result = json.loads(text)
            assert [own["file"].rpartition("/")[2] for own in result["skipped"]] == [
                "cut.json", "other|split.csv", "reference_scores.json",
            ]  # fmt: skip
            assert json.loads(run("leaderboard", folder, "-r", folder / "references.json", "--json").out) == result
        if suffix == "csv":
            assert [row["rank"] for row in csv.DictReader(io.StringIO(text))] == list("123")
        if suffix == "md":
            assert "other\\|split.csv" in text
        if suffix == "html":
            assert "There is no id in common" in text

    def test_what_cannot_be_read(self, folder: Path, run: Any, tmp_path: Path) -> None:
        assert "is not a folder" in refused(run("leaderboard", GOLD, "-r", GOLD))
        assert f"Remove the quotes to rank each file: anls leaderboard {tmp_path}/*.json -r" in refused(
            run("leaderboard", f"{tmp_path}/*.json", "-r", GOLD)
        )
        (tmp_path / "empty").mkdir()
        assert "contains no prediction files" in refused(run("leaderboard", tmp_path / "empty", "-r", GOLD))
        assert "unknown file extension; expected one of .md, .csv, .html, .json" in refused(
            run("leaderboard", folder, "-r", GOLD, "--out", tmp_path / "x.txt", "-q")
        )
        (tmp_path / "empty" / "a.json").write_text("[")
        assert "no system could be scored:\n  " in refused(run("leaderboard", tmp_path / "empty", "-r", GOLD))


class TestManyFiles:
    """Several files are parts of one submission; a folder or a pattern stands for its files."""

    @pytest.fixture
    def parts(self, tmp_path: Path) -> Path:
        """The rows of a submission and its references in parts, of which ``part-10`` comes last."""
        for side, path in (("runs", RUN), ("gold", GOLD)):
            (tmp_path / side).mkdir()
            content = json.loads(path.read_text(encoding="utf-8"))
            rows = content["data"] if isinstance(content, dict) else content
            for number, start in ((1, 0), (2, 400), (10, 800)):
                text = json.dumps(rows[start : start + 400])
                (tmp_path / side / f"part-{number}.json").write_text(text, encoding="utf-8")
        return tmp_path

    def test_a_folder_a_pattern_or_a_list(self, parts: Path, run: Any) -> None:
        expected = json.loads(run("score", RUN, "-r", GOLD, "--json").out)
        names = [f"part-{number}.json" for number in (1, 10, 2)]
        for given, references in (
            ([parts / "runs"], [parts / "gold"]),
            ([parts / "runs" / "*.json"], [parts / "gold" / "*"]),
            ([parts / "runs" / name for name in names], [parts / "gold" / name for name in reversed(names)]),
            ([RUN], [parts / "gold"]),
            ([parts / "runs"], [GOLD]),
        ):
            options = [word for path in references for word in ("-r", path)]
            assert json.loads(run("score", *given, *options, "--json").out) == expected

    def test_all_options_of_one_process(self, parts: Path, run: Any, tmp_path: Path) -> None:
        for number, sides in enumerate(([RUN, "-r", GOLD], [parts / "runs", "-r", parts / "gold"])):
            found = run(
                *("score", *sides, "--per-question", tmp_path / f"{number}.jsonl", "--json"),
                *("--report", tmp_path / f"{number}.html"),
            )
            assert found.status == 0, found.err
        rows = [(tmp_path / f"{number}.jsonl").read_text().splitlines() for number in range(2)]
        assert sorted(rows[0]) == sorted(rows[1])
        assert "<b>runs</b>" in (tmp_path / "1.html").read_text() or "runs" in (tmp_path / "1.html").read_text()

    def test_what_is_read_is_said_once(self, parts: Path, run: Any) -> None:
        said = run("score", parts / "runs", "-r", parts / "gold", "--extract", "answer_line").err.splitlines()
        assert said == [
            f"{parts / 'runs'} (3 files): rrc; question_id=questionId, prediction=answer",
            f"{parts / 'gold'} (3 files): rrc; question_id=questionId, answers=answers",
        ]

    def test_one_folder_with_both_sides(self, run: Any, tmp_path: Path) -> None:
        for number, row in enumerate(("1,Lima,Lima", "2,Roma,Rome")):
            (tmp_path / f"{number}.csv").write_text(f"id,prediction,answers\n{row}\n")
        assert json.loads(run("score", tmp_path, "--json").out)["anls_score"] == 0.875
        (tmp_path / "2.csv").write_text("id,prediction\n3,Lima\n")
        assert f"{tmp_path} has no accepted answers; name the file that has them with -r" in refused(
            run("score", tmp_path)
        )

    def test_each_system_is_a_folder_or_a_pattern(self, parts: Path, run: Any) -> None:
        (parts / "runs").rename(parts / "ours")
        (parts / "all").mkdir()
        (parts / "ours").rename(parts / "all" / "ours")
        other = parts / "all" / "other.json"
        other.write_bytes((FOLDER / "pred_llama_scout.json").read_bytes())
        expected = json.loads(run("compare", RUN, other, "-r", GOLD, "--json").out)
        for each in (parts / "all" / "ours", parts / "all" / "ours" / "*.json"):
            found = json.loads(run("compare", each, other, "-r", parts / "gold", "--json").out)
            assert [own["name"] for own in found["systems"]] == ["other", "ours"]
            assert [own["score"] for own in found["systems"]] == [own["score"] for own in expected["systems"]]
        for systems in ([parts / "all"], [parts / "all" / "ours", other]):
            board = json.loads(run("leaderboard", *systems, "-r", GOLD, "--json").out)
            assert [(own["name"], own["score"]) for own in board["systems"]] == [
                (own["name"], own["score"]) for own in found["systems"]
            ]

    def test_documents(self, run: Any, tmp_path: Path) -> None:
        for side, total in (("predictions", "17.9"), ("references", "17.99")):
            (tmp_path / side).mkdir()
            for name in ("a", "b"):
                (tmp_path / side / f"{name}.json").write_text(json.dumps({"total": total, "name": name}))
        sides = tmp_path / "predictions", "-r", tmp_path / "references", "-p", "anls_star", "--json"
        expected = (0.8 + 1) / 2
        assert json.loads(run("score", *sides).out)["anls_star_score"] == pytest.approx(expected)
        (tmp_path / "predictions" / "b.json").rename(tmp_path / "predictions" / "c.json")
        said = refused(run("score", *sides))
        assert "1 question has no prediction: question_id 'b'" in said
        assert "1 prediction has no reference: question_id 'c'" in said
        found = json.loads(run("score", *sides, "--missing", "zero", "--unknown", "ignore").out)
        assert (found["anls_star_score"], found["missing"], found["unknown"]) == (pytest.approx(expected / 2), 1, 1)

    def test_an_output_among_what_is_read(self, parts: Path, run: Any) -> None:
        (parts / "runs" / "rows.jsonl").write_text('{"questionId": 1, "answer": "a"}\n')
        assert "is one of the input files" in refused(
            run("score", parts / "runs", "-r", GOLD, "--per-question", parts / "runs" / "rows.jsonl")
        )

    @pytest.mark.parametrize("kind", ["empty", "pattern", "folder", "bad"])
    def test_refused(self, kind: str, parts: Path, run: Any) -> None:
        given, said = parts / "runs", "a folder among the files"
        if kind == "empty":
            given, said = parts / "empty", f"{parts / 'empty'}: no files. Expected a folder with files or a pattern"
            given.mkdir()
        elif kind == "pattern":
            given, said = parts / "runs" / "*.csv", "*.csv: no files. Expected a folder with files or a pattern"
        elif kind == "folder":
            (given / "more").mkdir()
        else:
            (given / "part-2.json").write_text('[{"questionId": 1')
            said = "part-2.json, line 1"
        assert said in refused(run("score", given, "-r", GOLD))


class TestReport:
    def test_of_one_system(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        folder = EXAMPLES / "dude"
        submission = folder / "DUDE_demo_submission_imperfect.json"
        arguments = ["score", submission, "-r", folder / "DUDE_demo_gt.json", "-p", "dude", "--by", "answer_type"]
        found = run(*arguments, "--report", path, "--json")
        text = path.read_text(encoding="utf-8")
        assert json.loads(found.out)["anls_score"] == pytest.approx(0.765946, abs=1e-6)
        for part in ("0.7659", "not answerable", "Brier"):
            assert part in text
        assert "has the column 'sure'" in refused(run(*arguments, "--report", path, "--confidence", "sure", "-q"))

    def test_beside_the_score(self, run: Any, tmp_path: Path) -> None:
        """With a report, the score and the rows are the same, and each file is read once."""
        found = {}
        for name, more in (("alone", []), ("reported", ["--report", tmp_path / "report.html"])):
            with mock.patch.object(Reader, "batches", autospec=True, side_effect=Reader.batches) as read:
                ran = run("score", RUN, "-r", GOLD, "--json", "--per-question", tmp_path / f"{name}.csv", *more)
            assert read.call_count == 2
            found[name] = ran.out, (tmp_path / f"{name}.csv").read_text(encoding="utf-8")
        assert found["alone"] == found["reported"]
        assert (tmp_path / "report.html").exists()

    def test_of_two(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        runs = sorted(FOLDER.glob("pred_qwen2*.json"))
        run("compare", *runs[:2], "-r", GOLD, "--report", path)
        text = path.read_text(encoding="utf-8")
        assert all(own.stem in text for own in runs[:2])
        assert "--report compares two systems, but 3 were given" in refused(
            run("compare", *runs, "-r", GOLD, "--report", path)
        )

    def test_a_confidence_without_report(self, run: Any) -> None:
        assert "--confidence needs --report" in refused(run("score", RUN, "-r", GOLD, "--confidence", "sure"))


class TestEvalResults:
    def test_the_hub_reads_them(self, run: Any, tmp_path: Path) -> None:
        arguments = ["--eval-results", tmp_path, "--dataset-id", "lmms-lab/DocVQA", "--task-id", "docvqa val"]
        found = json.loads(run("score", RUN, "-r", GOLD, "--json", *arguments).out)
        path = tmp_path / ".eval_results" / "DocVQA-docvqa-val.yaml"
        [entry] = parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
        assert entry == EvalResultEntry(
            dataset_id="lmms-lab/DocVQA",
            task_id="docvqa val",
            value=found["anls_score"],
            date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            notes=f"from 0 to 1; {found['signature']}",
        )
        assert sorted(path.parent.iterdir()) == [path]

    def test_what_is_needed(self, run: Any, tmp_path: Path) -> None:
        common = ["score", RUN, "-r", GOLD, "-q"]
        assert "--dataset-id and --task-id" in refused(run(*common, "--eval-results", tmp_path))
        assert "--push needs --eval-results" in refused(run(*common, "--push", "a/b"))
        own = ["--eval-results", tmp_path, "--task-id", "x", "--dataset-id", "DocVQA"]
        assert "expected owner/name" in refused(run(*common, *own))


class TestDiagnose:
    def test_padding(self, run: Any) -> None:
        found = run("diagnose", RUN, "-r", GOLD, "--reported", "0.2691")
        assert "ways to score these predictions give 0.2691" in found.out
        assert "1. It is 0.269135 if the protocol is rrc: " in found.out
        assert "(padding)" in found.out

    def test_json(self, run: Any) -> None:
        found = json.loads(run("diagnose", RUN, "-r", GOLD, "--reported", "26.91", "--json").out)
        assert (found["fits"], found["causes"][0]["protocol"], found["causes"][0]["scale"]) == (True, "rrc", 100)

    def test_of_documents(self, run: Any, tmp_path: Path) -> None:
        for name, key, total in (("pred", "prediction", "5.0"), ("ref", "reference", "5.00")):
            rows = [{"id": "1", key: {"total": total}}, {"id": "2", key: {"total": "7", "items": [{"a": "x"}]}}]
            (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        shown = run("diagnose", tmp_path / "pred.jsonl", "-r", tmp_path / "ref.jsonl", "--reported", "0.875")
        assert shown.status == 0, shown.err
        assert "It is 0.87500 if the protocol is anls_star." in shown.out
        assert "2 documents; " in shown.out
        assert "anls_star gives 0.875000." in shown.out

    def test_nothing_fits(self, run: Any) -> None:
        found = json.loads(run("diagnose", RUN, "-r", GOLD, "--reported", "0.9999", "--json").out)
        assert found["fits"] is False
        assert found["causes"]

    @pytest.mark.parametrize("reported", ["x", "nan", "101"])
    def test_no_number(self, reported: str, run: Any) -> None:
        assert f"--reported {reported}: expected" in refused(run("diagnose", RUN, "-r", GOLD, "--reported", reported))


class TestCheck:
    def test_json_has_every_problem(self, run: Any, tmp_path: Path) -> None:
        rows = [{"questionId": own, "answer": f" {own}"} for own in range(50)]
        path = tmp_path / "submission.json"
        path.write_text(json.dumps(rows))
        found = json.loads(run("check", path, "--json").out)
        assert [own["row"] for own in found["problems"] if own["code"] == "answer-blanks"] == list(range(50))
        assert "  and 45 more" in run("check", path).out
        expected = check_submission(path, most=None).to_dict()
        assert run("check", path, "--json").out == json.dumps(expected, ensure_ascii=False, indent=2) + "\n"

    def test_json_is_never_one_text(self, tmp_path: Path) -> None:
        """What is printed of a report with 10,000 problems takes a small part of its 3 million characters."""
        path = tmp_path / "submission.json"
        path.write_text(json.dumps([{"questionId": str(own), "answer": " x"} for own in range(5_000)]))
        report = check_submission(path, most=None)
        with (tmp_path / "printed.json").open("w") as stream, contextlib.redirect_stdout(stream):
            tracemalloc.start()
            common.print_json({**vars(report), "mended": report})
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 1_000_000 < 2_500_000 < (tmp_path / "printed.json").stat().st_size
        found = json.loads((tmp_path / "printed.json").read_text())
        assert len(found["problems"]) == 10_000
        assert found["mended"].items() == {key: own for key, own in found.items() if key != "mended"}.items()


def written(path: Path) -> tuple[int, int, int]:
    """What tells a file that was replaced or written to; when it was read does not."""
    found = path.lstat()
    return found.st_mode, found.st_ino, found.st_mtime_ns


class TestOutputs:
    """What is read is never written over, and what cannot be written is refused before any work."""

    @pytest.mark.parametrize("option", ["--per-question", "--report"])
    def test_of_score(self, option: str, run: Any, tmp_path: Path) -> None:
        suffix = {"--per-question": "jsonl", "--report": "html"}[option]
        for name in (f"p.{suffix}", f"r.{suffix}"):
            (tmp_path / name).write_text('{"id": 1, "prediction": "a", "answers": ["a"]}\n')
        before = (tmp_path / f"p.{suffix}").read_bytes()
        sides = [tmp_path / f"p.{suffix}", "-r", tmp_path / f"r.{suffix}", "-q"]
        (tmp_path / f"link.{suffix}").symlink_to(tmp_path / f"p.{suffix}")
        for output in (f"p.{suffix}", f"r.{suffix}", f"link.{suffix}"):
            assert "is one of the input files" in refused(run("score", *sides, option, tmp_path / output))
        assert "does not exist; create it first" in refused(
            run("score", *sides, option, tmp_path / "no" / f"x.{suffix}")
        )
        assert (tmp_path / f"p.{suffix}").read_bytes() == before

    def test_of_others(self, run: Any, tmp_path: Path) -> None:
        gold, own = tmp_path / "gold.json", tmp_path / "runs"
        own.mkdir()
        gold.write_bytes(GOLD.read_bytes())
        (own / "a.json").write_bytes(RUN.read_bytes())
        read = "is one of the input files"
        assert read in refused(run("check", own / "a.json", "-r", gold, "--fix", gold))
        (tmp_path / "link.json").symlink_to(own / "a.json")
        for output in (own / "a.json", tmp_path / "link.json"):
            assert read in refused(run("check", own / "a.json", "--fix", output))
        (own / "b.html").write_bytes(RUN.read_bytes())
        assert read in refused(run("compare", own / "a.json", own / "b.html", "-r", gold, "--report", own / "b.html"))
        assert read in refused(run("leaderboard", own, "-r", gold, "--out", own / "a.json"))
        assert "expected a file name ending in .html" in refused(
            run("score", RUN, "-r", gold, "--report", own / "x.txt")
        )
        assert gold.read_bytes() == GOLD.read_bytes()
        assert (own / "a.json").read_bytes() == RUN.read_bytes()

    @pytest.mark.parametrize(
        ("kind", "said"), [("device", "is a device"), ("pipe", "is a pipe or socket"), ("folder", "is a folder")]
    )
    @pytest.mark.parametrize(
        ("command", "option"), [("score", "--report"), ("score", "--per-question"), ("gate", "--markdown")]
    )
    def test_what_is_no_file_is_not_replaced(
        self, kind: str, said: str, command: str, option: str, run: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / ("out.csv" if option == "--per-question" else "out.html")
        if kind == "device":
            path.symlink_to("/dev/null")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
        before = written(path)
        asked = ["--min-score", "0"] if command == "gate" else []
        assert f"{path}: {said}; expected the name of a file to write" in refused(
            run(command, RUN, "-r", GOLD, option, path, *asked)
        )
        assert written(path) == before

    def test_a_link_to_what_is_open_is_not_replaced(self, run: Any, tmp_path: Path) -> None:
        """As /dev/stdout is one, also where it leads to a file."""
        with (tmp_path / "open").open("w") as stream:
            through = f"/proc/self/fd/{stream.fileno()}"
            (tmp_path / "second").symlink_to(through)
            (tmp_path / "first").symlink_to("second")
            for path in (through, tmp_path / "second", tmp_path / "first", "/dev/stdout"):
                told = refused(run("gate", RUN, "-r", GOLD, "--min-score", "0", "--save-baseline", path))
                assert f"{path}: stands for what a process has open; expected the name of a file to write" in told
        assert {own.name for own in tmp_path.iterdir()} == {"open", "first", "second"}
        assert Path("/dev/stdout").readlink().is_relative_to("/proc")

    def test_a_long_name(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / f"{'ü' * 125}.csv"
        assert run("score", RUN, "-r", GOLD, "--per-question", path).status == 0
        assert [own.name for own in tmp_path.iterdir()] == [path.name]

    def test_of_a_ranking_among_the_systems(self, run: Any, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / f"{name}.json").write_bytes(RUN.read_bytes())
        told = refused(run("leaderboard", tmp_path, "-r", GOLD, "--out", tmp_path / "board.md"))
        assert f"{tmp_path / 'board.md'} would be one of the systems the next time" in told

    def test_of_eval_results(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / ".eval_results" / "b-c.yaml"
        asked = ["--eval-results", tmp_path, "--dataset-id", "a/b", "--task-id", "c"]
        path.parent.touch()
        assert f"{path.parent}: cannot be created: File exists" in refused(run("score", RUN, "-r", GOLD, *asked))
        path.parent.unlink()
        path.parent.mkdir()
        os.mkfifo(path)
        assert f"{path}: is a pipe or socket" in refused(run("score", RUN, "-r", GOLD, *asked))
        path.unlink()
        path.write_text("{}")
        told = refused(run("score", RUN, "-r", GOLD, "-p", "anls_star", "--fields", path, *asked))
        assert f"{path} is one of the input files" in told

    def test_what_was_written_before_an_interrupt_replaces_nothing(self, tmp_path: Path) -> None:
        def interrupted() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"a": ["b"]})
            raise KeyboardInterrupt

        (tmp_path / "x.partial.csv").write_text("precious")
        for name in ("x.partial-2.csv", "x.partial-3.csv"):
            with pytest.raises(KeyboardInterrupt, match=f"kept in .*{name}$"):
                write_rows(tmp_path / "x.csv", interrupted(), keep_interrupted=True)
            assert (tmp_path / name).exists()
        assert (tmp_path / "x.partial.csv").read_text() == "precious"

    def test_a_file_of_options(self, run: Any, tmp_path: Path) -> None:
        fields = tmp_path / "fields.html"
        fields.write_text("{}")
        documents = tmp_path / "documents.jsonl"
        documents.write_text('{"id": 1, "prediction": {"a": 1}, "answers": {"a": 1}}\n')
        read = "is one of the input files"
        asked = ["-p", "anls_star", "--fields", fields]
        assert read in refused(run("score", documents, *asked, "--report", fields))
        assert read in refused(run("gate", documents, "-r", documents, *asked, "--save-baseline", fields))
        assert read in refused(run("audit", documents, documents, "-r", documents, *asked, "--out", fields))
        assert fields.read_text() == "{}"


class TestFolderOfSystems:
    def test_names_that_clash_and_links_to_nowhere(self, run: Any, tmp_path: Path) -> None:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
            (folder / "run.json").write_bytes(RUN.read_bytes())
        found = json.loads(run("compare", *(own / "run.json" for own in folders), "-r", GOLD, "--json").out)
        assert sorted(own["name"] for own in found["systems"]) == ["one/run.json", "two/run.json"]
        (folders[0] / "run.csv").write_text("id,prediction\n1,a\n")
        (folders[0] / "loop.json").symlink_to(folders[0] / "loop.json")
        odd = Path(os.fsdecode(os.fsencode(folders[0]) + b"/\xff.json"))
        odd.write_text("[")
        for suffix in ("md", "csv", "html", "json"):
            board = run("leaderboard", folders[0], "-r", GOLD, "--out", tmp_path / f"board.{suffix}")
            assert board.status == 0
            assert board.err.count("skipped: ") == 3
            assert "run.json" in (tmp_path / f"board.{suffix}").read_text(encoding="utf-8")

    def test_a_wrong_option_is_told_once(self, run: Any, tmp_path: Path) -> None:
        message = refused(run("leaderboard", FOLDER, "-r", GOLD, "-p", "nope"))
        assert "no system" not in message
        assert "'mmlongbench'" in message
        assert "--missing skip: expected" in refused(run("leaderboard", FOLDER, "-r", GOLD, "--missing", "skip"))


@pytest.mark.parametrize("threshold", ["1e9999999", "1e-9999999", "-1e99999999", "1E+99999999"])
def test_thresholds_of_many_digits(threshold: str, run: Any) -> None:
    assert f"--threshold {threshold}: expected" in refused(run("explain", "ab", "ac", f"--threshold={threshold}"))


@pytest.mark.parametrize("threshold", ["1" * 10_000, "0." + "1" * 1500, "1e-1001", "1" * 2000 + "/3"])
@pytest.mark.parametrize("protocol", ["standard", "mmlongbench"])
def test_refused_thresholds_are_shown_as_written(threshold: str, protocol: str, run: Any) -> None:
    shown = threshold if len(threshold) < 80 else f"{threshold[:76]}..."
    for command in (["explain", "ab", "ac"], ["score", RUN, "-r", GOLD, "-q"]):
        message = refused(run(*command, "-p", protocol, "-t", threshold))
        assert message.startswith(f"error: --threshold {shown}: ")
        assert len(message) < 250


@pytest.mark.parametrize(
    "option",
    ["missing='zero'", 'unknown="ignore"', "threshold='0.5'", "resume=True", "columns={'prediction': NAME}"],
)
class TestDataThatLooksLikeOptions:
    """Ids, groups, columns and names of files are shown as they are."""

    def test_ids(self, option: str, run: Any, tmp_path: Path) -> None:
        for name, id_ in (("p", "1"), ("r", option)):
            row = {"id": id_, "prediction": "a", "answers": ["a"]}
            (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
        message = refused(run("score", tmp_path / "p.jsonl", "-r", tmp_path / "r.jsonl", "-q"))
        assert f"1 question has no prediction: question_id {option!r}" in message
        assert message.endswith(
            "There is no id in common: are they from different splits? To pair by other columns, pass --columns "
            "predictions.question_id=NAME --columns references.question_id=NAME.\n"
        )
        found = run(
            "score", tmp_path / "p.jsonl", "-r", tmp_path / "r.jsonl", "--missing", "zero", "--unknown", "ignore"
        )
        assert f"note: 1 question has no prediction and scores 0: question_id {option!r}" in found.err

    def test_groups_and_columns(self, option: str, run: Any, tmp_path: Path) -> None:
        row = {"id": 1, "prediction": "a", "answers": ["a"], option: option}
        (tmp_path / "both.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({**row, "id": 2, option: None}) + "\n")
        found = run("score", tmp_path / "both.jsonl", "--by", option, "-q")
        assert f"by {option}\n" in found.out
        assert f"  {option} " in found.out
        assert option in found.err.replace("\\", "")  # in a note, where Python quotes it
        assert f"expected one of id, prediction, answers, {option}\n" in refused(
            run("score", tmp_path / "both.jsonl", "--by", "page", "-q")
        )

    def test_files(self, option: str, run: Any, tmp_path: Path) -> None:
        folder = tmp_path / option
        folder.mkdir()
        (folder / f"{option}.json").write_text("[")
        (folder / f"{option}.csv").write_text("number,words\n1,a\n")
        arguments = ["leaderboard", folder, "-r", GOLD]
        message = refused(run(*arguments))
        for suffix in ("json", "csv"):
            assert f"{folder / option}.{suffix}" in message
        assert "To name the right one, pass --columns prediction=NAME." in message
        (folder / "run.json").write_bytes(RUN.read_bytes())
        skipped = run(*arguments).err
        for suffix in ("json", "csv"):
            assert f"skipped: {folder / option}.{suffix}: " in skipped
        assert f"error: {folder / 'nothing.json'}: " in refused(run("score", folder / "nothing.json", "-r", GOLD))


def test_a_threshold_is_a_fraction_too(run: Any) -> None:
    """9/10 is the similarity of these texts, and a threshold of 0.9 as a float is a little more."""
    for threshold in ("9/10", "0.9"):
        found = json.loads(run("explain", "abcdefghij", "abcdefghix", "-t", threshold, "--json").out)
        assert (found["score"], found["signature"]) == (0.9, signature(threshold=0.9, n=1))
    third = json.loads(run("explain", "abc", "axy", "-t", "1/3", "--json").out)
    assert third["score"] == pytest.approx(1 / 3)
    assert "|keep:>=1/3|" in third["signature"]


def test_a_reported_number_of_many_digits(run: Any) -> None:
    found = json.loads(run("diagnose", RUN, "-r", GOLD, "--reported", "1e-999999999", "--json").out)
    assert (found["fits"], found["decimals"]) == (False, 17)


def test_groups_say_what_is_in_none(run: Any, tmp_path: Path) -> None:
    rows = [{"id": own, "prediction": "a", "answers": ["a"], "kind": None if own % 2 else "x"} for own in range(6)]
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(run("score", tmp_path / "both.jsonl", "--by", "kind", "--json").out)
    assert {name: own["n"] for name, own in found["by"]["kind"].items()} == {"x": 3}
    assert "3 of 6 questions have no value in 'kind' and are in none of its groups" in found["notes"]


def test_columns_after_one_option_are_not_files(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("Frage;Vorhersage;Referenz\n1;Oslo;Oslo\n")
    message = refused(run("score", path, "--columns", "prediction=Vorhersage", "answers=Referenz"))
    assert "answers=Referenz is not a file" in message
    assert message.endswith("To name a column, pass --columns answers=Referenz.\n")
    named = [f"--columns={own}" for own in ("prediction=Vorhersage", "answers=Referenz", "question_id=Frage")]
    assert run("score", path, *named).out.split()[:2] == ["ANLS", "1.000000"]


def in_environment(*arguments: str, **environment: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "anls_eval", *arguments]
    done = subprocess.run(command, env=os.environ | environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="names are not bytes there")
def test_an_environment_that_names_ascii(tmp_path: Path) -> None:
    """What is UTF-8 is not taken for other characters, and the remedy works."""
    (tmp_path / "naïve.json").write_text('[{"question_id": 1, "prediction": "a", "answers": ["a"]}]')
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = "not ASCII, the encoding that the environment names. Set LC_ALL=C.UTF-8.\n"
    explained = "explain", "naïve", "naive"
    assert in_environment(*explained, **ascii_only) == (2, "", f"error: an argument is {words}")
    status, printed, told = in_environment("score", str(tmp_path), "--json", **ascii_only)
    assert (status, printed, told[-len(words) :]) == (2, "", words)
    for asked in (explained, ("score", str(tmp_path), "--json")):
        assert in_environment(*asked, **(ascii_only | {"LC_ALL": "C.UTF-8"}))[0] == 0


@pytest.mark.parametrize("date", ["", "yesterday"])
def test_a_date_that_scipy_cannot_load_with(date: str, tmp_path: Path) -> None:
    """One of its modules takes this for a number, whatever it is."""
    rows = [{"question_id": 1, "prediction": {"a": list("abcdefghij")}, "reference": {"a": list("jihgfedcba")}}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    asked = "score", str(tmp_path / "rows.json"), "-p", "anls_star", "--quiet"
    assert in_environment(*asked, SOURCE_DATE_EPOCH=date)[0] == 0
