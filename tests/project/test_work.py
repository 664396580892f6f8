"""How much work a score takes, on fixed inputs: an optimisation that is lost fails here, on any machine."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import docvqa_runs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patched import through_arrays
from work import Work, calls_of, counted

from anls_eval.analysis.diagnosis import compare_protocols, diagnose
from anls_eval.explanation.answers import explain_answers
from anls_eval.explanation.tree import ExplainedTree
from anls_eval.files import Reader, open_predictions, open_references
from anls_eval.leaderboards import leaderboard_figures
from anls_eval.metric import ANLS
from anls_eval.report.content import collect
from anls_eval.report.system import read_system
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import LENGTHS, apply_steps
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores, anls_star_score, anls_star_scores, explain
from anls_eval.statistics import intervals, rank_systems, resampling
from anls_eval.statistics.all_resamples import all_resamples
from anls_eval.submission.score import score_questions, score_submission
from anls_eval.text import measure
from anls_eval.text.measure import score_columns
from anls_eval.text.prepare import equal_answers
from anls_eval.text.similarity import kept_similarity
from benchmarks.documents import chain, header, nested, predicted
from benchmarks.tree import Pair, Sizes, pairs

TEXTS = [name for name, rules in PROTOCOLS.items() if not rules.tree]
RUN = "qwen2_vl_7b"
GOLD = docvqa_runs.FOLDER / "references.json"
ANSWERS = docvqa_runs.answers()
TREES = {own.name: own for own in pairs(Sizes())}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def peak_of(run: Callable[[], Any]) -> int:
    """The most bytes that Python and NumPy hold while it runs."""
    run()
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def work_of(run: Callable[[], Any]) -> Work:
    """The work of a run, when all that is made once has been made."""
    run()
    with counted() as work:
        run()
    return work


def open_pairs(predictions: list[str], rules: Protocol) -> list[int]:
    """Of each question, how many answers need a distance: none if one is equal, else those of a length that counts.

    One that repeats the answer before it needs none.
    """
    counts = []
    for prediction, answers in zip(predictions, ANSWERS, strict=True):
        left = apply_steps(rules.prediction_steps, prediction)
        rights = [apply_steps(rules.answer_steps, answer) for answer in answers]
        needed, before = 0, None
        for answer, right in zip(answers, rights, strict=True):
            of_prediction = LENGTHS[rules.prediction_length](prediction, left)
            longest = max(len(of_prediction), len(LENGTHS[rules.answer_length](answer, right)))
            can_count = kept_similarity(abs(len(left) - len(right)), longest, rules) > 0
            needed += bool(can_count and (right, longest) != before)
            before = right, longest
        is_settled = left in rights and (left != "" or rules.both_empty)
        counts.append(0 if is_settled else needed)
    return counts


def unsettled_pairs(predictions: list[str], rules: Protocol) -> int:
    """How many pairs are measured for the closest answer: none equal, no text empty or repeated, many bytes differ."""
    count = 0
    for prediction, answers in zip(predictions, ANSWERS, strict=True):
        left = apply_steps(rules.prediction_steps, prediction)
        rights = [apply_steps(rules.answer_steps, answer) for answer in answers]
        if left not in rights and left:
            once = [right for right, _ in itertools.groupby(rights)]
            count += sum(right != "" and not few_replaced(left, right) for right in once)
    return count


def few_replaced(left: str, right: str) -> bool:
    """Whether the bytes of two texts differ in so few places that this is the distance: three only if none moved."""
    one, other = left.encode(), right.encode()
    if len(one) != len(other):
        return False
    differ = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    if not (left.isascii() and right.isascii()):
        return len(differ) <= 1
    return len(differ) <= 2 or (len(differ) == 3 and {own for own, _ in differ}.isdisjoint(own for _, own in differ))


def as_arrow(predictions: list[str]) -> tuple[pa.Array, pa.Array]:
    return pa.array(predictions, pa.large_string()), pa.array(ANSWERS, pa.large_list(pa.large_string()))


class TestTexts:
    @pytest.mark.parametrize("name", TEXTS)
    @pytest.mark.parametrize("run", docvqa_runs.RUNS)
    def test_only_pairs_that_can_matter_have_a_distance(self, run: str, name: str) -> None:
        predictions = docvqa_runs.predictions(run)
        work = work_of(lambda: anls_scores(predictions, ANSWERS, protocol=name))
        needed = open_pairs(predictions, PROTOCOLS[name])
        assert work.columns[0] <= sum(needed), "pairs are measured whose texts are equal or too different in length"
        assert work.held[0] <= np.count_nonzero(needed), "a prediction is copied for each of its answers"
        assert (work.single, work.matrices) == (0, []), "distances are not computed in one batch"
        padding = PROTOCOLS[name].prediction_length.startswith("raw")
        assert len(work.columns) <= 1 + padding, "one block is scored in several batches"
        assert sum(work.columns[1:]) <= 18, "what has no surplus blanks is scored again without them"

    @pytest.mark.parametrize("make", [lambda own: (own, ANSWERS), as_arrow], ids=["lists", "Arrow"])
    def test_the_numbers_of_one_run(self, make: Callable[[list[str]], tuple[Any, Any]]) -> None:
        given = make(docvqa_runs.predictions(RUN))
        work = work_of(lambda: anls_scores(*given))
        assert (len(work.columns), sum(work.columns), sum(work.held)) == (1, 154, 128)
        assert work.characters <= 159_467, "pairs of long texts are measured that need not be"
        assert work.prepared <= 2_123, "questions that the raw texts settle are prepared all the same"

    def test_python_does_only_what_arrow_cannot(self) -> None:
        predictions = ["Straße", "CAFÉ 1", *["a  b c"] * 500]
        work = work_of(lambda: anls_scores(predictions, [["strasse", "x"], ["cafe 1"], *[["a b d"]] * 500]))
        assert work.steps == {"lower": 2, "collapse": 2, "strip": 2}, "texts in ASCII go through Python"

    def test_arrow_columns_are_not_copied(self) -> None:
        texts, answers = as_arrow(docvqa_runs.predictions(RUN))
        work = work_of(lambda: anls_scores(texts, answers))
        assert work.arrow_bytes <= 450_000, "Arrow allocates more: a column is copied that need not be"

    def test_arrow_columns_make_no_python_objects(self) -> None:
        n = 80_000
        texts = pa.array([f"answer {row}" for row in range(n)], pa.large_string())
        answers = pa.LargeListArray.from_arrays(pa.array(range(n + 1), pa.int64()), texts)
        peak = peak_of(lambda: anls_scores(texts, answers))
        assert peak <= 24 * n, "an Arrow column becomes Python objects, or a block is larger"

    def test_a_prediction_is_held_once(self) -> None:
        with through_arrays():
            work = work_of(lambda: anls_scores(["abcd"] * 20, [["dcba", "dabc"] * 500] * 20))
            assert work.columns == [20_000]
            assert work.held == [20], "a prediction is copied for each of its answers"

    @pytest.mark.parametrize("n", [0, 1, 50])
    def test_few_questions_need_no_arrow(self, n: int) -> None:
        prediction, answers = "CocaCola", ["Coca Cola", "Coca Cola Company"]
        for call in (
            lambda: [anls_score(prediction, answers) for _ in range(n)],
            lambda: anls_scores([prediction] * n, [answers] * n),
        ):
            work = work_of(call)
            assert (work.single, work.columns, work.arrow_bytes) == (2 * n, [], 0)

    def test_an_answer_that_repeats_the_one_before_is_measured_once(self) -> None:
        answers = [["dcba  ", "DCBA", "dcba", "dabc", "dcba"]] * 2
        with through_arrays():
            assert sum(work_of(lambda: anls_scores(["abcd"] * 2, answers)).columns) == 2 * 3
            work = work_of(lambda: anls_scores(["abcd"] * 2, answers, protocol="rrc"))
        assert work.columns == [2 * 4, 2 * 3], "a text is measured again, or not for a length under which it may count"

    def test_a_few_replaced_characters_are_counted(self) -> None:
        with through_arrays():
            left, right = ["Denver Bronces", "1988", "caffè", "ab"], [["denver broncos"], ["1977"], ["caffé"], ["ba"]]
            work = work_of(lambda: anls_scores(left, right))
            assert sum(work.columns) == 0, "a distance is computed that the bytes give"
            work = work_of(lambda: anls_scores(["abcd", "ça"], [["badc"], ["ab"]]))
            assert sum(work.columns) == 2, "more replacements, or bytes of one character, are taken for the distance"

    def test_three_characters_that_the_other_text_lacks_are_counted(self) -> None:
        with through_arrays():
            answers = [["12 December 1989"]]
            work = work_of(lambda: anls_scores(["x2 Dezembar 1989"], answers))
            assert sum(work.columns) == 0, "a distance is computed that the bytes give"
            for shifted in ("2 December 19891", "12 Decembre 1986"):  # which one deletion and one insertion may explain
                work = work_of(functools.partial(anls_scores, [shifted], answers))
                assert sum(work.columns) == 1, "replaced characters are counted where fewer edits may do"

    def test_equal_answers_are_not_looked_for_where_there_are_few(self) -> None:
        n = 5_000
        equal, other = [f"answer {row}" for row in range(n)], [[f"Answex {row}"] for row in range(n)]
        with mock.patch.object(measure, "equal_answers", side_effect=equal_answers) as compared:
            anls_scores(equal, other)
            assert [len(call.args[2]) for call in compared.call_args_list] == [256], "all are compared once more"
            compared.reset_mock()
            anls_scores(equal, [[text] for text in equal])
            assert [len(call.args[2]) for call in compared.call_args_list] == [256, n]

    def test_an_answer_that_cannot_be_the_closest_has_no_distance(self) -> None:
        answers = [["12/15/88", "12/15/1988", "15 Dec 1988"]]
        work = work_of(lambda: anls_scores(["12/16/88"], answers))
        assert sum(work.columns) == 0, "answers are measured although their size rules out that they are closer"

    def test_details_measure_the_unsettled_pairs_once(self) -> None:
        predictions = docvqa_runs.predictions(RUN)
        work = work_of(lambda: score_columns(predictions, ANSWERS, PROTOCOLS["standard"], detailed=True))
        assert work.columns == [unsettled_pairs(predictions, PROTOCOLS["standard"])]
        assert work.single == 0, "the closest answer is looked for by distances computed before"


class TestSingleCalls:
    """What one call does beside its distances: every function that is called takes as long as half a distance."""

    answers = ("CocaCola", ["Coca Cola", "Coca Cola Company"])
    fields = (
        {"date": "2024-01-03", "total": "17.9", "name": "Jon"},
        {"date": "2024-01-02", "total": "17", "name": "J"},
    )
    texts = (["Denver Bronco", "Jon Smith", "Cola C"], ["John Smith", "Cola Co", "Denver Broncos"])

    @pytest.mark.parametrize("threshold", [None, "0.8", 0.7])
    @pytest.mark.parametrize("name", TEXTS)
    def test_a_question(self, name: str, threshold: str | float | None) -> None:
        calls = calls_of(lambda: anls_score(*self.answers, protocol=name, threshold=threshold))
        padding = 3 if PROTOCOLS[name].prediction_length.startswith("raw") else 0
        del calls["_without_end_punctuation"]
        assert sum(calls.values()) <= 12 + padding, f"more is called than needed: {calls}"
        assert calls["__post_init__"] == 0, "the rules are made again for each call"

    def test_a_document_of_texts(self) -> None:
        calls = calls_of(lambda: anls_star_score("Denver Bronco", "Denver Broncos"))
        assert sum(calls.values()) <= 12, f"more is called than needed: {calls}"

    def test_a_dict(self) -> None:
        calls, work = calls_of(lambda: anls_star_score(*self.fields)), work_of(lambda: anls_star_score(*self.fields))
        assert sum(calls.values()) <= 28, f"more is called than needed: {calls}"
        assert (work.single, work.columns, work.arrow_bytes) == (3, [], 0)

    def test_a_list(self) -> None:
        calls, work = calls_of(lambda: anls_star_score(*self.texts)), work_of(lambda: anls_star_score(*self.texts))
        assert sum(calls.values()) <= 49, f"more is called than needed: {calls}"
        assert (work.single, work.matrices, work.valued) == (9, [], 0)

    @pytest.mark.parametrize(("n", "matrices", "single"), [(3, 0, 54), (4, 0, 96), (40, 6, 240)])
    def test_items_without_nodes(self, n: int, matrices: int, single: int) -> None:
        items = [{key: f"{key}{row}{'x' * row}" for key in "abcdef"} for row in range(n)]
        slips = [{key: f"{value}-" for key, value in own.items()} for own in items[::-1]]
        calls = calls_of(lambda: anls_star_score({"items": slips}, {"items": items}))
        assert calls["build_tree"] == 0, "objects are made for the nodes of a plain list"
        work = work_of(lambda: anls_star_score({"items": slips}, {"items": items}))
        assert (len(work.matrices), work.single) == (matrices, single)

    def test_an_explanation(self) -> None:
        calls = calls_of(lambda: explain(*self.fields))
        assert calls["signature"] == 0, "the signature is put together again"
        assert calls["_identify"] == 0, "equal objects are looked for where nothing is matched"
        assert sum(calls.values()) <= 110, f"more is called than needed: {calls}"


class TestMetric:
    def score(self, detailed: bool = False, with_ids: bool = False, batch: int = 10) -> None:
        predictions: list[Any] = docvqa_runs.predictions(RUN)
        references: list[Any] = ANSWERS
        if with_ids:
            predictions = [{"question_id": str(i), "prediction_text": text} for i, text in enumerate(predictions)]
            references = [{"question_id": str(i), "answers": own} for i, own in enumerate(references)]
        metric = ANLS()
        for start in range(0, len(predictions), batch):
            own = slice(start, start + batch)
            metric.add_batch(predictions=predictions[own], references=references[own])
        metric.compute(detailed=detailed)

    def test_batches_are_scored_at_once(self) -> None:
        work = work_of(self.score)
        assert work.columns == [154], "each batch is scored by itself"
        assert work.arrow_bytes <= 880_000, "batches are joined one by one, or columns are copied"

    def test_a_single_batch_is_not_copied(self) -> None:
        work = work_of(lambda: self.score(batch=1_000))
        assert work.arrow_bytes <= 720_000, "what is not to be joined or padded is copied"

    def test_ids_of_both_sides_are_stored_once(self) -> None:
        calls = calls_of(lambda: self.score(with_ids=True))
        assert calls["stored_ids"] == calls["add_batch"] == 100
        work = work_of(lambda: self.score(with_ids=True))
        assert work.arrow_bytes <= 980_000, "batches are joined one by one, or columns are copied"

    def test_details_take_one_pass(self) -> None:
        pairs = unsettled_pairs(docvqa_runs.predictions(RUN), PROTOCOLS["standard"])
        assert work_of(lambda: self.score(detailed=True)).columns == [pairs], "details are scored once more"


class TestAllProtocols:
    def test_a_distance_is_shared(self) -> None:
        predictions = docvqa_runs.predictions(RUN)
        work = work_of(lambda: compare_protocols(predictions, ANSWERS, most=0))
        assert sum(work.columns) <= 1_338, "protocols that compare the same texts measure them again"
        assert work.prepared <= 11_971, "questions are prepared in which every protocol finds an equal answer"

    def test_a_diagnosis_measures_once(self) -> None:
        predictions = docvqa_runs.predictions(RUN)
        work = work_of(lambda: diagnose(predictions, ANSWERS, "0.26"))
        # for the predictions as they are, and for what the steps of extraction change
        assert sum(work.columns) <= 3_562, "distances are measured again for a threshold or another way to score"


class TestReport:
    """A full report and its rows: the submission is measured once, and all protocols together once more."""

    @pytest.mark.parametrize("protocol", ["standard", "paper", "mpdocvqa"])
    @pytest.mark.parametrize("run", docvqa_runs.some("llama_maverick", "qwen2_vl_7b"))
    def test_measures_once(self, run: str, protocol: str, tmp_path: Path) -> None:
        predictions, texts = docvqa_runs.FOLDER / f"pred_{run}.json", docvqa_runs.predictions(run)
        gold, out = tmp_path / "gold.json", tmp_path / "rows.csv"
        rows = json.loads(GOLD.read_text(encoding="utf-8"))["data"]
        gold.write_text(json.dumps({"data": [own | {"page": row % 7} for row, own in enumerate(rows)]}))

        def report() -> Any:
            sides = open_predictions(predictions), open_references(gold)
            system = read_system(*sides, protocol=protocol, by=["page"], per_question=out)
            return collect(system, date=datetime.date(2026, 1, 1))

        compared = work_of(lambda: compare_protocols(texts, ANSWERS))
        work = work_of(report)
        own = unsettled_pairs(texts, PROTOCOLS[protocol])
        assert sum(work.columns) == own + sum(compared.columns), "a distance is measured again"
        assert (work.single, work.matrices) == (0, []), "a distance is measured again, one by one"

    def test_the_numbers_of_one_run(self) -> None:
        texts = docvqa_runs.predictions(RUN)
        compared = work_of(lambda: compare_protocols(texts, ANSWERS))
        assert unsettled_pairs(texts, PROTOCOLS["standard"]) == 542  # of 1,610 pairs
        assert sum(compared.columns) == 1_338

    @pytest.mark.parametrize("protocol", TEXTS)
    def test_an_explanation_measures_each_answer_once(self, protocol: str) -> None:
        work = work_of(lambda: explain_answers("CocaCola", ["Coca Cola", "Pepsi", "Coke"], protocol=protocol))
        assert (work.single, work.columns) == (3, [])


def leaves(tree: Any) -> int:
    children = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return 1 if children is None else sum(map(leaves, children))


def compared_leaves(g: Any, p: Any) -> int:
    """How many leaves are normalised: not texts under the same keys that are equal, nor those without a partner."""
    if isinstance(g, dict) and isinstance(p, dict):
        lonely = [own[key] for own in (g, p) for key in g.keys() ^ p.keys() if key in own]
        shared = [compared_leaves(g[key], p[key]) for key in g.keys() & p.keys()]
        return sum(shared) + sum(leaves(own) for own in lonely if not isinstance(own, str))
    return 0 if isinstance(g, str) and g == p else leaves(g) + leaves(p)


def texts_of(tree: Any) -> list[str]:
    """The texts of nested lists, as they are compared."""
    if isinstance(tree, list):
        return [text for child in tree for text in texts_of(child)]
    return [apply_steps(PROTOCOLS["anls_star"].answer_steps, str(tree))]


class TestTrees:
    def work_of(self, own: Pair) -> Work:
        return work_of(lambda: anls_star_score(own.prediction, own.reference))

    @pytest.mark.parametrize("name", TREES)
    def test_a_text_is_normalised_once(self, name: str) -> None:
        own = TREES[name]
        number = compared_leaves(own.reference, own.prediction)
        steps = {"lower": number, "collapse": number}
        assert self.work_of(own).steps == steps, "a leaf is normalised again, or in more steps"

    def test_a_dict(self) -> None:
        work = self.work_of(TREES["dict of 4 fields"])
        assert (work.single, work.matrices, work.assignments) == (1, [], []), "equal texts are measured"

    @pytest.mark.parametrize(("n", "most"), [(10, 2), (30, 12), (100, 31), (300, 93)])
    def test_a_list_is_one_matrix(self, n: int, most: int) -> None:
        own = TREES[f"list of {n} texts"]
        work = self.work_of(own)
        longest = max(map(len, texts_of([own.prediction, own.reference])))
        assert work.matrices == [(n, n)], "the pairs of a list are not measured in one batch"
        assert work.cutoffs == [longest // 2], "distances that cannot count are computed to the end"
        assert work.assignments == [(n, n)], "a list of texts is matched more than once"
        assert work.searched == 0, "matchings that tie are looked for where every one has the same score"
        assert work.single <= most, "matched texts that are equal are measured again"

    def test_a_matrix_is_held_once(self) -> None:
        own = TREES["list of 300 texts"]
        peak = peak_of(lambda: anls_star_score(own.prediction, own.reference))
        assert peak <= 18 * 300 * 300, "the distances of a whole list are copied, and leave the processor's cache"

    @pytest.mark.parametrize(("n", "cells", "single"), [(5, 145, 14), (20, 2_380, 40), (50, 14_800, 88)])
    def test_an_invoice_is_one_matrix_for_each_key(self, n: int, cells: int, single: int) -> None:
        work = self.work_of(TREES[f"invoice of {n} items"])
        assert len(work.matrices) == 6, "the items are not compared key by key"
        assert work.cells <= cells, "texts that occur several times are measured as often"
        assert work.single <= single
        assert work.assignments == [(n, n)], "the items are matched more than once"
        assert (work.searched, work.valued) == (1, 0), "the items are matched more than once"

    def test_texts_that_repeat_are_measured_once(self) -> None:
        work = work_of(lambda: anls_star_score(["paid", "due", "open"] * 30, ["paid", "dues", "opens"] * 30))
        assert work.matrices == [(3, 3)], "texts that occur several times are measured as often"
        assert work.single <= 2

    @pytest.mark.parametrize(("depth", "valued"), [(3, 35), (4, 139)])
    def test_nests_of_few_measure_each_pair_once(self, depth: int, valued: int) -> None:
        own = TREES[f"lists of 2, {depth} deep"]
        pairs = {(g, p) for g in texts_of(own.reference) for p in texts_of(own.prediction) if g != p}
        work = self.work_of(own)
        assert work.single <= len(pairs), "a pair of texts is measured again"
        assert (work.matrices, work.assignments) == ([], []), "few pairs go through matrices"
        assert work.valued <= valued, "two lists are matched again to say which elements were matched"

    def test_nests_of_many_are_one_matrix(self) -> None:
        generator = random.Random(1)  # noqa: S311
        reference = [nested(generator, 1, 3) for _ in range(40)]
        prediction = predicted(generator, reference)
        work = work_of(lambda: anls_star_score(prediction, reference))
        assert work.matrices == [(120, 120)], "the lists of a list are compared pair by pair"
        assert work.assignments == [(40, 40)], "short lists are assigned one by one"
        assert work.valued == 1, "short lists of one length are matched one by one"

    def test_a_chain_is_one_distance(self) -> None:
        work = work_of(lambda: anls_star_score(chain(10_000, "ACME Gmbh"), chain(10_000, "ACME GmbH & Co")))
        assert (work.single, work.matrices, work.assignments) == (1, [], [])

    def test_an_explanation_compares_once(self) -> None:
        own = TREES["invoice of 20 items"]
        alone, explained = self.work_of(own), work_of(lambda: explain(own.prediction, own.reference))
        assert (explained.matrices, explained.single) == (alone.matrices, alone.single), "it is compared once more"
        number = leaves(own.prediction) + leaves(own.reference)
        assert explained.steps == {"lower": number, "collapse": number}


def documents(n: int) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Predictions with slips, missing and invented keys, and their references."""
    generator = random.Random(2)  # noqa: S311
    references = [header(generator) for _ in range(n)]
    return [predicted(generator, own) for own in references], references


