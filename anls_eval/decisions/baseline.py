"""The scores that a gate compares with: of a predictions file, or of a file that `anls gate --save-baseline` wrote."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.arrow import as_list
from anls_eval.errors import AnlsError
from anls_eval.files.write import whole_file
from anls_eval.submission.score import ScoredQuestions
from anls_eval.tree.as_json import tree_as_json

_FORMAT = "anls_baseline"
_VERSION = 1
_SHOWN = 5  # ids in a message
_NOT_RULES = ("n", "version", "unicode", "missing")  # fields of a signature that may differ between comparable scores


@dataclasses.dataclass(frozen=True, eq=False)
class Baseline:
    """The score of each question, with what tells whether another run answers the same questions by the same rules.

    Attributes:
        signature: The signature of the scores.
        scores: The score by question_id.
        fingerprints: A hash of the id and the accepted answers, by question_id.
    """

    signature: str
    scores: dict[str, float]
    fingerprints: dict[str, str]

    @classmethod
    def of(cls, scored: ScoredQuestions) -> Baseline:
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
        )

    def write(self, path: Path) -> None:
        """Write a file that `read_baseline` reads."""
        questions = [[id_, self.fingerprints[id_], score] for id_, score in self.scores.items()]
        lines = ",\n".join(map(json.dumps, questions))
        head = f'{{"{_FORMAT}": {_VERSION}, "signature": {json.dumps(self.signature)},\n'
        with whole_file(path) as unfinished:
            unfinished.write_text(f'{head}"questions": [\n{lines}\n]}}\n', encoding="utf-8")

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


def load_baseline(path: str, score: Callable[[str], ScoredQuestions]) -> Baseline:
    """Read a file that `Baseline.write` wrote, told by its content, or score a predictions file."""
    if _is_baseline(path):
        return read_baseline(path)
    if not Path(path).exists() and not glob.has_magic(path):
        raise AnlsError(
            "the baseline does not exist. Write it with `anls gate PREDICTIONS -r REFERENCES --save-baseline "
            f"{shlex.quote(path)}`, from the predictions of the system in use.",
            where=path,
        )
    return Baseline.of(score(path))


def _is_baseline(path: str) -> bool:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(_FORMAT) + 3) == f'{{"{_FORMAT}"'.encode()
    except OSError:
        return False


def read_baseline(path: str) -> Baseline:
    """Read a file that `Baseline.write` wrote, or raise an AnlsError."""
    try:
        content: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        ids, fingerprints, scores = zip(*content["questions"], strict=True)
        found = Baseline(
            str(content["signature"]),
            {str(id_): float(score) for id_, score in zip(ids, scores, strict=True)},
            dict(zip(map(str, ids), map(str, fingerprints), strict=True)),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise AnlsError(f"the baseline is damaged. {_SAVE_AGAIN}", where=path) from None
    if content[_FORMAT] != _VERSION:
        raise AnlsError(f"a baseline of format {content[_FORMAT]!r}; expected {_VERSION}. {_SAVE_AGAIN}", where=path)
    if not all(0 <= score <= 1 for score in found.scores.values()):
        raise AnlsError(f"the baseline has scores outside [0, 1]. {_SAVE_AGAIN}", where=path)
    return found


def _first(ids: list[str]) -> str:
    return f"{', '.join(ids[:_SHOWN])}{', ...' if len(ids) > _SHOWN else ''}"


def _fingerprint(id_: str, answers: Any) -> str:
    return hashlib.sha256(json.dumps([id_, answers], sort_keys=True, default=str).encode()).hexdigest()[:16]


def _fields(signature: str) -> dict[str, str]:
    return dict(field.split(":", 1) for field in signature.split("|") if ":" in field)


def _rules(signature: str) -> dict[str, str]:
    return {key: value for key, value in _fields(signature).items() if key not in _NOT_RULES}
