"""What is fuzzed: one function for each way in. To fuzz another, add it to `TARGETS`."""

import base64
import contextlib
import dataclasses
import datetime
import functools
import html.parser
import io
import json
import logging
import math
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import reference
import tree_reference
from openpyxl.utils.exceptions import IllegalCharacterError

from anls_eval import leaderboards
from anls_eval.analysis import diagnosis
from anls_eval.arrow import as_list
from anls_eval.check.check import check_submission
from anls_eval.check.fix import fix_submission
from anls_eval.cli import commands as cli
from anls_eval.errors import located
from anls_eval.explanation.answers import explain_answers
from anls_eval.files import FORMATS, Reader, open_predictions, open_references, write_rows
from anls_eval.files.json_files import read_document
from anls_eval.metric import ANLS
from anls_eval.registry import protocol_from_signature, signature
from anls_eval.report import read_system
from anls_eval.report.content import collect
from anls_eval.report.render import render
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS
from anls_eval.scoring import anls_score, anls_scores, anls_star_score, explain
from anls_eval.structure import answers_in, structure_in
from anls_eval.submission.score import score_submission
from anls_eval.submission.scorers import make_scorer
from fuzz import draws, files
from fuzz.invariant import Target, refusal, refusals

_TREES = [name for name, rules in PROTOCOLS.items() if rules.tree]
_TEXTS = sorted(reference.TEXT_PROTOCOLS)
_OF_QUESTIONS = {name: own for name, own in leaderboards.BENCHMARKS.items() if own.unit == "question"}
_NAMES = (*PROTOCOLS, *leaderboards.LEADERBOARDS)
_SUFFIXES = ("", ".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".parquet", ".txt", ".gz", ".json.gz", ".JSON")


def readers(random: Random, folder: Path) -> str:
    """Every reader on a damaged file of every format: the rows, or where the file is wrong."""
    path = _damaged_file(random, folder, "file")
    format_name = random.choice(sorted(set(FORMATS) - {"hub"})) if random.random() < 0.1 else None
    outcome = "refused"
    for open_side in open_predictions, open_references:
        with refusals() as messages:
            for batch in open_side(path, format=format_name).batches(random.choice((1, 3, 16_384))):
                assert len(batch.values) == len(batch) > 0
                ids = batch.question_ids
                assert ids is None or (len(ids) == len(batch) and all(isinstance(str(own), str) for own in ids))
            outcome = "read"
        assert all(message.startswith(str(path)) for message in messages), messages
    return outcome


def printed(random: Random, folder: Path) -> str:
    """Texts that print a list or a dict, damaged: structure that comes back, or None."""
    tree = draws.json_value(random)
    write = random.choice((repr, json.dumps, _numpy_prints))
    text = write(tree)
    if random.random() < 0.7:
        text = draws.mutated(random, text.encode("utf-8", "replace")).decode("utf-8", "replace")
    found = structure_in(text)
    answers = answers_in(text)
    assert found is None or isinstance(found, (list, dict))
    assert answers is None or not any(isinstance(own, (list, dict)) for own in answers)
    return "text" if found is None else "read"


def _numpy_prints(tree: Any) -> str:
    return f"[{' '.join(map(repr, tree))}]" if isinstance(tree, list) else f"{{'a': array({tree!r}, dtype=object)}}"


def ways(random: Random, folder: Path) -> str:
    """Every reader with an encoding, a separator and a filter, also of control characters inside strings."""
    path = _damaged_file(random, folder, "file", whole=0.5)
    if random.random() < 0.3:
        path.write_bytes(path.read_bytes().replace(b" ", random.choice((b"\n", b"\t", b"\x1f", b"\r\n"))))
    how: dict[str, Any] = {
        "encoding": random.choice((None, None, "cp1252", "utf-16", "utf-8", "utf-7", "rot13", draws.text(random))),
        "separator": random.choice((None, ";", "|", "\t", draws.text(random))),
        "filter": random.choice((None, "none", "get-answer", draws.text(random))),
    }
    outcome = "refused"
    for open_side in open_predictions, open_references:
        with refusals():
            rows = _rows(open_side(path, **how))
            outcome = "read"
            if _is_beyond_ascii(path.read_bytes()):
                assert rows == _rows(open_side(path, **how | {"encoding": None})), "misread in a named encoding"
    return outcome


def _rows(reader: Reader) -> list[str]:
    rows: list[str] = []
    for batch in reader.batches():
        assert len(batch.values) == len(batch) > 0
        rows += map(repr, as_list(batch.values))
    return rows


def _is_beyond_ascii(content: bytes) -> bool:
    """Whether this is a text that only UTF-8 gives."""
    try:
        return "\0" not in content.decode() and not content.isascii()
    except UnicodeDecodeError:
        return False


def documents(random: Random, folder: Path) -> str:
    """One document in a file."""
    path = folder / "document.json"
    text = '{"prediction": {"total": ["17.9", null]}, "reference": {"total": {"$one_of": ["17.99", [1, 2.5]]}}}'
    path.write_bytes(draws.mutated(random, text.encode()))
    with refusals() as messages:
        given, expected, _ = read_document(path)
        _star(given, expected, random.choice(_TREES))
    return "refused" if messages else "read"


def texts(random: Random, folder: Path) -> str:
    """Both text engines: one by one and as columns, with and without Arrow, and the plain restatement."""
    name = random.choice(_TEXTS)
    rows = random.randrange(1, 6)
    predictions = [None if random.random() < 0.05 else draws.text(random) for _ in range(rows)]
    answers = [[draws.text(random) for _ in range(random.randrange(1, 4))] for _ in range(rows)]
    for row in range(rows):
        if (own := predictions[row]) and random.random() < 0.5:
            near = draws.mutated(random, own.encode("utf-8", "replace"))[:200]
            answers[row].append(near.decode("utf-8", "replace"))
    with _quiet():
        scores = anls_scores(predictions, answers, protocol=name)
        one_by_one = [anls_score(p, a, protocol=name) for p, a in zip(predictions, answers, strict=True)]
        assert scores.tolist() == one_by_one
        with contextlib.suppress(UnicodeEncodeError):
            columns = pa.array(predictions, pa.string()), pa.array(answers, pa.list_(pa.string()))
            assert anls_scores(*columns, protocol=name).tolist() == one_by_one
        if sum(len(own or "") for own in predictions) * sum(len(own) for row in answers for own in row) < 20_000:
            rules = PROTOCOLS[name]
            assert [reference.score(p, a, rules) for p, a in zip(predictions, answers, strict=True)] == one_by_one
        explained = explain(predictions[0], answers[0], protocol=name)
        assert explained.score == one_by_one[0]
        assert str(explained)
    return "scored"


def values(random: Random, folder: Path) -> str:
    """Anything at all as prediction and answers of texts."""
    given = [draws.tree(random, 1) for _ in range(random.randrange(4))]
    accepted = [draws.tree(random, 2) for _ in range(len(given) if random.random() < 0.9 else 1)]
    if random.random() < 0.1:
        given, accepted = draws.tree(random, 2), draws.tree(random, 2)
    name = random.choice((*_TEXTS, draws.text(random)) if random.random() < 0.1 else _TEXTS)
    with _quiet(), refusals() as messages:
        scores = anls_scores(given, accepted, protocol=name)
        assert all(0 <= score <= 1 for score in scores)
    return "refused" if messages else "scored"


def trees(random: Random, folder: Path) -> str:
    """Both protocols of trees on anything: explained with the same score, and exact where brute force is fast."""
    given, expected, name = draws.tree(random), draws.tree(random), random.choice(_TREES)
    with refusals() as messages:
        _star(given, expected, name)
    return "refused" if messages else "scored"


def json_trees(random: Random, folder: Path) -> str:
    """Trees of JSON, equal to the exact restatement in fractions."""
    given, expected, name = draws.json_value(random), draws.json_value(random), random.choice(_TREES)
    if random.random() < 0.3:
        expected = given
    with refusals() as messages:
        score = _star(given, expected, name)
        if draws.is_plain(given) and draws.is_plain(expected):
            exact = tree_reference.score(given, expected, name == "anls_star_paper")
            assert math.isclose(score, exact, abs_tol=1e-12), (score, exact)
    return "refused" if messages else "scored"


def _star(given: Any, expected: Any, name: str) -> float:
    with _quiet():
        score = anls_star_score(given, expected, protocol=name)
        assert 0 <= score <= 1
        explained = explain(given, expected, protocol=name)
        assert explained.score == score
        assert str(explained)
        _check_json(explained.to_dict())
    return score


def _check_json(value: Any) -> None:
    """Assert that this is plain JSON, where Python's own writer can go deep enough to tell."""
    if draws.depth(value) < 200:
        json.dumps(value, allow_nan=False)


def metric(random: Random, folder: Path) -> str:
    """The evaluate metric, with rows and batches of any form."""
    name = random.choice(sorted(PROTOCOLS))
    rows = random.randrange(4)
    side: dict[str, Any] = {}
    for key, field in ("predictions", "prediction_text"), ("references", "answers"):
        own: Any = [_value(random, key) for _ in range(rows)]
        if random.random() < 0.5:
            ids = [draws.json_value(random, 0) if random.random() < 0.1 else number for number in range(rows)]
            own = [{"question_id": id_, field: value} for id_, value in zip(ids, own, strict=True)]
        if random.random() < 0.05:
            own = draws.tree(random, 2)
        side[key] = own
    with _quiet(), refusals() as messages:
        computed = ANLS(name)
        if random.random() < 0.5:
            computed.add_batch(**side)
            result = computed.compute(detailed=True, missing=random.choice(("error", "zero")))
        else:
            result = computed.compute(**side, detailed=True, unknown=random.choice(("error", "ignore")))
        assert result
        assert all(0 <= score <= 1 for score in result["scores"])
        _check_json(result)
    return "refused" if messages else "scored"


def _value(random: Random, side: str) -> Any:
    if random.random() < 0.3:
        return draws.tree(random, 1)
    return [draws.text(random)] if side == "references" else draws.text(random)


def boards(random: Random, folder: Path) -> str:
    """Leaderboards with answers of every type."""
    name = random.choice(sorted(leaderboards.LEADERBOARDS))
    types = leaderboards.LEADERBOARDS[name].answer_types
    answer_type = random.choice((*types, None, "x") if random.random() < 0.1 or not types else types)
    given, expected = _typed(random), _typed(random)
    with _quiet(), refusals() as messages:
        score = leaderboards.leaderboard_score(given, expected, protocol=name, answer_type=answer_type)
        assert 0 <= score <= 1
        explain_answers(given, expected, protocol=name, answer_type=answer_type)
    return "refused" if messages else "scored"


_ANSWERS = (
    "3", "3.5", "17%", "['a', 'b']", "[1, 2]", "None", "Not answerable", 3, 3.5, "1e999", "9" * 5000, "[" * 300,
    "-" * 3000 + "1", "May 3, 2021", "3:30 p.m.", "https://a.b/c", "a@b.c", "page 3", "+1 555 0100",
)  # fmt: skip


def _typed(random: Random) -> Any:
    kind = random.random()
    if kind < 0.5:
        return draws.text(random)
    if kind < 0.7:
        return random.choice(_ANSWERS)
    return draws.tree(random, 2) if kind < 0.9 else [draws.text(random) for _ in range(3)]


def signatures(random: Random, folder: Path) -> str:
    """Lines that may be signatures."""
    rules = PROTOCOLS[random.choice(sorted(PROTOCOLS))]
    line = draws.mutated(random, signature(rules, n=random.randrange(99)).encode())[:2000]
    with refusals() as messages:
        protocol_from_signature(line.decode("utf-8", "replace"))
    return "refused" if messages else "read"


def options(random: Random, folder: Path) -> str:
    """Options of every type, and a protocol of them, which its signature gives back."""
    rules = PROTOCOLS[random.choice(sorted(PROTOCOLS))]
    with _quiet(), refusals() as messages:
        kind = random.random()
        if kind < 0.4:
            other = PROTOCOLS[random.choice(sorted(PROTOCOLS))]
            names = random.sample(_RULES, random.randrange(1, 4))
            fields = {name: _option(random) if random.random() < 0.2 else getattr(other, name) for name in names}
            own = dataclasses.replace(rules, **fields)
            assert protocol_from_signature(signature(own, n=random.randrange(9))) == own
        elif kind < 0.7:
            name, n = random.choice((rules.name, rules, _option(random))), random.choice((1, None, _option(random)))
            signature(name, random.choice((0.8, Decimal("0.123"), _option(random))), n)
        elif kind < 0.98:
            make_scorer(random.choice(("rrc", "dude", "anls_star", _option(random))), _option(random))
        else:
            decimals = random.choice((None, _option(random)))
            diagnosis.diagnose(["a", "b"], [["a"], ["c"]], _option(random), decimals=decimals)
    return "refused" if messages else "taken"


_RULES = [field.name for field in dataclasses.fields(Protocol) if field.init and field.compare]
_OPTIONS = (
    0, 1, 2, 0.5, 0.8, "0.8", None, ">", "lower", ("strip",), ["lower", "strip"], "compared", "1e999999999", 10**18,
    "1e-99999999", "0." + "3" * 5000, "9" * 5000, Decimal("0.8"), Decimal("1e-800"), Decimal("0." + "3" * 900), "87.31",
    10**999,
)  # fmt: skip


def _option(random: Random) -> Any:
    return random.choice(_OPTIONS) if random.random() < 0.7 else draws.tree(random, 1)


def tables(random: Random, folder: Path) -> str:
    """Parquet and Arrow columns of any type in every role, scored as a submission by any protocol."""
    rows = random.randrange(1, 6)
    paths = []
    for side, name in ("prediction", "p"), ("answers", "r"):
        ids = pa.array(range(rows)) if random.random() < 0.9 else draws.column(random, rows)
        columns = {"question_id": ids} | {
            column: draws.column(random, rows) for column in (side, "document", "answer_type")
        }
        path = folder / f"{name}.file"
        try:
            _write(random, path, pa.table(columns))
        except pa.ArrowNotImplementedError:
            return "not written"
        paths.append(str(path))
    options = ["--by", "document"] if random.random() < 0.5 else []
    arguments = [*options, *_lenient(random)] + (_protocol(random) if random.random() < 0.5 else [])
    return _cli(random, folder, "score", paths[0], "-r", paths[1], *arguments)


def _write(random: Random, path: Path, table: pa.Table) -> None:
    if random.random() < 0.5:
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def checks(random: Random, folder: Path) -> str:
    """The check of a damaged submission, and its fixes."""
    predictions, references = _damaged_sides(random, folder)
    with refusals() as messages:
        report = check_submission(predictions, references if random.random() < 0.7 else None)
        json.dumps(report.to_dict(), allow_nan=False)
        if report.is_readable:
            fix_submission(predictions, folder / "fixed.json", references)
    return "refused" if messages else "unreadable" if not report.is_readable else "checked"


def commands(random: Random, folder: Path) -> str:
    """The command line, every command, on damaged files."""
    predictions, references = map(str, _damaged_sides(random, folder))
    name = random.choice(_COMMANDS)
    if name == "explain":
        if random.random() < 0.5:
            return _cli(random, folder, name, *_protocol(random), "--", *(_argument(random) for _ in range(3)))
        return _cli(random, folder, name, "--json-file", predictions)
    if name == "protocols":
        return _cli(random, folder, name, "--", _argument(random))
    if name == "check":
        fix = ["--fix", str(folder / "fixed.json")] if random.random() < 0.5 else []
        return _cli(random, folder, name, predictions, *_maybe(random, "-r", references), *fix)
    if name == "diagnose":
        reported = random.choice(("0.5", "87.31", _argument(random)))
        return _cli(random, folder, name, predictions, "-r", references, "--reported", reported)
    if name == "leaderboard":
        out = str(folder / f"board.{random.choice(('md', 'csv', 'html', 'json', 'x'))}")
        return _cli(random, folder, name, str(folder), "-r", references, *_protocol(random), "--out", out)
    if name == "compare":
        other = str(_damaged_file(random, folder, "other", whole=0.7))
        return _cli(random, folder, name, predictions, other, "-r", references, *_protocol(random), *_lenient(random))
    options = [
        *_maybe(random, "--by", random.choice(("question_types", "docId", _argument(random)))),
        *_maybe(random, "--cluster-by", "docId"),
        *_maybe(random, "--report", str(folder / "report.html")),
        *_maybe(random, "--columns", _argument(random)),
        *_maybe(random, "--threshold", random.choice(("0.8", "0", "2", "nan", _argument(random)))),
        *_maybe(random, "--per-question", str(folder / f"rows.{random.choice(('csv', 'parquet', 'jsonl', 'csv.gz'))}")),
    ]
    return _cli(random, folder, name, predictions, "-r", references, *_protocol(random), *_lenient(random), *options)


_COMMANDS = ("score", "score", "score", "check", "compare", "leaderboard", "diagnose", "explain", "protocols")


def reports(random: Random, folder: Path) -> str:
    """The HTML report of hostile texts: no text becomes an element."""
    rows = random.randrange(1, 6)
    texts_of = [draws.text(random) for _ in range(rows)]
    answers = [[random.choice((own, draws.text(random)))] for own in texts_of]
    groups = [draws.text(random) for _ in range(rows)]
    ids = [f"{row} {group}" for row, group in enumerate(groups)]
    sides = (
        [{"id": id_, "prediction": own} for id_, own in zip(ids, texts_of, strict=True)],
        [{"id": id_, "answers": own, "group": g} for id_, own, g in zip(ids, answers, groups, strict=True)],
    )
    paths = folder / "p.json", folder / "r.json"
    for path, side in zip(paths, sides, strict=True):
        path.write_text(json.dumps(side), encoding="utf-8")
    with _quiet(), refusals() as messages:
        opened = open_predictions(paths[0]), open_references(paths[1])
        system = read_system(*opened, name=draws.text(random), by=("group",))
        page = render(collect(system, system if random.random() < 0.2 else None, date=datetime.date(2026, 1, 2)))
        found = _Scripts()
        found.feed(page)
        assert found.scripts == 1
        page.encode("utf-8", "strict")
    return "refused" if messages else "rendered"


class _Scripts(html.parser.HTMLParser):
    """Counts the scripts of a page, and of those in it."""

    scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        assert tag not in ("img", "object", "embed", "link", "base", "form"), tag
        for name, value in attrs:
            assert not name.startswith("on"), attrs
            assert name not in ("href", "src") or (value or "").startswith(("?tab=", "#", "https://")), attrs
            if name == "srcdoc":
                self.feed_page(value or "")

    def feed_page(self, page: str) -> None:
        inner = _Scripts()
        inner.feed(page)
        assert inner.scripts == 1


def written(random: Random, folder: Path) -> str:
    """Rows that are written are read again as they were, but for NUL, which no CSV file can hold."""
    rows = random.randrange(1, 6)
    texts_of = [_character_text(random) for _ in range(rows)]
    table = pa.table({"question_id": [str(n) for n in range(rows)], "prediction": texts_of})
    path = folder / f"rows.{random.choice(('csv', 'parquet', 'jsonl', 'csv.gz', 'jsonl.zst'))}"
    with _quiet():
        write_rows(path, table)
    [batch] = open_predictions(path).batches()
    assert list(map(str, batch.values)) == texts_of
    return "read"


# ---------------------------------------------------------------------------------------------------
# The web app
# ---------------------------------------------------------------------------------------------------


def space(random: Random, folder: Path) -> str:
    """The endpoints of the web app and what its tabs show, as gradio calls them: JSON, or HTML with nobody's elements.

    What the app does in a process of its own is done here, where its errors, time and memory are seen.
    """
    from anls_eval.app import answer, answer_view, child

    with _quiet(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "gradio"))
        patch.setattr(child, "run", _in_this_process)
        patch.setattr(answer, "view", _told(answer_view.view))
        return random.choice((_answer_tab, _document_tab, _submission_tab, _compare_tab))(random, folder)


