"""What fresh processes load: nothing that a task does not need, even where it is installed."""

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import EXAMPLES, ROOT

HEAVY = ("evaluate", "datasets", "pandas", "scipy", "dask", "distributed", "gradio", "torch", "transformers")
IN_WORKERS = {"evaluate", "datasets", "pandas", "torch"}  # a worker is a process of Dask, and lists may be matched
DOCVQA = EXAMPLES / "docvqa"
PREDICTIONS, REFERENCES = DOCVQA / "pred_qwen2_vl_7b_instruct.json", DOCVQA / "references.json"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which every heavy module can be imported: an empty one stands in where it is not installed."""
    folder = tmp_path / "stand_ins"
    folder.mkdir()
    for name in HEAVY:
        if importlib.util.find_spec(name) is None:
            (folder / f"{name}.py").touch()
    return os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}


def found_in_process(code: str, environment: dict[str, str]) -> Any:
    """What a program finds, which it appends to `found`; `loaded()` gives the heavy modules that it has loaded."""
    head = f"import sys\nfound = []\ndef loaded(): return [name for name in {HEAVY!r} if name in sys.modules]\n"
    tail = "\nimport json\nprint('\\n' + json.dumps(found))"
    command = [sys.executable, "-W", "ignore", "-c", head + code + tail]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_python_functions(environment: dict[str, str]) -> None:
    program = f"""
import anls_eval
found.append(loaded())
from anls_eval import anls_score, anls_scores, anls_star_score, anls_star_scores, explain
from anls_eval import open_predictions, open_references, score_submission
found.append(loaded())
predictions, references = {str(PREDICTIONS)!r}, {str(REFERENCES)!r}
anls_score("CocaCola", ["Coca Cola"], protocol="rrc")
anls_scores(["a ", None, 7, "é" * 50], [["a"], ["b"], ["7"], ("x", "y")], protocol="mpdocvqa")
explain("CocaCola", ["Coca Cola"], protocol="rrc").to_dict()
score_submission(open_predictions(predictions), open_references(references))
found.append(loaded())
trees = {{"date": "2024", "items": ["pen", "ink"]}}, {{"date": "2023", "items": ("pen", "pencil"), "total": None}}
anls_star_score(*trees)
anls_star_scores([trees[0]] * 3, [trees[1]] * 3)
str(explain(*trees))
found.append(loaded())
lists = [[{{"name": f"{{word}}{{row}}", "note": "x" * row}} for row in range(12)] for word in ("pen", "pan")]
anls_star_score(*lists)
found.append(loaded())
"""
    assert found_in_process(program, environment) == [[], [], [], [], ["scipy"]]  # the last for a match of long lists


def write_formats(folder: Path) -> dict[str, tuple[Path, Path]]:
    """The submission in the formats that the command line reads."""
    given = {str(row["questionId"]): row["answer"] for row in json.loads(PREDICTIONS.read_bytes())}
    expected = {str(row["questionId"]): row["answers"] for row in json.loads(REFERENCES.read_bytes())["data"]}
    columns = (("prediction", given), ("answers", expected))
    files = {kind: (folder / f"predictions.{kind}", folder / f"references.{kind}") for kind in ("parquet", "csv")}
    for (name, own), parquet, table in zip(columns, files["parquet"], files["csv"], strict=True):
        pq.write_table(pa.table({"question_id": list(own), name: list(own.values())}), parquet)
        with table.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["question_id", name])
            writer.writerows((id_, own if isinstance(own, str) else json.dumps(own)) for id_, own in own.items())
    return {"json": (PREDICTIONS, REFERENCES), **files}


def test_commands(environment: dict[str, str], tmp_path: Path) -> None:
    document = tmp_path / "document.json"
    document.write_text('{"prediction": {"a": ["x", "y"]}, "reference": {"a": ["y", "z"]}}', encoding="utf-8")
    commands = []
    for kind, (predictions, references) in write_formats(tmp_path).items():
        score = ["score", str(predictions), "-r", str(references)]
        commands.append([*score, "--json"])
        for ending in ("jsonl", "parquet", "csv"):
            commands.append([*score, "--per-question", str(tmp_path / f"{kind}.{ending}")])
    commands += [
        ["explain", "CocaCola", "Coca Cola"],
        ["explain", "CocaCola", "Coca Cola", "-p", "rrc", "--json"],
        ["explain", "--json-file", str(document)],
    ]
    program = f"""
