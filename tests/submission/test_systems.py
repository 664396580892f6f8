"""Several systems on the same questions: in any order, with and without their texts in memory."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from anls_eval import open_predictions, open_references, score_systems
from anls_eval.files import FormatError, Reader
from anls_eval.submission.systems import ScoredSystems


def written(folder: Path, *, ids: bool = True) -> tuple[list[str], Path]:
    """Three systems on 300 questions, each in an order of its own if they have ids."""
    generator = np.random.default_rng(3)
    gold = [
        {"id": f"q{row}", "answers": ["lisbon"], "kind": ["ab", "b"][row % 2], "page": row // 3} for row in range(300)
    ]
    systems = {
        name: [{"id": own["id"], "prediction": "lisbon" if generator.random() < right else "lisbom"} for own in gold]
        for name, right in (("a", 0.9), ("b", 0.8), ("c", 0.5))
    }
    for name, rows in {**systems, "gold": gold}.items():
        mixed = [rows[at] for at in generator.permutation(len(rows))] if ids else rows
        lines = [{key: value for key, value in row.items() if ids or key != "id"} for row in mixed]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lines))
    return [str(folder / f"{name}.jsonl") for name in systems], folder / "gold.jsonl"


def both_ways(paths: list[str], gold: Path, cluster_by: str | None) -> list[ScoredSystems]:
    return [
        score_systems(paths, open_references(gold), by=["kind"], cluster_by=cluster_by, keep=keep)
        for keep in (True, False)
    ]


@pytest.mark.parametrize("cluster_by", [None, "page"])
@pytest.mark.parametrize("ids", [True, False])
def test_without_texts_everything_else_is_the_same(tmp_path: Path, ids: bool, cluster_by: str | None) -> None:
    kept, light = both_ways(*written(tmp_path, ids=ids), cluster_by)
    assert (list(kept.systems), light.systems) == (["a", "b", "c"], {})
    assert kept.question_ids == light.question_ids
    assert kept.clusters == light.clusters
    assert (kept.signature, kept.notes) == (light.signature, light.notes)
    assert kept.submissions == light.submissions
    rankings = [own.rank() for own in (kept, light)]
    assert rankings[0] == rankings[1]
    differences = [own.group_differences("kind", ranking) for own, ranking in zip((kept, light), rankings, strict=True)]
    assert differences[0] == differences[1]
    assert kept._repr_html_() == light._repr_html_()


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize("change", [Path.unlink, os.utime])
def test_references_that_change_are_no_fault_of_a_system(
    change: Callable[[Path], None], documents: bool, as_list: bool, tmp_path: Path
) -> None:
    """The systems that come later would be skipped."""
    folders = {name: tmp_path / name for name in ("a", "b", "gold")}
    for name, folder in folders.items():
        folder.mkdir()
        for number in range(3):
            row = {"total": str(number)}
            if not documents:
                row = {"id": f"q{number}", "answers" if name == "gold" else "prediction": str(number)}
            (folder / f"{number}.json").write_text(json.dumps(row if documents else [row]))
    opened: list[str] = []

    def open_system(path: str) -> Reader:
        opened.append(path)
        if len(opened) == 2:
            change(folders["gold"] / "1.json")
        return open_predictions(path)

    gold = sorted(folders["gold"].iterdir()) if as_list else folders["gold"]
    told = rf"^{folders['gold']}/1\.json: {'removed' if change is Path.unlink else 'changed'} while it was read"
    protocol = "anls_star" if documents else "docvqa"
    systems = [str(folders["a"]), str(folders["b"])]
    with pytest.raises(FormatError, match=told):
        score_systems(systems, gold, open_system=open_system, skip=True, protocol=protocol)
    assert opened == systems


def test_equal_systems_are_ordered_by_name_everywhere(tmp_path: Path) -> None:
    paths, gold = written(tmp_path)
    (tmp_path / "z.jsonl").write_bytes(Path(paths[0]).read_bytes())
    found = score_systems([str(tmp_path / "z.jsonl"), *paths], open_references(gold))
    assert list(found.submissions) == ["z", "a", "b", "c"]
    assert [own.name for own in found.rank().systems] == found.best_first == ["a", "z", "b", "c"]
    shown = found._repr_html_()
    assert shown.index(">a<") < shown.index(">z<") < shown.index(">b<")


def test_scores_are_in_the_order_of_the_first_system(tmp_path: Path) -> None:
    paths, gold = written(tmp_path)
    found = both_ways(paths, gold, None)[1]
    for path, name in zip(paths, "abc", strict=True):
        given = {own["id"]: own["prediction"] for own in map(json.loads, Path(path).read_text().splitlines())}
        expected = [1.0 if given[id_] == "lisbon" else 5 / 6 for id_ in found.question_ids]
        assert found.scores[name].tolist() == pytest.approx(expected)
