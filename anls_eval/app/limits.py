"""How much one user may ask of the app, and the errors that say so."""

from __future__ import annotations

from typing import Any

MAX_CHARACTERS = 20_000  # in a prediction, and in all its answers: aligning them needs memory by the product of both
MAX_ANSWERS = 200
MAX_JSON_CHARACTERS = 500_000  # in one document
MAX_VALUES = 5_000  # in one document: every item of a list is compared with every item of its partner
MAX_DEPTH = 100
MAX_UPLOAD_BYTES = 50_000_000  # in one file as it is sent
MAX_UNPACKED_BYTES = 200_000_000  # in one file after decompression
MAX_QUESTIONS = 200_000
MAX_SYSTEMS = 12  # in one comparison: every pair is tested
MAX_GROUPS = 30  # of a column that are shown
DOCUMENT_SECONDS = 20
SUBMISSION_SECONDS = 180
MAX_MEMORY_BYTES = 6 << 30  # of the process that does the work
SUGGEST_COMMAND_LINE = "The command line has no such limit: pip install '.[eval]' in a clone of this Space."


def check_text(prediction: str, answers: list[str]) -> None:
    """Raise a ValueError for texts that are too long to be aligned while a user waits."""
    if len(answers) > MAX_ANSWERS:
        raise ValueError(
            f"there are {len(answers):,} answers; expected at most {MAX_ANSWERS} here. {SUGGEST_COMMAND_LINE}"
        )
    for name, size in (("the prediction has", len(prediction)), ("the answers have", sum(map(len, answers)))):
        if size > MAX_CHARACTERS:
            raise ValueError(
                f"{name} {size:,} characters; expected at most {MAX_CHARACTERS:,} here. {SUGGEST_COMMAND_LINE}"
            )


def check_tree(tree: Any, name: str) -> None:
    """Raise a ValueError for a document that is too deep or too large."""
    level, count = [tree], 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > MAX_VALUES:
            raise ValueError(f"{name} has more than {MAX_VALUES:,} values, the limit here. {SUGGEST_COMMAND_LINE}")
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise ValueError(f"{name} is nested more than {MAX_DEPTH} levels deep, the limit here. {SUGGEST_COMMAND_LINE}")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []


def check_questions(count: int | None) -> None:
    """Raise a ValueError for a file with too many questions; None is a number that is not known yet."""
    if count is not None and count > MAX_QUESTIONS:
        raise ValueError(f"there are more than {MAX_QUESTIONS:,} questions, the limit here. {SUGGEST_COMMAND_LINE}")
