"""docs/ci.md: its commands print what is shown, and its workflow, hook and test run step by step in a shell."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from docvqa_runs import FOLDER
from junitparser import JUnitXml
from places import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
WORKFLOW, HOOKS = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
CONFTEST, TEST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
STATUS = {"failed": 1}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A PATH on which `anls` and `python` are those of this project."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, arguments in (("anls", "-m anls_eval "), ("python", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}"$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.fixture
def repository(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A repository as the page describes it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    shutil.copy(FOLDER / "references.json", folder)
    predict(folder, "llama_maverick")
    save = "python predict.py && anls gate predictions.json -r references.json --save-baseline baseline.json"
    assert in_shell(save, folder, environment).returncode == 0
    return folder


def predict(folder: Path, system: str) -> None:
    program = f"import shutil\nshutil.copy({str(FOLDER / f'pred_{system}.json')!r}, 'predictions.json')\n"
    (folder / "predict.py").write_text(program, encoding="utf-8")


def in_shell(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    shell = ["/bin/bash", "-e", "-c", command]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def commands() -> Iterator[tuple[str, str]]:
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


def test_commands_print_what_is_shown(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command, shown in commands():
        done = in_shell(command, tmp_path, environment)
        assert (done.returncode, done.stderr) == (STATUS.get(shown.partition(":")[0], 0), "")
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(shown, done.stdout, flags), done.stdout


@pytest.mark.parametrize(
    ("system", "status"),
    [
        ("llama_nemotron", 0),
        ("qwen2_vl_2b_instruct", 1),
        pytest.param("llama_maverick", 0, marks=pytest.mark.long),
    ],
)
def test_workflow(system: str, status: int, repository: Path, environment: dict[str, str]) -> None:
    summary = repository / "summary.md"
    summary.touch()
    predict(repository, system)
    steps = {step["name"]: step["run"] for step in WORKFLOW["jobs"]["gate"]["steps"] if "run" in step}
    assert list(steps) == ["Install", "Predict", "Gate"]
    assert "anls-eval[eval]" in steps.pop("Install")  # needs a network
    *_, last = [
        in_shell(own, repository, environment | {"GITHUB_STEP_SUMMARY": str(summary)}) for own in steps.values()
    ]
    assert last.returncode == status, last.stderr
    assert summary.read_text(encoding="utf-8").startswith("**anls gate: ")
    uploaded = WORKFLOW["jobs"]["gate"]["steps"][-1]["with"]["path"]
    assert JUnitXml.fromfile(str(repository / uploaded)).failures == status


@pytest.mark.parametrize(("system", "status"), [("llama_maverick", 0), ("qwen2_vl_2b_instruct", 1)])
def test_hook(system: str, status: int, repository: Path, environment: dict[str, str]) -> None:
    predict(repository, system)
    [hook] = HOOKS["repos"][0]["hooks"]
    assert all(re.search(hook["files"], name) for name in ("predictions.json", "references.json", "baseline.json"))
    assert in_shell("python predict.py", repository, environment).returncode == 0
    assert in_shell(hook["entry"], repository, environment).returncode == status


def test_pytest_example(repository: Path, environment: dict[str, str]) -> None:
    (repository / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (repository / "test_system.py").write_text(TEST, encoding="utf-8")
    done = in_shell("python -m pytest -q -p no:cacheprovider", repository, environment)
    assert done.returncode == 0, done.stdout
    predict(repository, "qwen2_vl_2b_instruct")
    done = in_shell("python predict.py && python -m pytest -q -p no:cacheprovider", repository, environment)
    assert (done.returncode, "dropped by" in done.stdout) == (1, True)
