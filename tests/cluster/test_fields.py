"""Fields of data sets in many files."""

import json
from pathlib import Path

from anls_eval import Fields, score_dataset, score_submission

FIELDS = Fields({"$.total": {"compare": "number", "weight": 2}, "$.items": {"key": "sku"}})


def test_a_field_that_one_part_has_is_not_warned_of(tmp_path: Path) -> None:
    folders = [tmp_path / side for side in ("predictions", "references")]
    for folder, key in zip(folders, ("prediction", "answers"), strict=True):
        folder.mkdir()
        for part in range(3):
            more = {"items": [{"a": 1}]} if part == 2 and key == "answers" else {}
            rows = [{"question_id": str(row), key: {"total": row, **more}} for row in range(4 * part, 4 * part + 4)]
            (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = score_dataset(*folders, workers=1, protocol="anls_star", fields=FIELDS).submission
    assert found.signature == score_submission(*folders, protocol="anls_star", fields=FIELDS).signature
    assert [note for note in found.notes if "matches nothing" in note] == []
    [without_key] = [note for note in found.notes if "without the key" in note]
    assert without_key.startswith("4 of 12 references (question_id '8', '9', '10', '11') have elements of $.items")
