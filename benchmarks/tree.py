"""Time ANLS* against other implementations, on the same generated invoices, lists and texts in one run.

Each prediction is its reference with shuffled items, typing errors in a third of the texts, and a few missing and extra
fields. The floor is the time of the distances and assignments alone: the calls that our code makes of rapidfuzz and
scipy are recorded and repeated. A score below that of anls_star ends the run with an error; higher ones are reported,
as are stickler's: there, several matchings tie, and ours takes the best. Slow times never end the run.

Run ``make bench``, or ``python benchmarks/tree.py [--rounds N]``.
"""

import functools
import importlib
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anls_eval.scoring import anls_star_score, anls_star_scores
from benchmarks.documents import (
    archive,
    chain,
    code,
    description,
    descriptions,
    form,
    header,
    invoice,
    nested,
    predicted,
    with_slips,
)
from benchmarks.measuring import (
    LEAST_SECONDS,
    PEERS,
    ROUNDS,
    SAME,
    Contender,
    arguments,
    at_most_equal_to,
    equal_to,
    floor,
    positive,
    timed,
    workload,
)
from benchmarks.render import section_text
from benchmarks.results import FLOOR, Section, Target, Workload, at_most, faster

ANLS_STAR, STICKLER, OURS = "anls_star", "stickler", "ours"
RATIOS = ((ANLS_STAR, OURS), (STICKLER, OURS), (OURS, FLOOR))

Peers = dict[str, Callable[[Any, Any], float]]


class Sizes(NamedTuple):
    """How large the documents are, and how many there are of small ones."""

    lists: tuple[int, ...] = (10, 30, 100, 300)
    invoices: tuple[int, ...] = (5, 10, 20, 50, 100)
    long_invoice: int = 200  # for ours alone
    chain: int = 10
    nests: tuple[int, ...] = (3, 4)  # depths
    documents: int = 100_000
    peer_documents: int = 5_000
    parts: int = 200  # of the huge tree
    items: int = 50  # of each part, with 10 texts


class Pair(NamedTuple):
    """A prediction with its reference, and how fast scoring them is to be."""

    name: str
    prediction: Any
    reference: Any
    times: tuple[float, float] | None = None  # as fast as anls_star: asked, and aimed at
    milliseconds: tuple[float, float] | None = None
    floors: float | None = None  # at most so many times the floor
    peer_rounds: int | None = None  # where the others are slow; 0 leaves them out
    headline: tuple[str, ...] = ()


def pairs(sizes: Sizes) -> list[Pair]:
    generator = random.Random(0)  # noqa: S311

    def against(reference: Any) -> tuple[Any, Any]:
        return predicted(generator, reference), reference

    def slipped(length: int) -> tuple[str, str]:
        text = description(generator, length)[:length]
        return with_slips(generator, text), text

    of_lists = {10: (40, 100), 100: (500, 1_500)}
    of_invoices = {5: (30, 70), 50: (700, 1_500), 100: (1_500, 4_000)}
    rounds = {("list", 100): 3, ("list", 300): 1, ("invoice", 20): 3, ("invoice", 50): 3, ("invoice", 100): 1}
    found = [
        Pair(
            "dict of 4 fields",
            *against(header(generator) | {"number": code(generator)}),
            times=(4, 10),
            headline=(ANLS_STAR,),
        )
    ]
    for n in sizes.lists:
        own = against(descriptions(generator, n))
        times = of_lists.get(n)
        found.append(
            Pair(
                f"list of {n} texts",
                *own,
                times,
                peer_rounds=rounds.get(("list", n)),
                headline=(ANLS_STAR,) if times else (),
            )
        )
    for n in sizes.invoices:
        own = against(invoice(generator, n))
        times = of_invoices.get(n)
        peer_rounds = rounds.get(("invoice", n))
        found.append(
            Pair(f"invoice of {n} items", *own, times, peer_rounds=peer_rounds, headline=(ANLS_STAR,) if times else ())
        )
    long = against(invoice(generator, sizes.long_invoice))
    chained = against(chain(sizes.chain, description(generator)))
    return [
        *found,
        Pair(f"invoice of {sizes.long_invoice} items", *long, milliseconds=(50, 15), floors=3, peer_rounds=0),
        Pair(f"{sizes.chain} lists in one another", *chained, times=(1_000, 5_000), headline=(ANLS_STAR,)),
        *(Pair(f"lists of 2, {depth} deep", *against(nested(generator, depth, 2)), (50, 100)) for depth in sizes.nests),
        Pair("text of 100 characters", *slipped(100)),
        Pair("text of 1,000 characters", *slipped(1_000), (2_000, 6_000), headline=(ANLS_STAR,)),
    ]


# Contenders


def load_peers() -> Peers:
    """Import what `make bench` installs for comparison."""
    if not (PEERS / "stickler").exists():
        sys.exit("the other implementations are not installed: run `make bench`, which does that")
    if str(PEERS) not in sys.path:
        sys.path.append(str(PEERS))
    return {name: importlib.import_module(name).anls_score for name in (ANLS_STAR, STICKLER)}


def tree_workload(pair: Pair, peers: Peers, rounds: int) -> Workload:
    peer_rounds = rounds if pair.peer_rounds is None else min(rounds, pair.peer_rounds)
    ours = functools.partial(anls_star_score, pair.prediction, pair.reference)
    score = ours()
    contenders = [
        *(
            Contender(
                name,
                timed(functools.partial(peer, pair.reference, pair.prediction), LEAST_SECONDS),
                peer_rounds,
                at_most_equal_to(score) if name == ANLS_STAR else None,
            )
            for name, peer in peers.items()
        ),
        Contender(OURS, timed(ours, LEAST_SECONDS), rounds, equal_to(score)),
        Contender(FLOOR, floor(ours, LEAST_SECONDS), rounds),
    ]
    return workload(pair.name, 1, contenders, score_notes, headline=pair.headline)


