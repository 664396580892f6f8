"""The endpoints of the web app, called as users' programs call them, and what its tabs show."""

import asyncio
import base64
import html
import json
import os
import re
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import child_tasks
import docvqa_runs
import gradio
import httpx
import pytest
from gradio.utils import get_upload_folder
from gradio_client import Client, exceptions, handle_file  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from places import ROOT
from reference import TEXT_PROTOCOLS
from space_server import client_of

from anls_eval.app import (
    answer,
    answer_view,
    child,
    document,
    document_score,
    field_table,
    infer_fields,
    limits,
    tasks,
    temporary_files,
    tree_view,
    trees,
)
from anls_eval.app.answer import score_answer
from anls_eval.app.options import Options
from anls_eval.app.protocols import OF_DOCUMENTS, OF_TEXTS
from anls_eval.errors import AnlsError
from anls_eval.explanation.answers import explain_answers
from anls_eval.explanation.tree import explain_tree
from anls_eval.files import FormatError, open_predictions, open_references
from anls_eval.leaderboards import leaderboard_figures
from anls_eval.registry import get_protocol, signature
from anls_eval.rules.protocol import Protocol
from anls_eval.scoring import anls_score, explain
from anls_eval.submission.score import score_submission
from anls_eval.submission.systems import ranking_as_json, score_systems
from anls_eval.text.similarity import measure_one

GOLD = docvqa_runs.FOLDER / "references.json"
RUN = docvqa_runs.FOLDER / "pred_llama_scout.json"
BEST = docvqa_runs.FOLDER / "pred_llama_maverick.json"


@pytest.fixture(scope="module")
def client(url: str) -> Client:
    return client_of(url)


# ---------------------------------------------------------------------------------------------------
# Endpoints
# ---------------------------------------------------------------------------------------------------


def test_only_the_four_endpoints_are_offered(client: Client) -> None:
    offered = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert list(offered) == ["/score_answer", "/score_document", "/score_submission", "/compare_submissions"]
    parameters = {name: [own["parameter_name"] for own in endpoint["parameters"]] for name, endpoint in offered.items()}
    assert parameters["/score_answer"] == [
        "prediction", "answers", "protocol", "threshold", "answer_type", "extract", "parse", "options",
    ]  # fmt: skip
    assert parameters["/score_document"] == ["prediction", "reference", "protocol", "extract", "fields", "options"]
    of_files = [
        "predictions", "references", "protocol", "extract", "threshold", "by", "missing", "unknown", "columns", "parse",
        "fields", "encoding", "separator", "filter", "options",
    ]  # fmt: skip
    assert parameters["/score_submission"] == of_files
    assert parameters["/compare_submissions"] == of_files


def test_extract(client: Client, tmp_path: Path) -> None:
    found = client.predict("<answer>Oslo</answer>", "Oslo", extract="answer_tag", api_name="/score_answer")
    assert (found["score"], found["raw_prediction"]) == (1, "<answer>Oslo</answer>")
    shown = answer.card("<answer>Oslo</answer>", "Oslo", "standard", None, None, "answer_tag")[0]
    assert "The answer was taken out of" in shown
    assert "extract=answer_tag" in shown  # the link
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": 1, "prediction": "<answer>Oslo</answer>", "answers": "Oslo"}')
    plain = tasks.report(str(path), None, Options(), None, None, str(tmp_path), lambda *_: None)[0]
    assert "use Extract \u201canswer_tag\u201d" in plain


def test_score_answer(client: Client) -> None:
    found = client.predict("Denver Bronco", "Broncos\nDenver Broncos\n", api_name="/score_answer")
    expected = explain_answers("Denver Bronco", ["Broncos", "Denver Broncos"]).to_dict()
    assert found == json.loads(json.dumps(expected))
    assert found["score"] == 13 / 14
    assert found["closest"] == 1


