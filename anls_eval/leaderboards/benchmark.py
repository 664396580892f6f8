"""`Benchmark`: figures that a benchmark reports of many questions or documents, computed from counts that add up."""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import itertools
import json
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anls_eval.errors import AnlsError, check_choice, short_repr
from anls_eval.extract.steps import check_extract, extracted, read_extract
from anls_eval.inputs.columns import check_same_length
from anls_eval.leaderboards.question import Question, plain_list, row_text
from anls_eval.rules.protocol import Rules, Threshold
from anls_eval.tree.nodes import PLAIN_SCALARS
from anls_eval.types import Extract

Counts = Mapping[Any, Any]
"""What adds up over questions: integers are summed, tuples of scores are joined in the order of the questions."""

Counted = float | Counts
"""What is counted of one question: its score alone, or more."""

_TIES = (
    "the figures can depend on which of several equally good assignments the solver chooses "
    "(scipy.optimize.linear_sum_assignment, as in the original code)"
)

Figures = dict[str, float | None]
"""The reported figures by name; None where the original reports none or NaN."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Benchmark(Rules):
    """The rules of one benchmark: what is counted of each question or document, and the figures of the sums."""

    name: str
    family: str  # heads its group in lists of protocols
    description: str
    count: Callable[[Question], Counted] = dataclasses.field(repr=False)
    figures_of: Callable[[Counts], Figures] = dataclasses.field(repr=False)
    headline: str  # the figure that is the score
    reports: str  # what the headline is: mean of questions, micro F1 over all documents, accuracy
    averages: bool = False  # the headline is the plain mean of the headlines of questions or documents
    unit: str = "document"
    # What is done first with a question whose sides are more than scalars and lists of them.
    read: Callable[[Question], None] | None = dataclasses.field(default=None, repr=False)
    extract: tuple[str, ...] = ()  # steps that take the answer out of each prediction
    has_repeats: bool = False  # a list of predictions holds several outputs for one question
    answer_types: tuple[str, ...] = ()
    other_types: bool = False  # questions of any other type are scored, too
    shared_options: tuple[str, ...] = ()
    question_options: tuple[str, ...] = ()  # a list has one value for each of n questions
    required_options: tuple[str, ...] = ()  # of shared ones, at least one
    drops_unpaired: bool = False  # as zip does: surplus predictions or references do not count
    reads_lists: bool = False
    # What is counted in place of a missing prediction, whose scores are then 0.
    no_prediction: Any = dataclasses.field(default=None, compare=False)
    depends_on_ties: bool = False  # the solver's choice between equally good assignments can change the figures
    source: str
    aliases: tuple[str, ...] = ()

    @property
    def aggregate(self) -> str:
        """The figure that is the score of a data set."""
        return self.headline

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that it takes."""
        return (*self.shared_options, *self.question_options)

    @property
    def ties(self) -> str:
        """What users are told if the figures depend on ties; else empty."""
        return _TIES if self.depends_on_ties else ""

    def __post_init__(self) -> None:
        check_extract(self.extract, of_trees=self.unit == "document")

    def with_extract(self, extract: Extract) -> Benchmark:
        """Return these rules with other steps that take the answer out; None keeps the steps, "none" removes them."""
        names = read_extract(extract)
        return self if names is None else dataclasses.replace(self, extract=names)

    def extracted(self, prediction: Any) -> Any:
        """Return the answer that `extract` takes out of a prediction, or out of each of several."""
        prediction = plain_list(prediction)
        if self.has_repeats and isinstance(prediction, (list, tuple)):
            return [extracted(own, self.extract) for own in prediction]
        return extracted(prediction, self.extract)

    def with_threshold(self, threshold: Threshold) -> Benchmark:
        """Refuse any threshold but None."""
        if threshold is not None:
            problem = f"protocol {self.name!r} has its own and takes none"
            raise AnlsError(problem, option="threshold", value=threshold)
        return self

    def signature_fields(self) -> dict[str, object]:
        """Return the fields of a signature that name the rules."""
        return {"protocol": self.name, **({"extract": "+".join(self.extract)} if self.extract else {})}

    def score_one(
        self, prediction: Any, reference: Any, answer_type: Any, options: Mapping[str, object] | None = None
    ) -> tuple[float, list[str]]:
        """Return the headline of one question or document, NaN where the original reports none, and no warnings."""
        known = self.checked_options(options)
        question = Question(prediction, reference, self._checked_type(answer_type, None), None, known)
        [counted] = _each_counted([question], self._counter([prediction], [reference]))
        score = self.figures(self.as_counts(counted))["score"]
        return (float("nan") if score is None else score), []

    def count_all(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        answer_types: Sequence[Any] | None,
        options: Mapping[str, object] | None = None,
        missing: Collection[int] = (),
    ) -> Iterator[Counted]:
        """Yield what is counted of n questions or documents, of which some are `missing` a prediction."""
        n = min(len(predictions), len(references)) if self.drops_unpaired else len(predictions)
        if not self.drops_unpaired:
            check_same_length(predictions, references, "references")
        known = self.checked_options(options)
        # A dict, such as a schema, holds for all questions.
        names = [name for name in self.question_options if not isinstance(known.get(name, {}), Mapping)]
        columns = {name: known.pop(name) for name in names}
        given = columns if answer_types is None else {**columns, "answer_types": answer_types}
        for name, values in given.items():
            if isinstance(values, str) or len(values) != n:
                raise AnlsError(f"expected one value for each of the {n} predictions", option=name, value=values)
        types: Iterable[str] = itertools.repeat("")
        if self.answer_types or answer_types is not None:
            types = map(self._checked_type, [None] * n if answer_types is None else answer_types, range(n))
        options_of: Iterable[dict[str, Any]] = itertools.repeat(known)
        if columns:
            options_of = (known | dict(zip(columns, own, strict=True)) for own in zip(*columns.values(), strict=True))
        # Lazily, so that the first question that is wrong is named.
        questions = map(Question, predictions, references, types, range(n), options_of)
        return _each_counted(questions, self._counter(predictions, references, missing))

    def headline_of(self, counted: Counted) -> float:
        """Return the headline of one question or document, 0 where it has none."""
        try:
            return self.figures(self.as_counts(counted))["score"] or 0.0
        except AnlsError:  # nothing to compute it of
            return 0.0

    def figures(self, counts: Counts) -> Figures:
        """Return the figures of summed counts; the headline is also ``score``."""
        found = self.figures_of(counts)
        return {"score": found[self.headline], **found}

    @staticmethod
    def as_counts(counted: Counted) -> Counts:
        """Return what is counted of one question as counts."""
        return {"scores": (counted,)} if isinstance(counted, float) else counted

    @staticmethod
    def read_counts(text: str) -> Counts:
        """Return counts from the JSON text of their items."""
        return {
            tuple(key) if isinstance(key, list) else key: tuple(value) if isinstance(value, list) else value
            for key, value in json.loads(text)
        }

    def figures_of_counted(self, counted: Mapping[str, int]) -> Figures:
        """Return the figures of documents by the JSON text of their counts, each so often."""
        parts = (itertools.repeat(self.read_counts(text), number) for text, number in counted.items())
        return self.figures(sum_counts(itertools.chain.from_iterable(parts)))

    def _counter(
        self, predictions: Sequence[Any], references: Sequence[Any], missing: Collection[int] = ()
    ) -> Callable[[Question], Counted]:
        """Return what counts a question of a batch, with the steps before it that some question of the batch needs."""
        count = self.count
        if self.read is not None and not (_are_flat(predictions) and _are_flat(references)):
            count = functools.partial(_read_and_count, self.read, count)
        return functools.partial(_count_unless, missing, self.no_prediction, count) if missing else count

    def _checked_type(self, answer_type: Any, number: int | None) -> str:
        if answer_type is None and not self.answer_types:
            return ""
        if self.other_types and isinstance(answer_type, str):
            return answer_type
        if self.answer_types:
            return str(check_choice(f"answer_type{row_text(number)}", answer_type, self.answer_types))
        problem = f"protocol {self.name!r} has no answer types; leave it out"
        raise AnlsError(problem, option=f"answer_type{row_text(number)}", value=answer_type)

    def checked_options(self, options: Mapping[str, object] | None) -> dict[str, Any]:
        """Return the options, if the benchmark has them."""
        if not options:
            return {}
        if not isinstance(options, Mapping):
            raise AnlsError("expected a dict of options by name", option="options", value=short_repr(options))
        known: dict[str, Any] = dict(options)
        names = self.options
        unknown = known.keys() - set(names)
        if unknown:
            takes = f"it takes {', '.join(map(repr, names))}" if names else "it takes none"
            raise AnlsError(f"protocol {self.name!r} has no option {min(unknown)!r}; {takes}", option="options")
        return known

    def recorded_options(self, options: Mapping[str, object] | None) -> str:
        """Return the names of the options, each that holds for all questions with 12 digits of its SHA-256."""
        return "+".join(
            f"{name}={_fingerprint(value)}" if name in self.shared_options or isinstance(value, Mapping) else name
            for name, value in sorted(self.checked_options(options).items())
        )