def score_notes(results: dict[str, Any]) -> list[str]:
    """Where the scores of others are not ours."""
    notes = []
    for name in (ANLS_STAR, STICKLER):
        if name in results:
            theirs = np.atleast_1d(results[name])
            own = np.atleast_1d(results[OURS])[: len(theirs)]
            differing = np.flatnonzero(np.abs(theirs - own) > SAME)
            if len(differing):
                count = f"{len(differing):,} of {len(own):,} documents, the first " if len(own) > 1 else ""
                notes.append(f"{name} scores {count}{theirs[differing[0]]:.6f}, ours {own[differing[0]]:.6f}.")
    return notes


def tree_targets(pair: Pair, found: Workload) -> list[Target]:
    targets = faster(found, ANLS_STAR, OURS, *pair.times) if pair.times else []
    if pair.milliseconds:
        reached = found.timings[OURS].median * 1e3
        targets.append(at_most(f"{pair.name}: {OURS}", reached, "ms", *pair.milliseconds))
    if pair.floors:
        reached = found.ratio(OURS, FLOOR) or 0.0
        targets.append(at_most(f"{pair.name}: {OURS} beside its floor", reached, "times as long", pair.floors))
    return targets


# Sections


def trees_section(sizes: Sizes, rounds: int) -> Section:
    peers, own = load_peers(), pairs(sizes)
    workloads = [tree_workload(pair, peers, rounds) for pair in own]
    targets = [target for pair, found in zip(own, workloads, strict=True) for target in tree_targets(pair, found)]
    return Section(
        "ANLS*",
        "One document at a time, by `anls_star_score`. An invoice has so many items of 6 texts. The floor is the calls "
        "of rapidfuzz and scipy alone that ours makes. Where lists match in several ways that tie, ours takes the "
        "best, and the score of others is less or depends on the order.",
        "ms",
        tuple(workloads),
        RATIOS,
        tuple(targets),
    )


def documents_section(sizes: Sizes, rounds: int) -> Section:
    """Many small documents."""
    generator = random.Random(0)  # noqa: S311
    references = [form(generator) for _ in range(sizes.documents)]
    predictions = [predicted(generator, reference) for reference in references]
    found = many_workload(predictions, references, load_peers(), sizes.peer_documents, min(3, rounds))
    return Section(
        "Many small documents",
        "Documents of 8 fields, all at once by `anls_star_scores`; the others take one at a time, and the first "
        f"{sizes.peer_documents:,} of them.",
        "µs a document",
        (found,),
        RATIOS,
        tuple(faster(found, ANLS_STAR, OURS, 25, 60)),
    )


def many_workload(
    predictions: Sequence[Any], references: Sequence[Any], peers: Peers, peer_items: int, rounds: int
) -> Workload:
    n = len(predictions)
    ours = functools.partial(anls_star_scores, predictions, references)
    scores = ours()

    def each(peer: Callable[[Any, Any], float]) -> list[float]:
        return [peer(references[row], predictions[row]) for row in range(peer_items)]

    contenders = [
        *(
            Contender(
                name,
                timed(functools.partial(each, peer)),
                rounds,
                at_most_equal_to(scores[:peer_items]) if name == ANLS_STAR else None,
                peer_items,
            )
            for name, peer in peers.items()
        ),
        Contender(OURS, timed(ours), rounds, equal_to(scores), n),
        Contender(FLOOR, floor(ours), rounds, None, n),
    ]
    return workload(f"{n:,} documents of 8 fields", n, contenders, score_notes, headline=(ANLS_STAR,))


def huge_section(sizes: Sizes, rounds: int) -> Section:
    """One huge tree, of parts that the others can score one of."""
    generator = random.Random(0)  # noqa: S311
    reference = archive(generator, sizes.parts, sizes.items)
    prediction = {name: predicted(generator, part) for name, part in reference.items()}
    first = next(iter(reference))
    ours = functools.partial(anls_star_score, prediction, reference)
    score, score_of_part = ours(), anls_star_score(prediction[first], reference[first])
    contenders = [
        *(
            Contender(
                name,
                timed(functools.partial(peer, reference[first], prediction[first])),
                1,
                at_most_equal_to(score_of_part) if name == ANLS_STAR else None,
            )
            for name, peer in load_peers().items()
        ),
        Contender(OURS, timed(ours), min(3, rounds), equal_to(score), sizes.parts),
        Contender(FLOOR, floor(ours), min(3, rounds), None, sizes.parts),
    ]

    name = f"{sizes.parts:,} parts, {sizes.parts * sizes.items * 10:,} texts"
    note = "anls_star and stickler score one part only: the whole takes them so many times as long as it has parts."
    found = workload(name, sizes.parts, contenders, lambda results: [note])
    return Section(
        "One huge tree",
        f"A document in parts, each a list of {sizes.items} items with 10 texts, which match one to one; ours scores "
        "it at once.",
        "ms a part",
        (found,),
        RATIOS,
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--rounds", type=positive, default=ROUNDS, help="how often each contender runs, unless it is slow"
    )
    options = parser.parse_args()
    for section in (trees_section, documents_section, huge_section):
        print(section_text(section(Sizes(), options.rounds)))


if __name__ == "__main__":
    main()
