"""Fuzzing for so many minutes, in processes of their own that may die without ending the run."""

import collections
import contextlib
import faulthandler
import math
import multiprocessing
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import psutil

from fuzz.invariant import run_one

CHUNK = 20.0  # seconds of processor time that one process spends on one target
SILENCE = 60.0  # seconds without a new input, but for those it was stopped, after which a process counts as hanging
PAUSE = 0.05


def fuzz(names: list[str], seed: int, minutes: float) -> int:
    """Fuzz the targets in turn, print what came of it, and give the number of different faults.

    The minutes are of processor time.
    """
    print(f"seed {seed}", flush=True)
    left = 60 * minutes  # of work: starting a process is not counted
    context = multiprocessing.get_context("spawn")
    done: dict[str, int] = dict.fromkeys(names, 0)
    outcomes: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in names}
    faults: dict[str, str] = {}
    while left > 0.01:
        for name in names:
            seconds = min(CHUNK, 60 * minutes / len(names))
            left -= seconds
            results, number = context.SimpleQueue(), context.Value("q", done[name])
            process = context.Process(target=_work, args=(name, seed, seconds, number, results))
            process.start()
            died = _wait(process, number, results, outcomes[name], faults)
            done[name] = number.value
            if died:
                faults.setdefault(died, f"{name} {number.value - 1}")
                print(f"FAULT {name} --number {number.value - 1}: {died}", flush=True)
            print(f"{name}: {done[name]:,} inputs; {dict(outcomes[name].most_common())}", flush=True)
    print(f"{sum(done.values()):,} inputs, {len(faults)} faults, seed {seed}", flush=True)
    return len(faults)


def _wait(process: Any, number: Any, results: Any, outcomes: Any, faults: dict[str, str]) -> str:
    """Take what a process reports until it ends; say how, unless it ended well."""
    seen, waited = number.value, -math.inf  # the first input waits for the start of the process
    state = psutil.Process(process.pid)
    while True:
        while not results.empty():
            kind, value = results.get()
            if kind == "outcomes":
                outcomes.update(value)
            elif value[0] not in faults:
                where, text, at = value
                faults[where] = text
                print(f"FAULT {at}\n{text}", flush=True)
        if not process.is_alive():
            return "" if process.exitcode == 0 else f"the process ended with {process.exitcode}"
        if number.value != seen:
            seen, waited = number.value, 0.0
        elif waited > SILENCE:
            process.kill()
            process.join()
            return f"no answer in {SILENCE} s"
        time.sleep(PAUSE)
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            waited += PAUSE * (state.status() != psutil.STATUS_STOPPED)


def _work(name: str, seed: int, seconds: float, number: Any, results: Any) -> None:
    faulthandler.enable()
    from fuzz.targets import TARGETS, prepare

    prepare(name)
    outcomes: collections.Counter[str] = collections.Counter()
    end = time.process_time() + seconds  # so that a process that is stopped for a while does as much as others
    while time.process_time() < end:
        own = number.value
        number.value = own + 1  # before it runs: an input that ends the process is not run again
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_memory()) as folder:
            try:
                outcomes[run_one(TARGETS[name], name, seed, own, Path(folder))] += 1
            except BaseException as error:
                frames = traceback.extract_tb(error.__traceback__)
                where = f"{name} {type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
                text = "".join(traceback.format_exception(error)[-14:])[-3000:]
                results.put(("fault", (where, text, f"--target {name} --seed {seed} --number {own}")))
                outcomes["fault"] += 1
    results.put(("outcomes", outcomes))


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
