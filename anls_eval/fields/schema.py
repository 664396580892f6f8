"""JSON Schema (2020-12, as pydantic writes it) read as fields: types become comparators, ``x-anls`` holds options."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from anls_eval.errors import AnlsError, short_repr
from anls_eval.fields.field import Field, as_field
from anls_eval.fields.paths import AnyStep, FieldPath, path_text

_MAX_PATHS = 100_000  # definitions that use one another several times multiply

_OPTIONS_KEYWORD = "x-anls"

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_FORMS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("properties", "patternProperties"), (Mapping, "a schema for each name")),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), (list, "a list of schemas")),
    **dict.fromkeys(("additionalProperties", "additionalItems"), ((Mapping, bool), "a schema")),
    "items": ((Mapping, bool, list), "a schema"),
}
"""What the keywords hold that are read here."""

_OWN = ("type", "properties", "items")
_SAYING = frozenset({*_OWN, "additionalProperties", "prefixItems", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"})


class _Place(NamedTuple):
    """A schema of one place in a document."""

    schema: Any
    path: FieldPath
    references: tuple[str, ...]  # the $refs that led here
    is_given: bool  # whether an x-anls above says how to compare


def fields_of_schema(root: object) -> dict[str, Field]:
    """Return the fields that a JSON Schema describes, by their paths; warn of parts that have no one type."""
    if not isinstance(root, Mapping):
        remedy = ". Pass its model_json_schema()" if hasattr(root, "model_json_schema") else ""
        raise AnlsError(f"expected a JSON Schema as a dict{remedy}", option="schema", value=root)
    found: dict[str, Field] = {}
    places = [_Place(root, (), (), False)]
    while places:
        if len(found) >= _MAX_PATHS:
            raise AnlsError(f"the schema describes more than {_MAX_PATHS:,} paths, which is the limit")
        place = _resolved(places.pop(), root)
        schema = place.schema
        if not isinstance(schema, Mapping):  # true, false: anything or nothing
            found.setdefault(path_text(place.path), Field())
            continue
        options = dict(_options_of(schema, place.path))
        if "compare" not in options and not place.is_given:
            options |= _compare_of(place, root)
        if options or place.path:
            found[path_text(place.path)] = as_field(options, path_text(place.path))
        is_given = place.is_given or "compare" in options
        below = _below(place, root)
        places += [_Place(part, (*place.path, step), place.references, is_given) for step, part in reversed(below)]
    return found


def _options_of(schema: Mapping[str, Any], path: FieldPath) -> Mapping[str, Any]:
    options = schema.get(_OPTIONS_KEYWORD, {})
    if not isinstance(options, Mapping):
        raise AnlsError(
            f"{_OPTIONS_KEYWORD} is {short_repr(options)}; expected options of a field", where=path_text(path)
        )
    return options


def _resolved(place: _Place, root: Mapping[str, Any]) -> _Place:
    """Return a place with the schema that its $ref, allOf, or the one type beside null leads to."""
    schema, references = place.schema, place.references
    while isinstance(schema, Mapping):
        _check_keywords(schema, place.path)
        if "$ref" in schema:
            name = schema["$ref"]
            if name in references:
                way = " -> ".join((*references[references.index(name) :], name))
                raise AnlsError(
                    f"the schema refers to itself: {way}. Describe the depth that the documents have, or write the "
                    "fields as paths",
                    where=path_text(place.path),
                )
            references = (*references, name)
            rest: Any = {key: value for key, value in schema.items() if key != "$ref"}
            schema = _merged(_target(name, root, place.path), rest)
        elif schema.get("allOf"):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                inner = _resolved(place._replace(schema=part, references=references), root)
                rest, references = _merged(inner.schema, rest), inner.references
            schema = rest
        else:
            ways = _alternatives_of(schema)
            if len(ways) != 1:
                break
            rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
            schema = _merged(ways[0], rest)
    return place._replace(schema=schema, references=references)


def _merged(schema: Any, beside: Mapping[str, Any]) -> Any:
    """Return a schema with the keywords that stand beside the reference to it, where both hold."""
    if not isinstance(schema, Mapping):
        return beside or schema
    names, others = schema.get("properties", {}), beside.get("properties", {})
    shared = {name: _both(own, others[name]) for name, own in names.items() if name in others}
    merged = {**schema, **beside}
    if names and others:
        merged["properties"] = {**names, **others, **shared}
    if isinstance(schema.get("items"), Mapping) and isinstance(beside.get("items"), Mapping):
        merged["items"] = _both(schema["items"], beside["items"])
    return merged


def _both(schema: Any, beside: Any) -> Any:
    """Return a schema for what two schemas describe, of which the one beside the other is preferred."""
    return beside if schema == beside else {"allOf": [beside, schema]}


def _check_keywords(schema: Mapping[str, Any], path: FieldPath) -> None:
    """Refuse what is no JSON Schema, or is one inside something else, from which nothing would be read."""
    for keyword, (form, expected) in _FORMS.items():
        if keyword in schema and not isinstance(schema[keyword], form):
            problem = f"{keyword} is {short_repr(schema[keyword])}; expected {expected}"
            raise AnlsError(problem, where=path_text(path))
    for name in schema.get("properties", ()):
        if not isinstance(name, str):
            problem = f"properties has the name {name!r}; expected a text. In YAML, write no, on, yes, numbers and "
            raise AnlsError(f"{problem}dates in quotes", where=path_text(path))
    given = schema.get("type", [])
    for name in [given] if isinstance(given, str) or not isinstance(given, list) else given:
        if name not in _TYPES:
            problem = f"type is {short_repr(name)}; expected one of {', '.join(_TYPES)}"
            raise AnlsError(f"{problem}. If a schema is inside, pass that alone", where=path_text(path))


def _target(name: object, root: Mapping[str, Any], path: FieldPath) -> Any:
    """Return the schema that a $ref names."""
    found: Any = root
    if isinstance(name, str) and (name == "#" or name.startswith("#/")):
        for part in name.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and part in found:
                found = found[part]
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            else:
                break
        else:
            return found
    raise AnlsError(
        f"the schema has no {short_repr(name)}; expected a reference within it, such as '#/$defs/Invoice'",
        where=path_text(path),
    )


def _alternatives_of(schema: Mapping[str, Any]) -> list[Any]:
    """Return the alternatives of anyOf or oneOf but null, and those that only restrict what the schema says itself."""
    ways = schema.get("anyOf", schema.get("oneOf", []))
    if any(keyword in schema for keyword in _OWN):
        ways = [way for way in ways if not isinstance(way, Mapping) or any(key in way for key in _SAYING)]
    return [way for way in ways if not (isinstance(way, Mapping) and way.get("type") == "null")]


def _types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types of a schema but null."""
    types = schema.get("type", [])
    found = [types] if isinstance(types, str) else list(types)
    if not found:
        found = ["object"] if "properties" in schema else ["array"] if "items" in schema else []
    return [name for name in found if name != "null"]


