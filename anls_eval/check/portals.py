"""What the portals of leaderboards accept as a submission."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Portal:
    """The form that a portal takes."""

    name: str  # of its layout
    answer: str  # the key of the prediction
    form: str  # a row, for messages
    question_id: str = "questionId"  # the key of the id
    integer_ids: bool = False  # whether ids are compared as integers; otherwise as text
    lists: bool = False  # whether the prediction is a list of texts
    confidence: str | None = None  # the key of the confidences, which may be absent


PORTALS = {
    # The Robust Reading Competition's script for DocVQA, as shunk031/ANLS (6472e1d) keeps its checks.
    "rrc": Portal("rrc", "answer", '{"questionId": 49153, "answer": "0.28"}', integer_ids=True),
    # Jordy-VL/DUDEeval (8bd6dea), evaluate_submission.py.
    "dude": Portal(
        "dude",
        "answers",
        '{"questionId": "7afe_489a", "answers": ["Yes"], "answers_confidence": [0.9]}',
        lists=True,
        confidence="answers_confidence",
    ),
}
"""The portals by layout. Both take a JSON list with one row for each question of the references, and no other."""