def _are_flat(values: Sequence[Any]) -> bool:
    """Return whether all values are plain scalars or lists of them, of which nothing needs to be checked or changed."""
    others = set(map(type, values)) - PLAIN_SCALARS
    if others != {list}:
        return not others
    lists = [value for value in values if type(value) is list]
    return PLAIN_SCALARS.issuperset(map(type, itertools.chain.from_iterable(lists)))


def _read_and_count(
    read: Callable[[Question], None], count: Callable[[Question], Counted], question: Question
) -> Counted:
    read(question)
    return count(question)


def _count_unless(
    missing: Collection[int], no_prediction: Any, count: Callable[[Question], Counted], question: Question
) -> Counted:
    """Return what is counted; of a missing prediction 0 for each score, even if the answer is empty."""
    if question.number not in missing:
        return count(question)
    found = count(question.with_prediction(no_prediction))
    if isinstance(found, float):
        return 0.0
    return {key: (0.0,) * len(own) if isinstance(own, tuple) else own for key, own in found.items()}


def _each_counted(questions: Iterable[Question], count: Callable[[Question], Counted]) -> Iterator[Counted]:
    """Yield what is counted of each question."""
    try:
        for question in questions:
            yield count(question)
    except RecursionError:
        raise AnlsError(f"prediction{question.row} or its reference is nested too deeply to be scored") from None


