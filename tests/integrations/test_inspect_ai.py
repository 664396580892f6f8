"""Inspect: the example's tasks, run by the real ``inspect eval`` with the mock model."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog, read_eval_log
from places import ROOT
from replayed_inspect_ai import ANSWERS, ROWS, TOTALS

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