def test_score_answer_takes_every_argument(client: Client) -> None:
    found = client.predict(
        prediction="ab", answers=["a\nb", "AC"], protocol="docvqa", threshold=0.6, api_name="/score_answer"
    )
    assert found["score"] == anls_score("ab", "a b")
    assert found["comparisons"][found["closest"]]["answer"] == "a\nb"
    assert found["signature"] == signature("rrc", threshold=0.6, n=1)
    typed = client.predict(
        "['10 %', 'white']", "['White', '10%']", "mmlongbench", None, "List", api_name="/score_answer"
    )
    assert typed["score"] == 1


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        ("", {}, "there is no accepted answer: enter at least one, one per line"),
        (" \n\n", {}, "there is no accepted answer: enter at least one, one per line"),
        ([], {}, "there is no accepted answer: enter at least one, one per line"),
        (7, {}, "answers is int; expected text with one answer per line, or a list"),
        ([None], {}, "answers[0] is None; expected a string."),
        ("a", {"threshold": 7}, "threshold=7: expected a number from 0 to 1"),
        ("a", {"threshold": -0.1}, "threshold=-0.1: expected a number from 0 to 1"),
        ("a", {"threshold": "half"}, "threshold='half': expected a number from 0 to 1"),
        ("a", {"protocol": "standart"}, "Did you mean 'standard'?"),
        ("a", {"protocol": "anls_star"}, "anls_star_score"),
        ("a", {"answer_type": "Int"}, "answer_type='Int': protocol"),
        ("a" * 20_001, {}, "the answers have 20,001 characters; expected at most 20,000 here"),
        (["a"] * 201, {}, "there are 201 answers; expected at most 200 here"),
    ],
)
def test_wrong_answers_are_told(client: Client, answers: object, options: dict[str, Any], message: str) -> None:
    with pytest.raises(exceptions.AppError, match=re.escape(message)):
        client.predict("a", answers, api_name="/score_answer", **options)


def test_score_document(client: Client) -> None:
    prediction, reference = {"total": "17.9", "items": ["pen"]}, {"total": "17.99", "items": {"$one_of": [["ink"], []]}}
    expected = explain(prediction, reference, protocol="anls_star").to_dict()
    for given_ in (prediction, json.dumps(prediction), repr(prediction)):
        found = client.predict(given_, reference, api_name="/score_document")
        notes = ["the prediction was read as a Python literal, not as JSON"] if given_ == repr(prediction) else []
        assert found == {**json.loads(json.dumps(expected)), "notes": notes}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the prediction is empty; expected JSON"),
        ('{"a": 1,\n "b" 2}', "the prediction, line 2, column 6: not JSON"),
        ("{'a': 1,\n 'b' 2}", "the prediction, line 2, column 4: not a Python literal"),
        ('{"a": 1, "a": 2}', "the key 'a' twice"),
        ("__import__('os').getcwd()", "the prediction, line 1, column 1: not JSON"),
        ("[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("[" * 101 + "]" * 101, "the prediction is nested more than 100 levels deep"),
        (json.dumps(list(range(5_001))), "the prediction has more than 5,000 values"),
        ('"' + "x" * 500_000 + '"', "the prediction has 500,002 characters; expected at most 500,000 here"),
        ("('a', 'b')", "is a tuple"),
    ],
)
def test_wrong_documents_are_told(client: Client, text: str, message: str) -> None:
    with pytest.raises(exceptions.AppError, match=re.escape(message)):
        client.predict(text, "{}", api_name="/score_document")


def test_a_deep_document_is_told() -> None:
    """It comes as JSON, which is read by then, and cannot be sent to another process."""
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    sides: tuple[Any, Any]
    for sides in (deep, {}), ({}, deep):
        with pytest.raises(gradio.Error, match="is nested more than 100 levels deep"):
            document.score_document(*sides)


def test_half_characters_are_scored_but_not_linked() -> None:
    shown, more = answer.card("a\ud800", "a\ud800", "standard", None, None)
    assert "wrong" not in shown
    assert more
    assert "?tab=" not in shown
    assert "?tab=" in answer.card("a", "a", "standard", None, None)[0]


@pytest.mark.parametrize("answer_type", [{"a": 1}, ["Int"], 3])
def test_an_answer_type_that_is_no_text(answer_type: Any) -> None:
    with pytest.raises(gradio.Error, match=r"answer_type=.*: expected one of 'Str'"):
        score_answer("a", ["a"], "mmlongbench", None, answer_type)


def test_score_submission(client: Client) -> None:
    found = client.predict(handle_file(RUN), handle_file(GOLD), "rrc", api_name="/score_submission")
    expected = score_submission(open_predictions(RUN), open_references(GOLD), protocol="rrc").to_dict()
    assert found == json.loads(json.dumps(expected))


