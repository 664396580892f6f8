"""Every block of code of every page: Python and commands are run, and what cannot be run here is at least read."""

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import typer
import yaml
from pages import PAGES, blocks, commands, in_shell, is_as_shown, prepared
from places import ROOT

from anls_eval.cli.commands import app

# Pages that need more than a folder: other libraries, a repository, files.
OWN_TESTS = {
    "docs/ci.md": "tests/docs/test_ci.py",
    "docs/decisions.md": "tests/docs/test_decisions_page.py",
    "docs/formats.md": "tests/docs/test_formats.py",
    "docs/integrations.md": "tests/integrations/test_integrations_page.py",
}
WITH_PYTHON = [name for name in PAGES if any(">>> " in block.text for block in blocks(name))]
WITH_COMMANDS = [name for name in PAGES if next(commands(name), None)]
LANGUAGES = {"bash", "bibtex", "console", "json", "python", "sh", "text", "yaml"}


@pytest.mark.parametrize("name", sorted({*WITH_PYTHON} - {*OWN_TESTS}))
def test_python(name: str, tmp_path: Path, hub_environment: dict[str, str]) -> None:
    """In another folder and a fresh process, so that "anls" comes from the Hub and `anls_eval` is installed."""
    environment = hub_environment | {"PYTHONPATH": prepared(tmp_path)["PYTHONPATH"]}
    (tmp_path / "page.md").write_bytes(PAGES[name].read_bytes())
    command = [sys.executable, "-m", "doctest", "page.md"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted({*WITH_COMMANDS} - {*OWN_TESTS}))
def test_commands_print_what_is_shown(name: str, tmp_path: Path) -> None:
    environment = prepared(tmp_path)
    for command, shown in commands(name):
        done = in_shell(command, tmp_path, environment)
        assert done.returncode == 0, done.stderr
        assert all(line.startswith("note: ") for line in done.stderr.splitlines())
        assert is_as_shown(shown, done.stdout), f"{command}\n{done.stdout}"


def test_the_other_pages_have_tests() -> None:
    for page, test in OWN_TESTS.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_read(name: str) -> None:
    for block in blocks(name):
        assert block.language in LANGUAGES
        if block.language == "python" and ">>> " not in block.text:
            ast.parse(block.text)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text.replace("!function ", ""))  # a tag that harnesses know
        elif block.language == "json":
            assert is_json(block.text) or all(map(is_json, block.text.splitlines()))
        elif block.language in ("sh", "bash"):
            for line in block.text.replace("\\\n", "").splitlines():
                check_command(line)
        elif block.language == "text":
            assert not re.search(r"^(\$ )?(anls|make|pip) ", block.text, re.MULTILINE)


def is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)  # docs/formats.md shows a file with a line break inside a string
    except ValueError:
        return False
    return True


def check_command(line: str) -> None:
    """Each part of a command that pages only name: targets and files exist, and options are known."""
    for part in line.partition("  #")[0].split("&&"):
        words = [word for word in shlex.split(part) if not re.match(r"[A-Z_]+=", word)]
        if words[0] == "make":
            targets = set(re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
            assert set(words[1:]) <= targets
        elif words[0] == "anls":
            group = cast(Any, typer.main.get_command(app))
            group.commands[words[1]].make_context(words[1], words[2:])
        elif words[1:3] == ["-m", "pytest"]:
            assert all((ROOT / word).exists() for word in words if word.startswith(("tests/", "anls_eval/")))
        elif words[0] == ".venv/bin/python" or words[1].startswith("examples/"):
            assert (ROOT / words[1]).is_file()
        elif words[:3] == ["kubectl", "apply", "-f"]:
            assert (ROOT / words[3]).is_file()
        else:
            assert words[:2] in (["pip", "install"], ["python", "-m"], ["inspect", "score"])


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", PAGES[name].read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (PAGES[name].parent / path) if path else PAGES[name]
        assert target.is_file(), link  # a folder has no page
        if anchor and not anchor.startswith("anls_eval."):  # of the API, which `make docs` checks
            assert anchor in {anchor_of(title) for title in re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.M)}


def anchor_of(title: str) -> str:
    """The anchor that GitHub, the Hub and MkDocs give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_the_site_has_every_page() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {name.removeprefix("docs/") for name in PAGES if name != "README.md"} | {
        "CHANGELOG.md", "benchmarks/RESULTS.md"
    }  # fmt: skip


def test_the_api_page_has_every_public_name() -> None:
    import anls_eval

    page = PAGES["docs/api.md"].read_text(encoding="utf-8")
    shown = set(re.findall(r"^::: anls_eval\.(\w+)$", page, re.MULTILINE))
    tables = {"BENCHMARKS", "LEADERBOARDS", "PROTOCOLS", "__version__"}  # in protocols.md, and in anls --version
    assert shown >= set(anls_eval.__all__) - tables
