"""VRDU: micro and macro F1 of entities, with a rule of matching for each name and line items of several names."""

from __future__ import annotations

import collections
import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from anls_eval.errors import AnlsError
from anls_eval.inputs.values import describe_value
from anls_eval.leaderboards.benchmark import Benchmark, Counts, Figures, plain_sum, sum_counts
from anls_eval.leaderboards.document import Document, read_documents
from anls_eval.leaderboards.question import Question

_Name = str | tuple[str, ...]  # a tuple for a line item


class _Entity(NamedTuple):
    name: _Name
    texts: tuple[str, ...]  # the accepted ones; for a line item one for each name


_DATES = ("%m/%d/%y", "%m/%d/%Y", "%m/%d", "%b%d/%y", "%m-%d-%Y", "%m-%d-%y", "%B%d,%Y", "%Y/%m/%d")


def _date(text: str) -> datetime.date | None:
    """Return the date that a text holds in the first format that fits; without a year it is of 1900."""
    bare = re.sub(r"[^0-9a-zA-Z/\-,]", "", text)
    for pattern in _DATES:
        year = "" if "%y" in pattern.lower() else " 1900"
        try:
            return datetime.datetime.strptime(bare + year, pattern + (year and " %Y")).date()
        except ValueError:
            continue
    return None


def _is_same_date(one: str, other: str) -> bool:
    first, second = _date(one), _date(other)
    if first is None or second is None:
        return _is_same_string(one, other)
    days = (second.month, second.day), (second.day, second.month)
    return first.year == second.year and (first.month, first.day) in days


def _is_same_price(one: str, other: str) -> bool:
    try:
        first, second = (float(re.sub(r"[^0-9.]", "", text)) for text in (one, other))
    except ValueError:
        return False
    return abs(first - second) <= 0.01


def _is_same_address(one: str, other: str) -> bool:
    return Levenshtein.distance(one, other, score_cutoff=3) <= 3


def _is_same_number(one: str, other: str) -> bool:
    return re.sub(r"[^0-9]", "", one) == re.sub(r"[^0-9]", "", other)


def _is_same_string(one: str, other: str) -> bool:
    return re.sub(r"[^0-9a-zA-Z]", "", one) == re.sub(r"[^0-9a-zA-Z]", "", other)


def _is_same_name(one: str, other: str) -> bool:
    return one.replace(" ", "") == other.replace(" ", "")


def _is_same(one: str, other: str) -> bool:
    return one == other


_RULES: Mapping[str, Callable[[str, str], bool]] = {
    "DateMatch": _is_same_date,
    "PriceMatch": _is_same_price,
    "AddressMatch": _is_same_address,
    "NumericalStringMatch": _is_same_number,
    "GeneralStringMatch": _is_same_string,
    "NameMatch": _is_same_name,
}


def _is_match(prediction: _Entity, reference: _Entity, match: Mapping[str, str]) -> bool:
    """Return whether a predicted entity matches one of the texts, or each part of a line item."""

    def is_alike(name: str, one: str, other: str) -> bool:
        return _RULES.get(match.get(name, ""), _is_same)(" ".join(one.split()), " ".join(other.split()))

    if isinstance(reference.name, str):
        return any(is_alike(reference.name, prediction.texts[0], text) for text in reference.texts)
    parts = dict(zip(reference.name, zip(prediction.texts, reference.texts, strict=False), strict=False))
    return all(is_alike(name, *texts) for name, texts in parts.items())


def _predicted(document: Document, where: str, appearance: Mapping[str, str]) -> list[_Entity]:
    """Return the predicted entities: the first one of an unrepeated name, and line items put together."""
    entities: list[_Entity] = []
    parts: dict[str, list[tuple[str, str]]] = {kind: [] for kind in _line_items(appearance)}
    seen = set()
    for item in _pairs(document, where):
        name, text = item
        if not isinstance(name, str) or not isinstance(text, str):
            problem = f"it has {describe_value(name)} with {describe_value(text)}; expected [name, text]"
            raise AnlsError(problem, where=where)
        kind = appearance.get(name, "repeated")
        if kind in parts:
            parts[kind].append((name, text))
        elif kind != "unrepeated" or name not in seen:
            seen.add(name)
            entities.append(_Entity(name, (text,)))
    return entities + [item for own in parts.values() for item in _items(own)]


def _items(parts: list[tuple[str, str]]) -> Iterator[_Entity]:
    """Cut parts into line items where a name comes again."""
    item: dict[str, str] = {}
    for name, text in parts:
        if name in item:
            yield _Entity(tuple(item), tuple(item.values()))
            item = {}
        item[name] = text
    if item:
        yield _Entity(tuple(item), tuple(item.values()))


def _referenced(document: Document, where: str) -> list[_Entity]:
    found = []
    for name, texts in _pairs(document, where):
        names = [name] if isinstance(name, str) else name
        for own in (names, texts):
            if not isinstance(own, list) or not all(isinstance(text, str) for text in own):
                problem = f"it has {describe_value(name)} with {describe_value(texts)}; expected [name, [text, ...]]"
                raise AnlsError(problem, where=where)
        found.append(_Entity(name if isinstance(name, str) else tuple(name), tuple(texts)))
    return found


