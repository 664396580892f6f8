"""The metric of the `evaluate` library."""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import operator
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import datasets
import evaluate
import pyarrow as pa

from anls_eval.arrow import as_list, decode_texts
from anls_eval.citation import CITATION
from anls_eval.errors import AnlsError, check_choice, located
from anls_eval.explanation.result import key_scores_as_json
from anls_eval.explanation.tree import ExplainedTree
from anls_eval.extract.hints import count_steps, extract_note
from anls_eval.extract.steps import extracted
from anls_eval.fields.fields import Fields, FieldsLike
from anls_eval.inputs.columns import extracted_texts
from anls_eval.inputs.values import NOT_GIVEN
from anls_eval.notes import marked_rows, noted_rows, text_notes, tree_notes
from anls_eval.questions.columns import STORED, STORED_TREES, TEXT_TYPES, Side, id_list, is_same_tree, stored_table
from anls_eval.questions.pairing import Aligned, align_questions
from anls_eval.questions.printed import taken_apart
from anls_eval.questions.rows import is_row, read_batch
from anls_eval.registry import (
    MISSING,
    UNKNOWN,
    find_board_name,
    get_protocol,
    get_rules,
    read_fields,
    resolve_rules,
    signature,
)
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.rules.table import PROTOCOLS
from anls_eval.structure import Parse
from anls_eval.text.measure import score_columns
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.scores import score_trees
from anls_eval.types import Extract, Missing, Unknown

_DESCRIPTION = """\
ANLS (Average Normalized Levenshtein Similarity) is the score of DocVQA, ST-VQA and InfographicVQA. For each question
it is the similarity 1 - edit distance / length of the prediction and the closest accepted answer, or 0 if that is below
0.5; the score is the mean over all questions. It forgives OCR slips but not wrong answers. Each leaderboard computes it
a little differently: the second argument of evaluate.load names the protocol, such as "rrc".
"""

_INPUTS = """
Args:
    predictions: A list of {"question_id": ..., "prediction_text": ...}, or of plain strings.
    references: A list of {"question_id": ..., "answers": [...]}, or of plain lists of accepted answers. With
        question_ids both sides are aligned by id, in any order; without, by position.
    threshold, extract, detailed, missing, unknown: See help(metric.compute).

Examples:
    >>> predictions = [{"question_id": "10285", "prediction_text": "Denver Broncos"},
    ...                {"question_id": "18601", "prediction_text": "12/15/89"}]
    >>> references = [{"question_id": "10285", "answers": ["Denver Broncos", "Denver R. Broncos"]},
    ...               {"question_id": "18601", "answers": ["12/15/88"]}]
    >>> metric.compute(predictions=predictions, references=references)
    {'anls_score': 0.9375}
"""


