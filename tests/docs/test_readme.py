"""What the README claims, run."""

import doctest
import itertools
import os
import re
import shlex
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any, cast

import pytest
import typer
import yaml
from places import ROOT

from anls_eval.cli.commands import app
from anls_eval.leaderboards import LEADERBOARDS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_examples(tmp_path: Path, hub_environment: dict[str, str]) -> None:
    """In another folder and a fresh process, so that "anls" comes from the Hub and `anls_eval` is installed."""
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    command = [sys.executable, "-m", "doctest", "README.md"]
    done = subprocess.run(command, cwd=tmp_path, env=hub_environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_demo_prints_what_is_shown(hub_environment: dict[str, str]) -> None:
    shown = re.search(r"```text\n(Qwen.*?)```", README, re.DOTALL)
    assert shown
    command = [sys.executable, str(ROOT / "examples" / "docvqa" / "score.py")]
    printed = subprocess.run(command, env=hub_environment, capture_output=True, text=True, check=True).stdout
    expected = re.sub(r"unicode:[\d.]+", f"unicode:{unicodedata.unidata_version}", shown[1])
    assert printed.startswith(expected)
    assert "Next" in printed


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake (\w+)", README)) - {"are"}))
def test_make_target_exists(target: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(["make", "--dry-run", target], cwd=ROOT, env=environment, capture_output=True, check=True)  # noqa: S607


CONSOLE = re.findall(r"^\$ (anls .*)\n((?:(?!```|\$ ).*\n)*)", README, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command.split()[1] for command, _ in CONSOLE])
def test_command_prints_what_is_shown(command: str, shown: str) -> None:
    _, *arguments = shlex.split(command)
    paths = [sorted(map(str, ROOT.glob(own))) if "*" in own else [own] for own in arguments]
    run = [sys.executable, "-m", "anls_eval", *itertools.chain.from_iterable(paths)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    printed = re.sub(re.escape(f"{ROOT}/"), "", done.stdout)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert done.returncode == 0
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())
    assert doctest.OutputChecker().check_output(shown, printed, flags), printed


def test_every_command_is_there() -> None:
    listed = set(re.findall(r"^\| `anls (\w+)", README, re.MULTILINE))
    assert listed == set(cast(Any, typer.main.get_command(app)).commands)


def test_every_protocol_is_there() -> None:
    section = README.split("## Which score is right")[1]
    assert set(re.findall(r"`(\w+)`", section)) >= {*PROTOCOLS, *LEADERBOARDS}


@pytest.mark.parametrize(
    ("prediction", "answer", "score"),
    [
        ("Unstable", "Stable", 0.75),
        ("12/15/89", "12/15/88", 0.875),
        ("ab", "ac", 0.5),
        ("1", "1.0", 0.0),
        ("cafe\u0301", "caf\xe9", 0.6),
    ],
)
def test_facts(prediction: str, answer: str, score: float) -> None:
    assert anls_score(prediction, [answer]) == score


class TestFrontMatter:
    front = yaml.safe_load(README.split("---\n")[1])

    def test_is_that_of_a_metric_space(self) -> None:
        assert set(self.front["tags"]) == {"evaluate", "metric", "mcp-server"}
        assert (self.front["sdk"], self.front["app_file"], self.front["pinned"]) == ("gradio", "app.py", False)
        assert {"title", "emoji", "colorFrom", "colorTo", "description", "license", "python_version"} <= set(self.front)
        assert (ROOT / self.front["app_file"]).exists()

    def test_gradio_is_the_tested_one(self) -> None:
        assert f'"gradio[mcp]=={self.front["sdk_version"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
