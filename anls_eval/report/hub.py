"""Scores as the Hugging Face Hub shows them on a model's page: ``.eval_results/*.yaml``.

Source: https://huggingface.co/docs/hub/eval-results.
"""

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


def eval_result(
    result: SubmissionScore,
    *,
    dataset_id: str,
    task_id: str,
    date: datetime.date | None = None,
    source_url: str | None = None,
) -> EvalResultEntry:
    """Return a Hub entry for a score.

    Args:
        result: The score, from `score_submission`.
        dataset_id: Data set on the Hub, such as ``"lmms-lab/DocVQA"``.
        task_id: Task of that data set, such as ``"docvqa_val"``.
        date: Date of the evaluation. Defaults to today (UTC).
        source_url: Link to the evaluation.

    Returns:
        An entry whose value is the score, from 0 to 1, and whose notes are its signature.

    Raises:
        ValueError: The data set is not of the form ``owner/name``, or the task is empty.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", dataset_id):
        raise AnlsError("expected owner/name, such as lmms-lab/DocVQA", option="dataset_id", value=dataset_id)
    if not task_id:
        raise ValueError("task_id is empty; expected the task in the data set, such as docvqa_val")
    return EvalResultEntry(
        dataset_id=dataset_id,
        task_id=task_id,
        value=result.score,
        date=(date or datetime.datetime.now(datetime.timezone.utc).date()).isoformat(),
        source_url=source_url,
        source_name=None if source_url is None else "anls",
        notes=result.signature,
    )


def write_eval_result(folder: str | os.PathLike[str], entry: EvalResultEntry) -> Path:
    """Write an entry to a local copy of the model's repository.

    Args:
        folder: Folder of the repository; created if it does not exist.
        entry: From `eval_result`.

    Returns:
        The path of the file, ``.eval_results/DATASET-TASK.yaml`` in the folder; an existing file is replaced.

    Raises:
        ValueError: The file cannot be written.
    """
    name = re.sub(r"[^\w.-]+", "-", f"{entry.dataset_id.rpartition('/')[2]}-{entry.task_id}")
    path = Path(folder) / ".eval_results" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=10_000)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path


def push_eval_result(path: Path, repo_id: str) -> str:
    """Upload a file from `write_eval_result` to a model on the Hub, with the user's access token.

    Args:
        path: The file.
        repo_id: The model, as ``owner/name``.

    Returns:
        The URL of the commit.
    """
    commit = HfApi().upload_file(
        path_or_fileobj=path,
        path_in_repo=f".eval_results/{path.name}",
        repo_id=repo_id,
        commit_message=f"Add evaluation result {path.stem}",
    )
    return str(commit.commit_url)
