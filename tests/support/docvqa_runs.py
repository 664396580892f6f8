"""Six real submissions to SP-DocVQA val, 1,000 questions each, as columns in the order of the questions."""

import json

from places import DATA

FOLDER = DATA / "docvqa"
RUNS = sorted(path.stem.removeprefix("pred_") for path in FOLDER.glob("pred_*.json"))


def answers() -> list[list[str]]:
    return [row["answers"] for row in _gold()]


def predictions(run: str) -> list[str]:
    rows = json.loads((FOLDER / f"pred_{run}.json").read_text(encoding="utf-8"))
    by_id = {row["questionId"]: row["answer"] for row in rows}
    return [by_id[row["questionId"]] for row in _gold()]


def _gold() -> list[dict[str, list[str]]]:
    rows: list[dict[str, list[str]]] = json.loads((FOLDER / "gold.json").read_text(encoding="utf-8"))["data"]
    return rows
