"""Leaderboards whose rule needs more than two texts: an answer type, a list, a containment or a date.

The rules are those of the code that each leaderboard publishes, its faults included: a name means its exact numbers.
A question's rule either settles its score or leaves pairs of texts to compare; the pairs of a whole batch are compared
together. The similarity of texts is that of a protocol in `anls` wherever the two are the same.
"""

import ast
import dataclasses
import datetime
import difflib
import functools
import math
import numbers
import re
import string
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from dateutil.parser import parser, parserinfo
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from anls_eval.errors import check_choice, short_repr
from anls_eval.inputs.columns import check_same_length, read_column
from anls_eval.inputs.values import describe_value, is_missing_value, to_answers, to_text
from anls_eval.registry import get_protocol
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import STEPS
from anls_eval.rules.table import PROTOCOLS
from anls_eval.statistics.tally import Tally
from anls_eval.text.measure import score_columns
from anls_eval.tree.matching import assign

__all__ = [
    "LEADERBOARDS",
    "Leaderboard",
    "LeaderboardSummary",
    "get_leaderboard",
    "leaderboard_score",
    "leaderboard_scores",
    "leaderboard_summary",
]

_Floats = npt.NDArray[np.float64]

# ---------------------------------------------------------------------------------------------------
# A question, and what its rule finds
# ---------------------------------------------------------------------------------------------------


class _Question(NamedTuple):
    prediction: Any
    reference: Any
    answer_type: str
    row: str  # "s[3]" in a batch, else "": what follows "prediction" or "reference" in a message


class _Pairs(NamedTuple):
    """Texts to compare, each with the answer in the same place, and how their similarities make the score."""

    texts: list[str]
    answers: list[str]
    combine: Callable[[list[float]], float]

    def stripped(self) -> "_Pairs":
        strip = STEPS["collapse"]
        return self._replace(texts=list(map(strip, self.texts)), answers=list(map(strip, self.answers)))


_Outcome = float | _Pairs
_Rule = Callable[[_Question], _Outcome]
_Similarity = Callable[[list[str], list[str]], _Floats]


def _anls_similarity(texts: list[str], answers: list[str], protocol: Protocol) -> _Floats:
    return score_columns(texts, [[answer] for answer in answers], protocol).scores


def _indel_similarity(texts: list[str], answers: list[str]) -> _Floats:
    """1 - d / (sum of both lengths), d counting inserted and deleted characters; 0 below 0.5."""
    lengths = np.array([len(text) + len(answer) for text, answer in zip(texts, answers, strict=True)], dtype=np.int64)
    distances = cpdist(texts, answers, scorer=Indel.distance, dtype=np.int32).astype(np.int64)
    return np.where(2 * distances <= lengths, 1 - distances / np.maximum(lengths, 1), 0.0)


# ---------------------------------------------------------------------------------------------------
# Reading the two sides
# ---------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _prediction(question: _Question) -> str:
    return to_text(question.prediction, f"prediction{question.row}", "one string") or ""


def _accepted(question: _Question) -> list[str]:
    return to_answers(question.reference, f"reference{question.row}")


_LONGEST_LITERAL = 100_000  # characters; a longer text is never parsed


def _literal(text: str) -> Any:
    """The value of a Python literal, or a ValueError: anyone may have written the text, so it is never executed."""
    if len(text) > _LONGEST_LITERAL:
        raise ValueError(f"it has {len(text)} characters, over the limit of {_LONGEST_LITERAL}")
    with warnings.catch_warnings():  # of odd escapes in the text
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(text)
            repr(value)  # fails where an integer has too many digits to be written
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(str(error) or type(error).__name__) from None
    return value


def _items(value: Any, where: str, unreadable: Callable[[str, str], list[Any]]) -> list[Any]:
    """The items of a list, or of its Python text; any other text is a list of one.

    What begins as the text of a list but cannot be parsed goes to `unreadable`, with the reason.
    """
    value = _plain(value)
    if isinstance(value, (list, tuple)):
        _refuse_unwritable(value, where)
        return list(value)
    text = to_text(value, where, "a list or one string")
    if text is None:
        raise ValueError(f"{where} is {value!r}; expected a list or one string. Write [] for an empty list.")
    if not text.startswith("["):
        return [text]
    try:
        parsed = _literal(text)
    except ValueError as error:
        return unreadable(text, str(error))
    return parsed if isinstance(parsed, list) else [parsed]


def _refuse_unwritable(value: Any, where: str) -> None:
    """Raise a ValueError for a list whose items cannot be taken as texts."""
    try:
        repr(value)
    except (RecursionError, ValueError):
        raise ValueError(
            f"{where} is a list that is nested too deeply, or holds an integer of too many digits, to be taken as "
            "texts; expected a list of texts."
        ) from None