def test_compare_submissions(client: Client) -> None:
    files = [RUN, BEST]
    found = client.predict(list(map(handle_file, files)), handle_file(GOLD), api_name="/compare_submissions")
    systems = score_systems(list(map(str, files)), open_references(GOLD))
    expected = {**ranking_as_json(systems.rank()), "signature": systems.signature, "notes": []}
    assert found == json.loads(json.dumps(expected))
    assert [own["name"] for own in found["systems"]] == ["pred_llama_maverick", "pred_llama_scout"]


def test_files_that_cannot_be_scored_are_told_by_their_names(client: Client, tmp_path: Path) -> None:
    part = tmp_path / "a part.jsonl"
    part.write_text('{"id": 1, "prediction": "x"}\n{"id": 2 "prediction": "y"}\n')
    with pytest.raises(exceptions.AppError, match=r"^a part.jsonl, line 2, column 10: not JSON"):
        client.predict(handle_file(part), handle_file(GOLD), api_name="/score_submission")
    with pytest.raises(exceptions.AppError, match="there is 1 submission; expected 2 to 12"):
        client.predict([handle_file(part)], handle_file(GOLD), api_name="/compare_submissions")
    with pytest.raises(exceptions.AppError, match="has no accepted answers"):
        client.predict(handle_file(RUN), None, api_name="/score_submission")


@pytest.mark.parametrize(
    "file",
    [
        str(GOLD),
        {"path": str(GOLD)},
        {"path": str(ROOT / "pyproject.toml"), "meta": {"_type": "gradio.FileData"}},
        {"path": str(GOLD.parent / ".." / ".." / "pyproject.toml"), "meta": {"_type": "gradio.FileData"}},
        {"path": "app.py", "meta": {"_type": "gradio.FileData"}},
        "http://127.0.0.1:1/config",
        "data:application/json;base64,???",
        None,
        7,
    ],
)
def test_files_that_were_not_uploaded_are_refused(url: str, file: object) -> None:
    # By hand, since the client would upload them.
    endpoints = httpx.get(f"{url}gradio_api/info").json()["named_endpoints"]
    for name, files in ("score_submission", [file, None]), ("compare_submissions", [[file, file], file]):
        options = endpoints[f"/{name}"]["parameters"][len(files) :]
        data = [*files, *(option["parameter_default"] for option in options)]
        call = httpx.post(f"{url}gradio_api/call/{name}", json={"data": data}).json()["event_id"]
        answered = httpx.get(f"{url}gradio_api/call/{name}/{call}", timeout=None).text  # noqa: S113 - as long as it takes
        assert "event: error" in answered
        assert "answers" not in answered
        assert "gradio.routes" not in answered


def test_files_over_the_limit_are_refused(client: Client, tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (limits.MAX_UPLOAD_BYTES + 1))
    with pytest.raises(Exception, match=r"413|exceed|[Ll]arge"):
        client.predict(handle_file(large), handle_file(GOLD), api_name="/score_submission")


