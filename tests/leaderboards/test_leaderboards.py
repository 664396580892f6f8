"""The leaderboards: equal to the code that they are named after, on cases, real data and arbitrary texts."""

import ast
import json
import math
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from places import DATA, EXAMPLES

import anls_eval
from anls_eval.leaderboards import (
    LEADERBOARDS,
    get_leaderboard,
    leaderboard_score,
    leaderboard_scores,
    leaderboard_summary,
)
from anls_eval.registry import LEADERBOARD_NAMES, get_protocol, get_rules, signature
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores
from anls_eval.version import __version__

# Answers that are no integers, padding and None warn: `TestWarnings` looks at these.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").strip().split("\n")]


# Made by running the originals at these commits with Python 3.11, rapidfuzz 3.14.6, munkres 3.0.0, dateutil 4.0.0:
# mayubo2333/MMLongBench-Doc d73f0dc, Zhanglei1103/MMESGBench f17045f, Jordy-VL/DUDEeval 8bd6dea,
# Yuliang-Liu/MultimodalOCR 794c36d, EvolvingLMMs-Lab/lmms-eval 75571cf, Sahilsonii/ICDAR-2026-DocVQA 57ee96e (given
# "FINAL ANSWER: " before each prediction). `original_raises` names the error of those that failed.
EDGES = read_lines(DATA / "leaderboards.jsonl")
TYPED = read_lines(DATA / "typed.jsonl")
LISTS = read_lines(DATA / "lists.jsonl")
TEXTS = read_lines(DATA / "protocols.jsonl")
LIST_COLUMNS = {"dude_list": ("dude", "list/extractive"), "mmlongbench": ("mmlongbench", "List")} | {
    "mmesgbench": ("mmesgbench", "List")
}


def cases() -> list[tuple[str, str | None, Any, Any, float, str]]:
    """Of every case with a value: protocol, answer type, prediction, reference, score, id."""
    found: list[tuple[str, str | None, Any, Any, float, str]] = [
        (row["protocol"], row.get("answer_type"), row["prediction"], row["reference"], row["expected"], row["id"])
        for row in EDGES
        if "expected" in row
    ]
    for row in TYPED:
        for name, score in row["expected"].items():
            found.append((name, row["answer_type"], row["prediction"], row["reference"], score, row["id"]))
    for row in LISTS:
        for column, (name, kind) in LIST_COLUMNS.items():
            if column in row["expected"]:
                found.append((name, kind, row["prediction"], row["reference"], row["expected"][column], row["id"]))
    for row in TEXTS:
        for name in ("ocrbench_v2", "icdar2026"):
            if name in row["expected"]:
                found.append((name, None, row["prediction"], row["answers"], row["expected"][name], row["id"]))
    return found


CASES = cases()
WITH_ORIGINAL = sorted(set(LEADERBOARDS) - {"mmesgbench_documented"})


class TestOriginals:
    def test_every_original_has_cases(self) -> None:
        assert {case[0] for case in CASES} == set(WITH_ORIGINAL)
        assert len(CASES) > 500

    @pytest.mark.parametrize("protocol", WITH_ORIGINAL)
    def test_one_by_one(self, protocol: str) -> None:
        wrong = {
            own: (score, expected)
            for name, kind, prediction, reference, expected, own in CASES
            if name == protocol
            and (score := leaderboard_score(prediction, reference, protocol=name, answer_type=kind)) != expected
        }
        assert wrong == {}

    @pytest.mark.parametrize("protocol", WITH_ORIGINAL)
    def test_as_a_batch(self, protocol: str) -> None:
        rows = [case for case in CASES if case[0] == protocol]
        _, kinds, predictions, references, expected, _ = zip(*rows, strict=True)
        types = None if kinds[0] is None else kinds
        scores = leaderboard_scores(predictions, references, protocol=protocol, answer_types=types)
        assert scores.dtype == np.float64
        assert scores.tolist() == list(expected)

    @pytest.mark.parametrize(
        ("protocol", "kind", "prediction", "reference", "expected"),
        [
            ("mmlongbench", "List", [], [], 1.0),  # an index error
            ("mmlongbench", "List", "[red, green]", ["red", "green"], 0.0),  # executed as code
            ("mmlongbench", "List", "[red]", ["[red]"], 1.0),
            ("mmesgbench", "List", "[red, green]", ["red", "green"], 0.0),
            ("dude", "list/extractive", [], [], 1.0),  # NaN
            ("dude", "not answerable", "", [], 1.0),
            ("icdar2026", None, 5, ["5"], 1.0),
            ("icdar2026", None, "at 10:30" + "9" * 40, ["at 11:30" + "9" * 40], 1.0),  # an error in dateutil
        ],
    )
    def test_a_value_where_the_original_has_none(
        self, protocol: str, kind: str | None, prediction: Any, reference: Any, expected: float
    ) -> None:
        assert leaderboard_score(prediction, reference, protocol=protocol, answer_type=kind) == expected

    @pytest.mark.parametrize(
        "row", [row for row in TYPED + EDGES if "original_raises" in row], ids=lambda row: row["id"]
    )
    def test_where_the_original_fails(self, row: Any) -> None:
        for protocol in [row["protocol"]] if "protocol" in row else row["original_raises"]:
            options = {"protocol": protocol, "answer_type": row["answer_type"]}
            if row["answer_type"] == "Float" or row["id"] == "list-131":
                with pytest.raises(ValueError, match=r"reference is .* expected a (number|list)"):
                    leaderboard_score(row["prediction"], row["reference"], **options)
            else:
                assert leaderboard_score(row["prediction"], row["reference"], **options) in (0.0, 1.0)