def _reference_items(question: _Question) -> list[Any]:
    where = f"reference{question.row}"

    def refuse(text: str, reason: str) -> list[Any]:
        raise ValueError(
            f"{where} is {describe_value(text)}, which cannot be read as a list ({reason}); "
            "expected a list, or its text such as \"['White', '10%']\". Mend the text."
        )

    return _items(question.reference, where, refuse)


def _prediction_items(question: _Question) -> list[Any]:
    """As above; a prediction that cannot be read is one item."""
    return _items(question.prediction, f"prediction{question.row}", lambda text, _: [text])


def _item_texts(items: list[Any], where: str) -> list[str]:
    texts = [to_text(item, f"{where}[{index}]", "a string") for index, item in enumerate(items)]
    if None in texts:
        raise ValueError(f"{where}[{texts.index(None)}] is {items[texts.index(None)]!r}; expected a string. Remove it.")
    return [text for text in texts if text is not None]


# ---------------------------------------------------------------------------------------------------
# DUDE
# ---------------------------------------------------------------------------------------------------


def _dude_text(question: _Question) -> _Outcome:
    """The greatest `rrc` similarity. Of a list of predictions the first counts, and an empty one is ""."""
    first = _plain(question.prediction)
    if isinstance(first, (list, tuple)):
        first = first[0] if len(first) else ""
    text = _prediction(question._replace(prediction=first))
    answers = _accepted(question)
    return _Pairs([text] * len(answers), answers, max)


def _dude_not_answerable(question: _Question) -> _Outcome:
    """As text against the answer "", which files write as [""] or []: an empty prediction is right."""
    reference = _plain(question.reference)
    is_empty = is_missing_value(reference) or (isinstance(reference, (list, tuple)) and not reference)
    return _dude_text(question._replace(reference=[""]) if is_empty else question)


def _dude_list(question: _Question) -> _Outcome:
    """The best sum of `rrc` similarities one to one, divided by the greater of distinct answers and predictions."""
    # Sorted, because of assignments that are equally good the one found depends on the order.
    answers = sorted(_item_texts(_reference_items(question), f"reference{question.row}"))
    predictions = sorted(_item_texts(_prediction_items(question), f"prediction{question.row}"))
    length = max(len(set(answers)), len(predictions))
    if not length:
        return 1.0
    texts, others = zip(*product(predictions, answers), strict=True) if predictions and answers else ((), ())
    shape = len(predictions), len(answers)
    return _Pairs(list(texts), list(others), functools.partial(_best_sum, shape=shape, length=length))


def _best_sum(similarities: list[float], shape: tuple[int, int], length: int) -> float:
    matrix = np.reshape(similarities, shape)
    return math.fsum(matrix[assign(matrix)]) / length


# ---------------------------------------------------------------------------------------------------
# MMLongBench-Doc, and what MMESGBench took from it
# ---------------------------------------------------------------------------------------------------


def _clean(value: Any) -> str:
    """Lower case, without parentheses, one quote at each end, leading "$" and trailing "%"."""
    text = _without_parentheses(str(value).lower().strip()).strip()
    text = re.sub(r"\A['\"]|['\"]\Z", "", text).strip()
    return text.lstrip("$").rstrip("%").strip()


def _without_parentheses(text: str) -> str:
    """Drop each "(" up to the next ")", with the blanks before it."""
    kept, start = [], 0
    while (opening := text.find("(", start)) >= 0 and (closing := text.find(")", opening)) >= 0:
        kept.append(text[start:opening].rstrip())
        start = closing + 1
    return "".join([*kept, text[start:]])


_EXACT = re.compile(
    r"\d+([-\s]\d+)?"  # numbers, telephone numbers, YYYY-MM
    r"|\d{4}[-\s]\d\d[-\s]\d\d"
    r"|[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}"
)


def _must_be_equal(answer: str) -> bool:
    """Whether a cleaned answer is an address, file name, page, time, number or date, where a near miss is a miss."""
    parts = "https://", "a.m.", "p.m."
    return (
        any(part in answer for part in parts)
        or answer.startswith("page")
        or answer.endswith((".py", "ipynb"))
        or bool(_EXACT.fullmatch(answer))
    )


def _int(question: _Question) -> float:
    """Equal integers, the prediction cut to one. No prediction equals an answer that is not an integer.

    But the original compares such an answer with "", so that to an empty answer every prediction is right.
    """
    wholes = [_whole(answer) for answer in _whole_answers(question)]
    try:
        predicted = int(float(_prediction(question)))
    except (ValueError, OverflowError):
        return float("" in wholes)
    return float(predicted in wholes or "" in wholes)


def _whole_answers(question: _Question) -> list[Any]:
    """The accepted answers of an integer question; a number stays one, so that 5.0 is 5."""
    answers = _accepted(question)
    return [question.reference] if isinstance(question.reference, numbers.Real) else answers


