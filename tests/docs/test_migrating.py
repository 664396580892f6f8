"""docs/migrating.md: both sides of every table whose old library lies in .peers."""

import pytest
from migration import evaluated, table
from places import ROOT

import anls_eval


@pytest.mark.parametrize("library", ["PyPI anls", "anls_star", "stickler-eval"])
def test_old_lines(library: str) -> None:
    found = table(library)
    assert evaluated(found.old_import, [row.old for row in found.rows], str(ROOT / ".peers")) == [
        row.old_value for row in found.rows
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["PyPI anls", "anls_star", "lmms-eval", "stickler-eval"])
def test_new_lines(library: str) -> None:
    found = table(library)
    names = {name: getattr(anls_eval, name) for name in anls_eval.__all__}
    assert found.new_import.removeprefix("from anls_eval import ") in names
    assert [eval(row.new, dict(names)) for row in found.rows] == [row.new_value for row in found.rows]  # noqa: S307
