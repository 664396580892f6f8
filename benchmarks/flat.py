"""Time flat ANLS against common alternatives, on the same questions in one run.

The questions are real: the gold answers and the answers of six models in ``examples/docvqa``, repeated up to the
requested number, and others with long or many answers. The floor is the time of the distances alone: the rapidfuzz
calls that our code makes, repeated on the texts it prepared. Contenders with other scores than ours end the run with an
error; slow ones do not.

Run ``make bench``, or ``python benchmarks/flat.py [--sizes N ...] [--rounds N]``.
"""

import contextlib
import functools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import evaluate
import Levenshtein
import pyarrow as pa
import pyarrow.parquet as pq
import rapidfuzz.distance.Levenshtein

from anls_eval.scoring import anls_scores
from benchmarks.measuring import (
    PEERS,
    ROOT,
    ROUNDS,
    Contender,
    arguments,
    equal_to,
    floor,
    positive,
    timed,
    workload,
)
from benchmarks.questions import (
    Questions,
    docvqa_questions,
    long_questions,
    many_answers,
    random_questions,
    typo_questions,
)
from benchmarks.render import section_text
from benchmarks.results import FLOOR, Section, Workload, faster

PYPI = "PyPI anls"
LEVENSHTEIN_LOOP = "python-Levenshtein loop"
RAPIDFUZZ_LOOP = "rapidfuzz loop"
LISTS, ARROW, PARQUET = "from lists", "from Arrow", "from Parquet"
STOCK = "evaluate, computing nothing"
EVALUATE = "through evaluate"
BATCH = 1_000


