"""The benchmarks: equal to the code that they are named after, on every recorded case; counts add up."""

import collections
import json
import math
import pickle
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from anls_eval.extract.harness import (
    evalscope_answer,
    inspect_first_mark,
    inspect_last_line,
    lmms_reasoning_answer,
)
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS, leaderboard_figures, leaderboard_score
from anls_eval.leaderboards.benchmark import Figures, sum_counts
from anls_eval.leaderboards.expression import evaluate_expression
from anls_eval.registry import BENCHMARK_NAMES, get_protocol, get_rules, signature
from anls_eval.rules.table import PROTOCOLS

# Made by running the originals at the commits that `source` names, with Python 3.11, numpy 2.4.6, scipy 1.17.1, zss
# 1.2.0, nltk 3.10.4, json_repair 0.64.6, textdistance 4.2.0, rapidfuzz 3.14.6, editdistance 0.8.1, dateutil 2.9.0;
# `vrdu` is a transcription. `value` is null or "nan" where the original reports nothing, `error` names what it raises.
NOTHING = (None, "nan")


class Case(NamedTuple):
    id: str
    protocol: str
    kind: str
    prediction: Any
    reference: Any
    answer_type: Any
    options: Any
    expected: Any
    is_error: bool


def read(name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").strip().split("\n")]


def cases() -> Iterator[Case]:
    for row in read("extraction.jsonl"):
        sides = row["prediction"], row["reference"], None, row.get("options")
        yield Case(row["id"], row["protocol"], row["kind"], *sides, row.get("value"), "error" in row)
    for row in read("typed_more.jsonl"):
        if row.get("kind") == "extraction":
            continue
        sides = row["prediction"], row["reference"], row.get("answer_type"), row.get("options")
        for name, value in row["expected"].items():
            yield Case(row["id"], name, row.get("kind", "question"), *sides, value, False)
        for name in row.get("original_raises", ()):
            yield Case(row["id"], name, row.get("kind", "question"), *sides, None, True)


CASES: dict[str, list[Case]] = collections.defaultdict(list)
for case in cases():
    CASES[case.protocol].append(case)


def figures_of(own: Case) -> Figures:
    options: Any = {"protocol": own.protocol, "options": own.options}
    if own.kind == "corpus":
        return leaderboard_figures(own.prediction, own.reference, answer_types=own.answer_type, **options)
    if isinstance(own.expected, dict):
        types = None if own.answer_type is None else [own.answer_type]
        return leaderboard_figures([own.prediction], [own.reference], answer_types=types, **options)
    score = leaderboard_score(own.prediction, own.reference, answer_type=own.answer_type, **options)
    return {"score": None if math.isnan(score) else score}


class TestOriginals:
    def test_every_recorded_row_is_a_case(self) -> None:
        assert set(CASES) == set(BENCHMARKS)
        assert [len(read(name)) for name in ("extraction.jsonl", "typed_more.jsonl")] == [1090, 507]

    @pytest.mark.parametrize("protocol", BENCHMARKS)
    def test_the_recorded_values(self, protocol: str) -> None:
        wrong = {}
        for own in CASES[protocol]:
            if own.is_error:
                continue
            found = figures_of(own)
            wanted = own.expected if isinstance(own.expected, dict) else {"score": own.expected}
            if any(found[name] != (None if value in NOTHING else value) for name, value in wanted.items()):
                wrong[own.id, own.kind] = (found, wanted)
        assert wrong == {}

    @pytest.mark.parametrize("protocol", BENCHMARKS)
    def test_where_the_original_fails(self, protocol: str) -> None:
        for own in CASES[protocol]:
            if own.is_error:
                with pytest.raises(ValueError, match=r".{20}"):
                    figures_of(own)

    def test_what_is_taken_out_of_outputs(self) -> None:
        steps = {
            "evalscope_docvqa": evalscope_answer,
            "inspect_evals_docvqa": inspect_last_line,
            "inspect_evals_docvqa_first": inspect_first_mark,
            "lmms_docvqa_reasoning": lmms_reasoning_answer,
        }
        rows = [row for row in read("typed_more.jsonl") if row.get("kind") == "extraction"]
        assert len(rows) == 59
        for row in rows:
            found = {name: step(row["prediction"]) for name, step in steps.items()}
            assert found == {name: row["expected"][name] for name in steps}


class TestRegistry:
    def test_names_are_unique_and_known_to_the_registry(self) -> None:
        names = [name for own in BENCHMARKS.values() for name in (own.name, *own.aliases)]
        assert list(BENCHMARK_NAMES) == names
        assert len({*names, *LEADERBOARDS, *PROTOCOLS}) == len(names) + len(LEADERBOARDS) + len(PROTOCOLS)

    @pytest.mark.parametrize("name", BENCHMARKS)
    def test_rules_and_signature(self, name: str) -> None:
        own = get_rules(name.upper().replace("_", "-"))
        assert own is BENCHMARKS[name]
        assert f"|protocol:{name}|" in signature(own, n=3)
        assert pickle.loads(pickle.dumps(own)).name == name  # noqa: S301
        for text in (own.description, own.source, own.reports, own.family):
            assert text
            assert text == text.strip()

    def test_get_protocol_says_what_to_use(self) -> None:
        with pytest.raises(ValueError, match=r"anls_eval\.leaderboard_figures, or files with `anls score -p donut_f1`"):
            get_protocol("donut_f1")

    def test_a_plain_protocol_has_figures_too(self) -> None:
        assert leaderboard_figures(["ab"], [["ac", "ab"]], protocol="rrc") == {"score": 1.0, "mean": 1.0}
        assert leaderboard_figures([{"a": "x"}], [{"a": "y"}], protocol="anls_star") == {"score": 0.0, "mean": 0.0}
        assert leaderboard_score("ab", ["ac"], protocol="standard") == 0.5
        assert leaderboard_score({"a": 1}, {"a": "1"}, protocol=PROTOCOLS["anls_star"]) == 1.0

    def test_figures_of_a_leaderboard(self) -> None:
        predictions, references = ["Lima", "Not answerable", "Oslo"], ["Lima", "Not answerable", "Rome"]
        options: Any = {"protocol": "mmlongbench", "answer_types": ["Str", "None", "Str"]}
        found = leaderboard_figures(predictions, references, **options)
        assert found == {"score": 2 / 3, "mean": 2 / 3, "accuracy": 2 / 3, "f1": 0.5}


class TestBatches:
    @pytest.mark.parametrize("protocol", [name for name, own in BENCHMARKS.items() if own.unit == "question"])
    def test_a_question_scores_the_same_beside_any_other(self, protocol: str) -> None:
        own = BENCHMARKS[protocol]
        rows = [row for row in CASES[protocol] if not row.is_error and row.kind != "corpus"]
        types = [row.answer_type for row in rows] if own.answer_types else None
        options = {name: [row.options[name] for row in rows] for name in own.question_options if rows[0].options}
        counted = list(
            own.count_all([row.prediction for row in rows], [row.reference for row in rows], types, options or None)
        )
        assert len(counted) == len(rows) > 10
        for row, found in zip(rows, counted, strict=True):
            alone = {name: [row.options[name]] for name in options}
            kinds = None if types is None else [row.answer_type]
            assert [found] == list(own.count_all([row.prediction], [row.reference], kinds, alone or None))

    def test_missing_predictions_score_0(self) -> None:
        for name, prediction, reference in (
            ("chartqa_lmms", "", ""),
            ("chartqa_lmms", "a", "a"),
            ("idp_docvqa", "", [""]),
        ):
            own = BENCHMARKS[name]
            assert list(own.count_all([prediction] * 2, [reference] * 2, None, missing={1})) == [1.0, 0.0]
        longdocurl = BENCHMARKS["longdocurl_full"]
        counted = map(longdocurl.as_counts, longdocurl.count_all(["a"] * 2, ["a"] * 2, ["String"] * 2, missing={0}))
        assert [own["scores"] for own in counted] == [(0.0,), (1.0,)]


class TestErrors:
    @pytest.mark.parametrize(
        ("prediction", "reference", "options", "message"),
        [
            ({}, {}, {"protocol": "donut"}, r"protocol='donut'.*Did you mean 'donut_f1'"),
            ({}, {}, {"protocol": "donut_f1"}, "no document has a field on either side"),
            ({}, {"a": 1}, {"protocol": "donut_f1", "options": {"x": 1}}, "has no option 'x'; it takes none"),
            ({}, {"a": 1}, {"protocol": "donut_f1", "answer_type": "x"}, "has no answer types; leave it out"),
            ({1: 2}, {"a": 1}, {"protocol": "donut_f1"}, "prediction: the key 1 is an int, 1; expected text"),
            ({"a": object()}, {"a": 1}, {"protocol": "donut_f1"}, "prediction: it holds an object, .*JSON document"),
            ("x", "y", {"protocol": "chartqapro", "answer_type": "Factoid"}, r"options\['year'\]=None: expected the"),
            ("x", "y", {"protocol": "longdocurl_full"}, "answer_type=None: expected one of 'Integer'"),
            ([], [], {"protocol": "vrdu"}, r"options\['appearance'\]=\{\}: expected how each name appears"),
            (["x"], [], {"protocol": "vrdu", "options": {"match": {"x": "DateMatch"}}}, r"expected a list of \[name"),
            ({"a": [1]}, {"a": ["x"]}, {"protocol": "due_f1"}, r"'a' has an int, 1; expected a text"),
            ({"groups": []}, {}, {"protocol": "kieval_aligned"}, "expected a document of the form"),
            (None, "x", {"protocol": "varex"}, "reference: it is a str, 'x'; expected an object"),
            ("ab", ["ac"], {"protocol": "rrc", "options": {"x": 1}}, "'rrc' has no options; leave them out"),
        ],
    )
    def test_messages(self, prediction: Any, reference: Any, options: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            leaderboard_score(prediction, reference, **options)

    def test_without_json_repair(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "json_repair", None)
        with pytest.raises(ValueError, match="repairs it with json_repair: install that package"):
            leaderboard_score("x", "{'a': 1", protocol="cc_ocr_kie_f1")

    def test_messages_name_the_row(self) -> None:
        with pytest.raises(ValueError, match=r"predictions\[1\]: 'a' has an int|prediction.*\[1\]: 'a' has an int"):
            leaderboard_figures([{}, {"a": [1]}], [{}, {}], protocol="due_f1")
        with pytest.raises(ValueError, match="2 predictions but 1 reference"):
            leaderboard_figures([{}, {}], [{}], protocol="vrdu")
        options: Any = {"protocol": "chartqapro", "answer_types": ["Factoid"] * 2, "options": {"year": [["NO"]]}}
        with pytest.raises(ValueError, match=r"year=\[\['NO'\]\]: expected one value for each of the 2 predictions"):
            leaderboard_figures(["a", "b"], ["a", "b"], **options)

    @pytest.mark.parametrize("protocol", ["idp_docvqa", "chartqa_vlmevalkit", "cc_ocr_v2_qa", "evalscope_docvqa"])
    def test_one_endless_answer_among_plain_ones(self, protocol: str) -> None:
        endless: Any = []
        endless.append(endless)
        with pytest.raises(ValueError, match=r"references\[1\] contains itself"):
            leaderboard_figures(["a", "b", "c"], [["a"], endless, "c"], protocol=protocol)

    def test_the_first_question_that_is_wrong_is_named(self) -> None:
        options: Any = {"protocol": "longdocurl_full", "answer_types": ["List", "List", 5]}
        with pytest.raises(ValueError, match=r"references\[1\]: it is an empty list"):
            leaderboard_figures(["a", "b", "c"], [["a"], [], ["c"]], **options)

    def test_deep_documents(self) -> None:
        deep: Any = "x"
        for _ in range(5000):
            deep = {"a": deep}
        for protocol in ("donut_f1", "donut_ted", "varex", "extractbench_value"):
            with pytest.raises(ValueError, match="nested too deeply"):
                leaderboard_score(deep, deep, protocol=protocol)

    @pytest.mark.parametrize(
        "text",
        ["9 ** 9 ** 9", "'x' * 10 ** 9", "__import__('os')", "len([1])", "[x for x in y]", "'%9999999d' % 1", "a.b"],
    )
    def test_expressions_that_are_not_evaluated(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"."):
            evaluate_expression(text)

    @pytest.mark.parametrize(
        ("text", "value"),
        [("3 * 4", 12), (" 1/4", 0.25), ("2019-2020", -1), ("-5", -5), ("{1, 1}", {1}), ("[1, 'a']", [1, "a"])],
    )
    def test_expressions_that_are(self, text: str, value: Any) -> None:
        assert evaluate_expression(text) == value


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", " ", "a", "ab", "a<leaf>", "1.0"])
)
KEYS = st.sampled_from(["a", "b", "a.b", "", "cc"])
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(LEAVES, lambda own: st.lists(own, max_size=3) | st.dictionaries(KEYS, own, max_size=3)),
    max_size=4,
)
TREES = ("donut_f1", "donut_ted", "varex", "extractbench_value", "cc_ocr_kie_f1", "idp_kie")


