"""The report: its content is what the functions say, its HTML shows it, and hostile text stays text."""

import base64
import dataclasses
import datetime
import hashlib
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import docvqa_runs
import pytest
from budget import examples
from html_document import Element, find, parse
from hypothesis import example, given
from hypothesis import strategies as st
from patched import set_limit
from places import DATA, EXAMPLES
from report_systems import docvqa, of_pairs, of_rows

from anls_eval import automate
from anls_eval.analysis.confusions import character_confusions
from anls_eval.analysis.diagnosis import compare_protocols
from anls_eval.analysis.losses import classify_losses
from anls_eval.analysis.thresholds import threshold_sweep
from anls_eval.files import FormatError, open_predictions, open_references
from anls_eval.report import System, figures, read_system, write_report
from anls_eval.report.content import MAX_ERRORS, MOST_GROUPS, MOST_ROWS, MOST_WORST, Report, collect
from anls_eval.report.render import render
from anls_eval.scoring import anls_score, anls_scores, explain
from anls_eval.statistics import calibration, confidence_interval, paired_comparison
from anls_eval.submission.score import score_submission

DATE = datetime.date(2026, 3, 7)
RUN, OTHER = "qwen2_vl_7b_instruct", "llama_nemotron"
HOSTILE = [
    "<script>document.title='pwned'</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;</td></tr></table>",
    "--><!-- ]]> \u2028\u2029 \u202egnp.exe \x00\x1b[31m\r\n",
    "javascript:alert(1)",
]


@pytest.fixture(scope="module")
def system() -> System:
    return docvqa(RUN)


@pytest.fixture(scope="module")
def report(system: System) -> Report:
    return collect(system, docvqa(OTHER), date=DATE)


@pytest.fixture(scope="module")
def elements(system: System) -> list[Element]:
    return parse(html_of(system, docvqa(OTHER)))


def html_of(system: System, other: System | None = None) -> str:
    return render(collect(system, other, date=DATE))


# Content


def test_headline_is_the_score_of_the_submission(report: Report) -> None:
    folder = docvqa_runs.FOLDER
    expected = score_submission(
        open_predictions(folder / f"pred_{RUN}.json"), open_references(folder / "references.json")
    )
    assert report.submission == expected
    scores = anls_scores(docvqa_runs.predictions(RUN), docvqa_runs.answers())
    assert report.submission.interval == confidence_interval(scores)


def test_distribution_counts_every_question_once(report: Report) -> None:
    spread, counts = report.distribution, report.submission.tally.counts
    assert (spread.zero, spread.one) == (counts[0.0], counts[1.0])
    assert spread.between == sum(spread.bins) == report.submission.n - counts[0.0] - counts[1.0]
    assert spread.bins[10] == sum(count for score, count in counts.items() if 0.5 <= score < 0.55)


def test_texts_are_what_their_functions_find(report: Report) -> None:
    predictions, answers = docvqa_runs.predictions(RUN), docvqa_runs.answers()
    assert report.texts is not None
    losses = classify_losses(predictions, answers)
    assert report.texts.losses == tuple(own for own in losses.classes if own.count)
    assert report.texts.points_lost == losses.points_lost
    assert math.isclose(report.texts.points_lost, sum(own.points_lost for own in report.texts.losses))
    confusions = character_confusions(losses)
    assert [own for own, _ in report.texts.confusions] == confusions[:15]
    assert report.texts.confusions_left_out == len(confusions) - 15
    assert report.texts.sweep == threshold_sweep(predictions, answers)
    assert dict(report.texts.at_thresholds)[0.5] == report.submission.score
    assert report.protocols is not None
    means = compare_protocols(predictions, answers).means
    assert {own.name: own.mean for own in report.protocols.means} == means
    assert [own.mean for own in report.protocols.means] == sorted(means.values(), reverse=True)
    assert [own.name for own in report.protocols.means if own.is_own] == ["standard"]


def test_disputed_questions_have_the_scores_of_their_protocols(report: Report) -> None:
    assert report.protocols is not None
    assert len(report.protocols.disputed) == 5
    for question in report.protocols.disputed:
        for score, names in question.scores:
            for name in names:
                assert anls_score(question.prediction, question.answers, protocol=name) == score


