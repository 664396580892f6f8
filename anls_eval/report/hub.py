"""Scores for the ``.eval_results/*.yaml`` of a model on the Hugging Face Hub: https://huggingface.co/docs/hub/eval-results."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, HfApi, eval_result_entries_to_yaml

from anls_eval.errors import AnlsError
from anls_eval.files.write import whole_file
from anls_eval.submission.score import SubmissionScore


def write_eval_result(
    folder: str | os.PathLike[str], result: SubmissionScore, *, dataset_id: str, task_id: str
) -> Path:
    """Write the entry of a score to a local copy of a model's repository, and return the path of the file."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", dataset_id):
        raise AnlsError("expected owner/name, such as lmms-lab/DocVQA", option="dataset_id", value=dataset_id)
    if not task_id:
        raise ValueError("task_id is empty; expected the task in the data set, such as docvqa_val")
    entry = EvalResultEntry(
        dataset_id=dataset_id,
        task_id=task_id,
        value=result.score,
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        notes=result.signature,
    )
    name = re.sub(r"[^\w.-]+", "-", f"{dataset_id.rpartition('/')[2]}-{task_id}")
    path = Path(folder) / ".eval_results" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=10_000)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path


def push_eval_result(path: Path, repo_id: str) -> str:
    """Upload a file to a model on the Hub, with the user's access token, and return the URL of the commit."""
    commit = HfApi().upload_file(
        path_or_fileobj=path,
        path_in_repo=f".eval_results/{path.name}",
        repo_id=repo_id,
        commit_message=f"Add evaluation result {path.stem}",
    )
    return str(commit.commit_url)
