"""The metric needs none of the tools that it works in: neither installed nor imported."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import anls_eval

ROOT = Path(anls_eval.__file__).parent
INTEGRATIONS = ROOT / "integrations"
TOOLS = {
    "accelerate", "dspy", "inspect_ai", "lm_eval", "lmms_eval", "mlflow", "polars", "sklearn", "torch", "torchmetrics",
    "trackio", "transformers", "wandb",
}  # fmt: skip
DISTRIBUTIONS = {re.sub("_", "-", name) for name in TOOLS - {"sklearn"}} | {"scikit-learn"}


def imported(path: Path) -> set[str]:
    """The packages that a file names in an import, wherever it stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return names


def test_only_integrations_name_a_tool() -> None:
    files = [ROOT.parent / "anls.py", *(path for path in ROOT.rglob("*.py") if path.parent != INTEGRATIONS)]
    assert {path.name: imported(path) & TOOLS for path in files if imported(path) & TOOLS} == {}


@pytest.mark.parametrize("path", sorted(INTEGRATIONS.glob("*.py")), ids=lambda path: path.stem)
def test_an_integration_names_its_own_tool_at_most(path: Path) -> None:
    own = {"torchmetrics": {"torch", "torchmetrics"}}.get(path.stem, {path.stem})
    assert imported(path) & TOOLS <= own


def test_nothing_imports_an_integration() -> None:
    program = "import sys, anls_eval, anls_eval.cli.commands; print('anls_eval.integrations' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_distribution_requires_no_tool() -> None:
    required = set(required_by("anls-eval"))
    assert "rapidfuzz" in required
    assert required & DISTRIBUTIONS == set()


def required_by(distribution: str) -> Iterator[str]:
    """What is installed with a distribution, without extras."""
    known, waiting = {distribution}, [distribution]
    while waiting:
        try:
            lines = requires(waiting.pop()) or []
        except PackageNotFoundError:  # of another platform
            continue
        own = [Requirement(line) for line in lines]
        names = {need.name.lower() for need in own if not need.marker or need.marker.evaluate({"extra": ""})}
        waiting += names - known
        known |= names
        yield from names


_AT_ONCE = """
import threading, anls_eval
names, faults = anls_eval.__all__ * 2, []
start = threading.Barrier(len(names))
def use(name):
    start.wait()
    try:
        getattr(anls_eval, name)
    except BaseException as error:
        faults.append(f"{name}: {error!r}")
threads = [threading.Thread(target=use, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not faults, faults
"""


@pytest.mark.long
def test_first_use_of_all_names_by_many_threads() -> None:
    """A package and a module of it, imported at once, are a deadlock to Python."""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _AT_ONCE], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
