"""Errors keep their parts, in other processes and in the words of every interface."""

import copy
import multiprocessing
import pickle
from pathlib import Path

import pytest

from anls_eval.app.words import in_page_words
from anls_eval.cli.words import forget_command, in_options
from anls_eval.cluster.errors import BadPartsError, ClusterError, InterruptedRunError
from anls_eval.errors import AnlsError, Explained, Remedy, check_choice, located
from anls_eval.files import FormatError
from anls_eval.files.errors import FilesError, without_path
from anls_eval.questions.pairing import COUNT_AS_ZERO, IGNORE_UNKNOWN
from anls_eval.registry import MISSING
from anls_eval.rules.protocol import threshold_error

COLUMNS = Remedy("columns", {"predictions.question_id": "NAME"}, "name their column")
RESUME = Remedy("resume", True, "continue")
IDS = AnlsError("a.", remedies=[COUNT_AS_ZERO, IGNORE_UNKNOWN])
FORMAT = FormatError("a.csv", "b.", "line 3", [COLUMNS])
BAD_PARTS = BadPartsError({"a.csv": FORMAT, "c": AnlsError("d.")}, Path("out"))
ERRORS = [
    IDS,
    FORMAT,
    BAD_PARTS,
    FilesError("no system could be scored", {"a.csv": without_path(FORMAT, "a.csv")}),
    located("run", FORMAT),
    threshold_error(lambda: 0),
    ClusterError("lost.", remedies=[RESUME]),
    InterruptedRunError("3 parts are finished in out.", remedies=[RESUME]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_come_whole_from_another_process(error: Explained) -> None:
    for own in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert type(own) is type(error)
        assert str(own) == str(error) != ""
        assert in_options(own) == in_options(error)
        assert vars(own).keys() == vars(error).keys()


def _refuse(missing: str) -> None:
    check_choice("missing", missing, MISSING)


def test_an_error_of_a_worker() -> None:
    with multiprocessing.get_context("forkserver").Pool(1) as pool, pytest.raises(AnlsError) as found:
        pool.apply(_refuse, ("zer",))
    assert (found.value.option, found.value.value) == ("missing", "zer")
    assert str(found.value) == "missing='zer': expected one of 'error', 'zero'. Did you mean 'zero'?"
    assert in_options(found.value) == "--missing zer: expected one of 'error', 'zero'. Did you mean 'zero'?"


def test_they_are_caught_as_before() -> None:
    assert all(isinstance(error, ValueError) for error in (IDS, FORMAT, BAD_PARTS, threshold_error("x")))
    assert isinstance(ERRORS[-2], ChildProcessError)
    assert isinstance(ERRORS[-1], KeyboardInterrupt)
    assert not isinstance(ERRORS[-1], Exception)


@pytest.mark.parametrize(
    ("error", "python", "command_line"),
    [
        (
            IDS,
            'a. To count missing predictions as 0, pass missing="zero". To ignore predictions with unknown ids, pass '
            'unknown="ignore".',
            "a. To count missing predictions as 0, pass --missing zero. To ignore predictions with unknown ids, pass "
            "--unknown ignore.",
        ),
        (
            FORMAT,
            'a.csv, line 3: b. To name their column, pass columns={"predictions.question_id": "NAME"}.',
            "a.csv, line 3: b. To name their column, pass --columns predictions.question_id=NAME.",
        ),
        (
            BAD_PARTS,
            "2 parts cannot be scored:\n  a.csv, line 3: b. To name their column, pass "
            'columns={"predictions.question_id": "NAME"}.\n  c: d.\nThe others are finished in out. To continue once '
            "these are fixed, pass resume=True. To leave them out, pass skip_bad=True.",
            "2 parts cannot be scored:\n  a.csv, line 3: b. To name their column, pass --columns "
            "predictions.question_id=NAME.\n  c: d.\nThe others are finished in out. To continue once these are "
            "fixed, pass --resume. To leave them out, pass --skip-bad.",
        ),
        (
            ERRORS[-1],
            "3 parts are finished in out. To continue, pass resume=True.",
            "3 parts are finished in out. To continue, pass --resume.",
        ),
        (AnlsError("b", option="missing", value="a b"), "missing='a b': b", "--missing 'a b': b"),
        (AnlsError("b", option="protocol", value="it's"), 'protocol="it\'s": b', "--protocol 'it'\"'\"'s': b"),
        (AnlsError("b", option="answer_type"), "answer_type=None: b", "--answer-type: b"),
        (AnlsError("b", option="a step of x", value="y"), "a step of x='y': b", "a step of x='y': b"),
        (ValueError("missing='a': expected"), "missing='a': expected", "missing='a': expected"),
        (located("missing='a'", ValueError('missing="zero".')), "missing='a': missing=\"zero\".", None),
    ],
)
def test_words_of_python_and_of_the_command_line(error: Exception, python: str, command_line: str | None) -> None:
    assert str(error) == python
    forget_command()  # which another test may have run
    assert in_options(error) == (command_line or python)


@pytest.mark.parametrize("threshold", ["7/5", "x" * 200, "it's", "\x1b"])
def test_refused_options(threshold: str) -> None:
    assert in_options(threshold_error(threshold)).startswith("--threshold ")
    assert len(in_options(threshold_error(threshold))) < 250


def test_the_page_offers_what_it_has() -> None:
    zero = "\u201cScore questions without a prediction 0\u201d"
    ignore = "\u201cIgnore predictions without a question\u201d"
    count, leave_out = "count missing predictions as 0", "ignore predictions with unknown ids"
    assert in_page_words(IDS) == f"a. To {count}, use {zero}. To {leave_out}, use {ignore}."
    assert in_page_words(FORMAT).endswith("use Columns \u201cpredictions.question_id=NAME\u201d.")
    assert in_page_words(threshold_error(7)).startswith("Threshold \u201c7\u201d: expected a number from 0 to 1")
