"""docs/integrations.md: its examples, its links and its table."""

import doctest
import re
from pathlib import Path

from datasets import disable_progress_bars
from places import ROOT

import anls_eval.integrations

PAGE = ROOT / "docs" / "integrations.md"


def test_examples() -> None:
    disable_progress_bars()
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert (found.failed, found.attempted > 20) == (0, True)


def test_links_and_modules() -> None:
    text = PAGE.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(\.\./(.*?)\)", text)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
    named = set(re.findall(r"anls_eval\.integrations\.(\w+)", text))
    files = {path.stem for path in Path(anls_eval.integrations.__path__[0]).glob("*.py")}
    assert named == files - {"__init__", "model_output"}
