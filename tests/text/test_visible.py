"""Characters that cannot be seen, or that a terminal obeys, in a form that can be seen."""

import json

import pytest

from anls_eval.text.visible import escaped, escaped_json, one_line, visible


def test_visible() -> None:
    text = "a\tb c\u200b"
    assert visible(text) == "a␉b c\ufffd"
    assert visible(text, spell_out=True) == "a␉b␠c<U+200B>"


def test_one_line() -> None:
    assert one_line("one\n two\u200b") == "one two\\u200b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("paid\x1b[2K\rdue", "paid\\x1b[2K\\rdue"), ("a\tb\n", "a\tb\n"), ("\u202eabc\ud800", "\\u202eabc\\ud800")],
)
def test_escaped(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_escaped_json_is_the_same_json() -> None:
    text = json.dumps(["\x9b2K", "\u202e"], ensure_ascii=False)
    assert escaped_json(text) == '["\\u009b2K", "\\u202e"]'
    assert json.loads(escaped_json(text)) == json.loads(text)
