"""anls_score and anls_scores: the fast path equals the readable one, on any text and any kind of column."""

import dataclasses
import enum
import math
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import reference
from any_texts import ANY_TEXT, CUSTOM, QUESTION
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from patched import set_limit, through_arrays
from reference import TEXT_PROTOCOLS

from anls_eval.registry import get_protocol
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores, explain
from anls_eval.text.measure import score_columns


def has_surrogate(text: str | None) -> bool:
    return text is not None and any("\ud800" <= character <= "\udfff" for character in text)


def assert_all_ways_equal(questions: Sequence[tuple[str | None, list[str]]], rules: Protocol) -> None:
    predictions = [prediction for prediction, _ in questions]
    answers = [own for _, own in questions]
    expected = [reference.score(prediction, own, rules) for prediction, own in questions]
    assert [anls_score(*question, protocol=rules) for question in questions] == expected
    assert anls_scores(predictions, answers, protocol=rules).tolist() == expected
    one_by_one = score_columns(predictions, answers, rules)
    with through_arrays():
        in_columns = score_columns(predictions, answers, rules)
    assert in_columns.scores.tolist() == expected
    assert in_columns[1:] == one_by_one[1:]
    if not any(has_surrogate(text) for prediction, own in questions for text in (prediction, *own)):
        columns = pa.array(predictions, pa.string()), pa.array(answers, pa.list_(pa.string()))
        assert anls_scores(*columns, protocol=rules).tolist() == expected
    detailed = score_columns(predictions, answers, rules, detailed=True)
    assert detailed.scores.tolist() == expected
    for (prediction, own), closest, score in zip(questions, detailed.closest, expected, strict=True):
        if prediction is None:
            assert closest is None
        else:
            assert closest in own
            assert closest is not None
            assert reference.score(prediction, [closest], rules) == score


@pytest.mark.filterwarnings("ignore::UserWarning")
class TestEqualsTheReference:
    @pytest.mark.parametrize("name", sorted(TEXT_PROTOCOLS))
    @examples(150)
    @given(questions=st.lists(QUESTION, min_size=1, max_size=6))
    def test_on_any_text(self, name: str, questions: list[tuple[str | None, list[str]]]) -> None:
        assert_all_ways_equal(questions, PROTOCOLS[name])

    @examples(600)
    @given(questions=st.lists(QUESTION, min_size=1, max_size=4), rules=CUSTOM)
    def test_by_any_rules(self, questions: list[tuple[str | None, list[str]]], rules: Protocol) -> None:
        assert_all_ways_equal(questions, rules)

    @examples(100)
    @given(questions=st.lists(QUESTION, min_size=1, max_size=8), seed=st.integers(0, 2**32))
    def test_whatever_the_order_and_the_batches(self, questions: list[tuple[str | None, list[str]]], seed: int) -> None:
        rules, shuffled = PROTOCOLS["rrc"], list(range(len(questions)))
        generator = random.Random(seed)  # noqa: S311
        generator.shuffle(shuffled)
        cut = generator.randint(0, len(questions))
        whole = anls_scores([p for p, _ in questions], [a for _, a in questions], protocol=rules)
        again = np.zeros(len(questions))
        for part in filter(None, (shuffled[:cut], shuffled[cut:])):
            own = [generator.sample(questions[i][1], len(questions[i][1])) for i in part]
            again[part] = anls_scores([questions[i][0] for i in part], own, protocol=rules)
        assert again.tolist() == whole.tolist()

    def test_across_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        predictions = [None if i % 11 == 0 else f"answer {i % 7}  " for i in range(100)]
        answers = [[f"Answer {i % 5}", "answer"] for i in range(100)]
        whole = score_columns(predictions, answers, PROTOCOLS["rrc"], detailed=True)
        set_limit(monkeypatch, "BLOCK_ROWS", 7)
        for columns in (
            (predictions, answers),
            (pa.chunked_array([predictions[:9], predictions[9:]]), pa.array(answers)),
        ):
            parts = score_columns(columns[0], columns[1], PROTOCOLS["rrc"], detailed=True)
            assert parts.scores.tolist() == whole.scores.tolist()
            assert parts[1:4] == whole[1:4]
            assert parts.measured is not None
            assert whole.measured is not None
            assert all(map(np.array_equal, parts.measured, whole.measured))

    @given(ANY_TEXT, st.lists(ANY_TEXT, min_size=1, max_size=3))
    def test_from_zero_to_one(self, prediction: str, answers: list[str]) -> None:
        for rules in TEXT_PROTOCOLS.values():
            score = anls_score(prediction, answers, protocol=rules)
            assert type(score) is float
            assert 0 <= score <= 1
            assert math.copysign(1, score) == 1  # never -0.0


COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": lambda values: as_objects(values),
    "pandas": lambda values: pd.Series(values, dtype=object),
    "generator": lambda values: (value for value in values),
    "arrow": pa.array,
    "arrow large": lambda values: pa.array(values, large(pa.array(values).type)),
    "arrow chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "arrow sliced": lambda values: pa.array([values[0], *values, values[0]]).slice(1, len(values)),
}


def as_objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def large(given_: pa.DataType) -> pa.DataType:
    return pa.large_list(pa.large_string()) if pa.types.is_list(given_) else pa.large_string()


class TestColumns:
    predictions = ("Denver Broncos", "12/15/89", "İstanbul", "")
    answers = (["Denver Broncos", "Denver R. Broncos"], ["12/15/88"], ["istanbul", "x"], ["y"])

    @pytest.mark.parametrize("left", COLUMNS)
    @pytest.mark.parametrize("right", COLUMNS)
    def test_of_every_kind(self, left: str, right: str) -> None:
        scores = anls_scores(COLUMNS[left](list(self.predictions)), COLUMNS[right](list(self.answers)))
        assert scores.dtype == np.float64
        assert scores.shape == (4,)
        assert scores.tolist() == [1.0, 0.875, 1 - 1 / 9, 0.0]

    @pytest.mark.parametrize(
        "column",
        [
            np.array(predictions),
            pd.Series(list(predictions)),
            pd.Series(list(predictions), dtype="string"),
            pd.Series(list(predictions), dtype="category"),
            pa.array(predictions).dictionary_encode(),
            pa.array(predictions, pa.string_view()),
        ],
        ids=["numpy text", "pandas text", "pandas string", "pandas category", "arrow dictionary", "arrow view"],
    )
    def test_of_text(self, column: Any) -> None:
        assert anls_scores(column, list(self.answers)).tolist() == [1.0, 0.875, 1 - 1 / 9, 0.0]

    @pytest.mark.filterwarnings("ignore:protocol .* divides by raw lengths")
    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
    def test_slices_of_every_block(self, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Arrow's case kernels give invalid arrays for a cast slice: its offsets do not begin at 0."""
        set_limit(monkeypatch, "BLOCK_ROWS", 10)
        texts = [f"Word {index} \xc9 " if index % 3 else f"WORD  {index}" for index in range(95)]
        answers = [["none", text.lower()] for text in texts]
        columns = pa.array(texts, kind).slice(5), pa.array(answers, pa.list_(kind)).slice(5)
        for protocol in TEXT_PROTOCOLS:
            expected = anls_scores(texts[5:], answers[5:], protocol=protocol)
            assert anls_scores(*columns, protocol=protocol).tolist() == expected.tolist()
        assert anls_scores(*columns).tolist() == [1.0] * 90

    def test_fixed_size_answers(self) -> None:
        answers = pa.array([["a", "b"], ["c", "d"]], pa.list_(pa.string(), 2))
        assert anls_scores(["b", "x"], answers).tolist() == [1.0, 0.0]

    def test_of_plain_texts_as_answers(self) -> None:
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            assert anls_scores(["a", "b"], pa.array(["a", "c"], kind)).tolist() == [1.0, 0.0]
        assert anls_scores(["a"], pa.array(["a"]).dictionary_encode()).tolist() == [1.0]

    def test_of_lists_as_predictions(self) -> None:
        with pytest.raises(ValueError, match=r"predictions\[0\] is a list of 1 str.*Pass the string itself"):
            anls_scores(pa.array([["a"]]), [["a"]])

    def test_of_single_precision(self) -> None:
        assert anls_scores(np.array([0.1], np.float32), [["0.1"]]).tolist() == [1.0]
        assert anls_scores(pd.Series([0.1], dtype="float32"), [["0.1"]]).tolist() == [1.0]

    def test_numbers_in_arrow(self) -> None:
        assert anls_scores(pa.array([5, 12]), pa.array([[5], [13]])).tolist() == [1.0, 0.5]

    def test_of_length_zero(self) -> None:
        assert anls_scores([], []).shape == (0,)

    def test_input_is_left_alone(self) -> None:
        predictions, answers = [" A "], [("b", "c")]
        anls_scores(predictions, answers)
        assert (predictions, answers) == ([" A "], [("b", "c")])


class Colour(str, enum.Enum):
    RED = "red"


class TestValues:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (5, "5"),
            (5.0, "5.0"),
            (True, "True"),
            (np.int64(5), "5"),
            (np.float64(0.5), "0.5"),
            (np.bool_(False), "False"),
            (Decimal("5.00"), "5.00"),
            (np.str_("text"), "text"),
            (Colour.RED, "red"),
            ("caf\xe9".encode(), "caf\xe9"),
            (np.array("text"), "text"),
        ],
    )
    def test_is_taken_as_its_text(self, value: Any, text: str) -> None:
        assert anls_score(value, [text], protocol="due_cased") == 1.0
        assert anls_score(text, [value], protocol="due_cased") == 1.0
        assert anls_score(text, value, protocol="due_cased") == 1.0
        assert anls_scores([value, "x"], [[text], ["x"]], protocol="due_cased").tolist() == [1.0, 1.0]
        assert anls_scores([text, "x"], [[value], ["x"]], protocol="due_cased").tolist() == [1.0, 1.0]

    @pytest.mark.parametrize(
        "answers",
        [
            ["Lima", "City of Lima"],
            ("Lima",),
            "Lima",
            {"text": ["Lima", "City of Lima"], "answer_start": [4, 0]},
            {"text": "Lima"},
            np.array(["Lima", "City of Lima"], dtype=object),
        ],
    )
    def test_answers_in_every_layout(self, answers: Any) -> None:
        """Reports R22, R24 and R28: never scored against dict keys or single characters."""
        assert anls_score("lima", answers) == 1.0
        assert anls_scores(["lima", "t"], [answers, ["q"]]).tolist() == [1.0, 0.0]
        for wrong in ("text", "answer_start", "L"):
            assert anls_score(wrong, answers) == 0.0

    @pytest.mark.parametrize(
        "missing",
        [None, float("nan"), pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), np.float32("nan"), np.ma.masked],
    )
    @pytest.mark.parametrize("answer", ["nan", "None", "", "x"])
    def test_no_prediction_is_no_text(self, missing: Any, answer: str) -> None:
        for protocol in TEXT_PROTOCOLS:
            with pytest.warns(UserWarning, match=r"1 of 1 predictions is None or NaN and scores 0"):
                assert anls_score(missing, [answer], protocol=protocol) == 0.0
            with pytest.warns(UserWarning, match=r"1 of 2 predictions is None or NaN \(row 1\)"):
                assert anls_scores(["q", missing], [["q"], [answer]], protocol=protocol)[1] == 0.0

    def test_one_warning_names_the_first_rows(self) -> None:
        with pytest.warns(UserWarning, match=r"7 of 8 predictions are .* \(row 1, 2, 3, 4, 5, \.\.\.\)") as caught:
            anls_scores(pa.array(["a", *[None] * 7]), [["a"]] * 8)
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_24_000_characters(self) -> None:
        assert anls_score("lorem ipsum " * 2000, ["42"]) == 0.0
        assert anls_scores(["a" * 100_000], [["a" * 99_999 + "b"]]).tolist() == [1 - 1 / 100_000]

    def test_100_000_characters_that_differ_anywhere(self) -> None:
        generator = random.Random(0)  # noqa: S311
        text = "".join(generator.choices("abcdefgh-é你", k=100_000))
        changed = text.translate({ord("a"): "z"})
        assert anls_score(changed, text) == 1 - text.count("a") / 100_000


