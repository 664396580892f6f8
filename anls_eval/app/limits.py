"""How much one user may ask of the app, and how to say so."""

from __future__ import annotations

from typing import Any

MOST_CHARACTERS = 20_000
"""In a prediction, and in all of its answers together: their alignment needs memory by the product of both."""

MOST_ANSWERS = 200

MOST_JSON = 500_000
"""Characters of one document."""

MOST_VALUES = 5_000
"""In one document: two lists are compared item by item with item."""

MOST_DEPTH = 100

UPLOAD = 50_000_000
"""Bytes of one file, as it is sent."""

UNPACKED = 200_000_000
"""Bytes of one file, after decompression."""

MOST_QUESTIONS = 200_000

MOST_SYSTEMS = 12
"""In one comparison: each pair of them is tested."""

DOCUMENT_SECONDS = 20

SUBMISSION_SECONDS = 180

ELSEWHERE = "The command line has no such limit: pip install '.[eval]' in a clone of this Space."


def check_text(prediction: str, answers: list[str]) -> None:
    """Refuse texts that are too long to be aligned while a user waits.

    Raises:
        ValueError: One of the limits is passed.
    """
    if len(answers) > MOST_ANSWERS:
        raise ValueError(f"there are {len(answers):,} answers; expected at most {MOST_ANSWERS} here. {ELSEWHERE}")
    for name, size in (("the prediction has", len(prediction)), ("the answers have", sum(map(len, answers)))):
        if size > MOST_CHARACTERS:
            raise ValueError(f"{name} {size:,} characters; expected at most {MOST_CHARACTERS:,} here. {ELSEWHERE}")


def check_tree(tree: Any, name: str) -> None:
    """Refuse a document that is too deep or too large.

    Args:
        tree: Of dicts, lists and tuples.
        name: What to call it.

    Raises:
        ValueError: One of the limits is passed.

    Example:
        >>> check_tree({"a": [1, 2]}, "the prediction")
        >>> check_tree([0] * 5_001, "the prediction")
        Traceback (most recent call last):
        ...
        ValueError: the prediction has more than 5,000 values, the limit here. The command line has no such limit: \
pip install '.[eval]' in a clone of this Space.
    """
    level, count = [tree], 0
    for _ in range(MOST_DEPTH):
        count += len(level)
        if count > MOST_VALUES:
            raise ValueError(f"{name} has more than {MOST_VALUES:,} values, the limit here. {ELSEWHERE}")
        level = [child for own in level for child in _children(own)]
        if not level:
            return
    raise ValueError(f"{name} is nested more than {MOST_DEPTH} deep, the limit here. {ELSEWHERE}")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []


def check_questions(count: int | None) -> None:
    """Refuse a file with too many questions; None is a number that is not known yet.

    Raises:
        ValueError: The limit is passed.
    """
    if count is not None and count > MOST_QUESTIONS:
        raise ValueError(f"there are more than {MOST_QUESTIONS:,} questions, the limit here. {ELSEWHERE}")