def _fingerprint(value: object) -> str:
    """Return the first 12 digits of the SHA-256 of the canonical JSON, for which the order of a set does not count."""
    text = json.dumps(plain_list(value), sort_keys=True, separators=(",", ":"), default=_sorted)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sorted(value: Any) -> list[Any]:
    return sorted(value) if isinstance(value, (set, frozenset)) else list(value.items())


def sum_counts(parts: Iterable[Counted]) -> Counts:
    """Return the sum of what is counted."""
    lists: dict[Any, list[float]] = collections.defaultdict(list)
    numbers: dict[Any, int] = {}
    for part in parts:
        if isinstance(part, float):
            lists["scores"].append(part)
            continue
        for key, value in part.items():
            if isinstance(value, tuple):
                lists[key] += value
            else:
                numbers[key] = numbers.get(key, 0) + value
    return {**numbers, **{key: tuple(values) for key, values in lists.items()}}


def plain_sum(scores: Iterable[float]) -> float:
    """Return the sum from left to right, as `sum` rounds it before Python 3.12."""
    return functools.reduce(operator.add, scores, 0.0)


def mean_figure(counts: Counts) -> Figures:
    """Return the mean of the scores; None without any."""
    scores = counts.get("scores", ())
    return {"mean": plain_sum(scores) / len(scores) if scores else None}


def harmonic(precision: float, recall: float) -> float:
    """Return 2PR / (P + R), or 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
