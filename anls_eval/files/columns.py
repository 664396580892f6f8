"""Find the column of each role: the names that files use, and the layouts that their columns identify."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence

from anls_eval.errors import AnlsError, Remedy, short_repr
from anls_eval.files.errors import FormatError, listed
from anls_eval.files.source import KEY, VALUE

IDS = ("questionId", "question_id", "id", "qid")
_PREDICTIONS = ("prediction", "prediction_text", "pred", "response")
_ANSWERS = ("answers", "gold", "reference")
# Less usual: LLaMA-Factory writes predict and label, ms-swift response and labels, Qwen-VL and InternVL answer and
# annotation, Donut predictions and ground_truths.
_MORE_PREDICTIONS = (
    "predict", "predictions", "preds", "predicted_answer", "pred_answer", "model_answer", "model_response",
    "model_output", "generated_text", "generated_answer", "responses",
)  # fmt: skip
_MORE_ANSWERS = (
    "gt_answers", "gt_answer", "gts", "gt", "ground_truth", "ground_truths", "references", "gold_answers",
    "gold_answer", "golden_answers", "reference_answer", "reference_answers", "correct_answer", "annotation",
)  # fmt: skip
_LAST_PREDICTIONS = ("output", "outputs", "generation", "completion")
_LAST_ANSWERS = ("labels", "label", "targets", "target", "solution", "solutions")  # which also name other things
_EITHER = ("answer",)  # what submissions call the prediction, and some references the answer
_DOCUMENTS = ("docId", "doc_id", "docid", "document", "ucsf_document_id", "image", "image_local_name")

_FIELDS = frozenset((
    "reference", "references", "annotation", "answer", "response", "responses", "output", "outputs", "completion",
    "generation", "label", "labels", "target", "targets", "solution", "solutions",
))  # fmt: skip
"""Names for predictions and answers that fields of documents have, too, such as what an invoice refers to."""

ROLES = ("question_id", "prediction", "answers", "answer_type", "document")
"""The roles that a column can have."""

SIDES = ("predictions", "references")
"""Before a role and a dot: for files of this side alone."""

_AND = " + "  # between columns that together form the id

EVERYTHING = "*"
"""As the column of predictions or answers: the whole row without its id, as one tree."""

Groups = tuple[tuple[str, ...], ...]
"""Groups of names: the first group that has a column in the file is used; two columns of one group are an error."""


def read_roles(texts: Iterable[str]) -> dict[str, str]:
    """Return the names of columns by role, from texts such as ``prediction=output``."""
    roles = {}
    for text in texts:
        role, _, name = (part.strip() for part in text.partition("="))
        if not name:
            raise AnlsError("expected ROLE=NAME, as in prediction=output", option="columns", value=text)
        side, _, bare = role.rpartition(".")
        if bare not in ROLES or side not in ("", *SIDES):
            close = [name] if name in ROLES else difflib.get_close_matches(role, ROLES, n=1)
            meant = f" Did you mean {close[0]}={role if close[0] == name else name}?" if close else ""
            problem = f"{role!r} is not a role. Expected ROLE=NAME with one of {', '.join(ROLES)}.{meant}"
            raise AnlsError(problem, option="columns", value=text)
        roles[role] = name
    return roles


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of one kind of file; the first of the `document` names that the file has is used."""

    name: str
    known_by: tuple[str, ...] = ()  # a file with all of these columns has this layout
    question_id: Groups = (IDS,)
    prediction: Groups = (_PREDICTIONS, _MORE_PREDICTIONS, _EITHER, _LAST_PREDICTIONS)
    answers: Groups = (_ANSWERS, _MORE_ANSWERS, _EITHER, _LAST_ANSWERS)
    more_answers: str | None = None  # column with further accepted answers, where the answer is not a list
    document: tuple[str, ...] = _DOCUMENTS
    id_parts: tuple[str, ...] = ()  # columns that together identify a question, where there is no id
    in_cells: bool | None = None  # whether a list of answers is written as text; None if that depends on the file


