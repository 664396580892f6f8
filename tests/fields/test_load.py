"""Fields from files, and from models in modules."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from anls_eval import Fields
from anls_eval.errors import AnlsError
from anls_eval.fields.fields import load_fields
from anls_eval.fields.load import names_a_model

FIELDS: dict[str, dict[str, Any]] = {
    "$.total": {"compare": "number", "absolute": "0.01"},
    "$.date": {"compare": "date", "day_first": True},
}
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}, "$.odd": {}}}

YAML = """
$.total: {compare: number, absolute: 0.01}
$.date:
  compare: date
  day_first: true
"""


def test_files_of_fields(tmp_path: Path) -> None:
    (tmp_path / "fields.json").write_text(json.dumps(FIELDS))
    (tmp_path / "fields.yaml").write_text(YAML)
    (tmp_path / "FIELDS.YML").write_text("\ufeff" + YAML, encoding="utf-8")
    for name in ("fields.json", "fields.yaml", "FIELDS.YML"):
        fields = Fields.from_file(tmp_path / name)
        assert fields == Fields(FIELDS) == load_fields(str(tmp_path / name))
        assert not fields.from_schema


def test_files_of_schemas(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "schema.yaml").write_text("type: array\nitems: {type: string, format: date}\n")
    assert Fields.from_file(tmp_path / "schema.json").to_dict() == {"$.total": {"compare": "number"}, "$['$.odd']": {}}
    assert Fields.from_file(tmp_path / "schema.yaml").to_dict() == {"$[*]": {"compare": "date"}}
    assert Fields.from_file(tmp_path / "schema.yaml").from_schema


@pytest.mark.parametrize(
    ("text", "is_model"),
    [
        ("schema:Invoice", True),
        ("a.b:C.D", True),
        ("fields.json", False),
        ("a:", False),
        (":B", False),
        ("a b:C", False),
    ],
)
def test_what_names_a_model(text: str, is_model: bool) -> None:
    assert names_a_model(text) is is_model


def test_an_empty_file_of_fields(tmp_path: Path) -> None:
    (tmp_path / "fields.json").write_text("{}")
    assert Fields.from_file(tmp_path / "fields.json") == Fields({})


def test_decimals_in_files_mean_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "fields.json").write_text('{"$.a": {"compare": "number", "absolute": 0.1234567890123456789}}')
    field = Fields.from_file(tmp_path / "fields.json").to_dict()["$.a"]
    assert field["absolute"] == "0.1234567890123456789"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("f.json", "{", "f.json, line 1, column 2: not JSON: Expecting property name"),
        ("f.json", "[1]", "expected a dict"),
        ("f.json", '{"$.a": {}, "$.a": {}}', "has the key '$.a' twice"),
        ("f.json", '{"$.a": {"weight": 1, "weight": 2}}', "has the key 'weight' twice"),
        ("f.json", '{"$.a": {"weight": -1}}', "weight=-1"),
        ("f.json", '{"$.a": {}, "total": {}}', "the key 'total' is neither a path of a field"),
        ("f.json", '{"total": {"compare": "number"}}', "the key 'total' is neither a path of a field"),
        ("f.json", "[" * 100_000, "f.json: nested too deeply to be read here."),
        ("f.json", "[" + "1" * 5_000, "f.json: an integer has too many digits to read. Write it as text, in quotes."),
        ("f.yaml", "$.a: [", "f.yaml, line 1, column 7: not YAML: expected the node content"),
        ("f.yaml", "$.a: " + "[" * 3_000, "f.yaml: nested too deeply to be read here."),
        ("f.yaml", "$.a: " + "1" * 5_000, "too many digits to read, or there is no such date. Write it as text"),
        (
            "f.yaml",
            "$.a: 2026-02-30",
            "or there is no such date. Write it as text, in quotes.",
        ),
        (
            "f.yaml",
            "type: object\nproperties:\n  no: {type: string}",
            "f.yaml: $: properties has the name False; expected a text. In YAML,",
        ),
        (
            "f.yaml",
            "type: object\nproperties:\n  2024: {type: string}",
            "properties has the name 2024; expected a text",
        ),
        ("f.yaml", "type: object\nproperties:", "f.yaml: $: properties is None; expected a schema for each name"),
        ("f.yaml", "type: object\nproperties:\n- total", "properties is ['total']; expected a schema for each name"),
        ("f.json", '{"type": "object"}', "f.json: it describes no field, so that nothing would be compared otherwise"),
        (
            "f.json",
            '{"type": "json_schema", "json_schema": {}}',
            "type is 'json_schema'; expected one of array, boolean",
        ),
        ("f.yaml", "$.a: {}\n$.a: {}", "has the key '$.a' twice"),
        ("f.yaml", "$.a:\n  weight: 1\n  weight: 2", "has the key 'weight' twice"),
        ("f.yaml", "", "the file is empty"),
        ("f.yaml", "# nothing yet\n", "expected a dict"),
        ("f.yaml", "$.a: !!python/object/apply:os.getcwd []", "not YAML"),
        ("f.yml", "$.a: &x {weight: 2}\n$.b: *x\n$.c: {wieght: 2}", "option='wieght'"),
    ],
)
def test_files_that_are_refused_are_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(AnlsError) as caught:
        Fields.from_file(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert words in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nothing.json"
    with pytest.raises(AnlsError, match=rf"^{path}: cannot be opened: No such file or directory\. Check the path\.$"):
        load_fields(str(path))


MODULE = """
import pydantic

