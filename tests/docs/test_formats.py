"""Every file and command in docs/formats.md, written and run."""

import re
import warnings
from pathlib import Path

import pytest
from places import ROOT

from anls_eval.cli import commands
from anls_eval.files import FORMATS
from anls_eval.files.columns import LAYOUTS

PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
FILES = re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)
RUNS = re.findall(r"```console\n\$ anls (.*)\n((?:.*\n)*?)```", PAGE)


@pytest.mark.parametrize(("command", "shown"), RUNS, ids=[command for command, _ in RUNS])
def test_command_prints_what_is_shown(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in FILES:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["anls", *command.split()])
    with warnings.catch_warnings(), pytest.raises(SystemExit):
        commands.main()
    assert capsys.readouterr().out.startswith(shown)


def test_each_file_is_used() -> None:
    assert all(name in " ".join(command for command, _ in RUNS) for name, _ in FILES)
    assert set(LAYOUTS) <= set(FORMATS)