def _compare_of(place: _Place, root: Mapping[str, Any]) -> dict[str, str]:
    """Return the comparator for the type of a schema; nothing for containers and plain texts."""
    kinds = _kinds_of(place, root)
    if len(kinds) > 1 and kinds <= {"number", "text"}:
        return {"compare": "number"}  # pydantic's Decimal is a number or a text
    is_one_of_several = len(_alternatives_of(place.schema)) > 1
    if len(kinds) > 1 or (is_one_of_several and kinds & {"object", "array"}):
        _warn(place.path, f"has several types ({', '.join(sorted(kinds))})")
        return {}
    typed = kinds - {"text", "object", "array"}
    return {"compare": typed.pop()} if typed else {}


def _kinds_of(place: _Place, root: Mapping[str, Any]) -> set[str]:
    """Return how values of a schema compare: the comparators of its types, or object and array."""
    place = _resolved(place, root)
    schema = place.schema
    if not isinstance(schema, Mapping):
        return set()
    if "enum" in schema or "const" in schema:
        return {"exact"}
    if ways := _alternatives_of(schema):
        return {kind for way in ways for kind in _kinds_of(place._replace(schema=way), root)}
    kinds = {"number": "number", "integer": "number", "boolean": "boolean", "object": "object", "array": "array"}
    text = "date" if schema.get("format") in ("date", "date-time") else "text"
    return {kinds.get(name, text) for name in _types_of(schema)}


def _below(place: _Place, root: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the schemas of keys and elements below a place, with the steps to them."""
    schema = place.schema
    if len(_alternatives_of(schema)) > 1:
        return []
    found: list[tuple[Any, Any]] = list(schema.get("properties", {}).items())
    if isinstance(schema.get("additionalProperties"), Mapping):
        found.append((AnyStep.KEY, schema["additionalProperties"]))
    if schema.get("patternProperties"):
        _warn(place.path, "has patternProperties, whose keys no path names")
    items, first = schema.get("items"), schema.get("prefixItems", [])
    if isinstance(items, list):  # before 2020-12
        items, first = schema.get("additionalItems"), items
    parts = [*first, *([items] if isinstance(items, Mapping) else [])]
    if not parts:
        return found
    kinds = [_kinds_of(place._replace(schema=part), root) for part in parts]
    is_one_kind = all(part == parts[0] for part in parts[1:]) or (
        all(kind == kinds[0] for kind in kinds) and not kinds[0] & {"object", "array"}
    )
    if is_one_kind:
        found.append((AnyStep.ELEMENT, parts[0]))
    else:
        _warn(place.path, "has prefixItems that differ")
    return found


def _warn(path: FieldPath, what: str) -> None:
    message = (
        f"the schema of {path_text(path)} {what}: it is compared as text. To say how, write {_OPTIONS_KEYWORD} there"
    )
    warnings.warn(message, UserWarning, stacklevel=5)
