"""The plot of how time and memory grow."""

from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results import Curve, Growth

# The same bytes for the same numbers, text as text, and a background of its own for dark pages.
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "anls",
    "font.size": 9,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
MEGABYTES = (100, 200, 500, 1_000, 2_000)
TIME, MEMORY, IMPORTS = "#1f5fa8", "#b3541e", "#707070"


def write_growth(path: Path, growth: Growth) -> None:
    """Draw a column for each curve: time above, the peak of memory below."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(growth.curves), 4.6), layout="constrained", facecolor="white")
        axes = figure.subplots(2, len(growth.curves), sharex="col", sharey="row", squeeze=False)
        points = [point for curve in growth.curves for point in curve.points]
        axes[0, 0].set_ylim(*around([growth.import_seconds, *(point.seconds for point in points)]))
        axes[1, 0].set_ylim(*around([growth.import_megabytes, *(point.megabytes for point in points)]))
        for (above, below), curve in zip(axes.T, growth.curves, strict=True):
            draw(above, curve, [point.seconds for point in curve.points], curve.seconds_exponent, TIME)
            draw(below, curve, [point.megabytes for point in curve.points], curve.megabytes_exponent, MEMORY)
            above.axhline(growth.import_seconds, color=IMPORTS, linestyle=":", linewidth=1)
            below.axhline(growth.import_megabytes, color=IMPORTS, linestyle=":", linewidth=1)
            below.set_xlabel(curve.name)
        axes[0, 0].set_ylabel("seconds")
        axes[1, 0].set_ylabel("peak, MB")
        axes[1, 0].set_yticks(MEGABYTES, map(str, MEGABYTES))
        axes[0, 0].annotate(
            "a process that only imports",
            (0.02, growth.import_seconds),
            xycoords=("axes fraction", "data"),
            color=IMPORTS,
            fontsize=7,
            verticalalignment="bottom",
        )
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def around(values: list[float]) -> tuple[float, float]:
    """Return limits of a logarithmic axis; matplotlib's own have no height where all values are equal."""
    return min(values) / 1.3, max(values) * 1.3


def draw(axes: Axes, curve: Curve, values: list[float], exponent: float, colour: str) -> None:
    axes.loglog([point.size for point in curve.points], values, marker="o", markersize=3.5, linewidth=1.4, color=colour)
    axes.minorticks_off()  # they would make most of the file
    axes.set_title(f"grows as size$^{{{exponent:.2f}}}$", fontsize=9)
    axes.grid(alpha=0.25, linewidth=0.5)