def test_worst_questions_lost_most_and_the_closest_are_first(report: Report) -> None:
    assert report.texts is not None
    worst = report.texts.worst
    assert len(worst) == MOST_WORST
    assert {question.answer.score for question in worst} == {0.0}  # 88 questions have it
    similarities = [question.answer.comparison.similarity for question in worst if question.answer.comparison]
    assert len(similarities) == MOST_WORST
    assert similarities == sorted(similarities, reverse=True)
    assert all(0.3 <= similarity < 0.5 for similarity in similarities)


def test_rows_are_all_questions_lowest_score_first(report: Report, system: System) -> None:
    scores = dict(zip(system.scored.question_ids, system.scored.scores.tolist(), strict=True))
    assert {row.question_id: row.answer.score for row in report.rows} == scores
    assert [row.answer.score for row in report.rows] == sorted(scores.values())
    assert report.rows_left_out == 0


def test_comparison_is_the_paired_one(report: Report) -> None:
    versus = report.versus
    assert versus is not None
    answers = docvqa_runs.answers()
    scores = [anls_scores(docvqa_runs.predictions(run), answers) for run in (RUN, OTHER)]
    assert versus.names == (RUN, OTHER)
    assert versus.comparison == paired_comparison(*scores)
    assert versus.intervals[1] == confidence_interval(scores[1])
    assert versus.is_significant == (versus.comparison.p_value <= 0.05)
    assert [own.count for _, own in versus.losses] == [
        own.count
        for own in classify_losses(docvqa_runs.predictions(OTHER), answers).classes
        if own.name != "false_answer"
    ]
    for questions, sign in ((versus.better, 1), (versus.worse, -1)):
        gains = [sign * (own.answer.score - own.other.score) for own in questions if own.other]
        assert len(gains) == 8
        assert min(gains) > 0
        assert gains == sorted(gains, reverse=True)
    assert all(row.other is not None for row in report.rows)


def test_the_other_system_may_have_another_order(tmp_path: Path, system: System) -> None:
    rows = json.loads((docvqa_runs.FOLDER / f"pred_{OTHER}.json").read_text(encoding="utf-8"))
    gold = json.loads((docvqa_runs.FOLDER / "references.json").read_text(encoding="utf-8"))
    (tmp_path / "shuffled.json").write_text(json.dumps(rows[::-1]), encoding="utf-8")
    (tmp_path / "gold.json").write_text(json.dumps(gold | {"data": gold["data"][500:] + gold["data"][:500]}))
    shuffled = read_system(
        open_predictions(tmp_path / "shuffled.json"), open_references(tmp_path / "gold.json"), name=OTHER
    )
    assert html_of(system, shuffled) == html_of(system, docvqa(OTHER))


def test_breakdown_has_an_interval_for_each_group(tmp_path: Path) -> None:
    predictions = [{"id": str(row), "prediction": "ab"} for row in range(40)]
    references = [
        {"id": str(row), "answers": ["ab" if row % 4 else "cd"], "page": row % 3, "kind": ["x", "y"] if row else None}
        for row in range(40)
    ]
    system = of_rows(tmp_path, predictions, references, by=("page", "kind"))
    pages, kinds = collect(system, date=DATE).breakdowns
    scores = system.scored.scores
    assert [(own.value, own.n) for own in pages.groups] == [("0", 14), ("1", 13), ("2", 13)]
    assert [(own.value, own.n) for own in kinds.groups] == [("x", 39), ("y", 39)]
    assert pages.groups[1].interval == confidence_interval(scores[1::3])
    assert pages.groups[1].interval.mean == system.scored.submission.by["page"]["1"].score


def test_breakdown_keeps_the_largest_groups(tmp_path: Path) -> None:
    rows = range(MOST_GROUPS + 5)
    predictions = [{"id": f"{row}-{copy}", "prediction": "a"} for row in rows for copy in range(1 + (row >= 5))]
    references = [{"id": own["id"], "answers": ["a"], "page": own["id"].split("-")[0]} for own in predictions]
    [pages] = collect(of_rows(tmp_path, predictions, references, by=("page",)), date=DATE).breakdowns
    assert pages.left_out == 5
    assert {own.value for own in pages.groups} == {str(row) for row in rows if row >= 5}
    html = html_of(of_rows(tmp_path, predictions, references, by=("page",)))
    assert "The 30 largest groups are shown; 5 smaller ones are not." in html
    assert "* Too few questions, or all with the same score: the interval is not reliable." in html


