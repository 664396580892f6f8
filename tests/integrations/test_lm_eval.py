"""lm-evaluation-harness: the example's task, run by the real ``lm_eval`` with its dummy model, and on real answers."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docvqa_runs import answers, predictions
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager
from places import ROOT

from anls_eval.integrations.eval_harness import make_process_results, mean
from anls_eval.scoring import anls_scores, anls_star_score

EXAMPLES = ROOT / "examples"
TASK = """
task: replayed
custom_dataset: !function local.load
test_split: test
output_type: generate_until
doc_to_text: '{{number}}'
doc_to_target: ''
generation_kwargs: {until: []}
process_results: !function local.process_results
metric_list: [{metric: anls, aggregation: !function local.mean, higher_is_better: true}]
"""


def test_the_command(tmp_path: Path) -> None:
    """The dummy model always answers "lol": the task is the example's, with answers that are near to it."""
    shutil.copytree(EXAMPLES / "receipts_lm_eval", tmp_path / "receipts_lm_eval")
    accepted = [["LOL"], ["no", "loll"], ["lo ok"], ["13.30"]]
    rows = [{"context": "", "question": f"{number}?", "answers": own} for number, own in enumerate(accepted)]
    (tmp_path / "receipts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "receipts_anls"]
    options = ["--include_path", str(tmp_path / "receipts_lm_eval"), "--output_path", str(tmp_path), "--log_samples"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command + options, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (results,) = tmp_path.rglob("results_*.json")
    found = json.loads(results.read_text(encoding="utf-8"))
    scores = anls_scores(["lol"] * 4, accepted).tolist()
    assert found["results"]["receipts_anls"]["anls,none"] == math.fsum(scores) / 4
    assert found["higher_is_better"]["receipts_anls"] == {"anls": True}
    (samples,) = tmp_path.rglob("samples_*.jsonl")
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert [line["anls"] for line in sorted(lines, key=lambda line: line["doc_id"])] == scores


class Replayed(LM):
    """A model that gives the answers of a run."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return [self._texts[int(request.args[0])] for request in requests]

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> Any:
        raise NotImplementedError


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths:UserWarning")  # that is not its subject
@pytest.mark.parametrize(("option", "protocol"), [("", "standard"), ('protocol="rrc"', "rrc"), ("threshold=0.8", "")])
def test_real_answers(option: str, protocol: str, tmp_path: Path) -> None:
    given, accepted = predictions("llama_scout")[:200], answers()[:200]
    (tmp_path / "local.py").write_text(
        "import json, pathlib, datasets\n"
        "from anls_eval.integrations.eval_harness import make_process_results, mean\n"
        f"process_results = make_process_results(answers='accepted', {option})\n"
        "rows = json.loads(pathlib.Path(__file__).with_name('rows.json').read_text())\n"
        "def load(**_): return {'test': datasets.Dataset.from_list(rows)}\n"
    )
    rows = [{"number": str(number), "accepted": own} for number, own in enumerate(accepted)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    (tmp_path / "task.yaml").write_text(TASK)
    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = simple_evaluate(model=Replayed(given), tasks=["replayed"], task_manager=tasks, bootstrap_iters=0)
    rules = {"protocol": protocol} if protocol else {"threshold": 0.8}
    scores = anls_scores(given, accepted, **rules).tolist()
    assert 0 < math.fsum(scores) < 200
    assert found["results"]["replayed"]["anls,none"] == math.fsum(scores) / 200


@pytest.mark.parametrize(
    ("options", "output", "expected"),
    [
        ("protocol='anls_star', fields={'$.total': {'compare': 'number'}}", '{"total": "13.30"}', 1.0),
        (
            "protocol='anls_star', fields=FIELDS, extract='think,fence'",
            '<think>x</think>```\n{"total": 13.3}\n```',
            1.0,
        ),
        ("protocol='anls_star'", '{"total": "13.30"}', 0.8),
        ("answers='text', extract='answer_tag'", "It is <answer>13.30</answer>", 1.0),
    ],
)
def test_fields_and_extract_in_a_task(options: str, output: str, expected: float, tmp_path: Path) -> None:
    """Answers that arrive as text, as from a CSV file: JSON, or a printed list."""
    (tmp_path / "local.py").write_text(
        "import datasets\n"
        "from anls_eval import Field, Fields\n"
        "from anls_eval.integrations.eval_harness import make_process_results, mean\n"
        "FIELDS = Fields({'$.total': Field(compare='number')})\n"
        f"process_results = make_process_results({options})\n"
        "rows = [{'number': '0', 'answers': '{\"total\": 13.3}', 'text': \"['EUR 13.30', '13.30']\"}]\n"
        "def load(**_): return {'test': datasets.Dataset.from_list(rows)}\n"
    )
    (tmp_path / "task.yaml").write_text(TASK)
    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = simple_evaluate(model=Replayed([output]), tasks=["replayed"], task_manager=tasks, bootstrap_iters=0)
    assert found["results"]["replayed"]["anls,none"] == expected


def test_trees() -> None:
    process = make_process_results(protocol="anls_star")
    reference = {"total": "17.99", "items": ["pen"]}
    output = '```json\n{"total": "17.9", "items": ["pen"]}\n```'
    expected = anls_star_score({"total": "17.9", "items": ["pen"]}, reference)
    assert process({"answers": reference}, [output]) == {"anls": expected}
    assert process({"answers": [json.dumps(reference), "no receipt"]}, [output]) == {"anls": expected}
    assert process({"answers": [json.dumps(reference), "no receipt"]}, ["No receipt"]) == {"anls": 1.0}


def test_a_document_without_the_field() -> None:
    with pytest.raises(ValueError, match=r"no field 'answers', only 'question', 'labels'; .*answers="):
        make_process_results()({"question": "?", "labels": ["a"]}, ["a"])


def test_bad_rules_are_refused_when_the_task_is_read() -> None:
    with pytest.raises(ValueError, match="Did you mean 'docvqa'"):
        make_process_results(protocol="docvqaa")


def test_mean_is_exact() -> None:
    assert mean([0.1] * 10) == 0.1
