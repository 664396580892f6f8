"""Run `make test` several times, some beside busy processes, and log how long each took and how it ended.

The log is build/proof/log.md, beside it the whole output of each run. Exits with 1 if a run failed.
"""

import argparse
import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "proof"
_BUSY = 4  # processes


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet-runs", type=int, default=3)
    parser.add_argument("--busy-runs", type=int, default=2)
    parser.add_argument("--command", default="make test", help="what is run, in place of make test")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    log = FOLDER / "log.md"
    log.write_text(
        f"{given.command}, {os.cpu_count()} processors, Python {sys.version.split()[0]}\n\n"
        "| run | busy processes | load before | seconds | status | last line |\n| --- | --- | --- | --- | --- | --- |\n"
    )
    statuses = []
    for number in range(given.quiet_runs + given.busy_runs):
        load = os.getloadavg()[0]
        processes = _BUSY if number >= given.quiet_runs else 0
        with busy(processes):
            status, seconds, last = timed(shlex.split(given.command), FOLDER / f"run-{number}.log")
        statuses.append(status)
        with log.open("a") as table:
            table.write(f"| {number} | {processes} | {load:.2f} | {seconds:.0f} | {status} | {last} |\n")
        print(log.read_text().splitlines()[-1], flush=True)
    sys.exit(any(statuses))


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep processors busy."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def timed(command: list[str], output: Path) -> tuple[int, float, str]:
    """Run a command; return its status, its seconds and the last line that it printed."""
    start = time.monotonic()
    with output.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False)
    seconds = time.monotonic() - start
    return done.returncode, seconds, (output.read_text().splitlines() or [""])[-1].strip("= ")


if __name__ == "__main__":
    main()
