"""The command line that scores a data set, in a process of its own, with all processes that it starts."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from places import ROOT


class DatasetCommand:
    """``anls score --workers 2 --out OUT --json`` of a data set that ``benchmarks.generate`` wrote."""

    def __init__(self, data: Path, out: Path, *options: str, **environment: str) -> None:
        self.out = out
        sides = [str(data / "predictions"), "-r", str(data / "references")]
        workers = [] if "--scheduler" in options else ["--workers", "2"]
        asked = [*sides, "--by", "model", "--json", *workers, *options, "--out", str(out)]
        self.process = psutil.Popen(
            [sys.executable, "-m", "anls_eval", "score", *asked],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches all processes of a terminal
        )
        self.others: set[psutil.Process] = set()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()

    def _watch(self) -> None:
        while self.process.poll() is None:
            try:
                self.others.update(self.process.children(recursive=True))
            except psutil.NoSuchProcess:
                break
            time.sleep(0.05)

    def wait_until(self, condition: Callable[[], object]) -> None:
        while not condition():
            assert self.process.poll() is None, self.wait()
            time.sleep(0.02)

    def interrupt(self, way: signal.Signals = signal.SIGINT) -> None:
        os.killpg(self.process.pid, way)

    def wait(self, timeout: float | None = None) -> tuple[int, str, str]:
        """The status, and what was printed to stdout and stderr."""
        out, err = self.process.communicate(timeout=timeout)
        self._watcher.join()
        return self.process.returncode, out, err

    def kill(self) -> None:
        """End everything at once."""
        for process in {self.process, *self.others}:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.wait()

    def left(self, timeout: float | None = None) -> list[psutil.Process]:
        """The processes that have not ended."""
        left: list[psutil.Process] = psutil.wait_procs(self.others, timeout)[1]
        return left


def finished(out: Path) -> int:
    """How many parts are finished."""
    return len(list((out / "_work").glob("part-*.json")))