ERRORS: list[tuple[Any, Any, str]] = [
    (["Lima"], ["Lima"], r"a list of 1 str; expected one string.*Pass the string itself: 'Lima'"),
    ([101, 2003, 102], ["x"], r"a list of 3 int; expected.*Decode the token ids"),
    (["a", "b"], ["x"], r"a list of 2 str; expected"),
    ({"text": "a"}, ["x"], r"a dict with the keys \['text'\]; expected one string"),
    (b"\xff", ["x"], r"a bytes, b'\\xff'; expected one string.*It is not UTF-8"),
    (object, ["x"], r"a type, <class 'object'>; expected"),
    ("a", [], "is empty; expected a list of strings.*Add an answer or drop the question"),
    ("a", None, "is empty"),
    ("a", float("nan"), "is empty"),
    ("a", {"text": []}, "is empty"),
    ("a", {"texts": ["a"]}, r"a dict with the keys \['texts'\]; expected a list of strings"),
    ("a", {"a", "b"}, r"a set, .*; expected a list of strings"),
    ("a", [["a"]], r"\[0\] is a list of 1 str; expected a string"),
    ("a", ["a", None], r"\[1\] is None; expected a string. Remove it"),
    ("a", ["a", b"\xff"], r"\[1\] is a bytes"),
]


