"""Time Donut's scores of 1,000 receipts, the tree edit distance beside zss where it is installed.

The receipts are generated: 1 to 8 items of three fields, totals, and the slips of a model. zss runs on the first ones,
with the costs of Donut's code but rapidfuzz's Levenshtein distance, which is faster than that code's; its distances
must be ours. Run ``python -m benchmarks.extraction [--receipts N] [--zss N]``.
"""

import argparse
import importlib.util
import random
from time import perf_counter
from typing import Any

from rapidfuzz.distance import Levenshtein

from anls_eval.leaderboards import leaderboard_figures
from anls_eval.leaderboards.donut import donut_fields, tree_accuracy

DISHES = ("Iced Latte", "Mineral Water", "Nasi Goreng", "Cap Cay", "Almond Croissant", "Ayam Bakar", "Es Teh Manis")
LEAF = "<leaf>"


def receipt(generator: random.Random) -> dict[str, Any]:
    """Return a receipt as in CORD."""
    items = [
        {
            "nm": generator.choice(DISHES),
            "cnt": str(generator.randint(1, 9)),
            "price": f"{generator.randint(1, 99)},000",
        }
        for _ in range(generator.randint(1, 8))
    ]
    total = {"total_price": f"{generator.randint(10, 999)},000", "cashprice": "1,000,000"}
    return {"menu": items, "sub_total": {"subtotal_price": total["total_price"], "tax_price": "10,200"}, "total": total}


def misread(generator: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """Return a receipt with one item misread, and at times one missing."""
    items = [dict(item) for item in document["menu"]]
    item = generator.choice(items)
    item["nm"] = item["nm"].replace("a", "o")
    return {**document, "menu": items[generator.randint(0, 1) :] or items}


def zss_accuracy(prediction: Any, reference: Any) -> float:
    """Return Donut's tree accuracy of two normalised documents by zss."""
    zss = importlib.import_module("zss")

    def node(document: Any, label: str) -> Any:
        children: list[Any]
        own = zss.Node(label)
        if isinstance(document, dict):
            children = [node(value, key) for key, value in document.items()]
        elif all(isinstance(item, dict) for item in document):
            children = [node(item, "<subtree>") for item in document]
        else:
            children = [zss.Node(LEAF + item) for item in document]
        for child in children:
            own.addkid(child)
        return own

    def size(own: Any) -> int:
        return len(own.label.replace(LEAF, "")) if LEAF in own.label else 1

    def change(one: Any, other: Any) -> int:
        sides = LEAF in one.label, LEAF in other.label
        if all(sides):
            return Levenshtein.distance(one.label.replace(LEAF, ""), other.label.replace(LEAF, ""))
        return 1 + size(one if sides[0] else other) if any(sides) else int(one.label != other.label)

    def distance(one: Any, other: Any) -> float:
        costs = {"insert_cost": size, "remove_cost": size, "update_cost": change}
        return float(zss.distance(one, other, zss.Node.get_children, **costs))

    documents: list[Any] = [prediction, reference, {}]
    trees = [node(document, "<root>") for document in documents]
    return max(0.0, 1 - distance(trees[0], trees[1]) / distance(trees[2], trees[1]))


def main() -> None:
    """Print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--receipts", type=int, default=1000)
    parser.add_argument("--zss", type=int, default=50)
    asked = parser.parse_args()
    generator = random.Random(1)  # noqa: S311 - inputs, not secrets
    references = [receipt(generator) for _ in range(asked.receipts)]
    predictions = [misread(generator, own) for own in references]
    for protocol in ("donut_f1", "donut_ted", "varex", "extractbench_value"):
        start = perf_counter()
        figures = leaderboard_figures(predictions, references, protocol=protocol)
        print(
            f"{protocol:20}{perf_counter() - start:8.3f} s for {asked.receipts} receipts, score {figures['score']:.4f}"
        )
    if importlib.util.find_spec("zss") is None:
        print("zss is not installed: pip install zss")
        return
    pairs = [
        (donut_fields(own), donut_fields(wanted))
        for own, wanted in zip(predictions[: asked.zss], references[: asked.zss], strict=True)
    ]
    start = perf_counter()
    ours = [tree_accuracy(*pair) for pair in pairs]
    middle = perf_counter()
    theirs = [zss_accuracy(*pair) for pair in pairs]
    end = perf_counter()
    if ours != theirs:
        raise SystemExit("zss gives other distances")
    print(f"zss takes {(end - middle) / (middle - start):.1f} times as long for {len(pairs)} receipts")


if __name__ == "__main__":
    main()