class TestRules:
    def test_documented_ratio_is_against_the_whole_answer(self) -> None:
        options: Any = {"protocol": "mmesgbench_documented", "answer_type": "Str"}
        assert leaderboard_score("America", "North America", **options) == 0.7
        assert leaderboard_score("ab", "cb", **options) == 0.5
        assert leaderboard_score("abc", "xyc", **options) == 0.0
        assert leaderboard_score("it is North America", "North America", **options) == 1.0
        assert leaderboard_score("2024-01-06", "2024-01-05", **options) == 0.0

    def test_documented_differs_in_strings_alone(self) -> None:
        rows = [row for row in TYPED if row["answer_type"] != "Str" and "mmesgbench" in row["expected"]]
        for row in rows:
            options = {"protocol": "mmesgbench_documented", "answer_type": row["answer_type"]}
            assert leaderboard_score(row["prediction"], row["reference"], **options) == row["expected"]["mmesgbench"]

    @pytest.mark.parametrize(
        ("protocol", "kind", "prediction", "reference", "expected"),
        [
            ("mmlongbench", "Str", "Rome", ["Roma", "Rome"], 1.0),
            ("mmlongbench", "Str", "Rome", ["page 1", "Roma"], 0.75),
            ("mmlongbench", "Str", "page 2", ["page 1", "page 3"], 0.0),
            ("mmlongbench", "Int", "5", ["4", "5"], 1.0),
            ("mmlongbench", "Int", "5", 5.0, 1.0),
            ("mmlongbench", "Float", 0.12, [1, 12], 1.0),
            ("mmesgbench", "Str", "in Rome", ["Roma", "Rome"], 1.0),
            ("mmesgbench", "None", "none", ["Not answerable", "None"], 1.0),
            ("mmesgbench_documented", "Str", "Rime", ["Rom", "Rome"], 0.75),
            ("dude", "extractive", "Rome", ["Roma", "Rome"], 1.0),
            ("mmlongbench_doc", "List", np.array(["b", "a"]), ("a", "b"), 1.0),
            ("dude", "list/abstractive", "['b', 'a']", np.array(["a", "b"]), 1.0),
        ],
    )
    def test_accepted_answers_and_other_containers(
        self, protocol: str, kind: str, prediction: Any, reference: Any, expected: float
    ) -> None:
        assert leaderboard_score(prediction, reference, protocol=protocol, answer_type=kind) == expected

    def test_dude_strings_are_rrc(self) -> None:
        predictions = [row["prediction"] for row in TEXTS]
        answers = [row["answers"] for row in TEXTS]
        kinds = ["extractive"] * len(TEXTS)
        scores = leaderboard_scores(predictions, answers, protocol="dude", answer_types=kinds)
        assert scores.tolist() == anls_scores(predictions, answers, protocol="rrc").tolist()

    def test_a_date_is_not_completed_from_the_clock(self) -> None:
        # In the original one of these is right, by the day of the month on which it runs.
        references = [f"2024-05-{day:02}" for day in range(1, 32)]
        assert not leaderboard_scores(["May 2024"] * 31, references, protocol="icdar2026").any()
        assert leaderboard_score("May 2024", "2024 May", protocol="icdar2026") == 1.0
        assert leaderboard_score("28 May 2024", "May 28, 2024", protocol="icdar2026") == 1.0

    def test_unknown_time_zones_do_not_warn(self) -> None:
        with pytest.warns(UserWarning, match="None or NaN") as caught:
            leaderboard_scores(["May 5 2024 10:00 XYZ", None], [["May 5, 2024"], ["x"]], protocol="icdar2026")
        assert len(caught) == 1

    @pytest.mark.parametrize("text", ["5 kg", "FINAL ANSWER: 5 kg", "FINAL ANSWER: 4 g\nFINAL ANSWER:\n5 kg "])
    def test_icdar_takes_what_follows_the_last_marker(self, text: str) -> None:
        assert leaderboard_score(text, "5 kg", protocol="icdar2026") == 1.0
        assert leaderboard_score(text, "4 g", protocol="icdar2026") == 0.0

    def test_text_is_never_executed(self, tmp_path: Path) -> None:
        target = tmp_path / "made"
        attack = f"[__import__('pathlib').Path({str(target)!r}).touch()]"
        for protocol in ("mmlongbench", "mmesgbench"):
            assert leaderboard_score(attack, ["x"], protocol=protocol, answer_type="List") == 0.0
            assert leaderboard_score(attack, "x y z", protocol=protocol, answer_type="Str") in (0.0, 1.0)
        assert leaderboard_score(attack, attack, protocol="icdar2026") == 1.0
        assert not target.exists()

    @pytest.mark.parametrize(
        "text",
        [
            "[" * 90_000,
            "[" * 90_000 + "]" * 90_000,
            "[" + "-" * 90_000 + "1]",
            "[0x" + "f" * 9000 + "]",
            "['\\d']",
            "[{[]: 1}]",
            "['\x00']",
            "[1if 1else 2]",
            "['" + "a" * 200_000 + "']",
            "['\ud800']",
        ],
        ids=range(10),
    )
    def test_lists_that_python_chokes_on(self, text: str) -> None:
        for protocol, kind in [("mmlongbench", "List"), ("mmesgbench", "List"), ("mmesgbench", "Str")]:
            assert leaderboard_score(text, ["q", "r"], protocol=protocol, answer_type=kind) == 0.0
        assert leaderboard_score(text, ["q", "r"], protocol="dude", answer_type="list/extractive") == 0.0

    @pytest.mark.parametrize("protocol", ["mmlongbench", "mmesgbench", "mmesgbench_documented"])
    def test_lists_that_python_cannot_write(self, protocol: str) -> None:
        deep: Any = "x"
        for _ in range(100_000):
            deep = [deep]
        for item in (deep, 10**5000):
            with pytest.raises(ValueError, match="nested too deeply, or holds an integer with too many digits"):
                leaderboard_score([item], ["q"], protocol=protocol, answer_type="List")

    def test_odd_escapes_in_a_list_do_not_warn(self) -> None:
        with pytest.warns(UserWarning, match="None or NaN") as caught:  # and nothing else
            leaderboard_scores([r"['\d']", None], [["x"], ["y"]], protocol="mmlongbench", answer_types=["List", "List"])
        assert len(caught) == 1


