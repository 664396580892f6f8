"""A short run of `make soak`."""

import os
import subprocess
import sys

import pytest
from places import ROOT


@pytest.mark.long
def test_no_fault() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])}
    command = [sys.executable, "-m", "soak", "--runs", "6", "--rows", "60000", "--seed", "1", "--minutes", "60"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "no fault was found"
