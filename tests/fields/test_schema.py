"""JSON Schema read as fields."""

import datetime
import decimal
import enum
import warnings
from typing import Any, Literal

import pydantic
import pytest

from anls_eval import Fields, get_protocol
from anls_eval.errors import AnlsError


def options_of(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Fields.from_json_schema(schema).to_dict()


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ({"type": "number"}, {"compare": "number"}),
        ({"type": "integer"}, {"compare": "number"}),
        ({"type": ["integer", "null"]}, {"compare": "number"}),
        ({"type": ["number", "string"]}, {"compare": "number"}),
        ({"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\d+$"}]}, {"compare": "number"}),
        ({"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}, {"compare": "number"}),
        ({"type": "string"}, {}),
        ({"type": "string", "format": "email"}, {}),
        ({"type": "string", "format": "time"}, {}),
        ({"type": "string", "format": "date"}, {"compare": "date"}),
        ({"type": "string", "format": "date-time"}, {"compare": "date"}),
        ({"type": ["string", "null"], "format": "date"}, {"compare": "date"}),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, {"compare": "date"}),
        (
            {"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]},
            {"compare": "date"},
        ),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, {"compare": "boolean"}),
        ({"type": "boolean"}, {"compare": "boolean"}),
        ({"enum": ["paid", "open"]}, {"compare": "exact"}),
        ({"type": "string", "enum": ["paid", "open"]}, {"compare": "exact"}),
        ({"const": "invoice"}, {"compare": "exact"}),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"compare": "exact"}),
        ({"$ref": "#/$defs/Amount"}, {"compare": "number"}),
        ({"$ref": "#/$defs/Alias"}, {"compare": "number"}),
        ({"$ref": "#/$defs/Amount", "x-anls": {"weight": 2}}, {"compare": "number", "weight": "2"}),
        ({"allOf": [{"$ref": "#/$defs/Amount"}], "description": "x"}, {"compare": "number"}),
        ({"anyOf": [{"$ref": "#/$defs/Amount"}, {"type": "null"}]}, {"compare": "number"}),
        ({"anyOf": [{"$ref": "#/$defs/Amount"}, {"type": "string"}]}, {"compare": "number"}),
        (
            {"type": "string", "x-anls": {"compare": "number", "absolute": 0.01}},
            {"compare": "number", "absolute": "0.01"},
        ),
        ({"type": "number", "x-anls": {"compare": "ignore"}}, {"compare": "ignore"}),
        ({"type": "number", "x-anls": {"relative": "0.1"}}, {"compare": "number", "relative": "0.1"}),
        ({"anyOf": [{"$ref": "#/$defs/Either"}, {"type": "integer"}]}, {"compare": "number"}),
        ({}, {}),
        (True, {}),
        ({"type": "null"}, {}),
    ],
)
def test_types(schema: Any, options: dict[str, Any]) -> None:
    definitions: dict[str, Any] = {"Amount": {"type": "number"}, "Alias": {"$ref": "#/$defs/Amount"}}
    definitions["Either"] = {"anyOf": [{"$ref": "#/$defs/Amount"}, {"$ref": "#/$defs/Alias"}]}
    root = {"type": "object", "properties": {"x": schema}, "$defs": definitions}
    assert options_of(root) == {"$.x": options}


def test_containers() -> None:
    schema = {
        "properties": {
            "items": {
                "type": "array",
                "items": {"properties": {"line no": {"type": "integer"}}},
                "x-anls": {"key": "line no"},
            },
            "totals": {"type": "object", "properties": {"net": {}}, "additionalProperties": {"type": "number"}},
            "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "integer"}]},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
            "maybe": {"anyOf": [{"type": "array", "items": {"format": "date", "type": "string"}}, {"type": "null"}]},
        }
    }
    assert options_of(schema) == {
        "$.items": {"key": ["line no"]},
        "$.items[*]": {},
        "$.items[*]['line no']": {"compare": "number"},
        "$.totals": {},
        "$.totals.net": {},
        "$.totals.*": {"compare": "number"},
        "$.pair": {},
        "$.pair[*]": {"compare": "number"},
        "$.grid": {},
        "$.grid[*]": {},
        "$.grid[*][*]": {"compare": "boolean"},
        "$.maybe": {},
        "$.maybe[*]": {"compare": "date"},
    }


