"""Benchmarks in files: the score of a submission is what `leaderboard_figures` gives."""

import datetime
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import DATA

from anls_eval import leaderboard_figures, open_predictions, open_references, score_submission
from anls_eval.decisions.gate import run_gate
from anls_eval.report import read_system
from anls_eval.report.content import collect
from anls_eval.report.render import render
from anls_eval.submission.score import score_questions
from anls_eval.submission.systems import score_systems
from anls_eval.submission.totals import Totals

PROTOCOLS = ("donut_f1", "donut_ted", "varex", "extractbench_value", "idp_kie")
ROWS = [json.loads(line) for line in (DATA / "extraction.jsonl").read_text(encoding="utf-8").strip().split("\n")]
PAIRS = [
    (row["prediction"], row["reference"])
    for row in ROWS
    if row["id"].startswith("donut-")
    and (row["protocol"], row["kind"]) == ("donut_f1", "document")
    and all(isinstance(row[side], dict) and row[side] for side in ("prediction", "reference"))
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for side, (name, key) in enumerate((("predictions", "prediction"), ("references", "answers"))):
        rows = [{"question_id": str(row), key: pair[side]} for row, pair in enumerate(PAIRS)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path / "predictions.jsonl", tmp_path / "references.jsonl"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_figures_are_those_of_all_documents(protocol: str, files: tuple[Path, Path]) -> None:
    found = score_submission(*files, protocol=protocol)
    figures = leaderboard_figures(*zip(*PAIRS, strict=True), protocol=protocol)
    assert found.score == pytest.approx(figures["score"], abs=1e-12)
    assert {"score": found.score, **found.figures} == pytest.approx(figures, abs=1e-12)
    assert found.interval.low <= found.score <= found.interval.high
    assert found.to_dict()["score"] == found.score
    assert f"|protocol:{protocol}|" in found.signature


@pytest.mark.parametrize("protocol", ["varex", "extractbench_value", "donut_f1"])
def test_a_note_says_where_ties_change_the_figures(protocol: str, files: tuple[Path, Path]) -> None:
    notes = score_submission(*files, protocol=protocol).notes
    assert any(own.startswith(f"{protocol}: the figures can depend on") for own in notes) == (protocol != "donut_f1")


def test_an_interval_of_resampled_documents_is_deterministic(files: tuple[Path, Path]) -> None:
    intervals = {score_submission(*files, protocol="donut_f1", seed=3).interval for _ in range(2)}
    [interval] = intervals
    assert interval.method == "percentile bootstrap"
    assert 0 < interval.standard_error < 0.2
    assert interval.n == len(PAIRS)


def test_a_gate_needs_the_mean_of_questions(files: tuple[Path, Path]) -> None:
    scored = score_questions(open_predictions(files[0]), open_references(files[1]), protocol="donut_f1")
    with pytest.raises(ValueError, match="'donut_f1' is no mean of the scores of questions"):
        run_gate(scored, None, min_score=0.5)


Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def documents() -> Rows:
    """Documents in groups, several of them about one original, with the predictions of two systems."""
    random = np.random.default_rng(3)
    rows = []
    for row in range(60):
        given, expected = PAIRS[row % len(PAIRS)]
        better = expected if random.random() < 0.4 else given
        groups = ["a", "b", "c"][: 1 + row % 3] if row % 5 == 0 else "abc"[row % 3]
        rows.append(
            {"question_id": str(row), "one": given, "two": better, "answers": expected, "kind": groups, "of": row // 4}
        )
    return rows


def written(rows: Rows, folder: Path) -> tuple[Path, Path, Path]:
    for name in ("one", "two"):
        lines = [{"question_id": own["question_id"], "prediction": own[name]} for own in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    references = [{key: own[key] for key in ("question_id", "answers", "kind", "of")} for own in rows]
    (folder / "references.jsonl").write_text("\n".join(map(json.dumps, references)), encoding="utf-8")
    return folder / "one.jsonl", folder / "two.jsonl", folder / "references.jsonl"


def headline(rows: Rows, name: str, protocol: str) -> float:
    figures = leaderboard_figures([own[name] for own in rows], [own["answers"] for own in rows], protocol=protocol)
    return figures["score"] or 0.0


@pytest.mark.parametrize("protocol", ["donut_f1", "cc_ocr_kie_f1", "idp_kie", "varex", "donut_ted"])
@pytest.mark.parametrize("cluster_by", [None, "of"])
def test_groups_have_the_score_of_their_documents(
    documents: Rows, protocol: str, cluster_by: str | None, tmp_path: Path
) -> None:
    one, _, references = written(documents, tmp_path)
    found = score_submission(one, references, protocol=protocol, by=["kind"], cluster_by=cluster_by)
    assert found.score == pytest.approx(headline(documents, "one", protocol), abs=1e-12)
    groups = {name: [own for own in documents if name in own["kind"]] for name in "abc"}
    for name, own in groups.items():
        group = found.by["kind"][name]
        assert group.n == len(own)
        assert group.score == pytest.approx(headline(own, "one", protocol), abs=1e-12)
        assert group.interval is not None
        assert group.interval.low <= group.score <= group.interval.high
        assert group.interval.clusters == (None if cluster_by is None else len({row["of"] for row in own}))
    macro = found.macro["kind"]
    assert macro.score == pytest.approx(sum(group.score for group in found.by["kind"].values()) / 3, abs=1e-12)
    assert macro.interval is not None
    assert macro.interval.low <= macro.score <= macro.interval.high
    what = "questions" if cluster_by is None else "documents"
    units = [group.interval.clusters or group.n for group in found.by["kind"].values() if group.interval is not None]
    few = sum(own < 10 for own in units)
    note = f"{few} of 3 groups have fewer than 10 {what}: the interval is not reliable"
    assert (note in macro.interval.notes) == bool(few)


def test_small_groups_are_noted(documents: Rows, tmp_path: Path) -> None:
    rows = [{**own, "kind": "usual" if row else "rare"} for row, own in enumerate(documents)]
    one, _, references = written(rows, tmp_path)
    macro = score_submission(one, references, protocol="donut_f1", by=["kind"]).macro["kind"]
    assert macro.interval is not None
    note = "1 of 2 groups have fewer than 10 questions: the interval is not reliable"
    assert macro.interval.notes == (note,)


def test_few_documents_are_noted(documents: Rows, tmp_path: Path) -> None:
    one, _, references = written(documents[:9], tmp_path)
    interval = score_submission(one, references, protocol="donut_f1").interval
    assert interval is not None
    assert interval.notes == ("the interval rests on 9 documents, too few to trust it",)


def test_groups_in_parts_are_those_of_one_file(documents: Rows, tmp_path: Path) -> None:
    one, _, references = written(documents, tmp_path)
    whole = score_submission(one, references, protocol="donut_f1", by=["kind"])
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, rows in ((first, documents[35:]), (second, documents[:35])):
        folder.mkdir()
        written(rows, folder)
    sides = [[str(folder / f"{name}.jsonl") for folder in (first, second)] for name in ("one", "references")]
    parts = score_submission(*sides, protocol="donut_f1", by=["kind"])
    assert parts.score == whole.score
    assert parts.interval == whole.interval
    assert {name: (own.score, own.interval) for name, own in parts.by["kind"].items()} == {
        name: (own.score, own.interval) for name, own in whole.by["kind"].items()
    }


@pytest.mark.parametrize("protocol", ["donut_f1", "idp_kie"])
@pytest.mark.parametrize("cluster_by", [None, "of"])
def test_systems_are_ranked_and_compared(
    documents: Rows, protocol: str, cluster_by: str | None, tmp_path: Path
) -> None:
    one, two, references = written(documents, tmp_path)
    found = score_systems([str(one), str(two)], references, protocol=protocol, by=["kind"], cluster_by=cluster_by)
    ranking = found.rank(seed=1)
    assert [(own.name, own.rank) for own in ranking.systems] == [("two", 1), ("one", 2)]
    for own in ranking.systems:
        assert own.score == pytest.approx(headline(documents, own.name, protocol), abs=1e-12)
        assert own.interval.low <= own.score <= own.interval.high
    [pair] = ranking.comparisons
    difference = ranking.systems[0].score - ranking.systems[1].score
    assert pair.comparison.difference == pytest.approx(difference, abs=1e-12)
    assert 0 < pair.comparison.p_value < 0.05
    assert pair.comparison.interval.low <= difference <= pair.comparison.interval.high
    assert (pair.comparison.losses, pair.comparison.wins + pair.comparison.ties) == (0, len(documents))
    for group in found.group_differences("kind", ranking):
        rows = [row for row in documents if group.group in row["kind"]]
        alone = headline(rows, "two", protocol) - headline(rows, "one", protocol)
        assert group.comparison.difference == pytest.approx(alone, abs=1e-12)
        assert (group.n, group.a, group.b) == (len(rows), "two", "one")
    reversed_rows = tmp_path / "reversed"
    reversed_rows.mkdir()
    one, two, references = written(documents[::-1], reversed_rows)
    again = score_systems([str(one), str(two)], references, protocol=protocol, cluster_by=cluster_by).rank(seed=1)
    assert [own.interval for own in again.systems] == [own.interval for own in ranking.systems]
    assert again.comparisons[0].comparison.p_value == pair.comparison.p_value
    assert again.comparisons[0].comparison.interval == pair.comparison.interval


def test_equal_systems_do_not_differ(documents: Rows, tmp_path: Path) -> None:
    one, _, references = written(documents, tmp_path)
    same = tmp_path / "same.jsonl"
    same.write_bytes(one.read_bytes())
    [pair] = score_systems([str(one), str(same)], references, protocol="donut_f1").rank().comparisons
    assert (pair.comparison.difference, pair.comparison.p_value) == (0, 1)


def test_the_permutation_test_of_few_documents_is_exact(tmp_path: Path) -> None:
    rows: Rows = [
        {
            "question_id": str(row),
            "one": {"a": "x"},
            "two": {"a": "y" if row < 5 else "x"},
            "answers": {"a": "y"},
            "kind": "k",
            "of": row,
        }
        for row in range(8)
    ]
    one, two, references = written(rows, tmp_path)
    [pair] = score_systems([str(one), str(two)], references, protocol="donut_f1").rank().comparisons
    # Of the 2^5 ways to exchange five answers, only all and none differ as much: 2 / 32.
    assert pair.comparison.p_value == 2 / 32


@pytest.mark.parametrize("protocol", ["donut_f1", "idp_kie", "varex"])
@pytest.mark.parametrize("cluster_by", [None, "of"])
def test_all_exchanges_are_counted(documents: Rows, protocol: str, cluster_by: str | None, tmp_path: Path) -> None:
    rows = documents[:18]
    one, two, references = written(rows, tmp_path)
    found = score_systems([str(one), str(two)], references, protocol=protocol, cluster_by=cluster_by)
    [pair] = found.rank().comparisons
    same = [row for row in rows if row["one"] == row["two"]]
    units: dict[Any, Rows] = {}
    for row in rows:
        if row["one"] != row["two"]:
            units.setdefault(row["of" if cluster_by else "question_id"], []).append(row)
    differences = []
    for chosen in itertools.product([False, True], repeat=len(units)):
        exchanged = [
            {**row, "one": row["two"], "two": row["one"]} if moved else row
            for moved, own in zip(chosen, units.values(), strict=True)
            for row in own
        ]
        pairs = [headline([*same, *exchanged], name, protocol) for name in ("two", "one")]
        differences.append(abs(pairs[0] - pairs[1]))
    as_extreme = [own >= abs(pair.comparison.difference) - 1e-12 for own in differences]
    assert pair.comparison.p_value == sum(as_extreme) / len(as_extreme)


@pytest.mark.parametrize("protocol", ["donut_f1", "idp_kie"])
def test_p_values_do_not_depend_on_order_names_and_other_systems(
    documents: Rows, protocol: str, tmp_path: Path
) -> None:
    """With 60 documents, exchanges have too many sums by `idp_kie`, and are drawn."""
    found = []
    for number, (rows, names) in enumerate([(documents, "ab"), (documents[::-1], "ba")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        files = dict(zip(names, written(rows, folder)[:2], strict=True))
        for name, path in files.items():
            path.rename(folder / f"{name}.jsonl")
        third = [
            {"question_id": row["question_id"], "prediction": row["two"] if int(row["of"]) % 3 else {}} for row in rows
        ]
        (folder / "third.jsonl").write_text("\n".join(map(json.dumps, third)), encoding="utf-8")
        systems = [str(folder / f"{name}.jsonl") for name in ("a", "b", *(["third"] if number else []))]
        ranking = score_systems(systems, folder / "references.jsonl", protocol=protocol).rank()
        [pair] = [own.comparison for own in ranking.comparisons if {own.a, own.b} == {"a", "b"}]
        found.append((pair.difference, pair.p_value, pair.interval))
    assert found[0] == found[1]


@pytest.mark.parametrize("protocol", ["donut_f1", "idp_kie"])
@pytest.mark.parametrize("cluster_by", [None, "of"])
def test_the_other_direction_is_the_mirror_image(
    documents: Rows, protocol: str, cluster_by: str | None, tmp_path: Path
) -> None:
    one, two, references = written(documents, tmp_path)
    counted = score_systems([str(one), str(two)], references, protocol=protocol, cluster_by=cluster_by).counted
    assert counted is not None
    first, other = counted.compare("one", "two", seed=0), counted.compare("two", "one", seed=0)
    assert first == other.mirrored
    assert first.interval == other.interval.mirrored
    assert first.interval.low < first.interval.high < 0


@pytest.mark.parametrize("cluster_by", [None, "of"])
def test_a_report_of_two_systems(documents: Rows, cluster_by: str | None, tmp_path: Path) -> None:
    one, two, references = written(documents, tmp_path)
    options: dict[str, Any] = {"protocol": "donut_f1", "by": ["kind"], "cluster_by": cluster_by}
    systems = [read_system(open_predictions(own), open_references(references), **options) for own in (two, one)]
    found = collect(*systems, date=datetime.date(2026, 1, 2))
    assert found.versus is not None
    difference = headline(documents, "two", "donut_f1") - headline(documents, "one", "donut_f1")
    assert found.versus.comparison.difference == pytest.approx(difference, abs=1e-12)
    assert found.versus.intervals[1].mean == pytest.approx(headline(documents, "one", "donut_f1"), abs=1e-12)
    html = render(found)
    assert f"{headline(documents, 'two', 'donut_f1'):.4f}" in html


def test_the_score_without_extraction_is_the_headline_of_raw_predictions(documents: Rows, tmp_path: Path) -> None:
    rows = [
        {**own, "one": f"Sure: {json.dumps(own['one'])}"} if row % 4 == 0 else own for row, own in enumerate(documents)
    ]
    one, _, references = written(rows, tmp_path)
    found = score_submission(one, references, protocol="cc_ocr_kie_f1", extract="json", parse="none")
    assert found.score == pytest.approx(headline(documents, "one", "cc_ocr_kie_f1"), abs=1e-12)
    assert found.extraction is not None
    assert found.extraction.changed == 15
    assert found.extraction.score_without == pytest.approx(headline(rows, "one", "cc_ocr_kie_f1"), abs=1e-12)


def test_totals_keep_what_was_counted() -> None:
    one, other = Totals(), Totals()
    one.count_texts(("score",), ["[]", "[]"])
    other.count_texts(("score",), ["[]"])
    other.count_texts(("by", "kind", "a"), ["[]"])
    one.add(Totals.from_json(other.to_json()))
    assert one.counted == {("score",): {"[]": 3}, ("by", "kind", "a"): {"[]": 1}}


def test_answer_types_come_from_a_column(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"question_id": "1", "prediction": "5 kg", "answers": 5, "answer_type": "Integer"},
        {"question_id": "2", "prediction": "room", "answers": "roo", "answer_type": "String"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert score_submission(path, path, protocol="longdocurl_full").figures == {"accuracy": 1.0, "f1": 1.0}
