"""Every output is the one that was recorded, to the last bit."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from golden.cases import SECTIONS
from golden.record import FOLDER, outputs

_SHOWN = 10  # differences
_WIDTH = 500  # characters of each


@pytest.mark.parametrize("section", SECTIONS)
def test_as_recorded(section: str) -> None:
    lines = (FOLDER / f"{section}.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = {row["key"]: row["value"] for row in map(json.loads, lines)}
    found = dict(outputs(section))
    assert list(found) == list(recorded)
    differences = [
        f"{key}{place}\n  recorded {one[:_WIDTH]}\n  found    {other[:_WIDTH]}"
        for key in recorded
        for place, one, other in _differences(recorded[key], found[key])
    ]
    hint = "`python -m golden.record FOLDER` at both commits writes all of it"
    assert not differences, "\n".join([f"{len(differences)} differences; {hint}", *differences[:_SHOWN]])


def _differences(recorded: Any, found: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield where two JSON values differ, as deep inside as can be said, with what is there."""
    one, other = json.dumps(recorded), json.dumps(found)
    if one == other:
        return
    if isinstance(recorded, dict) and isinstance(found, dict) and list(recorded) == list(found):
        for key in recorded:
            yield from _differences(recorded[key], found[key], f"{place}[{key!r}]")
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for row, pair in enumerate(zip(recorded, found, strict=True)):
            yield from _differences(*pair, f"{place}[{row}]")
    else:
        yield place, one, other