class ANLS(evaluate.Metric):
    """ANLS and ANLS* for `evaluate`: ``evaluate.load("anls")``, or with a protocol ``evaluate.load("anls", "rrc")``.

    If `compute` raises, everything added with `add` and `add_batch` stays, so that it can be completed and scored
    again; `reset` discards it.

    Args:
        config_name: A name or alias in `PROTOCOLS`, or a `Protocol`. Defaults to ``standard``.
        **options: The options of `evaluate.Metric`.

    Raises:
        TypeError: If `evaluate.Metric` does not have one of the options.
        ValueError: If the protocol is unknown.

    Example:
        >>> metric = ANLS("rrc")
        >>> metric.compute(predictions=["Denver Bronco"], references=[["Denver Broncos", "Broncos"]])
        {'anls_score': 0.9285714285714286}

    Source: Biten et al., "Scene Text Visual Question Answering", ICCV 2019, https://arxiv.org/abs/1905.13648, and
    Peer et al., "ANLS*", https://arxiv.org/abs/2402.03848.
    """

    writer: Any  # these three belong to evaluate.Metric, for several processes
    filelock: Any
    rendez_vous_lock: Any

    def __init__(self, config_name: str | Protocol | None = None, **options: Any) -> None:
        unknown = options.keys() - inspect.signature(evaluate.Metric.__init__).parameters.keys()
        if unknown:
            raise TypeError(
                f"unknown options {sorted(unknown)}: the protocol is the second argument of evaluate.load, such as "
                '"rrc", and options such as threshold belong to compute'
            )
        self._board = find_board_name(config_name)
        if self._board is not None and importlib.util.find_spec("anls_eval") is not None:
            self.protocol = PROTOCOLS["anls_star"]  # its trees hold the questions or documents
        else:
            self.protocol = get_protocol("standard" if config_name in (None, "default") else config_name)
        self._schema = STORED_TREES if self.protocol.tree else STORED
        self._tables: list[pa.Table] = []  # the rows that were added
        self._pending: list[dict[str, Side]] = []  # batches not yet joined to a table
        self._pending_rows = dict.fromkeys(STORED.names, 0)
        self._with_ids: bool | None = None  # whether the added rows have question_ids
        super().__init__(config_name=(self._board or self.protocol.name) if config_name else None, **options)
        self._experiment, self._round = self.experiment_id, 0

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                predictions={"question_id": text, "prediction_text": text},
                references={"question_id": text, "answers": text if self.protocol.tree else datasets.Sequence(text)},
            ),
            reference_urls=[
                "https://arxiv.org/abs/1905.13648",
                "https://arxiv.org/abs/2402.03848",
                "https://rrc.cvc.uab.es/?ch=17&com=tasks",
            ],
        )

    def __len__(self) -> int:
        """Return the number of rows added and not yet scored, of the longer side."""
        joined: int = sum(table.num_rows for table in self._tables)
        return joined + max(self._pending_rows.values())

    def add(
        self,
        *,
        prediction: Any = NOT_GIVEN,
        reference: Any = NOT_GIVEN,
        predictions: Any = NOT_GIVEN,
        references: Any = NOT_GIVEN,
    ) -> None:
        """Add one prediction and its reference, or with a question_id only one of them.

        Args:
            prediction: ``{"question_id": ..., "prediction_text": ...}``, or a plain string. For trees, a dict without
                a question_id is the tree itself.
            reference: ``{"question_id": ..., "answers": [...]}``, or plain accepted answers. For trees, a dict without
                a question_id is the tree itself.
            predictions: Another name of `prediction`, which `evaluate.combine` uses.
            references: Another name of `reference`, which `evaluate.combine` uses.

        Raises:
            ValueError: If the input cannot be scored; nothing is added.
        """
        prediction = predictions if prediction is NOT_GIVEN else prediction
        reference = references if reference is NOT_GIVEN else reference
        # None is a prediction that was not given, or a tree; beside a row with a question_id it means nothing.
        reference_alone = prediction is NOT_GIVEN or (prediction is None and is_row(reference))
        no_answers = reference is None and (is_row(prediction) or not self.protocol.tree)
        prediction_alone = reference is NOT_GIVEN or no_answers
        if reference_alone and prediction_alone:
            raise ValueError("add got neither prediction nor reference")
        given = None if reference_alone else [prediction], None if prediction_alone else [reference]
        self._take(read_batch(*given, self.protocol))

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add predictions and references; with question_ids, one side may be shorter or absent.

        Args:
            predictions: A list of what `add` takes as `prediction`, or a column of texts.
            references: A list of what `add` takes as `reference`, or a column of lists of texts.

        Raises:
            ValueError: If the input cannot be scored, with the row; nothing is added.
        """
        if predictions is None and references is None:
            raise ValueError("add_batch got neither predictions nor references")
        self._take(read_batch(predictions, references, self.protocol))

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        threshold: Threshold = None,
        extract: Extract = None,
        detailed: bool = False,
        missing: Missing = "error",
        unknown: Unknown = "error",
        parse: Parse = None,
        protocol: None = None,
        answer_types: Any = None,
        options: Mapping[str, object] | None = None,
        fields: FieldsLike = None,
    ) -> dict[str, Any] | None:
        """Score all predictions that were added before and those passed here.

        Args:
            predictions: A list of what `add` takes as `prediction`, or a column of texts.
            references: A list of what `add` takes as `reference`, or a column of lists of texts.
            threshold: Minimum similarity that counts, from 0 to 1. Defaults to the protocol's.
            extract: Steps that take the answer out of each prediction first, by name: ``"think,answer_tag"`` or a list
                of names; ``"none"`` for none. Defaults to the protocol's.
            detailed: Whether to return more, in the order of the references: ``scores``, ``question_ids`` and
                ``closest_references``; the counts ``n``, ``missing`` and ``unknown``; for texts ``unanswered``
                (predictions that are None) and ``padded`` (questions whose score extra whitespace raised, which
                happens in protocols that divide by raw lengths) with ``padding_gain``, its effect on the mean; for
                trees ``key_scores``; the ``signature``; and with `extract`, as ``extraction``, its ``steps``, how many
                predictions it ``changed``, and the ``score_without`` it.
            missing: How to treat a question without a prediction: ``"error"``, or ``"zero"`` to score it 0.
            unknown: How to treat a prediction without a question: ``"error"``, or ``"ignore"``.
            parse: Whose texts are taken apart where they print a list or a dict, as Python, NumPy and pandas do:
                ``"answers"``, for trees also ``"predictions"``, or a list of both. By default none is, and a warning
                counts those that could be; ``"none"`` without the warning.
            protocol: Refused: the protocol is chosen when the metric is loaded.
            answer_types: The answer type of each question, in the order of the references, for a leaderboard that
                needs them.
            options: What a benchmark knows beside the answers, as in `anls_eval.leaderboard_figures`.
            fields: For trees, how their parts are compared and weighed: an `anls_eval.Fields`, or a dict with a dict of
                options for each path.

        Returns:
            ``{"anls_score": x}``, or ``{"anls_star_score": x}`` for trees, with x from 0 to 1; for a leaderboard or
            benchmark, which need the package `anls_eval`, ``score`` and the figures that it reports. With several
            processes, None in all but the first.

        Raises:
            ValueError: If there is nothing to score, ids repeat with different content or do not match, or the input
                cannot be scored.

        Example:
            >>> metric = ANLS("anls_star")
            >>> metric.compute(predictions=[{"total": "17.9"}], references=[{"total": "17.99", "date": "2024"}])
            {'anls_star_score': 0.4}
        """
        if protocol is not None:
            raise TypeError(
                "the protocol is chosen when the metric is loaded, as the second argument of evaluate.load: "
                f"{json.dumps(str(protocol))}"
            )
        if self._board is not None and threshold is not None:
            raise AnlsError(f"protocol {self._board!r} has its own and takes none", option="threshold", value=threshold)
        if self._board is None and (answer_types is not None or options is not None):
            raise ValueError(f"protocol {self.protocol.name!r} has no answer_types and no options; leave them out")
        rules = resolve_rules(self.protocol, threshold, of_trees=None, extract=None if self._board else extract)
        check_choice("missing", missing, MISSING)
        check_choice("unknown", unknown, UNKNOWN)
        resolved = read_fields(fields, rules if self._board is None else get_rules(self._board))
        self._join_pending()
        before, added = len(self), (list(self._tables), self._with_ids)
        if predictions is not None or references is not None:
            self.add_batch(predictions=predictions, references=references)
            self._join_pending()
        after = len(self)
        try:
            table, with_ids = self._gather(), self._with_ids
        except ValueError:
            self._tables, self._with_ids = added
            raise
        self._with_ids = None
        if self.process_id > 0:
            return None
        try:
            aligned = align_questions(table, missing, unknown, is_same_tree if rules.tree else operator.eq)
            n = len(aligned.answers)
            notes: list[str] = []
            result: dict[str, Any]
            taken: list[str] = []
            if self._board is not None:
                result, notes = _board_result(aligned, self._board, answer_types, options, extract)
                details = {"question_ids": None if aligned.question_ids is None else id_list(aligned.question_ids)}
            else:
                aligned, taken, printed = taken_apart(aligned, rules, parse)
                if rules.tree:
                    scores, details, found = _scored_trees(aligned, rules, detailed, resolved)
                else:
                    scores, details, found = _scored_texts(aligned, rules, detailed)
                notes = printed + found
                result = {"anls_star_score" if rules.tree else "anls_score": math.fsum(scores) / n}
            if detailed:
                result |= {"n": n, "missing": len(aligned.missing), "unknown": aligned.unknown, **details}
                result["signature"] = signature(
                    self._board or rules, n=n, missing=missing, parse=taken, extract=extract, fields=resolved
                )
            for note in aligned.notes + notes:
                warnings.warn(note, UserWarning, stacklevel=2)
        except BaseException:
            self._tables = [table[:before], table[after:]]
            self._with_ids = with_ids if len(self) else None
            raise
        return result

    def reset(self) -> None:
        """Discard everything that was added and not yet scored."""
        self._tables, self._pending, self._pending_rows = [], [], dict.fromkeys(STORED.names, 0)
        self._with_ids = None

    def _take(self, batch: dict[str, Side]) -> None:
        filled = [side.ids for side in batch.values() if len(side.ids)]
        if filled:
            with_ids = not filled[0].null_count
            if self._with_ids not in (None, with_ids):
                now, before = ("with", "without") if with_ids else ("without", "with")
                raise ValueError(
                    f"rows {now} question_id after rows {before}; expected all with one or all without. "
                    "Nothing was added; reset() discards what was added before."
                )
            self._with_ids = with_ids
        self._pending.append(batch)
        self._pending_rows = {name: count + len(batch[name].ids) for name, count in self._pending_rows.items()}
        if len(self._pending) >= _PENDING_BATCHES:
            self._join_pending()

    def _join_pending(self) -> None:
        if self._pending:
            self._tables.append(stored_table(self._pending, self._schema))
            self._pending, self._pending_rows = [], dict.fromkeys(STORED.names, 0)

    def _gather(self) -> pa.Table:
        """Take out all added rows; in the first of several processes, those of all."""
        tables = self._exchange() if self.num_process > 1 else self._tables
        self._tables = []
        return pa.concat_tables([self._schema.empty_table(), *(table.replace_schema_metadata() for table in tables)])

    def _exchange(self) -> list[pa.Table]:
        """Write the rows of this process to a file; in the first process, read and delete the files of all."""
        self.selected_feature_format = datasets.Features.from_arrow_schema(self._schema)
        try:
            self._init_writer()
            for table in self._tables:
                self.writer.write_table(table, max(1, table.num_rows))
            self._finalize()
            tables = list(map(_read_table, self.file_paths)) if self.process_id == 0 else []
        except (ValueError, OSError) as error:  # pa.ArrowInvalid, for an incomplete file, is a ValueError
            for lock in (self.filelock, self.rendez_vous_lock):
                if lock is not None:
                    lock.release()
            self.writer = self.cache_file_name = self.filelock = self.rendez_vous_lock = None
            raise ValueError(
                f"process {self.process_id} of {self.num_process} timed out waiting for the other processes: "
                f"{str(error).rstrip('.')}. One of them has ended or is late: see its output. They wait for "
                f"timeout={self.timeout} seconds, an option of evaluate.load. What was added here stays, and so does "
                f"what the others wrote to {self.data_dir}."
            ) from None
        if self.process_id == 0:
            self.data = None  # unmaps the files
            for lock, path in zip(self.filelocks, self.file_paths, strict=True):
                os.remove(path)
                lock.release()
            for lock in (*self.filelocks, self.rendez_vous_lock):  # which no process needs any more
                os.remove(lock.lock_file)
        self.cache_file_name = self.filelock = self.selected_feature_format = None
        self._round += 1  # a process that is ahead must not overwrite what another has yet to read
        self._module_info.experiment_id = f"{self._experiment}-{self._round}"
        return tables


_PENDING_BATCHES = 1_000  # those of a single row take much more memory than the row


def _read_table(path: str) -> pa.Table:
    with pa.OSFile(path) as file:
        return pa.ipc.open_stream(file).read_all()


_Scored = tuple[list[float], dict[str, Any], list[str]]  # the scores, what `detailed` adds, the warnings


def _scored_texts(aligned: Aligned, rules: Protocol, detailed: bool) -> _Scored:
    texts = decode_texts(aligned.texts, TEXT_TYPES["predictions"])
    answers = decode_texts(aligned.answers, TEXT_TYPES["references"])
    given = texts
    if rules.extract:
        texts = extracted_texts(given, rules.extract)
    scored = score_columns(texts, answers, rules, detailed)
    absent = set(aligned.missing)
    scored = scored._replace(unanswered=[row for row in scored.unanswered if row not in absent])
    scores = scored.scores.tolist()
    zeros, marked = marked_rows(texts, scored.scores)
    is_named = aligned.question_ids is not None and (detailed or scored.unanswered or marked)
    ids = id_list(aligned.question_ids) if is_named else None
    details = {
        "unanswered": len(scored.unanswered),
        "padded": len(scored.padding_gains),
        "padding_gain": math.fsum(scored.padding_gains) / len(scores),
        "scores": scores,
        "question_ids": ids,
        "closest_references": scored.closest,
    }
    if rules.extract and detailed:
        changed = map(operator.ne, as_list(given), texts)
        details["extraction"] = _extraction(rules, changed, score_columns(given, answers, rules).scores.tolist())
    notes = extract_note(zeros, *noted_rows(dict.fromkeys(marked, ""), ids), count_steps(marked), rules.extract)
    return scores, details, [*text_notes(scored, rules, ids), *notes]


def _board_result(
    aligned: Aligned, board: str, answer_types: Any, options: Mapping[str, object] | None, extract: Extract
) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of a leaderboard or benchmark, which are computed by the package alone, and the warnings."""
    from anls_eval.leaderboards.scoring import figures_of

    sides = [[json.loads(text or b"null") for text in side.to_pylist()] for side in (aligned.texts, aligned.answers)]
    references = [own["$one_of"] if isinstance(own, dict) and own.keys() == {"$one_of"} else own for own in sides[1]]
    words: dict[str, Any] = {"protocol": board, "answer_types": answer_types, "options": options, "extract": extract}
    figures, notes = figures_of(sides[0], references, missing=aligned.missing, **words)
    return dict(figures), notes


