"""`audit`: agreements by counting, damaged answers, the same question twice, trees by leaf, and the command line."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from docvqa_runs import answers, docvqa_scores, predictions
from hypothesis import given
from hypothesis import strategies as st

from anls_eval import anls_score, anls_scores, anls_star_scores, audit
from anls_eval.decisions.audit import Suspicion
from anls_eval.errors import AnlsError

RUNS = ("llama_maverick", "llama_nemotron", "qwen2_vl_7b_instruct")


def of_kind(found: Any, kind: str) -> list[Suspicion]:
    return [own for own in found.suspicions if own.kind == kind]


def test_sixteen_questions_on_which_three_real_systems_agree_against_the_reference() -> None:
    given_texts = {run: predictions(run) for run in RUNS}
    found = audit(given_texts, answers(), agree=3)
    plain = [[" ".join(text.lower().split()) for text in given_texts[run]] for run in RUNS]
    expected = [
        row
        for row, (a, b, c) in enumerate(zip(*plain, strict=True))
        if a == b == c and all(docvqa_scores()[run][row] < 1 for run in RUNS)
    ]
    agreements = of_kind(found, "agreement")
    assert len(agreements) == 16
    assert sorted(own.row for own in agreements) == expected
    for own in agreements:
        for run in RUNS:
            assert own.gains[run] == pytest.approx(1 - docvqa_scores()[run][own.row])
    costs = [own.cost for own in found.suspicions]
    assert costs == sorted(costs, reverse=True)
    wider = [list(own) for own in answers()]
    for own in agreements:
        wider[own.row] += own.proposed
    for run in RUNS:
        assert found.scores[run] == pytest.approx(docvqa_scores()[run].mean())
        assert found.bounds[run] == pytest.approx(anls_scores(given_texts[run], wider).mean())


_TEXTS = st.sampled_from(["Lima", "lima ", "Rome", "Oslo", "", None])


@given(st.lists(st.tuples(*[_TEXTS] * 4), max_size=6), st.sampled_from([None, 2, 3, 4]))
def test_agreements_by_counting(rows: list[tuple[str | None, ...]], agree: int | None) -> None:
    names = "abcd"
    columns = {name: [row[number] for row in rows] for number, name in enumerate(names)}
    found = audit(columns, [["Lima"]] * len(rows), agree=agree)
    expected = []
    for row, texts in enumerate(rows):
        losing = Counter(
            text.strip().lower() for text in texts if text and text.strip() and anls_score(text, ["Lima"]) < 1
        )
        expected += [(row, text) for text, count in losing.items() if count >= (agree or 3)]
    agreements = [(own.row, own.proposed[0].strip().lower()) for own in of_kind(found, "agreement")]
    assert sorted(agreements) == sorted(expected)


@pytest.mark.parametrize(
    ("answer", "evidence", "proposed"),
    [
        ("['a', 'b']", "prints a list", ("a", "b")),
        ("['a', 'b", "begins like a printed list or dict", ()),
        ("CafÃ©", "is UTF-8 that was read as Windows-1252", ("Café",)),
        ("12\x0034", "has control characters", ("1234",)),
        ("a\ufffdb", "has control characters", ("ab",)),
        ("AT&amp;T &#39;24", "has entities of HTML", ("AT&T '24",)),
        ("<b>12</b>", "has markup", ("12",)),
        ("<answer>12</answer>", "has markup", ("12",)),
    ],
)
def test_answers_that_look_damaged(answer: str, evidence: str, proposed: tuple[str, ...]) -> None:
    found = audit({"a": [proposed[0] if proposed else "x"]}, [[answer]])
    [own] = found.suspicions
    assert (own.kind, own.evidence.endswith(evidence), own.proposed) == ("damage", True, proposed)
    if proposed:
        assert found.bounds == {"a": 1.0}
        assert own.gains["a"] == pytest.approx(1 - found.scores["a"])


@pytest.mark.parametrize("answer", ["12", "a < b", "[1]st", "naïve", "Â", "two\nlines", "I", "**", "100% <5%"])
def test_answers_that_do_not(answer: str) -> None:
    assert audit({"a": ["x"]}, [[answer]]).suspicions == ()


def test_answers_in_the_layout_of_squad_are_no_damage() -> None:
    found = audit({"a": ["Lima"], "b": ["lima"]}, [{"text": ["Rome", "Roma"], "answer_start": [0, 0]}])
    [own] = found.suspicions
    assert (own.kind, own.accepted, own.proposed) == ("agreement", ("Rome", "Roma"), ("Lima",))
    assert found.bounds == {"a": 1.0, "b": 1.0}


def test_variants_come_last_and_cost_nothing() -> None:
    found = audit({"a": ["x", "y"], "b": ["x", "z"]}, [["Two  parts", "two parts", "2"], ["w"]], agree=2)
    assert [(own.kind, own.row, own.cost) for own in found.suspicions] == [("agreement", 0, 2), ("variants", 0, 0)]


def test_the_same_question_with_other_answers() -> None:
    found = audit(
        {"a": ["12", "12", "12", "12"]},
        [["12"], ["13"], ["12"], ["14"]],
        questions=["How many?", "how  many?", "How many?", "Why?"],
        documents=["d1", "d1", "d2", "d1"],
    )
    assert [(own.row, own.proposed, own.gains) for own in of_kind(found, "other answers")] == [
        (1, ("12",), {"a": 0.5}), (0, ("13",), {"a": 0})
    ]  # fmt: skip
    assert found.bounds == {"a": (1 + 1 + 1 + 0.5) / 4}


def test_trees_by_leaf() -> None:
    reference = {"name": "ACNE", "total": "<b>5</b>", "lines": [{"p": "abcd"}, {"p": "efgh"}]}
    right = {"name": "ACME", "total": "5", "lines": [{"p": "efgx"}, {"p": "abcd"}]}
    trees = {"a": [right], "b": [{**right, "name": "acme"}], "c": [{**right, "name": "none", "lines": []}]}
    found = audit(trees, [reference], protocol="anls_star")
    shown = {(own.path, own.kind): own for own in found.suspicions}
    assert set(shown) == {
        ("$.name", "agreement"), ("$.total", "damage"), ("$.total", "agreement"), ("$.lines[1].p", "agreement")
    }  # fmt: skip
    name = shown["$.name", "agreement"]
    assert (name.accepted, name.proposed) == (("ACNE",), ("ACME",))
    assert name.gains == {"a": pytest.approx(0.25 / 4), "b": pytest.approx(0.25 / 4), "c": 0}
    assert found.scores["a"] == pytest.approx(float(anls_star_scores([right], [reference])[0]))
    assert found.bounds["a"] == 1


def test_typed_leaves_agree_by_their_meaning() -> None:
    fields = {"$.total": {"compare": "number"}}
    trees: dict[str, list[Any]] = {"a": [{"total": "1,299.00"}], "b": [{"total": 1299}], "c": [{"total": 7}]}
    found = audit(trees, [{"total": 1298}], protocol="anls_star", fields=fields)
    [own] = found.suspicions
    assert (own.path, own.gains) == ("$.total", {"a": 1.0, "b": 1.0, "c": 0.0})
    assert found.bounds == {"a": 1, "b": 1, "c": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agree": 1}, "agree=1: expected a number from 2 to 3"),
        ({"agree": 4}, "agree=4: expected a number from 2 to 3"),
        ({"protocol": "dude"}, "needs more than texts"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit({name: ["x"] for name in "abc"}, [["y"]], **options)
    with pytest.raises(
        AnlsError, match=r"^expected a dict from the name of each system to its predictions, not a list$"
    ):
        audit([["x"]], [["y"]])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1 prediction but 2 question_ids; expected one for each"):
        audit({name: ["x"] for name in "abc"}, [["y"]], question_ids=["a", "b"])
    with pytest.raises(ValueError, match="there are no systems"):
        audit({}, [["y"]])
    with pytest.raises(ValueError, match="b: 2 predictions"):
        audit({"a": ["x"], "b": ["x", "y"]}, [["y"]])


def systems(folder: Path) -> list[Any]:
    """Two systems with their rows in another order, and references with a question and a document."""
    gold = [
        {"id": "1", "question": "Who?", "document": "d", "answers": ["<b>Ann</b>"]},
        {"id": "2", "question": "Who?", "document": "d", "answers": ["Bob"]},
        {"id": "3", "question": "What?", "document": "d", "answers": ["=1+1"]},
    ]
    (folder / "gold.json").write_text(json.dumps(gold))
    own = [{"id": "1", "prediction": "Ann"}, {"id": "2", "prediction": "Ann"}, {"id": "3", "prediction": "<i>x</i>"}]
    for name, rows in (("a", own), ("b", own[::-1])):
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return ["audit", folder / "a.json", folder / "b.json", "-r", folder / "gold.json", "-q"]


def test_command_line(run: Any, tmp_path: Path) -> None:
    asked = systems(tmp_path)
    found = json.loads(run(*asked, "--json").out)
    assert [(own["question_id"], own["kind"]) for own in found["suspicions"]] == [
        ("1", "agreement"), ("1", "damage"), ("2", "agreement"), ("3", "agreement"), ("1", "other answers"),
        ("2", "other answers"),
    ]  # fmt: skip
    shown = run(*asked)
    assert shown.status == 0
    assert shown.out.startswith("6 suspicions in 3 references: 3 agreement, 1 damage, 2 other answers")
    for name in ("out.jsonl", "out.parquet", "out.csv", "out.html"):
        assert run(*asked, "--out", tmp_path / name).status == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["b: answer"] for row in rows] == ["Ann", "Ann", "Ann", "<i>x</i>", "Ann", "Ann"]
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert (page.count("<article>"), "<i>x" in page, "&lt;i&gt;x" in page) == (6, False, True)
    assert not re.search("<script|https?://", page)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--agree", "1"], "--agree 1: expected a whole number of at least 2"),
        (["--agree", "3"], "--agree 3: expected a number"),
        (["--out", "gold.json"], "is one of the input files"),
        (["--out", "out.txt"], "expected a name ending in"),
        (["-p", "evalscope_docvqa"], "has rules of its own"),
    ],
)
def test_command_line_refuses(
    options: list[str], message: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = run(*systems(tmp_path), *options)
    assert (found.status, message in found.err) == (2, True), found.err


def test_nothing_suspicious(run: Any, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(json.dumps([{"id": "1", "answers": ["x"]}]))
    (tmp_path / "p.json").write_text(json.dumps([{"id": "1", "prediction": "x"}]))
    shown = run("audit", tmp_path / "p.json", "-r", tmp_path / "g.json", "-q", "--out", tmp_path / "o.csv")
    assert (shown.status, shown.out.startswith("nothing suspicious in 1 references")) == (0, True)
    assert (tmp_path / "o.csv").read_text() == ""
