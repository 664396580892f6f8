"""The types that come with the package: a user's script is checked as strictly as mypy can."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import anls_eval

SCRIPT = ROOT / "tests" / "project" / "typed_script.py"


def check(script: Path, folder: Path) -> str:
    """What mypy finds in a script in another folder, which has the package beside it but none of our configuration."""
    copy = folder / "script.py"
    copy.write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "anls_eval").symlink_to(ROOT / "anls_eval")
    command = [sys.executable, "-m", "mypy", "--strict", "--disallow-any-expr", "--follow-imports=silent", "script.py"]
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.long
def test_a_typed_script(tmp_path: Path) -> None:
    assert check(SCRIPT, tmp_path) == "Success: no issues found in 1 source file\n"


def test_the_script_uses_every_public_name() -> None:
    assert (ROOT / "anls_eval" / "py.typed").exists()
    text = SCRIPT.read_text(encoding="utf-8")
    used = text[text.index(")\n") :]  # behind the import
    assert [name for name in anls_eval.__all__ if name not in used] == []
