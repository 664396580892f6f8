"""Which number is right: all protocols side by side, and which of them gave a reported number."""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anls_eval.analysis.causes import (
    CLOSEST,
    COMMON_THRESHOLDS,
    MOST_HABITS,
    Cause,
    Diagnosis,
    conclusion_of,
    read_reported,
    reading_words,
    readings,
    worth_showing,
)
from anls_eval.analysis.side_by_side import (
    Disagreement,
    ProtocolComparison,
    check_names,
    has_documents,
    scores_documents,
)
from anls_eval.analysis.thresholds import deciding_ratios
from anls_eval.arrow import TEXT_LISTS, TEXTS, Floats, as_bools, as_ints, as_list, number_array, text_array
from anls_eval.extract.hints import MAY_HAVE_MARKS, STEPS_TO_TRY, changed_by_steps
from anls_eval.extract.steps import EXTRACT_WORDS
from anls_eval.inputs.columns import check_same_length, each_answers, each_prediction, read_column
from anls_eval.registry import get_rules, resolve_rules
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.rules.words import in_words
from anls_eval.statistics.tally import UNIT, exact_units
from anls_eval.text import formatting
from anls_eval.text.many_protocols import measure_by_protocols
from anls_eval.text.measure import BLOCK_ROWS, Block, Ints, Measured, read_blocks
from anls_eval.text.prepare import prepare_texts
from anls_eval.text.similarity import kept_similarity, reaches_threshold
from anls_eval.types import Texts

_STANDARD = PROTOCOLS["standard"]


def _mean(units: int, n: int) -> float:
    return units / UNIT / n


# All protocols side by side