NUMBER, DATE = {"type": "number"}, {"type": "string", "format": "date"}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"properties": {"total": NUMBER}}, {"properties": {"date": DATE}}]},
        {"allOf": [{"properties": {"date": DATE}}, {"properties": {"total": NUMBER}}]},
        {"properties": {"date": DATE}, "allOf": [{"$ref": "#/$defs/Base"}]},
        {"properties": {"date": DATE}, "$ref": "#/$defs/Base"},
        {"properties": {"date": DATE}, "allOf": [{"allOf": [{"$ref": "#/$defs/Base"}]}, {"required": ["date"]}]},
        {"properties": {"date": DATE, "total": NUMBER}, "anyOf": [{"required": ["date"]}, {"required": ["total"]}]},
        {
            "properties": {"date": {}, "total": {"description": "x"}},
            "allOf": [{"properties": {"date": DATE, "total": NUMBER}}],
        },
    ],
)
def test_all_parts_count(schema: dict[str, Any]) -> None:
    """What is in several parts, as in models that inherit, is in the document."""
    found = options_of({"type": "object", "$defs": {"Base": {"properties": {"total": NUMBER}}}, **schema})
    assert found == {"$.date": {"compare": "date"}, "$.total": {"compare": "number"}}


def test_a_part_within_a_part() -> None:
    base = {
        "properties": {"buyer": {"properties": {"id": NUMBER}}, "lines": {"items": {"properties": {"net": NUMBER}}}}
    }
    own = {"properties": {"buyer": {"properties": {"since": DATE}}, "lines": {"items": {"x-anls": {"weight": 2}}}}}
    assert options_of({"$defs": {"Base": base}, "allOf": [{"$ref": "#/$defs/Base"}, own]}) == {
        "$.buyer": {},
        "$.buyer.id": {"compare": "number"},
        "$.buyer.since": {"compare": "date"},
        "$.lines": {},
        "$.lines[*]": {"weight": "2"},
        "$.lines[*].net": {"compare": "number"},
    }


def test_a_list_at_the_root() -> None:
    assert options_of({"type": "array", "items": {"type": "number"}}) == {"$[*]": {"compare": "number"}}
    assert options_of({"type": "number", "x-anls": {"absolute": 1}}) == {"$": {"compare": "number", "absolute": "1"}}


def test_options_of_a_container_hold_for_the_types_below_it() -> None:
    schema = {
        "properties": {
            "codes": {"type": "array", "items": {"type": "integer"}, "x-anls": {"compare": "exact", "weight": 2}},
            "name": {"type": "string"},
        }
    }
    rules = Fields.from_json_schema(schema).rules(get_protocol("anls_star"))
    codes = rules.child("codes").element()
    assert codes.comparator is not None
    assert (codes.comparator.name, codes.weight) == ("exact", 2)
    assert rules.child("name").comparator is None


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"anyOf": [{"type": "number"}, {"type": "boolean"}]}, "$.x has several types (boolean, number)"),
        ({"type": ["integer", "boolean", "null"]}, "$.x has several types (boolean, number)"),
        ({"anyOf": [{"type": "object"}, {"type": "string"}]}, "$.x has several types (object, text)"),
        ({"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, "$.x has several types (object)"),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, "$.x has several types (date, text)"),
        ({"prefixItems": [{"type": "number"}, {"type": "string"}]}, "$.x has prefixItems that differ"),
        ({"prefixItems": [{"type": "number"}], "items": {"type": "string"}}, "$.x has prefixItems that differ"),
        ({"patternProperties": {"^a": {"type": "number"}}}, "$.x has patternProperties"),
    ],
)
def test_parts_without_one_type_are_text_with_a_warning(schema: dict[str, Any], words: str) -> None:
    with pytest.warns(UserWarning, match="compared as text") as caught:
        fields = Fields.from_json_schema({"properties": {"x": schema}})
    assert len(caught) == 1
    assert words in str(caught[0].message)
    assert fields.to_dict() == {"$.x": {}}


def test_x_anls_settles_what_has_several_types() -> None:
    schema = {"anyOf": [{"type": "number"}, {"type": "boolean"}], "x-anls": {"compare": "exact"}}
    assert options_of({"properties": {"x": schema}}) == {"$.x": {"compare": "exact"}}