def _in_this_process(task: Callable[..., Any], *arguments: Any, seconds: float, on_progress: Any = None) -> Any:
    arguments = pickle.loads(pickle.dumps(arguments))
    try:
        return pickle.loads(pickle.dumps(task(*arguments, lambda share, what: None)))
    except (ValueError, TypeError) as error:
        refusal(error)
        raise located("", error) from None


def _answer_tab(random: Random, folder: Path) -> str:
    from anls_eval.app import answer

    boards: dict[str, Any] = {**leaderboards.LEADERBOARDS, **_OF_QUESTIONS}
    name = random.choice([*_TEXTS, *boards])
    board = boards.get(name)
    answer_type = random.choice(board.answer_types) if board and board.answer_types else None
    given, accepted = draws.text(random), ["a", *(draws.text(random) for _ in range(random.randrange(3)))]
    if random.random() < 0.3:
        threshold = random.choice((None, None, 0.8, 0.0, 1.0, math.nan))
        options = _option_text(random) if random.random() < 0.5 else ""
        return _shown(answer.card(given, "\n".join(accepted), name, threshold, answer_type, "", "", options))
    asked: list[Any] = [given, random.choice((accepted, "\n".join(accepted))), name, None, answer_type]
    for place in range(5):
        if random.random() < 0.05:
            asked[place] = draws.json_value(random)
    return _endpoint(answer.score_answer, *asked)


