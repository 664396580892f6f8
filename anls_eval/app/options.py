"""The options of the tabs that take files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from anls_eval.app.limits import check_tree
from anls_eval.errors import AnlsError, short_repr
from anls_eval.files import FormatError
from anls_eval.files.columns import ROLES, read_roles
from anls_eval.files.json_text import parse
from anls_eval.types import Missing, Unknown

_NEXT_ROLE = re.compile(rf"[\n,]\s*(?=(?:\w+\.)?(?:{'|'.join(ROLES)})\s*=)")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How files are read and scored, as `open_predictions` and `score_submission` take it."""

    protocol: str = "standard"
    threshold: str | float | None = None
    extract: str | Sequence[str] | None = None
    by: Sequence[str] = ()
    missing: Missing = "error"
    unknown: Unknown = "error"
    parse: str | Sequence[str] | None = None
    fields: str | Mapping[str, Any] | None = None  # the path of a file of field rules, or the rules
    options: Mapping[str, Any] | None = None  # what a benchmark knows beside the answers
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    encoding: str | None = None
    separator: str | None = None
    filter: str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """The options by which files are opened."""
        return {"encoding": self.encoding, "separator": self.separator, "filter": self.filter}


def names_in(text: str | Sequence[str] | None) -> list[str] | None:
    """Return the names in a text with commas between them; None if it is empty."""
    parts = text.split(",") if isinstance(text, str) else text or []
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"{short_repr(text)}: expected names, as a list or with commas between them")
    return [part.strip() for part in parts if part.strip()] or None


def roles_in(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the columns by role in a text, such as "prediction=output, answers=gold", or in a dict."""
    if isinstance(columns, str):
        return read_roles([part.strip() for part in _NEXT_ROLE.split(columns) if part.strip()])
    if not isinstance(columns or {}, Mapping):
        raise AnlsError("expected names of columns by role", option="columns", value=columns)
    return read_roles([f"{role}={name}" for role, name in (columns or {}).items()])


def options_in(options: str | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the options of a benchmark in the JSON text of an object, or in a dict; None if there are none."""
    found: Any = options
    if isinstance(options, str):
        try:
            found = parse(options, "the options") if options.strip() else None
        except FormatError as error:
            raise AnlsError(f"{error.place}: {error.problem}", option="options", value=options) from None
    if not isinstance(found or {}, Mapping):
        raise AnlsError('expected an object such as {"year": ["NO"]}', option="options", value=options)
    check_tree(found, "the options")  # a deep one cannot be sent to another process
    return dict(found or {}) or None
