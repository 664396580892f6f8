"""examples/notebook.ipynb runs, and its outputs are those that are committed."""

import json
import subprocess
import sys

from places import EXAMPLES, ROOT


def test_outputs_are_those_of_a_run() -> None:
    program = ROOT / "tools" / "run_notebook.py"
    done = subprocess.run([sys.executable, str(program), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_result_is_shown() -> None:
    """Each cell of code has one output, as HTML and as plain text."""
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    assert len(outputs) == 8
    for [output] in outputs:
        assert output["output_type"] == "execute_result"
        assert {"text/html", "text/plain"} == output["data"].keys()