def _document_tab(random: Random, folder: Path) -> str:
    from anls_eval.app import document

    sides = [draws.json_value(random), draws.json_value(random)]
    if random.random() < 0.4:
        texts_of = [json.dumps(own) for own in sides]
        hurt = random.randrange(4)
        texts_of[hurt:] = [draws.mutated(random, own.encode()).decode("utf-8", "replace") for own in texts_of[hurt:]]
        return _shown(document.card(texts_of[0], texts_of[1], random.choice(_TREES))[:1])
    sides = [json.dumps(own) if isinstance(own, str) or random.random() < 0.3 else own for own in sides]
    if random.random() < 0.05:
        sides[0] = json.loads("[" * (deep := random.randrange(900)) + "]" * deep or "1")
    name = draws.json_value(random) if random.random() < 0.1 else random.choice(_TREES)
    return _endpoint(document.score_document, *sides, name)


def _submission_tab(random: Random, folder: Path) -> str:
    from anls_eval.app import submission

    predictions, references = _uploads(random, folder)
    name = random.choice(("standard", random.choice(_NAMES)))
    if random.random() < 0.4:
        both = random.choice((references, references, references, None))
        return _endpoint(submission.score_submission, _file_data(random, predictions), _file_data(random, both), name)
    if random.random() < 0.3:
        reading = _more(random, folder)[5:-2]
        found = submission.detected(random.choice((predictions, [predictions, references])), references, *reading)
        return _shown(found[:1])
    by = [random.choice(("docId", "question_types", draws.text(random)))] if random.random() < 0.3 else []
    hub = random.choice((("", ""), ("a/b", "c"), (draws.text(random), draws.text(random))))
    sure = random.choice(("", "", "question_types", "answers_confidence", draws.text(random)))
    found = submission.score_and_report(predictions, references, name, by, sure, *hub, *_more(random, folder))
    return _shown(found[:2])


