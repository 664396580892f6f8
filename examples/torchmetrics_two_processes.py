"""Score the DocVQA answers of a real model in two processes, each with half of the questions.

Run ``python examples/torchmetrics_two_processes.py``. The value is that of one process, to the last bit.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import multiprocessing
from torchmetrics import MetricCollection

from anls_eval.integrations.torchmetrics import ANLS, NormalizedLevenshteinSimilarity

DOCVQA = Path(__file__).resolve().parent / "docvqa"
PROCESSES = 2
BATCH = 64


def questions() -> tuple[list[str], list[list[str]]]:
    """Give the predictions and, in the same order, the accepted answers."""
    answers = {row["questionId"]: row["answers"] for row in _read("references.json")["data"]}
    rows = _read("pred_qwen2_vl_7b_instruct.json")
    return [row["answer"] for row in rows], [answers[row["questionId"]] for row in rows]


def _read(name: str) -> Any:
    return json.loads((DOCVQA / name).read_text(encoding="utf-8"))


def score(rank: int, meeting: str) -> None:
    """Score every second question; process 0 prints the values over all."""
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=PROCESSES)
    metrics = MetricCollection({"standard": ANLS(), "rrc": ANLS("rrc"), "paper": ANLS("paper")})
    first = NormalizedLevenshteinSimilarity()
    predictions, answers = questions()
    for start in range(rank, len(predictions), PROCESSES * BATCH):
        batch = slice(start, start + PROCESSES * BATCH, PROCESSES)
        metrics.update(predictions[batch], answers[batch])
        first.update(predictions[batch], [own[0] for own in answers[batch]])
    values = {name: value.item() for name, value in metrics.compute().items()}
    values["first_answer"] = first.compute().item()
    if rank == 0:
        print(json.dumps(values))
    torch.distributed.destroy_process_group()


def main() -> None:
    """Start the processes."""
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # gloo looks for a network by the machine's name otherwise
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(score, (f"file://{folder}/meeting",), nprocs=PROCESSES)


if __name__ == "__main__":
    main()