@pytest.mark.parametrize(
    ("definitions", "way"),
    [
        ({"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}}, "#/$defs/Node -> #/$defs/Node"),
        ({"Node": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}, "#/$defs/Node -> #/$defs/Node"),
        ({"Node": {"items": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}, "#/$defs/Node -> #/$defs/Node"),
        (
            {
                "Node": {"properties": {"a": {"$ref": "#/$defs/B"}}},
                "B": {"additionalProperties": {"$ref": "#/$defs/Node"}},
            },
            "#/$defs/Node -> #/$defs/B -> #/$defs/Node",
        ),
        ({"Node": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/Node"}}, "#/$defs/Node -> #/$defs/B -> #/$defs/Node"),
    ],
)
def test_circular_references_are_named(definitions: dict[str, Any], way: str) -> None:
    with pytest.raises(AnlsError) as caught:
        Fields.from_json_schema({"$ref": "#/$defs/Node", "$defs": definitions})
    assert f"the schema refers to itself: {way}." in str(caught.value)


def test_a_definition_may_be_used_twice() -> None:
    schema = {
        "properties": {"seller": {"$ref": "#/$defs/Party"}, "buyer": {"$ref": "#/$defs/Party"}},
        "$defs": {"Party": {"properties": {"vat": {"enum": ["A"]}}}},
    }
    assert options_of(schema)["$.buyer.vat"] == options_of(schema)["$.seller.vat"] == {"compare": "exact"}


def test_definitions_that_multiply_are_refused() -> None:
    definitions: dict[str, Any] = {
        f"D{n}": {"properties": {key: {"$ref": f"#/$defs/D{n + 1}"} for key in "abcd"}} for n in range(12)
    }
    definitions["D12"] = {"type": "number"}
    with pytest.raises(AnlsError, match="more than 100,000 paths"):
        Fields.from_json_schema({"$ref": "#/$defs/D0", "$defs": definitions})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"a": {"$ref": "#/$defs/Missing"}}}, "$.a: the schema has no '#/$defs/Missing'"),
        ({"properties": {"a": {"$ref": "https://example.com/s"}}}, "expected a reference within it"),
        ({"properties": {"a": {"x-anls": {"wieght": 2}}}}, "$.a: option='wieght'"),
        ({"properties": {"a": {"x-anls": 2}}}, "$.a: x-anls is 2"),
        ({"properties": {"a": {"type": "number", "x-anls": {"day_first": True}}}}, "$.a: day_first is an option of"),
        ([], "expected a JSON Schema as a dict"),
    ],
)
def test_schemas_that_are_refused(schema: Any, words: str) -> None:
    with pytest.raises(AnlsError) as caught:
        Fields.from_json_schema(schema)
    assert words in str(caught.value)


class Currency(enum.Enum):
    EUR = "EUR"
    USD = "USD"


class Item(pydantic.BaseModel):
    sku: str = pydantic.Field(json_schema_extra={"x-anls": {"compare": "exact"}})
    price: decimal.Decimal
    quantity: int | None = None


class Invoice(pydantic.BaseModel):
    number: str
    date: datetime.date
    due: datetime.datetime | None = None
    total: float
    paid: bool = False
    kind: Literal["invoice", "credit note"]
    currency: Currency | None = None
    items: list[Item] = pydantic.Field(default=[], json_schema_extra={"x-anls": {"key": "sku"}})
    extra: dict[str, float] = {}
    position: tuple[float, float] = (0, 0)


def test_models_of_pydantic() -> None:
    assert options_of(Invoice.model_json_schema()) == {
        "$.number": {},
        "$.date": {"compare": "date"},
        "$.due": {"compare": "date"},
        "$.total": {"compare": "number"},
        "$.paid": {"compare": "boolean"},
        "$.kind": {"compare": "exact"},
        "$.currency": {"compare": "exact"},
        "$.items": {"key": ["sku"]},
        "$.items[*]": {},
        "$.items[*].sku": {"compare": "exact"},
        "$.items[*].price": {"compare": "number"},
        "$.items[*].quantity": {"compare": "number"},
        "$.extra": {},
        "$.extra.*": {"compare": "number"},
        "$.position": {},
        "$.position[*]": {"compare": "number"},
    }


def test_a_model_in_place_of_its_schema_is_refused_with_the_remedy() -> None:
    model: Any = Invoice
    with pytest.raises(AnlsError, match=r"Pass its model_json_schema\(\)"):
        Fields.from_json_schema(model)