def _more(random: Random, folder: Path) -> list[Any]:
    """Values of the controls that both tabs of files have, mostly empty."""
    rules = folder / "rules.json"
    rules.write_text(random.choice((json.dumps(draws.json_value(random)), draws.text(random))), "utf-8", "replace")
    texts = [
        random.choice(choices) if random.random() < 0.3 else ""
        for choices in (
            ("0.8", "1e-999999999", draws.text(random)),
            ("think,answer_tag", "json", draws.text(random)),
            ("predictions", "none", draws.text(random)),
            ("answers=a", draws.text(random)),
            ("cp1252", draws.text(random)),
            (";", draws.text(random)),
            (draws.text(random),),
        )
    ]
    switches = [random.random() < 0.7, random.random() < 0.7]
    options = _option_text(random) if random.random() < 0.2 else ""
    return [*texts[:3], *switches, *texts[3:], str(rules) if random.random() < 0.1 else None, options]


def _option_text(random: Random) -> str:
    """Options of a benchmark as they are typed: their own, anything in JSON, or no JSON."""
    own = {"year": ["NO"]}, {"appearance": {"a": "unrepeated"}}, {"year": "a"}, draws.json_value(random)
    return random.choice((json.dumps(random.choice(own)), draws.text(random)))


def _compare_tab(random: Random, folder: Path) -> str:
    from anls_eval.app import compare

    predictions, references = _uploads(random, folder)
    (folder / "other").write_bytes(Path(predictions).read_bytes())
    paths, name = (
        [predictions, str(folder / "other")],
        random.choice(("standard", random.choice(_NAMES))),
    )
    kind = random.random()
    if kind < 0.3:
        files = [_file_data(random, own) for own in paths]
        return _endpoint(compare.compare_submissions, files, _file_data(random, references), name)
    if kind < 0.5:
        reported = random.choice(("0.5", "87.31", "1e-999999999", draws.text(random)))
        more = _more(random, folder)
        return _shown(compare.which_number(paths, references, random.choice((1, 2)), reported, *more))
    drop = random.choice(("", "0.01", draws.text(random)))
    asked = (paths, references, name, ["docId"] if random.random() < 0.3 else [], *_more(random, folder))
    if kind < 0.7:
        return _shown(compare.side_by_side(*asked, *random.choice(((1, 2), (0, 1), (0, 0))), drop)[:1])
    return _shown(compare.rank(*asked, 0, 0, drop)[:2])


