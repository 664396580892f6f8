"""The tab that explains ANLS and ANLS*, the rules of each leaderboard, and how to use the metric."""

from __future__ import annotations

import gradio as gr

from anls_eval.analysis.protocol_facts import protocol_facts
from anls_eval.app.page import html
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words

_EVALUATE = """import evaluate

metric = evaluate.load("anls", "standard")
metric.compute(predictions=["CocaCola"], references=[["Coca Cola", "Coca Cola Company"]])"""

_COMMAND_LINE = """pip install '.[eval]'
anls score predictions.json --references references.json --protocol rrc
anls compare ours.json theirs.json --references references.json
anls explain CocaCola 'Coca Cola'"""

_CITATIONS = """@inproceedings{biten2019stvqa,
  title = {Scene Text Visual Question Answering},
  author = {Biten, Ali Furkan and Tito, Rub\\`en and Mafla, Andr\\'es and Gomez, Lluis and Rusi\\~nol, Mar\\c{c}al and
            Valveny, Ernest and Jawahar, C. V. and Karatzas, Dimosthenis},
  booktitle = {ICCV},
  year = {2019},
  url = {https://arxiv.org/abs/1905.13648}
}
@article{peer2024anls,
  title = {ANLS* -- A Universal Document Processing Metric for Generative Large Language Models},
  author = {Peer, David and Sch{\\"o}pf, Philemon and Nebendahl, Volckmar and Rietzler, Alexander and Stabinger,
            Sebastian},
  journal = {arXiv preprint arXiv:2402.03848},
  year = {2024}
}"""


def build() -> None:
    """Add the tab to the page that is open."""
    gr.HTML(html("about.html"), apply_default_css=False, js_on_load=None)
    gr.Markdown(protocol_facts())
    protocols = [(name, rules, in_words(rules)) for name, rules in PROTOCOLS.items()]
    table = html("protocols.html", protocols=protocols, boards=[*LEADERBOARDS.values(), *BENCHMARKS.values()])
    gr.HTML(table, apply_default_css=False, js_on_load=None)
    gr.Markdown("## Use it")
    gr.Code(_EVALUATE, label="With evaluate", language="python", interactive=False, buttons=["copy"])
    label = "On the command line, in a clone of this Space"
    gr.Code(_COMMAND_LINE, label=label, language="shell", interactive=False, buttons=["copy"])
    gr.Code(_CITATIONS, label="Citations", language="latex", interactive=False, buttons=["copy"])
