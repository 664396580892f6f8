"""Generated texts and documents, and plausible model outputs for them."""

import random
from typing import Any

# fmt: off
WORDS = (
    "steel", "copper", "rubber", "ceramic", "oak", "bolt", "bracket", "hinge", "valve", "cable", "cartridge",
    "toner", "paper", "binder", "stapler", "drawer", "lamp", "desk", "chair", "monitor", "keyboard", "adapter",
    "charger", "filter", "pump", "gasket", "sealant", "primer", "varnish", "brush", "blue", "black", "A4", "M8",
    "12mm", "230V", "5l", "heavy-duty", "refill", "pack", "of", "with", "for", "and",
)
# fmt: on


def description(generator: random.Random, length: int = 20) -> str:
    """Words of at least so many letters."""
    words = [generator.choice(WORDS)]
    size = len(words[0])
    while size < length:
        words.append(generator.choice(WORDS))
        size += 1 + len(words[-1])
    return " ".join(words)


def descriptions(generator: random.Random, n: int) -> list[str]:
    return [description(generator) for _ in range(n)]


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


def form(generator: random.Random) -> dict[str, Any]:
    """A document of 8 fields."""
    more = {"address": description(generator, 40), "due": date(generator), "net": price(generator)}
    return header(generator) | {"number": code(generator)} | more | {"remark": description(generator)}


def invoice(generator: random.Random, items: int) -> dict[str, Any]:
    return header(generator) | {"items": [item(generator) for _ in range(items)]}


def archive(generator: random.Random, parts: int, items: int) -> dict[str, Any]:
    """Parts with a list of items each, of 10 values."""

    def long_item() -> dict[str, Any]:
        return item(generator) | header(generator) | {"number": code(generator)}

    return {f"part {number}": [long_item() for _ in range(items)] for number in range(parts)}


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
    """What a model could have read: items shuffled, slips in a third of the texts, some fields missing or invented."""
    if isinstance(value, dict):
        fields = {key: predicted(generator, child) for key, child in value.items()}
        if generator.random() < 0.1:
            del fields[generator.choice(list(fields))]
        return fields | ({"unit": "pcs"} if generator.random() < 0.05 else {})
    if isinstance(value, list):
        return generator.sample([predicted(generator, child) for child in value], len(value))
    return with_slips(generator, value) if isinstance(value, str) and generator.random() < 1 / 3 else value
