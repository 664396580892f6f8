"""docs/fields.md and docs/migrating.md: the tables name every option, and schemas give the scores on the page."""

import dataclasses
import json
import re
from typing import Any

from places import ROOT

from anls_eval import Field, Fields, anls_star_score

PAGE = (ROOT / "docs" / "fields.md").read_text(encoding="utf-8")
MIGRATING = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")


def test_every_option_is_in_the_table() -> None:
    table = PAGE.split("## Options")[1].split("Each of them")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    named = set(re.findall(r"`(\w+)`", "".join(first_cells)))
    assert named == {option.name for option in dataclasses.fields(Field)}
    for example in re.findall(r"`(\{.*\})`", table):
        assert Fields(eval(example, {}))  # noqa: S307


def schemas() -> list[Any]:
    section = MIGRATING.split("## From stickler's JSON Schema")[1].split("\n## ")[0]
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]


def test_the_schema_of_stickler_gives_the_scores_on_the_page() -> None:
    """Run once with stickler-eval 1.0.0 from PyPI on Python 3.10: 1.0 and 0.6, the overall_score of compare_with."""
    _, ours = schemas()
    fields = Fields.from_json_schema(ours)
    reference = {"number": "INV-7", "total": 1299, "issued": "2026-05-14", "vendor": "ACME GmbH"}
    close = {"number": "INV-7", "total": 1299.005, "issued": "May 14, 2026", "vendor": "ACME Gmbh"}
    scores = [anls_star_score(own, reference, fields=fields) for own in (close, {**reference, "number": "INV-1"})]
    assert scores == [1.0, 0.6]


def test_both_schemas_have_the_same_fields() -> None:
    theirs, ours = schemas()
    assert theirs["properties"].keys() == ours["properties"].keys()
