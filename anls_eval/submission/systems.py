"""Several submissions to the same questions, scored and ranked."""

from __future__ import annotations

import collections
import dataclasses
import glob
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from anls_eval.arrow import as_ints, number_array
from anls_eval.errors import AnlsError, Note, located
from anls_eval.files import Reader, open_predictions, open_references
from anls_eval.files.dataset_folder import is_about
from anls_eval.files.errors import FilesError, without_path
from anls_eval.files.files import exists, is_folder
from anls_eval.files.paths import Paths, one_path
from anls_eval.inputs.values import type_with_article
from anls_eval.markup import notebook_page, notes_html, score_bar, signature_html, table_html
from anls_eval.statistics import Comparison, Ranking, rank_systems
from anls_eval.statistics.groups import GroupDifference, compare_groups, compare_groups_by, rows_of_groups
from anls_eval.statistics.intervals import interval_words
from anls_eval.statistics.ranking import best_first, rank_by
from anls_eval.statistics.resampling import Integers, cluster_codes
from anls_eval.submission.counted import CountedSystems
from anls_eval.submission.passes import Options, OptionWords
from anls_eval.submission.score import QuestionScores, ScoredQuestions, SubmissionScore, score_ids, score_questions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from anls_eval.leaderboards.benchmark import Benchmark

_COMPRESSIONS = (".gz", ".zst")


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredSystems:
    """Systems that were scored on the same questions."""

    submissions: Mapping[str, SubmissionScore]  # by system
    scores: Mapping[str, npt.NDArray[np.float64]]  # by system, of shape (n,), in the order of `question_ids`
    questions: QuestionScores  # those of the first system
    clusters: list[str] | None  # the document of each question, if asked for
    systems: Mapping[str, ScoredQuestions]  # by name, in the order of its own file; empty if they were not kept
    skipped: Mapping[str, AnlsError]  # files that could not be scored, with the error
    counted: CountedSystems | None  # what a benchmark counts; None where the score is a mean

    @property
    def question_ids(self) -> list[str]:
        """The ids of the questions, or the row numbers if the files have none."""
        return self.questions.question_ids

    @property
    def signature(self) -> str:
        """The signature of the scores, one for all systems."""
        return self.questions.submission.signature

    @property
    def best_first(self) -> list[str]:
        """The names of the systems by score, equal ones by name."""
        return best_first({name: own.score for name, own in self.submissions.items()})

    @property
    def notes(self) -> list[str]:
        """Warnings to show to the user, system by system."""
        found: list[str] = []
        for name, own in self.submissions.items():
            if own.extraction is not None:
                found.append(f"{name}: {own.extraction}")
            found += [
                Note(f"{name}: {note.problem}", note.remedies) if isinstance(note, Note) else f"{name}: {note}"
                for note in own.notes
            ]
        return found

    def _repr_html_(self) -> str:
        """Return the systems as notebooks show them, the best first."""
        found = [(name, self.submissions[name]) for name in self.best_first]
        rows = [(name, own.score, score_bar(own.score), interval_words(own.interval)) for name, own in found]
        skipped = [f"{name} was skipped: {error}" for name, error in self.skipped.items()]
        table = table_html(("system", "score", "", "interval"), rows)
        return notebook_page(table, notes_html([*skipped, *self.notes]), signature_html(self.signature))

    def rank(self, seed: int = 0) -> Ranking:
        """Rank the systems by `statistics.rank_systems`, or by a headline that is no mean."""
        if self.counted is None:
            return rank_systems(self.scores, clusters=self.clusters, seed=seed)
        counted = self.counted
        intervals = {name: counted.interval(name, seed) for name in self.scores}
        pairs = math.comb(len(intervals), 2)
        return rank_by(intervals, lambda a, b: counted.compare(a, b, seed, pairs))

    def group_differences(self, column: str, ranking: Ranking, seed: int = 0) -> list[GroupDifference]:
        """Compare all pairs of systems, in the order of their ranking, on every group of a column."""
        ordered = {own.name: self.scores[own.name] for own in ranking.systems}
        groups = self.questions.columns[column]
        codes = None if self.clusters is None else cluster_codes(self.clusters, len(self.clusters))
        return differences_by_group(ordered, groups, codes, seed, self.counted)


