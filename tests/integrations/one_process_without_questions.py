"""Two processes, of which the first gets no question: each prints its values over both."""

import sys
import warnings

import torch
from torch import multiprocessing

from anls_eval.integrations.torchmetrics import ANLS, NormalizedLevenshteinSimilarity


def score(rank: int, meeting: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    warnings.filterwarnings("ignore", "The ``compute`` method of metric")  # called before update, which is the point
    metrics = ANLS(), NormalizedLevenshteinSimilarity(reduction="none"), NormalizedLevenshteinSimilarity()
    if rank == 1:
        for metric in metrics:
            metric.update(["ab", "ab"], ["ac", "ab"])
    print([metric.compute().tolist() for metric in metrics])
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(score, (sys.argv[1],), nprocs=2)