def _uploads(random: Random, folder: Path) -> tuple[str, str]:
    """A damaged submission under names of any kind."""
    paths = []
    for number, path in enumerate(_damaged_sides(random, folder, whole=0.5)):
        name = _character_text(random).replace("/", "").encode()[:100].decode("utf-8", "ignore")
        paths.append(str(path.rename(path.with_name(f"{number}{name}")) if random.random() < 0.3 else path))
    return paths[0], paths[1]


def _file_data(random: Random, path: str | None) -> Any:
    """What an endpoint gets for an uploaded file, or anything else but the address of a server."""
    if random.random() < 0.05:
        value = draws.json_value(random)
        return None if isinstance(value, str) and value.startswith("http") else value
    if path is None:
        return None
    if random.random() < 0.1:
        kind = random.choice(("", "text/csv;base64", "a/b"))
        return f"data:{kind},{base64.b64encode(Path(path).read_bytes()).decode()}"
    return {"path": path, "meta": {"_type": "gradio.FileData"}}


def _endpoint(function: Callable[..., dict[str, Any]], *arguments: Any) -> str:
    import gradio

    try:
        found = function(*arguments)
    except gradio.Error as error:
        refusal(error.__context__ or error)
        return "refused"
    _check_json(found)
    return "scored"


def _shown(found: Any) -> str:
    """What a tab shows, of which nothing runs but the report's own script in its frame."""
    shown = "".join(found)
    page = _Scripts()
    page.feed(shown)
    assert page.scripts == 0
    shown.encode("utf-8", "strict")
    return "refused" if 'class="note wrong"' in shown else "shown"


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose ValueErrors and TypeErrors must be ours, since they are caught where it is called."""

    @functools.wraps(function)
    def told(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except (ValueError, TypeError) as error:
            try:
                refusal(error)
            except (ValueError, TypeError):
                raise AssertionError(traceback.format_exc()) from None
            raise

    return told


# ---------------------------------------------------------------------------------------------------
# Many files
# ---------------------------------------------------------------------------------------------------


def datasets(random: Random, folder: Path) -> str:
    """A data set in parts of any format, damaged, gone or with repeated ids: as in one file, or where it is wrong."""
    from anls_eval.cluster import engine
    from anls_eval.cluster import run as distributed

    rows, wild = random.randrange(1, 9), random.random() < 0.6
    ids = [str(random.randrange(2 * rows)) if wild and random.random() < 0.1 else str(row) for row in range(rows)]
    values, others = ([_character_text(random) for _ in range(rows)] for _ in range(2))
    answers = list(map(random.choice, zip(values, others, strict=True)))
    if random.random() < 0.3:  # which are taken apart only if all of them are lists, in all files
        answers = [repr([value]) if random.random() < 0.9 else value for value in answers]
    sides = {"prediction": values, "answers": answers}
    whole, parts, hurt = [], [], False
    for side, own in sides.items():
        table = [{"id": id_, side: value, "group": value[:1]} for id_, value in zip(ids, own, strict=True)]
        if random.random() < 0.3:
            random.shuffle(table)
        whole.append(folder / f"{side}.jsonl")
        whole[-1].write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
        (folder / side).mkdir()
        parts.append(folder / side)
        cuts = sorted(random.choices(range(rows + 1), k=random.randrange(3)))
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, rows], strict=True)):
            hurt |= _write_part(random, folder / side / str(number), table[start:end], wild)
    asked: dict[str, Any] = {"protocol": random.choice(sorted(_NAMES))}
    if random.random() < 0.5:
        asked |= {"missing": "zero", "unknown": "ignore"}
    with _quiet(), refusals() as messages, pytest.MonkeyPatch.context() as patch:
        for module, name in ((engine, "score_part"), (distributed, "shuffle_piece")):
            patch.setattr(module, name, _told(getattr(module, name)))
        options = asked | {"out": folder / "out", "client": _client(), "skip_bad": random.random() < 0.5}
        found = distributed.score_dataset(*parts, by=["group"], **options)
        again = distributed.score_dataset(*parts, by=["group"], resume=True, **options)
        assert again.submission == found.submission
    assert not list(folder.glob("out/**/.*")), "an unfinished file is left"
    if messages or found.bad:
        return "refused" if messages else "scored in part"
    with _quiet():
        expected = score_submission(*parts, by=["group"], **asked)
        assert (found.submission.n, found.submission.score) == (expected.n, expected.score)
        assert found.submission.by == expected.by
        if hurt:
            return "scored"
        sides_ = open_predictions(whole[0]), open_references(whole[1])
        expected = score_submission(*sides_, by=["group"], protocol=asked["protocol"])
    assert (found.submission.n, found.submission.score) == (expected.n, expected.score)
    return "the same"


def _write_part(random: Random, path: Path, rows: list[Any], wild: bool) -> bool:
    """Write some rows, and say whether they need not be read again as they were."""
    if not wild:
        if rows:
            path.write_bytes(files.WRITERS[random.choice(("json", "jsonl", "parquet", "arrow", "feather"))](rows))
        return False
    try:
        content = files.WRITERS[random.choice(sorted(files.WRITERS))](rows) if rows else b"[]"
    except IllegalCharacterError:  # which no spreadsheet can hold
        return True
    kind = random.random()
    if kind < 0.96:
        path.write_bytes(draws.mutated(random, content) if kind < 0.15 else content)
    elif kind < 0.98:
        path.mkdir()
    return True


@functools.cache
def _client() -> Any:
    """A Dask cluster in this process, whose workers' time and memory are those of the input."""
    from dask.distributed import Client

    return Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL,
        set_as_default=False,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# Files and the command line