def differences_by_group(
    scores: Mapping[str, npt.NDArray[np.float64]],
    groups: Sequence[Sequence[str]],
    codes: npt.NDArray[np.int64] | None,
    seed: int,
    counted: CountedSystems | None,
) -> list[GroupDifference]:
    """Compare all pairs of systems, best first, on every group, by the mean score or by a headline that is none."""
    if counted is None:
        return compare_groups(scores, groups, codes, seed)

    tests = len(rows_of_groups(groups)) * math.comb(len(scores), 2)

    def compare(a: str, b: str, rows: Integers, documents: Integers | None) -> Comparison:
        return counted.compare_on(a, b, rows, documents, seed, tests)

    return compare_groups_by(compare, list(scores), groups, codes)


def count_systems(systems: Mapping[str, QuestionScores], codes: Any) -> CountedSystems | None:
    """Return what a benchmark counts of systems, in the order of the questions of the first; None for a mean."""
    first = next(iter(systems.values()))
    texts = {
        name: _taken(own.counted, rows_in_order_of(own, first))
        for name, own in systems.items()
        if own.counted is not None
    }
    rules = cast("Benchmark", first.rules)
    return CountedSystems(rules, texts, None if codes is None else codes.tolist()) if texts else None


def rows_in_order_of(own: QuestionScores, first: QuestionScores) -> Integers:
    """Return the row of each question of the first system in another."""
    if own.ids.equals(first.ids):
        return np.arange(len(own.ids))
    return as_ints(pc.index_in(first.ids, value_set=own.ids))


def in_order_of(own: ScoredQuestions, first: QuestionScores) -> ScoredQuestions:
    """Return the questions of a system in the order of those of the first."""
    rows = rows_in_order_of(own, first)
    return dataclasses.replace(
        own,
        ids=first.ids,
        predictions=_taken(own.predictions, rows),
        answers=_taken(own.answers, rows),
        is_missing=own.is_missing[rows],
        scores=own.scores[rows],
        labels=own.labels.take(number_array(rows)),
        measured=None if own.measured is None else own.measured.take(rows.tolist()),
        counted=None if own.counted is None else _taken(own.counted, rows),
    )


def _taken(column: Any, rows: Integers) -> Any:
    if isinstance(column, list):
        return [column[row] for row in rows.tolist()]
    return column.take(number_array(rows))


def system_name(path: str) -> str:
    """Return the name of a system: its file name without extensions, or the name of its folder."""
    own = Path(path)
    if is_folder(own):
        return own.resolve().name
    if glob.has_magic(own.name) and not exists(own):
        return own.parent.name if own.parent.name and not glob.has_magic(own.parent.name) else path
    return (own.with_suffix("") if own.suffix in _COMPRESSIONS else own).stem


