"""`evaluate.load("anls")` from the Hub: a fresh process in another folder, with a server of this machine as the Hub."""

import subprocess
import sys
from pathlib import Path

import pytest


def run(script: str, folder: Path, environment: dict[str, str]) -> str:
    command = [sys.executable, "-W", "error::UserWarning", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_loads_and_scores(tmp_path: Path, hub_environment: dict[str, str]) -> None:
    script = """
import sys, evaluate
metric = evaluate.load("anls")
assert "anls" not in sys.modules
assert type(metric).__module__.startswith("evaluate_modules.metrics.evaluate-metric--anls.")
print(metric.compute(
    predictions=[{"question_id": 2, "prediction_text": "ab"}, {"question_id": 1, "prediction_text": "Lima"}],
    references=[{"question_id": 1, "answers": ["Lima"]}, {"question_id": "2", "answers": ["ac", "q"]}],
))
print(evaluate.load("anls", "paper").compute(predictions=["ab"], references=[["ac"]]))
"""
    assert run(script, tmp_path, hub_environment) == "{'anls_score': 0.75}\n{'anls_score': 0.0}\n"


def test_a_folder_named_anls_comes_first(tmp_path: Path, hub_environment: dict[str, str], metric_path: str) -> None:
    """The documented order of evaluate: ./anls/anls.py, then the Hub."""
    (tmp_path / "anls").mkdir()
    (tmp_path / "anls" / "anls.py").write_bytes(Path(metric_path).read_bytes())
    script = """
import evaluate
print(evaluate.load("anls").compute(predictions=["ab"], references=[["ac"]]))
print(evaluate.load("./anls").compute(predictions=["ab"], references=[["ac"]]))
"""
    offline = {**hub_environment, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_EVALUATE_OFFLINE": "1"}
    assert run(script, tmp_path, offline) == "{'anls_score': 0.5}\n" * 2


def test_copied_into_a_project(tmp_path: Path, hub_environment: dict[str, str], metric_path: str) -> None:
    (tmp_path / "anls.py").write_bytes(Path(metric_path).read_bytes())
    script = """
import sys
sys.path.insert(0, ".")
import anls
print(anls.anls_score("ab", ["ac"]), anls.__file__)
"""
    assert run(script, tmp_path, hub_environment) == f"0.5 {tmp_path / 'anls.py'}\n"


def test_a_missing_dependency_is_named(tmp_path: Path, hub_environment: dict[str, str], metric_path: str) -> None:
    script = f"""
import sys
sys.modules["rapidfuzz"] = None
import evaluate
try:
    evaluate.load({metric_path!r})
except ImportError as error:
    print("pip install" in str(error), "rapidfuzz" in str(error))
"""
    assert run(script, tmp_path, hub_environment) == "True True\n"


def test_names_where_it_is_not(tmp_path: Path, hub_environment: dict[str, str]) -> None:
    """A file that is not served is not found: the server above stands for the Hub and nothing else."""
    with pytest.raises(AssertionError, match="FileNotFoundError"):
        run("import evaluate; evaluate.load('anls-of-nobody')", tmp_path, hub_environment)
