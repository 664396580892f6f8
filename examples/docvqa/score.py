"""Score the DocVQA answers of a real model through `evaluate`.

Run ``python examples/docvqa/score.py [PROTOCOL]``.
"""

import json
import sys
from pathlib import Path

import evaluate

HERE = Path(__file__).resolve().parent
METRIC = HERE.parent.parent / "anls.py"


def main(protocol: str = "standard") -> None:
    """Read the two files, score them by the protocol and print what came out."""
    gold = json.loads((HERE / "references.json").read_text(encoding="utf-8"))
    submission = json.loads((HERE / "pred_qwen2_vl_7b_instruct.json").read_text(encoding="utf-8"))

    metric = evaluate.load(str(METRIC), protocol)
    result = metric.compute(
        predictions=[{"question_id": row["questionId"], "prediction_text": row["answer"]} for row in submission],
        references=[{"question_id": row["questionId"], "answers": row["answers"]} for row in gold["data"]],
        detailed=True,
    )

    print(f"Qwen2-VL-7B-Instruct on {gold['dataset_name']}")
    print(f"ANLS       {result['anls_score']:.6f}")
    print(f"questions  {result['n']}")
    print(f"signature  {result['signature']}")
    print()
    print("Next: the same answers by the official script, .venv/bin/python examples/docvqa/score.py rrc")
    print("      your own answers in the web app, make app")


if __name__ == "__main__":
    main(*sys.argv[1:2])