def _whole(answer: Any) -> Any:
    try:
        return int(answer)
    except (ValueError, OverflowError):
        return answer


def _float(question: _Question) -> float:
    """A number within 1 %, or equal when rounded, to the answer, its hundredth or its hundredfold."""
    answers = _accepted(question)
    wanted = [_number(_clean(answer)) for answer in answers]
    if None in wanted:
        raise ValueError(
            f"reference{question.row} is {answers[wanted.index(None)]!r}; expected a number such as '1234.5' or '12%' "
            "for the answer type Float. Write it so, or give another answer type."
        )
    predicted = _number(_clean(_prediction(question)))
    return float(predicted is not None and any(_is_near(predicted, number) for number in wanted if number is not None))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_near(predicted: float, answer: float) -> bool:
    for wanted in (answer / 100, answer, answer * 100):
        digits = max(2, min(_decimals(predicted), _decimals(wanted)))
        near = math.isclose(predicted, wanted, rel_tol=0.01)
        if near or round(predicted, digits) == round(wanted, digits):
            return True
    return False


def _decimals(number: float) -> int:
    _, point, decimals = str(number).rpartition(".")
    return len(decimals) if point else 3


def _mmlongbench_text(question: _Question) -> _Outcome:
    """Equality where it is asked for, else the `longdocurl` similarity of cleaned texts."""
    text = _clean(_prediction(question))
    answers = [_clean(answer) for answer in _accepted(question)]
    free = [answer for answer in answers if not _must_be_equal(answer)]
    if text in answers or not free:
        return float(text in answers)
    return _Pairs([text] * len(free), free, max)


def _mmlongbench_list(question: _Question) -> _Outcome:
    """Lists of equal length, sorted: the least similarity; or equality, if the first answer asks for it."""
    answers = sorted(map(_clean, _reference_items(question)))
    texts = sorted(map(_clean, _prediction_items(question)))
    if len(answers) != len(texts) or not answers:
        return float(not answers and not texts)
    if _number(answers[0]) is not None or _must_be_equal(answers[0]):
        return float("-".join(answers) == "-".join(texts))
    return _Pairs(texts, answers, min)


# ---------------------------------------------------------------------------------------------------
# MMESGBench
# ---------------------------------------------------------------------------------------------------


def _joined(text: str) -> str:
    """Cleaned; the text of a list of strings becomes these, with a blank between."""
    if text.startswith("[") and text.endswith("]"):
        try:
            items = _literal(text)
        except ValueError:
            items = None
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            text = " ".join(items)
    return _clean(text)


def _mmesgbench_text(question: _Question, compare: Callable[[str, list[str]], _Outcome]) -> _Outcome:
    """An answer contained in the prediction is right; otherwise those are compared that need not be equal."""
    text = _joined(_prediction(question))
    answers = [_joined(answer) for answer in _accepted(question)]
    if any(answer in text for answer in answers):
        return 1.0
    return compare(text, [answer for answer in answers if not _must_be_equal(answer)])


def _against_characters(text: str, answers: list[str]) -> float:
    """The Indel ratio to each single character of the answers, kept at 0.5.

    A text of n characters that shares one with an answer is n - 1 deletions from it, of n + 1 characters in all.
    """
    shared = bool(text) and not set(text).isdisjoint(chain.from_iterable(answers))
    return 1 - (len(text) - 1) / (len(text) + 1) if shared and len(text) <= 3 else 0.0


def _against_answers(text: str, answers: list[str]) -> _Outcome:
    return _Pairs([text] * len(answers), answers, max) if answers else 0.0


def _mmesgbench_none(question: _Question) -> float:
    """Equality of cleaned texts."""
    text = _joined(_prediction(question))
    return float(any(_joined(answer) == text for answer in _accepted(question)))


def _mmesgbench_list(question: _Question) -> float:
    """The share of answers that find an item of their own among the predictions; 0 for lists of unequal length."""
    answers = list(map(_clean, _reference_items(question)))
    where = f"prediction{question.row}"
    texts = list(map(_clean, _items(question.prediction, where, lambda text, _: _repaired(text))))
    if len(answers) != len(texts) or not answers:
        return 0.0
    found = 0
    for answer in answers:
        match = next((index for index, text in enumerate(texts) if _is_alike(answer, text)), None)
        if match is not None:
            del texts[match]
            found += 1
    return found / len(answers)


def _repaired(text: str) -> list[Any]:
    """A list with its missing bracket and with apostrophes inside words escaped; if that fails, [None].

    The original writes None as text, so that it matches an answer "none".
    """
    text = text.strip()
    text = text if text.endswith("]") else f"{text}]"
    try:
        parsed = _literal(re.sub(r"(?<=\w)'(?=\w)", r"\\'", text))
    except ValueError:
        return [None]
    return parsed if isinstance(parsed, list) else [parsed]


