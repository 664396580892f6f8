"""The metric of the `evaluate` library."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import operator
import os
import warnings
from typing import Any, cast

import datasets
import evaluate
import pyarrow as pa

from anls_eval.arrow import decode_texts
from anls_eval.errors import check_choice
from anls_eval.explanation.result import ScoreNode
from anls_eval.explanation.tree import ExplainedTree
from anls_eval.inputs.values import NOT_GIVEN
from anls_eval.notes import text_notes, tree_notes
from anls_eval.questions.columns import STORED, STORED_TREES, TEXT_TYPES, Side, id_list, is_same_tree, stored_table
from anls_eval.questions.pairing import Aligned, align_questions
from anls_eval.questions.rows import is_row, read_batch
from anls_eval.registry import MISSING, UNKNOWN, get_protocol, resolve_rules, signature
from anls_eval.rules.protocol import Protocol, Threshold
from anls_eval.text.measure import score_columns
from anls_eval.tree.as_json import tree_as_json
from anls_eval.tree.documents import score_trees
from anls_eval.tree.recursion import Computation, run_computation
from anls_eval.types import Missing, Unknown

_DESCRIPTION = """\
ANLS (Average Normalized Levenshtein Similarity) is the score of DocVQA, ST-VQA and InfographicVQA. For each question
it is the similarity 1 - edit distance / length between the prediction and the closest accepted answer, or 0 where that
is below 0.5; over the questions it is averaged. It forgives slips of character recognition, not wrong answers. Each
leaderboard computes it a little differently: the configuration name picks the protocol, evaluate.load("anls", "rrc").
"""

_INPUTS = """
Args:
    predictions: a list of {"question_id": ..., "prediction_text": ...}, or of plain strings.
    references: a list of {"question_id": ..., "answers": [...]}, or of plain lists of accepted answers. With
        question_ids both are aligned by id, whatever their order; without, by position.
    threshold: the least similarity that counts, from 0 to 1, in place of the protocol's.
    detailed: whether to add the score and closest answer of each question, the counts and the signature.
    missing: what a question without a prediction is: "error", or "zero" to score it 0.
    unknown: what a prediction without a question is: "error", or "ignore" to leave it out.

Returns:
    anls_score: the mean over the questions, from 0 to 1.

Examples:
    >>> metric = evaluate.load("anls")
    >>> predictions = [{"question_id": "10285", "prediction_text": "Denver Broncos"},
    ...                {"question_id": "18601", "prediction_text": "12/15/89"}]
    >>> references = [{"question_id": "10285", "answers": ["Denver Broncos", "Denver R. Broncos"]},
    ...               {"question_id": "18601", "answers": ["12/15/88"]}]
    >>> metric.compute(predictions=predictions, references=references)
    {'anls_score': 0.9375}
