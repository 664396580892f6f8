"""What is recorded, section by section, each output with a key. All input is test data or follows from a seed."""

import contextlib
import csv
import dataclasses
import datetime
import gc
import gzip
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import docvqa_runs
import pyarrow as pa
import pyarrow.parquet as pq
from places import DATA, EXAMPLES

from golden import inputs, subject
from golden.inputs import read_lines, write_lines

Outputs = Iterator[tuple[str, Any]]

GOLD = docvqa_runs.FOLDER / "references.json"
DUDE = EXAMPLES / "dude" / "DUDE_demo_submission_imperfect.json", EXAMPLES / "dude" / "DUDE_demo_gt.json"
TEXTS = [rules for rules in subject.PROTOCOLS.values() if not rules.tree]
TREES = [rules for rules in subject.PROTOCOLS.values() if rules.tree]
THRESHOLDS = (0, 0.3, 0.5, 0.8, 1, Fraction(2, 3), Decimal("0.7"), 0.1 + 0.2)
CHANGED = [
    subject.Protocol(
        name="composed",
        prediction_steps=("nfc", "strip", "lower", "collapse"),
        answer_steps=("nfc", "strip", "lower", "collapse"),
        threshold=Fraction(1, 3),
    ),
    subject.Protocol(
        name="costly", prediction_steps=("lower",), answer_steps=(), substitution_cost=2, keep=">", threshold=0.4
    ),
    subject.Protocol(
        name="free", prediction_steps=("strip",), answer_steps=("strip",), substitution_cost=0, threshold=Decimal("0.6")
    ),
    subject.Protocol(
        name="mixed",
        prediction_steps=("nfkc", "no-newlines", "no-outer-dots", "upper"),
        answer_steps=("nfkc", "no-final-dot", "no-end-punctuation", "upper"),
        prediction_length="raw",
        answer_length="compared-upper",
        both_empty=0,
        zero_predictions=("", "NONE", "A-B|C+D", "\ud800"),
    ),
]
CHANGED_TREES = [
    dataclasses.replace(TREES[0], name="strict", threshold=0.9),
    dataclasses.replace(TREES[1], name="cased", prediction_steps=(), answer_steps=(), substitution_cost=2, keep=">"),
]


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a function gives, or which kind of error it raises."""
    try:
        return function(*arguments, **options)
    except (ValueError, TypeError) as error:
        return {"error": next(kind.__name__ for kind in (ValueError, TypeError) if isinstance(error, kind))}


def same(*ways: Any) -> Any:
    """Return what several ways give: once if it is the same, as it must be."""
    return ways[0] if all(repr(way) == repr(ways[0]) for way in ways) else {"not the same": ways}


# ---------------------------------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------------------------------


def flat(folder: Path) -> Outputs:
    random = Random(1)
    seeded = [inputs.question(random) for _ in range(250)]
    odd = [inputs.question(random, ("\ud800", "\udfff", "\U0010ffff")) for _ in range(60)]
    known = [(row["prediction"], row["answers"]) for row in read_lines("protocols.jsonl")]
    for rules in (*TEXTS, *CHANGED):
        for name, questions in {"seeded": seeded, "surrogates": odd, "protocols.jsonl": known}.items():
            yield f"{rules.name}, {name}", _scores(questions, protocol=rules)
        for run in docvqa_runs.RUNS:
            yield f"{rules.name}, {run}", _columns(docvqa_runs.predictions(run), docvqa_runs.answers(), protocol=rules)
    for threshold in THRESHOLDS:
        for protocol in ("standard", "paper", "rrc", "mistral_evals"):
            yield f"{protocol} at {threshold}", _scores(seeded, protocol=protocol, threshold=threshold)
    for rules in (*TEXTS, *TREES, *CHANGED, *CHANGED_TREES):
        lines = [subject.signature(rules, threshold, 1000, missing="zero") for threshold in (None, *THRESHOLDS)]
        yield f"signatures of {rules.name}", [*lines, *map(subject.protocol_from_signature, lines)]
    yield "signatures", list(map(subject.signature, subject.PROTOCOLS))
    yield "protocols", subject.PROTOCOLS
    yield "aliases", {name: subject.get_protocol(name).name for rules in TEXTS for name in rules.aliases}


def _scores(questions: list[tuple[Any, Any]], **options: Any) -> Any:
    """Return the scores: one by one, and as columns."""
    single = [subject.anls_score(*own, **options) for own in questions]
    predictions, answers = map(list, zip(*questions, strict=True))
    return same(single, _columns(predictions, answers, **options))


def _columns(predictions: list[Any], answers: list[Any], **options: Any) -> Any:
    """Return the scores: from lists, and from Arrow columns where they can hold the texts."""
    ways: list[tuple[Any, Any]] = [(predictions, answers)]
    with contextlib.suppress(UnicodeEncodeError, pa.ArrowException):
        ways.append((pa.array(predictions), pa.array(answers)))
    return same(*(subject.anls_scores(*own, **options).tolist() for own in ways))


def trees(folder: Path) -> Outputs:
    rows = read_lines("anls_star.jsonl") + read_lines("anls_star_ties.jsonl") + read_lines("lists.jsonl")
    pairs = {row["id"]: (row["prediction"], row["reference"]) for row in rows}
    pairs |= {row["id"]: (row["pred"], row["gold"]) for row in read_lines("documents/invoices.jsonl")}
    random = Random(2)
    pairs |= inputs.documents(random)
    for rules in TREES:
        for name, own in pairs.items():
            yield f"{rules.name}, {name}", outcome(_explained, *own, rules)
    for rules in (*TREES, *CHANGED_TREES):
        scored = {name: outcome(subject.anls_star_score, *own, protocol=rules) for name, own in pairs.items()}
        of_numbers = [name for name, score in scored.items() if isinstance(score, float)]
        batch = zip(*(pairs[name] for name in of_numbers), strict=True)
        scores = subject.anls_star_scores(*map(list, batch), protocol=rules).tolist()
        yield f"{rules.name}, all", same([scored[name] for name in of_numbers], scores)
    for number, question in enumerate([inputs.question(random) for _ in range(40)]):
        yield f"text {number}", _rows_for_matches(subject.explain(*question, protocol="rrc").to_dict())


def _explained(prediction: Any, reference: Any, rules: subject.Protocol) -> dict[str, Any]:
    found = subject.explain(prediction, reference, protocol=rules).to_dict()
    score = subject.anls_star_score(prediction, reference, protocol=rules)
    return _rows_for_matches(found | {"score": same(found["score"], score)})


def _rows_for_matches(explanation: dict[str, Any]) -> dict[str, Any]:
    """Return an explanation with its matches as rows, of which the names need not be repeated."""
    return explanation | {"matches": [list(match.values()) for match in explanation["matches"]]}


def leaderboards(folder: Path) -> Outputs:
    random = Random(4)
    known: dict[tuple[str, str | None], list[tuple[Any, Any]]] = {}
    for row in read_lines("leaderboards.jsonl"):
        known.setdefault((row["protocol"], row.get("answer_type")), []).append((row["prediction"], row["reference"]))
    samples = read_lines("mmlongbench/samples.jsonl")
    for name, board in subject.LEADERBOARDS.items():
        for answer_type in board.answer_types or (None,):
            rows = {"leaderboards.jsonl": known.get((name, answer_type), [])}
            rows["typed.jsonl"] = [
                (row["prediction"], row["reference"])
                for row in read_lines("typed.jsonl")
                if row["answer_type"] == answer_type
            ]
            lists = read_lines("lists.jsonl") if answer_type and "list" in answer_type.lower() else []
            rows["lists.jsonl"] = [(row["prediction"], row["reference"]) for row in lists]
            texts = [] if answer_type in ("Int", "Float", "List") else read_lines("protocols.jsonl")
            rows["protocols.jsonl"] = [(row["prediction"], row["answers"]) for row in texts]
            rows["seeded"] = [inputs.typed(random, answer_type) for _ in range(150)]
            for source, own in rows.items():
                if own:
                    yield f"{name}, {answer_type}, {source}", _board_scores(own, name, answer_type)
        if board.answer_types and "Int" in board.answer_types:
            answers = [row["answer"] for row in samples]
            predictions = [random.choice((own, random.choice(answers), inputs.misread(random, own))) for own in answers]
            types = [row["answer_format"] for row in samples]
            scores = subject.leaderboard_scores(predictions, answers, protocol=name, answer_types=types)
            yield f"{name}, samples.jsonl", scores
            yield f"{name}, summary", subject.leaderboard_summary(scores, predictions, answers, protocol=name)


def _board_scores(pairs: list[tuple[Any, Any]], protocol: str, answer_type: str | None) -> Any:
    """Return the scores and errors one by one; all that have a score get the same together."""
    single = [outcome(subject.leaderboard_score, *own, protocol=protocol, answer_type=answer_type) for own in pairs]
    scored = [pair for pair, score in zip(pairs, single, strict=True) if isinstance(score, float)]
    types = None if answer_type is None else [answer_type] * len(scored)
    columns = [prediction for prediction, _ in scored], [reference for _, reference in scored]
    scores = iter(subject.leaderboard_scores(*columns, protocol=protocol, answer_types=types).tolist())
    return same(single, [next(scores) if isinstance(score, float) else score for score in single])


def metric(folder: Path) -> Outputs:
    lenient: dict[str, Any] = {"detailed": True, "missing": "zero", "unknown": "ignore"}
    for protocol in ("standard", "paper", "rrc", "mpdocvqa", "idefics"):
        random = Random(5)
        questions = {f"q{number}": inputs.question(random) for number in range(80)}
        yield from _computed(random, protocol, questions, lenient | {"threshold": None})
        yield from _computed(random, protocol, questions, lenient | {"threshold": Fraction(2, 3)})
    texts, answers = (list(side) for side in zip(*questions.values(), strict=True))
    forms = (answers, [{"text": own} for own in answers], pa.array(answers))
    plain_lists = [subject.ANLS().compute(predictions=texts, references=own, detailed=True) for own in forms]
    yield "without ids", same(*plain_lists)
    documents = {row["id"]: (row["pred"], row["gold"]) for row in read_lines("documents/invoices.jsonl")}
    for protocol in ("anls_star", "anls_star_paper"):
        yield from _computed(Random(6), protocol, documents, lenient | {"threshold": 0.6})
    for run in docvqa_runs.RUNS:
        predictions, references = docvqa_runs.predictions(run), docvqa_runs.answers()
        yield run, subject.ANLS("rrc").compute(predictions=predictions, references=references, detailed=True)


def _computed(random: Random, protocol: str, questions: dict[str, tuple[Any, Any]], options: Any) -> Outputs:
    """Yield results of rows with ids, out of order, incomplete and repeated, given at once and bit by bit."""
    predictions = [{"question_id": id_, "prediction_text": own} for id_, (own, _) in questions.items()]
    references = [{"question_id": id_, "answers": own} for id_, (_, own) in questions.items()]
    name = f"{protocol} at {options['threshold']}"
    found = subject.ANLS(protocol).compute(predictions=predictions, references=references, **options)
    yield f"{name}, in order", found
    predictions = [*random.sample(predictions, len(predictions) - 5), predictions[0], predictions[0]]
    predictions.append({"question_id": "unknown", "prediction_text": "x"})
    references = [*random.sample(references, len(references)), references[-1]]
    filled = subject.ANLS(protocol)
    for row in predictions:
        filled.add(prediction=row)
    filled.add_batch(references=references)
    ways = [filled.compute(**options)]
    ways.append(subject.ANLS(protocol).compute(predictions=predictions, references=references, **options))
    yield f"{name}, out of order", same(*ways)


# ---------------------------------------------------------------------------------------------------
# Submissions
# ---------------------------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Return the files of predictions and references by name, with those that are made here."""
    random = Random(7)
    questions = json.loads(GOLD.read_text(encoding="utf-8"))["data"]
    texts = docvqa_runs.predictions("qwen2_vl_7b_instruct")
    references = [
        {"id": row["questionId"], "answers": row["answers"], "page": random.randrange(60), "kind": random.choice("abc")}
        for row in questions
    ]
    predictions = [
        {"id": row["id"], "prediction": random.choice((text, text, text, None)), "sure": random.randrange(101) / 100}
        for row, text in zip(references, texts, strict=True)
        if random.random() < 0.97
    ]
    predictions = [*random.sample(predictions, len(predictions)), {"id": "other", "prediction": "x", "sure": 0.5}]
    invoices = read_lines("documents/invoices.jsonl")
    documents = [{"id": row["id"], "prediction": row["pred"]} for row in invoices]
    formats = DATA / "formats"
    samples = json.loads(gzip.decompress((formats / "mmlongbench_v2_samples.json.gz").read_bytes()))
    answers = [row["answer"] for row in samples]
    made = [
        {**row, "response": random.choice((row["answer"], random.choice(answers), "Not answerable"))} for row in samples
    ]
    (folder / "samples.json").write_text(json.dumps(made), encoding="utf-8")
    return {
        **{run: (docvqa_runs.FOLDER / f"pred_{run}.json", GOLD) for run in docvqa_runs.RUNS},
        "dude": DUDE,
        "portal": (formats / "evaluate_json_submission.json", formats / "evaluate_json_gold_label.json"),
        "made": (write_lines(folder / "ours.jsonl", predictions), write_lines(folder / "gold.jsonl", references)),
        "trees": (
            write_lines(folder / "documents.jsonl", documents),
            write_lines(folder / "trees.jsonl", [{"id": row["id"], "answers": row["gold"]} for row in invoices]),
        ),
        "samples": (folder / "samples.json", folder / "samples.json"),
    }


