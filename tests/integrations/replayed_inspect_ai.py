"""The tasks of the Inspect example, with a model that gives fixed answers."""

import json
from typing import Any

from inspect_ai import Task, task, task_with
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from examples import receipts_inspect

ROWS = [json.loads(line) for line in receipts_inspect.QUESTIONS.read_text(encoding="utf-8").splitlines()]
ANSWERS = dict(zip(
    [row["id"] for row in ROWS],
    ["EUR 13.3", "12/03/2024", "carrot cake", "Brenner Hardwear", "6.25", "in cash."],
    strict=True,
))  # fmt: skip
TOTALS = {
    "cafe": '```json\n{"date": "12/3/2024", "total": 13.3}\n```',
    "hardware": 'The total is {"total": "17.85"',
}


def replay(messages: list[Any], *_: Any) -> ModelOutput:
    """Answer by what was asked; without a usage the mock model would download a tokenizer to count."""
    asked = messages[-1].text
    given = [ANSWERS[row["id"]] for row in ROWS if f"{row['question']} Answer" in asked]
    given += [TOTALS[row["receipt"]] for row in ROWS if asked == f"{row['context']}{receipts_inspect.ASK_FOR_JSON}"]
    output = ModelOutput.from_content("mockllm/model", given[0])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def replayed(own: Task) -> Task:
    return task_with(own, model=get_model("mockllm/model", custom_outputs=replay, memoize=False))


@task
def answers(protocol: str = "standard") -> Task:
    return replayed(receipts_inspect.answers(protocol))


@task
def totals(fields: str | None = None) -> Task:
    return replayed(receipts_inspect.totals(fields))
