"""What the portals of leaderboards accept as a submission."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Portal:
    """The form that a portal takes.

    Args:
        name: A layout of `formats.FORMATS`.
        question_id: The key of the id.
        answer: The key of the prediction.
        integer_ids: Whether ids are compared as integers; otherwise as text.
        lists: Whether the prediction is a list of texts.
        confidence: The key of the confidences, which may be absent.
        form: A row, for messages.
        source: Where the rules were read.
    """

    name: str
    question_id: str
    answer: str
    integer_ids: bool
    lists: bool
    confidence: str | None
    form: str
    source: str


PORTALS = {
    portal.name: portal
    for portal in (
        Portal(
            name="rrc",
            question_id="questionId",
            answer="answer",
            integer_ids=True,
            lists=False,
            confidence=None,
            form='{"questionId": 49153, "answer": "0.28"}',
            source="the Robust Reading Competition's script for DocVQA, as shunk031/ANLS (6472e1d) keeps its checks",
        ),
        Portal(
            name="dude",
            question_id="questionId",
            answer="answers",
            integer_ids=False,
            lists=True,
            confidence="answers_confidence",
            form='{"questionId": "7afe_489a", "answers": ["Yes"], "answers_confidence": [0.9]}',
            source="Jordy-VL/DUDEeval (8bd6dea), evaluate_submission.py",
        ),
    )
}
"""The portals by layout. Both take a JSON list with one row for each question of the references, and no other."""
