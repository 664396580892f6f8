"""Evaluate a data set on the Hub by its eval.yaml, from the cache in HF_HOME, and write the log without a score.

Arguments: the folder of the logs. The environment has HF_HOME and HF_HUB_OFFLINE=1.
"""

import json
import os
import sys
from pathlib import Path

import inspect_ai
import pyarrow as pa
from datasets import Dataset
from inspect_ai.model import get_model
from replayed_inspect_ai import ROWS, replay

from examples import receipts_inspect

COMMIT = "0" * 40
EVAL_YAML = receipts_inspect.QUESTIONS.parent / "receipts_hub" / "eval.yaml"


def fill_cache(home: Path) -> None:
    """Write what a download of the data set anls/receipts leaves behind."""
    repository = home / "hub" / "datasets--anls--receipts"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    (snapshot / "eval.yaml").write_text(EVAL_YAML.read_text(encoding="utf-8"), encoding="utf-8")
    folder = home / "datasets" / "anls___receipts" / "default" / "0.0.0" / COMMIT
    folder.mkdir(parents=True)
    dataset = Dataset.from_list(ROWS)
    with pa.ipc.new_stream(folder / "receipts-test.arrow", dataset.data.schema) as writer:
        writer.write_table(dataset.data.table)
    split = {"name": "test", "num_bytes": 1, "num_examples": len(ROWS), "dataset_name": "receipts"}
    info = {"builder_name": "json", "dataset_name": "receipts", "config_name": "default", "splits": {"test": split}}
    info |= {"version": "0.0.0", "features": dataset.features.to_dict()}
    (folder / "dataset_info.json").write_text(json.dumps(info))


if __name__ == "__main__":
    fill_cache(Path(os.environ["HF_HOME"]))
    model = get_model("mockllm/model", custom_outputs=replay, memoize=False)
    [log] = inspect_ai.eval("hf/anls/receipts", model=model, score=False, log_dir=sys.argv[1], display="none")
    print(log.status)
