"""Documents as benchmarks read them: plain ones as they are, others made plain, and endless ones refused."""

import collections
from typing import Any

import numpy as np
import pytest

from anls_eval.leaderboards import leaderboard_score
from anls_eval.leaderboards.document import plain_document

PLAIN = {"a": [1, "x", None, {"b": [True, 1.5, []]}], "": {}}


def test_a_plain_document_is_not_copied() -> None:
    assert plain_document(PLAIN, "prediction") is PLAIN


@pytest.mark.parametrize(
    "document",
    [
        collections.OrderedDict(PLAIN),
        {"a": (1, "x", None, {"b": (True, 1.5, ())}), "": {}},
        {"a": np.array([1, "x", None, {"b": np.array([True, 1.5, []], dtype=object)}], dtype=object), "": {}},
        {np.str_("a"): [np.int64(1), np.str_("x"), None, {"b": [np.True_, np.float64(1.5), []]}], "": {}},
    ],
)
def test_any_other_is_made_plain(document: Any) -> None:
    found = plain_document(document, "prediction")
    assert found == PLAIN
    assert plain_document(found, "prediction") is found


def test_many_values_are_read_as_few_are() -> None:
    many = {"rows": [{"name": str(row)} for row in range(60_000)]}
    assert plain_document(many, "prediction") == many


@pytest.mark.parametrize("protocol", ["donut_f1", "due_f1", "varex", "kieval_aligned", "idp_kie", "longdocurl_full"])
def test_endless_documents(protocol: str) -> None:
    own: Any = {"a": []}
    own["a"].append(own)
    shared: Any = ["x"]
    for _ in range(30):
        shared = [shared, shared]
    options: Any = {"protocol": protocol, "answer_type": "List" if protocol == "longdocurl_full" else None}
    for document, message in ((own, "contains itself"), ({"a": shared}, "more than 10,000,000 values")):
        with pytest.raises(ValueError, match=message):
            leaderboard_score(document, {"a": ["x"]}, **options)