_LENIENT = {"missing": "zero", "unknown": "ignore"}
_SUBMISSIONS: list[tuple[str, dict[str, Any]]] = [
    ("qwen2_vl_7b_instruct", {}),
    ("qwen2_vl_7b", {"protocol": "rrc", "threshold": "4/5"}),
    ("llama_scout", {"protocol": "paper", "seed": 3}),
    ("llama_nemotron", {"protocol": CHANGED[3]}),
    ("dude", {"protocol": "dude", "by": ["answer_type", "data_split"]}),
    ("dude", {"protocol": "dude", "cluster_by": "docId"}),
    ("portal", {"protocol": "rrc"}),
    ("made", {**_LENIENT, "by": ["kind", "page"], "cluster_by": "page", "seed": 1}),
    ("made", {**_LENIENT, "protocol": "icdar2026", "by": ["kind"]}),
    ("trees", {"protocol": "anls_star"}),
    ("trees", {"protocol": "anls_star_paper", "threshold": 0.8}),
    ("samples", {"protocol": "mmlongbench", "by": ["answer_format"], "cluster_by": "doc_id"}),
    ("samples", {"protocol": "mmesgbench"}),
]


def _opened(sides: tuple[Path, Path]) -> tuple[Any, Any]:
    return subject.open_predictions(sides[0]), subject.open_references(sides[1])


