"""The normal distribution and Student's t: `scipy.special` takes a quarter of a second to import."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_PANELS = np.arange(16)  # of the integral, with 20 nodes each
_MAX_STEPS = 500  # a few are taken
_MAX_U = 350.0  # sinh squared is not infinite yet


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal variable is less than z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution, infinite at 0 and 1."""
    return NormalDist().inv_cdf(p) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def student_quantile(freedom: float, p: float) -> float:
    """Return the quantile of Student's t for p of 0.5 or more, and degrees of freedom that need not be whole.

    With x = √v·sinh(u) the density is proportional to cosh(u)^-v, smooth for every v. Its integral is concave in u, so
    Newton's method approaches the quantile from below.
    """
    u = 0.0
    for _ in range(_MAX_STEPS):
        points = u / len(_PANELS) * (_PANELS[:, None] + (_NODES + 1) / 2)
        area = u / len(_PANELS) / 2 * float((_density(points, freedom) @ _WEIGHTS).sum())
        step = (p - 0.5 - area) / float(_density(np.array(u), freedom))
        u = min(u + step, _MAX_U)
        if step <= 1e-15 * u or u == _MAX_U:
            break
    return math.sqrt(freedom) * math.sinh(u)


def _density(u: Floats, freedom: float) -> Floats:
    density: Floats = np.exp(_log_scale(freedom) - freedom / 2 * np.log1p(np.sinh(u) ** 2))
    return density


def _log_scale(freedom: float) -> float:
    """Return the logarithm of Γ((v + 1)/2) / (√π·Γ(v/2)), for many degrees of freedom from its asymptotic series."""
    if freedom < 60:
        return math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(math.pi) / 2
    series = -1 / (4 * freedom) + 1 / (24 * freedom**3) - 1 / (20 * freedom**5) + 17 / (112 * freedom**7)
    return math.log(freedom / (2 * math.pi)) / 2 + series
