"""Results of a benchmark run as plain data, written to and read from ``results.json``."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0}
FLOOR = "floor"


@dataclasses.dataclass(frozen=True)
class Timing:
    """What one contender needs for one item of a workload.

    Args:
        median: Seconds, the median of the rounds.
        fastest: Seconds of the fastest round.
        slowest: Seconds of the slowest.
        rounds: How many there were.
        items: Over how many items each round went: fewer than the workload has where the contender is slow.
        start: Seconds before the work that `median` does not hold, such as the start of workers.
        cpu: Seconds of the processor, of all processes.
        megabytes: The greatest peak of a process, Python and the libraries included.
    """

    median: float
    fastest: float
    slowest: float
    rounds: int
    items: int = 1
    start: float | None = None
    cpu: float | None = None
    megabytes: float | None = None


@dataclasses.dataclass(frozen=True)
class Workload:
    """One piece of work and how long each contender took.

    Args:
        name: What it is.
        items: How many questions or documents it has, by which times are divided.
        timings: By contender.
        compared: The contenders whose scores were compared with ours, in each round.
        notes: Who did not run and why, and where scores may differ.
        headline: The peers beside which docs/speed.md shows it.
    """

    name: str
    items: int
    timings: dict[str, Timing]
    compared: tuple[str, ...]
    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()

    def ratio(self, slower: str, faster: str) -> float | None:
        """How many times as long one contender takes as another; None if one of them did not run."""
        if slower not in self.timings or faster not in self.timings:
            return None
        return self.timings[slower].median / self.timings[faster].median


@dataclasses.dataclass(frozen=True)
class Target:
    """What is asked of a workload, and what was reached.

    Args:
        name: What is measured.
        unit: Of the three numbers.
        at_least: Whether they are a least value, as of a ratio, or a greatest, as of seconds.
        asked: What has to be reached.
        aim: What to aim at beyond that.
        reached: What was.
    """

    name: str
    unit: str
    at_least: bool
    asked: float
    aim: float | None
    reached: float

    @property
    def verdict(self) -> str:
        """``missed``, ``met``, or ``aim met``."""

        def holds(limit: float) -> bool:
            return self.reached >= limit if self.at_least else self.reached <= limit

        if self.aim is not None and holds(self.aim):
            return "aim met"
        return "met" if holds(self.asked) else "missed"


def faster(
    workload: Workload, slower: str, ours: str, asked: float, aim: float | None = None, name: str | None = None
) -> list[Target]:
    """The target of being so many times as fast, if both ran."""
    reached = workload.ratio(slower, ours)
    name = name or f"{workload.name}: {ours} beside {slower}"
    return [] if reached is None else [Target(name, "times as fast", True, asked, aim, reached)]


def at_most(name: str, reached: float, unit: str, asked: float, aim: float | None = None) -> Target:
    """The target of not going beyond a value."""
    return Target(name, unit, False, asked, aim, reached)


@dataclasses.dataclass(frozen=True)
class Section:
    """Workloads of one kind, which one table shows.

    Args:
        title: The heading.
        about: What the reader must know.
        unit: Begins with one of `UNITS`, in which times are shown.
        workloads: With the contenders in the same order.
        ratios: The pairs of contenders, slower and faster, whose ratio is shown.
        targets: What was asked.
    """

    title: str
    about: str
    unit: str
    workloads: tuple[Workload, ...]
    ratios: tuple[tuple[str, str], ...] = ()
    targets: tuple[Target, ...] = ()


@dataclasses.dataclass(frozen=True)
class Point:
    """Seconds of one run of some size, and the peak of its process in megabytes."""

    size: int
    seconds: float
    megabytes: float


@dataclasses.dataclass(frozen=True)
class Curve:
    """How time and memory grow with one size.

    Args:
        name: What grows.
        points: By size.
        seconds_exponent: k, where the time grows as size^k in the upper half of the points.
        megabytes_exponent: The same for the peak of memory.
    """

    name: str
    points: tuple[Point, ...]
    seconds_exponent: float
    megabytes_exponent: float


@dataclasses.dataclass(frozen=True)
class Growth:
    """All curves, and what a process takes that only imports: seconds from its start to its end, and megabytes."""

    about: str
    curves: tuple[Curve, ...]
    import_seconds: float
    import_megabytes: float
    targets: tuple[Target, ...]


@dataclasses.dataclass(frozen=True)
class Machine:
    """Where a run took place.

    Args:
        processor: Its model.
        cores: How many of them.
        system: The operating system.
        python: The version.
        packages: The versions of what was measured.
        load_before: The load average before the run.
        load_after: And after it; by itself a run makes it about 1.
        minutes: How long the run took.
    """

    processor: str
    cores: int
    system: str
    python: str
    packages: dict[str, str]
    load_before: float
    load_after: float
    minutes: float


@dataclasses.dataclass(frozen=True)
class Report:
    """A whole run."""

    machine: Machine
    sections: tuple[Section, ...]
    growth: Growth

    @property
    def targets(self) -> tuple[Target, ...]:
        """Those of all sections."""
        return (*(target for section in self.sections for target in section.targets), *self.growth.targets)


def write_report(path: Path, report: Report) -> None:
    """Write it as JSON, numbers with six digits."""
    path.write_text(json.dumps(_rounded(dataclasses.asdict(report)), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(child) for key, child in value.items()}
    return [_rounded(child) for child in value] if isinstance(value, (list, tuple)) else value


def read_report(path: Path) -> Report:
    """Read what `write_report` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Report(Machine(**found["machine"]), tuple(map(_section, found["sections"])), _growth(found["growth"]))


def _section(found: dict[str, Any]) -> Section:
    read = {
        "workloads": tuple(map(_workload, found["workloads"])),
        "ratios": tuple((slower, faster) for slower, faster in found["ratios"]),
        "targets": tuple(Target(**own) for own in found["targets"]),
    }
    return Section(**found | read)


def _workload(found: dict[str, Any]) -> Workload:
    timings = {name: Timing(**own) for name, own in found["timings"].items()}
    texts = {key: tuple(found[key]) for key in ("compared", "notes", "headline")}
    return Workload(**found | texts | {"timings": timings})


def _growth(found: dict[str, Any]) -> Growth:
    curves = tuple(Curve(**own | {"points": tuple(Point(**one) for one in own["points"])}) for own in found["curves"])
    return Growth(**found | {"curves": curves, "targets": tuple(Target(**own) for own in found["targets"])})