def _is_alike(answer: str, text: str) -> bool:
    """The ratio of difflib is over 0.8; of it the first two are upper bounds that cost little.

    It is not symmetric, and from 200 characters on it ignores frequent ones: no distance can stand in for it.
    """
    matcher = difflib.SequenceMatcher(None, answer, text)
    return matcher.real_quick_ratio() > 0.8 and matcher.quick_ratio() > 0.8 and matcher.ratio() > 0.8


# ---------------------------------------------------------------------------------------------------
# OCRBench v2
# ---------------------------------------------------------------------------------------------------


def _ocrbench(question: _Question) -> _Outcome:
    """An answer of fewer than five words must be contained in the prediction; a longer one is compared."""
    text = _one_line(_prediction(question))
    answers = list(map(_one_line, _accepted(question)))
    long = [answer for answer in answers if len(answer.split()) >= 5]
    if any(answer in text for answer in answers if answer not in long):
        return 1.0
    return _Pairs([text] * len(long), long, max) if long else 0.0


def _ocrbench_lmms(question: _Question) -> _Outcome:
    """As above for a list of answers; of a single string only a short one is compared, and a long one gives 0."""
    if not isinstance(question.reference, str):
        return _ocrbench(question)
    text, answer = _one_line(_prediction(question)), _one_line(question.reference)
    if len(answer.split()) >= 5:
        return 0.0
    return 1.0 if answer in text else _Pairs([text], [answer], max)


def _one_line(text: str) -> str:
    return text.lower().strip().replace("\n", " ")


# ---------------------------------------------------------------------------------------------------
# ICDAR 2026 DocVQA
# ---------------------------------------------------------------------------------------------------


class _Years(parserinfo):  # type: ignore[misc]
    """Two digits mean a year from 1976 to 2075, as in 2026; dateutil would go by today's clock."""

    def convertyear(self, year: int, century_specified: bool = False) -> int:
        return year if year >= 100 or century_specified else 1976 + (year - 1976) % 100


_DATES = parser(_Years())
# dateutil takes from today what a date does not say. Dates are the same only if they are so on any day: on these two.
_ANY_DAYS = datetime.datetime(2026, 1, 1), datetime.datetime(2024, 12, 31)


def _icdar(question: _Question) -> _Outcome:
    """Right if equal as number with unit, version or date; else, if no answer is a number, if similar by 0.9."""
    text = _prediction(question).rpartition("FINAL ANSWER:")[2].strip()
    answers = _icdar_answers(question)
    if any(_is_same_value(text, answer) for answer in answers):
        return 1.0
    if any(_quantity(answer) for answer in answers):
        return 0.0
    cleaned = _without_articles(text)
    return _Pairs([cleaned] * len(answers), list(map(_without_articles, answers)), _is_any_kept)


def _is_any_kept(similarities: list[float]) -> float:
    return float(any(similarities))


def _icdar_answers(question: _Question) -> list[str]:
    """The accepted answers; a single text may be that of a list."""
    reference = question.reference
    if isinstance(reference, str):
        try:
            parsed = _literal(reference)
        except ValueError:
            parsed = None
        if isinstance(parsed, list):
            reference = list(map(str, parsed))
    return _accepted(question._replace(reference=reference))


def _is_same_value(text: str, answer: str) -> bool:
    left, right = _quantity(text), _quantity(answer)
    if left and right and left[0] == right[0]:
        return left[1] == right[1]
    text, answer = text.strip(), answer.strip()
    if any(re.fullmatch(r"\d+\.\d+\.\d+", side) for side in (text, answer)):
        return text == answer
    return min(len(text), len(answer)) >= 6 and _is_same_date(text, answer)


def _quantity(text: str) -> tuple[float, str] | None:
    """The number that a text begins with, and the rest of the line as its unit."""
    text = text.lower().strip()
    number = re.match(r"(-?\d+(?:\.\d+)?)\s*", text)
    if not number or "\n" in text[number.end() :]:
        return None
    return float(number[1]), text[number.end() :]


def _is_same_date(text: str, answer: str) -> bool:
    try:
        return all(
            _DATES.parse(text, default=day, ignoretz=True).date()
            == _DATES.parse(answer, default=day, ignoretz=True).date()
            for day in _ANY_DAYS
        )
    except (ValueError, TypeError, ArithmeticError):  # not a date
        return False


_BLANK_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


def _without_articles(text: str) -> str:
    return " ".join(re.sub(r"\b(an?|the)\b", " ", text.lower().translate(_BLANK_PUNCTUATION)).split())


