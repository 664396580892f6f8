"""The tab that explains ANLS and ANLS*, the rules of each leaderboard, and how to use the metric."""

from __future__ import annotations

import os

import gradio as gr

from anls_eval.analysis.protocol_facts import protocol_facts
from anls_eval.app.page import html
from anls_eval.citation import CITATION
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words

_EVALUATE = """import evaluate

metric = evaluate.load("{name}", "standard")
metric.compute(predictions=["CocaCola"], references=[["Coca Cola", "Coca Cola Company"]])"""

_COMMAND_LINE = """pip install {package}
anls score predictions.json --references references.json --protocol rrc
anls compare ours.json theirs.json --references references.json
anls explain CocaCola 'Coca Cola'"""

_PAPERS = """[Biten et al. 2019](https://arxiv.org/abs/1905.13648), ANLS;
[Peer et al. 2024](https://arxiv.org/abs/2402.03848), ANLS\\*"""

_IN_EVALUATE = "evaluate-metric/anls"  # the Space whose name evaluate knows without its owner


def build() -> None:
    """Add the tab to the page that is open."""
    space = os.environ.get("SPACE_ID", "")  # a Space sets it to its name, such as ORG/anls
    gr.HTML(html("about.html"), apply_default_css=False, js_on_load=None)
    gr.Markdown(protocol_facts())
    protocols = [(name, rules, in_words(rules)) for name, rules in PROTOCOLS.items()]
    table = html("protocols.html", protocols=protocols, boards=[*LEADERBOARDS.values(), *BENCHMARKS.values()])
    gr.HTML(table, apply_default_css=False, js_on_load=None)
    gr.Markdown("## Use it")
    name, package = metric_name(space), package_name(space)
    gr.Code(
        _EVALUATE.format(name=name),
        label="With evaluate, in a clone" if name == "./anls.py" else "With evaluate",
        language="python",
        interactive=False,
        buttons=["copy"],
    )
    gr.Code(
        _COMMAND_LINE.format(package=package),
        label="On the command line" if space else "On the command line, in a clone",
        language="shell",
        interactive=False,
        buttons=["copy"],
    )
    gr.Markdown(f"## Read more\n\n{further_reading(space)}")
    gr.Code(CITATION.strip(), label="Citations", language="latex", interactive=False, buttons=["copy"])


def metric_name(space: str) -> str:
    """Return what evaluate.load takes; from a Space of another name than anls it fetches another file."""
    if space == _IN_EVALUATE:
        return "anls"
    return space if space.endswith("/anls") else "./anls.py"


def package_name(space: str) -> str:
    """Return what pip installs: the repository of the Space, or else the folder of a clone."""
    return f'"anls-eval[eval] @ git+https://huggingface.co/spaces/{space}"' if space else "'.[eval]'"


def further_reading(space: str) -> str:
    """Return the links to the papers, and to the card and documentation in the repository of the Space."""
    files = f"https://huggingface.co/spaces/{space}/blob/main"
    if not space:
        return f"The metric card is README.md, the documentation begins in docs/index.md. Papers: {_PAPERS}."
    return f"[Metric card]({files}/README.md), [documentation]({files}/docs/index.md). Papers: {_PAPERS}."
