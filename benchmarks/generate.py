"""Write DocVQA-like data of any size as Parquet files: predictions and references in parts.

The texts are the answers in ``examples/docvqa`` and those of six models to the same 1,000 questions, 6,000 rows that
repeat. Each repetition permutes the letters and the digits, in the same way on both sides: no two repetitions share
texts, but all have the same distances. The score is therefore known: it is that of the 6,000 rows.

Run ``python benchmarks/generate.py FOLDER --rows N [--files N] [--apart]``.
"""

import argparse
import functools
import itertools
import json
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anls_eval.files.write import whole_file
from anls_eval.scoring import anls_scores
from anls_eval.statistics.tally import Tally

DOCVQA = Path(__file__).resolve().parent.parent / "examples" / "docvqa"
SEPARATOR = "\x1f"  # in none of the texts
ROW_GROUP = 120_000


@functools.cache
def repetition() -> tuple[list[str], list[list[str]], list[str]]:
    """The predictions, answers and models of the rows that repeat."""
    gold = json.loads((DOCVQA / "references.json").read_text(encoding="utf-8"))["data"]
    predictions, answers, models = [], [], []
    for path in sorted(DOCVQA.glob("pred_*.json")):
        given = {row["questionId"]: row["answer"] for row in json.loads(path.read_text(encoding="utf-8"))}
        predictions += [given[row["questionId"]] for row in gold]
        answers += [row["answers"] for row in gold]
        models += [path.stem.removeprefix("pred_")] * len(gold)
    return predictions, answers, models


def tables(start: int, rows: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Predictions and references of the rows from `start` on, one repetition at a time."""
    predictions, answers, models = repetition()
    size = len(predictions)
    joined = SEPARATOR.join((*predictions, *(text for own in answers for text in own)))
    ends = np.cumsum([0, *map(len, answers)])
    for number in range(start // size, -(-(start + rows) // size)):
        texts = joined.translate(exchanged(number)).split(SEPARATOR)
        ids = pa.array([f"q{row:012d}" for row in range(number * size, (number + 1) * size)])
        given = pa.table({"question_id": ids, "prediction": texts[:size], "model": models})
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(texts[size:]))
        expected = pa.table({"question_id": ids, "answers": lists})
        first, last = max(start - number * size, 0), min(start + rows - number * size, size)
        yield given[first:last], expected[first:last]


def exchanged(number: int) -> dict[int, int]:
    """Which character stands for which in one repetition; none is changed in the first."""
    generator = np.random.default_rng(number)
    kinds = (string.ascii_lowercase, string.digits)
    orders = [np.arange(len(kind)) if number == 0 else generator.permutation(len(kind)) for kind in kinds]
    table: dict[int, int] = {}
    for kind, order in zip(kinds, orders, strict=True):
        other = "".join(kind[place] for place in order)
        table |= str.maketrans(kind + kind.upper(), other + other.upper())
    return table


def write_part(folder: Path, name: str, start: int, rows: int, sides: tuple[str, ...]) -> None:
    """Write the rows from `start` on of some sides, each to a file of its own folder."""
    for side, number in (("predictions", 0), ("references", 1)):
        if side in sides:
            (folder / side).mkdir(parents=True, exist_ok=True)
            with whole_file(folder / side / f"{name}.parquet") as path:
                waiting = (pair[number] for pair in tables(start, rows))
                first = next(waiting)
                with pq.ParquetWriter(path, first.schema) as writer:
                    for group in groups(itertools.chain([first], waiting)):
                        writer.write_table(group)


def groups(waiting: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Put so many tables together that each has about `ROW_GROUP` rows."""
    while own := list(itertools.islice(waiting, ROW_GROUP // len(repetition()[0]))):
        yield pa.concat_tables(own)


def write_dataset(folder: Path, rows: int, files: int, apart: bool = False) -> None:
    """Write a data set.

    Args:
        folder: Gets the folders ``predictions`` and ``references``.
        rows: How many there are.
        files: Of each side.
        apart: Whether the files of predictions have other rows than those of references: one file less, so that they
            begin and end elsewhere.
    """
    for sides, count in ((("predictions",), files - apart), (("references",), files)):
        bounds = np.linspace(0, rows, count + 1).astype(int).tolist()
        for number, (start, end) in enumerate(itertools.pairwise(bounds)):
            write_part(folder, f"part-{number:05d}", start, end - start, sides)


def expected_mean(rows: int) -> float:
    """The mean of the rows that repeat, so many times over."""
    predictions, answers, _ = repetition()
    whole, rest = divmod(rows, len(predictions))
    scores = anls_scores(predictions, answers)
    counts = Tally.of(scores).counts
    return (Tally(Counter({score: count * whole for score, count in counts.items()})) + Tally.of(scores[:rest])).mean


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--files", type=int, default=40, help="of each side")
    parser.add_argument("--apart", action="store_true", help="files of predictions have other rows than of references")
    options = parser.parse_args()
    write_dataset(options.folder, options.rows, options.files, options.apart)


if __name__ == "__main__":
    main()
