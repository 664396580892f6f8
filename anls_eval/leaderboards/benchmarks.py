"""The benchmarks by name: one file for each family."""

from __future__ import annotations

import types
from collections.abc import Mapping

from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.cc_ocr import CC_OCR_KIE_ACC, CC_OCR_KIE_F1, LMMS_CC_OCR_KIE_ACC, LMMS_CC_OCR_KIE_F1
from anls_eval.leaderboards.cc_ocr_v2 import CC_OCR_V2_KIE, CC_OCR_V2_KIE_OFFICIAL, CC_OCR_V2_QA, CC_OCR_V2_QA_OFFICIAL
from anls_eval.leaderboards.chartqa import CHARTQA_EVALSCOPE, CHARTQA_LMMS, CHARTQA_VLMEVALKIT
from anls_eval.leaderboards.chartqapro import CHARTQAPRO, CHARTQAPRO_LMMS, CHARTQAPRO_VLMEVALKIT
from anls_eval.leaderboards.docvqa_outputs import (
    EVALSCOPE_DOCVQA,
    INSPECT_EVALS_DOCVQA,
    INSPECT_EVALS_DOCVQA_FIRST,
    LMMS_DOCVQA_REASONING,
)
from anls_eval.leaderboards.donut import DONUT_F1, DONUT_TED
from anls_eval.leaderboards.due import DUE_F1, DUE_F1_CASED, DUE_GROUP_ANLS, DUE_MEAN_F1
from anls_eval.leaderboards.extractbench import EXTRACTBENCH_VALUE
from anls_eval.leaderboards.idp import IDP_DOCVQA, IDP_KIE, IDP_VQA, IDP_VQA_PAGES
from anls_eval.leaderboards.kieval import (
    KIEVAL_ALIGNED,
    KIEVAL_DOCUMENT_ACCURACY,
    KIEVAL_ENTITY_F1,
    KIEVAL_GROUPING_F1,
)
from anls_eval.leaderboards.longdocurl import LONGDOCURL_FULL, LONGDOCURL_VLMEVALKIT
from anls_eval.leaderboards.varex import VAREX
from anls_eval.leaderboards.vrdu import VRDU

_BENCHMARKS = (
    DONUT_F1, DONUT_TED,
    CC_OCR_KIE_F1, CC_OCR_KIE_ACC, LMMS_CC_OCR_KIE_F1, LMMS_CC_OCR_KIE_ACC,
    CC_OCR_V2_KIE, CC_OCR_V2_KIE_OFFICIAL, CC_OCR_V2_QA, CC_OCR_V2_QA_OFFICIAL,
    CHARTQA_LMMS, CHARTQA_VLMEVALKIT, CHARTQA_EVALSCOPE,
    CHARTQAPRO, CHARTQAPRO_VLMEVALKIT, CHARTQAPRO_LMMS,
    LONGDOCURL_FULL, LONGDOCURL_VLMEVALKIT,
    EVALSCOPE_DOCVQA, INSPECT_EVALS_DOCVQA, INSPECT_EVALS_DOCVQA_FIRST, LMMS_DOCVQA_REASONING,
    IDP_KIE, IDP_VQA, IDP_VQA_PAGES, IDP_DOCVQA,
    DUE_F1, DUE_F1_CASED, DUE_MEAN_F1, DUE_GROUP_ANLS,
    VRDU,
    KIEVAL_ENTITY_F1, KIEVAL_ALIGNED, KIEVAL_GROUPING_F1, KIEVAL_DOCUMENT_ACCURACY,
    VAREX, EXTRACTBENCH_VALUE,
)  # fmt: skip

BENCHMARKS: Mapping[str, Benchmark] = types.MappingProxyType({own.name: own for own in _BENCHMARKS})
"""Every benchmark by its name."""