from anls_eval.cli import commands
for own in {commands!r}:
    sys.argv[1:] = own
    try:
        commands.main()
    except SystemExit as stop:
        assert not stop.code, own
    found.append([own, loaded()])
"""
    assert found_in_process(program, environment) == [[own, []] for own in commands]


def modules_after(code: str, environment: dict[str, str]) -> set[str]:
    """All modules that a program has loaded at its end."""
    return set(found_in_process(f"{code}\nfound += sys.modules", environment))


@pytest.mark.parametrize(
    ("call", "unneeded"),
    [
        ("anls_score('CocaCola', ['Coca Cola'], protocol='rrc')", {"pyarrow.compute", "html", "hashlib"}),
        ("anls_star_score({'a': ['x', 'y']}, {'a': ['y', 'z'], 'b': 'x'})", {"pyarrow.compute", "html", "hashlib"}),
        ("str(explain({'a': 'x  y'}, {'a': 'x z'}))", {"pyarrow.compute", "html", "hashlib"}),
        ("anls_scores(['CocaCola', None], [['Coca Cola'], ['Pepsi']])", {"pyarrow.compute", "html", "hashlib"}),
        ("anls_scores(['a  b', None, 'é'] * 99, [['a c', 'b'], ['b'], ['e']] * 99)", {"html"}),
    ],
)
def test_what_one_call_needs(call: str, unneeded: set[str], environment: dict[str, str]) -> None:
    program = f"from anls_eval import anls_score, anls_scores, anls_star_score, explain\n{call}"
    assert not modules_after(program, environment) & ({"numpy.ma", "numpy.random", "anls_eval.files"} | unneeded)


SCORE = ["score", str(PREDICTIONS), "-r", str(REFERENCES), "--json"]


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        (["explain", "CocaCola", "Coca Cola", "-p", "rrc", "-t", "0.5"], {"pyarrow.compute", "anls_eval.files"}),
        (["explain", "CocaCola", "Coca Cola", "--json"], {"pyarrow.compute", "anls_eval.files"}),
        ([*SCORE, "--missing", "zero"], {"pyarrow.parquet", "pyarrow.csv"}),
        ([*SCORE, "--quiet", "--by", "questionId"], {"pyarrow.parquet", "pyarrow.csv"}),
    ],
)
def test_what_one_command_needs(command: list[str], unneeded: set[str], environment: dict[str, str]) -> None:
    """Tables and progress bars need rich, options that Typer has to convert pydantic."""
    program = f"""
from anls_eval.cli import commands
sys.argv[1:] = {command!r}
try:
    commands.main()
except SystemExit as stop:
    assert not stop.code
"""
    assert not modules_after(program, environment) & ({"rich", "pydantic"} | unneeded)


def test_dask_workers(environment: dict[str, str], tmp_path: Path) -> None:
    write_formats(tmp_path)
    program = f"""
def modules(): return sorted(__import__("sys").modules)
if __name__ == "__main__":
    from anls_eval.cluster.run import score_dataset
    from anls_eval.cluster.workers import local_client
    with local_client(1) as client:
        for part in ("parquet", "csv"):
            scored = score_dataset(
                f"{tmp_path}/predictions.{{part}}", f"{tmp_path}/references.{{part}}",
                out=f"{tmp_path}/{{part}}", client=client, by=["question_id"],
            )
            found.append(scored.submission.n)
        [names] = client.run(modules).values()
        found.append([name for name in {sorted(IN_WORKERS)} if name in names])
        found.append("anls_eval.submission.score" in names)
"""
    assert found_in_process(program, environment) == [1000, 1000, [], True]


def test_work_process_of_the_app(environment: dict[str, str], tmp_path: Path) -> None:
    task = f"""
import sys
from anls_eval.app import tasks
def modules(sides, report_progress):
    tasks.score_as_json(*sides, tasks.Options(), report_progress)
    tasks.report(*sides, tasks.Options(), None, None, {str(tmp_path)!r}, report_progress)
    return sorted(sys.modules)
"""
    (tmp_path / "stand_ins" / "task_of_the_app.py").write_text(task, encoding="utf-8")
    program = f"""
from task_of_the_app import modules
from anls_eval.app import child
found += child.run(modules, {(str(PREDICTIONS), str(REFERENCES))!r}, seconds=100)
"""
    names = found_in_process(program, environment)
    assert not IN_WORKERS & set(names)
    assert "anls_eval.app.tasks" in names
    assert (tmp_path / "report.html").exists()