class TestManyDocuments:
    """Documents of dicts, whose texts have their partners under the same keys."""

    predictions, references = documents(300)
    pairs = tuple(zip(predictions, references, strict=True))
    differing = sum(p[key] != g[key] for p, g in pairs for key in g.keys() & p.keys())
    lonely = sum(len(g.keys() ^ p.keys()) for p, g in pairs)

    def test_texts_are_one_batch(self) -> None:
        work = work_of(lambda: anls_star_scores(self.predictions, self.references))
        assert work.columns == [self.differing], "documents are compared one by one, or texts that are equal"
        assert (work.single, work.matrices, work.assignments) == (0, [], [])
        assert self.lonely
        assert work.steps == {}, "texts are normalised one by one that have a partner, or that need none"

    def test_only_lists_are_matched_one_by_one(self) -> None:
        prediction, reference = (
            {**own, "pages": pages, "tags": ["a", "b"]} for pages, own in enumerate(self.references[:2], start=1)
        )
        work = work_of(lambda: anls_star_scores([prediction] * 20, [reference] * 20))
        assert work.columns == [20 * 4], "numbers are compared one by one"
        assert work.steps == {"lower": 20 * 4, "collapse": 20 * 4}, "what is beside a list is normalised one by one"

    def test_the_metric_scores_them_at_once(self) -> None:
        def score() -> None:
            metric = ANLS("anls_star")
            for prediction, reference in self.pairs:
                metric.add(prediction=prediction, reference=reference)
            metric.compute()

        assert work_of(score).columns == [self.differing], "the metric scores documents one by one"

    def test_details_explain_each_document_once(self) -> None:
        def score() -> None:
            ANLS("anls_star").compute(predictions=self.predictions, references=self.references, detailed=True)

        number = sum(map(len, (*self.predictions, *self.references)))
        steps = {"lower": number, "collapse": number}
        assert work_of(score).steps == steps, "a document is made ready once more, to be stored or for its details"

    @pytest.mark.parametrize(("name", "made"), [(None, 0), ("rows.jsonl", 300)])
    def test_only_what_is_asked_for_is_made(self, name: str | None, made: int, tmp_path: Path) -> None:
        path = tmp_path / "both.jsonl"
        rows = ({"id": n, "prediction": p, "reference": g} for n, (p, g) in enumerate(self.pairs))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        out = None if name is None else tmp_path / name
        with (
            mock.patch.object(ExplainedTree, "closest_reference", return_value={}) as references,
            mock.patch.object(ExplainedTree, "matches") as explained,
        ):
            score_submission(open_predictions(path), open_references(path), protocol="anls_star", per_question=out)
        assert references.call_count == made, "closest references are made that nobody asked for"
        assert explained.call_count == 0, "matches are listed that nobody asked for"