# ---------------------------------------------------------------------------------------------------
# The leaderboards
# ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """What one leaderboard computes.

    Args:
        name: As it is given for `protocol`.
        description: The rule in a few sentences.
        rules: A rule for each answer type; one under ``""`` where there are no types.
        similarity: How the pairs of texts that a rule leaves over are compared.
        reports: The figures that the leaderboard gives for a submission: ``mean``, ``accuracy``, ``f1``.
        correct_from: The least score that counts as correct for the accuracy; None where that is the mean.
        source: Where the rule comes from, and where ours gives a value and the original fails.
        aliases: Other names that `get_leaderboard` takes.
    """

    name: str
    description: str
    rules: Mapping[str, _Rule] = dataclasses.field(repr=False)
    similarity: _Similarity = dataclasses.field(repr=False)
    reports: tuple[str, ...] = ("mean",)
    correct_from: float | None = None
    source: str
    aliases: tuple[str, ...] = ()

    @property
    def answer_types(self) -> tuple[str, ...]:
        """The answer types that it knows; none where it needs none."""
        return tuple(filter(None, self.rules))


def _by(protocol: Protocol) -> _Similarity:
    return functools.partial(_anls_similarity, protocol=protocol)


_MMESGBENCH: Mapping[str, _Rule] = {"Int": _int, "Float": _float, "None": _mmesgbench_none, "List": _mmesgbench_list}

LEADERBOARDS: Mapping[str, Leaderboard] = types.MappingProxyType({row.name: row for row in (
    Leaderboard(
        name="dude",
        description="Texts as `rrc`. List answers: the best sum of one-to-one `rrc` similarities, divided by the "
        "greater of the number of distinct answers and the number of predictions. Not answerable: an empty prediction "
        "is right. Of several predictions to another type, the first counts.",
        rules={
            "extractive": _dude_text,
            "abstractive": _dude_text,
            "list/extractive": _dude_list,
            "list/abstractive": _dude_list,
            "not-answerable": _dude_not_answerable,
        },
        similarity=_by(get_protocol("rrc")),
        source="Jordy-VL/DUDEeval, evaluate_submission.py. The original gives NaN for two empty lists; here they give "
        "1. It divides by the untouched strings, so blanks around a wrong answer raise its score.",
    ),
    Leaderboard(
        name="mmlongbench",
        description="Texts are cleaned: lower case, no parentheses, outer quotes, leading $ or trailing %. Int: equal. "
        "Float: within 1 % of the answer, its hundredth or its hundredfold, or equal when rounded. Str and None: equal "
        "if the answer is a web address, file name, page, number, date, time or e-mail; otherwise `longdocurl`. List: "
        "0 unless of equal length, then the least similarity of the sorted items; equal, if the first must be.",
        rules={
            "Str": _mmlongbench_text,
            "Int": _int,
            "Float": _float,
            "List": _mmlongbench_list,
            "None": _mmlongbench_text,
        },
        similarity=_by(get_protocol("longdocurl")),
        reports=("mean", "accuracy", "f1"),
        source="mayubo2333/MMLongBench-Doc, eval/eval_score.py. The original fails on two empty lists, which give 1 "
        "here, and on a predicted list that cannot be parsed, which is one text here.",
        aliases=("mmlongbench_doc",),
    ),
    Leaderboard(
        name="mmesgbench",
        description="Int and Float as `mmlongbench`. Str: 1 if the answer is contained in the prediction; otherwise 0 "
        "if it is of those that must be equal, else the Indel ratio to each single character of the answer, a fault "
        "that the published numbers contain. None: equal. List: 0 unless of equal length, then the share of answers "
        "that find an item with a difflib ratio over 0.8.",
        rules={"Str": functools.partial(_mmesgbench_text, compare=_against_characters), **_MMESGBENCH},
        similarity=_indel_similarity,
        reports=("mean", "accuracy", "f1"),
        correct_from=0.5,
        source="Zhanglei1103/MMESGBench, src/eval/eval_score.py. The original prints the mean as its accuracy; the "
        "accuracy here is the share of scores of at least 0.5. A predicted list that cannot be parsed counts as the "
        'item "none"; the original does so too, or fails.',
    ),
    Leaderboard(
        name="mmesgbench_documented",
        description="As `mmesgbench`, with the Indel ratio to the whole answer, kept at 0.5.",
        rules={"Str": functools.partial(_mmesgbench_text, compare=_against_answers), **_MMESGBENCH},
        similarity=_indel_similarity,
        reports=("mean", "accuracy", "f1"),
        correct_from=0.5,
        source="MMESGBench as it is described; its code, and so its published numbers, follow `mmesgbench`.",
    ),
    Leaderboard(
        name="ocrbench_v2",
        description="An answer of fewer than five words: 1 if it is contained in the prediction, else 0. A longer "
        "answer: the similarity as `stvqa`, kept at 0.5. The best over the answers.",
        rules={"": _ocrbench},
        similarity=_by(get_protocol("stvqa")),
        source="Yuliang-Liu/MultimodalOCR, OCRBench_v2/eval_scripts/vqa_metric.py, vqa_evaluation.",
    ),
    Leaderboard(
        name="ocrbench_v2_lmms",
        description="As `ocrbench_v2` for a list of answers. For one string the similarity counts only if it is short "
        "and not contained, and a string of five words and more gives 0.",
        rules={"": _ocrbench_lmms},
        similarity=_by(get_protocol("stvqa")),
        source="EvolvingLMMs-Lab/lmms-eval, tasks/ocrbench_v2/vqa_metric.py, vqa_evaluation.",
    ),
    Leaderboard(
        name="icdar2026",
        description="Right or wrong. What follows the last FINAL ANSWER: is compared: equal as number with unit, as "
        "version or as date; if no answer begins with a number, also by a similarity of at least 0.9 without case, "
        "punctuation and articles.",
        rules={"": _icdar},
        similarity=_by(
            dataclasses.replace(get_protocol("due_cased"), name="icdar2026", keep=">=", threshold=0.9)
        ),
        reports=("mean", "accuracy"),
        source="Sahilsonii/ICDAR-2026-DocVQA, DocVQA2026_official/eval_utils.py. The original gives 0 to an output "
        "without FINAL ANSWER:; here the whole prediction is then the answer. It completes a date from today's; here "
        "dates are equal if they are so on any day.",
    ),
)})  # fmt: skip
"""Every leaderboard by its name. `get_leaderboard` also takes the aliases."""

_ALIASES = {alias: name for name, board in LEADERBOARDS.items() for alias in board.aliases}
_PROTOCOLS_ON_TEXTS_OR_TREES = {
    name: protocol for protocol in PROTOCOLS.values() for name in (protocol.name, *protocol.aliases)
}


def get_leaderboard(protocol: str) -> Leaderboard:
    """Give the leaderboard of a name or alias.

    Args:
        protocol: A name in `LEADERBOARDS` or an alias of one, in small or capital letters.

    Returns:
        Its rules.

    Raises:
        ValueError: The name is not known, or is that of a protocol on texts or trees, which are in `anls`.

    Example:
        >>> get_leaderboard("MMLongBench-Doc").answer_types
        ('Str', 'Int', 'Float', 'List', 'None')
    """
    name = re.sub(r"[\s-]", "_", protocol.lower()) if isinstance(protocol, str) else ""
    elsewhere = protocol if isinstance(protocol, Protocol) else _PROTOCOLS_ON_TEXTS_OR_TREES.get(name)
    if elsewhere is not None:
        kinds, function = ("trees", "anls_star_score") if elsewhere.tree else ("texts alone", "anls_score")
        raise ValueError(f"protocol {elsewhere.name!r} scores {kinds}: use anls.{function}")
    choices = (*LEADERBOARDS, *_ALIASES)
    name = check_choice("protocol", name if name in choices else protocol, choices)
    return LEADERBOARDS[_ALIASES.get(name, name)]


# ---------------------------------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------------------------------


def leaderboard_score(prediction: Any, reference: Any, *, protocol: str, answer_type: str | None = None) -> float:
    """Score one prediction as a leaderboard does.

    Args:
        prediction: The predicted text; for a list type a list, or its Python text. A number is taken as its `str`;
            None and NaN are no answer, which scores 0 with a warning, and is right where ``dude`` has no answer.
        reference: The answer or a list of accepted answers; for a list type the one list, or its Python text.
        protocol: A name or alias in `LEADERBOARDS`.
        answer_type: One of the leaderboard's `answer_types`; none for a leaderboard without.

    Returns:
        The score, from 0 to 1.

    Raises:
        ValueError: An unknown protocol or answer type, a prediction of another kind, or a reference that cannot be
            read for its type.

    Example:
        >>> leaderboard_score("America", "North America", protocol="mmlongbench", answer_type="Str")
        0.5384615384615384
        >>> leaderboard_score("['10 %', 'white']", "['White', '10%']", protocol="mmlongbench", answer_type="List")
        1.0

    Source: the code named in `LEADERBOARDS`.
    """
    score, notes = noted_score(prediction, reference, protocol, answer_type)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return score


def noted_score(prediction: Any, reference: Any, protocol: str, answer_type: str | None) -> tuple[float, list[str]]:
    """What `leaderboard_score` gives, and what it warns of, which threads share otherwise."""
    board = get_leaderboard(protocol)
    scores, notes = _scored([_Question(prediction, reference, _answer_type(answer_type, board, ""), "")], board)
    return scores[0], notes


def leaderboard_scores(predictions: Any, references: Any, *, protocol: str, answer_types: Any = None) -> _Floats:
    """Score n predictions as a leaderboard does; the texts of all are compared together.

    Args:
        predictions: n predictions, each as `leaderboard_score` takes one.
        references: n references, likewise.
        protocol: A name or alias in `LEADERBOARDS`.
        answer_types: n answer types; none for a leaderboard without.

    Returns:
        A float64 array of shape (n,) with values from 0 to 1.

    Raises:
        ValueError: What `leaderboard_score` refuses, with the row; columns of different length.

    Example:
        >>> leaderboard_scores(["5", "0.1 %"], ["6", "0.1"], protocol="mmlongbench", answer_types=["Int", "Float"])
        array([0., 1.])

    Source: as `leaderboard_score`.
    """
    scores, notes = noted_scores(predictions, references, protocol, answer_types)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return scores


def noted_scores(predictions: Any, references: Any, protocol: str, answer_types: Any) -> tuple[_Floats, list[str]]:
    """What `leaderboard_scores` gives, and what it warns of."""
    board = get_leaderboard(protocol)
    left, right = read_column(predictions, "predictions"), read_column(references, "references")
    check_same_length(left, right, "references")
    given = [None] * len(left) if answer_types is None else read_column(answer_types, "answer_types")
    if len(given) != len(left):
        raise ValueError(f"{len(left)} predictions but {len(given)} answer_types; expected one for each prediction")
    questions = [
        _Question(prediction, reference, _answer_type(answer_type, board, f"s[{row}]"), f"s[{row}]")
        for row, (prediction, reference, answer_type) in enumerate(zip(left, right, given, strict=True))
    ]
    scores, notes = _scored(questions, board)
    return np.array(scores, dtype=np.float64), notes


def _answer_type(answer_type: Any, board: Leaderboard, row: str) -> str:
    name = f"answer_type{row}"
    if not board.answer_types:
        if answer_type is not None:
            raise ValueError(
                f"{name}={short_repr(answer_type)}: protocol {board.name!r} has no answer types; leave it out"
            )
        return ""
    known = answer_type.replace(" ", "-") if isinstance(answer_type, str) else ""
    return known if known in board.rules else str(check_choice(name, answer_type, board.answer_types))


def _scored(questions: list[_Question], board: Leaderboard) -> tuple[list[float], list[str]]:
    """The scores, and what the user must be told about them."""
    outcomes = [_outcome(question, board) for question in questions]
    scores = _resolved(outcomes, board.similarity)
    unanswered = [row for row, question in enumerate(questions) if is_missing_value(question.prediction)]
    return scores, [
        *_unanswered_note(unanswered, questions),
        *_whole_note(questions),
        *_padding_note(outcomes, scores, board),
    ]


def _outcome(question: _Question, board: Leaderboard) -> _Outcome:
    rule = board.rules[question.answer_type]
    if not is_missing_value(question.prediction):
        return rule(question)
    empty = rule(question._replace(prediction=""))  # also refuses a reference that cannot be read
    return empty if question.answer_type == "not-answerable" else 0.0


def _resolved(outcomes: list[_Outcome], similarity: _Similarity) -> list[float]:
    """Compare the pairs of all questions at once, and give each question its own back."""
    pairs = [outcome for outcome in outcomes if isinstance(outcome, _Pairs)]
    texts = list(chain.from_iterable(own.texts for own in pairs))
    found = iter(similarity(texts, list(chain.from_iterable(own.answers for own in pairs))).tolist())
    return [
        outcome.combine(list(islice(found, len(outcome.texts)))) if isinstance(outcome, _Pairs) else outcome
        for outcome in outcomes
    ]


_NAMED_ROWS = 5


def _rows(rows: list[int], questions: list[_Question]) -> str:
    """How many of how many, and which: "2 of 9 (row 3, 7)"."""
    first = ", ".join(map(str, rows[:_NAMED_ROWS]))
    more = ", ..." if len(rows) > _NAMED_ROWS else ""
    return f"{len(rows)} of {len(questions)} (row {first}{more})"


def _unanswered_note(rows: list[int], questions: list[_Question]) -> list[str]:
    if not rows:
        return []
    return [f"predictions that are None or NaN: {_rows(rows, questions)}. Taken as no answer given, which scores 0"]


def _whole_note(questions: list[_Question]) -> list[str]:
    rows = [
        row
        for row, question in enumerate(questions)
        if question.answer_type == "Int" and any(isinstance(_whole(own), str) for own in _whole_answers(question))
    ]
    if not rows:
        return []
    return [
        f"answers of type Int that are not integers: {_rows(rows, questions)}. The original counts every prediction "
        "as wrong there, or as right if the answer is empty, and so does this score"
    ]


def _padding_note(outcomes: list[_Outcome], scores: list[float], board: Leaderboard) -> list[str]:
    """Blanks around texts raise a similarity that is divided by raw lengths; other rules have stripped them."""
    pairs = [(row, own, own.stripped()) for row, own in enumerate(outcomes) if isinstance(own, _Pairs)]
    padded = [(row, bare) for row, own, bare in pairs if (own.texts, own.answers) != (bare.texts, bare.answers)]
    bare_scores = _resolved([bare for _, bare in padded], board.similarity)
    gains = [scores[row] - bare for (row, _), bare in zip(padded, bare_scores, strict=True) if scores[row] > bare]
    if not gains:
        return []
    n = len(scores)
    mean, gain = math.fsum(scores) / n, math.fsum(gains) / n
    return [
        f"protocol {board.name!r} divides by raw lengths, and surplus blanks raised the score of "
        f"{len(gains)} of {n} questions: the mean is {mean:.6f} with them and {mean - gain:.6f} without. "
        "Take them out"
    ]


# ---------------------------------------------------------------------------------------------------
# What is reported for a submission
# ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeaderboardSummary:
    """The figures of a submission; None where the leaderboard does not give one.

    Args:
        protocol: The name of the leaderboard.
        n: The number of questions.
        mean: The mean score, from 0 to 1.
        accuracy: The share of correct answers.
        f1: From recall, the score of answerable questions by their number, and precision, by the number of questions
            that were answered.
    """

    protocol: str
    n: int
    mean: float
    accuracy: float | None = None
    f1: float | None = None


def leaderboard_summary(
    scores: Sequence[float] | _Floats, predictions: Any, references: Any, *, protocol: str
) -> LeaderboardSummary:
    """Sum up the scores of a submission as its leaderboard does.

    For the F1 a question is answerable if its answer is not the text "Not answerable", and answered if its prediction
    is not; any other wording, and None, counts as an answer, as in the original.

    Args:
        scores: n scores of `leaderboard_scores`.
        predictions: The n predictions that were scored.
        references: The n references.
        protocol: A name or alias in `LEADERBOARDS`.

    Returns:
        The mean, and the accuracy and F1 that the leaderboard gives. Without answerable or answered questions the F1
        is 0.

    Raises:
        ValueError: An unknown protocol, no scores, or columns of different length.

    Example:
        >>> predictions, references = ["Lima", "Not answerable", "Oslo"], ["Lima", "Not answerable", "Rome"]
        >>> leaderboard_summary([1.0, 1.0, 0.0], predictions, references, protocol="mmlongbench").f1
        0.5

    Source: mayubo2333/MMLongBench-Doc, eval/eval_score.py, eval_acc_and_f1.
    """
    board = get_leaderboard(protocol)
    values = [float(score) for score in scores]
    sides = read_column(predictions, "predictions"), read_column(references, "references")
    lengths = len(values), *map(len, sides)
    if len(set(lengths)) > 1 or not values:
        raise ValueError(
            "{} scores, {} predictions and {} references; expected one of each for each question, at least one".format(
                *lengths
            )
        )
    return summarised(Tally.of(values), *answerable_scores(values, *sides), board)


def answerable_scores(
    scores: Sequence[float] | _Floats, predictions: Sequence[Any], references: Sequence[Any]
) -> tuple[Tally, int]:
    """Give what the F1 is made of: the scores of answerable questions, and how many questions were answered."""
    points = [float(score) for score, own in zip(scores, references, strict=True) if not _declines(own)]
    return Tally.of(points), sum(not _declines(own) for own in predictions)


def summarised(scores: Tally, answerable: Tally, answered: int, board: Leaderboard) -> LeaderboardSummary:
    """Sum up tallies of scores as a leaderboard does.

    Args:
        scores: Those of all questions.
        answerable: Those of the answerable ones.
        answered: How many questions were answered.
        board: The leaderboard.
    """
    least = board.correct_from
    correct = sum(count for score, count in scores.counts.items() if least is not None and score >= least)
    accuracy = scores.mean if least is None else correct / scores.n
    return LeaderboardSummary(
        protocol=board.name,
        n=scores.n,
        mean=scores.mean,
        accuracy=accuracy if "accuracy" in board.reports else None,
        f1=_f1(answerable, answered) if "f1" in board.reports else None,
    )


def _f1(answerable: Tally, answered: int) -> float:
    points = float(answerable.total)
    if not (points and answered):
        return 0.0
    recall, precision = points / answerable.n, points / answered
    return 2 * recall * precision / (recall + precision)


def _declines(value: Any) -> bool:
    """Whether it is the text "Not answerable", or a list of that alone."""
    value = _plain(value)
    if isinstance(value, (list, tuple)) and len(value) == 1:
        [value] = value
    return isinstance(value, str) and value == "Not answerable"
