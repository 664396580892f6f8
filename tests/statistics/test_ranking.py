"""Rankings: ranks, groups, and p-values adjusted for all pairs."""

import math
from typing import Any

import numpy as np
import pytest
from docvqa_runs import docvqa_scores

from anls_eval.statistics import confidence_interval, paired_comparison, rank_systems
from anls_eval.statistics.ranking import holm


def test_the_six_runs_are_ranked() -> None:
    ranking = rank_systems(docvqa_scores())
    assert [(system.name, system.rank, system.rank_group) for system in ranking.systems] == [
        ("llama_maverick", 1, 1),
        ("qwen2_vl_7b_instruct", 2, 2),
        ("llama_nemotron", 3, 2),
        ("qwen2_vl_2b_instruct", 4, 4),
        ("llama_scout", 5, 5),
        ("qwen2_vl_7b", 6, 6),
    ]
    assert ranking.systems[0].interval == confidence_interval(docvqa_scores()["llama_maverick"])
    assert len(ranking.comparisons) == 15
    first = ranking.comparisons[0]
    assert (first.a, first.b) == ("llama_maverick", "qwen2_vl_7b_instruct")
    alone = paired_comparison(docvqa_scores()[first.a], docvqa_scores()[first.b])
    assert first.comparison == alone
    assert first.comparison.interval == alone.interval
    adjusted = holm([pair.comparison.p_value for pair in ranking.comparisons])
    assert [pair.p_adjusted for pair in ranking.comparisons] == adjusted.tolist()


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_flips_shared_by_all_pairs_find_what_those_of_one_pair_find(step: int) -> None:
    for pair in rank_systems(docvqa_scores()).comparisons[::step]:
        alone = paired_comparison(docvqa_scores()[pair.a], docvqa_scores()[pair.b], resamples=200_000)
        assert pair.comparison.p_value == pytest.approx(alone.p_value, rel=0.1, abs=2e-5)


def test_equal_scores_share_a_rank() -> None:
    half = [1.0, 0.0] * 20
    ranking = rank_systems({"d": [0.0] * 40, "c": half[::-1], "b": half, "a": [1.0] * 40})
    assert [(system.name, system.rank, system.rank_group) for system in ranking.systems] == [
        ("a", 1, 1),
        ("b", 2, 2),
        ("c", 2, 2),
        ("d", 4, 4),
    ]


def test_the_group_is_how_many_are_significantly_better() -> None:
    """The first differs from the third but not from the second, which does not differ from the third."""
    best = np.ones(100)
    second, third = best.copy(), best.copy()
    second[:5], third[:10] = 0, 0
    ranking = rank_systems({"third": third, "second": second, "best": best})
    assert [(system.name, system.rank_group) for system in ranking.systems] == [
        ("best", 1),
        ("second", 1),
        ("third", 2),
    ]
    p_values = {(pair.a, pair.b): pair.p_adjusted for pair in ranking.comparisons}
    assert p_values["best", "third"] <= 0.05 < min(p_values["best", "second"], p_values["second", "third"])


def many_systems(number: int, n: int) -> dict[str, Any]:
    """Systems from 0.5 to 0.6 that fail on the same hard questions."""
    generator = np.random.default_rng(5)
    hardness = generator.random(n)
    chances = np.linspace(0.5, 0.6, number)
    return {f"{row:02}": (hardness + generator.normal(0, 0.2, n) < chance) * 1.0 for row, chance in enumerate(chances)}


@pytest.mark.parametrize("seeds", [5, pytest.param(20, marks=pytest.mark.long)])
def test_groups_do_not_depend_on_the_seed(seeds: int) -> None:
    systems = many_systems(30, 1_000)
    rankings = [rank_systems(systems, seed=seed, resamples=1_000) for seed in range(seeds)]
    assert len({tuple(own.rank_group for own in ranking.systems) for ranking in rankings}) == 1
    assert len({tuple(pair.p_adjusted for pair in ranking.comparisons) for ranking in rankings}) == 1
    assert len({own.rank_group for own in rankings[0].systems}) > 5


def test_equal_systems_are_in_one_group_whatever_their_names() -> None:
    systems = many_systems(6, 300)
    for name in ("00", "03"):
        ranking = rank_systems({**systems, "zz": systems[name], "aa": systems[name]})
        groups = {own.name: own.rank_group for own in ranking.systems}
        assert groups["aa"] == groups[name] == groups["zz"]


def test_documents_are_flipped_as_a_whole() -> None:
    systems = {name: np.repeat(own, 5) for name, own in many_systems(3, 200).items()}
    clusters = np.repeat(np.arange(200), 5)
    found = rank_systems(systems, clusters=clusters)
    alone = rank_systems({name: own[::5] for name, own in systems.items()})
    for pair, other in zip(found.comparisons, alone.comparisons, strict=True):
        assert pair.comparison.p_value == other.comparison.p_value


def test_one_system() -> None:
    ranking = rank_systems({"alone": [1.0, 0.5]})
    assert [system.rank for system in ranking.systems] == [1]
    assert ranking.comparisons == ()


def test_many_systems_can_be_significant() -> None:
    """P-values can be so small that 15 times as much is still significant, whatever the resamples."""
    systems = {str(number): np.arange(60) < 10 * number for number in range(6)}
    ranking = rank_systems(systems, alpha=0.01, resamples=1_000)
    assert ranking.comparisons[4].p_adjusted < 0.01
    assert ranking.systems[-1].rank_group > 1


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.2], [0.2]),
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),  # R's p.adjust, method "holm"
        ([0.05, 0.01, 0.5, 0.01], [0.1, 0.04, 0.5, 0.04]),
        ([0.6, 0.7], [1.0, 1.0]),
    ],
)
def test_holm(p_values: list[float], adjusted: list[float]) -> None:
    assert holm(p_values).tolist() == pytest.approx(adjusted)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="there are no systems"):
        rank_systems({})
    with pytest.raises(ValueError, match="scores of 'x' has length 1, but scores of 'y' has length 2"):
        rank_systems({"x": [1], "y": [1, 0]})
    with pytest.raises(ValueError, match="scores of 'y': nan in row 0"):
        rank_systems({"x": [1], "y": [math.nan]})
    with pytest.raises(ValueError, match="alpha=0: expected a number between 0 and 1"):
        rank_systems({"x": [1]}, alpha=0)
    with pytest.raises(ValueError, match=r"p_values: 1\.5 in row 1"):
        holm([0.1, 1.5])


def test_scores_without_names() -> None:
    with pytest.raises(ValueError, match=r"^expected a dict from the name of each system to its scores, not a list$"):
        rank_systems([[1.0]])  # type: ignore[arg-type]
