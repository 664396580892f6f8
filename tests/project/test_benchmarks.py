"""The benchmark report, made in small beside the real peers; the committed one, and what docs/speed.md shows of it."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT

from anls_eval.scoring import anls_scores
from benchmarks import dataset, flat, growth, intervals, measuring, report, submission, tree
from benchmarks.measuring import Contender, at_most_equal_to, equal_to, measure, recorded_calls, timed
from benchmarks.questions import docvqa_questions
from benchmarks.render import report_text, section_text, speed_text, with_numbers
from benchmarks.results import FLOOR, Report, Section, Target, Timing, Workload, faster, read_report

COMMITTED = ROOT / "benchmarks"
PAGE = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
TINY = report.Plan(
    rounds=2,
    few_rounds=1,
    texts=flat.Sizes((60, 120), 4, ((1, 30), (5, 20)), 40, 100, 2),
    trees=tree.Sizes((5,), (2,), 4, 3, (2,), 20, 5, 2, 3),
    submissions=submission.Sizes((30,), ("json",)),
    resampled=(50,),
    files=dataset.Sizes(100, 2, (1,)),
    growing=growth.Sizes((50, 100), (2, 4), (2, 4), (2, 4), 5_000),
)


def here(function: Callable[..., Any], *arguments: Any) -> Any:
    """What `alone` does, but for the process, which takes seconds to start, where no memory has to be left over."""
    if function is growth.lists_point:
        return measuring.alone(function, *arguments)
    return json.loads(json.dumps(function(*json.loads(json.dumps(arguments)))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a whole report was written."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "speed.md").write_text(PAGE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for module in (dataset, growth, intervals):
            patch.setattr(module, "alone", here)
        report.write(report.run(TINY), folder, folder / "speed.md")
    return folder


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Report:
    return read_report(folder / "results.json")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*marks around an answer")  # some of the real predictions have them
class TestRun:
    def test_results_show_every_workload(self, folder: Path, tiny: Report) -> None:
        shown = (folder / "RESULTS.md").read_text(encoding="utf-8")
        assert shown == report_text(tiny)
        assert len(tiny.sections) == 9
        for section in tiny.sections:
            assert f"## {section.title}" in shown
            for workload in section.workloads:
                assert f"| {workload.name} |" in shown
                assert all(timing.median > 0 for timing in workload.timings.values())
        for curve in tiny.growth.curves:
            assert f"| {curve.name} |" in shown
        for target in tiny.targets:
            assert f"| {target.name} |" in shown

    def test_scores_are_compared(self, tiny: Report) -> None:
        compared = {section.title: [set(own.compared) for own in section.workloads] for section in tiny.sections}
        texts = {flat.PYPI, flat.LEVENSHTEIN_LOOP, flat.RAPIDFUZZ_LOOP, flat.LISTS, flat.ARROW, flat.PARQUET}
        assert compared["Flat ANLS"] == [texts] * 6
        assert compared["Through evaluate"] == [{flat.EVALUATE}] * 2
        assert compared["ANLS*"][0] == {tree.ANLS_STAR, tree.OURS}
        assert compared["Many small documents"] == compared["One huge tree"] == [{tree.ANLS_STAR, tree.OURS}]
        assert submission.PEER in compared["Submissions on the command line"][-1]
        assert len(compared["Data sets in many files"][0]) == 3

    def test_every_score_has_a_floor(self, tiny: Report) -> None:
        with_peers = [section for section in tiny.sections if any(FLOOR in pair for pair in section.ratios)]
        assert len(with_peers) == 6
        assert all(FLOOR in workload.timings for section in with_peers for workload in section.workloads)

    def test_the_machine_and_the_versions(self, tiny: Report) -> None:
        machine = tiny.machine
        assert machine.cores >= 1
        assert {"rapidfuzz", "anls_star (peer)", "anls (peer)", "stickler-eval (peer)"} <= machine.packages.keys()

    def test_the_page_has_the_numbers(self, folder: Path, tiny: Report) -> None:
        page = (folder / "speed.md").read_text(encoding="utf-8")
        assert speed_text(tiny) in page
        assert "| 120 questions of DocVQA, from lists | PyPI anls |" in page
        assert page.startswith("# Speed\n")
        assert with_numbers(page, tiny) == page

    def test_the_picture(self, folder: Path, tiny: Report) -> None:
        picture = (folder / "growth.svg").read_bytes()
        assert b"lists in one another</text>" in picture
        report.write(tiny, folder, folder / "speed.md")
        assert (folder / "growth.svg").read_bytes() == picture


class TestCommitted:
    def test_results_are_those_of_the_json(self) -> None:
        committed = read_report(COMMITTED / "results.json")
        assert (COMMITTED / "RESULTS.md").read_text(encoding="utf-8") == report_text(committed)
        assert speed_text(committed) in PAGE

    def test_the_picture_is_small_and_on_the_page(self) -> None:
        assert (COMMITTED / "growth.svg").stat().st_size < 150_000
        assert "](../benchmarks/growth.svg)" in PAGE


class TestMeasuring:
    def test_each_round_begins_with_another(self) -> None:
        ran: list[str] = []

        def contender(name: str, rounds: int) -> Contender:
            return Contender(name, timed(lambda: ran.append(name)), rounds)

        measured = measure([contender("a", 3), contender("b", 2), contender("c", 3)])
        assert "".join(ran) == "abcbcaca"
        assert [len(own.seconds) for own in measured.values()] == [3, 2, 3]

    def test_seconds_are_those_of_one_item(self) -> None:
        assert measure([Contender("a", lambda: (3.0, None), 1, items=4)])["a"].seconds == [0.75]

    def test_a_score_that_differs_ends_the_run(self) -> None:
        contenders = [
            Contender("same", lambda: (1.0, [0.5, 1.0]), 2, equal_to([0.5, 1.0])),
            Contender("other", lambda: (1.0, [0.5, 0.75]), 2, equal_to([0.5, 1.0])),
        ]
        with pytest.raises(SystemExit, match=r"other gives 0\.75, ours 1\.0, in row 1 and 0 more of 2"):
            measure(contenders)

    @pytest.mark.parametrize(
        ("given", "ours", "difference"),
        [
            (0.5, 0.5, None),
            (0.5, 0.75, None),
            (0.75, 0.5, "gives 0.75, ours 0.5, in row 0 and 0 more of 1"),
            ([0.5], [0.5, 1.0], "gives 1 scores, ours are 2"),
        ],
    )
    def test_a_tree_may_score_less(self, given: object, ours: object, difference: str | None) -> None:
        assert at_most_equal_to(ours)(given) == difference

    def test_the_calls_of_a_run_are_made_again(self) -> None:
        questions = docvqa_questions(300)
        calls = recorded_calls(lambda: anls_scores(*questions))
        assert calls
        assert len(calls[0]()) > 10
        assert recorded_calls(lambda: anls_scores(["a"] * 100, [["a"]] * 100))[0]().size == 0

    def test_a_process_of_its_own(self) -> None:
        """Its peak is its own, not that of the process which started it."""
        ballast = np.ones(50_000_000)
        assert ballast.nbytes / 2**20 > measuring.alone(growth.nothing) > 10


class TestRendering:
    fast, slow = Timing(2e-6, 1e-6, 3e-6, 3, items=100), Timing(1.5e-3, 1e-3, 2e-3, 1, items=10)
    workload = Workload("100 questions", 100, {"peer": slow, "ours": fast}, ("peer", "ours"), ("A note.",))
    section = Section("Texts", "About.", "µs a question", (workload,), (("peer", "ours"),))

    def test_a_workload_a_line(self) -> None:
        target = faster(self.workload, "peer", "ours", 500, 1_000)
        expected = """## Texts