def test_mcp_tools(url: str) -> None:
    def data(path: Path) -> str:
        return f"data:application/json;base64,{base64.b64encode(path.read_bytes()).decode()}"

    async def use() -> tuple[list[Any], list[Any]]:
        async with (
            streamable_http_client(f"{url}gradio_api/mcp/") as (reading, writing, _),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            calls: list[tuple[str, dict[str, Any]]] = [
                ("score_answer", {"prediction": "ab", "answers": "ac"}),
                ("score_document", {"prediction": {"a": 1}, "reference": {"a": 1, "b": 2}}),
                ("score_submission", {"predictions": data(RUN), "references": data(GOLD)}),
                ("compare_submissions", {"predictions": [data(RUN), data(BEST)], "references": data(GOLD)}),
                ("score_answer", {"prediction": "ab", "answers": "ac", "threshold": 7}),
            ]
            return tools, [await session.call_tool(*call) for call in calls]

    with ThreadPoolExecutor(1) as other:  # the browser of other tests may have a loop in this thread
        tools, results = other.submit(asyncio.run, use()).result()
    assert [tool.name for tool in tools] == [
        "score_answer",
        "score_document",
        "score_submission",
        "compare_submissions",
    ]
    for tool, function in zip(tools, (score_answer, document.score_document), strict=False):
        assert (function.__doc__ or "").splitlines()[0] in tool.description
        assert all("description" in own for own in tool.inputSchema["properties"].values())
    assert [result.isError for result in results] == [False, False, False, False, True]
    texts = [result.content[0].text for result in results]
    assert "'score': 0.5" in texts[0]
    assert "'score': 0.5" in texts[1]
    assert "'anls_score': 0.3965" in texts[2]
    assert "'rank_group': 2" in texts[3]
    assert "threshold=7: expected a number from 0 to 1" in texts[4]


@pytest.mark.long
@pytest.mark.parametrize("number", [10, 50])
def test_many_users_at_once(number: int, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    def use(user: int) -> list[float]:
        own = client_of(url)
        taken = []
        for turn in range(4):
            prediction = f"{user}x{turn}"
            start = time.perf_counter()
            found = own.predict(prediction, f"{user}y{turn}", api_name="/score_answer")
            taken.append(time.perf_counter() - start)
            assert found["score"] == anls_score(prediction, f"{user}y{turn}")
            assert found["comparisons"][0]["compared_prediction"] == prediction
        return taken

    with ThreadPoolExecutor(number) as users:
        taken = [seconds for own in users.map(use, range(number)) for seconds in own]
    p95 = statistics.quantiles(taken, n=20)[-1]
    with capsys.disabled():
        print(f"\n{number} users, {len(taken)} answers: p95 {1000 * p95:.0f} ms")
    assert len(taken) == 4 * number


# ---------------------------------------------------------------------------------------------------
# What the tabs show
# ---------------------------------------------------------------------------------------------------


def shown(prediction: str, answers: str, protocol: str = "standard", threshold: float | None = None) -> tuple[str, str]:
    return answer.card(prediction, answers, protocol, threshold, None)


@pytest.mark.parametrize("protocol", TEXT_PROTOCOLS)
def test_score_and_closest_answer_are_those_of_the_metric(protocol: str) -> None:
    answers = ["Total: 1,234.", "1234", " 1.234 ", "none"]
    for prediction in ("1,234", "total 1234.", "1243", "None", "", " 1.23", "xyz"):
        found = answer_view.view(prediction, answers, protocol, None, None)
        scores = {own.name: own.score for own in found.protocols}
        assert {name: scores[name] for name in TEXT_PROTOCOLS} == {
            name: measure_one(prediction, answers, rules)[0] for name, rules in TEXT_PROTOCOLS.items()
        }
        assert found.found.score == scores[protocol]
        assert found.found.signature == signature(protocol, n=1)
        assert found.sweep is not None
        assert found.sweep.mean(get_protocol(protocol).exact_threshold) == found.found.score
        assert [own.is_chosen for own in found.protocols].count(True) == 1
        assert all(bool(own.why) == bool(own.difference) for own in found.protocols)


def test_reasons_name_the_rule_that_makes_the_difference() -> None:
    found = answer_view.view("ROME", ["Rome"], "due_cased", None, None)
    whys = {own.name: own.why for own in found.protocols}
    assert whys["due"] == "texts are compared in upper case"
    changed = answer_view.view("ab", ["ac"], "standard", 0.6, None)
    own = next(own for own in changed.protocols if own.name == "standard")
    assert (own.score, own.is_chosen, own.why) == (0.5, True, "a similarity counts from 0.5")


def test_leaderboards_with_answer_types() -> None:
    found = answer_view.view("5", ["5.0"], "mmlongbench", None, "Float")
    assert found.found.score == 1
    assert found.sweep is None
    assert "dude" in found.not_applicable


def test_options_of_an_answer(client: Client) -> None:
    given_, year = ("2019", ["2020"], "chartqapro", None, "Factoid"), {"year": ["YES"]}
    found = client.predict(*given_, options={"year": ["NO"]}, api_name="/score_answer")
    assert found["score"] == 1
    assert "|options:year|" in found["signature"]
    assert client.predict(*given_, options=year, api_name="/score_answer")["score"] == 0
    with pytest.raises(exceptions.AppError, match="expected the year flags of the question"):
        client.predict(*given_, api_name="/score_answer")
    with pytest.raises(exceptions.AppError, match="protocol 'standard' has no options"):
        client.predict("a", "a", options=year, api_name="/score_answer")
    first, more = answer.card("2019", "2020", "chartqapro", None, "Factoid", "", "", '{"year": ["NO"]}')
    assert "1.0000" in first
    assert "options=%7B%22year%22" in first  # the link
    assert re.search(r"<code>chartqapro_vlmevalkit</code>", more.partition("Not under")[0])
    assert "1.0000" in answer.card("a", "a", "standard", None, None, "", "", '{"year": ["NO"]}')[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('{"year": ["NO"]', "line 1, column 16: not JSON"),
        ("[1]", "expected an object such as"),
        ('{"years": ["NO"]}', "no option 'years'; it takes 'year'"),
        ("", "expected the year flags"),
        (f'{{"year": {"[" * 200 + "]" * 200}}}', "nested more than 100 levels deep"),
    ],
)
def test_wrong_options_are_told(options: str, message: str) -> None:
    shown_ = answer.card("2019", "2020", "chartqapro", None, "Factoid", "", "", options)[0]
    assert 'role="alert"' in shown_
    assert message in html.unescape(shown_)


def test_options_of_a_document(client: Client) -> None:
    sides = [["date", "3 May"], ["total", "8"]], [["date", ["3 May"]], ["total", ["9"]]]
    options = {"appearance": {"date": "unrepeated", "total": "unrepeated"}}
    found = client.predict(*sides, "vrdu", options=options, api_name="/score_document")
    expected = leaderboard_figures([sides[0]], [sides[1]], protocol="vrdu", options=options)
    assert found["score"] == expected.pop("score")
    assert found["figures"] == expected
    assert found["signature"] == signature("vrdu", n=1, options=options)
    with pytest.raises(exceptions.AppError, match=r"options\['appearance'\].*expected how each name appears"):
        client.predict(*sides, "vrdu", api_name="/score_document")
    with pytest.raises(exceptions.AppError, match="protocol 'anls_star' has no options"):
        client.predict({}, {}, options=options, api_name="/score_document")
    keyed = {"groups": {}, "entities": {"a": ["x"], "b": ["y"]}}, {"groups": {}, "entities": {"a": ["x"], "b": ["z"]}}
    of_keys = {"keys": ["a"]}
    assert client.predict(*keyed, "kieval_entity_f1", options=of_keys, api_name="/score_document")["score"] == 1
    subset = client.predict({}, '{"a": "b"}', "lmms_cc_ocr_kie_f1", options={"subset": "x"}, api_name="/score_document")
    assert list(subset["figures"]) == ["mean", "x"]


def test_options_of_files(client: Client, tmp_path: Path) -> None:
    rows = {"id": 1, "prediction": "2019", "answers": ["2020"], "answer_type": "Factoid", "flags": ["NO"]}
    (tmp_path / "p.jsonl").write_text(json.dumps(rows))
    given_: dict[str, Any] = {"protocol": "chartqapro", "api_name": "/score_submission"}
    found = client.predict(handle_file(tmp_path / "p.jsonl"), options={"year": "flags"}, **given_)
    assert found["score"] == 1
    with pytest.raises(exceptions.AppError, match=r'To name its column, pass options={"year": "NAME"}'):
        client.predict(handle_file(tmp_path / "p.jsonl"), **given_)


def test_texts_are_escaped() -> None:
    for first, more in (shown("<img src=x>", "<img src=y>\n&amp;"), shown("a", "b", "<img src=x>")):
        assert "<img" not in first + more
    assert "<bdi>&lt;img src=y&gt;</bdi>" in shown("<img src=x>", "<img src=y>")[0]
    rules = {"$['<img>']": {"compare": "exact"}}
    sides = {"<img>": "<img>"}, {"<img>": ["<img>"]}
    found = document_score.score(*sides, "anls_star", None, rules, None, lambda *_: None)
    assert "<img" not in found.shown + found.protocols


def test_wrong_input_is_shown_in_place_of_the_result() -> None:
    first, more = shown("a", "b", threshold=7)
    assert 'role="alert"' in first
    assert "Threshold \u201c7\u201d: expected a number from 0 to 1" in first
    assert more == ""
    assert 'role="alert"' in document.card("{", "{}", "anls_star")[0]


def test_an_empty_threshold_is_the_protocols() -> None:
    assert shown("ab", "ac", "unthresholded")[1] == shown("ab", "ac", "unthresholded", 0)[1]


def test_padding_is_noted() -> None:
    assert "divides by raw lengths" in shown(" x ab", "xcb  ", "rrc")[0]


_TEXTS = st.text("ab'\"[]$.", max_size=3)
_TREES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 20) | _TEXTS,
    lambda own: st.lists(own, max_size=3) | st.dictionaries(_TEXTS, own, max_size=3),
    max_leaves=12,
)