class Sizes(NamedTuple):
    """How many questions each workload has; of `answers`, those with so many answers."""

    questions: tuple[int, ...] = (5_000, 50_000, 500_000)
    long: int = 2_000
    answers: tuple[tuple[int, int], ...] = ((1, 100_000), (5, 50_000), (50, 10_000))
    batches: int = 50_000
    pypi_pairs: int = 150_000  # PyPI's anls is slow: beyond so many pairs at one size it runs no further round
    pypi_long: int = 20


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
        [sys.executable, str(Path(__file__).with_name("peer_pypi_anls.py"))],
        input=json.dumps({"predictions": questions.predictions, "answers": questions.answers}),
        env=os.environ | {"PYTHONPATH": str(PEERS)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    result = json.loads(process.stdout)
    if PEERS.resolve() not in Path(result["file"]).resolve().parents:
        sys.exit(f"PyPI's anls is not in {PEERS.name}: run `make bench`, which puts it there")
    return result["seconds"], result["scores"]


@contextlib.contextmanager
def parquet_file(questions: Questions) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.parquet"
        pq.write_table(pa.table({"prediction": questions.predictions, "answers": questions.answers}), path)
        yield path


def from_parquet(path: Path) -> Any:
    table = pq.read_table(path)
    return anls_scores(table["prediction"], table["answers"])


def texts_workload(
    name: str, questions: Questions, rounds: int, pypi_items: int, pypi_rounds: int, headline: tuple[str, ...] = ()
) -> Workload:
    predictions, answers = questions
    n = len(predictions)
    columns = pa.array(predictions), pa.array(answers)
    ours = functools.partial(anls_scores, predictions, answers)
    standard = equal_to(ours())
    sample = questions.first(pypi_items)
    as_pypi = equal_to(anls_scores(*sample, protocol="pypi_anls"))
    levenshtein, rapid = Levenshtein.distance, rapidfuzz.distance.Levenshtein.distance
    with parquet_file(questions) as path:
        contenders = [
            Contender(PYPI, lambda: run_pypi(sample), pypi_rounds, as_pypi, len(sample.predictions)),
            Contender(LEVENSHTEIN_LOOP, timed(lambda: loop(questions, levenshtein)), rounds, standard, n),
            Contender(RAPIDFUZZ_LOOP, timed(lambda: loop(questions, rapid)), rounds, standard, n),
            Contender(LISTS, timed(ours), rounds, standard, n),
            Contender(ARROW, timed(lambda: anls_scores(*columns)), rounds, standard, n),
            Contender(PARQUET, timed(lambda: from_parquet(path)), rounds, standard, n),
            Contender(FLOOR, floor(ours), rounds, None, n),
        ]
        return workload(name, n, contenders, headline=headline)


def evaluate_workload(
    name: str, questions: Questions, rounds: int, batch: int | None = None, headline: tuple[str, ...] = ()
) -> Workload:
    """Take all rows at once through `compute`, or in batches through `add_batch`."""
    n = len(questions.predictions)
    predictions, references = questions.rows()
    starts = range(0, n, batch or n)
    batches = [
        {"predictions": predictions[start : start + starts.step], "references": references[start : start + starts.step]}
        for start in starts
    ]
    stock, ours = StockMetric(), evaluate.load(str(ROOT / "anls.py"))

    def score(metric: Any) -> Any:
        if batch is None:
            return metric.compute(**batches[0])["anls_score"]
        for rows in batches:
            metric.add_batch(**rows)
        return metric.compute()["anls_score"]

    mean = math.fsum(anls_scores(*questions).tolist()) / n
    contenders = [
        Contender(STOCK, timed(lambda: score(stock)), rounds, None, n),
        Contender(EVALUATE, timed(lambda: score(ours)), rounds, equal_to(mean), n),
        Contender(FLOOR, floor(lambda: anls_scores(*questions)), rounds, None, n),
    ]
    return workload(name, n, contenders, headline=headline)


# Sections


def texts_section(sizes: Sizes, rounds: int) -> Section:
    workloads = []
    for n in sizes.questions:
        pypi_rounds = max(1, min(rounds, sizes.pypi_pairs // n))
        name = f"{n:,} questions of DocVQA"
        headline = (PYPI, RAPIDFUZZ_LOOP) if n == sizes.questions[-1] else ()
        workloads.append(texts_workload(name, docvqa_questions(n), rounds, n, pypi_rounds, headline))
    largest, n = workloads[-1], sizes.questions[-1]
    name = f"{n:,} questions of DocVQA, every answer with a typo"
    workloads.append(texts_workload(name, typo_questions(n), rounds, min(n, sizes.pypi_pairs // 10), min(1, rounds)))
    typos = workloads[-1]
    name = f"{sizes.long:,} answers of 200 to 2,000 letters"
    workloads.append(texts_workload(name, long_questions(sizes.long), rounds, sizes.pypi_long, min(3, rounds)))
    for each, n in sizes.answers:
        name = f"{n:,} questions with {each} {'answer' if each == 1 else 'answers'}"
        pypi_items = min(n, max(1, sizes.pypi_pairs // 10 // each))
        workloads.append(texts_workload(name, many_answers(n, each), rounds, pypi_items, min(3, rounds)))
    return Section(
        "Flat ANLS",
        "The loops do what evaluation scripts do: normalise both texts and take the distance, pair by pair. "
        "`from lists`, `from Arrow` and `from Parquet` are `anls_scores`; the last reads the file, too. The floor is "
        "the calls of rapidfuzz alone that ours makes, on the texts as prepared. Scores are equal to the bit, PyPI's "
        "to those of the protocol `pypi_anls`.",
        "µs a question",
        tuple(workloads),
        ((PYPI, LISTS), (RAPIDFUZZ_LOOP, LISTS), (RAPIDFUZZ_LOOP, ARROW), (LISTS, FLOOR)),
        (
            *faster(largest, RAPIDFUZZ_LOOP, LISTS, 3, 4),
            *faster(largest, RAPIDFUZZ_LOOP, ARROW, 6, 8),
            *faster(typos, RAPIDFUZZ_LOOP, LISTS, 3, 4),
            *faster(typos, RAPIDFUZZ_LOOP, ARROW, 6, 8),
            *faster(largest, PYPI, LISTS, 120, 200),
        ),
    )


def evaluate_section(sizes: Sizes, rounds: int) -> Section:
    n = sizes.questions[-1]
    whole = evaluate_workload(f"{n:,} questions of DocVQA", docvqa_questions(n), rounds, headline=(STOCK,))
    name = f"{sizes.batches:,} questions of 20 letters, add_batch of {BATCH:,}"
    batches = evaluate_workload(name, random_questions(sizes.batches), rounds, BATCH)
    return Section(
        "Through evaluate",
        "`evaluate.load(...)` and `compute`, beside a metric with the same features on the untouched base class that "
        "computes nothing: its time is that of evaluate itself.",
        "µs a question",
        (whole, batches),
        ((STOCK, EVALUATE), (EVALUATE, FLOOR)),
        (*faster(whole, STOCK, EVALUATE, 8), *faster(batches, STOCK, EVALUATE, 8)),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=positive, nargs="+", default=Sizes().questions, help="numbers of questions")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often each contender runs")
    options = parser.parse_args()
    sizes = Sizes(questions=tuple(sorted(set(options.sizes))))
    print(section_text(texts_section(sizes, options.rounds)))
    print(section_text(evaluate_section(sizes, options.rounds)))


if __name__ == "__main__":
    main()