About.

| µs a question | peer | ours | peer / ours |
| --- | ---: | ---: | ---: |
| 100 questions | 1,500\\*† | 2 | 750 |

\\* one round; † part of the workload.

- 100 questions: A note.

| target | required (aim) | reached |  |
| --- | --- | ---: | ---: |
| 100 questions: ours beside peer | at least 500 (1,000) times as fast | 750 | met |
"""
        assert section_text(dataclasses.replace(self.section, targets=tuple(target))) == expected

    def test_a_contender_a_line_where_memory_is_measured(self) -> None:
        timings = {"peer": self.slow, "ours": dataclasses.replace(self.fast, megabytes=220.4)}
        workload = dataclasses.replace(self.workload, timings=timings, notes=())
        expected = """## Texts

About.

|  |  | µs a question | fastest | slowest | rounds | peak, MB |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
| 100 questions | peer | 1,500 | 1,000 | 2,000 | 1 |  |
| 100 questions | ours | 2 | 1 | 3 | 3 | 220 |

- 100 questions: peer / ours 750
"""
        assert section_text(dataclasses.replace(self.section, workloads=(workload,))) == expected

    def test_who_did_not_run_has_no_ratio_and_no_target(self) -> None:
        assert self.workload.ratio("another", "ours") is None
        assert faster(self.workload, "another", "ours", 2) == []


@pytest.mark.parametrize(
    ("reached", "at_least", "verdict"),
    [
        (2.0, True, "missed"),
        (3.0, True, "met"),
        (4.0, True, "aim met"),
        (5.0, False, "missed"),
        (2.5, False, "aim met"),
    ],
)
def test_verdict(reached: float, at_least: bool, verdict: str) -> None:
    asked, aim = (3.0, 4.0) if at_least else (3.0, 2.5)
    target = Target("", "s", at_least, asked, aim, reached)
    assert target.verdict == verdict
    assert dataclasses.replace(target, aim=None).verdict == ("met" if verdict == "aim met" else verdict)


def test_exponents() -> None:
    curve = growth.curve("n", (1, 10, 100, 1_000), 1, lambda size: (1e-3 * max(size, 100) ** 2, 50.0 + 0 * size))
    assert curve.seconds_exponent == pytest.approx(2.0)
    assert curve.megabytes_exponent == pytest.approx(0.0)
