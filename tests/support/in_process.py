"""The command line, run within this process, where the metric is imported already."""

import warnings
from typing import NamedTuple

import pytest

from anls_eval.cli import commands as cli


class Ran(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


def run_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...]
) -> Ran:
    """Run `anls` with arguments."""
    monkeypatch.setattr("sys.argv", ["anls", *map(str, arguments)])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
        cli.main()
    return Ran(int(stop.value.code or 0), *capsys.readouterr())
