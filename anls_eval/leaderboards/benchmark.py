"""`Benchmark`: figures that a benchmark reports of many questions or documents, computed from counts that add up."""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import itertools
import json
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from anls_eval.errors import AnlsError, check_choice, short_repr
from anls_eval.extract.steps import check_extract, read_extract
from anls_eval.inputs.columns import check_same_length
from anls_eval.leaderboards.question import Question, plain_list
from anls_eval.rules.protocol import Rules, Threshold
from anls_eval.tree.nodes import check_sharing
from anls_eval.types import Extract

Counts = Mapping[Any, Any]
"""What adds up over questions: integers are summed, tuples of scores are joined in the order of the questions."""

_NESTED = (dict, list, tuple)

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
    count: Callable[[Question], Counts] = dataclasses.field(repr=False)
    figures_of: Callable[[Counts], Figures] = dataclasses.field(repr=False)
    headline: str  # the figure that is the score
    reports: str  # what the headline is: mean of questions, micro F1 over all documents, accuracy
    averages: bool = False  # the headline is the plain mean of the headlines of questions or documents
    unit: str = "document"
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
            return list(map(super().extracted, prediction))
        return super().extracted(prediction)

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
        question = Question(prediction, reference, self._checked_type(answer_type, ""), "", known)
        score = self.figures(self._counted(question))["score"]
        return (float("nan") if score is None else score), []

    def count_all(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        answer_types: Sequence[Any] | None,
        options: Mapping[str, object] | None = None,
        missing: Container[int] = (),
    ) -> Iterator[Counts]:
        """Yield the counts of n questions or documents, of which some are `missing` a prediction."""
        n = min(len(predictions), len(references)) if self.drops_unpaired else len(predictions)
        if not self.drops_unpaired:
            check_same_length(predictions, references, "references")
        known = self.checked_options(options)
        # A dict, such as a schema, holds for all questions.
        names = [name for name in self.question_options if not isinstance(known.get(name, {}), Mapping)]
        columns = {name: known.pop(name) for name in names}
        types = [None] * n if answer_types is None else answer_types
        for name, values in {**columns, "answer_types": types}.items():
            if isinstance(values, str) or len(values) != n:
                raise AnlsError(f"expected one value for each of the {n} predictions", option=name, value=values)
        for row in range(n):
            own = known | {name: values[row] for name, values in columns.items()} if columns else known
            where = f"s[{row}]"
            question = Question(predictions[row], references[row], self._checked_type(types[row], where), where, own)
            yield self._counted_as_missing(question) if row in missing else self._counted(question)

    def headline_of(self, counts: Counts) -> float:
        """Return the headline of one question or document, 0 where it has none."""
        try:
            return self.figures(counts)["score"] or 0.0
        except AnlsError:  # nothing to compute it of
            return 0.0

    def figures(self, counts: Counts) -> Figures:
        """Return the figures of summed counts; the headline is also ``score``."""
        found = self.figures_of(counts)
        return {"score": found[self.headline], **found}

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

    def _counted(self, question: Question) -> Counts:
        if self.unit == "question":  # documents are checked where they are read
            if isinstance(question.prediction, _NESTED):
                check_sharing(question.prediction, f"prediction{question.row}")
            if isinstance(question.reference, _NESTED):
                check_sharing(question.reference, f"reference{question.row}")
        try:
            return self.count(question)
        except RecursionError:
            raise AnlsError(f"prediction{question.row} or its reference is nested too deeply to be scored") from None

    def _counted_as_missing(self, question: Question) -> Counts:
        """Return the counts of a question without a prediction, with 0 for each score, even of an empty answer."""
        found = self._counted(question._replace(prediction=self.no_prediction))
        return {key: (0.0,) * len(own) if isinstance(own, tuple) else own for key, own in found.items()}

    def _checked_type(self, answer_type: Any, row: str) -> str:
        if answer_type is None and not self.answer_types:
            return ""
        if self.other_types and isinstance(answer_type, str):
            return answer_type
        if self.answer_types:
            return str(check_choice(f"answer_type{row}", answer_type, self.answer_types))
        problem = f"protocol {self.name!r} has no answer types; leave it out"
        raise AnlsError(problem, option=f"answer_type{row}", value=answer_type)

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


def _fingerprint(value: object) -> str:
    """Return the first 12 digits of the SHA-256 of the canonical JSON, for which the order of a set does not count."""
    text = json.dumps(plain_list(value), sort_keys=True, separators=(",", ":"), default=_sorted)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sorted(value: Any) -> list[Any]:
    return sorted(value) if isinstance(value, (set, frozenset)) else list(value.items())


def sum_counts(parts: Iterable[Counts]) -> Counts:
    """Return the sum of counts."""
    lists: dict[Any, list[float]] = collections.defaultdict(list)
    numbers: dict[Any, int] = {}
    for part in parts:
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
