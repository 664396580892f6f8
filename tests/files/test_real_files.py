"""Files in the form of public reports, scored as their users would score them.

tests/data/real_files.jsonl holds them: small `files` by name, and `runs` of the command line with what they must say.
"""

import base64
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from places import DATA

from anls_eval.cli import commands

CASES = [json.loads(line) for line in (DATA / "real_files.jsonl").read_text(encoding="utf-8").splitlines()]
NOT_EXTRACTED = "an answer cannot be taken out of a longer text yet: there is no --extract"


class Ran(NamedTuple):
    status: int
    out: str
    err: str


def each_run() -> list[Any]:
    runs = []
    for case in CASES:
        for number, run in enumerate(case["runs"]):
            extracts = "extract" in json.dumps(run) or "answer_tag" in json.dumps(run)
            marks = [pytest.mark.xfail(strict=True, reason=NOT_EXTRACTED)] if extracts else []
            runs.append(pytest.param(case["files"], run, id=f"{case['id']}-{number}", marks=marks))
    return runs


def write(files: dict[str, Any], folder: Path) -> None:
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
        (folder / name).write_bytes(data)


@pytest.mark.parametrize(("files", "run"), each_run())
def test_case(
    files: dict[str, Any],
    run: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(files, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["anls", *run["args"]])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
        commands.main()
    ran = Ran(int(stop.value.code or 0), *capsys.readouterr())
    if "status" in run:
        assert ran.status == run["status"]
    if "json" in run or "by" in run:
        assert ran.status == 0, ran.err
        found = json.loads(ran.out)
        for name, value in run.get("json", {}).items():
            assert found[name] == pytest.approx(value, abs=1e-12), name
        for column, groups in run.get("by", {}).items():
            assert {value: [own["n"], own["score"]] for value, own in found["by"][column].items()} == {
                value: [n, pytest.approx(score, abs=1e-12)] for value, (n, score) in groups.items()
            }
    said = (ran.out + ran.err).casefold()
    for text in run.get("says", []):
        assert text.casefold() in said
    for text in run.get("never", []):
        assert text.casefold() not in said
