"""The benchmarks by name: one file for each family."""

from __future__ import annotations

import types
from collections.abc import Mapping

from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.cc_ocr import CC_OCR_KIE_ACC, CC_OCR_KIE_F1, LMMS_CC_OCR_KIE_ACC, LMMS_CC_OCR_KIE_F1
from anls_eval.leaderboards.donut import DONUT_F1, DONUT_TED

_BENCHMARKS = (
    DONUT_F1, DONUT_TED,
    CC_OCR_KIE_F1, CC_OCR_KIE_ACC, LMMS_CC_OCR_KIE_F1, LMMS_CC_OCR_KIE_ACC,
)  # fmt: skip

BENCHMARKS: Mapping[str, Benchmark] = types.MappingProxyType({own.name: own for own in _BENCHMARKS})
"""Every benchmark by its name."""
