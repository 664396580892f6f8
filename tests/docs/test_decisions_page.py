"""docs/decisions.md: its script runs, and its commands print what is shown."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from places import ROOT

PAGE = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
[SCRIPT] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    found
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for found in re.findall(r"^\$ anls (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def test_the_commands_print_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "prepare.py").write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert ran("prepare.py").returncode == 0
    assert {shlex.split(command)[0] for command, _ in COMMANDS} == {"audit", "agreement", "automate"}
    for command, shown in COMMANDS:
        done = ran("-m", "anls_eval", *shlex.split(command))
        assert (done.returncode, done.stderr) == (0, "")
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(shown, done.stdout, flags), done.stdout
