"""Inspect: the example's tasks, run by the real ``inspect eval`` with the mock model."""

import asyncio
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState
from places import ROOT
from replayed_inspect_ai import ANSWERS, ROWS, TOTALS

from anls_eval.fields.fields import Fields
from anls_eval.integrations.inspect_ai import anls as anls_scorer
from anls_eval.integrations.inspect_ai import anls_star as anls_star_scorer
from anls_eval.scoring import anls_score, anls_star_score, explain
from examples import receipts_inspect


def run(task: str, folder: Path, *options: str) -> EvalLog:
    command = [
        sys.executable,
        "-m",
        "inspect_ai",
        "eval",
        f"tests/integrations/replayed_inspect_ai.py@{task}",
        *options,
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "INSPECT_LOG_DIR": str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = folder.glob("*.eval")
    return read_eval_log(str(log))


def figures(log: EvalLog) -> dict[str, float]:
    assert log.results
    return {name: own.value for score in log.results.scores for name, own in score.metrics.items()}


def scores(log: EvalLog) -> dict[str, Any]:
    assert log.samples
    return {str(sample.id): own for sample in log.samples for own in (sample.scores or {}).values()}


@pytest.mark.parametrize("protocol", ["standard", "paper"])
def test_answers(protocol: str, tmp_path: Path) -> None:
    log = run("answers", tmp_path, "-T", f"protocol={protocol}")
    expected = {row["id"]: anls_score(ANSWERS[row["id"]], row["answers"], protocol=protocol) for row in ROWS}
    assert {name: own.value for name, own in scores(log).items()} == expected
    average = math.fsum(expected.values()) / 6
    assert figures(log)["mean"] == average
    # Clusters of three questions, two of them: Miller, arXiv:2411.00640, appendix A, times C / (C - 1).
    residuals = [value - average for value in expected.values()]
    variance = 2 * (sum(residuals[:3]) ** 2 + sum(residuals[3:]) ** 2)
    assert figures(log)["stderr"] == pytest.approx(math.sqrt(variance) / 6, rel=1e-12)
    own = scores(log)["hardware-shop"]
    assert own.answer == "Brenner Hardwear"
    assert own.explanation == str(explain("Brenner Hardwear", ROWS[3]["answers"], protocol=protocol))


def test_trees(tmp_path: Path) -> None:
    """A fenced answer is read; one that is cut off scores 0 as a text, and its explanation shows it."""
    log = run("totals", tmp_path)
    read = json.loads(TOTALS["cafe"].strip("`").removeprefix("json"))
    expected = {"cafe": anls_star_score(read, receipts_inspect.TOTALS["cafe"]), "hardware": 0.0}
    assert {name: own.value for name, own in scores(log).items()} == expected
    assert figures(log)["mean"] == math.fsum(expected.values()) / 2
    assert TOTALS["hardware"] in scores(log)["hardware"].answer


def test_rules_are_checked_before_the_run() -> None:
    with pytest.raises(ValueError, match="scores trees"):
        anls_scorer("anls_star")
    with pytest.raises(ValueError, match="scores texts"):
        anls_star_scorer("rrc")
    with pytest.raises(ValueError, match=r"threshold=1\.5"):
        anls_scorer(threshold=1.5)


def test_a_benchmark_of_the_hub(tmp_path: Path) -> None:
    """Its eval.yaml gives lists of answers as text; the scorer, found by its name, takes the log up from there."""
    logs = tmp_path / "logs"
    environment = os.environ | {"HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1", "INSPECT_LOG_DIR": str(logs)}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "integrations")])}
    scored = tmp_path / "scored.eval"
    evaluate = [sys.executable, str(ROOT / "tests" / "integrations" / "hub_benchmark.py"), str(logs)]
    done = subprocess.run(evaluate, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("success\n"), done.stdout + done.stderr
    [path] = logs.glob("*.eval")
    command = [sys.executable, "-m", "inspect_ai", "score", str(path), "--scorer", "anls_eval/anls"]
    command += ["-S", "protocol=paper", "--output-file", str(scored), "--display", "plain"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    log = read_eval_log(str(scored))
    assert log.samples
    assert [sample.target for sample in log.samples] == [str(row["answers"]) for row in ROWS]
    expected = [anls_score(ANSWERS[row["id"]], row["answers"], protocol="paper") for row in ROWS]
    assert [own.value for own in scores(log).values()] == expected
    assert figures(log)["mean"] == math.fsum(expected) / 6


@pytest.mark.parametrize(
    ("scorer", "completion", "target", "expected"),
    [
        (anls_scorer(), "Broncos", "['Denver Broncos', 'Broncos']", 1.0),
        (anls_scorer(), "Broncos", '["Denver Broncos", "Broncos"]', 1.0),
        (anls_scorer(), "[1]", "[1]", 1.0),  # a list of numbers may be an answer
        (anls_scorer(), "[]", "[]", 1.0),
        (anls_scorer(extract="think,answer_tag"), "<think>a</think><answer>Broncos</answer>", ["a", "Broncos"], 1.0),
        (anls_star_scorer(), '{"a": null, "b": true}', str({"a": None, "b": True}), 1.0),
        (anls_star_scorer(extract="think"), '<think>{}</think>```json\n{"a": 1}\n```', '{"a": 1}', 1.0),
        (anls_star_scorer(extract="json"), 'I read {"a": 1}.', ['{"a": 2}', '{"a": 1}'], 1.0),
        (anls_star_scorer(fields={"$.a": {"compare": "number"}}), '{"a": "1.50"}', '{"a": 1.5}', 1.0),
        (anls_star_scorer(), '{"a": "1.50"}', '{"a": 1.5}', 0.75),
    ],
)
def test_targets_and_completions(scorer: Any, completion: str, target: Any, expected: float) -> None:
    output = ModelOutput.from_content("mockllm/model", completion)
    state = TaskState(ModelName("mockllm/model"), 1, 0, "question", [], Target(target), output=output)
    assert asyncio.run(scorer(state, Target(target))).value == expected


def test_fields_from_a_file(tmp_path: Path) -> None:
    """On the command line, and in the log, fields are the path of a file."""
    file = tmp_path / "fields.json"
    file.write_text(json.dumps({"$.total": {"compare": "number"}, "$.date": {"compare": "date"}}))
    log = run("totals", tmp_path, "-T", f"fields={file}")
    read = json.loads(TOTALS["cafe"].strip("`").removeprefix("json"))
    fields = Fields.from_file(file)
    assert scores(log)["cafe"].value == anls_star_score(read, receipts_inspect.TOTALS["cafe"], fields=fields)
    assert "|fields:" in scores(log)["cafe"].explanation
