"""Scores for the ``.eval_results/*.yaml`` of a model on the Hugging Face Hub: https://huggingface.co/docs/hub/eval-results."""

from __future__ import annotations

import datetime
import functools
import os
import re
from http import HTTPStatus
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, HfApi, eval_result_entries_to_yaml
from huggingface_hub.errors import HfHubHTTPError

from anls_eval.errors import AnlsError
from anls_eval.files.errors import OutputError
from anls_eval.files.write import check_replaceable, whole_file
from anls_eval.submission.score import SubmissionScore

_HttpError: type[Exception] = HfHubHTTPError.__mro__[1]  # of the HTTP library, whose name differs between versions


def write_eval_result(
    folder: str | os.PathLike[str],
    result: SubmissionScore,
    *,
    dataset_id: str,
    task_id: str,
    dataset_revision: str | None = None,
    source_url: str | None = None,
    scale: int = 1,
) -> Path:
    """Write the entry of a score to a local copy of a model's repository.

    Args:
        folder: The folder of the repository; the file goes to ``.eval_results`` in it.
        result: The score.
        dataset_id: The data set on the Hub, as ``owner/name``.
        task_id: The task, as the ``eval.yaml`` of the data set names it.
        dataset_revision: The commit of the data set.
        source_url: Where the predictions or logs can be seen.
        scale: 1, or 100 for percentages, as the benchmark reports its scores. The notes record it, with the signature.

    Returns:
        The path of the file.

    Raises:
        ValueError: The data set, revision or source is not of the form that the Hub expects, or there is no task.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", dataset_id):
        raise AnlsError("expected owner/name, such as lmms-lab/DocVQA", option="dataset_id", value=dataset_id)
    if not task_id:
        raise ValueError("task_id is empty; expected the task in the data set, such as docvqa_val")
    if dataset_revision is not None and not re.fullmatch(r"[0-9a-f]{7,40}", dataset_revision):
        expected = "expected the commit of the data set: 7 to 40 of the digits 0-9 and a-f"
        raise AnlsError(expected, option="dataset_revision", value=dataset_revision)
    if source_url is not None and not re.fullmatch(r"https?://[^\s/]+\S*", source_url):
        raise AnlsError("expected an address that begins with https://", option="source_url", value=source_url)
    if scale not in (1, 100):
        raise AnlsError("expected 1, or 100 for percentages", option="scale", value=scale)
    entry = EvalResultEntry(
        dataset_id=dataset_id,
        task_id=task_id,
        value=result.score * scale,
        dataset_revision=dataset_revision,
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        source_url=source_url,
        notes=f"from 0 to {scale}; {result.signature}",
    )
    path = eval_result_path(folder, dataset_id, task_id)
    check_replaceable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(str(path.parent), f"cannot be created: {error.strerror}.") from None
    text = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=10_000)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path


def eval_result_path(folder: str | os.PathLike[str], dataset_id: str, task_id: str) -> Path:
    """Return the file of an entry in a local copy of a model's repository."""
    name = re.sub(r"[^\w.-]+", "-", f"{dataset_id.rpartition('/')[2]}-{task_id}")
    return Path(folder) / ".eval_results" / f"{name}.yaml"


def push_eval_result(path: Path, repo_id: str) -> str:
    """Upload a file to a model on the Hub with the user's access token; where the user may not, open a pull request.

    Returns:
        The URL of the commit or of the pull request.

    Raises:
        ValueError: The Hub refuses the file or cannot be reached.
    """
    upload = functools.partial(
        HfApi().upload_file,
        path_or_fileobj=path,
        path_in_repo=f".eval_results/{path.name}",
        repo_id=repo_id,
        commit_message=f"Add evaluation result {path.stem}",
    )
    try:
        try:
            commit = upload()
        except HfHubHTTPError as error:
            if error.response.status_code != HTTPStatus.FORBIDDEN:
                raise
            commit = upload(create_pr=True)
    except _HttpError as error:
        problem = " ".join(str(error).split())
        raise ValueError(
            f"{path} was written, but not uploaded to {repo_id}: {problem}. Check the name of the model, log in with "
            "`hf auth login`, and upload it again"
        ) from None
    return str(commit.pr_url or commit.commit_url)
