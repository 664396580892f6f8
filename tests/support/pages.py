"""The pages of the documentation: their blocks of code, and a folder and a shell in which to run them."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from places import ROOT

PAGES = {
    path.relative_to(ROOT).as_posix(): path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block of code."""

    language: str
    text: str


def blocks(name: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [Block(*found) for found in _BLOCK.findall(PAGES[name].read_text(encoding="utf-8"))]


def commands(name: str) -> Iterator[tuple[str, str]]:
    """The commands of a page, with the output that it shows."""
    for block in blocks(name):
        if block.language == "console":
            yield from _COMMAND.findall(block.text)


def prepared(folder: Path) -> dict[str, str]:
    """Make a folder like a clone, of which pages use the examples and data, and an environment that has `anls`."""
    for name in ("examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin").mkdir()
    script = folder / "bin" / "anls"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m anls_eval "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def in_shell(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    shell = ["/bin/bash", "-e", "-c", command]
    return subprocess.run(
        shell, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether an output is what a page shows, which may leave parts out with "..."."""
    return doctest.OutputChecker().check_output(shown, printed, _FLAGS)