# ---------------------------------------------------------------------------------------------------


def _damaged_file(random: Random, folder: Path, name: str, whole: float = 0.0) -> Path:
    content = random.choice(random.choice(list(files.pairs().values())))
    if random.random() < 0.02:
        content = random.choice(files.large())
    if random.random() >= whole:
        content = draws.mutated(random, content)
    path = folder / f"{name}{random.choice(_SUFFIXES)}"
    path.write_bytes(content)
    return path


def _damaged_sides(random: Random, folder: Path, whole: float = 0.0) -> tuple[Path, Path]:
    sides = random.choice(list(files.pairs().values()))
    hurt = random.choice((0, 0, 0, 1)) if random.random() >= whole else None
    paths = []
    for number, content in enumerate(sides):
        path = folder / f"{'pr'[number]}{random.choice(_SUFFIXES) if random.random() < 0.1 else ''}"
        path.write_bytes(draws.mutated(random, content) if number == hurt else content)
        paths.append(path)
    return paths[0], paths[1]


def _character_text(random: Random) -> str:
    """A text of whole characters without NUL, which no CSV file can hold."""
    return draws.text(random).encode("utf-8", "replace").decode().replace("\0", "")


def _maybe(random: Random, *arguments: str) -> list[str]:
    return list(arguments) if random.random() < 0.25 else []


