"""Two tasks for Inspect: questions about receipts, scored by ANLS, and whole receipts as JSON, scored by ANLS*.

Run ``inspect eval examples/receipts_inspect.py --model MODEL``.
"""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import stderr

from anls_eval.integrations.inspect_ai import anls, anls_star, mean

QUESTIONS = Path(__file__).resolve().parent / "receipts.jsonl"
ASK_FOR_JSON = "\n\nGive the date and the total as JSON with the keys date and total."
TOTALS = {"cafe": {"date": "12/03/2024", "total": "13.30"}, "hardware": {"date": None, "total": "17.85"}}


@task
def answers(protocol: str = "standard") -> Task:
    """Ask for short answers. Questions about one receipt are not independent: the standard error is clustered."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    samples = [
        Sample(
            id=row["id"],
            input=f"{row['context']}\n\n{row['question']} Answer with a word or phrase of the receipt.",
            target=row["answers"],
            metadata={"receipt": row["receipt"]},
        )
        for row in rows
    ]
    return Task(
        dataset=MemoryDataset(samples),
        scorer=anls(protocol),
        metrics=[mean(), stderr(cluster="receipt")],
    )


@task
def totals(fields: str | None = None) -> Task:
    """Ask for the date and the total as JSON; a file of fields may say that they are a date and a number."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    contexts = {row["receipt"]: row["context"] for row in rows}
    samples = [
        Sample(
            id=receipt,
            input=context + ASK_FOR_JSON,
            target=json.dumps(TOTALS[receipt]),
        )
        for receipt, context in contexts.items()
    ]
    return Task(dataset=MemoryDataset(samples), scorer=anls_star(fields=fields))
