"""Log the score of a real DocVQA run to MLflow, Weights & Biases and Trackio, on this machine.

Run ``python examples/tracked_result.py [FOLDER]``: all three write into the folder, and nothing is sent.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
os.environ |= {"TRACKIO_DIR": str(FOLDER / "trackio"), "WANDB_MODE": "offline"}  # read when they are imported

import mlflow  # noqa: E402
import trackio  # noqa: E402
import wandb  # noqa: E402

from anls_eval.integrations import trackers  # noqa: E402
from anls_eval.metric import ANLS  # noqa: E402

DOCVQA = Path(__file__).resolve().parent / "docvqa"


def score() -> dict[str, Any]:
    """Give the detailed result."""
    references = json.loads((DOCVQA / "references.json").read_text(encoding="utf-8"))["data"]
    rows = json.loads((DOCVQA / "pred_qwen2_vl_7b_instruct.json").read_text(encoding="utf-8"))
    result = ANLS().compute(
        predictions=[{"question_id": row["questionId"], "prediction_text": row["answer"]} for row in rows],
        references=[{"question_id": row["questionId"], "answers": row["answers"]} for row in references],
        detailed=True,
    )
    assert result is not None  # noqa: S101  only in another process than the first
    return result


def main() -> None:
    """Log numbers as metrics and texts as parameters."""
    result = score()
    numbers, texts = trackers.metrics(result, prefix="docvqa"), trackers.texts(result, prefix="docvqa")

    mlflow.set_tracking_uri(f"sqlite:///{FOLDER / 'mlflow.db'}")
    with mlflow.start_run(run_name="qwen2-vl-7b"):
        mlflow.log_metrics(numbers)
        mlflow.log_params(texts)

    with wandb.init(project="docvqa", dir=FOLDER, config=texts) as run:
        run.log(numbers)

    trackio.init(project="docvqa", name="qwen2-vl-7b", config=texts, embed=False)
    trackio.log(numbers)
    trackio.finish()


if __name__ == "__main__":
    main()
