"""The protocols in words: every rule is said, and docs/protocols.md is what the registry gives."""

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from places import EXAMPLES

import anls_eval
from anls_eval.analysis.protocol_facts import BOUNDARY_SHIFTS
from anls_eval.leaderboards import BENCHMARKS, LEADERBOARDS
from anls_eval.rules.steps import LENGTHS, STEPS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import STEP_WORDS, in_words
from anls_eval.scoring import anls_scores

DOCVQA = EXAMPLES / "docvqa"
ROOT = Path(anls_eval.__file__).parent.parent


def test_the_document_is_in_step_with_the_registry() -> None:
    subprocess.run([sys.executable, "tools/protocols_page.py", "--check"], cwd=ROOT, check=True)


def test_the_document_names_every_protocol_alias_leaderboard_and_source() -> None:
    text = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    for rules in PROTOCOLS.values():
        section = text.split(f"### `{rules.name}`\n")[1].split("\n### ")[0]
        for name in (*(f"`{alias}`" for alias in rules.aliases), *rules.leaderboards, rules.source):
            assert name in section
    for board in LEADERBOARDS.values():
        section = text.split(f"### `{board.name}`\n")[1].split("\n### ")[0]
        for name in (*(f"`{alias}`" for alias in board.aliases), *board.answer_types, board.description, board.source):
            assert name in section


def test_the_pages_name_every_benchmark_and_source() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "protocols").glob("*.md"))
    for own in BENCHMARKS.values():
        section = text.split(f"### `{own.name}`\n")[1].split("\n### ")[0]
        for name in (own.description, own.source, own.reports, own.headline, *own.answer_types, *own.options):
            assert name in section


def test_every_step_and_length_has_words() -> None:
    assert STEP_WORDS.keys() == STEPS.keys()
    for length in LENGTHS:
        assert in_words(dataclasses.replace(PROTOCOLS["standard"], prediction_length=length))["length"]


def test_protocols_of_different_rules_have_different_words() -> None:
    texts = [rules for rules in PROTOCOLS.values() if not rules.tree]
    for rules in texts:
        for other in texts:
            assert (in_words(rules) == in_words(other)) == (dataclasses.replace(rules, name=other.name) == other)


@pytest.mark.parametrize(
    ("name", "changes", "topic", "words"),
    [
        ("standard", {}, "keep", "a similarity counts from 0.5"),
        ("standard", {"threshold": 0}, "keep", "every similarity counts"),
        (
            "standard",
            {"keep": ">", "threshold": 0.8},
            "keep",
            "a similarity counts only above 0.8; exactly 0.8 gives 0",
        ),
        ("unthresholded", {}, "texts", "texts are compared as they are"),
        ("idefics", {}, "answers", "answers are compared in lower case"),
        ("mpdocvqa", {}, "special", "a prediction scores 0 if it is 'none'"),
        ("unthresholded", {"substitution_cost": 2}, "substitution", "replacing a character costs 2"),
        (
            "mmpretrain",
            {},
            "length",
            "the distance is divided by the greater length of the raw prediction in upper case and the compared "
            "answer in upper case, so extra whitespace raises the score of a wrong answer (padding)",
        ),
    ],
)
def test_words(name: str, changes: dict[str, object], topic: str, words: str) -> None:
    assert in_words(dataclasses.replace(PROTOCOLS[name], **changes))[topic] == words  # type: ignore[arg-type]


def test_the_shifts_at_the_boundary_are_those_of_the_real_runs() -> None:
    gold = json.loads((DOCVQA / "references.json").read_text(encoding="utf-8"))["data"]
    answers = [row["answers"] for row in gold]
    shifts = []
    for path in DOCVQA.glob("pred_*.json"):
        predicted = {row["questionId"]: row["answer"] for row in json.loads(path.read_text(encoding="utf-8"))}
        predictions = [predicted[row["questionId"]] for row in gold]
        means = [
            math.fsum(anls_scores(predictions, answers, protocol=name)) / len(gold) for name in ("standard", "paper")
        ]
        shifts.append(round(means[0] - means[1], 4))
    assert (len(shifts), min(shifts), max(shifts)) == (6, *BOUNDARY_SHIFTS)