class TestErrors:
    @pytest.mark.parametrize(("prediction", "answers", "message"), ERRORS)
    def test_what_where_and_how_to_mend(self, prediction: Any, answers: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            anls_score(prediction, answers)
        with pytest.raises(ValueError, match=message) as caught:
            anls_scores(["ok", "ok", prediction], [["ok"], ["ok"], answers])
        assert str(caught.value).startswith(("predictions[2]", "answers[2]"))

    @pytest.mark.parametrize("answers", [[["a"], []], [["a"], None], [["a"], ["b", None]]])
    def test_in_arrow_too(self, answers: Any) -> None:
        with pytest.raises(ValueError, match=r"answers\[1\]"):
            anls_scores(pa.array(["a", "b"]), pa.array(answers))

    def test_an_integer_that_python_does_not_write(self) -> None:
        with pytest.raises(ValueError, match=r"predictions\[1\] is an integer with too many digits"):
            anls_scores(["a", 10**5000], [["a"], ["b"]])

    def test_row_is_counted_over_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        set_limit(monkeypatch, "BLOCK_ROWS", 2)
        with pytest.raises(ValueError, match=r"predictions\[4\] is a list"):
            anls_scores(["a", "b", "c", "d", ["e"]], [["a"]] * 5)

    def test_lengths(self) -> None:
        with pytest.raises(ValueError, match="2 predictions but answers for 1 question"):
            anls_scores(["a", "b"], [["a"]])

    def test_lists_by_reference_set(self) -> None:
        """Report R26."""
        with pytest.raises(ValueError, match=r"3 predictions but answers for 2 questions.*list\(zip\(\*answers\)\)"):
            anls_scores(["a1", "b2", "c3"], [["a1", "b2", "c3"], ["a1", "b2", "c3"]])

    @pytest.mark.parametrize("column", ["abc", b"abc", {"a": 1}, {"a", "b"}, np.array("abc"), 5, None])
    def test_no_column(self, column: Any) -> None:
        with pytest.raises(ValueError, match=r"predictions is .*; expected a list or column"):
            anls_scores(column, [["a"]])
        with pytest.raises(ValueError, match=r"answers is .*; expected a list or column"):
            anls_scores(["a"], column)

    def test_option_misspelt(self) -> None:
        with pytest.raises(TypeError, match="treshold"):
            anls_score("a", ["a"], treshold=0.5)  # type: ignore[call-arg]

    def test_protocol_is_keyword_only(self) -> None:
        with pytest.raises(TypeError):
            anls_score("a", ["a"], "rrc")  # type: ignore[call-arg]


class TestPadding:
    """Blanks around a text raise the score in protocols that divide by raw lengths."""

    predictions = ("ab        ", "cd        ", "ef        ")
    answers = (["xy"], ["xy"], ["xy"])

    def test_facts(self) -> None:
        stripped = [text.strip() for text in self.predictions]
        assert anls_scores(stripped, list(self.answers), protocol="rrc").mean() == 0
        with pytest.warns(UserWarning, match="raised"):
            padded = anls_scores([text + " " * 2 for text in self.predictions], list(self.answers), protocol="rrc")
        assert padded.mean() == 1 - 2 / 12
        assert anls_scores(list(self.predictions), list(self.answers)).mean() == 0

    @pytest.mark.parametrize("column", [list, pa.array])
    def test_warning_counts(self, column: Callable[[list[Any]], Any]) -> None:
        predictions, answers = [*self.predictions, "right", "wrong"], [*self.answers, ["right"], ["right"]]
        with pytest.warns(
            UserWarning, match=r"'rrc'.*3 of 5 questions.*0\.680000 with it.*0\.200000 without"
        ) as caught:
            anls_scores(column(predictions), column(answers), protocol="rrc")
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_one_score(self) -> None:
        with pytest.warns(UserWarning, match="raised the score of 1 of 1 questions"):
            assert anls_score("cat ", ["car"], protocol="rrc") == 0.75

    def test_in_a_block_with_a_surrogate(self) -> None:
        with pytest.warns(UserWarning, match="1 of 2 questions"):
            anls_scores(["cat ", "\ud800"], [["car"], ["\ud800"]], protocol="rrc")

    @pytest.mark.parametrize("protocol", ["standard", "paper", "pypi_anls", "stvqa", "mistral_evals"])
    def test_no_warning_where_padding_cannot_count(self, protocol: str) -> None:
        assert anls_score(" cat ", ["car "], protocol=protocol) > 0.6

    def test_no_warning_where_it_did_not_raise(self) -> None:
        assert anls_score(" cat ", ["cat"], protocol="rrc") == 1.0
        assert anls_score("ca t", ["ca x"], protocol="rrc") == 0.75
        assert get_protocol("rrc").prediction_length == "raw-upper"

    def test_runs_of_blanks(self) -> None:
        with pytest.warns(UserWarning, match=r"of 1 of 1 questions: the mean is 0.800000 with it and 0.750000 without"):
            assert anls_score("ca  t", ["ca  x"], protocol="rrc") == 0.8


def test_the_first_of_equally_close_answers_where_replacing_is_free() -> None:
    rules = dataclasses.replace(get_protocol("standard"), name="free", substitution_cost=0)
    scored = score_columns(["abc", "abcd"], [["xyz", "abc"], ["xyz", "abc", "abcd", "wxyz"]], rules, detailed=True)
    assert scored.closest == ["xyz", "abcd"]
    assert [explain("abc", ["xyz", "abc"], protocol=rules).closest_reference] == scored.closest[:1]
