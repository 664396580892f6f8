"""Time flat ANLS beside what people use otherwise, on the same questions, in one run.

The questions are real: the gold answers and the answers of six models in ``tests/data/docvqa``, repeated up to the
wanted number. Every round runs each contender once, beginning with another one each time, and the median over the
rounds is shown. Contenders whose scores differ from ours end the run with an error; a time never does.

Run ``make bench``, or ``python benchmarks/flat.py [--sizes N ...] [--rounds N]``.
"""

import argparse
import gc
import importlib.metadata
import itertools
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import evaluate
import Levenshtein
import numpy as np
import pyarrow as pa
import rapidfuzz.distance.Levenshtein

import anls

HERE = Path(__file__).resolve().parent
METRIC = HERE.parent / "anls.py"
DOCVQA = HERE.parent / "tests" / "data" / "docvqa"
PEERS = HERE.parent / ".peers"

SIZES = (5_000, 50_000, 500_000)
EVALUATE_SIZE = 200_000  # where the target through evaluate is stated
PYPI_QUESTIONS = 150_000  # PyPI's anls is slow: beyond so many questions at one size it runs no further round
BATCHES_SIZE, BATCH = 50_000, 1_000

PYPI = "PyPI anls 0.0.2"
LEVENSHTEIN_LOOP = "loop, python-Levenshtein"
RAPIDFUZZ_LOOP = "loop, rapidfuzz"
LISTS = "ours, from lists"
ARROW = "ours, from Arrow"
STOCK = "evaluate, computing nothing"
EVALUATE = "ours, through evaluate"


class Target(NamedTuple):
    """How many times faster than a peer one of our ways is to be."""

    ours: str
    peer: str
    asked: float


TARGETS = (
    Target(LISTS, RAPIDFUZZ_LOOP, 3),
    Target(ARROW, RAPIDFUZZ_LOOP, 5),
    Target(LISTS, PYPI, 100),
    Target(EVALUATE, STOCK, 5),
)
BATCHES_TARGETS = (Target(EVALUATE, STOCK, 8),)


class Questions(NamedTuple):
    """The same questions as plain lists and as the rows that `evaluate` takes."""

    predictions: list[str]
    answers: list[list[str]]
    prediction_rows: list[dict[str, Any]]
    reference_rows: list[dict[str, Any]]


class Contender(NamedTuple):
    """One way to score."""

    name: str
    run: Callable[[], tuple[float, Any]]  # gives the seconds and the scores or their mean
    rounds: int
    expected: Any = None  # the scores that it must give, if any


class Measured(NamedTuple):
    """The seconds of each round, and the scores of the last."""

    seconds: list[float]
    scores: Any


# Questions


def docvqa_questions(n: int) -> Questions:
    """Repeat the real questions and the answers of all models to them until there are n."""
    gold = json.loads((DOCVQA / "gold.json").read_text(encoding="utf-8"))["data"]
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DOCVQA.glob("pred_*.json"))]
    predicted = [{row["questionId"]: row["answer"] for row in run} for run in runs]
    pairs = [(run[row["questionId"]], row["answers"]) for row in gold for run in predicted]
    return as_questions(itertools.islice(itertools.cycle(pairs), n))


def random_questions(n: int) -> Questions:
    """Make predictions of 20 letters, each with an answer that differs in 4 of them and an unrelated one."""
    generator = np.random.default_rng(0)
    letters = generator.integers(ord("a"), ord("z"), size=(n, 3, 20), endpoint=True, dtype=np.uint8)
    letters[:, 1, 4:] = letters[:, 0, 4:]
    texts = [[text.tobytes().decode() for text in row] for row in letters]
    return as_questions((prediction, answers) for prediction, *answers in texts)


def as_questions(pairs: Iterable[tuple[str, list[str]]]) -> Questions:
    """Lay the pairs out, every text an object of its own."""
    fresh = json.loads(json.dumps(list(pairs)))
    return Questions(
        predictions=[prediction for prediction, _ in fresh],
        answers=[answers for _, answers in fresh],
        prediction_rows=[{"question_id": str(i), "prediction_text": text} for i, (text, _) in enumerate(fresh)],
        reference_rows=[{"question_id": str(i), "answers": answers} for i, (_, answers) in enumerate(fresh)],
    )


