"""What notebooks show of results: well-formed, escaped, self-contained, bounded, and made without IPython."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from any_texts import ANY_TEXT
from any_trees import PREDICTIONS, REFERENCES
from html_document import parse
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from anls_eval import (
    BENCHMARKS,
    LEADERBOARDS,
    PROTOCOLS,
    compare_protocols,
    diagnose,
    explain,
    explain_answers,
    field_report,
    paired_comparison,
    rank_systems,
    score_submission,
    score_systems,
)

HOSTILE = "<script>alert(1)</script>&\"'<!--\x00\x1b[31m\u202e\ud800"


def submission(folder: Path) -> Any:
    (folder / "both.jsonl").write_text(
        "".join(f'{{"id": {n}, "prediction": "a{n}", "answers": ["a"], "kind": "<b>{n}"}}\n' for n in range(60))
    )
    return score_submission(folder / "both.jsonl", folder / "both.jsonl", by=["kind"])


def systems(folder: Path) -> Any:
    (folder / "<b>.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
    (folder / "bad.csv").write_text("id,prediction\n9,Lima\n")
    (folder / "references.csv").write_text("id,answer\n1,Lima\n2,Rome\n")
    paths = [str(folder / name) for name in ("<b>.csv", "bad.csv")]
    return score_systems(paths, folder / "references.csv", skip=True)


TREES = (
    [{"total": HOSTILE, "date": "2024-01-03", "extra": HOSTILE}],
    [{"total": "17.99", "date": "2024-01-02", HOSTILE: 1}],
)
RESULTS: dict[str, Callable[[Path], Any]] = {
    "text": lambda _: explain(HOSTILE, [HOSTILE + "x", "y"], protocol="standard"),
    "tree": lambda _: explain(TREES[0][0], TREES[1][0]),
    "answers": lambda _: explain_answers(f"<think>b</think>{HOSTILE}", ["a" + HOSTILE] * 30, extract="think"),
    "leaderboard": lambda _: explain_answers("a", HOSTILE, protocol="mmlongbench", answer_type="Str"),
    "submission": submission,
    "systems": systems,
    "fields": lambda _: field_report(*TREES),
    "protocols": lambda _: compare_protocols(["ab", HOSTILE], [["ac"], ["Rome "]]),
    "documents": lambda _: compare_protocols(*TREES, protocols=["anls_star", "donut_f1"]),
    "diagnosis": lambda _: diagnose(["ab", "Rome "], [["ac"], ["Rome"]], "0.50"),
    "pair": lambda _: paired_comparison([1.0] * 12 + [0.5], [0.5] * 12 + [1.0]),
    "ranking": lambda _: rank_systems({HOSTILE: [1.0, 0.5] * 10, "b": [0.5, 0.25] * 10}),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str, tmp_path: Path) -> None:
    found = RESULTS[name](tmp_path)._repr_html_()
    check(found)
    assert "<script>alert" not in found
    assert str(found.encode("utf-8"), "utf-8") == found  # no lone surrogate, which no notebook file can hold


def check(found: str) -> None:
    """It is one element, with one style, that fetches and runs nothing."""
    elements = parse(found)
    [block] = [own for own in elements if own.attributes.get("class") == "anls-eval"]
    assert found.startswith('<div class="anls-eval"><style>')
    assert found.endswith("</div>")
    for own in elements:
        assert own.tag not in ("script", "link", "iframe", "img", "a", "object", "form")
        assert not [name for name in own.attributes if name.startswith("on") or name in ("src", "href", "id")]
    [style] = [own for own in elements if own.tag == "style"]
    assert "url(" not in style.text
    assert "@import" not in style.text
    assert block.text


@given(ANY_TEXT, st.lists(ANY_TEXT, min_size=1, max_size=3))
def test_any_text(prediction: str, answers: list[str]) -> None:
    check(explain_answers(prediction, answers)._repr_html_())
    check(explain(prediction, answers, protocol="paper")._repr_html_())


@pytest.mark.parametrize("rules", [*PROTOCOLS.values(), *LEADERBOARDS.values(), *BENCHMARKS.values()])
def test_rules(rules: Any) -> None:
    found = rules._repr_html_()
    check(found)
    assert rules.name in parse(found)[0].text


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(PREDICTIONS, REFERENCES)
def test_any_tree(prediction: Any, reference: Any) -> None:
    found = explain(prediction, reference)
    text = found._repr_html_()
    check(text)
    for match in found.matches:
        one = match.prediction if match.reference is None else match.reference
        assert ("null" if one is None else one.strip() or ("empty" if not one else " ")) in parse(text)[0].text


def test_the_tree_of_a_document() -> None:
    """Nested as the reference; signs do not depend on colours; leaves of the prediction alone stand below."""
    reference = {"items": [{"sku": "A1", "n": "2"}, {"sku": "B7", "n": "1"}], "total": "17.99", "due": "May"}
    prediction = {"items": [{"sku": "B7", "n": "1"}, {"sku": "A7", "n": "2"}], "total": "17.90", "tip": "2"}
    fields = {"$.total": {"compare": "number", "absolute": "0.1"}}
    text = explain(prediction, reference, fields=fields)._repr_html_()
    tree = text.partition("</style>")[2]
    assert tree.count("<ul") == tree.count("</ul>") == 5  # of the document, the items, two of them, and what is alone
    lines = [own.text for own in parse(text) if own.tag == "li" and "<ul" not in own.text]
    assert "sku ≈ A1 → A7 0.5 of 1, 1 of 2 characters differ" in lines
    assert "sku ✓ B7 " in lines
    assert "total ✓ 17.99 → 17.90 number 17.99 and 17.9, tolerance 0.1" in lines
    assert "due − May missing" in lines
    assert "tip + 2 hallucinated" in lines
    assert text.index("Only in the prediction") < text.index("tip")


def test_many_and_deep_trees_stay_bounded() -> None:
    many = [{"name": f"{number} " * 200} for number in range(400)]
    assert len(explain(many, many)._repr_html_()) < 200_000
    deep: Any = "x"
    for _ in range(2_000):
        deep = {"a": deep}
    found = explain(deep, deep)._repr_html_()
    assert found.count("<ul") == found.count("</ul>") == 2_000
    assert "801 more leaves" not in found


def test_numbers_are_those_of_the_text() -> None:
    found = explain("CocaCola", ["Coca Cola"], protocol="standard")
    assert "0.8889" in found._repr_html_()
    assert "<del>␣</del>" in found._repr_html_()
    assert found.signature in "".join(own.text for own in parse(found._repr_html_()) if own.tag == "pre")
    assert repr(found).startswith("Explanation(score=0.88")  # plain text stays as it is
    assert dataclasses.asdict(found)["score"] == found.score


def test_ipython_is_not_imported() -> None:
    code = (
        "import sys, anls_eval as a; a.explain('a', ['b'], protocol='standard')._repr_html_(); "
        "sys.exit('IPython' in sys.modules or 'jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