def submissions(folder: Path) -> Outputs:
    files = _files(folder)
    for number, (name, options) in enumerate(_SUBMISSIONS):
        sides = files[name]
        key = f"{number} {name}"
        yield key, subject.score_submission(*_opened(sides), **options)
        yield f"{key}, questions", subject.score_questions(*_opened(sides), **options)
        for suffix, read in _ROWS.items():
            path = folder / f"rows.{suffix}"
            subject.score_submission(*_opened(sides), **options, per_question=path)
            yield f"{key}, {suffix}", read(path)


_ROWS: dict[str, Callable[[Path], Any]] = {
    "jsonl": lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()],
    "csv": lambda path: list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))),
    "parquet": lambda path: pq.read_table(path).to_pylist(),
}


# ---------------------------------------------------------------------------------------------------
# What is said about scores
# ---------------------------------------------------------------------------------------------------


def analysis(folder: Path) -> Outputs:
    random = Random(8)
    seeded = [inputs.question(random) for _ in range(300)]
    columns: dict[str, tuple[Any, Any]] = {
        run: (docvqa_runs.predictions(run), docvqa_runs.answers()) for run in docvqa_runs.RUNS
    }
    columns["seeded"] = [prediction for prediction, _ in seeded], [answers for _, answers in seeded]
    for name, own in columns.items():
        yield f"compare_protocols, {name}", subject.compare_protocols(*own, most=8)
        for rules in (*map(subject.get_protocol, ("standard", "paper", "rrc", "mpdocvqa")), CHANGED[1]):
            yield f"threshold_sweep, {name}, {rules.name}", subject.threshold_sweep(*own, protocol=rules)
            losses = subject.classify_losses(*own, protocol=rules)
            yield f"losses, {name}, {rules.name}", losses
            yield f"confusions, {name}, {rules.name}", subject.character_confusions(losses)
    yield "compare_protocols, changed", subject.compare_protocols(*columns["seeded"], protocols=[*CHANGED, "docvqa"])
    for name, reported in (("qwen2_vl_7b", "0.2691"), ("qwen2_vl_7b", 26.91), ("seeded", "0.4"), ("seeded", "0.99999")):
        yield f"diagnose, {name}, {reported}", subject.diagnose(*columns[name], reported)
    known = [(row["prediction"], row["answers"]) for row in read_lines("protocols.jsonl")]
    for number, question in enumerate((*known, *seeded[:40])):
        for protocol in ("standard", "rrc"):
            yield f"explain_answers, {protocol}, {number}", _compared(*question, protocol=protocol)
    for number, question in enumerate(inputs.typed(random, "Str") for _ in range(20)):
        found = outcome(_compared, *question, protocol="mmlongbench", answer_type="Str")
        yield f"explain_answers, mmlongbench, {number}", found


