"""Files of options: what is wrong with one is told with its name and a remedy, and none is waited for."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anls_eval import Fields
from anls_eval.cli.common import read_options
from anls_eval.errors import AnlsError

CONTENT = '{"$.é": {"weight": 2}}'


def read_fields(path: str) -> dict[str, Any]:
    return Fields.from_file(path).to_dict()


@pytest.fixture(params=[read_fields, read_options], ids=["fields", "options"])
def read(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Each reader of such a file."""
    reader: Callable[[str], Any] = request.param
    return reader


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings(read: Callable[[str], Any], encoding: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(CONTENT, encoding=encoding)
    assert [float(own["weight"]) for own in read(str(tmp_path / "file.json")).values()] == [2]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (CONTENT.encode("cp1252"), r", line 1, byte 4: not UTF-8: the byte 0xe9 .* Save it as UTF-8\."),
        (b"\n\n" + CONTENT.encode()[:5], r", line 3, byte 6: not UTF-8: .* truncated .* Download it again\."),
        (b"\xef\xbb\xbf\xe9", r", line 1, byte 3: not UTF-8: .*"),
        (CONTENT.encode("utf-16")[:-1], r": not utf-16: truncated data\. Save it as UTF-8\."),
        (b"\x1f\x8b\x08\0", r": compressed\. Unpack it, and pass the file in it\."),
        (b"[" * 3_000, r": nested too deeply to be read here\."),
        (b"[" + b"1" * 5_000, r": an integer has too many digits to read\. Write it as text, in quotes\."),
        (b'{"a": 1, "a": 2}', r": an object has the key 'a' twice, so one value would be lost\. Remove one of them\."),
        (b'{"a":\n "x\ny"}', r", line 2, column 4: not JSON: a line break .* Write it as an escape such as \\n\."),
        (b'{"a": 1,}', r", line 1, column 9: not JSON: .*\."),
        (b"", r": the file is empty\."),
        (b"\xef\xbb\xbf \n", r": the file is empty\."),
        (b'{"a":\n"\0"}', r", line 2: a NUL character, which no text has\. It is damaged: write or copy it again\."),
        (
            b'{"a": 1}\n{"b": 1}',
            r", line 2, column 1: not JSON: a second value after the first\. Remove one of them\.",
        ),
        (b"version https://git-lfs.github.com/spec/v1\n", r": a pointer of Git LFS .*`git lfs pull`\."),
        (b"<<<<<<< HEAD\n{}\n", r": a text with the marks of a conflict, .* Resolve the conflict\."),
        (b"<!doctype html>", r": HTML or XML, .* Download it again\."),
        (
            b"[1]",
            r": (found a list; expected one JSON object\.|expected a dict: fields by their paths, or a JSON Schema)",
        ),
    ],
)
def test_contents(read: Callable[[str], Any], content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(AnlsError, match=rf"^{path}{told}$"):
        read(str(path))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fifo", r"not a regular file, which can be read twice\. Save the data to a file first\."),
        ("zero", r"not a regular file, which can be read twice\. Save the data to a file first\."),
        ("folder", r"a folder; expected a file\. Check the path\."),
        ("loop", r"cannot be opened: Too many levels of symbolic links\. Check the path\."),
        ("nothing", r"cannot be opened: No such file or directory\. Check the path\."),
        ("huge", r"over 67,108,864 bytes, so it holds data rather than (fields|options)\. Check the path\."),
    ],
)
def test_what_is_no_such_file(read: Callable[[str], Any], name: str, told: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate((1 << 26) + 1)
    with pytest.raises(AnlsError, match=rf"^{tmp_path}/{name}: {told}$"):
        read(str(tmp_path / name))


@pytest.mark.parametrize("option", ["--fields", "--options"])
def test_a_variable_that_is_not_set(run: Any, option: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('[{"id": 1, "prediction": {"a": "b"}, "answers": {"a": "b"}}]')
    done = run("score", tmp_path / "p.json", "-p", "anls_star", option, "", "-q")
    assert (done.status, done.err.splitlines()[-1].startswith(f"error: {option}")) == (2, True)
    assert done.err.endswith(": an empty path; expected a file\n")