QUESTIONS = read_lines(DATA / "mmlongbench" / "samples.jsonl")
ANSWERS = [row["answer"] for row in QUESTIONS]
FORMATS = [row["answer_format"] for row in QUESTIONS]
NOT_INTEGERS = {"21%", "13:51 CET"}  # answers of the format Int, which no prediction can meet


def score_formats(format_: str, predict: Any) -> dict[str, float]:
    """By answer, the `mmlongbench` scores of predictions made from the answers of one format."""
    answers = [answer for answer, own in zip(ANSWERS, FORMATS, strict=True) if own == format_]
    kinds = [format_] * len(answers)
    scores = leaderboard_scores(list(map(predict, answers)), answers, protocol="mmlongbench", answer_types=kinds)
    return dict(zip(answers, scores.tolist(), strict=True))


def items(answer: str) -> list[Any]:
    return list(ast.literal_eval(answer)) if answer.startswith("[") else [answer]


class TestMMLongBench:
    """The 1,071 questions of MMLongBench-Doc V2."""

    def test_answers_against_themselves(self) -> None:
        scores = leaderboard_scores(ANSWERS, ANSWERS, protocol="mmlongbench", answer_types=FORMATS)
        assert len(scores) == 1071
        assert {ANSWERS[row] for row in np.flatnonzero(scores != 1)} == NOT_INTEGERS
        assert math.fsum(scores) == 1069

    def test_mmesgbench_gives_an_empty_list_nothing(self) -> None:
        scores = leaderboard_scores(ANSWERS, ANSWERS, protocol="mmesgbench", answer_types=FORMATS)
        assert {ANSWERS[row] for row in np.flatnonzero(scores != 1)} == {*NOT_INTEGERS, "[]"}

    def test_next_integer_is_wrong(self) -> None:
        scores = score_formats("Int", lambda answer: answer if answer in NOT_INTEGERS else str(int(answer) + 1))
        assert len(scores) > 50
        assert set(scores.values()) == {0.0}

    def test_integer_with_a_fraction_is_right(self) -> None:
        scores = score_formats("Int", lambda answer: f"{answer}.9")
        assert {answer for answer, score in scores.items() if score != 1} == NOT_INTEGERS

    @pytest.mark.parametrize(("factor", "expected"), [(1.0099, 1), (0.9901, 1), (100, 1), (0.01, 1), (1.5, 0)])
    def test_float_within_one_percent_is_right(self, factor: float, expected: float) -> None:
        scores = score_formats("Float", lambda answer: repr(float(answer.strip().strip("$%")) * factor))
        assert len(scores) > 100
        others = {answer for answer, score in scores.items() if score != expected}
        assert others == ({"0", "0.0"} if factor == 1.5 else set())

    def test_shorter_list_is_wrong(self) -> None:
        scores = score_formats("List", lambda answer: items(answer)[1:])
        assert {answer for answer, score in scores.items() if score} == {"[]"}

    def test_order_of_a_list_is_nothing(self) -> None:
        scores = score_formats("List", lambda answer: items(answer)[::-1])
        assert set(scores.values()) == {1.0}

    def test_answering_what_cannot_be_answered_is_wrong(self) -> None:
        assert set(score_formats("None", lambda answer: "Rome").values()) == {0.0}

    def test_declining_what_can_be_answered_is_wrong(self) -> None:
        for format_ in ("Int", "Float", "List", "Str"):
            assert set(score_formats(format_, lambda answer: "Not answerable").values()) <= {0.0}, format_

    def test_capitals_and_blanks_are_nothing(self) -> None:
        assert set(score_formats("Str", lambda answer: f"  {answer.upper()} ").values()) == {1.0}

    def test_one_more_character_costs_something(self) -> None:
        scores = score_formats("Str", lambda answer: f"{answer}#")
        assert max(scores.values()) < 1
        assert scores["Less well-off"] == 1 - 1 / 14

    def test_accuracy_and_f1(self) -> None:
        # 0.5532718046062497 and 0.5716185093949222 are what eval_acc_and_f1 of MMLongBench-Doc (commit d73f0dc) gives
        # for the scores of its own eval_score; "[]" is left out, on which that fails.
        rows = [row for row, answer in enumerate(ANSWERS) if answer != "[]"]
        answers, kinds = [ANSWERS[row] for row in rows], [FORMATS[row] for row in rows]
        predictions = [
            "Not answerable" if row % 3 == 0 else "wrong" if row % 5 == 0 else own[1:] if row % 7 == 0 else own
            for row, own in zip(rows, answers, strict=True)
        ]
        scores = leaderboard_scores(predictions, answers, protocol="mmlongbench", answer_types=kinds)
        summary = leaderboard_summary(scores, predictions, answers, protocol="mmlongbench")
        assert summary.n == 1070
        assert summary.mean == summary.accuracy
        assert summary.accuracy == pytest.approx(0.5532718046062497, abs=1e-15)
        assert summary.f1 == pytest.approx(0.5716185093949222, abs=1e-15)


