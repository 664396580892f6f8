"""The benchmarks by name: one file for each family."""

from __future__ import annotations

import types
from collections.abc import Mapping

from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.donut import DONUT_F1, DONUT_TED

_BENCHMARKS = (DONUT_F1, DONUT_TED)

BENCHMARKS: Mapping[str, Benchmark] = types.MappingProxyType({own.name: own for own in _BENCHMARKS})
"""Every benchmark by its name."""
