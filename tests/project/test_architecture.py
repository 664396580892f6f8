"""The package keeps to docs/architecture.md: rooms in layers, no circle, no private name across modules."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

PACKAGE = ROOT / "anls_eval"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYERS = re.findall(r"(?m)^\| `(\w+)(?:/|\.py)` \|", PAGE)
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(PACKAGE.rglob("*.py"))}


def room_of(module: str) -> str:
    """The room of a module: the folder or file under anls_eval."""
    return module.split(".")[1]


def imported_by(path: Path) -> Iterator[tuple[str, str]]:
    """The modules of the package that a file imports, wherever the import stands, with each name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "anls_eval":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole if whole in MODULES or f"{whole}.__init__" in MODULES else str(node.module)), alias.name


def target(module: str) -> str:
    return module if module in MODULES else f"{module}.__init__"


OWN = {name: path for name, path in MODULES.items() if name not in ("anls_eval.__init__", "anls_eval.__main__")}


def test_the_page_lists_every_room() -> None:
    assert sorted(LAYERS) == sorted({room_of(module) for module in OWN})


@pytest.mark.parametrize(("room", "row"), re.findall(r"(?m)^\| `(\w+)/` \|(.*)", PAGE))
def test_the_files_that_the_page_names_are_in_their_rooms(room: str, row: str) -> None:
    named = set(re.findall(r"(?<![\w/.])\w+\.py", row))
    files = {path.name for path in (PACKAGE / room).iterdir()}
    assert named - files == set()
    if room not in ("leaderboards", "integrations"):  # a file for each benchmark and tool
        assert {name for name in files if name.endswith(".py")} - named == {"__init__.py"}


@pytest.mark.parametrize("path", re.findall(r"`((?:\w+/)+\w+\.\w+)`", PAGE))
def test_the_paths_that_the_page_names_exist(path: str) -> None:
    assert any((folder / path).is_file() for folder in (ROOT, PACKAGE, ROOT / "tests"))


@pytest.mark.parametrize("module", OWN)
def test_rooms_import_only_rooms_above_them_in_the_page(module: str) -> None:
    allowed = set(LAYERS[: LAYERS.index(room_of(module)) + 1])
    wrong = {
        name
        for name, _ in imported_by(OWN[module])
        if name not in ("anls_eval", "anls_eval.__init__") and room_of(name) not in allowed
    }
    assert wrong == set()


def test_no_circle_between_modules() -> None:
    above: list[str] = []
    done: set[str] = set()

    def visit(module: str) -> None:
        assert module not in above, " -> ".join([*above[above.index(module) :], module])
        if module in done:
            return
        above.append(module)
        for name, _ in imported_by(MODULES[module]):
            # A room's __init__ gathers the names of its modules, which may import one another.
            if target(name) != module and target(name) != "anls_eval.__init__":
                visit(target(name))
        done.add(above.pop())

    for module in OWN:
        visit(module)


@pytest.mark.parametrize("module", MODULES)
def test_no_private_name_of_another_module(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    wrong = [name for _, name in imported_by(MODULES[module]) if name.startswith("_") and name != "__version__"]
    wrong += [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and re.match(r"_[a-z]", node.attr, re.I)
        and isinstance(node.value, ast.Name)
        and node.value.id not in ("self", "cls")
        and node.attr not in ("_replace", "_asdict", "_exit")  # which named tuples and os offer under these names
    ]
    assert wrong == []


def test_the_one_file_is_made_from_the_package() -> None:
    done = subprocess.run([sys.executable, "tools/single_file.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
