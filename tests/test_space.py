"""The web app: the real ``python app.py``, called as its page and its users' programs call it."""

import importlib.metadata
import os
import re
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gradio
import httpx
import pytest
from gradio_client import Client, exceptions  # type: ignore[import-untyped]
from reference import TEXT_PROTOCOLS

import anls
from anls_eval.space.answer import card, score_answer

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home, other = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("other")
    log = other / "log"
    (other / "anls.py").write_text("raise ImportError('PyPI has another package of this name')")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "GRADIO_SERVER_PORT": str(port),
        "HOME": str(home),
        "PYTHONPATH": str(other),
        "TMPDIR": str(home),
    }
    address = f"http://127.0.0.1:{port}/"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, ROOT / "app.py"], cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + 120
        while not answers_requests(address):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield address
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(30)
    assert not answers_requests(address)
    assert "Traceback" not in log.read_text()
    assert not [path for path in home.rglob("*") if path.is_file()]


def answers_requests(address: str) -> bool:
    try:
        return httpx.get(f"{address}config").is_success
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def client(url: str) -> Client:
    return Client(url, verbose=False, analytics_enabled=False)


@pytest.fixture(scope="module")
def fields(url: str) -> dict[str | None, Any]:
    """What the page shows at first, by label; its result has the label None."""
    config = httpx.get(f"{url}config").json()
    assert config["title"] == "ANLS"
    return {component["props"].get("label"): component["props"] for component in config["components"]}


def test_endpoint_gives_score_and_reason(client: Client) -> None:
    found = client.predict("Denver Bronco", "Broncos\nDenver Broncos\n", api_name="/score_answer")
    assert found == {
        "score": 13 / 14,
        "closest_answer": "Denver Broncos",
        "similarity": 13 / 14,
        "why": "7.14% of the characters differ: similarity 0.9286, at least the threshold 0.5, so it counts 0.9286.",
        "signature": anls.signature("standard", n=1),
        "notes": [],
    }


def test_endpoint_takes_every_argument(client: Client) -> None:
    found = client.predict(
        prediction="ab", answers=["a\nb", "AC"], protocol="docvqa", threshold=0.6, api_name="/score_answer"
    )
    assert found["score"] == found["similarity"] == anls.anls_score("ab", "a b")
    assert found["closest_answer"] == "a\nb"
    assert found["signature"] == anls.signature("rrc", threshold=0.6, n=1)


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        ("", {}, "There is no accepted answer: enter at least one, one a line."),
        (" \n\n", {}, "There is no accepted answer: enter at least one, one a line."),
        ([], {}, "There is no accepted answer: enter at least one, one a line."),
        ([None], {}, "answers[0] is None; expected a string."),
        ("a", {"threshold": 7}, "threshold=7: expected a number from 0 to 1"),
        ("a", {"threshold": -0.1}, "threshold=-0.1: expected a number from 0 to 1"),
        ("a", {"threshold": "half"}, "threshold='half': expected a number from 0 to 1"),
        ("a", {"protocol": "standart"}, "Did you mean 'standard'?"),
        ("a", {"protocol": "anls_star"}, "'anls_star' scores trees; choose one of texts"),
    ],
)
def test_wrong_input_is_told(client: Client, answers: object, options: dict[str, Any], message: str) -> None:
    with pytest.raises(exceptions.AppError, match=re.escape(message)):
        client.predict("a", answers, api_name="/score_answer", **options)


def test_page_starts_with_an_example_and_its_result(fields: dict[str | None, Any]) -> None:
    shown = [
        fields[label]["value"] for label in ("Prediction", "Accepted answers, one a line", "Protocol", "Threshold")
    ]
    assert shown == ["Denver Bronco", "Denver Broncos\nBroncos", "standard", 0.5]
    assert fields[None]["value"] == card(*shown)
    assert '<div class="score">0.9286</div>' in fields[None]["value"]


def test_page_names_the_leaderboards_of_every_protocol(fields: dict[str | None, Any]) -> None:
    choices = {name: label for label, name in fields["Protocol"]["choices"]}
    assert list(choices) == list(TEXT_PROTOCOLS)
    assert choices["standard"] == "standard"
    assert all(board in choices[name] for name, row in TEXT_PROTOCOLS.items() for board in row.leaderboards)


