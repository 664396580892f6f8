"""Shared by the benchmarks: contenders in turns, comparison of their scores, floors, separate processes."""

import argparse
import contextlib
import functools
import gc
import importlib.metadata
import inspect
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import rapidfuzz.process
import scipy.optimize
from rapidfuzz.distance import Levenshtein

from anls_eval.version import __version__
from benchmarks.results import Machine, Timing, Workload

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".peers"
ROUNDS = 7
LEAST_SECONDS = 0.01  # what is faster is repeated for so long
SAME = 1e-12  # scores of trees that differ by less are equal


class Contender(NamedTuple):
    """One way to do a piece of work."""

    name: str
    run: Callable[[], tuple[float, Any]]  # gives the seconds and the result
    rounds: int
    check: Callable[[Any], str | None] | None = None  # says where a result differs from ours
    items: int = 1  # how many it does in one run


class Measured(NamedTuple):
    """The seconds for one item in each round, and the last result."""

    seconds: list[float]
    result: Any


def measure(contenders: Sequence[Contender]) -> dict[str, Measured]:
    """Run each contender once a round, beginning with another one each time.

    A result that is not ours ends the run with an error; a time never does.
    """
    gc.collect()  # how often Python collects depends on the heap it met last, which was that of another size
    measured = {contender.name: Measured([], None) for contender in contenders}
    for number in range(max(contender.rounds for contender in contenders)):
        turn = number % len(contenders)
        for contender in [*contenders[turn:], *contenders[:turn]]:
            if number < contender.rounds:
                seconds, result = contender.run()
                if contender.check and (difference := contender.check(result)):
                    sys.exit(f"scores differ: {contender.name} {difference}")
                each = [*measured[contender.name].seconds, seconds / contender.items]
                measured[contender.name] = Measured(each, result)
    return measured


def timing(measured: Measured, items: int = 1, **more: float | None) -> Timing:
    seconds = measured.seconds
    return Timing(statistics.median(seconds), min(seconds), max(seconds), len(seconds), items, **more)


def workload(
    name: str,
    items: int,
    contenders: Sequence[Contender],
    notes: Callable[[dict[str, Any]], Sequence[str]] = lambda results: (),
    more: Callable[[Any], dict[str, float | None]] = lambda result: {},
    headline: tuple[str, ...] = (),
) -> Workload:
    """Measure contenders.

    Args:
        name: Of the workload.
        items: How many questions or documents it has.
        contenders: Those with no rounds are left out.
        notes: Is given the last result of each.
        more: What the last result of one says of its start, its processor's time and its memory.
        headline: The peers beside which docs/speed.md shows it.
    """
    running = [contender for contender in contenders if contender.rounds]
    measured = measure(running)
    return Workload(
        name,
        items,
        {
            contender.name: timing(measured[contender.name], contender.items, **more(measured[contender.name].result))
            for contender in running
        },
        tuple(contender.name for contender in running if contender.check),
        tuple(notes({contender.name: measured[contender.name].result for contender in running})),
        headline,
    )


def timed(function: Callable[[], Any], least: float = 0.0) -> Callable[[], tuple[float, Any]]:
    """Give the seconds of one call, and its result; what is faster than `least` is called again until then."""

    def run() -> tuple[float, Any]:
        calls, elapsed, start = 0, 0.0, time.perf_counter()
        while not calls or elapsed < least:
            result = function()
            calls += 1
            elapsed = time.perf_counter() - start
        return elapsed / calls, result

    return run


def equal_to(expected: Any) -> Callable[[Any], str | None]:
    """Scores must be these, to the bit."""
    return _compared(expected, lambda given, own: given != own)


def at_most_equal_to(expected: Any) -> Callable[[Any], str | None]:
    """Scores must be these or less: where matchings of trees tie, ours takes the best and others any."""
    return _compared(expected, lambda given, own: given > own + SAME)


