"""torchmetrics: one process, several metrics at once, two processes over gloo; equal to `anls` to the last bit."""

import copy
import io
import json
import math
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from docvqa_runs import RUNS, answers, predictions
from hypothesis import given
from hypothesis import strategies as st
from migration import evaluated, table
from places import ROOT
from torchmetrics import MetricCollection
from torchmetrics.text import EditDistance

from anls_eval.fields.fields import Fields
from anls_eval.integrations.torchmetrics import (
    ANLS,
    ANLSStar,
    NormalizedLevenshteinSimilarity,
    _total,
    _words,
    anls_star,
    normalized_levenshtein_similarity,
)
from anls_eval.integrations.torchmetrics import anls as functional_anls
from anls_eval.registry import signature
from anls_eval.scoring import anls_scores, anls_star_scores

EXAMPLE = ROOT / "examples" / "torchmetrics_two_processes.py"

TEXTS = st.text(alphabet="abcé 1", max_size=6)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


def mean(scores: Any) -> float:
    return math.fsum(scores.tolist()) / len(scores)


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths:UserWarning")  # that is not its subject
@pytest.mark.parametrize("protocol", ["standard", "rrc", "paper", "mistral_evals"])
@pytest.mark.parametrize("run", RUNS[:2])
def test_real_answers_in_batches(run: str, protocol: str) -> None:
    given, expected = predictions(run), answers()
    metric = ANLS(protocol)
    for start in range(0, len(given), 37):
        metric.update(given[start : start + 37], expected[start : start + 37])
    value = mean(anls_scores(given, expected, protocol=protocol))
    assert (metric.compute().dtype, metric.compute().item()) == (torch.float64, value)
    assert metric.signature == signature(protocol, n=1000)
    assert functional_anls(given, expected, protocol).item() == value
    metric.reset()
    metric.update(given[:5], expected[:5])
    assert metric.compute().item() == mean(anls_scores(given[:5], expected[:5], protocol=protocol))


def test_threshold() -> None:
    assert functional_anls(["abcd"], [["abcx"]], threshold=0.75).item() == 0.75
    assert functional_anls(["abcd"], [["abcx"]], threshold=0.76).item() == 0.0


