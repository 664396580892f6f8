"""Results on the Hub: the entry's fields, and uploads to a stand-in of the Hub on this machine."""

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries
from places import ROOT

from anls_eval.report.hub import write_eval_result
from anls_eval.submission.score import SubmissionScore, score_submission

BENCHMARK: Any = {"dataset_id": "lmms-lab/DocVQA", "task_id": "docvqa_val"}


class StandIn(http.server.BaseHTTPRequestHandler):
    """What the Hub answers to an upload: ours/model takes it, theirs/model takes pull requests, no other exists."""

    uploads: list[tuple[str, dict[str, str]]]  # path of the request, and content of each file

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        if path.startswith("/api/models/ours/model/"):
            allowed = True
        elif path.startswith("/api/models/theirs/model/"):
            allowed = query == "create_pr=1"
        else:
            return self.answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        if not allowed:
            return self.answer(403, {"error": "pass `create_pr=1` as a query parameter to create a Pull Request"})
        if "/preupload/" in path:
            files = [{"path": own["path"], "uploadMode": "regular", "shouldIgnore": False}
                     for own in json.loads(body)["files"]]  # fmt: skip
            return self.answer(200, {"files": files})
        lines = [json.loads(line) for line in body.splitlines()]
        files_sent = {
            own["value"]["path"]: base64.b64decode(own["value"]["content"]).decode()
            for own in lines
            if own["key"] == "file"
        }
        self.uploads.append((self.path, files_sent))
        address = f"http://{self.headers['Host']}/{'/'.join(path.split('/')[3:5])}"
        found = {"commitUrl": f"{address}/commit/0123456", "commitOid": "0123456"}
        if query == "create_pr=1":
            found["pullRequestUrl"] = f"{address}/discussions/7"
        return self.answer(200, found)

    def answer(self, status: int, content: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    uploads: list[tuple[str, dict[str, str]]] = []
    handler = type("Handler", (StandIn,), {"uploads": uploads})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", uploads
        server.shutdown()


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "predictions.csv").write_text("id,prediction\n1,Lima\n2,Roma\n")
    (tmp_path / "references.csv").write_text("id,answer\n1,Lima\n2,Rome\n")
    return [str(tmp_path / name) for name in ("predictions.csv", "references.csv")]


@pytest.fixture
def result(files: list[str]) -> SubmissionScore:
    return score_submission(*files)


def push(repository: str, endpoint: str, files: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anls_eval", "score", files[0], "-r", files[1], "-q", "--push", repository]
    command += ["--eval-results", str(folder), "--dataset-id", "lmms-lab/DocVQA", "--task-id", "docvqa_val"]
    command += ["--scale", "100", "--source-url", "https://example.org/logs", "--dataset-revision", "5503434"]
    environment = os.environ | {"HF_ENDPOINT": endpoint, "HF_TOKEN": "hf_x", "HF_HUB_DISABLE_XET": "1"}
    environment |= {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "0"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("repository", "link"),
    [("ours/model", "ours/model/commit/0123456"), ("theirs/model", "theirs/model/discussions/7")],
)
def test_push(repository: str, link: str, hub: Any, files: list[str], tmp_path: Path) -> None:
    """Without the right to push, a pull request is opened; what arrives is the file, with all that it records."""
    endpoint, uploads = hub
    done = push(repository, endpoint, files, tmp_path)
    assert (done.returncode, f"uploaded: {endpoint}/{link}" in done.stderr) == (0, True), done.stderr
    [(_, sent)] = uploads
    [(name, text)] = sent.items()
    assert name == ".eval_results/DocVQA-docvqa_val.yaml"
    assert text == (tmp_path / name).read_text(encoding="utf-8")
    [entry] = parse_eval_result_entries(yaml.safe_load(text))
    assert (entry.value, entry.dataset_revision, entry.source_url) == (87.5, "5503434", "https://example.org/logs")
    assert entry.notes is not None
    assert entry.notes.startswith("from 0 to 100; anls|protocol:standard|")


def test_push_to_nowhere(hub: Any, files: list[str], tmp_path: Path) -> None:
    endpoint, uploads = hub
    done = push("no/such", endpoint, files, tmp_path)
    assert (done.returncode, uploads) == (2, [])
    assert "was written, but not uploaded to no/such: " in done.stderr
    assert "hf auth login" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / ".eval_results" / "DocVQA-docvqa_val.yaml").exists()


def test_the_entry(result: SubmissionScore, tmp_path: Path) -> None:
    path = write_eval_result(tmp_path, result, **BENCHMARK)
    [entry] = parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert entry == EvalResultEntry(**BENCHMARK, value=0.875, date=entry.date, notes=f"from 0 to 1; {result.signature}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 10}, "scale=10: expected 1, or 100"),
        ({"source_url": "example.org"}, "source_url='example.org': expected an address"),
        ({"dataset_revision": "main"}, "dataset_revision='main': expected the commit"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str, result: SubmissionScore, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        write_eval_result(tmp_path, result, **BENCHMARK, **options)
    assert list(tmp_path.glob(".eval_results/*")) == []