def _pairs(document: Document, where: str) -> list[list[Any]]:
    items = [] if document is None else document
    if not isinstance(items, list) or not all(isinstance(item, list) and len(item) == 2 for item in items):
        problem = f"it is {describe_value(document)}; expected a list of [name, text], for a reference [name, [text]]"
        raise AnlsError(problem, where=where)
    return items


def _line_items(appearance: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the names of each line item."""
    found: dict[str, set[str]] = {}
    for name, kind in appearance.items():
        if kind not in ("repeated", "unrepeated"):
            found.setdefault(kind, set()).add(name)
    return found


def _settings(question: Question) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the rule of matching of each name, and how each name appears."""
    match = _texts_by_name(question, "match", {})
    appearance = _texts_by_name(question, "appearance", dict.fromkeys(match, "unrepeated"))
    if not appearance:
        problem = "expected how each name appears: {name: 'unrepeated', 'repeated' or the name of its line item}"
        raise AnlsError(problem, option="options['appearance']", value=dict(appearance))
    return match, appearance


def _texts_by_name(question: Question, option: str, default: Mapping[str, str]) -> Mapping[str, str]:
    own = question.options.get(option, default)
    if not isinstance(own, Mapping) or not all(isinstance(item, str) for pair in own.items() for item in pair):
        raise AnlsError("expected a dict of texts by name", option=f"options[{option!r}]", value=own)
    return own


def _counts(question: Question) -> Counts:
    match, appearance = _settings(question)
    own = _predicted(question.prediction, f"prediction{question.row}", appearance)
    wanted = _referenced(question.reference, f"reference{question.row}")
    by_name: dict[_Name, list[list[_Entity]]] = collections.defaultdict(lambda: [[], []])
    for side, entities in enumerate((own, wanted)):
        for entity in entities:
            by_name[entity.name][side].append(entity)
    line_items = _line_items(appearance)
    found = {key: {"correct": 0, "predicted": 0, "wanted": 0} for key in _keys(appearance, line_items)}
    for name, sides in by_name.items():
        counts = _matched(sides[0], sides[1], match)
        for key in _keys_of(name, appearance, line_items, f"prediction{question.row} or its reference"):
            found[key] = dict(sum_counts([found[key], counts]))
    return {(*key, what): number for key, own_counts in found.items() for what, number in own_counts.items()}


def _keys(appearance: Mapping[str, str], line_items: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return what is counted, in the order in which the macro F1 adds it up."""
    names = [("name", name) for kind in ("unrepeated", "repeated") for name, own in appearance.items() if own == kind]
    return [("micro",), ("unrepeated",), *names, *(("line item", kind) for kind in line_items)]


def _keys_of(
    name: _Name, appearance: Mapping[str, str], line_items: Mapping[str, set[str]], where: str
) -> Iterator[tuple[str, ...]]:
    """Yield where the entities of a name are counted."""
    yield ("micro",)
    if isinstance(name, tuple):
        kind = next((kind for kind, names in line_items.items() if names.issuperset(name)), None)
        if kind is None:
            raise AnlsError(f"no line item has the names {', '.join(name)}: correct options['appearance']", where=where)
        yield "line item", kind
    elif appearance.get(name) in ("unrepeated", "repeated"):
        yield "name", name
        if appearance[name] == "unrepeated":
            yield ("unrepeated",)


def _matched(own: Sequence[_Entity], wanted: Sequence[_Entity], match: Mapping[str, str]) -> Counts:
    """Match entities of one name; a prediction may serve several, and its doubles count as served."""
    served = []
    for reference in wanted:
        served += [entity for entity in own if _is_match(entity, reference, match)][:1]
    surplus = sum(entity not in served for entity in own)
    return {"correct": len(served), "predicted": len(served) + surplus, "wanted": len(wanted)}


def _figures(counts: Counts) -> Figures:
    micro = _scores(counts, ("micro",))
    names = [key[:-1] for key in counts if key[0] in ("name", "line item") and key[-1] == "correct"]
    f1s = [_scores(counts, name)[2] for name in names]
    return {
        "micro_precision": micro[0],
        "micro_recall": micro[1],
        "micro_f1": micro[2],
        "macro_f1": plain_sum(f1s) / len(f1s) if f1s else 0.0,
        "unrepeated_f1": _scores(counts, ("unrepeated",))[2],
    }


def _scores(counts: Counts, key: tuple[str, ...]) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    correct, predicted, wanted = (counts.get((*key, what), 0) for what in ("correct", "predicted", "wanted"))
    if predicted and not wanted:
        return 0.0, 1.0, 0.0
    if not correct:
        return 0.0, 0.0, 0.0
    precision, recall = correct / predicted, correct / wanted
    return precision, recall, 2 * precision * recall / (precision + recall)


VRDU = Benchmark(
    name="vrdu",
    family="VRDU",
    read=read_documents,
    description="F1 over the entities of all documents, each matched by the rule of its name: date, price, address, "
    "numerical string, general string, name, or equal. Line items match if all their parts do and stand in the same "
    "order. A prediction may serve several references, and its doubles are free, a bug that the published numbers "
    "contain. Of a name that comes once, the first prediction counts.",
    count=_counts,
    figures_of=_figures,
    headline="micro_f1",
    reports="micro F1 over the entities of all documents; and macro F1 over the names",
    shared_options=("match", "appearance"),
    required_options=("match", "appearance"),
    source="google-research/google-research @ 1d4d2f1, vrdu/match_utils.py and benchmark_utils.py, read and not run.",
)