def backwards(document: Any) -> Any:
    """The same document with its keys in another order."""
    if isinstance(document, list):
        return list(map(backwards, document))
    return (
        dict(reversed([(key, backwards(own)) for key, own in document.items()]))
        if isinstance(document, dict)
        else document
    )


def has_leaf(document: Any) -> bool:
    own = document.values() if isinstance(document, dict) else document
    return any(map(has_leaf, own)) if isinstance(document, (dict, list)) else True


def pairs_with_itself(document: Any) -> bool:
    """Whether VAREX finds each field again: no list item is without a leaf, and no two fields can share a path."""
    if isinstance(document, dict):
        return not {"", "a.b"} & document.keys() and all(map(pairs_with_itself, document.values()))
    if isinstance(document, list):
        return all(map(has_leaf, document)) and all(map(pairs_with_itself, document))
    return True


class TestProperties:
    @given(prediction=DOCUMENTS, reference=DOCUMENTS)
    @examples(150)
    def test_the_order_of_keys_does_not_count(self, prediction: Any, reference: Any) -> None:
        for protocol in ("donut_f1", "donut_ted"):
            count = BENCHMARKS[protocol].count_all
            one, *_ = count([prediction], [reference], None)
            assert [one] == list(count([backwards(prediction)], [backwards(reference)], None))

    @given(document=DOCUMENTS)
    @examples(100)
    def test_a_document_equals_itself(self, document: Any) -> None:
        for protocol in TREES:
            try:
                score = leaderboard_score(document, document, protocol=protocol)
            except ValueError:
                continue  # no field
            if protocol == "varex" and not pairs_with_itself(document):
                continue
            assert math.isnan(score) or score == pytest.approx(1, abs=1e-5) or score == 0

    @pytest.mark.parametrize(
        ("document", "own"),
        [
            ({"a": [{}, False, [[]]]}, 1 / 2),
            ({"a": [{"b": 1}, [[]], "x"]}, 2 / 3),
            ({"a": [{"b": 1}, {"c": [[]]}]}, 1 / 2),
            ({"cc": -1, "b": None, "": {"a": -1, "b": 0}}, 2 / 3),
            ({"a": None, "": {"a": False, "b": False}}, 1 / 2),
        ],
    )
    def test_varex_of_a_document_with_itself(self, document: Any, own: float) -> None:
        """The original's values: it puts items without leaves and values that are null behind all others."""
        assert leaderboard_score(document, document, protocol="varex") == own

    @given(pairs=st.lists(st.tuples(DOCUMENTS, DOCUMENTS), max_size=6), at=st.integers(0, 6))
    @examples(100)
    def test_counts_of_any_split_add_up(self, pairs: Any, at: int) -> None:
        predictions, references = [own for own, _ in pairs], [own for _, own in pairs]
        for protocol in TREES:
            own = BENCHMARKS[protocol]
            parts = [
                sum_counts(own.count_all(predictions[part], references[part], None))
                for part in (slice(0, at), slice(at, None))
            ]
            try:
                whole = leaderboard_figures(predictions, references, protocol=protocol)
            except ValueError:
                continue  # no field
            assert own.figures(sum_counts(parts)) == whole

    @pytest.mark.parametrize("protocol", BENCHMARKS)
    def test_counts_are_integers_and_scores(self, protocol: str) -> None:
        own = BENCHMARKS[protocol]
        for row in CASES[protocol]:
            if row.is_error or row.kind == "corpus":
                continue
            options = {
                name: [value] if name in own.question_options else value for name, value in (row.options or {}).items()
            }
            types = None if row.answer_type is None else [row.answer_type]
            [counted] = own.count_all([row.prediction], [row.reference], types, options)
            assert all(isinstance(value, (int, tuple)) for value in own.as_counts(counted).values())

    @given(texts=st.lists(st.text(max_size=12), min_size=3, max_size=3))
    @examples(100)
    def test_any_text_has_a_score_or_a_clear_error(self, texts: list[str]) -> None:
        for name, own in BENCHMARKS.items():
            if own.unit == "question":
                options = {"year": ["NO"]} if "year" in own.question_options else None
                kind = own.answer_types[-1] if own.answer_types else None
                try:
                    score = leaderboard_score(texts[0], texts[1], protocol=name, answer_type=kind, options=options)
                except ValueError:
                    continue
                assert math.isnan(score) or 0 <= score <= 1
