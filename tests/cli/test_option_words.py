"""Messages in the words of the command line."""

import pytest

from anls_eval.cli.option_words import in_options
from anls_eval.errors import check_choice
from anls_eval.registry import MISSING
from anls_eval.rules.protocol import threshold_error

SAME = 'To score all the same: missing="zero" scores questions without a prediction 0'


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("threshold='7/5': expected a number from 0 to 1, of", "--threshold 7/5: expected a number from 0 to 1, of"),
        ("missing='a b': expected one of 'error'", "--missing 'a b': expected one of 'error'"),
        ("""protocol="it's": expected one of 'x'""", """--protocol 'it'"'"'s': expected one of 'x'"""),
        ("answer_type=None: expected one of 'Str'", "--answer-type: expected one of 'Str'"),
        ("answer_type='x': protocol 'due' has no answer types", "--answer-type x: protocol 'due' has no answer types"),
        ("dataset_id='x': expected owner/name, as in", "--dataset-id x: expected owner/name, as in"),
        (f"threshold='{'1' * 76}...: protocol 'x' has", f"--threshold {'1' * 76}...: protocol 'x' has"),
        (f"a. {SAME}.", "a. To score all the same: --missing zero scores questions without a prediction 0."),
        ("Mend these and run again with resume=True.", "Mend these and run again with --resume."),
        (
            "run again with resume=True, or leave them out with skip_bad=True.",
            "run again with --resume, or leave them out with --skip-bad.",
        ),
        ("3 parts are finished in a: go on with resume=True", "3 parts are finished in a: go on with --resume"),
        (
            "Mend them and run again with resume=True, or count questions without a prediction as wrong with "
            'missing="zero" and leave out predictions without a question with unknown="ignore".',
            "Mend them and run again with --resume, or count questions without a prediction as wrong with "
            "--missing zero and leave out predictions without a question with --unknown ignore.",
        ),
        (
            "name their column with columns={'predictions.question_id': NAME}.",
            "name their column with --columns predictions.question_id=NAME.",
        ),
        (
            "expected a new folder, or resume=True to go on with an earlier run",
            "expected a new folder, or --resume to go on with an earlier run",
        ),
        ("name its column with columns={'answer_type': NAME}", "name its column with --columns answer_type=NAME"),
        (
            "name their column with columns={'question_id': NAME}\nName the right one with columns={'answers': NAME}.",
            "name their column with --columns question_id=NAME\nName the right one with --columns answers=NAME.",
        ),
    ],
)
def test_what_is_translated(message: str, expected: str) -> None:
    assert in_options(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "missing='zero': cannot be opened",
        "missing='zero'.json, line 1: expected one of 'a'",
        "a: missing='zero': expected one of 'error'",
        f"{SAME}.json: cannot be opened",
        "the column 'name its column with columns={'answers': NAME}' is there",
        "resume=True",
        "with columns={'answers': NAME}",
    ],
)
def test_what_stays(message: str) -> None:
    assert in_options(message) == message


@pytest.mark.parametrize("threshold", ["7/5", "x" * 200, "it's", "\x1b"])
def test_the_messages_of_the_metric(threshold: str) -> None:
    """These are the sentences that it says, now."""
    assert in_options(str(threshold_error(threshold))).startswith("--threshold ")
    with pytest.raises(ValueError, match="expected one of") as found:
        check_choice("missing", threshold, MISSING)
    assert in_options(str(found.value)).startswith("--missing ")
