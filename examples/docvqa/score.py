"""Score the DocVQA answers of a real model through `evaluate`.

Run ``python examples/docvqa/score.py [PROTOCOL]``.
"""

import argparse
import json
from pathlib import Path

import evaluate

from anls_eval.statistics import confidence_interval

HERE = Path(__file__).resolve().parent
METRIC = HERE.parent.parent / "anls.py"


def main() -> None:
    """Read the two files, score them by the protocol and print what came out."""
    parser = argparse.ArgumentParser(description="Score the DocVQA answers of a real model.")
    parser.add_argument("protocol", nargs="?", default="standard", help="a protocol of texts, such as rrc or paper")
    protocol = parser.parse_args().protocol
    try:
        metric = evaluate.load(str(METRIC), protocol)
    except ValueError as error:
        parser.error(str(error))
    if metric.protocol.tree:
        parser.error(f"the protocol {protocol!r} scores trees, and these are texts")

    gold = json.loads((HERE / "references.json").read_text(encoding="utf-8"))
    submission = json.loads((HERE / "pred_qwen2_vl_7b_instruct.json").read_text(encoding="utf-8"))
    result = metric.compute(
        predictions=[{"question_id": row["questionId"], "prediction_text": row["answer"]} for row in submission],
        references=[{"question_id": row["questionId"], "answers": row["answers"]} for row in gold["data"]],
        detailed=True,
    )

    print(f"Qwen2-VL-7B-Instruct on {gold['dataset_name']}")
    interval = confidence_interval(result["scores"])
    print(f"ANLS          {result['anls_score']:.6f}")
    print(f"95% interval  {interval.low:.6f} to {interval.high:.6f}")
    print(f"questions     {result['n']}")
    print(f"signature     {result['signature']}")
    print()
    print("Next: another protocol, .venv/bin/python examples/docvqa/score.py rrc (the official script) or paper")
    print("      your own files, .venv/bin/python -m pip install '.[eval]' and .venv/bin/anls score --help")
    print("      the web app, make app")


if __name__ == "__main__":
    main()
