"""Rows that a benchmark's own repository publishes with the predictions behind them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from anls_eval import leaderboard_figures
from anls_eval.leaderboards import BENCHMARKS

# UpstageAI/KIEval @ 95914a4, QwenVL_72B_Sample/result.md: Qwen2.5-VL 72B on 100 receipts of CORD. What it counts is
# published: 1020 equal values of 1301 in the references, 167 in place of others, 273 without a counterpart.
# examples/kieval_cord.py computes the same row from the predictions, which this repository does not hold.
EQUAL, WANTED, WRONG, NO_MATCH = 1020, 1301, 167, 273
PREDICTED = 1346  # by the precision, 0.7578


@pytest.mark.parametrize(("protocol", "published"), [("kieval_entity_f1", 0.7707), ("kieval_aligned", 0.6986)])
def test_the_published_counts_give_the_published_row(protocol: str, published: float) -> None:
    of_groups = {"equal": EQUAL, "predicted": PREDICTED, "wanted": WANTED, "edits": WRONG + NO_MATCH}
    counts = {("groups", name): number for name, number in of_groups.items()}
    counts |= {("documents", "all"): 100, ("documents", "right"): 0}
    assert round(EQUAL / PREDICTED, 4) == 0.7578
    assert round(BENCHMARKS[protocol].figures(counts)["score"] or 0.0, 4) == published


GOLD = "0\nmenu.nm\tmenu.price\nTea\t3\nLatte\t<empty>\n\n1\ntotal.price\n3\n\nothers\nstore\tLima\nnote\ta\tb\n"
READ = "0\nmenu.nm\tmenu.price\nLatte\t<empty>\nTee\t3\n\n1\ntotal.price\n8\n\nothers\nstore\tLima\n"


def test_the_example_reads_the_tables_of_kieval(tmp_path: Path) -> None:
    for side, text in (("gt", GOLD), ("pred", READ)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "0.csv").write_bytes(text.replace("\n", "\r\n").encode())
    reference = {
        "groups": {
            "0": [{"menu.nm": "Tea", "menu.price": "3"}, {"menu.nm": "Latte", "menu.price": "<empty>"}],
            "1": [{"total.price": "3"}],
        },
        "entities": {"store": ["Lima"], "note": ["a\tb"]},
    }
    prediction = json.loads(
        json.dumps(reference).replace("Tea", "Tee").replace('"total.price": "3"', '"total.price": "8"')
    )
    prediction["groups"]["0"].reverse()
    del prediction["entities"]["note"]
    command = [sys.executable, "examples/kieval_cord.py", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for line, protocol in zip(done.stdout.splitlines(), ("kieval_entity_f1", "kieval_aligned"), strict=True):
        score = leaderboard_figures([prediction], [reference], protocol=protocol)["score"]
        assert line == f"{protocol}  {score:.4f}  n=1"