# Contenders


def looped_score(prediction: str, answers: list[str], distance: Callable[[str, str], int]) -> float:
    """Score one question the way that evaluation scripts do."""
    best = 0.0
    for answer in answers:
        left = " ".join(prediction.strip().lower().split())
        right = " ".join(answer.strip().lower().split())
        length = max(len(left), len(right))
        similarity = 1 - distance(left, right) / length if length else 1.0
        if similarity >= 0.5:
            best = max(best, similarity)
    return best


def loop(questions: Questions, distance: Callable[[str, str], int]) -> list[float]:
    pairs = zip(questions.predictions, questions.answers, strict=True)
    return [looped_score(prediction, answers, distance) for prediction, answers in pairs]


class StockMetric(evaluate.Metric):  # type: ignore[misc]
    """The features of our metric on the untouched base class: its time is that of `evaluate` itself."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="",
            citation="",
            inputs_description="",
            features=datasets.Features(
                {
                    "predictions": {"question_id": text, "prediction_text": text},
                    "references": {"question_id": text, "answers": datasets.Sequence(text)},
                }
            ),
        )

    def _compute(self, *, predictions: Any, references: Any) -> dict[str, float]:
        return {"anls_score": 0.0}


def run_pypi(questions: Questions) -> tuple[float, list[float]]:
    """Run PyPI's `anls` with its own folder in front of the module search path."""
    process = subprocess.run(
        [sys.executable, str(HERE / "peer_pypi_anls.py")],
        input=json.dumps({"predictions": questions.predictions, "answers": questions.answers}),
        env=os.environ | {"PYTHONPATH": str(PEERS)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    result = json.loads(process.stdout)
    if PEERS not in Path(result["file"]).resolve().parents:
        sys.exit(f"PyPI's anls is not in {PEERS.name}: run `make bench`, which puts it there")
    return result["seconds"], result["scores"]


def timed(function: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    def run() -> tuple[float, Any]:
        start = time.perf_counter()
        scores = function()
        return time.perf_counter() - start, scores

    return run


def function_contenders(questions: Questions, rounds: int) -> list[Contender]:
    predictions, answers = questions.predictions, questions.answers
    columns = pa.array(predictions), pa.array(answers)
    standard = anls.anls_scores(predictions, answers)
    as_pypi = anls.anls_scores(predictions, answers, protocol="pypi_anls")
    pypi_rounds = max(1, min(rounds, PYPI_QUESTIONS // len(predictions)))
    rapidfuzz_distance = rapidfuzz.distance.Levenshtein.distance
    return [
        Contender(PYPI, lambda: run_pypi(questions), pypi_rounds, as_pypi),
        Contender(LEVENSHTEIN_LOOP, timed(lambda: loop(questions, Levenshtein.distance)), rounds, standard),
        Contender(RAPIDFUZZ_LOOP, timed(lambda: loop(questions, rapidfuzz_distance)), rounds, standard),
        Contender(LISTS, timed(lambda: anls.anls_scores(predictions, answers)), rounds, standard),
        Contender(ARROW, timed(lambda: anls.anls_scores(*columns)), rounds, standard),
    ]


def evaluate_contenders(questions: Questions, rounds: int, batch: int | None = None) -> list[Contender]:
    """Take all rows at once through `compute`, or in batches through `add_batch`."""
    predictions, references = questions.prediction_rows, questions.reference_rows
    starts = range(0, len(predictions), batch or len(predictions))
    batches = [
        {"predictions": predictions[start : start + starts.step], "references": references[start : start + starts.step]}
        for start in starts
    ]
    stock, ours = StockMetric(), evaluate.load(str(METRIC))

    def score(metric: Any) -> Any:
        if batch is None:
            return metric.compute(**batches[0])["anls_score"]
        for rows in batches:
            metric.add_batch(**rows)
        return metric.compute()["anls_score"]

    scores = anls.anls_scores(questions.predictions, questions.answers)
    return [
        Contender(STOCK, timed(lambda: score(stock)), rounds),
        Contender(EVALUATE, timed(lambda: score(ours)), rounds, math.fsum(scores.tolist()) / len(scores)),
    ]


# Measuring and checking


def measure(contenders: Sequence[Contender]) -> dict[str, Measured]:
    gc.collect()  # how often Python collects depends on the heap it met last, which was that of another size
    measured = {contender.name: Measured([], None) for contender in contenders}
    for number in range(max(contender.rounds for contender in contenders)):
        turn = number % len(contenders)
        for contender in [*contenders[turn:], *contenders[:turn]]:
            if number < contender.rounds:
                seconds, scores = contender.run()
                check_scores(contender, scores)
                measured[contender.name] = Measured([*measured[contender.name].seconds, seconds], scores)
    return measured


def check_scores(contender: Contender, scores: Any) -> None:
    """End the run if a contender gave a score that is not ours."""
    if contender.expected is None:
        return
    given, expected = np.atleast_1d(scores), np.atleast_1d(contender.expected)
    differing = np.flatnonzero(given != expected)
    if len(differing):
        first = differing[0]
        sys.exit(
            f"scores differ: {contender.name} gives {float(given[first])!r} where anls_scores gives "
            f"{float(expected[first])!r}, in row {first} and {len(differing) - 1} more of {len(expected)}"
        )


# Output


def ratio(measured: dict[str, Measured], peer: str, ours: str) -> float:
    return statistics.median(measured[peer].seconds) / statistics.median(measured[ours].seconds)


def print_times(title: str, n: int, measured: dict[str, Measured]) -> None:
    print(f"\n{title}")
    print(f"  {'µs a question':<28}{'median':>9}{'fastest':>9}{'slowest':>9}{'rounds':>8}{'times ours':>12}")
    for name, (seconds, _) in measured.items():
        each = [value / n * 1e6 for value in (statistics.median(seconds), min(seconds), max(seconds))]
        slower = ratio(measured, name, EVALUATE if name in (STOCK, EVALUATE) else LISTS)
        print(f"  {name:<28}{each[0]:>9.3f}{each[1]:>9.3f}{each[2]:>9.3f}{len(seconds):>8}{slower:>12.2f}")
    sys.stdout.flush()


def target_rows(where: str, targets: Iterable[Target], measured: dict[str, Measured]) -> list[str]:
    rows = []
    for ours, peer, asked in targets:
        if ours in measured and peer in measured:
            reached = ratio(measured, peer, ours)
            verdict = "met" if reached >= asked else "missed"
            rows.append(f"  {ours:<24}{peer:<29}{where:<29}{asked:>6g}{reached:>9.2f}  {verdict}")
    return rows


def print_machine() -> None:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    print(f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores, {platform.system()}")
    print(f"Python {platform.python_version()}")
    packages = ("rapidfuzz", "Levenshtein", "pyarrow", "numpy", "evaluate", "datasets")
    print(", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages))


def run_docvqa(n: int, rounds: int, with_functions: bool) -> list[str]:
    questions = docvqa_questions(n)
    contenders = function_contenders(questions, rounds) if with_functions else []
    measured = measure(contenders + evaluate_contenders(questions, rounds))
    print_times(f"{n:,} questions of DocVQA", n, measured)
    return target_rows(f"{n:,} questions", TARGETS, measured)


def run_batches(rounds: int) -> list[str]:
    measured = measure(evaluate_contenders(random_questions(BATCHES_SIZE), rounds, batch=BATCH))
    print_times(f"{BATCHES_SIZE:,} questions of 20 letters, add_batch of {BATCH:,}", BATCHES_SIZE, measured)
    return target_rows(f"{BATCHES_SIZE:,} in batches of {BATCH:,}", BATCHES_TARGETS, measured)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of questions")
    parser.add_argument("--rounds", type=positive, default=7, help="how often each contender runs")
    options = parser.parse_args()

    print_machine()
    load_before = os.getloadavg()[0]
    rows = []
    for n in sorted({*options.sizes, EVALUATE_SIZE}):
        rows += run_docvqa(n, options.rounds, with_functions=n in options.sizes)
    rows += run_batches(options.rounds)
    print(f"\nTargets\n  {'ours':<24}{'beside':<29}{'on':<29}{'asked':>6}{'reached':>9}")
    print("\n".join(rows))
    print(f"\nLoad average {load_before:.1f} before and {os.getloadavg()[0]:.1f} after; by itself the run makes it 1.")


if __name__ == "__main__":
    main()
