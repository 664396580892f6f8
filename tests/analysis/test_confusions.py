"""Which characters were misread as which, and what it cost."""

import math

import docvqa_runs
import pytest
from any_texts import CUSTOM, QUESTION
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from reference import TEXT_PROTOCOLS

from anls_eval.analysis.confusions import character_confusions
from anls_eval.analysis.losses import LossReport, classify_losses
from anls_eval.rules.protocol import Protocol


@pytest.mark.parametrize(
    ("prediction", "answer", "labels"),
    [
        ("b0x", "box", ["o→0"]),
        ("modem", "modern", ["rn→m"]),
        ("modern", "modem", ["m→rn"]),
        ("Coca Cola", "CocaCola", ["∅→␠"]),
        ("CocaCola", "Coca Cola", ["␠→∅"]),
        ("recieve", "receive", ["ei→ie"]),
        ("receive", "recieve", ["ie→ei"]),
        ("13/15/88", "12/15/89", ["2→3", "9→8"]),
        ("a1c2e", "abcde", ["b→1", "d→2"]),  # an equal character parts two replacements
        ("abc\u00a0def", "abcdef", ["∅→<U+00A0>"]),
        ("abc\tdef", "abcdef", ["∅→␉"]),
        ("abc\x00def", "abcdef", ["∅→␀"]),
    ],
)
def test_labels(prediction: str, answer: str, labels: list[str]) -> None:
    rows = character_confusions(classify_losses([prediction], [[answer]], protocol="due"))
    assert sorted(row.label.lower() for row in rows) == sorted(label.lower() for label in labels)


def test_texts_are_those_that_the_protocol_compares() -> None:
    for protocol, expected in (("standard", ("o", "0")), ("due", ("O", "0")), ("due_cased", ("o", "0"))):
        (row,) = character_confusions(classify_losses([" b0xes"], [[" boxes"]], protocol=protocol))
        assert (row.expected, row.given) == expected
    rows = character_confusions(classify_losses([".b0xes"], [[".boxes"]], protocol="idefics"))
    assert [row.label for row in rows] == [".→∅", "o→0"]  # only the prediction loses its dots


def test_counts_points_and_examples() -> None:
    predictions = ["b0x", "box", "b0x 00", "x0", *["b0x"] * 5, "rnodem"]
    answers = [["box"], ["box"], ["box oo"], ["xo"], *[["box"]] * 5, ["modem"]]
    rows = character_confusions(classify_losses(predictions, answers))
    assert [(row.expected, row.given, row.count, row.examples) for row in rows] == [
        ("o", "0", 8, (0, 2, 3, 4, 5)),
        ("m", "rn", 1, (9,)),
        ("oo", "00", 1, (2,)),  # as frequent and as costly as the one before
    ]
    assert [row.points_lost for row in rows] == pytest.approx([6 / 3 + 0.5 + 0.5 / 3, 1 / 3, 1 / 3])


def test_only_misread_answers_count() -> None:
    predictions, answers = ["box.", "the box", "x", None, "", "box"], [["box"], ["box"], ["abc"], ["b"], ["c"], ["box"]]
    with pytest.warns(UserWarning, match="None or NaN"):
        report = classify_losses(predictions, answers)
    assert character_confusions(report) == []


def assert_complete(report: LossReport) -> None:
    rows = character_confusions(report)
    lost = next(row.points_lost for row in report.classes if row.name == "misread")
    assert math.fsum(row.points_lost for row in rows) == pytest.approx(lost, rel=1e-14, abs=0)
    assert len({(row.expected, row.given) for row in rows}) == len(rows)
    for row in rows:
        assert row.expected != row.given
        assert row.count > 0
        assert row.points_lost > 0
        assert list(row.examples) == sorted(set(row.examples))[:5]
        assert {report.question_classes[example] for example in row.examples} == {"misread"}
    assert [-row.count for row in rows] == sorted(-row.count for row in rows)


@pytest.mark.filterwarnings("ignore:protocol 'rrc' divides by raw lengths")
@pytest.mark.parametrize("protocol", ["standard", "rrc", "unthresholded"])
@pytest.mark.parametrize("run", docvqa_runs.RUNS)
def test_real_submissions(run: str, protocol: str) -> None:
    assert_complete(classify_losses(docvqa_runs.predictions(run), docvqa_runs.answers(), protocol=protocol))


@pytest.mark.filterwarnings("ignore::UserWarning")
@examples(300)
@given(questions=st.lists(QUESTION, max_size=6), rules=st.sampled_from(sorted(TEXT_PROTOCOLS)) | CUSTOM)
def test_points_are_those_of_the_class(questions: list[tuple[str | None, list[str]]], rules: str | Protocol) -> None:
    columns = [prediction for prediction, _ in questions], [own for _, own in questions]
    report = classify_losses(*columns, protocol=rules)
    assert_complete(report)
    backwards = classify_losses(columns[0][::-1], columns[1][::-1], protocol=rules)
    assert [(row.label, row.count, row.points_lost) for row in character_confusions(backwards)] == [
        (row.label, row.count, row.points_lost) for row in character_confusions(report)
    ]
