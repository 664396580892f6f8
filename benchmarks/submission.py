"""Time whole submissions on the command line: ours in every format, against the command line of PyPI's anls.

The questions are those of DocVQA, repeated. Each run is a separate process, timed from start to end, with its peak
memory; scoring alone is timed within such a process, without imports. The floor is a process that reads both files with
Arrow or Python's json and calls `anls_scores`, without ids, checks and intervals. PyPI's ``calculate-anls`` reads the
JSON of the Robust Reading Competition and takes about 0.2 ms per question: it runs on fewer.

Run ``python benchmarks/submission.py [--sizes N ...] [--rounds N]``.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from anls_eval.scoring import anls_scores
from benchmarks.measuring import PEERS, Contender, arguments, equal_to, positive, workload
from benchmarks.questions import Questions, docvqa_questions
from benchmarks.render import section_text
from benchmarks.results import FLOOR, Section, Target, Workload, at_most

PYPI_SIZE = 100_000  # beyond, calculate-anls takes minutes
TARGET_SIZE, TARGET_SECONDS, TARGET_MEGABYTES = 1_000_000, 3, 500
ROUNDS = 3
OURS, ALONE, PEER = "anls score", "scoring alone", "calculate-anls of PyPI"
KINDS = ("parquet", "jsonl", "json")

SCORING = """
import sys, time
from anls_eval.files import open_predictions, open_references
from anls_eval.submission.score import score_submission
start = time.perf_counter()
result = score_submission(open_predictions(sys.argv[1]), open_references(sys.argv[2]), protocol="pypi_anls")
print(time.perf_counter() - start, result.score)
"""
READING = {
    "parquet": "import pyarrow.parquet; columns = [pyarrow.parquet.read_table(path)[1] for path in paths]",
    "jsonl": "rows = [[json.loads(line) for line in open(path)] for path in paths]",
    "json": "rows = [json.load(open(path)) for path in paths]; rows[1] = rows[1]['data']",
}
LEAST = """
import json, math, sys
import anls_eval
paths = sys.argv[1:]
{reading}
if "rows" in globals():
    columns = [row["answer"] for row in rows[0]], [row["answers"] for row in rows[1]]