def _compared(prediction: Any, answers: Any, **options: Any) -> dict[str, Any]:
    """Return an answer beside each of the accepted ones."""
    return subject.explain_answers(prediction, answers, **options).to_dict()


def statistics(folder: Path) -> Outputs:
    random = Random(9)
    scores = {run: subject.anls_scores(docvqa_runs.predictions(run), docvqa_runs.answers()) for run in docvqa_runs.RUNS}
    pages = [f"page {random.randrange(40)}" for _ in range(1000)]
    confidences = [random.choice((0, 0.25, random.randrange(1001) / 1000, 1)) for _ in range(1000)]
    for name, own in scores.items():
        yield f"calibration, {name}", subject.calibration(own, confidences, bins=20)
        for clusters in (None, pages):
            options: dict[str, Any] = {"clusters": clusters, "level": 0.9, "resamples": 2000, "seed": 5}
            how = "clusters" if clusters else "questions"
            yield f"confidence_interval, {name}, {how}", subject.confidence_interval(own, **options)
            compared = subject.paired_comparison(own, scores["qwen2_vl_7b_instruct"], **options)
            yield f"paired_comparison, {name}, {how}", [compared, compared.interval]
    yield "confidence_interval, equal", subject.confidence_interval([1.0] * 30)
    yield "confidence_interval, few", subject.confidence_interval([1.0, 0.5, 0.25])
    yield "calibration, few", subject.calibration([1.0, 0.5, 0.0], [0.9, 0.9, 0.4])
    paths = [str(docvqa_runs.FOLDER / f"pred_{run}.json") for run in docvqa_runs.RUNS]
    found = subject.score_systems(paths, subject.open_references(GOLD), protocol="rrc")
    for how, ranking in {
        "score_systems": found.rank(seed=2),
        "questions": subject.rank_systems(scores, seed=1),
        "clusters": subject.rank_systems(scores, clusters=pages, seed=1),
    }.items():
        yield f"ranking, {how}", [ranking, *(pair.comparison.interval for pair in ranking.comparisons)]


