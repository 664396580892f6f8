"""Taking the answer out, wherever a protocol is taken: the same answers and scores, both numbers, and hints."""

import contextlib
import io
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import docvqa_runs
import numpy as np
import pyarrow as pa
import pytest
from any_texts import QUESTION
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.analysis.diagnosis import compare_protocols, diagnose
from anls_eval.analysis.losses import classify_losses
from anls_eval.analysis.thresholds import threshold_sweep
from anls_eval.check.check import check_submission
from anls_eval.check.fix import fix_submission
from anls_eval.cli import commands
from anls_eval.errors import Note
from anls_eval.explanation.answers import explain_answers
from anls_eval.extract.marks import MARK_STEPS
from anls_eval.extract.steps import EXTRACT_STEPS, EXTRACT_WORDS, extracted
from anls_eval.leaderboards import leaderboard_figures, leaderboard_score, leaderboard_scores
from anls_eval.metric import ANLS
from anls_eval.registry import get_protocol, get_rules, protocol_from_signature, signature
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.words import in_words
from anls_eval.scoring import anls_score, anls_scores, anls_star_score, anls_star_scores, explain
from anls_eval.submission.score import score_submission
from anls_eval.submission.systems import score_systems

GOLD = [["12 May 1996"], ["A. Berg"], ["Oslo"], ["$ 40.00", "40.00"]]
TAGGED = [
    "<answer>12 May 1996</answer>",
    "<answer>A. Berg</answer>",
    "<answer> Oslo </answer>",
    r"So it is \boxed{$ 40.00}",
]
BOTH = "answer_tag,boxed"
FENCED = 'Here it is:\n```json\n{"vendor": "Vortex Ltd", "amount": 118.5}\n```'
TREE = {"vendor": "Vortex Ltd", "amount": 779.0}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Predictions in marks, and the accepted answers."""
    predictions, references = tmp_path / "tags.json", tmp_path / "g.json"
    rows = [{"questionId": number, "answer": text} for number, text in enumerate(TAGGED, start=101)]
    predictions.write_text(json.dumps(rows))
    data = [{"questionId": number, "answers": own} for number, own in enumerate(GOLD, start=101)]
    references.write_text(json.dumps({"data": data}))
    return predictions, references


def run(*arguments: object) -> tuple[str, str]:
    """Run the command line; return what it writes to stdout and to stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        commands.app([str(own) for own in arguments], standalone_mode=False)
    return out.getvalue(), err.getvalue()


class TestNames:
    @pytest.mark.parametrize("extract", ["think,boxed", " think, boxed ", ["think", "boxed"], ("think", "boxed")])
    def test_forms(self, extract: Any) -> None:
        assert get_protocol("rrc").with_extract(extract).extract == ("think", "boxed")

    def test_none_keeps_the_steps_of_a_protocol_and_the_word_removes_them(self) -> None:
        boxed = get_protocol("rrc").with_extract("boxed")
        assert boxed.with_extract(None) == boxed
        assert boxed.with_extract("none") == get_protocol("rrc")
        assert boxed.with_extract([]) == get_protocol("rrc")
        assert anls_score(r"\boxed{a}", "a", protocol=boxed) == 1
        assert anls_score(r"\boxed{a}", "a", protocol=boxed, extract="none") == 0

    @pytest.mark.parametrize("extract", ["answertag", ["think", "none"], 5, [None], b"think", ["think,boxed"]])
    def test_unknown_names_are_refused_with_the_known_ones(self, extract: Any) -> None:
        with pytest.raises(ValueError, match="'think', 'answer_tag'"):
            anls_score("a", "a", extract=extract)
        with pytest.raises(ValueError, match=r"'think', 'answer_tag'|expected a tuple"):
            Protocol(name="own", prediction_steps=(), answer_steps=(), extract=extract)

    def test_json_is_for_trees_and_comes_last(self) -> None:
        with pytest.raises(ValueError, match=r"extract=\"?'?json.*compares texts"):
            anls_score("a", "a", extract="json")
        with pytest.raises(ValueError, match="expected it last"):
            anls_star_score("a", {"a": "b"}, extract="json,fence")

    def test_every_step_is_said_in_words(self) -> None:
        assert EXTRACT_WORDS.keys() == EXTRACT_STEPS.keys()
        assert EXTRACT_WORDS["boxed"] in in_words(get_protocol("rrc").with_extract("boxed"))["extract"]
        assert "extract" not in in_words(get_protocol("rrc"))


