"""The work that a score takes, counted while the real functions do it: no clock, so no noise."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pyarrow as pa
import rapidfuzz.process
import scipy.optimize
from rapidfuzz.distance import Levenshtein

from anls_eval.rules.steps import STEPS, normaliser
from anls_eval.text import prepare
from anls_eval.tree import matching


@dataclasses.dataclass
class Work:
    """What was done.

    Args:
        columns: The number of pairs of texts in each call of `cpdist`.
        held: The number of objects among the texts on the left of each.
        matrices: The number of rows and columns of each call of `cdist`.
        cutoffs: The greatest distance that each of these looks for.
        single: How many distances were computed one by one.
        characters: The products of the lengths of the texts, summed over all pairs whose distance was computed.
        assignments: The number of rows and columns of each call of `linear_sum_assignment`.
        valued: The number of matchings of two lists whose value was computed one by one.
        searched: How often the pairs of all optimal assignments were looked for.
        prepared: The number of texts that were made ready for comparison as columns.
        steps: How often each of `STEPS` was applied to a text by Python.
        arrow_bytes: What Arrow allocated, all in all.
    """

    columns: list[int] = dataclasses.field(default_factory=list)
    held: list[int] = dataclasses.field(default_factory=list)
    matrices: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    cutoffs: list[int | None] = dataclasses.field(default_factory=list)
    single: int = 0
    characters: int = 0
    assignments: list[tuple[int, ...]] = dataclasses.field(default_factory=list)
    valued: int = 0
    searched: int = 0
    prepared: int = 0
    steps: Counter[str] = dataclasses.field(default_factory=Counter)
    arrow_bytes: int = 0

    @property
    def cells(self) -> int:
        """The number of distances in all matrices."""
        return sum(rows * columns for rows, columns in self.matrices)


@contextlib.contextmanager
def counted() -> Iterator[Work]:
    """Count the work of what runs inside."""
    work = Work()

    def distance(one: str, other: str, **options: Any) -> Any:
        work.single += 1
        work.characters += len(one) * len(other)
        return Levenshtein.distance(one, other, **options)

    def scorer(options: dict[str, Any]) -> dict[str, Any]:
        """The options with the real function, which `cdist` and `cpdist` would else call pair by pair."""
        return options | {"scorer": Levenshtein.distance} if options["scorer"] is distance else options

    def cpdist(left: Any, right: Any, **options: Any) -> Any:
        work.columns.append(len(left))
        work.held.append(len(set(map(id, left))))
        work.characters += sum(len(one) * len(other) for one, other in zip(left, right, strict=True))
        return _REAL["cpdist"](left, right, **scorer(options))

    def cdist(rows: Any, columns: Any, **options: Any) -> Any:
        work.matrices.append((len(rows), len(columns)))
        work.cutoffs.append(options.get("score_cutoff"))
        work.characters += sum(map(len, rows)) * sum(map(len, columns))
        return _REAL["cdist"](rows, columns, **scorer(options))

    def linear_sum_assignment(weights: Any, **options: Any) -> Any:
        work.assignments.append(weights.shape)
        return _REAL["linear_sum_assignment"](weights, **options)

    def counting(name: str, step: Callable[[str], str]) -> Callable[[str], str]:
        def apply(text: str) -> str:
            work.steps[name] += 1
            return step(text)

        return apply

    def prepare_texts(texts: Any, *rules: Any) -> Any:
        work.prepared += len(texts)
        return _REAL["_prepare"](texts, *rules)

    def total(*lists: Any) -> Any:
        work.valued += 1
        return _REAL["total_of"](*lists)

    def optimal(*weights: Any) -> Any:
        work.searched += 1
        return _REAL["_optimal"](*weights)

    counters = {
        "total_of": total,
        "_optimal": optimal,
        "prepare_texts": prepare_texts,
        "cpdist": cpdist,
        "cdist": cdist,
        "Levenshtein": types.SimpleNamespace(**vars(Levenshtein) | {"distance": distance}),
    }
    with contextlib.ExitStack() as stack:
        for module in modules():
            for name in counters.keys() & vars(module).keys():
                stack.enter_context(mock.patch.object(module, name, counters[name]))
        steps = {name: counting(name, step) for name, step in STEPS.items()}
        for module in modules():
            if vars(module).get("STEPS") is STEPS:
                stack.enter_context(mock.patch.object(module, "STEPS", steps))
        stack.enter_context(mock.patch.object(scipy.optimize, "linear_sum_assignment", linear_sum_assignment))
        normaliser.cache_clear()  # it holds the steps
        stack.callback(normaliser.cache_clear)
        before = pa.default_memory_pool().total_bytes_allocated()
        yield work
        work.arrow_bytes = pa.default_memory_pool().total_bytes_allocated() - before


_REAL: dict[str, Callable[..., Any]] = {
    "_optimal": matching._optimal,
    "_prepare": prepare.prepare_texts,
    "total_of": matching.total_of,
    "cpdist": rapidfuzz.process.cpdist,
    "cdist": rapidfuzz.process.cdist,
    "linear_sum_assignment": scipy.optimize.linear_sum_assignment,
}


def calls_of(run: Callable[[], Any]) -> Counter[str]:
    """The calls of the package's own functions, by name: each is a frame that Python makes."""
    found: Counter[str] = Counter()

    def profile(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "call" and "anls_eval" in frame.f_code.co_filename and not frame.f_code.co_name.startswith("<"):
            found[frame.f_code.co_name] += 1

    run()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def modules() -> list[types.ModuleType]:
    """The modules of the package that are loaded."""
    return [module for name, module in sys.modules.items() if name.startswith("anls_eval.")]