def test_documents_widen_the_intervals(tmp_path: Path) -> None:
    predictions = [{"id": str(row), "prediction": "a" if row // 10 % 2 else "b"} for row in range(200)]
    references = [{"id": str(row), "answers": ["a"], "part": row % 2, "page": f"p{row // 10}"} for row in range(200)]
    system = of_rows(tmp_path, predictions, references, cluster_by="page", by=("part",))
    found = collect(system, date=DATE)
    alone = collect(of_rows(tmp_path, predictions, references), date=DATE)
    assert found.submission.interval.clusters == 20
    assert alone.submission.interval.clusters is None
    assert [own.interval and own.interval.clusters for own in found.breakdowns[0].groups] == [20, 20]
    assert found.submission.interval.high - found.submission.interval.low > 2 * (
        alone.submission.interval.high - alone.submission.interval.low
    )
    assert "over 20 documents, whose questions are not independent" in html_of(system)


def test_confidences_are_calibrated_on_those_that_have_one(tmp_path: Path) -> None:
    predictions: list[dict[str, Any]] = [
        {"id": str(row), "prediction": "ab" if row % 3 else "zz", "sure": row / 100} for row in range(100)
    ]
    predictions[5]["sure"] = None
    predictions[6]["sure"] = -1
    references = [{"id": str(row), "answers": ["ab"]} for row in range(100)]
    system = of_rows(tmp_path, predictions, references, confidence="sure")
    found = collect(system, date=DATE).confidences
    assert found is not None
    kept = [row for row in range(100) if row not in (5, 6)]
    assert found.calibration == calibration([float(row % 3 > 0) for row in kept], [row / 100 for row in kept])
    assert found.without == 2
    assert sum(point.count for point in found.diagram) == 98
    elements = parse(html_of(system))
    assert find(elements, "svg", id="figure-reliability")
    assert find(elements, "svg", id="figure-risk")


def test_confidences_of_dude_are_read_where_they_are() -> None:
    folder = EXAMPLES / "dude"
    system = read_system(
        open_predictions(folder / "DUDE_demo_submission_imperfect.json"),
        open_references(folder / "DUDE_demo_gt.json"),
        protocol="dude",
        by=("answer_type",),
    )
    assert system.confidences is not None
    assert system.confidences[:3] == [0.8, 0.4, 0.99]
    found = collect(system, date=DATE)
    assert found.texts is None
    assert found.trees is None
    assert found.confidences is not None
    elements = parse(html_of(system))
    assert find(elements, "section", id="breakdowns")
    assert not find(elements, "section", id="losses")


SURE = [0.9 if row % 10 else 0.3 for row in range(900)]
READ = ["ab" if sure == 0.9 else "zz" for sure in SURE]


@pytest.mark.parametrize(
    ("protocol", "predictions", "reference", "confidences"),
    [
        ("standard", READ, ["ab"], SURE),
        ("anls_star", [{"a": text} for text in READ], {"a": "ab"}, SURE),
        pytest.param(
            "anls_star",
            [{"a": text, "b": ["x"]} for text in READ],
            {"a": "ab", "b": ["x"]},
            [{"a": sure, "b": [0.95]} for sure in SURE],
            marks=pytest.mark.long,
        ),
    ],
    ids=["texts", "trees with a number", "trees with trees"],
)
def test_what_can_be_accepted_is_what_automate_finds(
    tmp_path: Path, protocol: str, predictions: list[Any], reference: Any, confidences: list[Any]
) -> None:
    rows = zip(predictions, confidences, strict=True)
    given = [{"id": str(row), "prediction": own, "sure": sure} for row, (own, sure) in enumerate(rows)]
    expected = [reference] * len(given)
    answers = [own if protocol == "standard" else [own] for own in expected]
    references = [{"id": str(row), "answers": own} for row, own in enumerate(answers)]
    system = of_rows(tmp_path, given, references, confidence="sure", protocol=protocol)
    found = collect(system, date=DATE).automation
    assert found is not None
    for number, most in enumerate(MAX_ERRORS):
        own = automate(predictions, expected, confidences, max_error=most, protocol=protocol)
        assert found.whole[number] == own.whole
        assert {path: each[number] for path, each in found.by_field} == own.by_field
    elements = parse(html_of(system))
    assert find(elements, "svg", id="figure-automation")
    [table] = find(elements, "table", id="figure-acceptances")
    assert f"1%0.9{found.whole[0].share:.1%}0 of {found.whole[0].accepted}" in table.text
    assert len(find(elements, "table", id="figure-field-acceptances")) == (protocol == "anls_star")


def test_without_confidences_there_is_no_automation(tmp_path: Path) -> None:
    system = of_rows(
        tmp_path, [{"id": "1", "prediction": "a", "sure": None}], [{"id": "1", "answers": ["a"]}], confidence="sure"
    )
    found = collect(system, date=DATE)
    assert (found.confidences, found.automation) == (None, None)
    assert not find(parse(html_of(system)), "section", id="automation")


@pytest.mark.parametrize("given", ["high", 1.5, -0.5])
def test_wrong_confidence_is_told(tmp_path: Path, given: object) -> None:
    system = of_rows(
        tmp_path,
        [{"id": "7", "prediction": "a", "sure": given}],
        [{"id": "7", "answers": ["a"]}],
        confidence="sure",
    )
    message = re.escape(f"the confidence of question_id '7' is {given!r}; expected a number from 0 to 1")
    with pytest.raises(ValueError, match=message):
        collect(system, date=DATE)


def test_documents_without_a_prediction_come_last(tmp_path: Path) -> None:
    wanted = [{"id": str(number), "answers": {"a": "same", "b": "wrong"}} for number in range(30)]
    given = [{"id": str(number), "prediction": {"a": "same", "b": "other"}} for number in (17, 23)]
    found = collect(of_rows(tmp_path, given, wanted, protocol="anls_star", missing="zero"), date=DATE)
    assert found.trees is not None
    assert [own.question_id for own in found.trees.worst] == ["17", "23", *map(str, range(8))]


def test_trees_show_their_keys_and_lost_leaves(tmp_path: Path) -> None:
    lines = (DATA / "documents" / "invoices.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    system = of_rows(
        tmp_path,
        [{"id": row["id"], "prediction": row["pred"]} for row in rows[1:]],
        [{"id": row["id"], "answers": row["gold"]} for row in rows],
        protocol="anls_star",
        missing="zero",
    )
    found = collect(system, date=DATE)
    assert found.texts is None
    assert found.trees is not None
    means: Any = found.submission.key_scores
    assert means is not None
    supplier = next(own for own in found.trees.keys if own.path == "supplier.name")
    assert supplier.score == means["supplier"]["children"]["name"]["anls_score"]
    lost = [document for document in found.trees.worst if not document.is_missing]
    assert [own.question_id for own in found.trees.worst if own.is_missing] == [rows[0]["id"]]
    assert lost
    by_id = {row["id"]: row for row in rows}
    for document in lost:
        row = by_id[document.question_id]
        explained = explain(row["pred"], row["gold"])
        assert document.score == explained.score
        assert document.leaves == len(explained.matches)
        expected = [own for own in explained.matches if own.credit < own.weight]
        assert len(document.lost) + document.left_out == len(expected)
        assert document.lost[0].credit - document.lost[0].weight == min(own.credit - own.weight for own in expected)
    elements = parse(html_of(system))
    assert find(elements, "table", id="figure-keys")
    assert found.protocols is not None
    cards = len(found.trees.worst) + sum(bool(own.worst) for own in found.trees.fields) + len(found.protocols.disputed)
    assert len(find(elements, "article", class_="card")) == cards
    assert find(elements, "table", id="figure-fields")
    assert found.trees.accounting.n == len(rows)
    failures = [(own, ids) for field in found.trees.fields for own, ids in field.worst]
    assert all(set(ids) <= by_id.keys() for _, ids in failures)
    assert ("1889", "1889.5") in [(own.reference, own.prediction) for own, _ in failures]
    assert not find(elements, "section", id="threshold")


def test_documents_are_scored_under_every_protocol_for_them(tmp_path: Path) -> None:
    pairs = [({"total": "5.0", "date": "2024"}, {"total": "5.00", "date": "2024"}), ({"total": "7"}, {"total": "7"})]
    system = of_pairs(tmp_path, pairs, protocol="anls_star")
    found = collect(system, date=DATE).protocols
    assert found is not None
    compared = compare_protocols(*map(list, zip(*pairs, strict=True)))
    assert {own.name: own.mean for own in found.means} == compared.means
    assert dict(found.errors) == compared.errors
    assert [own.name for own in found.means if own.is_own] == ["anls_star"]
    [section] = find(parse(html_of(system)), "section", id="protocols")
    assert all(own.name in section.text for own in found.means)
    assert all(error[:100] in section.text for _, error in found.errors)


def test_many_documents_are_scored_without_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limit(monkeypatch, "MOST_FOR_BENCHMARKS", 1)
    system = of_pairs(tmp_path, [({"a": "x"}, {"a": "x"}), ({"a": "y"}, {"a": "z"})], protocol="anls_star")
    found = collect(system, date=DATE).protocols
    assert found is not None
    assert [own.name for own in found.means] == ["anls_star", "anls_star_paper"]
    assert "but those of benchmarks" in html_of(system)


def test_trees_can_be_compared(tmp_path: Path) -> None:
    good = of_pairs(tmp_path, [({"a": "x"}, {"a": "x"}), ({"a": "yy"}, {"a": "yz"})], protocol="anls_star", name="good")
    bad = of_pairs(tmp_path, [({"a": "q"}, {"a": "x"}), (None, {"a": "yz"})], protocol="anls_star", name="bad")
    found = collect(good, bad, date=DATE)
    assert found.versus is not None
    assert [own.question_id for own in found.versus.better] == ["0", "1"]
    assert parse(html_of(good, bad))


# What a report cannot be made of


def test_systems_of_different_protocols_are_refused(system: System) -> None:
    with pytest.raises(ValueError, match="were scored under different rules; expected one protocol for both"):
        html_of(system, docvqa(OTHER, protocol="rrc"))
    with pytest.raises(ValueError, match="different rules"):
        html_of(docvqa(RUN, protocol="icdar2026"), docvqa(OTHER, protocol="ocrbench_v2"))


def test_systems_on_different_questions_are_refused(tmp_path: Path) -> None:
    two = of_pairs(tmp_path, [("a", ["a"]), ("b", ["b"])], name="two")
    three = of_pairs(tmp_path, [("a", ["a"]), ("b", ["b"]), ("c", ["c"])], name="three")
    for pair in ((two, three), (three, two)):
        with pytest.raises(ValueError, match="question_id '2' is in only one of them"):
            html_of(*pair)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, system: System) -> None:
    path = tmp_path / "report.html"
    write_report(path, system, date=DATE)
    before = path.read_bytes()
    assert before.decode() == html_of(system)
    with pytest.raises(ValueError, match="different rules"):
        write_report(path, system, docvqa(OTHER, protocol="rrc"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(FormatError, match="is a folder; expected the name of a file to write"):
        write_report(tmp_path / "folder", system)
    (tmp_path / "folder").rmdir()
    with pytest.raises(FormatError, match="cannot be written: No such file or directory"):
        write_report(tmp_path / "nowhere" / "report.html", system)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# HTML


def test_golden_fragments(tmp_path: Path) -> None:
    pairs = [
        ("Denver Bronco", ["Denver Broncos"]),
        ("12/15/89", ["12/15/88"]),
        ("x", ["y"]),
        (None, ["z"]),
        ("a", ["a"]),
    ]
    html = html_of(of_pairs(tmp_path, pairs, name="ours"))
    assert '<p class="score" id="headline-score">0.5607</p>' in html
    assert "<title>ours: ANLS 0.5607</title>" in html
    assert '<time datetime="2026-03-07">7 March 2026</time>' in html
    assert (
        '<dt>answer</dt><dd dir="auto">12/15/8<mark>8</mark></dd>\n'
        '<dt>prediction</dt><dd dir="auto">12/15/8<mark>9</mark></dd>'
    ) in html
    assert '<dd dir="auto">denver bronco<del>s</del></dd>' in html
    assert "1 of 14 characters differs: similarity 0.9286, at least the threshold 0.5, so it scores 0.9286." in html
    assert "<dt>answer</dt><dd><bdi>z</bdi></dd><dt>prediction</dt><dd><i>no answer given</i></dd>" in html
    assert (
        '<tr data-loss="no_answer"><th scope="row">3</th><td class="number">0.0000</td><td>no answer</td>'
        "<td><i>no answer given</i></td><td><bdi>z</bdi></td></tr>"
    ) in html
    assert any("'3'" in note.text for note in find(parse(html), "p", class_="note"))


def test_shown_numbers_are_those_of_the_content(report: Report, elements: list[Element]) -> None:
    [headline] = find(elements, "p", id="headline-score")
    assert headline.text == f"{report.submission.score:.4f}"
    [signature] = [own for own in elements if own.tag == "pre"]
    assert signature.text == report.submission.signature
    everything = elements[0].text
    assert report.texts is not None
    assert report.protocols is not None
    assert report.versus is not None
    pair = report.versus.comparison
    for text in (
        f"95 % interval {report.submission.interval.low:.4f} to {report.submission.interval.high:.4f}",
        report.versus.verdict,
        f"The paired test gives p = {pair.p_value:.3f}.",
        f"{RUN} better {pair.wins}",
        f"{OTHER} better {pair.losses}",
        *(f"{own.count:,}" for own in report.texts.losses),
        *(own.name for own in report.protocols.means),
    ):
        assert text in everything
    rows = [own for own in elements if own.tag == "tr" and "data-loss" in own.attributes]
    assert len(rows) == 1_000


def test_document_is_well_formed_and_accessible(elements: list[Element]) -> None:
    assert elements[0].attributes["lang"] == "en"
    levels = [int(own.tag[1]) for own in elements if re.fullmatch(r"h[1-6]", own.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [own.attributes["id"] for own in elements if "id" in own.attributes]
    assert len(set(ids)) == len(ids)
    for own in elements:
        if own.tag == "th":
            assert own.attributes.get("scope") in ("col", "row", "colgroup")
        if own.tag == "svg":
            assert own.attributes.get("role") == "img" or own.attributes.get("aria-hidden") == "true"
        for name in ("aria-labelledby", "for"):
            assert set((own.attributes.get(name) or "").split()) <= set(ids)
        if own.tag == "a":
            assert (own.attributes["href"] or "").removeprefix("#") in ids
    pictures = find(elements, "svg", role="img")
    assert len(pictures) == 4
    assert len(find(elements, "desc")) == len(pictures)


def test_nothing_is_fetched_and_only_our_script_runs(elements: list[Element]) -> None:
    [policy] = find(elements, "meta", http_equiv="x") or [
        own for own in elements if own.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert (policy.attributes["content"] or "").startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        [own] = find(elements, tag)
        digest = base64.b64encode(hashlib.sha256(own.text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in (policy.attributes["content"] or "")
    for own in elements:
        assert own.tag not in ("link", "iframe", "object", "embed", "base", "form", "img")
        assert not {"src", "style", "srcset", "action"} & own.attributes.keys()
        assert not [name for name in own.attributes if name.startswith("on")]
    assert "url(" not in find(elements, "style")[0].text


def test_size_stays_below_a_megabyte_for_a_thousand_questions(system: System) -> None:
    assert len(html_of(system, docvqa("llama_scout")).encode()) < 500_000


def test_report_of_many_long_questions_stays_bounded(tmp_path: Path) -> None:
    pairs = [("word " * 100 + str(row), ["other " * 100]) for row in range(MOST_ROWS + 500)]
    html = html_of(of_pairs(tmp_path, pairs))
    assert len(html.encode()) < 2_000_000
    assert "The 2,000 questions with the lowest scores are shown; 500 are not." in html
    assert "--per-question" in html
    assert html.count("<tr data-loss=") == MOST_ROWS


# Hostile and odd text


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    def rows(texts: list[str], key: str, value: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        predictions = [{"id": f"{text}{row}", "prediction": text, "sure": 0.5} for row, text in enumerate(texts)]
        references = [
            {"id": own["id"], "answers": [f"{own['prediction']} {own['prediction']}!", "none"], key: value}
            for own in predictions
        ]
        return predictions, references

    def tags(html: str) -> list[tuple[str, list[str]]]:
        return [(own.tag, sorted(own.attributes)) for own in parse(html)]

    column = HOSTILE[2]
    hostile = of_rows(tmp_path, *rows(HOSTILE, column, HOSTILE[0]), by=(column,), name=HOSTILE[1], confidence="sure")
    html = html_of(hostile, dataclasses.replace(hostile, name=HOSTILE[0]))
    allowed = tags(html_of(docvqa(RUN), docvqa(OTHER)))
    assert {tag for tag, _ in tags(html)} <= {tag for tag, _ in allowed} | {"h3", "circle"}
    everything = parse(html)[0].text
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3]):
        assert text in everything
    assert html.count("<script>") == 1
    assert not re.search("[\x00\x1b\u2028\u2029\u202e]", html)


def test_hostile_trees_stay_text(tmp_path: Path) -> None:
    tree = {HOSTILE[0]: {HOSTILE[2]: HOSTILE[1]}, "list": [HOSTILE[3]]}
    html = html_of(of_pairs(tmp_path, [({"list": ["x"]}, tree), (tree, tree)], protocol="anls_star"))
    assert "<script>document" not in html
    assert "onerror=alert(1)>" not in html
    parse(html)


def test_text_that_has_no_bytes_is_written(tmp_path: Path) -> None:
    system = of_pairs(tmp_path, [("\ud800 cut", ["\udfff cut"]), ("whole", ["whole"])])
    write_report(tmp_path / "report.html", system)
    assert "\ufffd cut" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        ([("a", ["a"])], {}),
        ([("a", ["b"])], {}),
        ([(None, ["b"])], {}),
        ([("", [""]), (" ", ["x"])], {}),
        ([("a", ["a"])] * 12, {"protocol": "mistral_evals"}),
        ([("ab", ["ac"])] * 12, {"threshold": 0.5}),
        ([("ab", ["ac"]), ("abc", ["abd"])], {"threshold": 1}),
        ([("ab", ["ac"]), ("abc", ["abd"])], {"threshold": 0, "protocol": "paper"}),
        ([("none", ["none"]), ("a", ["b"])], {"protocol": "mpdocvqa"}),
        ([({}, {})], {"protocol": "anls_star"}),
        ([("a", {"b": ["c"]})], {"protocol": "anls_star_paper"}),
        ([("a", ["a"]), ("b", ["c"])], {"protocol": "icdar2026"}),
    ],
)
def test_smallest_submissions_have_a_report(tmp_path: Path, pairs: list[Any], options: dict[str, Any]) -> None:
    system = of_pairs(tmp_path, pairs, **options)
    [headline] = find(parse(html_of(system)), "p", id="headline-score")
    assert headline.text == f"{system.scored.submission.score:.4f}"
    parse(html_of(system, system))


def test_changed_threshold_is_its_own_protocol(tmp_path: Path) -> None:
    found = collect(of_pairs(tmp_path, [("abc", ["abd"])], threshold=0.8), date=DATE)
    assert found.protocols is not None
    [own] = [own for own in found.protocols.means if own.is_own]
    assert (own.name, own.mean, own.difference) == ("standard-changed", 0.0, 0.0)
    assert next(other for other in found.protocols.means if other.name == "standard").difference == 1 - 1 / 3


def test_questions_without_a_prediction_are_counted(tmp_path: Path) -> None:
    system = of_rows(
        tmp_path,
        [{"id": "1", "prediction": "a"}, {"id": "9", "prediction": "a"}],
        [{"id": "1", "answers": ["a"]}, {"id": "2", "answers": ["b"]}],
        missing="zero",
        unknown="ignore",
    )
    html = html_of(system)
    assert "<dt>missing predictions</dt><dd>1</dd>" in html
    assert "<dt>unknown predictions</dt><dd>1</dd>" in html
    notes = [own.text for own in find(parse(html), "p", class_="note")]
    assert notes.count("Too few questions for a reliable interval: 2; expected at least 10.") == 1


@examples(25)
@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.lists(st.text(max_size=20), min_size=1, max_size=2)), min_size=1, max_size=3
    )
)
def test_any_text_gives_a_well_formed_document(pairs: list[tuple[str, list[str]]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        system = of_pairs(Path(folder), pairs)
        elements = parse(html_of(system))
    rows = [own for own in elements if own.tag == "tr" and "data-loss" in own.attributes]
    assert len(rows) == len(pairs)
    html_of(system).encode("utf-8")


# Figures


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=40))
def test_bars_are_as_high_as_their_counts(bins: list[int]) -> None:
    found = figures.histogram(bins)
    for bar, count in zip(found.bars, bins, strict=True):
        assert bar.y + bar.height == pytest.approx(found.plot.bottom)
        assert found.plot.top - 0.01 <= bar.y
        height = found.plot.bottom - found.plot.top
        assert bar.height == pytest.approx(height * count / found.plot.y_range[1], abs=0.02)


@given(st.floats(0, 1), st.floats(0, 1))
@example(0.0, 5e-324)
def test_ticks_are_round_and_hold_their_range(one: float, two: float) -> None:
    low, high = min(one, two), max(one, two)
    ticks = figures.nice_ticks(low, high)
    assert ticks[0] <= low + 1e-9 * (high - low) + 1e-12
    assert ticks[-1] >= high - 1e-9 * (high - low) - 1e-12
    assert 2 <= len(ticks) <= 12


def test_curve_steps_where_the_mean_does() -> None:
    sweep = threshold_sweep(["ab", "abcd"], [["ac"], ["abce"]])
    curve = figures.sweep_curve(sweep)
    x, y = curve.plot.x, curve.plot.y
    assert curve.path == (f"M64 {y(0.625):g}V{y(0.625):g}H{x(0.5):g}V{y(0.375):g}H{x(0.75):g}V{y(0):g}H{x(1):g}")
    assert curve.mark == (x(0.5), y(0.625))


def test_curve_of_many_steps_stays_short() -> None:
    lengths = range(60, 160)
    texts = ["a" * length for length in lengths for _ in range(30)]
    answers = [["a" * (length - edits) + "b" * edits] for length in lengths for edits in range(30)]
    sweep = threshold_sweep(texts, answers)
    assert len(sweep.thresholds) > 1_000
    curve = figures.sweep_curve(sweep)
    assert curve.path.count("H") < 800
    corners = [float(x) for x in re.findall(r"H([\d.]+)", curve.path)]
    assert corners == sorted(corners)
    assert curve.path.endswith(f"V{curve.plot.y(sweep.means[-1]):g}H{curve.plot.x(1):g}")


def test_differences_by_group(tmp_path: Path) -> None:
    answers = [
        {"id": str(row), "answers": ["ab"], "kind": ["<b>", "y"][row % 2], "page": row // 8} for row in range(80)
    ]
    rights = (range(0, 80, 2), range(80))
    systems = []
    for name, right in zip(("one", "two"), rights, strict=True):
        (tmp_path / name).mkdir()
        predictions = [{"id": str(row), "prediction": "ab" if row in right else "xy"} for row in range(80)]
        systems.append(
            of_rows(tmp_path / name, predictions, answers, name=name, by=("kind", "page"), cluster_by="page")
        )
    report = collect(*systems, date=DATE)
    assert report.versus is not None
    kinds, pages = report.versus.by
    assert [(own.group, own.n, own.comparison.difference) for own in kinds.groups] == [("<b>", 40, 0), ("y", 40, -1)]
    assert {own.interval for own in pages.groups} == {None}
    html = html_of(*systems)
    assert "figure-differences-1" in html
    assert "Difference by <bdi>kind</bdi>, first minus second" in html
    assert "&lt;b&gt;" in html
    assert html.count("one document") == 2 * len(pages.groups) + 1  # and the mean over them