scores = anls_eval.anls_scores(*columns, protocol="pypi_anls")
print(math.fsum(scores.tolist()) / len(scores))
"""


class Sizes(NamedTuple):
    """The numbers of questions, and the formats."""

    questions: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    kinds: tuple[str, ...] = KINDS


class Ran(NamedTuple):
    """One process: its time from start to end, its peak memory, and what it printed."""

    seconds: float
    megabytes: float
    printed: str


def write_questions(folder: Path, questions: Questions) -> dict[str, list[str]]:
    """Write predictions and references in each format."""
    rows = {
        "p": [{"questionId": i, "answer": text} for i, text in enumerate(questions.predictions)],
        "r": [{"questionId": i, "answers": own} for i, own in enumerate(questions.answers)],
    }
    asked = [{**row, "question": ""} for row in rows["r"]]  # which calculate-anls wants
    gold = {"dataset_name": "docvqa", "dataset_version": "1.0", "dataset_split": "val", "data": asked}
    (folder / "p.json").write_text(json.dumps(rows["p"]), encoding="utf-8")
    (folder / "r.json").write_text(json.dumps(gold), encoding="utf-8")
    for side, own in rows.items():
        with (folder / f"{side}.jsonl").open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in own)
        pq.write_table(pa.Table.from_pylist(own), folder / f"{side}.parquet")
    return {kind: [str(folder / f"{side}.{kind}") for side in rows] for kind in KINDS}


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> Ran:
    """Run a process under the eyes of another, which reports its time and its peak memory."""
    watcher = (
        "import resource, subprocess, sys, time; start = time.perf_counter();"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True);"
        "unit = 2**20 if sys.platform == 'darwin' else 2**10;"
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit);"
        "print(done.stdout); sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", watcher, *command],
        env=os.environ | (environment or {}),
        capture_output=True,  # notes are not part of what is printed
        text=True,
        check=False,
    )
    figures, _, printed = done.stdout.partition("\n")
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{printed}{done.stderr}")
    seconds, megabytes = map(float, figures.split())
    return Ran(seconds, megabytes, printed)


# Contenders: seconds, and the score with the peak of memory


Result = tuple[float, float]


def whole(paths: list[str]) -> tuple[float, Result]:
    predictions, references = paths
    options = ["score", predictions, "-r", references, "-p", "pypi_anls", "--json"]
    ran = run([sys.executable, "-m", "anls_eval", *options])
    return ran.seconds, (json.loads(ran.printed)["anls_score"], ran.megabytes)


def scoring(paths: list[str]) -> tuple[float, Result]:
    ran = run([sys.executable, "-c", SCORING, *paths])
    seconds, score = map(float, ran.printed.split())
    return seconds, (score, ran.megabytes)


def least(paths: list[str]) -> tuple[float, Result]:
    reading = READING[Path(paths[0]).suffix[1:]]
    ran = run([sys.executable, "-c", LEAST.format(reading=reading), *paths])
    return ran.seconds, (float(ran.printed), ran.megabytes)


def peer(paths: list[str]) -> tuple[float, Result]:
    predictions, references = paths
    folder = Path(predictions).parent
    files = ["--gold-label-file", references, "--submission-file", predictions, "--output-dir", str(folder)]
    ran = run([sys.executable, str(PEERS / "bin" / "calculate-anls"), *files], {"PYTHONPATH": str(PEERS)})
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return ran.seconds, (results["result"]["score"], ran.megabytes)


def submission_workload(kind: str, paths: list[str], n: int, mean: float, rounds: int) -> Workload:
    same = equal_to(round(mean, 9))  # one sum is taken in another order
    runs: dict[str, Callable[[list[str]], tuple[float, Result]]] = {OURS: whole, ALONE: scoring, FLOOR: least}
    if kind == "json" and n <= PYPI_SIZE:
        runs = {PEER: peer} | runs

    def contender(name: str) -> Contender:
        return Contender(name, lambda: runs[name](paths), rounds, lambda result: same(round(result[0], 9)))

    return workload(
        f"{n:,} questions, {kind}",
        1,
        [contender(name) for name in runs],
        more=lambda result: {"megabytes": result[1]},
        headline=(PEER,) if n == PYPI_SIZE else (),
    )


def submission_targets(found: Workload) -> list[Target]:
    seconds, megabytes = found.timings[ALONE].median, found.timings[OURS].megabytes or 0.0
    return [
        at_most(f"{found.name}: {ALONE}", seconds, "s", TARGET_SECONDS),
        at_most(f"{found.name}: {OURS}", megabytes, "MB", TARGET_MEGABYTES),
    ]


def submission_section(sizes: Sizes, rounds: int = ROUNDS) -> Section:
    workloads, targets = [], []
    for n in sizes.questions:
        questions = docvqa_questions(n)
        scores = anls_scores(*questions, protocol="pypi_anls")
        mean = math.fsum(scores.tolist()) / n
        with tempfile.TemporaryDirectory() as name:
            paths = write_questions(Path(name), questions)
            for kind in sizes.kinds:
                found = submission_workload(kind, paths[kind], n, mean, rounds)
                workloads.append(found)
                targets += submission_targets(found) if kind == "parquet" and n == TARGET_SIZE else []
    return Section(
        "Submissions on the command line",
        "`anls score PREDICTIONS -r REFERENCES` from the start of the process to its end; `scoring alone` is without "
        "the imports. The floor is a process that reads both files with Arrow or Python's json and calls "
        "`anls_scores`, without ids, checks and intervals. Scores are compared with 9 digits.",
        "s",
        tuple(workloads),
        ((PEER, OURS), (OURS, FLOOR)),
        tuple(targets),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=positive, nargs="+", default=Sizes().questions, help="numbers of questions")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often each contender runs")
    options = parser.parse_args()
    print(section_text(submission_section(Sizes(tuple(options.sizes)), options.rounds)))


if __name__ == "__main__":
    main()
