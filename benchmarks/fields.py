"""Time ANLS* with fields against ANLS* without, and against stickler with the same comparators and weights.

Documents of 8 fields (two numbers, a date, an identifier) and invoices whose items have typed columns; each prediction
is its reference with shuffled items, slips in a third of the texts, and a few missing and extra fields. stickler scores
lists in another way, so that only its time is compared.

Run ``python benchmarks/fields.py [--rounds N]`` after ``make peers``.
"""

import functools
import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

import pydantic

from anls_eval.analysis.accounting import field_report
from anls_eval.fields.fields import Fields
from anls_eval.scoring import anls_star_score, anls_star_scores
from benchmarks.documents import WORDS, code, date, description, form, predicted, price
from benchmarks.measuring import LEAST_SECONDS, PEERS, ROUNDS, Contender, arguments, positive, timed, workload
from benchmarks.render import section_text
from benchmarks.results import Section, Workload, at_most, faster

PLAIN, TYPED, KEYED, REPORT, STICKLER = "without fields", "with fields", "with a key", "field_report", "stickler"

OF_FORMS = Fields(
    {
        "$.number": {"compare": "exact"},
        "$.date": {"compare": "date"},
        "$.net": {"compare": "number"},
        "$.total": {"compare": "number", "absolute": "0.01", "weight": 2},
    }
)
OF_ITEMS: dict[str, dict[str, Any]] = {
    "$.items[*].sku": {"compare": "exact"},
    "$.items[*].qty": {"compare": "number"},
    "$.items[*].price": {"compare": "number", "absolute": "0.01"},
    "$.items[*].amount": {"compare": "number", "weight": 2},
    "$.items[*].delivered": {"compare": "date"},
}


def item(generator: random.Random) -> dict[str, Any]:
    return {
        "sku": code(generator),
        "description": description(generator),
        "qty": generator.randint(1, 50),
        "price": price(generator),
        "delivered": date(generator),
        "amount": price(generator),
        "colour": generator.choice(WORDS),
    }


def stickler_score() -> Callable[[Any, Any], float] | None:
    """Return stickler's score of invoices with the same comparators and weights; None where it is not installed."""
    if not (PEERS / "stickler").exists():
        return None
    if str(PEERS) not in sys.path:
        sys.path.append(str(PEERS))
    peer = importlib.import_module("stickler")

    def own(comparator: Any, weight: float = 1.0) -> tuple[Any, Any]:
        return str | None, peer.ComparableField(comparator=comparator, weight=weight, default=None)

    columns: dict[str, Any] = {
        "sku": own(peer.ExactComparator()),
        "description": own(peer.LevenshteinComparator()),
        "qty": own(peer.NumericComparator()),
        "price": own(peer.NumericComparator(absolute_tolerance=0.01)),
        "delivered": own(peer.DateComparator()),
        "amount": own(peer.NumericComparator(), 2.0),
        "colour": own(peer.LevenshteinComparator()),
        "unit": own(peer.LevenshteinComparator()),
    }
    row: Any = pydantic.create_model("Row", __base__=peer.StructuredModel, **columns)
    model: Any = pydantic.create_model("Invoice", __base__=peer.StructuredModel, items=(list[row], ...))

    def score(prediction: Any, reference: Any) -> float:
        return float(model(**reference).compare_with(model(**prediction))["overall_score"])

    return score


def as_texts(tree: Any) -> Any:
    """Leaves as texts, as the schema of the peer has them."""
    if isinstance(tree, dict):
        return {key: as_texts(child) for key, child in tree.items()}
    return list(map(as_texts, tree)) if isinstance(tree, list) else str(tree)


def forms_workload(number: int, rounds: int) -> Workload:
    generator = random.Random(0)  # noqa: S311
    references = [form(generator) for _ in range(number)]
    predictions = [predicted(generator, reference) for reference in references]
    runs: dict[str, Callable[[], Any]] = {
        PLAIN: functools.partial(anls_star_scores, predictions, references),
        TYPED: functools.partial(anls_star_scores, predictions, references, fields=OF_FORMS),
        REPORT: functools.partial(field_report, predictions, references, fields=OF_FORMS),
    }
    contenders = [Contender(name, timed(run), rounds) for name, run in runs.items()]
    return workload(f"{number:,} documents of 8 fields", number, contenders)


def invoice_workload(items: int, rounds: int) -> Workload:
    generator = random.Random(items)  # noqa: S311
    reference = {"items": [item(generator) for _ in range(items)]}
    prediction = {"items": predicted(generator, reference["items"])}
    typed, keyed = Fields(OF_ITEMS), Fields({"$.items": {"key": "sku"}, **OF_ITEMS})
    pair = prediction, reference
    runs: dict[str, Callable[[], Any]] = {
        PLAIN: functools.partial(anls_star_score, *pair),
        TYPED: functools.partial(anls_star_score, *pair, fields=typed),
        KEYED: functools.partial(anls_star_score, *pair, fields=keyed),
    }
    contenders = [Contender(name, timed(run, LEAST_SECONDS), rounds) for name, run in runs.items()]
    peer = stickler_score()
    if peer:
        contenders.append(
            Contender(STICKLER, timed(functools.partial(peer, as_texts(prediction), as_texts(reference))), 1)
        )
    return workload(f"an invoice of {items} items", 1, contenders)


def fields_section(number: int = 100_000, items: tuple[int, ...] = (5, 50, 200), rounds: int = ROUNDS) -> Section:
    forms = forms_workload(number, rounds)
    invoices = [invoice_workload(count, rounds) for count in items]
    targets = [
        at_most(f"{TYPED}, {own.name}", own.ratio(TYPED, PLAIN) or 0.0, "times the time without", 2, 1.3)
        for own in (forms, *invoices)
    ]
    targets.append(at_most(REPORT, forms.ratio(REPORT, TYPED) or 0.0, "times the time of scores", 1.5))
    targets += [
        target
        for own, count in zip(invoices, items, strict=True)
        if count == 50 and STICKLER in own.timings
        for target in faster(own, STICKLER, TYPED, 100, 500)
    ]
    return Section(
        "Fields",
        "Numbers, dates and identifiers compared as such. stickler has the same comparators and weights.",
        "ms",
        (forms, *invoices),
        ((TYPED, PLAIN), (STICKLER, TYPED)),
        tuple(targets),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often each is timed")
    print(section_text(fields_section(rounds=parser.parse_args().rounds)))


if __name__ == "__main__":
    main()
