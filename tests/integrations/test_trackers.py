"""Trackers: results as flat dicts, logged for real to MLflow (sqlite), Weights & Biases (offline) and Trackio."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from docvqa_runs import answers, predictions
from mlflow import MlflowClient
from places import ROOT

from anls_eval.files import open_predictions, open_references
from anls_eval.integrations import trackers
from anls_eval.metric import ANLS
from anls_eval.submission.score import score_submission

pytestmark = pytest.mark.filterwarnings("ignore:.*noload:DeprecationWarning")  # in MLflow, of SQLAlchemy


def test_example_logs_to_all_three(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "tracked_result.py"), str(tmp_path)]
    environment = os.environ | {"WANDB_SILENT": "true"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    given = predictions("qwen2_vl_7b_instruct")
    expected = ANLS().compute(predictions=given, references=answers(), detailed=True)
    assert expected
    numbers = {f"docvqa/{name}": expected[name] for name in ("anls_score", "n", "missing", "unknown", "unanswered")}
    numbers |= {"docvqa/padded": 0, "docvqa/padding_gain": 0.0}

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    (run,) = client.search_runs(["0"])
    assert run.data.metrics == numbers
    assert run.data.params == {"docvqa/signature": expected["signature"]}

    (written,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    record = written.read_bytes()
    assert repr(expected["anls_score"]).encode() in record
    assert expected["signature"].encode() in record

    with sqlite3.connect(tmp_path / "trackio" / "docvqa.db") as database:
        ((logged,),) = database.execute("select metrics from metrics")
        ((config,),) = database.execute("select config from configs")
    assert json.loads(logged) == numbers
    assert json.loads(config)["docvqa/signature"] == expected["signature"]


def test_names_are_those_that_mlflow_takes(tmp_path: Path) -> None:
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    run = client.create_run("0").info.run_id
    metric = ANLS("anls_star")
    tree = {"net: total (EUR)": "1", "straße 7/b": ["x"]}
    result = metric.compute(predictions=[tree], references=[tree], detailed=True)
    assert result
    numbers = trackers.metrics(result)
    assert "key_scores/net: total _EUR_/anls_score" in numbers
    assert "key_scores/straße 7_b/anls_score" in numbers
    for name, value in numbers.items():
        client.log_metric(run, name, value)
    assert client.get_run(run).data.metrics == numbers


def test_submission_with_groups(tmp_path: Path) -> None:
    rows = [{"question_id": 1, "answers": ["a"], "type": "form"}, {"question_id": 2, "answers": ["b"], "type": "photo"}]
    (tmp_path / "gold.json").write_text(json.dumps(rows))
    given = [{"question_id": 1, "prediction_text": "a"}, {"question_id": 2, "prediction_text": "x"}]
    (tmp_path / "given.json").write_text(json.dumps(given))
    found = score_submission(
        open_predictions(tmp_path / "given.json"), open_references(tmp_path / "gold.json"), by=["type"]
    ).to_dict()
    numbers = trackers.metrics(found)
    assert numbers["anls_score"] == 0.5
    assert (numbers["by/type/form/score"], numbers["by/type/photo/score"]) == (1.0, 0.0)
    assert set(trackers.texts(found)) == {"signature"}


def test_names_that_become_the_same() -> None:
    with pytest.raises(ValueError, match=r"two numbers would be named 'by/a_b', one of them 'by/a\*b'"):
        trackers.metrics({"by": {"a/b": 1, "a*b": 2}})