def _lenient(random: Random) -> list[str]:
    return ["--missing", "zero", "--unknown", "ignore"] if random.random() < 0.6 else []


def _protocol(random: Random) -> list[str]:
    names = _NAMES
    return ["--protocol", random.choice(names)] if random.random() < 0.5 else []


def _argument(random: Random) -> str:
    return draws.text(random).replace("\0", "")[:1000]


@contextlib.contextmanager
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _cli(random: Random, folder: Path, *arguments: str) -> str:
    """Run a command line: a result, or words on stderr. No control character reaches the terminal."""
    as_json = ["--json"] if random.random() < 0.3 else []
    sys.argv = ["anls", arguments[0], *as_json, *arguments[1:]]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape", newline="") for _ in range(2))
    status: Any = "returned"
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        try:
            cli.main()
        except SystemExit as stop:
            status = stop.code or 0
            if status == 2 and stop.__context__ is not None and isinstance(stop.__context__, (ValueError, TypeError)):
                refusal(stop.__context__)
    shown = []
    for stream in out, err:
        stream.flush()
        shown.append(stream.buffer.getvalue().decode())
    assert status in (0, 1, 2), (status, shown)
    assert "Traceback" not in shown[1]
    assert status == 0 or shown[1] or arguments[0] == "check", (status, shown)
    control = [c for c in "".join(shown) if (c < " " and c != "\n") or "\x7f" <= c < "\xa0" or c in "\u202e\u2028"]
    assert not control, control
    if status == 0 and as_json:
        json.loads(shown[0])
    assert not list(folder.glob(".[a-z]*.*")), "an unfinished file is left"
    return f"status {status}"


TARGETS: dict[str, Target] = {
    own.__name__: own
    for own in (
        texts, values, trees, json_trees, metric, boards, signatures, options, readers, ways, printed, documents,
        tables, checks, written, reports, commands, space, datasets,
    )
}  # fmt: skip
"""Every target by its name."""


def prepare(name: str) -> None:
    """Start what a target needs once in a process, and what takes seconds."""
    if name == "space":
        from anls_eval.app import blocks  # noqa: F401
    if name == "datasets":
        from anls_eval.cluster import run  # noqa: F401

        _client()