_OPTIONS: dict[str, Any] = {
    "vrdu": {"appearance": {"date": "unrepeated"}, "match": {"date": "DateMatch"}},
    "chartqapro": {"year": ["NO"]},
    "chartqapro_vlmevalkit": {"year": ["NO"]},
}
_FORMS: dict[str, Any] = {
    "vrdu": [["date", ["3 May"]]],
    "due": {"total": "8", "date": {"value": "3 May"}},
    "due_group": {"item": {"children": {"name": ["tea"]}}},
    "kieval": {"groups": {"0": [{"name": "tea"}]}, "entities": {"total": ["8"]}},
    "plain": {"total": "8", "items": [{"name": "tea"}]},
}


@pytest.mark.parametrize("protocol", OF_DOCUMENTS)
def test_a_document_by_every_protocol(protocol: str) -> None:
    form = next((own for own in ("due_group", "due", "kieval", "vrdu") if protocol.startswith(own)), "plain")
    given_ = [["date", "3 May"]] if protocol == "vrdu" else _FORMS[form]
    options = _OPTIONS.get(protocol)
    found = document_score.score(given_, json.dumps(_FORMS[form]), protocol, None, None, options, lambda *_: None)
    assert found.plain["score"] == pytest.approx(1, abs=1e-5)  # some benchmarks add 1e-6 to what they divide by
    assert 'id="document-score"' in found.shown
    assert f'<code>{protocol}</code> <span class="tag">chosen</span>' in found.protocols
    assert protocol in found.plain["signature"]


