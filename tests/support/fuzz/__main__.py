"""The command line of the fuzzer."""

import argparse
import tempfile
import time
from pathlib import Path

from fuzz.invariant import run_one
from fuzz.run import fuzz
from fuzz.targets import TARGETS, prepare


def main() -> None:
    """Fuzz every target for some minutes, or run one input again."""
    parser = argparse.ArgumentParser(prog="fuzz", description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="printed, so that the run can be repeated")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; can be given again")
    parser.add_argument("--number", type=int, help="only this input of the target")
    chosen = parser.parse_args()
    names = chosen.target or list(TARGETS)
    if chosen.number is None:
        raise SystemExit(min(fuzz(names, chosen.seed, chosen.minutes), 1))
    prepare(names[0])
    with tempfile.TemporaryDirectory() as folder:
        print(run_one(TARGETS[names[0]], names[0], chosen.seed, chosen.number, Path(folder)))


if __name__ == "__main__":
    main()
