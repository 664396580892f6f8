"""Evaluate a DSPy program by ANLS.

The language model is a dummy that gives fixed answers: replace it by ``dspy.LM(...)``. Run
``python examples/dspy_program.py``.
"""

import json
from pathlib import Path

import dspy
from dspy.utils import DummyLM

from anls_eval.integrations.dspy import make_metric

QUESTIONS = Path(__file__).resolve().parent / "receipts.jsonl"
GIVEN = ["EUR 13.3", "12/03/2024", "carrot cake", "Brenner Hardwear", "6.25", "in cash."]


def evaluate() -> float:
    """Give the score of the program, from 0 to 100 as DSPy counts."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    examples = [dspy.Example(**row).with_inputs("context", "question") for row in rows]
    replies = {row["question"]: {"answer": answer} for row, answer in zip(rows, GIVEN, strict=True)}
    program = dspy.Predict("context, question -> answer")
    with dspy.context(lm=DummyLM(replies)):
        score: float = dspy.Evaluate(devset=examples, metric=make_metric(), num_threads=1)(program).score
    return score


if __name__ == "__main__":
    print(f"ANLS {evaluate():.2f} of 100")
