"""Questions to score: real ones from DocVQA, and variants that are longer or have more answers."""

import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.documents import description, with_slips

DOCVQA = Path(__file__).resolve().parent.parent / "examples" / "docvqa"


class Questions(NamedTuple):
    """The predictions of n questions, and the answers of each."""

    predictions: list[str]
    answers: list[list[str]]

    def first(self, n: int) -> "Questions":
        """Keep so many of them."""
        return Questions(self.predictions[:n], self.answers[:n])

    def rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The predictions and the references that `evaluate` takes."""
        return (
            [{"question_id": str(i), "prediction_text": text} for i, text in enumerate(self.predictions)],
            [{"question_id": str(i), "answers": answers} for i, answers in enumerate(self.answers)],
        )


def docvqa_questions(n: int) -> Questions:
    """Repeat the real questions and the answers of six models to them until there are n."""
    return as_questions(itertools.islice(itertools.cycle(_docvqa_pairs()), n))


def _docvqa_pairs() -> list[tuple[str, list[str]]]:
    gold = json.loads((DOCVQA / "references.json").read_text(encoding="utf-8"))["data"]
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DOCVQA.glob("pred_*.json"))]
    predicted = [{row["questionId"]: row["answer"] for row in run} for run in runs]
    return [(run[row["questionId"]], row["answers"]) for row in gold for run in predicted]


def typo_questions(n: int) -> Questions:
    """Make n predictions, each an accepted answer of DocVQA with one character in fifteen replaced, at least one."""
    generator = random.Random(0)  # noqa: S311
    pairs = itertools.islice(itertools.cycle(_docvqa_pairs()), n)
    return as_questions((_with_typos(generator, generator.choice(answers)), answers) for _, answers in pairs)


def _with_typos(generator: random.Random, answer: str) -> str:
    text = answer
    while text == answer:
        text = with_slips(generator, answer)
    return text


def random_questions(n: int) -> Questions:
    """Make predictions of 20 letters, each with an answer that differs in 4 of them and an unrelated one."""
    generator = np.random.default_rng(0)
    letters = generator.integers(ord("a"), ord("z"), size=(n, 3, 20), endpoint=True, dtype=np.uint8)
    letters[:, 1, 4:] = letters[:, 0, 4:]
    texts = [[text.tobytes().decode() for text in row] for row in letters]
    return as_questions((prediction, answers) for prediction, *answers in texts)


def long_questions(n: int) -> Questions:
    """Make answers of 200 to 2,000 letters; a prediction has slips, or, one in four, is another text."""
    generator = random.Random(0)  # noqa: S311
    pairs = []
    for _ in range(n):
        answer = description(generator, generator.randint(200, 2_000))
        other = description(generator, generator.randint(200, 2_000))
        pairs.append((other if generator.random() < 0.25 else with_slips(generator, answer), [answer]))
    return as_questions(pairs)


def many_answers(n: int, each: int) -> Questions:
    """Take the predictions of DocVQA with the first answer, and those of the questions that follow."""
    pairs = _docvqa_pairs()
    answers = itertools.cycle([own[0] for _, own in pairs[::6]])  # of each question once
    pool = list(itertools.islice(answers, len(pairs) // 6 + each))
    rows = itertools.islice(itertools.cycle(enumerate(pairs)), n)
    return as_questions((prediction, pool[i // 6 : i // 6 + each]) for i, (prediction, _) in rows)


def as_questions(pairs: Iterable[tuple[str, list[str]]]) -> Questions:
    """Make every text an object of its own, as those read from a file are."""
    predictions: list[str] = []
    answers: list[list[str]] = []
    waiting = iter(pairs)
    while block := list(itertools.islice(waiting, 10_000)):
        for prediction, own in json.loads(json.dumps(block)):
            predictions.append(prediction)
            answers.append(own)
    return Questions(predictions, answers)
