"""Rewards for TRL and verl as functions: batches, columns, and whatever a model can write."""

import json
from typing import Any

import pytest
from any_texts import ANY_TEXT
from hypothesis import example, given
from hypothesis import strategies as st

from anls_eval.fields.fields import Fields
from anls_eval.integrations.trl import make_reward
from anls_eval.integrations.verl import compute_score, compute_scores
from anls_eval.scoring import anls_score, anls_star_score

FIELDS = {"$.total": {"compare": "number"}, "$.date": {"compare": "date"}, "$.items[*].sku": {"compare": "exact"}}
TRUTH = {"total": 12, "date": "2024-01-02", "items": [{"sku": "A1", "text": "pen"}]}
MARKS = [
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "Answer:",
    "\\boxed{",
    "```json\n",
    "\n```",
    "{",
    "}",
    "[",
    "]",
]
PARTS = ['"total": ', '"items": ', '"$one_of": ', '"$literal": ', "1e999", "NaN", "9" * 5000, "\\ud800", ",", "\x00"]
OUTPUTS = st.lists(st.sampled_from(MARKS + PARTS) | ANY_TEXT, max_size=12).map("".join)
JSON_OUTPUTS = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["total", "date", "items", "sku", "$one_of", "$literal", ""]), inner, max_size=3
        )
    ),
    max_leaves=8,
).map(json.dumps)
HOSTILE = ["", "[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900, '{"a": [' + '{"total": 1},' * 300 + "null]}"]


@given(st.lists(OUTPUTS | JSON_OUTPUTS, min_size=1, max_size=5))
@example(HOSTILE)
def test_whatever_a_model_writes_has_a_reward(outputs: list[str]) -> None:
    """One batch, from 0 to 1, equal to scores one by one; nothing is raised and nothing warned of."""
    of_texts: list[dict[str, Any]] = [{}, {"extract": "think,answer_tag,boxed"}, {"threshold": 0}]
    for options in of_texts:
        reward = make_reward(**options)
        found = reward(completions=outputs, answers=[["12 pens", "twelve"]] * len(outputs))
        assert all(isinstance(own, float) and 0 <= own <= 1 for own in found)
        assert found == [reward(completions=[own], answers=[["12 pens", "twelve"]])[0] for own in outputs]
    for fields in (None, FIELDS):
        for extract in (None, "json", "think,fence"):
            options = {"protocol": "anls_star", "fields": fields, "extract": extract}
            reward = make_reward(**options)
            truths = [json.dumps(TRUTH)] * len(outputs)
            found = reward(completions=outputs, answers=truths)
            assert all(isinstance(own, float) and 0 <= own <= 1 for own in found)
            assert found == compute_scores(["a"] * len(outputs), outputs, truths, **options)


def test_scores_are_those_of_anls_eval() -> None:
    reward = make_reward(answers="labels", protocol="rrc", extract="think,answer_tag")
    texts = ["<think>a</think><answer>Denver Bronco</answer>", "12/15/89"]
    labels = [["Denver Broncos", "Broncos"], "['12/15/88', 'December 15']"]
    assert reward(prompts=["p"] * 2, completions=texts, labels=labels, trainer_state=None) == [
        anls_score("Denver Bronco", labels[0], protocol="rrc"),
        0.875,
    ]
    output = '```json\n{"total": "12.00", "date": "02.01.2024"}\n```'
    for truth in (json.dumps(TRUTH), str(TRUTH), [json.dumps(TRUTH), '{"total": 13}']):
        expected = anls_star_score(json.loads(output.strip("`json\n")), TRUTH, fields=FIELDS)
        assert compute_score("invoices", output, truth, {}, protocol="anls_star", fields=FIELDS) == expected
        assert make_reward(protocol="anls_star", fields=FIELDS)(completions=[output], answers=[truth]) == [expected]


def test_messages() -> None:
    """The last message of the assistant counts; a call of a tool has no text, and parts of text are joined."""
    parts: list[Any] = [{"type": "text", "text": "Ro"}, {"type": "image"}, {"type": "text", "text": "me"}]
    completions: list[Any] = [
        [{"role": "assistant", "content": "Lima"}, {"role": "assistant", "content": "Rome"}],
        [{"role": "assistant", "content": None, "tool_calls": []}],
        [{"role": "assistant", "content": "Oslo"}, {"role": "tool", "content": "Rome"}],
        [{"role": "tool", "content": "Rome"}],
        [{"role": "assistant", "content": parts}],
        [],
    ]
    assert make_reward()(completions=completions, answers=[["Rome"]] * 6) == [1, 0, 0, 0, 1, 0]


def test_rows_without_answers_are_skipped() -> None:
    """TRL takes None as no reward: data sets of several tasks have rows for other rewards."""
    assert make_reward()(completions=["a", "b", "c"], answers=[None, ["b"], None]) == [None, 1.0, None]
    assert make_reward()(completions=["a"], answers=[None]) == [None]


def test_fields_from_a_file(tmp_path: Any) -> None:
    file = tmp_path / "fields.json"
    file.write_text(json.dumps(Fields(FIELDS).to_dict()))
    options: dict[str, Any] = {"protocol": "anls_star", "fields": str(file)}
    assert compute_score("a", '{"total": "12.0"}', '{"total": 12}', None, **options) == 1.0


def test_names_and_errors() -> None:
    assert make_reward().__name__ == "anls"
    assert make_reward(protocol="anls_star").__name__ == "anls_star"
    with pytest.raises(ValueError, match=r"no column 'labels'; .*remove_unused_columns=False"):
        make_reward(answers="labels")(completions=["a"], answers=["a"])
    with pytest.raises(ValueError, match="fields are parts of trees"):
        make_reward(fields=FIELDS)
    with pytest.raises(ValueError, match="extract"):
        make_reward(extract="no such step")
    misspelt: dict[str, Any] = {"protocl": "rrc"}
    with pytest.raises(TypeError, match="protocl"):
        compute_score("a", "b", "c", None, **misspelt)
