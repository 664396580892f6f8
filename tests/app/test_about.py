"""The About tab: its lines are those that work for the Space in which it is shown."""

import json
import os
import subprocess
import sys

import pytest
from places import ROOT

from anls_eval.app.about import further_reading, metric_name, package_name
from anls_eval.citation import CITATION


@pytest.mark.parametrize(
    ("space", "name", "package"),
    [
        ("acme/anls", "acme/anls", '"anls-eval[eval] @ git+https://huggingface.co/spaces/acme/anls"'),
        ("evaluate-metric/anls", "anls", '"anls-eval[eval] @ git+https://huggingface.co/spaces/evaluate-metric/anls"'),
        ("acme/copy-of-anls", "./anls.py", '"anls-eval[eval] @ git+https://huggingface.co/spaces/acme/copy-of-anls"'),
        ("", "./anls.py", "'.[eval]'"),
    ],
)
def test_lines_to_copy(space: str, name: str, package: str) -> None:
    assert metric_name(space) == name
    assert package_name(space) == package
    assert ("/blob/main/docs/index.md" in further_reading(space)) == bool(space)


def test_the_line_of_the_card() -> None:
    assert f"`pip install {package_name('ORG/anls')}`" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.long  # its lines are tested above, and the tab without a Space in the browser
def test_the_tab_of_a_space() -> None:
    script = """
import json
import gradio as gr
from anls_eval.app import about
with gr.Blocks() as page:
    about.build()
print(json.dumps([str(part["props"].get("value")) for part in page.config["components"]]))
"""
    environment = os.environ | {"SPACE_ID": "acme/anls", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    shown = "\n".join(json.loads(done.stdout))
    assert 'evaluate.load("acme/anls", "standard")' in shown
    assert "git+https://huggingface.co/spaces/acme/anls" in shown
    assert CITATION.strip() in shown
