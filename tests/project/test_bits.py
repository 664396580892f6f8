"""The same rows give the same bits, however they come and wherever they run."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docvqa_runs
import pyarrow as pa
import pytest
from patched import set_limit
from places import ROOT

from anls_eval.metric import ANLS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_scores, anls_star_score, explain

TEXTS = [name for name, rules in PROTOCOLS.items() if not rules.tree]
PREDICTIONS: list[Any] = [*docvqa_runs.predictions("llama_scout"), None, "  padded   ", "café", "\ud800", ""]
ANSWERS = [*docvqa_runs.answers(), ["x"], ["padded"], ["cafe"], ["\ud800"], [""]]
TREES = [
    (
        {"lines": [{"n": text, "q": index} for index, text in enumerate(row)], "total": [row, row[:1]]},
        {"lines": [{"q": index, "n": text.lower()} for index, text in enumerate(reversed(row))], "total": row},
    )
    for row in docvqa_runs.answers()[:60]
]

pytestmark = pytest.mark.filterwarnings("ignore")


def mean_of(rows: list[int], batch: int, as_arrow: bool, by_id: bool) -> str:
    """The mean of the real run in hexadecimal digits, through the metric."""
    metric = ANLS()
    for start in range(0, len(rows), batch):
        own = rows[start : start + batch]
        predictions: Any = [PREDICTIONS[row] for row in own]
        references: Any = [ANSWERS[row] for row in own]
        if by_id:
            predictions = [{"question_id": row, "prediction_text": PREDICTIONS[row]} for row in own]
            references = [{"question_id": row, "answers": ANSWERS[row]} for row in own]
        if as_arrow:
            predictions, references = pa.array(predictions), pa.array(references)
        metric.add_batch(predictions=predictions, references=references)
    result = metric.compute()
    assert result
    return float(result["anls_score"]).hex()


ROWS = [row for row, text in enumerate(PREDICTIONS) if text != "\ud800"]  # which Arrow cannot hold


def test_batches_orders_ids_and_arrow() -> None:
    generator = random.Random(0)  # noqa: S311
    found = set()
    for batch in (1, 7, 1000, 10**6):
        for as_arrow in (False, True):
            for by_id in (False, True):
                rows = generator.sample(ROWS, len(ROWS))
                found.add(mean_of(rows, batch, as_arrow, by_id))
    assert len(found) == 1


@pytest.mark.parametrize("block", [1, 3, 10**9])
def test_blocks(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    whole = anls_scores(PREDICTIONS, ANSWERS).tobytes()
    set_limit(monkeypatch, "BLOCK_ROWS", block)
    assert anls_scores(PREDICTIONS, ANSWERS).tobytes() == whole


def everything() -> list[str]:
    """Every protocol on the real run, trees in two orders, and explanations, as digits."""
    found = [own.hex() for name in TEXTS for own in anls_scores(PREDICTIONS, ANSWERS, protocol=name).tolist()]
    for name in ("anls_star", "anls_star_paper"):
        for prediction, reference in TREES:
            found += [anls_star_score(prediction, reference, protocol=name).hex()]
            found += [explain(prediction, reference, protocol=name).score.hex()]
    return found


RUN = "import json, warnings, test_bits; warnings.simplefilter('ignore'); print(json.dumps(test_bits.everything()))"


def in_a_process(**environment: str) -> list[str]:
    path = os.pathsep.join(map(str, (ROOT, Path(__file__).parent, ROOT / "tests" / "support")))
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "random", "OMP_NUM_THREADS": "7", "ARROW_NUM_THREADS": "1"},
        pytest.param({"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}, marks=pytest.mark.long),
        pytest.param({"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "2"}, marks=pytest.mark.long),
    ],
    ids=["any", "seed 0", "seed 1"],
)
def test_hash_seeds_and_threads(environment: dict[str, str]) -> None:
    """PYTHONHASHSEED orders sets and dicts of texts, OMP_NUM_THREADS splits the work of BLAS."""
    here = everything()
    assert len(here) > 20_000
    assert in_a_process(**environment) == here


SHUFFLES: list[Callable[[list[Any], random.Random], list[Any]]] = [
    lambda rows, _: rows[::-1],
    lambda rows, generator: generator.sample(rows, len(rows)),
]


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_orders_inside_trees(shuffle: Callable[[list[Any], random.Random], list[Any]]) -> None:
    generator = random.Random(1)  # noqa: S311

    def other_order(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: other_order(tree[key]) for key in shuffle(list(tree), generator)}
        return shuffle(list(map(other_order, tree)), generator) if isinstance(tree, list) else tree

    for prediction, reference in TREES:
        score = anls_star_score(prediction, reference)
        assert anls_star_score(other_order(prediction), other_order(reference)).hex() == score.hex()
