"""Time single calls beside what people use for them, on texts that all have typos: nothing is equal and skipped.

Questions are compared with a loop over rapidfuzz as people write it, trees with anls_star; explanations with anls_star
where it returns the closest reference and the scores of keys, too. MMESGBench's lists have no peer.

Run ``python benchmarks/single.py [--rounds N]`` after ``make peers``.
"""

import functools
import importlib
import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from anls_eval.leaderboards import leaderboard_score
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_star_score, explain
from benchmarks.documents import description, descriptions, invoice
from benchmarks.measuring import (
    PEERS,
    ROUNDS,
    SAME,
    Contender,
    arguments,
    at_most_equal_to,
    positive,
    workload,
)
from benchmarks.render import section_text
from benchmarks.results import Section, Target, at_most, faster

PEER, OURS = "peer", "ours"
SHORT, LONG = 0.0002, 0.1  # seconds: of the calls that are timed together, and of all in a round

ANSWERS = ("Denver Bronco", ["Denver Broncos", "The Denver Broncos"])
FIELDS = (
    {"date": "2024-01-03", "total": "17.9", "name": "Jon Smith"},
    {"date": "2024-01-02", "total": "17.99", "name": "John Smith"},
)
NAMES = (["Denver Bronco", "Jon Smith", "Coca Cola C"], ["John Smith", "Coca Cola Co", "Denver Broncos"])


def fastest(function: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    """Give the least seconds of a call, from many short times: other processes do not interrupt all of them."""

    def run() -> tuple[float, Any]:
        start = time.perf_counter()
        result = function()
        least = time.perf_counter() - start
        number = max(1, int(SHORT / least))
        while time.perf_counter() - start < LONG:
            begin = time.perf_counter()
            for _ in range(number):
                function()
            least = min(least, (time.perf_counter() - begin) / number)
        return least, result

    return run


class Call(NamedTuple):
    """One call, what is compared with it, and how fast it is to be: in µs, or in times as fast as the peer."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any] | None
    microseconds: tuple[float, float] | None = None
    times: tuple[float, float] | None = None
    is_score: bool = True  # whether the result is a score, to be compared with the peer's
    peer_rounds: int = ROUNDS


def loop(prediction: str, answers: list[str]) -> float:
    """ANLS as people write it."""
    best, given = 0.0, " ".join(prediction.strip().lower().split())
    for answer in answers:
        expected = " ".join(answer.strip().lower().split())
        longest = max(len(given), len(expected))
        ratio = Levenshtein.distance(given, expected) / longest if longest else 0.0
        if ratio <= 0.5:
            best = max(best, 1 - ratio)
    return best


def with_typos(generator: random.Random, tree: Any) -> Any:
    """A tree with one wrong character in each text, and its lists in another order."""
    if isinstance(tree, dict):
        return {key: with_typos(generator, child) for key, child in tree.items()}
    if isinstance(tree, list):
        return [with_typos(generator, child) for child in generator.sample(tree, len(tree))]
    at = generator.randrange(len(tree))
    return f"{tree[:at]}~{tree[at + 1 :]}"


def calls() -> list[Call]:
    if not (PEERS / "anls_star").exists():
        sys.exit("anls_star is not installed: run `make peers`")
    if str(PEERS) not in sys.path:
        sys.path.append(str(PEERS))
    anls_star = importlib.import_module("anls_star").anls_score
    generator = random.Random(0)  # noqa: S311
    items = {"items": invoice(generator, 40)["items"]}
    texts = descriptions(generator, 300)
    unlike = [description(generator) for _ in texts]
    board = functools.partial(leaderboard_score, protocol="mmesgbench", answer_type="List")

    def tree(name: str, prediction: Any, reference: Any, *, rounds: int = ROUNDS, **targets: Any) -> Call:
        ours = functools.partial(anls_star_score, prediction, reference)
        peer = functools.partial(anls_star, reference, prediction)
        return Call(name, ours, peer, **targets, peer_rounds=rounds)

    questions = [
        Call(
            f"a question with 2 answers, {name}",
            functools.partial(anls_score, *ANSWERS, protocol=name),
            functools.partial(loop, *ANSWERS),
            (4, 2.5),
            is_score=name == "standard",
        )
        for name, rules in PROTOCOLS.items()
        if not rules.tree
    ]
    return [
        *questions,
        tree("a text", "Denver Bronco", "Denver Broncos", microseconds=(4, 3)),
        tree("a dict of 1", {"team": "Denver Bronco"}, {"team": "Denver Broncos"}, microseconds=(7, 5)),
        tree("a dict of 3", *FIELDS, microseconds=(12, 8)),
        tree("a list of 3 texts", *NAMES, microseconds=(25, 15)),
        tree("40 items of 6 texts", with_typos(generator, items), items, times=(1_000, 2_000), rounds=1),
        Call(
            "the dict of 3, explained",
            functools.partial(explain, *FIELDS),
            functools.partial(anls_star, *FIELDS[::-1], return_gt=True, return_key_scores=True),
            (50, 35),
            is_score=False,
        ),
        Call("MMESGBench: 300 items, alike", functools.partial(board, with_typos(generator, texts), texts), None),
        Call("MMESGBench: 300 items, not alike", functools.partial(board, unlike, texts), None, (500_000, 100_000)),
    ]


def single_section(rounds: int) -> Section:
    found, targets = [], list[Target]()
    for call in calls():
        check = at_most_equal_to(call.ours() + SAME) if call.is_score else None
        contenders = [Contender(OURS, fastest(call.ours), rounds)]
        if call.peer is not None:
            peer = fastest(call.peer)
            contenders.insert(0, Contender(PEER, peer, min(rounds, call.peer_rounds), check))
        found.append(workload(call.name, 1, contenders))
        if call.times:
            targets += faster(found[-1], PEER, OURS, *call.times)
        if call.microseconds:
            targets.append(at_most(call.name, found[-1].timings[OURS].fastest * 1e6, "µs", *call.microseconds))
    return Section(
        "Single calls",
        "One call at a time, every text with a typo. The peer of questions is a loop over rapidfuzz, for the protocol "
        "standard; that of trees is anls_star.",
        "µs a call",
        tuple(found),
        ((PEER, OURS),),
        tuple(targets),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often each call is timed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(section_text(single_section(parser.parse_args().rounds)))


if __name__ == "__main__":
    main()