"""

_CITATION = """\
@inproceedings{biten2019scene,
  title = {Scene Text Visual Question Answering},
  author = {Biten, Ali Furkan and Tito, Ruben and Mafla, Andres and Gomez, Lluis and Rusinol, Marcal and
            Valveny, Ernest and Jawahar, C. V. and Karatzas, Dimosthenis},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision},
  year = {2019},
  url = {https://arxiv.org/abs/1905.13648}
}
@article{peer2024anls,
  title = {ANLS* -- A Universal Document Processing Metric for Generative Large Language Models},
  author = {Peer, David and Sch{\\"o}pf, Philemon and Nebendahl, Volckmar and Rietzler, Alexander and
            Stabinger, Sebastian},
  journal = {arXiv preprint arXiv:2402.03848},
  year = {2024},
  url = {https://arxiv.org/abs/2402.03848}
}
"""


class ANLS(evaluate.Metric):
    """ANLS for `evaluate`: ``evaluate.load("anls")``, or with a protocol ``evaluate.load("anls", "rrc")``.

    What is added is kept as it was given, in memory, and aligned and scored at `compute`; several processes exchange
    it by files. A `compute` that fails leaves what was added by `add` and `add_batch` in place, so that it can be
    completed and scored again; `reset` forgets it.

    Args:
        config_name: A name or alias in `PROTOCOLS`, or a `Protocol`; none means ``standard``.
        **options: Those of `evaluate.Metric`.

    Example:
        >>> metric = ANLS("rrc")
        >>> metric.compute(predictions=["Denver Bronco"], references=[["Denver Broncos", "Broncos"]])
        {'anls_score': 0.9285714285714286}
    """

    writer: Any  # these three are evaluate.Metric's, for several processes
    filelock: Any
    rendez_vous_lock: Any

    def __init__(self, config_name: str | Protocol | None = None, **options: Any) -> None:
        unknown = options.keys() - inspect.signature(evaluate.Metric.__init__).parameters.keys()
        if unknown:
            raise TypeError(
                f"unknown options {sorted(unknown)}: the protocol is the second argument of evaluate.load, as in "
                'evaluate.load("anls", "rrc"), and threshold and the like are options of compute'
            )
        self.protocol = get_protocol("standard" if config_name in (None, "default") else config_name)
        self._schema = STORED_TREES if self.protocol.tree else STORED
        self._tables: list[pa.Table] = []  # what was added
        self._pending: list[dict[str, Side]] = []  # batches that are not yet joined to a table
        self._pending_rows = dict.fromkeys(STORED.names, 0)
        self._with_ids: bool | None = None  # whether the rows that were added have a question_id
        super().__init__(config_name=self.protocol.name if config_name else None, **options)
        self._experiment, self._round = self.experiment_id, 0

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {
                    "predictions": {"question_id": text, "prediction_text": text},
                    "references": {
                        "question_id": text,
                        "answers": text if self.protocol.tree else datasets.Sequence(text),
                    },
                }
            ),
            reference_urls=[
                "https://arxiv.org/abs/1905.13648",
                "https://arxiv.org/abs/2402.03848",
                "https://rrc.cvc.uab.es/?ch=17&com=tasks",
            ],
        )

    def __len__(self) -> int:
        """The number of rows added and not yet scored, of the side that has more."""
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
        """Add one prediction and its reference, or with a question_id one of the two.

        Args:
            prediction: ``{"question_id": ..., "prediction_text": ...}`` or a plain string; of trees, a dict without
                question_id is the tree itself.
            reference: ``{"question_id": ..., "answers": [...]}`` or plain accepted answers; likewise.
            predictions: The name by which `evaluate.combine` passes the prediction.
            references: The name by which `evaluate.combine` passes the reference.

        Raises:
            ValueError: Input that cannot be scored; nothing is added.
        """
        prediction = predictions if prediction is NOT_GIVEN else prediction
        reference = references if reference is NOT_GIVEN else reference
        # None is an answer that was not given, and a tree; beside a row it is nothing.
        reference_alone = prediction is NOT_GIVEN or (prediction is None and is_row(reference))
        no_answers = reference is None and (is_row(prediction) or not self.protocol.tree)
        prediction_alone = reference is NOT_GIVEN or no_answers
        if reference_alone and prediction_alone:
            raise ValueError("add got neither prediction nor reference")
        given = None if reference_alone else [prediction], None if prediction_alone else [reference]
        self._take(read_batch(*given, self.protocol))

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add predictions and references; with question_ids, one side may be longer or absent.

        Args:
            predictions: A list of what `add` takes as prediction, or a column of texts.
            references: A list of what `add` takes as reference.

        Raises:
            ValueError: Input that cannot be scored, with its row; nothing is added.
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
        detailed: bool = False,
        missing: Missing = "error",
        unknown: Unknown = "error",
    ) -> dict[str, Any] | None:
        """Score everything that was added, and what is given here.

        Args:
            predictions: As in `add_batch`.
            references: As in `add_batch`.
            threshold: The least similarity that counts, from 0 to 1, in place of the protocol's.
            detailed: Whether to add to the result, in the order of the references: ``scores``, ``question_ids``
                and ``closest_references``; the counts ``n``, ``missing``, ``unknown``, ``unanswered`` (predictions
                that are None) and ``padded`` (questions whose score was raised by surplus blanks, which
                happens in protocols that divide by raw lengths) with ``padding_gain``, by how much that raised the
                mean; and the ``signature``.
            missing: A question without a prediction is an ``"error"``, or scores ``"zero"``.
            unknown: A prediction without a question is an ``"error"``, or is left out by ``"ignore"``.

        Returns:
            ``{"anls_score": x}`` with x from 0 to 1; None in a process that is not the first of several.

        Raises:
            ValueError: Nothing to score, ids that repeat or do not match, or input that cannot be scored.
        """
        rules = resolve_rules(self.protocol, threshold, of_trees=None)
        check_choice("missing", missing, MISSING)
        check_choice("unknown", unknown, UNKNOWN)
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
            result, notes = (_tree_result if rules.tree else _result)(aligned, rules, detailed, missing)
            for note in notes:
                warnings.warn(note, UserWarning, stacklevel=2)
        except BaseException:
            self._tables = [table[:before], table[after:]]
            self._with_ids = with_ids if len(self) else None
            raise
        return result

    def reset(self) -> None:
        """Forget all that was added and not yet scored."""
        self._tables, self._pending, self._pending_rows = [], [], dict.fromkeys(STORED.names, 0)
        self._with_ids = None

    def _take(self, batch: dict[str, Side]) -> None:
        ids = pa.concat_arrays([side.ids for side in batch.values()])
        if len(ids):
            with_ids = not ids.null_count
            if self._with_ids not in (None, with_ids):
                now, before = ("with", "without") if with_ids else ("without", "with")
                raise ValueError(
                    f"rows {now} question_id after rows {before}; expected all with one or all without. "
                    "Nothing was added; reset() forgets what was added before."
                )
            self._with_ids = with_ids
        self._pending.append(batch)
        self._pending_rows = {name: count + len(batch[name].ids) for name, count in self._pending_rows.items()}
        if max(self._pending_rows.values()) >= _PENDING_ROWS:
            self._join_pending()

    def _join_pending(self) -> None:
        if self._pending:
            self._tables.append(stored_table(self._pending, self._schema))
            self._pending, self._pending_rows = [], dict.fromkeys(STORED.names, 0)

    def _gather(self) -> pa.Table:
        """Take out all that was added; in the first of several processes, by every process."""
        tables = self._exchange() if self.num_process > 1 else self._tables
        self._tables = []
        return pa.concat_tables([self._schema.empty_table(), *(table.replace_schema_metadata() for table in tables)])

    def _exchange(self) -> list[pa.Table]:
        """Write the rows of this process to a file; in the first process, read and remove the files of all."""
        self.selected_feature_format = datasets.Features.from_arrow_schema(self._schema)
        try:
            self._init_writer()
            for table in self._tables:
                self.writer.write_table(table, max(1, table.num_rows))
            self._finalize()
            tables = list(map(_read_table, self.file_paths)) if self.process_id == 0 else []
        except (ValueError, OSError) as error:  # pa.ArrowInvalid, of a file that is not whole, is a ValueError
            for lock in (self.filelock, self.rendez_vous_lock):
                if lock is not None:
                    lock.release()
            self.writer = self.cache_file_name = self.filelock = self.rendez_vous_lock = None
            raise ValueError(
                f"process {self.process_id} of {self.num_process} did not get together with the others: "
                f"{str(error).rstrip('.')}. One of them has ended or is late: see its own messages. They wait "
                f"timeout={self.timeout} seconds for one another, an option of evaluate.load. What was added here "
                f"stays in place, and what the others wrote in {self.data_dir}."
            ) from None
        if self.process_id == 0:
            self.data = None  # unmaps the files
            for lock, path in zip(self.filelocks, self.file_paths, strict=True):
                os.remove(path)
                lock.release()
            for lock in (*self.filelocks, self.rendez_vous_lock):  # all processes are past them
                os.remove(lock.lock_file)
        self.cache_file_name = self.filelock = self.selected_feature_format = None
        self._round += 1  # a process that is ahead must not write over what another has still to read
        self._module_info.experiment_id = f"{self._experiment}-{self._round}"
        return tables


_PENDING_ROWS = 10_000


def _read_table(path: str) -> pa.Table:
    with pa.OSFile(path) as file:
        return pa.ipc.open_stream(file).read_all()


def _result(aligned: Aligned, rules: Protocol, detailed: bool, missing: Missing) -> tuple[dict[str, Any], list[str]]:
    texts = decode_texts(aligned.texts, TEXT_TYPES["predictions"])
    scored = score_columns(texts, decode_texts(aligned.answers, TEXT_TYPES["references"]), rules, detailed)
    absent = set(aligned.missing)
    scored = scored._replace(unanswered=[row for row in scored.unanswered if row not in absent])
    scores = scored.scores.tolist()
    n = len(scores)
    result: dict[str, Any] = {"anls_score": math.fsum(scores) / n}
    if detailed:
        result |= {
            "n": n,
            "missing": len(absent),
            "unknown": aligned.unknown,
            "unanswered": len(scored.unanswered),
            "padded": len(scored.padding_gains),
            "padding_gain": math.fsum(scored.padding_gains) / n,
            "scores": scores,
            "question_ids": None if aligned.question_ids is None else id_list(aligned.question_ids),
            "closest_references": scored.closest,
            "signature": signature(rules, n=n, missing=missing),
        }
    named = (scored.unanswered or scored.padding_gains) and aligned.question_ids is not None
    return result, aligned.notes + text_notes(scored, rules, id_list(aligned.question_ids) if named else None)


def _tree_result(
    aligned: Aligned, rules: Protocol, detailed: bool, missing: Missing
) -> tuple[dict[str, Any], list[str]]:
    absent = set(aligned.missing)
    stored = zip(aligned.texts.to_pylist(), aligned.answers.to_pylist(), strict=True)
    try:
        pairs = [(json.loads(text or b"null"), json.loads(answers)) for text, answers in stored]
    except RecursionError:
        raise ValueError(
            "a tree is nested more deeply than JSON can be read here; score it with anls_star_score"
        ) from None
    n = len(pairs)
    given = [pair for row, pair in enumerate(pairs) if row not in absent]
    names = None if aligned.question_ids is None else id_list(aligned.question_ids)
    notes = tree_notes(
        [p for p, _ in given],
        [g for _, g in given],
        rules,
        names and [name for row, name in enumerate(names) if row not in absent],
    )
    if not detailed:
        total = math.fsum(score_trees([p for p, _ in given], [g for _, g in given], rules).tolist())
        return {"anls_star_score": total / n}, aligned.notes + notes
    scores, closest, keys = [0.0] * n, [None] * n, []
    for row, pair in enumerate(pairs):
        if row not in absent:
            found = ExplainedTree(*pair, rules)
            scores[row], closest[row] = found.score, tree_as_json(found.closest_reference())
            keys.append(found.key_scores())
    result = {
        "anls_star_score": math.fsum(scores) / n,
        "n": n,
        "missing": len(absent),
        "unknown": aligned.unknown,
        "scores": scores,
        "question_ids": None if aligned.question_ids is None else id_list(aligned.question_ids),
        "closest_references": closest,
        "key_scores": run_computation(_mean_key_scores(keys)),
        "signature": signature(rules, n=n, missing=missing),
    }
    return result, aligned.notes + notes


def _mean_key_scores(documents: list[dict[str, ScoreNode]]) -> Computation:
    """Of each path of keys, the mean over the documents in which it was compared, and how many those are."""
    mean: dict[str, Any] = {}
    for key in dict.fromkeys(itertools.chain.from_iterable(documents)):
        nodes = [nodes[key] for nodes in documents if key in nodes]
        mean[key] = {
            "anls_score": math.fsum(cast(float, node.anls_score) for node in nodes) / len(nodes),
            "documents": len(nodes),
            "children": (yield _mean_key_scores([node.children for node in nodes])),
        }
    return mean