class TestSubmission:
    @pytest.fixture
    def files(self, tmp_path: Path) -> Callable[..., tuple[Reader, Reader]]:
        def make(n: int, shuffled: bool = False, repeated: bool = False) -> tuple[Reader, Reader]:
            rows = list(range(n)) + [0] * repeated
            order = random.Random(0).sample(rows, len(rows)) if shuffled else rows  # noqa: S311
            predictions = pa.table({"question_id": order, "prediction": [f"text {row}" for row in order]})
            references = pa.table({"question_id": rows, "answers": [[f"text {row}", "none"] for row in rows]})
            pq.write_table(predictions, tmp_path / "predictions.parquet", row_group_size=10_000)
            pq.write_table(references, tmp_path / "references.parquet", row_group_size=10_000)
            return open_predictions(tmp_path / "predictions.parquet"), open_references(tmp_path / "references.parquet")

        return make

    def passes(self, score: Callable[..., Any], sides: tuple[Reader, Reader]) -> int:
        with mock.patch.object(Reader, "batches", autospec=True, side_effect=Reader.batches) as read:
            score(*sides)
        return read.call_count

    @pytest.mark.parametrize("score", [score_submission, score_questions])
    @pytest.mark.parametrize("shuffled", [False, True])
    def test_each_file_is_read_once(self, score: Callable[..., Any], shuffled: bool, files: Any) -> None:
        assert self.passes(score, files(1_000, shuffled)) == 2, "a file is read more than once"

    def test_files_whose_ids_repeat_are_read_twice(self, files: Any) -> None:
        assert self.passes(score_submission, files(1_000, repeated=True)) == 4

    def test_memory_is_that_of_a_few_blocks(self, files: Any) -> None:
        def peak(n: int) -> int:
            sides, usual = files(n), pa.default_memory_pool()
            pool = pa.proxy_memory_pool(usual)
            pa.set_memory_pool(pool)
            try:
                score_submission(*sides)
            finally:
                pa.set_memory_pool(usual)
            return int(pool.max_memory())

        assert peak(160_000) <= 1.5 * peak(80_000), "rows wait in memory that could be scored"


