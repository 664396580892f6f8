"""Time ANLS* beside the other implementations, on the same made-up invoices, lists and texts, in one run.

Every prediction is its reference with the items shuffled, slips in a third of the texts, and a few fields missing and
invented. The floor is the time of the distances and assignments alone: the calls that our code makes of rapidfuzz and
scipy are recorded and made again. A score that is less than that of anls_star ends the run with an error; a greater
one is shown, as are stickler's: there matchings tie, and ours takes the best. A time never ends the run.

Run ``make bench``, or ``python benchmarks/tree.py [--rounds N]``.
"""

import argparse
import functools
import importlib
import importlib.metadata
import random
import statistics
import sys
import types
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from unittest import mock

from rapidfuzz.distance import Levenshtein

import anls
from benchmarks.flat import PEERS, Contender, Measured, measure, positive, print_machine

ROOT = Path(__file__).resolve().parent.parent
ANLS_STAR, STICKLER, OURS, FLOOR = "anls_star", "stickler", "ours", "floor"
LEAST_SECONDS = 0.01  # what is faster is repeated for so long
SAME = 1e-12  # scores that differ by less are equal
DEPTHS = (100, 1_000, 10_000, 100_000)
# fmt: off
WORDS = (
    "steel", "copper", "rubber", "ceramic", "oak", "bolt", "bracket", "hinge", "valve", "cable", "cartridge",
    "toner", "paper", "binder", "stapler", "drawer", "lamp", "desk", "chair", "monitor", "keyboard", "adapter",
    "charger", "filter", "pump", "gasket", "sealant", "primer", "varnish", "brush", "blue", "black", "A4", "M8",
    "12mm", "230V", "5l", "heavy-duty", "refill", "pack", "of", "with", "for", "and",
)
# fmt: on


class Workload(NamedTuple):
    """A prediction with its reference, and how fast scoring them is to be: asked, and aimed at."""

    name: str
    prediction: Any
    reference: Any
    times: tuple[int, int] | None = None  # as fast as anls_star
    seconds: tuple[float, float] | None = None
    peer_rounds: int | None = None  # where the others are slow; 0 leaves them out


# Workloads


def description(generator: random.Random, length: int = 20) -> str:
    """Words of at least so many letters."""
    text = generator.choice(WORDS)
    while len(text) < length:
        text += " " + generator.choice(WORDS)
    return text


def price(generator: random.Random) -> str:
    return f"{generator.uniform(1, 2_000):.2f}"


def date(generator: random.Random) -> str:
    return f"2024-{generator.randint(1, 12):02}-{generator.randint(1, 28):02}"


def code(generator: random.Random) -> str:
    return f"{generator.choice('ABCDEF')}{generator.choice('KLMN')}-{generator.randint(10_000, 99_999)}"


def item(generator: random.Random) -> dict[str, Any]:
    return {
        "description": description(generator, 30),
        "article": f"{code(generator)} {description(generator, 12)}",
        "supplier": description(generator, 20),
        "delivered_to": f"{description(generator, 15)}, {date(generator)}",
        "remark": description(generator, 20),
        "amount": f"{generator.randint(1, 50)} at {price(generator)} each",
    }


def header(generator: random.Random) -> dict[str, Any]:
    return {"vendor": description(generator), "date": date(generator), "total": price(generator)}


def invoice(generator: random.Random, items: int) -> dict[str, Any]:
    return header(generator) | {"items": [item(generator) for _ in range(items)]}


def nested(generator: random.Random, depth: int, width: int) -> Any:
    return [nested(generator, depth - 1, width) for _ in range(width)] if depth else description(generator)


def chain(depth: int, text: str) -> Any:
    value: Any = text
    for _ in range(depth):
        value = [value]
    return value


