"""`evaluate.load("anls")` from the Hub: a fresh process in another folder, with a server of this machine as the Hub."""

import dataclasses
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import evaluate
import pytest
from places import ROOT

import anls_eval

PREDICTIONS = ["aß", "LIMA x", "", "abc", "né"]
ANSWERS = [["ac"], ["lima x", "y"], [""], ["abd"], ["ne"]]
TREES = {"a": ["x", "y"], "n": None}, {"a": ["y", "z"], "b": ("p", "q")}


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


@pytest.mark.long
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


@pytest.mark.long
def test_names_where_it_is_not(tmp_path: Path, hub_environment: dict[str, str]) -> None:
    """A file that is not served is not found: the server above stands for the Hub and nothing else."""
    with pytest.raises(AssertionError, match="FileNotFoundError"):
        run("import evaluate; evaluate.load('anls-of-nobody')", tmp_path, hub_environment)


def test_objects_of_the_package(metric_path: str) -> None:
    """The metric has a class of protocols of its own, and takes those of the package."""
    package = {name: anls_eval.get_protocol(name) for name in ("standard", "rrc", "mpdocvqa", "anls_star_paper")}
    package["made"] = dataclasses.replace(package["rrc"], name="made", threshold=Fraction(2, 3), keep=">")
    for rules in package.values():
        metric = evaluate.load(metric_path, rules)
        own = sys.modules[type(metric).__module__]
        assert own.Protocol is not anls_eval.Protocol
        assert own.signature(rules) == anls_eval.signature(rules)
        if rules.tree:
            assert own.anls_star_score(*TREES, protocol=rules) == anls_eval.anls_star_score(*TREES, protocol=rules)
            continue
        predictions, answers = PREDICTIONS, ANSWERS
        expected = anls_eval.anls_scores(predictions, answers, protocol=rules)
        assert own.anls_scores(predictions, answers, protocol=rules).tobytes() == expected.tobytes()
        assert own.anls_score("aß", ["ac"], protocol=rules) == anls_eval.anls_score("aß", ["ac"], protocol=rules)
        result = metric.compute(predictions=predictions, references=answers, detailed=True)
        assert result["scores"] == expected.tolist()


def test_copied_alone_where_the_package_is_not(tmp_path: Path, metric_path: str) -> None:
    """Python's -I leaves out PYTHONPATH and the current folder, and every finder of the package is taken out."""
    (tmp_path / "anls.py").write_bytes(Path(metric_path).read_bytes())
    script = f"""
import sys
sys.modules["anls_eval"] = None
sys.path.insert(0, {str(tmp_path)!r})
import anls
print(anls.anls_star_score([["b"] * 9, "a"], ["a", ["b"] * 9]))
print(anls.ANLS().compute(predictions=["ab"], references=[["ac"]]))
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "1.0\n{'anls_score': 0.5}\n", done.stderr


def test_a_stale_file_is_refused(tmp_path: Path) -> None:
    for name in ("anls_eval", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "anls.py", tmp_path)
    check = [sys.executable, str(tmp_path / "tools" / "single_file.py"), "--check"]
    assert subprocess.run(check, check=False).returncode == 0
    module = tmp_path / "anls_eval" / "text" / "similarity.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nCHANGED = True\n", encoding="utf-8")
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make anls.py" in done.stderr