def report(folder: Path) -> Outputs:
    files = _files(folder)
    date = datetime.date(2024, 1, 2)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("qwen2_vl_7b_instruct", {}),
        ("llama_scout", {"protocol": "rrc", "threshold": "0.8"}),
        ("dude", {"protocol": "dude", "by": ["answer_type"]}),
        ("portal", {"protocol": "paper"}),
        ("made", {**_LENIENT, "by": ["kind", "page"], "cluster_by": "page", "confidence": "sure", "seed": 4}),
        ("trees", {"protocol": "anls_star"}),
    ]
    for number, (name, options) in enumerate(cases):
        system = subject.read_system(*_opened(files[name]), **options)
        yield f"{number} {name}", subject.collect(system, date=date)
    one, other = (subject.read_system(*_opened(files[run]), protocol="rrc") for run in docvqa_runs.RUNS[:2])
    both = subject.collect(one, other, date=date)
    assert both.versus is not None
    yield "two systems", [both, both.versus.comparison.interval]


def check(folder: Path) -> Outputs:
    for name, (predictions, references) in _checked(folder).items():
        for own in (references, None):
            yield f"{name}{'' if own else ', alone'}", outcome(subject.check_submission, predictions, own, most=None)


def _checked(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Return submissions with and without faults."""
    random = Random(10)
    questions = json.loads(GOLD.read_text(encoding="utf-8"))["data"][:150]
    answers = [random.choice(row["answers"]) for row in questions]
    files = {"qwen2_vl_7b": (docvqa_runs.FOLDER / "pred_qwen2_vl_7b.json", GOLD), "dude": DUDE}
    files["other split"] = DUDE[0].with_name("DUDE_demo_submission_perfect.json"), GOLD
    files["documents"] = EXAMPLES / "sroie" / "sroie_keys.jsonl", GOLD
    for name, id_key, answer_key, first in (
        ("rrc", "questionId", "answer", 10),
        ("long ids", "questionId", "answer", 10**17 + 1),
        ("DUDE", "questionId", "answers", 10),
        ("renamed", "question_id", "answers", 10),
        ("table", "id", "prediction", 10),
    ):
        ids = [first + 7 * number for number in range(len(questions))]
        known = [{"questionId": own, "answers": row["answers"]} for own, row in zip(ids, questions, strict=True)]
        gold = write_lines(folder / f"{name} gold.jsonl", known)
        rows = inputs.faulty_rows(random, id_key, answer_key, ids, answers)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        files[name] = path, gold
        files[f"{name}, lines"] = write_lines(folder / f"{name}.jsonl", rows), gold
    files["no ids"] = (
        write_lines(folder / "short.jsonl", [{"prediction": own} for own in answers[:3]]),
        write_lines(folder / "long.jsonl", [{"answers": [own]} for own in answers[:5]]),
    )
    (folder / "cut.json").write_text('[{"questionId": 1, "answer": "a"', encoding="utf-8")
    return files | {"cut": (folder / "cut.json", GOLD)}


# ---------------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------------


def commands(folder: Path) -> Outputs:
    files = _files(folder)
    runs = [files[run][0] for run in docvqa_runs.RUNS]
    for number, (name, options) in enumerate(_SUBMISSIONS):
        protocol = options.get("protocol", "standard")
        if not isinstance(protocol, str):
            continue
        more = [f"--{key.replace('_', '-')}={own}" for key, own in options.items() if key not in ("protocol", "by")]
        more += [f"--by={column}" for column in options.get("by", ())]
        rows = folder / f"rows-{number}.jsonl"
        arguments = ("score", files[name][0], "-r", files[name][1], "-p", protocol, *more, "--per-question", rows)
        yield f"score {number} {name}", [_ran(*arguments), _ROWS["jsonl"](rows)]
    yield "score, missing", _ran("score", files["made"][0], "-r", files["made"][1])
    yield "score, no such file", _ran("score", folder / "nothing.json", "-r", GOLD)
    yield "score, no such protocol", _ran("score", runs[0], "-r", GOLD, "-p", "rcc")
    yield "compare", _ran("compare", *runs, "-r", GOLD, "-p", "rrc", "--seed", 3)
    perfect = DUDE[0].with_name("DUDE_demo_submission_perfect.json")
    clustered = _ran("compare", DUDE[0], perfect, "-r", DUDE[1], "-p", "dude", "--cluster-by", "docId")
    yield "compare, clusters", clustered
    yield "compare, one", _ran("compare", runs[0], "-r", GOLD)
    board, systems = folder / "board.csv", folder / "systems"
    shutil.copytree(docvqa_runs.FOLDER, systems, ignore=shutil.ignore_patterns("*.md", "*.py", GOLD.name))
    yield "leaderboard", _ran("leaderboard", systems, "-r", GOLD, "-t", "0.6", "--out", board)
    yield "leaderboard, file", _ROWS["csv"](board)
    for name, own in {"plain": [], "rrc": ["-p", "rrc", "-t", "0.4"], "board": ["-p", "icdar2026"]}.items():
        yield f"explain, {name}", _ran("explain", "CocaCola  ", "Coca Cola", "Pepsi", *own)
    yield "explain, type", _ran("explain", "['b', 'a']", "['a', 'b']", "-p", "mmlongbench", "--answer-type", "List")
    for row in read_lines("documents/invoices.jsonl"):
        path = folder / "document.json"
        path.write_text(json.dumps({"prediction": row["pred"], "reference": row["gold"]}), encoding="utf-8")
        yield f"explain, {row['id']}", _ran("explain", "--json-file", path)
    yield "protocols", _ran("protocols")
    for reported in ("0.2691", "26.9", "0.9999", "two"):
        yield f"diagnose {reported}", _ran("diagnose", *_with(files["qwen2_vl_7b"]), "--reported", reported)
    for name, sides in _checked(folder).items():
        yield f"check, {name}", _ran("check", *_with(sides))
        mended = folder / "mended.json"
        mended.unlink(missing_ok=True)
        ran = _ran("check", *_with(sides), "--fix", mended)
        yield f"check --fix, {name}", [ran, json.loads(mended.read_text(encoding="utf-8")) if mended.exists() else None]


def _with(sides: tuple[Path, Path]) -> tuple[Path, str, Path]:
    return sides[0], "-r", sides[1]


def _ran(*arguments: object) -> list[Any]:
    """Return the exit status of a command and what it prints as JSON."""
    command = ["anls", *map(str, arguments), "--json"]
    with mock.patch.object(sys, "argv", command), contextlib.redirect_stderr(io.StringIO()):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                subject.main()
                status: Any = 0
            except SystemExit as stop:
                status = stop.code or 0
            finally:
                gc.unfreeze()  # which it does for the end of Python
        return [status, json.loads(out.getvalue()) if out.getvalue() else None]


SECTIONS: dict[str, Callable[[Path], Outputs]] = {
    own.__name__: own
    for own in (flat, trees, leaderboards, metric, submissions, analysis, statistics, report, check, commands)
}