def _scored_trees(aligned: Aligned, rules: Protocol, detailed: bool, fields: Fields | None) -> _Scored:
    absent = set(aligned.missing)
    stored = zip(aligned.texts.to_pylist(), aligned.answers.to_pylist(), strict=True)
    try:
        pairs = [(json.loads(text or b"null"), json.loads(answers)) for text, answers in stored]
    except RecursionError:
        raise ValueError("a tree is nested too deeply to be read as JSON; score it with anls_star_score") from None
    rows = [row for row in range(len(pairs)) if row not in absent]
    given, references = [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
    predictions = [extracted(own, rules.extract) for own in given] if rules.extract else given
    ids = None if aligned.question_ids is None else id_list(aligned.question_ids)
    own_ids = ids and [ids[row] for row in rows]
    scores, closest, keys = [0.0] * len(pairs), [None] * len(pairs), []
    if not detailed:
        found, searched = score_trees(predictions, references, rules, fields)
        for row, score in zip(rows, found.tolist(), strict=True):
            scores[row] = score
        return scores, {}, tree_notes(predictions, references, rules, own_ids, searched, fields)
    for row, prediction, reference in zip(rows, predictions, references, strict=True):
        try:
            tree = ExplainedTree(prediction, reference, rules, fields)
        except AnlsError as error:  # a reference that its field cannot read
            raise located(f"row {row}" if ids is None else f"question_id {ids[row]!r}", error) from None
        scores[row], closest[row] = tree.score, tree_as_json(tree.closest_reference())
        keys.append(tree.key_scores())
    details: dict[str, Any] = {"scores": scores, "question_ids": ids, "closest_references": closest}
    details["key_scores"] = key_scores_as_json(keys, with_counts=True)
    if rules.extract:
        changed = map(operator.ne, given, predictions)
        without = score_trees(given, references, rules, fields)[0].tolist()
        details["extraction"] = _extraction(rules, changed, [*without, *[0.0] * len(absent)])
    return scores, details, tree_notes(predictions, references, rules, own_ids, fields=fields)


def _extraction(rules: Protocol, changed: Iterable[bool], scores_without: list[float]) -> dict[str, Any]:
    """Return what the steps that take the answer out changed."""
    score_without = math.fsum(scores_without) / len(scores_without)
    return {"steps": list(rules.extract), "changed": sum(changed), "score_without": score_without}
