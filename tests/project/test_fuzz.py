"""A bounded run of the fuzzer, always the same inputs; `make fuzz` runs others for as long as one likes."""

import multiprocessing
from pathlib import Path
from random import Random

import pytest
from fuzz import draws
from fuzz.invariant import SECONDS, OvertimeError, refusals, run_one
from fuzz.run import fuzz
from fuzz.targets import TARGETS, prepare

from anls_eval.registry import get_protocol

INPUTS = {
    "commands": 40,
    "reports": 15,
    "tables": 40,
    "checks": 60,
    "readers": 150,
    "ways": 100,
    "space": 60,
    "datasets": 30,
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.long)], ids=["a third", "all"])
@pytest.mark.parametrize("name", TARGETS)
def test_right_or_refused(name: str, share: int, tmp_path: Path) -> None:
    prepare(name)
    outcomes = set()
    for number in range(INPUTS.get(name, 300) // share):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcomes.add(run_one(TARGETS[name], name, 0, number, folder))
    assert outcomes - {"refused", "status 2", "unreadable"}, "nothing came through: the inputs are too wild"


def test_the_same_seed_draws_the_same() -> None:
    def drawn() -> list[str]:
        random = Random(7)  # noqa: S311
        return [repr(draws.json_value(random)) for _ in range(50)] + [repr(draws.mutated(random, b"[1, 2]"))]

    assert drawn() == drawn()


class TestFaultsAreSeen:
    """The fuzzer itself: what breaks the invariant is reported, and does not end the run."""

    def test_an_error_of_python(self) -> None:
        with pytest.raises(ValueError, match="invalid literal"), refusals():
            int("x")

    def test_an_error_of_another_kind(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError):
            run_one(lambda random, folder: dict[str, str]()["x"], "x", 0, 0, tmp_path)

    def test_an_error_of_ours(self) -> None:

        with refusals() as messages:
            get_protocol("x")
        assert messages[0].startswith("protocol='x': expected one of")

    def test_overtime(self, tmp_path: Path) -> None:
        def endless(random: Random, folder: Path) -> str:
            while True:
                pass

        assert SECONDS < 10
        with pytest.raises(OvertimeError):
            run_one(endless, "x", 0, 0, tmp_path)

    @pytest.mark.long
    def test_a_run_in_processes(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert fuzz(["signatures"], seed=3, minutes=0.01) == 0
        assert "seed 3" in capsys.readouterr().out
        assert not multiprocessing.active_children()
