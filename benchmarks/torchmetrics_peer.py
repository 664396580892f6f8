"""Time the normalized Levenshtein similarity against torchmetrics' `EditDistance`, on the same pairs in one run.

The pairs are real: the answers of six models in ``examples/docvqa``, each with the first gold answer. Both get them
in batches through ``update``, after a warm-up. torchmetrics searches only a band of 25 characters around the diagonal,
so that some of its distances are too large: their number is reported. A distance below ours ends the run with an error;
a slow time does not.

Run ``make bench-torchmetrics``, or ``python benchmarks/torchmetrics_peer.py [--rounds N]``.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from time import perf_counter

from torchmetrics import Metric
from torchmetrics.text import EditDistance

from anls_eval.integrations.torchmetrics import NormalizedLevenshteinSimilarity

DOCVQA = Path(__file__).resolve().parent.parent / "examples" / "docvqa"
BATCH = 1_000


def pairs() -> tuple[list[str], list[str]]:
    gold = json.loads((DOCVQA / "references.json").read_text(encoding="utf-8"))["data"]
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DOCVQA.glob("pred_*.json"))]
    given = [{row["questionId"]: row["answer"] for row in run} for run in runs]
    both = [(run[row["questionId"]], row["answers"][0]) for run in given for row in gold]
    return [prediction for prediction, _ in both], [answer for _, answer in both]


def timed(metric: Metric, predictions: list[str], answers: list[str]) -> tuple[float, list[float]]:
    start = perf_counter()
    for at in range(0, len(predictions), BATCH):
        metric.update(predictions[at : at + BATCH], answers[at : at + BATCH])
    values = metric.compute().tolist()
    return perf_counter() - start, values


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often each runs")
    rounds = parser.parse_args().rounds
    predictions, answers = pairs()
    seconds: dict[str, list[float]] = {"EditDistance": [], "ours": []}
    for number in range(rounds + 1):
        n = len(predictions) if number else BATCH
        theirs, distances = timed(EditDistance(reduction="none"), predictions[:n], answers[:n])
        own, similarities = timed(NormalizedLevenshteinSimilarity(reduction="none"), predictions[:n], answers[:n])
        lengths = [max(len(p), len(a)) or 1 for p, a in zip(predictions[:n], answers[:n], strict=True)]
        peers = [1 - int(d) / length for d, length in zip(distances, lengths, strict=True)]
        if any(peer > ours for peer, ours in zip(peers, similarities, strict=True)):
            sys.exit("a distance of torchmetrics is less than ours")
        if number:
            seconds["EditDistance"].append(theirs)
            seconds["ours"].append(own)
    too_great = sum(peer < ours for peer, ours in zip(peers, similarities, strict=True))
    print(f"{len(predictions):,} pairs in batches of {BATCH:,}, {rounds} rounds; µs a pair")
    medians = {name: statistics.median(each) / len(predictions) * 1e6 for name, each in seconds.items()}
    for name, median in medians.items():
        print(f"  {name:<14}{median:>9.2f}")
    print(f"  ratio         {medians['EditDistance'] / medians['ours']:>9.0f}")
    print(f"{too_great} distances of EditDistance are too great")


if __name__ == "__main__":
    main()