class Invoice(pydantic.BaseModel):
    total: float

    class Line(pydantic.BaseModel):
        net: int

class Plain:
    pass

class Odd(pydantic.BaseModel):
    call: "Callable[[], int]"

from typing import Callable
Odd.model_rebuild()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_models_are_found_as_python_finds_modules(here: Path) -> None:
    (here / "invoice_models.py").write_text(MODULE)
    (here / "package_of_models").mkdir()
    (here / "package_of_models" / "inner.py").write_text(MODULE)
    path = list(sys.path)
    assert load_fields("invoice_models:Invoice").to_dict() == {"$.total": {"compare": "number"}}
    assert load_fields("invoice_models:Invoice.Line").to_dict() == {"$.net": {"compare": "number"}}
    assert load_fields("package_of_models.inner:Invoice").from_schema
    assert sys.path == path


@pytest.mark.parametrize(
    ("module", "text", "name", "words"),
    [
        ("models_a", None, "models_a:Invoice", "there is no module 'models_a' in "),
        ("models_b", MODULE, "models_b.inner:Invoice", "there is no module 'models_b.inner'"),
        ("models_c", MODULE, "models_c:Invoce", "'models_c' has no 'Invoce'; it has the models Invoice, Odd"),
        ("models_d", MODULE, "models_d:Plain", "'Plain' is not a model of pydantic 2"),
        ("models_e", MODULE, "models_e:Odd", "its JSON Schema cannot be made"),
        ("models_f", "1 / 0", "models_f:Invoice", "cannot be imported: ZeroDivisionError: division by zero"),
        (
            "models_g",
            "import nowhere_at_all",
            "models_g:Invoice",
            "No module named 'nowhere_at_all'",
        ),
        (
            "models_i",
            "raise SystemExit(0)",
            "models_i:Invoice",
            "'models_i' ends Python as it is imported. Put what it",
        ),
        ("models_j", "exit()", "models_j:Invoice", "ends Python as it is imported. Put what it runs under __main__"),
        ("models_h", "def", "models_h:Invoice", "cannot be imported: SyntaxError"),
    ],
)
def test_models_that_cannot_be_loaded(here: Path, module: str, text: str | None, name: str, words: str) -> None:
    if text is not None:
        (here / f"{module}.py").write_text(text)
    with pytest.raises(AnlsError) as caught:
        load_fields(name)
    assert words in str(caught.value)
    assert name in str(caught.value)


def test_neither_dateutil_nor_yaml_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "fields.yaml").write_text(YAML)
    code = """
import sys
from anls_eval import Fields, get_protocol
fields = Fields({"$": {"compare": "date"}})
compare = fields.rules(get_protocol("anls_star")).comparator
assert compare.parse("14 May 2026", "reference") == compare.parse("2026-05-14", "reference")
assert not {"dateutil", "yaml", "pydantic"} & set(sys.modules)
sys.modules["dateutil"] = sys.modules["dateutil.parser"] = sys.modules["yaml"] = None  # as if they were missing
for call in (lambda: compare.parse("Thu May 14 10:30:00 2026", "reference"), lambda: Fields.from_file(sys.argv[1])):
    try:
        call()
    except ValueError as error:
        print(error)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "fields.yaml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "pip install python-dateutil" in done.stdout, done.stderr
    assert "pip install pyyaml" in done.stdout