@pytest.mark.parametrize("protocol", [name for name, own in OF_TEXTS.items() if not isinstance(own, Protocol)])
def test_an_answer_by_every_benchmark(protocol: str) -> None:
    types = getattr(OF_TEXTS[protocol], "answer_types", ())
    kinds = [own for own in types if own in ("Int", "Integer", "Factoid", "extractive")] or [None]
    options = json.dumps(_OPTIONS[protocol]) if protocol in _OPTIONS else ""
    first, more = answer.card("FINAL ANSWER: 5", "5", protocol, None, kinds[0], "", "", options)
    assert 'id="answer-score"' in first, first
    assert f"<code>{protocol}</code>" in more


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ('{"$.a": {"compare": "nmber"}}', "the field rules: $.a: compare='nmber': expected one of"),
        ('{"$.a": ', "the field rules, line 1, column 9: not JSON: Expecting value. Fix it there"),
        ("[]", "the field rules: expected a dict"),
        ('{"$.a": {}, "$.a": {}}', "has the key '$.a' twice"),
        ('{"$.a": {"compare": "number"}}', "is not a number"),
    ],
)
def test_wrong_field_rules_are_told(fields: str, message: str) -> None:
    shown = document.card('{"a": "x"}', '{"a": "y"}', "anls_star", "", fields)[0]
    assert 'role="alert"' in shown
    assert message in html.unescape(shown)


def test_fields_and_extraction_of_the_endpoint(client: Client) -> None:
    given = 'It is\n```json\n{"total": "1,299.00"}\n```'
    fields = {"$.total": {"compare": "number"}}
    found = client.predict(given, {"total": 1299}, fields=fields, api_name="/score_document")
    expected = explain(given, {"total": 1299}, protocol="anls_star", extract="json", fields=fields).to_dict()
    [note] = found.pop("notes")
    assert note == "the prediction has text around its JSON, which was left out. To refuse such text, pass " + (
        'extract="none".'
    )
    assert found == json.loads(json.dumps(expected))
    with pytest.raises(exceptions.AppError, match="not JSON"):
        client.predict(given, {"total": 1299}, extract="none", api_name="/score_document")
    with pytest.raises(exceptions.AppError, match="fields is str; expected options by path"):
        client.predict(given, {"total": 1299}, fields="/etc/passwd", api_name="/score_document")


