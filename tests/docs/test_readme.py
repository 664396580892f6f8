"""What the README, the metric card, claims. Its blocks of code are run by test_pages.py, like those of all pages."""

import inspect
import json
import re
import subprocess
import sys
import unicodedata
from typing import Any, cast

import pytest
import typer
import yaml
from hub_server import MAX_SHORT_DESCRIPTION
from places import EXAMPLES, ROOT

from anls_eval.citation import CITATION
from anls_eval.cli.commands import app
from anls_eval.metric import ANLS
from anls_eval.registry import get_rules
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score
from anls_eval.version import __version__
from benchmarks.results import read_report

README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL))


def test_length_and_sections() -> None:
    assert len(README.splitlines()) <= 220
    assert list(SECTIONS) == [
        "Metric Description",
        "How to Use",
        "Limitations and Bias",
        "From source",
        "Citation",
        "Further References",
    ]
    assert re.findall(r"^###+ (.*)", SECTIONS["How to Use"], re.MULTILINE) == [
        "Inputs", "Output Values", "Values from Popular Papers", "Examples"
    ]  # fmt: skip


def test_demo_prints_a_score_of_the_card(hub_environment: dict[str, str]) -> None:
    command = [sys.executable, str(EXAMPLES / "docvqa" / "score.py")]
    printed = subprocess.run(command, env=hub_environment, capture_output=True, text=True, check=True).stdout
    assert "\nANLS          0.894217\n95% interval  0.875220 to 0.911001\nquestions     1000\n" in printed
    assert f"|version:{__version__}|unicode:{unicodedata.unidata_version}\n" in printed
    assert "Next" in printed


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make (\w+)", README))))
def test_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_command_is_there() -> None:
    listed = set(re.findall(r"^\| `anls (\w+)", README, re.MULTILINE))
    assert listed == set(cast(Any, typer.main.get_command(app)).commands)


def test_every_named_protocol_is_there() -> None:
    named = re.findall(r"`(\w+)`", SECTIONS["Metric Description"])
    assert len(named) > 10
    assert [get_rules(name).name for name in named] == named


@pytest.mark.parametrize(
    ("prediction", "answer", "score"),
    [
        ("CocaCola", "Coca Cola", 8 / 9),
        ("Unstable", "Stable", 0.75),
        ("12/15/89", "12/15/88", 0.875),
        ("ab", "ac", 0.5),
        ("1", "1.0", 0.0),
        ("cafe\u0301", "caf\xe9", 0.6),
    ],
)
def test_facts(prediction: str, answer: str, score: float) -> None:
    assert anls_score(prediction, [answer]) == pytest.approx(score, abs=1e-15)


def test_options_and_keys_are_those_of_compute() -> None:
    options = set(inspect.signature(ANLS.compute).parameters) - {"self", "predictions", "references"}
    inputs, outputs = (README.split(f"### {title}")[1].split("###")[0] for title in ("Inputs", "Output Values"))
    listed = set(re.findall(r"^\| `(\w+)`", inputs, re.MULTILINE))
    assert listed == options - {"detailed", "protocol", "answer_types", "options"}  # for outputs, leaderboards
    texts = ANLS().compute(predictions=["a"], references=[["a"]], extract="think", detailed=True)
    trees = ANLS("anls_star").compute(predictions=[{"a": 1}], references=[{"a": 1}], detailed=True)
    assert texts is not None
    assert trees is not None
    named = set(re.findall(r"[`\"](\w+)[`\"]", outputs)) - {"detailed", "extract", "score"}
    assert named == texts.keys() | trees.keys()


def test_the_boundary() -> None:
    texts = [name for name, rules in PROTOCOLS.items() if not rules.tree]
    zeros = sum(anls_score("ab", ["ac"], protocol=name) == 0 for name in texts)
    runs = json.loads((EXAMPLES / "docvqa" / "reference_scores.json").read_text(encoding="utf-8"))
    changes = [run["standard"] - run["paper"] for run in runs]
    [sentence] = re.findall(r"- \*\*The boundary\.\*\* (.*?\.)\n- ", README, re.DOTALL)
    assert f"scores 0 in {zeros} of the {len(texts)} protocols for texts" in sentence
    assert f"by {min(changes):.3f} to {max(changes):.3f}." in sentence
    assert len(runs) == 6


def test_the_measured_times() -> None:
    """About: a new run differs by some percent."""
    report = read_report(ROOT / "benchmarks" / "results.json")
    timings = {name: own for part in report.sections for row in part.workloads for name, own in row.timings.items()
               if row.name == "500,000 questions of DocVQA"}  # fmt: skip
    [shown] = re.findall(r"take ([\d.]+) s from lists, ([\d.]+) s from Arrow columns and ([\d.]+) s through", README)
    measured = [timings[name].median * 1e6 for name in ("from lists", "from Arrow", "through evaluate")]
    assert [float(own) for own in shown] == pytest.approx(measured, rel=0.3)


def test_the_papers_are_cited_alike() -> None:
    assert f"```bibtex\n{CITATION}```" in README


def test_the_scores_computed_here() -> None:
    scores = yaml.safe_load((EXAMPLES / "docvqa" / "reference_scores.json").read_text(encoding="utf-8"))
    standard = [row["standard"] for row in scores]
    assert f"{min(standard):.3f} to {max(standard):.3f} | computed here" in README


class TestFrontMatter:
    """The keys of https://huggingface.co/docs/hub/spaces-config-reference, and the Hub's limit for one of them."""

    front = yaml.safe_load(README.split("---\n")[1])

    def test_is_that_of_a_metric_space(self) -> None:
        assert set(self.front["tags"]) == {"evaluate", "metric", "mcp-server"}
        assert (self.front["sdk"], self.front["app_file"], self.front["pinned"]) == ("gradio", "app.py", False)
        assert {"title", "emoji", "colorFrom", "colorTo", "description", "license", "python_version"} <= set(self.front)
        assert (ROOT / self.front["app_file"]).exists()
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in self.front["datasets"])

    def test_short_description_is_accepted(self) -> None:
        assert 0 < len(self.front["short_description"]) <= MAX_SHORT_DESCRIPTION

    def test_thumbnail_is_a_file_of_the_space(self) -> None:
        address, _, path = self.front["thumbnail"].partition("/resolve/main/")
        assert address == "https://huggingface.co/spaces/ORG/anls"
        assert (ROOT / path).read_bytes().startswith(b"\x89PNG")

    def test_gradio_is_the_tested_one(self) -> None:
        assert f'"gradio[mcp]=={self.front["sdk_version"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
