"""Several submissions to the same questions: their scores side by side, ranked."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anls_eval.errors import AnlsError, located
from anls_eval.files import Reader, open_predictions
from anls_eval.files.errors import FilesError, without_path
from anls_eval.rules.protocol import Protocol
from anls_eval.statistics import Ranking, rank_systems
from anls_eval.submission.score import ScoredQuestions, check_options, score_questions
from anls_eval.types import Missing, Unknown

_COMPRESSIONS = (".gz", ".zst")


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredSystems:
    """Systems that were scored on the same questions.

    Args:
        scores: By name of the system, its scores of shape (n,), all in the order of `question_ids`.
        question_ids: The ids of the questions.
        clusters: The document of each question, if asked for.
        systems: Each system with all of its questions, by name.
        skipped: Files that could not be scored, with the error.
    """

    scores: Mapping[str, npt.NDArray[np.float64]]
    question_ids: list[str]
    clusters: list[str] | None
    systems: Mapping[str, ScoredQuestions]
    skipped: Mapping[str, AnlsError]

    @property
    def signature(self) -> str:
        """The signature of their scores, which is one for all."""
        return next(iter(self.systems.values())).submission.signature

    @property
    def notes(self) -> list[str]:
        """What a user must be told, system by system."""
        return [f"{name}: {note}" for name, own in self.systems.items() for note in own.submission.notes]

    def rank(self, seed: int = 0) -> Ranking:
        """Rank the systems by `statistics.rank_systems`."""
        return rank_systems(self.scores, clusters=self.clusters, seed=seed)


def system_name(path: str) -> str:
    """Give the name of a system: that of its file without the endings.

    Example:
        >>> system_name("runs/model-7b.jsonl.gz")
        'model-7b'
    """
    name = Path(path)
    return (name.with_suffix("") if name.suffix in _COMPRESSIONS else name).stem


def score_systems(
    paths: Sequence[str],
    references: Reader,
    *,
    open_system: Callable[[str], Reader] = open_predictions,
    protocol: str | Protocol = "standard",
    threshold: float | str | Fraction | Decimal | None = None,
    cluster_by: str | None = None,
    missing: Missing = "error",
    unknown: Unknown = "error",
    skip: bool = False,
) -> ScoredSystems:
    r"""Score several submissions on the same references.

    Args:
        paths: Their files. The name of a system is that of its file without the endings, and longer where two are the
            same.
        references: From `formats.open_references`.
        open_system: Opens the file of a system; by default `formats.open_predictions`.
        protocol: As in `submission.score_submission`.
        threshold: The same.
        cluster_by: The same.
        missing: The same.
        unknown: The same.
        skip: Whether a file that cannot be scored is left out and listed, and not an error.

    Returns:
        The scores, question by question.

    Raises:
        ValueError: As in `submission.score_submission`; one file twice; no file that could be scored.

    Example:
        >>> import pathlib, tempfile
        >>> from anls_eval.files import open_references
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name, lines in (("a.csv", "1,Lima"), ("b.csv", "1,Roma")):
        ...     _ = (folder / name).write_text(f"id,prediction\n{lines}\n")
        >>> _ = (folder / "gold.csv").write_text("id,answer\n1,Lima\n")
        >>> found = score_systems([str(folder / "a.csv"), str(folder / "b.csv")], open_references(folder / "gold.csv"))
        >>> {name: scores.tolist() for name, scores in found.scores.items()}
        {'a': [1.0], 'b': [0.5]}
    """
    check_options(protocol, threshold, missing, unknown)
    names = _different_names(paths)
    systems: dict[str, ScoredQuestions] = {}
    skipped: dict[str, AnlsError] = {}
    columns = [] if cluster_by is None else [cluster_by]
    for path, name in zip(paths, names, strict=True):
        try:
            systems[name] = score_questions(
                open_system(path),
                references,
                protocol=protocol,
                threshold=threshold,
                columns=columns,
                missing=missing,
                unknown=unknown,
            )
        except ValueError as error:
            if not skip:
                raise located(name, error) from None
            skipped[path] = without_path(error, path)
    if not systems:
        raise FilesError("no system could be scored", skipped)
    first = next(iter(systems.values()))
    order = {id_: row for row, id_ in enumerate(first.question_ids)}
    scores = {name: _in_order(own, order) for name, own in systems.items()}
    clusters = None if cluster_by is None else [" ".join(own) for own in first.columns[cluster_by]]
    return ScoredSystems(scores, first.question_ids, clusters, systems, skipped)


def _different_names(paths: Sequence[str]) -> list[str]:
    """The names of the systems; where those of files are the same, with their endings, or the folders before them."""
    names = list(map(system_name, paths))
    for longer in (lambda path: path.name, lambda path: str(Path(path.parent.name, path.name)), str):
        counts = collections.Counter(names)
        names = [name if counts[name] == 1 else longer(Path(path)) for path, name in zip(paths, names, strict=True)]
    twice = next((name for name, count in collections.Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"the file {twice!r} is given twice; expected each once")
    return names


def _in_order(own: ScoredQuestions, order: Mapping[str, int]) -> npt.NDArray[np.float64]:
    """The scores in the order of the first system's questions, which are the same: those of the references."""
    scores = np.empty(len(order))
    scores[[order[id_] for id_ in own.question_ids]] = own.scores
    return scores


def ranking_as_json(ranking: Ranking) -> dict[str, Any]:
    """Give a ranking as plain JSON values: ``systems``, best first, and ``comparisons``."""
    return {
        "systems": [
            {
                "name": own.name,
                "score": own.score,
                "interval": [own.interval.low, own.interval.high],
                "rank": own.rank,
                "rank_group": own.rank_group,
            }
            for own in ranking.systems
        ],
        "comparisons": [
            {
                "a": pair.a,
                "b": pair.b,
                "difference": pair.comparison.difference,
                "interval": [pair.comparison.interval.low, pair.comparison.interval.high],
                "p_value": pair.comparison.p_value,
                "p_adjusted": pair.p_adjusted,
                "wins": pair.comparison.wins,
                "losses": pair.comparison.losses,
                "ties": pair.comparison.ties,
            }
            for pair in ranking.comparisons
        ],
    }