class _Draws:
    """A generator that counts the numbers it draws."""

    def __init__(self) -> None:
        self.drawn, self._generator = 0, np.random.default_rng(0)

    def multinomial(self, n: int, shares: Any, size: int) -> Any:
        self.drawn += len(shares) * size
        return self._generator.multinomial(n, shares, size=size)


SCORES = {run: anls_scores(docvqa_runs.predictions(run), ANSWERS) for run in docvqa_runs.RUNS[:4]}
FIRST = next(iter(SCORES.values()))


class TestBenchmarks:
    @pytest.mark.parametrize("protocol", ["chartqa_lmms", "idp_docvqa", "cc_ocr_v2_qa"])
    def test_plain_answers_are_checked_once_for_all_questions(self, protocol: str) -> None:
        references: list[Any] = ["Oslo"] * 100 if protocol == "chartqa_lmms" else [["Oslo", "Lima"]] * 100
        calls = calls_of(lambda: leaderboard_figures(["Oslo"] * 100, references, protocol=protocol))
        assert calls["_are_flat"] == 2
        assert not {"check_nested", "read_documents", "is_plain", "_checked_type", "row", "row_text"} & calls.keys()

    def test_a_text_is_read_as_a_number_only_beside_a_number(self) -> None:
        calls = calls_of(lambda: leaderboard_figures(["Oslo"] * 100, ["Lima"] * 100, protocol="chartqa_lmms"))
        assert calls["_number"] == 100


