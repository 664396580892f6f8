"""CITATION.cff says what the package and the README say."""

import yaml
from places import ROOT

from anls_eval.version import __version__


def test_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert "anls-eval" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(reference["url"] in (ROOT / "README.md").read_text("utf-8") for reference in citation["references"])
