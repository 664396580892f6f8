"""What is distributed: the wheel in a fresh environment beside PyPI's `anls` and `anls_star`, which go on working."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from places import EXAMPLES, ROOT

from anls_eval.version import __version__

pytestmark = pytest.mark.long  # builds and installs

PIP = ["-m", "pip", "--disable-pip-version-check", "--quiet"]


def run(command: list[str], folder: Path, **variables: str) -> str:
    """What a command prints, in a folder from which nothing of the checkout can be imported."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, *PIP, "wheel", str(ROOT), "--no-deps", "--wheel-dir", str(folder)], folder)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The folder of commands of a fresh environment with the wheel and its peers: a minute."""
    environment = wheel.parent / "environment"
    run([sys.executable, "-m", "venv", str(environment)], wheel.parent)
    commands = environment / "bin"
    peers = ["anls==0.0.2", "anls_star==1.0.1"]
    run([str(commands / "python"), *PIP, "install", f"{wheel}[eval]", *peers], wheel.parent)
    return commands


def test_content(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"anls_eval-{__version__}.dist-info/METADATA").decode()
    assert {name.partition("/")[0] for name in names} == {"anls_eval", f"anls_eval-{__version__}.dist-info"}
    assert {"anls_eval/py.typed", "anls_eval/__init__.py", "anls_eval/metric.py"} <= names
    assert not [name for name in names if name.endswith((".pyc", "~"))]
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    names_needed = {re.split(r"[^\w-]", line.removeprefix("Requires-Dist: "))[0] for line in needed}
    assert names_needed == {"datasets", "evaluate", "numpy", "pyarrow", "rapidfuzz", "scipy"}
    assert "Provides-Extra: all" in metadata


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"anls_eval-{__version__}.dist-info/METADATA"))
    assert (metadata["Author"], metadata["License-Expression"]) == ("The anls authors", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.10"
    assert str(metadata.get_payload()).lstrip().startswith("# Metric Card")  # without the settings of the Space
    assert metadata.get_all("Project-URL") is None  # there is none but that of a Space, which `make space` is told
    run([sys.executable, "-m", "check_wheel_contents", str(wheel)], wheel.parent)


@pytest.fixture(scope="module")
def source(wheel: Path) -> Path:
    """The source distribution."""
    build = [sys.executable, "-m", "build", "--sdist", "--outdir", str(wheel.parent / "dist"), str(ROOT)]
    run(build, wheel.parent)
    [path] = (wheel.parent / "dist").glob("*.tar.gz")
    return path


def test_pypi_takes_both(wheel: Path, source: Path) -> None:
    run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source)], wheel.parent)


def test_source_distribution_passes_its_tests(source: Path, tmp_path: Path) -> None:
    """Some rooms, as whoever packages it would: in a folder of its own, in which nothing is a link to this one."""
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    names = {path.name for path in folder.iterdir()}
    assert {"LICENSE", "README.md", "CITATION.cff", "anls.py", "anls_eval", "tests", "docs"} <= names
    assert not [path for path in folder.rglob("*") if path.name in ("__pycache__", ".venv", "build")]
    tests = ["tests/text", "tests/rules", "tests/project/test_architecture.py"]
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *tests]
    assert " passed" in run(command, folder, PYTHONPATH=str(folder))


def test_three_packages_in_one_environment(installed: Path, tmp_path: Path) -> None:
    script = """
import anls, anls_eval, anls_star
from anls_star import anls_score
print(anls.anls_score("ab", ["ac"]), anls_star.anls_score("ac", "ab"), anls_eval.anls_score("abc", ["abd"]))
print(anls.__file__, anls_star.__file__, anls_eval.__file__)
"""
    numbers, files = run([str(installed / "python"), "-c", script], tmp_path).splitlines()
    # The released code keeps nothing at exactly 0.5; anls_star does.
    assert [round(float(own), 3) for own in numbers.split()] == [0.0, 0.5, 0.667]
    assert all("site-packages" in file for file in files.split())


def test_command_line(installed: Path, tmp_path: Path) -> None:
    runs = EXAMPLES / "docvqa"
    files = [str(runs / "pred_qwen2_vl_7b_instruct.json"), "-r", str(runs / "references.json")]
    found = json.loads(run([str(installed / "anls"), "score", *files, "--json"], tmp_path))
    assert found["n"] == 1000
    assert found["anls_score"] == pytest.approx(0.894217, abs=1e-6)
    assert run([str(installed / "anls"), "explain", "CocaCola", "Coca Cola"], tmp_path).startswith("score 0.888889\n")


def test_a_checkout_where_another_anls_is_installed(installed: Path, tmp_path: Path) -> None:
    """A plain import takes one of the two whole; evaluate and our package never take the other."""
    for name in ("anls.py", "anls_eval"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    script = """
import os
os.environ |= {"HF_HOME": os.path.abspath("cache"), "HF_HUB_OFFLINE": "1"}
import evaluate, anls
metric = evaluate.load("./anls.py")
print(metric.compute(predictions=["ab"], references=[["ac"]])["anls_score"])
import anls_eval
print(anls_eval.anls_score("ab", ["ac"]), anls.__file__)
"""
    checkout = [str(installed / "python"), "-c", script]  # the current folder comes first
    first, second = run(checkout, tmp_path).splitlines()
    assert (first, second) == ("0.5", f"0.5 {tmp_path / 'anls.py'}")
    elsewhere = [str(installed / "python"), "-P", "-c", script]  # and here not at all: the installed packages do
    if sys.version_info >= (3, 11):
        first, second = run(elsewhere, tmp_path).splitlines()
        assert first == "0.5"
        assert second.startswith("0.5 ")
        assert "site-packages" in second
