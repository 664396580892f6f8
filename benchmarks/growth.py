"""Measure how time and memory grow with the size of the input, each point in a separate process.

Flat ANLS is scored in a stream from two Parquet files of ``generate.py``: any score but the known one ends the run with
an error. Exponents are slopes of log time, and of log peak memory, over log size in the upper half of the points;
neither the memory of Python and libraries nor the constant cost of a call is subtracted.

Run ``python benchmarks/growth.py [--rows N ...] [--rounds N]``; ten million rows take 0.7 GB of disk.
"""

import functools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anls_eval.files import open_predictions, open_references
from anls_eval.scoring import anls_score, anls_scores, anls_star_score
from anls_eval.submission.score import score_submission
from benchmarks.documents import chain, description, descriptions, predicted, with_slips
from benchmarks.generate import expected_mean, write_dataset
from benchmarks.measuring import LEAST_SECONDS, alone, arguments, peak_megabytes, positive, timed, used_megabytes
from benchmarks.questions import docvqa_questions
from benchmarks.render import growth_text
from benchmarks.results import Curve, Growth, Point, Target, at_most

ROUNDS = 3
STREAM_ROWS, STREAM_MEGABYTES = 10_000_000, 500
INPUTS = 1.5  # how many times the lists scoring may hold, they included


class Sizes(NamedTuple):
    """The sizes of each curve, and how many questions are in lists."""

    rows: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    depths: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    lists: tuple[int, ...] = (10, 30, 100, 300, 1_000, 3_000)
    letters: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    in_lists: int = 1_000_000


# What runs in a process of its own, and gives its seconds and its peak in megabytes


def flat_point(predictions: str, references: str) -> tuple[float, float, float]:
    start = time.perf_counter()
    found = score_submission(open_predictions(predictions), open_references(references))
    return time.perf_counter() - start, peak_megabytes(), found.score


def depth_point(depth: int) -> tuple[float, float]:
    return called(anls_star_score, chain(depth, "ACME Gmbh"), chain(depth, "ACME GmbH & Co"))


def list_point(n: int) -> tuple[float, float]:
    generator = random.Random(0)  # noqa: S311
    reference = descriptions(generator, n)
    return called(anls_star_score, predicted(generator, reference), reference)


def letters_point(n: int) -> tuple[float, float]:
    generator = random.Random(0)  # noqa: S311
    reference = description(generator, n)[:n]
    return called(anls_score, with_slips(generator, reference), [reference])


def called(function: Callable[..., float], *arguments: Any) -> tuple[float, float]:
    seconds, _ = timed(functools.partial(function, *arguments), LEAST_SECONDS)()
    return seconds, peak_megabytes()


def lists_point(n: int) -> tuple[float, float]:
    """The megabytes of n questions in lists, and what scoring them adds at its peak."""
    before = used_megabytes()
    questions = docvqa_questions(n)
    built = used_megabytes()
    anls_scores(*questions)
    return built - before, peak_megabytes() - built


def nothing() -> float:
    return peak_megabytes()


# Curves


def curve(name: str, sizes: Sequence[int], rounds: int, measure: Callable[[int], Sequence[float]]) -> Curve:
    """Measure all sizes once a round."""
    each: dict[int, list[Sequence[float]]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            each[size].append(measure(size))
    points = []
    for size, own in each.items():
        seconds, megabytes = zip(*own, strict=True)
        points.append(Point(size, statistics.median(seconds), statistics.median(megabytes)))
    upper = points[len(points) // 2 :] if len(points) > 2 else points
    scales = np.log([point.size for point in upper])
    slopes = [
        float(np.polyfit(scales, np.log(values), 1)[0])
        for values in ([point.seconds for point in upper], [point.megabytes for point in upper])
    ]
    return Curve(name, tuple(points), *slopes)


def flat_curve(sizes: Sequence[int], rounds: int) -> Curve:
    with tempfile.TemporaryDirectory() as name:
        for rows in sizes:
            write_dataset(Path(name) / str(rows), rows, 1)
        means = {rows: expected_mean(rows) for rows in sizes}

        def measure(rows: int) -> tuple[float, float]:
            paths = [
                str(Path(name) / str(rows) / side / "part-00000.parquet") for side in ("predictions", "references")
            ]
            seconds, megabytes, score = alone(flat_point, *paths)
            if score != means[rows]:
                sys.exit(f"scores differ: {rows:,} rows give {score!r}, expected {means[rows]!r}")
            return seconds, megabytes

        return curve("questions, in a stream from Parquet", sizes, rounds, measure)


def targets(flat: Curve, in_lists: int) -> list[Target]:
    held, added = alone(lists_point, in_lists)
    found = [
        at_most(
            f"{in_lists:,} questions in lists: {held:,.0f} MB, scoring adds {added:,.0f} MB",
            (held + added) / held,
            "times the input",
            INPUTS,
        )
    ]
    return found + [
        at_most(f"{point.size:,} rows in a stream: peak", point.megabytes, "MB", STREAM_MEGABYTES)
        for point in flat.points
        if point.size == STREAM_ROWS
    ]


def growth(sizes: Sizes, rounds: int = ROUNDS) -> Growth:
    start = time.perf_counter()
    import_megabytes = alone(nothing)
    import_seconds = time.perf_counter() - start
    flat = flat_curve(sizes.rows, rounds)
    curves = (
        flat,
        curve("lists in one another", sizes.depths, rounds, functools.partial(alone, depth_point)),
        curve("texts in a list", sizes.lists, rounds, functools.partial(alone, list_point)),
        curve("letters of a text", sizes.letters, rounds, functools.partial(alone, letters_point)),
    )
    return Growth(
        "Each point is a process of its own; times are without its start and imports, peaks of memory are with them. "
        "The exponents are slopes over the upper half of the points, in logarithms.",
        curves,
        import_seconds,
        import_megabytes,
        tuple(targets(flat, sizes.in_lists)),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=positive, nargs="+", default=Sizes().rows, help="numbers of questions")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often each point is measured")
    options = parser.parse_args()
    print(growth_text(growth(Sizes(rows=tuple(sorted(set(options.rows)))), options.rounds)))


if __name__ == "__main__":
    main()
