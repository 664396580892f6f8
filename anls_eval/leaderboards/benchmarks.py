"""The benchmarks by name: one file for each family."""

from __future__ import annotations

import types
from collections.abc import Mapping

from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.cc_ocr import CC_OCR_KIE_ACC, CC_OCR_KIE_F1, LMMS_CC_OCR_KIE_ACC, LMMS_CC_OCR_KIE_F1
from anls_eval.leaderboards.cc_ocr_v2 import CC_OCR_V2_KIE, CC_OCR_V2_KIE_OFFICIAL, CC_OCR_V2_QA, CC_OCR_V2_QA_OFFICIAL
from anls_eval.leaderboards.chartqa import CHARTQA_EVALSCOPE, CHARTQA_LMMS, CHARTQA_VLMEVALKIT
from anls_eval.leaderboards.donut import DONUT_F1, DONUT_TED

_BENCHMARKS = (
    DONUT_F1, DONUT_TED,
    CC_OCR_KIE_F1, CC_OCR_KIE_ACC, LMMS_CC_OCR_KIE_F1, LMMS_CC_OCR_KIE_ACC,
    CC_OCR_V2_KIE, CC_OCR_V2_KIE_OFFICIAL, CC_OCR_V2_QA, CC_OCR_V2_QA_OFFICIAL,
    CHARTQA_LMMS, CHARTQA_VLMEVALKIT, CHARTQA_EVALSCOPE,
)  # fmt: skip

BENCHMARKS: Mapping[str, Benchmark] = types.MappingProxyType({own.name: own for own in _BENCHMARKS})
"""Every benchmark by its name."""