_PLAIN = Layout("")
_VALUES = Layout("values", question_id=((KEY,),), prediction=((VALUE,),), answers=((VALUE,),))
_SAMPLES = Layout(
    "lm_eval",
    ("doc_id", "target", "filtered_resps"),
    question_id=(IDS, ("doc_id",)),
    prediction=(("filtered_resps",),),
    answers=(("target",),),
    document=("docId", "document", "ucsf_document_id"),
    in_cells=True,
)
# The answers of MMLongBench-Doc are texts, of lists too, which its scorer parses by the answer_format.
_LONG_DOCUMENTS = Layout(
    "mmlongbench",
    ("doc_id", "question", "answer_format"),
    prediction=(("pred",), _PREDICTIONS),
    answers=(_EITHER,),
    id_parts=("doc_id", "question"),
    in_cells=False,
)
_TABLES = Layout(
    "vlmevalkit",
    ("index", "question", "answer"),
    question_id=(IDS, ("index",)),
    prediction=(("prediction",),),
    document=("docId", "docid", "document"),  # its column image holds the picture itself
    in_cells=True,  # even where the table is written as JSON
)
# One row for each annotation of a document: anls_eval.files.json_text.rows_of makes them.
_DUE = Layout("due", ("due_values",), prediction=(("due_values",),), answers=(("due_values",),))
# What batches of OpenAI, Anthropic and vLLM return: the id is that of the request, the custom_id that of the question.
_BATCHES = dataclasses.replace(_PLAIN, known_by=("custom_id",), question_id=(("custom_id",),))
_LAYOUTS = (
    _DUE,
    dataclasses.replace(_SAMPLES, name="lmms_eval", known_by=(*_SAMPLES.known_by, "input")),
    _SAMPLES,
    Layout("dude", ("answers_variants",), prediction=(_PREDICTIONS, _EITHER), more_answers="answers_variants"),
    Layout("dude", ("answers_confidence",), prediction=(("answers",), _EITHER), answers=(("gold", "reference"),)),
    _LONG_DOCUMENTS,
    dataclasses.replace(_LONG_DOCUMENTS, name="mmesgbench"),  # the same columns: found as mmlongbench
    _TABLES,
    dataclasses.replace(_TABLES, known_by=("index", "prediction")),
    dataclasses.replace(_PLAIN, name="squad"),
    dataclasses.replace(_PLAIN, name="rrc", known_by=("questionId",)),
    _VALUES,
    _BATCHES,
)

LAYOUTS = {
    "rrc": "DocVQA, InfographicVQA and others of the Robust Reading Competition: questionId, answer or answers",
    "dude": "DUDE: answers and answers_variants; submissions with answers and answers_confidence",
    "mmlongbench": "MMLongBench-Doc samples and results: doc_id, question, answer, answer_format, pred",
    "mmesgbench": "MMESGBench samples and results, whose columns are those of MMLongBench-Doc",
    "squad": "SQuAD: data, paragraphs, qas; predictions as an object from id to text",
    "lm_eval": "samples_*.jsonl of lm-eval: doc, target, filtered_resps",
    "lmms_eval": "*_samples_*.jsonl of lmms-eval: input, target, filtered_resps",
    "due": "document.jsonl of the DUE benchmark: a document on each line, with its annotations",
    "vlmevalkit": "tables of VLMEvalKit: index, question, answer, prediction",
}
"""The layouts that `format` can name, with a description."""


@dataclasses.dataclass(frozen=True)
class Found:
    """The columns of one side."""

    layout: Layout
    question_id: tuple[str, ...]  # the id's column, or several that make it up together, or none
    value: str  # the column of the predictions or of the answers
    extra: dict[str, str]  # the further columns to read, by what they are called in a batch
    has_other_side: bool  # whether the file has a column for the other side, too
    more_answers: str | None  # a column with further accepted answers
    may_be_field: bool = False  # whether the names are those of a document, too, of which the value is one field