def score_systems(
    paths: Iterable[str | os.PathLike[str]],
    references: Reader | Paths,
    *,
    open_system: Callable[[str], Reader] = open_predictions,
    skip: bool = False,
    keep: bool = True,
    measure: bool = False,
    columns: Sequence[str] = (),
    **options: Unpack[OptionWords],
) -> ScoredSystems:
    r"""Score several submissions on the same references.

    Args:
        paths: One file, folder or pattern per system. A system is named after its file without extensions, or after its
            folder; the name is longer where two would be equal.
        references: From `anls_eval.open_references`, or what it takes: a path, a pattern or a list of them.
        open_system: Opens the file of a system; by default `anls_eval.open_predictions`.
        skip: Whether to list systems that cannot be scored instead of raising an error.
        keep: Whether to keep predictions and answers in memory, in `systems`, which reports, audits and differences of
            fields need. Without, memory grows by the ids and scores alone.
        measure: Whether to measure the distance to each closest answer, too, which a report needs.
        columns: Columns whose values to keep for each question.
        options: As in `score_submission`.

    Returns:
        The scores, question by question.

    Raises:
        ValueError: As in `score_submission`; a system is given twice; none can be scored.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name, lines in (("a.csv", "1,Lima"), ("b.csv", "1,Roma")):
        ...     _ = (folder / name).write_text(f"id,prediction\n{lines}\n")
        >>> _ = (folder / "gold.csv").write_text("id,answer\n1,Lima\n")
        >>> found = score_systems([str(folder / "a.csv"), str(folder / "b.csv")], folder / "gold.csv")
        >>> {name: scores.tolist() for name, scores in found.scores.items()}
        {'a': [1.0], 'b': [0.5]}
    """
    Options(**options)  # refuses what is wrong with them before any file is read
    references = references if isinstance(references, Reader) else open_references(references)
    if isinstance(paths, (str, os.PathLike)):
        raise AnlsError(f"paths is {type_with_article(paths)}; expected a list of them, with one for each system")
    files = list(map(one_path, paths))
    names = _different_names(files)
    submissions: dict[str, SubmissionScore] = {}
    scores: dict[str, npt.NDArray[np.float64]] = {}
    counted: dict[str, QuestionScores] = {}  # the systems of which a benchmark counts something
    systems: dict[str, ScoredQuestions] = {}
    skipped: dict[str, AnlsError] = {}
    first: QuestionScores | None = None
    clusters_in = options.pop("cluster_by", None)  # of the ranking, and not of the interval of each system
    kept = [*columns, *([] if clusters_in is None else [clusters_in])]
    for path, name in zip(files, names, strict=True):
        own: QuestionScores
        try:
            if keep:
                own = systems[name] = score_questions(
                    open_system(path), references, columns=kept, measure=measure, **options
                )
            else:
                own = score_ids(open_system(path), references, columns=kept, **options)
        except ValueError as error:
            if any(is_about(error, file) for file in references.files):  # those of all systems
                raise
            if not skip:
                raise located(name, error) from None
            skipped[path] = without_path(error, path)
            continue
        first = first or own
        submissions[name], scores[name] = own.submission, own.scores[rows_in_order_of(own, first)]
        if own.counted is not None:
            counted[name] = own
    if first is None:
        raise FilesError("no system could be scored", skipped)
    clusters = None if clusters_in is None else first.documents(clusters_in)
    codes = None if clusters is None else cluster_codes(clusters, len(clusters))
    return ScoredSystems(
        submissions=submissions,
        scores=scores,
        questions=first,
        clusters=clusters,
        systems=systems,
        skipped=skipped,
        counted=count_systems(counted, codes) if counted else None,
    )


def _different_names(paths: Sequence[str]) -> list[str]:
    """Name each system after its file; if names clash, with extensions, then with the folder before."""
    names = list(map(system_name, paths))
    for longer in (lambda path: path.name, lambda path: str(Path(path.parent.name, path.name)), str):
        counts = collections.Counter(names)
        names = [name if counts[name] == 1 else longer(Path(path)) for path, name in zip(paths, names, strict=True)]
    twice = next((name for name, count in collections.Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is given twice; expected each once")
    return names


def ranking_as_json(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking as plain JSON values: ``systems``, best first, and ``comparisons``."""
    systems = [
        {
            "name": own.name,
            "score": own.score,
            "interval": [own.interval.low, own.interval.high],
            "rank": own.rank,
            "rank_group": own.rank_group,
        }
        for own in ranking.systems
    ]
    comparisons = [
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
            "notes": list(pair.comparison.notes),
        }
        for pair in ranking.comparisons
    ]
    return {"systems": systems, "comparisons": comparisons}


def differences_as_json(differences: Mapping[str, Sequence[GroupDifference]]) -> dict[str, Any]:
    """Return the differences by group as plain JSON values, by column."""
    return {
        column: [
            {
                "group": one.group,
                "n": one.n,
                "a": one.a,
                "b": one.b,
                "difference": one.comparison.difference,
                "interval": None if one.interval is None else [one.interval.low, one.interval.high],
                "p_value": one.comparison.p_value,
                "p_adjusted": one.p_adjusted,
            }
            for one in own
        ]
        for column, own in differences.items()
    }
