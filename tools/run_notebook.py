"""Run examples/notebook.ipynb and write its outputs into it; ``--check`` fails if they differ from what is committed.

It needs nbclient and ipykernel, as in tests/integrations/tools.txt.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "notebook.ipynb"


def run(notebook: Any) -> Any:
    """Return the notebook with the outputs of a run, without what differs from run to run."""
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if "outputs" in cell:  # tqdm warns on stderr where ipywidgets is not installed
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    return notebook


def text_of(notebook: Any) -> str:
    """Return sources and outputs as text, without the versions in signatures, which are not those of every machine."""
    return re.sub(r"(version|unicode):[0-9.]+", r"\1:", json.dumps(notebook.cells, indent=1, sort_keys=True))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run examples/notebook.ipynb and write its outputs into it.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the committed outputs differ")
    check = parser.parse_args().check
    committed = nbformat.read(NOTEBOOK, as_version=4)
    found = run(nbformat.read(NOTEBOOK, as_version=4))
    if not check:
        nbformat.write(found, NOTEBOOK)
    elif text_of(found) != text_of(committed):
        sys.exit("the outputs in examples/notebook.ipynb are not those of a run: run python tools/run_notebook.py")