def find_columns(
    names: Sequence[str],
    side: str,
    *,
    layout: str | None,
    given: Mapping[str, str],
    by: Iterable[str],
    path: str,
) -> Found:
    """Find the column of each role for one side, ``"prediction"`` or ``"answers"``; `given` names columns by role."""
    rules = _layout(names, side, layout)
    others = {"prediction": rules.prediction, "answers": rules.answers}
    groups = others.pop(side)
    (other, other_groups), *_ = others.items()

    given = of_side(given, side)
    unknown = [role for role in given if role not in ROLES]
    if unknown:
        close = difflib.get_close_matches(unknown[0], ROLES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise FormatError(path, f"columns names {short_repr(unknown[0])}; expected the roles {', '.join(ROLES)}.{hint}")
    if given.get(side) == EVERYTHING:
        value = EVERYTHING
    elif side in given:
        value = _named(given[side], names, path, side)
    else:
        other_side = _matches(other_groups, names)
        hint = f" It has {_WHAT[other]} in {other_side[0]!r}: is this the other file?" if len(other_side) == 1 else ""
        value = _only(_matches(groups, names), names, path, side, groups, hint)
    if "question_id" in given:
        named = given["question_id"]
        parts = [named] if named in names else named.split(_AND)
        ids = tuple(_named(part, names, path, "question_id") for part in parts)
    else:
        found = _matches(rules.question_id, names)
        ids = (_only(found, names, path, "question_id", rules.question_id),) if found else ()
        if not ids and rules.id_parts and set(rules.id_parts) <= set(names):
            ids = rules.id_parts
    extra = {name: _named(name, names, path, "by") for name in by}
    for role, usual in (("answer_type", ("answer_type", "answer_format")), ("document", rules.document)):
        if role in given and side == "answers":  # predictions often have none
            extra[role] = _named(given[role], names, path, role)
        candidates = [given[role]] if role in given else usual
        present = [name for name in candidates if name in names and name != value]
        if present:
            extra.setdefault(role, present[0])
    others_found = _matches(((given[other],),) if other in given else other_groups, names)
    has_other = others_found not in ([], [value])
    more = rules.more_answers if side == "answers" and side not in given and rules.more_answers in names else None
    may_be_field = side not in given and _may_be_field(value, ids, names)
    return Found(rules, ids, value, extra, has_other, more, may_be_field)


def _may_be_field(value: str, ids: tuple[str, ...], names: Sequence[str]) -> bool:
    """Return whether a value may be one field of a document, which has an id and other fields, too."""
    others = {name.strip().casefold() for name in names} - names_of_role("prediction") - names_of_role("answers")
    is_usual = "question" in others or others <= {"id", *_EITHER, *map(str.casefold, _DOCUMENTS)}
    return value.strip().casefold() in _FIELDS and [name.casefold() for name in ids] == ["id"] and not is_usual


def of_side(given: Mapping[str, str], side: str) -> dict[str, str]:
    """Return the columns by role for one side; ``predictions.ROLE`` takes precedence over ``ROLE``."""
    start = "predictions." if side == "prediction" else "references."
    both = {role: name for role, name in given.items() if not role.startswith(("predictions.", "references."))}
    return both | {role.removeprefix(start): name for role, name in given.items() if role.startswith(start)}


def _layout(names: Sequence[str], side: str, name: str | None) -> Layout:
    possible = [layout for layout in _LAYOUTS if name in (None, layout.name)]
    known = [layout for layout in possible if layout.known_by and set(layout.known_by) <= set(names)]
    if known or name is None:
        return (known or [_PLAIN])[0]
    return possible[-1 if side == "prediction" else 0]  # DUDE has one for each side


def _matches(groups: Groups, names: Sequence[str]) -> list[str]:
    """Return the columns named in the first group that matches any, ignoring case only where none matches exactly."""
    for group in groups:
        found = [name for name in names if name in group]
        if not found:
            folded = {name.casefold() for name in group}
            found = [name for name in names if name.strip().casefold() in folded]
        if found:
            return found
    return []


def _named(wanted: str, names: Sequence[str], path: str, role: str) -> str:
    found = _matches(((wanted,),), names)
    if len(found) != 1:
        problem = f"no column {short_repr(wanted)}" if not found else f"{wanted!r} could be any of {listed(found)}"
        raise FormatError(path, f"{problem}, named as {role}. The columns are: {listed(names)}.")
    return found[0]


class NoColumnError(FormatError):
    """A file has no column for a role that it needs one for."""

    def explained(self, remedies: Sequence[Remedy], notes: Iterable[str]) -> "NoColumnError":
        """Return this error with these remedies in place of its own, if there are any, and with notes on the file."""
        told = "".join(f" {note[:1].upper()}{note[1:]}." for note in notes)
        return NoColumnError(self.path, self.problem + told, self.place, remedies or self.remedies)


def names_of_role(side: str) -> frozenset[str]:
    """Return the names that only the predictions, or only the accepted answers, have."""
    groups = _PLAIN.prediction if side == "prediction" else _PLAIN.answers
    return frozenset(name for group in groups if group is not _EITHER for name in group)


_SHOWN_NAMES = 8
_WHAT = {"prediction": "the predictions", "answers": "the accepted answers", "question_id": "the question ids"}


def _only(found: list[str], names: Sequence[str], path: str, role: str, groups: Groups, hint: str = "") -> str:
    if len(found) == 1:
        return found[0]
    usual = ", ".join(list(dict.fromkeys(name for group in groups for name in group))[:_SHOWN_NAMES])
    problem = (
        f"{len(found)} columns could hold {_WHAT[role]}: {listed(found)}" if found else f"no column holds {_WHAT[role]}"
    )
    if role == "answers" and not found:
        hint += " The questions of a test split have no answers to score against; a check needs only their ids."
    raise (FormatError if found else NoColumnError)(
        path,
        f"{problem}. Expected one column of {usual}; the columns are: {listed(names)}.{hint}",
        remedies=[Remedy("columns", {role: "NAME"}, "name the right one")],
    )
