"""The comparison of protocols equals their scores one by one, and a diagnosis finds what was done to real runs."""

import dataclasses
import functools
import json
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from any_texts import CUSTOM, QUESTION
from budget import examples
from docvqa_runs import RUNS, some
from hypothesis import given
from hypothesis import strategies as st
from patched import set_limit
from places import DATA, EXAMPLES
from reference import TEXT_PROTOCOLS

from anls_eval.analysis.causes import Cause, Diagnosis
from anls_eval.analysis.diagnosis import NOT_ANSWERABLE, compare_protocols, diagnose
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import STEPS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores
from anls_eval.text import many_protocols

NAMES = sorted(TEXT_PROTOCOLS)

# None predictions and padding are told by the metric's own warnings, which are tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Questions = tuple[list[Any], list[list[str]]]


@functools.cache
def run_of(name: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    gold = json.loads((EXAMPLES / "docvqa" / "references.json").read_text(encoding="utf-8"))["data"]
    rows = json.loads((EXAMPLES / "docvqa" / f"pred_{name}.json").read_text(encoding="utf-8"))
    predicted = {row["questionId"]: row["answer"] for row in rows}
    return tuple(predicted[row["questionId"]] for row in gold), tuple(tuple(row["answers"]) for row in gold)


def questions_of(name: str) -> Questions:
    predictions, answers = run_of(name)
    return list(predictions), [list(own) for own in answers]


def mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


class TestComparison:
    @pytest.mark.parametrize("run", RUNS)
    def test_of_real_runs(self, run: str) -> None:
        predictions, answers = questions_of(run)
        assert_equal_to_one_by_one(predictions, answers, [PROTOCOLS[name] for name in NAMES])

    def test_of_the_cases(self) -> None:
        lines = (DATA / "protocols.jsonl").read_text(encoding="utf-8").strip().split("\n")
        cases = [json.loads(line) for line in lines]
        predictions, answers = [case["prediction"] for case in cases], [case["answers"] for case in cases]
        assert_equal_to_one_by_one(predictions, answers, [PROTOCOLS[name] for name in NAMES])

    @examples(300)
    @given(questions=st.lists(QUESTION, min_size=1, max_size=6))
    def test_of_any_text(self, questions: list[tuple[str | None, list[str]]]) -> None:
        assert_equal_to_one_by_one(*columns(questions), [PROTOCOLS[name] for name in NAMES])

    @examples(300)
    @given(
        questions=st.lists(QUESTION, min_size=1, max_size=4),
        rules=st.lists(CUSTOM, min_size=1, max_size=5),
    )
    def test_by_any_rules(self, questions: list[tuple[str | None, list[str]]], rules: list[Protocol]) -> None:
        named = [dataclasses.replace(own, name=f"custom-{number}") for number, own in enumerate(rules)]
        assert_equal_to_one_by_one(*columns(questions), named)

    def test_blocks_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        predictions, answers = questions_of("qwen2_vl_7b")
        predictions[3], predictions[500], predictions[700] = "\ud800", None, "café\u0301"
        whole = compare_protocols(predictions, answers)
        set_limit(monkeypatch, "BLOCK_ROWS", 97)
        assert compare_protocols(predictions, answers) == whole
        assert_equal_to_one_by_one(predictions, answers, [PROTOCOLS[name] for name in NAMES])

    def test_takes_arrow_columns(self) -> None:
        predictions, answers = questions_of("llama_scout")
        assert compare_protocols(pa.array(predictions), pa.array(answers)) == compare_protocols(predictions, answers)

    def test_thresholds_of_many_digits(self) -> None:
        predictions, answers = questions_of("qwen2_vl_7b")
        digits = Fraction(4999999999999999999999, 10**22)
        rules = [dataclasses.replace(PROTOCOLS[name], name=f"{name}-2", threshold=digits) for name in ("paper", "rrc")]
        assert_equal_to_one_by_one(predictions, answers, [*rules, PROTOCOLS["paper"]])

    def test_predictions_that_score_0_in_capitals(self) -> None:
        rules = dataclasses.replace(PROTOCOLS["due"], name="none-is-0", zero_predictions=("NONE",))
        assert_equal_to_one_by_one(["none", "some"], [["none"], ["some"]], [rules, PROTOCOLS["due"]])

    def test_differences_are_to_standard_even_if_it_was_not_asked_for(self) -> None:
        compared = compare_protocols(["ab", "x"], [["ac"], ["x"]], protocols=["paper", "docvqa"])
        assert compared.means == {"paper": 0.5, "rrc": 0.75}
        assert compared.differences == {"paper": -0.25, "rrc": 0.0}
        assert [own.spread for own in compared.disagreements] == [0.5]

    def test_disagreements_come_greatest_first_and_no_more_than_asked_for(self) -> None:
        predictions, answers = ["Rome", "ab", "ROME", "OSLO"], [["Rome"], ["ac"], ["Rome"], ["Oslo"]]
        found = compare_protocols(predictions, answers, protocols=["standard", "paper", "due_cased"])
        assert [(own.row, own.spread) for own in found.disagreements] == [(2, 1.0), (3, 1.0), (1, 0.5)]
        assert found.disagreements[0].scores == {"standard": 1.0, "paper": 1.0, "due_cased": 0.0}
        assert (found.disagreements[2].prediction, found.disagreements[2].answers) == ("ab", ("ac",))
        for most, rows in ((0, []), (1, [2]), (2, [2, 3])):
            fewer = compare_protocols(predictions, answers, protocols=["standard", "paper", "due_cased"], most=most)
            assert [own.row for own in fewer.disagreements] == rows

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"protocols": []}, "protocols: there are none"),
            ({"protocols": ["rrc", "docvqa"]}, "'rrc' occurs more than once"),
            (
                {"protocols": ["anls_star", "standard"]},
                "protocol 'standard' does not score documents. Use some of 'anls_star', ",
            ),
            ({"protocols": ["rcc"]}, "Did you mean 'rrc'"),
            ({"most": -1}, "most=-1"),
            ({"most": 1.5}, "most=1.5"),
        ],
    )
    def test_refuses_options(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            compare_protocols(["a"], [["a"]], **options)


def columns(questions: list[tuple[str | None, list[str]]]) -> tuple[list[str | None], list[list[str]]]:
    return [prediction for prediction, _ in questions], [own for _, own in questions]


def assert_equal_to_one_by_one(predictions: list[Any], answers: list[list[str]], rules: list[Protocol]) -> None:
    compared = compare_protocols(predictions, answers, protocols=rules, most=3)
    scores = {own.name: anls_scores(predictions, answers, protocol=own).tolist() for own in rules}
    means = {name: mean(own) for name, own in scores.items()}
    standard = mean(anls_scores(predictions, answers).tolist())
    assert compared.n == len(predictions)
    assert compared.means == means
    assert compared.differences == {name: own - standard for name, own in means.items()}
    table = np.array(list(scores.values()))
    spread = table.max(axis=0) - table.min(axis=0)
    expected = sorted(np.flatnonzero(spread).tolist(), key=lambda row: (-spread[row], row))[:3]
    assert [own.row for own in compared.disagreements] == expected
    for own in compared.disagreements:
        assert own.scores == {name: values[own.row] for name, values in scores.items()}
        assert own.spread == spread[own.row]


class TestPlainText:
    """Texts that are measured once for many protocols: the steps must really leave them alone."""

    @given(text=st.from_regex(many_protocols.PLAIN.replace(r"\z", r"\Z"), alphabet=st.characters(max_codepoint=127)))
    def test_only_steps_of_case_change_it(self, text: str) -> None:
        for name, step in STEPS.items():
            if name not in ("lower", "upper"):
                assert step(text) == text, name

    @pytest.mark.parametrize("text", [" a", "a ", "a  b", "a\nb", "a.", ".a", "a!", "é", "a\tb", ".", " ", "a\n"])
    def test_others_are_not_plain(self, text: str) -> None:
        assert not re.match(many_protocols.PLAIN.replace(r"\z", r"\Z"), text)


# What can be done to a run. Each is computed here in plain Python on top of `anls_score`.


def scores_of(questions: Questions, protocol: str = "standard", **rules: Any) -> list[float]:
    own = dataclasses.replace(PROTOCOLS[protocol], **rules)
    return [anls_score(prediction, answers, protocol=own) for prediction, answers in zip(*questions, strict=True)]


def with_gaps(questions: Questions) -> Questions:
    """Some questions without a prediction, and some that say that they have no answer."""
    predictions, answers = questions
    return (
        [None if row % 7 == 0 else text for row, text in enumerate(predictions)],
        [["Not answerable"] if row % 11 == 0 else own for row, own in enumerate(answers)],
    )


def without_missing(questions: Questions) -> Questions:
    kept = [pair for pair in zip(*questions, strict=True) if pair[0] is not None]
    return [text for text, _ in kept], [own for _, own in kept]


def without_unanswerable(questions: Questions) -> Questions:
    kept = [pair for pair in zip(*questions, strict=True) if pair[1] != ["Not answerable"]]
    return [text for text, _ in kept], [own for _, own in kept]


def first_only(questions: Questions) -> Questions:
    return questions[0], [own[:1] for own in questions[1]]


def plain(text: str) -> str:
    return " ".join(text.lower().split())


def exact_match(questions: Questions) -> float:
    matches = [
        prediction is not None and plain(prediction) in map(plain, answers)
        for prediction, answers in zip(*questions, strict=True)
    ]
    return mean([float(own) for own in matches])


def share_above_zero(questions: Questions) -> float:
    return mean([float(score > 0) for score in scores_of(questions)])


@dataclasses.dataclass(frozen=True)
class Habit:
    """A way to come to a number, and how a cause describes it where it differs from plain `standard`."""

    compute: Callable[[Questions], float]
    cause: dict[str, Any]
    habits: int = 1


HABITS = {
    "threshold of 0": Habit(lambda q: mean(scores_of(q, threshold=0)), {"threshold": 0.0}),
    "threshold of 0.7": Habit(lambda q: mean(scores_of(q, threshold=0.7)), {"threshold": 0.7}),
    "threshold of 0.9": Habit(lambda q: mean(scores_of(q, threshold=0.9)), {"threshold": 0.9}),
    "above 0.8 only": Habit(
        lambda q: mean(scores_of(q, threshold=0.8, keep=">")), {"protocol": "paper", "threshold": 0.8, "keep": ">"}
    ),
    "first answer": Habit(lambda q: mean(scores_of(first_only(q))), {"answers": "first"}),
    "missing left out": Habit(lambda q: mean(scores_of(without_missing(q))), {"left_out": ("missing",)}),
    "not answerable left out": Habit(
        lambda q: mean(scores_of(without_unanswerable(q))), {"left_out": ("not answerable",)}
    ),
    "exact match": Habit(exact_match, {"scoring": "exact match", "threshold": 1.0}),
    "squashed": Habit(share_above_zero, {"scoring": "kept as 1"}),
    "first answer, missing left out": Habit(
        lambda q: mean(scores_of(first_only(without_missing(q)))),
        {"answers": "first", "left_out": ("missing",)},
        habits=2,
    ),
    "rrc, first answer": Habit(
        lambda q: mean(scores_of(first_only(q), "rrc")), {"protocol": "rrc", "answers": "first"}
    ),
    "due at 0.8, all left out that can be": Habit(
        lambda q: mean(scores_of(without_missing(without_unanswerable(q)), "due", threshold=0.8)),
        {"protocol": "due", "keep": ">", "left_out": ("missing", "not answerable"), "threshold": 0.8},
        habits=3,
    ),
}


PLAIN = {
    "protocol": "standard",
    "keep": ">=",
    "threshold": 0.5,
    "scoring": "similarity",
    "answers": "all",
    "left_out": (),
    "scale": 1,
    "rounding": "rounded",
}

# Where something that is simpler, or by a protocol that comes earlier, gives the same four decimals by chance.
AHEAD = {
    **{("rrc, first answer", run): 1 for run in RUNS if run != "qwen2_vl_7b"},  # `standard`: the runs have no padding
    ("rrc, first answer", "qwen2_vl_7b_instruct"): 2,
    ("first answer, missing left out", "qwen2_vl_7b"): 1,
    ("above 0.8 only", "qwen2_vl_2b_instruct"): 1,
    ("due at 0.8, all left out that can be", "qwen2_vl_2b_instruct"): 4,
    ("due at 0.8, all left out that can be", "qwen2_vl_7b"): 2,
}

# No similarity in this run is exactly 0.8, so that keeping it or not makes the very same number.
NO_TIE = {("above 0.8 only", "qwen2_vl_2b_instruct"), ("due at 0.8, all left out that can be", "qwen2_vl_2b_instruct")}


def place(found: Diagnosis, cause: dict[str, Any]) -> int:
    """Where a cause stands among those that were found."""
    wanted = PLAIN | cause
    protocol = wanted.pop("protocol")

    def is_wanted(own: Cause) -> bool:
        return protocol in (own.protocol, *own.also) and all(getattr(own, key) == wanted[key] for key in wanted)

    places = [number for number, own in enumerate(found.causes) if is_wanted(own)]
    assert len(places) == 1, (cause, found.causes)
    return places[0]


class TestDiagnosisOfRealRuns:
    @pytest.mark.parametrize("run", some("qwen2_vl_2b_instruct"))
    @pytest.mark.parametrize("name", HABITS)
    def test_finds_what_was_done(self, name: str, run: str) -> None:
        questions, habit = with_gaps(questions_of(run)), HABITS[name]
        value = habit.compute(questions)
        found = diagnose(*questions, f"{value:.4f}")
        assert found.fits
        assert place(found, habit.cause) == AHEAD.get((name, run), 0)
        cause = found.causes[place(found, habit.cause)]
        assert cause.value == pytest.approx(value, abs=1e-12)
        assert (cause.fits, cause.habits) == (True, habit.habits)
        # Many decimals leave only what gives the very same number.
        precise = diagnose(*questions, value, decimals=12)
        assert (precise.causes[0].value, precise.causes[0].habits) == (cause.value, habit.habits)
        assert (place(precise, habit.cause) > 0) == ((name, run) in NO_TIE)

    @pytest.mark.parametrize("run", some("qwen2_vl_7b"))
    def test_finds_every_protocol(self, run: str) -> None:
        questions = questions_of(run)
        for name in NAMES:
            value = mean(scores_of(questions, name))
            found = diagnose(*questions, value, decimals=12)
            first = found.causes[0]
            assert name in (first.protocol, *first.also)
            assert (first.value, first.habits) == (value, 0)

    @pytest.mark.parametrize("run", RUNS)
    def test_finds_a_percentage(self, run: str) -> None:
        questions = questions_of(run)
        value = 100 * mean(scores_of(questions))
        assert place(diagnose(*questions, f"{value:.2f}"), {"scale": 100}) == 0
        assert place(diagnose(*questions, value), {"scale": 100}) == 0

    def test_of_the_padded_run(self) -> None:
        found = diagnose(*questions_of("qwen2_vl_7b"), 0.2691)
        assert round(found.standard, 4) == 0.2596
        assert found.causes[0].protocol == "rrc"
        assert found.causes[0].reason == (
            "It is 0.269135 if the protocol is rrc: the distance is divided by the greater length of the raw "
            "texts in upper case, so extra whitespace raises the score of a wrong answer (padding)."
        )
        assert found.causes[0].reason.removeprefix("It is ") in found.conclusion

    def test_says_plainly_that_nothing_fits(self) -> None:
        found = diagnose(*questions_of("llama_maverick"), "0.7001")
        assert not found.fits
        assert found.conclusion.startswith(f"None of {found.tried:,} ways to score these predictions gives 0.7001.")
        assert 1 <= len(found.causes) <= 5
        distances = [abs(own.difference) for own in found.causes]
        assert distances == sorted(distances)
        assert all(own.habits <= 1 and not own.fits for own in found.causes)
        assert all(own.difference == own.value - 0.7001 for own in found.causes)


class TestDiagnosis:
    def test_cut_off(self) -> None:
        found = diagnose(["abc", "x", "y"], [["abd"], ["x"], ["z"]], "0.555")  # 5/9
        assert place(found, {"rounding": "cut off"}) == 0
        assert "truncated, not rounded, to 3 decimals" in found.causes[0].reason
        assert place(diagnose(["abc", "x", "y"], [["abd"], ["x"], ["z"]], "0.556"), {}) == 0

    def test_percentage_below_one(self) -> None:
        predictions, answers = ["x"] + ["a"] * 199, [["x"]] + [["b"]] * 199
        found = diagnose(predictions, answers, "0.50")
        assert place(found, {"scale": 100}) == 0
        assert found.causes[0].value == 0.5
        assert "on a scale of 0 to 100" in found.causes[0].reason

    def test_counts_of_left_out_questions_are_told(self) -> None:
        predictions = [None, "Rome", "blue", float("nan")]
        answers = [["Oslo"], ["Rome"], ["Unanswerable."], ["Bern"]]
        found = diagnose(predictions, answers, "0.50")
        assert (found.n, found.standard) == (4, 0.25)
        cause = found.causes[place(found, {"left_out": ("missing",)})]
        assert cause.n == 2
        assert "without a prediction, 2 of 4, are left out" in cause.reason
        both = diagnose(predictions, answers, "1.00")
        cause = both.causes[place(both, {"left_out": ("missing", "not answerable")})]
        assert cause.n == 1
        assert "have no answer, 1 of 4, are left out" in cause.reason

    @pytest.mark.parametrize("answer", NOT_ANSWERABLE)
    def test_answers_that_say_that_there_is_none(self, answer: str) -> None:
        answers = [["Rome"], [f" {answer.upper()}"], [answer, "unanswerable."]]
        found = diagnose(["Rome", "blue", "\ud800"], answers, 1)  # a lone surrogate is not looked at in Arrow
        assert found.causes[0].n == 1
        assert place(found, {"left_out": ("not answerable",)}) >= 0

    def test_what_changes_nothing_is_no_cause(self) -> None:
        found = diagnose(["abc", "x"], [["abd"], ["x"]], "0.83")  # one answer each, no prediction is missing
        assert place(found, {}) == 0
        assert {own.answers for own in found.causes} == {"all"}
        assert {own.left_out for own in found.causes} == {()}
        assert not [own for own in found.causes if own.threshold == 0.6]

    def test_only_missing_predictions(self) -> None:
        found = diagnose([None, None], [["a"], ["b"]], "0.00")
        assert (found.fits, found.standard, found.causes[0].protocol) == (True, 0.0, "standard")

    @pytest.mark.parametrize(
        ("reported", "decimals", "known"),
        [
            ("0.760", None, 3),
            (0.76, None, 2),
            (" 76.4 ", None, 1),
            (np.float32(0.764), None, 3),
            (np.float64(0.5), None, 1),
            (1, None, 0),
            ("1e-3", None, 3),
            ("1e1", None, 0),
            (0.76, 4, 4),
            ("0.7649", 2, 2),
        ],
    )
    def test_decimals(self, reported: Any, decimals: int | None, known: int) -> None:
        assert diagnose(["a"], [["b"]], reported, decimals=decimals).decimals == known

    def test_decimals_decide_what_fits(self) -> None:
        predictions, answers = ["abc", "x", "y"], [["abd"], ["x"], ["z"]]  # 0.5555...
        assert diagnose(predictions, answers, "0.56").fits
        assert not diagnose(predictions, answers, "0.560").fits
        assert diagnose(predictions, answers, 0.56, decimals=2).fits
        assert not diagnose(predictions, answers, 0.56, decimals=3).fits

    @pytest.mark.parametrize(
        "reported", ["", "high", "76,4", "76.4%", float("nan"), "inf", -0.1, "100.1", 764, True, None, [0.5], 1 + 0j]
    )
    def test_refuses_what_is_no_score(self, reported: Any) -> None:
        with pytest.raises(ValueError, match=re.escape(f"reported={reported!r}: expected a number from 0 to 1")):
            diagnose(["a"], [["a"]], reported)

    def test_refuses_numbers_that_python_does_not_write(self) -> None:
        with pytest.raises(ValueError, match=r"reported=<int of too many digits>: expected"):
            diagnose(["a"], [["a"]], 10**5000)
        with pytest.raises(ValueError, match=r"decimals=<int of too many digits>: expected"):
            diagnose(["a"], [["a"]], 1, decimals=10**5000)

    @pytest.mark.parametrize("decimals", [-1, 18, 1.0, True, "2"])
    def test_refuses_decimals(self, decimals: Any) -> None:
        with pytest.raises(ValueError, match=re.escape(f"decimals={decimals!r}: expected an integer from 0 to 17")):
            diagnose(["a"], [["a"]], 0.5, decimals=decimals)

    @pytest.mark.parametrize(
        ("predictions", "answers", "ids", "message"),
        [
            ([], [], None, "nothing to score"),
            (["a"], [], None, "1 prediction but answers for 0 questions"),
            (["a"], [["a"]], ["q1", "q2"], "2 question_ids but 1 predictions"),
            (["a", ["b"]], [["a"], ["b"]], None, "predictions[1] is a list"),
            (["a", ["b"]], [["a"], ["b"]], ["q1", "q2"], "predictions[1] (question_id 'q2') is a list"),
            (["a", "b"], [["a"], []], [17, 18], "answers[1] (question_id 18) is empty"),
        ],
    )
    def test_refuses_questions(self, predictions: Any, answers: Any, ids: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            diagnose(predictions, answers, 0.5, question_ids=ids)

    @examples(30)
    @given(questions=st.lists(QUESTION, min_size=1, max_size=6), name=st.sampled_from(NAMES))
    def test_finds_any_protocol_on_any_text(self, questions: list[tuple[str | None, list[str]]], name: str) -> None:
        predictions, answers = columns(questions)
        value = mean(scores_of((predictions, answers), name))
        found = diagnose(predictions, answers, value, decimals=12)
        same = [own for own in found.causes if name in (own.protocol, *own.also) and not own.habits]
        assert [own.value for own in same] == [value]