def test_trees() -> None:
    lines = (ROOT / "tests" / "data" / "documents" / "invoices.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    given, expected = [row["pred"] for row in rows], [row["gold"] for row in rows]
    metric = ANLSStar()
    for pair in zip(given, expected, strict=True):
        metric.update(*([own] for own in pair))
    value = mean(anls_star_scores(given, expected))
    assert 0 < value < 1
    assert metric.compute().item() == value == anls_star(given, expected).item()


def test_fields() -> None:
    """The same value as from the function, in batches; fields are in the signature, and keep metrics of them apart."""
    fields = Fields({"$.total": {"compare": "number", "weight": 3}})
    given, expected = [{"total": "1.50", "items": [{"sku": "a"}]}, {"total": 2}], [{"total": 1.5}, {"total": 3}]
    value = mean(anls_star_scores(given, expected, fields=fields))
    metric = ANLSStar(fields=fields)
    for pair in zip(given, expected, strict=True):
        metric.update(*([own] for own in pair))
    assert metric.compute().item() == value == anls_star(given, expected, fields=dict(fields)).item()
    assert value != mean(anls_star_scores(given, expected))
    assert f"|fields:{fields.fingerprint()}" in metric.signature
    both = MetricCollection({"plain": ANLSStar(), "fields": metric.clone()})
    both.reset()
    for pair in zip(given, expected, strict=True):
        both.update(*([own] for own in pair))
    assert both.compute()["fields"].item() == value != both.compute()["plain"].item()


def test_forward_gives_the_batch_and_keeps_the_sum() -> None:
    metric = ANLS()
    assert metric(["ab"], [["ac"]]).item() == 0.5
    assert metric(["ab", "ab"], [["ab"], ["xy"]]).item() == 0.5
    assert metric(["ab"], [["ab"]]).item() == 1.0
    assert metric.compute().item() == 0.625


@given(st.lists(st.floats(0, 1), max_size=50), st.randoms())
def test_sums_are_exact(scores: list[float], chance: random.Random) -> None:
    """Whatever the order and the batches."""
    rest = chance.sample(scores, len(scores))
    total = _words(np.zeros(0))
    while rest:
        size = chance.randint(1, len(rest))
        total, rest = total + _words(np.array(rest[:size])), rest[size:]
    assert _total(total) == math.fsum(scores)


def test_the_smallest_float_is_kept() -> None:
    assert _total(_words(np.array([math.ulp(0.0), 0.0]))) == math.ulp(0.0)


class TestNormalizedLevenshteinSimilarity:
    def test_example_of_its_source(self) -> None:
        pair = ["rain", "lnaguaeg"], ["shine", "language"]
        assert normalized_levenshtein_similarity(*pair, reduction="none").tolist() == [0.4, 0.5]
        assert normalized_levenshtein_similarity(*pair, reduction=None).tolist() == [0.4, 0.5]
        assert normalized_levenshtein_similarity(*pair).item() == 0.45
        assert normalized_levenshtein_similarity(*pair, reduction="sum").item() == 0.9

    @given(PAIRS, st.integers(0, 3))
    def test_distances_are_those_of_torchmetrics(self, pairs: list[tuple[str, str]], cost: int) -> None:
        left, right = [a for a, _ in pairs], [b for _, b in pairs]
        distances = EditDistance(substitution_cost=cost, reduction="none")(left, right).reshape(-1).tolist()
        lengths = [max(len(a), len(b)) or 1 for a, b in pairs]
        expected = [max(0.0, 1 - int(d) / length) for d, length in zip(distances, lengths, strict=True)]
        assert normalized_levenshtein_similarity(left, right, cost, "none").reshape(-1).tolist() == expected
        assert normalized_levenshtein_similarity(left, right, cost, "sum").item() == math.fsum(expected)

    def test_texts_as_they_are(self) -> None:
        assert normalized_levenshtein_similarity("Ab ", "ab").item() == 1 - 2 / 3
        assert normalized_levenshtein_similarity("", "").item() == 1.0

    def test_each_over_batches(self) -> None:
        metric = NormalizedLevenshteinSimilarity(reduction="none")
        metric.update("ab", "ac")
        metric.update(["ab", "x"], ["ab", "y"])
        assert metric.compute().tolist() == [0.5, 1.0, 0.0]

    @pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
    def test_nothing(self) -> None:
        assert NormalizedLevenshteinSimilarity().compute().item() == 0.0
        assert NormalizedLevenshteinSimilarity(reduction="none").compute().shape == (0,)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"reduction": "median"}, r"reduction='median': expected one of 'mean', 'sum', 'none', None"),
            ({"substitution_cost": -1}, r"substitution_cost=-1"),
            ({"substitution_cost": 0.5}, r"substitution_cost=0\.5"),
        ],
    )
    def test_bad_options(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            NormalizedLevenshteinSimilarity(**options)

    def test_sides_of_different_length(self) -> None:
        metric = NormalizedLevenshteinSimilarity()
        with pytest.raises(ValueError, match="preds has 1 texts, but target has 2"):
            metric.update("a", ["a", "b"])
        assert metric.n == 0


def test_metrics_of_one_collection_are_kept_apart() -> None:
    """After a first batch on which all agree, torchmetrics updates only one of the metrics with equal states."""
    metrics = MetricCollection(
        {
            "standard": ANLS(),
            "paper": ANLS("paper"),
            "strict": ANLS(threshold=0.9),
            "trees": ANLSStar(),
            "raw": NormalizedLevenshteinSimilarity(),
            "cheap": NormalizedLevenshteinSimilarity(substitution_cost=0),
        }
    )
    metrics.update(["ab"], ["ab"])
    metrics.update(["aB"], ["ac"])
    values = {name: value.item() for name, value in metrics.compute().items()}
    assert values == {"standard": 0.75, "paper": 0.5, "strict": 0.5, "trees": 0.75, "raw": 0.75, "cheap": 1.0}


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
@pytest.mark.parametrize("metric", [ANLS(), ANLSStar()])
def test_nothing_to_score(metric: Any) -> None:
    with pytest.raises(ValueError, match=r"nothing to score; call update\(preds, target\)"):
        metric.compute()


def test_what_cannot_be_scored_adds_nothing() -> None:
    metric = ANLS()
    with pytest.raises(ValueError, match=r"answers\[1\]"):
        metric.update(["a", "b"], [["a"], []])
    with pytest.raises(ValueError, match="scores trees"):
        ANLS("anls_star")
    with pytest.raises(ValueError, match="scores texts"):
        ANLSStar("rrc")
    assert metric.n == 0


@pytest.mark.parametrize(
    "metric",
    [ANLS("paper"), ANLSStar(), NormalizedLevenshteinSimilarity(reduction="none")],
    ids=lambda own: type(own).__name__,
)
def test_copies_and_saved_states(metric: Any) -> None:
    metric.reset()
    metric.update(["abc", "x"], ["abd", "x"])
    value = metric.compute()
    for same in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), metric.clone()):  # noqa: S301
        assert torch.equal(same.compute(), value)
    metric.persistent(True)
    file = io.BytesIO()
    torch.save(metric.state_dict(), file)
    file.seek(0)
    loaded = metric.clone()
    loaded.reset()
    loaded.load_state_dict(torch.load(file))
    loaded.update(["abc"], ["abc"])
    metric.update(["abc"], ["abc"])
    assert torch.equal(loaded.compute(), metric.compute())
    assert not torch.equal(loaded.compute(), value)


@pytest.mark.parametrize("metric", [ANLS(), NormalizedLevenshteinSimilarity(reduction="none")])
def test_plot(metric: Any) -> None:
    metric.reset()
    metric.update(["ab"], ["ac"])
    figure, axis = metric.plot()
    (line,) = axis.get_lines()[:1]
    assert line.get_ydata() == [0.5]
    plt.close(figure)
    figure, axis = metric.plot([metric.compute(), metric.compute()])
    plt.close(figure)


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths:UserWarning")  # that is not its subject
def test_two_processes_give_the_value_of_one() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    values = json.loads(done.stdout)
    given, expected = predictions("qwen2_vl_7b_instruct"), answers()
    assert {name: values[name] for name in ("standard", "rrc", "paper")} == {
        name: mean(anls_scores(given, expected, protocol=name)) for name in ("standard", "rrc", "paper")
    }
    assert values["first_answer"] == mean(anls_scores(given, [own[0] for own in expected], protocol="unthresholded"))


def test_a_process_without_questions(tmp_path: Path) -> None:
    program = Path(__file__).with_name("one_process_without_questions.py")
    command = [sys.executable, str(program), str(tmp_path)]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo"}
    subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    for rank in (0, 1):
        assert json.loads((tmp_path / f"values_{rank}.json").read_text(encoding="utf-8")) == [0.75, [0.5, 1.0], 0.75]


def test_migration_page() -> None:
    found = table("torchmetrics")
    values = [(row.old_value, row.new_value) for row in found.rows]
    lines = [f"({row.old}, {row.new})" for row in found.rows]
    assert evaluated(f"{found.old_import}; {found.new_import}", lines, str(ROOT)) == values
