"""Results as Markdown: RESULTS.md, the section of one benchmark, and the numbers in docs/speed.md."""

from collections.abc import Iterable, Sequence

from benchmarks.results import FLOOR, UNITS, Curve, Growth, Machine, Report, Section, Target, Workload

INTRODUCTION = """# Benchmarks

Written by `make bench` of the source repository in one run; the numbers are in [results.json](results.json). Contenders
take turns in rounds, each starting with a different one, and times are medians over the rounds. In every round, the
scores of all contenders are compared: a difference ends the run with an error, a slow time does not."""
MARKS = {"\\*": "one round", "†": "part of the workload"}
STARTED = "<!-- make bench writes what follows -->"
ENDED = "<!-- up to here -->"


def number(value: float | None) -> str:
    """Three digits, or all of a greater number."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table, with so many columns of texts before those of numbers."""
    lines = [titles, [*["---"] * texts, *["---:"] * (len(titles) - texts)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section_text(section: Section) -> str:
    """The heading, the table, what must be said of single workloads, and the targets."""
    has_more = any(
        value is not None
        for workload in section.workloads
        for timing in workload.timings.values()
        for value in (timing.start, timing.cpu, timing.megabytes)
    )
    notes = [f"- {workload.name}: {note}" for workload in section.workloads for note in workload.notes]
    parts = [
        f"## {section.title}",
        section.about,
        _long_table(section) if has_more else _wide_table(section),
        "\n".join(notes),
        targets_table(section.targets),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _wide_table(section: Section) -> str:
    """A workload a line, a contender a column."""
    names = list(dict.fromkeys(name for workload in section.workloads for name in workload.timings))
    ratios = [f"{slower} / {faster}" for slower, faster in section.ratios]
    rows = []
    for workload in section.workloads:
        times = [_time(workload, name, section.unit) for name in names]
        rows.append([workload.name, *times, *(number(workload.ratio(*pair)) for pair in section.ratios)])
    found = table([section.unit, *names, *ratios], rows)
    legend = [f"{mark} {text}" for mark, text in MARKS.items() if any(mark in cell for row in rows for cell in row)]
    return f"{found}\n\n{'; '.join(legend)}." if legend else found


def _time(workload: Workload, name: str, unit: str) -> str:
    timing = workload.timings.get(name)
    if timing is None:
        return ""
    is_marked = (timing.rounds == 1, timing.items < workload.items)
    marks = "".join(mark for mark, own in zip(MARKS, is_marked, strict=True) if own)
    return number(timing.median * UNITS[unit.split()[0]]) + marks


def _long_table(section: Section) -> str:
    """Return one row per contender, with its measurements in columns."""
    factor = UNITS[section.unit.split()[0]]
    titles = (section.unit, "fastest", "slowest", "rounds", "start, s", "CPU, s", "peak, MB")
    names, figures = [], []
    for workload in section.workloads:
        for name, own in workload.timings.items():
            names.append([workload.name, name])
            times = [value * factor for value in (own.median, own.fastest, own.slowest)]
            figures.append([*times, own.rounds, own.start, own.cpu, own.megabytes])
    shown = [column for column in range(len(titles)) if any(own[column] is not None for own in figures)]
    rows = [[*own, *(number(values[column]) for column in shown)] for own, values in zip(names, figures, strict=True)]
    ratios = [
        f"- {workload.name}: {slower} / {faster} {number(ratio)}"
        for workload in section.workloads
        for slower, faster in section.ratios
        if (ratio := workload.ratio(slower, faster))
    ]
    parts = (table(["", "", *(titles[column] for column in shown)], rows, 2), "\n".join(ratios))
    return "\n\n".join(part for part in parts if part)


def targets_table(targets: Sequence[Target]) -> str:
    rows = [[target.name, _limit(target), f"{number(target.reached)}", target.verdict] for target in targets]
    return table(["target", "required (aim)", "reached", ""], rows, 2) if targets else ""


def _limit(target: Target) -> str:
    aim = "" if target.aim is None else f" ({number(target.aim)})"
    return f"{'at least' if target.at_least else 'at most'} {number(target.asked)}{aim} {target.unit}"


def growth_text(growth: Growth) -> str:
    """Return the curves as a plot and as tables."""
    parts = [
        "## Growth",
        growth.about,
        "![Time and memory against the size of the input](growth.svg)",
        *map(_curve_table, growth.curves),
        f"A process that only imports takes {number(growth.import_seconds)} s from start to end, and "
        f"{number(growth.import_megabytes)} MB.",
        targets_table(growth.targets),
    ]
    return "\n\n".join(parts) + "\n"


def _curve_table(curve: Curve) -> str:
    rows = [[f"{point.size:,}", _seconds(point.seconds), number(point.megabytes)] for point in curve.points]
    rows.append(["exponent", f"{curve.seconds_exponent:.2f}", f"{curve.megabytes_exponent:.2f}"])
    return table([curve.name, "time", "peak, MB"], rows)


def _seconds(value: float) -> str:
    unit = next((unit for unit, factor in reversed(UNITS.items()) if value * factor >= 1), "µs")
    return f"{number(value * UNITS[unit])} {unit}"


def machine_text(machine: Machine) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    return (
        f"{machine.processor}, {machine.cores} cores, {machine.system}, Python {machine.python}. {packages}.\n\n"
        f"The run took {machine.minutes:.0f} minutes. Load average {machine.load_before:.1f} before and "
        f"{machine.load_after:.1f} after; the run itself accounts for 1 to 2."
    )


def report_text(report: Report) -> str:
    """Return the text of RESULTS.md."""
    missed = [target for target in report.targets if target.verdict == "missed"]
    met = f"{len(report.targets) - len(missed)} of {len(report.targets)} targets are met."
    misses = f" Missed:\n\n{targets_table(missed)}" if missed else ""
    sections = map(section_text, report.sections)
    parts = [INTRODUCTION, machine_text(report.machine), met + misses, *sections, growth_text(report.growth)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def speed_text(report: Report) -> str:
    """Return the numbers in docs/speed.md: workloads with a peer, and the speed-up."""

    def row(section: Section, workload: Workload, slower: str, faster: str, ratio: float) -> list[str]:
        name = workload.name if faster == "ours" else f"{workload.name}, {faster}"
        of_what = section.unit.partition(" ")[2]  # "a question", or nothing for the whole workload
        times = [f"{_seconds(workload.timings[own].median)} {of_what}".rstrip() for own in (slower, faster)]
        return [name, slower, *times, number(ratio)]

    rows = [
        row(section, workload, slower, faster, ratio)
        for section in report.sections
        for workload in section.workloads
        for slower, faster in section.ratios
        if slower in workload.headline and faster != FLOOR and (ratio := workload.ratio(slower, faster))
    ]
    machine = report.machine
    return f"On {machine.cores} cores of {machine.processor} with Python {machine.python}:\n\n" + table(
        ["", "compared with", "its time", "ours", "speed-up"], rows, 2
    )


def with_numbers(page: str, report: Report) -> str:
    """Return the page with the numbers of a report."""
    before, rest = page.split(STARTED)
    _, after = rest.split(ENDED)
    return f"{before}{STARTED}\n\n{speed_text(report)}\n\n{ENDED}{after}"