def compare_protocols(
    predictions: Any, answers: Any, *, protocols: Iterable[str | Protocol] | None = None, most: int = 5
) -> ProtocolComparison:
    """Score the same predictions under several protocols, measuring each distance of texts once.

    Args:
        predictions: n texts, where None means that no answer was given, which scores 0; or n documents.
        answers: n lists of accepted answers, or n correct documents.
        protocols: Names, aliases or protocols for texts, or those for documents, benchmarks included. Defaults to all
            for texts in `PROTOCOLS`, or if a prediction is a dict or holds one in a list, to all for documents.
        most: Maximum number of disagreements to return.

    Raises:
        ValueError: As for `anls_scores` or `anls_star_scores`; there are no questions or no protocols; two protocols
            have the same name; one is for texts and one for documents; or `most` is negative.

    Example:
        >>> compared = compare_protocols(["ab", "Rome"], [["ac"], ["Rome"]], protocols=["standard", "paper"])
        >>> compared.means
        {'standard': 0.75, 'paper': 0.5}
        >>> compared.disagreements[0].scores
        {'standard': 0.5, 'paper': 0.0}
        >>> found = compare_protocols([{"total": "5.0"}], [{"total": "5.00"}], protocols=["anls_star", "donut_f1"])
        >>> found.means
        {'anls_star': 0.75, 'donut_f1': 0.0}
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise ValueError(f"most={most!r}: expected an integer of at least 0, the number of questions to return")
    named = None if protocols is None else list(protocols)
    if has_documents(predictions, answers) if named is None else any(map(scores_documents, map(get_rules, named))):
        from anls_eval.analysis.document_protocols import compare_documents  # which imports every benchmark

        return compare_documents(predictions, answers, named, most)
    rules = _named_protocols(named)
    return compare_rules(predictions, answers, rules, rules, most)


def compare_rules(
    predictions: Any, answers: Any, rules: Sequence[Protocol], disputing: Sequence[Protocol], most: int
) -> ProtocolComparison:
    """Compare protocols in one pass; only some of them, `disputing`, take part in disagreements."""
    predictions = read_column(predictions, "predictions", TEXTS)
    answers = read_column(answers, "answers", TEXT_LISTS)
    n, used = len(predictions), [*rules, _STANDARD]
    totals = [0] * len(used)
    disputed: list[tuple[float, int, list[float]]] = []  # minus the spread, the row and the scores
    for block in _read_questions(predictions, answers):
        for part in measure_by_protocols(block, used, scores_only=True):
            shared = {id(own): own.scores for own in part.closest}  # by protocols that agree
            units = {key: exact_units(scores) for key, scores in shared.items()}
            totals = [total + units[id(own)] for total, own in zip(totals, part.closest, strict=True)]
            columns = [own.scores for each, own in zip(rules, part.closest, strict=False) if each in disputing]
            different = list({id(own): own for own in columns}.values())
            spread = np.maximum.reduce(different) - np.minimum.reduce(different)
            for place in np.argsort(-spread, kind="stable")[:most].tolist():
                row = block.start + int(part.rows[place])
                disputed.append((-float(spread[place]), row, [float(own[place]) for own in columns]))
    *means, standard = (_mean(total, n) for total in totals)
    names = [own.name for own in rules if own in disputing]
    return ProtocolComparison(
        n=n,
        means={own.name: mean for own, mean in zip(rules, means, strict=True)},
        differences={own.name: mean - standard for own, mean in zip(rules, means, strict=True)},
        disagreements=tuple(
            _disagreement(predictions, answers, row, dict(zip(names, scores, strict=True)), -spread)
            for spread, row, scores in sorted(disputed)[:most]
            if spread
        ),
    )


def _disagreement(predictions: Any, answers: Any, row: int, scores: dict[str, float], spread: float) -> Disagreement:
    [prediction] = each_prediction(as_list(predictions[row : row + 1]), str)
    [options] = each_answers(as_list(answers[row : row + 1]), str)
    return Disagreement(row=row, prediction=prediction or "", answers=tuple(options), scores=scores, spread=spread)


def _read_questions(predictions: Any, answers: Any, question_ids: Sequence[Any] | None = None) -> Iterator[Block]:
    """Read at least one question, block by block."""
    left, right = read_column(predictions, "predictions", TEXTS), read_column(answers, "answers", TEXT_LISTS)
    check_same_length(left, right, "answers")
    if not len(left):
        raise ValueError("nothing to score: 0 predictions and 0 answers; expected at least one question")
    if question_ids is not None and len(question_ids) != len(left):
        raise ValueError(f"{len(question_ids)} question_ids but {len(left)} predictions; expected one id for each")
    return read_blocks(left, right, question_ids, 4 * BLOCK_ROWS)


def _named_protocols(protocols: Iterable[str | Protocol] | None) -> list[Protocol]:
    """Return the requested protocols for texts, all by default."""
    given = [own for own in PROTOCOLS.values() if not own.tree] if protocols is None else list(protocols)
    rules = [resolve_rules(own, None, of_trees=False) for own in given]
    with_steps = next((own.name for own in rules if own.extract), None)
    if with_steps is not None:
        raise ValueError(
            f"protocols: {with_steps!r} takes the answer out of each prediction; expected protocols that compare the "
            "same texts. Take the answers out first, and pass protocols without extract"
        )
    check_names(own.name for own in rules)
    return rules


# Which of them gave a number


# Fewer than `formatting.REFUSALS`: "none" and "n/a" are what some documents really say.
NOT_ANSWERABLE = (*sorted(formatting.NOT_ANSWERABLE), "")
"""Answers by which data sets mark a question without an answer, stripped, in lower case and without a final dot."""


def diagnose(
    predictions: Texts,
    answers: Texts,
    reported: float | str | Decimal,
    *,
    question_ids: Sequence[object] | None = None,
    decimals: int | None = None,
) -> Diagnosis:
    """Find how a reported score may have been computed from these predictions.

    It tries all protocols for texts, and up to three deviations at once: other common thresholds, exclusive or
    inclusive; only the first answer; questions without a prediction or without an answer left out; exact match;
    similarities counted as 0 or 1; a scale of 100; truncation. It also tries each step of `extract`, and chains of two,
    that changes a prediction, with every protocol.

    Of documents it tries all protocols and benchmarks for them, and up to two deviations at once: other thresholds;
    lists compared element by element; keys that only one side has left out; documents without a prediction left out;
    texts read as the documents that they print, or with the JSON taken out of them; only equal leaves, or only
    documents without a fault; other figures of a benchmark; a scale of 100; truncation.

    Args:
        predictions: n texts; None where a question has no prediction. Or n documents.
        answers: n lists of accepted answers, in the same order. Or n correct documents.
        reported: The number, from 0 to 1 or to 100. A string keeps trailing zeros: ``"0.760"``.
        question_ids: n ids, to name the questions in errors.
        decimals: Number of decimals that are known. Defaults to those written.

    Raises:
        ValueError: `reported` is not a number from 0 to 100, `decimals` is not an integer from 0 to 17, or as for
            `anls_scores`; the message names the row and the id.

    Example:
        >>> found = diagnose(["ab", "Rome "], [["ac"], ["Rome"]], "0.50")
        >>> found.causes[0].protocol, found.causes[0].value
        ('paper', 0.5)
        >>> found.causes[0].reason
        'It is 0.5000 if the protocol is paper: a similarity counts only above 0.5; exactly 0.5 gives 0.'
        >>> diagnose([{"total": "5.0"}], [{"total": "5.00"}], "0.80").causes[0].reason
        'It is 0.8000 if the protocol is donut_ted, mean of the documents.'
    """
    number, known = read_reported(reported, decimals)
    if has_documents(predictions, answers):
        from anls_eval.analysis.document_diagnosis import diagnose_documents  # which imports every benchmark

        return diagnose_documents(predictions, answers, number, known)
    tallied = _tally(predictions, answers, question_ids)
    candidates = [own for own in _candidates(tallied, number) if own.habits <= MOST_HABITS]
    shown, fits = worth_showing(candidates, _Candidate.read_as, number, known)
    groups = itertools.islice(_grouped(shown), None if fits else CLOSEST)
    causes = tuple(_cause(group, tallied, number, known, fits) for group in groups)
    plain = candidates[0]
    return Diagnosis(
        reported=number,
        decimals=known,
        n=plain.n,
        standard=plain.value / plain.way.scale,
        tried=len(candidates),
        fits=fits,
        causes=causes,
        conclusion=conclusion_of(causes, len(candidates), number, known),
    )


# What was measured, counted

_LEFT_OUT = {
    "missing": ("without a prediction", " instead of scoring 0"),
    "not answerable": ("that have no answer", ""),
}


class _Extracted(NamedTuple):
    changed: int  # the number of predictions
    gains: tuple[int, ...]  # for each protocol, what it adds to the sum of the scores, in units


class _Tallied(NamedTuple):
    questions: collections.Counter[tuple[bool, bool]]  # how many are (missing, answerable)
    # For each protocol: how many questions have each outcome, by "all" answers and by the "first".
    outcomes: list[tuple[Protocol, dict[str, collections.Counter[int]]]]
    extracted: dict[tuple[str, ...], _Extracted]  # by the steps, fewest first

    def n(self, left_out: tuple[str, ...]) -> int:
        return sum(
            count
            for (missing, answerable), count in self.questions.items()
            if not (missing and "missing" in left_out) and (answerable or "not answerable" not in left_out)
        )


def _tally(predictions: Any, answers: Any, question_ids: Sequence[object] | None) -> _Tallied:
    """Measure everything once, and keep only what can change a mean: how often each outcome occurs."""
    protocols = [own for own in PROTOCOLS.values() if not own.tree]
    unlimited = [dataclasses.replace(own, threshold=0, keep=">=") for own in protocols]
    counters: list[dict[str, collections.Counter[int]]] = [
        {"all": collections.Counter(), "first": collections.Counter()} for _ in protocols
    ]
    questions: collections.Counter[tuple[bool, bool]] = collections.Counter()
    extracted: dict[tuple[str, ...], list[_Extracted]] = {}
    for block in _read_questions(predictions, answers, question_ids):
        answerable, given = _answerable(block.options), as_bools(block.texts.is_valid())
        for names, gain in _extract_block(block, protocols).items():
            extracted.setdefault(names, []).append(gain)
        questions.update(zip((~given).tolist(), answerable.tolist(), strict=True))
        for part in measure_by_protocols(block, unlimited):
            own = answerable[part.rows]
            for kind, columns in ("all", part.closest), ("first", part.first):
                different = {
                    id(measured): (measured, rules) for measured, rules in zip(columns, unlimited, strict=True)
                }
                counts = {key: _count(measured, rules, own) for key, (measured, rules) in different.items()}
                for counter, measured in zip(counters, columns, strict=True):
                    counter[kind].update(counts[id(measured)])
    return _Tallied(questions, list(zip(protocols, counters, strict=True)), _different(extracted))


def _extract_block(block: Block, protocols: list[Protocol]) -> dict[tuple[str, ...], _Extracted]:
    """Return what each step, and each chain of two, changes in a block."""
    may_have_marks = pc.match_substring_regex(block.texts, MAY_HAVE_MARKS)
    rows = np.flatnonzero(as_bools(may_have_marks)).tolist()
    texts = block.texts.filter(may_have_marks).to_pylist()
    changes: dict[tuple[str, ...], dict[int, str]] = {names: {} for names in STEPS_TO_TRY}
    for row, text in zip(rows, texts, strict=True):
        for names, found in changed_by_steps(text).items():
            changes[names][row] = found
    before = dict(zip(rows, _block_scores(block, dict(zip(rows, texts, strict=True)), protocols), strict=True))
    known: list[tuple[dict[int, str], _Extracted]] = []  # chains whose second step changes nothing are alike
    gained: dict[tuple[str, ...], _Extracted] = {}
    for names, own in changes.items():
        same = next((gain for other, gain in known if other == own), None)
        if same is None:
            after = _block_scores(block, own, protocols)
            was = np.array([before[row] for row in own]).reshape(after.shape)
            pairs = zip(after.T, was.T, strict=True)
            same = _Extracted(len(own), tuple(exact_units(new) - exact_units(old) for new, old in pairs))
            known.append((own, same))
        gained[names] = same
    return gained


def _block_scores(block: Block, texts: dict[int, str], protocols: list[Protocol]) -> Floats:
    """Return the scores of some questions of a block with these predictions, of shape (questions, protocols)."""
    scores = np.zeros((len(texts), len(protocols)))
    if texts:
        options = block.options.take(number_array(np.array(list(texts))))
        own = block._replace(texts=text_array(list(texts.values())), options=options)
        for part in measure_by_protocols(own, protocols, scores_only=True):
            scores[part.rows] = np.transpose([measured.scores for measured in part.closest])
    return scores


def _different(extracted: dict[tuple[str, ...], list[_Extracted]]) -> dict[tuple[str, ...], _Extracted]:
    """Add up blocks, and keep the chains that change a prediction, each different from those with fewer steps."""
    found: dict[_Extracted, tuple[str, ...]] = {}
    for names, parts in extracted.items():
        changed = sum(own.changed for own in parts)
        gains = tuple(map(sum, zip(*(own.gains for own in parts), strict=True)))
        if changed:
            found.setdefault(_Extracted(changed, gains), names)
    return {names: own for own, names in found.items()}


def _answerable(options: pa.LargeListArray) -> npt.NDArray[np.bool_]:
    """Return which questions have an answer that does not say that there is none."""
    said = prepare_texts(options.flatten(), ("strip", "lower", "no-final-dot"), "compared").compared
    counts = as_ints(pc.list_value_length(options))
    answerable = ~as_bools(pc.is_in(said, value_set=text_array(NOT_ANSWERABLE)))
    return np.logical_or.reduceat(answerable, np.cumsum(counts) - counts)


_SIZE_BITS = 31  # of a distance and of a length


def _count(measured: Measured, rules: Protocol, answerable: npt.NDArray[np.bool_]) -> dict[int, int]:
    """Return how often each outcome occurs: distance, length and whether there is an answer, packed in an integer."""
    distances, lengths = deciding_ratios(measured, rules)
    packed = (distances << _SIZE_BITS | lengths) << 1 | answerable
    return dict(zip(*(own.tolist() for own in np.unique(packed, return_counts=True)), strict=True))


# What it can have become


class _Way(NamedTuple):
    """What can be done differently, whatever the protocol; the fields are those of `Cause`."""

    scoring: str
    answers: str
    left_out: tuple[str, ...]
    extract: tuple[str, ...]
    scale: int
    rounding: str


class _Candidate(NamedTuple):
    rules: Protocol
    limit: Protocol | None  # whose threshold is taken in place of the protocol's
    way: _Way
    habits: int
    n: int
    value: float

    def read_as(self) -> tuple[float, int, str, int]:
        return self.value, self.way.scale, self.way.rounding, self.habits


def _candidates(tallied: _Tallied, reported: float) -> Iterator[_Candidate]:
    """Yield every possible result, the plain ``standard`` first."""
    subsets = [own for own in _subsets(tallied) if tallied.n(own)]
    for number, (rules, counters) in enumerate(tallied.outcomes):
        for answers, counter in counters.items():
            outcomes, counts = (np.array(list(own), dtype=np.int64) for own in (counter, counter.values()))
            ratios = outcomes >> (_SIZE_BITS + 1), outcomes >> 1 & (2**_SIZE_BITS - 1)
            kinds = {own: (outcomes & 1).astype(bool) == own for own in (True, False)}  # answerable or not
            for limit, scoring, done in _scorings(rules):
                scores = _scores(*ratios, limit or rules, scoring)
                units = {own: exact_units(scores[kind], counts[kind]) for own, kind in kinds.items()}
                for left_out, (scale, rounding, read) in itertools.product(subsets, readings(reported)):
                    total = units[True] + (0 if "not answerable" in left_out else units[False])
                    n = tallied.n(left_out)
                    way = _Way(scoring, answers, left_out, (), scale, rounding)
                    habits = done + (answers == "first") + len(left_out) + read
                    yield _Candidate(rules, limit, way, habits, n, _mean(total, n) * scale)
                    if habits == read:
                        for names, own in tallied.extracted.items():
                            value = _mean(total + own.gains[number], n) * scale
                            yield _Candidate(rules, limit, way._replace(extract=names), read + len(names), n, value)


def _subsets(tallied: _Tallied) -> list[tuple[str, ...]]:
    """Return what can be left out: nothing, or questions of a kind that occurs."""
    everything = tallied.n(())
    kinds = [kind for kind in _LEFT_OUT if tallied.n((kind,)) < everything]
    return [own for size in range(len(kinds) + 1) for own in itertools.combinations(kinds, size)]


@functools.cache
def _limit(threshold: float, keep: str) -> Protocol:
    return dataclasses.replace(_STANDARD, threshold=threshold, keep=keep)


def _scorings(rules: Protocol) -> list[tuple[Protocol | None, str, int]]:
    """Return each limit and scoring that can be used with a protocol, and how many habits it takes."""
    found: list[tuple[Protocol | None, str, int]] = [(None, "similarity", 0), (_limit(1, ">="), "exact match", 1)]
    if rules.exact_threshold:
        found.append((None, "kept as 1", 1))
    for threshold, keep in itertools.product(COMMON_THRESHOLDS, (">=", ">")):
        limit = _limit(threshold, keep)
        other_threshold = limit.exact_threshold != rules.exact_threshold
        other_keep = keep != rules.keep and bool(threshold) and bool(rules.exact_threshold)
        if (other_threshold or other_keep) and (threshold or keep == ">="):  # a similarity of 0 adds nothing
            found.append((limit, "similarity", other_threshold + other_keep))
            if threshold:
                found.append((limit, "kept as 1", other_threshold + other_keep + 1))
    return found


def _scores(distances: Ints, lengths: Ints, limit: Protocol, scoring: str) -> Floats:
    if scoring == "similarity":
        scores: Floats = kept_similarity(distances, lengths, limit)
    else:
        scores = reaches_threshold(distances, lengths, limit).astype(np.float64)
    return scores


# What is said about it


def _grouped(candidates: Iterable[_Candidate]) -> Iterator[list[_Candidate]]:
    """Group protocols that give the same value in the same way; a habit that changes no value does not count."""
    fewest: dict[float, int] = {}
    groups: dict[tuple[float, Protocol | None, _Way], list[_Candidate]] = {}
    for own in candidates:
        if own.habits <= fewest.setdefault(own.value, own.habits):
            groups.setdefault((own.value, own.limit, own.way), []).append(own)
    yield from groups.values()


def _cause(group: list[_Candidate], tallied: _Tallied, reported: float, decimals: int, fits: bool) -> Cause:
    first, *others = group
    limit = first.limit or first.rules
    value = f"{first.value:.{min(decimals + 2, 15)}f}"
    return Cause(
        protocol=first.rules.name,
        also=tuple(own.rules.name for own in others),
        keep=limit.keep,
        threshold=cast(float, limit.threshold),  # or a fraction: a text is read when the rules are made
        **first.way._asdict(),
        n=first.n,
        value=first.value,
        difference=first.value - reported,
        fits=fits,
        habits=first.habits,
        reason=f"It is {value} if {'; '.join(_conditions(first, tallied, reported, decimals))}.",
    )


def _conditions(candidate: _Candidate, tallied: _Tallied, reported: float, decimals: int) -> Iterator[str]:
    """Yield what would have to be true, in words."""
    rules, limit, way = candidate.rules, candidate.limit, candidate.way
    standard = in_words(_STANDARD)
    special = [
        words
        for topic, words in in_words(rules).items()
        if words != standard.get(topic) and not (topic == "keep" and limit)
    ]
    yield ": ".join([f"the protocol is {rules.name}", *([", and ".join(special)] if special else [])])
    if way.extract:
        changed, n = tallied.extracted[way.extract].changed, tallied.n(())
        how = ", then ".join(EXTRACT_WORDS[name] for name in way.extract)
        yield f"extract {','.join(way.extract)} takes the answer out of {changed:,} of {n:,} predictions first: {how}"
    if way.scoring == "exact match":
        yield "only equal texts score, each 1: exact match reported as ANLS"
    elif limit:
        kind = "exclusive" if limit.keep == ">" else "inclusive"
        yield f"the threshold is {limit.threshold} ({kind}) instead of the protocol's"
    if way.scoring == "kept as 1":
        yield "every similarity that counts scores 1"
    if way.answers == "first":
        yield "only the first answer of each question is compared"
    everything = tallied.n(())
    for kind in way.left_out:
        which, instead = _LEFT_OUT[kind]
        yield f"the questions {which}, {everything - tallied.n((kind,))} of {everything}, are left out{instead}"
    yield from reading_words(way.scale, way.rounding, reported, decimals)
