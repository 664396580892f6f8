"""Time whole submissions on the command line: ours on every format beside the command line of PyPI's anls.

The questions are those of ``benchmarks/flat.py``. Each run is a process of its own, from its start to its end, with
its peak memory; scoring alone is timed within such a process, without the imports. PyPI's ``calculate-anls`` reads the
JSON of the Robust Reading Competition and takes about 0.2 ms a question: it runs on fewer.

Run ``python benchmarks/submission.py [--sizes N ...]``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.flat import PEERS, docvqa_questions, positive, print_machine

SIZES = (10_000, 100_000, 1_000_000)
PYPI_SIZE = 100_000  # beyond, calculate-anls takes minutes
TARGET_SIZE, TARGET_SECONDS, TARGET_MEGABYTES = 1_000_000, 3, 500

SCORING = """
import sys, time
from anls_eval.formats import open_predictions, open_references
from anls_eval.submission import score_submission
start = time.perf_counter()
result = score_submission(open_predictions(sys.argv[1]), open_references(sys.argv[2]), protocol="pypi_anls")
print(time.perf_counter() - start, result.score)
"""


class Ran(NamedTuple):
    """One process: its time from start to end, its peak memory, and what it printed."""

    seconds: float
    megabytes: float
    printed: str


def write_questions(folder: Path, n: int) -> dict[str, tuple[Path, Path]]:
    """Write predictions and references in each format."""
    questions = docvqa_questions(n)
    ids = list(range(n))
    rows = {
        "p": [{"questionId": i, "answer": text} for i, text in zip(ids, questions.predictions, strict=True)],
        "r": [{"questionId": i, "answers": own} for i, own in zip(ids, questions.answers, strict=True)],
    }
    asked = [{**row, "question": ""} for row in rows["r"]]  # which calculate-anls wants
    gold = {"dataset_name": "docvqa", "dataset_version": "1.0", "dataset_split": "val", "data": asked}
    (folder / "p.json").write_text(json.dumps(rows["p"]), encoding="utf-8")
    (folder / "r.json").write_text(json.dumps(gold), encoding="utf-8")
    for side, own in rows.items():
        with (folder / f"{side}.jsonl").open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in own)
        pq.write_table(pa.Table.from_pylist(own), folder / f"{side}.parquet")
    return {kind: (folder / f"p.{kind}", folder / f"r.{kind}") for kind in ("parquet", "jsonl", "json")}


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> Ran:
    """Run a process under the eyes of another, which reports its time and its peak memory."""
    watcher = (
        "import resource, subprocess, sys, time; start = time.perf_counter();"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True);"
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3);"
        "print(done.stdout); sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", watcher, *command],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    figures, _, printed = done.stdout.partition("\n")
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{printed}")
    seconds, megabytes = map(float, figures.split())
    return Ran(seconds, megabytes, printed)


def print_size(n: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        paths = write_questions(Path(name), n)
        print(f"\n{n:,} questions\n  {'':<34}{'s in all':>10}{'s scoring':>11}{'MB peak':>9}")
        scores = {}
        for kind, (predictions, references) in paths.items():
            sides = [str(predictions), str(references)]
            command = [
                sys.executable,
                "-m",
                "anls_eval",
                "score",
                sides[0],
                "-r",
                sides[1],
                "-p",
                "pypi_anls",
                "--json",
            ]
            ran = run(command)
            scoring = run([sys.executable, "-c", SCORING, *sides]).printed.split()
            scores[f"anls score, {kind}"] = round(json.loads(ran.printed)["anls_score"], 9)
            print(f"  {f'anls score, {kind}':<34}{ran.seconds:>10.2f}{float(scoring[0]):>11.2f}{ran.megabytes:>9.0f}")
            if kind == "parquet" and n == TARGET_SIZE:
                met = float(scoring[0]) < TARGET_SECONDS and ran.megabytes < TARGET_MEGABYTES
                print(
                    f"  {'':<34}{'':>10}{TARGET_SECONDS:>11}{TARGET_MEGABYTES:>9}  asked, {'met' if met else 'missed'}"
                )
        if n <= PYPI_SIZE:
            predictions, references = paths["json"]
            files = ["--gold-label-file", str(references), "--submission-file", str(predictions), "--output-dir", name]
            ran = run([sys.executable, str(PEERS / "bin" / "calculate-anls"), *files], {"PYTHONPATH": str(PEERS)})
            print(f"  {'calculate-anls of PyPI, json':<34}{ran.seconds:>10.2f}{'':>11}{ran.megabytes:>9.0f}")
            results = json.loads((Path(name) / "results.json").read_text(encoding="utf-8"))
            scores["calculate-anls"] = round(results["result"]["score"], 9)
        if len(set(scores.values())) > 1:
            sys.exit(f"scores differ: {scores}")
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of questions")
    options = parser.parse_args()
    print_machine()
    for n in sorted(set(options.sizes)):
        print_size(n)


if __name__ == "__main__":
    main()
