"""Fields as people keep them: files of JSON or YAML, and pydantic models in modules."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from anls_eval.errors import AnlsError
from anls_eval.fields.paths import is_path
from anls_eval.json_faults import repeated_key
from anls_eval.settings import parse_settings, read_settings

# One of them is in every JSON Schema that says anything.
_SHAPES = ("type", "properties", "additionalProperties", "items", "prefixItems", "enum", "const", "x-anls")
_KEYWORDS = frozenset({*_SHAPES, "$schema", "$id", "$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf"})


def read_fields_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields, or the schema, in a file of JSON or YAML."""
    name = os.fspath(path)
    return parse_fields_text(read_settings(path, "fields"), name, is_yaml=name.lower().endswith((".yaml", ".yml")))


def parse_fields_text(text: str, name: str, *, is_yaml: bool = False) -> dict[str, Any]:
    """Return the fields, or the schema, in a text of JSON or YAML with this name."""
    content = _read_yaml(text, name) if is_yaml else parse_settings(text, name, parse_float=str)
    if not isinstance(content, dict):
        raise AnlsError("expected a dict: fields by their paths, or a JSON Schema", where=name)
    return content


def is_fields_dict(content: Mapping[str, Any]) -> bool:
    """Return whether a dict holds fields by their paths, not a schema; refuse what is neither."""
    others = [key for key in content if not (isinstance(key, str) and is_path(key))]
    if others and (len(others) < len(content) or not _KEYWORDS.intersection(content)):
        known = "a path of a field, such as $.total, nor do the keys together make a JSON Schema"
        raise AnlsError(f"the key {others[0]!r} is neither {known}")
    return not others


def _read_yaml(text: str, name: str) -> Any:
    try:
        import yaml
    except ImportError:
        problem = "pyyaml is missing, which reads YAML. Write the fields as JSON, or install it: pip install pyyaml"
        raise AnlsError(problem, where=name) from None
    try:
        _refuse_yaml_twice(yaml.compose(text, Loader=yaml.SafeLoader), name)
        return yaml.safe_load(text)
    except AnlsError:
        raise
    except yaml.YAMLError as error:
        mark, fault = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        name = f"{name}, line {mark.line + 1}, column {mark.column + 1}" if mark else name
        problem = f"not YAML: {fault or error}. Fix it there."
    except RecursionError:
        problem = "nested too deeply to be read here."
    except ValueError:
        problem = "a number has too many digits to read, or there is no such date. Write it as text, in quotes."
    raise AnlsError(problem, where=name)


def _refuse_yaml_twice(root: Any, name: str) -> None:
    """Refuse a key that a mapping of YAML has twice, which Python's reader would pass over."""
    nodes, seen = [root], set()
    for node in nodes:
        if node is None or id(node) in seen or isinstance(node.value, str):
            continue
        seen.add(id(node))
        if node.id == "sequence":
            nodes += node.value
            continue
        keys: dict[str, Any] = {}
        for key, value in node.value:
            if isinstance(key.value, str):
                _refuse_twice(key.value, keys, name)
                keys[key.value] = None
            nodes += [key, value]


def _refuse_twice(key: str, found: Mapping[str, Any], name: str) -> None:
    if key in found:
        raise AnlsError(repeated_key(key), where=name)


def names_a_model(text: str) -> bool:
    """Return whether a text has the form MODULE:Model."""
    module, colon, model = text.partition(":")
    return bool(colon) and all(map(str.isidentifier, [*module.split("."), *model.split(".")]))


def schema_of_model(text: str) -> Any:
    """Return the JSON Schema of the pydantic model MODULE:Model, found as ``python -m`` finds modules."""
    from pathlib import Path

    module_name, _, model_name = text.partition(":")
    try:
        here = str(Path.cwd())
    except FileNotFoundError:
        problem = "the working folder, in which modules are looked for, no longer exists. Change to one that does"
        raise AnlsError(problem, option="fields", value=text) from None
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module can raise anything, and end as a script does
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module_name}.".startswith(f"{error.name}."):
            problem = f"there is no module {error.name!r} in {here}, and none is installed"
        elif isinstance(error, SystemExit):
            problem = f"the module {module_name!r} ends Python as it is imported. Put what it runs under __main__"
        else:
            problem = f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}"
        raise AnlsError(problem, option="fields", value=text) from error
    finally:
        sys.path.remove(here)
    for name in model_name.split("."):
        if not hasattr(found, name):
            models = [key for key, value in vars(found).items() if hasattr(value, "model_json_schema")]
            known = f"; it has the models {', '.join(models)}" if models else ""
            raise AnlsError(f"{module_name!r} has no {name!r}{known}", option="fields", value=text)
        found = getattr(found, name)
    if not hasattr(found, "model_json_schema"):
        problem = f"{model_name!r} is not a model of pydantic 2: it has no model_json_schema()"
        raise AnlsError(problem, option="fields", value=text)
    try:
        return found.model_json_schema()
    except Exception as error:  # pydantic's, and those of the model's own methods
        raise AnlsError(f"its JSON Schema cannot be made: {error}", option="fields", value=text) from error
