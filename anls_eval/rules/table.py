"""The protocols for texts and trees: one row for each."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from typing import Any

from anls_eval.rules.protocol import Protocol


def _row(name: str, steps: str, answer_steps: str | None = None, length: str = "compared", **rules: Any) -> Protocol:
    """Return a protocol whose two sides have the same steps and length unless given otherwise."""
    both = {"prediction_length": length, "answer_length": length}
    return Protocol(
        name=name,
        prediction_steps=tuple(steps.split()),
        answer_steps=tuple((steps if answer_steps is None else answer_steps).split()),
        **(both | rules),
    )


PROTOCOLS: Mapping[str, Protocol] = types.MappingProxyType({row.name: row for row in (
    _row(
        "standard", "strip lower collapse",
        source="The definition in the task descriptions, on normalised text; also the leaves of anls_star.",
    ),
    _row(
        "paper", "strip lower collapse", keep=">",
        source="Biten et al., ICCV 2019, equation 1, as printed: a distance ratio of exactly 0.5 gives 0.",
    ),
    _row(
        "rrc", "strip lower collapse", length="raw-upper",
        aliases=(
            "docvqa", "infographicvqa", "lmms_eval", "vlmevalkit", "unitxt", "evalscope", "qwen_vl", "internvl",
        ),
        leaderboards=("DocVQA", "InfographicVQA", "lmms-eval", "VLMEvalKit", "unitxt", "EvalScope"),
        source="The script at https://rrc.cvc.uab.es/?ch=17&com=downloads. It divides by the length of the raw "
        "strings, so whitespace around a wrong answer raises its score. VLMEvalKit reports 0 to 100. The alias "
        "evalscope is the formula alone: the protocol evalscope_docvqa first takes the answer out, as EvalScope does.",
    ),
    _row(
        "pypi_anls", "strip lower collapse", length="compared-upper", keep=">",
        leaderboards=("ChartQAPro (text answers)",), source="PyPI anls 0.0.2.",
    ),
    _row(
        "stvqa", "strip lower", aliases=("m4c", "mmf"), leaderboards=("ST-VQA in mmf", "M4C", "LLaVA"),
        source="mmf, STVQAANLSEvaluator. The original fails on two empty strings; here they give 1.",
    ),
    _row(
        "mpdocvqa", "strip lower", both_empty=0, zero_predictions=("none",),
        leaderboards=("MP-DocVQA", "lmms-eval multidocvqa"),
        source='The evaluator of MP-DocVQA: an empty prediction and "none" score 0, even if they are accepted answers.',
    ),
    _row(
        "pix2struct", "lower", keep=">", leaderboards=("Pix2Struct",),
        source="google-research/pix2struct, metrics.py. The original reports 0 to 100, so its last digit differs, and "
        "fails on two empty strings; here they give 1.",
    ),
    _row(
        "paligemma", "lower", keep=">", aliases=("big_vision",), leaderboards=("PaliGemma",),
        source="google-research/big_vision, the DocVQA evaluator.",
    ),
    _row(
        "molmo", "lower", length="raw", keep=">", leaderboards=("Molmo",),
        source="allenai/molmo. The original fails on two empty strings; here they give 1.",
    ),
    _row(
        "inspect_evals", "lower", length="raw", keep=">", leaderboards=("inspect_evals docvqa",),
        source="UKGovernmentBEIS/inspect_evals, docvqa.",
    ),
    _row(
        "idefics", "strip no-outer-dots lower", answer_steps="lower", keep=">", both_empty=0,
        leaderboards=("Idefics2", "Idefics3", "SmolVLM"),
        source="huggingface/smollm, DocVQAMetrics: an empty prediction scores 0.",
    ),
    _row(
        "florence2", "lower no-final-dot", keep=">", both_empty=0, leaderboards=("Florence-2 fine-tuning",),
        source="andimarafioti/florence2-finetuning, metrics.py: an empty prediction scores 0.",
    ),
    _row(
        "due", "upper", keep=">", leaderboards=("DUE benchmark", "DocOwl 1.5", "UReader"),
        source="The evaluator of the DUE benchmark, case-insensitive.",
    ),
    _row(
        "due_cased", "", keep=">", leaderboards=("DUE benchmark",),
        source="The evaluator of the DUE benchmark, case-sensitive.",
    ),
    _row(
        "mmpretrain", "strip lower collapse", prediction_length="raw-upper", answer_length="compared-upper",
        leaderboards=("mmpretrain",), source="open-mmlab/mmpretrain, anls.py.",
    ),
    _row(
        "mistral_evals", "strip lower collapse no-end-punctuation", threshold=0.0,
        leaderboards=("mistral-evals",), source="mistralai/mistral-evals, eval/metrics.py: no threshold.",
    ),
    _row(
        "longdocurl", "", length="raw-upper", keep=">", leaderboards=("LongDocURL", "anls_compute of MMLongBench-Doc"),
        source="mayubo2333/MMLongBench-Doc, eval/eval_score.py, anls_compute.",
    ),
    _row(
        "vlmevalkit_slidevqa", "lower", length="compared-upper", keep=">",
        leaderboards=("VLMEvalKit SlideVQA", "VLMEvalKit DUDE"), source="open-compass/VLMEvalKit, SlideVQA and DUDE.",
    ),
    _row(
        "lmms_slidevqa", "lower", answer_steps="no-newlines lower", keep=">", both_empty=0,
        leaderboards=("lmms-eval slidevqa",), source="EvolvingLMMs-Lab/lmms-eval, tasks/slidevqa/utils.py.",
    ),
    _row(
        "lmms_dude", "strip lower collapse", both_empty=0, leaderboards=("lmms-eval dude",),
        source="EvolvingLMMs-Lab/lmms-eval, tasks/dude/utils.py: an answer without any text never scores.",
    ),
    _row(
        "unthresholded", "", threshold=0.0,
        source="The mean similarity of the raw texts, as from torchmetrics' EditDistance.",
    ),
    _row(
        "anls_star", "strip lower collapse", tree="released", leaderboards=("ANLS* (anls_star on PyPI)",),
        source="anls_star 1.0.1, but if lists match in several ways, the score does not depend on their order.",
    ),
    _row(
        "anls_star_paper", "strip lower collapse", tree="paper",
        source="Peer et al., arXiv:2402.03848, equations 3 to 6: dict entries that are None are ignored, None matches "
        "only None, and a missing key counts its size.",
    ),
)})  # fmt: skip
"""Every protocol by its name. `get_protocol` also accepts the aliases."""

PROTOCOLS_BY_NAME_OR_ALIAS = {**PROTOCOLS, **{alias: row for row in PROTOCOLS.values() for alias in row.aliases}}


def name_key(name: object) -> str:
    """Return a name as the tables spell it: lower case with underscores; "" for what is not a text."""
    return re.sub(r"[\s-]", "_", name.lower()) if isinstance(name, str) else ""
