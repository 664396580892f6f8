"""The names in one column of a table: short, on one line, and different."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from anls_eval.cli.column_names import shortened

LONG = "x" * 100


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        ([], []),
        (["a", "[b]"], ["a", "[b]"]),
        (["a\nb\x1b[2J"], [r"a\nb\x1b[2J"]),
        (["x" * 80], ["x" * 80]),
        ([f"{LONG}1", f"{LONG}2"], [f"{'x' * 40}…{'x' * 38}1", f"{'x' * 40}…{'x' * 38}2"]),
        (
            [f"{LONG}/model-{own}/{LONG}" for own in "ab"],
            [f"…{'x' * 9}/model-{own}/{'x' * 21}…{'x' * 39}" for own in "ab"],
        ),
        (  # a short name is never changed, and another one is not shown as it
            ["x" * 40 + "…" + "x" * 39, LONG],
            ["x" * 40 + "…" + "x" * 39, f"…{'x' * 76}"],
        ),
        (["語" * 41], [f"{'語' * 20}…{'語' * 19}"]),  # two cells each
        (["e\u0301" * 50], ["e\u0301" * 20 + "…" + "\u0301" + "e\u0301" * 19]),
        ([f"{'x' * 38}\x1b{LONG}"], [f"{'x' * 38}…{'x' * 39}"]),  # no half of an escape
        ([f"{LONG}\u202e{'x' * 36}"], [f"{'x' * 40}…{'x' * 36}"]),
    ],
)
def test_lines(names: list[str], lines: list[str]) -> None:
    assert list(shortened(names).values()) == lines


def test_names_that_differ_everywhere() -> None:
    """One part cannot tell all of them apart, so that these stay long."""
    names = [f"{LONG}{first}{LONG}{second}{LONG}" for first in "ab" for second in "cd"]
    assert shortened(names) == {name: name for name in names}


# Few parts, so that names are often alike in many places.
parts = st.sampled_from(["x" * 30, "…", "a", "語" * 7, "e\u0301", "\x1b", "\u202e", "\n", "y" * 9])


@given(st.lists(st.lists(parts, max_size=12).map("".join), unique=True, max_size=8))
def test_different_names_have_different_lines(names: list[str]) -> None:
    found = shortened(names)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    for name, line in found.items():
        assert line.isprintable() or set(line) <= {*name, "…"}
        if len(name) < 14:
            assert "…" not in line or "…" in name
    if len(names) == 1:
        assert cell_len(found[names[0]]) <= 80
