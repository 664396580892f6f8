"""The tables of docs/migrating.md: a line of another library, a line of ours, and what each gives."""

import ast
import os
import re
import subprocess
import sys
from typing import Any, NamedTuple

from places import ROOT

PAGE = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")


class Row(NamedTuple):
    """Two expressions with their values."""

    old: str
    old_value: Any
    new: str
    new_value: Any


class Table(NamedTuple):
    """The rows of one library, and what is imported before the old and the new lines."""

    old_import: str
    new_import: str
    rows: list[Row]


def table(library: str) -> Table:
    section = re.search(rf"^## From {library} .*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, library
    head, _, *lines = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in section[0].splitlines()
        if line.startswith("|")
    ]
    old_import, new_import = (re.sub(r".*`(.*)`", r"\1", head[column]) for column in (0, 2))
    rows = [Row(old[1:-1], ast.literal_eval(a), new[1:-1], ast.literal_eval(b)) for old, a, new, b, _ in lines]
    return Table(old_import, new_import, rows)


def evaluated(imported: str, lines: list[str], path: str) -> list[Any]:
    """The values of expressions in a fresh process that finds its modules in that folder first."""
    program = "\n".join([imported, f"print([{', '.join(lines)}])"])
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=path, env=environment, capture_output=True, text=True, check=True)
    values: list[Any] = ast.literal_eval(done.stdout.splitlines()[-1])
    return values