def with_slips(generator: random.Random, text: str) -> str:
    """Replace about one character in fifteen, at least one."""
    characters = list(text)
    for _ in range(1 + len(text) // 15):
        characters[generator.randrange(len(text))] = generator.choice("abcdeiost0158")
    return "".join(characters)


def predicted(generator: random.Random, value: Any) -> Any:
    """What a model could have read in place of a value."""
    if isinstance(value, dict):
        fields = {key: predicted(generator, child) for key, child in value.items()}
        if generator.random() < 0.1:
            del fields[generator.choice(list(fields))]
        return fields | ({"unit": "pcs"} if generator.random() < 0.05 else {})
    if isinstance(value, list):
        return generator.sample([predicted(generator, child) for child in value], len(value))
    return with_slips(generator, value) if isinstance(value, str) and generator.random() < 1 / 3 else value


def workloads() -> list[Workload]:
    generator = random.Random(0)  # noqa: S311

    def against(reference: Any) -> tuple[Any, Any]:
        return predicted(generator, reference), reference

    def texts(n: int) -> list[str]:
        return [description(generator) for _ in range(n)]

    def slipped(length: int) -> tuple[str, str]:
        text = description(generator, length)[:length]
        return with_slips(generator, text), text

    return [
        Workload("dict of 4", *against(header(generator) | {"number": code(generator)}), times=(4, 10)),
        Workload("list of 10", *against(texts(10)), times=(40, 100)),
        Workload("list of 30", *against(texts(30))),
        Workload("list of 100", *against(texts(100)), times=(500, 1_500), peer_rounds=3),
        Workload("list of 300", *against(texts(300)), peer_rounds=1),
        Workload("invoice of 5", *against(invoice(generator, 5)), times=(30, 70)),
        Workload("invoice of 10", *against(invoice(generator, 10))),
        Workload("invoice of 20", *against(invoice(generator, 20)), peer_rounds=3),
        Workload("invoice of 50", *against(invoice(generator, 50)), times=(700, 1_500), peer_rounds=3),
        Workload("invoice of 100", *against(invoice(generator, 100)), times=(1_500, 4_000), peer_rounds=1),
        Workload("invoice of 200", *against(invoice(generator, 200)), seconds=(0.050, 0.015), peer_rounds=0),
        Workload("chain of 10", *against(chain(10, description(generator))), times=(1_000, 5_000)),
        Workload("2 wide, 3 deep", *against(nested(generator, 3, 2))),
        Workload("2 wide, 4 deep", *against(nested(generator, 4, 2))),
        Workload("100 characters", *slipped(100)),
        Workload("1,000 characters", *slipped(1_000), times=(2_000, 6_000)),
    ]


# Contenders


def load_peers() -> dict[str, Callable[[Any, Any], float]]:
    """Import what `make bench` installs for comparison, after ours: one of its packages has the name of ours."""
    if Path(anls.__file__).resolve() != ROOT / "anls.py":
        sys.exit(f"anls is {anls.__file__}, not ours")
    if not (PEERS / "stickler").exists():
        sys.exit("the other implementations are not installed: run `make bench`, which does that")
    sys.path.append(str(PEERS))
    return {name: importlib.import_module(name).anls_score for name in (ANLS_STAR, STICKLER)}


def timed(function: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    def run() -> tuple[float, Any]:
        calls, elapsed, start = 0, 0.0, perf_counter()
        while elapsed < LEAST_SECONDS:
            result = function()
            calls += 1
            elapsed = perf_counter() - start
        return elapsed / calls, result

    return run


def recorded_calls(run: Callable[[], Any]) -> list[Callable[[], Any]]:
    """The calls of rapidfuzz and scipy that a run of ours makes, to be made again."""
    calls: list[Callable[[], Any]] = []

    def recorder(function: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any, **options: Any) -> Any:
            if options.get("scorer") is distance:
                options["scorer"] = Levenshtein.distance  # not its recorder, which cdist could only call pair by pair
            calls.append(functools.partial(function, *args, **options))
            return calls[-1]()

        return record

    recorders: dict[str, Any] = {name: recorder(getattr(anls, name)) for name in ("cdist", "linear_sum_assignment")}
    distance = recorder(Levenshtein.distance)
    recorders["Levenshtein"] = types.SimpleNamespace(**vars(Levenshtein) | {"distance": distance})
    with mock.patch.multiple(anls, **recorders):
        run()
    return calls


def contenders(workload: Workload, peers: dict[str, Callable[[Any, Any], float]], rounds: int) -> list[Contender]:
    prediction, reference = workload.prediction, workload.reference
    run = functools.partial(anls.anls_star_score, prediction, reference)
    calls = recorded_calls(run)
    peer_rounds = rounds if workload.peer_rounds is None else min(rounds, workload.peer_rounds)
    peer_runs = {name: timed(functools.partial(score, reference, prediction)) for name, score in peers.items()}
    return [
        *(Contender(name, peer_run, peer_rounds) for name, peer_run in peer_runs.items()),
        Contender(OURS, timed(run), rounds),
        Contender(FLOOR, timed(lambda: [call() for call in calls]), rounds),
    ]


# Checking and output


def check_score(workload: Workload, measured: dict[str, Measured]) -> None:
    ours, theirs = measured[OURS].scores, measured[ANLS_STAR].scores
    if theirs is not None and ours < theirs - SAME:
        sys.exit(f"scores differ on {workload.name}: {ANLS_STAR} gives {theirs!r}, anls_star_score {ours!r}")


def shown_time(seconds: list[float]) -> str:
    if not seconds:
        return "-"
    value = statistics.median(seconds) * 1e3
    return f"{value:,.{4 if value < 1 else 2 if value < 100 else 0}f}{'*' if len(seconds) == 1 else ''}"


def ratio(measured: dict[str, Measured], one: str, other: str) -> float | None:
    if not measured[one].seconds:
        return None
    return statistics.median(measured[one].seconds) / statistics.median(measured[other].seconds)


def shown_ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.{1 if value < 100 else 0}f}"


def verdict(workload: Workload, measured: dict[str, Measured]) -> str:
    if workload.seconds:
        (asked, aim), unit = workload.seconds, "s"
        reached = [statistics.median(measured[OURS].seconds) <= limit for limit in (asked, aim)]
    elif workload.times:
        (asked, aim), unit = workload.times, "x"
        times = ratio(measured, ANLS_STAR, OURS) or 0
        reached = [times >= limit for limit in (asked, aim)]
    else:
        return ""
    met = "aim met" if reached[1] else "met" if reached[0] else "missed"
    return f"{asked:,g} ({aim:,g}) {unit}: {met}"


def score_notes(measured: dict[str, Measured]) -> str:
    ours = measured[OURS].scores
    others = {name: measured[name].scores for name in (ANLS_STAR, STICKLER) if measured[name].scores is not None}
    notes = [f"{name} scores {score:.6f}" for name, score in others.items() if abs(score - ours) > SAME]
    return f"{', '.join(notes)}, ours {ours:.6f}" if notes else ""


def print_titles() -> None:
    names = f"{ANLS_STAR:>10}{STICKLER:>10}{OURS:>9}{FLOOR:>9}"
    ratios = f"{'x ' + ANLS_STAR:>12}{'x ' + STICKLER:>11}{'x floor':>9}"
    print("\n  *: one round, no median")
    print(f"  {'milliseconds, medians':<22}{names}{ratios}  asked (aim)")


def print_row(workload: Workload, measured: dict[str, Measured]) -> None:
    times = [shown_time(measured[name].seconds) for name in (ANLS_STAR, STICKLER, OURS, FLOOR)]
    ratios = [shown_ratio(ratio(measured, name, OURS)) for name in (ANLS_STAR, STICKLER)]
    row = f"{times[0]:>10}{times[1]:>10}{times[2]:>9}{times[3]:>9}{ratios[0]:>12}{ratios[1]:>11}"
    print(f"  {workload.name:<22}{row}{shown_ratio(ratio(measured, OURS, FLOOR)):>9}  {verdict(workload, measured)}")
    if notes := score_notes(measured):
        print(f"  {'':<22}{notes}")
    sys.stdout.flush()


def print_depths(rounds: int) -> None:
    """Show that the time of a chain is linear in its depth."""
    print(f"\n  {'lists in one another':<22}{'ms':>10}{'µs a level':>12}")
    for depth in DEPTHS:
        run = functools.partial(anls.anls_star_score, chain(depth, "ACME Gmbh"), chain(depth, "ACME GmbH & Co"))
        seconds = measure([Contender(OURS, timed(run), rounds)])[OURS].seconds
        print(f"  {depth:<22,}{shown_time(seconds):>10}{statistics.median(seconds) / depth * 1e6:>12.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=positive, default=7, help="how often each contender runs, unless it is slow")
    options = parser.parse_args()

    peers = load_peers()
    print_machine()
    packages = ("scipy", "anls_star", "stickler-eval", "munkres")
    print(", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages))
    print_titles()
    for workload in workloads():
        measured = measure(contenders(workload, peers, options.rounds))
        check_score(workload, measured)
        print_row(workload, measured)
    print_depths(options.rounds)


if __name__ == "__main__":
    main()