DUDE_QUESTIONS = {
    row["questionId"]: row for row in json.loads((EXAMPLES / "dude" / "DUDE_demo_gt.json").read_text())["data"]
}


class TestDude:
    """The demonstration files of the competition."""

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("perfect", [1.0] * 11),
            # As evaluate_submission.py of Jordy-VL/DUDEeval (commit 8bd6dea, munkres 3.0.0) gives them.
            ("imperfect", [0, 0, 1, 1, 1, 0.8269230769230769, 0.6666666666666667, 0.9318181818181819, 1, 1, 1]),
        ],
    )
    def test_submission(self, name: str, expected: list[float]) -> None:
        path = EXAMPLES / "dude" / f"DUDE_demo_submission_{name}.json"
        rows = [(own["answers"], DUDE_QUESTIONS[own["questionId"]]) for own in json.loads(path.read_text())]
        predictions = [answers for answers, _ in rows]
        references = [question["answers"] for _, question in rows]
        kinds = [question["answer_type"] for _, question in rows]
        assert "not answerable" in kinds
        scores = leaderboard_scores(predictions, references, protocol="dude", answer_types=kinds)
        assert scores.tolist() == expected
        summary = leaderboard_summary(scores, predictions, references, protocol="dude")
        assert summary.mean == pytest.approx({"perfect": 1.0, "imperfect": 0.7659461750370841}[name], abs=1e-15)
        assert summary.accuracy is summary.f1 is None


