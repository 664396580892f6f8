"""lmms-eval: the example's task, run by the real ``lmms_eval`` with its dummy model; its own ``anls`` beside ours."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docvqa_runs import RUNS, answers, predictions
from lmms_eval.api.metrics import anls as lmms_anls
from migration import evaluated, table
from places import ROOT

from anls_eval.integrations.eval_harness import make_process_results
from anls_eval.scoring import anls_scores

EXAMPLES = ROOT / "examples"


def test_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lmms_eval", "--model", "dummy", "--model_args", "response=EUR 13.3"]
    options = ["--tasks", "receipts_anls", "--include_path", str(EXAMPLES / "receipts_lmms_eval"), "--batch_size", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *options, "--output_path", str(tmp_path), "--log_samples"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (EXAMPLES / "receipts.jsonl").read_text(encoding="utf-8").splitlines()]
    scores = anls_scores(["EUR 13.3"] * len(rows), [row["answers"] for row in rows]).tolist()
    assert math.fsum(scores) > 0
    (results,) = tmp_path.rglob("*_results.json")
    found = json.loads(results.read_text(encoding="utf-8"))
    assert found["results"]["receipts_anls"]["anls,none"] == math.fsum(scores) / len(rows)
    (samples,) = tmp_path.rglob("*_samples_*.jsonl")
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert {line["doc_id"]: line["anls"] for line in lines} == dict(enumerate(scores))


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths:UserWarning")  # that is not its subject
def test_its_own_metric_is_the_protocol_rrc() -> None:
    """To the last bit, on every real answer; lmms-eval strips what the model wrote before it scores."""
    ours = make_process_results(protocol="lmms_eval")
    for run in RUNS:
        for given, accepted in zip(predictions(run), answers(), strict=True):
            expected = lmms_anls(references=accepted, predictions=[given.strip()])["anls"]
            assert ours({"answers": accepted}, [given.strip()]) == {"anls": expected}


def test_migration_page() -> None:
    found = table("lmms-eval")
    assert evaluated(found.old_import, [row.old for row in found.rows], str(ROOT)) == [
        row.old_value for row in found.rows
    ]


def test_extract_in_a_task(tmp_path: Path) -> None:
    """The example's task with a process_results of its own, which takes the answer out of what was written."""
    folder = tmp_path / "receipts_lmms_eval"
    shutil.copytree(EXAMPLES / "receipts_lmms_eval", folder)
    shutil.copy(EXAMPLES / "receipts.jsonl", tmp_path)
    task = (folder / "receipts.yaml").read_text(encoding="utf-8")
    task = task.replace("anls_eval.integrations.eval_harness.process_results", "utils.process_results")
    (folder / "receipts.yaml").write_text(task, encoding="utf-8")
    with (folder / "utils.py").open("a", encoding="utf-8") as utils:
        utils.write(
            "\n\nfrom anls_eval.integrations.eval_harness import make_process_results\n\n"
            'process_results = make_process_results(extract="think,answer_tag")\n'
        )
    answer = "response=<think>?</think><answer>13.30</answer>"
    command = [sys.executable, "-m", "lmms_eval", "--model", "dummy", "--model_args", answer]
    options = ["--tasks", "receipts_anls", "--include_path", str(folder), "--batch_size", "1"]
    done = subprocess.run(
        [*command, *options, "--output_path", str(tmp_path / "out")],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (results,) = tmp_path.rglob("*_results.json")
    found = json.loads(results.read_text(encoding="utf-8"))["results"]["receipts_anls"]["anls,none"]
    rows = [json.loads(line) for line in (EXAMPLES / "receipts.jsonl").read_text(encoding="utf-8").splitlines()]
    scores = anls_scores(["13.30"] * len(rows), [row["answers"] for row in rows]).tolist()
    assert found == math.fsum(scores) / len(rows) > 0
