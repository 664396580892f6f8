"""Two processes, of which the first gets no question: each writes its values over both into a file of its own."""

import json
import sys
import warnings
from pathlib import Path

import torch
from torch import multiprocessing

from anls_eval.integrations.torchmetrics import ANLS, NormalizedLevenshteinSimilarity


def score(rank: int, folder: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    warnings.filterwarnings("ignore", "The ``compute`` method of metric")  # called before update, which is the point
    metrics = ANLS(), NormalizedLevenshteinSimilarity(reduction="none"), NormalizedLevenshteinSimilarity()
    if rank == 1:
        for metric in metrics:
            metric.update(["ab", "ab"], ["ac", "ab"])
    values = [metric.compute().tolist() for metric in metrics]
    Path(folder, f"values_{rank}.json").write_text(json.dumps(values), encoding="utf-8")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(score, (sys.argv[1],), nprocs=2)