def test_every_option_of_the_endpoint(client: Client, tmp_path: Path) -> None:
    given, expected = tmp_path / "p.csv", tmp_path / "r.jsonl"
    given.write_bytes("nr;said\n1;<answer>M\u00e1laga</answer>\n3;x\n".encode("cp1252"))
    rows = '{"id": 1, "gold": "M\u00e1laga", "kind": "a"}\n{"id": 2, "gold": "b", "kind": "b"}\n'
    expected.write_text(rows, encoding="cp1252")
    found = client.predict(
        handle_file(given),
        handle_file(expected),
        extract="answer_tag",
        threshold=0.8,
        by="kind",
        missing="zero",
        unknown="ignore",
        columns={"predictions.question_id": "nr", "prediction": "said", "answers": "gold"},
        parse="none",
        encoding="cp1252",
        separator=";",
        api_name="/score_submission",
    )
    assert found["anls_score"] == 0.5
    assert {name: own["score"] for name, own in found["by"]["kind"].items()} == {"a": 1, "b": 0}
    assert "keep:>=0.8" in found["signature"]


@pytest.mark.parametrize(
    ("text", "tree", "note"),
    [
        ("{'a': (1, 2)}", {"a": (1, 2)}, "Python literal"),
        ("{'a': array(['x', 'y'], dtype=object)}", {"a": ["x", "y"]}, "NumPy or pandas"),
        ('Here:\n```json\n{"a": 1}\n```', {"a": 1}, "text around its JSON"),
        ('{"a": 1}', {"a": 1}, ""),
        ("null", None, ""),
    ],
)
def test_trees_as_people_paste_them(text: str, tree: Any, note: str) -> None:
    read = trees.read_tree(text, "the reference")
    assert read.tree == tree
    assert note in "".join(read.notes)
    assert bool(read.notes) == bool(note)


def test_a_broken_document_is_not_taken_for_text_around_a_part_of_it() -> None:
    with pytest.raises(FormatError, match="line 1, column 14: not JSON"):
        trees.read_tree('{"a": 1, "b" 2, "c": {"d": 1}}', "the prediction")


def test_inferred_fields() -> None:
    reference = {
        "total": "1,299.00", "count": 3, "date": "2026-05-14", "number": "INV-0012", "paid": True, "name": "Acme Ltd",
        "lines": [{"price": 2, "code": "A1-77"}, {"price": "3.50", "code": None}], "postcode": "01067", "digits": "0",
        "mixed": {"$one_of": ["3", "three"]},
    }  # fmt: skip
    rules = json.loads(infer_fields.infer_rules(json.dumps(reference), lambda *_: None))
    assert {path: own["compare"] for path, own in rules.items()} == {
        "$.total": "number", "$.count": "number", "$.date": "date", "$.number": "exact", "$.paid": "boolean",
        "$.lines[*].price": "number", "$.lines[*].code": "exact", "$.postcode": "exact", "$.digits": "number",
    }  # fmt: skip
    assert explain({**reference, "mixed": "3"}, reference, protocol="anls_star", fields=rules).score == 1
    with pytest.raises(ValueError, match="no value that looks like"):
        infer_fields.infer_rules('{"a": "b"}', lambda *_: None)


@given(_TREES, _TREES)
def test_the_fields_of_a_document_add_up_to_its_score(prediction: Any, reference: Any) -> None:
    rules = get_protocol("anls_star")
    found = explain_tree(prediction, reference, rules)
    rows, left_out = field_table.field_rows(prediction, reference, found.matches, rules, None)
    assert left_out == 0
    assert sum(row.weight for row in rows) == found.length
    assert sum(row.credit for row in rows) == pytest.approx(found.score * found.length)


def leaves(node: tree_view.ShownNode) -> Iterator[tree_view.ShownNode]:
    yield node
    for own in node.children:
        yield from leaves(own)


@given(_TREES, _TREES | st.lists(_TREES, min_size=1, max_size=3).map(tuple))
def test_every_credit_stands_at_a_part_of_the_trees(prediction: Any, reference: Any) -> None:
    found = explain_tree(prediction, reference, get_protocol("anls_star"))
    view = tree_view.view(prediction, reference, found)
    for tree, path in ((view.reference, "reference_path"), (view.prediction, "prediction_path")):
        shown_credits = sorted(own.credit for own in leaves(tree) if own.credit is not None)
        assert shown_credits == sorted(own.credit for own in found.matches if getattr(own, path))
    partners = {(own.anchor, own.partner) for own in leaves(view.reference) if own.anchor}
    assert partners == {(own.partner, own.anchor) for own in leaves(view.prediction) if own.anchor}


