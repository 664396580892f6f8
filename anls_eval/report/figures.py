"""The geometry of the figures, which templates draw as SVG: a plotting library would add megabytes or fixed colours."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from anls_eval.analysis.thresholds import ThresholdSweep
from anls_eval.decisions.automation import SharePoint
from anls_eval.statistics import ReliabilityPoint, RiskCoveragePoint


@dataclasses.dataclass(frozen=True)
class Plot:
    """A picture with two axes, whose plotting area leaves room for the labels."""

    width: float  # of the picture
    height: float
    x_range: tuple[float, float]  # the values at the left and right ends of the plotting area
    y_range: tuple[float, float]  # the values at its lower and upper ends
    x_labels: tuple[tuple[float, str], ...]  # values with their labels
    y_labels: tuple[tuple[float, str], ...]

    left = 64.0
    top = 14.0

    @property
    def right(self) -> float:
        """The right end of the plotting area."""
        return self.width - 14

    @property
    def bottom(self) -> float:
        """The lower end of the plotting area."""
        return self.height - 48

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        low, high = self.x_range
        return round(self.left + (value - low) / (high - low) * (self.right - self.left), 2)

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        low, high = self.y_range
        return round(self.bottom - (value - low) / (high - low) * (self.bottom - self.top), 2)


class Bar(NamedTuple):
    """A bar of a histogram, with its meaning."""

    x: float
    y: float
    width: float
    height: float
    label: str


class Dot(NamedTuple):
    """A point whose size stands for its number of questions."""

    x: float
    y: float
    radius: float
    label: str


class Figure(NamedTuple):
    """A plot with what is drawn on it."""

    plot: Plot
    bars: tuple[Bar, ...] = ()
    dots: tuple[Dot, ...] = ()
    path: str = ""  # of a curve, in SVG
    mark: tuple[float, float] | None = None  # a point on it


_UNIT_LABELS = tuple((step / 4, f"{step / 4:g}") for step in range(5))
_SQUARE = Plot(360, 340, (0, 1), (0, 1), _UNIT_LABELS, _UNIT_LABELS)


def histogram(bins: Sequence[int]) -> Figure:
    """Draw how many questions fall in each bin of equal width between 0 and 1."""
    greatest = max(*bins, 1)
    ticks = nice_ticks(0, greatest)
    labels = tuple((value, f"{value:,.0f}") for value in ticks if value == int(value))
    plot = Plot(860, 300, (0, 1), (0, max(greatest, ticks[-1])), _UNIT_LABELS, labels)
    bars = []
    for number, count in enumerate(bins):
        start, end = number / len(bins), (number + 1) / len(bins)
        x, y = plot.x(start) + 1, plot.y(count)
        width, height = round(plot.x(end) - 1 - x, 2), round(plot.bottom - y, 2)
        bars.append(Bar(x, y, width, height, f"{start:.3g} to {end:.3g}: {count:,}"))
    return Figure(plot, bars=tuple(bars))


def sweep_curve(sweep: ThresholdSweep) -> Figure:
    """Draw the mean as a step function of the threshold, and mark the threshold of the protocol."""
    ticks = nice_ticks(min(sweep.means), max(sweep.means))
    digits = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    labels = tuple((value, f"{value:.{digits}f}") for value in ticks)
    plot = Plot(860, 320, (0, 1), (ticks[0], ticks[-1]), _UNIT_LABELS, labels)
    corners = zip([*map(plot.x, map(float, sweep.thresholds)), plot.x(1)], map(plot.y, sweep.means), strict=True)
    path = f"M{plot.left:g} {plot.y(sweep.means[0]):g}"
    for x, y in _one_for_each_place(corners):
        path += f"V{y:g}H{x:g}"
    own = float(sweep.protocol.exact_threshold)
    return Figure(plot, path=path, mark=(plot.x(own), plot.y(sweep.mean(sweep.protocol.exact_threshold))))


def _one_for_each_place(corners: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Omit steps that end less than half a unit after the last: a million questions have thousands."""
    kept: list[tuple[float, float]] = []
    for corner in corners:
        if kept and corner[0] - kept[-1][0] < 0.5 and len(kept) > 1:
            kept.pop()
        kept.append(corner)
    return kept


def reliability_dots(points: Sequence[ReliabilityPoint]) -> Figure:
    """Draw the mean score of each bin against its mean confidence."""
    greatest = max(point.count for point in points)
    dots = (
        Dot(
            _SQUARE.x(point.confidence),
            _SQUARE.y(point.score),
            round(3 + 5 * math.sqrt(point.count / greatest), 2),
            f"confidence {point.confidence:.3f}, score {point.score:.3f}, questions {point.count:,}",
        )
        for point in points
    )
    return Figure(_SQUARE, dots=tuple(dots))


def risk_curve(points: Sequence[RiskCoveragePoint]) -> Figure:
    """Draw the risk of the most confident answers against their share."""
    ticks = nice_ticks(0, max(point.risk for point in points))
    plot = dataclasses.replace(_SQUARE, y_range=(0, ticks[-1]), y_labels=tuple((tick, f"{tick:g}") for tick in ticks))
    path = "L".join(f"{plot.x(point.coverage):g} {plot.y(point.risk):g}" for point in points)
    return Figure(plot, path=f"M{path}")


def share_curve(points: Sequence[SharePoint], most: float | None = None) -> Figure:
    """Draw the error among what is accepted against its share, and mark the error that is allowed, if there is one."""
    ticks = nice_ticks(0, max(most or 0.0, *(point.error for point in points)))
    plot = dataclasses.replace(_SQUARE, y_range=(0, ticks[-1]), y_labels=tuple((tick, f"{tick:g}") for tick in ticks))
    path = "L".join(f"{plot.x(point.share):g} {plot.y(point.error):g}" for point in points)
    return Figure(plot, path=f"M{path}", mark=None if most is None else (plot.left, plot.y(most)))


def nice_ticks(low: float, high: float) -> list[float]:
    """Return about five round values, the first at most `low` and the last at least `high`."""
    scale = max(abs(high), 1)
    span = high - low if high - low > 1e-9 * scale else scale / 10
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = min((own * power for own in (1, 2, 5, 10)), key=lambda own: abs(span / own - 5))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]
