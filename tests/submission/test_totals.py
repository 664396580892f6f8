"""Totals of scored questions add up to the same, however the questions are divided."""

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from docvqa_runs import FOLDER
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from anls_eval.files import Reader, open_predictions, open_references
from anls_eval.statistics.tally import Tally
from anls_eval.submission.passes import Options, Pass, sides_of
from anls_eval.submission.score import score_submission, sum_up
from anls_eval.submission.totals import Totals

TEXTS = st.text(max_size=3)
TOTALS = st.builds(
    Totals,
    tallies=st.dictionaries(st.tuples(TEXTS, TEXTS), st.lists(st.floats(0, 1)).map(Tally.of)),
    counts=st.dictionaries(TEXTS, st.integers(1, 9)).map(Counter),
    notes=st.dictionaries(TEXTS, st.none()),
)


def total(parts: list[Totals]) -> Totals:
    result = Totals()
    for part in parts:
        result.add(part)
    return result


@given(st.lists(TOTALS, max_size=5), st.randoms())
def test_any_order_and_through_json(parts: list[Totals], chance: random.Random) -> None:
    forth = total(parts)
    shuffled = total([Totals.from_json(part.to_json()) for part in chance.sample(parts, len(parts))])
    assert (forth.tallies, forth.counts, forth.notes) == (shuffled.tallies, shuffled.counts, shuffled.notes)


@given(st.lists(st.lists(TEXTS, max_size=7), max_size=4))
def test_the_first_names_are_kept(blocks: list[list[str]]) -> None:
    parts = [Totals() for _ in blocks]
    for part, names in zip(parts, blocks, strict=True):
        part.note("missing", len(names), names)
    found = total(parts).noted("missing")
    names = [name for own in blocks for name in own]
    assert found == (len(names), names[:5])


@given(st.lists(st.lists(st.booleans(), max_size=7), max_size=4))
def test_rows_are_numbered_across_parts(blocks: list[list[bool]]) -> None:
    parts = [Totals() for _ in blocks]
    for part, own in zip(parts, blocks, strict=True):
        rows = [(row, "$.a") for row, is_noted in enumerate(own) if is_noted]
        part.tally(("score",), [0.0] * len(own))
        part.note_rows("unanswered", len(rows), rows)
    found = total([Totals.from_json(part.to_json()) for part in parts])
    expected = [(row, "$.a") for row, is_noted in enumerate(itertools.chain(*blocks)) if is_noted]
    assert found.noted("unanswered") == (len(expected), [])
    assert found.rows.get("unanswered", []) == expected[:5]


DOCUMENTS = DATA / "documents" / "invoices.jsonl"
TYPED = DATA / "mmlongbench" / "samples.jsonl"
SUBMISSIONS: dict[str, tuple[Path, Path, dict[str, str], dict[str, str]]] = {
    "standard": (FOLDER / "pred_qwen2_vl_7b.json", FOLDER / "references.json", {}, {}),
    "rrc": (FOLDER / "pred_llama_scout.json", FOLDER / "references.json", {}, {}),
    "anls_star": (DOCUMENTS, DOCUMENTS, {"prediction": "pred"}, {"answers": "gold"}),
    "mmlongbench": (TYPED, TYPED, {"prediction": "answer"}, {"answers": "answer", "answer_type": "answer_format"}),
}


@pytest.mark.parametrize("protocol", SUBMISSIONS)
def test_blocks_add_up_to_the_submission(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    predictions, references, own, other = SUBMISSIONS[protocol]
    readers = open_predictions(predictions, columns=own), open_references(references, columns=other)
    whole = score_submission(*readers, protocol=protocol)
    options = Options(protocol=protocol)
    scorer = options.scorer()
    monkeypatch.setattr(Reader.batches, "__defaults__", (3,))
    parts = []
    for block in Pass(sides_of(readers, options), options, False).questions():
        part = Totals()
        part.tally(("score",), scorer.score(block, False, part)[0])
        parts.append(part)
    assert len(parts) > 3
    assert sum_up(total(parts[::-1]), options).to_dict() | {"notes": 0} == whole.to_dict() | {"notes": 0}