def test_matched_items_are_linked() -> None:
    prediction, reference = [["pen", "a"], ["ink"]], ["x", ("ink", ["ink"]), ["a", "pen"]]
    view = tree_view.view(prediction, reference, explain(prediction, reference, protocol="anls_star"))
    linked = {own.text + own.label: own.partner_label for own in leaves(view.reference) if own.partner}
    assert linked == {"one of1": "[1]", "[ ]1": "", "[ ]2": "[0]", '"ink"0': "[0]", '"a"0': "[1]", '"pen"1': "[0]"} or (
        linked["[ ]2"] == "[0]" and linked['"a"0'] == "[1]"
    )


# ---------------------------------------------------------------------------------------------------
# Limits
# ---------------------------------------------------------------------------------------------------


def test_work_ends_at_its_time_limit() -> None:
    with pytest.raises(AnlsError, match=r"this takes more than 0.5 seconds, the limit here"):
        child.run(child_tasks.endless, seconds=0.5)


@pytest.mark.parametrize("task", [child_tasks.broken, child_tasks.greedy])
def test_work_that_breaks_off_is_told(task: Any) -> None:
    with pytest.raises(AnlsError, match="the process crashed, perhaps for lack of memory"):
        child.run(task, seconds=10_000)


def test_progress_of_work() -> None:
    told: list[tuple[float, str]] = []
    assert child.run(child_tasks.steps, seconds=10_000, on_progress=lambda *own: told.append(own)) == "done"
    assert told == [(0, "step 0"), (1 / 3, "step 1"), (2 / 3, "step 2")]


def test_too_many_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text('{"id": 1, "prediction": "a", "answers": ["a"]}\n{"id": 2, "prediction": "b", "answers": ["b"]}\n')
    assert len(list(tasks.open_sides(str(path), None, Options()))) == 2
    monkeypatch.setattr(limits, "MAX_QUESTIONS", 1)
    with pytest.raises(ValueError, match="there are more than 1 questions"):
        tasks.open_sides(str(path), None, Options())


def test_old_files_are_deleted(tmp_path: Path) -> None:
    old, new = tmp_path / "gradio" / "a" / "old", tmp_path / "gradio" / "new"
    for path in (old, new):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    os.utime(old, (0, 0))
    temporary_files.delete_old(tmp_path / "gradio", 3_600)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [new]
    temporary_files.delete_old(tmp_path / "nothing", 3_600)


def test_files_of_users_are_in_one_folder_and_deleted_at_the_end() -> None:
    with temporary_files.temporary_files() as folder:
        assert get_upload_folder() == str(folder)
    assert not folder.exists()


# ---------------------------------------------------------------------------------------------------
# Installation
# ---------------------------------------------------------------------------------------------------


def test_space_installs_what_is_tested(url: str) -> None:
    header = (ROOT / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert f"sdk_version: {gradio.__version__}\n" in header
    assert httpx.get(f"{url}config").json()["version"] == gradio.__version__
    tomllib = pytest.importorskip("tomllib")  # of Python 3.11
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["eval"], *extras["space"]]
    assert (ROOT / "requirements.txt").read_text().split() == sorted(set(needed) - {"anls-eval[eval]"})


def test_the_page_says_which_to_believe_if_interval_and_test_seem_to_disagree(tmp_path: Path) -> None:
    for name, wrong in (("all", 0), ("most", 3)):
        rows = [{"id": row, "prediction": "lima" if row >= wrong else "x"} for row in range(100)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    gold = tmp_path / "gold.jsonl"
    gold.write_text("\n".join(json.dumps({"id": row, "answer": "lima"}) for row in range(100)), encoding="utf-8")
    systems = [str(tmp_path / f"{name}.jsonl") for name in ("all", "most")]
    shown = tasks.compare(systems, str(gold), Options(), (1, 2, 0.0), str(tmp_path), lambda *_: None)[0]
    assert "all - most: the interval excludes 0 but the test finds no difference" in shown
    found = tasks.compare_as_json(systems, str(gold), Options(), lambda *_: None)
    [note] = found["comparisons"][0]["notes"]
    assert note.endswith("3 of 100 questions differ): believe the test")
