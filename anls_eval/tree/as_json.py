"""Trees as JSON can hold them."""

from __future__ import annotations

import math
from typing import Any

from anls_eval.tree.nodes import is_literal_dict, key_text, plain_value
from anls_eval.tree.recursion import Computation, run_computation


def tree_as_json(value: Any, side: str = "reference") -> Any:
    """Return a tree as plain JSON values; in a reference, alternatives become ``{"$one_of": [...]}``."""
    return run_computation(_as_json(value, side == "reference"))


def _as_json(value: Any, is_reference: bool) -> Computation:
    value = plain_value(value)
    if isinstance(value, dict):
        is_literal = is_reference and is_literal_dict(value)
        content = value["$literal"] if is_literal else value
        with_options = is_reference and not is_literal and "$one_of" in content  # which stands alone
        plain: dict[str, Any] = {}
        for key, child in content.items():
            child = list(child) if with_options else child
            plain[key_text(key)] = yield _as_json(child, is_reference)
        return {"$literal": plain} if is_literal or (is_reference and is_literal_dict(plain)) else plain
    if isinstance(value, (list, tuple)):
        items = []
        for child in value:
            items.append((yield _as_json(child, is_reference)))
        return {"$one_of": items} if isinstance(value, tuple) else items
    return str(value) if isinstance(value, float) and math.isinf(value) else value