@given(st.lists(st.sampled_from([*EXTRACT_STEPS]), max_size=3))
def test_a_signature_gives_the_steps_back(names: list[str]) -> None:
    names = [name for name in names if name != "json"]
    for protocol in ("rrc", "anls_star"):
        line = signature(protocol, extract=names or "none")
        assert ("|extract:" in line) == bool(names)
        assert protocol_from_signature(line) == get_protocol(protocol).with_extract(names)


@given(st.lists(QUESTION, min_size=1, max_size=4), st.lists(st.sampled_from([*MARK_STEPS]), max_size=2))
def test_scores_are_those_of_the_extracted_texts(questions: list[tuple[Any, Any]], names: list[str]) -> None:
    predictions, answers = map(list, zip(*questions, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = [extracted(own, tuple(names)) for own in predictions]
        expected = anls_scores(taken, answers, protocol="rrc").tolist()
        assert anls_scores(predictions, answers, protocol="rrc", extract=names).tolist() == expected
        assert [anls_score(*own, protocol="rrc", extract=names) for own in questions] == expected


class TestPython:
    def test_texts(self) -> None:
        assert anls_scores(TAGGED, GOLD, extract=BOTH).tolist() == [1, 1, 1, 1]
        assert anls_scores(pa.array(TAGGED), pa.array(GOLD), extract=BOTH).tolist() == [1, 1, 1, 1]
        assert anls_scores(np.array(TAGGED), GOLD, extract="boxed").tolist() == [0, 0, 0, 1]
        assert [anls_score(*own, extract=BOTH) for own in zip(TAGGED, GOLD, strict=True)] == [1, 1, 1, 1]

    def test_what_is_no_text_is_left_alone(self) -> None:
        with pytest.warns(UserWarning, match="1 of 3 predictions is None"):
            assert anls_scores([None, 40, b"\\boxed{x}"], ["a", "40", "x"], extract="boxed").tolist() == [0, 1, 1]
        assert anls_star_score(TREE, TREE, extract="think,json") == 1

    def test_a_step_of_a_harness_can_find_no_answer(self) -> None:
        with pytest.warns(UserWarning, match="1 of 2 predictions is None"):
            assert anls_scores(["ANSWER: a", "a"], ["a", "a"], extract="inspect_line").tolist() == [1, 0]

    def test_trees(self) -> None:
        assert anls_star_score(FENCED, TREE, extract="json") == 0.5
        assert anls_star_scores([FENCED, TREE], [TREE, TREE], extract="json").tolist() == [0.5, 1]

    def test_explanations_show_both_texts(self) -> None:
        found = explain(TAGGED[0], GOLD[0], protocol="rrc", extract=BOTH)
        assert (found.score, found.raw_prediction, found.matches[0].prediction) == (1, TAGGED[0], "12 May 1996")
        assert "<answer>" in str(found)
        assert found.to_dict()["raw_prediction"] == TAGGED[0]
        same = explain("Oslo", "Oslo", protocol="rrc", extract=BOTH)
        assert same.raw_prediction is None
        assert "raw_prediction" not in same.to_dict()
        answers = explain_answers(TAGGED[0], GOLD[0], extract=BOTH)
        assert (answers.score, answers.raw_prediction) == (1, TAGGED[0])
        assert answers.to_dict()["raw_prediction"] == TAGGED[0]
        assert "raw_prediction" not in explain_answers("a", "a").to_dict()

    def test_analyses(self) -> None:
        rules = get_protocol("standard").with_extract(BOTH)
        report = classify_losses(TAGGED, GOLD, protocol=rules)
        assert report.predictions == ["12 May 1996", "A. Berg", "Oslo", "$ 40.00"]
        assert threshold_sweep(TAGGED, GOLD, protocol=rules).mean(0.9) == 1
        with pytest.raises(ValueError, match="takes the answer out of each prediction"):
            compare_protocols(TAGGED, GOLD, protocols=[rules, "rrc"])

    def test_leaderboards(self) -> None:
        words: dict[str, Any] = {"protocol": "mmlongbench", "extract": "answer_tag"}
        assert leaderboard_score("<answer>5</answer>", "5", answer_type="Int", **words) == 1
        assert leaderboard_scores(["<answer>5</answer>"], ["5"], answer_types=["Int"], **words).tolist() == [1]
        figures = leaderboard_figures(["<answer>5</answer>"], ["5"], answer_types=["Int"], **words)
        assert figures["score"] == 1
        assert "|extract:answer_tag|" in signature("mmlongbench", extract="answer_tag")

    def test_benchmarks_with_steps_of_their_own(self) -> None:
        assert leaderboard_score("So.\nANSWER: Oslo", "Oslo", protocol="evalscope_docvqa") == 1
        assert leaderboard_score("So.\nANSWER: Oslo", "Oslo", protocol="evalscope_docvqa", extract="none") == 0
        assert (
            leaderboard_score("<answer>Oslo</answer>", "Oslo", protocol="evalscope_docvqa", extract="answer_tag") == 1
        )
        assert leaderboard_score(["\\boxed{Oslo}", "5"], "Oslo", protocol="lmms_docvqa_reasoning") == 0.5
        assert get_rules("evalscope").extract == ()
        assert "|extract:inspect_line|" in signature("inspect_evals_docvqa")


class TestCompute:
    def test_one_number_or_both(self) -> None:
        metric = ANLS("rrc")
        rows = [{"question_id": str(row), "prediction_text": text} for row, text in enumerate(TAGGED)]
        references = [{"question_id": str(row), "answers": own} for row, own in enumerate(GOLD)]
        assert metric.compute(predictions=TAGGED, references=GOLD, extract=BOTH) == {"anls_score": 1}
        found = metric.compute(predictions=rows, references=references, extract=BOTH, detailed=True) or {}
        assert found["extraction"] == {"steps": ["answer_tag", "boxed"], "changed": 4, "score_without": 0}
        assert "|extract:answer_tag+boxed|" in found["signature"]
        assert "extraction" not in (metric.compute(predictions=["a"], references=["a"], detailed=True) or {})

    def test_trees(self) -> None:
        metric = ANLS("anls_star")
        assert metric.compute(predictions=[FENCED], references=[TREE], extract="json") == {"anls_star_score": 0.5}
        found = metric.compute(predictions=[FENCED], references=[TREE], extract="json", detailed=True) or {}
        assert found["extraction"] == {"steps": ["json"], "changed": 1, "score_without": 0}

    def test_hint(self) -> None:
        with pytest.warns(UserWarning, match=r"4 of the 4 predictions that score 0 .*extract=\"answer_tag,boxed\""):
            ANLS().compute(predictions=TAGGED, references=GOLD)


class TestSubmissions:
    def test_both_numbers(self, files: tuple[Path, Path], tmp_path: Path) -> None:
        found = score_submission(*files, extract=BOTH, per_question=tmp_path / "rows.jsonl")
        assert found.score == 1
        assert found.to_dict()["extraction"] == {"steps": ["answer_tag", "boxed"], "changed": 4, "score_without": 0}
        assert "|extract:answer_tag+boxed|" in found.signature
        rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        assert [(row["prediction"], row["raw_prediction"]) for row in rows][2] == ("Oslo", TAGGED[2])
        assert "extraction" not in score_submission(*files).to_dict()

    def test_the_raw_prediction_is_only_shown_where_it_differs(self, files: tuple[Path, Path], tmp_path: Path) -> None:
        score_submission(*files, extract="boxed", per_question=tmp_path / "rows.jsonl")
        rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        assert [row["raw_prediction"] for row in rows] == [None, None, None, TAGGED[3]]

    def test_trees(self, tmp_path: Path) -> None:
        (tmp_path / "p.jsonl").write_text(json.dumps({"id": "a", "prediction": FENCED}))
        (tmp_path / "g.jsonl").write_text(json.dumps({"id": "a", "answers": TREE}))
        plain = score_submission(tmp_path / "p.jsonl", tmp_path / "g.jsonl", protocol="anls_star")
        assert any('pass extract="json"' in note for note in plain.notes)
        found = score_submission(tmp_path / "p.jsonl", tmp_path / "g.jsonl", protocol="anls_star", extract="json")
        assert found.score == 0.5
        assert found.extraction is not None
        assert found.extraction.score_without == plain.score

    def test_benchmarks(self, files: tuple[Path, Path]) -> None:
        found = score_submission(*files, protocol="lmms_docvqa_reasoning")
        assert found.score == 1
        assert found.extraction is not None
        assert (found.extraction.changed, found.extraction.score_without) == (4, 0)

    def test_systems(self, files: tuple[Path, Path]) -> None:
        found = score_systems([str(files[0])], files[1], extract=BOTH)
        assert found.scores["tags"].tolist() == [1, 1, 1, 1]
        assert "changed 4 predictions; without it the score is 0.000000" in found.notes[0]

    def test_hint(self, files: tuple[Path, Path]) -> None:
        [note] = [own for own in score_submission(*files).notes if "extract" in own]
        assert note.startswith("4 of the 4 predictions that score 0 have marks around an answer (question_id '101', ")
        assert note.endswith('To take it out, pass extract="answer_tag,boxed".')
        assert pickle.loads(pickle.dumps(note)) == note  # noqa: S301 - our own
        assert isinstance(note, Note)
        assert not any("extract" in own for own in score_submission(*files, extract=BOTH).notes)

    @pytest.mark.parametrize(
        ("marked", "zeros", "is_said"), [(1, 20, True), (1, 21, False), (1, 1, True), (2, 40, True)]
    )
    def test_hint_from_one_in_twenty(self, marked: int, zeros: int, is_said: bool, tmp_path: Path) -> None:
        texts = [f"Answer: {'x' * 9}"] * marked + ["qqqqqq"] * (zeros - marked)
        rows = [{"id": row, "prediction": text, "answers": "Zzzzzz"} for row, text in enumerate(texts)]
        (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
        found = score_submission(tmp_path / "p.jsonl", tmp_path / "p.jsonl")
        assert any('extract="answer_line"' in note for note in found.notes) == is_said


class TestCommandLine:
    def test_score(self, files: tuple[Path, Path]) -> None:
        out, err = run("score", files[0], "-r", files[1], "--json")
        assert json.loads(out)["anls_score"] == 0
        assert "--extract answer_tag,boxed" in err
        assert "--extract answer_tag,boxed" in json.loads(out)["notes"][0]
        out, _ = run("score", files[0], "-r", files[1], "--extract", BOTH, "--json")
        assert json.loads(out)["anls_score"] == 1
        out, _ = run("score", files[0], "-r", files[1], "--extract", BOTH)
        assert [line.split() for line in out.splitlines()[2:4]] == [
            ["without", "extraction", "0.000000"],
            ["changed", "by", "extraction", "4"],
        ]

    def test_diagnose_and_explain(self, files: tuple[Path, Path]) -> None:
        out, _ = run("diagnose", files[0], "-r", files[1], "--reported", "1.0")
        assert "answer_tag" in out
        assert "None of" not in out
        out, _ = run("explain", TAGGED[2], "Oslo", "--extract", "answer_tag")
        assert f"taken out of: {TAGGED[2]}" in out
        assert "score 1" in out

    def test_check(self, files: tuple[Path, Path], tmp_path: Path) -> None:
        out, _ = run("check", files[0], "-r", files[1])
        assert "extract answer_tag takes out '12 May 1996'" in out
        out, _ = run("check", files[0], "-r", files[1], "--extract", BOTH, "--fix", tmp_path / "fixed.json")
        assert "written with 4 fixes. No problems found." in out
        assert score_submission(tmp_path / "fixed.json", files[1]).score == 1

    def test_compare(self, files: tuple[Path, Path], tmp_path: Path) -> None:
        (tmp_path / "other.json").write_bytes(files[0].read_bytes())
        for command in ("compare", "leaderboard"):
            out, err = run(command, files[0], tmp_path / "other.json", "-r", files[1], "--extract", BOTH)
            assert "1.000000" in out
            assert "tags: extract answer_tag,boxed changed 4 predictions" in err


def test_check_of_trees(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "a", "prediction": FENCED}))
    (tmp_path / "g.jsonl").write_text(json.dumps({"id": "a", "answers": TREE}))
    sides = tmp_path / "p.jsonl", tmp_path / "g.jsonl"
    [problem] = check_submission(*sides).problems
    assert "extract json takes out" in problem.found
    left = fix_submission(sides[0], tmp_path / "out.jsonl", sides[1], extract="json")
    assert left.counts == {}
    assert json.loads((tmp_path / "out.jsonl").read_text())["prediction"] == {"vendor": "Vortex Ltd", "amount": 118.5}


class TestDocvqa:
    def test_diagnose_names_the_step(self) -> None:
        found = diagnose(docvqa_runs.predictions("qwen2_vl_7b"), docvqa_runs.answers(), "0.3691")
        assert found.causes[0].extract == ("answer_line",)
        assert "extract answer_line takes the answer out of 182 of 1,000 predictions" in found.conclusion
        assert (
            found.causes[0].value
            == anls_scores(docvqa_runs.predictions("qwen2_vl_7b"), docvqa_runs.answers(), extract="answer_line").mean()
            or abs(found.causes[0].value - 0.36908) < 1e-6
        )

    @pytest.mark.parametrize("run", [own for own in docvqa_runs.RUNS if own != "qwen2_vl_7b"])
    def test_no_step_changes_a_clean_run(self, run: str) -> None:
        predictions, before = docvqa_runs.predictions(run), docvqa_runs.docvqa_scores()[run].mean()
        for name in MARK_STEPS:
            assert abs(anls_scores(predictions, docvqa_runs.answers(), extract=name).mean() - before) <= 0.002, name