class TestStatistics:
    def test_a_ranking_resamples_once_for_each_system_and_pair(self) -> None:
        with mock.patch.object(intervals, "all_resamples", side_effect=all_resamples) as resampled:
            pairs = rank_systems(SCORES).comparisons
            assert resampled.call_count == 4, "intervals of differences are computed that nobody asked for"
            for _ in range(2):
                assert pairs[0].comparison.interval.n == 1_000
            assert resampled.call_count == 5, "an interval is computed again each time it is read"

    def test_a_resample_counts_scores_and_not_questions(self) -> None:
        values, counts = np.unique(FIRST, return_counts=True)
        draws: Any = _Draws()
        resampling.bootstrap_deviations(resampling.units_of_histogram(FIRST.mean(), values, counts), 1_000, draws)
        assert draws.drawn == 1_000 * len(values), "questions are drawn one by one"

    def test_many_scores_are_pooled(self) -> None:
        values = np.linspace(0, 1, 20_000)
        draws: Any = _Draws()
        units = resampling.units_of_histogram(0.5, values, np.ones(len(values), dtype=np.int64))
        resampling.bootstrap_deviations(units, 1_000, draws)
        assert draws.drawn <= 1_000 * resampling.MAX_VALUES, "a draw takes a step for each of very many scores"

    def test_a_submission_has_one_interval(self) -> None:
        with mock.patch.object(intervals, "all_resamples", side_effect=all_resamples) as resampled:
            score_submission(open_predictions(docvqa_runs.FOLDER / f"pred_{RUN}.json"), open_references(GOLD))
        assert resampled.call_count == 1