class TestSummary:
    def test_share_of_scores_from_one_half(self) -> None:
        scores = [1.0, 0.5, 0.49999999999999994, 0.0]
        summary = leaderboard_summary(scores, ["a"] * 4, ["b"] * 4, protocol="mmesgbench")
        assert (summary.accuracy, summary.mean) == (0.5, 0.5)

    def test_right_or_wrong(self) -> None:
        assert leaderboard_summary([1, 0, 0, 1], [""] * 4, [""] * 4, protocol="icdar2026").accuracy == 0.5

    @pytest.mark.parametrize(
        ("scores", "predictions", "references", "expected"),
        [
            ([1.0, 1.0], ["a", "Not answerable"], ["a", "Not answerable"], 1.0),
            ([1.0, 0.0], ["a", "b"], ["a", "Not answerable"], 2 / 3),
            ([1.0, 0.0], ["a", "not answerable"], ["a", ["Not answerable"]], 2 / 3),  # other words are an answer
            ([1.0, 0.0], ["a", None], np.array(["a", "b"]), 0.5),
            ([1.0], ["Not answerable"], ["Not answerable"], 0.0),
            ([0.0], ["Not answerable"], ["a"], 0.0),
            ([0.0], [["a"]], [["b"]], 0.0),
        ],
    )
    def test_f1(self, scores: list[float], predictions: Any, references: Any, expected: float) -> None:
        assert leaderboard_summary(scores, predictions, references, protocol="mmlongbench").f1 == expected

    @pytest.mark.parametrize("scores", [[], [1.0], [1.0] * 3])
    def test_wrong_lengths(self, scores: list[float]) -> None:
        with pytest.raises(
            ValueError, match=rf"{len(scores)} scores, 2 predictions and 2 references; expected one of each"
        ):
            leaderboard_summary(scores, ["a", "b"], ["a", "b"], protocol="mmesgbench")

    def test_nothing(self) -> None:
        with pytest.raises(ValueError, match="at least one"):
            leaderboard_summary([], [], [], protocol="mmlongbench")


