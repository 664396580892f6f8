"""What a reader reads."""

from typing import Any

from anls_eval.arrow import as_list
from anls_eval.files import Reader


def contents(reader: Reader) -> list[tuple[Any, Any]]:
    """Return the id and the value of each row."""
    found = []
    for batch in reader.batches():
        ids = [None] * len(batch) if batch.question_ids is None else batch.question_ids
        found += list(zip(as_list(ids), as_list(batch.values), strict=True))
    return found