def _compared(expected: Any, is_wrong: Callable[[Any, Any], Any]) -> Callable[[Any], str | None]:
    def check(result: Any) -> str | None:
        given, own = np.atleast_1d(result), np.atleast_1d(expected)
        if given.shape != own.shape:
            return f"gives {len(given)} scores, ours are {len(own)}"
        wrong = np.flatnonzero(is_wrong(given, own))
        if not len(wrong):
            return None
        row, more = wrong[0], len(wrong) - 1
        return f"gives {float(given[row])!r}, ours {float(own[row])!r}, in row {row} and {more} more of {len(own)}"

    return check


# Floors


def recorded_calls(run: Callable[[], Any]) -> list[Callable[[], Any]]:
    """The calls of rapidfuzz and scipy that a run of ours makes, to be made again."""
    calls: list[Callable[[], Any]] = []

    def recorder(function: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any, **options: Any) -> Any:
            if options.get("scorer") is distance:
                options["scorer"] = Levenshtein.distance  # not its recorder, which could only be called pair by pair
            calls.append(functools.partial(function, *args, **options))
            return calls[-1]()

        return record

    distance = recorder(Levenshtein.distance)
    recorders: dict[str, Any] = {name: recorder(getattr(rapidfuzz.process, name)) for name in ("cdist", "cpdist")}
    recorders["Levenshtein"] = types.SimpleNamespace(**vars(Levenshtein) | {"distance": distance})
    with contextlib.ExitStack() as patches:
        for module in [own for name, own in sys.modules.items() if name.startswith("anls_eval.")]:
            for name in recorders.keys() & vars(module).keys():
                patches.enter_context(mock.patch.object(module, name, recorders[name]))
        assign = recorder(scipy.optimize.linear_sum_assignment)
        patches.enter_context(mock.patch.object(scipy.optimize, "linear_sum_assignment", assign))
        run()
    return calls


def floor(run: Callable[[], Any], least: float = 0.0) -> Callable[[], tuple[float, Any]]:
    """Time the distances and assignments of a run of ours alone."""
    calls = recorded_calls(run)

    def call_again() -> None:
        for call in calls:
            call()

    return timed(call_again, least)


# Processes


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a benchmark in a process that has done nothing else; arguments and result are plain JSON."""
    module = f"benchmarks.{Path(inspect.getfile(function)).stem}"
    program = (
        f"import json, sys; from {module} import {function.__name__} as call;"
        "print(json.dumps(call(*json.load(sys.stdin))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(arguments),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def peak_megabytes() -> float:
    """The peak of this process. On Linux not that of `resource`, which knows the process it was forked from, too."""
    with contextlib.suppress(OSError):
        return _status_megabytes("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def used_megabytes() -> float:
    """What this process holds now; on systems other than Linux its peak."""
    with contextlib.suppress(OSError):
        return _status_megabytes("VmRSS")
    return peak_megabytes()


def _status_megabytes(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 2**10 for line in lines if line.startswith(f"{name}:"))


def cpu_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


# The machine, and command lines


def machine(load_before: float, seconds: float) -> Machine:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return Machine(
        models[0] if models else platform.processor(),
        os.cpu_count() or 1,
        platform.system(),
        platform.python_version(),
        dict(_versions()),
        load_before,
        os.getloadavg()[0],
        seconds / 60,
    )


def _versions() -> Iterator[tuple[str, str]]:
    yield "anls-eval", __version__
    for package in ("datasets", "dask", "evaluate", "Levenshtein", "numpy", "pyarrow", "rapidfuzz", "scipy"):
        yield package, importlib.metadata.version(package)
    peers = importlib.metadata.distributions(path=[str(PEERS)])
    yield from sorted((f"{peer.metadata['Name']} (peer)", peer.version) for peer in peers)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The command line of one benchmark."""
    return argparse.ArgumentParser(description=(description or "").partition("\n")[0])
