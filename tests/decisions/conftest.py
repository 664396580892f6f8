"""The command line, run in this process."""

import warnings
from typing import Any, NamedTuple

import pytest

from anls_eval.cli import commands as cli


class Ran(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `anls` with arguments."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["anls", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
            cli.main()
        return Ran(int(stop.value.code or 0), *capsys.readouterr())

    return run
