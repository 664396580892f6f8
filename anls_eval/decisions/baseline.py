"""The scores that a gate compares with: of a predictions file, or of a file that `anls gate --save-baseline` wrote."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.analysis.field_credits import Credits, field_credits
from anls_eval.arrow import as_list
from anls_eval.decoding import marked_encoding
from anls_eval.errors import AnlsError
from anls_eval.files.files import exists, find_file, is_hidden
from anls_eval.files.write import check_replaceable, whole_file
from anls_eval.submission.score import ScoredQuestions
from anls_eval.tree.as_json import tree_as_json

_FORMAT = "anls_baseline"
_VERSION = 1
_START = re.compile(rf'\s*{{\s*"{_FORMAT}"\s*:')
_LOOKED_AT = 512  # bytes in which a baseline is known
_SHOWN = 5  # ids in a message
_NOT_RULES = ("n", "version", "unicode", "missing")  # fields of a signature that may differ between comparable scores


@dataclasses.dataclass(frozen=True, eq=False)
class Baseline:
    """The score of each question, with what tells whether another run answers the same questions by the same rules.

    Attributes:
        signature: The signature of the scores.
        scores: The score by question_id.
        fingerprints: A hash of the id and the accepted answers, by question_id.
        credits: The mean credit of each field of documents, by path and question_id; None if not asked for.
    """

    signature: str
    scores: dict[str, float]
    fingerprints: dict[str, str]
    credits: dict[str, dict[str, float]] | None = None

    @classmethod
    def of(cls, scored: ScoredQuestions, *, by_field: bool = False) -> Baseline:
        """Return what is kept of a scored submission, whose score must be the mean of those of its questions."""
        if scored.counted is not None:
            name = getattr(scored.rules, "name", "")
            problem = f"protocol {name!r} is no mean of the scores of questions, which a gate compares one by one"
            raise AnlsError(problem, option="protocol", value=name)
        is_tree = scored.submission.metric == "anls_star_score"
        answers = [tree_as_json(own) if is_tree else own for own in as_list(scored.answers)]
        fingerprints = map(_fingerprint, scored.question_ids, answers)
        return cls(
            scored.submission.signature,
            dict(zip(scored.question_ids, scored.scores.tolist(), strict=True)),
            dict(zip(scored.question_ids, fingerprints, strict=True)),
            _credits(scored) if by_field else None,
        )

    def write(self, path: Path) -> None:
        """Write a file that `read_baseline` reads."""
        check_replaceable(path)
        questions = [[id_, self.fingerprints[id_], score] for id_, score in self.scores.items()]
        lines = ",\n".join(map(json.dumps, questions))
        head = f'{{"{_FORMAT}": {_VERSION}, "signature": {json.dumps(self.signature)},\n'
        fields = "" if self.credits is None else f',\n"fields": {json.dumps(self.credits)}'
        with whole_file(path) as unfinished:
            unfinished.write_text(f'{head}"questions": [\n{lines}\n]{fields}}}\n', encoding="utf-8")

    def scores_for(self, new: Baseline) -> npt.NDArray[np.float64]:
        """Return the scores in the order of a new run, or raise an AnlsError if the two cannot be compared."""
        self._check_rules(new)
        absent = [id_ for id_ in new.scores if id_ not in self.scores]
        extra = [id_ for id_ in self.scores if id_ not in new.scores]
        if absent or extra:
            parts = [
                f"{len(ids):,} only in the {side} ({_first(ids)})"
                for ids, side in ((absent, "references"), (extra, "baseline"))
                if ids
            ]
            raise AnlsError(f"the baseline has other questions: {' and '.join(parts)}. {_SAVE_AGAIN}")
        changed = [id_ for id_, own in new.fingerprints.items() if own != self.fingerprints[id_]]
        if changed:
            raise AnlsError(
                f"the accepted answers of {len(changed):,} questions differ from those of the baseline "
                f"({_first(changed)}). {_SAVE_AGAIN}"
            )
        return np.array([self.scores[id_] for id_ in new.scores])

    def credits_for(self, new: Baseline) -> dict[str, Credits]:
        """Return the credits of each field in the order of a new run, which has the same questions."""
        if self.credits is None:
            raise AnlsError(
                "the baseline was saved without its fields. Save it again with `anls gate PREDICTIONS -r REFERENCES "
                "--by-field --save-baseline FILE`, or pass the old predictions as the baseline."
            )
        rows = {id_: row for row, id_ in enumerate(new.scores)}
        found = {}
        for path, own in self.credits.items():
            ordered = sorted((rows[id_], credit) for id_, credit in own.items())
            found[path] = Credits(
                np.array([row for row, _ in ordered], np.int64), np.array([credit for _, credit in ordered], np.float64)
            )
        return found

    def _check_rules(self, new: Baseline) -> None:
        old_rules, new_rules = _rules(self.signature), _rules(new.signature)
        differing = [key for key in {**old_rules, **new_rules} if old_rules.get(key) != new_rules.get(key)]
        if differing:
            told = "; ".join(f"{key} {old_rules.get(key, '-')}, now {new_rules.get(key, '-')}" for key in differing)
            raise AnlsError(f"the baseline was scored by other rules: {told}. Pass the same options. {_SAVE_AGAIN}")

    def notes_on(self, new: Baseline) -> list[str]:
        """Return a note if another version computed the baseline."""
        old_fields, new_fields = _fields(self.signature), _fields(new.signature)
        return [
            f"the baseline was computed with {what} {old_fields[key]}, the new scores with {new_fields.get(key)}"
            for key, what in (("version", "anls"), ("unicode", "Unicode"))
            if key in old_fields and old_fields[key] != new_fields.get(key)
        ]


_SAVE_AGAIN = "To compare, score the old predictions again: pass their file as the baseline, or save a new one."


def load_baseline(path: str, score: Callable[[str], ScoredQuestions], *, by_field: bool = False) -> Baseline:
    """Read a file that `Baseline.write` wrote, told by its content, or score a predictions file."""
    if is_baseline(path):
        return read_baseline(path)
    if not exists(path) and not is_hidden(path) and not glob.has_magic(path):
        raise AnlsError(
            "the baseline does not exist. Write it with `anls gate PREDICTIONS -r REFERENCES --save-baseline "
            f"{shlex.quote(path)}`, from the predictions of the system in use.",
            where=path,
        )
    return Baseline.of(score(path), by_field=by_field)


def is_baseline(path: str) -> bool:
    """Return whether a file is one that `Baseline.write` wrote."""
    try:
        with find_file(path, None).open() as stream:
            return _START.match(_text(stream.read(_LOOKED_AT), "ignore")) is not None
    except AnlsError:
        return False


def _text(stored: bytes, errors: str = "strict") -> str:
    """Return the text of a file that an editor may have saved again."""
    return stored.decode(marked_encoding(stored) or "utf-8-sig", errors)


def read_baseline(path: str) -> Baseline:
    """Read a file that `Baseline.write` wrote, or raise an AnlsError."""
    with find_file(path, None).open() as stream:
        stored = stream.read()
    try:
        content: dict[str, Any] = json.loads(_text(stored))
        ids, fingerprints, scores = zip(*content["questions"], strict=True)
        found = Baseline(
            str(content["signature"]),
            {str(id_): float(score) for id_, score in zip(ids, scores, strict=True)},
            dict(zip(map(str, ids), map(str, fingerprints), strict=True)),
            _read_credits(content.get("fields"), set(map(str, ids))),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise AnlsError(f"the baseline is damaged. {_SAVE_AGAIN}", where=path) from None
    if content[_FORMAT] != _VERSION:
        raise AnlsError(f"a baseline of format {content[_FORMAT]!r}; expected {_VERSION}. {_SAVE_AGAIN}", where=path)
    of_fields = itertools.chain.from_iterable(own.values() for own in (found.credits or {}).values())
    if not all(0 <= score <= 1 for score in itertools.chain(found.scores.values(), of_fields)):
        raise AnlsError(f"the baseline has scores outside [0, 1]. {_SAVE_AGAIN}", where=path)
    return found


def _credits(scored: ScoredQuestions) -> dict[str, dict[str, float]]:
    """Return the mean credit of each field of documents, by path and question_id."""
    rules = scored.protocol
    if rules is None or not rules.tree:
        name = getattr(scored.rules, "name", "")
        raise AnlsError(f"only documents have fields, which protocol {name!r} does not score", option="by_field")
    ids = scored.question_ids
    found = field_credits(as_list(scored.predictions), as_list(scored.answers), rules, scored.fields, ids)
    return {
        path: dict(zip((ids[row] for row in own.rows), own.means.tolist(), strict=True)) for path, own in found.items()
    }


def _read_credits(stored: Any, ids: set[str]) -> dict[str, dict[str, float]] | None:
    """Return the credits in a file, or raise a ValueError if a question is unknown."""
    if stored is None:
        return None
    found = {path: {id_: float(own) for id_, own in of_path.items()} for path, of_path in stored.items()}
    if not all(own.keys() <= ids for own in found.values()):
        raise ValueError("a field of an unknown question")
    return found


def _first(ids: list[str]) -> str:
    return f"{', '.join(ids[:_SHOWN])}{', ...' if len(ids) > _SHOWN else ''}"


def _fingerprint(id_: str, answers: Any) -> str:
    return hashlib.sha256(json.dumps([id_, answers], sort_keys=True, default=str).encode()).hexdigest()[:16]


def _fields(signature: str) -> dict[str, str]:
    return dict(field.split(":", 1) for field in signature.split("|") if ":" in field)


def _rules(signature: str) -> dict[str, str]:
    return {key: value for key, value in _fields(signature).items() if key not in _NOT_RULES}
