"""Inputs of every kind that follow from a seed."""

import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from places import DATA

from golden.subject import one_of

_WORDS = (
    "", "", " ", "  ", "\t", "\n", "a", "ab", "B", "total", "Total", "TOTAL", "12.50", "$1,250.00", "none", "None.",
    "n/a", "yes", "not answerable", "12/15/88", "5.5%", "nan", "Denver Broncos", "page 7", "3:30 p.m.", "['a', 'b']",
    "İ", "ı", "ß", "\u1e9e", "ς", "Σ", "ﬁ", "e\u0301", "é", "É", "\u00a0", "\u200b", "１２", "½", "你好", "\U0001f44d",
    "%", ".", "..", "!", "\x85", "\u2028", "-", "|", ":", "+",
)  # fmt: skip
_LEAVES = ("x", "y", "total", "totel", "tote", "A", "a", "", " ", "12", "2024-01-02", "Caf\u00e9", None, 12, 12.0, 1.5)
_TYPED = {
    "Int": ("5", "5.0", "12", "-3", "1,000", "five"),
    "Float": ("0.12", "12%", "$1.5", "1.50", "100", "1e3", "n/a"),
    "List": ("['a', 'b']", "['b', 'a']", "[1, 2]", "['White', '10%']", "[]", "[red", "a"),
    "None": ("Not answerable", "none", "", "no"),
}
_OPEN = ("5 kg", "5.0 kg", "2024-05-06", "May 6, 2024", "v1.2.0", "FINAL ANSWER: 5 kg", "North America", "www.a.org")


def read_lines(name: str) -> list[Any]:
    """Return the rows of a JSON Lines file of the test data."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """Write rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def text(random: Random, extra: tuple[str, ...] = ()) -> str:
    """Return a few words, blanks and signs."""
    return "".join(random.choice(_WORDS + extra) for _ in range(random.randrange(7)))


def misread(random: Random, own: str) -> str:
    """Return a text with none, one, about half or all of its characters replaced, so that thresholds are met."""
    half = len(own) // 2
    places = set(random.sample(range(len(own)), min(len(own), max(0, random.choice((0, 1, half, half + 1, len(own)))))))
    return "".join("#" if place in places else character for place, character in enumerate(own))


def question(random: Random, extra: tuple[str, ...] = ()) -> tuple[str | None, list[str]]:
    """Return a prediction, which is now and then None, and its accepted answers."""
    answers = [text(random, extra) for _ in range(random.randrange(1, 5))]
    own = random.choice(answers)
    changes = (
        None, "", text(random, extra), f"  {own}   ", own.swapcase(), own + random.choice(_WORDS),
        misread(random, own), misread(random, own), misread(random, own),
    )  # fmt: skip
    return random.choice(changes), answers


def typed(random: Random, answer_type: str | None) -> tuple[Any, Any]:
    """Return a prediction and the reference of a leaderboard's answer type."""
    words = _TYPED.get(answer_type or "") or (*_OPEN, *_TYPED["Int"])
    if answer_type and answer_type.startswith("list"):
        words = _TYPED["List"]
    prediction, answers = question(random)
    kind = random.random()
    if kind < 0.3:
        return prediction, answers
    reference = random.choice(words)
    return random.choice((reference, random.choice(words), misread(random, reference), None)), reference


def tree(random: Random, depth: int) -> Any:
    """Return a reference: dicts, lists and alternatives of few leaves and keys, so that there are ties."""
    kind = random.random()
    if not depth or kind < 0.25:
        return random.choice((*_LEAVES, True, Decimal("1.50"), text(random)))
    children = [tree(random, depth - 1) for _ in range(random.randrange(5))]
    if kind < 0.6:
        return dict(zip(random.sample("abcde", len(children)), children, strict=True))
    return one_of(*children) if kind < 0.75 and children else children


def predicted(random: Random, reference: Any) -> Any:
    """Return a prediction of a reference: one of its alternatives, out of order, parts misread, lost or made up."""
    if random.random() < 0.06:
        return tree(random, 1) if random.random() < 0.5 else None
    if isinstance(reference, tuple):
        return predicted(random, random.choice(reference))
    if isinstance(reference, dict):
        items = random.sample(list(reference.items()), len(reference))
        return {key: predicted(random, own) for key, own in items if random.random() < 0.9}
    if isinstance(reference, list):
        found = [predicted(random, own) for own in reference if random.random() < 0.9]
        return random.sample(found, len(found)) + ["x"] * (random.random() < 0.2)
    return misread(random, reference) if isinstance(reference, str) else reference


def item(random: Random) -> dict[str, Any]:
    """Return an item of an invoice."""
    name = f"{random.choice(('pen', 'stapler', 'paper'))} {random.choice(('blue', 'A4', ''))}".strip()
    return {"name": name, "price": random.choice((1.5, 12.99, 3)), "count": random.randrange(3)}


def documents(random: Random) -> dict[str, tuple[Any, Any]]:
    """Return predictions and references by name: random ones, long lists, and trees that are deep."""
    references = {f"random {number}": tree(random, random.choice((2, 3, 4))) for number in range(150)}
    references |= {f"items {n}": {"items": [item(random) for _ in range(n)]} for n in (30, 34, 45)}
    references |= {f"texts {n}": [random.choice("abcxy") * random.randrange(5) for _ in range(n)] for n in (32, 60)}
    for depth in (12, 40):
        deep: Any = tree(random, 2)
        for _ in range(depth):
            deep = random.choice(({"a": deep, "b": "x"}, [deep, "y"], [deep], one_of(deep, "z")))
        references[f"deep {depth}"] = deep
    return {name: (predicted(random, own), own) for name, own in references.items()}


def faulty_rows(random: Random, id_key: str, answer_key: str, ids: list[Any], answers: list[str]) -> list[Any]:
    """Return the rows of a submission with every kind of fault now and then."""
    rows: list[Any] = []
    for own_id, answer in zip(ids, answers, strict=True):
        row = {id_key: own_id, answer_key: answer}
        if id_key == "questionId" and answer_key == "answers":  # as DUDE has it
            row |= {answer_key: [answer], "answers_confidence": [random.choice((0.5, 1, 1.5))]}
        faults: tuple[dict[str, Any], ...] = (
            {id_key: str(own_id)}, {id_key: f" {own_id} "}, {id_key: f"00{own_id}"}, {id_key: f"{own_id}x"},
            {id_key: f"{own_id}.0"}, {id_key: float(own_id)}, {id_key: None}, {answer_key: None}, {answer_key: 7},
            {answer_key: [answer]}, {answer_key: {"a": answer}}, {answer_key: ""}, {answer_key: f" {answer}\n"},
            {answer_key: f"**{answer}**"}, {answer_key: f"Answer: {answer}"}, {answer_key: f"{answer} " * 4},
            {answer_key: "Not answerable"}, {answer_key: "Caf\u00c3\u00a9"},
        )  # fmt: skip
        row |= random.choice(faults) if random.random() < 0.5 else {}
        kind = random.random()
        if kind < 0.04:
            row.pop(random.choice((id_key, answer_key)))
        if kind < 0.92:
            rows += [row] * (1 + (kind > 0.88))
        if kind > 0.96:
            rows += [row, {id_key: own_id, answer_key: "something else"}]
    return [*rows, "no row"]
