"""`Fields`: the fields of a tree by their paths."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from anls_eval.errors import AnlsError, located
from anls_eval.fields.field import (
    FIELD_DEFAULTS,
    OWNED_OPTIONS,
    Field,
    as_field,
    check_owner,
    option_as_json,
)
from anls_eval.fields.load import is_fields_dict, names_a_model, read_fields_file, schema_of_model
from anls_eval.fields.paths import AnyStep, FieldPath, Step, parse_path, path_text
from anls_eval.fields.rules import FieldRules, all_places, resolve_fields, resolved_options
from anls_eval.fields.schema import fields_of_schema
from anls_eval.rules.protocol import Protocol

_MAX_WEIGHT = 10**12  # as an integer: the sum of millions of them still fits into 64 bits


class Fields(Mapping[str, Field]):
    """How the parts of trees are compared and weighed, by their paths. It cannot be changed.

    A path is ``$``, then ``.key``, ``['key']``, ``.*`` (any key that is not named at this place) or ``[*]`` (any
    element of a list). Options are inherited by the paths below, except for `order` and `key` of a list; a longer path
    changes only the options that it names. ``compare="ignore"`` wins over every path below it.

    Args:
        fields: A `Field`, or a dict of its options, for each path.
        from_schema: Whether the paths come from a schema, which may name more than the documents have.

    The attribute `scale` is the integer by which all weights become integers, and `unit` the greatest of these.

    Raises:
        ValueError: A path or an option is wrong, a path is given twice, or a key field is ignored.

    Example:
        >>> from anls_eval import Field, Fields
        >>> Fields({"$.total": Field(compare="number"), "$['items'][*].sku": {"compare": "exact", "weight": 2}})
        Fields({'$.total': {'compare': 'number'}, '$.items[*].sku': {'compare': 'exact', 'weight': '2'}})
    """

    def __init__(self, fields: Mapping[str, Field | Mapping[str, object]], *, from_schema: bool = False) -> None:
        self._by_path = _parsed(fields)
        self._by_text = {path_text(path): field for path, field in self._by_path.items()}
        self.from_schema = from_schema
        weights = [field.named().get("weight", FIELD_DEFAULTS["weight"]) for field in self._by_path.values()]
        self.scale = math.lcm(1, *[weight.denominator for weight in weights])
        self.unit = int(max([FIELD_DEFAULTS["weight"], *weights]) * self.scale)
        if self.unit > _MAX_WEIGHT:
            problem = "the weights differ too much, or have too many digits, to be added exactly"
            raise AnlsError(problem)
        _check(self._by_path)
        self._rules: dict[Protocol, FieldRules] = {}

    @classmethod
    def from_json_schema(cls, schema: Mapping[str, object]) -> Fields:
        """Return the fields that a JSON Schema describes (2020-12, as pydantic's ``model_json_schema()`` writes it).

        Numbers and integers are compared as numbers, dates and times as dates, booleans as booleans, enum and const as
        exact texts, other texts as text. The keyword ``x-anls`` holds options of a `Field`.

        Args:
            schema: The schema, as a dict.

        Returns:
            The fields, with a path for each part of the schema.

        Raises:
            ValueError: A reference is circular or leads nowhere, or an option is wrong.

        Example:
            >>> from anls_eval import Fields
            >>> Fields.from_json_schema({"type": "object", "properties": {"total": {"type": "number"}}})
            Fields({'$.total': {'compare': 'number'}})
        """
        return cls(fields_of_schema(schema), from_schema=True)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Fields:
        """Return the fields in a file of JSON or YAML: a dict whose keys are all paths, or else a JSON Schema.

        Args:
            path: The file. YAML is told by its ending, .yaml or .yml.

        Returns:
            The fields.

        Raises:
            ValueError: The file cannot be read, or what it holds is wrong.
        """
        return fields_in(read_fields_file(path), str(path))

    def rules(self, protocol: Protocol) -> FieldRules:
        """Return the rules of the root of a tree under a protocol."""
        if protocol not in self._rules:
            self._rules[protocol] = resolve_fields(self._by_path, protocol, self.scale)
        return self._rules[protocol]

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Return the options of each path as JSON has them: decimals as text, functions by their name."""
        return {path: field.to_dict() for path, field in self._by_text.items()}

    def fingerprint(self) -> str:
        """Return what a signature records: the first 12 digits of the SHA-256 of the canonical JSON."""
        import hashlib

        text = json.dumps(self._canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def _canonical(self) -> dict[str, dict[str, object]]:
        """Return the options that differ from what holds without them, by path."""
        found = {}
        inherited = resolved_options({path: Field() for path in self._by_path}, all_places(self._by_path))
        given = resolved_options(self._by_path, all_places(self._by_path))
        for path, field in self._by_path.items():
            above = given[path[:-1]] if path else inherited[()]
            found[path_text(path)] = {
                option: option_as_json(value)
                for option, value in field.named().items()
                if value != (above[option] if option not in ("order", "key") else FIELD_DEFAULTS[option])
            }
        return found

    def __getitem__(self, path: str) -> Field:
        return self._by_text[path_text(parse_path(path))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_text)

    def __len__(self) -> int:
        return len(self._by_text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._by_text.items()))

    def __repr__(self) -> str:
        return f"Fields({self.to_dict()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_fields, (self._by_text, self.from_schema)


def _made_fields(fields: Mapping[str, Field], from_schema: bool) -> Fields:
    """Return fields that come from another process."""
    return Fields(fields, from_schema=from_schema)


def fields_in(content: Mapping[str, Any], name: str) -> Fields:
    """Return the fields that a dict with this name holds by their paths, or describes as a JSON Schema."""
    try:
        found = Fields(content) if is_fields_dict(content) else Fields.from_json_schema(content)
        if content and not found:
            raise AnlsError("it describes no field, so that nothing would be compared otherwise")
        return found
    except AnlsError as error:
        raise located(name, error) from None


def load_fields(text: str) -> Fields:
    """Return the fields that a command line names: a file, or a pydantic model as MODULE:Model."""
    from pathlib import Path

    if names_a_model(text) and not Path(text).exists():
        return Fields.from_json_schema(schema_of_model(text))
    return Fields.from_file(text)


FieldsLike: TypeAlias = Fields | Mapping[str, Field | Mapping[str, object]] | None
"""What is taken for fields: a `Fields`, or a dict with a `Field`, or a dict of its options, for each path."""


def as_fields(fields: FieldsLike) -> Fields | None:
    """Return fields from what is taken for them: a `Fields`, a dict of paths, or None."""
    if fields is None or isinstance(fields, Fields):
        return fields
    if isinstance(fields, Mapping):
        return Fields(fields, from_schema=getattr(fields, "from_schema", False))
    raise AnlsError("expected a Fields, or a dict with a Field for each path", option="fields", value=fields)


def _parsed(fields: Mapping[str, Field | Mapping[str, object]]) -> dict[FieldPath, Field]:
    """Return the fields by their parsed paths."""
    if not isinstance(fields, Mapping):
        raise AnlsError("expected a dict with a Field for each path", option="fields", value=fields)
    found: dict[FieldPath, Field] = {}
    for text, field in fields.items():
        path = parse_path(text)
        if path in found:
            raise AnlsError("the path is given twice; keep one", option="path", value=text)
        found[path] = as_field(field, text)
    return found


def _check(fields: Mapping[FieldPath, Field]) -> None:
    """Refuse options that nothing here or below has a use for, and keys that are ignored."""
    places = all_places(fields)
    options = resolved_options(fields, places)
    compared = {place: {options[place]["compare"]} for place in places}
    for place in reversed(places):
        if place:
            compared[place[:-1]] |= compared[place]
    for path, field in fields.items():
        is_unused = options[path]["compare"] == "ignore"  # by a path above, which wins
        for option in () if is_unused else field.named():
            if OWNED_OPTIONS.get(option, "") not in ("", *compared[path]):
                try:
                    check_owner(option, options[path]["compare"])
                except AnlsError as error:
                    raise located(path_text(path), error) from None
        for key in options[path]["key"]:
            if _compare_at(options, (*path, AnyStep.ELEMENT, key)) == "ignore":
                problem = f"the key field {key!r} is ignored: elements cannot be matched by it"
                raise AnlsError(problem, option="key", value=list(options[path]["key"]), where=path_text(path))


def _compare_at(options: Mapping[FieldPath, Mapping[str, Any]], path: FieldPath) -> Any:
    """Return how a place is compared, which need not have a path."""
    place: FieldPath = ()
    for step in path:
        ways: list[Step] = [step, AnyStep.KEY] if isinstance(step, str) else [step]
        found = [(*place, way) for way in ways if (*place, way) in options]
        if not found:
            break
        place = found[0]
    return options[place]["compare"]
