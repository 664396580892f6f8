"""The command line, run as a user runs it."""

import csv
import datetime
import gzip
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from docvqa_runs import FOLDER, RUNS
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

import anls
from anls_eval import cli
from anls_eval.leaderboards import LEADERBOARDS

DATA = Path(__file__).parent / "data"
GOLD = FOLDER / "gold.json"
RUN = FOLDER / "pred_qwen2_vl_7b.json"


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command line within this process, where the metric is imported already."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["anls", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
            cli.main()
        return Ran(int(stop.value.code or 0), *capsys.readouterr())

    return run


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
        assert (found.returncode, found.stderr) == (0, "")
        assert json.loads(found.stdout)["anls_score"] == pytest.approx(0.259553, abs=1e-6)

    def test_an_error(self) -> None:
        found = self.anls("score", "nothing.json", "-r", GOLD)
        assert (found.returncode, found.stdout) == (2, "")
        assert found.stderr.startswith("error: nothing.json: cannot be opened")

    def test_the_help_imports_no_metric(self) -> None:
        script = (
            "import sys; sys.argv = ['anls', '--help']\n"
            "from anls_eval import cli\n"
            "try: cli.main()\n"
            "except SystemExit: pass\n"
            "sys.exit(sum(name in sys.modules for name in ('evaluate', 'datasets', 'pyarrow', 'numpy', 'anls')))"
        )
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert found.returncode == 0
        for command in ("protocols", "explain", "score", "diagnose"):
            assert command in found.stdout

    def test_without_what_it_needs(self, tmp_path: Path) -> None:
        (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(name='typer')")
        script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from anls_eval.__main__ import main; main()"
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert found.returncode == 1
        assert found.stderr == "error: the command line needs typer: pip install 'anls-metric[eval]'\n"


class TestProtocols:
    def test_list(self, run: Any) -> None:
        found = run("protocols").out
        assert all(name in found for name in (*anls.PROTOCOLS, *LEADERBOARDS, "infographicvqa"))

    @pytest.mark.parametrize("name", [*anls.PROTOCOLS, *LEADERBOARDS])
    def test_each(self, name: str, run: Any) -> None:
        own = LEADERBOARDS.get(name) or anls.get_protocol(name)
        assert own.source in run("protocols", name).out
        assert json.loads(run("protocols", name, "--json").out)["name"] == name

    def test_json(self, run: Any) -> None:
        found = json.loads(run("protocols", "--json").out)
        assert list(found) == [*anls.PROTOCOLS, *LEADERBOARDS]
        assert anls.protocol_from_signature(found["due"]["signature"]) == anls.get_protocol("due")

    def test_unknown(self, run: Any) -> None:
        assert "Did you mean 'rrc'?" in refused(run("protocols", "rcc"))


class TestExplain:
    def test_answers(self, run: Any) -> None:
        found = run("explain", "CocaCola", "Coca Cola", "Pepsi")
        assert found.out == (
            "score 0.888889\n"
            "\n"
            "Coca Cola (the closest)\n"
            "  1 of 9 characters differs: similarity 0.8889, at least the threshold 0.5, so it counts 0.8889.\n"
            "    answer      coca cola\n"
            "    prediction  coca∅cola\n"
            "                    D\n"
            "\n"
            "Pepsi\n"
            "  8 of 8 characters differ: similarity 0, below the threshold 0.5, so it counts 0.\n"
            "    answer      ∅∅∅pepsi\n"
            "    prediction  cocacola\n"
            "                IIISSSSS\n"
            "\n"
            f"{anls.signature(n=1)}\n"
        )

    def test_json(self, run: Any) -> None:
        found = json.loads(run("explain", "ab", "ac", "-p", "paper", "--threshold", "0.4", "--json").out)
        assert (found["score"], found["comparisons"][0]["distance"]) == (0.5, 1)

    def test_markup_is_text(self, run: Any) -> None:
        found = run("explain", "[red]x[/red]", "[bold]", "[link=a]b[/link]")
        assert "\n[bold]" in found.out
        assert "\n[link=a]b[/link]" in found.out

    def test_a_leaderboard(self, run: Any) -> None:
        found = run("explain", "['b', 'a']", "['a', 'b']", "-p", "mmlongbench", "--answer-type", "List")
        assert found.out.startswith("score 1\n\nmmlongbench: Texts are cleaned")
        assert "answer_type=None" in refused(run("explain", "a", "a", "-p", "mmlongbench"))

    def test_a_document(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "document.json"
        prediction, reference = {"date": "2024-01-03"}, {"date": {"$one_of": ["2024-01-02", "x"]}, "total": 17.99}
        path.write_text(json.dumps({"prediction": prediction, "reference": reference}))
        explanation = anls.explain(prediction, reference)
        assert run("explain", "--json-file", path).out == f"{explanation}\n"
        assert json.loads(run("explain", "--json-file", path, "--json").out) == explanation.to_dict()
        paper = run("explain", "--json-file", path, "-p", "anls_star_paper", "-t", "0.95")
        assert paper.out.startswith("score 0 = 0 of 2")

    @pytest.mark.parametrize("arguments", [[], ["a"], ["a", "b", "--json-file", "c.json"]])
    def test_what_is_expected(self, arguments: list[str], run: Any) -> None:
        assert "expected a PREDICTION with at least one ANSWER, or --json-file FILE" in refused(
            run("explain", *arguments)
        )

    def test_notes_are_on_stderr(self, run: Any) -> None:
        found = run("explain", "ab   ", "ac", "-p", "rrc")
        assert "note: protocol 'rrc' divides by raw lengths" in found.err


class TestScore:
    def test_table(self, run: Any) -> None:
        found = run("score", RUN, "-r", GOLD, "-p", "rrc")
        assert found.out.splitlines()[0].split() == ["ANLS", "0.269135"]
        assert found.out.endswith(f"\n\n{anls.signature('rrc', n=1000)}\n")
        assert f"{RUN}: rrc; question_id=questionId, prediction=answer\n" in found.err
        assert "surplus blanks raised the score of" in found.err

    def test_quiet(self, run: Any) -> None:
        assert run("score", RUN, "-r", GOLD, "--quiet").err == ""

    def test_json(self, run: Any) -> None:
        found = run("score", RUN, "-r", GOLD, "--json", "--threshold", "0.8")
        assert found.err == ""
        result = json.loads(found.out)
        assert {"anls_score", "n", "missing", "signature", "by"} <= result.keys()
        assert result["signature"] == anls.signature(threshold=0.8, n=1000)

    def test_groups_and_rows(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "rows.csv"
        folder = DATA / "dude"
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
        assert f"missing: {rows[-1]['questionId']}" in message
        assert "unknown: 999999999" in message
        assert not (tmp_path / "rows.parquet").exists()
        found = json.loads(run("score", path, "-r", GOLD, "--missing", "zero", "--unknown", "ignore", "--json").out)
        assert (found["missing"], found["unknown"], found["n"]) == (1, 1, 1000)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-p", "rcc"], "Did you mean 'rrc'?"),
            (["-t", "2"], "threshold="),
            (["--by", "page"], "has the column 'page'"),
            (["--columns", "prediction"], "expected ROLE=NAME"),
            (["--columns", "prediction=text"], "'text'"),
            (["--columns", "predictions=answer"], "expected the roles"),
            (["--missing", "skip"], "expected one of 'error', 'zero'"),
            (["--format", "xml"], "format 'xml' is not known"),
            (["--per-question", "rows.txt"], "expected a name in .parquet, .csv or .jsonl"),
            (["-p", "dude"], "needs the answer type of each question"),
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


@pytest.mark.parametrize("run_name", RUNS)
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
        assert json.loads(found.out) == expected


class TestIntervals:
    def test_of_one_system(self, run: Any) -> None:
        found = json.loads(run("score", RUN, "-r", GOLD, "--json").out)
        low, high = found["confidence_interval"]
        assert low < found["anls_score"] < high
        assert found["confidence_level"] == 0.95
        assert "clusters" not in found

    def test_by_document(self, run: Any, tmp_path: Path) -> None:
        predictions = [{"id": own, "prediction": "a" * (own // 20) + "b" * (9 - own // 20)} for own in range(200)]
        references = [{"id": own, "answers": ["aaaaaaaaa"], "page": own // 20} for own in range(200)]
        for name, rows in (("p", predictions), ("r", references)):
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments = ["score", tmp_path / "p.jsonl", "-r", tmp_path / "r.jsonl", "--json"]
        alone, by_page = (json.loads(run(*arguments, *more).out) for more in ([], ["--cluster-by", "page"]))
        assert by_page["clusters"] == 10
        widths = [own["confidence_interval"][1] - own["confidence_interval"][0] for own in (alone, by_page)]
        assert widths[1] > 2 * widths[0]
        assert "10 clusters" in run(*arguments[:-1], "--cluster-by", "page").out
        again = json.loads(run(*arguments, "--cluster-by", "page", "--seed", "7").out)
        assert again["confidence_interval"] != by_page["confidence_interval"]

    def test_a_question_without_a_document(self, run: Any, tmp_path: Path) -> None:
        row = {"prediction": "a", "answers": ["a"]}
        rows = {"id": 1, "page": 7, **row}, {"id": 2, **row}
        (tmp_path / "both.jsonl").write_text("".join(json.dumps(own) + "\n" for own in rows))
        assert "question_id '2' has no value in 'page'" in refused(
            run("score", tmp_path / "both.jsonl", "--cluster-by", "page", "-q")
        )


class TestCompare:
    def test_real_systems(self, run: Any) -> None:
        """The systems of one group are those that 1,000 questions cannot tell apart from its best."""
        found = json.loads(run("compare", *FOLDER.glob("pred_*.json"), "-r", GOLD, "--json").out)
        assert [(own["name"], own["rank"], own["rank_group"]) for own in found["systems"]] == [
            ("pred_llama_maverick", 1, 1),
            ("pred_qwen2_vl_7b_instruct", 2, 2),
            ("pred_llama_nemotron", 3, 2),
            ("pred_qwen2_vl_2b_instruct", 4, 3),
            ("pred_llama_scout", 5, 4),
            ("pred_qwen2_vl_7b", 6, 5),
        ]
        for own in found["systems"]:
            assert own["interval"][0] < own["score"] < own["interval"][1]
        pair = found["comparisons"][0]
        assert (pair["a"], pair["b"]) == ("pred_llama_maverick", "pred_qwen2_vl_7b_instruct")
        assert (pair["wins"], pair["losses"], pair["ties"]) == (124, 77, 799)
        assert pair["difference"] == pytest.approx(0.922824 - 0.894217, abs=1e-6)
        assert pair["p_value"] <= pair["p_adjusted"]

    def test_table(self, run: Any) -> None:
        found = run("compare", *sorted(FOLDER.glob("pred_qwen2*.json")), "-r", GOLD).out
        lines = [line.split() for line in found.splitlines()]
        assert lines[1][:4] == ["1", "1", "pred_qwen2_vl_7b_instruct", "0.894217"]
        assert ["307", "53", "640"] in [line[-3:] for line in lines]

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
        assert "two systems or more" in refused(run("compare", RUN, "-r", GOLD))
        twin = tmp_path / RUN.name
        twin.write_bytes(RUN.read_bytes())
        assert "two files give a system the name 'pred_qwen2_vl_7b'" in refused(run("compare", RUN, twin, "-r", GOLD))
        (tmp_path / "cut.json").write_text('[{"questionId": 1')
        message = refused(run("compare", RUN, tmp_path / "cut.json", "-r", GOLD, "-q"))
        assert message.startswith("error: cut: ")
        assert "line 1" in message


class TestLeaderboard:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "runs"
        folder.mkdir()
        for path in FOLDER.glob("*.json"):  # the references and their scores, too
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / "cut.json").write_text('[{"questionId": 1, "answer": "<b>|')
        (folder / "other|split.csv").write_text("id,prediction\n1,a\n")
        (folder / ".hidden").write_text("x")
        return folder

    @pytest.mark.parametrize("suffix", ["md", "csv", "html", "json"])
    def test_files(self, suffix: str, folder: Path, run: Any, tmp_path: Path) -> None:
        path = tmp_path / f"leaderboard.{suffix}"
        found = run("leaderboard", folder, "-r", folder / "gold.json", "--out", path)
        assert found.status == 0
        skipped = [line for line in found.err.splitlines() if line.startswith("skipped: ")]
        assert [line.split(": ")[1].rpartition("/")[2] for line in skipped] == [
            "cut.json", "other|split.csv", "reference_scores.json",
        ]  # fmt: skip
        text = path.read_text(encoding="utf-8")
        for name in RUNS:
            assert f"pred_{name}" in text
        assert anls.signature(n=1000) in text.replace("&gt;", ">")
        if suffix == "json":
            result = json.loads(text)
            assert [own["file"].rpartition("/")[2] for own in result["skipped"]] == [
                "cut.json", "other|split.csv", "reference_scores.json",
            ]  # fmt: skip
            assert json.loads(run("leaderboard", folder, "-r", folder / "gold.json", "--json").out) == result
        if suffix == "csv":
            assert [row["rank"] for row in csv.DictReader(io.StringIO(text))] == list("123456")
        if suffix == "md":
            assert "other\\|split.csv" in text
        if suffix == "html":
            assert "no id in common" in text

    def test_what_cannot_be_read(self, folder: Path, run: Any, tmp_path: Path) -> None:
        assert "is no folder" in refused(run("leaderboard", GOLD, "-r", GOLD))
        (tmp_path / "empty").mkdir()
        assert "holds no files" in refused(run("leaderboard", tmp_path / "empty", "-r", GOLD))
        assert "expected a name in .md, .csv, .html, .json" in refused(
            run("leaderboard", folder, "-r", GOLD, "--out", tmp_path / "x.txt", "-q")
        )
        (tmp_path / "empty" / "a.json").write_text("[")
        assert "no system could be scored; " in refused(run("leaderboard", tmp_path / "empty", "-r", GOLD))


class TestReport:
    def test_of_one_system(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        folder = DATA / "dude"
        submission = folder / "DUDE_demo_submission_imperfect.json"
        arguments = ["score", submission, "-r", folder / "DUDE_demo_gt.json", "-p", "dude", "--by", "answer_type"]
        found = run(*arguments, "--report", path, "--json")
        text = path.read_text(encoding="utf-8")
        assert json.loads(found.out)["anls_score"] == pytest.approx(0.765946, abs=1e-6)
        for part in ("0.7659", "not answerable", "Brier"):
            assert part in text
        assert "has the column 'sure'" in refused(run(*arguments, "--report", path, "--confidence", "sure", "-q"))

    def test_of_two(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        runs = sorted(FOLDER.glob("pred_qwen2*.json"))
        run("compare", *runs[:2], "-r", GOLD, "--report", path)
        text = path.read_text(encoding="utf-8")
        assert all(own.stem in text for own in runs[:2])
        assert "--report compares two systems, and 3 are given" in refused(
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
            notes=found["signature"],
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
        assert "this one gives 0.2691" in found.out
        assert "1. It is 0.269135 if the protocol is rrc: " in found.out
        assert "(padding)" in found.out

    def test_json(self, run: Any) -> None:
        found = json.loads(run("diagnose", RUN, "-r", GOLD, "--reported", "26.91", "--json").out)
        assert (found["fits"], found["causes"][0]["protocol"], found["causes"][0]["scale"]) == (True, "rrc", 100)

    def test_nothing_fits(self, run: Any) -> None:
        found = json.loads(run("diagnose", RUN, "-r", GOLD, "--reported", "0.9999", "--json").out)
        assert found["fits"] is False
        assert found["causes"]

    @pytest.mark.parametrize("reported", ["x", "nan", "101"])
    def test_no_number(self, reported: str, run: Any) -> None:
        assert f"reported={reported!r}" in refused(run("diagnose", RUN, "-r", GOLD, "--reported", reported))
