"""Benchmarks on inputs that no recorded case has: the values are those of the original code for the smallest such."""

from typing import Any

import pytest

from anls_eval.leaderboards import leaderboard_figures, leaderboard_score


def extracted(answer: str) -> str:
    return f"<concise_answer>{answer}</concise_answer><answer_format>String</answer_format>"


# Protocol, prediction, reference, answer type, and the value of the code that `source` of the protocol names.
QUESTIONS: list[tuple[str, Any, Any, str | None, float]] = [
    ("chartqa_vlmevalkit", "5", "[None or 5]", None, 1.0),
    ("chartqa_vlmevalkit", "1", "[1 or 2]", None, 1.0),
    ("chartqa_vlmevalkit", "2", "[1 or 2]", None, 0.0),
    ("chartqa_vlmevalkit", "true", "[1 < 2]", None, 1.0),
    ("chartqa_vlmevalkit", "true", "[1 < 2 < 3]", None, 1.0),
    ("chartqa_vlmevalkit", "False", "[2 in [1]]", None, 1.0),
    ("chartqa_vlmevalkit", "1 or 2", "1 or 2", None, 1.0),
    ("longdocurl_full", "5", "5% %", "Float", 1.0),
    ("longdocurl_full", "5% %", "5", "Float", 1.0),
    ("longdocurl_full", "0.05", "5 % %", "Float", 1.0),
    ("longdocurl_vlmevalkit", "5", "5% %", "Float", 1.0),
    ("longdocurl_vlmevalkit", "5% %", "5", "Float", 1.0),
    ("longdocurl_full", "[1 or 2]", [1], "List", 1.0),
    ("longdocurl_vlmevalkit", "[1 or 2]", [1], "List", 0.0),
    ("longdocurl_full", "[5 > 3]", ["True"], "List", 1.0),
    ("longdocurl_full", extracted("1 or 2"), "1 or 2", "String", 0.0),
    ("longdocurl_full", extracted("1 or 2"), "1", "String", 1.0),
    ("longdocurl_full", extracted("5 > 3"), "5 > 3", "String", 0.0),
    ("longdocurl_full", extracted("5 > 3"), "True", "String", 1.0),
    ("longdocurl_full", extracted("True and False"), "False", "String", 1.0),
    ("longdocurl_full", extracted("'a' not in 'b'"), "True", "String", 1.0),
    ("longdocurl_full", extracted("5 < 'a'"), "5 < 'a'", "String", 1.0),
    ("longdocurl_full", extracted("0 or x"), "0 or x", "String", 1.0),
    ("longdocurl_full", extracted("5 or x"), "5", "String", 1.0),
    ("lmms_docvqa_reasoning", [], [], None, 0.0),
    ("evalscope_docvqa", None, [""], None, 0.0),  # its scores of questions that raise are 0
    ("due_f1_cased", {"a": [5]}, {"a": [5]}, None, 1.0),
    ("due_f1_cased", {"a": [5]}, {"a": ["5"]}, None, 0.0),
    ("due_f1_cased", {"a": [5.0]}, {"a": [5]}, None, 1.0),
    ("due_f1_cased", {"a": [None]}, {"a": [None]}, None, 1.0),
    ("due_f1_cased", {"a": [True]}, {"a": [{"value": 1, "value_variants": ["x"]}]}, None, 1.0),
    ("due_f1_cased", {"a": [{"value": "x", "value_variants": [5]}]}, {"a": [5]}, None, 1.0),
    ("cc_ocr_kie_f1", "{}", '"a"', None, 0.0),
    ("cc_ocr_kie_f1", "5", "5", None, 0.9999990000010001),
    ("cc_ocr_kie_acc", '"a"', '"a"', None, 0.3333330000003334),
]


@pytest.mark.parametrize(("protocol", "prediction", "reference", "answer_type", "value"), QUESTIONS)
def test_the_value_of_the_original(
    protocol: str, prediction: Any, reference: Any, answer_type: str | None, value: float
) -> None:
    assert leaderboard_score(prediction, reference, protocol=protocol, answer_type=answer_type) == value


# The original counts an entity with the groups or their items if its name ends as theirs do.
ENTITIES: list[tuple[Any, Any, dict[str, float | None]]] = [
    (
        {"entities": {"z.grouping": ["a"]}},
        {"entities": {"z.grouping": ["a"]}},
        {"entity_f1": 0.0, "aligned": 0.0, "grouping_f1": None, "document_accuracy": 1.0},
    ),
    (
        {},
        {"entities": {"x.group": ["a"]}},
        {"entity_f1": 0.0, "aligned": 0.0, "grouping_f1": 0.0, "document_accuracy": 0.0},
    ),
    (
        {"entities": {"x.group": ["a"]}},
        {"entities": {"x.group": ["a"], "k": ["b"]}},
        {"entity_f1": 0.6666666666666666, "aligned": 0.5, "grouping_f1": 0.0, "document_accuracy": 0.0},
    ),
    (
        {"groups": {"1": [{"n": "a"}]}},
        {"groups": {"1": [{"n": "a"}]}, "entities": {"z.grouping": ["a"]}},
        {"entity_f1": 1.0, "aligned": 1.0, "grouping_f1": 0.6666666666666666, "document_accuracy": 0.0},
    ),
]


@pytest.mark.parametrize(("prediction", "reference", "figures"), ENTITIES)
def test_entities_named_like_groups(prediction: Any, reference: Any, figures: dict[str, float | None]) -> None:
    found = leaderboard_figures([prediction], [reference], protocol="kieval_aligned")
    assert {name: found[name] for name in figures} == figures


@pytest.mark.parametrize(
    ("protocol", "prediction", "reference"),
    [
        *((name, "", text) for name in ("cc_ocr_kie_f1", "cc_ocr_kie_acc") for text in ("1.", "''", "'a'", "true")),
        ("lmms_docvqa_reasoning", ["5"], []),
        ("due_f1", {"a": [5]}, {"a": [5]}),
        ("due_f1_cased", {"a": ["x"]}, {"a": [{"value": "y", "value_variants": None}]}),
        ("due_f1_cased", {"a": [{"value_variants": ["x"]}]}, {"a": ["x"]}),
    ],
)
def test_where_the_original_fails(protocol: str, prediction: Any, reference: Any) -> None:
    with pytest.raises(ValueError, match=r".{20}"):
        leaderboard_score(prediction, reference, protocol=protocol)
