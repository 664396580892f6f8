"""Options of benchmarks in files: the score of a submission is what `leaderboard_figures` gives with them."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import DATA

from anls_eval import leaderboard_figures, score_submission, signature
from anls_eval.submission.systems import score_systems


class Case(NamedTuple):
    """Questions that share the options that hold for all, and what each has of the others."""

    protocol: str
    shared: dict[str, Any]
    rows: list[dict[str, Any]]  # prediction, answers, answer_type, and an option each

    @property
    def by_question(self) -> list[str]:
        """The options that each question has."""
        return [name for name in self.rows[0] if name not in ("prediction", "answers", "answer_type")]

    def figures(self) -> dict[str, float | None]:
        """What the benchmark reports, computed without files."""
        columns = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        options = self.shared | {name: columns[name] for name in self.by_question}
        return leaderboard_figures(
            columns["prediction"],
            columns["answers"],
            protocol=self.protocol,
            answer_types=columns.get("answer_type"),
            options=options,
        )


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").strip().split("\n")]


SHARED = ("vrdu", "kieval_entity_f1", "kieval_aligned", "kieval_grouping_f1", "kieval_document_accuracy", "varex")
BY_QUESTION = {
    "extractbench_value": ("alternatives", "normalizers", "schema"),
    "lmms_cc_ocr_kie_f1": ("subset",),
    "lmms_cc_ocr_kie_acc": ("subset",),
}


def cases() -> Iterator[Case]:
    """Put the recorded documents with the same shared options together, and all with options of their own."""
    rows = [row for row in recorded("extraction.jsonl") if row.get("options") and "error" not in row]
    for protocol in SHARED:
        together: dict[str, list[Any]] = {}
        for row in rows:
            if row["protocol"] == protocol and row["kind"] == "document" and row["prediction"] is not None:
                sides = {"prediction": row["prediction"], "answers": row["reference"]}
                together.setdefault(json.dumps(row["options"]), []).append(sides)
        for text, own in together.items():
            yield Case(protocol, json.loads(text), own)
    for protocol, names in BY_QUESTION.items():
        own = [row for row in rows if row["protocol"] == protocol]
        for row in own:
            if row["kind"] == "corpus":
                columns = zip(row["prediction"], row["reference"], row["options"]["subset"], strict=True)
                yield Case(protocol, {}, [{"prediction": p, "answers": a, "subset": s} for p, a, s in columns])
        of_documents = [
            {"prediction": row["prediction"], "answers": row["reference"], **{n: row["options"].get(n) for n in names}}
            for row in own
            if row["kind"] == "document"
        ]
        if of_documents:
            yield Case(protocol, {}, of_documents)
    charts = [
        {
            "prediction": row["prediction"],
            "answers": row["reference"],
            "answer_type": row["answer_type"],
            "year": row["options"]["year"],
        }
        for row in recorded("typed_more.jsonl")
        if row["family"] == "chartqapro" and row.get("kind") != "corpus" and isinstance(row["prediction"], str)
        if not {"chartqapro", "chartqapro_lmms"} & set(row.get("original_raises", ()))
    ]
    for protocol in ("chartqapro", "chartqapro_vlmevalkit", "chartqapro_lmms"):
        yield Case(protocol, {}, charts)


CASES = list(cases())


def written(case: Case, folder: Path, names: dict[str, str], side: str = "references") -> tuple[Path, Path]:
    """Write both sides as JSON Lines, with the options of each question in columns on one side."""
    role = {"prediction": "predictions", "answers": "references", "answer_type": "references"}
    for name in ("predictions", "references"):
        rows = [
            {"question_id": str(number)}
            | {names.get(key, key): value for key, value in row.items() if role.get(key, side) == name}
            for number, row in enumerate(case.rows)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder / "predictions.jsonl", folder / "references.jsonl"


def same(found: Any, figures: dict[str, float | None]) -> bool:
    """Whether a submission has these figures, but for the order in which they are summed."""
    reported = {name: value for name, value in figures.items() if value is not None}
    return bool({"score": found.score, **found.figures} == pytest.approx(reported, abs=1e-12))


def test_every_protocol_with_options_is_a_case() -> None:
    assert {own.protocol for own in CASES} == {
        *SHARED, *BY_QUESTION, "chartqapro", "chartqapro_vlmevalkit", "chartqapro_lmms"
    }  # fmt: skip
    assert sum(len(own.rows) for own in CASES) > 250


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{own.protocol}" for n, own in enumerate(CASES)])
@pytest.mark.parametrize("side", ["references", "predictions"])
def test_the_figures_are_those_without_files(case: Case, side: str, tmp_path: Path) -> None:
    names = {name: f"the {name}" for name in case.by_question}
    files = written(case, tmp_path, names, side)
    figures = case.figures()
    found = score_submission(*files, protocol=case.protocol, options=case.shared | names, parse="none")
    assert same(found, figures)
    columns = {name: [row[name] for row in case.rows] for name in case.by_question}
    assert found.signature == signature(case.protocol, n=len(case.rows), options=case.shared | columns)


@pytest.mark.parametrize("name", ["year", "Year", "YEAR"])
def test_a_column_with_the_name_of_the_option_is_read(name: str, tmp_path: Path) -> None:
    [case] = [own for own in CASES if own.protocol == "chartqapro"]
    found = score_submission(*written(case, tmp_path, {"year": name}), protocol="chartqapro")
    assert same(found, case.figures())
    assert f"option 'year' is read from the column {name!r}" in found.notes
    assert "|options:year|" in found.signature


def test_cells_and_texts_that_print_an_option_are_read(tmp_path: Path) -> None:
    rows = [("1", "2010", "2011", "Factoid", "['YES']"), ("2", "2010", "2011", "Factoid", "['NO']")]
    names = ["id", "prediction", "answers", "answer_type", "Year"]
    with (tmp_path / "all.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), tmp_path / "all.parquet"
    )
    for path in (tmp_path / "all.csv", tmp_path / "all.parquet"):
        for parse in (None, "none"):
            found = score_submission(path, path, protocol="chartqapro", by=["Year"], parse=parse)
            assert found.score == 0.5
            assert {name: own.score for name, own in found.by["Year"].items()} == {"YES": 0.0, "NO": 1.0}


@pytest.mark.parametrize(
    ("protocol", "by_id"),
    [
        ("vrdu", False),
        ("chartqapro", False),
        ("vrdu", True),
        pytest.param("extractbench_value", True, marks=pytest.mark.long),
    ],
)
def test_dask_has_the_same_figures(protocol: str, by_id: bool, tmp_path: Path) -> None:
    case = max((own for own in CASES if own.protocol == protocol), key=lambda own: len(own.rows))
    names = {name: f"the {name}" for name in case.by_question}
    half = len(case.rows) // 2
    for number, rows in enumerate((case.rows[:half], case.rows[half:])):
        folder = tmp_path / str(number)
        folder.mkdir()
        for path in written(case._replace(rows=rows), folder, names):
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")]
            for row in lines:
                row["question_id"] = f"{number}-{row['question_id']}"
            at = 1 - number if by_id and path.stem == "references" else number
            (tmp_path / path.stem).mkdir(exist_ok=True)
            (tmp_path / path.stem / f"{at}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    sides = [str(tmp_path / name) for name in ("predictions", "references")]
    from anls_eval.cluster.run import score_dataset  # the lowest versions are tested without Dask

    found = score_dataset(*sides, protocol=protocol, options=case.shared | names, parse="none", workers=1)
    assert found.paired_by == ("id" if by_id else "file")
    whole = score_submission(*sides, protocol=protocol, options=case.shared | names, parse="none")
    assert found.submission.score == pytest.approx(case.figures()["score"], abs=1e-12)
    assert found.submission.signature == whole.signature
    assert (found.submission.n, found.submission.notes) == (whole.n, whole.notes)


def test_systems_are_scored_with_options(tmp_path: Path) -> None:
    case = max((own for own in CASES if own.protocol == "vrdu"), key=lambda own: len(own.rows))
    predictions, references = written(case, tmp_path, {})
    other = tmp_path / "other.jsonl"
    other.write_bytes(predictions.read_bytes())
    found = score_systems([str(predictions), str(other)], references, protocol="vrdu", options=case.shared)
    assert [own.score for own in found.rank().systems] == [case.figures()["score"]] * 2
    assert f"|options:{signature('vrdu', options=case.shared).split('|options:')[1].split('|')[0]}|" in found.signature


@pytest.mark.parametrize(
    ("protocol", "options", "message"),
    [
        ("chartqapro", None, r"needs 'year' of each question, a column that neither .*references.* nor .*predictions.* "
         r'has\. To name its column, pass options=\{"year": "NAME"\}\.'),
        ("chartqapro", {"year": "Jahr"}, "neither .* has the column 'Jahr'; expected one of question_id, answers"),
        ("chartqapro", {"year": [["NO"]]}, r"options\['year'\]=.*expected the name of the column that has it"),
        ("chartqapro", {"yeer": "Year"}, "has no option 'yeer'; it takes 'year'"),
        ("vrdu", None, r'option .match. or .appearance.\. .* pass options=\{"appearance": \{"NAME": "unrepeated"\}\}'),
        ("vrdu", {}, "needs the option 'match' or 'appearance'"),
        ("vrdu", {"appearance": "repeated"}, "expected a dict of texts by name"),
        ("kieval_aligned", {"keys": "total"}, "expected a list of names"),
        ("rrc", {"year": "Year"}, "protocol 'rrc' has no options; leave them out"),
        ("donut_f1", {"year": "Year"}, "has no option 'year'; it takes none"),
        ("vrdu", "appearance", "expected a dict of options by name"),
    ],
)  # fmt: skip
def test_errors(protocol: str, options: Any, message: str, tmp_path: Path) -> None:
    row: dict[str, Any] = {"prediction": [["a", "x"]], "answers": [["a", ["x"]]]} if protocol == "vrdu" else {
        "prediction": {"entities": {"a": ["x"]}}, "answers": {"entities": {"a": ["x"]}}
    }  # fmt: skip
    if protocol in ("chartqapro", "rrc"):
        row = {"prediction": "x", "answers": "x", "answer_type": "Factoid"}
    with pytest.raises(ValueError, match=message):
        score_submission(*written(Case(protocol, {}, [row]), tmp_path, {}), protocol=protocol, options=options)


def test_an_error_names_the_question(tmp_path: Path) -> None:
    rows = [{"prediction": "x", "answers": "x", "answer_type": "Factoid", "year": year} for year in (["NO"], None)]
    files = written(Case("chartqapro", {}, rows), tmp_path, {})
    with pytest.raises(ValueError, match=r"^question '1': options\['year'\]\[1\]=None: expected the year flags"):
        score_submission(*files, protocol="chartqapro")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"keys": ["a"]}, {"keys": ["b"]}, False),
        ({"keys": {"a", "b"}}, {"keys": {"b", "a"}}, True),
        ({"keys": ["a"]}, {}, False),
    ],
)
def test_signatures_record_options(one: dict[str, Any], other: dict[str, Any], is_same: bool) -> None:
    found = {signature("kieval_aligned", options=own) for own in (one, other)}
    assert (len(found) == 1) == is_same


def test_signatures_of_other_protocols_have_none() -> None:
    with pytest.raises(ValueError, match="'rrc' has no options"):
        signature("rrc", options={"year": "Year"})
