"""Submissions are read block by block: with the same result for blocks of any size, and without holding rows."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.check import fix, known, rows
from anls_eval.check.check import check_submission
from anls_eval.check.fix import fix_submission
from anls_eval.files.source import ABSENT

IDS = ["1", "2", "12", "012", "0012", "3.0", " 4", "", None, 7, 8.0, "12345678901234567", 12345678901234568, "q", "é"]
ANSWERS = ["Lima", " Oslo", "", None, ["x"], "The answer is Rome", "<b>x</b>", 3]


def submission(random: random.Random, n: int) -> list[Any]:
    """Rows with every kind of fault of single rows, some of them repeated."""
    found: list[Any] = []
    for _ in range(n):
        row = {"questionId": random.choice(IDS), "answer": random.choice(ANSWERS)}
        if random.random() < 0.2:
            del row[random.choice(list(row))]
        if random.random() < 0.2:
            row["response"] = "Rome"
        found.append(random.choice([row, row, row, "oops"] if random.random() < 0.2 else [row]))
    return found + found[: n // 4]


def outcome(path: Path, gold: Path | None, format_name: str | None) -> list[Any]:
    out = path.with_name("out.json")
    found: list[Any] = [check_submission(path, gold, format=format_name, most=3).to_dict()]
    try:
        found.append(fix_submission(path, out, gold, format=format_name).to_dict())
    except ValueError as error:
        return [*found, str(error)]
    return [*found, out.read_text(encoding="utf-8")]


def every_outcome(folder: Path) -> list[Any]:
    found = []
    gold = folder / "gold.jsonl"
    for seed in range(30):
        own = random.Random(seed)  # noqa: S311
        ids = own.sample(["1", "2", "3", "4", "12", "012", "0012", "12345678901234568", "q", "é", "7"], 6)
        ids += ids[:1]
        references = [{"id": id_, "answers": ["Lima", str(at)]} for at, id_ in enumerate(ids)]
        gold.write_text("".join(json.dumps(row) + "\n" for row in references))
        path = folder / "run.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in submission(own, 9)))
        for format_name in (None, "rrc"):
            found += [outcome(path, gold, format_name), outcome(path, None, format_name)]
    return found


@pytest.mark.long
def test_the_size_of_blocks_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = every_outcome(tmp_path)
    assert len({str(own) for own in expected}) > 60
    for module in (rows, fix):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 2)
    assert every_outcome(tmp_path) == expected


def test_equal_fingerprints_of_different_ids_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = every_outcome(tmp_path)
    for module in ("known", "ids"):
        monkeypatch.setattr(f"anls_eval.check.{module}.fingerprints_of", lambda ids: np.zeros(len(ids), np.uint64))
    assert every_outcome(tmp_path) == expected


TEXTS = st.text(st.characters(exclude_categories=()), max_size=4)


@examples(50)
@given(st.lists(TEXTS, min_size=1), st.lists(TEXTS))
def test_known_ids(ids: list[str], asked: list[str]) -> None:
    found = known.KnownIds(known.stored(ids))
    asked += ids
    assert found.among(asked) == {text: ids.index(text) for text in asked if text in ids}
    assert found.firsts.tolist() == [ids.index(text) for text in ids]
    assert {text: found.lasts[ids.index(text)] for text in ids} == {text: row for row, text in enumerate(ids)}
    assert list(known.texts_of(found.texts)) == ids


@examples(50)
@given(st.lists(st.lists(st.none() | st.lists(TEXTS).map(tuple), min_size=1), min_size=1), st.randoms())
def test_accepted_answers(parts: list[list[tuple[str, ...] | None]], random: random.Random) -> None:
    held = known.Accepted()
    for part in parts:
        held.add(part)
    flat = [own for part in parts for own in part]
    places = [random.randrange(-1, len(flat)) for _ in range(20)]
    assert held.at(np.array(places)) == [ABSENT if place < 0 else flat[place] for place in places]


def peak(folder: Path, n: int, gold: bool) -> int:
    """The most bytes that Python and NumPy hold while n rows are checked, in the reversed order of the references."""
    path, other = folder / "run.jsonl", folder / "gold.jsonl"
    with path.open("w") as predictions, other.open("w") as references:
        for row in range(n):
            predictions.write(f'{{"id": "question-{row:08}", "pred": " an answer of usual length {row}"}}\n')
            references.write(f'{{"id": "question-{n - 1 - row:08}", "answers": ["an answer of usual length {row}"]}}\n')
    tracemalloc.start()
    try:
        assert check_submission(path, other if gold else None).counts == {"answer-blanks": n}
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("gold", "most"), [(False, 60), (True, 180)])
def test_rows_are_not_held(gold: bool, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rows, fix):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 500)
    few, many = 2_000, 8_000
    peak(tmp_path, 10, gold)  # what is imported and made once
    assert peak(tmp_path, many, gold) - peak(tmp_path, few, gold) < most * (many - few)
