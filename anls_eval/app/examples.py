"""Real examples for every tab, from the folder examples of the repository."""

from __future__ import annotations

from pathlib import Path

_EXAMPLES = Path(__file__).parent.parent.parent / "examples"

DOCVQA = _EXAMPLES / "docvqa"  # real runs of six models on the first 1,000 questions of SP-DocVQA val
DUDE = _EXAMPLES / "dude"

_COCA_COLA = "Coca Cola\nCoca Cola Company"
ANSWERS = {
    "CocaCola": ("CocaCola", _COCA_COLA, "standard", 0.5),
    "The Coca": ("The Coca", _COCA_COLA, "standard", 0.5),
    "Coca cola": ("Coca cola", _COCA_COLA, "standard", 0.5),
    "Cola": ("Cola", _COCA_COLA, "standard", 0.5),
    "Cat": ("Cat", _COCA_COLA, "standard", 0.5),
    "A date": ("12/15/89", "12/15/88", "standard", 0.5),
    "The boundary": ("ab", "ac", "standard", 0.5),
    "Padding": ("Boston          ", "Houston", "rrc", 0.5),
}
"""Prediction, answers, protocol and threshold. The first five are the table in Biten et al., "ICDAR 2019 Competition on
Scene Text Visual Question Answering"; the next is from the metric card."""

# Adapted from examples/features/document-extraction in github.com/EntityProcess/agentv (commit 58f316c, MIT licence).
_INVOICE = """{
  "invoice_number": "INV-2025-001234",
  "invoice_date": {"$one_of": ["15-JAN-2025", "2025-01-15"]},
  "currency": "USD",
  "gross_total": 200,
  "supplier": {"name": "Acme - Shipping"},
  "line_items": [
    {"description": "OCEAN FREIGHT", "quantity": 1, "line_total": 120},
    {"description": "Bunker Adjustment Factor", "quantity": 1, "line_total": 80}
  ]
}"""
_EXTRACTED_INVOICE = """{
  "invoice_number": "INV-2025-001234",
  "invoice_date": "2025-01-15",
  "incoterm": "CIF",
  "gross_total": 200.5,
  "supplier": {"name": "Acme Shipping"},
  "line_items": [
    {"description": "Bunker Adjustment Faktor", "quantity": 1, "line_total": 80},
    {"description": "OCEAN FREIGHT", "quantity": 1, "line_total": 120}
  ]
}"""
_ONE_DATE = _INVOICE.replace('{"$one_of": ["15-JAN-2025", "2025-01-15"]}', '"15-JAN-2025"')
_INVOICE_RULES = """{
  "$.invoice_number": {"compare": "exact"},
  "$.invoice_date": {"compare": "date"},
  "$.gross_total": {"compare": "number", "relative": "0.01", "weight": 2},
  "$.line_items": {"key": "line_total"},
  "$.line_items[*].quantity": {"compare": "number"},
  "$.line_items[*].line_total": {"compare": "number"}
}"""
DOCUMENTS = {
    "An invoice": (_EXTRACTED_INVOICE, _INVOICE, "anls_star", "", ""),
    "An invoice by fields": (_EXTRACTED_INVOICE, _ONE_DATE, "anls_star", "", _INVOICE_RULES),
    "From the metric card": (
        '{"total": "17.9", "items": ["pen", "ink"]}',
        '{"total": "17.99", "items": ["ink", "pen"]}',
        "anls_star",
        "",
        "",
    ),
    "Python, with a tuple": (
        "{'brand': 'CocaCola', 'litres': 1.5}",
        "{'brand': ('Coca Cola', 'Coca Cola Company'),\n 'litres': 1.5}",
        "anls_star",
        "",
        "",
    ),
    "Output of a model": (
        '<think>It is of 15 January.</think>Here it is:\n```json\n{"total": "17.99", "date": "15 January 2025"}\n```',
        '{"total": 17.99, "date": "2025-01-15"}',
        "anls_star",
        "think,json",
        '{\n  "$.total": {"compare": "number"},\n  "$.date": {"compare": "date"}\n}',
    ),
}
"""Prediction, reference, protocol, steps of extraction and field rules."""

RUNS = {
    "Qwen2-VL-7B-Instruct": str(DOCVQA / "pred_qwen2_vl_7b_instruct.json"),
    "Qwen2-VL-2B-Instruct": str(DOCVQA / "pred_qwen2_vl_2b_instruct.json"),
    "Qwen2-VL-7B": str(DOCVQA / "pred_qwen2_vl_7b.json"),
    "Llama 4 Maverick": str(DOCVQA / "pred_llama_maverick.json"),
    "Llama Nemotron": str(DOCVQA / "pred_llama_nemotron.json"),
    "Llama 4 Scout": str(DOCVQA / "pred_llama_scout.json"),
}
"""The prediction file of each model in `DOCVQA`."""

_REFERENCES = str(DOCVQA / "references.json")

SUBMISSIONS = {
    **{model: (path, _REFERENCES, "standard", []) for model, path in RUNS.items()},
    "DUDE's demonstration": (
        str(DUDE / "DUDE_demo_submission_imperfect.json"),
        str(DUDE / "DUDE_demo_gt.json"),
        "dude",
        ["answer_type"],
    ),
}
"""Predictions, references, protocol, and the columns to break the score down by."""

COMPARISONS: dict[str, tuple[list[str], str, str, list[str]]] = {
    "The six runs": (list(RUNS.values()), _REFERENCES, "standard", []),
    "The two best": ([RUNS["Llama 4 Maverick"], RUNS["Qwen2-VL-7B-Instruct"]], _REFERENCES, "standard", []),
}
"""Prediction files, references, protocol, and the columns to break the scores down by."""