class TestBadInput:
    @pytest.mark.parametrize(
        ("protocol", "message"),
        [
            ("mmesgbnch", "Did you mean 'mmesgbench'"),
            ("rrc", r"protocol 'rrc' scores texts alone: use anls_eval\.anls_score"),
            ("DocVQA", r"protocol 'rrc' scores texts alone: use anls_eval\.anls_score"),
            ("anls_star", r"scores trees: use anls_eval\.anls_star_score"),
            (None, "protocol=None: expected one of 'dude'"),
            ([], r"protocol=\[\]: expected one of 'dude'"),
        ],
    )
    def test_protocol(self, protocol: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            leaderboard_scores(["a"], ["a"], protocol=protocol)
        with pytest.raises(ValueError, match=message):
            get_leaderboard(protocol)

    def test_anls_says_where_they_are(self, metric_path: str) -> None:
        for name in [name for board in LEADERBOARDS.values() for name in (board.name, *board.aliases)]:
            with pytest.raises(
                ValueError, match=rf"protocol '{name}' needs more than texts: .* anls_eval\.leaderboard_scores"
            ):
                get_protocol(name)

    def test_evaluate_takes_them_where_the_package_is_installed(self, metric_path: str) -> None:
        sides: Any = {"predictions": ["5", "x"], "references": ["5", "y"], "answer_types": ["Int", "Str"]}
        found = evaluate.load(metric_path, "MMESGBench").compute(**sides)
        assert found == {"score": 0.5, "mean": 0.5, "accuracy": 0.5, "f1": 0.5}
        alone = (
            "import sys; sys.modules['anls_eval'] = None; import importlib.util as util;"
            "spec = util.spec_from_file_location('anls', sys.argv[1]); anls = util.module_from_spec(spec);"
            "sys.modules['anls'] = anls; spec.loader.exec_module(anls); anls.ANLS('donut_f1')"
        )
        done = subprocess.run([sys.executable, "-c", alone, metric_path], capture_output=True, text=True, check=False)
        assert "'donut_f1' needs more than texts" in done.stderr
        assert "Where anls_eval is not installed: 'pip install .'" in done.stderr

    @pytest.mark.parametrize(
        ("protocol", "kind", "message"),
        [
            ("mmlongbench", None, "answer_type=None: expected one of 'Str', 'Int', 'Float', 'List', 'None'"),
            ("mmlongbench", "str", "answer_type='str': expected .* Did you mean 'Str'"),
            (
                "dude",
                "list",
                "expected one of 'extractive', 'abstractive', 'list/extractive', 'list/abstractive', 'not-a",
            ),
            ("dude", math.nan, "answer_type=nan: expected one of 'extractive'"),
            ("ocrbench_v2", "Str", "protocol 'ocrbench_v2' has no answer types; leave it out"),
        ],
    )
    def test_answer_type(self, protocol: str, kind: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            leaderboard_score("a", "a", protocol=protocol, answer_type=kind)
        with pytest.raises(ValueError, match=message.replace("answer_type=", r"answer_types\[0\]=")):
            leaderboard_scores(["a"], ["a"], protocol=protocol, answer_types=[kind])

    @pytest.mark.parametrize(
        ("protocol", "kind", "prediction", "reference", "message"),
        [
            ("mmlongbench", "Float", "1", "1,234", r"references\[1\] is '1,234'; expected a number such as '1234.5'"),
            ("mmlongbench", "Float", None, "x", r"references\[1\] is 'x'; expected a number"),
            (
                "mmlongbench",
                "List",
                "a",
                "['a', b]",
                r"references\[1\] is a str, .* cannot be read as a list \(malformed",
            ),
            (
                "mmlongbench",
                "List",
                "a",
                "[" + " " * 100_000,
                r"characters, over the limit of 100000\); expected a list",
            ),
            ("mmlongbench", "List", "a", None, r"references\[1\] is None; expected a list or one string"),
            ("mmlongbench", "List", {"a": 1}, ["a"], r"predictions\[1\] is a dict .* expected a list or one string"),
            ("mmlongbench", "Str", ["a"], "a", r"predictions\[1\] is a list .* Pass the string itself: 'a'"),
            ("mmlongbench", "Str", "a", [], r"references\[1\] is empty"),
            ("mmlongbench", "Int", "5", math.nan, r"references\[1\] is empty"),
            ("ocrbench_v2", None, "a", [], r"references\[1\] is empty"),
            ("icdar2026", None, "a", "[]", r"references\[1\] is empty"),
            ("dude", "extractive", ["a"], [], r"references\[1\] is empty"),
            ("dude", "extractive", [["a"]], ["a"], r"predictions\[1\] is a list"),
            ("dude", "list/extractive", ["a", None], ["a"], r"predictions\[1\]\[1\] is None; expected a string"),
            ("dude", "list/extractive", ["a"], [["a"]], r"references\[1\]\[0\] is a list .* expected a string"),
        ],
    )
    def test_row_is_named(self, protocol: str, kind: str | None, prediction: Any, reference: Any, message: str) -> None:
        fine: Any = "1" if kind == "Float" else ["a"]
        types = None if kind is None else [kind, kind]
        with pytest.raises(ValueError, match=message):
            leaderboard_scores(["a", prediction], [fine, reference], protocol=protocol, answer_types=types)
        with pytest.raises(ValueError, match=message.replace(r"s\[1\]", "")):
            leaderboard_score(prediction, reference, protocol=protocol, answer_type=kind)

    def test_lengths(self) -> None:
        with pytest.raises(ValueError, match="2 predictions but 1 reference"):
            leaderboard_scores(["a", "b"], ["a"], protocol="ocrbench_v2")
        with pytest.raises(ValueError, match="2 predictions but 1 answer_types"):
            leaderboard_scores(["a", "b"], ["a", "b"], protocol="dude", answer_types=["extractive"])

    def test_no_questions(self) -> None:
        assert leaderboard_scores([], [], protocol="dude", answer_types=[]).shape == (0,)


class TestWarnings:
    @pytest.mark.parametrize("missing", [None, math.nan, float("nan")])
    def test_no_prediction_scores_nothing(self, missing: Any) -> None:
        kinds = ["Str", "Int", "Float", "List", "None"]
        references = ["", "", "0", [], "None"]
        for protocol in ("mmlongbench", "mmesgbench", "mmesgbench_documented"):
            with pytest.warns(UserWarning, match=r"None or NaN: 5 of 5 \(row 0, 1, 2, 3, 4\)"):
                scores = leaderboard_scores([missing] * 5, references, protocol=protocol, answer_types=kinds)
            assert scores.tolist() == [0.0] * 5
        for protocol in ("ocrbench_v2", "ocrbench_v2_lmms", "icdar2026"):
            with pytest.warns(UserWarning, match=r"None or NaN: 1 of 1 \(row 0\)"):
                assert leaderboard_score(missing, "", protocol=protocol) == 0.0

    @pytest.mark.parametrize("reference", [[], np.array([]), [""], None])
    def test_an_empty_answer_of_any_type(self, reference: Any) -> None:
        options: Any = {"protocol": "dude", "answer_type": "not-answerable"}
        assert leaderboard_score("", reference, **options) == 1.0
        assert leaderboard_score("0.1", reference, **options) == 0.0

    def test_a_numpy_number_is_no_empty_answer(self) -> None:
        assert leaderboard_score("0.1", np.float32(0.1), protocol="dude", answer_type="not-answerable") == 1.0

    def test_no_prediction_is_right_where_dude_has_no_answer(self) -> None:
        kinds = ["not-answerable", "not answerable", "extractive", "list/extractive"]
        with pytest.warns(UserWarning, match="4 of 4"):
            scores = leaderboard_scores([None] * 4, [[""], [], [""], [""]], protocol="dude", answer_types=kinds)
        assert scores.tolist() == [1.0, 1.0, 0.0, 0.0]

    def test_answers_that_are_no_integers(self) -> None:
        with pytest.warns(UserWarning, match=r"type Int that are not integers: 2 of 3 \(row 0, 2\)"):
            leaderboard_scores(["1"] * 3, ["1%", "1", ""], protocol="mmlongbench", answer_types=["Int"] * 3)

    @pytest.mark.parametrize(
        ("protocol", "kind"), [("mmlongbench", "List"), ("mmesgbench", "List"), ("dude", "list/extractive")]
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_lists_of_answers_with_line_breaks_in_their_strings(self, protocol: str, kind: str, end: str) -> None:
        """As in the data of MMESGBench, on which the originals fail."""
        references = [f"['Spain', \"United{end}Kingdom\"]", f"['Spain',{end} 'Italy']"]
        predictions = [["Spain", f"United{end}Kingdom"], ["Spain", "Italy"]]
        with pytest.warns(UserWarning, match=r"line breaks inside their strings: 1 of 2 \(row 0\)"):
            scores = leaderboard_scores(predictions, references, protocol=protocol, answer_types=[kind] * 2)
        assert scores.tolist() == [1.0, 1.0]

    @pytest.mark.filterwarnings("error")
    def test_padding(self) -> None:
        predictions: list[Any] = ["cat  ", ["cat  ", "dog"], "dog "]
        references = ["car", ["car", "dog"], "dog"]
        kinds = ["extractive", "list/extractive", "abstractive"]
        with pytest.warns(
            UserWarning, match=r"raised the score of 2 of 3 questions: the mean is 0\.9\d+ with"
        ) as caught:
            scores = leaderboard_scores(predictions, references, protocol="dude", answer_types=kinds)
        bare = [leaderboard_score("cat", "car", protocol="dude", answer_type=kinds[0])]
        bare.append(leaderboard_score(["cat", "dog"], ["car", "dog"], protocol="dude", answer_type=kinds[1]))
        assert scores.tolist() == [0.8, 0.9, 1.0]
        assert f"and {(sum(bare) + 1) / 3:.6f} without" in str(caught[0].message)
        # The other leaderboards strip.
        leaderboard_scores(predictions[::2], references[::2], protocol="ocrbench_v2")
        leaderboard_scores(predictions[::2], references[::2], protocol="mmlongbench", answer_types=["Str", "Str"])

    def test_warning_points_to_the_caller(self) -> None:
        for call in (leaderboard_score, leaderboard_scores):
            values: Any = (None, "a") if call is leaderboard_score else ([None], ["a"])
            with pytest.warns(UserWarning, match="None or NaN") as caught:
                call(*values, protocol="ocrbench_v2")
            assert caught[0].filename == __file__


class TestRegistry:
    @pytest.mark.parametrize("name", ["MMLongBench-Doc", "mmlongbench doc", "mmlongbench"])
    def test_names(self, name: str) -> None:
        assert get_leaderboard(name) is LEADERBOARDS["mmlongbench"]

    def test_names_are_those_of_no_protocol(self) -> None:
        own = {name for board in LEADERBOARDS.values() for name in (board.name, *board.aliases)}
        others = {name for protocol in PROTOCOLS.values() for name in (protocol.name, *protocol.aliases)}
        assert not own & others
        assert set(LEADERBOARDS) == {board.name for board in LEADERBOARDS.values()}

    def test_the_registry_knows_their_names(self) -> None:
        own = [name for board in LEADERBOARDS.values() for name in (board.name, *board.aliases)]
        assert sorted(LEADERBOARD_NAMES) == sorted(own)
        for name in own:
            assert get_rules(name) is get_leaderboard(name)

    def test_their_names_are_listed_where_all_kinds_are_accepted(self) -> None:
        with pytest.raises(ValueError, match=r"protocol=.dud.: expected one of .standard., .*dude.* Did you mean .du"):
            get_rules("dud")

    def test_signature(self) -> None:
        assert signature("MMLongBench-Doc", n=3, missing="zero") == (
            f"anls|protocol:mmlongbench|aggregate:mean|missing:zero|n:3|version:{__version__}"
        )
        assert signature(LEADERBOARDS["dude"]) == signature("dude")

    def test_they_take_no_threshold(self) -> None:
        with pytest.raises(ValueError, match="threshold='4/5': protocol 'dude' has its own and takes none"):
            get_rules("DUDE", "4/5")

    def test_a_file_alone_says_how_to_install_them(self, tmp_path: Path) -> None:
        source = Path(anls_eval.__file__).parent.parent / "anls.py"
        (tmp_path / "anls.py").write_bytes(source.read_bytes())
        hidden = "import sys; sys.modules['anls_eval'] = None; import anls; anls.signature('dude')"
        done = subprocess.run([sys.executable, "-c", hidden], cwd=tmp_path, capture_output=True, text=True)
        assert "ValueError: protocol 'dude' needs more than texts" in done.stderr
        assert "or files with `anls score -p dude`" in done.stderr
        assert "pip install" in done.stderr

    def test_all_is_written(self) -> None:
        assert all(board.description and board.source for board in LEADERBOARDS.values())


# Any text, and texts near the rules.
SIGNS = [*"[]'\"()$%.-:/ \n@_+#\\", ", ", "\ud800", "İ", "ß"]
WORDS = ["page", "https://", "a.m.", "5", "2024", "1.5", "e9", "Jan", "May", "UTC", "pm", "the", "a", "nan", "inf"]
PIECES = st.sampled_from([*SIGNS, *WORDS, "Not answerable", "FINAL ANSWER:"])
ANY_TEXT = st.one_of(st.text(max_size=12), st.lists(PIECES, max_size=8).map("".join))
NEAR = st.one_of(ANY_TEXT, st.none(), st.integers(-200, 200), st.floats(), st.lists(ANY_TEXT, max_size=4))


@st.composite
def a_question(draw: st.DrawFn) -> tuple[str, str | None, Any, Any]:
    board = LEADERBOARDS[draw(st.sampled_from(sorted(LEADERBOARDS)))]
    kind = draw(st.sampled_from(board.answer_types)) if board.answer_types else None
    reference = draw(NEAR)
    return board.name, kind, draw(st.one_of(NEAR, st.just(reference))), reference


def score_or_none(protocol: str, kind: str | None, prediction: Any, reference: Any) -> float | None:
    try:
        return leaderboard_score(prediction, reference, protocol=protocol, answer_type=kind)
    except ValueError as error:
        if not str(error).startswith(("prediction", "reference")):
            raise
        return None


class TestProperties:
    @given(a_question())
    @examples(1500)
    def test_a_score_or_a_clear_error(self, question: tuple[str, str | None, Any, Any]) -> None:
        score = score_or_none(*question)
        assert score is None or 0 <= score <= 1

    @given(st.lists(a_question(), min_size=1, max_size=30))
    @examples(100)
    def test_batch_equals_one_by_one(self, questions: list[tuple[str, str | None, Any, Any]]) -> None:
        for name in {question[0] for question in questions}:
            scored = [
                (own, score) for own in questions if own[0] == name and (score := score_or_none(*own)) is not None
            ]
            if scored:
                _, kinds, predictions, references = zip(*(own for own, _ in scored), strict=True)
                types = None if kinds[0] is None else kinds
                batch = leaderboard_scores(predictions, references, protocol=name, answer_types=types)
                assert batch.tolist() == [score for _, score in scored]

    @given(st.lists(ANY_TEXT, max_size=6), st.lists(ANY_TEXT, max_size=6), st.randoms(use_true_random=False))
    def test_order_of_lists_is_nothing(self, predictions: list[str], answers: list[str], order: random.Random) -> None:
        options: dict[str, Any] = {"protocol": "dude", "answer_type": "list/extractive"}
        before = leaderboard_score(predictions, answers, **options)
        order.shuffle(predictions)
        order.shuffle(answers)
        assert leaderboard_score(predictions, answers, **options) == before
        # No assignment of predictions to answers has a greater sum than the one found.
        similarities = [anls_score(*pair, protocol="rrc") for pair in zip(predictions, answers, strict=False)]
        assert before * max(len(set(answers)), len(predictions), 1) >= math.fsum(similarities) - 1e-9

    @given(st.text(max_size=20))
    def test_a_text_equals_itself(self, text: str) -> None:
        for protocol in ("mmlongbench", "mmesgbench", "mmesgbench_documented"):
            for kind in ("Str", "None"):
                assert leaderboard_score(text, text, protocol=protocol, answer_type=kind) == 1.0
        assert leaderboard_score(text, text, protocol="dude", answer_type="extractive") == 1.0
        assert leaderboard_score(text, text, protocol="ocrbench_v2") == 1.0


@pytest.mark.parametrize("name", sorted(LEADERBOARDS))
def test_rules_can_be_pickled(name: str) -> None:
    board = LEADERBOARDS[name]
    again = pickle.loads(pickle.dumps(board))  # noqa: S301 # our own
    texts = ["a", "b c"], ["a", "b d"]
    assert again.similarity(*texts).tolist() == board.similarity(*texts).tolist()
