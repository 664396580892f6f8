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
    """Each cell of code has one output, as plain text and, but for the dict of evaluate, as HTML."""
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == 10
    for cell in code:
        [output] = cell["outputs"]
        assert output["output_type"] == "execute_result"
        is_dict = "import evaluate" in "".join(cell["source"])
        assert output["data"].keys() == ({"text/plain"} if is_dict else {"text/html", "text/plain"})


def test_the_program_explains_itself() -> None:
    """--help runs nothing, which would write the file."""
    program = [sys.executable, str(ROOT / "tools" / "run_notebook.py"), "--help"]
    before = (EXAMPLES / "notebook.ipynb").read_bytes()
    assert "--check" in subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert (EXAMPLES / "notebook.ipynb").read_bytes() == before