def test_page_escapes_what_was_typed(client: Client) -> None:
    shown = client.predict("<script>", "<script>alert('1')</script>\n&amp;", "standard", 0.5, api_name="/card")
    assert "<dd>&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;</dd>" in shown
    assert "<script" not in shown
    assert "<img" not in card("a", "b", "<img src=x>", None)


def test_page_shows_wrong_input_in_place_of_the_result(client: Client) -> None:
    shown = client.predict("a", "b", "standard", 7, api_name="/card")
    assert "threshold=7: expected a number from 0 to 1" in shown
    assert "score" not in shown


def test_page_takes_an_empty_threshold_as_the_protocols(client: Client) -> None:
    shown = [client.predict("ab", "ac", "unthresholded", given, api_name="/card") for given in (None, 0)]
    assert shown[0] == shown[1]
    assert "|keep:&gt;=0.0|" in shown[0]


def test_page_notes_padding(client: Client) -> None:
    shown = client.predict(" x ab", "xcb  ", "rrc", 0.5, api_name="/card")
    assert '<p class="note">Note: protocol &#x27;rrc&#x27; divides by raw lengths' in shown
    assert "<dd>xcb  </dd>" in shown


@pytest.mark.parametrize(
    ("prediction", "answer", "protocol", "threshold", "why"),
    [
        ("A  b", "a B", "standard", None,
         "The texts are equal as this protocol compares them: similarity 1, at least the threshold 0.5, "
         "so it counts 1."),
        ("ab", "ac", "paper", None,
         "50% of the characters differ: similarity 0.5, not above the threshold 0.5, so it counts 0."),
        ("abc", "abd", "paper", None,
         "33.3% of the characters differ: similarity 0.6667, above the threshold 0.5, so it counts 0.6667."),
        ("abc", "xyc", "standard", None,
         "66.7% of the characters differ: similarity 0.3333, below the threshold 0.5, so it counts 0."),
        ("abc", "abd", "standard", 0.6667,
         "33.3% of the characters differ: similarity 0.6666666666666667, below the threshold 0.6667, "
         "so it counts 0."),
        ("ab", "xy", "standard", None,
         "The texts have nothing in common: similarity 0, below the threshold 0.5, so it counts 0."),
        ("abc", "xyc", "mistral_evals", None,
         "66.7% of the characters differ: similarity 0.3333, and there is no threshold, so it counts 0.3333."),
        ("None", "none", "mpdocvqa", None,
         "The texts are equal as this protocol compares them: similarity 1, at least the threshold 0.5, "
         "but this protocol gives the prediction 'none' always 0."),
    ],
)  # fmt: skip
def test_reason(prediction: str, answer: str, protocol: str, threshold: float | None, why: str) -> None:
    assert score_answer(prediction, [answer], protocol, threshold)["why"] == why


@pytest.mark.parametrize("protocol", TEXT_PROTOCOLS)
def test_score_and_closest_answer_are_those_of_the_metric(protocol: str) -> None:
    answers = ["Total: 1,234.", "1234", " 1.234 ", "none"]
    for prediction in ("1,234", "total 1234.", "1243", "None", "", " 1.23", "xyz"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            metric = anls.ANLS(protocol, keep_in_memory=True)
            expected = metric.compute(predictions=[prediction], references=[answers], detailed=True)
        assert expected is not None
        found = score_answer(prediction, answers, protocol)
        assert found["score"] == expected["anls_score"]
        assert found["closest_answer"] == expected["closest_references"][0]
        assert found["signature"] == expected["signature"]
        assert found["notes"] == [str(warning.message) for warning in caught]


def test_threads_do_not_mix_their_notes() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda row: score_answer(" x ab", "xcb  ", ("rrc", "due")[row % 2]), range(200)))
    assert [len(one["notes"]) for one in found] == [1, 0] * 100


def test_anls_is_the_one_of_this_repository(url: str) -> None:
    # The app runs at `url` although its search path has another anls.
    assert Path(anls.__file__) == ROOT / "anls.py"
    assert Path(sys.modules[score_answer.__module__].__file__ or "") == ROOT / "anls_eval" / "space" / "answer.py"


def test_space_installs_what_is_tested(url: str) -> None:
    header = (ROOT / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert f"sdk_version: {gradio.__version__}\n" in header
    assert httpx.get(f"{url}config").json()["version"] == gradio.__version__
    needed = [line for line in importlib.metadata.requires("anls-metric") or [] if "extra" not in line]
    assert sorted((ROOT / "requirements.txt").read_text().split()) == sorted(needed)
